/* SPDX-License-Identifier: MIT
 *
 * Creating and removing nodes.  One document decides that there is a node, and it is stored where there is none: of several
 * creators one wins.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#include <windows.h>
#endif

#include "document/tree.h"

/* ---- documents ---------------------------------------------------------------------------------- */

/* Take the attributes out of a document of format 2, which has them in another one. */
static zc_status take_attributes(zc_edit *edit, zc_found *out)
{
    zc_part *attributes;
    zc_status status = zc_edit_object(edit, zc_edit_root(edit), "attributes", &attributes);

    if (status == ZC_OK) {
        status = zc_edit_text(edit, attributes, &out->attributes);
        zc_edit_remove(zc_edit_root(edit), "attributes");
    }
    return status;
}

/* Bring a caller's document into the form that is stored; whether it is valid is looked at afterwards. */
static zc_status prepare(const char *document, int kind, zc_found *out, zc_error *err)
{
    zc_json json;
    zc_edit edit;
    zc_status status = zc_edit_open(&edit, "document", document, strlen(document), ZC_FROM_CALLER, err);

    *out = (zc_found){.kind = kind};
    if (status == ZC_OK) {
        status = zc_json_open(&json, "document", document, strlen(document), false, err);
    }
    if (status == ZC_OK) {
        const zc_node root = zc_json_root(&json);
        const zc_node format = zc_node_member(&root, "zarr_format");
        const zc_node type = zc_node_member(&root, "node_type");
        out->zarr_format = (int)zc_node_int(&format, 2, 3);
        if (zc_node_ok(&root) && out->zarr_format == 3 &&
            ZC_CHOICE(&type, "array", "group") != (kind == ZARRCORE_NODE_GROUP)) {
            zc_node_fail(&type, "expected \"%s\"", zc_kind_name(kind));
        }
        status = err->status;
        zc_json_close(&json);
    }
    if (status == ZC_OK && out->zarr_format == 2) {
        status = take_attributes(&edit, out);
    }
    status = status == ZC_OK ? zc_edit_text(&edit, zc_edit_root(&edit), &out->own) : status;
    zc_edit_close(&edit);
    return status;
}

/* ---- storing ------------------------------------------------------------------------------------ */

static zc_status remove_document(const zc_where *place, const char *name, zc_error *err)
{
    return place->store->shared->ops->remove(place->store, zc_key_at(place, name), err);
}

/* Half a node would read as a whole one.  What went wrong first is the failure. */
static void withdraw(const zc_where *place, const char *name)
{
    zc_error ignored;

    zc_error_clear(&ignored);
    remove_document(place, name, &ignored);
}

static zc_status refuse_existing(const zc_where *place, int *kind, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_node(place, 0, &found, err);

    if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        status = ZC_OK;
    } else if (status == ZC_OK) {
        *kind = found.kind;
        status = zc_fail(err, ZC_ERR_EXISTS, "%.200s: %s is there already", place->n > 0 ? place->path : "the root",
                         found.kind == ZARRCORE_NODE_ARRAY ? "an array" : "a group");
    }
    zc_found_free(&found);
    return status;
}

static zc_status is_there(const zc_where *place, const char *name, bool *out, zc_error *err)
{
    zc_text text;
    const zc_status status = zc_get(place, name, &text, err);

    *out = status == ZC_OK;
    zc_text_free(&text);
    return zc_or_absent(status, err);
}

static void wait_ms(int ms)
{
#ifdef _WIN32
    Sleep((unsigned)ms);
#else
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
#endif
}

/*
 * In format 2, array and group have different documents, so a creator of each may have stored its own.  Whoever stored the last one
 * sees the other, so at least one of them withdraws; where both do, the array is tried again, and the group fails.
 */
