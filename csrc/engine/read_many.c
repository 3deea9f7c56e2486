/* SPDX-License-Identifier: MIT
 *
 * Many reads as one job: the chunks of all of them are shared among the threads, and a chunk that several of them want
 * is opened once, and decoded once where each of them would have had to decode most of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/chunk.h"
#include "engine/fetch_ranges.h"

/* Memory for chunks that several reads share, in addition to what the decoders need. */
#define SHARED_BYTES ((size_t)64 << 20)

/* What one read wants of one chunk. */
typedef struct want {
    size_t call;
    const int64_t *chunk;            /* NULL: all of the call, as a read of its own */
} want;

typedef struct many_job {
    const zc_call *calls;
    size_t n_calls;
    int threads;
    bool split;
    want *wants;                     /* sorted by array and chunk */
    size_t n_wants;
    size_t *groups;                  /* where the wants of each chunk begin, and the end */
    size_t n_groups;
    size_t *failed_call;             /* for each group */
    zc_fault *faults;                /* of calls that are read by themselves */
    int64_t **chunks;                /* for each call the coordinates of its chunks */
    size_t room;
    zc_cache *shared;
    size_t first_group;              /* of those being read now */
    const zc_pieces *pieces;         /* of their values, if the store sends parts of many at once; else NULL */
    zc_workspace *ws;                /* of the calling thread, for dry runs */
} many_job;

/* ---- what is wanted -------------------------------------------------------------------------------- */

/* Points have a way of their own. */
static bool is_alone(const zc_call *call)
{
    return call->selection->points != NULL;
}

static zc_status make_room(many_job *job, size_t n, zc_error *err)
{
    if (n > job->room - job->n_wants) {
        const size_t room = 2 * job->room + n;
        want *wants = zc_realloc_array(job->wants, room, sizeof *wants);
        if (wants == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "no memory for a list of %zu chunks", room);
        }
        job->wants = wants;
        job->room = room;
    }
    return ZC_OK;
}

/* List the chunks of a call. */
static zc_status list_chunks(many_job *job, size_t number, zc_error *err)
{
    const zc_call *call = &job->calls[number];
    const int ndim = call->array->ndim;
    zc_plan plan;

    if (is_alone(call)) {
        const zc_status status = make_room(job, 1, err);
        if (status == ZC_OK) {
            job->wants[job->n_wants++] = (want){.call = number};
        }
        return status;
    }
    zc_status status = zc_plan_open(call, &plan, err);
    if (status != ZC_OK) {
        return status;
    }
    status = make_room(job, plan.n_items, err);
    int64_t *chunk = status == ZC_OK ? zc_alloc_array(plan.n_items, (size_t)ndim * sizeof *chunk) : NULL;
    if (status == ZC_OK && chunk == NULL) {
        status = zc_fail(err, ZC_ERR_MEMORY, "no memory for a list of %zu chunks", plan.n_items);
    }
    job->chunks[number] = chunk;
    for (size_t i = 0; i < plan.n_items && chunk != NULL; i++, chunk += ndim) {
        zc_plan_chunk(&plan, i, chunk);
        job->wants[job->n_wants++] = (want){.call = number, .chunk = chunk};
    }
    zc_plan_close(&plan);
    return status;
}

static void free_chunks(many_job *job)
{
    for (size_t i = 0; i < job->n_calls && job->chunks != NULL; i++) {
        free(job->chunks[i]);
    }
    free(job->chunks);
}

/* ---- groups ------------------------------------------------------------------------------------------ */

/* qsort passes nothing on: what is compared stands in the elements. */
typedef struct ordered {
    const zc_store *store;
    const zc_array *array;
    want w;
} ordered;

