/* SPDX-License-Identifier: MIT */
#include "codecs/deflate_whole.h"

#ifdef ZC_HAVE_LIBDEFLATE

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "codecs/contexts.h"
#include "codecs/deflate_repeat.h"
#include "codecs/inflate_repeat.h"
#include "kernels/byte_order.h"
#include "kernels/repeats.h"

/* What takes a second at most: longer values are left to zlib, which can be stopped on the way. */
#define DECODE_UP_TO ((size_t)64 << 20)
#define MIB ((size_t)1 << 20)
#define REPEAT_UP_TO (512 * MIB)

/*
 * For each of zlib's levels the quickest one of libdeflate that makes no more bytes of it, to half a percent
 * on the average over kinds of data (level 9, for which there is none: 6 % more at worst), and what it takes
 * on.  All are one and a half times to four times as fast as zlib's.
 */
typedef struct encode_level {
    int level;
    size_t up_to;
    bool runs_by_zlib;       /* its quick levels do not look at what a long match covers */
} encode_level;

/* libdeflate clears large tables first: for less than this zlib, which has smaller ones, takes half the time. */
enum { FROM = 192 };

enum { DEFAULT_LEVEL = 6 };
static const encode_level encode_levels[] = {
    {0, 64 * MIB, false}, {2, 64 * MIB, true},  {5, 64 * MIB, true}, {5, 64 * MIB, true}, {5, 64 * MIB, false},
    {6, 64 * MIB, false}, {7, 64 * MIB, false}, {8, 8 * MIB, false}, {9, 8 * MIB, false}, {9, 8 * MIB, false},
};

/* ---- decode --------------------------------------------------------------------------------- */

typedef enum libdeflate_result (*decode_call)(struct libdeflate_decompressor *context, const void *in,
                                              size_t n, void *out, size_t room, size_t *taken,
                                              size_t *made);

static void *decoder_new(void)
{
    return libdeflate_alloc_decompressor();
}

static void decoder_delete(void *context)
{
    libdeflate_free_decompressor(context);
}

/*
 * libdeflate decodes what its last bytes of input stand for byte by byte, which may be 26 KiB.  Of a copy that zeros
 * follow they are not the last.  Is a copy quicker than those bytes?
 */
enum { ZEROS = 32, WORTH = 256 };

static bool is_better_copied(size_t n, size_t decoded)
{
    return n <= WORTH * (decoded / n);
}

/* All members, or the one stream, of n bytes, which `after` more follow that may be looked at. */
static bool decode_all(zc_deflate_container container, const zc_coding *c, const uint8_t *src, size_t after,
                       size_t *written)
{
    const decode_call decode = container == ZC_DEFLATE_GZIP ? libdeflate_gzip_decompress_ex
                                                            : libdeflate_zlib_decompress_ex;
    struct libdeflate_decompressor *const context = zc_context_get(c->ws, ZC_CONTEXT_LIBDEFLATE_DECODE, decoder_new,
                                                                   decoder_delete, NULL);
    size_t in = 0;
    size_t out = 0;

    if (context == NULL) {
        return false;
    }
    do {
        size_t taken = 0;
        size_t made = 0;
        if (decode(context, src + in, c->n - in + after, c->dst + out, c->cap - out, &taken, &made) !=
            LIBDEFLATE_SUCCESS) {
            return false;
        }
        in += taken;
        out += made;
    } while (container == ZC_DEFLATE_GZIP && in < c->n);
    *written = out;
    return in == c->n;               /* not with zeros as part of it */
}

/* The header that says least, and what follows the stream: RFC 1950 and RFC 1952. */
static const uint8_t zlib_header[] = {0x78, 0x01}, gzip_header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
enum { ZLIB_TRAILER = 4, GZIP_TRAILER = 8, GZIP_FLAGS_AT = 3 };

/* Does src begin with a header after which the stream comes at once? */
static bool has_short_header(zc_deflate_container container, const uint8_t *src)
{
    if (container == ZC_DEFLATE_GZIP) {
        return memcmp(src, gzip_header, GZIP_FLAGS_AT + 1) == 0;
    }
    return src[0] == zlib_header[0] && (src[1] & 0x20) == 0 && (src[0] << 8 | src[1]) % 31 == 0;
}

/* Does what follows the stream fit what was decoded? */
static bool fits_trailer(zc_deflate_container container, const uint8_t *trailer, const uint8_t *data, size_t n)
{
    if (container == ZC_DEFLATE_GZIP) {
        return zc_load_le32(trailer) == libdeflate_crc32(0, data, n) && zc_load_le32(trailer + 4) == (uint32_t)n;
    }
    return ZC_BSWAP32(zc_load_le32(trailer)) == libdeflate_adler32(1, data, n);
}

