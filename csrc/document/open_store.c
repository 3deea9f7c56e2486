/* SPDX-License-Identifier: MIT
 *
 * What is at a path: a directory, or an archive.
 */
#include <errno.h>

#include "document/archive.h"
#include "document/tree.h"

zc_status zc_open_root(const char *path, int flags, zarrcore_store **out, zc_error *err)
{
    const zc_status before = zc_check_cancelled(err);
    const zc_status status = before == ZC_OK ? zc_open_directory(path, flags, out, err) : before;
    zc_error found = {0};

#ifdef _WIN32
    if ((flags & ZARRCORE_LOCKS) != 0) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "there are no locks among processes on Windows");
    }
#endif
    if (status != ZC_ERR_IO || err->sys_errno != ENOTDIR) {
        return status;
    }
    const zc_status second = zc_open_archive(path, flags, out, &found);
    if (second == ZC_ERR_MISSING || second == ZC_ERR_IO) {
        return status;                       /* no archive: a file in the place of a directory */
    }
    *err = found;
    return second;
}

int zarrcore_open_store(const char *path, int flags, zarrcore_store **out, zarrcore_error *error)
{
    const int known = ZARRCORE_READ_WRITE | ZARRCORE_SYNC | ZARRCORE_MISSING_IS_ERROR | ZARRCORE_FOLLOW_SYMLINKS | ZARRCORE_CREATE |
                      ZARRCORE_LOCKS;
    zc_error err;

    if (out != NULL) {
        *out = NULL;
    }
    const int checked = zc_check_opening(out, path, flags, known, error);
    if (checked != ZARRCORE_OK) {
        return checked;
    }
    if ((flags & ZARRCORE_CREATE) != 0 && (flags & ZARRCORE_READ_WRITE) == 0) {
        return zc_report_argument(error, "flags: ZARRCORE_CREATE needs ZARRCORE_READ_WRITE");
    }
    zc_error_clear(&err);
    return zc_report_status(error, &err, zc_open_root(path, flags, out, &err));
}
