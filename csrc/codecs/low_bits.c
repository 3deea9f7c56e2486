/* SPDX-License-Identifier: MIT
 *
 * Items of fewer than 8 bits, each in the low bits of a byte of its own: what the bits above them hold means nothing,
 * and readers see zeros there.
 */
#include "base/arith.h"
#include "codecs/classes.h"
#include "kernels/long_copy.h"

static bool low_bits_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    *out = n;
    return true;
}

static zc_status low_bits_check(const zc_codec *codec, zc_error *err)
{
    return codec->level >= 1 && codec->level <= 8
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "bits: expected 1 to 8, got %d", codec->level);
}

static zc_status check_room(const zc_codec *codec, size_t n, size_t cap, zc_error *err)
{
    const zc_status status = low_bits_check(codec, err);

    return status == ZC_OK && n > cap ? zc_fail(err, ZC_ERR_SIZE, "%zu bytes, at most %zu expected", n, cap) : status;
}

static zc_status low_bits_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                                 size_t cap, size_t *written, zc_error *err)
{
    const zc_status status = check_room(codec, n, cap, err);

    (void)ws;
    if (status == ZC_OK) {
        zc_long_copy(dst, src, n);
        *written = n;
    }
    return status;
}

static zc_status low_bits_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *restrict src, size_t n,
                                 uint8_t *restrict dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_status status = check_room(codec, n, cap, err);

    (void)ws;
    if (status == ZC_OK) {
        const uint8_t mask = (uint8_t)((1U << codec->level) - 1);
        for (size_t i = 0; i < n; i++) {
            dst[i] = src[i] & mask;
        }
        *written = n;
    }
    return status;
}

const zc_codec_class zc_codec_low_bits = {
    .name = "low_bits",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = low_bits_bound,
    .encode = low_bits_encode,
    .decode = low_bits_decode,
    .check = low_bits_check,
    .defaults = {.level = 8},
};
