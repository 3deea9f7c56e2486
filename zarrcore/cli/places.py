"""Arguments that commands share: places, options of stores, selections.

As in all modules of commands, what a command works with is imported when it runs: help needs none of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zarrcore._patterns import pattern

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from zarrcore.arrays.opened import OpenArray
    from zarrcore.groups.opened import OpenGroup
    from zarrcore.storage import StorePath

Command = TypeVar("Command", bound=Callable[..., Any])

_IN_HOST = pattern(r"://[^/\[]*\[[^\]]*$")  # what is left of a "::" in an address of IPv6
_SLICE = pattern(r"\s*([+-]?\d+)?\s*:\s*([+-]?\d+)?\s*(?::\s*([+-]?\d+)?\s*)?")


def split_place(text: str) -> tuple[str, str]:
    """Return the store and the path in it; chains of URLs, such as zip::https://..., have no path.

    Examples
    --------
    >>> split_place("data.zip::group/array"), split_place("zip::https://host/data.zip")
    (('data.zip', 'group/array'), ('zip::https://host/data.zip', ''))
    """
    store, mark, path = text.rpartition("::")
    if not mark or "://" in path or re.fullmatch(r"[a-z][a-z0-9+]*", store) or _IN_HOST.search(store):
        return text, ""
    return store, path


def store_path(text: str, options: tuple[str, ...] = (), mode: str = "r") -> StorePath:
    """Return the store path that an argument names."""
    from zarrcore.storage import make_store_path

    store, path = split_place(text)
    return make_store_path(store, path=path, mode=mode, storage_options=storage_options(options))


def is_remote(text: str) -> bool:
    """Return whether an argument is a URL, whose store may take options."""
    return "://" in text and not text.startswith("file://")


def find_place(text: str, options: tuple[str, ...] = (), mode: str = "r") -> tuple[StorePath, Any]:
    """Find the array or group that an argument names, without loading what opening it needs."""
    from zarrcore.metadata import GroupMetadata
    from zarrcore.nodes.open import open_node

    place, metadata = open_node(store_path(text, options, mode))
    if isinstance(metadata, GroupMetadata):
        from zarrcore.nodes.consolidated import with_consolidated

        metadata = with_consolidated(place, metadata, None)
    return place, metadata


def find_node(text: str, options: tuple[str, ...] = (), mode: str = "r") -> OpenArray | OpenGroup:
    """Find an array or a group for functions that need none of what users call on it."""
    from zarrcore.groups.opened import opened_node

    return opened_node(*find_place(text, options, mode))


def open_place(text: str, options: tuple[str, ...] = (), mode: str = "r") -> Any:
    """Open the array or group that an argument names, which is there."""
    from zarrcore.nodes.documents import is_array_metadata
    from zarrcore.nodes.open import open_node

    place, metadata = open_node(store_path(text, options, mode))
    if is_array_metadata(metadata):  # as zarrcore.open does, without what it needs to create one
        from zarrcore.arrays.array import Array

        return Array(metadata, place)
    from zarrcore.api.nodes import open_group

    return open_group(place, mode=mode)


def open_array(text: str, options: tuple[str, ...] = (), mode: str = "r") -> Any:
    """Open an array; a group is an error that lists its arrays."""
    import zarrcore

    node = open_place(text, options, mode)
    if isinstance(node, zarrcore.Array):
        return node
    raise _no_array(text, node)


def find_array(text: str, options: tuple[str, ...] = ()) -> OpenArray:
    """Find an array for functions that need none of what users call on it, without loading that."""
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.nodes.documents import is_array_metadata

    place, metadata = find_place(text, options)
    if not is_array_metadata(metadata):
        raise _no_array(text, open_place(text, options))
    return OpenArray(metadata, place, documented=True)


def _no_array(text: str, node: Any) -> ValueError:
    names = sorted(node.array_keys())
    hint = f"; its arrays are {', '.join(names[:10])}" if names else ""
    return ValueError(f"{text} is a group, not an array{hint}")


def storage_options(options: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the options of a store from KEY=VALUE, with values in JSON where they are that."""
    pairs = [option.partition("=") for option in options]
    for key, mark, _ in pairs:
        if not mark or not key:
            raise click.UsageError(f"--storage-option: expected KEY=VALUE, got {key!r}")
    return {key: value_of(value) for key, _, value in pairs} or None


def value_of(text: str) -> Any:
    """Return the value of a JSON text, and any other text as it is."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        return text


def selection_of(text: str) -> Any:
    """Return a selection from text such as ``0, 10:20, ::2, ...``.

    Examples
    --------
    >>> selection_of("3, ::2")
    (3, slice(None, None, 2))
    """
    return tuple(_index(part) for part in text.strip().strip("[]").split(",") if part.strip()) or ...


def with_fields(selection: Any, fields: tuple[str, ...]) -> Any:
    """Return a selection that takes these fields of records alone, or all if there are none.

    Examples
    --------
    >>> with_fields((3, slice(None)), ("x", "y"))
    (3, slice(None, None, None), 'x', 'y')
    """
    return (*(selection if isinstance(selection, tuple) else (selection,)), *fields) if fields else selection


def _index(text: str) -> Any:
    if text.strip() == "...":
        return ...
    if re.fullmatch(r"\s*[+-]?\d+\s*", text):
        return int(text)
    found = _SLICE.fullmatch(text)
    if found is None:
        raise click.UsageError(f"selection: expected an integer, a slice or ..., got {text.strip()!r}")
    return slice(*(None if number is None else int(number) for number in found.groups()))


def place_argument(name: str = "place") -> Callable[[Command], Command]:
    """Give a command a place as an argument; shells complete paths of files there."""
    return click.argument(name, shell_complete=_as_files, callback=_named)


def _named(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse an empty text, which a variable of a shell that is not set becomes, and not take it for "."."""
    if not value:
        raise click.BadParameter("it is empty; a dot is the directory that you are in")
    return value


def _as_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def takes_place(command: Command) -> Command:
    """Give a command a PLACE, and options of its store."""
    return place_argument()(takes_options(command))


def takes_selection(default: str | None = "...") -> Callable[[Command], Command]:
    """Give a command a PLACE, a SELECTION in it, fields of records, and options of its store."""
    chosen = click.argument("selection", default=default, required=False)
    field = click.option(
        "-F", "--field", "fields", multiple=True, metavar="NAME",
        help="Of records this field alone; may be given several times.",
    )  # fmt: skip
    return lambda command: place_argument()(chosen(takes_options(field(command))))


def takes_options(command: Command) -> Command:
    """Give a command options of stores."""
    return click.option(
        "-o", "--storage-option", "options", multiple=True, metavar="KEY=VALUE",
        help="An option of the store, such as anon=true; may be given several times.",
    )(command)  # fmt: skip


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
