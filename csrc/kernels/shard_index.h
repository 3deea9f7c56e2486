/* SPDX-License-Identifier: MIT
 *
 * The index of a shard: for each inner chunk, in C order, offset and length as little-endian uint64
 * (zarr v3 spec, sharding_indexed codec).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define ZC_SHARD_EMPTY UINT64_MAX       /* offset and length of an inner chunk that is not there */

typedef struct zc_extent {
    uint64_t offset;
    uint64_t nbytes;
} zc_extent;

static inline bool zc_extent_empty(zc_extent e)
{
    return e.offset == ZC_SHARD_EMPTY && e.nbytes == ZC_SHARD_EMPTY;
}

/*
 * Unpack n entries, 16 * n bytes at src, words in little-endian (or big-endian) order.
 * ZC_ERR_RANGE, with the entry's number in err, if one that is not empty reaches past shard_nbytes;
 * out is then partly written.
 */
zc_status zc_shard_index_unpack(const uint8_t *src, size_t n, bool big_endian, uint64_t shard_nbytes,
                                zc_extent *out, zc_error *err);

/* Pack n entries into 16 * n bytes. */
void zc_shard_index_pack(const zc_extent *src, size_t n, bool big_endian, uint8_t *out);
