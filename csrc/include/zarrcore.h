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
 * and call import_zarrcore() in the module's init function, once for all files of the module.
 * zarrcore_from_python(array) then makes a handle of a zarrcore.Array.  In Cython: cimport zarrcore.
 *
 * From a program without Python.  Link with libzarrcore (`make lib`, pkg-config zarrcore) and open an array
 * in a local directory with zarrcore_open(), or the whole tree with zarrcore_open_store(), whose functions create,
 * list, change and remove arrays, groups and attributes; or one in a store of your own with zarrcore_open_callbacks().
 *
 * Rules for all functions
 * - They return ZARRCORE_OK or a negative zarrcore_status and fill *error, which may be NULL.  Where a
 *   pointer must not be NULL, NULL returns ZARRCORE_ERR_ARGUMENT.  Nothing aborts, nothing prints (but see
 *   zarrcore_release).
 * - Any number of threads may call them at once, with one handle too.  Handles are immutable and counted.
 * - They are meant to be called without the GIL.  A thread that has it may call them too (it is released
 *   where Python code has to run); only zarrcore_from_python needs it.
 * - Arrays of indices, lengths and strides have one entry for each dimension of the array; strides are in
 *   bytes, may be negative, and NULL means C order without gaps.
 * - Pointers are used during the call alone; nothing that the caller passed is kept or freed (but see zarrcore_open_callbacks).  Texts that are returned live as long as
 *   their handle.  What a handle needs is freed with it; threads keep scratch memory for later calls.
 * - fork(): a child may go on with the handles that it has inherited.  It starts without threads, with empty caches and with nothing
 *   pending in write buffers.
 * - Functions of yours that the library calls have to return to it: no exception of C++ and no longjmp may leave them.  Locks would stay
 *   taken for ever.
 * - Signals: no function may be called by a signal handler of C; none installs a handler, and the library's threads take no signals.
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
#define ZARRCORE_MAX_THREADS 512

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
    ZARRCORE_ERR_STALE = -17,      /* Python has made the array smaller, or replaced or removed it, since the handle was made */
    ZARRCORE_ERR_VALUE = -18,      /* a number is to be converted to a type that has no such number */
    ZARRCORE_ERR_EXISTS = -19      /* an array or group is there already, or an array above the place */
} zarrcore_status;

/* What went wrong, and where.  Initialise with ZARRCORE_ERROR_INIT, or with zero bytes; one may be used for many
 * calls.  A call that succeeds leaves it cleared.  New members come at the end. */
typedef struct zarrcore_error {
    uint32_t struct_size;          /* sizeof(zarrcore_error) of the caller; 0: that of ABI version 1 */
    int32_t status;                /* a zarrcore_status */
    int32_t sys_errno;             /* errno where status is ZARRCORE_ERR_IO, else 0 */
    int32_t chunk_ndim;            /* entries of chunk; -1: the failure lies in no chunk */
    int64_t chunk[ZARRCORE_MAX_DIMS]; /* the chunk's coordinates in the chunk grid */
    int32_t in_shard;              /* not 0: the fault lies in one inner chunk of a shard, namely */
    int32_t reserved;              /* for zarrcore_raise */
    uint64_t inner_chunk;          /*   this one (number in C order of the shard's inner chunks) */
    uint64_t offset;               /*   at this byte of the shard */
    uint64_t nbytes;               /*   with this length */
    char codec[32];                /* name of the codec that failed, or "" */
    char key[256];                 /* store key of the chunk (cut off where longer), or "" */
    char message[320];             /* one clause in plain English */
} zarrcore_error;

#ifdef __cplusplus
#define ZARRCORE_ERROR_INIT {sizeof(zarrcore_error), 0, 0, -1, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}}
#else
#define ZARRCORE_ERROR_INIT {.struct_size = sizeof(zarrcore_error), .chunk_ndim = -1}
#endif

/* Place of an inner chunk in its shard.  One that is not there has ZARRCORE_EMPTY in both. */
typedef struct zarrcore_extent {
    uint64_t offset;
    uint64_t nbytes;
} zarrcore_extent;

#define ZARRCORE_EMPTY UINT64_MAX

/* Flags of zarrcore_write: store chunks that hold nothing but the fill value, instead of removing them. */
#define ZARRCORE_WRITE_EMPTY 1

/* Flags of zarrcore_open and zarrcore_open_store. */
#define ZARRCORE_READ_WRITE 1      /* allow zarrcore_write */
#define ZARRCORE_SYNC 2            /* flush what is written to the disk */
#define ZARRCORE_MISSING_IS_ERROR 4 /* reading an absent chunk fails, instead of giving the fill value */
#define ZARRCORE_FOLLOW_SYMLINKS 8 /* read through symbolic links that leave the directory; nothing is written through them */
#define ZARRCORE_CREATE 16         /* zarrcore_open_store: make a directory that is missing, and those above it */
#define ZARRCORE_LOCKS 32          /* local directories: wait for other processes that ask for locks, see zarrcore_open_store */

/* An open array. */
typedef struct zarrcore_array zarrcore_array;

