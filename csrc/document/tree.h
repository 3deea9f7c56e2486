/* SPDX-License-Identifier: MIT
 *
 * The tree of a store: its nodes, as libzarrcore creates, changes, lists and removes them.
 *
 * Everything goes through a few operations on keys (zc_tree_ops), so that directories and stores of callbacks are one to it.  What is
 * written, in which order, and what it announces is that of the Python package (zarrcore/nodes), see docs/architecture.md.
 */
#pragma once

#include "base/arena.h"
#include "document/document.h"
#include "document/edit.h"

#define ZC_ERR_EXISTS ((zc_status)ZARRCORE_ERR_EXISTS)

#define ZC_ZARR_JSON "zarr.json"
#define ZC_ZARRAY ".zarray"
#define ZC_ZGROUP ".zgroup"
#define ZC_ZATTRS ".zattrs"
#define ZC_ZMETADATA ".zmetadata"
#define ZC_NAME_ROOM 16                      /* bytes of "/" and the longest of these */

/* Levels below a place that are removed, or looked through for documents: as many directories are open one below the other, and stores of
 * users may list something below everything. */
#define ZC_DEEPEST 500

/* The number of a metadata document among all names of such; -1 if it is none.  The first three decide what a node is. */
int zc_document_number(const char *name);
#define ZC_DECISIVE 3

/* Absence is no failure. */
static inline zc_status zc_or_absent(zc_status status, zc_error *err)
{
    if (status == ZC_ERR_MISSING) {
        zc_error_clear(err);
        return ZC_OK;
    }
    return status;
}

/* ZC_ERR_CANCELLED if the caller has cancelled the calls of this thread. */
static inline zc_status zc_check_cancelled(zc_error *err)
{
    return zc_watch_cancelled(zc_pool_watched()) ? zc_fail(err, ZC_ERR_CANCELLED, "interrupted") : ZC_OK;
}

/* ---- stores ---- */

/* Names directly below a place. */
typedef struct zc_name {
    const char *text;
    bool is_below;           /* there may be keys below it: of a directory, that it is one */
} zc_name;

/* When a name is removed: 0 is what decides that there is a node, then come other documents, then chunks, then what lies below. */
int zc_removal_step(const zc_name *name);
#define ZC_STEP_BELOW 3

typedef struct zc_names {
    zc_name *at;             /* in the order of their bytes */
    size_t n, room;
    zc_arena arena;
} zc_names;

zc_status zc_names_add(zc_names *names, const char *text, size_t n, bool is_below, zc_error *err);
/* In order, and each once. */
void zc_names_sort(zc_names *names);
void zc_names_free(zc_names *names);

/* Keys and paths are relative to the root of the store. */
typedef struct zc_tree_ops {
    /* The whole value of a key, at most ZC_DOCUMENT_MAX bytes; ZC_ERR_MISSING.  *out is to be freed after success.
     * *mark: the version of the file that was read, if it is one; else nothing is set. */
    zc_status (*get)(const zarrcore_store *store, const char *key, zc_text *out, zc_mark *mark, zc_error *err);

    /* is_new: ZC_ERR_EXISTS if there is a value, of several callers one wins. */
    zc_status (*put)(const zarrcore_store *store, const char *key, const zc_text *value, bool is_new, zc_error *err);

    /* No error if it is not there. */
    zc_status (*remove)(const zarrcore_store *store, const char *key, zc_error *err);

    /* Everything below a path, in each directory documents first. */
    zc_status (*erase)(const zarrcore_store *store, const char *path, zc_error *err);

    /* Nothing is there: no names.  ZC_ERR_UNSUPPORTED where that cannot be found out. */
    zc_status (*list)(const zarrcore_store *store, const char *path, zc_names *out, zc_error *err);

    /* Where a place really is, for locks and generations: ends with a slash, to be freed. */
    zc_status (*scope)(const zarrcore_store *store, const char *path, char **out, zc_error *err);

    /* Set up the store of a call on an array, see zc_backend. */
    zc_status (*begin)(const zarrcore_store *store, zc_session *session, zc_error *err);
    void (*end)(const zarrcore_store *store, zc_session *session, zc_error *err);       /* may be NULL */

    void (*destroy)(void *self);             /* with the last handle; may be NULL */
} zc_tree_ops;

