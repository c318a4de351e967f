/*
 * Arrays in storages other than directories: in memory, and where callbacks say. The metadata are written by hand here,
 * as small as they can be.
 */
#include <pthread.h>

#include "check.h"

#include "nczchunk_array.h"

static const char metadata[] = "{\"zarr_format\": 2, \"shape\": [4, 6], \"chunks\": [2, 3], \"dtype\": \"<i2\","
                               " \"compressor\": null, \"fill_value\": -1, \"order\": \"C\", \"filters\": null}";

/* The first chunk; the others are absent. */
static const unsigned char chunk[12] = {0, 0, 1, 0, 2, 0, 10, 0, 11, 0, 12, 0};

static const short expected[4][6] = {
    {0, 1, 2, -1, -1, -1}, {10, 11, 12, -1, -1, -1}, {-1, -1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1, -1}};

static void in_memory(void)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    const size_t start[2] = {0, 0}, last[2] = {3, 5}, one[2] = {1, 1};
    const short value = 77;
    short data[4][6];

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_write(storage, "a/b/.zarray", metadata, strlen(metadata), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "a/b/0.0", chunk, sizeof chunk, NULL));
    CHECK_EQ(nczchunk_storage_write(storage, "../b", chunk, sizeof chunk, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_open_in(storage, "a", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
    CHECK_OK(nczchunk_array_open_in(storage, "/a/b", NCZCHUNK_WRITE, &array, NULL));
    nczchunk_storage_free(storage); /* the array goes on using it */

    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, NULL));
    CHECK(memcmp(data, expected, sizeof data) == 0);

    /* A write to a chunk that was absent: the rest of it is fill value. */
    CHECK_OK(nczchunk_array_write(array, last, one, NULL, &value, NULL));
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, NULL));
    CHECK_EQ(data[3][5], 77);
    CHECK_EQ(data[3][4], -1);
    CHECK_EQ(data[1][2], 12);
    nczchunk_array_close(array);
}

/* A storage of one's own: objects in a table. It counts what it is asked for. */
typedef struct {
    int reads, destroyed, fail_with;
    unsigned char written[12];
} table;

static int read_object(void *user, nczchunk_object_request *request)
{
    table *t = user;
    const void *bytes;
    size_t nbytes, offset;

    t->reads++;
    CHECK(request->struct_size >= sizeof *request);
    if (strcmp(request->name, "sst/.zarray") == 0) {
        bytes = metadata;
        nbytes = strlen(metadata);
    } else if (strcmp(request->name, "sst/0.0") == 0) {
        if (t->fail_with)
            return t->fail_with;
        bytes = t->written;
        nbytes = sizeof t->written;
    } else {
        return NCZCHUNK_ENOOBJECT;
    }
    CHECK_EQ(request->from_end, 0);
    offset = request->offset < nbytes ? (size_t)request->offset : nbytes;
    request->nbytes = nbytes - offset < request->size ? nbytes - offset : request->size;
    memcpy(request->buffer, (const char *)bytes + offset, request->nbytes);
    request->object_size = nbytes;
    return NCZCHUNK_NOERR;
}

static int write_object(void *user, const char *name, const void *bytes, size_t nbytes)
{
    table *t = user;

    CHECK_STR(name, "sst/0.0");
    CHECK_EQ(nbytes, sizeof t->written);
    memcpy(t->written, bytes, nbytes);
    return NCZCHUNK_NOERR;
}

static void destroy(void *user)
{
    ((table *)user)->destroyed++;
}

static void by_callbacks(void)
{
    table t = {0};
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;
    const size_t start[2] = {0, 0}, at[2] = {1, 1}, one[2] = {1, 1};
    short data[4][6], value = 5;

    memcpy(t.written, chunk, sizeof chunk);
    callbacks.user = &t;
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_storage_new(&callbacks, &storage, context), NCZCHUNK_EINVAL);
    CHECK_EQ(t.destroyed, 0);
    callbacks.read = read_object;
    callbacks.write = write_object;
    callbacks.destroy = destroy;
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, context));
    CHECK_OK(nczchunk_array_open_in(storage, "sst", NCZCHUNK_WRITE, &array, context));
    nczchunk_storage_free(storage);
    CHECK_EQ(t.destroyed, 0);

    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, context));
    CHECK(memcmp(data, expected, sizeof data) == 0);

    CHECK_OK(nczchunk_array_write(array, at, one, NULL, &value, context));
    CHECK_EQ(t.written[8], 5);
    CHECK_EQ(t.written[10], 12);

    /* Whatever a callback returns ends the call, and the message says which object it was. */
    t.fail_with = NCZCHUNK_EIO;
    CHECK_EQ(nczchunk_array_read(array, start, NULL, NULL, data, context), NCZCHUNK_EIO);
    CHECK(strstr(nczchunk_context_message(context), "sst/0.0") != NULL);
    t.fail_with = 0;

    nczchunk_array_close(array);
    CHECK_EQ(t.destroyed, 1);
    nczchunk_context_free(context);
}

