/*
 * What a lending callback may rely on: every chunk is given back, once, before the next is asked for.
 *
 * That is what netCDF-C's NCZarr layer needs. Its reader returns a pointer into a cache, which is valid until the next
 * call of the reader, and whoever writes there tells the cache. A few lines make them callbacks for reading and
 * writing.
 */
#include "memory_array.h"

/* netCDF-C's reader, from its internal zchunking.h, and the like for what tells its cache that a chunk has changed. */
typedef int (*NCZ_reader)(void *source, unsigned long long *chunkindices, void **chunkdata);
typedef int (*NCZ_modifier)(void *source, const unsigned long long *chunkindices);

/* --- From here to the next line is all that netCDF-C needs. */

#define MAX_RANK 4

typedef struct ncz_shim {
    NCZ_reader reader;
    NCZ_modifier modifier;
    void *source;
    /* The reader tells no length. Inside netCDF-C take the entry's, so that a short chunk is noticed. */
    size_t chunk_bytes;
} ncz_shim;

/* A scalar is one-dimensional to netCDF-C: its chunk has the index 0. */
static void to_ncz_indices(unsigned long long indices[MAX_RANK], size_t rank, const ptrdiff_t *chunk_indices)
{
    indices[0] = 0;
    for (size_t d = 0; d < rank; d++)
        indices[d] = (unsigned long long)chunk_indices[d];
}

static int lend_from_ncz_reader(void *user, nczchunk_borrowed_chunk *loan)
{
    const ncz_shim *shim = user;
    unsigned long long indices[MAX_RANK];

    to_ncz_indices(indices, loan->rank, loan->chunk_indices);
    loan->nbytes = shim->chunk_bytes;
    return shim->reader(shim->source, indices, &loan->data);
}

/* A chunk that was lent to be changed has changed, if all went well. */
static int tell_ncz_modifier(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    const ncz_shim *shim = user;
    unsigned long long indices[MAX_RANK];

    if (loan->access != NCZCHUNK_WRITE || status != NCZCHUNK_NOERR)
        return NCZCHUNK_NOERR;
    to_ncz_indices(indices, loan->rank, loan->chunk_indices);
    return shim->modifier(shim->source, indices);
}

/* The cache lends chunks to be changed in the same way. It has no use for covered. */
static nczchunk_chunk_store *open_ncz_store(ncz_shim *shim)
{
    const nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks,
                                                  .user = shim,
                                                  .lend = lend_from_ncz_reader,
                                                  .lend_to_write = lend_from_ncz_reader,
                                                  .release = tell_ncz_modifier};
    nczchunk_chunk_store *store;

    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    return store;
}

/* --- */

/* The strictest cache there can be: it holds one chunk, and the next call destroys it. Whoever still uses a chunk then
 * reads poison, or memory that is no longer there. A chunk that was changed is stored before; a chunk that nobody said
 * was changed is not. */
typedef struct one_chunk_cache {
    memory_array *array;
    const void *fill_value; /* absent chunks are made of it, unless NULL */
    unsigned char *chunk;
    memory_chunk *place; /* where the chunk belongs */
    int is_modified;
} one_chunk_cache;

static void cache_drop(one_chunk_cache *cache)
{
    if (cache->is_modified) {
        memory_chunk_set(cache->place, cache->chunk, cache->array->chunk_bytes);
        cache->place->status = NCZCHUNK_NOERR;
    }
    if (cache->chunk != NULL)
        memset(cache->chunk, 0xDD, cache->array->chunk_bytes);
    free(cache->chunk);
    cache->chunk = NULL;
    cache->is_modified = 0;
}

static void from_ncz_indices(ptrdiff_t indices[MAX_RANK], size_t rank, const unsigned long long *chunkindices)
{
    for (size_t d = 0; d < rank; d++)
        indices[d] = (ptrdiff_t)chunkindices[d];
    if (rank == 0)
        CHECK_EQ(chunkindices[0], 0);
}

