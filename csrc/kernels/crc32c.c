/* SPDX-License-Identifier: MIT
 *
 * CRC-32C.
 *
 * The mathematics.  Read a message as a polynomial M over GF(2), the lowest bit of the first byte being the
 * highest power.  Its checksum is (M * x^32 mod P) with P = x^32 + 0x1EDC6F41, where the first 32 bits of the
 * message are inverted before and the result after (so that leading zeros count).  Bits are kept reflected,
 * as the bytes deliver them: bit 31 of a 32-bit word is x^0, bit 0 is x^31, and P without x^32 reads
 * 0x82F63B78.
 *
 * Multiplying by x is then one step:        r = r >> 1 ^ (r & 1 ? P : 0)
 * and the naive checksum, byte for byte:    r ^= byte; eight steps.
 *
 * Speed-up 1, tables (any CPU).  Steps are linear: what eight bytes contribute is the sum of what each of
 * them contributes from its place.  Table k holds, for each byte, byte * x^(8 (k + 1) + 24) mod P.
 *
 * Speed-up 2, the crc32 instruction of SSE4.2 and ARMv8: eight bytes in one step, but each must wait about
 * three cycles for the one before.
 *
 * Speed-up 3, three lanes.  Three neighbouring pieces of L bytes are reduced in parallel, which fills the
 * waiting time.  A message A|B|C has the remainder  (A * x^(8L) + B) * x^(8L) + C,  so joining lanes takes
 * two multiplications by the constant x^(8L) mod P per three pieces.
 *
 * Speed-up 4, folding.  What lies D bits before the end of a message may be multiplied by x^D mod P and added to the
 * end: the remainder stays.  Vectors of 64 bytes are folded by carry-less products until 16 bytes are left.
 */
#include "kernels/crc32c.h"

#include <string.h>

#include "base/arith.h"
#include "base/cpu.h"
#include "kernels/byte_order.h"

#define POLY UINT32_C(0x82F63B78)

/* ---- tables ---------------------------------------------------------------------------------- */

/* basis(k, i) = x^(32 + 8k + i) mod P: entry 0x80 >> i of table k.  All other entries are sums of these. */
#define ENTRY(b, c0, c1, c2, c3, c4, c5, c6, c7)                                                 \
    (((b) & 0x80 ? c0 : 0) ^ ((b) & 0x40 ? c1 : 0) ^ ((b) & 0x20 ? c2 : 0) ^                     \
     ((b) & 0x10 ? c3 : 0) ^ ((b) & 0x08 ? c4 : 0) ^ ((b) & 0x04 ? c5 : 0) ^                     \
     ((b) & 0x02 ? c6 : 0) ^ ((b) & 0x01 ? c7 : 0))
#define ENTRIES_4(b, ...)                                                                        \
    ENTRY((b), __VA_ARGS__), ENTRY((b) + 1, __VA_ARGS__), ENTRY((b) + 2, __VA_ARGS__),           \
        ENTRY((b) + 3, __VA_ARGS__)
#define ENTRIES_16(b, ...)                                                                       \
    ENTRIES_4(b, __VA_ARGS__), ENTRIES_4((b) + 4, __VA_ARGS__), ENTRIES_4((b) + 8, __VA_ARGS__), \
        ENTRIES_4((b) + 12, __VA_ARGS__)
#define ENTRIES_64(b, ...)                                                                       \
    ENTRIES_16(b, __VA_ARGS__), ENTRIES_16((b) + 16, __VA_ARGS__),                               \
        ENTRIES_16((b) + 32, __VA_ARGS__), ENTRIES_16((b) + 48, __VA_ARGS__)
#define TABLE(...)                                                                               \
    {ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),      \
     ENTRIES_64(192, __VA_ARGS__)}

