/* SPDX-License-Identifier: MIT
 *
 * Reading one chunk: all that the calls of a job want of it, out of a cache, out of what was fetched, or out of its value.
 */
#include <stddef.h>
#include <string.h>

#include "base/arith.h"
#include "base/os_thread.h"
#include "engine/chunk.h"
#include "engine/read_chunk.h"

/* Encoded chunks of at most about this size are loaded at once. */
#define SMALL_CHUNK ((size_t)64 << 10)

/* One chunk, and all that is wanted of it. */
typedef struct chunk_job {
    zc_read_job *job;
    zc_want own, *wants;
    size_t n;
    const zc_call *call;             /* of the first want, as what follows */
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    zc_selection selection;
    bool none;                       /* nothing of the chunk is in it */
    const char *key;
    zc_key known;                    /* only if there is a cache, or if the value is not read as a whole */
    zc_sight sight;                  /* of the value, if the cache trusts in it */
    uint8_t *room;                   /* cap bytes for a small one */
    size_t cap;
    bool whole;
    bool later;                      /* it is left for later */
    bool again;                      /* what the first try decoded may be torn: nothing of it is used */
    zc_waiting waiting;              /* where there is something to do before waiting for a disk */
    size_t item;                     /* number in the run */
    _Atomic uint64_t announced;      /* the value has been brought into memory up to here */
    zc_workspace *ws;
    zc_error *err;
} chunk_job;

/* ---- what is wanted of a chunk ---------------------------------------------------------------------------- */

static void chunk_find(chunk_job *c, zc_read_job *job, size_t item, zc_workspace *ws, zc_error *err)
{
    c->job = job;
    c->ws = ws;
    c->err = err;
    c->again = c->later = false;
    c->sight = (zc_sight){0};
    c->wants = zc_wants_of(&job->wants, item, &c->own, &c->n, c->chunk);
    c->call = c->wants->call;
}

static void chunk_select(chunk_job *c)
{
    const zc_plan *plan = zc_wants_plan(&c->job->wants, c->call);

    c->none = !zc_plan_selection(plan, c->wants->item, c->chunk, c->shape, &c->selection);
}

static void chunk_open(chunk_job *c, zc_read_job *job, size_t item, zc_workspace *ws, zc_error *err)
{
    chunk_find(c, job, item, ws, err);
    chunk_select(c);
}

/* What a want selects of the chunk, in *room where it is not the first; NULL: nothing. */
static const zc_selection *selection_of(const chunk_job *c, size_t number, zc_selection *room)
{
    const zc_want *w = &c->wants[number];
    int64_t shape[ZC_MAX_DIMS];

    if (number == 0) {
        return c->none ? NULL : &c->selection;
    }
    return zc_plan_selection(zc_wants_plan(&c->job->wants, w->call), w->item, c->chunk, shape, room) ? room : NULL;
}

/* Is all of the chunk to be asked for at once?  *bytes: what fetching and decoding may take, roughly. */
static bool wants_whole(const chunk_job *c, size_t *bytes)
{
    const zc_chain *chain = c->call->array->chain;
    const int ndim = c->call->array->ndim;
    size_t size, wanted = 0;
    zc_selection room;

    *bytes = ZC_SIZE_MAX;
    if (!zc_chain_decoded_size(chain, ndim, c->shape, &size)) {
        return chain->ops->list == NULL;
    }
    *bytes = size;
    if (chain->ops->list == NULL) {
        return true;
    }
    for (size_t i = 0; i < c->n; i++) {
        const zc_selection *selection = selection_of(c, i, &room);
        size_t own;
        if (selection != NULL && (!zc_mul_size(zc_selection_count(selection), chain->item.size, &own) ||
                                  !zc_add_size(wanted, own, &wanted))) {
            return true;
        }
    }
    if (wanted >= size / 2 || size <= c->call->store->small) {
        return true;                 /* a remote store should send all of the shard at once */
    }
    *bytes = chain->inner_size > wanted ? chain->inner_size : wanted;
    return false;
}

