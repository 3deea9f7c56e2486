/* SPDX-License-Identifier: MIT
 *
 * Differences of neighbours, and their running sum (the "delta" filter).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Integers are taken modulo 2 ** bits, so that signed and unsigned ones are the same. */
typedef enum zc_delta_kind {
    ZC_DELTA_INT8, ZC_DELTA_INT16, ZC_DELTA_INT32, ZC_DELTA_INT64, ZC_DELTA_FLOAT32, ZC_DELTA_FLOAT64
} zc_delta_kind;

/*
 * Encode: dst[0] = src[0], dst[i] = src[i] - src[i - 1].
 * Decode: dst[0] = src[0], dst[i] = dst[i - 1] + src[i]; floats are added from the first to the last, as
 * numpy.cumsum does, so that the same bits come out.
 *
 * n numbers in the machine's byte order, any alignment.  Decoding works in place (dst == src); apart from
 * that dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_delta_encode(void *dst, const void *src, size_t n, zc_delta_kind kind);
void zc_delta_decode(void *dst, const void *src, size_t n, zc_delta_kind kind);

/* The same where neighbours lie that many bytes apart. */
void zc_delta_encode_strided(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n,
                             zc_delta_kind kind);
void zc_delta_decode_strided(void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n,
                             zc_delta_kind kind);

/*
 * Differences of integers stored as integers of fewer bytes: `from` (encoding) or `to` (decoding) bytes of a number, and
 * those of a difference, each 1, 2, 4 or 8.  Differences are cut; decoding extends them, with their sign if they have one,
 * and adds modulo 2 ** bits of a number.  n numbers; the first one is stored itself if `first`, else the
 * number before them lies before src (encoding) or before dst (decoding).  dst and src do not overlap.
 */
void zc_delta_encode_narrow(void *dst, size_t to, const void *src, size_t from, size_t n, bool first);
void zc_delta_decode_narrow(void *dst, size_t to, const void *src, size_t from, bool is_signed, size_t n,
                            bool first);
