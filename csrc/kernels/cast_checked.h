/* SPDX-License-Identifier: MIT
 *
 * Numbers of one type as numbers of another, by the rules of rounding in exact_number.h, as long as nothing special happens.
 */
#pragma once

#include "kernels/exact_number.h"

enum { ZC_CAST_MAX = 512 };      /* numbers in one call */

/* How numbers that the other type has not are treated. */
typedef struct zc_cast_rules {
    zc_rounding rounding;
    bool wraps;              /* integers that are out of range become their low bits */
    bool clamps;             /* numbers out of range may become zc_real_limit */
} zc_cast_rules;

/*
 * The loops that compilers vectorise: dst[i] = the number of type `to` that zc_real_store would store for src[i], for n
 * numbers in the machine's byte order.  True if all were done; false, with dst undefined, if some were not (out of range,
 * or rounded twice on the way), or if the types have no loop.
 */
bool zc_cast_checked(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n,
                     const zc_cast_rules *rules);

/*
 * For numbers of the first ZC_NUMBER_KINDS kinds: those that have no mark yet and equal the one at key, where NaN equals
 * NaN, get this one, and become 0.
 */
void zc_numbers_blank(void *numbers, zc_number_kind kind, size_t n, const void *key, uint8_t mark, uint8_t *marks);
