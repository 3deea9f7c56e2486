/* SPDX-License-Identifier: MIT
 *
 * See file.h.  Reading is openat, fstat, pread, close: nothing is allocated.
 */
#include "base/features.h"

#ifndef _WIN32

#include "base/assert.h"
#include "base/counts.h"
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include "io/open_posix.h"
#include "io/parents_posix.h"
#include "io/sync_posix.h"
#include "io/temporary.h"

#define TRANSFER_MAX ((size_t)0x7ffff000)    /* more than that no system moves in one call */
#define NAME_TRIES 16                        /* temporary names */
#define PARENT_TRIES 100                     /* someone else may remove empty directories meanwhile */

#ifdef __APPLE__
#define MTIME(st) ((st).st_mtimespec)
#define CTIME(st) ((st).st_ctimespec)
#else
#define MTIME(st) ((st).st_mtim)
#define CTIME(st) ((st).st_ctim)
#endif

/* ---- directories ---- */

zc_status zc_dir_open(const char *path, size_t root_len, zc_symlinks links, zc_dir **out, zc_error *err)
{
    zc_dir opened = zc_dir_none(root_len, links);

    *out = NULL;
    opened.fd = zc_open_below(&opened, path, ZC_OPEN_DIR_FLAGS, true);
    if (opened.fd < 0 && errno == EXDEV && links == ZC_SYMLINKS_FOLLOW) {
        opened.fd = zc_open_again(AT_FDCWD, path, ZC_OPEN_DIR_FLAGS, 0);
        opened.outside = true;
    }
    if (opened.fd < 0) {
        return errno == ENOENT || errno == ENOLINK ? zc_fail(err, ZC_ERR_MISSING, "no directory %s", path)
                                                   : zc_fail_path(errno, "cannot open directory", path, err);
    }
    opened.holds = true;
    opened.path = strdup(path);
    opened.where = zc_hash_text(ZC_HASH_BASIS, path, strlen(path));
    *out = opened.path != NULL ? malloc(sizeof opened) : NULL;
    if (*out == NULL) {
        free(opened.path);
        close(opened.fd);
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for a directory handle");
    }
    **out = opened;
    return ZC_OK;
}

void zc_dir_let_go(zc_dir *dir)
{
    dir->holds = false;
    zc_parents_close(dir);
}

void zc_dir_close(zc_dir *dir)
{
    if (dir != NULL) {
        zc_dir_let_go(dir);
        close(dir->fd);
        free(dir->path);
        free(dir);
    }
}

bool zc_dir_is_same(const zc_dir *a, const zc_dir *b)
{
    struct stat of_a, of_b;

    return fstat(a->fd, &of_a) == 0 && fstat(b->fd, &of_b) == 0 && of_a.st_ino == of_b.st_ino &&
           of_a.st_dev == of_b.st_dev;
}

/* Times of files may be any; one that 64 bits cannot hold wraps, and is only compared. */
static int64_t ns_of(struct timespec time)
{
    return (int64_t)((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);
}

bool zc_dir_has(const zc_dir *dir, const char *name, zc_mark *mark)
{
    struct stat st;

    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return false;
    }
    *mark = (zc_mark){.size = (uint64_t)st.st_size, .mtime_ns = ns_of(MTIME(st)), .ctime_ns = ns_of(CTIME(st)),
                      .inode = (uint64_t)st.st_ino, .device = (uint64_t)st.st_dev};
    return true;
}

/* ---- reading ---- */

/* O_NONBLOCK: opening a FIFO would wait for a writer. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static zc_status fail_open(int code, const char *name, zc_error *err)
{
    return code == ENOENT ? zc_fail(err, ZC_ERR_MISSING, "no file %s", name)
                          : zc_fail_path(code, "cannot open", name, err);
}

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a directory"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static int64_t ns_between(int64_t before, int64_t after)
{
    return (int64_t)((uint64_t)after - (uint64_t)before);
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
    out->mtime_ns = ns_of(MTIME(st));
    out->ctime_ns = ns_of(CTIME(st));
    out->inode = (uint64_t)st.st_ino;
    out->device = (uint64_t)st.st_dev;
    return ZC_OK;
}

zc_status zc_file_open(const zc_dir *dir, const char *name, zc_file *out, zc_error *err)
{
    const int fd = zc_open_below(dir, name, READ_FLAGS, false);

    out->handle = -1;
    return fd < 0 ? fail_open(errno, name, err) : adopt(fd, name, out, err);
}

/* If reading stops at an end, it is a regular file, and no further system call has to find that out: directories,
 * FIFOs and sockets cannot be read like this, and devices have no end or nothing before it. */
zc_status zc_file_load(const zc_dir *dir, const char *name, void *dst, size_t cap, size_t *n, zc_file *out,
                       zc_error *err)
{
    zc_assert(cap >= 1);

    const int fd = zc_open_below(dir, name, READ_FLAGS, false);

    *n = 0;
    out->handle = -1;
    if (fd < 0) {
        return fail_open(errno, name, err);
    }
    const ssize_t got = pread(fd, dst, cap, 0);
    if (got <= 0 || (size_t)got == cap) {
        return adopt(fd, name, out, err);
    }
    close(fd);
    *n = (size_t)got;
    return ZC_OK;
}

