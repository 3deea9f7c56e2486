/* SPDX-License-Identifier: MIT
 *
 * Sizes that overflow, on CPUs of 32 bits too.
 */
#include "base/arith.h"
#include "tests/check.h"

static void products(void)
{
    size_t n = 7;

    CHECK(zc_mul_size(3, 5, &n) && n == 15);
    CHECK(zc_mul_size(0, UINT64_MAX, &n) && n == 0);
    CHECK(zc_mul_size(ZC_SIZE_MAX, 0, &n) && n == 0);
    CHECK(zc_mul_size(ZC_SIZE_MAX, 1, &n) && n == ZC_SIZE_MAX);
    CHECK(!zc_mul_size(ZC_SIZE_MAX, 2, &n));
    CHECK(!zc_mul_size(2, ZC_SIZE_MAX, &n));
    CHECK(!zc_mul_size(1, (uint64_t)ZC_SIZE_MAX + 1, &n));
    CHECK(!zc_mul_size(1, UINT64_MAX, &n));
    CHECK(n == ZC_SIZE_MAX);
}

static void sums(void)
{
    size_t n = 7;

    CHECK(zc_add_size(3, 5, &n) && n == 8);
    CHECK(zc_add_size(1, ZC_SIZE_MAX - 1, &n) && n == ZC_SIZE_MAX);
    CHECK(!zc_add_size(1, ZC_SIZE_MAX, &n));
    CHECK(!zc_add_size(ZC_SIZE_MAX, 1, &n));
    CHECK(!zc_add_size(0, UINT64_MAX, &n));
    CHECK(!zc_add_size(SIZE_MAX, 0, &n));
    CHECK(n == ZC_SIZE_MAX);
}

/* A length that a document may state, and that must not become 4. */
static void lengths_of_more_than_32_bits(void)
{
    const uint64_t length = (UINT64_C(1) << 32) + 4;
    size_t n = 0;

    CHECK(zc_mul_size(1, length, &n) == (sizeof(size_t) > 4));
    CHECK(n == 0 || n == length);
    n = 0;
    CHECK(zc_add_size(1, length, &n) == (sizeof(size_t) > 4));
    CHECK(n == 0 || n == length + 1);
}

int main(void)
{
    RUN(products);
    RUN(sums);
    RUN(lengths_of_more_than_32_bits);
    return check_report("arith");
}
