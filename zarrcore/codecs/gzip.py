"""DEFLATE: the codec ``gzip`` of format 3, and the codecs ``gzip`` and ``zlib`` of numcodecs."""

from __future__ import annotations

from typing import Any, ClassVar

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.spelling import NumcodecsCodec


@dataclass(frozen=True, kw_only=True)
class GzipCodec(NativeBytesCodec):
    """DEFLATE compression in the gzip file format (Zarr v3, codec ``gzip``).

    Parameters
    ----------
    level : int
        0 (no compression) to 9.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", compressors=GzipCodec(level=9))
    >>> array.metadata.to_dict()["codecs"][-1]
    {'name': 'gzip', 'configuration': {'level': 9}}
    """

    name: ClassVar[str] = "gzip"
    level: int = option(5, integer, 0, 9)


class Zlib(NumcodecsCodec, NativeBytesCodec, id="zlib"):
    """DEFLATE in the zlib format.

    Parameters
    ----------
    level : int
        0 (no compression) to 9; -1 is the library's default, 6.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=Zlib(level=6))
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'zlib', 'level': 6}
    """

    needed_to_decode = ()
    level: int = option(1, integer, -1, 9)

    def stage(self) -> tuple[str, dict[str, Any]]:
        return self._engine_name, {"level": self.level if self.level >= 0 else 6}


class GZip(Zlib, id="gzip"):
    """DEFLATE in the gzip format.

    The parameters are those of :class:`Zlib`.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", zarr_format=2, compressors=GZip(level=9))
    >>> array.metadata.to_dict()["compressor"]
    {'id': 'gzip', 'level': 9}
    """
