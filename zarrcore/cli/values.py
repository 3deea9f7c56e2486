"""Commands about values: cat, explain."""

from __future__ import annotations

import sys
from math import prod
from types import SimpleNamespace
from typing import Any

import click

from zarrcore.cli.places import (
    find_array,
    json_option,
    open_array,
    selection_of,
    takes_selection,
    with_fields,
)
from zarrcore.cli.text import print_json, terminal_size
from zarrcore.errors import printable
from zarrcore.info import size_text

_MOST_BYTES = 1 << 30  # of values that become text


@click.command()
@takes_selection()
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json", "npy"]),
    default="text",
    show_default=True,
    help="How values are written.",
)
@json_option
def cat(
    place: str, selection: str, options: tuple[str, ...], fields: tuple[str, ...], form: str, as_json: bool
) -> None:
    """Print the values of an array, or of a SELECTION such as "0, 10:20, ::2".

    text is NumPy's, with the middle of large arrays left out; csv is for at most two dimensions (of records,
    one: a column for each field, after a line with their names), json for all values, npy for numpy.load.
    A SELECTION that begins with a minus comes after --.

    \b
    zarrcore cat data.zarr/temperature "0, :10"
    zarrcore cat data.zarr/temperature -- "-1, :10"
    zarrcore cat data.zarr/temperature "0" -f npy > first.npy
    zarrcore cat data.zarr/stations --field name --field height -f csv
    """
    import numpy as np

    form = "json" if as_json else form
    array, chosen = open_array(place, options), selection_of(selection)
    if form != "npy":
        _refuse_too_much(array, chosen, fields)
    values = _as_array(array[with_fields(chosen, fields)])
    if form == "npy":
        if sys.stdout.isatty():
            raise ValueError("npy is no text: send it to a file or a program")
        if values.dtype.hasobject or values.dtype.kind == "T":
            raise ValueError(f"npy has no safe form of {values.dtype}: use json")
        # Only what numpy does not take for a file of the system: it asks such a file for its position.
        file: Any = SimpleNamespace(write=sys.stdout.buffer.write)
        np.save(file, values, allow_pickle=False)
    elif form == "csv":
        _write_csv(values)
    elif form == "json":
        print_json(_listed(values))
    else:
        with np.printoptions(linewidth=terminal_size()[0] - 1 if sys.stdout.isatty() else 75):
            click.echo("\n".join(printable(line) for line in str(values).split("\n")))


def _as_array(values: Any) -> Any:
    """Return what was read as an array; a single string, or another object, comes without a data type."""
    import numpy as np

    if hasattr(values, "dtype"):
        return np.asarray(values)
    only = np.empty((), object)
    only[()] = values
    return only


def _refuse_too_much(array: Any, selection: Any, fields: tuple[str, ...]) -> None:
    """A document of a few bytes may describe more zeros than there is memory."""
    from zarrcore.indexing import basic_selection, field_dtype

    itemsize = field_dtype([*fields], array.dtype).itemsize
    nbytes = prod(basic_selection(selection, array.shape).block) * itemsize
    if nbytes > _MOST_BYTES:
        raise ValueError(f"these are {size_text(nbytes)} of values: select fewer, or use npy")


def _write_csv(values: Any) -> None:
    import csv

    names = values.dtype.names
    most = 1 if names else 2
    if values.ndim > most:
        raise ValueError(
            f"csv{' of records' * bool(names)} has {'one dimension' if names else 'two dimensions'}, "
            f"the selection {values.ndim}: select less, or use npy"
        )
    if names:
        listed = [[*names], *([_cell(item) for item in row] for row in _listed(values.reshape(-1)))]
    else:
        listed = _listed(values.reshape(-1, 1) if values.ndim < 2 else values)
    if sys.stdout.isatty():  # a terminal obeys control characters, a file keeps what is stored
        listed = [[printable(str(item)) for item in row] for row in listed]
    csv.writer(sys.stdout, lineterminator="\n").writerows(listed)


def _cell(item: Any) -> Any:
    """Return what one cell of CSV has: JSON, where a field is an array or a record itself."""
    import json

    return json.dumps(item, ensure_ascii=False) if isinstance(item, list) else item


def _listed(values: Any) -> Any:
    """Return values as lists of what JSON and CSV can write: records as lists, bytes and times as text."""
    import numpy as np

    if values.dtype.names is not None:
        flat = values.reshape(-1)
        columns = [_listed(flat[name]) for name in values.dtype.names]
        rows = np.empty(flat.shape, object)
        for at, row in enumerate(zip(*columns, strict=True)):
            rows[at] = [*row]
        values = rows.reshape(values.shape)
    elif values.dtype.kind in "mMc":
        values = values.astype("U")
    return _with_text(values.tolist())


def _with_text(listed: Any) -> Any:
    """Return nested lists with text in place of bytes."""
    if isinstance(listed, list):
        return [_with_text(item) for item in listed]
    return listed.decode("ascii", "backslashreplace") if isinstance(listed, bytes) else listed


@click.command()
@takes_selection()
@json_option
def explain(
    place: str, selection: str, options: tuple[str, ...], fields: tuple[str, ...], as_json: bool
) -> None:
    """Show what reading a SELECTION would cost: chunks, requests, bytes fetched and decoded.

    \b
    zarrcore explain data.zarr/temperature "0, :10"
    """
    from zarrcore.inspection import explaining

    chosen = with_fields(selection_of(selection), fields)
    found = explaining.explain(find_array(place, options), chosen)
    if as_json:
        names = ("selection", "engine", "reasons", "fetched", "decoded", "kept", "amplification", "keys")
        print_json({**{name: getattr(found, name) for name in names}, "requests": len(found.requests)})
    else:
        click.echo(found)
