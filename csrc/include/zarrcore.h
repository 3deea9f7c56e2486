/* SPDX-License-Identifier: MIT
 *
 * zarrcore for C, C++, Cython and Fortran: regions and chunks of Zarr arrays, read and written by threads.
 *
 * There are two ways to use it.
 *
 * From an extension module of Python.  The functions are those inside of the installed zarrcore (one thread
 * pool for all), reached through a table in a capsule.  Include Python.h first, then write
 *
 *     #define ZARRCORE_PYTHON_API
 *     #include <zarrcore.h>           // -I from zarrcore.get_include()
 *
 * and call import_zarrcore() once in the module's init function, in each file that includes this header.
 * zarrcore_from_python(array) then makes a handle of a zarrcore.Array.  In Cython: cimport zarrcore.
 *
 * From a program without Python.  Link with libzarrcore (`make lib`, pkg-config zarrcore) and open an array
 * in a local directory with zarrcore_open().
 *
 * Rules for all functions
 * - They return ZARRCORE_OK or a negative zarrcore_status and fill *error, which may be NULL.  Where a
 *   pointer must not be NULL, NULL returns ZARRCORE_ERR_ARGUMENT.  Nothing aborts, nothing prints.
 * - Any number of threads may call them at once, with one handle too.  Handles are immutable and counted.
 * - They are meant to be called without the GIL.  A thread that has it may call them too (it is released
 *   where Python code has to run); only zarrcore_from_python needs it.
 * - Arrays of indices, lengths and strides have one entry for each dimension of the array; strides are in
 *   bytes, may be negative, and NULL means C order without gaps.
 * - Elements in memory have the data type and byte order that zarrcore_typestr() returns.
 */
#ifndef ZARRCORE_H
#define ZARRCORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes only when something that exists changes; additions raise ZARRCORE_N_SLOTS. */
#define ZARRCORE_ABI_VERSION 1

#define ZARRCORE_MAX_DIMS 64

typedef enum zarrcore_status {
    ZARRCORE_OK = 0,
    ZARRCORE_ERR_MEMORY = -1,      /* an allocation failed */
    ZARRCORE_ERR_ARGUMENT = -2,    /* the caller asked for something impossible */
    ZARRCORE_ERR_CORRUPT = -3,     /* encoded data are malformed */
    ZARRCORE_ERR_CHECKSUM = -4,    /* a stored checksum does not match the data */
    ZARRCORE_ERR_SIZE = -5,        /* a value has another size than the metadata demand */
    ZARRCORE_ERR_RANGE = -6,       /* a stored offset or length points outside of its value */
    ZARRCORE_ERR_IO = -7,          /* the operating system refused, see sys_errno */
    ZARRCORE_ERR_MISSING = -8,     /* the array, chunk or inner chunk is not there */
    ZARRCORE_ERR_UNSUPPORTED = -9, /* this build cannot do it */
    ZARRCORE_ERR_OVERFLOW = -10,   /* a size does not fit into the address space */
    ZARRCORE_ERR_CANCELLED = -11,  /* interrupted; in Python the exception follows */
    ZARRCORE_ERR_CALLBACK = -12,   /* a store written in Python raised, see message */
    ZARRCORE_ERR_ENCODE = -13,     /* a compressor failed */
    ZARRCORE_ERR_METADATA = -14,   /* a metadata document is not valid, or asks for what is not supported */
    ZARRCORE_ERR_LOCKED = -15,     /* a chunk is written to while this thread, or one that waits for it, writes it */
    ZARRCORE_ERR_STALE = -17       /* Python has made the array smaller, or replaced or removed it, since the handle was made */
} zarrcore_status;

/* What went wrong, and where.  Initialise with ZARRCORE_ERROR_INIT; one may be used for many calls.  A
 * call that succeeds leaves it cleared.  New members come at the end. */
typedef struct zarrcore_error {
    uint32_t struct_size;          /* sizeof(zarrcore_error) of the caller */
    int32_t status;                /* a zarrcore_status */
    int32_t sys_errno;             /* errno where status is ZARRCORE_ERR_IO, else 0 */
    int32_t chunk_ndim;            /* entries of chunk; -1: the failure lies in no chunk */
    int64_t chunk[ZARRCORE_MAX_DIMS]; /* the chunk's coordinates in the chunk grid */
    int32_t in_shard;              /* not 0: the fault lies in one inner chunk of a shard, namely */
    int32_t reserved;
    uint64_t inner_chunk;          /*   this one (number in C order of the shard's inner chunks) */
    uint64_t offset;               /*   at this byte of the shard */
    uint64_t nbytes;               /*   with this length */
    char codec[32];                /* name of the codec that failed, or "" */
    char key[256];                 /* store key of the chunk (cut off where longer), or "" */
    char message[320];             /* one clause in plain English */
} zarrcore_error;

