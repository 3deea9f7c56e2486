/* SPDX-License-Identifier: MIT
 *
 * What a codec encodes it decodes, and what other writers may legally write it reads.
 */
#include "codecs/codec.h"

#include "base/arith.h"
#include "check.h"
#include "codec_cases.h"
#include "codecs/contexts.h"
#include "kernels/lookup3.h"

static zc_workspace *ws;
static zc_error err;

static bool round_trips(const zc_codec *codec, const uint8_t *data, size_t n)
{
    size_t written = 0;
    uint8_t *encoded = case_encode(codec, ws, data, n, &written, &err);
    uint8_t *decoded = case_exact(NULL, n);
    bool ok = encoded != NULL;

    if (ok) {
        memset(decoded, 0xee, n);
        ok = zc_codec_decode_exact(codec, ws, encoded, written, decoded, n, &err) == ZC_OK &&
             memcmp(data, decoded, n) == 0;
    }
    if (!ok) {
        fprintf(stderr, "%s, level %d, %zu bytes: %s\n", codec->cls->name, codec->level, n, err.message);
    }
    free(decoded);
    free(encoded);
    return ok;
}

static void every_codec_and_size(void)
{
    static const size_t sizes[] = {0,   1,   2,    3,    15,   16,   17,    127,   128,
                                   129, 255, 1000, 4095, 4096, 4097, 65537, 200003};

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        CHECK(zc_codec_check(&codec, &err) == ZC_OK);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (int kind = 0; kind < DATA_KINDS; kind++) {
                uint8_t *data = case_exact(NULL, sizes[s]);
                case_fill(data, sizes[s], (case_data)kind);
                CHECK(round_trips(&codec, data, sizes[s]));
                free(data);
            }
        }
    }
}

static void large_values(void)
{
    const size_t n = ((size_t)5 << 20) + 13;
    uint8_t *data = case_exact(NULL, n);
    const zc_codec codecs[] = {case_codec("zstd", 1, true),
                               case_codec("gzip", 1, false),
                               case_codec("lz4", 9, false),
                               case_codec("crc32c", 0, false),
                               case_codec("adler32", 0, true),
                               case_codec("fletcher32", 0, false),
                               case_blosc(ZC_BLOSC_BLOSCLZ, 5, ZC_BLOSC_BITSHUFFLE, 8, 0),
                               case_blosc(ZC_BLOSC_ZSTD, 1, ZC_BLOSC_BYTESHUFFLE, 4, 3 << 20)};

    case_fill(data, n, DATA_MIXED);
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        CHECK(round_trips(&codecs[i], data, n));
    }
    free(data);
}

/* Streamed or not, a frame states its content size: readers that demand it (numcodecs) can read it. */
static void zstd_frames_state_their_size(void)
{
    static const size_t sizes[] = {1000, (size_t)5 << 20};
    const zc_codec codec = case_codec("zstd", 7, false);

    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        uint8_t *data = case_exact(NULL, sizes[i]);
        case_fill(data, sizes[i], DATA_MIXED);
        uint8_t *encoded = case_encode(&codec, ws, data, sizes[i], &n, &err);
        CHECK(encoded != NULL && n > 5 && zc_load_le32(encoded) == 0xfd2fb528u);
        CHECK(encoded[4] >> 6 != 0);                     /* Frame_Content_Size_flag */
        CHECK(round_trips(&codec, data, sizes[i]));
        free(encoded);
        free(data);
    }
}

/* Contexts that grow beyond what is worth keeping are dropped, and the next value still encodes. */
static void zstd_large_contexts(void)
{
    const size_t n = (size_t)9 << 20;
    const zc_codec slow = case_codec("zstd", 16, false);
    const zc_codec fast = case_codec("zstd", 1, false);
    uint8_t *data = case_exact(NULL, n);

    case_fill(data, n, DATA_RAMP);
    CHECK(round_trips(&slow, data, n));
    CHECK(ws->contexts[ZC_CONTEXT_ZSTD_ENCODE].context == NULL);
    CHECK(round_trips(&fast, data, n));
    CHECK(ws->contexts[ZC_CONTEXT_ZSTD_ENCODE].context != NULL);
    free(data);
}