static zc_status yield_to_other(const zc_where *place, int kind, bool *again, zc_error *err)
{
    const int other = kind == ZARRCORE_NODE_ARRAY ? ZARRCORE_NODE_GROUP : ZARRCORE_NODE_ARRAY;
    const char *const own_name = zc_deciding_name(2, kind), *const other_name = zc_deciding_name(2, other);
    bool found = false;
    zc_status status = is_there(place, other_name, &found, err);

    *again = false;
    if (status != ZC_OK) {
        withdraw(place, own_name);
        return status;
    }
    if (!found) {
        return ZC_OK;
    }
    status = remove_document(place, own_name, err);
    if (status == ZC_OK && kind == ZARRCORE_NODE_GROUP) {
        return zc_fail(err, ZC_ERR_EXISTS, "%.200s: an array is there already", place->n > 0 ? place->path : "the root");
    }
    for (int delay = 1; status == ZC_OK && found && delay <= 100; delay *= 10) {
        wait_ms(delay);                  /* for the creator of the group to withdraw it, if it is not finished */
        status = is_there(place, other_name, &found, err);
    }
    *again = status == ZC_OK;
    return status;
}

static zc_status store_deciding(const zc_where *place, const zc_found *node, int *there, zc_error *err)
{
    const char *const name = zc_deciding_name(node->zarr_format, node->kind);

    for (int attempts = 3; attempts > 0; attempts--) {
        bool again = false;
        zc_status status = zc_put(place, name, &node->own, true, err);
        const bool is_stored = status == ZC_OK;
        if (is_stored && node->zarr_format == 2) {
            status = yield_to_other(place, node->kind, &again, err);
        }
        if (!again && (status != ZC_ERR_EXISTS || is_stored)) {
            return status;
        }
        zc_error_clear(err);
        status = refuse_existing(place, there, err);     /* what came first may be gone again */
        if (status != ZC_OK) {
            return status;
        }
    }
    return zc_fail(err, ZC_ERR_IO, "%.200s: %s is neither there nor can it be created", place->path, name);
}

/* Store the documents of a new node, if nobody was faster. *there: the kind of node that somebody else has made. */
static zc_status store_new(const zc_where *place, const zc_found *node, int *there, zc_error *err)
{
    const char *const name = zc_deciding_name(node->zarr_format, node->kind);
    zc_status status = store_deciding(place, node, there, err);

    if (status != ZC_OK || node->zarr_format == 3) {
        return status == ZC_OK ? zc_follow(place, name, &node->own, err) : status;
    }
    status = zc_put(place, ZC_ZATTRS, &node->attributes, false, err);       /* one that is there is left over from another node */
    if (status != ZC_OK) {
        withdraw(place, name);
        return status;
    }
    status = zc_follow(place, name, &node->own, err);
    return status == ZC_OK ? zc_follow(place, ZC_ZATTRS, &node->attributes, err) : status;
}

/* Is there a group above, of the same format?  An array is an error. */
static zc_status look_above(const zc_where *above, int zarr_format, bool *missing, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_node(above, zarr_format, &found, err);

    *missing = status == ZC_ERR_MISSING;
    if (*missing) {
        zc_error_clear(err);
        status = ZC_OK;
    } else if (status == ZC_OK && found.kind == ZARRCORE_NODE_ARRAY) {
        status = zc_fail(err, ZC_ERR_EXISTS, "%.200s is an array; no node can be below it", above->n > 0 ? above->path : "the root");
    }
    zc_found_free(&found);
    return status;
}

/* Look at one of the groups above a place, whose path has n bytes, and make it (store) if it is missing. */
static zc_status visit(const zc_where *place, size_t n, const zc_found *group, bool store, zc_error *err)
{
    bool missing = false;
    zc_where above;
    int there = 0;
    zc_status status = zc_where_above(place, n, &above, err);

    status = status == ZC_OK ? look_above(&above, group->zarr_format, &missing, err) : status;
    if (status == ZC_OK && missing && store) {
        status = store_new(&above, group, &there, err);
        if (status == ZC_ERR_EXISTS && there == ZARRCORE_NODE_GROUP) {       /* somebody else has just made it */
            zc_error_clear(err);
            status = ZC_OK;
        }
    }
    zc_where_free(&above);
    return status;
}

