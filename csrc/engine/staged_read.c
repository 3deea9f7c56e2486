/* SPDX-License-Identifier: MIT
 *
 * Reading plain and staged chunks: value -> elements -> the caller's memory, in pieces where that pays.
 */
#include <string.h>

#include "base/assert.h"
#include "base/counts.h"
#include "base/metrics.h"
#include "engine/chunk.h"

/* Chunks are decoded and placed in pieces of about this size where the codec allows, so that the
 * piece is still in the L2 cache when it is placed. */
#define PIECE ((size_t)256 << 10)

/* Blocks that are smaller are decoded some at a time. */
#define SMALL_BLOCK ((size_t)32 << 10)

/* Of a chunk that is wanted in part, pieces of this size are read, or unshuffled, or skipped. */
#define SMALL_PIECE ((size_t)16 << 10)
#define RUN ((size_t)128 << 10)      /* as many neighbouring pieces as fit in here are read at once */
#define GAP ((size_t)4 << 10)        /* bytes of a file between two points that are cheaper to read than to skip */

/* Encoded chunks from this size on are read block by block, where the codec has blocks. */
#define RANGED_FROM ((uint64_t)256 << 10)

/* Chunks from this size on are decoded over their encoded bytes, where the codec can; of smaller ones both fit the cache. */
#define OVER_FROM ((size_t)256 << 10)

/* Threads share a chunk from so many bytes on that are decoded, or read.  Each takes parts of about PART bytes, made of whole
 * blocks. */
#define SHARED_FROM ((size_t)256 << 10)
#define PLAIN_SHARED_FROM ((size_t)2 << 20)
#define PART ((size_t)64 << 10)

/* A chunk that is being read on one thread. */
typedef struct chunk_job {
    const zc_context *ctx;
    const zc_chunk *chunk;
} chunk_job;

/* ---- where decoded bytes come from ---------------------------------------------------------------- */

/* What a chunk is decoded from: bytes without a codec, a codec that has blocks, or any other. */
typedef struct source {
    const zc_codec *codec;           /* NULL: without */
    const zc_encoded *encoded;
    bool blocks;
    bool has_parts;                  /* parts of the chunk can be fetched for what they are worth */
} source;

/* A source that is being read on one thread. */
typedef struct reader {
    const source *from;
    zc_blocks blocks;
} reader;

static zc_status reader_open(const chunk_job *job, const source *from, reader *out)
{
    out->from = from;
    return from->blocks ? zc_blocks_open(from->codec, from->encoded, job->chunk->size, job->ctx->ws, &out->blocks,
                                         job->ctx->err)
                        : ZC_OK;
}

static void reader_close(reader *r)
{
    if (r->from->blocks) {
        zc_blocks_close(&r->blocks);
    }
}

/* nbytes at an offset of the decoded chunk; all of it where the codec has no blocks. */
static zc_status reader_fetch(reader *r, const chunk_job *job, size_t offset, size_t nbytes, uint8_t *dst)
{
    const source *from = r->from;

    if (from->codec == NULL) {
        return from->encoded->read(from->encoded->source, offset, dst, nbytes, job->ctx->err);
    }
    if (from->blocks) {
        return zc_blocks_decode(&r->blocks, offset, nbytes, dst, job->ctx->err);
    }
    return zc_codec_decode_exact(from->codec, job->ctx->ws, from->encoded->data, from->encoded->n, dst, nbytes,
                                 job->ctx->err);
}

/* ---- piece by piece ------------------------------------------------------------------------------ */

/* Fetch n elements from `at` on into buffer, and place those that are selected. */
static zc_status read_piece(const chunk_job *job, reader *r, const zc_selection *selection, int64_t at, int64_t n,
                            uint8_t *buffer)
{
    const zc_item *item = &job->chunk->chain->item;
    const zc_status status = reader_fetch(r, job, (size_t)at * item->size, (size_t)n * item->size, buffer);

    if (status != ZC_OK) {
        return status;
    }
    if (zc_workspace_cancelled(job->ctx->ws)) {
        return ZC_ERR_CANCELLED;
    }
    const zc_elements piece = {job->chunk->shape, item, at, n, (char *)buffer};
    return zc_selection_scatter(selection, &piece, job->ctx->ws, job->ctx->err);
}

