"""`Inspector`: the headless inspector, shown by JavaScript in a notebook."""

from __future__ import annotations

from typing import Any, cast

import traitlets

from pqlab.dataset import open as open_source
from pqlab.errors import PqlabError, SelectionError
from pqlab.file_selection import FileSelection
from pqlab.inspector import Session, Unopened
from pqlab.inspector.compare.linked import NOT_COMPARABLE, is_comparable
from pqlab.reader import ParquetFile
from pqlab.widgets.compare import open_file
from pqlab.widgets.shown import Shown, Value, user_namespace

_VIEW = ("screen", "row_group", "leaf", "page", "tab", "lens")


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


class Inspector(Shown):
    """A file in a notebook, and what is picked of it.

    `selection` is the picked `FileSelection`, and setting it picks; `view` is where the user is, as
    a dict, and setting it goes there. `code` builds the selection again; `frame` and `trace` are of
    the last read. All can be observed. What is set as `against` (a file or its path, a trace, a
    `pqlab.compare` result) is compared with the file, or with the last read; None: its last two
    reads are compared.
    """

    hint = (
        "This is the overview alone. In a notebook with a kernel, run the cell again to pick "
        "row groups, columns and pages, and to read them."
    )

    selection = traitlets.Any()
    view = traitlets.Dict()
    code = traitlets.Unicode(read_only=True)
    frame = Value(read_only=True)
    trace = traitlets.Any(read_only=True)
    against = traitlets.Any(allow_none=True)

    def __init__(self, file: ParquetFile, **options: Any) -> None:
        super().__init__(**options)
        self.file = file
        self._session = Session(file, self.send, namespace=user_namespace())
        self._handle = self._session.handle
        self._session.on_change = self._tell_traits
        self._is_telling = False
        self._tell_traits()

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
        if not isinstance(new, FileSelection) or _place(new.file) != _place(self.file):
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

    @traitlets.validate("against")
    def _comparable(self, proposal: Any) -> Any:
        other = open_file(proposal["value"])
        if not is_comparable(other):
            raise traitlets.TraitError(NOT_COMPARABLE)
        return other

    @traitlets.observe("against")
    def _held_against(self, change: Any) -> None:
        self._session.hold_against(change.new)

    def read(self) -> None:
        """Read what is picked into the variable that the inspector names, as its button does."""
        self._session.read()

    def __repr__(self) -> str:
        return f"<pqlab.widgets.Inspector of {self.file!r}>"

    def static(self) -> str:
        """The overview as HTML without scripts."""
        return self.file._repr_html_()


def _place(file: ParquetFile) -> tuple[str, int]:
    """What two openings of a file have in common."""
    return file.name, file.source.size
