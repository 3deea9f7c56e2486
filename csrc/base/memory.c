/* SPDX-License-Identifier: MIT */
#include "base/features.h"
#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <malloc.h>
#else
#include <sys/mman.h>
#endif

#include "base/counts.h"

static zc_allocator own;                     /* allocate is NULL: there is none */
static atomic_size_t in_use;                 /* pieces */

_Thread_local int zc_foreign;

bool zc_memory_set(const zc_allocator *allocator)
{
    if (atomic_load(&in_use) > 0) {
        return false;
    }
    own = allocator != NULL ? *allocator : (zc_allocator){0};
    return true;
}

static void *counted(void *memory)
{
    if (memory != NULL) {
        atomic_fetch_add_explicit(&in_use, 1, memory_order_relaxed);
    }
    return memory;
}

static bool uncount(const void *memory)
{
    if (memory != NULL) {
        atomic_fetch_sub_explicit(&in_use, 1, memory_order_relaxed);
    }
    return memory != NULL;
}

static void *from_own(size_t n)
{
    zc_foreign++;
    void *const memory = own.allocate(own.user, n > 0 ? n : 1, ZC_ALIGNMENT);
    zc_foreign--;
    return memory;
}

static void to_own(void *memory)
{
    zc_foreign++;
    own.release(own.user, memory);
    zc_foreign--;
}

void zc_memory_huge(void *memory, size_t n)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t begin = ((uintptr_t)memory + ZC_HUGE_PAGE - 1) / ZC_HUGE_PAGE * ZC_HUGE_PAGE;

    if (n >= ZC_HUGE_FROM) {
        const int code = errno;              /* a refusal is of no meaning */
        (void)madvise((void *)begin, ((uintptr_t)memory + n - begin) / ZC_HUGE_PAGE * ZC_HUGE_PAGE, MADV_HUGEPAGE);
        errno = code;
    }
#else
    (void)memory;
    (void)n;
#endif
}

void *zc_memory_new(size_t n)
{
    void *const memory = own.allocate != NULL ? from_own(n) : malloc(n > 0 ? n : 1);

    if (memory != NULL && own.allocate == NULL) {
        zc_memory_huge(memory, n);
    }
    return counted(memory);
}

void *zc_memory_zeroed(size_t n)
{
    void *const memory = own.allocate != NULL ? from_own(n) : calloc(1, n > 0 ? n : 1);

    if (memory != NULL && own.allocate != NULL) {
        memset(memory, 0, n);
    }
    return counted(memory);
}

void zc_memory_delete(void *memory)
{
    if (!uncount(memory)) {
        return;
    }
    if (own.allocate != NULL) {
        to_own(memory);
    } else {
        free(memory);
    }
}

/* ---- scratch ------------------------------------------------------------------------------------ */

/*
 * Large buffers are pages of their own, which go back to the system at once.  An allocator keeps what was freed, and finds
 * no use for it in the next request that is to be aligned: with glibc, reading chunks of 8 MiB in two threads held 200 MiB.
 * AddressSanitizer watches the ends of what its own allocator gave.
 */
#if defined(_WIN32) || defined(__SANITIZE_ADDRESS__)
#define PAGES_FROM SIZE_MAX
#else
#define PAGES_FROM ((size_t)1 << 20)
#endif

#ifndef _WIN32
/* n bytes (from ZC_HUGE_FROM on a multiple of ZC_HUGE_PAGE, and aligned to that) of pages of their own, which are zero. */
static void *map_pages(size_t n)
{
    const size_t extra = n >= ZC_HUGE_FROM ? ZC_HUGE_PAGE : 0;
    size_t page = 4096;
    uint8_t *data = mmap(NULL, n + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (data == MAP_FAILED) {
        return NULL;
    }
    if (extra > 0) {
        const size_t before = (ZC_HUGE_PAGE - (uintptr_t)data % ZC_HUGE_PAGE) % ZC_HUGE_PAGE;
        if (before > 0) {
            munmap(data, before);
        }
        data += before;
        munmap(data + n, extra - before);
#ifdef MADV_HUGEPAGE
        page = madvise(data, n, MADV_HUGEPAGE) == 0 ? ZC_HUGE_PAGE : page;
#endif
    }
    zc_count_add(ZC_COUNT_PAGES, (n + page - 1) / page);
    return data;
}
#endif

static void *system_pages(size_t n)
{
#ifdef _WIN32
    return _aligned_malloc(n, ZC_ALIGNMENT);
#else
    void *data = NULL;

    return n >= PAGES_FROM ? map_pages(n) : posix_memalign(&data, ZC_ALIGNMENT, n) == 0 ? data : NULL;
#endif
}

static void system_release(void *data, size_t n)
{
#ifdef _WIN32
    (void)n;
    _aligned_free(data);
#else
    if (n >= PAGES_FROM) {
        munmap(data, n);
    } else {
        free(data);
    }
#endif
}

void *zc_pages_new(size_t n)
{
    return counted(own.allocate != NULL ? from_own(n) : system_pages(n));
}

void zc_pages_delete(void *memory, size_t n)
{
    if (!uncount(memory)) {
        return;
    }
    if (own.allocate != NULL) {
        to_own(memory);
    } else {
        system_release(memory, n);
    }
}

bool zc_pages_rest(void *memory, size_t n)
{
#ifdef MADV_FREE
    return own.allocate == NULL && n >= PAGES_FROM && madvise(memory, n, MADV_FREE) == 0;
#else
    (void)memory;
    (void)n;
    return false;
#endif
}
