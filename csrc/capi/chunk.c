/* SPDX-License-Identifier: MIT
 *
 * Single chunks: their keys and bytes, decoding and encoding from memory to memory, the index of shards.
 */
#include <string.h>

#include "capi/call.h"
#include "engine/chunk.h"

/* ---- memory to memory --------------------------------------------------------------------------- */

/* Work on one chunk, without any store. */
typedef struct chunk_work {
    const zc_array *array;
    zc_chunk chunk;
    void *elements;
    size_t elements_nbytes;
} chunk_work;

/* A chunk of that shape, in memory order, all of which lies in the array. */
static chunk_work work_on(const zarrcore_array *array, const zc_chain *chain, const int64_t *shape, const void *elements,
                          size_t nbytes)
{
    const zc_chunk chunk = {.chain = chain, .ndim = array->array->ndim, .shape = shape, .bounds = shape};

    return (chunk_work){array->array, chunk, (void *)elements, nbytes};
}

static zc_status prepare(const chunk_work *work, zc_selection *selection, zc_error *err)
{
    const zc_chunk *chunk = &work->chunk;
    size_t size;

    if (!zc_chain_decoded_size(chunk->chain, chunk->ndim, chunk->shape, &size) ||
        !zc_selection_whole(chunk->ndim, chunk->shape, chunk->chain->item.size, work->elements, selection)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    if (size != work->elements_nbytes) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "%zu bytes of memory for a chunk of %zu bytes",
                       work->elements_nbytes, size);
    }
    return ZC_OK;
}

static zc_status decode(const chunk_work *work, const void *data, size_t nbytes, zc_error *err)
{
    const zc_value value = zc_value_of_memory(data, nbytes);
    const zc_slice all = zc_slice_all(&value);
    zc_selection selection;
    zc_status status = prepare(work, &selection, err);

    if (status != ZC_OK) {
        return status;
    }
    const zc_call call = {.array = work->array, .selection = &selection, .threads = 1};
    const zc_context ctx = {.call = &call, .fill = work->array->fill, .ws = zc_pool_borrow(err), .err = err};
    if (ctx.ws == NULL) {
        return ZC_ERR_MEMORY;
    }
    status = zc_chunk_read(&ctx, &work->chunk, &selection, &all);
    zc_pool_release(ctx.ws);
    return status;
}

/* Encode to out where that has room for any outcome, else to scratch memory and then to out. */
static zc_status encode(const chunk_work *work, void *out, size_t capacity, size_t *nbytes, zc_workspace *ws,
                        zc_error *err)
{
    const zc_chunk *chunk = &work->chunk;
    zc_selection selection;
    zc_output made = {0};
    zc_status status = prepare(work, &selection, err);

    if (status == ZC_OK) {
        status = zc_chain_bound(chunk->chain, chunk->ndim, chunk->shape, &made.cap, err);
    }
    if (status != ZC_OK) {
        return status;
    }
    const zc_call call = {.array = work->array, .selection = &selection, .threads = 1, .write_empty = true};
    const zc_context ctx = {.call = &call, .fill = work->array->fill, .ws = ws, .err = err};
    made.data = made.cap <= capacity ? out : zc_scratch_push(ws, made.cap, err);
    if (made.data == NULL) {
        return ZC_ERR_MEMORY;
    }
    status = zc_chunk_write(&ctx, chunk, &selection, NULL, &made);
    *nbytes = made.written;
    if (status == ZC_OK && *nbytes > capacity) {
        status = zc_fail(err, ZC_ERR_SIZE, "the encoded chunk has %zu bytes, there is room for %zu", *nbytes,
                         capacity);
    } else if (status == ZC_OK && made.data != out) {
        memcpy(out, made.data, *nbytes);
    }
    if (made.data != out) {
        zc_scratch_pop(ws);
    }
    if (status == ZC_ERR_ROOM) {     /* now the bound is larger */
        zc_error_clear(err);
        return encode(work, out, capacity, nbytes, ws, err);
    }
    return status;
}

/* ---- checks that all functions of one chunk begin with ------------------------------------------ */

static const char *chunk_fault(const zarrcore_array *array, const int64_t *chunk)
{
    if (array == NULL) {
        return "array is NULL";
    }
    if (chunk == NULL && array->array->ndim > 0) {
        return "chunk is NULL";
    }
    return zc_has_chunk(array->array, chunk) ? NULL : "chunk: the array has no such chunk";
}

int zarrcore_chunk_key(const zarrcore_array *array, const int64_t *chunk, char *out, size_t capacity,
                       size_t *needed)
{
    char *key;
    zc_error err;

    if (chunk_fault(array, chunk) != NULL || (out == NULL && capacity > 0)) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    zc_workspace *const ws = zc_pool_borrow(&err);
    if (ws == NULL) {
        return ZARRCORE_ERR_MEMORY;
    }
    zc_status status = ZC_ERR_MEMORY;
    if ((key = zc_scratch_push(ws, zc_chunk_key_size(array->array), &err)) != NULL) {
        zc_chunk_key(array->array, chunk, key);
        const size_t size = strlen(key) + 1;
        status = size <= capacity ? ZC_OK : ZC_ERR_SIZE;
        if (status == ZC_OK) {
            memcpy(out, key, size);
        }
        if (needed != NULL) {
            *needed = size;
        }
        zc_scratch_pop(ws);
    }
    zc_pool_release(ws);
    return status;
}

