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

static zc_status shuffle_run(const zc_coding *c, size_t *written)
{
    const size_t element = c->codec->element, rest = element > 0 ? c->n % element : 0;
    const zc_status status = shuffle_check(c->codec, c->err);

    if (status != ZC_OK) {
        return status;
    }
    if (rest > 0 && !c->decode) {
        return zc_fail(c->err, ZC_ERR_ENCODE, "elementsize: %zu bytes are no whole number of items of %zu bytes", c->n,
                       element);
    }
    if (c->n > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "%zu bytes, at most %zu expected", c->n, c->cap);
    }
    if (c->n > rest) {
        (c->decode ? zc_unshuffle : zc_shuffle)(c->dst, c->src, c->n / element, element);
    }
    if (rest > 0) {
        memcpy(c->dst + c->n - rest, c->src + c->n - rest, rest);
    }
    *written = c->n;
    return ZC_OK;
}

const zc_codec_class zc_codec_shuffle = {
    .name = "shuffle",
    .max_decoded = ZC_SIZE_MAX,
    .fixed_size = true,
    .bound = zc_bound_same,
    .encode = shuffle_run,
    .decode = shuffle_run,
    .check = shuffle_check,
    .defaults = {.element = 4},
};
