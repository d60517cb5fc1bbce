"""What all widgets of pqlab share: their bundle, and how a notebook comes to show them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import anywidget
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display

_STATIC = Path(__file__).parent / "static"
# JupyterLab shows the static part, and leaves it there, where an output comes before its part for
# widgets has met the kernel. It says nothing of that: a view that opens does.
_SHOWN_AGAIN_AFTER_S = (1.0, 2.0, 4.0, 8.0, 16.0)
_HINT = "<p><em>{}</em></p>"


class Shown(anywidget.AnyWidget):
    """A widget that speaks by messages. `static` is shown where no scripts run, with `hint`.

    In a notebook it is an output of its own, which a view hides: JupyterLab has nothing but an
    error to show of a widget whose kernel is gone, whatever stands beside it in its output.
    """

    _esm = _STATIC / "inspector.js"
    _css = _STATIC / "inspector.css"
    hint = "In a notebook with a kernel, run the cell again."
    static_id = traitlets.Unicode().tag(sync=True)

    def __init__(self, **options: Any) -> None:
        super().__init__(static_id=uuid4().hex, **options)
        self._has_view = False
        self._handle: Callable[[Mapping[str, Any]], None] = lambda _: None
        self.on_msg(lambda _, message, __: self._answer(message))

    def _answer(self, message: Any) -> None:
        self._has_view = True
        self._handle(message)

    def static(self) -> str:
        """What it shows as HTML without scripts."""
        raise NotImplementedError

    def _ipython_display_(self, **options: Any) -> None:
        """Show the widget, in a notebook again and again until a view of it has opened."""
        data, metadata = self._repr_mimebundle_(**options)
        is_notebook = getattr(get_ipython(), "kernel", None) is not None
        if is_notebook:
            static = f'<div data-pqlab="{self.static_id}">{data["text/html"]}</div>'
            display({"text/html": static}, raw=True)  # type: ignore[no-untyped-call]
            data = {**data, "text/html": ""}
        show: dict[str, Any] = {"metadata": metadata, "raw": True, "display_id": uuid4().hex}
        display(data, **show)  # type: ignore[no-untyped-call]
        self._has_view = False  # of this output
        if is_notebook:
            with suppress(RuntimeError):  # displayed by a thread without an event loop
                self._show_again(data, show, _SHOWN_AGAIN_AFTER_S)

    def _show_again(self, data: Any, show: dict[str, Any], after_s: Sequence[float]) -> None:
        def again() -> None:
            if not self._has_view:
                update_display(data, **show)  # type: ignore[no-untyped-call]
                self._show_again(data, show, after_s[1:])

        if after_s:
            asyncio.get_running_loop().call_later(after_s[0], again)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle: Any = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.static() + _HINT.format(self.hint)}, metadata


class Value(traitlets.Any):
    """A trait of any value, which is another one when it is another object.

    traitlets asks `==`, which of a frame and None is a warning, and of two frames a frame.
    """

    def set(self, obj: Any, value: Any) -> None:
        """Keep the value, and tell of it."""
        new = self._validate(obj, value)
        old = obj._trait_values.get(self.name)  # noqa: SLF001  # as traitlets' own `set`
        obj._trait_values[self.name] = new  # noqa: SLF001
        if old is not new:
            obj._notify_trait(self.name, old, new)  # noqa: SLF001


def user_namespace() -> MutableMapping[str, Any]:
    """The variables of the notebook; elsewhere, a namespace that nobody sees."""
    shell = get_ipython()
    return {} if shell is None else shell.user_ns
