/*
 * Memory that cannot be had: the call says NCZCHUNK_ENOMEM, nothing is leaked, and everything can still be used.
 *
 * A scene makes what it needs, lets one call fail, tries that call again, and frees everything. The tables at the end
 * list the scenes; out_of_memory.h plays them.
 */
#define _GNU_SOURCE
#include <time.h>

#include "zstd_frame.h"

#include "counted_threads.h"
#include "out_of_memory.h"

/* --- How a scene is played. */

/* The ways to read or write a whole array, or its first element alone. */
typedef enum layout { DENSE, MAPPED, STRIDED, ONE_ELEMENT } layout;

/* A filter of HDF5's, with its parameters. The codec of this name has to be built in. */
typedef struct filter {
    const char *codec;
    unsigned int number;
    size_t num_parameters;
    unsigned int parameters[7];
} filter;

typedef struct scene {
    const char *name;
    /* Plays it with the n-th allocation failing. Returns whether there were as many. */
    int (*play)(const struct scene *s, long n);
    /* What it is about, as far as it matters to the function. */
    size_t rank;
    store_kind kind;
    /* compressed: chunks are zstd frames. has_chain: they have been encoded by a codec of ours, zstd and zstd. */
    int compressed, has_chain, is_write;
    /* Chunks are fetched by start and wait. */
    int is_flying;
    /* Chunks are written three at a time along the first dimension. */
    int has_write_grid;
    layout how;
    /* The one codec that chunks have been encoded by, or NULL. */
    const filter *filter;
    /* An int, unless it says otherwise. */
    size_t element_size;
    size_t threads;
} scene;

/* Ends that the n-th allocation fails, after a call that must have told it. */
static int has_failed_with(int status)
{
    int failed = has_failed();
    CHECK_EQ(status, failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR);
    return failed;
}

static int play_scene(const void *played, long n)
{
    const scene *s = played;
    return s->play(s, n);
}

/* --- Making objects. Ranks above 8 need more memory than the object itself. */

enum { SMALL = 2, LARGE = 20 };

static const size_t dimlens[LARGE] = {3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3};
static const size_t chunklens[LARGE] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
static const size_t zeros[LARGE], ones[LARGE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static int make_var(const scene *s, long n)
{
    nczchunk_var *var = NULL;
    int failed;

    fail_at(n);
    failed = has_failed_with(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK((var == NULL) == failed);
    nczchunk_var_free(var);
    return failed;
}

static int make_context(const scene *s, long n)
{
    nczchunk_context *context = NULL;
    int failed;

    (void)s;
    fail_at(n);
    failed = has_failed_with(nczchunk_context_new(&context));
    CHECK((context == NULL) == failed);
    nczchunk_context_free(context);
    return failed;
}

static int advise(const scene *s, long n)
{
    static const size_t len = 1000000, count = 1000;
    static const double weight = 1;
    size_t chunklen;
    int failed;

    (void)s;
    fail_at(n);
    failed = has_failed_with(nczchunk_advise(1, &len, 4, 1, &count, &weight, NULL, &chunklen, NULL, NULL));
    CHECK_OK(nczchunk_advise(1, &len, 4, 1, &count, &weight, NULL, &chunklen, NULL, NULL));
    return failed;
}

static int make_odometer(const scene *s, long n)
{
    nczchunk_odometer *odometer = NULL;
    int failed;

    fail_at(n);
    failed = has_failed_with(nczchunk_odometer_new(s->rank, zeros, dimlens, ones, dimlens, &odometer, NULL));
    CHECK((odometer == NULL) == failed);
    nczchunk_odometer_free(odometer);
    return failed;
}

static size_t num_elements(size_t rank)
{
    size_t elements = 1;

    for (size_t d = 0; d < rank; d++)
        elements *= dimlens[d];
    return elements;
}

/* Row-major memory, as a list of steps from element to element and as one of steps in bytes. */
static void row_major(size_t rank, ptrdiff_t *imap, ptrdiff_t *strides)
{
    ptrdiff_t step = 1;

    for (size_t d = rank; d-- > 0; step *= (ptrdiff_t)dimlens[d]) {
        imap[d] = step;
        strides[d] = step * (ptrdiff_t)sizeof(int);
    }
}

/* A plan is made from a variable, and has a copy of it. It is prepared for being executed, for it has few chunks. */
static int make_plan(const scene *s, long n)
{
    ptrdiff_t imap[LARGE], strides[LARGE];
    nczchunk_var *var;
    nczchunk_plan *plan = NULL;
    int failed, status;

    row_major(s->rank, imap, strides);
    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    fail_at(n);
    switch (s->how) {
    case MAPPED: status = nczchunk_plan_new_varm(var, zeros, NULL, NULL, imap, s->is_write, &plan, NULL); break;
    case STRIDED:
        status = nczchunk_plan_new_strided(var, zeros, dimlens, NULL, 36 * sizeof(int), 0, strides, s->is_write, &plan,
                                           NULL);
        break;
    default: status = nczchunk_plan_new(var, zeros, NULL, NULL, s->is_write, &plan, NULL); break;
    }
    failed = has_failed_with(status);
    CHECK((plan == NULL) == failed);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    return failed;
}

/* A plan can be asked again. */
static int ask_plan(const scene *s, long n)
{
    nczchunk_projection projections[LARGE];
    nczchunk_var *var;
    nczchunk_plan *plan;
    int failed, covered = -1;

    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    fail_at(n);
    failed = has_failed_with(nczchunk_plan_chunk(plan, 1, projections, sizeof *projections, &covered, NULL));
    CHECK_EQ(covered, failed ? -1 : 1);
    CHECK_OK(nczchunk_plan_chunk(plan, 1, projections, sizeof *projections, &covered, NULL));
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    return failed;
}

/* Two plans can be asked again what they have in common. */
static int compare_plans(const scene *s, long n)
{
    nczchunk_var *var;
    nczchunk_plan *all, *first;
    int shared = -1;

    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_WRITE, &all, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, ones, NULL, NCZCHUNK_WRITE, &first, NULL));
    fail_at(n);
    TRY_OR(nczchunk_plan_shares_chunks(all, first, &shared, NULL), shared == -1);
    CHECK_EQ(shared, 1);
    nczchunk_plan_free(first);
    nczchunk_plan_free(all);
    nczchunk_var_free(var);
    return has_been_refused();
}

