/* SPDX-License-Identifier: MIT
 *
 * Filters on numbers, conversions and UTF-8.
 */
#include <math.h>
#include <stdlib.h>

#include "codec_cases.h"
#include "kernels/cast_numpy.h"
#include "kernels/delta_numpy.h"
#include "kernels/float16.h"
#include "tests/every_cpu.h"

static zc_codec filter(const char *name, zc_number_kind decoded, zc_number_kind encoded, bool swapped)
{
    zc_codec codec;

    CHECK(zc_codec_init(&codec, name));
    codec.decoded = (zc_number){decoded, swapped};
    codec.encoded = (zc_number){encoded, swapped};
    return codec;
}

/* Encode n bytes and decode them again, in memory of exactly the sizes that the codec states. */
static zc_status round_trip(const zc_codec *codec, const uint8_t *src, size_t n, uint8_t *back)
{
    zc_workspace *ws = zc_workspace_new();
    zc_error err;
    size_t size = 0, bound = 0;

    zc_error_clear(&err);
    uint8_t *encoded = case_encode(codec, ws, src, n, &size, &err);
    zc_status status = err.status;
    CHECK(codec->cls->bound(codec, n, &bound));
    if (encoded != NULL) {
        CHECK(size == bound);
        status = zc_codec_decode_exact(codec, ws, encoded, size, back, n, &err);
    }
    free(encoded);
    zc_workspace_free(ws);
    return status;
}

enum { N = 3000 };

static void lossless_filters_come_back(void)
{
    static const zc_number_kind integers[] = {ZC_NUMBER_I8,  ZC_NUMBER_I16, ZC_NUMBER_I32, ZC_NUMBER_I64,
                                              ZC_NUMBER_U8,  ZC_NUMBER_U16, ZC_NUMBER_U32, ZC_NUMBER_U64};

    for (size_t k = 0; k < sizeof integers / sizeof *integers; k++) {
        for (int swapped = 0; swapped < 2; swapped++) {
            for (size_t count = 0; count < N; count = count * 2 + 1) {
                const size_t n = count * zc_number_size(integers[k]);
                uint8_t *data = case_exact(NULL, n), *back = case_exact(NULL, n);
                const zc_codec codecs[] = {
                    filter("delta", integers[k], integers[k], swapped),
                    filter("delta", integers[k], ZC_NUMBER_I64, swapped),
                    filter("astype", integers[k], ZC_NUMBER_U64, swapped),
                    filter("scale_offset", integers[k], integers[k], swapped),
                };
                case_fill(data, n, DATA_MIXED);
                for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
                    CHECK(round_trip(&codecs[c], data, n, back) == ZC_OK);
                    CHECK(n == 0 || memcmp(data, back, n) == 0);
                }
                free(data);
                free(back);
            }
        }
    }
}

static const zc_number_kind every_kind[] = {
    ZC_NUMBER_I8,  ZC_NUMBER_I16, ZC_NUMBER_I32, ZC_NUMBER_I64, ZC_NUMBER_U8,   ZC_NUMBER_U16, ZC_NUMBER_U32,
    ZC_NUMBER_U64, ZC_NUMBER_F16, ZC_NUMBER_F32, ZC_NUMBER_F64, ZC_NUMBER_BOOL, ZC_NUMBER_C64, ZC_NUMBER_C128,
};

enum { KINDS = sizeof every_kind / sizeof *every_kind };

