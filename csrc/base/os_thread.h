/* SPDX-License-Identifier: MIT
 *
 * Threads of the operating system: the little that the core needs, the same on POSIX and Windows.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef _WIN32

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

typedef SRWLOCK zc_mutex;
typedef CONDITION_VARIABLE zc_cond;

#define ZC_MUTEX_INIT SRWLOCK_INIT
#define ZC_COND_INIT CONDITION_VARIABLE_INIT

static inline void zc_mutex_init(zc_mutex *m) { InitializeSRWLock(m); }
static inline void zc_mutex_destroy(zc_mutex *m) { (void)m; }
static inline void zc_mutex_lock(zc_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void zc_mutex_unlock(zc_mutex *m) { ReleaseSRWLockExclusive(m); }
static inline void zc_cond_destroy(zc_cond *c) { (void)c; }
static inline void zc_cond_wait(zc_cond *c, zc_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static inline void zc_cond_signal(zc_cond *c) { WakeConditionVariable(c); }
static inline void zc_cond_broadcast(zc_cond *c) { WakeAllConditionVariable(c); }

#else

#include <pthread.h>

typedef pthread_mutex_t zc_mutex;
typedef pthread_cond_t zc_cond;

#define ZC_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
#define ZC_COND_INIT PTHREAD_COND_INITIALIZER     /* without zc_cond_wait_for */

static inline void zc_mutex_init(zc_mutex *m) { pthread_mutex_init(m, NULL); }
static inline void zc_mutex_destroy(zc_mutex *m) { pthread_mutex_destroy(m); }
static inline void zc_mutex_lock(zc_mutex *m) { pthread_mutex_lock(m); }
static inline void zc_mutex_unlock(zc_mutex *m) { pthread_mutex_unlock(m); }
static inline void zc_cond_destroy(zc_cond *c) { pthread_cond_destroy(c); }
static inline void zc_cond_wait(zc_cond *c, zc_mutex *m) { pthread_cond_wait(c, m); }
static inline void zc_cond_signal(zc_cond *c) { pthread_cond_signal(c); }
static inline void zc_cond_broadcast(zc_cond *c) { pthread_cond_broadcast(c); }

#endif

/* A condition whose waits may be limited. */
void zc_cond_init(zc_cond *c);

/* Wait for a signal, but no longer than that.  May wake early, as every wait may. */
void zc_cond_wait_for(zc_cond *c, zc_mutex *m, int64_t ns);

/* A clock that never jumps, read in a few nanoseconds; some milliseconds coarse. */
int64_t zc_now_ns(void);

/* The same, as fine as the system has it, in some 20 ns. */
int64_t zc_exact_ns(void);

/* Start a detached thread, with the stack of a thread of Python, on which no asynchronous signal is delivered: those are for
 * the application's own threads.  Returns false if the system refuses a thread. */
bool zc_thread_start(void (*main)(void));

/*
 * The thread goes into code that may end it there, as Python ends threads that want its lock when the interpreter ends.  It does
 * not end, then, until it has returned: others use what lies in its frames, such as locks that it holds.  It waits without end,
 * as since Python 3.14 by itself.  (Not on Windows.)
 */
void zc_thread_leaves(void);
void zc_thread_returns(void);

/* Is there a thread that will not return? */
bool zc_thread_has_ended(void);

/* Call child in the child process after each fork(); nothing where there is no fork. */
void zc_at_fork(void (*child)(void));

/* The same at the first call with this flag, which is 0 at first. */
static inline void zc_at_fork_once(_Atomic int *registered, void (*child)(void))
{
    int no = 0;

    if (!atomic_load_explicit(registered, memory_order_relaxed) && atomic_compare_exchange_strong(registered, &no, 1)) {
        zc_at_fork(child);
    }
}
