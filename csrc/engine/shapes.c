/* SPDX-License-Identifier: MIT
 *
 * A table of fixed size.  Where it has had to drop arrays, all that it does not know count as changed: their chunks
 * at the end are patched where they could have been replaced, which is slower but right.
 */
#include "engine/shapes.h"

#include <stdatomic.h>

#include "engine/locks.h"

#define SETS 4096
#define WAYS 8

/* Arrays whose hashes are alike: of each 32 bits of its own hash and 32 of that of its shape; 0: free. */
typedef struct set {
    _Atomic uint64_t ways[WAYS];
    atomic_uint dropped;             /* how many there was no room for */
} set;

static set sets[SETS];

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

static uint64_t hash_of(uint64_t seed, const char *prefix)
{
    return mixed(zc_key_hash(seed, prefix));
}

static set *set_of(uint64_t array)
{
    return &sets[array % SETS];
}

/* The place of an array in its set, or NULL. */
static _Atomic uint64_t *find(set *s, uint64_t array)
{
    for (int i = 0; i < WAYS; i++) {
        const uint64_t found = atomic_load(&s->ways[i]);
        if (found != 0 && found >> 32 == array >> 32) {
            return &s->ways[i];
        }
    }
    return NULL;
}

static uint64_t with_shape(uint64_t array, int ndim, const int64_t *lengths)
{
    uint64_t shape = array;

    for (int d = 0; d < ndim; d++) {
        shape = mixed(shape * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)lengths[d] + 1);
    }
    const uint64_t both = (array & ~UINT64_C(0xffffffff)) | (shape & UINT64_C(0xffffffff));
    return both != 0 ? both : 1;
}

void zc_shape_note(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths)
{
    const uint64_t array = hash_of(seed, prefix), both = with_shape(array, ndim, lengths);
    set *s = set_of(array);
    _Atomic uint64_t *place = find(s, array);

    for (int i = 0; i < WAYS && place == NULL; i++) {
        uint64_t free_place = 0;
        if (atomic_compare_exchange_strong(&s->ways[i], &free_place, both)) {
            return;
        }
    }
    if (place == NULL) {
        place = &s->ways[atomic_fetch_add(&s->dropped, 1) % WAYS];
    }
    atomic_store(place, both);
}

void zc_shape_renew(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths)
{
    const uint64_t array = hash_of(seed, prefix);
    _Atomic uint64_t *place = find(set_of(array), array);

    if (place != NULL) {
        atomic_store(place, with_shape(array, ndim, lengths));
    }
}

bool zc_shape_is_stale(uint64_t seed, const char *prefix, int ndim, const int64_t *lengths)
{
    const uint64_t array = hash_of(seed, prefix);
    set *s = set_of(array);
    _Atomic uint64_t *place = find(s, array);

    return place != NULL ? atomic_load(place) != with_shape(array, ndim, lengths) : atomic_load(&s->dropped) > 0;
}
