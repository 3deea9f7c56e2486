/* SPDX-License-Identifier: MIT
 *
 * Stores whose values are kept by functions of the caller.
 *
 * A function hands over what it has through a reply, which copies it, as far as there may be so much: what it says of sizes is never
 * believed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "document/archive.h"
#include "document/tree.h"

#define FIRST_ROOM ((size_t)4096)

/* What all handles of the store share. */
typedef struct source {
    zarrcore_callbacks call;
    char *name;
    bool constant;           /* no value ever changes */
} source;

static const zarrcore_callbacks *callbacks_of(const zarrcore_store *store)
{
    return &((const source *)store->shared->self)->call;
}

/* ---- replies ------------------------------------------------------------------------------------ */

struct zarrcore_reply {
    uint8_t *data;           /* n bytes in memory of zc_memory_new, or to be put there */
    size_t n, room, most;    /* most: there may be no more */
    bool fixed;              /* data has `most` bytes and is somebody's */
    zc_names *names;         /* of a list; else NULL */
    char *text;              /* of an error; NULL: none */
    zc_status failure;       /* of zc_reply_fail */
    zc_status status;        /* what went wrong while it was made */
    zc_status too_many;      /* the status for too many bytes */
};

static int note(zarrcore_reply *reply, zc_status status)
{
    reply->status = reply->status == ZC_OK ? status : reply->status;
    return (int)status;
}

static bool grow(zarrcore_reply *reply, size_t n)
{
    size_t room = reply->room > reply->most / 2 ? reply->most : 2 * reply->room;

    room = room > FIRST_ROOM ? room : FIRST_ROOM;
    room = room > n ? room : n;
    void *const more = zc_memory_new(room);
    if (more != NULL) {
        if (reply->n > 0) {
            memcpy(more, reply->data, reply->n);
        }
        zc_memory_delete(reply->data);
        reply->data = more;
        reply->room = room;
    }
    return more != NULL;
}

uint8_t *zc_reply_room(zarrcore_reply *reply, uint64_t n)
{
    if (n > reply->most - reply->n) {
        note(reply, reply->too_many);
        return NULL;
    }
    if (!reply->fixed && (reply->data == NULL || n > reply->room - reply->n) && !grow(reply, reply->n + (size_t)n)) {
        note(reply, ZC_ERR_MEMORY);
        return NULL;
    }
    reply->n += (size_t)n;
    return reply->data + reply->n - n;
}

int zarrcore_reply_bytes(zarrcore_reply *reply, const void *data, size_t nbytes)
{
    if (reply == NULL || (data == NULL && nbytes > 0)) {
        return reply == NULL ? ZARRCORE_ERR_ARGUMENT : note(reply, ZC_ERR_ARGUMENT);
    }
    if (nbytes == 0) {
        return ZARRCORE_OK;                  /* nobody would free memory for a reply that takes no bytes */
    }
    uint8_t *const room = zc_reply_room(reply, nbytes);
    if (room == NULL) {
        return reply->status;
    }
    memcpy(room, data, nbytes);
    return ZARRCORE_OK;
}

int zarrcore_reply_name(zarrcore_reply *reply, const char *name, int is_below)
{
    zc_error err = {0};

    if (reply == NULL || reply->names == NULL || name == NULL || name[0] == '\0' || strchr(name, '/') != NULL ||
        strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return reply == NULL ? ZARRCORE_ERR_ARGUMENT : note(reply, ZC_ERR_ARGUMENT);
    }
    const zc_status status = zc_names_add(reply->names, name, strlen(name), is_below != 0, &err);
    return status == ZC_OK ? ZARRCORE_OK : note(reply, status);
}

int zarrcore_reply_error(zarrcore_reply *reply, const char *text)
{
    const size_t n = text != NULL ? strlen(text) : 0;

    if (reply != NULL && n > 0) {
        char *const copy = malloc(n + 1);
        if (copy != NULL) {                  /* else the status alone has to do */
            memcpy(copy, text, n + 1);
            free(reply->text);
            reply->text = copy;
        }
    }
    return ZARRCORE_ERR_CALLBACK;
}

