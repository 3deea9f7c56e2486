/* SPDX-License-Identifier: MIT
 *
 * Handles of the arrays in a tree.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "document/archive.h"
#include "document/tree.h"

/* What a handle owns. */
typedef struct owner {
    zc_document doc;
    zc_place place;
    const zarrcore_store *store;     /* retained */
    zc_known_losses losses;          /* those that it has seen */
    bool detached;                   /* it does not look for them */
    int zarr_format;
    struct {                         /* the version of the document; if it is torn, reads look at that once more */
        _Atomic(const char *) name;  /* NULL: they do not look whether it is still the same */
        _Atomic uint64_t size, inode, device;
        _Atomic int64_t mtime_ns, ctime_ns;
        _Atomic int64_t looked_ns;   /* when a write looked */
    } known;
    size_t most;             /* bytes of an encoded chunk; ZC_SIZE_MAX: nobody can say */
    size_t n;                /* of the path in the store */
    char prefix[];           /* of its keys: the path and a slash, "" at the root */
} owner;

/* ---- names of dimensions ------------------------------------------------------------------------ */

/* In format 2 those that xarray stores as an attribute, if they fit. */
static zc_node names_of(const zc_node *root, const zc_node *attributes, int zarr_format)
{
    return zarr_format == 3 ? zc_node_given(root, "dimension_names") : zc_node_member(attributes, "_ARRAY_DIMENSIONS");
}

static bool are_names(const zc_node *names, int ndim, int zarr_format)
{
    size_t n = 0;

    for (zc_node name = zc_node_first(names); name.value != NULL; name = zc_node_next(&name)) {
        if (zarr_format == 2 && !zc_node_is_string(&name)) {
            return false;
        }
        n++;
    }
    return n == (size_t)ndim && zc_node_is_array(names);
}

static zc_status keep_names(zc_document *doc, const zc_node *root, int zarr_format)
{
    const zc_node attributes = zc_node_member(root, "attributes");
    const zc_node names = names_of(root, &attributes, zarr_format);

    if (!are_names(&names, doc->array.ndim, zarr_format)) {
        return ZC_OK;
    }
    doc->names = zc_node_alloc(root, &doc->arena, (size_t)doc->array.ndim, sizeof doc->names[0]);
    for (zc_node name = zc_node_first(&names); name.value != NULL && zc_node_ok(root); name = zc_node_next(&name)) {
        size_t n;
        if (zc_node_is_string(&name)) {
            const char *const text = zc_node_text(&name, &n);
            char *const copy = zc_node_alloc(root, &doc->arena, ZC_SPELLED(n), 1);
            if (copy != NULL) {
                zc_spell(text, n, copy);
                doc->names[name.index] = copy;
            }
        }
    }
    return root->json->err->status;
}

/* ---- which array it is -------------------------------------------------------------------------- */

static zc_status hash_kind(zc_document *doc, const zc_node *root)
{
    static const char *const members[] = {"zarr_format", "data_type", "dtype", "codecs", "filters", "compressor", "order",
                                          "fill_value", "chunk_key_encoding", "dimension_separator"};
    uint64_t hash = UINT64_C(14695981039346656037);      /* FNV-1a */

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const zc_node member = zc_node_member(root, members[i]);
        char *text = NULL;
        size_t n = 0;
        if (member.value != NULL && zc_node_write(&member, &text, &n) != ZC_OK) {
            return ZC_ERR_MEMORY;
        }
        for (size_t k = 0; k <= n; k++) {
            hash = (hash ^ (k < n ? (unsigned char)text[k] : 0)) * UINT64_C(1099511628211);
        }
        free(text);
    }
    doc->kind_hash = hash;
    return ZC_OK;
}

/* Are the chunks of one dimension those of the other, up to where both have some? */
static bool is_same_axis(const zc_grid_axis *a, const zc_grid_axis *b)
{
    if (a->edges == NULL || b->edges == NULL) {
        return a->edges == b->edges && a->chunk == b->chunk;
    }
    const int64_t n = a->n_edges < b->n_edges ? a->n_edges : b->n_edges;
    return memcmp(a->edges, b->edges, (size_t)(n + 1) * sizeof a->edges[0]) == 0;
}

