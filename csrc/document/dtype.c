/* SPDX-License-Identifier: MIT
 *
 * Data types: their names in format 3 and their strings in format 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "document/document.h"

/* Zarr v3 specification, "Core data types"; then names of the extension registry (its small numbers: exact_number.h). */
static const zc_named_dtype named[] = {
    {"bool", 'b', 1, 0, ZC_NUMBER_BOOL},       {"int8", 'i', 1, 0, ZC_NUMBER_I8},
    {"int16", 'i', 2, 2, ZC_NUMBER_I16},       {"int32", 'i', 4, 4, ZC_NUMBER_I32},
    {"int64", 'i', 8, 8, ZC_NUMBER_I64},       {"uint8", 'u', 1, 0, ZC_NUMBER_U8},
    {"uint16", 'u', 2, 2, ZC_NUMBER_U16},      {"uint32", 'u', 4, 4, ZC_NUMBER_U32},
    {"uint64", 'u', 8, 8, ZC_NUMBER_U64},      {"float16", 'f', 2, 2, ZC_NUMBER_F16},
    {"float32", 'f', 4, 4, ZC_NUMBER_F32},     {"float64", 'f', 8, 8, ZC_NUMBER_F64},
    {"complex64", 'c', 8, 4, ZC_NUMBER_C64},   {"complex128", 'c', 16, 8, ZC_NUMBER_C128},
    {"complex_float32", 'c', 8, 4, ZC_NUMBER_C64}, {"complex_float64", 'c', 16, 8, ZC_NUMBER_C128},
};

enum { N_NAMED = sizeof named / sizeof named[0], N_NUMPY = 14 };

void zc_dtype_free(zc_dtype *dtype)
{
    free(dtype->words);
    dtype->words = NULL;
    dtype->n_words = dtype->room = 0;
}

void zc_dtype_add_words(const zc_node *node, zc_dtype *dtype, zc_words words)
{
    if (dtype->n_words == ZC_WORDS_MAX) {
        zc_node_fail(node, "an item has more than %zu fields with a byte order", ZC_WORDS_MAX);
        return;
    }
    zc_words *const all = zc_grow(dtype->words, dtype->n_words + 1, &dtype->room, sizeof *all);
    if (all == NULL) {
        zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
        return;
    }
    dtype->words = all;
    dtype->words[dtype->n_words++] = words;
}

/* Everything of a plain type but its unit. */
static void set_plain(const zc_node *node, zc_dtype *out, char kind, size_t size, uint32_t word, bool big_endian,
                      const char *unit)
{
    const char order = word == 0 ? '|' : ZC_BIG_ENDIAN ? '>' : '<';
    const size_t number = kind == 'U' ? size / 4 : size;

    if (size < 1 || size > ZC_ITEM_MAX) {
        zc_node_fail(node, "an item must have 1 to %zu bytes, got %zu", ZC_ITEM_MAX, size);
        return;
    }
    out->kind = kind;
    out->size = size;
    snprintf(out->typestr, sizeof out->typestr, "%c%c%zu%s", order, kind, number, unit);
    if (word > 0) {
        zc_dtype_add_words(node, out, (zc_words){{0, word, (uint32_t)(size / word)}, big_endian});
    }
}

static void set_named(const zc_node *node, const zc_named_dtype *found, bool big_endian, zc_dtype *out)
{
    set_plain(node, out, found->kind, found->size, found->word, big_endian, "");
}

static const zc_named_dtype *find_named(const char *name, int most)
{
    for (int i = 0; i < most; i++) {
        if (strcmp(named[i].name, name) == 0) {
            return &named[i];
        }
    }
    return NULL;
}

const zc_named_dtype *zc_numpy_name(const char *name)
{
    return find_named(name, N_NUMPY);
}

const zc_named_dtype *zc_numpy_type(char kind, size_t size)
{
    for (int i = 0; i < N_NUMPY; i++) {
        if (named[i].kind == kind && named[i].size == size) {
            return &named[i];
        }
    }
    return NULL;
}

bool zc_extension_number(const char *name, zc_number_kind *out)
{
    return zc_number_named(name, out) && *out >= ZC_NUMBER_BF16;
}

static void set_number(const zc_node *node, zc_number_kind number, zc_dtype *out)
{
    const size_t size = zc_number_size(number);

    set_plain(node, out, 'V', size, size > 1 ? (uint32_t)size : 0, false, "");
}

