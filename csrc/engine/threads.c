/* SPDX-License-Identifier: MIT
 *
 * How many threads a call is worth: the only place where that is decided.
 */
#include "base/arith.h"
#include "engine/chunk.h"

/* Below this much, waking another thread costs more than it brings. */
#define READ_MIN ((size_t)128 << 10)
#define WRITE_MIN ((size_t)64 << 10)
#define WRITE_PLAIN_MIN ((size_t)256 << 10)      /* without codecs: threads wait for each other at the directory */

/* Below this much for each chunk, threads wait longer for a store that serves one at a time than they copy. */
#define COPIED_MIN ((size_t)64 << 10)

/* Of a compressed chunk at least about this much is decoded for a single element. */
#define DECODED_MIN ((size_t)64 << 10)

/* To read a point, or a row far from others, out of a file takes as long as to copy about this much. */
#define POINT_COST ((size_t)512)
#define ROW_COST ((size_t)4 << 10)

static int given_or_usual(int threads)
{
    return threads > 0 ? threads : zc_pool_threads();
}

bool zc_has_more_threads(const zc_call *call, size_t n)
{
    return n < (size_t)given_or_usual(call->threads);
}

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

    if (selection->kind == ZC_SELECT_POINTS) {
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

/* Bytes of n chunks, `most` counted for each at most, or of an inner one for each where these are read and written one by
 * one.  Where there is a single chunk, how much of it is worth sharing is decided where it is read or written. */
static size_t bytes_of_chunks(const zc_array *array, size_t n, size_t most)
{
    const zc_chain *chain = array->chain;
    const bool inner = n > 1 && chain->ops->list != NULL;
    size_t bytes = chain->item.size, all;

    for (int d = 0; d < array->ndim && bytes < most; d++) {
        const int64_t length = inner ? chain->inner_shape[d] : array->grid[d].chunk;
        bytes *= length < (int64_t)most ? (size_t)length : most;
    }
    return zc_mul_size(n, bytes < most ? bytes : most, &all) ? all : ZC_SIZE_MAX;
}

/* Bytes that the read of n chunks moves or decodes, roughly. */
static size_t read_work(const zc_call *call, size_t n)
{
    const zc_array *array = call->array;
    const zc_chain *chain = array->chain;
    const zc_selection *selection = call->selection;
    const size_t count = selection->kind == ZC_SELECT_PICKED ? selection->window->picked->count
                                                             : zc_selection_count(selection);
    size_t wanted;

    if (!zc_mul_size(count, chain->item.size, &wanted)) {
        return ZC_SIZE_MAX;
    }
    if (chain->ops->is_plain) {
        const size_t moved = count > 0 && !call->store->values_in_memory ? spanned(selection, chain->item.size) : 0;
        return wanted > moved ? wanted : moved;
    }
    const size_t decoded = bytes_of_chunks(array, n, n == 1 ? READ_MIN : DECODED_MIN);
    return wanted > decoded ? wanted : decoded;
}

bool zc_shares_parts(const zc_context *ctx, size_t n, size_t nbytes)
{
    return ctx->split && n > 1 && nbytes >= READ_MIN;
}

int zc_read_threads(const zc_call *calls, size_t n_calls, size_t n, int threads)
{
    return n_calls == 1 && n < 64 && read_work(calls, n) < READ_MIN ? 1 : given_or_usual(threads);
}

/* The bytes of the largest chunk, decoded, or of more; false if they cannot be counted. */
static bool chunk_size(const zc_array *array, size_t *out)
{
    size_t bytes = array->chain->item.size;

    for (int d = 0; d < array->ndim; d++) {
        const int64_t most = array->grid[d].edges == NULL ? array->grid[d].chunk : array->grid[d].length;
        if (!zc_mul_size(bytes, (uint64_t)most, &bytes)) {
            return false;
        }
    }
    *out = bytes;
    return true;
}

/* Threads for a store that is waited for: many, whatever the number of CPUs, if their chunks fit into memory. */
static int waiting_threads(const zc_call *call, size_t n)
{
    const int usual = zc_pool_threads();
    size_t bytes;

    if (!chunk_size(call->array, &bytes)) {
        return usual;
    }
    const size_t fitting = call->store->batch_bytes / (bytes > 0 ? bytes : 1) + (size_t)usual;
    const size_t waiting = n < (size_t)call->store->waits ? n : (size_t)call->store->waits;
    const size_t most = waiting < fitting ? waiting : fitting;
    return most > (size_t)usual ? (int)most : usual;
}

/* Bytes that the write of n chunks copies, or encodes, roughly: all of a chunk that is written in part. */
static size_t write_work(const zc_call *call, size_t n)
{
    const zc_chain *chain = call->array->chain;
    size_t given;

    /* A value that is repeated along a dimension may count more bytes than there are. */
    if (!zc_mul_size(zc_selection_count(call->selection), chain->item.size, &given)) {
        return ZC_SIZE_MAX;
    }
    if (chain->ops->is_plain) {
        return given;
    }
    const size_t encoded = bytes_of_chunks(call->array, n, WRITE_MIN);
    return given > encoded ? given : encoded;
}

int zc_write_threads(const zc_call *call, size_t n)
{
    const bool plain = call->array->chain->ops->is_plain;
    const bool copies = plain && call->store->fetch != NULL;

    if (call->threads == 0 && call->store->waits > 0 && n > 1) {
        return waiting_threads(call, n);
    }
    const size_t bytes = write_work(call, n);
    if ((bytes < (plain ? WRITE_PLAIN_MIN : WRITE_MIN) && n < 16) || (copies && bytes / COPIED_MIN < n)) {
        return 1;
    }
    return given_or_usual(call->threads);
}
