/*
 * Memory that cannot be had: the call says NCZCHUNK_ENOMEM, nothing is leaked, and everything can still be used.
 *
 * Each scene is played with its first allocation failing, then its second, and so on until it gets through. A scene
 * makes what it needs, lets one call fail, tries that call again, and frees everything.
 */
#include "zstd_frame.h"

#include "counted_malloc.h"

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

/* Plays a scene until it gets through; a scene returns whether an allocation has failed. */
static void play(const char *name, int (*scene)(long n))
{
    for (long n = 1;; n++) {
        long live = live_allocations;
        int failed = scene(n);

        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", name, live_allocations - live, n);
        if (!failed) {
            CHECK(n > 1);
            return;
        }
        CHECK(n < 1000);
    }
}

/* What a call must have answered: the scenes' one rule. */
static void check_status(int status, int failed)
{
    CHECK_EQ(status, failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR);
}

/* --- Making objects. Ranks above 8 need more memory than the object itself. */

enum { SMALL = 2, LARGE = 20 };

static const size_t dimlens[LARGE] = {3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3};
static const size_t chunklens[LARGE] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
static const size_t zeros[LARGE], ones[LARGE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static int var_scene(size_t rank, long n)
{
    nczchunk_var *var = NULL;
    int status, failed;

    fail_at(n);
    status = nczchunk_var_new(rank, dimlens, chunklens, sizeof(int), &var, NULL);
    failed = has_failed();
    check_status(status, failed);
    CHECK((var == NULL) == failed);
    nczchunk_var_free(var);
    return failed;
}

static int small_var(long n)
{
    return var_scene(SMALL, n);
}

static int large_var(long n)
{
    return var_scene(LARGE, n);
}

static int context(long n)
{
    nczchunk_context *context = NULL;
    int status, failed;

    fail_at(n);
    status = nczchunk_context_new(&context);
    failed = has_failed();
    check_status(status, failed);
    CHECK((context == NULL) == failed);
    nczchunk_context_free(context);
    return failed;
}

static int odometer(long n)
{
    nczchunk_odometer *odometer = NULL;
    int status, failed;

    fail_at(n);
    status = nczchunk_odometer_new(LARGE, zeros, dimlens, ones, dimlens, &odometer);
    failed = has_failed();
    check_status(status, failed);
    CHECK((odometer == NULL) == failed);
    nczchunk_odometer_free(odometer);
    return failed;
}

static int plan(long n)
{
    nczchunk_var *var;
    nczchunk_plan *plan = NULL;
    int status, failed;

    CHECK_OK(nczchunk_var_new(LARGE, dimlens, chunklens, sizeof(int), &var, NULL));
    fail_at(n);
    status = nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL);
    failed = has_failed();
    check_status(status, failed);
    CHECK((plan == NULL) == failed);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    return failed;
}

/* A fill value that is too long to be kept in the variable. If there is no memory for it, the old one stays. */
static int fill_value(long n)
{
    const unsigned char old[40] = {1, 2, 3}, new[40] = {4, 5, 6};
    const size_t zero = 0;
    unsigned char data[40];
    const size_t length = 1;
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;
    int status, failed;

    memory_array_init_absent(&array, 1, &length, &length, sizeof old);
    var = memory_array_var(&array);
    store = memory_array_store(&array, LENDING);
    CHECK_OK(nczchunk_var_set_fill_value(var, old));
    fail_at(n);
    status = nczchunk_var_set_fill_value(var, new);
    failed = has_failed();
    check_status(status, failed);
    CHECK_OK(nczchunk_read_vars(var, store, &zero, NULL, NULL, data, NULL));
    CHECK(memcmp(data, failed ? old : new, sizeof data) == 0);
    nczchunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

/* A store that could not be made does not call destroy: what belongs to the callbacks is still the caller's. */
static int store_scene(store_kind kind, long n)
{
    memory_array array;
    nczchunk_lending_callbacks lending = memory_array_lending(&array);
    nczchunk_filling_callbacks filling = memory_array_filling(&array);
    nczchunk_store *store = NULL;
    int status, failed;

    array.destroyed = 0;
    fail_at(n);
    status = kind == LENDING ? nczchunk_store_lending(&lending, &store) : nczchunk_store_filling(&filling, &store);
    failed = has_failed();
    check_status(status, failed);
    CHECK((store == NULL) == failed);
    CHECK_EQ(array.destroyed, 0);
    nczchunk_store_free(store);
    CHECK_EQ(array.destroyed, !failed);
    return failed;
}

static int lending_store(long n)
{
    return store_scene(LENDING, n);
}

static int filling_store(long n)
{
    return store_scene(FILLING, n);
}

/* --- Reading. */

/* Reads an array of this rank, first with the n-th allocation failing and then, if it did, once more. */
static int read_scene(size_t rank, store_kind kind, int compressed, long n)
{
    int data[36], status, failed;
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;

    memory_array_init(&array, rank, dimlens, chunklens, sizeof(int));
    memory_chunk_remove(&array.chunks[1], NCZCHUNK_EEMPTY);
    if (compressed)
        memory_array_compress(&array);
    var = memory_array_var(&array);
    store = memory_array_store(&array, kind);
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));

    fail_at(n);
    status = nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL);
    failed = has_failed();
    check_status(status, failed);
    if (kind == LENDING)
        CHECK(array.released <= array.asked);
    if (failed)
        CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);

    nczchunk_store_free(store);
    CHECK_EQ(array.destroyed, 1);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

