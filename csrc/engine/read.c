/* SPDX-License-Identifier: MIT
 *
 * Reading: the chunks that one call or several want something of, on all threads.  A chunk that several of them want is
 * opened once, and decoded once where each of them would have had to decode most of it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "engine/chunk.h"
#include "engine/read_chunk.h"

/* Memory for chunks that several calls share, beside what the decoders need anyway. */
#define SHARED_BYTES ((size_t)64 << 20)

#define BATCH_MAX ((size_t)4096)     /* items whose values are fetched together */
#define BATCH_LENT ((size_t)1024)    /* items whose values are lent together: what is noted of them stays in a CPU's cache */

#define PLAIN_AHEAD_MOST 1048576.0   /* bytes of a chunk without codecs */

#define WORTH_A_THREAD ((size_t)128 << 10)   /* bytes that have arrived, for each thread that decodes them */

#define FEW 4                        /* items for each thread: if the last turn leaves threads idle, they share an item */

/* ---- items that are opened one by one --------------------------------------------------------------------- */

static zc_run run_of(zc_read_job *job, size_t n)
{
    return (zc_run){.task = zc_read_item, .job = job, .n_items = n, .threads = job->threads,
                    .grain = n >= 1024 ? 16 : 1, .poll = job->poll, .poll_arg = job->poll_arg,
                    .most = job->worth.most, .item_ns = job->worth.item_ns};
}

static zc_status run_items(zc_read_job *job, size_t n, size_t *failed, zc_error *err)
{
    const zc_run run = run_of(job, n);

    return zc_pool_run(&run, failed, err);
}

/* Does it pay to read ahead of n items like the first of this call?  Of one file only where it is a shard.  Large ones that
 * are not decoded are read as fast as the system brings them, which reads ahead of each by itself. */
static bool pays_ahead(const zc_call *call, size_t n)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    const bool sharded = chain->ops->list != NULL;
    double bytes = (double)chain->item.size;

    for (int d = 0; d < array->ndim; d++) {
        bytes *= (double)array->grid[d].chunk;
    }
    while (chain->ops->list != NULL) {
        chain = chain->inner;
    }
    return call->store->announce != NULL && (n > 1 || sharded) &&
           (!chain->ops->is_plain || (!sharded && bytes <= PLAIN_AHEAD_MOST));
}

/* Read n items, ahead where that may pay. */
static zc_status run_ahead(zc_read_job *job, size_t n, size_t *failed, zc_error *err)
{
    const zc_run run = run_of(job, n);
    zc_ahead ahead;

    if (n > 0 && pays_ahead(zc_wants_call(&job->wants, job->first), n)) {
        zc_ahead_begin(&ahead, &run, zc_read_announce);
        job->ahead = &ahead;
    }
    const zc_status status = zc_pool_run(&run, failed, err);
    job->ahead = NULL;
    return status;
}

/* ---- items that are fetched together ---------------------------------------------------------------------- */

/* Does the store serve one thread at a time, so that many values are fetched at once?  A single one in memory is opened:
 * that is the short way. */
static bool is_fetched(const zc_read_job *job, const zc_call *call)
{
    const zc_store *store = call->store;

    return store->fetch_parts != NULL ||
           (store->fetch != NULL && (store->values_in_memory ? job->wants.n_items > 1 : call->array->chain->ops->list == NULL));
}

/* Are values in memory lent, with nothing to be known of them but where they are? */
static bool is_lent(const zc_read_job *job, const zc_call *call)
{
    return call->store->values_in_memory && is_fetched(job, call) && call->array->cache == NULL && job->shared == NULL;
}

/* Prepare as many items from job->first on as are fetched together, at most `most`, whose keys have room at `keys`; how
 * many. */
static size_t prepare_batch(zc_read_job *job, size_t most, char *keys, size_t key_size)
{
    size_t n = 0, bytes = 0;

    while (n < most) {
        const zc_call *call = zc_wants_call(&job->wants, job->first + n);
        const zc_store *store = call->store;
        if (!is_fetched(job, call) || is_lent(job, call) ||
            (store->serve == NULL && bytes > store->batch_bytes && n >= (size_t)job->threads)) {
            break;
        }
        const size_t own = zc_read_prepare(job, n, keys + n * key_size, &job->fetched[n]);
        bytes = own > ZC_SIZE_MAX - bytes ? ZC_SIZE_MAX : bytes + own;
        n++;
    }
    return n;
}

