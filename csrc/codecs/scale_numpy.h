/* SPDX-License-Identifier: MIT
 *
 * Private to codecs/: what fixedscaleoffset and quantize do with numbers other than floats of 4 and 8 bytes.
 */
#pragma once

#include "codecs/numbers.h"

/* Halves, one operation after the other rounded to a half, as floats: at most ZC_TILE of them. */
void zc_scale_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);
void zc_unscale_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);
void zc_quantize_halves(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

/* Complex numbers with a scale and an offset that are complex too: what becomes of 0, infinities and NaN. */
void zc_scale_c64(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);
void zc_scale_c128(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);
void zc_unscale_c64(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);
void zc_unscale_c128(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

/* Integers less the offset, which is one too, modulo 2 ** bits. */
void zc_subtract_whole(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

/* The same times the scale, an integer as well. */
void zc_scale_whole(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);

/* The type of integers in which numpy subtracts an integer from those of a codec. */
zc_number_kind zc_whole_kind(const zc_codec *codec);

/* ZC_ERR_ENCODE if that type has no such offset, or scale where it is an integer: numpy refuses them. */
zc_status zc_whole_check(const zc_codec *codec, zc_error *err);
