# SPDX-License-Identifier: MIT
"""Single codecs: their options, and calls from bytes to bytes."""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.sessions cimport Session, poll_session

import sys

from zarrcore import errors

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyBytes_FromStringAndSize_ "PyBytes_FromStringAndSize"(const char *, Py_ssize_t) except NULL
    int _PyBytes_Resize(PyObject **, Py_ssize_t) except -1


# ---- options -----------------------------------------------------------------------------------------------------

_BLOSC_COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")

_PADDINGS = ("none", "first_byte", "last_byte")

_NUMBERS = {name: kind for kind, name in enumerate("i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 f2".split())}     # as zc_number_kind
_NUMBERS |= {"b1": <int>ZC_NUMBER_BOOL, "c8": <int>ZC_NUMBER_C64, "c16": <int>ZC_NUMBER_C128}

_ROUNDINGS = ("nearest-even", "nearest-away", "towards-zero", "towards-positive", "towards-negative")

_OUT_OF_RANGE = (None, "clamp", "wrap")

_DECISIONS = ("compress_if_smaller", "always_apply", "never_apply")


cdef int _set_number(zc_number *number, const zc_codec_class *cls, str dtype) except -1:
    """The type of a filter's numbers: its name in numpy, such as ``"<f4"``, or a byte order and its name in Zarr."""
    cdef zc_number_kind kind
    cdef str name = dtype[1:]
    if name in _NUMBERS:
        kind = <zc_number_kind><int>_NUMBERS[name]
    elif not zc_number_named(<bytes>name.encode(), &kind):
        raise TypeError(f"the chunk engine has no numbers of type {dtype!r}")
    if not zc_codec_takes(cls, kind):
        raise TypeError(f"codec {cls.name.decode()!r} of the chunk engine takes no numbers of type {dtype!r}")
    number.kind = kind
    number.swapped = dtype[0] == (">" if sys.byteorder == "little" else "<") and zc_number_size(kind) > 1
    return 0


cdef int _set_pairs(zc_number_pairs *pairs, bytes words) except -1:
    """Numbers that are exchanged, as words of 8 bytes; `words` has to outlive the codec."""
    if len(words) % sizeof(zc_number_pair):
        raise ValueError(f"expected pairs of words, got {len(words)} bytes")
    pairs.pairs = <const zc_number_pair *>PyBytes_AS_STRING(words)
    pairs.n = len(words) // sizeof(zc_number_pair)
    return 0


cdef int configure(zc_codec *codec, str name, dict config) except -1:
    """Set up one codec.  It points into values of `config`, which have to outlive it.

    Codecs within it are replaced in `config` by their compiled form.
    """
    cdef bytes encoded = name.encode()
    cdef object key
    if not zc_codec_init(codec, encoded):
        raise errors.UnknownCodecError(f"the chunk engine has no codec {name!r}")
    for key, value in config.items():
        if key in ("level", "acceleration", "clevel", "keepbits", "bits"):
            codec.level = value
        elif key == "checksum":
            codec.checksum = bool(value)
        elif key == "location":
            codec.at_start = value == "start"
        elif key == "initval":
            codec.initial = value
        elif key == "prefix":            # bytes
            codec.prefix = <const uint8_t *>PyBytes_AS_STRING(value)
            codec.n_prefix = PyBytes_GET_SIZE(value)
        elif key == "cname":
            codec.compressor = _BLOSC_COMPRESSORS.index(value)
        elif key == "shuffle":
            codec.shuffle = value
        elif key == "typesize":
            codec.typesize = value
        elif key == "blocksize":
            codec.blocksize = value
        elif key == "elementsize":
            codec.element = value
        elif key == "dtype":
            _set_number(&codec.decoded, codec.cls, value)
        elif key == "astype":
            _set_number(&codec.encoded, codec.cls, value)
        elif key == "offset":
            codec.offset = value
        elif key == "scale":
            codec.scale = value
        elif key == "whole_offset":
            codec.whole_offset = <int64_t><uint64_t>(value & 0xFFFFFFFFFFFFFFFF)
            codec.has_whole_offset = True
        elif key == "whole_scale":
            codec.whole_scale = <int64_t><uint64_t>(value & 0xFFFFFFFFFFFFFFFF)
            codec.has_whole_scale = True
        elif key == "padding":
            codec.padding = 1 + _PADDINGS.index(value)
        elif key == "first_bit":
            codec.first_bit = value
        elif key == "width":
            codec.width = value
        elif key == "keep_special":
            codec.keep_special = value
        elif key == "rounding":
            codec.rounding = _ROUNDINGS.index(value)
        elif key == "out_of_range":
            codec.out_of_range = _OUT_OF_RANGE.index(value)
        elif key == "encode_pairs":
            _set_pairs(&codec.encode_pairs, value)
        elif key == "decode_pairs":
            _set_pairs(&codec.decode_pairs, value)
        elif key == "codecs":
            config[key] = _Nested(value)
            codec.codecs = (<_Nested>config[key]).at
            codec.n_codecs = (<_Nested>config[key]).n
        elif key == "header":
            codec.header = value
        elif key == "decision":
            codec.decision = _DECISIONS.index(value)
        else:
            raise TypeError(f"codec {name!r} of the chunk engine has no option {key!r}")
    return 0


