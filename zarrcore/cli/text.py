"""How commands print: sizes, tables, JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import click

from zarrcore.errors import masked, printable

_LONGEST = 1000  # characters of what others have said; stores and servers may say any number
#: What messages call arguments of functions in Python, and what the commands have in their place.
_OPTIONS = {
    " (if_exists='raise')": "",
    "on_error='skip'": "--skip-unreadable",
    "overwrite=True": "--overwrite",
    "quarantine=": "--quarantine DIR",
    "zarr_format=": "--zarr-format ",
}


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as 100 x 20."""
    return " x ".join(map(str, shape)) or "scalar"


def table(rows: Iterable[Sequence[object]]) -> None:
    """Print rows in columns that line up; texts are escaped."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def print_json(value: Any) -> None:
    """Print a value as JSON, two spaces a level; NumPy's numbers and shapes become numbers and lists."""
    import json

    # JSON has no NaN and no infinities: they become the texts that Zarr has for them.
    plain = json.loads(json.dumps(value, default=_plain), parse_constant=str)
    click.echo(json.dumps(plain, indent=2, ensure_ascii=True))


def _plain(value: Any) -> Any:
    for method in ("tolist", "to_dict"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)


def one_line(text: str) -> str:
    """Return what others have said as one line that a terminal may show: without passwords, cut if long."""
    line = printable(masked(" ".join(text.split())))
    cut = shortened(line, _LONGEST)
    return line if cut == line else f"{cut} ({len(line):,} characters)"


def shortened(text: str, most: int) -> str:
    """Return a text, or so much of its beginning."""
    return text if len(text) <= most else f"{text[:most]}..."


def with_options(text: str) -> str:
    """Return a message with options of commands in place of arguments in Python."""
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return text


def can_print(text: str) -> bool:
    """Return whether the terminal's encoding has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def terminal_size() -> tuple[int, int]:
    """Return the columns and lines of the terminal, as `shutil`, which takes longer to import than a plot."""
    sizes = [0, 0]
    with suppress(AttributeError, ValueError, OSError):  # no terminal
        sizes = [*os.get_terminal_size(sys.__stdout__.fileno())]  # type: ignore[union-attr]
    for k, name in enumerate(("COLUMNS", "LINES")):
        with suppress(KeyError, ValueError):
            sizes[k] = max(0, int(os.environ[name])) or sizes[k]
    return sizes[0] or 80, sizes[1] or 24


def in_lines(text: str, first: str, others: str) -> str:
    """Return a text after `first`; on a terminal that is narrow in lines, the others after `others`."""
    if not sys.stdout.isatty():
        return first + text
    import textwrap

    room = terminal_size()[0] - len(others)
    if room < 20:
        return first + text
    whole = text.replace(" x ", "\0x\0")  # shapes stay on one line; names with that character are escaped
    lines = textwrap.wrap(whole, room, break_long_words=False, break_on_hyphens=False)
    return first + f"\n{others}".join(lines).replace("\0", " ")
