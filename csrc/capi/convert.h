/* SPDX-License-Identifier: MIT
 *
 * Numbers of the caller's type for those of an array, and back, under the rules that Python code has (zarrcore.arrays.values).
 */
#pragma once

#include "engine/engine.h"
#include "kernels/cast.h"

/* Numbers as they lie in memory; kind: of numpy's types alone. */
typedef struct zc_numbers {
    zc_number_kind kind;
    zc_item item;            /* size, and what to swap if the byte order is not the machine's */
    char name[8];            /* without the byte order */
} zc_numbers;

/* The type of that name, as numpy spells it ("<f8", "f8", "=i4"); false if it is none of numbers. */
bool zc_typed_parse(const char *type, zc_numbers *out);

/* May numbers of one type become numbers of the other at all?  Complex ones become no real ones. */
bool zc_typed_convertible(const zc_numbers *from, const zc_numbers *to);

/* Is there a number that the other type has not?  Floats are rounded, and become infinite, without a word. */
bool zc_typed_may_fail(const zc_numbers *from, const zc_numbers *to);

/* Convert a region; dst may be NULL: then the numbers are only checked.  ZC_ERR_VALUE names the first that does not fit. */
zc_status zc_typed_convert(int ndim, const int64_t *shape, char *dst, const int64_t *dst_strides, const zc_numbers *to,
                             const char *src, const int64_t *src_strides, const zc_numbers *from, zc_error *err);
