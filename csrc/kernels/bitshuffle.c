/* SPDX-License-Identifier: MIT
 *
 * Eight rows hold one byte of every item, bit by bit.  Their bytes at the same position are the eight items of
 * a group as a matrix of 8 x 8 bits that lies on its side: byte k holds bit k of each item.  Turned, it is
 * the eight items' bytes in a row.  Tiles that stay in the L1 cache are turned byte by byte of the items, and
 * the bytes then joined to items.
 */
#include "kernels/bitshuffle.h"

#include <stdint.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "base/cpu.h"
#include "kernels/shuffle.h"

#if defined(ZC_X86) && (defined(__GNUC__) || defined(__clang__))
#define HAVE_X86_VECTORS 1
#include <immintrin.h>
#endif

#define TILE ((size_t)16 << 10)      /* bytes of items joined at once, at least eight items of 255 bytes */

/* Turn a matrix: byte k, bit i becomes byte i, bit k. */
ZC_INLINE uint64_t turned(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & UINT64_C(0x00aa00aa00aa00aa);

    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & UINT64_C(0x0000cccc0000cccc);
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ t ^ t << 28;
}

static void turn_groups(uint8_t *dst, const uint8_t *src, size_t row, size_t first, size_t groups)
{
    for (size_t g = first; g < groups; g++) {
        uint64_t x = 0;
        for (size_t k = 0; k < 8; k++) {
            x |= (uint64_t)src[k * row + g] << 8 * k;
        }
        x = turned(x);
        for (size_t i = 0; i < 8; i++) {
            dst[8 * g + i] = (uint8_t)(x >> 8 * i);
        }
    }
}

#ifdef HAVE_X86_VECTORS

/*
 * Both versions first bring the eight bytes of each group together, by interleaving rows in three rounds (of
 * bytes, pairs and quadruples) within the 16-byte lanes of the registers: after that, register m holds in
 * lane l the groups 16 * l + 2 * m and the next.
 */
#define INTERLEAVE(V, LOAD, UNPACK, r, src, row)                                                     \
    do {                                                                                             \
        V pair[8], quad[8];                                                                          \
        for (int i = 0; i < 4; i++) {                                                                \
            const V a = LOAD((src) + 2 * i * (row)), b = LOAD((src) + (2 * i + 1) * (row)); \
            pair[i] = UNPACK(lo_epi8)(a, b);                                                         \
            pair[4 + i] = UNPACK(hi_epi8)(a, b);                                                     \
        }                                                                                            \
        for (int half = 0; half < 2; half++) {                                                       \
            for (int i = 0; i < 2; i++) {                                                            \
                const V a = pair[4 * half + 2 * i], b = pair[4 * half + 2 * i + 1];                  \
                quad[4 * half + i] = UNPACK(lo_epi16)(a, b);                                         \
                quad[4 * half + 2 + i] = UNPACK(hi_epi16)(a, b);                                     \
            }                                                                                        \
        }                                                                                            \
        for (int i = 0; i < 4; i++) {                                                                \
            (r)[2 * i] = UNPACK(lo_epi32)(quad[2 * i], quad[2 * i + 1]);                             \
            (r)[2 * i + 1] = UNPACK(hi_epi32)(quad[2 * i], quad[2 * i + 1]);                         \
        }                                                                                            \
    } while (0)

#define UNPACK32(x) _mm256_unpack##x
#define LOAD32(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))

ZC_TARGET("avx2") static inline __m256i turned_32(__m256i x)
{
    __m256i t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 7)),
                                 _mm256_set1_epi64x(0x00aa00aa00aa00aa));

    x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 7)));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 14)),
                         _mm256_set1_epi64x(0x0000cccc0000cccc));
    x = _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 14)));
    t = _mm256_and_si256(_mm256_xor_si256(x, _mm256_srli_epi64(x, 28)),
                         _mm256_set1_epi64x(0x00000000f0f0f0f0));
    return _mm256_xor_si256(x, _mm256_xor_si256(t, _mm256_slli_epi64(t, 28)));
}

/* 32 groups at a time; returns how many were done. */
ZC_TARGET("avx2") static size_t turn_avx2(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    size_t g = 0;

    for (; g + 32 <= groups; g += 32) {
        __m256i r[8];
        INTERLEAVE(__m256i, LOAD32, UNPACK32, r, src + g, (ptrdiff_t)row);
        for (int m = 0; m < 8; m++) {
            r[m] = turned_32(r[m]);
        }
        for (int m = 0; m < 8; m += 2) {
            uint8_t *const to = dst + 8 * g + 16 * m;
            _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute2x128_si256(r[m], r[m + 1], 0x20));
            _mm256_storeu_si256((__m256i *)(void *)(to + 128), _mm256_permute2x128_si256(r[m], r[m + 1], 0x31));
        }
    }
    return g;
}

#define UNPACK64(x) _mm512_unpack##x
#define LOAD64(p) _mm512_loadu_si512((const void *)(p))

/*
 * 64 groups at a time.  The instruction multiplies bit matrices: with the unit matrix, whose bytes are the
 * powers of two, it turns one, but takes the rows from the last to the first.
 */
