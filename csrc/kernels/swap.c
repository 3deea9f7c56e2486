/* SPDX-License-Identifier: MIT
 *
 * Byte swapping of contiguous memory.
 *
 * The vector loops permute whole registers; one permutation serves all word sizes.  Every register is loaded
 * before it is stored, so that swapping in place works.
 */
#include <string.h>

#include "base/assert.h"
#include "kernels/item_loops.h"
#include "kernels/byte_order.h"

#define STAMP_SCALAR(WORD, T, OP)                                                                \
    static void swap_scalar_##WORD(char *dst, const char *src, size_t nbytes)                    \
    {                                                                                            \
        for (size_t i = 0; i + WORD <= nbytes; i += WORD) {                                      \
            T value;                                                                             \
            memcpy(&value, src + i, WORD);                                                       \
            value = OP(value);                                                                   \
            memcpy(dst + i, &value, WORD);                                                       \
        }                                                                                        \
    }

STAMP_SCALAR(2, uint16_t, zc_swap16_2)
STAMP_SCALAR(4, uint32_t, zc_swap32_4)
STAMP_SCALAR(8, uint64_t, zc_swap64_8)

static void swap_scalar(char *dst, const char *src, size_t nbytes, uint32_t word)
{
    if (word == 2) {
        swap_scalar_2(dst, src, nbytes);
    } else if (word == 4) {
        swap_scalar_4(dst, src, nbytes);
    } else {
        swap_scalar_8(dst, src, nbytes);
    }
}

static size_t swap_none(char *dst, const char *src, size_t nbytes, uint32_t word)
{
    (void)dst, (void)src, (void)nbytes, (void)word;
    return 0;
}

#ifdef ZC_HAVE_V16
ZC_V16 static size_t swap_v16(char *dst, const char *src, size_t nbytes, uint32_t word)
{
    uint8_t bytes[16];
    zc_swap_order(bytes, word);
    const zc_v16 order = zc_v16_load(bytes);
    size_t i = 0;

    for (; i + 16 <= nbytes; i += 16) {
        zc_v16_store(dst + i, zc_v16_permute(zc_v16_load(src + i), order));
    }
    return i;
}
#endif

#ifdef ZC_HAVE_AVX
ZC_AVX2 static size_t swap_v32(char *dst, const char *src, size_t nbytes, uint32_t word)
{
    uint8_t bytes[16];
    zc_swap_order(bytes, word);
    const __m256i order = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bytes));
    size_t i = 0;

    for (; i + 64 <= nbytes; i += 64) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(src + i));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(src + i + 32));
        _mm256_storeu_si256((__m256i *)(dst + i), _mm256_shuffle_epi8(a, order));
        _mm256_storeu_si256((__m256i *)(dst + i + 32), _mm256_shuffle_epi8(b, order));
    }
    for (; i + 16 <= nbytes; i += 16) {
        const __m128i a = _mm_loadu_si128((const __m128i *)(src + i));
        _mm_storeu_si128((__m128i *)(dst + i), _mm_shuffle_epi8(a, _mm256_castsi256_si128(order)));
    }
    return i;
}
#endif

/* From the widest to none. */
static const zc_swap_variant variants[] = {
#ifdef ZC_HAVE_AVX
    {"32", swap_v32},
#endif
#ifdef ZC_HAVE_V16
    {"16", swap_v16},
#endif
    {"none", swap_none},
    {NULL, NULL},
};

const zc_swap_variant *zc_swap_variants(void)
{
    const zc_swap_variant *widest = variants;

#ifdef ZC_HAVE_AVX
    widest += zc_cpu_features() & ZC_CPU_AVX2 ? 0 : 1;
#endif
#ifdef ZC_HAVE_V16
    if (widest->swap == swap_v16 && !(zc_cpu_features() & ZC_V16_CPU)) {
        widest++;
    }
#endif
    return widest;
}

void zc_swap_words(char *dst, const char *src, size_t nbytes, uint32_t word)
{
    const size_t done = nbytes >= 16 ? zc_swap_variants()->swap(dst, src, nbytes, word) : 0;

    swap_scalar(dst + done, src + done, nbytes - done, word);
}

/* Swap one field of n items in place. */
static void swap_field(char *items, size_t n, size_t size, const zc_swap_field *field)
{
    for (size_t k = 0; k < n; k++) {
        char *const words = items + k * size + field->offset;
        swap_scalar(words, words, (size_t)field->word * field->count, field->word);
    }
}

void zc_items_copy(size_t n, void *dst, const void *src, const zc_item *item)
{
    zc_assert(zc_item_is_valid(item) && item->n_pieces == 0);
    zc_assert(dst == src || zc_is_apart(dst, n * item->size, src, n * item->size));

    const size_t block = item->size < 4096 ? 4096 / item->size : 1;     /* items that stay in cache */

    if (n == 0) {
        return;
    }
    if (item->n_fields == 0 && item->word > 1) {
        zc_swap_words(dst, src, n * item->size, item->word);
        return;
    }
    if (item->n_fields == 0) {
        if (dst != src) {
            memcpy(dst, src, n * item->size);
        }
        return;
    }
    for (size_t k = 0; k < n; k += block) {
        const size_t part = block < n - k ? block : n - k;
        char *const to = (char *)dst + k * item->size;

        if (dst != src) {
            memcpy(to, (const char *)src + k * item->size, part * item->size);
        }
        for (uint32_t f = 0; f < item->n_fields; f++) {
            swap_field(to, part, item->size, &item->fields[f]);
        }
    }
}