/* The pieces of a region, from element `first` to element `last`. */
typedef struct piece_range {
    int64_t first, last;
    int64_t length;                  /* elements of a piece */
    size_t at_once;                  /* as many neighbouring pieces are read at once */
    bool all;                        /* every piece is wanted */
} piece_range;

/* Where the piece that begins at an element ends. */
static int64_t piece_end(const piece_range *range, int64_t at)
{
    const int64_t rest = range->last - at + 1;

    return at + (range->length < rest ? range->length : rest);
}

static bool piece_is_wanted(const piece_range *range, const chunk_job *job, int64_t at)
{
    return range->all || zc_selection_touches(job->chunk->selection, job->chunk->shape, at, piece_end(range, at) - at);
}

static zc_status region_pieces(const chunk_job *job, reader *r, const piece_range *range, uint8_t *buffer)
{
    zc_status status = ZC_OK;

    for (int64_t at = range->first, end; at <= range->last && status == ZC_OK; at = end) {
        size_t n = 0;
        end = at;
        while (end <= range->last && n < range->at_once && piece_is_wanted(range, job, end)) {
            end = piece_end(range, end);
            n++;
        }
        if (n > 0) {
            status = read_piece(job, r, job->chunk->selection, at, end - at, buffer);
        } else {
            end = piece_end(range, at);
        }
    }
    return status;
}

/* Points in the order in which they lie in the chunk, those of one piece together; without a codec, those between which a
 * read would save nothing, as many as the buffer takes. */
static zc_status points_pieces(const chunk_job *job, reader *r, const piece_range *range, uint8_t *buffer)
{
    const bool raw = r->from->codec == NULL;
    const int64_t length = range->length, gap = (int64_t)(GAP / job->chunk->chain->item.size);
    zc_grid_axis single[ZC_MAX_DIMS];
    zc_point_groups groups;
    zc_selection selection = *job->chunk->selection;
    const int mark = zc_scratch_mark(job->ctx->ws);

    for (int d = 0; d < selection.ndim; d++) {
        single[d] = (zc_grid_axis){.length = job->chunk->shape[d], .chunk = 1};
    }
    zc_status status = zc_points_group(job->chunk->selection, single, &groups, job->ctx->ws, job->ctx->err);
    for (size_t g = 0, h; g < groups.n && status == ZC_OK; g = h) {
        const int64_t at = zc_selection_point_flat(&selection, job->chunk->shape, groups.order[groups.begin[g]]);
        int64_t last = at;
        const int64_t end = raw ? at + length * (int64_t)range->at_once : at - at % length + length;
        for (h = g + 1; h < groups.n; h++) {
            const int64_t next = zc_selection_point_flat(&selection, job->chunk->shape, groups.order[groups.begin[h]]);
            if (next >= end || (raw && next - last - 1 > gap)) {
                break;
            }
            last = next;
        }
        selection.points = groups.order + groups.begin[g];
        selection.n_points = groups.begin[h] - groups.begin[g];
        status = read_piece(job, r, &selection, at, last - at + 1, buffer);
    }
    zc_scratch_release(job->ctx->ws, mark);
    return status;
}

/* Bytes of a piece: where all of the chunk is wanted, as the codec likes it. */
static size_t piece_size(const chunk_job *job, const reader *r)
{
    const size_t itemsize = job->chunk->chain->item.size;
    size_t size = SMALL_PIECE;

    if (zc_selection_covers(job->chunk->selection, job->chunk->shape)) {
        const size_t step = r->from->blocks ? r->blocks.step : PIECE;
        size = step < SMALL_BLOCK ? SMALL_BLOCK / step * step : step;
    }
    size = size < job->chunk->size ? size : job->chunk->size;
    return size > itemsize ? size - size % itemsize : itemsize;
}

