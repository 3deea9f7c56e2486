/* SPDX-License-Identifier: MIT
 *
 * What an array is.
 */
#include <string.h>

#include "base/pool.h"
#include "capi/handle.h"

/* The build says -DZC_VERSION=1.2.3, which needs no quoting on any platform. */
#ifndef ZC_VERSION
#define ZC_VERSION unknown
#endif
#define SPELT_AS(token) #token
#define SPELT(macro) SPELT_AS(macro)

const char *zarrcore_version(void)
{
    return SPELT(ZC_VERSION);
}

const char *zarrcore_status_name(int status)
{
    static const char *const names[] = {
        "success", "out of memory", "invalid argument", "corrupt data", "wrong checksum", "wrong size",
        "offset out of range", "input/output error", "missing", "not supported", "too large", "cancelled",
        "error of a Python store", "failure of a compressor", "invalid metadata", "locked", "unknown status", "stale handle",
        "value out of range", "already there",
    };
    const int n = (int)(sizeof names / sizeof names[0]);

    return status <= 0 && status > -n ? names[-status] : "unknown status";
}

int zarrcore_get_num_threads(void)
{
    return zc_pool_threads();
}

_Static_assert(ZARRCORE_MAX_THREADS == ZC_MAX_THREADS, "one limit");

int zarrcore_set_num_threads(int threads)
{
    if (threads < 0 || threads > ZARRCORE_MAX_THREADS) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    zc_pool_set_threads(threads);
    return ZARRCORE_OK;
}

int zarrcore_shutdown(void)
{
    if (!zc_pool_shutdown()) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    zc_pool_free_spares();
    return ZARRCORE_OK;
}

int zarrcore_ndim(const zarrcore_array *array)
{
    return array != NULL ? array->array->ndim : ZARRCORE_ERR_ARGUMENT;
}

int zarrcore_shape(const zarrcore_array *array, int64_t *out)
{
    if (array == NULL || out == NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    for (int d = 0; d < array->array->ndim; d++) {
        out[d] = array->array->grid[d].length;
    }
    return ZARRCORE_OK;
}

int zarrcore_chunk_shape(const zarrcore_array *array, int64_t *out)
{
    if (array == NULL || out == NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    for (int d = 0; d < array->array->ndim; d++) {
        if (array->array->grid[d].edges != NULL) {
            return ZARRCORE_ERR_UNSUPPORTED;
        }
        out[d] = array->array->grid[d].chunk;
    }
    return ZARRCORE_OK;
}

int zarrcore_inner_chunk_shape(const zarrcore_array *array, int64_t *out)
{
    if (array == NULL || out == NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    const zc_chain *chain = array->array->chain;
    if (!chain->sharded) {
        return zarrcore_chunk_shape(array, out);
    }
    for (int d = 0; d < array->array->ndim; d++) {
        out[chain->order_ndim > 0 ? chain->order[d] : d] = chain->inner_shape[d];
    }
    return ZARRCORE_OK;
}

int zarrcore_is_sharded(const zarrcore_array *array)
{
    return array != NULL && array->array->chain->sharded;
}

int zarrcore_grid_shape(const zarrcore_array *array, int64_t *out)
{
    if (array == NULL || out == NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    for (int d = 0; d < array->array->ndim; d++) {
        out[d] = zc_grid_chunks(&array->array->grid[d]);
    }
    return ZARRCORE_OK;
}

int zarrcore_chunk_box(const zarrcore_array *array, const int64_t *chunk, int64_t *start, int64_t *shape)
{
    if (array == NULL || (chunk == NULL && array->array->ndim > 0) || !zc_has_chunk(array->array, chunk)) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    for (int d = 0; d < array->array->ndim; d++) {
        const zc_grid_axis *axis = &array->array->grid[d];
        if (start != NULL) {
            start[d] = zc_grid_start(axis, chunk[d]);
        }
        if (shape != NULL) {
            shape[d] = zc_grid_chunk_length(axis, chunk[d]);
        }
    }
    return ZARRCORE_OK;
}

int zarrcore_chunk_lengths(const zarrcore_array *array, int dimension, int64_t *out, size_t n)
{
    if (array == NULL || out == NULL || dimension < 0 || dimension >= array->array->ndim) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    const zc_grid_axis *const axis = &array->array->grid[dimension];
    const int64_t chunks = zc_grid_chunks(axis);
    if ((uint64_t)chunks > n) {
        return ZARRCORE_ERR_SIZE;
    }
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t left = axis->length - zc_grid_start(axis, c), length = zc_grid_chunk_length(axis, c);
        out[c] = left < 0 ? 0 : left < length ? left : length;
    }
    return ZARRCORE_OK;
}

const char *zarrcore_dimension_name(const zarrcore_array *array, int dimension)
{
    const bool is_one = array != NULL && dimension >= 0 && dimension < array->array->ndim;

    return is_one && array->names != NULL ? array->names[dimension] : NULL;
}

int64_t zarrcore_itemsize(const zarrcore_array *array)
{
    return array != NULL ? (int64_t)array->array->chain->item.size : ZARRCORE_ERR_ARGUMENT;
}

const char *zarrcore_typestr(const zarrcore_array *array)
{
    return array != NULL ? array->typestr : NULL;
}

int zarrcore_kind(const zarrcore_array *array)
{
    return array != NULL ? array->typestr[1] : ZARRCORE_ERR_ARGUMENT;
}

int zarrcore_byte_order(const zarrcore_array *array)
{
    return array != NULL ? array->typestr[0] : ZARRCORE_ERR_ARGUMENT;
}

int zarrcore_fill_value(const zarrcore_array *array, void *out, size_t capacity)
{
    if (array == NULL || out == NULL) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    if (capacity < array->array->chain->item.size) {
        return ZARRCORE_ERR_SIZE;
    }
    memcpy(out, array->array->fill, array->array->chain->item.size);
    return ZARRCORE_OK;
}

const char *zarrcore_path(const zarrcore_array *array)
{
    return array != NULL ? array->path : NULL;
}

int zarrcore_is_writable(const zarrcore_array *array)
{
    return array != NULL && array->writable;
}
