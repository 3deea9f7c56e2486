"""What turns the items of a format 2 array into bytes where there are no filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore.codecs.base import ArrayBytesCodec
from zarrcore.codecs.bytes import contiguous_bytes, from_bytes
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    import numpy as np

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["RawItems"]


@dataclass(frozen=True)
class RawItems(ArrayBytesCodec):
    """Items exactly as they are in memory, which in format 2 keeps the stored byte order."""

    name: ClassVar[str] = "bytes"
    is_fixed_size: ClassVar[bool] = True

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None:
            raise MetadataValidationError(
                f"the data type {spec.dtype!r} needs an object codec among the filters"
            )
        return self

    def encoded_size(self, spec: ArraySpec) -> int | None:
        return spec.nbytes

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return contiguous_bytes(chunk, spec.np_dtype)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        return from_bytes(data, spec.np_dtype, spec)

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        return None if spec.item_size is None else (("bytes", 0),)
