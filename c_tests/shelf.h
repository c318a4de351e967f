/*
 * A storage by callbacks: a shelf with a few objects. What a test wants to happen in a callback happens when it begins.
 *
 *     shelf s = {.hook = fail_at_the_third, .user = &test};
 *     nczchunk_storage *storage = shelf_storage(&s, 0);            with 1 it has start and wait instead of read
 */
#ifndef SHELF_H
#define SHELF_H

#include <stdint.h>

#include "check.h"
#include "nczchunk_array.h"

enum { SHELF_OBJECTS = 24, SHELF_BYTES = 4096, SHELF_UNDER_WAY = 4 };

typedef enum shelf_callback {
    SHELF_READ,
    SHELF_LIST,
    SHELF_WRITE,
    SHELF_REMOVE,
    SHELF_START,
    SHELF_WAIT,
    SHELF_CANCEL,
    NUM_SHELF_CALLBACKS
} shelf_callback;

typedef struct shelf_object {
    char name[40]; /* empty: there is none */
    unsigned char bytes[SHELF_BYTES];
    size_t nbytes;
} shelf_object;

typedef struct shelf {
    shelf_object objects[SHELF_OBJECTS];
    nczchunk_object_request *requests_in_flight[SHELF_UNDER_WAY];
    size_t num_under_way;
    /* Called at the beginning of each callback, which returns what this does, unless it is 0; NULL: nothing. */
    int (*hook)(void *user, shelf_callback callback);
    /* Called once an object has been read, before the callback returns; the read ends with what this returns. NULL:
     * nothing. */
    int (*after)(void *user);
    void *user;
} shelf;

static inline int shelf_enter(const shelf *s, shelf_callback callback)
{
    return s->hook != NULL ? s->hook(s->user, callback) : NCZCHUNK_NOERR;
}

static inline shelf_object *shelf_find(shelf *s, const char *name)
{
    for (size_t i = 0; i < SHELF_OBJECTS; i++)
        if (strcmp(s->objects[i].name, name) == 0)
            return &s->objects[i];
    return NULL;
}

static inline int shelf_answer(shelf *s, nczchunk_object_request *request)
{
    const shelf_object *object = shelf_find(s, request->name);
    size_t begin;

    if (object == NULL)
        return NCZCHUNK_ENOOBJECT;
    begin = request->offset < object->nbytes ? (size_t)request->offset : object->nbytes;
    if (request->from_end)
        begin = object->nbytes - begin;
    request->nbytes = object->nbytes - begin < request->size ? object->nbytes - begin : request->size;
    if (request->nbytes > 0)
        memcpy(request->buffer, object->bytes + begin, request->nbytes);
    request->object_size = object->nbytes;
    return s->after != NULL ? s->after(s->user) : NCZCHUNK_NOERR;
}

static inline int shelf_read(void *user, nczchunk_object_request *request)
{
    const int status = shelf_enter(user, SHELF_READ);
    return status != NCZCHUNK_NOERR ? status : shelf_answer(user, request);
}

static inline int shelf_start(void *user, nczchunk_object_request *request)
{
    shelf *s = user;
    const int status = shelf_enter(s, SHELF_START);

    if (status != NCZCHUNK_NOERR)
        return status;
    CHECK(s->num_under_way < SHELF_UNDER_WAY);
    s->requests_in_flight[s->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

/* The first comes back first. */
static inline int shelf_wait(void *user, nczchunk_object_request **done)
{
    shelf *s = user;
    const int status = shelf_enter(s, SHELF_WAIT);

    CHECK(s->num_under_way > 0);
    if (status != NCZCHUNK_NOERR) {
        s->num_under_way = 0; /* all of them have ended */
        return status;
    }
    *done = s->requests_in_flight[0];
    memmove(&s->requests_in_flight[0], &s->requests_in_flight[1], --s->num_under_way * sizeof s->requests_in_flight[0]);
    (*done)->status = shelf_answer(s, *done);
    return NCZCHUNK_NOERR;
}

static inline void shelf_cancel(void *user, nczchunk_object_request *request)
{
    (void)request;
    (void)shelf_enter(user, SHELF_CANCEL);
}

/* Where the rest of an object's name begins that is below a prefix; NULL if the object is elsewhere. */
static inline const char *shelf_below(const char *name, const char *prefix)
{
    const size_t length = strlen(prefix);

    if (name[0] == '\0' || length == 0)
        return name[0] != '\0' ? name : NULL;
    return strncmp(name, prefix, length) == 0 && name[length] == '/' ? name + length + 1 : NULL;
}

static inline int shelf_list(void *user, const char *prefix,
                             int (*found)(void *argument, const char *name, int is_prefix), void *argument)
{
    const shelf *s = user;
    int status = shelf_enter(s, SHELF_LIST);

    for (size_t i = 0; i < SHELF_OBJECTS && status == NCZCHUNK_NOERR; i++) {
        const char *rest = shelf_below(s->objects[i].name, prefix);
        size_t length;
        int is_known = 0;
        char part[40];

        if (rest == NULL)
            continue;
        length = strcspn(rest, "/");
        memcpy(part, rest, length);
        part[length] = '\0';
        /* Others with the same first part have been told. */
        for (size_t other = 0; other < i && rest[length] == '/'; other++) {
            const char *known = shelf_below(s->objects[other].name, prefix);
            is_known |= known != NULL && strncmp(known, rest, length + 1) == 0;
        }
        if (!is_known)
            status = found(argument, part, rest[length] == '/');
    }
    return status;
}

static inline int shelf_write(void *user, const char *name, const void *bytes, size_t nbytes)
{
    shelf *s = user;
    const int status = shelf_enter(s, SHELF_WRITE);
    shelf_object *object = shelf_find(s, name);

    if (status != NCZCHUNK_NOERR)
        return status;
    if (object == NULL)
        object = shelf_find(s, "");
    CHECK(object != NULL && strlen(name) < sizeof object->name && nbytes <= sizeof object->bytes);
    strcpy(object->name, name);
    memcpy(object->bytes, bytes, nbytes);
    object->nbytes = nbytes;
    return NCZCHUNK_NOERR;
}

static inline int shelf_remove(void *user, const char *name)
{
    const int status = shelf_enter(user, SHELF_REMOVE);
    shelf_object *object = shelf_find(user, name);

    if (status == NCZCHUNK_NOERR && object != NULL)
        object->name[0] = '\0';
    return status;
}

static inline nczchunk_storage_callbacks shelf_callbacks(shelf *s, int in_flight)
{
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;

    callbacks.user = s;
    callbacks.list = shelf_list;
    callbacks.write = shelf_write;
    callbacks.remove = shelf_remove;
    if (in_flight) {
        callbacks.start = shelf_start;
        callbacks.wait = shelf_wait;
        callbacks.cancel = shelf_cancel;
        callbacks.in_flight = SHELF_UNDER_WAY;
    } else {
        callbacks.read = shelf_read;
    }
    return callbacks;
}

static inline nczchunk_storage *shelf_storage(shelf *s, int in_flight)
{
    const nczchunk_storage_callbacks callbacks = shelf_callbacks(s, in_flight);
    nczchunk_storage *storage;

    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    return storage;
}

#endif
