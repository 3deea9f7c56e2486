# Declarations of the implementation of the public C API (csrc/capi).
from libc.stdint cimport int32_t, int64_t

from zarrcore._core.engine.csrc cimport cbool, zc_array, zc_error, zc_local, zc_poll, zc_status, zc_store, zc_writing

cdef extern from "include/zarrcore.h" nogil:
    ctypedef struct zarrcore_api:
        pass

    ctypedef struct zarrcore_error:
        int32_t status, sys_errno, chunk_ndim, reserved
        int64_t chunk[64]
        char codec[32]
        char key[256]
        char message[320]

    enum:
        ZARRCORE_READ_WRITE, ZARRCORE_SYNC, ZARRCORE_MISSING_IS_ERROR, ZARRCORE_FOLLOW_SYMLINKS, ZARRCORE_LOCKS
        ZARRCORE_ERR_METADATA

    const char *zarrcore_status_name(int status)

cdef extern from "capi/handle.h" nogil:
    ctypedef struct zarrcore_array:
        const char *const *names

    ctypedef struct zc_session:
        zc_store store
        zc_local local
        zc_poll poll
        void *poll_arg
        void *owner
        void *self
        cbool writes
        zc_writing writing

    ctypedef struct zc_backend:
        zc_status (*begin)(zc_session *session, zc_error *err) noexcept nogil
        void (*end)(zc_session *session, zc_error *err) noexcept nogil
        void (*destroy)(void *owner) noexcept nogil

    zarrcore_array *zc_handle_new(const zc_array *array, const zc_backend *backend, void *owner, bint writable,
                                  const char *typestr, const char *path)
    void zc_api_fill(zarrcore_api *out, zarrcore_array *(*from_python)(void *) except NULL,
                     int (*raise_error)(const zarrcore_error *) except -1,
                     int (*open)(const char *, int, zarrcore_array **, zarrcore_error *) noexcept)
    int zc_report(zarrcore_error *out, const zc_error *err, const zarrcore_array *array, const int64_t *chunk)
