/* SPDX-License-Identifier: MIT
 *
 * Writing shards: inner chunks in C order, after or before them the index.
 *
 * Inner chunks that are not written to are copied from the old shard as they are, without decoding.
 * All of the new shard lies in one buffer, so that it is stored by a single replacement.
 */
#include <string.h>

#include "base/assert.h"
#include "base/pool.h"
#include "engine/chunk.h"

typedef struct shard {
    const zc_context *ctx;
    const zc_chain *chain;
    const int64_t *bounds;           /* extent of the array in the shard */
    const zc_selection *selection;   /* in stored order */
    const zc_value *old;             /* NULL: there is none, or nothing of it stays */
    const zc_extent *old_extents;
    int ndim;
    int64_t grid[ZC_MAX_DIMS];
    size_t n_inner;
    size_t slot;                     /* most bytes of one encoded inner chunk that is made here */
    size_t plausible;                /* the same of any plausible writer */
    size_t room;                     /* bytes for all inner chunks */
    uint8_t *data;                   /* where inner chunk number i may put its bytes: data + i * slot ... */
    zc_extent *extents;              /* ... and what it put there, offset from data */
    const zc_point_groups *groups;   /* for points: by inner chunk */
    int threads;                     /* that the work is worth */
    size_t n_tasks;                  /* for parallel work: ranges of inner chunks */
} shard;

/* ---- one inner chunk --------------------------------------------------------------------------- */

static void inner_box(const shard *s, size_t number, int64_t *lo, int64_t *hi, int64_t *bounds)
{
    for (int d = s->ndim - 1; d >= 0; d--) {
        const size_t n = (size_t)s->grid[d];
        const int64_t length = s->chain->inner_shape[d];
        lo[d] = (int64_t)(number % n) * length;
        hi[d] = lo[d] + length;
        number /= n;
        const int64_t rest = s->bounds[d] - lo[d];
        bounds[d] = rest < 0 ? 0 : rest < length ? rest : length;
    }
}

