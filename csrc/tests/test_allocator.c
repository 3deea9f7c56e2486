/* SPDX-License-Identifier: MIT
 *
 * zarrcore_set_allocator: whatever grows with the data comes from it and goes back to it, on several threads, and where it refuses.
 */
#include "include/zarrcore.h"
#include "tests/check.h"

#ifndef _WIN32

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/files.h"

#define SIDE 600
#define HEAD 64              /* bytes before each piece, which show whose it is */

static const char DOCUMENT[] =
    "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [600, 600], \"data_type\": \"float32\","
    " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [200, 300]}}, \"chunk_key_encoding\": \"default\","
    " \"fill_value\": 0, \"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, %s]}";
static const char *const CODECS[] = {
    "{\"name\": \"gzip\", \"configuration\": {\"level\": 1}}",
    "{\"name\": \"blosc\", \"configuration\": {\"cname\": \"lz4\", \"clevel\": 5, \"shuffle\": \"shuffle\", \"typesize\": 4,"
    " \"blocksize\": 0}}",
};

/* ---- the allocator ------------------------------------------------------------------------------ */

typedef struct counts {
    atomic_long in_use, allocated, left;     /* left: until one is refused; below 0: none is */
    atomic_int wrong;                        /* what is released and was not allocated, or is wrongly aligned */
    char fills;                              /* what is in new memory */
} counts;

static void *take(void *user, size_t n, size_t alignment)
{
    counts *const c = user;
    void *memory = NULL;

    if (alignment != ZARRCORE_ALIGNMENT || n == 0) {
        atomic_fetch_add(&c->wrong, 1);
    }
    if (atomic_load(&c->left) >= 0 && atomic_fetch_sub(&c->left, 1) <= 0) {
        return NULL;
    }
    if (posix_memalign(&memory, HEAD, HEAD + n) != 0) {
        return NULL;
    }
    memset(memory, c->fills, HEAD + n);
    memcpy(memory, "ours", 5);
    atomic_fetch_add(&c->in_use, 1);
    atomic_fetch_add(&c->allocated, 1);
    return (char *)memory + HEAD;
}

static void give_back(void *user, void *memory)
{
    counts *const c = user;
    char *const head = (char *)memory - HEAD;

    if (memcmp(head, "ours", 5) != 0) {
        atomic_fetch_add(&c->wrong, 1);
        return;
    }
    head[0] = '-';
    atomic_fetch_sub(&c->in_use, 1);
    free(head);
}

static counts counted = {.left = -1, .fills = '\x5a'};
static const zarrcore_allocator allocator = {
    .struct_size = sizeof allocator, .user = &counted, .allocate = take, .release = give_back};

/* ---- work ----------------------------------------------------------------------------------------- */

static float values[SIDE * SIDE], found[SIDE * SIDE];
static double converted[SIDE * SIDE];
static char root[256];
static zarrcore_error error;

/* All ways of taking memory; the first status that is no success. */
static int use_array(const zarrcore_array *array)
{
    static const int64_t points[] = {3, 4, 500, 599};
    int64_t start[] = {0, 0}, count[] = {1, SIDE};
    float two[2];
    int status = zarrcore_set_cache(array, 1 << 24);

    status = status == 0 ? zarrcore_set_write_buffer(array, 1 << 24, &error) : status;
    for (; start[0] < SIDE && status == 0; start[0]++) {
        status = zarrcore_write(array, start, NULL, count, values + start[0] * SIDE, NULL, 2, 0, &error);
    }
    status = status == 0 ? zarrcore_flush(array, &error) : status;
    for (start[0] = 0; start[0] < SIDE && status == 0; start[0]++) {
        status = zarrcore_read(array, start, NULL, count, found + start[0] * SIDE, NULL, 2, &error);
    }
    status = status == 0 ? zarrcore_read_as(array, "f8", 2, NULL, NULL, NULL, converted, sizeof converted, NULL, 3, &error) : status;
    return status == 0 ? zarrcore_read_points(array, "f4", 2, 2, points, two, sizeof two, 1, &error) : status;
}

static int use_all(const char *codec)
{
    char document[1024];
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL;

    snprintf(document, sizeof document, DOCUMENT, codec);
    int status = zarrcore_open_store(root, ZARRCORE_READ_WRITE, &store, &error);
    status = status == 0 ? zarrcore_create_array(store, "a", document, &array, &error) : status;
    status = status == 0 ? use_array(array) : status;
    if (array != NULL) {
        const int closed = zarrcore_close(array, &error);
        status = status == 0 ? closed : status;
    }
    zarrcore_erase(store, "a", &error);
    zarrcore_release_store(store);
    return status;
}

