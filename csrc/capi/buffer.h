/* SPDX-License-Identifier: MIT
 *
 * The write buffer of a handle: writes of parts of chunks are collected, so that each chunk is encoded once.
 */
#ifndef ZC_CAPI_BUFFER_H
#define ZC_CAPI_BUFFER_H

#include "capi/pending.h"

/* As zc_write, through the buffer: values may be stored later. */
zc_status zc_buffer_write(zc_buffer *buffer, const zc_call *call, zc_fault *fault, zc_error *err);

/* As zc_read, with what is pending; read is the same call of an array that may have a cache. */
zc_status zc_buffer_read(zc_buffer *buffer, const zc_call *read, zc_fault *fault, zc_error *err);

/* Store all that is pending: each chunk is tried, and the first failure returned; what failed stays. */
zc_status zc_buffer_flush(zc_buffer *buffer, const zc_call *call, zc_fault *fault, zc_error *err);

#endif
