/* SPDX-License-Identifier: MIT
 *
 * Lists of nodes: those directly below a group, or all that its consolidated metadata describe.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "document/tree.h"

typedef struct item {
    char *name;
    int kind;
    int zarr_format;
    zc_text text;            /* the whole metadata */
} item;

struct zarrcore_nodes {
    const zarrcore_store *store;     /* retained */
    char *path;              /* of the group, from the store's base */
    size_t n, room;
    item *at;
};

static zc_status no_memory(zc_error *err)
{
    return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

void zarrcore_free_nodes(zarrcore_nodes *nodes)
{
    if (nodes == NULL) {
        return;
    }
    for (size_t i = 0; i < nodes->n; i++) {
        free(nodes->at[i].name);
        zc_text_free(&nodes->at[i].text);
    }
    free(nodes->at);
    free(nodes->path);
    zarrcore_release_store(nodes->store);
    free(nodes);
}

/* Takes over the text. */
static zc_status add(zarrcore_nodes *nodes, const char *name, size_t n, int kind, int zarr_format, zc_text *text, zc_error *err)
{
    item *const all = zc_grow(nodes->at, nodes->n + 1, &nodes->room, sizeof *all);
    if (all == NULL) {
        return no_memory(err);
    }
    nodes->at = all;
    item *const out = &nodes->at[nodes->n];
    *out = (item){.name = malloc(n + 1), .kind = kind, .zarr_format = zarr_format};
    if (out->name == NULL) {
        return no_memory(err);
    }
    memcpy(out->name, name, n);
    out->name[n] = '\0';
    out->text = *text;
    *text = (zc_text){NULL, 0};
    nodes->n++;
    return ZC_OK;
}

/* ---- what is there ------------------------------------------------------------------------------ */

/* Documents that cannot be used keep nobody from seeing the other nodes. */
static bool is_unusable(zc_status status)
{
    return status == ZC_ERR_METADATA;
}

static zc_status add_child(const zc_where *group, const char *name, int zarr_format, zarrcore_nodes *out, zc_error *err)
{
    zc_found found = {0};
    zc_where place;
    zc_text text = {NULL, 0};
    zc_status status = zc_check_cancelled(err);

    if (status != ZC_OK) {
        return status;
    }
    status = zc_where_below(group, name, &place, err);
    status = status == ZC_OK ? zc_find_or_imply(&place, zarr_format, &found, err) : status;
    status = status == ZC_OK ? zc_found_text(&found, &text, err) : status;
    const int kind = status == ZC_OK ? found.kind : ZARRCORE_NODE_UNREADABLE;
    const bool is_node = status == ZC_OK || is_unusable(status);
    if (is_node || status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        status = ZC_OK;
    }
    if (is_node) {
        status = add(out, name, strlen(name), kind, zarr_format, &text, err);
    }
    zc_text_free(&text);
    zc_found_free(&found);
    zc_where_free(&place);
    return status;
}

static zc_status list_directory(const zc_where *group, int zarr_format, zarrcore_nodes *out, zc_error *err)
{
    zc_names names = {0};
    zc_status status = group->store->shared->ops->list(group->store, group->path, &names, err);

    zc_names_sort(&names);
    for (size_t i = 0; i < names.n && status == ZC_OK; i++) {
        if (names.at[i].is_below && zc_document_number(names.at[i].text) < 0) {
            status = add_child(group, names.at[i].text, zarr_format, out, err);
        }
    }
    zc_names_free(&names);
    return status;
}

/* ---- what consolidated metadata describe -------------------------------------------------------- */

/* A member of the copy. */
typedef struct entry {
    zc_node node;
    const char *name;
    char *escaped;           /* the name, where it has zero bytes inside: written as JSON has them.  Else NULL */
} entry;

static int compare_entries(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* A name with a zero byte is spelled out; with that backslash it is the name of no node. */
static zc_status begin_entry(const zc_node *member, entry *out, zc_error *err)
{
    const size_t n = zc_node_name_length(member);

    *out = (entry){.node = *member, .name = member->member};
    if (memchr(member->member, '\0', n) == NULL) {
        return ZC_OK;
    }
    out->escaped = malloc(ZC_SPELLED(n));
    if (out->escaped == NULL) {
        return no_memory(err);
    }
    zc_spell(member->member, n, out->escaped);
    out->name = out->escaped;
    return ZC_OK;
}

/* The metadata of a node have been found, or cannot be used, as its name may be.  Takes over the text. */
static zc_status add_entry(const entry *e, size_t n, int kind, int zarr_format, zc_status status, zc_text *text, zarrcore_nodes *out,
                           zc_error *err)
{
    if (is_unusable(status) || (status == ZC_OK && e->escaped != NULL)) {
        zc_error_clear(err);
        zc_text_free(text);
        kind = ZARRCORE_NODE_UNREADABLE;
        status = ZC_OK;
    }
    return status == ZC_OK ? add(out, e->name, n, kind, zarr_format, text, err) : status;
}

static zc_status add_v3(const entry *e, zarrcore_nodes *out, zc_error *err)
{
    const zc_node type = zc_node_member(&e->node, "node_type");
    zc_text text = {NULL, 0};

    if (e->name[0] == '\0') {
        return ZC_OK;                        /* the group itself */
    }
    zc_node_object(&e->node);
    const int kind = ZC_CHOICE(&type, "array", "group") == 0 ? ZARRCORE_NODE_ARRAY : ZARRCORE_NODE_GROUP;
    zc_status status = err->status;
    status = status == ZC_OK ? zc_node_write(&e->node, &text.data, &text.n) : status;
    status = add_entry(e, strlen(e->name), kind, 3, status, &text, out, err);
    zc_text_free(&text);
    return status;
}

/* In format 2 each document has an entry; attributes are looked up. */
static zc_status add_v2(const entry *all, size_t n, const entry *e, zarrcore_nodes *out, zc_error *err)
{
    const char *const slash = strrchr(e->name, '/');
    const size_t length = slash != NULL ? (size_t)(slash - e->name) : 0;
    const char *const document = slash != NULL ? slash + 1 : e->name;
    const bool is_array = strcmp(document, ZC_ZARRAY) == 0;
    zc_found found = {.zarr_format = 2, .kind = is_array ? ZARRCORE_NODE_ARRAY : ZARRCORE_NODE_GROUP};
    zc_text text = {NULL, 0};

    if (length == 0 || (!is_array && strcmp(document, ZC_ZGROUP) != 0)) {
        return ZC_OK;
    }
    char *const key = malloc(length + ZC_NAME_ROOM);
    if (key == NULL) {
        return no_memory(err);
    }
    memcpy(key, e->name, length + 1);
    memcpy(key + length + 1, ZC_ZATTRS, sizeof ZC_ZATTRS);
    const entry wanted = {.name = key};
    const entry *const attributes = bsearch(&wanted, all, n, sizeof *all, compare_entries);
    free(key);
    zc_status status = zc_node_write(&e->node, &found.own.data, &found.own.n);
    if (status == ZC_OK && attributes != NULL) {
        status = zc_node_write(&attributes->node, &found.attributes.data, &found.attributes.n);
    }
    status = status == ZC_OK ? zc_found_text(&found, &text, err) : status;
    status = add_entry(e, length, found.kind, 2, status, &text, out, err);
    zc_text_free(&text);
    zc_found_free(&found);
    return status;
}

static void free_entries(entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(entries[i].escaped);
    }
    free(entries);
}

static zc_status list_copy(const zc_node *copy, bool is_v3, zarrcore_nodes *out, zc_error *err)
{
    size_t n = 0, i = 0;

    zc_node_object(copy);
    for (zc_node m = zc_node_first_member(copy); m.value != NULL; m = zc_node_next_member(&m)) {
        n++;
    }
    entry *const entries = malloc((n + 1) * sizeof *entries);
    if (entries == NULL) {
        return no_memory(err);
    }
    zc_status status = err->status;
    for (zc_node m = zc_node_first_member(copy); m.value != NULL && status == ZC_OK; m = zc_node_next_member(&m)) {
        status = begin_entry(&m, &entries[i++], err);
    }
    if (i > 1) {
        qsort(entries, i, sizeof *entries, compare_entries);
    }
    const size_t begun = i;
    for (i = 0; i < n && status == ZC_OK; i++) {
        status = is_v3 ? add_v3(&entries[i], out, err) : add_v2(entries, n, &entries[i], out, err);
        status = status == ZC_OK ? zc_check_cancelled(err) : status;
    }
    free_entries(entries, begun);
    return status;
}

static zc_status list_consolidated(const zc_where *group, const zc_found *found, zarrcore_nodes *out, zc_error *err)
{
    const bool is_v3 = found->zarr_format == 3;
    zc_text text = {NULL, 0};
    zc_json json;
    zc_status status = is_v3 ? ZC_OK : zc_get(group, ZC_ZMETADATA, &text, err);
    const zc_text *const from = is_v3 ? &found->own : &text;

    if (status == ZC_OK) {
        status = zc_json_open(&json, is_v3 ? ZC_ZARR_JSON : ZC_ZMETADATA, from->data, from->n, true, err);
    }
    if (status == ZC_OK) {
        const zc_node root = zc_json_root(&json);
        const zc_node member = zc_node_given(&root, "consolidated_metadata");
        const zc_node *const holder = is_v3 ? &member : &root;
        const zc_node kind = zc_node_member(holder, "kind");
        const zc_node copy = zc_node_member(holder, "metadata");
        if (is_v3 && member.value == NULL) {
            status = zc_fail(err, ZC_ERR_MISSING, "the group has no consolidated metadata");
        } else {
            if (is_v3) {
                ZC_CHOICE(&kind, "inline");
            }
            status = list_copy(&copy, is_v3, out, err);
        }
        zc_json_close(&json);
    } else if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        status = zc_fail(err, ZC_ERR_MISSING, "the group has no consolidated metadata");
    }
    zc_text_free(&text);
    return status;
}

