/* SPDX-License-Identifier: MIT
 *
 * The engine without Python: arrays in a temporary directory, written and read back region by region.
 */
#include "base/counts.h"
#include "engine_fixture.h"

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

/* Bytes of scratch in all spare workspaces, which are freed. */
static size_t scratch_of_spares(void)
{
    size_t total = 0;

    for (int i = 0; i < 16; i++) {
        zc_workspace *const ws = zc_pool_borrow(NULL);
        for (int b = 0; b < ZC_SCRATCH_DEPTH; b++) {
            total += ws->scratch[b].capacity;
        }
        zc_workspace_free(ws);
    }
    return total;
}

/* Chunks of 1 MB, half of that stored: to read them takes little more memory than one of them. */
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
    scratch_of_spares();             /* what the write has left */
    CHECK(transfer(&f, false, 0, TALL, 0, WIDE, all, 1, &fault, &err) == ZC_OK);
    CHECK(memcmp(all, values, sizeof all) == 0);
    const size_t chunk = (size_t)TALL * CHUNK_WIDE * 2;
    CHECK(scratch_of_spares() < chunk + chunk / 3);
}

/* Read rows and columns of one chunk of TALL x CHUNK_WIDE, into memory of either order; the blocks that it took. */
static size_t blocks_read(fixture *f, int64_t rows, int64_t columns, bool turned, int threads, uint16_t *memory)
{
    zc_selection selection = {.ndim = NDIM, .memory = (char *)memory};
    const zc_call call = {.array = &f->array, .store = &f->store, .selection = &selection, .threads = threads};
    zc_arena arena = {NULL};
    zc_fault fault;
    zc_error err;

    choose_kinds(&f->chain, &arena);
    selection.axis[0] = (zc_axis){.count = rows, .start = TALL - rows, .step = 1, .stride = turned ? 2 : columns * 2};
    selection.axis[1] = (zc_axis){.count = columns, .start = columns == CHUNK_WIDE ? 0 : 3, .step = 1,
                                  .stride = turned ? rows * 2 : 2};
    zc_error_clear(&err);
    zc_counts_reset();
    CHECK(zc_read(&call, &fault, &err) == ZC_OK);
    zc_arena_free(&arena);
    return zc_counted(ZC_COUNT_BLOCKS);
}

/* The blocks of a chunk know nothing of each other: however many threads read it, none is decompressed by two of them. */
static void no_block_is_decompressed_twice(void)
{
    enum { BLOCK = 200000, BLOCKS = (TALL * CHUNK_WIDE * 2 + BLOCK - 1) / BLOCK };
    static const struct { int64_t rows, columns; bool turned; size_t blocks; } reads[] = {
        {TALL, CHUNK_WIDE, false, BLOCKS}, {TALL, CHUNK_WIDE, true, BLOCKS}, {TALL, 40, false, BLOCKS},
        {TALL, 1, false, BLOCKS}, {TALL / 2, CHUNK_WIDE, false, 4}, {TALL / 2, 7, true, 4}, {10, 10, false, 1},
    };
    static uint16_t values[TALL * CHUNK_WIDE], found[TALL * CHUNK_WIDE];
    fixture f;
    zc_fault fault;
    zc_error err;

    for (int i = 0; i < TALL * CHUNK_WIDE; i++) {
        values[i] = (uint16_t)(i / 7 + rand() % 4);
    }
    for (int swaps = 0; swaps < 2; swaps++) {
        open_fixture(&f, swaps ? "blocks-swapped/" : "blocks/", TALL, CHUNK_WIDE);
        f.array.grid[0].length = TALL;
        f.array.grid[1].length = CHUNK_WIDE;
        f.chain.item.word = swaps ? 2 : 0;
        add_stage(&f.chain, "blosc");
        f.chain.stages[0].blosc.typesize = 2;
        f.chain.stages[0].blosc.blocksize = BLOCK / 2;     /* of each of two streams */
        CHECK(transfer(&f, true, 0, TALL, 0, CHUNK_WIDE, values, 1, &fault, &err) == ZC_OK);
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
            const int64_t rows = reads[i].rows, columns = reads[i].columns, first = columns == CHUNK_WIDE ? 0 : 3;
            for (int threads = 1; threads <= 9; threads += 2 - (threads < 3)) {
                const size_t blocks = blocks_read(&f, rows, columns, reads[i].turned, threads, found);
                CHECK(!ZC_ASSERTIONS || blocks == reads[i].blocks);
                for (int64_t e = 0; e < rows * columns; e++) {
                    const int64_t row = reads[i].turned ? e % rows : e / columns;
                    const int64_t column = reads[i].turned ? e / rows : e % columns;
                    CHECK(found[e] == values[(TALL - rows + row) * CHUNK_WIDE + first + column]);
                }
            }
        }
    }
}

