/* SPDX-License-Identifier: MIT
 *
 * Directories whose entries have changed and may not be on the disk: synced once for many files, and at the same time.
 */
#pragma once

#include "base/status.h"

/* Held open, so that a directory is synced wherever it has been moved.  Any thread may add. */
typedef struct zc_unsynced zc_unsynced;

/* *out is NULL where no directory can be synced. */
zc_status zc_unsynced_new(zc_unsynced **out, zc_error *err);

/* Sync all, on so many threads, and free; NULL does nothing.  No other thread adds any more.  After a failure, which is of the first
 * that failed, the entries of others may not be on the disk either. */
zc_status zc_unsynced_end(zc_unsynced *unsynced, int threads, zc_error *err);
