"""The ``crc32c`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from zarrcore.codecs._native import NativeBytesCodec

__all__ = ["Crc32cCodec"]


@dataclass(frozen=True, kw_only=True)
class Crc32cCodec(NativeBytesCodec):
    """The bytes followed by their CRC-32C, little-endian (Zarr v3, codec ``crc32c``)."""

    name: ClassVar[str] = "crc32c"
    is_fixed_size: ClassVar[bool] = True

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "crc32c", {"location": "end"}
