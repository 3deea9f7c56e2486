/* SPDX-License-Identifier: MIT
 *
 * The engine without Python: arrays in a temporary directory, written and read back region by region.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "engine/engine.h"

enum { NDIM = 2, ROWS = 37, COLUMNS = 29 };

static char root[64];

/* An array of uint16 with everything that it needs. */
typedef struct fixture {
    zc_chain chain, inner, index;
    zc_array array;
    zc_local local;
    zc_store store;
    uint16_t fill;
    uint16_t model[ROWS * COLUMNS];
} fixture;

static void open_fixture(fixture *f, const char *prefix, int64_t rows, int64_t columns)
{
    memset(f, 0, sizeof *f);
    f->fill = 7;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f->model[i] = f->fill;
    }
    f->chain.item.size = 2;
    f->local = (zc_local){.root = root, .root_len = strlen(root)};
    zc_store_local(&f->local, &f->store);
    f->array = (zc_array){.ndim = NDIM, .chain = &f->chain, .fill = &f->fill, .prefix = prefix,
                          .prefix_len = strlen(prefix), .keys = {.separator = '/'}};
    f->array.grid[0] = (zc_grid_axis){.length = ROWS, .chunk = rows};
    f->array.grid[1] = (zc_grid_axis){.length = COLUMNS, .chunk = columns};
}

static void add_stage(zc_chain *chain, const char *name)
{
    CHECK(zc_codec_init(&chain->stages[chain->n_stages++], name));
}

static void make_sharded(fixture *f, int64_t rows, int64_t columns, bool index_at_start)
{
    f->inner.item.size = 2;
    f->index.item.size = 8;
    add_stage(&f->inner, "zstd");
    add_stage(&f->index, "crc32c");
    f->chain.sharded = true;
    f->chain.shard_ndim = NDIM;
    f->chain.inner_shape[0] = rows;
    f->chain.inner_shape[1] = columns;
    f->chain.inner = &f->inner;
    f->chain.index = &f->index;
    f->chain.index_at_start = index_at_start;
}

static zc_status transfer(fixture *f, bool write, int64_t row, int64_t rows, int64_t column, int64_t columns,
                          uint16_t *memory, int threads, zc_fault *fault, zc_error *err)
{
    zc_part part = {.ndim = NDIM, .memory = (char *)memory};
    const zc_call call = {.array = &f->array, .store = &f->store, .part = &part, .threads = threads};

    part.axis[0] = (zc_axis){.count = rows, .start = row, .step = 1, .stride = columns * 2};
    part.axis[1] = (zc_axis){.count = columns, .start = column, .step = 1, .stride = 2};
    zc_error_clear(err);
    return (write ? zc_write : zc_read)(&call, fault, err);
}

/* Write random boxes, keep a model, and compare the whole array after each. */
static void exercise(fixture *f)
{
    uint16_t box[ROWS * COLUMNS], all[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;

    for (int i = 0; i < 12; i++) {
        const int64_t row = rand() % ROWS, column = rand() % COLUMNS;
        const int64_t rows = 1 + rand() % (ROWS - row), columns = 1 + rand() % (COLUMNS - column);
        for (int64_t e = 0; e < rows * columns; e++) {
            box[e] = (uint16_t)(i % 4 == 3 ? f->fill : rand() % 50);
            f->model[(row + e / columns) * COLUMNS + column + e % columns] = box[e];
        }
        CHECK(transfer(f, true, row, rows, column, columns, box, 1 + i % 3, &fault, &err) == ZC_OK);
        CHECK(transfer(f, false, 0, ROWS, 0, COLUMNS, all, 1 + i % 2, &fault, &err) == ZC_OK);
        CHECK(memcmp(all, f->model, sizeof all) == 0);
    }
}

static void plain_chunks(void)
{
    fixture f;

    open_fixture(&f, "plain/", 10, 8);
    exercise(&f);
}

static void swapped_and_transposed(void)
{
    fixture f;

    open_fixture(&f, "swapped/", 9, 30);
    f.chain.item.word = 2;
    f.chain.order_ndim = NDIM;
    f.chain.order[0] = 1;
    f.chain.order[1] = 0;
    add_stage(&f.chain, "gzip");
    add_stage(&f.chain, "crc32c");
    exercise(&f);
}

enum { TALL = 1024, WIDE = 600, CHUNK_WIDE = 500 };

/* Bytes of scratch in all workspaces that the pool has. */
static size_t scratch_of_pool(zc_error *err)
{
    zc_workspace *held[16];
    size_t total = 0;

    for (int i = 0; i < 16; i++) {
        held[i] = zc_pool_borrow(err);
        for (int b = 0; b < ZC_SCRATCH_DEPTH; b++) {
            total += held[i]->scratch[b].capacity;
        }
    }
    for (int i = 0; i < 16; i++) {
        zc_workspace_trim(held[i], 0);
        zc_pool_release(held[i]);
    }
    return total;
}

/* Chunks of 1 MB, of which half that is stored: to read them takes little more than one of them. */
static void large_chunks_are_decoded_over_themselves(void)
{
    static uint16_t values[TALL * WIDE], all[TALL * WIDE];
    fixture f;
    zc_fault fault;
    zc_error err;

    for (int i = 0; i < TALL * WIDE; i++) {
        values[i] = (uint16_t)(rand() % 256);
    }
    open_fixture(&f, "large/", TALL, CHUNK_WIDE);
    f.array.grid[0].length = TALL;
    f.array.grid[1].length = WIDE;
    add_stage(&f.chain, "zstd");
    add_stage(&f.chain, "crc32c");
    CHECK(transfer(&f, true, 0, TALL, 0, WIDE, values, 1, &fault, &err) == ZC_OK);
    zc_error_clear(&err);
    scratch_of_pool(&err);           /* what the write has left */
    CHECK(transfer(&f, false, 0, TALL, 0, WIDE, all, 1, &fault, &err) == ZC_OK);
    CHECK(memcmp(all, values, sizeof all) == 0);
    const size_t chunk = (size_t)TALL * CHUNK_WIDE * 2;
    CHECK(scratch_of_pool(&err) < chunk + chunk / 3);
}

static void shards(void)
{
    fixture f;

    open_fixture(&f, "shards/", 12, 16);
    make_sharded(&f, 3, 4, false);
    exercise(&f);
    open_fixture(&f, "start/", 40, 40);
    make_sharded(&f, 5, 8, true);
    exercise(&f);
}

static void write_text(const char *name, const char *text, size_t n)
{
    char path[160];

    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(text, 1, n, file) == n);
    fclose(file);
}

