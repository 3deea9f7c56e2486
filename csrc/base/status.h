/* SPDX-License-Identifier: MIT
 *
 * Status codes and the error record that every fallible function of the core fills.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum zc_status {
    ZC_OK = 0,
    ZC_ERR_MEMORY = -1,      /* an allocation failed */
    ZC_ERR_ARGUMENT = -2,    /* the caller asked for something impossible */
    ZC_ERR_CORRUPT = -3,     /* encoded data are malformed: truncated, lying header, ... */
    ZC_ERR_CHECKSUM = -4,    /* a stored checksum does not match the data */
    ZC_ERR_SIZE = -5,        /* a value has another size than the metadata demand */
    ZC_ERR_RANGE = -6,       /* a stored offset or length points outside of its value */
    ZC_ERR_IO = -7,          /* the operating system refused; errno is in the error record */
    ZC_ERR_MISSING = -8,     /* the key is absent; only some callers take this as a failure */
    ZC_ERR_UNSUPPORTED = -9, /* this build or platform cannot do it */
    ZC_ERR_OVERFLOW = -10,   /* a size does not fit into the address space */
    ZC_ERR_CANCELLED = -11,  /* the caller was interrupted */
    ZC_ERR_CALLBACK = -12,   /* a callback failed and keeps its own reason */
    ZC_ERR_ENCODE = -13,     /* a compressor failed */
    ZC_ERR_ROOM = -16,       /* a callback has encoded more than there is room for; never seen by callers of the engine */
    ZC_ERR_REPLACED = -19,   /* another process has replaced a value whose parts were being read; never seen by callers of the engine */
    ZC_ERR_VALUE = -18,      /* a number is to become one of a type that has no such number */
    ZC_ERR_STALE = -17,      /* the array has become smaller, or has been replaced, since it was opened */
    ZC_ERR_LOCKED = -15      /* waiting for the lock of a chunk would never end */
} zc_status;

/* What went wrong.  Strings are always terminated. */
typedef struct zc_error {
    zc_status status;
    int sys_errno;           /* errno where status is ZC_ERR_IO, else 0 */
    char codec[32];          /* name of the codec that failed, or "" */
    char message[320];       /* one clause in plain English, no final full stop */
    bool in_shard;           /* the fault lies in one inner chunk of a shard: */
    uint64_t inner_chunk;    /*   its number in C order */
    uint64_t offset, nbytes; /*   its place in the shard */
    uint64_t cause;          /* a callback keeps its reason under this number; 0: it does not */
} zc_error;

#if defined(__GNUC__) || defined(__clang__)
#define ZC_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define ZC_PRINTF(format_at, args_at)
#endif

/* Record a failure and return its status, so that `return zc_fail(...)` reads well.
 * err may be NULL.  Keeps a codec name that is already set. */
zc_status zc_fail(zc_error *err, zc_status status, const char *format, ...) ZC_PRINTF(3, 4);

/* The same for a failed system call: appends strerror(sys_errno). */
zc_status zc_fail_errno(zc_error *err, int sys_errno, const char *format, ...) ZC_PRINTF(3, 4);

/* Name the codec that failed, unless one closer to the fault has been named. */
void zc_error_set_codec(zc_error *err, const char *codec);

void zc_error_clear(zc_error *err);

/* Text that was cut anywhere can be decoded as UTF-8 again: a sequence that is torn at the end is dropped, bytes
 * of others become '?'. */
void zc_mend_utf8(char *text);
