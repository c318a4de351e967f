/*
 * An array with shards that one thread reads while another writes.
 *
 * A read of a chunk in a shard first reads the shard's index, which says where in it the chunk is, and keeps that for
 * the next read. If the shard is written meanwhile, the index that was read is that of the old shard. The read under
 * way may deliver old elements or find out that the shard has changed; but the old index is not kept.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <unistd.h>

#include "shelf.h"

/* One shard of two chunks. Of these one is absent in turn, so that the shard is always as long. */
enum { ROWS = 4, COLUMNS = 2, ELEMENTS = ROWS * COLUMNS, FILL = -9 };

static const size_t shape[2] = {ROWS, COLUMNS}, chunk_shape[2] = {2, 2}, zeros[2] = {0, 0};
static const size_t second[2] = {2, 0}; /* where the second chunk begins */

typedef struct shared {
    shelf shelf;
    nczchunk_array *array;
    /* After so many reads of objects another thread writes the shard; 0: it does not. */
    int write_after;
} shared;

/* What is in the array: fill values in one chunk, and in the other element numbers. */
static void make_data(signed char *data, int absent)
{
    for (int e = 0; e < ELEMENTS; e++)
        data[e] = (signed char)(e / 4 == absent ? FILL : e);
}

static void *write_all(void *user)
{
    const shared *s = user;
    signed char data[ELEMENTS];

    make_data(data, 1);
    CHECK_OK(nczchunk_array_write(s->array, zeros, NULL, NULL, data, NULL));
    return NULL;
}

static int after_a_read(void *user)
{
    shared *s = user;
    pthread_t thread;

    if (s->write_after == 0 || --s->write_after > 0)
        return NCZCHUNK_NOERR;
    CHECK_OK(pthread_create(&thread, NULL, write_all, s));
    CHECK_OK(pthread_join(thread, NULL));
    return NCZCHUNK_NOERR;
}

static void a_write_after(int reads, const size_t *start, int in_flight)
{
    static shared s;
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    const signed char fill_value = FILL;
    signed char data[ELEMENTS], expected[ELEMENTS];
    nczchunk_storage *storage;
    size_t nbytes;

    memset(&s, 0, sizeof s);
    s.shelf.after = after_a_read;
    s.shelf.user = &s;
    storage = shelf_storage(&s.shelf, in_flight);
    description.type = NCZCHUNK_BYTE;
    description.rank = 2;
    description.shape = description.shard_shape = shape;
    description.chunk_shape = chunk_shape;
    description.fill_value = &fill_value;
    description.uncompressed = 1;
    CHECK_OK(nczchunk_array_create_in(storage, "sst", &description, &s.array, NULL));
    make_data(data, 0);
    CHECK_OK(nczchunk_array_write(s.array, zeros, NULL, NULL, data, NULL));
    nbytes = shelf_find(&s.shelf, "sst/c/0/0")->nbytes;

    /* Nothing has been kept yet, neither the index nor chunks. */
    nczchunk_array_close(s.array);
    CHECK_OK(nczchunk_array_open_in(storage, "sst", NCZCHUNK_WRITE, &s.array, NULL));
    CHECK_OK(nczchunk_array_set_cache(s.array, NULL, NULL));
    s.write_after = reads;
    CHECK_OK(nczchunk_array_read(s.array, start, chunk_shape, NULL, data, NULL));
    CHECK_EQ(s.write_after, 0);
    CHECK_EQ(shelf_find(&s.shelf, "sst/c/0/0")->nbytes, nbytes);

    /* From now on the new elements are read. */
    make_data(expected, 1);
    CHECK_OK(nczchunk_array_read(s.array, zeros, NULL, NULL, data, NULL));
    CHECK(memcmp(data, expected, sizeof data) == 0);
    nczchunk_array_close(s.array);
    nczchunk_storage_free(storage);
}

int main(void)
{
    alarm(300);
    for (int in_flight = 0; in_flight <= 1; in_flight++) {
        a_write_after(1, zeros, in_flight);  /* the index has been read */
        a_write_after(2, second, in_flight); /* and the chunk that is there */
    }
    return 0;
}
