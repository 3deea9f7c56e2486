/* SPDX-License-Identifier: MIT
 *
 * The CPU count and the default number of threads; control groups are made up in a directory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "check.h"

#include <stdlib.h>

#include "base/cpu_count.h"
#include "base/pool.h"

#ifdef __linux__

#include "files.h"

static char tree[300];

static void put(const char *path, const char *text)
{
    char full[512];

    snprintf(full, sizeof full, "%s%s", tree, path);
    for (char *at = full + strlen(tree) + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            make_directory(full);
            *at = '/';
        }
    }
    FILE *file = fopen(full, "w");
    CHECK(file != NULL && fputs(text, file) >= 0);
    if (file != NULL) {
        fclose(file);
    }
}

static void quota_of_unified_groups(void)
{
    CHECK(make_temporary(tree, sizeof tree));
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/proc/self/mountinfo",
        "25 1 0:22 / /proc rw - proc proc rw\n"
        "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    CHECK(zc_cpus_quota(tree) == ZC_CPUS_UNLIMITED);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    CHECK(zc_cpus_quota(tree) == ZC_CPUS_UNLIMITED);
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    CHECK(zc_cpus_quota(tree) == 3);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    CHECK(zc_cpus_quota(tree) == 1);
    put("/sys/fs/cgroup/a/b/cpu.max", "rubbish");
    CHECK(zc_cpus_quota(tree) == 3);
    put("/proc/self/cgroup", "0::/../other\n");
    CHECK(zc_cpus_quota(tree) == ZC_CPUS_UNLIMITED);
    put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    CHECK(zc_cpus_quota(tree) == 4);
    put("/proc/self/cgroup", "0::/\n");
    CHECK(zc_cpus_quota(tree) == 4);
    CHECK(remove_tree(tree, sizeof tree));
}

static void quota_of_v1_groups(void)
{
    CHECK(make_temporary(tree, sizeof tree));
    put("/proc/self/cgroup", "9:cpuset:/x\n4:cpuacct,cpu:/docker/abc/sub\n0::/\n");
    put("/proc/self/mountinfo",
        "31 30 0:27 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 30 0:28 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
    CHECK(zc_cpus_quota(tree) == ZC_CPUS_UNLIMITED);
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "600000\n");
    CHECK(zc_cpus_quota(tree) == 6);
    put("/sys/fs/cgroup/cpu/sub/cpu.cfs_quota_us", "150000\n");
    put("/sys/fs/cgroup/cpu/sub/cpu.cfs_period_us", "100000\n");
    CHECK(zc_cpus_quota(tree) == 2);
    CHECK(remove_tree(tree, sizeof tree));
    CHECK(zc_cpus_quota(tree) == ZC_CPUS_UNLIMITED);
}

#else

static void no_quota_is_known(void)
{
    CHECK(zc_cpus_quota("") == ZC_CPUS_UNLIMITED);
}

#endif

static void default_threads(void)
{
    const int cpus = zc_pool_cpus();

    CHECK(cpus >= 1);
    CHECK(zc_cpus_affinity() >= cpus);
    CHECK(zc_pool_threads() == cpus);
    zc_pool_set_threads(17);
    CHECK(zc_pool_threads() == 17);
    CHECK(zc_pool_cpus() == cpus);
    zc_pool_set_threads(-3);
    CHECK(zc_pool_threads() == cpus);
    zc_pool_set_threads(0);
    CHECK(zc_pool_threads() == cpus);
}

int main(void)
{
    RUN(default_threads);
#ifdef __linux__
    RUN(quota_of_unified_groups);
    RUN(quota_of_v1_groups);
#else
    RUN(no_quota_is_known);
#endif
    return check_report("cpu_count");
}
