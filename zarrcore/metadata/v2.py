"""Array metadata of format 2 (Zarr v2, "Arrays"), seen through the model of format 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from zarrcore._records import dataclass
from zarrcore._validate import at, choice, describe, fail, integer, sequence, shape
from zarrcore.codecs.base import ArraySpec, BytesBytesCodec, Codec
from zarrcore.codecs.chain import CodecChain, few
from zarrcore.codecs.filters import FilterChain, RawItems, item_size_after
from zarrcore.codecs.spelling import NumcodecsCodec
from zarrcore.codecs.v2 import parse_v2_codec
from zarrcore.dtypes import ZDType
from zarrcore.errors import MetadataValidationError
from zarrcore.grids import RegularGrid
from zarrcore.keys import ChunkKeyEncoding, V2ChunkKeyEncoding
from zarrcore.metadata import known
from zarrcore.metadata.common import ArrayMetadata, dump
from zarrcore.metadata.documents import ZARRAY_JSON, ZATTRS_JSON, parse_attributes

_STORAGE = ("chunks", "dtype", "compressor", "fill_value", "order", "filters", "dimension_separator")
_KNOWN = frozenset({"zarr_format", "shape", "attributes", *_STORAGE})


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayV2Metadata(ArrayMetadata):
    """Metadata of a format 2 array.

    Parameters
    ----------
    shape, chunks : tuple of int
        Shape of the array and of its chunks.
    dtype : ZDType
        Data type; its byte order is the stored one.
    fill_value : object or None
        Value of items that were never written; None leaves it open.
    order : {"C", "F"}
        Layout of the items of a chunk.
    filters : sequence of (Codec or dict), optional
        Codecs applied before the compressor.
    compressor : Codec or dict or None
        The last codec.
    dimension_separator : {".", "/"}
        What stands between the coordinates of a chunk key.
    attributes : dict, optional
        User attributes.
    extra_fields : dict, optional
        Further members of the ``.zarray`` document.  They mean nothing here, and are kept.

    Examples
    --------
    >>> metadata = zarrcore.zeros(4, store={}, zarr_format=2).metadata
    >>> isinstance(metadata, ArrayV2Metadata), metadata.to_dict()["dtype"]
    (True, '<f8')
    """

    zarr_format: ClassVar[int] = 2
    _shape_document: ClassVar[str] = ZARRAY_JSON
    _storage_members: ClassVar[tuple[str, ...]] = _STORAGE
    _optional_members: ClassVar[Mapping[str, type]] = {"attributes": dict}
    _known_members: ClassVar[frozenset[str]] = _KNOWN

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: ZDType
    fill_value: Any = None
    order: str = "C"
    filters: tuple[Any, ...] | None = None  # codecs, or objects like those of numcodecs
    compressor: Any = None
    dimension_separator: str = "."
    attributes: dict[str, Any] = field(default_factory=dict)
    extra_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = vars(self)
        self._parse_own()
        own["order"] = choice(self.order, "order", "CF")
        own["dimension_separator"] = choice(self.dimension_separator, "dimension_separator", "./")
        own["filters"] = _parse_filters(self.filters)
        own["compressor"] = _parse_compressor(self.compressor)
        if self.fill_value is not None:
            with at("fill_value"):
                own["fill_value"] = _storable(self.dtype, self.dtype.cast_scalar(self.fill_value))
        self._check_dtype_name()
        own["_chain"] = self._resolved()

    def _check_dtype_name(self) -> None:
        """Refuse a data type that the document would not say: it would be read as another one."""
        from zarrcore.dtypes import dtype_to_v2

        name = dtype_to_v2(self.dtype)
        read = _parse_dtype(name, self.filters, self.compressor)
        if read != self.dtype and not _is_read_as(self.dtype, read):
            raise MetadataValidationError(
                f"format 2 has no name for the data type {self.dtype!r}: {describe(name)} means {read!r}; "
                "use format 3",
                where="dtype",
            )

    def _parse_own(self) -> None:
        own = vars(self)
        own["shape"] = shape(self.shape, "shape")
        own["chunks"] = _parse_chunks(self.chunks, self.shape)
        own["attributes"] = parse_attributes(self.attributes)
        own["extra_fields"] = {name: item for name, item in self.extra_fields.items() if name not in _KNOWN}

    def _resolved(self) -> CodecChain:
        """Order, filters and compressor as a codec chain; memory has the stored byte order."""
        spec = ArraySpec(self.chunks, self.dtype, self.fill_scalar)
        arrays: tuple[Codec, ...] = ()
        if self.order == "F" and self.ndim > 1:
            from zarrcore.codecs.transpose import TransposeCodec

            arrays = (TransposeCodec(order=tuple(reversed(range(self.ndim)))),)
        first = len(self.own_codecs)  # from which on all are plainly bytes -> bytes
        while first and isinstance(self.own_codecs[first - 1], BytesBytesCodec):
            first -= 1
        filters, plain = self.own_codecs[:first], self.own_codecs[first:]
        serializer: Codec = RawItems()
        item_size = self.dtype.item_size or 1
        if filters:
            serializer = FilterChain(filters)
            item_size = item_size_after(filters, self.dtype.item_size)
        chain = (*arrays, serializer, *_sized(plain, item_size, self.dtype.item_size))
        try:
            make = known.chain_of if self._can_be_kept else CodecChain.from_codecs
            return make(chain, spec)
        except MetadataValidationError as error:  # its place is in the chain, which is not in the document
            raise MetadataValidationError(error.reason, where="chunks") from error.__cause__

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = ZARRAY_JSON) -> Self:
        """Parse a ``.zarray`` document, see :meth:`ArrayMetadata.from_dict`."""
        with at(key=where):
            integer(data.get("zarr_format"), "zarr_format", 2, 2)
            own = cls._own_members(data)
            filters = _parse_filters(data.get("filters"))
            compressor = _parse_compressor(data["compressor"])
            dtype = _parse_dtype(data["dtype"], filters, compressor)
            fill_value = _parse_fill_value(data["fill_value"], dtype)
            return cls(
                chunks=sequence(data["chunks"], "chunks"),
                dtype=dtype,
                fill_value=fill_value,
                order=data["order"],
                filters=filters,
                compressor=compressor,
                dimension_separator=data.get("dimension_separator", "."),
                **own,
            )

    @property
    def _can_be_kept(self) -> bool:  # type: ignore[override]
        # All but these compressors may be objects of other packages, which promise nothing.
        return self.filters is None and isinstance(self.compressor, (BytesBytesCodec, type(None)))

    @classmethod
    def from_document(
        cls, data: Mapping[str, Any], *, where: str | None = None, text: bytes | None = None
    ) -> Self:
        is_open = data.get("dimension_separator") is None
        metadata = super().from_document(data, where=where, text=None if is_open else text)
        if is_open:  # what `replace` makes of it, names one
            vars(metadata)["separator_is_open"] = True
        return metadata

    def to_dict(self) -> dict[str, Any]:
        """Return the ``.zarray`` document, with the ``.zattrs`` document under ``attributes``."""
        from zarrcore.dtypes import dtype_to_v2

        fill_value = self.fill_value
        if fill_value is not None:
            fill_value = self.dtype.to_json_scalar(fill_value, zarr_format=2)
        return {
            "shape": list(self.shape),
            "chunks": list(self.chunks),
            "dtype": dtype_to_v2(self.dtype),
            "fill_value": fill_value,
            "order": self.order,
            "filters": None if self.filters is None else [codec.get_config() for codec in self.filters],
            "dimension_separator": self.dimension_separator,
            "compressor": None if self.compressor is None else self.compressor.get_config(),
            "attributes": dict(self.attributes),
            "zarr_format": 2,
        } | self.extra_fields

    def to_documents(self) -> dict[str, bytes]:
        zarray = self.to_dict()
        attributes = zarray.pop("attributes")
        return dump(ZARRAY_JSON, zarray) | dump(ZATTRS_JSON, attributes)

    @cached_property
    def chunk_grid(self) -> RegularGrid:
        """The chunk grid."""
        return RegularGrid(self.chunks)

    @cached_property
    def chunk_key_encoding(self) -> ChunkKeyEncoding:
        """Chunk coordinates -> keys."""
        return V2ChunkKeyEncoding(self.dimension_separator)

    @cached_property
    def own_codecs(self) -> tuple[Codec, ...]:
        """The filters and the compressor."""
        return (*(self.filters or ()), *(() if self.compressor is None else (self.compressor,)))

    @property
    def data_type(self) -> ZDType:
        """The data type."""
        return self.dtype

    @property
    def shards(self) -> None:
        """Format 2 has no shards."""
        return None

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the metadata of the same array, resized to `shape`."""
        return self._with_shape(shape) if len(shape) == self.ndim else replace(self, shape=shape)


