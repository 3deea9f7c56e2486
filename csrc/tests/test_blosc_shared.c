/* SPDX-License-Identifier: MIT
 *
 * Blosc buffers by several threads: what comes out, and what is refused, is that of one.
 */
#include <stdlib.h>

#include "check.h"
#include "codecs/blosc_shared.h"

enum { N = 11 << 20, ROOM = N + 16 };     /* more pieces than two threads take at a time */

static zc_workspace *ws;
static zc_error err;
static uint8_t *data, *alone, *shared, *decoded;

static zc_codec codec_of(zc_blosc_compressor compressor, zc_blosc_shuffle shuffle)
{
    zc_codec codec;

    zc_codec_init(&codec, "blosc");
    codec.level = 2;
    codec.blosc.compressor = compressor;
    codec.blosc.shuffle = shuffle;
    codec.blosc.typesize = 4;
    return codec;
}

/* Numbers less than `below` whose low bytes differ by chance. */
static void make_data(uint32_t below)
{
    uint32_t state = 12345, value;

    for (size_t i = 0; i < N; i += 4) {
        state = state * 1664525 + 1013904223;
        value = (state >> 8) % below;
        memcpy(data + i, &value, 4);
    }
}

static void same_bytes(void)
{
    const uint32_t limits[] = {1, 3000, 1 << 23};
    const zc_blosc_compressor compressors[] = {ZC_BLOSC_BLOSCLZ, ZC_BLOSC_LZ4, ZC_BLOSC_ZSTD};
    const zc_sharing sharing = {.threads = 2};

    for (int i = 0; i < 9; i++) {
        const zc_codec codec = codec_of(compressors[i / 3], i % 2 ? ZC_BLOSC_BYTESHUFFLE : ZC_BLOSC_NOSHUFFLE);
        size_t n = 0, m = 0, k = 0;

        make_data(limits[i % 3]);
        CHECK(zc_codec_encode(&codec, ws, data, N, alone, ROOM, &n, &err) == ZC_OK);
        CHECK(zc_blosc_encode_shared(&codec, &sharing, data, N, shared, ROOM, &m, &err) == ZC_OK);
        CHECK(n == m && memcmp(alone, shared, n) == 0);
        memset(decoded, 0xee, N);
        CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, m, decoded, N, &k, &err) == ZC_OK);
        CHECK(k == N && memcmp(decoded, data, N) == 0);
    }
}

static void damage(void)
{
    const zc_sharing sharing = {.threads = 3};
    const zc_codec codec = codec_of(ZC_BLOSC_LZ4, ZC_BLOSC_BYTESHUFFLE);
    size_t n = 0, k = 0;

    make_data(3000);
    CHECK(zc_blosc_encode_shared(&codec, &sharing, data, N, shared, ROOM, &n, &err) == ZC_OK);
    CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, n - 1, decoded, N, &k, NULL) == ZC_ERR_CORRUPT);
    CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, 5, decoded, N, &k, NULL) == ZC_ERR_CORRUPT);
    CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, n, decoded, N - 1, &k, NULL) == ZC_ERR_SIZE);
    for (size_t at = 16; at < n; at += n / 97) {
        const uint8_t byte = shared[at];

        shared[at] ^= 0x55;              /* other values, or refused, but nothing outside of the memory */
        const zc_status status = zc_blosc_decode_shared(&codec, &sharing, shared, n, decoded, N, &k, NULL);
        CHECK(status == ZC_OK || status == ZC_ERR_CORRUPT);
        shared[at] = byte;
    }
}

/* What is too small, or cannot be encoded at all, takes the usual way. */
static void others(void)
{
    const zc_sharing sharing = {.threads = 3};
    zc_codec codec = codec_of(ZC_BLOSC_LZ4, ZC_BLOSC_BYTESHUFFLE);
    size_t n = 0, k = 0;

    CHECK(zc_blosc_encode_shared(&codec, &sharing, data, 0, shared, ROOM, &n, &err) == ZC_OK && n == 16);
    CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, n, decoded, N, &k, &err) == ZC_OK && k == 0);
    CHECK(zc_blosc_encode_shared(&codec, &sharing, data, 1000, shared, ROOM, &n, &err) == ZC_OK && n > 16);
    CHECK(zc_blosc_decode_shared(&codec, &sharing, shared, n, decoded, N, &k, &err) == ZC_OK && k == 1000);
    codec.level = 10;
    CHECK(zc_blosc_encode_shared(&codec, &sharing, data, N, shared, ROOM, &n, NULL) == ZC_ERR_ARGUMENT);
}

int main(void)
{
    ws = zc_workspace_new();
    data = malloc(N);
    alone = malloc(ROOM);
    shared = malloc(ROOM);
    decoded = malloc(N);
    zc_error_clear(&err);
    RUN(same_bytes);
    RUN(damage);
    RUN(others);
    free(data);
    free(alone);
    free(shared);
    free(decoded);
    zc_workspace_free(ws);
    return check_report("blosc_shared");
}
