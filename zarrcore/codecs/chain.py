"""The codec chain of an array: array -> array codecs, one array -> bytes codec, bytes -> bytes codecs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from operator import floordiv
from typing import Any

import numpy as np

from zarrcore._extension import is_a_users
from zarrcore._records import dataclass
from zarrcore._validate import (
    MAX_CODECS,
    MAX_DEPTH,
    at,
    checked_nbytes,
    describe,
    named_configuration,
    sequence,
    view_of,
)
from zarrcore.codecs import _native
from zarrcore.codecs.base import (
    ArrayArrayCodec,
    ArrayBytesCodec,
    ArraySpec,
    Buffer,
    BytesBytesCodec,
    Codec,
    Patch,
    encoded_limit,
)
from zarrcore.codecs.partial import ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin
from zarrcore.errors import (
    BaseZarrError,
    ChunkDecodeError,
    ChunkEncodeError,
    ChunkError,
    ChunkMemoryError,
    MetadataValidationError,
    named,
    shown,
)
from zarrcore.registry import codec_registry

_STAGE = {"array->array": 0, "array->bytes": 1, "bytes->bytes": 2}


@dataclass(frozen=True)
class IgnoredCodec(Codec):
    """An unknown codec that may be ignored (``must_understand`` is false)."""

    data: Any

    def to_json(self) -> dict[str, Any]:
        return dict(self.data)


def parse_codec(data: object) -> Codec:
    """Return a codec from an extension object, a short-hand name or an instance, also one of another package.

    Raises
    ------
    UnknownCodecError
        If no codec has the name.
    MetadataValidationError
        If the configuration is not valid.
    """
    if isinstance(data, Codec) and not getattr(data, "is_v2", hasattr(data, "get_config")):
        return data
    if not isinstance(data, (str, dict)):
        from zarrcore.codecs.standard import extension_of

        data = extension_of(data)
    name, configuration, must_understand = named_configuration(data)
    if not must_understand and name not in codec_registry:
        return IgnoredCodec(data)
    cls = codec_registry.get(name)
    with at("configuration", codec=name, given=configuration):
        return cls.from_json(configuration)


def parse_codecs(data: object) -> tuple[Codec, ...]:
    """Codecs from a ``codecs`` member, each for itself: :class:`CodecChain` checks their order."""
    codecs = []
    for i, item in enumerate(few(sequence(data, None))):
        with at(f"[{i}]"):
            codecs.append(parse_codec(item))
    if _levels(codecs) > MAX_DEPTH:
        raise MetadataValidationError(f"codecs are nested more than {MAX_DEPTH} levels deep")
    return tuple(codecs)


def few(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the items of a list of codecs if they are not more than anybody means."""
    if len(items) > MAX_CODECS:
        raise MetadataValidationError(f"expected at most {MAX_CODECS:,} codecs, got {len(items):,}")
    return items


def _levels(codecs: Sequence[Codec]) -> int:
    """Levels of these codecs and of those that they hold."""
    return 1 + max((_levels(held) for codec in codecs if (held := held_by(codec))), default=0)


_HELD = ("codecs", "filters", "held")


def held_by(codec: object) -> tuple[Codec, ...]:
    """Return the codecs that a codec holds: those of inner chunks, or filters of format 2."""
    found = next(filter(None, (getattr(codec, name, None) for name in _HELD)), None)
    items = found if isinstance(found, (tuple, list)) else ()  # a user's may have other things there
    return tuple(item for item in items if isinstance(item, Codec))


def with_held(codecs: Iterable[Codec]) -> Iterator[Codec]:
    """Yield codecs and those that they hold."""
    for codec in codecs:
        yield codec
        yield from with_held(held_by(codec))


