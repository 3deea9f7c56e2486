# Declarations of the C core (csrc/), for the modules of this package.
from libc.stdint cimport int64_t, intptr_t, uint8_t, uint32_t, uint64_t

# What `with gil` calls, here and in the modules that include this file.  When the interpreter has ended, threads of
# the pool and daemon threads may still be at work until the process ends.  Python ends one that has a state of its
# own and wants the GIL, here or in what is called here, which `zc_thread_leaves` prevents; but soon afterwards none
# has a state, and PyGILState_Ensure follows a null pointer.
cdef extern from *:
    """
    void zc_thread_leaves(void);
    void zc_thread_returns(void);

    static inline PyGILState_STATE zc_ensure_gil(void)
    {
        zc_thread_leaves();
        if (!Py_IsInitialized() && PyGILState_GetThisThreadState() == NULL) {
            PyThread_exit_thread();
        }
        return PyGILState_Ensure();
    }

    static inline void zc_release_gil(PyGILState_STATE state)
    {
        PyGILState_Release(state);
        zc_thread_returns();
    }

    #define PyGILState_Ensure zc_ensure_gil
    #define PyGILState_Release zc_release_gil
    """

cdef extern from "stdbool.h":
    ctypedef bint cbool "bool"

cdef extern from "base/status.h" nogil:
    ctypedef enum zc_status:
        ZC_OK, ZC_ERR_MEMORY, ZC_ERR_ARGUMENT, ZC_ERR_CORRUPT, ZC_ERR_CHECKSUM, ZC_ERR_SIZE, ZC_ERR_RANGE
        ZC_ERR_IO, ZC_ERR_MISSING, ZC_ERR_UNSUPPORTED, ZC_ERR_OVERFLOW, ZC_ERR_CANCELLED, ZC_ERR_CALLBACK
        ZC_ERR_ENCODE, ZC_ERR_LOCKED, ZC_ERR_ROOM, ZC_ERR_STALE, ZC_ERR_VALUE, ZC_ERR_REPLACED

    const size_t ZC_SIZE_MAX "((size_t)PTRDIFF_MAX)"

    ctypedef struct zc_error:
        zc_status status
        int sys_errno
        char codec[32]
        char message[320]
        bint in_shard
        uint64_t inner_chunk, offset, nbytes, cause

    zc_status zc_fail(zc_error *err, zc_status status, const char *format, ...)
    void zc_error_clear(zc_error *err)

cdef extern from "base/memory.h" nogil:
    void zc_memory_huge(void *memory, size_t n)

cdef extern from "base/os_thread.h" nogil:
    int64_t zc_now_ns()

cdef extern from "base/metrics.h" nogil:
    ctypedef enum zc_metric:
        ZC_METRIC_REQUESTS, ZC_METRIC_BYTES_READ, ZC_METRIC_WRITES, ZC_METRIC_BYTES_WRITTEN, ZC_METRIC_CHUNKS
        ZC_METRIC_HITS, ZC_METRIC_MISSES, ZC_METRIC_DECODE_NS, ZC_METRIC_KINDS

    ctypedef struct zc_metrics:
        uint64_t n[8]

    ctypedef struct zc_stopwatch:
        pass

    zc_stopwatch zc_stopwatch_start(size_t n)
    void zc_stopwatch_stop(zc_stopwatch watch)
    void zc_metric_add(zc_metric kind, uint64_t n)
    void zc_metrics_hand_over()
    void zc_metrics_get(zc_metrics *out)

cdef extern from "base/recycled.h" nogil:
    const size_t ZC_RECYCLED_FROM
    void zc_recycled_limit(size_t most)
    size_t zc_recycled_waiting()

