/*
 * Reads an array over HTTP, with many requests in flight at the same time, by libcurl: the sea surface temperatures of
 * January, every tenth row and column.
 *
 *     cc http_array.c -lnczchunk -lcurl && ./a.out http://localhost:8000/coads_sst.zarr
 *
 * The storage is two callbacks. start hands a request to libcurl and returns at once; wait lets libcurl work until one
 * of the requests has ended. All of it is done by the calling thread. What breaks off, or is refused for the moment, is
 * asked for again.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "nczchunk_array.h"

enum { MOST_TRIES = 8, FIRST_PAUSE = 20 /* ms */, NAME_BYTES = 2000 };

/* A read that is in flight, or one that will be when it is used again. */
typedef struct transfer {
    CURL *easy;
    nczchunk_object_request *request;
    struct transfer *next;
    int tries, is_cancelled, is_pausing;
    long long resume_at;    /* ms */
    curl_off_t total, skip; /* the object's length, or -1; what a server that knows no ranges sends before the range */
    char range[64];
} transfer;

typedef struct http_storage {
    const char *base;
    CURLM *multi;
    transfer *active, *idle;
} http_storage;

static long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* --- What libcurl calls. */

/*
 * "Content-Range: bytes 0-99/1000" says how long the object is, and "ETag: "abc"" which version of it this is. The
 * library compares versions, so that an object that is replaced meanwhile is read old or new. A weak ETag (W/"abc") may
 * stay the same when bytes change.
 */
static size_t take_header(char *line, size_t size, size_t count, void *user)
{
    transfer *t = user;
    const char *slash = memchr(line, '/', size * count), *quote = memchr(line, '"', size * count);

    if (slash != NULL && curl_strnequal(line, "content-range:", 14))
        t->total = (curl_off_t)strtoll(slash + 1, NULL, 10);
    if (quote != NULL && curl_strnequal(line, "etag:", 5) && memchr(line, 'W', (size_t)(quote - line)) == NULL) {
        uint64_t hash = 14695981039346656037u; /* FNV-1a */
        for (; quote < line + size * count && *quote != '\r'; quote++)
            hash = (hash ^ (unsigned char)*quote) * 1099511628211u;
        t->request->version = hash != 0 ? hash : 1;
    }
    return size * count;
}

/* Bytes of the object go to the buffer; those before the range, or beyond it, and those of error pages do not. */
static size_t take_bytes(char *bytes, size_t size, size_t count, void *user)
{
    transfer *t = user;
    nczchunk_object_request *r = t->request;
    size_t n = size * count, skipped, room = r->size - r->nbytes;
    long code = 0;

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &code);
    if (code == 200 && t->total < 0) { /* the server knows no ranges, and sends all of it */
        curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &t->total);
        t->skip = r->from_end ? t->total - (curl_off_t)r->offset : (curl_off_t)r->offset;
    }
    if (code != 200 && code != 206) return n;
    skipped = t->skip <= 0 ? 0 : t->skip < (curl_off_t)n ? (size_t)t->skip : n;
    t->skip -= (curl_off_t)skipped;
    if (room > n - skipped) room = n - skipped;
    memcpy((char *)r->buffer + r->nbytes, bytes + skipped, room);
    r->nbytes += room;
    return n;
}

/* --- Transfers. */

static transfer *new_transfer(void)
{
    transfer *t = calloc(1, sizeof *t);

    if (t == NULL || (t->easy = curl_easy_init()) == NULL) {
        free(t);
        return NULL;
    }
    curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, take_bytes);
    curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_LIMIT, 1L); /* what stands still for 30 s has failed */
    curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME, 30L);
    return t;
}

static int begin(http_storage *storage, transfer *t)
{
    t->total = -1;
    t->skip = 0;
    t->is_pausing = 0;
    t->request->nbytes = 0;
    t->request->version = 0;
    return curl_multi_add_handle(storage->multi, t->easy) == CURLM_OK ? 0 : EIO;
}

/* Whether all has come that was asked for; then the length of the object is known, too. */
static int is_complete(transfer *t, long code)
{
    nczchunk_object_request *r = t->request;
    uint64_t offset = r->offset, due;

    if (t->total < 0 && code == 200) curl_easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &t->total);
    if (t->total < 0 || (code != 200 && code != 206 && code != 416)) return 0;
    r->object_size = (uint64_t)t->total;
    if (offset > r->object_size) offset = r->object_size;
    due = r->from_end ? offset : r->object_size - offset;
    return r->nbytes == (due < r->size ? due : r->size);
}

/* A transfer has ended: 1 if the request has, 0 if it is to be tried again. */
static int end(transfer *t, CURLcode result)
{
    long code = 0;

    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &code);
    if (result == CURLE_OK && code == 404)
        t->request->status = NCZCHUNK_ENOOBJECT;
    else if (result == CURLE_OK && is_complete(t, code))
        t->request->status = NCZCHUNK_NOERR;
    else if ((result != CURLE_OK || code >= 500 || code == 429 || code / 100 == 2) && ++t->tries < MOST_TRIES) {
        /* A connection that broke, a server that has too much to do, an answer that is too short. */
        t->is_pausing = 1;
        t->resume_at = now() + (FIRST_PAUSE << (t->tries - 1));
        return 0;
    } else
        t->request->status = code == 401 || code == 403 ? EACCES : EIO;
    return 1;
}

/* --- The storage. */

