/* SPDX-License-Identifier: MIT
 *
 * Codecs that are applied or not; a header in each value records which (extension "conditional").
 *
 * Bit i of the header, which is little-endian, stands for nested codec i.
 */
#include <string.h>

#include "base/arith.h"
#include "codecs/classes.h"
#include "codecs/stages.h"

static zc_status conditional_check(const zc_codec *codec, zc_error *err)
{
    zc_status status = ZC_OK;

    if (codec->nested.n < 0 || codec->nested.n > ZC_MAX_STAGES ||
        codec->nested.header < ((size_t)codec->nested.n + 7) / 8) {
        return zc_fail(err, ZC_ERR_ARGUMENT, "expected up to %d codecs and a bit for each, got %d and %zu bytes",
                       ZC_MAX_STAGES, codec->nested.n, codec->nested.header);
    }
    for (int i = 0; i < codec->nested.n && status == ZC_OK; i++) {
        status = zc_codec_check(&codec->nested.codecs[i], err);
    }
    return status;
}

/* A codec that makes more of a value than it was is applied only where all are. */
static bool conditional_bound(const zc_codec *codec, size_t n, size_t *out)
{
    const bool always = codec->nested.decision == ZC_DECIDE_ALWAYS;

    return zc_stages_bound(codec->nested.codecs, always ? codec->nested.n : 0, n, &n, NULL) == ZC_OK &&
           zc_add_size(n, codec->nested.header, out);
}

/* ---- encoding --------------------------------------------------------------------------------- */

/* Encode *data with one of the codecs into a scratch buffer, which stays open if the codec is applied. */
static zc_status try_one(const zc_codec *nested, zc_decision decision, const uint8_t **data, size_t *n,
                         bool *applied, zc_workspace *ws, zc_error *err)
{
    size_t room, written = 0;

    *applied = false;
    if (decision == ZC_DECIDE_NEVER) {
        return ZC_OK;
    }
    zc_status status = zc_stages_bound(nested, 1, *n, &room, err);
    uint8_t *const dst = status == ZC_OK ? zc_scratch_push(ws, room, err) : NULL;
    if (dst == NULL) {
        return status == ZC_OK ? ZC_ERR_MEMORY : status;
    }
    status = zc_codec_encode(nested, ws, *data, *n, dst, room, &written, err);
    *applied = status == ZC_OK && (decision == ZC_DECIDE_ALWAYS || written < *n);
    if (*applied) {
        *data = dst;
        *n = written;
    } else {
        zc_scratch_pop(ws);
    }
    return status;
}

static zc_status conditional_encode(const zc_coding *c, size_t *written)
{
    const zc_codec *const codec = c->codec;
    const size_t header = codec->nested.header;
    const uint8_t *data = c->src;
    size_t n = c->n;
    int pushed = 0;
    zc_status status = ZC_OK;

    if (c->cap < header) {
        return zc_fail(c->err, ZC_ERR_ARGUMENT, "no room for a header of %zu bytes", header);
    }
    memset(c->dst, 0, header);
    for (int i = 0; i < codec->nested.n && status == ZC_OK; i++) {
        bool applied;
        status = try_one(&codec->nested.codecs[i], codec->nested.decision, &data, &n, &applied, c->ws, c->err);
        pushed += applied;
        c->dst[i / 8] |= (uint8_t)(applied << i % 8);
    }
    if (status == ZC_OK && n > c->cap - header) {
        status = zc_fail(c->err, ZC_ERR_ARGUMENT, "%zu bytes and a header do not fit into %zu", n, c->cap);
    }
    if (status == ZC_OK && n > 0) {
        memcpy(c->dst + header, data, n);
    }
    *written = header + n;
    zc_pop(c->ws, pushed);
    return status;
}

/* ---- decoding --------------------------------------------------------------------------------- */

/* The codecs that were applied, in the order of encoding; *n_used of them. */
static zc_status find_used(const zc_codec *codec, const uint8_t *header, zc_codec *used, int *n_used, zc_error *err)
{
    *n_used = 0;
    for (size_t bit = 0; bit < 8 * codec->nested.header; bit++) {
        if ((header[bit / 8] >> bit % 8 & 1) == 0) {
            continue;
        }
        if (bit >= (size_t)codec->nested.n) {
            return zc_fail(err, ZC_ERR_CORRUPT, "the header names codec %zu of %d", bit, codec->nested.n);
        }
        used[(*n_used)++] = codec->nested.codecs[bit];
    }
    return ZC_OK;
}

static zc_status conditional_decode(const zc_coding *c, size_t *written)
{
    const size_t header = c->codec->nested.header;
    zc_codec used[ZC_MAX_STAGES];
    int n_used;
    zc_status status = conditional_check(c->codec, c->err);

    if (status == ZC_OK && c->n < header) {
        status = zc_fail(c->err, ZC_ERR_CORRUPT, "%zu bytes cannot hold the header of %zu", c->n, header);
    }
    if (status == ZC_OK) {
        status = find_used(c->codec, c->src, used, &n_used, c->err);
    }
    if (status != ZC_OK) {
        return status;
    }
    if (n_used == 0) {
        return zc_codec_put(c, c->src + header, c->n - header, written);
    }
    zc_output out = {c->dst, c->cap, 0};
    status = zc_stages_decode(used, n_used, (zc_bytes){c->src + header, c->n - header}, &out, c->ws, c->err);
    *written = out.written;
    return status;
}

const zc_codec_class zc_codec_conditional = {
    .name = "conditional",
    .max_decoded = ZC_SIZE_MAX / 2,
    .bound = conditional_bound,
    .encode = conditional_encode,
    .decode = conditional_decode,
    .check = conditional_check,
};
