/* SPDX-License-Identifier: MIT
 *
 * gzip (RFC 1952, one or more members) and zlib (RFC 1950) over zlib's inflate and deflate, or libdeflate
 * where the build has it (deflate_whole.h).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/classes.h"
#include "codecs/contexts.h"
#include "codecs/deflate_whole.h"

enum { WINDOW_ZLIB = 15, WINDOW_GZIP = 15 + 16, MEMORY_LEVEL = 8 };
/* Deflate is slow: this much takes some 10 ms. */
#define DEFLATE_PIECE ((size_t)256 << 10)

enum { GZIP_OS_AT = 9, GZIP_OS_UNKNOWN = 255 };

/* ---- decode --------------------------------------------------------------------------------- */

static void *inflater_new(void)
{
    z_stream *z = calloc(1, sizeof *z);

    if (z != NULL && inflateInit2_(z, WINDOW_GZIP, ZLIB_VERSION, (int)sizeof *z) != Z_OK) {
        free(z);
        return NULL;
    }
    return z;
}

static void inflater_delete(void *z)
{
    inflateEnd(z);
    free(z);
}

/* Both ends of a stream in memory; zlib sees a piece of each at a time. */
typedef struct stream {
    const uint8_t *in;
    size_t in_left;
    uint8_t *out;
    size_t out_left;
    uint8_t spare;           /* where the first byte too many goes */
    bool overflow;
} stream;

/* One call of inflate on at most ZC_CODEC_PIECE bytes of either end. */
static int inflate_piece(z_stream *z, stream *s)
{
    const bool full = s->out_left == 0;
    const size_t in = s->in_left < ZC_CODEC_PIECE ? s->in_left : ZC_CODEC_PIECE;
    const size_t out = full ? 1 : s->out_left < ZC_CODEC_PIECE ? s->out_left : ZC_CODEC_PIECE;

    z->next_in = (void *)(uintptr_t)s->in;   /* not const in older zlib.h */
    z->avail_in = (unsigned)in;
    z->next_out = full ? &s->spare : s->out;
    z->avail_out = (unsigned)out;
    const int rc = inflate(z, Z_NO_FLUSH);
    const size_t taken = in - z->avail_in;
    const size_t made = out - z->avail_out;

    if (taken > 0) {
        s->in += taken;
        s->in_left -= taken;
    }
    if (full) {
        s->overflow = made > 0;
    } else {
        s->out += made;
        s->out_left -= made;
    }
    return rc;
}

static zc_status inflate_failure(int rc, const z_stream *z, zc_error *err)
{
    const char *why = z->msg != NULL ? z->msg : "malformed deflate stream";

    if (rc == Z_MEM_ERROR) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory in inflate");
    }
    if (rc == Z_NEED_DICT) {
        return zc_fail(err, ZC_ERR_CORRUPT, "the stream needs a preset dictionary");
    }
    if (strcmp(why, "incorrect data check") == 0) {
        return zc_fail(err, ZC_ERR_CHECKSUM, "the stream's checksum does not match its data");
    }
    return zc_fail(err, ZC_ERR_CORRUPT, "%s", why);
}

static bool starts_gzip_member(const stream *s)
{
    return s->in_left >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
}

/* Inflate one zlib stream or all gzip members. */
static zc_status inflate_all(z_stream *z, int window, zc_workspace *ws, stream *s, size_t cap, zc_error *err)
{
    inflateReset2(z, window);
    for (;;) {
        zc_status status = zc_codec_poll(ws, err);
        if (status != ZC_OK) {
            return status;
        }
        const int rc = inflate_piece(z, s);
        if (s->overflow) {
            return zc_fail(err, ZC_ERR_SIZE, "decodes to more than the expected %zu bytes", cap);
        }
        if (rc == Z_STREAM_END) {
            if (s->in_left == 0) {
                return ZC_OK;
            }
            if (window != WINDOW_GZIP || !starts_gzip_member(s)) {
                return zc_fail(err, ZC_ERR_CORRUPT, "%zu stray bytes after the end of the stream",
                               s->in_left);
            }
            inflateReset2(z, window);
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return inflate_failure(rc, z, err);
        } else if (s->in_left == 0 && z->avail_out > 0) {
            return zc_fail(err, ZC_ERR_CORRUPT, "truncated: the stream has no end");
        }
    }
}

static zc_status inflate_value(int window, zc_deflate_container container, const zc_coding *c, size_t *written)
{
    if (zc_deflate_whole_decode(container, c, written)) {
        return ZC_OK;
    }
    z_stream *z = zc_context_get(c->ws, ZC_CONTEXT_INFLATE, inflater_new, inflater_delete, c->err);

    if (z == NULL) {
        return ZC_ERR_MEMORY;
    }
    stream s = {.in = c->src, .in_left = c->n, .out = c->dst, .out_left = c->cap};
    const zc_status status = inflate_all(z, window, c->ws, &s, c->cap, c->err);

    *written = c->cap - s.out_left;
    return status;
}

static zc_status gzip_decode(const zc_coding *c, size_t *written)
{
    return inflate_value(WINDOW_GZIP, ZC_DEFLATE_GZIP, c, written);
}

static zc_status zlib_decode(const zc_coding *c, size_t *written)
{
    return inflate_value(WINDOW_ZLIB, ZC_DEFLATE_ZLIB, c, written);
}