static piece_range pieces_of(const chunk_job *job, const reader *r)
{
    const size_t size = piece_size(job, r);
    piece_range out = {.length = (int64_t)(size / job->chunk->chain->item.size),
                       .all = zc_selection_covers(job->chunk->selection, job->chunk->shape)};

    out.at_once = size < RUN && !out.all ? RUN / size : 1;
    if (job->chunk->selection->kind != ZC_SELECT_POINTS) {
        zc_selection_extent(job->chunk->selection, job->chunk->shape, &out.first, &out.last);
    }
    return out;
}

/* ---- by one thread or several --------------------------------------------------------------------- */

/* What is read of a chunk.  Threads share it in parts that begin at multiples of a length and are made of whole blocks, so
 * that no block is decompressed twice. */
typedef struct reading {
    const chunk_job *job;
    const source *from;
    piece_range range;
    int64_t part;                    /* elements */
    uint8_t *dst;                    /* where all of the chunk is put as one; NULL: pieces are placed as selected */
    bool swaps;                      /* its items are swapped there */
} reading;

/* Elements of a part; 0 if there are none that are made of whole blocks. */
static int64_t part_length(const chunk_job *job, const reader *r)
{
    const size_t block = r->from->blocks ? r->blocks.block : PIECE, itemsize = job->chunk->chain->item.size;

    if (!r->from->blocks) {
        return (int64_t)(block / itemsize);
    }
    return block % itemsize != 0 ? 0 : (int64_t)((block < PART ? PART / block * block : block) / itemsize);
}

static size_t parts_of(const reading *all)
{
    return (size_t)(all->range.last / all->part - all->range.first / all->part + 1);
}

/* How many threads all parts are worth. */
static int threads_for(const reading *all, const reader *r)
{
    const piece_range *range = &all->range;
    const chunk_job *job = all->job;
    const size_t nbytes = (size_t)(range->last - range->first + 1) * job->chunk->chain->item.size;

    if (!r->from->has_parts || all->part == 0 || (all->dst == NULL && job->chunk->selection->kind == ZC_SELECT_POINTS) ||
        (r->from->blocks ? nbytes < SHARED_FROM : !range->all || nbytes < PLAIN_SHARED_FROM)) {
        return 1;
    }
    return zc_part_threads(job->ctx, job->chunk->chain, parts_of(all), nbytes, false);
}

static zc_status fetch_part(const reading *all, const chunk_job *job, reader *r, const piece_range *part)
{
    const zc_item *item = &job->chunk->chain->item;
    const size_t count = (size_t)(part->last - part->first + 1);
    uint8_t *const dst = all->dst + (size_t)part->first * item->size;
    const zc_status status = reader_fetch(r, job, (size_t)part->first * item->size, count * item->size, dst);

    if (status == ZC_OK && all->swaps) {
        zc_items_copy(count, dst, dst, item);
    }
    return status;
}

static zc_status read_part(const reading *all, const chunk_job *job, reader *r, const piece_range *part)
{
    if (all->dst != NULL) {
        return fetch_part(all, job, r, part);
    }
    uint8_t *buffer = zc_scratch_push(job->ctx->ws, part->at_once * (size_t)part->length * job->chunk->chain->item.size,
                                      job->ctx->err);
    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = job->chunk->selection->kind == ZC_SELECT_POINTS ? points_pieces(job, r, part, buffer)
                                                                      : region_pieces(job, r, part, buffer);
    zc_scratch_pop(job->ctx->ws);
    return status;
}

