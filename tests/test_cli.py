"""The command line, judged by pyarrow's and duckdb's answers."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import Result, Run
from polars.testing import assert_frame_equal

import pqlab
from pqlab import sample

ROWS = 40_000
PQLAB = [sys.executable, "-c", "import sys; from pqlab.cli import main; sys.exit(main())"]


@pytest.fixture(scope="session")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("taxi") / "taxi.parquet", rows=ROWS)


@pytest.fixture(scope="session")
def nested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nested") / "nested.parquet"
    return sample.write(path, kind="nested", rows=500)


# ------------------------------------------------------------------------------- what it shows


def test_info(run: Run, taxi: Path) -> None:
    metadata = pq.read_metadata(taxi)
    document = run("info", taxi, "--json").json()
    assert (document["pqlab"], document["command"]) == (1, "info")
    assert document["source"] == [str(taxi)]
    info = document["info"]
    assert info["num_rows"] == metadata.num_rows
    assert info["num_columns"] == metadata.num_columns
    assert info["num_row_groups"] == metadata.num_row_groups
    assert info["created_by"] == metadata.created_by
    assert info["file_size_bytes"] == taxi.stat().st_size
    assert info["footer_bytes"] == metadata.serialized_size
    plain = run("info", taxi)
    assert plain.code == 0
    for words in ("40,000 rows", "20 columns", "4 row groups", metadata.created_by, "medallion"):
        assert words in plain.out
    assert "\x1b" not in plain.out


def test_schema(run: Run, nested: Path) -> None:
    rows = run("schema", nested, "--json").rows()
    leaves = [row for row in rows if row["leaf"] is not None]
    schema = pq.read_metadata(nested).schema
    assert [".".join(row["path"]) for row in leaves] == [column.path for column in schema]
    assert [row["physical_type"] for row in leaves] == [column.physical_type for column in schema]
    for key in ("max_definition_level", "max_repetition_level"):
        assert [row[key] for row in leaves] == [getattr(column, key) for column in schema]
    assert "  element" in run("schema", nested).out


def test_row_groups(run: Run, taxi: Path) -> None:
    metadata = pq.read_metadata(taxi)
    rows = run("row-groups", taxi, "--json").rows()
    assert [row["num_rows"] for row in rows] == [
        metadata.row_group(number).num_rows for number in range(4)
    ]
    chosen = run("row-groups", taxi, "-g", "1,-1", "--json").rows()
    assert [row["row_group"] for row in chosen] == [1, 3]


def test_columns(run: Run, taxi: Path) -> None:
    metadata = pq.read_metadata(taxi)
    rows = run("columns", taxi, "-g", "2", "--json").rows()
    assert len(rows) == 20
    for row in rows:
        chunk = metadata.row_group(2).column(row["leaf"])
        assert row["column"] == chunk.path_in_schema
        assert row["codec"] == chunk.compression
        assert row["total_compressed_size"] == chunk.total_compressed_size
        assert row["null_count"] == chunk.statistics.null_count
    chosen = run("columns", taxi, "-c", "^.*zone$", "-c", "#0", "--json").rows()
    assert {row["column"] for row in chosen} == {"trip_id", "pickup_zone", "dropoff_zone"}
    assert len(chosen) == 3 * 4


def test_pages(run: Run, taxi: Path) -> None:
    rows = run("pages", taxi, "-c", "trip_id", "-g", "1", "--headers", "--json").rows()
    data = [row for row in rows if row["page"] >= 0]
    assert [row["page"] for row in data] == list(range(len(data)))
    assert sum(row["num_rows"] for row in data) == pq.read_metadata(taxi).row_group(1).num_rows
    assert {row["encoding"] for row in data} == {"PLAIN"}
    chunk = pq.read_metadata(taxi).row_group(1).column(0)
    assert sum(row["total_bytes"] for row in rows) == chunk.total_compressed_size
    assert int.from_bytes(base64.b64decode(data[0]["min_bytes"]["base64"]), "little") == (
        chunk.statistics.min
    )


def test_dictionary(run: Run, taxi: Path) -> None:
    rows = run("dictionary", taxi, "-c", "payment_type", "-g", "1", "--json").rows()
    groups = pq.ParquetFile(taxi)
    expected = groups.read_row_group(1, ["payment_type"])["payment_type"].unique().to_pylist()
    assert [row["value"] for row in rows] == expected
    assert [row["index"] for row in rows] == list(range(len(rows)))
    assert run("dictionary", taxi).code == 2
    assert run("dictionary", taxi, "-c", "extra,tip_amount").code == 2


def test_layout_accounts_for_every_byte(run: Run, taxi: Path) -> None:
    rows = run("layout", taxi, "--json").rows()
    position = 0
    for row in rows:
        assert row["offset"] == position
        position += row["size_bytes"]
    assert position == taxi.stat().st_size


def test_limits_and_wide(run: Run, taxi: Path) -> None:
    assert len(run("columns", taxi, "--limit", "3", "--json").rows()) == 3
    lines = run("columns", taxi, "--limit", "3").out.splitlines()
    assert len(lines) == 4
    wide = run("columns", taxi, "--limit", "3", "--wide").out.splitlines()
    assert len(wide[0].split()) == len(pqlab.open(taxi).column_chunks.columns)
    assert len(run("columns", taxi).out.splitlines()) == 81  # all of them into a pipe


def test_cache_and_versions(run: Run, tmp_path: Path) -> None:
    found = run("cache", "info", "--folder", tmp_path, "--json").json()
    assert (found["pqlab"], found["num_footers"]) == (1, 0)
    path = sample.write(tmp_path / "x.parquet", rows=10)
    time.sleep(0.1)  # a file that has just changed is not kept
    pqlab.open(path, cache=str(tmp_path / "kept"))
    kept = run("cache", "info", "--folder", tmp_path / "kept", "--json").json()
    assert kept["num_footers"] == 1
    freed = run("cache", "clear", "--folder", tmp_path / "kept", "--json").json()["freed_bytes"]
    assert freed == kept["size_bytes"] > 0
    assert run("versions", "--json").json()["packages"]["polars"] == pl.__version__
    assert pl.__version__ in run("versions").out


# Version 1 of the JSON form: names may be added; none is taken away or renamed.
FIELDS = {
    "schema": (
        "name path depth repetition_type physical_type type_length logical_type "
        "converted_type precision scale field_id max_definition_level "
        "max_repetition_level leaf"
    ),
    "row-groups": (
        "row_group num_rows first_row total_byte_size total_compressed_size "
        "chunks_compressed_size chunks_uncompressed_size compression_ratio file_offset "
        "ordinal num_sorting_columns"
    ),
    "columns": (
        "row_group column leaf physical_type codec encodings data_page_encodings "
        "num_data_pages num_values null_count distinct_count nan_count "
        "total_compressed_size total_uncompressed_size compression_ratio bounds_state "
        "min_text max_text min_bytes max_bytes is_min_value_exact is_max_value_exact "
        "dictionary_page_offset data_page_offset offset_index_offset offset_index_length "
        "column_index_offset column_index_length bloom_filter_offset bloom_filter_length "
        "is_encrypted is_external"
    ),
    "pages": (
        "row_group column leaf page type encoding codec offset total_bytes header_bytes "
        "compressed_page_size uncompressed_page_size compression_ratio num_values "
        "num_nulls num_rows first_row bounds_state min_text max_text min_bytes max_bytes "
        "is_min_value_exact is_max_value_exact definition_level_encoding "
        "repetition_level_encoding definition_levels_byte_length "
        "repetition_levels_byte_length is_compressed crc known_from"
    ),
    "layout": (
        "offset size_bytes kind row_group column leaf page overlap_bytes outside_bytes note"
    ),
    "info": (
        "file num_rows num_row_groups num_columns created_by format_version file_size_bytes "
        "footer_bytes encrypted warnings"
    ),
}


@pytest.mark.parametrize("command", FIELDS)
def test_json_is_stable(run: Run, taxi: Path, command: str) -> None:
    document = run(command, taxi, "--json").json()
    assert list(document)[:3] == ["pqlab", "command", "source"]
    assert (document["pqlab"], document["command"]) == (1, command)
    found = document["info"] if command == "info" else document["rows"][0]
    names = FIELDS[command].split()
    assert [name for name in found if name in names] == names


# ---------------------------------------------------------------------------------------- read


def expected(path: Path, columns: list[str], start: int, stop: int) -> pl.DataFrame:
    table = pq.read_table(path, columns=columns).slice(start, stop - start)
    return pl.DataFrame(pl.from_arrow(table))


def test_read_csv(run: Run, taxi: Path) -> None:
    columns = ["trip_id", "pickup_at", "remark", "total_amount"]
    result = run("read", taxi, "-c", ",".join(columns), "-r", "9990:10010")
    found = pl.read_csv(
        io.StringIO(result.out),
        schema={
            "trip_id": pl.Int64,
            "pickup_at": pl.Datetime("us"),
            "remark": pl.String,
            "total_amount": pl.Decimal(9, 2),
        },
    )
    assert_frame_equal(found, expected(taxi, columns, 9990, 10_010))


def test_read_json_and_ndjson(run: Run, taxi: Path) -> None:
    columns = ["trip_id", "fare_amount", "passenger_count"]
    rows = expected(taxi, columns, 0, 50).to_dicts()
    words = ("read", taxi, "-c", ",".join(columns), "-r", ":50")
    assert json.loads(run(*words, "--format", "json").out) == rows
    lines = run(*words, "--format", "ndjson").out.splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert run(*words, "--json").rows() == rows


@pytest.mark.parametrize(
    ("name", "load"),
    [("x.parquet", pl.read_parquet), ("x.arrow", pl.read_ipc), ("x.feather", pl.read_ipc)],
)
def test_read_to_file(
    run: Run, taxi: Path, tmp_path: Path, name: str, load: Callable[[Path], pl.DataFrame]
) -> None:
    out = tmp_path / name
    assert run("read", taxi, "-g", "1", "-o", out) == Result(0, "", "")
    assert_frame_equal(load(out), expected(taxi, pq.read_schema(taxi).names, 10_000, 20_000))
    assert list(tmp_path.iterdir()) == [out]


def test_read_into_a_pipe(taxi: Path) -> None:
    command = [*PQLAB, "read", str(taxi), "-c", "trip_id", "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert pl.read_parquet(io.BytesIO(done.stdout))["trip_id"].sum() == sum(
        range(10_000_000, 10_000_000 + ROWS)
    )


def test_read_pages(run: Run, taxi: Path) -> None:
    row = run("pages", taxi, "-c", "trip_id", "-g", "2", "--json").rows()[1]
    assert row["page"] == 1
    start = 20_000 + row["first_row"]
    result = run("read", taxi, "-p", "2/trip_id:1", "-c", "trip_id,extra", "--format", "json")
    rows = expected(taxi, ["trip_id", "extra"], start, start + row["num_rows"]).to_dicts()
    assert json.loads(result.out) == rows


def test_read_values_that_csv_and_json_lack(run: Run, tmp_path: Path) -> None:
    table = pa.table(
        {
            "large": pa.array([2**63 - 1, None], pa.int64()),
            "nan": pa.array([float("nan"), 1.5]),
            "binary": pa.array([b"\x00\xff", b""], pa.binary()),
            "when": pa.array([1, None], pa.timestamp("ns")),
            "text": pa.array(['a\nb,"c"', ""], pa.string()),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    rows = json.loads(run("read", tmp_path / "x.parquet", "--format", "json").out)
    assert rows[0] == {
        "large": 2**63 - 1,
        "nan": {"float": "nan"},
        "binary": {"base64": "AP8="},
        "when": "1970-01-01 00:00:00.000000001",
        "text": 'a\nb,"c"',
    }
    assert rows[1] == {
        "large": None,
        "nan": 1.5,
        "binary": {"base64": ""},
        "when": None,
        "text": "",
    }
    found = pl.read_csv(io.StringIO(run("read", tmp_path / "x.parquet").out))
    assert found["large"].to_list() == [2**63 - 1, None]
    assert found["binary"].to_list() == ["AP8=", ""]
    assert found["text"].to_list() == ['a\nb,"c"', ""]


def test_read_limit_plan_and_trace(run: Run, taxi: Path) -> None:
    words = ("read", taxi, "-c", "extra", "-g", "0")
    assert len(run(*words, "--limit", "7").out.splitlines()) == 8
    plan = run(*words, "--plan")
    assert "10,000" in plan.out
    assert "extra" in plan.out
    traced = run(*words, "--trace", "--limit", "1")
    assert traced.code == 0
    assert "decode_ns" in traced.err
    assert "extra" in traced.err


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files in hive folders, and one that is none."""
    folder = tmp_path_factory.mktemp("dataset")
    for number in (1, 2):
        (folder / f"part={number}").mkdir()
        sample.write(folder / f"part={number}" / "x.parquet", rows=1000 * number, seed=number)
    (folder / "readme.txt").write_text("not Parquet")
    return folder


