/* SPDX-License-Identifier: MIT */
#include "codecs/codec.h"

#include "base/assert.h"
#include "base/counts.h"
#include "base/metrics.h"
#include "kernels/cast_numpy.h"
#include "kernels/long_copy.h"

bool zc_codec_takes(const zc_codec_class *cls, zc_number_kind kind)
{
    switch (cls->numbers) {
    case ZC_NUMBERS_REAL: return kind < ZC_REAL_KINDS;
    case ZC_NUMBERS_OF_NUMPY: return zc_number_of_numpy(kind);
    default: return kind < ZC_NUMBER_KINDS;
    }
}

static zc_status named(const zc_codec *codec, zc_status status, zc_error *err)
{
    if (status != ZC_OK) {
        zc_error_set_codec(err, codec->cls->name);
    }
    return status;
}

zc_status zc_codec_check(const zc_codec *codec, zc_error *err)
{
    if (codec->cls->check == NULL) {
        return ZC_OK;
    }
    return named(codec, codec->cls->check(codec, err), err);
}

zc_status zc_codec_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                          uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_assert(zc_is_apart(dst, cap, src, n));

    const zc_coding c = {codec, false, ws, src, n, dst, cap, err};
    const zc_status status = zc_codec_check(codec, err);
    return status == ZC_OK ? named(codec, codec->cls->encode(&c, written), err) : status;
}

zc_status zc_codec_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                          uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    zc_assert(zc_is_apart(dst, cap, src, n));

    const zc_coding c = {codec, true, ws, src, n, dst, cap, err};
    if (codec->cls->strip == NULL) {
        const zc_stopwatch watch = zc_stopwatch_start(cap);
        const zc_status status = codec->cls->decode(&c, written);
        zc_stopwatch_stop(watch);
        zc_count_add(ZC_COUNT_DECODED, status == ZC_OK && codec->cls->open_blocks == NULL ? *written : 0);
        return named(codec, status, err);
    }
    const zc_status status = codec->cls->strip(codec, src, n, &src, &n, err);
    return named(codec, status == ZC_OK ? zc_codec_put(&c, src, n, written) : status, err);
}

zc_status zc_codec_decode_exact(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                uint8_t *dst, size_t decoded, zc_error *err)
{
    size_t written = 0;
    zc_status status = zc_codec_decode(codec, ws, src, n, dst, decoded, &written, err);

    if (status == ZC_OK && written != decoded) {
        status = zc_fail(err, ZC_ERR_SIZE, "decoded to %zu bytes, the metadata demand %zu", written, decoded);
    }
    return named(codec, status, err);
}

zc_status zc_blocks_open(const zc_codec *codec, const zc_encoded *encoded, size_t decoded, zc_workspace *ws,
                         zc_blocks *out, zc_error *err)
{
    zc_assert(codec->cls->open_blocks != NULL);
    *out = (zc_blocks){.codec = codec, .encoded = encoded, .ws = ws};
    const zc_status status = codec->cls->open_blocks(out, decoded, err);

    if (status != ZC_OK) {
        zc_blocks_close(out);
    }
    return named(codec, status, err);
}

void zc_blocks_close(zc_blocks *blocks)
{
    zc_assert(blocks->pushed <= blocks->ws->depth);
    zc_pop(blocks->ws, blocks->pushed);
    blocks->pushed = 0;
}

zc_status zc_blocks_decode(zc_blocks *blocks, size_t offset, size_t nbytes, uint8_t *dst, zc_error *err)
{
    zc_status status = ZC_OK;

    if (offset > blocks->nbytes || nbytes > blocks->nbytes - offset) {
        status = zc_fail(err, ZC_ERR_RANGE, "bytes %zu to %zu of a value of %zu bytes", offset, offset + nbytes,
                         blocks->nbytes);
    } else if (nbytes > 0) {
        const zc_stopwatch watch = zc_stopwatch_start(nbytes);
        status = blocks->codec->cls->decode_range(blocks, offset, nbytes, dst, err);
        zc_stopwatch_stop(watch);
    }
    return named(blocks->codec, status, err);
}

bool zc_bound_same(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    *out = n;
    return true;
}

zc_status zc_codec_put(const zc_coding *c, const uint8_t *data, size_t n, size_t *written)
{
    if (n > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "decodes to %zu bytes, at most %zu expected", n, c->cap);
    }
    zc_long_copy(c->dst, data, n);
    *written = n;
    return ZC_OK;
}

zc_status zc_codec_copy(const zc_coding *c, size_t *written)
{
    return zc_codec_put(c, c->src, c->n, written);
}
