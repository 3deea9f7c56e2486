/* SPDX-License-Identifier: MIT
 *
 * Locks, generations and notes of keys.
 */
#include "engine/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "check.h"
#include "threads.h"

static zc_place place;

static zc_key key_of(const char *name)
{
    zc_key key;

    zc_key_set(&key, &place, name);
    return key;
}

static zc_status lock(const char *name, zc_held *held)
{
    const zc_key key = key_of(name);
    zc_error err;

    zc_error_clear(&err);
    return zc_key_lock(&key, held, NULL, &err);
}

/* ---- locks ---- */

enum { MANY = 5000 };

/* More keys than there are buckets, of one thread: none is taken for another. */
static void holds_many_keys(void)
{
    zc_held *held = calloc(MANY, sizeof *held), again;
    char name[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "c/%d", i);
        CHECK(lock(name, &held[i]) == ZC_OK);
    }
    CHECK(lock("c/77", &again) == ZC_ERR_LOCKED && lock("c/4999", &again) == ZC_ERR_LOCKED);
    for (int i = 0; i < MANY; i++) {
        zc_key_unlock(&held[i]);
    }
    CHECK(lock("c/77", &again) == ZC_OK);
    zc_key_unlock(&again);
    free(held);
}

/* An array is the same whether its store begins at it or above it. */
static void knows_keys_by_their_whole_text(void)
{
    zc_place above, below;
    zc_key one, other;

    zc_place_set(&above, "/data/");
    zc_place_set(&below, "/data/x/");
    zc_key_set(&one, &above, "x/c/0");
    zc_key_set(&other, &below, "c/0");
    CHECK(one.hash == other.hash);
    zc_key_set(&other, &below, "c/1");
    CHECK(one.hash != other.hash);
}

static int counter, failed;

/* CHECK is for one thread alone. */
static void check_in_thread(bool right)
{
    __atomic_add_fetch(&failed, !right, __ATOMIC_SEQ_CST);
}

static void *count(void *arg)
{
    zc_held held;

    for (int i = 0; i < 2000; i++) {
        check_in_thread(lock(arg, &held) == ZC_OK);
        const int seen = counter;
        counter = seen + 1;                  /* ThreadSanitizer looks on */
        zc_key_unlock(&held);
    }
    return NULL;
}

static void lets_one_thread_in(void)
{
    test_thread threads[8];

    counter = 0;
    for (int i = 0; i < 8; i++) {
        CHECK(thread_start(&threads[i], count, "c/0"));
    }
    for (int i = 0; i < 8; i++) {
        thread_join(&threads[i]);
    }
    CHECK(counter == 8 * 2000 && failed == 0);
}

/* Threads in a circle, each with a lock that the one before it wants. */
enum { CIRCLE = 3 };

static int arrived, given_up;

static void *go_round(void *arg)
{
    const int number = *(int *)arg;
    zc_held own, next;
    char name[16];

    snprintf(name, sizeof name, "circle/%d", number);
    check_in_thread(lock(name, &own) == ZC_OK);
    __atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < CIRCLE) {
    }
    snprintf(name, sizeof name, "circle/%d", (number + 1) % CIRCLE);
    const zc_status status = lock(name, &next);
    if (status == ZC_OK) {
        zc_key_unlock(&next);
    } else {
        check_in_thread(status == ZC_ERR_LOCKED);
        __atomic_add_fetch(&given_up, 1, __ATOMIC_SEQ_CST);
    }
    zc_key_unlock(&own);
    return NULL;
}

static void notices_a_dead_lock(void)
{
    test_thread threads[CIRCLE];
    int numbers[CIRCLE];

    for (int i = 0; i < CIRCLE; i++) {
        numbers[i] = i;
        CHECK(thread_start(&threads[i], go_round, &numbers[i]));
    }
    for (int i = 0; i < CIRCLE; i++) {
        thread_join(&threads[i]);
    }
    CHECK(given_up == 1 && failed == 0);     /* that is enough for all others to go on */
}

static bool gives_up(void *turns)
{
    return ++*(int *)turns == 2;
}

static void *try_to_lock(void *arg)
{
    zc_workspace ws;
    zc_held held;
    zc_error err;
    int turns = 0;

    memset(&ws, 0, sizeof ws);
    ws.poll = gives_up;
    ws.watch = &turns;
    *(zc_status *)arg = zc_key_lock(&(zc_key){.place = &place, .hash = key_of("c/0").hash}, &held, &ws, &err);
    return NULL;
}

static void waiting_can_be_cancelled(void)
{
    test_thread thread;
    zc_status status = ZC_OK;
    zc_held held;

    CHECK(lock("c/0", &held) == ZC_OK);
    CHECK(thread_start(&thread, try_to_lock, &status));
    thread_join(&thread);
    CHECK(status == ZC_ERR_CANCELLED);
    zc_key_unlock(&held);
}

