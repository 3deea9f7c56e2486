/* SPDX-License-Identifier: MIT
 *
 * What the tests of the file layer share: each case runs in an empty directory of its own, which is also the current
 * one, once through a held directory and once by plain paths.
 */
#pragma once

#include "check.h"

#include <errno.h>

#include "files.h"
#include "io/file.h"
#include "io/temporary.h"

enum { PATH_ROOM = 4096 };

static zc_dir *dir;              /* the working directory of the tests; NULL: files are named by plain paths */
static zc_error err;

static inline zc_status open_status(const char *name)
{
    zc_file file;
    const zc_status status = zc_file_open(dir, name, &file, &err);

    CHECK((status == ZC_OK) == (file.handle >= 0));
    zc_file_close(&file);
    return status;
}

static inline void put(const char *name, const char *text)
{
    CHECK(zc_file_replace(dir, name, text, strlen(text), false, &err) == ZC_OK);
}

static inline bool holds(const char *name, const char *text)
{
    char buffer[256];
    zc_file file;
    const size_t n = strlen(text);

    if (zc_file_open(dir, name, &file, &err) != ZC_OK) {
        return false;
    }
    const bool good = file.size == n && zc_file_read(&file, 0, buffer, n, &err) == ZC_OK;
    zc_file_close(&file);
    return good && memcmp(buffer, text, n) == 0;
}

/* How many entries a directory has whose names say "temporary", or (all) of any kind. */
static inline int entries(const char *path, bool all)
{
    int n = 0;
    DIR *list = opendir(path);

    for (struct dirent *e; list != NULL && (e = readdir(list)) != NULL;) {
        n += all ? e->d_name[0] != '.' || e->d_name[1] == 'z' : zc_file_is_temporary(e->d_name);
    }
    if (list != NULL) {
        closedir(list);
    }
    return n;
}

static inline bool failed_with(zc_status status, int code)
{
    return status == ZC_ERR_IO && err.sys_errno == code;
}

typedef struct file_case {
    const char *name;
    void (*test)(void);
} file_case;

static void run_case(const file_case *c, bool held)
{
    char path[PATH_ROOM], before[PATH_ROOM];

    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK(make_temporary(path, sizeof path) && chdir(path) == 0);
    dir = NULL;
    if (held) {
        CHECK(zc_dir_open(path, strlen(path), ZC_SYMLINKS_FOLLOW, &dir, &err) == ZC_OK);
    }
    c->test();
    zc_dir_close(dir);
    CHECK(chdir(before) == 0 && remove_tree(path, sizeof path));
}

static inline void run_cases(const file_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check_case = cases[i].name;
        check_cases++;
        run_case(&cases[i], true);
        run_case(&cases[i], false);
    }
}
