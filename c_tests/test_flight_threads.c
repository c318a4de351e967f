/*
 * Several threads that each have requests in flight, to one store with one cache.
 *
 * A request belongs to the thread that started it: wait gives back one of the calling thread's own. So the callbacks of
 * a store that several threads use keep the requests of each thread apart, and lock what the threads share:
 *
 *     static __thread nczchunk_request *requests_in_flight[MOST_UNDER_WAY];
 *
 *     nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .start = start, .wait = wait_for_one,
 *                                             .store = save, .concurrent = 1};
 *
 * The threads meet before every round, so that their requests are in flight at the same time.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <unistd.h>

#include "memory_array.h"

enum { RANK = 2, ROWS = 12, COLUMNS = 10, ELEMENTS = ROWS * COLUMNS, READERS = 4, ROUNDS = 40, IN_FLIGHT = 5 };

/* 4 x 4 chunks of 3 x 3 elements, of which some reach beyond the array. */
enum { CHUNKS = 16, CHUNK_BYTES = 9 * sizeof(int) };

/* A write of generation g adds g times so much to every element. */
enum { GENERATION = 1000 };

static const size_t dimlens[RANK] = {ROWS, COLUMNS}, chunklens[RANK] = {3, 3}, zeros[RANK] = {0, 0};

/* A box with every other column. Those of different readers overlap, and each has a part of every chunk that it
 * touches: a cache keeps no chunk of which a call takes all. */
typedef struct slab {
    size_t start[RANK], count[RANK];
} slab;

static const slab slabs[READERS] = {{{0, 0}, {12, 5}}, {{0, 1}, {7, 4}}, {{5, 0}, {7, 5}}, {{2, 3}, {8, 4}}};
static const ptrdiff_t stride[RANK] = {1, 2};

typedef struct shared {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_cache *cache;
    pthread_mutex_t lock; /* of the array */
    pthread_barrier_t round;
    long started;
    /* How many requests a thread may have in flight. */
    size_t share;
    /* The generation that is being written, and the last one that has been. */
    long begun, written;
    /* What happens in another thread while the first request of a call is in flight; NULL: nothing. */
    void *(*meanwhile)(void *shared);
} shared;

/* --- The callbacks. The answer is there as soon as a request is started, and wait gives back the last one first. */

static __thread nczchunk_request *requests_in_flight[IN_FLIGHT];
static __thread size_t num_under_way;

static int start(void *user, nczchunk_request *request)
{
    shared *s = user;
    const memory_chunk *chunk = memory_array_chunk(&s->array, request->chunk_indices);

    CHECK(num_under_way < s->share);
    CHECK_OK(pthread_mutex_lock(&s->lock));
    s->started++;
    memcpy(request->buffer, chunk->bytes, chunk->nbytes);
    request->nbytes = chunk->nbytes;
    CHECK_OK(pthread_mutex_unlock(&s->lock));
    requests_in_flight[num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

static int wait_for_one(void *user, nczchunk_request **done)
{
    shared *s = user;

    if (s->meanwhile != NULL) {
        void *(*meanwhile)(void *) = s->meanwhile;
        pthread_t thread;

        s->meanwhile = NULL;
        CHECK_OK(pthread_create(&thread, NULL, meanwhile, s));
        CHECK_OK(pthread_join(thread, NULL));
    }
    CHECK(num_under_way > 0);
    *done = requests_in_flight[--num_under_way];
    return NCZCHUNK_NOERR;
}

static int save(void *user, nczchunk_request *request)
{
    shared *s = user;

    CHECK_OK(pthread_mutex_lock(&s->lock));
    memory_chunk_set(memory_array_chunk(&s->array, request->chunk_indices), request->buffer, request->size);
    CHECK_OK(pthread_mutex_unlock(&s->lock));
    return NCZCHUNK_NOERR;
}

/* Changes every byte: the same to decode as to encode. */
static int invert(void *user, nczchunk_coding *coding)
{
    (void)user;
    CHECK(coding->source_size <= coding->capacity);
    for (size_t i = 0; i < coding->source_size; i++)
        ((unsigned char *)coding->destination)[i] = (unsigned char)~((const unsigned char *)coding->source)[i];
    coding->nbytes = coding->source_size;
    return NCZCHUNK_NOERR;
}

/* --- The store, with a cache that has room for so many chunks. */

static void open_shared(shared *s, size_t parties, size_t cached, int has_codec)
{
    const nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .user = s, .start = start,
                                                  .wait = wait_for_one, .store = save, .concurrent = 1,
                                                  .in_flight = IN_FLIGHT};
    const nczchunk_codec_callbacks coding = {.struct_size = sizeof coding, .decode = invert, .encode = invert,
                                             .concurrent = 1};
    nczchunk_codec *codec;

    memset(s, 0, sizeof *s);
    s->share = IN_FLIGHT;
    memory_array_init(&s->array, RANK, dimlens, chunklens, sizeof(int));
    s->var = memory_array_var(&s->array);
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &s->store, NULL));
    if (has_codec) {
        for (size_t c = 0; c < CHUNKS; c++)
            for (size_t b = 0; b < CHUNK_BYTES; b++)
                s->array.chunks[c].bytes[b] = (unsigned char)~s->array.chunks[c].bytes[b];
        CHECK_OK(nczchunk_codec_new("invert", &coding, &codec, NULL));
        CHECK_OK(nczchunk_chunk_store_add_codec(s->store, codec, NULL));
    }
    CHECK_OK(nczchunk_cache_new(cached * CHUNK_BYTES, &s->cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(s->store, s->cache, NULL));
    CHECK_OK(pthread_mutex_init(&s->lock, NULL));
    CHECK_OK(pthread_barrier_init(&s->round, NULL, (unsigned)parties));
}

