/* SPDX-License-Identifier: MIT
 *
 * Private to kernels/: the dense loops of delta on vectors of 32 bytes, for AVX2.  Each does as many whole vectors as n
 * numbers fill and returns how many numbers these were; 0 where the CPU has no such vectors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/delta.h"

/* dst[i] = src[i] - src[i - 1]: a number lies before src. */
size_t zc_delta_encode_vectors(void *dst, const void *src, size_t n, zc_delta_kind kind);

/* The same with the differences cut from `from` to the `to` bytes of a smaller integer. */
size_t zc_delta_narrow_vectors(void *dst, size_t to, const void *src, size_t from, size_t n);

/* dst[i] = sum + src[0] + ... + src[i] for integers of `to` bytes, out of such of as many or of fewer bytes. */
size_t zc_delta_decode_vectors(void *dst, size_t to, const void *src, size_t from, bool is_signed, size_t n,
                               uint64_t sum);
