/* SPDX-License-Identifier: MIT
 *
 * Directories as stores of trees (POSIX).  No link is followed out of the root, and none at all when something is removed.
 */
#include "base/features.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "document/tree.h"

/* ---- opening ------------------------------------------------------------------------------------ */

#ifndef _WIN32

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/open_posix.h"

/* root/path, to be freed. */
static char *whole_path(const zarrcore_store *store, const char *path, zc_error *err)
{
    const zc_shared *const shared = store->shared;
    const size_t n = strlen(path);
    char *const out = malloc(shared->root_len + n + 2);

    if (out == NULL) {
        zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(out, shared->root, shared->root_len);
    memcpy(out + shared->root_len, "/", 2);
    memcpy(out + shared->root_len + (n > 0 || shared->root_len == 0), path, n + 1);
    return out;
}

static zc_dir rules_of(const zarrcore_store *store)
{
    const bool follow = (store->shared->flags & ZARRCORE_FOLLOW_SYMLINKS) != 0;

    return zc_dir_none(store->shared->root_len, follow ? ZC_SYMLINKS_FOLLOW : ZC_SYMLINKS_INSIDE);
}

static bool syncs(const zarrcore_store *store)
{
    return (store->shared->flags & ZARRCORE_SYNC) != 0;
}

static zc_status read_value(const zc_file *file, const char *key, zc_text *out, zc_error *err)
{
    if (file->size > ZC_DOCUMENT_MAX) {
        return zc_fail(err, ZC_ERR_METADATA, "%.200s: %llu bytes are too many for a metadata document", key,
                       (unsigned long long)file->size);
    }
    out->n = (size_t)file->size;
    out->data = malloc(out->n + 1);
    if (out->data == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    out->data[out->n] = '\0';
    return zc_file_read(file, 0, out->data, out->n, err);
}

static zc_status local_get(const zarrcore_store *store, const char *key, zc_text *out, zc_mark *mark, zc_error *err)
{
    const zc_dir rules = rules_of(store);
    char *const path = whole_path(store, key, err);
    zc_file file;

    *out = (zc_text){NULL, 0};
    if (path == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = zc_file_open(&rules, path, &file, err);
    free(path);
    if (status == ZC_OK) {
        *mark = zc_file_mark(&file);
        status = read_value(&file, key, out, err);
        zc_file_close(&file);
    } else if (status == ZC_ERR_IO && err->sys_errno == ENOTDIR) {
        zc_error_clear(err);                 /* below a file there is no node */
        return zc_fail(err, ZC_ERR_MISSING, "no file %.200s", key);
    }
    if (status != ZC_OK) {
        zc_text_free(out);
    }
    return status;
}

static zc_status local_put(const zarrcore_store *store, const char *key, const zc_text *value, bool is_new, zc_error *err)
{
    const zc_dir rules = rules_of(store);
    char *const path = whole_path(store, key, err);

    if (path == NULL) {
        return ZC_ERR_MEMORY;
    }
    zc_status status = is_new ? zc_file_create(&rules, path, value->data, value->n, syncs(store), err)
                              : zc_file_replace(&rules, path, value->data, value->n, syncs(store), err);
    if (is_new && status == ZC_ERR_IO && err->sys_errno == EEXIST) {
        zc_error_clear(err);
        status = zc_fail(err, ZC_ERR_EXISTS, "%.200s is there already", key);
    }
    free(path);
    return status;
}

static zc_status local_remove(const zarrcore_store *store, const char *key, zc_error *err)
{
    const zc_dir rules = rules_of(store);
    char *const path = whole_path(store, key, err);

    if (path == NULL) {
        return ZC_ERR_MEMORY;
    }
    const zc_status status = zc_file_remove(&rules, path, syncs(store), NULL, err);
    free(path);
    return status;
}

/* ---- listing ------------------------------------------------------------------------------------ */

static bool is_directory(int fd, const struct dirent *entry, bool follow)
{
    struct stat st;

#ifdef DT_DIR
    if (entry->d_type != DT_UNKNOWN && (entry->d_type != DT_LNK || !follow)) {
        return entry->d_type == DT_DIR;
    }
#endif
    return fstatat(fd, entry->d_name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* The entries of an open directory, whose descriptor is taken over; *list keeps it open until closedir.  To list is to follow links, and may
 * be cancelled; to remove is not: the next node there would find what was left. */
static zc_status read_entries(int fd, bool lists, DIR **list, zc_names *out, zc_error *err)
{
    const struct dirent *entry;
    zc_status status = ZC_OK;

    *list = fdopendir(fd);
    if (*list == NULL) {
        const int code = errno;
        close(fd);
        return code == ENOMEM ? zc_fail(err, ZC_ERR_MEMORY, "out of memory") : zc_fail_errno(err, code, "cannot list a directory");
    }
    errno = 0;
    while (status == ZC_OK && (entry = readdir(*list)) != NULL) {
        const char *const name = entry->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            status = zc_names_add(out, name, strlen(name), is_directory(fd, entry, lists), err);
        }
        if (lists && status == ZC_OK) {
            status = zc_check_cancelled(err);
        }
        errno = 0;
    }
    return status == ZC_OK && errno != 0 ? zc_fail_errno(err, errno, "cannot list a directory") : status;
}

static zc_status local_list(const zarrcore_store *store, const char *path, zc_names *out, zc_error *err)
{
    const zc_dir rules = rules_of(store);
    char *const whole = whole_path(store, path, err);
    DIR *list = NULL;

    if (whole == NULL) {
        return ZC_ERR_MEMORY;
    }
    const int fd = zc_open_below(&rules, whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC, false), code = errno;
    zc_status status = ZC_OK;
    if (fd >= 0) {
        status = read_entries(fd, true, &list, out, err);
        if (list != NULL) {
            closedir(list);
        }
    } else if (code != ENOENT && code != ENOTDIR) {
        status = zc_fail_path(code, "cannot open directory", whole, err);
    }
    free(whole);
    return status;
}

/* ---- removing ----------------------------------------------------------------------------------- */

static int sync_directory(int fd)
{
    const int copy = zc_open_again(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    int code = copy < 0 ? errno : 0;

    if (copy >= 0) {
        code = fsync(copy) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
        close(copy);
    }
    return code;
}

static zc_status fail_remove(int code, const char *name, zc_error *err)
{
    return zc_fail_errno(err, code, "cannot remove %.200s", name);
}

static zc_status erase_entries(int fd, bool sync, int depth, zc_error *err);

/* A directory in one that is open; others may remove it meanwhile, or put something into it, which stays. */
static zc_status erase_directory(int above, const char *name, bool sync, int depth, zc_error *err)
{
    const int fd = zc_open_again(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);

    if (fd < 0) {
        return errno == ENOENT ? ZC_OK : fail_remove(errno, name, err);
    }
    const zc_status status = erase_entries(fd, sync, depth + 1, err);
    if (status != ZC_OK) {
        return status;
    }
    const bool gone = unlinkat(above, name, AT_REMOVEDIR) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST;
    return gone ? ZC_OK : fail_remove(errno, name, err);
}

static zc_status erase_step(int fd, const zc_names *names, int step, bool sync, int depth, zc_error *err)
{
    zc_status status = ZC_OK;

    for (size_t i = 0; i < names->n && status == ZC_OK; i++) {
        const char *const name = names->at[i].text;
        if (zc_removal_step(&names->at[i]) != step) {
            continue;
        }
        if (step == ZC_STEP_BELOW) {
            status = erase_directory(fd, name, sync, depth, err);
        } else if (unlinkat(fd, name, 0) != 0 && errno != ENOENT) {
            status = fail_remove(errno, name, err);
        }
    }
    return status;
}

/* Everything in a directory, whose descriptor is taken over. */
static zc_status erase_entries(int fd, bool sync, int depth, zc_error *err)
{
    zc_names names = {0};
    DIR *list = NULL;
    int code = 0;

    if (depth > ZC_DEEPEST) {
        close(fd);
        return zc_fail_errno(err, ELOOP, "directories are nested more than %d deep", ZC_DEEPEST);
    }
    zc_status status = read_entries(fd, false, &list, &names, err);
    for (int step = 0; step <= ZC_STEP_BELOW && status == ZC_OK; step++) {
        status = erase_step(fd, &names, step, sync, depth, err);
        code = status == ZC_OK && sync && step != 0 && step != 2 ? sync_directory(fd) : 0;   /* a crash keeps that order */
        status = code != 0 ? zc_fail_errno(err, code, "cannot sync a directory") : status;
    }
    zc_names_free(&names);
    if (list != NULL) {
        closedir(list);
    }
    return status;
}

/* A directory, or a link to one: links are unlinked, not followed. */
static zc_status erase_at(int above, const char *name, bool sync, zc_error *err)
{
    struct stat st;

    if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? ZC_OK : fail_remove(errno, name, err);
    }
    if (S_ISLNK(st.st_mode)) {
        return unlinkat(above, name, 0) == 0 || errno == ENOENT ? ZC_OK : fail_remove(errno, name, err);
    }
    zc_status status = S_ISDIR(st.st_mode) ? erase_directory(above, name, sync, 0, err) : ZC_OK;
    const int code = status == ZC_OK && sync ? sync_directory(above) : 0;
    return code != 0 ? zc_fail_errno(err, code, "cannot sync a directory") : status;
}

static zc_status local_erase(const zarrcore_store *store, const char *path, zc_error *err)
{
    const zc_dir rules = rules_of(store);
    char *const whole = whole_path(store, path, err);

    if (whole == NULL) {
        return ZC_ERR_MEMORY;
    }
    char *const slash = strrchr(whole, '/');
    *slash = '\0';
    const int above = zc_open_below(&rules, slash > whole ? whole : "/", ZC_OPEN_DIR_FLAGS, true), code = errno;
    zc_status status = ZC_OK;
    if (above >= 0) {
        status = erase_at(above, slash + 1, syncs(store), err);
        close(above);
    } else if (code != ENOENT && code != ENOTDIR) {
        status = zc_fail_path(code, "cannot open directory", whole, err);
    }
    free(whole);
    return status;
}

/* ---- the rest ----------------------------------------------------------------------------------- */

/* The real path of the deepest directory that is there, and the rest as it is. */
static zc_status local_scope(const zarrcore_store *store, const char *path, char **out, zc_error *err)
{
    char *const whole = whole_path(store, path, err);
    size_t n = whole != NULL ? strlen(whole) : 0;
    char *real = NULL;

    *out = NULL;
    if (whole == NULL) {
        return ZC_ERR_MEMORY;
    }
    for (;;) {
        const char cut = whole[n];
        whole[n] = '\0';
        real = realpath(n > 0 ? whole : "/", NULL);
        whole[n] = cut;
        if (real != NULL || errno == ENOMEM || n <= store->shared->root_len) {
            break;
        }
        while (n > 0 && whole[--n] != '/') {
        }
    }
    const size_t rest = strlen(whole + n), m = real != NULL && strcmp(real, "/") != 0 ? strlen(real) : 0;
    char *const text = real != NULL ? malloc(m + rest + 2) : NULL;
    zc_status status = ZC_OK;
    if (text != NULL) {
        memcpy(text, real, m);
        memcpy(text + m, whole + n, rest);
        const size_t total = m + rest;
        memcpy(text + total, "/", 2);
        *out = text;
    } else {
        status = real == NULL && errno != ENOMEM ? zc_fail_errno(err, errno, "cannot open directory %.200s", whole)
                                                 : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    free(real);
    free(whole);
    return status;
}

static zc_status local_begin(const zarrcore_store *store, zc_session *session, zc_error *err)
{
    (void)err;
    (void)zc_local_of(store, &session->local);
    zc_store_local(&session->local, &session->store);
    return ZC_OK;
}

static const zc_tree_ops local_ops = {.get = local_get, .put = local_put, .remove = local_remove, .erase = local_erase,
                                      .list = local_list, .scope = local_scope, .begin = local_begin};

bool zc_local_of(const zarrcore_store *store, zc_local *out)
{
    const zc_shared *const shared = store->shared;

    *out = (zc_local){.root = shared->root, .root_len = shared->root_len, .sync = syncs(store),
                      .links = rules_of(store).links, .documents = true};
    return shared->ops == &local_ops;
}

/* The absolute path of the root, which is made where that is asked for. */
static zc_status find_root(const char *path, int flags, char **out, zc_error *err)
{
    struct stat info;

    *out = realpath(path, NULL);
    if (*out == NULL && errno == ENOENT && (flags & ZARRCORE_CREATE) != 0) {
        const size_t n = strlen(path);
        char *const below = malloc(n + 3);
        if (below == NULL) {
            return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        }
        memcpy(below, path, n);
        memcpy(below + n, "/x", 3);          /* the directories above a file that is not made */
        const int code = zc_make_parents(NULL, below, (flags & ZARRCORE_SYNC) != 0);
        free(below);
        if (code != 0) {
            return zc_fail_errno(err, code, "cannot make directory %.200s", path);
        }
        *out = realpath(path, NULL);
    }
    if (*out == NULL) {
        switch (errno) {
        case ENOENT: return zc_fail(err, ZC_ERR_MISSING, "%.200s: there is no such directory", path);
        case ENOMEM: return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
        default: return zc_fail_errno(err, errno, "cannot open directory %.200s", path);
        }
    }
    if (stat(*out, &info) == 0 && !S_ISDIR(info.st_mode)) {
        free(*out);
        *out = NULL;
        return zc_fail_errno(err, ENOTDIR, "%.200s is a file", path);
    }
    return ZC_OK;
}

zc_status zc_open_directory(const char *path, int flags, zarrcore_store **out, zc_error *err)
{
    char *root;
    const zc_status status = find_root(path, flags, &root, err);

    if (status == ZC_OK) {
        *out = zc_store_new(&local_ops, NULL, flags, strcmp(root, "/") == 0 ? "" : root);
        free(root);
    }
    return status != ZC_OK || *out != NULL ? status : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

#else

zc_status zc_open_directory(const char *path, int flags, zarrcore_store **out, zc_error *err)
{
    (void)path;
    (void)flags;
    (void)out;
    return zc_fail(err, ZC_ERR_UNSUPPORTED, "trees in directories are not supported on Windows yet");
}

#endif
