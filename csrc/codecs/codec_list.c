/* SPDX-License-Identifier: MIT
 *
 * All codecs by name.
 */
#include <string.h>

#include "codecs/classes.h"

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
