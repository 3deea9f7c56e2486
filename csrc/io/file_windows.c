/* SPDX-License-Identifier: MIT
 *
 * See file.h.  A directory is its path here: Windows has no openat.
 */
#ifdef _WIN32

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include "base/assert.h"
#include "io/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "io/temporary.h"

#define PATH_CHARS 4096
#define TRANSFER_MAX ((size_t)0x7ffff000)
#define NAME_TRIES 16
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define TICKS_PER_SECOND 10000000            /* FILETIME counts 100 ns, from 1601 on */
#define TICKS_BEFORE_1970 UINT64_C(116444736000000000)
#define RENAME_TRIES 8

/* ---- names and error codes ---- */

static int errno_of(DWORD code)
{
    switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND: return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
    case ERROR_INVALID_NAME:
    case ERROR_INVALID_PARAMETER: return EINVAL;
    case ERROR_DIRECTORY: return ENOTDIR;
    case ERROR_INVALID_HANDLE: return EBADF;
    default: return EIO;
    }
}

static uint64_t ticks_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

/* Nanoseconds since 1970, as on POSIX. */
static int64_t ns_of(FILETIME time)
{
    return (int64_t)((ticks_of(time) - TICKS_BEFORE_1970) * 100);    /* may wrap; only compared */
}

/* Backslashes, and one where there are several: paths that begin with \\?\ are taken as they are. */
static void normalise(wchar_t *path)
{
    wchar_t *to = path;

    for (const wchar_t *at = path; *at != 0; at++) {
        const wchar_t c = *at == L'/' ? L'\\' : *at;
        if (c != L'\\' || to == path || to == path + 1 || to[-1] != L'\\') {    /* two begin a network's name */
            *to++ = c;
        }
    }
    *to = 0;
}

/* dir/name in UTF-16 with backslashes; false if it is no UTF-8 or too long. */
static bool join(const zc_dir *dir, const char *name, wchar_t *out)
{
    size_t n = 0;

    if (dir != NULL && dir->path != NULL) {
        n = wcslen(dir->path);
        if (n + 1 >= PATH_CHARS) {
            return false;
        }
        memcpy(out, dir->path, n * sizeof *out);
        out[n++] = L'\\';
    }
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, out + n, (int)(PATH_CHARS - n)) == 0) {
        return false;
    }
    normalise(out);
    return true;
}

static zc_status fail_name(zc_error *err, const char *name)
{
    return zc_fail_errno(err, ENAMETOOLONG, "too long a path, or not UTF-8: %s", name);
}

/* For a path that is not there: is a file in the place of one of its directories?  The system's error is the same as
 * for a missing directory.  Cuts the path off. */