/* Whatever the bits of all pairs of types, nothing is undefined, and sizes are as stated. */
static void noise_of_all_types(void)
{
    static const size_t counts[] = {0, 1, 7, 33, 511, 512, 513, 1030};

    for (int from = 0; from < KINDS; from++) {
        for (int to = 0; to < KINDS; to++) {
            const size_t count = counts[(from + to) % 8], n = count * zc_number_size(every_kind[from]);
            uint8_t *data = case_exact(NULL, n), *back = case_exact(NULL, n);
            zc_codec codecs[] = {
                filter("delta", every_kind[from], every_kind[to], (from + to) % 3 == 0),
                filter("astype", every_kind[from], every_kind[to], (from + to) % 3 == 0),
                filter("fixedscaleoffset", every_kind[from], every_kind[to], (from + to) % 3 == 0),
                filter("fixedscaleoffset", every_kind[from], every_kind[to], false),
                filter("fixedscaleoffset", every_kind[from], every_kind[to], false),
            };
            codecs[2].offset = -0.3;
            codecs[2].scale = 7.7;
            codecs[3].offset = (double)(codecs[3].whole.offset = 100);
            codecs[4].offset = (double)(codecs[4].whole.offset = 100);
            codecs[4].scale = (double)(codecs[4].whole.scale = 77);
            codecs[3].whole.has_offset = codecs[4].whole.has_offset = codecs[4].whole.has_scale = true;
            case_fill(data, n, DATA_NOISE);
            for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
                const zc_status status = round_trip(&codecs[c], data, n, back);
                CHECK(status == ZC_OK || (c == 0 && status == ZC_ERR_ENCODE));
            }
            free(data);
            free(back);
        }
    }
}

static bool is_unsigned(zc_number_kind kind)
{
    return (kind >= ZC_NUMBER_U8 && kind <= ZC_NUMBER_U64) || kind == ZC_NUMBER_BOOL;
}

/* Small whole numbers come back from all filters through all types that have them. */
static void small_numbers_come_back(void)
{
    for (int from = 0; from < KINDS; from++) {
        for (int to = 0; to < KINDS; to++) {
            const zc_number_kind kind = every_kind[from], stored = every_kind[to];
            const size_t n = N * zc_number_size(kind);
            const int most = kind == ZC_NUMBER_BOOL || stored == ZC_NUMBER_BOOL ? 2 : 12;
            uint8_t *data = case_exact(NULL, n), *back = case_exact(NULL, n), small[N];
            for (int i = 0; i < N; i++) {
                small[i] = (uint8_t)(i * 7 % 31 % most);
            }
            zc_cast_numpy(data, kind, small, ZC_NUMBER_U8, N);
            zc_codec codecs[] = {filter("astype", kind, stored, false), filter("delta", kind, stored, false),
                                 filter("fixedscaleoffset", kind, stored, false)};
            codecs[2].scale = most == 2 ? 1 : 4;
            const bool below_zero = !is_unsigned(kind) && !is_unsigned(stored);
            for (int c = 0; c < 3; c++) {
                if (c == 1 && !below_zero && kind != stored && kind != ZC_NUMBER_BOOL) {
                    continue;            /* differences below zero, which the one or the other has not */
                }
                CHECK(round_trip(&codecs[c], data, n, back) == ZC_OK);
                CHECK(memcmp(data, back, n) == 0);
            }
            free(data);
            free(back);
        }
    }
}

/* All halves, against the exact numbers of exact_number.h. */
static void halves_and_floats(void)
{
    static uint16_t halves[1 << 16], back[1 << 16];
    static float floats[1 << 16];
    const zc_real_type *const half = zc_real_type_of(ZC_NUMBER_F16), *const single = zc_real_type_of(ZC_NUMBER_F32);
    int right = 1;

    for (uint32_t i = 0; i < 1 << 16; i++) {
        halves[i] = (uint16_t)i;
    }
    zc_halves_to_floats(floats, halves, ZC_NUMBER_F16, 1 << 16);
    zc_floats_to_halves(back, ZC_NUMBER_F16, floats, 1 << 16);
    for (uint32_t i = 0; i < 1 << 16; i++) {
        const zc_real real = zc_real_load(half, halves[i]);
        uint64_t expected = 0, again = 0;
        uint32_t bits;
        memcpy(&bits, floats + i, 4);
        zc_real_store(single, &real, ZC_ROUND_NEAREST_EVEN, &expected);
        zc_real_store(half, &real, ZC_ROUND_NEAREST_EVEN, &again);
        right = right && bits == expected && back[i] == again;
        /* A float half-way to the next half, or a little above or below. */
        bits += 0x1000 + (i & 3) - 1;
        memcpy(floats + i, &bits, 4);
    }
    zc_floats_to_halves(back, ZC_NUMBER_F16, floats, 1 << 16);
    for (uint32_t i = 0; i < 1 << 16; i++) {
        uint64_t expected = 0;
        uint32_t bits;
        memcpy(&bits, floats + i, 4);
        const zc_real real = zc_real_load(single, bits);
        if (zc_real_store(half, &real, ZC_ROUND_NEAREST_EVEN, &expected) == ZC_REAL_OUT_OF_RANGE) {
            expected = zc_real_limit(half, &real);
        }
        right = right && back[i] == expected;
    }
    CHECK(right);
}

