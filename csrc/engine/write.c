/* SPDX-License-Identifier: MIT
 *
 * Writing a region: the chunks of the plan, on all threads.  A chunk that is written in part is read,
 * patched and written back under a lock.
 */
#include "base/arith.h"
#include "base/metrics.h"
#include "base/os_thread.h"
#include "engine/chunk.h"

#define MOST_ATTEMPTS 100            /* at a chunk that other processes replace meanwhile */
#define POLL_NS (INT64_C(50) * 1000000)

/* Who may encode, where more threads than the CPUs have use for wait for a store.  Without turns all of them would encode at first, in
 * each other's caches, and nothing would be on its way until the last ones send it all.  The last few chunks, which are less than a
 * round, are encoded beside the round before: alone they would leave CPUs with nothing to do. */
typedef struct encoders {
    zc_mutex lock;
    zc_cond free;
    int n_free;
    size_t n_left, n_last;           /* chunks that nobody has begun, and how many of them need no turn */
} encoders;

typedef struct write_job {
    zc_plan plan;
    zc_context context;              /* without workspace and error, which are those of each thread */
    encoders *encoders;              /* NULL: all threads */
} write_job;

/* One chunk that is being written. */
typedef struct target {
    const int64_t *chunk;
    const char *key;
    zc_key known;
    int64_t shape[ZC_MAX_DIMS];
    int64_t bounds[ZC_MAX_DIMS];     /* extent of the array in the chunk */
    zc_selection selection;
} target;

/* A version of a stored value, and how often others have been faster to replace it. */
typedef struct version {
    void *token;                     /* the store's own, or NULL */
    int attempt;
} version;

/* May there be elements in the chunk that lie beyond the array as this call knows it?  To be asked under its lock. */
static bool reaches_beyond(const write_job *job, const target *t)
{
    const zc_array *array = job->plan.call->array;
    int64_t lengths[ZC_MAX_DIMS];
    bool at_end = false;

    for (int d = 0; d < array->ndim; d++) {
        lengths[d] = array->grid[d].length;
        at_end = at_end || t->bounds[d] < t->shape[d];
    }
    return at_end && zc_shape_is_stale(array->place, array->ndim, lengths);
}

/* Encode the chunk into a scratch buffer of as much room as is thought to be enough: ZC_ERR_ROOM if it is not. */
static zc_status try_encode(const zc_context *ctx, const target *t, const zc_value *old, zc_output *out)
{
    const zc_chain *chain = ctx->call->array->chain;
    const zc_chunk chunk = {.chain = chain, .ndim = t->selection.ndim, .shape = t->shape, .bounds = t->bounds,
                            .selection = &t->selection};
    size_t decoded;
    zc_status status = zc_chain_bound(chain, chunk.ndim, t->shape, &out->cap, ctx->err);

    if (status == ZC_OK && chain->ops->list != NULL && old != NULL &&
        zc_chain_decoded_size(chain, chunk.ndim, t->shape, &decoded)) {
        /* What stays of it may be the work of an encoder that makes more of a chunk than this one does. */
        const uint64_t most = chain->ops->plausible(chain, decoded);
        if (!zc_add_size(out->cap, (size_t)(old->size < most ? old->size : most), &out->cap)) {
            status = zc_fail(ctx->err, ZC_ERR_OVERFLOW, "the shard does not fit into memory");
        }
    }
    if (status != ZC_OK) {
        return status;
    }
    if ((out->data = zc_scratch_push(ctx->ws, out->cap, ctx->err)) == NULL) {
        return ZC_ERR_MEMORY;
    }
    status = zc_chunk_write(ctx, &chunk, old, out);
    if (status == ZC_OK && zc_workspace_cancelled(ctx->ws)) {
        status = ZC_ERR_CANCELLED;   /* nothing is stored once the caller has been told */
    }
    if (status != ZC_OK) {
        zc_scratch_pop(ctx->ws);
    }
    return status;
}

/* Encode the chunk into a scratch buffer, which the caller pops if this succeeds.  old may be NULL. */
static zc_status encode(const zc_context *ctx, const target *t, const zc_value *old, zc_output *out)
{
    zc_status status;

    while ((status = try_encode(ctx, t, old, out)) == ZC_ERR_ROOM) {
        zc_error_clear(ctx->err);    /* now a callback asks for more */
    }
    return status;
}

