"""Codecs and chunk key encodings that other packages have registered with zarr-python by entry points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import numpy as np
from zarr.abc import codec as abc
from zarr.core.array_spec import ArrayConfig
from zarr.core.array_spec import ArraySpec as TheirSpec
from zarr.core.buffer import cpu
from zarr.core.dtype import get_data_type_from_json as their_dtype

from zarrcore._records import dataclass
from zarrcore.codecs.base import ArrayArrayCodec, ArrayBytesCodec, ArraySpec, Buffer, BytesBytesCodec, Codec
from zarrcore.codecs.chain import parse_codec
from zarrcore.dtypes import get_data_type_from_json
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError, shown
from zarrcore.keys.base import ChunkKeyEncoding
from zarrcore.keys.standard import parse_chunk_key_encoding
from zarrcore.storage.loops import free_loop, run_to_end

_RUNTIME = {"runtime": True}  # no member of the configuration


def codec_class(theirs: Any, name: str, package: str) -> type[Codec]:
    """Return a class for `name` over a codec class of zarr-python's kind, from an installed package."""
    for base, ours in _BASES.items():
        if isinstance(theirs, type) and issubclass(theirs, base):
            return type(
                theirs.__name__,
                (ours,),
                {
                    "name": name,
                    "package": package,
                    "lender": theirs,
                    "is_fixed_size": bool(getattr(theirs, "is_fixed_size", False)),
                    "__module__": __name__,
                },
            )
    raise TypeError(f"{theirs!r} is no codec class of zarr-python")


def key_encoding_class(theirs: Any, name: str, package: str) -> type[ChunkKeyEncoding]:
    """Return a class for `name` over a chunk key encoding class of zarr-python's kind."""
    if not hasattr(theirs, "encode_chunk_key"):
        raise TypeError(f"{theirs!r} is no class of chunk key encodings of zarr-python")
    names = {"name": name, "package": package, "lender": theirs, "__module__": __name__}
    return type(theirs.__name__, (_LentKeys,), names)


class _Lent:
    """What is made from an object of zarr-python's kind, `theirs`, of a class that a package lends."""

    name: ClassVar[str]
    package: ClassVar[str]
    lender: ClassVar[Any]
    theirs: Any

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """Return an instance for a configuration, which the package checks."""
        document: dict[str, Any] = {"name": cls.name}
        if configuration:
            document["configuration"] = dict(configuration)
        try:
            return cls(cls.lender.from_dict(document))  # type: ignore[call-arg]
        except Exception as error:
            reason = f"{cls.name!r} of the package {cls.package} refuses it: {shown(error)}"
            raise MetadataValidationError(reason) from error

    def to_json(self) -> dict[str, Any]:
        """Return the extension object that the package writes."""
        written = dict(self.theirs.to_dict())
        return {"name": self.name, "configuration": written.get("configuration") or {}}


@dataclass(frozen=True)
class _LentCodec(_Lent):
    """What the three kinds of codecs share; `spec` and `their_spec` are known once the codec is resolved."""

    theirs: Any = field(metadata=_RUNTIME)
    spec: ArraySpec | None = field(default=None, compare=False, repr=False, metadata=_RUNTIME)
    their_spec: Any = field(default=None, compare=False, repr=False, metadata=_RUNTIME)

    def __reduce__(self) -> Any:
        return _codec_again, (self.to_json(), self.spec)

    def resolve(self, spec: ArraySpec) -> Self:
        """Return the codec for chunks of `spec`, which the package checks."""
        try:
            theirs = _their_spec(spec)
            evolved = self.theirs.evolve_from_array_spec(theirs)
        except Exception as error:
            reason = f"{self.name!r} of the package {self.package} cannot be used here: {shown(error)}"
            raise MetadataValidationError(reason) from error
        return replace(self, theirs=evolved, spec=spec, their_spec=theirs)

    def _spec(self, spec: ArraySpec | None) -> Any:
        known = spec is None or (self.spec is not None and self.spec.is_same(spec))
        return self.their_spec if known else _their_spec(spec)  # type: ignore[arg-type]

    def _call(self, name: str, data: Any, spec: ArraySpec | None) -> Any:
        """Encode or decode in this thread if the package can, else on a loop in another one."""
        theirs = self._spec(spec)
        in_place = getattr(self.theirs, f"_{name}_sync", None)
        try:
            if in_place is not None and getattr(self.theirs, "_sync_capable", True):
                found = in_place(data, theirs)
            else:
                call = getattr(self.theirs, name)
                (found,) = run_to_end(lambda: call([(data, theirs)]), free_loop())
            if found is None:
                raise ValueError("nothing was returned")
        except Exception as error:
            kind = ChunkEncodeError if name == "encode" else ChunkDecodeError
            raise kind(
                f"{self.name} of the package {self.package}: {shown(error)}", codec=self.name
            ) from error
        return found