static int compare(const void *left, const void *right)
{
    const ordered *a = left, *b = right;

    if (a->store != b->store) {
        return (uintptr_t)a->store < (uintptr_t)b->store ? -1 : 1;
    }
    if (a->array != b->array) {
        return (uintptr_t)a->array < (uintptr_t)b->array ? -1 : 1;
    }
    if (a->w.chunk == NULL || b->w.chunk == NULL) {
        return (a->w.chunk != NULL) - (b->w.chunk != NULL);
    }
    for (int d = 0; d < a->array->ndim; d++) {
        if (a->w.chunk[d] != b->w.chunk[d]) {
            return a->w.chunk[d] < b->w.chunk[d] ? -1 : 1;
        }
    }
    return a->w.call < b->w.call ? -1 : a->w.call > b->w.call;
}

static bool same_chunk(const many_job *job, const want *a, const want *b)
{
    const zc_array *array = job->calls[a->call].array;

    return a->chunk != NULL && b->chunk != NULL && array == job->calls[b->call].array &&
           memcmp(a->chunk, b->chunk, (size_t)array->ndim * sizeof *a->chunk) == 0;
}

static zc_status sort_and_group(many_job *job, zc_error *err)
{
    ordered *list = zc_alloc_array(job->n_wants + 1, sizeof *list);

    job->groups = zc_alloc_array(job->n_wants + 1, sizeof *job->groups);
    job->failed_call = zc_alloc_array(job->n_wants + 1, sizeof *job->failed_call);
    job->faults = calloc(job->n_calls + 1, sizeof *job->faults);
    if (list == NULL || job->groups == NULL || job->failed_call == NULL || job->faults == NULL) {
        free(list);
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for a list of %zu chunks", job->n_wants);
    }
    for (size_t i = 0; i < job->n_wants; i++) {
        const zc_call *call = &job->calls[job->wants[i].call];
        list[i] = (ordered){call->store, call->array, job->wants[i]};
    }
    qsort(list, job->n_wants, sizeof *list, compare);
    for (size_t i = 0; i < job->n_wants; i++) {
        job->wants[i] = list[i].w;
        if (i == 0 || !same_chunk(job, &job->wants[i - 1], &job->wants[i])) {
            job->groups[job->n_groups++] = i;
        }
    }
    job->groups[job->n_groups] = job->n_wants;
    free(list);
    return ZC_OK;
}

/* ---- one chunk ----------------------------------------------------------------------------------------- */

/* What a call selects of a chunk. */
static bool selection_in(const zc_call *call, const int64_t *chunk, int64_t *shape, zc_selection *out)
{
    const zc_array *array = call->array;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    for (int d = 0; d < array->ndim; d++) {
        lo[d] = zc_grid_start(&array->grid[d], chunk[d]);
        shape[d] = zc_grid_chunk_length(&array->grid[d], chunk[d]);
        hi[d] = zc_grid_end(&array->grid[d], chunk[d]);
    }
    return zc_selection_clip(call->selection, lo, hi, out);
}

/* Does it pay to decode all of the chunk once?  A codec of blocks decodes about the share of the rows that is wanted. */
static bool pays_to_share(const many_job *job, const want *wants, size_t n)
{
    const zc_chain *chain = job->calls[wants[0].call].array->chain;
    int64_t shape[ZC_MAX_DIMS];
    double share = 0;
    zc_selection selection;

    if (n < 2 || chain->ops->is_plain) {
        return false;
    }
    if (!chain->ops->is_staged || chain->stages[0].cls->open_blocks == NULL) {
        return true;
    }
    const int first = chain->order_ndim > 0 ? chain->order[0] : 0;
    for (size_t i = 0; i < n && share < 1; i++) {
        if (selection_in(&job->calls[wants[i].call], wants[i].chunk, shape, &selection)) {
            const zc_axis *axis = &selection.axis[first];
            share += selection.ndim == 0 ? 1 : (double)(axis->count * axis->step) / (double)shape[first];
        }
    }
    return share >= 1;
}