/* Reads and patches decode each chunk, or inner chunk, that they touch once, and no other one, with any number of threads;
 * what replaces chunks decodes none. */
static void no_chunk_is_decompressed_twice(void)
{
    enum { HIGH = TALL / 4, BROAD = WIDE / 6 };        /* of a chunk */
    static const char *const codecs[] = {"zstd", "gzip", "lz4", "blosc", "shards"};
    static const char *const prefixes[] = {"once-zstd/", "once-gzip/", "once-lz4/", "once-blosc/", "once-sharded/"};
    static const struct { bool write; int64_t row, rows, column, columns; size_t chunks; } calls[] = {
        {false, 0, TALL, 0, WIDE, 24}, {false, HIGH, HIGH, BROAD, BROAD, 1}, {false, 3, 1, 0, WIDE, 6},
        {false, 0, TALL, 7, 1, 4}, {false, HIGH - 1, 2, BROAD - 1, 2, 4}, {false, 9, 1, 9, 1, 1},
        {true, 0, TALL, 0, WIDE, 0}, {true, HIGH, HIGH, BROAD, BROAD, 0}, {true, 9, 1, 9, 1, 1},
        {true, HIGH - 1, 2, BROAD - 1, 2, 4}, {true, 0, HIGH, 0, BROAD + 1, 1},
    };
    static uint16_t values[TALL * WIDE], some[TALL * WIDE];
    size_t helpers = 0;
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int i = 0; i < TALL * WIDE; i++) {
        values[i] = (uint16_t)(i / 3 + rand() % 16);
    }
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        const bool sharded = strcmp(codecs[c], "shards") == 0, blocks = strcmp(codecs[c], "blosc") == 0;
        open_fixture(&f, prefixes[c], sharded ? TALL / 2 : HIGH, sharded ? WIDE / 2 : BROAD);
        f.array.grid[0].length = TALL;
        f.array.grid[1].length = WIDE;
        if (sharded) {
            make_sharded(&f, HIGH, BROAD, false);
        } else {
            add_stage(&f.chain, codecs[c]);
        }
        if (blocks) {
            f.chain.stages[0].blosc.typesize = 2;
            f.chain.stages[0].blosc.blocksize = HIGH * BROAD;      /* of each of two streams */
        }
        CHECK(transfer(&f, true, 0, TALL, 0, WIDE, values, 1, &fault, &err) == ZC_OK);
        for (int threads = 1; threads < 6; threads += 2) {
            for (size_t k = 0; k < sizeof calls / sizeof *calls; k++) {
                zc_counts_reset();
                CHECK(transfer(&f, calls[k].write, calls[k].row, calls[k].rows, calls[k].column, calls[k].columns,
                               calls[k].write ? values : some, threads, &fault, &err) == ZC_OK);
                helpers += zc_counted(ZC_COUNT_HELPERS);
                const size_t decoded = blocks ? zc_counted(ZC_COUNT_BLOCKS) * HIGH * BROAD * 2 : zc_counted(ZC_COUNT_DECODED);
                CHECK(!ZC_ASSERTIONS || decoded == calls[k].chunks * HIGH * BROAD * 2);
            }
        }
    }
    CHECK((helpers > 0) == ZC_ASSERTIONS);
}

