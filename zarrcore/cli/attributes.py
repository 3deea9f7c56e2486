"""The command attrs."""

from __future__ import annotations

import click

from zarrcore.cli.places import find_place, open_place, takes_options, takes_place, value_of
from zarrcore.cli.text import print_json


@click.group()
def attrs() -> None:
    """Read and change the attributes of arrays and groups."""


@attrs.command()
@takes_place
@click.argument("key", required=False)
def get(place: str, options: tuple[str, ...], key: str | None) -> None:
    """Print all attributes as JSON, or the one with this KEY."""
    found = find_place(place, options)[1].attributes
    if key is not None and key not in found:
        raise LookupError(f"{place} has no attribute {key!r}; there are: {', '.join(found) or 'none'}")
    print_json(found if key is None else found[key])


@attrs.command("set")
@click.argument("place")
@click.argument("key")
@click.argument("value")
@takes_options
def set_(place: str, key: str, value: str, options: tuple[str, ...]) -> None:
    """Set an attribute to a VALUE: JSON where it is that, else text.

    \b
    zarrcore attrs set data.zarr/temperature units K
    zarrcore attrs set data.zarr/temperature valid_range "[0, 400]"
    """
    open_place(place, options, mode="r+").attrs[key] = value_of(value)


@attrs.command()
@takes_place
@click.argument("keys", nargs=-1, required=True)
def delete(place: str, options: tuple[str, ...], keys: tuple[str, ...]) -> None:
    """Delete attributes."""
    attributes = open_place(place, options, mode="r+").attrs
    missing = [key for key in keys if key not in attributes]
    if missing:
        raise LookupError(f"{place} has no attribute {', '.join(map(repr, missing))}; nothing was deleted")
    for key in keys:
        del attributes[key]
