/* SPDX-License-Identifier: MIT
 *
 * See cpu_count.h.  Control groups: Documentation/admin-guide/cgroup-v2.rst ("cpu.max") and
 * Documentation/scheduler/sched-bwc.rst (v1) of the Linux kernel.
 */
#include "base/features.h"
#include "base/cpu_count.h"

#include <stdatomic.h>

#include "base/pool.h"

#if defined(__linux__)

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_NBYTES 4096
#define MASK_CPUS 8192

int zc_cpus_affinity(void)
{
    cpu_set_t mask[MASK_CPUS / CPU_SETSIZE];

    memset(mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, mask) == 0) {
        const int n = CPU_COUNT_S(sizeof mask, mask);
        return n > 0 ? n : 1;
    }
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static bool list_has(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n) {
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ',')) {
            return true;
        }
    }
    return false;
}

static FILE *open_below(const char *root, const char *path, const char *name)
{
    char full[2 * PATH_NBYTES];
    const int n = snprintf(full, sizeof full, "%s%s%s", root, path, name);

    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

/* The numbers that a file begins with; what it lacks stays as it is. */
static void read_numbers(const char *root, const char *group, const char *name, long long *first, long long *second)
{
    FILE *file = open_below(root, group, name);

    if (file != NULL) {
        (void)!fscanf(file, "%lld %lld", first, second);
        fclose(file);
    }
}

/* The limit of one group; "max" (v2) and -1 (v1) mean none. */
static int group_limit(const char *root, const char *group, bool unified)
{
    long long quota = -1, period = -1, unused;

    if (unified) {
        read_numbers(root, group, "/cpu.max", &quota, &period);
    } else {
        read_numbers(root, group, "/cpu.cfs_quota_us", &quota, &unused);
        read_numbers(root, group, "/cpu.cfs_period_us", &period, &unused);
    }
    if (quota <= 0 || period <= 0 || quota / period >= ZC_CPUS_UNLIMITED) {
        return ZC_CPUS_UNLIMITED;
    }
    return (int)(quota / period + (quota % period != 0));
}

/* The smallest limit from mount/relative up to mount. */
static int walk_up(const char *root, const char *mount, const char *relative, bool unified)
{
    char group[2 * PATH_NBYTES];
    char *slash;
    int least = ZC_CPUS_UNLIMITED;

    if ((size_t)snprintf(group, sizeof group, "%s%s", mount, relative) >= sizeof group) {
        return least;
    }
    do {
        const int limit = group_limit(root, group, unified);
        least = limit < least ? limit : least;
        slash = strrchr(group + strlen(mount), '/');
        if (slash != NULL) {
            *slash = '\0';
        }
    } while (slash != NULL);
    return least;
}

/* The part of the group's path that shows below a mount of mount_root; "" if it lies outside. */
static const char *below_mount(const char *group, const char *mount_root)
{
    const size_t n = strcmp(mount_root, "/") == 0 ? 0 : strlen(mount_root);

    if (strncmp(group, mount_root, n) != 0 || (group[n] != '/' && group[n] != '\0')
        || strstr(group, "/..") != NULL || strcmp(group + n, "/") == 0) {
        return "";
    }
    return group + n;
}

/* The smallest limit that a line of a file leads to. */
static int least_limit(const char *root, const char *path, int (*limit_of)(const char *root, char *line, const void *arg),
                       const void *arg)
{
    char line[4 * PATH_NBYTES];
    int least = ZC_CPUS_UNLIMITED;
    FILE *file = open_below(root, path, "");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const int limit = limit_of(root, line, arg);
        least = limit < least ? limit : least;
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

typedef struct group {
    const char *path;
    bool unified;                      /* of v2 */
} group;

/* The limit of a group by the mount in a line of mountinfo: "36 35 98:0 /root /mount options - type source super_options"
 * (proc_pid_mountinfo(5)). */
static int limit_of_mount(const char *root, char *line, const void *arg)
{
    const group *g = arg;
    char mount_root[PATH_NBYTES], mount[PATH_NBYTES], type[64], options[1024];
    const char *tail = strstr(line, " - ");

    if (tail == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", mount_root, mount) != 2
        || sscanf(tail, " - %63s %*s %1023s", type, options) != 2) {
        return ZC_CPUS_UNLIMITED;
    }
    const bool fits = g->unified ? strcmp(type, "cgroup2") == 0
                                 : strcmp(type, "cgroup") == 0 && list_has(options, "cpu");
    return fits ? walk_up(root, mount, below_mount(g->path, mount_root), g->unified) : ZC_CPUS_UNLIMITED;
}

/* The limit of the group in a line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1). */
static int limit_of_group(const char *root, char *line, const void *arg)
{
    char *const controllers = strchr(line, ':');
    char *const path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    (void)arg;
    if (path == NULL) {
        return ZC_CPUS_UNLIMITED;
    }
    *path = '\0';
    path[1 + strcspn(path + 1, "\n")] = '\0';
    const group g = {path + 1, strncmp(line, "0:", 2) == 0 && controllers[1] == '\0'};
    return g.unified || list_has(controllers + 1, "cpu") ? least_limit(root, "/proc/self/mountinfo", limit_of_mount, &g)
                                                         : ZC_CPUS_UNLIMITED;
}

int zc_cpus_quota(const char *root)
{
    return least_limit(root, "/proc/self/cgroup", limit_of_group, NULL);
}

#elif defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

int zc_cpus_affinity(void)
{
    DWORD_PTR mask = 0, system = 0;
    int n = 0;

    if (GetProcessAffinityMask(GetCurrentProcess(), &mask, &system)) {
        for (; mask != 0; mask &= mask - 1) {
            n++;
        }
    }
    /* A process that spans processor groups has an empty mask. */
    return n > 0 ? n : (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

#else

#include <unistd.h>

int zc_cpus_affinity(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (int)n : 1;
}

#endif

#ifndef __linux__

int zc_cpus_quota(const char *root)
{
    (void)root;
    return ZC_CPUS_UNLIMITED;
}

#endif

/* ---- the default number of threads of a job, see pool.h ---- */

static _Atomic int chosen_threads;           /* 0: one for each usable CPU */
static _Atomic int quota_cpus;               /* read once: a dozen files; 0: not yet */

int zc_pool_cpus(void)
{
    const int affinity = zc_cpus_affinity();
    int quota = atomic_load_explicit(&quota_cpus, memory_order_relaxed);

    if (quota == 0) {
        quota = zc_cpus_quota("");
        atomic_store_explicit(&quota_cpus, quota, memory_order_relaxed);
    }
    return affinity < quota ? affinity : quota;
}

int zc_pool_threads(void)
{
    const int chosen = atomic_load_explicit(&chosen_threads, memory_order_relaxed);

    return chosen > 0 ? chosen : zc_pool_cpus();
}

void zc_pool_set_threads(int threads)
{
    atomic_store_explicit(&chosen_threads, threads > 0 ? threads : 0, memory_order_relaxed);
}
