/* SPDX-License-Identifier: MIT
 *
 * Finding nodes: which documents are at a place, and what they make of it.
 */
#include <stdlib.h>
#include <string.h>

#include "document/tree.h"

const char *zc_deciding_name(int zarr_format, int kind)
{
    return zarr_format == 3 ? ZC_ZARR_JSON : kind == ZARRCORE_NODE_ARRAY ? ZC_ZARRAY : ZC_ZGROUP;
}

const char *zc_kind_name(int kind)
{
    return kind == ZARRCORE_NODE_ARRAY ? "array" : "group";
}

void zc_found_free(zc_found *found)
{
    zc_text_free(&found->own);
    zc_text_free(&found->attributes);
}

/* Is a document of format 3 that of a group? */
static zc_status kind_of(const zc_text *text, int *kind, zc_error *err)
{
    zc_json json;
    zc_status status = zc_json_open(&json, ZC_ZARR_JSON, text->data, text->n, true, err);

    if (status == ZC_OK) {
        const zc_node root = zc_json_root(&json);
        const zc_node type = zc_node_member(&root, "node_type");
        zc_node_object(&root);
        *kind = ZC_CHOICE(&type, "array", "group") == 0 ? ZARRCORE_NODE_ARRAY : ZARRCORE_NODE_GROUP;
        status = err->status;
        zc_json_close(&json);
    }
    return status;
}

/* A document that may be missing: then nothing is there. */
static zc_status get_if_there(const zc_where *place, const char *name, zc_text *out, zc_error *err)
{
    return zc_or_absent(zc_get(place, name, out, err), err);
}

static zc_status get_own(const zc_where *place, const char *name, zc_found *out, zc_error *err)
{
    return zc_or_absent(zc_get_marked(place, name, &out->own, &out->mark, err), err);
}

static zc_status find_v2(const zc_where *place, zc_found *out, zc_error *err)
{
    out->zarr_format = 2;
    out->kind = ZARRCORE_NODE_ARRAY;
    zc_status status = get_own(place, ZC_ZARRAY, out, err);
    if (status == ZC_OK && out->own.data == NULL) {
        out->kind = ZARRCORE_NODE_GROUP;
        status = get_if_there(place, ZC_ZGROUP, &out->own, err);
    }
    return status == ZC_OK && out->own.data != NULL ? get_if_there(place, ZC_ZATTRS, &out->attributes, err) : status;
}

zc_status zc_find_node(const zc_where *place, int zarr_format, zc_found *out, zc_error *err)
{
    zc_status status = ZC_OK;

    *out = (zc_found){.zarr_format = 3};
    if (zarr_format != 2) {
        status = get_own(place, ZC_ZARR_JSON, out, err);
        if (status == ZC_OK && out->own.data != NULL) {
            return kind_of(&out->own, &out->kind, err);
        }
    }
    if (status == ZC_OK && zarr_format != 3) {
        status = find_v2(place, out, err);
    }
    if (status == ZC_OK && out->own.data == NULL) {
        status = zc_fail(err, ZC_ERR_MISSING, "%.200s: no array or group is there", place->n > 0 ? place->path : "the root");
    }
    return status;
}

/* ---- groups ------------------------------------------------------------------------------------- */

zc_status zc_check_group(const char *name, const zc_text *text, int zarr_format, zc_error *err)
{
    static const char *const members[] = {"zarr_format", "node_type", "attributes", "consolidated_metadata", NULL};
    zc_json json;
    zc_status status = zc_json_open(&json, name, text->data, text->n, true, err);

    if (status != ZC_OK) {
        return status;
    }
    const zc_node root = zc_json_root(&json);
    const zc_node format = zc_node_member(&root, "zarr_format");
    const zc_node attributes = zc_node_given(&root, "attributes");
    zc_node_object(&root);
    zc_node_int(&format, zarr_format, zarr_format);
    if (attributes.value != NULL) {
        zc_node_object(&attributes);
    }
    zc_node_members(&root, members, zarr_format == 3 ? ZC_OTHERS_OPTIONAL : ZC_OTHERS_ALLOWED);
    status = err->status;
    zc_json_close(&json);
    return status;
}

/* Is there a node of format 2 directly below? */
static zc_status implies(const zc_where *place, const zc_names *names, bool *found, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t i = 0; i < names->n && status == ZC_OK && !*found; i++) {
        zc_where below = {0};
        zc_text array = {NULL, 0}, group = {NULL, 0};
        if (names->at[i].is_below) {
            status = zc_where_below(place, names->at[i].text, &below, err);
            status = status == ZC_OK ? get_if_there(&below, ZC_ZARRAY, &array, err) : status;
            status = status == ZC_OK && array.data == NULL ? get_if_there(&below, ZC_ZGROUP, &group, err) : status;
            *found = array.data != NULL || group.data != NULL;
        }
        zc_text_free(&array);
        zc_text_free(&group);
        zc_where_free(&below);
    }
    return status;
}

