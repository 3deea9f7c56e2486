/* SPDX-License-Identifier: MIT
 *
 * Reading one chunk: value -> elements -> the caller's memory, in pieces where that pays.
 */
#include <string.h>

#include "base/arith.h"
#include "engine/engine.h"

/* Chunks are decoded and placed in pieces of about this size where the codec allows, so that the
 * piece is still in the L2 cache when it is placed. */
#define PIECE ((size_t)256 << 10)

/* Of an uncompressed chunk that is wanted in part, pieces of this size are read or skipped. */
#define SMALL_PIECE ((size_t)16 << 10)

#define SPLIT_MIN 8          /* pieces of a chunk that are worth sharing among threads */

typedef struct chunk_job {
    const zc_scope *scope;
    const zc_chain *chain;
    const int64_t *stored;           /* shape in stored order */
    const zc_part *part;             /* in stored order */
    size_t decoded;                  /* bytes of the whole chunk */
    zc_workspace *ws;
    zc_error *err;
} chunk_job;

static zc_status scatter_all(const chunk_job *job, const void *data)
{
    const zc_item *item = &job->chain->item;

    return zc_part_scatter(job->part, job->stored, data, 0, (int64_t)(job->decoded / item->size), item, job->ws,
                           job->err);
}

/* The flat elements [*first, *last] between which all of a region lies. */
static void part_extent(const chunk_job *job, int64_t *first, int64_t *last)
{
    const zc_part *part = job->part;
    int64_t stride = 1;

    *first = *last = 0;
    for (int d = part->ndim - 1; d >= 0; d--) {
        const zc_axis *axis = &part->axis[d];
        const int64_t low = axis->start + (axis->index != NULL ? axis->index[0] : 0);
        const int64_t high = axis->start + (axis->index != NULL ? axis->index[axis->count - 1]
                                                                : (axis->count - 1) * axis->step);
        *first += low * stride;
        *last += high * stride;
        stride *= job->stored[d];
    }
}

/* Fetch nbytes at a byte offset of the decoded chunk. */
typedef zc_status (*fetch_piece)(const void *source, const chunk_job *job, size_t offset, size_t nbytes,
                                 uint8_t *dst);

/* ---- piece by piece ------------------------------------------------------------------------------ */

/* Where the elements of a chunk come from, piece by piece. */
typedef struct pieces {
    fetch_piece fetch;
    const void *source;
    int64_t length;                  /* elements of a piece */
    bool blocked;                    /* pieces begin at multiples of their length, being made of whole blocks; else no
                                        element before the first or behind the last wanted one is fetched */
} pieces;

/* Fetch n elements from `at` on into buffer, and place those that belong to part. */
static zc_status read_piece(const chunk_job *job, const pieces *p, const zc_part *part, int64_t at, int64_t n,
                            uint8_t *buffer)
{
    const zc_item *item = &job->chain->item;
    const zc_status status = p->fetch(p->source, job, (size_t)at * item->size, (size_t)n * item->size, buffer);

    if (status != ZC_OK) {
        return status;
    }
    if (zc_workspace_cancelled(job->ws)) {
        return ZC_ERR_CANCELLED;
    }
    return zc_part_scatter(part, job->stored, buffer, at, n, item, job->ws, job->err);
}

static int64_t chunk_count(const chunk_job *job)
{
    return (int64_t)(job->decoded / job->chain->item.size);
}

/* The pieces of a region, from element `first` to element `last`. */
typedef struct piece_range {
    const chunk_job *job;
    const pieces *p;
    int64_t first, last;
    bool all;                        /* every piece is wanted */
} piece_range;

static zc_status read_piece_number(const piece_range *r, const chunk_job *job, size_t number, uint8_t *buffer)
{
    const int64_t at = r->first + (int64_t)number * r->p->length;
    const int64_t n = r->p->length <= r->last - at ? r->p->length : r->last - at + 1;

    if (!r->all && !zc_part_touches(job->part, job->stored, at, n)) {
        return ZC_OK;
    }
    return read_piece(job, r->p, job->part, at, n, buffer);
}

