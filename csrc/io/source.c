/* SPDX-License-Identifier: MIT */
#include "io/file.h"

static zc_status piece_of_bytes(void *self, uint64_t offset, const void **data, size_t *n, zc_error *err)
{
    const zc_file_bytes *bytes = self;

    (void)err;
    *data = bytes->data + offset;
    *n = bytes->n - (size_t)offset;
    return ZC_OK;
}

zc_file_source zc_file_source_of(zc_file_bytes *bytes, const void *data, size_t n)
{
    *bytes = (zc_file_bytes){data, n};
    return (zc_file_source){n, piece_of_bytes, bytes};
}
