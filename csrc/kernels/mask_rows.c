/* SPDX-License-Identifier: MIT
 *
 * Elements of rows where a mask is true, a vector at a time.  Loops over set bits end when chance wants, which the CPU
 * cannot foresee; here every row takes the same steps for any bits.
 */
#include "kernels/mask.h"
#include "kernels/byte_order.h"

#ifdef ZC_HAVE_AVX

#define ROWS_TARGET ZC_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,popcnt")

/* `at_once` items, those of a vector, by each call of copy. */
ZC_INLINE void copy_rows(const zc_mask_rows *r, int64_t at_once, int64_t size,
                         char *(*copy)(uint64_t bits, const char *src, char *dst))
{
    const char *row = r->src;

    for (int64_t k = 0, first = r->first; k < r->rows; k++, first += r->step, row += r->stride) {
        char *dst = r->dst + zc_mask_rank(r->bits, r->before, first) * size;
        for (int64_t i = 0; i < r->n; i += at_once) {
            const int64_t n = r->n - i < at_once ? r->n - i : at_once;
            dst = copy(zc_mask_bits(r->bits, first + i, n), row + i * size, dst);
        }
    }
}

#define STAMP_ROWS(SIZE, BITS, MASK)                                                             \
    ROWS_TARGET static inline char *copy_##SIZE(uint64_t bits, const char *src, char *dst)       \
    {                                                                                            \
        const MASK wanted = (MASK)bits;                                                          \
        const unsigned n = (unsigned)_mm_popcnt_u32(wanted);                                     \
        const __m512i found = _mm512_maskz_loadu_epi##BITS(wanted, src);                         \
        _mm512_mask_storeu_epi##BITS(dst, (MASK)~(UINT64_MAX << n),                              \
                                     _mm512_maskz_compress_epi##BITS(wanted, found));            \
        return dst + SIZE * n;                                                                   \
    }                                                                                            \
                                                                                                 \
    ROWS_TARGET static void copy_rows_##SIZE(const zc_mask_rows *r)                              \
    {                                                                                            \
        copy_rows(r, 64 / SIZE, SIZE, copy_##SIZE);                                              \
    }

STAMP_ROWS(2, 16, __mmask32)
STAMP_ROWS(4, 32, __mmask16)
STAMP_ROWS(8, 64, __mmask8)

bool zc_mask_copy_rows(const zc_mask_rows *rows, size_t size)
{
    const uint32_t needed = ZC_CPU_AVX512 | ZC_CPU_VBMI2;

    if ((zc_cpu_features() & needed) != needed || (size != 2 && size != 4 && size != 8)) {
        return false;
    }
    (size == 2 ? copy_rows_2 : size == 4 ? copy_rows_4 : copy_rows_8)(rows);
    return true;
}

#else

bool zc_mask_copy_rows(const zc_mask_rows *rows, size_t size)
{
    (void)rows;
    (void)size;
    return false;
}

#endif