/* ---- encode --------------------------------------------------------------------------------- */

typedef struct deflater {
    z_stream z;
    bool live;               /* z is initialised, for: */
    int level;
    int window;
} deflater;

static void *deflater_new(void)
{
    return calloc(1, sizeof(deflater));
}

static void deflater_delete(void *context)
{
    deflater *d = context;

    if (d->live) {
        deflateEnd(&d->z);
    }
    free(d);
}

/* Ready for a new stream: a reset where level and format are those of the last one. */
static int deflater_start(deflater *d, int level, int window)
{
    if (d->live && d->level == level && d->window == window) {
        return deflateReset(&d->z);
    }
    if (d->live) {
        deflateEnd(&d->z);
    }
    memset(&d->z, 0, sizeof d->z);
    const int rc = deflateInit2_(&d->z, level, Z_DEFLATED, window, MEMORY_LEVEL, Z_DEFAULT_STRATEGY,
                                 ZLIB_VERSION, (int)sizeof d->z);
    d->live = rc == Z_OK;
    d->level = level;
    d->window = window;
    return rc;
}

static bool deflate_bound(const zc_codec *codec, size_t n, size_t *out)
{
    size_t size;

    (void)codec;
    /* More than any deflate (zlib, zlib-ng's quick level) needs: 9 bits a byte and block headers. */
    return zc_add_size(n, n / 8 + n / 64, &size) && zc_add_size(size, 64, out);
}

static zc_status deflate_check(const zc_codec *codec, zc_error *err)
{
    if (codec->level < -1 || codec->level > 9) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "level: expected -1 to 9, got %d", codec->level);
    }
    return ZC_OK;
}

static zc_status deflate_all(z_stream *z, const zc_coding *c, size_t *written)
{
    size_t in = 0;
    size_t out = 0;
    int rc = Z_OK;

    while (rc != Z_STREAM_END) {
        const zc_status status = zc_codec_poll(c->ws, c->err);
        if (status != ZC_OK) {
            return status;
        }
        const size_t piece = c->n - in < DEFLATE_PIECE ? c->n - in : DEFLATE_PIECE;
        const size_t room = c->cap - out < INT_MAX ? c->cap - out : INT_MAX;

        z->next_in = (void *)(uintptr_t)(c->src + in);
        z->avail_in = (unsigned)piece;
        z->next_out = c->dst + out;
        z->avail_out = (unsigned)room;
        rc = deflate(z, in + piece == c->n ? Z_FINISH : Z_NO_FLUSH);
        in += piece - z->avail_in;
        out += room - z->avail_out;
        if (rc != Z_STREAM_END && (rc != Z_OK || out == c->cap)) {
            return zc_fail(c->err, ZC_ERR_ENCODE, "deflate failed (%d) for %zu bytes into %zu", rc, c->n, c->cap);
        }
    }
    *written = out;
    return ZC_OK;
}

static zc_status deflate_value(int window, zc_deflate_container container, const zc_coding *given, size_t *written)
{
    zc_coding c = *given;

    if (c.cap == 0) {
        return zc_fail(c.err, ZC_ERR_ARGUMENT, "no room for the encoded bytes");
    }
    if (c.n == 0) {
        c.src = c.dst;                   /* no arithmetic on a null pointer */
    }
    if (zc_deflate_whole_encode(container, &c, written)) {
        return ZC_OK;
    }
    deflater *d = zc_context_get(c.ws, ZC_CONTEXT_DEFLATE, deflater_new, deflater_delete, c.err);
    if (d == NULL) {
        return ZC_ERR_MEMORY;
    }
    if (deflater_start(d, c.codec->level, window) != Z_OK) {
        return zc_fail(c.err, ZC_ERR_MEMORY, "out of memory: no room for the state of deflate");
    }
    return deflate_all(&d->z, &c, written);
}

static zc_status gzip_encode(const zc_coding *c, size_t *written)
{
    const zc_status status = deflate_value(WINDOW_GZIP, ZC_DEFLATE_GZIP, c, written);

    if (status == ZC_OK) {
        c->dst[GZIP_OS_AT] = GZIP_OS_UNKNOWN;    /* the same bytes on every platform; zlib leaves mtime 0 */
    }
    return status;
}

static zc_status zlib_encode(const zc_coding *c, size_t *written)
{
    return deflate_value(WINDOW_ZLIB, ZC_DEFLATE_ZLIB, c, written);
}

static double deflate_byte_ns(const zc_codec *codec, bool encode)
{
    if (!encode) {
        return 2;
    }
    return codec->level == 1 ? 5 : 10;
}

const zc_codec_class zc_codec_gzip = {
    .name = "gzip",
    .max_decoded = ZC_SIZE_MAX / 2,
    .bound = deflate_bound,
    .encode = gzip_encode,
    .decode = gzip_decode,
    .check = deflate_check,
    .byte_ns = deflate_byte_ns,
    .defaults = {.level = 5},
};

const zc_codec_class zc_codec_zlib = {
    .name = "zlib",
    .max_decoded = ZC_SIZE_MAX / 2,
    .bound = deflate_bound,
    .encode = zlib_encode,
    .decode = zlib_decode,
    .check = deflate_check,
    .byte_ns = deflate_byte_ns,
    .defaults = {.level = 1},
};