static const uint32_t tables[8][256] = {
    TABLE(0x82f63b78, 0x417b1dbc, 0x20bd8ede, 0x105ec76f, 0x8ad958cf, 0xc79a971f, 0xe13b70f7, 0xf26b8303),
    TABLE(0xfbc3faf9, 0xff17c604, 0x7f8be302, 0x3fc5f181, 0x9d14c3b8, 0x4e8a61dc, 0x274530ee, 0x13a29877),
    TABLE(0x8b277743, 0xc76580d9, 0xe144fb14, 0x70a27d8a, 0x38513ec5, 0x9edea41a, 0x4f6f520d, 0xa541927e),
    TABLE(0x52a0c93f, 0xaba65fe7, 0xd725148b, 0xe964b13d, 0xf64463e6, 0x7b2231f3, 0xbf672381, 0xdd45aab8),
    TABLE(0x6ea2d55c, 0x37516aae, 0x1ba8b557, 0x8f2261d3, 0xc5670b91, 0xe045beb0, 0x7022df58, 0x38116fac),
    TABLE(0x1c08b7d6, 0x0e045beb, 0x85f4168d, 0xc00c303e, 0x6006181f, 0xb2f53777, 0xdb8ca0c3, 0xef306b19),
    TABLE(0xf56e0ef4, 0x7ab7077a, 0x3d5b83bd, 0x9c5bfaa6, 0x4e2dfd53, 0xa5e0c5d1, 0xd0065990, 0x68032cc8),
    TABLE(0x34019664, 0x1a00cb32, 0x0d006599, 0x847609b4, 0x423b04da, 0x211d826d, 0x9278fa4e, 0x493c7d27),
};

static uint32_t crc32c_portable(uint32_t value, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint32_t r = ~value;

    for (; n >= 8; p += 8, n -= 8) {
        const uint32_t lo = zc_load_le32(p) ^ r;
        const uint32_t hi = zc_load_le32(p + 4);

        r = tables[7][lo & 0xff] ^ tables[6][lo >> 8 & 0xff] ^ tables[5][lo >> 16 & 0xff] ^
            tables[4][lo >> 24] ^ tables[3][hi & 0xff] ^ tables[2][hi >> 8 & 0xff] ^
            tables[1][hi >> 16 & 0xff] ^ tables[0][hi >> 24];
    }
    for (; n > 0; p++, n--) {
        r = r >> 8 ^ tables[0][(r ^ *p) & 0xff];
    }
    return ~r;
}

/* ---- the crc32 instruction ------------------------------------------------------------------- */

/* Lane lengths: long ones make joining free, short ones still speed up a kilobyte. */
#define LONG_LANE 4096
#define SHORT_LANE 256

/*
 * The single-lane loop, and the three-lane loop around it.  STEP8 and STEP1 reduce eight bytes and one byte,
 * SHIFT(r, constant) multiplies by the power that the constant stands for.
 */
#define STAMP_SINGLE(NAME, TARGET, STEP8, STEP1)                                                 \
    TARGET static uint32_t reduce_##NAME(uint32_t r, const uint8_t *p, size_t n)                 \
    {                                                                                            \
        uint64_t wide = r;                                                                       \
        for (; n >= 8; p += 8, n -= 8) {                                                         \
            uint64_t word;                                                                       \
            memcpy(&word, p, 8);                                                                 \
            wide = STEP8(wide, word);                                                            \
        }                                                                                        \
        r = (uint32_t)wide;                                                                      \
        for (; n > 0; p++, n--) {                                                                \
            r = STEP1(r, *p);                                                                    \
        }                                                                                        \
        return r;                                                                                \
    }                                                                                            \
                                                                                                 \
    static uint32_t crc32c_##NAME(uint32_t value, const void *data, size_t n)                    \
    {                                                                                            \
        return ~reduce_##NAME(~value, data, n);                                                  \
    }

