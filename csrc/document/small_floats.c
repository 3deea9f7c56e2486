/* SPDX-License-Identifier: MIT
 *
 * Fill values of floating-point types of 8 bits (zarr extensions, "data-types"; the encodings are those of
 * IEEE 754 and of the OCP formats as the package ml_dtypes has them).
 */
#include <math.h>
#include <string.h>

#include "document/document.h"

enum { NONE = -1 };

struct zc_small_float {
    const char *name;
    int mantissa;            /* bits */
    int bias;
    int largest;             /* code of the largest finite number */
    int infinity;            /* code, or NONE */
    int nan;
    bool is_signed;          /* e8m0 is not, and has no zero: its smallest number stands in */
};

static const zc_small_float types[] = {
    {"float8_e3m4", 4, 3, 0x6f, 0x70, 0x78, true},
    {"float8_e4m3", 3, 7, 0x77, 0x78, 0x7c, true},
    {"float8_e4m3b11fnuz", 3, 11, 0x7f, NONE, 0x80, true},
    {"float8_e4m3fn", 3, 7, 0x7e, NONE, 0x7f, true},
    {"float8_e4m3fnuz", 3, 8, 0x7f, NONE, 0x80, true},
    {"float8_e5m2", 2, 15, 0x7b, 0x7c, 0x7e, true},
    {"float8_e5m2fnuz", 2, 16, 0x7f, NONE, 0x80, true},
    {"float8_e8m0fnu", 0, 127, 0xfe, NONE, 0xff, false},
};

const zc_small_float *zc_small_float_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

/* The number that a code of a finite one without sign stands for. */
static double number_of(const zc_small_float *type, int code)
{
    const int exponent = code >> type->mantissa, fraction = code & ((1 << type->mantissa) - 1);
    const int subnormal = exponent == 0 && type->is_signed;

    return ldexp(fraction + (subnormal ? 0 : 1 << type->mantissa),
                 (subnormal ? 1 : exponent) - type->bias - type->mantissa);
}

/* The nearest code; of two as near, the even one. */
static int nearest(const zc_small_float *type, double size)
{
    int best = 0;

    for (int code = 1; code <= type->largest; code++) {
        const double better = fabs(number_of(type, best) - size) - fabs(number_of(type, code) - size);
        if (better > 0 || (better == 0 && (code & 1) == 0)) {
            best = code;
        }
    }
    return best;
}

bool zc_small_float_bits(const zc_small_float *type, double value, uint64_t *out)
{
    const double last = number_of(type, type->largest), step = last - number_of(type, type->largest - 1);
    const bool negative = signbit(value) && !isnan(value);
    int code = type->nan;

    if (isinf(value)) {
        code = type->infinity;
    } else if (!isnan(value)) {
        code = fabs(value) < last + step / 2 ? nearest(type, fabs(value)) : NONE;
    }
    if (code == NONE || (negative && !type->is_signed && value != 0)) {
        return false;
    }
    /* Without a negative zero, its code is that of NaN. */
    const bool sign = negative && type->is_signed && (code != 0 || type->nan != 0x80);
    *out = (uint64_t)code | (sign ? 0x80 : 0);
    return true;
}