/* 65504 is the largest half; what is beyond stays infinite, as every sum after it does. */
static void sums_of_halves_overflow(void)
{
    static const float steps[] = {60000, 5504, 15, -15, 32, 8, 8, -70000, 1, -1};
    uint16_t halves[10], sums[10];
    float back[10];

    zc_floats_to_halves(halves, ZC_NUMBER_F16, steps, 10);
    zc_delta_decode_numpy(sums, halves, 10, ZC_NUMBER_F16);
    zc_halves_to_floats(back, sums, ZC_NUMBER_F16, 10);
    CHECK(back[0] == 60000 && back[1] == 65504 && back[2] == 65504 && back[3] == 65504 && isinf(back[4]));
    CHECK(isinf(back[6]) && isnan(back[7]) && isnan(back[9]));
}

/* Integers less an integer stay what they are, and wrap; numpy refuses constants that their type lacks. */
static void integers_less_an_integer(void)
{
    const int8_t data[4] = {-128, -1, 0, 127};
    int8_t made[4];
    zc_workspace *ws = zc_workspace_new();
    zc_codec codec = filter("fixedscaleoffset", ZC_NUMBER_I8, ZC_NUMBER_I8, false);
    size_t written;
    zc_error err;

    zc_error_clear(&err);
    codec.whole.has_offset = codec.whole.has_scale = true;
    codec.offset = (double)(codec.whole.offset = 100);
    codec.scale = (double)(codec.whole.scale = -3);
    CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)data, 4, (uint8_t *)made, 4, &written, &err) == ZC_OK);
    CHECK(made[0] == -84 && made[1] == 47 && made[2] == 44 && made[3] == -81);
    codec.offset = (double)(codec.whole.offset = 128);
    CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)data, 4, (uint8_t *)made, 4, &written, &err) == ZC_ERR_ENCODE);
    CHECK(zc_codec_decode(&codec, ws, (const uint8_t *)data, 4, (uint8_t *)made, 4, &written, &err) == ZC_OK);
    codec.decoded.kind = ZC_NUMBER_U64;
    codec.offset = (double)(codec.whole.offset = -1);
    CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)data, 0, (uint8_t *)made, 4, &written, &err) == ZC_ERR_ENCODE);
    codec.offset = 0x1p64;                       /* the same bits, as a number that uint64 has */
    CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)data, 0, (uint8_t *)made, 4, &written, &err) == ZC_ERR_ENCODE);
    codec.scale = (double)(codec.whole.scale = 3);
    CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)data, 0, (uint8_t *)made, 4, &written, &err) == ZC_OK);
    zc_workspace_free(ws);
}

/* Bytes of no whole item are read as HDF5 leaves them, and not written: numcodecs does not read them. */
static void shuffle_reads_the_rest_in_place(void)
{
    uint8_t data[N], back[N];
    zc_workspace *ws = zc_workspace_new();
    zc_codec codec = filter("shuffle", ZC_NUMBER_I8, ZC_NUMBER_I8, false);
    zc_error err;

    zc_error_clear(&err);

    case_fill(data, N, DATA_NOISE);
    for (codec.element = 1; codec.element < 20; codec.element++) {
        for (size_t n = 0; n < 200; n += 7) {
            const size_t rest = n % codec.element, whole = n - rest;
            memset(back, 0, sizeof back);
            CHECK(round_trip(&codec, data, whole, back) == ZC_OK);
            CHECK(memcmp(data, back, whole) == 0);
            CHECK(rest == 0 || round_trip(&codec, data, n, back) == ZC_ERR_ENCODE);
            CHECK(zc_codec_decode_exact(&codec, ws, data, n, back, n, &err) == ZC_OK);
            CHECK(memcmp(data + whole, back + whole, rest) == 0);
        }
    }
    codec.element = 0;
    CHECK(round_trip(&codec, data, 8, back) == ZC_ERR_ARGUMENT);
    zc_workspace_free(ws);
}