/* Does it pay to decode all of the chunk once?  A codec of blocks decodes about the share of the rows that is wanted. */
static bool pays_to_share(const chunk_job *c)
{
    const zc_chain *chain = c->call->array->chain;
    double share = 0;
    zc_selection room;

    if (c->n < 2 || chain->ops->is_plain) {
        return false;
    }
    if (chain->blocks == NULL) {
        return true;
    }
    const int first = chain->order_ndim > 0 ? chain->order[0] : 0;
    for (size_t i = 0; i < c->n && share < 1; i++) {
        const zc_selection *selection = selection_of(c, i, &room);
        if (selection != NULL && selection->kind != ZC_SELECT_POINTS) {
            const zc_axis *axis = &selection->axis[first];
            share += selection->ndim == 0 ? 1 : (double)axis->count * (double)axis->step / (double)c->shape[first];
        }
    }
    return share >= 1;
}

/* Room for all of an encoded chunk that is small, and one byte more; 0 if it is to be opened and read by ranges. */
static size_t load_size(const chunk_job *c)
{
    const zc_chain *chain = c->call->array->chain;
    size_t size;

    if (c->call->store->load == NULL || c->call->array->cache != NULL || chain->ops->list != NULL || c->n > 1 ||
        !zc_chain_decoded_size(chain, c->selection.ndim, c->shape, &size) || size > SMALL_CHUNK ||
        (chain->ops->is_plain && !zc_selection_covers(&c->selection, c->shape) && size > SMALL_CHUNK / 16)) {
        return 0;
    }
    return size + size / 8 + 256;
}

/* How a value is known in a cache: in that of the array, or in one of this job for what several calls want.  NULL: in
 * none. */
static const zc_origin *origin_of(const chunk_job *c, const zc_key *known, const char *key, uint64_t generation,
                                  const zc_value *value, zc_origin *origin)
{
    const zc_array *array = c->call->array;

    if (array->cache != NULL) {
        zc_origin_of_key(array->cache, array->number, c->call->store, known, key, generation, origin);
        origin->sight = c->sight;
        if (zc_origin_stamp(origin, value)) {
            return origin;
        }
        zc_cache_count_miss(array->cache);
        return NULL;
    }
    if (c->job->shared == NULL || !pays_to_share(c)) {
        return NULL;
    }
    /* One value, which stays open while it is used, needs no stamp. */
    zc_origin_of_key(c->job->shared, (uint64_t)(uintptr_t)array, c->call->store, known, key, generation, origin);
    return origin;
}

/* ---- one chunk -------------------------------------------------------------------------------------------- */

#define FILL_AT_ONCE ((size_t)32 << 20)

/* Set the memory of a chunk that is absent to the fill value, in pieces between which an interrupt is noticed. */
static zc_status fill_selection(const zc_array *array, const zc_selection *selection, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = array->chain->item.size;
    zc_selection piece = *selection;
    int axis = 0;

    while (axis < selection->ndim && selection->axis[axis].count == 1) {
        axis++;
    }
    if (selection->kind != ZC_SELECT_REGION || axis == selection->ndim || selection->axis[axis].index != NULL) {
        return zc_selection_fill(selection, itemsize, array->fill, ws, err);
    }
    const int64_t count = selection->axis[axis].count;
    const int64_t row = (int64_t)(zc_selection_count(selection) / (size_t)count * itemsize);
    const int64_t rows = row < (int64_t)FILL_AT_ONCE ? (int64_t)FILL_AT_ONCE / row : 1;
    zc_status status = ZC_OK;
    for (int64_t k = 0; k < count && status == ZC_OK; k += rows) {
        piece.axis[axis].count = rows < count - k ? rows : count - k;
        piece.memory = selection->memory + k * selection->axis[axis].stride;
        status = zc_selection_fill(&piece, itemsize, array->fill, ws, err);
        if (zc_workspace_cancelled(ws)) {
            return ZC_ERR_CANCELLED;
        }
    }
    return status;
}

/* How many bytes the value of a chunk that is tried has, or what else is known of it. */
static zc_status note_size(const chunk_job *c, int64_t size)
{
    if (c->call->trial != NULL) {
        c->call->trial->sizes[c->wants->item] = size;
    }
    return ZC_OK;
}

static int64_t size_of_value(const zc_value *value)
{
    return value->size <= INT64_MAX ? (int64_t)value->size : 0;
}