/* One chunk of a plan, copied without a store. */
static int copy_chunk(const scene *s, long n)
{
    int data[36] = {0}, chunk[4] = {1, 2, 3, 4};
    nczchunk_var *var;
    nczchunk_plan *plan;
    int failed;

    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    fail_at(n);
    failed = has_failed_with(nczchunk_plan_copy_chunk(plan, 0, chunk, nczchunk_var_chunk_bytes(var), data, NULL));
    CHECK_OK(nczchunk_plan_copy_chunk(plan, 0, chunk, nczchunk_var_chunk_bytes(var), data, NULL));
    CHECK_EQ(data[0], 1);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    return failed;
}

static int copy_strided(const scene *s, long n)
{
    ptrdiff_t imap[LARGE], strides[LARGE];
    int from[36], to[36] = {0}, failed, status;

    row_major(s->rank, imap, strides);
    for (int i = 0; i < 36; i++)
        from[i] = i;
    fail_at(n);
    status = nczchunk_copy_strided(s->rank, dimlens, sizeof(int), 0, from, sizeof from, 0, strides, to, sizeof to, 0,
                                   strides, NULL);
    failed = has_failed_with(status);
    CHECK_OK(nczchunk_copy_strided(s->rank, dimlens, sizeof(int), 0, from, sizeof from, 0, strides, to, sizeof to, 0,
                                   strides, NULL));
    CHECK(memcmp(from, to, num_elements(s->rank) * sizeof(int)) == 0);
    return failed;
}

/* The variable stays as it was if there is no memory to change it. */
static int set_order_and_grid(const scene *s, long n)
{
    size_t order[LARGE], grid[LARGE];
    nczchunk_var *var;
    int failed, status;

    for (size_t d = 0; d < s->rank; d++) {
        order[d] = s->rank - 1 - d;
        grid[d] = (sizeof(size_t) < 8 && d >= 10 ? 1 : 3) * chunklens[d]; /* 3^20 chunks are too many for 32 bits */
    }
    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    fail_at(n);
    status = s->has_write_grid ? nczchunk_var_set_write_grid(var, grid, NULL)
                               : nczchunk_var_set_chunk_order(var, order, NULL);
    failed = has_failed_with(status);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 0), s->has_write_grid && !failed ? grid[0] : chunklens[0]);
    CHECK_EQ(nczchunk_var_chunklen(var, 0), chunklens[0]);
    nczchunk_var_free(var);
    return failed;
}

/* A codec that reverses every bit. */
static int reverse_bits(void *user, nczchunk_coding *coding)
{
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;

    (void)user;
    coding->nbytes = coding->source_size;
    for (size_t i = 0; i < coding->source_size && i < coding->capacity; i++)
        to[i] = (unsigned char)~from[i];
    return NCZCHUNK_NOERR;
}

static void count_destroyed(void *user)
{
    ++*(int *)user;
}

static nczchunk_codec_callbacks reversing(int *destroyed)
{
    nczchunk_codec_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = destroyed, .decode = reverse_bits, .encode = reverse_bits,
        .destroy = count_destroyed, .concurrent = 1};
    return callbacks;
}

