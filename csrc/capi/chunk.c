/* SPDX-License-Identifier: MIT
 *
 * Single chunks: their keys and bytes, decoding and encoding from memory to memory, the index of shards.
 */
#include <stdlib.h>
#include <string.h>

#include "capi/handle.h"
#include "engine/chunk.h"

/* ---- memory to memory --------------------------------------------------------------------------- */

/* Work on one chunk that lies in the array as a whole, without any store. */
typedef struct chunk_work {
    zc_chunk chunk;
    zc_selection selection;
    zc_call call;
    zc_context ctx;
} chunk_work;

/* Prepare the work on a chunk of that shape, in memory order.  ctx.ws is to be released if this succeeds. */
static zc_status begin(chunk_work *work, const zc_array *array, const zc_chain *chain, const int64_t *shape,
                       const void *elements, size_t nbytes, zc_error *err)
{
    size_t size;

    if (!zc_chain_decoded_size(chain, array->ndim, shape, &size) ||
        !zc_selection_whole(array->ndim, shape, chain->item.size, (void *)elements, &work->selection)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    if (size != nbytes) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "%zu bytes of memory for a chunk of %zu bytes", nbytes, size);
    }
    work->chunk = (zc_chunk){.chain = chain, .ndim = array->ndim, .shape = shape, .bounds = shape,
                             .selection = &work->selection};
    work->call = (zc_call){.array = array, .selection = &work->selection, .threads = 1, .write_empty = true};
    work->ctx = (zc_context){.call = &work->call, .fill = array->fill, .ws = zc_pool_borrow(err), .err = err};
    return work->ctx.ws != NULL ? ZC_OK : ZC_ERR_MEMORY;
}

static zc_status decode(const zc_array *array, const zc_chain *chain, const int64_t *shape, const void *data,
                        size_t nbytes, void *out, size_t out_nbytes, zc_error *err)
{
    const zc_value value = zc_value_of_memory(data, nbytes);
    chunk_work work;
    zc_status status = begin(&work, array, chain, shape, out, out_nbytes, err);

    if (status == ZC_OK) {
        status = zc_chunk_read(&work.ctx, &work.chunk, &value);
        zc_pool_release(work.ctx.ws);
    }
    return status;
}

/* Encode to out where that has room for any outcome, else to scratch memory and then to out. */
static zc_status encode(const chunk_work *work, void *out, size_t capacity, size_t *nbytes)
{
    const zc_context *ctx = &work->ctx;
    const zc_chunk *chunk = &work->chunk;
    zc_output made = {0};
    zc_status status = zc_chain_bound(chunk->chain, chunk->ndim, chunk->shape, &made.cap, ctx->err);

    if (status != ZC_OK) {
        return status;
    }
    const bool direct = made.cap <= capacity;
    made.data = direct ? out : zc_scratch_push(ctx->ws, made.cap, ctx->err);
    if (made.data == NULL) {
        return ZC_ERR_MEMORY;
    }
    status = zc_chunk_write(ctx, chunk, NULL, &made);
    *nbytes = made.written;
    if (status == ZC_OK && *nbytes > capacity) {
        status = zc_fail(ctx->err, ZC_ERR_SIZE, "the encoded chunk has %zu bytes, there is room for %zu", *nbytes,
                         capacity);
    } else if (status == ZC_OK && !direct) {
        memcpy(out, made.data, *nbytes);
    }
    zc_pop(ctx->ws, !direct);
    return status;
}

/* ---- one chunk ------------------------------------------------------------------------------------ */

/* What is wrong with the arguments of a function of one chunk; given: the pointers that `otherwise` names are. */
static const char *fault_of(const zarrcore_array *array, const int64_t *chunk, bool given, const char *otherwise)
{
    if (array == NULL) {
        return "array is NULL";
    }
    if (chunk == NULL && array->array->ndim > 0) {
        return "chunk is NULL";
    }
    return !zc_has_chunk(array->array, chunk) ? "chunk: the array has no such chunk" : given ? NULL : otherwise;
}

