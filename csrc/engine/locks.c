/* SPDX-License-Identifier: MIT */
#include "engine/locks.h"

#include <stdatomic.h>

#include "base/os_thread.h"

#define N_LOCKS 256

#define LOOK_AGAIN_NS INT64_C(50000000)      /* how often a waiting thread asks whether its job was cancelled */

typedef struct key_lock {
    zc_mutex guard;          /* of the rest; never held for long */
    zc_cond opened;
    const void *owner;       /* NULL: open */
    _Atomic uint64_t taken, given_back;      /* how often */
} key_lock;

static key_lock locks[N_LOCKS];
static zc_mutex starting = ZC_MUTEX_INIT;
static atomic_bool started;

/* Its address tells threads apart. */
static _Thread_local char this_thread;

static void open_all(void)
{
    for (int i = 0; i < N_LOCKS; i++) {
        zc_mutex_init(&locks[i].guard);
        zc_cond_init(&locks[i].opened);
        locks[i].owner = NULL;
        atomic_store(&locks[i].given_back, atomic_load(&locks[i].taken));
    }
}

static void open_all_in_child(void)
{
    zc_mutex_init(&starting);
    open_all();
}

static void start(void)
{
    zc_mutex_lock(&starting);
    if (!atomic_load(&started)) {
        open_all();
        zc_at_fork(open_all_in_child);
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

static key_lock *lock_of(const zc_store *store, const char *key)
{
    const uint64_t hash = zc_key_hash(store->seed, key);

    return &locks[(hash ^ hash >> 32) % N_LOCKS];
}

zc_status zc_key_lock(const zc_store *store, const char *key, zc_workspace *ws, zc_error *err)
{
    if (!atomic_load(&started)) {
        start();
    }
    key_lock *lock = lock_of(store, key);

    zc_mutex_lock(&lock->guard);
    while (lock->owner != NULL) {
        if (lock->owner == &this_thread) {
            zc_mutex_unlock(&lock->guard);
            return zc_fail(err, ZC_ERR_UNSUPPORTED, "a chunk is written to while this thread is writing it");
        }
        zc_cond_wait_for(&lock->opened, &lock->guard, LOOK_AGAIN_NS);
        zc_mutex_unlock(&lock->guard);       /* the question may run a signal handler */
        if (zc_workspace_cancelled(ws)) {
            return ZC_ERR_CANCELLED;
        }
        zc_mutex_lock(&lock->guard);
    }
    lock->owner = &this_thread;
    atomic_fetch_add(&lock->taken, 1);
    zc_mutex_unlock(&lock->guard);
    return ZC_OK;
}

void zc_key_unlock(const zc_store *store, const char *key)
{
    key_lock *lock = lock_of(store, key);

    zc_mutex_lock(&lock->guard);
    lock->owner = NULL;
    atomic_fetch_add(&lock->given_back, 1);
    zc_cond_signal(&lock->opened);
    zc_mutex_unlock(&lock->guard);
}

uint64_t zc_key_version(const zc_store *store, const char *key)
{
    const key_lock *lock = lock_of(store, key);
    const uint64_t given_back = atomic_load(&lock->given_back);

    return atomic_load(&lock->taken) == given_back ? given_back : UINT64_MAX;
}

bool zc_key_is_version(const zc_store *store, const char *key, uint64_t version)
{
    return version != UINT64_MAX && atomic_load(&lock_of(store, key)->taken) == version;
}

/* What a read can find if the value changes under it. */
bool zc_may_be_torn(zc_status status)
{
    switch (status) {
    case ZC_OK:
    case ZC_ERR_MISSING:
    case ZC_ERR_CORRUPT:
    case ZC_ERR_CHECKSUM:
    case ZC_ERR_SIZE:
    case ZC_ERR_RANGE:
        return true;
    default:
        return false;
    }
}

zc_status zc_key_read(const zc_store *store, const char *key, zc_status (*read)(void *arg), void *arg,
                      zc_workspace *ws, zc_error *err)
{
    key_lock *lock = lock_of(store, key);
    const uint64_t given_back = atomic_load(&lock->given_back);
    const uint64_t taken = atomic_load(&lock->taken);
    zc_status status;

    if (taken == given_back) {
        status = read(arg);
        if (atomic_load(&lock->taken) == taken || !zc_may_be_torn(status)) {
            return status;
        }
        zc_error_clear(err);
    }
    status = zc_key_lock(store, key, ws, err);
    if (status == ZC_ERR_UNSUPPORTED) {          /* this thread writes: a store's callback reads what it is given */
        zc_error_clear(err);
        return read(arg);
    }
    if (status == ZC_OK) {
        status = read(arg);
        zc_key_unlock(store, key);
    }
    return status;
}
