/* SPDX-License-Identifier: MIT
 *
 * bytes -> bytes codecs: one table entry each, one bounded decode for all.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/workspace.h"
#include "kernels/exact_number.h"

typedef enum zc_blosc_compressor {
    ZC_BLOSC_BLOSCLZ, ZC_BLOSC_LZ4, ZC_BLOSC_LZ4HC, ZC_BLOSC_SNAPPY, ZC_BLOSC_ZLIB, ZC_BLOSC_ZSTD
} zc_blosc_compressor;

typedef enum zc_blosc_shuffle {
    ZC_BLOSC_NOSHUFFLE, ZC_BLOSC_BYTESHUFFLE, ZC_BLOSC_BITSHUFFLE
} zc_blosc_shuffle;

/* Where packbits stores the number of unused bits of the last byte. */
typedef enum zc_padding {
    ZC_PADDING_NUMCODECS,    /* in front, of booleans that are packed from the highest bit on: as in format 2 */
    ZC_PADDING_NONE, ZC_PADDING_FIRST, ZC_PADDING_LAST
} zc_padding;

/* What cast_value does with numbers that are out of range. */
typedef enum zc_out_of_range { ZC_RANGE_ERROR, ZC_RANGE_CLAMP, ZC_RANGE_WRAP } zc_out_of_range;

/* When a codec that contains others applies one of them to a value (conditional). */
typedef enum zc_decision { ZC_DECIDE_SMALLER, ZC_DECIDE_ALWAYS, ZC_DECIDE_NEVER } zc_decision;

/* A number and the one that stands for it, as bits of their types in the low bits of a word. */
typedef struct zc_number_pair {
    uint64_t from, to;
} zc_number_pair;

/* Numbers that cast_value exchanges; the first of two that are equal counts. */
typedef struct zc_number_pairs {
    const zc_number_pair *pairs;     /* live as long as the codec */
    size_t n;
} zc_number_pairs;

typedef struct zc_codec_class zc_codec_class;
typedef struct zc_callback zc_callback;

/* The type of the numbers that a filter takes or makes. */
typedef struct zc_number {
    zc_number_kind kind;
    bool swapped;            /* not in the machine's byte order */
} zc_number;

/* Which types of numbers a codec takes. */
typedef enum zc_number_set {
    ZC_NUMBERS_OF_C,         /* integers and floats of 4 and 8 bytes */
    ZC_NUMBERS_REAL,         /* all of exact_number.h */
    ZC_NUMBERS_OF_NUMPY      /* those of cast_numpy.h */
} zc_number_set;

/* What a codec is as a filter, array -> array. */
typedef enum zc_filter_kind {
    ZC_FILTER_NONE,
    ZC_FILTER_BY_ITEM,       /* each item becomes one item, whatever the others are */
    ZC_FILTER_IN_ORDER,      /* as many items, which depend on others */
    ZC_FILTER_PACKS          /* bytes: one that counts, then one for every eight items */
} zc_filter_kind;

/* One configured codec: plain data, copied freely. */
typedef struct zc_codec zc_codec;
struct zc_codec {
    const zc_codec_class *cls;
    int level;               /* of those codecs that have one; lz4: acceleration; bitround, low_bits: bits kept */
    bool checksum;           /* zstd: frame checksum */
    bool at_start;           /* checksum codecs: before the data instead of after them */
    struct {
        zc_blosc_compressor compressor;
        zc_blosc_shuffle shuffle;
        size_t typesize;     /* 1 to 255 */
        size_t blocksize;    /* 0: blosc chooses */
    } blosc;
    size_t element;          /* shuffle: bytes of an item */
    zc_number decoded, encoded;      /* filters on numbers */
    double offset, scale;    /* fixedscaleoffset, quantize, scale_offset */
    struct {
        int64_t offset, scale;       /* scale_offset of integers: of uint64 the bits */
        bool has_offset, has_scale;  /* fixedscaleoffset: it is given as an integer, as well as its nearest float */
    } whole;
    struct {
        zc_padding padding;
        uint32_t first, width;       /* the bits of each number that are kept; width 0: numbers are flags */
    } bits;                  /* packbits */
    struct {
        uint32_t initial;
        const uint8_t *prefix;       /* n_prefix bytes, which live as long as the codec */
        size_t n_prefix;
    } lookup3;               /* jenkins_lookup3: what the sum begins from */
    bool keep_special;       /* bitround: NaN and infinities stay as they are */
    struct {
        zc_rounding rounding;
        zc_out_of_range out_of_range;
        zc_number_pairs encode, decode;
    } cast;                  /* cast_value */
    struct {
        const zc_codec *codecs;      /* n of them, which live as long as this one */
        int n;
        size_t header;       /* bytes */
        zc_decision decision;
    } nested;                /* conditional */
    const zc_callback *callback;     /* see callback.h */
};

