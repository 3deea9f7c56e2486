/* SPDX-License-Identifier: MIT
 *
 * A thin layer over yyjson: values that know where in their document they lie, so that errors name that place.
 *
 * Only libzarrcore (the build without Python) has this directory.
 */
#ifndef ZC_DOCUMENT_JSON_H
#define ZC_DOCUMENT_JSON_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "include/zarrcore.h"

#define ZC_ERR_METADATA ((zc_status)ZARRCORE_ERR_METADATA)

/* No array document is longer; attributes may be, and then the array has to be opened in Python. */
#define ZC_DOCUMENT_MAX ((size_t)16 << 20)

struct yyjson_doc;
struct yyjson_val;

typedef struct zc_json {
    const char *name;        /* of the document, for messages */
    struct yyjson_doc *doc;
    zc_error *err;
} zc_json;

/* A value and its place.  Lives on the stack, inside of the life of the value around it. */
typedef struct zc_node {
    struct yyjson_val *value;        /* NULL where an optional member is absent */
    const zc_json *json;
    const struct zc_node *outer;
    const char *member;      /* its name in outer, or NULL: */
    size_t index;            /* its number in outer */
} zc_node;

/* Parse text[0..n); bare NaN and Infinity, which old writers left, only where `lenient`, and inside of "attributes" and "fill_value".
 * zc_json_close must follow only after success. */
zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, bool lenient,
                       zc_error *err);
void zc_json_close(zc_json *json);

zc_node zc_json_root(const zc_json *json);

/* The member of an object; value is NULL if it is absent, or if the node is no object. */
zc_node zc_node_member(const zc_node *object, const char *name);

/* The items of an array, one after the other; value is NULL after the last one, or if it is no array. */
zc_node zc_node_first(const zc_node *array);
zc_node zc_node_next(const zc_node *item);

/* For each item, as long as all goes well. */
#define ZC_EACH(item, array, status)                                                             \
    for (zc_node item = zc_node_first(array); (status) == ZC_OK && item.value != NULL;           \
         item = zc_node_next(&item))

/* The members of an object likewise. */
zc_node zc_node_first_member(const zc_node *object);
zc_node zc_node_next_member(const zc_node *member);

/* Write where a value is, "zarr.json: codecs[1]", cut off where there is no room; returns its length. */
size_t zc_node_place(const zc_node *node, char *out, size_t capacity);

/* Record what is wrong with a value: "zarr.json: codecs[1].configuration.level: expected ...". */
zc_status zc_node_fail(const zc_node *node, const char *format, ...) ZC_PRINTF(2, 3);

/* The same for a value that is of another type than `what`, or absent. */
zc_status zc_node_expected(const zc_node *node, const char *what);

/* What is it?  All are false for an absent value. */
bool zc_node_is_null(const zc_node *node);
bool zc_node_is_bool(const zc_node *node);
bool zc_node_is_integer(const zc_node *node);
bool zc_node_is_number(const zc_node *node);
bool zc_node_is_string(const zc_node *node);
bool zc_node_is_object(const zc_node *node);
bool zc_node_is_array(const zc_node *node);

/* Each of these refuses a value of another type, and one that is absent. */
zc_status zc_node_int(const zc_node *node, int64_t low, int64_t high, int64_t *out);
zc_status zc_node_real(const zc_node *node, double *out);        /* any number, as the nearest double */
zc_status zc_node_bool(const zc_node *node, bool *out);
zc_status zc_node_string(const zc_node *node, const char **out); /* without zero bytes inside */
zc_status zc_node_text(const zc_node *node, const char **out, size_t *n);   /* with them */
zc_status zc_node_object(const zc_node *node);
zc_status zc_node_array(const zc_node *node, size_t *n);

/* An integer of 64 bits and its sign; ZC_ERR_METADATA for all other numbers. */
zc_status zc_node_integer(const zc_node *node, bool *negative, uint64_t *magnitude);

/* An array of n integers of low to high. */
zc_status zc_node_ints(const zc_node *node, size_t n, int64_t low, int64_t high, int64_t *out);

/* One of the strings of a list that ends with NULL; *out is its number. */
zc_status zc_node_choice(const zc_node *node, const char *const *choices, int *out);

/* Refuse a member twice, and members that are not in the list (ends with NULL, at most 31).  Where
 * `tolerant`, the latter only if they are not objects with "must_understand": false. */
zc_status zc_node_members(const zc_node *object, const char *const *names, bool tolerant);

/* Refuse a member of the list twice; members that are not in it may be there. */
zc_status zc_node_members_once(const zc_node *object, const char *const *names);

/* Optional members: *inout stays as it is where one is absent. */
zc_status zc_node_optional_int(const zc_node *object, const char *name, int64_t low, int64_t high,
                               int64_t *inout);
zc_status zc_node_optional_bool(const zc_node *object, const char *name, bool *inout);

static inline zc_status zc_node_no_memory(const zc_node *node)
{
    return zc_fail(node->json->err, ZC_ERR_MEMORY, "out of memory");
}

/* What zc_node_place writes, in memory of the arena; NULL when out of memory. */
const char *zc_node_keep_place(zc_arena *arena, const zc_node *node);

/* An array of at most `most` integers of low to high, likewise. */
zc_status zc_node_keep_ints(zc_arena *arena, const zc_node *node, size_t most, int64_t low, int64_t high,
                            const int64_t **out, int *n);

/* An extension of format 3: a name, or an object with a name and a configuration.  *name lives as long as the
 * document, *configuration has a NULL value if there is none; *optional: a reader who does not know it may leave it
 * out. */
zc_status zc_node_extension(const zc_node *node, const char **name, zc_node *configuration, bool *optional);

#endif
