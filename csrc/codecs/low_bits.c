/* SPDX-License-Identifier: MIT
 *
 * Items of fewer than 8 bits, each in the low bits of a byte of its own: what the bits above them hold means nothing,
 * and readers see zeros there.
 */
#include "base/arith.h"
#include "codecs/classes.h"
#include "kernels/stamped.h"

static zc_status low_bits_check(const zc_codec *codec, zc_error *err)
{
    return codec->level >= 1 && codec->level <= 8
               ? ZC_OK
               : zc_fail(err, ZC_ERR_ARGUMENT, "bits: expected 1 to 8, got %d", codec->level);
}

STAMP_EACH(any, , masked, uint8_t, uint8_t, (uint8_t)(x & mask), uint8_t mask)

static zc_status low_bits_decode(const zc_coding *c, size_t *written)
{
    zc_status status = low_bits_check(c->codec, c->err);

    if (status == ZC_OK && c->n > c->cap) {
        status = zc_fail(c->err, ZC_ERR_SIZE, "%zu bytes, at most %zu expected", c->n, c->cap);
    }
    if (status != ZC_OK) {
        return status;
    }
    masked_any(c->dst, c->src, c->n, (uint8_t)((1U << c->codec->level) - 1));
    *written = c->n;
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
