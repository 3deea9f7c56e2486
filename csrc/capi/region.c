/* SPDX-License-Identifier: MIT
 *
 * Regions of an array: from the caller's numbers to a selection, and one call of the engine.
 */
#include <string.h>

#include "base/arith.h"
#include "base/cpu.h"
#include "capi/regions.h"

/* Is this the data type, as numpy spells it?  The machine's byte order may be spelt "=" or not at all. */
static bool is_type(const char *given, const char *typestr)
{
    const char order = typestr[0];
    const bool is_native = order == '|' || order == (ZC_BIG_ENDIAN ? '>' : '<');

    if (given[0] == order || (is_native && (given[0] == '=' || given[0] == '|'))) {
        return strcmp(given + 1, typestr + 1) == 0;
    }
    return is_native && strcmp(given, typestr + 1) == 0;
}

/* How many elements of a dimension the region has, checked to lie in the array. */
static zc_status count_axis(const zc_region *r, int d, int64_t length, int64_t *count, zc_error *err)
{
    const int64_t start = r->start != NULL ? r->start[d] : 0, step = r->step != NULL ? r->step[d] : 1;

    if (r->count == NULL && (step < 1 || start < 0 || start > length)) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: cannot count from %lld on in steps of %lld", d,
                       (long long)start, (long long)step);
    }
    *count = r->count != NULL ? r->count[d] : start == length ? 0 : (length - 1 - start) / step + 1;
    if (*count < 0 || step == 0 || step == INT64_MIN) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: a count of %lld with a step of %lld", d,
                       (long long)*count, (long long)step);
    }
    const bool inside = start >= 0 && start < length;
    const int64_t reach = !inside ? 0 : step > 0 ? (length - 1 - start) / step : start / -step;
    if (*count > 0 && (!inside || *count - 1 > reach)) {
        return zc_fail(err, ZC_ERR_ARGUMENT,
                       "dimension %d: %lld elements from %lld on in steps of %lld leave the array's %lld", d,
                       (long long)*count, (long long)start, (long long)step, (long long)length);
    }
    return ZC_OK;
}

/* Give a dimension of a region with elements its stride; *span, the bytes from the lowest to the highest address, grows. */
static zc_status span_axis(const zc_region *r, int d, zc_axis *axis, size_t *span, zc_error *err)
{
    size_t more;

    axis->stride = r->strides != NULL ? r->strides[d] : axis->stride;
    if (axis->stride == INT64_MIN ||
        !zc_mul_size(1, (uint64_t)(axis->stride < 0 ? -axis->stride : axis->stride), &more) ||
        !zc_mul_size(more, (uint64_t)(axis->count - 1), &more) || !zc_add_size(*span, more, span)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "dimension %d: strides of %lld bytes leave the address space", d,
                       (long long)axis->stride);
    }
    return ZC_OK;
}

/* Place the dimension; a negative step is turned round, for the engine counts upwards. */
static void place_axis(const zc_region *r, int d, zc_selection *selection)
{
    zc_axis *const axis = &selection->axis[d];
    const int64_t last = axis->count - 1;

    axis->start = r->start != NULL ? r->start[d] : 0;
    axis->step = r->step != NULL && last > 0 ? r->step[d] : 1;
    if (axis->step < 0) {
        axis->start += last * axis->step;
        axis->step = -axis->step;
        selection->memory += last * axis->stride;
        axis->stride = -axis->stride;
    }
}

/* Nobody looks at memory before it is known to be large enough. */
static zc_status place(const zc_region *r, size_t item_size, zc_selection *selection, zc_error *err)
{
    size_t span = item_size;
    zc_status status = ZC_OK;

    for (int d = 0; d < selection->ndim && status == ZC_OK; d++) {
        status = span_axis(r, d, &selection->axis[d], &span, err);
    }
    if (status == ZC_OK && span > r->nbytes) {
        status = zc_fail(err, ZC_ERR_SIZE, "the region needs %zu bytes of memory, there are %zu", span, r->nbytes);
    }
    for (int d = 0; d < selection->ndim && status == ZC_OK; d++) {
        place_axis(r, d, selection);
    }
    return status;
}

zc_status zc_region_select(const zc_array *array, const zc_region *r, zc_selection *selection, bool *empty, zc_error *err)
{
    const size_t item_size = r->numbers != NULL ? r->numbers->item.size : array->chain->item.size;
    int64_t count[ZC_MAX_DIMS];
    zc_status status = ZC_OK;

    *empty = false;
    for (int d = 0; d < array->ndim && status == ZC_OK; d++) {
        status = count_axis(r, d, array->grid[d].length, &count[d], err);
        *empty |= status == ZC_OK && count[d] == 0;
    }
    if (status != ZC_OK || *empty) {
        return status;
    }
    if (r->memory == NULL) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "memory is NULL");
    }
    /* With strides of zero a region may have more bytes than there can be, which the engine could not count. */
    if (!zc_selection_whole(array->ndim, count, item_size, r->memory, selection)) {
        return zc_fail(err, ZC_ERR_OVERFLOW, "the region has more elements than can be counted");
    }
    return place(r, item_size, selection, err);
}

