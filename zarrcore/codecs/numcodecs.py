"""The codecs of numcodecs in format 3, under the names ``numcodecs.*``.

They are no part of the specification; zarr-python writes them.  Those with a twin in the engine or the
standard library run there, the others need the package numcodecs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarrcore.codecs.foreign import numcodecs_codec
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.codecs.v2_filters import as_bytes
from zarrcore.errors import ChunkDecodeError, MetadataValidationError
from zarrcore.registry import NUMCODECS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = [*NUMCODECS.values()]


class _Configured:
    """Mixin: a codec that has whatever configuration its twin in format 2 takes."""

    name: ClassVar[str]
    from_items: ClassVar[tuple[str, ...]] = ()
    """Members that are taken from the data type where they are missing."""

    codec_config: dict[str, Any]

    def __init__(self, **codec_config: Any) -> None:
        codec_config.pop("id", None)
        self.codec_config = codec_config

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        codec = cls(**configuration)
        codec._check()
        return codec

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": dict(self.codec_config)}

    def _check(self) -> None:
        numcodecs_codec(self._config)

    @property
    def _config(self) -> dict[str, Any]:
        return {"id": self.name.removeprefix("numcodecs."), **self.codec_config}

    def _with(self, **configuration: Any) -> Self:
        """Return the codec with the members of `configuration` that it has not got, or has as null."""
        missing = {
            name: value for name, value in configuration.items() if self.codec_config.get(name) is None
        }
        return type(self)(**self.codec_config | missing) if missing else self

    def _missing(self) -> list[str]:
        return [member for member in self.from_items if self.codec_config.get(member) is None]

    def resolve(self, spec: ArraySpec) -> Self:
        return self._with(**dict.fromkeys(self._missing(), spec.np_dtype.str))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.codec_config == other.codec_config

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.codec_config)))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.codec_config.items())
        return f"{type(self).__name__}({arguments})"


class _Twin(_Configured):
    """Mixin: a codec that runs as its twin in format 2 does."""

    def __init__(self, **codec_config: Any) -> None:
        super().__init__(**codec_config)
        self._twin: Any = None

    def twin(self) -> Any:
        """Return the codec of format 2."""
        if self._twin is None:
            self._twin = parse_v2_codec(self._config)
        return self._twin

    def _check(self) -> None:
        parse_v2_codec(self._config | dict.fromkeys(self._missing(), "<f8"))


class _BytesBytes(_Twin, BytesBytesCodec):
    """A codec of format 2 that takes and makes bytes."""

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> Buffer:
        twin = self.twin()
        return as_bytes(
            twin.encode(data if isinstance(twin, BytesBytesCodec) else np.frombuffer(data, np.uint8))
        )

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> Buffer:
        twin = self.twin()
        if isinstance(twin, BytesBytesCodec):
            return twin.decode(data, spec, max_size)
        return as_bytes(twin.decode(data))

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        twin = self.twin()
        return twin.stage() if isinstance(twin, BytesBytesCodec) else None

    def max_input(self) -> int | None:
        twin = self.twin()
        return twin.max_input() if isinstance(twin, BytesBytesCodec) else None


class _Checksum(_BytesBytes):
    """Four bytes more than the input."""

    is_fixed_size = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4


class _ArrayArray(_Twin, ArrayArrayCodec):
    """A filter of format 2 that takes and makes items."""

    def resolve(self, spec: ArraySpec) -> Self:
        codec = super().resolve(spec)
        for member in self.from_items:
            taken = np.dtype(codec.codec_config[member])
            if taken.itemsize != spec.item_size:  # of the same size, it reinterprets them as numcodecs does
                raise MetadataValidationError(
                    f"takes items of the data type {taken.str!r}, but the items before it are {spec.dtype!r}",
                    where=f"configuration.{member}",
                )
        return codec

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        made = self.output_spec(spec)
        out = as_bytes(self.twin().encode(np.ascontiguousarray(chunk).reshape(-1), spec))
        return np.frombuffer(out, np.uint8).view(made.np_dtype).reshape(made.shape)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        out = as_bytes(self.twin().decode(np.ascontiguousarray(chunk).reshape(-1), spec))
        if len(out) != spec.nbytes:
            raise ChunkDecodeError(f"expected {spec.nbytes} bytes, got {len(out)}", codec=self.name)
        return np.frombuffer(out, np.uint8).view(spec.np_dtype).reshape(spec.shape)

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        lowered = self.twin().lowered(spec.np_dtype)
        return None if lowered is None else lowered[0]

    def _cast(self, spec: ArraySpec, dtype: Any) -> ArraySpec:
        from zarrcore.dtypes import parse_dtype

        if dtype is None:
            return spec
        made = parse_dtype(np.dtype(dtype), zarr_format=3)
        return replace(spec, dtype=made, fill=made.default_scalar())


class _ArrayBytes(_Configured, ArrayBytesCodec):
    """A compressor that knows the items."""

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        return as_bytes(numcodecs_codec(self._config).encode(np.ascontiguousarray(chunk)))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        out = np.asarray(numcodecs_codec(self._config).decode(bytes(data)))
        if out.nbytes != spec.nbytes:
            raise ChunkDecodeError(f"expected {spec.nbytes} bytes, got {out.nbytes}", codec=self.name)
        return out.reshape(-1).view(spec.np_dtype).reshape(spec.shape)


class Blosc(_BytesBytes):
    """The Blosc container format."""

    name = "numcodecs.blosc"


class LZ4(_BytesBytes):
    """The decoded size and one LZ4 block."""

    name = "numcodecs.lz4"


class Zstd(_BytesBytes):
    """Zstandard."""

    name = "numcodecs.zstd"


class Zlib(_BytesBytes):
    """DEFLATE in the zlib format."""

    name = "numcodecs.zlib"


class GZip(_BytesBytes):
    """DEFLATE in the gzip format."""

    name = "numcodecs.gzip"


class BZ2(_BytesBytes):
    """bzip2."""

    name = "numcodecs.bz2"


class LZMA(_BytesBytes):
    """LZMA and xz."""

    name = "numcodecs.lzma"


class Shuffle(_BytesBytes):
    """The first bytes of all items, then the second bytes, and so on."""

    name = "numcodecs.shuffle"
    is_fixed_size = True

    def resolve(self, spec: ArraySpec) -> Self:
        return self._with(elementsize=spec.item_size or 1)

    def check_input(self, nbytes: int) -> None:
        self.twin().check_input(nbytes)

    def encoded_size(self, nbytes: int) -> int:
        return nbytes


class CRC32(_Checksum):
    """CRC-32."""

    name = "numcodecs.crc32"


class CRC32C(_Checksum):
    """CRC-32C."""

    name = "numcodecs.crc32c"


class Adler32(_Checksum):
    """Adler-32."""

    name = "numcodecs.adler32"


class Fletcher32(_Checksum):
    """Fletcher-32, as HDF5 computes it."""

    name = "numcodecs.fletcher32"


class JenkinsLookup3(_Checksum):
    """Jenkins' lookup3, as HDF5 computes it."""

    name = "numcodecs.jenkins_lookup3"

    def to_json(self) -> dict[str, Any]:
        self.twin().get_config()  # complains of a prefix, which has no form in JSON
        return super().to_json()


