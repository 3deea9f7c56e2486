/* SPDX-License-Identifier: MIT
 *
 * Memory that is freed all at once.
 */
#pragma once

#include <stddef.h>

typedef struct zc_arena {
    struct zc_arena_block *blocks;   /* NULL at first */
} zc_arena;

/* Zeroed memory, aligned for any type, until zc_arena_free; NULL when out of memory.  One thread at a time. */
void *zc_arena_alloc(zc_arena *arena, size_t size);

/* Free everything and leave the arena empty. */
void zc_arena_free(zc_arena *arena);
