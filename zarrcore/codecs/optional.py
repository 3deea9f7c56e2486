"""The codec ``zarrs.optional``: which items there are, and those that are.

A chunk is the lengths of the encoded mask and of the encoded data, unsigned 64-bit little-endian, then the
mask, one Boolean for each item of the chunk, and the data, the items that are there in one dimension.  Where
there are none, there are no bytes of data.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._validate import at
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer, Codec
from zarrcore.codecs.chain import CodecChain, parse_codecs
from zarrcore.codecs.packbits import PackBitsCodec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

_HEADER = Struct("<QQ")


@dataclass(frozen=True, kw_only=True)
class OptionalCodec(ArrayBytesCodec):
    """Items that may be missing: a mask, and the items that are there (codec ``zarrs.optional``).

    Parameters
    ----------
    mask_codecs : iterable of (Codec or dict or str)
        The codecs of the mask, an array of Booleans in the shape of the chunk.
    data_codecs : iterable of (Codec or dict or str), optional
        The codecs of the items that are there, in one dimension.  Default: what an array of them would have,
        without compression.

    Examples
    --------
    >>> serializer = OptionalCodec(data_codecs=[BytesCodec(), "zstd"])
    >>> dtype = zarrcore.dtype.Optional(item=zarrcore.dtype.Int32())
    >>> array = zarrcore.create_array({}, shape=2, dtype=dtype, serializer=serializer, compressors=None)
    >>> array[0] = (True, 5)
    >>> array[:].tolist()
    [(True, 5), (False, 0)]
    """

    name: ClassVar[str] = "zarrs.optional"
    mask_codecs: tuple[Codec, ...] = (PackBitsCodec(),)
    data_codecs: tuple[Codec, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("mask_codecs", "data_codecs"):
            given = getattr(self, name)
            if given is not None:
                with at(name):
                    object.__setattr__(self, name, parse_codecs(given))

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        for name in ("mask_codecs", "data_codecs") if configuration else ():
            if configuration.get(name) is None:
                raise MetadataValidationError("is required and missing", where=name)
        return super().from_json(configuration)

    @property
    def held(self) -> tuple[Codec, ...]:
        """The codecs of mask and data."""
        return (*self.mask_codecs, *(self.data_codecs or ()))

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.dtype._serializer != self.name:
            raise MetadataValidationError(
                f"the {self.name} codec needs a data type of the same name, the data type is {spec.dtype!r}"
            )
        data_spec = _data_spec(spec, spec.size)
        with at("configuration.mask_codecs"):
            mask = CodecChain.from_codecs(self.mask_codecs, _mask_spec(spec))
        with at("configuration.data_codecs"):
            given = _default_codecs(data_spec) if self.data_codecs is None else self.data_codecs
            data = CodecChain.from_codecs(given, data_spec)
        resolved = replace(self, mask_codecs=mask.codecs, data_codecs=data.codecs)
        vars(resolved).update(_chains=(mask, data), _dtype=spec.dtype)
        return resolved

    def _both(self, spec: ArraySpec) -> tuple[CodecChain, CodecChain]:
        """Return the chains of mask and data, which serve chunks of any shape."""
        chains: tuple[CodecChain, CodecChain] | None = vars(self).get("_chains")
        return vars(self.resolve(spec))["_chains"] if chains is None else chains

    def __getstate__(self) -> dict[str, Any]:
        """Return the configuration alone, without the chains that are kept."""
        return {name: value for name, value in vars(self).items() if name != "_chains"}

    def encoded_limit(self, spec: ArraySpec) -> int | None:
        if spec.nbytes is None:
            return None
        mask, data = self._both(spec)
        parts = mask.most_stored(_mask_spec(spec), 0), data.most_stored(_data_spec(spec, spec.size), 0)
        return _HEADER.size + sum(parts)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        mask_chain, data_chain = self._both(spec)
        if spec.item_size is None:
            mask, items = _split_objects(chunk, spec.dtype)
        else:
            mask = _is_set(chunk["valid"])
            items = chunk["value"][mask]
        stored = b""
        if items.size:
            stored = data_chain.encode(items, _data_spec(spec, items.size))
        encoded = mask_chain.encode(mask, _mask_spec(spec))
        return b"".join((_HEADER.pack(len(encoded), len(stored)), encoded, stored))

    def check_values(self, values: np.ndarray) -> None:
        dtype = vars(self).get("_dtype")
        if dtype is not None:
            _split_objects(values, dtype)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        view = memoryview(data).cast("B")
        if len(view) < _HEADER.size:
            raise ChunkDecodeError(f"{len(view)} bytes cannot hold two lengths of 8 bytes", codec=self.name)
        n_mask, n_data = _HEADER.unpack(view[: _HEADER.size])
        if len(view) != _HEADER.size + n_mask + n_data:
            found = len(view) - _HEADER.size
            raise ChunkDecodeError(
                f"expected a mask of {n_mask} and data of {n_data} bytes, there are {found}", codec=self.name
            )
        mask_chain, data_chain = self._both(spec)
        start = _HEADER.size + n_mask
        mask = _is_set(mask_chain.decode(view[_HEADER.size : start], _mask_spec(spec)))
        items, count = None, int(np.count_nonzero(mask))
        if count:
            items = data_chain.decode(view[start:], _data_spec(spec, count))
        return _joined(mask, items, spec)


def _mask_spec(spec: ArraySpec) -> ArraySpec:
    from zarrcore.dtypes import Bool

    return ArraySpec(spec.shape, Bool(), np.False_)


def _data_spec(spec: ArraySpec, count: int) -> ArraySpec:
    item: Any = spec.dtype.item  # type: ignore[attr-defined]
    if item.item_size is None:
        return ArraySpec((count,), item, item.default_scalar())
    return ArraySpec((count,), item, np.zeros((), item.to_native_dtype())[()])


def _default_codecs(spec: ArraySpec) -> tuple[Codec, ...]:
    """Return the codecs of items that were given none."""
    from zarrcore.codecs.bytes import BytesCodec

    own = spec.dtype._serializer or getattr(spec.dtype, "object_codec_id", None)
    return (BytesCodec(),) if own is None else parse_codecs([own])


def _is_set(mask: np.ndarray) -> np.ndarray:
    """Return a mask of Booleans, whatever bytes but 0 stand for true."""
    return np.asarray(mask.view(np.uint8) != 0)


def _split_objects(chunk: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which items of a chunk there are, and those in one dimension."""
    from zarrcore._core import vlen

    flat, native = chunk.ravel(), dtype.item.to_native_dtype()
    mask = np.fromiter((item is not None for item in flat.tolist()), bool, flat.size)
    there = flat[mask]
    if native.kind == "T" and vlen.all_text(there):
        return mask.reshape(chunk.shape), there.astype(native)
    is_nested = dtype.item._serializer is not None
    items = np.empty(there.size, native)
    for i, item in enumerate(map(dtype.cast_scalar, there.tolist())):  # NumPy would look into tuples
        items[i] = item[0] if is_nested else item
    return mask.reshape(chunk.shape), items


def _joined(mask: np.ndarray, items: np.ndarray | None, spec: ArraySpec) -> np.ndarray:
    """Return the chunk of the items that there are, in the places that a mask marks."""
    if spec.item_size is not None:
        chunk = np.zeros(spec.shape, spec.np_dtype)
        chunk["valid"] = mask
        if items is not None:
            chunk["value"][mask] = items
        return chunk
    flat = np.full(spec.size, None, object)
    is_nested = spec.dtype.item._serializer is not None  # type: ignore[attr-defined]
    places = np.flatnonzero(mask).tolist()
    for place, item in zip(places, [] if items is None else items.tolist(), strict=True):
        flat[place] = (item,) if is_nested else item
    return flat.reshape(spec.shape)
