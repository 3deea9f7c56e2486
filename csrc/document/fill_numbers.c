/* SPDX-License-Identifier: MIT
 *
 * Fill values that are numbers: from their spellings in JSON to bits, exactly
 * (zarr v3 specification, "Fill value"; v2, "Fill value encoding").
 *
 * Format 2 adds what its writers left: numbers as strings, integers as 1.0, bare NaN and Infinity.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/document.h"

/* The low `size` bytes of a number, in the byte order of the machine. */
static void put_bits(uint64_t bits, size_t size, uint8_t *out)
{
    for (size_t i = 0; i < size; i++) {
        out[zc_big_endian() ? size - 1 - i : i] = (uint8_t)(bits >> (8 * i));
    }
}

/* ---- integers ----------------------------------------------------------------------------------- */

/* The digits of a string, as a sign and a magnitude. */
static bool parse_integer(const char *text, bool *negative, uint64_t *magnitude)
{
    const char *const digits = text + (text[0] == '-');
    char *end;

    if (*digits == '\0' || strlen(digits) > 20 || strspn(digits, "0123456789") != strlen(digits)) {
        return false;
    }
    errno = 0;
    *magnitude = strtoull(digits, &end, 10);
    *negative = text[0] == '-' && *magnitude > 0;
    return errno == 0;
}

static zc_status any_integer(const zc_node *node, int format, bool *negative, uint64_t *magnitude)
{
    const char *text;
    double real;

    if (zc_node_is_integer(node)) {
        return zc_node_integer(node, negative, magnitude);
    }
    if (format == 2 && zc_node_is_number(node)) {
        const zc_status status = zc_node_real(node, &real);
        if (status == ZC_OK && real == floor(real) && fabs(real) < 0x1p64) {
            *negative = real < 0;
            *magnitude = (uint64_t)fabs(real);
            return ZC_OK;
        }
    }
    if (format == 2 && zc_node_is_string(node)) {
        const zc_status status = zc_node_string(node, &text);
        if (status != ZC_OK || parse_integer(text, negative, magnitude)) {
            return status;
        }
    }
    return zc_node_expected(node, "an integer");
}

/* An integer of `bits` bits, which may be fewer than its bytes have. */
static zc_status integer_bits(const zc_node *node, bool is_signed, unsigned bits, int format, uint64_t *out)
{
    const uint64_t most = UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
    bool negative = false;
    uint64_t magnitude = 0;
    const zc_status status = any_integer(node, format, &negative, &magnitude);

    if (status != ZC_OK) {
        return status;
    }
    if (negative && magnitude > (is_signed ? most + 1 : 0)) {
        return zc_node_fail(node, "is too small for its data type");
    }
    if (!negative && magnitude > most) {
        return zc_node_fail(node, "is too large for its data type");
    }
    *out = (negative ? 0 - magnitude : magnitude) & UINT64_MAX >> (64 - bits);
    return ZC_OK;
}

/* Counts of steps; "NaT" is the lowest number. */
static zc_status time_bits(const zc_node *node, int format, uint64_t *out)
{
    const char *text;

    if (zc_node_is_string(node)) {
        const zc_status status = zc_node_string(node, &text);
        if (status != ZC_OK || strcmp(text, "NaT") == 0) {
            *out = (uint64_t)1 << 63;
            return status;
        }
    }
    return integer_bits(node, true, 64, format, out);
}

/* ---- floating-point numbers --------------------------------------------------------------------- */

/* A finite double, rounded to the nearest binary16, ties to even; infinite where it is too large. */
static uint16_t half_bits(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);   /* in [0.5, 1) */

    if (fraction == 0.0) {
        return sign;
    }
    if (exponent > 16) {
        return (uint16_t)(sign | 0x7C00);
    }
    const bool subnormal = exponent < -13;
    /* Units in the last place: 2**-24 of subnormal numbers, else 11 bits of the fraction. */
    const double units = nearbyint(ldexp(fraction, subnormal ? exponent + 24 : 11));
    const int bits = subnormal ? (int)units : ((exponent + 14) << 10) + (int)units - 1024;
    return (uint16_t)(sign | bits);
}