class Delta(_ArrayArray):
    """Differences of neighbouring items."""

    name = "numcodecs.delta"
    from_items = ("dtype",)

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return self._cast(spec, self.codec_config.get("astype"))


class BitRound(_ArrayArray):
    """Floating-point items with fewer mantissa bits."""

    name = "numcodecs.bitround"
    is_elementwise = True

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.np_dtype.kind != "f":
            raise MetadataValidationError(
                f"takes floating-point numbers, but the items before it are {spec.dtype!r}"
            )
        return self


class FixedScaleOffset(_ArrayArray):
    """Items scaled, shifted and rounded."""

    name = "numcodecs.fixedscaleoffset"
    is_elementwise = True
    from_items = ("dtype",)

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return self._cast(spec, self.codec_config.get("astype"))


class Quantize(_ArrayArray):
    """Floating-point items with fewer decimal digits."""

    name = "numcodecs.quantize"
    is_elementwise = True
    from_items = ("dtype",)


class PackBits(_ArrayArray):
    """Eight Boolean items in a byte, after a byte that counts the bits that are left over."""

    name = "numcodecs.packbits"

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.np_dtype != np.dtype(bool):
            raise MetadataValidationError(f"expected the data type bool, got {spec.dtype!r}")
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return replace(self._cast(spec, "u1"), shape=(1 + -(-spec.size // 8),))


class AsType(_ArrayArray):
    """Items of another data type."""

    name = "numcodecs.astype"
    is_elementwise = True
    from_items = ("decode_dtype",)

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        return self._cast(spec, self.codec_config.get("encode_dtype"))


class PCodec(_ArrayBytes):
    """The pco compressor for numbers."""

    name = "numcodecs.pcodec"


class ZFPY(_ArrayBytes):
    """The ZFP compressor for floating-point arrays."""

    name = "numcodecs.zfpy"

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        from zarrcore.codecs.zfp import guarded

        return super().decode(guarded(data, spec.size, self.name), spec)
