"""Chunk key encodings of the specification, and what all have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from zarrcore._validate import at, choice, known_keys, named_configuration
from zarrcore.registry import key_encoding_registry

if TYPE_CHECKING:
    from typing import Self

__all__ = [
    "ChunkKeyEncoding",
    "ChunkKeyEncodingLike",
    "DefaultChunkKeyEncoding",
    "V2ChunkKeyEncoding",
    "coordinates",
    "parse_chunk_key_encoding",
]


class ChunkKeyEncoding(ABC):
    """Base class of chunk key encodings (Zarr v3, extension point ``chunk_key_encoding``)."""

    name: ClassVar[str]

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """Return an encoding from the ``configuration`` of a metadata document."""
        known_keys(configuration, _members(cls))
        return cls(**configuration)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return an encoding from its whole extension object."""
        return cls.from_json(named_configuration(data)[1])

    def to_json(self) -> dict[str, Any]:
        """Return the extension object, every member of the configuration written out."""
        return {"name": self.name, "configuration": {name: getattr(self, name) for name in _members(self)}}

    def to_dict(self) -> dict[str, Any]:
        """The same as :meth:`to_json`."""
        return self.to_json()

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
        """The same as :meth:`encode`."""
        return self.encode(chunk_coords)

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """The same as :meth:`decode`."""
        return self.decode(chunk_key)

    def native(self) -> tuple[str, str] | None:
        """Kind and separator for the chunk engine, or None if only Python can encode keys."""
        return None


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
    separator: str = "/"

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", choice(self.separator, "separator", "/."))

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
    separator: str = "."

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", choice(self.separator, "separator", "./"))

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, coords)) or "0"

    def decode(self, key: str) -> tuple[int, ...]:
        # The only chunk of an array without dimensions has the key "0" as well: the caller knows the rank.
        return coordinates(key.split(self.separator), key)

    def native(self) -> tuple[str, str] | None:
        return "v2", self.separator


def _members(encoding: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(encoding))


def coordinates(parts: list[str], key: str) -> tuple[int, ...]:
    """Return the coordinates that the parts of `key` are, if it is written as an encoding writes them."""
    for part in parts:
        plain = part.isascii() and part.isdigit()
        if not plain or (len(part) > 1 and part[0] == "0"):
            raise ValueError(f"expected a chunk key of plain decimal coordinates, got {key!r}")
    return tuple(map(int, parts))


def parse_chunk_key_encoding(data: object) -> ChunkKeyEncoding:
    """Return a chunk key encoding from a metadata document or an argument.

    Parameters
    ----------
    data : ChunkKeyEncoding, str or dict
        An instance, a short-hand name, an extension object, or ``{"name": ..., "separator": ...}``.
    """
    if isinstance(data, ChunkKeyEncoding):
        return data
    if isinstance(data, dict) and "separator" in data and "configuration" not in data:
        data = {"name": data.get("name"), "configuration": {"separator": data["separator"]}}
    name, configuration, _ = named_configuration(data)
    cls = key_encoding_registry.get(name)
    with at("configuration"):
        return cls.from_json(configuration)