static uint64_t float_bits(double value, size_t size)
{
    uint64_t bits = 0;
    const float single = (float)value;
    uint32_t single_bits;

    if (size == 2) {
        return half_bits(value);
    }
    if (size == 4) {
        memcpy(&single_bits, &single, sizeof single_bits);
        return single_bits;
    }
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Exponent field all ones, fraction zero. */
static uint64_t infinity_bits(size_t size)
{
    return size == 2 ? 0x7C00 : size == 4 ? 0x7F800000 : 0x7FF0000000000000;
}

static uint64_t nan_bits(size_t size)
{
    return size == 2 ? 0x7E00 : size == 4 ? 0x7FC00000 : 0x7FF8000000000000;
}

/* "0x" and two digits for each byte. */
static bool hex_bits(const char *text, size_t size, uint64_t *out)
{
    if (strncmp(text, "0x", 2) != 0 || strlen(text) != 2 + 2 * size ||
        strspn(text + 2, "0123456789abcdefABCDEF") != 2 * size) {
        return false;
    }
    *out = strtoull(text + 2, NULL, 16);
    return true;
}

/* "1.5e3", "nan", "+inf", as a string of format 2; a locale may want a comma. */
static bool parse_real(const char *text, double *out)
{
    char copy[64];
    char *end;
    const char *const point = localeconv()->decimal_point;
    char *const dot = strlen(text) < sizeof copy ? strchr(strcpy(copy, text), '.') : NULL;

    if (strlen(text) >= sizeof copy || text[0] == '\0' ||
        strspn(text, "0123456789+-.eEnaifINATFYty") != strlen(text)) {
        return false;
    }
    if (dot != NULL && strlen(point) == 1) {
        *dot = point[0];
    }
    *out = strtod(copy, &end);
    return *end == '\0';
}

/* A value that may be infinite or no number, and whether its bits were given instead. */
static zc_status any_real(const zc_node *node, size_t size, int format, double *value, uint64_t *bits,
                          bool *is_bits)
{
    const char *text;

    *is_bits = false;
    if (zc_node_is_number(node)) {
        return zc_node_real(node, value);
    }
    if (!zc_node_is_string(node)) {
        return zc_node_expected(node, "a number or a string");
    }
    const zc_status status = zc_node_string(node, &text);
    if (status != ZC_OK) {
        return status;
    }
    if (strcmp(text, "NaN") == 0) {
        *value = NAN;
    } else if (strcmp(text, "Infinity") == 0) {
        *value = INFINITY;
    } else if (strcmp(text, "-Infinity") == 0) {
        *value = -INFINITY;
    } else if (format == 3 && hex_bits(text, size, bits)) {
        *is_bits = true;
    } else if (format != 2 || !parse_real(text, value)) {
        return zc_node_fail(node, "\"%.40s\" is no number of %zu bytes", text, size);
    }
    return ZC_OK;
}

static zc_status real_bits(const zc_node *node, size_t size, int format, uint64_t *out)
{
    double value = 0;
    bool is_bits;
    const zc_status status = any_real(node, size, format, &value, out, &is_bits);

    if (status != ZC_OK || is_bits) {
        return status;
    }
    if (isnan(value)) {
        *out = nan_bits(size);
    } else if (isinf(value)) {
        *out = infinity_bits(size) | (value < 0 ? (uint64_t)1 << (8 * size - 1) : 0);
    } else {
        *out = float_bits(value, size);
        if ((*out & infinity_bits(size)) == infinity_bits(size)) {
            return zc_node_fail(node, "is too large for its data type");
        }
    }
    return ZC_OK;
}

/* Half of a float32, rounded to the nearest, ties to even. */
static zc_status bfloat16_bits(const zc_node *node, int format, uint64_t *out)
{
    double value = 0;
    bool is_bits;
    const zc_status status = any_real(node, 2, format, &value, out, &is_bits);

    if (status != ZC_OK || is_bits) {
        return status;
    }
    if (isnan(value)) {
        *out = 0x7FC0;
        return ZC_OK;
    }
    const uint64_t single = float_bits(value, 4);
    *out = (single + 0x7FFF + (single >> 16 & 1)) >> 16;
    if (isfinite(value) && (*out & 0x7F80) == 0x7F80) {
        return zc_node_fail(node, "is too large for its data type");
    }
    return ZC_OK;
}

static zc_status small_float_bits(const zc_node *node, const zc_small_float *type, int format,
                                  uint64_t *out)
{
    double value = 0;
    bool is_bits;
    const zc_status status = any_real(node, 1, format, &value, out, &is_bits);

    if (status != ZC_OK || is_bits) {
        return status;
    }
    return zc_small_float_bits(type, value, out) ? ZC_OK
                                                 : zc_node_fail(node, "its data type has no such number");
}

/* ---- all of them -------------------------------------------------------------------------------- */

static zc_status fill_complex(const zc_node *node, size_t size, int format, uint8_t *out)
{
    uint64_t bits = 0;
    size_t n = 0;
    zc_status status;

    if (format == 2 && zc_node_is_number(node)) {        /* writers that did not look at the data type */
        status = real_bits(node, size / 2, format, &bits);
        put_bits(bits, size / 2, out);
        return status;
    }
    status = zc_node_array(node, &n);
    if (status == ZC_OK && n != 2) {
        status = zc_node_fail(node, "expected a real and an imaginary part");
    }
    ZC_EACH(part, node, status) {
        status = real_bits(&part, size / 2, format, &bits);
        if (status == ZC_OK) {
            put_bits(bits, size / 2, out + part.index * (size / 2));
        }
    }
    return status;
}

static zc_status bool_bits(const zc_node *node, int format, uint64_t *out)
{
    bool value = false;
    double number = 0;
    zc_status status;

    if (format == 2 && zc_node_is_number(node)) {
        status = zc_node_real(node, &number);
        if (status == ZC_OK && number != 0 && number != 1) {
            status = zc_node_expected(node, "true, false, 1 or 0");
        }
        value = number == 1;
    } else {
        status = zc_node_bool(node, &value);
    }
    *out = value;
    return status;
}

/* Numbers of the extension registry, which have no kind in numpy. */
static zc_status extension_bits(const zc_node *node, const char *name, int format, uint64_t *out)
{
    const zc_small_float *const small = zc_small_float_find(name);
    const bool is_signed = name[0] != 'u';

    if (small != NULL) {
        return small_float_bits(node, small, format, out);
    }
    if (strcmp(name, "bfloat16") == 0) {
        return bfloat16_bits(node, format, out);
    }
    return integer_bits(node, is_signed, name[strlen(name) - 1] == '2' ? 2 : 4, format, out);
}

zc_status zc_fill_number(const zc_node *node, const char *name, char kind, size_t size, int format,
                         uint8_t *out)
{
    uint64_t bits = 0;
    zc_status status;

    switch (kind) {
    case 'c': return fill_complex(node, size, format, out);
    case 'b': status = bool_bits(node, format, &bits); break;
    case 'f': status = real_bits(node, size, format, &bits); break;
    case 'M':
    case 'm': status = time_bits(node, format, &bits); break;
    case 'V': status = extension_bits(node, name, format, &bits); break;
    default: status = integer_bits(node, kind == 'i', 8 * (unsigned)size, format, &bits);
    }
    if (status == ZC_OK) {
        put_bits(bits, size, out);
    }
    return status;
}
