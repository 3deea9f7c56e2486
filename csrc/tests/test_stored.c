/* SPDX-License-Identifier: MIT
 *
 * Which chunks of an array are stored (engine/stored.h): keys that are read backwards, and directories that are listed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>

#include "check.h"
#include "engine/stored.h"
#include "files.h"
#include "tests/failing_malloc.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static const zc_key_encoding encodings[] = {
    {.separator = '/'}, {.separator = '.'}, {.v2 = true, .separator = '.'}, {.v2 = true, .separator = '/'},
    {.v2 = true, .reversed = true, .separator = '/'},
};

static zc_array array_of(int ndim, zc_key_encoding keys, const char *prefix)
{
    return (zc_array){.ndim = ndim, .keys = keys, .prefix = prefix, .prefix_len = strlen(prefix)};
}

/* ---- keys ---- */

static uint64_t dice = 1;

static uint64_t any_number(void)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return dice >> 4;
}

/* Of any number of digits that a key may have. */
static int64_t any_coordinate(void)
{
    uint64_t most = 10;

    for (uint64_t digits = any_number() % 18; digits > 0; digits--) {
        most *= 10;
    }
    return (int64_t)(any_number() % most);
}

static void a_key_is_read_as_it_was_written(void)
{
    for (size_t e = 0; e < LENGTH(encodings); e++) {
        for (int ndim = 0; ndim <= ZC_MAX_DIMS; ndim++) {
            const zc_array array = array_of(ndim, encodings[e], ndim % 2 == 0 ? "" : "some/where/");
            int64_t chunk[ZC_MAX_DIMS + 1], found[ZC_MAX_DIMS + 1];

            for (int d = 0; d < ndim; d++) {
                chunk[d] = d % 7 == 0 ? 0 : d % 5 == 0 ? INT64_C(999999999999999999) : any_coordinate();
            }
            char *const key = malloc(zc_chunk_key_size(&array));
            zc_chunk_key(&array, chunk, key);
            const char *const name = key + array.prefix_len;
            CHECK(zc_chunk_of_key(&array, name, strlen(name), found));
            CHECK(memcmp(chunk, found, (size_t)ndim * sizeof *chunk) == 0);
            /* Nothing may be missing of it: each shorter text names another chunk, or none. */
            for (size_t n = 0; n < strlen(name); n++) {
                CHECK(!zc_chunk_of_key(&array, name, n, found) || memcmp(chunk, found, (size_t)ndim * sizeof *chunk) != 0);
            }
            free(key);
        }
    }
}

static void other_names_are_no_keys(void)
{
    static const struct {
        int encoding, ndim;
        const char *name;
    } cases[] = {
        {0, 2, ""}, {0, 2, "c"}, {0, 2, "c/"}, {0, 2, "c/0"}, {0, 2, "c/0/"}, {0, 2, "c/0/0/"}, {0, 2, "c/0/0/0"},
        {0, 2, "c//0"}, {0, 2, "/0/0"}, {0, 2, "0/0"}, {0, 2, "c0/0"}, {0, 2, "d/0/0"}, {0, 2, "C/0/0"}, {0, 2, "c/0.0"}, {0, 2, "c.0.0"},
        {0, 2, "c/00/0"}, {0, 2, "c/0/01"}, {0, 2, "c/-1/0"}, {0, 2, "c/+1/0"}, {0, 2, "c/ 1/0"}, {0, 2, "c/1/0 "}, {0, 2, "c/1e3/0"},
        {0, 2, "c/0x1/0"}, {0, 2, "c/\xd9\xa1/0"}, {0, 2, "c/1000000000000000000/0"}, {0, 2, "c/99999999999999999999/0"},
        {0, 0, ""}, {0, 0, "c/"}, {0, 0, "c/0"}, {0, 0, "0"}, {0, 1, "zarr.json"},
        {1, 2, "c/0/0"}, {1, 2, "c.0/0"}, {1, 2, "c.0.0."}, {1, 2, "c..0"}, {1, 2, ".0.0"},
        {2, 2, "0/0"}, {2, 2, "0."}, {2, 2, ".0"}, {2, 2, "c.0.0"}, {2, 2, "0.0.0"}, {2, 2, "0"}, {2, 0, ""}, {2, 0, "1"}, {2, 0, "00"},
        {2, 0, "0.0"}, {2, 1, ""}, {2, 1, ".zarray"}, {3, 2, "0.0"}, {3, 2, "0//0"}, {4, 2, "0.0"}, {4, 2, "0/0/"},
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const zc_array array = array_of(cases[i].ndim, encodings[cases[i].encoding], "");
        int64_t found[3];
        const bool taken = zc_chunk_of_key(&array, cases[i].name, strlen(cases[i].name), found);

        CHECK(!taken);
        if (taken) {
            fprintf(stderr, "%s was taken for a chunk\n", cases[i].name);
        }
    }
}

