/* SPDX-License-Identifier: MIT */
#include "kernels/bit_packing.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "kernels/byte_order.h"

/* ---- flags ----------------------------------------------------------------------------------- */

#define LOW7 UINT64_C(0x7f7f7f7f7f7f7f7f)
#define ONES UINT64_C(0x0101010101010101)
#define DIAGONAL UINT64_C(0x8040201008040201)       /* bit i of byte i */

static uint64_t reverse_bytes_if(uint64_t x, bool really)
{
    return really ? ZC_BSWAP64(x) : x;
}

/* Eight flags, the first in the lowest byte, to one byte with the first in the lowest bit. */
static uint8_t pack_eight(uint64_t flags)
{
    const uint64_t set = (((flags & LOW7) + LOW7) | flags) >> 7 & ONES;

    return (uint8_t)(set * UINT64_C(0x0102040810204080) >> 56);
}

static uint64_t unpack_eight(uint8_t byte)
{
    const uint64_t set = byte * ONES & DIAGONAL;

    return (((set & LOW7) + LOW7) | set) >> 7 & ONES;
}

#if defined(ZC_HAVE_AVX)

/* What sets the order of flags: the identity, or every group of eight bytes reversed. */
ZC_V16 static inline __m128i flag_order(bool high_first)
{
    uint8_t order[16];

    zc_swap_order(order, high_first ? 8 : 0);
    return zc_v16_load(order);
}

/* Sixteen flags, one bit each. */
ZC_V16 static inline uint64_t pack_sixteen(const uint8_t *src, zc_v16 order)
{
    const zc_v16 flags = zc_v16_permute(zc_v16_load(src), order);

    return ~(uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(flags, zc_v16_zero())) & 0xffff;
}

/* Whole words of 64 flags; how many flags these were. */
ZC_V16 static size_t pack_v16(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const zc_v16 order = flag_order(high_first);
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        const uint64_t low = pack_sixteen(src + i, order) | pack_sixteen(src + i + 16, order) << 16;
        const uint64_t high = pack_sixteen(src + i + 32, order) | pack_sixteen(src + i + 48, order) << 16;
        const uint64_t word = low | high << 32;

        memcpy(dst + i / 8, &word, sizeof word);
    }
    return i;
}

ZC_AVX2 static inline uint64_t pack_thirty_two(const uint8_t *src, __m256i order)
{
    const __m256i flags = _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(const void *)src), order);

    return (uint32_t)~_mm256_movemask_epi8(_mm256_cmpeq_epi8(flags, _mm256_setzero_si256()));
}

ZC_AVX2 static size_t pack_avx2(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const __m256i order = _mm256_broadcastsi128_si256(flag_order(high_first));
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        const uint64_t word = pack_thirty_two(src + i, order) | pack_thirty_two(src + i + 32, order) << 32;
        memcpy(dst + i / 8, &word, sizeof word);
    }
    return i;
}

ZC_AVX512 static size_t pack_avx512(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const __m512i order = _mm512_broadcast_i32x4(flag_order(high_first));
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        const __m512i flags = _mm512_shuffle_epi8(_mm512_loadu_si512((const void *)(src + i)), order);
        const uint64_t word = _mm512_test_epi8_mask(flags, flags);
        memcpy(dst + i / 8, &word, sizeof word);
    }
    return i;
}

static size_t pack_vectors(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const uint32_t cpu = zc_cpu_features();

    if (cpu & ZC_CPU_AVX512) {
        return pack_avx512(dst, src, n, high_first);
    }
    if (cpu & ZC_CPU_AVX2) {
        return pack_avx2(dst, src, n, high_first);
    }
    return cpu & ZC_V16_CPU ? pack_v16(dst, src, n, high_first) : 0;
}

