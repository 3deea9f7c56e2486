/* SPDX-License-Identifier: MIT
 *
 * Feeds: what is handed out when, who gets which answers, and that none is lost or kept.
 */
#include "engine/feed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "check.h"
#include "threads.h"

#define MANY 500

static atomic_bool stop;
static atomic_int alive;                     /* values that nobody has let go */

static zc_value value_of(size_t size)
{
    atomic_fetch_add(&alive, 1);
    return (zc_value){.data = (const uint8_t *)"x", .size = size};
}

static void release(zc_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(values[i].data != NULL);
        atomic_fetch_sub(&alive, 1);
    }
}

static bool put(zc_feed *feed, size_t request, size_t size)
{
    const zc_arrival answer = {.request = request, .value = value_of(size)};
    const bool wanted = zc_feed_put(feed, &answer);

    if (!wanted) {
        atomic_fetch_sub(&alive, 1);
    }
    return wanted;
}

/* How many can be begun, one after the other. */
static size_t begin_all(zc_feed *feed)
{
    zc_request request;
    size_t n = 0;

    for (; zc_feed_next(feed, &request); n++) {
        free((void *)request.key);
    }
    return n;
}

static void fill_requests(zc_request *requests, size_t n, size_t bytes)
{
    for (size_t i = 0; i < n; i++) {
        requests[i] = (zc_request){.key = "key", .n = bytes, .owner = i};
    }
}

static void hands_out_what_fits(void)
{
    zc_request requests[10];
    zc_arrival arrivals[10];

    fill_requests(requests, 10, 100);
    zc_feed *feed = zc_feed_new(requests, 10, 350);
    CHECK(zc_feed_open(feed) == 3);
    CHECK(begin_all(feed) == 3 && zc_feed_open(feed) == 0);
    CHECK(put(feed, 2, 100));
    CHECK(begin_all(feed) == 0);             /* the reader has it still */
    CHECK(zc_feed_take(feed, arrivals, 10, NULL, NULL) == 1 && arrivals[0].request == 2);
    CHECK(begin_all(feed) == 0);
    release(&arrivals[0].value, 1);
    zc_feed_let_go(feed, 100);
    CHECK(zc_feed_open(feed) == 1 && begin_all(feed) == 1);
    CHECK(put(feed, 0, 20) && put(feed, 1, 20));     /* less than was thought */
    CHECK(begin_all(feed) == 2);
    zc_feed_close(feed, release);
    CHECK(alive == 0);
}

static void one_request_always_fits(void)
{
    zc_request requests[3];
    zc_arrival arrival;

    fill_requests(requests, 3, ZC_SIZE_MAX);         /* whole values, of any size */
    requests[0].bytes = requests[1].bytes = requests[2].bytes = ZC_SIZE_MAX;
    zc_feed *feed = zc_feed_new(requests, 3, 10);
    for (size_t i = 0; i < 3; i++) {
        CHECK(begin_all(feed) == 1);
        CHECK(put(feed, i, 1000));
        CHECK(zc_feed_take(feed, &arrival, 1, NULL, NULL) == 1);
        release(&arrival.value, 1);
        zc_feed_let_go(feed, 1000);
    }
    zc_feed_close(feed, release);
    CHECK(alive == 0);
}

/* Else the reader would wait for the rest of what one owner asked for, and the rest for the reader. */
static void what_one_owner_asked_for_is_begun_together(void)
{
    zc_request requests[6];

    fill_requests(requests, 6, 100);
    requests[1].owner = requests[2].owner = 0;
    zc_feed *feed = zc_feed_new(requests, 6, 150);
    CHECK(zc_feed_open(feed) == 3 && begin_all(feed) == 3);
    zc_feed_close(feed, release);
}