static bool is_unit(const char *unit)
{
    static const char *const units[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as",
                                        "\xce\xbcs", "\xc2\xb5s", "generic"};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "[10s]" as numpy would have it. */
static void put_unit(int32_t scale, const char *unit, char *out, size_t capacity)
{
    const bool micro = (unsigned char)unit[0] >= 0x80;

    out[0] = '\0';
    if (strcmp(unit, "generic") != 0 && scale == 1) {
        snprintf(out, capacity, "[%.7s]", micro ? "us" : unit);
    } else if (strcmp(unit, "generic") != 0) {
        snprintf(out, capacity, "[%d%.7s]", (int)scale, micro ? "us" : unit);
    }
}

/* ---- format 3 ----------------------------------------------------------------------------------- */

/* r<N>: N bits that mean nothing to anybody, N a multiple of 8. */
static bool raw_bits(const char *name, size_t *size)
{
    char *end;

    if (name[0] != 'r' || name[1] < '1' || name[1] > '9') {
        return false;
    }
    const unsigned long long bits = strtoull(name + 1, &end, 10);
    *size = (size_t)(bits / 8);
    return *end == '\0' && bits % 8 == 0 && bits / 8 <= ZC_ITEM_MAX;
}

static void time_v3(const zc_node *configuration, char kind, zc_dtype *out)
{
    const zc_node unit_node = zc_node_member(configuration, "unit");
    const zc_node scale_node = zc_node_member(configuration, "scale_factor");
    char suffix[24];

    ZC_MEMBERS(configuration, "unit", "scale_factor");
    const char *const unit = zc_node_string(&unit_node);
    const int64_t scale = zc_node_int(&scale_node, 1, INT32_MAX);
    if (!is_unit(unit)) {
        zc_node_fail(&unit_node, "\"%.20s\" is no unit of time", unit);
    }
    put_unit((int32_t)scale, unit, suffix, sizeof suffix);
    set_plain(configuration, out, kind, 8, 8, false, suffix);
}

/* Types with a length in bytes. */
static void sized_v3(const zc_node *configuration, char kind, zc_dtype *out)
{
    const zc_node node = zc_node_member(configuration, "length_bytes");

    ZC_MEMBERS(configuration, "length_bytes");
    const int64_t length = zc_node_int(&node, 1, (int64_t)ZC_ITEM_MAX);
    if (kind == 'U' && length % 4 != 0) {
        zc_node_fail(&node, "expected a multiple of 4, got %lld", (long long)length);
    }
    set_plain(configuration, out, kind, (size_t)length, kind == 'U' ? 4 : 0, false, "");
}

static void configured_v3(const zc_node *node, const char *name, const zc_node *configuration, zc_dtype *out)
{
    static const struct {
        const char *name;
        char kind;
        void (*set)(const zc_node *configuration, char kind, zc_dtype *out);
    } types[] = {{"null_terminated_bytes", 'S', sized_v3}, {"fixed_length_utf32", 'U', sized_v3},
                 {"raw_bytes", 'V', sized_v3},             {"numpy.datetime64", 'M', time_v3},
                 {"numpy.timedelta64", 'm', time_v3}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, name) == 0) {
            zc_node_object(configuration);
            types[i].set(configuration, types[i].kind, out);
            return;
        }
    }
    zc_node_unsupported(node, "the data type", name);
}

static void plain_v3(const zc_node *node, zc_dtype *out)
{
    zc_node configuration;
    size_t size = 0;
    const char *const name = zc_node_extension(node, &configuration);
    const zc_named_dtype *const found = find_named(name, N_NAMED);
    const bool raw = raw_bits(name, &size), small = zc_extension_number(name, &out->number);

    if (found == NULL && !raw && !small) {
        configured_v3(node, name, &configuration, out);
        return;
    }
    ZC_MEMBERS(&configuration, NULL);
    out->has_number = small;
    if (small) {
        set_number(node, out->number, out);
    } else if (found != NULL) {
        set_named(node, found, false, out);
    } else {
        set_plain(node, out, 'V', size, 0, false, "");
    }
}

/* ---- format 2 ----------------------------------------------------------------------------------- */

bool zc_typestr_parse(const char *text, zc_typestr *out)
{
    char *end = NULL;

    *out = (zc_typestr){.order = text[0]};
    if (text[0] == '\0' || strchr("<>|=", text[0]) == NULL || text[1] == '\0') {
        return false;
    }
    out->kind = text[1];
    if (text[2] < '0' || text[2] > '9') {
        return false;
    }
    out->size = (size_t)strtoull(text + 2, &end, 10);
    if (end - text > 12 || strlen(end) >= sizeof out->unit) {
        return false;
    }
    memcpy(out->unit, end, strlen(end) + 1);
    return true;
}

