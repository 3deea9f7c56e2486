/* SPDX-License-Identifier: MIT
 *
 * Removing the temporary files of killed writers, see file.h.
 */
#ifndef _WIN32

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"

#define DEPTH_MAX 200                        /* one descriptor per level; stores are a few levels deep */
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

typedef struct cleaner {
    time_t before;                           /* files written later may still be in use */
    size_t removed;
    zc_status status;                        /* the first failure */
    zc_error *err;
} cleaner;

/* Other processes work here too: what is gone already is fine. */
static void note_failure(cleaner *c, const char *what, const char *name)
{
    if (c->status == ZC_OK && errno != ENOENT) {
        c->status = zc_fail_errno(c->err, errno, "cannot %s %s", what, name);
    }
}

static void remove_if_old(cleaner *c, int fd, const char *name)
{
    struct stat st;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        note_failure(c, "inspect", name);
    } else if (S_ISREG(st.st_mode) && st.st_mtime < c->before) {
        if (unlinkat(fd, name, 0) == 0) {
            c->removed++;
        } else {
            note_failure(c, "remove", name);
        }
    }
}

static bool is_directory(int fd, const struct dirent *entry)
{
    struct stat st;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
        return false;
    }
#ifdef DT_DIR
    if (entry->d_type != DT_UNKNOWN) {
        return entry->d_type == DT_DIR;
    }
#endif
    return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Takes over fd. */
static void clean(cleaner *c, int fd, const char *name, int depth)
{
    const struct dirent *entry;
    DIR *list = fdopendir(fd);

    if (list == NULL) {
        note_failure(c, "list", name);
        close(fd);
        return;
    }
    while (errno = 0, (entry = readdir(list)) != NULL) {
        if (zc_file_is_temporary(entry->d_name)) {
            remove_if_old(c, fd, entry->d_name);
        } else if (depth < DEPTH_MAX && is_directory(fd, entry)) {
            const int below = openat(fd, entry->d_name, OPEN_FLAGS | O_NOFOLLOW);

            if (below < 0) {
                note_failure(c, "open directory", entry->d_name);
            } else {
                clean(c, below, entry->d_name, depth + 1);
            }
        }
    }
    if (errno != 0) {
        note_failure(c, "list", name);
    }
    closedir(list);
}

zc_status zc_dir_clean_temporaries(const char *path, int64_t older_than_s, size_t *removed, zc_error *err)
{
    cleaner c = {.before = time(NULL) - (time_t)older_than_s, .err = err};
    const int fd = open(path, OPEN_FLAGS);

    if (removed != NULL) {
        *removed = 0;
    }
    if (fd < 0) {
        return errno == ENOENT ? zc_fail(err, ZC_ERR_MISSING, "no directory %s", path)
                               : zc_fail_errno(err, errno, "cannot open directory %s", path);
    }
    clean(&c, fd, path, 0);
    if (removed != NULL) {
        *removed = c.removed;
    }
    return c.status;
}

#else
typedef int zc_clean_posix_is_empty;
#endif
