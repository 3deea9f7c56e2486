/* SPDX-License-Identifier: MIT
 *
 * Arrays in a local store to which something happens while they are read, and disks that fail.
 */
#include <errno.h>

#include "engine_fixture.h"

static fixture f;
static zc_store real;                /* what f.store has been made of */
static uint16_t values[ROWS * COLUMNS];
static zc_fault fault;
static zc_error err;

/* ---- what happens when the first chunk is opened ---- */

static void (*accident)(void);

static zc_status load_after_accident(const zc_store *store, const char *key, uint8_t *dst, size_t cap, zc_value *out,
                                     zc_error *error)
{
    if (accident != NULL) {
        accident();
        accident = NULL;
    }
    return real.load(store, key, dst, cap, out, error);
}

static bool path_of(const char *name, char *path)
{
    return snprintf(path, 300, "%s/%s", root, name) < 300;
}

static void remove_one(const char *name)
{
    char path[300];

    CHECK(path_of(name, path) && remove_tree(path, sizeof path));
}

/* Out of the way, without the chunk that is read next. */
static void lose_chunk_and_move(void)
{
    char from[300], to[300];

    remove_one("array/c/0/1");
    CHECK(path_of("array", from) && path_of("elsewhere", to) && rename(from, to) == 0);
}

static void put_another_in_its_place(void)
{
    char path[300];

    lose_chunk_and_move();
    CHECK(path_of("array", path) && make_directory(path));
    write_text("array/zarr.json", "{}", 2);
}

static void remove_document_and_chunk(void)
{
    remove_one("array/zarr.json");
    remove_one("array/c/0/1");
}

static void remove_chunk(void)
{
    remove_one("array/c/0/1");
}

/* Read an array of 12 chunks; that happens in the middle of the read. */
static zc_status read_during(void (*what)(void))
{
    char path[300];

    open_fixture(&f, "array/", 10, 10);
    f.local.documents = true;
    real = f.store;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (uint16_t)(i + 100);
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
    write_text("array/zarr.json", "{}", 2);
    f.store.load = load_after_accident;
    accident = what;
    const zc_status status = transfer(&f, false, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err);
    CHECK(accident == NULL);
    remove_one("array");
    if (path_of("elsewhere", path) && is_directory(path)) {
        remove_one("elsewhere");
    }
    return status;
}

static void an_array_that_is_removed_while_it_is_read(void)
{
#ifndef _WIN32                       /* where nobody can move what is open */
    CHECK(read_during(put_another_in_its_place) == ZC_ERR_IO && strstr(err.message, "was replaced") != NULL);
#endif
    CHECK(read_during(remove_document_and_chunk) == ZC_ERR_IO && strstr(err.message, "zarr.json") != NULL);
    CHECK(read_during(remove_chunk) == ZC_OK && values[10] == f.fill && values[0] == 100);
}

/* ---- a disk that fails after the first bytes of each file ---- */

static zc_status load_some(const zc_store *store, const char *key, uint8_t *dst, size_t cap, zc_value *out,
                           zc_error *error)
{
    const zc_status status = real.load(store, key, dst, cap, out, error);

    if (status == ZC_OK && out->data != NULL && out->size > 10) {
        out->size = 10;
    }
    return status;
}

static zc_status fail_to_read(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *error)
{
    return offset + n <= 10 ? real.read(value, offset, dst, n, error) : zc_fail_errno(error, EIO, "cannot read");
}

static void a_disk_that_fails_is_not_a_damaged_chunk(void)
{
    static const char *const codecs[] = {NULL, "zstd", "blosc", "gzip", "lz4", "crc32c"};

    for (int c = 0; c < 6; c++) {
        open_fixture(&f, "disk/", 10, 10);
        if (codecs[c] != NULL) {
            add_stage(&f.chain, codecs[c]);
        }
        real = f.store;
        CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_OK);
        f.store.load = load_some;
        f.store.read = fail_to_read;
        CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, values, 1, &fault, &err) == ZC_ERR_IO);
        CHECK(err.sys_errno == EIO && fault.in_chunk);
    }
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        values[i] = (uint16_t)i;
    }
    RUN(an_array_that_is_removed_while_it_is_read);
    RUN(a_disk_that_fails_is_not_a_damaged_chunk);
    return check_report("store") | !close_root();
}
