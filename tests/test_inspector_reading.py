"""Reads that an inspector begins: cancelled, tried again, asked for twice, of files that change."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inspector_screen import Screen
from streams import Slow, oracle, parquet, table_of

import pqlab
from pqlab.errors import SourceError
from pqlab.inspector import Session

DATA = parquet(table_of(4_000), 1_000)


def opened(source: Any) -> pqlab.ParquetFile:
    file = pqlab.open(source)
    assert isinstance(file, pqlab.ParquetFile)
    return file


class Threaded(Screen):
    """A session whose work goes on in threads of its own, as in a notebook."""

    def _session(self, file: pqlab.ParquetFile) -> Session:
        return Session(file, self._hear, namespace=self.namespace)

    def wait(self, reached: Callable[[], Any]) -> None:
        until = time.monotonic() + 60
        while not reached():
            assert time.monotonic() < until, self.said[-3:]
            time.sleep(0.005)

    def state(self) -> str | None:
        return None if self.session.run is None else self.session.run.state


def test_a_read_is_cancelled_and_assigns_nothing() -> None:
    source = Slow(DATA)
    screen = Threaded(opened(source))
    with source.hold():
        screen.say(run="read")
        screen.wait(lambda: screen.last("run")["text"].startswith("0 pages done"))
        screen.say(run="cancel")
        assert screen.said[-1]["state"] in ("cancelling", "cancelled")
        screen.wait(lambda: screen.state() == "cancelled")
    assert screen.last("run")["text"] == "Cancelled; nothing was assigned."
    assert screen.namespace == {}
    assert screen.session.frame is None
    assert screen.session.trace is not None  # it is kept
    screen.say(run="read")
    screen.wait(lambda: screen.state() == "done")
    assert screen.namespace["df"].equals(oracle(DATA))


def test_a_second_read_is_refused_while_one_runs() -> None:
    source = Slow(DATA)
    screen = Threaded(opened(source))
    with source.hold():
        screen.say(run="read")
        screen.wait(lambda: screen.last("run")["text"].startswith("0 pages done"))
        screen.say(run="read")
        error = screen.last("error")["error"]
        assert error["message"] == "a read is under way"
        assert error["hint"] == "Wait for it, or cancel it"
    screen.wait(lambda: screen.state() == "done")
    assert screen.namespace["df"].equals(oracle(DATA))


def test_picking_goes_on_while_a_read_runs() -> None:
    source = Slow(DATA)
    screen = Threaded(opened(source))
    with source.hold():
        screen.say(run="read")
        screen.say(do="go", screen="grid")
        screen.say(do="pick_cells", rows=[0, 1], row_groups=[1, 2])
        screen.wait(lambda: "1 column" in screen.last("slice")["text"])
        assert screen.rows("grid")[0]["picked"]
    screen.wait(lambda: screen.state() == "done")
    assert screen.namespace["df"].equals(oracle(DATA))  # what was picked when it began


def test_what_failed_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Slow(DATA)
    screen = Screen(opened(source))

    def fail(*_: object, **__: object) -> Any:
        raise SourceError("the wire is cut", hint="Mend it")

    with monkeypatch.context() as broken:
        broken.setattr(Slow, "_fill", fail)
        screen.say(run="read")
    error = screen.last("run")["error"]
    assert (error["message"], error["hint"]) == ("the wire is cut", "Mend it")
    screen.namespace["df"] = "made meanwhile"
    screen.say(run="read")
    assert screen.last("slice")["confirm"]  # trying again overwrites as little as the first try
    screen.say(run="read", overwrite=True)
    assert screen.namespace["df"].equals(oracle(DATA))


def test_a_deleted_and_a_replaced_file_are_said_so(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000))}), path)
    screen = Screen(pqlab.open(path))
    path.unlink()
    screen.say(run="read")
    error = screen.last("run")["error"]
    assert error["kind"] == "SourceChangedError"
    assert "gone" in error["message"]
    screen.say(do="go", screen="chunk", row_group=0, leaf=0)
    screen.say(load="pages")
    assert "gone" in screen.last("error")["error"]["message"]
    pq.write_table(pa.table({"a": list(range(2000))}), path)
    screen.say(run="read")
    error = screen.last("run")["error"]
    assert error["kind"] == "SourceChangedError"
    assert "replaced" in error["message"]
    assert error["hint"] == "Open it again"
    assert screen.namespace == {}


def test_a_variable_is_not_overwritten_when_its_value_changed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), path)
    screen = Screen(pqlab.open(path))
    screen.namespace["df"] = None  # a value as any other
    screen.say(run="read")
    assert screen.last("slice")["confirm"]
    screen.say(do="name", variable="mine")
    assert not screen.last("slice")["confirm"]
    screen.say(run="read")
    assert screen.namespace["mine"]["a"].to_list() == [1, 2]
    screen.namespace["mine"] = screen.namespace["mine"].clone()
    screen.say(run="read")
    assert screen.last("slice")["confirm"]


def test_a_variable_that_is_made_during_a_read_is_kept() -> None:
    source = Slow(DATA)
    screen = Threaded(opened(source))
    with source.hold():
        screen.say(run="read")
        screen.wait(lambda: screen.last("run")["text"].startswith("0 pages done"))
        screen.namespace["df"] = "made meanwhile"
    screen.wait(lambda: screen.state() == "done")
    assert screen.namespace["df"] == "made meanwhile"
    assert "inspector.frame" in screen.last("run")["text"]
    assert screen.session.frame is not None
    assert screen.session.frame.equals(oracle(DATA))
