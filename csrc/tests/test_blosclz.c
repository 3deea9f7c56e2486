/* SPDX-License-Identifier: MIT
 *
 * Streams of blosclz: by hand, by the library, damaged, and over their own bytes.
 */
#include "base/arith.h"
#include "check.h"
#include "codec_cases.h"
#include "codecs/blosclz.h"

enum { HEADER = 16, MOST = 200000, SLACK = MOST / 32 + 1024 };

static zc_workspace *ws;
static zc_error err;

/* Decode bytes that are as long as is said, to memory of nbytes; NULL if that is refused. */
static uint8_t *decoded(const void *bytes, size_t n, size_t nbytes)
{
    uint8_t *src = case_exact(bytes, n), *out = case_exact(NULL, nbytes);
    const bool done = zc_blosclz_decode(src, n, out, nbytes);

    free(src);
    if (!done) {
        free(out);
        out = NULL;
    }
    return out;
}

/* The same over the encoded bytes. */
static uint8_t *decoded_over(const void *bytes, size_t n, size_t nbytes, size_t slack)
{
    if (n > nbytes + slack) {
        return NULL;
    }
    uint8_t *out = case_exact(NULL, nbytes + slack);
    memcpy(out + nbytes + slack - n, bytes, n);
    if (!zc_blosclz_decode_over(out + nbytes + slack - n, n, out, nbytes)) {
        free(out);
        out = NULL;
    }
    return out;
}

static bool decodes_to(const void *bytes, size_t n, const void *wanted, size_t nbytes)
{
    uint8_t *out = decoded(bytes, n, nbytes);
    const bool same = out != NULL && memcmp(out, wanted, nbytes) == 0;

    free(out);
    return same;
}

static bool refused(const void *bytes, size_t n, size_t nbytes)
{
    uint8_t *out = decoded(bytes, n, nbytes);

    free(out);
    return out == NULL;
}

static void tokens(void)
{
    CHECK(decodes_to("\x02" "abc", 4, "abc", 3));
    CHECK(decodes_to("\xe2" "abc", 4, "abc", 3));                        /* upper bits of the first byte */
    CHECK(decodes_to("\x02" "abc\x20\x02\x00" "d", 8, "abcabcd", 7));    /* 3 bytes from a distance of 3 */
    CHECK(decodes_to("\x00" "a\xe0\x01\x00\x00" "b", 7, "aaaaaaaaaaab", 12));
    CHECK(decodes_to("\x01" "ab\xc0\x01\x00" "c", 7, "ababababab" "c", 11));
}

static void faults(void)
{
    CHECK(refused("", 0, 0));
    CHECK(refused("", 0, 1));
    CHECK(refused("\x02" "abc", 4, 2));                             /* more comes out, less */
    CHECK(refused("\x02" "abc", 4, 4));
    CHECK(refused("\x03" "abc", 4, 4));                             /* literals beyond the end */
    CHECK(refused("\x00" "a\x20\x01\x00" "d", 6, 5));               /* from before the beginning */
    CHECK(refused("\x00" "a\x20", 3, 4));                           /* half a match */
    CHECK(refused("\x00" "a\xe0\xff", 4, 400));
    CHECK(refused("\x00" "a\x3f\xff\x00", 5, 4));
}

typedef struct made_stream {
    uint8_t bytes[120000], wanted[120000];
    size_t n, nbytes;
} made_stream;

static void add_literals(made_stream *s, size_t n)
{
    for (size_t run = n < 32 ? n : 32; n > 0; n -= run, run = n < 32 ? n : 32) {
        s->bytes[s->n++] = (uint8_t)(run - 1);
        for (size_t i = 0; i < run; i++, s->nbytes++) {
            s->bytes[s->n++] = s->wanted[s->nbytes] = (uint8_t)(s->nbytes * 7 + s->nbytes / 251);
        }
    }
}

static void add_match(made_stream *s, size_t length, size_t distance)
{
    const bool wide = distance > 8191;
    const size_t high = wide ? 31 : (distance - 1) >> 8;

    s->bytes[s->n++] = (uint8_t)((length < 9 ? length - 2 : 7) << 5 | high);
    for (size_t more = length - 9; length >= 9; more -= 255) {
        s->bytes[s->n++] = (uint8_t)(more < 255 ? more : 255);
        if (more < 255) {
            break;
        }
    }
    s->bytes[s->n++] = (uint8_t)(wide ? 255 : (distance - 1) & 255);
    if (wide) {
        s->bytes[s->n++] = (uint8_t)((distance - 8192) >> 8);
        s->bytes[s->n++] = (uint8_t)(distance - 8192);
    }
    for (size_t i = 0; i < length; i++, s->nbytes++) {
        s->wanted[s->nbytes] = s->wanted[s->nbytes - distance];
    }
}

/* Matches from up to 8191 + 65536 back, and of every length: where quick copies have room, and at the end. */
static void distances(void)
{
    static const size_t far[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 8191, 8192, 8193, 70000};
    static made_stream s;

    for (size_t d = 0; d < sizeof far / sizeof *far; d++) {
        for (size_t length = 3; length < 3000; length += 1 + length / 9) {
            for (size_t end = 1; end < 100; end += 32) {
                s.n = s.nbytes = 0;
                add_literals(&s, far[d]);
                add_match(&s, length, far[d]);
                add_literals(&s, end);
                CHECK(decodes_to(s.bytes, s.n, s.wanted, s.nbytes));
                CHECK(refused(s.bytes, s.n, s.nbytes - 1));
            }
        }
    }
}