/* What a call reads of a chunk, on one thread. */
static zc_status read_chunk(const zc_context *ctx, const int64_t *shape, const zc_selection *selection,
                            const zc_value *value)
{
    const zc_array *array = ctx->call->array;
    const zc_chunk chunk = {.chain = array->chain, .ndim = array->ndim, .shape = shape};
    const zc_slice all = zc_slice_all(value);

    return zc_chunk_read(ctx, &chunk, selection, &all);
}

/* Read what one call wants of a chunk whose value is open; NULL: the chunk is absent. */
static zc_status read_want(const many_job *job, const want *w, const zc_value *value, zc_workspace *ws, zc_error *err)
{
    const zc_call *call = &job->calls[w->call];
    const zc_context ctx = {.call = call, .fill = call->array->fill, .split = job->split, .ws = ws, .err = err};
    int64_t shape[ZC_MAX_DIMS];
    zc_selection selection;

    if (!selection_in(call, w->chunk, shape, &selection)) {
        return ZC_OK;
    }
    zc_status status = value == NULL ? ZC_ERR_MISSING : read_chunk(&ctx, shape, &selection, value);
    if (status == ZC_ERR_MISSING) {
        status = zc_read_absent(call->array, &selection, ws, err);
    }
    return status;
}

/* Is all of the chunk to be asked for at once? */
static bool wants_whole(const many_job *job, const want *wants, size_t n)
{
    const zc_chain *chain = job->calls[wants[0].call].array->chain;
    int64_t shape[ZC_MAX_DIMS];
    size_t size = 0, wanted = 0;
    zc_selection selection;

    for (size_t i = 0; i < n && chain->ops->has_ranges; i++) {
        if (selection_in(&job->calls[wants[i].call], wants[i].chunk, shape, &selection) &&
            zc_chain_decoded_size(chain, selection.ndim, shape, &size)) {
            wanted += zc_selection_count(&selection) * chain->item.size;
        }
    }
    return !chain->ops->has_ranges || zc_is_most(wanted, size);
}

/* How the chunk's value is known: in the array's own cache, or in one of this job for what several reads share. */
static const zc_origin *set_origin(const many_job *job, const want *wants, size_t n, zc_origin *origin,
                                   const zc_value *value)
{
    if (origin->cache != NULL) {
        return zc_origin_stamp(origin, value) ? origin : NULL;
    }
    if (job->shared == NULL || !pays_to_share(job, wants, n)) {
        return NULL;
    }
    origin->cache = job->shared;     /* one value, which stays open while it is used, needs no stamp */
    return origin;
}

/* A chunk and all that wants something of it. */
typedef struct opening {
    many_job *job;
    size_t group, n;
    const want *wants;
    const char *key;
    zc_key known;
    bool whole;
    bool again;                      /* what the first try decoded may be torn: nothing of it is used */
    zc_workspace *ws;
    zc_error *err;
} opening;

/* Read what is wanted of a value, or of none, which is absent. */
static zc_status read_wants(opening *o, const zc_value *value)
{
    const zc_call *call = &o->job->calls[o->wants[0].call];
    const zc_store *store = call->store;
    zc_status status = ZC_OK;

    if (value == NULL && store->check != NULL) {
        status = store->check(store, call->array->prefix, call->array->prefix_len, o->err);
    }
    for (size_t i = 0; i < o->n && status == ZC_OK; i++) {
        status = zc_workspace_cancelled(o->ws) ? ZC_ERR_CANCELLED
                                               : read_want(o->job, &o->wants[i], value, o->ws, o->err);
        o->job->failed_call[o->group] = o->wants[i].call;
    }
    return status;
}

static void make_origin(const opening *o, const zc_key *known, uint64_t generation, zc_origin *out)
{
    const zc_call *call = &o->job->calls[o->wants[0].call];
    const zc_array *array = call->array;
    const uint64_t number = array->cache != NULL ? array->number : (uint64_t)(uintptr_t)array;

    zc_origin_of_key(array->cache, number, call->store, known, o->key, generation, out);
}