def _parse_chunks(chunks: object, array_shape: tuple[int, ...]) -> tuple[int, ...]:
    lengths = shape(chunks, "chunks")
    if len(lengths) != len(array_shape):
        fail("chunks", f"{len(array_shape)} lengths, as the shape has", list(lengths))
    for i, (length, of_array) in enumerate(zip(lengths, array_shape, strict=True)):
        if length == 0 and of_array != 0:
            fail(f"chunks[{i}]", "an integer of at least 1", 0)
    # Writers recorded chunks of length 0 along dimensions of length 0; there is no chunk to find in any case.
    return tuple(length or 1 for length in lengths)


def _parse_filters(filters: object) -> tuple[Codec, ...] | None:
    if filters is None:
        return None
    codecs = []
    with at("filters"):
        items = few(sequence(filters, None))
    for i, item in enumerate(items):
        with at(f"filters[{i}]"):
            codecs.append(parse_v2_codec(item))
    return tuple(codecs) or None  # the specification has null for "no filters", some writers have []


def _parse_compressor(compressor: object) -> Codec | None:
    if compressor is None:
        return None
    with at("compressor"):
        return parse_v2_codec(compressor)


def _is_read_as(dtype: ZDType, read: ZDType) -> bool:
    """Return whether both are one data type; of the two that stand for records each is read as the other."""
    from zarrcore.dtypes.structured import Struct, Structured

    if type(dtype) not in (Struct, Structured) or not isinstance(read, Structured):
        return dtype == read
    pairs = zip(dtype.fields, read.fields, strict=True)  # type: ignore[attr-defined]
    return all(name == other and _is_read_as(own, its) for (name, own), (other, its) in pairs)


