"""Chunk key encodings of the specification and of N5, and how documents and users name one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias

from zarrcore._extension import option, parse_extension
from zarrcore._records import dataclass
from zarrcore._validate import choice
from zarrcore.keys.base import ChunkKeyEncoding, coordinates
from zarrcore.registry import key_encoding_registry

#: A chunk key encoding, its name, its JSON object, or a pair of name and separator.
ChunkKeyEncodingLike: TypeAlias = ChunkKeyEncoding | str | Mapping[str, Any] | tuple[str, str]


@dataclass(frozen=True)
class DefaultChunkKeyEncoding(ChunkKeyEncoding):
    """``c/1/23/45`` (Zarr v3, chunk key encoding ``default``).

    Parameters
    ----------
    separator : {"/", "."}
        What stands between the parts of a key.

    Examples
    --------
    >>> DefaultChunkKeyEncoding().encode((1, 23, 45))
    'c/1/23/45'
    """

    name: ClassVar[str] = "default"
    separator: str = option("/", choice, "/.")

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(("c", *map(str, coords)))

    def decode(self, key: str) -> tuple[int, ...]:
        prefix, *parts = key.split(self.separator)
        if prefix != "c":
            raise ValueError(f"expected a chunk key that begins with 'c', got {key!r}")
        return coordinates(parts, key)

    def native(self) -> tuple[str, str] | None:
        return "default", self.separator


@dataclass(frozen=True)
class V2ChunkKeyEncoding(ChunkKeyEncoding):
    """``1.23.45``, the chunk keys of format 2 (Zarr v3, chunk key encoding ``v2``).

    Parameters
    ----------
    separator : {".", "/"}
        What stands between the coordinates.

    Examples
    --------
    >>> V2ChunkKeyEncoding().encode((1, 23, 45))
    '1.23.45'
    """

    name: ClassVar[str] = "v2"
    separator: str = option(".", choice, "./")

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, coords)) or "0"

    def decode(self, key: str) -> tuple[int, ...]:
        # The only chunk of an array without dimensions has the key "0" as well: the caller knows the rank.
        return coordinates(key.split(self.separator), key)

    def native(self) -> tuple[str, str] | None:
        return "v2", self.separator


@dataclass(frozen=True)
class N5ChunkKeyEncoding(ChunkKeyEncoding):
    """``45/23/1``, the last coordinate first: the keys of N5, whose dimensions are in the other order.

    Examples
    --------
    >>> N5ChunkKeyEncoding().encode((1, 23, 45))
    '45/23/1'
    """

    name: ClassVar[str] = "zarrcore.n5"

    def encode(self, coords: tuple[int, ...]) -> str:
        return "/".join(map(str, reversed(coords))) or "0"

    def native(self) -> tuple[str, str]:
        return "n5", "/"

    def decode(self, key: str) -> tuple[int, ...]:
        return coordinates(key.split("/"), key)[::-1]


def parse_chunk_key_encoding(data: object) -> ChunkKeyEncoding:
    """Return a chunk key encoding from a metadata document or an argument.

    Parameters
    ----------
    data : ChunkKeyEncoding, str or dict
        An instance, a short-hand name, an extension object, or ``{"name": ..., "separator": ...}``.

    Examples
    --------
    >>> parse_chunk_key_encoding("default").encode((3, 1))
    'c/3/1'
    >>> parse_chunk_key_encoding({"name": "v2", "configuration": {"separator": "/"}}).encode((3, 1))
    '3/1'
    """
    if isinstance(data, dict) and "separator" in data and "configuration" not in data:
        data = {"name": data.get("name"), "configuration": {"separator": data["separator"]}}
    return parse_extension(data, ChunkKeyEncoding, key_encoding_registry)  # type: ignore[type-abstract]
