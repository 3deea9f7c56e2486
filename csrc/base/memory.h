/* SPDX-License-Identifier: MIT
 *
 * Memory that grows with the data: scratch, decoded chunks that are kept, values on their way.  All of it comes from here, so that a
 * program may take it from an allocator of its own; what is small (handles, keys, documents) is malloc's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ZC_ALIGNMENT 64                      /* a cache line, and the widest vector register */

/* From here on huge pages are asked for: to touch a buffer for the first time takes a fifth of the time. */
#define ZC_HUGE_FROM ((size_t)4 << 20)
#define ZC_HUGE_PAGE ((size_t)2 << 20)

typedef struct zc_allocator {
    void *(*allocate)(void *user, size_t n, size_t alignment);       /* NULL: out of memory */
    void (*release)(void *user, void *memory);
    void *user;
} zc_allocator;

/* Take the memory from an allocator from now on, or (NULL) from the system.  False: some is in use.  No other thread may be at work. */
bool zc_memory_set(const zc_allocator *allocator);

/* How many functions of the user's this thread is in the middle of: those of allocators and of stores.  What waits for all threads must
 * not be called by one. */
extern _Thread_local int zc_foreign;

/* Ask for huge pages for n bytes of new memory, from ZC_HUGE_FROM on, that malloc may have had from the system: they will be written. */
void zc_memory_huge(void *memory, size_t n);

/* NULL when out of memory; aligned as malloc's at least.  zc_memory_delete ignores NULL. */
void *zc_memory_new(size_t n);
void *zc_memory_zeroed(size_t n);
void zc_memory_delete(void *memory);

/* Scratch: aligned to ZC_ALIGNMENT, large pieces as pages of their own (from ZC_HUGE_FROM on n is a multiple of ZC_HUGE_PAGE). */
void *zc_pages_new(size_t n);
void zc_pages_delete(void *memory, size_t n);

/* Their bytes are not needed any more, but the pages may be again: until they are written to, the system may take them when memory is
 * short.  False: it cannot, or they are not its own. */
bool zc_pages_rest(void *memory, size_t n);
