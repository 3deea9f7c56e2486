/* SPDX-License-Identifier: MIT */
#include "kernels/crc32c.h"

#include "tests/check.h"

#define N 30000

static uint8_t data[N];

static uint32_t naive(uint32_t value, const uint8_t *p, size_t n)
{
    uint32_t r = ~value;

    for (; n > 0; p++, n--) {
        r ^= *p;
        for (int bit = 0; bit < 8; bit++) {
            r = r >> 1 ^ (r & 1 ? UINT32_C(0x82F63B78) : 0);
        }
    }
    return ~r;
}

static void prepare(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < N; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
}

/* RFC 3720 appendix B.4. */
static void known_answers(void)
{
    uint8_t block[32];

    for (const zc_crc32c_variant *v = zc_crc32c_variants(); v->name != NULL; v++) {
        CHECK(v->update(0, "123456789", 9) == 0xE3069283);
        memset(block, 0, 32);
        CHECK(v->update(0, block, 32) == 0x8A9136AA);
        memset(block, 0xff, 32);
        CHECK(v->update(0, block, 32) == 0x62A8AB43);
        for (uint8_t i = 0; i < 32; i++) {
            block[i] = i;
        }
        CHECK(v->update(0, block, 32) == 0x46DD794E);
        for (uint8_t i = 0; i < 32; i++) {
            block[i] = (uint8_t)(31 - i);
        }
        CHECK(v->update(0, block, 32) == 0x113FDB5C);
    }
}

static void short_lengths(void)
{
    for (const zc_crc32c_variant *v = zc_crc32c_variants(); v->name != NULL; v++) {
        for (size_t n = 0; n <= 300; n++) {
            for (size_t offset = 0; offset < 9; offset++) {
                const uint32_t seed = (uint32_t)(n * 2654435761u + offset);
                CHECK(v->update(seed, data + offset, n) == naive(seed, data + offset, n));
            }
        }
    }
}

/* Lengths around the lanes of the fast variants. */
static void long_lengths(void)
{
    static const size_t lengths[] = {767, 768, 769, 1535, 1536, 12287, 12288, 12289, 13056, 24576, 29999};

    for (const zc_crc32c_variant *v = zc_crc32c_variants(); v->name != NULL; v++) {
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            CHECK(v->update(7, data + 1, lengths[i]) == naive(7, data + 1, lengths[i]));
        }
    }
}

static void continues(void)
{
    const uint32_t whole = zc_crc32c(0, data, N);

    CHECK(whole == naive(0, data, N));
    for (size_t cut = 0; cut <= N; cut += 997) {
        CHECK(zc_crc32c(zc_crc32c(0, data, cut), data + cut, N - cut) == whole);
    }
}

static void portable_last(void)
{
    const zc_crc32c_variant *last = zc_crc32c_variants();

    while (last[1].name != NULL) {
        last++;
    }
    CHECK(strcmp(last->name, "portable") == 0);
}

int main(void)
{
    prepare();
    RUN(known_answers);
    RUN(short_lengths);
    RUN(long_lengths);
    RUN(continues);
    RUN(portable_last);
    return check_report("crc32c");
}
