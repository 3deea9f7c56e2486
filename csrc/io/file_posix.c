/* SPDX-License-Identifier: MIT
 *
 * See file.h.  Reading is openat, fstat, pread, close: nothing is allocated.
 */
#ifndef _WIN32

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include "base/assert.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "io/temporary.h"

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

#define TRANSFER_MAX ((size_t)0x7ffff000)    /* more than that no system moves in one call */
#define NAME_TRIES 16                        /* temporary names */
#define PARENT_TRIES 4                       /* someone else may remove empty directories meanwhile */

#ifdef O_PATH
#define OPEN_DIR_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)    /* needs no right to list it */
#else
#define OPEN_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

#ifdef __APPLE__
#define MTIME(st) ((st).st_mtimespec)
#else
#define MTIME(st) ((st).st_mtim)
#endif

struct zc_dir {
    int fd;
    uint64_t where;                          /* a hash of its path */
};

static int fd_of(const zc_dir *dir)
{
    return dir != NULL ? dir->fd : AT_FDCWD;
}

static int open_again(int at, const char *name, int flags, mode_t mode)
{
    int fd;

    do {
        fd = openat(at, name, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/* ---- directories ---- */

static uint64_t hash_of(const char *path)
{
    uint64_t x = UINT64_C(14695981039346656037);

    for (; *path != '\0'; path++) {
        x = (x ^ (unsigned char)*path) * UINT64_C(1099511628211);
    }
    return x;
}

zc_status zc_dir_open(const char *path, zc_dir **out, zc_error *err)
{
    *out = NULL;
    const int fd = open_again(AT_FDCWD, path, OPEN_DIR_FLAGS, 0);
    if (fd < 0) {
        return errno == ENOENT ? zc_fail(err, ZC_ERR_MISSING, "no directory %s", path)
                               : zc_fail_errno(err, errno, "cannot open directory %s", path);
    }
    zc_dir *dir = malloc(sizeof *dir);
    if (dir == NULL) {
        close(fd);
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for a directory handle");
    }
    dir->fd = fd;
    dir->where = hash_of(path);
    *out = dir;
    return ZC_OK;
}

void zc_dir_close(zc_dir *dir)
{
    if (dir != NULL) {
        close(dir->fd);
        free(dir);
    }
}

bool zc_dir_is_same(const zc_dir *a, const zc_dir *b)
{
    struct stat of_a, of_b;

    return fstat(a->fd, &of_a) == 0 && fstat(b->fd, &of_b) == 0 && of_a.st_ino == of_b.st_ino &&
           of_a.st_dev == of_b.st_dev;
}

bool zc_dir_has(const zc_dir *dir, const char *name)
{
    struct stat st;

    return fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- reading ---- */

/* O_NONBLOCK: opening a FIFO would wait for a writer. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static bool is_link_refused(int code)
{
    return code == ELOOP || code == EMLINK;  /* EMLINK: FreeBSD */
}

/* Links are followed at a second try, so that a link to nothing and an absent file differ at no cost. */
static int open_for_reading(int at, const char *name, bool *link)
{
    const int fd = open_again(at, name, READ_FLAGS | O_NOFOLLOW, 0);

    *link = fd < 0 && is_link_refused(errno);
    return *link ? open_again(at, name, READ_FLAGS, 0) : fd;
}

static zc_status fail_open(int code, const char *name, bool link, zc_error *err)
{
    if (code == ENOENT && link) {
        return zc_fail_errno(err, code, "cannot open %s, a symbolic link to nothing", name);
    }
    if (code == ENOENT) {
        return zc_fail(err, ZC_ERR_MISSING, "no file %s", name);
    }
    if (code == ENOTDIR) {
        return zc_fail_errno(err, code, "cannot open %s: a file is in the place of a directory above it", name);
    }
    return zc_fail_errno(err, code, "cannot open %s", name);
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* Take over a descriptor, if it is that of a regular file. */
static zc_status adopt(int fd, const char *name, zc_file *out, zc_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        const int code = errno;

        close(fd);
        return zc_fail_errno(err, code, "cannot inspect %s", name);
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return zc_fail_errno(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "%s is no regular file but %s", name,
                             kind_of(st.st_mode));
    }
    out->handle = fd;
    out->size = (uint64_t)st.st_size;
    out->mtime_ns = (int64_t)MTIME(st).tv_sec * 1000000000 + MTIME(st).tv_nsec;
    out->inode = (uint64_t)st.st_ino;
    out->device = (uint64_t)st.st_dev;
    return ZC_OK;
}

zc_status zc_file_open(const zc_dir *dir, const char *name, zc_file *out, zc_error *err)
{
    bool link;
    const int fd = open_for_reading(fd_of(dir), name, &link);

    out->handle = -1;
    return fd < 0 ? fail_open(errno, name, link, err) : adopt(fd, name, out, err);
}

/* If reading stops at an end, it is a regular file, and no further system call has to find that out: directories,
 * FIFOs and sockets cannot be read like this, and devices have no end or nothing before it. */
zc_status zc_file_load(const zc_dir *dir, const char *name, void *dst, size_t cap, size_t *n, zc_file *out,
                       zc_error *err)
{
    zc_assert(cap >= 1);

    bool link;
    const int fd = open_for_reading(fd_of(dir), name, &link);

    *n = 0;
    out->handle = -1;
    if (fd < 0) {
        return fail_open(errno, name, link, err);
    }
    const ssize_t got = pread(fd, dst, cap, 0);
    if (got <= 0 || (size_t)got == cap) {
        return adopt(fd, name, out, err);
    }
    close(fd);
    *n = (size_t)got;
    return ZC_OK;
}

int64_t zc_file_age_ns(const zc_file *file)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - file->mtime_ns;
}

void zc_file_close(zc_file *file)
{
    if (file->handle >= 0) {
        close((int)file->handle);
        file->handle = -1;
    }
}

zc_status zc_file_read(const zc_file *file, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const unsigned long long at = offset;
    size_t done = 0;

    if (offset > INT64_MAX || n > INT64_MAX - offset) {
        return zc_fail(err, ZC_ERR_CORRUPT, "no file has %zu bytes at offset %llu", n, at);
    }
    while (done < n) {
        const size_t piece = n - done < TRANSFER_MAX ? n - done : TRANSFER_MAX;
        const ssize_t got = pread((int)file->handle, (char *)dst + done, piece, (off_t)(offset + done));

        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0) {
            return zc_fail(err, ZC_ERR_CORRUPT, "the file ends after %llu bytes; wanted %zu at offset %llu",
                           at + done, n, at);
        } else if (errno != EINTR) {
            return zc_fail_errno(err, errno, "cannot read %zu bytes at offset %llu", n, at);
        }
    }
    return ZC_OK;
}

/* ---- writing ---- */

/* A file on its way into its place. */
typedef struct writer {
    int at;                                  /* the directory that both names are relative to */
    const char *name;
    char temporary[PATH_MAX];
    size_t parent;                           /* length of the directory part of both names, with its slash */
    bool sync;
    bool made_parents;
} writer;

/* mkdir -p for the directory part of w->name.  0 or errno. */
static int make_parents(writer *w)
{
    char path[PATH_MAX];

    memcpy(path, w->name, w->parent);
    for (size_t i = 1; i < w->parent; i++) {
        if (path[i] != '/') {
            continue;
        }
        path[i] = '\0';
        if (mkdirat(w->at, path, 0777) != 0 && errno != EEXIST) {
            return errno;
        }
        path[i] = '/';
    }
    w->made_parents = true;
    return 0;
}

/* Create a file with a temporary name in the directory of w->name.  Its descriptor, or -1 and errno. */
static int open_temporary(writer *w)
{
    int parents_left = PARENT_TRIES;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    memcpy(w->temporary, w->name, w->parent);
    for (int names_left = NAME_TRIES; names_left > 0;) {
        zc_temporary_name(zc_this_process(), (uint64_t)now.tv_nsec, w->temporary + w->parent);
        const int fd = open_again(w->at, w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd >= 0) {
            return fd;
        }
        if (errno == EEXIST) {
            names_left--;
            continue;
        }
        if (errno != ENOENT || w->parent == 0 || parents_left-- == 0) {
            return -1;
        }
        const int code = make_parents(w);
        if (code != 0) {
            errno = code;
            return -1;
        }
    }
    errno = EEXIST;
    return -1;
}

static int write_all(int fd, const char *src, size_t n)
{
    while (n > 0) {
        const ssize_t put = write(fd, src, n < TRANSFER_MAX ? n : TRANSFER_MAX);

        if (put > 0) {
            src += put;
            n -= (size_t)put;
        } else if (put == 0) {
            return EIO;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int sync_file(int fd)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0) {       /* macOS: fsync alone leaves the data in the drive's cache */
        return 0;
    }
#endif
    while (fsync(fd) != 0) {
        if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* Some file systems cannot sync a directory and need not. */
static int sync_dir(int at, const char *path)
{
    const int fd = open_again(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    const int code = sync_file(fd);
    close(fd);
    return code == EINVAL || code == ENOTSUP ? 0 : code;
}

/* Sync the directory of w->name, and the ones above it if they may be new. */
static int sync_parents(writer *w)
{
    char path[PATH_MAX];
    size_t n = w->parent;

    memcpy(path, w->name, n);
    for (;;) {
        while (n > 1 && path[n - 1] == '/') {
            n--;
        }
        path[n] = '\0';
        const int code = sync_dir(w->at, n > 0 ? path : ".");
        if (code != 0 || !w->made_parents || n == 0 || strcmp(path, "/") == 0) {
            return code;
        }
        while (n > 0 && path[n - 1] != '/') {
            n--;
        }
    }
}

/* Write all pieces.  *failed is what the source reports if it fails; the result is 0 or errno. */
static int write_pieces(int fd, const zc_file_source *source, zc_status *failed, zc_error *err)
{
    int code = 0;

    for (uint64_t at = 0; at < source->total && code == 0;) {
        const void *data;
        size_t n;
        *failed = source->piece(source->self, at, &data, &n, err);
        if (*failed != ZC_OK) {
            return 0;
        }
        zc_assert(n > 0 && n <= source->total - at);
        code = write_all(fd, data, n);
        at += n;
    }
    return code;
}

static int fill_temporary(const writer *w, int fd, const zc_file_source *source, zc_status *failed, zc_error *err)
{
    int code = write_pieces(fd, source, failed, err);

    if (code == 0 && *failed == ZC_OK && w->sync) {
        code = sync_file(fd);
    }
    /* Network file systems may find out only now.  After EINTR the descriptor is gone all the same. */
    if (close(fd) != 0 && code == 0 && errno != EINTR) {
        code = errno;
    }
    return code;
}

/* 0 or errno; each of these leaves the temporary file in place if it fails. */
static int put_in_place(const writer *w)
{
    return renameat(w->at, w->temporary, w->at, w->name) == 0 ? 0 : errno;
}

static int rename_to_new(const writer *w)
{
#if defined(SYS_renameat2)
    const unsigned no_replace = 1;           /* RENAME_NOREPLACE; not every C library has the function */

    return syscall(SYS_renameat2, w->at, w->temporary, w->at, w->name, no_replace) == 0 ? 0 : errno;
#elif defined(__APPLE__) && defined(RENAME_EXCL)
    return renameatx_np(w->at, w->temporary, w->at, w->name, RENAME_EXCL) == 0 ? 0 : errno;
#else
    (void)w;
    return ENOSYS;
#endif
}

static int link_to_new(const writer *w)
{
    struct stat st;

    if (linkat(w->at, w->temporary, w->at, w->name, 0) != 0) {
        const int code = errno;
        /* NFS: the answer to the first request was lost and the second one found its own link. */
        const bool own = code == EEXIST && fstatat(w->at, w->temporary, &st, AT_SYMLINK_NOFOLLOW) == 0
                         && st.st_nlink == 2;
        if (!own) {
            return code;
        }
    }
    unlinkat(w->at, w->temporary, 0);
    return 0;
}

/* Without links: an empty file, made by one caller alone, keeps the place until the rename. */
static int rename_over_placeholder(const writer *w)
{
    const int fd = open_again(w->at, w->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno;
    }
    close(fd);
    const int code = put_in_place(w);
    if (code != 0) {
        unlinkat(w->at, w->name, 0);
    }
    return code;
}

static bool not_supported(int code)
{
    return code == EINVAL || code == ENOSYS || code == EPERM || code == ENOTSUP || code == EOPNOTSUPP
           || code == EMLINK;
}

static int put_in_new_place(const writer *w)
{
    int code = rename_to_new(w);

    if (not_supported(code)) {
        code = link_to_new(w);
    }
    if (not_supported(code)) {
        code = rename_over_placeholder(w);
    }
    return code;
}

static zc_status write_file(const zc_dir *dir, const char *name, const zc_file_source *source, bool sync,
                            int (*place)(const writer *), zc_error *err)
{
    writer w;
    zc_status failed = ZC_OK;
    const char *slash = strrchr(name, '/');

    w.at = fd_of(dir);
    w.name = name;
    w.parent = slash != NULL ? (size_t)(slash + 1 - name) : 0;
    w.sync = sync;
    w.made_parents = false;
    if (w.parent + ZC_TEMPORARY_LENGTH >= PATH_MAX) {
        return zc_fail_errno(err, ENAMETOOLONG, "cannot write %s", name);
    }
    const int fd = open_temporary(&w);
    if (fd < 0) {
        return zc_fail_errno(err, errno, "cannot create a temporary file for %s", name);
    }
    if (place == put_in_place) {             /* what is created is mostly the first thing in its directory */
        zc_clean_directory(w.at, name, w.parent, dir != NULL ? dir->where : 0, w.made_parents);
    }
    int code = fill_temporary(&w, fd, source, &failed, err);
    if (code == 0 && failed == ZC_OK) {
        code = place(&w);
    }
    if (code != 0 || failed != ZC_OK) {
        unlinkat(w.at, w.temporary, 0);
        return failed != ZC_OK ? failed : zc_fail_errno(err, code, "cannot write %s", name);
    }
    code = sync ? sync_parents(&w) : 0;
    return code == 0 ? ZC_OK : zc_fail_errno(err, code, "cannot sync the directory of %s", name);
}

zc_status zc_file_replace(const zc_dir *dir, const char *name, const void *src, size_t n, bool sync,
                          zc_error *err)
{
    zc_file_bytes bytes;
    const zc_file_source source = zc_file_source_of(&bytes, src, n);

    return write_file(dir, name, &source, sync, put_in_place, err);
}

zc_status zc_file_replace_from(const zc_dir *dir, const char *name, const zc_file_source *source, bool sync,
                               zc_error *err)
{
    return write_file(dir, name, source, sync, put_in_place, err);
}

zc_status zc_file_create(const zc_dir *dir, const char *name, const void *src, size_t n, bool sync,
                         zc_error *err)
{
    zc_file_bytes bytes;
    const zc_file_source source = zc_file_source_of(&bytes, src, n);

    return write_file(dir, name, &source, sync, put_in_new_place, err);
}

zc_status zc_file_remove(const zc_dir *dir, const char *name, zc_error *err)
{
    if (unlinkat(fd_of(dir), name, 0) == 0 || errno == ENOENT) {
        return ZC_OK;
    }
    return zc_fail_errno(err, errno, "cannot remove %s", name);
}

#else
typedef int zc_file_posix_is_empty;          /* a translation unit needs a declaration */
#endif