/* What all handles of one store share. */
typedef struct zc_shared {
    atomic_int references;
    const zc_tree_ops *ops;
    void *self;              /* that of the operations */
    int flags;
    size_t root_len;
    char root[];             /* where it is; terminated */
} zc_shared;

struct zarrcore_store {
    atomic_int references;
    zc_shared *shared;
    char base[];             /* path of the group with which paths begin: "", or "a/b" */
};

/* A handle of the root, with one reference; NULL when out of memory, and self is still the caller's. */
zarrcore_store *zc_store_new(const zc_tree_ops *ops, void *self, int flags, const char *root);

/* One with another base, from the root of the store; NULL when out of memory. */
zarrcore_store *zc_store_below(const zarrcore_store *store, const char *path);

/* ZARRCORE_OK, or what is wrong with the arguments of a public call that opens a path; out: where the handle goes. */
int zc_check_opening(const void *out, const char *path, int flags, int known, zarrcore_error *error);

/* What the engine knows of a store in a local directory; false: it is another one. */
bool zc_local_of(const zarrcore_store *store, zc_local *out);

/* The store in a local directory. */
zc_status zc_open_directory(const char *path, int flags, zarrcore_store **out, zc_error *err);

/* ---- places ---- */

/* A path in a store, and room for keys below it. */
typedef struct zc_where {
    const zarrcore_store *store;
    size_t n;                /* of the path */
    char *path;              /* from the root of the store: "" or "a/b" */
    char *key;               /* as zc_key_at left it */
} zc_where;

/* The place at a caller's path from the store's base.  zc_where_free must follow, also after a failure. */
zc_status zc_where_make(const zarrcore_store *store, const char *path, zc_where *out, zc_error *err);
/* The first n bytes of its path, a group above it. */
zc_status zc_where_above(const zc_where *place, size_t n, zc_where *out, zc_error *err);
zc_status zc_where_below(const zc_where *place, const char *name, zc_where *out, zc_error *err);
void zc_where_free(zc_where *place);

/* The length of the path of the group above; the root has none above it. */
size_t zc_length_above(const zc_where *place, size_t n);

/* The key of a document, in place->key. */
const char *zc_key_at(const zc_where *place, const char *name);

zc_status zc_get(const zc_where *place, const char *name, zc_text *out, zc_error *err);
zc_status zc_get_marked(const zc_where *place, const char *name, zc_text *out, zc_mark *mark, zc_error *err);
zc_status zc_put(const zc_where *place, const char *name, const zc_text *text, bool is_new, zc_error *err);

/* Fails where the store was opened for reading. */
zc_status zc_check_writable(const zarrcore_store *store, zc_error *err);

/* The locks, generations and losses of a place. */
zc_status zc_place_at(const zc_where *place, zc_place *out, zc_error *err);

/* The same with the locks of other processes, if the store asks for them; *out is zero at first.  makes: in a directory that is missing,
 * too.  zc_locked_place_end must follow success. */
zc_status zc_locked_place(const zc_where *place, bool makes, zc_place *out, zc_error *err);
void zc_locked_place_end(zc_place *place);

/* Hold the lock of the metadata of a node, under the name of a document. */
typedef struct zc_document_lock {
    zc_place place;
    zc_held held;
} zc_document_lock;

zc_status zc_lock_documents(const zc_where *place, const char *name, zc_document_lock *lock, zc_error *err);
void zc_unlock_documents(zc_document_lock *lock);

/* The beginning of every change of a node: its place, in a store that may be written, under that lock.  zc_where_free must follow, also
 * after a failure. */
