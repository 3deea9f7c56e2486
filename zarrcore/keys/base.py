"""The base class of chunk key encodings, and what they share."""

from __future__ import annotations

from abc import ABC, abstractmethod

from zarrcore._extension import Extension


class ChunkKeyEncoding(Extension, ABC):
    """Base class of chunk key encodings (Zarr v3, extension point ``chunk_key_encoding``)."""

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


def coordinates(parts: list[str], key: str) -> tuple[int, ...]:
    """Return the coordinates that the parts of `key` are, if it is written as an encoding writes them."""
    for part in parts:
        plain = part.isascii() and part.isdigit()
        if not plain or (len(part) > 1 and part[0] == "0"):
            raise ValueError(f"expected a chunk key of plain decimal coordinates, got {key!r}")
    return tuple(map(int, parts))
