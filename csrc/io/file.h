/* SPDX-License-Identifier: MIT
 *
 * Files, the same on POSIX and Windows.  Paths are UTF-8 (POSIX: bytes as they are).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "io/unsynced.h"

/* Symbolic links below a root.  Writing and removing never leave the root, whatever is chosen.  (Windows: links are not
 * looked at.) */
typedef enum zc_symlinks {
    ZC_SYMLINKS_INSIDE,         /* follow those that lead to a place inside of the root */
    ZC_SYMLINKS_REFUSE,         /* follow none */
    ZC_SYMLINKS_FOLLOW          /* follow all when reading, those inside when writing */
} zc_symlinks;

/* A directory held open, so that many files below it are opened without resolving the whole path.  One that is not open
 * (zc_dir_none) stands for the rules alone; names are then whole paths.  Where a function takes NULL for a directory,
 * names are whole paths too, and all links are followed. */
typedef struct zc_dir {
#ifdef _WIN32
    wchar_t *path;
#else
    int fd;
    char *path;
    uint64_t where;          /* a hash of its path */
    bool outside;            /* reached by a link that leaves the root: nothing may be written */
    _Atomic(struct zc_parent *) parents[4];  /* see parents_posix.h; mostly one for each thread */
#endif
    size_t root_len;         /* the first part of the path, that of the root; its own links are followed */
    zc_symlinks links;
    bool holds;              /* directories of files that are put below it stay open for the next file in them */
} zc_dir;

/* The rules for whole paths below a root, whose path is the first root_len bytes of each. */
static inline zc_dir zc_dir_none(size_t root_len, zc_symlinks links)
{
#ifdef _WIN32
    return (zc_dir){.root_len = root_len, .links = links};
#else
    return (zc_dir){.fd = -1, .root_len = root_len, .links = links};
#endif
}

/* An open file.  One descriptor, one file version: a writer that replaces the file meanwhile does
 * not show. */
typedef struct zc_file {
    intptr_t handle;
    uint64_t size;           /* at the time of opening */
    int64_t mtime_ns;
    int64_t ctime_ns;        /* of the last change of the file that no program can set back; 0 if there is none */
    uint64_t inode;          /* 0 if the file system has no such numbers */
    uint64_t device;
} zc_file;

/* What distinguishes the versions of a file; numbers as of zc_file.  Zero on Windows: change, inode and device. */
typedef struct zc_mark {
    uint64_t size;
    int64_t mtime_ns, ctime_ns;
    uint64_t inode, device;
} zc_mark;

static inline bool zc_mark_is_same(const zc_mark *a, const zc_mark *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns && a->inode == b->inode &&
           a->device == b->device;
}

/* That of an open file, when it was opened. */
static inline zc_mark zc_file_mark(const zc_file *file)
{
#ifdef _WIN32
    return (zc_mark){.size = file->size, .mtime_ns = file->mtime_ns};
#else
    return (zc_mark){file->size, file->mtime_ns, file->ctime_ns, file->inode, file->device};
#endif
}

/* Open the directory of a path, whose first root_len bytes are the root.
 * ZC_ERR_MISSING if the directory does not exist; a file in its place, or above it, is ZC_ERR_IO. */
zc_status zc_dir_open(const char *path, size_t root_len, zc_symlinks links, zc_dir **out, zc_error *err);

/* openat for a path below the root; writes: even ZC_SYMLINKS_FOLLOW keeps inside.  A descriptor, or -1 and errno: EXDEV if a
 * link leaves the root or is not to be followed, ENOLINK if the path is that of a link to nothing or leads through one: what is
 * there is not known, as where a disk is not mounted.  POSIX only. */
int zc_open_below(const zc_dir *dir, const char *name, int flags, bool writes);

/* Are both the same directory, as far as the system can tell?  One that was removed while it was held open is not the one
 * that has been made in its place. */
bool zc_dir_is_same(const zc_dir *a, const zc_dir *b);

/* Is there something of that name?  Of a link the mark is its own. */
bool zc_dir_has(const zc_dir *dir, const char *name, zc_mark *mark);

void zc_dir_close(zc_dir *dir);

/* Close the directories that it holds, and hold none from now on: what zc_dir_close does, for the rules for whole paths. */
void zc_dir_let_go(zc_dir *dir);

/*
 * Open a regular file for reading; name is relative to dir.
 * ZC_ERR_MISSING if nothing is there (ENOENT), and only then.  A directory, FIFO, socket, device, symbolic link to
 * nothing (content kept elsewhere, as by git-annex), also above it, or out of the root, or a file where a directory above it should be (ENOTDIR) is
 * ZC_ERR_IO at once, never a hang.
 */
zc_status zc_file_open(const zc_dir *dir, const char *name, zc_file *out, zc_error *err);
void zc_file_close(zc_file *file);

