/* SPDX-License-Identifier: MIT
 *
 * DEFLATE (RFC 1951) of data most of which repeat what lies shortly before: masks, sparse values, classes.  Compressors
 * enter each byte of a long match in their tables; this one leaves them out, and looks first where the last match was.
 */
#ifndef ZC_CODECS_DEFLATE_RUNS_H
#define ZC_CODECS_DEFLATE_RUNS_H

#include "base/workspace.h"

/* How many of 64 places lie in runs of up to eight bytes over and over; 0 for what is short. */
int zc_deflate_runs_in_64(const uint8_t *src, size_t n);

/* One stream, without a container, of up to 1 GiB: its size, or 0 if there is too little room or memory. */
size_t zc_deflate_runs(zc_workspace *ws, const uint8_t *src, size_t n, uint8_t *dst, size_t room);

#endif
