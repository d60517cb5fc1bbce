"""The magics, in a real IPython shell, judged by pyarrow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
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
    shell.push({"path": str(taxi), "quoted": f"'{taxi}'"})
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
        ("%pqread {quoted} -w 'a > 1'", "-w"),
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
    shell.push({"folder": str(taxi.parent)})
    frame = run(shell, "%pqread -q '{folder}' -c trip_id")
    assert_frame_equal(frame, expected(taxi, ["trip_id"], 0, 4000))
    shown, _ = shell.display_formatter.format(run(shell, "%pqinspect '{folder}'"))
    assert "<b>1</b> <span" in shown["text/html"]


def test_help(shell: Any) -> None:
    words = shell.find_line_magic("pqread").__doc__
    for option in ("--columns", "--row-groups", "--pages", "--rows", "--plan", "--quiet"):
        assert option in words
