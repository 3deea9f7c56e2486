/* SPDX-License-Identifier: MIT */
#include "codecs/scale_table.h"

#include <string.h>

/* The nearest number of the type: what is too large becomes infinity, where the type has one, else it is a fault. */
static int to_small(const zc_real_type *type, float value, uint64_t *bits)
{
    uint32_t word;

    memcpy(&word, &value, sizeof word);
    const zc_real real = zc_real_load(zc_real_type_of(ZC_NUMBER_F32), word);
    const zc_real_fit fit = zc_real_store(type, &real, ZC_ROUND_NEAREST_EVEN, bits);
    if (fit == ZC_REAL_OUT_OF_RANGE && type->infinity != ZC_REAL_NO_CODE) {
        *bits = zc_real_limit(type, &real);
        return ZC_SCALE_FITS;
    }
    return fit == ZC_REAL_FITS ? ZC_SCALE_FITS : ZC_SCALE_TOO_LARGE;
}

static float to_float(const zc_real_type *type, uint64_t bits)
{
    const zc_real real = zc_real_load(type, bits);

    return (float)zc_real_to_double(&real);
}

/* One operation in single precision and back, then the other, as ml_dtypes does it. */
static int scale_float(const zc_codec *codec, bool decode, uint64_t *bits)
{
    const zc_real_type *const type = zc_real_type_of(codec->decoded.kind);
    const float offset = (float)codec->offset, scale = (float)codec->scale, x = to_float(type, *bits);
    const int faults = to_small(type, decode ? x / scale : x - offset, bits);

    if (faults != ZC_SCALE_FITS) {
        return faults;
    }
    const float y = to_float(type, *bits);
    return to_small(type, decode ? y + offset : y * scale, bits);
}

/* Integers of a few bits, which no result leaves 64 bits with. */
static int scale_integer(const zc_codec *codec, bool decode, uint64_t *bits)
{
    const zc_real_type *const type = zc_real_type_of(codec->decoded.kind);
    const zc_real real = zc_real_load(type, *bits);
    const int64_t x = real.negative ? -(int64_t)real.size : (int64_t)real.size;
    const int64_t scale = codec->whole.scale, offset = codec->whole.offset;
    const int64_t made = decode ? x / scale + offset : (x - offset) * scale;
    const zc_real out = {ZC_REAL_FINITE, made < 0, made < 0 ? 0 - (uint64_t)made : (uint64_t)made, 0};
    const bool fits = zc_real_store(type, &out, ZC_ROUND_NEAREST_EVEN, bits) == ZC_REAL_FITS;

    return (fits ? ZC_SCALE_FITS : ZC_SCALE_TOO_LARGE) |
           (decode && x % scale != 0 ? ZC_SCALE_NO_MULTIPLE : ZC_SCALE_FITS);
}

void zc_scale_table_fill(zc_scale_table *table, const zc_codec *codec, bool decode)
{
    const zc_number_kind kind = codec->decoded.kind;

    for (unsigned code = 0; code < 256; code++) {
        const uint8_t byte = (uint8_t)code;
        uint64_t bits = zc_real_fetch(&byte, kind);
        table->faults[code] = (uint8_t)(zc_real_type_of(kind)->is_float ? scale_float(codec, decode, &bits)
                                                                        : scale_integer(codec, decode, &bits));
        table->made[code] = (uint8_t)bits;
    }
}

int zc_scale_table_run(const zc_scale_table *table, uint8_t *dst, const uint8_t *src, size_t n)
{
    int faults = ZC_SCALE_FITS;

    for (size_t i = 0; i < n; i++) {
        const uint8_t code = src[i];
        dst[i] = table->made[code];
        faults |= table->faults[code];
    }
    return faults;
}