static zc_status lock_in_a_job(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const zc_key key = key_of(job);
    zc_held held;
    const zc_status status = zc_key_lock(&key, &held, ws, err);

    (void)item;
    if (status == ZC_OK) {
        usleep(1000);
        zc_key_unlock(&held);
    }
    return status;
}

/* A lock that was taken before a job is not given back before the job ends, so no thread of the job waits for it. */
static void threads_of_a_job_do_not_wait_for_its_caller(void)
{
    zc_run run = {.task = lock_in_a_job, .job = "c/0", .n_items = 64, .threads = 4};
    zc_held held;
    zc_error err;

    CHECK(lock("c/0", &held) == ZC_OK);
    for (int i = 0; i < 20; i++) {
        zc_error_clear(&err);
        CHECK(zc_pool_run(&run, NULL, &err) == ZC_ERR_LOCKED);
        run.job = "c/1";
        zc_error_clear(&err);
        CHECK(zc_pool_run(&run, NULL, &err) == ZC_OK);       /* for each other they do */
        run.job = "c/0";
    }
    zc_key_unlock(&held);
}

/* ---- generations ---- */

static uint64_t generation(const char *name)
{
    const zc_key key = key_of(name);

    return zc_key_generation(&key);
}

static void change(const zc_place *at, const char *name)
{
    zc_key key;

    zc_key_set(&key, at, name);
    zc_change_end(zc_change_begin(&key));
}

static void grow_with_each_change(void)
{
    const zc_key key = key_of("c/0/1");
    const uint64_t before = generation("c/0/1"), other = generation("c/0/2");
    const zc_change first = zc_change_begin(&key);

    CHECK(generation("c/0/1") == ZC_CHANGING && generation("c/0/2") == other);
    const zc_change second = zc_change_begin(&key);
    zc_change_end(first);
    CHECK(generation("c/0/1") == ZC_CHANGING);
    zc_change_end(second);
    CHECK(generation("c/0/1") != ZC_CHANGING && generation("c/0/1") > before);
}

/* A change of a prefix is one of all keys below it, whatever place it is named from. */
static void prefixes_stand_for_all_below(void)
{
    static const char *const prefixes[] = {"", "c/", "c/0/"};
    zc_place above;

    for (size_t i = 0; i < 3; i++) {
        const uint64_t before = generation("c/0/1"), other = generation("d/0");
        change(&place, prefixes[i]);
        CHECK(generation("c/0/1") > before && (generation("d/0") > other) == (i == 0));
    }
    zc_place_set(&above, "/data/");
    const uint64_t before = generation("c/0/1");
    change(&above, "y/");
    CHECK(generation("c/0/1") == before);
    change(&above, "x/");
    CHECK(generation("c/0/1") > before);
    change(&above, "");
    CHECK(generation("c/0/1") > before + 2);
}

static void what_lies_too_deep_has_none(void)
{
    char text[4 * ZC_PLACE_DEPTH + 1] = "";
    zc_place deep;
    zc_key key;

    for (int i = 0; i < ZC_PLACE_DEPTH + 1; i++) {
        strcat(text, "ab/");
    }
    zc_place_set(&deep, text);
    zc_key_set(&key, &deep, "c/0");
    CHECK(zc_key_generation(&key) == ZC_CHANGING);
    zc_key_set(&key, &place, text);
    CHECK(zc_key_generation(&key) == ZC_CHANGING);
}

static int reads, changes;

static zc_status read_under_writes(void *arg)
{
    reads++;
    if (reads <= changes) {
        change(&place, arg);
    }
    return ZC_OK;
}

static void reads_again_after_a_change(void)
{
    const zc_key key = key_of("c/9");
    zc_held held;
    zc_error err;

    for (changes = 0; changes < 2; changes++) {
        reads = 0;
        CHECK(zc_key_read(&key, read_under_writes, "c/9", NULL, &err) == ZC_OK && reads == 1 + changes);
    }
    CHECK(lock("c/9", &held) == ZC_OK);      /* a store's callback reads what is being written */
    const zc_change writing = zc_change_begin(&key);
    reads = 0, changes = 0;
    CHECK(zc_key_read(&key, read_under_writes, "c/9", NULL, &err) == ZC_OK && reads == 1);
    zc_change_end(writing);
    zc_key_unlock(&held);
}

/* ---- notes ---- */

static zc_place place_of(const char *text)
{
    zc_place out;

    zc_place_set(&out, text);
    return out;
}

static void known_shapes(void)
{
    const int64_t old[2] = {4, 9}, new[2] = {5, 9}, swapped[2] = {9, 4};
    const zc_place a = place_of("1/a/"), b = place_of("1/b/"), elsewhere = place_of("2/a/");

    CHECK(!zc_shape_is_stale(&a, 2, old));
    zc_shape_note(&a, 2, new, true);             /* nothing was known of it */
    CHECK(!zc_shape_is_stale(&a, 2, old));
    zc_shape_note(&a, 2, new, false);
    CHECK(zc_shape_is_stale(&a, 2, old));
    CHECK(zc_shape_is_stale(&a, 2, swapped));
    CHECK(zc_shape_is_stale(&a, 1, new));
    CHECK(!zc_shape_is_stale(&a, 2, new));
    CHECK(!zc_shape_is_stale(&elsewhere, 2, old));
    CHECK(!zc_shape_is_stale(&b, 2, old));
    zc_shape_note(&a, 2, old, true);
    CHECK(!zc_shape_is_stale(&a, 2, old));
    CHECK(zc_shape_is_stale(&a, 2, new));
}

