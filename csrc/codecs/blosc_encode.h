/* SPDX-License-Identifier: MIT
 *
 * Buffers of blosc are made: what the library decides is left to it, the blocks are compressed here where that is quicker.
 */
#pragma once

#include "codecs/blosc_format.h"

/* The header that the library would write for n bytes, and what it states; false if it is unknown.  Its sizes of
 * what is encoded are still to be set. */
bool zc_blosc_plan(const zc_codec *codec, const uint8_t *src, size_t n, uint8_t *header, zc_blosc_header *h);

/* Compress n bytes into `room` bytes; *size is 0 or less if it fails. */
zc_status zc_blosc_compress(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst,
                            size_t room, int *size, zc_error *err);
