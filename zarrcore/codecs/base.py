"""What a codec is: a named, configured transform of one chunk and its inverse."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np

from zarrcore._extension import ANY, DOCUMENT, NOTHING, Extension, Result, instance_of, of_ours
from zarrcore._records import dataclass

if TYPE_CHECKING:
    from zarrcore.dtypes import ZDType

Buffer: TypeAlias = bytes | bytearray | memoryview
Kind = Literal["array->array", "array->bytes", "bytes->bytes"]

EMPTY = 2**64 - 1
"""Offset and length of an inner chunk that a shard does not hold."""


@dataclass(frozen=True)
class ArraySpec:
    """The array that a codec takes: a chunk, or what the codecs before it make of one.

    Parameters
    ----------
    shape : tuple of int
        Shape of the chunk.
    dtype : ZDType
        Data type.
    fill : object
        The fill value, a scalar of the data type.

    Examples
    --------
    >>> spec = ArraySpec((2, 3), zarrcore.dtype.Int16(), fill=0)
    >>> spec.size, spec.nbytes
    (6, 12)
    >>> TransposeCodec(order=(1, 0)).output_spec(spec).shape
    (3, 2)
    """

    shape: tuple[int, ...]
    dtype: ZDType
    fill: Any = None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of items."""
        return prod(self.shape)

    @property
    def np_dtype(self) -> np.dtype[Any]:
        """The data type in memory."""
        dtype: np.dtype[Any] = self.dtype.to_native_dtype()
        return dtype

    @property
    def item_size(self) -> int | None:
        """Bytes of one item, or None for a data type of variable length."""
        return self.dtype.item_size

    @property
    def nbytes(self) -> int | None:
        """Bytes of the chunk, or None for a data type of variable length."""
        return None if self.item_size is None else self.size * self.item_size

    @property
    def fill_value(self) -> Any:
        """The same as `fill`."""
        return self.fill

    def filled(self) -> np.ndarray:
        """Return a new array of the fill value, or without one of the default of the data type."""
        item = np.empty((), self.np_dtype)  # a tuple that is an item would be taken for a sequence of them
        item[()] = self.dtype.default_scalar() if self.fill is None else self.fill
        out = np.empty(self.shape, self.np_dtype)
        out[...] = item
        return out

    def is_same(self, other: ArraySpec) -> bool:
        """Return whether `other` is the same array, with the same bits as fill value."""
        is_same_dtype = self.dtype is other.dtype or self.dtype == other.dtype
        return self.shape == other.shape and is_same_dtype and _has_same_bits(self.fill, other.fill)


def _has_same_bits(one: Any, other: Any) -> bool:
    """Return whether two scalars are one object, or scalars of NumPy with equal bytes.

    Codecs such as scale_offset make the fill value of their output again each time that they are asked.
    """
    if one is other or type(one) is not type(other) or not isinstance(one, np.generic):
        return one is other
    return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())


_SIZE = instance_of("a number of bytes", int)
_SIZE_OR_NONE = instance_of("a number of bytes or None", int, NOTHING)
_LINKS: Result = (
    "a tuple of tuples that begin with a name, or None",
    lambda found, owner: (
        found is None
        or (type(found) is tuple and all(type(link) is tuple and isinstance(link[0], str) for link in found))
    ),
)
_STAGE: Result = (
    "a name and a configuration, or None",
    lambda found, owner: found is None or (type(found) is tuple and [*map(type, found)] == [str, dict]),
)
_ORDER: Result = (
    "an order of axes, or None",
    lambda found, owner: (
        found is None
        or (type(found) is tuple and {*map(type, found)} <= {int} and sorted(found) == [*range(len(found))])
    ),
)


