/* SPDX-License-Identifier: MIT */
#ifndef _WIN32

#include "io/parents_posix.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS (sizeof((zc_dir *)NULL)->parents / sizeof(zc_parent *))

static void let_go(zc_parent *parent)
{
    if (parent != NULL) {
        close(parent->fd);
        free(parent);
    }
}

/* The slots are all that changes of a directory that is in use. */
static _Atomic(zc_parent *) *slots_of(const zc_dir *dir)
{
    return ((zc_dir *)(uintptr_t)dir)->parents;
}

/* Put it into a slot that is empty; false if there is none. */
static bool put_back(const zc_dir *dir, zc_parent *parent)
{
    for (size_t i = 0; i < SLOTS; i++) {
        zc_parent *none = NULL;
        if (atomic_compare_exchange_strong(&slots_of(dir)[i], &none, parent)) {
            return true;
        }
    }
    return false;
}

zc_parent *zc_parent_take(const zc_dir *dir, const char *path, size_t n)
{
    for (size_t i = 0; i < SLOTS; i++) {
        zc_parent *const parent = atomic_exchange(&slots_of(dir)[i], NULL);
        if (parent != NULL && parent->n == n && memcmp(parent->path, path, n) == 0) {
            return parent;
        }
        if (parent != NULL && !put_back(dir, parent)) {
            let_go(parent);
        }
    }
    return NULL;
}

void zc_parent_hold(const zc_dir *dir, zc_parent *held, const char *path, size_t n, int fd)
{
    if (held == NULL && (held = malloc(sizeof *held + n)) == NULL) {
        close(fd);
        return;
    }
    held->fd = fd;
    held->n = n;
    memcpy(held->path, path, n);
    if (!put_back(dir, held)) {
        let_go(atomic_exchange(&slots_of(dir)[(size_t)fd % SLOTS], held));
    }
}

void zc_parents_close(zc_dir *dir)
{
    for (size_t i = 0; i < SLOTS; i++) {
        let_go(atomic_exchange(&slots_of(dir)[i], NULL));
    }
}

#else
typedef int zc_parents_posix_is_empty;
#endif
