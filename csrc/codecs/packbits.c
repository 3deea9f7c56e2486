/* SPDX-License-Identifier: MIT
 *
 * Booleans as bits, the first one in the highest bit, behind a byte that counts the unused bits of the last byte
 * (numcodecs "packbits").
 */
#include "base/arith.h"
#include "codecs/classes.h"
#include "kernels/bits.h"

static bool packbits_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    *out = 1 + n / 8 + (n % 8 != 0);
    return true;
}

static zc_status packbits_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    size_t size;

    (void)ws;
    packbits_bound(codec, n, &size);
    if (size > cap) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "%zu bits do not fit into %zu bytes", n, cap);
    }
    dst[0] = (uint8_t)((8 - n % 8) % 8);
    zc_pack_flags(dst + 1, src, n, true);
    *written = size;
    return ZC_OK;
}

static zc_status packbits_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    size_t bits;

    (void)codec;
    (void)ws;
    if (n < 1 || src[0] > 7 || (n == 1 && src[0] > 0)) {
        return zc_fail(err, ZC_ERR_CORRUPT, "%zu bytes that state %d unused bits", n, n > 0 ? src[0] : -1);
    }
    if (!zc_mul_size(n - 1, 8, &bits) || bits - src[0] > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu bytes of bits, at most %zu items expected", n - 1, cap);
    }
    zc_unpack_flags(dst, src + 1, bits - src[0], true);
    *written = bits - src[0];
    return ZC_OK;
}

const zc_codec_class zc_codec_packbits = {
    .name = "packbits",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = packbits_bound,
    .encode = packbits_encode,
    .decode = packbits_decode,
};
