"""The Zstandard codec, as formats 2 and 3 spell it."""

from __future__ import annotations

from typing import ClassVar

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import boolean, integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.spelling import NumcodecsCodec

_LEVELS = (-131072, 22)


@dataclass(frozen=True, kw_only=True)
class ZstdCodec(NativeBytesCodec):
    """Zstandard compression (RFC 8878; codec ``zstd`` of the Zarr extensions).

    Parameters
    ----------
    level : int
        -131072 to 22; 0 is the library's default.
    checksum : bool
        Whether each frame ends with a checksum of its contents.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", compressors=ZstdCodec(level=9, checksum=True))
    >>> array.metadata.to_dict()["codecs"][-1]
    {'name': 'zstd', 'configuration': {'level': 9, 'checksum': True}}
    """

    name: ClassVar[str] = "zstd"
    level: int = option(0, integer, *_LEVELS)
    checksum: bool = option(False, boolean)


class Zstd(NumcodecsCodec, ZstdCodec, id="zstd"):
    """Zstandard.

    The parameters are those of :class:`ZstdCodec`.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=Zstd(level=9))
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'zstd', 'level': 9}
    """

    needed_to_decode = ()
    level: int = option(0, integer, *_LEVELS)
    checksum: bool = option(False, boolean, omitted=True)
