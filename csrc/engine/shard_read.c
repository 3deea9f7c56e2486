/* SPDX-License-Identifier: MIT
 *
 * Reading shards (zarr v3 spec, codec "sharding_indexed"): index, then only the ranges that are needed.
 *
 * Inner chunks are worked on in runs of neighbours along the last dimension: their bytes are fetched
 * together where they lie together, and where possible they are decoded next to each other into a slab
 * that fits the L2 cache and placed from there as long rows.
 */
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "engine/ahead.h"
#include "engine/chunk.h"
#include "engine/fetch_ranges.h"

#define SLAB ((size_t)512 << 10)     /* decoded bytes of one run */
#define RUN_MAX 64                   /* inner chunks of one run */

/* ---- one run ------------------------------------------------------------------------------------ */

typedef struct shard {
    const zc_context *ctx;
    const zc_chain *chain;
    const zc_selection *selection;   /* in stored order */
    const zc_value *value;
    const zc_extent *extents;        /* by inner chunk */
    int ndim;
    int64_t grid[ZC_MAX_DIMS];
    zc_span span[ZC_MAX_DIMS];
    int64_t run;                     /* inner chunks of a run */
    size_t runs_a_row;
    const zc_point_groups *groups;   /* points: one run each */
    zc_point_groups found;
    size_t n_runs;
    zc_cached *pin;                  /* keeps the extents, if they are in a cache */
    int mark;
    int threads;                     /* that the work is worth */
    bool split;                      /* fewer runs than threads: these share inner chunks */
    atomic_bool *announced;          /* the system has been asked for the bytes of all runs; NULL: it is not to be */
} shard;

/* Inner chunks next to each other along the last dimension. */
typedef struct run {
    const shard *s;
    int64_t chunk[ZC_MAX_DIMS];      /* the last entry is set for each inner chunk */
    int64_t first, n;                /* positions along the span of the last dimension */
    const size_t *points;            /* a group of points: where it begins and ends */
    const uint8_t *bytes[RUN_MAX];   /* encoded inner chunks that have been fetched */
    const zc_context *ctx;           /* of the thread */
} run;

static size_t inner_number(const shard *s, const int64_t *chunk)
{
    size_t number = 0;

    for (int d = 0; d < s->ndim; d++) {
        number = number * (size_t)s->grid[d] + (size_t)chunk[d];
    }
    return number;
}

/* Set the inner chunk to number j of the run and return its number in the shard. */
static size_t run_at(run *r, int64_t j)
{
    if (r->s->ndim > 0 && r->s->groups == NULL) {
        const int last = r->s->ndim - 1;
        r->chunk[last] = zc_span_chunk(&r->s->span[last], r->first + j);
    }
    return inner_number(r->s, r->chunk);
}

static bool run_selection(const run *r, zc_selection *out)
{
    const shard *s = r->s;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    for (int d = 0; d < s->ndim; d++) {
        lo[d] = r->chunk[d] * s->chain->inner_shape[d];
        hi[d] = lo[d] + s->chain->inner_shape[d];
    }
    if (s->groups != NULL) {
        zc_selection_take_points(s->selection, s->groups->order + r->points[0], r->points[1] - r->points[0], lo, out);
        return true;
    }
    return zc_selection_clip(s->selection, lo, hi, out) &&
           (out->kind != ZC_SELECT_PICKED || zc_selection_picks_any(out));
}

/* Is inner chunk j of the run one whose bytes are not needed: absent, or without an element that is wanted? */
static bool is_skipped(run *r, int64_t j)
{
    zc_selection selection;

    return zc_extent_empty(r->s->extents[run_at(r, j)]) ||
           (r->s->selection->kind == ZC_SELECT_PICKED && !run_selection(r, &selection));
}

/* zc_blame_inner, with its place in the shard. */
static zc_status blame(const run *r, size_t number, zc_status status)
{
    if (status != ZC_OK && r->ctx->err != NULL) {
        r->ctx->err->offset = r->s->extents[number].offset;
        r->ctx->err->nbytes = r->s->extents[number].nbytes;
    }
    return zc_blame_inner(status, number, r->ctx->err);
}