static void the_other_order_is_that_of_the_dimensions(void)
{
    const zc_array plain = array_of(3, encodings[3], ""), reversed = array_of(3, encodings[4], "");
    int64_t found[3];

    CHECK(zc_chunk_of_key(&plain, "1/20/300", 8, found) && found[0] == 1 && found[1] == 20 && found[2] == 300);
    CHECK(zc_chunk_of_key(&reversed, "1/20/300", 8, found) && found[0] == 300 && found[1] == 20 && found[2] == 1);
}

/* ---- listing ---- */

#ifndef _WIN32

#include <fcntl.h>

enum { MANY = 300 };                 /* chunks: more than room is made for at first */

static char root[300];

static void put_file(const char *name, size_t n)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", root, name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)n) == 0);
    close(fd);
}

static void put_directory(const char *name)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK(mkdir(path, 0777) == 0);
}

static void take_away(const char *name)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK(remove_tree(path, sizeof path));
}

static int list(const zc_array *array, bool sizes, size_t most, zc_stored *out)
{
    const zc_local local = {.root = root, .root_len = strlen(root)};

    return zc_list_stored(array, &local, sizes, most, NULL, NULL, out);
}

/* The size of a chunk of two dimensions, which is listed once; -9: it is not. */
static int64_t size_at(const zc_stored *stored, int64_t row, int64_t column)
{
    int64_t size = -9;

    for (size_t i = 0; i < stored->n; i++) {
        if (stored->chunks[2 * i] == row && stored->chunks[2 * i + 1] == column) {
            CHECK(size == -9);
            size = stored->sizes[i];
        }
    }
    return size;
}