static atomic_bool by_mtime_alone;

void zc_file_ages_by_mtime(bool alone)
{
    atomic_store_explicit(&by_mtime_alone, alone, memory_order_relaxed);
}

int64_t zc_file_age_ns(const zc_file *file)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t since_mtime = ns_between(file->mtime_ns, ns_of(now)), since_ctime = ns_between(file->ctime_ns, ns_of(now));
    return since_mtime < since_ctime || atomic_load_explicit(&by_mtime_alone, memory_order_relaxed) ? since_mtime : since_ctime;
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
    const zc_dir *dir;
    const char *path;                        /* of the file, below dir */
    size_t parent;                           /* length of its directory part, with the slash */
    const char *name;                        /* its last component */
    char temporary[ZC_TEMPORARY_LENGTH + 1];
    int at;                                  /* the directory of both names, held open */
    bool sync;
    zc_unsynced *later;                      /* what syncs the directory, or NULL: now */
    bool is_new;                             /* there must not be such a file yet */
    bool made_parents;
} writer;

/* Open the directory path[0 .. n) to write below it; no path is the directory itself.  Close it with close_parent. */
static int open_parent(const zc_dir *dir, const char *path, size_t n)
{
    char parent[PATH_MAX];

    if (n == 0 && (dir == NULL || dir->fd < 0 || !dir->outside)) {
        return zc_fd_of(dir);
    }
    if (n + 2 > sizeof parent) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, n);
    memcpy(parent + n, ".", n == 0 ? 2 : 0);
    parent[n > 0 ? n : 1] = '\0';
    zc_count_add(ZC_COUNT_PARENTS, 1);
    return zc_open_below(dir, parent, ZC_OPEN_DIR_FLAGS, true);
}

static void close_parent(const zc_dir *dir, int fd)
{
    if (fd >= 0 && fd != zc_fd_of(dir)) {
        close(fd);
    }
}

static bool is_open(int at)
{
    return at >= 0 || at == AT_FDCWD;
}

/* Make what is missing of the directory of w->path, and open it as w->at: component by component below the deepest one
 * that exists, so that no link is followed out of the root.  0 or errno. */
static int make_parents(writer *w)
{
    char path[PATH_MAX];
    size_t start = w->parent;
    int above;

    memcpy(path, w->path, start);            /* it fits: opening it has been tried */
    do {
        start--;                             /* the slash at the end of what is missing */
        while (start > 0 && path[start - 1] != '/') {
            start--;
        }
        above = open_parent(w->dir, path, start > 1 ? start - 1 : start);
    } while (!is_open(above) && errno == ENOENT && start > 1);
    for (size_t end = start; is_open(above) && end < w->parent; end++) {
        if (path[end] != '/') {
            continue;
        }
        path[end] = '\0';
        int code = start == end || mkdirat(above, path + start, 0777) == 0 || errno == EEXIST ? 0 : errno;
        if (code == 0 && start < end && w->sync) {       /* now: others may use it before this call ends */
            code = zc_sync_directory(above);
        }
        const int fd = code == 0 ? open_parent(w->dir, w->path, end) : -1;
        code = code == 0 ? errno : code;
        path[end] = '/';
        close_parent(w->dir, above);
        errno = code;
        above = fd;
        start = end + 1;
    }
    w->made_parents = true;
    w->at = above;
    return is_open(above) ? 0 : errno;
}

/* Open the directory of w->path; it is made if it is missing.  0 or errno. */
static int open_directory(writer *w)
{
    for (int tries_left = PARENT_TRIES;; tries_left--) {
        w->at = open_parent(w->dir, w->path, w->parent);
        if (is_open(w->at)) {
            return 0;
        }
        if (errno != ENOENT || tries_left == 0) {
            return errno;
        }
        const int code = make_parents(w);
        if (code != ENOENT) {
            return code;
        }
    }
}

