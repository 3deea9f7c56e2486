/* SPDX-License-Identifier: MIT */
#include "engine/locks.h"

#include <stdatomic.h>

#include "base/os_thread.h"

#define N_LOCKS 256

static zc_mutex locks[N_LOCKS];
static zc_mutex starting = ZC_MUTEX_INIT;
static atomic_bool started;

static void open_all(void)
{
    zc_mutex_init(&starting);
    for (int i = 0; i < N_LOCKS; i++) {
        zc_mutex_init(&locks[i]);
    }
}

static void start(void)
{
    zc_mutex_lock(&starting);
    if (!atomic_load(&started)) {
        for (int i = 0; i < N_LOCKS; i++) {
            zc_mutex_init(&locks[i]);
        }
        zc_at_fork(open_all);
        atomic_store(&started, true);
    }
    zc_mutex_unlock(&starting);
}

uint64_t zc_key_hash(uint64_t hash, const char *text)
{
    hash ^= UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return hash ^ UINT64_C(14695981039346656037);
}

static zc_mutex *lock_of(const zc_store *store, const char *key)
{
    const uint64_t hash = zc_key_hash(store->seed, key);

    return &locks[(hash ^ hash >> 32) % N_LOCKS];
}

void zc_key_lock(const zc_store *store, const char *key)
{
    if (!atomic_load(&started)) {
        start();
    }
    zc_mutex_lock(lock_of(store, key));
}

void zc_key_unlock(const zc_store *store, const char *key)
{
    zc_mutex_unlock(lock_of(store, key));
}
