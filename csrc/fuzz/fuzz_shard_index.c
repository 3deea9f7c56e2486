/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for the index of a shard.  Byte 0 of the input holds flags, byte 1 the number of entries, then follow
 * 8 bytes with the size of the shard; the rest are entries.
 */
#include "base/arith.h"
#include "base/status.h"
#include "fuzz/fuzz.h"
#include "kernels/shard_index.h"

enum { BIG_ENDIAN_WORDS = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_input in = {data, n};
    const bool big = (fuzz_byte(&in) & BIG_ENDIAN_WORDS) != 0;
    const size_t wanted = fuzz_byte(&in), entries = wanted < in.n / 16 ? wanted : in.n / 16;
    const uint64_t shard = fuzz_word(&in, 8);
    zc_error err;

    if (in.n < 16 * entries) {
        return 0;
    }
    uint8_t *bytes = malloc(16 * entries + 1), *again = malloc(16 * entries + 1);
    zc_extent *extents = malloc((entries + 1) * sizeof *extents);
    FUZZ_REQUIRE(bytes != NULL && again != NULL && extents != NULL, "out of memory");
    memcpy(bytes, in.at, 16 * entries);
    zc_error_clear(&err);
    const zc_status status = zc_shard_index_unpack(bytes, entries, big, shard, extents, &err);
    FUZZ_REQUIRE(status == ZC_OK || (status == ZC_ERR_RANGE && err.message[0] != '\0'), "an unexpected status");
    if (status == ZC_OK) {
        for (size_t i = 0; i < entries; i++) {
            const zc_extent e = extents[i];
            FUZZ_REQUIRE(zc_extent_empty(e) || (e.offset <= shard && e.nbytes <= shard - e.offset),
                         "an entry that reaches out of the shard");
        }
        zc_shard_index_pack(extents, entries, big, again);
        FUZZ_REQUIRE(memcmp(bytes, again, 16 * entries) == 0, "another index when packed again");
    }
    free(bytes);
    free(again);
    free(extents);
    return 0;
}
