/* SPDX-License-Identifier: MIT
 *
 * Read an array as float64 and print the sum of its elements.  Meanwhile show how far it is, and stop at Ctrl-C.
 *
 *     cc progress.c $(pkg-config --cflags --libs zarrcore) -o progress
 *     ./progress path/to/array
 *     ./progress path/to/tree.zip
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <zarrcore.h>

static volatile sig_atomic_t interrupted;

_Static_assert(sizeof(sig_atomic_t) == sizeof(int), "the flag of a watch is an int");

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int show(void *user, uint64_t done, uint64_t expected)
{
    (void)user;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " chunks", done, expected);
    return 0;
}

/* All elements, to be freed; NULL after a failure. */
static double *read_all(const zarrcore_array *array, size_t *n, zarrcore_error *error)
{
    int64_t shape[ZARRCORE_MAX_DIMS];
    const int ndim = zarrcore_ndim(array);

    *n = 1;
    zarrcore_shape(array, shape);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] > 0 && *n > SIZE_MAX / sizeof(double) / (size_t)shape[d]) {
            return NULL;
        }
        *n *= (size_t)shape[d];
    }
    double *const values = malloc(*n * sizeof *values + 1);
    if (values != NULL && zarrcore_read_as(array, "f8", ndim, NULL, NULL, NULL, values, *n * sizeof *values, NULL, 0, error) != 0) {
        free(values);
        return NULL;
    }
    return values;
}

int main(int argc, char **argv)
{
    const zarrcore_watch watch = {.struct_size = sizeof watch, .cancelled = &interrupted, .progress = show};
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_array *array = NULL;
    size_t n;

    if (argc != 2) {
        fprintf(stderr, "usage: progress ARRAY\n");
        return 2;
    }
    signal(SIGINT, interrupt);
    double *values = NULL;
    if (zarrcore_open(argv[1], 0, &array, &error) == 0 && zarrcore_set_watch(&watch, &error) == 0) {
        values = read_all(array, &n, &error);
    }
    zarrcore_release(array);
    if (values == NULL) {
        fprintf(stderr, "progress: %s: %s\n", zarrcore_status_name(error.status), error.message);
        return error.status == ZARRCORE_ERR_CANCELLED ? 130 : 1;
    }
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    printf("%.17g\n", sum);
    free(values);
    return 0;
}
