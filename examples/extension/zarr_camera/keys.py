"""A chunk key encoding."""

from dataclasses import dataclass
from typing import ClassVar

from zarrcore.errors import MetadataValidationError
from zarrcore.keys import ChunkKeyEncoding


@dataclass(frozen=True)
class Hexadecimal(ChunkKeyEncoding):
    """Keys such as ``frames/1f-0-3``."""

    name: ClassVar[str] = "camera.hex"
    prefix: str = "frames"

    def __post_init__(self):
        if not isinstance(self.prefix, str) or not self.prefix.isidentifier():
            raise MetadataValidationError(f"expected a word, got {self.prefix!r}", where="prefix")

    def encode(self, coords):
        return f"{self.prefix}/{'-'.join(f'{number:x}' for number in coords) or 'all'}"

    def decode(self, key):
        coords = tuple(int(part, 16) for part in key.rpartition("/")[2].split("-") if part != "all")
        if self.encode(coords) != key:
            raise ValueError(f"expected a key such as {self.prefix}/1f-0, got {key!r}")
        return coords
