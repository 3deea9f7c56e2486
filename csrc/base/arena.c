/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdlib.h>

#include "base/arith.h"

struct zc_arena_block {
    struct zc_arena_block *next;
    max_align_t data[];
};

void *zc_arena_alloc(zc_arena *arena, size_t size)
{
    struct zc_arena_block *block;

    if (!zc_add_size(size, sizeof *block, &size)) {
        return NULL;
    }
    block = calloc(1, size);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    return block->data;
}

void zc_arena_free(zc_arena *arena)
{
    while (arena->blocks != NULL) {
        struct zc_arena_block *const block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
}
