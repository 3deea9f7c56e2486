"""Copying nodes and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.storage import make_store_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from zarrcore.groups.group import Group

__all__ = ["copy", "copy_all", "copy_store"]


def copy(
    source: Any,
    dest: Group,
    name: str | None = None,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    **create_kws: Any,
) -> tuple[int, int, int]:
    """Copy an array or a group into a group.

    Parameters
    ----------
    source : Array or Group
        What to copy; objects of h5py with the same members will do.
    dest : Group
        The group to copy into.
    name : str, optional
        Name in `dest`; default: that of `source`.
    shallow : bool
        Copy a group without its members.
    without_attrs : bool
        Leave user attributes out.
    log : callable or file, optional
        Told about each node.
    if_exists : {"raise", "replace", "skip"}
        What to do with arrays that exist.
    dry_run : bool
        Only count.
    **create_kws
        As for :func:`from_array`.

    Returns
    -------
    tuple of int
        Number of nodes copied, of nodes skipped, and of bytes copied.
    """
    from zarrcore.groups.copying import copy_node

    name = name or str(source.name).rpartition("/")[2]
    if not name:
        raise ValueError("copy: the root has no name, so name must be given")
    return copy_node(
        source,
        dest,
        name,
        shallow=shallow,
        without_attrs=without_attrs,
        log=_logger(log),
        if_exists=if_exists,
        dry_run=dry_run,
        **create_kws,
    )


def copy_all(
    source: Group,
    dest: Group,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    **create_kws: Any,
) -> tuple[int, int, int]:
    """Copy all members of a group, and its attributes, into another group; see :func:`copy`."""
    counts = [0, 0, 0]
    for name, node in source.members():
        for position, count in enumerate(
            copy(
                node,
                dest,
                name,
                shallow=shallow,
                without_attrs=without_attrs,
                log=log,
                if_exists=if_exists,
                dry_run=dry_run,
                **create_kws,
            )
        ):
            counts[position] += count
    if not without_attrs and not dry_run:
        dest.attrs.update(dict(source.attrs))
    return counts[0], counts[1], counts[2]


def copy_store(
    source: Any,
    dest: Any,
    source_path: str = "",
    dest_path: str = "",
    excludes: Any = None,
    includes: Any = None,
    flags: int = 0,
    if_exists: str = "raise",
    dry_run: bool = False,
    log: Callable[[str], None] | TextIO | None = None,
) -> tuple[int, int, int]:
    """Copy keys and values from one store to another as they are.

    Parameters
    ----------
    source, dest : store-like
        Stores.
    source_path, dest_path : str
        Prefixes in them.
    excludes, includes : str or sequence of str, optional
        Regular expressions that keys (below `source_path`) must not, or must, contain; `flags` are those of
        :mod:`re`.
    if_exists : {"raise", "replace", "skip"}
        What to do with keys that exist.
    dry_run : bool
        Only count.
    log : callable or file, optional
        Told about each key.

    Returns
    -------
    tuple of int
        Number of keys copied, of keys skipped, and of bytes copied.
    """
    import re

    from zarrcore.groups.copying import copy_keys

    def patterns(value: Any) -> tuple[Any, ...]:
        items = (value,) if isinstance(value, str) else tuple(value or ())
        return tuple(re.compile(item, flags) for item in items)

    start, end = make_store_path(source, path=source_path), make_store_path(dest, path=dest_path)
    return copy_keys(
        start.store,
        end.store,
        source_path=start.path,
        dest_path=end.path,
        excludes=patterns(excludes),
        includes=patterns(includes),
        if_exists=if_exists,
        dry_run=dry_run,
        log=_logger(log),
    )


def _logger(log: Any) -> Callable[[str], None] | None:
    """A function that takes lines, from a function or a file."""
    if log is None:
        return None
    if callable(log):
        function: Callable[[str], None] = log
        return function
    return lambda line: print(line, file=log)