static int cache_read(void *source, unsigned long long *chunkindices, void **chunkdata)
{
    one_chunk_cache *cache = source;
    memory_array *array = cache->array;
    ptrdiff_t indices[MAX_RANK];
    memory_chunk *chunk;

    from_ncz_indices(indices, array->rank, chunkindices);
    chunk = memory_array_ask(array, array->rank, indices);
    cache_drop(cache);
    if (chunk->bytes == NULL && cache->fill_value == NULL)
        return chunk->status;
    cache->place = chunk;
    cache->chunk = malloc(array->chunk_bytes);
    CHECK(cache->chunk != NULL);
    for (size_t b = 0; b < array->chunk_bytes; b += array->element_size)
        memcpy(cache->chunk + b, chunk->bytes ? chunk->bytes + b : cache->fill_value, array->element_size);
    *chunkdata = cache->chunk;
    return chunk->status;
}

/* Only the chunk that was asked for last can be said to have changed, and only once. */
static int cache_modify(void *source, const unsigned long long *chunkindices)
{
    one_chunk_cache *cache = source;
    ptrdiff_t indices[MAX_RANK];

    from_ncz_indices(indices, cache->array->rank, chunkindices);
    CHECK(cache->chunk != NULL);
    CHECK(cache->place == memory_array_chunk(cache->array, indices));
    CHECK(!cache->is_modified);
    cache->is_modified = 1;
    cache->array->written++;
    return NCZCHUNK_NOERR;
}

static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};

/* Reads the whole array through the shim, and checks it. */
static void check_read_through_shim(memory_array *array, nczchunk_var *var, const void *cache_fill,
                                    const void *expected_fill)
{
    one_chunk_cache cache = {.array = array, .fill_value = cache_fill};
    ncz_shim shim = {cache_read, cache_modify, &cache, array->chunk_bytes};
    nczchunk_chunk_store *store = open_ncz_store(&shim);
    int data[20];

    array->asked = 0;
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(array, zeros, NULL, NULL, expected_fill, data);
    CHECK_EQ(array->asked, 6);
    nczchunk_chunk_store_free(store);
    cache_drop(&cache);
}

/* The library holds at most one chunk: by the time it asks for the next it has done with the last. */
static void ncz_reader_fits(void)
{
    memory_array array;
    nczchunk_var *var;

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    var = memory_array_var(&array);
    check_read_through_shim(&array, var, NULL, NULL);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* NCZarr's cache answers NC_EEMPTY and lends a chunk of fill values all the same: that chunk is used. It is in native
 * order, also if the variable is not: netCDF-C swaps it, and reads a fill value of 7 as 117440512. */
static void a_chunk_of_fill_values_is_used_and_not_swapped(void)
{
    const int of_cache = 7, of_variable = -1;
    memory_array array;
    nczchunk_var *var;

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    memory_array_swap(&array, sizeof(int));
    memory_chunk_remove(&array.chunks[1], NCZCHUNK_EEMPTY);
    memory_chunk_remove(&array.chunks[2], NCZCHUNK_EEMPTY);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_var_set_endian(var, foreign_endian(), NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, &of_variable, NULL));

    check_read_through_shim(&array, var, &of_cache, &of_cache);
    /* A reader that lends nothing leaves it to the variable. */
    check_read_through_shim(&array, var, NULL, &of_variable);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* Writes a hyperslab through the shim to an array of which two chunks are absent. Each of the chunks touched is asked
 * for once, and said to have changed once, while it is the one on loan. */
static void check_write_through_shim(const size_t *start, const size_t *count, const ptrdiff_t *stride, size_t chunks,
                                     int is_foreign)
{
    const int of_cache = 7, of_variable = -1;
    one_chunk_cache cache = {.fill_value = &of_cache};
    ncz_shim shim = {cache_read, cache_modify, &cache, 0};
    nczchunk_chunk_store *store = open_ncz_store(&shim);
    memory_array array, expected;
    nczchunk_var *var;
    int data[20];

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    memory_chunk_remove(&array.chunks[1], NCZCHUNK_EEMPTY);
    memory_chunk_remove(&array.chunks[2], NCZCHUNK_EEMPTY);
    memory_array_make_data(&array, 20, data);
    expected = memory_array_copy(&array);
    memory_array_put(&expected, start, count, stride, &of_variable, data, NULL);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_var_set_fill_value(var, &of_variable, NULL));
    if (is_foreign) {
        memory_array_swap(&array, sizeof(int));
        memory_array_swap(&expected, sizeof(int));
        CHECK_OK(nczchunk_var_set_endian(var, foreign_endian(), NULL));
    }
    cache.array = &array;
    shim.chunk_bytes = array.chunk_bytes;

    CHECK_OK(nczchunk_write_vars(var, store, start, count, stride, data, NULL));
    CHECK_EQ(array.asked, chunks);
    CHECK_EQ(array.written, chunks);
    cache_drop(&cache);
    memory_array_check_same(&array, &expected);

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&expected);
    memory_array_clear(&array);
}

