/* SPDX-License-Identifier: MIT
 *
 * A codec that the core does not have: functions of its user, as one stage of a chain.
 */
#pragma once

#include <stdatomic.h>

#include "codecs/codec.h"

/*
 * How long an encoding can be is not known beforehand.  The stage asks for `factor` times the input, and a little; where
 * that is not enough, encode calls zc_callback_grow and fails with ZC_ERR_ROOM, and whoever asked for the room begins
 * again.
 */
struct zc_callback {
    zc_codec_class cls;              /* with the codec's own name */
    void *self;                      /* the user's own */
    zc_status (*encode)(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                        size_t cap, size_t *written, zc_error *err);

    /* Decode to at most `most` bytes.  If they are more than cap, *written is their number, and the status ZC_ERR_SIZE. */
    zc_status (*decode)(const zc_callback *callback, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                        size_t cap, size_t most, size_t *written, zc_error *err);
    atomic_size_t factor;            /* only grows */
};

/* Make the stage that calls it.  The callback, whose functions are set, and its name must outlive the chain. */
void zc_callback_stage(zc_callback *callback, const char *name, zc_codec *out);

/* Note that the encoding of n bytes has `made` bytes. */
void zc_callback_grow(const zc_callback *callback, size_t n, size_t made);
