/* SPDX-License-Identifier: MIT
 *
 * Memory runs out: each operation is repeated while its first, second, third, ... allocation fails, that one alone or
 * all from there on, until one that needs no more succeeds.  After each failure nothing is lost and the next call works.
 */
#include "base/workspace.h"
#include "codecs/blosc_shared.h"
#include "engine/cache.h"
#include "engine/chain_compile.h"
#include "engine_fixture.h"
#include "tests/failing_malloc.h"

#ifdef CAN_FAIL

/* Free what earlier calls have left for later ones. */
static void drop_spares(void)
{
    for (int i = 0; i < 16; i++) {
        zc_workspace_free(zc_pool_borrow(NULL));
    }
}

typedef struct setting {
    const char *name;
    void (*set_up)(fixture *f);
} setting;

static void raw(fixture *f)
{
    (void)f;
}

static void compressed(fixture *f, const char *codec)
{
    add_stage(&f->chain, codec);
    add_stage(&f->chain, "crc32c");
}

static void with_zstd(fixture *f)
{
    compressed(f, "zstd");
}

static void with_gzip(fixture *f)
{
    compressed(f, "gzip");
}

static void with_lz4(fixture *f)
{
    compressed(f, "lz4");
}

static void with_blosc(fixture *f)
{
    compressed(f, "blosc");
    f->chain.stages[0].blosc.typesize = 2;
}

static void transposed(fixture *f)
{
    f->chain.item.word = 2;
    f->chain.order_ndim = NDIM;
    f->chain.order[0] = 1;
    compressed(f, "zstd");
}

static void sharded(fixture *f)
{
    make_sharded(f, 3, 4, false);
}

static void sharded_and_compressed(fixture *f)
{
    make_sharded(f, 3, 4, true);
    add_stage(&f->chain, "crc32c");
}

static const setting SETTINGS[] = {
    {"raw", raw}, {"zstd", with_zstd}, {"gzip", with_gzip}, {"lz4", with_lz4}, {"blosc", with_blosc},
    {"transposed", transposed}, {"sharded", sharded}, {"sharded-crc32c", sharded_and_compressed},
};

