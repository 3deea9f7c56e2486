/* SPDX-License-Identifier: MIT
 *
 * Reading a region: the chunks of the plan, on all threads.
 */
#include <stdatomic.h>

#include "engine/chunk.h"
#include "engine/fetch_ranges.h"

/* Below this much output, waking another thread costs more than it brings. */
#define SHARED_MIN ((size_t)128 << 10)

typedef struct read_job {
    zc_plan plan;
    zc_context context;              /* without workspace and error, which are those of each thread */
    int threads;
    const zc_value *fetched;         /* values of the items from first_item on, or NULL: open each */
    const zc_pieces *pieces;         /* the same, parts of values; or NULL */
    size_t first_item;
    uint64_t *generations;           /* of their keys, from before they were fetched; NULL: not needed */
    zc_cached **pinned;              /* for each of them the chunk from the cache, or NULL; NULL: not looked for */
    const char **names;              /* of those to be fetched */
    atomic_bool *absent;             /* a chunk was */
} read_job;

/* Is all of a chunk to be asked for at once? */
static bool wants_whole(const zc_chain *chain, const int64_t *shape, const zc_selection *selection)
{
    size_t size, wanted;

    if (!chain->ops->has_ranges) {
        return true;
    }
    return zc_chain_decoded_size(chain, selection->ndim, shape, &size) &&
           zc_mul_size(zc_selection_count(selection), chain->item.size, &wanted) && zc_is_most(wanted, size);
}

#define SMALL_CHUNK ((size_t)64 << 10)

/* Room for all of an encoded chunk that is small, and one byte more; 0 if it is to be opened and read by ranges. */
static size_t load_size(const zc_call *call, const int64_t *shape, const zc_selection *selection)
{
    const zc_chain *chain = call->array->chain;
    size_t size;

    if (call->store->load == NULL || call->array->cache != NULL || chain->ops->has_ranges ||
        !zc_chain_decoded_size(chain, selection->ndim, shape, &size) || size > SMALL_CHUNK ||
        (chain->ops->is_plain && !zc_selection_covers(selection, shape) && size > SMALL_CHUNK / 16)) {
        return 0;
    }
    return size + size / 8 + 256;
}

/* A chunk that is to be opened and read. */
typedef struct opening {
    const read_job *job;
    const char *key;
    zc_key known;                    /* only if there is a cache, or if the value is not read as a whole */
    const int64_t *shape;
    const zc_selection *selection;
    uint8_t *room;                   /* cap bytes for a small one */
    size_t cap;
    bool whole;
    zc_workspace *ws;
    zc_error *err;
} opening;

/* What a value is known by in the cache, in *origin; NULL if it is not. */
static const zc_origin *origin_of(const read_job *job, const zc_key *known, const char *key, uint64_t generation,
                                  const zc_value *value, zc_origin *origin)
{
    const zc_array *array = job->plan.call->array;

    zc_origin_of_key(array->cache, array->number, job->plan.call->store, known, key, generation, origin);
    return zc_origin_stamp(origin, value) ? origin : NULL;
}

static zc_chunk chunk_of(const read_job *job, const int64_t *shape)
{
    const zc_array *array = job->plan.call->array;

    return (zc_chunk){.chain = array->chain, .ndim = array->ndim, .shape = shape};
}

/* Read a chunk whose value is open. */
static zc_status read_value(const read_job *job, const int64_t *shape, const zc_selection *selection,
                            const zc_value *value, zc_workspace *ws, zc_error *err)
{
    const zc_context ctx = zc_context_on(&job->context, ws, err);
    const zc_chunk chunk = chunk_of(job, shape);
    const zc_slice all = zc_slice_all(value);

    return zc_chunk_read(&ctx, &chunk, selection, &all);
}

