/* SPDX-License-Identifier: MIT */
#include "document/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"

/* Where the source of yyjson was brought it becomes part of this file, so that libzarrcore.a shows none of
 * its names; found in a directory of system headers, whose warnings are not ours. */
#ifdef ZC_YYJSON_SOURCE
#define yyjson_api static
#include <yyjson.c>
#else
#include <yyjson.h>
#endif

/* ---- documents ---------------------------------------------------------------------------------- */

/* The member of a document that contains a number which is not finite, or NULL.  Attributes may: they do not
 * describe the data, and Python's json writes such numbers.  Fill values may: the bare tokens have one meaning. */
static const char *infinite_member(yyjson_val *root)
{
    size_t i, n;
    yyjson_val *key, *member;

    yyjson_obj_foreach(root, i, n, key, member) {
        yyjson_val *const end = unsafe_yyjson_get_next(member);      /* all that is inside lies in between */
        const bool asked = strcmp(yyjson_get_str(key), "attributes") != 0 &&
                           strcmp(yyjson_get_str(key), "fill_value") != 0;

        for (yyjson_val *value = member; asked && value < end; value++) {
            if (yyjson_is_real(value) && !isfinite(yyjson_get_real(value))) {
                return yyjson_get_str(key);
            }
        }
    }
    return NULL;
}

zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, bool lenient,
                       zc_error *err)
{
    const char *member = NULL;
    yyjson_read_err fault;

    *json = (zc_json){.name = name, .err = err};
    if (n > ZC_DOCUMENT_MAX) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: %zu bytes are too many for a metadata document", name, n);
    }
    json->doc = yyjson_read_opts((char *)text, n, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, &fault);  /* not written to */
    if (json->doc == NULL && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    if (json->doc == NULL) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: no valid JSON at byte %zu (%s)", name, fault.pos, fault.msg);
    }
    if (!lenient && (member = infinite_member(yyjson_doc_get_root(json->doc))) != NULL) {
        zc_fail(err, ZC_ERR_METADATA, "%s: no valid JSON in %s (number is infinity or NaN)", name, member);
        zc_json_close(json);
        return ZC_ERR_METADATA;
    }
    return ZC_OK;
}

void zc_json_close(zc_json *json)
{
    zc_assert(json->doc != NULL);
    yyjson_doc_free(json->doc);
    json->doc = NULL;
}

zc_node zc_json_root(const zc_json *json)
{
    zc_assert(json->doc != NULL);
    return (zc_node){.value = yyjson_doc_get_root(json->doc), .json = json};
}

/* ---- walking ------------------------------------------------------------------------------------ */

zc_node zc_node_member(const zc_node *object, const char *name)
{
    return (zc_node){.value = yyjson_obj_get(object->value, name), .json = object->json, .outer = object,
                     .member = name};
}

zc_node zc_node_first(const zc_node *array)
{
    return (zc_node){.value = yyjson_arr_get_first(array->value), .json = array->json, .outer = array};
}

zc_node zc_node_next(const zc_node *item)
{
    zc_node next = *item;

    next.index++;
    next.value = NULL;
    if (next.index < yyjson_arr_size(item->outer->value)) {
        next.value = unsafe_yyjson_get_next(item->value);
    }
    return next;
}

/* The member whose name is at key; NULL: none. */
static zc_node member_at(const zc_node *object, yyjson_val *key, size_t index)
{
    return (zc_node){.value = yyjson_obj_iter_get_val(key), .json = object->json, .outer = object,
                     .member = yyjson_get_str(key), .index = index};
}

zc_node zc_node_first_member(const zc_node *object)
{
    const bool any = yyjson_obj_size(object->value) > 0;

    return member_at(object, any ? unsafe_yyjson_get_first(object->value) : NULL, 0);
}

zc_node zc_node_next_member(const zc_node *member)
{
    const size_t index = member->index + 1;
    const bool any = index < yyjson_obj_size(member->outer->value);

    return member_at(member->outer, any ? unsafe_yyjson_get_next(member->value) : NULL, index);
}

/* ---- complaints --------------------------------------------------------------------------------- */

/* Write the path of a value to out; returns its length. */
static size_t put_path(const zc_node *node, char *out, size_t capacity)
{
    if (node->outer == NULL) {
        out[0] = '\0';
        return 0;
    }
    const size_t n = put_path(node->outer, out, capacity);
    const int added = node->member != NULL
                          ? snprintf(out + n, capacity - n, "%s%s", n > 0 ? "." : "", node->member)
                          : snprintf(out + n, capacity - n, "[%zu]", node->index);
    const size_t total = n + (added > 0 ? (size_t)added : 0);
    return total < capacity ? total : capacity - 1;
}