/* One part, on any thread. */
static zc_status part_task(void *arg, size_t number, zc_workspace *ws, zc_error *err)
{
    const reading *all = arg;
    const zc_context ctx = zc_context_on(all->job->ctx, ws, err);
    const int64_t start = (all->range.first / all->part + (int64_t)number) * all->part, last = start + all->part - 1;
    chunk_job job = *all->job;
    piece_range part = all->range;
    reader r;

    job.ctx = &ctx;
    part.first = start > part.first ? start : part.first;
    part.last = last < part.last ? last : part.last;
    if (!part.all && !zc_selection_touches(job.chunk->selection, job.chunk->shape, part.first, part.last - part.first + 1)) {
        return ZC_OK;
    }
    zc_status status = reader_open(&job, all->from, &r);
    if (status == ZC_OK) {
        status = read_part(all, &job, &r, &part);
        reader_close(&r);
    }
    return status;
}

static zc_status read_parts(reading *all, reader *r)
{
    const zc_call *call = all->job->ctx->call;

    all->part = part_length(all->job, r);
    const int threads = threads_for(all, r);
    if (threads == 1) {
        return read_part(all, all->job, r, &all->range);
    }
    const zc_run run = {.task = part_task, .job = all, .threads = threads, .n_items = parts_of(all), .lent = !all->job->ctx->split,
                        .poll = call->poll, .poll_arg = call->poll_arg};
    return zc_pool_run(&run, NULL, all->job->ctx->err);
}

/* All of the chunk to dst. */
static zc_status read_whole(const chunk_job *job, reader *r, uint8_t *dst, bool swaps)
{
    const int64_t count = (int64_t)(job->chunk->size / job->chunk->chain->item.size);
    reading all = {.job = job, .from = r->from, .range = {.last = count - 1, .all = true}, .dst = dst, .swaps = swaps};

    return read_parts(&all, r);
}

/* Fetch all of the chunk, then place it. */
static zc_status read_at_once(const chunk_job *job, reader *r)
{
    uint8_t *buffer = zc_scratch_push(job->ctx->ws, job->chunk->size, job->ctx->err);

    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = read_whole(job, r, buffer, false);
    if (status == ZC_OK) {
        status = zc_elements_place(job->ctx, job->chunk, buffer);
    }
    zc_scratch_pop(job->ctx->ws);
    return status;
}

/* The way that suits the selection. */
static zc_status read_from(const chunk_job *job, const source *from)
{
    const zc_selection *selection = job->chunk->selection;
    const zc_item *item = &job->chunk->chain->item;
    bool done = false;
    reader r;
    zc_status status = ZC_OK;

    if (from->codec != NULL) {
        status = zc_chunk_read_start(job->ctx, job->chunk, from->encoded, &done);
    }
    if (status == ZC_OK && !done) {
        status = reader_open(job, from, &r);
    }
    if (status != ZC_OK || done) {
        return status;
    }
    if (zc_selection_is_chunk_image(selection, job->chunk->shape, item->size)) {
        status = read_whole(job, &r, (uint8_t *)selection->memory, zc_item_swaps(item));
    } else if (!from->has_parts ||
               (zc_selection_covers(selection, job->chunk->shape) && !zc_selection_keeps_rows(selection))) {
        status = read_at_once(job, &r);
    } else {
        reading all = {.job = job, .from = from, .range = pieces_of(job, &r)};
        status = read_parts(&all, &r);
    }
    reader_close(&r);
    return status;
}

/* Read a range of a value that is not in memory. */
static zc_status read_ranged(const void *source, size_t offset, void *dst, size_t n, zc_error *err)
{
    return zc_value_read(source, offset, dst, n, err);
}

static zc_encoded encoded_ranges(const zc_value *from)
{
    return (zc_encoded){.n = (size_t)from->size, .source = from, .read = read_ranged};
}

/* Can ranges of the value be read as they are needed?  Of a remote one each is a request. */
static bool has_cheap_ranges(const zc_value *value)
{
    return value->data == NULL && value->store->is_local;
}

/* ---- without codecs ------------------------------------------------------------------------------- */

/* Elements in memory that are of the right number, as which nothing can be wrong: a trial does not move them. */
static zc_status place_all(const zc_context *ctx, const zc_chunk *chunk, const uint8_t *data)
{
    return ctx->tries ? ZC_OK : zc_elements_place(ctx, chunk, data);
}

