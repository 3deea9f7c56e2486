"""What the commands tree and ls show: the nodes below a group, and what is known of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from zarrcore._typed import NamedTuple
from zarrcore.cli.text import can_print, in_lines, shape_text, shortened
from zarrcore.errors import NodeIOError, printable
from zarrcore.info import size_text
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable
from zarrcore.nodes.reading import stored_size
from zarrcore.nodes.walk import walk
from zarrcore.storage import StorePath


class Node(NamedTuple):
    """A node that is known by its place and metadata, without opening it."""

    place: StorePath
    metadata: Any


_Row = tuple[str, tuple[bool, ...], dict[str, Any]]


def draw(root: str, rows: list[_Row]) -> None:
    """Print a tree."""
    bars, branch, last, gap = "│   ", "├── ", "└── ", "    "
    if not can_print(bars + branch + last):
        bars, branch, last = "|   ", "|-- ", "`-- "
    for path, lasts, facts in rows:
        indent = "".join(gap if is_last else bars for is_last in lasts[:-1])
        mark, below = ("", "") if not lasts else (last, gap) if lasts[-1] else (branch, bars)
        name = path.rpartition("/")[2] if lasts else f"/{root}"
        shown = printable(f"{name} {facts_text(facts)}".rstrip())
        click.echo(in_lines(shown, f"{indent}{mark}", f"{indent}{below}{gap}"))


def refuse_unreadable(found: list[tuple[str, dict[str, Any]]]) -> None:
    """End with an error if a store failed to read some of what is there, once all else is printed."""
    errors = [(path, facts["error"]) for path, facts in found if "failed" in facts]
    for path, error in errors:
        click.echo(f"zarrcore: {printable(f'/{path}: {error}')}", err=True)
    if errors:
        raise SystemExit(1)


def nodes_below(node: Node, depth: int | None, sizes: bool) -> Iterator[_Row]:
    """Yield path and facts of each node; between them, which nodes on the way are the last of their group."""
    if is_array_metadata(node.metadata) or depth == 0:
        yield "", (), facts_of(node, sizes)
        return
    found, failed = members(node, depth)
    yield "", (), {**facts_of(node, sizes), **failed.get("", {})}
    last: dict[str, str] = {}
    for path, _ in found:
        last[path.rpartition("/")[0]] = path
    lasts: dict[str, tuple[bool, ...]] = {"": ()}
    for path, member in found:
        above = path.rpartition("/")[0]
        lasts[path] = (*lasts[above], last[above] == path)
        yield path, lasts[path], {**facts_of(member, sizes), **failed.get(path, {})}


def members(group: Node, depth: int | None) -> tuple[list[tuple[str, Node]], dict[str, dict[str, Any]]]:
    """Return the nodes below a group, those that cannot be read as Unreadable.

    And, by path, the facts of groups whose members cannot be read.
    """
    found: dict[str, Node] = {}
    failed: dict[str, dict[str, Any]] = {}
    depth = None if depth is None else depth - 1
    for each in walk(group.place, group.metadata, max_depth=depth, goes_on=True):
        if not each.path or each.path in found:
            failed[each.path] = _error(each.metadata.error)
        else:
            found[each.path] = Node(group.place._child(each.path), each.metadata)
    return [*found.items()], failed


def _error(error: Exception) -> dict[str, Any]:
    """Return the fact that a node, or what is in it, cannot be read."""
    failed = {"failed": True} if isinstance(error, NodeIOError) else {}  # not by what a document says
    return {"error": " ".join(str(error).split()), **failed}


def facts_of(node: Node, sizes: bool) -> dict[str, Any]:
    metadata = node.metadata
    if isinstance(metadata, Unreadable):
        return {"kind": "unreadable", **_error(metadata.error)}
    if not is_array_metadata(metadata):
        return {"kind": "group"}
    facts: dict[str, Any] = {"kind": "array", "shape": list(metadata.shape), "data_type": metadata.dtype_text}
    for name in ("shards", "chunks"):
        shape = _chunk_shape(metadata, name)
        if shape is not None:
            facts[name] = shape
    if sizes:
        try:
            facts["nbytes_stored"] = stored_size(node.place)
        except NodeIOError as error:
            facts |= _error(error)
    return facts


def _chunk_shape(metadata: Any, name: str) -> list[int] | None:
    try:
        shape = getattr(metadata, name)
    except NotImplementedError:  # a rectilinear grid
        return None
    return None if shape is None else list(shape)


def facts_text(facts: dict[str, Any]) -> str:
    if facts["kind"] == "unreadable":
        return f"(unreadable: {shortened(facts['error'], 200)})"
    if facts["kind"] == "group":
        return f"(members are unreadable: {shortened(facts['error'], 200)})" if "error" in facts else ""
    parts = [f"{shape_text(facts['shape'])} {facts['data_type']}"]
    parts += [f"{name} {shape_text(facts[name])}" for name in ("shards", "chunks") if name in facts]
    if "nbytes_stored" in facts:
        parts.append(size_text(facts["nbytes_stored"]))
    if "error" in facts:
        parts.append(f"(its values are unreadable: {shortened(facts['error'], 200)})")
    return ", ".join(parts)
