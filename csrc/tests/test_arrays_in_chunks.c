/* SPDX-License-Identifier: MIT
 *
 * Chunks that hold an array with a chain of its own: after filters, and as blocks of N5, sound and damaged.
 */
#include "engine_fixture.h"

static zc_fault fault;
static zc_error err;

static void transpose(zc_chain *chain)
{
    chain->order_ndim = NDIM;
    chain->order[0] = 1;
    chain->order[1] = 0;
}

/* What stands after the filters: the chain of the elements, and the shape that they have there. */
typedef struct after {
    zc_chain chain;
    zc_filtered_array made;
} after;

/* Chunks are blocks: big-endian, first dimension first. */
static void make_blocks(zc_chain *chain, zc_chain *elements, const char *codec)
{
    elements->item = (zc_item){.size = 2, .word = 2};
    transpose(elements);
    if (codec != NULL) {
        add_stage(elements, codec);
    }
    chain->item = elements->item;
    chain->block = elements;
}

/* The array is stored as `chain` stores it, after differences of neighbours. */
static void make_filtered(fixture *f, after *b, const uint16_t *fill)
{
    zc_codec *const delta = &f->chain.stages[0];

    add_stage(&f->chain, "delta");
    delta->decoded.kind = delta->encoded.kind = ZC_NUMBER_U16;
    b->made = (zc_filtered_array){.chain = &b->chain, .ndim = NDIM, .lengths = {{.axes = 1}, {.axes = 2}}, .fill = fill};
    f->chain.filtered = &b->made;
}

static void blocks(void)
{
    static const char *const codecs[] = {NULL, "zstd", "blosc"};
    zc_chain elements;
    fixture f;

    for (int c = 0; c < 3; c++) {
        memset(&elements, 0, sizeof elements);
        open_fixture(&f, c == 0 ? "raw/" : c == 1 ? "zstd/" : "blosc/", 10, 8);
        make_blocks(&f.chain, &elements, codecs[c]);
        exercise(&f);
    }
    memset(&elements, 0, sizeof elements);
    open_fixture(&f, "wrapped/", 10, 8);
    make_blocks(&f.chain, &elements, "zstd");
    transpose(&f.chain);
    add_stage(&f.chain, "crc32c");
    add_stage(&f.chain, "gzip");
    exercise(&f);
}

static void blocks_in_shards(void)
{
    zc_chain elements;
    fixture f;

    for (int wrapped = 0; wrapped < 2; wrapped++) {
        memset(&elements, 0, sizeof elements);
        open_fixture(&f, wrapped ? "inside-wrapped/" : "inside/", 12, 16);
        make_sharded(&f, 3, 4, wrapped);
        f.inner.n_stages = wrapped;
        make_blocks(&f.inner, &elements, "lz4");
        exercise(&f);
    }
}

static void filters_in_front_of_shards(void)
{
    const uint16_t fill = 3;
    fixture f;
    after b;

    for (int transposed = 0; transposed < 2; transposed++) {
        memset(&b, 0, sizeof b);
        open_fixture(&f, transposed ? "filtered-transposed/" : "filtered/", 12, 16);
        make_sharded(&f, 3, 4, false);
        b.chain = f.chain;
        f.chain = (zc_chain){.item = {.size = 2}};
        make_filtered(&f, &b, &fill);
        if (transposed) {
            transpose(&b.chain);
            b.chain.inner_shape[0] = 4;
            b.chain.inner_shape[1] = 3;
        }
        exercise(&f);
    }
}

static void other_shapes(void)
{
    static const struct { int ndim; zc_length lengths[3]; bool fits; } cases[] = {
        {1, {{.axes = 3}}, true},
        {1, {{.fixed = -1}}, true},
        {3, {{.fixed = 2}, {.axes = 2}, {.fixed = -1}}, true},
        {2, {{.fixed = 96}, {.fixed = 2}}, true},
        {1, {{.axes = 1}}, false},
        {1, {{.fixed = 191}}, false},
        {2, {{.fixed = 7}, {.fixed = -1}}, false},
        {2, {{.fixed = INT64_MAX}, {.fixed = INT64_MAX}}, false},
    };
    char prefix[16];
    uint16_t all[ROWS * COLUMNS] = {1};
    fixture f;
    after b;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memset(&b, 0, sizeof b);
        snprintf(prefix, sizeof prefix, "shape%zu/", i);
        open_fixture(&f, prefix, 12, 16);
        b.chain.item.size = 2;
        add_stage(&b.chain, "zlib");
        make_filtered(&f, &b, &f.fill);
        b.made.ndim = cases[i].ndim;
        memcpy(b.made.lengths, cases[i].lengths, sizeof cases[i].lengths);
        if (cases[i].fits) {
            exercise(&f);
        } else {
            CHECK(transfer(&f, true, 0, ROWS, 0, COLUMNS, all, 1, &fault, &err) == ZC_ERR_ARGUMENT);
        }
    }
}

/* ---- blocks of other writers -------------------------------------------------------------------- */

static void put(uint8_t **at, uint32_t value, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        *(*at)++ = (uint8_t)(value >> 8 * i);
    }
}