#ifdef __cplusplus
#define ZARRCORE_ERROR_INIT {sizeof(zarrcore_error), 0, 0, 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}}
#else
#define ZARRCORE_ERROR_INIT {.struct_size = sizeof(zarrcore_error)}
#endif

/* Place of an inner chunk in its shard.  One that is not there has ZARRCORE_EMPTY in both. */
typedef struct zarrcore_extent {
    uint64_t offset;
    uint64_t nbytes;
} zarrcore_extent;

#define ZARRCORE_EMPTY UINT64_MAX

/* Flags of zarrcore_write: store chunks that hold nothing but the fill value, instead of removing them. */
#define ZARRCORE_WRITE_EMPTY 1

/* Flags of zarrcore_open. */
#define ZARRCORE_READ_WRITE 1      /* allow zarrcore_write */
#define ZARRCORE_SYNC 2            /* flush what is written to the disk */
#define ZARRCORE_MISSING_IS_ERROR 4 /* reading an absent chunk fails, instead of giving the fill value */
#define ZARRCORE_FOLLOW_SYMLINKS 8 /* read through symbolic links that leave the directory; nothing is written through them */

/* An open array. */
typedef struct zarrcore_array zarrcore_array;

/*
 * The functions as extension modules reach them.  What each does is said at its prototype, below.
 * Slots are only ever added, at the end.
 */
typedef struct zarrcore_api {
    uint32_t abi_version;
    uint32_t struct_size;
    uint32_t n_slots;
    uint32_t reserved;

    const char *(*version)(void);
    const char *(*status_name)(int status);
    int (*get_num_threads)(void);
    int (*set_num_threads)(int threads);
    zarrcore_array *(*from_python)(void *object);
    void (*retain)(const zarrcore_array *array);
    void (*release)(const zarrcore_array *array);
    int (*ndim)(const zarrcore_array *array);
    int (*shape)(const zarrcore_array *array, int64_t *out);
    int (*chunk_shape)(const zarrcore_array *array, int64_t *out);
    int (*inner_chunk_shape)(const zarrcore_array *array, int64_t *out);
    int (*is_sharded)(const zarrcore_array *array);
    int (*grid_shape)(const zarrcore_array *array, int64_t *out);
    int (*chunk_box)(const zarrcore_array *array, const int64_t *chunk, int64_t *start, int64_t *shape);
    int64_t (*itemsize)(const zarrcore_array *array);
    const char *(*typestr)(const zarrcore_array *array);
    int (*kind)(const zarrcore_array *array);
    int (*byte_order)(const zarrcore_array *array);
    int (*fill_value)(const zarrcore_array *array, void *out, size_t capacity);
    const char *(*path)(const zarrcore_array *array);
    int (*is_writable)(const zarrcore_array *array);
    int (*read)(const zarrcore_array *array, const int64_t *start, const int64_t *step, const int64_t *count,
                void *memory, const int64_t *strides, int threads, zarrcore_error *error);
    int (*write)(const zarrcore_array *array, const int64_t *start, const int64_t *step, const int64_t *count,
                 const void *memory, const int64_t *strides, int threads, int flags, zarrcore_error *error);
    int (*chunk_key)(const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity,
                     size_t *needed);
    int (*chunk_sizes)(const zarrcore_array *array, const int64_t *chunk, size_t *decoded,
                       size_t *encoded_bound, zarrcore_error *error);
    int (*load_chunk)(const zarrcore_array *array, const int64_t *chunk, uint64_t offset, void *out,
                      size_t capacity, size_t *nbytes, zarrcore_error *error);
    int (*decode_chunk)(const zarrcore_array *array, const int64_t *chunk, const void *data, size_t nbytes,
                        void *out, size_t out_nbytes, zarrcore_error *error);
    int (*encode_chunk)(const zarrcore_array *array, const int64_t *chunk, const void *elements,
                        size_t elements_nbytes, void *out, size_t capacity, size_t *nbytes,
                        zarrcore_error *error);
    int (*decode_inner_chunk)(const zarrcore_array *array, const void *data, size_t nbytes, void *out,
                              size_t out_nbytes, zarrcore_error *error);
    int (*shard_index)(const zarrcore_array *array, const int64_t *chunk, zarrcore_extent *out, size_t n,
                       zarrcore_error *error);
    int (*find_inner_chunk)(const zarrcore_array *array, const int64_t *chunk, const int64_t *inner,
                            zarrcore_extent *out, zarrcore_error *error);
} zarrcore_api;

