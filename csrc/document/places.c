/* SPDX-License-Identifier: MIT
 *
 * Handles of stores, and places in them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "document/tree.h"

static zc_status no_memory(zc_error *err)
{
    return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

/* ---- handles ------------------------------------------------------------------------------------ */

/* One more handle of what is shared. */
static zarrcore_store *new_handle(zc_shared *shared, const char *base)
{
    const size_t size = strlen(base) + 1;
    zarrcore_store *const out = malloc(sizeof *out + size);

    if (out != NULL) {
        atomic_init(&out->references, 1);
        out->shared = shared;
        memcpy(out->base, base, size);
        atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    }
    return out;
}

zarrcore_store *zc_store_new(const zc_tree_ops *ops, void *self, int flags, const char *root)
{
    const size_t n = strlen(root);
    zc_shared *const shared = malloc(sizeof *shared + n + 1);

    if (shared == NULL) {
        return NULL;
    }
    atomic_init(&shared->references, 0);
    shared->ops = ops;
    shared->self = self;
    shared->flags = flags;
    shared->root_len = n;
    memcpy(shared->root, root, n + 1);
    zarrcore_store *const out = new_handle(shared, "");
    if (out == NULL) {
        free(shared);
    }
    return out;
}

zarrcore_store *zc_store_below(const zarrcore_store *store, const char *path)
{
    return new_handle(store->shared, path);
}

void zarrcore_retain_store(const zarrcore_store *store)
{
    if (store != NULL) {
        atomic_fetch_add_explicit(&((zarrcore_store *)store)->references, 1, memory_order_relaxed);
    }
}