size_t zc_node_place(const zc_node *node, char *out, size_t capacity)
{
    char path[128];
    const size_t n = put_path(node, path, sizeof path);
    const int length = snprintf(out, capacity, "%s%s%s", node->json->name, n > 0 ? ": " : "", path);

    return length > 0 && (size_t)length < capacity ? (size_t)length : strlen(out);
}

zc_status zc_node_fail(const zc_node *node, const char *format, ...)
{
    char place[256], text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    zc_node_place(node, place, sizeof place);
    return zc_fail(node->json->err, ZC_ERR_METADATA, "%s: %s", place, text);
}

zc_status zc_node_expected(const zc_node *node, const char *what)
{
    return node->value == NULL ? zc_node_fail(node, "is required and missing")
                               : zc_node_fail(node, "expected %s", what);
}

/* ---- values ------------------------------------------------------------------------------------- */

#define STAMP_IS(WHAT, TYPE)                                                                     \
    bool zc_node_is_##WHAT(const zc_node *node)                                                  \
    {                                                                                            \
        return yyjson_is_##TYPE(node->value);                                                    \
    }

STAMP_IS(null, null)
STAMP_IS(bool, bool)
STAMP_IS(integer, int)
STAMP_IS(number, num)
STAMP_IS(string, str)
STAMP_IS(object, obj)
STAMP_IS(array, arr)

zc_status zc_node_integer(const zc_node *node, bool *negative, uint64_t *magnitude)
{
    if (!yyjson_is_int(node->value)) {
        return zc_node_expected(node, "an integer of 64 bits");
    }
    *negative = yyjson_is_sint(node->value) && yyjson_get_sint(node->value) < 0;
    *magnitude = *negative ? 0 - (uint64_t)yyjson_get_sint(node->value) : yyjson_get_uint(node->value);
    return ZC_OK;
}

zc_status zc_node_int(const zc_node *node, int64_t low, int64_t high, int64_t *out)
{
    bool negative = false;
    uint64_t magnitude = 0;

    if (!yyjson_is_int(node->value)) {
        return zc_node_expected(node, "an integer");
    }
    const zc_status status = zc_node_integer(node, &negative, &magnitude);
    if (status != ZC_OK) {
        return status;
    }
    if (!negative && magnitude > INT64_MAX) {
        return zc_node_fail(node, "expected %lld to %lld, got %llu", (long long)low, (long long)high,
                            (unsigned long long)magnitude);
    }
    const int64_t value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    if (value < low || value > high) {
        return zc_node_fail(node, "expected %lld to %lld, got %lld", (long long)low, (long long)high,
                            (long long)value);
    }
    *out = value;
    return ZC_OK;
}

zc_status zc_node_real(const zc_node *node, double *out)
{
    if (!yyjson_is_num(node->value)) {
        return zc_node_expected(node, "a number");
    }
    *out = yyjson_get_num(node->value);
    return ZC_OK;
}

zc_status zc_node_bool(const zc_node *node, bool *out)
{
    if (!yyjson_is_bool(node->value)) {
        return zc_node_expected(node, "true or false");
    }
    *out = yyjson_get_bool(node->value);
    return ZC_OK;
}

zc_status zc_node_text(const zc_node *node, const char **out, size_t *n)
{
    if (!yyjson_is_str(node->value)) {
        return zc_node_expected(node, "a string");
    }
    *out = yyjson_get_str(node->value);
    *n = yyjson_get_len(node->value);
    return ZC_OK;
}

zc_status zc_node_string(const zc_node *node, const char **out)
{
    size_t n = 0;
    const zc_status status = zc_node_text(node, out, &n);

    if (status == ZC_OK && strlen(*out) != n) {
        return zc_node_fail(node, "expected a string without zero bytes");
    }
    return status;
}

zc_status zc_node_object(const zc_node *node)
{
    return yyjson_is_obj(node->value) ? ZC_OK : zc_node_expected(node, "an object");
}

zc_status zc_node_array(const zc_node *node, size_t *n)
{
    if (!yyjson_is_arr(node->value)) {
        return zc_node_expected(node, "an array");
    }
    *n = yyjson_arr_size(node->value);
    return ZC_OK;
}

zc_status zc_node_ints(const zc_node *node, size_t n, int64_t low, int64_t high, int64_t *out)
{
    size_t found = 0;
    zc_status status = zc_node_array(node, &found);

    if (status == ZC_OK && found != n) {
        status = zc_node_fail(node, "expected %zu entries, got %zu", n, found);
    }
    ZC_EACH(item, node, status) {
        status = zc_node_int(&item, low, high, &out[item.index]);
    }
    return status;
}

