/* SPDX-License-Identifier: MIT
 *
 * What the engine needs of a store, and the values that it reads from one.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/workspace.h"
#include "io/file.h"

#define ZC_SIZE_UNKNOWN UINT64_MAX

typedef struct zc_store zc_store;
typedef struct zc_origin zc_origin;
typedef struct zc_feed zc_feed;
typedef struct zc_waiting zc_waiting;

/* An open value: in memory (data), or to be read by ranges. */
typedef struct zc_value {
    const uint8_t *data;     /* all of it, or NULL */
    uint64_t size;           /* ZC_SIZE_UNKNOWN for the values of some remote stores */
    zc_file file;            /* local stores, and parts of files */
    uint64_t begin;          /* where it begins in the file */
    void *token;             /* the store's own */
    const zc_store *store;   /* NULL: borrowed memory */
    bool copied;             /* the token is an object that was made for this call */
    const zc_origin *origin; /* what it is known by in a cache, set by whoever opened it; NULL: it is not */
    uint64_t base;           /* where it begins in the value of the store; set by whoever opened it */
    zc_waiting *waiting;     /* local stores: asked before a disk is waited for, set by whoever opened it; NULL: nobody */
} zc_value;

/* What is to be done before a value is waited for.  Threads that share a chunk share it. */
struct zc_waiting {
    void (*wait)(zc_waiting *self, const zc_value *value, uint64_t offset);
    bool whole;              /* wait has all of the value brought into memory */
    atomic_bool waited;
    atomic_bool blind;       /* the file system does not tell what is in memory: only the clock does, and too late */
};

/* Reading n bytes out of memory that takes longer had to wait for a disk, or for a CPU. */
#define ZC_WAITED_NS(n) (INT64_C(100000) + (int64_t)(n))

void zc_waiting_wait(zc_waiting *waiting, const zc_value *value, uint64_t offset);

/* A part of the value of a key. */
typedef struct zc_request {
    const char *key;
    uint64_t offset;         /* ZC_SIZE_UNKNOWN: the last n bytes */
    size_t n;                /* ZC_SIZE_MAX: to the end */
    size_t owner;            /* the caller's own */
    size_t bytes;            /* about how many there are to the end */
} zc_request;

/* Keys are relative to the store's root, '/'-separated, terminated. */
struct zc_store {
    void *self;

    /* Open the value of a key.  ZC_ERR_MISSING if the key is absent, which a store of unknown sizes may also
     * say at the first read.  whole: all of it will be used. */
    zc_status (*open)(const zc_store *store, const char *key, bool whole, zc_value *out, zc_error *err);
    void (*close)(zc_value *value);

    /* Open a value that probably has fewer than cap bytes: these may be put to dst, where *out is then.  NULL for
     * stores that gain nothing by that. */
    zc_status (*load)(const zc_store *store, const char *key, uint8_t *dst, size_t cap, zc_value *out, zc_error *err);

    /* The value of a key will be read: have it brought into memory in the background, at most the first n bytes; *size: how
     * many it has.  False: nothing has to be brought.  Failures are for those who read it.  NULL: there is nothing to gain. */
    bool (*announce)(const zc_store *store, const char *key, uint64_t n, uint64_t *size);

    /* n bytes at offset, all of them. */
    zc_status (*read)(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err);

    /* The last n bytes; only for values of unknown size. */
    zc_status (*read_tail)(const zc_value *value, void *dst, size_t n, zc_error *err);

    zc_status (*replace)(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err);

    /* The same with a value that is made piece by piece, where the store can do without all of it; else NULL. */
    zc_status (*replace_from)(const zc_store *store, const char *key, const zc_file_source *source, zc_error *err);

    /*
     * For values that other processes may replace at any time, in a store that compares versions; else NULL.  open_version
     * opens the whole value of a key, or finds it absent, and its version: NULL if it has none that can be compared.
     * replace_version replaces the value if it still has that version.  *done: nobody else was faster; if somebody was, it
     * returns after a wait that grows with the number of attempts.  forget_version lets go of a version.
     */
    zc_status (*open_version)(const zc_store *store, const char *key, zc_value *out, void **version, zc_error *err);
    zc_status (*replace_version)(const zc_store *store, const char *key, const void *data, size_t n, const void *version,
                                 int attempt, bool *done, zc_error *err);
    void (*forget_version)(void *version);

    /* No error if the key is absent. */
    zc_status (*remove)(const zc_store *store, const char *key, zc_error *err);

    /* What is replaced or removed between the two, about n values, need be on the disk no sooner than settle has returned; on so
     * many threads.  Both may be NULL. */
    zc_status (*put_off)(const zc_store *store, size_t n, zc_error *err);
    zc_status (*settle)(const zc_store *store, int threads, zc_error *err);

    /* A call of many chunks below a key prefix begins and ends.  Both may be NULL. */
    zc_status (*begin)(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err);
    void (*end)(const zc_store *store);

    /* All reads of a job, below one prefix, have ended: this one was of n keys.  Fail with ZC_ERR_STALE if the keys of all of them may
     * be of two arrays, one of which came to the place of the other.  May be NULL. */
    zc_status (*confirm)(const zc_store *store, const char *prefix, size_t prefix_len, size_t n, zc_error *err);

