"""Copying nodes and stores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeVar, Unpack

from zarrcore._log import info
from zarrcore.arrays.options import CopyNodeOptions, takes
from zarrcore.node import Node, state_of
from zarrcore.storage import make_store_path
from zarrcore.storage.path import StoreLike

if TYPE_CHECKING:
    from zarrcore.arrays.array import Array
    from zarrcore.groups.copying import CopyOptions, Counts
    from zarrcore.groups.group import Group
    from zarrcore.progress import Progress

    Log = Callable[[str], object] | TextIO | str | PathLike[str] | None

Options = TypeVar("Options", bound="CopyOptions")


@takes(CopyNodeOptions)
def copy(
    source: Array | Group,
    dest: Group,
    name: str | None = None,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Log = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    *,
    on_error: Literal["raise", "skip"] = "raise",
    threads: int = 0,
    progress: Progress | None = None,
    **create_kws: Unpack[CopyNodeOptions],
) -> tuple[int, int, int]:
    """Copy an array or a group into a group.

    Chunks are copied as they are stored where both arrays store them alike, and are encoded again in regions
    of a bounded size otherwise; see :func:`from_array`.  What is in the way is found before anything is
    written.  A copy that fails leaves the source as it is and no array that is not complete; the notes of the
    exception name what is.

    Parameters
    ----------
    source : Array or Group
        What to copy; objects of h5py or zarr-python with the same members will do.
    dest : Group
        The group to copy into.
    name : str, optional
        Name in `dest`; default: that of `source`.
    shallow : bool
        Copy a group with the arrays in it, but without the groups in it.
    without_attrs : bool
        Leave user attributes out.
    log : callable, file or path, optional
        Told about each node, and how many there were in the end.
    if_exists : {"raise", "replace", "skip", "skip_initialized"}
        What to do where there is something already: an array, or a group where an array is to be.
        ``"replace"`` removes it, a group with all its members, just before the copy is stored; if storing
        fails, neither is there.  ``"skip_initialized"`` leaves out arrays whose chunks are all stored, or
        all that the source has where shape and grid are the same, and replaces the others; a group where an
        array is to be, or the reverse, is an error.  A group that is there is added to, whatever `if_exists`
        says.
    dry_run : bool
        Write nothing, only count and write the log.
    on_error : {"raise", "skip"}
        What to do with nodes and attributes that Zarr has no form for, or that the source cannot read: such
        as references and ragged data sets of HDF5, links to nothing, a damaged chunk.  ``"skip"`` leaves them
        out, one by one, and names them in the log and in one `ZarrUserWarning`.  Errors of the store that is
        written always end the copy.
    threads : int
        Number of threads; 0 for the configured number.
    progress : callable or True, optional
        Called with the number of bytes of values that are done, and of all, after each step.  What it raises
        ends the copy.  True shows a bar, which takes rich or tqdm.  Through a network, where several arrays
        are copied at the same time unless `threads` is 1, other threads call it, one at a time.
    **create_kws
        As for :func:`from_array`, such as other chunks; `compressor` is the same as `compressors`.

    Returns
    -------
    tuple of int
        Number of nodes copied, of nodes skipped, and of bytes of values copied.

    Raises
    ------
    CopyError
        If something exists already, the target is the source or lies in it, or a node is no array and no
        group; nothing has been written.  Also if an array of another library cannot be read.

    Examples
    --------
    >>> import zarrcore
    >>> source, dest = zarrcore.create_group({}), zarrcore.create_group({})
    >>> _ = source.create_array("winter/snow", shape=(4, 6), dtype="i2")
    >>> zarrcore.copy(source["winter"], dest, name="cold", log=print)
    copy /winter
    copy /winter/snow (4, 6) int16
    all done: 2 copied, 0 skipped, 48 bytes copied
    (2, 0, 48)
    """
    from zarrcore.groups.copying import copy_node

    _check_nodes("copy", source, dest)
    name = name or str(source.name).rpartition("/")[2]
    if not name:
        raise TypeError("copy: the root has no name, so name must be given; copy_all copies its members")
    chosen = (shallow, without_attrs, if_exists, dry_run, on_error, threads, progress, {**create_kws})
    return _copied(partial(copy_node, name=name), source, dest, log, chosen)


@takes(CopyNodeOptions)
def copy_all(
    source: Group,
    dest: Group,
    shallow: bool = False,
    without_attrs: bool = False,
    log: Log = None,
    if_exists: str = "raise",
    dry_run: bool = False,
    *,
    on_error: Literal["raise", "skip"] = "raise",
    threads: int = 0,
    progress: Progress | None = None,
    **create_kws: Unpack[CopyNodeOptions],
) -> tuple[int, int, int]:
    """Copy all members of a group, and its attributes, into another group; see :func:`copy`.

    With `shallow` only the arrays among its direct members are copied.

    Examples
    --------
    >>> import zarrcore
    >>> source, dest = zarrcore.open_group({}), zarrcore.open_group({})
    >>> source["lat"] = np.arange(3)
    >>> zarrcore.copy_all(source, dest)  # nodes copied, nodes skipped, bytes
    (1, 0, 24)
    """
    from zarrcore.groups.copying import copy_members

    _check_nodes("copy_all", source, dest)
    chosen = (shallow, without_attrs, if_exists, dry_run, on_error, threads, progress, {**create_kws})
    return _copied(copy_members, source, dest, log, chosen)


_CHOICES = "shallow without_attrs if_exists dry_run on_error threads progress create_kws".split()


def _check_nodes(function: str, source: Any, dest: Any) -> None:
    """Refuse paths and stores: nodes are to be open."""
    from zarrcore.groups.opened import OpenGroup

    for role, node, fits in (
        (
            "source",
            source,
            isinstance(source, Node) or (hasattr(source, "name") and hasattr(source, "attrs")),
        ),
        ("dest", dest, isinstance(state_of(dest), OpenGroup)),
    ):
        if not fits:
            kind = "a group" if role == "dest" or function == "copy_all" else "an array or a group"
            raise TypeError(
                f"{function}: {role}: expected {kind} that is open, got {type(node).__name__}: open it with "
                "open or open_group, or copy whole stores with copy_store"
            )


def _copied(
    act: Callable[..., Counts], source: Any, dest: Group, log: Log, chosen: tuple[Any, ...]
) -> tuple[int, int, int]:
    """Return the counts of `act`, which copies nodes; `chosen` are the values of `_CHOICES`."""
    from zarrcore.groups.copying import NodeCopyOptions

    start, end = state_of(source), state_of(dest)
    options = dict(zip(_CHOICES, chosen, strict=True))
    progress = options.pop("progress")
    return _logged(
        log, NodeCopyOptions(**options), progress, lambda options: act(start, end, options=options)
    )


def copy_store(
    source: StoreLike,
    dest: StoreLike,
    source_path: str = "",
    dest_path: str = "",
    excludes: str | Iterable[str] | None = None,
    includes: str | Iterable[str] | None = None,
    flags: int = 0,
    if_exists: str = "raise",
    dry_run: bool = False,
    log: Log = None,
    *,
    threads: int = 0,
    progress: Progress | None = None,
) -> tuple[int, int, int]:
    """Copy keys and values from one store to another as they are, metadata documents last.

    Parameters
    ----------
    source, dest : store-like
        Stores.
    source_path, dest_path : str
        Prefixes in them.
    excludes, includes : str or sequence of str, optional
        Regular expressions.  Keys of the source in which one of `excludes` is found are left out, unless one
        of `includes` is found in them too; `flags` are those of :mod:`re`.
    if_exists : {"raise", "replace", "skip"}
        What to do with keys that exist.
    dry_run : bool
        Write nothing, only count and write the log.
    log : callable, file or path, optional
        Gets a line for each key, and one with the counts.
    threads : int
        Number of threads; 0 for the configured number.
    progress : callable or True, optional
        Called as ``progress(done, total)`` after each key, with numbers of keys.  An exception that it raises
        ends the copy.  True shows a bar, which takes rich or tqdm.

    Returns
    -------
    tuple of int
        Number of keys copied, of keys skipped, and of bytes copied.

    Raises
    ------
    CopyError
        If a key exists already, the target is the source or lies in it, or there is nothing at a path or URL
        that is to be copied; nothing has been written.

    Examples
    --------
    >>> import zarrcore
    >>> source, dest = {}, {}
    >>> zarrcore.save(source, np.arange(3))
    >>> zarrcore.copy_store(source, dest)[:2]  # keys copied, keys skipped
    (2, 0)
    """
    import re

    from zarrcore.errors import CopyError
    from zarrcore.groups.copying import CopyOptions, copy_keys

    def patterns(value: str | Iterable[str] | None) -> list[re.Pattern[str]]:
        return [re.compile(item, flags) for item in ((value,) if isinstance(value, str) else value or ())]

    excluded, included = patterns(excludes), patterns(includes)

    def is_wanted(key: str) -> bool:
        out = any(pattern.search(key) for pattern in excluded)
        return not out or any(pattern.search(key) for pattern in included)

    start = make_store_path(source, path=source_path)
    if isinstance(source, str | PathLike) and start.is_empty():
        missing = start.store._instead_of_node(start.path)
        raise CopyError(f"copy_store: there is nothing to copy {start._located}{missing and f': {missing}'}")
    end = make_store_path(dest, path=dest_path, mode=None if dry_run else "a")
    options = CopyOptions(if_exists=if_exists, dry_run=dry_run, threads=threads)
    return _logged(log, options, progress, lambda options: copy_keys(start, end, options, is_wanted), False)


def _logged(
    log: Log,
    options: Options,
    progress: Progress | None,
    act: Callable[[Options], Counts],
    of_bytes: bool = True,
) -> tuple[int, int, int]:
    """Return the counts of `act`; write a line for each step and a last one to the log."""
    from zarrcore.progress import reporting

    with _lines(log) as write, reporting(progress, "copying", of_bytes=of_bytes) as step:
        copied, skipped, nbytes = act(replace(options, log=write, progress=step))
        head, tail = ("dry run", "") if options.dry_run else ("all done", f", {nbytes:,} bytes copied")
        line = f"{head}: {copied:,} copied, {skipped:,} skipped{tail}"
        write(line)
        info("copy: %s", line)
        return copied, skipped, nbytes


@contextmanager
def _lines(log: Any) -> Iterator[Callable[[str], object]]:
    """What takes lines, made of a function, a file, the path of a new file, or None."""
    if log is None:
        yield lambda line: None
    elif callable(log):
        yield log
    elif hasattr(log, "write"):
        yield lambda line: print(line, file=log, flush=True)
    else:
        with open(log, "w", encoding="utf-8") as file:
            yield lambda line: print(line, file=file, flush=True)
