/* SPDX-License-Identifier: MIT
 *
 * Numbers of one type as numbers of another, for all types that numpy has: those of zc_cast, Booleans, half precision
 * and complex numbers.
 */
#pragma once

#include <stdbool.h>

#include "kernels/cast.h"

/* Is it one of these types? */
bool zc_number_of_numpy(zc_number_kind kind);

/* The parts of a complex number; any other kind is its own. */
zc_number_kind zc_number_part(zc_number_kind kind);

/*
 * dst[i] = (to)src[i] for n numbers in the machine's byte order, any alignment, as numpy.ndarray.astype does it: what is
 * not 0 is true, true is 1, complex numbers lose their imaginary part where others are made of them.  Everything else is
 * as zc_cast has it; halves are made of doubles in one step of rounding.
 *
 * dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_cast_numpy(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n);
