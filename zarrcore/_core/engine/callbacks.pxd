# Codecs that only Python has.
cimport cython

from zarrcore._core.engine.csrc cimport zc_callback, zc_codec


@cython.final
cdef class Callback:
    cdef zc_callback c
    cdef object coder
    cdef bytes name

    cdef void set_stage(self, zc_codec *out) noexcept
