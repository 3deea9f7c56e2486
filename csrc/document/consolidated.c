/* SPDX-License-Identifier: MIT
 *
 * Consolidated metadata follow the changes of nodes below their groups: `consolidated_metadata` in zarr.json, and .zmetadata in format
 * 2.  Members of other programs stay as they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "document/tree.h"

/* A change of the documents at a place. */
typedef struct change {
    const zc_where *place;
    const char *name;        /* of the document that was stored */
    const zc_text *text;     /* NULL: everything was removed */
} change;

/* The members of the copy: by path, or in format 2 by key; NULL if the document has none of a known form. */
static zc_part *nodes_in(const zc_edit *edit, bool is_v3)
{
    zc_part *const root = zc_edit_root(edit);
    zc_part *const holder = is_v3 ? zc_edit_member(root, "consolidated_metadata") : root;

    if (is_v3 && !zc_edit_is_string(zc_edit_member(holder, "kind"), "inline")) {
        return NULL;
    }
    zc_part *const nodes = zc_edit_member(holder, "metadata");
    return zc_edit_is_object(nodes) ? nodes : NULL;
}

static zc_status put_node(zc_edit *edit, zc_part *nodes, const change *c, const char *path, bool is_v3, zc_error *err)
{
    char key[ZC_NAME_ROOM];
    zc_where place = {0};
    const char *at = path;
    zc_status status = ZC_OK;

    if (!is_v3 && path[0] == '\0') {         /* the attributes of the group itself */
        snprintf(key, sizeof key, "%s", c->name);
        at = key;
    } else if (!is_v3) {
        status = zc_where_above(c->place, c->place->n, &place, err);
        at = status == ZC_OK ? zc_key_at(&place, c->name) + (path - c->place->path) : NULL;
    }
    status = status == ZC_OK ? zc_edit_put(edit, nodes, at, c->text->data, c->text->n, ZC_FROM_STORE) : status;
    if (status == ZC_OK && is_v3) {
        zc_edit_remove(zc_edit_member(nodes, path), "consolidated_metadata");
    }
    zc_where_free(&place);
    return status;
}

/* Under the lock of the document. */
static zc_status apply(const zc_where *group, const char *name, const change *c, zc_error *err)
{
    const bool is_v3 = strcmp(name, ZC_ZARR_JSON) == 0;
    const char *const path = c->place->path + group->n + (group->n > 0 && c->place->n > group->n);
    zc_text text, changed = {NULL, 0};
    zc_edit edit = {0};
    bool differs = false;
    zc_status status = zc_get(group, name, &text, err);

    if (status == ZC_OK) {
        status = zc_edit_open(&edit, name, text.data, text.n, ZC_FROM_STORE, err);
    }
    zc_part *const nodes = status == ZC_OK ? nodes_in(&edit, is_v3) : NULL;
    if (nodes != NULL && c->text != NULL) {
        status = put_node(&edit, nodes, c, path, is_v3, err);
        differs = status == ZC_OK;
    } else if (nodes != NULL) {
        differs = zc_edit_remove_below(nodes, path) > 0;
    }
    if (differs) {
        status = zc_edit_text(&edit, zc_edit_root(&edit), &changed);
        status = status == ZC_OK ? zc_put(group, name, &changed, false, err) : status;
    }
    zc_edit_close(&edit);
    zc_text_free(&text);
    zc_text_free(&changed);
    return status;
}

/* Most groups have no copy, which is found out without their lock. */
static zc_status has_copy(const zc_where *group, const char *name, bool *out, zc_error *err)
{
    zc_text text;
    const zc_status status = zc_get(group, name, &text, err);

    *out = status == ZC_OK && (strcmp(name, ZC_ZARR_JSON) != 0 || strstr(text.data, "\"consolidated_metadata\"") != NULL);
    zc_text_free(&text);
    return zc_or_absent(status, err);
}

static zc_status follow_in(const zc_where *group, const char *name, const change *c, zc_error *err)
{
    zc_document_lock lock;
    bool found;
    zc_status status = has_copy(group, name, &found, err);

    if (status != ZC_OK || !found) {
        return status;
    }
    status = zc_lock_documents(group, name, &lock, err);
    if (status == ZC_OK) {
        status = apply(group, name, c, err);
        zc_unlock_documents(&lock);
    }
    return zc_or_absent(status, err);        /* the group may have gone meanwhile */
}

