/* SPDX-License-Identifier: MIT
 *
 * Removing what is stored of an array outside of a shape: it has shrunk, or is about to grow over what an append that was killed
 * left there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/memory.h"
#include "document/tree.h"

#define FEW 64                               /* chunks that are tried by their keys, rather than found by listing */
#define MOST_LOOKED_AT ((size_t)64 << 20)    /* bytes of one chunk that are read to see whether they need to be overwritten */

typedef struct walk {
    const zc_outside *what;
    zarrcore_array *array;                   /* as long as its chunks reach */
    int64_t counts[ZC_MAX_DIMS];             /* chunks that reach the limit */
    int64_t within[ZC_MAX_DIMS];             /* of these, that lie inside as a whole */
    size_t failures;
    zc_error first;
} walk;

/* ---- one chunk ---------------------------------------------------------------------------------- */

static void note_failure(walk *w, const zc_error *err)
{
    if (w->failures++ == 0) {
        w->first = *err;
    }
}

static zc_status remove_chunk(const walk *w, const char *name, zc_error *err)
{
    const zc_where *const place = w->what->place;
    const zc_array *const array = w->array->array;
    const size_t n = strlen(name);
    char *const key = malloc(array->prefix_len + n + 1);
    zc_key of_chunk;

    if (key == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    memcpy(key, array->prefix, array->prefix_len);
    memcpy(key + array->prefix_len, name, n + 1);
    zc_key_set(&of_chunk, array->place, name);
    const zc_change change = zc_change_begin(&of_chunk);
    const zc_status status = place->store->shared->ops->remove(place->store, key, err);
    zc_change_end(change);
    free(key);
    return status;
}

static zc_status as_status(const zarrcore_error *from, zc_error *err)
{
    zc_fail(err, (zc_status)from->status, "%.250s", from->message);
    err->sys_errno = from->sys_errno;
    return err->status;
}

static bool is_fill(const zarrcore_array *array, const char *values, size_t n)
{
    const size_t size = array->array->chain->item.size;

    for (size_t i = 0; i < n; i++) {
        if (memcmp(values + i * size, array->array->fill, size) != 0) {
            return false;
        }
    }
    return true;
}

/* Fill a region, unless it has nothing but the fill value. */
static zc_status clear_region(const zarrcore_array *array, const int64_t *start, const int64_t *count, zc_error *err)
{
    static const int64_t same[ZC_MAX_DIMS];  /* strides of 0 */
    zarrcore_error error = {.struct_size = sizeof error};
    size_t n = 1, nbytes = 0;
    bool fits = true;

    for (int d = 0; d < array->array->ndim; d++) {
        fits = fits && zc_mul_size(n, (size_t)count[d], &n);
    }
    fits = fits && zc_mul_size(n, array->array->chain->item.size, &nbytes) && nbytes <= MOST_LOOKED_AT;
    if (fits) {
        char *const values = zc_memory_new(nbytes);
        if (values == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        }
        const int status = zarrcore_read(array, start, NULL, count, values, NULL, 1, &error);
        const bool clean = status == ZARRCORE_OK && is_fill(array, values, n);
        zc_memory_delete(values);
        if (status != ZARRCORE_OK || clean) {
            return clean ? ZC_OK : as_status(&error, err);
        }
    }
    return zarrcore_write(array, start, NULL, count, array->array->fill, same, 1, 0, &error) == ZARRCORE_OK ? ZC_OK
                                                                                                           : as_status(&error, err);
}

/* Clear what a chunk on the border has outside: a slab for each dimension, without what the ones before have cleared. */
static zc_status clear_chunk(const walk *w, const int64_t *chunk, zc_error *err)
{
    const zc_array *const array = w->array->array;
    int64_t start[ZC_MAX_DIMS], end[ZC_MAX_DIMS], from[ZC_MAX_DIMS], count[ZC_MAX_DIMS];
    zc_status status = ZC_OK;

    for (int d = 0; d < array->ndim; d++) {
        const int64_t whole = zc_grid_end(&array->grid[d], chunk[d]);
        start[d] = zc_grid_start(&array->grid[d], chunk[d]);
        end[d] = w->what->all || whole < w->what->limit[d] ? whole : w->what->limit[d];
        end[d] = end[d] < array->grid[d].length ? end[d] : array->grid[d].length;
        if (end[d] <= start[d]) {
            return ZC_OK;
        }
    }
    for (int d = 0; d < array->ndim && status == ZC_OK; d++) {
        const int64_t keep = w->what->keep[d] > start[d] ? w->what->keep[d] : start[d];
        if (keep >= end[d]) {
            continue;
        }
        for (int e = 0; e < array->ndim; e++) {
            from[e] = e == d ? keep : start[e];
            count[e] = end[e] - from[e];
        }
        status = clear_region(w->array, from, count, err);
        end[d] = keep;
    }
    return status;
}

static void visit(walk *w, const char *name, const int64_t *chunk)
{
    const zc_array *const array = w->array->array;
    bool beyond = false, border = false;
    zc_error err;

    for (int d = 0; d < array->ndim; d++) {
        const zc_grid_axis *const axis = &array->grid[d];
        if (!w->what->all && chunk[d] >= w->counts[d]) {
            return;
        }
        if (axis->edges != NULL ? chunk[d] >= axis->n_edges : chunk[d] > (INT64_MAX - 1) / axis->chunk) {
            beyond = true;
        } else {
            beyond = beyond || zc_grid_start(axis, chunk[d]) >= w->what->keep[d];
            border = border || zc_grid_end(axis, chunk[d]) > w->what->keep[d];
        }
    }
    zc_error_clear(&err);
    const zc_status status = beyond ? remove_chunk(w, name, &err) : border ? clear_chunk(w, chunk, &err) : ZC_OK;
    if (status != ZC_OK) {
        note_failure(w, &err);
    }
}

/* ---- all that are possible ---------------------------------------------------------------------- */

/* The chunks of a box of the grid. */
static zc_status visit_box(walk *w, const int64_t *first, const int64_t *stop, zc_error *err)
{
    const zc_array *const array = w->array->array;
    int64_t chunk[ZC_MAX_DIMS];
    int d;

    for (d = 0; d < array->ndim; d++) {
        chunk[d] = first[d];
        if (first[d] >= stop[d]) {
            return ZC_OK;
        }
    }
    do {
        char *const key = zc_new_key(w->array, chunk);
        if (key == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        }
        visit(w, key + array->prefix_len, chunk);
        free(key);
        for (d = array->ndim - 1; d >= 0 && ++chunk[d] == stop[d]; d--) {
            chunk[d] = first[d];
        }
    } while (d >= 0);
    return ZC_OK;
}

static zc_status visit_possible(walk *w, zc_error *err)
{
    const int ndim = w->array->array->ndim;
    zc_status status = ZC_OK;

    for (int d = 0; d < ndim && status == ZC_OK; d++) {
        int64_t first[ZC_MAX_DIMS] = {0}, stop[ZC_MAX_DIMS];
        for (int e = 0; e < ndim; e++) {
            stop[e] = e < d ? w->within[e] : w->counts[e];
        }
        first[d] = w->within[d];
        status = visit_box(w, first, stop, err);
    }
    return status;
}

/* ---- all that are stored ------------------------------------------------------------------------ */

static bool read_number(const char **text, int64_t *out)
{
    const size_t n = strspn(*text, "0123456789");

    if (n == 0 || n > 18 || (n > 1 && **text == '0')) {
        return false;
    }
    *out = strtoll(*text, NULL, 10);
    *text += n;
    return true;
}

/* The chunk of a key below the array, as zc_chunk_key makes them. */
static bool read_key(const zc_array *array, const char *name, int64_t *chunk)
{
    const char separator = array->keys.separator;
    int d = 0;

    if (!array->keys.v2) {
        if (*name++ != 'c') {
            return false;
        }
    } else if (array->ndim == 0) {
        return strcmp(name, "0") == 0;
    }
    for (; d < array->ndim; d++) {
        if ((d > 0 || !array->keys.v2) && *name++ != separator) {
            return false;
        }
        if (!read_number(&name, &chunk[d])) {
            return false;
        }
    }
    return *name == '\0';
}

static bool is_part_of_key(const char *name)
{
    return strcmp(name, "c") == 0 || name[strspn(name, "0123456789")] == '\0';
}

static zc_status visit_stored(walk *w, const zc_where *at, int depth, zc_error *err)
{
    const zc_array *const array = w->array->array;
    zc_names names = {0};
    int64_t chunk[ZC_MAX_DIMS];
    zc_status status = at->store->shared->ops->list(at->store, at->path, &names, err);

    for (size_t i = 0; i < names.n && status == ZC_OK; i++) {
        const zc_name *const name = &names.at[i];
        zc_where below = {0};
        if (!name->is_below || (is_part_of_key(name->text) && depth <= array->ndim)) {
            status = zc_where_below(at, name->text, &below, err);
        }
        if (below.path != NULL && name->is_below) {
            status = visit_stored(w, &below, depth + 1, err);
        } else if (below.path != NULL && read_key(array, below.path + array->prefix_len, chunk)) {
            visit(w, below.path + array->prefix_len, chunk);
        }
        zc_where_free(&below);
    }
    zc_names_free(&names);
    return status;
}

/* ---- what is left of an array that is gone ------------------------------------------------------- */

/* The name below the array of one chunk that is stored, if there is any: to be freed. */
static zc_status find_stored(const zc_array *array, const zc_where *at, int depth, char **found, zc_error *err)
{
    zc_names names = {0};
    int64_t chunk[ZC_MAX_DIMS];
    zc_status status = at->store->shared->ops->list(at->store, at->path, &names, err);

    for (size_t i = 0; i < names.n && status == ZC_OK && *found == NULL; i++) {
        const zc_name *const name = &names.at[i];
        zc_where below = {0};
        if (!name->is_below || (is_part_of_key(name->text) && depth <= array->ndim)) {
            status = zc_where_below(at, name->text, &below, err);
        }
        if (below.path != NULL && name->is_below) {
            status = find_stored(array, &below, depth + 1, found, err);
        } else if (below.path != NULL && read_key(array, below.path + array->prefix_len, chunk)) {
            *found = below.path;
            below.path = NULL;
        }
        zc_where_free(&below);
    }
    zc_names_free(&names);
    return status;
}

zc_status zc_refuse_left(const zc_array *array, const zc_where *place, zc_error *err)
{
    char *found = NULL;
    zc_status status = find_stored(array, place, 0, &found, err);

    if (status == ZC_ERR_UNSUPPORTED) {
        zc_error_clear(err);
        status = ZC_OK;
    } else if (status == ZC_OK && found != NULL) {
        status = zc_fail(err, ZC_ERR_EXISTS, "%.120s: chunks of an array without a document are there, such as %.120s, which a new one "
                         "would read as its own", place->n > 0 ? place->path : "the root", found);
    }
    free(found);
    return status;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

zc_status zc_with_shape(const zc_found *found, int ndim, const int64_t *shape, const int64_t *more, zc_found *out, zc_error *err)
{
    zc_edit edit;
    zc_status status = zc_edit_open(&edit, zc_deciding_name(found->zarr_format, found->kind), found->own.data, found->own.n,
                                    ZC_FROM_STORE, err);

    out->zarr_format = found->zarr_format;
    out->kind = found->kind;
    status = status == ZC_OK ? zc_edit_shape(&edit, ndim, shape, more) : status;
    status = status == ZC_OK ? zc_edit_text(&edit, zc_edit_root(&edit), &out->own) : status;
    zc_edit_close(&edit);
    return status;
}

zc_status zc_open_found(const zc_where *place, const zc_found *found, zarrcore_array **out, zc_error *err)
{
    return zc_open_document(place, &found->own, found->zarr_format, NULL, true, out, err);
}

/* A handle whose array is as long as the chunks that reach the limit, and those. */
static zc_status open_whole(walk *w, zc_error *err)
{
    static const int64_t none[ZC_MAX_DIMS];
    const zc_outside *const what = w->what;
    zarrcore_array *array = NULL;
    zc_found longer = {0};
    int64_t ends[ZC_MAX_DIMS];
    zc_status status = zc_open_found(what->place, what->found, &array, err);

    for (int d = 0; status == ZC_OK && d < array->array->ndim; d++) {
        zc_grid_axis axis = array->array->grid[d];
        axis.length = what->limit[d];
        const int64_t last = what->limit[d] > 0 ? zc_grid_find(&axis, what->limit[d] - 1) : -1;
        w->counts[d] = last + 1;
        w->within[d] = what->keep[d] < what->limit[d] ? zc_grid_find(&axis, what->keep[d]) : last + 1;
        ends[d] = last >= 0 ? zc_grid_end(&axis, last) : 0;
    }
    status = status == ZC_OK ? zc_with_shape(what->found, array->array->ndim, ends, none, &longer, err) : status;
    status = status == ZC_OK ? zc_open_found(what->place, &longer, &w->array, err) : status;
    zc_found_free(&longer);
    zarrcore_release(array);
    return status;
}

/* How many chunks may have something outside; FEW + 1: more than a few. */
static size_t count_possible(const walk *w)
{
    size_t all = 1, inside = 1;
    bool counted = true;

    for (int d = 0; d < w->array->array->ndim; d++) {
        counted = counted && zc_mul_size(all, (size_t)w->counts[d], &all) && zc_mul_size(inside, (size_t)w->within[d], &inside);
    }
    return counted && all - inside <= FEW ? all - inside : FEW + 1;
}

zc_status zc_remove_outside(const zc_outside *outside, zc_error *err)
{
    walk w = {.what = outside};
    zc_status status = open_whole(&w, err);

    if (status == ZC_OK) {
        status = !outside->all && count_possible(&w) <= FEW ? visit_possible(&w, err)
                                                            : visit_stored(&w, outside->place, 0, err);
    }
    zarrcore_release(w.array);
    if (status == ZC_OK && w.failures > 0) {
        status = zc_fail(err, w.first.status, "%zu of the chunks outside could not be removed (%.200s)", w.failures,
                         w.first.message);
        err->sys_errno = w.first.sys_errno;
    }
    return status;
}
