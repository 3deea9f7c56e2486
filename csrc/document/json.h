/* SPDX-License-Identifier: MIT
 *
 * A thin layer over cJSON: values that know where in their document they lie, so that a complaint says it.
 *
 * Only libzarrcore (the build without Python) has this directory.
 */
#ifndef ZC_DOCUMENT_JSON_H
#define ZC_DOCUMENT_JSON_H

#include <cJSON.h>

#include "base/status.h"
#include "include/zarrcore.h"

#define ZC_ERR_METADATA ((zc_status)ZARRCORE_ERR_METADATA)

/* No array document is longer; attributes may be, and then the array has to be opened in Python. */
#define ZC_DOCUMENT_MAX ((size_t)16 << 20)

typedef struct zc_json {
    const char *name;        /* of the document, for messages */
    const char *text;
    size_t n;
    cJSON *root;
    zc_error *err;
} zc_json;

/* A value and its place.  Lives on the stack, inside of the life of the value around it. */
typedef struct zc_node {
    const cJSON *value;      /* NULL where an optional member is absent */
    const zc_json *json;
    const struct zc_node *outer;
    const char *member;      /* its name in outer, or NULL: */
    int index;               /* its number in outer */
} zc_node;

/* Parse text[0..n), which must stay as long as json.  zc_json_close must follow only after success. */
zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, zc_error *err);
void zc_json_close(zc_json *json);

zc_node zc_json_root(const zc_json *json);

/* The member of an object; value is NULL if it is absent. */
zc_node zc_node_member(const zc_node *object, const char *name);
zc_node zc_node_item(const zc_node *array, int index);

/* Record what is wrong with a value: "zarr.json: codecs[1].configuration.level: expected ...". */
zc_status zc_node_fail(const zc_node *node, const char *format, ...) ZC_PRINTF(2, 3);

/* Each of these refuses a value of another type, and one that is absent. */
zc_status zc_node_int(const zc_node *node, int64_t low, int64_t high, int64_t *out);
zc_status zc_node_bool(const zc_node *node, bool *out);
zc_status zc_node_string(const zc_node *node, const char **out);
zc_status zc_node_object(const zc_node *node);
zc_status zc_node_array(const zc_node *node, int *n);

/* An array of n integers of low to high. */
zc_status zc_node_ints(const zc_node *node, int n, int64_t low, int64_t high, int64_t *out);

/* One of the strings of a list that ends with NULL; *out is its number. */
zc_status zc_node_choice(const zc_node *node, const char *const *choices, int *out);

/* Refuse a member twice, and members that are not in the list (ends with NULL, at most 31).  Where
 * `tolerant`, the latter only if they are not objects with "must_understand": false. */
zc_status zc_node_members(const zc_node *object, const char *const *names, bool tolerant);

/* The characters of a number that is a member of the root, exactly as written; NULL if they cannot be
 * found. */
const char *zc_json_number_text(const zc_json *json, const char *member);

static inline bool zc_node_is_string(const zc_node *node)
{
    return cJSON_IsString(node->value) && node->value->valuestring != NULL;
}

#endif
