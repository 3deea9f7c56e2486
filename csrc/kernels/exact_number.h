/* SPDX-License-Identifier: MIT
 *
 * Real numbers of any type as exact values, and back by a rule of rounding: integers alone, so that nothing is rounded
 * twice and the state of the floating-point unit does not matter.
 *
 * The small types are those of the Zarr extensions ("data-types"), in the encodings of IEEE 754, of the OCP formats
 * and of the package ml_dtypes.  Items of fewer than 8 bits lie in the low bits of a byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cast.h"

#define ZC_REAL_NO_CODE UINT64_MAX

/* How the bits of a number are to be read. */
typedef struct zc_real_type {
    const char *name;        /* in metadata of format 3 */
    uint8_t bits;
    bool is_float;
    bool is_signed;          /* of floats: has a sign bit */
    uint8_t mantissa;        /* bits; the ones below are of floats alone */
    int16_t bias;            /* of the exponent */
    uint64_t largest;        /* code of the largest finite number */
    uint64_t infinity;       /* code, or ZC_REAL_NO_CODE */
    uint64_t nan;            /* code of the quiet NaN, or ZC_REAL_NO_CODE; the sign bit alone: then there is no -0 */
} zc_real_type;

const zc_real_type *zc_real_type_of(zc_number_kind kind);

/* The type of that name; false if there is none. */
bool zc_number_named(const char *name, zc_number_kind *out);

typedef enum zc_rounding {
    ZC_ROUND_NEAREST_EVEN, ZC_ROUND_NEAREST_AWAY, ZC_ROUND_TOWARDS_ZERO, ZC_ROUND_TOWARDS_POSITIVE,
    ZC_ROUND_TOWARDS_NEGATIVE
} zc_rounding;

enum { ZC_ROUNDINGS = ZC_ROUND_TOWARDS_NEGATIVE + 1 };

typedef enum zc_real_class { ZC_REAL_FINITE, ZC_REAL_INFINITE, ZC_REAL_NAN } zc_real_class;

/* One number: size * 2 ** exponent; of NaN, size is the payload from the highest bit on. */
typedef struct zc_real {
    zc_real_class cls;
    bool negative;
    uint64_t size;
    int exponent;
} zc_real;

typedef enum zc_real_fit {
    ZC_REAL_FITS,
    ZC_REAL_OUT_OF_RANGE,    /* finite, but beyond the type's numbers after rounding */
    ZC_REAL_NO_VALUE         /* NaN or infinite, which the type has not */
} zc_real_fit;

zc_real zc_real_load(const zc_real_type *type, uint64_t bits);

/*
 * The bits of a number in the type, rounded.  NaN keeps its sign and the highest bits of its payload, where the type has
 * room for them, and becomes quiet.  Of an integer that is out of range, *bits are its low bits.
 */
zc_real_fit zc_real_store(const zc_real_type *type, const zc_real *real, zc_rounding rounding, uint64_t *bits);

/* What stands for a finite number that is out of range: the infinity of its sign, or the last number on its side. */
uint64_t zc_real_limit(const zc_real_type *type, const zc_real *real);

/* The nearest double, for messages and bounds. */
double zc_real_to_double(const zc_real *real);

/* Write it as text for a message, with enough digits to distinguish it from its neighbours. */
void zc_real_print(zc_number_kind kind, uint64_t bits, char *out, size_t capacity);

/* One number of memory as a word, the upper bits zero, and back. */
uint64_t zc_real_fetch(const void *src, zc_number_kind kind);
void zc_real_put(void *dst, zc_number_kind kind, uint64_t bits);
