/* SPDX-License-Identifier: MIT
 *
 * "scale_offset" of types with so few numbers that all results fit into a table.
 */
#pragma once

#include "codecs/codec.h"

/* What can be wrong with a number; several at once. */
typedef enum zc_scale_fault { ZC_SCALE_FITS = 0, ZC_SCALE_TOO_LARGE = 1, ZC_SCALE_NO_MULTIPLE = 2 } zc_scale_fault;

typedef struct zc_scale_table {
    uint8_t made[256], faults[256];
} zc_scale_table;

/* The numbers of the codec have at most 8 bits. */
void zc_scale_table_fill(zc_scale_table *table, const zc_codec *codec, bool decode);

/* n numbers from src to dst; returns what was wrong with any of them. */
int zc_scale_table_run(const zc_scale_table *table, uint8_t *dst, const uint8_t *src, size_t n);