def _codec_again(document: dict[str, Any], spec: ArraySpec | None) -> Codec:
    codec = parse_codec(document)
    return codec if spec is None else codec.resolve(spec)


class _LentArrayArray(_LentCodec, ArrayArrayCodec):
    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        found = self.theirs.resolve_metadata(self._spec(spec))
        dtype = get_data_type_from_json(found.dtype.to_json(zarr_format=3), zarr_format=3)
        return ArraySpec(tuple(found.shape), dtype, found.fill_value)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return _array(self._call("encode", _nd(chunk), spec))

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return _array(self._call("decode", _nd(chunk), spec))


class _LentArrayBytes(_LentCodec, ArrayBytesCodec):
    def encoded_size(self, spec: ArraySpec) -> int | None:
        if not self.is_fixed_size or spec.nbytes is None:
            return None
        return int(self.theirs.compute_encoded_size(spec.nbytes, self._spec(spec)))

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        return _bytes(self._call("encode", _nd(chunk), spec))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        return _array(self._call("decode", cpu.Buffer.from_bytes(bytes(data)), spec))


class _LentBytesBytes(_LentCodec, BytesBytesCodec):
    def encoded_size(self, nbytes: int) -> int:
        return int(self.theirs.compute_encoded_size(nbytes, self.their_spec))

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> Buffer:
        return _bytes(self._call("encode", cpu.Buffer.from_bytes(bytes(data)), None))

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> Buffer:
        return _bytes(self._call("decode", cpu.Buffer.from_bytes(bytes(data)), None))


_BASES: dict[type, type[Codec]] = {
    abc.ArrayArrayCodec: _LentArrayArray,
    abc.ArrayBytesCodec: _LentArrayBytes,
    abc.BytesBytesCodec: _LentBytesBytes,
}


@dataclass(frozen=True)
class _LentKeys(_Lent, ChunkKeyEncoding):
    theirs: Any = field(metadata=_RUNTIME)

    def __reduce__(self) -> Any:
        return parse_chunk_key_encoding, (self.to_json(),)

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.theirs.encode_chunk_key(coords)  # type: ignore[no-any-return]

    def decode(self, key: str) -> tuple[int, ...]:
        return tuple(self.theirs.decode_chunk_key(key))


def _their_spec(spec: ArraySpec) -> Any:
    """Return the specification of a chunk as zarr-python has it."""
    dtype: Any = their_dtype(spec.dtype.to_json(zarr_format=3), zarr_format=3)
    fill = dtype.default_scalar() if spec.fill is None else dtype.cast_scalar(spec.fill)
    return TheirSpec(spec.shape, dtype, fill, ArrayConfig.from_dict({}), cpu.buffer_prototype)


def _nd(chunk: np.ndarray) -> Any:
    return cpu.NDBuffer.from_numpy_array(chunk)


def _array(found: Any) -> np.ndarray:
    return found.as_numpy_array()  # type: ignore[no-any-return]


def _bytes(found: Any) -> Buffer:
    return found.to_bytes()  # type: ignore[no-any-return]
