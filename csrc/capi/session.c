/* SPDX-License-Identifier: MIT */
#include "capi/handle.h"

#define MOST_CHANGES 3           /* of the metadata, by others, during a read: attributes may change all the time */

zc_status zc_session_begin(const zarrcore_array *array, bool writes, zc_session *session, zc_error *err)
{
    *session = (zc_session){.owner = array->owner, .writes = writes};
    const zc_status status = array->backend->begin(session, err);
    return status == ZC_OK ? zc_watch_begin(session, err) : status;
}

void zc_session_end(const zarrcore_array *array, zc_session *session, zc_status status, zc_error *err)
{
    err->status = status;    /* failures inside that were overcome may have left a record */
    if (array->backend->end != NULL) {
        array->backend->end(session, err);
    }
    zc_writing_end(&session->writing);
}

bool zc_session_again(const zarrcore_array *array, const zc_session *session, int *attempts, zc_status *status, zc_error *err)
{
    if (*status != ZC_ERR_STALE || session->local.known == NULL) {
        return false;
    }
    zc_error_clear(err);
    *status = array->backend->renew(session->owner, ++*attempts >= MOST_CHANGES, err);
    return *status == ZC_OK;
}
