/*
 * Writes that fail at a chunk: what has been written by then, what has not, and that the same call, once the fault is
 * gone, makes everything right.
 */
#include <errno.h>

#include "memory_array.h"

/* 5 x 4 numbers in a grid of 3 x 2 chunks. Rows 1 to 4 are written, so that the first two chunks must be read and the
 * other four are covered. */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3};
static const size_t start[2] = {1, 0}, count[2] = {4, 4};

enum { CHUNKS = 6, READ_CHUNKS = 2 };

typedef struct fixture {
    memory_array array, before, expected;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    int data[16];
} fixture;

static void open_fixture(fixture *f, store_kind kind)
{
    memory_array_init(&f->array, 2, dimlens, chunklens, sizeof(int));
    f->before = memory_array_copy(&f->array);
    f->expected = memory_array_copy(&f->array);
    memory_array_make_data(&f->array, 16, f->data);
    memory_array_put(&f->expected, start, count, NULL, NULL, f->data, NULL);
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
    memory_array_clear(&f->before);
    memory_array_clear(&f->expected);
}

static int write_data(fixture *f)
{
    f->array.asked = f->array.written = f->array.released = 0;
    return nczchunk_write_vars(f->var, f->store, start, count, NULL, f->data, f->context);
}

/* Checks that the write has failed with this status at this chunk: those before it are as they must be afterwards, it
 * and those after it as they were. */
static void check_failed_at(fixture *f, int status, size_t failed)
{
    size_t rank = 0;
    const ptrdiff_t *chunk = nczchunk_context_chunk(f->context, &rank);
    char words[128];

    CHECK_EQ(nczchunk_context_status(f->context), status);
    CHECK_EQ(nczchunk_context_chunks_done(f->context), failed);
    CHECK(chunk != NULL);
    CHECK_EQ(rank, 2);
    CHECK_EQ(chunk[0], failed / 2);
    CHECK_EQ(chunk[1], failed % 2);
    CHECK_EQ(nczchunk_context_dimension(f->context), -1);
    snprintf(words, sizeof words, "chunk (%zu, %zu): ", failed / 2, failed % 2);
    CHECK(strncmp(nczchunk_context_message(f->context), words, strlen(words)) == 0);

    for (size_t c = 0; c < CHUNKS; c++) {
        const memory_array *model = c < failed ? &f->expected : &f->before;
        CHECK_EQ(f->array.chunks[c].nbytes, f->array.chunk_bytes);
        CHECK(memcmp(f->array.chunks[c].bytes, model->chunks[c].bytes, f->array.chunk_bytes) == 0);
    }
}

/* The same call again, with the fault gone, writes all of it. */
static void check_retry(fixture *f)
{
    CHECK_OK(write_data(f));
    CHECK_EQ(nczchunk_context_chunks_done(f->context), CHUNKS);
    CHECK_EQ(nczchunk_context_status(f->context), NCZCHUNK_NOERR);
    CHECK(nczchunk_context_chunk(f->context, NULL) == NULL);
    memory_array_check_same(&f->array, &f->expected);
}

/* What store, or release, returns is returned: netCDF's numbers, errno values, numbers of the caller's own. */
static const int statuses[] = {NCZCHUNK_EIO, NCZCHUNK_EINVAL, NCZCHUNK_EPERM, ENOSPC, -1, 12345,
                               NCZCHUNK_EEMPTY, NCZCHUNK_ENOOBJECT};

static void a_chunk_that_cannot_be_stored(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t failed = 0; failed < CHUNKS; failed++) {
            for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
                fixture f;

                open_fixture(&f, store_kinds[kind]);
                f.array.chunks[failed].write_status = statuses[i];
                CHECK_EQ(write_data(&f), statuses[i]);
                check_failed_at(&f, statuses[i], failed);
                /* Those before it and itself were tried, the others were not. */
                CHECK_EQ(f.array.written, failed + 1);
                CHECK_EQ(f.array.asked, failed + 1 < READ_CHUNKS ? failed + 1 : READ_CHUNKS);
                /* What was lent has been given back. */
                CHECK_EQ(f.array.released, store_kinds[kind] == LENDING ? failed + 1 : 0);

                f.array.chunks[failed].write_status = NCZCHUNK_NOERR;
                check_retry(&f);
                close_fixture(&f);
            }
        }
    }
}

