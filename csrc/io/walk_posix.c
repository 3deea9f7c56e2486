/* SPDX-License-Identifier: MIT
 *
 * See walk.h.
 */
#include "base/features.h"

#ifndef _WIN32

#include "io/walk.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/lock.h"
#include "io/open_posix.h"

#ifdef DT_UNKNOWN

#define LEVELS_MAX 32                /* directories that are open at once */
#define PAUSE 4096                   /* entries */
#define LIST_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

typedef struct state {
    const zc_walk *walk;
    char path[PATH_MAX];
    unsigned seen;
} state;

static bool is_lock_file(const char *name)
{
    static const char start[] = ZC_LOCK_FILE;

    if (strncmp(name, start, sizeof start - 1) != 0) {
        return false;
    }
    const char *rest = name + sizeof start - 1;
    if (*rest == '\0') {
        return true;
    }
    rest += rest[0] == '-' && rest[1] == 'd' && rest[2] != '\0' ? 2 : rest[0] == '-' ? 1 : 0;
    return rest[-1] != 's' && *rest != '\0' && strchr("0123456789abcdef", *rest) != NULL && rest[1] == '\0';
}

/* The size of a regular file; false: it has been removed since it was listed. */
static bool find_size(int fd, const char *name, unsigned char type, int64_t *out)
{
    struct stat st;

    *out = ZC_SIZE_NONE;
    if (type == DT_REG && fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno != ENOENT;
    }
    *out = type == DT_REG && S_ISREG(st.st_mode) ? (int64_t)st.st_size : ZC_SIZE_NONE;
    return true;
}

static int walk_directory(state *s, int fd, size_t n, int levels);

/* Open the directory of that name in another one, and walk it. */
static int walk_inner(state *s, int above, const char *name, size_t n, int levels)
{
    if (levels == 0) {
        return ELOOP;
    }
    const int fd = zc_open_again(above, name, LIST_FLAGS, 0);
    s->path[n] = '/';
    return fd < 0 ? errno : walk_directory(s, fd, n + 1, levels - 1);
}

static int visit(state *s, DIR *list, const struct dirent *entry, size_t above, int levels)
{
    const zc_walk *const walk = s->walk;
    const size_t n = above + strlen(entry->d_name);
    int64_t size = ZC_SIZE_NOT_ASKED;

    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
        return ELOOP;
    }
    if (n + 2 > sizeof s->path) {
        return ENAMETOOLONG;
    }
    memcpy(s->path + above, entry->d_name, n - above + 1);
    if (++s->seen % PAUSE == 0 && walk->on_pause != NULL && walk->on_pause(walk->arg) != 0) {
        return ECANCELED;
    }
    if (entry->d_type == DT_DIR) {
        return walk_inner(s, dirfd(list), entry->d_name, n, levels);
    }
    if ((walk->sizes || entry->d_type != DT_REG) && !find_size(dirfd(list), entry->d_name, entry->d_type, &size)) {
        return 0;
    }
    return walk->on_entry(walk->arg, s->path, n, size);
}

/* The entries of a directory whose path has n bytes; the descriptor is closed. */
static int walk_directory(state *s, int fd, size_t n, int levels)
{
    DIR *const list = fdopendir(fd);
    const struct dirent *entry;
    bool is_empty = true;
    int code = 0;

    if (list == NULL) {
        code = errno;
        close(fd);
        return code;
    }
    while (code == 0) {
        errno = 0;
        entry = readdir(list);
        if (entry == NULL) {
            code = errno;
            break;
        }
        const char *const name = entry->d_name;
        if (name[0] != '.' || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !is_lock_file(name))) {
            is_empty = false;
            code = visit(s, list, entry, n, levels);
        }
    }
    closedir(list);
    if (code == 0 && is_empty && n > 0) {
        s->path[n] = '\0';
        code = s->walk->on_entry(s->walk->arg, s->path, n, ZC_SIZE_NONE);
    }
    return code;
}

int zc_walk_below(const zc_dir *rules, const char *path, const zc_walk *walk)
{
    state s = {.walk = walk};
    const int fd = zc_open_below(rules, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, false);

    return fd < 0 ? errno : walk_directory(&s, fd, 0, LEVELS_MAX);
}

#else

int zc_walk_below(const zc_dir *rules, const char *path, const zc_walk *walk)
{
    (void)rules, (void)path, (void)walk;
    return ELOOP;
}

#endif

#endif