static bool is_below_file(wchar_t *path)
{
    DWORD attributes = INVALID_FILE_ATTRIBUTES;

    for (wchar_t *end = wcsrchr(path, L'\\'); end > path && attributes == INVALID_FILE_ATTRIBUTES;
         end = wcsrchr(path, L'\\')) {
        *end = 0;
        attributes = GetFileAttributesW(path);
    }
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

/* What went wrong with a path, of the last call; the path may be cut off. */
static int errno_of_path(wchar_t *path)
{
    const DWORD code = GetLastError();

    return code == ERROR_PATH_NOT_FOUND && is_below_file(path) ? ENOTDIR : errno_of(code);
}

/* ---- directories ---- */

/* A path in full, in the form that has no limit of 260 characters and means the same after a change of directory. */
static bool make_absolute(wchar_t *path)
{
    static const wchar_t plain[] = L"\\\\?\\", network[] = L"\\\\?\\UNC";
    wchar_t full[PATH_CHARS];
    const DWORD n = GetFullPathNameW(path, PATH_CHARS, full, NULL);

    if (n == 0 || n + wcslen(network) >= PATH_CHARS) {
        return false;
    }
    if (wcsncmp(full, plain, wcslen(plain)) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0) {
        wcscpy(path, full);
    } else if (full[0] == L'\\' && full[1] == L'\\') {
        wcscpy(path, network);
        wcscat(path, full + 1);
    } else {
        wcscpy(path, plain);
        wcscat(path, full);
    }
    return true;
}

zc_status zc_dir_open(const char *path, size_t root_len, zc_symlinks links, zc_dir **out, zc_error *err)
{
    wchar_t wide[PATH_CHARS];

    *out = NULL;
    if (!join(NULL, path, wide) || !make_absolute(wide)) {
        return fail_name(err, path);
    }
    const DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        const int code = errno_of_path(wide);

        return code == ENOENT ? zc_fail(err, ZC_ERR_MISSING, "no directory %s", path)
                              : zc_fail_errno(err, code, "cannot open directory %s", path);
    }
    if (!(attributes & FILE_ATTRIBUTE_DIRECTORY)) {
        return zc_fail_errno(err, ENOTDIR, "cannot open directory %s", path);
    }
    zc_dir *dir = malloc(sizeof *dir);
    wchar_t *copy = _wcsdup(wide);
    if (dir == NULL || copy == NULL) {
        free(dir);
        free(copy);
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory: no room for a directory handle");
    }
    *dir = zc_dir_none(root_len, links);
    dir->path = copy;
    *out = dir;
    return ZC_OK;
}

void zc_dir_close(zc_dir *dir)
{
    if (dir != NULL) {
        free(dir->path);
        free(dir);
    }
}

void zc_dir_let_go(zc_dir *dir)
{
    dir->holds = false;
}

/* There are no descriptors of directories here; Python does not ask. */
int zc_open_below(const zc_dir *dir, const char *name, int flags, bool writes)
{
    (void)dir, (void)name, (void)flags, (void)writes;
    errno = ENOSYS;
    return -1;
}

/* A directory is held by its name alone. */
bool zc_dir_is_same(const zc_dir *a, const zc_dir *b)
{
    return wcscmp(a->path, b->path) == 0;
}

bool zc_dir_has(const zc_dir *dir, const char *name, zc_mark *mark)
{
    wchar_t wide[PATH_CHARS];
    WIN32_FILE_ATTRIBUTE_DATA found;

    if (!join(dir, name, wide) || !GetFileAttributesExW(wide, GetFileExInfoStandard, &found)) {
        return false;
    }
    *mark = (zc_mark){.size = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow,
                      .mtime_ns = ns_of(found.ftLastWriteTime)};
    return true;
}

/* ---- reading ---- */

/* Opening a directory fails with ERROR_ACCESS_DENIED as well. */
static zc_status fail_open(wchar_t *wide, const char *name, zc_error *err)
{
    const DWORD failure = GetLastError();
    const DWORD attributes = GetFileAttributesW(wide);

    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY)) {
        return zc_fail_errno(err, EISDIR, "%s is no regular file but a directory", name);
    }
    SetLastError(failure);
    const int code = errno_of_path(wide);
    return code == ENOENT    ? zc_fail(err, ZC_ERR_MISSING, "no file %s", name)
           : code == ENOTDIR ? zc_fail_errno(err, code, "cannot open %s: a file is in the place of a directory above it",
                                             name)
                             : zc_fail_errno(err, code, "cannot open %s", name);
}

zc_status zc_file_open(const zc_dir *dir, const char *name, zc_file *out, zc_error *err)
{
    wchar_t wide[PATH_CHARS];
    BY_HANDLE_FILE_INFORMATION info;

    out->handle = -1;
    if (!join(dir, name, wide)) {
        return fail_name(err, name);
    }
    const HANDLE file = CreateFileW(wide, GENERIC_READ, SHARE_ALL, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL,
                                    NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return fail_open(wide, name, err);
    }
    if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info)) {
        CloseHandle(file);
        return zc_fail_errno(err, EINVAL, "%s is no regular file", name);
    }
    out->handle = (intptr_t)file;
    out->size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
    out->mtime_ns = ns_of(info.ftLastWriteTime);
    out->ctime_ns = 0;
    out->inode = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
    out->device = info.dwVolumeSerialNumber;
    return ZC_OK;
}