    /* The same where some were absent; and fail if that is because the place of the prefix is gone.  May be NULL. */
    zc_status (*check)(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err);

    /*
     * For stores that serve one thread at a time, else NULL: open the whole values of n requests at once on the calling
     * thread.  `out` is zero before; the value of an absent key stays so.  release closes them again, on the same
     * thread.  A failure with ZC_ERR_IO is of a key that is not known, and each has to be opened alone to find
     * it; any other ends the call, and *failed is the number of the key that failed, if it is one.
     */
    zc_status (*fetch)(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                       size_t *failed, zc_error *err);
    void (*release)(zc_value *values, size_t n);

    /* The same for parts of values, which may be less than was asked for; NULL if nothing is gained by asking for many
     * at once. */
    zc_status (*fetch_parts)(const zc_store *store, const zc_request *requests, size_t n, zc_value *out,
                             zc_error *err);

    /* Ask, for n keys whose values were read earlier, whether they are other ones now; on the calling thread.  What has changed
     * is announced (keys.h) by then.  NULL: nobody but this process changes values. */
    zc_status (*recheck)(const zc_store *store, const char *const *keys, size_t n, bool *changed, zc_error *err);

    /* Answer at most n requests of a feed at the same time, in the background (feed.h).  NULL: the store cannot do that. */
    zc_status (*serve)(const zc_store *store, zc_feed *feed, size_t n, zc_error *err);

    /* Where values lie in memory: keep the object of a token alive, and let it go again.  Any thread; may be NULL. */
    void (*hold)(const void *token);
    void (*drop)(const void *token);

    int waits;               /* threads that may wait for it at the same time, while chunks are written; 0: the usual */
    size_t batch_bytes;      /* decoded size of the chunks that one fetch may be for */
    bool is_local;           /* values are files, see zc_value.file */
    bool constant;           /* no value ever changes */
    bool values_in_memory;   /* a fetch moves no bytes, so parts of values need no ranges */

    size_t gap;              /* unneeded bytes between two ranges that are cheaper to read than to skip */
    size_t most;             /* most bytes of ranges to join */
    size_t window;           /* bytes that may be on the way at the same time, or wait to be decoded, or for their turn */
    size_t small;            /* decoded size of shards that are fetched whole sooner than by index and ranges */
};

/* Has a fetch left it as it was, since its key is absent? */
static inline bool zc_value_is_absent(const zc_value *value)
{
    return value->data == NULL && value->token == NULL;
}

/* A value in memory that the caller keeps. */
zc_value zc_value_of_memory(const void *data, size_t n);

void zc_value_close(zc_value *value);

/* n bytes at offset, as a value that is not to be closed. */
static inline zc_value zc_value_part(const zc_value *value, uint64_t offset, uint64_t n)
{
    zc_value part = *value;

    part.data = value->data != NULL ? value->data + offset : NULL;
    part.size = n;
    part.base += offset;
    return part;
}

/* A pointer to n bytes at offset: into the value where it lies in memory, else to a scratch buffer that is opened. */
zc_status zc_value_view(const zc_value *value, uint64_t offset, uint64_t n, zc_workspace *ws, const uint8_t **out,
                        zc_error *err);

/* Copy n bytes at offset. */
zc_status zc_value_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err);

/* What makes values of parts of files, which the object of a token holds open; whoever has the token lets go of it by close. */
zc_store zc_store_of_spans(void (*close)(zc_value *value));

/* ---- files below a root directory ---- */

typedef struct zc_local {
    const char *root;        /* path of the store's root, terminated */
    size_t root_len;
    bool sync;               /* fsync what is written */
    bool drops;              /* the system does not keep values in memory after they are read, or are on the disk */
    zc_symlinks links;          /* which symbolic links are followed */
    bool documents;          /* an array's directory holds its metadata too, so that it cannot be missing */
    const char *documented;  /* what of it was there when the array was opened, or NULL */
    const zc_mark *known;    /* its version then, if it is to be compared, or NULL */
    size_t n_read;           /* keys for which confirm was called */
    zc_dir *dir;             /* held open for one call, or NULL */
    const char *document;    /* metadata that was in it then, or NULL */
    size_t dir_prefix;       /* length of the part of all keys that dir stands for */
    zc_unsynced *unsynced;   /* directories that one call has changed, or NULL */
    zc_dir paths;            /* the rules for whole paths, for a call that writes several files */
} zc_local;

/* The version that an array's document has now; false if it is not there. */
bool zc_local_mark(const zc_local *local, const char *prefix, size_t prefix_len, zc_mark *mark);

/* How long writes go by the last look at it, which costs a tenth of the smallest one. */
#define ZC_LOOK_NS INT64_C(10000000)

/* What is read next belongs to what was read before: where there are files, it is compared together with that. */
void zc_store_goes_on(const zc_store *store);

/* A store over local, which the caller keeps. */
void zc_store_local(zc_local *local, zc_store *out);

/* The same store for a write beside other ones, each of which puts off and settles what is its own.  room is kept by the caller. */
void zc_store_apart(const zc_store *store, zc_local *room, zc_store *out);