int zarrcore_chunk_key(const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity,
                       size_t *needed)
{
    if (fault_of(array, chunk, out != NULL || capacity == 0, "out is NULL") != NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    char *const key = zc_new_key(array, chunk);
    if (key == NULL) {
        return ZARRCORE_ERR_MEMORY;
    }
    const size_t size = strlen(key) + 1;
    if (size <= capacity) {
        memcpy(out, key, size);
    }
    if (needed != NULL) {
        *needed = size;
    }
    free(key);
    return size <= capacity ? ZARRCORE_OK : ZARRCORE_ERR_SIZE;
}

int zarrcore_chunk_sizes(const zarrcore_array *array, const int64_t *chunk, size_t *decoded,
                         size_t *encoded_bound, zarrcore_error *error)
{
    const char *const fault = fault_of(array, chunk, true, NULL);
    int64_t shape[ZC_MAX_DIMS];
    size_t size;
    zc_error err = {0};

    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zarrcore_chunk_box(array, chunk, NULL, shape);
    const zc_array *const a = array->array;
    if (!zc_chain_decoded_size(a->chain, a->ndim, shape, &size)) {
        zc_fail(&err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    } else if ((encoded_bound == NULL || zc_chain_bound(a->chain, a->ndim, shape, encoded_bound, &err) == ZC_OK) &&
               decoded != NULL) {
        *decoded = size;
    }
    return zc_report(error, &err, array, chunk);
}

int zarrcore_decode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *data, size_t nbytes,
                          void *out, size_t out_nbytes, zarrcore_error *error)
{
    const char *const fault = fault_of(array, chunk, (data != NULL || nbytes == 0) && out != NULL, "data or out is NULL");
    int64_t shape[ZC_MAX_DIMS];
    zc_error err = {0};

    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zarrcore_chunk_box(array, chunk, NULL, shape);
    err.status = decode(array->array, array->array->chain, shape, data, nbytes, out, out_nbytes, &err);
    return zc_report(error, &err, array, chunk);
}

int zarrcore_decode_inner_chunk(const zarrcore_array *array, const void *data, size_t nbytes, void *out,
                                size_t out_nbytes, zarrcore_error *error)
{
    int64_t shape[ZC_MAX_DIMS];
    zc_error err = {0};

    if (array == NULL || (data == NULL && nbytes > 0) || out == NULL) {
        return zc_report_argument(error, "array, data or out is NULL");
    }
    const zc_chain *const chain = array->array->chain;
    if (!chain->sharded) {
        return zc_report_argument(error, "the array is not sharded");
    }
    /* The inner chain knows dimensions in the order in which the shard is stored: give the elements their
     * own order back, by what the outer chain's transposition has done to them. */
    zc_chain inner = *chain->inner;
    zarrcore_inner_chunk_shape(array, shape);
    if (chain->order_ndim > 0) {
        for (int d = 0; d < chain->order_ndim; d++) {
            inner.order[d] = chain->order[chain->inner->order_ndim > 0 ? chain->inner->order[d] : d];
        }
        inner.order_ndim = chain->order_ndim;
    }
    return zc_report_status(error, &err, decode(array->array, &inner, shape, data, nbytes, out, out_nbytes, &err));
}

int zarrcore_encode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *elements,
                          size_t elements_nbytes, void *out, size_t capacity, size_t *nbytes,
                          zarrcore_error *error)
{
    const char *const fault = fault_of(array, chunk, elements != NULL && (out != NULL || capacity == 0) && nbytes != NULL,
                                       "elements, out or nbytes is NULL");
    int64_t shape[ZC_MAX_DIMS];
    chunk_work work;
    zc_error err = {0};

    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zarrcore_chunk_box(array, chunk, NULL, shape);
    err.status = begin(&work, array->array, array->array->chain, shape, elements, elements_nbytes, &err);
    if (err.status == ZC_OK) {
        while ((err.status = encode(&work, out, capacity, nbytes)) == ZC_ERR_ROOM) {
            zc_error_clear(&err);    /* now the bound is larger */
        }
        zc_pool_release(work.ctx.ws);
    }
    return zc_report(error, &err, array, chunk);
}

/* ---- values of the store ------------------------------------------------------------------------ */

/* Something that is done with the open value of a chunk. */
typedef zc_status (*use_value)(const zarrcore_array *array, const int64_t *chunk, const zc_value *value,
                               const void *arg, zc_error *err);

static zc_status open_value(const zarrcore_array *array, const int64_t *chunk, bool whole, const zc_store *store,
                            zc_value *out, zc_error *err)
{
    char *const key = zc_new_key(array, chunk);
    const zc_status status = key != NULL ? store->open(store, key, whole, out, err)
                                         : zc_fail(err, ZC_ERR_MEMORY, "no memory for a key");

    out->base = 0;
    out->waiting = NULL;
    free(key);
    return status;
}

static int with_value(const zarrcore_array *array, const int64_t *chunk, bool whole, use_value use, const void *arg,
                      zarrcore_error *error)
{
    zc_session session;
    zc_value value;
    zc_error err = {0};
    zc_status status = zc_session_begin(array, false, &session, &err);

    if (status == ZC_OK) {
        status = open_value(array, chunk, whole, &session.store, &value, &err);
        if (status == ZC_OK) {
            status = use(array, chunk, &value, arg, &err);
            zc_value_close(&value);
        }
        if (status == ZC_ERR_MISSING && err.message[0] == '\0') {
            zc_fail(&err, status, "the chunk is not in the store");
        }
    }
    zc_session_end(array, &session, status, &err);
    return zc_report(error, &err, array, chunk);
}

typedef struct load_target {
    uint64_t offset;
    void *out;
    size_t capacity;
    size_t *nbytes;
} load_target;

