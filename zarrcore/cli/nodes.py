"""Commands that describe nodes: tree, info, ls, stat."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import click

from zarrcore.cli.places import find_place, json_option, open_array, open_place, takes_place
from zarrcore.cli.text import can_print, in_lines, print_json, shape_text, table
from zarrcore.errors import NodeIOError, printable
from zarrcore.info import size_text
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable
from zarrcore.nodes.reading import stored_size
from zarrcore.nodes.walk import walk
from zarrcore.storage import StorePath


@click.command()
@takes_place
@click.option("-d", "--depth", type=click.IntRange(min=0), help="Only so many levels.")
@click.option(
    "-s", "--sizes", is_flag=True, help="Stored bytes of each array, which takes a listing of each."
)
@json_option
def tree(place: str, options: tuple[str, ...], depth: int | None, sizes: bool, as_json: bool) -> None:
    """Draw a group with all that is below it.

    \b
    zarrcore tree data.zarr --depth 2
    zarrcore tree data.zarr --sizes --json
    """
    node = _Node(*find_place(place, options))
    rows = list(_nodes(node, depth, sizes))
    if as_json:
        print_json([{"path": path, **facts} for path, _, facts in rows])
    else:
        _draw(node.place.path, rows)
    _refuse_unreadable([(path, facts) for path, _, facts in rows])


def _draw(root: str, rows: list[_Row]) -> None:
    """Print a tree."""
    bars, branch, last, gap = "│   ", "├── ", "└── ", "    "
    if not can_print(bars + branch + last):
        bars, branch, last = "|   ", "|-- ", "`-- "
    for path, lasts, facts in rows:
        indent = "".join(gap if is_last else bars for is_last in lasts[:-1])
        mark, below = ("", "") if not lasts else (last, gap) if lasts[-1] else (branch, bars)
        name = path.rpartition("/")[2] if lasts else f"/{root}"
        shown = printable(f"{name} {_facts_text(facts)}".rstrip())
        click.echo(in_lines(shown, f"{indent}{mark}", f"{indent}{below}{gap}"))


class _Node(NamedTuple):
    """A node that is known by its place and metadata, without opening it."""

    place: StorePath
    metadata: Any


_Row = tuple[str, tuple[bool, ...], dict[str, Any]]


def _refuse_unreadable(found: list[tuple[str, dict[str, Any]]]) -> None:
    """End with an error if a store failed to read some of what is there, once all else is printed."""
    errors = [(path, facts["error"]) for path, facts in found if "failed" in facts]
    for path, error in errors:
        click.echo(f"zarrcore: {printable(f'/{path}: {error}')}", err=True)
    if errors:
        raise SystemExit(1)


def _nodes(node: _Node, depth: int | None, sizes: bool) -> Iterator[_Row]:
    """Yield path and facts of each node; between them, which nodes on the way are the last of their group."""
    if is_array_metadata(node.metadata) or depth == 0:
        yield "", (), _facts(node, sizes)
        return
    found, failed = _members(node, depth)
    yield "", (), {**_facts(node, sizes), **failed.get("", {})}
    last: dict[str, str] = {}
    for path, _ in found:
        last[path.rpartition("/")[0]] = path
    lasts: dict[str, tuple[bool, ...]] = {"": ()}
    for path, member in found:
        above = path.rpartition("/")[0]
        lasts[path] = (*lasts[above], last[above] == path)
        yield path, lasts[path], {**_facts(member, sizes), **failed.get(path, {})}


def _members(group: _Node, depth: int | None) -> tuple[list[tuple[str, _Node]], dict[str, dict[str, Any]]]:
    """Return the nodes below a group, those that cannot be read as Unreadable.

    And, by path, the facts of groups whose members cannot be read.
    """
    found: dict[str, _Node] = {}
    failed: dict[str, dict[str, Any]] = {}
    depth = None if depth is None else depth - 1
    for each in walk(group.place, group.metadata, max_depth=depth, goes_on=True):
        if not each.path or each.path in found:
            failed[each.path] = _error(each.metadata.error)
        else:
            found[each.path] = _Node(group.place._child(each.path), each.metadata)
    return [*found.items()], failed


def _error(error: Exception) -> dict[str, Any]:
    """Return the fact that a node, or what is in it, cannot be read."""
    failed = {"failed": True} if isinstance(error, NodeIOError) else {}  # not by what a document says
    return {"error": " ".join(str(error).split()), **failed}


def _facts(node: _Node, sizes: bool) -> dict[str, Any]:
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


def _facts_text(facts: dict[str, Any]) -> str:
    if facts["kind"] == "unreadable":
        return f"(unreadable: {facts['error']:.200})"
    if facts["kind"] == "group":
        return f"(members are unreadable: {facts['error']:.200})" if "error" in facts else ""
    parts = [f"{shape_text(facts['shape'])} {facts['data_type']}"]
    parts += [f"{name} {shape_text(facts[name])}" for name in ("shards", "chunks") if name in facts]
    if "nbytes_stored" in facts:
        parts.append(size_text(facts["nbytes_stored"]))
    if "error" in facts:
        parts.append(f"(its values are unreadable: {facts['error']:.200})")
    return ", ".join(parts)


@click.command()
@takes_place
@click.option("-c", "--complete", is_flag=True, help="Also what takes a listing: stored bytes and chunks.")
@json_option
def info(place: str, options: tuple[str, ...], complete: bool, as_json: bool) -> None:
    """Describe an array or a group: shape, data type, chunks, codecs.

    \b
    zarrcore info data.zarr/temperature
    zarrcore info data.zarr/temperature --complete --json
    """
    node: Any = _Node(*find_place(place, options))
    if complete or not is_array_metadata(node.metadata):
        node = open_place(place, options)
        found = node.info_complete if complete else lambda: node.info
    else:  # what shows the metadata loads faster than what reads the values
        from zarrcore.arrays.info import array_info
        from zarrcore.arrays.opened import OpenArray

        node = OpenArray(node.metadata, node.place)
        found = partial(array_info, node)
    if as_json:
        print_json(_description(node, complete))
    else:
        click.echo(found())


def _description(node: Any, complete: bool) -> dict[str, Any]:
    """Return the metadata document of a node, and what else `info` shows."""
    facts = {"path": node.path, **node.metadata.to_dict()}
    if hasattr(node, "nbytes"):
        facts |= {"nbytes": node.nbytes, "nchunks": node.nchunks}
        if complete:
            facts["nchunks_initialized"] = node.nchunks_initialized
    if complete:
        facts["nbytes_stored"] = node.nbytes_stored()
    return facts


@click.command()
@takes_place
@click.option("-l", "--long", is_flag=True, help="With kind, shape and data type.")
@json_option
def ls(place: str, options: tuple[str, ...], long: bool, as_json: bool) -> None:
    """List the members of a group.

    \b
    zarrcore ls data.zarr
    zarrcore ls data.zip::group -l
    """
    node = _Node(*find_place(place, options))
    if is_array_metadata(node.metadata):
        raise ValueError(f"{place} is an array, which has no members")
    found, failed = _members(node, 1)
    rows = sorted((path, _facts(member, False)) for path, member in found)
    if as_json:
        print_json([{"name": name, **facts} for name, facts in rows])
    elif long:
        table([(name, facts["kind"], _facts_text(facts)) for name, facts in rows])
    else:
        for name, _ in rows:
            click.echo(printable(name))
    _refuse_unreadable([*failed.items(), *rows])


@click.command()
@takes_place
@json_option
def stat(place: str, options: tuple[str, ...], as_json: bool) -> None:
    """Count the stored chunks of an array, and show how large they are.

    This takes listings and indexes of shards; no chunk is read.

    \b
    zarrcore stat data.zarr/temperature
    """
    import numpy as np

    array = open_array(place, options)
    census = array.chunk_info()
    sizes = np.maximum(census.nbytes, 0)
    facts = {
        "shape": list(array.shape),
        "nbytes": array.nbytes,
        "chunks": int(np.prod(census.grid, dtype=object)),
        "chunks_stored": len(census),
        "nbytes_stored": int(sizes.sum()),
        "smallest": int(sizes.min(initial=0) if not len(sizes) else sizes.min()),
        "median": int(np.median(sizes)) if len(sizes) else 0,
        "largest": int(sizes.max(initial=0)),
    }
    if census.inner_counts is not None and census.unused is not None:
        facts |= {"inner_chunks_stored": int(census.inner_counts.sum()), "unused": int(census.unused.sum())}
    histogram = _histogram(sizes)
    if as_json:
        print_json({**facts, "histogram": histogram, "damaged": census.damaged})
        return
    _print_stat(facts, histogram, len(census.damaged))


def _histogram(sizes: Any) -> list[tuple[int, int]]:
    """Count the chunks whose sizes lie between a power of two and the next one."""
    import numpy as np

    powers, counts = np.unique([int(size).bit_length() for size in sizes.tolist()], return_counts=True)
    return [
        (1 << int(power) - 1 if power else 0, int(count)) for power, count in zip(powers, counts, strict=True)
    ]


def _print_stat(facts: dict[str, Any], histogram: list[tuple[int, int]], damaged: int) -> None:
    unit = "shards" if "inner_chunks_stored" in facts else "chunks"
    click.echo(f"{facts['chunks_stored']} of {facts['chunks']} {unit} stored")
    if "inner_chunks_stored" in facts:
        click.echo(
            f"{facts['inner_chunks_stored']} inner chunks, {size_text(facts['unused'])} that nothing uses"
        )
    stored = facts["nbytes_stored"]
    ratio = f", ratio {facts['nbytes'] / stored:.2f}" if stored else ""
    click.echo(f"{size_text(stored)} stored for {size_text(facts['nbytes'])} of values{ratio}")
    if damaged:
        click.echo(f"{damaged} damaged shard indexes: see zarrcore verify")
    mark = "█" if can_print("█") else "#"
    most = max((count for _, count in histogram), default=1)
    table([(f"from {size_text(low)}", count, mark * max(1, 40 * count // most)) for low, count in histogram])