static zc_status open_and_read(void *arg)
{
    opening *o = arg;
    const zc_call *call = o->job->plan.call;
    const zc_array *array = call->array;
    const zc_store *store = call->store;
    const uint64_t generation = array->cache != NULL ? zc_origin_generation(store, &o->known) : 0;
    zc_origin origin;
    zc_value value;

    zc_status status = o->cap > 0 ? store->load(store, o->key, o->room, o->cap, &value, o->err)
                                  : store->open(store, o->key, o->whole, &value, o->err);
    if (status == ZC_OK) {
        value.origin = array->cache != NULL ? origin_of(o->job, &o->known, o->key, generation, &value, &origin) : NULL;
        value.base = 0;
        status = read_value(o->job, o->shape, o->selection, &value, o->ws, o->err);
        zc_value_close(&value);
    }
    const bool makes_sense = status == ZC_OK || status == ZC_ERR_MISSING || !zc_may_be_torn(status);
    if (o->cap > 0 && !makes_sense) {                /* if not all of it could be loaded, reading it shows the reason */
        zc_error_clear(o->err);
        o->cap = 0;
        return open_and_read(o);
    }
    return status;
}

/* Open the value of a chunk by its key and read it. */
static zc_status read_by_key(const read_job *job, const int64_t *chunk, const int64_t *shape,
                             const zc_selection *selection, zc_workspace *ws, zc_error *err)
{
    const zc_call *call = job->plan.call;
    opening o = {.job = job, .shape = shape, .selection = selection, .cap = load_size(call, shape, selection),
                 .whole = call->store->is_local || wants_whole(call->array->chain, shape, selection), .ws = ws,
                 .err = err};

    o.room = zc_scratch_push(ws, o.cap + job->plan.key_size, err);
    if (o.room == NULL) {
        return ZC_ERR_MEMORY;
    }
    char *const key = (char *)o.room + o.cap;
    zc_chunk_key(call->array, chunk, key);
    o.key = key;
    if (call->array->cache != NULL || !o.whole) {
        zc_array_key(call->array, key, &o.known);
    }
    const zc_status status = o.whole ? open_and_read(&o) : zc_key_read(&o.known, open_and_read, &o, ws, err);
    zc_scratch_pop(ws);
    return status;
}

/* Read a chunk whose value has been fetched. */
static zc_status read_fetched_item(const read_job *job, const int64_t *chunk, const int64_t *shape,
                                   const zc_selection *selection, size_t item, zc_workspace *ws, zc_error *err)
{
    const zc_call *call = job->plan.call;
    const zc_array *array = call->array;
    zc_value value = job->fetched[item];
    zc_origin origin;
    char *key = NULL;

    if (job->pinned != NULL && job->pinned[item] != NULL) {
        const zc_context ctx = zc_context_on(&job->context, ws, err);
        const zc_chunk whole = chunk_of(job, shape);
        return zc_chunk_place(&ctx, &whole, selection, zc_cached_data(job->pinned[item]));
    }
    if (value.data == NULL) {
        return ZC_ERR_MISSING;
    }
    value.origin = NULL;
    value.base = 0;
    if (array->cache != NULL) {
        zc_key known;
        key = zc_scratch_push(ws, job->plan.key_size, err);
        if (key == NULL) {
            return ZC_ERR_MEMORY;
        }
        zc_chunk_key(array, chunk, key);
        zc_array_key(array, key, &known);
        const uint64_t generation = job->generations != NULL ? job->generations[item] : 0;
        value.origin = origin_of(job, &known, key, generation, &value, &origin);
    }
    const zc_status status = read_value(job, shape, selection, &value, ws, err);
    zc_pop(ws, key != NULL);
    return status;
}

static const zc_origin *origin_of_pieces(const read_job *job, const zc_piece_item *item, const zc_value *value,
                                         zc_origin *origin)
{
    return job->plan.call->array->cache == NULL
               ? NULL
               : origin_of(job, &item->known, item->key, item->generation, value, origin);
}

/* Read a chunk of whose value parts have been fetched.  If they do not fit together, it was replaced meanwhile. */
static zc_status read_item_of_pieces(const read_job *job, const int64_t *chunk, const int64_t *shape,
                                     const zc_selection *selection, size_t item, zc_workspace *ws, zc_error *err)
{
    const zc_piece_item *found = &job->pieces->items[item];
    zc_status status = ZC_ERR_MISSING;
    zc_origin origin;

    if (found->absent) {
        return ZC_ERR_MISSING;
    }
    if (!found->alone) {
        zc_value value = zc_pieces_value(job->pieces, item);
        value.origin = origin_of_pieces(job, found, &value, &origin);
        status = read_value(job, shape, selection, &value, ws, err);
        if ((status == ZC_OK && !zc_pieces_is_torn(job->pieces, item)) || found->whole || !zc_may_be_torn(status)) {
            return status;
        }
        zc_error_clear(err);
    }
    return read_by_key(job, chunk, shape, selection, ws, err);
}

