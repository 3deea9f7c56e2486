"""The base class of chunk key encodings, and what they share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from typing import ClassVar

from zarrcore._extension import DOCUMENT, Extension, Result
from zarrcore._validate import describe, fail
from zarrcore.errors import MetadataValidationError, named, said, shown

_IN_C = [(kind, separator) for kind in ("default", "v2", "n5") for separator in "./"]


class ChunkKeyEncoding(Extension, ABC):
    """Base class of chunk key encodings (Zarr v3, extension point ``chunk_key_encoding``).

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Flat(ChunkKeyEncoding):
    ...     name = "example.flat"
    ...
    ...     def encode(self, coords):
    ...         return "chunk_" + "_".join(map(str, coords))
    >>> Flat().encode_chunk_key((3, 1))
    'chunk_3_1'
    """

    _what = "chunk key encoding"
    _results: ClassVar[Mapping[str, Result]] = {
        "to_json": DOCUMENT,
        "native": (
            "'default', 'v2' or 'n5' with '.' or '/', or None",
            lambda found, owner: found is None or (type(found) is tuple and found in _IN_C),
        ),
    }

    @abstractmethod
    def encode(self, coords: tuple[int, ...]) -> str:
        """Return the key of the chunk at `coords`."""

    def decode(self, key: str) -> tuple[int, ...]:
        """Return the coordinates of the chunk stored under `key`.

        Raises
        ------
        ValueError
            If no chunk has that key in this encoding.
        """
        raise NotImplementedError(f"the chunk key encoding {self.name!r} cannot decode keys")

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """Return the same as :meth:`encode` for `chunk_coords`."""
        return self.encode(chunk_coords)

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """Return the same as :meth:`decode` for `chunk_key`."""
        return self.decode(chunk_key)

    def native(self) -> tuple[str, str] | None:
        """Return kind and separator for the chunk engine, or None if only Python can encode keys."""
        return None


ChunkKeyEncoding._forms = {"native": ChunkKeyEncoding.native}
_DOCUMENTS = frozenset(("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"))


def chunk_key(encoding: ChunkKeyEncoding, coords: tuple[int, ...]) -> str:
    """Return the key of the chunk at `coords`, from an encoding that a user may have written.

    Refuse what is no key, or that of a metadata document, which the chunk would overwrite.
    """
    try:
        key = encoding.encode(coords)
    except MemoryError:
        raise
    except Exception as error:
        raise _failed(encoding, f"chunk {coords}", error) from error
    if not isinstance(key, str) or not key or key.rpartition("/")[2] in _DOCUMENTS:
        fail(None, f"a chunk key from the encoding {encoding.name!r} for chunk {coords}", key)
    return key


def key_maker(encoding: ChunkKeyEncoding) -> Callable[[tuple[int, ...]], str]:
    """Return what makes the keys of chunks; those of an encoding that a user may have written are checked."""
    return encoding.encode if encoding.native() is not None else partial(chunk_key, encoding)


def chunk_coords(encoding: ChunkKeyEncoding, key: str, ndim: int) -> tuple[int, ...] | None:
    """Return the position that a key names; None if no chunk of an array of `ndim` dimensions has it."""
    native = encoding.native()
    encode = key_maker(encoding)
    if ndim == 0:
        return () if key == encode(()) else None
    try:
        coords = encoding.decode(key)
    except MemoryError:
        raise
    except Exception as error:
        if isinstance(error, ValueError):
            return None
        raise _failed(encoding, f"key {describe(key)}", error) from error
    if native is not None:  # one of zarrcore's own: numbers that are not negative
        return coords if len(coords) == ndim and max(coords) < 2**62 and encode(coords) == key else None
    if coords is None:
        return None
    if not isinstance(coords, tuple):  # a chunk that is there would not be seen, and not be copied
        expected = f"a tuple from decode of the chunk key encoding {encoding.name!r}"
        fail(f"key {describe(key)}", expected, coords)
    fits = len(coords) == ndim and all(isinstance(n, int) and 0 <= n < 2**62 for n in coords)
    return coords if fits and encode(coords) == key else None


def quick_reader(encoding: ChunkKeyEncoding, ndim: int) -> Callable[[str], tuple[int, ...] | None]:
    """Return a function that reads most keys as :func:`chunk_coords` does, and else returns None."""
    native = encoding.native()
    if native is None or ndim == 0:
        return lambda key: None
    match = _pattern(*native, ndim).fullmatch
    backwards = native[0] == "n5"

    def read(key: str) -> tuple[int, ...] | None:
        found = match(key)
        if found is None:
            return None
        coords = tuple(map(int, found.groups()))
        return coords[::-1] if backwards else coords

    return read


@lru_cache(maxsize=64)
def _pattern(kind: str, separator: str, ndim: int) -> re.Pattern[str]:
    """What keys of chunks look like, as far as their numbers are of no more than 18 digits."""
    start = ["c"] if kind == "default" else []
    return re.compile(re.escape(separator).join(start + ["(0|[1-9][0-9]{0,17})"] * ndim))


def names_hidden_by(encoding: ChunkKeyEncoding, name: str, ndim: int) -> Iterator[str]:
    """Yield names of chunks, some perhaps of none, that no file can have where one has this name.

    With a slash at the end it is that of an empty directory.
    """
    parts, usual = name.split("/"), chunk_key(encoding, (0,) * ndim).split("/")
    for n in range(1, len(parts)):
        yield "/".join(parts[:n])
    if parts[-1] and len(parts) < len(usual):
        yield "/".join([*parts, *usual[len(parts) :]])


def _failed(encoding: ChunkKeyEncoding, where: str, error: Exception) -> MetadataValidationError:
    reason = named(error) if type(error) is KeyError else said(error)
    return MetadataValidationError(f"{shown(reason)} (chunk key encoding {encoding.name!r})", where=where)


def check_keys(encoding: ChunkKeyEncoding, grid_shape: tuple[int, ...]) -> None:
    """Refuse an encoding that has one key for two chunks."""
    tried: dict[str, tuple[int, ...]] = {}
    for coords in some_chunks(grid_shape):
        key = chunk_key(encoding, coords)
        if key in tried:
            fail(None, f"keys that differ for the chunks {tried[key]} and {coords}", key)
        tried[key] = coords


def some_chunks(grid_shape: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return the first chunk of a grid, its neighbours and the last one, for trials."""
    if 0 in grid_shape:
        return set()
    first = (0,) * len(grid_shape)
    neighbours = (
        (*first[:axis], 1, *first[axis + 1 :]) for axis, count in enumerate(grid_shape) if count > 1
    )
    return {first, *neighbours, tuple(count - 1 for count in grid_shape)}


def coordinates(parts: list[str], key: str) -> tuple[int, ...]:
    """Return the coordinates that the parts of `key` are, if it is written as an encoding writes them."""
    for part in parts:
        plain = part.isascii() and part.isdigit()
        if not plain or (len(part) > 1 and part[0] == "0"):
            raise ValueError(f"expected a chunk key of plain decimal coordinates, got {key!r}")
    return tuple(map(int, parts))
