/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for the codecs.  Byte 0 of the input chooses a configured codec, byte 1 holds flags, bytes 2 and 3 the
 * room for the output; the rest is an encoded value, and also data to encode.
 *
 * A decode must stay within its buffers (AddressSanitizer looks) and must not return a byte that it did not write
 * (looked for here: it is run over two different backgrounds).
 */
#include "base/arith.h"
#include "fuzz/codec_table.h"
#include "fuzz/fuzz.h"

enum { PREFIX = 4, MAX_DECODED = 1 << 16 };

enum { FIX_LENGTHS = 1, ENCODE = 2 };

static zc_workspace *ws;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    for (const zc_codec_class *const *cls = zc_codec_classes; *cls != NULL; cls++) {
        bool found = false;
        for (int i = 0; i < FUZZ_CODECS; i++) {
            found |= fuzz_codec_at(i).cls == *cls;
        }
        FUZZ_REQUIRE(found, (*cls)->name);       /* has no configuration */
    }
    for (int i = 0; i < FUZZ_CODECS; i++) {
        const zc_codec codec = fuzz_codec_at(i);
        FUZZ_REQUIRE(zc_codec_check(&codec, NULL) == ZC_OK, codec.cls->name);
    }
    ws = zc_workspace_new();
    return 0;
}

static void decode_twice(const zc_codec *codec, const uint8_t *src, size_t n, size_t cap)
{
    uint8_t *a = case_exact(NULL, cap);
    uint8_t *b = case_exact(NULL, cap);
    size_t na = 0;
    size_t nb = 0;
    zc_error err;

    zc_error_clear(&err);
    memset(a, 0x00, cap);
    memset(b, 0xff, cap);
    const zc_status first = zc_codec_decode(codec, ws, src, n, a, cap, &na, &err);
    FUZZ_REQUIRE(first == ZC_OK || err.message[0] != '\0', "a failure without a message");
    const zc_status second = zc_codec_decode(codec, ws, src, n, b, cap, &nb, &err);
    FUZZ_REQUIRE(first == second && (first != ZC_OK || na == nb), "two decodes differ");
    FUZZ_REQUIRE(first != ZC_OK || (na <= cap && memcmp(a, b, na) == 0), "output that was not written");
    FUZZ_REQUIRE(ws->depth == 0, "scratch left open");
    free(a);
    free(b);
}

/* The same bytes at the end of the memory that they are decoded to: refused, or what a decode apart returns. */
static void decode_over(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded)
{
    const size_t room = decoded + codec->cls->slack(codec, decoded);

    if (room == decoded || n > room) {
        return;
    }
    uint8_t *memory = case_exact(NULL, room), *apart = case_exact(NULL, decoded);
    size_t written = 0;
    zc_error err;

    zc_error_clear(&err);
    memcpy(memory + room - n, src, n);
    if (codec->cls->decode_over(codec, ws, memory + room - n, n, memory, decoded)) {
        const zc_status status = zc_codec_decode(codec, ws, src, n, apart, decoded, &written, &err);
        FUZZ_REQUIRE(status == ZC_OK && written == decoded, "decoded over itself, but not apart");
        FUZZ_REQUIRE(memcmp(memory, apart, decoded) == 0, "decoded over itself to something else");
    }
    free(memory);
    free(apart);
}

/* The beginning of what they decode to: refused, or what a decode of all returns, if that finds no fault. */
static void decode_start(const zc_codec *codec, const uint8_t *src, size_t n, size_t decoded)
{
    const size_t wanted = decoded - decoded / 3;
    uint8_t *start = case_exact(NULL, wanted), *all = case_exact(NULL, decoded);
    size_t written = 0;
    zc_error err;

    zc_error_clear(&err);
    const zc_coding c = {.codec = codec, .decode = true, .ws = ws, .src = src, .n = n, .dst = start, .cap = wanted, .err = &err};
    const bool done = codec->cls->decode_start(&c, decoded);
    if (done && zc_codec_decode(codec, ws, src, n, all, decoded, &written, &err) == ZC_OK) {
        FUZZ_REQUIRE(written == decoded && memcmp(start, all, wanted) == 0, "another beginning");
    }
    free(start);
    free(all);
}

/* The same bytes through the partial decoder, in three unequal parts. */
static void decode_parts(const zc_codec *codec, const uint8_t *src, size_t n)
{
    const size_t decoded = n >= 8 ? zc_load_le32(src + 4) : 0;
    const zc_encoded value = zc_encoded_bytes(src, n);
    zc_blocks blocks;
    zc_error err;

    if (decoded > MAX_DECODED || zc_blocks_open(codec, &value, decoded, ws, &blocks, &err) != ZC_OK) {
        return;
    }
    const size_t cuts[] = {0, decoded / 3, decoded / 3 + decoded / 7, decoded};
    for (int i = 0; i < 3; i++) {
        const size_t nbytes = cuts[i + 1] - cuts[i];
        uint8_t *part = case_exact(NULL, nbytes);
        (void)zc_blocks_decode(&blocks, cuts[i], nbytes, part, &err);
        free(part);
    }
    zc_blocks_close(&blocks);
    FUZZ_REQUIRE(ws->depth == 0, "scratch left open");
}

/* What has been encoded can be decoded; by codecs that lose nothing, to the same bytes. */
static void round_trip(const zc_codec *codec, const uint8_t *src, size_t n)
{
    size_t written = 0;
    zc_error err;

    zc_error_clear(&err);
    uint8_t *encoded = case_encode(codec, ws, src, n, &written, &err);
    FUZZ_REQUIRE(ws->depth == 0, "scratch left open");
    if (encoded == NULL) {
        return;
    }
    uint8_t *back = case_exact(NULL, n);
    const zc_status status = zc_codec_decode_exact(codec, ws, encoded, written, back, n, &err);
    FUZZ_REQUIRE(!fuzz_codec_is_lossless(codec) || (status == ZC_OK && memcmp(back, src, n) == 0),
                 "a value was lost");
    free(encoded);
    free(back);
}

/* Often make right what a header says about the length, or no change gets past that check. */
static void fix_lengths(const zc_codec *codec, uint8_t *src, size_t n)
{
    if (strcmp(codec->cls->name, "blosc") == 0 && n >= 16) {
        zc_store_le32(src + 12, (uint32_t)n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < PREFIX) {
        return 0;
    }
    const zc_codec codec = fuzz_codec_at(data[0] % FUZZ_CODECS);
    const uint8_t flags = data[1];
    const size_t cap = data[2] | (size_t)data[3] << 8;
    uint8_t *src = case_exact(data + PREFIX, n - PREFIX);

    n -= PREFIX;
    if (flags & FIX_LENGTHS) {
        fix_lengths(&codec, src, n);
    }
    decode_twice(&codec, src, n, cap);
    if (codec.cls->slack != NULL && cap > 0) {
        decode_over(&codec, src, n, cap);
    }
    if (codec.cls->decode_start != NULL && cap > 0) {
        decode_start(&codec, src, n, cap);
    }
    if (codec.cls->open_blocks != NULL) {
        decode_parts(&codec, src, n);
    }
    if (flags & ENCODE) {
        round_trip(&codec, src, n);
    }
    free(src);
    return 0;
}
