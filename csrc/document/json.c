/* SPDX-License-Identifier: MIT */
#include "document/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/arith.h"
#include "base/assert.h"

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

/* The text after a byte order mark, which some editors write and a parser may ignore (RFC 8259, 8.1). */
static const char *after_mark(const char *text, size_t *n)
{
    const bool has_mark = *n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;

    *n -= has_mark ? 3 : 0;
    return has_mark ? text + 3 : text;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Past the string that begins at text, in a document that was parsed. */
static const char *after_string(const char *text)
{
    for (text++; *text != '"'; text++) {
        text += *text == '\\';
    }
    return text + 1;
}

/* Whether a word stands for a number that is not finite in a way that no writer has: yyjson takes "nan", "-NaN" and "inf", too. */
static bool is_odd(const char *word, size_t n, bool is_negative)
{
    const bool is_plain = (n == 4 && (memcmp(word, "true", 4) == 0 || memcmp(word, "null", 4) == 0)) ||
                          (n == 5 && memcmp(word, "false", 5) == 0) || (n == 1 && (*word | 32) == 'e');

    return !is_plain && !(n == 3 && memcmp(word, "NaN", 3) == 0 && !is_negative) &&
           !(n == 8 && memcmp(word, "Infinity", 8) == 0);
}

/* The first such word of a document that was parsed, or NULL. */
static const char *odd_word(const char *begin, const char *end)
{
    for (const char *text = begin; text < end;) {
        if (*text == '"') {
            text = after_string(text);
        } else if (is_letter(*text)) {
            const char *const word = text;
            while (text < end && is_letter(*text)) {
                text++;
            }
            if (is_odd(word, (size_t)(text - word), word > begin && word[-1] == '-')) {
                return word;
            }
        } else {
            text++;
        }
    }
    return NULL;
}

static zc_status fail_read(const char *name, const yyjson_read_err *fault, zc_error *err)
{
    if (fault->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    if (strstr(fault->msg, "surrogate") != NULL) {       /* JSON, but no text of UTF-8 */
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "%s: the lone surrogate at byte %zu is not supported", name, fault->pos);
    }
    return zc_fail(err, ZC_ERR_METADATA, "%s: no valid JSON at byte %zu (%s)", name, fault->pos, fault->msg);
}

zc_status zc_json_read(const char *name, const char *text, size_t n, unsigned flags, yyjson_doc **out, zc_error *err)
{
    yyjson_read_err fault;
    const char *odd;

    *out = NULL;
    if (n > ZC_DOCUMENT_MAX) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: %zu bytes are too many for a metadata document", name, n);
    }
    const char *const json = flags & YYJSON_READ_ALLOW_INF_AND_NAN ? after_mark(text, &n) : text;
    *out = yyjson_read_opts((char *)json, n, flags, NULL, &fault);        /* not written to */
    if (*out == NULL) {
        return fail_read(name, &fault, err);
    }
    if (flags & YYJSON_READ_ALLOW_INF_AND_NAN && (odd = odd_word(json, json + n)) != NULL) {
        yyjson_doc_free(*out);
        *out = NULL;
        return zc_fail(err, ZC_ERR_METADATA, "%s: no valid JSON at byte %zu (neither NaN, Infinity nor -Infinity)", name,
                       (size_t)(odd - text));
    }
    return ZC_OK;
}

zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, bool lenient,
                       zc_error *err)
{
    const char *member = NULL;

    *json = (zc_json){.name = name, .err = err};
    const zc_status status = zc_json_read(name, text, n, YYJSON_READ_ALLOW_INF_AND_NAN, &json->doc, err);
    if (status != ZC_OK) {
        return status;
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

zc_node zc_node_given(const zc_node *object, const char *name)
{
    zc_node node = zc_node_member(object, name);

    node.value = yyjson_is_null(node.value) ? NULL : node.value;
    return node;
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

size_t zc_node_name_length(const zc_node *member)
{
    zc_assert(member->value != NULL && member->member != NULL);
    return yyjson_get_len(member->value - 1);        /* names lie before their values */
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

static void put_place(const zc_node *node, char *out, size_t capacity)
{
    char path[128];
    const size_t n = put_path(node, path, sizeof path);

    snprintf(out, capacity, "%s%s%s", node->json->name, n > 0 ? ": " : "", path);
}

void zc_node_fail(const zc_node *node, const char *format, ...)
{
    char place[256], text[256];
    va_list args;

    if (!zc_node_ok(node)) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_place(node, place, sizeof place);
    zc_fail(node->json->err, ZC_ERR_METADATA, "%s: %s", place, text);
}

void zc_node_unsupported(const zc_node *node, const char *what, const char *name)
{
    if (zc_node_ok(node)) {
        zc_node_fail(node, "%s \"%.60s\" is not supported", what, name);
        node->json->err->status = ZC_ERR_UNSUPPORTED;
    }
}

void zc_node_too_many(const zc_node *node, int most, const char *what)
{
    if (zc_node_ok(node)) {
        zc_node_fail(node, "more than %d %s", most, what);
        node->json->err->status = ZC_ERR_UNSUPPORTED;
    }
}

void zc_node_expected(const zc_node *node, const char *what)
{
    if (node->value == NULL) {
        zc_node_fail(node, "is required and missing");
    } else {
        zc_node_fail(node, "expected %s", what);
    }
}

void *zc_node_alloc(const zc_node *node, zc_arena *arena, size_t n, size_t size)
{
    if (!zc_node_ok(node)) {
        return NULL;
    }
    void *const memory = zc_mul_size(n, size, &size) ? zc_arena_alloc(arena, size) : NULL;
    if (memory == NULL) {
        zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
    }
    return memory;
}

/* ---- values ------------------------------------------------------------------------------------- */

#define STAMP_IS(WHAT, TYPE)                                                                     \
    bool zc_node_is_##WHAT(const zc_node *node)                                                  \
    {                                                                                            \
        return yyjson_is_##TYPE(node->value);                                                    \
    }

STAMP_IS(null, null)
STAMP_IS(integer, int)
STAMP_IS(number, num)
STAMP_IS(string, str)
STAMP_IS(object, obj)
STAMP_IS(array, arr)

/* Refuse the value if it is not of that type. */
static bool require(const zc_node *node, bool is_such, const char *what)
{
    if (!is_such) {
        zc_node_expected(node, what);
    }
    return is_such;
}

uint64_t zc_node_integer(const zc_node *node, bool *negative)
{
    zc_assert(yyjson_is_int(node->value));
    *negative = yyjson_is_sint(node->value) && yyjson_get_sint(node->value) < 0;
    return *negative ? 0 - (uint64_t)yyjson_get_sint(node->value) : yyjson_get_uint(node->value);
}

int64_t zc_node_int(const zc_node *node, int64_t low, int64_t high)
{
    bool negative;

    if (!require(node, yyjson_is_int(node->value), "an integer")) {
        return low;
    }
    const uint64_t size = zc_node_integer(node, &negative);
    const int64_t value = (int64_t)(negative ? 0 - size : size);
    if ((!negative && size > INT64_MAX) || value < low || value > high) {
        zc_node_fail(node, "expected %lld to %lld, got %s%llu", (long long)low, (long long)high, negative ? "-" : "",
                     (unsigned long long)size);
        return low;
    }
    return value;
}

double zc_node_real(const zc_node *node)
{
    return require(node, yyjson_is_num(node->value), "a number") ? yyjson_get_num(node->value) : 0;
}

bool zc_node_bool(const zc_node *node)
{
    return require(node, yyjson_is_bool(node->value), "true or false") && yyjson_get_bool(node->value);
}

const char *zc_node_text(const zc_node *node, size_t *n)
{
    const bool is_text = require(node, yyjson_is_str(node->value), "a string");

    *n = is_text ? yyjson_get_len(node->value) : 0;
    return is_text ? yyjson_get_str(node->value) : "";
}

void zc_spell(const char *text, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_zero = text[i] == '\0';
        memcpy(out, is_zero ? "\\u0000" : &text[i], is_zero ? 6 : 1);
        out += is_zero ? 6 : 1;
    }
    *out = '\0';
}

const char *zc_node_string(const zc_node *node)
{
    size_t n;
    const char *const text = zc_node_text(node, &n);

    if (strlen(text) != n) {
        zc_node_fail(node, "expected a string without zero bytes");
        return "";
    }
    return text;
}

void zc_node_object(const zc_node *node)
{
    require(node, yyjson_is_obj(node->value), "an object");
}

size_t zc_node_array(const zc_node *node)
{
    return require(node, yyjson_is_arr(node->value), "an array") ? yyjson_arr_size(node->value) : 0;
}

/* Set n numbers to `first`; a failure unless the value is an array of so many. */
static void expect_entries(const zc_node *node, size_t n, int64_t first, int64_t *out)
{
    const size_t found = zc_node_array(node);

    if (found != n) {
        zc_node_fail(node, "expected %zu entries, got %zu", n, found);
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = first;
    }
}

void zc_node_ints(const zc_node *node, size_t n, int64_t low, int64_t high, int64_t *out)
{
    expect_entries(node, n, low, out);
    ZC_EACH(item, node) {
        out[item.index] = zc_node_int(&item, low, high);
    }
}

static bool is_whole_real(const zc_node *node)
{
    const double value = yyjson_get_real(node->value);   /* 0 of all that is no real number */

    return yyjson_is_real(node->value) && value >= 0 && value < 0x1p63 && value == floor(value);
}

void zc_node_lengths(const zc_node *node, size_t n, int64_t *out)
{
    expect_entries(node, n, 0, out);
    ZC_EACH(item, node) {
        out[item.index] = is_whole_real(&item) ? (int64_t)yyjson_get_real(item.value) : zc_node_int(&item, 0, INT64_MAX);
    }
}

const int64_t *zc_node_keep_ints(const zc_node *node, zc_arena *arena, size_t most, int64_t low, int64_t high, int *n)
{
    const size_t count = zc_node_array(node);

    if (count > most) {
        zc_node_fail(node, "expected up to %zu entries, got %zu", most, count);
    }
    int64_t *const numbers = zc_node_alloc(node, arena, count, sizeof numbers[0]);
    *n = numbers != NULL ? (int)count : 0;
    zc_node_ints(node, (size_t)*n, low, high, numbers);
    return numbers;
}

int zc_node_choice(const zc_node *node, const char *const *choices)
{
    const char *const text = zc_node_string(node);

    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            return i;
        }
    }
    zc_node_fail(node, "\"%.60s\" is not supported", text);
    return 0;
}

int64_t zc_node_optional_int(const zc_node *object, const char *name, int64_t low, int64_t high, int64_t standard)
{
    const zc_node node = zc_node_member(object, name);

    return node.value == NULL ? standard : zc_node_int(&node, low, high);
}

bool zc_node_optional_bool(const zc_node *object, const char *name, bool standard)
{
    const zc_node node = zc_node_member(object, name);

    return node.value == NULL ? standard : zc_node_bool(&node);
}

/* ---- members ------------------------------------------------------------------------------------ */

static bool is_allowed(const zc_node *member, zc_others others)
{
    const zc_node must = zc_node_member(member, "must_understand");

    return others == ZC_OTHERS_ALLOWED || (others == ZC_OTHERS_OPTIONAL && yyjson_is_false(must.value));
}

void zc_node_members(const zc_node *object, const char *const *names, zc_others others)
{
    uint32_t seen = 0;

    for (zc_node node = zc_node_first_member(object); node.value != NULL; node = zc_node_next_member(&node)) {
        int i = 0;
        while (names[i] != NULL && strcmp(names[i], node.member) != 0) {
            i++;
        }
        zc_assert(i <= 31);
        if (names[i] != NULL && (seen & (uint32_t)1 << i)) {
            zc_node_fail(&node, "occurs twice");
        } else if (names[i] == NULL && others == ZC_OTHERS_OPTIONAL && !is_allowed(&node, others)) {
            zc_node_unsupported(&node, "the member", node.member);       /* of an extension */
        } else if (names[i] == NULL && !is_allowed(&node, others)) {
            zc_node_fail(&node, "is not supported");
        }
        seen |= (uint32_t)1 << i;
    }
}

/* ---- in memory of an arena ----------------------------------------------------------------------- */

const char *zc_node_keep_place(const zc_node *node, zc_arena *arena)
{
    char place[256];

    put_place(node, place, sizeof place);
    const size_t size = strlen(place) + 1;
    char *const kept = zc_node_alloc(node, arena, size, 1);
    return kept != NULL ? memcpy(kept, place, size) : NULL;
}

zc_status zc_node_write(const zc_node *node, char **text, size_t *n)
{
    *text = yyjson_val_write(node->value, YYJSON_WRITE_ALLOW_INF_AND_NAN, n);
    return *text != NULL ? ZC_OK : zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
}

/* ---- extension points of format 3 --------------------------------------------------------------- */

const char *zc_node_extension(const zc_node *node, zc_node *configuration)
{
    const zc_node name = zc_node_member(node, "name");

    *configuration = zc_node_member(node, "configuration");
    if (zc_node_is_string(node)) {
        return zc_node_string(node);
    }
    zc_node_object(node);
    ZC_MEMBERS(node, "name", "configuration", "must_understand");
    const char *const text = zc_node_string(&name);
    if (configuration->value != NULL) {
        zc_node_object(configuration);
    }
    zc_node_optional_bool(node, "must_understand", true);
    return text;
}