/* A region for zarrcore_read_many; members are parameters of zarrcore_read_as. */
typedef struct zarrcore_region {
    const zarrcore_array *array;
    const char *type;
    int64_t ndim;
    const int64_t *start;
    const int64_t *step;
    const int64_t *count;
    void *memory;
    size_t nbytes;
    const int64_t *strides;
} zarrcore_region;

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
    int (*shutdown)(void);
    int (*raise)(const zarrcore_error *error);
    int (*read_as)(const zarrcore_array *array, const char *type, int ndim, const int64_t *start, const int64_t *step,
                   const int64_t *count, void *memory, size_t nbytes, const int64_t *strides, int threads,
                   zarrcore_error *error);
    int (*write_as)(const zarrcore_array *array, const char *type, int ndim, const int64_t *start, const int64_t *step,
                    const int64_t *count, const void *memory, size_t nbytes, const int64_t *strides, int threads,
                    int flags, zarrcore_error *error);
    int (*set_cache)(const zarrcore_array *array, int64_t nbytes);
    int (*set_write_buffer)(const zarrcore_array *array, int64_t nbytes, zarrcore_error *error);
    int (*flush)(const zarrcore_array *array, zarrcore_error *error);
    int (*close)(const zarrcore_array *array, zarrcore_error *error);
    int (*read_points)(const zarrcore_array *array, const char *type, int ndim, size_t n, const int64_t *points,
                       void *memory, size_t nbytes, int threads, zarrcore_error *error);
    int (*read_many)(const zarrcore_region *regions, size_t n, int threads, size_t *failed, zarrcore_error *error);
    int (*open)(const char *path, int flags, zarrcore_array **out, zarrcore_error *error);
    const char *(*dimension_name)(const zarrcore_array *array, int dimension);
    int (*chunk_lengths)(const zarrcore_array *array, int dimension, int64_t *out, size_t n);
    int (*decompose)(const zarrcore_array *array, int ranks, int rank, int64_t *start, int64_t *count);
} zarrcore_api;

#define ZARRCORE_N_SLOTS 45

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

/* 0: the CPUs that affinity mask and cgroup quota leave to this process.  Returns ZARRCORE_OK, or
 * ZARRCORE_ERR_ARGUMENT below 0 and above ZARRCORE_MAX_THREADS. */
ZARRCORE_PUBLIC int zarrcore_set_num_threads(int threads);

/*
 * End the threads of the library, those at work when it is done, and free scratch memory that is kept for later calls; a later call that
 * needs threads starts new ones.  Nothing needs it: idle threads sleep, and a library that dlclose() would unload stays.  ZARRCORE_ERR_ARGUMENT if a callback
 * calls it in the middle of a call.
 */
ZARRCORE_PUBLIC int zarrcore_shutdown(void);

/* ---- handles ------------------------------------------------------------------------------------ */

/* Open the array in a local directory (the one with zarr.json or .zarray in it), or in a ZIP archive.  In an extension module the Python package opens
 * it, which takes the GIL and knows more documents; ZARRCORE_SYNC is ZARRCORE_ERR_UNSUPPORTED there. */
ZARRCORE_PUBLIC int zarrcore_open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error);

/* One more owner. */
ZARRCORE_PUBLIC void zarrcore_retain(const zarrcore_array *array);

/* One owner less; the last one frees the handle (of a Python array: takes the GIL for that).  NULL is
 * ignored.  What is pending in a write buffer is stored; if that fails, that is a line on stderr alone, where zarrcore_close returns it. */
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

/* 1 if chunks are shards, else 0, for NULL too. */
ZARRCORE_PUBLIC int zarrcore_is_sharded(const zarrcore_array *array);

/* Number of chunks along each dimension. */
ZARRCORE_PUBLIC int zarrcore_grid_shape(const zarrcore_array *array, int64_t *out);

/* First element and full shape of one chunk, which may reach beyond the array.  Both may be NULL. */
ZARRCORE_PUBLIC int zarrcore_chunk_box(const zarrcore_array *array, const int64_t *chunk, int64_t *start,
                                       int64_t *shape);

/* Lengths of the chunks along a dimension, as many as zarrcore_grid_shape returns for it, to out, which has room for n; of a last one
 * that reaches beyond the array, the part inside.  With sharding: of the shards.  ZARRCORE_ERR_SIZE if there are more than n. */
ZARRCORE_PUBLIC int zarrcore_chunk_lengths(const zarrcore_array *array, int dimension, int64_t *out, size_t n);

/*
 * The region of one of several processes (or threads) that write an array together: first element and lengths, to start and count.  The
 * regions of all ranks cover the array once and are made of whole chunks, of shards where there are any, so that no two write to one
 * chunk.  They have about as many chunks each; where there are fewer chunks than ranks, some have a count of 0.  Every rank finds its
 * region alone.  An array without dimensions is that of rank 0: ZARRCORE_ERR_MISSING for others.  Any thread.
 */
ZARRCORE_PUBLIC int zarrcore_decompose(const zarrcore_array *array, int ranks, int rank, int64_t *start, int64_t *count);

/* Name of a dimension (in format 2 the one that xarray stores as an attribute); lives as long as the handle.  A zero byte in
 * it is spelled as in JSON.  NULL if it has none, and where there is no such dimension. */
ZARRCORE_PUBLIC const char *zarrcore_dimension_name(const zarrcore_array *array, int dimension);

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

/* 1 if zarrcore_write is allowed, else 0, for NULL too. */
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
 * other threads of this process, and against other processes where all of them have opened the array with ZARRCORE_LOCKS.
 */
ZARRCORE_PUBLIC int zarrcore_write(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                                   const int64_t *count, const void *memory, const int64_t *strides,
                                   int threads, int flags, zarrcore_error *error);