/* Read n of the items, whose numbers are in `order`. */
static zc_status run_some(zc_read_job *job, const size_t *order, size_t n, int threads, size_t *failed, zc_error *err)
{
    const int usual = job->threads;

    job->order = order;
    job->threads = threads;
    job->split = n < FEW * (size_t)threads && n % (size_t)threads != 0;
    const zc_status status = n > 0 ? run_items(job, n, failed, err) : ZC_OK;
    if (status != ZC_OK && *failed < n) {
        *failed = order[*failed];
    }
    job->threads = usual;
    job->order = NULL;
    return status;
}

/* Read the items of one store, from number `first` on, as their values arrive. */
static zc_status read_arriving(zc_read_job *job, zc_fetch *set, size_t first, size_t *order, size_t *failed, zc_error *err)
{
    size_t n, bytes;

    for (;;) {
        zc_status status = zc_fetch_next(set, order, &n, &bytes, job->poll, job->poll_arg, failed, err);
        if (status != ZC_OK || n == 0) {
            *failed += *failed != SIZE_MAX ? first : 0;
            return status;
        }
        for (size_t i = 0; i < n; i++) {
            order[i] += first;
        }
        const size_t worth = bytes / WORTH_A_THREAD + 1;
        status = run_some(job, order, n, worth < (size_t)job->threads ? (int)worth : job->threads, failed, err);
        for (size_t i = 0; i < n; i++) {
            order[i] -= first;
        }
        if (status == ZC_OK) {
            status = zc_fetch_done(set, order, n, err);
        }
        if (status != ZC_OK) {
            return status;
        }
    }
}

/* Read items whose values are fetched by n sets: first what is there, then what arrives. */
static zc_status read_fetched_by(zc_read_job *job, zc_fetch *sets, size_t n_sets, size_t *order, size_t *failed, zc_error *err)
{
    size_t n = 0;

    for (size_t s = 0; s < n_sets; s++) {
        const size_t first = (size_t)(sets[s].items - job->fetched), own = zc_fetch_ready(&sets[s], order + n);
        for (size_t i = 0; i < own; i++) {
            order[n++] += first;
        }
    }
    zc_status status = run_some(job, order, n, job->threads, failed, err);
    for (size_t s = 0; s < n_sets && status == ZC_OK; s++) {
        status = read_arriving(job, &sets[s], (size_t)(sets[s].items - job->fetched), order, failed, err);
    }
    return status;
}

/* Fetch what n items want, store by store, and read them; sets has room for as many, as has order for items. */
static zc_status fetch_and_read(zc_read_job *job, size_t n, zc_fetch *sets, size_t *order, size_t *failed, zc_error *err)
{
    zc_status status = ZC_OK;
    size_t n_sets = 0;

    for (size_t at = 0, end; at < n && status == ZC_OK; at = end) {
        const zc_store *store = zc_wants_call(&job->wants, job->first + at)->store;
        for (end = at + 1; end < n && zc_wants_call(&job->wants, job->first + end)->store == store;) {
            end++;
        }
        sets[n_sets] = (zc_fetch){.real = store, .items = &job->fetched[at], .n = end - at, .list = zc_read_list, .arg = job};
        status = zc_fetch_open(&sets[n_sets++], failed, err);
        if (status != ZC_OK && *failed != SIZE_MAX) {
            *failed += at;
        }
    }
    if (status == ZC_OK) {
        status = read_fetched_by(job, sets, n_sets, order, failed, err);
    }
    while (n_sets > 0) {
        zc_fetch_close(&sets[--n_sets]);
    }
    return status;
}

