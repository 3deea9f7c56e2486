"""The chunk keys of N5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zarrcore.keys.base import ChunkKeyEncoding, coordinates


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