zc_status zc_plain_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    zc_assert(chunk->chain->n_stages == 0);

    const chunk_job job = {ctx, chunk};

    if (from->size != ZC_SIZE_UNKNOWN || from->data != NULL) {
        const zc_status status = zc_chain_check_size(from->size, chunk->size, ctx->err);
        if (status != ZC_OK) {
            return status;
        }
    }
    if (from->data != NULL) {
        return place_all(ctx, chunk, from->data);
    }
    const zc_encoded encoded = encoded_ranges(from);
    const source raw = {.encoded = &encoded, .has_parts = has_cheap_ranges(from)};
    return read_from(&job, &raw);
}

/* ---- after codecs --------------------------------------------------------------------------------- */

static zc_status read_stripped(const chunk_job *job, const zc_codec *codec, const uint8_t *data, size_t n)
{
    zc_status status = codec->cls->strip(codec, data, n, &data, &n, job->ctx->err);

    if (status == ZC_OK) {
        status = zc_chain_check_size(n, job->chunk->size, job->ctx->err);
    }
    return status == ZC_OK ? place_all(job->ctx, job->chunk, data) : status;
}

/* Undo the innermost stage and place the elements. */
static zc_status read_innermost(const chunk_job *job, const zc_encoded *encoded)
{
    const zc_codec *codec = &job->chunk->chain->stages[0];
    const bool blocks = job->chunk->chain->blocks != NULL;
    const source from = {.codec = codec, .encoded = encoded, .blocks = blocks, .has_parts = blocks};
    zc_status status;

    if (codec->cls->strip != NULL) {
        status = read_stripped(job, codec, encoded->data, encoded->n);
    } else {
        status = read_from(job, &from);
    }
    if (status != ZC_OK) {
        zc_error_set_codec(job->ctx->err, codec->cls->name);
    }
    return status;
}

/* Is it a value whose only codec has blocks, and large?  Then only one block needs to be in memory. */
static bool suits_ranges(const zc_chain *chain, const zc_value *from)
{
    return chain->n_stages == 1 && chain->blocks != NULL && from->size >= RANGED_FROM &&
           from->size != ZC_SIZE_UNKNOWN && has_cheap_ranges(from);
}

/* Do the stages but the innermost leave the bytes where they are? */
static bool only_strips(const zc_chain *chain)
{
    for (int s = 1; s < chain->n_stages; s++) {
        if (chain->stages[s].cls->strip == NULL) {
            return false;
        }
    }
    return true;
}

/* How long the memory has to be in which the value is decoded over itself; 0: it is to be decoded in another way. */
static size_t room_over_itself(const chunk_job *job, const zc_value *from)
{
    const zc_chunk *chunk = job->chunk;
    const zc_codec *codec = &chunk->chain->stages[0];
    size_t room;

    if (chunk->size < OVER_FROM || !has_cheap_ranges(from) || codec->cls->slack == NULL || !only_strips(chunk->chain) ||
        zc_decoding_end(job->ctx, chunk) < chunk->size ||
        zc_selection_is_chunk_image(chunk->selection, chunk->shape, chunk->chain->item.size)) {
        return 0;
    }
    const size_t slack = codec->cls->slack(codec, chunk->size);
    return slack > 0 && zc_add_size(chunk->size, slack, &room) && from->size <= room ? room : 0;
}

/* Read the value to the end of the chunk's memory and decode it to the front.  *done stays false if that fails or there
 * is too little room. */
