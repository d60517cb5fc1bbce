"""The magics, in a real IPython shell, judged by pyarrow."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from polars.testing import assert_frame_equal

import pqlab
from pqlab import sample


@pytest.fixture(scope="module")
def taxi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample.write(tmp_path_factory.mktemp("with space") / "taxi trips.parquet", rows=4000)


@pytest.fixture
def shell(taxi: Path) -> Iterator[Any]:
    InteractiveShell.clear_instance()
    shell: Any = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "pqlab")
    shell.push({"path": str(taxi), "quoted": f"'{taxi}'", "folder": f"'{taxi.parent}'"})
    yield shell
    InteractiveShell.clear_instance()


def run(shell: Any, cell: str) -> Any:
    """The cell's result; an error of the cell is raised."""
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result


def expected(path: Path, columns: list[str], start: int, stop: int) -> pl.DataFrame:
    table = pq.read_table(path, columns=columns).slice(start, stop - start)
    return pl.DataFrame(pl.from_arrow(table))


def test_reads_a_slice(shell: Any, taxi: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = run(shell, "%pqread {quoted} -c trip_id,extra -r 990:1010")
    assert_frame_equal(frame, expected(taxi, ["trip_id", "extra"], 990, 1010))
    assert "20 rows × 2 columns" in capsys.readouterr().out


def test_assigns_and_returns_nothing(
    shell: Any, taxi: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shell, "%pqread -q {quoted} -g 1,3 -c trip_id -o df --trace t") is None
    assert capsys.readouterr().out == ""
    rows = expected(taxi, ["trip_id"], 0, 4000)
    assert_frame_equal(shell.user_ns["df"], pl.concat([rows[1000:2000], rows[3000:]]))
    assert len(shell.user_ns["t"].to_frame()) > 0


def test_line_magic_as_an_expression(shell: Any) -> None:
    run(shell, "df = %pqread -q {quoted} -c trip_id")
    assert shell.user_ns["df"].height == 4000


def test_values_that_need_an_option(shell: Any, tmp_path: Path) -> None:
    far = dt.datetime(2900, 1, 2, 3, 4, 5)  # noqa: DTZ001 - INT96 is naive
    path = tmp_path / "far.parquet"
    table = pa.table({"t": pa.array([far], pa.timestamp("us"))})
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    with pytest.raises(UsageError, match='int96_unit="us"'):
        run(shell, f"%pqread -q {path}")
    assert run(shell, f"%pqread -q {path} --int96-unit us")["t"].to_list() == [far]
    with pytest.raises(UsageError, match="invalid choice"):
        run(shell, f"%pqread -q {path} --int96-unit ms")
    text = pa.array([b"\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"s": text}), path)
    with pytest.raises(UsageError, match="invalid_utf8"):
        run(shell, f"%pqread -q {path}")
    assert run(shell, f"%pqread -q {path} --invalid-utf8 binary")["s"].to_list() == [b"\xff"]


def test_pages(shell: Any, taxi: Path) -> None:
    frame = run(shell, "%pqread -q {quoted} -c extra -p 2/trip_id:0")
    assert_frame_equal(frame, expected(taxi, ["extra"], 2000, 3000))


def test_plan_reads_nothing(shell: Any) -> None:
    plan = run(shell, "%pqread {quoted} -c extra --plan")
    assert plan.columns == ("extra",)
    assert plan.num_rows == 4000


def test_quotes_and_braces(shell: Any, taxi: Path) -> None:
    shell.push({"column": "extra"})
    frame = run(shell, """%pqread -q "{path}" -c '"trip_id",{column}' -r :3""")
    assert_frame_equal(frame, expected(taxi, ["trip_id", "extra"], 0, 3))
    frame = run(shell, "%pqread -q {quoted} -c ^.*_zone$ -r :3")
    assert frame.columns == ["pickup_zone", "dropoff_zone"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%pqread", "required: PATH"),
        ("%pqread {quoted} --nonsense", "--nonsense"),
        ("%pqread {quoted} -w 'a > 1'", "no column"),
        ("%pqread {quoted} -w 'extra >'", "where, line 1"),
        ("%pqread {folder} -w 'extr > 1'", "no column"),
        ("%pqread {quoted} -c nope", "nope"),
        ("%pqread {quoted} -g 99", "row group 99"),
        ("%pqread {quoted} -r 5", "START:STOP"),
        ("%pqread {quoted} -o 2x", "2x"),
        ("%pqread {quoted} -o class", "class"),
        ("%pqread {quoted} -e abacus", "abacus"),
        ("%pqread 'not closed", "quotation"),
        ("%pqread /no/such/file.parquet", "/no/such/file.parquet"),
        ("%pqinspect", "required: PATH"),
    ],
)
def test_bad_input_is_a_message(
    shell: Any, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    result = shell.run_cell(line)
    shown = "".join(capsys.readouterr())
    assert type(result.error_in_exec).__name__ == "UsageError"
    assert words in shown
    assert "Traceback" not in shown


def test_stopped_read_keeps_its_trace(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pqlab.reader.FileSelection.read", stop)
    shell.push({"df": "before"})
    shell.run_cell("%pqread {quoted} -o df --trace t")
    assert shell.user_ns["df"] == "before"
    assert isinstance(shell.user_ns["t"], pqlab.Trace)


def test_inspect(shell: Any) -> None:
    file = run(shell, "%pqinspect {quoted} -o f")
    assert file is shell.user_ns["f"]
    assert file.info.num_rows == 4000
    shown, _ = shell.display_formatter.format(file)
    assert "taxi trips.parquet" in shown["text/html"]
    assert "taxi trips.parquet" in shown["text/plain"]


def test_inspect_shows_why_a_file_cannot_be_opened(shell: Any) -> None:
    shown, _ = shell.display_formatter.format(run(shell, "%pqinspect /no/such/file.parquet"))
    for form in ("text/plain", "text/html"):
        assert "/no/such/file.parquet" in shown[form]
        assert "Relative paths start at" in shown[form]


def test_names_are_text(shell: Any, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>"
    pq.write_table(pa.table({name: [name]}), tmp_path / "x.parquet")
    shell.push({"strange": str(tmp_path / "x.parquet")})
    for line in ("%pqread {strange}", "%pqread --plan {strange}", "%pqinspect {strange}"):
        shown, _ = shell.display_formatter.format(run(shell, line))
        assert "<img" not in shown["text/html"]
        assert "&lt;img" in shown["text/html"]


def test_folder(shell: Any, taxi: Path) -> None:
    frame = run(shell, "%pqread -q {folder} -c trip_id")
    assert_frame_equal(frame, expected(taxi, ["trip_id"], 0, 4000))
    shown, _ = shell.display_formatter.format(run(shell, "%pqinspect {folder}"))
    assert "<b>1</b> <span" in shown["text/html"]


def test_where(shell: Any, taxi: Path) -> None:
    frame = run(shell, "%pqread -q {quoted} -c trip_id -w 'extra > 2 and trip_id < 10001000'")
    everything = expected(taxi, ["trip_id", "extra"], 0, 4000)
    wanted = everything.filter((pl.col("extra") > 2) & (pl.col("trip_id") < 10_001_000))
    assert wanted.height > 0
    assert_frame_equal(frame, wanted.select("trip_id"))
    where = "-w 'extra > 2 and trip_id < 10001000'"
    frame = run(shell, f"%pqread -q {{folder}} -c trip_id {where}")
    assert_frame_equal(frame, wanted.select("trip_id"))
    job = run(shell, f"%pqread -q {{quoted}} -c trip_id {where} --bg")
    assert_frame_equal(job.result(), wanted.select("trip_id"))


def test_in_the_background(shell: Any, taxi: Path) -> None:
    job = run(shell, "%pqread {quoted} -c extra -g 1 --bg --trace t")
    assert_frame_equal(job.result(), expected(taxi, ["extra"], 1000, 2000))
    assert job.progress.share == 1
    assert len(shell.user_ns["t"].to_frame()) > 0
    assert run(shell, "%pqread {quoted} --bg -o job") is None
    shell.user_ns["job"].cancel()


def test_a_cell_runs_once_per_row_group(
    shell: Any, taxi: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.push({"seen": []})
    run(shell, "%%pqread {quoted} -c trip_id -g 1,3\nseen.append((rg, df))\n%matplotlib --list")
    assert "2 row groups, 2,000 rows in" in capsys.readouterr().out
    rows = expected(taxi, ["trip_id"], 0, 4000)
    assert [number for number, _ in shell.user_ns["seen"]] == [1, 3]
    assert_frame_equal(
        pl.concat(df for _, df in shell.user_ns["seen"]), pl.concat([rows[1000:2000], rows[3000:]])
    )
    shell.push({"seen": []})
    run(
        shell,
        "%%pqread -q {quoted} -o part -w 'trip_id >= 10002500'\nseen.append((rg, part.height))",
    )
    assert shell.user_ns["seen"] == [(2, 500), (3, 1000)]
    shell.push({"seen": []})
    run(shell, "%%pqread -q {folder} -c extra\nseen.append(rg)")
    assert shell.user_ns["seen"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("cell", "kind", "words"),
    [
        ("1 / 0", "ZeroDivisionError", "1 / 0"),
        ("raise StopIteration", "StopIteration", "raise StopIteration"),
        ("1 +", "UsageError", "the cell:"),
    ],
)
def test_what_fails_in_a_cell_is_the_users(
    shell: Any, capsys: pytest.CaptureFixture[str], cell: str, kind: str, words: str
) -> None:
    result = shell.run_cell(f"%%pqread {{quoted}}\n{cell}")
    assert type(result.error_in_exec).__name__ == kind
    assert words in "".join(capsys.readouterr())


def test_errors_of_the_file_end_a_cell_without_traceback(
    shell: Any, taxi: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = bytearray(taxi.read_bytes())
    start = pq.ParquetFile(taxi).metadata.row_group(2).column(0).data_page_offset
    damaged[start : start + 30] = bytes(30)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    shell.push({"damaged": str(tmp_path / "damaged.parquet"), "seen": []})
    shell.run_cell("%%pqread {damaged} -c trip_id\nseen.append(rg)")
    shown = "".join(capsys.readouterr())
    assert shell.user_ns["seen"] == [0, 1]
    assert "row group 2" in shown
    assert "Traceback" not in shown
    shell.run_cell("%%pqread {quoted} --plan\npass")
    assert "--plan and --bg" in "".join(capsys.readouterr())


def test_config(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(shell, "%config PqlabMagics")
    shown = capsys.readouterr().out
    for option in ("engine", "quiet", "cache", "verify_checksums"):
        assert f"PqlabMagics.{option}" in shown
    run(shell, "%config PqlabMagics.quiet = True")
    run(shell, "%pqread {quoted} -r :3 -o df")
    assert capsys.readouterr().out == ""
    run(shell, "%config PqlabMagics.engine = 'emulated'")
    assert run(shell, "%pqread {quoted} -c extra -r :3 --plan").engine == "emulated"
    assert run(shell, "%pqread {quoted} -c extra -r :3 --plan -e cpu").engine == "cpu"
    run(shell, "%reload_ext pqlab")  # once, not twice
    run(shell, "%config PqlabMagics.verify_checksums = True")
    assert run(shell, "%pqinspect {quoted}").verify_checksums


def completed(shell: Any, line: str) -> list[str]:
    """What a notebook offers at the end of the line."""
    with provisionalcompleter():
        return [each.text for each in shell.Completer.completions(line, len(line))]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("%pqread {quoted} -c pick", ["pickup_at", "pickup_zone"]),
        ("%pqread '{path}' -q -c extra,PICKUP_Z", ["pickup_zone"]),
        ("%pqread {quoted} -g ", ["0", "1", "2", "3"]),
        ("%pqread {quoted} --columns trip_d", ["trip_distance"]),
        ("%pqread -c trip_i {quoted}", []),
        ("%pqread {quoted} -p 2/fare", ["2/fare_amount"]),
        ("%pqread {quoted} -w vendor", ["vendor_id"]),
        ("%pqread {quoted} --tr", ["--trace"]),
        ("%pqread {quoted} -e em", ["emulated"]),
        ("%%pqread {quoted} -c dropoff_a", ["dropoff_at"]),
        ("%pqinspect {quoted} --o", ["--output"]),
    ],
)
def test_completion(shell: Any, line: str, wanted: list[str]) -> None:
    run(shell, "f = pqlab = None\n%pqinspect {quoted} -o f")
    found = completed(shell, line.replace("{quoted}", shell.user_ns["quoted"]))
    assert set(wanted) <= set(found)  # names of Python's own may be offered, too
    assert wanted or not set(found) & set(shell.user_ns["f"].leaves["column"])
    assert "tip_amount" not in found


def test_completion_reads_no_file(shell: Any, taxi: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    shutil.copy(taxi, other)
    assert completed(shell, f"%pqread {other} -c pick") == []
    time.sleep(0.1)  # a file that may still be written is not kept
    run(shell, f"%pqinspect {other} -o f")
    other.unlink()
    assert completed(shell, f"%pqread {other} -c pick") == ["pickup_at", "pickup_zone"]


def test_help(shell: Any) -> None:
    words = shell.find_line_magic("pqread").__doc__
    options = ("--columns", "--row-groups", "--pages", "--rows", "--where", "--plan", "--bg", "-q")
    for option in (*options, "%%pqread", "%config"):
        assert option in words
