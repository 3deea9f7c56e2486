/* SPDX-License-Identifier: MIT */
#include "kernels/mask.h"

#include <stdlib.h>

#include "check.h"
#include "codec_cases.h"
#include "tests/every_cpu.h"

/* Two calls for parts of the rows find what one finds. */
static void check_halves(const uint8_t *mask, int ndim, const int64_t *shape, int64_t rows, int64_t *const *all, size_t n)
{
    int64_t *out[4], *rest[4];

    for (int d = 0; d < ndim; d++) {
        out[d] = (int64_t *)(void *)case_exact(NULL, n * sizeof **out);
    }
    const size_t found = zc_mask_points(mask, ndim, shape, 0, rows / 3, out, n);
    for (int d = 0; d < ndim; d++) {
        rest[d] = out[d] + found;
    }
    CHECK(found + zc_mask_points(mask, ndim, shape, rows / 3, rows - rows / 3, rest, n - found) == n);
    for (int d = 0; d < ndim; d++) {
        CHECK(n == 0 || memcmp(out[d], all[d], n * sizeof **out) == 0);
        free(out[d]);
    }
}

/* Bit by bit. */
static void check_packed(const uint8_t *mask, size_t size, size_t n)
{
    const size_t words = (size + 63) / 64;
    uint64_t *bits = (uint64_t *)(void *)case_exact(NULL, words * sizeof *bits);
    int64_t *before = (int64_t *)(void *)case_exact(NULL, words * sizeof *before), found = 0;

    CHECK(zc_mask_pack(mask, size, bits, before) == n);
    for (size_t i = 0; i < words * 64; i++) {
        CHECK(i % 64 != 0 || before[i / 64] == found);
        CHECK((bits[i / 64] >> i % 64 & 1) == (i < size && mask[i] != 0));
        found += i < size && mask[i] != 0;
    }
    free(bits);
    free(before);
}

/* All elements in turn, by counting indices. */
static void check_mask(int ndim, const int64_t *shape, unsigned one_in)
{
    int64_t size = 1, index[4] = {0}, *out[4];
    uint64_t state = one_in;
    size_t n = 0, at = 0;

    for (int d = 0; d < ndim; d++) {
        size *= shape[d];
    }
    uint8_t *mask = case_exact(NULL, (size_t)size);
    for (int64_t i = 0; i < size; i++) {
        mask[i] = case_random(&state) % one_in == 0 ? (uint8_t)(1 + i % 255) : 0;
        n += mask[i] != 0;
    }
    for (int d = 0; d < ndim; d++) {
        out[d] = (int64_t *)(void *)case_exact(NULL, n * sizeof **out);
    }
    const int64_t rows = size > 0 ? size / shape[ndim - 1] : 0;
    CHECK(zc_mask_points(mask, ndim, shape, 0, rows, out, n) == n);
    check_halves(mask, ndim, shape, rows, out, n);
    check_packed(mask, (size_t)size, n);
    for (int64_t i = 0; i < size; i++) {
        for (int d = 0; d < ndim && mask[i]; d++) {
            CHECK(out[d][at] == index[d]);
        }
        at += mask[i] != 0;
        for (int d = ndim - 1; d >= 0 && ++index[d] == shape[d]; d--) {
            index[d] = 0;
        }
    }
    if (n > 0) {
        CHECK(zc_mask_points(mask, ndim, shape, 0, rows, out, n - 1) == n - 1);
    }
    for (int d = 0; d < ndim; d++) {
        free(out[d]);
    }
    free(mask);
}

static void masks(void)
{
    static const int64_t shapes[][4] = {{1000}, {31}, {7, 100}, {100, 7}, {3, 5, 67}, {2, 3, 4, 133}, {5, 0, 3}, {0}};
    static const int ndim[] = {1, 1, 2, 2, 3, 4, 3, 1};

    for (size_t i = 0; i < sizeof ndim / sizeof *ndim; i++) {
        check_mask(ndim[i], shapes[i], 1);
        check_mask(ndim[i], shapes[i], 2);
        check_mask(ndim[i], shapes[i], 100);
    }
}

int main(void)
{
    RUN_ON_EVERY_CPU(masks);
    return check_report("mask");
}