/* Only a chunk that must be read can fail so: fetched by fill, or read by who lends it. */
static void a_chunk_that_cannot_be_read(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t failed = 0; failed < READ_CHUNKS; failed++) {
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            f.array.chunks[failed].status = EACCES;
            CHECK_EQ(write_data(&f), EACCES);
            check_failed_at(&f, EACCES, failed);
            CHECK_EQ(f.array.asked, failed + 1);
            CHECK_EQ(f.array.written, failed);
            CHECK_EQ(f.array.released, store_kinds[kind] == LENDING ? failed : 0);

            f.array.chunks[failed].status = NCZCHUNK_NOERR;
            check_retry(&f);
            close_fixture(&f);
        }
    }
}

/* A chunk that is to be changed must have its length: one of another length is left alone. */
static void a_chunk_of_the_wrong_length(void)
{
    const size_t lengths[] = {0, 1, 23, 25, 240};
    const unsigned char bytes[240] = {0};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            memory_chunk_set(&f.array.chunks[1], bytes, lengths[i]);
            CHECK_EQ(write_data(&f), NCZCHUNK_EBADCHUNK);
            CHECK_EQ(f.array.chunks[1].nbytes, lengths[i]);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), 1);
            CHECK_EQ(f.array.written, 1);
            /* Given back, but not said to have changed. */
            CHECK_EQ(f.array.released, store_kinds[kind] == LENDING ? 2 : 0);

            memory_chunk_set(&f.array.chunks[1], f.before.chunks[1].bytes, f.before.chunk_bytes);
            check_failed_at(&f, NCZCHUNK_EBADCHUNK, 1);
            check_retry(&f);
            close_fixture(&f);
        }
    }
}

/* Lends one chunk, whatever a test likes to say of it. */
typedef struct odd_lender {
    unsigned char chunk[24];
    void *data;
    size_t nbytes;
    int status, release_status;
    int lent, released, changed;
    int outcome; /* what release was told last */
} odd_lender;

static int odd_lend(void *user, nczchunk_borrowed_chunk *loan)
{
    (void)user, (void)loan;
    CHECK_FAILED("a write has asked for a chunk to read");
}

static int odd_lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    odd_lender *l = user;

    CHECK_EQ(loan->access, NCZCHUNK_WRITE);
    l->lent++;
    loan->data = l->data;
    loan->nbytes = l->nbytes;
    loan->handle = l;
    return l->status;
}

/* The loan comes back as it was given. A status of 0 says that the chunk was changed as a whole. */
static int odd_release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    odd_lender *l = user;

    CHECK(loan->data == l->chunk && loan->handle == l);
    CHECK_EQ(loan->nbytes, l->nbytes);
    CHECK_EQ(loan->access, NCZCHUNK_WRITE);
    l->released++;
    l->changed += status == NCZCHUNK_NOERR;
    l->outcome = status;
    return l->release_status;
}

/* Writes the first chunk of the array to such a lender: all of it, or two rows of two. */
static int write_to(odd_lender *l, int covered)
{
    const nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks,
                                                  .user = l,
                                                  .lend = odd_lend,
                                                  .lend_to_write = odd_lend_to_write,
                                                  .release = odd_release};
    const size_t zeros[2] = {0, 0}, part[2] = {2, 2};
    const int data[6] = {1, 2, 3, 4, 5, 6};
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int status;

    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    status = nczchunk_write_vars(var, store, zeros, covered ? chunklens : part, NULL, data, NULL);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    CHECK_EQ(l->lent, 1);
    return status;
}

