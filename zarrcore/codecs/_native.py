"""The way from codec classes to the chunk engine, which is imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._extension import members_of, of_ours, own_form
from zarrcore.codecs.base import ArrayArrayCodec, ArraySpec, Buffer, BytesBytesCodec
from zarrcore.errors import ChunkDecodeError, UnknownCodecError

if TYPE_CHECKING:
    from zarrcore.dtypes import ZDType

_MOST = 2**31 - 1


def optional(package: str, codec: str, extra: str) -> Any:
    """Return a package that a codec needs and that not every installation has."""
    try:
        return import_module(package)
    except ImportError as error:
        reason = f"the codec {codec!r} needs the package {package}: pip install 'zarrcore[{extra}]'"
        raise UnknownCodecError(reason) from error


def engine() -> ModuleType:
    """Return the compiled chunk engine."""
    from zarrcore._core import engine as compiled

    return compiled


def encode(stage: tuple[str, dict[str, Any]], data: Buffer) -> bytes:
    """Encode `data` with one codec of the engine."""
    name, configuration = stage
    return engine().encode_bytes(name, configuration, data)  # type: ignore[no-any-return]


def decode(
    stage: tuple[str, dict[str, Any]], data: Buffer, spec: ArraySpec | None, max_size: int | None
) -> bytes:
    """Decode `data` with one codec of the engine, to at most `max_size` bytes."""
    name, configuration = stage
    if max_size is not None:
        return engine().decode_bytes(name, configuration, data, max_size)  # type: ignore[no-any-return]
    most = unbounded_room(data, spec)
    room = min(max(1 << 16, 4 * len(data)), most)
    while True:  # with more and more room, so that a small chunk which claims to be huge costs little
        try:
            return engine().decode_bytes(name, configuration, data, room)  # type: ignore[no-any-return]
        except ChunkDecodeError:
            if room == most:
                raise
        room = min(8 * room, most)


def unbounded_room(data: Buffer, spec: ArraySpec | None) -> int:
    """Most bytes that a chunk of items of variable length may decode to: metadata do not state its size.

    More than DEFLATE can make of its input, and room for many items that are equal or empty.
    """
    items = 0 if spec is None else spec.size
    return min(2048 * memoryview(data).nbytes + 64 * items + (1 << 24), _MOST)


def octets(chunk: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return the items of a chunk as bytes, in C order."""
    return np.ascontiguousarray(chunk, dtype).reshape(-1).view(np.uint8)


def real_number(zdtype: ZDType[Any, Any]) -> str | None:
    """Return byte order and the engine's name of `zdtype` if it is a type of real numbers; else None."""
    from zarrcore.dtypes.base import ExtensionType

    if not isinstance(zdtype, ExtensionType):
        dtype = zdtype.to_native_dtype()
        return str(dtype.str) if dtype.kind in "iuf" else None
    order = ">" if getattr(zdtype, "endianness", None) == "big" else "<"
    return None if zdtype.components > 1 else f"{order}{zdtype._zarr_v3_name}"


def is_integer(zdtype: ZDType[Any, Any]) -> bool:
    """Return whether `zdtype`, a type of real numbers, is one of integers."""
    return bool(getattr(zdtype, "is_integer", zdtype.to_native_dtype().kind in "iu"))


def words_of(zdtype: ZDType[Any, Any]) -> str | None:
    """Return the engine's name of the numbers of an item: parts of a complex one, the integer of a time."""
    from zarrcore.dtypes.numeric import ComplexScalars

    if isinstance(zdtype, ComplexScalars):
        return real_number(zdtype.part)
    dtype = zdtype.to_native_dtype()
    return f"{dtype.str[0]}i{dtype.itemsize}" if dtype.kind in "mM" else real_number(zdtype)


class NativeArrayCodec(ArrayArrayCodec):
    """Base class of filters on single items that run in the engine; a subclass defines :meth:`stage`."""

    is_elementwise = True

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    def stored_dtype(self, spec: ArraySpec) -> np.dtype[Any]:
        """Return the data type in memory of what the codec makes, in the shape of the chunk."""
        return spec.np_dtype

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        name, options = own_form(self, "stage", spec)
        data = engine().encode_bytes(name, options, octets(chunk, spec.np_dtype))
        return np.frombuffer(data, self.stored_dtype(spec)).reshape(chunk.shape)

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        name, options = own_form(self, "stage", spec)
        size = chunk.size * spec.np_dtype.itemsize
        data = engine().decode_bytes(name, options, octets(chunk, self.stored_dtype(spec)), size)
        return np.frombuffer(data, spec.np_dtype).reshape(chunk.shape)


class NativeBytesCodec(BytesBytesCodec):
    """Base class of bytes -> bytes codecs that run in the engine, with their configuration as it is."""

    def stage(self) -> tuple[str, dict[str, Any]]:
        own: Any = type(self)
        members = getattr(self, "members", None)
        members = members_of(of_ours(own)) if members is None else members
        options = {name: value for name in members if (value := getattr(self, name)) is not None}
        return self._engine_name, options

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        return encode(own_form(self, "stage"), data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        return decode(own_form(self, "stage"), data, spec, max_size)