cdef extern from "io/file.h" nogil:
    ctypedef enum zc_symlinks:
        ZC_SYMLINKS_INSIDE, ZC_SYMLINKS_REFUSE, ZC_SYMLINKS_FOLLOW
    ctypedef struct zc_dir:
        pass
    zc_dir zc_dir_none(size_t root_len, zc_symlinks links)
    int zc_open_below(const zc_dir *dir, const char *name, int flags, cbool writes)
    ctypedef struct zc_mark:
        uint64_t size, inode, device
        int64_t mtime_ns, ctime_ns
    bint zc_mark_is_same(const zc_mark *a, const zc_mark *b)
    ctypedef struct zc_file:
        intptr_t handle
        uint64_t size, inode, device
        int64_t mtime_ns, ctime_ns
    zc_status zc_file_open(const zc_dir *dir, const char *name, zc_file *out, zc_error *err)
    zc_status zc_file_read(const zc_file *file, uint64_t offset, void *dst, size_t n, zc_error *err)
    void zc_file_close(zc_file *file)
    void zc_file_ages_by_mtime(cbool alone)
    cbool zc_file_writer_lives(const char *component)
    ctypedef struct zc_file_source:
        uint64_t total
        zc_status (*piece)(void *self, uint64_t offset, const void **data, size_t *n, zc_error *err) noexcept
        void *self
        const void *data
    zc_status zc_file_put(const zc_dir *dir, const char *name, const zc_file_source *source, cbool sync, void *later,
                          cbool is_new, zc_error *err)
    zc_status zc_file_replace(const zc_dir *dir, const char *name, const void *src, size_t n, cbool sync, zc_error *err)
    zc_status zc_file_create(const zc_dir *dir, const char *name, const void *src, size_t n, cbool sync, zc_error *err)
    zc_status zc_file_remove(const zc_dir *dir, const char *name, cbool sync, void *later, zc_error *err)

cdef extern from "base/workspace.h" nogil:
    ctypedef struct zc_workspace:
        cbool (*poll)(void *watch) noexcept
        void *watch

cdef extern from "base/pool.h" nogil:
    ctypedef int (*zc_poll)(void *arg) noexcept nogil
    zc_workspace *zc_pool_borrow(zc_error *err)
    void zc_pool_release(zc_workspace *ws)
    int zc_pool_threads()
    void zc_pool_set_threads(int threads)
    int zc_pool_cpus()
    cbool zc_pool_is_ending()
    cbool zc_pool_is_outside()
    void zc_pool_on_start(cbool (*start)() noexcept nogil)

    ctypedef zc_status (*zc_task)(void *job, size_t item, zc_workspace *ws, zc_error *err) noexcept nogil

    ctypedef struct zc_run:
        zc_task task
        void *job
        size_t n_items
        int threads
        size_t grain
        zc_poll poll
        void *poll_arg

    zc_status zc_pool_run(const zc_run *run, size_t *failed_item, zc_error *err)
    void *zc_pool_caller(const zc_workspace *ws, zc_poll poll)

cdef extern from "kernels/region.h" nogil:
    const int ZC_MAX_DIMS

    ctypedef struct zc_swap_field:
        uint32_t offset, word, count

    ctypedef struct zc_item:
        size_t size
        uint32_t word, n_fields
        const zc_swap_field *fields
        uint32_t n_pieces
        const zc_piece *pieces

    ctypedef struct zc_piece:
        size_t from_ "from"
        size_t to
        zc_item item

# Enumerations whose values are made from Python's are declared as int.
cdef extern from "codecs/codec.h" nogil:
    ctypedef enum zc_number_kind:
        ZC_NUMBER_BOOL, ZC_NUMBER_C64, ZC_NUMBER_C128

    size_t zc_number_size(zc_number_kind kind)

    cbool zc_number_named(const char *name, zc_number_kind *out)

    ctypedef struct zc_number_pair:
        uint64_t from_ "from"
        uint64_t to

    ctypedef struct zc_number_pairs:
        const zc_number_pair *pairs
        size_t n

    ctypedef struct zc_number:
        zc_number_kind kind
        cbool swapped

    ctypedef struct zc_codec_class:
        const char *name
        size_t max_decoded
        bint (*bound)(const zc_codec *codec, size_t n, size_t *out) noexcept nogil

    ctypedef struct zc_codec:                    # with the members of its anonymous structs
        const zc_codec_class *cls
        int level
        bint checksum, at_start, keep_special
        int compressor "blosc.compressor", shuffle "blosc.shuffle"
        size_t typesize "blosc.typesize", blocksize "blosc.blocksize"
        size_t element
        zc_number decoded, encoded
        double offset, scale
        int64_t whole_offset "whole.offset", whole_scale "whole.scale"
        cbool has_whole_offset "whole.has_offset", has_whole_scale "whole.has_scale"
        uint32_t initial "lookup3.initial"
        const uint8_t *prefix "lookup3.prefix"
        size_t n_prefix "lookup3.n_prefix"
        int padding "bits.padding"
        uint32_t first_bit "bits.first", width "bits.width"
        int rounding "cast.rounding", out_of_range "cast.out_of_range"
        zc_number_pairs encode_pairs "cast.encode", decode_pairs "cast.decode"
        const zc_codec *codecs "nested.codecs"
        int n_codecs "nested.n", decision "nested.decision"
        size_t header "nested.header"

    bint zc_codec_init(zc_codec *codec, const char *name)
    bint zc_codec_takes(const zc_codec_class *cls, zc_number_kind kind)
    zc_status zc_codec_check(const zc_codec *codec, zc_error *err)
    zc_status zc_codec_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                              size_t cap, size_t *written, zc_error *err)
    zc_status zc_codec_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                              size_t cap, size_t *written, zc_error *err)

