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

zc_node zc_dtype_fields(const zc_node *node, int format, zc_node *holder)
{
    zc_assert(format == 2 || format == 3);

    const zc_node none = {.json = node->json};

    if (format == 2) {
        return zc_node_is_array(node) ? *node : none;
    }
    const char *const name = zc_node_extension(node, holder);
    if (strcmp(name, "struct") != 0 && strcmp(name, "structured") != 0) {
        return none;
    }
    zc_node_object(holder);
    ZC_MEMBERS(holder, "fields");
    const zc_node fields = zc_node_member(holder, "fields");
    zc_node_array(&fields);
    return fields;
}

static size_t count_of(const zc_node *shape)
{
    int64_t lengths[SHAPE_MAX];
    const size_t n = zc_node_array(shape);
    size_t count = 1;

    if (n == 0 || n > SHAPE_MAX) {
        zc_node_fail(shape, "expected 1 to %d lengths, got %zu", SHAPE_MAX, n);
        return 1;
    }
    zc_node_ints(shape, n, 1, (int64_t)ZC_ITEM_MAX, lengths);
    for (size_t d = 0; d < n; d++) {
        if (!zc_mul_size(count, (uint64_t)lengths[d], &count) || count > ZC_ITEM_MAX) {
            zc_node_fail(shape, "a sub-array is too large");
            return 1;
        }
    }
    return count;
}

/* [name, data type] or [name, data type, shape]. */
static void list_field(const zc_node *item, int format, zc_field *out)
{
    const size_t n = zc_node_array(item);

    if (n != 2 && (format != 2 || n != 3)) {
        zc_node_fail(item, "expected a name and a data type");
        return;
    }
    const zc_node name = zc_node_first(&out->holder);
    out->dtype = zc_node_next(&name);
    if (n == 3) {
        out->shape = zc_node_next(&out->dtype);
        out->count = count_of(&out->shape);
    }
    out->name = zc_node_string(&name);
    if (format == 2 && out->name[0] == '\0') {
        snprintf(out->padding, sizeof out->padding, "f%zu", item->index);
        out->name = out->padding;
    }
}

void zc_field_at(const zc_node *item, int format, zc_field *out)
{
    zc_assert(format == 2 || format == 3);
    *out = (zc_field){.name = "", .dtype = {.json = item->json}, .count = 1, .holder = *item};
    if (format == 2 || zc_node_is_array(item)) {
        list_field(item, format, out);
        return;
    }
    zc_node_object(item);
    ZC_MEMBERS(item, "name", "data_type");
    const zc_node name = zc_node_member(&out->holder, "name");
    out->dtype = zc_node_member(&out->holder, "data_type");
    out->name = zc_node_string(&name);
}

/* The words from number `first` on belong to one element of `size` bytes: those of the other elements. */
static void repeat_words(const zc_node *node, zc_dtype *dtype, size_t first, size_t size, size_t count)
{
    const size_t n = dtype->n_words - first;

    if (n == 1 && (size_t)dtype->words[first].at.word * dtype->words[first].at.count == size) {
        dtype->words[first].at.count *= (uint32_t)count;
        return;
    }
    for (size_t i = 1; n > 0 && i < count && zc_node_ok(node); i++) {
        for (size_t k = 0; k < n && zc_node_ok(node); k++) {
            zc_words words = dtype->words[first + k];
            words.at.offset += (uint32_t)(i * size);
            zc_dtype_add_words(node, dtype, words);
        }
    }
}

static void add_field(const zc_node *item, int format, int depth, zc_dtype *out)
{
    zc_field field;
    zc_node holder;
    size_t end = 0;
    /* The field is parsed with the words of the whole, so that they are collected in one place. */
    zc_dtype one = {.words = out->words, .n_words = out->n_words, .room = out->room};
    const size_t first = out->n_words;

    zc_field_at(item, format, &field);
    const zc_node inner = zc_dtype_fields(&field.dtype, format, &holder);
    if (inner.value != NULL) {
        zc_dtype_struct(&field.dtype, &inner, format, depth + 1, &one);
    } else {
        zc_dtype_plain(&field.dtype, format, &one);
    }
    out->words = one.words;
    out->n_words = one.n_words;
    out->room = one.room;
    if (field.name[0] == '\0' || (field.name == field.padding && one.kind != 'V')) {
        zc_node_fail(item, "the name of a field is empty");
    }
    if (!zc_mul_size(one.size, field.count, &end) || !zc_add_size(end, out->size, &end) ||
        end > ZC_ITEM_MAX) {
        zc_node_fail(item, "an item must have 1 to %zu bytes", ZC_ITEM_MAX);
    }
    if (!zc_node_ok(item)) {
        return;
    }
    for (size_t i = first; i < out->n_words; i++) {
        out->words[i].at.offset += (uint32_t)out->size;
    }
    repeat_words(item, out, first, one.size, field.count);
    out->size = end;
}

/* Has an earlier field the name of the one at `item`? */
static void check_name(const zc_node *fields, const zc_node *item, int format)
{
    zc_field field, other;

    zc_field_at(item, format, &field);
    ZC_EACH(at, fields) {
        if (at.index == item->index) {
            return;
        }
        zc_field_at(&at, format, &other);
        if (strcmp(field.name, other.name) == 0) {
            zc_node_fail(item, "a second field \"%.60s\"", field.name);
        }
    }
}

void zc_dtype_struct(const zc_node *node, const zc_node *fields, int format, int depth, zc_dtype *out)
{
    const size_t n = zc_node_array(fields);

    if (n == 0 || n > FIELDS_MAX) {
        zc_node_fail(fields, "expected 1 to %d fields, got %zu", FIELDS_MAX, n);
    }
    if (depth > ZC_DEPTH_MAX) {
        zc_node_fail(node, "data types are nested more than %d levels deep", ZC_DEPTH_MAX);
    }
    out->kind = 'V';
    out->size = 0;
    ZC_EACH(item, fields) {
        check_name(fields, &item, format);
        add_field(&item, format, depth, out);
    }
    snprintf(out->typestr, sizeof out->typestr, "|V%zu", out->size);
}

/* ---- all data types ------------------------------------------------------------------------------ */

void zc_dtype_parse(const zc_node *node, int format, zc_dtype *out)
{
    zc_node holder;

    *out = (zc_dtype){.kind = 'V'};
    const zc_node fields = zc_dtype_fields(node, format, &holder);
    if (fields.value != NULL) {
        zc_dtype_struct(node, &fields, format, 1, out);
    } else {
        zc_dtype_plain(node, format, out);
    }
}
