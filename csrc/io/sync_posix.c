/* SPDX-License-Identifier: MIT
 *
 * See sync_posix.h and unsynced.h.
 */
#ifndef _WIN32

#include "io/sync_posix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os_thread.h"
#include "base/pool.h"
#include "io/open_posix.h"

#define HELD_MAX 32              /* descriptors of a call; the oldest makes room */

typedef struct held {
    int fd;
    dev_t device;
    ino_t inode;
    char *path;                  /* of a file in it, or NULL */
} held;

struct zc_unsynced {
    zc_mutex lock;
    held dirs[HELD_MAX];
    size_t n;
    size_t oldest;               /* once there are HELD_MAX */
};

int zc_sync_file(int fd)
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

static int sync_open_directory(int fd)
{
    const int code = zc_sync_file(fd);

    return code == EINVAL || code == ENOTSUP ? 0 : code;
}

static int open_to_sync(int fd)
{
    return zc_open_again(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

int zc_sync_directory(int fd)
{
    const int again = open_to_sync(fd);

    if (again < 0) {
        return errno;
    }
    const int code = sync_open_directory(again);
    close(again);
    return code;
}

static bool is_held(const zc_unsynced *unsynced, const struct stat *st)
{
    for (size_t i = 0; i < unsynced->n; i++) {
        if (unsynced->dirs[i].inode == st->st_ino && unsynced->dirs[i].device == st->st_dev) {
            return true;
        }
    }
    return false;
}

int zc_sync_later(zc_unsynced *unsynced, int fd, const char *path)
{
    held out = {.fd = -1};
    struct stat st;

    if (unsynced == NULL) {
        return zc_sync_directory(fd);
    }
    if (fstatat(fd, ".", &st, 0) != 0) {
        return errno;
    }
    zc_mutex_lock(&unsynced->lock);
    if (!is_held(unsynced, &st)) {
        held added = {.fd = open_to_sync(fd), .device = st.st_dev, .inode = st.st_ino};
        if (added.fd < 0) {
            const int code = errno;
            zc_mutex_unlock(&unsynced->lock);
            return code;
        }
        added.path = strdup(path);           /* without memory, a failure names the file that is written then */
        if (unsynced->n < HELD_MAX) {
            unsynced->dirs[unsynced->n++] = added;
        } else {
            out = unsynced->dirs[unsynced->oldest];
            unsynced->dirs[unsynced->oldest] = added;
            unsynced->oldest = (unsynced->oldest + 1) % HELD_MAX;
        }
    }
    zc_mutex_unlock(&unsynced->lock);
    const int code = out.fd >= 0 ? sync_open_directory(out.fd) : 0;
    if (out.fd >= 0) {
        close(out.fd);
    }
    free(out.path);
    return code;
}

zc_status zc_unsynced_new(zc_unsynced **out, zc_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "no memory for %zu bytes", sizeof **out);
    }
    zc_mutex_init(&(*out)->lock);
    return ZC_OK;
}

static zc_status sync_one(void *job, size_t item, zc_workspace *ws, zc_error *err)
{
    const held *const dir = &((const zc_unsynced *)job)->dirs[item];
    const int code = sync_open_directory(dir->fd);

    (void)ws;
    return code == 0 ? ZC_OK
                     : zc_fail_errno(err, code, "cannot sync the directory of %s", dir->path != NULL ? dir->path : "a file");
}

zc_status zc_unsynced_end(zc_unsynced *unsynced, int threads, zc_error *err)
{
    if (unsynced == NULL) {
        return ZC_OK;
    }
    const zc_run run = {.task = sync_one, .job = unsynced, .n_items = unsynced->n, .threads = threads};
    const zc_status status = zc_pool_run(&run, NULL, err);
    for (size_t i = 0; i < unsynced->n; i++) {
        close(unsynced->dirs[i].fd);
        free(unsynced->dirs[i].path);
    }
    zc_mutex_destroy(&unsynced->lock);
    free(unsynced);
    return status;
}

#else
typedef int zc_sync_posix_is_empty;          /* a translation unit needs a declaration */
#endif
