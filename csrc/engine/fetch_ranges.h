/* SPDX-License-Identifier: MIT
 *
 * Values of one store, or ranges of them, that are fetched for many chunks at once: whole ones by one call of the store,
 * ranges in rounds, all indexes of shards at once and then all inner chunks at once.
 *
 * Where the store serves feeds (feed.h), the last round goes on in the background, and chunks are read as their values arrive.
 *
 * There are two passes over the chunks.  The first lists for each of them which ranges it wants (zc_chunk_list), and fetches
 * them.  Inner chunks are known once their index is there, so there is a round for the indexes of each level of nested
 * shards, and one for the inner chunks; a round is one call of the store.  The second pass is the caller's: it reads from
 * zc_fetch_value, which has what was fetched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/pool.h"
#include "engine/cache.h"
#include "engine/feed.h"
#include "engine/keys.h"
#include "engine/store.h"

/* What is known of the value of one key. */
typedef struct zc_fetched {
    const char *key;
    bool whole;              /* in: all of the value is wanted */
    bool keeps;              /* in: chunks of it may be in a cache, so that nothing may be asked of the store */
    zc_cached *cached;       /* in: the decoded chunk, which then needs no value; NULL: fetch it */
    bool absent;             /* out: there is none */
    bool more;               /* not all ranges are listed: they follow from those of this round */
    bool alone;              /* out: something kept it from being fetched with the others, so read it by its key */
    uint64_t generation;     /* in: of the key, from before it was looked for */
    zc_value *value;         /* out: of a whole one */
    zc_value *ranges;        /* sorted by base: where each begins; ZC_SIZE_UNKNOWN: it is the end of the value */
    size_t n, room;
    size_t bytes;            /* in: roughly, of a whole one */
    size_t pending;          /* requests that have not been answered */
    size_t held;             /* bytes that came by the feed */
    struct zc_fetch *set;
    zc_key known;            /* in: the key as locks and generations know it; not of a whole value that no cache keeps */
} zc_fetched;

/* The first pass for one item: call zc_fetch_wants for the ranges of its value that are wanted, as far as they are known;
 * *more: the rest when those have been fetched. */
typedef zc_status (*zc_list)(void *arg, const zc_fetched *item, const zc_value *value, bool *more, zc_error *err);

/* Those of one store. */
typedef struct zc_fetch {
    const zc_store *real;    /* in, as the next four */
    zc_fetched *items;       /* kept by the caller until zc_fetch_close; what is not marked "in" is zero */
    size_t n;
    zc_list list;
    void *arg;
    zc_store store;          /* of the values that are given out */
    zc_request *requests;    /* of the round; owner: number of the item */
    size_t n_requests, room;
    zc_request *last;        /* those of the last round, where that is in the background */
    size_t n_last, last_room;
    zc_feed *feed;           /* NULL: all is there */
    size_t n_pending;        /* items that wait for it */
    zc_value *values;        /* where all are whole: as the store returned them */
    size_t n_values;
} zc_fetch;

/*
 * Fetch what the items need, on the calling thread, or begin to do so.  zc_fetch_close is needed whether this fails or not.  It fails with
 * what has to end the call: *failed is the item, if it was one.  Other failures show when the item is read by its key.
 */
zc_status zc_fetch_open(zc_fetch *set, size_t *failed, zc_error *err);

/* The items for which nothing has to be waited, their numbers to `out`; how many. */
size_t zc_fetch_ready(const zc_fetch *set, size_t *out);

/*
 * Wait for others, which are all given out once; *n is 0 if none is left.  *bytes: how many have come for them.  It fails as
 * zc_fetch_open does, and with ZC_ERR_CANCELLED if poll, asked every 50 ms, ends the wait.
 */
zc_status zc_fetch_next(zc_fetch *set, size_t *out, size_t *n, size_t *bytes, zc_poll poll, void *poll_arg, size_t *failed,
                        zc_error *err);

/* Let go of the values of n items, which are not used any more. */
zc_status zc_fetch_done(zc_fetch *set, const size_t *items, size_t n, zc_error *err);

/* n bytes at an offset (ZC_SIZE_UNKNOWN: the last n) of the value of an item, or a part of it, are wanted.  False if they
 * have to be fetched first. */
bool zc_fetch_wants(const zc_value *value, uint64_t offset, size_t n);

/* The value of an item that is neither cached nor absent nor alone; any thread may read it.  Reading a range that was not
 * fetched fails as if the value were damaged (zc_may_be_torn). */
zc_value zc_fetch_value(const zc_fetched *item);

/* Also lets go what items have in `cached`. */
void zc_fetch_close(zc_fetch *set);