/* A few elements written to one large blosc chunk: it is decoded, patched and encoded by all threads, each block once, and
 * the bytes are those of one thread. */
static void patches_of_a_large_chunk_are_shared(void)
{
    enum { LENGTH = 2 << 20, BLOCK = 256 << 10 };
    static uint16_t values[LENGTH], found[LENGTH], sevens[3] = {7, 7, 8};
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int threads = 1; threads < 4; threads++) {
        for (int i = 0; i < LENGTH; i++) {
            values[i] = (uint16_t)(i / 5);
        }
        open_fixture(&f, "patched/", 1, LENGTH);
        f.array.grid[0].length = 1;
        f.array.grid[1].length = LENGTH;
        add_stage(&f.chain, "blosc");
        f.chain.stages[0].blosc.typesize = 2;
        f.chain.stages[0].blosc.blocksize = BLOCK / 2;
        CHECK(transfer(&f, true, 0, 1, 0, LENGTH, values, threads, &fault, &err) == ZC_OK);
        zc_counts_reset();
        CHECK(transfer(&f, true, 0, 1, 1000, 3, sevens, threads, &fault, &err) == ZC_OK);
        CHECK(!ZC_ASSERTIONS || zc_counted(ZC_COUNT_BLOCKS) == LENGTH * 2 / BLOCK);
        CHECK(!ZC_ASSERTIONS || (zc_counted(ZC_COUNT_HELPERS) > 0) == (threads > 1));
        memcpy(values + 1000, sevens, sizeof sevens);
        CHECK(transfer(&f, false, 0, 1, 0, LENGTH, found, threads, &fault, &err) == ZC_OK);
        CHECK(memcmp(found, values, sizeof values) == 0);
    }
}

/* Work that is done before another thread has woken up is left to the calling one. */
static void no_thread_is_woken_for_little(void)
{
    uint16_t some[ROWS * COLUMNS] = {1};
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int kind = 0; kind < 4; kind++) {
        open_fixture(&f, kind < 2 ? kind == 0 ? "little/" : "little-zstd/" : kind == 2 ? "little-shard/" : "little-blosc/",
                     40, 40);
        if (kind == 1 || kind == 3) {
            add_stage(&f.chain, kind == 1 ? "zstd" : "blosc");
        } else if (kind == 2) {
            make_sharded(&f, 5, 8, true);
        }
        zc_counts_reset();
        CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, some, 4, &fault, &err) == ZC_OK);
        CHECK(transfer(&f, true, 3, 20, 2, 20, some, 4, &fault, &err) == ZC_OK);
        CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, some, 4, &fault, &err) == ZC_OK);
        CHECK(zc_counted(ZC_COUNT_HELPERS) == 0);
    }
}

/* Threads that write a few files wait for each other: rows that are added to chunks without codecs were written by several, in
 * more time than one takes. */
static void a_few_rows_of_files_are_written_by_one_thread(void)
{
    enum { MANY_ROWS = 256, SIDE = 512, LONG = 4 * SIDE };
    static uint16_t values[MANY_ROWS * LONG], found[MANY_ROWS * LONG];
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int i = 0; i < MANY_ROWS * LONG; i++) {
        values[i] = (uint16_t)(i * 7);
    }
    open_fixture(&f, "rows/", 64, SIDE);
    f.array.grid[0].length = MANY_ROWS;
    f.array.grid[1].length = LONG;
    zc_counts_reset();
    CHECK(transfer(&f, true, 0, MANY_ROWS, 0, LONG, values, 4, &fault, &err) == ZC_OK);
    CHECK((zc_counted(ZC_COUNT_HELPERS) > 0) == ZC_ASSERTIONS);
    zc_counts_reset();
    CHECK(transfer(&f, true, 52, 24, 0, LONG, values, 4, &fault, &err) == ZC_OK);        /* to eight chunks */
    CHECK(zc_counted(ZC_COUNT_HELPERS) == 0);
    memcpy(values + 52 * LONG, values, sizeof *values * 24 * LONG);
    CHECK(transfer(&f, false, 0, MANY_ROWS, 0, LONG, found, 4, &fault, &err) == ZC_OK);
    CHECK(memcmp(found, values, sizeof values) == 0);
}

