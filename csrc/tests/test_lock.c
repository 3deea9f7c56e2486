/* SPDX-License-Identifier: MIT
 *
 * Locks among processes (io/lock.h); test_lock_flock.c runs the same where the system has none of single bytes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE                          /* F_OFD_GETLK */
#endif

#include "io/lock.h"

#include "check.h"

#ifndef _WIN32

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os_thread.h"
#include "files.h"

static char path[600], root[512];
static zc_lock_file file;

static bool stop_at_once(void *calls)
{
    ++*(int *)calls;
    return true;
}

/* Is a byte free for another process? */
static bool is_free(uint64_t byte)
{
    const pid_t pid = fork();
    int status;

    if (pid == 0) {
        int calls = 0;
        zc_workspace ws = {.poll = stop_at_once, .watch = &calls};
        zc_lock lock = {.fd = -1};
        zc_error err;
        zc_error_clear(&err);
        status = zc_lock_take(&file, byte, &ws, &lock, &err);
        _exit(status == ZC_OK ? 0 : status == ZC_ERR_CANCELLED && calls == 1 && lock.fd == -1 ? 1 : 2);
    }
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

static void test_bytes(void)
{
    zc_lock a = {.fd = -1}, b = {.fd = -1};
    zc_error err;

    zc_error_clear(&err);
    CHECK(is_free(0) && is_free(99));
    CHECK(zc_lock_take(&file, 0, NULL, &a, &err) == ZC_OK);
    CHECK(zc_lock_take(&file, 98, NULL, &b, &err) == ZC_OK);
    CHECK(!is_free(0) && !is_free(98) && is_free(1) && is_free(99) && is_free((UINT64_C(1) << 62) - 1));
    zc_lock_release(&b);
    CHECK(!is_free(0) && is_free(98) && b.fd == -1);
    zc_lock_release(&a);
    zc_lock_release(&a);
    CHECK(is_free(0));
}

/* A process is killed while a child of it lives on. */
static void kill_owner(uint64_t locked)
{
    int ready[2];
    char byte;

    CHECK(pipe(ready) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        zc_lock lock = {.fd = -1};
        zc_error err;
        for (int i = 0; i < 3; i++) {        /* the file stays open from one to the next where it may */
            zc_lock_release(&lock);
            zc_lock_take(&file, locked, NULL, &lock, &err);
        }
        const pid_t below = fork();
        if (below == 0) {
            zc_lock_forget(&lock);
            close(ready[0]);
            CHECK(write(ready[1], "x", 1) == 1);
            close(ready[1]);
            sleep(1);
            _exit(0);
        }
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    CHECK(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
    CHECK(!is_free(locked));                 /* the child has given it up for itself alone */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK(is_free(locked));
}

static void test_killed(void)
{
    kill_owner(5);
    kill_owner(500);
}

/* ---- files that stay open ---- */

/* The descriptor of a lock that is taken and given up twice: the second time it was lent.  -1: files are not kept here. */
static int keep(zc_lock *lock)
{
    zc_error err;

    zc_error_clear(&err);
    CHECK(zc_lock_take(&file, 99, NULL, lock, &err) == ZC_OK);
    const int fd = lock->kept != 0 ? lock->fd : -1;
    zc_lock_release(lock);
    CHECK(zc_lock_take(&file, 98, NULL, lock, &err) == ZC_OK && (fd < 0 || lock->fd == fd));
    zc_lock_release(lock);
    CHECK(is_free(98) && is_free(99));
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_a_file_stays_open_until_it_is_closed(void)
{
    zc_lock a = {.fd = -1}, b = {.fd = -1};
    zc_error err;
    const int fd = keep(&a);

    if (fd < 0) {
        return;
    }
    CHECK(is_open(fd));
    CHECK(zc_lock_take(&file, 77, NULL, &a, &err) == ZC_OK && a.fd == fd);
    CHECK(zc_lock_take(&file, 78, NULL, &b, &err) == ZC_OK && b.fd != fd);   /* no two locks share one */
    CHECK(!is_free(77) && !is_free(78));
    zc_locks_close(&file);
    CHECK(!is_free(77) && !is_free(78));
    zc_lock_release(&a);
    CHECK(is_free(77) && !is_free(78));
    const int other = b.fd;
    zc_lock_release(&b);
    zc_locks_close(&file);
    CHECK(!is_open(fd) && !is_open(other));
    CHECK(zc_lock_take(&file, 0, NULL, &a, &err) == ZC_OK && a.kept == 0);     /* those of metadata do not */
    zc_lock_release(&a);
}

/* Others put another file in the place of the one that is kept: what is locked is what they lock. */
static void test_a_file_that_was_replaced_is_opened_again(void)
{
    zc_lock lock = {.fd = -1};
    zc_error err;
    char moved[700];

    snprintf(moved, sizeof moved, "%s.moved", path);
    for (int kind = 0; kind < 3; kind++) {
        if (keep(&lock) < 0) {
            return;
        }
        CHECK((kind == 0 ? unlink(path) : rename(path, moved)) == 0);
        if (kind == 2) {
            close(creat(path, 0666));
        }
        zc_error_clear(&err);
        CHECK(zc_lock_take(&file, 99, NULL, &lock, &err) == ZC_OK);
        CHECK(!is_free(99) && access(path, F_OK) == 0);
        zc_lock_release(&lock);
        CHECK(is_free(99));
    }
    unlink(moved);
}

static int descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 256; fd++) {
        n += is_open(fd);
    }
    return n;
}

/* Is nothing of a file locked? */
static bool has_no_lock(const char *name)
{
#ifdef F_OFD_GETLK
    struct flock any = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const int fd = open(name, O_RDWR);
    const bool none = fcntl(fd, F_OFD_GETLK, &any) == 0 && any.l_type == F_UNLCK;

    close(fd);
    return none;
#else
    return access(name, F_OK) == 0;          /* nor are files kept */
#endif
}

/* Another file under a number: empty, at the end of a very large one, a pipe, or a file of locks that is kept. */
static int put_another_file(int kind, const char *other, int fd)
{
    zc_lock_file theirs = {.path = other, .root_len = file.root_len};
    zc_lock lock = {.fd = -1};
    int pipes[2] = {-1, -1};
    zc_error err;

    unlink(other);
    close(fd);
    if (kind == 3) {
        CHECK(zc_lock_take(&theirs, 55, NULL, &lock, &err) == ZC_OK && lock.fd == fd);
        zc_lock_release(&lock);
        return fd;
    }
    const int new = kind < 2 ? open(other, O_RDWR | O_CREAT, 0666) : pipe(pipes) == 0 ? pipes[0] : -1;
    CHECK(new == fd);
    if (kind == 1) {
        lseek(new, (off_t)1 << 43, SEEK_SET);
    }
    close(pipes[1]);
    return new;
}

/* A program that closes all descriptors, and then has another file under the same number. */
static void test_a_descriptor_that_is_another_file_is_left_alone(void)
{
    zc_lock lock = {.fd = -1};
    zc_error err;
    char other[700];

    zc_locks_close(&file);
    const int before = descriptors();
    snprintf(other, sizeof other, "%s.other", path);
    for (int kind = 0; kind < 8; kind++) {
        const int fd = keep(&lock);
        if (fd < 0) {
            return;
        }
        const int theirs = put_another_file(kind / 2, other, fd);
        if (kind % 2 == 1) {
            zc_locks_close(&file);
        }
        zc_error_clear(&err);
        CHECK(zc_lock_take(&file, 99, NULL, &lock, &err) == ZC_OK && lock.fd != fd);
        CHECK(!is_free(99) && (kind / 2 == 2 || has_no_lock(other)));
        zc_lock_release(&lock);
        CHECK(is_free(99) && is_open(fd));
        zc_locks_close(&file);
        zc_locks_close(&(zc_lock_file){.path = other});
        CHECK(is_open(fd) == (kind / 2 != 3));
        close(theirs);
        CHECK(descriptors() == before);
    }
    unlink(other);
}

static void test_few_files_stay_open(void)
{
    static char names[64][700];
    zc_lock lock = {.fd = -1};
    zc_error err;
    int most = 0;

    zc_error_clear(&err);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 64; i++) {
            snprintf(names[i], sizeof names[i], "%s/d%d/" ZC_LOCK_FILE, root, i);
            const zc_lock_file each = {.path = names[i], .root_len = file.root_len, .makes = true};
            CHECK(zc_lock_take(&each, 99, NULL, &lock, &err) == ZC_OK);
            most = lock.fd > most ? lock.fd : most;
            zc_lock_release(&lock);
        }
    }
    CHECK(most < 32);
    for (int i = 0; i < 64; i++) {
        zc_locks_close(&(zc_lock_file){.path = names[i]});
    }
    const int next = dup(0);
    CHECK(next < 16);
    close(next);
}