/* All of them, from the root down. */
static zc_status visit_above(const zc_where *place, const zc_found *group, bool store, zc_error *err)
{
    zc_status status = place->n > 0 ? visit(place, 0, group, store, err) : ZC_OK;

    for (size_t n = 1; n < place->n && status == ZC_OK; n++) {
        status = place->path[n] == '/' ? visit(place, n, group, store, err) : ZC_OK;
    }
    return status;
}

static zc_status make_parents(const zc_where *place, int zarr_format, bool store, zc_error *err)
{
    static char v3[] = "{\n  \"attributes\": {},\n  \"zarr_format\": 3,\n  \"node_type\": \"group\"\n}";
    static char v2[] = "{\n  \"zarr_format\": 2\n}", none[] = "{}";
    const zc_found group = zarr_format == 3
        ? (zc_found){.zarr_format = 3, .kind = ZARRCORE_NODE_GROUP, .own = {v3, sizeof v3 - 1}}
        : (zc_found){.zarr_format = 2, .kind = ZARRCORE_NODE_GROUP, .own = {v2, sizeof v2 - 1}, .attributes = {none, 2}};

    return visit_above(place, &group, store, err);
}

/* array: a handle of it; NULL for a group. */
static zc_status store_node(const zc_where *place, const zc_found *node, const zarrcore_array *array, zc_error *err)
{
    int there = 0;
    zc_status status = zc_check_writable(place->store, err);

    status = status == ZC_OK ? make_parents(place, node->zarr_format, false, err) : status;
    status = status == ZC_OK ? refuse_existing(place, &there, err) : status;
    status = status == ZC_OK && array != NULL ? zc_refuse_left(array->array, place, err) : status;
    status = status == ZC_OK ? make_parents(place, node->zarr_format, true, err) : status;
    return status == ZC_OK ? store_new(place, node, &there, err) : status;
}

/* ---- the public functions ----------------------------------------------------------------------- */

/* A handle is made first: what no handle can be made of is not stored. */
static zc_status create_array(const zc_where *place, const zc_found *node, zarrcore_array **out, zc_error *err)
{
    zarrcore_array *array = NULL;
    zc_text text;
    zc_status status = zc_found_text(node, &text, err);

    status = status == ZC_OK ? zc_open_document(place, &text, node->zarr_format, NULL, false, &array, err) : status;
    zc_text_free(&text);
    status = status == ZC_OK ? store_node(place, node, array, err) : status;
    if (status == ZC_OK) {
        const zc_array *const made = array->array;
        int64_t shape[ZC_MAX_DIMS];
        for (int d = 0; d < made->ndim; d++) {
            shape[d] = made->grid[d].length;
        }
        zc_shape_note(made->place, made->ndim, shape, true);
    }
    if (status == ZC_OK && out != NULL) {
        *out = array;
    } else {
        zarrcore_release(array);
    }
    return status;
}

static int create(const zarrcore_store *store, const char *path, const char *document, int kind, zarrcore_array **out,
                  zarrcore_error *error)
{
    zc_found node = {0};
    zc_where place;
    zc_error err;

    zc_error_clear(&err);
    zc_status status = zc_where_make(store, path, &place, &err);
    status = status == ZC_OK ? zc_check_writable(store, &err) : status;
    status = status == ZC_OK ? prepare(document, kind, &node, &err) : status;
    if (status == ZC_OK && kind == ZARRCORE_NODE_ARRAY) {
        status = create_array(&place, &node, out, &err);
    } else if (status == ZC_OK) {
        status = zc_check_group("document", &node.own, node.zarr_format, &err);
        status = status == ZC_OK ? store_node(&place, &node, NULL, &err) : status;
    }
    zc_found_free(&node);
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}

int zarrcore_create_array(const zarrcore_store *store, const char *path, const char *document, zarrcore_array **out,
                          zarrcore_error *error)
{
    if (out != NULL) {
        *out = NULL;
    }
    if (document == NULL) {
        return zc_report_argument(error, "document is NULL");
    }
    return create(store, path, document, ZARRCORE_NODE_ARRAY, out, error);
}