/* ---- the public functions ----------------------------------------------------------------------- */

static zc_status list(const zc_where *group, int flags, zarrcore_nodes *out, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_or_imply(group, 0, &found, err);

    if (status == ZC_OK && found.kind != ZARRCORE_NODE_GROUP) {
        status = zc_fail(err, ZC_ERR_ARGUMENT, "%.200s is an array", group->n > 0 ? group->path : "the root");
    }
    if (status == ZC_OK) {
        status = (flags & ZARRCORE_CONSOLIDATED) != 0 ? list_consolidated(group, &found, out, err)
                                                      : list_directory(group, found.zarr_format, out, err);
    }
    zc_found_free(&found);
    return status;
}

static zc_status new_nodes(const zarrcore_store *store, const char *path, zarrcore_nodes **out, zc_error *err)
{
    const size_t size = strlen(path) + 1;
    zarrcore_nodes *const nodes = calloc(1, sizeof *nodes);
    char *const copy = nodes != NULL ? malloc(size) : NULL;

    if (copy == NULL) {
        free(nodes);
        return no_memory(err);
    }
    memcpy(copy, path, size);
    nodes->path = copy;
    nodes->store = store;
    zarrcore_retain_store(store);
    *out = nodes;
    return ZC_OK;
}

int zarrcore_list(const zarrcore_store *store, const char *path, int flags, zarrcore_nodes **out, zarrcore_error *error)
{
    zarrcore_nodes *nodes = NULL;
    zc_where group;
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    if ((flags & ~ZARRCORE_CONSOLIDATED) != 0) {
        return zc_report_argument(error, "flags: an unknown flag is set");
    }
    zc_error_clear(&err);
    zc_status status = zc_where_make(store, path, &group, &err);
    status = status == ZC_OK ? new_nodes(store, path, &nodes, &err) : status;
    status = status == ZC_OK ? list(&group, flags, nodes, &err) : status;
    zc_where_free(&group);
    if (status == ZC_OK) {
        *out = nodes;
    } else {
        zarrcore_free_nodes(nodes);
    }
    return zc_report_status(error, &err, status);
}

