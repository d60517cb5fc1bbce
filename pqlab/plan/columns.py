"""Looking up columns: the leaves under a name, a path, a regular expression, or an ordinal."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import pairwise
from typing import Any, Protocol

from pqlab.errors import SelectionError
from pqlab.footer.schema import SchemaNode
from pqlab.plan.picks import ColumnPick, ordinals, to_column

_NEAR_MATCHES = 3
_COMPARED_NAMES = 200
_MAX_LISTED = 10


class HasLeaves(Protocol):
    """A schema with its leaves: of a file, or of a dataset."""

    @property
    def schema(self) -> SchemaNode: ...  # noqa: D102  # as FileMetaData's
    @property
    def leaves(self) -> tuple[SchemaNode, ...]: ...  # noqa: D102  # as FileMetaData's
    @property
    def num_leaves(self) -> int: ...  # noqa: D102  # as FileMetaData's


def find_leaves(columns: Iterable[ColumnPick], schema: HasLeaves) -> list[int]:
    """The leaf ordinals of all picked columns, in schema order.

    Raises `SelectionError` for a column that the schema does not have, or has more than once.
    """
    return sorted({leaf for pick in columns for leaf in _leaves(pick, schema)})


def find_leaf(column: Any, schema: HasLeaves) -> int:
    """The ordinal of the one leaf that `column` names. Raises `SelectionError` for any other."""
    pick = to_column(column)
    found = _leaves(pick, schema)
    if len(found) != 1:
        raise SelectionError(
            f"one leaf column is wanted, and {pick!r} has {len(found)}",
            hint=f"Take one of {_listed(found, schema)}",
        )
    return found[0]


def _leaves(pick: ColumnPick, schema: HasLeaves) -> list[int]:
    if isinstance(pick, int):
        return ordinals((pick,), schema.num_leaves, "leaf column")
    nodes = list(_descendants(schema.schema))
    if isinstance(pick, tuple):
        return _leaves_of_one([node for node in nodes if node.path == pick], pick, schema)
    if pick.startswith("^") and pick.endswith("$") and len(pick) > 1:
        return _leaves_of_matching(nodes, pick)
    return _leaves_of_one([node for node in nodes if node.column == pick], pick, schema)


def _leaves_of_matching(nodes: list[SchemaNode], pattern: str) -> list[int]:
    try:
        matches = re.compile(pattern).search
    except re.error as error:
        raise SelectionError(f"{pattern!r} is not a regular expression: {error}") from None
    found = {leaf for node in nodes if matches(node.column) for leaf in _leaves_under(node)}
    if not found:
        raise SelectionError(f"no column matches {pattern!r}")
    return sorted(found)


def _leaves_of_one(
    nodes: list[SchemaNode], pick: str | tuple[str, ...], schema: HasLeaves
) -> list[int]:
    if not nodes:
        wanted = pick if isinstance(pick, str) else ".".join(pick)
        near = _near_matches(wanted, {node.column for node in _descendants(schema.schema)})
        hint = f"Near matches: {', '.join(map(repr, near))}" if near else _there_are(schema)
        raise SelectionError(f"there is no column {pick!r}", hint=hint)
    if len(nodes) > 1:
        leaves = sorted(leaf for node in nodes for leaf in _leaves_under(node))
        paths = {node.path for node in nodes}
        by_path = ", or a tuple of the path's names" if len(paths) > 1 else ""
        raise SelectionError(
            f"the column {pick!r} is not unique: it is leaf columns {_listed(leaves, schema)}",
            hint=f"Pick by leaf ordinal{by_path}",
        )
    return _leaves_under(nodes[0])


def _there_are(schema: HasLeaves) -> str | None:
    if not schema.leaves:
        return None
    names = [repr(leaf.column) for leaf in schema.leaves[:_MAX_LISTED]]
    more = len(schema.leaves) - len(names)
    return f"There are {', '.join(names)}" + (f" and {more:,} more" if more else "")


def _listed(leaves: Sequence[int], schema: HasLeaves) -> str:
    shown = [f"{leaf} ({schema.leaves[leaf].column!r})" for leaf in leaves[:_MAX_LISTED]]
    more = len(leaves) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _near_matches(wanted: str, known: Iterable[str]) -> list[str]:
    # The exact comparison is slow: it sees the names that share most pairs of letters.
    pairs = set(pairwise(wanted.lower()))
    likely = nlargest(
        _COMPARED_NAMES, known, key=lambda name: len(pairs.intersection(pairwise(name.lower())))
    )
    return difflib.get_close_matches(wanted, likely, _NEAR_MATCHES)


def _descendants(root: SchemaNode) -> Iterable[SchemaNode]:
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def _leaves_under(node: SchemaNode) -> list[int]:
    if node.leaf is not None:
        return [node.leaf]
    return [child.leaf for child in _descendants(node) if child.leaf is not None]