/* A value that vanished after its index was read is a fault, not an absent chunk. */
static zc_status gone(zc_status status, zc_error *err)
{
    return status == ZC_ERR_MISSING ? zc_fail(err, ZC_ERR_CORRUPT, "the shard is gone") : status;
}

static zc_chunk inner_chunk(const shard *s, const zc_selection *selection)
{
    return (zc_chunk){.chain = s->chain->inner, .ndim = s->ndim, .shape = s->chain->inner_shape,
                      .selection = selection, .size = s->chain->inner_size};
}

/* Decode what is selected of an inner chunk. */
static zc_status read_inner(run *r, size_t number, const zc_selection *selection, const zc_value *from)
{
    const zc_chunk chunk = inner_chunk(r->s, selection);
    const zc_status status = zc_chunk_read(r->ctx, &chunk, from);

    return blame(r, number, gone(status, r->ctx->err));
}

/* Can the inner chunks j .. j + n be decoded next to each other and placed together?  All of them must be
 * wanted along their whole last dimension.  (What is tried as it lies in memory is not moved at all.) */
static bool fits_slab(run *r, int64_t j, int64_t n)
{
    const shard *s = r->s;
    const int last = s->ndim - 1;

    if (n < 2 || s->value->origin != NULL || s->ndim == ZC_MAX_DIMS || s->selection->kind != ZC_SELECT_REGION ||
        s->chain->inner->ops->decode == NULL || s->chain->inner->order_ndim > 0 ||
        (r->ctx->tries && s->chain->inner->ops->is_plain)) {
        return false;
    }
    for (int d = 0; d < s->ndim; d++) {
        if (s->selection->axis[d].index != NULL) {
            return false;
        }
    }
    const zc_axis *axis = &s->selection->axis[last];
    const int64_t length = s->chain->inner_shape[last];
    if (axis->step != 1) {
        return false;
    }
    run_at(r, j);
    const int64_t begin = r->chunk[last] * length;
    return axis->start <= begin && axis->start + axis->count >= begin + n * length;
}

/* Place n decoded inner chunks that lie one after the other in slab; selection is that of the first one. */
static void place_slab(const shard *s, const zc_selection *selection, const uint8_t *slab, int64_t n)
{
    const int last = s->ndim - 1;
    const int64_t itemsize = (int64_t)s->chain->inner->item.size;
    int64_t shape[ZC_MAX_DIMS + 1], to[ZC_MAX_DIMS + 1], from[ZC_MAX_DIMS + 1];
    int64_t stride = itemsize;

    slab += zc_selection_offset(selection);
    for (int d = last; d >= 0; d--) {
        const int at = d == last ? s->ndim : d;     /* the chunk number goes before the last dimension */
        shape[at] = selection->axis[d].count;
        to[at] = selection->axis[d].stride;
        from[at] = stride * selection->axis[d].step;
        slab += selection->axis[d].start * stride;
        stride *= s->chain->inner_shape[d];
    }
    shape[last] = n;
    to[last] = selection->axis[last].stride * s->chain->inner_shape[last];
    from[last] = (int64_t)s->chain->inner_size;
    zc_region_copy(s->ndim + 1, shape, selection->memory, to, slab, from,
                   zc_selection_item(selection, &s->chain->inner->item));
}

static zc_status read_slab(run *r, int64_t j, int64_t n, const zc_selection *selection)
{
    const shard *s = r->s;
    const zc_chunk chunk = inner_chunk(s, selection);
    uint8_t *slab = zc_scratch_push(r->ctx->ws, (size_t)n * chunk.size, r->ctx->err);
    zc_status status = slab == NULL ? ZC_ERR_MEMORY : ZC_OK;

    zc_chunks_count(chunk.chain->ops, n);
    for (int64_t i = 0; i < n && status == ZC_OK; i++) {
        const size_t number = run_at(r, j + i);
        const zc_value from = zc_value_of_memory(r->bytes[j + i], (size_t)s->extents[number].nbytes);
        status = blame(r, number, chunk.chain->ops->decode(r->ctx, &chunk, &from, slab + (size_t)i * chunk.size));
    }
    if (status == ZC_OK && !r->ctx->tries) {
        place_slab(s, selection, slab, n);
    }
    if (slab != NULL) {
        zc_scratch_pop(r->ctx->ws);
    }
    return status;
}

