/* SPDX-License-Identifier: MIT
 *
 * Fill values: from their spellings in JSON to the bytes of one element, bit for bit
 * (zarr v3 specification, "Fill value"; v2, "Fill value encoding").
 */
#include <errno.h>
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

/* The digits of an integer as written: a double, which is what cJSON keeps, has too few of them. */
static zc_status integer_bits(const zc_node *node, bool is_signed, size_t size, uint64_t *out)
{
    const char *text = zc_json_number_text(node->json, node->member);
    const int64_t low = is_signed ? (int64_t)(UINT64_MAX << (8 * size - 1)) : 0;
    const uint64_t high = UINT64_MAX >> (64 - 8 * size + (is_signed ? 1 : 0));
    char *end = NULL;

    if (!cJSON_IsNumber(node->value) || text == NULL) {
        return zc_node_fail(node, "expected an integer");
    }
    errno = 0;
    if (*text == '-') {
        const long long value = strtoll(text, &end, 10);
        if (value < low || errno == ERANGE) {
            return zc_node_fail(node, "is too small for its data type");
        }
        *out = (uint64_t)value;
    } else {
        const unsigned long long value = strtoull(text, &end, 10);
        if (value > high || errno == ERANGE) {
            return zc_node_fail(node, "is too large for its data type");
        }
        *out = value;
    }
    if (end == text || (*end != '\0' && strchr(".eE", *end) != NULL)) {
        return zc_node_fail(node, "expected an integer");
    }
    return ZC_OK;
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

static zc_status real_bits(const zc_node *node, size_t size, uint64_t *out)
{
    const char *text;

    if (cJSON_IsNumber(node->value)) {
        *out = float_bits(node->value->valuedouble, size);
        if ((*out & infinity_bits(size)) == infinity_bits(size)) {
            return zc_node_fail(node, "is too large for its data type");
        }
        return ZC_OK;
    }
    const zc_status status = zc_node_string(node, &text);
    if (status != ZC_OK) {
        return zc_node_fail(node, "expected a number or a string");
    }
    if (strcmp(text, "NaN") == 0) {
        *out = nan_bits(size);
    } else if (strcmp(text, "Infinity") == 0) {
        *out = infinity_bits(size);
    } else if (strcmp(text, "-Infinity") == 0) {
        *out = infinity_bits(size) | (uint64_t)1 << (8 * size - 1);
    } else if (!hex_bits(text, size, out)) {
        return zc_node_fail(node, "\"%.40s\" is no number of %zu bytes", text, size);
    }
    return ZC_OK;
}

/* ---- all of them -------------------------------------------------------------------------------- */

static zc_status fill_complex(const zc_node *node, size_t size, uint8_t *out)
{
    uint64_t bits;
    int n;
    zc_status status = zc_node_array(node, &n);

    if (status == ZC_OK && n != 2) {
        status = zc_node_fail(node, "expected a real and an imaginary part");
    }
    for (int i = 0; i < 2 && status == ZC_OK; i++) {
        const zc_node part = zc_node_item(node, i);
        status = real_bits(&part, size / 2, &bits);
        if (status == ZC_OK) {
            put_bits(bits, size / 2, out + (size_t)i * (size / 2));
        }
    }
    return status;
}

static zc_status fill_bool(const zc_node *node, bool lenient, uint8_t *out)
{
    bool value = false;
    int64_t number = 0;
    zc_status status;

    if (lenient && cJSON_IsNumber(node->value)) {
        status = zc_node_int(node, 0, 1, &number);
        value = number == 1;
    } else {
        status = zc_node_bool(node, &value);
    }
    *out = value;
    return status;
}

static zc_status fill_raw(const zc_node *node, size_t size, uint8_t *out)
{
    int64_t bytes[ZC_ITEM_MAX];
    const zc_status status = zc_node_ints(node, (int)size, 0, 255, bytes);

    for (size_t i = 0; i < size && status == ZC_OK; i++) {
        out[i] = (uint8_t)bytes[i];
    }
    return status;
}

zc_status zc_fill_value(const zc_node *node, const zc_dtype *dtype, bool lenient, uint8_t *out)
{
    uint64_t bits = 0;
    zc_status status;

    memset(out, 0, dtype->size);
    if (lenient && cJSON_IsNull(node->value)) {
        return ZC_OK;        /* what is not there is undefined: zeros will do */
    }
    switch (dtype->kind) {
    case 'b':
        return fill_bool(node, lenient, out);
    case 'c':
        return fill_complex(node, dtype->size, out);
    case 'V':
        return fill_raw(node, dtype->size, out);
    case 'f':
        status = real_bits(node, dtype->size, &bits);
        break;
    default:
        status = integer_bits(node, dtype->kind == 'i', dtype->size, &bits);
    }
    if (status == ZC_OK) {
        put_bits(bits, dtype->size, out);
    }
    return status;
}
