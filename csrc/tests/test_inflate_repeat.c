/* SPDX-License-Identifier: MIT
 *
 * DEFLATE streams of repetitions: what is decoded is what zlib makes of them, and nothing that zlib refuses.
 */
#include "check.h"
#include "codec_cases.h"
#include "codecs/abi.h"
#include "codecs/inflate_repeat.h"

enum { MOST = 70000, RAW = -15 };
enum { DEFAULT, HUFFMAN_ONLY = 2, RLE, FIXED };      /* zlib.h's strategies */

static uint8_t data[MOST], expected[MOST];

/* A stream without a container; the caller frees it. */
static uint8_t *deflated(const uint8_t *src, size_t n, int level, int strategy, size_t *size)
{
    const size_t room = n + n / 8 + 64;
    uint8_t *out = malloc(room);
    z_stream z = {0};

    CHECK(deflateInit2_(&z, level, Z_DEFLATED, RAW, 8, strategy, ZLIB_VERSION, (int)sizeof z) == Z_OK);
    z.next_in = (void *)(uintptr_t)src;
    z.avail_in = (unsigned)n;
    z.next_out = out;
    z.avail_out = (unsigned)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    *size = room - z.avail_out;
    deflateEnd(&z);
    uint8_t *exact = case_exact(out, *size);
    free(out);
    return exact;
}

/* The same by zlib, into `expected`. */
static bool inflated(const uint8_t *src, size_t n, size_t cap, size_t *taken, size_t *made)
{
    z_stream z = {0};

    CHECK(inflateInit2_(&z, RAW, ZLIB_VERSION, (int)sizeof z) == Z_OK);
    z.next_in = (void *)(uintptr_t)src;
    z.avail_in = (unsigned)n;
    z.next_out = expected;
    z.avail_out = (unsigned)cap;
    const bool done = inflate(&z, Z_FINISH) == Z_STREAM_END;
    *taken = n - z.avail_in;
    *made = cap - z.avail_out;
    inflateEnd(&z);
    return done;
}

/* Is it decoded, in memory of no byte more?  Then it is what zlib makes of it. */
static bool agrees(const uint8_t *src, size_t n, size_t cap)
{
    uint8_t *input = case_exact(src, n), *memory = case_exact(NULL, cap);
    size_t taken = 0, made = 0, taken_by_zlib, made_by_zlib;
    const bool done = zc_inflate_repeat(input, n, memory, cap, &taken, &made);

    if (done) {
        CHECK(inflated(src, n, cap, &taken_by_zlib, &made_by_zlib));
        CHECK(taken == taken_by_zlib && made == made_by_zlib && memcmp(memory, expected, made) == 0);
    }
    free(input);
    free(memory);
    return done;
}

/* n bytes that repeat the first `period` ones, but for every `odd`th one (0: none). */
static void fill(size_t n, size_t period, size_t odd)
{
    uint64_t state = period;

    for (size_t i = 0; i < n; i++) {
        data[i] = i < period ? (uint8_t)case_random(&state) : data[i - period];
    }
    for (size_t i = odd; odd > 0 && i < n; i += odd) {
        data[i] = (uint8_t)~data[i];
    }
}

static void repetitions_of_every_period(void)
{
    static const size_t sizes[] = {1, 300, 4096, MOST}, odd[] = {0, 7, 1000, 30011};
    static const int strategies[] = {DEFAULT, FIXED, RLE, HUFFMAN_ONLY};

    for (size_t i = 0; i < 24 * 4; i++) {
        const size_t size = sizes[i % 4], period = i / 4 < 20 ? i / 4 + 1 : 1000 * (i / 4 - 19) * (i / 4 - 19) * 2;
        for (size_t k = 0; k < 4; k++) {
            size_t n;
            fill(size, period, odd[k]);
            uint8_t *stream = deflated(data, size, 1 + 5 * (int)(k % 2), strategies[(i / 4 + k) % 4], &n);
            const bool stored = n > size / 2 || period > 16000;      /* what hardly shrinks, zlib may store as it is */
            CHECK(!agrees(stream, n, size - 1));
            CHECK(!agrees(stream, n - 1, size));
            CHECK(agrees(stream, n, size) ? memcmp(expected, data, size) == 0 : stored);
            free(stream);
        }
    }
}

/* Every bit of short streams turned round, and streams that are cut off anywhere. */
static void damaged_streams(void)
{
    for (size_t period = 1; period <= 40; period += 13) {
        size_t n;
        fill(4096, period, period == 40 ? 100 : 0);
        uint8_t *stream = deflated(data, 4096, 6, period == 14 ? FIXED : DEFAULT, &n);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
            agrees(stream, n, 4096);
            agrees(stream, n, MOST);
            stream[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        for (size_t i = 0; i < n; i++) {
            CHECK(!agrees(stream, i, 4096));
        }
        free(stream);
    }
}

/* Bytes of no meaning that begin as a block does. */
static void streams_of_noise(void)
{
    uint8_t noise[80];
    uint64_t state = 5;
    int decoded = 0;

    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < sizeof noise; k++) {
            noise[k] = (uint8_t)(case_random(&state) & case_random(&state) & (i % 3 == 0 ? 0xffu : case_random(&state)));
        }
        noise[0] = (uint8_t)((noise[0] & ~7u) | (i % 2 == 0 ? 3 : 5));       /* the last block; fixed codes, or own ones */
        decoded += agrees(noise, sizeof noise, 5000);
    }
    CHECK(decoded > 100);
}

/* As in a chunk of one value that zlib has compressed: the codecs decode it, with its container and checksum. */
static void chunks_of_one_value(void)
{
    zc_workspace *ws = zc_workspace_new();
    zc_error err;

    zc_error_clear(&err);
    for (int i = 0; i < 2; i++) {
        const zc_codec codec = case_codec(i == 0 ? "gzip" : "zlib", 6, false);
        const size_t header = i == 0 ? 10 : 2, trailer = i == 0 ? 8 : 4;
        size_t n, made = 0;
        fill(MOST, 4, 0);
        uint8_t *by_us = case_encode(&codec, ws, data, MOST, &made, &err), *stream = deflated(data, MOST, 6, DEFAULT, &n);
        uint8_t *value = case_exact(NULL, header + n + trailer);
        memcpy(value, by_us, header);
        memcpy(value + header, stream, n);
        memcpy(value + header + n, by_us + made - trailer, trailer);
        CHECK(zc_inflate_repeat_pays(header + n + trailer, MOST));
        memset(expected, 0, MOST);
        CHECK(zc_codec_decode_exact(&codec, ws, value, header + n + trailer, expected, MOST, &err) == ZC_OK);
        CHECK(memcmp(expected, data, MOST) == 0);
        for (size_t k = 0; k < trailer; k++) {               /* of gzip's, the last four are the length */
            value[header + n + k] ^= 1;
            const zc_status status = zc_codec_decode_exact(&codec, ws, value, header + n + trailer, expected, MOST, &err);
            CHECK(status == (k < 4 ? ZC_ERR_CHECKSUM : ZC_ERR_CORRUPT));
            value[header + n + k] ^= 1;
        }
        free(by_us);
        free(stream);
        free(value);
    }
    zc_workspace_free(ws);
}

int main(void)
{
    RUN(repetitions_of_every_period);
    RUN(damaged_streams);
    RUN(streams_of_noise);
    RUN(chunks_of_one_value);
    return check_report("inflate_repeat");
}
