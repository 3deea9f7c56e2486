/* SPDX-License-Identifier: MIT
 *
 * Opening files and directories without following symbolic links out of a root, see file.h.
 */
#include "base/features.h"

#ifndef _WIN32

#include "io/open_posix.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#define NEW_MODE 0666                        /* of a file that O_CREAT makes, less the umask */

int zc_open_again(int at, const char *name, int flags, mode_t mode)
{
    int fd;

    do {
        fd = openat(at, name, flags, mode);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

#if defined(__linux__) && !defined(SYS_openat2) && !defined(__alpha__)
#define SYS_openat2 437                      /* newer than some C libraries */
#endif

static bool is_link(int at, const char *name)
{
    struct stat st;

    return fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* Is a path that of a link to nothing, or is such a link in the place of a directory of it? */
static bool leads_to_nothing(int at, const char *path)
{
    char above[PATH_MAX];
    struct stat st;
    size_t n = strlen(path);

    if (n >= sizeof above) {
        return false;
    }
    memcpy(above, path, n + 1);
    while (n > 0 && fstatat(at, above, &st, AT_SYMLINK_NOFOLLOW) != 0) {     /* as far as there is something */
        while (n > 0 && above[--n] != '/') {
        }
        above[n] = '\0';
    }
    return n > 0 && S_ISLNK(st.st_mode) && fstatat(at, above, &st, 0) != 0;
}

/* The path without the component that it starts with, and its length. */
static const char *skip_component(const char *path, size_t *n)
{
    *n = strcspn(path, "/");
    return path + *n + strspn(path + *n, "/");
}

/* open_without_links for systems that cannot do so in one call; only relative paths. */
static int open_by_steps(int at, const char *path, int flags)
{
    char name[NAME_MAX + 1];
    int above = at;
    size_t n;

    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (;;) {
        const char *const rest = skip_component(path, &n);
        const bool last = *rest == '\0';
        if (n == 0 || n > NAME_MAX) {
            errno = n == 0 ? ELOOP : ENAMETOOLONG;
            return -1;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        const int fd = zc_open_again(above, name, (last ? flags : ZC_OPEN_DIR_FLAGS) | O_NOFOLLOW, NEW_MODE);
        int code = errno;
        if (fd < 0 && code != ENOENT && code != EMFILE && code != ENFILE && is_link(above, name)) {
            code = ELOOP;                    /* whatever the system calls it; what is absent is no link */
        }
        if (above != at) {
            close(above);
        }
        if (fd < 0 || last) {
            errno = code;
            return fd;
        }
        above = fd;
        path = rest;
    }
}

/* openat that fails with ELOOP if any component of the path is a symbolic link (or may be one). */
static int open_without_links(int at, const char *path, int flags)
{
#if defined(SYS_openat2)
    static atomic_bool is_unknown;           /* to the system, as before Linux 5.6: it is not asked again */
    int large = 0;
#ifdef O_LARGEFILE
    large = (flags & O_PATH) == 0 ? O_LARGEFILE : 0;
#endif
    const uint64_t no_symlinks = 4;          /* RESOLVE_NO_SYMLINKS */
    const struct {
        uint64_t flags, mode, resolve;
    } how = {(uint64_t)(unsigned)(flags | large), (flags & O_CREAT) != 0 ? NEW_MODE : 0, no_symlinks};
    long fd;

    if (atomic_load_explicit(&is_unknown, memory_order_relaxed)) {
        return open_by_steps(at, path, flags);
    }
    do {
        fd = syscall(SYS_openat2, at, path, &how, sizeof how);
    } while (fd < 0 && errno == EINTR);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) {    /* EPERM: some sandboxes, of calls that they do not know */
        return (int)fd;
    }
    atomic_store_explicit(&is_unknown, errno == ENOSYS, memory_order_relaxed);
#elif defined(O_NOFOLLOW_ANY)
    return zc_open_again(at, path, flags | O_NOFOLLOW_ANY, NEW_MODE);
#endif
    return open_by_steps(at, path, flags);
}

/* What of a real path is below a real root; NULL: the path is outside. */
static const char *below_root(const char *real, const char *real_root)
{
    const size_t n = strcmp(real_root, "/") == 0 ? 0 : strlen(real_root);

    if (strncmp(real, real_root, n) != 0 || (real[n] != '/' && real[n] != '\0')) {
        return NULL;
    }
    return real[n] == '/' && real[n + 1] != '\0' ? real + n + 1 : ".";
}

/* Does the deepest directory that exists of a path without a file lie outside?  What is not there is then not absent. */
static bool ends_outside(char *path, const char *real_root)
{
    char *slash, *real = NULL;

    while (real == NULL && (slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = '\0';
        real = realpath(path, NULL);
    }
    const bool outside = real != NULL && below_root(real, real_root) == NULL;
    free(real);
    return outside;
}

/* Open what a path with links resolves to, if that is inside of the root, which is open. */
static int open_resolved(int root_fd, const char *root, char *path, int flags)
{
    char *const real_root = realpath(root, NULL);
    char *const real = real_root != NULL ? realpath(path, NULL) : NULL;
    int code = errno, fd = -1;

    if (real != NULL) {
        const char *const rest = below_root(real, real_root);

        fd = rest != NULL ? open_without_links(root_fd, rest, flags) : -1;
        code = rest != NULL ? errno : EXDEV;
    } else if (real_root != NULL && code == ENOENT && ends_outside(path, real_root)) {
        code = EXDEV;
    }
    free(real_root);
    free(real);
    errno = code;
    return fd;
}

/* There are links in a path, maybe only in that of its root, which are followed.  *below: there is one below the root, or may
 * be. */
static int open_linked(const zc_dir *dir, const char *name, int flags, bool *below)
{
    char path[PATH_MAX], root[PATH_MAX];
    const int n = dir->fd >= 0 ? snprintf(path, sizeof path, "%s/%s", dir->path, name)
                               : snprintf(path, sizeof path, "%s", name);

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const size_t above = (size_t)n < dir->root_len ? (size_t)n : dir->root_len;
    const char *const rest = path + above + strspn(path + above, "/");
    if (*rest == '\0') {                     /* the root, maybe with slashes, or a directory above it */
        return zc_open_again(AT_FDCWD, path, flags, 0);
    }
    memcpy(root, path, dir->root_len);
    root[dir->root_len] = '\0';
    const int root_fd = zc_open_again(AT_FDCWD, root, ZC_OPEN_DIR_FLAGS, 0);
    if (root_fd < 0) {
        return -1;
    }
    int fd = open_without_links(root_fd, rest, flags);
    *below = fd < 0 && errno == ELOOP;
    if (*below) {
        errno = EXDEV;
        fd = dir->links != ZC_SYMLINKS_REFUSE ? open_resolved(root_fd, root, path, flags) : -1;
    }
    const int code = errno;
    close(root_fd);
    errno = code;
    return fd;
}

int zc_open_below(const zc_dir *dir, const char *name, int flags, bool writes)
{
    const int at = zc_fd_of(dir);
    const bool follow = dir == NULL || (dir->links == ZC_SYMLINKS_FOLLOW && !writes);
    bool linked = true;

    if (writes && dir != NULL && dir->fd >= 0 && dir->outside) {
        errno = EXDEV;
        return -1;
    }
    int fd = open_without_links(at, name, flags);
    if (fd >= 0 || errno != ELOOP) {
        return fd;                           /* an absent file costs no second call */
    }
    fd = follow ? zc_open_again(at, name, flags, 0) : open_linked(dir, name, flags, &linked);
    if (fd < 0 && errno == ENOENT && linked && leads_to_nothing(at, name)) {
        errno = ENOLINK;
    }
    return fd;
}

zc_status zc_fail_path(int code, const char *what, const char *path, zc_error *err)
{
    switch (code) {
    case EXDEV:
        return zc_fail_errno(err, code, "%s %.160s: a symbolic link leads out of the store, or none is to be followed", what,
                             path);
    case ENOLINK: return zc_fail_errno(err, ENOENT, "%s %.200s, a symbolic link to nothing", what, path);
    case ENOTDIR:
        return zc_fail_errno(err, code, "%s %.200s: a file is in the place of a directory above it", what, path);
    default: return zc_fail_errno(err, code, "%s %s", what, path);
    }
}

#endif