/* A codec that could not be made does not call destroy. */
static int make_codec(const scene *s, long n)
{
    int destroyed = 0, failed;
    nczchunk_codec_callbacks callbacks = reversing(&destroyed);
    nczchunk_codec *codec = NULL;

    (void)s;
    fail_at(n);
    failed = has_failed_with(nczchunk_codec_new("reverse", &callbacks, &codec, NULL));
    CHECK((codec == NULL) == failed);
    CHECK_EQ(destroyed, 0);
    nczchunk_codec_free(codec);
    CHECK_EQ(destroyed, !failed);
    return failed;
}

static int codec_of_filter(const filter *f, nczchunk_codec **codec)
{
    return nczchunk_codec_filter(f->number, f->num_parameters, f->parameters, codec, NULL);
}

static int make_filter(const scene *s, long n)
{
    nczchunk_codec *codec = NULL;
    int failed;

    fail_at(n);
    failed = has_failed_with(codec_of_filter(s->filter, &codec));
    CHECK((codec == NULL) == failed);
    nczchunk_codec_free(codec);
    return failed;
}

/* A store that could not be made does not call destroy: what belongs to the callbacks is still the caller's. */
static int make_store(const scene *s, long n)
{
    memory_array array;
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&array);
    nczchunk_reader_callbacks filling = memory_array_filling(&array);
    nczchunk_chunk_store *store = NULL;
    int failed;

    array.destroyed = 0;
    fail_at(n);
    failed = has_failed_with(s->kind == LENDING ? nczchunk_chunk_store_new_zero_copy(&lending, &store, NULL)
                                                : nczchunk_chunk_store_new(&filling, &store, NULL));
    CHECK((store == NULL) == failed);
    CHECK_EQ(array.destroyed, 0);
    nczchunk_chunk_store_free(store);
    CHECK_EQ(array.destroyed, !failed);
    return failed;
}

