/* SPDX-License-Identifier: MIT
 *
 * Memory of large results that waits for the next one.
 */
#include "check.h"

#ifdef _WIN32

int main(void)
{
    return check_report("recycled (where pages wait)");
}

#else

#include "base/recycled.h"

#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

#define SIZE ((size_t)40 << 20)

/* Pages of AddressSanitizer's allocator, and of systems that cannot take them back, do not wait. */
static bool can_wait(void)
{
    zc_recycled_limit(4 * SIZE);
    zc_recycled_delete(zc_recycled_new(SIZE));
    const bool can = zc_recycled_waiting() > 0;
    zc_recycled_limit(0);
    return can;
}

static void the_next_of_about_its_size_takes_it(void)
{
    zc_recycled_limit(4 * SIZE);
    uint8_t *const first = zc_recycled_new(SIZE);
    memset(first, 1, SIZE);
    zc_recycled_delete(first);
    CHECK(zc_recycled_waiting() >= SIZE);
    uint8_t *const small = zc_recycled_new(SIZE / 2);
    CHECK(small != first);
    uint8_t *const next = zc_recycled_new(SIZE - SIZE / 10);
    CHECK(next == first && zc_recycled_waiting() == 0);
    CHECK(zc_recycled_room(next) >= SIZE);           /* no less than before */
    zc_recycled_delete(small);
    zc_recycled_delete(next);
    zc_recycled_limit(0);
    CHECK(zc_recycled_waiting() == 0);
}

static void no_more_than_the_limit_waits(void)
{
    uint8_t *pieces[24];

    zc_recycled_limit(SIZE + SIZE / 2);
    for (size_t i = 0; i < 2; i++) {
        pieces[i] = zc_recycled_new(SIZE);
    }
    zc_recycled_delete(pieces[0]);
    zc_recycled_delete(pieces[1]);
    CHECK(zc_recycled_waiting() <= SIZE + SIZE / 2);
    uint8_t *const next = zc_recycled_new(SIZE);
    CHECK(next == pieces[1]);                        /* the oldest made room */
    zc_recycled_delete(next);
    uint8_t *const large = zc_recycled_new(3 * SIZE);
    zc_recycled_delete(large);                       /* has none, and makes none */
    CHECK(zc_recycled_waiting() >= SIZE);

    zc_recycled_limit(SIZE_MAX);
    for (size_t i = 0; i < 24; i++) {
        pieces[i] = zc_recycled_new(1);
    }
    for (size_t i = 0; i < 24; i++) {
        zc_recycled_delete(pieces[i]);
    }
    CHECK(zc_recycled_waiting() <= SIZE + 24 * ZC_HUGE_FROM);
    zc_recycled_limit(0);
}

static void nobody_takes_it_and_it_goes_back(void)
{
    const struct timespec moment = {.tv_nsec = 100000000};

    zc_recycled_limit(SIZE_MAX);
    zc_recycled_delete(zc_recycled_new(SIZE));
    CHECK(zc_recycled_waiting() > 0);
    for (int i = 0; i < 600 && zc_recycled_waiting() > 0; i++) {
        nanosleep(&moment, NULL);
    }
    CHECK(zc_recycled_waiting() == 0);
    zc_recycled_delete(zc_recycled_new(SIZE));       /* the thread that did it may be gone */
    CHECK(zc_recycled_waiting() > 0);
    zc_recycled_limit(0);
}

static void a_child_of_fork_has_none(void)
{
    int status = 1;

    zc_recycled_limit(SIZE_MAX);
    uint8_t *const held = zc_recycled_new(SIZE);
    held[0] = 7;
    zc_recycled_delete(zc_recycled_new(SIZE));
    const pid_t pid = fork();
    if (pid == 0) {
        check_forked();
        bool ok = zc_recycled_waiting() == 0 && held[0] == 7;
        zc_recycled_delete(held);                    /* its pages are shared with the parent */
        ok = ok && zc_recycled_waiting() == 0;
        zc_recycled_delete(zc_recycled_new(SIZE));
        _exit(ok && zc_recycled_waiting() > 0 ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    CHECK(zc_recycled_waiting() > 0 && held[0] == 7);
    zc_recycled_delete(held);
    zc_recycled_limit(0);
}

static void sizes_that_no_memory_has(void)
{
    CHECK(zc_recycled_new(SIZE_MAX) == NULL);
    CHECK(zc_recycled_new(SIZE_MAX - ZC_HUGE_PAGE - ZC_ALIGNMENT) == NULL);
    zc_recycled_delete(NULL);
}

int main(void)
{
    RUN(sizes_that_no_memory_has);
    if (can_wait()) {
        RUN(the_next_of_about_its_size_takes_it);
        RUN(no_more_than_the_limit_waits);
        RUN(nobody_takes_it_and_it_goes_back);
        RUN(a_child_of_fork_has_none);
    }
    return check_report("recycled");
}

#endif