/* Read the items from job->first on whose values are fetched together; *n: how many. */
static zc_status read_batch(zc_read_job *job, size_t *n, size_t *failed, zc_error *err)
{
    const zc_wants *wants = &job->wants;
    const size_t rest = wants->n_items - job->first, most = rest < BATCH_MAX ? rest : BATCH_MAX;
    size_t key_size = 0, n_sets = 1;

    for (size_t i = 0; i < wants->n_calls; i++) {
        const size_t own = zc_chunk_key_size(wants->calls[i].array);
        key_size = own > key_size ? own : key_size;
        n_sets += i > 0 && wants->calls[i].store != wants->calls[i - 1].store;
    }
    n_sets = n_sets < most ? n_sets : most;
    job->fetched = zc_scratch_array(wants->ws, most, sizeof *job->fetched + sizeof(size_t) + key_size, err);
    zc_fetch *sets = job->fetched != NULL ? zc_scratch_array(wants->ws, n_sets, sizeof *sets, err) : NULL;
    zc_status status = ZC_ERR_MEMORY;
    if (sets != NULL) {
        size_t *const order = (size_t *)(job->fetched + most);
        *n = prepare_batch(job, most, (char *)(order + most), key_size);
        status = fetch_and_read(job, *n, sets, order, failed, err);
    }
    zc_pop(wants->ws, (job->fetched != NULL) + (sets != NULL));
    job->fetched = NULL;
    return status;
}

/* Read n items, last those that another thread decodes into a cache meanwhile. */
static zc_status run_free_first(zc_read_job *job, size_t n, size_t *failed, zc_error *err)
{
    const zc_wants *wants = &job->wants;
    const zc_cache *const cache = wants->calls[0].array->cache;

    if (n < 2 || wants->list != NULL || cache == NULL || !zc_cache_trusts(cache)) {
        return run_ahead(job, n, failed, err);
    }
    size_t *const later = zc_scratch_array(wants->ws, n, sizeof *later, err);
    if (later == NULL) {
        return ZC_ERR_MEMORY;
    }
    job->later = later;
    zc_status status = run_ahead(job, n, failed, err);
    job->later = NULL;
    if (status == ZC_OK) {
        status = run_some(job, later, job->n_later, job->threads, failed, err);
    }
    zc_scratch_pop(wants->ws);
    return status;
}

/* Borrow the values of n items, in requests[0 .. n), and read them. */
static zc_status borrow_and_read(zc_read_job *job, const zc_store *store, const zc_request *requests, size_t n, zc_value *values,
                                 size_t *failed, zc_error *err)
{
    memset(values, 0, n * sizeof *values);
    zc_status status = store->fetch(store, requests, n, values, failed, err);
    if (status == ZC_ERR_CALLBACK) {
        return status;
    }
    *failed = SIZE_MAX;
    if (status != ZC_OK) {
        zc_error_clear(err);                 /* opening each alone shows which failed, and why */
        return run_items(job, n, failed, err);
    }
    job->lent = values;
    status = run_items(job, n, failed, err);
    job->lent = NULL;
    store->release(values, n);
    return status;
}

/* Read the items from job->first on whose values are lent by one store; *n: how many. */
static zc_status read_lent(zc_read_job *job, size_t *n, size_t *failed, zc_error *err)
{
    const zc_wants *wants = &job->wants;
    const zc_call *call = zc_wants_call(wants, job->first);
    const zc_store *const store = call->store;
    const size_t rest = wants->n_items - job->first, most = rest < BATCH_LENT ? rest : BATCH_LENT;
    size_t key_size = 0;
    zc_request *requests;
    zc_value *values;

    for (size_t i = 0; i < wants->n_calls; i++) {
        const size_t own = zc_chunk_key_size(wants->calls[i].array);
        key_size = own > key_size ? own : key_size;
    }
    values = zc_scratch_array(wants->ws, most, sizeof *values + sizeof *requests + key_size, err);
    if (values == NULL) {
        return ZC_ERR_MEMORY;
    }
    requests = (zc_request *)(values + most);
    char *const keys = (char *)(requests + most);
    for (*n = 0; *n < most; ++*n) {
        call = zc_wants_call(wants, job->first + *n);
        if (call->store != store || !is_lent(job, call)) {
            break;
        }
        char *const key = keys + *n * key_size;
        zc_read_key(job, *n, key);
        requests[*n] = (zc_request){.key = key, .n = ZC_SIZE_MAX};
    }
    const zc_status status = borrow_and_read(job, store, requests, *n, values, failed, err);
    zc_scratch_pop(wants->ws);
    return status;
}