/* A fill value that is too long to be kept in the variable. If there is no memory for it, the old one stays. */
static int set_fill_value(const scene *s, long n)
{
    const unsigned char old[40] = {1, 2, 3}, new[40] = {4, 5, 6};
    unsigned char data[40];
    const size_t length = 1;
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int failed;

    memory_array_init_absent(&array, 1, &length, &length, sizeof old);
    var = memory_array_var(&array);
    store = memory_array_store(&array, s->kind);
    CHECK_OK(nczchunk_var_set_fill_value(var, old, NULL));
    fail_at(n);
    failed = has_failed_with(nczchunk_var_set_fill_value(var, new, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    CHECK(memcmp(data, failed ? old : new, sizeof data) == 0);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

/* --- Reading. */

enum { ELEMENTS = 36 };

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int codecs_destroyed;
    nczchunk_request *requests_in_flight[64];
    size_t num_under_way;
    unsigned char *data;
} fixture;

/* start and wait: a request is done when it is waited for, the last one first. The array is the first field. */
static int start(void *user, nczchunk_request *request)
{
    fixture *f = user;

    CHECK(f->num_under_way < 64);
    f->requests_in_flight[f->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

static int wait_for_one(void *user, nczchunk_request **done)
{
    fixture *f = user;

    CHECK(f->num_under_way > 0);
    *done = f->requests_in_flight[--f->num_under_way];
    (*done)->status = memory_array_fill(user, *done);
    return NCZCHUNK_NOERR;
}

/* With several threads allowed, chunks that are not lent take so long that there is work for all of them. */
static void take_a_while(void)
{
    const struct timespec time = {0, 110000};
    nanosleep(&time, NULL);
}

static int slow_lend(void *user, nczchunk_borrowed_chunk *loan)
{
    take_a_while();
    return memory_array_lend(user, loan);
}

static int slow_fill(void *user, nczchunk_request *request)
{
    take_a_while();
    return memory_array_fill(user, request);
}

static int slow_save(void *user, nczchunk_request *request)
{
    take_a_while();
    return memory_array_save(user, request);
}

/* Makes a store, which has kept nothing from earlier calls. */
static void make_fresh_store(fixture *f, const scene *s)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&f->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&f->array);

    f->num_under_way = 0;
    lending.concurrent = filling.concurrent = s->threads > 1;
    if (s->threads > 1) {
        lending.lend = slow_lend;
        filling.fill = slow_fill;
        filling.store = slow_save;
    }
    if (s->is_flying) {
        filling.fill = NULL;
        filling.start = start;
        filling.wait = wait_for_one;
    }
    CHECK_OK(s->kind == LENDING ? nczchunk_chunk_store_new_zero_copy(&lending, &f->store, NULL)
                                : nczchunk_chunk_store_new(&filling, &f->store, NULL));
    if (s->has_chain) {
        nczchunk_codec_callbacks callbacks = reversing(&f->codecs_destroyed);
        nczchunk_codec *codec;

        CHECK_OK(nczchunk_codec_new("reverse", &callbacks, &codec, NULL));
        CHECK_OK(nczchunk_chunk_store_add_codec(f->store, codec, NULL));
        store_add_zstd(f->store);
    }
    if (s->compressed || s->has_chain)
        store_add_zstd(f->store);
    if (s->filter != NULL) {
        nczchunk_codec *codec;

        CHECK_OK(codec_of_filter(s->filter, &codec));
        CHECK_OK(nczchunk_chunk_store_add_codec(f->store, codec, NULL));
    }
}

/* An array of elements 0, 1, 2, ... The chunks are as yet not compressed. */
static void open_fixture(fixture *f, const scene *s)
{
    const size_t element_size = s->element_size > 0 ? s->element_size : sizeof(int);

    memory_array_init(&f->array, s->rank, dimlens, chunklens, element_size);
    f->var = memory_array_var(&f->array);
    f->data = malloc(ELEMENTS * element_size);
    CHECK(f->data != NULL);
    make_fresh_store(f, s);
}

static void close_fixture(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    CHECK_EQ(f->array.destroyed, 1);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
    free(f->data);
}

static int read_all(fixture *f, nczchunk_context *context)
{
    return nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, context);
}

static int read_as(fixture *f, layout how)
{
    ptrdiff_t imap[LARGE], strides[LARGE];

    row_major(f->array.rank, imap, strides);
    switch (how) {
    case MAPPED: return nczchunk_read_varm(f->var, f->store, zeros, NULL, NULL, imap, f->data, NULL);
    case STRIDED:
        return nczchunk_read_strided(f->var, f->store, zeros, dimlens, NULL, f->data, ELEMENTS * sizeof(int), 0,
                                     strides, NULL);
    default: return read_all(f, NULL);
    }
}

static void check_data(const fixture *f)
{
    memory_array_expect(&f->array, zeros, NULL, NULL, NULL, f->data);
}

/* Reads an array, first with the n-th allocation failing and then, if it did, once more. */
static int reading(const scene *s, long n)
{
    fixture f;
    int failed;

    open_fixture(&f, s);
    memory_chunk_remove(&f.array.chunks[1], NCZCHUNK_EEMPTY);
    if (s->compressed)
        memory_array_compress(&f.array);

    fail_at(n);
    failed = has_failed_with(read_as(&f, s->how));
    if (s->kind == LENDING)
        CHECK(f.array.released <= f.array.asked);
    if (failed)
        CHECK_OK(read_as(&f, s->how));
    check_data(&f);
    close_fixture(&f);
    return failed;
}

/* The same by a plan, which is executed as a whole and in two parts. */
static int reading_by_plan(const scene *s, long n)
{
    nczchunk_plan *plan;
    fixture f;
    int failed;

    open_fixture(&f, s);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    fail_at(n);
    failed = has_failed_with(nczchunk_plan_read(plan, f.store, 0, NCZCHUNK_ALL, f.data, NULL));
    memset(f.data, 0, ELEMENTS * sizeof(int));
    for (size_t part = 0; part < 2; part++) {
        size_t first, num;

        CHECK_OK(nczchunk_plan_part(plan, part, 2, &first, &num, NULL));
        CHECK_OK(nczchunk_plan_read(plan, f.store, first, num, f.data, NULL));
    }
    check_data(&f);
    nczchunk_plan_free(plan);
    close_fixture(&f);
    return failed;
}

/* If there is no memory for a codec, or for its place in the store, the store is as it was: its chunks are not decoded.
 * A codec that the store has not taken over is still the caller's. */
static int add_zstd(const scene *s, long n)
{
    nczchunk_codec *codec = NULL;
    fixture f;
    int failed, status;

    open_fixture(&f, s);
    fail_at(n);
    status = nczchunk_codec_zstd(NULL, &codec, NULL);
    CHECK((status == NCZCHUNK_NOERR) == (codec != NULL));
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_chunk_store_add_codec(f.store, codec, NULL);
    failed = has_failed_with(status);
    CHECK_EQ(f.array.destroyed, 0);
    if (failed) {
        nczchunk_codec_free(codec);
        CHECK_OK(read_all(&f, NULL));
        check_data(&f);
        store_add_zstd(f.store);
    }
    memory_array_compress(&f.array);
    CHECK_OK(read_all(&f, NULL));
    check_data(&f);
    close_fixture(&f);
    return failed;
}

/* A cache is made, and a row is read by it. The next read finds its chunks there. */
static int reading_by_a_cache(const scene *s, long n)
{
    const size_t row[SMALL] = {1, 2};
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;
    nczchunk_cache *cache = NULL;
    fixture f;

    open_fixture(&f, s);
    memory_array_compress(&f.array);
    fail_at(n);
    TRY_OR(nczchunk_cache_new(1 << 20, &cache, NULL), cache == NULL);
    TRY(nczchunk_chunk_store_set_cache(f.store, cache, NULL));
    for (int time = 0; time < 2; time++) {
        memset(f.data, 0, sizeof(int) * 2);
        TRY(nczchunk_read_vars(f.var, f.store, zeros, row, NULL, f.data, NULL));
        memory_array_expect(&f.array, zeros, row, NULL, NULL, f.data);
    }
    CHECK_OK(nczchunk_cache_get_statistics(cache, &statistics, NULL));
    CHECK(statistics.hits > 0 && statistics.chunks > 0);
    nczchunk_cache_free(cache);
    close_fixture(&f);
    return has_been_refused();
}

/* An error that cannot be told in full is told in part: where there is no memory for the chunk's indices they are left
 * out, but the status is the error's, unless the read did not come that far. */
static int telling_of_an_error(const scene *s, long n)
{
    const int callback_status = 77;
    int status, failed;
    nczchunk_context *told;
    fixture f;

    open_fixture(&f, s);
    f.array.chunks[5].status = callback_status;
    CHECK_OK(nczchunk_context_new(&told));
    fail_at(n);
    status = read_all(&f, told);
    failed = has_failed();
    CHECK(status == callback_status || (failed && status == NCZCHUNK_ENOMEM));
    CHECK_EQ(nczchunk_context_status(told), status);
    CHECK(strlen(nczchunk_context_message(told)) > 0);
    if (!failed)
        CHECK(nczchunk_context_chunk(told, NULL) != NULL);
    nczchunk_context_free(told);
    close_fixture(&f);
    return failed;
}

/* --- Writing. */

static int write_as(const fixture *f, layout how, nczchunk_context *context)
{
    ptrdiff_t imap[LARGE], strides[LARGE];

    row_major(f->array.rank, imap, strides);
    switch (how) {
    case MAPPED: return nczchunk_write_varm(f->var, f->store, zeros, NULL, NULL, imap, f->data, context);
    case STRIDED:
        return nczchunk_write_strided(f->var, f->store, zeros, dimlens, NULL, f->data, ELEMENTS * sizeof(int), 0,
                                      strides, context);
    case ONE_ELEMENT: return nczchunk_write_vars(f->var, f->store, zeros, ones, NULL, f->data, context);
    default: return nczchunk_write_vars(f->var, f->store, zeros, NULL, NULL, f->data, context);
    }
}

/* Writes the array's own numbers to it. What the callbacks allocate for their chunks would count as well: they do it
 * now, and need not do it again. */
static void write_before(fixture *f, const scene *s)
{
    const scene filling = {.kind = FILLING, .compressed = s->compressed, .has_chain = s->has_chain};

    for (size_t i = 0; i < ELEMENTS; i++)
        memory_array_element(&f->array, i, f->data + i * f->array.element_size);
    if (s->has_chain) { /* who lends chunks that were encoded cannot encode them */
        nczchunk_chunk_store_free(f->store);
        make_fresh_store(f, &filling);
        CHECK_OK(write_as(f, DENSE, NULL));
    } else if (s->kind == LENDING && s->compressed) {
        memory_array_compress(&f->array); /* such a store is read only */
    } else {
        CHECK_OK(write_as(f, DENSE, NULL));
        CHECK_OK(write_as(f, ONE_ELEMENT, NULL));
    }
    nczchunk_chunk_store_free(f->store);
    make_fresh_store(f, s);
    f->array.asked = f->array.released = f->array.written = f->array.destroyed = 0;
}

/* Writes the same numbers again, first with the n-th allocation failing and then, if it did, once more. */
static int writing(const scene *s, long n)
{
    memory_array expected;
    fixture f;
    int failed;

    open_fixture(&f, s);
    write_before(&f, s);
    expected = memory_array_copy(&f.array);

    fail_at(n);
    failed = has_failed_with(write_as(&f, s->how, NULL));
    if (s->kind == LENDING)
        CHECK_EQ(f.array.released, f.array.written);
    if (failed)
        CHECK_OK(write_as(&f, s->how, NULL));
    memory_array_check_same(&f.array, &expected);
    CHECK_OK(read_all(&f, NULL));
    check_data(&f);
    memory_array_clear(&expected);
    close_fixture(&f);
    return failed;
}

/* What a chain of codecs has encoded, it decodes. */
static int reading_what_was_written(const scene *s, long n)
{
    fixture f;
    int failed;

    open_fixture(&f, s);
    write_before(&f, s);
    memset(f.data, 0, ELEMENTS * sizeof(int));
    fail_at(n);
    failed = has_failed_with(read_all(&f, NULL));
    CHECK_EQ(f.num_under_way, 0);
    if (failed)
        CHECK_OK(read_all(&f, NULL));
    check_data(&f);
    f.codecs_destroyed = 0;
    close_fixture(&f);
    CHECK_EQ(f.codecs_destroyed, s->has_chain);
    return failed;
}

/* The same by a plan. */
static int writing_by_plan(const scene *s, long n)
{
    memory_array expected;
    nczchunk_plan *plan;
    fixture f;

    open_fixture(&f, s);
    write_before(&f, s);
    expected = memory_array_copy(&f.array);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_WRITE, &plan, NULL));
    fail_at(n);
    TRY(nczchunk_plan_write(plan, f.store, 0, NCZCHUNK_ALL, f.data, NULL));
    memory_array_check_same(&f.array, &expected);
    nczchunk_plan_free(plan);
    memory_array_clear(&expected);
    close_fixture(&f);
    return has_been_refused();
}