/* Read what one call selects of a chunk that is absent: the fill value, or a failure where the array wants that. */
static zc_status read_absent(const chunk_job *c, const zc_call *call, const zc_selection *selection)
{
    const zc_array *array = c->call->array;

    atomic_store_explicit(&c->job->absent[call - c->job->wants.calls], true, memory_order_relaxed);
    if (call->trial != NULL) {
        zc_error_clear(c->err);
        return note_size(c, ZC_CHUNK_ABSENT);
    }
    if (array->missing_is_error && (call->is_pending == NULL || !call->is_pending(call->pending, c->chunk))) {
        return zc_fail(c->err, ZC_ERR_MISSING, "the chunk is missing from the store");
    }
    zc_error_clear(c->err);          /* absent, and only that, means the fill value */
    return call->prefetch ? ZC_OK : fill_selection(array, selection, c->ws, c->err);
}

static zc_context context_of(const chunk_job *c, size_t number)
{
    const zc_call *call = c->wants[number].call;

    return (zc_context){.call = call, .fill = call->array->fill, .split = c->job->split, .prefetch = call->prefetch,
                        .tries = call->trial != NULL,
                        .ws = c->ws, .err = c->err};
}

/* Read what all calls want: out of the chunk in a cache, out of the value, or, where there is neither, of one that is
 * absent. */
static zc_status read_wants(const chunk_job *c, zc_cached *cached, const zc_value *value)
{
    const zc_array *array = c->call->array;
    zc_chunk chunk = {.chain = array->chain, .ndim = array->ndim, .shape = c->shape};
    zc_status status = ZC_OK;
    zc_selection room;

    for (size_t i = 0; i < c->n && status == ZC_OK; i++) {
        const zc_context ctx = context_of(c, i);
        chunk.selection = selection_of(c, i, &room);
        if (i > 0 && zc_workspace_cancelled(c->ws)) {
            return ZC_ERR_CANCELLED;
        }
        if (chunk.selection == NULL) {
            continue;
        }
        if (cached != NULL) {
            status = ctx.prefetch ? ZC_OK : zc_chunk_place(&ctx, &chunk, zc_cached_data(cached));
        } else {
            status = value == NULL ? ZC_ERR_MISSING : zc_chunk_read(&ctx, &chunk, value);
        }
        if (status == ZC_ERR_MISSING) {
            status = read_absent(c, ctx.call, chunk.selection);
        }
        c->wants[i].failed = status != ZC_OK;
    }
    return status;
}

/* ---- reading ahead ---------------------------------------------------------------------------------------- */

/* Will all of the value be read, or nearly all? */
static bool reads_whole(const chunk_job *c)
{
    const zc_array *array = c->call->array;
    const zc_chain *chain = array->chain;
    size_t there = 1, wanted = 0;
    zc_selection room;

    if (chain->ops->list == NULL && !chain->ops->is_plain && chain->blocks == NULL) {
        return true;                 /* it has no parts */
    }
    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *axis = &array->grid[d];
        const int64_t end = zc_grid_end(axis, c->chunk[d]);
        const int64_t length = (end < axis->length ? end : axis->length) - zc_grid_start(axis, c->chunk[d]);
        if (!zc_mul_size(there, (uint64_t)length, &there)) {
            return false;
        }
    }
    for (size_t i = 0; i < c->n && wanted < there / 2; i++) {
        const zc_selection *selection = selection_of(c, i, &room);
        wanted += selection != NULL ? zc_selection_count(selection) : 0;
    }
    return wanted >= there / 2;
}

bool zc_read_announce(void *arg, size_t item, uint64_t *size)
{
    zc_read_job *job = arg;
    chunk_job c;
    char room[1024];

    chunk_open(&c, job, job->first + item, NULL, NULL);
    const zc_store *store = c.call->store;
    if (c.none || (c.call->trial != NULL && c.call->trial->parts != NULL) ||
        store->announce == NULL || zc_chunk_key_size(c.call->array) > sizeof room || !reads_whole(&c)) {
        return false;
    }
    zc_chunk_key(c.call->array, c.chunk, room);
    return store->announce(store, room, ZC_AHEAD_BYTES, size);
}

