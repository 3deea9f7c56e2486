/* SPDX-License-Identifier: MIT
 *
 * Byte shuffle: all first bytes of n items, then all second bytes, and so on (as blosc and HDF5 do before
 * they compress).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * dst[b * n + i] = src[i * size + b] for n items of `size` >= 1 bytes; zc_unshuffle is the inverse.
 * dst and src do not overlap.  Nothing fails; no shared state: any number of threads may call them at once.
 */
void zc_shuffle(void *dst, const void *src, size_t n, size_t size);
void zc_unshuffle(void *dst, const void *src, size_t n, size_t size);

/* zc_unshuffle of planes that lie anywhere, n bytes each.  False, with nothing done, where that is not quicker than putting
 * them next to each other first: items of other than 2, 4, 8 or 16 bytes, and some CPUs. */
bool zc_unshuffle_planes(void *dst, const void *const *planes, size_t n, size_t size);

/* Of n shuffled items, put items first to first + count - 1 to dst. */
void zc_unshuffle_some(void *dst, const void *src, size_t n, size_t size, size_t first, size_t count);
