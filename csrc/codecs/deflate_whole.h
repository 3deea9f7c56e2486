/* SPDX-License-Identifier: MIT
 *
 * DEFLATE of whole values with libdeflate, two to three times as fast as zlib, where the build has it
 * (ZC_HAVE_LIBDEFLATE).
 *
 * Both functions return false when they did not do the work: no libdeflate, a value so long that a cancelled
 * job would have to wait for it, or any fault at all.  zlib (deflate.c) then does it, or reports what is wrong.
 */
#pragma once

#include "codecs/codec.h"

typedef enum zc_deflate_container { ZC_DEFLATE_ZLIB, ZC_DEFLATE_GZIP } zc_deflate_container;

/* Decode one zlib stream, or all members of a gzip value, that end exactly where c->src does. */
bool zc_deflate_whole_decode(zc_deflate_container container, const zc_coding *c, size_t *written);

bool zc_deflate_whole_encode(zc_deflate_container container, const zc_coding *c, size_t *written);
