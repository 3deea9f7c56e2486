/* SPDX-License-Identifier: MIT
 *
 * Requests on their way: handed out one by one to the threads that a store fetches with, whose answers one reader takes in
 * the order in which they arrive, so that values are decoded while others are on the way.
 *
 * Both sides may end first: each holds the feed.  Answers that come after the reader has closed it are not wanted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"
#include "engine/store.h"

typedef enum zc_outcome {
    ZC_FED,                  /* value.data is NULL where the key is absent */
    ZC_FED_ALONE,            /* no answer: the value is to be read by its key, which shows why */
    ZC_FED_FAILED,           /* no answer, and the read is to end */
} zc_outcome;

typedef struct zc_arrival {
    size_t request;          /* its number */
    zc_outcome outcome;
    zc_value value;
} zc_arrival;

/* ---- for the reader ---- */

/*
 * n requests in the order of their owners; they and their keys stay where they are until the feed is closed.  No more
 * than `window` bytes are on the way or with the reader, except those of one owner, and of one request.  NULL without memory.
 */
zc_feed *zc_feed_new(const zc_request *requests, size_t n, size_t window);

/* How many requests may be begun now. */
size_t zc_feed_open(zc_feed *feed);

/* Wait for answers, and move at most `most` of them to out; 0 if poll, asked every 50 ms, ends the wait.  There must be some
 * that have not been taken. */
size_t zc_feed_take(zc_feed *feed, zc_arrival *out, size_t most, zc_poll poll, void *poll_arg);

/* The reader is done with values of so many bytes in all. */
void zc_feed_let_go(zc_feed *feed, size_t bytes);

/* Nothing more is wanted; NULL is none. */
void zc_feed_close(zc_feed *feed, void (*release)(zc_value *values, size_t n));

/* ---- for those who fetch ---- */

void zc_feed_hold(zc_feed *feed);
void zc_feed_drop(zc_feed *feed);

/* How many threads more are to answer requests, so that there are n; they count from now on. */
size_t zc_feed_lacking(zc_feed *feed, size_t n);

/* A thread answers no more, though zc_feed_next has not returned false. */
void zc_feed_leave(zc_feed *feed);

/* The next request: owner is its number, and key is to be freed.  False: there is none that may be begun now, and this thread
 * answers no more. */
bool zc_feed_next(zc_feed *feed, zc_request *out);

/* Its answer, which this takes over if it returns true. */
bool zc_feed_put(zc_feed *feed, const zc_arrival *answer);
