/* SPDX-License-Identifier: MIT
 *
 * A library as compare.c sees it: one array of two dimensions of floats, in chunks, deflated with level 1.
 */
#ifndef BENCHMARKS_CAPI_LIBRARY_H
#define BENCHMARKS_CAPI_LIBRARY_H

#include <stdbool.h>

#define N 2000                   /* rows and columns */
#define CHUNK 500
#define CACHE (32 << 20)         /* bytes of decoded chunks that each library may keep */

typedef struct library {
    const char *name;
    bool locked;                                     /* one thread at a time may call it */
    void *(*create)(const char *path);               /* handles of an open array; a failure ends the program */
    void *(*open)(const char *path);
    void (*read)(void *array, const long *start, const long *count, float *out);
    void (*write)(void *array, const long *start, const long *count, const float *values);
    void (*close)(void *array);
} library;

extern const library with_zarrcore, with_hdf5, with_netcdf;

#endif