/* May a handle of the one be used where now the other is stored? */
static zc_status compare_documents(const zc_document *was, const zc_document *now, zc_error *err)
{
    if (was->kind_hash != now->kind_hash || was->array.ndim != now->array.ndim) {
        return zc_fail(err, ZC_ERR_STALE, "another array is in the place of the one that was opened");
    }
    for (int d = 0; d < was->array.ndim; d++) {
        const zc_grid_axis *const a = &was->array.grid[d], *const b = &now->array.grid[d];
        if (!is_same_axis(a, b)) {
            return zc_fail(err, ZC_ERR_STALE, "another array is in the place of the one that was opened");
        }
        if (b->length < a->length) {
            return zc_fail(err, ZC_ERR_STALE, "the array has shrunk along dimension %d from %lld to %lld since it was opened", d,
                           (long long)a->length, (long long)b->length);
        }
    }
    return ZC_OK;
}

/* ---- documents ---------------------------------------------------------------------------------- */

static zc_status parse(zc_document *doc, const zc_text *text, int zarr_format, zc_error *err)
{
    zc_json json;
    zc_status status = zc_json_open(&json, zarr_format == 3 ? ZC_ZARR_JSON : ZC_ZARRAY, text->data, text->n, zarr_format == 2, err);

    if (status != ZC_OK) {
        return status;
    }
    const zc_node root = zc_json_root(&json);
    status = zarr_format == 3 ? zc_document_v3(doc, &root) : zc_document_v2(doc, &root);
    status = status == ZC_OK ? keep_names(doc, &root, zarr_format) : status;
    status = status == ZC_OK ? hash_kind(doc, &root) : status;
    zc_json_close(&json);
    return status;
}

/* *mark: the version of the document; all zero where it is no file. */
static zc_status read_array(const zc_where *place, zc_text *text, int *zarr_format, zc_mark *mark, zc_error *err)
{
    zc_found found;
    zc_status status = zc_find_node(place, 0, &found, err);

    *text = (zc_text){NULL, 0};
    if (status == ZC_OK && found.kind == ZARRCORE_NODE_GROUP) {
        status = zc_fail(err, ZC_ERR_UNSUPPORTED, "%s: the node type \"group\" is not supported",
                         found.zarr_format == 3 ? "zarr.json: node_type" : ZC_ZGROUP);
    }
    if (status == ZC_OK && found.zarr_format == 3) {
        *text = found.own;                   /* taken over */
        found.own = (zc_text){NULL, 0};
    } else if (status == ZC_OK) {
        status = zc_found_text(&found, text, err);
    }
    *zarr_format = found.zarr_format;
    *mark = found.mark;
    zc_found_free(&found);
    return status;
}

/* ---- calls -------------------------------------------------------------------------------------- */

static zc_status compare_with_stored(const owner *o, zc_error *err)
{
    zc_document now = {0};
    zc_where place = {0}, base = {.store = o->store, .path = (char *)o->prefix, .n = o->n};
    zc_text text = {NULL, 0};
    zc_mark unused;
    int zarr_format;
    zc_status status = zc_where_above(&base, o->n, &place, err);

    if (status == ZC_OK) {
        status = read_array(&place, &text, &zarr_format, &unused, err);
        if (status == ZC_ERR_MISSING || status == ZC_ERR_UNSUPPORTED) {
            zc_error_clear(err);
            status = zc_fail(err, ZC_ERR_STALE, "the array is no longer there");
        }
    }
    if (status == ZC_OK) {
        status = parse(&now, &text, zarr_format, err);
        status = status == ZC_OK ? compare_documents(&o->doc, &now, err) : status;
        zc_document_free(&now);
    }
    zc_text_free(&text);
    zc_where_free(&place);
    return status;
}

/* Have reads compare the document in a directory with the version `read`, or (NULL) with what it is now, or with nothing. */
static void note_document(owner *o, bool compares, const zc_mark *read)
{
    const char *const name = o->zarr_format == 3 ? ZC_ZARR_JSON : ZC_ZARRAY;
    zc_local local;
    zc_mark mark = read != NULL ? *read : (zc_mark){0};

    compares = compares && zc_local_of(o->store, &local);
    local.documented = name;
    if (compares && (read != NULL || zc_local_mark(&local, o->prefix, o->doc.array.prefix_len, &mark))) {
        atomic_store(&o->known.size, mark.size);
        atomic_store(&o->known.inode, mark.inode);
        atomic_store(&o->known.device, mark.device);
        atomic_store(&o->known.mtime_ns, mark.mtime_ns);
        atomic_store(&o->known.ctime_ns, mark.ctime_ns);
        atomic_store(&o->known.name, name);
    } else {
        atomic_store(&o->known.name, NULL);
    }
}

