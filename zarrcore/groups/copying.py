"""Copying nodes and keys.

What is to be copied, and what is in its way, is known before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from zarrcore.arrays.chunks import count_stored
from zarrcore.arrays.derived import from_array_at
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import CopyError
from zarrcore.groups import changing, creating, members
from zarrcore.groups.opened import OpenGroup
from zarrcore.nodes.move import stored_value
from zarrcore.storage.path import StorePath
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.validation import is_document, join_path, normalize_path

Log = Callable[[str], object]
Progress = Callable[[int, int], object]

_NODE_CHOICES = ("raise", "replace", "skip", "skip_initialized")
_KEY_CHOICES = ("raise", "replace", "skip")


class Counts(NamedTuple):
    """What a copy did."""

    copied: int
    skipped: int
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class CopyOptions:
    """How keys are copied; see :func:`zarrcore.copy_store`."""

    if_exists: str = "raise"
    dry_run: bool = False
    log: Log = lambda line: None
    threads: int = 0
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class NodeCopyOptions(CopyOptions):
    """How nodes are copied; see :func:`zarrcore.copy`."""

    shallow: bool = False
    without_attrs: bool = False
    create_kws: dict[str, Any] = field(default_factory=dict)


class _Step(NamedTuple):
    """One node that is to be copied to a path in the target group, or left out."""

    source: Any
    path: str
    is_array: bool
    skip: bool
    replace: bool

    @property
    def nbytes(self) -> int:
        return int(self.source.nbytes) if self.is_array and not self.skip else 0

    def __str__(self) -> str:
        name = getattr(self.source, "name", self.path)
        return f"{name} {self.source.shape} {self.source.dtype}" if self.is_array else str(name)


def _check_choice(options: CopyOptions, choices: tuple[str, ...]) -> None:
    if options.if_exists not in choices:
        raise ValueError(f"if_exists: expected one of {', '.join(choices)}, got {options.if_exists!r}")


# --- nodes


def copy_node(source: Any, dest: OpenGroup, name: str, options: NodeCopyOptions) -> Counts:
    """Copy an array or a group into a group."""
    steps = list(_plan(source, dest, normalize_path(name), options, is_root=True))
    return _run(steps, dest, options)


def copy_members(source: Any, dest: OpenGroup, options: NodeCopyOptions) -> Counts:
    """Copy the members of a group, and its attributes, into another group."""
    _refuse_own_source(source, dest.place)
    steps = [
        step for name, node in _members(source) for step in _plan(node, dest, name, options, is_root=False)
    ]
    counts = _run(steps, dest, options)
    if not options.without_attrs and not options.dry_run:
        _add_attributes(dest, _attributes(source))
    return counts


def _plan(
    source: Any, dest: OpenGroup, path: str, options: NodeCopyOptions, *, is_root: bool
) -> Iterator[_Step]:
    """Yield the steps for a node and all below it, groups before their members."""
    _check_choice(options, _NODE_CHOICES)
    is_array = hasattr(source, "shape")
    if not is_array and options.shallow and not is_root:
        return
    _refuse_own_source(source, dest.place / path)
    existing = members.get(dest, path)
    in_the_way = existing is not None and (is_array or isinstance(existing, OpenArray))
    if in_the_way and options.if_exists == "raise":
        raise CopyError(f"{path!r} exists in {dest.place} already (if_exists='raise')")
    skip = in_the_way and options.if_exists == "skip"
    if in_the_way and options.if_exists == "skip_initialized" and isinstance(existing, OpenArray):
        skip = count_stored(existing) == existing.nchunks
    if in_the_way and not skip:
        _refuse_own_source(source, dest.place / path, replace=True)
    yield _Step(source, path, is_array, skip, in_the_way)
    if not is_array and not skip:
        for name, node in _members(source):
            yield from _plan(node, dest, join_path(path, name), options, is_root=False)


def _refuse_own_source(source: Any, target: StorePath, *, replace: bool = False) -> None:
    """Refuse a target that is the source, is inside the source, or contains the source and is removed."""
    place = getattr(source, "store_path", None)
    if not isinstance(place, StorePath):
        return  # not a node of this library
    ours, theirs = place._address, target._address
    if theirs.startswith(ours) or (replace and ours.startswith(theirs)):
        raise CopyError(f"{place} cannot be copied to {target}: one of them lies in the other")


def _members(group: Any) -> Iterable[tuple[str, Any]]:
    """Names and nodes of the direct members; of foreign groups those that behave like a mapping."""
    if isinstance(group, OpenGroup):
        return ((found.path, members.opened(group, found)) for found in members.usable(group, 0))
    found: Iterable[tuple[str, Any]] = group.members() if hasattr(group, "members") else group.items()
    return found


def _attributes(node: Any) -> dict[str, Any]:
    """User attributes; NumPy's arrays, scalars and byte strings, which h5py returns, become JSON."""
    if isinstance(node, OpenArray | OpenGroup):
        return dict(node.metadata.attributes)  # NaN that stands there may be stored again
    items = dict(getattr(node, "attrs", {})).items()
    return {name: _plain(value) for name, value in items}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value  # refused where it is stored, with the name of the attribute


