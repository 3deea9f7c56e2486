/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for blocks of N5.  Byte 0 of the input holds the number of dimensions and flags, then follow the lengths
 * of the chunk and of what of it lies in the array; the rest is the stored block.
 */
#include "fuzz/array_table.h"

enum { MAX_ITEMS = 1 << 14, MOST_DIMS = 5 };

enum { READ_BY_RANGES = 64, COMPRESSED = 128 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fuzz_input in = {data, n};
    const uint8_t flags = fuzz_byte(&in);
    const int ndim = 1 + (flags & 63) % MOST_DIMS;
    int64_t items = 1;
    fuzz_array a;
    zc_selection selection = {.ndim = ndim};
    zc_fault fault;
    zc_error err;

    fuzz_array_open(&a, 16, NULL, 0);
    a.array.ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        const int64_t chunk = 1 + fuzz_byte(&in) % 24, length = 1 + fuzz_byte(&in) % (2 * chunk);
        a.array.grid[d] = (zc_grid_axis){.length = length, .chunk = chunk};
        items *= length;
    }
    if (items > MAX_ITEMS) {
        return 0;
    }
    uint8_t *first = case_exact(NULL, (size_t)items * ITEM), *second = case_exact(NULL, (size_t)items * ITEM);
    int64_t stride = ITEM;
    for (int d = ndim - 1; d >= 0; d--) {
        selection.axis[d] = (zc_axis){.count = a.array.grid[d].length, .step = 1, .stride = stride};
        stride *= a.array.grid[d].length;
    }
    uint8_t *block = case_exact(in.at, in.n);
    a.value = block;
    a.n = in.n;
    a.ranges = (flags & READ_BY_RANGES) != 0;
    a.store.values_in_memory = !a.ranges;
    if (flags & COMPRESSED) {
        zc_codec_init(&a.inner.stages[a.inner.n_stages++], "gzip");
        choose_kinds(&a.chain, &a.arena);
    }
    const zc_call call = {.array = &a.array, .store = &a.store, .selection = &selection, .threads = 1};
    memset(first, 0x00, (size_t)items * ITEM);
    memset(second, 0xff, (size_t)items * ITEM);
    zc_error_clear(&err);
    selection.memory = (char *)first;
    const zc_status status = zc_read(&call, &fault, &err);
    selection.memory = (char *)second;
    FUZZ_REQUIRE(zc_read(&call, &fault, &err) == status, "of two reads one failed");
    FUZZ_REQUIRE(status != ZC_OK || memcmp(first, second, (size_t)items * ITEM) == 0, "two reads differ");
    fuzz_array_close(&a);
    free(first);
    free(second);
    free(block);
    return 0;
}