static void close_shared(shared *s)
{
    CHECK_OK(pthread_barrier_destroy(&s->round));
    CHECK_OK(pthread_mutex_destroy(&s->lock));
    nczchunk_cache_free(s->cache);
    nczchunk_chunk_store_free(s->store);
    nczchunk_var_free(s->var);
    memory_array_clear(&s->array);
}

static void meet(shared *s)
{
    const int result = pthread_barrier_wait(&s->round);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
}

static size_t cached_chunks(const shared *s)
{
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;

    CHECK_OK(nczchunk_cache_get_statistics(s->cache, &statistics, NULL));
    CHECK(statistics.bytes <= statistics.limit);
    return statistics.chunks;
}

/* --- What is read. Every element is its number and a multiple of GENERATION. */

/* Reads a slab. All elements of a chunk are of one generation, which is none that was replaced before the call. */
static void read_slab(shared *s, const slab *what)
{
    const long oldest = __atomic_load_n(&s->written, __ATOMIC_ACQUIRE);
    long generations[CHUNKS], newest;
    int data[ELEMENTS];

    CHECK_OK(nczchunk_read_vars(s->var, s->store, what->start, what->count, stride, data, NULL));
    newest = __atomic_load_n(&s->begun, __ATOMIC_ACQUIRE);
    memset(generations, -1, sizeof generations);
    for (size_t e = 0; e < what->count[0] * what->count[1]; e++) {
        const size_t row = what->start[0] + e / what->count[1], column = what->start[1] + e % what->count[1] * 2;
        const size_t chunk = row / 3 * 4 + column / 3, number = row * COLUMNS + column;
        const long generation = data[e] / GENERATION;

        CHECK_EQ(data[e] % GENERATION, number);
        if (generations[chunk] == -1)
            generations[chunk] = generation;
        CHECK_EQ(generation, generations[chunk]);
        CHECK(oldest <= generation && generation <= newest);
    }
}

/* Writes the next generation, by one call. */
static void write_generation(shared *s)
{
    const long generation = s->begun + 1;
    int data[ELEMENTS];

    __atomic_store_n(&s->begun, generation, __ATOMIC_RELEASE);
    for (int e = 0; e < ELEMENTS; e++)
        data[e] = e + (int)generation * GENERATION;
    CHECK_OK(nczchunk_write_vars(s->var, s->store, zeros, NULL, NULL, data, NULL));
    __atomic_store_n(&s->written, generation, __ATOMIC_RELEASE);
}

/* --- Readers beside each other, and a writer beside them. */

typedef struct reader {
    shared *s;
    size_t number;
    pthread_t thread;
} reader;

static void *read_in_rounds(void *argument)
{
    const reader *r = argument;

    for (size_t round = 0; round < ROUNDS; round++) {
        meet(r->s);
        read_slab(r->s, &slabs[(r->number + round) % READERS]);
    }
    return NULL;
}

