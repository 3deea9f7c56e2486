/* SPDX-License-Identifier: MIT
 *
 * Conversions that C leaves undefined or to the state of the floating-point unit: loops of integer arithmetic.
 */
#pragma once

#include "kernels/exact_number.h"

/* Numbers below `low` become `least`, those above `high` become `most`. */
typedef struct zc_whole_limits {
    double low, high;
    uint64_t least, most;
} zc_whole_limits;

/*
 * dst[i] = the low bits of src[i], a whole number of any size (below zero: of the two's complement), within the limits.
 * False, with dst undefined, if some are infinite or NaN.
 */
bool zc_whole_to_words(uint64_t *dst, const double *src, size_t n, const zc_whole_limits *limits);

/*
 * Integers of 64 bits as doubles that are rounded to 40 and fewer bits as the integers themselves would be: what is cut
 * off sets the last bit of what is left.
 */
void zc_integers_to_odd(double *dst, const void *src, zc_number_kind from, size_t n);

/* Integers of 64 bits as doubles, by any rule of rounding. */
void zc_integers_to_doubles(void *dst, const void *src, zc_number_kind from, size_t n, zc_rounding rounding);

/*
 * Doubles as float8_e8m0fnu, powers of two, as zc_real_store rounds them.  Numbers that are out of range become what
 * zc_real_limit returns if `clamps`.  Returns false, with dst undefined, if some number does not fit.
 */
bool zc_doubles_to_powers(void *dst, const void *src, size_t n, zc_rounding rounding, bool clamps);
