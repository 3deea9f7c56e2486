/* SPDX-License-Identifier: MIT
 *
 * Advisory locks among processes.  POSIX only.
 */
#pragma once

#include <stdatomic.h>

#include "base/workspace.h"
#include "io/file.h"

/* A file whose bytes are locked, and which stays empty: one in the directory of each array or group. */
#define ZC_LOCK_FILE ".zc-locks"
#define ZC_LOCKS_KEPT 16         /* bytes of metadata, whose lock is held while those of chunks are taken */

typedef struct zc_lock_file {
    const char *path;        /* real path of the file, whose name is ZC_LOCK_FILE; NULL: there are no locks */
    size_t root_len;         /* its first part, that of the store's root */
    bool makes;              /* a missing directory is made; else nothing is locked, as there is nothing in it */
    bool sync;               /* then its name is on the disk before anything is stored in it */
    uint64_t id;             /* of the path, as few others have it */
} zc_lock_file;

/* One byte of a file that is locked.  In a child of fork(), zc_lock_forget closes it: the lock stays the parent's. */
typedef struct zc_lock {
    uint64_t byte;
    atomic_int fd;           /* negative: nothing is locked */
    int kept;                /* slot of lock_kept.h that lends the descriptor; 0: none does */
    uint64_t mark;           /* position of the file */
    bool waited;             /* another process had this very byte locked: never said where the whole of a file is locked */
} zc_lock;

/*
 * Lock a byte (below 2^62) of a file, which is made if it is missing, and wait for whoever has it.  Two threads of one
 * process may not ask for the same byte at the same time; different bytes are independent of each other.  The
 * system gives up the locks of processes that end, however they do.
 *
 * Where the system has no open-file-description locks, the whole of a file is locked (flock): one for each of the first
 * ZC_LOCKS_KEPT bytes, and 16 for all others, which wait for each other more often than needed.
 *
 * ZC_ERR_CANCELLED as of zc_key_lock; ZC_ERR_IO if the file cannot be opened or locked.
 */
zc_status zc_lock_take(const zc_lock_file *file, uint64_t byte, const zc_workspace *ws, zc_lock *lock, zc_error *err);
void zc_lock_release(zc_lock *lock);
void zc_lock_forget(zc_lock *lock);

/* A file of locks may stay open for the next lock (lock_kept.h); this closes it unless something is locked. */
void zc_locks_close(const zc_lock_file *file);
