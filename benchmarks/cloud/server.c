/* SPDX-License-Identifier: MIT
 *
 * A server of objects on loopback, for measurements: it spends little itself, answers each request after a given
 * latency, sends no faster than a given bandwidth, and counts.  See Server in __init__.py for how it is used.
 *
 * It speaks the part of S3 that clients of Zarr need, with buckets in the path, and answers the same paths as a plain
 * web server.  Signatures are not checked.  Everything runs in one thread; objects are kept in memory.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SLICE ((size_t)128 << 10)    /* bytes sent at a time where the bandwidth is limited */
#define PAGE 1000                    /* keys of one page of a listing */

typedef struct object {
    struct object *next;             /* in its bucket of the table */
    int users;                       /* the table, and answers that are being sent */
    uint64_t tag;
    size_t size;
    char *data, *key;
} object;

typedef struct text {
    char *data;
    size_t size, room;
} text;

typedef struct connection {
    int fd;
    bool writing, gone;              /* waits for room to send; closed, but still in the heap */
    int queued;                      /* entries of the heap */
    text in, out;                    /* what has come; head and text of the answer */
    size_t sent, body_at, body_left; /* of out; of the object */
    object *body;
    size_t taken;                    /* bytes of the request that is being answered */
    bool busy, continued, is_head;
    int64_t may_send;
    size_t granted;                      /* bytes of the body that the bandwidth has room for now */
} connection;

typedef struct request {
    char *method, *key, *query, *head;
    const char *body;
    size_t body_size;
} request;

static struct { int64_t latency_ns; double connection_rate, total_rate; long fail_every; } how;
static struct { long requests, connections, failed, now, most; uint64_t sent, received; } counts;
static object *table[1 << 16];
static size_t n_objects;
static uint64_t last_tag, last_upload;
static int64_t total_may_send;
static int poller;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *need(void *memory)
{
    if (memory == NULL) {
        perror("no memory");
        exit(1);
    }
    return memory;
}

static void room_for(text *t, size_t more)
{
    if (t->size + more + 1 > t->room) {
        t->room = 2 * (t->size + more) + 512;
        t->data = need(realloc(t->data, t->room));
    }
}

__attribute__((format(printf, 2, 3))) static void add(text *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    room_for(t, (size_t)n);
    va_start(args, format);
    vsnprintf(t->data + t->size, (size_t)n + 1, format, args);
    va_end(args);
    t->size += (size_t)n;
}

/* ---- objects ---- */

static object **place_of(const char *key)
{
    uint64_t hash = 1469598103934665603u;

    for (const char *c = key; *c != 0; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    object **place = &table[hash >> 48];
    while (*place != NULL && strcmp((*place)->key, key) != 0) {
        place = &(*place)->next;
    }
    return place;
}

static void let_go(object *o)
{
    if (o != NULL && --o->users == 0) {
        free(o->data);
        free(o->key);
        free(o);
    }
}

static bool forget(const char *key)
{
    object **place = place_of(key), *old = *place;

    if (old != NULL) {
        *place = old->next;
        n_objects--;
        let_go(old);
    }
    return old != NULL;
}

static object *keep(const char *key, const char *data, size_t size)
{
    object *o = need(calloc(1, sizeof *o));

    forget(key);
    *o = (object){.users = 1, .tag = ++last_tag, .size = size, .data = need(malloc(size + 1)), .key = need(strdup(key))};
    memcpy(o->data, data, size);
    *place_of(key) = o;
    n_objects++;
    return o;
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(object *const *)a)->key, (*(object *const *)b)->key);
}

/* All objects whose keys begin so, in order. */
static object **below(const char *prefix, size_t *n)
{
    object **found = need(malloc((n_objects + 1) * sizeof *found));

    *n = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        for (object *o = table[i]; o != NULL; o = o->next) {
            if (strncmp(o->key, prefix, strlen(prefix)) == 0) {
                found[(*n)++] = o;
            }
        }
    }
    qsort(found, *n, sizeof *found, by_key);
    return found;
}