/* Beyond the sizes from which zstd streams and blosc goes block by block. */
static void very_large_values(void)
{
    const size_t n = ((size_t)128 << 20) + 4099;
    uint8_t *data = case_exact(NULL, n);
    const zc_codec codecs[] = {case_codec("zstd", -20, true),
                               case_blosc(ZC_BLOSC_LZ4, 1, ZC_BLOSC_BYTESHUFFLE, 2, 0)};

    case_fill(data, n, DATA_RAMP);
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        CHECK(round_trips(&codecs[i], data, n));
    }
    free(data);
}

static void blosc_typesizes(void)
{
    uint8_t data[10007];

    case_fill(data, sizeof data, DATA_MIXED);
    for (size_t typesize = 1; typesize <= 255; typesize++) {
        const zc_codec codec = case_blosc((zc_blosc_compressor)(typesize % 3), (int)(typesize % 10),
                                          (zc_blosc_shuffle)(typesize % 2 + 1), typesize, 0);
        CHECK(round_trips(&codec, data, sizeof data));
        CHECK(round_trips(&codec, data, typesize));
        CHECK(round_trips(&codec, data, typesize - 1));
    }
}

static zc_status copy_range(const void *source, size_t offset, void *dst, size_t n, zc_error *e)
{
    (void)e;
    memcpy(dst, (const uint8_t *)source + offset, n);
    return ZC_OK;
}

static void check_ranges(const zc_codec *codec, const zc_encoded *value, const uint8_t *data, uint8_t *part,
                         size_t size)
{
    uint64_t state = 7;
    zc_blocks blocks;

    CHECK(zc_blocks_open(codec, value, size + 1, ws, &blocks, &err) == ZC_ERR_SIZE && ws->depth == 0);
    CHECK(zc_blocks_open(codec, value, size, ws, &blocks, &err) == ZC_OK && blocks.step > 0 &&
          blocks.step <= size);
    for (int i = 0; i < 300; i++) {
        size_t offset = case_random(&state) % (size + 1);
        size_t nbytes = case_random(&state) % (size + 1 - offset);
        if (i % 3 == 0) {                            /* whole blocks */
            offset = offset / blocks.step * blocks.step;
            nbytes = size - offset < blocks.step ? size - offset : blocks.step;
        } else if (i % 3 == 1) {
            nbytes = nbytes < 100 ? nbytes : 100;
        }
        memset(part, 0xee, size);
        CHECK(zc_blocks_decode(&blocks, offset, nbytes, part, &err) == ZC_OK);
        CHECK(memcmp(part, data + offset, nbytes) == 0);
        CHECK(nbytes == size || part[nbytes] == 0xee);
    }
    CHECK(zc_blocks_decode(&blocks, 0, size, part, &err) == ZC_OK);
    CHECK(memcmp(part, data, size) == 0);
    CHECK(zc_blocks_decode(&blocks, 1, size, part, &err) == ZC_ERR_RANGE);
    CHECK(zc_blocks_decode(&blocks, size + 1, 0, part, &err) == ZC_ERR_RANGE);
    CHECK(zc_blocks_decode(&blocks, 1, SIZE_MAX, part, &err) == ZC_ERR_RANGE);
    zc_blocks_close(&blocks);
}

/* Every sub-range of blocks, whole and partial, stored and compressed, split and not. */
static void blosc_ranges(void)
{
    enum { N = 70001 };
    uint8_t *data = case_exact(NULL, N);
    uint8_t *part = case_exact(NULL, N);
    const zc_codec codecs[] = {case_blosc(ZC_BLOSC_BLOSCLZ, 5, ZC_BLOSC_BYTESHUFFLE, 4, 1 << 14),
                               case_blosc(ZC_BLOSC_LZ4, 5, ZC_BLOSC_BITSHUFFLE, 2, 1 << 12),
                               case_blosc(ZC_BLOSC_ZSTD, 1, ZC_BLOSC_NOSHUFFLE, 7, 5000),
                               case_blosc(ZC_BLOSC_ZLIB, 3, ZC_BLOSC_BITSHUFFLE, 24, 0),
                               case_blosc(ZC_BLOSC_BLOSCLZ, 9, ZC_BLOSC_BITSHUFFLE, 1, 1000),
                               case_blosc(ZC_BLOSC_LZ4HC, 9, ZC_BLOSC_BYTESHUFFLE, 255, 0),
                               case_blosc(ZC_BLOSC_LZ4, 0, ZC_BLOSC_BYTESHUFFLE, 8, 0)};

    case_fill(data, N, DATA_MIXED);
    for (size_t c = 0; c < sizeof codecs / sizeof *codecs; c++) {
        const zc_codec *codec = &codecs[c];
        size_t n = 0;
        uint8_t *encoded = case_encode(codec, ws, data, N, &n, &err);

        for (int by_ranges = 0; by_ranges < 2; by_ranges++) {
            const zc_encoded value = by_ranges ? (zc_encoded){NULL, n, encoded, copy_range}
                                               : zc_encoded_bytes(encoded, n);
            check_ranges(codec, &value, data, part, N);
        }
        CHECK(ws->depth == 0);
        free(encoded);
    }
    free(part);
    free(data);
}