/*
 * The same for memory whose type, number of dimensions and size are given and checked, so that nothing is written beyond it
 * or taken for what it is not.  type: as numpy spells it, such as "f8" (the machine's byte order), "<i4" or "|V12".  nbytes: of
 * memory, from the lowest to the highest address that the strides reach; too few are ZARRCORE_ERR_SIZE.
 *
 * Numbers (b1, i1 to i8, u1 to u8, f2 to f8, c8, c16) are converted where the type is not the array's, under the rules of the Python
 * package: floats are rounded to the nearest one, and what is too large becomes infinite; a number that an integer type, or a Boolean,
 * has not (out of range, with a fraction, NaN) is ZARRCORE_ERR_VALUE.  Nothing is written then; memory may be partly read into.
 * Complex numbers become no real ones: that, types of other kinds that differ from the array's, and another number of
 * dimensions, are ZARRCORE_ERR_ARGUMENT.  A conversion takes memory for some chunks, at most for the region in the array's type.
 */
ZARRCORE_PUBLIC int zarrcore_read_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                                     const int64_t *step, const int64_t *count, void *memory, size_t nbytes,
                                     const int64_t *strides, int threads, zarrcore_error *error);
ZARRCORE_PUBLIC int zarrcore_write_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                                      const int64_t *step, const int64_t *count, const void *memory, size_t nbytes,
                                      const int64_t *strides, int threads, int flags, zarrcore_error *error);

/*
 * Read n single elements: points has ndim indices for each, one point after the other, in any order; they may repeat.  Elements go to
 * memory one after the other; type, ndim and nbytes as of zarrcore_read_as.  An index that leaves the array is ZARRCORE_ERR_ARGUMENT, and
 * nothing is read.  Each chunk is decoded once.  What is pending in a write buffer is stored first, and a failure of that returned.
 */
ZARRCORE_PUBLIC int zarrcore_read_points(const zarrcore_array *array, const char *type, int ndim, size_t n,
                                         const int64_t *points, void *memory, size_t nbytes, int threads,
                                         zarrcore_error *error);

/*
 * Read n regions, of one array or of several, as one job: all their chunks are shared among the threads, and a store is asked for many at
 * once.  Each is checked as by zarrcore_read_as before anything is read.  *failed (may be NULL) is the number of the region that failed, or
 * SIZE_MAX.  Handles are not released.  Regions to be converted, and those of handles with something in a write buffer, follow one by one.
 */
ZARRCORE_PUBLIC int zarrcore_read_many(const zarrcore_region *regions, size_t n, int threads, size_t *failed,
                                       zarrcore_error *error);

/*
 * Keep decoded chunks for later reads of parts of them, up to nbytes in all for this handle; 0 keeps none, and frees what
 * was kept.  A chunk that is larger than that is not kept, nor are chunks that a call reads whole.
 *
 * By default there are 32 MiB, for chunks that are touched a second time and are compressed, of files and of values in memory.
 * All changes are then seen at once: each file is looked at, and is kept only when it is 3 s old.
 *
 * After a call of this function, what this process writes, removes or makes smaller, through any handle, is still seen at
 * once.  Of a local file, what another process writes is seen 0.1 s later at the latest; of a store in Python or of callbacks never,
 * unless its values lie in the memory of Python.
 *
 * Any thread may call it at any time; the memory is the handle's and goes with it.  A child of fork() starts with an empty
 * cache.  ZARRCORE_ERR_ARGUMENT if array is NULL or nbytes negative.
 */
ZARRCORE_PUBLIC int zarrcore_set_cache(const zarrcore_array *array, int64_t nbytes);

/*
 * Collect writes of parts of chunks (of shards, where there are any) in memory, so that each chunk is encoded once.  A chunk is
 * stored when all of it was given, when what is collected has more than nbytes (first the chunks that were not written to for
 * longest), and by zarrcore_flush, zarrcore_close and the last zarrcore_release.  Chunks that one call covers as a whole, and those
 * that are larger than nbytes, are stored at once.  nbytes 0, as handles begin: all are.
 *
 * Reads of regions through the same handle see what was given; other handles, Python and the functions of single chunks see it when it is
 * stored.  A write or this call may return the failure of another chunk that it had to store; that chunk stays pending, and what was
 * given to the failed write may be pending or not.  Between threads the order of writes to one element is the order of their calls.
 *
 * Any thread may call it at any time; it stores what is pending first, and returns the failure of that, with the old limit still in
 * place.  The memory is the handle's.  It exceeds nbytes by no more than one chunk for each writing thread.  What is pending when a
 * process ends or is killed is lost.  A child of fork() begins with nothing pending: that is the parent's.
 */
ZARRCORE_PUBLIC int zarrcore_set_write_buffer(const zarrcore_array *array, int64_t nbytes, zarrcore_error *error);

/*
 * Store what is pending.  After a failure all other chunks were tried, the first failure is returned, and what could not be stored stays
 * pending for another try.  Nothing is synchronised with the disk but what ZARRCORE_SYNC asks for.  Any thread.
 */
ZARRCORE_PUBLIC int zarrcore_flush(const zarrcore_array *array, zarrcore_error *error);

/*
 * zarrcore_flush, and then zarrcore_release whatever came of it.  What could not be stored is lost with the last owner.
 */
ZARRCORE_PUBLIC int zarrcore_close(const zarrcore_array *array, zarrcore_error *error);

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