/* Streams as the library makes them: of one block, after its length. */
static const uint8_t *stream_of(uint8_t *encoded, size_t *n, size_t nbytes)
{
    *n = zc_load_le32(encoded + HEADER + 4);
    return *n < nbytes && (encoded[2] & 2) == 0 ? encoded + HEADER + 8 : NULL;
}

/* Pieces of a page of noise, some after others again, with some new bytes between them. */
static void fill_with_phrases(uint8_t *data, size_t n, int variety)
{
    static uint8_t page[4096];
    uint64_t state = 99u + (uint64_t)variety;

    case_fill(page, sizeof page, DATA_NOISE);
    for (size_t at = 0; at < n;) {
        const size_t length = 1 + case_random(&state) % (variety % 3 == 0 ? 12 : 300);
        const size_t from = case_random(&state) % (sizeof page >> variety % 6);
        for (size_t i = 0; i < length && at < n; i++, at++) {
            data[at] = page[(from + i) % sizeof page];
        }
        if (at < n && variety % 2 == 0) {
            data[at++] = (uint8_t)case_random(&state);
        }
    }
}

static void of_the_library(void)
{
    static const size_t sizes[] = {200, 5000, 66000, MOST};
    static uint8_t data[MOST];
    uint64_t state = 5;
    int seen = 0;

    for (int i = 0; i < 24; i++) {
        const size_t size = sizes[i % 4];
        const zc_codec codec = case_blosc(ZC_BLOSC_BLOSCLZ, 1 + i % 9, ZC_BLOSC_NOSHUFFLE, 1, size);
        size_t n, made = 0;
        fill_with_phrases(data, size, i / 2);
        uint8_t *encoded = case_encode(&codec, ws, data, size, &made, &err);
        const uint8_t *stream = stream_of(encoded, &n, size);
        if (stream != NULL) {
            uint8_t *over = decoded_over(stream, n, size, SLACK);
            CHECK(decodes_to(stream, n, data, size));
            CHECK(over != NULL && memcmp(over, data, size) == 0);
            free(over);
            CHECK(refused(stream, n - 1, size));
            seen++;
        }
        for (int k = 0; stream != NULL && k < 200; k++) {
            uint8_t *const at = encoded + (stream - encoded) + case_random(&state) % n;
            const uint8_t old = *at;
            *at ^= (uint8_t)(1u << k % 8);
            uint8_t *apart = decoded(stream, n, size);
            uint8_t *over = decoded_over(stream, n, size, k % 3 == 0 ? 0 : SLACK);
            CHECK(over == NULL || (apart != NULL && memcmp(over, apart, size) == 0));
            free(apart);
            free(over);
            *at = old;
        }
        free(encoded);
    }
    CHECK(seen >= 8);
}

/* ---- in a buffer of blosc that is read by ranges -------------------------------------------------------- */

static int reads;

static zc_status read_bytes(const void *source, size_t offset, void *dst, size_t n, zc_error *error)
{
    (void)error;
    reads++;
    memcpy(dst, (const uint8_t *)source + offset, n);
    return ZC_OK;
}

/* A run, and then every byte by itself: twice as long encoded, so that the decoder catches up with what it reads. */
static void a_block_that_has_to_lie_apart(void)
{
    enum { RUN_OF = 60000, SINGLES = 35000, NBYTES = RUN_OF + SINGLES };
    static uint8_t buffer[HEADER + 8 + RUN_OF + 2 * SINGLES], wanted[NBYTES], out[NBYTES];
    uint8_t *at = buffer + HEADER + 8;
    zc_blocks blocks;

    *at++ = 0;
    *at++ = 'r';
    *at++ = 0xe0;
    size_t more = RUN_OF - 1 - 9;
    for (; more >= 255; more -= 255) {
        *at++ = 255;
    }
    *at++ = (uint8_t)more;
    *at++ = 0;
    memset(wanted, 'r', RUN_OF);
    for (int i = 0; i < SINGLES; i++) {
        *at++ = 0;
        *at++ = wanted[RUN_OF + i] = (uint8_t)(i % 251);
    }
    const uint32_t n = (uint32_t)(at - buffer);
    const uint8_t head[] = {2, 1, 0x10, 1};
    memcpy(buffer, head, sizeof head);
    zc_store_le32(buffer + 4, NBYTES);
    zc_store_le32(buffer + 8, NBYTES);
    zc_store_le32(buffer + 12, n);
    zc_store_le32(buffer + HEADER, HEADER + 4);
    zc_store_le32(buffer + HEADER + 4, n - HEADER - 8);
    const zc_codec codec = case_blosc(ZC_BLOSC_BLOSCLZ, 5, ZC_BLOSC_NOSHUFFLE, 1, 0);
    const zc_encoded encoded = {.n = n, .source = buffer, .read = read_bytes};
    CHECK(zc_blocks_open(&codec, &encoded, NBYTES, ws, &blocks, &err) == ZC_OK);
    reads = 0;
    CHECK(zc_blocks_decode(&blocks, 0, 1000, out, &err) == ZC_OK && memcmp(out, wanted, 1000) == 0);
    CHECK(reads == 2);               /* over itself in vain, and apart */
    CHECK(zc_blocks_decode(&blocks, 1000, NBYTES - 1000, out, &err) == ZC_OK);
    CHECK(memcmp(out, wanted + 1000, NBYTES - 1000) == 0);
    CHECK(reads == 2);
    zc_blocks_close(&blocks);
}

int main(void)
{
    ws = zc_workspace_new();
    zc_error_clear(&err);
    RUN(tokens);
    RUN(faults);
    RUN(distances);
    RUN(of_the_library);
    RUN(a_block_that_has_to_lie_apart);
    zc_workspace_free(ws);
    return check_report("blosclz");
}