/* ---- requests ---- */

static void unquote(char *s)
{
    char *to = s;

    for (; *s != 0; s++) {
        unsigned code;
        if (*s == '%' && sscanf(s + 1, "%2x", &code) == 1) {
            *to++ = (char)code;
            s += 2;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
}

/* The value of a header, up to its line's end, or NULL. */
static const char *header(const request *r, const char *name)
{
    const size_t n = strlen(name);

    for (const char *line = r->head; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            return line + n + 1 + strspn(line + n + 1, " ");
        }
    }
    return NULL;
}

/* A word of the query, unquoted and to be freed, or NULL. */
static char *word(const request *r, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = r->query; at != NULL && *at != 0;) {
        const size_t size = strcspn(at, "&");
        if (strncmp(at, name, n) == 0 && (size == n || at[n] == '=')) {
            char *value = need(strndup(size == n ? "" : at + n + 1, size == n ? 0 : size - n - 1));
            unquote(value);
            return value;
        }
        at += size + (at[size] == '&');
    }
    return NULL;
}

static void answer(connection *c, const char *status, const char *headers, const char *body, size_t size)
{
    add(&c->out, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers, size);
    if (body != NULL && !c->is_head) {
        room_for(&c->out, size);
        memcpy(c->out.data + c->out.size, body, size);
        c->out.size += size;
    }
}

static void refuse(connection *c, const char *status, const char *code)
{
    const char *message = strcmp(code, "InvalidRange") == 0 ? "The requested range is not satisfiable" : code;
    char body[256];

    const int n = snprintf(body, sizeof body, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>%s</Message></Error>", code,
                           message);
    answer(c, status, "Content-Type: application/xml\r\n", body, (size_t)n);
}

static bool same_tag(const char *wanted, const object *o)
{
    char own[24];

    snprintf(own, sizeof own, "%016llx", (unsigned long long)(o != NULL ? o->tag : 0));
    return o != NULL && (*wanted == '*' || strncmp(wanted + (*wanted == '"'), own, 16) == 0);
}

static void get(connection *c, const request *r)
{
    object *o = *place_of(r->key);
    const char *range = header(r, "range"), *match = header(r, "if-match"), *none = header(r, "if-none-match");
    size_t first = 0, end = o != NULL ? o->size : 0;
    unsigned long long a, b;
    char part[128] = "", headers[400];

    if (o == NULL) {
        refuse(c, "404 Not Found", "NoSuchKey");
        return;
    }
    if (match != NULL && !same_tag(match, o)) {
        refuse(c, "412 Precondition Failed", "PreconditionFailed");
        return;
    }
    if (none != NULL && same_tag(none, o)) {
        add(&c->out, "HTTP/1.1 304 Not Modified\r\nETag: \"%016llx\"\r\n\r\n", (unsigned long long)o->tag);
        return;
    }
    if (range != NULL && strncmp(range, "bytes=", 6) == 0) {
        const int n = sscanf(range + 6, "%llu-%llu", &a, &b);
        if (range[6] == '-' && sscanf(range + 7, "%llu", &b) == 1) {
            first = b < end ? end - b : 0;
        } else if (n >= 1) {
            first = a;
            end = n == 2 && b + 1 < end ? b + 1 : end;
        }
        if (first >= end) {
            refuse(c, "416 Range Not Satisfiable", "InvalidRange");
            return;
        }
        snprintf(part, sizeof part, "Content-Range: bytes %zu-%zu/%zu\r\n", first, end - 1, o->size);
    }
    snprintf(headers, sizeof headers,
             "%sETag: \"%016llx\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nAccept-Ranges: bytes\r\n"
             "Content-Type: application/octet-stream\r\n", part, (unsigned long long)o->tag);
    answer(c, *part ? "206 Partial Content" : "200 OK", headers, NULL, end - first);
    if (strcmp(r->method, "GET") == 0) {
        o->users++;
        c->body = o;
        c->body_at = first;
        c->body_left = end - first;
    }
}