size_t zarrcore_count_nodes(const zarrcore_nodes *nodes)
{
    return nodes != NULL ? nodes->n : 0;
}

const char *zarrcore_node_name(const zarrcore_nodes *nodes, size_t i)
{
    return nodes != NULL && i < nodes->n ? nodes->at[i].name : NULL;
}

int zarrcore_node_kind(const zarrcore_nodes *nodes, size_t i)
{
    return nodes != NULL && i < nodes->n ? nodes->at[i].kind : ZARRCORE_ERR_ARGUMENT;
}

const char *zarrcore_node_document(const zarrcore_nodes *nodes, size_t i)
{
    return nodes != NULL && i < nodes->n ? nodes->at[i].text.data : NULL;
}

/* Names of consolidated metadata are what somebody wrote. */
static zc_status place_of(const zarrcore_nodes *nodes, const char *name, zc_where *out, zc_error *err)
{
    const size_t n = strlen(nodes->path), m = strlen(name);
    char *const path = malloc(n + m + 2);

    *out = (zc_where){0};
    if (path == NULL) {
        return no_memory(err);
    }
    memcpy(path, nodes->path, n);
    memcpy(path + n, "/", (size_t)(n > 0));
    memcpy(path + n + (n > 0), name, m + 1);
    const zc_status status = zc_where_make(nodes->store, path, out, err);
    free(path);
    return status;
}

int zarrcore_open_node(const zarrcore_nodes *nodes, size_t i, zarrcore_array **out, zarrcore_error *error)
{
    zc_where place = {0};
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    if (nodes == NULL || i >= nodes->n) {
        return zc_report_argument(error, nodes == NULL ? "nodes is NULL" : "there is no such node");
    }
    const item *const node = &nodes->at[i];
    if (node->kind != ZARRCORE_NODE_ARRAY) {
        return zc_report_argument(error, "the node is no array");
    }
    zc_error_clear(&err);
    zc_status status = place_of(nodes, node->name, &place, &err);
    status = status == ZC_OK ? zc_open_document(&place, &node->text, node->zarr_format, NULL, false, out, &err) : status;
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}
