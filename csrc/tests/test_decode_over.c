/* SPDX-License-Identifier: MIT
 *
 * Values that are decoded over themselves: the encoded bytes lie at the end of the memory that the decoded ones fill
 * from the front.  What comes out is what decode makes of bytes that lie apart, or nothing.
 */
#include "check.h"
#include "codec_cases.h"

enum { MOST = 700000 };

static zc_workspace *ws;
static zc_error err;

/* Decode src[0..n) in memory of no byte more than the codec asks for; NULL if it does not, else the memory. */
static uint8_t *decoded_over(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded)
{
    const size_t room = decoded + codec->cls->slack(codec, decoded);

    if (room == decoded || n > room) {
        return NULL;
    }
    uint8_t *memory = case_exact(NULL, room);
    memset(memory, 0xee, room);
    memcpy(memory + room - n, src, n);
    if (codec->cls->decode_over(codec, ws, memory + room - n, n, memory, decoded)) {
        return memory;
    }
    free(memory);
    return NULL;
}

/* The same where decode finds no fault, too; else nothing. */
static bool agrees(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded)
{
    uint8_t *apart = case_exact(NULL, decoded);
    size_t written = 0;
    uint8_t *over = decoded_over(codec, src, n, decoded);
    const zc_status status = zc_codec_decode(codec, ws, src, n, apart, decoded, &written, &err);
    const bool same = over == NULL || (status == ZC_OK && written == decoded && memcmp(over, apart, decoded) == 0);

    free(over);
    free(apart);
    return same;
}

static bool does_it(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded)
{
    uint8_t *over = decoded_over(codec, src, n, decoded);

    free(over);
    return over != NULL;
}

/* Data whose end or whose beginning cannot be compressed are the hardest. */
static void fill(uint8_t *data, size_t n, int kind)
{
    const size_t half = n / 2;

    switch (kind) {
    case DATA_KINDS:
        case_fill(data, half, DATA_ZERO);
        case_fill(data + half, n - half, DATA_NOISE);
        break;
    case DATA_KINDS + 1:
        case_fill(data, half, DATA_NOISE);
        case_fill(data + half, n - half, DATA_ZERO);
        break;
    default:
        case_fill(data, n, (case_data)kind);
    }
}

/* Calls check with every codec that can, and values of many kinds and sizes. */
static void with_each(void (*check)(const zc_codec *codec, uint8_t *encoded, size_t n, const uint8_t *data, size_t size))
{
    static const size_t sizes[] = {1, 1000, 131072, 131073, 300000, MOST};
    static uint8_t data[MOST];

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        if (codec.cls->slack == NULL || codec.cls->slack(&codec, 1) == 0) {
            continue;
        }
        for (int kind = 0; kind < DATA_KINDS + 2; kind++) {
            const size_t size = sizes[(c + kind) % 6];
            size_t n = 0;
            fill(data, size, kind);
            uint8_t *encoded = case_encode(&codec, ws, data, size, &n, &err);
            check(&codec, encoded, n, data, size);
            free(encoded);
        }
    }
}

static void check_values(const zc_codec *codec, uint8_t *encoded, size_t n, const uint8_t *data, size_t size)
{
    uint8_t *over = decoded_over(codec, encoded, n, size);

    CHECK(over != NULL && memcmp(over, data, size) == 0);
    free(over);
    CHECK(!does_it(codec, encoded, n, size + 1));
    CHECK(!does_it(codec, encoded, n, size - 1));
}

static void every_value(void)
{
    with_each(check_values);
}

static void check_damage(const zc_codec *codec, uint8_t *encoded, size_t n, const uint8_t *data, size_t size)
{
    uint64_t state = n;

    (void)data;
    for (int i = 0; i < 12; i++) {
        const size_t at = case_random(&state) % n;
        const uint8_t old = encoded[at];
        encoded[at] ^= (uint8_t)(1u << i % 8);
        CHECK(agrees(codec, encoded, n, size));
        encoded[at] = old;
        CHECK(!does_it(codec, encoded, at, size));
    }
}

static void damaged_values(void)
{
    with_each(check_damage);
}

/* ---- more than one frame ------------------------------------------------------------------ */

/* The encodings of two halves, one after the other, and `extra` bytes after them. */
static uint8_t *joined(const zc_codec *codec, const uint8_t *data, size_t half, const void *extra, size_t n_extra,
                       size_t *n)
{
    size_t first = 0, second = 0;
    uint8_t *a = case_encode(codec, ws, data, half, &first, &err);
    uint8_t *b = case_encode(codec, ws, data + half, half, &second, &err);
    uint8_t *out = case_exact(NULL, first + second + n_extra);

    memcpy(out, a, first);
    memcpy(out + first, b, second);
    if (n_extra > 0) {
        memcpy(out + first + second, extra, n_extra);
    }
    free(a);
    free(b);
    *n = first + second + n_extra;
    return out;
}

static void check_joined(const void *extra, size_t n_extra)
{
    static uint8_t data[400000];
    const zc_codec codec = case_codec("zstd", 1, false);
    size_t n;

    case_fill(data, sizeof data, DATA_MIXED);
    uint8_t *encoded = joined(&codec, data, sizeof data / 2, extra, n_extra, &n);
    CHECK(agrees(&codec, encoded, n, sizeof data));
    CHECK(agrees(&codec, encoded, n, sizeof data / 2));
    free(encoded);
}

static void several_frames(void)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};

    check_joined(NULL, 0);
    check_joined(skippable, sizeof skippable);
    check_joined("stray", 5);
}

/* A frame of zstd that states a larger size than it has, a smaller one, or none. */
static void zstd_content_sizes(void)
{
    /* one block of three bytes: header 0x20 (one byte of size) or 0x00 and a window, then raw data */
    uint8_t sized[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x19, 0, 0, 'a', 'b', 'c'};
    const uint8_t unsized[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x19, 0, 0, 'a', 'b', 'c'};
    const zc_codec codec = case_codec("zstd", 3, false);

    CHECK(does_it(&codec, sized, sizeof sized, 3));
    CHECK(!does_it(&codec, unsized, sizeof unsized, 3));
    CHECK(agrees(&codec, unsized, sizeof unsized, 3));
    sized[5] = 200;
    CHECK(!does_it(&codec, sized, sizeof sized, 3));
    CHECK(!does_it(&codec, sized, sizeof sized, 200));
    CHECK(!does_it(&codec, sized, 0, 3));
}

/* Values that take long are decoded in pieces, so that a cancelled job stops. */
static void not_of_long_values(void)
{
    const zc_codec codec = case_codec("zstd", 1, false);

    CHECK(codec.cls->slack(&codec, (size_t)1 << 30) == 0);
}

int main(void)
{
    ws = zc_workspace_new();
    zc_error_clear(&err);
    RUN(every_value);
    RUN(damaged_values);
    RUN(several_frames);
    RUN(zstd_content_sizes);
    RUN(not_of_long_values);
    zc_workspace_free(ws);
    return check_report("decode_over");
}
