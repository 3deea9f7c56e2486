/* SPDX-License-Identifier: MIT
 *
 * The write buffer of a handle: writes of parts of chunks are collected, so that each chunk is encoded once.
 */
#pragma once

#include "capi/pending.h"

/* As zc_write or zc_read.  Values that are written may be stored later; those that are read are the ones given before.  For reading,
 * the array of the call may be one with a cache. */
zc_status zc_buffer_run(zc_buffer *buffer, const zc_call *call, bool write, zc_fault *fault, zc_error *err);

/* Store all that is pending: each chunk is tried, and the first failure returned; what failed stays. */
zc_status zc_buffer_flush(zc_buffer *buffer, const zc_call *call, zc_fault *fault, zc_error *err);
