"""The on-disk cache's files: round trips, damage, storms, kills, full and read-only folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pqlab.io import cache

IDENTITY = b"the source in one state"


def arrays(seed: int = 1, size: int = 40_000) -> dict[str, np.ndarray]:
    """Several dtypes, an empty array, and sections within and across blocks."""
    random = np.random.default_rng(seed)
    return {
        "seed": np.array([seed], np.int64),
        "narrow": random.integers(0, 256, size, dtype=np.uint8),
        "signed": random.integers(-(2**31), 2**31, size, dtype=np.int32),
        "wide": random.integers(0, 2**63, size, dtype=np.int64),
        "one": np.array([seed], np.uint16),
        "empty": np.zeros(0, np.uint64),
        "flags": random.integers(0, 2, 9).astype(np.bool_),
    }


def assert_equal(sections: cache.Sections, expected: dict[str, np.ndarray]) -> None:
    assert list(sections) == list(expected)
    for name, array in expected.items():
        assert sections[name].dtype == array.dtype
        np.testing.assert_array_equal(sections[name], array)


def only_file(folder: Path) -> Path:
    [path] = folder.iterdir()
    return path


def test_round_trip(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    cache.store(folder, "name", IDENTITY, arrays())
    sections = cache.load(folder, "name", IDENTITY)
    assert sections is not None
    assert_equal(sections, arrays())
    assert not any(sections[name].flags.writeable for name in sections)
    assert all(sections[name].ctypes.data % 64 == 0 for name in sections)


def test_files_are_private_and_few(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    cache.store(folder, "name", IDENTITY, arrays())
    cache.store(folder, "name", b"another state", arrays())
    assert folder.stat().st_mode & 0o777 == 0o700
    assert only_file(folder).stat().st_mode & 0o777 == 0o600


def test_another_state_is_not_served(tmp_path: Path) -> None:
    cache.store(tmp_path, "name", IDENTITY, arrays())
    for identity in (b"", IDENTITY + b"x", IDENTITY[:-1], IDENTITY.upper()):
        assert cache.load(tmp_path, "name", identity) is None
    assert cache.load(tmp_path, "other", IDENTITY) is None


def test_a_file_under_another_name_is_not_served(tmp_path: Path) -> None:
    """Two sources whose names had the same hash would share a file; identities tell them apart."""
    cache.store(tmp_path, "one", b"identity of one", arrays())
    path = only_file(tmp_path)
    cache.store(tmp_path, "two", b"identity of two", arrays())
    [other] = set(tmp_path.iterdir()) - {path}
    path.replace(other)
    assert cache.load(tmp_path, "two", b"identity of two") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_not_trusted(tmp_path: Path, mode: int) -> None:
    cache.store(tmp_path, "name", IDENTITY, arrays())
    only_file(tmp_path).chmod(mode)
    assert cache.load(tmp_path, "name", IDENTITY) is None


@pytest.mark.root
def test_a_file_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    cache.store(tmp_path, "name", IDENTITY, arrays())
    os.chown(only_file(tmp_path), 12345, -1)
    assert cache.load(tmp_path, "name", IDENTITY) is None


def test_links_folders_and_pipes_are_not_followed(tmp_path: Path) -> None:
    cache.store(tmp_path, "name", IDENTITY, arrays())
    path = only_file(tmp_path)
    target = tmp_path / "target"
    path.rename(target)
    path.symlink_to(target)
    assert cache.load(tmp_path, "name", IDENTITY) is None
    path.unlink()
    path.mkdir()
    assert cache.load(tmp_path, "name", IDENTITY) is None
    path.rmdir()
    os.mkfifo(path)
    assert cache.load(tmp_path, "name", IDENTITY) is None


@pytest.mark.parametrize("kept", [0, 1, 47, 48, 200, 1000, 70_000, -1])
def test_a_cut_file_is_ignored_and_replaced(tmp_path: Path, kept: int) -> None:
    cache.store(tmp_path, "name", IDENTITY, arrays())
    path = only_file(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])
    assert cache.load(tmp_path, "name", IDENTITY) is None
    cache.store(tmp_path, "name", IDENTITY, arrays())
    sections = cache.load(tmp_path, "name", IDENTITY)
    assert sections is not None
    assert_equal(sections, arrays())


def test_flipped_bytes_never_change_a_value(tmp_path: Path) -> None:
    expected = arrays()
    cache.store(tmp_path, "name", IDENTITY, expected)
    path = only_file(tmp_path)
    good = path.read_bytes()
    random = np.random.default_rng(20)
    positions = [*range(60), *random.integers(0, 1500, 190), *random.integers(0, len(good), 250)]
    noticed, silent = 0, []
    for position in positions:
        bad = bytearray(good)
        bad[position] ^= int(random.integers(1, 256))
        path.write_bytes(bad)
        sections = cache.load(tmp_path, "name", IDENTITY)
        if sections is None:
            noticed += 1
            continue
        for name, array in expected.items():
            try:
                np.testing.assert_array_equal(sections[name], array)
            except cache.CacheDamagedError:
                noticed += 1
                break
        else:
            silent.append(position)
    assert (noticed, silent) == (len(positions), [])  # the checksums leave no byte out


def test_verify_checks_no_more_than_it_is_asked(tmp_path: Path) -> None:
    expected = arrays(size=400_000)
    cache.store(tmp_path, "name", IDENTITY, expected)
    path = only_file(tmp_path)
    bad = bytearray(path.read_bytes())
    place = bad.index(expected["wide"].tobytes())
    bad[place + 8 * 399_000] ^= 1
    path.write_bytes(bad)
    sections = cache.load(tmp_path, "name", IDENTITY)
    assert sections is not None
    sections.verify("wide", 0, 100_000)
    np.testing.assert_array_equal(sections.unverified("wide")[:100_000], expected["wide"][:100_000])
    with pytest.raises(cache.CacheDamagedError):
        sections.verify("wide", 398_999, 399_001)
    with pytest.raises(cache.CacheDamagedError):
        sections["wide"]


def test_the_longest_unused_are_evicted(tmp_path: Path) -> None:
    cache.store(tmp_path, "probe", IDENTITY, arrays())
    size = only_file(tmp_path).stat().st_size
    cache.clear(tmp_path)
    for i in range(4):
        cache.store(tmp_path, f"file {i}", IDENTITY, arrays(), max_bytes=4 * size)
    for path in tmp_path.iterdir():
        os.utime(path, (1, 1))
    assert cache.load(tmp_path, "file 2", IDENTITY) is not None  # marks it as used
    cache.store(tmp_path, "file 4", IDENTITY, arrays(), max_bytes=2 * size)
    present = [i for i in range(5) if cache.load(tmp_path, f"file {i}", IDENTITY) is not None]
    assert present == [2, 4]


def test_what_exceeds_the_bound_is_not_stored(tmp_path: Path) -> None:
    cache.store(tmp_path / "cache", "name", IDENTITY, arrays(), max_bytes=1000)
    assert not (tmp_path / "cache").exists()


def test_info_and_clear_touch_the_caches_own_files_only(tmp_path: Path) -> None:
    stray = tmp_path / "report.footer"
    stray.write_text("mine")
    cache.store(tmp_path, "one", IDENTITY, arrays())
    cache.store(tmp_path, "two", IDENTITY, arrays())
    abandoned = tmp_path / "0123456789abcdef.77aa.part"
    abandoned.write_bytes(b"x" * 1000)
    sizes = sum(path.stat().st_size for path in tmp_path.iterdir() if path != stray)
    info = cache.info(tmp_path)
    assert (info["folder"], info["num_footers"]) == (str(tmp_path), 2)
    assert info["size_bytes"] == sizes
    assert cache.clear(tmp_path) == sizes
    assert list(tmp_path.iterdir()) == [stray]
    assert cache.clear(tmp_path) == 0
    assert cache.info(tmp_path / "absent")["num_footers"] == 0


def test_abandoned_files_go_with_the_next_store(tmp_path: Path) -> None:
    old, new = tmp_path / "0123456789abcdef.a1.part", tmp_path / "0123456789abcdef.a2.part"
    for path in (old, new):
        path.write_bytes(b"x")
    os.utime(old, (time.time() - 7200,) * 2)
    cache.store(tmp_path, "name", IDENTITY, arrays())
    assert (old.exists(), new.exists()) == (False, True)


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PQLAB_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.default_folder() == tmp_path / ".cache" / "pqlab"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.default_folder() == tmp_path / ".cache" / "pqlab"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.default_folder() == tmp_path / "xdg" / "pqlab"
    monkeypatch.setenv("PQLAB_CACHE_DIR", str(tmp_path / "own"))
    assert cache.default_folder() == tmp_path / "own"


STORE = """
import sys
from pathlib import Path
import numpy as np
from pqlab.io import cache
folder, seed, times = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
payload = {"seed": np.array([seed], np.int64), "data": np.full(int(sys.argv[4]), seed, np.int64)}
for _ in range(times):
    cache.store(folder, "name", b"identity", payload)
