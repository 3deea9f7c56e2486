/* SPDX-License-Identifier: MIT */
#include "kernels/shard_index.h"

#include <inttypes.h>

#include "base/arith.h"
#include "base/assert.h"

static inline uint64_t load_be64(const uint8_t *p)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++) {
        p[i] = (uint8_t)(v >> (56 - 8 * i));
    }
}

/* Half an "empty" marker is never legal, for any size of the shard.  The subtraction cannot wrap. */
static inline bool inside(zc_extent e, uint64_t shard_nbytes)
{
    return e.offset != ZC_SHARD_EMPTY && e.nbytes != ZC_SHARD_EMPTY && e.offset <= shard_nbytes &&
           e.nbytes <= shard_nbytes - e.offset;
}

zc_status zc_shard_index_unpack(const uint8_t *src, size_t n, bool big_endian, uint64_t shard_nbytes,
                                zc_extent *out, zc_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *const entry = src + 16 * i;
        const zc_extent e = big_endian ? (zc_extent){load_be64(entry), load_be64(entry + 8)}
                                       : (zc_extent){zc_load_le64(entry), zc_load_le64(entry + 8)};

        if (!inside(e, shard_nbytes) && !zc_extent_empty(e)) {
            if (err != NULL) {
                err->in_shard = true;
                err->inner_chunk = i;
                err->offset = e.offset;
                err->nbytes = e.nbytes;
            }
            return zc_fail(err, ZC_ERR_RANGE,
                           "shard index entry %zu (offset %" PRIu64 ", %" PRIu64
                           " bytes) reaches outside of the shard of %" PRIu64 " bytes",
                           i, e.offset, e.nbytes, shard_nbytes);
        }
        out[i] = e;
    }
    return ZC_OK;
}

void zc_shard_index_pack(const zc_extent *src, size_t n, bool big_endian, uint8_t *out)
{
    zc_assert(zc_is_apart(out, 16 * n, src, n * sizeof *src));
    for (size_t i = 0; i < n; i++) {
        if (big_endian) {
            store_be64(out + 16 * i, src[i].offset);
            store_be64(out + 16 * i + 8, src[i].nbytes);
        } else {
            zc_store_le64(out + 16 * i, src[i].offset);
            zc_store_le64(out + 16 * i + 8, src[i].nbytes);
        }
    }
}
