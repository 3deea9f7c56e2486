/* SPDX-License-Identifier: MIT */
#include "kernels/shard_index.h"

#include "tests/check.h"

static void little_endian_bytes(void)
{
    const zc_extent entry = {0x0102030405060708u, 0x1112131415161718u};
    const uint8_t little[16] = {8, 7, 6, 5, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    const uint8_t big[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
    uint8_t out[16];

    zc_shard_index_pack(&entry, 1, false, out);
    CHECK(memcmp(out, little, 16) == 0);
    zc_shard_index_pack(&entry, 1, true, out);
    CHECK(memcmp(out, big, 16) == 0);
}

static void round_trip(void)
{
    const zc_extent entries[4] = {{0, 10}, {ZC_SHARD_EMPTY, ZC_SHARD_EMPTY}, {10, 0}, {90, 10}};

    for (int big = 0; big < 2; big++) {
        uint8_t packed[65];
        zc_extent back[4];
        zc_error err = {0};

        zc_shard_index_pack(entries, 4, big, packed + 1);
        CHECK(zc_shard_index_unpack(packed + 1, 4, big, 100, back, &err) == ZC_OK);
        CHECK(memcmp(back, entries, sizeof entries) == 0);
    }
    CHECK(zc_shard_index_unpack(NULL, 0, false, 0, NULL, NULL) == ZC_OK);
}

static zc_status unpack_one(uint64_t offset, uint64_t nbytes, uint64_t shard_nbytes)
{
    const zc_extent entries[2] = {{ZC_SHARD_EMPTY, ZC_SHARD_EMPTY}, {offset, nbytes}};
    uint8_t packed[32];
    zc_extent back[2];
    zc_error err = {0};

    zc_shard_index_pack(entries, 2, false, packed);
    const zc_status status = zc_shard_index_unpack(packed, 2, false, shard_nbytes, back, &err);
    CHECK(err.status == status);
    CHECK(status == ZC_OK || strstr(err.message, "entry 1 ") != NULL);
    return status;
}

static void ranges(void)
{
    CHECK(unpack_one(0, 100, 100) == ZC_OK);
    CHECK(unpack_one(100, 0, 100) == ZC_OK);
    CHECK(unpack_one(0, 101, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(100, 1, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(101, 0, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(UINT64_MAX - 1, 2, 100) == ZC_ERR_RANGE);         /* the sum would wrap */
    CHECK(unpack_one(2, UINT64_MAX - 1, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(UINT64_MAX - 1, UINT64_MAX - 1, 100) == ZC_ERR_RANGE);
}

static void half_empty(void)
{
    CHECK(unpack_one(ZC_SHARD_EMPTY, 0, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(0, ZC_SHARD_EMPTY, 100) == ZC_ERR_RANGE);
    CHECK(unpack_one(ZC_SHARD_EMPTY, 0, UINT64_MAX) == ZC_ERR_RANGE);
    CHECK(unpack_one(0, ZC_SHARD_EMPTY, UINT64_MAX) == ZC_ERR_RANGE);
    CHECK(unpack_one(ZC_SHARD_EMPTY, ZC_SHARD_EMPTY, 0) == ZC_OK);
}

int main(void)
{
    RUN(little_endian_bytes);
    RUN(round_trip);
    RUN(ranges);
    RUN(half_empty);
    return check_report("shard_index");
}
