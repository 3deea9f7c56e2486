/* SPDX-License-Identifier: MIT
 *
 * The codec classes, for the table in codec_list.c.  A new codec: its own file, a line here, a line there.
 */
#ifndef ZC_CODECS_CLASSES_H
#define ZC_CODECS_CLASSES_H

#include "codecs/codec.h"

extern const zc_codec_class zc_codec_blosc;
extern const zc_codec_class zc_codec_zstd;
extern const zc_codec_class zc_codec_gzip;
extern const zc_codec_class zc_codec_zlib;
extern const zc_codec_class zc_codec_lz4;
extern const zc_codec_class zc_codec_crc32c;
extern const zc_codec_class zc_codec_crc32;
extern const zc_codec_class zc_codec_adler32;
extern const zc_codec_class zc_codec_fletcher32;
extern const zc_codec_class zc_codec_jenkins_lookup3;
extern const zc_codec_class zc_codec_shuffle;
extern const zc_codec_class zc_codec_delta;
extern const zc_codec_class zc_codec_astype;
extern const zc_codec_class zc_codec_fixedscaleoffset;
extern const zc_codec_class zc_codec_quantize;
extern const zc_codec_class zc_codec_scale_offset;
extern const zc_codec_class zc_codec_bitround;
extern const zc_codec_class zc_codec_low_bits;
extern const zc_codec_class zc_codec_packbits;
extern const zc_codec_class zc_codec_cast_value;
extern const zc_codec_class zc_codec_conditional;

/* Did the caller ask to stop?  Long codecs ask between pieces of this size. */
#define ZC_CODEC_PIECE ((size_t)1 << 20)

static inline zc_status zc_codec_poll(const zc_workspace *ws, zc_error *err)
{
    return zc_workspace_cancelled(ws) ? zc_fail(err, ZC_ERR_CANCELLED, "interrupted") : ZC_OK;
}

#endif
