/* SPDX-License-Identifier: MIT
 *
 * Parts of many values of a remote store, asked for in rounds: all indexes at once, then all ranges at once.
 *
 * A round is a dry run.  Every value is "read" from what has been fetched so far; what is not there yet is noted and
 * answered with ZC_ERR_PENDING, and then all that has been noted is fetched by one call of the store.
 */
#ifndef ZC_ENGINE_FETCH_RANGES_H
#define ZC_ENGINE_FETCH_RANGES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/keys.h"
#include "engine/store.h"

/* What is known of the value of one key. */
typedef struct zc_piece_item {
    const char *key;
    bool whole;              /* in: all of the value is wanted */
    bool absent;             /* out: there is none */
    bool alone;              /* out: something kept it from being fetched with the others, so read it by its key */
    atomic_bool late;        /* out: a part was fetched after the rounds, see zc_pieces_is_torn */
    zc_key known;            /* in: the key as locks and generations know it */
    uint64_t generation;     /* from before the first round */
    zc_value *pieces;        /* sorted by base: where each begins; ZC_SIZE_UNKNOWN: it is the end of the value */
    size_t n, room;
    struct zc_pieces *set;
} zc_piece_item;

typedef struct zc_pieces {
    const zc_store *real;
    zc_store store;          /* of the values that are given out */
    zc_piece_item *items;
    size_t n;
    bool collecting;
    zc_request *requests;    /* of the round; owner: number of the item */
    size_t n_requests, room;
} zc_pieces;

/* Read what is wanted of the value of an item, which is in dry run: zc_context.collects. */
typedef zc_status (*zc_collect)(void *arg, size_t item, const zc_value *value, zc_error *err);

/* n items whose key and whole are set, the rest zeroed; the caller keeps them until zc_pieces_close. */
void zc_pieces_open(zc_pieces *set, const zc_store *store, zc_piece_item *items, size_t n);

/* Fetch what all of them need, on the calling thread.  Fails with ZC_ERR_CALLBACK alone, for what has to end the call;
 * other failures show when an item is read. */
zc_status zc_pieces_fetch(zc_pieces *set, zc_collect collect, void *arg, zc_error *err);

/* The value of an item that is neither absent nor alone; any thread may read it. */
zc_value zc_pieces_value(const zc_pieces *set, size_t item);

/* May what was read of the value be of two versions, because a part was fetched after the rounds? */
bool zc_pieces_is_torn(const zc_pieces *set, size_t item);

void zc_pieces_close(zc_pieces *set);

#endif
