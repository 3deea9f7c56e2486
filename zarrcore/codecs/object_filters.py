"""The filters of format 2 for words and Python objects.

``json2`` and ``msgpack2`` encode the flat list of the items, followed by two more items: data type and shape.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any

import numpy as np

from zarrcore._extension import REQUIRED, option
from zarrcore._validate import boolean, fail, integer, sequence
from zarrcore.codecs.base import ArraySpec
from zarrcore.codecs.filters import Filter, as_bytes, require_kind
from zarrcore.codecs.messagepack import pack, unpack
from zarrcore.codecs.number_filters import dtype_name, items_of
from zarrcore.codecs.vlen import VLenBytesCodec, VLenUTF8Codec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError


class VLenUTF8(Filter, VLenUTF8Codec, id="vlen-utf8", in_v3=False):
    """Strings of any length as UTF-8."""

    must_be_first = True

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "TOU", self.name, "strings")
        self.require_own(spec, "filter")


class VLenBytes(Filter, VLenBytesCodec, id="vlen-bytes", in_v3=False):
    """Byte strings of any length."""

    must_be_first = True

    def check_items(self, spec: ArraySpec) -> None:
        if not _is_raw(spec.np_dtype):  # zarr-python 2 stores all bytes of these
            require_kind(spec, "OS", self.name, "byte strings")
        self.require_own(spec, "filter")

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> bytes:
        return super().encode(chunk.astype(object) if _is_raw(chunk.dtype) else chunk, spec)


def _is_raw(dtype: np.dtype[Any]) -> bool:
    """Return whether items are bytes without a meaning."""
    return dtype.type is np.void and dtype.names is None


def _labels(value: object, where: str) -> list[str]:
    labels = list(sequence(value, where))
    for i, label in enumerate(labels):
        if not isinstance(label, str):
            fail(f"{where}[{i}]", "a string", label)
    return labels


class Categorize(Filter, id="categorize", in_v3=False):
    """Strings as the numbers of labels, from 1 on; 0 for strings that are no label, which become empty.

    Parameters
    ----------
    labels : sequence of str
        The labels.
    dtype : str
        Data type of the items: strings of a fixed length, or objects.
    astype : str
        Data type of the numbers, an integer.
    """

    labels: list[str] = option(REQUIRED, _labels)
    dtype: str = option(REQUIRED, dtype_name, "UO")
    astype: str = option("|u1", dtype_name, "iu")

    def _check(self) -> None:
        most = np.iinfo(self.astype).max
        if len(self.labels) > most:
            fail("labels", f"at most {most} labels, which {self.astype} can count", len(self.labels))

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "TOU", self.name, "strings")
        fixed = spec.np_dtype.kind == "U"
        if fixed != (np.dtype(self.dtype).kind == "U") or (fixed and spec.np_dtype != np.dtype(self.dtype)):
            raise MetadataValidationError(
                f"the categorize filter is for items of {self.dtype}, the data type is {spec.dtype!r}"
            )

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = np.asarray(data).reshape(-1)
        numbers = np.zeros(items.size, self.astype)
        for number, label in enumerate(self.labels, 1):
            numbers[items == label] = number
        return numbers

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        numbers = items_of(data, self.astype)
        wrong = np.flatnonzero((numbers < 0) | (numbers > len(self.labels)))
        if wrong.size:
            raise ChunkDecodeError(
                f"there are {len(self.labels)} labels, item {wrong[0]} has the label {numbers[wrong[0]]}",
                codec=self.name,
            )
        kind = np.dtype(self.dtype)
        return np.array(["", *self.labels], kind)[numbers.astype(np.intp)]


def _encoding(value: Any, where: str) -> str:
    try:
        "".encode(value)
    except (LookupError, TypeError):
        fail(where, "the name of an encoding", value)
    return str(value)


def _indent(value: object, where: str) -> str | int:
    return value if isinstance(value, str) else integer(value, where, 0)


class JSON2(Filter, id="json2", in_v3=False):
    """Items as JSON; the configuration is that of :mod:`json`."""

    encoding: str = option("utf-8", _encoding)
    skipkeys: bool = option(False, boolean)
    ensure_ascii: bool = option(True, boolean)
    check_circular: bool = option(True, boolean)
    allow_nan: bool = option(True, boolean)
    indent: str | int | None = option(None, _indent)
    separators: list[str] = option(None, sequence)
    sort_keys: bool = option(True, boolean)
    strict: bool = option(True, boolean)

    def _check(self) -> None:
        separators = self.separators or ((",", ":") if self.indent is None else (", ", ": "))
        if len(separators) != 2 or not all(isinstance(item, str) for item in separators):
            fail("separators", "two strings", self.separators)
        vars(self)["separators"] = list(separators)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        config = self.get_config().items()
        options: dict[str, Any] = {name: value for name, value in config if name not in _NOT_FOR_DUMPS}
        options["separators"] = tuple(self.separators)
        items = _listed(data)
        encoded = json.dumps(items, **options).encode(self.encoding)
        own = self.indent is None and self.separators == [",", ":"] and self.encoding == "utf-8"
        return _readable(self, encoded, items, spec, own)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        try:
            items = json.loads(bytes(as_bytes(data)).decode(self.encoding), strict=self.strict)
        except (ValueError, RecursionError) as error:
            raise ChunkDecodeError(f"not JSON: {error}", codec=self.name) from error
        return _unlisted(items, spec, self.name)


_NOT_FOR_DUMPS = ("id", "encoding", "strict")


class MsgPack2(Filter, id="msgpack2", in_v3=False):
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

    use_single_float: bool = option(False, boolean)
    use_bin_type: bool = option(True, boolean)
    raw: bool = option(False, boolean)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        items = _listed(data)
        encoded = pack(items, single_float=self.use_single_float, bin_type=self.use_bin_type)
        return _readable(self, encoded, items, spec, own=True)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        try:
            items = unpack(bytes(as_bytes(data)), raw=self.raw)
        except ValueError as error:
            raise ChunkDecodeError(f"not MessagePack: {error}", codec=self.name) from error
        return _unlisted(items, spec, self.name)


class VLenArray(Filter, id="vlen-array", in_v3=False):
    """Arrays of one dimension and any length.

    Parameters
    ----------
    dtype : str
        Data type of the items of the arrays.
    """

    dtype: str = option(REQUIRED, dtype_name, "biufcmMSUV")

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "O", self.name, "arrays")

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        from zarrcore._core import vlen

        return vlen.encode_arrays(_items_of(data), np.dtype(self.dtype), self.name, self._array)

    def check_values(self, values: np.ndarray) -> None:
        from zarrcore._core import vlen

        vlen.check_arrays(_items_of(values), np.dtype(self.dtype), self.name, self._array)

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

    def decode(self, data: Any, spec: ArraySpec) -> np.ndarray:
        from zarrcore._core import vlen

        return vlen.decode_arrays(as_bytes(data), spec.size, np.dtype(self.dtype), self.name)


def _items_of(data: Any) -> list[Any]:
    """Return the items in C order; what they are is left as it is."""
    flat = np.asarray(data).reshape(-1)
    return flat.tolist() if flat.dtype.kind == "O" else list(flat)


def _listed(data: Any) -> list[Any]:
    items = np.asarray(data).reshape(-1)
    return [*items.tolist(), items.dtype.str, [items.size]]


_ALWAYS_READ = {str, int, float, bool, type(None)}


def _readable(
    codec: JSON2 | MsgPack2, encoded: bytes, items: list[Any], spec: ArraySpec | None, own: bool
) -> bytes:
    """Return what was encoded, unless it cannot be decoded: it would take the place of a chunk that can.

    As lists in lists do that are too deep, keys that are lists, bytes among strings, separators that are not
    those of JSON.  `own`: the configuration is one by which plain items always are.
    """
    if not (own and set(map(type, items[:-1])) <= _ALWAYS_READ):
        try:
            codec.decode(encoded, spec)
        except ChunkDecodeError as error:
            raise ValueError(f"what was encoded could not be read again: {error.reason}") from error
    return encoded


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


def _protocol(value: object, where: str) -> int:
    from pickle import HIGHEST_PROTOCOL

    return integer(value, where, 0, HIGHEST_PROTOCOL)


class Pickle(Filter, id="pickle", in_v3=False):
    """A whole chunk as one pickled array.  Decoding it can run any code that its writer chose.

    Parameters
    ----------
    protocol : int
        Version of the pickle protocol.

    Notes
    -----
    For data whose writer is trusted: nothing leads here unless the setting
    ``array.allow_unsafe_pickle_decode`` is true.
    """

    protocol: int = option(5, _protocol)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        import pickle

        return pickle.dumps(np.asarray(data), protocol=self.protocol)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        import pickle

        try:
            found = pickle.loads(bytes(as_bytes(data)))
        except Exception as error:  # whatever the pickled code raises
            reason = f"not a pickle: {type(error).__name__}: {error}"
            raise ChunkDecodeError(reason, codec=self.name) from error
        if not isinstance(found, np.ndarray):
            raise ChunkDecodeError(f"expected a pickled array, found {type(found).__name__}", codec=self.name)
        return found
