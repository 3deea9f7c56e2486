/* SPDX-License-Identifier: MIT
 *
 * What tests need of directories, on POSIX and Windows.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef _WIN32
#include <direct.h>
#endif

/* One level. */
static inline bool make_directory(const char *path)
{
#ifdef _WIN32
    return _mkdir(path) == 0;
#else
    return mkdir(path, 0777) == 0;
#endif
}

/* A new directory of the system's for temporary files; its path, with room for `size` characters. */
static inline bool make_temporary(char *path, size_t size)
{
#ifdef _WIN32
    static int number;
    const char *const above = getenv("TEMP");
    bool made = false;

    for (int i = 0; i < 1000 && !made; i++) {
        snprintf(path, size, "%s/zc-test-%d-%d", above != NULL ? above : ".", (int)getpid(), number++);
        made = make_directory(path);
    }
    return made;
#else
    const char *const above = getenv("TMPDIR");

    snprintf(path, size, "%s/zc-test-XXXXXX", above != NULL ? above : access("/tmp", W_OK) == 0 ? "/tmp" : ".");
    return mkdtemp(path) != NULL;
#endif
}

/* The same where files need no disk, if there is such a place: for tests that make thousands of directories. */
static inline bool make_temporary_in_memory(char *path, size_t size)
{
#ifdef __linux__
    snprintf(path, size, "/dev/shm/zc-test-XXXXXX");
    if (getenv("TMPDIR") == NULL && mkdtemp(path) != NULL) {
        return true;
    }
#endif
    return make_temporary(path, size);
}

static inline bool is_directory(const char *path)
{
    struct stat st;

#ifdef _WIN32
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
#else
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
#endif
}

/* A file or a directory with all that is in it; path has room for `size` characters, and comes back as it was. */
static inline bool remove_tree(char *path, size_t size)
{
    const size_t n = strlen(path);
    bool good = true;

    if (!is_directory(path)) {
        return unlink(path) == 0;
    }
    DIR *const list = opendir(path);
    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            const int length = snprintf(path + n, size - n, "/%s", e->d_name);
            good = length > 0 && (size_t)length < size - n && remove_tree(path, size) && good;
            path[n] = '\0';
        }
    }
    return list != NULL && closedir(list) == 0 && rmdir(path) == 0 && good;
}