int zc_reply_fail(zarrcore_reply *reply, const zc_error *err)
{
    zarrcore_reply_error(reply, err->message);
    reply->failure = err->status;
    return err->status;
}

static zc_status known_status(int status)
{
    switch (status) {
    case ZARRCORE_ERR_MEMORY: return ZC_ERR_MEMORY;
    case ZARRCORE_ERR_IO: return ZC_ERR_IO;
    case ZARRCORE_ERR_UNSUPPORTED: return ZC_ERR_UNSUPPORTED;
    case ZARRCORE_ERR_CANCELLED: return ZC_ERR_CANCELLED;
    default: return ZC_ERR_CALLBACK;
    }
}

static zc_status fail_reply(const zarrcore_reply *reply, const char *what, const char *key, zc_error *err)
{
    const zc_status status = reply->status;

    if (status == ZC_ERR_METADATA) {
        return zc_fail(err, status, "%.180s: more than %zu bytes are too many for a metadata document", key, reply->most);
    }
    if (status == ZC_ERR_SIZE) {
        return zc_fail(err, status, "the store has more than %zu bytes under \"%.180s\", too many for an encoding of the chunk",
                       reply->most, key);
    }
    if (status == ZC_ERR_CORRUPT) {
        return zc_fail(err, status, "the store returned more than the %zu bytes of a range of \"%.180s\"", reply->most, key);
    }
    return status == ZC_ERR_MEMORY ? zc_fail(err, status, "out of memory")
                                   : zc_fail(err, ZC_ERR_CALLBACK, "%s \"%.180s\": a reply that was not asked for, or is no name", what,
                                             key);
}

/* How a function has ended, whose reply is freed but for its data.  `named`: a status that it may return beside failures. */
static zc_status end_call(zarrcore_reply *reply, int status, int named, const char *what, const char *key, zc_error *err)
{
    zc_status found = ZC_OK;

    if (status == named && named != ZARRCORE_OK) {
        found = zc_fail(err, (zc_status)named, "%.200s %s", key, named == ZARRCORE_ERR_EXISTS ? "is there already" : "is not in the store");
    } else if (reply->status != ZC_OK) {
        found = fail_reply(reply, what, key, err);
    } else if (status != ZARRCORE_OK) {
        found = zc_fail(err, reply->failure != ZC_OK ? reply->failure : known_status(status), "%s \"%.120s\": %.160s", what, key,
                        reply->text != NULL ? reply->text : "the store failed");
        zc_mend_utf8(err->message);
    }
    free(reply->text);
    reply->text = NULL;
    return found;
}

/* A function of the user's has returned, before which zc_foreign was counted up. */
static int back(int status)
{
    zc_foreign--;
    return status;
}

/* ---- getting ------------------------------------------------------------------------------------ */

static zc_status get(const zarrcore_callbacks *call, const char *key, uint64_t offset, uint64_t n, zarrcore_reply *reply,
                     zc_error *err)
{
    const zarrcore_request request = {.key = key, .offset = offset, .nbytes = n, .reply = reply};

    zc_foreign++;
    const zc_status status = end_call(reply, back(call->get(call->user, &request)), ZARRCORE_ERR_MISSING, "get", key, err);
    zc_metric_add(ZC_METRIC_REQUESTS, 1);
    zc_metric_add(ZC_METRIC_BYTES_READ, reply->n);
    return status;
}

