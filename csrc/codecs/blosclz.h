/* SPDX-License-Identifier: MIT
 *
 * blosclz, the compressor that blosc brings with it: decoding alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode src[0..n), which stands for exactly nbytes, to dst.  False if it does not.  Reads nothing else than src, and
 * nothing of dst that it has not written. */
bool zc_blosclz_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes);

/* The same where src may lie in the memory after dst[0..), the decoded bytes taking its place.  False, too, where these
 * would reach bytes that have not been read: src is overwritten then. */
bool zc_blosclz_decode_over(const uint8_t *src, size_t n, uint8_t *dst, size_t nbytes);
