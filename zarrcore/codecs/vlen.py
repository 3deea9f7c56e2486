"""The ``vlen-utf8``, ``vlen-bytes`` and ``zarrs.vlen_v2`` codecs: items of any length, each after its length.

A chunk is the number of items, then for each item its length in bytes and its bytes; all numbers are unsigned
32-bit little-endian.  The layout is that of the codecs of the same names in format 2.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from zarrcore._records import dataclass
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.errors import MetadataValidationError


@dataclass(frozen=True, kw_only=True)
class _VLenCodec(ArrayBytesCodec):
    """What these codecs have in common; items are strings if `takes_text` is true, else bytes."""

    has_own_type: ClassVar[bool] = True
    """Whether there is one data type whose items the codec stores."""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "configuration": {}}

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is not None:
            raise MetadataValidationError(
                f"the {self.name} codec needs items of variable length, the data type is {spec.dtype!r}"
            )
        self.require_own(spec, "codec")
        return self

    def require_own(self, spec: ArraySpec, what: str) -> None:
        """Refuse items of variable length whose meaning another codec determines."""
        own = getattr(spec.dtype, "object_codec_id", None) if self.has_own_type else None
        if own not in (None, self.name):
            raise MetadataValidationError(
                f"the data type {spec.dtype!r} goes with the {own} {what}, not {self.name}"
            )

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        from zarrcore._core import vlen

        return vlen.encode(chunk, self.name, self._to_bytes, utf8=self.takes_text)

    def check_values(self, values: np.ndarray) -> None:
        from zarrcore._core import vlen

        vlen.check(values, self.name, self._to_bytes, utf8=self.takes_text)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        from zarrcore._core import vlen

        dtype = spec.np_dtype if spec.np_dtype.kind == "T" and self.takes_text else np.dtype(object)
        return vlen.decode(data, spec.size, dtype, self.name, utf8=self.takes_text).reshape(spec.shape)

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        from zarrcore._core import vlen

        if out.dtype.kind not in ("TO" if self.takes_text else "O") or not out.flags.aligned:
            return False
        vlen.decode_into(data, out, self.name, utf8=self.takes_text)
        return True

    def _to_bytes(self, item: Any) -> bytes:
        return to_bytes(item, is_text=self.takes_text)


@dataclass(frozen=True, kw_only=True)
class VLenUTF8Codec(_VLenCodec):
    """Strings of any length as UTF-8 (codec ``vlen-utf8`` of the Zarr extensions).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype="string", serializer=VLenUTF8Codec())
    >>> array[:] = ["a", "long"]
    >>> array[:].tolist()
    ['a', 'long']
    """

    name: ClassVar[str] = "vlen-utf8"
    takes_text: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class VLenBytesCodec(_VLenCodec):
    """Byte strings of any length (codec ``vlen-bytes`` of the Zarr extensions).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype="bytes", serializer=VLenBytesCodec())
    >>> array[:] = np.array([b"a", b"long"], dtype=object)
    >>> array[:].tolist()
    [b'a', b'long']
    """

    name: ClassVar[str] = "vlen-bytes"


@dataclass(frozen=True, kw_only=True)
class VLenV2Codec(_VLenCodec):
    """Strings or byte strings of any length, as ``vlen-utf8`` and ``vlen-bytes`` (codec ``zarrs.vlen_v2``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype="string", serializer=VLenV2Codec())
    >>> array[:] = ["a", "long"]
    >>> array[:].tolist()
    ['a', 'long']
    """

    name: ClassVar[str] = "zarrs.vlen_v2"
    has_own_type: ClassVar[bool] = False

    def resolve(self, spec: ArraySpec) -> Self:
        super().resolve(spec)
        return of_text(self, spec)


C = TypeVar("C", bound=ArrayBytesCodec)


def of_text(codec: C, spec: ArraySpec) -> C:
    """Return a codec of any items of variable length as one of strings, or else of byte strings."""
    made: C = copy(codec)
    vars(made)["takes_text"] = spec.np_dtype.kind == "T"
    return made


def to_bytes(item: Any, *, is_text: bool) -> bytes:
    """Return an item as bytes.  None and 0, which stand for items of objects never set, are empty."""
    if item is None or (isinstance(item, (int, np.integer)) and item == 0):
        return b""
    if is_text and isinstance(item, str):
        return item.encode()
    if not is_text and isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    wanted = "a string" if is_text else "bytes"
    raise TypeError(f"expected {wanted}, got {type(item).__name__} {item!r}")
