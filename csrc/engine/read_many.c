/* SPDX-License-Identifier: MIT
 *
 * Many reads as one job: the chunks of all of them are shared among the threads, and a chunk that several of them want
 * is opened once, and decoded once where each of them would have had to decode most of it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "engine/engine.h"
#include "engine/locks.h"

/* Memory for chunks that several reads share, beside what the decoders need anyway. */
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
    int64_t *chunks;                 /* coordinates of all chunks: a chain of lists, see list_chunks */
    size_t room;
    zc_cache *shared;
} many_job;

/* ---- what is wanted -------------------------------------------------------------------------------- */

/* Points, and stores that hand out whole values many at a time, have a way of their own. */
static bool is_alone(const zc_call *call)
{
    const zc_store *store = call->store;

    return call->part->points != NULL ||
           (store->fetch != NULL && !store->values_in_memory && !call->array->chain->sharded);
}

static zc_status make_room(many_job *job, size_t n, int ndim, zc_error *err)
{
    size_t bytes, coordinates;

    if (!zc_mul_size(n, sizeof *job->wants, &bytes) || !zc_mul_size(n, (size_t)ndim, &coordinates)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "too many chunks to count");
    }
    if (job->n_wants + n > job->room) {
        const size_t room = 2 * job->room + n;
        want *wants = realloc(job->wants, room * sizeof *wants);
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
        const zc_status status = make_room(job, 1, ndim, err);
        if (status == ZC_OK) {
            job->wants[job->n_wants++] = (want){.call = number};
        }
        return status;
    }
    zc_status status = zc_plan_open(call, &plan, err);
    if (status != ZC_OK) {
        return status;
    }
    status = make_room(job, plan.n_items, ndim, err);
    int64_t *chunk = status == ZC_OK ? malloc((plan.n_items * (size_t)ndim + 2) * sizeof *chunk) : NULL;
    if (status == ZC_OK && chunk == NULL) {
        status = zc_fail(err, ZC_ERR_MEMORY, "no memory for a list of %zu chunks", plan.n_items);
    }
    if (chunk != NULL) {             /* the lists of all calls form a chain by their first entries */
        memcpy(chunk, &job->chunks, sizeof job->chunks);
        job->chunks = chunk;
        chunk += 1;
        for (size_t i = 0; i < plan.n_items; i++, chunk += ndim) {
            zc_plan_chunk(&plan, i, chunk);
            job->wants[job->n_wants++] = (want){.call = number, .chunk = chunk};
        }
    }
    zc_plan_close(&plan);
    return status;
}

static void free_chunks(many_job *job)
{
    while (job->chunks != NULL) {
        int64_t *next;
        memcpy(&next, job->chunks, sizeof next);
        free(job->chunks);
        job->chunks = next;
    }
}

/* ---- groups ------------------------------------------------------------------------------------------ */

/* qsort passes nothing on: what is compared stands in the elements. */
typedef struct ordered {
    const zc_array *array;
    want w;
} ordered;

