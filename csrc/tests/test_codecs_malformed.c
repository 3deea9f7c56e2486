/* SPDX-License-Identifier: MIT
 *
 * Damaged input: never a crash, never a byte beyond a buffer, never a byte of somebody else's memory in the
 * output.  To be run with AddressSanitizer; every buffer here has exactly the length that is passed to the codec.
 */
#include "base/arith.h"
#include "check.h"
#include "codec_cases.h"
#include "codecs/stages.h"

static zc_workspace *ws;
static zc_error err;

static bool is_data_fault(zc_status status)
{
    return status == ZC_ERR_CORRUPT || status == ZC_ERR_CHECKSUM || status == ZC_ERR_SIZE ||
           status == ZC_ERR_UNSUPPORTED;
}

/* Decode into memory full of `before`; the memory is left in *out. */
static zc_status decode_over(const zc_codec *codec, const uint8_t *src, size_t n, size_t cap, int before,
                             uint8_t **out, size_t *written)
{
    *out = case_exact(NULL, cap);
    *written = 0;
    memset(*out, before, cap);
    zc_error_clear(&err);
    return zc_codec_decode(codec, ws, src, n, *out, cap, written, &err);
}

/*
 * Decode twice, over different old contents.  Returns the status; a success that differs (bytes the codec
 * did not write) or is too long counts as a failed check.
 */
static zc_status decode_checked(const zc_codec *codec, const uint8_t *bytes, size_t n, size_t cap)
{
    uint8_t *src = case_exact(bytes, n);
    uint8_t *a;
    uint8_t *b;
    size_t na;
    size_t nb;
    const zc_status first = decode_over(codec, src, n, cap, 0x00, &a, &na);
    const zc_status second = decode_over(codec, src, n, cap, 0xff, &b, &nb);

    CHECK(first == second);
    CHECK(first == ZC_OK || err.message[0] != '\0');
    if (first == ZC_OK) {
        CHECK(na == nb && na <= cap && memcmp(a, b, na) == 0);
    }
    CHECK(ws->depth == 0);
    free(a);
    free(b);
    free(src);
    return first;
}

/* Fletcher's sum over a few small numbers may meet the four bytes that follow them by chance. */
static bool is_weak(const zc_codec *codec)
{
    return strcmp(codec->cls->name, "fletcher32") == 0;
}

/* A value of `n` bytes in that encoding. */
static uint8_t *sample(const zc_codec *codec, size_t n, case_data kind, size_t *written)
{
    uint8_t *data = case_exact(NULL, n);

    case_fill(data, n, kind);
    uint8_t *encoded = case_encode(codec, ws, data, n, written, &err);
    free(data);
    return encoded;
}

/* ---- faults that every codec must see ------------------------------------------------------- */

static void truncation_at_every_byte(void)
{
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 700, DATA_RAMP, &n);
        for (size_t cut = 0; cut < n; cut++) {
            CHECK(is_data_fault(decode_checked(&codec, encoded, cut, 700)) || is_weak(&codec));
        }
        CHECK(decode_checked(&codec, encoded, n, 700) == ZC_OK);
        free(encoded);
    }
}

static void a_flipped_bit_at_every_place(void)
{
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        const bool summed = codec.cls->checksum != NULL;
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 400, DATA_RAMP, &n);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            encoded[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const zc_status status = decode_checked(&codec, encoded, n, 400);
            CHECK(status == ZC_OK ? !summed : is_data_fault(status));
            encoded[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        CHECK(decode_checked(&codec, encoded, n, 400) == ZC_OK);
        free(encoded);
    }
}

static void random_damage(void)
{
    uint64_t state = 11;

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 20000, DATA_MIXED, &n);
        uint8_t *damaged = case_exact(encoded, n);
        for (int i = 0; i < 60; i++) {
            memcpy(damaged, encoded, n);
            for (uint32_t k = 0; k <= case_random(&state) % 8; k++) {
                const size_t at =
                    i % 2 == 0 ? case_random(&state) % n : case_random(&state) % (n < 64 ? n : 64);
                damaged[at] = (uint8_t)case_random(&state);
            }
            const zc_status status = decode_checked(&codec, damaged, n, 20000);
            CHECK(status == ZC_OK || is_data_fault(status));
        }
        free(damaged);
        free(encoded);
    }
}