/* ---- trees of arrays and groups (libzarrcore only) ----------------------------------------------- */

/*
 * A store contains a tree of arrays and groups; a path such as "a/b" names one of them, "" the root.  Names are not empty, not all dots,
 * contain no backslash, do not begin with ".zc-" and are not those of metadata documents: else ZARRCORE_ERR_ARGUMENT.
 *
 * All functions of this section may be called by any number of threads at once, with one store too.  Those that change metadata take
 * the lock of the node in this process, so that no change is lost among its threads and handles; metadata have one writing process at
 * a time, unless there are ZARRCORE_LOCKS.  Each document is replaced as a whole: a reader, also after a crash, sees the old or the new one.  ZARRCORE_SYNC has it on
 * the disk when the call returns.  A call that fails has changed nothing, unless it says more.
 *
 * Handles of arrays see what was changed by these functions: values at once; a handle of an array that was made smaller, replaced or
 * removed returns ZARRCORE_ERR_STALE from then on.  One that was made larger shows the array as it was: open it once more.  In a directory
 * a read of several chunks is of one array also where another process puts another one in its place: it is made again, or is
 * ZARRCORE_ERR_STALE.
 *
 * Consolidated metadata in the groups above are kept up to date.  If that fails the message says that the change itself is stored.
 */
typedef struct zarrcore_store zarrcore_store;

/*
 * Open a local directory as a store; an array or group need not be there yet.  zarrcore_release_store must follow; arrays and lists keep
 * what they need of it.  (Windows: arrays can be opened, nothing can be listed or removed.)
 *
 * With ZARRCORE_LOCKS in all of them (in Python: LocalStore(locks="file")), processes may write parts of one chunk, append to one array and
 * change the attributes of one node: each waits for the others, and for none that has ended.  The locks are those of an empty file .zc-locks in
 * the directory of each array and group.  One process at a time may still resize or erase what others use.  (Not on Windows:
 * ZARRCORE_ERR_UNSUPPORTED.)
 *
 * A file is opened as a ZIP archive, for reading: ZARRCORE_ERR_UNSUPPORTED with ZARRCORE_READ_WRITE, ZARRCORE_ERR_IO if it is none,
 * ZARRCORE_ERR_CORRUPT if it is damaged, and from then on it is taken not to change.  Its directory stays in memory, and the file open, until
 * the last handle is released.  (Not on Windows.)
 */
ZARRCORE_PUBLIC int zarrcore_open_store(const char *path, int flags, zarrcore_store **out, zarrcore_error *error);

/* The same store with paths that begin at a group in it, which has to be there: ZARRCORE_ERR_MISSING, or ZARRCORE_ERR_ARGUMENT if it is
 * an array. */
ZARRCORE_PUBLIC int zarrcore_open_group(const zarrcore_store *store, const char *path, zarrcore_store **out,
                                        zarrcore_error *error);

/* One more owner, and one less; NULL is ignored. */
ZARRCORE_PUBLIC void zarrcore_retain_store(const zarrcore_store *store);
ZARRCORE_PUBLIC void zarrcore_release_store(const zarrcore_store *store);

/* Open an array, with the flags of the store; errors as of zarrcore_open. */
ZARRCORE_PUBLIC int zarrcore_open_array(const zarrcore_store *store, const char *path, zarrcore_array **out,
                                        zarrcore_error *error);

/*
 * Create an array from its metadata: one JSON object, that of zarr.json, or that of .zarray (format 2) with a member "attributes".  It is
 * checked as stored documents are: ZARRCORE_ERR_METADATA if it is not valid, ZARRCORE_ERR_UNSUPPORTED if the library could not read it.
 * Groups above that are missing are made.  ZARRCORE_ERR_EXISTS if a node is there already, chunks that the array would have for its own
 * (which a removal that was killed has left), or an array above; of several that create a
 * node at one place one wins.  Groups that were made stay when the array fails.  *out is a handle of the new array; out may be NULL.
 */
ZARRCORE_PUBLIC int zarrcore_create_array(const zarrcore_store *store, const char *path, const char *document,
                                          zarrcore_array **out, zarrcore_error *error);

/* The same for a group: zarr.json, or .zgroup with a member "attributes".  document NULL: one of format 3 without attributes. */
ZARRCORE_PUBLIC int zarrcore_create_group(const zarrcore_store *store, const char *path, const char *document,
                                          zarrcore_error *error);

/*
 * Give an array another shape.  What lies outside of it is removed: chunks, and parts of those on the border.  The document is stored
 * first: after a failure to remove, which the message names, resize to the same shape once more.  What an append that was killed left
 * where the array grows is removed before.  A dimension of a rectilinear grid that outgrows its chunks gets one more.  Waits for
 * writes of other threads where it removes something.  Changes nothing that is pending in write buffers: flush them first.
 */
ZARRCORE_PUBLIC int zarrcore_resize(const zarrcore_store *store, const char *path, int ndim, const int64_t *shape,
                                    zarrcore_error *error);

/*
 * Append along one dimension: count elements of memory (the lengths of the array in all other dimensions); type, memory, nbytes, strides,
 * threads and flags as of zarrcore_write_as.  The chunks are stored first, then the shape: readers see all of it or nothing, and after a
 * failure it is removed again.
 */
ZARRCORE_PUBLIC int zarrcore_append(const zarrcore_store *store, const char *path, int axis, const char *type, int ndim,
                                    const int64_t *count, const void *memory, size_t nbytes, const int64_t *strides,
                                    int threads, int flags, zarrcore_error *error);