/* A chunk on loan must be as long as it should, also if it is covered or new; if not, it is given back as it is. */
static void a_loan_of_the_wrong_length(void)
{
    const size_t lengths[] = {0, 1, 23, 25, PTRDIFF_MAX, (size_t)PTRDIFF_MAX + 1, SIZE_MAX};
    const unsigned char untouched[24] = {0};

    for (int covered = 0; covered < 2; covered++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            odd_lender stored = {.nbytes = lengths[i], .status = NCZCHUNK_NOERR}, fresh = stored;

            stored.data = stored.chunk;
            fresh.data = fresh.chunk;
            fresh.status = NCZCHUNK_EEMPTY;
            CHECK_EQ(write_to(&stored, covered), NCZCHUNK_EBADCHUNK);
            CHECK_EQ(write_to(&fresh, covered), NCZCHUNK_EBADCHUNK);
            CHECK_EQ(stored.released, 1);
            CHECK_EQ(fresh.released, 1);
            CHECK_EQ(stored.changed + fresh.changed, 0);
            CHECK_EQ(stored.outcome, NCZCHUNK_EBADCHUNK);
            CHECK_EQ(fresh.outcome, NCZCHUNK_EBADCHUNK);
            CHECK(memcmp(stored.chunk, untouched, 24) == 0 && memcmp(fresh.chunk, untouched, 24) == 0);
        }
    }
}

/* A lender that cannot take the chunk back says so, and the write with it. But a failure that came first is the one
 * that is told. */
static void a_loan_that_is_not_taken_back(void)
{
    for (int covered = 0; covered < 2; covered++) {
        odd_lender l = {.nbytes = 24, .status = NCZCHUNK_NOERR, .release_status = ENOSPC};

        l.data = l.chunk;
        CHECK_EQ(write_to(&l, covered), ENOSPC);
        CHECK_EQ(l.changed, 1);

        l.lent = 0;
        l.nbytes = 23;
        CHECK_EQ(write_to(&l, covered), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(l.released, 2);
        CHECK_EQ(l.changed, 1);
    }
}

/* Whoever says that there is a chunk, new or not, must lend one: absent, it is to be made. */
static void a_loan_of_nothing(void)
{
    for (int covered = 0; covered < 2; covered++) {
        odd_lender stored = {.nbytes = 24, .status = NCZCHUNK_NOERR}, fresh = {.nbytes = 24, .status = NCZCHUNK_EEMPTY};

        CHECK_EQ(write_to(&stored, covered), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(write_to(&fresh, covered), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(stored.released + stored.changed + fresh.released + fresh.changed, 0);
    }
}

/* Whoever fails has lent nothing, whatever was set: it is neither touched nor given back. */
static void a_loan_that_failed(void)
{
    for (int covered = 0; covered < 2; covered++) {
        odd_lender l = {.nbytes = 24, .status = EIO};
        const unsigned char untouched[24] = {0};

        l.data = l.chunk;
        CHECK_EQ(write_to(&l, covered), EIO);
        CHECK_EQ(l.released + l.changed, 0);
        CHECK(memcmp(l.chunk, untouched, 24) == 0);
    }
}

/* An error that is found before any chunk is touched is a matter of no chunk, and none is done. */
static void arguments_that_do_not_fit(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        const size_t beyond[2] = {4, 5};
        fixture f;

        open_fixture(&f, store_kinds[kind]);
        CHECK_OK(write_data(&f));
        CHECK_EQ(nczchunk_context_chunks_done(f.context), CHUNKS);
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, start, beyond, NULL, f.data, f.context), NCZCHUNK_EEDGE);
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 0);
        CHECK_EQ(nczchunk_context_dimension(f.context), 1);
        CHECK(nczchunk_context_chunk(f.context, NULL) == NULL);
        CHECK_EQ(f.array.written, CHUNKS);
        close_fixture(&f);
    }
}

/* A read tells the same of itself. */
static void a_read_that_fails_at_a_chunk(void)
{
    const size_t zeros[2] = {0, 0};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t failed = 0; failed < CHUNKS; failed++) {
            int all[20];
            fixture f;

            open_fixture(&f, store_kinds[kind]);
            f.array.chunks[failed].status = EIO;
            CHECK_EQ(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, all, f.context), EIO);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), failed);
            close_fixture(&f);
        }
    }
}

int main(void)
{
    a_chunk_that_cannot_be_stored();
    a_chunk_that_cannot_be_read();
    a_chunk_of_the_wrong_length();
    a_loan_of_the_wrong_length();
    a_loan_that_is_not_taken_back();
    a_loan_of_nothing();
    a_loan_that_failed();
    arguments_that_do_not_fit();
    a_read_that_fails_at_a_chunk();
    return 0;
}
