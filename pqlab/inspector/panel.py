"""`PanelSession`: one screen that stands alone, and the messages between it and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol, TypeAlias

from pqlab.errors import PqlabError, SelectionError
from pqlab.inspector.slice_text import explained

Message: TypeAlias = dict[str, Any]


class Content(Protocol):
    """What a panel shows. `channel` names its screen, its table, and its messages."""

    channel: str

    @property
    def identity(self) -> tuple[str, str]:
        """Title and subtitle."""

    def take(
        self, action: str, arguments: Message, namespace: MutableMapping[str, Any]
    ) -> Message | None:
        """Do an action; gives the answer where it asks for one. Raises `SelectionError`."""

    def body(self) -> Message:
        """What the screen shows but the rows of its table."""

    def rows(self, start: int, stop: int) -> Message:
        """Rows [start, stop) of its table."""


class PanelSession:
    """A panel: messages in, messages out, as `Session` has them.

    `send` takes what goes out. `namespace`: where exported frames go. `on_change` is called after
    every action.
    """

    def __init__(
        self,
        content: Content,
        send: Callable[[Message], None],
        *,
        namespace: MutableMapping[str, Any] | None = None,
    ) -> None:
        self.content, self.version = content, 0
        self.on_change: Callable[[], None] = lambda: None
        self._send, self._namespace = send, namespace if namespace is not None else {}

    def handle(self, message: Mapping[str, Any]) -> None:
        """Take a message; what is wrong with it goes out as an `error`."""
        try:
            self._handle(dict(message))
        except PqlabError as error:
            self._send({"kind": "error", "error": explained(error)})

    def _handle(self, message: Message) -> None:
        channel = self.content.channel
        if channel in message:
            self.do(message.pop(channel), **message)
        elif message.pop("ask", None) == channel:
            version = message.pop("version", self.version)
            answer = {"kind": "rows", "table": channel, "version": version}
            self._send(answer | self.content.rows(message["start"], message["stop"]))
        elif "open" in message:
            self._show()
        else:
            raise SelectionError("a message that says nothing to this panel")

    def do(self, action: str, **arguments: Any) -> None:
        """Do an action, or send what it asks for."""
        answer = self.content.take(action, arguments, self._namespace)
        if answer is not None:
            self._send(answer)
            return
        self._show()
        self.on_change()

    def _show(self) -> None:
        self.version += 1
        self._send(self.view())

    def view(self) -> Message:
        """What is on the screen, but marks and rows."""
        title, subtitle = self.content.identity
        return {
            "kind": "view",
            "version": self.version,
            "screen": self.content.channel,
            "identity": {"title": title, "subtitle": subtitle, "figures": []},
            "crumbs": [],
            "up": None,
            "body": self.content.body(),
        }
