"""The command copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from zarrcore.cli.alone import alone
from zarrcore.cli.places import (
    find_node,
    is_remote,
    json_option,
    place_argument,
    split_place,
    store_path,
    takes_options,
    value_of,
)
from zarrcore.cli.progress import progress_bar
from zarrcore.cli.text import print_json
from zarrcore.errors import CopyError, printable
from zarrcore.info import size_text

if TYPE_CHECKING:
    from zarrcore.storage import StorePath

Counts = tuple[int, int, int]


class Shape(click.ParamType[Any]):
    """A shape as 10,20."""

    name = "shape"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return tuple(int(number) for number in value.split(","))
        except ValueError:
            self.fail(f"expected integers such as 100,100, got {value!r}", param, ctx)


@click.command()
@place_argument("source")
@place_argument("target")
@takes_options
@click.option("--chunks", type=Shape(), help="Another chunk shape, such as 100,100.")
@click.option("--shards", type=Shape(), help="Another shard shape, a multiple of the chunk shape.")
@click.option("--codec", help="Another compressor, such as zstd or null for none; JSON for one with options.")
@click.option(
    "--zarr-format", type=click.Choice(["2", "3"]), help="Format of the copy; by default that of the source."
)
@click.option("--resume", is_flag=True, help="Leave out arrays that have all chunks already.")
@click.option("--overwrite", is_flag=True, help="Replace arrays, and groups in their place.")
@click.option("--skip-unreadable", is_flag=True, help="Leave out, and name, what cannot be read.")
@click.option("-j", "--threads", type=click.IntRange(min=0), default=0, help="Number of threads.")
@click.option("-n", "--dry-run", is_flag=True, help="Write nothing, only name what would be copied.")
@click.option("-v", "--verbose", is_flag=True, help="Name each node.")
@json_option
def copy(source: str, target: str, options: tuple[str, ...], **chosen: Any) -> None:
    """Copy an array or a group with all that is below it, into a store or a group.

    Chunks are copied as they are stored, or encoded again where chunks, shards, codec or format change.
    Storage options are those of both, or of the one that is remote.

    \b
    zarrcore copy data.zarr data.zip
    zarrcore copy data.zarr s3://bucket/data.zarr --shards 1000,1000
    """
    from zarrcore.groups.opened import OpenGroup

    if chosen["resume"] and chosen["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    one_takes_none = is_remote(source) != is_remote(target)
    node = find_node(source, () if one_takes_none and not is_remote(source) else options)
    is_group = isinstance(node, OpenGroup)
    options = () if one_takes_none and not is_remote(target) else options
    with _errors_have_hints():
        if is_group and not chosen["skip_unreadable"]:
            _refuse_misfits(node, _layout(chosen))
        place = store_path(target, options, "r" if chosen["dry_run"] else "a")
        keeps_away = nullcontext() if chosen["dry_run"] else alone(place)
        # An archive is complete when it is closed.
        with keeps_away, progress_bar("copying") as shown, place.store:
            create = _layout(chosen) | {"threads": chosen["threads"], "progress": shown}
            if not is_group:
                _refuse_group(node, source, place, target)
            counts = (_copy_group if is_group else _copy_array)(node, place, chosen, create)
    if chosen["as_json"]:
        print_json(dict(zip(("copied", "left_out", "nbytes"), counts, strict=True)))
    elif not chosen["dry_run"]:
        click.echo(f"{counts[0]} copied, {counts[1]} left out, {size_text(counts[2])} of values")


@contextmanager
def _errors_have_hints() -> Iterator[None]:
    """Let errors name the options of the command that are a way out."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, CopyError) and "if_exists" in str(error):
            error.add_note("--overwrite replaces what is there, --resume goes on after a break")
        if "ZIP archives cannot forget" in str(error):
            error.add_note("remove the archive, or copy into another one")
        raise