static zc_status open_and_read(void *arg)
{
    opening *o = arg;
    const zc_store *store = o->job->calls[o->wants[0].call].store;
    zc_origin origin;
    zc_value value;

    make_origin(o, &o->known, zc_origin_generation(store, &o->known), &origin);
    zc_status status = store->open(store, o->key, o->whole, &value, o->err);
    const bool again = o->again;
    o->again = true;
    if (status == ZC_ERR_MISSING) {
        zc_error_clear(o->err);
        return read_wants(o, NULL);
    }
    if (status == ZC_OK) {
        value.base = 0;
        value.origin = again ? NULL : set_origin(o->job, o->wants, o->n, &origin, &value);
        status = read_wants(o, &value);
        zc_value_close(&value);
    }
    return status;
}

/* The same where parts of the value have been fetched; false if it has to be opened after all. */
static bool read_fetched(opening *o, zc_status *status)
{
    const zc_pieces *pieces = o->job->pieces;
    const size_t item = o->group - o->job->first_group;
    zc_origin origin;

    if (pieces == NULL || pieces->items[item].alone) {
        return false;
    }
    if (pieces->items[item].absent) {
        *status = read_wants(o, NULL);
        return true;
    }
    zc_value value = zc_pieces_value(pieces, item);
    make_origin(o, &o->known, pieces->items[item].generation, &origin);
    value.origin = set_origin(o->job, o->wants, o->n, &origin, &value);
    *status = read_wants(o, &value);
    if ((*status == ZC_OK && !zc_pieces_is_torn(pieces, item)) || pieces->items[item].whole || !zc_may_be_torn(*status)) {
        return true;
    }
    zc_error_clear(o->err);          /* parts that do not fit together: the value was replaced meanwhile */
    o->again = true;
    return false;
}

