/* SPDX-License-Identifier: MIT
 *
 * Files of locks that stay open between two locks, on Linux: opening and closing them is most of what a lock costs.  Each is lent to
 * one lock at a time, so that threads never share a descriptor.
 *
 * Only files of file systems of this machine are kept, where the name of a file is looked up again each time; and a file that is removed
 * while it is open leaves no other name, as it does with NFS.
 */
#pragma once

#include "io/lock.h"

/*
 * Lend a file that is kept: its descriptor, its slot from 1 on, and its position, from which bytes are to be counted so that none
 * of another file is locked by EINVAL or EBADF; -1: none is kept.
 */
int zc_kept_lend(const zc_lock_file *file, int *slot, uint64_t *mark);

/* Is the file of a slot still the one that others find by its name?  Asked once a byte of it is locked. */
bool zc_kept_is_named(int slot);

/* Keep a file that is open, and lend it at once: its slot and its new position, or 0 where it is not to be kept. */
int zc_kept_add(const zc_lock_file *file, int fd, uint64_t *mark);

/* It is lent no longer; dropped: and it is closed. */
void zc_kept_return(int slot, bool dropped);