#define ZARRCORE_N_SLOTS 31

#ifndef ZARRCORE_PYTHON_API

#if defined(__GNUC__) || defined(__clang__)
#define ZARRCORE_PUBLIC __attribute__((visibility("default")))
#else
#define ZARRCORE_PUBLIC
#endif

/* ---- the library -------------------------------------------------------------------------------- */

/* Version of zarrcore, as "1.2.3". */
ZARRCORE_PUBLIC const char *zarrcore_version(void);

/* Name of a status in words, for messages; never NULL. */
ZARRCORE_PUBLIC const char *zarrcore_status_name(int status);

/* Threads that a call with threads = 0 may use, the calling one included. */
ZARRCORE_PUBLIC int zarrcore_get_num_threads(void);

/* 0: the CPUs that affinity mask and cgroup quota leave to this process. */
ZARRCORE_PUBLIC int zarrcore_set_num_threads(int threads);

/* ---- handles ------------------------------------------------------------------------------------ */

/* libzarrcore only: open the array in a local directory (the one with zarr.json or .zarray in it). */
ZARRCORE_PUBLIC int zarrcore_open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error);

/* One more owner. */
ZARRCORE_PUBLIC void zarrcore_retain(const zarrcore_array *array);

/* One owner less; the last one frees the handle (of a Python array: takes the GIL for that).  NULL is
 * ignored. */
ZARRCORE_PUBLIC void zarrcore_release(const zarrcore_array *array);

/* ---- what an array is --------------------------------------------------------------------------- */

/* Number of dimensions, or a negative status. */
ZARRCORE_PUBLIC int zarrcore_ndim(const zarrcore_array *array);

/* Each of these writes ndim lengths to out. */
ZARRCORE_PUBLIC int zarrcore_shape(const zarrcore_array *array, int64_t *out);

/* Of the chunks that have keys of their own; with sharding: of the shards.  ZARRCORE_ERR_UNSUPPORTED for
 * a grid of chunks of different shapes, see zarrcore_chunk_box. */
ZARRCORE_PUBLIC int zarrcore_chunk_shape(const zarrcore_array *array, int64_t *out);

/* Of the inner chunks of shards; without sharding the same as zarrcore_chunk_shape. */
ZARRCORE_PUBLIC int zarrcore_inner_chunk_shape(const zarrcore_array *array, int64_t *out);

/* 1 if chunks are shards, else 0. */
ZARRCORE_PUBLIC int zarrcore_is_sharded(const zarrcore_array *array);

/* Number of chunks along each dimension. */
ZARRCORE_PUBLIC int zarrcore_grid_shape(const zarrcore_array *array, int64_t *out);

/* First element and full shape of one chunk, which may reach beyond the array.  Both may be NULL. */
ZARRCORE_PUBLIC int zarrcore_chunk_box(const zarrcore_array *array, const int64_t *chunk, int64_t *start,
                                       int64_t *shape);

/* Bytes of one element, or a negative status. */
ZARRCORE_PUBLIC int64_t zarrcore_itemsize(const zarrcore_array *array);

/* Data type of elements in memory as numpy spells it, such as "<f4"; lives as long as the handle.  NULL
 * for NULL. */
ZARRCORE_PUBLIC const char *zarrcore_typestr(const zarrcore_array *array);

/* The parts of it: kind ('b' boolean, 'i', 'u', 'f', 'c', 'M', 'm', 'S', 'U', 'V'), and '<', '>' or '|'. */
ZARRCORE_PUBLIC int zarrcore_kind(const zarrcore_array *array);
ZARRCORE_PUBLIC int zarrcore_byte_order(const zarrcore_array *array);

