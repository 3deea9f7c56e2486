/* SPDX-License-Identifier: MIT */
#include "codecs/codec.h"

#include <string.h>

#include "codecs/classes.h"
#include "kernels/cast_numpy.h"

const zc_codec_class *const zc_codec_classes[] = {
    &zc_codec_blosc,
    &zc_codec_zstd,
    &zc_codec_gzip,
    &zc_codec_zlib,
    &zc_codec_lz4,
    &zc_codec_crc32c,
    &zc_codec_crc32,
    &zc_codec_adler32,
    &zc_codec_fletcher32,
    &zc_codec_jenkins_lookup3,
    &zc_codec_shuffle,
    &zc_codec_delta,
    &zc_codec_astype,
    &zc_codec_fixedscaleoffset,
    &zc_codec_quantize,
    &zc_codec_scale_offset,
    &zc_codec_bitround,
    &zc_codec_low_bits,
    &zc_codec_packbits,
    &zc_codec_cast_value,
    &zc_codec_conditional,
    NULL,
};

const zc_codec_class *zc_codec_find(const char *name)
{
    for (const zc_codec_class *const *cls = zc_codec_classes; *cls != NULL; cls++) {
        if (strcmp((*cls)->name, name) == 0) {
            return *cls;
        }
    }
    return NULL;
}

bool zc_codec_takes(const zc_codec_class *cls, zc_number_kind kind)
{
    switch (cls->numbers) {
    case ZC_NUMBERS_REAL: return kind < ZC_REAL_KINDS;
    case ZC_NUMBERS_OF_NUMPY: return zc_number_of_numpy(kind);
    default: return kind < ZC_NUMBER_KINDS;
    }
}

bool zc_codec_init(zc_codec *codec, const char *name)
{
    const zc_codec_class *cls = zc_codec_find(name);

    if (cls == NULL) {
        return false;
    }
    *codec = cls->defaults;
    codec->cls = cls;
    return true;
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
    return named(codec, codec->cls->encode(codec, ws, src, n, dst, cap, written, err), err);
}

zc_status zc_codec_decode_exact(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                uint8_t *dst, size_t decoded, zc_error *err)
{
    size_t written = 0;
    zc_status status = codec->cls->decode(codec, ws, src, n, dst, decoded, &written, err);

    if (status == ZC_OK && written != decoded) {
        status = zc_fail(err, ZC_ERR_SIZE, "decoded to %zu bytes, the metadata demand %zu", written, decoded);
    }
    return named(codec, status, err);
}

zc_status zc_blocks_open(const zc_codec *codec, const zc_encoded *encoded, size_t decoded, zc_workspace *ws,
                         zc_blocks *out, zc_error *err)
{
    *out = (zc_blocks){.codec = codec, .encoded = encoded, .ws = ws};
    const zc_status status = codec->cls->open_blocks(out, decoded, err);

    if (status != ZC_OK) {
        zc_blocks_close(out);
    }
    return named(codec, status, err);
}

void zc_blocks_close(zc_blocks *blocks)
{
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
        status = blocks->codec->cls->decode_range(blocks, offset, nbytes, dst, err);
    }
    return named(blocks->codec, status, err);
}
