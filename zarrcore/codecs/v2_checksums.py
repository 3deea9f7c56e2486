"""The checksums of format 2, bytes -> bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from zarrcore._validate import choice, fail, integer
from zarrcore.codecs._native import NativeBytesCodec
from zarrcore.codecs.v2_config import V2Config

__all__ = ["Adler32", "Crc32", "Crc32c", "Fletcher32", "JenkinsLookup3"]


@dataclass(frozen=True)
class Crc32c(V2Config, NativeBytesCodec):
    """The bytes with their CRC-32C, little-endian, at one end."""

    name: ClassVar[str] = "crc32c"
    is_fixed_size: ClassVar[bool] = True
    location: str = "end"

    def __post_init__(self) -> None:
        choice(self.location, "location", ("start", "end"))

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def get_config(self) -> dict[str, Any]:
        return _without_default_location(self)

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "crc32c", {"location": self.location}


@dataclass(frozen=True)
class Crc32(V2Config, NativeBytesCodec):
    """The bytes with their CRC-32, little-endian, at one end."""

    name: ClassVar[str] = "crc32"
    is_fixed_size: ClassVar[bool] = True
    location: str = "start"

    def __post_init__(self) -> None:
        choice(self.location, "location", ("start", "end"))

    def get_config(self) -> dict[str, Any]:
        return _without_default_location(self)

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {"location": self.location}


class Adler32(Crc32):
    """The bytes with their Adler-32, little-endian, at one end."""

    name: ClassVar[str] = "adler32"


@dataclass(frozen=True)
class Fletcher32(V2Config, NativeBytesCodec):
    """The bytes followed by their Fletcher-32, as HDF5 computes it, little-endian."""

    name: ClassVar[str] = "fletcher32"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {}


@dataclass(frozen=True)
class JenkinsLookup3(V2Config, NativeBytesCodec):
    """The bytes followed by Jenkins' lookup3 of them, as HDF5 computes it, little-endian.

    Parameters
    ----------
    initval : int
        What the sum begins from.
    prefix : bytes, optional
        Bytes that are summed up before the others, and not stored.  Metadata documents have no form for them:
        an array with such a codec cannot be created.
    """

    name: ClassVar[str] = "jenkins_lookup3"
    is_fixed_size: ClassVar[bool] = True
    initval: int = 0
    prefix: bytes | None = None

    def __post_init__(self) -> None:
        integer(self.initval, "initval", 0, 2**32 - 1)
        if self.prefix is None:
            return
        try:
            object.__setattr__(self, "prefix", bytes(memoryview(self.prefix)))
        except TypeError:
            fail("prefix", "bytes, or none", self.prefix)

    def get_config(self) -> dict[str, Any]:
        if self.prefix is not None:
            fail("prefix", "none in a metadata document", self.prefix)
        return {"id": self.name, "initval": self.initval, "prefix": None}

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        options: dict[str, Any] = {"initval": self.initval}
        return self.name, options if self.prefix is None else options | {"prefix": self.prefix}


def _without_default_location(codec: Crc32 | Crc32c) -> dict[str, Any]:
    """Return the configuration of a checksum; readers older than the option know no ``location``."""
    default = type(codec).location
    return {"id": codec.name} | ({} if codec.location == default else {"location": codec.location})