/* A storage with all callbacks: a shelf of a few objects. */
typedef struct {
    struct {
        char name[24];
        char bytes[512];
        size_t nbytes;
    } objects[4];
    int lies, forgets_names;
} shelf;

static int on_shelf(const shelf *s, const char *name)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(s->objects[i].name, name) == 0)
            return i;
    return -1;
}

static int read_from_shelf(void *user, nczchunk_object_request *request)
{
    const shelf *s = user;
    const int i = on_shelf(s, request->name);

    if (i < 0)
        return NCZCHUNK_ENOOBJECT;
    request->object_size = s->objects[i].nbytes;
    request->nbytes = s->objects[i].nbytes < request->size ? s->objects[i].nbytes : request->size;
    memcpy(request->buffer, s->objects[i].bytes, request->nbytes);
    if (s->lies)
        request->nbytes = request->size + 1;
    return NCZCHUNK_NOERR;
}

static int list_shelf(void *user, const char *prefix, int (*found)(void *argument, const char *name, int is_prefix),
                      void *argument)
{
    const shelf *s = user;
    int status;

    /* Object stores tell of keys that end with a slash, too, and what is behind it is empty. */
    status = found(argument, "", 0) || found(argument, "", 1);
    for (int i = 0; i < 4 && !status; i++)
        if (s->objects[i].name[0] != '\0' && prefix[0] == '\0')
            status = found(argument, s->forgets_names ? NULL : s->objects[i].name, 0);
    return status;
}

static int write_to_shelf(void *user, const char *name, const void *bytes, size_t nbytes)
{
    shelf *s = user;
    const int i = on_shelf(s, name) >= 0 ? on_shelf(s, name) : on_shelf(s, "");

    if (i < 0 || nbytes > sizeof s->objects[i].bytes)
        return NCZCHUNK_ENOMEM;
    strcpy(s->objects[i].name, name);
    memcpy(s->objects[i].bytes, bytes, nbytes);
    s->objects[i].nbytes = nbytes;
    return NCZCHUNK_NOERR;
}

static int remove_from_shelf(void *user, const char *name)
{
    shelf *s = user;
    const int i = on_shelf(s, name);

    if (i >= 0)
        s->objects[i].name[0] = '\0';
    return NCZCHUNK_NOERR;
}

static void by_all_callbacks(void)
{
    static shelf s;
    static const size_t all[1] = {8}, half[1] = {4}, start[1] = {0};
    static const signed char values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_context *context = NULL;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    signed char data[8];

    callbacks.user = &s;
    callbacks.read = read_from_shelf;
    callbacks.list = list_shelf;
    callbacks.write = write_to_shelf;
    callbacks.remove = remove_from_shelf;
    description.type = NCZCHUNK_BYTE;
    description.rank = 1;
    description.shape = all;
    description.chunk_shape = half;
    description.uncompressed = 1;
    description.separator = '.';
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 2));
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, context));
    CHECK_OK(nczchunk_array_create_in(storage, "", &description, &array, context));
    CHECK_OK(nczchunk_array_write(array, start, NULL, NULL, values, context));
    CHECK(on_shelf(&s, "zarr.json") >= 0 && on_shelf(&s, "c.0") >= 0 && on_shelf(&s, "c.1") >= 0);
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, context));
    CHECK(memcmp(data, values, sizeof data) == 0);

    /* What lies outside of a smaller shape is removed. A listed object without a name is an error, and nothing is. */
    s.forgets_names = 1;
    CHECK_EQ(nczchunk_array_resize(array, half, context), NCZCHUNK_EINVAL);
    s.forgets_names = 0;
    CHECK(on_shelf(&s, "c.1") >= 0);
    CHECK_OK(nczchunk_array_resize(array, half, context));
    CHECK(on_shelf(&s, "c.0") >= 0 && on_shelf(&s, "c.1") < 0);

    /* More bytes than there is room for were not written, whatever the callback says. */
    s.lies = 1;
    CHECK_EQ(nczchunk_array_read(array, start, NULL, NULL, data, context), NCZCHUNK_EBADCHUNK);
    CHECK(strstr(nczchunk_context_message(context), "c.0") != NULL);

    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
    nczchunk_context_free(context);
}