cdef extern from "codecs/blosc_shared.h" nogil:
    ctypedef struct zc_sharing:
        int threads
        zc_poll poll
        void *poll_arg

    zc_status zc_blosc_encode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                     uint8_t *dst, size_t cap, size_t *written, zc_error *err)
    zc_status zc_blosc_decode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                     uint8_t *dst, size_t cap, size_t *written, zc_error *err)

cdef extern from "codecs/callback.h" nogil:
    ctypedef struct zc_callback:
        void *self
        zc_status (*encode)(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                            size_t cap, size_t *written, zc_error *err) noexcept nogil
        zc_status (*decode)(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                            size_t cap, size_t most, size_t *written, zc_error *err) noexcept nogil

    void zc_callback_stage(zc_callback *callback, const char *name, zc_codec *out)
    void zc_callback_grow(const zc_callback *callback, size_t n, size_t made)

cdef extern from "codecs/libraries.h" nogil:
    ctypedef struct zc_library:
        const char *name
        const char *version

    cbool zc_library_get(size_t i, zc_library *out)
    const char *zc_libraries_origin()

cdef extern from "engine/selection.h" nogil:
    ctypedef struct zc_axis:
        int64_t count, start, step, stride
        const int64_t *index
        const int64_t *place

    ctypedef struct zc_picked:
        const char *base
        const uint64_t *bits
        const int64_t *before
        size_t count
        char *memory

    ctypedef struct zc_window:
        size_t offset
        zc_item item
        bint patches
        const uint8_t *mask
        const char *first
        const zc_picked *picked

    ctypedef enum zc_selection_kind:
        ZC_SELECT_REGION, ZC_SELECT_PICKED, ZC_SELECT_GIVEN, ZC_SELECT_POINTS

    ctypedef struct zc_selection:
        zc_selection_kind kind
        int ndim
        char *memory
        zc_axis axis[64]
        const zc_window *window
        const int64_t *points
        size_t n_points
        int64_t point_stride

cdef extern from "base/arena.h" nogil:
    ctypedef struct zc_arena_block "struct zc_arena_block":
        pass

    ctypedef struct zc_arena:
        zc_arena_block *blocks

    void zc_arena_free(zc_arena *arena)

cdef extern from "engine/chain.h" nogil:

    ctypedef struct zc_length:
        int64_t fixed
        uint64_t axes

    ctypedef struct zc_chain:
        zc_item item
        int order_ndim
        int order[64]
        bint sharded
        int shard_ndim
        int64_t inner_shape[64]
        const zc_chain *inner
        bint index_at_start

cdef extern from "engine/chain_compile.h" nogil:
    ctypedef enum zc_link_kind:
        ZC_LINK_TRANSPOSE, ZC_LINK_RESHAPE, ZC_LINK_FILTER, ZC_LINK_BYTES, ZC_LINK_SHARDS, ZC_LINK_N5_BLOCK
        ZC_LINK_STAGE

    ctypedef enum zc_fill_rule:
        ZC_FILL_GIVEN

    ctypedef struct zc_links:
        const zc_link *at
        size_t n

    ctypedef struct zc_link:
        zc_link_kind kind
        zc_codec codec
        zc_fill_rule fill_rule
        const void *fill
        size_t fill_size
        zc_item item
        int n
        const int64_t *order
        const zc_length *lengths
        const int64_t *inner_shape
        bint index_at_start
        zc_links inner, index

    ctypedef struct zc_chain_description:
        zc_links links
        size_t item_size
        const void *fill
        int ndim
        const int64_t *shape

    size_t zc_chain_most(const zc_chain *chain, int ndim, const int64_t *shape) nogil
    zc_status zc_chain_compile(const zc_chain_description *description, zc_arena *arena, const zc_chain **out,
                               zc_error *err)