static void answers_after_the_end_are_not_wanted(void)
{
    zc_request requests[3], request;

    fill_requests(requests, 3, 1);
    zc_feed *feed = zc_feed_new(requests, 3, 100);
    zc_feed_hold(feed);
    CHECK(zc_feed_next(feed, &request));
    free((void *)request.key);
    CHECK(zc_feed_next(feed, &request));
    free((void *)request.key);
    CHECK(put(feed, 1, 1));                          /* arrived, and never taken */
    zc_feed_close(feed, release);
    CHECK(!put(feed, 0, 1));
    CHECK(!zc_feed_next(feed, &request));
    zc_feed_drop(feed);
    CHECK(alive == 0);
}

static void no_more_threads_answer_than_are_lacking(void)
{
    zc_request requests[6], request;

    fill_requests(requests, 6, 100);
    zc_feed *feed = zc_feed_new(requests, 6, 250);
    CHECK(zc_feed_lacking(feed, 3) == 3 && zc_feed_lacking(feed, 3) == 0 && zc_feed_lacking(feed, 4) == 1);
    for (int i = 0; i < 2; i++) {
        CHECK(zc_feed_next(feed, &request));
        free((void *)request.key);
    }
    CHECK(zc_feed_lacking(feed, 4) == 0);
    CHECK(!zc_feed_next(feed, &request));            /* there is no room for it: this thread has gone */
    CHECK(zc_feed_lacking(feed, 4) == 1);
    zc_feed_leave(feed);
    CHECK(zc_feed_lacking(feed, 4) == 1);
    zc_feed_close(feed, release);
}

static int yes(void *arg)
{
    ++*(int *)arg;
    return 1;
}

static void waiting_can_be_ended(void)
{
    zc_request requests[1];
    zc_arrival arrival;
    int asked = 0;

    fill_requests(requests, 1, 1);
    zc_feed *feed = zc_feed_new(requests, 1, 100);
    CHECK(begin_all(feed) == 1);
    CHECK(zc_feed_take(feed, &arrival, 1, yes, &asked) == 0 && asked == 1);
    zc_feed_close(feed, release);
}

static void *fetch(void *arg)
{
    zc_feed *feed = arg;
    zc_request request;

    for (;;) {                               /* a store begins more when there is room again; these ask for it */
        while (zc_feed_next(feed, &request)) {
            const bool last = request.owner == MANY - 1;
            free((void *)request.key);
            (void)put(feed, request.owner, request.owner % 70);
            if (last) {
                return NULL;
            }
        }
        if (atomic_load(&stop)) {
            return NULL;
        }
    }
}

static void every_answer_arrives_once(void)
{
    static zc_request requests[MANY];
    zc_arrival arrivals[7];
    test_thread threads[4];
    int times[MANY] = {0};
    size_t taken = 0;

    fill_requests(requests, MANY, 50);
    zc_feed *feed = zc_feed_new(requests, MANY, 400);
    for (int i = 0; i < 4; i++) {
        CHECK(thread_start(&threads[i], fetch, feed));
    }
    while (taken < MANY) {
        const size_t n = zc_feed_take(feed, arrivals, 7, NULL, NULL);
        for (size_t i = 0; i < n; i++) {
            times[arrivals[i].request]++;
            release(&arrivals[i].value, 1);
            zc_feed_let_go(feed, (size_t)arrivals[i].value.size);
        }
        taken += n;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 4; i++) {
        thread_join(&threads[i]);
    }
    for (size_t i = 0; i < MANY; i++) {
        CHECK(times[i] == 1);
    }
    zc_feed_close(feed, release);
    CHECK(alive == 0);
}

int main(void)
{
    RUN(hands_out_what_fits);
    RUN(one_request_always_fits);
    RUN(what_one_owner_asked_for_is_begun_together);
    RUN(answers_after_the_end_are_not_wanted);
    RUN(no_more_threads_answer_than_are_lacking);
    RUN(waiting_can_be_ended);
    RUN(every_answer_arrives_once);
    return check_report("feed");
}