zc_status zc_node_choice(const zc_node *node, const char *const *choices, int *out)
{
    const char *text = "";
    const zc_status status = zc_node_string(node, &text);

    if (status != ZC_OK) {
        return status;
    }
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return ZC_OK;
        }
    }
    return zc_node_fail(node, "\"%.60s\" is not supported", text);
}

/* ---- members ------------------------------------------------------------------------------------ */

static bool need_not_be_understood(const zc_node *member)
{
    const zc_node must = zc_node_member(member, "must_understand");

    return yyjson_is_false(must.value);
}

static bool is_any(const zc_node *member)
{
    (void)member;
    return true;
}

/* Refuse a member twice, and members that are not in the list, all or those that are not accepted. */
static zc_status check_members(const zc_node *object, const char *const *names, bool (*accepts)(const zc_node *member))
{
    uint32_t seen = 0;

    for (zc_node node = zc_node_first_member(object); node.value != NULL;
         node = zc_node_next_member(&node)) {
        int i = 0;
        while (names[i] != NULL && strcmp(names[i], node.member) != 0) {
            i++;
        }
        zc_assert(i <= 31);
        if (names[i] == NULL) {
            if (accepts == NULL || !accepts(&node)) {
                return zc_node_fail(&node, "is not supported");
            }
        } else if (seen & (uint32_t)1 << i) {
            return zc_node_fail(&node, "occurs twice");
        } else {
            seen |= (uint32_t)1 << i;
        }
    }
    return ZC_OK;
}

zc_status zc_node_members(const zc_node *object, const char *const *names, bool tolerant)
{
    return check_members(object, names, tolerant ? need_not_be_understood : NULL);
}

zc_status zc_node_members_once(const zc_node *object, const char *const *names)
{
    return check_members(object, names, is_any);
}

zc_status zc_node_optional_int(const zc_node *object, const char *name, int64_t low, int64_t high,
                               int64_t *inout)
{
    const zc_node node = zc_node_member(object, name);

    return node.value == NULL ? ZC_OK : zc_node_int(&node, low, high, inout);
}

zc_status zc_node_optional_bool(const zc_node *object, const char *name, bool *inout)
{
    const zc_node node = zc_node_member(object, name);

    return node.value == NULL ? ZC_OK : zc_node_bool(&node, inout);
}

/* ---- in memory of an arena ----------------------------------------------------------------------- */

const char *zc_node_keep_place(zc_arena *arena, const zc_node *node)
{
    char place[256];
    const size_t size = zc_node_place(node, place, sizeof place) + 1;
    char *const kept = zc_arena_alloc(arena, size);

    return kept != NULL ? memcpy(kept, place, size) : NULL;
}

zc_status zc_node_keep_ints(zc_arena *arena, const zc_node *node, size_t most, int64_t low, int64_t high,
                            const int64_t **out, int *n)
{
    size_t count = 0;
    zc_status status = zc_node_array(node, &count);

    if (status == ZC_OK && count > most) {
        return zc_node_fail(node, "expected up to %zu entries, got %zu", most, count);
    }
    int64_t *const numbers = status == ZC_OK ? zc_arena_alloc(arena, count * sizeof numbers[0]) : NULL;
    if (numbers == NULL) {
        return status == ZC_OK ? zc_node_no_memory(node) : status;
    }
    *out = numbers;
    *n = (int)count;
    return zc_node_ints(node, count, low, high, numbers);
}

/* ---- extension points of format 3 --------------------------------------------------------------- */

zc_status zc_node_extension(const zc_node *node, const char **name, zc_node *configuration, bool *optional)
{
    static const char *const members[] = {"name", "configuration", "must_understand", NULL};
    const zc_node named = zc_node_member(node, "name");
    bool must_understand = true;

    *configuration = zc_node_member(node, "configuration");
    *optional = false;
    if (zc_node_is_string(node)) {
        return zc_node_string(node, name);
    }
    zc_status status = zc_node_object(node);
    if (status == ZC_OK) {
        status = zc_node_members(node, members, false);
    }
    if (status == ZC_OK) {
        status = zc_node_string(&named, name);
    }
    if (status == ZC_OK && configuration->value != NULL) {
        status = zc_node_object(configuration);
    }
    if (status == ZC_OK) {
        status = zc_node_optional_bool(node, "must_understand", &must_understand);
    }
    *optional = !must_understand;
    return status;
}
