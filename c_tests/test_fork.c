/*
 * A child that is forked while other threads read can read at once.
 *
 * After a fork the child has one thread, and whatever the others held at that moment they hold for ever. So the library
 * holds nothing that another call would have to wait for: no lock, in no store, and not for its decoders either. A
 * cache has a lock, and a child does without the cache.
 *
 *     if (fork() == 0)
 *         status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);     whatever others were doing
 */
#define _XOPEN_SOURCE 700
#include "forks.h"
#include "zstd_frame.h"

enum { RANK = 3, ELEMENTS = 12 * 10 * 8 };
enum { FORKS = 300, NUM_STORES = 4, CACHED = 3, CACHE_BYTES = 8 * 5 * 4 * 3 * sizeof(int) };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3}, zeros[RANK] = {0, 0, 0};

typedef struct shared {
    memory_array plain, compressed;
    nczchunk_var *var;
    /* One that fills in chunks, one that decodes them as well, one that decodes what it is lent, and one that keeps
     * what it has decoded in a cache, of which there is room for a part. */
    nczchunk_chunk_store *stores[NUM_STORES];
    nczchunk_cache *cache;
    nczchunk_plan *plan;
} shared;

/* --- The stores are used by all. So the callbacks count nothing, for several threads would count at once. */

static int fill(void *user, nczchunk_request *request)
{
    const memory_chunk *chunk = memory_array_chunk(user, request->chunk_indices);

    request->nbytes = chunk->nbytes;
    memcpy(request->buffer, chunk->bytes, chunk->nbytes < request->size ? chunk->nbytes : request->size);
    return chunk->status;
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    const memory_chunk *chunk = memory_array_chunk(user, loan->chunk_indices);

    loan->data = chunk->bytes;
    loan->nbytes = chunk->nbytes;
    return chunk->status;
}

static void open_shared(void *user)
{
    shared *s = user;
    nczchunk_reader_callbacks filling = {.struct_size = sizeof filling, .user = &s->plain, .fill = fill,
                                          .concurrent = 1};
    const nczchunk_zero_copy_callbacks lending = {.struct_size = sizeof lending, .user = &s->compressed, .lend = lend,
                                                .concurrent = 1};

    memset(s, 0, sizeof *s);
    memory_array_init(&s->plain, RANK, dimlens, chunklens, sizeof(int));
    memory_array_init(&s->compressed, RANK, dimlens, chunklens, sizeof(int));
    memory_array_compress(&s->compressed);
    s->var = memory_array_var(&s->plain);
    CHECK_OK(nczchunk_chunk_store_new(&filling, &s->stores[0], NULL));
    filling.user = &s->compressed;
    CHECK_OK(nczchunk_chunk_store_new(&filling, &s->stores[1], NULL));
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &s->stores[2], NULL));
    CHECK_OK(nczchunk_chunk_store_new(&filling, &s->stores[CACHED], NULL));
    for (size_t i = 1; i < NUM_STORES; i++)
        store_add_zstd(s->stores[i]);
    CHECK_OK(nczchunk_cache_new(CACHE_BYTES, &s->cache, NULL));
    CHECK_OK(nczchunk_chunk_store_set_cache(s->stores[CACHED], s->cache, NULL));
    CHECK_OK(nczchunk_plan_new(s->var, zeros, NULL, NULL, NCZCHUNK_READ, &s->plan, NULL));
}

static void close_shared(void *user)
{
    shared *s = user;

    nczchunk_plan_free(s->plan);
    nczchunk_cache_free(s->cache);
    for (size_t i = 0; i < NUM_STORES; i++)
        nczchunk_chunk_store_free(s->stores[i]);
    nczchunk_var_free(s->var);
    memory_array_clear(&s->plain);
    memory_array_clear(&s->compressed);
}

static void open_again(void *user)
{
    close_shared(user);
    open_shared(user);
}

/* Reads all of each store, directly and by the plan, and a part that does not land in one piece. */
static void read_everything(void *user, nczchunk_context *context, int is_child)
{
    const shared *s = user;
    const size_t count[RANK] = {6, 5, 4};
    const ptrdiff_t stride[RANK] = {2, 2, 2};
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;
    int data[ELEMENTS];

    for (size_t i = 0; i < NUM_STORES; i++) {
        memset(data, 0, sizeof data);
        CHECK_OK(nczchunk_read_vars(s->var, s->stores[i], zeros, NULL, NULL, data, context));
        memory_array_expect(&s->plain, zeros, NULL, NULL, NULL, data);
        CHECK_OK(nczchunk_read_vars(s->var, s->stores[i], zeros, count, stride, data, context));
        memory_array_expect(&s->plain, zeros, count, stride, NULL, data);
        CHECK_OK(nczchunk_plan_read(s->plan, s->stores[i], 0, NCZCHUNK_ALL, data, context));
        memory_array_expect(&s->plain, zeros, NULL, NULL, NULL, data);
    }
    /* A child finds nothing in its parent's cache and keeps nothing there. */
    CHECK_OK(nczchunk_cache_get_statistics(s->cache, &statistics, NULL));
    CHECK((statistics.chunks == 0) == is_child);
}

/* test_fork DATA [FORKS]: that many children, however long it takes (scripts/soak). */
int main(int argc, char **argv)
{
    static shared s;
    static const forks all = {.user = &s, .use = read_everything, .renew = open_again, .free = close_shared};

    open_shared(&s);
    forks_run(&all, argc > 2 ? atoi(argv[2]) : FORKS, argc > 2);
    close_shared(&s);
    return 0;
}
