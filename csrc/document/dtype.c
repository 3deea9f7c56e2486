/* SPDX-License-Identifier: MIT
 *
 * Data types: their names in format 3 and their strings in format 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document/document.h"

typedef struct named_dtype {
    const char *name;
    char kind;
    uint8_t size;
    uint8_t word;
} named_dtype;

/* Zarr v3 specification, "Core data types". */
static const named_dtype named[] = {
    {"bool", 'b', 1, 0},     {"int8", 'i', 1, 0},     {"int16", 'i', 2, 2},     {"int32", 'i', 4, 4},
    {"int64", 'i', 8, 8},    {"uint8", 'u', 1, 0},    {"uint16", 'u', 2, 2},    {"uint32", 'u', 4, 4},
    {"uint64", 'u', 8, 8},   {"float16", 'f', 2, 2},  {"float32", 'f', 4, 4},   {"float64", 'f', 8, 8},
    {"complex64", 'c', 8, 4}, {"complex128", 'c', 16, 8},
};

enum { N_NAMED = sizeof named / sizeof named[0] };

static void set_dtype(zc_dtype *out, char kind, size_t size, uint32_t word)
{
    const char order = word == 0 ? '|' : zc_big_endian() ? '>' : '<';

    *out = (zc_dtype){.kind = kind, .size = size, .word = word};
    snprintf(out->typestr, sizeof out->typestr, "%c%c%zu", order, kind, size);
}

/* r<N>: N bits that mean nothing to anybody, N a multiple of 8. */
static bool raw_bits(const char *name, size_t *size)
{
    char *end;

    if (name[0] != 'r' || name[1] < '1' || name[1] > '9') {
        return false;
    }
    const unsigned long bits = strtoul(name + 1, &end, 10);
    if (*end != '\0' || bits % 8 != 0 || bits / 8 > ZC_ITEM_MAX) {
        return false;
    }
    *size = bits / 8;
    return true;
}

static bool find_dtype(const char *name, zc_dtype *out)
{
    size_t size;

    for (int i = 0; i < N_NAMED; i++) {
        if (strcmp(named[i].name, name) == 0) {
            set_dtype(out, named[i].kind, named[i].size, named[i].word);
            return true;
        }
    }
    if (raw_bits(name, &size)) {
        set_dtype(out, 'V', size, 0);
        return true;
    }
    return false;
}

zc_status zc_dtype_v3(const zc_node *node, zc_dtype *out)
{
    static const char *const members[] = {"name", "configuration", "must_understand", NULL};
    static const char *const none[] = {NULL};
    const zc_node member = zc_node_member(node, "name");
    const zc_node configuration = zc_node_member(node, "configuration");
    const bool is_object = cJSON_IsObject(node->value);
    const char *name;
    zc_status status = zc_node_string(is_object ? &member : node, &name);

    if (status == ZC_OK && !find_dtype(name, out)) {
        status = zc_node_fail(node, "the data type \"%.60s\" is not supported", name);
    }
    if (status == ZC_OK && is_object) {
        status = zc_node_members(node, members, false);
    }
    if (status == ZC_OK && configuration.value != NULL) {
        status = zc_node_object(&configuration);
        status = status == ZC_OK ? zc_node_members(&configuration, none, false) : status;
    }
    return status;
}

zc_status zc_dtype_v2(const zc_node *node, zc_dtype *out, char *byte_order)
{
    const char *text;

    if (cJSON_IsArray(node->value)) {
        return zc_node_fail(node, "structured data types are not supported");
    }
    const zc_status status = zc_node_string(node, &text);
    if (status != ZC_OK) {
        return status;
    }
    if (strlen(text) >= 3 && strlen(text) <= 4 && strchr("<>|", text[0]) != NULL) {
        char *end;
        const long size = text[2] >= '1' && text[2] <= '9' ? strtol(text + 2, &end, 10) : 0;
        for (int i = 0; i < N_NAMED && size > 0 && *end == '\0'; i++) {
            if (named[i].kind == text[1] && named[i].size == size && (named[i].word == 0 || text[0] != '|')) {
                set_dtype(out, named[i].kind, named[i].size, named[i].word);
                *byte_order = named[i].word == 0 ? '|' : text[0];
                return ZC_OK;
            }
        }
    }
    return zc_node_fail(node, "the data type \"%.60s\" is not supported", text);
}

zc_item zc_dtype_item(const zc_dtype *dtype, bool big_endian)
{
    return (zc_item){.size = dtype->size, .word = big_endian != zc_big_endian() ? dtype->word : 0};
}
