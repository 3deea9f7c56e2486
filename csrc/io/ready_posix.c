/* SPDX-License-Identifier: MIT
 *
 * What of a file is in memory, and having the rest brought there, see file.h.
 */
#include "base/features.h"

#ifndef _WIN32

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h> /* dev_t, which musl's sysmacros.h does not have */
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#endif
#include <sys/uio.h>
#include <unistd.h>

#include "base/counts.h"
#include "io/file.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8                    /* newer than some C libraries */
#endif
#define PIECE_MIN ((uint64_t)128 << 10)
#define PIECE_MAX ((uint64_t)2 << 20)

#if defined(POSIX_FADV_WILLNEED)
/* Linux takes no more at a time than it reads ahead of a sequential reader on this device, or one of its largest requests;
 * less than that makes many small requests. */
static uint64_t piece_of(uint64_t device)
{
    uint64_t found = 0;

#if defined(__linux__)
    static _Atomic uint64_t known;           /* 32 bits of a device, and its KiB */
    const uint64_t id = (device ^ device >> 32) << 32;

    found = atomic_load_explicit(&known, memory_order_relaxed);
    if (found == 0 || (found ^ id) >> 32 != 0) {
        char text[64];
        ssize_t n = -1;
        snprintf(text, sizeof text, "/sys/class/bdi/%u:%u/read_ahead_kb", major((dev_t)device), minor((dev_t)device));
        const int fd = open(text, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            n = read(fd, text, sizeof text - 1);
            close(fd);
        }
        text[n > 0 ? n : 0] = '\0';
        found = id | (strtoul(text, NULL, 10) & UINT32_MAX);
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
#else
    (void)device;
#endif
    const uint64_t piece = (found & UINT32_MAX) << 10;
    return piece < PIECE_MIN ? PIECE_MIN : piece > PIECE_MAX ? PIECE_MAX : piece & ~(PIECE_MIN - 1);
}
#endif

size_t zc_file_read_ready(const zc_file *file, uint64_t offset, void *dst, size_t n, bool *refused)
{
#if defined(SYS_preadv2) /* glibc has the function since 2.26, musl since 1.2.5, and wheels are for older ones too */
    if (offset <= INT64_MAX) {
        const struct iovec to = {dst, n};
        /* The system takes the offset in two halves; where a long is one of 64 bits, the first has it all. */
        const long low = (long)offset, high = sizeof(long) < sizeof offset ? (long)(offset >> 32) : 0;
        const long got = syscall(SYS_preadv2, (int)file->handle, &to, 1L, low, high, RWF_NOWAIT);
        *refused = got < 0 && errno != EAGAIN && errno != EINTR;
        return got > 0 ? (size_t)got : 0;
    }
#endif
    (void)file, (void)offset, (void)dst, (void)n;
    *refused = true;
    return 0;
}

bool zc_file_announce(const zc_file *file, uint64_t offset, uint64_t n)
{
#if defined(POSIX_FADV_WILLNEED)
    bool refused;
    char first;

    if (n == 0 || offset > INT64_MAX || n > INT64_MAX - offset || zc_file_read_ready(file, offset, &first, 1, &refused) == 1) {
        return false;
    }
    zc_count_add(ZC_COUNT_ANNOUNCED, (size_t)n);
    const uint64_t piece = piece_of(file->device);
    for (uint64_t at = offset, end = offset + n; at < end; at += piece) {
        const uint64_t rest = end - at;
        if (posix_fadvise((int)file->handle, (off_t)at, (off_t)(rest < piece ? rest : piece), POSIX_FADV_WILLNEED) != 0) {
            return false;
        }
    }
    return true;
#else
    (void)file, (void)offset, (void)n;
    return false;
#endif
}

void zc_file_drop(const zc_file *file, uint64_t offset, uint64_t n)
{
#if defined(POSIX_FADV_DONTNEED)
    if (offset <= INT64_MAX && n <= INT64_MAX - offset) {
        (void)posix_fadvise((int)file->handle, (off_t)offset, (off_t)n, POSIX_FADV_DONTNEED);
    }
#else
    (void)file, (void)offset, (void)n;
#endif
}

#endif
