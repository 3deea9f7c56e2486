/* SPDX-License-Identifier: MIT
 *
 * The public functions of the write buffer.
 */
#include <stdio.h>

#include "base/arith.h"
#include "capi/handle.h"

static int flush(const zarrcore_array *array, zarrcore_error *error)
{
    zarrcore_array *const handle = (zarrcore_array *)array;
    zc_fault fault = {.in_chunk = false};
    zc_session session;
    zc_error err;

    zc_error_clear(&err);
    zc_buffer_follow_fork(&handle->buffer);
    if (atomic_load(&handle->buffer.n) == 0) {
        return zc_report(error, &err, NULL, NULL);
    }
    zc_status status = zc_session_begin(array, true, &session, &err);
    if (status == ZC_OK) {
        const zc_call call = {.array = array->array, .store = &session.store, .poll = session.poll,
                              .poll_arg = session.poll_arg};
        status = zc_buffer_flush(&handle->buffer, &call, &fault, &err);
    }
    zc_session_end(array, &session, status, &err);
    return zc_report(error, &err, array, fault.in_chunk ? fault.chunk : NULL);
}

int zarrcore_flush(const zarrcore_array *array, zarrcore_error *error)
{
    return array != NULL ? flush(array, error) : zc_report_argument(error, "array is NULL");
}

int zarrcore_set_write_buffer(const zarrcore_array *array, int64_t nbytes, zarrcore_error *error)
{
    if (array == NULL || nbytes < 0) {
        return zc_report_argument(error, array == NULL ? "array is NULL" : "nbytes is negative");
    }
    const int status = flush(array, error);
    if (status == ZARRCORE_OK) {
        atomic_store(&((zarrcore_array *)array)->buffer.limit, (uint64_t)nbytes < ZC_SIZE_MAX ? (size_t)nbytes : ZC_SIZE_MAX);
    }
    return status;
}

void zc_flush_last(zarrcore_array *array)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;

    zc_watch *const watch = zc_pool_watch(NULL);     /* nobody would have what was cancelled */
    const int status = flush(array, &error);
    zc_pool_watch(watch);
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "zarrcore: %s: values were lost, since the array was released before they were written: %s: %s\n",
                array->path, error.key[0] != '\0' ? error.key : zarrcore_status_name(error.status), error.message);
    }
}
