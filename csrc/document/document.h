/* SPDX-License-Identifier: MIT
 *
 * Metadata documents of arrays, zarr.json and .zarray, as what the engine needs to know.
 *
 * What the engine does natively is understood: all data types of fixed size, regular and rectilinear grids,
 * and the codecs and filters in csrc/codecs.  Everything else is refused by name.
 */
#pragma once

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
    const char **names;      /* of the dimensions, NULL for one without; NULL: no dimension has one */
    uint64_t kind_hash;      /* of data type, codecs, fill value and key encoding: what makes it this array whatever its shape */
    zc_arena arena;          /* everything that zc_document_free frees, but the words of dtype */
} zc_document;

/* Parse a document into an empty (all zero) one.  zc_document_free releases its memory, after a failure as well.  The
 * functions below leave failures in the document's own error (json.h). */
zc_status zc_document_v3(zc_document *doc, const zc_node *root);
zc_status zc_document_v2(zc_document *doc, const zc_node *root);
void zc_document_free(zc_document *doc);

/* ---- data types --------------------------------------------------------------------------------- */

/* A data type by its name in format 3, or by its string or list of fields in format 2.  zc_dtype_free must
 * follow, after a failure too. */
void zc_dtype_parse(const zc_node *node, int format, zc_dtype *out);
void zc_dtype_free(zc_dtype *dtype);

/* What zc_dtype_parse shares with structured types: *out is zero, and words are added to it. */
void zc_dtype_plain(const zc_node *node, int format, zc_dtype *out);
void zc_dtype_add_words(const zc_node *node, zc_dtype *dtype, zc_words words);

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
zc_item zc_dtype_item(zc_document *doc, const zc_node *node);
zc_item zc_dtype_item_as(zc_document *doc, const zc_node *node, bool big_endian);

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
zc_node zc_dtype_fields(const zc_node *node, int format, zc_node *holder);

/* Read the field at item into *out, which must not move afterwards. */
void zc_field_at(const zc_node *item, int format, zc_field *out);

void zc_dtype_struct(const zc_node *node, const zc_node *fields, int format, int depth, zc_dtype *out);

/* The number of the extension registry that has that name; numpy has no kind for these. */
bool zc_extension_number(const char *name, zc_number_kind *out);

/* ---- fill values -------------------------------------------------------------------------------- */

/* The fill value of an array of the data type at dtype_node as dtype->size bytes in the byte order of the
 * machine. */
void zc_fill_value(const zc_node *node, const zc_node *dtype_node, const zc_dtype *dtype, int format, uint8_t *out);

/* The bits of a number of the data type (numbers and times only); format 2 has more spellings. */
void zc_fill_number(const zc_node *node, const char *name, char kind, size_t size, int format, uint8_t *out);

/* ---- chunks ------------------------------------------------------------------------------------- */

/* Shape and chunks, with checks of what follows from both. */
void zc_grid_regular(zc_document *doc, const zc_node *shape, const zc_node *chunks);
void zc_grid_rectilinear(zc_document *doc, const zc_node *shape, const zc_node *chunk_shapes);

/* Longest chunk along each dimension. */
void zc_grid_longest(const zc_document *doc, int64_t *out);

/* ---- codecs ------------------------------------------------------------------------------------- */

/* The codecs of format 3, each as one or two links. */
zc_links zc_codecs_v3(zc_document *doc, const zc_node *node);

/* What flows between codecs, which may be numbers. */
typedef struct zc_flow {
    char kind;               /* as of a data type; 0: bytes of whatever meaning */
    size_t size;
    bool swapped;
    bool has_number;         /* as of a data type */
    zc_number_kind number;
} zc_flow;

/* The flow that elements of the data type are: as they are stored (format 2), or in memory. */
zc_flow zc_flow_of(const zc_dtype *dtype, const zc_item *item);

/* What one codec of the engine is configured from. */
typedef struct zc_source {
    zc_arena *arena;
    const zc_node *codec;
    const zc_node *configuration;    /* format 2: the same node */
    size_t item_size;        /* of the data type, or of what filters made of it */
    zc_flow *flow;           /* what comes in, and then what goes out */
} zc_source;

/* A codec by its name, with the members of its configuration. */
typedef struct zc_known_codec {
    const char *name;
    void (*configure)(const zc_source *from, zc_codec *out);     /* NULL: there is nothing to set */
    const char *members[7];  /* ending with NULL */
    bool is_filter;          /* takes and makes numbers, or has to know them */
    bool is_self_describing; /* no member is needed to decode */
} zc_known_codec;

/* Those of numcodecs by their ids: the codecs of format 2, and those of format 3 called numcodecs.<id>.  NULL if the engine
 * has none of that name. */
const zc_known_codec *zc_find_numcodecs(const char *id);
const zc_known_codec *zc_find_v3(const char *name);
const zc_known_codec *zc_find_known(const zc_known_codec *codecs, size_t n, const char *name);

/* Configure a codec, refusing members that it has not, and what would make encoding fail. */
void zc_configure(const zc_known_codec *known, const zc_source *from, zc_codec *out);

/* Does it follow from the configuration that encoding cannot work?  Complains of the codec. */
void zc_stage_check(const zc_node *codec, const zc_codec *stage);

/* What both formats have alike: the members of blosc but `shuffle` (-1 if it is left to the item size), and those of zstd. */
void zc_blosc_options(const zc_source *from, int compressor, size_t typesize, int shuffle, zc_codec *out);
void zc_zstd_options(const zc_source *from, zc_codec *out);
