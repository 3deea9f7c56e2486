/* SPDX-License-Identifier: MIT
 *
 * Numbers stored as another type (numcodecs "astype").
 */
#include "codecs/numbers.h"

static zc_status astype_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                               uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_number_map map = {codec->decoded, codec->encoded.kind, NULL, codec->encoded.kind, codec->encoded};

    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

static zc_status astype_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                               uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_number_map map = {codec->encoded, codec->decoded.kind, NULL, codec->decoded.kind, codec->decoded};

    return zc_numbers_run(codec, &map, ws, src, n, dst, cap, written, err);
}

const zc_codec_class zc_codec_astype = {
    .name = "astype",
    .max_decoded = ZC_NUMBERS_MAX_DECODED,
    .fixed_size = true,
    .bound = zc_numbers_bound,
    .encode = astype_encode,
    .decode = astype_decode,
};
