"""Which files a folder, a glob or a list stands for, and what their folders say."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from pqlab.errors import SourceError, UnsupportedError
from pqlab.io.listing import is_many, list_files

FRAME = pl.DataFrame({"x": [1, 2]})


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        FRAME.write_parquet(path)


def names(root: Path, source: object = None) -> list[str]:
    listing = list_files(root if source is None else source)
    return [os.path.relpath(file.name, root) for file in listing.files]


def test_a_folder_with_stray_files(tmp_path: Path) -> None:
    write(
        tmp_path, "b.parquet", "a.PARQUET", "deep/er/c.pq", "part-00000", "_temporary/0/d.parquet"
    )
    write(tmp_path, ".hidden.parquet", "_metadata", ".git/e.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "notes.txt").write_text("just some notes\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    listing = list_files(tmp_path)
    assert [os.path.relpath(file.name, tmp_path) for file in listing.files] == [
        "a.PARQUET", "b.parquet", "deep/er/c.pq", "part-00000",
    ]  # fmt: skip
    reasons = {os.path.relpath(path, tmp_path): reason for path, reason in listing.skipped}
    assert set(reasons) == {
        ".git", ".hidden.parquet", "_SUCCESS", "_metadata", "_temporary", "dangling", "empty",
        "notes.txt", "pipe", "table.csv",
    }  # fmt: skip
    assert reasons["_temporary"] == "begins with _"
    assert reasons[".git"] == "hidden"
    assert "CSV" in reasons["table.csv"]
    assert "text" in reasons["notes.txt"]
    assert "empty" in reasons["empty"]
    assert reasons["pipe"] == "not a regular file"
    assert "No such file" in reasons["dangling"]


def test_the_order_is_that_of_polars_and_pyarrow(tmp_path: Path) -> None:
    write(tmp_path, "a/x.parquet", "a.parquet", "a-b/x.parquet", "B.parquet", "b/10.parquet",
          "b/9.parquet", "ä.parquet")  # fmt: skip
    expected = [os.path.relpath(path, tmp_path) for path in sorted(ds.dataset(tmp_path).files)]
    assert names(tmp_path) == expected
    scanned = pl.scan_parquet(tmp_path, include_file_paths="file").collect()["file"]
    assert names(tmp_path) == [
        os.path.relpath(path, tmp_path) for path in scanned.unique(maintain_order=True)
    ]


ABOVE, BELOW = ["a.parquet", "b.parquet"], ["y=1/x.parquet", "y=2/x.parquet", "y=2/z/x.parquet"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.parquet", ABOVE),
        ("?.parquet", ABOVE),
        ("*/x.parquet", BELOW[:2]),
        ("**/x.parquet", BELOW),
        ("**", ABOVE + BELOW),
        ("**/*", ABOVE + BELOW),
        ("y=[13]/*", BELOW[:1]),
        ("y=*", BELOW),  # a folder stands for what lies in it
        ("*", ABOVE + BELOW),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    write(tmp_path, *ABOVE, *BELOW, ".h/x.parquet", "_t/x.parquet", "y=2/_t/x.parquet")
    (tmp_path / "y=1" / "stray.txt").write_text("stray")
    assert names(tmp_path, str(tmp_path / pattern)) == expected
    assert names(tmp_path, tmp_path / pattern) == expected


def test_a_path_that_exists_is_no_glob(tmp_path: Path) -> None:
    write(tmp_path, "a[1].parquet", "a1.parquet")
    assert not is_many(tmp_path / "a[1].parquet")
    assert is_many(tmp_path / "a[12].parquet")
    assert is_many(tmp_path)
    assert is_many(tmp_path.as_uri())
    assert is_many([])
    assert not is_many(b"PAR1")
    with (tmp_path / "a1.parquet").open("rb") as file:
        assert not is_many(file)


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/x.parquet")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "linked").symlink_to(tmp_path / "a")
    listing = list_files(tmp_path)
    assert sorted(os.path.relpath(file.name, tmp_path) for file in listing.files) == [
        "a/x.parquet", "linked/x.parquet",
    ]  # fmt: skip
    assert {reason for _, reason in listing.skipped} == {"a link to a folder that it lies in"}


def test_nothing_left_is_an_error_with_reasons(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"no Parquet file in .*1 skipped.*CSV"):
        list_files(tmp_path)
    with pytest.raises(SourceError, match="no Parquet file"):
        list_files(str(tmp_path / "*.parquet"))
    with pytest.raises(SourceError, match="no Parquet file in the list"):
        list_files([])


def test_lists_keep_their_order(tmp_path: Path) -> None:
    write(tmp_path, "b.parquet", "a.parquet", "_c.parquet", "more/2.parquet", "more/1.parquet")
    paths = [tmp_path / "b.parquet", str(tmp_path / "_c.parquet"), tmp_path / "more",
             str(tmp_path / "a*")]  # fmt: skip
    assert names(tmp_path, paths) == [
        "b.parquet", "_c.parquet", "more/1.parquet", "more/2.parquet", "a.parquet",
    ]  # fmt: skip
    data = (tmp_path / "a.parquet").read_bytes()
    assert [file.name for file in list_files([data]).files] == ["<bytes>"]


def test_deltalake_and_pyiceberg_lists(tmp_path: Path) -> None:
    write(tmp_path, "day=2024-01-02/a b.parquet")
    path = tmp_path / "day=2024-01-02" / "a b.parquet"
    for uri in (str(path), path.as_uri()):  # DeltaTable.file_uris()
        [file] = list_files([uri]).files
        assert file.partition[-1] == ("day", "2024-01-02")
    task = SimpleNamespace(file=SimpleNamespace(file_path=path.as_uri()), delete_files=set())
    [file] = list_files([task]).files
    assert file.partition[-1] == ("day", "2024-01-02")
    deletes = SimpleNamespace(file=SimpleNamespace(file_path=str(path)), delete_files={"d"})
    with pytest.raises(UnsupportedError, match="row-level deletes"):
        list_files([deletes])


def test_hive_folders(tmp_path: Path) -> None:
    root = tmp_path / "not=this"
    write(root, "y=2024/m=01/a.parquet", "y=2024/m=__HIVE_DEFAULT_PARTITION__/a=b.parquet",
          "y=a%20b%2Fc/m=/a.parquet", "_y=1/=x/c.parquet")  # fmt: skip
    found = {os.path.relpath(file.name, root): file.partition for file in list_files(root).files}
    assert found == {
        "_y=1/=x/c.parquet": (("_y", "1"),),
        "y=2024/m=01/a.parquet": (("y", "2024"), ("m", "01")),
        "y=2024/m=__HIVE_DEFAULT_PARTITION__/a=b.parquet": (("y", "2024"), ("m", None)),
        "y=a%20b%2Fc/m=/a.parquet": (("y", "a b/c"), ("m", "")),
    }
    fixed = list_files(str(root / "y=2024" / "m=*" / "*")).files
    assert [file.partition for file in fixed] == [(("m", "01"),), (("m", None),)]
    # duckdb decodes percent signs, too
    query = (
        f"select distinct y from read_parquet('{root}/y=a*/*/*.parquet', hive_partitioning=true)"
    )
    assert ("a b/c",) in duckdb.execute(query).fetchall()
