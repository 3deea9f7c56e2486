/* SPDX-License-Identifier: MIT
 *
 * Reading the beginning of a staged chunk: decoding stops at the last element that is wanted.
 */
#include "base/counts.h"
#include "base/metrics.h"
#include "engine/chunk.h"

/* It stops where that saves at least so much. */
#define STOP_FOR ((size_t)64 << 10)

/* Bytes of the chunk up to the last one that is selected. */
static size_t selection_end(const zc_chunk *chunk)
{
    const zc_selection *selection = chunk->selection;
    int64_t first, last = 0;

    if (selection->kind != ZC_SELECT_POINTS) {
        zc_selection_extent(selection, chunk->shape, &first, &last);
    }
    for (size_t i = 0; selection->kind == ZC_SELECT_POINTS && i < selection->n_points; i++) {
        const int64_t at = zc_selection_point_flat(selection, chunk->shape, selection->points[i]);
        last = at > last ? at : last;
    }
    return ((size_t)last + 1) * chunk->chain->item.size;
}

size_t zc_decoding_end(const zc_context *ctx, const zc_chunk *chunk)
{
    /* A trial is of all that is stored. */
    if (chunk->chain->stages[0].cls->decode_start == NULL || chunk->size < 2 * STOP_FOR || ctx->call->trial != NULL) {
        return chunk->size;
    }
    const size_t end = selection_end(chunk);
    return chunk->size - end >= STOP_FOR ? end : chunk->size;
}

zc_status zc_chunk_read_start(const zc_context *ctx, const zc_chunk *chunk, const zc_encoded *encoded, bool *done)
{
    const zc_codec *codec = &chunk->chain->stages[0];
    const zc_item *item = &chunk->chain->item;
    const size_t end = zc_decoding_end(ctx, chunk);
    zc_status status = ZC_OK;

    if (end == chunk->size || encoded->data == NULL) {
        return ZC_OK;
    }
    uint8_t *buffer = zc_scratch_push(ctx->ws, end, ctx->err);
    if (buffer == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_coding coding = {.codec = codec, .decode = true, .ws = ctx->ws, .src = encoded->data, .n = encoded->n,
                              .dst = buffer, .cap = end, .err = ctx->err};
    const zc_stopwatch watch = zc_stopwatch_start(end);
    *done = codec->cls->decode_start(&coding, chunk->size);
    zc_stopwatch_stop(watch);
    if (*done) {
        const zc_elements start = {chunk->shape, item, 0, (int64_t)(end / item->size), (char *)buffer};
        zc_count_add(ZC_COUNT_DECODED, end);
        status = zc_selection_scatter(chunk->selection, &start, ctx->ws, ctx->err);
    }
    zc_scratch_pop(ctx->ws);
    return status;
}
