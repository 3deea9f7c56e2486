"""The Blosc codec, as formats 2 and 3 spell it."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import choice, integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.base import ArraySpec
from zarrcore.codecs.spelling import NumcodecsCodec

_MAX_INPUT = 2**31 - 1 - 16
"""Most bytes of one Blosc buffer: its header has 32-bit sizes and takes 16 bytes."""

_MAX_TYPESIZE = 255  # one byte of the header; Blosc itself takes larger items as single bytes


class BloscCname(StrEnum):
    """The compressors inside Blosc; the plain strings do as well.

    Examples
    --------
    >>> [str(name) for name in BloscCname]
    ['lz4', 'lz4hc', 'blosclz', 'zstd', 'snappy', 'zlib']
    >>> BloscCodec(cname=BloscCname.lz4) == BloscCodec(cname="lz4")
    True
    """

    lz4 = "lz4"
    lz4hc = "lz4hc"
    blosclz = "blosclz"
    zstd = "zstd"
    snappy = "snappy"
    zlib = "zlib"


class BloscShuffle(StrEnum):
    """How Blosc reorders bytes or bits before it compresses; the plain strings do as well.

    Examples
    --------
    >>> [str(name) for name in BloscShuffle]
    ['noshuffle', 'shuffle', 'bitshuffle']
    >>> BloscCodec(shuffle=BloscShuffle.bitshuffle).to_json()["configuration"]["shuffle"]
    'bitshuffle'
    """

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
    typesize: int | None = option(None, integer, 1, 2**31 - 1, omitted=True)
    cname: str = option("zstd", choice, BloscCname)
    clevel: int = option(5, integer, 0, 9)
    shuffle: str | None = option(None, choice, BloscShuffle, omitted=True)
    blocksize: int = option(0, integer, 0, 2**31 - 1)

    def resolve(self, spec: ArraySpec) -> Self:
        item_size = spec.item_size or 1
        default_shuffle = "bitshuffle" if item_size == 1 else "shuffle"
        return replace(self, typesize=self.typesize or item_size, shuffle=self.shuffle or default_shuffle)

    def stage(self) -> tuple[str, dict[str, Any]]:
        shuffle = tuple(BloscShuffle).index(BloscShuffle(self.shuffle or "bitshuffle"))
        return self._stage(shuffle, self.typesize or 1)

    def _stage(self, shuffle: int, typesize: int) -> tuple[str, dict[str, Any]]:
        return "blosc", {
            "cname": self.cname,
            "clevel": self.clevel,
            "shuffle": shuffle,
            "typesize": typesize if typesize <= _MAX_TYPESIZE else 1,
            "blocksize": self.blocksize,
        }

    def max_input(self) -> int | None:
        return _MAX_INPUT


class Blosc(NumcodecsCodec, BloscCodec, id="blosc"):
    """The Blosc container format.

    Parameters
    ----------
    cname : {"lz4", "zstd", "lz4hc", "blosclz", "zlib", "snappy"}
        The compressor.
    clevel : int
        0 (no compression) to 9.
    shuffle : int
        0 (none), 1 (bytes), 2 (bits), or -1: bits of items of one byte, else bytes.
    blocksize : int
        Bytes of the blocks that are compressed one by one; 0 lets Blosc choose.
    typesize : int, optional
        Bytes over which shuffling strides.  Default: in format 2 the item size, in format 3 one byte.

    Examples
    --------
    >>> compressors = Blosc(cname="zstd", clevel=5, shuffle=2)
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=compressors)
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'blosc', 'cname': 'zstd', 'clevel': 5, 'shuffle': 2, 'blocksize': 0}
    """

    needed_to_decode = ()
    cname: str = option("lz4", choice, BloscCname)
    clevel: int = option(5, integer, 0, 9)
    shuffle: int = option(1, integer, -1, 2)  # type: ignore[assignment]
    blocksize: int = option(0, integer, 0, 2**31 - 1)
    typesize: int | None = option(None, integer, 1, 2**31 - 1)
    itemsize: ClassVar[int] = 1  # in place of a typesize: format 3 compresses bytes, format 2 knows the items

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["typesize"]  # format 2 leaves it to the writer
        return config

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        return self._replaced(itemsize=nbytes)

    def stage(self) -> tuple[str, dict[str, Any]]:
        typesize = self.typesize or self.itemsize
        shuffle = self.shuffle if self.shuffle >= 0 else (2 if typesize == 1 else 1)
        return self._stage(shuffle, typesize)