/* Replace the value of the key; without a source, remove it. */
static zc_status put(const zc_store *store, const target *t, const zc_file_source *source, zc_error *err)
{
    const zc_change change = zc_change_begin(&t->known);
    const zc_status status = source == NULL                ? store->remove(store, t->key, err)
                             : store->replace_from != NULL ? store->replace_from(store, t->key, source, err)
                                                           : store->replace(store, t->key, source->data,
                                                                            (size_t)source->total, err);

    zc_change_end(change);
    zc_metric_add(ZC_METRIC_WRITES, 1);
    zc_metric_add(ZC_METRIC_BYTES_WRITTEN, source != NULL ? source->total : 0);
    return status;
}

/* The same if the key still has a version; *done: it had.  What had no value before and is to have none stays so. */
static zc_status put_version(const zc_store *store, const target *t, const zc_output *out, const version *v, bool *done,
                             zc_error *err)
{
    if (out->written == 0) {
        return ZC_OK;
    }
    const zc_change change = zc_change_begin(&t->known);
    const zc_status status = store->replace_version(store, t->key, out->data, out->written, v->token, v->attempt, done, err);

    zc_change_end(change);
    return status;
}

/* Encode the chunk of a value that is to be replaced on condition.  No store removes one on condition, so a chunk that has
 * become empty is stored. */
static zc_status encode_open(const zc_context *ctx, const target *t, const zc_value *old, const version *v, zc_output *out)
{
    zc_status status = encode(ctx, t, old, out);

    if (status == ZC_OK && out->written == 0 && v->token != NULL) {
        zc_call call = *ctx->call;
        zc_context full = *ctx;
        call.write_empty = true;
        full.call = &call;
        zc_scratch_pop(ctx->ws);
        status = encode(&full, t, old, out);
    }
    return status;
}

/* Read, patch, write.  *done: nobody else has replaced the value meanwhile, as far as the store compares versions. */
static zc_status patch_once(const zc_context *ctx, const target *t, version *v, bool *done)
{
    const zc_store *store = ctx->call->store;
    zc_error *err = ctx->err;
    zc_value old;
    zc_output out;
    zc_status status = store->open_version != NULL ? store->open_version(store, t->key, &old, &v->token, err)
                                                   : store->open(store, t->key, true, &old, err);

    if (status == ZC_OK) {
        old.base = 0;
        old.waiting = NULL;
        status = encode_open(ctx, t, &old, v, &out);
        zc_value_close(&old);
    } else if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        status = encode(ctx, t, NULL, &out);
    }
    if (status == ZC_OK) {
        const zc_file_source source = {.total = out.written, .data = out.data};
        status = v->token != NULL ? put_version(store, t, &out, v, done, err)
                                  : put(store, t, out.written > 0 ? &source : NULL, err);
        zc_scratch_pop(ctx->ws);
    }
    if (v->token != NULL) {
        store->forget_version(v->token);
        v->token = NULL;
    }
    return status;
}

/* Until nobody else has replaced the value meanwhile: the lock of the key keeps the others in this process away, and versions,
 * where the store compares them, those in other processes. */
static zc_status patch_locked(const write_job *job, const target *t, zc_workspace *ws, zc_error *err)
{
    zc_context ctx = zc_context_on(&job->context, ws, err);

    ctx.keeps_beyond = reaches_beyond(job, t);
    for (version v = {0}; v.attempt < MOST_ATTEMPTS; v.attempt++) {
        bool done = true;
        const zc_status status = patch_once(&ctx, t, &v, &done);
        if (status != ZC_OK || done) {
            return status;
        }
    }
    return zc_fail(err, ZC_ERR_IO, "others have replaced the chunk %d times while it was changed", MOST_ATTEMPTS);
}

static zc_status lock(const write_job *job, const target *t, zc_held *held, zc_workspace *ws, zc_error *err)
{
    zc_met *const met = job->plan.call->met;
    const zc_status status = zc_key_lock(&t->known, held, ws, err);

    if (status == ZC_OK && held->lock.waited && met != NULL && !atomic_exchange(&met->is_set, true)) {
        memcpy(met->chunk, t->chunk, sizeof *t->chunk * (size_t)job->plan.call->array->ndim);
    }
    return status;
}

