"""The command plot: values of an array, or its stored chunks, as a picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from zarrcore.cli.places import json_option, open_array, selection_of, takes_selection, with_fields
from zarrcore.cli.text import can_print, print_json, terminal_size
from zarrcore.info import size_text

if TYPE_CHECKING:
    from pathlib import Path

_MOST_PIXELS = 1024  # of a side of the picture


@click.command()
@takes_selection()
@click.option(
    "--output", "-O", type=click.Path(dir_okay=False), help="Write a PNG file, in place of the terminal."
)
@click.option("--chunks", is_flag=True, help="Show which chunks are stored, and how large they are.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@json_option
def plot(
    place: str,
    selection: str,
    options: tuple[str, ...],
    fields: tuple[str, ...],
    output: str | None,
    chunks: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw numbers in two dimensions: a SELECTION of an array, in the terminal or as a PNG file.

    Of more dimensions the first index is drawn.  Large slices are thinned to at most 1024 pixels a side.

    \b
    zarrcore plot data.zarr/temperature "0"
    zarrcore plot data.zarr/temperature "0" -O first.png
    zarrcore plot data.zarr/stations --field height
    zarrcore plot data.zarr/temperature --chunks
    """
    import numpy as np

    from zarrcore.cli import png

    array = open_array(place, options)
    if chunks and (selection != "..." or fields):
        raise click.UsageError("--chunks shows the whole array: leave out the selection")
    if len(fields) > 1:
        raise click.UsageError("--field: only one can be drawn")
    file = None if output is None else _path_of(output)
    if file is not None and file.suffix.lower() not in ("", ".png"):
        raise click.UsageError(f"--output: pictures are PNG: expected a name with .png, got {output}")
    if chunks:
        values, what = _chunk_sizes(array)
        low, high = png.limits(values)
        ends = f", {size_text(int(low))} to {size_text(int(high))}" if high else ""
        scaled = np.maximum(values / (high or 1), 0.1)  # the smallest one is to be seen, too
    else:
        values, what, ends = _values(array, selection, fields)
        low, high = png.limits(values)
        scaled = png.fractions(values)
    if file is None and not as_json:
        _show(scaled, " " if chunks else "?")
    elif file is not None:
        picture = png.png(png.enlarged(png.colors(scaled), 256))
        try:
            with file.open("wb" if overwrite else "xb") as written:
                written.write(picture)
        except FileExistsError as error:
            error.add_note("--overwrite replaces it")
            raise
    if as_json:  # what is no number is null
        rows: Any = np.where(np.isfinite(values), values.astype(object), None)
        print_json({"shown": what, "least": low, "largest": high, "values": rows.tolist()})
        return
    click.echo(what + ends, err=output is None and not sys.stdout.isatty())


def _path_of(name: str) -> Path:
    from pathlib import Path  # takes milliseconds, and a picture in the terminal needs none

    return Path(name)


def _values(array: Any, selection: str, fields: tuple[str, ...]) -> tuple[Any, str, str]:
    """Return numbers in two dimensions, what they are, and the least and the largest one as text."""
    import numpy as np

    from zarrcore.cli import png
    from zarrcore.indexing import field_dtype

    dtype = field_dtype(fields[0], array.dtype) if fields else array.dtype
    if dtype.kind not in "biufcmM":
        hint = f"; --field NAME chooses one of {', '.join(dtype.names)}" if dtype.names else ""
        raise ValueError(f"plot: expected numbers, the array has {dtype}{hint}")
    chosen = _dims(selection_of(selection), array.shape)
    left = [k for k, dim in enumerate(chosen) if isinstance(dim, slice)]
    notes = []
    for k in left[:-2]:  # more than can be drawn
        chosen[k] = 0
        notes.append(f"dimension {k} at 0")
    for k in left[-2:]:
        start, stop, step = chosen[k].indices(array.shape[k])
        if step < 0:
            raise click.UsageError("plot: steps are positive")
        step *= max(1, -(-len(range(start, stop, step)) // _MOST_PIXELS))
        chosen[k] = slice(start, stop, step)
    values = np.asarray(array[with_fields(tuple(chosen), fields)])
    if not values.size:
        raise ValueError("plot: the selection is empty")
    if values.dtype.kind == "c":
        values = np.abs(values)
        notes.append("absolute values")
    ends = ""
    if values.dtype.kind in "mM":
        ends = f"{np.fmin.reduce(values, None)} to {np.fmax.reduce(values, None)}"  # exact, and without NaT
        values = np.where(np.isnat(values), np.nan, values.astype("i8").astype(np.float64))
    values = np.atleast_2d(values.astype(np.float64))
    ends = ends or "{:g} to {:g}".format(*png.limits(values))
    return values, ", ".join([" x ".join(map(str, values.shape)), *notes]), f", {ends}"


def _dims(selection: Any, shape: tuple[int, ...]) -> list[Any]:
    """Return an integer or a slice for each dimension."""
    given = list(selection) if isinstance(selection, tuple) else [selection]
    if given.count(...) > 1 or len(given) - given.count(...) > len(shape):
        raise click.UsageError(f"selection: too many indices for {len(shape)} dimensions")
    if ... not in given:
        given.append(...)
    at = given.index(...)
    return given[:at] + [slice(None)] * (len(shape) - len(given) + 1) + given[at + 1 :]


def _chunk_sizes(array: Any) -> tuple[Any, str]:
    """Return the stored size of each chunk in two dimensions, NaN where there is none, and what that is."""
    import numpy as np

    census = array.chunk_info()
    grid = census.grid[-2:]
    rows = int(np.prod(grid[:-1])) if grid else 1
    width = grid[-1] if grid else 1
    if not rows * width:
        raise ValueError("plot: the array has no chunks")
    steps = [max(1, -(-n // _MOST_PIXELS)) for n in (rows, width)]
    sizes = np.full((-(-rows // steps[0]), -(-width // steps[1])), np.nan)
    at = census.chunks[:, -2:] if census.chunks.shape[1] else np.zeros((len(census), 0), np.int64)
    row = at[:, 0] if at.shape[1] == 2 else np.zeros(len(census), np.int64)
    column = at[:, -1] if at.shape[1] else row
    # Of several chunks at one pixel, which there are in more dimensions too, the largest is shown.
    np.fmax.at(sizes, (row // steps[0], column // steps[1]), np.maximum(census.nbytes, 0).astype(np.float64))
    return sizes, f"{len(census)} of {np.prod(census.grid, dtype=object)} chunks stored"


def _show(scaled: Any, nothing: str) -> None:
    from zarrcore.cli import png

    columns, lines = terminal_size()
    has_colors = (
        sys.stdout.isatty() and click.get_current_context().color is not False and can_print("\u2580")
    )
    height = max(4, lines - 3) * (2 if has_colors else 1)
    drawn = png.thinned(scaled, height, max(8, columns))
    rows, width = drawn.shape
    drawn = png.enlarged(drawn, min(16, max(rows, width) * min(height // rows, columns // width)))
    for line in png.blocks(drawn) if has_colors else png.shades(drawn, nothing):
        click.echo(line, color=has_colors or None)
