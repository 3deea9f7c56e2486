/* SPDX-License-Identifier: MIT */
#include "engine/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/metrics.h"
#include "base/os_thread.h"

/* A disk that is waited for joins what many threads want of it; bytes of the chunks that they write. */
#define SYNCING_THREADS 16
#define SYNCING_BYTES ((size_t)64 << 20)

/* ---- values --------------------------------------------------------------------------------- */

zc_value zc_value_of_memory(const void *data, size_t n)
{
    /* A NULL pointer would mean "to be read"; an empty value needs an address of its own. */
    return (zc_value){.data = data != NULL ? data : (const void *)"", .size = n};
}

void zc_value_close(zc_value *value)
{
    if (value->store != NULL) {
        value->store->close(value);
    }
    value->store = NULL;
    value->data = NULL;
}

static zc_status check_range(const zc_value *value, uint64_t offset, uint64_t n, zc_error *err)
{
    if (value->size != ZC_SIZE_UNKNOWN && (offset > value->size || n > value->size - offset)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "the value ends at byte %llu, %llu were wanted",
                       (unsigned long long)value->size, (unsigned long long)(offset + n));
    }
    return ZC_OK;
}

zc_status zc_value_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const zc_status status = check_range(value, offset, n, err);

    if (status != ZC_OK) {
        return status;
    }
    if (value->data != NULL) {
        memcpy(dst, value->data + offset, n);
        return ZC_OK;
    }
    return value->store->read(value, value->base + offset, dst, n, err);
}

zc_status zc_value_view(const zc_value *value, uint64_t offset, uint64_t n, zc_workspace *ws, const uint8_t **out,
                        zc_error *err)
{
    zc_assert(value->data != NULL || value->store != NULL || n == 0);

    const zc_status status = check_range(value, offset, n, err);

    if (status != ZC_OK) {
        return status;
    }
    if (value->data != NULL) {
        *out = value->data + offset;
        return ZC_OK;
    }
    uint8_t *const dst = zc_scratch_array(ws, n, 1, err);
    *out = dst;
    return dst != NULL ? value->store->read(value, value->base + offset, dst, (size_t)n, err) : ZC_ERR_MEMORY;
}

/* ---- parts of files -------------------------------------------------------------------------- */

static zc_status read_span(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    zc_metric_add(ZC_METRIC_BYTES_READ, n);
    return zc_file_read(&value->file, value->begin + offset, dst, n, err);
}

zc_store zc_store_of_spans(void (*close)(zc_value *value))
{
    return (zc_store){.read = read_span, .close = close, .is_local = true};
}

/* ---- local files ---------------------------------------------------------------------------- */

/* root/name, in the buffer, or in memory to be freed; NULL when out of memory. */
static char *join(const zc_local *local, const char *name, size_t n, char *buffer, size_t room, zc_error *err)
{
    const size_t size = local->root_len + n + 2;
    char *const path = size <= room ? buffer : malloc(size);

    if (path == NULL) {
        zc_fail(err, ZC_ERR_MEMORY, "no memory for a path");
        return NULL;
    }
    memcpy(path, local->root, local->root_len);
    path[local->root_len] = '/';
    memcpy(path + local->root_len + 1, name, n);
    path[size - 1] = '\0';
    return path;
}

/* A file's name: below the directory that is held open, or a path of its own. */
typedef struct file_name {
    const zc_dir *dir;       /* or `whole` */
    zc_dir whole;
    const char *name;
    char *owned;
    char buffer[1024];
} file_name;

static zc_status name_make(const zc_local *local, const char *key, file_name *out, zc_error *err)
{
    out->owned = NULL;
    if (local->dir != NULL) {
        out->dir = local->dir;
        out->name = key + local->dir_prefix;
        return ZC_OK;
    }
    char *const path = join(local, key, strlen(key), out->buffer, sizeof out->buffer, err);
    if (path == NULL) {
        return ZC_ERR_MEMORY;
    }
    out->whole = zc_dir_none(local->root_len, local->links);
    out->dir = local->paths.holds ? &local->paths : &out->whole;
    out->name = path;
    out->owned = path != out->buffer ? path : NULL;
    return ZC_OK;
}

static bool local_announce(const zc_store *store, const char *key, uint64_t n, uint64_t *size)
{
    file_name name;
    zc_file file;
    zc_error err;
    bool cold = false;

    if (name_make(store->self, key, &name, &err) == ZC_OK) {
        if (zc_file_open(name.dir, name.name, &file, &err) == ZC_OK) {
            *size = file.size;
            cold = zc_file_announce(&file, 0, file.size < n ? file.size : n);
            zc_file_close(&file);
        }
        free(name.owned);
    }
    return cold;
}