static zc_status piece_task(void *arg, size_t number, zc_workspace *ws, zc_error *err)
{
    const piece_range *r = arg;
    chunk_job job = *r->job;
    uint8_t *buffer = zc_scratch_push(ws, (size_t)r->p->length * job.chain->item.size, err);

    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    job.ws = ws;
    job.err = err;
    const zc_status status = read_piece_number(r, &job, number, buffer);
    zc_scratch_pop(ws);
    return status;
}

static zc_status region_pieces(const chunk_job *job, const pieces *p, uint8_t *buffer)
{
    piece_range r = {.job = job, .p = p, .all = zc_part_covers(job->part, job->stored)};
    const zc_call *call = job->scope->call;
    zc_status status = ZC_OK;

    part_extent(job, &r.first, &r.last);
    if (p->blocked) {
        const int64_t end = r.last - r.last % p->length + p->length, total = chunk_count(job);
        r.first -= r.first % p->length;
        r.last = (end < total ? end : total) - 1;
    }
    const size_t n = (size_t)((r.last - r.first) / p->length + 1);
    if (job->scope->split && r.all && n >= SPLIT_MIN) {
        const zc_run run = {.task = piece_task, .job = &r, .n_items = n, .threads = call->threads,
                            .poll = call->poll, .poll_arg = call->poll_arg};
        return zc_pool_run(&run, NULL, job->err);
    }
    for (size_t number = 0; number < n && status == ZC_OK; number++) {
        status = read_piece_number(&r, job, number, buffer);
    }
    return status;
}

/* Points in the order in which they lie in the chunk, those of one piece together. */
static zc_status points_pieces(const chunk_job *job, const pieces *p, uint8_t *buffer)
{
    zc_grid_axis single[ZC_MAX_DIMS];
    zc_point_groups groups;
    zc_part part = *job->part;
    int pushed = 0;

    for (int d = 0; d < part.ndim; d++) {
        single[d] = (zc_grid_axis){.length = job->stored[d], .chunk = 1};
    }
    zc_status status = zc_points_group(job->part, single, &groups, job->ws, &pushed, job->err);
    for (size_t g = 0, h; g < groups.n && status == ZC_OK; g = h) {
        int64_t at = zc_part_point_flat(&part, job->stored, groups.order[groups.begin[g]]), last = at;
        const int64_t end = at - at % p->length + p->length, total = chunk_count(job);
        for (h = g + 1; h < groups.n; h++) {
            const int64_t next = zc_part_point_flat(&part, job->stored, groups.order[groups.begin[h]]);
            if (next >= end) {
                break;
            }
            last = next;
        }
        if (p->blocked) {
            at = end - p->length;
            last = (end < total ? end : total) - 1;
        }
        part.points = groups.order + groups.begin[g];
        part.n_points = groups.begin[h] - groups.begin[g];
        status = read_piece(job, p, &part, at, last - at + 1, buffer);
    }
    zc_pop(job->ws, pushed);
    return status;
}

/* Fetch and place the pieces that the part touches; block: bytes of a piece, or of the blocks it is made of. */
static zc_status read_pieces(const chunk_job *job, size_t block, bool blocked, fetch_piece fetch,
                             const void *source)
{
    const size_t itemsize = job->chain->item.size;
    const size_t unit = block > itemsize ? block - block % itemsize : itemsize;
    const size_t blocks = zc_part_covers(job->part, job->stored) && PIECE > unit ? PIECE / unit : 1;
    const pieces p = {fetch, source, (int64_t)(blocks * unit / itemsize), blocked};

    uint8_t *buffer = zc_scratch_push(job->ws, blocks * unit, job->err);
    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = (job->part->points != NULL ? points_pieces : region_pieces)(job, &p, buffer);
    zc_scratch_pop(job->ws);
    return status;
}