/* Chunks of a write grid: each is three of the variable's chunks in a row. The callbacks know these alone. */
static int writing_by_a_grid(const scene *s, long n)
{
    size_t grid[LARGE];
    memory_array written;
    nczchunk_reader_callbacks filling = memory_array_filling(&written);
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int data[ELEMENTS], again[ELEMENTS], failed;
    const size_t elements = num_elements(s->rank);

    memcpy(grid, chunklens, sizeof grid);
    grid[0] *= 3;
    memory_array_init(&written, s->rank, dimlens, grid, sizeof(int));
    CHECK_OK(nczchunk_chunk_store_new(&filling, &store, NULL));
    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, grid, NULL));
    memory_array_make_data(&written, elements, data);

    fail_at(n);
    failed = has_failed_with(nczchunk_write_vars(var, store, zeros, s->how == ONE_ELEMENT ? ones : NULL, NULL, data,
                                                 NULL));
    CHECK_OK(nczchunk_write_vars(var, store, zeros, NULL, NULL, data, NULL));
    nczchunk_var_free(var);
    CHECK_OK(nczchunk_var_new(s->rank, dimlens, grid, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, again, NULL));
    CHECK(memcmp(again, data, elements * sizeof(int)) == 0);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&written);
    return failed;
}

/* --- Several threads. Which of them the allocation fails for is a matter of luck, so a scene is played several times.
 * It may be for want of a thread that it fails: then the others do the work, and the call succeeds. */

