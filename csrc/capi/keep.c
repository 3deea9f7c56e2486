/* SPDX-License-Identifier: MIT
 *
 * The cache of a handle: decoded chunks for reads of parts of chunks.
 *
 * Without a word of the caller it keeps chunks that are touched a second time, so that single reads here and there decode
 * no more than they need, and returns only what an uncached read would: each file is looked at, and stores that cannot be
 * are left alone.  Chunks that are read whole, and those whose bytes are their elements, are not kept.
 */
#include "base/arith.h"
#include "capi/handle.h"
#include "engine/chunk.h"

#define DEFAULT_BYTES ((size_t)32 << 20)
#define TRUST_NS INT64_C(100000000)

enum { OFF, SECOND_TOUCH, ALWAYS };

bool zc_keep_begin(zarrcore_array *array)
{
    array->kept = *array->array;
    array->kept.cache = zc_cache_new(DEFAULT_BYTES);
    if (array->kept.cache == NULL) {
        return false;
    }
    array->kept.number = zc_cache_array();
    atomic_init(&array->keeping, array->array->cache == NULL ? SECOND_TOUCH : OFF);   /* with_cache: that one is used */
    for (int i = 0; i < ZC_TOUCHED; i++) {
        atomic_init(&array->touched[i], 0);
    }
    return true;
}

void zc_keep_end(zarrcore_array *array)
{
    zc_cache_free(array->kept.cache);
}

int zarrcore_set_cache(const zarrcore_array *array, int64_t nbytes)
{
    zarrcore_array *const handle = (zarrcore_array *)array;      /* as counting owners, no change that users see */

    if (array == NULL || nbytes < 0) {
        return ZARRCORE_ERR_ARGUMENT;
    }
    const size_t limit = (uint64_t)nbytes < ZC_SIZE_MAX ? (size_t)nbytes : ZC_SIZE_MAX;
    zc_cache_trust(handle->kept.cache, TRUST_NS);
    atomic_store(&handle->keeping, limit > 0 ? ALWAYS : OFF);
    zc_cache_limit(handle->kept.cache, limit);
    return ZARRCORE_OK;
}

/* The chunks, or inner chunks, that hold a region along a dimension. */
typedef struct touched {
    int64_t first, n, length;
    bool whole;              /* all of them, up to the end of the array */
} touched;

static touched touch(const zc_grid_axis *grid, int64_t inner, const zc_axis *axis)
{
    const int64_t last = axis->start + (axis->count - 1) * axis->step;
    touched t = {.length = inner};

    if (grid->edges != NULL) {
        t.first = zc_grid_find(grid, axis->start);
        t.n = zc_grid_find(grid, last) - t.first + 1;
        t.length = zc_grid_chunk_length(grid, t.first);
        t.whole = axis->step == 1 && axis->start == zc_grid_start(grid, t.first) &&
                  last + 1 >= zc_grid_end(grid, t.first + t.n - 1);
    } else {
        t.first = axis->start / inner;
        const int64_t begin = t.first * inner;
        t.n = last - begin < inner ? 1 : last / inner - t.first + 1;         /* divisions are slow */
        t.whole = axis->step == 1 && axis->start == begin &&
                  (last == grid->length - 1 || last - begin == inner - 1 || (t.n > 1 && (last + 1) % inner == 0));
    }
    return t;
}

/* Can be seen at each read whether somebody else has changed a value, or will nobody? */
static bool shows_changes(const zc_store *store)
{
    return store->is_local || store->values_in_memory || store->constant;
}

/* Were these chunks, known by a hash, touched not long ago?  Now they were. */
static bool was_touched(zarrcore_array *array, uint64_t hash)
{
    _Atomic uint64_t *const at = &array->touched[hash >> 32 & (ZC_TOUCHED - 1)];

    return atomic_exchange_explicit(at, hash, memory_order_relaxed) == hash;
}

/* The length of chunks, or inner chunks, along each dimension; nothing of use where it varies. */
static void get_lengths(const zarrcore_array *array, int64_t *out)
{
    if (array->array->chain->sharded) {
        zarrcore_inner_chunk_shape(array, out);
        return;
    }
    for (int d = 0; d < array->array->ndim; d++) {
        out[d] = array->array->grid[d].chunk;
    }
}

const zc_array *zc_keep_array(zarrcore_array *array, const zc_store *store, const zc_selection *region)
{
    const int keeping = atomic_load_explicit(&array->keeping, memory_order_relaxed);
    const zc_chain *const chain = array->array->chain->sharded ? array->array->chain->inner : array->array->chain;
    int64_t inner[ZC_MAX_DIMS];
    size_t nbytes = chain->item.size;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    bool whole = true, fits = true;

    if (keeping == OFF || (keeping == SECOND_TOUCH && (chain->ops->is_plain || !shows_changes(store)))) {
        return array->array;
    }
    get_lengths(array, inner);
    for (int d = 0; d < region->ndim; d++) {
        const touched t = touch(&array->array->grid[d], inner[d], &region->axis[d]);
        fits = fits && zc_mul_size(nbytes, (uint64_t)t.n, &nbytes) && zc_mul_size(nbytes, (uint64_t)t.length, &nbytes);
        whole = whole && t.whole;
        hash = ((hash ^ (uint64_t)t.first) * UINT64_C(0x100000001b3) ^ (uint64_t)t.n) * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (whole || !fits || !zc_cache_takes(array->kept.cache, nbytes) ||
        (keeping == SECOND_TOUCH && !was_touched(array, hash))) {
        return array->array;
    }
    return &array->kept;
}
