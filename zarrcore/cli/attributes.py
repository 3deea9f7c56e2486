"""The command attrs."""

from __future__ import annotations

import click

from zarrcore.cli.places import (
    find_place,
    json_option,
    open_place,
    place_argument,
    takes_options,
    takes_place,
    value_of,
)
from zarrcore.cli.text import print_json


@click.group()
def attrs() -> None:
    """Read and change the attributes of arrays and groups."""


@attrs.command()
@takes_place
@click.argument("key", required=False)
@json_option
def get(place: str, options: tuple[str, ...], key: str | None, as_json: bool) -> None:
    """Print all attributes, or the one with this KEY; they are JSON in any case.

    \b
    zarrcore attrs get data.zarr/temperature units
    """
    found = find_place(place, options)[1].attributes
    if key is not None and key not in found:
        raise LookupError(f"{place} has no attribute {key!r}; there are: {', '.join(found) or 'none'}")
    print_json(found if key is None else found[key])


@attrs.command("set")
@place_argument()
@click.argument("key")
@click.argument("value")
@takes_options
@json_option
def set_(place: str, key: str, value: str, options: tuple[str, ...], as_json: bool) -> None:
    """Set an attribute to a VALUE: JSON where it is that, else text.

    \b
    zarrcore attrs set data.zarr/temperature units K
    zarrcore attrs set data.zarr/temperature valid_range "[0, 400]"
    """
    attributes = open_place(place, options, mode="r+").attrs
    attributes[key] = value_of(value)
    if as_json:
        print_json(attributes.asdict())


@attrs.command()
@takes_place
@click.argument("keys", nargs=-1, required=True)
@json_option
def delete(place: str, options: tuple[str, ...], keys: tuple[str, ...], as_json: bool) -> None:
    """Delete attributes.

    \b
    zarrcore attrs delete data.zarr/temperature units valid_range
    """
    attributes = open_place(place, options, mode="r+").attrs
    missing = [key for key in keys if key not in attributes]
    if missing:
        raise LookupError(f"{place} has no attribute {', '.join(map(repr, missing))}; nothing was deleted")
    for key in dict.fromkeys(keys):
        del attributes[key]
    if as_json:
        print_json(attributes.asdict())