/* Copy the fill value, one element; capacity is the room at out. */
ZARRCORE_PUBLIC int zarrcore_fill_value(const zarrcore_array *array, void *out, size_t capacity);

/* Where the array lies, for messages: its path in the store, or the directory.  NULL for NULL. */
ZARRCORE_PUBLIC const char *zarrcore_path(const zarrcore_array *array);

/* 1 if zarrcore_write is allowed, else 0. */
ZARRCORE_PUBLIC int zarrcore_is_writable(const zarrcore_array *array);

/* ---- regions ------------------------------------------------------------------------------------ */

/*
 * Read a region into memory: element k of dimension d is element start[d] + k * step[d] of the array, for
 * k < count[d], and is put at byte k * strides[d].
 *
 * start NULL: 0.  step NULL: 1; steps may be negative, not zero.  count NULL: up to the end of the array
 * (steps must be positive then).  Nothing is wrapped round or clipped: a region that leaves the array is
 * ZARRCORE_ERR_ARGUMENT.  threads: most threads to use; 0: the default; 1 where the caller has threads of
 * its own.  After a failure the memory may be partly written.
 */
ZARRCORE_PUBLIC int zarrcore_read(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                                  const int64_t *count, void *memory, const int64_t *strides, int threads,
                                  zarrcore_error *error);

/*
 * Write memory to a region; parameters as of zarrcore_read, strides may be 0.  flags: 0 or
 * ZARRCORE_WRITE_EMPTY.  Each chunk is replaced atomically, and chunks written in part are safe against
 * other threads of this process, not against other processes.
 */
ZARRCORE_PUBLIC int zarrcore_write(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                                   const int64_t *count, const void *memory, const int64_t *strides,
                                   int threads, int flags, zarrcore_error *error);

/* ---- single chunks ------------------------------------------------------------------------------ */

/* Store key of a chunk.  *needed (may be NULL) is its length with the terminator; ZARRCORE_ERR_SIZE where
 * that exceeds capacity.  out may be NULL with capacity 0. */
ZARRCORE_PUBLIC int zarrcore_chunk_key(const zarrcore_array *array, const int64_t *chunk, char *out,
                                       size_t capacity, size_t *needed);

/* Bytes of a chunk in memory, and the most that its encoding can take.  Both may be NULL. */
ZARRCORE_PUBLIC int zarrcore_chunk_sizes(const zarrcore_array *array, const int64_t *chunk, size_t *decoded,
                                         size_t *encoded_bound, zarrcore_error *error);

/*
 * Encoded bytes of a chunk, from the store: those from offset on, at most capacity, to out.  *nbytes (may be
 * NULL) is the length of the whole value, so that a call with capacity 0 asks for it.  ZARRCORE_ERR_MISSING
 * if the chunk is not there.
 */
ZARRCORE_PUBLIC int zarrcore_load_chunk(const zarrcore_array *array, const int64_t *chunk, uint64_t offset,
                                        void *out, size_t capacity, size_t *nbytes, zarrcore_error *error);

/* Decode a whole chunk from memory to memory: C order, exactly the decoded size. */
ZARRCORE_PUBLIC int zarrcore_decode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *data,
                                          size_t nbytes, void *out, size_t out_nbytes, zarrcore_error *error);

/* Encode a whole chunk (C order, exactly the decoded size); nothing is stored.  ZARRCORE_ERR_SIZE if it
 * takes more than capacity, with *nbytes the size it takes. */
ZARRCORE_PUBLIC int zarrcore_encode_chunk(const zarrcore_array *array, const int64_t *chunk,
                                          const void *elements, size_t elements_nbytes, void *out,
                                          size_t capacity, size_t *nbytes, zarrcore_error *error);

/* Decode one inner chunk of a shard, whose bytes the caller has. */
ZARRCORE_PUBLIC int zarrcore_decode_inner_chunk(const zarrcore_array *array, const void *data, size_t nbytes,
                                                void *out, size_t out_nbytes, zarrcore_error *error);

/* All entries of the index of a shard, n of them, in C order of the inner chunks as they are stored. */
ZARRCORE_PUBLIC int zarrcore_shard_index(const zarrcore_array *array, const int64_t *chunk,
                                         zarrcore_extent *out, size_t n, zarrcore_error *error);

/* Find one inner chunk (coordinates within the shard) in the index of its shard.  ZARRCORE_ERR_MISSING if the
 * shard or the inner chunk is not there. */
