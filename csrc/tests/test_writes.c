/* SPDX-License-Identifier: MIT
 *
 * Writes under way: who is waited for, and who is not.
 */
#include "engine/writes.h"

#include <string.h>

#include "check.h"
#include "threads.h"

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

static zc_place array, group, other, near;
static atomic_int steps, polls;

static void step_to(int step)
{
    while (atomic_load(&steps) < step) {
        ;                                    /* a few microseconds */
    }
}

static bool stop_at_second(void *watch)
{
    (void)watch;
    return atomic_fetch_add(&polls, 1) == 1;
}

/* Write until the test goes on. */
static void *write_array(void *arg)
{
    zc_writing writing;

    zc_writing_begin(&array, &writing);
    atomic_store(&steps, 1);
    step_to(2);
    *(bool *)arg = true;
    zc_writing_end(&writing);
    return NULL;
}

static zc_status wait_at(const zc_place *place, bool *waited)
{
    const zc_workspace ws = {.poll = NULL};

    return zc_wait_for_writes(place, &ws, waited);
}

static void waits_for_others(void)
{
    const zc_workspace impatient = {.poll = stop_at_second};
    bool done = false, waited;
    test_thread thread;

    atomic_store(&steps, 0);
    CHECK(thread_start(&thread, write_array, &done));
    step_to(1);
    CHECK(wait_at(&other, &waited) == ZC_OK && !waited);
    CHECK(wait_at(&near, &waited) == ZC_OK && !waited);
    CHECK(zc_wait_for_writes(&group, &impatient, &waited) == ZC_ERR_CANCELLED && waited);
    atomic_store(&steps, 2);
    CHECK(wait_at(&group, &waited) == ZC_OK && done);
    thread_join(&thread);
    CHECK(wait_at(&array, &waited) == ZC_OK && !waited);
}

static void waits_neither_for_itself_nor_for_later_writes(void)
{
    zc_writing first, second;
    bool waited;

    zc_writing_begin(&array, &first);
    zc_writing_begin(&array, &second);
    CHECK(wait_at(&array, &waited) == ZC_OK && !waited);
    zc_writing_end(&first);
    zc_writing_end(&second);
}

static void losses_are_counted(void)
{
    const uint64_t before = zc_losses();

    zc_note_loss();
    CHECK(zc_losses() == before + 1);
}

#ifndef _WIN32

/* A store's callback forks in the middle of a write. */
static void a_child_has_no_writes_under_way(void)
{
    bool waited;
    int status = 1;
    zc_writing writing, again;

    zc_writing_begin(&array, &writing);
    const pid_t child = fork();
    if (child == 0) {
        zc_writing_end(&writing);
        zc_writing_begin(&array, &again);
        zc_writing_end(&again);
        _exit(wait_at(&array, &waited) == ZC_OK && !waited ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    zc_writing_end(&writing);
}

#endif

int main(void)
{
    zc_place_set(&array, "/data/g/a/");
    zc_place_set(&near, "/data/g/ab/");
    zc_place_set(&group, "/data/g/");
    zc_place_set(&other, "/data/h/");
    RUN(waits_for_others);
    RUN(waits_neither_for_itself_nor_for_later_writes);
    RUN(losses_are_counted);
#ifndef _WIN32
    RUN(a_child_has_no_writes_under_way);
#endif
    return check_report("writes");
}
