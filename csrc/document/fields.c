/* SPDX-License-Identifier: MIT
 *
 * Structured data types: fields one after the other, without padding (zarr v2 specification, "Data type
 * encoding"; data types "struct" and "structured" of the zarr extensions).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "document/document.h"

enum { FIELDS_MAX = 1024, SHAPE_MAX = 32 };

zc_status zc_dtype_fields(const zc_node *node, int format, zc_node *holder, zc_node *out)
{
    zc_assert(format == 2 || format == 3);

    static const char *const members[] = {"fields", NULL};
    const char *name;
    bool optional;
    size_t n = 0;

    *out = (zc_node){.value = NULL};
    if (format == 2) {
        *out = zc_node_is_array(node) ? *node : *out;
        return ZC_OK;
    }
    zc_status status = zc_node_extension(node, &name, holder, &optional);
    if (status != ZC_OK || (strcmp(name, "struct") != 0 && strcmp(name, "structured") != 0)) {
        return status;
    }
    status = zc_node_object(holder);
    if (status == ZC_OK) {
        status = zc_node_members(holder, members, false);
    }
    *out = zc_node_member(holder, "fields");
    return status == ZC_OK ? zc_node_array(out, &n) : status;
}

static zc_status count_of(const zc_node *shape, size_t *out)
{
    int64_t lengths[SHAPE_MAX];
    size_t n = 0;
    zc_status status = zc_node_array(shape, &n);

    *out = 1;
    if (status == ZC_OK && (n == 0 || n > SHAPE_MAX)) {
        status = zc_node_fail(shape, "expected 1 to %d lengths, got %zu", SHAPE_MAX, n);
    }
    if (status == ZC_OK) {
        status = zc_node_ints(shape, n, 1, (int64_t)ZC_ITEM_MAX, lengths);
    }
    for (size_t d = 0; d < n && status == ZC_OK; d++) {
        if (!zc_mul_size(*out, (uint64_t)lengths[d], out) || *out > ZC_ITEM_MAX) {
            status = zc_node_fail(shape, "a sub-array is too large");
        }
    }
    return status;
}

/* [name, data type] or [name, data type, shape]. */
static zc_status list_field(const zc_node *item, int format, zc_field *out)
{
    size_t n = 0;
    zc_status status = zc_node_array(item, &n);

    if (status == ZC_OK && n != 2 && (format != 2 || n != 3)) {
        status = zc_node_fail(item, "expected a name and a data type");
    }
    if (status != ZC_OK) {
        return status;
    }
    const zc_node name = zc_node_first(&out->holder);
    out->dtype = zc_node_next(&name);
    if (n == 3) {
        out->shape = zc_node_next(&out->dtype);
        status = count_of(&out->shape, &out->count);
    }
    if (status == ZC_OK) {
        status = zc_node_string(&name, &out->name);
    }
    if (status == ZC_OK && format == 2 && out->name[0] == '\0') {
        snprintf(out->padding, sizeof out->padding, "f%zu", item->index);
        out->name = out->padding;
    }
    return status;
}

zc_status zc_field_at(const zc_node *item, int format, zc_field *out)
{
    zc_assert(format == 2 || format == 3);

    static const char *const members[] = {"name", "data_type", NULL};

    *out = (zc_field){.count = 1, .holder = *item};
    if (format == 2 || zc_node_is_array(item)) {
        return list_field(item, format, out);
    }
    zc_status status = zc_node_object(item);
    if (status == ZC_OK) {
        status = zc_node_members(item, members, false);
    }
    const zc_node name = zc_node_member(&out->holder, "name");
    out->dtype = zc_node_member(&out->holder, "data_type");
    return status == ZC_OK ? zc_node_string(&name, &out->name) : status;
}