/* Here nothing is gained by reading before the size is known. */
zc_status zc_file_load(const zc_dir *dir, const char *name, void *dst, size_t cap, size_t *n, zc_file *out,
                       zc_error *err)
{
    zc_assert(cap >= 1);

    zc_status status = zc_file_open(dir, name, out, err);

    *n = 0;
    if (status != ZC_OK || out->size == 0 || out->size >= cap) {
        return status;
    }
    status = zc_file_read(out, 0, dst, (size_t)out->size, err);
    *n = status == ZC_OK ? (size_t)out->size : 0;
    zc_file_close(out);
    return status;
}

size_t zc_file_read_ready(const zc_file *file, uint64_t offset, void *dst, size_t n, bool *refused)
{
    (void)file, (void)offset, (void)dst, (void)n;
    *refused = true;
    return 0;
}

bool zc_file_announce(const zc_file *file, uint64_t offset, uint64_t n)
{
    (void)file, (void)offset, (void)n;
    return false;
}

void zc_file_drop(const zc_file *file, uint64_t offset, uint64_t n)
{
    (void)file, (void)offset, (void)n;
}

void zc_file_ages_by_mtime(bool alone)
{
    (void)alone;    /* there is no other time */
}

int64_t zc_file_age_ns(const zc_file *file)
{
    FILETIME now;

    GetSystemTimeAsFileTime(&now);
    return (int64_t)((uint64_t)ns_of(now) - (uint64_t)file->mtime_ns);
}

void zc_file_close(zc_file *file)
{
    if (file->handle != -1) {
        CloseHandle((HANDLE)file->handle);
        file->handle = -1;
    }
}

zc_status zc_file_read(const zc_file *file, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    size_t done = 0;

    if (offset > INT64_MAX || n > INT64_MAX - offset) {
        return zc_fail(err, ZC_ERR_CORRUPT, "no file has %zu bytes at offset %llu", n,
                       (unsigned long long)offset);
    }
    while (done < n) {
        const size_t piece = n - done < TRANSFER_MAX ? n - done : TRANSFER_MAX;
        const uint64_t at = offset + done;
        OVERLAPPED where = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
        DWORD got = 0;

        if (!ReadFile((HANDLE)file->handle, (char *)dst + done, (DWORD)piece, &got, &where)
            && GetLastError() != ERROR_HANDLE_EOF) {
            return zc_fail_errno(err, errno_of(GetLastError()), "cannot read %zu bytes at offset %llu", n,
                                 (unsigned long long)offset);
        }
        if (got == 0) {
            return zc_fail(err, ZC_ERR_CORRUPT, "the file ends after %llu bytes; wanted %zu at offset %llu",
                           (unsigned long long)at, n, (unsigned long long)offset);
        }
        done += got;
    }
    return ZC_OK;
}

/* ---- writing ---- */

static uint64_t unique_number(void)
{
    LARGE_INTEGER ticks;

    QueryPerformanceCounter(&ticks);
    return (uint64_t)GetCurrentProcessId() << 40 ^ (uint64_t)ticks.QuadPart;
}

/* mkdir -p for the part of path before its last backslash, beginning after the first `from` characters. */
static DWORD make_parents(wchar_t *path, size_t from)
{
    const wchar_t *last = wcsrchr(path, L'\\');

    for (wchar_t *at = path + from; last != NULL && at <= last; at++) {
        if (*at != L'\\' || at == path || at[-1] == L':') {
            continue;
        }
        *at = 0;
        const bool made = CreateDirectoryW(path, NULL);
        const DWORD code = made ? ERROR_SUCCESS : GetLastError();
        *at = L'\\';
        if (!made && code != ERROR_ALREADY_EXISTS && code != ERROR_ACCESS_DENIED) {
            return code;
        }
    }
    return ERROR_SUCCESS;
}