/* One stream of little but repetitions. */
static bool decode_repeat(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    const bool gzip = container == ZC_DEFLATE_GZIP;
    const size_t header = gzip ? sizeof gzip_header : sizeof zlib_header, trailer = gzip ? GZIP_TRAILER : ZLIB_TRAILER;
    size_t taken;

    return c->n > header + trailer && zc_inflate_repeat_pays(c->n, c->cap) && has_short_header(container, c->src) &&
           zc_inflate_repeat(c->src + header, c->n - header - trailer, c->dst, c->cap, &taken, written) &&
           header + taken + trailer == c->n && fits_trailer(container, c->src + header + taken, c->dst, *written);
}

bool zc_deflate_whole_decode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    if (c->n == 0 || c->cap == 0 || c->cap > DECODE_UP_TO) {
        return false;
    }
    if (decode_repeat(container, c, written)) {
        return true;
    }
    uint8_t *const copy = is_better_copied(c->n, c->cap) ? zc_scratch_push(c->ws, c->n + ZEROS, NULL) : NULL;
    if (copy == NULL) {
        return decode_all(container, c, c->src, 0, written);
    }
    memcpy(copy, c->src, c->n);
    memset(copy + c->n, 0, ZEROS);
    const bool done = decode_all(container, c, copy, ZEROS, written);
    zc_scratch_pop(c->ws);
    return done;
}

/* ---- encode --------------------------------------------------------------------------------- */

typedef struct encoder {
    struct libdeflate_compressor *compressor;
    int level;
} encoder;

static void *encoder_new(void)
{
    return calloc(1, sizeof(encoder));
}

static void encoder_delete(void *context)
{
    encoder *e = context;

    libdeflate_free_compressor(e->compressor);
    free(e);
}

/* The kept compressor, if it is for this level, else a new one. */
static struct libdeflate_compressor *compressor_for(zc_workspace *ws, int level)
{
    encoder *e = zc_context_get(ws, ZC_CONTEXT_LIBDEFLATE_ENCODE, encoder_new, encoder_delete, NULL);

    if (e == NULL) {
        return NULL;
    }
    if (e->compressor == NULL || e->level != level) {
        libdeflate_free_compressor(e->compressor);
        e->compressor = libdeflate_alloc_compressor(level);
        e->level = level;
    }
    return e->compressor;
}

static bool encode_repeat(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    const bool gzip = container == ZC_DEFLATE_GZIP;
    const size_t header = gzip ? sizeof gzip_header : sizeof zlib_header, around = header + (gzip ? GZIP_TRAILER : ZLIB_TRAILER);
    uint8_t *const to = c->dst + header;

    if (c->cap < around || !zc_repeats(c->src, c->n)) {
        return false;
    }
    const size_t size = zc_deflate_repeat(c->src, c->n, to, c->cap - around);
    memcpy(c->dst, gzip ? gzip_header : zlib_header, header);
    if (gzip) {
        zc_store_le32(to + size, libdeflate_crc32(0, c->src, c->n));
        zc_store_le32(to + size + 4, (uint32_t)c->n);
    } else {
        zc_store_le32(to + size, ZC_BSWAP32(libdeflate_adler32(1, c->src, c->n)));
    }
    *written = size + around;
    return size > 0;
}

/* Whether three of four places that are looked at lie in a run of some bytes over and over. */
static bool is_mostly_runs(const uint8_t *src, size_t n)
{
    enum { PLACES = 64, LENGTH = 32, PERIOD = 8 };
    int runs = 0;

    if (n < PLACES * LENGTH) {
        return false;
    }
    for (size_t i = 0; i < PLACES; i++) {
        const uint8_t *const at = src + (n - LENGTH) / PLACES * i;

        runs += memcmp(at, at + PERIOD, LENGTH - PERIOD) == 0;
    }
    return runs >= PLACES * 3 / 4;
}

bool zc_deflate_whole_encode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    if (c->codec->level != 0 && c->n <= REPEAT_UP_TO && encode_repeat(container, c, written)) {
        return true;
    }
    const int level = c->codec->level;
    const encode_level *const use = &encode_levels[level < 0 ? DEFAULT_LEVEL : level];
    const bool left_to_zlib = c->n > use->up_to || (level != 0 && c->n < FROM) ||
                              (use->runs_by_zlib && is_mostly_runs(c->src, c->n));
    struct libdeflate_compressor *const compressor = left_to_zlib ? NULL : compressor_for(c->ws, use->level);

    if (compressor == NULL) {
        return false;
    }
    *written = container == ZC_DEFLATE_GZIP ? libdeflate_gzip_compress(compressor, c->src, c->n, c->dst, c->cap)
                                            : libdeflate_zlib_compress(compressor, c->src, c->n, c->dst, c->cap);
    return *written > 0;
}

#else

bool zc_deflate_whole_decode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    (void)container, (void)c, (void)written;
    return false;
}

bool zc_deflate_whole_encode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    return zc_deflate_whole_decode(container, c, written);
}

#endif
