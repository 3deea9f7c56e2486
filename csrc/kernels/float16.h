/* SPDX-License-Identifier: MIT
 *
 * Floats of 16 bits as floats of 32 bits and back: IEEE 754 half precision, and bfloat16.
 */
#pragma once

#include <stddef.h>

#include "kernels/cast.h"

/*
 * n numbers in the machine's byte order, any alignment; kind is ZC_NUMBER_F16 or ZC_NUMBER_BF16.  Floats become the
 * nearest number, of two as near the even one, too large ones infinity; NaN stays NaN with sign and the highest bits of
 * the payload, and becomes quiet.  dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_halves_to_floats(float *dst, const void *src, zc_number_kind kind, size_t n);
void zc_floats_to_halves(void *dst, zc_number_kind kind, const float *src, size_t n);
