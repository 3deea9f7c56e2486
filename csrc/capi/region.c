/* SPDX-License-Identifier: MIT
 *
 * Regions of an array: from the caller's numbers to a selection, and one call of the engine.
 */
#include "base/arith.h"
#include "capi/call.h"

/* What the caller asked for; pointers as they were given. */
typedef struct region {
    const int64_t *start, *step, *count, *strides;
    char *memory;
    int threads;
} region;

static zc_status check_axis(int d, int64_t length, int64_t start, int64_t step, int64_t count, zc_error *err)
{
    if (count < 0 || step == 0 || step == INT64_MIN) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: a count of %lld with a step of %lld", d,
                       (long long)count, (long long)step);
    }
    if (count == 0) {
        return ZC_OK;
    }
    const bool inside = start >= 0 && start < length;
    const int64_t reach = !inside ? 0 : step > 0 ? (length - 1 - start) / step : start / -step;
    if (!inside || count - 1 > reach) {
        return zc_fail(err, ZC_ERR_ARGUMENT,
                       "dimension %d: %lld elements from %lld on in steps of %lld leave the array's %lld", d,
                       (long long)count, (long long)start, (long long)step, (long long)length);
    }
    return ZC_OK;
}

/* One dimension of the region; a negative step is turned round, for the engine counts upwards. */
static zc_status set_axis(zc_selection *selection, int d, int64_t start, int64_t step, int64_t count, int64_t stride,
                          zc_error *err)
{
    size_t span;

    if (stride == INT64_MIN ||
        !zc_mul_size(1, (uint64_t)(stride < 0 ? -stride : stride), &span) ||
        !zc_mul_size(span, count > 0 ? (uint64_t)(count - 1) : 0, &span)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "dimension %d: strides of %lld bytes leave the address space", d,
                       (long long)stride);
    }
    if (step < 0 && count > 0) {
        start += (count - 1) * step;
        selection->memory += (count - 1) * stride;
        stride = -stride;
        step = -step;
    }
    selection->axis[d] = (zc_axis){.count = count, .start = start, .step = count > 1 ? step : 1, .stride = stride};
    return ZC_OK;
}

static zc_status make_selection(const zc_array *array, const region *r, zc_selection *selection, bool *empty,
                                zc_error *err)
{
    int64_t start[ZC_MAX_DIMS], step[ZC_MAX_DIMS], count[ZC_MAX_DIMS], strides[ZC_MAX_DIMS];
    zc_status status = ZC_OK;

    *empty = false;
    selection->ndim = array->ndim;
    selection->memory = r->memory;
    selection->kind = ZC_SELECT_REGION;
    selection->window = NULL;
    for (int d = 0; d < array->ndim && status == ZC_OK; d++) {
        const int64_t length = array->grid[d].length;
        start[d] = r->start != NULL ? r->start[d] : 0;
        step[d] = r->step != NULL ? r->step[d] : 1;
        if (r->count != NULL) {
            count[d] = r->count[d];
        } else if (step[d] < 1 || start[d] < 0 || start[d] > length) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: cannot count from %lld on in steps of %lld",
                           d, (long long)start[d], (long long)step[d]);
        } else {
            count[d] = start[d] == length ? 0 : (length - 1 - start[d]) / step[d] + 1;
        }
        status = check_axis(d, length, start[d], step[d], count[d], err);
        *empty |= count[d] == 0;
    }
    if (status != ZC_OK || *empty) {
        return status;
    }
    if (r->strides == NULL && !zc_c_strides(array->ndim, count, array->chain->item.size, strides)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the region does not fit into memory");
    }
    for (int d = 0; d < array->ndim && status == ZC_OK; d++) {
        const int64_t stride = r->strides != NULL ? r->strides[d] : strides[d];
        status = set_axis(selection, d, start[d], step[d], count[d], stride, err);
    }
    return status;
}

/* Can the engine count the region's bytes?  With strides of zero it may have more than memory has. */
static zc_status check_size(const zc_selection *selection, size_t itemsize, zc_error *err)
{
    size_t n = itemsize;

    for (int d = 0; d < selection->ndim; d++) {
        if (!zc_mul_size(n, (uint64_t)selection->axis[d].count, &n)) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "the region has more elements than can be counted");
        }
    }
    return ZC_OK;
}

static int transfer(const zarrcore_array *array, const region *r, bool write, bool write_empty,
                    zarrcore_error *error)
{
    zc_selection selection;
    zc_session session;
    zc_fault fault = {.in_chunk = false};
    zc_error err;
    bool empty;

    zc_error_clear(&err);
    zc_status status = make_selection(array->array, r, &selection, &empty, &err);
    if (status == ZC_OK && !empty) {
        status = r->memory == NULL ? zc_fail(&err, ZC_ERR_ARGUMENT, "memory is NULL")
                                   : check_size(&selection, array->array->chain->item.size, &err);
    }
    if (status != ZC_OK || empty) {
        return zc_report(error, &err, NULL, NULL);
    }
    status = zc_session_begin(array, &session, &err);
    if (status == ZC_OK) {
        const zc_call call = {.array = array->array, .store = &session.store, .selection = &selection,
                              .threads = r->threads, .write_empty = write_empty, .poll = session.poll,
                              .poll_arg = session.poll_arg};
        status = (write ? zc_write : zc_read)(&call, &fault, &err);
    }
    zc_session_end(array, &session, status, &err);
    return zc_report(error, &err, array, fault.in_chunk ? fault.chunk : NULL);
}

int zarrcore_read(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                  const int64_t *count, void *memory, const int64_t *strides, int threads,
                  zarrcore_error *error)
{
    const region r = {start, step, count, strides, memory, threads};

    if (array == NULL) {
        return zc_report_argument(error, "array is NULL");
    }
    if (threads < 0) {
        return zc_report_argument(error, "threads is negative");
    }
    return transfer(array, &r, false, false, error);
}

int zarrcore_write(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                   const int64_t *count, const void *memory, const int64_t *strides, int threads, int flags,
                   zarrcore_error *error)
{
    const region r = {start, step, count, strides, (char *)memory, threads};   /* only read from */

    if (array == NULL) {
        return zc_report_argument(error, "array is NULL");
    }
    if (threads < 0) {
        return zc_report_argument(error, "threads is negative");
    }
    if ((flags & ~ZARRCORE_WRITE_EMPTY) != 0) {
        return zc_report_argument(error, "flags: an unknown flag is set");
    }
    if (!array->writable) {
        return zc_report_argument(error, "the array was opened for reading only");
    }
    return transfer(array, &r, true, (flags & ZARRCORE_WRITE_EMPTY) != 0, error);
}