/* One value in several frames or members, as parallel compressors write it. */
/* A few bytes over and over are a few bytes for each 128 KiB, whatever the level: of eight there were thousands at the first one. */
static void zstd_repetitions(void)
{
    static const size_t sizes[] = {1024, 1041, 65791, 65792, 110880, 131072, 131073, 131327, 131328, 1 << 20};
    static const int levels[] = {-5, 0, 1, 3, 9};
    uint8_t *data = case_exact(NULL, 1 << 20), *decoded = case_exact(NULL, 1 << 20);

    for (int i = 0; i < 10 * 5 * 5 * 2; i++) {
        const size_t size = sizes[i % 10], period = (size_t)1 << (i / 10 % 5), wanted = size < 5000 ? size : size - 777;
        const zc_codec codec = case_codec("zstd", levels[i / 50 % 5], i / 250 == 1);
        size_t n = 0;
        for (size_t k = 0; k < size; k++) {
            data[k] = k < period ? (uint8_t)(7 + 31 * k) : data[k - period];
        }
        uint8_t *encoded = case_encode(&codec, ws, data, size, &n, &err);
        CHECK(n <= 64 + 16 * (size / 131072) + size % 131072 % 256);
        CHECK(zc_codec_decode_exact(&codec, ws, encoded, n, decoded, size, &err) == ZC_OK);
        CHECK(memcmp(decoded, data, size) == 0);
        const zc_coding start = {.codec = &codec, .decode = true, .ws = ws, .src = encoded, .n = n, .dst = decoded, .cap = wanted,
                                 .err = &err};
        memset(decoded, 0, size);
        CHECK(codec.cls->decode_start(&start, size) == !codec.checksum);
        CHECK(codec.checksum || memcmp(decoded, data, wanted) == 0);
        free(encoded);
    }
    free(data);
    free(decoded);
}

static void concatenated_streams(void)
{
    uint8_t data[3000];
    uint8_t joined[8192];
    uint8_t decoded[sizeof data];
    static const char *const names[] = {"zstd", "gzip"};

    case_fill(data, sizeof data, DATA_MIXED);
    for (int c = 0; c < 2; c++) {
        const zc_codec codec = case_codec(names[c], 1, true);
        size_t total = 0;
        for (size_t at = 0; at < sizeof data; at += 1000) {
            size_t n = 0;
            CHECK(zc_codec_encode(&codec, ws, data + at, 1000, joined + total, sizeof joined - total, &n,
                                  &err) == ZC_OK);
            total += n;
        }
        CHECK(zc_codec_decode_exact(&codec, ws, joined, total, decoded, sizeof data, &err) == ZC_OK);
        CHECK(memcmp(data, decoded, sizeof data) == 0);
    }
    const zc_codec zlib = case_codec("zlib", 1, false);
    size_t first = 0;
    size_t second = 0;
    CHECK(zc_codec_encode(&zlib, ws, data, 1000, joined, 4096, &first, &err) == ZC_OK);
    CHECK(zc_codec_encode(&zlib, ws, data, 1000, joined + first, 4096, &second, &err) == ZC_OK);
    CHECK(zc_codec_decode_exact(&zlib, ws, joined, first + second, decoded, 2000, &err) == ZC_ERR_CORRUPT);
}

