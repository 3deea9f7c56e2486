"""Structured data types: items made of named fields."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typing import JSON, DTypeJSON, ZarrFormat
from zarrcore._validate import MAX_DEPTH, describe
from zarrcore.dtypes.base import HasItemSize, HasObjectCodec, ZDType, check_item_size
from zarrcore.dtypes.layout import check_swap_fields, scalar_to_bytes
from zarrcore.dtypes.registry import data_type_registry
from zarrcore.dtypes.scalars import bytes_from_json, bytes_to_json, is_integer, is_zero, unboxed
from zarrcore.dtypes.spelling import TOO_DEEP, check_dtype_spec_no_object_codec_v2, check_nesting, type_string
from zarrcore.errors import DataTypeValidationError

Field = tuple[str, ZDType[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class SubArray(ZDType[Any, Any], HasItemSize, name="sub_array"):
    """A field that is an array of fixed shape (format 2 only: the third element of a field).

    Parameters
    ----------
    item : ZDType
        The data type of the elements.
    shape : tuple of int
        The shape of every such array.

    Examples
    --------
    >>> zdtype = Struct(fields=(("matrix", SubArray(item=Float64(endianness="little"), shape=(2, 2))),))
    >>> zdtype.to_json(zarr_format=2)["name"]
    [['matrix', '<f8', [2, 2]]]
    """

    item: ZDType[Any, Any]
    shape: tuple[int, ...]

    dtype_cls = np.dtypes.VoidDType

    def __post_init__(self) -> None:
        if not self.shape or not all(is_integer(n) and n > 0 for n in self.shape) or len(self.shape) > 32:
            raise DataTypeValidationError(
                f"a sub-array needs a shape of positive lengths, got {self.shape!r}"
            )
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))
        check_item_size(math.prod(self.shape) * _size_of(self.item))

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return dtype.subdtype is not None

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        return cls(item=data_type_registry.match_dtype(dtype.base), shape=dtype.shape)

    def to_native_dtype(self) -> Any:
        return np.dtype((self.item.to_native_dtype(), self.shape))

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        raise cls._reject_json(data, "to be a field of a structured data type")

    _from_json_v3 = _from_json_v2

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        raise DataTypeValidationError(
            f"Zarr format {zarr_format} has no form for items that are arrays, of shape {self.shape}: "
            "make it an array of its own, or take zarr_format=2, whose records may have such fields"
        )

    def _each(self, data: Any, convert: Any) -> Any:
        """Return an array of what `convert` makes of the elements of `data`, nested sequences or an array."""
        dtype = self.item.to_native_dtype()
        if is_zero(data):
            return np.frombuffer(bytes(self.item_size), dtype=dtype).reshape(self.shape)
        items = b"".join(scalar_to_bytes(self.item, convert(item)) for item in self._flat(data, self.shape))
        return np.frombuffer(items, dtype=dtype).reshape(self.shape)

    def _flat(self, data: Any, shape: tuple[int, ...]) -> Iterable[Any]:
        if not shape:
            return (data,)
        if not isinstance(data, (list, tuple, np.ndarray)) or len(data) != shape[0]:
            raise self._reject_scalar(data, f"an array of shape {self.shape}")
        return (item for part in data for item in self._flat(part, shape[1:]))

    def cast_scalar(self, data: object) -> Any:
        return self._each(data, self.item.cast_scalar)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        return self._each(data, lambda item: self.item.from_json_scalar(item, zarr_format=zarr_format))

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> JSON:
        array = self.cast_scalar(data)
        flat = [self.item.to_json_scalar(item, zarr_format=zarr_format) for item in array.reshape(-1)]
        for length in reversed(self.shape[1:]):
            flat = [flat[start : start + length] for start in range(0, len(flat), length)]
        return flat

    @property
    def item_size(self) -> int:
        return math.prod(self.shape) * _size_of(self.item)

    def _in_native_order(self) -> Self:
        return replace(self, item=self.item._in_native_order())


@dataclass(frozen=True, kw_only=True)
class Structured(ZDType[Any, np.void], HasItemSize, name="structured"):
    """Items of named fields, one after another without padding (``structured``, format 2: a list of fields).

    Parameters
    ----------
    fields : tuple of (str, ZDType)
        Name and data type of each field.

    Notes
    -----
    ``structured`` is the name that early versions of zarr-python 3 wrote in format 3.  It is read, and arrays
    that have it keep it; new arrays get :class:`Struct`.

    Examples
    --------
    >>> zdtype = Structured(fields=(("x", Float32()), ("n", UInt8())))
    >>> zdtype.to_json(zarr_format=3)
    {'name': 'structured', 'configuration': {'fields': [['x', 'float32'], ['n', 'uint8']]}}
    """

    fields: tuple[Field, ...]

    dtype_cls = np.dtypes.VoidDType
    _v2_kinds: ClassVar[tuple[str, ...] | None] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple((name, dtype) for name, dtype in self.fields))
        names = [name for name, _ in self.fields]
        if not names:
            raise DataTypeValidationError("a structured data type must have at least one field")
        for name in names:
            if not isinstance(name, str) or not name:
                raise DataTypeValidationError(
                    f"the name of a field must be a string and not empty, got {describe(name)}"
                )
        if len(set(names)) != len(names):
            raise DataTypeValidationError(f"the names of the fields are not distinct: {describe(names)}")
        if _levels(self) > MAX_DEPTH:
            raise DataTypeValidationError(TOO_DEEP)
        check_item_size(sum(_size_of(dtype) for _, dtype in self.fields))
        check_swap_fields(self)

    # --- native dtypes

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return dtype.type is np.void and dtype.names is not None

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        """Return the data type with the fields of `dtype`; padding between them is left out."""
        assert dtype.names is not None and dtype.fields is not None
        fields = []
        for name in dtype.names:
            native, _, *title = dtype.fields[name]  # pyright: ignore[reportArgumentType]
            if title:
                raise DataTypeValidationError(
                    f"field {name!r} of {dtype} has a title, which Zarr cannot store"
                )
            in_field = SubArray.from_native_dtype if native.subdtype else data_type_registry.match_dtype
            with _field(name):
                if native.kind == "O":
                    raise DataTypeValidationError(
                        "the NumPy dtype object does not determine the items, which have a fixed size in "
                        "a field: convert it, for example to 'U8' for strings (in pandas: "
                        f"frame.to_records(index=False, column_dtypes={{{name!r:.80}: 'U8'}}))"
                    )
                fields.append((name, in_field(native)))
        return cls(fields=tuple(fields))

    def to_native_dtype(self) -> Any:
        return np.dtype([(name, dtype.to_native_dtype()) for name, dtype in self.fields])

    # --- metadata

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if not check_dtype_spec_no_object_codec_v2(data) or isinstance(data["name"], str):
            raise cls._reject_json(data, "a list of fields [name, data type] or [name, data type, shape]")
        return cls(
            fields=tuple(_field_from_json_v2(index, *field) for index, field in enumerate(data["name"]))
        )

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        check_nesting(data)
        if not isinstance(data, Mapping) or data.get("name") not in ("struct", "structured"):
            raise cls._reject_json(
                data, f"an object with the name {cls._zarr_v3_name!r} and a list of fields"
            )
        configuration = data.get("configuration")
        if not isinstance(configuration, Mapping) or set(configuration) != {"fields"}:
            raise cls._reject_json(data, "a configuration with the member 'fields' only")
        if not isinstance(configuration["fields"], (list, tuple)):
            raise cls._reject_json(data, "a list of fields")
        return cls(fields=tuple(_field_from_json_v3(field) for field in configuration["fields"]))

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 2:
            return {"name": [_field_to_json_v2(*field) for field in self.fields], "object_codec_id": None}
        return {"name": self._zarr_v3_name, "configuration": {"fields": self._fields_v3()}}

    def _fields_v3(self) -> list[Any]:
        return [list(field) for field in self._named_v3()]

    def _named_v3(self) -> Iterator[tuple[str, Any]]:
        for name, dtype in self.fields:
            with _field(name):
                yield name, dtype.to_json(zarr_format=3)

    # --- scalars

    def _join(self, values: Iterable[Any]) -> np.void:
        """Return the item with these field values, joined as bytes so that every NaN keeps its bits."""
        parts = (scalar_to_bytes(dtype, value) for (_, dtype), value in zip(self.fields, values, strict=True))
        return self._item(b"".join(parts))

    def _item(self, data: bytes) -> np.void:
        if len(data) != self.item_size:
            raise self._reject_range(data, f"{self.item_size} bytes, got {len(data)}")
        item: np.void = np.frombuffer(data, dtype=self.to_native_dtype())[0]
        return item

    def _values(self, data: Any) -> list[Any]:
        """Return the field values in `data`: a mapping by name, a sequence or an item by position."""
        names = [name for name, _ in self.fields]
        if isinstance(data, Mapping):
            unknown = set(data) - set(names)
            if unknown:
                raise self._reject_scalar(data, f"no other fields than {names}")
            return [data.get(name, 0) for name in names]
        if isinstance(data, np.void) and data.dtype.names is not None:
            data = [data[name] for name in data.dtype.names]
        if not isinstance(data, (list, tuple)) or len(data) != len(names):
            raise self._reject_scalar(data, f"a value for each of the fields {names}")
        return list(data)

    def cast_scalar(self, data: object) -> np.void:
        """Return `data`, values by field or the bytes of an item, with every field cast; 0 is all zeros."""
        data = unboxed(data)
        if is_zero(data):
            return self._item(bytes(self.item_size))
        if isinstance(data, np.void) and data.dtype == self.to_native_dtype():
            return self._item(data.tobytes())
        if isinstance(data, (bytes, bytearray)):
            return self._item(bytes(data))
        pairs = zip(self.fields, self._values(data), strict=True)
        return self._join(
            _zero(dtype) if is_zero(value) else dtype.cast_scalar(value) for (_, dtype), value in pairs
        )

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.void:
        """Read `data`: base64 of the item's bytes (little-endian in `zarr_format` 3), or values by field."""
        if isinstance(data, str):
            item = self._item(bytes_from_json(self, data))
            if zarr_format == 2:
                return item
            stored = np.frombuffer(item.tobytes(), dtype=item.dtype.newbyteorder("<"))
            return self._item(stored.astype(self.to_native_dtype()).tobytes())
        if zarr_format == 2 and is_zero(data):
            return self.default_scalar()
        values = zip(self.fields, self._values(data), strict=True)
        absent = {name for name, _ in self.fields if name not in data} if isinstance(data, Mapping) else ()
        return self._join(
            _zero(dtype) if name in absent else dtype.from_json_scalar(value, zarr_format=zarr_format)
            for (name, dtype), value in values
        )

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> Any:
        item = np.array(self.cast_scalar(data))
        stored = item if zarr_format == 2 else item.astype(item.dtype.newbyteorder("<"))
        return bytes_to_json(stored.tobytes())

    # --- layout

    @property
    def item_size(self) -> int:
        return sum(_size_of(dtype) for _, dtype in self.fields)

    def _in_native_order(self) -> Self:
        fields = tuple((name, dtype._in_native_order()) for name, dtype in self.fields)
        return self if fields == self.fields else replace(self, fields=fields)

    def has_multi_byte_fields(self) -> bool:
        """Return whether any field has more than one byte."""
        return any(_size_of(dtype) > 1 for _, dtype in self.fields)