/* What a slow codec takes for a few chunks is worth other threads, where a quick one is not. */
static void slow_codecs_are_shared_sooner(void)
{
    enum { SIDE = 96, CHUNKS = 2 };
    static uint16_t values[SIDE * SIDE * CHUNKS];
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int slow = 0; slow < 2; slow++) {
        open_fixture(&f, slow ? "slow/" : "quick/", SIDE, SIDE);
        f.array.grid[0].length = SIDE * CHUNKS;
        f.array.grid[1].length = SIDE;
        add_stage(&f.chain, "blosc");
        f.chain.stages[0].blosc.compressor = slow ? ZC_BLOSC_LZ4HC : ZC_BLOSC_LZ4;
        zc_counts_reset();
        CHECK(transfer(&f, true, 0, SIDE * CHUNKS - SIDE / 2, 0, SIDE / 2, values, 4, &fault, &err) == ZC_OK);
        CHECK(!ZC_ASSERTIONS || (zc_counted(ZC_COUNT_HELPERS) > 0) == slow);
    }
}

/* How many of 16 threads the read, or the write, of a square of side x side elements in chunks of edge x edge is worth. */
static int threads_worth(fixture *f, bool write, int64_t side, int64_t edge)
{
    zc_selection selection = {.ndim = NDIM};
    const zc_call call = {.array = &f->array, .store = &f->store, .selection = &selection, .threads = 16};
    const size_t n = (size_t)(side / edge * (side / edge));
    zc_arena arena = {NULL};

    choose_kinds(&f->chain, &arena);
    for (int d = 0; d < NDIM; d++) {
        f->array.grid[d] = (zc_grid_axis){.length = side, .chunk = edge};
        selection.axis[d] = (zc_axis){.count = side, .step = 1, .stride = d == 0 ? side * 2 : 2};
    }
    const zc_threads worth = write ? zc_write_threads(&call, n) : zc_read_threads(&call, 1, n, 16);
    CHECK(worth.n == worth.most || worth.most == 16);
    zc_arena_free(&arena);
    return worth.n;
}

/* With 16 threads each call of some size woke 15 others, which took twice the CPU time, and now and then longer than one thread. */
static void threads_are_as_many_as_the_work_is_worth(void)
{
    static const struct { const char *codec; int64_t edge, side; int least, most; } cases[] = {
        {"zstd", 128, 1024, 16, 16}, {"zstd", 32, 256, 8, 12}, {"blosc", 128, 1024, 13, 16}, {"blosc", 128, 512, 4, 7},
        {"blosc", 128, 256, 1, 1},
    };
    fixture f;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_fixture(&f, "worth/", cases[i].edge, cases[i].edge);
        add_stage(&f.chain, cases[i].codec);
        const int worth = threads_worth(&f, false, cases[i].side, cases[i].edge);
        CHECK(worth >= cases[i].least && worth <= cases[i].most);
    }
}

/* A few elements of each of some large chunks with checksums, which are read and looked at whole: one thread did all. */
static void checksums_of_whole_chunks_are_shared(void)
{
    enum { EDGE = 1024, CHUNKS = 4 };
    zc_selection selection = {.ndim = NDIM, .axis = {{.count = CHUNKS * EDGE, .step = 1, .stride = 2}, {.count = 1, .step = 1}}};
    zc_arena arena = {NULL};
    fixture f;

    for (int checked = 0; checked < 2; checked++) {
        open_fixture(&f, "checked/", EDGE, EDGE);
        f.array.grid[0] = (zc_grid_axis){.length = CHUNKS * EDGE, .chunk = EDGE};
        add_stage(&f.chain, checked ? "crc32c" : "zstd");
        choose_kinds(&f.chain, &arena);
        const zc_call call = {.array = &f.array, .store = &f.store, .selection = &selection, .threads = 16};
        CHECK(zc_read_threads(&call, 1, CHUNKS, 16).n >= CHUNKS);
        zc_arena_free(&arena);
    }
}