/* zc_backend.renew */
static zc_status renew(void *pointer, bool last, zc_error *err)
{
    owner *const o = pointer;

    note_document(o, !last, NULL);           /* before it is read */
    return compare_with_stored(o, err);
}

/* The name of the document, or NULL, and the version of it that is known. */
static const char *known_document(const owner *o, zc_mark *mark)
{
    *mark = (zc_mark){.size = atomic_load(&o->known.size), .inode = atomic_load(&o->known.inode),
                      .device = atomic_load(&o->known.device), .mtime_ns = atomic_load(&o->known.mtime_ns),
                      .ctime_ns = atomic_load(&o->known.ctime_ns)};
    return atomic_load(&o->known.name);
}

static void compare_after(owner *o, zc_session *session)
{
    const char *const name = known_document(o, &session->known);

    if (name != NULL && !session->writes) {
        session->local.documented = name;
        session->local.known = &session->known;
    }
}

/* Has somebody replaced the document in a directory?  A chunk of this array would be what that one cannot read. */
static bool is_replaced(owner *o)
{
    zc_local local;
    zc_mark known, mark;
    const char *const name = known_document(o, &known);
    const int64_t now = zc_now_ns();

    if (name == NULL || now - atomic_load(&o->known.looked_ns) < ZC_LOOK_NS || !zc_local_of(o->store, &local)) {
        return false;
    }
    atomic_store(&o->known.looked_ns, now);
    local.documented = name;
    return !zc_local_mark(&local, o->prefix, o->doc.array.prefix_len, &mark) || !zc_mark_is_same(&known, &mark);
}

static zc_status begin(zc_session *session, zc_error *err)
{
    owner *const o = session->owner;
    const uint64_t losses = zc_losses();

    if (session->writes) {
        zc_writing_begin(&o->place, &session->writing);      /* before the losses are looked at */
    }
    if (!o->detached && zc_known_losses_get(&o->losses) != zc_losses()) {
        const zc_status status = compare_with_stored(o, err);
        if (status != ZC_OK) {
            return status;
        }
        zc_known_losses_set(&o->losses, losses);
    }
    zc_status status = session->writes && is_replaced(o) ? renew(o, false, err) : ZC_OK;
    if (status == ZC_OK) {
        session->most = o->most;
        status = o->store->shared->ops->begin(o->store, session, err);
    }
    if (status == ZC_OK) {
        compare_after(o, session);
    }
    return status;
}

static void end(zc_session *session, zc_error *err)
{
    const owner *const o = session->owner;

    if (session->self != NULL && o->store->shared->ops->end != NULL) {
        o->store->shared->ops->end(o->store, session, err);
    }
}

static void destroy(void *pointer)
{
    owner *const o = pointer;

    zc_locked_place_end(&o->place);
    zc_document_free(&o->doc);
    zarrcore_release_store(o->store);
    free(o);
}

static const zc_backend tree_backend = {.begin = begin, .end = end, .renew = renew, .destroy = destroy};

/* ---- handles ------------------------------------------------------------------------------------ */

static owner *new_owner(const zc_where *place, bool detached)
{
    owner *const o = calloc(1, sizeof *o + place->n + 2);

    if (o != NULL) {
        const int flags = place->store->shared->flags;
        memcpy(o->prefix, place->path, place->n);
        memcpy(o->prefix + place->n, "/", (size_t)(place->n > 0));
        o->n = place->n;
        o->detached = detached;
        o->doc.array.missing_is_error = (flags & ZARRCORE_MISSING_IS_ERROR) != 0 && !detached;
        o->doc.array.prefix = o->prefix;
        o->doc.array.prefix_len = place->n + (place->n > 0);
        o->doc.array.place = &o->place;
        o->store = place->store;
        zarrcore_retain_store(o->store);
        zc_known_losses_set(&o->losses, zc_losses());
    }
    return o;
}