@dataclass(frozen=True, kw_only=True)
class Struct(Structured, name="struct"):
    """Items of named fields, one after another without padding (``struct``, format 2: a list of fields).

    Examples
    --------
    >>> zdtype = Struct(fields=(("x", Float32()), ("n", UInt8())))
    >>> array = zarrcore.create_array({}, shape=2, dtype=zdtype)
    >>> array[0] = (1.5, 7)
    >>> array["x"].tolist()
    [1.5, 0.0]
    """

    def _fields_v3(self) -> list[Any]:
        return [{"name": name, "data_type": spelled} for name, spelled in self._named_v3()]

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> Any:
        """Return `data` as base64 of the item if `zarr_format` is 2, else as an object of field values."""
        if zarr_format == 2:
            return super().to_json_scalar(data, zarr_format=2)
        item = self.cast_scalar(data)
        return {name: dtype.to_json_scalar(item[name], zarr_format=3) for name, dtype in self.fields}


def _size_of(dtype: object) -> int:
    """Return the item size of a field's data type, which must be fixed."""
    if not isinstance(dtype, ZDType):
        raise DataTypeValidationError(f"the data type of a field must be a ZDType, got {describe(dtype)}")
    if dtype._serializer is not None:
        raise DataTypeValidationError(f"a field cannot have the data type {dtype}: its items may be missing")
    size = None if isinstance(dtype, HasObjectCodec) else dtype.item_size
    if size is None:
        raise DataTypeValidationError(
            f"a field cannot have the data type {dtype}, whose items vary in length"
        )
    return size