static int large_lending_read(long n)
{
    return read_scene(LARGE, LENDING, 0, n);
}

static int small_filling_read(long n)
{
    return read_scene(SMALL, FILLING, 0, n);
}

static int large_filling_read(long n)
{
    return read_scene(LARGE, FILLING, 0, n);
}

static int small_zstd_read(long n)
{
    return read_scene(SMALL, FILLING, 1, n);
}

static int small_zstd_lending_read(long n)
{
    return read_scene(SMALL, LENDING, 1, n);
}

static int large_zstd_read(long n)
{
    return read_scene(LARGE, FILLING, 1, n);
}

/* --- Writing. */

/* The ways to write a whole array, or its first element alone. */
typedef enum write_kind { DENSE, MAPPED, STRIDED, ONE_ELEMENT } write_kind;

static int write_as(write_kind how, const nczchunk_var *var, const nczchunk_store *store, size_t rank, const int *data)
{
    ptrdiff_t imap[LARGE], strides[LARGE], step = 1;

    for (size_t d = rank; d-- > 0; step *= (ptrdiff_t)dimlens[d]) {
        imap[d] = step;
        strides[d] = step * (ptrdiff_t)sizeof(int);
    }
    switch (how) {
    case MAPPED: return nczchunk_write_varm(var, store, zeros, NULL, NULL, imap, data, NULL);
    case STRIDED:
        return nczchunk_write_strided(var, store, zeros, dimlens, NULL, data, 36 * sizeof(int), 0, strides, NULL);
    case ONE_ELEMENT: return nczchunk_write_vars(var, store, zeros, ones, NULL, data, NULL);
    default: return nczchunk_write_vars(var, store, zeros, NULL, NULL, data, NULL);
    }
}

/* Writes to an array of this rank, first with the n-th allocation failing and then, if it did, once more. What the
 * fixture allocates for its chunks counts as well: so the chunks are written once before, and have their places. */
static int write_scene(size_t rank, store_kind kind, write_kind how, int compressed, long n)
{
    int data[36], after[36], status, failed;
    memory_array array, expected;
    nczchunk_var *var;
    nczchunk_store *store;

    memory_array_init(&array, rank, dimlens, chunklens, sizeof(int));
    var = memory_array_var(&array);
    store = memory_array_store(&array, kind);
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));
    CHECK_OK(write_as(DENSE, var, store, rank, data));
    CHECK_OK(write_as(ONE_ELEMENT, var, store, rank, data));
    nczchunk_store_free(store);
    array.destroyed = 0;
    store = memory_array_store(&array, kind);
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));
    /* The same numbers are written, so that compressed chunks do not change their lengths. */
    expected = memory_array_copy(&array);
    array.asked = array.released = array.written = 0;

    fail_at(n);
    status = write_as(how, var, store, rank, data);
    failed = has_failed();
    check_status(status, failed);
    if (kind == LENDING)
        CHECK_EQ(array.released, array.written);
    if (failed)
        CHECK_OK(write_as(how, var, store, rank, data));
    memory_array_check_same(&array, &expected);
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, after, NULL));
    memory_array_expect(&array, zeros, NULL, NULL, NULL, after);

    nczchunk_store_free(store);
    CHECK_EQ(array.destroyed, 1);
    nczchunk_var_free(var);
    memory_array_clear(&expected);
    memory_array_clear(&array);
    return failed;
}

