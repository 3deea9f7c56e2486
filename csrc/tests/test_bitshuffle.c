/* SPDX-License-Identifier: MIT
 *
 * The bit shuffle against its definition.  Few groups take the scalar way, more the 32-byte and still more the
 * 64-byte registers, if this CPU has them: the counts here reach all three and their leftovers.
 */
#include "kernels/bitshuffle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec_cases.h"

/* What a shuffle makes of n items, bit by bit. */
static void shuffle_bits(uint8_t *dst, const uint8_t *src, size_t n, size_t size)
{
    memset(dst, 0, n * size);
    for (size_t i = 0; i < n; i++) {
        for (size_t b = 0; b < size; b++) {
            for (size_t k = 0; k < 8; k++) {
                const int bit = src[i * size + b] >> k & 1;
                dst[(8 * b + k) * (n / 8) + i / 8] |= (uint8_t)(bit << i % 8);
            }
        }
    }
}

static void check_part(const uint8_t *plain, const uint8_t *shuffled, size_t n, size_t size, size_t first,
                       size_t count)
{
    uint8_t *out = case_exact(NULL, count * size);

    zc_bitunshuffle(out, shuffled, n, size, first, count);
    CHECK(memcmp(out, plain + first * size, count * size) == 0);
    free(out);
}

static void check_items(size_t n, size_t size)
{
    uint8_t *plain = case_exact(NULL, n * size), *shuffled = case_exact(NULL, n * size);
    uint64_t state = n + size;

    case_fill(plain, n * size, DATA_NOISE);
    shuffle_bits(shuffled, plain, n, size);
    check_part(plain, shuffled, n, size, 0, n);
    for (int i = 0; i < 4; i++) {
        const size_t first = case_random(&state) % (n / 8) * 8;
        const size_t count = case_random(&state) % ((n - first) / 8 + 1) * 8;
        check_part(plain, shuffled, n, size, first, count);
    }
    free(plain);
    free(shuffled);
}

static void sizes(void)
{
    static const size_t wide[] = {16, 17, 24, 31, 32, 33, 64, 100, 127, 128, 200, 255};

    for (size_t size = 1; size <= 12; size++) {
        for (size_t groups = 1; groups < 200; groups += size < 5 ? 1 : 13) {
            check_items(8 * groups, size);
        }
    }
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        check_items(8, wide[i]);
        check_items(8 * 131, wide[i]);
    }
    check_items(1 << 16, 2);
}

int main(void)
{
    RUN(sizes);
    return check_report("bitshuffle");
}
