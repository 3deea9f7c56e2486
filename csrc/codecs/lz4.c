/* SPDX-License-Identifier: MIT
 *
 * lz4 as numcodecs stores it for zarr v2: the decoded size as little-endian int32, then one LZ4 block.
 */
#include <limits.h>

#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/classes.h"

enum { HEADER_NBYTES = 4 };

#define MAX_DECODED ((size_t)0x7E000000)     /* LZ4_MAX_INPUT_SIZE of lz4.h */

static bool lz4_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    if (n > MAX_DECODED) {
        return false;
    }
    *out = HEADER_NBYTES + (size_t)LZ4_compressBound((int)n);
    return true;
}

static zc_status lz4_check(const zc_codec *codec, zc_error *err)
{
    if (codec->level < 1) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "acceleration: expected 1 or more, got %d", codec->level);
    }
    return ZC_OK;
}

static zc_status lz4_encode(const zc_coding *c, size_t *written)
{
    if (c->n > MAX_DECODED || c->cap < HEADER_NBYTES) {
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "cannot encode %zu bytes into %zu, the limit is %zu bytes", c->n,
                       c->cap, MAX_DECODED);
    }
    const size_t room = c->cap - HEADER_NBYTES;
    const int size = LZ4_compress_fast((const char *)c->src, (char *)c->dst + HEADER_NBYTES, (int)c->n,
                                       room < INT_MAX ? (int)room : INT_MAX, c->codec->level);
    if (size <= 0) {
        return zc_fail(c->err, ZC_ERR_ENCODE, "LZ4_compress_fast failed for %zu bytes into %zu", c->n, c->cap);
    }
    zc_store_le32(c->dst, (uint32_t)c->n);
    *written = HEADER_NBYTES + (size_t)size;
    return ZC_OK;
}

static zc_status lz4_decode(const zc_coding *c, size_t *written)
{
    if (c->n <= HEADER_NBYTES || c->n - HEADER_NBYTES > INT_MAX) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "%zu bytes cannot be a size and an LZ4 block", c->n);
    }
    const size_t stated = zc_load_le32(c->src), n = c->n - HEADER_NBYTES;

    if (stated > MAX_DECODED) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "the header states %zu bytes, beyond LZ4's limit", stated);
    }
    if (stated > c->cap) {
        return zc_fail(c->err, ZC_ERR_SIZE, "the header states %zu bytes, at most %zu expected", stated, c->cap);
    }
    const int size =
        LZ4_decompress_safe((const char *)c->src + HEADER_NBYTES, (char *)c->dst, (int)n, (int)stated);
    if (size < 0) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "malformed LZ4 block of %zu bytes", n);
    }
    if ((size_t)size != stated) {
        return zc_fail(c->err, ZC_ERR_CORRUPT, "the LZ4 block contains %d bytes, its header states %zu", size, stated);
    }
    *written = stated;
    return ZC_OK;
}

static double lz4_byte_ns(const zc_codec *codec, bool encode)
{
    (void)codec;
    return encode ? 0.4 : 0.3;
}

const zc_codec_class zc_codec_lz4 = {
    .name = "lz4",
    .max_decoded = MAX_DECODED,
    .bound = lz4_bound,
    .encode = lz4_encode,
    .decode = lz4_decode,
    .check = lz4_check,
    .byte_ns = lz4_byte_ns,
    .defaults = {.level = 1},
};