ZC_V16 static size_t unpack_v16(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const zc_v16 diagonal = zc_v16_permute(_mm_set1_epi64x((long long)DIAGONAL), flag_order(high_first));
    const zc_v16 repeat = _mm_set_epi64x((long long)ONES, 0);
    const zc_v16 one = _mm_set1_epi8(1);
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        uint16_t pair;
        memcpy(&pair, src + i / 8, 2);
        const zc_v16 bytes = zc_v16_permute(_mm_cvtsi32_si128(pair), repeat);
        const zc_v16 set = _mm_cmpeq_epi8(_mm_and_si128(bytes, diagonal), diagonal);

        zc_v16_store(dst + i, _mm_and_si128(set, one));
    }
    return i;
}

/* The four bytes of 32 flags in all places of 16 bytes; each is then repeated eight times. */
ZC_AVX2 static size_t unpack_avx2(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const __m256i order = _mm256_broadcastsi128_si256(flag_order(high_first));
    const __m256i diagonal = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)DIAGONAL), order);
    const __m256i repeat = _mm256_set_epi64x((long long)(3 * ONES), (long long)(2 * ONES), (long long)ONES, 0);
    const __m256i one = _mm256_set1_epi8(1);
    size_t i = 0;

    for (; i + 32 <= n; i += 32) {
        uint32_t word;
        memcpy(&word, src + i / 8, sizeof word);
        const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int)word), repeat);
        const __m256i set = _mm256_cmpeq_epi8(_mm256_andnot_si256(bytes, diagonal), _mm256_setzero_si256());

        _mm256_storeu_si256((__m256i *)(void *)(dst + i), _mm256_and_si256(set, one));
    }
    return i;
}

static size_t unpack_vectors(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    const uint32_t cpu = zc_cpu_features();

    if (cpu & ZC_CPU_AVX2) {
        return unpack_avx2(dst, src, n, high_first);
    }
    return cpu & ZC_V16_CPU ? unpack_v16(dst, src, n, high_first) : 0;
}

#else

#define pack_vectors(...) ((size_t)0)
#define unpack_vectors(...) ((size_t)0)

#endif

void zc_pack_flags(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    zc_assert(zc_is_apart(dst, n / 8 + (n % 8 != 0), src, n));

    size_t i = pack_vectors(dst, src, n, high_first);

    for (; i + 8 <= n; i += 8) {
        dst[i / 8] = pack_eight(reverse_bytes_if(zc_load_le64(src + i), high_first));
    }
    if (i < n) {
        uint8_t rest[8] = {0};
        memcpy(rest, src + i, n - i);
        dst[i / 8] = pack_eight(reverse_bytes_if(zc_load_le64(rest), high_first));
    }
}

void zc_unpack_flags(uint8_t *dst, const uint8_t *src, size_t n, bool high_first)
{
    zc_assert(zc_is_apart(dst, n, src, n / 8 + (n % 8 != 0)));

    size_t i = unpack_vectors(dst, src, n, high_first);

    for (; i + 8 <= n; i += 8) {
        zc_store_le64(dst + i, reverse_bytes_if(unpack_eight(src[i / 8]), high_first));
    }
    if (i < n) {
        uint8_t rest[8];
        zc_store_le64(rest, reverse_bytes_if(unpack_eight(src[i / 8]), high_first));
        memcpy(dst + i, rest, n - i);
    }
}

/* ---- integers -------------------------------------------------------------------------------- */

static uint64_t low_bits(uint32_t width)
{
    return UINT64_MAX >> (64 - width);
}

/* Words of 64 bits are collected and written at once; `filled` < 64 bits wait in `word`. */
#define STAMP_PACK(BITS)                                                                         \
    static void pack_##BITS(uint8_t *dst, const char *src, size_t n, const zc_bit_field *field)  \
    {                                                                                            \
        const uint32_t width = field->width;                                                     \
        const uint32_t first = field->first;                                                     \
        const uint64_t kept = low_bits(width);                                                   \
        uint64_t word = 0;                                                                       \
        uint32_t filled = 0;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                         \
            uint##BITS##_t x;                                                                    \
            memcpy(&x, src + i * sizeof x, sizeof x);                                            \
            const uint64_t value = (uint64_t)x >> first & kept;                                  \
            word |= value << filled;                                                             \
            filled += width;                                                                     \
            if (filled >= 64) {                                                                  \
                zc_store_le64(dst, word);                                                        \
                dst += 8;                                                                        \
                filled -= 64;                                                                    \
                word = filled > 0 ? value >> (width - filled) : 0;                               \
            }                                                                                    \
        }                                                                                        \
        uint8_t rest[8];                                                                         \
        zc_store_le64(rest, word);                                                               \
        memcpy(dst, rest, (filled + 7) / 8);                                                     \
    }