static bool is_as_the_model(fixture *f, int threads)
{
    uint16_t all[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;

    return transfer(f, false, 0, ROWS, 0, COLUMNS, all, threads, &fault, &err) == ZC_OK
           && memcmp(all, f->model, sizeof all) == 0;
}

/* Every element of the region has its old or its new value; all others are unchanged.  The model follows. */
static bool is_partly_written(fixture *f, int64_t row, int64_t rows, int64_t column, int64_t columns,
                              const uint16_t *values)
{
    uint16_t all[ROWS * COLUMNS];
    zc_fault fault;
    zc_error err;
    bool ok = transfer(f, false, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_OK;

    for (int64_t r = 0; ok && r < ROWS; r++) {
        for (int64_t c = 0; c < COLUMNS; c++) {
            const uint16_t found = all[r * COLUMNS + c];
            const bool inside = r >= row && r < row + rows && c >= column && c < column + columns;
            ok &= found == f->model[r * COLUMNS + c]
                  || (inside && found == values[(r - row) * columns + c - column]);
        }
    }
    memcpy(f->model, all, sizeof all);
    return ok;
}

/* One operation on an array; writes go to the region given by write_region. */
typedef zc_status (*operation)(fixture *f, int threads, zc_error *err);

enum { ROW = 4, N_ROWS = 20, COLUMN = 3, N_COLUMNS = 22 };

static uint16_t written[N_ROWS * N_COLUMNS], was_read[ROWS * COLUMNS];
static zc_fault fault;

static zc_status write_part(fixture *f, int threads, zc_error *err)
{
    return transfer_chosen(f, true, ROW, N_ROWS, COLUMN, N_COLUMNS, written, threads, &fault, err);
}

static zc_status read_all(fixture *f, int threads, zc_error *err)
{
    return transfer_chosen(f, false, 0, ROWS, 0, COLUMNS, was_read, threads, &fault, err);
}

static zc_status read_cached(fixture *f, int threads, zc_error *err)
{
    zc_cache_clear(f->array.cache);
    return read_all(f, threads, err);
}

static zc_status prefetch(fixture *f, int threads, zc_error *err)
{
    zc_cache_clear(f->array.cache);
    return transfer_chosen(f, false, 0, ROWS, 0, COLUMNS, NULL, threads, &fault, err);
}

static zc_status read_batch(fixture *f, int threads, zc_error *err)
{
    zc_selection selections[3];
    zc_call calls[3];
    zc_fault fault;

    memset(selections, 0, sizeof selections);
    for (int i = 0; i < 3; i++) {
        const int64_t first = i * ROWS / 3, n = (i + 1) * ROWS / 3 - first;
        selections[i].ndim = NDIM;
        selections[i].memory = (char *)(was_read + first * COLUMNS);
        selections[i].axis[0] = (zc_axis){.count = n, .start = first, .step = 1, .stride = COLUMNS * 2};
        selections[i].axis[1] = (zc_axis){.count = COLUMNS, .step = 1, .stride = 2};
        calls[i] = (zc_call){.array = &f->array, .store = &f->store, .selection = &selections[i], .threads = threads};
    }
    zc_error_clear(err);
    return zc_read_many(calls, 3, threads, NULL, NULL, &fault, err);
}

/* One attempt, with the kinds of the chain chosen for it. */
static zc_status attempt(fixture *f, operation run, int threads, long n, bool after, bool *failed, zc_error *err)
{
    zc_arena arena = {NULL};

    drop_spares();
    choose_kinds(&f->chain, &arena);
    fail_from(n, after);
    const zc_status status = run(f, threads, err);
    *failed = has_failed();
    zc_arena_free(&arena);
    return status;
}

/* Repeat an operation while its n-th allocation fails, for n from 0 on. */
static void run_out(fixture *f, const char *what, operation run, int threads, bool after)
{
    const bool writes = run == write_part;
    long n = 0;

    for (bool failed = true; failed && n < 2000; n++) {
        zc_error err;
        for (int i = 0; writes && i < N_ROWS * N_COLUMNS; i++) {
            written[i] = (uint16_t)(rand() % 50);
        }
        memset(was_read, 0, sizeof was_read);
        const zc_status status = attempt(f, run, threads, n, after, &failed, &err);
        const bool sound = status == ZC_OK || (status == ZC_ERR_MEMORY && failed);
        bool same = true;
        if (writes) {
            same = is_partly_written(f, ROW, N_ROWS, COLUMN, N_COLUMNS, written);
        } else if (status == ZC_OK && run != prefetch) {
            same = memcmp(was_read, f->model, sizeof was_read) == 0;
        }
        CHECK(sound && same && is_as_the_model(f, threads));
        if (!sound || !same) {
            fprintf(stderr, "  %s, %d threads, allocation %ld%s: status %d: %s\n", what, threads, n,
                    after ? " and later ones" : "", status, err.message);
        }
    }
    CHECK(n < 2000);
}

static void run_all(operation run, const char *what, size_t cache_bytes)
{
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        for (int variant = 0; variant < 4; variant++) {
            char prefix[80], name[80];
            fixture f;
            zc_error err;
            snprintf(prefix, sizeof prefix, "%s-%s-%d/", what, SETTINGS[i].name, variant);
            snprintf(name, sizeof name, "%s, %s", what, SETTINGS[i].name);
            open_fixture(&f, prefix, 12, 16);
            SETTINGS[i].set_up(&f);
            if (cache_bytes > 0) {
                f.array.cache = zc_cache_new(cache_bytes);
                f.array.number = zc_cache_array();
            }
            if (f.chain.sharded) {
                f.array.indexes = zc_cache_new(1 << 16);
            }
            bool failed;
            CHECK(attempt(&f, write_part, 1, -1, false, &failed, &err) == ZC_OK);
            CHECK(is_partly_written(&f, ROW, N_ROWS, COLUMN, N_COLUMNS, written));
            run_out(&f, name, run, 1 + variant % 2, variant >= 2);
            zc_cache_free(f.array.cache);
            zc_cache_free(f.array.indexes);
        }
    }
}

static void writes(void)
{
    run_all(write_part, "write", 0);
}

static void writes_beside_a_cache(void)
{
    run_all(write_part, "write-cached", 1 << 20);
}

static void reads(void)
{
    run_all(read_all, "read", 0);
}

static void reads_through_a_cache(void)
{
    run_all(read_cached, "read-cached", 1 << 20);
}

static void prefetches(void)
{
    run_all(prefetch, "prefetch", 1 << 20);
}

static void batches_of_reads(void)
{
    run_all(read_batch, "read-batch", 0);
}

/* Transposed shards of zstd, with an index of crc32c. */
static zc_status compile(const zc_chain **out, zc_arena *arena, zc_error *err)
{
    static const int64_t order[NDIM] = {1, 0}, inner_shape[NDIM] = {4, 3}, shape[NDIM] = {12, 16};
    zc_link inner[2] = {{.kind = ZC_LINK_BYTES}, {.kind = ZC_LINK_STAGE}};
    zc_link index[2] = {{.kind = ZC_LINK_BYTES}, {.kind = ZC_LINK_STAGE}};
    zc_link links[2] = {{.kind = ZC_LINK_TRANSPOSE, .n = NDIM, .order = order},
                        {.kind = ZC_LINK_SHARDS, .n = NDIM, .inner_shape = inner_shape}};

    CHECK(zc_codec_init(&inner[1].codec, "zstd") && zc_codec_init(&index[1].codec, "crc32c"));
    links[1].inner = (zc_links){inner, 2};
    links[1].index = (zc_links){index, 2};
    zc_error_clear(err);
    return zc_chain_compile(&(zc_chain_description){.links = {links, 2}, .item_size = 2, .ndim = NDIM, .shape = shape},
                            arena, out, err);
}

static void compiled_chains(void)
{
    bool failed = true;

    for (long n = 0; failed && n < 1000; n++) {
        zc_arena arena = {NULL};
        const zc_chain *chain;
        zc_error err;
        fail_from(n, false);
        const zc_status status = compile(&chain, &arena, &err);
        failed = has_failed();
        CHECK(status == (failed ? ZC_ERR_MEMORY : ZC_OK));
        zc_arena_free(&arena);
    }
    CHECK(!failed);
}

enum { LARGE = 1 << 20 };

static void large_blosc_buffers(void)
{
    static uint8_t data[LARGE], decoded[LARGE], encoded[LARGE + LARGE / 8];
    zc_codec codec;
    size_t n_encoded, n_decoded;

    for (int i = 0; i < LARGE; i++) {
        data[i] = (uint8_t)(i / 100);
    }
    CHECK(zc_codec_init(&codec, "blosc"));
    codec.blosc.typesize = 4;
    codec.blosc.blocksize = 1 << 16;
    for (int variant = 0; variant < 4; variant++) {
        const zc_sharing sharing = {.threads = 1 + variant % 2};
        bool failed = true;
        for (long n = 0; failed && n < 1000; n++) {
            zc_error err;
            zc_error_clear(&err);
            drop_spares();
            fail_from(n, variant >= 2);
            zc_status status = zc_blosc_encode_shared(&codec, &sharing, data, LARGE, encoded, sizeof encoded,
                                                      &n_encoded, &err);
            if (status == ZC_OK) {
                status = zc_blosc_decode_shared(&codec, &sharing, encoded, n_encoded, decoded, LARGE, &n_decoded,
                                                &err);
            }
            failed = has_failed();
            CHECK(status == ZC_OK ? n_decoded == LARGE && memcmp(decoded, data, LARGE) == 0
                                  : failed && status == ZC_ERR_MEMORY);
            memset(decoded, 0, LARGE);
        }
        CHECK(!failed);
    }
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    RUN(writes);
    RUN(writes_beside_a_cache);
    RUN(reads);
    RUN(reads_through_a_cache);
    RUN(prefetches);
    RUN(batches_of_reads);
    RUN(compiled_chains);
    RUN(large_blosc_buffers);
    const bool closed = close_root();
    return check_report("no_memory") || !closed;
}

#else

int main(void)
{
    return check_report("no_memory");    /* no linker that replaces malloc */
}

#endif
