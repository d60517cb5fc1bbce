"""S3 through obstore, fsspec's filesystems, listings; and secrets, which are hunted everywhere."""

from __future__ import annotations

import gc
import io
import logging
import os
import pickle
import subprocess
import sys
import traceback
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import obstore
import polars as pl
import pyarrow.fs
import pytest
from command_line import Run
from obstore.store import S3Store
from polars.testing import assert_frame_equal
from range_server import RangeServer

import pqlab
from pqlab.errors import PqlabError, SourceChangedError, SourceError

SECRET = "s3cr3tS1GNATURE"
FRAME = pl.DataFrame({"a": range(20_000), "b": [f"text {i % 97}" for i in range(20_000)]})


def parquet(frame: pl.DataFrame = FRAME) -> bytes:
    sink = io.BytesIO()
    frame.write_parquet(sink, row_group_size=4_000)
    return sink.getvalue()


DATA = parquet()


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, Any]]:
    """Options for a bucket `lake` on a server of the S3 protocol."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/lake", method="PUT")).close()
    options = {"endpoint": endpoint, "access_key_id": "someone", "secret_access_key": SECRET}
    for key in ("one.parquet", "day=1/x.parquet", "day=2/y.parquet", "day=2/_log/z.parquet"):
        put(options, key, DATA)
    put(options, "day=2/notes.txt", b"no Parquet")
    put(options, "odd name?#%.parquet", DATA)
    yield options
    server.stop()


def put(options: dict[str, Any], key: str, data: bytes) -> None:
    bucket = S3Store("lake", config=options, client_options={"allow_http": True})  # type: ignore[arg-type]
    obstore.put(bucket, key, data)


def test_a_file_of_a_bucket(s3: dict[str, Any]) -> None:
    with pqlab.open("s3://lake/one.parquet", storage_options=s3) as file:
        assert file.name == "s3://lake/one.parquet"
        assert_frame_equal(file.read(), FRAME)
        assert_frame_equal(file.read(["b"], rows=(5_000, 5_010)), FRAME.select("b")[5_000:5_010])
        assert file.select("a").code == "pqlab.open(<source>).select(columns=['a'])"


def test_the_environment_has_the_credentials(
    s3: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3["endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with pqlab.open("s3://lake/one.parquet") as file:
        assert file.select("a").code == (
            "pqlab.open('s3://lake/one.parquet').select(columns=['a'])"
        )
        assert_frame_equal(eval(file.select("a").code).read(), FRAME.select("a"))


def test_the_profile_of_the_configuration_files(
    s3: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".aws").mkdir()
    lines = ["[default]", "aws_access_key_id = someone", f"aws_secret_access_key = {SECRET}"]
    (tmp_path / ".aws" / "credentials").write_text("\n".join(lines))
    frame = pqlab.read("s3://lake/one.parquet", storage_options={"endpoint": s3["endpoint"]})
    assert_frame_equal(frame, FRAME)


def test_a_key_is_taken_as_it_is(s3: dict[str, Any]) -> None:
    assert_frame_equal(pqlab.read("s3://lake/odd name?#%.parquet", storage_options=s3), FRAME)


def test_folders_and_globs_of_a_bucket(s3: dict[str, Any]) -> None:
    trace = pqlab.Trace()
    with trace, pqlab.open(["s3://lake/"], storage_options=s3) as data:
        assert [name.removeprefix("s3://lake/") for name in data.files] == [
            "day=1/x.parquet",
            "day=2/y.parquet",
            "odd name?#%.parquet",
            "one.parquet",
        ]
        assert [name.removeprefix("s3://lake/") for name, _ in data.skipped] == [
            "day=2/_log/z.parquet",
            "day=2/notes.txt",
        ]
        assert data.info.num_rows == 80_000
    with pqlab.open("s3://lake/day=*/*.parquet", storage_options=s3) as data:
        frame = data.read()
        assert frame["day"].unique().sort().to_list() == [1, 2]
        assert_frame_equal(frame.drop("day"), pl.concat([FRAME, FRAME]), check_row_order=True)
    both = ["s3://lake/day=1/x.parquet", "s3://lake/day=2/*"]
    with pqlab.open(both, storage_options=s3) as data:
        assert len(data) == 2
    with pytest.raises(SourceError, match="no Parquet file"):
        pqlab.open("s3://lake/none/", storage_options=s3)


def test_an_object_that_is_replaced(s3: dict[str, Any]) -> None:
    put(s3, "changing.bin", DATA)
    policy = pqlab.IOPolicy(footer_guess_bytes=1_000)
    with pqlab.open("s3://lake/changing.bin", storage_options=s3, io=policy) as file:
        put(s3, "changing.bin", parquet(FRAME.reverse()))
        with pytest.raises(SourceChangedError, match="changed since it was opened"):
            file.read()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://lake/none.parquet", "there is no such file"),
        ("s3://nolake/none.parquet", "there is no such file"),
        ("az://container/a.parquet", "Account must be specified"),
    ],
)
def test_what_cannot_be_opened(s3: dict[str, Any], url: str, message: str) -> None:
    options = s3 if url.startswith("s3") else {}
    with pytest.raises(SourceError, match=message):
        pqlab.open(url, storage_options=options)


def test_an_unknown_option(s3: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match=r"unknown option 'colour'") as caught:
        pqlab.open("s3://lake/one.parquet", storage_options={**s3, "colour": SECRET})
    assert SECRET not in everything(caught.value)


def test_filesystems(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/lake/k=1/one.parquet", DATA)
    memory.pipe_file("/lake/k=2/two.parquet", DATA)
    with pqlab.open("/lake/k=1/one.parquet", filesystem=memory) as file:
        assert file.name == "memory:///lake/k=1/one.parquet"
        assert_frame_equal(file.read(), FRAME)
        memory.pipe_file("/lake/k=1/one.parquet", parquet(FRAME[:-1]))
        with pytest.raises(SourceChangedError):
            file.read()
    memory.pipe_file("/lake/k=1/one.parquet", DATA)
    assert_frame_equal(pqlab.read("memory://lake/k=2/two.parquet"), FRAME)
    for source, options in (("/lake/", {"filesystem": memory}), ("memory://lake/*/*.parquet", {})):
        frame = pqlab.read(source, **options)
        assert_frame_equal(frame.filter(k=2).drop("k"), FRAME)
    (tmp_path / "a.parquet").write_bytes(DATA)
    local = pyarrow.fs.LocalFileSystem()
    assert_frame_equal(pqlab.read(str(tmp_path / "a.parquet"), filesystem=local), FRAME)
    with pytest.raises(TypeError, match="a filesystem is"):
        pqlab.open("a.parquet", filesystem=3)
    with pytest.raises(SourceError, match="cannot open"):
        pqlab.open("/none.parquet", filesystem=memory)


def test_the_filesystem_of_web_servers_and_its_files() -> None:
    with RangeServer({"a.parquet": DATA}) as server:
        web = fsspec.filesystem("http", skip_instance_cache=True)
        assert_frame_equal(pqlab.read(server.url("a.parquet"), filesystem=web), FRAME)
        with web.open(server.url(f"a.parquet?sig={SECRET}"), block_size=1 << 20) as opened:
            assert_frame_equal(pqlab.read(opened, cache=None), FRAME)
        server.faults.extend(["503"] * 50)
        with pytest.raises(PqlabError) as caught:
            pqlab.read(server.url(f"a.parquet?sig={SECRET}"), filesystem=web)
        assert SECRET not in everything(caught.value)


def everything(error: BaseException) -> str:
    """All that a traceback, a log or a debugger could show of an error."""
    seen = [str(error), repr(error), repr(vars(error))]
    seen += [everything(linked) for linked in (error.__cause__, error.__context__) if linked]
    seen += traceback.format_exception(error)
    return "\n".join(seen)


def test_no_secret_is_told(
    s3: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A presigned URL, a password, and a key: in names, frames, traces, caches and errors."""
    monkeypatch.setenv("PQLAB_CACHE_DIR", str(tmp_path / "cache"))
    told: list[str] = []
    with RangeServer({"a.parquet": DATA}) as server:
        url = server.url(f"a.parquet?X-Amz-Signature={SECRET}#{SECRET}")
        with_password = url.replace("http://", f"http://user:{SECRET}@")
        sources: list[tuple[str, dict[str, Any]]] = [
            (url, {}),
            (with_password, {}),
            ("s3://lake/one.parquet", {"storage_options": s3}),
            (server.url("a.parquet"), {"storage_options": {"headers": {"X-Token": SECRET}}}),
        ]
        for source, options in sources:
            policy = pqlab.IOPolicy(footer_guess_bytes=2_000, attempts=2, backoff_s=0.0)
            trace = pqlab.Trace()
            with (
                trace,
                pqlab.open(source, cache="disk", io=policy, **options) as file,
            ):
                assert_frame_equal(file.read(trace=trace), FRAME)
                selection = file.select("a")
                told += [repr(file), file._repr_html_(), repr(file.info), file.name]
                told += [repr(selection), selection.code, repr(selection.plan())]
                told += [selection.plan()._repr_html_(), repr(vars(file.source).get("name"))]
                told += [repr(file.source), repr(file.source.identity), str(file.overview())]
                if source != "s3://lake/one.parquet":
                    server.faults.extend(["503", "500"])
                    with pytest.raises(SourceError) as caught:
                        file.read("b")
                    told.append(everything(caught.value))
                    server.faults.extend(["shifted", "shifted"])
                    with pytest.raises(SourceError) as caught:
                        file.read("b")
                    told.append(everything(caught.value))
            told += [trace.to_frame().write_json(), trace.requests().write_json()]
            told += [repr(trace), pickle.dumps(trace).decode("latin-1")]
            trace.to_chrome_trace(tmp_path / "trace.json")
            told.append((tmp_path / "trace.json").read_text())
        with pytest.raises(SourceError) as caught:
            pqlab.open(url.replace("a.parquet", "none.parquet"))
        told.append(everything(caught.value))
        with pqlab.open([url, with_password]) as data:
            told += [repr(data), data.row_groups.write_json(), repr(data.select("a")), *data.files]
    with pytest.raises(SourceError) as caught:  # nobody listens any more
        pqlab.open(url, io=pqlab.IOPolicy(attempts=1))
    told.append(everything(caught.value))
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept
    told += [path.name + path.read_bytes().decode("latin-1") for path in kept]
    assert not [text for text in told if SECRET in text]