int zarrcore_create_group(const zarrcore_store *store, const char *path, const char *document, zarrcore_error *error)
{
    static const char standard[] = "{\"attributes\": {}, \"zarr_format\": 3, \"node_type\": \"group\"}";

    return create(store, path, document != NULL ? document : standard, ZARRCORE_NODE_GROUP, NULL, error);
}

/* ---- removing ----------------------------------------------------------------------------------- */

static zc_status erase_below(const zc_where *place, const zc_place *where, zc_error *err)
{
    zc_key all;

    zc_key_set(&all, where, "");
    const zc_change change = zc_change_begin(&all);
    const zc_status status = place->store->shared->ops->erase(place->store, place->path, err);
    zc_change_end(change);
    return status;
}

/* Has somebody created a node where one has been removed? */
static zc_status is_new_there(const zc_where *place, bool *out, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_node(place, 0, &found, err);

    *out = status != ZC_ERR_MISSING;
    if (status == ZC_ERR_MISSING || status == ZC_ERR_METADATA) {
        zc_error_clear(err);
        status = ZC_OK;
    }
    zc_found_free(&found);
    return status;
}

/* Some of it could not be removed: what is left of it is shown again by consolidated metadata, as it was before. */
static void restore(const zc_where *place, zc_error *err)
{
    const zc_error failure = *err;

    zc_error_clear(err);
    if (zc_follow_tree(place, err) != ZC_OK) {
        const zc_error second = *err;
        zc_error_clear(err);
        zc_fail(err, failure.status, "%.200s; nor can consolidated metadata above it be restored, make them again: %.200s",
                failure.message, second.message);
        return;
    }
    *err = failure;
}

/*
 * Writes that had begun before the loss was noted may have stored chunks in directories that were removed already, whether they are
 * still under way or have ended by then; the next node here would find them.  So everything is removed once more when they have
 * ended, for those that begin later see that the array is gone.  It is not cancelled for the same reason.
 */
static zc_status erase(const zc_where *place, zc_error *err)
{
    zc_watch *const watch = zc_pool_watch(NULL);
    zc_workspace *const ws = zc_pool_borrow(err);
    zc_place where;
    bool waited = false, is_new = false;
    zc_status status = ws != NULL ? zc_place_at(place, &where, err) : ZC_ERR_MEMORY;

    /* First: consolidated metadata would show an array that a crash has left without some chunks.  It is tried again below. */
    if (status == ZC_OK && zc_follow(place, ZC_ZARR_JSON, NULL, err) != ZC_OK) {
        zc_error_clear(err);
    }
    if (status == ZC_OK) {
        status = erase_below(place, &where, err);
        zc_note_loss();                      /* whatever is left of it */
        if (status != ZC_OK) {
            restore(place, err);
        }
    }
    if (status == ZC_OK) {
        status = zc_wait_for_writes(&where, ws, &waited);
        status = status == ZC_OK ? is_new_there(place, &is_new, err) : status;
        if (status == ZC_OK && (waited || !is_new)) {
            status = erase_below(place, &where, err);
        }
        status = status == ZC_OK ? zc_follow(place, ZC_ZARR_JSON, NULL, err) : status;
    }
    zc_pool_release(ws);
    zc_pool_watch(watch);
    return status;
}

int zarrcore_erase(const zarrcore_store *store, const char *path, zarrcore_error *error)
{
    zc_found found = {0};
    zc_where place;
    zc_error err;

    zc_error_clear(&err);
    zc_status status = zc_where_make(store, path, &place, &err);
    status = status == ZC_OK ? zc_check_writable(store, &err) : status;
    if (status == ZC_OK && place.n == 0) {
        status = zc_fail(&err, ZC_ERR_ARGUMENT, "the root of a store is not removed: remove its directory");
    }
    if (status == ZC_OK) {
        status = zc_find_or_imply(&place, 0, &found, &err);
        if (status == ZC_ERR_METADATA) {     /* there is one, whatever its document says */
            zc_error_clear(&err);
            status = ZC_OK;
        }
    }
    status = status == ZC_OK ? erase(&place, &err) : status;
    zc_found_free(&found);
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}