/* Create a file with a temporary name in the directory of w->path.  Its descriptor, or -1 and errno. */
static int open_temporary(writer *w)
{
    int parents_left = PARENT_TRIES;
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    for (int names_left = NAME_TRIES; names_left > 0;) {
        zc_temporary_name(zc_this_process(), (uint64_t)now.tv_nsec, w->temporary);
        const int fd = zc_open_again(w->at, w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd >= 0) {
            return fd;
        }
        if (errno == EEXIST) {
            names_left--;
            continue;
        }
        if ((errno != ENOENT && errno != ESTALE) || w->parent == 0 || parents_left-- == 0) {
            return -1;
        }
        close_parent(w->dir, w->at);         /* someone removed the directory that was empty */
        const int code = open_directory(w);
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

/* Write all pieces.  *failed is what the source reports if it fails; the result is 0 or errno. */
static int write_pieces(int fd, const zc_file_source *source, zc_status *failed, zc_error *err)
{
    int code = 0;

    for (uint64_t at = 0; at < source->total && code == 0;) {
        const void *data;
        size_t n;
        *failed = zc_source_piece(source, at, &data, &n, err);
        if (*failed != ZC_OK) {
            return 0;
        }
        code = write_all(fd, data, n);
        at += n;
    }
    return code;
}

static int fill_temporary(const writer *w, int fd, const zc_file_source *source, zc_status *failed, zc_error *err)
{
    int code = write_pieces(fd, source, failed, err);

    if (code == 0 && *failed == ZC_OK && w->sync) {
        code = zc_sync_file(fd);
    }
    if (code == 0 && *failed == ZC_OK && source->drop) {
        zc_file_drop(&(zc_file){.handle = fd}, 0, 0);
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
    const int fd = zc_open_again(w->at, w->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

/* Put it in place, also of a directory that has lost all its values.  0 or errno. */
static int put_over_emptied(const writer *w)
{
    int code = w->is_new ? put_in_new_place(w) : put_in_place(w);

    for (int tries = PARENT_TRIES; tries > 0 && (code == EISDIR || (w->is_new && code == EEXIST)); tries--) {
        const int emptied = zc_remove_emptied(w->at, w->name);
        if (emptied != 0 && (emptied != ENOTDIR || w->is_new)) {     /* ENOTDIR: it is a file by now */
            return code;
        }
        code = w->is_new ? put_in_new_place(w) : put_in_place(w);
    }
    return code;
}

/* Fill the temporary file and put it in place; w->at is open. */
static zc_status write_below(writer *w, const zc_file_source *source, zc_error *err)
{
    zc_status failed = ZC_OK;
    const int fd = open_temporary(w);

    if (fd < 0) {
        return zc_fail_errno(err, errno, "cannot create a temporary file for %s", w->path);
    }
    if (!w->is_new) {                        /* what is created is mostly the first thing in its directory */
        const uint64_t where = w->dir != NULL && w->dir->fd >= 0 ? w->dir->where : ZC_HASH_BASIS;
        zc_clean_directory(w->at, w->path, w->parent, where, w->made_parents);
    }
    int code = fill_temporary(w, fd, source, &failed, err);
    if (code == 0 && failed == ZC_OK) {
        code = put_over_emptied(w);
    }
    if (code != 0 || failed != ZC_OK) {
        unlinkat(w->at, w->temporary, 0);
        return failed != ZC_OK ? failed : zc_fail_errno(err, code, "cannot write %s", w->path);
    }
    code = w->sync ? zc_sync_later(w->later, w->at, w->path) : 0;
    return code == 0 ? ZC_OK : zc_fail_errno(err, code, "cannot sync the directory of %s", w->path);
}

static size_t parent_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash + 1 - path) : 0;
}

zc_status zc_file_put(const zc_dir *dir, const char *name, const zc_file_source *source, bool sync, zc_unsynced *later,
                      bool is_new, zc_error *err)
{
    writer w = {.dir = dir, .path = name, .parent = parent_length(name), .sync = sync, .later = later, .is_new = is_new};

    w.name = name + w.parent;
    const bool holds = dir != NULL && dir->holds && w.parent > 0 && !sync;
    zc_parent *const held = holds ? zc_parent_take(dir, name, w.parent) : NULL;
    w.at = held != NULL ? held->fd : -1;
    const int code = held != NULL ? 0 : open_directory(&w);
    const zc_status status = code == 0 ? write_below(&w, source, err) : zc_fail_path(code, "cannot write", name, err);
    if (holds && status == ZC_OK) {
        zc_parent_hold(dir, held, name, w.parent, w.at);
    } else {
        free(held);
        close_parent(dir, w.at);
    }
    return status;
}

int zc_make_parents(const zc_dir *dir, const char *path, bool sync)
{
    writer w = {.dir = dir, .path = path, .parent = parent_length(path), .sync = sync};
    const int code = open_directory(&w);

    close_parent(dir, w.at);
    return code;
}

zc_status zc_file_remove(const zc_dir *dir, const char *name, bool sync, zc_unsynced *later, zc_error *err)
{
    const size_t parent = parent_length(name);
    const int at = open_parent(dir, name, parent);
    int code = is_open(at) && unlinkat(at, name + parent, 0) == 0 ? 0 : errno;

    if (is_open(at) && (code == EISDIR || code == EPERM)) {      /* which of them a system says of a directory */
        const int emptied = zc_remove_emptied(at, name + parent);
        code = emptied == ENOTDIR ? code : emptied;
    }
    if (sync && (code == 0 || (code == ENOENT && is_open(at)))) {     /* who removed it may not have got so far */
        code = zc_sync_later(later, at, name);
    }
    close_parent(dir, at);
    return code == 0 || code == ENOENT ? ZC_OK : zc_fail_path(code, "cannot remove", name, err);
}

#endif