def _run(steps: list[_Step], dest: OpenGroup, options: NodeCopyOptions) -> Counts:
    """Do what is planned, array by array."""
    copied = skipped = nbytes = 0
    progress = options.progress
    total = sum(step.nbytes for step in steps)
    done: list[str] = []
    for step in steps:
        options.log(f"{'skip' if step.skip else 'copy'} {step}")
        if step.skip:
            skipped += 1
            continue
        copied += 1
        if options.dry_run:
            continue
        try:
            _copy_one(step, dest, options, progress and partial(_progress_of_all, progress, nbytes, total))
        except BaseException as error:
            complete = ", ".join(map(repr, done)) or "nothing"
            error.add_note(f"while {step.path!r} was copied; complete are: {complete}")
            raise
        nbytes += step.nbytes
        done.append(step.path)
    return Counts(copied, skipped, nbytes)


def _progress_of_all(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    progress(before + done, total)


def _copy_one(step: _Step, dest: OpenGroup, options: NodeCopyOptions, progress: Progress | None) -> None:
    attributes = {} if options.without_attrs else _attributes(step.source)
    if not step.is_array:
        if step.replace:
            changing.remove(dest, step.path)
        group = creating.require_group(dest, step.path, None, overwrite=False)
        if attributes:
            _add_attributes(group, attributes)
        return
    arguments = {"zarr_format": dest.zarr_format, **options.create_kws}
    arguments.setdefault("attributes", attributes)
    arguments.setdefault("overwrite", step.replace)
    if "compressor" in arguments:  # as zarr 2 has it
        arguments["compressors"] = arguments.pop("compressor")
    if not isinstance(step.source, OpenArray):
        fill_value = getattr(step.source, "fill_value", getattr(step.source, "fillvalue", None))
        if fill_value is not None:
            is_text = (getattr(step.source.dtype, "metadata", None) or {}).get("vlen") is str
            arguments.setdefault("fill_value", _plain(fill_value) if is_text else fill_value)
    dest.look_in_store()
    arguments.update(data=step.source, threads=options.threads, progress=progress)
    from_array_at(dest.place / step.path, **arguments)


def _add_attributes(group: OpenGroup, attributes: dict[str, Any]) -> None:
    changing.change_attributes(group, lambda stored: {**stored, **attributes})


# --- keys


def copy_keys(
    source: StorePath, dest: StorePath, options: CopyOptions, wanted: Callable[[str], bool]
) -> Counts:
    """Copy keys that are wanted, and their values, as they are."""
    _check_choice(options, _KEY_CHOICES)
    ours, theirs = source._address, dest._address
    if theirs.startswith(ours):
        raise CopyError(f"{source} cannot be copied to {dest}, which lies in it")
    start = len(source.path) + 1 if source.path else 0
    found = filter(wanted, source.store.list_prefix(source.path))
    keys = sorted(found, key=lambda key: (is_document(key), key))
    pairs = [(key, join_path(dest.path, key[start:])) for key in keys]
    existing: set[str] = set()
    if options.if_exists != "replace":
        targets = [new for _, new in pairs]
        exists = (in_parallel if dest.store._concurrent_requests() else map)(dest.store.exists, targets)
        existing = {key for key, is_there in zip(targets, exists, strict=True) if is_there}
    if existing and options.if_exists == "raise":
        raise CopyError(f"key {min(existing)!r} exists in {dest.store} already (if_exists='raise')")
    chosen = [pair for pair in pairs if pair[1] not in existing]
    for key, new in pairs:
        options.log(f"{'skip' if new in existing else 'copy'} {key}{f' -> {new}' if new != key else ''}")
    nbytes = 0 if options.dry_run else _copy_pairs(source, dest, chosen, options)
    return Counts(len(chosen), len(existing), nbytes)


def _copy_pairs(
    source: StorePath, dest: StorePath, pairs: list[tuple[str, str]], options: CopyOptions
) -> int:
    """Copy values and return their size."""
    from zarrcore.arrays.copying import in_threads, threads_to_move

    def copy(pair: tuple[str, str]) -> int:
        value = stored_value(source.store, pair[0])
        dest.store.set(pair[1], value)
        return memoryview(value).nbytes

    dest.store._check_writable()
    threads = options.threads or threads_to_move(source.store, dest.store)
    nbytes = done = 0
    try:
        with closing(in_threads(copy, pairs, threads)) as sizes:
            for size in sizes:
                nbytes += size
                done += 1
                if options.progress is not None:
                    options.progress(done, len(pairs))
    except BaseException as error:
        last = ", ".join(repr(new) for _, new in islice(pairs, max(0, done - 3), done)) or "none"
        error.add_note(f"{done} of {len(pairs)} keys have been copied, the last ones: {last}")
        raise
    return nbytes