/* Whatever a reply has gathered; an empty value has memory, too. */
static zc_status get_whole(const zarrcore_callbacks *call, const char *key, zarrcore_reply *reply, zc_error *err)
{
    zc_status status = get(call, key, 0, ZARRCORE_TO_END, reply, err);

    if (status == ZC_OK && reply->data == NULL) {
        reply->data = zc_memory_new(1);
        status = reply->data != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    if (status != ZC_OK) {
        zc_memory_delete(reply->data);
        reply->data = NULL;
    }
    return status;
}

/* ---- values of chunks --------------------------------------------------------------------------- */

static const zarrcore_callbacks *callbacks_in(const zc_store *store)
{
    return ((const zc_session *)store->self)->self;
}

static zarrcore_reply reply_for(const zc_store *store, uint64_t n)
{
    const size_t most = ((const zc_session *)store->self)->most;

    return n == ZARRCORE_TO_END ? (zarrcore_reply){.most = most, .too_many = ZC_ERR_SIZE}
                                : (zarrcore_reply){.most = n < ZC_SIZE_MAX ? (size_t)n : ZC_SIZE_MAX, .too_many = ZC_ERR_CORRUPT};
}

static void take_value(zc_value *out, const zc_store *store, const zarrcore_reply *reply)
{
    *out = (zc_value){.data = reply->data, .size = reply->n, .token = reply->data, .store = store};
}

static zc_status store_open(const zc_store *store, const char *key, bool whole, zc_value *out, zc_error *err)
{
    if (whole) {
        zarrcore_reply reply = reply_for(store, ZARRCORE_TO_END);
        const zc_status status = get_whole(callbacks_in(store), key, &reply, err);
        take_value(out, status == ZC_OK ? store : NULL, &reply);
        return status;
    }
    const size_t size = strlen(key) + 1;
    char *const copy = zc_memory_new(size);
    *out = (zc_value){.size = ZC_SIZE_UNKNOWN, .token = copy, .store = copy != NULL ? store : NULL};
    if (copy == NULL) {
        return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
    }
    memcpy(copy, key, size);
    return ZC_OK;
}

static void store_release(zc_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        zc_memory_delete(values[i].token);
        values[i].token = NULL;
    }
}

static void store_close(zc_value *value)
{
    store_release(value, 1);
}

static zc_status read_range(const zc_value *value, uint64_t offset, void *dst, size_t n, zc_error *err)
{
    const zarrcore_callbacks *const call = callbacks_in(value->store);
    zarrcore_reply reply = {.data = dst, .most = n, .fixed = true, .too_many = ZC_ERR_CORRUPT};
    const zc_status status = get(call, value->token, offset, n, &reply, err);

    return status != ZC_OK || reply.n == n
               ? status
               : zc_fail(err, ZC_ERR_CORRUPT, "the store returned %zu bytes of a range of %zu", reply.n, n);
}

static zc_status read_tail(const zc_value *value, void *dst, size_t n, zc_error *err)
{
    return read_range(value, ZARRCORE_FROM_END, dst, n, err);
}

/* Has each request been answered?  Then its value, or its absence, is in out.  Of what was asked only the statuses are read again. */
static bool take_replies(const zc_store *store, const zc_request *requests, const zarrcore_request *asked, zarrcore_reply *replies,
                         size_t n, zc_value *out)
{
    bool good = true;
    zc_error err = {0};

    for (size_t i = 0; i < n; i++) {
        zarrcore_reply *const reply = &replies[i];
        const zc_status status = end_call(reply, asked[i].status, ZARRCORE_ERR_MISSING, "get", requests[i].key, &err);
        zc_metric_add(ZC_METRIC_BYTES_READ, reply->n);
        if (status == ZC_OK && reply->data == NULL) {
            reply->data = zc_memory_new(1);
        }
        if (status == ZC_OK && reply->data != NULL) {
            take_value(&out[i], store, reply);
        } else {
            good = good && status == ZC_ERR_MISSING;
            zc_memory_delete(reply->data);
        }
    }
    return good;
}

