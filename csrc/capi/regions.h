/* SPDX-License-Identifier: MIT
 *
 * What the functions that read and write regions share.
 */
#pragma once

#include "capi/convert.h"
#include "capi/handle.h"

/* As zc_buffer_run, where memory has numbers of another type than the array; own: that of the array. */
zc_status zc_region_convert(zarrcore_array *handle, const zc_call *call, const zc_numbers *memory, const zc_numbers *own,
                            bool write, zc_fault *fault, zc_error *err);

/* What a caller said of a region; pointers as they were given. */
typedef struct zc_region {
    const int64_t *start, *step, *count, *strides;
    char *memory;
    int threads;
    size_t nbytes;           /* at memory; SIZE_MAX: unknown */
    const zc_numbers *numbers, *own;     /* of memory and of the array, where they differ; else NULL */
} zc_region;

/* Check it.  *empty: it has no elements, and there is no selection. */
zc_status zc_region_select(const zc_array *array, const zc_region *region, zc_selection *selection, bool *empty, zc_error *err);

/* The types of memory and array, where the numbers of one are to become those of the other. */
typedef struct zc_types {
    zc_numbers memory, own;
    bool differ;
} zc_types;

/* Has the array this number of dimensions, and this data type or one that can be converted? */
zc_status zc_region_types(const zarrcore_array *array, const char *type, int ndim, bool write, zc_types *out, zc_error *err);