static void list(connection *c, const request *r)
{
    char *prefix = word(r, "prefix"), *delimiter = word(r, "delimiter"), *after = word(r, "continuation-token");
    text start = {0}, body = {0}, last = {0};
    size_t n, keys = 0, bucket = strcspn(r->key, "/") + 1;

    after = after != NULL ? after : word(r, "start-after");
    add(&start, "%.*s/%s", (int)(bucket - 1), r->key, prefix != NULL ? prefix : "");
    add(&last, "%s", "");
    object **found = below(start.data, &n);
    add(&body, "<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name><Prefix>%s</Prefix>", prefix != NULL ? prefix : "");
    for (size_t i = 0; i < n && keys < PAGE; i++) {
        const char *key = found[i]->key + bucket;
        const char *stop = delimiter != NULL && *delimiter ? strstr(found[i]->key + start.size, delimiter) : NULL;
        if (after != NULL && strcmp(key, after) <= 0) {
            continue;
        }
        if (stop != NULL) {
            const int size = (int)(stop + 1 - key);
            if (last.size != (size_t)size || strncmp(last.data, key, last.size) != 0) {
                add(&body, "<CommonPrefixes><Prefix>%.*s</Prefix></CommonPrefixes>", size, key);
                last.size = 0;
                add(&last, "%.*s", size, key);
                keys++;
            }
        } else {
            add(&body, "<Contents><Key>%s</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
                "<ETag>&quot;%016llx&quot;</ETag><Size>%zu</Size><StorageClass>STANDARD</StorageClass></Contents>",
                key, (unsigned long long)found[i]->tag, found[i]->size);
            keys++;
        }
        if (keys == PAGE && i + 1 < n) {
            add(&body, "<NextContinuationToken>%s%s</NextContinuationToken>", key, stop != NULL ? "\x7f" : "");
        }
    }
    const bool cut = strstr(body.data, "<NextContinuationToken>") != NULL;
    add(&body, "<KeyCount>%zu</KeyCount><MaxKeys>%d</MaxKeys><IsTruncated>%s</IsTruncated></ListBucketResult>", keys, PAGE,
        cut ? "true" : "false");
    answer(c, "200 OK", "Content-Type: application/xml\r\n", body.data, body.size);
    free(found), free(prefix), free(delimiter), free(after), free(start.data), free(body.data), free(last.data);
}

static void stored(connection *c, const object *o)
{
    char headers[64];

    snprintf(headers, sizeof headers, "ETag: \"%016llx\"\r\n", (unsigned long long)o->tag);
    answer(c, "200 OK", headers, NULL, 0);
}

static void put(connection *c, const request *r)
{
    const object *old = *place_of(r->key);
    const char *match = header(r, "if-match"), *none = header(r, "if-none-match");
    char *upload = word(r, "uploadId"), *part = word(r, "partNumber");

    if (strchr(r->key, '/') == NULL) {
        answer(c, "200 OK", "", NULL, 0);          /* a bucket; there are all that anyone may think of */
    } else if (upload != NULL && part != NULL) {
        text key = {0};
        add(&key, "\x01%s/%06d", upload, atoi(part));
        stored(c, keep(key.data, r->body, r->body_size));
        free(key.data);
    } else if ((match != NULL && !same_tag(match, old)) || (none != NULL && same_tag(none, old))) {
        refuse(c, "412 Precondition Failed", "PreconditionFailed");
    } else {
        stored(c, keep(r->key, r->body, r->body_size));
    }
    free(upload), free(part);
}