@cython.final
cdef class _Nested:
    """The codecs within another one."""

    cdef zc_codec *at
    cdef int n
    cdef tuple options                   # which they point into

    def __cinit__(self, stages):
        self.at = <zc_codec *>malloc((len(stages) + 1) * sizeof(zc_codec))
        if self.at == NULL:
            raise MemoryError
        self.options = tuple([dict(config) for _, config in stages])
        for i, (name, _) in enumerate(stages):
            configure(&self.at[i], name, self.options[i])
        self.n = <int>len(stages)

    def __dealloc__(self):
        free(self.at)


def libraries() -> dict:
    """Return the compression libraries that are linked: name -> version, None for one that this build does without."""
    cdef zc_library library
    cdef size_t i = 0
    found = {}
    while zc_library_get(i, &library):
        found[library.name.decode()] = library.version.decode() if library.version != NULL else None
        i += 1
    return found


def libraries_origin() -> str:
    """Where the build found them: "system", "wheel", "source" or "prefix"."""
    return zc_libraries_origin().decode()


# ---- memory ------------------------------------------------------------------------------------------------------

cdef inline bint _is_plain_array(object data) noexcept:
    """Return whether it is an ndarray, no subclass, with contiguous items that hold no references."""
    cdef int kind
    if not cnp.PyArray_CheckExact(data) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>data):
        return False
    kind = cnp.PyArray_TYPE(<cnp.ndarray>data)
    return kind < cnp.NPY_OBJECT or cnp.NPY_OBJECT < kind < cnp.NPY_VOID or cnp.NPY_VOID < kind <= cnp.NPY_FLOAT16


def is_plain(data, *, writable=False) -> bool:
    """Whether the functions below take `data` as it is without any doubt: bytes and arrays of NumPy's own numbers.

    They take every other contiguous buffer too, but are not the ones to say what is wrong with it.
    """
    if _is_plain_array(data):
        return not writable or cnp.PyArray_ISWRITEABLE(<cnp.ndarray>data)
    return type(data) is bytearray or (type(data) is bytes and not writable)


@cython.final
@cython.no_gc          # what it holds lives longer than it
@cython.freelist(4)
cdef class _Memory:
    """The bytes of an object, which stay where they are as long as this exists."""

    cdef Py_buffer view

    def __cinit__(self, data, int flags=PyBUF_SIMPLE):
        if _is_plain_array(data):
            PyBuffer_FillInfo(&self.view, data, cnp.PyArray_DATA(<cnp.ndarray>data),
                              cnp.PyArray_NBYTES(<cnp.ndarray>data),
                              not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>data), flags)
        else:
            PyObject_GetBuffer(data, &self.view, flags)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef bint _overlap(const Py_buffer *a, const Py_buffer *b) noexcept:
    cdef const char *first = <const char *>a.buf
    cdef const char *second = <const char *>b.buf
    return first < second + b.len and second < first + a.len


# ---- calls -------------------------------------------------------------------------------------------------------

cdef object _codec_error(zc_status status, const zc_error *err, str where, bint decode=True):
    """Return the exception for a failure outside of any array, of the codec `where` or of one within it."""
    if err.codec[0] != 0:
        where = (<bytes>err.codec).decode()
    reason = message(err)
    if status == ZC_ERR_MEMORY:
        return MemoryError(f"{where}: {reason}")
    if status == ZC_ERR_CHECKSUM:
        return errors.ChecksumError(reason, codec=where)
    if not decode or status in (ZC_ERR_ENCODE, ZC_ERR_OVERFLOW, ZC_ERR_ARGUMENT):
        return errors.ChunkEncodeError(reason, codec=where)
    return errors.ChunkDecodeError(reason, codec=where)


cdef size_t _encoded_bound(zc_codec *codec, str name, size_t n) except? 0:
    """Return the most bytes that the encoding of n bytes can take."""
    cdef size_t bound = 0
    if n > codec.cls.max_decoded or not codec.cls.bound(codec, n, &bound):
        raise errors.ChunkEncodeError(f"cannot encode {n} bytes at once", codec=name)
    return bound