cdef extern from "engine/store.h" nogil:
    const uint64_t ZC_SIZE_UNKNOWN

    ctypedef struct zc_value:
        const uint8_t *data
        uint64_t size, begin, base
        zc_file file
        void *token
        const zc_store *store
        cbool copied

    ctypedef struct zc_request:
        const char *key
        uint64_t offset
        size_t n
        size_t owner

    ctypedef struct zc_feed:
        pass

    ctypedef struct zc_store:
        void *self
        zc_status (*open)(const zc_store *store, const char *key, cbool whole, zc_value *out,
                          zc_error *err) noexcept nogil
        void (*close)(zc_value *value) noexcept nogil
        zc_status (*read)(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err) noexcept nogil
        zc_status (*read_tail)(const zc_value *value, void *dst, size_t n, zc_error *err) noexcept nogil
        zc_status (*replace)(const zc_store *store, const char *key, const void *data, size_t n,
                             zc_error *err) noexcept nogil
        zc_status (*open_version)(const zc_store *store, const char *key, zc_value *out, void **version,
                                  zc_error *err) noexcept nogil
        zc_status (*replace_version)(const zc_store *store, const char *key, const void *data, size_t n,
                                     const void *version, int attempt, cbool *done, zc_error *err) noexcept nogil
        void (*forget_version)(void *version) noexcept nogil
        zc_status (*remove)(const zc_store *store, const char *key, zc_error *err) noexcept nogil
        zc_status (*fetch)(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                           size_t *failed, zc_error *err) noexcept nogil
        void (*release)(zc_value *values, size_t n) noexcept nogil
        zc_status (*recheck)(const zc_store *store, const char *const *keys, size_t n, cbool *changed,
                             zc_error *err) noexcept nogil
        zc_status (*fetch_parts)(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                                 zc_error *err) noexcept nogil
        zc_status (*serve)(const zc_store *store, zc_feed *feed, size_t n, zc_error *err) noexcept nogil
        zc_status (*confirm)(const zc_store *store, const char *prefix, size_t prefix_len, size_t n,
                             zc_error *err) noexcept nogil
        zc_status (*check)(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err) noexcept nogil
        void (*hold)(const void *token) noexcept nogil
        void (*drop)(const void *token) noexcept nogil
        size_t batch_bytes
        int waits
        bint values_in_memory
        size_t gap, most, small, window

    zc_store zc_store_of_spans(void (*close)(zc_value *value) noexcept nogil)

    ctypedef struct zc_local:
        const char *root
        size_t root_len
        bint sync, drops
        zc_symlinks links
        bint documents
        const char *documented
        const zc_mark *known

    const int64_t ZC_LOOK_NS
    bint zc_local_mark(const zc_local *local, const char *prefix, size_t prefix_len, zc_mark *mark)

    void zc_store_local(zc_local *local, zc_store *out)

cdef extern from "engine/feed.h" nogil:
    ctypedef enum zc_outcome:
        ZC_FED
        ZC_FED_ALONE
        ZC_FED_FAILED

    ctypedef struct zc_arrival:
        size_t request
        zc_outcome outcome
        zc_value value

    void zc_feed_hold(zc_feed *feed)
    void zc_feed_drop(zc_feed *feed)
    size_t zc_feed_lacking(zc_feed *feed, size_t n)
    void zc_feed_leave(zc_feed *feed)
    cbool zc_feed_next(zc_feed *feed, zc_request *out)
    cbool zc_feed_put(zc_feed *feed, const zc_arrival *answer)

cdef extern from "engine/keys.h" nogil:
    ctypedef struct zc_lock_file:
        const char *path
        size_t root_len
        cbool makes
        cbool sync
        uint64_t id

    void zc_locks_close(const zc_lock_file *file)

    ctypedef struct zc_place:
        uint64_t hash
        zc_lock_file locks

    ctypedef struct zc_key:
        pass

    ctypedef struct zc_lock:
        cbool waited

    ctypedef struct zc_held:
        zc_lock lock

    ctypedef struct zc_change:
        pass

    void zc_place_set(zc_place *out, const char *text)
    void zc_key_set(zc_key *out, const zc_place *place, const char *name)
    zc_status zc_key_lock(const zc_key *key, zc_held *held, const zc_workspace *ws, zc_error *err)
    void zc_key_unlock(zc_held *held)
    const uint64_t ZC_CHANGING
    uint64_t zc_key_generation(const zc_key *key)
    zc_change zc_change_begin(const zc_key *key)
    void zc_change_end(zc_change change)
    void zc_change_below(const zc_key *key)
    uint64_t zc_changes_below(const zc_place *place)
    void zc_shape_note(const zc_place *array, int ndim, const int64_t *lengths, bint is_new)
    cbool zc_shape_is_stale(const zc_place *array, int ndim, const int64_t *lengths)

