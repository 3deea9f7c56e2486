/* SPDX-License-Identifier: MIT
 *
 * Numbers of one type as numbers of another, by the rules of rounding in reals.h, as long as nothing special happens.
 */
#ifndef ZC_KERNELS_CAST_CHECKED_H
#define ZC_KERNELS_CAST_CHECKED_H

#include "kernels/reals.h"

enum { ZC_CAST_MAX = 512 };      /* numbers in one call */

/*
 * The loops that compilers vectorise: dst[i] = the number of type `to` that zc_real_store makes of src[i], for n numbers in
 * the machine's byte order.  Integers that are out of range wrap if `wraps`, else they are no numbers for this function.
 * True if all were; false, with dst spoilt, if some are not (out of range, or to be rounded in a way that has no
 * loop), or if the types have no loop.
 */
bool zc_cast_checked(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n, zc_rounding rounding,
                     bool wraps);

/*
 * For numbers of the first ZC_NUMBER_KINDS kinds: those that have no mark yet and equal the one at key, where NaN equals
 * NaN, get this one, and become 0.
 */
void zc_numbers_blank(void *numbers, zc_number_kind kind, size_t n, const void *key, uint8_t mark, uint8_t *marks);

#endif
