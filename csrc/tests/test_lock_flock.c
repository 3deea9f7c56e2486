/* SPDX-License-Identifier: MIT
 *
 * Locks among processes where the system has none that belong to an open file: its own copy of them, before that of the
 * library is looked for.
 */
#define ZC_TEST_FLOCK 1
#include "../io/lock_posix.c"
#include "test_lock.c"