/* "[10s]": the unit must be one, and comes out as numpy would have it. */
static bool normalise_unit(const char *text, char *out, size_t capacity)
{
    char unit[24];
    char *at = NULL;
    const size_t length = strlen(text);

    out[0] = '\0';
    if (length == 0) {
        return true;
    }
    if (length < 3 || length >= sizeof unit || text[0] != '[' || text[length - 1] != ']') {
        return false;
    }
    memcpy(unit, text + 1, length - 2);
    unit[length - 2] = '\0';
    const bool scaled = unit[0] >= '1' && unit[0] <= '9';
    const long long scale = scaled ? strtoll(unit, &at, 10) : 1;
    if (scale > INT32_MAX || !is_unit(scaled ? at : unit)) {
        return false;
    }
    put_unit((int32_t)scale, scaled ? at : unit, out, capacity);
    return true;
}

static void typestr_v2(const zc_node *node, const char *text, const zc_typestr *type, zc_dtype *out)
{
    const bool ordered = type->order != '|', big = type->order == '>', plain = type->unit[0] == '\0';
    const zc_named_dtype *const one = plain ? zc_numpy_type(type->kind, type->size) : NULL;
    char unit[24];

    if (one != NULL && (one->word == 0 || ordered)) {
        set_named(node, one, big, out);
    } else if (plain && (type->kind == 'S' || type->kind == 'V')) {
        set_plain(node, out, type->kind, type->size, 0, false, "");
    } else if (plain && type->kind == 'U' && ordered && type->size <= ZC_ITEM_MAX) {
        set_plain(node, out, 'U', 4 * type->size, 4, big, "");
    } else if ((type->kind == 'M' || type->kind == 'm') && type->size == 8 && ordered &&
               normalise_unit(type->unit, unit, sizeof unit)) {
        set_plain(node, out, type->kind, 8, 8, big, unit);
    } else {
        zc_node_unsupported(node, "the data type", text);
    }
}

bool zc_typestr_of_numpy(const char *text, char order, zc_typestr *out)
{
    char ordered[32] = {order};

    if (strchr("<>|=", text[0]) != NULL) {
        return zc_typestr_parse(text, out);
    }
    if (strlen(text) + 2 > sizeof ordered) {
        return false;
    }
    strcpy(ordered + 1, text);
    return zc_typestr_parse(ordered, out);
}

static void plain_v2(const zc_node *node, zc_dtype *out)
{
    const char *const text = zc_node_string(node);
    const zc_named_dtype *const found = zc_numpy_name(text);
    zc_typestr type;
    zc_number_kind number;

    /* A byte order that is missing is little-endian: all known writers ran on such machines. */
    if (zc_typestr_of_numpy(text, '<', &type)) {
        typestr_v2(node, text, &type, out);
    } else if (found != NULL) {
        set_named(node, found, false, out);
    } else if (zc_extension_number(text, &number)) { /* names of format 3, as tensorstore writes: little-endian items */
        set_number(node, number, out);
    } else {
        zc_node_unsupported(node, "the data type", text);
    }
}

/* ---- both --------------------------------------------------------------------------------------- */

void zc_dtype_plain(const zc_node *node, int format, zc_dtype *out)
{
    (format == 2 ? plain_v2 : plain_v3)(node, out);
}

/* The words that are not in the byte order of the machine, as an item; big_endian NULL: each in its own order. */
static zc_item make_item(zc_document *doc, const zc_node *node, const bool *big_endian)
{
    const zc_dtype *const dtype = &doc->dtype;
    zc_swap_field *const fields = zc_node_alloc(node, &doc->arena, dtype->n_words, sizeof fields[0]);
    uint32_t n = 0;

    for (size_t i = 0; i < dtype->n_words && fields != NULL; i++) {
        if ((big_endian != NULL ? *big_endian : dtype->words[i].big_endian) != ZC_BIG_ENDIAN) {
            fields[n++] = dtype->words[i].at;
        }
    }
    if (n == 1 && fields[0].offset == 0 && (size_t)fields[0].word * fields[0].count == dtype->size) {
        return (zc_item){.size = dtype->size, .word = fields[0].word};
    }
    return (zc_item){.size = dtype->size, .n_fields = n, .fields = fields};
}

zc_item zc_dtype_item(zc_document *doc, const zc_node *node)
{
    return make_item(doc, node, NULL);
}

zc_item zc_dtype_item_as(zc_document *doc, const zc_node *node, bool big_endian)
{
    return make_item(doc, node, &big_endian);
}