/* Put a temporary file's name for path in temporary and create it; INVALID_HANDLE_VALUE on failure. */
static HANDLE open_temporary(wchar_t *path, size_t parents_from, wchar_t *temporary)
{
    const wchar_t *slash = wcsrchr(path, L'\\');
    const size_t n = slash != NULL ? (size_t)(slash + 1 - path) : 0;
    char name[ZC_TEMPORARY_LENGTH + 1];

    if (n + sizeof name > PATH_CHARS) {
        SetLastError(ERROR_FILENAME_EXCED_RANGE);
        return INVALID_HANDLE_VALUE;
    }
    memcpy(temporary, path, n * sizeof *path);
    for (int i = 0; i < NAME_TRIES; i++) {
        zc_temporary_name(0, unique_number(), name);
        for (size_t k = 0; k < sizeof name; k++) {
            temporary[n + k] = (wchar_t)name[k];
        }
        const HANDLE file = CreateFileW(temporary, GENERIC_WRITE, 0, NULL, CREATE_NEW,
                                        FILE_ATTRIBUTE_NORMAL, NULL);
        const DWORD code = GetLastError();

        if (file != INVALID_HANDLE_VALUE) {
            return file;
        }
        if (code == ERROR_PATH_NOT_FOUND) {
            const DWORD failed = make_parents(path, parents_from);

            if (failed != ERROR_SUCCESS) {
                SetLastError(failed);
                return INVALID_HANDLE_VALUE;
            }
        } else if (code != ERROR_FILE_EXISTS) {
            return INVALID_HANDLE_VALUE;
        }
    }
    return INVALID_HANDLE_VALUE;
}

static DWORD write_all(HANDLE file, const char *src, size_t n)
{
    while (n > 0) {
        DWORD put = 0;

        if (!WriteFile(file, src, (DWORD)(n < TRANSFER_MAX ? n : TRANSFER_MAX), &put, NULL)) {
            return GetLastError();
        }
        src += put;
        n -= put;
    }
    return ERROR_SUCCESS;
}

/* Write all pieces.  *failed is what the source reports if it fails. */
static DWORD write_pieces(HANDLE file, const zc_file_source *source, bool sync, zc_status *failed, zc_error *err)
{
    DWORD code = ERROR_SUCCESS;

    for (uint64_t at = 0; at < source->total && code == ERROR_SUCCESS;) {
        const void *data;
        size_t n;
        *failed = zc_source_piece(source, at, &data, &n, err);
        if (*failed != ZC_OK) {
            return ERROR_SUCCESS;
        }
        code = write_all(file, data, n);
        at += n;
    }
    return code != ERROR_SUCCESS || !sync || FlushFileBuffers(file) ? code : GetLastError();
}

/* FILE_RENAME_INFO, which older headers have in part; and one more FILE_INFO_BY_HANDLE_CLASS. */
typedef struct rename_info {
    DWORD flags;
    HANDLE root;
    DWORD nbytes;
    wchar_t path[PATH_CHARS];
} rename_info;

enum { RENAME_INFO_EX = 22, RENAME_REPLACE = 1, RENAME_POSIX = 2 };

/* As rename() on POSIX: who has the old file open keeps it.  False where that is unknown (file systems other than NTFS,
 * before Windows 10), or refused. */