/* Whom a listing is told to, as a callback was given it. */
typedef struct {
    int (*found)(void *argument, const char *name, int is_prefix);
    void *argument;
    int is_by_thread, status_by_thread, listings;
} listing;

static void *find_by_thread(void *user)
{
    listing *l = user;

    l->status_by_thread = l->found(l->argument, "by_thread", 1);
    return NULL;
}

static int list_by_thread(void *user, const char *prefix, int (*found)(void *argument, const char *name, int is_prefix),
                          void *argument)
{
    listing *l = user;
    pthread_t thread;

    /* The one before is over. */
    if (l->listings++ > 0 && l->argument != argument)
        CHECK_EQ(l->found(l->argument, "late", 1), NCZCHUNK_EINVAL);
    l->found = found;
    l->argument = argument;
    if (l->is_by_thread) {
        CHECK_EQ(pthread_create(&thread, NULL, find_by_thread, l), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(l->status_by_thread, NCZCHUNK_EINVAL);
    }
    return prefix[0] == '\0' ? found(argument, "a", 1) : NCZCHUNK_NOERR;
}

static int read_group(void *user, nczchunk_object_request *request)
{
    static const char group[] = "{\"zarr_format\": 3, \"node_type\": \"group\"}";
    const size_t len = sizeof group - 1, size = request->size;

    (void)user;
    if (strcmp(request->name, "zarr.json") != 0 && strcmp(request->name, "a/zarr.json") != 0)
        return NCZCHUNK_ENOOBJECT;
    request->object_size = len;
    request->nbytes = len < size ? len : size;
    memcpy(request->buffer, group, request->nbytes);
    return NCZCHUNK_NOERR;
}

static int count_nodes(void *user, const nczchunk_node *node)
{
    CHECK(node->is_group && (node->name[0] == '\0' || strcmp(node->name, "a") == 0));
    ++*(int *)user;
    return 0;
}

/* found is for the callback that it was given to, as long as that runs. Called by another thread or too late, it does
 * nothing. */
static void found_at_the_wrong_time(void)
{
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
    listing l = {NULL, NULL, 0, 0, 0};

    callbacks.user = &l;
    callbacks.read = read_group;
    callbacks.list = list_by_thread;
    for (l.is_by_thread = 0; l.is_by_thread < 2; l.is_by_thread++) {
        nczchunk_storage *storage = NULL;
        int nodes = 0;

        CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
        CHECK_OK(nczchunk_list_in(storage, NULL, 0, count_nodes, &nodes, NULL));
        CHECK_EQ(nodes, 2);
        CHECK_EQ(l.found(l.argument, "late", 1), NCZCHUNK_EINVAL);
        nczchunk_storage_free(storage);
        CHECK_EQ(l.found(l.argument, "late", 1), NCZCHUNK_EINVAL);
    }
}

/* Each document is asked for once: the array is opened twice, and its chunk is read twice. */
static void metadata_once(void)
{
    table t = {0};
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    const size_t start[2] = {0, 0}, one[2] = {1, 1};
    short value;
    int opened;

    memcpy(t.written, chunk, sizeof chunk);
    callbacks.user = &t;
    callbacks.read = read_object;
    callbacks.write = write_object;
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    CHECK_OK(nczchunk_storage_keep_metadata(storage, NULL));
    CHECK_OK(nczchunk_array_open_in(storage, "sst", NCZCHUNK_READ, &array, NULL));
    nczchunk_array_close(array);
    opened = t.reads;
    CHECK_OK(nczchunk_array_open_in(storage, "sst", NCZCHUNK_READ, &array, NULL));
    CHECK_EQ(t.reads, opened);
    CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    for (int i = 1; i <= 2; i++) {
        CHECK_OK(nczchunk_array_read(array, start, one, NULL, &value, NULL));
        CHECK_EQ(t.reads, opened + i);
    }
    nczchunk_array_close(array);

    /* Nothing can be written, for what is kept would be wrong. */
    CHECK_EQ(nczchunk_array_open_in(storage, "sst", NCZCHUNK_WRITE, &array, NULL), NCZCHUNK_EPERM);
    nczchunk_storage_free(storage);
    CHECK_EQ(nczchunk_storage_keep_metadata(NULL, NULL), NCZCHUNK_EINVAL);
}

int main(void)
{
    in_memory();
    metadata_once();
    by_callbacks();
    by_all_callbacks();
    found_at_the_wrong_time();
    return 0;
}
