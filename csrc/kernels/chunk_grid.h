/* SPDX-License-Identifier: MIT
 *
 * Regular chunk grids: which chunk an index lies in and where in it, and how many chunks a length takes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A column of 64-bit integers that lie `stride` bytes apart (0: the same one for all), aligned. */
typedef struct zc_column {
    char *data;
    int64_t stride;
} zc_column;

/*
 * For k < n: chunk[k] = floor(index[k] / length[k]), offset[k] = index[k] - chunk[k] * length[k].
 * False if a chunk length is less than 1; both results are 0 there.  An output may be the very same column as
 * an input.  No shared state: any number of threads may call these functions at once.
 */
bool zc_chunk_index_i64(size_t n, zc_column index, zc_column length, zc_column chunk, zc_column offset);
bool zc_chunk_index_u64(size_t n, zc_column index, zc_column length, zc_column chunk, zc_column offset);

/* For k < n: count[k] = ceil(extent[k] / length[k]); likewise. */
bool zc_chunk_count_i64(size_t n, zc_column extent, zc_column length, zc_column count);
bool zc_chunk_count_u64(size_t n, zc_column extent, zc_column length, zc_column count);
