/* SPDX-License-Identifier: MIT
 *
 * Calls of the system that fail when a test wants it, counted together with allocations (failing_malloc.h).  The linker replaces the
 * functions, with glibc also those that have files of 64 bits for sources that ask for it (_FILE_OFFSET_BITS).
 */
#pragma once

#include <dirent.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/failing_malloc.h"

static int failing_with = EIO;

#define FAIL_OR(result, call) (fails() ? (errno = failing_with, (result)) : (call))

long __real_syscall(long number, ...);
int __real_openat(int at, const char *path, int flags, ...);
int __real_renameat(int at, const char *from, int to_at, const char *to);
int __real_linkat(int at, const char *from, int to_at, const char *to, int flags);
int __real_unlinkat(int at, const char *path, int flags);
int __real_mkdirat(int at, const char *path, mode_t mode);
ssize_t __real_write(int fd, const void *data, size_t n);
ssize_t __real_pread(int fd, void *data, size_t n, off_t offset);
DIR *__real_fdopendir(int fd);
struct dirent *__real_readdir(DIR *list);
char *__real_realpath(const char *path, char *out);
#ifdef __GLIBC__
int __real_openat64(int at, const char *path, int flags, ...);
ssize_t __real_pread64(int fd, void *data, size_t n, int64_t offset);
struct dirent64 *__real_readdir64(DIR *list);
#endif

long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    return FAIL_OR(-1, __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]));
}

int __wrap_openat(int at, const char *path, int flags, mode_t mode) { return FAIL_OR(-1, __real_openat(at, path, flags, mode)); }
int __wrap_renameat(int at, const char *from, int to_at, const char *to) { return FAIL_OR(-1, __real_renameat(at, from, to_at, to)); }
int __wrap_linkat(int at, const char *from, int to_at, const char *to, int flags)
{
    return FAIL_OR(-1, __real_linkat(at, from, to_at, to, flags));
}
int __wrap_unlinkat(int at, const char *path, int flags) { return FAIL_OR(-1, __real_unlinkat(at, path, flags)); }
int __wrap_mkdirat(int at, const char *path, mode_t mode) { return FAIL_OR(-1, __real_mkdirat(at, path, mode)); }
ssize_t __wrap_write(int fd, const void *data, size_t n) { return FAIL_OR(-1, __real_write(fd, data, n)); }
ssize_t __wrap_pread(int fd, void *data, size_t n, off_t offset) { return FAIL_OR(-1, __real_pread(fd, data, n, offset)); }
/* Nothing is written to a disk: some take a second for that. */
int __wrap_fsync(int fd) { return FAIL_OR(-1, fd < 0 ? -1 : 0); }
DIR *__wrap_fdopendir(int fd) { return FAIL_OR(NULL, __real_fdopendir(fd)); }
struct dirent *__wrap_readdir(DIR *list) { return FAIL_OR(NULL, __real_readdir(list)); }
char *__wrap_realpath(const char *path, char *out) { return FAIL_OR(NULL, __real_realpath(path, out)); }

#ifdef __GLIBC__
int __wrap_openat64(int at, const char *path, int flags, mode_t mode) { return FAIL_OR(-1, __real_openat64(at, path, flags, mode)); }
ssize_t __wrap_pread64(int fd, void *data, size_t n, int64_t offset) { return FAIL_OR(-1, __real_pread64(fd, data, n, offset)); }
struct dirent64 *__wrap_readdir64(DIR *list) { return FAIL_OR(NULL, __real_readdir64(list)); }
#endif
