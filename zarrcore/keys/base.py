"""The base class of chunk key encodings, and what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import known_keys, named_configuration

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["ChunkKeyEncoding", "coordinates"]


class ChunkKeyEncoding(ABC):
    """Base class of chunk key encodings (Zarr v3, extension point ``chunk_key_encoding``)."""

    name: ClassVar[str]

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """Return an encoding from `configuration`, the member of that name in a metadata document.

        Raises
        ------
        MetadataValidationError
            If a member is unknown or its value is not valid.
        """
        known_keys(configuration, _members(cls))
        return cls(**configuration)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return an encoding from `data`, its whole extension object."""
        return cls.from_json(named_configuration(data)[1])

    def to_json(self) -> dict[str, Any]:
        """Return the extension object, every member of the configuration written out."""
        return {"name": self.name, "configuration": {name: getattr(self, name) for name in _members(self)}}

    def to_dict(self) -> dict[str, Any]:
        """Return the same as :meth:`to_json`."""
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
        """Return the same as :meth:`encode` for `chunk_coords`."""
        return self.encode(chunk_coords)

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """Return the same as :meth:`decode` for `chunk_key`."""
        return self.decode(chunk_key)

    def native(self) -> tuple[str, str] | None:
        """Return kind and separator for the chunk engine, or None if only Python can encode keys."""
        return None


def _members(encoding: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(encoding))


def coordinates(parts: list[str], key: str) -> tuple[int, ...]:
    """Return the coordinates that the parts of `key` are, if it is written as an encoding writes them."""
    for part in parts:
        plain = part.isascii() and part.isdigit()
        if not plain or (len(part) > 1 and part[0] == "0"):
            raise ValueError(f"expected a chunk key of plain decimal coordinates, got {key!r}")
    return tuple(map(int, parts))
