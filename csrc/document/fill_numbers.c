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

static zc_status any_integer(const zc_node *node, int format, bool *negative, uint64_t *magnitude)
{
    const char *text;
    double real;

    if (zc_node_is_integer(node)) {
        return zc_node_integer(node, negative, magnitude);
    }
    if (zc_node_is_number(node)) {
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

static zc_status real_bits(const zc_node *node, zc_number_kind kind, int format, uint64_t *out)
{
    const zc_real_type *const type = zc_real_type_of(kind);
    double value = 0;
    bool is_bits;
    const zc_status status = any_real(node, zc_number_size(kind), format, &value, out, &is_bits);

    if (status != ZC_OK) {
        return status;
    }
    if (is_bits) {
        return *out >> (type->bits - 1) <= 1 ? ZC_OK : zc_node_fail(node, "has more than %d bits", type->bits);
    }
    const zc_real_fit fit = store_real(type, value, out);
    if (fit == ZC_REAL_OUT_OF_RANGE && type->is_signed) {
        return zc_node_fail(node, "is too large for its data type");
    }
    return fit == ZC_REAL_FITS ? ZC_OK : zc_node_fail(node, "its data type has no such number");
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

static zc_status complex_text(const zc_node *node, size_t size, uint8_t *out)
{
    const zc_number_kind kind = float_of(size / 2);
    const char *text;
    double parts[2];
    uint64_t bits = 0;
    zc_status status = zc_node_string(node, &text);

    if (status == ZC_OK && !parse_complex(text, parts)) {
        return zc_node_fail(node, "\"%.40s\" is no complex number", text);
    }
    for (size_t i = 0; i < 2 && status == ZC_OK; i++) {
        if (store_real(zc_real_type_of(kind), parts[i], &bits) != ZC_REAL_FITS) {
            return zc_node_fail(node, "is too large for its data type");
        }
        put_bits(bits, size / 2, out + i * (size / 2));
    }
    return status;
}

static zc_status fill_complex(const zc_node *node, size_t size, int format, uint8_t *out)
{
    uint64_t bits = 0;
    size_t n = 0;
    zc_status status;

    if (format == 2 && zc_node_is_number(node)) {        /* writers that did not look at the data type */
        status = real_bits(node, float_of(size / 2), format, &bits);
        put_bits(bits, size / 2, out);
        return status;
    }
    if (format == 2 && zc_node_is_string(node)) {
        return complex_text(node, size, out);
    }
    status = zc_node_array(node, &n);
    if (status == ZC_OK && n != 2) {
        status = zc_node_fail(node, "expected a real and an imaginary part");
    }
    ZC_EACH(part, node, status) {
        status = real_bits(&part, float_of(size / 2), format, &bits);
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

static zc_status extension_bits(const zc_node *node, const char *name, int format, uint64_t *out)
{
    zc_number_kind kind;

    if (!zc_extension_number(name, &kind)) {
        return zc_node_expected(node, "a number");
    }
    const zc_real_type *const type = zc_real_type_of(kind);
    return type->is_float ? real_bits(node, kind, format, out)
                          : integer_bits(node, type->is_signed, type->bits, format, out);
}

zc_status zc_fill_number(const zc_node *node, const char *name, char kind, size_t size, int format,
                         uint8_t *out)
{
    zc_assert(format == 2 || format == 3);

    uint64_t bits = 0;
    zc_status status;

    switch (kind) {
    case 'c': return fill_complex(node, size, format, out);
    case 'b': status = bool_bits(node, format, &bits); break;
    case 'f': status = real_bits(node, float_of(size), format, &bits); break;
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
