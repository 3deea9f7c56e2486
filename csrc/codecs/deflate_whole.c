/* SPDX-License-Identifier: MIT */
#include "codecs/deflate_whole.h"

#ifdef ZC_HAVE_LIBDEFLATE

#include <libdeflate.h>
#include <stdlib.h>

#include "codecs/contexts.h"

/* What takes a second at most: longer values are left to zlib, which can be stopped on the way. */
#define DECODE_UP_TO ((size_t)64 << 20)
#define MIB ((size_t)1 << 20)

/*
 * For each of zlib's levels the quickest one of libdeflate that makes no more bytes of it, to half a percent
 * on the average over kinds of data (level 9, for which there is none: 6 % more at worst), and what it takes
 * on.  All are one and a half times to four times as fast as zlib's.
 */
typedef struct encode_level {
    int level;
    size_t up_to;
} encode_level;

enum { DEFAULT_LEVEL = 6 };
static const encode_level encode_levels[] = {
    {0, 64 * MIB}, {2, 64 * MIB}, {5, 64 * MIB}, {5, 64 * MIB}, {5, 64 * MIB},
    {6, 64 * MIB}, {7, 64 * MIB}, {8, 8 * MIB},  {9, 8 * MIB},  {9, 8 * MIB},
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

bool zc_deflate_whole_decode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    const decode_call decode = container == ZC_DEFLATE_GZIP ? libdeflate_gzip_decompress_ex
                                                            : libdeflate_zlib_decompress_ex;
    size_t in = 0;
    size_t out = 0;

    if (c->n == 0 || c->cap == 0 || c->cap > DECODE_UP_TO) {
        return false;
    }
    struct libdeflate_decompressor *context = zc_context_get(c->ws, ZC_CONTEXT_LIBDEFLATE_DECODE, decoder_new,
                                                             decoder_delete, NULL);
    if (context == NULL) {
        return false;
    }
    do {
        size_t taken = 0;
        size_t made = 0;
        if (decode(context, c->src + in, c->n - in, c->dst + out, c->cap - out, &taken, &made) != LIBDEFLATE_SUCCESS) {
            return false;
        }
        in += taken;
        out += made;
    } while (container == ZC_DEFLATE_GZIP && in < c->n);
    *written = out;
    return in == c->n;
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

bool zc_deflate_whole_encode(zc_deflate_container container, const zc_coding *c, size_t *written)
{
    const int level = c->codec->level;
    const encode_level *const use = &encode_levels[level < 0 ? DEFAULT_LEVEL : level];
    struct libdeflate_compressor *const compressor = c->n <= use->up_to ? compressor_for(c->ws, use->level) : NULL;

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
