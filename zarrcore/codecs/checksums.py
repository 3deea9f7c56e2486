"""The checksums, bytes -> bytes: ``crc32c`` of format 3 and those of numcodecs."""

from __future__ import annotations

from typing import Any, ClassVar

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import choice, fail, integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.spelling import NumcodecsCodec

_ENDS = ("start", "end")


class _Checksum(NativeBytesCodec):
    """Four bytes more than the input."""

    is_fixed_size = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4


@dataclass(frozen=True, kw_only=True)
class Crc32cCodec(_Checksum):
    """The bytes followed by their CRC-32C, little-endian (Zarr v3, codec ``crc32c``).

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.create_array(store, shape=4, dtype="u1", compressors=[Crc32cCodec()])
    >>> array[:] = 2
    >>> store["c/0"] = bytes([7]) + store["c/0"][1:]  # a byte is damaged
    >>> array[:]
    Traceback (most recent call last):
        ...
    zarrcore.errors.ChecksumError: array '/', chunk (0,), key 'c/0', codec 'crc32c': checksum mismatch: ...
    """

    name: ClassVar[str] = "crc32c"

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name}

    def stage(self) -> tuple[str, dict[str, Any]]:
        return "crc32c", {"location": "end"}


class CRC32(NumcodecsCodec, _Checksum, id="crc32"):
    """The bytes with their CRC-32, little-endian, at one end.

    Parameters
    ----------
    location : {"start", "end"}
        Where the checksum is.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.create_array(
    ...     store, shape=4, dtype="u1", zarr_format=2, filters=CRC32(), compressors=None
    ... )
    >>> array[:] = 1
    >>> len(store["0"])  # four bytes of values, four of the checksum
    8
    """

    location: str = option("start", choice, _ENDS, omitted=True)


class CRC32C(CRC32, id="crc32c"):
    """The bytes with their CRC-32C, little-endian, at one end.

    The parameters are those of :class:`CRC32`; the default is the other end.

    Examples
    --------
    >>> CRC32C().encode(b"abcd")[4:] == CRC32C(location="start").encode(b"abcd")[:4]
    True
    """

    location: str = option("end", choice, _ENDS, omitted=True)


class Adler32(CRC32, id="adler32"):
    """The bytes with their Adler-32, little-endian, at one end.

    The parameters are those of :class:`CRC32`.

    Examples
    --------
    >>> Adler32().encode(b"abcd")[:4].hex()  # the checksum, before the bytes
    '8b01d803'
    >>> bytes(Adler32().decode(Adler32().encode(b"abcd")))
    b'abcd'
    """


class Fletcher32(NumcodecsCodec, _Checksum, id="fletcher32"):
    """The bytes followed by their Fletcher-32, as HDF5 computes it, little-endian.

    Examples
    --------
    >>> len(Fletcher32().encode(b"abcd"))
    8
    >>> Fletcher32().to_json()
    {'name': 'numcodecs.fletcher32', 'configuration': {}}
    """


def _prefix(value: Any, where: str) -> bytes:
    try:
        return bytes(memoryview(value))
    except TypeError:
        return fail(where, "bytes, or none", value)


class JenkinsLookup3(NumcodecsCodec, _Checksum, id="jenkins_lookup3"):
    """The bytes followed by Jenkins' lookup3 of them, as HDF5 computes it, little-endian.

    Parameters
    ----------
    initval : int
        The initial value of the sum.
    prefix : bytes, optional
        Bytes that are summed up before the others, and not stored.  Metadata documents have no form for them:
        an array with such a codec cannot be created.

    Examples
    --------
    >>> JenkinsLookup3(initval=7).get_config()
    {'id': 'jenkins_lookup3', 'initval': 7, 'prefix': None}
    >>> bytes(JenkinsLookup3().decode(JenkinsLookup3().encode(b"abcd")))
    b'abcd'
    """

    initval: int = option(0, integer, 0, 2**32 - 1)
    prefix: bytes | None = option(None, _prefix)

    def get_config(self) -> dict[str, Any]:
        if self.prefix is not None:
            fail("prefix", "none in a metadata document", self.prefix)
        return super().get_config()

    def to_json(self) -> dict[str, Any]:
        return super().to_json() if self.prefix is None else self.get_config()
