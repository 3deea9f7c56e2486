/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for stored chunks.  Byte 0 of the input chooses an array, byte 1 holds flags, bytes 2 to 7 choose what is
 * read or written; the rest is the value of every chunk.
 *
 * What a read returns must not depend on what the memory held before, nor on the cache; what was written must be
 * read back.
 */
#include "base/arith.h"
#include "fuzz/array_table.h"
#include "kernels/crc32c.h"

enum { PREFIX = 8 };

enum { IN_RANGES = 1, UNKNOWN_SIZE = 2, CACHE = 4, INDEX_CACHE = 8, WRITE = 16, FIX_CHECKSUM = 32 };

/* What to read or write: a box with steps, or single points. */
typedef struct choice {
    bool points;
    int64_t count[NDIM], start[NDIM], step[NDIM];
} choice;

/* In the whole array, or in its first chunk. */
static choice parse_choice(const uint8_t *bytes, bool one_chunk)
{
    const int64_t lengths[] = {one_chunk ? CHUNK_ROWS : ROWS, one_chunk ? CHUNK_COLUMNS : COLUMNS};
    choice c = {.points = bytes[0] % 8 == 7};

    for (int d = 0; d < NDIM; d++) {
        c.start[d] = bytes[1 + 2 * d] % lengths[d];
        c.step[d] = bytes[0] % 8 == 6 ? 1 + bytes[5] % 7 : 1;
        c.count[d] = 1 + bytes[2 + 2 * d] % ((lengths[d] - 1 - c.start[d]) / c.step[d] + 1);
    }
    return c;
}

/* Indices of the points, as numbers that are spread over the first chunk. */
static void spread_points(const choice *c, int64_t index[NDIM][16], int64_t numbers[16])
{
    for (int p = 0; p < 16; p++) {
        numbers[p] = p;
        index[0][p] = (c->start[0] + p * c->count[0]) % CHUNK_ROWS;
        index[1][p] = (c->start[1] + p * c->count[1]) % CHUNK_COLUMNS;
    }
}

static zc_status transfer(fuzz_array *a, const choice *c, bool write, void *memory, zc_error *err)
{
    int64_t index[NDIM][16], numbers[16];
    zc_selection selection = {.ndim = NDIM, .memory = memory};
    const zc_call call = {.array = &a->array, .store = &a->store, .selection = &selection, .threads = 1,
                          .prefetch = memory == NULL};
    zc_fault fault;

    if (c->points) {
        spread_points(c, index, numbers);
        selection.kind = ZC_SELECT_POINTS;
        selection.points = numbers;
        selection.n_points = 16;
        selection.point_stride = ITEM;
    }
    for (int d = 0; d < NDIM; d++) {
        selection.axis[d] = c->points ? (zc_axis){.count = 16, .index = index[d], .place = numbers}
                                 : (zc_axis){.count = c->count[d], .start = c->start[d], .step = c->step[d]};
    }
    if (memory != NULL) {            /* NULL stays NULL, whatever is clipped */
        selection.axis[1].stride = ITEM;
        selection.axis[0].stride = ITEM * c->count[1];
    }
    zc_error_clear(err);
    return (write ? zc_write : zc_read)(&call, &fault, err);
}

static size_t nbytes_of(const choice *c)
{
    return c->points ? 16 * ITEM : (size_t)(c->count[0] * c->count[1]) * ITEM;
}

/* Read over another background and, the second time, with another cache state and way of reading. */
static void read_twice(fuzz_array *a, const choice *c)
{
    const size_t n = nbytes_of(c);
    uint8_t *first = case_exact(NULL, n), *second = case_exact(NULL, n);
    zc_error err;

    memset(first, 0x00, n);
    memset(second, 0xff, n);
    const zc_status status = transfer(a, c, false, first, &err);
    FUZZ_REQUIRE(status == ZC_OK || err.message[0] != '\0', "a failure without a message");
    const zc_status again = transfer(a, c, false, second, &err);
    FUZZ_REQUIRE((status == ZC_OK) == (again == ZC_OK), "of two reads one failed");
    FUZZ_REQUIRE(status != ZC_OK || memcmp(first, second, n) == 0, "two reads differ");
    free(first);
    free(second);
}

/* Read for the sake of the cache alone. */
static void prefetch(fuzz_array *a)
{
    const choice all = {.count = {ROWS, COLUMNS}, .step = {1, 1}};
    zc_error err;

    (void)transfer(a, &all, false, NULL, &err);
}

/* Patch a chunk and read what was written.  Inner chunks that were not touched stay as they are, damaged ones too. */
static void write_and_read(fuzz_array *a, const choice *c)
{
    const size_t n = nbytes_of(c);
    uint8_t *memory = case_exact(NULL, n), *back = case_exact(NULL, n);
    zc_error err;

    memset(memory, 0x5a, n);
    if (transfer(a, c, true, memory, &err) == ZC_OK) {
        FUZZ_REQUIRE(a->stored != NULL, "nothing was stored");
        a->value = a->stored;
        a->n = a->n_stored;
        const zc_status status = transfer(a, c, false, back, &err);
        FUZZ_REQUIRE(status == ZC_OK, err.message);
        FUZZ_REQUIRE(memcmp(memory, back, n) == 0, "something else than what was written was read");
    }
    free(memory);
    free(back);
}

/* Make the checksum of a shard's index right, or no change of the index is looked at. */
static void fix_checksum(const fuzz_array *a, uint8_t *value, size_t n)
{
    const zc_chain *shard = a->chain.sharded ? &a->chain : a->chain.filtered != NULL ? &a->after : NULL;
    const size_t inner = CHUNK_ROWS * CHUNK_COLUMNS;
    size_t size;

    if (shard == NULL || !shard->sharded || a->index.n_stages == 0) {
        return;
    }
    const size_t entries = inner / (size_t)(shard->inner_shape[0] * shard->inner_shape[1]);
    if (zc_chain_index_size(shard, entries, &size, NULL) != ZC_OK || size > n) {
        return;
    }
    uint8_t *index = shard->index_at_start ? value : value + n - size;
    zc_store_le32(index + size - 4, zc_crc32c(0, index, size - 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < PREFIX) {
        return 0;
    }
    const uint8_t flags = data[1];
    const choice c = parse_choice(data + 2, (flags & WRITE) != 0);
    uint8_t *value = case_exact(data + PREFIX, n - PREFIX);
    fuzz_array a;

    fuzz_array_open(&a, data[0] % FUZZ_ARRAYS, value, n - PREFIX);
    a.unknown = (flags & UNKNOWN_SIZE) != 0;
    a.ranges = a.unknown || (flags & IN_RANGES);
    a.store.values_in_memory = !a.ranges;
    zc_cache *cache = flags & CACHE ? zc_cache_new(1 << 20) : NULL;
    zc_cache *indexes = flags & INDEX_CACHE ? zc_cache_new(1 << 16) : NULL;
    a.array.cache = cache;
    a.array.indexes = indexes;
    a.array.number = zc_cache_array();
    if (flags & FIX_CHECKSUM) {
        fix_checksum(&a, value, n - PREFIX);
    }
    if (flags & WRITE) {
        write_and_read(&a, &c);
    } else {
        read_twice(&a, &c);
        if (cache != NULL) {
            prefetch(&a);
            read_twice(&a, &c);
        }
    }
    fuzz_array_close(&a);
    zc_cache_free(cache);
    zc_cache_free(indexes);
    free(value);
    return 0;
}