/* Whatever fails here is asked for alone, which shows what it is. */
static zc_status fetch_parts(const zc_store *store, const zc_request *requests, size_t n, zc_value *out, zc_error *err)
{
    const zarrcore_callbacks *const call = callbacks_in(store);
    zarrcore_request *const asked = zc_alloc_array(n, sizeof *asked);
    zarrcore_reply *const replies = zc_alloc_array(n, sizeof *replies);
    bool good = asked != NULL && replies != NULL;

    for (size_t i = 0; good && i < n; i++) {
        const uint64_t wanted = requests[i].n == ZC_SIZE_MAX ? ZARRCORE_TO_END : requests[i].n;
        replies[i] = reply_for(store, wanted);
        asked[i] = (zarrcore_request){.key = requests[i].key, .offset = requests[i].offset, .nbytes = wanted,
                                      .reply = &replies[i], .status = ZARRCORE_ERR_CALLBACK};
    }
    if (good) {
        zc_foreign++;
        const int status = back(call->get_ranges(call->user, asked, n));
        good = take_replies(store, requests, asked, replies, n, out) && status == ZARRCORE_OK;
        zc_metric_add(ZC_METRIC_REQUESTS, n);
    }
    if (!good) {
        store_release(out, n);
        memset(out, 0, n * sizeof *out);
    }
    free(replies);
    free(asked);
    return good ? ZC_OK : zc_fail(err, ZC_ERR_IO, "the store failed");
}

static zc_status fetch(const zc_store *store, const zc_request *requests, size_t n, zc_value *out, size_t *failed, zc_error *err)
{
    (void)failed;
    return fetch_parts(store, requests, n, out, err);
}

static zc_status put(const zarrcore_callbacks *call, const char *key, const void *data, size_t n, bool is_new, zc_error *err)
{
    zarrcore_reply reply = {.too_many = ZC_ERR_ARGUMENT};

    zc_foreign++;
    const int status = back(call->put(call->user, key, n > 0 ? data : "", n, is_new, &reply));
    return end_call(&reply, status, is_new ? ZARRCORE_ERR_EXISTS : ZARRCORE_OK, "put", key, err);
}

static zc_status remove_key(const zarrcore_callbacks *call, const char *key, zc_error *err)
{
    zarrcore_reply reply = {.too_many = ZC_ERR_ARGUMENT};

    zc_foreign++;
    return end_call(&reply, back(call->remove(call->user, key, &reply)), ZARRCORE_OK, "remove", key, err);
}

static zc_status store_replace(const zc_store *store, const char *key, const void *data, size_t n, zc_error *err)
{
    return put(callbacks_in(store), key, data, n, false, err);
}

static zc_status store_remove(const zc_store *store, const char *key, zc_error *err)
{
    return remove_key(callbacks_in(store), key, err);
}

/* If the metadata of an array are gone, nobody knows what the chunks held. */
static zc_status store_check(const zc_store *store, const char *prefix, size_t prefix_len, zc_error *err)
{
    static const char *const names[] = {ZC_ZARR_JSON, ZC_ZARRAY};
    char *const key = malloc(prefix_len + ZC_NAME_ROOM);
    zc_status status = key != NULL ? ZC_ERR_MISSING : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    for (size_t i = 0; i < sizeof names / sizeof *names && status == ZC_ERR_MISSING; i++) {
        zarrcore_reply reply = {.most = ZC_DOCUMENT_MAX, .too_many = ZC_ERR_METADATA};
        memcpy(key, prefix, prefix_len);
        memcpy(key + prefix_len, names[i], strlen(names[i]) + 1);
        zc_error_clear(err);
        status = get_whole(callbacks_in(store), key, &reply, err);
        zc_memory_delete(reply.data);
    }
    free(key);
    return status == ZC_ERR_MISSING ? zc_fail(err, ZC_ERR_IO, "the array is gone from the store") : status;
}

/* ---- trees -------------------------------------------------------------------------------------- */

