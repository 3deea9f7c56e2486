/* SPDX-License-Identifier: MIT
 *
 * Reading single elements.
 */
#include <stdlib.h>

#include "base/arith.h"
#include "base/memory.h"
#include "capi/regions.h"

/* The columns of a table of indices, checked, and the numbers of its rows: one piece of memory, to be freed. */
static int64_t *make_columns(const zc_array *array, size_t n, const int64_t *points, zc_error *err)
{
    const size_t ndim = (size_t)array->ndim;
    size_t size;
    int64_t *const columns = zc_mul_size((ndim + 1) * sizeof *columns, n, &size) ? zc_memory_new(size) : NULL;

    if (columns == NULL) {
        zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t p = 0; p < n; p++) {
        for (size_t d = 0; d < ndim; d++) {
            const int64_t index = points[p * ndim + d];
            if (index < 0 || index >= array->grid[d].length) {
                zc_fail(err, ZC_ERR_ARGUMENT, "point %zu: index %lld leaves the %lld elements of dimension %zu", p,
                        (long long)index, (long long)array->grid[d].length, d);
                zc_memory_delete(columns);
                return NULL;
            }
            columns[d * n + p] = index;
        }
        columns[ndim * n + p] = (int64_t)p;
    }
    return columns;
}

static void select_points(const zc_array *array, size_t n, const int64_t *columns, char *memory, zc_selection *out)
{
    *out = (zc_selection){.kind = ZC_SELECT_POINTS, .ndim = array->ndim, .memory = memory,
                          .points = columns + (size_t)array->ndim * n, .n_points = n,
                          .point_stride = (int64_t)array->chain->item.size};
    for (int d = 0; d < array->ndim; d++) {
        out->axis[d] = (zc_axis){.count = (int64_t)n, .step = 1, .index = columns + (size_t)d * n};
    }
}

/* Elements of the array's own type, one after the other. */
static int read_points(const zarrcore_array *array, size_t n, const int64_t *columns, char *memory, int threads,
                       zarrcore_error *error)
{
    zc_selection selection;
    zc_session session;
    zc_fault fault = {.in_chunk = false};
    zc_error err;
    zc_status status;
    int attempts = 0;

    zc_error_clear(&err);
    select_points(array->array, n, columns, memory, &selection);
    do {
        status = zc_session_begin(array, false, &session, &err);
        if (status == ZC_OK) {
            const zc_call call = {.array = array->array, .store = &session.store, .selection = &selection, .threads = threads,
                                  .poll = session.poll, .poll_arg = session.poll_arg};
            status = zc_read(&call, &fault, &err);
        }
        zc_session_end(array, &session, status, &err);
    } while (zc_session_again(array, &session, &attempts, &status, &err));
    return zc_report(error, &err, array, fault.in_chunk ? fault.chunk : NULL);
}

static int read_converted(const zarrcore_array *array, size_t n, const int64_t *columns, void *memory, const zc_types *types,
                          int threads, zarrcore_error *error)
{
    const int64_t count = (int64_t)n, in = (int64_t)types->own.item.size, out = (int64_t)types->memory.item.size;
    size_t size;
    char *const values = zc_mul_size(types->own.item.size, n, &size) ? zc_memory_new(size) : NULL;
    zc_error err = {0};

    if (values == NULL) {
        zc_fail(&err, ZC_ERR_MEMORY, "out of memory");
        return zc_report(error, &err, NULL, NULL);
    }
    int status = read_points(array, n, columns, values, threads, error);
    if (status == ZARRCORE_OK) {
        err.status = zc_typed_convert(1, &count, memory, &out, &types->memory, values, &in, &types->own, &err);
        status = zc_report(error, &err, NULL, NULL);
    }
    zc_memory_delete(values);
    return status;
}

static zc_status check_points(const zarrcore_array *array, size_t n, const int64_t *points, const void *memory, size_t nbytes,
                              const zc_types *types, zc_error *err)
{
    const size_t size = types->differ ? types->memory.item.size : array->array->chain->item.size;
    size_t needed;

    if (array->array->ndim == 0) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "an array without dimensions has no points");
    }
    if (n > 0 && (points == NULL || memory == NULL)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, points == NULL ? "points is NULL" : "memory is NULL");
    }
    if (!zc_mul_size(size, n, &needed) || n > PTRDIFF_MAX || needed > nbytes) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu points of %zu bytes do not fit into %zu bytes of memory", n, size, nbytes);
    }
    return ZC_OK;
}

int zarrcore_read_points(const zarrcore_array *array, const char *type, int ndim, size_t n, const int64_t *points,
                         void *memory, size_t nbytes, int threads, zarrcore_error *error)
{
    zc_error err = {0};
    zc_types types;

    if (zc_region_types(array, type, ndim, false, &types, &err) != ZC_OK ||
        check_points(array, n, points, memory, nbytes, &types, &err) != ZC_OK) {
        return zc_report(error, &err, NULL, NULL);
    }
    if (threads < 0) {
        return zc_report_argument(error, "threads is negative");
    }
    int status = zarrcore_flush(array, error);       /* what is pending is not looked up point by point */
    if (n == 0 || status != ZARRCORE_OK) {
        return status;
    }
    int64_t *const columns = make_columns(array->array, n, points, &err);
    if (columns == NULL) {
        return zc_report(error, &err, NULL, NULL);
    }
    status = types.differ ? read_converted(array, n, columns, memory, &types, threads, error)
                          : read_points(array, n, columns, memory, threads, error);
    zc_memory_delete(columns);
    return status;
}
