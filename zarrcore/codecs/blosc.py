"""The ``blosc`` codec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import choice, integer
from zarrcore.codecs._native import NativeBytesCodec

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec

__all__ = ["BLOSC_MAX_INPUT", "BloscCname", "BloscCodec", "BloscShuffle", "blosc_stage"]

BLOSC_MAX_INPUT = 2**31 - 1 - 16
"""Most bytes of one Blosc buffer: its header has 32-bit sizes and takes 16 bytes."""

_MAX_TYPESIZE = 255  # one byte of the header; Blosc itself takes larger items as single bytes


class BloscCname(StrEnum):
    """The compressors inside Blosc; the plain strings do as well."""

    lz4 = "lz4"
    lz4hc = "lz4hc"
    blosclz = "blosclz"
    zstd = "zstd"
    snappy = "snappy"
    zlib = "zlib"


class BloscShuffle(StrEnum):
    """How Blosc reorders bytes or bits before it compresses; the plain strings do as well."""

    noshuffle = "noshuffle"
    shuffle = "shuffle"
    bitshuffle = "bitshuffle"

    @classmethod
    def from_int(cls, num: int) -> BloscShuffle:
        """Return the shuffle that format 2 records as `num`."""
        return tuple(cls)[integer(num, "shuffle", 0, 2)]


@dataclass(frozen=True, kw_only=True)
class BloscCodec(NativeBytesCodec):
    """Compression in the Blosc container format (Zarr v3, codec ``blosc``).

    Parameters
    ----------
    typesize : int, optional
        Bytes over which shuffling strides.  Default: the item size of the data type.
    cname : {"zstd", "lz4", "lz4hc", "blosclz", "zlib", "snappy"}
        The compressor.
    clevel : int
        0 (no compression) to 9.
    shuffle : {"noshuffle", "shuffle", "bitshuffle"}, optional
        Default: ``"bitshuffle"`` for items of one byte, else ``"shuffle"``.
    blocksize : int
        Bytes of the blocks that are compressed one by one; 0 lets Blosc choose.

    Examples
    --------
    >>> BloscCodec(cname="lz4", typesize=4, shuffle="shuffle").stage()
    ('blosc', {'cname': 'lz4', 'clevel': 5, 'shuffle': 1, 'typesize': 4, 'blocksize': 0})
    """

    name: ClassVar[str] = "blosc"
    typesize: int | None = None
    cname: str = "zstd"
    clevel: int = 5
    shuffle: str | None = None
    blocksize: int = 0

    def __post_init__(self) -> None:
        if self.typesize is not None:
            object.__setattr__(self, "typesize", integer(self.typesize, "typesize", 1, 2**31 - 1))
        if self.shuffle is not None:
            object.__setattr__(self, "shuffle", choice(self.shuffle, "shuffle", BloscShuffle))
        object.__setattr__(self, "cname", choice(self.cname, "cname", BloscCname))
        object.__setattr__(self, "clevel", integer(self.clevel, "clevel", 0, 9))
        object.__setattr__(self, "blocksize", integer(self.blocksize, "blocksize", 0, 2**31 - 1))

    def resolve(self, spec: ArraySpec) -> Self:
        item_size = spec.item_size or 1
        default_shuffle = "bitshuffle" if item_size == 1 else "shuffle"
        return replace(self, typesize=self.typesize or item_size, shuffle=self.shuffle or default_shuffle)

    def to_json(self) -> dict[str, Any]:
        configuration = super().to_json()["configuration"]
        return {"name": self.name, "configuration": {k: v for k, v in configuration.items() if v is not None}}

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        shuffle = tuple(BloscShuffle).index(BloscShuffle(self.shuffle or "bitshuffle"))
        return blosc_stage(self.cname, self.clevel, shuffle, self.typesize or 1, self.blocksize)

    def max_input(self) -> int | None:
        return BLOSC_MAX_INPUT


def blosc_stage(
    cname: str, clevel: int, shuffle: int, typesize: int, blocksize: int
) -> tuple[str, dict[str, Any]]:
    """Return the engine's name and configuration of a Blosc codec."""
    return "blosc", {
        "cname": cname,
        "clevel": clevel,
        "shuffle": shuffle,
        "typesize": typesize if typesize <= _MAX_TYPESIZE else 1,
        "blocksize": blocksize,
    }