static zc_status implied_group(const zc_where *place, zc_found *out, zc_error *err)
{
    zc_names names = {0};
    bool found = false;
    zc_status status = place->store->shared->ops->list(place->store, place->path, &names, err);

    *out = (zc_found){.zarr_format = 2, .kind = ZARRCORE_NODE_GROUP};
    if (status == ZC_ERR_UNSUPPORTED) {      /* then it has to be there */
        zc_error_clear(err);
        status = ZC_OK;
    }
    status = status == ZC_OK ? implies(place, &names, &found, err) : status;
    zc_names_free(&names);
    if (status == ZC_OK && !found) {
        return zc_fail(err, ZC_ERR_MISSING, "%.200s: no array or group is there", place->n > 0 ? place->path : "the root");
    }
    return status == ZC_OK ? get_if_there(place, ZC_ZATTRS, &out->attributes, err) : status;
}

zc_status zc_find_or_imply(const zc_where *place, int zarr_format, zc_found *out, zc_error *err)
{
    const zc_status status = zc_find_node(place, zarr_format, out, err);

    if (status != ZC_ERR_MISSING || zarr_format == 3) {
        return status;
    }
    zc_found_free(out);
    zc_error_clear(err);
    return implied_group(place, out, err);
}

/* ---- documents as they are handed out ----------------------------------------------------------- */

zc_status zc_found_text(const zc_found *found, zc_text *out, zc_error *err)
{
    static const char implied[] = "{\"zarr_format\": 2}";
    const bool has_own = found->own.data != NULL;
    zc_edit edit;

    *out = (zc_text){NULL, 0};
    zc_status status = zc_edit_open(&edit, zc_deciding_name(found->zarr_format, found->kind), has_own ? found->own.data : implied,
                                    has_own ? found->own.n : sizeof implied - 1, ZC_FROM_STORE, err);
    if (status == ZC_OK && found->zarr_format == 2) {
        const bool any = found->attributes.data != NULL;
        edit.name = ZC_ZATTRS;
        status = zc_edit_put(&edit, zc_edit_root(&edit), "attributes", any ? found->attributes.data : "{}",
                             any ? found->attributes.n : 2, ZC_FROM_STORE);
        if (status == ZC_OK && !zc_edit_is_object(zc_edit_member(zc_edit_root(&edit), "attributes"))) {
            status = zc_fail(err, ZC_ERR_METADATA, "%s: expected an object", ZC_ZATTRS);
        }
    }
    status = status == ZC_OK ? zc_edit_text(&edit, zc_edit_root(&edit), out) : status;
    zc_edit_close(&edit);
    return status;
}

void zarrcore_free(void *text)
{
    free(text);
}

int zc_report_text(const zarrcore_store *store, const char *path, zc_text_of *text_of, const char *name, char **out,
                   zarrcore_error *error)
{
    zc_found found = {0};
    zc_where place;
    zc_text text = {NULL, 0};
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    zc_error_clear(&err);
    zc_status status = zc_where_make(store, path, &place, &err);
    status = status == ZC_OK ? zc_find_node(&place, 0, &found, &err) : status;
    status = status == ZC_OK ? text_of(&found, name, &text, &err) : status;
    *out = text.data;
    zc_found_free(&found);
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}

static zc_status document_of(const zc_found *found, const char *name, zc_text *out, zc_error *err)
{
    (void)name;
    return zc_found_text(found, out, err);
}

int zarrcore_get_document(const zarrcore_store *store, const char *path, char **out, zarrcore_error *error)
{
    return zc_report_text(store, path, document_of, NULL, out, error);
}

/* ---- groups as stores --------------------------------------------------------------------------- */

static zc_status open_group(const zarrcore_store *store, const char *path, zarrcore_store **out, zc_error *err)
{
    zc_found found = {0};
    zc_where place;
    zc_status status = zc_where_make(store, path, &place, err);

    status = status == ZC_OK ? zc_find_or_imply(&place, 0, &found, err) : status;
    if (status == ZC_OK && found.kind != ZARRCORE_NODE_GROUP) {
        status = zc_fail(err, ZC_ERR_ARGUMENT, "%.200s is an array", path[0] != '\0' ? path : "the root");
    }
    if (status == ZC_OK) {
        const char *const name = zc_deciding_name(found.zarr_format, found.kind);
        status = found.own.data != NULL ? zc_check_group(name, &found.own, found.zarr_format, err) : ZC_OK;
    }
    if (status == ZC_OK) {
        *out = zc_store_below(store, place.path);
        status = *out != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    zc_found_free(&found);
    zc_where_free(&place);
    return status;
}

int zarrcore_open_group(const zarrcore_store *store, const char *path, zarrcore_store **out, zarrcore_error *error)
{
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    zc_error_clear(&err);
    return zc_report_status(error, &err, open_group(store, path, out, &err));
}
