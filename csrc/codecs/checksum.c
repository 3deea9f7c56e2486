/* SPDX-License-Identifier: MIT
 *
 * Checksum codecs: the data as they are and a 32-bit checksum, little-endian, after or before them.
 *
 * crc32c: zarr v3 codec "crc32c", section "Codec algorithm".  crc32, adler32, fletcher32, jenkins_lookup3: as
 * numcodecs stores them for zarr v2.
 */
#include <limits.h>
#include <string.h>

#include "base/arith.h"
#include "codecs/abi.h"
#include "codecs/classes.h"
#include "kernels/crc32c.h"
#include "kernels/lookup3.h"

enum { CHECKSUM_NBYTES = 4 };

/* ---- the sums ------------------------------------------------------------------------------ */

static uint32_t crc32c_sum(const zc_codec *codec, const uint8_t *data, size_t n)
{
    (void)codec;
    return zc_crc32c(0, data, n);
}

/* zlib counts in unsigned int. */
static uint32_t zlib_sum(unsigned long (*update)(unsigned long, const unsigned char *, unsigned int),
                         unsigned long seed, const uint8_t *data, size_t n)
{
    while (n > 0) {
        const unsigned int piece = n < INT_MAX ? (unsigned int)n : INT_MAX;
        seed = update(seed, data, piece);
        data += piece;
        n -= piece;
    }
    return (uint32_t)seed;
}

static uint32_t crc32_sum(const zc_codec *codec, const uint8_t *data, size_t n)
{
    (void)codec;
    return zlib_sum(crc32, 0, data, n);
}

static uint32_t adler32_sum(const zc_codec *codec, const uint8_t *data, size_t n)
{
    (void)codec;
    return zlib_sum(adler32, 1, data, n);
}

static uint32_t fold16(uint32_t sum)
{
    return (sum & 0xffff) + (sum >> 16);
}

/*
 * HDF5's variant of Fletcher's checksum: sums modulo 65535 over big-endian 16-bit words, an odd last byte
 * being a word's upper half.  360 words are as many as can be added before the second sum may overflow.
 */
static uint32_t fletcher32_sum(const zc_codec *codec, const uint8_t *data, size_t n)
{
    uint32_t low = 0;
    uint32_t high = 0;

    (void)codec;
    for (size_t i = 0; i < n;) {
        const size_t stop = n - i > 720 ? i + 720 : n;
        for (; i < stop; i += 2) {
            low += (uint32_t)data[i] << 8 | (i + 1 < n ? data[i + 1] : 0u);
            high += low;
        }
        low = fold16(low);
        high = fold16(high);
    }
    return fold16(high) << 16 | fold16(low);
}

static uint32_t jenkins_lookup3_sum(const zc_codec *codec, const uint8_t *data, size_t n)
{
    return zc_lookup3(codec->lookup3.initial, codec->lookup3.prefix, codec->lookup3.n_prefix, data, n);
}

/* ---- the codecs ---------------------------------------------------------------------------- */

static bool checksum_bound(const zc_codec *codec, size_t n, size_t *out)
{
    (void)codec;
    return zc_add_size(n, CHECKSUM_NBYTES, out);
}

static zc_status checksum_encode(const zc_coding *c, size_t *written)
{
    const size_t data_at = c->codec->at_start ? CHECKSUM_NBYTES : 0;
    const size_t sum_at = c->codec->at_start ? 0 : c->n;

    if (c->cap < CHECKSUM_NBYTES || c->n > c->cap - CHECKSUM_NBYTES) {
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "%zu bytes and their checksum do not fit into %zu bytes", c->n, c->cap);
    }
    if (c->n > 0) {
        memcpy(c->dst + data_at, c->src, c->n);
    }
    zc_store_le32(c->dst + sum_at, c->codec->cls->checksum(c->codec, c->src, c->n));
    *written = c->n + CHECKSUM_NBYTES;
    return ZC_OK;
}

static zc_status checksum_strip(const zc_codec *codec, const uint8_t *src, size_t n, const uint8_t **out,
                                size_t *out_n, zc_error *err)
{
    if (n < CHECKSUM_NBYTES) {
        return zc_fail(err, ZC_ERR_CORRUPT, "truncated: %zu bytes cannot hold a checksum", n);
    }
    const size_t nbytes = n - CHECKSUM_NBYTES;
    const uint8_t *data = codec->at_start ? src + CHECKSUM_NBYTES : src;
    const uint32_t stored = zc_load_le32(codec->at_start ? src : src + nbytes);
    const uint32_t computed = codec->cls->checksum(codec, data, nbytes);

    if (stored != computed) {
        return zc_fail(err, ZC_ERR_CHECKSUM,
                       "checksum mismatch: stored 0x%08x, computed 0x%08x over %zu bytes", (unsigned)stored,
                       (unsigned)computed, nbytes);
    }
    *out = data;
    *out_n = nbytes;
    return ZC_OK;
}

#define CHECKSUM_CODEC(codec_name, before_data)                                                             \
    const zc_codec_class zc_codec_##codec_name = {                                                          \
        .name = #codec_name,                                                                                \
        .max_decoded = ZC_SIZE_MAX - CHECKSUM_NBYTES,                                                       \
        .fixed_size = true,                                                                                 \
        .bound = checksum_bound,                                                                            \
        .encode = checksum_encode,                                                                          \
        .strip = checksum_strip,                                                                            \
        .checksum = codec_name##_sum,                                                                       \
        .defaults = {.at_start = before_data},                                                              \
    }

CHECKSUM_CODEC(crc32c, false);
CHECKSUM_CODEC(crc32, true);
CHECKSUM_CODEC(adler32, true);
CHECKSUM_CODEC(fletcher32, false);
CHECKSUM_CODEC(jenkins_lookup3, false);