static void ncz_cache_can_be_written_to(void)
{
    const size_t start[2] = {1, 0}, count[2] = {2, 2};
    const ptrdiff_t stride[2] = {2, 2};

    for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
        check_write_through_shim(zeros, NULL, NULL, 6, is_foreign);
        check_write_through_shim(start, count, NULL, 2, is_foreign);
        check_write_through_shim(start, count, stride, 2, is_foreign);
        check_write_through_shim(start, (const size_t[2]){0, 2}, NULL, 0, is_foreign);
    }
}

/* A scalar's chunk is said to have changed like any other: otherwise the second number would never be stored. */
static void a_scalar_in_ncz_cache_changes_each_time(void)
{
    memory_array array;
    one_chunk_cache cache = {.array = &array};
    ncz_shim shim = {cache_read, cache_modify, &cache, sizeof(int)};
    nczchunk_chunk_store *store = open_ncz_store(&shim);
    const int fill_value = 7, numbers[2] = {17, 42};
    nczchunk_var *var;

    memory_array_init_absent(&array, 0, NULL, NULL, sizeof(int));
    cache.fill_value = &fill_value;
    var = memory_array_var(&array);
    for (long i = 0; i < 2; i++) {
        int value = -1;

        CHECK_OK(nczchunk_write_vars(var, store, NULL, NULL, NULL, &numbers[i], NULL));
        CHECK_EQ(array.written, i + 1);
        cache_drop(&cache);
        CHECK_OK(nczchunk_read_vars(var, store, NULL, NULL, NULL, &value, NULL));
        CHECK_EQ(value, numbers[i]);
    }
    cache_drop(&cache);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* Lends copies and checks the bookkeeping: what is out, and that nothing else is. */
typedef struct lender {
    memory_array *array;
    void *out;
    int lent, returned, destroyed;
    size_t claim; /* the length it says, unless 0 */
    int outcome;  /* the last that it was told */
    int refusal;  /* what it answers when it gets a chunk back */
} lender;

static int lender_lend(void *user, nczchunk_borrowed_chunk *loan)
{
    lender *l = user;
    const memory_chunk *chunk = memory_array_ask(l->array, loan->rank, loan->chunk_indices);

    CHECK(l->out == NULL);
    CHECK_EQ(loan->chunk_bytes, l->array->chunk_bytes);
    if (chunk->bytes == NULL)
        return chunk->status;
    l->out = malloc(chunk->nbytes);
    CHECK(l->out != NULL);
    memcpy(l->out, chunk->bytes, chunk->nbytes);
    l->lent++;
    loan->data = l->out;
    loan->nbytes = l->claim != 0 ? l->claim : chunk->nbytes;
    loan->handle = &l->lent;
    return chunk->status;
}

/* The loan comes back with all that the lender put into it. */
static int lender_release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    lender *l = user;

    CHECK_EQ(loan->access, NCZCHUNK_READ);
    CHECK(loan->data != NULL && loan->data == l->out);
    CHECK(loan->handle == &l->lent);
    l->outcome = status;
    free(l->out);
    l->out = NULL;
    l->returned++;
    return l->refusal;
}