@contextmanager
def _field(name: object) -> Iterator[None]:
    """Name the field in errors about its data type."""
    try:
        yield
    except DataTypeValidationError as error:
        raise type(error)(f"field {str(name)[:80]!r}: {error}") from None


def _zero(dtype: ZDType[Any, Any]) -> Any:
    """Return the item of zero bytes, which is what NumPy and zarr-python fill fields with."""
    data = np.frombuffer(bytes(_size_of(dtype)), dtype=dtype.to_native_dtype())
    return data[0]


def _levels(dtype: ZDType[Any, Any]) -> int:
    """Levels of structures within structures, that of `dtype` included."""
    if isinstance(dtype, SubArray):
        return _levels(dtype.item)
    return 1 + max(_levels(field) for _, field in dtype.fields) if isinstance(dtype, Structured) else 0


def _field_from_json_v2(index: int, name: str, dtype: Any, shape: Any = None) -> Field:
    parts = type_string(dtype)
    if name == "" and parts is not None and parts.kind == "V":
        name = f"f{index}"  # padding of an aligned dtype, which NumPy names like this
    with _field(name):
        item = data_type_registry.match_json({"name": dtype, "object_codec_id": None}, zarr_format=2)
        return name, item if shape is None else SubArray(item=item, shape=tuple(shape))


def _field_to_json_v2(name: str, dtype: ZDType[Any, Any]) -> list[Any]:
    if isinstance(dtype, SubArray):
        return [name, dtype.item.to_json(zarr_format=2)["name"], list(dtype.shape)]
    return [name, dtype.to_json(zarr_format=2)["name"]]


def _field_from_json_v3(field: object) -> Field:
    if isinstance(field, Mapping) and set(field) == {"name", "data_type"}:
        name, dtype = field["name"], field["data_type"]
    elif isinstance(field, (list, tuple)) and len(field) == 2:
        name, dtype = field
    else:
        raise DataTypeValidationError(
            f"a field must be an object with 'name' and 'data_type', got {describe(field)}"
        )
    with _field(name):
        return name, data_type_registry.match_json(dtype, zarr_format=3)