/* The points in inner chunk `lo`, found among the groups by bisection. */
static bool points_selection(const shard *s, size_t number, const int64_t *lo, zc_selection *out)
{
    size_t low = 0, high = s->groups->n;

    while (low < high) {             /* the first group whose inner chunk number is not less */
        const size_t middle = low + (high - low) / 2;
        const int64_t point = s->groups->order[s->groups->begin[middle]];
        size_t at = 0;
        for (int d = 0; d < s->ndim; d++) {
            const int64_t index = s->selection->axis[d].start + s->selection->axis[d].index[point];
            at = at * (size_t)s->grid[d] + (size_t)(index / s->chain->inner_shape[d]);
        }
        if (at == number) {
            const size_t *const begin = &s->groups->begin[middle];
            zc_selection_take_points(s->selection, s->groups->order + begin[0], begin[1] - begin[0], lo, out);
            return true;
        }
        if (at < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

/* What is written to an inner chunk. */
typedef struct given {
    zc_selection selection;
    zc_window window;                /* the selection's, if it was gathered with a mask */
    int64_t bounds[ZC_MAX_DIMS];     /* the extent of the array in the inner chunk */
} given;

/* What has been gathered of the inner chunk; false if nothing has. */
static bool block_selection(const shard *s, size_t number, given *out)
{
    const zc_given *blocks = s->ctx->blocks;
    const zc_given_block *block = &blocks->at[number];

    if (block->values == NULL) {
        return false;
    }
    out->selection = *s->selection;
    out->selection.memory = (char *)block->values;
    for (int d = 0; d < s->ndim; d++) {
        out->selection.axis[d] = (zc_axis){.count = out->bounds[d], .step = 1, .stride = blocks->stride[d]};
    }
    if (block->mask != NULL) {
        out->window = (zc_window){.mask = block->mask, .first = block->values};
        out->selection.window = &out->window;
        out->selection.kind = ZC_SELECT_GIVEN;
    }
    return true;
}

/* What is written to inner chunk `number`; false if nothing is. */
static bool find_given(const shard *s, size_t number, given *out)
{
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];

    inner_box(s, number, lo, hi, out->bounds);
    if (s->ctx->blocks != NULL) {
        return block_selection(s, number, out);
    }
    if (s->selection->kind == ZC_SELECT_POINTS) {
        return points_selection(s, number, lo, &out->selection);
    }
    return zc_selection_clip(s->selection, lo, hi, &out->selection) &&
           !(out->selection.kind == ZC_SELECT_GIVEN && zc_selection_masks_all(&out->selection, s->chain->item.size));
}

static bool is_given(const shard *s, size_t number)
{
    given found;

    return find_given(s, number, &found);
}

static zc_status check_plausible(const shard *s, size_t number, zc_error *err)
{
    const uint64_t nbytes = s->old_extents[number].nbytes;

    return nbytes <= s->plausible ? ZC_OK
                                  : zc_chain_check_plausible(s->chain->inner, nbytes, s->chain->inner_size, err);
}

/* May the bytes of an old inner chunk be carried over? */
static zc_status check_kept(const shard *s, size_t number, zc_error *err)
{
    if (s->old_extents[number].nbytes == 0) {    /* no codec makes nothing of something; it would read as fill values */
        return zc_fail(err, ZC_ERR_CORRUPT, "an inner chunk of 0 bytes");
    }
    return check_plausible(s, number, err);
}

/* Another writer's inner chunks may be larger than any that is made here, and a malicious one's may share their bytes: is there
 * room for n more after `at` bytes? */
static zc_status check_room(const shard *s, size_t at, uint64_t n, zc_error *err)
{
    return n <= s->room - at ? ZC_OK : zc_fail(err, ZC_ERR_SIZE, "its inner chunks take more bytes than it has");
}

/*
 * Carry over inner chunks that nothing is written to, from `first` on as long as their bytes follow each other in
 * the old shard, by one read.  *next is the inner chunk after them; they take *written bytes at `at`.
 */
static zc_status keep_run(const shard *s, size_t first, size_t at, size_t *next, size_t *written)
{
    zc_error *const err = s->ctx->err;
    uint64_t begin = 0, n = 0;
    size_t i = first;

    for (; i < s->n_inner && (i == first || !is_given(s, i)); i++) {
        if (s->old == NULL || zc_extent_empty(s->old_extents[i])) {
            s->extents[i] = (zc_extent){ZC_SHARD_EMPTY, ZC_SHARD_EMPTY};
            continue;
        }
        const zc_extent e = s->old_extents[i];
        if (n > 0 && e.offset != begin + n) {
            break;
        }
        const zc_status status = zc_blame_inner(check_kept(s, i, err), i, err);
        if (status != ZC_OK) {
            return status;
        }
        begin = n == 0 ? e.offset : begin;
        s->extents[i] = (zc_extent){at + n, e.nbytes};
        n += e.nbytes;
    }
    *next = i;
    *written = (size_t)n;
    const zc_status status = check_room(s, at, n, err);
    return status == ZC_OK && n > 0
               ? zc_blame_inner(zc_value_read(s->old, begin, s->data + at, (size_t)n, err), first, err)
               : status;
}

/* Make an inner chunk that is written to, on the thread of the context. */
static zc_status make_inner(const shard *s, size_t number, const given *values, zc_output *out, const zc_context *ctx)
{
    const zc_extent old = s->old != NULL ? s->old_extents[number] : (zc_extent){ZC_SHARD_EMPTY, ZC_SHARD_EMPTY};
    const zc_chunk chunk = {.chain = s->chain->inner, .ndim = s->ndim, .shape = s->chain->inner_shape,
                            .bounds = values->bounds, .selection = &values->selection};
    const bool patch = !zc_extent_empty(old) && !zc_chunk_is_covered(ctx, &chunk);
    zc_context inside = *ctx;
    const uint8_t *data;
    zc_value value;
    const int mark = zc_scratch_mark(ctx->ws);
    zc_status status = ZC_OK;

    inside.blocks = NULL;            /* an inner chunk that is a shard itself has one block */
    if (patch) {
        status = check_plausible(s, number, ctx->err);
        if (status == ZC_OK) {
            status = zc_value_view(s->old, old.offset, old.nbytes, ctx->ws, &data, ctx->err);
        }
        value = zc_value_of_memory(status == ZC_OK ? data : NULL, (size_t)old.nbytes);
    }
    if (status == ZC_OK) {
        status = zc_chunk_write(&inside, &chunk, patch ? &value : NULL, out);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

static zc_status make_and_note(const shard *s, size_t number, const given *values, size_t at, const zc_context *ctx)
{
    zc_output out = {s->data + at, s->slot, 0};
    zc_status status = check_room(s, at, s->slot, ctx->err);

    status = status == ZC_OK ? make_inner(s, number, values, &out, ctx) : status;
    s->extents[number] = out.written > 0 ? (zc_extent){at, out.written}
                                         : (zc_extent){ZC_SHARD_EMPTY, ZC_SHARD_EMPTY};
    return zc_blame_inner(status, number, ctx->err);
}

/* ---- all inner chunks ----------------------------------------------------------------------------- */

/* One after another, without gaps. */
static zc_status make_in_turn(const shard *s, size_t *end)
{
    zc_status status = ZC_OK;
    given values;

    *end = 0;
    for (size_t i = 0, next; i < s->n_inner && status == ZC_OK; i = next) {
        size_t written = 0;
        next = i + 1;
        if (find_given(s, i, &values)) {
            status = make_and_note(s, i, &values, *end, s->ctx);
            written = zc_extent_empty(s->extents[i]) ? 0 : (size_t)s->extents[i].nbytes;
        } else {
            status = keep_run(s, i, *end, &next, &written);
        }
        *end += written;
        if (zc_workspace_cancelled(s->ctx->ws)) {
            return ZC_ERR_CANCELLED;
        }
    }
    return status;
}

static zc_status make_range(void *job, size_t task, zc_workspace *ws, zc_error *err)
{
    const shard *s = job;
    const size_t begin = s->n_inner / s->n_tasks * task;
    const size_t end = task + 1 == s->n_tasks ? s->n_inner : begin + s->n_inner / s->n_tasks;
    const zc_context ctx = zc_context_on(s->ctx, ws, err);
    zc_status status = ZC_OK;
    given values;

    for (size_t i = begin; i < end && status == ZC_OK && !zc_workspace_cancelled(ws); i++) {
        if (find_given(s, i, &values)) {
            status = make_and_note(s, i, &values, i * s->slot, &ctx);
        }
    }
    return status;
}

/*
 * What is written to in parallel, each inner chunk into its slot; then all closed up, with what is kept in between.
 * No value is longer than a slot, so that nothing reaches a slot whose turn has not come.  Memory between the values
 * is never touched.
 */
static zc_status make_in_parallel(shard *s, size_t *end)
{
    const zc_call *call = s->ctx->call;
    const zc_run run = {.task = make_range, .job = s, .n_items = s->n_tasks, .threads = s->threads, .lent = !s->ctx->split,
                        .poll = call->poll, .poll_arg = call->poll_arg};
    zc_status status = zc_pool_run(&run, NULL, s->ctx->err);

    *end = 0;
    for (size_t i = 0, next; i < s->n_inner && status == ZC_OK; i = next) {
        zc_extent *e = &s->extents[i];
        size_t written = 0;
        next = i + 1;
        if (!is_given(s, i)) {
            status = keep_run(s, i, *end, &next, &written);
        } else if (!zc_extent_empty(*e)) {
            memmove(s->data + *end, s->data + e->offset, (size_t)e->nbytes);
            e->offset = *end;
            written = (size_t)e->nbytes;
        }
        *end += written;
    }
    return status;
}

/* Put the index at its place around n bytes of inner chunks at s->data. */
static zc_status add_index(const shard *s, uint8_t *dst, size_t index_size, size_t n)
{
    const zc_context *ctx = s->ctx;
    const zc_chain *chain = s->chain;
    zc_output out = {chain->index_at_start ? dst : dst + n, index_size, 0};
    uint8_t *packed = zc_scratch_array(ctx->ws, s->n_inner, 16, ctx->err);

    if (packed == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (size_t i = 0; i < s->n_inner && chain->index_at_start; i++) {
        if (!zc_extent_empty(s->extents[i])) {
            s->extents[i].offset += index_size;
        }
    }
    zc_shard_index_pack(s->extents, s->n_inner, chain->index->item.word == 8, packed);
    const zc_bytes bytes = {packed, 16 * s->n_inner};
    const zc_status status = zc_stages_encode(chain->index->stages, chain->index->n_stages, bytes, &out, ctx->ws, ctx->err);
    zc_scratch_pop(ctx->ws);
    return status;
}

/* How many threads what is written to the shard is worth. */
static int threads_for(const shard *s)
{
    size_t n = 0;

    const bool shares = s->ctx->split || zc_pool_may_lend();

    for (size_t i = 0; i < s->n_inner && shares; i++) {
        n += is_given(s, i);
    }
    return zc_part_threads(s->ctx, s->chain->inner, n, n * s->chain->inner_size, true);
}

static zc_status make_shard(shard *s, size_t index_size, zc_output *out)
{
    size_t end = 0;

    s->threads = threads_for(s);
    s->data = s->chain->index_at_start ? out->data + index_size : out->data;
    s->n_tasks = (size_t)s->threads * 8 < s->n_inner ? (size_t)s->threads * 8 : s->n_inner;
    bool parallel = s->threads > 1;
    for (size_t i = 0; i < s->n_inner && parallel && s->old != NULL; i++) {
        parallel = zc_extent_empty(s->old_extents[i]) || s->old_extents[i].nbytes <= s->slot;
    }
    const zc_status status = parallel ? make_in_parallel(s, &end) : make_in_turn(s, &end);
    out->written = 0;
    if (status != ZC_OK || end == 0) {
        return status;               /* a shard of nothing but empty inner chunks is not stored */
    }
    out->written = end + index_size;
    return add_index(s, out->data, index_size, end);
}

/* The index of the old shard, the groups of points, and room for the new index. */
static zc_status prepare(shard *s, const int64_t *stored, zc_point_groups *groups)
{
    const zc_context *ctx = s->ctx;
    zc_grid_axis axes[ZC_MAX_DIMS];
    zc_status status = ZC_OK;

    if (s->old != NULL) {
        status = zc_shard_index_read(ctx, s->chain, s->n_inner, s->old, &s->old_extents);
    }
    if (status == ZC_OK && s->selection->kind == ZC_SELECT_POINTS) {
        zc_inner_axes(s->chain, s->ndim, stored, axes);
        s->groups = groups;
        status = zc_points_group(s->selection, axes, groups, ctx->ws, ctx->err);
    }
    if (status == ZC_OK) {
        s->extents = zc_scratch_array(ctx->ws, s->n_inner, sizeof *s->extents, ctx->err);
        status = s->extents != NULL ? ZC_OK : ZC_ERR_MEMORY;
    }
    return status;
}

zc_status zc_shard_write(const zc_context *ctx, const zc_chunk *chunk, const zc_value *old, zc_output *out)
{
    zc_assert(chunk->chain->sharded && chunk->chain->n_stages == 0 && chunk->bounds != NULL);

    const zc_chain *chain = chunk->chain;
    shard s = {.ctx = ctx, .chain = chain, .bounds = chunk->bounds, .selection = chunk->selection, .old = old,
               .ndim = chunk->ndim};
    zc_point_groups groups;
    size_t index_size;
    const int mark = zc_scratch_mark(ctx->ws);
    zc_status status = zc_chain_inner_grid(chain, s.ndim, chunk->shape, s.grid, &s.n_inner, ctx->err);

    if (status == ZC_OK) {
        status = zc_chain_index_size(chain, s.n_inner, &index_size, ctx->err);
    }
    if (status == ZC_OK) {
        status = zc_chain_bound(chain->inner, s.ndim, chain->inner_shape, &s.slot, ctx->err);
    }
    status = status == ZC_OK ? prepare(&s, chunk->shape, &groups) : status;
    s.plausible = chain->inner->ops->plausible(chain->inner, chain->inner_size);
    s.room = status == ZC_OK ? out->cap - index_size : 0;
    status = status == ZC_OK ? make_shard(&s, index_size, out) : status;
    if (status != ZC_OK) {
        zc_error_set_codec(ctx->err, "sharding_indexed");
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}