def _refuse_misfits(group: Any, layout: dict[str, Any]) -> None:
    """Refuse a layout that does not fit all arrays, before there is anything at the target."""
    import zarrcore

    if layout:
        target = zarrcore.create_group({}, zarr_format=layout.get("zarr_format", group.metadata.zarr_format))
        zarrcore.copy_all(group, target, dry_run=True, **layout)


def _refuse_group(array: Any, source: str, place: StorePath, target: str) -> None:
    """Refuse to put an array in the place of a group: what is meant is a place in it."""
    from zarrcore.metadata import GroupMetadata
    from zarrcore.nodes.find import read_node

    if isinstance(read_node(place), GroupMetadata):
        name = (array.basename or split_place(source)[0].rstrip("/").rpartition("/")[2]).strip(".") or "NAME"
        is_file = target.endswith((".zip", ".ozx"))
        example = f"{target}::{name}" if is_file else f"{target.rstrip('/')}/{name}"
        raise CopyError(f"{target} is a group: name the array in it, such as {example}")


def _layout(chosen: dict[str, Any]) -> dict[str, Any]:
    """Return what the copy has of its own."""
    layout = {name: chosen[name] for name in ("chunks", "shards") if chosen[name] is not None}
    if chosen["codec"] is not None:
        layout["compressors"] = value_of(chosen["codec"])
    if chosen["zarr_format"] is not None:
        layout["zarr_format"] = int(chosen["zarr_format"])
    return layout


def _copy_array(array: Any, place: StorePath, chosen: dict[str, Any], create: dict[str, Any]) -> Counts:
    from zarrcore.arrays.derived import from_array_at
    from zarrcore.groups.copying import is_left_out

    if chosen["skip_unreadable"]:
        raise click.UsageError("--skip-unreadable is for groups: of an array nothing would be left")
    skip, replace = is_left_out(array, place, _if_exists(chosen))
    if (chosen["verbose"] or chosen["dry_run"]) and not chosen["as_json"]:
        _named(f"{'skip' if skip else 'copy'} {array.name} {array.shape} {array.dtype}")
    if skip or chosen["dry_run"]:
        return int(not skip), int(skip), 0
    copied = from_array_at(place, data=array, overwrite=replace, **create)
    return 1, 0, copied.nbytes


def _if_exists(chosen: dict[str, Any]) -> str:
    return "skip_initialized" if chosen["resume"] else "replace" if chosen["overwrite"] else "raise"


def _copy_group(group: Any, place: StorePath, chosen: dict[str, Any], create: dict[str, Any]) -> Counts:
    from zarrcore.api.copying import copy_all
    from zarrcore.groups.copying import refuse_own_source

    refuse_own_source(group, place)  # before there is a group at the target
    number = create.get("zarr_format", group.metadata.zarr_format)
    return copy_all(
        group,
        _target(place, number, chosen["dry_run"]),
        if_exists=_if_exists(chosen),
        dry_run=chosen["dry_run"],
        on_error="skip" if chosen["skip_unreadable"] else "raise",
        log=_named if (chosen["verbose"] or chosen["dry_run"]) and not chosen["as_json"] else None,
        **create,
    )


def _target(place: StorePath, zarr_format: int, dry_run: bool) -> Any:
    """Return the group to copy into; a dry run that finds none takes one in memory."""
    from zarrcore.errors import ContainsGroupError, GroupNotFoundError
    from zarrcore.groups.creating import create_group_at
    from zarrcore.groups.opened import open_group_at
    from zarrcore.nodes.find import read_node
    from zarrcore.storage import make_store_path

    try:
        return open_group_at(place, None if dry_run else zarr_format)
    except GroupNotFoundError:
        place = make_store_path({}) if dry_run else place
    try:
        return create_group_at(place, zarr_format, None, overwrite=False)
    except ContainsGroupError:
        other: Any = read_node(place)
        there = f"{place} is a group of format {other.zarr_format}"
        raise CopyError(f"{there}: --zarr-format {other.zarr_format} copies into it") from None


def _named(line: str) -> None:
    click.echo(printable(line))
