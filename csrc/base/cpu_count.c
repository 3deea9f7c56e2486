/* SPDX-License-Identifier: MIT
 *
 * See cpu_count.h.  Control groups: Documentation/admin-guide/cgroup-v2.rst ("cpu.max") and
 * Documentation/scheduler/sched-bwc.rst (v1) of the Linux kernel.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/cpu_count.h"

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

/* One of the two hierarchies that can limit CPU time. */
typedef struct hierarchy {
    bool unified;                      /* v2 */
    char group[PATH_NBYTES];           /* this process's group, from /proc/self/cgroup */
} hierarchy;

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

static int cpus_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || quota / period >= ZC_CPUS_UNLIMITED) {
        return ZC_CPUS_UNLIMITED;
    }
    return (int)(quota / period + (quota % period != 0));
}

static long long read_number(const char *root, const char *group, const char *name)
{
    long long value = -1;
    FILE *file = open_below(root, group, name);

    if (file != NULL) {
        if (fscanf(file, "%lld", &value) != 1) {
            value = -1;
        }
        fclose(file);
    }
    return value;
}

/* The limit of one group; "max" (v2) and -1 (v1) mean none. */
static int group_limit(const char *root, const char *group, bool unified)
{
    long long quota = -1, period = -1;

    if (!unified) {
        quota = read_number(root, group, "/cpu.cfs_quota_us");
        period = read_number(root, group, "/cpu.cfs_period_us");
        return cpus_of(quota, period);
    }
    FILE *file = open_below(root, group, "/cpu.max");
    if (file == NULL) {
        return ZC_CPUS_UNLIMITED;
    }
    if (fscanf(file, "%lld %lld", &quota, &period) != 2) {
        quota = -1;
    }
    fclose(file);
    return cpus_of(quota, period);
}

/* The smallest limit from mount/relative up to mount. */
static int walk_up(const char *root, const char *mount, const char *relative, bool unified)
{
    char group[2 * PATH_NBYTES];
    const size_t top = strlen(mount);
    int least = ZC_CPUS_UNLIMITED;

    if ((size_t)snprintf(group, sizeof group, "%s%s", mount, relative) >= sizeof group) {
        return least;
    }
    for (;;) {
        const int limit = group_limit(root, group, unified);

        least = limit < least ? limit : least;
        char *slash = strrchr(group + top, '/');
        if (slash == NULL) {
            return least;
        }
        *slash = '\0';
    }
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

/* mountinfo: "36 35 98:0 /root /mount options - type source super_options" (proc_pid_mountinfo(5)). */
static int quota_of_mount(const char *root, const char *line, const hierarchy *h)
{
    char mount_root[PATH_NBYTES], mount[PATH_NBYTES], type[64], options[1024];
    const char *tail = strstr(line, " - ");

    if (tail == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", mount_root, mount) != 2
        || sscanf(tail, " - %63s %*s %1023s", type, options) != 2) {
        return ZC_CPUS_UNLIMITED;
    }
    const bool fits = h->unified ? strcmp(type, "cgroup2") == 0
                                 : strcmp(type, "cgroup") == 0 && list_has(options, "cpu");
    return fits ? walk_up(root, mount, below_mount(h->group, mount_root), h->unified) : ZC_CPUS_UNLIMITED;
}

static int quota_of(const char *root, const hierarchy *h)
{
    char line[4 * PATH_NBYTES];
    int least = ZC_CPUS_UNLIMITED;
    FILE *file = open_below(root, "/proc/self/mountinfo", "");

    if (file == NULL) {
        return least;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        const int limit = quota_of_mount(root, line, h);

        least = limit < least ? limit : least;
    }
    fclose(file);
    return least;
}

/* A line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1). */
static bool parse_group(char *line, hierarchy *h)
{
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

    if (group == NULL) {
        return false;
    }
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    h->unified = strncmp(line, "0:", 2) == 0 && controllers[1] == '\0';
    snprintf(h->group, sizeof h->group, "%s", group);
    return h->unified || list_has(controllers + 1, "cpu");
}

int zc_cpus_quota(const char *root)
{
    char line[PATH_NBYTES];
    hierarchy h;
    int least = ZC_CPUS_UNLIMITED;
    FILE *file = open_below(root, "/proc/self/cgroup", "");

    if (file == NULL) {
        return least;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (parse_group(line, &h)) {
            const int limit = quota_of(root, &h);

            least = limit < least ? limit : least;
        }
    }
    fclose(file);
    return least;
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

int zc_cpus_quota(const char *root)
{
    (void)root;
    return ZC_CPUS_UNLIMITED;
}

#else

#include <unistd.h>

int zc_cpus_affinity(void)
{
    const long n = sysconf(_SC_NPROCESSORS_ONLN);

    return n > 0 ? (int)n : 1;
}

int zc_cpus_quota(const char *root)
{
    (void)root;
    return ZC_CPUS_UNLIMITED;
}

#endif