static void finish_upload(connection *c, const request *r, const char *upload)
{
    text prefix = {0}, all = {0}, body = {0};
    size_t n;

    add(&prefix, "\x01%s/", upload);
    object **parts = below(prefix.data, &n);
    for (size_t i = 0; i < n; i++) {
        room_for(&all, parts[i]->size);
        memcpy(all.data + all.size, parts[i]->data, parts[i]->size);
        all.size += parts[i]->size;
        forget(parts[i]->key);
    }
    room_for(&all, 0);
    const object *o = keep(r->key, all.data, all.size);
    add(&body, "<?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag>&quot;%016llx&quot;</ETag></CompleteMultipartUploadResult>",
        (unsigned long long)o->tag);
    answer(c, "200 OK", "Content-Type: application/xml\r\n", body.data, body.size);
    free(parts), free(prefix.data), free(all.data), free(body.data);
}

static void post(connection *c, const request *r)
{
    char *upload = word(r, "uploadId"), *begins = word(r, "uploads");
    text body = {0};

    if (upload != NULL) {
        finish_upload(c, r, upload);
    } else if (begins != NULL) {
        add(&body, "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><UploadId>u%llu</UploadId></InitiateMultipartUploadResult>",
            (unsigned long long)++last_upload);
        answer(c, "200 OK", "Content-Type: application/xml\r\n", body.data, body.size);
    } else {                                       /* DeleteObjects */
        add(&body, "<?xml version=\"1.0\"?><DeleteResult>");
        for (const char *at = r->body; (at = strstr(at, "<Key>")) != NULL; at++) {
            text key = {0};
            add(&key, "%.*s/%.*s", (int)strcspn(r->key, "/"), r->key, (int)strcspn(at + 5, "<"), at + 5);
            forget(key.data);
            add(&body, "<Deleted><Key>%s</Key></Deleted>", strchr(key.data, '/') + 1);
            free(key.data);
        }
        add(&body, "</DeleteResult>");
        answer(c, "200 OK", "Content-Type: application/xml\r\n", body.data, body.size);
    }
    free(upload), free(begins), free(body.data);
}

static double number(const request *r, const char *name)
{
    char *value = word(r, name);
    const double n = value != NULL ? atof(value) : 0;

    free(value);
    return n;
}

/* What whoever measures asks: GET /_counts, and PUT /_control?latency=...&..., which also sets the counts to zero. */
static void control(connection *c, const request *r)
{
    text body = {0};

    c->is_head = false;
    add(&body, "{\"requests\": %ld, \"connections\": %ld, \"failed\": %ld, \"most\": %ld, \"sent\": %llu, \"received\": %llu}",
        counts.requests, counts.connections, counts.failed, counts.most, (unsigned long long)counts.sent,
        (unsigned long long)counts.received);
    answer(c, "200 OK", "", body.data, body.size);
    free(body.data);
    if (strcmp(r->method, "PUT") == 0) {
        memset(&counts, 0, sizeof counts);
        how.latency_ns = (int64_t)(number(r, "latency") * 1e9);
        how.connection_rate = number(r, "connection_rate");
        how.total_rate = number(r, "total_rate");
        how.fail_every = (long)number(r, "fail_every");
    }
}

static void serve(connection *c, const request *r)
{
    const bool is_get = strcmp(r->method, "GET") == 0;

    c->is_head = strcmp(r->method, "HEAD") == 0;
    counts.requests++;
    counts.received += r->body_size;
    if (how.fail_every > 0 && counts.requests % how.fail_every == 0) {
        counts.failed++;
        refuse(c, "503 Slow Down", "SlowDown");
    } else if (is_get && (r->query != NULL && strstr(r->query, "list-type=2") != NULL)) {
        list(c, r);
    } else if (c->is_head && strchr(r->key, '/') == NULL) {
        answer(c, "200 OK", "x-amz-bucket-region: us-east-1\r\n", NULL, 0);
    } else if (is_get || c->is_head) {
        get(c, r);
    } else if (strcmp(r->method, "PUT") == 0) {
        put(c, r);
    } else if (strcmp(r->method, "DELETE") == 0) {
        forget(r->key);
        add(&c->out, "HTTP/1.1 204 No Content\r\n\r\n");
    } else {
        post(c, r);
    }
}

