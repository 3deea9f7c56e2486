/* SPDX-License-Identifier: MIT
 *
 * Fill values that are numbers: from their spellings in JSON to bits, exactly
 * (zarr v3 specification, "Fill value"; v2, "Fill value encoding").
 *
 * Writers left integers as 1.0, and bare NaN and Infinity.  Format 2 adds numbers as strings.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "document/document.h"

/* The low `size` bytes of a number, in the byte order of the machine. */
static void put_bits(uint64_t bits, size_t size, uint8_t *out)
{
    for (size_t i = 0; i < size; i++) {
        out[ZC_BIG_ENDIAN ? size - 1 - i : i] = (uint8_t)(bits >> (8 * i));
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

static uint64_t any_integer(const zc_node *node, int format, bool *negative)
{
    const bool is_number = zc_node_is_number(node);
    const double real = is_number ? zc_node_real(node) : NAN;
    uint64_t magnitude = 0;

    if (zc_node_is_integer(node)) {
        return zc_node_integer(node, negative);
    }
    *negative = real < 0;
    if (is_number && real == floor(real) && fabs(real) < 0x1p64) {
        return (uint64_t)fabs(real);
    }
    if (format != 2 || !zc_node_is_string(node) || !parse_integer(zc_node_string(node), negative, &magnitude)) {
        zc_node_expected(node, "an integer");
    }
    return magnitude;
}

/* An integer of `bits` bits, which may be fewer than its bytes have. */
static uint64_t integer_bits(const zc_node *node, bool is_signed, unsigned bits, int format)
{
    const uint64_t most = UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
    bool negative;
    const uint64_t magnitude = any_integer(node, format, &negative);

    if (magnitude > (!negative ? most : is_signed ? most + 1 : 0)) {
        zc_node_fail(node, "is too %s for its data type", negative ? "small" : "large");
    }
    return (negative ? 0 - magnitude : magnitude) & UINT64_MAX >> (64 - bits);
}

/* Counts of steps; "NaT" is the lowest number. */
static uint64_t time_bits(const zc_node *node, int format)
{
    const bool is_nat = zc_node_is_string(node) && strcmp(zc_node_string(node), "NaT") == 0;

    return is_nat ? (uint64_t)1 << 63 : integer_bits(node, true, 64, format);
}

/* ---- floating-point numbers --------------------------------------------------------------------- */

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

/* A value that may be infinite or no number; false: its bits were given instead. */
static bool any_real(const zc_node *node, size_t size, int format, double *value, uint64_t *bits)
{
    *value = 0;
    if (!zc_node_is_string(node)) {
        if (!zc_node_is_number(node)) {
            zc_node_expected(node, "a number or a string");
        }
        *value = zc_node_real(node);
        return true;
    }
    const char *const text = zc_node_string(node);
    if (strcmp(text, "NaN") == 0) {
        *value = NAN;
    } else if (strcmp(text, "Infinity") == 0) {
        *value = INFINITY;
    } else if (strcmp(text, "-Infinity") == 0) {
        *value = -INFINITY;
    } else if (format == 3 && hex_bits(text, size, bits)) {
        return false;
    } else if (format != 2 || !parse_real(text, value)) {
        zc_node_fail(node, "\"%.40s\" is no number of %zu bytes", text, size);
    }
    return true;
}

/* The nearest number of the type, ties to even; of powers of two, as in ml_dtypes, to the larger one. */
static zc_real_fit store_real(const zc_real_type *type, double value, uint64_t *out)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    const zc_real real = zc_real_load(zc_real_type_of(ZC_NUMBER_F64), bits);
    const zc_real largest = zc_real_load(type, type->largest);
    const zc_rounding rounding = type->is_signed ? ZC_ROUND_NEAREST_EVEN : ZC_ROUND_NEAREST_AWAY;
    const zc_real_fit fit = zc_real_store(type, &real, rounding, out);

    if (!type->is_signed && fit == ZC_REAL_OUT_OF_RANGE && value >= 0 && value < 1) {
        *out = 0;            /* there is no zero: the smallest number stands in */
        return ZC_REAL_FITS;
    }
    /* Types without NaN cannot mark numbers that were too large: nothing lies beyond their largest one. */
    const bool beyond = type->nan == ZC_REAL_NO_CODE && fabs(value) > zc_real_to_double(&largest);
    return beyond && fit == ZC_REAL_FITS ? ZC_REAL_OUT_OF_RANGE : fit;
}

static uint64_t real_bits(const zc_node *node, zc_number_kind kind, int format)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    uint64_t bits = 0;
    double value;

    if (!any_real(node, zc_number_size(kind), format, &value, &bits)) {
        if (bits >> (type->bits - 1) > 1) {
            zc_node_fail(node, "has more than %d bits", type->bits);
        }
        return bits;
    }
    const zc_real_fit fit = store_real(type, value, &bits);
    if (fit != ZC_REAL_FITS) {
        zc_node_fail(node, fit == ZC_REAL_OUT_OF_RANGE && type->is_signed ? "is too large for its data type"
                                                                          : "its data type has no such number");
    }
    return bits;
}