/*
 * Remove an array or a group with everything below it; not the root.  Documents go first, so that no reader sees half of a node.
 * Symbolic links are removed, not followed, and none leads out of the store.  Writes of other threads that are under way are waited for.
 * ZARRCORE_ERR_MISSING if there is no node.  After a failure chunks may be left.
 */
ZARRCORE_PUBLIC int zarrcore_erase(const zarrcore_store *store, const char *path, zarrcore_error *error);

/* Free a text that a function of this section returned; NULL is ignored. */
ZARRCORE_PUBLIC void zarrcore_free(void *text);

/* The metadata of an array or group as one JSON object, attributes included, to be freed.  Other members are as they are stored. */
ZARRCORE_PUBLIC int zarrcore_get_document(const zarrcore_store *store, const char *path, char **out, zarrcore_error *error);

/* One attribute as JSON text, to be freed; name NULL: all of them, an object.  ZARRCORE_ERR_MISSING if there is none of that name. */
ZARRCORE_PUBLIC int zarrcore_get_attribute(const zarrcore_store *store, const char *path, const char *name, char **out,
                                           zarrcore_error *error);

/* Store an attribute, given as JSON text; name NULL: an object in place of all.  Everything else in the document stays as it was
 * written.  ZARRCORE_ERR_METADATA if it is no JSON, has a name twice in one object, or is nested more than 200 deep. */
ZARRCORE_PUBLIC int zarrcore_set_attribute(const zarrcore_store *store, const char *path, const char *name, const char *text,
                                           zarrcore_error *error);

/* Remove an attribute; ZARRCORE_ERR_MISSING if there is none of that name. */
ZARRCORE_PUBLIC int zarrcore_delete_attribute(const zarrcore_store *store, const char *path, const char *name,
                                              zarrcore_error *error);

/* What a list contains. */
#define ZARRCORE_NODE_UNREADABLE 0 /* documents that are not valid */
#define ZARRCORE_NODE_GROUP 1
#define ZARRCORE_NODE_ARRAY 2

/* Flags of zarrcore_list: what the consolidated metadata of the group describe, at all depths, in place of what is there. */
#define ZARRCORE_CONSOLIDATED 1

/*
 * The arrays and groups directly below a group, sorted by name; those of its own format, as the Python package has it.  With
 * ZARRCORE_CONSOLIDATED the names are paths, nothing is asked of the store, and ZARRCORE_ERR_MISSING means that there are no consolidated
 * metadata; entries that are not valid are ZARRCORE_NODE_UNREADABLE, as are those that have a zero byte in their names, where it is spelled
 * as in JSON.  zarrcore_free_nodes must follow; the list is never changed, so any thread may read it.
 */
typedef struct zarrcore_nodes zarrcore_nodes;

ZARRCORE_PUBLIC int zarrcore_list(const zarrcore_store *store, const char *path, int flags, zarrcore_nodes **out,
                                  zarrcore_error *error);
ZARRCORE_PUBLIC void zarrcore_free_nodes(zarrcore_nodes *nodes);

/* How many there are (0 for NULL), and of one of them: its path from the group, its kind (ZARRCORE_NODE_*), its metadata as of
 * zarrcore_get_document (NULL if they are unreadable).  Texts live as long as the list.  NULL, and ZARRCORE_ERR_ARGUMENT, where there is no
 * such one. */
ZARRCORE_PUBLIC size_t zarrcore_count_nodes(const zarrcore_nodes *nodes);
ZARRCORE_PUBLIC const char *zarrcore_node_name(const zarrcore_nodes *nodes, size_t i);
ZARRCORE_PUBLIC int zarrcore_node_kind(const zarrcore_nodes *nodes, size_t i);
ZARRCORE_PUBLIC const char *zarrcore_node_document(const zarrcore_nodes *nodes, size_t i);

/* Open an array of a list by the metadata in it: no document is read. */
ZARRCORE_PUBLIC int zarrcore_open_node(const zarrcore_nodes *nodes, size_t i, zarrcore_array **out, zarrcore_error *error);

/* ---- stores of callbacks (libzarrcore only) ------------------------------------------------------- */

/*
 * A store whose values are kept by functions of yours: in memory, in a database, on a server.  All functions of trees and arrays work in it.
 *
 * Keys are such as "a/b/zarr.json" and "a/b/c/0/1": terminated, without a slash at either end.  A value is bytes, which are replaced as a
 * whole: a get that runs while its key is put has to return the old value or the new one.
 *
 * Threads: any number of threads call the functions at once, those of the library too; what is not thread-safe takes a lock of its own.
 * While a function runs, the library may hold the locks of chunks or metadata: a function that uses this store, or waits for a thread that
 * does, gets ZARRCORE_ERR_LOCKED or never returns.  fork(): what a child may still do is up to the functions.
 *
 * Memory: keys, requests, replies and data are the library's, and valid until the function returns.  The library copies what it is given.
 * It takes no more for a value than the metadata of the array justify: what a function hands over beyond that is not kept, and the call
 * fails with ZARRCORE_ERR_SIZE (ZARRCORE_ERR_CORRUPT for a range, ZARRCORE_ERR_METADATA for a document).
 *
 * Failures: functions return ZARRCORE_OK or a negative status; ZARRCORE_ERR_MEMORY, _IO, _UNSUPPORTED and _CANCELLED are passed on, others
 * that are not named below become ZARRCORE_ERR_CALLBACK.  The text of zarrcore_reply_error becomes part of the message.
 */