@dataclass(frozen=True)
class CodecChain:
    """The codecs of an array in the order in which they encode (Zarr v3, "Chunk encoding").

    Parameters
    ----------
    array_array : tuple of ArrayArrayCodec
        The codecs that take and make arrays.
    array_bytes : ArrayBytesCodec
        The codec that turns the array into bytes.
    bytes_bytes : tuple of BytesBytesCodec
        The codecs that take and make bytes.
    codecs : tuple of Codec
        All of them as the metadata document has them, ignored ones included.

    Examples
    --------
    >>> spec = ArraySpec((4,), zarrcore.dtype.Int32(), fill=0)
    >>> chain = CodecChain.from_codecs([BytesCodec(), ZstdCodec()], spec)
    >>> data = chain.encode(np.arange(4, dtype="i4"), spec)
    >>> chain.decode(data, spec).tolist()
    [0, 1, 2, 3]
    """

    array_array: tuple[ArrayArrayCodec, ...]
    array_bytes: ArrayBytesCodec
    bytes_bytes: tuple[BytesBytesCodec, ...] = ()
    codecs: tuple[Codec, ...] = ()

    def __post_init__(self) -> None:
        if not self.codecs:
            object.__setattr__(self, "codecs", (*self.array_array, self.array_bytes, *self.bytes_bytes))

    @classmethod
    def from_json(cls, data: object, spec: ArraySpec) -> CodecChain:
        """Return the chain of `data`, a ``codecs`` member, for chunks of `spec`."""
        return cls.from_codecs(parse_codecs(data), spec)

    @classmethod
    def from_codecs(cls, codecs: Iterable[Codec], spec: ArraySpec) -> CodecChain:
        """Return the chain of `codecs` for chunks of `spec`, each resolved for the output of those before it.

        Raises
        ------
        MetadataValidationError
            If the codecs are not in order, or one cannot be used where it stands.
        """
        codecs = tuple(codecs)
        _check_order(codecs)
        if spec.item_size is not None:
            checked_nbytes(spec.shape, spec.item_size, "")
        resolved = []
        for i, codec in enumerate(codecs):
            with at(f"[{i}]", codec=getattr(codec, "name", None)):
                codec = codec.resolve(spec)
            resolved.append(codec)
            if isinstance(codec, ArrayArrayCodec):
                spec = codec.output_spec(spec)
        arrays = tuple(codec for codec in resolved if isinstance(codec, ArrayArrayCodec))
        (array_bytes,) = (codec for codec in resolved if isinstance(codec, ArrayBytesCodec))
        needed = spec.dtype._serializer
        if needed not in (None, array_bytes.name) and not array_bytes.cuts_chunks:
            reason = f"items of {spec.dtype!r} need the codec {needed!r}, not {array_bytes.name!r}"
            raise MetadataValidationError(reason, where=f"[{len(arrays)}]")
        last = tuple(codec for codec in resolved if isinstance(codec, BytesBytesCodec))
        chain = cls(arrays, array_bytes, last, tuple(resolved))
        chain._check_limits(spec)
        return chain

    def to_json(self) -> list[dict[str, Any]]:
        """Return the ``codecs`` member of a metadata document."""
        return [codec.to_json() for codec in self.codecs]

    # --- parts of chunks ---------------------------------------------------------------------------------

    @property
    def supports_partial_decode(self) -> bool:
        """Whether parts of chunks are read by the array -> bytes codec alone."""
        return self._is_alone and isinstance(self.array_bytes, ArrayBytesCodecPartialDecodeMixin)

    @property
    def supports_partial_encode(self) -> bool:
        """Whether parts of chunks are written by the array -> bytes codec alone."""
        return self._is_alone and isinstance(self.array_bytes, ArrayBytesCodecPartialEncodeMixin)

    @property
    def takes_text(self) -> bool:
        """Whether chunks of strings may be encoded from ``str`` objects and strings of fixed length."""
        return not self.array_array and self.array_bytes.takes_text

    @property
    def compresses_without_gil(self) -> bool:
        """Whether there are bytes -> bytes codecs, all run by the engine: without the GIL, on any thread.

        Of shards those of the inner chunks.
        """
        codecs: tuple[Any, ...] = self.codecs
        while not self.bytes_bytes and getattr(codecs[-1], "cuts_chunks", False):
            codecs = codecs[-1].codecs
        compressors = [codec for codec in codecs if isinstance(codec, BytesBytesCodec)]
        return bool(compressors) and all(codec.stage() is not None for codec in compressors)

    @cached_property
    def has_codec_of_user(self) -> bool:
        """Whether a codec does not belong to zarrcore, those of inner chunks included."""
        return any(map(is_a_users, with_held(self.codecs)))

    @property
    def _is_alone(self) -> bool:
        return not self.array_array and not self.bytes_bytes

    def checker(self, spec: ArraySpec) -> ArrayBytesCodec | None:
        """Return the codec whose `check_values` looks at the items of chunks of `spec`, if there is one."""
        for codec in self.array_array:
            if codec.permutation(spec) is None and not codec.keeps_items:
                return None
            spec = codec.output_spec(spec)
        last: Any = self.array_bytes
        if self.is_sharded:
            return last.inner_chain(spec).checker(last.inner_spec(spec))  # type: ignore[no-any-return]
        last = getattr(last, "filters", (last,))[0]
        checks = getattr(type(last), "check_values", ArrayBytesCodec.check_values)
        return None if checks is ArrayBytesCodec.check_values else last

    # --- sizes --------------------------------------------------------------------------------------------

    def array_specs(self, spec: ArraySpec) -> list[ArraySpec]:
        """Return the input of each codec for chunks of `spec`, up to the array -> bytes codec."""
        specs = [spec]
        for codec in self.array_array:
            specs.append(codec.output_spec(specs[-1]))
        return specs

    def encoded_size(self, spec: ArraySpec) -> int | None:
        """Return the size in bytes that every encoded chunk of `spec` has, or None if sizes vary."""
        return self._sizes(self.array_specs(spec)[-1])[-1][0]

    def most_stored(self, spec: ArraySpec, variable: int) -> int:
        """Return how many bytes an encoded `spec` has at most; `variable`: one of items of any length."""
        last = self.array_specs(spec)[-1]
        most = self._sizes(last)[-1][1] or 0
        codec: Any = self.array_bytes
        if self.is_sharded:
            inner = codec.inner_chain(last).most_stored(codec.inner_spec(last), variable)
            variable = inner * prod(map(floordiv, last.shape, codec.chunk_shape)) + codec.index_nbytes(last)
        return max(most, variable)

    def _sizes(self, spec: ArraySpec) -> list[tuple[int | None, int | None]]:
        """Exact size (None if it varies) and upper limit (None without one) around each bytes codec."""
        size = self.array_bytes.encoded_size(spec)
        limit = self.array_bytes.encoded_limit(spec) if size is None else size
        sizes = [(size, limit)]
        # The room that each codec has, half as much again, would soon be more than there is memory.
        most = None if limit is None else 16 * limit + (1 << 24)
        for codec in self.bytes_bytes:
            size = codec.encoded_size(size) if size is not None and codec.is_fixed_size else None
            limit = encoded_limit(codec, limit)
            if limit is not None and most is not None and not codec.is_fixed_size:
                limit = min(limit, most)
            sizes.append((size, limit))
        return sizes

    def _check_limits(self, spec: ArraySpec) -> None:
        """Refuse chunks that are more than a codec can ever encode."""
        sizes = self._sizes(spec)
        for codec, (size, _) in zip(self.bytes_bytes, sizes, strict=False):
            most = codec.max_input()
            if size is not None and most is not None and size > most:
                raise MetadataValidationError(
                    f"the {codec.name} codec can encode at most {most} bytes, a chunk has {size}",
                    where=f"[{self.codecs.index(codec)}]",
                )

    # --- the path in Python -------------------------------------------------------------------------------

    @property
    def is_sharded(self) -> bool:
        """Whether chunks are cut into inner chunks."""
        return self.array_bytes.cuts_chunks

    @property
    def is_only_shards(self) -> bool:
        """Whether inner chunks are parts of the array and lie in the store as they are."""
        return self.is_sharded and self._is_alone

    def encode(
        self, chunk: np.ndarray, spec: ArraySpec, *, write_empty: bool = False, patch: Patch | None = None
    ) -> bytes:
        """Encode `chunk`, a whole one of the shape and data type of `spec`, in Python.

        Parameters
        ----------
        write_empty : bool
            Whether a shard is to hold inner chunks of the fill value alone.
        patch : Patch, optional
            What of the chunk was given: inner chunks of a shard that nothing was written to stay as they are.

        Raises
        ------
        ChunkEncodeError
            If a codec fails.
        """
        return self.encode_bytes(self.encode_array(chunk, spec, write_empty=write_empty, patch=patch), spec)

    def encode_array(
        self, chunk: np.ndarray, spec: ArraySpec, *, write_empty: bool = False, patch: Patch | None = None
    ) -> Buffer:
        """Return the first half of :meth:`encode`: what the array -> bytes codec makes."""
        if chunk.shape != spec.shape:
            raise ValueError(f"expected a chunk of shape {spec.shape}, got {chunk.shape}")
        specs = self.array_specs(spec)
        for codec, its_spec, made_spec in zip(self.array_array, specs[:-1], specs[1:], strict=True):
            made = run_codec(codec, ChunkEncodeError, codec.encode, _read_only(chunk), its_spec)
            chunk = _checked_array(made, made_spec, codec, ChunkEncodeError)
        last, options = self.array_bytes, {}
        if self.is_sharded:
            options = {"write_empty": write_empty, "patch": self._inner_patch(patch, spec)}
        data: Buffer = run_codec(last, ChunkEncodeError, last.encode, _read_only(chunk), specs[-1], **options)
        _check_size(data, (last.encoded_size(specs[-1]), None), last, ChunkEncodeError)
        return data

    def encode_bytes(self, data: Buffer, spec: ArraySpec) -> bytes:
        """Return the second half of :meth:`encode`: through the bytes -> bytes codecs."""
        last = self.array_specs(spec)[-1]
        for bytes_codec in self.bytes_bytes:
            data = _encoded(bytes_codec, data, last)
        _refuse_nothing(data, last.size * last.np_dtype.itemsize, self.array_bytes)
        return data if isinstance(data, bytes) else bytes(data)

    def _inner_patch(self, patch: Patch | None, spec: ArraySpec) -> Patch | None:
        """Return the patch for the array -> bytes codec; None if all of the chunk is to be encoded."""
        given = None if patch is None else patch.given
        for codec, its_spec in zip(self.array_array, self.array_specs(spec), strict=False):
            given = None if given is None else codec.moved(given, its_spec)
        if patch is None or given is None or (patch.old is None and not self._keeps_fill(spec)):
            return None
        return Patch(given, None if patch.old is None else self.decode_bytes(patch.old, spec))

    def _keeps_fill(self, spec: ArraySpec) -> bool:
        """Return whether the array -> array codecs turn the fill value into that of absent inner chunks."""
        pairs = zip(self.array_array, self.array_specs(spec), strict=False)
        return all(keeps_fill(codec, its_spec) for codec, its_spec in pairs if codec.is_elementwise)

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        """Decode `data` to a chunk of `spec`, in Python; the result may be read-only.

        Raises
        ------
        ChunkDecodeError
            If a codec fails, or the bytes between two codecs are not as many as they must be.
        """
        return self.decode_array(self.decode_bytes(data, spec), spec)

    def decode_bytes(self, data: Buffer, spec: ArraySpec) -> Buffer:
        """Return the first half of :meth:`decode`: backwards through the bytes -> bytes codecs."""
        last = self.array_specs(spec)[-1]
        sizes = self._sizes(last)
        _check_size(data, (sizes[-1][0], None), (self.array_bytes, *self.bytes_bytes)[-1], ChunkDecodeError)
        for bytes_codec, size in zip(reversed(self.bytes_bytes), reversed(sizes[:-1]), strict=True):
            data = run_codec(bytes_codec, ChunkDecodeError, bytes_codec.decode, data, last, size[1])
            _check_size(data, size, bytes_codec, ChunkDecodeError)
        return data

    def decode_array_into(self, data: Buffer, spec: ArraySpec, out: np.ndarray) -> None:
        """Decode like :meth:`decode_array`, into an array of the chunk's shape."""
        codec = self.array_bytes
        if self.array_array or not run_codec(codec, ChunkDecodeError, codec.decode_into, data, spec, out):
            out[...] = self.decode_array(data, spec)

    def decode_array(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        """Return the second half of :meth:`decode`: from what the array -> bytes codec has made."""
        codecs: Any = (*self.array_array, self.array_bytes)
        found: Any = data
        for codec, its_spec in zip(reversed(codecs), reversed(self.array_specs(spec)), strict=True):
            found = run_codec(codec, ChunkDecodeError, codec.decode, found, its_spec)
            found = _checked_array(found, its_spec, codec, ChunkDecodeError)
        return found  # type: ignore[no-any-return]

    # --- the path in C ------------------------------------------------------------------------------------

    def links(self, spec: ArraySpec) -> tuple[Any, ...] | None:
        """Return the codecs as :class:`zarrcore._core.engine.Chain` takes them; None if it cannot."""
        if spec.item_size is None or self.supports_partial_decode or self.supports_partial_encode:
            return None
        links = self._array_links(spec)
        n_python = 0  # bytes -> bytes codecs that run together with those of arrays
        if links is None:
            if self.is_sharded:
                return None
            native = [codec.stage() is not None for codec in self.bytes_bytes]
            n_python = max((i + 1 for i, is_native in enumerate(native) if not is_native), default=0)
            python = CodecChain(self.array_array, self.array_bytes, self.bytes_bytes[:n_python])
            links = [("bytes", 0), ("callback", _ChunkCoder(python, spec))]
        last = self.array_specs(spec)[-1]
        for codec in self.bytes_bytes[n_python:]:
            stage = codec.stage()
            links.append(("callback", _BytesCoder(codec, last)) if stage is None else ("stage", *stage))
        return tuple(links)

    def _array_links(self, spec: ArraySpec) -> list[Any] | None:
        """Return the links of the codecs that take arrays; None if the engine has not all of them."""
        links: list[Any] = []
        for codec in self.array_array:
            link = _array_link(codec, spec)
            if link is None:
                return None
            links += link
            spec = codec.output_spec(spec)
        made = self.array_bytes.native(spec)
        return None if made is None else [*links, *made]

    def lower(self, spec: ArraySpec) -> Any | None:
        """Return the chain compiled for the chunk engine, for chunks of `spec`.

        None if there is no native form, or if it exceeds a limit of the engine: then Python runs the codecs.
        """
        # Kept for the next array: those that are stored alike share their chain, see metadata.known.
        last, compiled = vars(self).get("_compiled", (None, None))
        if last is not None and last.is_same(spec):
            vars(self)["_compiled"] = (spec, compiled)  # the next array has the very fill value of this one
        else:
            compiled, links = None, self.links(spec)
            fill = fill_item(spec).tobytes() if self.array_array and links is not None else None
            try:
                if links is not None:
                    compiled = _native.engine().Chain(spec.item_size, links, shape=spec.shape, fill=fill)
            except NotImplementedError:
                pass
            except (ValueError, TypeError, OverflowError) as error:  # of a user's codec's form in C
                raise MetadataValidationError(
                    f"{shown(error)} (the codecs {describe(links)})", where="codecs"
                ) from error
            vars(self)["_compiled"] = (spec, compiled)
        return compiled

    def __getstate__(self) -> dict[str, Any]:
        """Without what is compiled, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "_compiled"}


# Codecs that only Python has, as stages of the engine: from bytes to bytes.


class _BytesCoder:
    """A bytes -> bytes codec; `spec` is what the bytes stand for."""

    def __init__(self, codec: BytesBytesCodec, spec: ArraySpec) -> None:
        self.codec, self.spec, self.name = codec, spec, codec.name

    def encode(self, data: bytes) -> Buffer:
        return _encoded(self.codec, data, self.spec)

    def decode(self, data: bytes, most: int) -> Any:
        made = run_codec(self.codec, ChunkDecodeError, self.codec.decode, data, self.spec, most)
        _view_of(made, self.codec, ChunkDecodeError)  # the engine checks how many bytes they are
        return made


class _ChunkCoder:
    """All codecs of a chain, from the items of a chunk of `spec` in memory, in C order, on."""

    def __init__(self, chain: CodecChain, spec: ArraySpec) -> None:
        self.chain, self.spec, self.name = chain, spec, chain.array_bytes.name

    def encode(self, data: bytes) -> bytes:
        return self.chain.encode(np.frombuffer(data, self.spec.np_dtype).reshape(self.spec.shape), self.spec)

    def decode(self, data: bytes, most: int) -> np.ndarray:
        return _native.octets(self.chain.decode(data, self.spec), self.spec.np_dtype)


def _array_link(codec: ArrayArrayCodec, spec: ArraySpec) -> tuple[Any, ...] | None:
    """Return the link of a codec, or none where it leaves all as it is; None if it has no native form."""
    made = codec.output_spec(spec)
    order = codec.permutation(spec)
    if order is not None:
        return (("transpose", order),)
    if codec.keeps_items:
        return () if made.shape == spec.shape else (("reshape", codec.lengths(spec)),)
    stage = codec.stage(spec)
    return None if stage is None else (("filter", *stage, fill_item(made).tobytes()),)


def fill_item(spec: ArraySpec) -> np.ndarray:
    """Return one item that is the fill value."""
    return replace(spec, shape=(1,)).filled()


def keeps_fill(codec: ArrayArrayCodec, spec: ArraySpec) -> bool:
    """Return whether the codec encodes the fill value to that of its output, and back, bit for bit."""
    item = replace(spec, shape=(1,))
    before, after = fill_item(item), fill_item(codec.output_spec(item))
    try:
        there = run_codec(codec, ChunkEncodeError, codec.encode, before, item)
        back = run_codec(codec, ChunkDecodeError, codec.decode, after, item)
    except ChunkError:
        return False
    return bool(there.tobytes() == after.tobytes() and back.tobytes() == before.tobytes())


def _check_order(codecs: tuple[Codec, ...]) -> None:
    """Check that `codecs` are array -> array, exactly one array -> bytes, bytes -> bytes, in this order."""
    before: Codec | None = None
    for i, codec in enumerate(codecs):
        if isinstance(codec, IgnoredCodec):
            continue
        kind = getattr(codec, "kind", None)
        if kind not in _STAGE:
            raise MetadataValidationError(f"expected a codec, got {codec!r}", where=f"[{i}]")
        step = _STAGE[kind] - (_STAGE[before.kind] if before is not None else 0)
        if before is None and step == 2:
            reason = f"the {kind} codec {codec.name!r} stands before any array->bytes codec"
        elif before is not None and (step < 0 or kind == before.kind == "array->bytes"):
            reason = f"the {kind} codec {codec.name!r} cannot follow the {before.kind} codec {before.name!r}"
        elif before is not None and step == 2:
            reason = f"expected an array->bytes codec between {before.name!r} and {codec.name!r}"
        else:
            before = codec
            continue
        raise MetadataValidationError(reason, where=f"[{i}]")
    if before is None or before.kind == "array->array":
        names = ", ".join(codec.name for codec in codecs if not isinstance(codec, IgnoredCodec)) or "none"
        raise MetadataValidationError(f"expected exactly one array->bytes codec, got {names}")


# What codecs return is checked, and what they are given is not theirs: users write them as well.


def _read_only(chunk: np.ndarray) -> np.ndarray:
    """Return `chunk`, which may be the caller's, for a codec that must not change it."""
    view = chunk.view()
    view.flags.writeable = False
    return view


def _encoded(codec: BytesBytesCodec, data: Buffer, spec: ArraySpec) -> Buffer:
    """Return what a codec makes of `data`, which stands for an array of `spec`."""
    made: Buffer = run_codec(codec, ChunkEncodeError, codec.encode, data, spec)
    nbytes = memoryview(data).nbytes
    _check_size(
        made, (codec.encoded_size(nbytes) if codec.is_fixed_size else None, None), codec, ChunkEncodeError
    )
    _refuse_nothing(made, nbytes, codec)
    return made


def _refuse_nothing(made: Buffer, nbytes: int, codec: Codec) -> None:
    """Refuse no bytes for some: a chunk of no bytes is an absent one, which reads as the fill value."""
    if nbytes and not memoryview(made).nbytes:
        raise ChunkEncodeError(f"encodes {nbytes} bytes to none at all", codec=codec.name)


def _check_size(
    data: Any, size: tuple[int | None, int | None], codec: Codec, error_class: type[ChunkError]
) -> None:
    """Refuse what is not bytes, or not as many of them as there must (exactly, at most) be."""
    exact, limit = size
    view = _view_of(data, codec, error_class)
    if error_class is ChunkDecodeError and not view.c_contiguous:  # the next codec would be blamed for it
        raise error_class("expected bytes without gaps between them", codec=codec.name)
    if exact is not None and view.nbytes != exact:
        raise error_class(f"expected {exact} bytes, got {view.nbytes}", codec=codec.name)
    if limit is not None and view.nbytes > limit:
        raise error_class(f"expected at most {limit} bytes, got {view.nbytes}", codec=codec.name)


def _view_of(data: Any, codec: Codec, error_class: type[ChunkError]) -> memoryview:
    """Return the memory of what a codec has made."""
    try:
        return view_of(data)
    except (TypeError, ValueError, BufferError):  # the last two of memory that was released, or is strange
        reason = f"a bytes-like object is required, got {type(data).__name__}"
        raise error_class(reason, codec=codec.name) from None


def _checked_array(made: Any, spec: ArraySpec, codec: Codec, error_class: type[ChunkError]) -> np.ndarray:
    """Return what a codec has made if it is an array of `spec`; strings may be of equal data types."""
    if not isinstance(made, np.ndarray):
        reason = f"expected an array, got {type(made).__name__}"
    elif type(made) is not np.ndarray and np.ma.is_masked(made):  # which loads numpy.ma
        reason = "expected values, got some that are masked"
    else:
        found = np.asarray(made)  # of a class of its own, which may select and convert in ways of its own
        if found.shape != spec.shape:
            reason = f"expected a chunk of shape {spec.shape}, got {found.shape}"
        elif found.dtype != spec.np_dtype:
            reason = f"expected the data type {spec.np_dtype}, got {found.dtype}"
        else:
            return found
    raise error_class(reason, codec=codec.name)


def run_codec(
    codec: Codec, error_class: type[ChunkError], call: Callable[..., Any], *args: Any, **options: Any
) -> Any:
    """Call a codec; whatever it raises becomes one error that names it."""
    try:
        return call(*args, **options)
    except ChunkError as error:
        if error.codec is not None:
            raise
        raise error.located(codec=codec.name) from error.__cause__
    except BaseZarrError:
        raise
    except MemoryError as error:
        raise ChunkMemoryError(f"out of memory: {named(error)}", codec=codec.name) from error
    except Exception as error:
        raise error_class(named(error), codec=codec.name) from error
