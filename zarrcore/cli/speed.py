"""The command bench: how fast an array of the user is read."""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any

import click

from zarrcore.cli.places import (
    json_option,
    open_array,
    selection_of,
    split_place,
    storage_options,
    takes_selection,
    with_fields,
)
from zarrcore.cli.text import print_json, table
from zarrcore.info import size_text

_MOST_BYTES = 1 << 28  # of a selection that nobody has chosen


class Threads(click.ParamType[Any]):
    """Numbers of threads as 1,2,4."""

    name = "threads"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(int(number) for number in value.split(","))
        except ValueError:
            found = ()
        if not found or min(found) < 1:
            self.fail(f"expected numbers such as 1,2,4, got {value!r}", param, ctx)
        return found


@click.command()
@takes_selection(None)
@click.option(
    "-j",
    "--threads",
    type=Threads(),
    help="Numbers of threads to try, such as 1,2,4; default: 1, 2, 4 ... cores.",
)
@click.option(
    "-r",
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Rounds; the best one counts.",
)
@click.option(
    "--peer/--no-peer", default=True, show_default=True, help="Read with zarr-python too, if it is installed."
)
@json_option
def bench(
    place: str, selection: str | None, options: tuple[str, ...], fields: tuple[str, ...],
    threads: tuple[int, ...] | None, repeat: int, peer: bool, as_json: bool,
) -> None:  # fmt: skip
    """Measure how fast an array is read, by number of threads; nothing is written.

    Without a SELECTION all of it is read, or the first 256 MiB in whole chunks.  The first read of each row
    is not counted, so files are read from the memory that the system keeps of them.

    \b
    zarrcore bench data.zarr/temperature
    zarrcore bench data.zarr/temperature "0" --threads 1,8 --repeat 10
    """
    array = open_array(place, options)
    if 0 in array.shape:
        raise ValueError(f"bench: there is nothing to read: the array has shape {array.shape}")
    chosen = with_fields(selection_of(selection) if selection is not None else _first(array), fields)
    rows: list[dict[str, Any]] = []
    for number in threads or _thread_counts():
        rows.append(_measured("zarrcore", number, partial(array.read, chosen, threads=number), repeat))
    if peer:
        other = _other(place, options)
        if other is not None:
            rows.append(_measured("zarr-python", None, lambda: other[chosen], repeat))
    if as_json:
        print_json(rows)
        return
    best = max(row["bytes_per_second"] for row in rows) or 1.0  # a selection may be empty
    table(
        (
            row["reader"],
            "" if row["threads"] is None else f"{row['threads']} thread{'s' * (row['threads'] > 1)}",
            f"{size_text(int(row['bytes_per_second']))}/s",
            f"{row['seconds'] * 1e3:.3g} ms",
            f"{row['bytes_per_second'] / best:.0%}",
        )
        for row in rows
    )


def _first(array: Any) -> tuple[slice, ...]:
    """Return a selection of whole chunks from the beginning that has at most 256 MiB, or one chunk."""
    try:
        steps = zip(array.shards or array.chunks, array.shape, strict=True)
        ends: list[Any] = [range(step, size + step, step) for step, size in steps]
    except NotImplementedError:  # a rectilinear grid
        ends = [[*accumulate(sizes)] for sizes in array.write_chunk_sizes]
    lengths = [found[0] for found in ends]
    for k in reversed(range(array.ndim)):
        others = prod(lengths[:k] + lengths[k + 1 :]) * array.dtype.itemsize
        lengths[k] = ends[k][max(0, bisect_right(ends[k], _MOST_BYTES // others) - 1)]
    return tuple(slice(0, min(length, size)) for length, size in zip(lengths, array.shape, strict=True))


def _thread_counts() -> list[int]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return sorted({1 << k for k in range(cores.bit_length())} & set(range(1, cores + 1)) | {cores})


def _measured(reader: str, threads: int | None, read: Callable[[], Any], repeat: int) -> dict[str, Any]:
    import numpy as np

    nbytes = np.asarray(read()).nbytes  # a single string has no size of its own
    seconds = []
    for _ in range(repeat):
        begin = time.perf_counter()
        read()
        seconds.append(max(time.perf_counter() - begin, 1e-9))
    best = min(seconds)
    return {
        "reader": reader, "threads": threads, "nbytes": int(nbytes), "seconds": best,
        "bytes_per_second": nbytes / best,
    }  # fmt: skip


def _other(place: str, options: tuple[str, ...]) -> Any:
    """Return the same array, opened by zarr-python; None if that is not installed, or refuses with a note."""
    try:
        import zarr
    except ImportError:
        return None
    store, path = split_place(place)
    try:
        keywords: dict[str, Any] = {"path": path} if path else {}
        if options:
            keywords["storage_options"] = storage_options(options)
        return zarr.open_array(store, mode="r", **keywords)
    except Exception as error:
        from zarrcore.cli.text import one_line

        click.echo(f"zarrcore: warning: zarr-python cannot open it: {one_line(str(error))}", err=True)
        return None