#define STAMP_LANES(NAME, SINGLE, TARGET, STEP8, SHIFT, LONG_POWER, SHORT_POWER)                 \
    TARGET static uint32_t triple_##NAME(uint32_t r, const uint8_t *p, size_t lane,              \
                                         uint32_t power)                                         \
    {                                                                                            \
        uint64_t a = r, b = 0, c = 0;                                                            \
        for (size_t i = 0; i < lane; i += 8) {                                                   \
            uint64_t word[3];                                                                    \
            memcpy(&word[0], p + i, 8);                                                          \
            memcpy(&word[1], p + lane + i, 8);                                                   \
            memcpy(&word[2], p + 2 * lane + i, 8);                                               \
            a = STEP8(a, word[0]);                                                               \
            b = STEP8(b, word[1]);                                                               \
            c = STEP8(c, word[2]);                                                               \
        }                                                                                        \
        const uint32_t ab = SHIFT((uint32_t)a, power) ^ (uint32_t)b;                             \
        return SHIFT(ab, power) ^ (uint32_t)c;                                                   \
    }                                                                                            \
                                                                                                 \
    static uint32_t crc32c_##NAME(uint32_t value, const void *data, size_t n)                    \
    {                                                                                            \
        const uint8_t *p = data;                                                                 \
        uint32_t r = ~value;                                                                     \
        for (; n >= 3 * LONG_LANE; p += 3 * LONG_LANE, n -= 3 * LONG_LANE) {                     \
            r = triple_##NAME(r, p, LONG_LANE, LONG_POWER);                                      \
        }                                                                                        \
        for (; n >= 3 * SHORT_LANE; p += 3 * SHORT_LANE, n -= 3 * SHORT_LANE) {                  \
            r = triple_##NAME(r, p, SHORT_LANE, SHORT_POWER);                                    \
        }                                                                                        \
        return ~reduce_##SINGLE(r, p, n);                                                        \
    }

#if defined(__x86_64__) || defined(_M_X64)

#include <nmmintrin.h>
#include <wmmintrin.h>

/* For clang the instruction is a feature of its own. */
#if defined(__clang__) && __clang_major__ >= 14
#define X86_CRC ZC_TARGET("sse4.2,crc32")
#define X86_CRC_CLMUL ZC_TARGET("sse4.2,crc32,pclmul")
#else
#define X86_CRC ZC_TARGET("sse4.2")
#define X86_CRC_CLMUL ZC_TARGET("sse4.2,pclmul")
#endif

STAMP_SINGLE(sse42, X86_CRC, _mm_crc32_u64, _mm_crc32_u8)

/*
 * The carry-less product of two reflected words is reflected in 63 bits, one short of 64, and the crc32
 * instruction multiplies by x^32 while it reduces: so the constant of x^(8L) is x^(8L - 33) mod P.
 */
#define LONG_CLMUL UINT32_C(0x82f89c77)
#define SHORT_CLMUL UINT32_C(0xb9e02b86)

X86_CRC_CLMUL static inline uint32_t shift_clmul(uint32_t r, uint32_t power)
{
    const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)r), _mm_cvtsi32_si128((int)power), 0);

    return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

STAMP_LANES(sse42_pclmul, sse42, X86_CRC_CLMUL, _mm_crc32_u64, shift_clmul, LONG_CLMUL, SHORT_CLMUL)

#if defined(__clang__) && __clang_major__ >= 14
#define X86_FOLD ZC_TARGET("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmul,sse4.2,crc32")
#else
#define X86_FOLD ZC_TARGET("avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,pclmul,sse4.2")
#endif

#define FOLD_MIN 256                    /* bytes; from here on folding is faster than three lanes */

/*
 * The two halves of the factor that moves 16 bytes on by D bits: x^(D + 63) mod P for the earlier eight bytes,
 * x^(D - 1) mod P for the later ones (one power less for the bit by which the product is short), reflected in the
 * upper half of 64 bits.
 */
#define FOLD_BY(earlier, later) (long long)(UINT64_C(later) << 32), (long long)(UINT64_C(earlier) << 32)
#define FOLD_2048 FOLD_BY(0xe9a5d8be, 0x1426a815)
#define FOLD_512 FOLD_BY(0x1c19243b, 0x75bba45b)
#define FOLD_384 FOLD_BY(0xa46ef4aa, 0x6051243f)
#define FOLD_256 FOLD_BY(0x33ccbbbc, 0xa2158b34)
#define FOLD_128 FOLD_BY(0x3743f7bd, 0x3171d430)

X86_FOLD static inline __m512i fold(__m512i x, __m512i power, __m512i onto)
{
    enum { sum_of_three = 0x96 };    /* compilers want a constant */

    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, power, 0x00),
                                     _mm512_clmulepi64_epi128(x, power, 0x11), onto, sum_of_three);
}

X86_FOLD static inline __m512i fold_load(const uint8_t *p)
{
    return _mm512_loadu_si512((const void *)p);
}

