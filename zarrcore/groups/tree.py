"""A hierarchy drawn as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.nodes.find import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.groups.group import Group

__all__ = ["Tree", "tree_of"]


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


def tree_of(group: Group, *, level: int | None = None, max_nodes: int = 500) -> Tree:
    """Draw a group and what is below it.

    Parameters
    ----------
    level : int, optional
        Number of levels below the group to show.
    max_nodes : int
        Stop after so many nodes, and say so.
    """
    lines = [group.name]
    for count, line in enumerate(_branches(group, "", level)):
        if count == max_nodes:
            lines.append(f"... (only {max_nodes} nodes are shown)")
            break
        lines.append(line)
    return Tree(lines)


def _branches(group: Group, indent: str, level: int | None) -> Iterator[str]:
    if level == 0:
        return
    members = list(group._walk(0))
    for position, (name, node) in enumerate(members, start=1):
        last = position == len(members)
        yield f"{indent}{'└── ' if last else '├── '}{name}{_details(node)}"
        if not hasattr(node, "shape") and not isinstance(node, Unreadable):
            deeper = None if level is None else level - 1
            yield from _branches(node, indent + ("    " if last else "│   "), deeper)  # type: ignore[arg-type]


def _details(node: Any) -> str:
    if isinstance(node, Unreadable):
        return f" (unreadable: {' '.join(str(node.error).split()):.200})"
    return f" {node.shape} {node.dtype}" if hasattr(node, "shape") else ""
