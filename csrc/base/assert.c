/* SPDX-License-Identifier: MIT */
#include "base/assert.h"

#if ZC_ASSERTIONS

#include <stdio.h>
#include <stdlib.h>

_Noreturn void zc_assertion_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "zarrcore: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}

#else

typedef int zc_no_assertions;        /* a file is never empty in C */

#endif
