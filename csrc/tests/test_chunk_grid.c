/* SPDX-License-Identifier: MIT
 *
 * Chunk indexes and Morton codes.
 */
#include "kernels/chunk_grid.h"
#include "kernels/morton.h"

#include "tests/every_cpu.h"

#define COLUMN(array) ((zc_column){(char *)(array), sizeof (array)[0]})
#define ONE(value) ((zc_column){(char *)&(value), 0})
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void signed_indexes(void)
{
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 64, 1000, INT64_C(1) << 40, (INT64_C(1) << 40) + 1,
                                      INT64_MAX - 1, INT64_MAX};

    for (size_t j = 0; j < LENGTH(lengths); j++) {
        int64_t d = lengths[j];
        int64_t x[] = {INT64_MIN, INT64_MIN + 1, -d, -d + 1, -2, -1, 0, 1, 2, d - 1, d, INT64_MAX};
        int64_t chunk[LENGTH(x)], offset[LENGTH(x)], count[LENGTH(x)];

        CHECK(zc_chunk_index_i64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(chunk), COLUMN(offset)));
        CHECK(zc_chunk_count_i64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(count)));
        for (size_t k = 0; k < LENGTH(x); k++) {
            const int64_t floor = x[k] / d - (x[k] % d < 0);
            int64_t one_chunk, one_offset;

            CHECK(chunk[k] == floor);
            CHECK(offset[k] == (int64_t)((uint64_t)x[k] - (uint64_t)floor * (uint64_t)d));
            CHECK(count[k] == x[k] / d + (x[k] % d > 0));
            CHECK(zc_chunk_index_i64(1, ONE(x[k]), ONE(d), ONE(one_chunk), ONE(one_offset)));
            CHECK(one_chunk == chunk[k] && one_offset == offset[k]);
        }
    }
}

static void unsigned_indexes(void)
{
    static const uint64_t lengths[] = {1, 2, 3, 10, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX};

    for (size_t j = 0; j < LENGTH(lengths); j++) {
        uint64_t d = lengths[j];
        uint64_t x[] = {0, 1, 2, d - 1, d, d + 1, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
        uint64_t chunk[LENGTH(x)], offset[LENGTH(x)], count[LENGTH(x)];

        CHECK(zc_chunk_index_u64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(chunk), COLUMN(offset)));
        CHECK(zc_chunk_count_u64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(count)));
        for (size_t k = 0; k < LENGTH(x); k++) {
            CHECK(chunk[k] == x[k] / d && offset[k] == x[k] % d);
            CHECK(count[k] == x[k] / d + (x[k] % d != 0));
        }
    }
}

/* Long ones take vectors; numbers that are too large for them stand in between. */
static void long_columns(void)
{
    static const int64_t lengths[] = {2, 3, 10, 1000, 1024, INT64_C(1) << 50, (INT64_C(1) << 51) - 1};
    int64_t x[331], chunk[LENGTH(x)], offset[LENGTH(x)], count[LENGTH(x)];
    uint64_t random = 1;

    for (size_t k = 0; k < LENGTH(x); k++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        x[k] = (int64_t)random >> (k % 7 == 3 ? 0 : 12 + k % 50);
    }
    for (size_t j = 0; j < LENGTH(lengths); j++) {
        int64_t d = lengths[j];
        uint64_t length = (uint64_t)d;

        x[5] = -d, x[6] = d, x[8] = 17 * d, x[9] = 17 * d - 1, x[11] = 17 * d + 1, x[12] = -17 * d - 1;
        CHECK(zc_chunk_index_i64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(chunk), COLUMN(offset)));
        CHECK(zc_chunk_count_i64(LENGTH(x), COLUMN(x), ONE(d), COLUMN(count)));
        for (size_t k = 0; k < LENGTH(x); k++) {
            CHECK(chunk[k] == x[k] / d - (x[k] % d < 0));
            CHECK(offset[k] == (x[k] % d + d) % d);
            CHECK(count[k] == x[k] / d + (x[k] % d > 0));
        }
        CHECK(zc_chunk_index_u64(LENGTH(x), COLUMN(x), ONE(length), COLUMN(chunk), COLUMN(offset)));
        CHECK(zc_chunk_count_u64(LENGTH(x), COLUMN(x), ONE(length), COLUMN(count)));
        for (size_t k = 0; k < LENGTH(x); k++) {
            const uint64_t value = (uint64_t)x[k];
            CHECK((uint64_t)chunk[k] == value / length && (uint64_t)offset[k] == value % length);
            CHECK((uint64_t)count[k] == value / length + (value % length != 0));
        }
    }
}

