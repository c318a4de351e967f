/*
 * Memory that cannot be had: the call says NCZCHUNK_ENOMEM, nothing is leaked, and everything can still be used.
 *
 * Each scene is played with its first allocation failing, then its second, and so on until it gets through. A scene
 * makes what it needs, lets one call fail, tries that call again, and frees everything. The tables at the end list the
 * scenes.
 */
#include "zstd_frame.h"

#include "counted_malloc.h"

/* --- How a scene is played. */

/* The ways to write a whole array, or its first element alone. */
typedef enum write_kind { DENSE, MAPPED, STRIDED, ONE_ELEMENT } write_kind;

typedef struct scene {
    const char *name;
    /* Plays it with the n-th allocation failing. Returns whether there were as many. */
    int (*play)(const struct scene *s, long n);
    /* What it is about, as far as it matters to the function. */
    size_t rank;
    store_kind kind;
    int compressed, is_write;
    write_kind how;
    size_t threads;
} scene;

/* Lets the n-th allocation from here on fail, and no other. */
static void fail_at(long n)
{
    failing_allocation = allocations + n;
}

/* Ends that. Returns whether there were as many. */
static int has_failed(void)
{
    int failed = allocations >= failing_allocation;
    failing_allocation = 0;
    return failed;
}

/* The same, of a call that must have told it. */
static int has_failed_with(int status)
{
    int failed = has_failed();
    CHECK_EQ(status, failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR);
    return failed;
}