static bool has_other(const zc_stored *stored, const char *name)
{
    for (size_t at = 0; at < stored->others_n; at += strlen(stored->others + at) + 1) {
        if (strcmp(stored->others + at, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An array at a/b: chunks, a directory in the place of one, names that are none, a node below, a file for locks. */
static void put_array(void)
{
    put_directory("a");
    put_directory("a/b");
    put_file("a/b/zarr.json", 2);
    put_file("a/b/.zc-locks", 0);
    put_directory("a/b/c");
    put_directory("a/b/c/0");
    put_directory("a/b/c/7");
    put_directory("a/b/c/empty");
    put_file("a/b/c/0/0", 10);
    put_file("a/b/c/0/12", 0);
    put_file("a/b/c/0/012", 5);
    put_file("a/b/c/7/999999999999999999", 70);
    put_directory("a/b/c/7/1");
    put_directory("a/b/inner");
    put_file("a/b/inner/zarr.json", 2);
}

static void chunks_and_all_that_is_none(void)
{
    const zc_array array = array_of(2, encodings[0], "a/b/");

    put_array();
    for (int sizes = 0; sizes < 2; sizes++) {
        zc_stored stored;

        CHECK(list(&array, sizes != 0, 1000, &stored) == 0);
        CHECK(stored.n == 3);
        CHECK(size_at(&stored, 0, 0) == (sizes ? 10 : ZC_SIZE_NOT_ASKED));
        CHECK(size_at(&stored, 0, 12) == (sizes ? 0 : ZC_SIZE_NOT_ASKED));
        CHECK(size_at(&stored, 7, INT64_C(999999999999999999)) == (sizes ? 70 : ZC_SIZE_NOT_ASKED));
        CHECK(has_other(&stored, "zarr.json") && has_other(&stored, "inner/zarr.json"));
        CHECK(has_other(&stored, "c/0/012") && has_other(&stored, "c/empty/"));
        CHECK(has_other(&stored, "c/7/1/"));         /* a directory in the place of a chunk */
        CHECK(!has_other(&stored, ".zc-locks"));
        zc_stored_free(&stored);
        CHECK(stored.chunks == NULL && stored.n == 0);
    }
    take_away("a");
}

static void an_array_without_dimensions_has_one_chunk(void)
{
    for (int v2 = 0; v2 < 2; v2++) {
        const zc_array array = array_of(0, encodings[v2 ? 2 : 0], "a/");
        zc_stored stored;

        put_directory("a");
        CHECK(list(&array, true, 10, &stored) == 0 && stored.n == 0 && stored.others_n == 0);
        zc_stored_free(&stored);
        put_file(v2 ? "a/0" : "a/c", 4);
        put_file(v2 ? "a/c" : "a/0", 5);
        CHECK(list(&array, true, 10, &stored) == 0 && stored.n == 1 && stored.sizes[0] == 4);
        CHECK(has_other(&stored, v2 ? "c" : "0"));
        zc_stored_free(&stored);
        take_away("a");
    }
}

static void an_array_may_be_the_whole_store(void)
{
    const zc_array array = array_of(1, encodings[2], "");
    zc_stored stored;

    put_file("5", 50);
    CHECK(list(&array, true, 10, &stored) == 0 && stored.n == 1 && stored.chunks[0] == 5 && stored.sizes[0] == 50);
    zc_stored_free(&stored);
    take_away("5");
}

static void put_many(void)
{
    char name[64];

    put_directory("a");
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "a/%d", i);
        put_file(name, (size_t)i);
        snprintf(name, sizeof name, "a/%d.of-somebody-else", i);
        put_file(name, 0);
    }
}

static void more_than_room_is_made_for_at_first(void)
{
    const zc_array array = array_of(1, encodings[2], "a/");
    zc_stored stored;
    bool seen[MANY] = {false};

    put_many();
    CHECK(list(&array, true, 100000, &stored) == 0 && stored.n == MANY);
    for (size_t i = 0; i < stored.n; i++) {
        CHECK(stored.sizes[i] == stored.chunks[i] && stored.chunks[i] < MANY && !seen[stored.chunks[i]]);
        seen[stored.chunks[i]] = true;
    }
    CHECK(has_other(&stored, "0.of-somebody-else") && has_other(&stored, "299.of-somebody-else"));
    zc_stored_free(&stored);
    for (size_t most = 0; most < MANY; most += 13) {
        CHECK(list(&array, true, most, &stored) == EFBIG && stored.n <= most);
        zc_stored_free(&stored);
    }
    take_away("a");
}

static void what_cannot_be_listed_is_an_error(void)
{
    const zc_array absent = array_of(1, encodings[0], "absent/"), file = array_of(1, encodings[0], "file/");
    const zc_array linked = array_of(1, encodings[0], "linked/");
    char path[600];
    zc_stored stored;

    put_file("file", 1);
    put_directory("linked");
    snprintf(path, sizeof path, "%s/linked/c", root);
    CHECK(symlink("../file", path) == 0);
    CHECK(list(&absent, false, 10, &stored) == ENOENT && stored.n == 0);
    CHECK(list(&file, false, 10, &stored) == ENOTDIR && stored.n == 0);
    CHECK(list(&linked, false, 10, &stored) == ELOOP);
    zc_stored_free(&stored);
    take_away("file");
    take_away("linked");
}

static int stop(void *calls)
{
    ++*(int *)calls;
    return 1;
}

static void a_pause_may_end_it(void)
{
    const zc_local local = {.root = root, .root_len = strlen(root)};
    const zc_array array = array_of(1, encodings[2], "a/");
    zc_stored stored;
    char name[64];
    int calls = 0;

    put_directory("a");
    for (int i = 0; i < 4200; i++) {
        snprintf(name, sizeof name, "a/%d", i);
        put_file(name, 0);
    }
    CHECK(zc_list_stored(&array, &local, false, 100000, stop, &calls, &stored) == ECANCELED && calls == 1);
    zc_stored_free(&stored);
    take_away("a");
}

#ifdef CAN_FAIL
static void memory_that_runs_out_is_an_error(void)
{
    const zc_array array = array_of(1, encodings[2], "a/");
    bool failed = true;
    long n;

    put_many();
    for (n = 0; failed && n < 100; n++) {
        zc_stored stored;

        fail_from(n, false);
        const int code = list(&array, true, 100000, &stored);
        failed = has_failed();
        CHECK(code == (failed ? ENOMEM : 0) && (failed || stored.n == MANY));
        zc_stored_free(&stored);
    }
    CHECK(n > 4 && n < 100);         /* its path, chunks and sizes twice, names more than once */
    take_away("a");
}
#endif

static void run_listings(void)
{
    if (!make_temporary_in_memory(root, sizeof root)) {
        perror("no directory for the tests");
        exit(1);
    }
    RUN(chunks_and_all_that_is_none);
    RUN(an_array_without_dimensions_has_one_chunk);
    RUN(an_array_may_be_the_whole_store);
    RUN(more_than_room_is_made_for_at_first);
    RUN(what_cannot_be_listed_is_an_error);
    RUN(a_pause_may_end_it);
#ifdef CAN_FAIL
    RUN(memory_that_runs_out_is_an_error);
#endif
    CHECK(remove_tree(root, sizeof root));
}

#else

static void run_listings(void)
{
}

#endif

int main(void)
{
    RUN(a_key_is_read_as_it_was_written);
    RUN(other_names_are_no_keys);
    RUN(the_other_order_is_that_of_the_dimensions);
    run_listings();
    return check_report("stored");
}