/* Do rows of the chunk become rows of the memory?  If not, a piece would touch each of many cache lines of the
 * memory for a few bytes only, and it is better to place the whole chunk at once, block by block. */
static bool keeps_rows(const chunk_job *job)
{
    const zc_part *part = job->part;
    int64_t row = INT64_MAX, least = INT64_MAX;

    for (int d = 0; d < part->ndim && part->points == NULL; d++) {
        const int64_t stride = part->axis[d].stride < 0 ? -part->axis[d].stride : part->axis[d].stride;
        if (part->axis[d].count > 1) {
            row = stride;            /* of the last dimension that has a length */
            least = stride < least ? stride : least;
        }
    }
    return row <= least;
}

/* Fetch all of the chunk, then place it. */
static zc_status read_at_once(const chunk_job *job, fetch_piece fetch, const void *source)
{
    uint8_t *buffer = zc_scratch_push(job->ws, job->decoded, job->err);

    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = fetch(source, job, 0, job->decoded, buffer);
    if (status == ZC_OK) {
        status = scatter_all(job, buffer);
    }
    zc_scratch_pop(job->ws);
    return status;
}

/* ---- without codecs ------------------------------------------------------------------------------- */

typedef struct raw_source {
    const zc_value *value;
    uint64_t offset;
} raw_source;

static zc_status fetch_raw(const void *source, const chunk_job *job, size_t offset, size_t nbytes,
                           uint8_t *dst)
{
    const raw_source *raw = source;

    return zc_value_read(raw->value, raw->offset + offset, dst, nbytes, job->err);
}

/* The chain has no stages: the value is the elements. */
static zc_status read_raw(const chunk_job *job, const zc_value *value, uint64_t offset, uint64_t nbytes)
{
    const zc_item *item = &job->chain->item;
    const raw_source source = {value, offset};
    zc_status status;

    if (nbytes != ZC_SIZE_UNKNOWN || value->data != NULL) {
        status = zc_chain_check_size((size_t)nbytes, job->decoded, job->err);
        if (status != ZC_OK) {
            return status;
        }
    }
    if (value->data != NULL) {
        return scatter_all(job, value->data + offset);
    }
    if (!zc_item_swaps(item) && !job->scope->split && zc_part_is_chunk_image(job->part, job->stored, item->size)) {
        return zc_value_read(value, offset, job->part->memory, job->decoded, job->err);
    }
    const bool all = zc_part_covers(job->part, job->stored);
    const bool remote = value->store->fetch != NULL;     /* asks for ranges one by one, each a request */
    if (remote || (all && !keeps_rows(job))) {
        return read_at_once(job, fetch_raw, &source);
    }
    const size_t piece = all ? PIECE : SMALL_PIECE;
    return read_pieces(job, job->decoded < piece ? job->decoded : piece, false, fetch_raw, &source);
}

/* ---- behind codecs --------------------------------------------------------------------------------- */

typedef struct block_source {
    const zc_codec *codec;
    const uint8_t *data;
    size_t n;
} block_source;

static zc_status fetch_blocks(const void *source, const chunk_job *job, size_t offset, size_t nbytes,
                              uint8_t *dst)
{
    const block_source *from = source;

    return from->codec->cls->decode_range(from->codec, job->ws, from->data, from->n, offset, nbytes, dst,
                                          job->err);
}

static zc_status fetch_all(const void *source, const chunk_job *job, size_t offset, size_t nbytes, uint8_t *dst)
{
    const block_source *from = source;

    (void)offset;
    return zc_codec_decode_exact(from->codec, job->ws, from->data, from->n, dst, nbytes, job->err);
}

/* The memory has the layout of the chunk: decode straight into it. */
static zc_status decode_in_place(const chunk_job *job, const block_source *source)
{
    const zc_item *item = &job->chain->item;
    char *memory = job->part->memory;
    const zc_status status = fetch_all(source, job, 0, job->decoded, (uint8_t *)memory);

    if (status == ZC_OK && zc_item_swaps(item)) {
        zc_items_copy(job->decoded / item->size, memory, memory, item);
    }
    return status;
}