/* The words from number `first` on belong to one element of `size` bytes: those of the other elements. */
static zc_status repeat_words(const zc_node *node, zc_dtype *dtype, size_t first, size_t size, size_t count)
{
    const size_t n = dtype->n_words - first;
    zc_status status = ZC_OK;

    if (n == 1 && (size_t)dtype->words[first].at.word * dtype->words[first].at.count == size) {
        dtype->words[first].at.count *= (uint32_t)count;
        return ZC_OK;
    }
    for (size_t i = 1; n > 0 && i < count && status == ZC_OK; i++) {
        for (size_t k = 0; k < n && status == ZC_OK; k++) {
            const zc_words words = dtype->words[first + k];
            status = zc_dtype_add_words(node, dtype, words.at.offset + i * size, words.at.word,
                                        words.at.count, words.big_endian);
        }
    }
    return status;
}

static zc_status add_field(const zc_node *item, int format, int depth, zc_dtype *out)
{
    zc_field field;
    zc_node inner, holder;
    size_t end;
    /* The field is parsed with the words of the whole, so that they are collected in one place. */
    zc_dtype one = {.words = out->words, .n_words = out->n_words, .room = out->room};
    const size_t first = out->n_words;
    zc_status status = zc_field_at(item, format, &field);

    if (status == ZC_OK) {
        status = zc_dtype_fields(&field.dtype, format, &holder, &inner);
    }
    if (status == ZC_OK) {
        status = inner.value != NULL ? zc_dtype_struct(&field.dtype, &inner, format, depth + 1, &one)
                                     : zc_dtype_plain(&field.dtype, format, &one);
    }
    out->words = one.words;
    out->n_words = one.n_words;
    out->room = one.room;
    if (status != ZC_OK) {
        return status;
    }
    if (field.name[0] == '\0' || (field.name == field.padding && one.kind != 'V')) {
        return zc_node_fail(item, "the name of a field is empty");
    }
    if (!zc_mul_size(one.size, field.count, &end) || !zc_add_size(end, out->size, &end) ||
        end > ZC_ITEM_MAX) {
        return zc_node_fail(item, "an item must have 1 to %zu bytes", ZC_ITEM_MAX);
    }
    for (size_t i = first; i < out->n_words; i++) {
        out->words[i].at.offset += (uint32_t)out->size;
    }
    status = repeat_words(item, out, first, one.size, field.count);
    out->size = end;
    return status;
}

/* Has an earlier field the name of the one at `item`? */
static zc_status check_name(const zc_node *fields, const zc_node *item, int format)
{
    zc_field field, other;
    zc_status status = zc_field_at(item, format, &field);

    ZC_EACH(at, fields, status) {
        if (at.index == item->index) {
            break;
        }
        status = zc_field_at(&at, format, &other);
        if (status == ZC_OK && strcmp(field.name, other.name) == 0) {
            status = zc_node_fail(item, "a second field \"%.60s\"", field.name);
        }
    }
    return status;
}

zc_status zc_dtype_struct(const zc_node *node, const zc_node *fields, int format, int depth, zc_dtype *out)
{
    size_t n = 0;
    zc_status status = zc_node_array(fields, &n);

    if (status == ZC_OK && (n == 0 || n > FIELDS_MAX)) {
        status = zc_node_fail(fields, "expected 1 to %d fields, got %zu", FIELDS_MAX, n);
    }
    if (status == ZC_OK && depth > ZC_DEPTH_MAX) {
        status = zc_node_fail(node, "data types are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    out->kind = 'V';
    out->size = 0;
    ZC_EACH(item, fields, status) {
        status = check_name(fields, &item, format);
        if (status == ZC_OK) {
            status = add_field(&item, format, depth, out);
        }
    }
    snprintf(out->typestr, sizeof out->typestr, "|V%zu", out->size);
    return status;
}

/* ---- all data types ------------------------------------------------------------------------------ */

zc_status zc_dtype_parse(const zc_node *node, int format, zc_dtype *out)
{
    zc_node fields, holder;

    *out = (zc_dtype){.kind = 'V'};
    const zc_status status = zc_dtype_fields(node, format, &holder, &fields);
    if (status != ZC_OK) {
        return status;
    }
    return fields.value != NULL ? zc_dtype_struct(node, &fields, format, 1, out)
                                : zc_dtype_plain(node, format, out);
}