static void trailing_bytes(void)
{
    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 700, DATA_RAMP, &n);
        for (size_t extra = 1; extra < 20; extra++) {
            uint8_t *longer = calloc(n + extra, 1);
            memcpy(longer, encoded, n);
            const zc_status status = decode_checked(&codec, longer, n + extra, 700);
            CHECK(status == (codec.cls->checksum != NULL ? ZC_ERR_CHECKSUM : ZC_ERR_CORRUPT) ||
                  is_weak(&codec));
            free(longer);
        }
        free(encoded);
    }
}

static void too_little_room(void)
{
    static const size_t sizes[] = {1, 2, 100, 700, 5000, 70000};

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (int kind = 0; kind < DATA_KINDS; kind++) {
                size_t n = 0;
                uint8_t *encoded = sample(&codec, sizes[s], (case_data)kind, &n);
                CHECK(decode_checked(&codec, encoded, n, sizes[s] - 1) == ZC_ERR_SIZE);
                CHECK(decode_checked(&codec, encoded, n, 0) == ZC_ERR_SIZE);
                CHECK(decode_checked(&codec, encoded, n, sizes[s] + 1) == ZC_OK);
                free(encoded);
            }
        }
    }
}

static void too_few_bytes(void)
{
    uint8_t out[701];

    for (int c = 0; c < CASE_CODECS; c++) {
        const zc_codec codec = case_codec_at(c);
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 700, DATA_MIXED, &n);
        zc_error_clear(&err);
        CHECK(zc_codec_decode_exact(&codec, ws, encoded, n, out, 701, &err) == ZC_ERR_SIZE);
        CHECK(strcmp(err.codec, codec.cls->name) == 0);
        CHECK(strstr(err.message, "decoded to 700 bytes, the metadata demand 701") != NULL);
        free(encoded);
    }
}

static void a_small_value_that_claims_much(void)
{
    const size_t n = (size_t)16 << 20;
    uint8_t *zeros = calloc(n, 1);
    static const char *const names[] = {"zstd", "gzip", "zlib", "lz4", "blosc"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        zc_codec codec;
        size_t size = 0;
        zc_codec_init(&codec, names[i]);
        uint8_t *encoded = case_encode(&codec, ws, zeros, n, &size, &err);
        CHECK(encoded != NULL && size < n / 50);
        CHECK(decode_checked(&codec, encoded, size, 4096) == ZC_ERR_SIZE);
        free(encoded);
    }
    free(zeros);
}

/* ---- blosc ---------------------------------------------------------------------------------- */

typedef struct blosc_fields {
    uint8_t version, stream_version, flags, typesize;
    uint32_t nbytes, blocksize, cbytes;
} blosc_fields;

static void put_blosc_header(uint8_t *dst, blosc_fields f)
{
    dst[0] = f.version;
    dst[1] = f.stream_version;
    dst[2] = f.flags;
    dst[3] = f.typesize;
    zc_store_le32(dst + 4, f.nbytes);
    zc_store_le32(dst + 8, f.blocksize);
    zc_store_le32(dst + 12, f.cbytes);
}

/* n bytes with that header, zeros after it. */
static zc_status decode_header(blosc_fields f, size_t n, size_t cap)
{
    const zc_codec codec = case_blosc(ZC_BLOSC_LZ4, 5, ZC_BLOSC_BYTESHUFFLE, 4, 0);
    uint8_t bytes[256] = {0};
    const zc_encoded value = zc_encoded_bytes(bytes, n);
    zc_blocks blocks;
    uint8_t out[16];

    put_blosc_header(bytes, f);
    if (zc_blocks_open(&codec, &value, f.nbytes, ws, &blocks, &err) == ZC_OK) {
        (void)zc_blocks_decode(&blocks, 0, f.nbytes < 16 ? f.nbytes : 16, out, &err);
        zc_blocks_close(&blocks);
    }
    CHECK(ws->depth == 0);
    return decode_checked(&codec, bytes, n, cap);
}

