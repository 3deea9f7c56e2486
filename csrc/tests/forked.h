/* SPDX-License-Identifier: MIT
 *
 * What programs that fork() have to say to valgrind and to ThreadSanitizer.
 */
#pragma once

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

/* A child of a process with threads may start some, too: ThreadSanitizer would end it.  Its library looks for the function outside. */
#ifndef _WIN32
__attribute__((visibility("default"), weak)) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}
#endif
