/* SPDX-License-Identifier: MIT
 *
 * Loaded before the C library: has the n-th allocation fail that code of one shared object makes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static uintptr_t low, high;              /* where the code of the shared object lies */
static _Atomic(long) left = -1;          /* allocations before the one that fails; below 0 none does */
static atomic_bool all_after, failed;

void fail_in(uintptr_t begin, uintptr_t end)
{
    low = begin;
    high = end;
}

void fail_from(long n, int after)
{
    atomic_store(&failed, 0);
    atomic_store(&all_after, after != 0);
    atomic_store(&left, n);
}

int has_failed(void)
{
    atomic_store(&left, -1);
    return atomic_load(&failed);
}

static int fails(void *caller)
{
    if ((uintptr_t)caller < low || (uintptr_t)caller >= high || atomic_load(&left) < 0) {
        return 0;
    }
    const long n = atomic_fetch_sub(&left, 1);
    if (n <= 0) {
        atomic_store(&left, atomic_load(&all_after) ? 0 : -1);
        atomic_store(&failed, 1);
    }
    return n <= 0;
}

void *malloc(size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, n);
}

/* c-blosc, which aligns to 32 bytes, does not check for failure: our blosc.c makes sure beforehand. */
int posix_memalign(void **out, size_t alignment, size_t n)
{
    if (alignment != 32 && fails(__builtin_return_address(0))) {
        return ENOMEM;
    }
    *out = __libc_memalign(alignment, n);
    return *out != NULL ? 0 : ENOMEM;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fails(__builtin_return_address(0))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
}
