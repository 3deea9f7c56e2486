/* SPDX-License-Identifier: MIT
 *
 * Delta, shuffle and bit packing.
 */
#include "kernels/bit_packing.h"
#include "kernels/delta.h"
#include "kernels/shuffle.h"

#include "tests/every_cpu.h"

#define N 4096
#define GUARD 0xA5

static uint8_t data[N];

static void prepare(void)
{
    uint32_t x = 1;
    for (size_t i = 0; i < N; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
}

static const size_t counts[] = {0, 1, 2, 15, 16, 17, 33, 64, 65, 100};
static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 11, 12, 15, 16, 17, 24, 31, 32, 33, 40};

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

/* Is everything from n on as it was? */
static int guarded(const uint8_t *buffer, size_t n)
{
    for (size_t i = n; i < N; i++) {
        if (buffer[i] != GUARD) {
            return 0;
        }
    }
    return 1;
}

static void shuffles(void)
{
    for (size_t s = 0; s < LENGTH(sizes); s++) {
        for (size_t c = 0; c < LENGTH(counts); c++) {
            const size_t size = sizes[s], n = counts[c];
            uint8_t mixed[N], back[N];
            int right = 1;

            memset(mixed, GUARD, N);
            memset(back, GUARD, N);
            zc_shuffle(mixed, data + 1, n, size);
            for (size_t i = 0; i < n; i++) {
                for (size_t b = 0; b < size; b++) {
                    right = right && mixed[b * n + i] == data[1 + i * size + b];
                }
            }
            CHECK(right);
            CHECK(guarded(mixed, n * size));
            zc_unshuffle(back, mixed, n, size);
            CHECK(memcmp(back, data + 1, n * size) == 0);
            CHECK(guarded(back, n * size));
        }
    }
}

/* Planes that lie apart, in another order; sizes that are not done so are refused. */
static void unshuffles_planes(void)
{
    for (size_t size = 1; size <= 17; size++) {
        for (size_t n = 0; n < 100; n += 3) {
            const void *planes[17];
            uint8_t back[N];
            int right = 1;

            memset(back, GUARD, N);
            for (size_t b = 0; b < size; b++) {
                planes[b] = data + 7 + (size - 1 - b) * 101;
            }
            if (zc_unshuffle_planes(back, planes, n, size)) {
                for (size_t i = 0; i < n * size; i++) {
                    right = right && back[i] == ((const uint8_t *)planes[i % size])[i / size];
                }
                CHECK(guarded(back, n * size));
            } else {
                CHECK(guarded(back, 0));
            }
            CHECK(right);
        }
    }
}

static uint64_t load(const uint8_t *p, size_t size)
{
    uint8_t u1;
    uint16_t u2;
    uint32_t u4;
    uint64_t u8;

    switch (size) {
    case 1: memcpy(&u1, p, 1); return u1;
    case 2: memcpy(&u2, p, 2); return u2;
    case 4: memcpy(&u4, p, 4); return u4;
    default: memcpy(&u8, p, 8); return u8;
    }
}

static void integer_deltas(void)
{
    static const zc_delta_kind kinds[] = {ZC_DELTA_INT8, ZC_DELTA_INT16, ZC_DELTA_INT32, ZC_DELTA_INT64};

    for (int k = 0; k < 4; k++) {
        const size_t size = (size_t)1 << k;
        const uint64_t mask = UINT64_MAX >> (64 - 8 * size);

        for (size_t c = 0; c < LENGTH(counts); c++) {
            const size_t n = counts[c];
            uint8_t encoded[N], back[N];
            int right = 1;

            memset(encoded, GUARD, N);
            zc_delta_encode(encoded, data + 3, n, kinds[k]);
            for (size_t i = 0; i < n; i++) {
                const uint64_t before = i > 0 ? load(data + 3 + (i - 1) * size, size) : 0;
                const uint64_t expected = (load(data + 3 + i * size, size) - before) & mask;
                right = right && load(encoded + i * size, size) == expected;
            }
            CHECK(right);
            CHECK(guarded(encoded, n * size));
            zc_delta_decode(back, encoded, n, kinds[k]);
            CHECK(memcmp(back, data + 3, n * size) == 0);
            zc_delta_decode(encoded, encoded, n, kinds[k]);
            CHECK(memcmp(encoded, data + 3, n * size) == 0);
            CHECK(guarded(encoded, n * size));
        }
    }
}

