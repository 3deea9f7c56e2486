/* SPDX-License-Identifier: MIT
 *
 * Filters: codecs that see numbers in the bytes.  They run over tiles of some hundred numbers, so that all steps of
 * one (byte order, conversions, arithmetic) find the numbers in the nearest cache.
 */
#pragma once

#include <string.h>

#include "base/arith.h"
#include "codecs/classes.h"
#include "kernels/cast_numpy.h"

enum {
    ZC_TILE = 512,           /* numbers */
    ZC_TILE_WORDS = 2 * ZC_TILE      /* words of 8 bytes that they fill at most */
};

/* n numbers from src, in the machine's byte order, to dst, or the other way round. */
void zc_numbers_swap(void *dst, const void *src, const zc_number *number, size_t n);

/* n numbers in another type or byte order: at most ZC_TILE where both change. */
void zc_numbers_convert(void *dst, const zc_number *out, const void *src, const zc_number *in, size_t n);

/* What a filter does with one number after the other; memory of any alignment. */
typedef struct zc_number_map {
    zc_number in;
    zc_number_kind from;     /* what the map reads */
    void (*map)(const zc_codec *codec, void *restrict dst, const void *restrict src, size_t n);    /* NULL: nothing */
    zc_number_kind to;       /* what it writes */
    zc_number out;
} zc_number_map;

/* Run a map over all of src; ZC_ERR_SIZE if the result needs more than cap bytes. */
zc_status zc_numbers_run(const zc_coding *c, const zc_number_map *map, size_t *written);

/* How many numbers src is, and whether they will be as many of another type, *written bytes, within cap bytes. */
zc_status zc_numbers_count(const zc_coding *c, zc_number_kind in, zc_number_kind out, size_t *count, size_t *written);

/* zc_codec_class.bound of filters that make one encoded number of each decoded one. */
bool zc_numbers_bound(const zc_codec *codec, size_t n, size_t *out);

/* No encoding is more than this many times as long or as short as what it stands for. */
#define ZC_NUMBERS_MAX_DECODED (ZC_SIZE_MAX / 16)

static inline bool zc_number_is_integer(zc_number number)
{
    return number.kind < ZC_NUMBER_F32;
}

/* Is it one of C's own floats? */
static inline bool zc_number_is_float(zc_number number)
{
    return number.kind == ZC_NUMBER_F32 || number.kind == ZC_NUMBER_F64;
}