/* The remainder of 64 bytes. */
X86_FOLD static uint32_t fold_last(__m512i x)
{
    const __m512i power = _mm512_set_epi64(0, 0, FOLD_128, FOLD_256, FOLD_384);
    const __m512i folded = fold(x, power, _mm512_maskz_mov_epi64(0xc0, x));
    const __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(folded), _mm512_extracti64x4_epi64(folded, 1));
    const __m128i last = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    const uint64_t r = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(last));

    return (uint32_t)_mm_crc32_u64(r, (uint64_t)_mm_extract_epi64(last, 1));
}

X86_FOLD static uint32_t crc32c_vpclmul(uint32_t value, const void *data, size_t n)
{
    const __m512i far = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_2048));
    const __m512i near = _mm512_broadcast_i32x4(_mm_set_epi64x(FOLD_512));
    const uint8_t *p = data;

    if (n < FOLD_MIN) {
        return crc32c_sse42(value, data, n);
    }
    __m512i a = _mm512_xor_si512(fold_load(p), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~value)));
    __m512i b = fold_load(p + 64), c = fold_load(p + 128), d = fold_load(p + 192);
    for (p += 256, n -= 256; n >= 256; p += 256, n -= 256) {
        a = fold(a, far, fold_load(p));
        b = fold(b, far, fold_load(p + 64));
        c = fold(c, far, fold_load(p + 128));
        d = fold(d, far, fold_load(p + 192));
    }
    d = fold(fold(fold(a, near, b), near, c), near, d);
    for (; n >= 64; p += 64, n -= 64) {
        d = fold(d, near, fold_load(p));
    }
    return ~reduce_sse42(fold_last(d), p, n);
}

const zc_crc32c_variant *zc_crc32c_variants(void)
{
    static const zc_crc32c_variant all[] = {
        {"vpclmul", crc32c_vpclmul},
        {"sse42-pclmul", crc32c_sse42_pclmul},
        {"sse42", crc32c_sse42},
        {"portable", crc32c_portable},
        {NULL, NULL}};
    const uint32_t cpu = zc_cpu_features();

    if (!(cpu & ZC_CPU_SSE42)) {
        return all + 3;
    }
    if (!(cpu & ZC_CPU_PCLMUL)) {
        return all + 2;
    }
    return (cpu & ZC_CPU_VPCLMUL) && (cpu & ZC_CPU_AVX512) ? all : all + 1;
}

#elif defined(ZC_ARM64) && (defined(__GNUC__) || defined(__clang__))

#if defined(__clang__)
#define ARM_CRC ZC_TARGET("crc")
#else
#define ARM_CRC ZC_TARGET("+crc")
#endif
#include <arm_acle.h>

#define ARM_STEP8(r, word) __crc32cd((uint32_t)(r), word)

STAMP_SINGLE(armv8, ARM_CRC, ARM_STEP8, __crc32cb)

/* x^(8L) mod P of the two lane lengths. */
#define LONG_POWER UINT32_C(0x35d73a62)
#define SHORT_POWER UINT32_C(0x88e56f72)

/* The product of two reflected polynomials mod P: a sum of a * x^i, one for each power in b. */
static inline uint32_t shift_plain(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (; b != 0; b <<= 1) {
        product ^= (b >> 31) ? a : 0;
        a = a >> 1 ^ (a & 1 ? POLY : 0);
    }
    return product;
}

STAMP_LANES(armv8_lanes, armv8, ARM_CRC, ARM_STEP8, shift_plain, LONG_POWER, SHORT_POWER)

const zc_crc32c_variant *zc_crc32c_variants(void)
{
    static const zc_crc32c_variant all[] = {
        {"armv8-lanes", crc32c_armv8_lanes},
        {"armv8", crc32c_armv8},
        {"portable", crc32c_portable},
        {NULL, NULL}};

    return zc_cpu_features() & ZC_CPU_ARM_CRC32 ? all : all + 2;
}

#else

const zc_crc32c_variant *zc_crc32c_variants(void)
{
    static const zc_crc32c_variant all[] = {{"portable", crc32c_portable}, {NULL, NULL}};

    return all;
}

#endif

uint32_t zc_crc32c(uint32_t value, const void *data, size_t n)
{
    return zc_crc32c_variants()->update(value, data, n);
}