static int read_or_write(fixture *f, const scene *s, nczchunk_context *context)
{
    return s->is_write ? write_as(f, s->how, context) : read_all(f, context);
}

static int in_parallel(const scene *s, long n)
{
    memory_array expected;
    nczchunk_context *told;
    fixture f;
    int status, failed;

    open_fixture(&f, s);
    write_before(&f, s);
    expected = memory_array_copy(&f.array);
    CHECK_OK(nczchunk_context_new(&told));
    CHECK_OK(nczchunk_context_set_threads(told, s->threads));

    fail_at(n);
    status = read_or_write(&f, s, told);
    failed = has_failed();
    CHECK(status == NCZCHUNK_NOERR || (failed && status == NCZCHUNK_ENOMEM));
    CHECK_EQ(nczchunk_context_status(told), status);
    CHECK(status == NCZCHUNK_NOERR ? nczchunk_context_chunks_done(told) == f.array.num_chunks
                                   : nczchunk_context_chunks_done(told) < f.array.num_chunks);
    if (s->kind == LENDING)
        CHECK_EQ(f.array.released, s->is_write ? f.array.written : f.array.asked);
    if (status != NCZCHUNK_NOERR)
        CHECK_OK(read_or_write(&f, s, told));
    check_data(&f);
    memory_array_check_same(&f.array, &expected);
    nczchunk_context_free(told);
    memory_array_clear(&expected);
    close_fixture(&f);
    return failed;
}

/* --- The scenes. What is left out is 0. */

static const filter deflate = {"zlib", 1, 1, {5}}, shuffle = {"shuffle", 2, 1, {sizeof(int)}},
                    fletcher32 = {"fletcher32", 3, 0, {0}}, zstd = {"zstd", 32015, 1, {3}},
                    /* The version of the format twice, bytes in an element and in a chunk, level, shuffle, zstd. */
                    blosc = {"blosc", 32001, 7, {2, 2, sizeof(int), 4 * sizeof(int), 5, 1, 5}};

