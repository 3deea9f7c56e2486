/* SPDX-License-Identifier: MIT
 *
 * A chunk's worth of bytes.
 */
#pragma once

#include <stddef.h>

/* memcpy(dst, src, n), made for what lies in the caches after the nearest one.  No shared state. */
void zc_long_copy(void *dst, const void *src, size_t n);
