"""Commands that describe nodes: tree, info, ls, stat."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from zarrcore.cli.places import find_array, find_place, json_option, open_place, takes_place
from zarrcore.cli.text import can_print, print_json, table
from zarrcore.errors import printable
from zarrcore.info import size_text


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
    from zarrcore.cli import listing

    node = listing.Node(*find_place(place, options))
    rows = list(listing.nodes_below(node, depth, sizes))
    if as_json:
        print_json([{"path": path, **facts} for path, _, facts in rows])
    else:
        listing.draw(node.place.path, rows)
    listing.refuse_unreadable([(path, facts) for path, _, facts in rows])


@click.command()
@takes_place
@click.option(
    "-c", "--complete", is_flag=True,
    help="Also what takes a listing, and indexes of shards: stored bytes and chunks.",
)  # fmt: skip
@json_option
def info(place: str, options: tuple[str, ...], complete: bool, as_json: bool) -> None:
    """Describe an array or a group: shape, data type, chunks, codecs.

    \b
    zarrcore info data.zarr/temperature
    zarrcore info data.zarr/temperature --complete --json
    """
    from zarrcore.nodes.documents import is_array_metadata

    where, metadata = find_place(place, options)
    node: Any
    if complete:
        node = open_place(place, options)
        found = node.info_complete
    elif is_array_metadata(metadata):  # what shows the metadata loads faster than what reads the values
        from zarrcore.arrays.info import array_info
        from zarrcore.arrays.opened import OpenArray

        node = OpenArray(metadata, where)
        found = partial(array_info, node)
    else:
        from zarrcore.groups.opened import OpenGroup
        from zarrcore.info import group_info

        node = OpenGroup(metadata, where)
        found = partial(group_info, node)
    if as_json:
        print_json(_description(node, complete))
        return
    click.echo(found())
    if complete and is_array_metadata(metadata):
        stored = _stored_chunks(node)
        share = f" ({stored / node.nchunks:.0%})" if node.nchunks else ""
        click.echo(f"{'Chunks stored':<18} : {stored} of {node.nchunks}{share}")


def _stored_chunks(array: Any) -> int:
    """Return the number of chunks that are stored, of shards by their indexes."""
    census = array.chunk_info()
    return len(census) if census.inner_counts is None else int(census.inner_counts.sum())


def _description(node: Any, complete: bool) -> dict[str, Any]:
    """Return the metadata document of a node, and what else `info` shows."""
    facts = {"path": node.path, **node.metadata.to_dict()}
    if hasattr(node, "nbytes"):
        facts |= {"nbytes": node.nbytes, "nchunks": node.nchunks}
        if complete:
            facts |= {"nchunks_initialized": node.nchunks_initialized, "nchunks_stored": _stored_chunks(node)}
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
    from zarrcore.cli import listing
    from zarrcore.nodes.documents import is_array_metadata

    node = listing.Node(*find_place(place, options))
    if is_array_metadata(node.metadata):
        raise ValueError(f"{place} is an array, which has no members")
    found, failed = listing.members(node, 1)
    rows = sorted((path, listing.facts_of(member, False)) for path, member in found)
    if as_json:
        print_json([{"name": name, **facts} for name, facts in rows])
    elif long:
        table([(name, facts["kind"], listing.facts_text(facts)) for name, facts in rows])
    else:
        for name, _ in rows:
            click.echo(printable(name))
    listing.refuse_unreadable([*failed.items(), *rows])


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

    from zarrcore.inspection.census import chunk_info

    array = find_array(place, options)
    census = chunk_info(array)
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
