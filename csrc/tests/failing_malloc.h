/* SPDX-License-Identifier: MIT
 *
 * Allocations that fail when a test wants it.  The linker replaces the functions of malloc where it can
 * (ZC_WRAPPED_MALLOC, see the Makefile).
 */
#pragma once

#if defined ZC_WRAPPED_MALLOC && !defined _WIN32

#define CAN_FAIL 1

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The allocation that fails, counted down; below 0 none does. */
static _Atomic(long) left = -1;
static atomic_bool all_after, failed_once;

static bool fails(void)
{
    if (atomic_load(&left) < 0) {
        return false;
    }
    const long n = atomic_fetch_sub(&left, 1);
    const bool now = n == 0 || (n < 0 && atomic_load(&all_after));
    if (n <= 0) {
        atomic_store(&left, atomic_load(&all_after) ? 0 : -1);
    }
    if (now) {
        atomic_store(&failed_once, true);
    }
    return now;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t n);
int __real_posix_memalign(void **out, size_t alignment, size_t n);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg);

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t n)
{
    return fails() ? NULL : __real_realloc(old, n);
}

/* c-blosc, which aligns to 32 bytes, does not check for failure: blosc.c makes sure beforehand that there is memory. */
int __wrap_posix_memalign(void **out, size_t alignment, size_t n)
{
    return alignment != 32 && fails() ? ENOMEM : __real_posix_memalign(out, alignment, n);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return fails() ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg)
{
    return fails() ? EAGAIN : __real_pthread_create(thread, attr, main, arg);
}

static void fail_from(long n, bool after)
{
    atomic_store(&failed_once, false);
    atomic_store(&all_after, after);
    atomic_store(&left, n);
}

static bool has_failed(void)
{
    atomic_store(&left, -1);
    return atomic_load(&failed_once);
}

#endif
