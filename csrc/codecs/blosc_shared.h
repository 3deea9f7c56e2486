/* SPDX-License-Identifier: MIT
 *
 * One large blosc buffer by several threads of the pool: its blocks know nothing of each other.  What comes out, and what
 * is refused, is that of zc_codec_blosc.
 */
#pragma once

#include "base/pool.h"
#include "codecs/codec.h"

/* Who does it, and who may stop it: as in zc_run. */
typedef struct zc_sharing {
    int threads;
    zc_poll poll;
    void *poll_arg;
} zc_sharing;

/*
 * The same bytes as those of one thread.  cap is at least the codec's bound.  Takes memory for four pieces
 * of the data for each thread, of a megabyte or two blocks, while it runs.
 */
zc_status zc_blosc_encode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err);

zc_status zc_blosc_decode_shared(const zc_codec *codec, const zc_sharing *sharing, const uint8_t *src, size_t n,
                                 uint8_t *dst, size_t cap, size_t *written, zc_error *err);