def test_folders_and_globs(run: Run, folder: Path) -> None:
    files = sorted(map(str, folder.glob("*/*.parquet")))
    for source in ([folder], [f"{folder}/*/*.parquet"], files):
        assert run("info", *source, "--json").json()["info"]["num_rows"] == 3000
        rows = run("row-groups", *source, "--json").rows()
        assert [row["file"] for row in rows] == [name for name in files for _ in range(4)]
    shown = run("info", folder).out
    for words in ("2 files", "3,000 rows", "readme.txt", "part"):
        assert words in shown
    rows = run("columns", folder, "-c", "extra", "-g", "1", "--json").rows()
    assert [(row["file"], row["column"], row["row_group"]) for row in rows] == [
        (name, "extra", 1) for name in files
    ]
    assert {row["file"] for row in run("pages", folder, "-g", "0", "--json").rows()} == set(files)
    assert run("layout", folder).code == 2
    assert run("dictionary", folder, "-c", "extra").code == 2
    assert "part" not in {row["name"] for row in run("schema", folder, "--json").rows()}


def test_reads_a_folder(run: Run, folder: Path) -> None:
    words = ("read", folder, "-c", "trip_id,part")
    rows = [json.loads(line) for line in run(*words, "--format", "ndjson").out.splitlines()]
    answer = duckdb.execute(
        f"select trip_id, part from read_parquet('{folder}/*/*.parquet', hive_partitioning = true)"
        " order by part, trip_id"
    ).fetchall()
    assert [(row["trip_id"], row["part"]) for row in rows] == answer
    limited = run(*words, "--format", "ndjson", "-r", "900:1100", "--limit", "150").out.splitlines()
    assert [json.loads(line) for line in limited] == rows[900:1050]


