"""The data type ``zarrs.optional``: items of another data type that may be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typing import JSON, DTypeJSON, ZarrFormat
from zarrcore._validate import MAX_DEPTH, describe
from zarrcore.dtypes.base import ZDType, check_item_size
from zarrcore.dtypes.layout import check_swap_fields, scalar_to_bytes
from zarrcore.dtypes.registry import data_type_registry
from zarrcore.dtypes.scalars import unboxed
from zarrcore.dtypes.spelling import TOO_DEEP, check_nesting
from zarrcore.errors import DataTypeValidationError

VALID, VALUE = "valid", "value"
"""The fields of an item in memory: whether there is a value, and the value, zero where there is none."""


@dataclass(frozen=True, kw_only=True)
class Optional(ZDType[Any, Any], name="zarrs.optional"):
    """Items of another data type, or none (``zarrs.optional``).

    Parameters
    ----------
    item : ZDType
        The data type of the items that are there; it may be optional itself.

    Notes
    -----
    In memory, items of fixed size are structures of the fields ``valid`` (Boolean) and ``value``: a masked
    array of them is ``np.ma.array(found["value"], mask=~found["valid"])``.  Items of variable length are
    Python objects, None where there is none; where `item` is optional itself, what is there stands in a tuple
    of one, so that ``(None,)`` is an item without a value and None is no item.

    Assigned values are items in one of these forms.  Where items have a fixed size, None, plain values and
    masked arrays of plain values do as well.

    Format 3 alone has the data type, and only the codec ``zarrs.optional`` stores it.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=3, dtype=Optional(item=Int16()))
    >>> array[:2] = np.ma.array([7, 8], mask=[False, True])
    >>> array[:].tolist()
    [(True, 7), (False, 0), (False, 0)]
    >>> array["value"][:].tolist(), array["valid"][:].tolist()
    ([7, 0, 0], [True, False, False])
    >>> array = zarrcore.create_array({}, shape=3, dtype=Optional(item=VariableLengthUTF8()))
    >>> array[:2] = ["", "text"]
    >>> array[:].tolist()
    ['', 'text', None]
    """

    item: ZDType[Any, Any]

    dtype_cls = np.dtypes.VoidDType
    _serializer: ClassVar[str | None] = "zarrs.optional"
    _v2_kinds: ClassVar[tuple[str, ...] | None] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.item, ZDType):
            raise DataTypeValidationError(f"optional items must have a data type, got {describe(self.item)}")
        if _levels(self) > MAX_DEPTH:
            raise DataTypeValidationError(TOO_DEEP)
        self.item.to_json(zarr_format=3)  # fails where format 3 has no such data type
        if self.item.item_size is not None:
            check_item_size(1 + self.item.item_size)
            check_swap_fields(self.item)

    # --- native dtypes

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return False  # the same structure may be meant as such

    def to_native_dtype(self) -> Any:
        if self.item.item_size is None:
            return np.dtype(object)
        return np.dtype([(VALID, "?"), (VALUE, self.item.to_native_dtype())])

    @property
    def item_size(self) -> int | None:
        return None if self.item.item_size is None else 1 + self.item.item_size

    def _in_native_order(self) -> Self:
        item = self.item._in_native_order()
        return self if item == self.item else replace(self, item=item)

    # --- metadata

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        raise cls._reject_json(data, "Zarr format 3")

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        check_nesting(data)
        configuration = data.get("configuration") if isinstance(data, Mapping) else None
        if not isinstance(configuration, Mapping) or not {"name"} <= set(configuration) <= {*_MEMBERS}:
            raise cls._reject_json(data, "a configuration with the name and configuration of a data type")
        inner = {"name": configuration["name"], "configuration": configuration.get("configuration", {})}
        return cls(item=data_type_registry.match_json(inner, zarr_format=3))

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format != 3:
            raise DataTypeValidationError(f"Zarr format {zarr_format} has no optional items")
        item = self.item.to_json(zarr_format=3)
        inner = {"name": item} if isinstance(item, str) else item
        configuration: dict[str, Any] = {"configuration": {}} | inner
        return {"name": self._zarr_v3_name, "configuration": {name: configuration[name] for name in _MEMBERS}}

    # --- scalars

    def default_scalar(self) -> Any:
        return self.cast_scalar(None)

    def cast_scalar(self, data: object) -> Any:
        """Return `data`, None or a value of the item, as an item; of fixed size also ``(valid, value)``."""
        if self.item.item_size is None:
            return self._cast_object(data)
        data = unboxed(data)
        if data is None:
            return self._item(False, b"")
        if isinstance(data, (tuple, list)) or _is_optional(data):
            valid, value = self._parts(data)
            return self._item(True, self._value(value)) if valid else self._item(False, b"")
        return self._item(True, self._value(data))

    def _value(self, value: Any) -> bytes:
        return scalar_to_bytes(self.item, self.item.cast_scalar(value))

    def _parts(self, data: Any) -> tuple[bool, Any]:
        parts = [data[VALID], data[VALUE]] if isinstance(data, np.void) else [*data]
        if len(parts) != 2 or not isinstance(parts[0], (bool, np.bool)):
            raise self._reject_scalar(data, "None, a value, or whether there is one and the value")
        return bool(parts[0]), parts[1]

    def _item(self, valid: bool, value: bytes) -> np.void:
        size = self.item.item_size or 0
        item: np.void = np.frombuffer(bytes([valid]) + value.ljust(size, b"\0"), self.to_native_dtype())[0]
        return item

    def _cast_object(self, data: object) -> Any:
        if data is None:
            return None
        if not isinstance(self.item, Optional):
            return self.item.cast_scalar(data)
        if not isinstance(data, tuple) or len(data) != 1:
            raise self._reject_scalar(data, "None, or a tuple of the item that is there")
        return (self.item.cast_scalar(data[0]),)

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        if data is None:
            return self.cast_scalar(None)
        if not isinstance(data, list) or len(data) != 1:
            raise self._reject_scalar(data, "null or a list of one value")
        value = self.item.from_json_scalar(data[0], zarr_format=zarr_format)
        if self.item.item_size is None:
            return (value,) if isinstance(self.item, Optional) else value
        return self._item(True, scalar_to_bytes(self.item, value))

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> JSON:
        item = self.cast_scalar(data)
        if self.item.item_size is None:
            valid, value = item is not None, item[0] if isinstance(item, tuple) else item
        else:
            valid, value = item[VALID], item[VALUE]
        return [self.item.to_json_scalar(value, zarr_format=zarr_format)] if valid else None


_MEMBERS = ("name", "configuration")
_PLAIN = (bool, int, float, complex, str, bytes)


def items_of_plain(
    value: Any, dtype: np.dtype[Any], cast: Callable[[Any, np.dtype[Any]], np.ndarray]
) -> np.ndarray | None:
    """Return None, plain values or a masked array as optional items of `dtype`.

    Parameters
    ----------
    value : object
        What was assigned.
    dtype : dtype
        The fields of the items.
    cast : callable
        Converts values to a dtype.

    Returns
    -------
    ndarray or None
        None if `value` is something else, such as items.
    """
    if value is None:
        return np.zeros((), dtype)
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.names is not None or value.dtype.kind in "OV":
            return None
        plain = np.asarray(value)
        there = np.broadcast_to(~np.asarray(getattr(value, "mask", False)), plain.shape)
    elif isinstance(value, _PLAIN):
        plain, there = np.asarray(value), np.ones((), bool)
    else:
        return None
    items = np.zeros(plain.shape, dtype)
    items[VALID] = there
    items[VALUE][there] = cast(plain[there], dtype[VALUE])
    return items


def _is_optional(data: object) -> bool:
    return isinstance(data, np.void) and data.dtype.names == (VALID, VALUE)


def _levels(zdtype: ZDType[Any, Any]) -> int:
    """Return the number of optional data types within each other."""
    found = 0
    while isinstance(zdtype, Optional):
        found, zdtype = found + 1, zdtype.item
    return found
