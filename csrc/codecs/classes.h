/* SPDX-License-Identifier: MIT
 *
 * The codec classes.  A new codec: its own file, a name here.
 */
#pragma once

#include "codecs/codec.h"

#define ZC_CODECS(X)                                                                             \
    X(blosc) X(zstd) X(gzip) X(zlib) X(lz4)                                                      \
    X(crc32c) X(crc32) X(adler32) X(fletcher32) X(jenkins_lookup3)                               \
    X(shuffle) X(delta) X(astype) X(fixedscaleoffset) X(quantize) X(scale_offset)                \
    X(bitround) X(low_bits) X(packbits) X(cast_value) X(conditional)

#define ZC_DECLARE(NAME) extern const zc_codec_class zc_codec_##NAME;
ZC_CODECS(ZC_DECLARE)

/* Did the caller ask to stop?  Long codecs ask between pieces of this size. */
#define ZC_CODEC_PIECE ((size_t)1 << 20)

static inline zc_status zc_codec_poll(const zc_workspace *ws, zc_error *err)
{
    return zc_workspace_cancelled(ws) ? zc_fail(err, ZC_ERR_CANCELLED, "interrupted") : ZC_OK;
}
