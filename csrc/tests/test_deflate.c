/* SPDX-License-Identifier: MIT
 *
 * The streams of DEFLATE that are written here (codecs/deflate_block.h, deflate_runs.h): zlib reads what was encoded.
 */
#include "check.h"
#include "codec_cases.h"
#include "codecs/abi.h"
#include "codecs/deflate_block.h"
#include "codecs/deflate_runs.h"

static zc_workspace *ws;
static zc_error err;

/* What zlib makes of a stream without a container, which has to end where the bytes do. */
static bool inflates_to(const uint8_t *stream, size_t size, const uint8_t *data, size_t n)
{
    uint8_t *const out = case_exact(NULL, n + 1);
    z_stream z = {0};

    CHECK(inflateInit2_(&z, -15, ZLIB_VERSION, (int)sizeof z) == Z_OK);
    z.next_in = (void *)(uintptr_t)stream;
    z.avail_in = (unsigned)size;
    z.next_out = out;
    z.avail_out = (unsigned)n + 1;
    const int rc = inflate(&z, Z_FINISH);
    const bool same = rc == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 1 && memcmp(out, data, n) == 0;
    inflateEnd(&z);
    free(out);
    return same;
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

enum { MOST = 1 << 21 };

/* Tokens, and the bytes that they stand for. */
typedef struct story {
    zc_deflate_token *tokens;
    uint8_t *data;
    size_t n_tokens, n;
} story;

static void tell(story *s, uint8_t byte)
{
    s->tokens[s->n_tokens++] = byte;
    s->data[s->n++] = byte;
}

static void tell_match(story *s, size_t length, size_t back)
{
    s->tokens[s->n_tokens++] = zc_deflate_match(length, back);
    for (size_t i = 0; i < length; i++, s->n++) {
        s->data[s->n] = s->data[s->n - back];
    }
}

/* As one block, and cut in two; with all the room that it takes and eight bytes, and with less. */
static void check_story(const story *s)
{
    const size_t room = 8 * s->n_tokens + 4096;
    uint8_t *const stream = case_exact(NULL, room);

    for (size_t cut = 0; cut <= s->n_tokens / 3; cut += s->n_tokens / 3 > 0 ? s->n_tokens / 3 : 1) {
        zc_deflate_bits bits = {.to = stream, .end = stream + room};
        CHECK(cut == 0 || zc_deflate_block(&bits, s->tokens, cut, false));
        CHECK(zc_deflate_block(&bits, s->tokens + cut, s->n_tokens - cut, true) && bits.count == 0);
        CHECK(inflates_to(stream, (size_t)(bits.to - stream), s->data, s->n));
        const size_t size = (size_t)(bits.to - stream);
        if (cut == 0) {
            uint8_t *const exact = case_exact(NULL, size + 8);
            bits = (zc_deflate_bits){.to = exact, .end = exact + size + 8};
            CHECK(zc_deflate_block(&bits, s->tokens, s->n_tokens, true) && memcmp(exact, stream, size) == 0);
            bits = (zc_deflate_bits){.to = exact, .end = exact + size + 7};
            CHECK(!zc_deflate_block(&bits, s->tokens, s->n_tokens, true) && bits.to == exact);
            free(exact);
        }
    }
    free(stream);
}

static story new_story(void)
{
    return (story){.tokens = malloc(MOST * sizeof(zc_deflate_token)), .data = case_exact(NULL, MOST)};
}

static void end_story(story *s)
{
    check_story(s);
    free(s->tokens);
    free(s->data);
}

/* Nothing, one byte, the same one often: readers refuse codes of one symbol. */
static void few_symbols(void)
{
    for (size_t n = 0; n < 300; n = 3 * n + 1) {
        story s = new_story();
        for (size_t i = 0; i < n; i++) {
            tell(&s, 200);
        }
        end_story(&s);
    }
}

static void every_length_and_distance(void)
{
    story s = new_story();
    uint64_t state = 5;

    for (size_t i = 0; i < ZC_DEFLATE_REACH; i++) {
        tell(&s, (uint8_t)case_random(&state));
    }
    for (size_t length = ZC_DEFLATE_SHORTEST; length <= ZC_DEFLATE_LONGEST; length++) {
        tell_match(&s, length, 1 + case_random(&state) % ZC_DEFLATE_REACH);
    }
    for (int bits = 0; bits <= 15; bits++) {
        for (int off = -1; off <= 1; off++) {
            const size_t back = ((size_t)1 << bits) + (size_t)off;
            if (back > 0 && back <= ZC_DEFLATE_REACH) {
                tell_match(&s, 3, back);
            }
        }
    }
    end_story(&s);
}

/* Symbols as rare as Fibonacci's numbers have codes longer than there may be, in all three alphabets. */
static void codes_that_would_be_too_long(void)
{
    for (int symbols = 10; symbols <= 25; symbols++) {
        story s = new_story();
        size_t a = 1, b = 1;

        for (int i = 0; i < 32; i++) {
            tell(&s, (uint8_t)(7 * i));
        }
        for (int symbol = 0; symbol < symbols; symbol++) {
            for (size_t i = 0; i < a; i++) {
                tell(&s, (uint8_t)(3 * symbol));
            }
            const size_t next = a + b;
            a = b;
            b = next;
        }
        a = b = 1;
        for (int symbol = 0; symbol < symbols - 8; symbol++) {
            for (size_t i = 0; i < a; i++) {
                tell_match(&s, 3, ((size_t)1 << symbol % 15) + 1);
            }
            const size_t next = a + b;
            a = b;
            b = next;
        }
        end_story(&s);
    }
}

static void random_tokens(void)
{
    uint64_t state = 77;

    for (int round = 0; round < 200; round++) {
        story s = new_story();
        const size_t n = case_random(&state) % 3000;
        const uint32_t below = 1 + case_random(&state) % 256, matches = case_random(&state) % 100;
        const uint32_t reach = 1u << case_random(&state) % 16;
        for (size_t i = 0; i < n; i++) {
            const size_t back = 1 + case_random(&state) % reach;
            if (case_random(&state) % 100 < matches && back <= s.n) {
                tell_match(&s, 3 + case_random(&state) % 256, back);
            } else {
                tell(&s, (uint8_t)(case_random(&state) % below));
            }
        }
        end_story(&s);
    }
}

/* ---- runs ------------------------------------------------------------------------------------------- */

/* Into exactly the room that it takes, and into less. */
static void check_runs(const uint8_t *bytes, size_t n)
{
    const size_t room = n + n / 4 + 1000;
    uint8_t *const data = case_exact(bytes, n), *const stream = case_exact(NULL, room);
    const size_t size = zc_deflate_runs(ws, data, n, stream, room);

    CHECK(size > 0 && ws->depth == 0);
    CHECK(inflates_to(stream, size, data, n));
    for (size_t less = 0; less <= size; less += size / 3 + 1) {
        uint8_t *const little = case_exact(NULL, less);
        CHECK(zc_deflate_runs(ws, data, n, little, less) == 0 && ws->depth == 0);
        free(little);
    }
    free(stream);
    free(data);
}

static void short_values(void)
{
    uint8_t data[400];

    for (int kind = 0; kind < DATA_KINDS; kind++) {
        case_fill(data, sizeof data, (case_data)kind);
        for (size_t n = 0; n < sizeof data; n++) {
            check_runs(data, n);
        }
    }
}

/* Runs of items of some bytes, of all lengths, with others between them. */
static void runs_of_items(void)
{
    uint64_t state = 9;
    uint8_t *const data = case_exact(NULL, 300000);

    for (int round = 0; round < 60; round++) {
        const size_t n = 1 + case_random(&state) % (round % 10 == 0 ? 300000 : 20000);
        const size_t item = 1 + case_random(&state) % 16;
        const uint32_t below = 1 + case_random(&state) % 255, longest = 1 + case_random(&state) % 2000;
        uint8_t value[16] = {0};
        for (size_t at = 0; at < n;) {
            value[case_random(&state) % item] = (uint8_t)(case_random(&state) % below);
            for (size_t times = 1 + case_random(&state) % longest; times > 0 && at < n; times--) {
                for (size_t i = 0; i < item && at < n; i++) {
                    data[at++] = value[i];
                }
            }
        }
        check_runs(data, n);
    }
    free(data);
}

/* Matches up to where DEFLATE reaches, and none farther; more tokens than a block has. */
static void distant_repeats(void)
{
    enum { N = 200000 };
    uint8_t *const data = case_exact(NULL, N);

    for (size_t period = ZC_DEFLATE_REACH - 2; period <= ZC_DEFLATE_REACH + 2; period++) {
        case_fill(data, period, DATA_NOISE);
        for (size_t i = period; i < N; i++) {
            data[i] = data[i - period];
        }
        check_runs(data, N);
    }
    case_fill(data, N, DATA_NOISE);
    check_runs(data, N);
    free(data);
}

static size_t size_by_zlib(const uint8_t *data, size_t n, int level, uint8_t *out, size_t room)
{
    z_stream z = {0};

    CHECK(deflateInit2_(&z, level, Z_DEFLATED, 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof z) == Z_OK);
    z.next_in = (void *)(uintptr_t)data;
    z.avail_in = (unsigned)n;
    z.next_out = out;
    z.avail_out = (unsigned)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    deflateEnd(&z);
    return room - z.avail_out;
}

/* gzip and zlib take it at their quick levels; what they wrote is read back, and is no larger than by zlib's level. */
static void by_level(void)
{
    enum { N = 100000 };
    static const char *const names[] = {"gzip", "zlib"};
    uint8_t *const data = case_exact(NULL, N), *const out = case_exact(NULL, N);
    uint64_t state = 3;

    for (size_t i = 0; i < N; i++) {
        data[i] = i % 4 == 0 ? (i / 100 % 3 == 0 ? (uint8_t)(case_random(&state) % 50) : data[i > 4 ? i - 4 : 0]) : 0;
    }
    CHECK(zc_deflate_runs_in_64(data, N) >= 32 && zc_deflate_runs_in_64(data, 255) == 0);
    for (int i = 0; i < 2; i++) {
        for (int level = 1; level <= 9; level++) {
            const zc_codec codec = case_codec(names[i], level, false);
            size_t size = 0;
            uint8_t *const encoded = case_encode(&codec, ws, data, N, &size, &err);
            CHECK(level > 3 || size <= size_by_zlib(data, N, level, out, N) + 12);   /* the longer header of gzip */
            memset(out, 0xee, N);
            CHECK(zc_codec_decode_exact(&codec, ws, encoded, size, out, N, &err) == ZC_OK);
            CHECK(memcmp(out, data, N) == 0);
            free(encoded);
        }
    }
    free(out);
    free(data);
}

int main(void)
{
    ws = zc_workspace_new();
    RUN(few_symbols);
    RUN(every_length_and_distance);
    RUN(codes_that_would_be_too_long);
    RUN(random_tokens);
    RUN(short_values);
    RUN(runs_of_items);
    RUN(distant_repeats);
    RUN(by_level);
    zc_workspace_free(ws);
    return check_report("deflate");
}