/* The next up to 64 bits of what is left. */
static uint64_t next_word(const uint8_t **src, size_t *left)
{
    uint8_t bytes[8] = {0};

    if (*left >= 8) {
        const uint64_t word = zc_load_le64(*src);
        *src += 8;
        *left -= 8;
        return word;
    }
    memcpy(bytes, *src, *left);
    *src += *left;
    *left = 0;
    return zc_load_le64(bytes);
}

/* `have` bits of `word` are not used up yet. */
#define STAMP_UNPACK(BITS)                                                                       \
    static void unpack_##BITS(char *dst, const uint8_t *src, size_t n, size_t left,              \
                              const zc_bit_field *field)                                         \
    {                                                                                            \
        const uint32_t width = field->width;                                                     \
        const uint32_t first = field->first;                                                     \
        const uint64_t kept = low_bits(width);                                                   \
        const uint64_t sign = field->is_signed ? UINT64_C(1) << (width - 1) : 0;                 \
        const uint64_t own = low_bits(field->bits);                                              \
        uint64_t word = 0;                                                                       \
        uint32_t have = 0;                                                                       \
        for (size_t i = 0; i < n; i++) {                                                         \
            uint64_t value = word;                                                               \
            if (have >= width) {                                                                 \
                word >>= width;                                                                  \
                have -= width;                                                                   \
            } else {                                                                             \
                const uint64_t next = next_word(&src, &left);                                    \
                const uint32_t taken = width - have;                                             \
                value |= next << have;                                                           \
                word = taken < 64 ? next >> taken : 0;                                           \
                have = 64 - taken;                                                               \
            }                                                                                    \
            value = ((value & kept) ^ sign) - sign;                                              \
            const uint##BITS##_t x = (uint##BITS##_t)(value << first & own);                     \
            memcpy(dst + i * sizeof x, &x, sizeof x);                                            \
        }                                                                                        \
    }

STAMP_PACK(8)
STAMP_PACK(16)
STAMP_PACK(32)
STAMP_PACK(64)
STAMP_UNPACK(8)
STAMP_UNPACK(16)
STAMP_UNPACK(32)
STAMP_UNPACK(64)

/* For assertions. */
static inline bool field_is_valid(const zc_bit_field *field)
{
    return (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8) && field->width >= 1 &&
           field->first + field->width <= field->bits && field->bits <= 8 * field->size;
}

void zc_pack_bits(uint8_t *dst, const void *src, size_t n, const zc_bit_field *field)
{
    zc_assert(field_is_valid(field));
    switch (field->size) {
    case 1: pack_8(dst, src, n, field); break;
    case 2: pack_16(dst, src, n, field); break;
    case 4: pack_32(dst, src, n, field); break;
    default: pack_64(dst, src, n, field); break;
    }
}

void zc_unpack_bits(void *dst, const uint8_t *src, size_t n, const zc_bit_field *field)
{
    zc_assert(field_is_valid(field));
    /* n / 8 * width + ...: n * width could wrap */
    const size_t left = n / 8 * field->width + (n % 8 * field->width + 7) / 8;

    switch (field->size) {
    case 1: unpack_8(dst, src, n, left, field); break;
    case 2: unpack_16(dst, src, n, left, field); break;
    case 4: unpack_32(dst, src, n, left, field); break;
    default: unpack_64(dst, src, n, left, field); break;
    }
}
