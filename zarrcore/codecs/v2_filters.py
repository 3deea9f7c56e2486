"""The filters of format 2: what stands between the chunk and its compressor.

A filter of format 2 takes and makes buffers that may know their items: the chunk as a flat array in storage
order, or bytes.  All filters of an array up to the last that is not plainly bytes -> bytes make up one
array -> bytes codec, :class:`FilterChain`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import fail, integer, known_keys
from zarrcore.codecs.base import ArrayBytesCodec, BytesBytesCodec, Codec
from zarrcore.codecs.bytes import from_bytes
from zarrcore.codecs.chain import run_codec
from zarrcore.codecs.v2_config import V2Config
from zarrcore.codecs.vlen import (
    decode_binary,
    decode_binary_into,
    decode_strings,
    decode_strings_into,
    encode_binary,
    encode_strings,
)
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = [
    "Delta",
    "Filter",
    "FilterChain",
    "Shuffle",
    "VLenBytes",
    "VLenUTF8",
    "as_bytes",
    "converted",
    "dtype_name",
    "item_size_after",
    "items_of",
    "number",
    "require_kind",
]

# Name and configuration of a stage of the engine, and the data type of what it makes.
Lowered = tuple[tuple[str, dict[str, Any]], "np.dtype[Any]"]


class Filter(V2Config, Codec):
    """Base class of the filters of format 2 that are not plainly bytes -> bytes."""

    def encode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        """Encode a flat array or bytes."""
        raise NotImplementedError(f"filter {self.name!r} cannot encode")

    def decode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        """Decode to a flat array or bytes; `spec` is the chunk that all filters together decode to."""
        raise NotImplementedError(f"filter {self.name!r} cannot decode")

    def decode_into(self, data: Any, out: np.ndarray) -> bool:
        """Decode into an array of the chunk's shape; False if nothing was done."""
        return False

    def check_items(self, spec: ArraySpec) -> None:
        """Refuse the items of a chunk that no filter has changed yet, if the filter cannot take them.

        Raises
        ------
        MetadataValidationError
            If the data type is not one for this filter.
        """

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        """The filter of items of `dtype` for the chunk engine; None if only Python can run it."""
        return None


@dataclass(frozen=True)
class VLenUTF8(Filter):
    """Strings of any length as UTF-8."""

    name: ClassVar[str] = "vlen-utf8"

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "TOU", self.name, "strings")
        _require_own(spec, self.name)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        return encode_strings(np.asarray(data), self.name)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        chunk = _known(spec, self.name)
        return decode_strings(as_bytes(data), chunk.size, chunk.np_dtype, self.name)

    def decode_into(self, data: Any, out: np.ndarray) -> bool:
        return decode_strings_into(as_bytes(data), out, self.name)


@dataclass(frozen=True)
class VLenBytes(Filter):
    """Byte strings of any length."""

    name: ClassVar[str] = "vlen-bytes"

    def check_items(self, spec: ArraySpec) -> None:
        if not _is_raw(spec.np_dtype):  # zarr-python 2 stores all bytes of these
            require_kind(spec, "OS", self.name, "byte strings")
        _require_own(spec, self.name)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        items = np.asarray(data)
        return encode_binary(items.astype(object) if _is_raw(items.dtype) else items, self.name)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        return decode_binary(as_bytes(data), _known(spec, self.name).size, self.name)

    def decode_into(self, data: Any, out: np.ndarray) -> bool:
        return decode_binary_into(as_bytes(data), out, self.name)


@dataclass(frozen=True)
class Shuffle(V2Config, BytesBytesCodec):
    """The first bytes of all items, then the second bytes, and so on.

    Parameters
    ----------
    elementsize : int
        Bytes of an item.  NCZarr writes 0 for the item size of the data type.

    Notes
    -----
    Bytes after the last whole item are read where HDF5 leaves them, at the end.  They are not written, since
    numcodecs refuses to read them.
    """

    name: ClassVar[str] = "shuffle"
    is_fixed_size: ClassVar[bool] = True
    elementsize: int = 4
    itemsize: int | None = None

    def __post_init__(self) -> None:
        integer(self.elementsize, "elementsize", 0, 2**31 - 1)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        known_keys(config, ("id", "elementsize"))
        return cls(config.get("elementsize", 4))

    def get_config(self) -> dict[str, Any]:
        return {"id": self.name, "elementsize": self.elementsize}

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        return replace(self, itemsize=self.elementsize or item_size or 1)

    def resolve(self, spec: ArraySpec) -> Self:
        return self.sized(1, spec.item_size)

    def encoded_size(self, nbytes: int) -> int:
        return nbytes

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        return self.name, {"elementsize": self._width}

    def check_input(self, nbytes: int) -> None:
        if nbytes % self._width:
            raise MetadataValidationError(self._rest(nbytes))

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        items, rest = self._split(data)
        if rest.size:
            raise ChunkEncodeError(self._rest(items.size + rest.size), codec=self.name)
        return items.reshape(-1, self._width).T.tobytes()

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        items, rest = self._split(data)
        return items.reshape(self._width, -1).T.tobytes() + rest.tobytes()

    @property
    def _width(self) -> int:
        return self.itemsize or self.elementsize or 1

    def _rest(self, nbytes: int) -> str:
        return f"elementsize: {nbytes} bytes are no whole number of items of {self._width} bytes"

    def _split(self, data: Buffer) -> tuple[np.ndarray, np.ndarray]:
        octets = np.frombuffer(data, np.uint8)
        whole = octets.size - octets.size % self._width
        return octets[:whole], octets[whole:]