static zc_status local_load(const zc_store *store, const char *key, uint8_t *dst, size_t cap, zc_value *out,
                            zc_error *err)
{
    file_name name;
    size_t n = 0;
    zc_status status = name_make(store->self, key, &name, err);

    if (status != ZC_OK) {
        return status;
    }
    const bool at_once = cap > 0 && !((const zc_local *)store->self)->drops;     /* else the file stays open until then */
    status = at_once ? zc_file_load(name.dir, name.name, dst, cap, &n, &out->file, err)
                     : zc_file_open(name.dir, name.name, &out->file, err);
    free(name.owned);
    zc_metric_add(ZC_METRIC_REQUESTS, 1);
    zc_metric_add(ZC_METRIC_BYTES_READ, n);
    if (n > 0) {
        *out = zc_value_of_memory(dst, n);
        return status;
    }
    out->data = NULL;
    out->token = NULL;
    out->begin = out->base = 0;
    out->waiting = NULL;
    out->size = status == ZC_OK ? out->file.size : 0;
    out->store = status == ZC_OK ? store : NULL;
    return status;
}

static zc_status local_open(const zc_store *store, const char *key, bool whole, zc_value *out, zc_error *err)
{
    (void)whole;
    return local_load(store, key, NULL, 0, out, err);
}

static void local_close(zc_value *value)
{
    zc_file_close(&value->file);
}

void zc_waiting_wait(zc_waiting *waiting, const zc_value *value, uint64_t offset)
{
    atomic_store_explicit(&waiting->waited, true, memory_order_relaxed);
    waiting->wait(waiting, value, offset);
}

static zc_status read_by_clock(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const int64_t start = zc_now_ns();
    const zc_status status = zc_file_read(&value->file, offset, dst, n, err);

    if (zc_now_ns() - start > ZC_WAITED_NS(n)) {
        zc_waiting_wait(value->waiting, value, offset + n);
    }
    return status;
}

static zc_status read_and_wait(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    zc_waiting *const waiting = value->waiting;

    if (waiting == NULL || n == 0) {
        return zc_file_read(&value->file, offset, dst, n, err);
    }
    if (atomic_load_explicit(&waiting->blind, memory_order_relaxed)) {
        return read_by_clock(value, offset, dst, n, err);
    }
    bool refused = false;
    const size_t ready = zc_file_read_ready(&value->file, offset, dst, n, &refused);
    if (ready == n) {
        return ZC_OK;
    }
    if (refused) {
        atomic_store(&waiting->blind, true);
    } else {
        zc_waiting_wait(waiting, value, offset + ready);
    }
    return zc_file_read(&value->file, offset + ready, (char *)dst + ready, n - ready, err);
}

static zc_status local_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const zc_status status = read_and_wait(value, offset, dst, n, err);

    zc_metric_add(ZC_METRIC_BYTES_READ, n);
    if (status == ZC_OK && n > 0 && ((const zc_local *)value->store->self)->drops) {
        zc_file_drop(&value->file, offset, n);
    }
    return status;
}

static zc_status local_replace_from(const zc_store *store, const char *key, const zc_file_source *source,
                                    zc_error *err)
{
    const zc_local *local = store->self;
    file_name name;
    zc_status status = name_make(local, key, &name, err);

    if (status == ZC_OK) {
        zc_file_source marked = *source;
        marked.drop = local->drops;
        status = zc_file_put(name.dir, name.name, &marked, local->sync, local->unsynced, false, err);
        free(name.owned);
    }
    return status;
}

static zc_status local_replace(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    return local_replace_from(store, key, &(zc_file_source){.total = n, .data = data}, err);
}

static zc_status local_remove(const zc_store *store, const char *key, zc_error *err)
{
    const zc_local *local = store->self;
    file_name name;
    zc_status status = name_make(local, key, &name, err);

    if (status == ZC_OK) {
        status = zc_file_remove(name.dir, name.name, local->sync, local->unsynced, err);
        free(name.owned);
    }
    return status;
}

static zc_status local_put_off(const zc_store *store, size_t n, zc_error *err)
{
    zc_local *local = store->self;

    if (n > 1 && local->dir == NULL) {
        local->paths = zc_dir_none(local->root_len, local->links);
        local->paths.holds = true;
    }
    return local->sync ? zc_unsynced_new(&local->unsynced, err) : ZC_OK;
}

static zc_status local_settle(const zc_store *store, int threads, zc_error *err)
{
    zc_local *local = store->self;
    zc_unsynced *const unsynced = local->unsynced;

    local->unsynced = NULL;
    if (local->paths.holds) {
        zc_dir_let_go(&local->paths);
    }
    return zc_unsynced_end(unsynced, threads, err);
}

/* Open the directory of a prefix. */
static zc_status local_open_dir(const zc_local *local, const char *prefix, size_t prefix_len, zc_dir **out,
                                zc_error *err)
{
    char *const path = join(local, prefix, prefix_len, NULL, 0, err);

    *out = NULL;
    if (path == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = zc_dir_open(path, local->root_len, local->links, out, err);
    free(path);
    return status;
}

/* The metadata document of an array in its directory; NULL if there is none. */
static const char *document_in(const zc_dir *dir, zc_mark *mark)
{
    static const char *const names[] = {"zarr.json", ".zarray", "attributes.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (zc_dir_has(dir, names[i], mark)) {
            return names[i];
        }
    }
    return NULL;
}

static bool is_known(const zc_local *local, const zc_mark *mark)
{
    return local->known == NULL || zc_mark_is_same(local->known, mark);
}

