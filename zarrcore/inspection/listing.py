"""The stored chunks of an array by listing alone: their grid positions, keys and sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from zarrcore._core import engine
from zarrcore._typed import NamedTuple
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.keys.base import chunk_coords, chunk_key, key_maker
from zarrcore.storage import LocalStore, MemoryStore, Store
from zarrcore.storage.derived import is_itself
from zarrcore.storage.files import is_temporary, is_there

BATCH = 1 << 16  # keys that are looked at together

_MOST_KNOWN = 1 << 20
_MOST_FILES = 1 << 22  # that are listed in one call; their positions are in memory then
_LOOKS = 20  # at a value that is neither gone nor of any size

UNKNOWN = -1
"""The size of a value that is no file, or that vanished after it was listed."""

DAMAGED = -2
"""In place of a size: the value cannot be read or decoded."""


class Stored(NamedTuple):
    """Some stored chunks.

    `coords` is an int64 array of shape (number, dimensions), `sizes` is one with the size of each in bytes,
    :data:`UNKNOWN` for what is no regular value, and `key` makes the full store key of a position.
    """

    coords: np.ndarray
    sizes: np.ndarray
    key: Callable[[tuple[int, ...]], str]

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.sizes)

    @property
    def keys(self) -> list[str]:
        """Full store keys."""
        return list(map(self.key, map(tuple, self.coords.tolist())))

    def key_at(self, number: int) -> str:
        """Return the full store key of one of them."""
        return self.key(tuple(self.coords[number].tolist()))

    def chosen(self, which: np.ndarray) -> Stored:
        """Return those for which a boolean array is true, or whose numbers are given."""
        return Stored(self.coords[which], self.sizes[which], self.key)

    def parts(self, most: int) -> Iterator[Stored]:
        """Yield these chunks, at most so many at a time."""
        for start in range(0, self.number, most):
            yield Stored(self.coords[start : start + most], self.sizes[start : start + most], self.key)


class KeyReader:
    """Turns keys into grid positions, many at once where the encoding is one of the specification.

    For encodings that cannot be read backwards, the keys of all chunks of the grid are made; if these are too
    many, a NotImplementedError is raised.
    """

    def __init__(self, encoding: ChunkKeyEncoding, grid: Sequence[int]) -> None:
        self._encoding = encoding
        self._ndim = len(grid)
        native = encoding.native()
        self._native = native if native is not None and native[0] in ("default", "v2") else None
        self._known: dict[str, tuple[int, ...]] | None = None
        if type(encoding).decode is ChunkKeyEncoding.decode:
            if prod(grid) > _MOST_KNOWN:
                raise NotImplementedError(
                    f"the keys of the encoding {encoding.name!r} cannot be read backwards, and the grid of "
                    f"{prod(grid)} chunks is too large to make them all"
                )
            self._known = {chunk_key(encoding, coords): coords for coords in np.ndindex(*grid)}

    def key_below(self, prefix: str) -> Callable[[tuple[int, ...]], str]:
        """Return what makes full keys of positions: those that :meth:`read` returns have this very key."""
        encode = key_maker(self._encoding)
        return lambda coords: prefix + encode(coords)

    def read(self, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions that names are (int64), and which of the names are those of chunks."""
        quick = self._read_many(names) if self._native is not None and self._ndim and names else None
        if quick is not None:
            return quick, np.ones(len(names), bool)
        coords = np.zeros((len(names), self._ndim), np.int64)
        is_chunk = np.zeros(len(names), bool)
        for number, name in enumerate(names):
            found = self._read_one(name)
            if found is not None:
                coords[number], is_chunk[number] = found, True
        return coords, is_chunk

    def _read_many(self, names: Sequence[str]) -> np.ndarray | None:
        """Positions of names that are all those of chunks; None if some are not."""
        # Numbers that are written in another way than "plain" (a sign, a space, a zero in front) are longer
        # than what is expected of the numbers read, so the lengths of all texts together are compared.
        kind, separator = self._native  # type: ignore[misc]
        start = f"c{separator}" if kind == "default" else ""
        text = separator.join(names)
        if not text.isascii() or not all(name.startswith(start) for name in names):
            return None
        if start:
            text = separator.join([name[len(start) :] for name in names])
        parts = text.split(separator)
        if len(parts) != len(names) * self._ndim or max(map(len, parts)) > 18 or min(map(len, parts)) == 0:
            return None
        if not "".join(parts).isdigit():
            return None
        numbers = np.array(list(map(int, parts)), np.int64)
        digits = np.ones(numbers.shape, np.int64)
        for power in range(1, 18):
            more = numbers >= 10**power
            if not more.any():
                break
            digits += more
        if int(digits.sum()) != sum(map(len, parts)):
            return None
        per_name = np.char.count(np.array(names), separator) if self._ndim > 1 else None
        if per_name is not None and (per_name != per_name[0]).any():
            return None
        return numbers.reshape(len(names), self._ndim)

    def _read_one(self, name: str) -> tuple[int, ...] | None:
        if self._known is not None:
            return self._known.get(name)
        return chunk_coords(self._encoding, name, self._ndim)


def batches_of(listed: Iterable[tuple[str, int | None]]) -> Iterator[list[tuple[str, int]]]:
    """Yield what is listed in lists of up to :data:`BATCH`; sizes that are not known are :data:`UNKNOWN`."""
    listed = iter(listed)
    while batch := [(key, UNKNOWN if n is None else n) for key, n in islice(listed, BATCH)]:
        yield batch


def is_listed_at_once(store: Store) -> bool:
    """Return whether a store is one of those that the engine lists by itself."""
    return is_itself(store, LocalStore) or is_itself(store, MemoryStore)


def list_files(store: Store, native: Any, *, sizes: bool) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """List an array in a directory or a dictionary in one call: positions in order, their sizes, other names.

    None if that is not possible: the array is in another kind of store, or there are links.
    """
    if not is_listed_at_once(store) or not getattr(native, "is_native", False):
        return None
    found = engine.list_stored(native, _MOST_FILES, sizes)
    if found is None:
        return None
    coords, nbytes, others = found
    if coords.shape[1] and len(coords) > 1:
        order = np.lexsort(coords.T[::-1])
        coords, nbytes = coords[order], nbytes[order]
    return coords, nbytes, sorted(others)


def is_gone(store: Store, key: str) -> bool:
    """Return whether a key that was listed is not there any more: somebody has removed it meanwhile."""
    above, _, name = key.rpartition("/")
    try:
        if isinstance(store, LocalStore):
            return not is_there(f"{store._root}/{key}")
        return not store.exists(key) and name not in store.list_dir(above)
    except Exception:
        return False  # nobody knows


def is_left_behind(store: Store, key: str) -> bool:
    """Return whether a temporary file is there whose writer, as far as that is known, is not."""
    name = key.rpartition("/")[2]
    if is_temporary(name):
        if engine.writer_lives(name):
            return False
        from zarrcore.storage.moving import is_under_way

        if isinstance(store, LocalStore) and is_under_way(f"{store._root}/{key}"):
            return False
    return not is_gone(store, key)


def size_now(store: Store, key: str) -> int | None:
    """Return the size of a value that was listed.

    None if it has been removed since, :data:`UNKNOWN` if there is no file that can be read in its place.
    """
    for _ in range(_LOOKS):  # somebody may write it again after it was missed and before it is gone
        try:
            size = store._size(key)
        except Exception:
            return UNKNOWN
        if size is not None or is_gone(store, key):
            return size
    return UNKNOWN