void zarrcore_release_store(const zarrcore_store *store)
{
    if (store == NULL || atomic_fetch_sub_explicit(&((zarrcore_store *)store)->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    zc_shared *const shared = store->shared;
    free((zarrcore_store *)store);
    if (atomic_fetch_sub_explicit(&shared->references, 1, memory_order_acq_rel) == 1) {
        if (shared->ops->destroy != NULL) {
            shared->ops->destroy(shared->self);
        }
        free(shared);
    }
}

zc_status zc_check_writable(const zarrcore_store *store, zc_error *err)
{
    return (store->shared->flags & ZARRCORE_READ_WRITE) != 0
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "the store was opened for reading only");
}

int zc_check_opening(const void *out, const char *path, int flags, int known, zarrcore_error *error)
{
    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    if (path == NULL || path[0] == '\0') {
        return zc_report_argument(error, "path is NULL or empty");
    }
    return (flags & ~known) == 0 ? ZARRCORE_OK : zc_report_argument(error, "flags: an unknown flag is set");
}

/* ---- names -------------------------------------------------------------------------------------- */

int zc_document_number(const char *name)
{
    static const char *const names[] = {ZC_ZARR_JSON, ZC_ZARRAY, ZC_ZGROUP, ZC_ZATTRS, ZC_ZMETADATA, "attributes.json"};

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

int zc_removal_step(const zc_name *name)
{
    const int number = zc_document_number(name->text);

    return name->is_below ? ZC_STEP_BELOW : number < 0 ? 2 : number >= ZC_DECISIVE;
}

zc_status zc_names_add(zc_names *names, const char *text, size_t n, bool is_below, zc_error *err)
{
    zc_name *const all = zc_grow(names->at, names->n + 1, &names->room, sizeof *all);
    names->at = all != NULL ? all : names->at;
    char *const copy = all != NULL ? zc_arena_alloc(&names->arena, n + 1) : NULL;      /* zeroed */
    if (copy == NULL) {
        return no_memory(err);
    }
    memcpy(copy, text, n);
    names->at[names->n++] = (zc_name){copy, is_below};
    return ZC_OK;
}

static int compare_names(const void *a, const void *b)
{
    const zc_name *const left = a, *const right = b;
    const int order = strcmp(left->text, right->text);

    return order != 0 ? order : left->is_below - right->is_below;
}

void zc_names_sort(zc_names *names)
{
    size_t n = 0;

    if (names->n > 1) {
        qsort(names->at, names->n, sizeof *names->at, compare_names);
    }
    for (size_t i = 0; i < names->n; i++) {
        if (n == 0 || compare_names(&names->at[n - 1], &names->at[i]) != 0) {
            names->at[n++] = names->at[i];
        }
    }
    names->n = n;
}

void zc_names_free(zc_names *names)
{
    free(names->at);
    zc_arena_free(&names->arena);
    *names = (zc_names){0};
}

/* ---- places ------------------------------------------------------------------------------------- */

static zc_status make(const zarrcore_store *store, const char *a, size_t n, const char *b, size_t m, zc_where *out, zc_error *err)
{
    const size_t slash = n > 0 && m > 0;

    *out = (zc_where){.store = store, .n = n + slash + m};
    out->path = malloc(2 * (out->n + 1) + ZC_NAME_ROOM);
    if (out->path == NULL) {
        return no_memory(err);
    }
    memcpy(out->path, a, n);
    memcpy(out->path + n, "/", slash);
    memcpy(out->path + n + slash, b, m);
    out->path[out->n] = '\0';
    out->key = out->path + out->n + 1;
    memcpy(out->key, out->path, out->n);
    return ZC_OK;
}

static zc_status refuse(zc_error *err, const char *path, const char *why)
{
    return zc_fail(err, ZC_ERR_ARGUMENT, "path \"%.160s\": %s", path, why);
}

/* Names that no node can have (Zarr v3, "Node names"), or that stores keep for themselves. */
static zc_status check_name(const char *path, const char *name, size_t n, zc_error *err)
{
    char text[ZC_NAME_ROOM];

    if (n == 0) {
        return refuse(err, path, "a name in it is empty");
    }
    if (strspn(name, ".") >= n) {
        return refuse(err, path, "a name in it is all dots");
    }
    if (memchr(name, '\\', n) != NULL) {
        return refuse(err, path, "a name in it has a backslash");
    }
    if (n >= 4 && memcmp(name, ".zc-", 4) == 0) {
        return refuse(err, path, "names that begin with .zc- are for temporary files and locks");
    }
    if (n < sizeof text) {
        memcpy(text, name, n);
        text[n] = '\0';
        if (zc_document_number(text) >= 0) {
            return refuse(err, path, "a name in it is that of a metadata document");
        }
    }
    return ZC_OK;
}

zc_status zc_where_make(const zarrcore_store *store, const char *path, zc_where *out, zc_error *err)
{
    *out = (zc_where){0};
    if (store == NULL || path == NULL) {
        return zc_fail(err, ZC_ERR_ARGUMENT, store == NULL ? "store is NULL" : "path is NULL");
    }
    zc_status status = zc_check_cancelled(err);      /* every function begins here */
    for (const char *name = path; path[0] != '\0' && status == ZC_OK;) {
        const size_t n = strcspn(name, "/");
        status = check_name(path, name, n, err);
        if (name[n] == '\0') {
            break;
        }
        name += n + 1;
    }
    return status == ZC_OK ? make(store, store->base, strlen(store->base), path, strlen(path), out, err) : status;
}

zc_status zc_where_above(const zc_where *place, size_t n, zc_where *out, zc_error *err)
{
    return make(place->store, place->path, n, "", 0, out, err);
}

zc_status zc_where_below(const zc_where *place, const char *name, zc_where *out, zc_error *err)
{
    return make(place->store, place->path, place->n, name, strlen(name), out, err);
}

void zc_where_free(zc_where *place)
{
    free(place->path);
    place->path = NULL;
}

size_t zc_length_above(const zc_where *place, size_t n)
{
    while (n > 0 && place->path[--n] != '/') {
    }
    return n;
}

const char *zc_key_at(const zc_where *place, const char *name)
{
    char *at = place->key + place->n;

    if (place->n > 0) {
        *at++ = '/';
    }
    memcpy(at, name, strlen(name) + 1);
    return place->key;
}

zc_status zc_get_marked(const zc_where *place, const char *name, zc_text *out, zc_mark *mark, zc_error *err)
{
    *out = (zc_text){NULL, 0};
    return place->store->shared->ops->get(place->store, zc_key_at(place, name), out, mark, err);
}

zc_status zc_get(const zc_where *place, const char *name, zc_text *out, zc_error *err)
{
    zc_mark unused;

    return zc_get_marked(place, name, out, &unused, err);
}

zc_status zc_put(const zc_where *place, const char *name, const zc_text *text, bool is_new, zc_error *err)
{
    return place->store->shared->ops->put(place->store, zc_key_at(place, name), text, is_new, err);
}

zc_status zc_place_at(const zc_where *place, zc_place *out, zc_error *err)
{
    char *text;
    const zc_status status = place->store->shared->ops->scope(place->store, place->path, &text, err);

    if (status == ZC_OK) {
        zc_place_set(out, text);
        free(text);
    }
    return status;
}

/* The file by whose locks processes keep each other away from a scope; none where a link leads out, as nothing is written there. */
static zc_status set_lock_file(const zc_shared *shared, const char *scope, bool makes, zc_place *out, zc_error *err)
{
    const size_t root = shared->root_len, n = strlen(scope);

    if ((shared->flags & ZARRCORE_LOCKS) == 0 || strncmp(scope, shared->root, root) != 0 || scope[root] != '/') {
        return ZC_OK;
    }
    char *const path = malloc(n + sizeof ZC_LOCK_FILE);
    if (path == NULL) {
        return no_memory(err);
    }
    memcpy(path, scope, n);
    memcpy(path + n, ZC_LOCK_FILE, sizeof ZC_LOCK_FILE);
    out->locks = (zc_lock_file){
        .path = path, .root_len = root, .makes = makes, .sync = (shared->flags & ZARRCORE_SYNC) != 0, .id = out->hash};
    return ZC_OK;
}

zc_status zc_locked_place(const zc_where *place, bool makes, zc_place *out, zc_error *err)
{
    char *text;
    zc_status status = place->store->shared->ops->scope(place->store, place->path, &text, err);

    if (status == ZC_OK) {
        zc_place_set(out, text);
        status = set_lock_file(place->store->shared, text, makes, out, err);
        free(text);
    }
    return status;
}

void zc_locked_place_end(zc_place *place)
{
    if (place->locks.path != NULL) {
        zc_locks_close(&place->locks);
        free((char *)place->locks.path);
    }
}

zc_status zc_lock_documents(const zc_where *place, const char *name, zc_document_lock *lock, zc_error *err)
{
    zc_key key;
    zc_status status = zc_locked_place(place, false, &lock->place, err);

    if (status != ZC_OK) {
        return status;
    }
    zc_key_set(&key, &lock->place, name);
    status = zc_key_lock(&key, &lock->held, NULL, err);
    if (status != ZC_OK) {
        zc_locked_place_end(&lock->place);
    }
    return status;
}

void zc_unlock_documents(zc_document_lock *lock)
{
    zc_key_unlock(&lock->held);
    zc_locked_place_end(&lock->place);
}

zc_status zc_begin_change(const zarrcore_store *store, const char *path, zc_where *place, zc_document_lock *lock, zc_error *err)
{
    zc_status status = zc_where_make(store, path, place, err);

    status = status == ZC_OK ? zc_check_writable(store, err) : status;
    return status == ZC_OK ? zc_lock_documents(place, ZC_ZARR_JSON, lock, err) : status;
}
