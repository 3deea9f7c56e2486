/* SPDX-License-Identifier: MIT
 *
 * Items of fewer than 8 bits, each in the low bits of a byte of its own: what the bits above them hold means nothing,
 * and readers see zeros there.
 */
#include "base/arith.h"
#include "codecs/classes.h"

static zc_status low_bits_check(const zc_codec *codec, zc_error *err)
{
    return codec->level >= 1 && codec->level <= 8
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "bits: expected 1 to 8, got %d", codec->level);
}

static zc_status low_bits_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *restrict src, size_t n,
                                 uint8_t *restrict dst, size_t cap, size_t *written, zc_error *err)
{
    zc_status status = low_bits_check(codec, err);

    (void)ws;
    if (status == ZC_OK && n > cap) {
        status = zc_fail(err, ZC_ERR_SIZE, "%zu bytes, at most %zu expected", n, cap);
    }
    if (status != ZC_OK) {
        return status;
    }
    const uint8_t mask = (uint8_t)((1U << codec->level) - 1);
    for (size_t i = 0; i < n; i++) {
        dst[i] = src[i] & mask;
    }
    *written = n;
    return ZC_OK;
}

const zc_codec_class zc_codec_low_bits = {
    .name = "low_bits",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = zc_bound_same,
    .encode = zc_codec_copy,
    .decode = low_bits_decode,
    .check = low_bits_check,
    .defaults = {.level = 8},
};