cdef Py_ssize_t _run_codec(zc_codec *codec, str name, const Py_buffer *data, void *dst, size_t cap,
                           bint decode, int threads) except -1:
    """Encode (cap is at least the bound) or decode to dst; returns how many bytes these are."""
    cdef bint shared = threads != 1 and name == "blosc"        # whose blocks know nothing of each other
    cdef Session call = Session.__new__(Session) if shared else None       # is asked for signals
    cdef zc_sharing sharing = zc_sharing(threads, poll_session, <void *>call)
    cdef zc_error err
    cdef zc_workspace *ws
    cdef size_t written = 0
    cdef zc_status status
    cdef size_t n = data.len
    cdef uint8_t nothing
    cdef const uint8_t *src = <const uint8_t *>data.buf if n else &nothing

    zc_error_clear(&err)
    with nogil:
        if shared and decode:
            status = zc_blosc_decode_shared(codec, &sharing, src, n, <uint8_t *>dst, cap, &written, &err)
        elif shared:
            status = zc_blosc_encode_shared(codec, &sharing, src, n, <uint8_t *>dst, cap, &written, &err)
        else:
            ws = zc_pool_borrow(&err)
            if ws == NULL:
                status = ZC_ERR_MEMORY
            elif decode:
                status = zc_codec_decode(codec, ws, src, n, <uint8_t *>dst, cap, &written, &err)
            else:
                status = zc_codec_encode(codec, ws, src, n, <uint8_t *>dst, cap, &written, &err)
            zc_pool_release(ws)
    if shared and call.error is not None:
        raise call.error
    if status != ZC_OK:
        raise _codec_error(status, &err, name, decode)
    return written


cdef bytes _run_codec_to_bytes(zc_codec *codec, str name, const Py_buffer *data, size_t cap, bint decode, int threads):
    """The same into new bytes, whose memory shrinks to what was written."""
    cdef PyObject *out = PyBytes_FromStringAndSize_(NULL, cap)
    cdef size_t written
    try:
        written = _run_codec(codec, name, data, PyBytes_AS_STRING(<object>out), cap, decode, threads)
        if written < cap:
            _PyBytes_Resize(&out, written)       # out is NULL if that fails
        return <bytes>out
    finally:
        Py_XDECREF(out)


cdef Py_ssize_t _run_codec_into(zc_codec *codec, str name, data, out, bint decode, int threads) except -1:
    """The same to the beginning of `out`, which may overlap `data`."""
    cdef _Memory room = _Memory(out, PyBUF_WRITABLE)
    cdef _Memory source = _Memory(data)
    cdef size_t cap = room.view.len if decode else _encoded_bound(codec, name, source.view.len)
    cdef uint8_t spare
    cdef bytes made
    if cap <= <size_t>room.view.len and not _overlap(&source.view, &room.view):
        return _run_codec(codec, name, &source.view, room.view.buf if room.view.len else &spare, room.view.len,
                          decode, threads)
    made = _run_codec_to_bytes(codec, name, &source.view, cap, decode, threads)
    if PyBytes_GET_SIZE(made) > room.view.len:
        raise ValueError(f"out: {name} needs {len(made)} bytes, there are {room.view.len}")
    memcpy(room.view.buf, PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))
    return PyBytes_GET_SIZE(made)


def check_options(str name not None, config) -> None:
    """Raise a ValueError if the codec, as it is in this build, cannot encode with these options."""
    cdef zc_codec codec
    cdef zc_error err
    cdef dict options = dict(config)
    configure(&codec, name, options)
    zc_error_clear(&err)
    if zc_codec_check(&codec, &err) != ZC_OK:
        raise ValueError(message(&err))


def encode_bytes(str name not None, config, data, int threads=1) -> bytes:
    """Encode contiguous bytes with one codec of the engine, whose options are those of a stage of a :class:`Chain`.

    `threads` is the most threads to use, 0 for the default; of blosc only.  Releases the GIL; any number of threads may
    call it at once, and the functions below.
    """
    cdef zc_codec codec
    cdef dict options = dict(config)
    configure(&codec, name, options)
    cdef _Memory source = _Memory(data)
    cdef size_t bound = _encoded_bound(&codec, name, source.view.len)
    return _run_codec_to_bytes(&codec, name, &source.view, bound, False, threads)


def decode_bytes(str name not None, config, data, Py_ssize_t max_size, int threads=1) -> bytes:
    """Decode bytes with one codec of the engine, to at most `max_size` bytes.

    Raises
    ------
    ChunkDecodeError, ChecksumError
        If the data are malformed, or stand for more than `max_size` bytes.
    """
    if max_size < 0:
        raise ValueError(f"max_size: expected 0 or more, got {max_size}")
    cdef zc_codec codec
    cdef dict options = dict(config)
    configure(&codec, name, options)
    cdef _Memory source = _Memory(data)
    return _run_codec_to_bytes(&codec, name, &source.view, max_size, True, threads)


def encode_into(str name not None, config, data, out, int threads=1) -> int:
    """Encode as :func:`encode_bytes`, to the beginning of `out`; return how many bytes were written.

    Raises ValueError if `out` is too small; what it has after a failure is undefined.
    """
    cdef zc_codec codec
    cdef dict options = dict(config)
    configure(&codec, name, options)
    return _run_codec_into(&codec, name, data, out, False, threads)


def decode_into(str name not None, config, data, out, int threads=1) -> int:
    """Decode as :func:`decode_bytes`, to the beginning of `out`; return how many bytes were written."""
    cdef zc_codec codec
    cdef dict options = dict(config)
    configure(&codec, name, options)
    return _run_codec_into(&codec, name, data, out, True, threads)
