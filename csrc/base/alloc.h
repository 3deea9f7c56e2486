/* SPDX-License-Identifier: MIT
 *
 * Allocation of arrays: number and size are multiplied here, and nowhere else.
 */
#ifndef ZC_BASE_ALLOC_H
#define ZC_BASE_ALLOC_H

#include <stdlib.h>

#include "base/arith.h"

/* realloc for `count` items of `size` bytes each, to be freed with free.  NULL, with old untouched, where there is no
 * memory for that many, or if the size overflows size_t; never NULL because count is 0. */
static inline void *zc_realloc_array(void *old, uint64_t count, size_t size)
{
    size_t bytes;

    return zc_mul_size(size, count, &bytes) ? realloc(old, bytes > 0 ? bytes : 1) : NULL;
}

/* The same for new ones. */
static inline void *zc_alloc_array(uint64_t count, size_t size)
{
    return zc_realloc_array(NULL, count, size);
}

#endif
