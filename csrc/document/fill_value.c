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
#include "kernels/utf8.h"

/* ---- bytes -------------------------------------------------------------------------------------- */

static int sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = c != '\0' ? strchr(digits, c) : NULL;

    return at != NULL ? (int)(at - digits) : -1;
}

/* RFC 4648, section 4: with padding, without anything else. */
static size_t from_base64(const zc_node *node, const char *text, size_t length, uint8_t *out, size_t capacity)
{
    uint32_t bits = 0;
    size_t digits = length, n = 0;

    while (digits > 0 && length - digits < 2 && text[digits - 1] == '=') {
        digits--;
    }
    if (length % 4 != 0 || digits % 4 == 1) {
        zc_node_fail(node, "\"%.40s\" is not base64", text);
    }
    for (size_t i = 0; i < digits && zc_node_ok(node); i++) {
        const int digit = sextet(text[i]);
        bits = bits << 6 | (uint32_t)(digit < 0 ? 0 : digit);
        if (digit < 0) {
            zc_node_fail(node, "\"%.40s\" is not base64", text);
        } else if (i % 4 != 0 && n == capacity) {
            zc_node_fail(node, "more than %zu bytes", capacity);
        } else if (i % 4 != 0) {
            out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    return n;
}

/* Bytes as base64 or as a list of numbers, at most capacity; returns how many. */
static size_t fill_bytes(const zc_node *node, uint8_t *out, size_t capacity)
{
    size_t n;

    if (zc_node_is_string(node)) {
        const char *const text = zc_node_text(node, &n);
        return from_base64(node, text, n, out, capacity);
    }
    if (!zc_node_is_array(node)) {
        zc_node_expected(node, "base64, or an array of bytes");
    }
    n = zc_node_array(node);
    if (n > capacity) {
        zc_node_fail(node, "more than %zu bytes", capacity);
    }
    ZC_EACH(item, node) {
        out[item.index] = (uint8_t)zc_node_int(&item, 0, 255);
    }
    return n;
}

static bool is_zero(const zc_node *node)
{
    bool negative;

    return zc_node_is_integer(node) && zc_node_integer(node, &negative) == 0;
}

/* Bytes with a terminator: zero bytes at the end do not count.  Writers of format 2 left text where base64 was
 * due (netCDF a zero byte): what is not base64 is read as text. */
static void fill_string(const zc_node *node, size_t size, int format, uint8_t *out)
{
    size_t length;

    fill_bytes(node, out, size);
    if (zc_node_ok(node) || format != 2 || !zc_node_is_string(node)) {
        return;
    }
    const char *const text = zc_node_text(node, &length);
    if (length <= size && zc_is_ascii((const uint8_t *)text, length)) {
        zc_error_clear(node->json->err);
        memset(out, 0, size);
        memcpy(out, text, length);
    }
}

static void fill_raw(const zc_node *node, size_t size, int format, uint8_t *out)
{
    const size_t n = fill_bytes(node, out, size);

    if (format == 3 && n != size) {
        zc_node_fail(node, "expected %zu bytes, got %zu", size, n);
    }
}

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

static void fill_text(const zc_node *node, size_t size, uint8_t *out)
{
    size_t length;
    const char *const text = zc_node_text(node, &length);
    uint8_t *const end = out + size;

    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    for (size_t i = 0; i < length && zc_node_ok(node); out += 4) {
        uint32_t point;
        i += code_point((const unsigned char *)text + i, &point);
        if (out == end) {
            zc_node_fail(node, "more than %zu code points", size / 4);
        } else {
            memcpy(out, &point, 4);
        }
    }
}

/* ---- structures --------------------------------------------------------------------------------- */

static size_t fill_item(const zc_node *node, const zc_node *dtype, int format, uint8_t *out);

/* The bytes of an item as they are stored: the words that are not in the byte order of the machine are turned
 * round. */
static void fill_stored(const zc_node *node, const zc_dtype *dtype, int format, uint8_t *out)
{
    fill_raw(node, dtype->size, 3, out);
    for (size_t i = 0; i < dtype->n_words; i++) {
        const zc_words *const words = &dtype->words[i];
        if ((format == 2 && words->big_endian) != ZC_BIG_ENDIAN) {
            const zc_item word = {.size = words->at.word, .word = words->at.word};
            zc_items_copy(words->at.count, out + words->at.offset, out + words->at.offset, &word);
        }
    }
}

/* An element, or the elements of a sub-array in nested arrays: those of dimension `axis` and of all inside of
 * it.  `length` is the item of the shape's array for that dimension; NULL value: an element.  Returns the bytes. */
static size_t fill_elements(const zc_node *node, const zc_field *field, const zc_node *length, int format, uint8_t *out)
{
    size_t size = 0;

    if (length->value == NULL) {
        return fill_item(node, &field->dtype, format, out);
    }
    const int64_t wanted = zc_node_int(length, 1, INT64_MAX);
    const size_t n = zc_node_array(node);
    if (n != (size_t)wanted) {
        zc_node_fail(node, "expected %lld entries, got %zu", (long long)wanted, n);
    }
    const zc_node inner = zc_node_next(length);
    ZC_EACH(item, node) {
        size += fill_elements(&item, field, &inner, format, out + size);
    }
    return size;
}

/* The bytes that the field takes. */
static size_t field_size(const zc_field *field, int format)
{
    zc_dtype dtype;

    zc_dtype_parse(&field->dtype, format, &dtype);
    zc_dtype_free(&dtype);
    return dtype.size * field->count;
}

static void fill_field(const zc_node *value, const zc_field *field, int format, uint8_t *out)
{
    const zc_node none = {.value = NULL};

    if (value->value == NULL || (format == 2 && is_zero(value))) {
        return;              /* zero bytes */
    }
    const zc_node length = field->shape.value == NULL ? none : zc_node_first(&field->shape);
    fill_elements(value, field, &length, format, out);
}

static bool has_field(const zc_node *fields, int format, const char *name)
{
    zc_field field;

    ZC_EACH(at, fields) {
        zc_field_at(&at, format, &field);
        if (strcmp(field.name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An array with one value for each field, or an object with some of them. */
static void check_values(const zc_node *node, const zc_node *fields, int format)
{
    const size_t wanted = zc_node_array(fields);

    if (zc_node_is_array(node)) {
        const size_t n = zc_node_array(node);
        if (n != wanted) {
            zc_node_fail(node, "expected %zu values, got %zu", wanted, n);
        }
        return;
    }
    if (!zc_node_is_object(node)) {
        zc_node_expected(node, "base64, or a value for each field");
    }
    for (zc_node at = zc_node_first_member(node); at.value != NULL; at = zc_node_next_member(&at)) {
        if (!has_field(fields, format, at.member)) {
            zc_node_fail(&at, "there is no such field");
        }
    }
}

static void fill_struct(const zc_node *node, const zc_node *fields, int format, uint8_t *out)
{
    zc_field field;
    zc_node in_order = zc_node_first(node);

    check_values(node, fields, format);
    ZC_EACH(at, fields) {
        zc_field_at(&at, format, &field);
        const zc_node named = zc_node_member(node, field.name);
        fill_field(zc_node_is_array(node) ? &in_order : &named, &field, format, out);
        out += field_size(&field, format);
        in_order = zc_node_is_array(node) ? zc_node_next(&in_order) : in_order;
    }
}

/* ---- all of them -------------------------------------------------------------------------------- */

static void fill_plain(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format, uint8_t *out)
{
    const zc_node member = zc_node_member(dtype_node, "name");
    const char *const name = zc_node_string(zc_node_is_object(dtype_node) ? &member : dtype_node);
    zc_number_kind number;

    if (strchr("SUV", dtype->kind) == NULL || zc_extension_number(name, &number)) {
        zc_fill_number(node, name, dtype->kind, dtype->size, format, out);
    } else if (format == 2 && is_zero(node)) {
        return;              /* zero bytes */
    } else if (dtype->kind == 'S') {
        fill_string(node, dtype->size, format, out);
    } else if (dtype->kind == 'U') {
        fill_text(node, dtype->size, out);
    } else {
        fill_raw(node, dtype->size, format, out);
    }
}

static void fill_typed(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format, uint8_t *out)
{
    zc_node holder;
    const zc_node fields = zc_dtype_fields(dtype_node, format, &holder);

    if (!zc_node_ok(node)) {
        return;
    }
    if (fields.value == NULL) {
        fill_plain(node, dtype_node, dtype, format, out);
    } else if (format == 2 && is_zero(node)) {
        return;              /* zero bytes */
    } else if (zc_node_is_string(node)) {
        fill_stored(node, dtype, format, out);
    } else {
        fill_struct(node, &fields, format, out);
    }
}

/* An element inside of a structure; returns its bytes. */
static size_t fill_item(const zc_node *node, const zc_node *dtype_node, int format, uint8_t *out)
{
    zc_dtype dtype;

    zc_dtype_parse(dtype_node, format, &dtype);
    fill_typed(node, dtype_node, &dtype, format, out);
    zc_dtype_free(&dtype);
    return dtype.size;
}

void zc_fill_value(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format, uint8_t *out)
{
    zc_assert(format == 2 || format == 3);

    const uint64_t not_a_time = (uint64_t)1 << 63;

    memset(out, 0, dtype->size);
    if (!zc_node_is_null(node)) {
        fill_typed(node, dtype_node, dtype, format, out);
    } else if (dtype->kind == 'M' || dtype->kind == 'm') {
        /* What is not there is undefined: what the Python package shows, NaT or zeros. */
        memcpy(out, &not_a_time, sizeof not_a_time);
    }
}