static bool rename_over(const wchar_t *temporary, const wchar_t *path, bool sync)
{
    rename_info info = {.flags = RENAME_REPLACE | RENAME_POSIX, .nbytes = (DWORD)(wcslen(path) * sizeof *path)};
    const HANDLE file = CreateFileW(temporary, DELETE | SYNCHRONIZE | (sync ? GENERIC_WRITE : 0), SHARE_ALL, NULL,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);

    if (file == INVALID_HANDLE_VALUE) {
        return false;
    }
    wcscpy(info.path, path);
    const bool done = SetFileInformationByHandle(file, (FILE_INFO_BY_HANDLE_CLASS)RENAME_INFO_EX, &info, sizeof info);
    const bool good = done && (!sync || FlushFileBuffers(file));
    CloseHandle(file);
    return good;
}

static bool is_directory(const wchar_t *path)
{
    const DWORD attributes = GetFileAttributesW(path);

    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

/* Give a file its name.  Somebody may have what is there open for a moment, be it a reader or a virus scanner. */
static DWORD put_in_place(const wchar_t *temporary, const wchar_t *path, bool replace, bool sync)
{
    const DWORD flags = (replace ? MOVEFILE_REPLACE_EXISTING : 0) | (sync ? MOVEFILE_WRITE_THROUGH : 0);

    for (int i = 0;; i++) {
        if ((replace && rename_over(temporary, path, sync)) || MoveFileExW(temporary, path, flags)) {
            return ERROR_SUCCESS;
        }
        const DWORD code = GetLastError();
        const bool in_use = code == ERROR_ACCESS_DENIED || code == ERROR_SHARING_VIOLATION;
        if (!replace || !in_use || i == RENAME_TRIES || is_directory(path)) {
            return code;
        }
        Sleep(1u << i);
    }
}

zc_status zc_file_put(const zc_dir *dir, const char *name, const zc_file_source *source, bool sync, zc_unsynced *later,
                      bool is_new, zc_error *err)
{
    (void)later;
    wchar_t path[PATH_CHARS], temporary[PATH_CHARS];
    zc_status failed = ZC_OK;

    if (!join(dir, name, path)) {
        return fail_name(err, name);
    }
    const HANDLE file = open_temporary(path, dir != NULL ? wcslen(dir->path) + 1 : 0, temporary);
    if (file == INVALID_HANDLE_VALUE) {
        return zc_fail_errno(err, errno_of(GetLastError()), "cannot create a temporary file for %s", name);
    }
    DWORD code = write_pieces(file, source, sync, &failed, err);
    if (!CloseHandle(file) && code == ERROR_SUCCESS) {
        code = GetLastError();
    }
    if (code == ERROR_SUCCESS && failed == ZC_OK) {
        code = put_in_place(temporary, path, !is_new, sync);
    }
    if (code == ERROR_SUCCESS && failed == ZC_OK) {
        return ZC_OK;
    }
    DeleteFileW(temporary);
    if (failed != ZC_OK) {
        return failed;
    }
    return zc_fail_errno(err, !is_new && is_directory(path) ? EISDIR : errno_of(code), "cannot write %s", name);
}

zc_status zc_unsynced_new(zc_unsynced **out, zc_error *err)
{
    (void)err;
    *out = NULL;
    return ZC_OK;
}

zc_status zc_unsynced_end(zc_unsynced *unsynced, int threads, zc_error *err)
{
    (void)unsynced, (void)threads, (void)err;
    return ZC_OK;
}

zc_status zc_file_remove(const zc_dir *dir, const char *name, bool sync, zc_unsynced *later, zc_error *err)
{
    (void)sync, (void)later;                              /* directories cannot be opened, and removals are journaled */
    wchar_t wide[PATH_CHARS];

    if (!join(dir, name, wide)) {
        return fail_name(err, name);
    }
    if (DeleteFileW(wide)) {
        return ZC_OK;
    }
    const int code = errno_of_path(wide);
    return code == ENOENT ? ZC_OK : zc_fail_errno(err, code, "cannot remove %s", name);
}

bool zc_file_writer_lives(const char *component)
{
    (void)component;
    return false;
}

#else
typedef int zc_file_windows_is_empty;        /* a translation unit needs a declaration */
#endif