static zc_status read_over_itself(const chunk_job *job, const zc_value *from, size_t room, bool *done)
{
    const zc_context *ctx = job->ctx;
    const zc_chunk *chunk = job->chunk;
    const zc_codec *codec = &chunk->chain->stages[0];
    const size_t n = (size_t)from->size;
    const int mark = zc_scratch_mark(ctx->ws);
    uint8_t *buffer = zc_scratch_push(ctx->ws, room, ctx->err);

    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_bytes bytes = {buffer + room - n, n};
    zc_status status = zc_value_read(from, 0, buffer + room - n, n, ctx->err);
    if (status == ZC_OK) {
        status = zc_stages_undo(chunk->chain->stages, chunk->chain->n_stages, 1, &bytes, chunk->size, ctx->ws, ctx->err);
    }
    const zc_stopwatch watch = zc_stopwatch_start(chunk->size);
    *done = status == ZC_OK && codec->cls->decode_over(codec, ctx->ws, bytes.data, bytes.n, buffer, chunk->size);
    zc_stopwatch_stop(watch);
    zc_count_add(ZC_COUNT_DECODED, *done ? chunk->size : 0);
    status = *done ? zc_elements_place(ctx, chunk, buffer) : ZC_OK;
    zc_scratch_release(ctx->ws, mark);
    return status;
}

/* Undo all stages, the innermost as far as the selection needs it. */
static zc_status read_viewed(const chunk_job *job, const zc_value *from)
{
    const zc_context *ctx = job->ctx;
    const zc_chain *chain = job->chunk->chain;
    const int mark = zc_scratch_mark(ctx->ws);
    zc_bytes bytes;
    zc_status status = zc_bytes_of(ctx, from, &bytes);

    if (status == ZC_OK) {
        status = zc_stages_undo(chain->stages, chain->n_stages, 1, &bytes, job->chunk->size, ctx->ws, ctx->err);
    }
    if (status == ZC_OK) {
        const zc_encoded encoded = zc_encoded_bytes(bytes.data, bytes.n);
        status = read_innermost(job, &encoded);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

/* All of a chunk whose only codec has blocks. */
static zc_status decode_blocks(const zc_context *ctx, const zc_chunk *chunk, zc_bytes bytes, uint8_t *dst)
{
    const chunk_job job = {.ctx = ctx, .chunk = chunk};
    const zc_encoded encoded = zc_encoded_bytes(bytes.data, bytes.n);
    const source from = {.codec = &chunk->chain->stages[0], .encoded = &encoded, .blocks = true, .has_parts = true};
    reader r;
    zc_status status = reader_open(&job, &from, &r);

    if (status == ZC_OK) {
        status = read_whole(&job, &r, dst, false);
        reader_close(&r);
    }
    if (status != ZC_OK) {
        zc_error_set_codec(ctx->err, from.codec->cls->name);
    }
    return status;
}

zc_status zc_staged_decode(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from, uint8_t *dst)
{
    const zc_chain *chain = chunk->chain;
    zc_bytes bytes;
    const int mark = zc_scratch_mark(ctx->ws);
    zc_status status = zc_chain_check_plausible(chain, from->size, chunk->size, ctx->err);

    if (status == ZC_OK) {
        status = zc_bytes_of(ctx, from, &bytes);
    }
    if (status == ZC_OK && ctx->split && chain->n_stages == 1 && chain->blocks != NULL) {
        status = decode_blocks(ctx, chunk, bytes, dst);
    } else if (status == ZC_OK) {
        status = zc_chain_unstage_into(chain, bytes, dst, chunk->size, ctx->ws, ctx->err);
    }
    zc_scratch_release(ctx->ws, mark);
    return status;
}

zc_status zc_staged_read(const zc_context *ctx, const zc_chunk *chunk, const zc_value *from)
{
    zc_assert(chunk->chain->n_stages > 0);

    const chunk_job job = {ctx, chunk};
    bool done = false;
    zc_status status = zc_chain_check_plausible(chunk->chain, from->size, chunk->size, ctx->err);

    if (status != ZC_OK) {
        return status;
    }
    if (suits_ranges(chunk->chain, from)) {
        const zc_encoded encoded = encoded_ranges(from);
        return read_innermost(&job, &encoded);
    }
    const size_t room = room_over_itself(&job, from);
    if (room > 0) {
        status = read_over_itself(&job, from, room, &done);
        if (done || status != ZC_OK) {
            return status;
        }
        zc_error_clear(ctx->err);    /* read it once more: that either succeeds or finds what is wrong */
    }
    return read_viewed(&job, from);
}
