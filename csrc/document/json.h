/* SPDX-License-Identifier: MIT
 *
 * A thin layer over yyjson: values that know where in their document they lie, so that errors name that place.
 *
 * Only libzarrcore (the build without Python) has this directory.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "include/zarrcore.h"

#define ZC_ERR_METADATA ((zc_status)ZARRCORE_ERR_METADATA)

/* Most bytes of a metadata document; those that consolidate others have some hundred for each node. */
#define ZC_DOCUMENT_MAX ((size_t)1 << 28)

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

/* Parse text[0..n) with flags of yyjson; NaN, Infinity and -Infinity, in these words alone, and a byte order mark are accepted
 * with YYJSON_READ_ALLOW_INF_AND_NAN.  ZC_ERR_UNSUPPORTED: a lone surrogate, which UTF-8 cannot express. */
zc_status zc_json_read(const char *name, const char *text, size_t n, unsigned flags, struct yyjson_doc **out, zc_error *err);

/* Parse text[0..n); bare NaN and Infinity, which old writers left, only where `lenient`, and inside of "attributes" and "fill_value".
 * zc_json_close must follow only after success. */
zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, bool lenient,
                       zc_error *err);
void zc_json_close(zc_json *json);

zc_node zc_json_root(const zc_json *json);

/*
 * A document keeps its first failure, in json->err, and the functions below that refuse a value then return something
 * harmless: the lowest number, "", no items.  So readers take all that they need without a question in between, and ask
 * zc_node_ok before anything that a failure would make wrong.
 */
static inline bool zc_node_ok(const zc_node *node)
{
    return node->json->err->status == ZC_OK;
}

/* Record what is wrong with a value: "zarr.json: codecs[1].configuration.level: expected ...". */
void zc_node_fail(const zc_node *node, const char *format, ...) ZC_PRINTF(2, 3);

/* The same for what is valid, but not supported: "the codec", its name (ZC_ERR_UNSUPPORTED). */
void zc_node_unsupported(const zc_node *node, const char *what, const char *name);

/* The same for more of something than the library has room for. */
void zc_node_too_many(const zc_node *node, int most, const char *what);

/* The same for a value that is of another type than `what`, or absent. */
void zc_node_expected(const zc_node *node, const char *what);

/* n zeroed items of an arena; NULL after a failure, this one or an earlier one. */
void *zc_node_alloc(const zc_node *node, zc_arena *arena, size_t n, size_t size);

/* The member of an object; value is NULL if it is absent, or if the node is no object. */
zc_node zc_node_member(const zc_node *object, const char *name);

/* The same; null, too, is taken for absence. */
zc_node zc_node_given(const zc_node *object, const char *name);

/* The items of an array, one after the other; value is NULL after the last one, or if it is no array. */
zc_node zc_node_first(const zc_node *array);
zc_node zc_node_next(const zc_node *item);

/* For each item, as long as all goes well. */
#define ZC_EACH(item, array)                                                                     \
    for (zc_node item = zc_node_first(array); item.value != NULL && zc_node_ok(array); item = zc_node_next(&item))

/* The members of an object likewise. */
zc_node zc_node_first_member(const zc_node *object);
zc_node zc_node_next_member(const zc_node *member);

/* The length of the name of such a member, which may have zero bytes inside. */
size_t zc_node_name_length(const zc_node *member);

/* What is it?  All are false for an absent value. */
bool zc_node_is_null(const zc_node *node);
bool zc_node_is_integer(const zc_node *node);
bool zc_node_is_number(const zc_node *node);
bool zc_node_is_string(const zc_node *node);
bool zc_node_is_object(const zc_node *node);
bool zc_node_is_array(const zc_node *node);

/* Names of C end at a zero byte: a copy of n bytes in which such bytes are spelled as in JSON, so that it is nobody else's name.  Terminated;
 * takes ZC_SPELLED(n) bytes. */
#define ZC_SPELLED(n) (6 * (n) + 1)
void zc_spell(const char *text, size_t n, char *out);

/* Each of these refuses a value of another type, and one that is absent. */
int64_t zc_node_int(const zc_node *node, int64_t low, int64_t high);
double zc_node_real(const zc_node *node);        /* any number, as the nearest double */
bool zc_node_bool(const zc_node *node);
const char *zc_node_string(const zc_node *node); /* without zero bytes inside; lives as long as the document */
const char *zc_node_text(const zc_node *node, size_t *n);    /* with them */
void zc_node_object(const zc_node *node);
size_t zc_node_array(const zc_node *node);       /* the number of items */

/* The size of an integer of 64 bits, which the value is, and its sign. */
uint64_t zc_node_integer(const zc_node *node, bool *negative);

/* An array of n integers of low to high. */
void zc_node_ints(const zc_node *node, size_t n, int64_t low, int64_t high, int64_t *out);

/* An array of n lengths, from 0 on.  Some programs write 4.0 for 4. */
void zc_node_lengths(const zc_node *node, size_t n, int64_t *out);

/* An array of at most `most` such integers, in memory of an arena. */
const int64_t *zc_node_keep_ints(const zc_node *node, zc_arena *arena, size_t most, int64_t low, int64_t high, int *n);

/* The number of the string that the value is, in a list of strings that ends with NULL; ZC_CHOICE_OR: if it is there. */
int zc_node_choice(const zc_node *node, const char *const *choices);
#define ZC_CHOICE(node, ...) zc_node_choice(node, (const char *const[]){__VA_ARGS__, NULL})
#define ZC_CHOICE_OR(node, standard, ...) ((node)->value == NULL ? (standard) : ZC_CHOICE(node, __VA_ARGS__))

/* Optional members: `standard` where one is absent. */
int64_t zc_node_optional_int(const zc_node *object, const char *name, int64_t low, int64_t high, int64_t standard);
bool zc_node_optional_bool(const zc_node *object, const char *name, bool standard);

/* Members that a list lacks. */
typedef enum zc_others {
    ZC_OTHERS_REFUSED,
    ZC_OTHERS_OPTIONAL,      /* refused, but for objects with "must_understand": false */
    ZC_OTHERS_ALLOWED
} zc_others;

/* Refuse a member of the list (ends with NULL, at most 31) twice, and others. */
void zc_node_members(const zc_node *object, const char *const *names, zc_others others);
#define ZC_MEMBERS(object, ...)                                                                  \
    zc_node_members(object, (const char *const[]){__VA_ARGS__, NULL}, ZC_OTHERS_REFUSED)

/* Where a value is, "zarr.json: codecs[1]", in memory of an arena; NULL after a failure. */
const char *zc_node_keep_place(const zc_node *node, zc_arena *arena);

/* A value as JSON text, in memory of malloc.  ZC_ERR_MEMORY is left in the document's error. */
zc_status zc_node_write(const zc_node *node, char **text, size_t *n);

/* An extension of format 3, a name, or an object with a name and a configuration: its name.  *configuration has a NULL
 * value if there is none. */
const char *zc_node_extension(const zc_node *node, zc_node *configuration);