static void low_bits_alone_are_read(void)
{
    zc_codec codec = filter("low_bits", ZC_NUMBER_I8, ZC_NUMBER_I8, false);

    for (codec.level = 1; codec.level <= 8; codec.level++) {
        for (size_t n = 0; n < 200; n += 7) {
            uint8_t *data = case_exact(NULL, n), *back = case_exact(NULL, n);
            case_fill(data, n, DATA_NOISE);
            CHECK(round_trip(&codec, data, n, back) == ZC_OK);
            for (size_t i = 0; i < n; i++) {
                CHECK(back[i] == data[i] % (1 << codec.level));
            }
            free(data);
            free(back);
        }
    }
    uint8_t data[8] = {0}, back[8];
    CHECK(codec.level == 9 && round_trip(&codec, data, 8, back) == ZC_ERR_ARGUMENT);
    codec.level = 0;
    CHECK(round_trip(&codec, data, 8, back) == ZC_ERR_ARGUMENT);
    codec.level = 4;

    zc_workspace *ws = zc_workspace_new();
    zc_error err;
    zc_error_clear(&err);
    CHECK(zc_codec_decode_exact(&codec, ws, data, 8, back, 7, &err) == ZC_ERR_SIZE);
    CHECK(zc_codec_decode_exact(&codec, ws, data, 7, back, 8, &err) == ZC_ERR_SIZE);
    zc_workspace_free(ws);
}

static void packbits_of_any_length(void)
{
    uint8_t data[100], back[100];
    const zc_codec codec = filter("packbits", ZC_NUMBER_I8, ZC_NUMBER_I8, false);

    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = i % 3 == 0;
    }
    for (size_t n = 0; n <= sizeof data; n++) {
        CHECK(round_trip(&codec, data, n, back) == ZC_OK);
        CHECK(memcmp(data, back, n) == 0);
    }
}

static bool is_big_endian(void)
{
    return *(const uint8_t *)&(uint16_t){1} == 0;
}

static void some_bits_of_numbers(void)
{
    static const zc_number_kind kinds[] = {ZC_NUMBER_I8, ZC_NUMBER_U16, ZC_NUMBER_I32, ZC_NUMBER_U64};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t size = zc_number_size(kinds[k]), lowest = is_big_endian() ? size - 1 : 0;
        zc_codec codec = filter("packbits", kinds[k], kinds[k], false);

        for (size_t count = 0; count < 70; count++) {
            uint8_t *data = case_exact(NULL, count * size), *back = case_exact(NULL, count * size);
            case_fill(data, count * size, DATA_NOISE);
            for (int padding = ZC_PADDING_NONE; padding <= ZC_PADDING_LAST; padding++) {
                codec.bits.padding = (zc_padding)padding;
                codec.bits.width = (uint32_t)(8 * size);
                CHECK(round_trip(&codec, data, count * size, back) == ZC_OK);
                CHECK(count == 0 || memcmp(data, back, count * size) == 0);
                codec.bits.width = 3;
                CHECK(round_trip(&codec, data, count * size, back) == ZC_OK);
                CHECK(count == 0 || (data[lowest] & 3) == (back[lowest] & 3));
            }
            free(data);
            free(back);
        }
        codec.bits.first = (uint32_t)(8 * size - 2);
        CHECK(zc_codec_check(&codec, NULL) == ZC_ERR_ARGUMENT);
    }
}

static void scaled_numbers_come_back_rounded(void)
{
    double data[N], back[N];
    zc_codec codec = filter("fixedscaleoffset", ZC_NUMBER_F64, ZC_NUMBER_I32, false);

    codec.offset = -7.5;
    codec.scale = 10;
    for (int i = 0; i < N; i++) {
        data[i] = i * 0.37 - 400;
    }
    CHECK(round_trip(&codec, (const uint8_t *)data, sizeof data, (uint8_t *)back) == ZC_OK);
    for (int i = 0; i < N; i++) {
        CHECK(back[i] == rint((data[i] + 7.5) * 10) / 10 - 7.5);
    }
}