/* Decode and place the inner chunks j .. j + n, whose bytes have been fetched. */
static zc_status read_group(run *r, int64_t j, int64_t n)
{
    const zc_chain *inner = r->s->chain->inner;
    const int64_t *shape = r->s->chain->inner_shape;
    zc_status status = ZC_OK;
    zc_selection selection;

    for (int64_t m = 1; n > 0 && status == ZC_OK; j += m, n -= m) {
        /* The first and the last chunk may be wanted in part only; those between are whole. */
        m = fits_slab(r, j, n) ? n : fits_slab(r, j, n - 1) ? n - 1 : 1;
        const size_t number = run_at(r, j);
        if (!run_selection(r, &selection)) {
            m = 1;
        } else if (m > 1 && !zc_selection_is_chunk_image(&selection, shape, inner->item.size)) {
            status = read_slab(r, j, m, &selection);
        } else {
            zc_value value = zc_value_of_memory(r->bytes[j], (size_t)r->s->extents[number].nbytes);
            value.origin = r->s->value->origin;
            value.base = r->s->value->base + r->s->extents[number].offset;
            m = 1;
            status = read_inner(r, number, &selection, &value);
        }
    }
    return status;
}

/* ---- fetching the bytes of a run ---------------------------------------------------------------- */

/* How many inner chunks from number j of the run on lie close enough together to be fetched by one read, and the
 * range that they make up. */
static int64_t neighbours(run *r, int64_t j, zc_extent *range)
{
    const zc_store *store = r->s->value->store;
    int64_t n = 1;

    *range = r->s->extents[run_at(r, j)];
    for (; j + n < r->n; n++) {
        const zc_extent next = r->s->extents[run_at(r, j + n)];
        const uint64_t end = range->offset + range->nbytes;
        if (is_skipped(r, j + n) || next.offset < end || next.offset - end > store->gap ||
            next.offset + next.nbytes - range->offset > store->most) {
            break;
        }
        range->nbytes = next.offset + next.nbytes - range->offset;
    }
    return n;
}

/* Refuse an inner chunk whose bytes cannot be a plausible encoding, before memory is taken for them. */
static zc_status check_plausible(run *r, size_t number)
{
    const shard *s = r->s;

    return blame(r, number, zc_chain_check_plausible(s->chain->inner, s->extents[number].nbytes, s->chain->inner_size,
                                                     r->ctx->err));
}

