/* SPDX-License-Identifier: MIT
 *
 * Read an array from a web server: a store of callbacks over libcurl.
 *
 *     cc http_store.c $(pkg-config --cflags --libs zarrcore libcurl) -o http_store
 *     ./http_store http://localhost:8000/tree.zarr temperature
 *
 * Prints the sum of its elements.  Values and ranges that are asked for together are fetched together, over connections that are kept.
 * HTTP cannot list: zarrcore_list works with ZARRCORE_CONSOLIDATED alone.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <zarrcore.h>

typedef struct server {
    const char *url;
    pthread_mutex_t lock;    /* of the connections: one call at a time fetches */
    CURLM *connections;
} server;

/* One value, or a range of one. */
typedef struct transfer {
    CURL *curl;
    zarrcore_request *request;
    uint64_t skip, left;     /* of a server that does not know ranges, and sends all */
    char range[64], fault[CURL_ERROR_SIZE];
} transfer;

/* ---- one request -------------------------------------------------------------------------------- */

static size_t receive(char *data, size_t size, size_t n, void *arg)
{
    transfer *const t = arg;
    long code = 0;

    (void)size;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 206) {
        return n;                            /* a page that explains the failure */
    }
    const uint64_t skipped = code == 206 ? 0 : t->skip < n ? t->skip : n, rest = n - skipped;
    const uint64_t wanted = rest < t->left ? rest : t->left;
    t->skip -= skipped;
    t->left -= wanted;
    return zarrcore_reply_bytes(t->request->reply, data + skipped, (size_t)wanted) == ZARRCORE_OK ? n : 0;
}

static int begin(const server *s, zarrcore_request *request, transfer *t)
{
    const int from_end = request->offset == ZARRCORE_FROM_END, whole = !from_end && request->nbytes == ZARRCORE_TO_END;
    const size_t size = strlen(s->url) + strlen(request->key) + 2;
    char *const url = malloc(size);

    *t = (transfer){.curl = curl_easy_init(), .request = request, .skip = from_end ? 0 : request->offset, .left = request->nbytes};
    request->status = t->curl != NULL && url != NULL ? ZARRCORE_OK : ZARRCORE_ERR_MEMORY;
    if (request->status == ZARRCORE_OK) {
        snprintf(url, size, "%s/%s", s->url, request->key);
        curl_easy_setopt(t->curl, CURLOPT_URL, url);
        curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, receive);
        curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
        curl_easy_setopt(t->curl, CURLOPT_ERRORBUFFER, t->fault);
        curl_easy_setopt(t->curl, CURLOPT_PRIVATE, t);
        curl_easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(t->curl, CURLOPT_FOLLOWLOCATION, 1L);
    }
    if (request->status == ZARRCORE_OK && !whole) {
        snprintf(t->range, sizeof t->range, from_end ? "-%" PRIu64 : "%" PRIu64 "-%" PRIu64,
                 from_end ? request->nbytes : request->offset, request->offset + request->nbytes - 1);
        curl_easy_setopt(t->curl, CURLOPT_RANGE, t->range);
    }
    free(url);
    return request->status;
}

/* The status of an answer; 416 means that the value ends before the range. */
static int status_of(const transfer *t, CURLcode result)
{
    char text[CURL_ERROR_SIZE + 64];
    long code = 0;

    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    if (result == CURLE_OK && (code == 200 || code == 206 || code == 416)) {
        return ZARRCORE_OK;
    }
    if (code == 404 || code == 410) {
        return ZARRCORE_ERR_MISSING;
    }
    snprintf(text, sizeof text, "HTTP %ld: %s", code, t->fault[0] != '\0' ? t->fault : curl_easy_strerror(result));
    zarrcore_reply_error(t->request->reply, text);
    return ZARRCORE_ERR_IO;
}

/* ---- many requests ------------------------------------------------------------------------------ */