"""


def start_writer(folder: Path, seed: int, times: int, size: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", STORE, str(folder), str(seed), str(times), str(size)]
    return subprocess.Popen(command)


def is_consistent(folder: Path) -> bool:
    """Whether there is a file; whatever is there must be one writer's, whole."""
    sections = cache.load(folder, "name", b"identity")
    if sections is None:
        return False
    [seed] = sections["seed"].tolist()
    assert (sections["data"] == seed).all()
    return True


def test_processes_that_write_at_once(tmp_path: Path) -> None:
    writers = [start_writer(tmp_path, seed, 40, 50_000) for seed in range(4)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        seen += is_consistent(tmp_path)
    assert [writer.wait() for writer in writers] == [0] * 4
    assert seen > 0
    assert is_consistent(tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_writers_killed_at_any_moment(tmp_path: Path) -> None:
    random = np.random.default_rng(50)
    code = """
import os, sys
from pathlib import Path
import numpy as np
from pqlab.io import cache
folder = Path(sys.argv[1])
payload = {"seed": np.array([1], np.int64), "data": np.full(300_000, 1, np.int64)}
for _ in range(50):  # one import for all: each child is a fork that writes until it is killed
    child = os.fork()
    if child == 0:
        while True:
            cache.store(folder, "name", b"identity", payload)
    print(child, flush=True)
    os.waitpid(child, 0)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    kills = 0
    for line in parent.stdout:
        time.sleep(float(random.uniform(0, 0.03)))
        os.kill(int(line), signal.SIGKILL)
        kills += 1
        is_consistent(tmp_path)
    parent.stdout.close()
    assert parent.wait() == 0
    assert kills == 50
    left_over = list(tmp_path.glob("*.part"))
    assert left_over, "no child was killed while it wrote"
    cache.store(tmp_path, "name", b"identity", {"seed": np.array([2]), "data": np.array([2])})
    assert is_consistent(tmp_path)
    cache.clear(tmp_path)
    assert not list(tmp_path.iterdir())


def test_no_room_to_write(tmp_path: Path) -> None:
    """A bound on file sizes fails the write as a full disk does, and nothing is left behind."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000,) * 2)\n" + STORE
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "1", "1", "50000"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "OSError" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.root
def test_a_full_disk(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", tmp_path], check=False,
                      capture_output=True).returncode:  # fmt: skip
        pytest.skip("this root may not mount")
    try:
        with pytest.raises(OSError, match="No space left"):
            cache.store(tmp_path, "name", IDENTITY, arrays())
        assert not list(tmp_path.iterdir())
        small = {"seed": np.arange(3)}
        cache.store(tmp_path, "name", IDENTITY, small)
        sections = cache.load(tmp_path, "name", IDENTITY)
        assert sections is not None
        assert_equal(sections, small)
        del sections
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    for bad in (np.array([None]), np.zeros((2, 2)), np.array(["a"]), np.zeros(2, ">u4")):
        with pytest.raises(TypeError, match="not an array that the cache keeps"):
            cache.store(tmp_path, "name", IDENTITY, {"bad": bad})