/* Set r->bytes for all inner chunks that are there; what is read goes to scratch memory. */
static zc_status fetch(run *r)
{
    const shard *s = r->s;
    struct { int64_t j, n; zc_extent at; } ranges[RUN_MAX];
    size_t n_ranges = 0, total = 0;
    zc_status status = ZC_OK;

    for (int64_t j = 0; j < r->n && status == ZC_OK; j++) {
        const size_t number = run_at(r, j);
        const zc_extent e = s->extents[number];
        r->bytes[j] = zc_extent_empty(e) || s->value->data == NULL ? NULL : s->value->data + e.offset;
        status = zc_extent_empty(e) || s->value->data != NULL ? ZC_OK : check_plausible(r, number);
    }
    if (status != ZC_OK || s->value->data != NULL) {
        return status;
    }
    for (int64_t j = 0, n; j < r->n; j += n) {
        n = 1;
        if (!is_skipped(r, j)) {
            n = neighbours(r, j, &ranges[n_ranges].at);
            ranges[n_ranges].j = j;
            ranges[n_ranges].n = n;
            if (!zc_add_size(total, ranges[n_ranges++].at.nbytes, &total)) {
                return zc_fail(r->ctx->err, ZC_ERR_OVERFLOW, "the inner chunks do not fit into memory");
            }
        }
    }
    uint8_t *at = zc_scratch_push(r->ctx->ws, total, r->ctx->err);
    if (at == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (size_t i = 0; i < n_ranges && status == ZC_OK; i++) {
        const zc_extent range = ranges[i].at;
        const int64_t first = ranges[i].j;
        status = zc_value_read(s->value, range.offset, at, (size_t)range.nbytes, r->ctx->err);
        status = blame(r, run_at(r, first), gone(status, r->ctx->err));
        for (int64_t j = first; j < first + ranges[i].n; j++) {
            r->bytes[j] = at + (s->extents[run_at(r, j)].offset - range.offset);
        }
        at += range.nbytes;
    }
    return status;
}

/* ---- one run ------------------------------------------------------------------------------------ */

/* A single inner chunk: of one without compression, no more than the wanted bytes need to be read. */
static zc_status read_alone(run *r, size_t number, const zc_selection *selection)
{
    const shard *s = r->s;
    const zc_extent e = s->extents[number];

    if (zc_extent_empty(e)) {
        return r->ctx->prefetch ? ZC_OK : zc_selection_fill(selection, s->chain->inner->item.size, s->ctx->fill, r->ctx->ws, r->ctx->err);
    }
    const zc_value from = zc_value_part(s->value, e.offset, e.nbytes);
    return read_inner(r, number, selection, &from);
}

/* The inner chunks j .. j + n, each by itself. */
static zc_status read_one_by_one(run *r, int64_t j, int64_t n)
{
    zc_status status = ZC_OK;
    zc_selection selection;

    for (; n > 0 && status == ZC_OK; j++, n--) {
        const size_t number = run_at(r, j);
        status = run_selection(r, &selection) ? read_alone(r, number, &selection) : ZC_OK;
    }
    return status;
}

/* Are all inner chunks of the run that are there in a cache? */
static bool is_cached(run *r)
{
    const shard *s = r->s;

    for (int64_t j = 0; s->value->origin != NULL && j < r->n; j++) {
        const zc_extent e = s->extents[run_at(r, j)];
        if (!zc_extent_empty(e) && !zc_cache_has(s->value->origin, s->value->base + e.offset)) {
            return false;
        }
    }
    return s->value->origin != NULL;
}

static zc_status read_run(run *r)
{
    const int mark = zc_scratch_mark(r->ctx->ws);

    if (r->n == 1 || is_cached(r)) {
        return read_one_by_one(r, 0, r->n);
    }
    zc_status status = fetch(r);
    for (int64_t j = 0, n; j < r->n && status == ZC_OK; j += n) {
        for (n = 0; j + n < r->n && !is_skipped(r, j + n);) {
            n++;
        }
        if (n > 0) {
            status = read_group(r, j, n);
        } else {
            n = 1;
            status = read_one_by_one(r, j, n);       /* which sets it to the fill value, as far as it is wanted */
        }
    }
    zc_scratch_release(r->ctx->ws, mark);
    return status == ZC_OK && zc_workspace_cancelled(r->ctx->ws) ? ZC_ERR_CANCELLED : status;
}

/* ---- what is fetched of a shard -------------------------------------------------------------------- */

/* List all bytes of an inner chunk; of a shard within a shard, the ranges that are wanted. */
static zc_status list_inner(run *r, int64_t j, bool *more)
{
    const shard *s = r->s;
    const zc_chain *inner = s->chain->inner;
    const size_t number = run_at(r, j);
    const zc_extent e = s->extents[number];
    zc_selection selection;

    if (is_skipped(r, j) || (s->value->origin != NULL && zc_cache_has(s->value->origin, s->value->base + e.offset))) {
        return ZC_OK;
    }
    if (inner->ops->list == NULL) {
        const zc_status status = check_plausible(r, number);
        return status == ZC_OK && !zc_fetch_wants(s->value, e.offset, (size_t)e.nbytes) ? ZC_OK : status;
    }
    if (!run_selection(r, &selection)) {
        return ZC_OK;
    }
    const zc_chunk chunk = inner_chunk(s, &selection);
    const zc_value from = zc_value_part(s->value, e.offset, e.nbytes);
    return blame(r, number, zc_chunk_list(r->ctx, &chunk, &from, more));
}

/* ---- one shard ------------------------------------------------------------------------------------ */

/* Where a run lies. */
static void run_open(run *r, size_t item)
{
    const shard *s = r->s;

    r->n = 1;
    if (s->groups != NULL) {
        r->points = &s->groups->begin[item];
        for (int d = 0; d < s->ndim; d++) {
            const zc_axis *axis = &s->selection->axis[d];
            r->chunk[d] = (axis->start + axis->index[s->groups->order[r->points[0]]]) / s->chain->inner_shape[d];
        }
    } else if (s->ndim > 0) {
        r->first = (int64_t)(item % s->runs_a_row) * s->run;
        const int64_t rest = s->span[s->ndim - 1].n - r->first;
        r->n = rest < s->run ? rest : s->run;
        zc_span_item(s->ndim - 1, s->span, item / s->runs_a_row, r->chunk);
    }
}

/* Have the bytes of all runs brought into memory, once one was waited for: not those of a whole shard, which are being
 * brought already. */
static void announce_runs(const shard *s, const zc_context *ctx)
{
    const zc_value *value = s->value;
    uint64_t total = 0;

    for (size_t item = 0; item < s->n_runs && total < ZC_AHEAD_BYTES && !zc_workspace_cancelled(ctx->ws); item++) {
        run r = {.s = s, .ctx = ctx};
        run_open(&r, item);
        for (int64_t j = 0, n; j < r.n; j += n) {
            zc_extent range;
            n = 1;
            if (!is_skipped(&r, j)) {
                n = neighbours(&r, j, &range);
                total += range.nbytes;
                zc_file_announce(&value->file, value->base + range.offset, range.nbytes);
            }
        }
    }
}

static void read_ahead(const shard *s, const zc_context *ctx)
{
    const zc_waiting *waiting = s->value->waiting;

    if (waiting != NULL && !waiting->whole && atomic_load_explicit(&waiting->waited, memory_order_relaxed) &&
        !atomic_exchange(s->announced, true)) {
        announce_runs(s, ctx);
    }
}

static zc_status shard_item(const shard *s, size_t item, const zc_context *ctx)
{
    run r = {.s = s, .ctx = ctx};

    if (s->value->waiting != NULL) {
        read_ahead(s, ctx);
    }

    run_open(&r, item);
    return read_run(&r);
}

static zc_status shard_task(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const shard *s = job;
    zc_context ctx = zc_context_on(s->ctx, ws, err);

    ctx.split = s->split;
    return shard_item(s, item, &ctx);
}

/* How many threads are worth it for n inner chunks. */
static int threads_for(const shard *s, size_t n)
{
    const zc_chain *inner = s->chain->inner;
    size_t bytes;

    if (inner->ops->is_plain) {
        bytes = zc_selection_count(s->selection) * inner->item.size;         /* that are moved */
    } else if (!zc_mul_size(n, s->chain->inner_size, &bytes)) {
        bytes = ZC_SIZE_MAX;
    }
    return zc_part_threads(s->ctx, inner, n, bytes, false);
}

/* How many inner chunks of a row of `length` are read at a time: so few that there is something for each thread. */
static int64_t run_length(const shard *s, size_t rows, int64_t length)
{
    const size_t fitting = SLAB / s->chain->inner_size, threads = (size_t)s->threads;
    const int64_t most = fitting > RUN_MAX ? RUN_MAX : (int64_t)fitting;
    const int64_t each = length / (int64_t)(rows < threads ? threads / rows : 1);

    /* An inner shard is read by its own index: its total length does not matter. */
    return s->chain->inner->ops->list != NULL || most < 1 || each < 1 ? 1 : each < most ? each : most;
}

/* Find out which inner chunks are wanted, and divide them into runs. */
static zc_status plan_runs(shard *s, const zc_grid_axis *axes)
{
    const zc_context *ctx = s->ctx;
    zc_status status;
    size_t rows;

    if (s->selection->kind == ZC_SELECT_POINTS) {
        s->groups = &s->found;
        status = zc_points_group(s->selection, axes, &s->found, ctx->ws, ctx->err);
        s->n_runs = s->found.n;
        s->threads = threads_for(s, s->n_runs);
        return status;
    }
    status = zc_spans_make(s->ndim, s->selection->axis, axes, s->span, ctx->ws, ctx->err);
    if (status != ZC_OK) {
        return status;
    }
    const int64_t length = s->ndim > 0 ? s->span[s->ndim - 1].n : 1;
    size_t n;
    status = zc_span_count(s->ndim > 0 ? s->ndim - 1 : 0, s->span, &rows, ctx->err);
    if (status != ZC_OK || rows == 0 || length == 0) {
        return status;
    }
    if (!zc_mul_size(rows, (uint64_t)length, &n)) {
        return zc_fail(ctx->err, ZC_ERR_OVERFLOW, "too many inner chunks to count");
    }
    s->threads = threads_for(s, n);
    s->run = run_length(s, rows, length);
    s->runs_a_row = (size_t)((length + s->run - 1) / s->run);
    s->n_runs = rows * s->runs_a_row;
    return ZC_OK;
}

static zc_status read_runs(shard *s)
{
    const zc_call *call = s->ctx->call;
    zc_status status = ZC_OK;

    if (s->threads > 1 && s->n_runs > 1) {
        s->split = s->n_runs < (size_t)s->threads;
        const zc_run job = {.task = shard_task, .job = s, .n_items = s->n_runs, .threads = s->threads, .lent = !s->ctx->split,
                            .poll = call->poll, .poll_arg = call->poll_arg};
        return zc_pool_run(&job, NULL, s->ctx->err);
    }
    for (size_t item = 0; item < s->n_runs && status == ZC_OK; item++) {
        status = shard_item(s, item, s->ctx);
    }
    return status;
}

static zc_status list_runs(const shard *s, bool *more)
{
    zc_status status = ZC_OK;

    for (size_t item = 0; item < s->n_runs && status == ZC_OK; item++) {
        run r = {.s = s, .ctx = s->ctx};
        run_open(&r, item);
        for (int64_t j = 0; j < r.n && status == ZC_OK; j++) {
            status = list_inner(&r, j, more);
        }
    }
    return status;
}

/* Find the index and the runs; shard_close is needed whether this fails or not. */
static zc_status shard_open(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, zc_grid_axis *axes,
                            shard *s)
{
    const zc_chain *chain = chunk->chain;
    size_t n_inner;

    *s = (shard){.ctx = ctx, .chain = chain, .selection = chunk->selection, .value = from, .ndim = chunk->ndim,
                 .mark = zc_scratch_mark(ctx->ws)};
    zc_status status = zc_chain_inner_grid(chain, s->ndim, chunk->shape, s->grid, &n_inner, ctx->err);
    if (status == ZC_OK) {
        status = zc_shard_index_find(ctx, chain, n_inner, from, &s->extents, &s->pin);
    }
    if (status == ZC_OK) {
        zc_inner_axes(chain, s->ndim, chunk->shape, axes);
        status = plan_runs(s, axes);
    }
    return status;
}

static void shard_close(shard *s)
{
    if (s->pin != NULL) {
        zc_cached_let_go(s->pin);
    }
    zc_scratch_release(s->ctx->ws, s->mark);
}

zc_status zc_shard_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    zc_assert(chunk->chain->sharded && chunk->chain->n_stages == 0);

    zc_grid_axis axes[ZC_MAX_DIMS];
    atomic_bool announced = false;
    shard s;
    zc_status status = shard_open(ctx, chunk, from, axes, &s);

    s.announced = &announced;
    status = status == ZC_OK ? read_runs(&s) : status;
    shard_close(&s);
    return status;
}

zc_status zc_shard_list(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, bool *more)
{
    const zc_chain *chain = chunk->chain;
    zc_grid_axis axes[ZC_MAX_DIMS];
    int64_t grid[ZC_MAX_DIMS];
    size_t n_inner;
    zc_extent index;
    shard s;

    zc_status status = zc_chain_inner_grid(chain, chunk->ndim, chunk->shape, grid, &n_inner, ctx->err);
    status = status == ZC_OK ? zc_shard_index_place(chain, n_inner, from, &index, ctx->err) : status;
    if (status != ZC_OK || !zc_fetch_wants(from, index.offset, (size_t)index.nbytes)) {
        *more = status == ZC_OK;     /* what else is wanted follows from it */
        return status;
    }
    status = shard_open(ctx, chunk, from, axes, &s);
    status = status == ZC_OK ? list_runs(&s, more) : status;
    shard_close(&s);
    return status;
}