/* zc_waiting.wait: before a read from offset on. */
static void before_waiting(zc_waiting *waiting, const zc_value *value, uint64_t offset)
{
    chunk_job *c = (chunk_job *)((char *)waiting - offsetof(chunk_job, waiting));
    const uint64_t announced = atomic_load(&c->announced);

    if (waiting->whole && offset >= announced && announced < value->file.size) {
        /* The index of a shard may come last in the file, but is read first. */
        const uint64_t begin = announced == 0 && c->call->array->chain->ops->list != NULL ? 0 : offset;
        const uint64_t rest = value->file.size - (begin < value->file.size ? begin : value->file.size);
        const uint64_t n = rest < ZC_AHEAD_BYTES ? rest : ZC_AHEAD_BYTES;
        atomic_store(&c->announced, begin + n);
        zc_file_announce(&value->file, begin, n);
    }
    zc_ahead_wait(c->job->ahead, c->item, atomic_load_explicit(&waiting->blind, memory_order_relaxed));
}

static void watch_waiting(chunk_job *c, zc_value *value)
{
    c->waiting = (zc_waiting){.wait = before_waiting, .whole = reads_whole(c)};
    c->announced = zc_ahead_has(c->job->ahead, c->item) ? ZC_AHEAD_BYTES : 0;
    value->waiting = &c->waiting;
}

/* Load or open the value; who waits for a small one is known by the clock. */
static zc_status open_value(chunk_job *c, zc_value *value)
{
    const zc_store *store = c->call->store;
    zc_ahead *const ahead = c->job->ahead;
    const int64_t start = ahead != NULL ? zc_now_ns() : 0;
    const zc_status status = c->cap > 0 ? store->load(store, c->key, c->room, c->cap, value, c->err)
                                        : store->open(store, c->key, c->whole, value, c->err);

    value->waiting = NULL;
    if (ahead == NULL || store->announce == NULL || status != ZC_OK) {
        return status;
    }
    if (value->data == NULL) {
        watch_waiting(c, value);
    } else if (zc_now_ns() - start > ZC_WAITED_NS(value->size)) {
        zc_ahead_wait(ahead, c->item, true);
    }
    return status;
}

/* ---- the value of a chunk --------------------------------------------------------------------------------- */

/* Is what was loaded not all of the value: too large, or cut off where the disk fails? */
static bool is_part(const chunk_job *c, uint64_t loaded)
{
    zc_error unused = {0};
    zc_value value;

    if (c->call->store->open(c->call->store, c->key, c->whole, &value, &unused) != ZC_OK) {
        return true;
    }
    const bool differs = value.size != loaded;
    zc_value_close(&value);
    return differs;
}

static zc_status open_and_read(void *arg)
{
    chunk_job *c = arg;
    const zc_store *store = c->call->store;
    const bool keeps = !c->again && (c->call->array->cache != NULL || c->job->shared != NULL);
    const uint64_t generation = keeps ? zc_origin_generation(store, &c->known) : 0;
    zc_origin origin;
    zc_value value;
    uint64_t loaded = 0;

    zc_status status = open_value(c, &value);
    if (status == ZC_ERR_MISSING) {
        c->again = true;
        return read_wants(c, NULL, NULL);
    }
    if (status == ZC_OK) {
        loaded = value.data != NULL ? value.size : 0;
        note_size(c, size_of_value(&value));
        value.origin = keeps ? origin_of(c, &c->known, c->key, generation, &value, &origin) : NULL;
        value.base = 0;
        status = read_wants(c, NULL, &value);
        zc_value_close(&value);
    }
    if (c->cap > 0 && status != ZC_OK && status != ZC_ERR_MISSING && zc_may_be_torn(status) && is_part(c, loaded)) {
        zc_error_clear(c->err);      /* reading it shows the reason */
        c->cap = 0;
        return open_and_read(c);
    }
    c->again = true;
    return status;
}

static zc_status read_value(chunk_job *c)
{
    return c->whole ? open_and_read(c) : zc_key_read(&c->known, open_and_read, c, c->ws, c->err);
}

/* Read a chunk that the cache will keep, unless another thread decodes it now: then it is one for later, or waited for. */
static zc_status read_to_keep(chunk_job *c, size_t item)
{
    zc_cache *const cache = c->call->array->cache;

    if (zc_cache_claim(cache, &c->known)) {
        const zc_status status = read_value(c);
        zc_cache_unclaim(cache, &c->known);
        return status;
    }
    c->later = c->job->later != NULL;
    if (c->later) {
        c->job->later[atomic_fetch_add(&c->job->n_later, 1)] = item;
        return ZC_OK;
    }
    zc_cache_await(cache, &c->known);
    zc_cached *const cached = zc_find_kept(c->call, &c->known, c->key, &c->sight);
    const zc_status status = cached != NULL ? read_wants(c, cached, NULL) : read_value(c);
    zc_cached_let_go(cached);
    return status;
}

