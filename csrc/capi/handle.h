/* SPDX-License-Identifier: MIT
 *
 * The contents of a public handle: an array of the engine, and somebody who knows where its chunks are.
 */
#pragma once

#include <stdatomic.h>

#include "capi/buffer.h"
#include "engine/engine.h"
#include "engine/writes.h"
#include "include/zarrcore.h"

/* What one call needs of the store. */
typedef struct zc_session {
    zc_store store;
    zc_local local;          /* for begin's use: what store.self may point to */
    zc_mark known;           /* the same: what local.known may point to */
    zc_poll poll;            /* may be NULL */
    void *poll_arg;
    void *owner;             /* that of the handle */
    void *self;              /* the backend's own, NULL at first */
    size_t most;             /* bytes that the value of a chunk may have, set by trees; ZC_SIZE_MAX: nobody can say */
    bool writes;
    zc_writing writing;      /* the same */
} zc_session;

/* Where handles come from.  Called from any thread. */
typedef struct zc_backend {
    /* Set up the store of a call.  owner, self and writes are set already.  zc_writing_end is called for writing after end. */
    zc_status (*begin)(zc_session *session, zc_error *err);

    /* The call is over, or has failed to begin; err->status is its result, and the message may be improved.  May be NULL. */
    void (*end)(zc_session *session, zc_error *err);

    /* Others may have replaced the array while it was read: is it still of the same kind, so that it can be read again?  From then on
     * its document is compared with what it is now, or if it is the last time, with nothing.  NULL where session.local.known never is set. */
    zc_status (*renew)(void *owner, bool last, zc_error *err);

    void (*destroy)(void *owner);
} zc_backend;

#define ZC_TYPESTR_SIZE 64
#define ZC_TOUCHED 16

struct zarrcore_array {
    atomic_int references;
    const zc_array *array;
    const zc_backend *backend;
    void *owner;             /* keeps array, and all that it points to, until destroy */
    bool writable;
    const char *const *names;        /* of the dimensions, NULL for one without; the owner's, set after zc_handle_new.  NULL: none has one */
    zc_array kept;           /* the same array with a cache (keep.c) */
    atomic_int keeping;
    _Atomic uint64_t touched[ZC_TOUCHED];
    zc_buffer buffer;        /* of writes */
    char typestr[ZC_TYPESTR_SIZE];
    char path[];             /* terminated */
};

/* A handle with one reference; NULL when out of memory, or where the type's name is too long.  The owner
 * is then still the caller's. */
zarrcore_array *zc_handle_new(const zc_array *array, const zc_backend *backend, void *owner, bool writable,
                              const char *typestr, const char *path);

/* The table of all functions for extension modules. */
void zc_api_fill(zarrcore_api *out, zarrcore_array *(*from_python)(void *), int (*raise)(const zarrcore_error *),
                 int (*open)(const char *, int, zarrcore_array **, zarrcore_error *));

/* ---- the cache of a handle (keep.c) ---- */

/* False when out of memory. */
bool zc_keep_begin(zarrcore_array *array);
void zc_keep_end(zarrcore_array *array);

/* The array through which a region is read: with the cache where that is likely to pay. */
const zc_array *zc_keep_array(zarrcore_array *array, const zc_store *store, const zc_selection *region);

/* Store what is pending in a handle that nobody has any more (flush.c). */
void zc_flush_last(zarrcore_array *array);

/* ---- the watch of a thread (watch.c) ---- */

/* May a call begin?  Not if it is cancelled; else the session asks for progress, if its store has no poll of its own. */
zc_status zc_watch_begin(zc_session *session, zc_error *err);

/* ---- use of a handle's store (session.c) ---- */

/* zc_session_end must follow, whatever happened in between. */
zc_status zc_session_begin(const zarrcore_array *array, bool writes, zc_session *session, zc_error *err);
void zc_session_end(const zarrcore_array *array, zc_session *session, zc_status status, zc_error *err);

/* Has a read that has ended, *attempts times before, to be made again, as it may have been of two arrays? */
bool zc_session_again(const zarrcore_array *array, const zc_session *session, int *attempts, zc_status *status, zc_error *err);

/* ---- what all functions of the public API share (call.c) ---- */

/* Take a structure whose first member is the size that the caller's has, at least `least`: members that it has not are zero, and those
 * that are not known here have to be. */
bool zc_take_struct(void *out, size_t size, const void *given, size_t least);

/* Tell the caller how a call ended; returns its status.  array, chunk and out may be NULL. */
int zc_report(zarrcore_error *out, const zc_error *err, const zarrcore_array *array, const int64_t *chunk);

/* The same with the status that goes with err, of no chunk. */
int zc_report_status(zarrcore_error *out, zc_error *err, zc_status status);

/* The same with the record of another call. */
int zc_report_record(zarrcore_error *out, const zarrcore_error *record);

/* The same for a failure of the arguments. */
int zc_report_argument(zarrcore_error *out, const char *message);

/* The key of a chunk, to be freed; NULL when out of memory. */
char *zc_new_key(const zarrcore_array *array, const int64_t *chunk);

/* Is there such a chunk? */
bool zc_has_chunk(const zc_array *array, const int64_t *chunk);

/* Number of chunks along a dimension. */
int64_t zc_grid_chunks(const zc_grid_axis *axis);
