/* SPDX-License-Identifier: MIT
 *
 * A tile is 16 items, in as many vector registers as an item has bytes (2, 4, 8 or 16).  Interleaving the
 * first half of the registers with the second half, byte by byte, rotates the bits of a byte's position by
 * one to the left.  The position is (item: 4 bits, byte: log2(size) bits), so four rounds shuffle a tile and
 * log2(size) rounds undo it.  Items of other sizes are moved as squares of 16 items x 16 bytes.
 */
#include "kernels/shuffle.h"

#include <string.h>

#include "base/assert.h"
#include "kernels/region.h"
#include "kernels/byte_order.h"

/* Items first to n - 1 as a plane of bytes with its axes exchanged, or `back`. */
static void exchange_rest(char *dst, const char *src, size_t first, size_t n, size_t size, bool back)
{
    const int64_t left = (int64_t)(n - first), width = (int64_t)size, plane = (int64_t)n;
    const int64_t shape[2] = {back ? left : width, back ? width : left};
    const int64_t to[2] = {back ? width : plane, 1}, from[2] = {1, back ? plane : width};
    const zc_item byte = {.size = 1};

    zc_region_copy(2, shape, dst + (back ? first * size : first), to, src + (back ? first : first * size), from, &byte);
}

#ifdef ZC_HAVE_V16

#define LINE 64     /* planes may lie a power of two apart: write whole cache lines, one plane at a time */

/* `rounds` times interleave the two halves of 16 * SIZE bytes: from in_row apart to out_row apart. */
#define STAMP_TILE(SIZE)                                                                         \
    ZC_V16 static inline void tile_##SIZE(char *dst, size_t out_row, const char *src,            \
                                          size_t in_row, const int rounds)                       \
    {                                                                                            \
        zc_v16 row[2][SIZE];                                                                     \
        for (int i = 0; i < SIZE; i++) {                                                         \
            row[0][i] = zc_v16_load(src + (size_t)i * in_row);                                   \
        }                                                                                        \
        for (int round = 0; round < rounds; round++) {                                           \
            const zc_v16 *const from = row[round % 2];                                           \
            zc_v16 *const to = row[1 - round % 2];                                               \
            for (int i = 0; i < SIZE / 2; i++) {                                                 \
                to[2 * i] = zc_zip1_lo(from[i], from[i + SIZE / 2]);                             \
                to[2 * i + 1] = zc_zip1_hi(from[i], from[i + SIZE / 2]);                         \
            }                                                                                    \
        }                                                                                        \
        for (int i = 0; i < SIZE; i++) {                                                         \
            zc_v16_store(dst + (size_t)i * out_row, row[rounds % 2][i]);                         \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_V16 static size_t shuffle_##SIZE(char *dst, const char *src, size_t n)                    \
    {                                                                                            \
        size_t i = 0;                                                                            \
        for (; SIZE >= 8 && i + LINE <= n; i += LINE) {                                          \
            char lines[SIZE * LINE];                                                             \
            for (size_t k = 0; k < LINE; k += 16) {                                              \
                tile_##SIZE(lines + k, LINE, src + (i + k) * SIZE, 16, 4);                       \
            }                                                                                    \
            for (size_t b = 0; b < SIZE; b++) {                                                  \
                memcpy(dst + b * n + i, lines + b * LINE, LINE);                                 \
            }                                                                                    \
        }                                                                                        \
        for (; i + 16 <= n; i += 16) {                                                           \
            tile_##SIZE(dst + i, n, src + i * SIZE, 16, 4);                                      \
        }                                                                                        \
        return i;                                                                                \
    }                                                                                            \
                                                                                                 \
    ZC_V16 static size_t unshuffle_##SIZE(char *dst, const char *src, size_t n)                  \
    {                                                                                            \
        const int rounds = SIZE == 2 ? 1 : SIZE == 4 ? 2 : SIZE == 8 ? 3 : 4;                    \
        size_t i = 0;                                                                            \
        for (; i + 16 <= n; i += 16) {                                                           \
            tile_##SIZE(dst + i * SIZE, 16, src + i, n, rounds);                                 \
        }                                                                                        \
        return i;                                                                                \
    }

STAMP_TILE(2)
STAMP_TILE(4)
STAMP_TILE(8)
STAMP_TILE(16)

/* Transpose a square of 16 x 16 bytes with n_in rows of input; n_out rows of output are wanted. */
ZC_V16 static inline void square(char *dst, size_t out_row, size_t n_out, const char *src, size_t in_row,
                                 size_t n_in)
{
    char rows[256];

    if (n_in < 16) {
        for (size_t i = 0; i < 16; i++) {
            zc_v16_store(rows + 16 * i, i < n_in ? zc_v16_load(src + i * in_row) : zc_v16_zero());
        }
        src = rows;
        in_row = 16;
    }
    if (n_out == 16) {
        tile_16(dst, out_row, src, in_row, 4);
        return;
    }
    tile_16(rows, 16, src, in_row, 4);
    for (size_t i = 0; i < n_out; i++) {
        zc_v16_store(dst + i * out_row, zc_v16_load(rows + 16 * i));
    }
}

/* The last square of an item reaches back to be a whole one; that of a short item reaches into the next. */
static size_t next_square(size_t b, size_t size)
{
    return b + 16 < size && b + 32 > size ? size - 16 : b + 16;
}

/* Items that the last ones' squares must not reach beyond. */
static size_t spare_items(size_t size)
{
    return size < 16 ? 16 / size : 0;
}

ZC_V16 static size_t shuffle_squares(char *dst, const char *src, size_t n, size_t size)
{
    const size_t planes = size < 16 ? size : 16;
    size_t i = 0;

    for (; i + 16 + spare_items(size) <= n; i += 16) {
        for (size_t b = 0; b < size; b = next_square(b, size)) {
            square(dst + b * n + i, n, planes, src + i * size + b, size, 16);
        }
    }
    return i;
}

/* In ascending order: what a short item writes into the next one is overwritten. */
ZC_V16 static size_t unshuffle_squares(char *dst, const char *src, size_t n, size_t size)
{
    const size_t planes = size < 16 ? size : 16;
    size_t i = 0;

    for (; i + 16 + spare_items(size) <= n; i += 16) {
        for (size_t b = 0; b < size; b = next_square(b, size)) {
            square(dst + i * size + b, size, 16, src + b * n + i, n, planes);
        }
    }
    return i;
}

/* Whole tiles; how many items these were. */
static size_t exchange_tiles(char *dst, const char *src, size_t n, size_t size, bool back)
{
    if (!(zc_cpu_features() & ZC_V16_CPU)) {
        return 0;
    }
    switch (size) {
    case 2: return (back ? unshuffle_2 : shuffle_2)(dst, src, n);
    case 4: return (back ? unshuffle_4 : shuffle_4)(dst, src, n);
    case 8: return (back ? unshuffle_8 : shuffle_8)(dst, src, n);
    case 16: return (back ? unshuffle_16 : shuffle_16)(dst, src, n);
    default: return size > 2 ? (back ? unshuffle_squares : shuffle_squares)(dst, src, n, size) : 0;
    }
}

#else

#define exchange_tiles(...) ((size_t)0)

#endif

/* ---- two tiles at once ------------------------------------------------------------------------- */

#ifdef ZC_HAVE_AVX

enum { WIDEST = 16 };       /* bytes of the largest item that is done so */

/* Instructions on 32 bytes work on both halves alike: one tile in the lower half, the next one in the upper half. */
ZC_AVX2 static inline __m256i load_two(const char *low, const char *high)
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(zc_v16_load(low)), zc_v16_load(high), 1);
}