/* Open the value of a chunk by its key and read it. */
static zc_status read_by_key(chunk_job *c, size_t item)
{
    const zc_call *call = c->call;
    size_t bytes;

    /* An open file, or an object in memory, stays what it is. */
    c->whole = call->store->is_local || call->store->values_in_memory || wants_whole(c, &bytes);
    c->cap = load_size(c);
    c->room = zc_scratch_push(c->ws, c->cap + zc_chunk_key_size(call->array), c->err);
    if (c->room == NULL) {
        return ZC_ERR_MEMORY;
    }
    char *const key = (char *)c->room + c->cap;
    zc_chunk_key(call->array, c->chunk, key);
    c->key = key;
    if (call->array->cache != NULL || c->job->shared != NULL || !c->whole) {
        zc_array_key(call->array, key, &c->known);
    }
    zc_cached *const cached = zc_find_kept(call, &c->known, key, &c->sight);
    const zc_status status = cached != NULL           ? read_wants(c, cached, NULL)
                             : c->sight.at_ns != 0 ? read_to_keep(c, item)
                                                   : read_value(c);
    zc_cached_let_go(cached);
    zc_scratch_pop(c->ws);
    return status;
}

/* Read a chunk for which something was fetched; false if it has to be opened after all. */
static bool read_fetched(chunk_job *c, const zc_fetched *found, zc_status *status)
{
    zc_origin origin;

    if (found->alone) {
        return false;
    }
    if (found->cached != NULL || found->absent) {
        *status = read_wants(c, found->cached, NULL);
        return true;
    }
    zc_value value = zc_fetch_value(found);
    value.origin = origin_of(c, &found->known, found->key, found->generation, &value, &origin);
    note_size(c, size_of_value(&value));
    *status = read_wants(c, NULL, &value);
    if (found->whole || *status == ZC_OK || !zc_may_be_torn(*status)) {
        return true;
    }
    zc_error_clear(c->err);          /* ranges that are not there, or do not fit together: look again */
    c->again = true;
    return false;
}

/* Read a chunk whose value has been lent. */
static zc_status read_lent(chunk_job *c, zc_value *value)
{
    if (value->data == NULL) {
        return read_wants(c, NULL, NULL);
    }
    note_size(c, size_of_value(value));
    return read_wants(c, NULL, value);
}

static zc_status read_found(chunk_job *c, size_t item)
{
    zc_status status;

    if (c->job->lent != NULL) {
        return read_lent(c, &c->job->lent[item]);
    }
    return c->job->fetched != NULL && read_fetched(c, &c->job->fetched[item], &status) ? status : read_by_key(c, item);
}

