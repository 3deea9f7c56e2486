"""The codec ``zarrs.vlen``: items of any length one after the other, and an index of where they begin.

The index has one entry more than the chunk has items: item ``i`` is the bytes from entry ``i`` to entry
``i + 1``.  Index and bytes have codecs of their own; the length of the encoded index, unsigned 64-bit
little-endian, stands with it at the start or the end of the chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import at, choice
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer, Codec
from zarrcore.codecs.bytes import BytesCodec
from zarrcore.codecs.chain import CodecChain, parse_codecs
from zarrcore.codecs.vlen import of_text, to_bytes
from zarrcore.config import config
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkError, MetadataValidationError

_LENGTH_NBYTES = 8


@dataclass(frozen=True, kw_only=True)
class VLenCodec(ArrayBytesCodec):
    """Items of any length, with an index that has codecs of its own (codec ``zarrs.vlen``).

    Parameters
    ----------
    index_codecs, data_codecs : iterable of (Codec or dict or str)
        The codecs of the index, and of the bytes of all items.
    index_data_type : {"uint64", "uint32"}
        The data type of the index.
    index_location : {"start", "end"}
        Where the index is.

    Examples
    --------
    >>> serializer = VLenCodec(data_codecs=["bytes", "zstd"])
    >>> array = zarrcore.create_array({}, shape=2, dtype="string", serializer=serializer, compressors=None)
    >>> array[:] = ["a", "long"]
    >>> array[:].tolist()
    ['a', 'long']
    """

    name: ClassVar[str] = "zarrs.vlen"
    index_codecs: tuple[Codec, ...] = (BytesCodec(endian="little"),)
    data_codecs: tuple[Codec, ...] = (BytesCodec(endian=None),)
    index_data_type: str = "uint64"
    index_location: str = "start"

    def __post_init__(self) -> None:
        for name in ("index_codecs", "data_codecs"):
            with at(name):
                object.__setattr__(self, name, parse_codecs(getattr(self, name)))
        choice(self.index_data_type, "index_data_type", ("uint32", "uint64"))
        choice(self.index_location, "index_location", ("start", "end"))

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        for name in ("index_codecs", "data_codecs", "index_data_type") if configuration else ():
            if name not in configuration:
                raise MetadataValidationError("is required and missing", where=name)
        return super().from_json(configuration)

    @property
    def held(self) -> tuple[Codec, ...]:
        """The codecs of index and data."""
        return (*self.index_codecs, *self.data_codecs)

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is not None:
            raise MetadataValidationError(
                f"the {self.name} codec needs items of variable length, the data type is {spec.dtype!r}"
            )
        with at("configuration.index_codecs"):
            index = CodecChain.from_codecs(self.index_codecs, self._index_spec(spec))
        with at("configuration.data_codecs"):
            data = CodecChain.from_codecs(self.data_codecs, _data_spec(spec.size))
        resolved = of_text(replace(self, index_codecs=index.codecs, data_codecs=data.codecs), spec)
        vars(resolved)["_chains"] = index, data
        return resolved

    def _both(self, spec: ArraySpec) -> tuple[CodecChain, CodecChain]:
        """Return the chains of index and data, which serve chunks of any shape."""
        chains: tuple[CodecChain, CodecChain] | None = vars(self).get("_chains")
        return vars(self.resolve(spec))["_chains"] if chains is None else chains

    def _index_spec(self, spec: ArraySpec) -> ArraySpec:
        from zarrcore.dtypes import UInt32, UInt64

        dtype = UInt32() if self.index_data_type == "uint32" else UInt64()
        return ArraySpec((spec.size + 1,), dtype, dtype.default_scalar())

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration alone, without the chains that are kept."""
        return {name: value for name, value in vars(self).items() if name != "_chains"}

    def check_values(self, values: np.ndarray) -> None:
        from zarrcore._core import vlen

        vlen.check(values, self.name, self._to_bytes, utf8=self.takes_text)

    def _to_bytes(self, item: Any) -> bytes:
        return to_bytes(item, is_text=self.takes_text)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        from zarrcore._core import vlen

        index_chain, data_chain = self._both(spec)
        begins, items = vlen.separated(
            vlen.encode(chunk, self.name, self._to_bytes, utf8=self.takes_text), spec.size
        )
        _check_size(len(items), ChunkEncodeError)
        index_spec = self._index_spec(spec)
        if len(items) > np.iinfo(index_spec.np_dtype).max:
            reason = f"an index of {self.index_data_type} cannot hold {len(items)}"
            raise ChunkEncodeError(reason, codec=self.name)
        index = index_chain.encode(begins.astype(index_spec.np_dtype), index_spec)
        octets = np.frombuffer(items, np.uint8)
        encoded = data_chain.encode(octets, _data_spec(octets.size)) if items else b""
        length = len(index).to_bytes(_LENGTH_NBYTES, "little")
        at_start = self.index_location == "start"
        return b"".join((length, index, encoded) if at_start else (encoded, index, length))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        from zarrcore._core import vlen

        index_chain, data_chain = self._both(spec)
        index, encoded = self._parts(memoryview(data).cast("B"))
        index_spec = self._index_spec(spec)
        begins = index_chain.decode(index, index_spec).astype(np.uint64)
        if (begins[1:] < begins[:-1]).any():
            raise ChunkDecodeError("the entries of the index do not ascend", codec=self.name)
        size = int(begins[-1])
        _check_size(size, ChunkDecodeError)
        items = np.zeros(0, np.uint8)
        if size:
            items = np.ascontiguousarray(data_chain.decode(encoded, _data_spec(size)))
        dtype = spec.np_dtype if self.takes_text else np.dtype(object)
        joined = vlen.interleaved(begins, items)
        found = vlen.decode(joined, spec.size, dtype, self.name, utf8=self.takes_text)
        return found.reshape(spec.shape)

    def _parts(self, view: memoryview) -> tuple[memoryview, memoryview]:
        """Return the encoded index and the encoded data."""
        room = len(view) - _LENGTH_NBYTES
        if room < 0:
            raise ChunkDecodeError(
                f"{len(view)} bytes cannot hold a length of {_LENGTH_NBYTES} bytes", codec=self.name
            )
        at_start = self.index_location == "start"
        length = int.from_bytes(view[:_LENGTH_NBYTES] if at_start else view[room:], "little")
        if length > room:
            raise ChunkDecodeError(f"an index of {length} bytes, there are {room}", codec=self.name)
        if at_start:
            return view[_LENGTH_NBYTES : _LENGTH_NBYTES + length], view[_LENGTH_NBYTES + length :]
        return view[room - length : room], view[: room - length]


def _check_size(nbytes: int, error_class: type[ChunkError]) -> None:
    """Refuse more bytes than a chunk may have: an index of a few bytes can state any number."""
    most = config.get("array.max_variable_chunk_bytes")
    if most is not None and nbytes > most:
        reason = f"the items have {nbytes} bytes, at most {most} are allowed"
        raise error_class(f"{reason} by the setting array.max_variable_chunk_bytes", codec=VLenCodec.name)


def _data_spec(size: int) -> ArraySpec:
    from zarrcore.dtypes import UInt8

    return ArraySpec((size,), UInt8(), np.uint8(0))