static void blosc_headers(void)
{
    const uint8_t lz4 = 1 << 5;
    const uint8_t stored = lz4 | 2;
    const blosc_fields good = {2, 1, stored, 4, 32, 32, 48};
    blosc_fields f = good;

    CHECK(decode_header(good, 48, 32) == ZC_OK);
    CHECK(decode_header((blosc_fields){2, 1, lz4, 4, 16384, 16384, 48}, 48, 16384) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, stored, 4, 16384, 16384, 48}, 48, 16384) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, stored, 4, 16384, 16384, 16400}, 48, 16384) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, stored, 4, 0, 0, 16}, 16, 0) == ZC_OK);
    CHECK(decode_header((blosc_fields){2, 1, stored, 4, 0, 0, 17}, 17, 0) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, lz4, 4, 0x7fffffff, 1, 48}, 48, 32) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, lz4, 4, 0x80000000u, 1, 48}, 48, 32) == ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, lz4, 4, 0xffffffffu, 0xffffffffu, 48}, 48, 32) ==
          ZC_ERR_CORRUPT);
    CHECK(decode_header((blosc_fields){2, 1, lz4 | 0x10, 4, 0x7fffffef, 0x7fffffef, 48}, 48, 32) ==
          ZC_ERR_SIZE);
    for (f = good; f.version < 8; f.version++) {
        CHECK((decode_header(f, 48, 32) == ZC_OK) == (f.version == 2));
    }
    f = good, f.typesize = 0;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    f = good, f.blocksize = 0;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    f = good, f.blocksize = 33;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    f = good, f.flags |= 8;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    f = good, f.flags |= 5;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    f = good, f.cbytes = 0xfffffff0u;
    CHECK(decode_header(f, 48, 32) == ZC_ERR_CORRUPT);
    CHECK(decode_header(good, 47, 32) == ZC_ERR_CORRUPT && decode_header(good, 49, 32) == ZC_ERR_CORRUPT);
    CHECK(decode_header(good, 48, 31) == ZC_ERR_SIZE);
}

static void blosc_compressors(void)
{
    for (int format = 0; format < 8; format++) {
        const blosc_fields f = {2, 1, (uint8_t)(format << 5 | 0x10), 1, 64, 64, 48};
        blosc_fields newer = f;
        const zc_status status = decode_header(f, 48, 64);
        CHECK(status == ZC_ERR_CORRUPT || (format == 2 && status == ZC_ERR_UNSUPPORTED));
        CHECK(format < 5 || strstr(err.message, "unknown blosc compressor") != NULL);
        newer.stream_version = 2;
        CHECK(decode_header(newer, 48, 64) == ZC_ERR_CORRUPT);
    }
}

/* A value of one or two blocks of 256 bytes whose starts and lengths are set by hand, lz4 or blosclz. */
static zc_status decode_blocks_at(uint8_t flags, uint8_t typesize, uint32_t nbytes, uint32_t start0,
                                  uint32_t start1, uint32_t length)
{
    const zc_codec codec = case_blosc(ZC_BLOSC_LZ4, 5, ZC_BLOSC_BYTESHUFFLE, 4, 0);
    const uint32_t blocksize = nbytes < 256 ? nbytes : 256;
    uint8_t bytes[700];
    uint8_t *src;
    uint8_t out[512];
    zc_blocks blocks;

    memset(bytes, 1, sizeof bytes);
    put_blosc_header(bytes, (blosc_fields){2, 1, flags, typesize, nbytes, blocksize, sizeof bytes});
    zc_store_le32(bytes + 16, start0);
    zc_store_le32(bytes + 20, start1);
    if (start0 <= sizeof bytes - 4) {
        zc_store_le32(bytes + start0, length);
    }
    src = case_exact(bytes, sizeof bytes);
    const zc_encoded value = zc_encoded_bytes(src, sizeof bytes);
    if (zc_blocks_open(&codec, &value, nbytes, ws, &blocks, &err) == ZC_OK) {
        (void)zc_blocks_decode(&blocks, 0, nbytes / 2, out, &err);
        (void)zc_blocks_decode(&blocks, nbytes / 2, nbytes - nbytes / 2, out, &err);
        zc_blocks_close(&blocks);
    }
    CHECK(ws->depth == 0);
    const zc_status status = decode_checked(&codec, src, sizeof bytes, nbytes);
    free(src);
    return status;
}

