/* SPDX-License-Identifier: MIT
 *
 * How many CPUs this process may use.
 */
#pragma once

#define ZC_CPUS_UNLIMITED 0x7fffffff

/* CPUs in the calling thread's affinity mask (where there is none: all that are on line), at least 1. */
int zc_cpus_affinity(void);

/*
 * CPUs that the control groups' bandwidth limits allow, rounded up: the smallest of cpu.max (v2) and
 * cpu.cfs_quota_us (v1) on the way from this process's group to the root.  ZC_CPUS_UNLIMITED if none sets
 * anything.  Files are looked up below root: "", or a made-up tree in the tests.
 */
int zc_cpus_quota(const char *root);