/* Whoever makes a call that is over at once need not let others run meanwhile, if it can wait for none of them. */
static void reads_of_little_in_memory_are_short(void)
{
    enum { EDGE = 512 };
    static const struct { const char *codec; int64_t edge, count; bool in_memory, is_short; } cases[] = {
        {NULL, EDGE, 1, true, true},    {NULL, 4096, 4096, true, false}, {NULL, 1, 40, true, true},   {NULL, 1, 64, true, false},
        {"zstd", EDGE, 1, true, false}, {"zstd", 4, 1, true, true},      {NULL, EDGE, 1, false, false},
    };
    zc_cache *const kept = zc_cache_new(1 << 20);
    fixture f;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zc_selection selection = {.ndim = NDIM, .axis = {{.count = cases[i].count, .step = 1, .stride = 2}, {.count = 1, .step = 1}}};
        zc_arena arena = {NULL};

        open_fixture(&f, "short/", cases[i].edge, cases[i].edge);
        f.store.values_in_memory = cases[i].in_memory;
        if (cases[i].codec != NULL) {
            add_stage(&f.chain, cases[i].codec);
        }
        choose_kinds(&f.chain, &arena);
        const zc_call call = {.array = &f.array, .store = &f.store, .selection = &selection};
        CHECK(zc_read_is_short(&call) == cases[i].is_short);
        f.array.cache = kept;
        CHECK(!zc_read_is_short(&call));
        f.array.cache = NULL;
        zc_arena_free(&arena);
    }
    zc_cache_free(kept);
}

/* Files are opened under one lock of the process, and made under one of their directory: 16 threads took 10 times the CPU time of
 * one, and no less time than two. */
static void small_files_are_left_to_few_threads(void)
{
    fixture f;

    for (int apart = 0; apart < 2; apart++) {
        open_fixture(&f, "small/", 16, 16);
        f.array.keys.separator = apart ? '/' : '.';      /* in 32 directories, or in one */
        CHECK(threads_worth(&f, false, 512, 16) == 2);
        const int writing = threads_worth(&f, true, 512, 16);
        CHECK(apart ? writing > 3 && writing < 8 : writing == 2);
    }
}

/* The only shard of a call is divided among all threads, be its inner chunks small or in few rows. */
static void a_shard_has_something_for_each_thread(void)
{
    enum { LONG = 512 << 10, EACH = 32 << 10 };
    static uint16_t values[LONG], found[LONG];
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int i = 0; i < LONG; i++) {
        values[i] = (uint16_t)(i / 3 + rand() % 16);
    }
    open_fixture(&f, "one-shard/", 1, LONG);
    f.array.grid[0].length = 1;
    f.array.grid[1].length = LONG;
    make_sharded(&f, 1, EACH, false);
    CHECK(transfer(&f, true, 0, 1, 0, LONG, values, 16, &fault, &err) == ZC_OK);
    zc_counts_reset();
    CHECK(transfer(&f, false, 0, 1, 0, LONG, found, 16, &fault, &err) == ZC_OK);
    CHECK(!ZC_ASSERTIONS || zc_counted(ZC_COUNT_HELPERS) == LONG / EACH - 1);
    CHECK(memcmp(found, values, sizeof values) == 0);
}