@dataclass(frozen=True)
class Delta(Filter):
    """The first item, then the difference of each item from the one before it.

    Parameters
    ----------
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the differences.  Default: `dtype`.

    Notes
    -----
    Of Booleans it is whether they differ, as numcodecs stores it.  They come back as they were; numcodecs
    makes all of them true from the first one on that is.
    """

    name: ClassVar[str] = "delta"
    dtype: str
    astype: str | None = None

    def __post_init__(self) -> None:
        for name in ("dtype", "astype"):
            value = getattr(self, name)
            if value is not None or name == "dtype":
                object.__setattr__(self, name, dtype_name(value, name, "biufcmM"))
        if self.astype is None:
            object.__setattr__(self, "astype", self.dtype)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = items_of(data, np.dtype(self.dtype))
        out = np.empty(items.size, self.astype)
        if items.dtype.kind + out.dtype.kind in _NO_DIFFERENCES:
            raise TypeError(f"no differences of {items.dtype} as {out.dtype}")
        if items.size:
            out[:1] = converted(items[:1], out.dtype)
            both_integers = items.dtype.kind in "iu" and out.dtype.kind in "iu"
            if both_integers and out[:1].astype(items.dtype) != items[:1]:
                raise OverflowError(f"item 0, {items[0]}, does not fit into {out.dtype}")
            out[1:] = converted(np.diff(items), out.dtype)  # of Booleans: whether they differ
        return out

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        differences = items_of(data, np.dtype(self.astype))
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return np.logical_xor.accumulate(differences.astype(bool), dtype=bool)
        if differences.dtype.kind == "m":
            sums = differences.dtype
        elif dtype.kind == "m" or (dtype.kind in "iu" and differences.dtype.kind in "iu"):
            sums = dtype
        else:
            sums = np.result_type(dtype, differences.dtype)
        with np.errstate(all="ignore"):
            return converted(np.cumsum(differences, dtype=sums), dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        kinds = number(self.dtype), number(self.astype)
        if None in kinds:
            return None
        return (self.name, {"dtype": kinds[0], "astype": kinds[1]}), np.dtype(self.astype)


# Kinds of items and differences that numcodecs cannot encode, or not decode.
_NO_DIFFERENCES = frozenset(
    [*(f"M{kind}" for kind in "biufcmM"), *(f"{kind}M" for kind in "biufcm")]
    + [*(f"m{kind}" for kind in "ifc"), *(f"{kind}m" for kind in "fc")]
)


# --- the array -> bytes codec that filters make up ---


@dataclass(frozen=True)
class FilterChain(ArrayBytesCodec):
    """Filters of format 2, applied one after the other to the flat chunk.

    Parameters
    ----------
    filters : tuple of Codec
        In the order in which they encode.
    """

    name: ClassVar[str] = "filters"
    filters: tuple[Codec, ...]

    def resolve(self, spec: ArraySpec) -> Self:
        first, *others = self.filters
        if isinstance(first, Filter):
            first.check_items(spec)
        for codec in others:
            if isinstance(codec, (VLenUTF8, VLenBytes)):
                raise MetadataValidationError(f"the {codec.name} filter must be the first of the filters")
        return replace(self, filters=tuple(codec.resolve(spec) for codec in self.filters))

    def encoded_limit(self, spec: ArraySpec) -> int | None:
        # What the filters make of the items is not known; none makes more than 16 bytes of one byte.
        return None if spec.nbytes is None else 16 * spec.nbytes + (1 << 16)

    @property
    def takes_text(self) -> bool:  # type: ignore[override]
        return isinstance(self.filters[0], VLenUTF8)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        # Strings of an equal data type would be copied all the same.
        same = chunk.dtype == spec.np_dtype or (chunk.dtype.kind in "OU" and self.takes_text)
        data: Any = np.ascontiguousarray(chunk, None if same else spec.np_dtype).reshape(-1)
        for codec in self.filters:
            if isinstance(codec, BytesBytesCodec):
                data = as_bytes(data)
            data = run_codec(codec, ChunkEncodeError, codec.encode, data, spec)  # type: ignore[attr-defined]
        if isinstance(data, np.ndarray) and data.dtype.hasobject:
            raise TypeError("no filter turns the objects into bytes")
        return bytes(as_bytes(data))

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        found: Any = data
        for codec in reversed(self.filters):
            limit: tuple[Any, ...] = ()
            if isinstance(codec, BytesBytesCodec):
                found, limit = as_bytes(found), (self.encoded_limit(spec),)
            found = run_codec(codec, ChunkDecodeError, codec.decode, found, spec, *limit)  # type: ignore[attr-defined]
        return run_codec(self.filters[0], ChunkDecodeError, _chunk, found, spec)  # type: ignore[no-any-return]

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        only = self.filters[0] if len(self.filters) == 1 else None
        return isinstance(only, Filter) and only.decode_into(data, out)

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        links: list[Any] = [("bytes", 0)]
        dtype = spec.np_dtype
        for codec in self.filters:
            if isinstance(codec, BytesBytesCodec):
                lowered = codec.stage(), np.dtype("u1")
            else:
                lowered = codec.lowered(dtype)  # type: ignore[attr-defined]
            if lowered is None or lowered[0] is None:
                return None
            links.append(("stage", *lowered[0]))
            dtype = lowered[1]
        return tuple(links)


def item_size_after(filters: tuple[Codec, ...], item_size: int | None) -> int:
    """Bytes of the items that `filters` make of items of `item_size` bytes, 1 where that is not known."""
    for codec in filters:
        if isinstance(codec, BytesBytesCodec):
            item_size = 1
            continue
        if codec.name == "bitround":
            continue
        config = codec.get_config()  # type: ignore[attr-defined]
        made = config.get("astype") or config.get("encode_dtype") or config.get("dtype")
        item_size = np.dtype(made).itemsize if isinstance(made, str) else 1
    return item_size or 1


def _chunk(found: Any, spec: ArraySpec) -> np.ndarray:
    """What the filters decoded to as a chunk of `spec`."""
    dtype = spec.np_dtype
    if isinstance(found, np.ndarray) and (found.dtype.hasobject or found.dtype.kind == "T"):
        if found.size != spec.size:
            raise ChunkDecodeError(f"expected {spec.size} items, got {found.size}")
        chunk = found.reshape(spec.shape)
        if dtype.kind in "SV" and found.size and max(map(len, found)) > dtype.itemsize:
            raise ChunkDecodeError(f"an item has more than the {dtype.itemsize} bytes of the data type")
        # astype would copy strings even with copy=False.
        return chunk if chunk.dtype == dtype else chunk.astype(dtype)
    if dtype.hasobject or dtype.kind == "T":
        raise ChunkDecodeError("no filter turns the bytes into objects")
    return from_bytes(as_bytes(found), dtype, spec)


def as_bytes(data: Any) -> memoryview:
    """A flat array or bytes-like object as bytes."""
    if isinstance(data, np.ndarray):
        if data.dtype.hasobject:
            raise TypeError("objects where bytes are needed")
        data = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def items_of(data: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """A flat array or bytes-like object as items of `dtype`."""
    octets = as_bytes(data)
    if len(octets) % dtype.itemsize:
        raise ValueError(f"{len(octets)} bytes are no whole number of items of {dtype}")
    return np.frombuffer(octets, np.uint8).view(dtype)


def _known(spec: ArraySpec | None, codec: str) -> ArraySpec:
    if spec is None:
        raise TypeError(f"the {codec} filter needs to know the chunk")
    return spec


def require_kind(spec: ArraySpec, kinds: str, codec: str, what: str) -> None:
    """Refuse items whose data type NumPy counts to none of `kinds`."""
    if spec.np_dtype.kind not in kinds:
        raise MetadataValidationError(f"the {codec} filter takes {what}, the data type is {spec.dtype!r}")


def _is_raw(dtype: np.dtype[Any]) -> bool:
    """Whether items are bytes without a meaning."""
    return dtype.type is np.void and dtype.names is None


def _require_own(spec: ArraySpec, codec: str) -> None:
    """Refuse items of variable length that another codec gives their meaning."""
    own = getattr(spec.dtype, "object_codec_id", None)
    if own not in (None, codec):
        raise MetadataValidationError(f"the data type {spec.dtype!r} goes with the {own} filter, not {codec}")


def dtype_name(value: Any, where: str, kinds: str) -> str:
    """The name of the data type `value`, checked to be of one of `kinds`."""
    if not isinstance(value, (str, np.dtype, type)):  # NumPy takes None for float64
        fail(where, "the name of a NumPy data type", value)
    try:
        dtype = np.dtype(value)
    except TypeError as error:
        raise MetadataValidationError(f"expected a NumPy data type, got {value!r}", where=where) from error
    if dtype.kind not in kinds:
        raise MetadataValidationError(f"expected a data type of numbers, got {value!r}", where=where)
    return str(dtype.str)


def number(dtype: Any) -> str | None:
    """The name of `dtype` if the engine's filters take such numbers, else None."""
    dtype = np.dtype(dtype)
    known = dtype.kind in "biu" or dtype.str[1:] in ("f2", "f4", "f8", "c8", "c16")
    return str(dtype.str) if known else None


def converted(items: np.ndarray, dtype: str | np.dtype[Any]) -> np.ndarray:
    """`items` as `dtype`, complex ones without a warning that their imaginary parts are lost."""
    if items.dtype.kind == "c" and np.dtype(dtype).kind in "iuf":
        items = items.real
    with np.errstate(all="ignore"):
        return items.astype(dtype, copy=False)
