# SPDX-License-Identifier: MIT
#
# The C API for Cython (see zarrcore.h for what each function does):
#
#     cimport zarrcore
#     zarrcore.import_zarrcore()
#
# and, when compiling, zarrcore.get_include() among the include directories.
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

cdef extern from *:
    """
    #define ZARRCORE_PYTHON_API
    """

cdef extern from "zarrcore.h" nogil:
    enum:
        ZARRCORE_ABI_VERSION, ZARRCORE_MAX_DIMS, ZARRCORE_MAX_THREADS, ZARRCORE_N_SLOTS, ZARRCORE_WRITE_EMPTY
        ZARRCORE_READ_WRITE, ZARRCORE_SYNC, ZARRCORE_MISSING_IS_ERROR, ZARRCORE_FOLLOW_SYMLINKS, ZARRCORE_LOCKS

    const uint64_t ZARRCORE_EMPTY

    ctypedef enum zarrcore_status:
        ZARRCORE_OK, ZARRCORE_ERR_MEMORY, ZARRCORE_ERR_ARGUMENT, ZARRCORE_ERR_CORRUPT
        ZARRCORE_ERR_CHECKSUM, ZARRCORE_ERR_SIZE, ZARRCORE_ERR_RANGE, ZARRCORE_ERR_IO, ZARRCORE_ERR_MISSING
        ZARRCORE_ERR_UNSUPPORTED, ZARRCORE_ERR_OVERFLOW, ZARRCORE_ERR_CANCELLED, ZARRCORE_ERR_CALLBACK
        ZARRCORE_ERR_ENCODE, ZARRCORE_ERR_METADATA, ZARRCORE_ERR_LOCKED, ZARRCORE_ERR_STALE, ZARRCORE_ERR_VALUE
        ZARRCORE_ERR_EXISTS

    ctypedef struct zarrcore_error:
        uint32_t struct_size
        int32_t status
        int32_t sys_errno
        int32_t chunk_ndim
        int64_t chunk[64]
        int32_t in_shard
        uint64_t inner_chunk
        uint64_t offset
        uint64_t nbytes
        char codec[32]
        char key[256]
        char message[320]

    ctypedef struct zarrcore_extent:
        uint64_t offset, nbytes

    ctypedef struct zarrcore_array:
        pass

    ctypedef struct zarrcore_region:
        const zarrcore_array *array
        const char *type
        int64_t ndim
        const int64_t *start
        const int64_t *step
        const int64_t *count
        void *memory
        size_t nbytes
        const int64_t *strides

    const char *zarrcore_version()
    const char *zarrcore_status_name(int status)
    int zarrcore_get_num_threads()
    int zarrcore_set_num_threads(int threads)
    int zarrcore_shutdown()
    void zarrcore_retain(const zarrcore_array *array)
    void zarrcore_release(const zarrcore_array *array)
    int zarrcore_ndim(const zarrcore_array *array)
    int zarrcore_shape(const zarrcore_array *array, int64_t *out)
    int zarrcore_chunk_shape(const zarrcore_array *array, int64_t *out)
    int zarrcore_inner_chunk_shape(const zarrcore_array *array, int64_t *out)
    int zarrcore_is_sharded(const zarrcore_array *array)
    int zarrcore_grid_shape(const zarrcore_array *array, int64_t *out)
    int zarrcore_chunk_box(const zarrcore_array *array, const int64_t *chunk, int64_t *start, int64_t *shape)
    int64_t zarrcore_itemsize(const zarrcore_array *array)
    const char *zarrcore_typestr(const zarrcore_array *array)
    int zarrcore_kind(const zarrcore_array *array)
    int zarrcore_byte_order(const zarrcore_array *array)
    int zarrcore_fill_value(const zarrcore_array *array, void *out, size_t capacity)
    const char *zarrcore_path(const zarrcore_array *array)
    int zarrcore_is_writable(const zarrcore_array *array)
    int zarrcore_read(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                      const int64_t *count, void *memory, const int64_t *strides, int threads,
                      zarrcore_error *error)
    int zarrcore_write(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                       const int64_t *count, const void *memory, const int64_t *strides, int threads,
                       int flags, zarrcore_error *error)
    int zarrcore_read_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                         const int64_t *step, const int64_t *count, void *memory, size_t nbytes,
                         const int64_t *strides, int threads, zarrcore_error *error)
    int zarrcore_write_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                          const int64_t *step, const int64_t *count, const void *memory, size_t nbytes,
                          const int64_t *strides, int threads, int flags, zarrcore_error *error)
    int zarrcore_set_cache(const zarrcore_array *array, int64_t nbytes)
    int zarrcore_set_write_buffer(const zarrcore_array *array, int64_t nbytes, zarrcore_error *error)
    int zarrcore_flush(const zarrcore_array *array, zarrcore_error *error)
    int zarrcore_close(const zarrcore_array *array, zarrcore_error *error)
    int zarrcore_read_points(const zarrcore_array *array, const char *type, int ndim, size_t n,
                             const int64_t *points, void *memory, size_t nbytes, int threads, zarrcore_error *error)
    int zarrcore_read_many(const zarrcore_region *regions, size_t n, int threads, size_t *failed,
                           zarrcore_error *error)
    int zarrcore_open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error)
    int zarrcore_chunk_lengths(const zarrcore_array *array, int dimension, int64_t *out, size_t n)
    int zarrcore_decompose(const zarrcore_array *array, int ranks, int rank, int64_t *start, int64_t *count)
    const char *zarrcore_dimension_name(const zarrcore_array *array, int dimension)
    int zarrcore_chunk_key(const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity,
                           size_t *needed)
    int zarrcore_chunk_sizes(const zarrcore_array *array, const int64_t *chunk, size_t *decoded,
                             size_t *encoded_bound, zarrcore_error *error)
    int zarrcore_load_chunk(const zarrcore_array *array, const int64_t *chunk, uint64_t offset, void *out,
                            size_t capacity, size_t *nbytes, zarrcore_error *error)
    int zarrcore_decode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *data,
                              size_t nbytes, void *out, size_t out_nbytes, zarrcore_error *error)
    int zarrcore_encode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *elements,
                              size_t elements_nbytes, void *out, size_t capacity, size_t *nbytes,
                              zarrcore_error *error)
    int zarrcore_decode_inner_chunk(const zarrcore_array *array, const void *data, size_t nbytes, void *out,
                                    size_t out_nbytes, zarrcore_error *error)
    int zarrcore_shard_index(const zarrcore_array *array, const int64_t *chunk, zarrcore_extent *out,
                             size_t n, zarrcore_error *error)
    int zarrcore_find_inner_chunk(const zarrcore_array *array, const int64_t *chunk, const int64_t *inner,
                                  zarrcore_extent *out, zarrcore_error *error)

cdef extern from "zarrcore.h":
    int import_zarrcore() except -1
    zarrcore_array *_from_python "zarrcore_from_python"(void *array) except NULL
    int zarrcore_raise(const zarrcore_error *error) except -1

# ZARRCORE_ERROR_INIT is no expression.
cdef inline zarrcore_error zarrcore_no_error() noexcept nogil:
    """An error record that is ready for use."""
    cdef zarrcore_error error
    memset(&error, 0, sizeof(zarrcore_error))
    error.struct_size = sizeof(zarrcore_error)
    error.chunk_ndim = -1
    return error


cdef inline zarrcore_array *zarrcore_from_python(object array) except NULL:
    """A new handle of a zarrcore.Array; give it back with zarrcore_release."""
    return _from_python(<void *>array)
