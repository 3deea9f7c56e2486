/* SPDX-License-Identifier: MIT
 *
 * The shape that the codec "reshape" (Zarr extensions) makes of a chunk.
 */
#ifndef ZC_ENGINE_RESHAPE_H
#define ZC_ENGINE_RESHAPE_H

#include "engine/chain.h"

/* Count the items of a chunk; false on overflow. */
bool zc_reshape_count(const int64_t *shape, int ndim, int64_t *out);

/*
 * Compute the n lengths of the reshaped chunk.  ZC_ERR_ARGUMENT unless they hold the items of a chunk of that shape, in
 * the same order.  Where the shape is not known (NULL) only the rules are checked, and *out is not useful.
 */
zc_status zc_reshape_lengths(const zc_length *rules, int n, int ndim, const int64_t *shape, int64_t *out,
                             zc_error *err);

#endif
