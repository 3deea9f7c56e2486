/* SPDX-License-Identifier: MIT
 *
 * Memory of large results.  What was let go waits a while for the next result of about its size: pages that the system has to clear and
 * to map again are a quarter of a fast read.  Meanwhile the system may take them when memory is short.
 *
 * Any thread may call these at the same time.
 */
#pragma once

#include <stddef.h>

/* From here on it pays: smaller pieces malloc has kept itself. */
#define ZC_RECYCLED_FROM ((size_t)32 << 20)

/* Pieces that nobody took for so long go back to the system. */
#define ZC_RECYCLED_NS ((int64_t)1000000000)

/* n bytes of any contents, aligned to ZC_ALIGNMENT; NULL when out of memory. */
void *zc_recycled_new(size_t n);

/* NULL is ignored. */
void zc_recycled_delete(void *memory);

/* How many bytes a piece has room for: those that were asked for, or more. */
size_t zc_recycled_room(const void *memory);

/* Let at most so many bytes wait (0 at first); more go back at once. */
void zc_recycled_limit(size_t most);

/* How many wait. */
size_t zc_recycled_waiting(void);