static zc_status load(const zarrcore_array *array, const int64_t *chunk, const zc_value *value, const void *arg,
                      zc_error *err)
{
    const load_target *target = arg;

    (void)array, (void)chunk;
    if (target->nbytes != NULL) {
        *target->nbytes = (size_t)value->size;
    }
    if (target->offset >= value->size || target->capacity == 0) {
        return ZC_OK;
    }
    const uint64_t rest = value->size - target->offset;
    const size_t n = rest < target->capacity ? (size_t)rest : target->capacity;
    return zc_value_read(value, target->offset, target->out, n, err);
}

int zarrcore_load_chunk(const zarrcore_array *array, const int64_t *chunk, uint64_t offset, void *out,
                        size_t capacity, size_t *nbytes, zarrcore_error *error)
{
    const char *const fault = fault_of(array, chunk, out != NULL || capacity == 0, "out is NULL");
    const load_target target = {offset, out, capacity, nbytes};

    return fault != NULL ? zc_report_argument(error, fault) : with_value(array, chunk, true, load, &target, error);
}

/* ---- the index of a shard ----------------------------------------------------------------------- */

typedef struct index_target {
    const int64_t *inner;            /* one inner chunk, or NULL: all n */
    zarrcore_extent *out;
    size_t n;
} index_target;

/* Number of an inner chunk in the index, from its coordinates; false if there is none with these. */
static bool inner_number(const zc_chain *chain, int ndim, const int64_t *grid, const int64_t *inner,
                         size_t *out)
{
    size_t number = 0;

    for (int d = 0; d < ndim; d++) {
        const int64_t at = inner[chain->order_ndim > 0 ? chain->order[d] : d];
        if (at < 0 || at >= grid[d]) {
            return false;
        }
        number = number * (size_t)grid[d] + (size_t)at;
    }
    *out = number;
    return true;
}

static zc_status read_index(const zarrcore_array *array, const int64_t *chunk, const zc_value *value, const void *arg,
                            zc_error *err)
{
    const index_target *target = arg;
    const zc_chain *chain = array->array->chain;
    const int ndim = array->array->ndim;
    const zc_extent *extents;
    int64_t shape[ZC_MAX_DIMS], stored[ZC_MAX_DIMS], grid[ZC_MAX_DIMS];
    size_t n, number = 0;

    zarrcore_chunk_box(array, chunk, NULL, shape);
    zc_chain_stored_shape(chain, ndim, shape, stored);
    const zc_status fits = zc_chain_inner_grid(chain, ndim, stored, grid, &n, err);
    if (fits != ZC_OK) {
        return fits;
    }
    if (target->inner == NULL && target->n != n) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "room for %zu entries, the shard has %zu inner chunks",
                       target->n, n);
    }
    if (target->inner != NULL && !inner_number(chain, ndim, grid, target->inner, &number)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "inner: the shard has no such inner chunk");
    }
    const zc_context ctx = {.ws = zc_pool_borrow(err), .err = err};
    if (ctx.ws == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = zc_shard_index_read(&ctx, chain, n, value, &extents);
    for (size_t i = 0; i < target->n && status == ZC_OK; i++) {
        target->out[i] = (zarrcore_extent){extents[number + i].offset, extents[number + i].nbytes};
    }
    if (status == ZC_OK && target->inner != NULL && zc_extent_empty(extents[number])) {
        status = zc_fail(err, ZC_ERR_MISSING, "the inner chunk is not in the shard");
    }
    zc_pool_release(ctx.ws);
    return status;
}

static int use_index(const zarrcore_array *array, const int64_t *chunk, const index_target *target, const char *fault,
                     zarrcore_error *error)
{
    zc_error err = {0};

    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    if (!array->array->chain->sharded) {
        return zc_report_argument(error, "the array is not sharded");
    }
    if (array->array->chain->n_stages > 0) {
        zc_fail(&err, ZC_ERR_UNSUPPORTED, "codecs after sharding: inner chunks have no place in the value");
        return zc_report(error, &err, NULL, NULL);
    }
    return with_value(array, chunk, false, read_index, target, error);
}

int zarrcore_shard_index(const zarrcore_array *array, const int64_t *chunk, zarrcore_extent *out, size_t n,
                         zarrcore_error *error)
{
    const index_target target = {NULL, out, n};

    return use_index(array, chunk, &target, fault_of(array, chunk, out != NULL, "out is NULL"), error);
}

int zarrcore_find_inner_chunk(const zarrcore_array *array, const int64_t *chunk, const int64_t *inner,
                              zarrcore_extent *out, zarrcore_error *error)
{
    static const int64_t none = 0;
    const index_target target = {inner != NULL ? inner : &none, out, 1};
    const bool given = out != NULL && (inner != NULL || (array != NULL && array->array->ndim == 0));

    return use_index(array, chunk, &target, fault_of(array, chunk, given, "inner or out is NULL"), error);
}