static zarrcore_array *new_handle(owner *o, const zc_where *place)
{
    const zc_shared *const shared = place->store->shared;
    char *const path = malloc(shared->root_len + place->n + 2);

    if (path == NULL) {
        return NULL;
    }
    memcpy(path, shared->root, shared->root_len);
    memcpy(path + shared->root_len, "/", 2);
    memcpy(path + shared->root_len + (place->n > 0 || shared->root_len == 0), place->path, place->n + 1);
    zarrcore_array *const out = zc_handle_new(&o->doc.array, &tree_backend, o, (shared->flags & ZARRCORE_READ_WRITE) != 0,
                                              o->doc.dtype.typestr, path);
    free(path);
    if (out != NULL) {
        out->names = o->doc.names;
    }
    return out;
}

zc_status zc_open_document(const zc_where *place, const zc_text *text, int zarr_format, const zc_mark *mark, bool detached,
                           zarrcore_array **out, zc_error *err)
{
    owner *const o = new_owner(place, detached);
    zc_status status = o != NULL ? parse(&o->doc, text, zarr_format, err) : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    status = status == ZC_OK ? zc_locked_place(place, true, &o->place, err) : status;
    if (status == ZC_OK) {
        int64_t longest[ZC_MAX_DIMS];
        zc_grid_longest(&o->doc, longest);
        o->most = zc_chain_most(o->doc.array.chain, o->doc.array.ndim, longest);
        o->zarr_format = zarr_format;
        note_document(o, !detached, mark);
    }
    if (status == ZC_OK && o->doc.array.chain->sharded) {
        o->doc.array.indexes = zc_cache_new(ZC_INDEX_CACHE_BYTES);
    }
    if (status == ZC_OK) {
        *out = new_handle(o, place);
        status = *out != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    if (status != ZC_OK && o != NULL) {
        destroy(o);
    }
    return status;
}

zc_status zc_open_place(const zc_where *place, zarrcore_array **out, zc_error *err)
{
    const uint64_t losses = zc_losses();     /* before the document is read */
    zc_text text;
    zc_mark mark;
    int zarr_format;
    zc_status status = read_array(place, &text, &zarr_format, &mark, err);

    status = status == ZC_OK ? zc_open_document(place, &text, zarr_format, &mark, false, out, err) : status;
    if (status == ZC_OK) {
        zc_known_losses_set(&((owner *)(*out)->owner)->losses, losses);
    }
    zc_text_free(&text);
    return status;
}

/* ---- the public functions ----------------------------------------------------------------------- */

int zarrcore_open_array(const zarrcore_store *store, const char *path, zarrcore_array **out, zarrcore_error *error)
{
    zc_where place;
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    zc_error_clear(&err);
    zc_status status = zc_where_make(store, path, &place, &err);
    status = status == ZC_OK ? zc_open_place(&place, out, &err) : status;
    zc_where_free(&place);
    return zc_report_status(error, &err, status);
}

static zc_status open_directory(const char *path, int flags, zarrcore_array **out, zc_error *err)
{
    zarrcore_store *store = NULL;
    zc_where place = {0};
    zc_status status = zc_open_root(path, flags, &store, err);

    if (status == ZC_ERR_IO && err->sys_errno == ENOTDIR) {
        zc_error_clear(err);
        zc_fail_errno(err, ENOTDIR, "%.200s is a file; open the directory that zarr.json or .zarray is in", path);
    }
    status = status == ZC_OK ? zc_where_make(store, "", &place, err) : status;
    if (status == ZC_OK) {
        status = zc_open_place(&place, out, err);
        if (status == ZC_ERR_MISSING) {
            zc_error_clear(err);
            zc_fail(err, status, "%.200s: neither zarr.json nor .zarray is there", path);
        }
    }
    zc_where_free(&place);
    zarrcore_release_store(store);
    return status;
}

int zarrcore_open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error)
{
    const int known = ZARRCORE_READ_WRITE | ZARRCORE_SYNC | ZARRCORE_MISSING_IS_ERROR | ZARRCORE_FOLLOW_SYMLINKS |
                      ZARRCORE_LOCKS;
    zc_error err;

    if (out != NULL) {
        *out = NULL;
    }
    const int checked = zc_check_opening(out, path, flags, known, error);
    if (checked != ZARRCORE_OK) {
        return checked;
    }
    zc_error_clear(&err);
    return zc_report_status(error, &err, open_directory(path, flags, out, &err));
}