int zarrcore_chunk_sizes(const zarrcore_array *array, const int64_t *chunk, size_t *decoded,
                         size_t *encoded_bound, zarrcore_error *error)
{
    const char *const fault = chunk_fault(array, chunk);
    int64_t shape[ZC_MAX_DIMS];
    size_t size = 0, bound = 0;
    zc_error err;

    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zc_error_clear(&err);
    zarrcore_chunk_box(array, chunk, NULL, shape);
    const zc_array *const a = array->array;
    zc_status status = ZC_OK;
    if (!zc_chain_decoded_size(a->chain, a->ndim, shape, &size)) {
        status = zc_fail(&err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    } else if (encoded_bound != NULL) {
        status = zc_chain_bound(a->chain, a->ndim, shape, &bound, &err);
    }
    if (status == ZC_OK && decoded != NULL) {
        *decoded = size;
    }
    if (status == ZC_OK && encoded_bound != NULL) {
        *encoded_bound = bound;
    }
    return zc_report(error, &err, array, chunk);
}

int zarrcore_decode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *data, size_t nbytes,
                          void *out, size_t out_nbytes, zarrcore_error *error)
{
    const char *fault = chunk_fault(array, chunk);
    int64_t shape[ZC_MAX_DIMS];
    zc_error err;

    if (fault == NULL && ((data == NULL && nbytes > 0) || out == NULL)) {
        fault = "data or out is NULL";
    }
    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zc_error_clear(&err);
    zarrcore_chunk_box(array, chunk, NULL, shape);
    const chunk_work work = work_on(array, array->array->chain, shape, out, out_nbytes);
    err.status = decode(&work, data, nbytes, &err);
    return zc_report(error, &err, array, chunk);
}

int zarrcore_decode_inner_chunk(const zarrcore_array *array, const void *data, size_t nbytes, void *out,
                                size_t out_nbytes, zarrcore_error *error)
{
    zc_error err;

    if (array == NULL || (data == NULL && nbytes > 0) || out == NULL) {
        return zc_report_argument(error, "array, data or out is NULL");
    }
    zc_error_clear(&err);
    const zc_chain *const chain = array->array->chain;
    if (!chain->sharded) {
        return zc_report_argument(error, "the array is not sharded");
    }
    /* The inner chain knows dimensions in the order in which the shard is stored: give the elements their
     * own order back, by what the outer chain's transposition has done to them. */
    zc_chain inner = *chain->inner;
    int64_t shape[ZC_MAX_DIMS];
    zarrcore_inner_chunk_shape(array, shape);
    if (chain->order_ndim > 0) {
        for (int d = 0; d < chain->order_ndim; d++) {
            inner.order[d] = chain->order[chain->inner->order_ndim > 0 ? chain->inner->order[d] : d];
        }
        inner.order_ndim = chain->order_ndim;
    }
    const chunk_work work = work_on(array, &inner, shape, out, out_nbytes);
    err.status = decode(&work, data, nbytes, &err);
    return zc_report(error, &err, NULL, NULL);
}

int zarrcore_encode_chunk(const zarrcore_array *array, const int64_t *chunk, const void *elements,
                          size_t elements_nbytes, void *out, size_t capacity, size_t *nbytes,
                          zarrcore_error *error)
{
    const char *fault = chunk_fault(array, chunk);
    int64_t shape[ZC_MAX_DIMS];
    zc_error err;

    if (fault == NULL && (elements == NULL || (out == NULL && capacity > 0) || nbytes == NULL)) {
        fault = "elements, out or nbytes is NULL";
    }
    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    zc_error_clear(&err);
    zarrcore_chunk_box(array, chunk, NULL, shape);
    const chunk_work work = work_on(array, array->array->chain, shape, elements, elements_nbytes);
    zc_workspace *const ws = zc_pool_borrow(&err);
    err.status = ZC_ERR_MEMORY;
    if (ws != NULL) {
        err.status = encode(&work, out, capacity, nbytes, ws, &err);
        zc_pool_release(ws);
    }
    return zc_report(error, &err, array, chunk);
}

/* ---- values of the store ------------------------------------------------------------------------ */

/* Something that is done with the open value of a chunk. */
typedef zc_status (*use_value)(const zarrcore_array *array, const int64_t *chunk, const zc_value *value,
                               zc_workspace *ws, void *arg, zc_error *err);