static zc_status read_stripped(const chunk_job *job, const zc_codec *codec, const uint8_t *data, size_t n)
{
    zc_status status = codec->cls->strip(codec, data, n, &data, &n, job->err);

    if (status == ZC_OK) {
        status = zc_chain_check_size(n, job->decoded, job->err);
    }
    return status == ZC_OK ? scatter_all(job, data) : status;
}

/* Undo the innermost stage and place the elements. */
static zc_status read_innermost(const chunk_job *job, const uint8_t *data, size_t n)
{
    const size_t itemsize = job->chain->item.size;
    const zc_codec *codec = &job->chain->stages[0];
    const block_source source = {codec, data, n};
    const bool image = zc_part_is_chunk_image(job->part, job->stored, itemsize);
    size_t block = 0;

    if (codec->cls->strip != NULL) {
        return read_stripped(job, codec, data, n);
    }
    if (codec->cls->open_blocks != NULL && (!image || job->scope->split)) {
        const zc_status status = codec->cls->open_blocks(codec, data, n, job->decoded, &block, job->err);
        if (status != ZC_OK) {
            return status;
        }
        const bool at_once = zc_part_covers(job->part, job->stored) && !keeps_rows(job);
        if (block < job->decoded && block % itemsize == 0 && !at_once) {
            return read_pieces(job, block, true, fetch_blocks, &source);
        }
    }
    return image ? decode_in_place(job, &source) : read_at_once(job, fetch_all, &source);
}

/* The value went through bytes -> bytes codecs. */
static zc_status read_staged(const chunk_job *job, const zc_value *value, uint64_t offset, uint64_t nbytes)
{
    const zc_chain *chain = job->chain;
    const uint8_t *data;
    size_t n;
    int viewed = 0, pushed = 0;

    if (nbytes > zc_chain_plausible_size(chain, job->decoded)) {
        return zc_fail(job->err, ZC_ERR_SIZE,
                       "%llu bytes are more than an encoding of %zu bytes can have",
                       (unsigned long long)nbytes, job->decoded);
    }
    zc_status status = zc_value_view(value, offset, (size_t)nbytes, job->ws, &data, &viewed, job->err);
    if (status != ZC_OK) {
        return status;
    }
    status = zc_chain_unstage(chain, 1, data, (size_t)nbytes, job->decoded, job->ws, &data, &n, &pushed,
                              job->err);
    if (status == ZC_OK) {
        status = read_innermost(job, data, n);
        if (status != ZC_OK) {
            zc_error_set_codec(job->err, chain->stages[0].cls->name);
        }
    }
    zc_pop(job->ws, pushed + viewed);
    return status;
}

zc_status zc_chunk_read(const zc_scope *scope, const zc_chain *chain, const int64_t *shape,
                        const zc_part *part, const zc_value *value, uint64_t offset, uint64_t nbytes,
                        zc_workspace *ws, zc_error *err)
{
    int64_t stored[ZC_MAX_DIMS];
    zc_part permuted;
    chunk_job job = {scope, chain, stored, part, 0, ws, err};

    if (!zc_chain_decoded_size(chain, part->ndim, shape, &job.decoded)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the chunk does not fit into memory");
    }
    zc_chain_stored_shape(chain, part->ndim, shape, stored);
    if (chain->order_ndim > 0) {
        permuted = *part;
        zc_part_permute(&permuted, chain->order);
        job.part = &permuted;
    }
    if (chain->sharded) {
        return zc_shard_read(scope, chain, stored, job.part, value, offset, nbytes, ws, err);
    }
    if (chain->n_stages == 0) {
        return read_raw(&job, value, offset, nbytes);
    }
    return read_staged(&job, value, offset, nbytes);
}