static zc_status tree_get(const zarrcore_store *store, const char *key, zc_text *out, zc_mark *mark, zc_error *err)
{
    (void)mark;
    zarrcore_reply reply = {.most = ZC_DOCUMENT_MAX, .too_many = ZC_ERR_METADATA};
    const zc_status status = get_whole(callbacks_of(store), key, &reply, err);
    char *const data = status == ZC_OK ? malloc(reply.n + 1) : NULL;

    *out = (zc_text){data, data != NULL ? reply.n : 0};
    if (data != NULL) {
        memcpy(data, reply.data, reply.n);
        data[reply.n] = '\0';
    }
    zc_memory_delete(reply.data);
    return status != ZC_OK || data != NULL ? status : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

static zc_status tree_put(const zarrcore_store *store, const char *key, const zc_text *value, bool is_new, zc_error *err)
{
    return put(callbacks_of(store), key, value->data, value->n, is_new, err);
}

static zc_status tree_remove(const zarrcore_store *store, const char *key, zc_error *err)
{
    return remove_key(callbacks_of(store), key, err);
}

/* prefix, and a name and a slash, to be freed; NULL when out of memory. */
static char *join(const char *prefix, const char *name, const char *end)
{
    const size_t size = strlen(prefix) + strlen(name) + strlen(end) + 1;
    char *const out = malloc(size);

    if (out != NULL) {
        snprintf(out, size, "%s%s%s", prefix, name, end);
    }
    return out;
}

static zc_status list_prefix(const zarrcore_callbacks *call, const char *prefix, zc_names *out, zc_error *err)
{
    zarrcore_reply reply = {.names = out, .too_many = ZC_ERR_ARGUMENT};

    if (call->list == NULL) {
        return zc_fail(err, ZC_ERR_UNSUPPORTED, "the store cannot list what is there");
    }
    zc_foreign++;
    const zc_status status = end_call(&reply, back(call->list(call->user, prefix, &reply)), ZARRCORE_OK, "list", prefix, err);
    zc_names_sort(out);      /* who keeps whole keys may hand over one name for each key below it */
    return status;
}

static zc_status tree_list(const zarrcore_store *store, const char *path, zc_names *out, zc_error *err)
{
    char *const prefix = join("", path, path[0] != '\0' ? "/" : "");
    const zc_status status = prefix != NULL ? list_prefix(callbacks_of(store), prefix, out, err)
                                            : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    free(prefix);
    return status;
}

static zc_status erase_prefix(const zarrcore_callbacks *call, const char *prefix, int depth, zc_error *err)
{
    zc_names names = {0};
    zc_status status = depth < ZC_DEEPEST ? list_prefix(call, prefix, &names, err)
                                          : zc_fail(err, ZC_ERR_CALLBACK, "keys have more than %d parts", ZC_DEEPEST);

    for (int step = 0; step <= ZC_STEP_BELOW; step++) {
        for (size_t i = 0; i < names.n && status == ZC_OK; i++) {
            if (zc_removal_step(&names.at[i]) != step) {
                continue;
            }
            char *const key = join(prefix, names.at[i].text, step == ZC_STEP_BELOW ? "/" : "");
            status = key == NULL ? zc_fail(err, ZC_ERR_MEMORY, "out of memory")
                     : step == ZC_STEP_BELOW ? erase_prefix(call, key, depth + 1, err)
                                 : remove_key(call, key, err);
            free(key);
        }
    }
    zc_names_free(&names);
    return status;
}

static zc_status tree_erase(const zarrcore_store *store, const char *path, zc_error *err)
{
    char *const prefix = join("", path, "/");
    const zc_status status = prefix != NULL ? erase_prefix(callbacks_of(store), prefix, 0, err)
                                            : zc_fail(err, ZC_ERR_MEMORY, "out of memory");

    free(prefix);
    return status;
}

/* Stores with one name, or with one user, are one. */
static zc_status tree_scope(const zarrcore_store *store, const char *path, char **out, zc_error *err)
{
    const source *const from = store->shared->self;
    char address[40];

    snprintf(address, sizeof address, "callbacks:%p/", from->call.user);
    char *const root = from->name != NULL ? join("callbacks:", from->name, "/") : join(address, "", "");
    *out = root != NULL ? join(root, path, path[0] != '\0' ? "/" : "") : NULL;
    free(root);
    return *out != NULL ? ZC_OK : zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

static zc_status tree_begin(const zarrcore_store *store, zc_session *session, zc_error *err)
{
    const source *const from = store->shared->self;
    const bool batches = from->call.get_ranges != NULL;

    (void)err;
    session->self = (void *)&from->call;
    session->store = (zc_store){
        .self = session,
        .open = store_open,
        .close = store_close,
        .release = store_release,
        .read = read_range,
        .read_tail = read_tail,
        .replace = store_replace,
        .remove = store_remove,
        .check = store_check,
        .fetch = batches ? fetch : NULL,
        .fetch_parts = batches ? fetch_parts : NULL,
        .gap = 1 << 16,
        .most = 1 << 26,
        .batch_bytes = 1 << 26,
        .constant = from->constant,
    };
    return ZC_OK;
}

static void tree_destroy(void *self)
{
    source *const from = self;

    if (from->call.close != NULL) {
        zc_foreign++;
        from->call.close(from->call.user);
        zc_foreign--;
    }
    free(from->name);
    free(from);
}

static const zc_tree_ops callback_ops = {.get = tree_get, .put = tree_put, .remove = tree_remove, .erase = tree_erase,
                                         .list = tree_list, .scope = tree_scope, .begin = tree_begin, .destroy = tree_destroy};

/* ---- opening ------------------------------------------------------------------------------------ */

static const char *fault_of(const zarrcore_callbacks *callbacks, int flags)
{
    if (callbacks->reserved != 0 || callbacks->get == NULL) {
        return callbacks->get == NULL ? "callbacks: get is NULL" : "callbacks: reserved is not 0";
    }
    if ((flags & ~(ZARRCORE_READ_WRITE | ZARRCORE_MISSING_IS_ERROR)) != 0) {
        return "flags: one is set that stores of callbacks do not know";
    }
    if ((flags & ZARRCORE_READ_WRITE) != 0 && (callbacks->put == NULL || callbacks->remove == NULL)) {
        return "callbacks: ZARRCORE_READ_WRITE needs put and remove";
    }
    return NULL;
}

zc_status zc_open_source(const zarrcore_callbacks *callbacks, int flags, bool constant, zarrcore_store **out, zc_error *err)
{
    source *const self = calloc(1, sizeof *self);

    *out = NULL;
    if (self != NULL) {
        self->call = *callbacks;
        self->call.name = NULL;
        self->name = callbacks->name != NULL ? join(callbacks->name, "", "") : NULL;
        self->constant = constant;
    }
    if (self != NULL && (callbacks->name == NULL || self->name != NULL)) {
        *out = zc_store_new(&callback_ops, self, flags, self->name != NULL ? self->name : "");
    }
    if (*out != NULL) {
        return ZC_OK;
    }
    free(self != NULL ? self->name : NULL);
    free(self);
    return zc_fail(err, ZC_ERR_MEMORY, "out of memory");
}

int zarrcore_open_callbacks(const zarrcore_callbacks *callbacks, int flags, zarrcore_store **out, zarrcore_error *error)
{
    zarrcore_callbacks known;
    const char *const fault = out == NULL         ? "out is NULL"
                              : callbacks == NULL ? "callbacks is NULL"
                              : !zc_take_struct(&known, sizeof known, callbacks, offsetof(zarrcore_callbacks, get_ranges))
                                  ? "callbacks: struct_size is too small, or of a later version whose members are set"
                                  : fault_of(&known, flags);
    zc_error err = {0};

    if (out != NULL) {
        *out = NULL;
    }
    if (fault != NULL) {
        return zc_report_argument(error, fault);
    }
    return zc_report_status(error, &err, zc_open_source(&known, flags, false, out, &err));
}
