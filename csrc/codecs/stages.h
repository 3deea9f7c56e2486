/* SPDX-License-Identifier: MIT
 *
 * Codecs one after the other, as the chain of an array has them, or a codec that contains others.
 */
#ifndef ZC_CODECS_STAGES_H
#define ZC_CODECS_STAGES_H

#include "codecs/codec.h"

#define ZC_MAX_STAGES 16     /* codecs of one chain, with those that they hold */

/* How many codecs these are, with those that they hold. */
int zc_stages_count(const zc_codec *stages, int n_stages);

/* More bytes than any sound encoding of n bytes takes. */
size_t zc_roomy(size_t n);

/* Most bytes that n_stages codecs can make of n bytes in a valid value of any writer. */
size_t zc_stages_capacity(const zc_codec *stages, int n_stages, size_t n);

/* Most bytes that they make of n bytes here. */
zc_status zc_stages_bound(const zc_codec *stages, int n_stages, size_t n, size_t *out, zc_error *err);

/*
 * Undo stages n_stages-1 down to first of src.  *out is the result: inside of src where nothing had to be
 * decoded, else in one of *pushed scratch buffers that the caller pops (none after a failure).  `decoded` is the
 * most bytes that stage 0 can have been given.
 */
zc_status zc_stages_undo(const zc_codec *stages, int n_stages, int first, const uint8_t *src, size_t n,
                         size_t decoded, zc_workspace *ws, const uint8_t **out, size_t *out_n, int *pushed,
                         zc_error *err);

/* Undo all of them, one or more, into dst[0..cap); *written is the size. */
zc_status zc_stages_decode(const zc_codec *stages, int n_stages, const uint8_t *src, size_t n, uint8_t *dst,
                           size_t cap, size_t *written, zc_workspace *ws, zc_error *err);

/* Apply all of them to src[0..n) and put the result at dst[0..cap); cap >= the bound. */
zc_status zc_stages_encode(const zc_codec *stages, int n_stages, const uint8_t *src, size_t n, uint8_t *dst,
                           size_t cap, size_t *written, zc_workspace *ws, zc_error *err);

#endif
