/* SPDX-License-Identifier: MIT
 *
 * Temporary files: their names, shared by the file layers of all platforms, and the removal of those whose writer was
 * killed.
 */
#pragma once

#include "base/assert.h"
#include "io/file.h"

#define ZC_TEMPORARY_LENGTH 28               /* ".zc-0123456789abcdef.partial" */

/* The bytes of a source from an offset on. */
static inline zc_status zc_source_piece(const zc_file_source *source, uint64_t at, const void **data, size_t *n,
                                        zc_error *err)
{
    *data = source->data;
    *n = (size_t)source->total;
    const zc_status status = source->data != NULL ? ZC_OK : source->piece(source->self, at, data, n, err);
    zc_assert(status != ZC_OK || (*n > 0 && *n <= source->total - at));
    return status;
}

/* A process: 24 bits of the system that it runs on (0: not known), then 22 bits of its number there. */
typedef uint64_t zc_owner;

#define ZC_PID_BITS 22

/* Write a name that is most likely unused, and a final 0, to out[0 .. ZC_TEMPORARY_LENGTH].  The digits are those of the
 * owner, then 18 bits of `unique`: what the platform has, such as a clock, mixed with a counter. */
void zc_temporary_name(zc_owner owner, uint64_t unique, char *out);

/* The owner in a name for which zc_file_is_temporary holds. */
zc_owner zc_temporary_owner(const char *component);

#define ZC_HASH_BASIS UINT64_C(14695981039346656037)

/* FNV-1a, begun at ZC_HASH_BASIS or gone on with. */
static inline uint64_t zc_hash_text(uint64_t x, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x = (x ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    }
    return x;
}

#ifndef _WIN32
/* This process. */
zc_owner zc_this_process(void);

/*
 * Remove what killed writers left in a directory, unless this process has looked there in the last ten minutes.  `where`
 * and path[0 .. parent) identify it.  is_new: it has just been made, so nothing can be in it.
 *
 * A temporary file is removed if it was last written more than a minute ago by a process of this system that is no more,
 * or more than a day ago on another system (or in another container).  At most 65,536 entries are looked at.  Failures
 * are ignored: the write that is under way does not depend on it.
 */
void zc_clean_directory(int directory, const char *path, size_t parent, uint64_t where, int is_new);
#endif
