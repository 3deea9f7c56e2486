"""The codecs of format 2 by their ids: compressors and checksums, bytes -> bytes.

In format 2 a codec is a JSON object with an ``id`` and its configuration (Zarr v2, "Metadata":
``compressor`` and ``filters``); the ids and configurations are those of numcodecs.  What the engine has runs
there, what the standard library has runs through that, within the bounds that the metadata sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import at, boolean, choice, describe, fail, integer, known_keys
from zarrcore.codecs._native import NativeBytesCodec, unbounded_room
from zarrcore.codecs.base import BytesBytesCodec, configuration_names, require_members
from zarrcore.codecs.blosc import BLOSC_MAX_INPUT, BloscCname, blosc_stage
from zarrcore.codecs.zstd import MAX_ZSTD_LEVEL, MIN_ZSTD_LEVEL
from zarrcore.errors import ChunkDecodeError, PickleCodecDisabledError
from zarrcore.registry import compressor_registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer, Codec

__all__ = [
    "BZ2",
    "LZ4",
    "LZMA",
    "Adler32",
    "Base64",
    "Blosc",
    "Crc32",
    "Crc32c",
    "Fletcher32",
    "GZip",
    "Zlib",
    "Zstd",
    "parse_v2_codec",
]

_LZMA_MEMORY_LIMIT = 1 << 30  # 16 times what the highest preset needs
_LZMA_CHECKS = (-1, 0, 1, 4, 10)  # by the format, none, CRC32, CRC64, SHA-256
_LZMA_EXTREME = 1 << 31  # may be added to a preset
_LZMA_FILTERS = (0x4000000000000001, 0x21, *range(3, 10))  # LZMA1, LZMA2, delta, machine code of processors


class V2Config:
    """Mixin: the format 2 form of a codec."""

    name: ClassVar[str]

    @property
    def codec_id(self) -> str:
        """The ``id`` in metadata documents."""
        return self.name

    def get_config(self) -> dict[str, Any]:
        """The JSON object of a metadata document."""
        return {"id": self.name} | {name: getattr(self, name) for name in configuration_names(type(self))}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A codec from the JSON object of a metadata document."""
        configuration = {key: value for key, value in config.items() if key != "id"}
        known_keys(configuration, configuration_names(cls))
        require_members(cls, configuration)
        return cls(**configuration)

    def to_json(self) -> dict[str, Any]:
        """The same as :meth:`get_config`."""
        return self.get_config()


@dataclass(frozen=True)
class Blosc(V2Config, NativeBytesCodec):
    """The Blosc container format.  ``shuffle`` is 0 (none), 1 (bytes), 2 (bits) or -1 (by the item size)."""

    name: ClassVar[str] = "blosc"
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
    level: int = 1

    def __post_init__(self) -> None:
        integer(self.level, "level", -1, 9)

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {"level": self.level if self.level >= 0 else 6}  # zlib's own default


@dataclass(frozen=True)
class GZip(Zlib):
    """DEFLATE in the gzip format."""

    name: ClassVar[str] = "gzip"


@dataclass(frozen=True)
class Zstd(V2Config, NativeBytesCodec):
    """Zstandard."""

    name: ClassVar[str] = "zstd"
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
    """One LZ4 block behind its decoded size."""

    name: ClassVar[str] = "lz4"
    acceleration: int = 1

    def __post_init__(self) -> None:
        integer(self.acceleration, "acceleration")

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return "lz4", {"acceleration": max(self.acceleration, 1)}

    def max_input(self) -> int | None:
        return 0x7E000000  # LZ4_MAX_INPUT_SIZE


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


@dataclass(frozen=True)
class Adler32(Crc32):
    """The bytes with their Adler-32, little-endian, at one end."""

    name: ClassVar[str] = "adler32"


@dataclass(frozen=True)
class Fletcher32(V2Config, NativeBytesCodec):
    """The bytes and behind them their Fletcher-32, as HDF5 computes it, little-endian."""

    name: ClassVar[str] = "fletcher32"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {}


@dataclass(frozen=True)
class BZ2(V2Config, BytesBytesCodec):
    """Compression by the bz2 module of the standard library."""

    name: ClassVar[str] = "bz2"
    level: int = 1

    def __post_init__(self) -> None:
        integer(self.level, "level", 1, 9)

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import bz2

        return bz2.compress(data, self.level)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import bz2

        return _decompress(bz2.BZ2Decompressor, data, _room(data, spec, max_size), self.name, OSError)