static zc_status follow_at(size_t n, const change *c, zc_error *err)
{
    const bool is_v3 = strcmp(c->name, ZC_ZARR_JSON) == 0;
    zc_where group;
    zc_status status = zc_where_above(c->place, n, &group, err);

    if (status == ZC_OK && (is_v3 || c->text == NULL)) {
        status = follow_in(&group, ZC_ZARR_JSON, c, err);
    }
    if (status == ZC_OK && (!is_v3 || c->text == NULL)) {
        status = follow_in(&group, ZC_ZMETADATA, c, err);
    }
    zc_where_free(&group);
    return status;
}

zc_status zc_follow(const zc_where *place, const char *name, const zc_text *text, zc_error *err)
{
    const change c = {place, name, text};
    const bool own = strcmp(name, ZC_ZGROUP) == 0 || strcmp(name, ZC_ZATTRS) == 0;
    zc_status status = text != NULL && own ? follow_at(place->n, &c, err) : ZC_OK;

    for (size_t n = place->n; n > 0 && status == ZC_OK;) {
        n = zc_length_above(place, n);
        status = follow_at(n, &c, err);
    }
    if (status != ZC_OK) {
        char why[sizeof err->message];
        memcpy(why, err->message, sizeof why);
        zc_fail(err, status, "the change is stored, but consolidated metadata above it could not be updated: %.200s", why);
    }
    return status;
}

/* ---- all that is below --------------------------------------------------------------------------- */

/* Places that are still to be looked at: no recursion, as a path may have many groups. */
typedef struct places {
    zc_where *at;
    size_t n, room;
} places;

static zc_status push(places *stack, const zc_where *group, const char *name, zc_error *err)
{
    zc_where *const all = zc_grow(stack->at, stack->n + 1, &stack->room, sizeof *all);
    if (all == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    stack->at = all;
    zc_where *const out = &stack->at[stack->n];
    const zc_status status = name != NULL ? zc_where_below(group, name, out, err) : zc_where_above(group, group->n, out, err);
    stack->n++;                              /* to be freed after a failure, too */
    return status;
}

static zc_status push_below(places *stack, const zc_where *group, zc_error *err)
{
    zc_names names = {0};
    zc_status status = group->store->shared->ops->list(group->store, group->path, &names, err);

    for (size_t i = 0; i < names.n && status == ZC_OK; i++) {
        if (names.at[i].is_below && zc_document_number(names.at[i].text) < 0) {
            status = push(stack, group, names.at[i].text, err);
        }
    }
    zc_names_free(&names);
    return status;
}

/* The node of a format, if there is one; *is_array is set where it is an array. */
static zc_status follow_node(const zc_where *place, int zarr_format, bool *is_array, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_node(place, zarr_format, &found, err);

    if (status == ZC_OK) {
        *is_array = *is_array || found.kind == ZARRCORE_NODE_ARRAY;
        status = zc_follow(place, zc_deciding_name(zarr_format, found.kind), &found.own, err);
        if (status == ZC_OK && found.attributes.data != NULL) {
            status = zc_follow(place, ZC_ZATTRS, &found.attributes, err);
        }
    } else if (status == ZC_ERR_MISSING || status == ZC_ERR_METADATA) {
        zc_error_clear(err);                 /* a document that cannot be read was in no copy */
        status = ZC_OK;
    }
    zc_found_free(&found);
    return status;
}

static zc_status check_depth(const zc_where *here, const zc_where *top, zc_error *err)
{
    int levels = 0;

    for (const char *at = here->path + top->n; *at != '\0'; at++) {
        levels += *at == '/';
    }
    return levels <= ZC_DEEPEST ? ZC_OK : zc_fail(err, ZC_ERR_CALLBACK, "nodes lie more than %d levels below each other", ZC_DEEPEST);
}

zc_status zc_follow_tree(const zc_where *place, zc_error *err)
{
    places stack = {0};
    zc_status status = push(&stack, place, NULL, err);

    while (stack.n > 0) {
        zc_where here = stack.at[--stack.n];
        bool is_array = false;
        status = status == ZC_OK ? check_depth(&here, place, err) : status;
        status = status == ZC_OK ? follow_node(&here, 3, &is_array, err) : status;
        status = status == ZC_OK ? follow_node(&here, 2, &is_array, err) : status;
        if (status == ZC_OK && !is_array) {
            status = push_below(&stack, &here, err);
        }
        zc_where_free(&here);
    }
    free(stack.at);
    return status;
}
