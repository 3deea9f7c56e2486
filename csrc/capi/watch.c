/* SPDX-License-Identifier: MIT
 *
 * What a thread has to say to its calls while they run: a flag that cancels them, and a function that sees how far they are.
 */
#include "base/pool.h"
#include "capi/handle.h"

static _Thread_local struct {
    zarrcore_watch given;
    zc_watch counts;
} own;

int zarrcore_set_watch(const zarrcore_watch *watch, zarrcore_error *error)
{
    zarrcore_watch given = {0};
    zc_error err = {0};

    if (!zc_pool_is_outside()) {
        return zc_report_argument(error, "called by a function that the library has called");
    }
    if (watch != NULL && !zc_take_struct(&given, sizeof given, watch, offsetof(zarrcore_watch, progress))) {
        return zc_report_argument(error, "watch: struct_size is too small, or of a later version whose members are set");
    }
    if (given.reserved != 0) {
        return zc_report_argument(error, "watch: reserved is not 0");
    }
    own.given = given;
    own.counts.cancelled = given.cancelled;
    atomic_store(&own.counts.done, 0);
    atomic_store(&own.counts.expected, 0);
    zc_pool_watch(watch != NULL ? &own.counts : NULL);
    return zc_report(error, &err, NULL, NULL);
}

/* zc_poll */
static int report_progress(void *arg)
{
    (void)arg;
    const uint64_t done = atomic_load(&own.counts.done);         /* before what is expected, which is never less */
    return own.given.progress(own.given.user, done, atomic_load(&own.counts.expected));
}

zc_status zc_watch_begin(zc_session *session, zc_error *err)
{
    const zc_watch *const watch = zc_pool_watched();

    if (zc_watch_cancelled(watch)) {
        return zc_fail(err, ZC_ERR_CANCELLED, "interrupted");
    }
    if (session->poll == NULL && watch == &own.counts && own.given.progress != NULL) {
        session->poll = report_progress;
    }
    return ZC_OK;
}