/* Memory bounds what is only copied: sharing it pays later than sharing what is decoded. */
static void copies_are_shared_where_it_pays(void)
{
    enum { MANY_ROWS = 2048, WIDE = 1024 };
    static uint16_t values[MANY_ROWS * WIDE], found[MANY_ROWS * WIDE];
    zc_fault fault;
    zc_error err;
    fixture f;

    for (int i = 0; i < MANY_ROWS * WIDE; i++) {
        values[i] = (uint16_t)(i * 7);
    }
    for (int checked = 0; checked < 2; checked++) {
        open_fixture(&f, checked ? "copied-crc32c/" : "copied/", 128, WIDE);
        f.array.grid[0].length = MANY_ROWS;
        f.array.grid[1].length = WIDE;
        if (checked) {
            add_stage(&f.chain, "crc32c");
        }
        CHECK(transfer(&f, true, 0, MANY_ROWS, 0, WIDE, values, 4, &fault, &err) == ZC_OK);
        zc_counts_reset();
        CHECK(transfer(&f, false, 100, 256, 0, WIDE, found, 4, &fault, &err) == ZC_OK);
        CHECK(zc_counted(ZC_COUNT_HELPERS) == 0 && memcmp(found, values + 100 * WIDE, 256 * WIDE * 2) == 0);
        CHECK(transfer(&f, false, 0, MANY_ROWS, 0, WIDE, found, 4, &fault, &err) == ZC_OK);
        CHECK((zc_counted(ZC_COUNT_HELPERS) > 0) == ZC_ASSERTIONS && memcmp(found, values, sizeof values) == 0);
    }
}