/* One value that a codec encodes or decodes: src[0..n) to dst[0..cap), which do not overlap. */
typedef struct zc_coding {
    const zc_codec *codec;
    bool decode;
    zc_workspace *ws;
    const uint8_t *src;
    size_t n;
    uint8_t *dst;
    size_t cap;
    zc_error *err;
} zc_coding;

/* Encoded bytes: in memory, or to be read by ranges. */
typedef struct zc_encoded {
    const uint8_t *data;     /* all of them, or NULL */
    size_t n;
    const void *source;      /* where data is NULL: read copies the range from here */
    zc_status (*read)(const void *source, size_t offset, void *dst, size_t n, zc_error *err);
} zc_encoded;

/* An encoded value that is open for decoding by blocks, on one thread. */
typedef struct zc_blocks {
    const zc_codec *codec;
    const zc_encoded *encoded;
    zc_workspace *ws;
    size_t nbytes;           /* decoded, of all blocks */
    size_t block;            /* bytes that are decompressed together: threads that share a value take whole blocks */
    size_t step;             /* bytes that are well asked for at once: a block, or a part of a large one */
    void *state;             /* the codec's own */
    int pushed;              /* scratch buffers */
} zc_blocks;

struct zc_codec_class {
    const char *name;        /* "blosc", "gzip", "zlib", "zstd", "lz4", "crc32c", ... */

    /* Most bytes that one call can encode, and that one encoded value can stand for. */
    size_t max_decoded;

    /* Size of the encoding where it depends on n alone (checksums, filters), else false. */
    bool fixed_size;

    /* What decoded and encoded may be. */
    zc_number_set numbers;

    zc_filter_kind filter;

    /* Most bytes that the encoding of n bytes can take; false if n is beyond the codec's limit. */
    bool (*bound)(const zc_codec *codec, size_t n, size_t *out);

    /* *written is the size.  cap is at least bound(n), and `check` has passed. */
    zc_status (*encode)(const zc_coding *c, size_t *written);

    /*
     * The inverse.  Never writes past cap, never reads past n, allocates nothing that the header asks for; more than cap
     * bytes is ZC_ERR_SIZE, all other faults of the data ZC_ERR_CORRUPT or ZC_ERR_CHECKSUM.  Trailing bytes after a
     * complete stream are ZC_ERR_CORRUPT.  NULL for codecs with `strip`.
     */
    zc_status (*decode)(const zc_coding *c, size_t *written);

    /*
     * Decoding over the encoded bytes themselves, else both NULL: these lie at the end of the memory at dst, which is
     * `slack` bytes longer than what they decode to (0: not of such a size).  decode_over is true if dst[0..decoded)
     * has come out as decode would have made it.  If not, src is overwritten; the data may still be valid, since unusual
     * but valid streams can need more slack.
     */
    size_t (*slack)(const zc_codec *codec, size_t decoded);
    bool (*decode_over)(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                        size_t decoded);

    /*
     * Decoding the beginning, for codecs that can stop early, else NULL: true if dst[0..cap), 0 < cap <= decoded, has come
     * out as decode would have made it of a value of `decoded` bytes.  Faults in what comes later are not seen.  If not, the
     * value may still be valid.
     */
    bool (*decode_start)(const zc_coding *c, size_t decoded);

