/* SPDX-License-Identifier: MIT
 *
 * What the tests of the engine share: arrays in a temporary directory, and random writes to them.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "chain_kinds.h"
#include "check.h"
#include "engine/engine.h"
#include "files.h"

enum { NDIM = 2, ROWS = 37, COLUMNS = 29 };

static char root[200];

/* An array of uint16 with everything that it needs. */
typedef struct fixture {
    zc_chain chain, inner, index;
    zc_array array;
    zc_place place;
    zc_local local;
    zc_store store;
    uint16_t fill;
    uint16_t model[ROWS * COLUMNS];
} fixture;

static inline void open_fixture(fixture *f, const char *prefix, int64_t rows, int64_t columns)
{
    char place[300];

    memset(f, 0, sizeof *f);
    snprintf(place, sizeof place, "%s/%s", root, prefix);
    zc_place_set(&f->place, place);
    f->fill = 7;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f->model[i] = f->fill;
    }
    f->chain.item.size = 2;
    f->local = (zc_local){.root = root, .root_len = strlen(root)};
    zc_store_local(&f->local, &f->store);
    f->array = (zc_array){.ndim = NDIM, .chain = &f->chain, .fill = &f->fill, .prefix = prefix,
                          .prefix_len = strlen(prefix), .place = &f->place, .keys = {.separator = '/'}};
    f->array.grid[0] = (zc_grid_axis){.length = ROWS, .chunk = rows};
    f->array.grid[1] = (zc_grid_axis){.length = COLUMNS, .chunk = columns};
}

static inline void add_stage(zc_chain *chain, const char *name)
{
    CHECK(zc_codec_init(&chain->stages[chain->n_stages++], name));
}

static inline void make_sharded(fixture *f, int64_t rows, int64_t columns, bool index_at_start)
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

/* Of a chain whose kinds have been chosen. */
static inline zc_status transfer_chosen(fixture *f, bool write, int64_t row, int64_t rows, int64_t column, int64_t columns,
                                        uint16_t *memory, int threads, zc_fault *fault, zc_error *err)
{
    zc_selection selection = {.ndim = NDIM, .memory = (char *)memory};
    const zc_call call = {.array = &f->array, .store = &f->store, .selection = &selection, .threads = threads,
                          .prefetch = selection.memory == NULL};

    selection.axis[0] = (zc_axis){.count = rows, .start = row, .step = 1, .stride = columns * 2};
    selection.axis[1] = (zc_axis){.count = columns, .start = column, .step = 1, .stride = 2};
    zc_error_clear(err);
    return (write ? zc_write : zc_read)(&call, fault, err);
}

static inline zc_status transfer(fixture *f, bool write, int64_t row, int64_t rows, int64_t column, int64_t columns,
                                 uint16_t *memory, int threads, zc_fault *fault, zc_error *err)
{
    zc_arena arena = {NULL};

    choose_kinds(&f->chain, &arena);
    const zc_status status = transfer_chosen(f, write, row, rows, column, columns, memory, threads, fault, err);
    zc_arena_free(&arena);
    return status;
}

/* Write random boxes, keep a model, and compare the whole array after each. */
static inline void exercise(fixture *f)
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

static inline void write_text(const char *name, const char *text, size_t n)
{
    char path[300];

    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(text, 1, n, file) == n);
    fclose(file);
}

static inline bool open_root(void)
{
    if (!make_temporary(root, sizeof root)) {
        perror("no directory for the tests");
        return false;
    }
    srand(3);
    return true;
}

static inline bool close_root(void)
{
    return remove_tree(root, sizeof root);
}