static void *write_in_rounds(void *argument)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        meet(argument);
        write_generation(argument);
    }
    return NULL;
}

/* With room for all chunks, for some and for none. */
static void readers(int has_codec, int has_writer)
{
    static const size_t room[] = {CHUNKS, 5, 0};

    for (size_t i = 0; i < sizeof room / sizeof *room; i++) {
        reader all[READERS];
        pthread_t writer;
        shared s;

        open_shared(&s, READERS + (size_t)has_writer, room[i], has_codec);
        for (size_t r = 0; r < READERS; r++) {
            all[r] = (reader){.s = &s, .number = r};
            CHECK_OK(pthread_create(&all[r].thread, NULL, read_in_rounds, &all[r]));
        }
        if (has_writer)
            CHECK_OK(pthread_create(&writer, NULL, write_in_rounds, &s));
        for (size_t r = 0; r < READERS; r++)
            CHECK_OK(pthread_join(all[r].thread, NULL));
        if (has_writer)
            CHECK_OK(pthread_join(writer, NULL));

        /* What the cache keeps now is what is stored. With room for all, the second time nothing is asked for. */
        for (size_t r = 0; r < READERS; r++)
            read_slab(&s, &slabs[r]);
        s.started = 0;
        for (size_t r = 0; r < READERS; r++)
            read_slab(&s, &slabs[r]);
        CHECK((s.started == 0) == (room[i] == CHUNKS));
        CHECK_EQ(cached_chunks(&s), room[i]);
        CHECK_EQ(s.written, has_writer ? ROUNDS : 0);
        close_shared(&s);
    }
}

/* --- A write while a request is in flight, which brings what was stored before. */

static void *write_once(void *user)
{
    write_generation(user);
    return NULL;
}

/* Each column is a part of its chunks. So the write has them fetched, changes them, and keeps them in the cache. */
static void *write_by_columns(void *user)
{
    shared *s = user;
    const size_t count[RANK] = {ROWS, 1};
    int data[ROWS];

    s->begun++;
    for (size_t column = 0; column < COLUMNS; column++) {
        const size_t from[RANK] = {0, column};

        for (size_t row = 0; row < ROWS; row++)
            data[row] = (int)(row * COLUMNS + column) + GENERATION * (int)s->begun;
        CHECK_OK(nczchunk_write_vars(s->var, s->store, from, count, NULL, data, NULL));
    }
    s->written++;
    return NULL;
}

/* The call in flight may deliver the old elements, but the next call does not find them in the cache. */
static void a_write_meanwhile(void *(*write)(void *shared), size_t cached, int has_codec)
{
    shared s;

    open_shared(&s, 1, cached, has_codec);
    s.meanwhile = write;
    read_slab(&s, &slabs[0]);
    CHECK_EQ(s.written, 1);
    read_slab(&s, &slabs[0]);
    read_slab(&s, &slabs[1]);
    close_shared(&s);
}

/* One call that may use several threads: each has its share of the requests, and waits for its own. */
static void threads_of_one_call(void)
{
    enum { THREADS = 2 };
    const size_t count[RANK] = {ROWS, COLUMNS};
    nczchunk_context *context;
    shared s;

    open_shared(&s, 1, 0, 1);
    s.share = IN_FLIGHT / THREADS;
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, THREADS));
    for (int round = 0; round < ROUNDS; round++) {
        int data[ELEMENTS];

        memset(data, -1, sizeof data);
        CHECK_OK(nczchunk_read_vars(s.var, s.store, zeros, count, NULL, data, context));
        for (int e = 0; e < ELEMENTS; e++)
            CHECK_EQ(data[e], e);
    }
    CHECK_EQ(s.started, ROUNDS * CHUNKS);
    nczchunk_context_free(context);
    close_shared(&s);
}

int main(void)
{
    alarm(300);
    threads_of_one_call();
    for (int has_codec = 0; has_codec <= 1; has_codec++) {
        readers(has_codec, 0);
        readers(has_codec, 1);
        for (size_t cached = 1; cached <= CHUNKS; cached++) {
            a_write_meanwhile(write_once, cached, has_codec);
            a_write_meanwhile(write_by_columns, cached, has_codec);
        }
    }
    return 0;
}
