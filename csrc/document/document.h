/* SPDX-License-Identifier: MIT
 *
 * Metadata documents of arrays, zarr.json and .zarray, as what the engine needs to know.
 *
 * What the engine does natively is understood: all data types of fixed size, regular and rectilinear grids,
 * and the codecs and filters in csrc/codecs.  Everything else is refused by name.
 */
#ifndef ZC_DOCUMENT_DOCUMENT_H
#define ZC_DOCUMENT_DOCUMENT_H

#include "base/arena.h"
#include "base/cpu.h"
#include "capi/handle.h"
#include "document/json.h"
#include "engine/chain_compile.h"
#include "engine/engine.h"

#define ZC_ITEM_MAX ((size_t)1 << 24)        /* bytes of one element */
#define ZC_WORDS_MAX ((size_t)1 << 16)       /* entries of zc_words */

/* Inside an item: `count` words of `word` bytes from byte `offset` on, in a byte order of their own. */
typedef struct zc_words {
    zc_swap_field at;
    bool big_endian;         /* part of the data type in format 2, of the codec `bytes` in format 3 */
} zc_words;

/* A data type of fixed size, in memory in the byte order of the machine. */
typedef struct zc_dtype {
    char kind;               /* b, i, u, f, c, S, U, V, M, m as numpy has them */
    size_t size;
    char typestr[ZC_TYPESTR_SIZE];
    bool has_number;         /* of kind V: number is a small one of the extension registry */
    zc_number_kind number;
    zc_words *words;         /* ascending, n_words of them; NULL for those made by hand */
    size_t n_words, room;
} zc_dtype;

typedef struct zc_document {
    zc_array array;
    zc_dtype dtype;
    zc_arena arena;          /* everything that zc_document_free frees, but the words of dtype */
} zc_document;

/* Parse a document into an empty (all zero) one.  zc_document_free releases its memory, after a failure as well. */
zc_status zc_document_v3(zc_document *doc, const zc_node *root);
zc_status zc_document_v2(zc_document *doc, const zc_node *root);
void zc_document_free(zc_document *doc);

/* ---- data types --------------------------------------------------------------------------------- */

/* A data type by its name in format 3, or by its string or list of fields in format 2.  zc_dtype_free must
 * follow, after a failure too. */
zc_status zc_dtype_parse(const zc_node *node, int format, zc_dtype *out);
void zc_dtype_free(zc_dtype *dtype);

/* What zc_dtype_parse shares with structured types: *out is zero, and words are added to it. */
zc_status zc_dtype_plain(const zc_node *node, int format, zc_dtype *out);
zc_status zc_dtype_add_words(const zc_node *node, zc_dtype *dtype, size_t offset, uint32_t word, size_t count,
                             bool big_endian);

/* The parts of a type string of numpy such as "<M8[25s]"; false if it is none. */
typedef struct zc_typestr {
    char order, kind;
    size_t size;             /* as written */
    char unit[24];           /* "[25s]", or "" */
} zc_typestr;

bool zc_typestr_parse(const char *text, zc_typestr *out);

/* The same where the byte order may be left out; `order` stands for it then. */
bool zc_typestr_of_numpy(const char *text, char order, zc_typestr *out);

/* A number or Boolean by its name in format 3 and in numpy, or by its kind and size; NULL if numpy has none. */
typedef struct zc_named_dtype {
    const char *name;
    char kind;
    uint8_t size, word;      /* bytes of an item, and of its words with a byte order: 0 for none */
    zc_number_kind number;
} zc_named_dtype;

const zc_named_dtype *zc_numpy_name(const char *name);
const zc_named_dtype *zc_numpy_type(char kind, size_t size);

/* The item of an element whose words have these byte orders (format 2), or all the same (format 3). */
zc_status zc_dtype_item(zc_document *doc, const zc_node *node, zc_item *out);
zc_status zc_dtype_item_as(zc_document *doc, const zc_node *node, bool big_endian, zc_item *out);

