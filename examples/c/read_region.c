/* SPDX-License-Identifier: MIT
 *
 * Read a region of an array and print it, with a description of the array.
 *
 *     cc read_region.c $(pkg-config --cflags --libs zarrcore) -o read_region
 *     ./read_region path/to/array 2:4 0:10:3
 *
 * One start:stop[:step] for each dimension, or none for the whole array.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zarrcore.h>

static int fail(const zarrcore_error *error)
{
    fprintf(stderr, "read_region: %s: %s", zarrcore_status_name(error->status), error->message);
    if (error->key[0] != '\0') {
        fprintf(stderr, " (key %s)", error->key);
    }
    fputc('\n', stderr);
    return 1;
}

static void describe(const zarrcore_array *array)
{
    int64_t shape[ZARRCORE_MAX_DIMS], chunks[ZARRCORE_MAX_DIMS], inner[ZARRCORE_MAX_DIMS];
    const int ndim = zarrcore_ndim(array);

    zarrcore_shape(array, shape);
    zarrcore_chunk_shape(array, chunks);
    zarrcore_inner_chunk_shape(array, inner);
    printf("%s\n  data type %s\n", zarrcore_path(array), zarrcore_typestr(array));
    for (int d = 0; d < ndim; d++) {
        printf("  dimension %d: %" PRId64 " elements, chunks of %" PRId64, d, shape[d], chunks[d]);
        if (zarrcore_is_sharded(array)) {
            printf(" (inner chunks of %" PRId64 ")", inner[d]);
        }
        putchar('\n');
    }
}

/* "2:10:3" as start, step and count. */
static int parse_slice(const char *text, int64_t *start, int64_t *step, int64_t *count)
{
    int64_t stop;
    int n = 0;

    *step = 1;
    if (sscanf(text, "%" SCNd64 ":%" SCNd64 "%n:%" SCNd64 "%n", start, &stop, &n, step, &n) < 2 ||
        text[n] != '\0' || *step < 1 || stop < *start) {
        fprintf(stderr, "read_region: expected start:stop[:step], got %s\n", text);
        return -1;
    }
    *count = (stop - *start + *step - 1) / *step;
    return 0;
}

static void print_element(const unsigned char *at, char kind, int64_t size)
{
    double real;
    float single;
    int64_t integer = 0;

    if (kind == 'f' && size == 8) {
        memcpy(&real, at, sizeof real);
        printf("%.17g\n", real);
    } else if (kind == 'f' && size == 4) {
        memcpy(&single, at, sizeof single);
        printf("%.9g\n", single);
    } else if (kind == 'i' && size == 8) {
        memcpy(&integer, at, sizeof integer);
        printf("%" PRId64 "\n", integer);
    } else {
        for (int64_t i = 0; i < size; i++) {
            printf("%02x", at[i]);
        }
        putchar('\n');
    }
}

static int read_and_print(const zarrcore_array *array, const int64_t *start, const int64_t *step,
                          const int64_t *count)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    const int64_t size = zarrcore_itemsize(array);
    int64_t n = 1;

    for (int d = 0; d < zarrcore_ndim(array); d++) {
        n *= count[d];
    }
    unsigned char *const memory = malloc((size_t)(n * size) + 1);
    if (memory == NULL) {
        fputs("read_region: out of memory\n", stderr);
        return 1;
    }
    int status = zarrcore_read(array, start, step, count, memory, NULL, 0, &error);
    if (status == ZARRCORE_OK) {
        for (int64_t i = 0; i < n; i++) {
            print_element(memory + i * size, (char)zarrcore_kind(array), size);
        }
    } else {
        status = fail(&error);
    }
    free(memory);
    return status;
}

int main(int argc, char **argv)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_array *array;
    int64_t start[ZARRCORE_MAX_DIMS] = {0}, step[ZARRCORE_MAX_DIMS], count[ZARRCORE_MAX_DIMS];
    int status = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: %s array [start:stop[:step] ...]\n", argv[0]);
        return 2;
    }
    if (zarrcore_open(argv[1], 0, &array, &error) != ZARRCORE_OK) {
        return fail(&error);
    }
    describe(array);
    zarrcore_shape(array, count);
    for (int d = 0; d < zarrcore_ndim(array); d++) {
        step[d] = 1;
    }
    if (argc > 2 && argc - 2 != zarrcore_ndim(array)) {
        fprintf(stderr, "read_region: expected %d slices, got %d\n", zarrcore_ndim(array), argc - 2);
        status = 2;
    }
    for (int d = 0; d < argc - 2 && status == 0; d++) {
        status = parse_slice(argv[2 + d], &start[d], &step[d], &count[d]) == 0 ? 0 : 2;
    }
    if (status == 0) {
        status = read_and_print(array, start, step, count);
    }
    zarrcore_release(array);
    return status;
}
