/* SPDX-License-Identifier: MIT
 *
 * Which compression libraries run in this process on our behalf.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct zc_library {
    const char *name;
    const char *version;     /* of what is loaded, not of the header; NULL: built without it */
} zc_library;

/* The library number i; false past the last.  Both strings live as long as the process. */
bool zc_library_get(size_t i, zc_library *out);

/* Where the build found them: "system", "wheel", "source", "prefix" or, if that is not known, "unknown". */
const char *zc_libraries_origin(void);