static void blosc_block_starts(void)
{
    static const uint32_t starts[] = {0,   1,          15,          16,          19,         20,
                                      23,  695,        696,         697,         699,        700,
                                      701, 0x7fffffff, 0x80000000u, 0xfffffffcu, 0xffffffffu};
    static const uint32_t lengths[] = {0,          1,           255,         257,        600,
                                       0x7fffffff, 0x80000000u, 0xfffffffcu, 0xffffffffu};
    const uint8_t whole = 0x10;

    CHECK(decode_blocks_at(whole, 1, 256, 100, 0, 256) == ZC_OK);                    /* one, stored */
    CHECK(decode_blocks_at(whole, 1, 512, 24, 24, 256) == ZC_OK);
    for (uint8_t format = 0; format < 5; format++) {
        const uint8_t flags = (uint8_t)(format << 5 | whole);
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            CHECK(decode_blocks_at(flags, 1, 512, starts[i], 24, 256) != ZC_OK);
            CHECK(decode_blocks_at(flags, 1, 512, 24, starts[i], 256) != ZC_OK);
        }
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            CHECK(decode_blocks_at(flags, 1, 256, 100, 0, lengths[i]) != ZC_OK);
            CHECK(decode_blocks_at((uint8_t)(format << 5), 2, 256, 100, 0, lengths[i]) != ZC_OK);
        }
    }
}

/* Blocks that do not divide into their streams would leave a tail of the output unwritten. */
static void blosc_uneven_split(void)
{
    const zc_codec codec = case_blosc(ZC_BLOSC_LZ4, 5, ZC_BLOSC_BYTESHUFFLE, 4, 0);
    const uint32_t blocksize = 3 * 128 + 2;
    uint8_t bytes[20 + 3 * (4 + 128)];

    memset(bytes, 1, sizeof bytes);
    put_blosc_header(bytes, (blosc_fields){2, 1, 1 << 5 | 1, 3, blocksize, blocksize, sizeof bytes});
    zc_store_le32(bytes + 16, 20);
    for (int i = 0; i < 3; i++) {
        zc_store_le32(bytes + 20 + 132 * i, 128);
    }
    CHECK(decode_checked(&codec, bytes, sizeof bytes, blocksize) == ZC_ERR_CORRUPT);
}

/* Match lengths of blosclz add up in an int: 2^31 / 255 bytes of 255 would overflow it. */
static void blosclz_endless_match(void)
{
    const zc_codec codec = case_blosc(ZC_BLOSC_BLOSCLZ, 5, ZC_BLOSC_NOSHUFFLE, 1, 0);
    const uint32_t length = 9u << 20;
    const uint32_t nbytes = 10u << 20;
    const size_t n = 24 + (size_t)length;
    uint8_t *bytes = case_exact(NULL, n);

    memset(bytes, 255, n);
    put_blosc_header(bytes, (blosc_fields){2, 1, 0x10, 1, nbytes, nbytes, (uint32_t)n});
    zc_store_le32(bytes + 16, 20);
    zc_store_le32(bytes + 20, length);
    memset(bytes + 24, 0, 2);
    CHECK(decode_checked(&codec, bytes, n, nbytes) == ZC_ERR_CORRUPT);
    CHECK(strstr(err.message, "match") != NULL);
    free(bytes);
}

/* ---- zstd, deflate, lz4 --------------------------------------------------------------------- */

static void zstd_frames(void)
{
    static const uint8_t huge_content[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0,   0,   0,  0,
                                           1,    0,    0,    0x19, 0,    0, 'a', 'b', 'c'};
    static const uint8_t huge_window[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 0x19, 0, 0, 'a', 'b', 'c'};
    static const uint8_t dictionary[] = {0x28, 0xb5, 0x2f, 0xfd, 0x01, 0x58, 0x07, 0x19, 0, 0, 'a', 'b', 'c'};
    static const uint8_t skippable_only[] = {0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 1};
    const zc_codec codec = case_codec("zstd", 3, false);
    const zc_status window = decode_checked(&codec, huge_window, sizeof huge_window, 3);

    CHECK(is_data_fault(decode_checked(&codec, huge_content, sizeof huge_content, 3)));
    CHECK(window == ZC_OK || window == ZC_ERR_CORRUPT);      /* decoded without a window, or refused */
    CHECK(decode_checked(&codec, dictionary, sizeof dictionary, 3) == ZC_ERR_CORRUPT);
    CHECK(decode_checked(&codec, skippable_only, sizeof skippable_only, 3) == ZC_ERR_CORRUPT);
    CHECK(decode_checked(&codec, NULL, 0, 3) == ZC_ERR_CORRUPT);
    CHECK(decode_checked(&codec, NULL, 0, 0) == ZC_ERR_CORRUPT);
}