static int compare(const void *left, const void *right)
{
    const ordered *a = left, *b = right;

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
    ordered *list = malloc((job->n_wants + 1) * sizeof *list);

    job->groups = malloc((job->n_wants + 1) * sizeof *job->groups);
    job->failed_call = malloc((job->n_wants + 1) * sizeof *job->failed_call);
    job->faults = calloc(job->n_calls + 1, sizeof *job->faults);
    if (list == NULL || job->groups == NULL || job->failed_call == NULL || job->faults == NULL) {
        free(list);
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for a list of %zu chunks", job->n_wants);
    }
    for (size_t i = 0; i < job->n_wants; i++) {
        list[i] = (ordered){job->calls[job->wants[i].call].array, job->wants[i]};
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

/* The part of a call that lies in a chunk. */
static bool part_in(const zc_call *call, const int64_t *chunk, int64_t *shape, zc_part *out)
{
    const zc_array *array = call->array;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    for (int d = 0; d < array->ndim; d++) {
        lo[d] = zc_grid_start(&array->grid[d], chunk[d]);
        shape[d] = zc_grid_chunk_length(&array->grid[d], chunk[d]);
        hi[d] = zc_grid_end(&array->grid[d], chunk[d]);
    }
    return zc_part_clip(call->part, lo, hi, out);
}

/* Does it pay to decode all of the chunk once?  A codec of blocks decodes of a part about its share of the rows. */
static bool pays_to_share(const many_job *job, const want *wants, size_t n)
{
    const zc_chain *chain = job->calls[wants[0].call].array->chain;
    int64_t shape[ZC_MAX_DIMS];
    double share = 0;
    zc_part part;

    if (n < 2 || (!chain->sharded && chain->n_stages == 0)) {
        return false;
    }
    if (chain->sharded || chain->stages[0].cls->open_blocks == NULL) {
        return true;
    }
    const int first = chain->order_ndim > 0 ? chain->order[0] : 0;
    for (size_t i = 0; i < n && share < 1; i++) {
        if (part_in(&job->calls[wants[i].call], wants[i].chunk, shape, &part)) {
            share += part.ndim == 0 ? 1 : (double)(part.axis[first].count * part.axis[first].step) / (double)shape[first];
        }
    }
    return share >= 1;
}

/* Read what one call wants of a chunk whose value is open; absent: it is not there. */
static zc_status read_want(const many_job *job, const want *w, const zc_value *value, zc_workspace *ws, zc_error *err)
{
    const zc_call *call = &job->calls[w->call];
    const zc_scope scope = {.call = call, .fill = call->array->fill, .split = job->split};
    int64_t shape[ZC_MAX_DIMS];
    zc_part part;

    if (!part_in(call, w->chunk, shape, &part)) {
        return ZC_OK;
    }
    zc_status status = value == NULL ? ZC_ERR_MISSING
                                     : zc_chunk_read(&scope, call->array->chain, shape, &part, value, 0, value->size,
                                                     ws, err);
    if (status == ZC_ERR_MISSING) {
        status = zc_read_absent(call->array, &part, ws, err);
    }
    return status;
}

/* Is most of a shard wanted, so that a remote store should send all of it at once?  Other chunks always are. */
static bool wants_whole(const many_job *job, const want *wants, size_t n)
{
    const zc_chain *chain = job->calls[wants[0].call].array->chain;
    int64_t shape[ZC_MAX_DIMS];
    size_t size = 0, wanted = 0;
    zc_part part;

    for (size_t i = 0; i < n && chain->sharded && chain->n_stages == 0; i++) {
        if (part_in(&job->calls[wants[i].call], wants[i].chunk, shape, &part) &&
            zc_chain_decoded_size(chain, part.ndim, shape, &size)) {
            wanted += zc_part_count(&part) * chain->item.size;
        }
    }
    return !chain->sharded || chain->n_stages > 0 || wanted >= size / 2;
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
    bool whole;
    bool again;                      /* what the first try decoded may be torn: nothing of it is used */
    zc_workspace *ws;
    zc_error *err;
} opening;

static zc_status open_and_read(void *arg)
{
    opening *o = arg;
    const zc_call *call = &o->job->calls[o->wants[0].call];
    const zc_array *array = call->array;
    const zc_store *store = call->store;
    zc_origin origin;
    zc_value value;

    const uint64_t number = array->cache != NULL ? array->number : (uint64_t)(uintptr_t)array;
    zc_origin_of_key(array->cache, number, store, o->key, zc_cache_epoch(), &origin);
    zc_status status = store->open(store, o->key, o->whole, &value, o->err);
    const bool absent = status == ZC_ERR_MISSING;
    if (absent) {
        zc_error_clear(o->err);
        status = store->check != NULL ? store->check(store, array->prefix, array->prefix_len, o->err) : ZC_OK;
    } else if (status == ZC_OK) {
        value.base = 0;
        value.origin = o->again ? NULL : set_origin(o->job, o->wants, o->n, &origin, &value);
    }
    o->again = true;
    const bool opened = !absent && status == ZC_OK;
    for (size_t i = 0; i < o->n && status == ZC_OK; i++) {
        status = zc_workspace_cancelled(o->ws) ? ZC_ERR_CANCELLED
                                               : read_want(o->job, &o->wants[i], absent ? NULL : &value, o->ws, o->err);
        o->job->failed_call[o->group] = o->wants[i].call;
    }
    if (opened) {
        zc_value_close(&value);
    }
    return status;
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
    o.whole = wants_whole(job, o.wants, o.n);
    const bool one_version = o.whole || store->is_local || store->values_in_memory;
    const zc_status status = one_version ? open_and_read(&o) : zc_key_read(store, key, open_and_read, &o, ws, err);
    zc_scratch_pop(ws);
    return status;
}

static zc_status many_task(void *arg, size_t group, zc_workspace *ws, zc_error *err)
{
    many_job *job = arg;
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

zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg,
                       size_t *failed_call, zc_fault *fault, zc_error *err)
{
    many_job job = {.calls = calls, .n_calls = n, .threads = threads > 0 ? threads : zc_pool_threads()};
    size_t failed = SIZE_MAX;
    zc_status status = ZC_OK;

    *failed_call = SIZE_MAX;
    fault->in_chunk = false;
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
        const zc_run run = {.task = many_task, .job = &job, .n_items = job.n_groups, .threads = job.threads,
                            .poll = poll, .poll_arg = poll_arg};
        job.split = job.n_groups < (size_t)job.threads;
        job.shared = job.n_groups < job.n_wants ? zc_cache_new(SHARED_BYTES) : NULL;
        status = zc_pool_run(&run, &failed, err);
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
