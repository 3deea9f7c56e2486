/* SPDX-License-Identifier: MIT
 *
 * Arrays that change their shape.
 *
 * Resizing stores the new shape first and removes what lies outside after that: a failure on the way loses nothing inside.  Appending
 * stores the chunks first.
 */
#include <string.h>

#include "document/tree.h"

/* An array whose metadata are locked. */
typedef struct changed {
    const zc_where *place;
    zc_found found;                  /* its documents */
    zarrcore_array *array;           /* detached */
    int ndim;
    int64_t was[ZC_MAX_DIMS];        /* its shape */
    zc_found next;                   /* the documents that it is to get */
    zarrcore_array *grown;           /* and a handle of that array */
    const int64_t *shape;
} changed;

static zc_status open_changed(const zc_where *place, changed *out, zc_error *err)
{
    zc_status status = zc_find_node(place, 0, &out->found, err);

    out->place = place;
    if (status == ZC_OK && out->found.kind != ZARRCORE_NODE_ARRAY) {
        status = zc_fail(err, ZC_ERR_ARGUMENT, "%.200s is a group", place->n > 0 ? place->path : "the root");
    }
    status = status == ZC_OK ? zc_open_found(place, &out->found, &out->array, err) : status;
    if (status == ZC_OK) {
        out->ndim = out->array->array->ndim;
        zarrcore_shape(out->array, out->was);
    }
    return status;
}

static void close_changed(changed *c)
{
    zarrcore_release(c->array);
    zarrcore_release(c->grown);
    zc_found_free(&c->found);
    zc_found_free(&c->next);
}

/* A dimension of a rectilinear grid that outgrows its chunks gets one more: of whole inner chunks, where these are shards. */
static zc_status chunks_to_add(const changed *c, int64_t *more, zc_error *err)
{
    const zc_array *const array = c->array->array;
    int64_t units[ZC_MAX_DIMS];
    const bool sharded = array->chain->sharded && zarrcore_inner_chunk_shape(c->array, units) == ZARRCORE_OK;

    for (int d = 0; d < c->ndim; d++) {
        const zc_grid_axis *const axis = &array->grid[d];
        const int64_t unit = sharded ? units[d] : 1, length = c->shape[d];
        more[d] = 0;
        if (axis->edges == NULL || length <= axis->edges[axis->n_edges]) {
            continue;
        }
        const int64_t added = length - axis->edges[axis->n_edges], units_added = added / unit + (added % unit != 0);
        if (units_added > INT64_MAX / unit - 1) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "dimension %d: no chunk can have so many elements", d);
        }
        more[d] = units_added * unit;
    }
    return ZC_OK;
}

/* Make the documents of the other shape: nothing may change if these cannot be made. */
static zc_status prepare(changed *c, const int64_t *shape, zc_error *err)
{
    int64_t more[ZC_MAX_DIMS];

    c->shape = shape;
    zc_status status = chunks_to_add(c, more, err);
    status = status == ZC_OK ? zc_with_shape(&c->found, c->ndim, shape, more, &c->next, err) : status;
    return status == ZC_OK ? zc_open_found(c->place, &c->next, &c->grown, err) : status;
}

static const char *document_name(const changed *c)
{
    return zc_deciding_name(c->found.zarr_format, c->found.kind);
}

/* Remove what lies between the shape from which the array grows and the one that it gets. */
static zc_status remove_added(const changed *c, zc_error *err)
{
    const zc_outside added = {.place = c->place, .found = &c->next, .keep = c->was, .limit = c->shape};

    return zc_remove_outside(&added, err);
}

static zc_status remove_lost(const changed *c, bool is_same, zc_error *err)
{
    const zc_outside lost = {.place = c->place, .found = &c->found, .keep = c->shape, .limit = c->was, .all = is_same};
    char why[sizeof err->message];
    zc_status status = zc_remove_outside(&lost, err);

    if (status != ZC_OK) {
        memcpy(why, err->message, sizeof why);
        zc_fail(err, status, "the array has its new shape, but %.180s: resize to it once more before the array grows", why);
    }
    return status;
}

/* ---- resizing ----------------------------------------------------------------------------------- */

/* Under the lock of the documents. */
static zc_status resize(changed *c, zc_workspace *ws, zc_error *err)
{
    const zc_place *const array = c->array->array->place;
    bool grows = false, shrinks = false, waited;
    zc_error later;

    for (int d = 0; d < c->ndim; d++) {
        grows = grows || c->shape[d] > c->was[d];
        shrinks = shrinks || c->shape[d] < c->was[d];
    }
    zc_status status = grows ? remove_added(c, err) : ZC_OK;
    if (status != ZC_OK) {
        return status;
    }
    zc_shape_note(array, c->ndim, c->shape, false);
    status = zc_put(c->place, document_name(c), &c->next.own, false, err);
    if (status != ZC_OK) {
        return status;
    }
    status = zc_follow(c->place, document_name(c), &c->next.own, err);
    if (shrinks) {
        zc_note_loss();
    }
    if (shrinks || !grows) {                 /* writes may go by the old shape; later ones have seen the new one */
        zc_error_clear(&later);
        zc_status second = zc_wait_for_writes(array, ws, &waited);
        second = second == ZC_OK ? remove_lost(c, !shrinks, &later) : second;
        if (second != ZC_OK) {
            *err = later;
            status = second;
        }
    }
    return status;
}