static void lender_destroy(void *user)
{
    lender *l = user;

    CHECK(l->out == NULL);
    l->destroyed++;
}

static int read_from_lender(lender *l)
{
    nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks, .user = l, .lend = lender_lend,
                                            .release = lender_release, .destroy = lender_destroy};
    nczchunk_var *var = memory_array_var(l->array);
    nczchunk_chunk_store *store;
    int data[20], status;

    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    status = nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL);
    if (status == 0)
        memory_array_expect(l->array, zeros, NULL, NULL, NULL, data);
    CHECK(l->out == NULL);
    CHECK_EQ(l->destroyed, 0);
    nczchunk_chunk_store_free(store);
    CHECK_EQ(l->destroyed, 1);
    CHECK_EQ(l->returned, l->lent);
    nczchunk_var_free(var);
    return status;
}

static void every_chunk_is_given_back_once(void)
{
    memory_array array;
    lender l = {.array = &array};

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    memory_chunk_remove(&array.chunks[0], NCZCHUNK_EEMPTY);
    CHECK_OK(read_from_lender(&l));
    CHECK_EQ(l.lent, 5);
    memory_array_clear(&array);
}

/* A chunk of fill values is on loan like any other. */
static void chunks_of_fill_values_are_given_back_too(void)
{
    memory_array array;
    lender l = {.array = &array};

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    array.chunks[3].status = NCZCHUNK_EEMPTY;
    CHECK_OK(read_from_lender(&l));
    CHECK_EQ(l.lent, 6);
    memory_array_clear(&array);
}

/* So is one that turns out to be of the wrong length, however absurd. */
static void chunks_of_the_wrong_length_are_given_back_too(void)
{
    const size_t lengths[] = {1, 23, 25, PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memory_array array;
        lender l = {.array = &array, .claim = lengths[i]};

        memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
        CHECK_EQ(read_from_lender(&l), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(l.lent, 1);
        CHECK_EQ(l.outcome, NCZCHUNK_EBADCHUNK);
        memory_array_clear(&array);
    }
}

/* A lender that cannot take a chunk back as it should says so, and the read ends there. */
static void a_lender_may_end_the_call(void)
{
    memory_array array;
    lender l = {.array = &array, .refusal = 55};

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    CHECK_EQ(read_from_lender(&l), 55);
    CHECK_EQ(l.lent, 1);
    CHECK_EQ(l.outcome, 0);
    /* A call that has failed already keeps its own status. */
    for (size_t i = 0; i < 2; i++) {
        l.claim = i == 0 ? 1 : SIZE_MAX;
        l.lent = l.returned = l.destroyed = 0;
        CHECK_EQ(read_from_lender(&l), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(l.outcome, NCZCHUNK_EBADCHUNK);
    }
    memory_array_clear(&array);
}

/* destroy belongs to the store's end, whatever became of the store before. */
static void destroy_is_called_once(void)
{
    memory_array array;
    nczchunk_chunk_store *store;

    memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        array.destroyed = 0;
        store = memory_array_store(&array, store_kinds[kind]);
        store_add_zstd(store);
        CHECK_EQ(array.destroyed, 0);
        nczchunk_chunk_store_free(store);
        CHECK_EQ(array.destroyed, 1);
    }
    memory_array_clear(&array);
}

int main(void)
{
    ncz_reader_fits();
    a_chunk_of_fill_values_is_used_and_not_swapped();
    ncz_cache_can_be_written_to();
    a_scalar_in_ncz_cache_changes_each_time();
    every_chunk_is_given_back_once();
    chunks_of_fill_values_are_given_back_too();
    chunks_of_the_wrong_length_are_given_back_too();
    a_lender_may_end_the_call();
    destroy_is_called_once();
    return 0;
}
