/* SPDX-License-Identifier: MIT
 *
 * Numbers of one type as numbers of another.
 */
#pragma once

#include <stddef.h>

typedef enum zc_number_kind {
    ZC_NUMBER_I8, ZC_NUMBER_I16, ZC_NUMBER_I32, ZC_NUMBER_I64,
    ZC_NUMBER_U8, ZC_NUMBER_U16, ZC_NUMBER_U32, ZC_NUMBER_U64,
    ZC_NUMBER_F32, ZC_NUMBER_F64,
    ZC_NUMBER_KINDS,         /* those that C has and zc_cast takes; the others are in exact_number.h */
    ZC_NUMBER_F16 = ZC_NUMBER_KINDS, ZC_NUMBER_BF16,
    ZC_NUMBER_I2, ZC_NUMBER_I4, ZC_NUMBER_U2, ZC_NUMBER_U4,
    ZC_NUMBER_F8_E3M4, ZC_NUMBER_F8_E4M3, ZC_NUMBER_F8_E4M3B11FNUZ, ZC_NUMBER_F8_E4M3FN, ZC_NUMBER_F8_E4M3FNUZ,
    ZC_NUMBER_F8_E5M2, ZC_NUMBER_F8_E5M2FNUZ, ZC_NUMBER_F8_E8M0FNU,
    ZC_NUMBER_F6_E2M3FN, ZC_NUMBER_F6_E3M2FN, ZC_NUMBER_F4_E2M1FN,
    ZC_REAL_KINDS,           /* those of exact_number.h; numpy has three more, see cast_numpy.h */
    ZC_NUMBER_BOOL = ZC_REAL_KINDS, ZC_NUMBER_C64, ZC_NUMBER_C128
} zc_number_kind;

/* Bytes of one number in memory. */
size_t zc_number_size(zc_number_kind kind);

/*
 * dst[i] = (to)src[i] for n numbers of the first ZC_NUMBER_KINDS kinds, in the machine's byte order, any alignment.  Integers wrap, as they do in C and in
 * numpy; numbers become the nearest float.  Floats are cut to integers; for NaN and for what is too large the
 * result is the one that numpy has on x86 (and, unlike there, on every machine): the lowest number of 32 or 64
 * bits, cut to the type.
 *
 * dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_cast(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n);
