/* SPDX-License-Identifier: MIT
 *
 * Threads that tests start and wait for, on POSIX and Windows.
 */
#pragma once

#include <stdbool.h>

#include "base/os_thread.h"

typedef struct test_thread {
    void *(*work)(void *arg);
    void *arg;
    void *result;
#ifdef _WIN32
    HANDLE handle;
#else
    pthread_t handle;
#endif
} test_thread;

#ifdef _WIN32

static DWORD WINAPI test_thread_main(void *thread)
{
    test_thread *const t = thread;

    t->result = t->work(t->arg);
    return 0;
}

static inline bool thread_start(test_thread *t, void *(*work)(void *arg), void *arg)
{
    *t = (test_thread){.work = work, .arg = arg};
    t->handle = CreateThread(NULL, 0, test_thread_main, t, 0, NULL);
    return t->handle != NULL;
}

/* What its work returned. */
static inline void *thread_join(test_thread *t)
{
    WaitForSingleObject(t->handle, INFINITE);
    CloseHandle(t->handle);
    return t->result;
}

#else

static inline bool thread_start(test_thread *t, void *(*work)(void *arg), void *arg)
{
    *t = (test_thread){.work = work, .arg = arg};
    return pthread_create(&t->handle, NULL, work, arg) == 0;
}

/* What its work returned. */
static inline void *thread_join(test_thread *t)
{
    pthread_join(t->handle, &t->result);
    return t->result;
}

#endif
