"""Data types of the package ml_dtypes: how they are named, found and loaded.

NumPy has no floating-point type of 16 bits with the range of float32, none of 8 bits, and no integer of less
than 8; the package ml_dtypes adds them.  It is imported when such a type is first used, never before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes.base import HasItemSize, ZDType
from zarrcore.dtypes.spelling import check_dtype_spec_no_object_codec_v2
from zarrcore.errors import DataTypeValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.dtypes.base import DTypeJSON, ZarrFormat


def ml_scalar_type(name: str) -> type[Any]:
    """Return the scalar type that ml_dtypes calls `name`."""
    found = getattr(_ml_dtypes(name), name, None)
    if found is None:
        raise DataTypeValidationError(
            f"the data type {name!r} needs a newer version of the package ml_dtypes: "
            'python -m pip install --upgrade "zarrcore[ml_dtypes]"'
        )
    return found  # type: ignore[no-any-return]


def ml_finfo(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a floating-point type of ml_dtypes, as ``numpy.finfo`` does for NumPy's."""
    return _ml_dtypes(dtype.name).finfo(dtype)


def _ml_dtypes(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise DataTypeValidationError(
            f'the data type {name!r} needs the package ml_dtypes: python -m pip install "zarrcore[ml_dtypes]"'
        ) from None
    return ml_dtypes


class ExtensionType(ZDType[Any, Any], HasItemSize):
    """A data type from the registry of extensions, which has one name in both formats and no configuration.

    Format 2 knows no such types.  The name of format 3 in the place of NumPy's type string, items
    little-endian, is what tensorstore writes.
    """

    bits: ClassVar[int]
    """Bits of an item, or of one part of a complex item; those above them in memory mean nothing."""

    components: ClassVar[int] = 1
    """Numbers in an item: two if it is complex."""

    is_integer: ClassVar[bool] = False
    """Whether items are integers."""

    signed: ClassVar[bool] = False
    """Whether items are integers in two's complement."""

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        super().__init_subclass__(name=name, **options)
        if name:
            cls._v2_kinds = (name,)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if not check_dtype_spec_no_object_codec_v2(data) or data["name"] != cls._zarr_v3_name:
            raise cls._reject_json(data, repr(cls._zarr_v3_name))
        return cls._with("little")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        if getattr(self, "endianness", "little") != "little":
            raise DataTypeValidationError(f"Zarr format 2 stores {self._zarr_v3_name} little-endian only")
        return {"name": self._zarr_v3_name, "object_codec_id": None}
