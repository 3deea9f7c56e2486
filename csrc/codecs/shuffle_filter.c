/* SPDX-License-Identifier: MIT
 *
 * The first bytes of all items, then the second bytes, and so on (numcodecs "shuffle").  Bytes after the last whole
 * item are read from where they are, as HDF5 leaves them; they are not written, since numcodecs does not read them.
 */
#include "kernels/shuffle.h"

#include <string.h>

#include "base/arith.h"
#include "codecs/classes.h"

static zc_status shuffle_check(const zc_codec *codec, zc_error *err)
{
    return codec->element > 0 ? ZC_OK : zc_fail(err, ZC_ERR_ARGUMENT, "elementsize: expected 1 or more, got 0");
}

static zc_status run(const zc_codec *codec, void (*shuffle)(void *, const void *, size_t, size_t),
                     const uint8_t *src, size_t n, uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    const zc_status status = shuffle_check(codec, err);

    if (status != ZC_OK) {
        return status;
    }
    if (n > cap) {
        return zc_fail(err, ZC_ERR_SIZE, "%zu bytes, at most %zu expected", n, cap);
    }
    const size_t rest = n % codec->element;
    if (n > rest) {
        shuffle(dst, src, n / codec->element, codec->element);
    }
    if (rest > 0) {
        memcpy(dst + n - rest, src + n - rest, rest);
    }
    *written = n;
    return ZC_OK;
}

static zc_status shuffle_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    (void)ws;
    if (codec->element > 0 && n % codec->element != 0) {
        return zc_fail(err, ZC_ERR_ENCODE, "elementsize: %zu bytes are no whole number of items of %zu bytes", n,
                       codec->element);
    }
    return run(codec, zc_shuffle, src, n, dst, cap, written, err);
}

static zc_status shuffle_decode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                uint8_t *dst, size_t cap, size_t *written, zc_error *err)
{
    (void)ws;
    return run(codec, zc_unshuffle, src, n, dst, cap, written, err);
}

const zc_codec_class zc_codec_shuffle = {
    .name = "shuffle",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = zc_bound_same,
    .encode = shuffle_encode,
    .decode = shuffle_decode,
    .check = shuffle_check,
    .defaults = {.element = 4},
};