static zc_status patch(const write_job *job, const target *t, zc_workspace *ws, zc_error *err)
{
    zc_held held;
    zc_status status = lock(job, t, &held, ws, err);

    if (status == ZC_OK) {
        status = patch_locked(job, t, ws, err);
        zc_key_unlock(&held);
    }
    return status;
}

/* Is the caller's memory what is to be stored?  *size: of the chunk. */
static bool is_as_stored(const zc_chunk *chunk, size_t *size)
{
    const zc_chain *chain = chunk->chain;

    return chain->ops->is_plain && chain->order_ndim == 0 && !zc_item_swaps(&chain->item) &&
           zc_selection_is_chunk_image(chunk->selection, chunk->shape, chain->item.size) &&
           zc_chain_decoded_size(chain, chunk->ndim, chunk->shape, size);
}

/* The bytes of a chunk all of which is given: where it has no codecs made piece by piece, or the caller's, else encoded.  If
 * this succeeds, one scratch buffer is pushed.  *empty: nothing is to be stored. */
static zc_status make_source(const zc_context *ctx, const target *t, zc_plain *plain, zc_file_source *out, bool *empty)
{
    const zc_call *call = ctx->call;
    const zc_chunk chunk = {.chain = call->array->chain, .ndim = t->selection.ndim, .shape = t->shape,
                            .bounds = t->bounds, .selection = &t->selection};
    zc_output encoded = {0};
    size_t size;

    if (call->store->replace_from != NULL && zc_plain_open(ctx, &chunk, plain)) {
        return zc_plain_source(plain, out, empty);
    }
    if (call->store->replace_from == NULL && ctx->blocks == NULL && is_as_stored(&chunk, &size)) {
        *out = (zc_file_source){.total = size, .data = t->selection.memory};
        *empty = !call->write_empty && zc_selection_equals_fill(&t->selection, chunk.chain->item.size, ctx->fill);
        return zc_scratch_push(ctx->ws, 1, ctx->err) != NULL ? ZC_OK : ZC_ERR_MEMORY;
    }
    const zc_status status = encode(ctx, t, NULL, &encoded);
    *out = (zc_file_source){.total = encoded.written, .data = encoded.data};
    *empty = encoded.written == 0;
    return status;
}

/* Wait for a turn; false: the call has been cancelled. */
static bool begin_turn(encoders *e, zc_workspace *ws)
{
    bool go_on = true;

    zc_mutex_lock(&e->lock);
    while (e->n_free <= 0 && e->n_left > e->n_last && go_on) {
        zc_cond_wait_for(&e->free, &e->lock, POLL_NS);
        zc_mutex_unlock(&e->lock);
        go_on = !zc_workspace_cancelled(ws);
        zc_mutex_lock(&e->lock);
    }
    e->n_free -= go_on;
    const bool are_last = go_on && --e->n_left == e->n_last;
    zc_mutex_unlock(&e->lock);
    if (are_last) {
        zc_cond_broadcast(&e->free);
    }
    return go_on;
}

static void end_turn(encoders *e)
{
    zc_mutex_lock(&e->lock);
    e->n_free++;
    zc_mutex_unlock(&e->lock);
    zc_cond_signal(&e->free);
}

static zc_status make_source_in_turn(const write_job *job, const zc_context *ctx, const target *t, zc_plain *plain,
                                     zc_file_source *out, bool *empty)
{
    if (job->encoders == NULL) {
        return make_source(ctx, t, plain, out, empty);
    }
    if (!begin_turn(job->encoders, ctx->ws)) {
        return ZC_ERR_CANCELLED;
    }
    const zc_status status = make_source(ctx, t, plain, out, empty);
    end_turn(job->encoders);
    return status;
}

/* All of the chunk is given.  The lock keeps the new value from being overtaken by a patch of the old. */
static zc_status overwrite(const write_job *job, const target *t, zc_workspace *ws, zc_error *err)
{
    const zc_context ctx = zc_context_on(&job->context, ws, err);
    zc_plain plain;
    zc_file_source source;
    zc_held held;
    bool empty;
    zc_status status = make_source_in_turn(job, &ctx, t, &plain, &source, &empty);

    if (status != ZC_OK) {
        return status;
    }
    status = lock(job, t, &held, ws, err);
    if (status == ZC_OK) {
        status = reaches_beyond(job, t) ? patch_locked(job, t, ws, err)
                                        : put(ctx.call->store, t, empty ? NULL : &source, err);
        zc_key_unlock(&held);
    }
    zc_scratch_pop(ws);
    return status;
}

