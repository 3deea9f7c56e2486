/* SPDX-License-Identifier: MIT
 *
 * The C tests' own few lines of harness: each test program lists its cases in main().
 *
 *     static void adds(void) { CHECK(1 + 1 == 2); }
 *     int main(void) { RUN(adds); return check_report("arith"); }
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/forked.h"

static int check_failures;
static int check_count;
static int check_cases;
static const char *check_case = "";

#define CHECK(condition)                                                                         \
    do {                                                                                         \
        check_count++;                                                                           \
        if (!(condition)) {                                                                      \
            check_failures++;                                                                    \
            fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, check_case, #condition); \
        }                                                                                        \
    } while (0)

#define RUN(test)                                                                                \
    do {                                                                                         \
        check_case = #test;                                                                      \
        check_cases++;                                                                           \
        test();                                                                                  \
    } while (0)

/* Does valgrind run this?  It rounds integers of 64 bits twice on their way to floats of 32, and keeps descriptors of its own. */
static inline bool check_emulated(void)
{
    return getenv("ZC_EMULATED") != NULL;
}

static inline int check_report(const char *name)
{
    printf("%-24s %3d cases %8d checks  %s\n", name, check_cases, check_count,
           check_failures ? "FAILED" : "ok");
    return check_failures ? 1 : 0;
}
