"""Complex data types with parts of 16 and fewer bits (zarr-extensions, "data-types").

NumPy has none of them.  In memory an item is a structure with the fields ``real`` and ``imag``, which is also
how it is stored.  ml_dtypes has types for two of them, ``complex32`` and ``bcomplex32``, with the same
layout: they name a data type and are taken as values, and an array of items can be viewed as them.  They are
not what arrays have in memory, because NumPy swaps the bytes of such an item as one word and sees no parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore.dtypes import mlfloat
from zarrcore.dtypes.base import HasEndianness, ZDType
from zarrcore.dtypes.extension import ExtensionType, is_ml
from zarrcore.dtypes.floating import Float16, parse_complex
from zarrcore.dtypes.layout import scalar_to_bytes
from zarrcore.dtypes.scalars import unboxed

if TYPE_CHECKING:
    from zarrcore.dtypes.base import JSON, ZarrFormat


class ComplexPair(ExtensionType):
    """What the complex data types without a NumPy type share: pairs of real and imaginary part."""

    dtype_cls = np.dtypes.VoidDType
    components = 2
    part_cls: ClassVar[type[ZDType[Any, Any]]]
    _ml_name: ClassVar[str | None] = None

    def __init_subclass__(cls, part: type[ZDType[Any, Any]] | None = None, **options: Any) -> None:
        if part is not None:
            cls.part_cls, cls.bits = part, getattr(part, "bits", 16)
            cls._zarr_v3_name = f"complex_{part._zarr_v3_name}"
        super().__init_subclass__(**options)

    @property
    def part(self) -> ZDType[Any, Any]:
        """The data type of the two parts."""
        endianness = getattr(self, "endianness", None)
        make: Any = self.part_cls
        return make() if endianness is None else make(endianness=endianness)  # type: ignore[no-any-return]

    # --- native dtypes

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        # A structure of two fields is a struct: nothing marks it as a complex number.
        return cls._ml_name is not None and is_ml(dtype) and dtype.name == cls._ml_name

    def to_native_dtype(self) -> Any:
        part = self.part.to_native_dtype()
        return np.dtype([("real", part), ("imag", part)])

    @property
    def item_size(self) -> int:
        return 2 * -(-self.bits // 8)

    # --- scalars

    def _join(self, real: Any, imag: Any) -> np.void:
        # As bytes, so that every NaN keeps its bits.
        part = self.part
        data = scalar_to_bytes(part, real) + scalar_to_bytes(part, imag)
        item: np.void = np.frombuffer(data, dtype=self.to_native_dtype())[0]
        return item

    def cast_scalar(self, data: object) -> np.void:
        """Return `data`, a number or a pair of real and imaginary part, rounded to this type."""
        data = unboxed(data)
        if isinstance(data, str):
            data = parse_complex(self, data)
        elif isinstance(data, np.void) and data.dtype.names == ("real", "imag"):
            data = (data["real"], data["imag"])
        elif isinstance(data, np.generic) and is_ml(data.dtype) and str(data.dtype.kind) == "W":
            data = complex(data)
        if isinstance(data, (complex, np.complexfloating)):
            data = (data.real, data.imag)
        part = self.part
        if not isinstance(data, (tuple, list)):
            return self._join(part.cast_scalar(data), part.default_scalar())
        if len(data) != 2:
            raise self._reject_scalar(data, "a number, or a pair of real and imaginary part")
        return self._join(*map(part.cast_scalar, data))

    def default_scalar(self) -> np.void:
        return self._join(self.part.default_scalar(), self.part.default_scalar())

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> np.void:
        if not isinstance(data, (list, tuple)) or len(data) != 2:
            raise self._reject_scalar(data, "a pair of real and imaginary part")
        return self._join(*(self.part.from_json_scalar(number, zarr_format=zarr_format) for number in data))

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> list[Any]:
        item = self.cast_scalar(data)
        return [self.part.to_json_scalar(item[name], zarr_format=zarr_format) for name in ("real", "imag")]


@dataclass(frozen=True, kw_only=True)
class WidePair(ComplexPair, HasEndianness):
    """What the complex data types with parts of more than a byte share: a byte order."""


class ComplexFloat16(WidePair, part=Float16):
    """Complex numbers with parts of half precision (``complex_float16``); needs no other package."""

    _ml_name = "complex32"


class ComplexBFloat16(WidePair, part=mlfloat.BFloat16):
    """Complex numbers with parts of type bfloat16 (``complex_bfloat16``)."""

    _ml_name = "bcomplex32"


class ComplexFloat8E3M4(ComplexPair, part=mlfloat.Float8E3M4):
    """Complex numbers with parts of type float8_e3m4 (``complex_float8_e3m4``)."""


class ComplexFloat8E4M3(ComplexPair, part=mlfloat.Float8E4M3):
    """Complex numbers with parts of type float8_e4m3 (``complex_float8_e4m3``)."""


class ComplexFloat8E4M3B11FNUZ(ComplexPair, part=mlfloat.Float8E4M3B11FNUZ):
    """Complex numbers with parts of type float8_e4m3b11fnuz (``complex_float8_e4m3b11fnuz``)."""


class ComplexFloat8E4M3FNUZ(ComplexPair, part=mlfloat.Float8E4M3FNUZ):
    """Complex numbers with parts of type float8_e4m3fnuz (``complex_float8_e4m3fnuz``)."""


class ComplexFloat8E5M2(ComplexPair, part=mlfloat.Float8E5M2):
    """Complex numbers with parts of type float8_e5m2 (``complex_float8_e5m2``)."""


class ComplexFloat8E5M2FNUZ(ComplexPair, part=mlfloat.Float8E5M2FNUZ):
    """Complex numbers with parts of type float8_e5m2fnuz (``complex_float8_e5m2fnuz``)."""


class ComplexFloat8E8M0FNU(ComplexPair, part=mlfloat.Float8E8M0FNU):
    """Complex numbers with parts of type float8_e8m0fnu (``complex_float8_e8m0fnu``)."""


class ComplexFloat6E2M3FN(ComplexPair, part=mlfloat.Float6E2M3FN):
    """Complex numbers with parts of type float6_e2m3fn (``complex_float6_e2m3fn``)."""


class ComplexFloat6E3M2FN(ComplexPair, part=mlfloat.Float6E3M2FN):
    """Complex numbers with parts of type float6_e3m2fn (``complex_float6_e3m2fn``)."""


class ComplexFloat4E2M1FN(ComplexPair, part=mlfloat.Float4E2M1FN):
    """Complex numbers with parts of type float4_e2m1fn (``complex_float4_e2m1fn``)."""


TYPES = (
    ComplexBFloat16,
    ComplexFloat16,
    ComplexFloat4E2M1FN,
    ComplexFloat6E2M3FN,
    ComplexFloat6E3M2FN,
    ComplexFloat8E3M4,
    ComplexFloat8E4M3,
    ComplexFloat8E4M3B11FNUZ,
    ComplexFloat8E4M3FNUZ,
    ComplexFloat8E5M2,
    ComplexFloat8E5M2FNUZ,
    ComplexFloat8E8M0FNU,
)