static zc_status write_item(void *arg, size_t item, zc_workspace *ws, zc_error *err)
{
    const write_job *job = arg;
    const zc_array *array = job->plan.call->array;
    int64_t chunk[ZC_MAX_DIMS];
    target t;
    zc_status status;

    zc_plan_chunk(&job->plan, item, chunk);
    if (!zc_plan_selection(&job->plan, item, chunk, t.shape, &t.selection)) {
        zc_pool_note_done();
        return ZC_OK;
    }
    for (int d = 0; d < array->ndim; d++) {
        const int64_t rest = array->grid[d].length - zc_grid_start(&array->grid[d], chunk[d]);
        t.bounds[d] = rest < t.shape[d] ? rest : t.shape[d];
    }
    char *key = zc_scratch_push(ws, zc_chunk_key_size(array), err);
    if (key == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_chunk_key(array, chunk, key);
    t.chunk = chunk;
    t.key = key;
    zc_array_key(array, key, &t.known);
    const bool all = zc_selection_covers(&t.selection, t.bounds) &&
                     (job->context.blocks == NULL || job->context.blocks->complete);
    status = (all ? overwrite : patch)(job, &t, ws, err);
    zc_scratch_pop(ws);
    zc_pool_note_done();
    return status;
}

/* Run all items, where fewer threads encode than wait for the store. */
static zc_status run_in_turns(const zc_run *run, write_job *job, size_t *failed, zc_error *err)
{
    const int cpus = zc_pool_threads();
    encoders turns = {.n_free = cpus, .n_left = run->n_items, .n_last = run->n_items % (size_t)cpus};

    if (run->threads <= cpus) {
        return zc_pool_run(run, failed, err);
    }
    zc_mutex_init(&turns.lock);
    zc_cond_init(&turns.free);
    job->encoders = &turns;
    const zc_status status = zc_pool_run(run, failed, err);
    zc_cond_destroy(&turns.free);
    zc_mutex_destroy(&turns.lock);
    return status;
}

/* Write all items; what those before a failure have stored is on the disk, too. */
static zc_status write_items(const zc_run *run, write_job *job, size_t *failed, zc_error *err)
{
    const zc_store *const store = job->context.call->store;
    zc_status status = store->put_off != NULL ? store->put_off(store, run->n_items, err) : ZC_OK;

    if (status != ZC_OK) {
        return status;
    }
    status = run_in_turns(run, job, failed, err);
    if (store->settle == NULL) {
        return status;
    }
    const zc_status settled = store->settle(store, run->threads, status == ZC_OK ? err : NULL);
    return status != ZC_OK ? status : settled;
}

zc_status zc_write(const zc_call *call, zc_fault *fault, zc_error *err)
{
    write_job job;
    size_t failed = SIZE_MAX;
    zc_status status = zc_plan_open(call, &job.plan, err);

    fault->in_chunk = false;
    if (status != ZC_OK) {
        return status;
    }
    job.encoders = NULL;
    zc_pool_expect(job.plan.n_items);
    const zc_threads threads = zc_write_threads(call, job.plan.n_items);
    job.context = (zc_context){.call = call, .fill = call->array->fill,
                               .split = job.plan.n_items < (size_t)threads.n,
                               .blocks = call->blocks};
    const zc_run run = {.task = write_item, .job = &job, .n_items = job.plan.n_items, .threads = threads.n,
                        .most = threads.most, .item_ns = threads.item_ns,
                        .grain = job.plan.n_items >= 1024 && call->store->waits == 0 ? 8 : 1,
                        .poll = call->poll, .poll_arg = call->poll_arg};
    status = zc_plan_hold(&job.plan, err);
    if (status == ZC_OK) {
        status = write_items(&run, &job, &failed, err);
    }
    if (status != ZC_OK && failed < job.plan.n_items) {
        fault->in_chunk = true;
        zc_plan_chunk(&job.plan, failed, fault->chunk);
    }
    zc_plan_close(&job.plan);
    return status;
}