/* ---- connections ---- */

typedef struct entry { int64_t when; connection *c; } entry;
static struct { entry *all; size_t n, room; } heap;

static void schedule(connection *c, int64_t when)
{
    if (heap.n == heap.room) {
        heap.room = 2 * heap.room + 64;
        heap.all = need(realloc(heap.all, heap.room * sizeof *heap.all));
    }
    c->queued++;
    size_t i = heap.n++;
    for (; i > 0 && heap.all[(i - 1) / 2].when > when; i = (i - 1) / 2) {
        heap.all[i] = heap.all[(i - 1) / 2];
    }
    heap.all[i] = (entry){when, c};
}

static connection *first_due(void)
{
    connection *c = heap.all[0].c;
    const entry last = heap.all[--heap.n];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < heap.n; i = child) {
        child += child + 1 < heap.n && heap.all[child + 1].when < heap.all[child].when;
        if (heap.all[child].when >= last.when) {
            break;
        }
        heap.all[i] = heap.all[child];
    }
    heap.all[i] = last;
    c->queued--;
    return c;
}

static void watch(connection *c, bool writing)
{
    struct epoll_event event = {.events = writing ? EPOLLOUT : EPOLLIN, .data.ptr = c};

    if (c->writing != writing) {
        c->writing = writing;
        epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
    }
}

static void hang_up(connection *c)
{
    if (!c->gone) {
        close(c->fd);
        let_go(c->body);
        counts.now -= c->busy;
        free(c->in.data), free(c->out.data);
        c->gone = true;
    }
    if (c->queued == 0) {
        free(c);
    }
}

/* When n bytes more have been moved, by what is promised of the bandwidth. */
static int64_t moved_at(connection *c, size_t n)
{
    int64_t now = now_ns();

    if (how.connection_rate > 0) {
        c->may_send = (c->may_send > now ? c->may_send : now) + (int64_t)((double)n / how.connection_rate * 1e9);
        now = c->may_send > now ? c->may_send : now;
    }
    if (how.total_rate > 0) {
        const int64_t own = now_ns();
        total_may_send = (total_may_send > own ? total_may_send : own) + (int64_t)((double)n / how.total_rate * 1e9);
        now = total_may_send > now ? total_may_send : now;
    }
    return now;
}

static bool begin_request(connection *c);

static void send_answer(connection *c)
{
    const bool limited = how.connection_rate > 0 || how.total_rate > 0;

    for (;;) {
        const bool in_head = c->sent < c->out.size;
        const size_t left = in_head ? c->out.size - c->sent : c->body_left;
        if (left == 0) {
            break;
        }
        if (limited && !in_head && c->granted == 0) {
            c->granted = left < SLICE ? left : SLICE;
            watch(c, false);
            schedule(c, moved_at(c, c->granted));
            return;
        }
        const char *from = in_head ? c->out.data + c->sent : c->body->data + c->body_at;
        const size_t most = limited && !in_head ? c->granted : left;
        const ssize_t n = send(c->fd, from, most, MSG_NOSIGNAL | (in_head && c->body_left > 0 ? MSG_MORE : 0));
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            watch(c, true);
            return;
        }
        if (n < 0) {
            hang_up(c);
            return;
        }
        if (in_head) {
            c->sent += (size_t)n;
            continue;
        }
        counts.sent += (size_t)n;
        c->body_at += (size_t)n;
        c->body_left -= (size_t)n;
        c->granted -= limited ? (size_t)n : 0;
    }
    c->granted = 0;
    let_go(c->body);
    c->body = NULL;
    c->out.size = c->sent = 0;
    counts.now--;
    c->busy = c->continued = false;
    memmove(c->in.data, c->in.data + c->taken, c->in.size - c->taken);
    c->in.size -= c->taken;
    watch(c, false);
    begin_request(c);
}

