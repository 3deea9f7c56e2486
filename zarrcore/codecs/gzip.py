"""The ``gzip`` codec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from zarrcore._validate import integer
from zarrcore.codecs._native import NativeBytesCodec

__all__ = ["GzipCodec"]


@dataclass(frozen=True, kw_only=True)
class GzipCodec(NativeBytesCodec):
    """DEFLATE compression in the gzip file format (Zarr v3, codec ``gzip``).

    Parameters
    ----------
    level : int
        0 (no compression) to 9.
    """

    name: ClassVar[str] = "gzip"
    level: int = 5

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", integer(self.level, "level", 0, 9))

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "gzip", {"level": self.level}