/* What a function answers with; to be used by one thread at a time. */
typedef struct zarrcore_reply zarrcore_reply;

#define ZARRCORE_FROM_END UINT64_MAX   /* an offset */
#define ZARRCORE_TO_END UINT64_MAX     /* a number of bytes */

/* A value that is asked for, or a range of one. */
typedef struct zarrcore_request {
    const char *key;
    uint64_t offset;         /* of the first byte; ZARRCORE_FROM_END: the last nbytes are wanted */
    uint64_t nbytes;         /* ZARRCORE_TO_END: all from offset on, which is 0 then */
    zarrcore_reply *reply;
    int status;              /* for get_ranges: to be set */
} zarrcore_request;

typedef struct zarrcore_callbacks {
    uint32_t struct_size;    /* sizeof(zarrcore_callbacks) of the caller; members that an older header has not are taken as NULL */
    uint32_t reserved;       /* 0 */
    void *user;              /* handed to each function */
    const char *name;        /* for messages, such as "s3://bucket/tree", and for locks: stores with one name are one store.  It is copied;
                                NULL: stores with the same `user` are */

    /* Hand the bytes of a request to zarrcore_reply_bytes, from its first one on, in any number of pieces.  ZARRCORE_ERR_MISSING if there is
     * no such key, and only then; what was handed over is dropped. */
    int (*get)(void *user, const zarrcore_request *request);

    /* The same for n requests at once, so that all of them are on the way together; the status of each is to be set.  If one fails they
     * are asked for one by one.  NULL: get is called by several threads instead. */
    int (*get_ranges)(void *user, zarrcore_request *requests, size_t n);

    /* Replace a value.  is_new: if there is none, else ZARRCORE_ERR_EXISTS; of several threads or processes one may succeed.
     * NULL, as remove and list may be: the store is for reading. */
    int (*put)(void *user, const char *key, const void *data, size_t nbytes, int is_new, zarrcore_reply *reply);

    /* Remove a value; one that is not there is no error. */
    int (*remove)(void *user, const char *key, zarrcore_reply *reply);

    /* The names directly below a prefix, which is "" or ends with a slash, to zarrcore_reply_name: of "a/b" and "a/c/d", those below "a/"
     * are "b" and, with is_below, "c".  They may come in any order, and more than once.  Nothing is there: none.  NULL: what has to list is
     * ZARRCORE_ERR_UNSUPPORTED. */
    int (*list)(void *user, const char *prefix, zarrcore_reply *reply);

    /* Nobody uses the store any more: its last owner, array and list have been released.  Called once if zarrcore_open_callbacks succeeds,
     * by any thread.  May be NULL. */
    void (*close)(void *user);
} zarrcore_callbacks;

/*
 * Open a store of callbacks.  flags: ZARRCORE_READ_WRITE (needs put and remove) and ZARRCORE_MISSING_IS_ERROR.  The structure is copied.
 * Decoded chunks are kept only after zarrcore_set_cache: what other processes change in such a store is never seen in a cache.
 */
ZARRCORE_PUBLIC int zarrcore_open_callbacks(const zarrcore_callbacks *callbacks, int flags, zarrcore_store **out,
                                            zarrcore_error *error);

/* More bytes of the answer; they are copied.  A failure is noted, so that nothing needs to be done about it: too many bytes, no memory. */
ZARRCORE_PUBLIC int zarrcore_reply_bytes(zarrcore_reply *reply, const void *data, size_t nbytes);

/* One more name of a list; is_below: there are keys below it.  Fails if it is no name, or without memory; that is noted, too. */
ZARRCORE_PUBLIC int zarrcore_reply_name(zarrcore_reply *reply, const char *name, int is_below);

/* Why the function is going to fail; the text is copied, and the last one counts.  Returns ZARRCORE_ERR_CALLBACK, to be returned. */
ZARRCORE_PUBLIC int zarrcore_reply_error(zarrcore_reply *reply, const char *text);

/* ---- while calls run (libzarrcore only) ----------------------------------------------------------- */

/* A flag that cancels calls, and a function that is called meanwhile.  Both may be NULL.  Members that an older header has not are taken
 * as NULL. */
typedef struct zarrcore_watch {
    uint32_t struct_size;    /* sizeof(zarrcore_watch) of the caller */
    uint32_t reserved;       /* 0 */

    /* As soon as it is not 0, calls end with ZARRCORE_ERR_CANCELLED: those that begin at once, reads and writes before their next chunk and
     * within one that takes long, after a second at most, those that open an archive or list before their next entry.  What removes goes on
     * to its end, because the next node there would find what was left.  Any thread, or a handler of a signal, may set it: it is read
     * atomically. */
    const volatile int *cancelled;

    /* Called about every 50 ms while chunks are read or written, by the thread of the call alone, so never by one that has nothing longer
     * to do.  done: chunks (with sharding: shards, whose inner chunks are not counted) that were read or written since zarrcore_set_watch; expected: those that the calls since then have to read or write,
     * as far as they have begun.  Chunks that are found in a cache are in both or in neither.  Not 0 cancels the call.  It must
     * not call the library. */
    int (*progress)(void *user, uint64_t done, uint64_t expected);
    void *user;
} zarrcore_watch;

