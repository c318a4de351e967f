/*
 * A cache keeps decoded chunks between calls, for one store or for several:
 *
 *     nczchunk_cache_new(limit, &cache, context);
 *     nczchunk_chunk_store_set_cache(store, cache, context);
 *     nczchunk_cache_free(cache);                            the store goes on using it
 *
 * The codec here changes every byte and counts what it decodes. The array is 4 x 4 x 4 chunks of 4 x 4 x 4 elements.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <unistd.h>

#include "memory_array.h"

enum { LENGTH = 16, CHUNK = 4, ELEMENTS = LENGTH * LENGTH * LENGTH, CHUNK_BYTES = CHUNK * CHUNK * CHUNK * 4 };

static const size_t dimlens[3] = {LENGTH, LENGTH, LENGTH}, chunklens[3] = {CHUNK, CHUNK, CHUNK};

/* Decodes and encodes, which is the same. */
static int invert(void *user, nczchunk_coding *coding)
{
    const unsigned char *source = coding->source;
    unsigned char *destination = coding->destination;

    __atomic_add_fetch((long *)user, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < coding->source_size && i < coding->capacity; i++)
        destination[i] = (unsigned char)~source[i];
    coding->nbytes = coding->source_size;
    return NCZCHUNK_NOERR;
}

typedef struct {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    long coded;
} encoded_array;