def test_limit_reads_no_more_than_it_shows(run: Run, taxi: Path) -> None:
    whole = run("read", taxi, "-c", "trip_id", "-g", "1:3", "--format", "json").out
    part = run("read", taxi, "-c", "trip_id", "-g", "1:3", "--limit", "10005", "--format", "json")
    assert json.loads(part.out) == json.loads(whole)[:10_005]
    plan = run("read", taxi, "-c", "trip_id", "-g", "1:3", "--limit", "5", "--plan").out
    assert "5 in 1 row group" in plan
    none = run("read", taxi, "-c", "trip_id", "--limit", "0", "--format", "json")
    assert json.loads(none.out) == []


def test_standard_input(taxi: Path) -> None:
    with taxi.open("rb") as file:
        done = subprocess.run(
            [*PQLAB, "info", "-", "--json"], stdin=file, capture_output=True, check=True, timeout=60
        )
    assert json.loads(done.stdout)["info"]["num_rows"] == ROWS


# --------------------------------------------------------------------------- errors and streams


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense", "x"),
        ("info",),
        ("pages", "x.parquet", "-g", "one"),
        ("read", "x.parquet", "-r", "5"),
        ("read", "x.parquet", "-p", "fare"),
        ("read", "x.parquet", "--limit", "-1"),
        ("read", "x.parquet", "-o", "x.unknown"),
        ("read", "x.parquet", "--format", "xml"),
        ("info", "-", "x.parquet"),
        ("cache", "burn"),
    ],
)
def test_wrong_usage(run: Run, words: tuple[str, ...]) -> None:
    result = run(*words)
    assert result.code == 2
    assert "usage: pqlab" in result.err


