/* SPDX-License-Identifier: MIT */
#include "codecs/stages.h"

#include <string.h>

#include "base/arith.h"
#include "base/assert.h"
#include "codecs/callback.h"

int zc_stages_count(const zc_codec *stages, int n_stages)
{
    int n = n_stages;

    for (int s = 0; s < n_stages; s++) {
        n += zc_stages_count(stages[s].nested.codecs, stages[s].nested.n);
    }
    return n;
}

/* ---- sizes ------------------------------------------------------------------------------------ */

/* Twice the data plus room for headers is more than any compressor's stored form, with checksums, needs. */
size_t zc_roomy(size_t n)
{
    return zc_mul_size(n, 2, &n) && zc_add_size(n, 65536, &n) ? n : ZC_SIZE_MAX;
}

size_t zc_stages_capacity(const zc_codec *stages, int n_stages, size_t n)
{
    for (int s = 0; s < n_stages; s++) {
        const zc_codec *codec = &stages[s];
        if (codec->callback != NULL) {
            return ZC_SIZE_MAX;
        }
        if (!codec->cls->fixed_size) {
            n = zc_roomy(n);
        } else if (!codec->cls->bound(codec, n, &n)) {
            return ZC_SIZE_MAX;
        }
    }
    return n;
}

zc_status zc_stages_bound(const zc_codec *stages, int n_stages, size_t n, size_t *out, zc_error *err)
{
    for (int s = 0; s < n_stages; s++) {
        const zc_codec *codec = &stages[s];
        if (n > codec->cls->max_decoded || !codec->cls->bound(codec, n, &n)) {
            zc_error_set_codec(err, codec->cls->name);
            return zc_fail(err, ZC_ERR_OVERFLOW, "cannot encode %zu bytes at once", n);
        }
    }
    *out = n;
    return ZC_OK;
}

/* ---- decoding --------------------------------------------------------------------------------- */

/* More bytes than a sound value of unknown size decodes to: more than DEFLATE makes of its input. */
static size_t most_of(size_t n)
{
    return zc_mul_size(n, 2048, &n) && zc_add_size(n, (size_t)1 << 24, &n) ? n : ZC_SIZE_MAX;
}

/* Decode to scratch memory, however long that is: with more and more room, so that a small value that claims to be huge
 * costs little. */
static zc_status decode_unknown(const zc_codec *codec, zc_bytes *bytes, zc_workspace *ws, zc_error *err)
{
    const zc_callback *const callback = codec->callback;
    const size_t n = bytes->n, most = most_of(n);
    size_t made = 0;

    for (size_t room = n < most / 4 - 65536 ? 4 * n + 65536 : most;;) {
        uint8_t *const dst = zc_scratch_push(ws, room, err);
        if (dst == NULL) {
            return ZC_ERR_MEMORY;
        }
        const zc_status status =
            callback != NULL ? callback->decode(callback, ws, bytes->data, n, dst, room, most, &made, err)
                             : zc_codec_decode(codec, ws, bytes->data, n, dst, room, &made, err);
        if (status == ZC_OK) {
            *bytes = (zc_bytes){dst, made};
            return ZC_OK;
        }
        zc_scratch_pop(ws);
        if (status != ZC_ERR_SIZE || room == most) {
            return status;
        }
        zc_error_clear(err);
        room = callback != NULL && made > room && made < most ? made : room < most / 8 ? 8 * room : most;
    }
}

/* Undo one stage: in place where the codec can, else into a new scratch buffer. */
static zc_status undo_one(const zc_codec *codec, zc_bytes *bytes, size_t cap, zc_workspace *ws, zc_error *err)
{
    if (codec->cls->strip != NULL) {
        return codec->cls->strip(codec, bytes->data, bytes->n, &bytes->data, &bytes->n, err);
    }
    if (cap == ZC_SIZE_MAX) {
        return decode_unknown(codec, bytes, ws, err);
    }
    uint8_t *const dst = zc_scratch_push(ws, cap, err);
    const uint8_t *const src = bytes->data;
    bytes->data = dst;
    return dst != NULL ? zc_codec_decode(codec, ws, src, bytes->n, dst, cap, &bytes->n, err) : ZC_ERR_MEMORY;
}

zc_status zc_stages_undo(const zc_codec *stages, int n_stages, int first, zc_bytes *bytes, size_t decoded,
                         zc_workspace *ws, zc_error *err)
{
    zc_assert(n_stages >= 0 && n_stages <= ZC_MAX_STAGES && first >= 0);

    zc_status status = ZC_OK;

    for (int s = n_stages - 1; s >= first && status == ZC_OK; s--) {
        status = undo_one(&stages[s], bytes, zc_stages_capacity(stages, s, decoded), ws, err);
        if (status != ZC_OK) {
            zc_error_set_codec(err, stages[s].cls->name);
        }
    }
    return status;
}

zc_status zc_stages_decode(const zc_codec *stages, int n_stages, zc_bytes src, zc_output *out, zc_workspace *ws,
                           zc_error *err)
{
    zc_assert(n_stages >= 1 && n_stages <= ZC_MAX_STAGES && zc_is_apart(out->data, out->cap, src.data, src.n));

    const int mark = zc_scratch_mark(ws);
    zc_status status = zc_stages_undo(stages, n_stages, 1, &src, out->cap, ws, err);

    if (status == ZC_OK) {
        status = zc_codec_decode(&stages[0], ws, src.data, src.n, out->data, out->cap, &out->written, err);
    }
    zc_scratch_release(ws, mark);
    return status;
}

/* ---- encoding --------------------------------------------------------------------------------- */

/* Scratch memory for what a codec makes of n bytes. */
static zc_status push_room(const zc_codec *codec, size_t n, zc_output *out, zc_workspace *ws, zc_error *err)
{
    if (!codec->cls->bound(codec, n, &out->cap)) {
        zc_error_set_codec(err, codec->cls->name);
        return zc_fail(err, ZC_ERR_OVERFLOW, "cannot encode %zu bytes at once", n);
    }
    out->data = zc_scratch_push(ws, out->cap, err);
    return out->data != NULL ? ZC_OK : ZC_ERR_MEMORY;
}

zc_status zc_stages_encode(const zc_codec *stages, int n_stages, zc_bytes src, zc_output *out, zc_workspace *ws,
                           zc_error *err)
{
    zc_assert(n_stages >= 0 && n_stages <= ZC_MAX_STAGES && zc_is_apart(out->data, out->cap, src.data, src.n));

    const int mark = zc_scratch_mark(ws);
    zc_status status = ZC_OK;

    if (n_stages == 0) {
        memcpy(out->data, src.data, src.n);
    }
    for (int s = 0; s < n_stages && status == ZC_OK; s++) {
        zc_output made = *out;
        status = s + 1 < n_stages ? push_room(&stages[s], src.n, &made, ws, err) : ZC_OK;
        if (status == ZC_OK) {
            zc_assert(zc_codec_has_room(&stages[s], src.n, made.cap));
            status = zc_codec_encode(&stages[s], ws, src.data, src.n, made.data, made.cap, &src.n, err);
            src.data = made.data;
        }
    }
    out->written = src.n;
    zc_scratch_release(ws, mark);
    return status;
}
