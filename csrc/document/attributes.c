/* SPDX-License-Identifier: MIT
 *
 * Attributes of nodes, as JSON text.
 */
#include <string.h>

#include "document/tree.h"
#include "kernels/utf8.h"

static zc_status no_attribute(const char *name, zc_error *err)
{
    return zc_fail(err, ZC_ERR_MISSING, "there is no attribute \"%.200s\"", name);
}

/* ---- reading ------------------------------------------------------------------------------------ */

static zc_status read_attributes(const zc_found *found, const char *name, zc_text *out, zc_error *err)
{
    zc_part *attributes = NULL;
    zc_edit edit = {0};
    zc_text text;
    zc_status status = zc_found_text(found, &text, err);

    status = status == ZC_OK ? zc_edit_open(&edit, ZC_ZARR_JSON, text.data, text.n, ZC_FROM_STORE, err) : status;
    status = status == ZC_OK ? zc_edit_object(&edit, zc_edit_root(&edit), "attributes", &attributes) : status;
    zc_part *const part = status == ZC_OK && name != NULL ? zc_edit_member(attributes, name) : attributes;
    if (status == ZC_OK) {
        status = part != NULL ? zc_edit_text(&edit, part, out) : no_attribute(name, err);
    }
    zc_edit_close(&edit);
    zc_text_free(&text);
    return status;
}

int zarrcore_get_attribute(const zarrcore_store *store, const char *path, const char *name, char **out, zarrcore_error *error)
{
    return zc_report_text(store, path, read_attributes, name, out, error);
}

/* ---- changing ----------------------------------------------------------------------------------- */

/* One attribute, or (name NULL) all of them; text NULL: it is removed. */
typedef struct change {
    const char *name, *text;
} change;

static zc_status change_all(zc_edit *edit, zc_part *holder, const change *c, zc_error *err)
{
    const char *const text = c->text != NULL ? c->text : "{}";
    const zc_status status = holder != NULL ? zc_edit_put(edit, holder, "attributes", text, strlen(text), ZC_FROM_CALLER)
                                            : zc_edit_replace(edit, text, strlen(text), ZC_FROM_CALLER);
    const zc_part *const now = holder != NULL ? zc_edit_member(holder, "attributes") : zc_edit_root(edit);

    return status != ZC_OK || zc_edit_is_object(now) ? status
                                                      : zc_fail(err, ZC_ERR_METADATA, "attributes: expected a JSON object");
}

/* Change the document: of format 3 it contains the attributes, .zattrs is them. */
static zc_status apply(zc_edit *edit, bool is_v3, const change *c, zc_error *err)
{
    zc_part *const root = zc_edit_root(edit);
    zc_part *attributes = root;

    edit->name = "attributes";              /* what follows is the caller's text */
    if (c->name == NULL) {
        return change_all(edit, is_v3 ? root : NULL, c, err);
    }
    const zc_status status = is_v3 ? zc_edit_object(edit, root, "attributes", &attributes) : ZC_OK;
    if (status != ZC_OK) {
        return status;
    }
    if (c->text == NULL) {
        return zc_edit_remove(attributes, c->name) ? ZC_OK : no_attribute(c->name, err);
    }
    return zc_edit_put(edit, attributes, c->name, c->text, strlen(c->text), ZC_FROM_CALLER);
}

/* Under the lock of the node's documents. */
static zc_status change_stored(const zc_where *place, const change *c, zc_error *err)
{
    zc_found found;
    zc_edit edit = {0};
    zc_text changed = {NULL, 0};
    zc_status status = zc_find_node(place, 0, &found, err);
    const bool is_v3 = found.zarr_format == 3;
    const char *const name = is_v3 ? ZC_ZARR_JSON : ZC_ZATTRS;
    const zc_text *const text = is_v3 ? &found.own : &found.attributes;

    if (status == ZC_OK) {
        status = zc_edit_open(&edit, name, text->data != NULL ? text->data : "{}", text->data != NULL ? text->n : 2,
                              ZC_FROM_STORE, err);
    }
    status = status == ZC_OK ? apply(&edit, is_v3, c, err) : status;
    status = status == ZC_OK ? zc_edit_text(&edit, zc_edit_root(&edit), &changed) : status;
    status = status == ZC_OK ? zc_put(place, name, &changed, false, err) : status;
    status = status == ZC_OK ? zc_follow(place, name, &changed, err) : status;
    zc_edit_close(&edit);
    zc_text_free(&changed);
    zc_found_free(&found);
    return status;
}

static int change_attributes(const zarrcore_store *store, const char *path, const change *c, zarrcore_error *error)
{
    zc_document_lock lock;
    zc_where place;
    zc_error err;

    zc_error_clear(&err);
    zc_status status = zc_begin_change(store, path, &place, &lock, &err);
    if (status == ZC_OK) {
        status = change_stored(&place, c, &err);
        zc_unlock_documents(&lock);
    }
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}

int zarrcore_set_attribute(const zarrcore_store *store, const char *path, const char *name, const char *text,
                           zarrcore_error *error)
{
    const change c = {name, text};
    const size_t n = name != NULL ? strlen(name) : 0;

    if (zc_utf8_valid((const uint8_t *)name, n) != n) {
        return zc_report_argument(error, "name is not in UTF-8");
    }
    return text != NULL ? change_attributes(store, path, &c, error) : zc_report_argument(error, "text is NULL");
}

int zarrcore_delete_attribute(const zarrcore_store *store, const char *path, const char *name, zarrcore_error *error)
{
    const change c = {name, NULL};

    return name != NULL ? change_attributes(store, path, &c, error) : zc_report_argument(error, "name is NULL");
}