#define ROUNDS 300

static _Atomic uint64_t begun, ended, refused;

static void lock_often(void)
{
    const uint64_t number = atomic_fetch_add(&begun, 1);
    zc_error err;

    zc_error_clear(&err);
    for (int i = 0; i < ROUNDS; i++) {
        zc_lock lock = {.fd = -1};
        atomic_fetch_add(&refused, zc_lock_take(&file, 100 + number, NULL, &lock, &err) != ZC_OK);
        zc_lock_release(&lock);
    }
    atomic_fetch_add(&ended, 1);
}

static void test_threads(void)
{
    const int n = 4;

    atomic_store(&begun, 0);
    atomic_store(&ended, 0);
    for (int i = 0; i < n; i++) {
        CHECK(zc_thread_start(lock_often));
    }
    while (atomic_load(&ended) < (uint64_t)n) {
        usleep(1000);
    }
    CHECK(atomic_load(&refused) == 0);
    for (uint64_t byte = 100; byte < 104; byte++) {
        CHECK(is_free(byte));
    }
    zc_locks_close(&file);
}

static void test_missing_directory(void)
{
    char below[600];
    zc_lock_file other = {.path = below, .root_len = file.root_len};
    zc_lock lock = {.fd = -1};
    zc_error err;

    zc_error_clear(&err);
    snprintf(below, sizeof below, "%s/a/b/" ZC_LOCK_FILE, root);
    CHECK(zc_lock_take(&other, 0, NULL, &lock, &err) == ZC_OK && lock.fd == -1);
    other.makes = true;
    CHECK(zc_lock_take(&other, 0, NULL, &lock, &err) == ZC_OK && lock.fd >= 0);
    zc_lock_release(&lock);
    snprintf(below, sizeof below, "%s/file/" ZC_LOCK_FILE, root);
    snprintf(path, sizeof path, "%s/file", root);
    close(creat(path, 0666));
    CHECK(zc_lock_take(&other, 0, NULL, &lock, &err) == ZC_ERR_IO && lock.fd == -1);
}

static void run_in_root(void)
{
    char command[600];

    snprintf(path, sizeof path, "%s/" ZC_LOCK_FILE, root);
    file = (zc_lock_file){.path = path, .root_len = strlen(root)};
    RUN(test_bytes);
    RUN(test_killed);
    RUN(test_a_file_stays_open_until_it_is_closed);
    RUN(test_a_file_that_was_replaced_is_opened_again);
    RUN(test_a_descriptor_that_is_another_file_is_left_alone);
    RUN(test_few_files_stay_open);
    RUN(test_threads);
    RUN(test_missing_directory);
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
}

/* On a disk and in memory: file systems differ in how large an offset may be. */
int main(void)
{
    umask(022);
    CHECK(make_temporary(root, sizeof root));
    run_in_root();
    CHECK(make_temporary_in_memory(root, sizeof root));
    run_in_root();
    return check_report("lock");
}

#else
int main(void)
{
    return check_report("lock");
}
#endif
