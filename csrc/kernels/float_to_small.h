/* SPDX-License-Identifier: MIT
 *
 * Floats as numbers of fewer bits, by any rule of rounding: loops of integer arithmetic that compilers vectorise.
 */
#pragma once

#include "kernels/exact_number.h"

/*
 * dst[i] = the number of type `to` that zc_real_store would store for src[i].  Numbers that are out of range become the
 * limit of zc_real_limit if `clamps`.  Returns false, with dst undefined, if some number does not fit.
 */
bool zc_narrow(void *dst, zc_number_kind to, const float *src, size_t n, zc_rounding rounding, bool clamps);

/*
 * Doubles as floats that zc_narrow rounds as it would round the doubles themselves: what is cut off sets the last bit,
 * what is too large or too small becomes the largest or smallest normal float.  `to` is what they are for: false, with
 * dst undefined, if some are so large or small that its numbers differ from one to the other.
 */
bool zc_doubles_to_odd(float *dst, const void *src, zc_number_kind to, size_t n);

/*
 * Doubles as floats, rounded by a rule other than to the nearest even one.  False, with dst undefined, if some are no
 * normal floats, nor zero, infinite or NaN, or have become infinite.
 */
bool zc_doubles_to_floats(void *dst, const void *src, size_t n, zc_rounding rounding);
