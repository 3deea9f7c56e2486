/* SPDX-License-Identifier: MIT
 *
 * What a child of fork() has to say to valgrind.
 */
#ifndef ZC_TESTS_FORKED_H
#define ZC_TESTS_FORKED_H

#if defined __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

/* What threads and spare lists of its parent had is in memory that nobody uses any more: valgrind looks for leaks in the parent. */
static inline void check_forked(void)
{
#ifdef VALGRIND_CLO_CHANGE
    VALGRIND_CLO_CHANGE("--leak-check=no");
#endif
}

#endif
