/* SPDX-License-Identifier: MIT
 *
 * See os_thread.h.
 */
#include "base/features.h"
#include "base/os_thread.h"

/* As much as threads of Python have: codecs and stores in Python run here, and on a smaller one what recurs without end ends the
 * process before Python counts 1,000 calls.  Only what is used of it takes memory; addresses are scarce where they have 32 bits. */
#define STACK_NBYTES ((size_t)(sizeof(void *) > 4 ? 8 : 1) << 20)

#ifdef _WIN32

void zc_cond_init(zc_cond *c)
{
    InitializeConditionVariable(c);
}

void zc_cond_wait_for(zc_cond *c, zc_mutex *m, int64_t ns)
{
    SleepConditionVariableSRW(c, m, (DWORD)((ns + 999999) / 1000000), 0);
}

int64_t zc_now_ns(void)
{
    return (int64_t)GetTickCount64() * 1000000;
}

int64_t zc_exact_ns(void)
{
    LARGE_INTEGER now, second;

    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&second);
    return (int64_t)((double)now.QuadPart / (double)second.QuadPart * 1e9);
}

static DWORD WINAPI thread_entry(LPVOID main)
{
    ((void (*)(void))(uintptr_t)main)();
    return 0;
}

bool zc_thread_start(void (*main)(void))
{
    const HANDLE thread = CreateThread(NULL, STACK_NBYTES, thread_entry, (LPVOID)(uintptr_t)main,
                                       STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);

    return thread != NULL && CloseHandle(thread);
}

void zc_at_fork(void (*child)(void))
{
    (void)child;
}

void zc_thread_leaves(void) {}

void zc_thread_returns(void) {}

bool zc_thread_has_ended(void)
{
    return false;
}

#else

#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define UNUSED_NBYTES 16384

#ifdef CLOCK_MONOTONIC_COARSE
#define CHEAP_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define CHEAP_CLOCK CLOCK_MONOTONIC
#endif

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

int64_t zc_now_ns(void)
{
    return clock_ns(CHEAP_CLOCK);
}

int64_t zc_exact_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

#ifdef __APPLE__

void zc_cond_init(zc_cond *c)
{
    pthread_cond_init(c, NULL);
}

void zc_cond_wait_for(zc_cond *c, zc_mutex *m, int64_t ns)
{
    const struct timespec t = {.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};

    pthread_cond_timedwait_relative_np(c, m, &t);
}

#else

void zc_cond_init(zc_cond *c)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(c, &attr);
    pthread_condattr_destroy(&attr);
}

void zc_cond_wait_for(zc_cond *c, zc_mutex *m, int64_t ns)
{
    const int64_t end = clock_ns(CLOCK_MONOTONIC) + ns;
    const struct timespec t = {.tv_sec = (time_t)(end / SECOND_NS), .tv_nsec = (long)(end % SECOND_NS)};

    pthread_cond_timedwait(c, m, &t);
}

#endif

static void *thread_entry(void *main)
{
    volatile char unused[UNUSED_NBYTES];                /* see stay() */

#ifdef __linux__
    pthread_setname_np(pthread_self(), "zarrcore");
#endif
    unused[0] = 0;
    ((void (*)(void))(uintptr_t)main)();
    return unused[0] == 0 ? NULL : main;
}

/* All signals but those that a faulty instruction raises in its own thread. */
static void asynchronous_signals(sigset_t *set)
{
    static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};

    sigfillset(set);
    for (size_t i = 0; i < sizeof synchronous / sizeof *synchronous; i++) {
        sigdelset(set, synchronous[i]);
    }
}

bool zc_thread_start(void (*main)(void))
{
    sigset_t blocked, before;
    pthread_attr_t attr;
    pthread_t thread;

    if (pthread_attr_init(&attr) != 0) {
        return false;
    }
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_NBYTES);
    asynchronous_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);      /* the new thread inherits the mask */
    const int failed = pthread_create(&thread, &attr, thread_entry, (void *)(uintptr_t)main);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return failed == 0;
}

/* ---- threads that are ended ---- */

static pthread_key_t outside;
static pthread_once_t outside_made = PTHREAD_ONCE_INIT;
static bool has_outside;
static atomic_bool has_ended;
static _Thread_local int n_outside;

/* What a thread calls as the last thing, near the beginning of its stack: the frames that others look into lie further up. */
static void stay(void *unused)
{
    sigset_t blocked;

    (void)unused;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    atomic_store(&has_ended, true);
    for (;;) {
        pause();
    }
}

static void make_outside(void)
{
    has_outside = pthread_key_create(&outside, stay) == 0;
}

void zc_thread_leaves(void)
{
    pthread_once(&outside_made, make_outside);
    if (n_outside++ == 0 && has_outside) {
        pthread_setspecific(outside, &n_outside);
    }
}

void zc_thread_returns(void)
{
    if (--n_outside == 0 && has_outside) {
        pthread_setspecific(outside, NULL);
    }
}

bool zc_thread_has_ended(void)
{
    return atomic_load(&has_ended);
}

void zc_at_fork(void (*child)(void))
{
    pthread_atfork(NULL, NULL, child);
}

#endif
