"""A chunk key encoding that keeps directories small."""

from __future__ import annotations

from typing import ClassVar

from zarrcore._records import dataclass
from zarrcore._validate import integer
from zarrcore.keys.base import ChunkKeyEncoding


@dataclass(frozen=True)
class FanoutChunkKeyEncoding(ChunkKeyEncoding):
    """Keys that limit the number of entries of each directory (proposed chunk key encoding ``fanout``).

    Parameters
    ----------
    max_children : int
        Most entries of a directory, at least 100; the power of ten below it is what counts.

    Examples
    --------
    >>> FanoutChunkKeyEncoding().encode((1234, 5))
    'c/1/001/234/0/005'
    """

    name: ClassVar[str] = "fanout"
    max_children: int = 1000

    def __post_init__(self) -> None:
        most = integer(self.max_children, "max_children", 100)
        object.__setattr__(self, "max_children", 10 ** (len(str(most)) - 1))

    @property
    def _digits(self) -> int:
        return len(str(self.max_children)) - 1

    def encode(self, coords: tuple[int, ...]) -> str:
        parts = ["c"]
        for coordinate in coords:
            text = str(coordinate)
            text = text.zfill(-(-len(text) // self._digits) * self._digits)
            groups = [text[i : i + self._digits] for i in range(0, len(text), self._digits)]
            parts += [str(len(groups) - 1), *groups]
        return "/".join(parts)

    def decode(self, key: str) -> tuple[int, ...]:
        prefix, *parts = key.split("/")
        coords = []
        while parts:
            more, parts = parts[0], parts[1:]
            count = int(more) + 1 if more.isascii() and more.isdigit() else 0
            text, parts = "".join(parts[:count]), parts[count:]
            coords.append(int(text) if text.isascii() and text.isdigit() else -1)
        found = tuple(coords)
        if prefix != "c" or -1 in found or self.encode(found) != key:
            raise ValueError(
                f"expected a chunk key with at most {self.max_children} entries a level, got {key!r}"
            )
        return found
