"""The codecs ``scale_offset`` and ``bitround``: other numbers of the same data type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import REQUIRED, option
from zarrcore._records import dataclass
from zarrcore._validate import at, fail, integer
from zarrcore.codecs._native import NativeArrayCodec, is_integer, real_number, words_of
from zarrcore.codecs.base import ArraySpec
from zarrcore.errors import ChunkEncodeError, MetadataValidationError


def _number(value: object, where: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        fail(where, "a number or a string", value)
    return value


@dataclass(frozen=True, kw_only=True)
class ScaleOffset(NativeArrayCodec):
    """``(x - offset) * scale`` in the data type of the array (codec ``scale_offset`` of the Zarr extensions).

    Parameters
    ----------
    offset, scale : int, float or str
        Scalars of the data type, as metadata documents spell them.

    Notes
    -----
    Integers that do not fit, or that cannot be divided exactly on the way back, are errors.  Floating-point
    numbers are those of NumPy or ml_dtypes after each operation; where these have no infinity, too large ones
    are errors.

    Examples
    --------
    >>> filters = [ScaleOffset(offset=20, scale=10), CastValue(data_type="int16")]
    >>> array = zarrcore.create_array({}, shape=2, dtype="f8", filters=filters)
    >>> array[:] = [18.04, 21.98]
    >>> array[:].tolist()
    [18.0, 22.0]
    """

    name: ClassVar[str] = "scale_offset"
    is_fixed_size: ClassVar[bool] = True
    offset: Any = option(0, _number, omitted=True)
    scale: Any = option(1, _number, omitted=True)

    def to_json(self) -> dict[str, Any]:
        document = super().to_json()
        return document if document["configuration"] else {"name": self.name}

    def resolve(self, spec: ArraySpec) -> Self:
        if real_number(spec.dtype) is None:
            raise MetadataValidationError(
                f"the scale_offset codec needs real numbers, the data type is {spec.dtype!r}"
            )
        if self._scalars(spec)[1] == 0:
            fail("configuration.scale", "a number that is not 0", self.scale)
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        if spec.fill is None:
            return spec
        try:
            fill = self.encode(np.full(1, spec.fill, spec.np_dtype), spec)[0]
        except ChunkEncodeError as error:
            raise MetadataValidationError(f"the fill value cannot be encoded: {error}") from error
        return replace(spec, fill=fill)

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        offset, scale = self._scalars(spec)
        kind = real_number(spec.dtype)
        options: dict[str, Any] = {"dtype": kind, "astype": kind}
        if is_integer(spec.dtype):
            options |= {"whole_offset": int(offset), "whole_scale": int(scale)}
        else:
            options |= {"offset": float(offset), "scale": float(scale)}
        return self._engine_name, options

    def _scalars(self, spec: ArraySpec) -> tuple[Any, Any]:
        found = []
        for name in ("offset", "scale"):
            with at(f"configuration.{name}"):
                found.append(spec.dtype.from_json_scalar(getattr(self, name), zarr_format=3))
        return found[0], found[1]


# Bits of the mantissa of each floating-point type.
_MANTISSA_BITS = {"f2": 10, "bfloat16": 7, "f4": 23, "f8": 52}


@dataclass(frozen=True, kw_only=True)
class BitRoundCodec(NativeArrayCodec):
    """Numbers rounded to fewer bits, to compress better (codec ``bitround`` of the Zarr extensions).

    Parameters
    ----------
    keepbits : int
        Bits that are kept: of the mantissa of floating-point numbers, of integers, dates and durations from
        the highest bit that is set.

    Notes
    -----
    Decoding changes nothing: what was rounded away is lost.  Ties go to the even neighbour.  An integer whose
    larger neighbour is no number of its type becomes the smaller one.  NaN, NaT and infinities stay as they
    are.
    """

    name: ClassVar[str] = "bitround"
    is_fixed_size: ClassVar[bool] = True
    keepbits: int = option(REQUIRED, integer, 0, 64)

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or not (spec.np_dtype.kind in "iumM" or _mantissa_bits(spec)):
            raise MetadataValidationError(
                f"the bitround codec needs numbers, the data type is {spec.dtype!r}"
            )
        return self

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        kind = spec.np_dtype.kind
        most = 64 if kind in "iumM" else _mantissa_bits(spec)
        keep_special = kind not in "iu"  # NaN, infinities and NaT
        return self._engine_name, {
            "keepbits": min(self.keepbits, most or 0),
            "dtype": words_of(spec.dtype),
            "keep_special": keep_special,
        }


def _mantissa_bits(spec: ArraySpec) -> int | None:
    """Bits of the mantissa of a floating-point number, or a part of a complex one; None for others."""
    words = words_of(spec.dtype)
    return None if words is None else _MANTISSA_BITS.get(words[1:])
