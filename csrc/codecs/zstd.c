/* SPDX-License-Identifier: MIT
 *
 * zstd (RFC 8878): one or more frames, skippable ones among them.
 *
 * One call for a whole value is fastest, straight from buffer to buffer.  What would take longer than about
 * 0.1 s goes through the streaming calls: some 10 % slower, but a cancelled job stops in between.
 */
#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/classes.h"
#include "codecs/contexts.h"
#include "codecs/zstd_repeat.h"
#include "kernels/repeats.h"

#define DECODE_STREAM_FROM ((size_t)128 << 20)
#define ENCODE_PIECE ((size_t)128 << 10)     /* one zstd block: the slowest level takes 0.1 s for it */
#define KEEP_START_UP_TO ((size_t)4 << 20)
#define KEEP_CONTEXT_UP_TO ((size_t)32 << 20)

static bool zstd_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    if (n > ZC_SIZE_MAX / 2) {
        return false;
    }
    *out = ZSTD_compressBound(n);
    return !ZSTD_isError(*out);
}

/* ---- decode --------------------------------------------------------------------------------- */

static void *decoder_new(void)
{
    return ZSTD_createDCtx();
}

static void decoder_delete(void *context)
{
    ZSTD_freeDCtx(context);
}

static zc_status decode_failure(size_t code, size_t cap, zc_error *err)
{
    switch ((int)ZSTD_getErrorCode(code)) {
    case ZSTD_error_dstSize_tooSmall:
        return zc_fail(err, ZC_ERR_SIZE, "decodes to more than the expected %zu bytes", cap);
    case ZSTD_error_checksum_wrong:
        return zc_fail(err, ZC_ERR_CHECKSUM, "the frame's checksum does not match its data");
    case ZSTD_error_memory_allocation:
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory in zstd");
    case ZSTD_error_srcSize_wrong:
        return zc_fail(err, ZC_ERR_CORRUPT, "truncated, or stray bytes after the last frame");
    default:
        return zc_fail(err, ZC_ERR_CORRUPT, "%s", ZSTD_getErrorName(code));
    }
}

static zc_status decode_whole(ZSTD_DCtx *context, const zc_coding *c, size_t *written)
{
    uint8_t none;            /* zstd wants an address even for nothing */
    const size_t size = ZSTD_decompressDCtx(context, c->cap > 0 ? c->dst : &none, c->cap, c->src, c->n);

    if (ZSTD_isError(size)) {
        return decode_failure(size, c->cap, c->err);
    }
    *written = size;
    return ZC_OK;
}

/* Decode the next piece; a full dst leaves one spare byte that a valid stream does not touch. */
static size_t decode_piece(ZSTD_DCtx *context, ZSTD_inBuffer *in, ZSTD_outBuffer *out, size_t cap,
                           bool *overflow)
{
    if (out->pos < cap) {
        out->size = cap - out->pos < ZC_CODEC_PIECE ? cap : out->pos + ZC_CODEC_PIECE;
        return ZSTD_decompressStream(context, out, in);
    }
    uint8_t spare;
    ZSTD_outBuffer beyond = {&spare, 1, 0};
    const size_t left = ZSTD_decompressStream(context, &beyond, in);
    *overflow = beyond.pos > 0;
    return left;
}

static zc_status decode_stream(ZSTD_DCtx *context, const zc_coding *c, size_t *written)
{
    ZSTD_inBuffer in = {c->src, c->n, 0};
    ZSTD_outBuffer out = {c->dst, 0, 0};
    bool overflow = false;
    size_t left = 1;         /* 0: a frame has just ended */

    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    while (left != 0 || in.pos < c->n) {
        const zc_status status = zc_codec_poll(c->ws, c->err);
        if (status != ZC_OK) {
            return status;
        }
        const size_t before = in.pos + out.pos;
        left = decode_piece(context, &in, &out, c->cap, &overflow);
        if (ZSTD_isError(left)) {
            return decode_failure(left, c->cap, c->err);
        }
        if (overflow) {
            return zc_fail(c->err, ZC_ERR_SIZE, "decodes to more than the expected %zu bytes", c->cap);
        }
        if (left != 0 && in.pos == c->n && in.pos + out.pos == before) {
            return zc_fail(c->err, ZC_ERR_CORRUPT, "truncated: the last frame has no end");
        }
    }
    *written = out.pos;
    return ZC_OK;
}