static int large_lending_write(long n)
{
    return write_scene(LARGE, LENDING, DENSE, 0, n);
}

static int large_mapped_write(long n)
{
    return write_scene(LARGE, LENDING, MAPPED, 0, n);
}

static int large_strided_write(long n)
{
    return write_scene(LARGE, LENDING, STRIDED, 0, n);
}

static int small_filling_write(long n)
{
    return write_scene(SMALL, FILLING, DENSE, 0, n);
}

static int large_filling_write(long n)
{
    return write_scene(LARGE, FILLING, ONE_ELEMENT, 0, n);
}

/* Encoding alone, for all chunks are covered. */
static int small_zstd_write(long n)
{
    return write_scene(SMALL, FILLING, DENSE, 1, n);
}

/* Decoding, then encoding. */
static int small_zstd_rewrite(long n)
{
    return write_scene(SMALL, FILLING, ONE_ELEMENT, 1, n);
}

static int large_zstd_write(long n)
{
    return write_scene(LARGE, FILLING, DENSE, 1, n);
}

/* --- Several threads. Which of them the allocation fails for is a matter of luck, so a scene is played several times. It
 * may be for want of a thread that it fails: then the others do the work, and the call succeeds. */

enum { THREADS = 4, TIMES = 5 };

static nczchunk_store *concurrent_store(memory_array *array, store_kind kind)
{
    nczchunk_lending_callbacks lending = memory_array_lending(array);
    nczchunk_filling_callbacks filling = memory_array_filling(array);
    nczchunk_store *store;

    lending.concurrent = filling.concurrent = 1;
    CHECK_OK(kind == LENDING ? nczchunk_store_lending(&lending, &store) : nczchunk_store_filling(&filling, &store));
    return store;
}

/* Reads an array, or writes it again as it is, with several threads. */
static int parallel_scene(size_t rank, store_kind kind, int compressed, int writing, long n)
{
    int data[36], status, failed;
    memory_array array, expected;
    nczchunk_var *var;
    nczchunk_store *store;
    nczchunk_context *told;

    memory_array_init(&array, rank, dimlens, chunklens, sizeof(int));
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_context_new(&told));
    CHECK_OK(nczchunk_context_set_threads(told, THREADS));
    store = concurrent_store(&array, kind);
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));
    /* Written once before, the fixture has all the memory that it takes. */
    if (kind == FILLING || !compressed)
        CHECK_OK(nczchunk_write_vars(var, store, zeros, NULL, NULL, data, NULL));
    else
        memory_array_compress(&array);
    nczchunk_store_free(store);
    store = concurrent_store(&array, kind);
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));
    expected = memory_array_copy(&array);
    array.asked = array.released = array.written = 0;

    fail_at(n);
    status = writing ? nczchunk_write_vars(var, store, zeros, NULL, NULL, data, told)
                     : nczchunk_read_vars(var, store, zeros, NULL, NULL, data, told);
    failed = has_failed();
    CHECK(status == NCZCHUNK_NOERR || (failed && status == NCZCHUNK_ENOMEM));
    CHECK_EQ(nczchunk_context_status(told), status);
    CHECK(status == NCZCHUNK_NOERR ? nczchunk_context_chunks_done(told) == array.num_chunks
                                   : nczchunk_context_chunks_done(told) < array.num_chunks);
    if (kind == LENDING)
        CHECK_EQ(array.released, writing ? array.written : array.asked);
    if (status != NCZCHUNK_NOERR)
        CHECK_OK(writing ? nczchunk_write_vars(var, store, zeros, NULL, NULL, data, told)
                         : nczchunk_read_vars(var, store, zeros, NULL, NULL, data, told));
    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);
    memory_array_check_same(&array, &expected);

    nczchunk_context_free(told);
    nczchunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&expected);
    memory_array_clear(&array);
    return failed;
}

static int parallel_lending_read(long n)
{
    return parallel_scene(LARGE, LENDING, 0, 0, n);
}

static int parallel_filling_read(long n)
{
    return parallel_scene(LARGE, FILLING, 0, 0, n);
}

static int parallel_zstd_lending_read(long n)
{
    return parallel_scene(SMALL, LENDING, 1, 0, n);
}

static int parallel_zstd_read(long n)
{
    return parallel_scene(LARGE, FILLING, 1, 0, n);
}

static int parallel_lending_write(long n)
{
    return parallel_scene(LARGE, LENDING, 0, 1, n);
}

