/* SPDX-License-Identifier: MIT
 *
 * See lock.h.  Each lock has a descriptor of its own for as long as it is held: none is shared by threads.
 */
#include "base/features.h"
#include "io/lock.h"

#ifndef _WIN32

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os_thread.h"
#include "io/lock_kept.h"
#include "io/open_posix.h"

#define FIRST_WAIT_NS 20000
#define LONGEST_WAIT_NS 4000000
#define ASK_AGAIN_NS INT64_C(50000000)       /* how often a waiting thread asks whether to go on waiting */
#define OPEN_FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)
#define TRIES 100

/* ---- one try ---- */

#if defined(F_OFD_SETLK) && !defined(ZC_TEST_FLOCK)
#define LOCKS_BYTES true

static int set_lock(const zc_lock *lock, int fd, bool on)
{
    struct flock byte = {.l_type = on ? F_WRLCK : F_UNLCK, .l_whence = SEEK_CUR, .l_len = 1};

    byte.l_start = (off_t)((int64_t)lock->byte - (int64_t)lock->mark);
    return fcntl(fd, F_OFD_SETLK, &byte);
}

static const char *name_of(const zc_lock_file *file, uint64_t byte, char *buffer, size_t room)
{
    (void)byte, (void)buffer, (void)room;
    return file->path;
}
#else
#define LOCKS_BYTES false

static int set_lock(const zc_lock *lock, int fd, bool on)
{
    (void)lock;
    return flock(fd, on ? LOCK_EX | LOCK_NB : LOCK_UN);
}

static const char *name_of(const zc_lock_file *file, uint64_t byte, char *buffer, size_t room)
{
    const char *const kind = byte < ZC_LOCKS_KEPT ? "d" : "";

    return (size_t)snprintf(buffer, room, "%s-%s%x", file->path, kind, (unsigned)(byte & 15)) < room ? buffer : NULL;
}
#endif

/* ---- the file ---- */

/* A descriptor, or -1 and errno. */
static int open_lock_file(const zc_lock_file *file, const char *name)
{
    const zc_dir rules = zc_dir_none(file->root_len, ZC_SYMLINKS_REFUSE);
    int fd = zc_open_below(&rules, name, OPEN_FLAGS, true);

    if (fd < 0 && errno == ENOENT && file->makes) {
        const int code = zc_make_parents(&rules, name, file->sync);
        errno = code;
        fd = code == 0 ? zc_open_below(&rules, name, OPEN_FLAGS, true) : -1;
    }
    return fd;
}

/* Is it an error of a descriptor that is kept, and that is another file by now? */
static bool is_another(const zc_lock *lock, int code)
{
    return lock->kept != 0 && (code == EBADF || code == EINVAL);
}

/* Wait until the byte of an open file is locked.  0 or errno; ECANCELED, and EAGAIN: open the file again. */
static int wait_for_lock(zc_lock *lock, int fd, const zc_workspace *ws)
{
    int64_t began = 0, asked = 0;

    while (set_lock(lock, fd, true) != 0) {
        if (errno == EINTR) {
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK) {      /* EACCES: the system forbids it, for good */
            return is_another(lock, errno) ? EAGAIN : errno;
        }
        lock->waited = LOCKS_BYTES;
        const int64_t now = zc_now_ns();
        if (began == 0) {
            began = asked = now;
        }
        const int64_t wait = (now - began) / 8;
        if (now - asked >= ASK_AGAIN_NS) {
            if (ws != NULL && zc_workspace_cancelled(ws)) {
                return ECANCELED;
            }
            asked = now;
        }
        const int64_t ns = wait < FIRST_WAIT_NS ? FIRST_WAIT_NS : wait < LONGEST_WAIT_NS ? wait : LONGEST_WAIT_NS;
        nanosleep(&(struct timespec){0, (long)ns}, NULL);
    }
    return 0;
}

