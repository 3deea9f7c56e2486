"""Methods of zarr-python's arrays that are replaced for a while by calls of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial, wraps
from types import TracebackType
from typing import Any, Self
from weakref import ref

import zarr
from zarr.core.buffer import cpu
from zarr.core.sync import _get_loop, sync

from zarrcore._locks import RLock, forkable
from zarrcore._typed import NamedTuple
from zarrcore.integrations.zarr_python import borrowed
from zarrcore.integrations.zarr_python.borrowed import BorrowedArray
from zarrcore.integrations.zarr_python.metadata import is_known_release

_KINDS = ("basic", "orthogonal", "coordinate", "mask", "block")
_OF_CPU = frozenset({"zarr.buffer.cpu.NDBuffer", "zarr.core.buffer.cpu.NDBuffer"})


class _Known(NamedTuple):
    """An array of zarr-python, the metadata that it had, and what reads it; None if nothing here does."""

    theirs: ref[Any]
    metadata: Any
    array: BorrowedArray | None


_known: dict[int, _Known] = {}  # by the identity of the AsyncArray
_methods: dict[str, tuple[Any, Any]] = {}  # those of zarr-python, and ours in their place
_users = 0
_lock = forkable(RLock())


def _array_of(theirs: Any) -> BorrowedArray | None:
    """Return what reads and writes an array of zarr-python; None: zarr-python itself."""
    known = _known.get(id(theirs))
    if known is None or known.metadata is not theirs.metadata or known.theirs() is not theirs:
        known = _meet(theirs)
    if known.array is None or zarr.config.config.get("ndbuffer") not in _OF_CPU:
        return None
    return known.array


def _meet(theirs: Any) -> _Known:
    """Look at an array for the first time, or again after its metadata have changed."""
    metadata, key = theirs.metadata, id(theirs)
    if not _users or type(theirs) is not zarr.AsyncArray:  # others may read in ways of their own
        return _Known(ref(theirs), metadata, None)
    array = borrowed.borrowed(metadata, theirs.store_path, getattr(theirs, "config", None) or theirs._config)
    known = _Known(ref(theirs, partial(_known.pop, key)), metadata, array)
    with _lock:
        if _users:
            _known[key] = known
    return known


def _getitem(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def __getitem__(self: Any, selection: Any) -> Any:
        # Of a class that derives from zarr.Array the original calls the method that reads, its own or ours.
        array = _array_of(self._async_array) if type(self) is zarr.Array else None
        if array is not None:
            try:
                found = borrowed.get(array, selection)
            except Exception:
                found = NotImplemented  # zarr-python meets it too, and reports it in its own words
            if found is not NotImplemented:
                return found
        return original(self, selection)

    return __getitem__


def _reader(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        array = _array_of(self._async_array) if len(args) == 1 and _are_defaults(options) else None
        if array is not None:
            try:
                found = borrowed.read(array, kind, args[0])
            except Exception:
                found = NotImplemented
            if found is not NotImplemented:
                return found
        return original(self, *args, **options)

    return method


def _writer(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, *args: Any, **options: Any) -> Any:
        array = _array_of(self._async_array) if len(args) == 2 and _are_defaults(options) else None
        try:
            if array is not None and borrowed.write(array, kind, *args):
                return
        except Exception:
            pass
        before = asyncio.all_tasks(_get_loop())
        try:
            original(self, *args, **options)
        except Exception:
            sync(_ended(before))
            raise

    return method


async def _ended(before: set[Any]) -> None:
    """Wait until the other chunks of a call that failed are written, for later calls to replace."""
    begun = asyncio.all_tasks() - before - {asyncio.current_task()}
    left = {task for task in begun if "concurrent_" in getattr(task.get_coro(), "__qualname__", "")}
    if left:
        await asyncio.wait(left)


def _are_defaults(options: dict[str, Any]) -> bool:
    return all(value is None or value is cpu.buffer_prototype or value == [] for value in options.values())


class Acceleration:
    """The time in which zarr-python's arrays use the engine; ended by :meth:`undo` or ``with``."""

    def __init__(self) -> None:
        self._is_on = is_known_release()
        if self._is_on:
            _begin()

    def undo(self) -> None:
        """Give zarr-python its methods back, unless another acceleration still goes on."""
        with _lock:
            was_on, self._is_on = self._is_on, False
            if was_on:
                _end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def accelerate() -> Acceleration:
    """Let the arrays of zarr-python use the engine; see :func:`zarrcore.accelerate`."""
    return Acceleration()


def _begin() -> None:
    global _users
    with _lock:
        _users += 1
        if _users > 1:
            return
        _replace("__getitem__", _getitem)
        for kind in _KINDS:
            _replace(f"get_{kind}_selection", partial(_reader, kind))
            _replace(f"set_{kind}_selection", partial(_writer, kind))


def _replace(name: str, make: Callable[[Any], Any]) -> None:
    original = vars(zarr.Array)[name]
    _methods[name] = original, make(original)
    setattr(zarr.Array, name, _methods[name][1])


def _end() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users:
            return
        for name, (original, ours) in _methods.items():
            if vars(zarr.Array)[name] is ours:  # what others have put in its place stays
                setattr(zarr.Array, name, original)
        _methods.clear()
        _known.clear()


Acceleration.__module__ = "zarrcore.integrations.zarr_python"