class Codec(Extension):
    """Base class of all codecs (Zarr v3, extension point ``codecs``).

    A codec is a frozen dataclass whose fields are its configuration.  Derive from :class:`ArrayArrayCodec`,
    :class:`ArrayBytesCodec` or :class:`BytesBytesCodec`, and register the class under its name with
    :func:`zarrcore.registry.register_codec`.

    Attributes
    ----------
    name : str
        The name in metadata documents.
    kind : str
        ``"array->array"``, ``"array->bytes"`` or ``"bytes->bytes"``.
    is_fixed_size : bool
        Whether the size of the encoding depends on nothing but the size of the input.

    Examples
    --------
    >>> codec = ZstdCodec(level=3)
    >>> isinstance(codec, Codec), codec.name, codec.kind
    (True, 'zstd', 'bytes->bytes')
    >>> codec.to_json()
    {'name': 'zstd', 'configuration': {'level': 3, 'checksum': False}}
    """

    kind: ClassVar[Kind]
    is_fixed_size: ClassVar[bool] = False
    _what = "codec"
    _results: ClassVar[Mapping[str, Result]] = {
        "to_json": DOCUMENT,
        "resolve": ("a codec", lambda found, owner: isinstance(found, Codec)),
    }

    @property
    def _engine_name(self) -> str:
        """Name in the chunk engine: that of the codec of zarrcore that this one is, or is made from."""
        own: Any = type(self)
        cls = of_ours(own)
        name: str = getattr(cls, "codec_id", cls.name)
        return name

    def resolve(self, spec: ArraySpec) -> Self:
        """Return the codec for chunks of `spec`, with everything filled in that depends on the data type.

        Raises
        ------
        MetadataValidationError
            If the codec cannot be used for such chunks.
        """
        return self

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Return the same as :meth:`resolve` for the chunks of `array_spec`."""
        return self.resolve(array_spec)


@dataclass(frozen=True)
class Patch:
    """What of a chunk was given and what stays, for codecs that can take over parts of an encoded chunk.

    Attributes
    ----------
    given : ndarray of bool
        Of the chunk's shape, true for the elements that were written to.
    old : bytes-like, optional
        The encoded chunk that is to be replaced; None if nothing is stored.
    """

    given: np.ndarray
    old: Buffer | None = None


class ArrayArrayCodec(Codec):
    """Base class of codecs that turn an array into an array.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Negative(ArrayArrayCodec):
    ...     name = "example.negative"
    ...
    ...     def encode(self, chunk, spec):
    ...         return -chunk
    ...
    ...     decode = encode
    >>> zarrcore.registry.register_codec("example.negative", Negative)
    >>> array = zarrcore.create_array({}, shape=3, dtype="i4", filters=[Negative()])
    >>> array[:] = 5
    >>> array[:].tolist()
    [5, 5, 5]
    """

    kind = "array->array"
    keeps_items: ClassVar[bool] = False
    """Whether the items stay as they are, in the same (C) order, so that there is nothing to do in C."""
    is_elementwise: ClassVar[bool] = False
    """Whether each item becomes one item in its place, whatever the others are."""
    _results = {
        **Codec._results,
        "output_spec": instance_of("an ArraySpec", ArraySpec),
        "permutation": _ORDER,
        "moved": instance_of("an array or None", np.ndarray, NOTHING),
        "lengths": instance_of("a tuple", tuple),
        "stage": _STAGE,
    }

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        """Return the spec of encoded chunks: their shape, data type and fill value, from `spec`."""
        return spec

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        """Return the same as :meth:`output_spec` for `chunk_spec`."""
        return self.output_spec(chunk_spec)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        """Encode a chunk.

        Parameters
        ----------
        chunk : ndarray
            The chunk, of the shape and data type of `spec`; must not be changed.
        spec : ArraySpec
            What the chunk is.
        """
        raise NotImplementedError(f"codec {self.name!r} cannot encode")

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        """Decode `chunk`: the inverse of :meth:`encode`, with the same `spec`."""
        raise NotImplementedError(f"codec {self.name!r} cannot decode")

    def permutation(self, spec: ArraySpec) -> tuple[int, ...] | None:
        """Return the order of axes if all that the codec does to chunks of `spec` is to transpose them."""
        return None

    def moved(self, given: np.ndarray, spec: ArraySpec) -> np.ndarray | None:
        """Return where marked elements of a chunk are in its encoded form.

        Parameters
        ----------
        given : ndarray of bool
            Of the chunk's shape, true for the marked elements.
        spec : ArraySpec
            What the chunk is.

        Returns
        -------
        ndarray of bool or None
            Of the encoded shape; None if the codec does not know.
        """
        order = self.permutation(spec)
        if order is not None:
            return given.transpose(order)
        if not (self.keeps_items or self.is_elementwise):
            return None
        return given.reshape(self.output_spec(spec).shape)

    def lengths(self, spec: ArraySpec) -> tuple[int | tuple[int, ...], ...]:
        """Return the shape into which the codec changes chunks of `spec`, for the chunk engine.

        For each dimension a length, or the dimensions of the chunk whose lengths are multiplied; one of them
        may be -1, for what is left over.
        """
        shape = self.output_spec(spec).shape
        return shape if len(shape) != 1 else (-1,)

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        """Return name and configuration for the chunk engine, if the codec takes item after item in C order.

        The engine passes the items as bytes, in the order of memory.  None if only Python can run this codec
        on chunks of `spec`.
        """
        return None


ArrayArrayCodec._methods = ("encode", "decode", "output_spec", "_encode", "_decode")
ArrayArrayCodec._forms = {
    **{name: vars(ArrayArrayCodec)[name] for name in ("permutation", "moved", "lengths", "stage")},
    "lowered": ArrayArrayCodec.permutation,
    "keeps_items": False,
    "is_elementwise": False,
}


class ArrayBytesCodec(Codec):
    """Base class of codecs that turn an array into bytes.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Text(ArrayBytesCodec):
    ...     name = "example.text"
    ...
    ...     def encode(self, chunk, spec):
    ...         return " ".join(map(str, chunk.ravel())).encode()
    ...
    ...     def decode(self, data, spec):
    ...         return np.array(bytes(data).split(), spec.np_dtype).reshape(spec.shape)
    >>> zarrcore.registry.register_codec("example.text", Text)
    >>> store = {}
    >>> array = zarrcore.create_array(store, shape=3, dtype="i4", serializer=Text(), compressors=None)
    >>> array[:] = [5, 6, 7]
    >>> store["c/0"], array[1:].tolist()
    (b'5 6 7', [6, 7])
    """

    kind = "array->bytes"
    takes_text: ClassVar[bool] = False
    """Whether `encode` takes strings as arrays of ``str`` objects and of fixed length (``U``) too."""
    stores_shape: ClassVar[bool] = False
    """Whether encoded chunks tell their shape."""
    cuts_chunks: ClassVar[bool] = False
    """Whether chunks are shards, whose inner chunks are read and written without this class."""
    _results = {
        **Codec._results,
        "encoded_size": _SIZE_OR_NONE,
        "encoded_limit": _SIZE_OR_NONE,
        "decode_into": instance_of("True or False", bool),
        "native": _LINKS,
    }

    def check_values(self, values: np.ndarray) -> None:
        """Check Python objects before the first chunk of a call is stored.

        Without it a wrong item is found when its chunk is encoded, and other chunks may be stored by then.

        Parameters
        ----------
        values : ndarray of object
            What a chunk is to have, or a part of it; of any shape.

        Raises
        ------
        Exception
            If `encode` would refuse one of them.
        """

    def encoded_size(self, spec: ArraySpec) -> int | None:
        """Return the size in bytes that every encoded chunk of `spec` has, or None if sizes vary."""
        return None

    def encoded_limit(self, spec: ArraySpec) -> int | None:
        """Return the limit in bytes of valid encodings of `spec`; None for items of variable length."""
        return None if spec.nbytes is None else roomy(spec.nbytes) + (1 << 16)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        """Encode `chunk`, an array of the shape and data type of `spec`."""
        raise NotImplementedError(f"codec {self.name!r} cannot encode")

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        """Decode `data` to a chunk of the shape and data type of `spec`; the result may be read-only."""
        raise NotImplementedError(f"codec {self.name!r} cannot decode")

    def decode_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> bool:
        """Decode into memory of the caller.

        Parameters
        ----------
        data : bytes-like
            The encoded chunk.
        spec : ArraySpec
            What the chunk is.
        out : ndarray
            Of the shape of `spec`, with any strides.

        Returns
        -------
        bool
            False, with nothing done, if the codec cannot do that.
        """
        return False

    def native(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        """Return the codec's links in a chain of the chunk engine (:class:`zarrcore._core.engine.Chain`).

        None if only Python can run this codec on chunks of `spec`.
        """
        return None


ArrayBytesCodec._forms = {
    **{name: vars(ArrayBytesCodec)[name] for name in ("native", "decode_into")},
    "cuts_chunks": False,
}


class BytesBytesCodec(Codec):
    """Base class of codecs that turn bytes into bytes.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Inverted(BytesBytesCodec):
    ...     name = "example.inverted"
    ...
    ...     def encode(self, data, spec=None):
    ...         return bytes(255 - byte for byte in bytes(data))
    ...
    ...     def decode(self, data, spec=None, max_size=None):
    ...         return self.encode(data)
    >>> zarrcore.registry.register_codec("example.inverted", Inverted)
    >>> array = zarrcore.create_array({}, shape=3, dtype="u1", compressors=Inverted())
    >>> array[:] = [5, 6, 7]
    >>> array[:].tolist()
    [5, 6, 7]
    """

    kind = "bytes->bytes"
    _results = {
        **Codec._results,
        "encoded_size": _SIZE,
        "stage": _STAGE,
        "check_input": ANY,
        "max_input": _SIZE_OR_NONE,
    }

    def encoded_size(self, nbytes: int) -> int:
        """Return the encoded size of `nbytes` bytes; called only if :attr:`is_fixed_size` is true."""
        raise NotImplementedError(f"codec {self.name!r} has no fixed encoded size")

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> Buffer:
        """Encode bytes.

        Parameters
        ----------
        data : bytes-like
            What to encode.
        spec : ArraySpec, optional
            The array that the bytes stand for.
        """
        raise NotImplementedError(f"codec {self.name!r} cannot encode")

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> Buffer:
        """Decode bytes.

        Parameters
        ----------
        data : bytes-like
            What to decode.
        spec : ArraySpec, optional
            The array that the bytes stand for.
        max_size : int, optional
            Most bytes that the result can have.  A decompressor must stop there, whatever its input states.
        """
        raise NotImplementedError(f"codec {self.name!r} cannot decode")

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        """Return name and configuration for the chunk engine; None if only Python can run this codec."""
        return None

    def check_input(self, nbytes: int) -> None:
        """Check that `nbytes` bytes that were encoded can also be decoded.

        Raises
        ------
        MetadataValidationError
            If new arrays must not have chunks of that size.
        """

    def max_input(self) -> int | None:
        """Return the most bytes that the codec can encode at once, or None if there is no limit."""
        return None


BytesBytesCodec._forms = {"stage": BytesBytesCodec.stage}


def encoded_limit(codec: BytesBytesCodec, limit: int | None) -> int | None:
    """Return the largest plausible size of an encoding of at most `limit` bytes; None for no limit."""
    if limit is None:
        return None
    return codec.encoded_size(limit) if codec.is_fixed_size else roomy(limit) + (1 << 16)


def roomy(nbytes: int) -> int:
    """Return the largest plausible size of an encoding of `nbytes` bytes, to stop decompression bombs."""
    return nbytes + nbytes // 2 + 128


class _HasConfig(Protocol):
    """A codec of numcodecs, or one that behaves like it."""

    def get_config(self) -> Mapping[str, Any]: ...


class _HasDict(Protocol):
    """A codec of zarr-python."""

    def to_dict(self) -> Mapping[str, Any]: ...


#: A codec, its name, its JSON object, or a codec of numcodecs or zarr-python.
CodecLike: TypeAlias = Codec | str | Mapping[str, Any] | _HasConfig | _HasDict

#: One codec, several in the order in which they encode, None for none, or ``"auto"`` for the default.
CodecsLike: TypeAlias = CodecLike | Iterable[CodecLike] | None
