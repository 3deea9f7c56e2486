/* SPDX-License-Identifier: MIT
 *
 * What the codec tests share: data to encode and configurations to encode it with.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/codec.h"

/* A small generator: the tests see the same bytes everywhere. */
static inline uint32_t case_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

typedef enum case_data { DATA_ZERO, DATA_RAMP, DATA_NOISE, DATA_MIXED, DATA_KINDS } case_data;

/* n bytes of that kind: nothing, a smooth uint16 ramp, incompressible, half of each. */
static inline void case_fill(uint8_t *data, size_t n, case_data kind)
{
    uint64_t state = 20240601u + (uint64_t)kind;

    for (size_t i = 0; i < n; i++) {
        const uint8_t ramp = (uint8_t)((i / 2) >> (i % 2 == 0 ? 0 : 8));
        const uint8_t noise = (uint8_t)case_random(&state);
        switch (kind) {
        case DATA_ZERO:
            data[i] = 0;
            break;
        case DATA_RAMP:
            data[i] = ramp;
            break;
        case DATA_NOISE:
            data[i] = noise;
            break;
        default:
            data[i] = (i / 1000) % 2 == 0 ? ramp : noise;
        }
    }
}

/* Blosc with that configuration. */
static inline zc_codec case_blosc(zc_blosc_compressor compressor, int level, zc_blosc_shuffle shuffle,
                                  size_t typesize, size_t blocksize)
{
    zc_codec codec;

    zc_codec_init(&codec, "blosc");
    codec.level = level;
    codec.blosc.compressor = compressor;
    codec.blosc.shuffle = shuffle;
    codec.blosc.typesize = typesize;
    codec.blosc.blocksize = blocksize;
    return codec;
}

static inline zc_codec case_codec(const char *name, int level, bool flag)
{
    zc_codec codec;

    zc_codec_init(&codec, name);
    if (codec.cls->check != NULL) {
        codec.level = level;
    }
    codec.checksum = flag;
    if (codec.cls->checksum != NULL) {
        codec.at_start = flag;
    }
    return codec;
}

/* A conditional codec with three others in it, one of which holds another; what it points to stays. */
static inline zc_codec case_conditional(zc_decision decision)
{
    static zc_codec inside[1], nested[3];
    zc_codec codec;

    inside[0] = case_codec("crc32c", 0, false);
    nested[0] = case_codec("zstd", 3, false);
    zc_codec_init(&nested[1], "conditional");
    nested[1].nested.codecs = inside;
    nested[1].nested.n = 1;
    nested[1].nested.header = 2;
    nested[1].nested.decision = ZC_DECIDE_ALWAYS;
    nested[2] = case_codec("lz4", 1, false);
    zc_codec_init(&codec, "conditional");
    codec.nested.codecs = nested;
    codec.nested.n = 3;
    codec.nested.header = 1;
    codec.nested.decision = decision;
    return codec;
}

enum { CASE_CODECS = 37 };

/* One of each family, every blosc compressor with every shuffle: `index` from 0 to CASE_CODECS - 1. */
static inline zc_codec case_codec_at(int index)
{
    static const zc_blosc_compressor compressors[] = {ZC_BLOSC_BLOSCLZ, ZC_BLOSC_LZ4, ZC_BLOSC_LZ4HC,
                                                      ZC_BLOSC_ZLIB, ZC_BLOSC_ZSTD};
    static const struct { const char *name; int level; bool flag; } others[] = {
        {"zstd", 3, false}, {"zstd", -5, true}, {"zstd", 19, true}, {"zstd", 0, false},
        {"gzip", 5, false}, {"gzip", 0, false}, {"zlib", 1, false}, {"zlib", 9, false}, {"zlib", -1, false},
        {"lz4", 1, false}, {"lz4", 50, false},
        {"crc32c", 0, false}, {"crc32c", 0, true}, {"crc32", 0, true}, {"crc32", 0, false},
        {"adler32", 0, true}, {"fletcher32", 0, false}, {"jenkins_lookup3", 0, false},
    };
    static const size_t typesizes[] = {1, 2, 4, 8, 3, 16, 17, 255};

    if (index < 15) {
        return case_blosc(compressors[index / 3], 1 + index % 9, (zc_blosc_shuffle)(index % 3),
                          typesizes[index % 8], index % 2 == 0 ? 0 : 4096);
    }
    if (index == 15) {
        return case_blosc(ZC_BLOSC_LZ4, 0, ZC_BLOSC_BYTESHUFFLE, 4, 0);
    }
    if (index == 16) {
        return case_blosc(ZC_BLOSC_BLOSCLZ, 5, ZC_BLOSC_BYTESHUFFLE, 4, 1 << 16);
    }
    if (index >= 35) {
        return case_conditional(index == 35 ? ZC_DECIDE_SMALLER : ZC_DECIDE_ALWAYS);
    }
    return case_codec(others[index - 17].name, others[index - 17].level, others[index - 17].flag);
}

/* Memory of exactly n bytes, so that a sanitizer sees the first byte beyond (never NULL). */
static inline uint8_t *case_exact(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n > 0 ? n : 1);

    if (copy == NULL) {
        abort();
    }
    if (n > 0 && data != NULL) {
        memcpy(copy, data, n);
    }
    return copy;
}

/* Encode src to new memory of exactly *written bytes; NULL if that fails. */
static inline uint8_t *case_encode(const zc_codec *codec, zc_workspace *ws, const uint8_t *src, size_t n,
                                   size_t *written, zc_error *err)
{
    size_t cap;

    if (!codec->cls->bound(codec, n, &cap)) {
        return NULL;
    }
    uint8_t *room = case_exact(NULL, cap);
    const zc_status status = zc_codec_encode(codec, ws, src, n, room, cap, written, err);
    uint8_t *out = status == ZC_OK ? case_exact(room, *written) : NULL;
    free(room);
    return out;
}
