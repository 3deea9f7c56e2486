/* SPDX-License-Identifier: MIT
 *
 * Fill values: bytes, text and structures (zarr v3 specification, "Fill value"; zarr extensions,
 * "data-types").
 *
 * The data type's node is walked together with the value's, so that no model of the data type is needed.
 */
#include <string.h>

#include "base/assert.h"
#include "document/document.h"

/* ---- bytes -------------------------------------------------------------------------------------- */

static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* RFC 4648, section 4: with padding, without anything else. */
static zc_status from_base64(const zc_node *node, const char *text, size_t length, uint8_t *out,
                             size_t capacity, size_t *n)
{
    uint32_t bits = 0;
    size_t digits = length;

    *n = 0;
    while (digits > 0 && length - digits < 2 && text[digits - 1] == '=') {
        digits--;
    }
    if (length % 4 != 0 || digits % 4 == 1) {
        return zc_node_fail(node, "\"%.40s\" is not base64", text);
    }
    for (size_t i = 0; i < digits; i++) {
        const int digit = sextet(text[i]);
        if (digit < 0) {
            return zc_node_fail(node, "\"%.40s\" is not base64", text);
        }
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0) {
            if (*n == capacity) {
                return zc_node_fail(node, "more than %zu bytes", capacity);
            }
            out[(*n)++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    return ZC_OK;
}

/* Bytes as base64 or as a list of numbers: at most capacity, their count to *n. */
static zc_status fill_bytes(const zc_node *node, uint8_t *out, size_t capacity, size_t *n)
{
    const char *text;
    size_t length = 0;
    int64_t byte = 0;
    zc_status status;

    if (zc_node_is_string(node)) {
        status = zc_node_text(node, &text, &length);
        return status == ZC_OK ? from_base64(node, text, length, out, capacity, n) : status;
    }
    status = zc_node_is_array(node) ? zc_node_array(node, n)
                                    : zc_node_expected(node, "base64, or an array of bytes");
    if (status == ZC_OK && *n > capacity) {
        status = zc_node_fail(node, "more than %zu bytes", capacity);
    }
    ZC_EACH(item, node, status) {
        status = zc_node_int(&item, 0, 255, &byte);
        out[item.index] = (uint8_t)byte;
    }
    return status;
}

static bool is_zero(const zc_node *node)
{
    bool negative;
    uint64_t magnitude;

    return zc_node_is_integer(node) && zc_node_integer(node, &negative, &magnitude) == ZC_OK &&
           magnitude == 0;
}

static bool is_ascii(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

/* Bytes with a terminator: zero bytes at the end do not count.  Writers of format 2 left text where base64 was
 * due (netCDF a zero byte): what is not base64 is read as text. */
static zc_status fill_string(const zc_node *node, size_t size, int format, uint8_t *out)
{
    const char *text = "";
    size_t length = 0, n = 0;
    const zc_status status = fill_bytes(node, out, size, &n);

    if (status == ZC_OK || format != 2 || !zc_node_is_string(node) ||
        zc_node_text(node, &text, &length) != ZC_OK || length > size || !is_ascii(text, length)) {
        return status;
    }
    zc_error_clear(node->json->err);
    memset(out, 0, size);
    memcpy(out, text, length);
    return ZC_OK;
}

static zc_status fill_raw(const zc_node *node, size_t size, int format, uint8_t *out)
{
    size_t n = 0;
    const zc_status status = fill_bytes(node, out, size, &n);

    if (status == ZC_OK && format == 3 && n != size) {
        return zc_node_fail(node, "expected %zu bytes, got %zu", size, n);
    }
    return status;
}

/* ---- text --------------------------------------------------------------------------------------- */

/* One code point of valid UTF-8; returns its bytes. */
static size_t code_point(const unsigned char *text, uint32_t *out)
{
    const size_t n = text[0] < 0x80 ? 1 : text[0] < 0xE0 ? 2 : text[0] < 0xF0 ? 3 : 4;

    *out = n == 1 ? text[0] : text[0] & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        *out = *out << 6 | (text[i] & 0x3F);
    }
    return n;
}

static zc_status fill_text(const zc_node *node, size_t size, uint8_t *out)
{
    const char *text;
    size_t length = 0, used = 0;
    zc_status status = zc_node_text(node, &text, &length);

    while (status == ZC_OK && length > 0 && text[length - 1] == '\0') {
        length--;
    }
    for (size_t i = 0; status == ZC_OK && i < length; used += 4) {
        uint32_t point;
        i += code_point((const unsigned char *)text + i, &point);
        if (used == size) {
            status = zc_node_fail(node, "more than %zu code points", size / 4);
        } else {
            memcpy(out + used, &point, 4);
        }
    }
    return status;
}

/* ---- structures --------------------------------------------------------------------------------- */

static zc_status fill_item(const zc_node *node, const zc_node *dtype, int format, uint8_t *out, size_t *size);

/* The bytes of an item as they are stored: the words that are not in the byte order of the machine are turned
 * round. */
static zc_status fill_stored(const zc_node *node, const zc_dtype *dtype, int format, uint8_t *out)
{
    zc_status status = fill_raw(node, dtype->size, 3, out);

    for (size_t i = 0; status == ZC_OK && i < dtype->n_words; i++) {
        const zc_words *const words = &dtype->words[i];
        if ((format == 2 && words->big_endian) != ZC_BIG_ENDIAN) {
            const zc_item word = {.size = words->at.word, .word = words->at.word};
            zc_items_copy(words->at.count, out + words->at.offset, out + words->at.offset, &word);
        }
    }
    return status;
}

/* An element, or the elements of a sub-array in nested arrays: those of dimension `axis` and of all inside of
 * it. shape is the item of the shape's array for that dimension; NULL value: an element. */
static zc_status fill_elements(const zc_node *node, const zc_field *field, const zc_node *length, int format,
                               uint8_t *out, size_t *size)
{
    int64_t wanted = 0;
    size_t n = 0, each = 0;

    if (length->value == NULL) {
        return fill_item(node, &field->dtype, format, out, size);
    }
    zc_status status = zc_node_int(length, 1, INT64_MAX, &wanted);
    if (status == ZC_OK) {
        status = zc_node_array(node, &n);
    }
    if (status == ZC_OK && n != (size_t)wanted) {
        status = zc_node_fail(node, "expected %lld entries, got %zu", (long long)wanted, n);
    }
    const zc_node inner = zc_node_next(length);
    *size = 0;
    ZC_EACH(item, node, status) {
        status = fill_elements(&item, field, &inner, format, out + *size, &each);
        *size += each;
    }
    return status;
}

/* The bytes that the field takes. */
static zc_status field_size(const zc_field *field, int format, size_t *out)
{
    zc_dtype dtype;
    const zc_status status = zc_dtype_parse(&field->dtype, format, &dtype);

    *out = dtype.size * field->count;
    zc_dtype_free(&dtype);
    return status;
}

static zc_status fill_field(const zc_node *value, const zc_field *field, int format, uint8_t *out,
                            size_t *size)
{
    const zc_node none = {.value = NULL};
    zc_status status = field_size(field, format, size);
    size_t filled;

    if (status != ZC_OK || value->value == NULL || (format == 2 && is_zero(value))) {
        return status;       /* zero bytes */
    }
    if (field->shape.value == NULL) {
        return fill_elements(value, field, &none, format, out, &filled);
    }
    const zc_node length = zc_node_first(&field->shape);
    return fill_elements(value, field, &length, format, out, &filled);
}

static bool has_field(const zc_node *fields, int format, const char *name)
{
    zc_field field;

    for (zc_node at = zc_node_first(fields); at.value != NULL; at = zc_node_next(&at)) {
        if (zc_field_at(&at, format, &field) == ZC_OK && strcmp(field.name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An array with one value for each field, or an object with some of them. */
static zc_status check_values(const zc_node *node, const zc_node *fields, int format)
{
    size_t n = 0, wanted = 0;
    zc_status status = zc_node_array(fields, &wanted);

    if (status != ZC_OK || zc_node_is_array(node)) {
        status = status == ZC_OK ? zc_node_array(node, &n) : status;
        return status == ZC_OK && n != wanted ? zc_node_fail(node, "expected %zu values, got %zu", wanted, n)
                                              : status;
    }
    status = zc_node_is_object(node) ? ZC_OK : zc_node_expected(node, "base64, or a value for each field");
    for (zc_node at = zc_node_first_member(node); status == ZC_OK && at.value != NULL;
         at = zc_node_next_member(&at)) {
        if (!has_field(fields, format, at.member)) {
            status = zc_node_fail(&at, "there is no such field");
        }
    }
    return status;
}

static zc_status fill_struct(const zc_node *node, const zc_node *fields, int format, uint8_t *out)
{
    zc_field field;
    zc_status status = check_values(node, fields, format);
    zc_node in_order = zc_node_first(node);
    size_t size = 0;

    ZC_EACH(at, fields, status) {
        status = zc_field_at(&at, format, &field);
        if (status == ZC_OK) {
            const zc_node named = zc_node_member(node, field.name);
            status = fill_field(zc_node_is_array(node) ? &in_order : &named, &field, format, out, &size);
        }
        out += size;
        in_order = zc_node_is_array(node) ? zc_node_next(&in_order) : in_order;
    }
    return status;
}

/* ---- all of them -------------------------------------------------------------------------------- */

static const char *name_of(const zc_node *dtype)
{
    const zc_node member = zc_node_member(dtype, "name");
    const char *name = "";

    return zc_node_string(zc_node_is_object(dtype) ? &member : dtype, &name) == ZC_OK ? name : "";
}

static zc_status fill_plain(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format,
                            uint8_t *out)
{
    const char *const name = name_of(dtype_node);
    zc_number_kind number;

    if (strchr("SUV", dtype->kind) == NULL || zc_extension_number(name, &number)) {
        return zc_fill_number(node, name, dtype->kind, dtype->size, format, out);
    }
    if (format == 2 && is_zero(node)) {
        return ZC_OK;
    }
    switch (dtype->kind) {
    case 'S': return fill_string(node, dtype->size, format, out);
    case 'U': return fill_text(node, dtype->size, out);
    default: return fill_raw(node, dtype->size, format, out);
    }
}

static zc_status fill_typed(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format,
                            uint8_t *out)
{
    zc_node fields, holder;
    const zc_status status = zc_dtype_fields(dtype_node, format, &holder, &fields);

    if (status != ZC_OK || fields.value == NULL) {
        return status == ZC_OK ? fill_plain(node, dtype_node, dtype, format, out) : status;
    }
    if (format == 2 && is_zero(node)) {
        return ZC_OK;
    }
    return zc_node_is_string(node) ? fill_stored(node, dtype, format, out)
                                   : fill_struct(node, &fields, format, out);
}

/* An element inside of a structure. */
static zc_status fill_item(const zc_node *node, const zc_node *dtype_node, int format, uint8_t *out,
                           size_t *size)
{
    zc_dtype dtype;
    zc_status status = zc_dtype_parse(dtype_node, format, &dtype);

    *size = dtype.size;
    if (status == ZC_OK) {
        status = fill_typed(node, dtype_node, &dtype, format, out);
    }
    zc_dtype_free(&dtype);
    return status;
}

zc_status zc_fill_value(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format,
                        uint8_t *out)
{
    zc_assert(format == 2 || format == 3);

    const uint64_t not_a_time = (uint64_t)1 << 63;

    memset(out, 0, dtype->size);
    if (zc_node_is_null(node)) {
        /* What is not there is undefined: what the Python package shows, NaT or zeros. */
        if (dtype->kind == 'M' || dtype->kind == 'm') {
            memcpy(out, &not_a_time, sizeof not_a_time);
        }
        return ZC_OK;
    }
    return fill_typed(node, dtype_node, dtype, format, out);
}
