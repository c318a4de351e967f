/*
 * What a caller is told when something goes wrong: a status, and through a context the words, the dimension and the
 * chunk.
 */
#include <errno.h>

#include "memory_array.h"

static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};
static const size_t chunk_bytes = 2 * 3 * sizeof(int);

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
} fixture;

static void open_fixture(fixture *f, store_kind kind)
{
    memory_array_init(&f->array, 2, dimlens, chunklens, sizeof(int));
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
    CHECK_OK(nczchunk_context_new(&f->context));
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static int read_all(fixture *f)
{
    int data[20], status;

    f->array.asked = 0;
    status = nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, data, f->context);
    if (status == 0)
        memory_array_expect(&f->array, zeros, NULL, NULL, NULL, data);
    return status;
}

/* Checks that the context speaks of this chunk and of no dimension. */
static void check_chunk(const fixture *f, ptrdiff_t i, ptrdiff_t j)
{
    size_t rank = 0;
    const ptrdiff_t *chunk = nczchunk_context_chunk(f->context, &rank);

    CHECK(chunk != NULL);
    CHECK_EQ(rank, 2);
    CHECK_EQ(chunk[0], i);
    CHECK_EQ(chunk[1], j);
    CHECK(nczchunk_context_chunk(f->context, NULL) == chunk);
    CHECK_EQ(nczchunk_context_dimension(f->context), -1);
}

static void check_says_nothing(const nczchunk_context *context)
{
    size_t rank = 99;

    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_NOERR);
    CHECK_STR(nczchunk_context_message(context), "");
    CHECK_EQ(nczchunk_context_dimension(context), -1);
    CHECK(nczchunk_context_chunk(context, &rank) == NULL);
    CHECK_EQ(rank, 99);
}

/* A new context has nothing to say, nor has NULL in its place. */
static void a_new_context_says_nothing(void)
{
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    check_says_nothing(context);
    nczchunk_context_free(context);
    check_says_nothing(NULL);
}

/* Arguments that do not fit are a matter of a dimension. */
static void the_dimension_that_does_not_fit(void)
{
    const size_t start[2] = {0, 2}, count[2] = {5, 3}, beyond[2] = {6, 0};
    const ptrdiff_t stride[2] = {1, -2};
    fixture f;
    int data[20];

    open_fixture(&f, LENDING);
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, start, count, NULL, data, f.context), NCZCHUNK_EEDGE);
    CHECK_EQ(nczchunk_context_status(f.context), NCZCHUNK_EEDGE);
    CHECK_EQ(nczchunk_context_dimension(f.context), 1);
    CHECK(nczchunk_context_chunk(f.context, NULL) == NULL);
    CHECK_STR(nczchunk_context_message(f.context),
              "dimension 1: start 2, count 3, stride 1 reach beyond the dimension, whose length is 4");

    CHECK_EQ(nczchunk_read_vars(f.var, f.store, beyond, count, NULL, data, f.context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_context_dimension(f.context), 0);
    CHECK_STR(nczchunk_context_message(f.context),
              "dimension 0: start 6 is outside the dimension, whose length is 5");

    CHECK_EQ(nczchunk_read_vars(f.var, f.store, start, count, stride, data, f.context), NCZCHUNK_ESTRIDE);
    CHECK_EQ(nczchunk_context_dimension(f.context), 1);
    CHECK_STR(nczchunk_context_message(f.context),
              "dimension 1: stride -2 is invalid: this call takes strides of 1 or more");

    CHECK_EQ(nczchunk_read_vars(f.var, f.store, NULL, count, NULL, data, f.context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_context_dimension(f.context), -1);
    CHECK_STR(nczchunk_context_message(f.context), "start is NULL, but the variable has dimensions");
    close_fixture(&f);
}

/* The other functions with a context speak through it in the same way. */
static void plans_and_variables_say_it_too(void)
{
    const size_t chunks[2] = {2, 0}, start[2] = {0, 4};
    nczchunk_plan *plan = NULL;
    nczchunk_var *var = NULL;
    fixture f;

    open_fixture(&f, LENDING);
    CHECK_EQ(nczchunk_var_new(2, dimlens, chunks, 4, &var, f.context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_context_dimension(f.context), 1);
    CHECK_STR(nczchunk_context_message(f.context), "dimension 1: the chunk length is 0");
    CHECK_EQ(nczchunk_plan_new(f.var, start, chunklens, NULL, NCZCHUNK_READ, &plan, f.context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_context_dimension(f.context), 1);
    CHECK(var == NULL && plan == NULL);
    close_fixture(&f);
}

/* What a callback returns is returned: netCDF's numbers, errno values, numbers of the caller's own. */
static void a_callback_s_status_is_passed_on(void)
{
    const int statuses[] = {NCZCHUNK_EIO, NCZCHUNK_ENOMEM, NCZCHUNK_EINVAL, ENOENT, EACCES, -1, 12345, -12345};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
            char words[128];
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            memory_chunk_remove(&f.array.chunks[3], statuses[i]);
            CHECK_EQ(read_all(&f), statuses[i]);
            CHECK_EQ(nczchunk_context_status(f.context), statuses[i]);
            check_chunk(&f, 1, 1);
            snprintf(words, sizeof words, "chunk (1, 1): the callback failed with status %d: %s", statuses[i],
                     nczchunk_strerror(statuses[i]));
            CHECK_STR(nczchunk_context_message(f.context), words);
            close_fixture(&f);
        }
    }
}

/* Of several bad chunks, the first in order is told, and no callback runs after it. */
static void the_first_bad_chunk_ends_the_read(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t first = 0; first < 6; first++) {
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            for (size_t c = first; c < 6; c++)
                memory_chunk_remove(&f.array.chunks[c], (int)(1000 + c));
            CHECK_EQ(read_all(&f), 1000 + first);
            CHECK_EQ(f.array.asked, first + 1);
            check_chunk(&f, (ptrdiff_t)first / 2, (ptrdiff_t)first % 2);
            close_fixture(&f);
        }
    }
}