ZARRCORE_PUBLIC int zarrcore_find_inner_chunk(const zarrcore_array *array, const int64_t *chunk,
                                              const int64_t *inner, zarrcore_extent *out,
                                              zarrcore_error *error);

#else /* ZARRCORE_PYTHON_API */

#ifndef Py_PYTHON_H
#error "include Python.h before zarrcore.h"
#endif

static const zarrcore_api *zarrcore_api_table;

/*
 * A new handle of a zarrcore.Array (a PyObject *).  Keeps the array's engine and its store alive; follows no
 * later resize.  NULL with a Python exception set on failure: TypeError where the object is no zarrcore.Array
 * or has a part that is written in Python.  Needs the GIL.
 */
#define zarrcore_from_python (zarrcore_api_table->from_python)

#define zarrcore_version (zarrcore_api_table->version)
#define zarrcore_status_name (zarrcore_api_table->status_name)
#define zarrcore_get_num_threads (zarrcore_api_table->get_num_threads)
#define zarrcore_set_num_threads (zarrcore_api_table->set_num_threads)
#define zarrcore_retain (zarrcore_api_table->retain)
#define zarrcore_release (zarrcore_api_table->release)
#define zarrcore_ndim (zarrcore_api_table->ndim)
#define zarrcore_shape (zarrcore_api_table->shape)
#define zarrcore_chunk_shape (zarrcore_api_table->chunk_shape)
#define zarrcore_inner_chunk_shape (zarrcore_api_table->inner_chunk_shape)
#define zarrcore_is_sharded (zarrcore_api_table->is_sharded)
#define zarrcore_grid_shape (zarrcore_api_table->grid_shape)
#define zarrcore_chunk_box (zarrcore_api_table->chunk_box)
#define zarrcore_itemsize (zarrcore_api_table->itemsize)
#define zarrcore_typestr (zarrcore_api_table->typestr)
#define zarrcore_kind (zarrcore_api_table->kind)
#define zarrcore_byte_order (zarrcore_api_table->byte_order)
#define zarrcore_fill_value (zarrcore_api_table->fill_value)
#define zarrcore_path (zarrcore_api_table->path)
#define zarrcore_is_writable (zarrcore_api_table->is_writable)
#define zarrcore_read (zarrcore_api_table->read)
#define zarrcore_write (zarrcore_api_table->write)
#define zarrcore_chunk_key (zarrcore_api_table->chunk_key)
#define zarrcore_chunk_sizes (zarrcore_api_table->chunk_sizes)
#define zarrcore_load_chunk (zarrcore_api_table->load_chunk)
#define zarrcore_decode_chunk (zarrcore_api_table->decode_chunk)
#define zarrcore_encode_chunk (zarrcore_api_table->encode_chunk)
#define zarrcore_decode_inner_chunk (zarrcore_api_table->decode_inner_chunk)
#define zarrcore_shard_index (zarrcore_api_table->shard_index)
#define zarrcore_find_inner_chunk (zarrcore_api_table->find_inner_chunk)

/* Get the table.  0, or -1 with an ImportError set; needs the GIL. */
static inline int import_zarrcore(void)
{
    PyObject *const module = PyImport_ImportModule("zarrcore._core.engine");
    PyObject *const capsule = module != NULL ? PyObject_GetAttrString(module, "_C_API") : NULL;
    const zarrcore_api *api = NULL;

    if (capsule != NULL) {
        api = (const zarrcore_api *)PyCapsule_GetPointer(capsule, "zarrcore._core.engine._C_API");
    }
    Py_XDECREF(capsule);       /* the module keeps both alive */
    Py_XDECREF(module);
    if (api == NULL) {
        return -1;
    }
    if (api->abi_version != ZARRCORE_ABI_VERSION || api->n_slots < ZARRCORE_N_SLOTS ||
        api->struct_size < sizeof *api) {
        PyErr_Format(PyExc_ImportError,
                     "compiled for the C API %d (%d functions) of zarrcore, found %d (%d functions)",
                     ZARRCORE_ABI_VERSION, ZARRCORE_N_SLOTS, (int)api->abi_version, (int)api->n_slots);
        return -1;
    }
    zarrcore_api_table = api;
    return 0;
}

#endif /* ZARRCORE_PYTHON_API */

#ifdef __cplusplus
}
#endif

#endif