static zc_status zstd_decode(const zc_coding *c, size_t *written)
{
    if (c->n == 0) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "empty: a zstd frame has at least 5 bytes");
    }
    ZSTD_DCtx *context = zc_context_get(c->ws, ZC_CONTEXT_ZSTD_DECODE, decoder_new, decoder_delete, c->err);
    if (context == NULL) {
        return ZC_ERR_MEMORY;
    }
    if (c->cap < DECODE_STREAM_FROM) {
        return decode_whole(context, c, written);
    }
    const zc_status status = decode_stream(context, c, written);
    zc_context_drop(c->ws, ZC_CONTEXT_ZSTD_DECODE);  /* it holds a window of up to 128 MiB */
    return status;
}

/*
 * In one call zstd decodes to memory at whose end the frame lies, if there is room for one block more (zstd.h, "in-place
 * decompression"), and from this release on fails before it would write over a block that it has not read.
 */
enum { OVERLAPS_FROM_VERSION = 10504 };
#define BLOCK_MAX ((size_t)128 << 10)
#define FRAME_OVERHEAD ((size_t)64)          /* header and checksum: 22 bytes at most */

static size_t zstd_slack(const zc_codec *codec, size_t decoded)
{
    const size_t block_headers = 3 * (decoded / BLOCK_MAX + 1);

    (void)codec;
    return decoded < DECODE_STREAM_FROM && ZSTD_versionNumber() >= OVERLAPS_FROM_VERSION
               ? BLOCK_MAX + block_headers + FRAME_OVERHEAD
               : 0;
}

/* Only where the first frame declares that it is all: not every decoder of the formats before 1.0 looks where src lies. */
static bool zstd_decode_over(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                             size_t decoded)
{
    (void)codec;
    if (decoded == 0 || ZSTD_getFrameContentSize(src, n) != decoded) {
        return false;
    }
    ZSTD_DCtx *context = zc_context_get(ws, ZC_CONTEXT_ZSTD_DECODE, decoder_new, decoder_delete, NULL);
    return context != NULL && ZSTD_decompressDCtx(context, dst, decoded, src, n) == decoded;
}

/*
 * Block by block: never more of the input than the next one, or zstd would go on with it.  Only of a single frame that is
 * complete, declares its size, and has no checksum, which would cover all of it.
 */
static bool zstd_decode_start(const zc_coding *c, size_t decoded)
{
    enum { DESCRIPTOR = 4, HAS_CHECKSUM = 4, FIRST = 5 };    /* RFC 8878, 3.1.1.1.1 */

    if (c->n < FIRST || (c->src[DESCRIPTOR] & HAS_CHECKSUM) || ZSTD_getFrameContentSize(c->src, c->n) != decoded ||
        ZSTD_findFrameCompressedSize(c->src, c->n) != c->n) {
        return false;
    }
    ZSTD_DCtx *context = zc_context_get(c->ws, ZC_CONTEXT_ZSTD_DECODE, decoder_new, decoder_delete, NULL);
    ZSTD_inBuffer in = {c->src, FIRST, 0};
    ZSTD_outBuffer out = {c->dst, c->cap, 0};
    size_t next = 1;

    if (context == NULL) {
        return false;
    }
    ZSTD_DCtx_reset(context, ZSTD_reset_session_only);
    while (next != 0 && !ZSTD_isError(next) && out.pos < c->cap && !zc_workspace_cancelled(c->ws)) {
        const size_t before = in.pos + out.pos;
        next = ZSTD_decompressStream(context, &out, &in);
        in.size = next < c->n - in.pos ? in.pos + next : c->n;
        if (in.pos + out.pos == before && in.pos == in.size) {
            break;                   /* truncated */
        }
    }
    if (decoded > KEEP_START_UP_TO) {
        zc_context_drop(c->ws, ZC_CONTEXT_ZSTD_DECODE);  /* it holds a window of that size */
    }
    return out.pos == c->cap;
}

/* ---- encode --------------------------------------------------------------------------------- */

static void *encoder_new(void)
{
    return ZSTD_createCCtx();
}

static void encoder_delete(void *context)
{
    ZSTD_freeCCtx(context);
}

