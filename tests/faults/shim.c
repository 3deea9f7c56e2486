/* SPDX-License-Identifier: MIT
 *
 * Loaded before the C library: takes notes of what a process does to the files below a root (ZC_SHIM_ROOT) in a log
 * (ZC_SHIM_LOG), and has the n-th call of some kinds fail.
 *
 * A line of the log: what was done, inode, path, second path or the bytes in hexadecimal digits, offset.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long system_call(long number, ...);

static system_call *kernel(void)
{
    static system_call *found;

    if (found == NULL) {
        found = (system_call *)dlsym(RTLD_NEXT, "syscall");
    }
    return found;
}

#define NEXT(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))     /* what this file replaces */

enum {                                   /* as tests/shared/shim.py has them */
    OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, RENAME = 16, UNLINK = 32, MKDIR = 64, LINK = 128, STAT = 256, LIST = 512,
    CLOSE = 1024, LOCK = 2048, UNLOCK = 4096
};
#define SHORT (-1)                       /* in place of an errno: half of what was asked for is read or written */

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;    /* the log is in the order in which things happened */
static const char *root;
static size_t root_len;
static int log_fd = -1;

static struct { long left; int times, kinds, code; long seen; int failed; } plan;
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void)
{
    root = getenv("ZC_SHIM_ROOT");
    root_len = root != NULL ? strlen(root) : 0;
    const char *const path = getenv("ZC_SHIM_LOG");
    if (path != NULL) {
        log_fd = (int)kernel()(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
}

/* The n-th call from now on of one of some kinds fails, and those after it: as many as `times`; n < 0: none does. */
void shim_fail(long n, int times, int kinds, int code)
{
    pthread_mutex_lock(&planning);
    plan.left = n;
    plan.times = times;
    plan.kinds = kinds;
    plan.code = code;
    plan.seen = 0;
    plan.failed = 0;
    pthread_mutex_unlock(&planning);
}

/* How many calls there were since; how many of them failed. */
long shim_seen(void)
{
    return plan.seen;
}

int shim_failed(void)
{
    plan.kinds = 0;
    return plan.failed;
}

static void put(const char *text, size_t n)
{
    while (n > 0) {
        const long done = kernel()(SYS_write, log_fd, text, n);
        if (done <= 0) {
            abort();
        }
        text += done;
        n -= (size_t)done;
    }
}

void shim_mark(const char *name)
{
    char line[256];

    put(line, (size_t)snprintf(line, sizeof line, "mark\t0\t%s\t\t0\n", name));
}

static void note(const char *what, uint64_t inode, const char *path, const char *second, long offset)
{
    if (log_fd >= 0) {
        char line[3 * PATH_MAX];
        put(line, (size_t)snprintf(line, sizeof line, "%s\t%llu\t%s\t%s\t%ld\n", what, (unsigned long long)inode, path,
                                   second, offset));
    }
}

static void note_bytes(uint64_t inode, const char *path, const unsigned char *data, size_t n, long offset)
{
    if (log_fd < 0) {
        return;
    }
    char *const text = malloc(2 * n + 1);
    char head[PATH_MAX + 64], tail[32];
    for (size_t i = 0; i < n; i++) {
        snprintf(text + 2 * i, 3, "%02x", data[i]);
    }
    put(head, (size_t)snprintf(head, sizeof head, "write\t%llu\t%s\t", (unsigned long long)inode, path));
    put(text, 2 * n);
    put(tail, (size_t)snprintf(tail, sizeof tail, "\t%ld\n", offset));
    free(text);
}

/* The path of a name below a directory's descriptor; false if it does not lie below the root. */
static int path_of(int at, const char *name, char *out)
{
    char link[64];
    ssize_t n = 0;

    if (root == NULL) {
        return 0;
    }
    if (name == NULL || name[0] != '/') {
        snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
        n = readlink(link, out, PATH_MAX - 1);
        if (n < 0) {
            return 0;
        }
        if (name != NULL) {
            out[n++] = '/';
        }
    }
    snprintf(out + n, PATH_MAX - (size_t)n, "%s", name != NULL ? name : "");
    if (name == NULL) {
        out[n] = '\0';
    }
    for (n = (ssize_t)strlen(out); n > 1 && (out[n - 1] == '/' || (out[n - 1] == '.' && out[n - 2] == '/')); n--) {
        out[n - 1] = '\0';
    }
    return strncmp(out, root, root_len) == 0 && (out[root_len] == '/' || out[root_len] == '\0');
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    return NEXT(int, fstat64, int, struct stat *)(fd, &st) == 0 ? st.st_ino : 0;
}

/* Is this a call that fails?  1: with errno; 2: by half. */
static int fails(int kind)
{
    int how = 0;

    pthread_mutex_lock(&planning);
    if ((plan.kinds & kind) != 0) {
        plan.seen++;
        if (plan.left > 0) {
            plan.left--;
        } else if (plan.left == 0 && plan.times > 0) {
            plan.times--;
            plan.failed++;
            how = plan.code == SHORT ? 2 : 1;
        }
    }
    pthread_mutex_unlock(&planning);
    if (how == 1) {
        errno = plan.code;
    }
    return how;
}

/* Does a call by name fail, or one by descriptor (no name)? */
static int fails_at(int kind, int at, const char *name)
{
    char path[PATH_MAX];
    const int code = errno, ours = (plan.kinds & kind) != 0 && path_of(at, name, path);

    errno = code;
    return ours ? fails(kind) : 0;
}

/* ---- opening ---- */

static int opened(int fd, int at, const char *name, int flags, int existed)
{
    char path[PATH_MAX];
    const int code = errno;

    if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY && path_of(at, name, path)) {
        if (!existed) {
            note("create", inode_of(fd), path, "", 0);
        } else if (flags & O_TRUNC) {
            note("truncate", inode_of(fd), path, "", 0);
        }
    }
    errno = code;
    return fd;
}

static int open_at(int at, const char *name, int flags, mode_t mode)
{
    char path[PATH_MAX];

    if (!path_of(at, name, path)) {
        return (int)kernel()(SYS_openat, at, name, flags, mode);
    }
    if (fails(OPEN)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const int existed = NEXT(int, faccessat, int, const char *, int, int)(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    const int fd = opened((int)kernel()(SYS_openat, at, name, flags, mode), at, name, flags, existed);
    pthread_mutex_unlock(&order);
    return fd;
}

#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list list; \
        va_start(list, last); \
        mode = va_arg(list, mode_t); \
        va_end(list); \
    }

int open(const char *name, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE(flags, flags) return open_at(AT_FDCWD, name, flags, mode); }
int openat(int at, const char *name, int flags, ...) { MODE(flags, flags) return open_at(at, name, flags, mode); }
int openat64(int at, const char *name, int flags, ...) { MODE(flags, flags) return open_at(at, name, flags, mode); }

/* ---- reading ---- */

/* at < 0: where the file stands. */
static int read_fails(int fd, size_t *n, long at)
{
    const int how = fails_at(READ, fd, NULL);
    struct stat64 st;

    if (how == 2 && NEXT(int, fstat64, int, struct stat64 *)(fd, &st) == 0) {
        const long from = at < 0 ? lseek(fd, 0, SEEK_CUR) : at, there = from < st.st_size ? st.st_size - from : 0;
        *n = *n < (size_t)there ? *n : (size_t)there;
    }
    *n = how == 2 ? (*n + 1) / 2 : *n;
    return how == 1;
}

ssize_t read(int fd, void *data, size_t n) { return read_fails(fd, &n, -1) ? -1 : kernel()(SYS_read, fd, data, n); }

ssize_t pread64(int fd, void *data, size_t n, off64_t at)
{
    return read_fails(fd, &n, at) ? -1 : kernel()(SYS_pread64, fd, data, n, at);
}

ssize_t pread(int fd, void *data, size_t n, off_t at) { return pread64(fd, data, n, at); }

/* ---- writing ---- */

ssize_t write(int fd, const void *data, size_t n)
{
    char path[PATH_MAX];

    if (!path_of(fd, NULL, path)) {
        return kernel()(SYS_write, fd, data, n);
    }
    const int how = fails(WRITE);
    if (how == 1) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const long at = lseek(fd, 0, SEEK_CUR), done = kernel()(SYS_write, fd, data, how == 2 ? (n + 1) / 2 : n);
    const int code = errno;
    if (done > 0) {
        note_bytes(inode_of(fd), path, data, (size_t)done, at);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { (void)fd, (void)data, (void)n, (void)at; abort(); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return pwrite64(fd, data, n, at); }
int ftruncate64(int fd, off64_t n)
{
    char path[PATH_MAX];

    if (!path_of(fd, NULL, path)) {
        return (int)kernel()(SYS_ftruncate, fd, n);
    }
    pthread_mutex_lock(&order);
    const int status = (int)kernel()(SYS_ftruncate, fd, n), code = errno;
    if (status == 0) {
        note("truncate", inode_of(fd), path, "", n);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return status;
}
int ftruncate(int fd, off_t n) { return ftruncate64(fd, n); }

/* Whoever copies a file by this writes it, if it fails. */
ssize_t sendfile64(int to, int from, off64_t *at, size_t n)
{
    char path[PATH_MAX];

    if (path_of(to, NULL, path)) {
        errno = EINVAL;
        return -1;
    }
    return kernel()(SYS_sendfile, to, from, at, n);
}
ssize_t sendfile(int to, int from, off_t *at, size_t n) { return sendfile64(to, from, at, n); }

static int sync_fd(int fd, long number)
{
    char path[PATH_MAX];

    if (!path_of(fd, NULL, path)) {
        return (int)kernel()(number, fd);
    }
    if (fails(SYNC)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    note("sync", inode_of(fd), path, "", 0);     /* a disk is not waited for */
    pthread_mutex_unlock(&order);
    return 0;
}

int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

/* ---- names ---- */

static int move(int from, const char *old, int to, const char *new, unsigned flags)
{
    char path[PATH_MAX], second[PATH_MAX];
    const int is_ours = path_of(from, old, path) & path_of(to, new, second);

    if (is_ours && fails(RENAME)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const int status = (int)kernel()(SYS_renameat2, from, old, to, new, flags), code = errno;
    if (status == 0 && is_ours) {
        note("rename", 0, path, second, 0);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return status;
}

int rename(const char *old, const char *new) { return move(AT_FDCWD, old, AT_FDCWD, new, 0); }
int renameat(int from, const char *old, int to, const char *new) { return move(from, old, to, new, 0); }
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) { return move(from, old, to, new, flags); }

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    char path[PATH_MAX], second[PATH_MAX];
    const int is_ours = path_of(from, old, path) & path_of(to, new, second);

    if (is_ours && fails(LINK)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const int status = (int)kernel()(SYS_linkat, from, old, to, new, flags), code = errno;
    if (status == 0 && is_ours) {
        note("link", 0, path, second, 0);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return status;
}

int link(const char *old, const char *new) { return linkat(AT_FDCWD, old, AT_FDCWD, new, 0); }

int unlinkat(int at, const char *name, int flags)
{
    char path[PATH_MAX];
    const int is_ours = path_of(at, name, path);

    if (is_ours && fails(UNLINK)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const int status = (int)kernel()(SYS_unlinkat, at, name, flags), code = errno;
    if (status == 0 && is_ours) {
        note("unlink", 0, path, "", 0);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return status;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int at, const char *name, mode_t mode)
{
    char path[PATH_MAX];
    const int is_ours = path_of(at, name, path);

    if (is_ours && fails(MKDIR)) {
        return -1;
    }
    pthread_mutex_lock(&order);
    const int status = (int)kernel()(SYS_mkdirat, at, name, mode), code = errno;
    if (status == 0 && is_ours) {
        note("mkdir", 0, path, "", 0);
    }
    pthread_mutex_unlock(&order);
    errno = code;
    return status;
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* ---- looking ---- */

#define LOOKS(name, at, path, list, pass) \
    int name list { return fails_at(STAT, at, path) ? -1 : NEXT(int, name, TYPES)pass; }

#define TYPES const char *, struct stat *
LOOKS(stat, AT_FDCWD, path, (const char *path, struct stat *st), (path, st))
LOOKS(lstat, AT_FDCWD, path, (const char *path, struct stat *st), (path, st))
#undef TYPES
#define TYPES const char *, struct stat64 *
LOOKS(stat64, AT_FDCWD, path, (const char *path, struct stat64 *st), (path, st))
LOOKS(lstat64, AT_FDCWD, path, (const char *path, struct stat64 *st), (path, st))
#undef TYPES
#define TYPES int, struct stat *
LOOKS(fstat, fd, NULL, (int fd, struct stat *st), (fd, st))
#undef TYPES
#define TYPES int, struct stat64 *
LOOKS(fstat64, fd, NULL, (int fd, struct stat64 *st), (fd, st))
#undef TYPES
#define TYPES int, const char *, struct stat *, int
LOOKS(fstatat, at, path, (int at, const char *path, struct stat *st, int flags), (at, path, st, flags))
#undef TYPES
#define TYPES int, const char *, struct stat64 *, int
LOOKS(fstatat64, at, path, (int at, const char *path, struct stat64 *st, int flags), (at, path, st, flags))
#undef TYPES
#define TYPES int, const char *, int, int
LOOKS(faccessat, at, path, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
#undef TYPES
#define TYPES const char *, int
LOOKS(access, AT_FDCWD, path, (const char *path, int mode), (path, mode))

char *realpath(const char *path, char *to)
{
    return fails_at(STAT, AT_FDCWD, path) ? NULL : NEXT(char *, realpath, const char *, char *)(path, to);
}

/* ---- listing, closing, locking ---- */

DIR *opendir(const char *path)
{
    return fails_at(LIST, AT_FDCWD, path) ? NULL : NEXT(DIR *, opendir, const char *)(path);
}

DIR *fdopendir(int fd)
{
    return fails_at(LIST, fd, NULL) ? NULL : NEXT(DIR *, fdopendir, int)(fd);
}

struct dirent *readdir(DIR *list)
{
    return fails_at(LIST, dirfd(list), NULL) ? NULL : NEXT(struct dirent *, readdir, DIR *)(list);
}

struct dirent64 *readdir64(DIR *list)
{
    return fails_at(LIST, dirfd(list), NULL) ? NULL : NEXT(struct dirent64 *, readdir64, DIR *)(list);
}

int close(int fd)
{
    const int failed = fails_at(CLOSE, fd, NULL), code = errno, status = (int)kernel()(SYS_close, fd);

    errno = failed ? code : errno;
    return failed ? -1 : status;
}

int fcntl64(int fd, int command, ...)
{
    va_list list;

    va_start(list, command);
    void *const argument = va_arg(list, void *);
    va_end(list);
    if (command == F_OFD_SETLK &&
        fails_at(((struct flock *)argument)->l_type == F_UNLCK ? UNLOCK : LOCK, fd, NULL)) {
        return -1;
    }
    return NEXT(int, fcntl64, int, int, ...)(fd, command, argument);
}

/* ---- what has no function of its own in older C libraries ---- */

long syscall(long number, ...)
{
    long a[6];
    char path[PATH_MAX];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_renameat2) {
        return move((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
    }
    if (number == 437 && path_of((int)a[0], (const char *)a[1], path) && fails(OPEN)) {     /* openat2, which makes nothing but locks */
        return -1;
    }
    return kernel()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
