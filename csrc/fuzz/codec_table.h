/* SPDX-License-Identifier: MIT
 *
 * Configured codecs for the fuzz targets: those of the tests, and filters over numbers of several types.
 */
#pragma once

#include "tests/codec_cases.h"

typedef struct fuzz_filter {
    const char *name;
    zc_number_kind decoded, encoded;
    bool swapped;
    int level;
    double offset, scale;
} fuzz_filter;

static const fuzz_filter fuzz_filters[] = {
    {"shuffle", ZC_NUMBER_U8, ZC_NUMBER_U8, false, 3, 0, 0},
    {"shuffle", ZC_NUMBER_U8, ZC_NUMBER_U8, false, 8, 0, 0},
    {"shuffle", ZC_NUMBER_U8, ZC_NUMBER_U8, false, 1000, 0, 0},
    {"delta", ZC_NUMBER_I16, ZC_NUMBER_I16, false, 0, 0, 0},
    {"delta", ZC_NUMBER_U8, ZC_NUMBER_I64, false, 0, 0, 0},
    {"delta", ZC_NUMBER_F64, ZC_NUMBER_F32, true, 0, 0, 0},
    {"delta", ZC_NUMBER_BOOL, ZC_NUMBER_BOOL, false, 0, 0, 0},
    {"astype", ZC_NUMBER_F64, ZC_NUMBER_I8, false, 0, 0, 0},
    {"astype", ZC_NUMBER_I8, ZC_NUMBER_F64, true, 0, 0, 0},
    {"astype", ZC_NUMBER_F16, ZC_NUMBER_U64, false, 0, 0, 0},
    {"fixedscaleoffset", ZC_NUMBER_F64, ZC_NUMBER_U8, false, 0, -3.5, 10},
    {"fixedscaleoffset", ZC_NUMBER_I32, ZC_NUMBER_I16, true, 0, 100, 2},
    {"quantize", ZC_NUMBER_F32, ZC_NUMBER_F16, false, 0, 0, 16},
    {"quantize", ZC_NUMBER_F16, ZC_NUMBER_F64, true, 0, 0, 1},
    {"scale_offset", ZC_NUMBER_F32, ZC_NUMBER_F32, true, 0, 1.5, 0.1},
    {"scale_offset", ZC_NUMBER_I64, ZC_NUMBER_I64, false, 0, 7, -3},
    {"scale_offset", ZC_NUMBER_U8, ZC_NUMBER_U8, false, 0, 1, 2},
    {"bitround", ZC_NUMBER_F32, ZC_NUMBER_F32, false, 5, 0, 0},
    {"bitround", ZC_NUMBER_F64, ZC_NUMBER_F64, true, 0, 0, 0},
    {"low_bits", ZC_NUMBER_U8, ZC_NUMBER_U8, false, 3, 0, 0},
    {"packbits", ZC_NUMBER_U8, ZC_NUMBER_U8, false, ZC_PADDING_NUMCODECS, 0, 0},
    {"packbits", ZC_NUMBER_U8, ZC_NUMBER_U8, false, ZC_PADDING_NONE, 0, 0},
    {"packbits", ZC_NUMBER_U16, ZC_NUMBER_U8, false, ZC_PADDING_FIRST, 2, 5},
    {"packbits", ZC_NUMBER_I64, ZC_NUMBER_U8, false, ZC_PADDING_LAST, 0, 61},
    {"cast_value", ZC_NUMBER_F64, ZC_NUMBER_I8, false, ZC_ROUND_NEAREST_EVEN, 0, ZC_RANGE_CLAMP},
    {"cast_value", ZC_NUMBER_I64, ZC_NUMBER_U16, true, ZC_ROUND_TOWARDS_ZERO, 0, ZC_RANGE_WRAP},
    {"cast_value", ZC_NUMBER_U8, ZC_NUMBER_F16, false, ZC_ROUND_NEAREST_AWAY, 0, ZC_RANGE_ERROR},
};

enum {
    FUZZ_FILTERS = sizeof fuzz_filters / sizeof *fuzz_filters,
    FUZZ_CODECS = CASE_CODECS + FUZZ_FILTERS
};

static inline zc_codec fuzz_filter_codec(const fuzz_filter *filter)
{
    zc_codec codec;

    if (!zc_codec_init(&codec, filter->name)) {
        abort();
    }
    codec.decoded = (zc_number){filter->decoded, filter->swapped && zc_number_size(filter->decoded) > 1};
    codec.encoded = (zc_number){filter->encoded, filter->swapped && zc_number_size(filter->encoded) > 1};
    if (strcmp(filter->name, "shuffle") == 0) {
        codec.element = (size_t)filter->level;
    } else if (strcmp(filter->name, "packbits") == 0) {
        codec.bits.padding = (zc_padding)filter->level;
        codec.bits.first = (uint32_t)filter->offset;
        codec.bits.width = (uint32_t)filter->scale;
    } else if (strcmp(filter->name, "cast_value") == 0) {
        codec.cast.rounding = (zc_rounding)filter->level;
        codec.cast.out_of_range = (zc_out_of_range)(int)filter->scale;
    } else {
        codec.level = filter->level != 0 ? filter->level : codec.level;
        codec.offset = filter->offset;
        codec.scale = filter->scale;
        codec.whole.offset = (int64_t)filter->offset;
        codec.whole.scale = (int64_t)filter->scale;
    }
    return codec;
}

/* `index` from 0 to FUZZ_CODECS - 1. */
static inline zc_codec fuzz_codec_at(int index)
{
    return index < CASE_CODECS ? case_codec_at(index) : fuzz_filter_codec(&fuzz_filters[index - CASE_CODECS]);
}

static inline bool fuzz_codec_is_lossless(const zc_codec *codec)
{
    return codec->cls->open_blocks != NULL || codec->cls->slack != NULL || codec->cls->checksum != NULL ||
           codec->nested.n > 0 || strcmp(codec->cls->name, "shuffle") == 0 ||
           strcmp(codec->cls->name, "lz4") == 0;
}
