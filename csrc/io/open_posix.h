/* SPDX-License-Identifier: MIT
 *
 * Opening below a directory on POSIX, see zc_open_below.
 */
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <sys/types.h>

#include "io/file.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#ifdef O_PATH
#define ZC_OPEN_DIR_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)    /* needs no right to list it */
#else
#define ZC_OPEN_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

static inline int zc_fd_of(const zc_dir *dir)
{
    return dir != NULL && dir->fd >= 0 ? dir->fd : AT_FDCWD;
}

/* openat, again after a signal. */
int zc_open_again(int at, const char *name, int flags, mode_t mode);

/* Make what is missing of the directory of a path, as for writing the file.  sync: its names are on the disk then.  0 or errno. */
int zc_make_parents(const zc_dir *dir, const char *path, bool sync);

/* Remove a directory of a name in another one, if there is nothing in it but directories like that.  0, also if
 * there is nothing of that name; ENOTDIR: something else is; EISDIR: it is not removed. */
int zc_remove_emptied(int at, const char *name);

/* Fail with the errno of zc_open_below. */
zc_status zc_fail_path(int code, const char *what, const char *path, zc_error *err);
