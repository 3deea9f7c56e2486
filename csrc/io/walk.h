/* SPDX-License-Identifier: MIT
 *
 * Everything below a directory, in the order in which the system lists it.  POSIX only.
 */
#pragma once

#include "io/file.h"

#define ZC_SIZE_NOT_ASKED (-2)
#define ZC_SIZE_NONE (-1)        /* it is no regular file, or has vanished */

/* An entry: its path[0 .. n) below the directory, terminated, with a slash at the end if it is a directory without entries
 * (a file for locks is none).  0, or an errno that ends the walk. */
typedef int (*zc_on_entry)(void *arg, const char *path, size_t n, int64_t size);

/* Asked now and then: other than 0 ends the walk with ECANCELED. */
typedef int (*zc_on_pause)(void *arg);

typedef struct zc_walk {
    zc_on_entry on_entry;
    zc_on_pause on_pause;
    void *arg;
    bool sizes;                  /* look at each file: its size */
} zc_walk;

/*
 * Visit all that is neither a directory nor a file for locks, and empty directories.  0 or errno; what was visited by then
 * counts for nothing: ELOOP where there is a symbolic link, a file system that does not tell kinds of entries, or more levels
 * than are looked at, for which others have to find out what there is.  The directory itself is opened as by zc_open_below.
 */
int zc_walk_below(const zc_dir *rules, const char *path, const zc_walk *walk);
