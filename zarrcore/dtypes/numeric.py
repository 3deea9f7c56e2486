"""What integer, floating-point and complex data types share: their names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes.base import HasEndianness, ZDType, endianness_of, is_native_kind, order_char
from zarrcore.dtypes.spelling import plain_v3, type_string_v2

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.dtypes.base import DTypeJSON, ZarrFormat

__all__ = ["NumericBase"]


_numpy_dtype: Any = cache(np.dtype)


class NumericBase(ZDType[Any, Any]):
    """A data type that is one NumPy kind with one item size, named by the only entry of ``_v2_kinds``.

    ``_other_v3_names`` are read in format 3 as well, and never written.  Only classes that add a field are
    decorated as dataclasses; making one takes a while at import.
    """

    _other_v3_names: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _code(cls) -> str:
        assert cls._v2_kinds is not None
        return cls._v2_kinds[0]

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        code = cls._code()
        return is_native_kind(dtype, code[0], int(code[1:]))

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if not cls._check_native_dtype(dtype):
            raise cls._reject_native(dtype)
        return cls(endianness=endianness_of(dtype)) if issubclass(cls, HasEndianness) else cls()

    def to_native_dtype(self) -> Any:
        return _numpy_dtype(order_char(self) + self._code())

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        code = cls._code()
        many = issubclass(cls, HasEndianness)
        expected = f"'<{code}' or '>{code}'" if many else f"'|{code}'"
        order, _, size, *_ = type_string_v2(cls, data, code[0], expected)
        if size != int(code[1:]) or (many and order == "|"):
            raise cls._reject_json(data["name"], expected)
        make: Any = cls
        return make(endianness="little" if order == "<" else "big") if many else cls()

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        plain_v3(cls, data, cls._zarr_v3_name, *cls._other_v3_names)
        return cls()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        return {"name": order_char(self) + self._code(), "object_codec_id": None}

    @property
    def item_size(self) -> int:
        return int(self._code()[1:])