/* A fault is reported with its chunk; it never looks like absent data. */
static void faults_are_named(void)
{
    fixture f;
    uint16_t all[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;
    char path[160];

    open_fixture(&f, "faults/", 37, 10);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        all[i] = (uint16_t)i;
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK);
    write_text("faults/c/0/1", "short", 5);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_ERR_SIZE);
    CHECK(fault.in_chunk && fault.chunk[0] == 0 && fault.chunk[1] == 1);
    CHECK(strcmp(err.codec, "bytes") == 0 && strstr(err.message, "5 bytes") != NULL);

    snprintf(path, sizeof path, "%s/faults/c/0/1", root);
    CHECK(unlink(path) == 0 && mkdir(path, 0777) == 0);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 2, &fault, &err) == ZC_ERR_IO);
    CHECK(fault.in_chunk && fault.chunk[1] == 1);
    CHECK(rmdir(path) == 0);
    CHECK(transfer(&f, false, 0, 1, 10, 10, all, 1, &fault, &err) == ZC_OK && all[0] == f.fill);
    f.array.missing_is_error = true;
    CHECK(transfer(&f, false, 0, 1, 10, 10, all, 1, &fault, &err) == ZC_ERR_MISSING);
}

static void a_lying_shard_index_is_refused(void)
{
    fixture f;
    uint16_t all[ROWS * COLUMNS] = {1};
    zc_fault fault;
    zc_error err;
    char shard[64];

    open_fixture(&f, "lies/", 40, 40);
    make_sharded(&f, 20, 40, false);
    f.index.n_stages = 0;            /* no checksum, so that the lie gets as far as possible */
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK);
    memset(shard, 0, sizeof shard);
    shard[32] = 1;                   /* inner chunk 0: offset 1, */
    shard[40] = 127;                 /*   127 of the 64 bytes */
    write_text("lies/c/0/0", shard, sizeof shard);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_ERR_RANGE);
    CHECK(strcmp(err.codec, "sharding_indexed") == 0);
    CHECK(err.in_shard && err.inner_chunk == 0 && err.offset == 1 && err.nbytes == 127);
    write_text("lies/c/0/0", shard, 31);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_ERR_CORRUPT);
}

static void chunks_of_nothing_but_the_fill_value_are_removed(void)
{
    fixture f;
    uint16_t all[ROWS * COLUMNS] = {1};
    zc_fault fault;
    zc_error err;
    char path[160];

    open_fixture(&f, "empty/", ROWS, COLUMNS);
    snprintf(path, sizeof path, "%s/empty/c/0/0", root);
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK && access(path, F_OK) == 0);
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, f.model, 1, &fault, &err) == ZC_OK);
    CHECK(access(path, F_OK) != 0);
}

