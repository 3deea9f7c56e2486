/* SPDX-License-Identifier: MIT
 *
 * Blosc buffers whose blocks are compressed here: the library decodes them, and makes the same bytes, or no fewer.
 */
#include <blosc.h>

#include "check.h"
#include "codec_cases.h"
#include "codecs/blosc_format.h"
#include "every_cpu.h"
#include "kernels/bitshuffle.h"

enum { MOST = 700001 };

static zc_workspace *ws;
static zc_error err;
static uint8_t data[MOST], ours[MOST + 16], library[MOST + 16], decoded[MOST];

static size_t of_the_library(const zc_codec *codec, size_t n)
{
    const int size = blosc_compress_ctx(codec->level, (int)codec->blosc.shuffle, codec->blosc.typesize, n, data, library,
                                        n + 16, zc_blosc_compressor_name(codec->blosc.compressor), codec->blosc.blocksize, 1);
    return size > 0 ? (size_t)size : 0;
}

/* Bytes of the codec; what they decode to has been compared. */
static size_t encoded(const zc_codec *codec, size_t n)
{
    size_t size = 0, back = 0;

    CHECK(zc_codec_encode(codec, ws, data, n, ours, n + 16, &size, &err) == ZC_OK);
    memset(decoded, 0xee, n);
    CHECK(blosc_cbuffer_validate(ours, size, &back) == 0 && back == n);
    CHECK(blosc_decompress_ctx(ours, decoded, n, 1) == (int)n && memcmp(decoded, data, n) == 0);
    memset(decoded, 0xee, n);
    CHECK(zc_codec_decode(codec, ws, ours, size, decoded, n, &back, &err) == ZC_OK && back == n);
    CHECK(memcmp(decoded, data, n) == 0);
    return size;
}

static void like_the_library(void)
{
    static const zc_blosc_compressor compressors[] = {ZC_BLOSC_LZ4, ZC_BLOSC_ZLIB, ZC_BLOSC_ZSTD, ZC_BLOSC_BLOSCLZ};
    static const size_t sizes[] = {1, 127, 128, 129, 1000, 4096, 4099, 70001, 262144, MOST};
    static const size_t typesizes[] = {1, 2, 3, 4, 8, 16, 17, 40, 255}, blocksizes[] = {0, 0, 1000, 4096, 65536};
    uint64_t state = 77;

    for (int i = 0; i < 600; i++) {
        const size_t n = sizes[case_random(&state) % 10];
        const zc_codec codec = case_blosc(compressors[i % 4], (int)(case_random(&state) % (n > 5000 ? 6 : 10)),
                                          (zc_blosc_shuffle)(case_random(&state) % 3),
                                          typesizes[case_random(&state) % 9], blocksizes[case_random(&state) % 5]);
        const case_data kind = (case_data)(case_random(&state) % DATA_KINDS);
        case_fill(data, n, kind);
        const size_t size = encoded(&codec, n), usual = of_the_library(&codec, n);
        if (codec.blosc.compressor == ZC_BLOSC_ZLIB) {
            CHECK(size <= usual + usual / 16 + 64);      /* noise and numbers in turn: 5 % */
            CHECK(memcmp(ours, library, 12) == 0);
        } else if (codec.blosc.compressor == ZC_BLOSC_ZSTD && kind == DATA_ZERO) {
            CHECK(size <= usual + usual / 8 + 16);       /* what repeats is left to the first level */
        } else {
            CHECK(size < usual || (size == usual && memcmp(ours, library, size) == 0));
        }
    }
}

/* What does not get smaller is stored: at the last block, too, for which there is no room any more. */
static void stored(void)
{
    for (int i = 0; i < 40; i++) {
        const zc_codec codec = case_blosc(i % 2 ? ZC_BLOSC_LZ4 : ZC_BLOSC_ZLIB, 5, (zc_blosc_shuffle)(i % 3), 4, 4096);
        const size_t n = 40960 + 2048;
        case_fill(data, n, DATA_NOISE);
        memset(data + 4096, 0, (size_t)i * 8);
        CHECK(encoded(&codec, n) <= n + 16);
    }
}

static void bits(void)
{
    for (size_t size = 1; size < 40; size += size < 9 ? 1 : 10) {
        for (size_t n = 0; n < 2000; n += n < 300 ? 8 : 648) {
            uint8_t *items = case_exact(NULL, n * size), *rows = case_exact(NULL, n * size);
            uint8_t *back = case_exact(NULL, n * size);
            case_fill(items, n * size, DATA_NOISE);
            zc_bitshuffle(rows, items, n, size);
            zc_bitunshuffle(back, rows, n, size, 0, n);
            CHECK(memcmp(back, items, n * size) == 0);
            free(items);
            free(rows);
            free(back);
        }
    }
}

int main(void)
{
    ws = zc_workspace_new();
    zc_error_clear(&err);
    RUN(like_the_library);
    RUN(stored);
    RUN_ON_EVERY_CPU(bits);
    zc_workspace_free(ws);
    return check_report("blosc_encode");
}