static zc_status read_group(many_job *job, size_t group, zc_workspace *ws, zc_error *err)
{
    opening o = {.job = job, .group = group, .wants = &job->wants[job->groups[group]],
                 .n = job->groups[group + 1] - job->groups[group], .ws = ws, .err = err};
    const zc_call *call = &job->calls[o.wants[0].call];
    const zc_store *store = call->store;
    char *key = zc_scratch_push(ws, zc_chunk_key_size(call->array), err);

    job->failed_call[group] = o.wants[0].call;
    if (key == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_chunk_key(call->array, o.wants[0].chunk, key);
    o.key = key;
    zc_array_key(call->array, key, &o.known);
    o.whole = wants_whole(job, o.wants, o.n);
    const bool one_version = o.whole || store->is_local || store->values_in_memory;
    zc_status status;
    if (!read_fetched(&o, &status)) {
        status = one_version ? open_and_read(&o) : zc_key_read(&o.known, open_and_read, &o, ws, err);
    }
    zc_scratch_pop(ws);
    return status;
}

static zc_status many_task(void *arg, size_t item, zc_workspace *ws, zc_error *err)
{
    many_job *job = arg;
    const size_t group = job->first_group + item;
    const want *first = &job->wants[job->groups[group]];

    if (first->chunk != NULL) {
        return read_group(job, group, ws, err);
    }
    zc_call call = job->calls[first->call];
    zc_store store = *call.store;

    store.begin = NULL;              /* what it opens is for one call, and others use the store meanwhile */
    call.store = &store;
    job->failed_call[group] = first->call;
    return zc_read(&call, &job->faults[first->call], err);
}

/* ---- all ------------------------------------------------------------------------------------------------- */

static void blame(const many_job *job, size_t group, size_t *failed_call, zc_fault *fault)
{
    *failed_call = SIZE_MAX;
    fault->in_chunk = false;
    if (group >= job->n_groups) {
        return;
    }
    const want *first = &job->wants[job->groups[group]];
    *failed_call = job->failed_call[group];
    if (first->chunk == NULL) {
        *fault = job->faults[first->call];
        return;
    }
    fault->in_chunk = true;
    memcpy(fault->chunk, first->chunk, (size_t)job->calls[first->call].array->ndim * sizeof *first->chunk);
}

/* ---- stores that send parts of many values at once -------------------------------------------------------- */

/* What is wanted of the value of a group, in dry run. */
static zc_status collect_group(void *arg, size_t item, const zc_value *value, zc_error *err)
{
    many_job *job = arg;
    const zc_piece_item *const of = value->token;
    const size_t group = job->first_group + item;
    opening o = {.job = job, .group = group, .wants = &job->wants[job->groups[group]],
                 .n = job->groups[group + 1] - job->groups[group],
                 .key = of->key, .err = err};
    zc_value known = *value;
    zc_origin origin;
    bool pending = false;
    zc_status status = ZC_OK;

    make_origin(&o, &of->known, of->generation, &origin);
    known.origin = origin.cache != NULL && zc_origin_stamp(&origin, value) ? &origin : NULL;
    for (size_t i = 0; i < o.n && status == ZC_OK; i++) {
        const zc_call *call = &job->calls[o.wants[i].call];
        const zc_context ctx = {.call = call, .fill = call->array->fill, .collects = true, .ws = job->ws, .err = err};
        int64_t shape[ZC_MAX_DIMS];
        zc_selection selection;
        if (selection_in(call, o.wants[i].chunk, shape, &selection)) {
            status = read_chunk(&ctx, shape, &selection, &known);
            pending = pending || status == ZC_ERR_PENDING;
            status = status == ZC_ERR_PENDING ? ZC_OK : status;
        }
    }
    return status == ZC_OK && pending ? ZC_ERR_PENDING : status;
}

/* Bytes that fetching and decoding of what a group wants may take, roughly. */
static size_t bytes_of(const many_job *job, const want *wants, size_t n)
{
    const zc_array *array = job->calls[wants[0].call].array;
    int64_t shape[ZC_MAX_DIMS];
    size_t bytes = 0;

    for (int d = 0; d < array->ndim; d++) {
        shape[d] = zc_grid_chunk_length(&array->grid[d], wants[0].chunk[d]);
    }
    const bool whole = wants_whole(job, wants, n);
    const zc_chain *chain = whole ? array->chain : array->chain->inner;
    return zc_chain_decoded_size(chain, array->ndim, whole ? shape : array->chain->inner_shape, &bytes) ? bytes
                                                                                                      : ZC_SIZE_MAX;
}

#define BATCH_MAX ((size_t)4096)

/* The end of the groups that are read together with group `first`. */
static size_t batch_end(const many_job *job, size_t first)
{
    const zc_store *store = job->calls[job->wants[job->groups[first]].call].store;
    const bool in_pieces = store->fetch_parts != NULL && job->wants[job->groups[first]].chunk != NULL;
    size_t bytes = 0, group = first;

    for (; group < job->n_groups; group++) {
        const want *wants = &job->wants[job->groups[group]];
        const zc_store *its = job->calls[wants->call].store;
        if ((its->fetch_parts != NULL && wants->chunk != NULL) != in_pieces) {
            break;
        }
        if (in_pieces) {
            const size_t n = group - first;
            if (its != store || n == BATCH_MAX || (bytes > store->batch_bytes && n >= (size_t)job->threads)) {
                break;
            }
            const size_t own = bytes_of(job, wants, job->groups[group + 1] - job->groups[group]);
            bytes = own > ZC_SIZE_MAX - bytes ? ZC_SIZE_MAX : bytes + own;
        }
    }
    return group;
}

static zc_status run_groups(many_job *job, size_t n, zc_poll poll, void *poll_arg, size_t *failed, zc_error *err)
{
    const zc_run run = {.task = many_task, .job = job, .n_items = n, .threads = job->threads, .poll = poll,
                        .poll_arg = poll_arg};

    return zc_pool_run(&run, failed, err);
}

/* Fetch what n groups want, and read it. */
static zc_status run_pieces(many_job *job, size_t n, zc_poll poll, void *poll_arg, size_t *failed, zc_error *err)
{
    const want *wants = &job->wants[job->groups[job->first_group]];
    size_t key_size = 0;
    zc_pieces pieces;

    for (size_t i = 0; i < n; i++) {
        const size_t size = zc_chunk_key_size(job->calls[job->wants[job->groups[job->first_group + i]].call].array);
        key_size = size > key_size ? size : key_size;
    }
    zc_piece_item *items = calloc(n, sizeof *items + key_size);
    job->ws = items != NULL ? zc_pool_borrow(err) : NULL;
    if (job->ws == NULL) {
        free(items);
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for the keys of %zu chunks", n);
    }
    char *keys = (char *)(items + n);
    for (size_t i = 0; i < n; i++, keys += key_size) {
        const size_t group = job->first_group + i;
        const want *own = &job->wants[job->groups[group]];
        zc_chunk_key(job->calls[own->call].array, own->chunk, keys);
        zc_array_key(job->calls[own->call].array, keys, &items[i].known);
        items[i].key = keys;
        items[i].whole = wants_whole(job, own, job->groups[group + 1] - job->groups[group]);
    }
    zc_pieces_open(&pieces, job->calls[wants->call].store, items, n);
    zc_status status = zc_pieces_fetch(&pieces, collect_group, job, err);
    zc_pool_release(job->ws);
    job->pieces = &pieces;
    status = status == ZC_OK ? run_groups(job, n, poll, poll_arg, failed, err) : status;
    job->pieces = NULL;
    zc_pieces_close(&pieces);
    free(items);
    return status;
}

static zc_status run_all(many_job *job, zc_poll poll, void *poll_arg, size_t *failed, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t end; job->first_group < job->n_groups && status == ZC_OK; job->first_group = end) {
        const want *first = &job->wants[job->groups[job->first_group]];
        end = batch_end(job, job->first_group);
        const bool in_pieces = first->chunk != NULL && job->calls[first->call].store->fetch_parts != NULL;
        status = (in_pieces ? run_pieces : run_groups)(job, end - job->first_group, poll, poll_arg, failed, err);
        if (status != ZC_OK && *failed != SIZE_MAX) {
            *failed += job->first_group;
        }
    }
    return status;
}

zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg,
                       size_t *failed_call, zc_fault *fault, zc_error *err)
{
    many_job job = {.calls = calls, .n_calls = n, .threads = threads > 0 ? threads : zc_pool_threads()};
    size_t failed = SIZE_MAX;
    zc_status status = ZC_OK;

    *failed_call = SIZE_MAX;
    fault->in_chunk = false;
    job.chunks = calloc(n + 1, sizeof *job.chunks);
    if (job.chunks == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for %zu reads", n);
    }
    for (size_t i = 0; i < n && status == ZC_OK; i++) {
        status = list_chunks(&job, i, err);
        if (status != ZC_OK) {
            *failed_call = i;
        }
    }
    if (status == ZC_OK) {
        status = sort_and_group(&job, err);
    }
    if (status == ZC_OK && job.n_groups > 0) {
        job.split = job.n_groups < (size_t)job.threads;
        job.shared = job.n_groups < job.n_wants ? zc_cache_new(SHARED_BYTES) : NULL;
        status = run_all(&job, poll, poll_arg, &failed, err);
        if (status != ZC_OK) {
            blame(&job, failed, failed_call, fault);
        }
        if (job.shared != NULL) {
            zc_cache_free(job.shared);
        }
    }
    free_chunks(&job);
    free(job.wants);
    free(job.groups);
    free(job.failed_call);
    free(job.faults);
    return status;
}