/* One shard of 8 x 6 inner chunks of 4 x 3: two are given whole, one in part, all others stay as they were. */
static void gathered_blocks(void)
{
    enum { SIZE = 4 * 3 };
    fixture f;
    uint16_t values[3][SIZE], all[ROWS * COLUMNS];
    uint8_t mask[SIZE];
    zc_given_block table[8 * 6] = {0};
    zc_fault fault;
    zc_error err;
    const int blocks[3] = {0, 7, 20};        /* at (0, 0), (1, 1), (3, 2) */

    open_fixture(&f, "gathered/", 32, 18);
    make_sharded(&f, 4, 3, false);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f.model[i] = (uint16_t)i;
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, f.model, 1, &fault, &err) == ZC_OK);
    for (int b = 0; b < 3; b++) {
        for (int i = 0; i < SIZE; i++) {
            const int row = blocks[b] / 6 * 4 + i / 3, column = blocks[b] % 6 * 3 + i % 3;
            values[b][i] = (uint16_t)(5000 + 100 * b + i);
            mask[i] = i % 5 < 2;
            if (b < 2 || mask[i]) {
                f.model[row * COLUMNS + column] = values[b][i];
            }
        }
        table[blocks[b]] = (zc_given_block){(const char *)values[b], b == 2 ? mask : NULL};
    }
    const zc_given given = {.at = table, .stride = {6, 2}};
    zc_part part = {.ndim = NDIM, .axis = {{.count = 32, .step = 1}, {.count = 18, .step = 1}}};
    const zc_call call = {.array = &f.array, .store = &f.store, .part = &part, .blocks = &given, .threads = 2};
    CHECK(zc_write(&call, &fault, &err) == ZC_OK);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK);
    CHECK(memcmp(all, f.model, sizeof all) == 0);
}

/* Boxes that overlap, read together. */
static void many_reads(void)
{
    enum { N = 20, SIDE = 9 };
    fixture f;
    uint16_t boxes[N][SIDE * SIDE];
    zc_part parts[N];
    zc_call calls[N];
    size_t failed;
    zc_fault fault;
    zc_error err;

    open_fixture(&f, "many/", 16, 12);
    make_sharded(&f, 4, 3, true);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f.model[i] = (uint16_t)i;
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, f.model, 1, &fault, &err) == ZC_OK);
    for (int n = 0; n < N; n++) {
        parts[n] = (zc_part){.ndim = NDIM, .memory = (char *)boxes[n]};
        parts[n].axis[0] = (zc_axis){.count = SIDE, .start = n, .step = 1, .stride = SIDE * 2};
        parts[n].axis[1] = (zc_axis){.count = SIDE, .start = N - n, .step = 1, .stride = 2};
        calls[n] = (zc_call){.array = &f.array, .store = &f.store, .part = &parts[n]};
    }
    CHECK(zc_read_many(calls, N, 2, NULL, NULL, &failed, &fault, &err) == ZC_OK);
    for (int n = 0; n < N; n++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            CHECK(boxes[n][i] == f.model[(n + i / SIDE) * COLUMNS + N - n + i % SIDE]);
        }
    }
    f.array.missing_is_error = true;
    f.array.prefix = "nowhere/";
    f.array.prefix_len = strlen(f.array.prefix);
    CHECK(zc_read_many(calls, N, 1, NULL, NULL, &failed, &fault, &err) == ZC_ERR_MISSING);
    CHECK(failed < N && fault.in_chunk);
}

static void keys(void)
{
    fixture f;
    char key[64];
    const int64_t chunk[NDIM] = {0, 1234567890123};

    open_fixture(&f, "a/", 1, 1);
    CHECK(zc_chunk_key_size(&f.array) <= sizeof key);
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/c/0/1234567890123") == 0);
    f.array.keys = (zc_key_encoding){.v2 = true, .separator = '.'};
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/0.1234567890123") == 0);
    f.array.ndim = 0;
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/0") == 0);
    f.array.keys.v2 = false;
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/c") == 0);
}

int main(void)
{
    char command[96];

    snprintf(root, sizeof root, "%s/zc-engine-XXXXXX", access("/tmp", W_OK) == 0 ? "/tmp" : ".");
    if (mkdtemp(root) == NULL) {
        perror("mkdtemp");
        return 1;
    }
    srand(3);
    RUN(keys);
    RUN(plain_chunks);
    RUN(swapped_and_transposed);
    RUN(large_chunks_are_decoded_over_themselves);
    RUN(shards);
    RUN(gathered_blocks);
    RUN(many_reads);
    RUN(faults_are_named);
    RUN(a_lying_shard_index_is_refused);
    RUN(chunks_of_nothing_but_the_fill_value_are_removed);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return check_report("engine") | (system(command) != 0);
}
