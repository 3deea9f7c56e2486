/* SPDX-License-Identifier: MIT
 *
 * See lock_kept.h.  A program may close descriptors that are not its own, and open others of the same number: so none is closed
 * before a look whether it still is that of the file, nor locked.  The look before a lock costs nothing where files may be as
 * large as offsets are: the position of what is kept is beyond those of all files that others have, and bytes are counted from it.
 * (Only a second copy of this library in the process has files at such a position, too.)
 */
#include "base/features.h"
#include "io/lock_kept.h"

#if defined(__linux__)

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/os_thread.h"

#define SLOTS 16
#define PATH_MOST 400
#define MARK (UINT64_C(3) << 61)     /* more than 2^61 beyond the bytes that are locked: from another position they lie before 0 */

typedef struct slot {
    char path[PATH_MOST];        /* empty: nothing is kept here */
    uint64_t id;
    atomic_int fd;               /* negative: another file was given its number */
    bool lent;
    uint64_t mark;               /* position of the file */
    dev_t dev;
    ino_t ino;
} slot;

static slot slots[SLOTS];
static zc_mutex guard = ZC_MUTEX_INIT;       /* of paths and of what is lent; the rest is that of whoever it is lent to */
static _Atomic int watches_forks;
static unsigned turn;

static bool is_same(const slot *s, const struct stat *st)
{
    return st->st_dev == s->dev && st->st_ino == s->ino && st->st_nlink > 0;
}

/* Is the descriptor still that of the file, as far as anybody knows? */
static bool is_open(const slot *s)
{
    struct stat st;

    return fstat(s->fd, &st) == 0 ? st.st_dev == s->dev && st.st_ino == s->ino : errno != EBADF;
}

/* Under the guard, or where nobody else is. */
static void empty(slot *s)
{
    if (s->path[0] != '\0' && is_open(s)) {
        close(s->fd);
    }
    s->path[0] = '\0';
    s->lent = false;
}

/* What is open belongs to the parent: locks of the two must exclude each other, and end with their own process. */
static void start_child(void)
{
    zc_mutex_init(&guard);
    for (int i = 0; i < SLOTS; i++) {
        empty(&slots[i]);
    }
}

int zc_kept_lend(const zc_lock_file *file, int *number, uint64_t *mark)
{
    slot *found = NULL;

    zc_mutex_lock(&guard);
    for (int i = 0; i < SLOTS && found == NULL; i++) {
        slot *const s = &slots[i];
        if (s->id == file->id && !s->lent && strcmp(s->path, file->path) == 0) {
            found = s;
            s->lent = true;
        }
    }
    zc_mutex_unlock(&guard);
    if (found == NULL) {
        return -1;
    }
    const int borrowed = (int)(found - slots) + 1, fd = found->fd;
    if (fd < 0 || (found->mark == 0 && !is_open(found))) {
        zc_kept_return(borrowed, true);
        return -1;
    }
    *number = borrowed;
    *mark = found->mark;
    return fd;
}

bool zc_kept_is_named(int number)
{
    const slot *const s = &slots[number - 1];
    struct stat st;

    return lstat(s->path, &st) == 0 && is_same(s, &st);
}

static bool is_local(int fd)
{
    static const unsigned long kinds[] = {0x01021994 /* tmpfs */, 0xef53 /* ext2 to ext4 */, 0x58465342 /* XFS */,
                                          0x9123683e /* Btrfs */, 0xf2f52010 /* F2FS */, 0x2fc12fc1 /* ZFS */};
    struct statfs fs;

    if (fstatfs(fd, &fs) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (((unsigned long)fs.f_type & 0xffffffff) == kinds[i]) {
            return true;
        }
    }
    return false;
}

/* Under the guard: whoever had a descriptor of this number has lost it. */
static void forget(int fd)
{
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].path[0] != '\0' && slots[i].fd == fd) {
            slots[i].fd = -1;
            if (!slots[i].lent) {
                empty(&slots[i]);
            }
        }
    }
}

int zc_kept_add(const zc_lock_file *file, int fd, uint64_t *mark)
{
    const size_t n = strlen(file->path);
    struct stat st;
    int number = 0;

    if (n >= PATH_MOST || !is_local(fd) || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return 0;
    }
    zc_at_fork_once(&watches_forks, start_child);
    zc_mutex_lock(&guard);
    forget(fd);
    for (unsigned tries = 0; tries < SLOTS && number == 0; tries++) {
        slot *const s = &slots[turn++ % SLOTS];
        if (!s->lent) {
            empty(s);
            memcpy(s->path, file->path, n + 1);
            s->id = file->id;
            s->fd = fd;
            s->dev = st.st_dev;
            s->ino = st.st_ino;
            s->lent = true;
            s->mark = *mark = lseek(fd, (off_t)MARK, SEEK_SET) < 0 ? 0 : MARK;
            number = (int)(s - slots) + 1;
        }
    }
    zc_mutex_unlock(&guard);
    return number;
}

void zc_kept_return(int number, bool dropped)
{
    slot *const s = &slots[number - 1];

    zc_mutex_lock(&guard);
    if (dropped || s->fd < 0) {
        empty(s);
    }
    s->lent = false;
    zc_mutex_unlock(&guard);
}

void zc_locks_close(const zc_lock_file *file)
{
    zc_mutex_lock(&guard);
    for (int i = 0; i < SLOTS; i++) {
        if (!slots[i].lent && slots[i].id == file->id && strcmp(slots[i].path, file->path) == 0) {
            empty(&slots[i]);
        }
    }
    zc_mutex_unlock(&guard);
}

#else

int zc_kept_lend(const zc_lock_file *file, int *number, uint64_t *mark)
{
    (void)file, (void)number, (void)mark;
    return -1;
}

bool zc_kept_is_named(int number)
{
    return number > 0;
}

int zc_kept_add(const zc_lock_file *file, int fd, uint64_t *mark)
{
    (void)file, (void)fd, (void)mark;
    return 0;
}

void zc_kept_return(int number, bool dropped)
{
    (void)number, (void)dropped;
}

void zc_locks_close(const zc_lock_file *file)
{
    (void)file;
}

#endif