static void zstd_skippable_frames(void)
{
    const zc_codec codec = case_codec("zstd", 3, false);
    uint8_t value[256] = {0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    uint8_t decoded[100];
    size_t n = 0;

    case_fill(decoded, sizeof decoded, DATA_RAMP);
    CHECK(zc_codec_encode(&codec, ws, decoded, sizeof decoded, value + 11, sizeof value - 11, &n, &err) ==
          ZC_OK);
    memcpy(value + 11 + n, value, 11);
    memset(decoded, 0, sizeof decoded);
    CHECK(zc_codec_decode_exact(&codec, ws, value, n + 22, decoded, sizeof decoded, &err) == ZC_OK);
    CHECK(decoded[98] == 49);
    CHECK(zc_codec_decode_exact(&codec, ws, value, 11, decoded, 0, &err) == ZC_OK);
}

/* Frames and members by other writers: no content size, names and comments in the header. */
static void foreign_streams(void)
{
    static const uint8_t zstd_unsized[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58,
                                           0x19, 0x00, 0x00, 'a',  'b',  'c'};
    static const uint8_t gzip_named[] = {0x1f, 0x8b, 8, 8, 1, 2, 3, 4, 0, 3, 'x', 0,
                                         0x4b, 0x4c, 0x4a, 0x06, 0x00, 0xc2, 0x41, 0x24, 0x35, 3, 0, 0, 0};
    const zc_codec zstd = case_codec("zstd", 3, false);
    const zc_codec gzip = case_codec("gzip", 5, false);
    uint8_t out[3] = {0};

    CHECK(zc_codec_decode_exact(&zstd, ws, zstd_unsized, sizeof zstd_unsized, out, 3, &err) == ZC_OK);
    CHECK(memcmp(out, "abc", 3) == 0);
    memset(out, 0, sizeof out);
    CHECK(zc_codec_decode_exact(&gzip, ws, gzip_named, sizeof gzip_named, out, 3, &err) == ZC_OK);
    CHECK(memcmp(out, "abc", 3) == 0);
}

/* The same data give the same bytes, whatever the contexts did before. */
static void encoding_is_deterministic(void)
{
    uint8_t data[5000];

    case_fill(data, sizeof data, DATA_MIXED);
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        zc_workspace *fresh = zc_workspace_new();
        size_t n = 0;
        size_t m = 0;
        uint8_t *a = case_encode(&codec, ws, data, sizeof data, &n, &err);
        uint8_t *b = case_encode(&codec, fresh, data, sizeof data, &m, &err);
        CHECK(a != NULL && b != NULL && n == m && memcmp(a, b, n) == 0);
        free(a);
        free(b);
        zc_workspace_free(fresh);
    }
    const zc_codec gzip = case_codec("gzip", 6, false);
    uint8_t out[256];
    size_t n = 0;
    CHECK(zc_codec_encode(&gzip, ws, data, 10, out, sizeof out, &n, &err) == ZC_OK);
    CHECK(zc_load_le32(out + 4) == 0 && out[9] == 255);
}

static void known_checksums(void)
{
    static const uint8_t digits[] = "123456789";
    static const struct { const char *name; uint32_t sum; } known[] = {
        {"crc32c", 0xe3069283u}, {"crc32", 0xcbf43926u}, {"adler32", 0x091e01deu},
    };
    const uint8_t *data = NULL;
    size_t nbytes = 0;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        CHECK(zc_codec_find(known[i].name)->checksum(NULL, digits, 9) == known[i].sum);
    }
    zc_codec codec;
    uint8_t out[13];
    size_t n = 0;
    CHECK(zc_codec_init(&codec, "crc32c") && !codec.at_start);
    CHECK(zc_codec_encode(&codec, ws, digits, 9, out, sizeof out, &n, &err) == ZC_OK && n == 13);
    CHECK(memcmp(out, digits, 9) == 0 && zc_load_le32(out + 9) == 0xe3069283u);
    CHECK(codec.cls->strip(&codec, out, n, &data, &nbytes, &err) == ZC_OK && data == out && nbytes == 9);
    CHECK(zc_codec_init(&codec, "crc32") && codec.at_start);
    CHECK(zc_codec_encode(&codec, ws, digits, 9, out, sizeof out, &n, &err) == ZC_OK && n == 13);
    CHECK(memcmp(out + 4, digits, 9) == 0 && zc_load_le32(out) == 0xcbf43926u);
    CHECK(codec.cls->strip(&codec, out, n, &data, &nbytes, &err) == ZC_OK && data == out + 4 && nbytes == 9);
}

