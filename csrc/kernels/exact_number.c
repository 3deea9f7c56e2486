/* SPDX-License-Identifier: MIT */
#include "kernels/exact_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "kernels/byte_order.h"

#define NONE ZC_REAL_NO_CODE
#define INTEGER(NAME, BITS, SIGNED) {NAME, BITS, false, SIGNED, 0, 0, 0, 0, 0}
#define FLOAT(NAME, BITS, MANTISSA, BIAS, LARGEST, INFINITE, NOTHING)                             \
    {NAME, BITS, true, true, MANTISSA, BIAS, LARGEST, INFINITE, NOTHING}

static const zc_real_type types[ZC_REAL_KINDS] = {
    [ZC_NUMBER_I8] = INTEGER("int8", 8, true),
    [ZC_NUMBER_I16] = INTEGER("int16", 16, true),
    [ZC_NUMBER_I32] = INTEGER("int32", 32, true),
    [ZC_NUMBER_I64] = INTEGER("int64", 64, true),
    [ZC_NUMBER_U8] = INTEGER("uint8", 8, false),
    [ZC_NUMBER_U16] = INTEGER("uint16", 16, false),
    [ZC_NUMBER_U32] = INTEGER("uint32", 32, false),
    [ZC_NUMBER_U64] = INTEGER("uint64", 64, false),
    [ZC_NUMBER_I2] = INTEGER("int2", 2, true),
    [ZC_NUMBER_I4] = INTEGER("int4", 4, true),
    [ZC_NUMBER_U2] = INTEGER("uint2", 2, false),
    [ZC_NUMBER_U4] = INTEGER("uint4", 4, false),
    [ZC_NUMBER_F16] = FLOAT("float16", 16, 10, 15, 0x7bff, 0x7c00, 0x7e00),
    [ZC_NUMBER_BF16] = FLOAT("bfloat16", 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0),
    [ZC_NUMBER_F32] = FLOAT("float32", 32, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000),
    [ZC_NUMBER_F64] = FLOAT("float64", 64, 52, 1023, UINT64_C(0x7fefffffffffffff), UINT64_C(0x7ff0000000000000),
                            UINT64_C(0x7ff8000000000000)),
    [ZC_NUMBER_F8_E3M4] = FLOAT("float8_e3m4", 8, 4, 3, 0x6f, 0x70, 0x78),
    [ZC_NUMBER_F8_E4M3] = FLOAT("float8_e4m3", 8, 3, 7, 0x77, 0x78, 0x7c),
    [ZC_NUMBER_F8_E4M3B11FNUZ] = FLOAT("float8_e4m3b11fnuz", 8, 3, 11, 0x7f, NONE, 0x80),
    [ZC_NUMBER_F8_E4M3FN] = FLOAT("float8_e4m3fn", 8, 3, 7, 0x7e, NONE, 0x7f),
    [ZC_NUMBER_F8_E4M3FNUZ] = FLOAT("float8_e4m3fnuz", 8, 3, 8, 0x7f, NONE, 0x80),
    [ZC_NUMBER_F8_E5M2] = FLOAT("float8_e5m2", 8, 2, 15, 0x7b, 0x7c, 0x7e),
    [ZC_NUMBER_F8_E5M2FNUZ] = FLOAT("float8_e5m2fnuz", 8, 2, 16, 0x7f, NONE, 0x80),
    [ZC_NUMBER_F8_E8M0FNU] = {"float8_e8m0fnu", 8, true, false, 0, 127, 0xfe, NONE, 0xff},
    [ZC_NUMBER_F6_E2M3FN] = FLOAT("float6_e2m3fn", 6, 3, 1, 0x1f, NONE, NONE),
    [ZC_NUMBER_F6_E3M2FN] = FLOAT("float6_e3m2fn", 6, 2, 3, 0x1f, NONE, NONE),
    [ZC_NUMBER_F4_E2M1FN] = FLOAT("float4_e2m1fn", 4, 1, 1, 0x07, NONE, NONE),
};

const zc_real_type *zc_real_type_of(zc_number_kind kind)
{
    return &types[kind];
}

bool zc_number_named(const char *name, zc_number_kind *out)
{
    for (int kind = 0; kind < ZC_REAL_KINDS; kind++) {
        if (strcmp(types[kind].name, name) == 0) {
            *out = (zc_number_kind)kind;
            return true;
        }
    }
    return false;
}

/* ---- bits ------------------------------------------------------------------------------------- */

/* All bits of a number. */
static uint64_t mask_of(const zc_real_type *type)
{
    return UINT64_MAX >> (64 - type->bits);
}

static uint64_t sign_bit(const zc_real_type *type)
{
    return type->is_signed ? UINT64_C(1) << (type->bits - 1) : 0;
}

