/* SPDX-License-Identifier: MIT
 *
 * One lock guards a feed.  Nobody who holds it waits for anything else, such as the interpreter's lock.
 */
#include "engine/feed.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/os_thread.h"

#define POLL_NS (INT64_C(50) * 1000000)
#define MOMENT_NS (INT64_C(1) * 1000000)    /* that small answers wait for each other */
#define MANY ((size_t)128)                  /* answers that have yet to come: then they wait longer, */
#define LONGER_NS (INT64_C(4) * 1000000)    /* since each wait wakes threads, which costs as much as some requests */
#define MUCH ((size_t)1 << 20)              /* bytes that are worth decoding at once */

struct zc_feed {
    zc_mutex lock;
    zc_cond arrived;
    atomic_int users;
    bool closed, waiting;            /* the reader waits */
    const zc_request *requests;
    size_t n, next;                  /* requests, and how many were handed out */
    zc_arrival *arrivals;            /* in their order */
    size_t n_arrived, n_taken, arrived_bytes;
    size_t window, held;             /* bytes that are on the way, or with the reader */
    size_t answering;                /* threads that ask for requests */
};

zc_feed *zc_feed_new(const zc_request *requests, size_t n, size_t window)
{
    zc_feed *feed = malloc(sizeof *feed);
    zc_arrival *arrivals = zc_alloc_array(n, sizeof *arrivals);

    if (feed == NULL || arrivals == NULL) {
        free(feed);
        free(arrivals);
        return NULL;
    }
    *feed = (zc_feed){.requests = requests, .n = n, .arrivals = arrivals, .window = window};
    atomic_init(&feed->users, 1);
    zc_mutex_init(&feed->lock);
    zc_cond_init(&feed->arrived);
    return feed;
}

void zc_feed_hold(zc_feed *feed)
{
    atomic_fetch_add(&feed->users, 1);
}

void zc_feed_drop(zc_feed *feed)
{
    if (atomic_fetch_sub(&feed->users, 1) == 1) {
        zc_cond_destroy(&feed->arrived);
        zc_mutex_destroy(&feed->lock);
        free(feed->arrivals);
        free(feed);
    }
}

/* About how many bytes the answer has. */
static size_t expected(const zc_request *request)
{
    const size_t n = request->n != ZC_SIZE_MAX ? request->n : request->bytes;

    return n < ZC_SIZE_MAX / 2 ? n : MUCH;       /* nobody knows */
}

/* May a request be begun while so many bytes are held?  One whose owner already has others on the way may: the reader
 * takes all of an owner's together. */
static bool fits(const zc_feed *feed, size_t number, size_t held)
{
    const zc_request *request = &feed->requests[number];

    return held == 0 || (number > 0 && request[-1].owner == request->owner) ||
           (held < feed->window && expected(request) <= feed->window - held);
}

size_t zc_feed_open(zc_feed *feed)
{
    zc_mutex_lock(&feed->lock);
    size_t at = feed->next, held = feed->held;
    while (at < feed->n && fits(feed, at, held)) {
        held += expected(&feed->requests[at++]);
    }
    at -= feed->next;
    zc_mutex_unlock(&feed->lock);
    return at;
}

static size_t under_way(const zc_feed *feed)
{
    return feed->next - feed->n_arrived;
}

/* Hand over an answer, under the lock. */
static void arrive(zc_feed *feed, const zc_arrival *answer)
{
    const bool first = feed->n_arrived == feed->n_taken;

    feed->arrived_bytes += (size_t)answer->value.size;
    feed->arrivals[feed->n_arrived++] = *answer;
    if (feed->waiting && (first || feed->arrived_bytes >= MUCH || under_way(feed) == 0)) {
        zc_cond_signal(&feed->arrived);
    }
}