static void bad_lengths(void)
{
    int64_t x[3] = {5, 6, 7};
    int64_t lengths[3] = {2, 0, -1};
    int64_t chunk[3], offset[3];

    CHECK(!zc_chunk_index_i64(3, COLUMN(x), COLUMN(lengths), COLUMN(chunk), COLUMN(offset)));
    CHECK(chunk[0] == 2 && offset[0] == 1);
    CHECK(chunk[1] == 0 && offset[1] == 0 && chunk[2] == 0 && offset[2] == 0);
    CHECK(!zc_chunk_count_i64(3, COLUMN(x), ONE(lengths[1]), COLUMN(chunk)));
    CHECK(chunk[0] == 0);
    CHECK(zc_chunk_index_i64(3, COLUMN(x), ONE(lengths[0]), COLUMN(x), COLUMN(offset)));
    CHECK(x[0] == 2 && x[1] == 3 && x[2] == 3 && offset[2] == 1);
}

/* All codes of a grid: different positions, inside of the enclosing powers of two, and back. */
static void morton_codes(void)
{
    static const int64_t shapes[][4] = {{4, 4, 4, 4}, {5, 1, 3, 9}, {1, 1, 1, 1}, {300, 2, 7, 1}};

    for (size_t s = 0; s < LENGTH(shapes); s++) {
        zc_morton grid;
        CHECK(zc_morton_make(&grid, 4, shapes[s], NULL) == ZC_OK);
        for (int64_t code = 0; code < INT64_C(1) << grid.bits; code++) {
            int64_t position[4], back;
            const zc_positions at = {(char *)position, 32, 8};
            int inside = 1;

            CHECK(zc_morton_decode(&grid, 1, (char *)&code, 8, at, NULL) == ZC_OK);
            for (int d = 0; d < 4; d++) {
                inside = inside && position[d] < shapes[s][d];
            }
            CHECK((zc_morton_encode(&grid, 1, at, (char *)&back, 8, NULL) == ZC_OK) == inside);
            CHECK(!inside || back == code);
        }
    }
}

static void morton_order(void)
{
    const int64_t shape[2] = {2, 4};
    static const int64_t expected[8][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}, {1, 3}};
    const int64_t codes[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int64_t found[8][2];
    zc_morton grid;

    CHECK(zc_morton_make(&grid, 2, shape, NULL) == ZC_OK && grid.bits == 3);
    const zc_positions to = {(char *)found, 16, 8};
    CHECK(zc_morton_decode(&grid, 8, (const char *)codes, 8, to, NULL) == ZC_OK);
    CHECK(memcmp(found, expected, sizeof found) == 0);
}

static void morton_refuses(void)
{
    const int64_t shape[3] = {4, 0, INT64_C(1) << 62};
    const int64_t large[2] = {INT64_C(1) << 62, 4};
    const int64_t code = 16;
    int64_t position[2] = {4, 0}, out;
    zc_morton grid;
    zc_error err;

    CHECK(zc_morton_make(&grid, 2, shape, &err) == ZC_ERR_ARGUMENT);
    CHECK(zc_morton_make(&grid, 2, large, &err) == ZC_ERR_ARGUMENT);
    CHECK(zc_morton_make(&grid, ZC_MAX_DIMS + 1, shape, &err) == ZC_ERR_ARGUMENT);
    CHECK(zc_morton_make(&grid, 2, (const int64_t[]){4, 4}, &err) == ZC_OK);
    const zc_positions at = {(char *)position, 16, 8};
    CHECK(zc_morton_encode(&grid, 1, at, (char *)&out, 8, &err) == ZC_ERR_RANGE);
    position[0] = -1;
    CHECK(zc_morton_encode(&grid, 1, at, (char *)&out, 8, &err) == ZC_ERR_RANGE);
    CHECK(zc_morton_decode(&grid, 1, (const char *)&code, 8, at, &err) == ZC_ERR_RANGE);
    CHECK(strstr(err.message, "code 16") != NULL);
}

int main(void)
{
    RUN_ON_EVERY_CPU(signed_indexes);
    RUN_ON_EVERY_CPU(unsigned_indexes);
    RUN_ON_EVERY_CPU(long_columns);
    RUN(bad_lengths);
    RUN(morton_codes);
    RUN(morton_order);
    RUN(morton_refuses);
    return check_report("chunk_grid");
}