static const scene scenes[] = {
    {"small var", .play = make_var, .rank = SMALL},
    {"large var", .play = make_var, .rank = LARGE},
    {"context", .play = make_context},
    {"advice", .play = advise},
    {"odometer", .play = make_odometer, .rank = LARGE},
    {"small plan", .play = make_plan, .rank = SMALL},
    {"plan", .play = make_plan, .rank = LARGE},
    {"plan for writing", .play = make_plan, .rank = LARGE, .is_write = 1},
    {"mapped plan", .play = make_plan, .rank = LARGE, .how = MAPPED},
    {"strided plan", .play = make_plan, .rank = LARGE, .how = STRIDED},
    {"chunk of a plan", .play = ask_plan, .rank = LARGE},
    {"copy of a chunk", .play = copy_chunk, .rank = LARGE},
    {"strided copy", .play = copy_strided, .rank = LARGE},
    {"small write grid", .play = set_order_and_grid, .rank = SMALL, .has_write_grid = 1},
    {"write grid", .play = set_order_and_grid, .rank = LARGE, .has_write_grid = 1},
    {"chunk order", .play = set_order_and_grid, .rank = LARGE},
    {"codec", .play = make_codec},
    {"fill value", .play = set_fill_value, .kind = LENDING},
    {"deflate", .play = make_filter, .filter = &deflate},
    {"shuffle", .play = make_filter, .filter = &shuffle},
    {"fletcher32", .play = make_filter, .filter = &fletcher32},
    {"blosc", .play = make_filter, .filter = &blosc},
    {"zstd's filter", .play = make_filter, .filter = &zstd},
    {"lending store", .play = make_store, .kind = LENDING},
    {"filling store", .play = make_store, .kind = FILLING},

    {"large lending read", .play = reading, .rank = LARGE, .kind = LENDING},
    {"small filling read", .play = reading, .rank = SMALL, .kind = FILLING},
    {"large filling read", .play = reading, .rank = LARGE, .kind = FILLING},
    {"small zstd read", .play = reading, .rank = SMALL, .kind = FILLING, .compressed = 1},
    {"small zstd lending read", .play = reading, .rank = SMALL, .kind = LENDING, .compressed = 1},
    {"large zstd read", .play = reading, .rank = LARGE, .kind = FILLING, .compressed = 1},
    {"add zstd", .play = add_zstd, .rank = SMALL, .kind = FILLING},
    {"small filling plan", .play = reading_by_plan, .rank = SMALL, .kind = FILLING},
    {"small flying read", .play = reading, .rank = SMALL, .kind = FILLING, .is_flying = 1},
    {"large flying read", .play = reading, .rank = LARGE, .kind = FILLING, .is_flying = 1},
    {"large flying zstd read", .play = reading, .rank = LARGE, .kind = FILLING, .is_flying = 1, .compressed = 1},
    {"flying plan", .play = reading_by_plan, .rank = LARGE, .kind = FILLING, .is_flying = 1},
    {"chain read", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .has_chain = 1},
    {"chain lending read", .play = reading_what_was_written, .rank = SMALL, .kind = LENDING, .has_chain = 1},
    {"flying chain read", .play = reading_what_was_written, .rank = LARGE, .kind = FILLING, .has_chain = 1,
     .is_flying = 1},
    {"deflated read", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .filter = &deflate},
    {"shuffled read", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .filter = &shuffle},
    {"checked read", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .filter = &fletcher32},
    {"blosc read", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .filter = &blosc},
    {"read by zstd's filter", .play = reading_what_was_written, .rank = SMALL, .kind = FILLING, .filter = &zstd},
    {"large mapped read", .play = reading, .rank = LARGE, .kind = LENDING, .how = MAPPED},
    {"large strided read", .play = reading, .rank = LARGE, .kind = FILLING, .how = STRIDED},
    {"mapped zstd read", .play = reading, .rank = SMALL, .kind = FILLING, .how = MAPPED, .compressed = 1},
    {"read by a cache", .play = reading_by_a_cache, .rank = SMALL, .kind = FILLING, .compressed = 1},
    {"telling of an error", .play = telling_of_an_error, .rank = LARGE, .kind = LENDING},

    {"large lending write", .play = writing, .rank = LARGE, .kind = LENDING, .how = DENSE},
    {"large mapped write", .play = writing, .rank = LARGE, .kind = LENDING, .how = MAPPED},
    {"large strided write", .play = writing, .rank = LARGE, .kind = LENDING, .how = STRIDED},
    {"small filling write", .play = writing, .rank = SMALL, .kind = FILLING, .how = DENSE},
    {"large filling write", .play = writing, .rank = LARGE, .kind = FILLING, .how = ONE_ELEMENT},
    /* Encoding alone, for all chunks are covered. */
    {"small zstd write", .play = writing, .rank = SMALL, .kind = FILLING, .how = DENSE, .compressed = 1},
    {"large zstd write", .play = writing, .rank = LARGE, .kind = FILLING, .how = DENSE, .compressed = 1},
    /* Decoding, then encoding. */
    {"chain write", .play = writing, .rank = SMALL, .kind = FILLING, .how = DENSE, .has_chain = 1},
    {"chain rewrite", .play = writing, .rank = LARGE, .kind = FILLING, .how = ONE_ELEMENT, .has_chain = 1},
    {"flying rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .is_flying = 1},
    {"flying zstd rewrite", .play = writing, .rank = LARGE, .kind = FILLING, .how = ONE_ELEMENT, .is_flying = 1,
     .compressed = 1},
    {"deflated rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .filter = &deflate},
    {"shuffled rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .filter = &shuffle},
    {"checked rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .filter = &fletcher32},
    {"blosc rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .filter = &blosc},
    {"zstd plan for writing", .play = writing_by_plan, .rank = SMALL, .kind = FILLING, .compressed = 1},
    {"large filling plan for writing", .play = writing_by_plan, .rank = LARGE, .kind = FILLING},
    {"write by a grid", .play = writing_by_a_grid, .rank = LARGE, .how = DENSE},
    {"rewrite by a grid", .play = writing_by_a_grid, .rank = SMALL, .how = ONE_ELEMENT},
    {"small zstd rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .compressed = 1},
};

/* Whatever is said about allocating, a small lending read or write does without, and so does a plan that is
 * prepared. */
static const scene scenes_without_allocations[] = {
    {"small lending read", .play = reading, .rank = SMALL, .kind = LENDING},
    {"small lending write", .play = writing, .rank = SMALL, .kind = LENDING, .how = DENSE},
    {"small mapped write", .play = writing, .rank = SMALL, .kind = LENDING, .how = MAPPED},
    {"small strided write", .play = writing, .rank = SMALL, .kind = LENDING, .how = STRIDED},
    {"small lending plan", .play = reading_by_plan, .rank = SMALL, .kind = LENDING},
    {"large lending plan", .play = reading_by_plan, .rank = LARGE, .kind = LENDING},
    {"small lending plan for writing", .play = writing_by_plan, .rank = SMALL, .kind = LENDING},
    {"small mapped read", .play = reading, .rank = SMALL, .kind = LENDING, .how = MAPPED},
    {"small strided read", .play = reading, .rank = SMALL, .kind = LENDING, .how = STRIDED},
    {"comparison of plans", .play = compare_plans, .rank = LARGE},
    {"small copy of a chunk", .play = copy_chunk, .rank = SMALL},
    {"small strided copy", .play = copy_strided, .rank = SMALL},
    {"write of one element", .play = writing, .rank = SMALL, .kind = LENDING, .how = ONE_ELEMENT},
};

enum { TIMES = 5 };

static const scene scenes_of_threads[] = {
    {"parallel lending read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = LENDING,
     .element_size = 32768},
    {"parallel filling read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING},
    {"parallel zstd lending read", .play = in_parallel, .threads = 4, .rank = SMALL, .kind = LENDING, .compressed = 1},
    {"parallel zstd read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING, .compressed = 1},
    {"parallel lending write", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = LENDING, .is_write = 1,
     .element_size = 32768},
    {"parallel filling write", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING, .is_write = 1},
    {"parallel chain read", .play = in_parallel, .threads = 4, .rank = SMALL, .kind = FILLING, .has_chain = 1},
    {"parallel chain write", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING, .has_chain = 1,
     .is_write = 1},
    {"parallel zstd write", .play = in_parallel, .threads = 4, .rank = SMALL, .kind = FILLING, .compressed = 1,
     .is_write = 1},
};

static int is_built_in(const scene *s)
{
    return s->filter == NULL || nczchunk_has_codec(s->filter->codec);
}

#define LENGTH(table) (sizeof(table) / sizeof *(table))

int main(void)
{
    for (size_t i = 0; i < LENGTH(scenes); i++)
        if (is_built_in(&scenes[i]))
            play_until_it_gets_through(scenes[i].name, play_scene, &scenes[i]);
    for (size_t i = 0; i < LENGTH(scenes_without_allocations); i++)
        CHECK(!scenes_without_allocations[i].play(&scenes_without_allocations[i], 1));
    for (int time = 0; time < TIMES; time++)
        for (size_t i = 0; i < LENGTH(scenes_of_threads); i++) {
            threads_begun = 0;
            play_until_it_gets_through(scenes_of_threads[i].name, play_scene, &scenes_of_threads[i]);
            CHECK(threads_begun > 0);
        }
    return 0;
}