/*
 * Have later calls of this thread watched, the threads that help them included; NULL: no longer.  The structure is
 * copied, what it points to has to stay.  Other threads have watches of their own.
 *
 * What is cancelled ends as if it had failed: memory may be partly read into, some chunks may be written, and each as a whole; what is
 * pending in a write buffer stays pending (but zarrcore_close releases the array all the same); zarrcore_append removes what it has
 * stored.  The last zarrcore_release of an array is not cancelled.  Functions of a store of callbacks are waited for.
 *
 * ZARRCORE_ERR_ARGUMENT if struct_size has no room for `cancelled`, if members that this version does not know are set, and in a function
 * that the library has called.
 */
ZARRCORE_PUBLIC int zarrcore_set_watch(const zarrcore_watch *watch, zarrcore_error *error);

/* ---- memory (libzarrcore only) --------------------------------------------------------------------- */

#define ZARRCORE_ALIGNMENT 64

typedef struct zarrcore_allocator {
    uint32_t struct_size;    /* sizeof(zarrcore_allocator) of the caller */
    uint32_t reserved;       /* 0 */
    void *user;              /* handed to both functions */

    /* nbytes (not 0), whose address is a multiple of alignment, which is ZARRCORE_ALIGNMENT; NULL: out of memory. */
    void *(*allocate)(void *user, size_t nbytes, size_t alignment);

    /* What allocate has returned. */
    void (*release)(void *user, void *memory);
} zarrcore_allocator;

/*
 * Have the memory that grows with the data taken from an allocator: scratch for decoding and encoding, decoded chunks in caches, write
 * buffers, values that stores of callbacks hand over, numbers to be converted, directories of archives.  NULL: from the system, as at first.  Everything else is
 * small and malloc's: handles, keys, metadata documents, lists, and what the compression libraries take for themselves.
 *
 * To be called when none of that memory is in use and no other thread uses the library: before everything else, or after all handles and
 * stores are released and zarrcore_shutdown() has returned, after which as many pieces have been released as were allocated.
 * ZARRCORE_ERR_ARGUMENT otherwise, and in a function that the library has called.  The structure is copied.
 *
 * Any number of threads call the functions at once, those of the library too.  They must not call the library.  What is allocated by one
 * thread may be released by another.
 */
ZARRCORE_PUBLIC int zarrcore_set_allocator(const zarrcore_allocator *allocator, zarrcore_error *error);

#else /* ZARRCORE_PYTHON_API */

#ifndef Py_PYTHON_H
#error "include Python.h before zarrcore.h"
#endif

/* One table for all files of an extension module, whether in C or in C++. */
#if defined(_MSC_VER) && !defined(__clang__)
__declspec(selectany) const zarrcore_api *zarrcore_api_table = NULL;
#else
__attribute__((weak, visibility("hidden"))) const zarrcore_api *zarrcore_api_table;
#endif

static inline const zarrcore_api *zarrcore_loaded(void)
{
    if (zarrcore_api_table == NULL) {
        Py_FatalError("zarrcore.h: the module's init function has to call import_zarrcore() first");
    }
    return zarrcore_api_table;
}

/*
 * A new handle of a zarrcore.Array (a PyObject *).  Keeps the array's engine and its store alive; follows no
 * later resize, see ZARRCORE_ERR_STALE.  NULL with a Python exception set on failure: TypeError where the object is no
 * zarrcore.Array or has a part that is written in Python.  Needs the GIL.
 */
static inline zarrcore_array *zarrcore_from_python(void *object)
{
    return zarrcore_loaded()->from_python(object);
}

/*
 * Raise a failure as a Python exception, of zarrcore.errors where there is a fitting class, and return -1.  In the thread
 * of the failed call, what a store or codec in Python raised is its cause, and ZARRCORE_ERR_CANCELLED is the exception of the signal
 * handler itself.  Needs the GIL.
 */
static inline int zarrcore_raise(const zarrcore_error *error)
{
    return zarrcore_loaded()->raise(error);
}

static inline void zarrcore_retain(const zarrcore_array *array)
{
    zarrcore_loaded()->retain(array);
}

static inline void zarrcore_release(const zarrcore_array *array)
{
    zarrcore_loaded()->release(array);
}

/* The functions described above. */
#define ZARRCORE_FORWARD(result, name, parameters, arguments) \
    static inline result zarrcore_##name parameters { return zarrcore_loaded()->name arguments; }

ZARRCORE_FORWARD(const char *, version, (void), ())
ZARRCORE_FORWARD(const char *, status_name, (int status), (status))
ZARRCORE_FORWARD(int, get_num_threads, (void), ())
ZARRCORE_FORWARD(int, set_num_threads, (int threads), (threads))
ZARRCORE_FORWARD(int, ndim, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, shape, (const zarrcore_array *array, int64_t *out), (array, out))
ZARRCORE_FORWARD(int, chunk_shape, (const zarrcore_array *array, int64_t *out), (array, out))
ZARRCORE_FORWARD(int, inner_chunk_shape, (const zarrcore_array *array, int64_t *out), (array, out))
ZARRCORE_FORWARD(int, is_sharded, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, grid_shape, (const zarrcore_array *array, int64_t *out), (array, out))
ZARRCORE_FORWARD(int, chunk_box, (const zarrcore_array *array, const int64_t *chunk, int64_t *start, int64_t *shape),
                 (array, chunk, start, shape))
