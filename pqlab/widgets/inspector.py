"""`Inspector`: the headless inspector, shown by JavaScript in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import anywidget
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display

from pqlab.dataset import open as open_source
from pqlab.errors import PqlabError, SelectionError
from pqlab.file_selection import FileSelection
from pqlab.inspector import Session, Unopened
from pqlab.reader import ParquetFile

_STATIC = Path(__file__).parent / "static"
_VIEW = ("screen", "row_group", "leaf", "page", "tab", "lens")
# JupyterLab shows the static overview, and leaves it there, where an output comes before its part
# for widgets has met the kernel. It says nothing of that: a view that opens does.
_SHOWN_AGAIN_AFTER_S = (1.0, 2.0, 4.0, 8.0, 16.0)
_HINT = (
    "<p><em>This is the overview alone. In a notebook with a kernel, run the cell again to pick "
    "row groups, columns and pages, and to read them.</em></p>"
)


def inspect(source: Any, **options: Any) -> Inspector:
    """The inspector of a file: look into it, pick a slice, read it into a variable.

    `source`: an open `ParquetFile`, or what `pqlab.open` takes, with its `options`. Only the footer
    is read until more is asked for. What cannot be opened is shown with its error, which is raised
    by whatever else is asked of it. Raises `SelectionError` for a dataset.
    """
    try:
        file = source if isinstance(source, ParquetFile) else open_source(source, **options)
    except PqlabError as error:
        return cast("Inspector", Unopened(error))
    if not isinstance(file, ParquetFile):
        raise SelectionError(
            "the inspector shows one file", hint="Inspect one of the dataset's files by its path"
        )
    return Inspector(file)


class Inspector(anywidget.AnyWidget):
    """A file in a notebook, and what is picked of it.

    `selection` is the picked `FileSelection`, and setting it picks; `view` is where the user is, as
    a dict, and setting it goes there. `code` builds the selection again; `frame` and `trace` are of
    the last read. All can be observed.
    """

    _esm = _STATIC / "inspector.js"
    _css = _STATIC / "inspector.css"

    selection = traitlets.Any()
    view = traitlets.Dict()
    code = traitlets.Unicode(read_only=True)
    frame = traitlets.Any(read_only=True)
    trace = traitlets.Any(read_only=True)

    def __init__(self, file: ParquetFile, **options: Any) -> None:
        super().__init__(**options)
        self.file = file
        shell = get_ipython()
        namespace: MutableMapping[str, Any] | None = None if shell is None else shell.user_ns
        self._session = Session(file, self.send, namespace=namespace)
        self._session.on_change = self._tell_traits
        self._is_telling = False
        self._tell_traits()
        self._has_view = False
        self.on_msg(lambda _, message, __: self._answer(message))

    def _answer(self, message: Any) -> None:
        self._has_view = True
        self._session.handle(message)

    def _tell_traits(self) -> None:
        session = self._session
        self._is_telling = True
        try:
            self.selection = session.selection
            self.set_trait("code", session.selection.code)
            self.set_trait("frame", session.frame)
            self.set_trait("trace", session.trace)
            self.view = {name: getattr(session.state, name) for name in _VIEW}
        finally:
            self._is_telling = False

    @traitlets.observe("selection")
    def _picked(self, change: Any) -> None:
        if not self._is_telling:
            self._session.selection = change.new

    @traitlets.validate("selection")
    def _pickable(self, proposal: Any) -> Any:
        new = proposal["value"]
        if not isinstance(new, FileSelection) or new.file.metadata is not self.file.metadata:
            raise traitlets.TraitError(
                "an inspector's selection is one of its own file without where: "
                "inspector.file.select(columns, row_groups=..., pages=..., rows=...)"
            )
        return new

    @traitlets.observe("view")
    def _moved(self, change: Any) -> None:
        if not self._is_telling:
            new = {name: value for name, value in change.new.items() if value is not None}
            lens = new.pop("lens", None)
            if lens is not None:
                self._session.do("look", lens=lens)
            self._session.do("go", **new)

    def read(self) -> None:
        """Read what is picked into the variable that the inspector names, as its button does."""
        self._session.read()

    def _ipython_display_(self, **options: Any) -> None:
        """Show the widget, in a notebook again and again until a view of it has opened."""
        data, metadata = self._repr_mimebundle_(**options)
        show: dict[str, Any] = {"metadata": metadata, "raw": True, "display_id": uuid4().hex}
        display(data, **show)  # type: ignore[no-untyped-call]
        self._has_view = False  # of this output
        if getattr(get_ipython(), "kernel", None) is not None:
            with suppress(RuntimeError):  # displayed by a thread without an event loop
                self._show_again(data, show, _SHOWN_AGAIN_AFTER_S)

    def _show_again(self, data: Any, show: dict[str, Any], after_s: Sequence[float]) -> None:
        def again() -> None:
            if not self._has_view:
                update_display(data, **show)  # type: ignore[no-untyped-call]
                self._show_again(data, show, after_s[1:])

        if after_s:
            asyncio.get_running_loop().call_later(after_s[0], again)

    def __repr__(self) -> str:
        return f"<pqlab.widgets.Inspector of {self.file!r}>"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle: Any = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.file._repr_html_() + _HINT}, metadata
