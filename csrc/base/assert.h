/* SPDX-License-Identifier: MIT
 *
 * Assertions of what headers promise: mistakes of the caller, never of data or of the system, which are errors.
 *
 * They are on in debug builds and in builds with sanitizers, where a mistake ends the process.  In releases they are
 * compiled, so that they stay valid C, but never evaluated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The builds define it (setup.py, csrc/Makefile); a sanitizer that the compiler names counts as well. */
#ifndef ZC_ASSERTIONS
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ZC_ASSERTIONS 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define ZC_ASSERTIONS 1
#endif
#ifndef ZC_ASSERTIONS
#define ZC_ASSERTIONS 0
#endif
#endif

#if ZC_ASSERTIONS

#include <stdio.h>
#include <stdlib.h>

/* Print the condition and its place, and end the process. */
static inline _Noreturn void zc_assertion_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "zarrcore: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

#define zc_assert(condition) ((condition) ? (void)0 : zc_assertion_failed(#condition, __FILE__, __LINE__))

#else

#define zc_assert(condition) ((void)sizeof((condition) ? 1 : 0))

#endif

/* Do a[0..n) and b[0..m) have no byte in common? */
static inline bool zc_is_apart(const void *a, size_t n, const void *b, size_t m)
{
    const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;

    return n == 0 || m == 0 || (first < second ? n <= second - first : m <= first - second);
}
