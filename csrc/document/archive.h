/* SPDX-License-Identifier: MIT
 *
 * ZIP archives as stores for reading.
 */
#pragma once

#include "document/document.h"

/* The store in an archive; ZC_ERR_MISSING if the file is none. */
zc_status zc_open_archive(const char *path, int flags, zarrcore_store **out, zc_error *err);

/* The store in a local directory, or in an archive (open_store.c). */
zc_status zc_open_root(const char *path, int flags, zarrcore_store **out, zc_error *err);

/* ---- what callbacks.c has for stores of our own ---- */

/* A store of callbacks, which have been checked; close is the caller's if this fails.  constant: no value ever changes. */
zc_status zc_open_source(const zarrcore_callbacks *callbacks, int flags, bool constant, zarrcore_store **out, zc_error *err);

/* Room for n more bytes of the answer, which are part of it from now on; NULL (which is noted) if there may be no so many. */
uint8_t *zc_reply_room(zarrcore_reply *reply, uint64_t n);

/* The failure of a function, to be returned; its status is that of the call. */
int zc_reply_fail(zarrcore_reply *reply, const zc_error *err);
