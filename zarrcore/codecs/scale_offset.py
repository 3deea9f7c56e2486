"""The ``scale_offset`` codec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import at, fail
from zarrcore.codecs.base import ArrayArrayCodec
from zarrcore.codecs.v2_filters import number
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec

__all__ = ["ScaleOffset"]


@dataclass(frozen=True, kw_only=True)
class ScaleOffset(ArrayArrayCodec):
    """``(x - offset) * scale`` in the data type of the array (codec ``scale_offset`` of the Zarr extensions).

    Parameters
    ----------
    offset, scale : int, float or str
        Scalars of the data type, as metadata documents spell them.

    Notes
    -----
    Integers that do not fit, or that cannot be divided exactly on the way back, are errors.
    """

    name: ClassVar[str] = "scale_offset"
    is_fixed_size: ClassVar[bool] = True
    offset: Any = 0
    scale: Any = 1

    def __post_init__(self) -> None:
        for name in ("offset", "scale"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float, str)):
                fail(name, "a number or a string", value)

    def to_json(self) -> dict[str, Any]:
        changed = {"offset": self.offset, "scale": self.scale}
        configuration = {
            name: value for name, value in changed.items() if value != {"offset": 0, "scale": 1}[name]
        }
        return {"name": self.name} | ({"configuration": configuration} if configuration else {})

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or spec.np_dtype.kind not in "iuf":
            raise MetadataValidationError(
                f"the scale_offset codec needs real numbers, the data type is {spec.dtype!r}"
            )
        if self._scalars(spec)[1] == 0:
            fail("configuration.scale", "a number that is not 0", self.scale)
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        if spec.fill is None:
            return spec
        fill = self.encode(np.full(1, spec.fill, spec.np_dtype), spec)[0]
        return replace(spec, fill=fill)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        offset, scale = self._scalars(spec)
        if chunk.dtype.kind == "f":
            scaled: np.ndarray = ((chunk - offset) * scale).astype(chunk.dtype, copy=False)
            return scaled
        return _fitting((chunk.astype(object) - int(offset)) * int(scale), chunk)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        offset, scale = self._scalars(spec)
        if chunk.dtype.kind == "f":
            original: np.ndarray = ((chunk / scale) + offset).astype(chunk.dtype, copy=False)
            return original
        exact = chunk.astype(object)
        if chunk.size and np.any(exact % int(scale)):
            raise ValueError(f"an item is no multiple of the scale {self.scale}")
        return _fitting(exact // int(scale) + int(offset), chunk)

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        offset, scale = self._scalars(spec)
        kind = number(spec.np_dtype)
        if kind is None:
            return None  # float16
        options: dict[str, Any] = {"dtype": kind, "astype": kind}
        if spec.np_dtype.kind == "f":
            if not (isfinite(offset) and isfinite(scale)):
                return None
            options |= {"offset": float(offset), "scale": float(scale)}
        else:
            options |= {"whole_offset": int(offset), "whole_scale": int(scale)}
        return self.name, options

    def _scalars(self, spec: ArraySpec) -> tuple[Any, Any]:
        found = []
        for name in ("offset", "scale"):
            with at(f"configuration.{name}"):
                found.append(spec.dtype.from_json_scalar(getattr(self, name), zarr_format=3))
        return found[0], found[1]


def _fitting(exact: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Exact integers in the data type of `like`."""
    info = np.iinfo(like.dtype)
    if exact.size and not (info.min <= exact.min() and exact.max() <= info.max):
        raise ValueError(f"an item does not fit into {like.dtype}")
    return exact.astype(like.dtype)
