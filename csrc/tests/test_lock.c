/* SPDX-License-Identifier: MIT
 *
 * Locks among processes (io/lock.h); test_lock_flock.c runs the same where the system has none of single bytes.
 */
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
static void test_killed(void)
{
    int ready[2];
    char byte;

    CHECK(pipe(ready) == 0);
    const pid_t pid = fork();
    if (pid == 0) {
        zc_lock lock = {.fd = -1};
        zc_error err;
        zc_lock_take(&file, 5, NULL, &lock, &err);
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
    CHECK(!is_free(5));                      /* the child has given it up for itself alone */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECK(is_free(5));
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

int main(void)
{
    CHECK(make_temporary(root, sizeof root));
    snprintf(path, sizeof path, "%s/" ZC_LOCK_FILE, root);
    file = (zc_lock_file){.path = path, .root_len = strlen(root)};
    umask(022);
    RUN(test_bytes);
    RUN(test_killed);
    RUN(test_missing_directory);
    char command[600];
    snprintf(command, sizeof command, "rm -r %s", root);
    CHECK(system(command) == 0);
    return check_report("lock");
}

#else
int main(void)
{
    return check_report("lock");
}
#endif