ZARRCORE_FORWARD(int64_t, itemsize, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(const char *, typestr, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, kind, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, byte_order, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, fill_value, (const zarrcore_array *array, void *out, size_t capacity), (array, out, capacity))
ZARRCORE_FORWARD(const char *, path, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, is_writable, (const zarrcore_array *array), (array))
ZARRCORE_FORWARD(int, read, (const zarrcore_array *array, const int64_t *start, const int64_t *step, const int64_t
                 *count, void *memory, const int64_t *strides, int threads, zarrcore_error *error), (array, start,
                 step, count, memory, strides, threads, error))
ZARRCORE_FORWARD(int, write, (const zarrcore_array *array, const int64_t *start, const int64_t *step, const int64_t
                 *count, const void *memory, const int64_t *strides, int threads, int flags, zarrcore_error *error),
                 (array, start, step, count, memory, strides, threads, flags, error))
ZARRCORE_FORWARD(int, chunk_key, (const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity,
                 size_t *needed), (array, chunk, out, capacity, needed))
ZARRCORE_FORWARD(int, chunk_sizes, (const zarrcore_array *array, const int64_t *chunk, size_t *decoded, size_t
                 *encoded_bound, zarrcore_error *error), (array, chunk, decoded, encoded_bound, error))
ZARRCORE_FORWARD(int, load_chunk, (const zarrcore_array *array, const int64_t *chunk, uint64_t offset, void *out,
                 size_t capacity, size_t *nbytes, zarrcore_error *error), (array, chunk, offset, out, capacity,
                 nbytes, error))
ZARRCORE_FORWARD(int, decode_chunk, (const zarrcore_array *array, const int64_t *chunk, const void *data, size_t
                 nbytes, void *out, size_t out_nbytes, zarrcore_error *error), (array, chunk, data, nbytes, out,
                 out_nbytes, error))
ZARRCORE_FORWARD(int, encode_chunk, (const zarrcore_array *array, const int64_t *chunk, const void *elements, size_t
                 elements_nbytes, void *out, size_t capacity, size_t *nbytes, zarrcore_error *error), (array, chunk,
                 elements, elements_nbytes, out, capacity, nbytes, error))
ZARRCORE_FORWARD(int, decode_inner_chunk, (const zarrcore_array *array, const void *data, size_t nbytes, void *out,
                 size_t out_nbytes, zarrcore_error *error), (array, data, nbytes, out, out_nbytes, error))
ZARRCORE_FORWARD(int, shard_index, (const zarrcore_array *array, const int64_t *chunk, zarrcore_extent *out, size_t n,
                 zarrcore_error *error), (array, chunk, out, n, error))
ZARRCORE_FORWARD(int, find_inner_chunk, (const zarrcore_array *array, const int64_t *chunk, const int64_t *inner,
                 zarrcore_extent *out, zarrcore_error *error), (array, chunk, inner, out, error))

ZARRCORE_FORWARD(int, shutdown, (void), ())
ZARRCORE_FORWARD(int, read_as, (const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                 const int64_t *step, const int64_t *count, void *memory, size_t nbytes, const int64_t *strides,
                 int threads, zarrcore_error *error),
                 (array, type, ndim, start, step, count, memory, nbytes, strides, threads, error))
ZARRCORE_FORWARD(int, write_as, (const zarrcore_array *array, const char *type, int ndim, const int64_t *start,
                 const int64_t *step, const int64_t *count, const void *memory, size_t nbytes, const int64_t *strides,
                 int threads, int flags, zarrcore_error *error),
                 (array, type, ndim, start, step, count, memory, nbytes, strides, threads, flags, error))
ZARRCORE_FORWARD(int, set_cache, (const zarrcore_array *array, int64_t nbytes), (array, nbytes))
ZARRCORE_FORWARD(int, set_write_buffer, (const zarrcore_array *array, int64_t nbytes, zarrcore_error *error),
                 (array, nbytes, error))
ZARRCORE_FORWARD(int, flush, (const zarrcore_array *array, zarrcore_error *error), (array, error))
ZARRCORE_FORWARD(int, close, (const zarrcore_array *array, zarrcore_error *error), (array, error))
ZARRCORE_FORWARD(int, read_points, (const zarrcore_array *array, const char *type, int ndim, size_t n, const int64_t *points,
                 void *memory, size_t nbytes, int threads, zarrcore_error *error),
                 (array, type, ndim, n, points, memory, nbytes, threads, error))
ZARRCORE_FORWARD(int, read_many, (const zarrcore_region *regions, size_t n, int threads, size_t *failed, zarrcore_error
                 *error), (regions, n, threads, failed, error))
ZARRCORE_FORWARD(int, open, (const char *path, int flags, zarrcore_array **out, zarrcore_error *error), (path, flags, out,
                 error))
ZARRCORE_FORWARD(const char *, dimension_name, (const zarrcore_array *array, int dimension), (array, dimension))
ZARRCORE_FORWARD(int, chunk_lengths, (const zarrcore_array *array, int dimension, int64_t *out, size_t n), (array,
                 dimension, out, n))
ZARRCORE_FORWARD(int, decompose, (const zarrcore_array *array, int ranks, int rank, int64_t *start, int64_t *count), (array,
                 ranks, rank, start, count))

#undef ZARRCORE_FORWARD

/* Get the table, for all files of the module.  0, or -1 with an ImportError set; needs the GIL. */
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