/* A chunk must have the length that the variable says: fewer bytes are not read beyond, more are not ignored. */
static void a_chunk_of_the_wrong_length(void)
{
    const size_t lengths[] = {0, 1, chunk_bytes - 1, chunk_bytes + 1, 10 * chunk_bytes};
    static const unsigned char bytes[240];

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            char words[128];
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            memory_chunk_set(&f.array.chunks[2], bytes, lengths[i]);
            CHECK_EQ(read_all(&f), NCZCHUNK_EBADCHUNK);
            CHECK_EQ(f.array.asked, 3);
            check_chunk(&f, 1, 0);
            snprintf(words, sizeof words, "chunk (1, 0): the stored chunk has %zu bytes, expected 24", lengths[i]);
            CHECK_STR(nczchunk_context_message(f.context), words);
            close_fixture(&f);
        }
    }
}

/* The same where the chunk lands in one piece, so that fill is given the caller's memory: it stays within it. */
static void a_chunk_of_the_wrong_length_that_lands_in_one_piece(void)
{
    const size_t lengths[] = {0, 1, 15, 17, SIZE_MAX}, dim = 8, chunk = 4, zero = 0;
    const unsigned char bytes[17] = {0};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int data[10] = {-1, 0, 0, 0, 0, 0, 0, 0, 0, -1};
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init(&array, 1, &dim, &chunk, sizeof(int));
        memory_chunk_set(&array.chunks[1], bytes, lengths[i] <= 17 ? lengths[i] : 17);
        array.chunks[1].nbytes = lengths[i];
        array.data = (const unsigned char *)(data + 1);
        array.data_size = 8 * sizeof(int);
        var = memory_array_var(&array);
        store = memory_array_store(&array, FILLING);
        CHECK_EQ(nczchunk_read_vars(var, store, &zero, NULL, NULL, data + 1, NULL), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(array.direct, 2);
        CHECK_EQ(data[0], -1);
        CHECK_EQ(data[9], -1);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* To succeed and lend nothing is an error of the callback's: a chunk that is absent has a status of its own. */
static void a_chunk_that_was_not_lent(void)
{
    fixture f;

    open_fixture(&f, LENDING);
    memory_chunk_remove(&f.array.chunks[5], NCZCHUNK_NOERR);
    CHECK_EQ(read_all(&f), NCZCHUNK_EBADCHUNK);
    check_chunk(&f, 2, 1);
    CHECK_STR(nczchunk_context_message(f.context),
              "chunk (2, 1): the zero-copy callback returned success but gave no chunk");
    close_fixture(&f);
}

/* After an error everything can be used as before. The context tells of its last call only. */
static void everything_is_usable_afterwards(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        fixture f;

        open_fixture(&f, store_kinds[kind]);
        f.array.chunks[4].status = EIO;
        CHECK_EQ(read_all(&f), EIO);
        check_chunk(&f, 2, 0);
        f.array.chunks[4].status = NCZCHUNK_NOERR;
        CHECK_OK(read_all(&f));
        check_says_nothing(f.context);
        close_fixture(&f);
    }
}

/* A scalar's chunk has no indices, but it is a chunk. */
static void the_chunk_of_a_scalar(void)
{
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    size_t rank = 99;
    int value;

    memory_array_init(&array, 0, NULL, NULL, sizeof value);
    array.chunks[0].status = ENOENT;
    var = memory_array_var(&array);
    store = memory_array_store(&array, LENDING);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_read_vars(var, store, NULL, NULL, NULL, &value, context), ENOENT);
    CHECK(nczchunk_context_chunk(context, &rank) != NULL);
    CHECK_EQ(rank, 0);
    CHECK_STR(nczchunk_context_message(context),
              "chunk (): the callback failed with status 2: No such file or directory");
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* Words that would be longer than 511 bytes end there; the indices are complete all the same. */
static void a_chunk_of_1024_indices(void)
{
    static size_t ones[NCZCHUNK_MAX_RANK], start[NCZCHUNK_MAX_RANK];
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    size_t rank = 0;
    int value;

    for (size_t d = 0; d < NCZCHUNK_MAX_RANK; d++)
        ones[d] = 1;
    memory_array_init(&array, NCZCHUNK_MAX_RANK, ones, ones, sizeof value);
    array.chunks[0].status = EIO;
    var = memory_array_var(&array);
    store = memory_array_store(&array, LENDING);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_read_vars(var, store, start, NULL, NULL, &value, context), EIO);
    CHECK(nczchunk_context_chunk(context, &rank) != NULL);
    CHECK_EQ(rank, NCZCHUNK_MAX_RANK);
    CHECK(strlen(nczchunk_context_message(context)) <= 511);
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

int main(void)
{
    a_new_context_says_nothing();
    the_dimension_that_does_not_fit();
    plans_and_variables_say_it_too();
    a_callback_s_status_is_passed_on();
    the_first_bad_chunk_ends_the_read();
    a_chunk_of_the_wrong_length();
    a_chunk_of_the_wrong_length_that_lands_in_one_piece();
    a_chunk_that_was_not_lent();
    everything_is_usable_afterwards();
    the_chunk_of_a_scalar();
    a_chunk_of_1024_indices();
    return 0;
}
