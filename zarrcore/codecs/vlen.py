"""The ``vlen-utf8`` and ``vlen-bytes`` codecs: items of any length, each after its length.

A chunk is the number of items, then for each item its length in bytes and its bytes; all numbers are unsigned
32-bit little-endian.  The layout is that of the codecs of the same names in format 2.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.errors import MetadataValidationError


@dataclass(frozen=True, kw_only=True)
class _VLenCodec(ArrayBytesCodec):
    """What the two codecs have in common; items are strings if `takes_text` is true, else bytes."""

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
        own = getattr(spec.dtype, "object_codec_id", None)
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
        """Return an item as bytes.  None and 0, which stand for items of objects never set, are empty."""
        if item is None or (isinstance(item, (int, np.integer)) and item == 0):
            return b""
        if self.takes_text and isinstance(item, str):
            return item.encode()
        if not self.takes_text and isinstance(item, (bytes, bytearray, memoryview)):
            return bytes(item)
        wanted = "a string" if self.takes_text else "bytes"
        raise TypeError(f"expected {wanted}, got {type(item).__name__} {item!r}")


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