    /*
     * Decoding by blocks, where the format has them (blosc), else both NULL.  open_blocks checks the header
     * against the expected decoded size.  decode_range decodes any byte range; it is cheap where ranges
     * follow each other, since the block last touched is kept.  Neither sees faults in blocks that it does not
     * touch, nor reads their bytes.  The range lies inside of the value and has at least one byte.
     */
    zc_status (*open_blocks)(zc_blocks *blocks, size_t decoded, zc_error *err);
    zc_status (*decode_range)(zc_blocks *blocks, size_t offset, size_t nbytes, uint8_t *dst, zc_error *err);

    /*
     * Decoding in place, for codecs that only add bytes around the data (checksums), else NULL: check src and
     * point *out to the data inside of it.
     */
    zc_status (*strip)(const zc_codec *codec, const uint8_t *src, size_t n, const uint8_t **out,
                       size_t *out_n, zc_error *err);

    /* Can encode follow this configuration?  ZC_ERR_ARGUMENT or ZC_ERR_UNSUPPORTED if not.  NULL: always. */
    zc_status (*check)(const zc_codec *codec, zc_error *err);

    /* Of the checksum codecs: the four bytes, little-endian, that are stored with the data. */
    uint32_t (*checksum)(const zc_codec *codec, const uint8_t *data, size_t n);

    /*
     * About how many nanoseconds each decoded byte takes: what the number of threads is chosen by.  NULL: what most
     * filters need.
     */
    double (*byte_ns)(const zc_codec *codec, bool encode);

    /* What zc_codec_init sets (its cls is not used). */
    zc_codec defaults;
};

/* The class of that name, or NULL. */
const zc_codec_class *zc_codec_find(const char *name);

/* Does the codec take numbers of that kind? */
bool zc_codec_takes(const zc_codec_class *cls, zc_number_kind kind);

/* All classes, ending with NULL. */
extern const zc_codec_class *const zc_codec_classes[];

/* A codec of that name with its default configuration; false if the name is unknown. */
bool zc_codec_init(zc_codec *codec, const char *name);

/* Encoded bytes that lie in memory. */
static inline zc_encoded zc_encoded_bytes(const void *data, size_t n)
{
    return (zc_encoded){.data = data, .n = n};
}

/*
 * Open a value whose codec has blocks.  encoded outlives *out.  Nothing is to be closed after a failure; else
 * zc_blocks_close releases the scratch buffers, which must be the last ones opened.
 */
zc_status zc_blocks_open(const zc_codec *codec, const zc_encoded *encoded, size_t decoded, zc_workspace *ws,
                         zc_blocks *out, zc_error *err);
void zc_blocks_close(zc_blocks *blocks);

/* Decode nbytes at offset; ZC_ERR_RANGE if that leaves the value. */
zc_status zc_blocks_decode(zc_blocks *blocks, size_t offset, size_t nbytes, uint8_t *dst, zc_error *err);

/* zc_codec_class.bound of codecs whose encodings are as long as what they encode. */
bool zc_bound_same(const zc_codec *codec, size_t n, size_t *out);

/* Put n bytes that c->src stands for to c->dst; ZC_ERR_SIZE if they are too many. */
zc_status zc_codec_put(const zc_coding *c, const uint8_t *data, size_t n, size_t *written);

/* zc_codec_class.encode or .decode of codecs that have nothing to do there. */
zc_status zc_codec_copy(const zc_coding *c, size_t *written);

/* Refuse a configuration that cannot be encoded with; names the codec in err. */
zc_status zc_codec_check(const zc_codec *codec, zc_error *err);

/* Is cap as large as encode needs it for n bytes?  For assertions.  What a callback needs is learnt, by any thread and at any time: it
 * says itself when there is too little (ZC_ERR_ROOM). */
static inline bool zc_codec_has_room(const zc_codec *codec, size_t n, size_t cap)
{
    size_t most;

    return codec->callback != NULL || !codec->cls->bound(codec, n, &most) || cap >= most;
}

/* Encode src[0..n) to dst[0..cap); *written is the size.  Names the codec in err, as the next two do. */
zc_status zc_codec_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                          uint8_t *dst, size_t cap, size_t *written, zc_error *err);

/* Decode src[0..n) to at most cap bytes at dst, or to exactly that many. */
zc_status zc_codec_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                          uint8_t *dst, size_t cap, size_t *written, zc_error *err);
zc_status zc_codec_decode_exact(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                uint8_t *dst, size_t decoded, zc_error *err);