cdef extern from "engine/writes.h" nogil:
    ctypedef struct zc_writing:
        pass

    ctypedef struct zc_known_losses:
        pass

    void zc_writing_begin(const zc_place *array, zc_writing *out)
    void zc_writing_end(zc_writing *writing)
    zc_status zc_wait_for_writes(const zc_place *place, const zc_workspace *ws, cbool *waited)
    uint64_t zc_losses()
    void zc_note_loss()
    uint64_t zc_known_losses_get(const zc_known_losses *known)
    void zc_known_losses_set(zc_known_losses *known, uint64_t n)

cdef extern from "engine/grid.h" nogil:
    ctypedef struct zc_grid_axis:
        int64_t length, chunk
        const int64_t *edges
        int64_t n_edges

cdef extern from "engine/cache.h" nogil:
    ctypedef struct zc_cache:
        pass

    ctypedef struct zc_cache_stats:
        uint64_t hits, misses
        size_t n_chunks, n_bytes, max_bytes

    zc_cache *zc_cache_new(size_t max_bytes)
    void zc_cache_free(zc_cache *cache)
    void zc_cache_clear(zc_cache *cache)
    void zc_cache_stats_get(zc_cache *cache, zc_cache_stats *out)
    uint64_t zc_cache_array()

cdef extern from "kernels/mask.h" nogil:
    size_t zc_mask_points(const uint8_t *mask, int ndim, const int64_t *shape, int64_t first, int64_t n,
                          int64_t *const *out, size_t room)
    size_t zc_mask_pack(const uint8_t *mask, size_t n, uint64_t *bits, int64_t *before)

cdef extern from "engine/engine.h" nogil:
    const size_t ZC_INDEX_CACHE_BYTES

    ctypedef struct zc_key_encoding:
        bint v2, reversed
        char separator

    ctypedef struct zc_array:
        int ndim
        zc_grid_axis grid[64]
        const zc_chain *chain
        const void *fill
        bint missing_is_error
        zc_key_encoding keys
        const char *prefix
        size_t prefix_len
        const zc_place *place
        zc_cache *indexes
        zc_cache *cache
        uint64_t number

    ctypedef struct zc_given_block:
        const char *values
        const uint8_t *mask

    ctypedef struct zc_given:
        const zc_given_block *at
        int64_t stride[64]
        bint complete

    ctypedef struct zc_met:
        cbool is_set
        int64_t chunk[64]

    ctypedef struct zc_trial:
        const int64_t *chunks
        size_t n
        int64_t *sizes
        uint8_t *parts
        size_t part_nbytes
        cbool last

    ctypedef struct zc_call:
        const zc_array *array
        const zc_store *store
        const zc_selection *selection
        int threads
        bint write_empty
        bint prefetch
        const zc_given *blocks
        zc_met *met
        const zc_trial *trial
        zc_poll poll
        void *poll_arg

    ctypedef struct zc_fault:
        bint in_chunk
        int64_t chunk[64]
        size_t call

    zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg,
                           zc_fault *fault, zc_error *err)
    zc_status zc_read(const zc_call *call, zc_fault *fault, zc_error *err)
    bint zc_read_is_short(const zc_call *call)
    zc_status zc_write(const zc_call *call, zc_fault *fault, zc_error *err)
    void zc_chunk_key(const zc_array *array, const int64_t *chunk, char *dst)
    size_t zc_chunk_key_size(const zc_array *array)


cdef extern from "engine/stored.h" nogil:
    ctypedef struct zc_stored:
        int64_t *chunks
        int64_t *sizes
        size_t n
        char *others
        size_t others_n

    cbool zc_chunk_of_key(const zc_array *array, const char *name, size_t n, int64_t *chunk)
    int zc_list_stored(const zc_array *array, const zc_local *local, cbool sizes, size_t most,
                       int (*pause)(void *) noexcept, void *pause_arg, zc_stored *out)
    void zc_stored_free(zc_stored *stored)


cdef inline str message(const zc_error *err):
    """Return what the engine wrote about a failure."""
    return (<bytes>err.message).decode("utf-8", "replace")