/* A structured data type: is it one, and its fields one after the other. */
typedef struct zc_field {
    const char *name;
    zc_node dtype;           /* of one element */
    zc_node shape;           /* of a sub-array (format 2), or its value is NULL */
    size_t count;            /* elements */
    zc_node holder;          /* the field itself; what the nodes above point to */
    char padding[16];        /* padding has no name, numpy calls it so (format 2) */
} zc_field;

/* The list of fields, or a NULL value where the data type is not structured. */
zc_status zc_dtype_fields(const zc_node *node, int format, zc_node *holder, zc_node *out);

/* Read the field at item into *out, which must not move afterwards. */
zc_status zc_field_at(const zc_node *item, int format, zc_field *out);

zc_status zc_dtype_struct(const zc_node *node, const zc_node *fields, int format, int depth, zc_dtype *out);

/* The number of the extension registry that has that name; numpy has no kind for these. */
bool zc_extension_number(const char *name, zc_number_kind *out);

/* ---- fill values -------------------------------------------------------------------------------- */

/* The fill value of an array of the data type at dtype_node as dtype->size bytes in the byte order of the
 * machine. */
zc_status zc_fill_value(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format,
                        uint8_t *out);

/* The bits of a number of the data type (numbers and times only); format 2 has more spellings. */
zc_status zc_fill_number(const zc_node *node, const char *name, char kind, size_t size, int format,
                         uint8_t *out);

/* ---- chunks ------------------------------------------------------------------------------------- */

/* Shape and chunks, with checks of what follows from both. */
zc_status zc_grid_regular(zc_document *doc, const zc_node *shape, const zc_node *chunks);
zc_status zc_grid_rectilinear(zc_document *doc, const zc_node *shape, const zc_node *chunk_shapes);

/* Longest chunk along each dimension. */
void zc_grid_longest(const zc_document *doc, int64_t *out);

/* ---- codecs ------------------------------------------------------------------------------------- */

/* The codecs of format 3, each as one or two links. */
zc_status zc_codecs_v3(zc_document *doc, const zc_node *node, zc_links *out);

/* One bytes -> bytes codec; *known is false if there is none of that name, and nothing has been set then. */
zc_status zc_stage_v3(const zc_node *codec, const char *name, const zc_node *configuration, size_t item_size,
                      zc_codec *out, bool *known);

/* What flows between the codecs of format 2, which may be numbers. */
typedef struct zc_flow {
    char kind;               /* as of a data type; 0: bytes of whatever meaning */
    size_t size;
    bool swapped;
    bool has_number;         /* as of a data type */
    zc_number_kind number;
} zc_flow;

/* The flow that elements of the data type are: as they are stored (format 2), or in memory. */
zc_flow zc_flow_of(const zc_dtype *dtype, const zc_item *item);

/* A codec of numcodecs by its id: the codecs of format 2, and those of format 3 called numcodecs.<id>.
 * *known is false if the engine has none of that id.  *flow becomes what it makes.  In format 2, codec and configuration
 * are the same node. */
zc_status zc_stage_numcodecs(const zc_node *codec, const char *id, const zc_node *configuration,
                             size_t item_size, zc_flow *flow, zc_codec *out, bool *known);

/* A codec of format 3 that sees numbers in the items, one of the names that zc_filter_known knows. */
bool zc_filter_known(const char *name);
zc_status zc_filter_v3(const zc_node *codec, const char *name, const zc_node *configuration, zc_document *doc,
                       zc_flow *flow, zc_codec *out);

/* Is it one that has to know the numbers (in format 3: array -> array)? */
bool zc_numcodecs_is_filter(const char *id);

/* Does it follow from the configuration that encoding cannot work?  Complains of the codec. */
zc_status zc_stage_check(const zc_node *codec, const zc_codec *stage);

#endif