def _parse_dtype(data: object, filters: tuple[Codec, ...] | None, compressor: Codec | None) -> ZDType:
    from zarrcore.dtypes import dtype_from_v2
    from zarrcore.dtypes.objects import object_codec_id

    codec_id = object_codec_id(codec.name for codec in (*(filters or ()), compressor) if codec is not None)
    with at("dtype"):
        return dtype_from_v2(data, codec_id)


def _storable(dtype: ZDType, fill_value: Any) -> Any:
    """Return a fill value as it will be read back: format 2 spells all NaNs alike, whatever their bits."""
    spelt = dtype.to_json_scalar(fill_value, zarr_format=2)
    has_nan = spelt == "NaN" or (isinstance(spelt, (list, tuple)) and "NaN" in spelt)
    return dtype.from_json_scalar(spelt, zarr_format=2) if has_nan else fill_value


def _parse_fill_value(data: Any, dtype: ZDType) -> Any:
    if data is None:
        return None
    with at("fill_value"):
        if isinstance(data, float) and not math.isfinite(data):
            # The bare tokens NaN and Infinity are no JSON, but the first writers of format 2 wrote them.
            if dtype.to_native_dtype().kind not in "fc":
                raise MetadataValidationError(f"expected a value of the data type {dtype!r}, got {data}")
            data = "NaN" if math.isnan(data) else ("Infinity" if data > 0 else "-Infinity")
        return dtype.from_json_scalar(data, zarr_format=2)


def _sized(codecs: tuple[Codec, ...], made: int, item_size: int | None) -> tuple[Codec, ...]:
    """`codecs` that shuffle, with the size of the items they get: `made` bytes for the first of them."""
    sized = []
    for codec in codecs:
        sized.append(codec.sized(made, item_size) if isinstance(codec, NumcodecsCodec) else codec)
        made = 1
    return tuple(sized)