def test_errors_have_no_traceback(run: Run, taxi: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(taxi.read_bytes()[:-5000])
    for words in (
        ("info", tmp_path / "missing.parquet"),
        ("info", damaged),
        ("read", taxi, "-c", "no_such_column"),
        ("pages", taxi, "-g", "9"),
        ("read", taxi, "-c", "extra", "-o", tmp_path / "no" / "folder.csv"),
    ):
        result = run(*words)
        assert result.code == 1
        assert result.out == ""
        assert result.err.startswith("pqlab: ")
        assert "Traceback" not in result.err
        assert len(result.err.splitlines()) == 1
    assert "no_such_column" in run("read", taxi, "-c", "no_such_column").err


def test_failed_output_leaves_the_file_as_it_was(
    run: Run, taxi: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "x.ndjson"
    out.write_text("before")

    def fail(_: pl.DataFrame) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("pqlab.tables.json_rows", fail)
    result = run("read", taxi, "-c", "extra", "-o", out)
    assert (result.code, result.err) == (1, "pqlab: disk full\n")
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


def test_closed_pipe_is_quiet(taxi: Path) -> None:
    command = " ".join([sys.executable, "-m", "pqlab", "read", str(taxi)])
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.startswith("trip_id,")
    assert done.stderr == ""
    assert done.returncode == 0


def test_interrupt(run: Run, taxi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pqlab.open", interrupt)
    assert run("info", taxi) == Result(130, "", "")


# ------------------------------------------------------------------------------ names from a file

NAMES = [
    "<img src=x onerror=alert(1)>",
    "[red]name[/red]",
    "[link=http://example.com]x[/link]",
    "line\nbreak",
    "user\u202egnp.exe",
    "\x1b]0;title\x07\x1b[31m",
    'quote" and, comma',
    "שלום",
    ":smile:",
]


@pytest.fixture(scope="session")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strange") / "strange.parquet"
    table = pa.table({name: [name, None, ""] for name in NAMES})
    pq.write_table(table.replace_schema_metadata({name: name for name in NAMES}), path)
    return path


COMMANDS = ("info", "schema", "row-groups", "columns", "pages", "layout", "read")


@pytest.mark.parametrize("command", COMMANDS)
def test_names_are_text(run: Run, strange: Path, command: str) -> None:
    words = ["--format", "json"] if command == "read" else []
    result = run(command, strange, *words)
    assert result.code == 0
    for out in (result.out, run(command, strange, "--json").out):
        assert command == "read" or out.replace("\n", "").isprintable()
    terminal = in_terminal(command, str(strange))
    for act in ("\x1b]", "\x07", "\u202e", "\U0001f604"):
        assert act not in terminal
    if command in ("info", "schema", "columns", "pages", "read"):
        for name in (r"line\nbreak", "[red]name[/red]", r"user\u202egnp.exe", ":smile:"):
            assert name in "".join(terminal.split("\r\n")) or command in (
                "columns",
                "pages",
                "read",
            )


def test_output_that_knows_only_ascii(strange: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for words in (["info"], ["schema"], ["columns"], ["read"], ["schema", "--json"]):
        command = [*PQLAB, words[0], str(strange), *words[1:]]
        done = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=True)
        assert b"Traceback" not in done.stderr
        assert words[0] == "read" or done.stdout.isascii()
    found = json.loads(done.stdout)
    assert [row["name"] for row in found["rows"]] == NAMES


def in_terminal(*words: str) -> str:
    """What a command prints to a terminal 200 columns wide."""
    primary, secondary = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm-256color"}
    with (
        os.fdopen(primary, "rb", buffering=0) as terminal,
        subprocess.Popen(
            [*PQLAB, *words], stdout=secondary, stderr=subprocess.PIPE, env=environment
        ) as process,
    ):
        os.close(secondary)
        output = b""
        with contextlib.suppress(OSError):  # the other side has closed
            while part := terminal.read(1 << 16):
                output += part
        assert process.wait(timeout=60) == 0
    return output.decode()


def test_terminal_has_tables_and_colour(taxi: Path) -> None:
    shown = in_terminal("pages", str(taxi), "-c", "trip_id")
    assert "first_" in shown
    assert "─" in shown
    assert "\x1b[" in in_terminal("info", str(taxi))
    assert "100 of" in in_terminal("pages", str(taxi))


# ------------------------------------------------------------------------------------- the corpus


@pytest.mark.parametrize("command", ["info", "schema", "columns", "pages", "layout"])
def test_every_corpus_file_ends_in_an_answer(
    run: Run, corpus: Path, manifest: list[dict[str, str]], command: str
) -> None:
    failures = []
    for row in manifest:
        try:
            result = run(command, corpus / row["file"], "--json")
        except Exception as error:  # noqa: BLE001 - any that escapes is the finding
            failures.append(f"{row['file']}: {error!r}")
            continue
        if result.code == 0:
            assert result.json()["pqlab"] == 1
        elif result.code != 1 or not result.err.startswith("pqlab: "):
            failures.append(f"{row['file']}: {result}")
    assert not failures, "\n".join(failures[:20])