static void play_until_it_gets_through(const scene *s)
{
    int failed = 1;
    long n = 0;

    while (failed) {
        long live = live_allocations;

        CHECK(++n < 1000);
        failed = s->play(s, n);
        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", s->name, live_allocations - live, n);
    }
    CHECK(n > 1);
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

static int make_odometer(const scene *s, long n)
{
    nczchunk_odometer *odometer = NULL;
    int failed;

    fail_at(n);
    failed = has_failed_with(nczchunk_odometer_new(s->rank, zeros, dimlens, ones, dimlens, &odometer));
    CHECK((odometer == NULL) == failed);
    nczchunk_odometer_free(odometer);
    return failed;
}

static int make_plan(const scene *s, long n)
{
    nczchunk_var *var;
    nczchunk_plan *plan = NULL;
    int failed;

    CHECK_OK(nczchunk_var_new(s->rank, dimlens, chunklens, sizeof(int), &var, NULL));
    fail_at(n);
    failed = has_failed_with(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK((plan == NULL) == failed);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    return failed;
}

/* A store that could not be made does not call destroy: what belongs to the callbacks is still the caller's. */
static int make_store(const scene *s, long n)
{
    memory_array array;
    nczchunk_lending_callbacks lending = memory_array_lending(&array);
    nczchunk_filling_callbacks filling = memory_array_filling(&array);
    nczchunk_store *store = NULL;
    int failed;

    array.destroyed = 0;
    fail_at(n);
    failed = has_failed_with(s->kind == LENDING ? nczchunk_store_lending(&lending, &store)
                                                : nczchunk_store_filling(&filling, &store));
    CHECK((store == NULL) == failed);
    CHECK_EQ(array.destroyed, 0);
    nczchunk_store_free(store);
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
    nczchunk_store *store;
    int failed;

    memory_array_init_absent(&array, 1, &length, &length, sizeof old);
    var = memory_array_var(&array);
    store = memory_array_store(&array, s->kind);
    CHECK_OK(nczchunk_var_set_fill_value(var, old));
    fail_at(n);
    failed = has_failed_with(nczchunk_var_set_fill_value(var, new));
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    CHECK(memcmp(data, failed ? old : new, sizeof data) == 0);
    nczchunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

/* --- Reading. */

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;
    int data[36];
} fixture;

/* Makes a store, which has kept nothing from earlier calls. */
static void make_fresh_store(fixture *f, const scene *s)
{
    nczchunk_lending_callbacks lending = memory_array_lending(&f->array);
    nczchunk_filling_callbacks filling = memory_array_filling(&f->array);

    lending.concurrent = filling.concurrent = s->threads > 1;
    CHECK_OK(s->kind == LENDING ? nczchunk_store_lending(&lending, &f->store)
                                : nczchunk_store_filling(&filling, &f->store));
    if (s->compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(f->store, NULL));
}

/* An array of elements 0, 1, 2, ... The chunks are as yet not compressed. */
static void open_fixture(fixture *f, const scene *s)
{
    memory_array_init(&f->array, s->rank, dimlens, chunklens, sizeof(int));
    f->var = memory_array_var(&f->array);
    make_fresh_store(f, s);
}

static void close_fixture(fixture *f)
{
    nczchunk_store_free(f->store);
    CHECK_EQ(f->array.destroyed, 1);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static int read_all(fixture *f, nczchunk_context *context)
{
    return nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, context);
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
    failed = has_failed_with(read_all(&f, NULL));
    if (s->kind == LENDING)
        CHECK(f.array.released <= f.array.asked);
    if (failed)
        CHECK_OK(read_all(&f, NULL));
    check_data(&f);
    close_fixture(&f);
    return failed;
}

/* If there is no memory for a decoder, the store is as it was: its chunks are not decoded. */
static int wrap_zstd(const scene *s, long n)
{
    fixture f;
    int failed;

    open_fixture(&f, s);
    fail_at(n);
    failed = has_failed_with(nczchunk_store_wrap_zstd(f.store, NULL));
    CHECK_EQ(f.array.destroyed, 0);
    if (failed) {
        CHECK_OK(read_all(&f, NULL));
        check_data(&f);
        CHECK_OK(nczchunk_store_wrap_zstd(f.store, NULL));
    }
    memory_array_compress(&f.array);
    CHECK_OK(read_all(&f, NULL));
    check_data(&f);
    close_fixture(&f);
    return failed;
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

static int write_as(const fixture *f, write_kind how, nczchunk_context *context)
{
    ptrdiff_t imap[LARGE], strides[LARGE], step = 1;

    for (size_t d = f->array.rank; d-- > 0; step *= (ptrdiff_t)dimlens[d]) {
        imap[d] = step;
        strides[d] = step * (ptrdiff_t)sizeof(int);
    }
    switch (how) {
    case MAPPED: return nczchunk_write_varm(f->var, f->store, zeros, NULL, NULL, imap, f->data, context);
    case STRIDED:
        return nczchunk_write_strided(f->var, f->store, zeros, dimlens, NULL, f->data, sizeof f->data, 0, strides,
                                      context);
    case ONE_ELEMENT: return nczchunk_write_vars(f->var, f->store, zeros, ones, NULL, f->data, context);
    default: return nczchunk_write_vars(f->var, f->store, zeros, NULL, NULL, f->data, context);
    }
}

/* Writes the array's own numbers to it. What the callbacks allocate for their chunks would count as well: they do it now,
 * and need not do it again. */
static void write_before(fixture *f, const scene *s)
{
    for (int i = 0; i < 36; i++)
        f->data[i] = i;
    if (s->kind == LENDING && s->compressed) {
        memory_array_compress(&f->array); /* such a store is read only */
    } else {
        CHECK_OK(write_as(f, DENSE, NULL));
        CHECK_OK(write_as(f, ONE_ELEMENT, NULL));
    }
    nczchunk_store_free(f->store);
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

/* --- Several threads. Which of them the allocation fails for is a matter of luck, so a scene is played several times. It
 * may be for want of a thread that it fails: then the others do the work, and the call succeeds. */

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

static const scene scenes[] = {
    {"small var", .play = make_var, .rank = SMALL},
    {"large var", .play = make_var, .rank = LARGE},
    {"context", .play = make_context},
    {"odometer", .play = make_odometer, .rank = LARGE},
    {"plan", .play = make_plan, .rank = LARGE},
    {"fill value", .play = set_fill_value, .kind = LENDING},
    {"lending store", .play = make_store, .kind = LENDING},
    {"filling store", .play = make_store, .kind = FILLING},

    {"large lending read", .play = reading, .rank = LARGE, .kind = LENDING},
    {"small filling read", .play = reading, .rank = SMALL, .kind = FILLING},
    {"large filling read", .play = reading, .rank = LARGE, .kind = FILLING},
    {"small zstd read", .play = reading, .rank = SMALL, .kind = FILLING, .compressed = 1},
    {"small zstd lending read", .play = reading, .rank = SMALL, .kind = LENDING, .compressed = 1},
    {"large zstd read", .play = reading, .rank = LARGE, .kind = FILLING, .compressed = 1},
    {"wrap zstd", .play = wrap_zstd, .rank = SMALL, .kind = FILLING},
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
    {"small zstd rewrite", .play = writing, .rank = SMALL, .kind = FILLING, .how = ONE_ELEMENT, .compressed = 1},
};

/* Whatever is said about allocating, a small lending read or write does without. */
static const scene scenes_without_allocations[] = {
    {"small lending read", .play = reading, .rank = SMALL, .kind = LENDING},
    {"small lending write", .play = writing, .rank = SMALL, .kind = LENDING, .how = DENSE},
    {"small mapped write", .play = writing, .rank = SMALL, .kind = LENDING, .how = MAPPED},
    {"small strided write", .play = writing, .rank = SMALL, .kind = LENDING, .how = STRIDED},
    {"write of one element", .play = writing, .rank = SMALL, .kind = LENDING, .how = ONE_ELEMENT},
};

enum { TIMES = 5 };

static const scene scenes_of_threads[] = {
    {"parallel lending read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = LENDING},
    {"parallel filling read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING},
    {"parallel zstd lending read", .play = in_parallel, .threads = 4, .rank = SMALL, .kind = LENDING, .compressed = 1},
    {"parallel zstd read", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING, .compressed = 1},
    {"parallel lending write", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = LENDING, .is_write = 1},
    {"parallel filling write", .play = in_parallel, .threads = 4, .rank = LARGE, .kind = FILLING, .is_write = 1},
    {"parallel zstd write", .play = in_parallel, .threads = 4, .rank = SMALL, .kind = FILLING, .compressed = 1, .is_write = 1},
};

#define LENGTH(table) (sizeof(table) / sizeof *(table))

int main(void)
{
    for (size_t i = 0; i < LENGTH(scenes); i++)
        play_until_it_gets_through(&scenes[i]);
    for (size_t i = 0; i < LENGTH(scenes_without_allocations); i++)
        CHECK(!scenes_without_allocations[i].play(&scenes_without_allocations[i], 1));
    /* The C library keeps the stacks of some threads that have ended: from here on they are there. */
    CHECK(!scenes_of_threads[0].play(&scenes_of_threads[0], 1000));
    for (int time = 0; time < TIMES; time++)
        for (size_t i = 0; i < LENGTH(scenes_of_threads); i++)
            play_until_it_gets_through(&scenes_of_threads[i]);
    return 0;
}
