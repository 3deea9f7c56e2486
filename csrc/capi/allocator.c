/* SPDX-License-Identifier: MIT
 *
 * An allocator of the program for memory that grows with the data.
 */
#include "base/memory.h"
#include "base/pool.h"
#include "capi/handle.h"

_Static_assert(ZARRCORE_ALIGNMENT == ZC_ALIGNMENT, "one alignment");

int zarrcore_set_allocator(const zarrcore_allocator *allocator, zarrcore_error *error)
{
    zarrcore_allocator given = {0};
    zc_error err = {0};

    if (!zc_pool_is_outside()) {
        return zc_report_argument(error, "called by a function that the library has called");
    }
    if (allocator != NULL && !zc_take_struct(&given, sizeof given, allocator, sizeof given)) {
        return zc_report_argument(error, "allocator: struct_size is too small, or of a later version whose members are set");
    }
    if (allocator != NULL && (given.reserved != 0 || given.allocate == NULL || given.release == NULL)) {
        return zc_report_argument(error, given.reserved != 0 ? "allocator: reserved is not 0" : "allocator: a function is NULL");
    }
    zc_pool_free_spares();
    if (!zc_memory_set(allocator != NULL ? &(zc_allocator){given.allocate, given.release, given.user} : NULL)) {
        return zc_report_argument(error, "memory of another allocator is in use: release all handles, and call zarrcore_shutdown");
    }
    return zc_report(error, &err, NULL, NULL);
}
