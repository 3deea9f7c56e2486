/* SPDX-License-Identifier: MIT
 *
 * Directories that have lost all their values: they stay until a value takes their name.
 */
#include "base/features.h"

#ifndef _WIN32

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/open_posix.h"

#define LEVELS_MAX 32
#define LIST_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int remove_directories(int at, const char *name, bool look, int levels);

/* What remove_directories does, for everything in a directory whose descriptor is closed. */
static int each_inside(int fd, bool look, int levels)
{
    DIR *const list = fdopendir(fd);
    const struct dirent *entry;
    int code = 0;

    if (list == NULL) {
        code = errno;
        close(fd);
        return code;
    }
    while (code == 0 && (errno = 0, entry = readdir(list)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            code = remove_directories(dirfd(list), entry->d_name, look, levels);
        }
    }
    code = code == 0 ? errno : code;
    closedir(list);
    return code;
}

/* Remove a directory and the directories in it, or only `look` whether there is nothing else.  0 or errno. */
static int remove_directories(int at, const char *name, bool look, int levels)
{
    if (!look && (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)) {
        return 0;
    }
    const int fd = levels > 0 ? zc_open_again(at, name, LIST_FLAGS, 0) : -1;
    if (fd < 0) {
        return levels == 0 ? ELOOP : errno == ENOENT ? 0 : errno;
    }
    const int code = each_inside(fd, look, levels - 1);
    return code != 0 || look || unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? code : errno;
}

int zc_remove_emptied(int at, const char *name)
{
    struct stat st;

    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : errno;
    }
    if (!S_ISDIR(st.st_mode)) {
        return ENOTDIR;
    }
    int code = unlinkat(at, name, AT_REMOVEDIR) == 0 ? 0 : errno;
    if (code == ENOTEMPTY || code == EEXIST) {           /* others may be at work in it: nothing is removed beside a file */
        code = remove_directories(at, name, true, LEVELS_MAX);
        code = code == 0 ? remove_directories(at, name, false, LEVELS_MAX) : code;
    }
    return code == 0 || code == ENOENT ? 0 : EISDIR;
}

#endif