/* Hand out the next request, under the lock. */
static bool hand_out(zc_feed *feed, zc_request *out)
{
    const zc_request *request = &feed->requests[feed->next];
    const size_t size = strlen(request->key) + 1, own = expected(request);
    char *key = malloc(size);        /* the reader's is gone when it closes the feed */

    *out = *request;
    out->key = key;
    out->owner = feed->next++;
    if (key == NULL) {
        arrive(feed, &(zc_arrival){.request = out->owner, .outcome = ZC_FED_ALONE});
        return false;
    }
    memcpy(key, request->key, size);
    feed->held += own;
    return true;
}

size_t zc_feed_lacking(zc_feed *feed, size_t n)
{
    zc_mutex_lock(&feed->lock);
    const size_t lacking = n > feed->answering ? n - feed->answering : 0;
    feed->answering += lacking;
    zc_mutex_unlock(&feed->lock);
    return lacking;
}

void zc_feed_leave(zc_feed *feed)
{
    zc_mutex_lock(&feed->lock);
    feed->answering--;
    zc_mutex_unlock(&feed->lock);
}

bool zc_feed_next(zc_feed *feed, zc_request *out)
{
    bool found = false;

    zc_mutex_lock(&feed->lock);
    while (!found && !feed->closed && feed->next < feed->n && fits(feed, feed->next, feed->held)) {
        found = hand_out(feed, out);
    }
    feed->answering -= !found;
    zc_mutex_unlock(&feed->lock);
    return found;
}

bool zc_feed_put(zc_feed *feed, const zc_arrival *answer)
{
    zc_mutex_lock(&feed->lock);
    const bool wanted = !feed->closed;
    if (wanted) {
        const size_t thought = expected(&feed->requests[answer->request]), size = (size_t)answer->value.size;
        feed->held -= thought < feed->held ? thought : feed->held;
        feed->held += size;
        arrive(feed, answer);
    }
    zc_mutex_unlock(&feed->lock);
    return wanted;
}

size_t zc_feed_take(zc_feed *feed, zc_arrival *out, size_t most, zc_poll poll, void *poll_arg)
{
    bool cancelled = false;

    zc_mutex_lock(&feed->lock);
    zc_assert(feed->n_taken < feed->n);
    feed->waiting = true;
    while (feed->n_arrived == feed->n_taken && !cancelled) {
        zc_cond_wait_for(&feed->arrived, &feed->lock, POLL_NS);
        if (feed->n_arrived == feed->n_taken && poll != NULL) {
            zc_mutex_unlock(&feed->lock);
            cancelled = poll(poll_arg);
            zc_mutex_lock(&feed->lock);
        }
    }
    if (!cancelled && feed->arrived_bytes < MUCH && under_way(feed) > 0) {
        const int64_t moment = feed->n - feed->n_arrived >= MANY ? LONGER_NS : MOMENT_NS;
        zc_cond_wait_for(&feed->arrived, &feed->lock, moment);
    }
    feed->waiting = false;
    const size_t there = feed->n_arrived - feed->n_taken, n = cancelled ? 0 : there < most ? there : most;
    for (size_t i = 0; i < n; i++) {
        out[i] = feed->arrivals[feed->n_taken++];
        feed->arrived_bytes -= (size_t)out[i].value.size;
    }
    zc_mutex_unlock(&feed->lock);
    return n;
}

void zc_feed_let_go(zc_feed *feed, size_t bytes)
{
    zc_mutex_lock(&feed->lock);
    feed->held -= bytes < feed->held ? bytes : feed->held;
    zc_mutex_unlock(&feed->lock);
}

void zc_feed_close(zc_feed *feed, void (*release)(zc_value *values, size_t n))
{
    if (feed == NULL) {
        return;
    }
    zc_mutex_lock(&feed->lock);
    feed->closed = true;
    const size_t first = feed->n_taken, end = feed->n_arrived;
    zc_mutex_unlock(&feed->lock);
    for (size_t i = first; i < end; i++) {
        if (feed->arrivals[i].value.data != NULL) {
            release(&feed->arrivals[i].value, 1);
        }
    }
    zc_feed_drop(feed);
}