static void what_is_allocated_is_released(void)
{
    CHECK(zarrcore_set_allocator(&allocator, &error) == 0);
    for (size_t i = 0; i < sizeof CODECS / sizeof *CODECS; i++) {
        memset(found, 0, sizeof found);
        memset(converted, 0, sizeof converted);
        CHECK(use_all(CODECS[i]) == 0);
        CHECK(memcmp(found, values, sizeof values) == 0);
        for (size_t k = 0; k < SIDE * SIDE; k++) {
            if (converted[k] != (double)values[k]) {
                CHECK(converted[k] == (double)values[k]);
                break;
            }
        }
    }
    CHECK(atomic_load(&counted.allocated) > 10);
    CHECK(zarrcore_shutdown() == 0);
    CHECK(atomic_load(&counted.in_use) == 0);
    CHECK(atomic_load(&counted.wrong) == 0);
}

static void an_allocator_that_refuses_is_an_error(void)
{
    int failures = 0;

    for (long left = 0; left < 60; left++) {
        atomic_store(&counted.left, left);
        const int status = use_all(CODECS[left % 2]);
        atomic_store(&counted.left, -1);
        CHECK(status == 0 || status == ZARRCORE_ERR_MEMORY);
        failures += status != 0;
        CHECK(zarrcore_shutdown() == 0);
        CHECK(atomic_load(&counted.in_use) == 0);
    }
    CHECK(failures > 5);
    CHECK(atomic_load(&counted.wrong) == 0);
}

static void it_stays_as_long_as_its_memory_is_in_use(void)
{
    char document[1024];
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL;
    const int64_t count[] = {1, SIDE};

    snprintf(document, sizeof document, DOCUMENT, CODECS[0]);
    CHECK(zarrcore_open_store(root, ZARRCORE_READ_WRITE, &store, &error) == 0);
    CHECK(zarrcore_create_array(store, "a", document, &array, &error) == 0);
    CHECK(zarrcore_set_write_buffer(array, 1 << 24, &error) == 0);
    CHECK(zarrcore_write(array, NULL, NULL, count, values, NULL, 1, 0, &error) == 0);
    CHECK(zarrcore_set_allocator(NULL, &error) == ZARRCORE_ERR_ARGUMENT);
    CHECK(strstr(error.message, "in use") != NULL);
    CHECK(zarrcore_close(array, &error) == 0);
    zarrcore_release_store(store);
    CHECK(zarrcore_set_allocator(NULL, &error) == 0);        /* it lets go of scratch by itself */
    CHECK(atomic_load(&counted.in_use) == 0);
    const long before = atomic_load(&counted.allocated);
    CHECK(zarrcore_open_store(root, ZARRCORE_READ_WRITE, &store, &error) == 0);
    CHECK(zarrcore_erase(store, "a", &error) == 0);
    zarrcore_release_store(store);
    CHECK(use_all(CODECS[0]) == 0);
    CHECK(atomic_load(&counted.allocated) == before);
}

static void wrong_structures_are_refused(void)
{
    zarrcore_allocator wrong = allocator;

    wrong.struct_size = (uint32_t)sizeof wrong - 1;
    CHECK(zarrcore_set_allocator(&wrong, &error) == ZARRCORE_ERR_ARGUMENT);
    wrong = allocator;
    wrong.reserved = 1;
    CHECK(zarrcore_set_allocator(&wrong, &error) == ZARRCORE_ERR_ARGUMENT);
    wrong = allocator;
    wrong.allocate = NULL;
    CHECK(zarrcore_set_allocator(&wrong, &error) == ZARRCORE_ERR_ARGUMENT);
    wrong = allocator;
    wrong.release = NULL;
    CHECK(zarrcore_set_allocator(&wrong, NULL) == ZARRCORE_ERR_ARGUMENT);
    CHECK(zarrcore_set_allocator(NULL, NULL) == 0);
}

int main(void)
{
    char path[256];

    if (!make_temporary(root, sizeof root)) {
        return 1;
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        values[i] = (float)(i % 7919);
    }
    RUN(what_is_allocated_is_released);
    RUN(an_allocator_that_refuses_is_an_error);
    RUN(it_stays_as_long_as_its_memory_is_in_use);
    RUN(wrong_structures_are_refused);
    snprintf(path, sizeof path, "%s", root);
    CHECK(remove_tree(path, sizeof path));
    return check_report("allocator");
}

#else

int main(void)
{
    return check_report("allocator");
}

#endif
