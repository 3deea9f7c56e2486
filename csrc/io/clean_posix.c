/* SPDX-License-Identifier: MIT
 *
 * Removing the temporary files of killed writers, see temporary.h.
 */
#include "base/features.h"

#ifndef _WIN32

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/os_thread.h"
#include "io/file.h"
#include "io/temporary.h"

#define A_WHILE 60                           /* seconds; between two writes to a temporary file there are fewer */
#define LONG_AGO (24 * 60 * 60)              /* where nobody can say whether the writer is still there */
#define MOST_ENTRIES 65536
#define LOOK_AGAIN_MINUTES 10

#define PID_MASK ((UINT64_C(1) << ZC_PID_BITS) - 1)
#define SYSTEM_MASK ((UINT64_C(1) << 24) - 1)
#define IS_SET (UINT64_C(1) << 32)

/* ---- who writes ---- */

/* The number of this boot and of the space that process numbers belong to; 0 if the system does not name them. */
static uint64_t find_system(void)
{
    char boot[64];
    struct stat space;
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, boot, sizeof boot) : -1;

    if (fd >= 0) {
        close(fd);
    }
    if (n <= 0 || stat("/proc/self/ns/pid", &space) != 0) {
        return 0;
    }
    const uint64_t inode = space.st_ino;
    const uint64_t whole = zc_hash_text(zc_hash_text(ZC_HASH_BASIS, boot, (size_t)n), (const char *)&inode, sizeof inode);
    return (whole ^ whole >> 24 ^ whole >> 48) & SYSTEM_MASK;
}

static uint64_t this_system(void)
{
    static _Atomic uint64_t known;
    uint64_t system = atomic_load_explicit(&known, memory_order_relaxed);

    if (system == 0) {
        system = IS_SET | find_system();
        atomic_store_explicit(&known, system, memory_order_relaxed);
    }
    return system & SYSTEM_MASK;
}

static _Atomic zc_owner own;                 /* 0: not asked for yet in this process */

static void start_child(void)
{
    atomic_store(&own, 0);
}

zc_owner zc_this_process(void)
{
    static _Atomic int registered;
    zc_owner found = atomic_load_explicit(&own, memory_order_relaxed);

    if (found == 0) {
        zc_at_fork_once(&registered, start_child);
        found = this_system() << ZC_PID_BITS | ((uint64_t)getpid() & PID_MASK);
        atomic_store_explicit(&own, found, memory_order_relaxed);
    }
    return found;
}

static bool is_of_this_system(zc_owner owner)
{
    return this_system() != 0 && owner >> ZC_PID_BITS == this_system() && (owner & PID_MASK) != 0;
}

static bool lives(zc_owner owner)
{
    return kill((pid_t)(owner & PID_MASK), 0) == 0 || errno != ESRCH;
}

bool zc_file_writer_lives(const char *component)
{
    const zc_owner owner = zc_temporary_owner(component);

    return is_of_this_system(owner) && lives(owner);
}

static bool is_abandoned(int fd, const char *name)
{
    struct stat st;
    const zc_owner owner = zc_temporary_owner(name);

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
        return false;
    }
    const time_t age = time(NULL) - st.st_mtime;
    if (is_of_this_system(owner)) {
        return age >= A_WHILE && !lives(owner);
    }
    return age >= LONG_AGO;
}

/* ---- where ---- */

/* Note that this process looks at a directory; false if it has done so lately.  Where two directories share a word, only
 * one of them is looked at. */
static bool is_due(uint64_t where)
{
    static _Atomic int64_t looked_at[4096];          /* minutes */
    const int64_t minute = (int64_t)time(NULL) / 60;
    _Atomic int64_t *const last = &looked_at[(where ^ where >> 32) % 4096];
    int64_t before = atomic_load_explicit(last, memory_order_relaxed);

    return minute >= before + LOOK_AGAIN_MINUTES && atomic_compare_exchange_strong(last, &before, minute);
}

static void clean(int fd)
{
    const struct dirent *entry;
    DIR *list = fdopendir(fd);

    if (list == NULL) {
        close(fd);
        return;
    }
    for (int left = MOST_ENTRIES; left > 0 && (entry = readdir(list)) != NULL; left--) {
        if (zc_file_is_temporary(entry->d_name) && is_abandoned(fd, entry->d_name)) {
            unlinkat(fd, entry->d_name, 0);
        }
    }
    closedir(list);
}

void zc_clean_directory(int directory, const char *path, size_t parent, uint64_t where, int is_new)
{
    if (!is_due(zc_hash_text(where, path, parent)) || is_new) {
        return;
    }
    const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        clean(fd);
    }
}

#endif