static void finish(const server *s)
{
    CURLMsg *message;
    int n;

    while ((message = curl_multi_info_read(s->connections, &n)) != NULL) {
        char *private = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        transfer *const t = (transfer *)(void *)private;
        t->request->status = status_of(t, message->data.result);
    }
}

static int run(const server *s)
{
    int running = 1;

    while (running > 0) {
        if (curl_multi_perform(s->connections, &running) != CURLM_OK ||
            (running > 0 && curl_multi_poll(s->connections, NULL, 0, 1000, NULL) != CURLM_OK)) {
            return ZARRCORE_ERR_IO;
        }
    }
    finish(s);
    return ZARRCORE_OK;
}

static int get_ranges(void *user, zarrcore_request *requests, size_t n)
{
    server *const s = user;
    transfer *const all = calloc(n, sizeof *all);
    int status = all != NULL ? ZARRCORE_OK : ZARRCORE_ERR_MEMORY;
    size_t begun = 0;

    pthread_mutex_lock(&s->lock);
    for (; begun < n && status == ZARRCORE_OK; begun++) {
        status = begin(s, &requests[begun], &all[begun]);
        requests[begun].status = ZARRCORE_ERR_IO;
        if (status == ZARRCORE_OK && curl_multi_add_handle(s->connections, all[begun].curl) != CURLM_OK) {
            status = ZARRCORE_ERR_MEMORY;
        }
    }
    status = status == ZARRCORE_OK ? run(s) : status;
    for (size_t i = 0; i < begun; i++) {
        curl_multi_remove_handle(s->connections, all[i].curl);
        curl_easy_cleanup(all[i].curl);
    }
    pthread_mutex_unlock(&s->lock);
    free(all);
    return status;
}

static int get(void *user, const zarrcore_request *request)
{
    zarrcore_request one = *request;
    const int status = get_ranges(user, &one, 1);

    return status != ZARRCORE_OK ? status : one.status;
}

static int open_server(server *s, zarrcore_store **out, zarrcore_error *error)
{
    const zarrcore_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = s, .name = s->url, .get = get, .get_ranges = get_ranges};

    return zarrcore_open_callbacks(&callbacks, 0, out, error);
}

/* ---- the program -------------------------------------------------------------------------------- */

static int print_sum(const zarrcore_array *array, zarrcore_error *error)
{
    int64_t shape[ZARRCORE_MAX_DIMS];
    const int ndim = zarrcore_ndim(array);
    size_t n = 1;
    double sum = 0;

    zarrcore_shape(array, shape);
    for (int d = 0; d < ndim; d++) {
        n *= (size_t)shape[d];
    }
    double *const values = calloc(n + 1, sizeof *values);
    const int status = values == NULL ? ZARRCORE_ERR_MEMORY
                                      : zarrcore_read_as(array, "f8", ndim, NULL, NULL, NULL, values, n * sizeof *values, NULL, 0, error);
    for (size_t i = 0; i < n && status == ZARRCORE_OK; i++) {
        sum += values[i];
    }
    if (status == ZARRCORE_OK) {
        printf("%.17g\n", sum);
    }
    free(values);
    return status;
}

int main(int argc, char **argv)
{
    server s = {.url = argc > 1 ? argv[1] : "", .lock = PTHREAD_MUTEX_INITIALIZER};
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    zarrcore_store *store = NULL;
    zarrcore_array *array = NULL;

    if (argc != 3) {
        fprintf(stderr, "usage: http_store URL PATH\n");
        return 2;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    s.connections = curl_multi_init();
    int status = open_server(&s, &store, &error);
    status = status == ZARRCORE_OK ? zarrcore_open_array(store, argv[2], &array, &error) : status;
    status = status == ZARRCORE_OK ? print_sum(array, &error) : status;
    if (status != ZARRCORE_OK) {
        fprintf(stderr, "http_store: %s: %s\n", zarrcore_status_name(status), error.message);
    }
    zarrcore_release(array);
    zarrcore_release_store(store);
    curl_multi_cleanup(s.connections);
    curl_global_cleanup();
    return status == ZARRCORE_OK ? 0 : 1;
}
