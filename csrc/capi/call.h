/* SPDX-License-Identifier: MIT
 *
 * What all functions of the public API share: the record of a failure, and a call's way to the store.
 */
#ifndef ZC_CAPI_CALL_H
#define ZC_CAPI_CALL_H

#include "capi/handle.h"

/* Tell the caller how a call ended; returns its status.  array, chunk and out may be NULL. */
int zc_report(zarrcore_error *out, const zc_error *err, const zarrcore_array *array, const int64_t *chunk);

/* The same for a failure of the arguments. */
int zc_report_argument(zarrcore_error *out, const char *message);

/* Use the handle's store: zc_session_end must follow, whatever happened in between. */
zc_status zc_session_begin(const zarrcore_array *array, zc_session *session, zc_error *err);
void zc_session_end(const zarrcore_array *array, zc_session *session, zc_status status, zc_error *err);

/* Is there such a chunk? */
bool zc_has_chunk(const zc_array *array, const int64_t *chunk);

/* Number of chunks along a dimension. */
int64_t zc_grid_chunks(const zc_grid_axis *axis);

/* C-contiguous strides in bytes; false on overflow. */
bool zc_c_strides(int ndim, const int64_t *shape, size_t itemsize, int64_t *out);

#endif