static void open_array(encoded_array *e)
{
    nczchunk_codec_callbacks callbacks = NCZCHUNK_CODEC_CALLBACKS_INIT;
    nczchunk_codec *codec = NULL;

    e->coded = 0;
    callbacks.user = &e->coded;
    callbacks.decode = callbacks.encode = invert;
    callbacks.concurrent = 1;
    memory_array_init(&e->array, 3, dimlens, chunklens, 4);
    for (size_t i = 0; i < e->array.num_chunks; i++)
        for (size_t b = 0; b < e->array.chunks[i].nbytes; b++)
            e->array.chunks[i].bytes[b] = (unsigned char)~e->array.chunks[i].bytes[b];
    e->var = memory_array_var(&e->array);
    e->store = memory_array_store(&e->array, FILLING);
    CHECK_OK(nczchunk_codec_new("invert", &callbacks, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(e->store, codec, NULL));
}

static void close_array(encoded_array *e)
{
    nczchunk_chunk_store_free(e->store);
    nczchunk_var_free(e->var);
    memory_array_clear(&e->array);
}

/* Element (i, j, k) is its number. */
static void read_slab(const encoded_array *e, size_t first, size_t rows)
{
    static int data[ELEMENTS];
    const size_t start[3] = {first, 0, 0}, count[3] = {rows, LENGTH, LENGTH};

    CHECK_OK(nczchunk_read_vars(e->var, e->store, start, count, NULL, data, NULL));
    for (size_t n = 0; n < rows * LENGTH * LENGTH; n++)
        CHECK_EQ(data[n], first * LENGTH * LENGTH + n);
}

static nczchunk_cache_statistics statistics_of(const nczchunk_cache *cache)
{
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;

    CHECK_OK(nczchunk_cache_get_statistics(cache, &statistics, NULL));
    return statistics;
}

/* Slabs of any thickness: with room for one layer of chunks each chunk is decoded once, or twice where decoding could
 * stop early the first time; this codec never stops, so all of a chunk is there at once. */
static void slabs_decode_each_chunk_once(void)
{
    static const size_t thickness[] = {1, 2, 3, 4, 5, 16};

    for (size_t i = 0; i < sizeof thickness / sizeof thickness[0]; i++) {
        encoded_array e;
        nczchunk_cache *cache = NULL;

        open_array(&e);
        CHECK_OK(nczchunk_cache_new(16 * CHUNK_BYTES, &cache, NULL));
        CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
        for (size_t first = 0; first < LENGTH; first += thickness[i])
            read_slab(&e, first, first + thickness[i] < LENGTH ? thickness[i] : LENGTH - first);
        CHECK_EQ(e.coded, 64);
        CHECK(statistics_of(cache).bytes <= 16 * CHUNK_BYTES);
        nczchunk_cache_free(cache);
        close_array(&e);
    }
}

/* One limit for two stores. What one store has in the cache goes with it. */
static void several_stores_share_a_limit(void)
{
    encoded_array one, other;
    nczchunk_cache *cache = NULL;

    open_array(&one);
    open_array(&other);
    CHECK_OK(nczchunk_cache_new(24 * CHUNK_BYTES, &cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(one.store, cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(other.store, cache, NULL));
    read_slab(&one, 0, 1);
    read_slab(&other, 0, 1);
    CHECK_EQ(statistics_of(cache).chunks, 24);
    CHECK_EQ(statistics_of(cache).evictions, 8);
    read_slab(&other, 1, 1);
    CHECK_EQ(other.coded, 16);
    close_array(&one);
    CHECK_EQ(statistics_of(cache).chunks, 16);
    CHECK_OK(nczchunk_chunk_store_set_cache(other.store, NULL, NULL));
    CHECK_EQ(statistics_of(cache).chunks, 0);
    nczchunk_cache_free(cache);
    close_array(&other);
}

/* Of a transfer that is larger than the cache the first chunks stay, so that doing it again finds them. */
static void a_large_transfer_keeps_what_it_needs_first(void)
{
    encoded_array e;
    nczchunk_cache *cache = NULL;

    open_array(&e);
    CHECK_OK(nczchunk_cache_new(8 * CHUNK_BYTES, &cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
    nczchunk_cache_free(cache); /* the store goes on using it */
    read_slab(&e, 0, 1);
    CHECK_EQ(e.coded, 16);
    read_slab(&e, 1, 1);
    CHECK_EQ(e.coded, 16 + 8);
    close_array(&e);
}

/* Writes go to the store at once, and what is read afterwards is what was written. */
static void writes_go_through(void)
{
    encoded_array e;
    nczchunk_cache *cache = NULL;
    const size_t start[3] = {5, 5, 5}, one[3] = {1, 1, 1}, next[3] = {5, 5, 6};
    int value = -1, read = 0;

    open_array(&e);
    CHECK_OK(nczchunk_cache_new(64 * CHUNK_BYTES, &cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
    CHECK_OK(nczchunk_read_vars(e.var, e.store, start, one, NULL, &read, NULL));
    CHECK_EQ(read, (5 * LENGTH + 5) * LENGTH + 5);
    CHECK_OK(nczchunk_write_vars(e.var, e.store, start, one, NULL, &value, NULL));
    CHECK_EQ(e.array.written, 1);
    CHECK_EQ(e.coded, 3); /* decoded to be read, decoded as it is stored now, and encoded */
    CHECK_OK(nczchunk_read_vars(e.var, e.store, start, one, NULL, &read, NULL));
    CHECK_EQ(read, -1);
    CHECK_OK(nczchunk_read_vars(e.var, e.store, next, one, NULL, &read, NULL));
    CHECK_EQ(read, (5 * LENGTH + 5) * LENGTH + 6);
    CHECK_EQ(e.coded, 4); /* decoded once for both */

    /* A store without the cache reads the same. */
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, NULL, NULL));
    CHECK_OK(nczchunk_read_vars(e.var, e.store, start, one, NULL, &read, NULL));
    CHECK_EQ(read, -1);

    /* A write that fails leaves nothing in the cache that is not in the store. */
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
    const ptrdiff_t chunk[3] = {1, 1, 1};
    memory_array_chunk(&e.array, chunk)->write_status = NCZCHUNK_EIO;
    value = -2;
    CHECK_EQ(nczchunk_write_vars(e.var, e.store, start, one, NULL, &value, NULL), NCZCHUNK_EIO);
    CHECK_OK(nczchunk_read_vars(e.var, e.store, start, one, NULL, &read, NULL));
    CHECK_EQ(read, -1);
    nczchunk_cache_free(cache);
    close_array(&e);
}

static void *read_all(void *user)
{
    for (size_t first = 0; first < LENGTH; first++) {
        static __thread int data[LENGTH * LENGTH];
        const encoded_array *e = user;
        const size_t start[3] = {first, 0, 0}, count[3] = {1, LENGTH, LENGTH};

        CHECK_OK(nczchunk_read_vars(e->var, e->store, start, count, NULL, data, NULL));
        for (size_t n = 0; n < LENGTH * LENGTH; n++)
            CHECK_EQ(data[n], first * LENGTH * LENGTH + n);
    }
    return NULL;
}

/* Threads that need the same chunk wait for the one that decodes it. (What a forked child does is in test_fork.c.) */
static void threads_need_the_same_chunks(void)
{
    encoded_array e;
    nczchunk_cache *cache = NULL;
    pthread_t threads[4];

    open_array(&e);
    CHECK_OK(nczchunk_cache_new(64 * CHUNK_BYTES, &cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
    for (int t = 0; t < 4; t++)
        CHECK_EQ(pthread_create(&threads[t], NULL, read_all, &e), 0);
    for (int t = 0; t < 4; t++)
        CHECK_EQ(pthread_join(threads[t], NULL), 0);
    CHECK_EQ(e.coded, 64);
    nczchunk_cache_free(cache);
    close_array(&e);
}

/* --- Variables whose chunks have several lengths use one store: none finds the other's chunks, and none waits. */

static int fill_with_lengths(void *user, nczchunk_request *request)
{
    (void)user;
    memset(request->buffer, (int)request->chunk_bytes / 100, request->size);
    request->nbytes = request->chunk_bytes;
    return NCZCHUNK_NOERR;
}

static void chunks_of_several_lengths(void)
{
    const size_t length = 5000, chunk_lengths[3] = {100, 500, 2000}, start = 0, count = 10;
    nczchunk_reader_callbacks callbacks = NCZCHUNK_READER_CALLBACKS_INIT;
    nczchunk_chunk_store *store = NULL;
    nczchunk_cache *cache = NULL;

    callbacks.fill = fill_with_lengths;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_cache_new(1000, &cache, NULL)); /* the longest chunk does not fit */
    CHECK_OK(nczchunk_chunk_store_set_cache(store, cache, NULL));
    for (int round = 0; round < 9; round++) {
        const size_t chunk_length = chunk_lengths[round % 3];
        nczchunk_var *var = NULL;
        unsigned char data[10];

        CHECK_OK(nczchunk_var_new(1, &length, &chunk_length, 1, &var, NULL));
        for (int again = 0; again < 2; again++) {
            CHECK_OK(nczchunk_read_vars(var, store, &start, &count, NULL, data, NULL));
            CHECK(data[0] == chunk_length / 100 && data[9] == chunk_length / 100);
        }
        nczchunk_var_free(var);
    }
    nczchunk_cache_free(cache);
    nczchunk_chunk_store_free(store);
}

static void impossible_arguments(void)
{
    nczchunk_cache_statistics statistics = {0};
    nczchunk_cache *cache = NULL;

    CHECK_EQ(nczchunk_cache_new(1, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_set_cache(NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_cache_new(0, &cache, NULL)); /* keeps nothing */
    CHECK_EQ(nczchunk_cache_get_statistics(cache, &statistics, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_cache_get_statistics(NULL, &statistics, NULL), NCZCHUNK_EINVAL);
    nczchunk_cache_free(cache);
    nczchunk_cache_free(NULL);
}

/* A context may have calls go past the cache: then they read what is stored, and the cache stays as it is. */
static void a_context_goes_past_the_cache(void)
{
    const size_t start[3] = {0}, count[3] = {1, 1, 2};
    int data[2];
    encoded_array e;
    nczchunk_cache *cache = NULL;
    nczchunk_context *context = NULL;

    open_array(&e);
    CHECK_OK(nczchunk_cache_new(16 * CHUNK_BYTES, &cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(e.store, cache, NULL));
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_context_set_uses_cache(context, 0), 1);
    for (int i = 0; i < 4; i++) CHECK_OK(nczchunk_read_vars(e.var, e.store, start, count, NULL, data, context));
    CHECK_EQ(e.coded, 4);
    CHECK_EQ(statistics_of(cache).chunks, 0);
    CHECK_EQ(statistics_of(cache).hits, 0);
    CHECK_EQ(nczchunk_context_set_uses_cache(context, 1), 0);
    for (int i = 0; i < 4; i++) CHECK_OK(nczchunk_read_vars(e.var, e.store, start, count, NULL, data, context));
    CHECK(e.coded <= 4 + 2);
    CHECK(statistics_of(cache).hits >= 2);
    CHECK_EQ(nczchunk_context_set_uses_cache(NULL, 1), NCZCHUNK_EINVAL);
    nczchunk_context_free(context);
    nczchunk_cache_free(cache);
    close_array(&e);
}

int main(void)
{
    alarm(300);
    a_context_goes_past_the_cache();
    slabs_decode_each_chunk_once();
    several_stores_share_a_limit();
    a_large_transfer_keeps_what_it_needs_first();
    writes_go_through();
    threads_need_the_same_chunks();
    chunks_of_several_lengths();
    impossible_arguments();
    return 0;
}