static zc_status with_key(const zarrcore_array *array, const int64_t *chunk, bool whole, use_value use,
                          void *arg, zc_session *session, zc_workspace *ws, zc_error *err)
{
    zc_value value;
    char *const key = zc_scratch_push(ws, zc_chunk_key_size(array->array), err);

    if (key == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_chunk_key(array->array, chunk, key);
    zc_status status = session->store.open(&session->store, key, whole, &value, err);
    if (status == ZC_OK) {
        status = use(array, chunk, &value, ws, arg, err);
        zc_value_close(&value);
    }
    zc_scratch_pop(ws);
    if (status == ZC_ERR_MISSING && err->message[0] == '\0') {
        zc_fail(err, status, "the chunk is not in the store");
    }
    return status;
}

static int with_value(const zarrcore_array *array, const int64_t *chunk, bool whole, use_value use, void *arg,
                      zarrcore_error *error)
{
    zc_session session;
    zc_error err;

    zc_error_clear(&err);
    zc_workspace *const ws = zc_pool_borrow(&err);
    if (ws == NULL) {
        return zc_report(error, &err, NULL, NULL);
    }
    zc_status status = zc_session_begin(array, &session, &err);
    if (status == ZC_OK) {
        status = with_key(array, chunk, whole, use, arg, &session, ws, &err);
    }
    zc_session_end(array, &session, status, &err);
    zc_pool_release(ws);
    return zc_report(error, &err, array, chunk);
}

typedef struct load_target {
    uint64_t offset;
    void *out;
    size_t capacity;
    size_t *nbytes;
} load_target;

static zc_status load(const zarrcore_array *array, const int64_t *chunk, const zc_value *value,
                      zc_workspace *ws, void *arg, zc_error *err)
{
    const load_target *target = arg;

    (void)array, (void)chunk, (void)ws;
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
    const char *fault = chunk_fault(array, chunk);
    load_target target = {offset, out, capacity, nbytes};

    if (fault == NULL && out == NULL && capacity > 0) {
        fault = "out is NULL";
    }
    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    return with_value(array, chunk, true, load, &target, error);
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

static zc_status copy_extents(const index_target *target, const zc_extent *extents, size_t number,
                              zc_error *err)
{
    for (size_t i = 0; i < target->n; i++) {
        const zc_extent e = extents[number + i];
        target->out[i] = (zarrcore_extent){e.offset, e.nbytes};
    }
    if (target->inner != NULL && zc_extent_empty(extents[number])) {
        return zc_fail(err, ZC_ERR_MISSING, "the inner chunk is not in the shard");
    }
    return ZC_OK;
}

static zc_status read_index(const zarrcore_array *array, const int64_t *chunk, const zc_value *value,
                            zc_workspace *ws, void *arg, zc_error *err)
{
    const index_target *target = arg;
    const zc_chain *chain = array->array->chain;
    const int ndim = array->array->ndim;
    const zc_extent *extents;
    int64_t shape[ZC_MAX_DIMS], stored[ZC_MAX_DIMS], grid[ZC_MAX_DIMS];
    size_t n, number = 0;
    int pushed = 0;

    zarrcore_chunk_box(array, chunk, NULL, shape);
    zc_chain_stored_shape(chain, ndim, shape, stored);
    if (!zc_chain_inner_grid(chain, ndim, stored, grid, &n)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the shard's shape is no multiple of the inner chunk's");
    }
    if (target->inner == NULL && target->n != n) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "room for %zu entries, the shard has %zu inner chunks",
                       target->n, n);
    }
    if (target->inner != NULL && !inner_number(chain, ndim, grid, target->inner, &number)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "inner: the shard has no such inner chunk");
    }
    const zc_context ctx = {.ws = ws, .err = err};
    const zc_slice all = zc_slice_all(value);
    zc_status status = zc_shard_index_read(&ctx, chain, n, &all, &extents, &pushed);
    if (status == ZC_OK) {
        status = copy_extents(target, extents, number, err);
    }
    zc_pop(ws, pushed);
    return status;
}

static int use_index(const zarrcore_array *array, const int64_t *chunk, index_target *target,
                     zarrcore_error *error)
{
    const zc_chain *const chain = array->array->chain;
    zc_error err;

    if (!chain->sharded) {
        return zc_report_argument(error, "the array is not sharded");
    }
    if (chain->n_stages > 0) {
        zc_error_clear(&err);
        zc_fail(&err, ZC_ERR_UNSUPPORTED, "codecs after sharding: inner chunks have no place in the value");
        return zc_report(error, &err, NULL, NULL);
    }
    return with_value(array, chunk, false, read_index, target, error);
}

int zarrcore_shard_index(const zarrcore_array *array, const int64_t *chunk, zarrcore_extent *out, size_t n,
                         zarrcore_error *error)
{
    const char *fault = chunk_fault(array, chunk);
    index_target target = {NULL, out, n};

    if (fault == NULL && out == NULL) {
        fault = "out is NULL";
    }
    return fault != NULL ? zc_report_argument(error, fault) : use_index(array, chunk, &target, error);
}

int zarrcore_find_inner_chunk(const zarrcore_array *array, const int64_t *chunk, const int64_t *inner,
                              zarrcore_extent *out, zarrcore_error *error)
{
    const char *fault = chunk_fault(array, chunk);
    static const int64_t none = 0;
    index_target target = {inner != NULL ? inner : &none, out, 1};

    if (fault == NULL && (out == NULL || (inner == NULL && array->array->ndim > 0))) {
        fault = "inner or out is NULL";
    }
    return fault != NULL ? zc_report_argument(error, fault) : use_index(array, chunk, &target, error);
}