/* Read the part of the value of a chunk that a trial asks for. */
static zc_status read_part(const chunk_job *c, const zc_trial *trial)
{
    const zc_store *store = c->call->store;
    uint8_t *const dst = trial->parts + c->wants->item * trial->part_nbytes;
    const uint64_t n = trial->part_nbytes;
    char *const key = zc_scratch_push(c->ws, zc_chunk_key_size(c->call->array), c->err);
    zc_value value;

    if (key == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_chunk_key(c->call->array, c->chunk, key);
    zc_status status = store->open(store, key, false, &value, c->err);
    if (status == ZC_OK) {
        note_size(c, size_of_value(&value));
        status = value.size < n ? ZC_ERR_SIZE
                                : zc_value_read(&value, trial->last ? value.size - n : 0, dst, trial->part_nbytes, c->err);
        zc_value_close(&value);
    }
    zc_scratch_pop(c->ws);
    return status;
}

/* Decode a chunk into scratch memory.  Only what ends the call is a failure: nothing else of it goes into its outcome. */
static zc_status try_chunk(chunk_job *c, size_t item)
{
    const zc_trial *trial = c->call->trial;
    zc_status status = ZC_ERR_OVERFLOW;
    size_t size;

    if (c->none) {
        status = ZC_ERR_RANGE;               /* outside of the grid, or of what can be addressed */
    } else if (trial->parts != NULL) {
        status = read_part(c, trial);
    } else if (zc_chain_decoded_size(c->call->array->chain, c->call->array->ndim, c->shape, &size)) {
        c->selection.memory = zc_scratch_push(c->ws, size, c->err);
        status = c->selection.memory != NULL ? read_found(c, item) : ZC_ERR_MEMORY;
        zc_pop(c->ws, c->selection.memory != NULL);
    }
    if (status == ZC_OK || status == ZC_ERR_CANCELLED || status == ZC_ERR_CALLBACK || c->err->cause != 0) {
        return status;
    }
    zc_error_clear(c->err);
    return note_size(c, ZC_CHUNK_DAMAGED);
}

zc_status zc_read_item(void *arg, size_t item, zc_workspace *ws, zc_error *err)
{
    zc_read_job *job = arg;
    chunk_job c;

    if (job->ahead != NULL) {
        zc_ahead_item(job->ahead, item);
    }
    c.item = item;
    item = job->order != NULL ? job->order[item] : item;
    chunk_open(&c, job, job->first + item, ws, err);
    const zc_status status = c.call->trial != NULL ? try_chunk(&c, item) : c.none && c.n == 1 ? ZC_OK : read_found(&c, item);
    if (!c.later) {
        zc_pool_note_done();
    }
    return status;
}

/* ---- chunks that are fetched together --------------------------------------------------------------------- */

void zc_read_key(const zc_read_job *job, size_t item, char *key)
{
    int64_t chunk[ZC_MAX_DIMS];
    zc_want own;
    size_t n;

    zc_chunk_key(zc_wants_of(&job->wants, job->first + item, &own, &n, chunk)->call->array, chunk, key);
}

size_t zc_read_prepare(zc_read_job *job, size_t item, char *key, zc_fetched *out)
{
    size_t bytes = 0;
    chunk_job c;

    chunk_find(&c, job, job->first + item, job->wants.ws, NULL);
    const zc_array *array = c.call->array;
    const zc_store *store = c.call->store;
    zc_chunk_key(array, c.chunk, key);
    memset(out, 0, offsetof(zc_fetched, known));
    out->key = key;
    out->whole = store->values_in_memory;
    if (!out->whole) {
        chunk_select(&c);
        out->whole = wants_whole(&c, &bytes);
    }
    out->bytes = bytes;
    out->keeps = array->cache != NULL;
    if (array->cache == NULL && job->shared == NULL && out->whole) {
        return bytes;
    }
    zc_array_key(array, key, &out->known);
    if (!store->values_in_memory) {
        out->generation = zc_key_generation(&out->known);
    }
    /* Of a store whose values have no stamp, the key shows whether a chunk is in the cache: it need not be fetched. */
    if (array->cache != NULL && !store->values_in_memory && array->chain->ops->decode != NULL) {
        zc_origin origin;
        zc_origin_of_key(array->cache, array->number, store, &out->known, key, out->generation, &origin);
        out->cached = zc_cache_has(&origin, 0) ? zc_cache_find(&origin, 0) : NULL;
    }
    return bytes;
}

zc_status zc_read_list(void *arg, const zc_fetched *item, const zc_value *value, bool *more, zc_error *err)
{
    zc_read_job *job = arg;
    zc_status status = ZC_OK;
    zc_value known = *value;
    zc_origin origin;
    zc_selection room;
    chunk_job c;

    chunk_open(&c, job, job->first + (size_t)(item - job->fetched), job->wants.ws, err);
    const zc_array *array = c.call->array;
    zc_chunk chunk = {.chain = array->chain, .ndim = array->ndim, .shape = c.shape};
    if (array->cache != NULL) {
        known.origin = origin_of(&c, &item->known, item->key, item->generation, value, &origin);
    }
    for (size_t i = 0; i < c.n && status == ZC_OK; i++) {
        const zc_context ctx = context_of(&c, i);
        chunk.selection = selection_of(&c, i, &room);
        if (chunk.selection != NULL && (!ctx.prefetch || known.origin != NULL)) {
            status = zc_chunk_list(&ctx, &chunk, &known, more);
        }
    }
    return status;
}