static zc_status zstd_check(const zc_codec *codec, zc_error *err)
{
    if (codec->level < ZSTD_minCLevel() || codec->level > ZSTD_maxCLevel()) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "level: expected %d to %d, got %d", ZSTD_minCLevel(),
                       ZSTD_maxCLevel(), codec->level);
    }
    return ZC_OK;
}

/* The size that an encoder works on for about 0.1 s. */
static size_t encode_stream_from(int level)
{
    if (level <= 5) {
        return (size_t)32 << 20;
    }
    return level <= 12 ? (size_t)4 << 20 : (size_t)256 << 10;
}

/* What repeats a few bytes becomes one match at every level from this one on, soonest here. */
enum { LEVEL_OF_REPEATS = 3 };

/* In pieces; the size is pledged, so that the frame states it as a one-call frame does. */
static size_t encode_stream(ZSTD_CCtx *context, const zc_coding *c, zc_status *status)
{
    ZSTD_inBuffer in = {c->src, 0, 0};
    ZSTD_outBuffer out = {c->dst, c->cap, 0};
    size_t left = ZSTD_CCtx_setPledgedSrcSize(context, c->n);

    while (!ZSTD_isError(left) && (in.size < c->n || left != 0)) {
        *status = zc_codec_poll(c->ws, c->err);
        if (*status != ZC_OK) {
            return 0;
        }
        in.size = c->n - in.pos < ENCODE_PIECE ? c->n : in.pos + ENCODE_PIECE;
        left = ZSTD_compressStream2(context, &out, &in, in.size == c->n ? ZSTD_e_end : ZSTD_e_continue);
        if (!ZSTD_isError(left) && left != 0 && out.pos == c->cap) {
            *status = zc_fail(c->err, ZC_ERR_ENCODE, "zstd needs more than %zu bytes for %zu", c->cap, c->n);
            return 0;
        }
    }
    return ZSTD_isError(left) ? left : out.pos;
}

static zc_status zstd_encode(const zc_coding *c, size_t *written)
{
    const bool repeats = zc_repeats(c->src, c->n);
    const int level = repeats ? LEVEL_OF_REPEATS : c->codec->level;
    zc_status status = ZC_OK;

    *written = repeats && !c->codec->checksum ? zc_zstd_repeat(c->src, c->n, c->dst, c->cap) : 0;
    if (*written > 0) {
        return ZC_OK;
    }
    ZSTD_CCtx *context = zc_context_get(c->ws, ZC_CONTEXT_ZSTD_ENCODE, encoder_new, encoder_delete, c->err);
    if (context == NULL) {
        return ZC_ERR_MEMORY;
    }
    ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
    size_t size = ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    if (!ZSTD_isError(size)) {
        size = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, c->codec->checksum);
    }
    if (!ZSTD_isError(size)) {
        size = c->n < encode_stream_from(level) ? ZSTD_compress2(context, c->dst, c->cap, c->src, c->n)
                                                          : encode_stream(context, c, &status);
    }
    if (ZSTD_sizeof_CCtx(context) > KEEP_CONTEXT_UP_TO) {
        zc_context_drop(c->ws, ZC_CONTEXT_ZSTD_ENCODE);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) {
        return zc_fail(c->err, ZC_ERR_MEMORY, "out of memory in zstd");
    }
    if (ZSTD_isError(size)) {
        return zc_fail(c->err, ZC_ERR_ENCODE, "%s", ZSTD_getErrorName(size));
    }
    *written = size;
    return ZC_OK;
}

static double zstd_byte_ns(const zc_codec *codec, bool encode)
{
    if (!encode) {
        return 1;
    }
    return codec->level <= 2 ? 3 : codec->level <= 6 ? 8 : codec->level <= 12 ? 20 : 100;
}

const zc_codec_class zc_codec_zstd = {
    .name = "zstd",
    .max_decoded = ZC_SIZE_MAX / 2,
    .bound = zstd_bound,
    .encode = zstd_encode,
    .decode = zstd_decode,
    .slack = zstd_slack,
    .decode_over = zstd_decode_over,
    .decode_start = zstd_decode_start,
    .check = zstd_check,
    .byte_ns = zstd_byte_ns,
    .defaults = {.level = 0},
};