/* Scales with few bits and with all, of either sign, whatever the number of items: the bits that division has. */
static void integers_are_divided_as_by_division(void)
{
    static const double scales[] = {100, 2, 0.1, 1.0 / 3, -7, 1e-5, 12345.678, 0x1.fffffffffffffp0};
    static const zc_number_kind kinds[] = {ZC_NUMBER_I8, ZC_NUMBER_U8, ZC_NUMBER_I16, ZC_NUMBER_U16, ZC_NUMBER_I32};
    uint8_t data[4 * N];
    double numbers[N], back[N];
    float singles[N];
    zc_workspace *ws = zc_workspace_new();
    size_t written;
    zc_error err;
    int right = 1;

    zc_error_clear(&err);
    case_fill(data, sizeof data, DATA_NOISE);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        zc_codec codec = filter("fixedscaleoffset", ZC_NUMBER_F64, kinds[k], false);
        zc_cast(numbers, ZC_NUMBER_F64, data, kinds[k], N);
        for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
            const size_t n = N - s, nbytes = n * zc_number_size(kinds[k]);
            codec.scale = scales[s];
            codec.offset = s % 2 == 0 ? 0.1 : 0;
            codec.decoded.kind = ZC_NUMBER_F64;
            CHECK(zc_codec_decode(&codec, ws, data, nbytes, (uint8_t *)back, 8 * n, &written, &err) == ZC_OK);
            codec.decoded.kind = ZC_NUMBER_F32;
            CHECK(zc_codec_decode(&codec, ws, data, nbytes, (uint8_t *)singles, 4 * n, &written, &err) == ZC_OK);
            for (size_t i = 0; i < n; i++) {
                const double expected = numbers[i] / codec.scale + codec.offset;
                right = right && back[i] == expected && singles[i] == (float)expected;
            }
        }
    }
    CHECK(right);
    zc_workspace_free(ws);
}

/* Wherever vectors begin and end. */
static void doubles_become_floats(void)
{
    static double numbers[200];
    float made[200];
    zc_workspace *ws = zc_workspace_new();
    size_t written;

    for (int i = 0; i < 200; i++) {
        numbers[i] = i % 50 == 7 ? 1e300 : (i - 100) / 7.0;
    }
    for (size_t n = 0; n < 190; n++) {
        const size_t at = n % 9;
        const zc_codec codec = filter("astype", ZC_NUMBER_F64, ZC_NUMBER_F32, false);
        int right = 1;
        memset(made, 0, sizeof made);
        CHECK(zc_codec_encode(&codec, ws, (const uint8_t *)(numbers + 1), 8 * n, (uint8_t *)(made + at), 4 * n, &written,
                                NULL) == ZC_OK && written == 4 * n);
        for (size_t i = 0; i < n; i++) {
            right = right && made[at + i] == (float)numbers[1 + i];
        }
        CHECK(right && made[at + n] == 0);
    }
    zc_workspace_free(ws);
}

/* Zero divided by a negative scale is negative, and stays so with an offset of -0. */
static void the_sign_of_zero(void)
{
    const int16_t zeros[9] = {0};
    double back[9];
    zc_workspace *ws = zc_workspace_new();
    size_t written;
    zc_codec codec = filter("fixedscaleoffset", ZC_NUMBER_F64, ZC_NUMBER_I16, false);

    codec.scale = -3;
    codec.offset = -0.0;
    CHECK(zc_codec_decode(&codec, ws, (const uint8_t *)zeros, sizeof zeros, (uint8_t *)back, sizeof back, &written,
                            NULL) == ZC_OK);
    CHECK(signbit(back[0]) && signbit(back[8]));
    zc_workspace_free(ws);
}