def test_the_command_line_tells_no_secret(run: Run) -> None:
    with RangeServer({"a.parquet": DATA}) as server:
        url = server.url(f"a.parquet?sig={SECRET}")
        for arguments in (["info", url], ["info", url, "--json"], ["read", url, "--plan"]):
            code, out, err = run(*arguments)
            assert code == 0
            assert "a.parquet" in out
            assert SECRET not in out + err
        assert SECRET not in "".join(map(str, run("pages", url.replace("a.p", "none.p"))))


def test_a_dataset_of_a_store_tells_how_it_was_opened(s3: dict[str, Any]) -> None:
    with pqlab.open("s3://lake/day=*/*.parquet", storage_options=s3) as data:
        assert data.select("a").code == "pqlab.open(<source>).select(columns=['a'])"
        assert SECRET not in str(data.overview())


def test_a_forked_process_says_so(s3: dict[str, Any]) -> None:
    program = f"""
import os, pqlab
options = {s3!r}
pqlab.open("s3://lake/one.parquet", storage_options=options)
child = os.fork()
if not child:
    try:
        pqlab.open("s3://lake/one.parquet", storage_options=options)
    except pqlab.SourceError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
_, status = os.waitpid(child, 0)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=30, check=False)
    assert done.returncode == 7


def test_what_is_remote_is_loaded_when_it_is_used() -> None:
    program = "import sys, pqlab, pqlab.reader, pqlab.dataset; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    names = set(loaded.stdout.decode().split())
    assert not names & {"obstore", "fsspec", "boto3", "aiohttp", "pqlab.io.objects"}
    gc.collect()


@pytest.mark.parametrize("scheme", ["gs", "az"])
def test_clients_of_other_stores(scheme: str) -> None:
    """Obstore's clients of GCS and Azure, against a server that answers their reads as those do."""
    # GCS's client percent-encodes dots, and the server takes paths as they come.
    with RangeServer({"lake/one.parquet": DATA, "lake/one%2Eparquet": DATA}) as server:
        root = server.url("").rstrip("/")
        options = {
            "gs": {"base_url": root, "skip_signature": True},
            "az": {"account_name": "account", "endpoint": root, "skip_signature": True},
        }[scheme]
        url = f"{scheme}://lake/one.parquet"
        with pqlab.open(
            url,
            storage_options={**options, "client_options": {"allow_http": True}},
            io=pqlab.IOPolicy(footer_guess_bytes=2_000),
        ) as file:
            assert file.name == url
            assert_frame_equal(file.read(), FRAME)
        assert all(request.match for request in server.gets()[2:])