/* The number of `size` bytes, with its sign if it has one. */
static uint64_t extended(const uint8_t *p, size_t size, bool is_signed)
{
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);

    return is_signed ? (load(p, size) ^ sign) - sign : load(p, size);
}

/* n differences of `to` bytes of numbers of `from` bytes, `skipped` of them done before, and back. */
static void narrow_delta(size_t from, size_t to, size_t n, size_t skipped, bool is_signed)
{
    const uint64_t mask = UINT64_MAX >> (64 - 8 * from), narrow = UINT64_MAX >> (64 - 8 * to);
    const uint8_t *const numbers = data + 5;
    uint8_t encoded[N], sums[N];
    uint64_t sum = 0;
    int right = 1;

    memset(encoded, GUARD, N);
    memset(sums, GUARD, N);
    zc_delta_encode_narrow(encoded, to, numbers, from, skipped, true);
    zc_delta_encode_narrow(encoded + skipped * to, to, numbers + skipped * from, from, n - skipped, skipped == 0);
    zc_delta_decode_narrow(sums, from, encoded, to, is_signed, skipped, true);
    zc_delta_decode_narrow(sums + skipped * from, from, encoded + skipped * to, to, is_signed, n - skipped,
                           skipped == 0);
    for (size_t i = 0; i < n; i++) {
        const uint64_t before = i > 0 ? load(numbers + (i - 1) * from, from) : 0;
        right = right && load(encoded + i * to, to) == ((load(numbers + i * from, from) - before) & narrow);
        sum += extended(encoded + i * to, to, is_signed);
        right = right && load(sums + i * from, from) == (sum & mask);
    }
    CHECK(right);
    CHECK(guarded(encoded, n * to) && guarded(sums, n * from));
}

static void narrow_deltas(void)
{
    for (size_t from = 2; from <= 8; from *= 2) {
        for (size_t to = 1; to < from; to *= 2) {
            for (size_t n = 0; n < 150; n++) {
                narrow_delta(from, to, n, 0, n % 2 == 0);
                narrow_delta(from, to, n, n / 3, n % 2 == 1);
            }
        }
    }
}

/* Differences and sums as a plain loop makes them, wherever vectors begin and end. */
static void long_float_deltas(void)
{
    float x[201], encoded[201], back[201];
    int right = 1;

    for (int i = 0; i < 201; i++) {
        x[i] = (float)data[i] / 7;
    }
    for (size_t n = 1; n <= 200; n++) {
        zc_delta_encode(encoded + 1, x + 1, n, ZC_DELTA_FLOAT32);
        zc_delta_decode(back, encoded + 1, n, ZC_DELTA_FLOAT32);
        float sum = x[1];
        for (size_t i = 1; i < n; i++) {
            sum += encoded[1 + i];
            right = right && encoded[1 + i] == x[1 + i] - x[i] && back[i] == sum;
        }
    }
    CHECK(right);
}

static void float_deltas(void)
{
    const double x[4] = {1.5, 4.0, 3.0, -2.0};
    const float y[3] = {-0.0f, -0.0f, 1.0f};
    double encoded[4], back[4];
    float sums[3];

    zc_delta_encode(encoded, x, 4, ZC_DELTA_FLOAT64);
    CHECK(encoded[0] == 1.5 && encoded[1] == 2.5 && encoded[2] == -1.0 && encoded[3] == -5.0);
    zc_delta_decode(back, encoded, 4, ZC_DELTA_FLOAT64);
    CHECK(memcmp(back, x, sizeof x) == 0);
    zc_delta_decode(sums, y, 3, ZC_DELTA_FLOAT32);
    CHECK(memcmp(sums, y, sizeof y) == 0);
}

