/* SPDX-License-Identifier: MIT
 *
 * Bob Jenkins' hash "lookup3" (2006, in the public domain), the function hashlittle, which HDF5 has for a checksum.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The hash of n_prefix bytes followed by n others, which may both be none (the pointers may then be NULL), from an
 * initial value.  The same on machines of either byte order.  No shared state.
 */
uint32_t zc_lookup3(uint32_t initial, const uint8_t *prefix, size_t n_prefix, const uint8_t *data, size_t n);
