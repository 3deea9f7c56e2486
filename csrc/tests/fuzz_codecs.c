/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for the decoders.  Byte 0 of the input chooses the codec, bytes 1 and 2 the room for the
 * output, the rest is the encoded value.  A decode must stay within its buffers (AddressSanitizer looks)
 * and must not return a byte that it did not write (looked for here: it is run over two different
 * backgrounds).
 *
 * With libFuzzer:      clang -fsanitize=fuzzer,address -DZC_LIBFUZZER ...
 * As a program:        fuzz_codecs FILE...             replay inputs
 *                      fuzz_codecs [-n COUNT] [-s SEED] mutate valid values, COUNT times (20000)
 */
#include <stdio.h>

#include "base/arith.h"
#include "codec_cases.h"

enum { PREFIX = 3, MAX_INPUT = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static zc_workspace *workspace(void)
{
    static zc_workspace *ws;

    if (ws == NULL) {
        ws = zc_workspace_new();
    }
    return ws;
}

/* Stop where a debugger and the fuzzer see it. */
static void require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_codecs: %s\n", what);
        abort();
    }
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
    const zc_status first = codec->cls->decode(codec, workspace(), src, n, a, cap, &na, &err);
    require(first == ZC_OK || err.message[0] != '\0', "a failure without a message");
    const zc_status second = codec->cls->decode(codec, workspace(), src, n, b, cap, &nb, &err);
    require(first == second && (first != ZC_OK || na == nb), "two decodes differ");
    require(first != ZC_OK || (na <= cap && memcmp(a, b, na) == 0), "output that was not written");
    require(workspace()->depth == 0, "scratch left open");
    free(a);
    free(b);
}

/* The same bytes at the end of the memory that they are decoded to: nothing, or what comes out of bytes that lie apart. */
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
    if (codec->cls->decode_over(codec, workspace(), memory + room - n, n, memory, decoded)) {
        const zc_status status = codec->cls->decode(codec, workspace(), src, n, apart, decoded, &written, &err);
        require(status == ZC_OK && written == decoded, "decoded over itself, but not apart");
        require(memcmp(memory, apart, decoded) == 0, "decoded over itself to something else");
    }
    free(memory);
    free(apart);
}

/* The same bytes through the partial decoder, in three unequal parts. */
static void decode_parts(const zc_codec *codec, const uint8_t *src, size_t n)
{
    const size_t decoded = n >= 8 ? zc_load_le32(src + 4) : 0;
    const zc_encoded value = zc_encoded_bytes(src, n);
    zc_blocks blocks;
    zc_error err;

    if (decoded > MAX_INPUT || zc_blocks_open(codec, &value, decoded, workspace(), &blocks, &err) != ZC_OK) {
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
    require(workspace()->depth == 0, "scratch left open");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n < PREFIX) {
        return 0;
    }
    const zc_codec codec = case_codec_at(data[0] % CASE_CODECS);
    const size_t cap = data[1] | (size_t)data[2] << 8;
    uint8_t *src = case_exact(data + PREFIX, n - PREFIX);

    decode_twice(&codec, src, n - PREFIX, cap);
    if (codec.cls->slack != NULL && cap > 0) {
        decode_over(&codec, src, n - PREFIX, cap);
    }
    if (codec.cls->open_blocks != NULL) {
        decode_parts(&codec, src, n - PREFIX);
    }
    free(src);
    return 0;
}

#ifndef ZC_LIBFUZZER

static int replay(const char *path)
{
    static uint8_t input[MAX_INPUT];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        return 1;
    }
    const size_t n = fread(input, 1, sizeof input, file);
    fclose(file);
    return LLVMFuzzerTestOneInput(input, n);
}

/* A valid value of a random codec, as an input for the target. */
static size_t seed_input(uint8_t *input, uint64_t *state)
{
    const uint8_t choice = (uint8_t)(case_random(state) % CASE_CODECS);
    const zc_codec codec = case_codec_at(choice);
    const size_t nbytes = case_random(state) % (case_random(state) % 4 == 0 ? 20000 : 600);
    uint8_t *data = case_exact(NULL, nbytes);
    zc_error err;
    size_t n = 0;

    case_fill(data, nbytes, (case_data)(case_random(state) % DATA_KINDS));
    input[0] = choice;
    input[1] = (uint8_t)nbytes;
    input[2] = (uint8_t)(nbytes >> 8);
    const zc_status status =
        zc_codec_encode(&codec, workspace(), data, nbytes, input + PREFIX, MAX_INPUT / 2, &n, &err);
    require(status == ZC_OK, "encode failed");
    free(data);
    return PREFIX + n;
}

/* One small change: a bit, a byte, an interesting number, a cut, a longer end, a copied stretch. */
static size_t mutate(uint8_t *input, size_t n, uint64_t *state)
{
    static const uint32_t numbers[] = {0,      1,          16,          0x7f,        0xff,       0x7fff,
                                       0xffff, 0x7fffffff, 0x80000000u, 0xfffffffcu, 0xffffffffu};
    const size_t near = n < 48 ? n : 48;
    const size_t at = case_random(state) % (case_random(state) % 2 == 0 ? near : n);

    switch (case_random(state) % 6) {
    case 0:
        input[at] ^= (uint8_t)(1u << case_random(state) % 8);
        return n;
    case 1:
        input[at] = (uint8_t)case_random(state);
        return n;
    case 2:
        if (at + 4 <= n) {
            zc_store_le32(input + at, numbers[case_random(state) % (sizeof numbers / sizeof *numbers)]);
        }
        return n;
    case 3:
        return at > PREFIX ? at : n;
    case 4:
        input[n] = (uint8_t)case_random(state);
        return n + 1;
    default:
        memmove(input + at, input + case_random(state) % n, case_random(state) % (n - at) / 2);
        return n;
    }
}

/* What the header says about the length must often be right, or no mutation gets behind that check. */
static void mend(uint8_t *input, size_t n)
{
    if (strcmp(case_codec_at(input[0] % CASE_CODECS).cls->name, "blosc") == 0 && n >= PREFIX + 16) {
        zc_store_le32(input + PREFIX + 12, (uint32_t)(n - PREFIX));
    }
}

int main(int argc, char **argv)
{
    static uint8_t input[MAX_INPUT];
    uint64_t state = 1;
    long count = 20000;

    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && strcmp(argv[i], "-n") == 0) {
            count = atol(argv[++i]);
        } else if (i + 1 < argc && strcmp(argv[i], "-s") == 0) {
            state = (uint64_t)atol(argv[++i]);
        } else if (replay(argv[i]) != 0) {
            return 1;
        } else {
            count = 0;
        }
    }
    for (long i = 0; i < count; i++) {
        size_t n = seed_input(input, &state);
        for (uint32_t k = case_random(&state) % 6; k > 0 && n > PREFIX; k--) {
            n = mutate(input, n, &state);
        }
        if (n > 16 && case_random(&state) % 4 != 0) {
            mend(input, n);
        }
        LLVMFuzzerTestOneInput(input, n);
    }
    printf("%-24s %ld inputs  ok\n", "fuzz_codecs", count);
    zc_workspace_free(workspace());
    return 0;
}

#endif