static void arrays_that_were_not_noted_are_not_stale(void)
{
    const int64_t length = 7;
    char name[32];

    for (int i = 0; i < 100000; i++) {           /* one in fifty is noted */
        snprintf(name, sizeof name, "%s-%d/", i % 50 == 0 ? "noted" : "other", i);
        const zc_place array = place_of(name);
        if (i % 50 == 0) {
            zc_shape_note(&array, 1, &length, false);
        }
        CHECK(!zc_shape_is_stale(&array, 1, &length));
    }
}

static void no_change_is_forgotten(void)
{
    char name[32];

    for (int64_t i = 0; i < 60000; i++) {        /* more than there is room for */
        const int64_t length = i + 1;
        snprintf(name, sizeof name, "array-%d/", (int)i);
        const zc_place array = place_of(name);
        zc_shape_note(&array, 1, &length, false);
    }
    for (int64_t i = 0; i < 60000; i++) {
        const int64_t before = i;
        snprintf(name, sizeof name, "array-%d/", (int)i);
        const zc_place array = place_of(name);
        CHECK(zc_shape_is_stale(&array, 1, &before));
    }
}

#ifndef _WIN32

/* A store's callback forks while its key is locked and being changed. */
static void a_child_starts_with_nothing_held(void)
{
    const zc_key key = key_of("c/0"), other = key_of("c/1");
    zc_held held, of_other, again;
    int status = 1;

    CHECK(lock("c/0", &held) == ZC_OK && lock("c/1", &of_other) == ZC_OK);
    const zc_change change = zc_change_begin(&key);
    const uint64_t before = zc_key_generation(&other);
    const pid_t child = fork();
    if (child == 0) {
        check_forked();
        bool right = zc_key_generation(&key) != ZC_CHANGING && zc_key_generation(&other) == before;
        zc_change_end(change);               /* the callback returns, in the child too */
        zc_key_unlock(&held);
        right = right && zc_key_generation(&key) != ZC_CHANGING;
        right = right && lock("c/0", &again) == ZC_OK && lock("c/0", &held) == ZC_ERR_LOCKED;
        zc_key_unlock(&again);
        _exit(right ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(zc_key_generation(&key) == ZC_CHANGING && lock("c/0", &again) == ZC_ERR_LOCKED);
    zc_change_end(change);
    zc_key_unlock(&held);
    zc_key_unlock(&of_other);
}

/* As Python ends threads, in a callback, when the interpreter ends. */
static void end_with_a_lock(void)
{
    zc_held held;

    CHECK(lock("c/0", &held) == ZC_OK);
    zc_thread_leaves();
    zc_thread_returns();
    zc_thread_leaves();
    pthread_exit(NULL);
}

static void *return_and_end(void *unused)
{
    zc_thread_leaves();
    zc_thread_returns();
    return unused;
}

/* Its locks lay in frames that were gone, which all threads followed that wanted others. */
static void the_frames_of_a_thread_that_is_ended_stay(void)
{
    test_thread other;
    zc_held held[2];

    CHECK(thread_start(&other, return_and_end, NULL) && thread_join(&other) == NULL && !zc_thread_has_ended());
    CHECK(zc_thread_start(end_with_a_lock));
    while (!zc_thread_has_ended()) {
        usleep(1000);
    }
    CHECK(lock("c/0", &held[0]) == ZC_ERR_LOCKED);              /* and is not waited for without end */
    CHECK(lock("c/1", &held[0]) == ZC_OK && lock("c/2", &held[1]) == ZC_OK);
    zc_key_unlock(&held[0]);
    zc_key_unlock(&held[1]);
}

#endif

int main(void)
{
    zc_place_set(&place, "/data/x/");
    RUN(holds_many_keys);
    RUN(knows_keys_by_their_whole_text);
    RUN(lets_one_thread_in);
    RUN(notices_a_dead_lock);
    RUN(waiting_can_be_cancelled);
    RUN(threads_of_a_job_do_not_wait_for_its_caller);
    RUN(grow_with_each_change);
    RUN(prefixes_stand_for_all_below);
    RUN(what_lies_too_deep_has_none);
    RUN(reads_again_after_a_change);
    RUN(known_shapes);
    RUN(arrays_that_were_not_noted_are_not_stale);
    RUN(no_change_is_forgotten);
#ifndef _WIN32
    RUN(a_child_starts_with_nothing_held);
    RUN(the_frames_of_a_thread_that_is_ended_stay);             /* last: nothing is waited for any more */
#endif
    return check_report("keys");
}