/*
 * The same for a file that is probably small.  If it has 1 to cap - 1 bytes, they are read to dst, *n is their number, and
 * the file is closed again (its handle is negative and nothing else of *out is set).  Otherwise it stays open and *n is 0.
 * Where a disk fails after the first *n bytes, no more are read either: if they make no sense, zc_file_read finds out.
 */
zc_status zc_file_load(const zc_dir *dir, const char *name, void *dst, size_t cap, size_t *n, zc_file *out,
                       zc_error *err);

/* How long before now the file was last changed, by the clocks of both; may be negative.  A time of modification that somebody has set
 * back makes no file old: what changes it leaves its ctime. */
int64_t zc_file_age_ns(const zc_file *file);

/* Judge by the time of modification alone, as tests do, which cannot set back the other one. */
void zc_file_ages_by_mtime(bool alone);

/* Within the clock tick of its last change a file may change once more without its time telling so.  Is it older than any
 * file system's tick, so that its time and size tell its versions apart? */
static inline bool zc_file_is_settled(const zc_file *file)
{
    return zc_file_age_ns(file) >= INT64_C(3000000000);
}

/* Read exactly n bytes at offset; ZC_ERR_CORRUPT if the file ends before that. */
zc_status zc_file_read(const zc_file *file, uint64_t offset, void *dst, size_t n, zc_error *err);

/* The same as far as no disk has to be waited for: how many bytes were read, from offset on.  *refused: the file system cannot
 * tell, so that none were. */
size_t zc_file_read_ready(const zc_file *file, uint64_t offset, void *dst, size_t n, bool *refused);

/* Have the system bring n bytes at offset into memory in the background; nothing where it cannot.  False: the first of them
 * are there. */
bool zc_file_announce(const zc_file *file, uint64_t offset, uint64_t n);

/* Have the system put n bytes at offset out of memory, as far as they are on the disk (0: all from there on); nothing where
 * it cannot.  Pages that they share with other bytes stay. */
void zc_file_drop(const zc_file *file, uint64_t offset, uint64_t n);

/*
 * The bytes of a file: those at `data`, or, if that is NULL, made piece by piece: piece returns *n > 0 bytes from `offset`
 * on, at most those that are left of `total`; they stay valid until the next call.
 */
typedef struct zc_file_source {
    uint64_t total;
    zc_status (*piece)(void *self, uint64_t offset, const void **data, size_t *n, zc_error *err);
    void *self;
    const void *data;
    bool drop;               /* the system does not keep them in memory once they are on the disk */
} zc_file_source;

/*
 * Put bytes in place of name, atomically: written to a temporary file in the same directory, then
 * renamed.  Missing parent directories are created.  sync: fsync the file, rename, fsync the directory, or leave that to the
 * list `later`, if there is one (parents that were missing are on the disk before the file).
 * On any failure, be it of the source, the old file stays and the temporary one is removed (only where the directory
 * cannot be synced afterwards, the new file is in place already).
 * is_new: ZC_ERR_IO with EEXIST if name exists already; of several callers one wins.  (On the few file systems without
 * renameat2 and hard links a reader may see an empty file for a moment.)
 * On Windows others may have the old file open only where a rename may take its name away (NTFS since Windows 10):
 * elsewhere this waits a quarter of a second for them, then fails with EACCES.
 * A directory in which there is nothing but empty directories is removed to make room (not on Windows); any other is EISDIR.
 * The temporary name is ".zc-" + 16 hex digits + ".partial" (see zc_file_is_temporary): listings skip it.  Those of writers
 * that were killed are removed by later writers to the same directory (io/temporary.h; not on Windows).
 */
zc_status zc_file_put(const zc_dir *dir, const char *name, const zc_file_source *source, bool sync, zc_unsynced *later,
                      bool is_new, zc_error *err);

static inline zc_status zc_file_replace(const zc_dir *dir, const char *name, const void *src, size_t n, bool sync,
                                        zc_error *err)
{
    return zc_file_put(dir, name, &(zc_file_source){.total = n, .data = src}, sync, NULL, false, err);
}

static inline zc_status zc_file_create(const zc_dir *dir, const char *name, const void *src, size_t n, bool sync,
                                       zc_error *err)
{
    return zc_file_put(dir, name, &(zc_file_source){.total = n, .data = src}, sync, NULL, true, err);
}

/* Remove a file, or a directory that has lost all its values (not on Windows).  One that is not there is no error; a file where a
 * directory above it should be is ZC_ERR_IO.  sync: fsync the directory, or leave that to `later`. */
zc_status zc_file_remove(const zc_dir *dir, const char *name, bool sync, zc_unsynced *later, zc_error *err);

/* Is this last path component a name that zc_file_replace makes for its temporary files? */
bool zc_file_is_temporary(const char *component);

/* Is the process that has made the temporary file of this name still there?  False if that is not known: of another system, or container,
 * and on Windows.  (Another process may have got its number since.) */
bool zc_file_writer_lives(const char *component);