static void strided_deltas(void)
{
    const uint16_t x[6] = {5, 0, 7, 0, 4, 0};
    uint16_t out[3];

    zc_delta_encode_strided(out, 2, x, 4, 3, ZC_DELTA_INT16);
    CHECK(out[0] == 5 && out[1] == 2 && out[2] == 65533);
    zc_delta_encode_strided(out, 2, x + 4, -4, 3, ZC_DELTA_INT16);
    CHECK(out[0] == 4 && out[1] == 3 && out[2] == 65534);
    zc_delta_decode_strided(out + 2, -2, x, 4, 3, ZC_DELTA_INT16);
    CHECK(out[2] == 5 && out[1] == 12 && out[0] == 16);
}

static void flags(void)
{
    for (size_t n = 0; n < 150; n++) {
        for (int high = 0; high < 2; high++) {
            uint8_t packed[N], back[N], given[150];
            int right = 1;

            memset(packed, GUARD, N);
            memset(back, GUARD, N);
            for (size_t i = 0; i < n; i++) {
                given[i] = data[i] & 1 ? data[i] : 0;
            }
            zc_pack_flags(packed, given, n, high);
            CHECK(guarded(packed, (n + 7) / 8));
            for (size_t i = 0; i < (n + 7) / 8 * 8; i++) {
                const int bit = packed[i / 8] >> (high ? 7 - i % 8 : i % 8) & 1;
                right = right && bit == (i < n && given[i] != 0);
            }
            CHECK(right);
            zc_unpack_flags(back, packed, n, high);
            for (size_t i = 0; i < n; i++) {
                right = right && back[i] == (given[i] != 0);
            }
            CHECK(right);
            CHECK(guarded(back, n));
        }
    }
}

static int bit_of(const uint8_t *packed, size_t at)
{
    return packed[at / 8] >> at % 8 & 1;
}

static void check_bits(const zc_bit_field *field, size_t n)
{
    const uint64_t kept = UINT64_MAX >> (64 - field->width);
    const size_t nbytes = (n * field->width + 7) / 8;
    uint8_t packed[N], back[N];
    int right = 1;

    memset(packed, GUARD, N);
    memset(back, GUARD, N);
    zc_pack_bits(packed, data + 1, n, field);
    CHECK(guarded(packed, nbytes));
    zc_unpack_bits(back, packed, n, field);
    CHECK(guarded(back, n * field->size));
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = load(data + 1 + i * field->size, field->size) >> field->first & kept;
        const uint64_t found = load(back + i * field->size, field->size);

        for (size_t b = 0; b < field->width; b++) {
            right = right && bit_of(packed, i * field->width + b) == (int)(value >> b & 1);
        }
        right = right && (found >> field->first & kept) == value;
        right = right && (field->first == 0 || (found & (UINT64_MAX >> (64 - field->first))) == 0);
    }
    CHECK(right);
}

static void integer_bits(void)
{
    for (uint32_t size = 1; size <= 8; size *= 2) {
        for (uint32_t first = 0; first < 8 * size; first += 3) {
            for (uint32_t width = 1; first + width <= 8 * size; width += width < 4 ? 1 : 5) {
                const zc_bit_field field = {size, first, width, 8 * size, (first & 1) != 0};
                check_bits(&field, 1);
                check_bits(&field, 67);
            }
        }
        const zc_bit_field whole = {size, 0, 8 * size, 8 * size, false};
        check_bits(&whole, 0);
        check_bits(&whole, 50);
    }
}

int main(void)
{
    prepare();
    RUN_ON_EVERY_CPU(shuffles);
    RUN_ON_EVERY_CPU(unshuffles_planes);
    RUN_ON_EVERY_CPU(integer_deltas);
    RUN_ON_EVERY_CPU(narrow_deltas);
    RUN_ON_EVERY_CPU(float_deltas);
    RUN_ON_EVERY_CPU(long_float_deltas);
    RUN_ON_EVERY_CPU(strided_deltas);
    RUN_ON_EVERY_CPU(flags);
    RUN_ON_EVERY_CPU(integer_bits);
    return check_report("filters");
}