static zc_status check_lengths(const changed *c, int ndim, const int64_t *lengths, zc_error *err)
{
    if (ndim != c->ndim) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the array has %d dimensions, not %d", c->ndim, ndim);
    }
    if (lengths == NULL && ndim > 0) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the lengths are NULL");
    }
    for (int d = 0; d < ndim; d++) {
        if (lengths[d] < 0) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: a negative length", d);
        }
    }
    return ZC_OK;
}

int zarrcore_resize(const zarrcore_store *store, const char *path, int ndim, const int64_t *shape, zarrcore_error *error)
{
    zc_workspace *ws = NULL;
    zc_document_lock lock;
    changed c = {0};
    zc_where place;
    zc_error err;

    zc_error_clear(&err);
    zc_status status = zc_begin_change(store, path, &place, &lock, &err);
    if (status == ZC_OK) {
        ws = zc_pool_borrow(&err);
        status = ws != NULL ? open_changed(&place, &c, &err) : ZC_ERR_MEMORY;
        status = status == ZC_OK ? check_lengths(&c, ndim, shape, &err) : status;
        status = status == ZC_OK ? prepare(&c, shape, &err) : status;
        status = status == ZC_OK ? resize(&c, ws, &err) : status;
        zc_unlock_documents(&lock);
    }
    close_changed(&c);
    zc_pool_release(ws);
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}

/* ---- appending ---------------------------------------------------------------------------------- */

typedef struct addition {
    const char *type;
    int axis, ndim, threads, flags;
    const int64_t *count, *strides;
    const void *memory;
    size_t nbytes;
} addition;

/* Where the new elements begin, and the shape that they make. */
static zc_status place_addition(const changed *c, const addition *a, int64_t *start, int64_t *shape, zc_error *err)
{
    const zc_status status = check_lengths(c, a->ndim, a->count, err);

    if (status != ZC_OK) {
        return status;
    }
    if (a->axis < 0 || a->axis >= a->ndim) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "the array has no dimension %d", a->axis);
    }
    for (int d = 0; d < a->ndim; d++) {
        start[d] = d == a->axis ? c->was[d] : 0;
        if (a->count[d] > INT64_MAX - start[d]) {
            return zc_fail(err, ZC_ERR_OVERFLOW, "dimension %d: the array would be too long", d);
        }
        shape[d] = start[d] + a->count[d];
        if (d != a->axis && a->count[d] != c->was[d]) {
            return zc_fail(err, ZC_ERR_ARGUMENT, "dimension %d: the array has a length of %lld, what is appended of %lld", d,
                           (long long)c->was[d], (long long)a->count[d]);
        }
    }
    return ZC_OK;
}

/* Remove what has been stored for an addition that failed; what went wrong first stays the failure. */
static void take_back(const changed *c, bool document)
{
    const zc_place *const array = c->array->array->place;
    zc_watch *const watch = zc_pool_watch(NULL);     /* it may be that which was cancelled */
    zc_error ignored;

    zc_error_clear(&ignored);
    if (!document || zc_put(c->place, document_name(c), &c->found.own, false, &ignored) == ZC_OK) {
        remove_added(c, &ignored);
        zc_shape_note(array, c->ndim, c->was, false);
    }
    zc_pool_watch(watch);
}

/* Under the lock of the documents.  *written: the failure, if it is one of writing. */
static zc_status append(changed *c, const addition *a, const int64_t *start, zarrcore_error *written, zc_error *err)
{
    const zc_place *const array = c->array->array->place;
    zc_writing writing = {0};

    zc_writing_begin(array, &writing);
    zc_shape_note(array, c->ndim, c->shape, false);      /* from now on others patch the chunks at the end */
    zc_status status = (zc_status)zarrcore_write_as(c->grown, a->type, a->ndim, start, NULL, a->count, a->memory, a->nbytes, a->strides,
                                                    a->threads, a->flags, written);
    const bool stored = status == ZC_OK;
    status = stored ? zc_put(c->place, document_name(c), &c->next.own, false, err) : status;
    if (status != ZC_OK) {
        take_back(c, stored);
    } else {
        status = zc_follow(c->place, document_name(c), &c->next.own, err);
    }
    zc_writing_end(&writing);
    return status;
}

int zarrcore_append(const zarrcore_store *store, const char *path, int axis, const char *type, int ndim, const int64_t *count,
                    const void *memory, size_t nbytes, const int64_t *strides, int threads, int flags, zarrcore_error *error)
{
    const addition a = {type, axis, ndim, threads, flags, count, strides, memory, nbytes};
    zarrcore_error written = {.struct_size = sizeof written};
    int64_t start[ZC_MAX_DIMS], shape[ZC_MAX_DIMS];
    zc_document_lock lock;
    changed c = {0};
    zc_where place;
    zc_error err;

    zc_error_clear(&err);
    zc_status status = zc_begin_change(store, path, &place, &lock, &err);
    if (status == ZC_OK) {
        status = open_changed(&place, &c, &err);
        status = status == ZC_OK ? place_addition(&c, &a, start, shape, &err) : status;
        status = status == ZC_OK ? prepare(&c, shape, &err) : status;
        status = status == ZC_OK ? append(&c, &a, start, &written, &err) : status;
        zc_unlock_documents(&lock);
    }
    close_changed(&c);
    zc_where_free(&place);
    if (written.status != 0) {
        return zc_report_record(error, &written);
    }
    return zc_report_status(error, &err, status);
}