#define FILL_AT_ONCE ((size_t)32 << 20)

/* Set the memory of a chunk that is absent to the fill value, in pieces between which an interrupt is noticed. */
static zc_status fill_selection(const zc_array *array, const zc_selection *selection, zc_workspace *ws, zc_error *err)
{
    const size_t itemsize = array->chain->item.size;
    zc_selection piece = *selection;
    int axis = 0;

    if (zc_selection_is_prefetch(selection)) {
        return ZC_OK;
    }
    while (axis < selection->ndim && selection->axis[axis].count == 1) {
        axis++;
    }
    if (selection->points != NULL || zc_selection_is_picked(selection) || axis == selection->ndim ||
        selection->axis[axis].index != NULL) {
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

zc_status zc_read_absent(const zc_array *array, const zc_selection *selection, zc_workspace *ws, zc_error *err)
{
    if (array->missing_is_error) {
        return zc_fail(err, ZC_ERR_MISSING, "the chunk is missing from the store");
    }
    zc_error_clear(err);             /* absent, and only that, means the fill value */
    return fill_selection(array, selection, ws, err);
}

static zc_status read_item(void *arg, size_t item, zc_workspace *ws, zc_error *err)
{
    const read_job *job = arg;
    const zc_array *array = job->plan.call->array;
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    zc_selection selection;
    zc_status status = ZC_ERR_MISSING;

    zc_plan_chunk(&job->plan, job->first_item + item, chunk);
    if (!zc_plan_selection(&job->plan, job->first_item + item, chunk, shape, &selection)) {
        return ZC_OK;
    }
    if (job->pieces != NULL) {
        status = read_item_of_pieces(job, chunk, shape, &selection, item, ws, err);
    } else if (job->fetched == NULL) {
        status = read_by_key(job, chunk, shape, &selection, ws, err);
    } else {
        status = read_fetched_item(job, chunk, shape, &selection, item, ws, err);
    }
    if (status == ZC_ERR_MISSING) {
        atomic_store_explicit(job->absent, true, memory_order_relaxed);
        status = zc_read_absent(array, &selection, ws, err);
    }
    return status;
}

/* Of a compressed chunk at least about this much is decoded for a single element. */
#define DECODED_MIN ((size_t)64 << 10)

/* To read a point, or a row far from others, out of a file takes as long as to copy about this much. */
#define POINT_COST ((size_t)512)
#define ROW_COST ((size_t)4 << 10)

/* How far along a dimension the elements of a selection reach. */
static size_t reach(const zc_axis *axis)
{
    const int64_t last = axis->count - 1;

    return 1 + (size_t)(axis->index != NULL ? axis->index[last] - axis->index[0] : last * axis->step);
}

/* Bytes of uncompressed files that a selection with elements moves, roughly: what lies between rows is read too, where
 * that is not much. */
static size_t spanned(const zc_selection *selection, size_t itemsize)
{
    size_t rows = ROW_COST, span = itemsize;

    if (selection->points != NULL) {
        return zc_mul_size(selection->n_points, POINT_COST, &span) ? span : ZC_SIZE_MAX;
    }
    for (int d = 0; d < selection->ndim; d++) {
        const size_t count = (size_t)selection->axis[d].count;
        if (!zc_mul_size(span, d == 0 ? count : reach(&selection->axis[d]), &span)) {
            span = ZC_SIZE_MAX;
        }
        if (d < selection->ndim - 1 && !zc_mul_size(rows, count, &rows)) {
            rows = ZC_SIZE_MAX;
        }
    }
    return span < rows ? span : rows;
}

/* Bytes that a call of n items moves or decodes, roughly. */
static size_t work_of(const zc_call *call, size_t n_items)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    size_t chunk = chain->item.size, wanted, decoded;

    const zc_selection *selection = call->selection;
    const bool picked = zc_selection_is_picked(selection);
    const size_t count = picked ? selection->window->picked->count : zc_selection_count(selection);
    if (!zc_mul_size(count, chain->item.size, &wanted)) {
        return ZC_SIZE_MAX;
    }
    if (chain->ops->is_plain) {
        const size_t moved = count > 0 && !call->store->values_in_memory ? spanned(selection, chain->item.size) : 0;
        return wanted > moved ? wanted : moved;
    }
    for (int d = 0; d < array->ndim && chunk < DECODED_MIN; d++) {
        chunk *= array->grid[d].chunk < (int64_t)DECODED_MIN ? (size_t)array->grid[d].chunk : DECODED_MIN;
    }
    if (!zc_mul_size(n_items, chunk < DECODED_MIN ? chunk : DECODED_MIN, &decoded)) {
        return ZC_SIZE_MAX;
    }
    return wanted > decoded ? wanted : decoded;
}

/* How many threads a call of n items is worth. */
static int worthwhile_threads(const zc_call *call, size_t n_items)
{
    if (work_of(call, n_items) < SHARED_MIN && n_items < 64) {
        return 1;
    }
    return call->threads > 0 ? call->threads : zc_pool_threads();
}

static zc_status run_items(const read_job *job, size_t n, size_t *failed, zc_error *err)
{
    const zc_call *call = job->plan.call;
    const zc_run run = {
        .task = read_item,
        .job = (void *)job,
        .n_items = n,
        .threads = job->threads,
        .grain = n >= 1024 ? 16 : 1,
        .poll = call->poll,
        .poll_arg = call->poll_arg,
    };

    return zc_pool_run(&run, failed, err);
}

/* Pin the chunks that are in the cache and fetch the values of all others. */
static zc_status fetch_rest(read_job *job, size_t n, char *const *keys, zc_value *values, size_t *failed,
                            zc_error *err)
{
    const zc_call *call = job->plan.call;
    const zc_array *array = call->array;
    zc_origin origin;
    size_t rest = 0;

    for (size_t i = 0; i < n; i++) {
        zc_key known;
        zc_array_key(array, keys[i], &known);
        zc_origin_of_key(array->cache, array->number, call->store, &known, keys[i], job->generations[i], &origin);
        job->pinned[i] = zc_cache_has(&origin, 0) ? zc_cache_find(&origin, 0) : NULL;
        if (job->pinned[i] == NULL) {
            job->names[rest++] = keys[i];
        }
    }
    size_t which = SIZE_MAX;
    const zc_status status = call->store->fetch(call->store, job->names, rest, values, &which, err);
    for (size_t i = n; i-- > 0 && status == ZC_OK;) {
        values[i] = job->pinned[i] != NULL ? (zc_value){.data = NULL} : values[--rest];
    }
    for (size_t i = 0; i < n && which < rest; i++) {
        *failed = job->names[which] == keys[i] ? i : *failed;
    }
    return status;
}

static void unpin(read_job *job, size_t n)
{
    for (size_t i = 0; job->pinned != NULL && i < n; i++) {
        if (job->pinned[i] != NULL) {
            zc_cached_let_go(job->pinned[i]);
        }
    }
}

/* Fetch the values of items first_item .. + n and read them; keys and values have room for n.  A failure names the
 * item: where the store does not know which key it was, each is asked for by itself. */
static zc_status read_batch(read_job *job, size_t n, char **keys, zc_value *values, size_t *failed,
                            zc_error *err)
{
    const zc_call *call = job->plan.call;
    int64_t chunk[ZC_MAX_DIMS];

    for (size_t i = 0; i < n; i++) {
        zc_plan_chunk(&job->plan, job->first_item + i, chunk);
        zc_chunk_key(call->array, chunk, keys[i]);
        if (job->generations != NULL) {
            zc_key known;
            zc_array_key(call->array, keys[i], &known);
            job->generations[i] = zc_key_generation(&known);
        }
    }
    zc_status status = job->pinned != NULL
                           ? fetch_rest(job, n, keys, values, failed, err)
                           : call->store->fetch(call->store, (const char *const *)keys, n, values, failed, err);
    job->fetched = status == ZC_OK ? values : NULL;
    if (status == ZC_OK) {
        status = run_items(job, n, failed, err);
        call->store->release(values, n);
    } else if (status == ZC_ERR_IO) {
        zc_error_clear(err);
        status = run_items(job, n, failed, err);
    }
    unpin(job, n);
    return status;
}

#define BATCH_MAX ((size_t)4096)

static size_t batch_size(const read_job *job)
{
    const zc_array *array = job->plan.call->array;
    size_t bytes = array->chain->item.size, n = job->plan.n_items;

    for (int d = 0; d < array->ndim; d++) {
        const int64_t length = array->grid[d].edges == NULL ? array->grid[d].chunk : array->grid[d].length;
        if (!zc_mul_size(bytes, (uint64_t)length, &bytes)) {
            return 1;
        }
    }
    const size_t cap = job->plan.call->store->values_in_memory || bytes == 0
                           ? BATCH_MAX
                           : job->plan.call->store->batch_bytes / bytes + (size_t)job->threads;
    n = n < cap ? n : cap;
    return n < BATCH_MAX ? n : BATCH_MAX;
}

/* For stores that serve one thread at a time: batch by batch. */
static zc_status read_fetched(read_job *job, size_t *failed, zc_error *err)
{
    const size_t batch = batch_size(job), key_size = job->plan.key_size;
    zc_workspace *ws = job->plan.ws;
    zc_value *values = zc_scratch_array(ws, batch, sizeof *values, err);
    char **keys = values != NULL ? zc_scratch_array(ws, batch, sizeof *keys + key_size, err) : NULL;
    zc_status status = keys != NULL ? ZC_OK : ZC_ERR_MEMORY;

    job->plan.pushed += (values != NULL) + (keys != NULL);
    if (status == ZC_OK && job->plan.call->array->cache != NULL && !job->plan.call->store->values_in_memory) {
        job->generations = zc_scratch_push(ws, batch * sizeof *job->generations, err);
        job->plan.pushed += job->generations != NULL;
        status = job->generations != NULL ? ZC_OK : ZC_ERR_MEMORY;
    }
    /* If values have no stamp, the key alone decides whether a chunk is in the cache: it need not be fetched. */
    if (status == ZC_OK && job->plan.call->array->cache != NULL && !job->plan.call->store->values_in_memory) {
        job->pinned = zc_scratch_array(ws, batch, sizeof *job->pinned + sizeof *job->names, err);
        job->names = job->pinned != NULL ? (const char **)(job->pinned + batch) : NULL;
        job->plan.pushed += job->pinned != NULL;
        status = job->pinned != NULL ? ZC_OK : ZC_ERR_MEMORY;
    }
    for (size_t i = 0; i < batch && status == ZC_OK; i++) {
        keys[i] = (char *)(keys + batch) + i * key_size;
    }
    while (job->first_item < job->plan.n_items && status == ZC_OK) {
        const size_t rest = job->plan.n_items - job->first_item;
        const size_t n = rest < batch ? rest : batch;
        status = read_batch(job, n, keys, values, failed, err);
        if (status != ZC_OK) {
            *failed = *failed < n ? job->first_item + *failed : SIZE_MAX;
        }
        job->first_item += n;
    }
    return status;
}

/* ---- parts of shards in a remote store: batch by batch, each in rounds ---- */

static zc_status collect_item(void *arg, size_t item, const zc_value *value, zc_error *err)
{
    const read_job *job = arg;
    zc_context ctx = zc_context_on(&job->context, job->plan.ws, err);
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    zc_value known = *value;
    zc_origin origin;
    zc_selection selection;

    zc_plan_chunk(&job->plan, job->first_item + item, chunk);
    if (!zc_plan_selection(&job->plan, job->first_item + item, chunk, shape, &selection)) {
        return ZC_OK;
    }
    ctx.collects = true;
    ctx.split = false;
    known.origin = origin_of_pieces(job, value->token, value, &origin);
    const zc_chunk whole = chunk_of(job, shape);
    const zc_slice all = zc_slice_all(&known);
    return zc_chunk_read(&ctx, &whole, &selection, &all);
}

/* Fetch what is wanted of items first_item .. + n and read them; keys and items have room for n. */
static zc_status read_pieces(read_job *job, size_t n, char *keys, zc_piece_item *items, size_t *failed, zc_error *err)
{
    const zc_array *array = job->plan.call->array;
    int64_t chunk[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    zc_pieces pieces;
    zc_selection selection;

    for (size_t i = 0; i < n; i++) {
        char *const key = keys + i * job->plan.key_size;
        zc_plan_chunk(&job->plan, job->first_item + i, chunk);
        zc_chunk_key(array, chunk, key);
        items[i] = (zc_piece_item){.key = key};
        zc_array_key(array, key, &items[i].known);
        items[i].whole = zc_plan_selection(&job->plan, job->first_item + i, chunk, shape, &selection) &&
                         wants_whole(array->chain, shape, &selection);
    }
    zc_pieces_open(&pieces, job->plan.call->store, items, n);
    zc_status status = zc_pieces_fetch(&pieces, collect_item, job, err);
    job->pieces = &pieces;
    status = status == ZC_OK ? run_items(job, n, failed, err) : status;
    zc_pieces_close(&pieces);
    return status;
}

/* How many shards to ask for at once: what is wanted of them has to fit into memory, before it is decoded and after. */
static size_t pieces_batch(const read_job *job)
{
    const zc_call *call = job->plan.call;
    const zc_chain *chain = call->array->chain;
    size_t inner = 0, wanted = zc_selection_count(call->selection) / job->plan.n_items + 1;

    if (!zc_mul_size(wanted, chain->item.size, &wanted) ||
        (chain->ops->has_ranges && !zc_chain_decoded_size(chain->inner, call->array->ndim, chain->inner_shape, &inner))) {
        return 1;
    }
    const size_t bytes = inner > wanted ? inner : wanted;
    const size_t n = call->store->batch_bytes / bytes + (size_t)job->threads;
    return n < BATCH_MAX ? n : BATCH_MAX;
}

static zc_status read_in_pieces(read_job *job, size_t *failed, zc_error *err)
{
    const size_t most = pieces_batch(job), batch = job->plan.n_items < most ? job->plan.n_items : most;
    zc_piece_item *items = zc_scratch_array(job->plan.ws, batch, sizeof *items + job->plan.key_size, err);
    zc_status status = items != NULL ? ZC_OK : ZC_ERR_MEMORY;

    job->plan.pushed += items != NULL;
    while (job->first_item < job->plan.n_items && status == ZC_OK) {
        const size_t rest = job->plan.n_items - job->first_item;
        const size_t n = rest < batch ? rest : batch;
        status = read_pieces(job, n, (char *)(items + batch), items, failed, err);
        if (status != ZC_OK) {
            *failed = *failed < n ? job->first_item + *failed : SIZE_MAX;
        }
        job->first_item += n;
    }
    return status;
}

static zc_status read_opened(read_job *job, size_t *failed, zc_error *err)
{
    const zc_status status = zc_plan_hold(&job->plan, err);

    return status == ZC_OK ? run_items(job, job->plan.n_items, failed, err) : status;
}

zc_status zc_read(const zc_call *call, zc_fault *fault, zc_error *err)
{
    atomic_bool absent = false;
    read_job job = {.absent = &absent};
    size_t failed = SIZE_MAX;
    zc_status status = zc_plan_open(call, &job.plan, err);

    fault->in_chunk = false;
    if (status != ZC_OK) {
        return status;
    }
    job.threads = worthwhile_threads(call, job.plan.n_items);
    job.context = (zc_context){.call = call, .fill = call->array->fill,
                           .split = job.plan.n_items < (size_t)job.threads};
    /* Of a shard in a remote store, ranges may be wanted instead of all of it. */
    if (call->store->fetch != NULL && (call->store->values_in_memory || !call->array->chain->ops->has_ranges)) {
        status = read_fetched(&job, &failed, err);
    } else if (call->store->fetch_parts != NULL) {
        status = job.plan.n_items > 0 ? read_in_pieces(&job, &failed, err) : ZC_OK;
    } else {
        status = read_opened(&job, &failed, err);
    }
    if (status == ZC_OK && absent && call->store->check != NULL) {
        status = call->store->check(call->store, call->array->prefix, call->array->prefix_len, err);
    }
    if (status != ZC_OK) {
        zc_plan_blame(&job.plan, failed, fault);
    }
    zc_plan_close(&job.plan);
    return status;
}