static int transfer(const zarrcore_array *array, const zc_region *r, bool write, bool write_empty, zarrcore_error *error)
{
    zc_selection selection;
    zc_session session;
    zc_fault fault;
    zc_error err;
    bool empty;
    int attempts = 0;

    fault.in_chunk = false;
    zc_error_clear(&err);

    if (r->threads < 0) {
        return zc_report_argument(error, "threads is negative");
    }
    zc_status status = zc_region_select(array->array, r, &selection, &empty, &err);
    if (status != ZC_OK || empty) {
        return zc_report(error, &err, NULL, NULL);
    }
    do {
        status = zc_session_begin(array, write, &session, &err);
        if (status == ZC_OK) {
            zarrcore_array *const handle = (zarrcore_array *)array;
            const zc_array *const whole = write ? array->array : zc_keep_array(handle, &session.store, &selection);
            const zc_call call = {.array = whole, .store = &session.store, .selection = &selection,
                                  .threads = r->threads, .write_empty = write_empty, .poll = session.poll,
                                  .poll_arg = session.poll_arg};
            status = r->numbers != NULL ? zc_region_convert(handle, &call, r->numbers, r->own, write, &fault, &err)
                                        : zc_buffer_run(&handle->buffer, &call, write, &fault, &err);
        }
        zc_session_end(array, &session, status, &err);
    } while (zc_session_again(array, &session, &attempts, &status, &err));
    return zc_report(error, &err, array, fault.in_chunk ? fault.chunk : NULL);
}

static int write_region(const zarrcore_array *array, const zc_region *r, int flags, zarrcore_error *error)
{
    if (array == NULL) {
        return zc_report_argument(error, "array is NULL");
    }
    if ((flags & ~ZARRCORE_WRITE_EMPTY) != 0) {
        return zc_report_argument(error, "flags: an unknown flag is set");
    }
    if (!array->writable) {
        return zc_report_argument(error, "the array was opened for reading only");
    }
    return transfer(array, r, true, (flags & ZARRCORE_WRITE_EMPTY) != 0, error);
}

zc_status zc_region_types(const zarrcore_array *array, const char *type, int ndim, bool write, zc_types *out, zc_error *err)
{
    if (array == NULL || type == NULL) {
        return zc_fail(err, ZC_ERR_ARGUMENT, array == NULL ? "array is NULL" : "type is NULL");
    }
    if (ndim != array->array->ndim) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the array has %d dimensions, the region %d", array->array->ndim, ndim);
    }
    out->differ = !is_type(type, array->typestr);
    const zc_numbers *const from = write ? &out->memory : &out->own, *const to = write ? &out->own : &out->memory;
    if (out->differ && (!zc_typed_parse(type, &out->memory) || !zc_typed_parse(array->typestr, &out->own) ||
                        !zc_typed_convertible(from, to))) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the array has the data type %s, the memory %.40s: nothing converts one to the other",
                       array->typestr, type);
    }
    return ZC_OK;
}

int zarrcore_read(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                  const int64_t *count, void *memory, const int64_t *strides, int threads,
                  zarrcore_error *error)
{
    const zc_region r = {start, step, count, strides, memory, threads, SIZE_MAX, NULL, NULL};

    return array != NULL ? transfer(array, &r, false, false, error) : zc_report_argument(error, "array is NULL");
}

int zarrcore_write(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                   const int64_t *count, const void *memory, const int64_t *strides, int threads, int flags,
                   zarrcore_error *error)
{
    const zc_region r = {start, step, count, strides, (char *)memory, threads, SIZE_MAX, NULL, NULL};   /* only read from */

    return write_region(array, &r, flags, error);
}

int zarrcore_read_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start, const int64_t *step,
                     const int64_t *count, void *memory, size_t nbytes, const int64_t *strides, int threads,
                     zarrcore_error *error)
{
    zc_error err = {0};
    zc_types t;

    if (zc_region_types(array, type, ndim, false, &t, &err) != ZC_OK) {
        return zc_report(error, &err, NULL, NULL);
    }
    const zc_region r = {start, step, count, strides, memory, threads, nbytes, t.differ ? &t.memory : NULL, &t.own};
    return transfer(array, &r, false, false, error);
}

int zarrcore_write_as(const zarrcore_array *array, const char *type, int ndim, const int64_t *start, const int64_t *step,
                      const int64_t *count, const void *memory, size_t nbytes, const int64_t *strides, int threads,
                      int flags, zarrcore_error *error)
{
    zc_error err = {0};
    zc_types t;

    if (zc_region_types(array, type, ndim, true, &t, &err) != ZC_OK) {
        return zc_report(error, &err, NULL, NULL);
    }
    const zc_region r = {start, step, count, strides, (char *)memory, threads, nbytes, t.differ ? &t.memory : NULL, &t.own};
    return write_region(array, &r, flags, error);
}
