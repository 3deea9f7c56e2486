"""The compressors of format 2 that the engine has, bytes -> bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import boolean, choice, integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.blosc import BLOSC_MAX_INPUT, BloscCname, blosc_stage
from zarrcore.codecs.v2_config import V2Config
from zarrcore.codecs.zstd import MAX_ZSTD_LEVEL, MIN_ZSTD_LEVEL

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec

__all__ = ["LZ4", "Blosc", "GZip", "Zlib", "Zstd"]


@dataclass(frozen=True)
class Blosc(V2Config, NativeBytesCodec):
    """The Blosc container format.  ``shuffle`` is 0 (none), 1 (bytes), 2 (bits) or -1 (by the item size)."""

    name: ClassVar[str] = "blosc"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ()
    cname: str = "lz4"
    clevel: int = 5
    shuffle: int = 1
    blocksize: int = 0
    typesize: int | None = None

    def __post_init__(self) -> None:
        choice(self.cname, "cname", BloscCname)
        integer(self.clevel, "clevel", 0, 9)
        integer(self.shuffle, "shuffle", -1, 2)
        integer(self.blocksize, "blocksize", 0, 2**31 - 1)
        if self.typesize is not None:
            integer(self.typesize, "typesize", 1, 2**31 - 1)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["typesize"]  # format 2 leaves it to the writer
        return config

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        return replace(self, typesize=nbytes) if self.typesize is None else self

    def resolve(self, spec: ArraySpec) -> Self:
        return self if self.typesize else replace(self, typesize=spec.item_size or 1)

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        typesize = self.typesize or 1
        shuffle = self.shuffle if self.shuffle >= 0 else (2 if typesize == 1 else 1)
        return blosc_stage(self.cname, self.clevel, shuffle, typesize, self.blocksize)

    def max_input(self) -> int | None:
        return BLOSC_MAX_INPUT


@dataclass(frozen=True)
class Zlib(V2Config, NativeBytesCodec):
    """DEFLATE in the zlib format."""

    name: ClassVar[str] = "zlib"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ()
    level: int = 1

    def __post_init__(self) -> None:
        integer(self.level, "level", -1, 9)

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {"level": self.level if self.level >= 0 else 6}  # zlib's own default


class GZip(Zlib):
    """DEFLATE in the gzip format."""

    name: ClassVar[str] = "gzip"


@dataclass(frozen=True)
class Zstd(V2Config, NativeBytesCodec):
    """Zstandard."""

    name: ClassVar[str] = "zstd"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ()
    level: int = 0
    checksum: bool = False

    def __post_init__(self) -> None:
        integer(self.level, "level", MIN_ZSTD_LEVEL, MAX_ZSTD_LEVEL)
        boolean(self.checksum, "checksum")

    def get_config(self) -> dict[str, Any]:
        # Readers older than the option know no such member.
        return {"id": self.name, "level": self.level} | ({"checksum": True} if self.checksum else {})

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "zstd", {"level": self.level, "checksum": self.checksum}


@dataclass(frozen=True)
class LZ4(V2Config, NativeBytesCodec):
    """The decoded size and one LZ4 block."""

    name: ClassVar[str] = "lz4"
    needed_to_decode: ClassVar[tuple[str, ...] | None] = ()
    acceleration: int = 1

    def __post_init__(self) -> None:
        integer(self.acceleration, "acceleration", -(2**31), 2**31 - 1)

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "lz4", {"acceleration": max(self.acceleration, 1)}

    def max_input(self) -> int | None:
        return 0x7E000000  # LZ4_MAX_INPUT_SIZE
