/* SPDX-License-Identifier: MIT
 *
 * Differences of neighbours, and their running sum, for the types of numpy that delta.h lacks.
 */
#pragma once

#include <stddef.h>

#include "kernels/cast.h"

/*
 * As zc_delta_encode and zc_delta_decode, for Booleans, half precision and complex numbers.  The difference of Booleans
 * is whether they differ.  Halves are rounded after each addition, as numpy does it.
 */
void zc_delta_encode_numpy(void *dst, const void *src, size_t n, zc_number_kind kind);
void zc_delta_decode_numpy(void *dst, const void *src, size_t n, zc_number_kind kind);
