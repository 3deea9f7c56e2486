/* SPDX-License-Identifier: MIT
 *
 * Directories below an open one in which files were written lately: held open for the next file there.
 */
#pragma once

#include "io/file.h"

/* One of them; while it is in use, nobody else has it. */
typedef struct zc_parent {
    int fd;
    size_t n;                /* length of its path below the open directory, with the slash */
    char path[];
} zc_parent;

/* The directory path[0 .. n), held since it was let go of; NULL if none is. */
zc_parent *zc_parent_take(const zc_dir *dir, const char *path, size_t n);

/* Hold a directory for the next file in it.  held: as it was taken, or NULL.  The descriptor is taken over. */
void zc_parent_hold(const zc_dir *dir, zc_parent *held, const char *path, size_t n, int fd);

/* Close all of them. */
void zc_parents_close(zc_dir *dir);