/* Is it a file that others find by its name?  0 or errno; EAGAIN: it was removed since it was opened. */
static int check_file(int fd, int kept)
{
    struct stat st;

    if (kept != 0) {
        return zc_kept_is_named(kept) ? 0 : EAGAIN;
    }
    if (fstat(fd, &st) != 0) {
        return errno;
    }
    return !S_ISREG(st.st_mode) ? EINVAL : st.st_nlink == 0 ? EAGAIN : 0;
}

static zc_status fail_lock(int code, const char *path, zc_error *err)
{
    switch (code) {
    case ECANCELED: return ZC_ERR_CANCELLED;
    case ENOLCK:
    case ENOSYS:
    case ENOTSUP:
        return zc_fail_errno(err, code, "cannot lock %s: the file system has no locks (Lustre: mount it with -o flock)", path);
    default: return zc_fail_path(code, "cannot lock", path, err);
    }
}

/* Given up before it is closed: a child of fork() that has not run its handlers has the descriptor too.  Where that fails,
 * closing it does so. */
static void release(zc_lock *lock, bool dropped)
{
    const int fd = atomic_exchange(&lock->fd, -1);

    if (fd >= 0) {
        const bool is_locked = set_lock(lock, fd, false) != 0;
        if (lock->kept != 0) {
            zc_kept_return(lock->kept, dropped || is_locked);
        } else {
            close(fd);
        }
    }
}

static bool stays_open(uint64_t byte)
{
    return LOCKS_BYTES && byte >= ZC_LOCKS_KEPT;         /* metadata change less often */
}

/* A descriptor for one lock, or -1 and errno. */
static int borrow_or_open(const zc_lock_file *file, const char *name, zc_lock *lock)
{
    lock->kept = 0;
    lock->mark = 0;
    const int fd = stays_open(lock->byte) ? zc_kept_lend(file, &lock->kept, &lock->mark) : -1;

    return fd >= 0 ? fd : open_lock_file(file, name);
}

zc_status zc_lock_take(const zc_lock_file *file, uint64_t byte, const zc_workspace *ws, zc_lock *lock, zc_error *err)
{
    char buffer[PATH_MAX];
    const char *const name = name_of(file, byte, buffer, sizeof buffer);
    int code = name == NULL ? ENAMETOOLONG : EAGAIN;

    lock->byte = byte;
    lock->waited = false;
    for (int tries = TRIES; code == EAGAIN && tries > 0; tries--) {
        const int fd = borrow_or_open(file, name, lock);
        if (fd < 0) {
            return errno == ENOENT && !file->makes ? ZC_OK : fail_lock(errno, name, err);
        }
        atomic_store(&lock->fd, fd);         /* from now on a child of fork() closes it */
        code = wait_for_lock(lock, fd, ws);
        code = code == 0 ? check_file(fd, lock->kept) : code;
        if (code != 0) {
            release(lock, true);
        } else if (lock->kept == 0 && stays_open(byte)) {
            lock->kept = zc_kept_add(file, fd, &lock->mark);
        }
    }
    return code == 0 ? ZC_OK : fail_lock(code, name != NULL ? name : file->path, err);
}

void zc_lock_release(zc_lock *lock)
{
    release(lock, false);
}

/* What is kept is closed where it is kept. */
void zc_lock_forget(zc_lock *lock)
{
    const int fd = atomic_exchange(&lock->fd, -1);

    if (fd >= 0 && lock->kept == 0) {
        close(fd);
    }
}

#else

zc_status zc_lock_take(const zc_lock_file *file, uint64_t byte, const zc_workspace *ws, zc_lock *lock, zc_error *err)
{
    (void)byte, (void)ws, (void)lock;
    return zc_fail(err, ZC_ERR_IO, "cannot lock %s: there are no locks among processes on Windows", file->path);
}

void zc_lock_release(zc_lock *lock)
{
    (void)lock;
}

void zc_lock_forget(zc_lock *lock)
{
    (void)lock;
}

#endif