/* Read the items from job->first on that are opened by their keys; *n: how many. */
static zc_status read_opened(zc_read_job *job, size_t *n, size_t *failed, zc_error *err)
{
    const zc_wants *wants = &job->wants;
    zc_status status = ZC_OK;

    if (wants->list == NULL) {
        *n = wants->n_items;
        status = zc_plan_hold(&wants->plans[0], err);
    }
    while (job->first + *n < wants->n_items && !is_fetched(job, zc_wants_call(wants, job->first + *n))) {
        ++*n;
    }
    return status == ZC_OK ? run_free_first(job, *n, failed, err) : status;
}

static zc_status read_all(zc_read_job *job, size_t *failed, zc_error *err)
{
    const zc_wants *wants = &job->wants;
    zc_status status = ZC_OK;

    for (size_t n; job->first < wants->n_items && status == ZC_OK; job->first += n) {
        const zc_call *call = zc_wants_call(wants, job->first);
        n = 0;
        status = (is_lent(job, call) ? read_lent : is_fetched(job, call) ? read_batch : read_opened)(job, &n, failed, err);
        if (status != ZC_OK && *failed != SIZE_MAX) {
            *failed += job->first;
        }
    }
    return status;
}

/* Are all chunks of one array?  Where some were absent, is the array itself gone? */
static zc_status check_places(const zc_read_job *job, zc_fault *fault, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t i = 0; i < job->wants.n_calls && status == ZC_OK; i++) {
        const zc_store *store = job->wants.calls[i].store;
        const zc_array *array = job->wants.calls[i].array;
        if (job->absent[i] && store->check != NULL) {
            status = store->check(store, array->prefix, array->prefix_len, err);
        } else if (store->confirm != NULL) {
            status = store->confirm(store, array->prefix, array->prefix_len, job->wants.plans[i].n_items, err);
        }
        fault->call = status != ZC_OK ? i : fault->call;
    }
    return status;
}

/* Read n calls, for which there is room in plans and job->absent. */
static zc_status read_calls(zc_read_job *job, const zc_call *calls, size_t n, zc_plan *plans, int threads, zc_fault *fault,
                            zc_error *err)
{
    size_t failed = SIZE_MAX;
    zc_status status = zc_wants_open(&job->wants, calls, n, plans, fault, err);

    if (status != ZC_OK) {
        return status;
    }
    zc_pool_expect(job->wants.n_items);
    job->worth = zc_read_threads(calls, n, job->wants.n_items, threads);
    job->threads = job->worth.n;
    job->split = job->worth.split;
    job->shared = job->wants.shares ? zc_cache_new(SHARED_BYTES) : NULL;
    status = read_all(job, &failed, err);
    if (status != ZC_OK) {
        zc_wants_blame(&job->wants, failed, fault);
    } else {
        status = check_places(job, fault, err);
    }
    zc_cache_free(job->shared);
    zc_wants_close(&job->wants);
    return status;
}

zc_status zc_read(const zc_call *call, zc_fault *fault, zc_error *err)
{
    atomic_bool absent = false;
    zc_read_job job = {.absent = &absent, .poll = call->poll, .poll_arg = call->poll_arg};
    zc_plan plan;
    zc_status status;

    fault->in_chunk = false;
    return zc_read_kept(call, &status, err) ? status : read_calls(&job, call, 1, &plan, call->threads, fault, err);
}

zc_status zc_read_many(const zc_call *calls, size_t n, int threads, zc_poll poll, void *poll_arg, zc_fault *fault,
                       zc_error *err)
{
    zc_read_job job = {.poll = poll, .poll_arg = poll_arg};

    fault->call = SIZE_MAX;
    fault->in_chunk = false;
    if (n == 0) {
        return ZC_OK;
    }
    zc_plan *plans = zc_alloc_array(n, sizeof *plans);
    job.absent = calloc(n, sizeof *job.absent);
    const zc_status status = plans != NULL && job.absent != NULL
                                 ? read_calls(&job, calls, n, plans, threads, fault, err)
                                 : zc_fail(err, ZC_ERR_MEMORY, "no memory for %zu reads", n);
    free(plans);
    free((void *)job.absent);
    return status;
}