/* SPDX-License-Identifier: MIT
 *
 * Waiting until bytes and names are on the disk.  Each returns 0 or errno.
 */
#pragma once

#include "io/unsynced.h"

int zc_sync_file(int fd);

/* A directory; its descriptor may be one that allows nothing else.  Some file systems cannot sync a directory and need not. */
int zc_sync_directory(int fd);

/* The same later, or now where there is no list.  path, of a file in it, is for messages. */
int zc_sync_later(zc_unsynced *unsynced, int fd, const char *path);