static int parallel_filling_write(long n)
{
    return parallel_scene(LARGE, FILLING, 0, 1, n);
}

static int parallel_zstd_write(long n)
{
    return parallel_scene(SMALL, FILLING, 1, 1, n);
}

/* If there is no memory for a decoder, the store is as it was: its chunks are not decoded. */
static int wrap_zstd(long n)
{
    int data[6], status, failed;
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;

    memory_array_init(&array, SMALL, dimlens, chunklens, sizeof(int));
    var = memory_array_var(&array);
    store = memory_array_store(&array, FILLING);
    fail_at(n);
    status = nczchunk_store_wrap_zstd(store, NULL);
    failed = has_failed();
    check_status(status, failed);
    CHECK_EQ(array.destroyed, 0);
    if (failed) {
        CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
        memory_array_expect(&array, zeros, NULL, NULL, NULL, data);
        CHECK_OK(nczchunk_store_wrap_zstd(store, NULL));
    }
    memory_array_compress(&array);
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);
    nczchunk_store_free(store);
    CHECK_EQ(array.destroyed, 1);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

/* An error that cannot be told in full is told in part: where there is no memory for the chunk's indices they are left
 * out, but the status is the error's, unless the read did not come that far. */
static int telling_of_an_error(long n)
{
    const int callback_status = 77;
    int data[36], status, failed;
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;
    nczchunk_context *told;

    memory_array_init(&array, LARGE, dimlens, chunklens, sizeof(int));
    array.chunks[5].status = callback_status;
    var = memory_array_var(&array);
    store = memory_array_store(&array, LENDING);
    CHECK_OK(nczchunk_context_new(&told));
    fail_at(n);
    status = nczchunk_read_vars(var, store, zeros, NULL, NULL, data, told);
    failed = has_failed();
    CHECK(status == callback_status || (failed && status == NCZCHUNK_ENOMEM));
    CHECK_EQ(nczchunk_context_status(told), status);
    CHECK(strlen(nczchunk_context_message(told)) > 0);
    if (!failed)
        CHECK(nczchunk_context_chunk(told, NULL) != NULL);
    nczchunk_context_free(told);
    nczchunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    return failed;
}

/* Whatever is said about allocating, a small lending read or write does without. */
static void small_lending_calls_need_none(void)
{
    CHECK(!read_scene(SMALL, LENDING, 0, 1));
    CHECK(!write_scene(SMALL, LENDING, DENSE, 0, 1));
    CHECK(!write_scene(SMALL, LENDING, MAPPED, 0, 1));
    CHECK(!write_scene(SMALL, LENDING, STRIDED, 0, 1));
    CHECK(!write_scene(SMALL, LENDING, ONE_ELEMENT, 0, 1));
}

int main(void)
{
    play("small var", small_var);
    play("large var", large_var);
    play("context", context);
    play("odometer", odometer);
    play("plan", plan);
    play("fill value", fill_value);
    play("lending store", lending_store);
    play("filling store", filling_store);
    small_lending_calls_need_none();
    play("large lending read", large_lending_read);
    play("small filling read", small_filling_read);
    play("large filling read", large_filling_read);
    play("small zstd read", small_zstd_read);
    play("small zstd lending read", small_zstd_lending_read);
    play("large zstd read", large_zstd_read);
    play("large lending write", large_lending_write);
    play("large mapped write", large_mapped_write);
    play("large strided write", large_strided_write);
    play("small filling write", small_filling_write);
    play("large filling write", large_filling_write);
    play("small zstd write", small_zstd_write);
    play("small zstd rewrite", small_zstd_rewrite);
    play("large zstd write", large_zstd_write);
    /* The C library keeps the stacks of some threads that have ended: from here on they are there. */
    CHECK(!parallel_scene(SMALL, LENDING, 0, 0, 1000));
    for (int time = 0; time < TIMES; time++) {
        play("parallel lending read", parallel_lending_read);
        play("parallel filling read", parallel_filling_read);
        play("parallel zstd lending read", parallel_zstd_lending_read);
        play("parallel zstd read", parallel_zstd_read);
        play("parallel lending write", parallel_lending_write);
        play("parallel filling write", parallel_filling_write);
        play("parallel zstd write", parallel_zstd_write);
    }
    play("wrap zstd", wrap_zstd);
    play("telling of an error", telling_of_an_error);
    return 0;
}
