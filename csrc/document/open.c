/* SPDX-License-Identifier: MIT
 *
 * Opening the array in a local directory: documents, then a handle whose chunks are files.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capi/handle.h"
#include "document/document.h"
#include "io/file.h"

/* What a handle owns. */
typedef struct owner {
    zc_document doc;
    zc_place place;
    bool sync;
    zc_symlinks links;
    char root[];             /* path of the array, terminated */
} owner;

static zc_status begin(zc_session *session, zc_error *err)
{
    const owner *const o = session->owner;

    (void)err;
    session->local = (zc_local){
        .root = o->root, .root_len = strlen(o->root), .sync = o->sync, .links = o->links, .documents = true};
    zc_store_local(&session->local, &session->store);
    return ZC_OK;
}

static void destroy(void *pointer)
{
    owner *const o = pointer;

    zc_document_free(&o->doc);
    free(o);
}

static const zc_backend local_backend = {.begin = begin, .destroy = destroy};

/* ---- reading documents -------------------------------------------------------------------------- */

typedef zc_status (*parse_document)(zc_document *doc, const zc_node *root);

/* Read a whole file; *out is for the caller to free. */
static zc_status read_file(const zc_file *file, const char *name, char **out, zc_error *err)
{
    if (file->size > ZC_DOCUMENT_MAX) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: %llu bytes are too many for a metadata document", name,
                       (unsigned long long)file->size);
    }
    *out = malloc((size_t)file->size + 1);
    if (*out == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    return zc_file_read(file, 0, *out, (size_t)file->size, err);
}

static zc_status parse_file(const zc_file *file, const char *name, parse_document parse, zc_document *doc,
                            zc_error *err)
{
    char *text = NULL;
    zc_json json;
    zc_status status = read_file(file, name, &text, err);

    if (status == ZC_OK) {
        status = zc_json_open(&json, name, text, (size_t)file->size, parse == zc_document_v2, err);
    }
    if (status == ZC_OK) {
        const zc_node root = zc_json_root(&json);
        status = parse(doc, &root);
        zc_json_close(&json);
    }
    if (status == ZC_OK && doc->array.chain->sharded) {
        doc->array.indexes = zc_cache_new(ZC_INDEX_CACHE_BYTES);
    }
    free(text);
    return status;
}

/* ZC_ERR_MISSING if there is no such document. */
static zc_status read_document(owner *o, const char *name, parse_document parse, zc_error *err)
{
    zc_dir *dir;
    zc_file file;
    zc_status status = zc_dir_open(o->root, strlen(o->root), o->links, &dir, err);

    if (status != ZC_OK) {
        return status;
    }
    status = zc_file_open(dir, name, &file, err);
    zc_dir_close(dir);
    if (status == ZC_OK) {
        status = parse_file(&file, name, parse, &o->doc, err);
        zc_file_close(&file);
    }
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------ */

/* The absolute path, so that the handle survives a change of the working directory; the caller frees it. */
static zc_status resolve(const char *path, char **out, zc_error *err)
{
#ifdef _WIN32
    *out = _fullpath(NULL, path, 0);
#else
    *out = realpath(path, NULL);
#endif
    struct stat info;
    if (*out != NULL && stat(*out, &info) == 0 && (info.st_mode & S_IFMT) != S_IFDIR) {
        free(*out);
        return zc_fail_errno(err, ENOTDIR, "%.200s is a file; open the directory that zarr.json or .zarray is in", path);
    }
    if (*out != NULL) {
        return ZC_OK;
    }
    switch (errno) {
    case ENOENT: return zc_fail(err, ZC_ERR_MISSING, "%.200s: there is no such directory", path);
    case ENOMEM: return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    default: return zc_fail_errno(err, errno, "cannot open directory %.200s", path);
    }
}

static zc_status new_owner(const char *path, int flags, owner **out, zc_error *err)
{
    char *root;
    const zc_status status = resolve(path, &root, err);

    if (status != ZC_OK) {
        return status;
    }
    owner *const o = calloc(1, sizeof *o + strlen(root) + 2);
    if (o != NULL) {
        memcpy(o->root, root, strlen(root) + 1);
        o->sync = (flags & ZARRCORE_SYNC) != 0;
        o->links = (flags & ZARRCORE_FOLLOW_SYMLINKS) != 0 ? ZC_SYMLINKS_FOLLOW : ZC_SYMLINKS_INSIDE;
        o->doc.array.missing_is_error = (flags & ZARRCORE_MISSING_IS_ERROR) != 0;
        o->doc.array.prefix = "";
        o->doc.array.place = &o->place;
        o->root[strlen(root)] = '/';         /* as all handles of the array say where it is */
        zc_place_set(&o->place, o->root);
        o->root[strlen(root)] = '\0';
    }
    free(root);
    *out = o;
    return o != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

static zc_status open_array(const char *path, int flags, zarrcore_array **out, zc_error *err)
{
    owner *o;
    zc_status status = new_owner(path, flags, &o, err);

    if (status != ZC_OK) {
        return status;
    }
    status = read_document(o, "zarr.json", zc_document_v3, err);
    if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        status = read_document(o, ".zarray", zc_document_v2, err);
        if (status == ZC_ERR_MISSING) {
            zc_error_clear(err);
            status = read_document(o, ".zgroup", zc_document_group, err);
        }
        if (status == ZC_ERR_MISSING) {
            zc_error_clear(err);
            zc_fail(err, status, "%.200s: neither zarr.json nor .zarray is there", path);
        }
    }
    if (status == ZC_OK) {
        *out = zc_handle_new(&o->doc.array, &local_backend, o, (flags & ZARRCORE_READ_WRITE) != 0,
                             o->doc.dtype.typestr, o->root);
        status = *out != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    if (status != ZC_OK) {
        destroy(o);
    }
    return status;
}

int zarrcore_open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error)
{
    const int known = ZARRCORE_READ_WRITE | ZARRCORE_SYNC | ZARRCORE_MISSING_IS_ERROR | ZARRCORE_FOLLOW_SYMLINKS;
    zc_error err;

    if (out == NULL) {
        return zc_report_argument(error, "out is NULL");
    }
    *out = NULL;
    if (path == NULL || path[0] == '\0') {
        return zc_report_argument(error, "path is NULL or empty");
    }
    if ((flags & ~known) != 0) {
        return zc_report_argument(error, "flags: an unknown flag is set");
    }
    zc_error_clear(&err);
    err.status = open_array(path, flags, out, &err);
    return zc_report(error, &err, NULL, NULL);
}
