/* SPDX-License-Identifier: MIT
 *
 * Regions whose numbers are converted, in tiles of whole chunks: each chunk is read or written once, and memory for a few
 * chunks, or for the region if that is less, is all that is needed besides.
 */
#include <stdlib.h>

#include "base/arith.h"
#include "base/memory.h"
#include "capi/regions.h"

#define TILE_BYTES ((size_t)16 << 20)

/* One call. */
typedef struct tiles {
    zarrcore_array *handle;
    const zc_call *call;
    const zc_numbers *memory, *own;
    bool write;
    int64_t length[ZC_MAX_DIMS];
    char *values;            /* of one tile, in the type of the array */
    zc_fault *fault;
    zc_error *err;
} tiles;

/* Elements along a dimension from the first to the last one of the region. */
static int64_t extent(const zc_axis *axis)
{
    return (axis->count - 1) * axis->step + 1;
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Tiles of whole chunks (inner chunks for reading), then as many along the last dimensions as are worth a call. */
static zc_status choose_tiles(tiles *t)
{
    const zc_array *const array = t->handle->array;
    const zc_selection *const region = t->call->selection;
    int64_t inner[ZC_MAX_DIMS];
    size_t n = array->chain->item.size;

    if (t->write || zarrcore_inner_chunk_shape(t->handle, inner) != ZARRCORE_OK) {
        for (int d = 0; d < array->ndim; d++) {
            inner[d] = array->grid[d].edges == NULL ? array->grid[d].chunk : array->grid[d].length;
        }
    }
    for (int d = 0; d < array->ndim; d++) {
        const int64_t step = region->axis[d].step;
        t->length[d] = step <= INT64_MAX / inner[d] ? inner[d] * step : INT64_MAX;
        if (!zc_mul_size(n, (uint64_t)at_most(inner[d], region->axis[d].count), &n)) {
            return zc_fail(t->err, ZC_ERR_OVERFLOW, "the region does not fit into memory");
        }
    }
    for (int d = array->ndim - 1; d >= 0 && n < TILE_BYTES; d--) {
        const int64_t all = extent(&region->axis[d]) / t->length[d];
        const int64_t more = at_most((int64_t)(TILE_BYTES / n), all > 0 ? all + 2 : 1);
        t->length[d] = more <= INT64_MAX / t->length[d] ? t->length[d] * more : INT64_MAX;
        n *= (size_t)more;
    }
    t->values = zc_memory_new(n);
    return t->values != NULL ? ZC_OK : zc_fail(t->err, ZC_ERR_MEMORY, "out of memory");
}

static zc_status run_tile(const tiles *t, const int64_t *lo, const int64_t *hi)
{
    const int ndim = t->handle->array->ndim;
    zc_call call = *t->call;
    zc_selection part, tile;
    int64_t count[ZC_MAX_DIMS], outer[ZC_MAX_DIMS], inner[ZC_MAX_DIMS];

    if (!zc_selection_clip(t->call->selection, lo, hi, &part)) {
        return ZC_OK;
    }
    for (int d = 0; d < ndim; d++) {
        count[d] = part.axis[d].count;
        outer[d] = part.axis[d].stride;
    }
    zc_selection_whole(ndim, count, t->own->item.size, t->values, &tile);
    for (int d = 0; d < ndim; d++) {
        inner[d] = tile.axis[d].stride;
        tile.axis[d].start = lo[d] + part.axis[d].start;
        tile.axis[d].step = part.axis[d].step;
    }
    call.selection = &tile;
    zc_status status = ZC_OK;
    if (t->write) {
        status = zc_typed_convert(ndim, count, t->values, inner, t->own, part.memory, outer, t->memory, t->err);
    }
    if (status == ZC_OK) {
        zc_store_goes_on(call.store);
        status = zc_buffer_run(&t->handle->buffer, &call, t->write, t->fault, t->err);
    }
    if (status == ZC_OK && !t->write) {
        status = zc_typed_convert(ndim, count, part.memory, outer, t->memory, t->values, inner, t->own, t->err);
    }
    return status;
}

static zc_status run_tiles(const tiles *t)
{
    const int ndim = t->handle->array->ndim;
    const zc_selection *const region = t->call->selection;
    int64_t lo[ZC_MAX_DIMS], hi[ZC_MAX_DIMS];
    zc_status status;
    int d;

    for (d = 0; d < ndim; d++) {
        lo[d] = region->axis[d].start / t->length[d] * t->length[d];
    }
    do {
        for (d = 0; d < ndim; d++) {
            hi[d] = t->length[d] <= INT64_MAX - lo[d] ? lo[d] + t->length[d] : INT64_MAX;
        }
        status = run_tile(t, lo, hi);
        for (d = ndim - 1; d >= 0 && (lo[d] = hi[d]) >= region->axis[d].start + extent(&region->axis[d]); d--) {
            lo[d] = region->axis[d].start / t->length[d] * t->length[d];
        }
    } while (d >= 0 && status == ZC_OK);
    return status;
}

/* Numbers that the array has not are found before anything is written. */
static zc_status check_values(const tiles *t)
{
    const zc_selection *const region = t->call->selection;
    int64_t count[ZC_MAX_DIMS], strides[ZC_MAX_DIMS];

    for (int d = 0; d < region->ndim; d++) {
        count[d] = region->axis[d].count;
        strides[d] = region->axis[d].stride;
    }
    return zc_typed_convert(region->ndim, count, NULL, NULL, t->own, region->memory, strides, t->memory, t->err);
}

zc_status zc_region_convert(zarrcore_array *handle, const zc_call *call, const zc_numbers *memory, const zc_numbers *own,
                            bool write, zc_fault *fault, zc_error *err)
{
    tiles t = {.handle = handle, .call = call, .memory = memory, .own = own, .write = write, .fault = fault, .err = err};
    zc_status status = write && zc_typed_may_fail(memory, own) ? check_values(&t) : ZC_OK;

    if (status == ZC_OK && (status = choose_tiles(&t)) == ZC_OK) {
        status = run_tiles(&t);
    }
    zc_memory_delete(t.values);
    return status;
}