ZC_TARGET("avx512f,avx512bw,avx512vl,avx512dq,gfni")
static size_t turn_gfni(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    const __m512i unit = _mm512_set1_epi64((long long)UINT64_C(0x8040201008040201));
    size_t g = 0;

    for (; g + 64 <= groups; g += 64) {
        __m512i r[8];
        INTERLEAVE(__m512i, LOAD64, UNPACK64, r, src + g + 7 * row, -(ptrdiff_t)row);
        for (int m = 0; m < 8; m++) {
            r[m] = _mm512_gf2p8affine_epi64_epi8(unit, r[m], 0);
        }
        for (int half = 0; half < 2; half++) {       /* put the lanes of four registers in order */
            const __m512i *const q = r + 4 * half;
            uint8_t *const to = dst + 8 * g + 64 * half;
            const __m512i a = _mm512_shuffle_i64x2(q[0], q[1], 0x44), b = _mm512_shuffle_i64x2(q[2], q[3], 0x44);
            const __m512i c = _mm512_shuffle_i64x2(q[0], q[1], 0xee), d = _mm512_shuffle_i64x2(q[2], q[3], 0xee);
            _mm512_storeu_si512(to, _mm512_shuffle_i64x2(a, b, 0x88));
            _mm512_storeu_si512(to + 128, _mm512_shuffle_i64x2(a, b, 0xdd));
            _mm512_storeu_si512(to + 256, _mm512_shuffle_i64x2(c, d, 0x88));
            _mm512_storeu_si512(to + 384, _mm512_shuffle_i64x2(c, d, 0xdd));
        }
    }
    return g;
}

/* Many groups at a time, with what this CPU has; returns how many were done. */
static size_t turn_wide(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    const uint32_t cpu = zc_cpu_features(), widest = ZC_CPU_AVX512 | ZC_CPU_GFNI;
    size_t done = 0;

    if ((cpu & widest) == widest) {
        done = turn_gfni(dst, src, row, groups);
    }
    if (cpu & ZC_CPU_AVX2) {
        done += turn_avx2(dst + 8 * done, src + done, row, groups - done);
    }
    return done;
}

/* The inverse for bytes of 32 items at a time: their highest bits, then the next. */
ZC_TARGET("avx2") static size_t lay_avx2(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    size_t g = 0;

    for (; g + 4 <= groups; g += 4) {
        __m256i bytes = LOAD32(src + 8 * g);
        for (size_t k = 8; k-- > 0; bytes = _mm256_add_epi8(bytes, bytes)) {
            const int bits = _mm256_movemask_epi8(bytes);
            memcpy(dst + k * row + g, &bits, 4);
        }
    }
    return g;
}

static size_t lay_wide(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    return zc_cpu_features() & ZC_CPU_AVX2 ? lay_avx2(dst, src, row, groups) : 0;
}

#else

#define turn_wide(...) ((size_t)0)
#define lay_wide(...) ((size_t)0)

#endif

/* One byte of each item of some groups, from its eight rows. */
static void turn(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    turn_groups(dst, src, row, turn_wide(dst, src, row, groups), groups);
}

/* How many groups of items are joined at once. */
static size_t tile_groups(size_t size)
{
    const size_t most = TILE / (8 * size);

    return most > 64 ? most / 64 * 64 : most;
}

void zc_bitunshuffle(void *dst, const void *src, size_t n, size_t size, size_t first, size_t count)
{
    zc_assert(size >= 1 && n % 8 == 0 && first % 8 == 0 && count % 8 == 0);
    zc_assert(first <= n && count <= n - first && zc_is_apart(dst, count * size, src, n * size));

    const uint8_t *const rows = (const uint8_t *)src + first / 8;
    const size_t row = n / 8, groups = count / 8;
    const size_t most = tile_groups(size);
    uint8_t tile[TILE];

    if (size == 1) {
        turn(dst, rows, row, groups);
        return;
    }
    for (size_t g = 0, part; g < groups; g += part) {
        part = groups - g < most ? groups - g : most;
        for (size_t b = 0; b < size; b++) {
            turn(tile + 8 * part * b, rows + 8 * b * row + g, row, part);
        }
        zc_unshuffle((uint8_t *)dst + 8 * g * size, tile, 8 * part, size);
    }
}

/* One byte of each item of some groups, to its eight rows. */
static void lay(uint8_t *dst, const uint8_t *src, size_t row, size_t groups)
{
    for (size_t g = lay_wide(dst, src, row, groups); g < groups; g++) {
        const uint64_t x = turned(zc_load_le64(src + 8 * g));
        for (size_t k = 0; k < 8; k++) {
            dst[k * row + g] = (uint8_t)(x >> 8 * k);
        }
    }
}

void zc_bitshuffle(void *dst, const void *src, size_t n, size_t size)
{
    zc_assert(size >= 1 && n % 8 == 0 && zc_is_apart(dst, n * size, src, n * size));

    uint8_t *const rows = dst;
    const size_t row = n / 8, most = tile_groups(size);
    uint8_t tile[TILE];

    for (size_t g = 0, part; g < row; g += part) {
        const uint8_t *const items = (const uint8_t *)src + 8 * g * size;
        part = row - g < most ? row - g : most;
        zc_shuffle(tile, items, 8 * part, size);
        for (size_t b = 0; b < size; b++) {
            lay(rows + 8 * b * row + g, tile + 8 * part * b, row, part);
        }
    }
}