/* Rows through chunks that are kept are copied: nothing is decoded, nobody is woken, whoever decodes them meanwhile. */
static void rows_of_kept_chunks_are_copied(void)
{
    enum { SIDE = 256, CHUNKS = 4 };
    static uint16_t values[SIDE * SIDE * CHUNKS], row[SIDE * CHUNKS];
    zc_fault fault;
    zc_error err;
    zc_key key;
    fixture f;

    for (int i = 0; i < SIDE * SIDE * CHUNKS; i++) {
        values[i] = (uint16_t)(i / 3);
    }
    open_fixture(&f, "kept/", SIDE, SIDE);
    f.array.grid[0].length = SIDE;
    f.array.grid[1].length = SIDE * CHUNKS;
    add_stage(&f.chain, "zstd");
    CHECK(transfer(&f, true, 0, SIDE, 0, SIDE * CHUNKS, values, 2, &fault, &err) == ZC_OK);
    f.array.cache = zc_cache_new(1 << 24);
    f.array.number = zc_cache_array();
    zc_cache_trust(f.array.cache, INT64_C(3600000000000));
    zc_array_key(&f.array, "kept/c/0/2", &key);
    CHECK(zc_cache_claim(f.array.cache, &key) && !zc_cache_claim(f.array.cache, &key));
    for (int i = 0; i < SIDE; i++) {
        zc_counts_reset();
        CHECK(transfer(&f, false, i, 1, 0, SIDE * CHUNKS, row, 4, &fault, &err) == ZC_OK);
        CHECK(memcmp(row, values + i * SIDE * CHUNKS, sizeof row) == 0);
        CHECK(i == 0 || (zc_counted(ZC_COUNT_HELPERS) == 0 && zc_counted(ZC_COUNT_DECODED) == 0));
    }
    zc_cache_unclaim(f.array.cache, &key);
    CHECK(zc_cache_claim(f.array.cache, &key));
    zc_cache_free(f.array.cache);
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

/* A fault is reported with its chunk; it never looks like absent data. */
static void faults_are_named(void)
{
    fixture f;
    uint16_t all[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;
    char path[300];

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
    CHECK(unlink(path) == 0 && make_directory(path));
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
    char path[300];

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
    zc_selection selection = {.ndim = NDIM, .axis = {{.count = 32, .step = 1}, {.count = 18, .step = 1}}};
    const zc_call call = {
        .array = &f.array, .store = &f.store, .selection = &selection, .blocks = &given, .threads = 2};
    CHECK(zc_write(&call, &fault, &err) == ZC_OK);
    CHECK(transfer(&f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK);
    CHECK(memcmp(all, f.model, sizeof all) == 0);
}

/* Boxes that overlap and points, read together. */
static void many_reads(void)
{
    enum { N = 20, SIDE = 9, BOXES = N - 1, POINTS = 7 };
    const int64_t row[POINTS] = {31, 0, 5, 5, 8, 16, 30}, column[POINTS] = {17, 0, 3, 3, 11, 12, 1};
    const int64_t order[POINTS] = {0, 1, 2, 3, 4, 5, 6};
    fixture f;
    uint16_t boxes[N][SIDE * SIDE];
    zc_selection selections[N];
    zc_call calls[N];
    zc_fault fault;
    zc_error err;

    open_fixture(&f, "many/", 16, 12);
    make_sharded(&f, 4, 3, true);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        f.model[i] = (uint16_t)i;
    }
    CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, f.model, 1, &fault, &err) == ZC_OK);
    for (int n = 0; n < N; n++) {
        selections[n] = (zc_selection){.ndim = NDIM, .memory = (char *)boxes[n]};
        selections[n].axis[0] = (zc_axis){.count = SIDE, .start = n, .step = 1, .stride = SIDE * 2};
        selections[n].axis[1] = (zc_axis){.count = SIDE, .start = N - n, .step = 1, .stride = 2};
        calls[n] = (zc_call){.array = &f.array, .store = &f.store, .selection = &selections[n]};
    }
    selections[BOXES].kind = ZC_SELECT_POINTS;
    selections[BOXES].points = order;
    selections[BOXES].n_points = POINTS;
    selections[BOXES].point_stride = 2;
    selections[BOXES].axis[0] = (zc_axis){.count = POINTS, .step = 1, .index = row};
    selections[BOXES].axis[1] = (zc_axis){.count = POINTS, .step = 1, .index = column};
    CHECK(zc_read_many(calls, N, 2, NULL, NULL, &fault, &err) == ZC_OK);
    for (int p = 0; p < POINTS; p++) {
        CHECK(boxes[BOXES][p] == f.model[row[p] * COLUMNS + column[p]]);
    }
    for (int n = 0; n < BOXES; n++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            CHECK(boxes[n][i] == f.model[(n + i / SIDE) * COLUMNS + N - n + i % SIDE]);
        }
    }
    f.array.missing_is_error = true;
    f.array.prefix = "nowhere/";
    f.array.prefix_len = strlen(f.array.prefix);
    CHECK(zc_read_many(calls, N, 1, NULL, NULL, &fault, &err) == ZC_ERR_MISSING);
    CHECK(fault.call < N && fault.in_chunk);
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
    f.array.keys = (zc_key_encoding){.v2 = true, .reversed = true, .separator = '/'};
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/1234567890123/0") == 0);
    f.array.ndim = 0;
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/0") == 0);
    f.array.keys.v2 = false;
    zc_chunk_key(&f.array, chunk, key);
    CHECK(strcmp(key, "a/c") == 0);
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    RUN(keys);
    RUN(plain_chunks);
    RUN(swapped_and_transposed);
    RUN(large_chunks_are_decoded_over_themselves);
    RUN(no_block_is_decompressed_twice);
    RUN(no_chunk_is_decompressed_twice);
    RUN(patches_of_a_large_chunk_are_shared);
    RUN(no_thread_is_woken_for_little);
    RUN(a_few_rows_of_files_are_written_by_one_thread);
    RUN(slow_codecs_are_shared_sooner);
    RUN(threads_are_as_many_as_the_work_is_worth);
    RUN(checksums_of_whole_chunks_are_shared);
    RUN(reads_of_little_in_memory_are_short);
    RUN(small_files_are_left_to_few_threads);
    RUN(a_shard_has_something_for_each_thread);
    RUN(copies_are_shared_where_it_pays);
    RUN(rows_of_kept_chunks_are_copied);
    RUN(shards);
    RUN(gathered_blocks);
    RUN(many_reads);
    RUN(faults_are_named);
    RUN(a_lying_shard_index_is_refused);
    RUN(chunks_of_nothing_but_the_fill_value_are_removed);
    return check_report("engine") | !close_root();
}