/* Another array may have come to the place of this one, or its metadata alone have changed. */
static zc_status fail_other(zc_error *err)
{
    return zc_fail(err, ZC_ERR_STALE, "the metadata of the array are others than when it was opened");
}

/* Hold the directory of the prefix open, so that the files below it open faster.  If there is none, whole paths
 * do: its files are missing, or about to be made. */
static zc_status local_begin(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err)
{
    zc_local *local = store->self;
    zc_mark mark;
    const zc_status status = local_open_dir(local, prefix, prefix_len, &local->dir, err);

    local->dir_prefix = prefix_len;
    local->document = status == ZC_OK && local->documents ? document_in(local->dir, &mark) : NULL;
    if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        return ZC_OK;
    }
    if (local->document != NULL && !is_known(local, &mark)) {
        zc_dir_close(local->dir);
        local->dir = NULL;
        return fail_other(err);
    }
    return status;
}

/* One look, in place of opening and closing the directory. */
bool zc_local_mark(const zc_local *local, const char *prefix, size_t prefix_len, zc_mark *mark)
{
    const zc_dir rules = zc_dir_none(local->root_len, local->links);
    const size_t name_len = strlen(local->documented), size = local->root_len + prefix_len + name_len + 2;
    char room[512], *const path = size <= sizeof room ? room : malloc(size);

    if (path == NULL) {
        return false;                    /* the directory is looked at, which finds no memory either */
    }
    memcpy(path, local->root, local->root_len);
    path[local->root_len] = '/';
    memcpy(path + local->root_len + 1, prefix, prefix_len);
    memcpy(path + local->root_len + 1 + prefix_len, local->documented, name_len + 1);
    const bool is_there = zc_dir_has(&rules, path, mark);
    if (path != room) {
        free(path);
    }
    return is_there;
}

/* One chunk is of one array; for several, of one read or of many, one look will do. */
static zc_status local_confirm(const zc_store *store, const char *prefix, size_t prefix_len, size_t n, zc_error *err)
{
    zc_local *local = store->self;
    const bool was_several = local->n_read > 1;
    zc_mark mark;

    local->n_read += n;
    if (local->known == NULL || was_several || local->n_read < 2 ||
        (zc_local_mark(local, prefix, prefix_len, &mark) && is_known(local, &mark))) {
        return ZC_OK;
    }
    return fail_other(err);
}

void zc_store_goes_on(const zc_store *store)
{
    if (store->confirm == local_confirm) {
        zc_local *const local = store->self;
        local->n_read = local->n_read > 0;
    }
}

/* If a directory with metadata in it is gone, or its metadata are, nobody knows what the chunks held. */
static zc_status local_check(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err)
{
    const zc_local *local = store->self;
    zc_dir *dir;
    zc_mark mark;

    if (!local->documents) {
        return ZC_OK;
    }
    if (local->documented != NULL && (local->dir == NULL || local->known != NULL) &&
        zc_local_mark(local, prefix, prefix_len, &mark)) {
        return is_known(local, &mark) ? ZC_OK : fail_other(err);
    }
    zc_status status = local_open_dir(local, prefix, prefix_len, &dir, err);
    if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        return zc_fail(err, ZC_ERR_IO, "the directory of the array is gone");
    }
    if (status == ZC_OK && local->dir != NULL && !zc_dir_is_same(local->dir, dir)) {
        status = zc_fail(err, ZC_ERR_IO, "the directory of the array was replaced while it was read");
    } else if (status == ZC_OK && local->document != NULL && !zc_dir_has(dir, local->document, &mark)) {
        status = zc_fail(err, ZC_ERR_IO, "%s of the array was removed while it was read", local->document);
    } else if (status == ZC_OK && local->document == NULL && local->documented != NULL &&
               document_in(dir, &mark) == NULL) {
        status = zc_fail(err, ZC_ERR_IO, "the metadata of the array are gone");
    }
    zc_dir_close(dir);
    return status;
}

static void local_end(const zc_store *store)
{
    zc_local *local = store->self;

    zc_dir_close(local->dir);
    local->dir = NULL;
}

void zc_store_apart(const zc_store *store, zc_local *room, zc_store *out)
{
    *out = *store;
    if (store->put_off == local_put_off) {
        *room = *(const zc_local *)store->self;
        room->unsynced = NULL;
        room->paths.holds = false;
        out->self = room;
    }
}

void zc_store_local(zc_local *local, zc_store *out)
{
    *out = (zc_store){
        .self = local,
        .open = local_open,
        .load = local_load,
        .announce = local_announce,
        .close = local_close,
        .read = local_read,
        .replace = local_replace,
        .replace_from = local_replace_from,
        .remove = local_remove,
        .put_off = local_put_off,
        .settle = local_settle,
        .begin = local_begin,
        .end = local_end,
        .confirm = local_confirm,
        .check = local_check,
        .is_local = true,
        .waits = local->sync ? SYNCING_THREADS : 0,
        .window = SYNCING_BYTES,
        .gap = 4096,
        .most = 1 << 20,
    };
}