/* Answer a request if all of it is there.  False: it is none, and the connection is closed. */
static bool begin_request(connection *c)
{
    if (c->busy || c->in.size == 0) {
        return true;
    }
    c->in.data[c->in.size] = 0;
    char *end = memmem(c->in.data, c->in.size, "\r\n\r\n", 4);
    if (end == NULL) {
        return true;
    }
    request r = {.method = c->in.data};
    char *line = memchr(c->in.data, '\n', c->in.size);
    r.head = line + 1;
    const size_t head = (size_t)(end + 4 - c->in.data);
    const char *length = header(&r, "content-length"), *expect = header(&r, "expect");
    r.body_size = length != NULL && length < end ? strtoull(length, NULL, 10) : 0;
    if (c->in.size - head < r.body_size) {
        room_for(&c->in, r.body_size - (c->in.size - head));
        if (expect != NULL && expect < end && !c->continued) {
            c->continued = send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL) == 25;
        }
        return true;
    }
    *end = 0;
    r.body = end + 4;
    c->taken = head + r.body_size;
    char *target = strchr(c->in.data, ' ');
    char *stop = target != NULL ? strchr(target + 1, ' ') : NULL;
    if (stop == NULL) {
        hang_up(c);
        return false;
    }
    *target = *stop = 0;
    r.key = target + 1 + (target[1] == '/');
    r.query = strchr(r.key, '?');
    if (r.query != NULL) {
        *r.query++ = 0;
    }
    unquote(r.key);
    const size_t size = strlen(r.key);
    r.key[size > 0 && r.key[size - 1] == '/' ? size - 1 : size] = 0;
    c->busy = true;
    const char kept = c->in.data[c->taken];
    c->in.data[c->taken] = 0;                      /* bodies that are searched for words end somewhere */
    if (r.key[0] == '_') {
        control(c, &r);
        counts.now++;
        schedule(c, 0);
    } else {
        counts.now++;
        counts.most = counts.now > counts.most ? counts.now : counts.most;
        serve(c, &r);
        schedule(c, (r.body_size > 0 ? moved_at(c, r.body_size) : now_ns()) + how.latency_ns);
    }
    c->in.data[c->taken] = kept;
    return true;
}

static void receive(connection *c)
{
    for (;;) {
        room_for(&c->in, 1 << 16);
        const ssize_t n = recv(c->fd, c->in.data + c->in.size, c->in.room - c->in.size - 1, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            break;
        }
        if (n <= 0) {
            hang_up(c);
            return;
        }
        c->in.size += (size_t)n;
    }
    begin_request(c);
}

static void accept_all(int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        connection *c = need(calloc(1, sizeof *c));
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        c->fd = fd;
        counts.connections++;
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
    }
}

static void run_due(void)
{
    while (heap.n > 0 && heap.all[0].when <= now_ns()) {
        connection *c = first_due();
        if (c->gone) {
            hang_up(c);
        } else {
            send_answer(c);
        }
    }
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct epoll_event events[256], event = {.events = EPOLLIN, .data.ptr = NULL};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    poller = epoll_create1(EPOLL_CLOEXEC);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) {
        perror("no server");
        return 1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        const int64_t wait = heap.n > 0 ? heap.all[0].when - now_ns() : INT64_C(1000000000);
        const struct timespec timeout = {.tv_sec = wait > 0 ? wait / 1000000000 : 0, .tv_nsec = wait > 0 ? wait % 1000000000 : 0};
        const int n = epoll_pwait2(poller, events, 256, &timeout, NULL);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            if (c == NULL) {
                accept_all(listener);
            } else if (c->writing) {
                send_answer(c);
            } else {
                receive(c);
            }
        }
        run_due();
    }
}
