/* SPDX-License-Identifier: MIT
 *
 * Write and read the first chunk of an array whose chain came out of an input.
 */
#pragma once

#include "base/arith.h"
#include "fuzz/array_table.h"

enum { ONE_CHUNK_BYTES = 1 << 14, ONE_CHUNK_BOUND = 1 << 18 };

/* The first chunk as a selection; false if it is empty or larger than what is tried. */
static inline bool one_chunk_selection(const zc_array *array, zc_selection *selection, size_t *size)
{
    int64_t shape[ZC_MAX_DIMS];
    size_t bound;

    *selection = (zc_selection){.ndim = array->ndim};
    *size = array->chain->item.size;
    for (int d = array->ndim - 1; d >= 0; d--) {
        const zc_grid_axis *const axis = &array->grid[d];
        shape[d] = axis->edges != NULL ? axis->edges[1] - axis->edges[0] : axis->chunk;
        const int64_t count = shape[d] < axis->length ? shape[d] : axis->length;
        selection->axis[d] = (zc_axis){.count = count, .step = 1, .stride = (int64_t)*size};
        if (!zc_mul_size(*size, (uint64_t)count, size) || *size > ONE_CHUNK_BYTES) {
            return false;
        }
    }
    return *size > 0 && zc_chain_bound(array->chain, array->ndim, shape, &bound, NULL) == ZC_OK &&
           bound <= ONE_CHUNK_BOUND;
}

/* Numbers that a filter has rounded may be out of range afterwards. */
static inline bool one_chunk_may_fail(const zc_error *err)
{
    const zc_codec_class *const cls = zc_codec_find(err->codec);

    return cls != NULL && cls->filter != ZC_FILTER_NONE;
}

/* What is written must be readable; then the fuzzer's bytes are read in its place. */
static inline void one_chunk_try(const zc_array *array, fuzz_input *in)
{
    fuzz_array a;
    zc_selection selection;
    size_t size;
    zc_fault fault;
    zc_error err;

    if (!one_chunk_selection(array, &selection, &size)) {
        return;
    }
    fuzz_array_open(&a, 0, NULL, 0);
    const zc_place *const place = a.array.place;
    a.array = *array;
    a.array.place = place;
    a.array.prefix = "";
    a.array.prefix_len = 0;
    uint8_t *const memory = calloc(1, size);
    FUZZ_REQUIRE(memory != NULL, "out of memory");
    selection.memory = (char *)memory;
    for (size_t i = 0; i < size; i++) {
        memory[i] = fuzz_byte(in);
    }
    const zc_call call = {.array = &a.array, .store = &a.store, .selection = &selection, .threads = 1};
    zc_error_clear(&err);
    if (zc_write(&call, &fault, &err) == ZC_OK && a.stored != NULL) {
        a.value = a.stored;
        a.n = a.n_stored;
        zc_error_clear(&err);
        FUZZ_REQUIRE(zc_read(&call, &fault, &err) == ZC_OK || one_chunk_may_fail(&err), err.message);
    }
    uint8_t *const value = case_exact(in->at, in->n);
    a.value = value;
    a.n = in->n;
    zc_error_clear(&err);
    zc_read(&call, &fault, &err);
    free(value);
    free(memory);
    fuzz_array_close(&a);
}