static zc_number_kind float_of(size_t size)
{
    return size == 2 ? ZC_NUMBER_F16 : size == 4 ? ZC_NUMBER_F32 : ZC_NUMBER_F64;
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* A number as Python writes it: "0j", "(1.5-2j)". */
static bool parse_complex(const char *text, double parts[2])
{
    char copy[128];
    size_t length = strlen(text);
    const bool wrapped = length > 1 && text[0] == '(' && text[length - 1] == ')';

    if (length >= sizeof copy) {
        return false;
    }
    length -= wrapped ? 2 : 0;
    memcpy(copy, text + wrapped, length);
    copy[length] = '\0';
    parts[0] = parts[1] = 0;
    if (length == 0 || copy[length - 1] != 'j') {
        return parse_real(copy, &parts[0]);
    }
    copy[length - 1] = '\0';
    size_t split = length - 1;               /* where the imaginary part begins: at its sign */
    while (split > 0 && !((copy[split] == '+' || copy[split] == '-') && strchr("eE", copy[split - 1]) == NULL)) {
        split--;
    }
    if (!parse_real(copy + split, &parts[1])) {
        return false;
    }
    copy[split] = '\0';
    return split == 0 || parse_real(copy, &parts[0]);
}

static void complex_text(const zc_node *node, size_t size, uint8_t *out)
{
    const zc_number_kind kind = float_of(size / 2);
    const char *const text = zc_node_string(node);
    double parts[2];

    if (!parse_complex(text, parts)) {
        zc_node_fail(node, "\"%.40s\" is no complex number", text);
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        uint64_t bits = 0;
        if (store_real(zc_real_type_of(kind), parts[i], &bits) != ZC_REAL_FITS) {
            zc_node_fail(node, "is too large for its data type");
        }
        put_bits(bits, size / 2, out + i * (size / 2));
    }
}

static void fill_complex(const zc_node *node, size_t size, int format, uint8_t *out)
{
    const zc_number_kind kind = float_of(size / 2);

    if (format == 2 && zc_node_is_number(node)) {        /* writers that did not look at the data type */
        put_bits(real_bits(node, kind, format), size / 2, out);
        return;
    }
    if (format == 2 && zc_node_is_string(node)) {
        complex_text(node, size, out);
        return;
    }
    if (zc_node_array(node) != 2) {
        zc_node_fail(node, "expected a real and an imaginary part");
    }
    ZC_EACH(part, node) {
        put_bits(real_bits(&part, kind, format), size / 2, out + part.index * (size / 2));
    }
}

static uint64_t bool_bits(const zc_node *node, int format)
{
    if (format != 2 || !zc_node_is_number(node)) {
        return zc_node_bool(node);
    }
    const double number = zc_node_real(node);
    if (number != 0 && number != 1) {
        zc_node_expected(node, "true, false, 1 or 0");
    }
    return number == 1;
}

static uint64_t extension_bits(const zc_node *node, const char *name, int format)
{
    zc_number_kind kind;

    if (!zc_extension_number(name, &kind)) {
        zc_node_expected(node, "a number");
        return 0;
    }
    const zc_real_type *const type = zc_real_type_of(kind);
    return type->is_float ? real_bits(node, kind, format)
                          : integer_bits(node, type->is_signed, type->bits, format);
}

void zc_fill_number(const zc_node *node, const char *name, char kind, size_t size, int format, uint8_t *out)
{
    zc_assert(format == 2 || format == 3);

    uint64_t bits;

    switch (kind) {
    case 'c': fill_complex(node, size, format, out); return;
    case 'b': bits = bool_bits(node, format); break;
    case 'f': bits = real_bits(node, float_of(size), format); break;
    case 'M':
    case 'm': bits = time_bits(node, format); break;
    case 'V': bits = extension_bits(node, name, format); break;
    default: bits = integer_bits(node, kind == 'i', 8 * (unsigned)size, format);
    }
    put_bits(bits, size, out);
}
