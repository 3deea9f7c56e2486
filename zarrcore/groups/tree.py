"""A hierarchy drawn as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from zarrcore.errors import NodeIOError, printable
from zarrcore.metadata import GroupMetadata
from zarrcore.nodes.find import Unreadable, refuse_level
from zarrcore.nodes.walk import children
from zarrcore.storage.path import StorePath


class Tree:
    """Lines of a drawn hierarchy; printing shows them."""

    __slots__ = ("lines",)

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"


def tree_of(
    place: StorePath, metadata: GroupMetadata, *, level: int | None = None, max_nodes: int = 500
) -> Tree:
    """Draw a group and what is below it: so many levels, and so many nodes."""
    if level is not None and not (hasattr(level, "__index__") and level >= 0):
        raise ValueError(f"level: expected None or a number of levels, at least 0, got {level!r}")
    if not (hasattr(max_nodes, "__index__") and max_nodes >= 0):
        raise ValueError(f"max_nodes: expected a number of nodes, at least 0, got {max_nodes!r}")
    lines = [printable(f"/{place.path}"), *islice(_branches(place, metadata, level), max_nodes + 1)]
    if len(lines) > max_nodes + 1:
        lines[-1] = f"... (only {max_nodes} nodes are shown)"
    return Tree(lines)


def _branches(place: StorePath, metadata: GroupMetadata, level: int | None) -> Iterator[str]:
    if level == 0:
        return
    root = place
    # A stack of members that are still to be drawn, the next one last, because groups may be nested deeply.
    stack = [(place, "", list(children(place, metadata))[::-1])]
    while stack:
        place, indent, members = stack[-1]
        if not members:
            stack.pop()
            continue
        refuse_level(root, len(stack))
        name, found = members.pop()
        yield f"{indent}{'├── ' if members else '└── '}{printable(name + _details(found))}"
        if isinstance(found, GroupMetadata) and (level is None or len(stack) < level):
            child = place._child(name)
            deeper = indent + ("│   " if members else "    ")
            try:
                below = list(children(child, found))[::-1]
            except NodeIOError as error:
                yield f"{deeper}└── {printable(_details(Unreadable(error)).lstrip())}"
                continue
            stack.append((child, deeper, below))


def _details(found: Any) -> str:
    if isinstance(found, Unreadable):
        return f" (unreadable: {' '.join(str(found.error).split()):.200})"
    return "" if isinstance(found, GroupMetadata) else f" {found.shape} {found.dtype_text}"