uint64_t zc_real_fetch(const void *src, zc_number_kind kind)
{
    zc_assert(kind < ZC_REAL_KINDS);

    uint8_t x8;
    uint16_t x16;
    uint32_t x32;
    uint64_t x64;

    switch (zc_number_size(kind)) {
    case 1: memcpy(&x8, src, 1); return x8 & mask_of(&types[kind]);
    case 2: memcpy(&x16, src, 2); return x16;
    case 4: memcpy(&x32, src, 4); return x32;
    default: memcpy(&x64, src, 8); return x64;
    }
}

void zc_real_put(void *dst, zc_number_kind kind, uint64_t bits)
{
    zc_assert(kind < ZC_REAL_KINDS);

    const uint8_t x8 = (uint8_t)bits;
    const uint16_t x16 = (uint16_t)bits;
    const uint32_t x32 = (uint32_t)bits;

    switch (zc_number_size(kind)) {
    case 1: memcpy(dst, &x8, 1); break;
    case 2: memcpy(dst, &x16, 2); break;
    case 4: memcpy(dst, &x32, 4); break;
    default: memcpy(dst, &bits, 8); break;
    }
}

/* ---- from bits -------------------------------------------------------------------------------- */

static zc_real load_integer(const zc_real_type *type, uint64_t bits)
{
    const bool negative = (bits & sign_bit(type)) != 0;

    return (zc_real){ZC_REAL_FINITE, negative, negative ? (0 - bits) & mask_of(type) : bits, 0};
}

static bool is_nan(const zc_real_type *type, uint64_t bits, uint64_t code)
{
    if (type->infinity != NONE) {
        return code > type->infinity;
    }
    return type->nan != NONE && (type->nan == sign_bit(type) ? bits : code) == type->nan;
}

zc_real zc_real_load(const zc_real_type *type, uint64_t bits)
{
    if (!type->is_float) {
        return load_integer(type, bits);
    }
    const uint64_t code = bits & ~sign_bit(type), hidden = UINT64_C(1) << type->mantissa;
    const uint64_t fraction = code & (hidden - 1);
    const int field = (int)(code >> type->mantissa);
    const bool subnormal = field == 0 && type->is_signed;        /* what has no sign has no zero either */
    zc_real real = {ZC_REAL_FINITE, code != bits, fraction, (subnormal ? 1 : field) - type->bias - type->mantissa};

    if (is_nan(type, bits, code)) {
        real.cls = ZC_REAL_NAN;
        real.negative = code != bits && type->nan != sign_bit(type);
        real.size = type->mantissa > 0 ? fraction << (64 - type->mantissa) : 0;
    } else if (code == type->infinity) {
        real.cls = ZC_REAL_INFINITE;
    } else {
        real.size |= subnormal ? 0 : hidden;
    }
    return real;
}

double zc_real_to_double(const zc_real *real)
{
    const double size = real->cls == ZC_REAL_NAN        ? NAN
                        : real->cls == ZC_REAL_INFINITE ? INFINITY
                                                        : ldexp((double)real->size, real->exponent);
    return real->negative ? -size : size;
}

/* ---- rounding --------------------------------------------------------------------------------- */

/*
 * size / 2 ** shift as an integer.  What has to be even in a tie is the sum with `odd`: of floats the code.
 */
static uint64_t shift_right(uint64_t size, int shift, bool negative, zc_rounding rounding, uint64_t odd)
{
    if (shift <= 0) {
        return size << -shift;
    }
    const uint64_t kept = shift < 64 ? size >> shift : 0;
    const uint64_t rest = shift < 64 ? size & ((UINT64_C(1) << shift) - 1) : size;
    const uint64_t half = shift <= 64 ? UINT64_C(1) << (shift - 1) : UINT64_MAX;     /* beyond: always less */
    bool up = false;

    switch (rounding) {
    case ZC_ROUND_NEAREST_EVEN: up = rest > half || (rest == half && shift <= 64 && ((kept ^ odd) & 1)); break;
    case ZC_ROUND_NEAREST_AWAY: up = rest > half || (rest == half && shift <= 64); break;
    case ZC_ROUND_TOWARDS_ZERO: break;
    case ZC_ROUND_TOWARDS_POSITIVE: up = rest > 0 && !negative; break;
    case ZC_ROUND_TOWARDS_NEGATIVE: up = rest > 0 && negative; break;
    }
    return kept + (up ? 1 : 0);
}

/* ---- to bits ---------------------------------------------------------------------------------- */