static int start(void *user, nczchunk_object_request *request)
{
    http_storage *storage = user;
    transfer *t = storage->idle != NULL ? storage->idle : new_transfer();
    char url[NAME_BYTES];
    unsigned long long offset = request->offset;

    if (t == NULL) return ENOMEM;
    if (t == storage->idle) storage->idle = t->next;
    t->request = request;
    t->tries = t->is_cancelled = 0;
    request->handle = t;
    if (request->from_end)
        snprintf(t->range, sizeof t->range, "-%llu", offset);
    else
        snprintf(t->range, sizeof t->range, "%llu-%llu", offset, offset + request->size - 1);
    curl_easy_setopt(t->easy, CURLOPT_RANGE, request->size > 0 ? t->range : NULL);
    curl_easy_setopt(t->easy, CURLOPT_NOBODY, request->size > 0 ? 0L : 1L);
    if (request->size > 0) curl_easy_setopt(t->easy, CURLOPT_HTTPGET, 1L);
    if (snprintf(url, sizeof url, "%s/%s", storage->base, request->name) >= (int)sizeof url ||
        curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK || begin(storage, t) != 0) {
        t->next = storage->idle;
        storage->idle = t;
        return EIO;
    }
    t->next = storage->active;
    storage->active = t;
    return NCZCHUNK_NOERR;
}

static void make_idle(http_storage *storage, transfer *t)
{
    transfer **link = &storage->active;

    while (*link != t) link = &(*link)->next;
    *link = t->next;
    t->next = storage->idle;
    storage->idle = t;
}

/* Nothing is in flight any more. */
static int give_up(http_storage *storage)
{
    while (storage->active != NULL) {
        if (!storage->active->is_pausing) curl_multi_remove_handle(storage->multi, storage->active->easy);
        make_idle(storage, storage->active);
    }
    return EIO;
}

static int wait_for_one(void *user, nczchunk_object_request **done)
{
    http_storage *storage = user;

    for (;;) {
        long long pause = 1000;
        int running, left;
        CURLMsg *message;

        for (transfer *t = storage->active; t != NULL; t = t->next) {
            if (!t->is_pausing) continue;
            if (t->is_cancelled) {
                t->request->status = ECANCELED;
                *done = t->request;
                make_idle(storage, t);
                return NCZCHUNK_NOERR;
            }
            if (t->resume_at > now())
                pause = t->resume_at - now() < pause ? t->resume_at - now() : pause;
            else if (begin(storage, t) != 0)
                return give_up(storage);
        }
        if (curl_multi_perform(storage->multi, &running) != CURLM_OK) return give_up(storage);
        while ((message = curl_multi_info_read(storage->multi, &left)) != NULL) {
            const CURLcode result = message->data.result; /* the message is gone with the handle */
            transfer *t = NULL;

            if (message->msg != CURLMSG_DONE) continue;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&t);
            curl_multi_remove_handle(storage->multi, t->easy);
            if (!end(t, result)) {
                pause = 0;
                continue;
            }
            *done = t->request;
            make_idle(storage, t);
            return NCZCHUNK_NOERR;
        }
        if (curl_multi_poll(storage->multi, NULL, 0, pause > 0 ? (int)pause : 0, NULL) != CURLM_OK)
            return give_up(storage);
    }
}

/* It is broken off, and wait gives it back next. */
static void cancel(void *user, nczchunk_object_request *request)
{
    http_storage *storage = user;
    transfer *t = request->handle;

    if (!t->is_pausing) curl_multi_remove_handle(storage->multi, t->easy);
    t->is_pausing = t->is_cancelled = 1;
}

static void destroy(void *user)
{
    http_storage *storage = user;

    give_up(storage);
    for (transfer *t = storage->idle, *next; t != NULL; t = next) {
        next = t->next;
        curl_easy_cleanup(t->easy);
        free(t);
    }
    curl_multi_cleanup(storage->multi);
}

int main(int argc, char **argv)
{
    const size_t from[3] = {0, 5, 5}, count[3] = {1, 9, 18};
    const ptrdiff_t stride[3] = {1, 10, 10};
    float map[9][18];
    http_storage http = {.base = argc > 1 ? argv[1] : "http://localhost:8000/coads_sst.zarr"};
    nczchunk_storage_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &http, .destroy = destroy,
                                          .start = start, .wait = wait_for_one, .cancel = cancel, .in_flight = 64,
                                          .versions = 1};
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */
    int status;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return 1;
    status = nczchunk_context_new(&context);
    if (status == 0) {
        if (strncmp(http.base, "http", 4) != 0)
            status = nczchunk_storage_open(http.base, &storage, context); /* a directory, to compare with */
        else if ((http.multi = curl_multi_init()) != NULL)
            status = nczchunk_storage_new(&callbacks, &storage, context);
        else
            status = ENOMEM;
    }
    if (status == 0) status = nczchunk_array_open_in(storage, NULL, NCZCHUNK_READ, &array, context);
    if (status == 0) status = nczchunk_array_read(array, from, count, stride, map, context);
    if (status != 0) fprintf(stderr, "http_array: %s\n", nczchunk_context_message(context));

    for (int row = 8; status == 0 && row >= 0; row--) {
        for (int column = 0; column < 18; column++) {
            if (map[row][column] < -1e33f)
                printf("    -"); /* land */
            else
                printf("%5.1f", map[row][column]);
        }
        printf("\n");
    }

    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
    nczchunk_context_free(context);
    curl_global_cleanup();
    return status != 0;
}
