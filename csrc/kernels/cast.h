/* SPDX-License-Identifier: MIT
 *
 * Numbers of one type as numbers of another.
 */
#ifndef ZC_KERNELS_CAST_H
#define ZC_KERNELS_CAST_H

#include <stddef.h>

typedef enum zc_number_kind {
    ZC_NUMBER_I8, ZC_NUMBER_I16, ZC_NUMBER_I32, ZC_NUMBER_I64,
    ZC_NUMBER_U8, ZC_NUMBER_U16, ZC_NUMBER_U32, ZC_NUMBER_U64,
    ZC_NUMBER_F32, ZC_NUMBER_F64
} zc_number_kind;

enum { ZC_NUMBER_KINDS = ZC_NUMBER_F64 + 1 };

/* Bytes of one number. */
size_t zc_number_size(zc_number_kind kind);

/*
 * dst[i] = (to)src[i] for n numbers in the machine's byte order, any alignment.  Integers wrap, as they do in C and in
 * numpy; numbers become the nearest float.  Floats are cut to integers; for NaN and for what is too large the
 * result is the one that numpy has on x86 (and, unlike there, on every machine): the lowest number of 32 or 64
 * bits, cut to the type.
 *
 * dst and src do not overlap.  Nothing fails; no shared state.
 */
void zc_cast(void *dst, zc_number_kind to, const void *src, zc_number_kind from, size_t n);

#endif