ZC_AVX2 static inline __m256i load_wide(const char *src)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)src);
}

ZC_AVX2 static inline void store_wide(char *dst, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, x);
}

#define STAMP_TWO_TILES(SIZE, ROUNDS)                                                            \
    ZC_AVX2 static inline void zip_##SIZE(__m256i row[2][SIZE], const int rounds)                \
    {                                                                                            \
        for (int round = 0; round < rounds; round++) {                                           \
            const __m256i *const from = row[round % 2];                                          \
            __m256i *const to = row[1 - round % 2];                                              \
            for (int i = 0; i < SIZE / 2; i++) {                                                 \
                to[2 * i] = _mm256_unpacklo_epi8(from[i], from[i + SIZE / 2]);                   \
                to[2 * i + 1] = _mm256_unpackhi_epi8(from[i], from[i + SIZE / 2]);               \
            }                                                                                    \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_AVX2 static inline void shuffle_two_##SIZE(char *dst, size_t out_row, const char *src)    \
    {                                                                                            \
        __m256i row[2][SIZE];                                                                    \
        for (int i = 0; i < SIZE; i++) {                                                         \
            row[0][i] = load_two(src + 16 * i, src + 16 * (SIZE + i));                           \
        }                                                                                        \
        zip_##SIZE(row, 4);                                                                      \
        for (int i = 0; i < SIZE; i++) {                                                         \
            store_wide(dst + (size_t)i * out_row, row[0][i]);                                    \
        }                                                                                        \
    }                                                                                            \
                                                                                                 \
    ZC_AVX2 static size_t shuffle_wide_##SIZE(char *dst, const char *src, size_t n)              \
    {                                                                                            \
        size_t i = 0;                                                                            \
        for (; SIZE >= 8 && i + LINE <= n; i += LINE) {                                          \
            char lines[SIZE * LINE];                                                             \
            shuffle_two_##SIZE(lines, LINE, src + i * SIZE);                                     \
            shuffle_two_##SIZE(lines + 32, LINE, src + (i + 32) * SIZE);                         \
            for (size_t b = 0; b < SIZE; b++) {                                                  \
                memcpy(dst + b * n + i, lines + b * LINE, LINE);                                 \
            }                                                                                    \
        }                                                                                        \
        for (; i + 32 <= n; i += 32) {                                                           \
            shuffle_two_##SIZE(dst + i, n, src + i * SIZE);                                      \
        }                                                                                        \
        return i;                                                                                \
    }                                                                                            \
                                                                                                 \
    ZC_AVX2 static size_t unshuffle_wide_##SIZE(char *dst, const char *const *planes, size_t n)  \
    {                                                                                            \
        size_t i = 0;                                                                            \
        for (; i + 32 <= n; i += 32) {                                                           \
            __m256i row[2][SIZE];                                                                \
            char *const to = dst + i * SIZE;                                                     \
            for (int b = 0; b < SIZE; b++) {                                                     \
                row[0][b] = load_wide(planes[b] + i);                                            \
            }                                                                                    \
            zip_##SIZE(row, ROUNDS);                                                             \
            const __m256i *const made = row[ROUNDS % 2];                                         \
            for (int k = 0; k < SIZE; k += 2) {                                                  \
                store_wide(to + 16 * k, _mm256_permute2x128_si256(made[k], made[k + 1], 0x20));  \
            }                                                                                    \
            for (int k = 0; k < SIZE; k += 2) {                                                  \
                store_wide(to + 16 * (SIZE + k), _mm256_permute2x128_si256(made[k], made[k + 1], 0x31)); \
            }                                                                                    \
        }                                                                                        \
        return i;                                                                                \
    }

STAMP_TWO_TILES(2, 1)
STAMP_TWO_TILES(4, 2)
STAMP_TWO_TILES(8, 3)
STAMP_TWO_TILES(16, 4)

static bool is_wide(size_t size)
{
    return (size == 2 || size == 4 || size == 8 || size == WIDEST) && (zc_cpu_features() & ZC_CPU_AVX2);
}

/* Whole pairs of tiles; how many items these were. */
static size_t shuffle_wide(char *dst, const char *src, size_t n, size_t size)
{
    if (!is_wide(size)) {
        return 0;
    }
    switch (size) {
    case 2: return shuffle_wide_2(dst, src, n);
    case 4: return shuffle_wide_4(dst, src, n);
    case 8: return shuffle_wide_8(dst, src, n);
    default: return shuffle_wide_16(dst, src, n);
    }
}

static size_t unshuffle_wide_planes(char *dst, const char *const *planes, size_t n, size_t size)
{
    switch (size) {
    case 2: return unshuffle_wide_2(dst, planes, n);
    case 4: return unshuffle_wide_4(dst, planes, n);
    case 8: return unshuffle_wide_8(dst, planes, n);
    default: return unshuffle_wide_16(dst, planes, n);
    }
}

static size_t unshuffle_wide(char *dst, const char *src, size_t n, size_t size)
{
    const char *planes[WIDEST];

    if (!is_wide(size)) {
        return 0;
    }
    for (size_t b = 0; b < size; b++) {
        planes[b] = src + b * n;
    }
    return unshuffle_wide_planes(dst, planes, n, size);
}

bool zc_unshuffle_planes(void *dst, const void *const *planes, size_t n, size_t size)
{
    const char *from[WIDEST];
    char *const to = dst;

    if (!is_wide(size)) {
        return false;
    }
    for (size_t b = 0; b < size; b++) {
        from[b] = planes[b];
    }
    for (size_t i = unshuffle_wide_planes(to, from, n, size); i < n; i++) {
        for (size_t b = 0; b < size; b++) {
            to[i * size + b] = from[b][i];
        }
    }
    return true;
}

#else

#define shuffle_wide(...) ((size_t)0)
#define unshuffle_wide(...) ((size_t)0)

bool zc_unshuffle_planes(void *dst, const void *const *planes, size_t n, size_t size)
{
    (void)dst, (void)planes, (void)n, (void)size;
    return false;
}

#endif

static void exchange(char *dst, const char *src, size_t n, size_t size, bool back)
{
    zc_assert(size >= 1 && zc_is_apart(dst, n * size, src, n * size));

    const size_t wide = back ? unshuffle_wide(dst, src, n, size) : shuffle_wide(dst, src, n, size);
    const size_t done = wide > 0 ? wide : exchange_tiles(dst, src, n, size, back);

    if (done < n) {
        exchange_rest(dst, src, done, n, size, back);
    }
}

void zc_shuffle(void *dst, const void *src, size_t n, size_t size)
{
    exchange(dst, src, n, size, false);
}

void zc_unshuffle(void *dst, const void *src, size_t n, size_t size)
{
    exchange(dst, src, n, size, true);
}

#define SOME ((size_t)8 << 10)       /* bytes of some items put together at once, at least one of 255 bytes */

void zc_unshuffle_some(void *dst, const void *src, size_t n, size_t size, size_t first, size_t count)
{
    zc_assert(size >= 1 && first <= n && count <= n - first);
    zc_assert(zc_is_apart(dst, count * size, src, n * size));

    const size_t most = SOME / size > 0 ? SOME / size : 1;
    char *to = dst;

    if (first == 0 && count == n) {
        zc_unshuffle(dst, src, n, size);
        return;
    }
    for (size_t part; count > 0; first += part, count -= part, to += part * size) {
        char planes[SOME];
        part = count < most ? count : most;
        for (size_t b = 0; b < size; b++) {
            memcpy(planes + b * part, (const char *)src + b * n + first, part);
        }
        zc_unshuffle(to, planes, part, size);
    }
}
