"""The filters of format 2 for arrays of Python objects: ``json2``, ``msgpack2`` and ``vlen-array``.

The first two encode the flat list of the items, followed by two more items: data type and shape.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import boolean, fail, integer, sequence
from zarrcore.codecs.messagepack import pack, unpack
from zarrcore.codecs.v2_filters import Filter, as_bytes, dtype_name, require_kind
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec

__all__ = ["JSON2", "MsgPack2", "VLenArray"]


@dataclass(frozen=True)
class JSON2(Filter):
    """Items as JSON; the configuration is that of :mod:`json`."""

    name: ClassVar[str] = "json2"
    encoding: str = "utf-8"
    skipkeys: bool = False
    ensure_ascii: bool = True
    check_circular: bool = True
    allow_nan: bool = True
    indent: Any = None
    separators: Any = None
    sort_keys: bool = True
    strict: bool = True

    def __post_init__(self) -> None:
        try:
            "".encode(self.encoding)
        except (LookupError, TypeError):
            fail("encoding", "the name of an encoding", self.encoding)
        for name in ("skipkeys", "ensure_ascii", "check_circular", "allow_nan", "sort_keys", "strict"):
            boolean(getattr(self, name), name)
        if self.indent is not None and not isinstance(self.indent, str):
            integer(self.indent, "indent", 0)
        if self.separators is not None:
            sequence(self.separators, "separators")
        separators = self.separators or ((",", ":") if self.indent is None else (", ", ": "))
        if len(separators) != 2 or not all(isinstance(item, str) for item in separators):
            fail("separators", "two strings", self.separators)
        object.__setattr__(self, "separators", list(separators))

    def __hash__(self) -> int:
        return hash((self.name, self.encoding, self.sort_keys))

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        options = {name: value for name, value in self.get_config().items() if name not in _NOT_FOR_DUMPS}
        text = json.dumps(_listed(data), **options | {"separators": tuple(self.separators)})
        return text.encode(self.encoding)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        try:
            items = json.loads(bytes(as_bytes(data)).decode(self.encoding), strict=self.strict)
        except (ValueError, RecursionError) as error:
            raise ChunkDecodeError(f"not JSON: {error}", codec=self.name) from error
        return _unlisted(items, spec, self.name)


_NOT_FOR_DUMPS = ("id", "encoding", "strict")


@dataclass(frozen=True)
class MsgPack2(Filter):
    """Items as MessagePack.

    Parameters
    ----------
    use_single_float : bool
        Whether floating-point numbers are written with 4 bytes.
    use_bin_type : bool
        Whether bytes are written apart from strings.
    raw : bool
        Whether strings are read as bytes.
    """

    name: ClassVar[str] = "msgpack2"
    use_single_float: bool = False
    use_bin_type: bool = True
    raw: bool = False

    def __post_init__(self) -> None:
        for name in ("use_single_float", "use_bin_type", "raw"):
            boolean(getattr(self, name), name)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        return pack(_listed(data), single_float=self.use_single_float, bin_type=self.use_bin_type)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        try:
            items = unpack(bytes(as_bytes(data)), raw=self.raw)
        except ValueError as error:
            raise ChunkDecodeError(f"not MessagePack: {error}", codec=self.name) from error
        return _unlisted(items, spec, self.name)


@dataclass(frozen=True)
class VLenArray(Filter):
    """Arrays of one dimension and any length.

    Parameters
    ----------
    dtype : str
        Data type of the items of the arrays.
    """

    name: ClassVar[str] = "vlen-array"
    dtype: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_name(self.dtype, "dtype", "biufcmMSUV"))

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "O", self.name, "arrays")

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        from zarrcore._core import ragged

        return ragged.encode(_items_of(data), np.dtype(self.dtype), self.name, self._array)

    def _array(self, item: Any) -> np.ndarray:
        """Return an item as the array to write; None and 0 mean items that were never set and are empty."""
        values = np.asarray(item)
        if (
            item is None
            or values.size == 0
            or (np.ndim(item) == 0 and values.dtype.kind in "biuf" and values == 0)
        ):
            return np.empty(0, self.dtype)
        if values.ndim != 1 or not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise TypeError(f"expected one dimension of {self.dtype}, got {item!r:.60}")
        return values.astype(self.dtype)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        from zarrcore._core import ragged

        if spec is None:
            raise TypeError(f"the {self.name} filter needs to know the chunk")
        return ragged.decode(as_bytes(data), spec.size, np.dtype(self.dtype), self.name)


def _items_of(data: Any) -> list[Any]:
    """Return the items in C order; what they are is left as it is."""
    flat = np.asarray(data).reshape(-1)
    return flat.tolist() if flat.dtype.kind == "O" else list(flat)


def _listed(data: Any) -> list[Any]:
    items = np.asarray(data).reshape(-1)
    return [*items.tolist(), items.dtype.str, [items.size]]


def _unlisted(items: Any, spec: ArraySpec | None, codec: str) -> np.ndarray:
    """Return the flat items of a list that ends with data type and shape; these must agree with the chunk."""
    if not isinstance(items, list) or len(items) < 2:
        raise ChunkDecodeError("expected a list that ends with data type and shape", codec=codec)
    *values, _, shape = items
    if not isinstance(shape, list) or not all(type(length) is int and length >= 0 for length in shape):
        raise ChunkDecodeError(f"expected a shape at the end, got {shape!r:.60}", codec=codec)
    count = prod(shape)
    for length in shape[1:]:  # the items of a chunk of several dimensions are nested lists
        if not all(isinstance(value, list) and len(value) == length for value in values):
            raise ChunkDecodeError(f"expected lists nested as the shape {shape}", codec=codec)
        values = [item for value in values for item in value]
    if len(values) != count or (spec is not None and count != spec.size):
        wanted = count if spec is None else spec.size
        raise ChunkDecodeError(f"expected {wanted} items, got {len(values)} of shape {shape}", codec=codec)
    flat = np.empty(count, object)
    for index, value in enumerate(values):
        flat[index] = value
    return flat
