"""What integer, floating-point and complex data types share: their names."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.dtypes.base import HasEndianness, ZDType, is_native_kind, order_char
from zarrcore.dtypes.spelling import type_string_v2

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.dtypes.base import DTypeJSON, ZarrFormat

_numpy_dtype: Any = cache(np.dtype)


class NumericBase(ZDType[Any, Any]):
    """A data type that is one NumPy kind with one item size: ``class Int8(NumericBase, code="i1")``.

    Only classes that add a field are decorated as dataclasses; making one takes a while at import.
    """

    def __init_subclass__(cls, code: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if code:
            dtype = np.dtype(code)
            cls.dtype_cls, cls._zarr_v3_name = type(dtype), dtype.name
            cls._code, cls._v2_kinds = code, (code,)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        code = cls._code
        return is_native_kind(dtype, code[0], int(code[1:]))

    def to_native_dtype(self) -> Any:
        return _numpy_dtype(order_char(self) + self._code)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        code = cls._code
        many = issubclass(cls, HasEndianness)
        expected = f"'<{code}' or '>{code}'" if many else f"'|{code}'"
        order, _, size, *_ = type_string_v2(cls, data, code[0], expected)
        if size != int(code[1:]) or (many and order == "|"):
            raise cls._reject_json(data["name"], expected)
        make: Any = cls
        return make(endianness="little" if order == "<" else "big") if many else cls()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        return {"name": order_char(self) + self._code, "object_codec_id": None}

    def default_scalar(self) -> Any:
        return np.dtype(self._code).type(0)

    @property
    def item_size(self) -> int:
        return int(self._code[1:])