/* "abcde" by hand: words 0x6162, 0x6364, 0x6500; and a length at which the sums must be folded. */
static void fletcher32_sums(void)
{
    const zc_codec_class *cls = zc_codec_find("fletcher32");
    uint8_t *ones = case_exact(NULL, 100001);
    uint64_t low = 0;
    uint64_t high = 0;

    CHECK(cls->checksum(NULL, (const uint8_t *)"", 0) == 0);
    CHECK(cls->checksum(NULL, (const uint8_t *)"abcde", 5) == ((uint32_t)0x4ff0 << 16 | 0x29c7));
    memset(ones, 0xff, 100001);
    for (size_t i = 0; i < 100001; i += 2) {
        low = (low + (i + 1 < 100001 ? 0xffff : 0xff00)) % 65535;
        high = (high + low) % 65535;
    }
    const uint32_t sum = cls->checksum(NULL, ones, 100001);
    CHECK((sum & 0xffff) % 65535 == low && (sum >> 16) % 65535 == high);
    free(ones);
}

/* The sums that the author of lookup3 publishes with it, and the same of a text cut in two anywhere. */
static void lookup3_sums(void)
{
    const uint8_t *const text = (const uint8_t *)"Four score and seven years ago";
    const zc_codec_class *cls = zc_codec_find("jenkins_lookup3");
    zc_codec codec = cls->defaults;

    CHECK(cls->checksum(&codec, text, 0) == 0xdeadbeefu);
    CHECK(cls->checksum(&codec, text, 30) == 0x17770551u);
    codec.lookup3.initial = 1;
    CHECK(cls->checksum(&codec, text, 30) == 0xcd628161u);
    for (size_t n = 0; n <= 30; n++) {
        const uint32_t sum = zc_lookup3(1, NULL, 0, text, n);
        for (size_t cut = 0; cut <= n; cut++) {
            uint8_t *const prefix = case_exact(text, cut), *const rest = case_exact(text + cut, n - cut);
            CHECK(zc_lookup3(1, prefix, cut, rest, n - cut) == sum);
            free(prefix);
            free(rest);
        }
    }
}

static void bounds_and_limits(void)
{
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        size_t out = 0;
        CHECK(codec.cls->bound(&codec, 1000, &out) && out >= 1000);
        CHECK(!codec.cls->fixed_size || out == 1004);
        CHECK(!codec.cls->bound(&codec, SIZE_MAX, &out) && !codec.cls->bound(&codec, ZC_SIZE_MAX, &out));
        CHECK(codec.nested.n > 0 ||      /* whose limit is that of the codecs in it */
              (codec.cls->bound(&codec, codec.cls->max_decoded, &out) && out >= codec.cls->max_decoded));
    }
    CHECK(zc_codec_find("blosc")->max_decoded == 2147483631u);
    CHECK(zc_codec_find("lz4")->max_decoded == 2113929216u);
}

static zc_status check_of(zc_codec codec)
{
    zc_error_clear(&err);
    const zc_status status = zc_codec_check(&codec, &err);
    CHECK((status == ZC_OK) == (err.codec[0] == '\0'));
    return status;
}

static void configurations(void)
{
    CHECK(check_of(case_codec("zstd", 22, false)) == ZC_OK);
    CHECK(check_of(case_codec("zstd", -131072, false)) == ZC_OK);
    CHECK(check_of(case_codec("zstd", 23, false)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_codec("gzip", 10, false)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_codec("zlib", -2, false)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_codec("lz4", 0, false)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_codec("crc32c", 0, false)) == ZC_OK);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, 9, ZC_BLOSC_BITSHUFFLE, 255, 0)) == ZC_OK);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, 10, ZC_BLOSC_BITSHUFFLE, 1, 0)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, -1, ZC_BLOSC_BITSHUFFLE, 1, 0)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, 1, (zc_blosc_shuffle)3, 1, 0)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_blosc((zc_blosc_compressor)6, 1, ZC_BLOSC_NOSHUFFLE, 1, 0)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, 1, ZC_BLOSC_NOSHUFFLE, 0, 0)) == ZC_ERR_ARGUMENT);
    CHECK(check_of(case_blosc(ZC_BLOSC_LZ4, 1, ZC_BLOSC_NOSHUFFLE, 256, 0)) == ZC_ERR_ARGUMENT);
}