/* The streaming decoder, which only long values reach, sees the same faults. */
static void zstd_long_values(void)
{
    const size_t room = (size_t)128 << 20;
    const zc_codec codec = case_codec("zstd", 1, true);
    uint8_t *out = case_exact(NULL, room);
    uint8_t *longer;
    size_t n = 0;
    size_t written = 0;
    uint8_t *encoded = sample(&codec, room, DATA_ZERO, &n);

    CHECK(zc_codec_decode(&codec, ws, encoded, n, out, room, &written, &err) == ZC_OK && written == room);
    CHECK(zc_codec_decode(&codec, ws, encoded, n - 1, out, room, &written, &err) == ZC_ERR_CORRUPT);
    CHECK(zc_codec_decode(&codec, ws, encoded, n / 2, out, room, &written, &err) == ZC_ERR_CORRUPT);
    encoded[n - 1] ^= 1;
    CHECK(zc_codec_decode(&codec, ws, encoded, n, out, room, &written, &err) == ZC_ERR_CHECKSUM);
    encoded[n - 1] ^= 1;
    longer = case_exact(NULL, 2 * n);
    memcpy(longer, encoded, n);
    memcpy(longer + n, encoded, n);
    CHECK(zc_codec_decode(&codec, ws, longer, 2 * n, out, room, &written, &err) == ZC_ERR_SIZE);
    longer[n] ^= 1;
    CHECK(zc_codec_decode(&codec, ws, longer, 2 * n, out, room, &written, &err) == ZC_ERR_CORRUPT);
    free(longer);
    free(encoded);
    free(out);
}

static void deflate_checksums(void)
{
    static const char *const names[] = {"gzip", "zlib"};
    static const uint8_t preset[] = {0x78, 0xbb, 1, 2, 3, 4, 3, 0, 0, 0, 0, 1};
    const zc_codec zlib = case_codec("zlib", 1, false);

    for (int i = 0; i < 2; i++) {
        const zc_codec codec = case_codec(names[i], 6, false);
        size_t n = 0;
        uint8_t *encoded = sample(&codec, 500, DATA_RAMP, &n);
        encoded[n - (i == 0 ? 8 : 1)] ^= 1;
        CHECK(decode_checked(&codec, encoded, n, 500) == ZC_ERR_CHECKSUM);
        free(encoded);
    }
    CHECK(decode_checked(&zlib, preset, sizeof preset, 100) == ZC_ERR_CORRUPT);
}

/* What is small is decoded with zeros after it: they complete no value that ended with zeros, and belong to none. */
static void deflate_ends_where_the_value_does(void)
{
    static const char *const names[] = {"gzip", "zlib", "blosc"};
    static const size_t sizes[] = {300, 70000};

    for (size_t i = 0; i < 6; i++) {
        zc_codec codec = case_codec(names[i / 2], 6, false);
        codec.blosc.compressor = ZC_BLOSC_ZLIB;
        size_t n = 0;
        uint8_t *encoded = sample(&codec, sizes[i % 2], DATA_ZERO, &n);
        uint8_t *longer = case_exact(NULL, n + 1);
        memcpy(longer, encoded, n);
        longer[n] = 0;
        for (size_t cut = 0; cut < n; cut++) {
            CHECK(is_data_fault(decode_checked(&codec, encoded, cut, sizes[i % 2])));
        }
        CHECK(is_data_fault(decode_checked(&codec, longer, n + 1, sizes[i % 2])));
        CHECK(decode_checked(&codec, encoded, n, sizes[i % 2]) == ZC_OK);
        free(longer);
        free(encoded);
    }
}

/* A gzip member is not a zlib stream and the other way round. */
static void deflate_containers(void)
{
    const zc_codec gzip = case_codec("gzip", 6, false);
    const zc_codec zlib = case_codec("zlib", 6, false);
    size_t n = 0;
    size_t m = 0;
    uint8_t *a = sample(&gzip, 500, DATA_RAMP, &n);
    uint8_t *b = sample(&zlib, 500, DATA_RAMP, &m);

    CHECK(decode_checked(&zlib, a, n, 500) == ZC_ERR_CORRUPT);
    CHECK(decode_checked(&gzip, b, m, 500) == ZC_ERR_CORRUPT);
    free(a);
    free(b);
}