@dataclass(frozen=True)
class LZMA(V2Config, BytesBytesCodec):
    """Compression by the lzma module of the standard library, whose numbers the configuration uses."""

    name: ClassVar[str] = "lzma"
    format: int = 1
    check: int = -1
    preset: int | None = None
    filters: Any = None

    def __post_init__(self) -> None:
        integer(self.format, "format", 0, 3)
        if integer(self.check, "check") not in _LZMA_CHECKS:
            fail("check", "-1, 0, 1, 4 or 10", self.check)
        if self.preset is not None and integer(self.preset, "preset") & ~_LZMA_EXTREME not in range(10):
            fail("preset", f"an integer 0..9, to which {_LZMA_EXTREME} may be added", self.preset)
        if self.filters is not None:
            self._check_filters()
        elif self.format == 3:
            fail("filters", "filters, as the format 3 (raw) needs", None)

    def _check_filters(self) -> None:
        if not isinstance(self.filters, (list, tuple)) or not all(isinstance(f, dict) for f in self.filters):
            fail("filters", "an array of objects", self.filters)
        if self.preset is not None:
            fail("preset", "none beside filters", self.preset)
        for index, item in enumerate(self.filters):
            if integer(item.get("id"), f"filters[{index}].id") not in _LZMA_FILTERS:
                fail(f"filters[{index}].id", "the number of a filter of the lzma module", item["id"])
        object.__setattr__(self, "filters", [dict(item) for item in self.filters])

    def __hash__(self) -> int:
        return hash((self.name, self.format, self.check, self.preset))

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import lzma

        return lzma.compress(
            data, format=self.format, check=self.check, preset=self.preset, filters=self.filters
        )

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import lzma

        def start() -> lzma.LZMADecompressor:
            if self.format == lzma.FORMAT_RAW:
                return lzma.LZMADecompressor(self.format, filters=self.filters)
            return lzma.LZMADecompressor(self.format, memlimit=_LZMA_MEMORY_LIMIT)

        may_end_anywhere = self.format == lzma.FORMAT_RAW  # a raw stream has no end mark
        room = _room(data, spec, max_size)
        return _decompress(start, data, room, self.name, lzma.LZMAError, needs_end=not may_end_anywhere)


@dataclass(frozen=True)
class Base64(V2Config, BytesBytesCodec):
    """The bytes as text of 64 characters (RFC 4648)."""

    name: ClassVar[str] = "base64"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return -(-nbytes // 3) * 4

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        import base64

        return base64.standard_b64encode(data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        import base64

        try:
            return base64.b64decode(data, validate=True)
        except ValueError as error:
            raise ChunkDecodeError(f"not base64: {error}", codec=self.name) from error


def _without_default_location(codec: Crc32 | Crc32c) -> dict[str, Any]:
    """The configuration of a checksum; readers older than the option know no ``location``."""
    default = type(codec).location
    return {"id": codec.name} | ({} if codec.location == default else {"location": codec.location})


def _room(data: Buffer, spec: ArraySpec | None, max_size: int | None) -> int:
    return unbounded_room(data, spec) if max_size is None else max_size


def _decompress(
    start: Any,
    data: Buffer,
    max_size: int,
    codec: str,
    error_class: type[Exception],
    *,
    needs_end: bool = True,
) -> bytes:
    """Decompress one stream after the other, and never more than `max_size` bytes."""
    room = max_size
    parts: list[bytes] = []
    rest = bytes(data)
    while rest or not parts:
        stream = start()
        try:
            part = stream.decompress(rest, room + 1)
            while not stream.eof and not stream.needs_input and len(part) <= room:
                part += stream.decompress(b"", room + 1 - len(part))
        except (error_class, EOFError, ValueError) as error:
            raise ChunkDecodeError(str(error), codec=codec) from error
        if len(part) > room:
            raise ChunkDecodeError(f"decodes to more than the {max_size} bytes it may have", codec=codec)
        if needs_end and not stream.eof:
            raise ChunkDecodeError("the compressed stream is cut off", codec=codec)
        parts.append(part)
        room -= len(part)
        rest = stream.unused_data
    return b"".join(parts)


_ALLOW_PICKLE = "array.allow_unsafe_pickle_decode"


def _pickle(data: dict[str, Any]) -> Codec:
    from zarrcore.config import config

    if config.get(_ALLOW_PICKLE) is not True:
        raise PickleCodecDisabledError(
            f"the pickle codec is refused, because unpickling can run any code; got {describe(data)}.  "
            f"The setting {_ALLOW_PICKLE} allows it, for data that you trust"
        )
    from zarrcore.codecs.v2_pickle import Pickle

    with at(None, codec="pickle"):
        return Pickle.from_config(data)


def parse_v2_codec(data: object) -> Codec:
    """A codec of format 2 from its JSON object, a numcodecs codec or an instance.

    Raises
    ------
    UnknownCodecError
        If no codec has the id.
    PickleCodecDisabledError
        For the ``pickle`` codec, since decoding it can run any code, unless the setting
        ``array.allow_unsafe_pickle_decode`` is true.
    MetadataValidationError
        If the configuration is not valid.
    """
    from zarrcore.codecs.base import Codec

    if isinstance(data, Codec):
        if not hasattr(data, "get_config"):
            raise TypeError(f"expected a codec of format 2, got {data!r} of format 3")
        return data
    if not isinstance(data, dict) and callable(getattr(data, "get_config", None)):
        data = data.get_config()  # type: ignore[attr-defined]
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        fail(None, "an object with an id", data)
    name = data["id"]
    if name == "pickle":
        return _pickle(data)
    if name in compressor_registry:
        cls = compressor_registry.get(name)
        with at(None, codec=name):
            return cls.from_config(data)  # type: ignore[no-any-return]
    from zarrcore.codecs.foreign import ForeignFilter

    return ForeignFilter.from_config(data)
