/* SPDX-License-Identifier: MIT
 *
 * Decoding only the beginning of values: what comes out is the beginning of what decode makes, or nothing.
 */
#include "check.h"
#include "codec_cases.h"

enum { MOST = 700000 };

static zc_workspace *ws;
static zc_error err;
static uint8_t data[MOST];

/* Is the beginning decoded, in memory of no byte more?  It is then compared with `expected`. */
static bool starts(const zc_codec *codec, const uint8_t *src, size_t n, size_t wanted, size_t decoded, const uint8_t *expected)
{
    uint8_t *memory = case_exact(NULL, wanted), *input = case_exact(src, n);
    const zc_coding coding = {.codec = codec, .decode = true, .ws = ws, .src = input, .n = n, .dst = memory, .cap = wanted,
                              .err = &err};

    memset(memory, 0xee, wanted);
    const bool done = codec->cls->decode_start(&coding, decoded);
    CHECK(!done || expected == NULL || memcmp(memory, expected, wanted) == 0);
    CHECK(ws->depth == 0);
    free(input);
    free(memory);
    return done;
}

static void every_beginning(void)
{
    static const size_t sizes[] = {1, 1000, 131072, 131073, 300000, MOST};

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        if (codec.cls->decode_start == NULL) {
            continue;
        }
        for (int i = 0; i < DATA_KINDS * 6; i++) {
            const size_t size = sizes[i % 6], wanted[] = {1, size / 3 + 1, size < 131072 ? size : 131072, size};
            size_t n = 0;
            case_fill(data, size, (case_data)(i / 6));
            uint8_t *encoded = case_encode(&codec, ws, data, size, &n, &err);
            for (int k = 0; k < 4; k++) {
                CHECK(starts(&codec, encoded, n, wanted[k], size, data) == !codec.checksum);
                CHECK(!starts(&codec, encoded, n, wanted[k], size + 1, NULL));
                CHECK(!starts(&codec, encoded, n, wanted[k], size + 100000, NULL));
            }
            free(encoded);
        }
    }
}

/* Whatever decode finds no fault in has that beginning; a value that is cut off or continued has none. */
static void damaged_values(void)
{
    const zc_codec codec = case_codec("zstd", 1, false);
    uint8_t *whole = case_exact(NULL, MOST);
    uint64_t state = 1;
    size_t n = 0;

    case_fill(data, MOST, DATA_MIXED);
    uint8_t *encoded = case_encode(&codec, ws, data, MOST, &n, &err);
    for (int i = 0; i < 300; i++) {
        const size_t at = i < 40 ? (size_t)i : case_random(&state) % n, wanted = case_random(&state) % MOST + 1;
        const uint8_t old = encoded[at];
        size_t written = 0;
        encoded[at] ^= (uint8_t)(1u << i % 8);
        const bool valid = zc_codec_decode(&codec, ws, encoded, n, whole, MOST, &written, &err) == ZC_OK && written == MOST;
        starts(&codec, encoded, n, wanted, MOST, valid ? whole : NULL);
        encoded[at] = old;
        CHECK(!starts(&codec, encoded, at, wanted, MOST, NULL));
    }
    free(encoded);
    free(whole);
}

/* Two frames, and one with bytes after it, are decoded as a whole. */
static void more_than_a_frame(void)
{
    const zc_codec codec = case_codec("zstd", 1, false);
    const size_t half = MOST / 2;
    size_t n = 0;

    case_fill(data, MOST, DATA_RAMP);
    uint8_t *frame = case_encode(&codec, ws, data, half, &n, &err), *twice = case_exact(NULL, 2 * n);
    memcpy(twice, frame, n);
    memcpy(twice + n, frame, n);
    CHECK(starts(&codec, twice, n, 1, half, data));
    CHECK(!starts(&codec, twice, 2 * n, 1, 2 * half, NULL));
    CHECK(!starts(&codec, twice, 2 * n, 1, half, NULL));
    CHECK(!starts(&codec, twice, n + 1, 1, half, NULL));
    free(frame);
    free(twice);
}

int main(void)
{
    ws = zc_workspace_new();
    zc_error_clear(&err);
    RUN(every_beginning);
    RUN(damaged_values);
    RUN(more_than_a_frame);
    zc_workspace_free(ws);
    return check_report("decode_start");
}
