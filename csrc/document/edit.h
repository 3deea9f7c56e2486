/* SPDX-License-Identifier: MIT
 *
 * Documents that are changed: everything else in them stays as it was written, numbers digit by digit.
 */
#pragma once

#include "document/json.h"

struct yyjson_mut_doc;
struct yyjson_mut_val;

/* A terminated text in memory of malloc, or nothing: data is NULL. */
typedef struct zc_text {
    char *data;
    size_t n;
} zc_text;

void zc_text_free(zc_text *text);

/* A document under change, and one value in it. */
typedef struct zc_edit {
    const char *name;        /* for messages */
    struct yyjson_mut_doc *doc;
    zc_error *err;
} zc_edit;

typedef struct yyjson_mut_val zc_part;

/* Where a text is from decides what is accepted. */
typedef enum zc_text_from {
    ZC_FROM_STORE,           /* what other writers leave: NaN and Infinity, too */
    ZC_FROM_CALLER           /* JSON alone, no name twice in one object, nested at most ZC_NESTED_MAX deep */
} zc_text_from;

#define ZC_NESTED_MAX 200

/* Begin with a text; zc_edit_close must follow, whatever comes of it. */
zc_status zc_edit_open(zc_edit *edit, const char *name, const char *text, size_t n, zc_text_from from, zc_error *err);
void zc_edit_close(zc_edit *edit);

zc_part *zc_edit_root(const zc_edit *edit);

/* The document, or one value of it, as text: indented by two spaces, as the Python package does. */
zc_status zc_edit_text(const zc_edit *edit, const zc_part *part, zc_text *out);

/* A member of an object, or NULL: there is none, or it is no object. */
zc_part *zc_edit_member(zc_part *object, const char *name);
bool zc_edit_is_object(const zc_part *part);
bool zc_edit_is_string(const zc_part *part, const char *text);

/* The same; an empty object is put there if there is none.  ZC_ERR_METADATA if it is something else. */
zc_status zc_edit_object(zc_edit *edit, zc_part *object, const char *name, zc_part **out);

/* Put a value, which a text contains, in place of a member, or after the others. */
zc_status zc_edit_put(zc_edit *edit, zc_part *object, const char *name, const char *text, size_t n, zc_text_from from);

/* The same for the whole document. */
zc_status zc_edit_replace(zc_edit *edit, const char *text, size_t n, zc_text_from from);

/* Remove a member; is it one? */
bool zc_edit_remove(zc_part *object, const char *name);

/* Remove the members whose name is `path` or begins with path and a slash; returns how many. */
size_t zc_edit_remove_below(zc_part *object, const char *path);

/* Put another shape into the document of an array, and one more chunk into dimensions of its rectilinear grid: of that many
 * elements, 0 for none. */
zc_status zc_edit_shape(zc_edit *edit, int ndim, const int64_t *shape, const int64_t *more);
