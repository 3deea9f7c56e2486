/* SPDX-License-Identifier: MIT
 *
 * Assertions: on exactly in debug builds and in those with sanitizers.
 */
#include "base/assert.h"
#include "check.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "kernels/mask.h"
#include "kernels/region.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
_Static_assert(ZC_ASSERTIONS, "a build with sanitizers has assertions");
#endif

static int evaluated;

static bool note(bool result)
{
    evaluated++;
    return result;
}

static void conditions_are_evaluated_where_assertions_are_on(void)
{
    evaluated = 0;
    zc_assert(note(true));
    CHECK(evaluated == ZC_ASSERTIONS);
}

static void memory_is_apart(void)
{
    char bytes[8];

    CHECK(zc_is_apart(bytes, 4, bytes + 4, 4) && zc_is_apart(bytes + 4, 4, bytes, 4));
    CHECK(!zc_is_apart(bytes, 5, bytes + 4, 4) && !zc_is_apart(bytes + 4, 4, bytes, 5));
    CHECK(!zc_is_apart(bytes, 1, bytes, 1) && zc_is_apart(bytes, 0, bytes, 8));
}

#if ZC_ASSERTIONS && !defined _WIN32

static void no_dimension(void)
{
    size_t n = zc_mask_points(NULL, 0, NULL, 0, 0, NULL, 0);
    (void)n;
}

static void overlapping_items(void)
{
    uint16_t items[3] = {1, 2, 3};

    zc_items_copy(2, items + 1, items, &(zc_item){.size = 2});
}

static void word_that_does_not_divide(void)
{
    uint8_t from[6] = {0}, to[6];

    zc_items_copy(1, to, from, &(zc_item){.size = 6, .word = 4});
}

static int signal_of(void (*mistake)(void))
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        mistake();
        _exit(0);
    }
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void mistakes_end_the_process(void)
{
    CHECK(signal_of(no_dimension) == SIGABRT);
    CHECK(signal_of(overlapping_items) == SIGABRT);
    CHECK(signal_of(word_that_does_not_divide) == SIGABRT);
}

#endif

int main(void)
{
    RUN(conditions_are_evaluated_where_assertions_are_on);
    RUN(memory_is_apart);
#if ZC_ASSERTIONS && !defined _WIN32
    RUN(mistakes_end_the_process);
#endif
    return check_report("assert");
}