static zc_real_fit store_integer(const zc_real_type *type, const zc_real *real, zc_rounding rounding, uint64_t *bits)
{
    const uint64_t most = mask_of(type) >> (type->is_signed ? 1 : 0);
    const uint64_t limit = real->negative ? (type->is_signed ? most + 1 : 0) : most;
    bool fits = true;
    uint64_t size;

    if (real->cls != ZC_REAL_FINITE) {
        return ZC_REAL_NO_VALUE;
    }
    if (real->size != 0 && real->exponent > zc_leading_zeros(real->size)) {
        size = real->exponent < 64 ? real->size << real->exponent : 0;       /* the low bits */
        fits = false;
    } else if (real->size == 0) {
        size = 0;
    } else {
        size = shift_right(real->size, -real->exponent, real->negative, rounding, 0);
    }
    *bits = (real->negative ? 0 - size : size) & mask_of(type);
    return fits && size <= limit ? ZC_REAL_FITS : ZC_REAL_OUT_OF_RANGE;
}

/* The sign of what has that code. */
static uint64_t signed_code(const zc_real_type *type, bool negative, uint64_t code)
{
    const bool has_zero = code != 0 || type->nan != sign_bit(type);

    return negative && has_zero ? code | sign_bit(type) : code;
}

static zc_real_fit store_special(const zc_real_type *type, const zc_real *real, uint64_t *bits)
{
    if (real->cls == ZC_REAL_INFINITE) {
        *bits = signed_code(type, real->negative, type->infinity);
        return type->infinity == NONE ? ZC_REAL_NO_VALUE : ZC_REAL_FITS;
    }
    /* The payload of types that have infinities, or one code for all. */
    const uint64_t payload = type->infinity != NONE ? real->size >> (64 - type->mantissa) : 0;
    *bits = type->nan == sign_bit(type) ? type->nan : signed_code(type, real->negative, type->nan | payload);
    return type->nan == NONE ? ZC_REAL_NO_VALUE : ZC_REAL_FITS;
}

static zc_real_fit store_float(const zc_real_type *type, const zc_real *real, zc_rounding rounding, uint64_t *bits)
{
    const int lowest = (type->is_signed ? 1 : 0) - type->bias;       /* exponent of the smallest normal number */
    uint64_t code = 0;

    if (real->cls != ZC_REAL_FINITE) {
        return store_special(type, real, bits);
    }
    if (real->size != 0) {
        const int zeros = zc_leading_zeros(real->size), top = real->exponent + 63 - zeros;
        const int exponent = top > lowest ? top : lowest;
        /* With the hidden bit of a normal number one too much: the exponent stands for one less. */
        const int field = exponent + type->bias - 1;
        const uint64_t base = field >= 0 ? (uint64_t)field << type->mantissa : 0 - (UINT64_C(1) << type->mantissa);
        const int shift = exponent - type->mantissa - (real->exponent - zeros);
        code = base + shift_right(real->size << zeros, shift, real->negative, rounding, base);
        if (top < lowest && !type->is_signed) {
            return ZC_REAL_OUT_OF_RANGE;     /* less than the smallest, and no zero */
        }
    } else if (!type->is_signed) {
        return ZC_REAL_OUT_OF_RANGE;         /* no zero */
    }
    *bits = signed_code(type, real->negative, code);
    return code <= type->largest && (type->is_signed || !real->negative) ? ZC_REAL_FITS : ZC_REAL_OUT_OF_RANGE;
}

zc_real_fit zc_real_store(const zc_real_type *type, const zc_real *real, zc_rounding rounding, uint64_t *bits)
{
    return type->is_float ? store_float(type, real, rounding, bits) : store_integer(type, real, rounding, bits);
}

uint64_t zc_real_limit(const zc_real_type *type, const zc_real *real)
{
    if (!type->is_float) {
        return real->negative ? sign_bit(type) : mask_of(type) & ~sign_bit(type);
    }
    /* Without a sign there is no zero either: the smallest number, of code 0, is the last one on that side. */
    if (!type->is_signed && (real->negative || zc_real_to_double(real) < 1)) {
        return 0;
    }
    return signed_code(type, real->negative, type->infinity != NONE ? type->infinity : type->largest);
}

/* ---- text ------------------------------------------------------------------------------------- */

void zc_real_print(zc_number_kind kind, uint64_t bits, char *out, size_t capacity)
{
    const zc_real_type *const type = &types[kind];
    const zc_real real = zc_real_load(type, bits);
    const double value = zc_real_to_double(&real);

    if (!type->is_float) {
        snprintf(out, capacity, "%s%llu", real.negative ? "-" : "", (unsigned long long)real.size);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(out, capacity, "%.*g", digits, value);
        const double read = strtod(out, NULL);
        if (type->bits == 64 ? read == value : (float)read == (float)value) {
            return;          /* NaN: the text is the same every time */
        }
    }
}
