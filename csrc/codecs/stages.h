/* SPDX-License-Identifier: MIT
 *
 * Codecs one after the other, as the chain of an array has them, or a codec that contains others.
 */
#pragma once

#include "codecs/codec.h"

#define ZC_MAX_STAGES 16     /* codecs of one chain, with those that they hold */

/* Bytes that somebody else keeps. */
typedef struct zc_bytes {
    const uint8_t *data;
    size_t n;
} zc_bytes;

/* Where bytes are put. */
typedef struct zc_output {
    uint8_t *data;
    size_t cap;
    size_t written;          /* a chunk of 0 bytes is not stored */
} zc_output;

/* How many codecs these are, with those that they hold. */
int zc_stages_count(const zc_codec *stages, int n_stages);

/* More bytes than any sound encoding of n bytes takes. */
size_t zc_roomy(size_t n);

/* Most bytes that n_stages codecs can make of n bytes in a valid value of any writer. */
size_t zc_stages_capacity(const zc_codec *stages, int n_stages, size_t n);

/* Most bytes that they make of n bytes here. */
zc_status zc_stages_bound(const zc_codec *stages, int n_stages, size_t n, size_t *out, zc_error *err);

/*
 * Undo stages n_stages-1 down to first.  The result takes the place of *bytes: inside of them where nothing had to be
 * decoded, else in scratch memory that the caller releases, whether this fails or not.  `decoded` is the most bytes that
 * stage 0 can have been given.
 */
zc_status zc_stages_undo(const zc_codec *stages, int n_stages, int first, zc_bytes *bytes, size_t decoded,
                         zc_workspace *ws, zc_error *err);

/* Undo all of them, one or more. */
zc_status zc_stages_decode(const zc_codec *stages, int n_stages, zc_bytes src, zc_output *out, zc_workspace *ws,
                           zc_error *err);

/* Apply all of them; out->cap >= the bound. */
zc_status zc_stages_encode(const zc_codec *stages, int n_stages, zc_bytes src, zc_output *out, zc_workspace *ws,
                           zc_error *err);