zc_status zc_begin_change(const zarrcore_store *store, const char *path, zc_where *place, zc_document_lock *lock, zc_error *err);

/* ---- nodes ---- */

typedef struct zc_found {
    int zarr_format, kind;   /* kind: ZARRCORE_NODE_ARRAY, ZARRCORE_NODE_GROUP */
    zc_text own;             /* its document */
    zc_mark mark;            /* the version of the file that this was; zero if it is none */
    zc_text attributes;      /* format 2: .zattrs; data is NULL if there is none */
} zc_found;

/* The node at a place, of one format or (0) of any; ZC_ERR_MISSING.  zc_found_free must follow, also after a failure. */
zc_status zc_find_node(const zc_where *place, int zarr_format, zc_found *out, zc_error *err);
/* The same, or a group of format 2 that nodes directly below imply. */
zc_status zc_find_or_imply(const zc_where *place, int zarr_format, zc_found *out, zc_error *err);
void zc_found_free(zc_found *found);

/* Its metadata as one JSON object, attributes included. */
zc_status zc_found_text(const zc_found *found, zc_text *out, zc_error *err);

/* A public call that returns a text about a node, to be freed by the caller: with `name` as zc_text_of has it. */
typedef zc_status zc_text_of(const zc_found *found, const char *name, zc_text *out, zc_error *err);
int zc_report_text(const zarrcore_store *store, const char *path, zc_text_of *text_of, const char *name, char **out,
                   zarrcore_error *error);

const char *zc_deciding_name(int zarr_format, int kind);
const char *zc_kind_name(int kind);

/* Is it a valid document of a group? */
zc_status zc_check_group(const char *name, const zc_text *text, int zarr_format, zc_error *err);

/* Bring the consolidated metadata above a node up to date: a document of it has been stored, or (text NULL) all that was there is
 * gone.  The change itself stays stored when this fails. */
zc_status zc_follow(const zc_where *place, const char *name, const zc_text *text, zc_error *err);

/* The same with the documents of all nodes that are at a place and below it. */
zc_status zc_follow_tree(const zc_where *place, zc_error *err);

/* ---- handles of arrays ---- */

/* A handle of the array that a document (of zc_found_text) describes.  Its calls look whether the array is still that one, unless the
 * handle is `detached`.  mark: the version of the document that was read; NULL: the one that is there now. */
zc_status zc_open_document(const zc_where *place, const zc_text *text, int zarr_format, const zc_mark *mark, bool detached,
                           zarrcore_array **out, zc_error *err);

/* The same with the documents at a place. */
zc_status zc_open_place(const zc_where *place, zarrcore_array **out, zc_error *err);

/* ---- shapes ---- */

/* What is stored of an array outside of a shape. */
typedef struct zc_outside {
    const zc_where *place;
    const zc_found *found;           /* a document with its grid */
    const int64_t *keep;             /* the shape */
    const int64_t *limit;            /* how far to look: another shape of the array */
    bool all;                        /* look at everything that is stored, up to the ends of chunks */
} zc_outside;

/* Remove it: whole chunks, and what chunks on the border have there.  After a failure all others are gone. */
zc_status zc_remove_outside(const zc_outside *outside, zc_error *err);

/* Fails with ZC_ERR_EXISTS where chunks lie that an array would have for its own: there is none at its place yet.  A store that cannot
 * list its keys is not looked through. */
zc_status zc_refuse_left(const zc_array *array, const zc_where *place, zc_error *err);

/* The document with another shape, and with chunks for it; *out is zero at first. */
zc_status zc_with_shape(const zc_found *found, int ndim, const int64_t *shape, const int64_t *more, zc_found *out, zc_error *err);

/* A handle that is detached, of the array in documents. */
zc_status zc_open_found(const zc_where *place, const zc_found *found, zarrcore_array **out, zc_error *err);