/* A block of the values 1, 2, ... of that many items as the only chunk of an array of 4 x 3. */
static void put_block(const char *name, uint32_t mode, uint32_t ndim, uint32_t rows, uint32_t columns, uint32_t count,
                      uint32_t items, size_t cut)
{
    uint8_t bytes[200], *at = bytes;

    put(&at, mode, 2);
    put(&at, ndim, 2);
    put(&at, rows, 4);
    put(&at, columns, 4);
    if (mode == 1) {
        put(&at, count, 4);
    }
    for (uint32_t i = 0; i < items; i++) {
        put(&at, i + 1, 2);
    }
    const size_t n = (size_t)(at - bytes);
    write_text(name, (const char *)bytes, n < cut ? n : cut);
}

static void open_blocks(fixture *f, zc_chain *elements)
{
    char path[300];

    memset(elements, 0, sizeof *elements);
    open_fixture(f, "foreign/", 4, 3);
    f->array.grid[0].length = 4;
    f->array.grid[1].length = 3;
    make_blocks(&f->chain, elements, NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, i == 0 ? "foreign" : i == 1 ? "foreign/c" : "foreign/c/0");
        (void)make_directory(path);
    }
}

static zc_status read_block(fixture *f, uint16_t *out)
{
    return transfer(f, false, 0, 4, 0, 3, out, 1, &fault, &err);
}

/* Element (row, column) of a block lies at column * rows + row. */
static void blocks_of_other_shapes(void)
{
    static const uint32_t shapes[][2] = {{4, 3}, {4, 1}, {1, 3}, {2, 2}, {5, 4}, {8, 3}};
    uint16_t out[12], patch[2] = {500, 600};
    zc_chain elements;
    fixture f;

    open_blocks(&f, &elements);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const uint32_t rows = shapes[s][0], columns = shapes[s][1];
        for (uint32_t mode = 0; mode < 2; mode++) {
            put_block("foreign/c/0/0", mode, 2, rows, columns, rows * columns, rows * columns, SIZE_MAX);
            for (int patched = 0; patched < 2; patched++) {
                CHECK(read_block(&f, out) == ZC_OK);
                for (uint32_t r = 0; r < 4; r++) {
                    for (uint32_t c = 0; c < 3; c++) {
                        const uint16_t stored = r < rows && c < columns ? (uint16_t)(c * rows + r + 1) : f.fill;
                        CHECK(out[r * 3 + c] == (patched && r == 2 && c < 2 ? patch[c] : stored));
                    }
                }
                CHECK(transfer(&f, true, 2, 1, 0, 2, patch, 1, &fault, &err) == ZC_OK);
            }
        }
    }
}

static void lying_headers(void)
{
    static const struct { uint32_t mode, ndim, rows, columns, count, items; zc_status status; } lies[] = {
        {2, 2, 4, 3, 0, 12, ZC_ERR_CORRUPT}, {3, 2, 4, 3, 0, 12, ZC_ERR_CORRUPT}, {0, 1, 4, 3, 0, 12, ZC_ERR_CORRUPT},
        {0, 65535, 4, 3, 0, 12, ZC_ERR_CORRUPT}, {1, 2, 4, 3, 11, 12, ZC_ERR_CORRUPT},
        {0, 2, 9, 1, 0, 9, ZC_ERR_CORRUPT}, {0, 2, 0, 3, 0, 0, ZC_ERR_CORRUPT}, {0, 2, 4, 0, 0, 12, ZC_ERR_CORRUPT},
        {0, 2, UINT32_MAX, UINT32_MAX, 0, 12, ZC_ERR_CORRUPT}, {0, 2, 8, 7, 0, 12, ZC_ERR_CORRUPT},
        {0, 2, 4, 3, 0, 11, ZC_ERR_SIZE}, {0, 2, 4, 3, 0, 13, ZC_ERR_SIZE}, {0, 2, 5, 3, 0, 12, ZC_ERR_SIZE},
    };
    uint16_t out[12];
    zc_chain elements;
    fixture f;

    open_blocks(&f, &elements);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        put_block("foreign/c/0/0", lies[i].mode, lies[i].ndim, lies[i].rows, lies[i].columns, lies[i].count,
                  lies[i].items, SIZE_MAX);
        CHECK(read_block(&f, out) == lies[i].status);
        CHECK(strcmp(err.codec, lies[i].status == ZC_ERR_CORRUPT ? "n5_default" : "bytes") == 0);
        CHECK(transfer(&f, true, 1, 1, 1, 1, out, 1, &fault, &err) == lies[i].status);
        CHECK(fault.in_chunk);
    }
    for (size_t cut = 0; cut < 36; cut++) {
        for (uint32_t mode = 0; mode < 2; mode++) {
            put_block("foreign/c/0/0", mode, 2, 4, 3, 12, 12, cut);
            CHECK(read_block(&f, out) == (cut < 12 + 4 * mode ? ZC_ERR_CORRUPT : ZC_ERR_SIZE));
        }
    }
}

int main(void)
{
    if (!open_root()) {
        return 1;
    }
    RUN(blocks);
    RUN(blocks_in_shards);
    RUN(filters_in_front_of_shards);
    RUN(other_shapes);
    RUN(blocks_of_other_shapes);
    RUN(lying_headers);
    return check_report("arrays_in_chunks") | !close_root();
}
