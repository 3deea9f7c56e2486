/* SPDX-License-Identifier: MIT
 *
 * Which chunks of an array are stored, by listing its directory.
 */
#pragma once

#include "engine/engine.h"
#include "io/walk.h"

typedef struct zc_stored {
    int64_t *chunks;                 /* ndim numbers for each, in the order of the listing; not all lie in the grid */
    int64_t *sizes;                  /* of zc_walk_below */
    size_t n, room;
    char *others;                    /* names of what is no chunk, terminated, one after the other */
    size_t others_n, others_room;    /* bytes */
} zc_stored;

/* The chunk that a key names, less the array's prefix: as zc_chunk_key writes it, with numbers below 10^18; else false. */
bool zc_chunk_of_key(const zc_array *array, const char *name, size_t n, int64_t *chunk);

/*
 * List an array in a directory tree, at most so many entries.  0 or errno of zc_walk_below; EFBIG: there are more; ENOMEM.
 * pause is asked as zc_walk.on_pause.  Let go of what was found by zc_stored_free, whatever is returned.
 */
int zc_list_stored(const zc_array *array, const zc_local *local, bool sizes, size_t most, zc_on_pause pause, void *pause_arg,
                   zc_stored *out);
void zc_stored_free(zc_stored *stored);