/* Encode refuses by itself what check refuses, and never writes beyond its room. */
static void encode_refuses(void)
{
    uint8_t data[4000];
    zc_codec snappy = case_blosc(ZC_BLOSC_SNAPPY, 5, ZC_BLOSC_BYTESHUFFLE, 4, 0);
    const zc_status status = zc_codec_check(&snappy, &err);
    size_t n = 0;

    case_fill(data, sizeof data, DATA_NOISE);
    CHECK(status == ZC_OK || status == ZC_ERR_UNSUPPORTED);      /* some builds of blosc have it */
    if (status == ZC_OK) {
        CHECK(round_trips(&snappy, data, sizeof data));
    } else {
        uint8_t out[4100];
        CHECK(zc_codec_encode(&snappy, ws, data, 4000, out, sizeof out, &n, &err) == ZC_ERR_UNSUPPORTED);
    }
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        static const size_t caps[] = {0, 1, 3, 15, 16, 100, 3999};
        for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
            uint8_t *small = case_exact(NULL, caps[i]);
            const zc_status refused =
                zc_codec_encode(&codec, ws, data, sizeof data, small, caps[i], &n, &err);
            CHECK(refused == ZC_ERR_ENCODE || refused == ZC_ERR_ARGUMENT);
            free(small);
        }
    }
}

static void table(void)
{
    zc_codec codec;

    CHECK(!zc_codec_init(&codec, "nonsense") && zc_codec_find("") == NULL);
    for (const zc_codec_class *const *cls = zc_codec_classes; *cls != NULL; cls++) {
        CHECK(zc_codec_find((*cls)->name) == *cls);
        CHECK(zc_codec_init(&codec, (*cls)->name) && codec.cls == *cls);
        CHECK(zc_codec_check(&codec, &err) == ZC_OK);
        CHECK(((*cls)->open_blocks == NULL) == ((*cls)->decode_range == NULL));
        CHECK(((*cls)->strip == NULL) == ((*cls)->checksum == NULL));
    }
}

/* A cancelled job stops inside of a long value. */
static void cancelling(void)
{
    const size_t n = (size_t)130 << 20;
    _Atomic int cancelled = 1;
    uint8_t *data = calloc(n, 1);
    uint8_t *out = case_exact(NULL, n);
    const zc_codec codecs[] = {case_codec("zstd", -50, false), case_codec("gzip", 1, false),
                               case_blosc(ZC_BLOSC_LZ4, 1, ZC_BLOSC_NOSHUFFLE, 1, 0)};

    data[n - 1] = 1;                 /* what repeats to the end is deflated in a few milliseconds */
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        size_t size = 0;
        size_t ignored = 0;
        uint8_t *encoded = case_encode(&codecs[i], ws, data, n, &size, &err);
        ws->cancelled = &cancelled;
        CHECK(zc_codec_decode_exact(&codecs[i], ws, encoded, size, out, n, &err) == ZC_ERR_CANCELLED);
        CHECK(i == 2 || zc_codec_encode(&codecs[i], ws, data, n, out, n, &ignored, &err) == ZC_ERR_CANCELLED);
        ws->cancelled = NULL;
        CHECK(zc_codec_decode_exact(&codecs[i], ws, encoded, size, out, n, &err) == ZC_OK);
        free(encoded);
    }
    free(out);
    free(data);
}

int main(void)
{
    ws = zc_workspace_new();
    RUN(table);
    RUN(configurations);
    RUN(bounds_and_limits);
    RUN(every_codec_and_size);
    RUN(large_values);
    RUN(very_large_values);
    RUN(zstd_frames_state_their_size);
    RUN(zstd_large_contexts);
    RUN(blosc_typesizes);
    RUN(blosc_ranges);
    RUN(zstd_repetitions);
    RUN(concatenated_streams);
    RUN(zstd_skippable_frames);
    RUN(foreign_streams);
    RUN(encoding_is_deterministic);
    RUN(known_checksums);
    RUN(fletcher32_sums);
    RUN(lookup3_sums);
    RUN(encode_refuses);
    RUN(cancelling);
    zc_workspace_free(ws);
    return check_report("codecs");
}