static void lz4_headers(void)
{
    const zc_codec codec = case_codec("lz4", 1, false);
    static const uint32_t stated[] = {499,         501,         1000,        0x7e000000u,
                                      0x7e000001u, 0x7fffffffu, 0x80000000u, 0xffffffffu};
    size_t n = 0;
    uint8_t *encoded = sample(&codec, 500, DATA_RAMP, &n);

    for (size_t i = 0; i < sizeof stated / sizeof *stated; i++) {
        zc_store_le32(encoded, stated[i]);
        const zc_status status = decode_checked(&codec, encoded, n, 1000);
        CHECK(status == (stated[i] > 1000 && stated[i] <= 0x7e000000u ? ZC_ERR_SIZE : ZC_ERR_CORRUPT));
    }
    CHECK(decode_checked(&codec, encoded, 4, 1000) == ZC_ERR_CORRUPT);
    free(encoded);
}

/* ---- codecs in a codec ------------------------------------------------------------------------ */

static void conditional_headers(void)
{
    const zc_codec always = case_conditional(ZC_DECIDE_ALWAYS), never = case_conditional(ZC_DECIDE_NEVER);
    uint8_t plain[50], zeros[1000];
    size_t n = 0;

    for (int bit = 0; bit < 8; bit++) {              /* of codecs 0 to 2; this was encoded by none of them */
        memset(plain, 7, sizeof plain);
        plain[0] = (uint8_t)(1u << bit);
        CHECK(is_data_fault(decode_checked(&always, plain, sizeof plain, 49)));
        CHECK(strcmp(err.codec, "conditional") == 0 || bit < 3);
    }
    plain[0] = 0;
    CHECK(decode_checked(&always, plain, sizeof plain, 49) == ZC_OK);
    CHECK(decode_checked(&always, plain, sizeof plain, 48) == ZC_ERR_SIZE);
    CHECK(decode_checked(&always, plain, 1, 0) == ZC_OK);
    CHECK(decode_checked(&always, plain, 0, 0) == ZC_ERR_CORRUPT);

    memset(zeros, 0, sizeof zeros);
    uint8_t *encoded = case_encode(&never, ws, zeros, sizeof zeros, &n, &err);
    CHECK(n == sizeof zeros + 1 && encoded[0] == 0 && memcmp(encoded + 1, zeros, sizeof zeros) == 0);
    free(encoded);
    encoded = case_encode(&always, ws, zeros, sizeof zeros, &n, &err);
    CHECK(encoded[0] == 7 && decode_checked(&never, encoded, n, sizeof zeros) == ZC_OK);
    CHECK(is_data_fault(decode_checked(&always, encoded, n, 10)));      /* more than there is room for */
    free(encoded);
}

/* More codecs than a chain has, or a header with fewer bits. */
static void conditional_configurations(void)
{
    zc_codec codec = case_conditional(ZC_DECIDE_SMALLER);
    uint8_t byte = 0, out[1];
    size_t n;

    codec.nested.header = 0;
    CHECK(zc_codec_decode(&codec, ws, &byte, 1, out, 1, &n, &err) == ZC_ERR_ARGUMENT);
    CHECK(zc_codec_encode(&codec, ws, &byte, 1, out, 1, &n, &err) == ZC_ERR_ARGUMENT);
    codec.nested.header = 100;
    codec.nested.n = ZC_MAX_STAGES + 1;
    CHECK(zc_codec_decode(&codec, ws, &byte, 1, out, 1, &n, &err) == ZC_ERR_ARGUMENT);
    CHECK(zc_codec_check(&codec, &err) == ZC_ERR_ARGUMENT);
}

int main(void)
{
    ws = zc_workspace_new();
    RUN(truncation_at_every_byte);
    RUN(a_flipped_bit_at_every_place);
    RUN(random_damage);
    RUN(trailing_bytes);
    RUN(too_little_room);
    RUN(too_few_bytes);
    RUN(a_small_value_that_claims_much);
    RUN(blosc_headers);
    RUN(blosc_compressors);
    RUN(blosc_block_starts);
    RUN(blosc_uneven_split);
    RUN(blosclz_endless_match);
    RUN(zstd_frames);
    RUN(zstd_long_values);
    RUN(deflate_checksums);
    RUN(deflate_ends_where_the_value_does);
    RUN(deflate_containers);
    RUN(lz4_headers);
    RUN(conditional_headers);
    RUN(conditional_configurations);
    zc_workspace_free(ws);
    return check_report("codecs_malformed");
}