static void rounded_floats(void)
{
    const float data[4] = {1.0f, 1.25f, 1.75f, -3.0f};
    float back[4];
    zc_codec codec = filter("bitround", ZC_NUMBER_F32, ZC_NUMBER_F32, false);

    codec.level = 1;
    CHECK(round_trip(&codec, (const uint8_t *)data, sizeof data, (uint8_t *)back) == ZC_OK);
    CHECK(back[0] == 1.0f && back[1] == 1.0f && back[2] == 2.0f && back[3] == -3.0f);
    codec.level = 24;
    CHECK(round_trip(&codec, (const uint8_t *)data, sizeof data, (uint8_t *)back) == ZC_ERR_ARGUMENT);
}

static void refuses_what_does_not_fit(void)
{
    const uint8_t data[16] = {9, 1, 2};
    const zc_codec wide = filter("astype", ZC_NUMBER_I64, ZC_NUMBER_I8, false);
    const zc_codec bits = filter("packbits", ZC_NUMBER_I8, ZC_NUMBER_I8, false);
    const zc_codec delta = filter("delta", ZC_NUMBER_I32, ZC_NUMBER_I8, false);
    const int32_t first[2] = {1000, 1001};
    zc_workspace *ws = zc_workspace_new();
    uint8_t dst[16];
    size_t written;
    zc_error err;

    zc_error_clear(&err);
    CHECK(zc_codec_decode(&wide, ws, data, 3, dst, sizeof dst, &written, &err) == ZC_ERR_SIZE);
    CHECK(zc_codec_encode(&wide, ws, data, 15, dst, sizeof dst, &written, &err) == ZC_ERR_SIZE);
    CHECK(zc_codec_decode(&bits, ws, data, 3, dst, sizeof dst, &written, &err) == ZC_ERR_CORRUPT);
    CHECK(zc_codec_decode(&bits, ws, data, 0, dst, sizeof dst, &written, &err) == ZC_ERR_CORRUPT);
    CHECK(zc_codec_encode(&delta, ws, (const uint8_t *)first, sizeof first, dst, sizeof dst, &written, &err) ==
          ZC_ERR_ENCODE);
    zc_workspace_free(ws);
}

static void casts_out_of_range(void)
{
    const double numbers[] = {NAN, INFINITY, -INFINITY, 1e300, -5.9, 300.0, 1.8e19};
    int32_t i32[7];
    uint8_t u8[7];
    uint64_t u64[7];

    zc_cast(i32, ZC_NUMBER_I32, numbers, ZC_NUMBER_F64, 7);
    zc_cast(u8, ZC_NUMBER_U8, numbers, ZC_NUMBER_F64, 7);
    zc_cast(u64, ZC_NUMBER_U64, numbers, ZC_NUMBER_F64, 7);
    CHECK(i32[0] == INT32_MIN && i32[1] == INT32_MIN && i32[2] == INT32_MIN && i32[3] == INT32_MIN);
    CHECK(i32[4] == -5 && i32[5] == 300);
    CHECK(u8[0] == 0 && u8[4] == 251 && u8[5] == 44);
    CHECK(u64[6] == 18000000000000000000u && u64[4] == (uint64_t)-5);
}

int main(void)
{
    RUN_ON_EVERY_CPU(lossless_filters_come_back);
    RUN_ON_EVERY_CPU(noise_of_all_types);
    RUN_ON_EVERY_CPU(small_numbers_come_back);
    RUN_ON_EVERY_CPU(halves_and_floats);
    RUN_ON_EVERY_CPU(sums_of_halves_overflow);
    RUN_ON_EVERY_CPU(integers_less_an_integer);
    RUN_ON_EVERY_CPU(shuffle_reads_the_rest_in_place);
    RUN_ON_EVERY_CPU(low_bits_alone_are_read);
    RUN_ON_EVERY_CPU(packbits_of_any_length);
    RUN_ON_EVERY_CPU(some_bits_of_numbers);
    RUN_ON_EVERY_CPU(scaled_numbers_come_back_rounded);
    RUN_ON_EVERY_CPU(integers_are_divided_as_by_division);
    RUN_ON_EVERY_CPU(doubles_become_floats);
    RUN_ON_EVERY_CPU(the_sign_of_zero);
    RUN_ON_EVERY_CPU(rounded_floats);
    RUN_ON_EVERY_CPU(refuses_what_does_not_fit);
    RUN_ON_EVERY_CPU(casts_out_of_range);
    return check_report("number_filters");
}
