/*
 * Elements that are more than their bytes: here text of any length, of which an array has the pointers, as it is in a
 * netCDF variable of type NC_STRING. nczchunk_var_set_copier takes a function that copies such elements.
 *
 * Each text has one owner: that which is in a chunk belongs to the chunk, that which was read to the reader. So a read
 * duplicates it, and a write frees what was there and duplicates. The memory checkers see whether all is freed once.
 */
#define _XOPEN_SOURCE 700
#include <time.h>

#include "memory_array.h"

/* 5 x 4 texts in chunks of 2 x 3. */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};

enum { CHUNKS = 6, CHUNK_ELEMENTS = 6, ELEMENTS = 20 };

static char *duplicate(const char *text)
{
    size_t size;
    char *copy;

    if (text == NULL)
        return NULL;
    size = strlen(text) + 1;
    copy = malloc(size);
    CHECK(copy != NULL);
    return memcpy(copy, text, size);
}

/* What a copier may do in one of its calls. */
typedef enum fault {
    FAILS,          /* it returns its status, and has copied nothing */
    FAILS_HALF_WAY, /* it returns its status, and has copied all elements but the last one */
    LEAVES_ONE_OUT, /* it returns 0, and has not copied the last element */
    DOES_NOTHING,   /* it returns 0, and has copied nothing */
    GIVES_NULL,     /* it returns 0, and has put NULL everywhere */
    ENTERS,         /* it calls the library itself */
    IS_SLOW,        /* it takes its time */
    NUM_FAULTS
} fault;

/* The copier, what it has seen, and when it is to fail. */
typedef struct text_copier {
    long calls, elements, longest; /* longest: the most elements in one call */
    int writing;                   /* in the last call */
    long failing_call;             /* the one with the fault; 0: none */
    fault fault;
    int status;
    size_t not_copied; /* elements of that call */
    /* What it calls then, if that is the fault. */
    void (*enter)(void *argument);
    void *argument;
} text_copier;

/* How many elements of so many are copied in the call that is to fail. */
static size_t copied_elements(const text_copier *copier, size_t count)
{
    switch (copier->fault) {
    case FAILS:
    case DOES_NOTHING:
    case GIVES_NULL: return 0;
    case FAILS_HALF_WAY:
    case LEAVES_ONE_OUT: return count - 1;
    default: return count;
    }
}

static int copy_texts(void *user, int writing, size_t count, const void *source, void *destination)
{
    text_copier *copier = user;
    char *const *from = source;
    char **to = destination;
    const struct timespec moment = {0, 1000000};
    const int is_its_turn = ++copier->calls == copier->failing_call;
    const size_t all = count;

    copier->writing = writing;
    if (is_its_turn && copier->fault == ENTERS)
        copier->enter(copier->argument);
    if (is_its_turn && copier->fault == IS_SLOW)
        nanosleep(&moment, NULL);
    if (is_its_turn) {
        count = copied_elements(copier, all);
        copier->not_copied = all - count;
    }
    copier->elements += (long)count;
    if ((long)count > copier->longest)
        copier->longest = (long)count;
    for (size_t i = 0; i < count; i++) {
        if (writing)
            free(to[i]);
        to[i] = duplicate(from[i]);
    }
    for (size_t i = count; i < all && copier->fault == GIVES_NULL; i++) {
        if (writing)
            free(to[i]);
        to[i] = NULL;
    }
    return is_its_turn && copier->fault <= FAILS_HALF_WAY ? copier->status : 0;
}

/* Chunks of texts, lent where they are. */
typedef struct text_store {
    char *chunks[CHUNKS][CHUNK_ELEMENTS];
    int is_absent[CHUNKS];
    int changed;
} text_store;

static int chunk_number(const ptrdiff_t *chunk_indices)
{
    return (int)(chunk_indices[0] * 2 + chunk_indices[1]);
}

static int lend_texts(void *user, nczchunk_borrowed_chunk *loan)
{
    text_store *s = user;
    int c = chunk_number(loan->chunk_indices);

    if (s->is_absent[c])
        return NCZCHUNK_EEMPTY;
    loan->data = s->chunks[c];
    loan->nbytes = sizeof s->chunks[c];
    return NCZCHUNK_NOERR;
}

/* A new chunk has NULL everywhere: what it holds is freed, so it must be something that can be. */
static int lend_texts_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    text_store *s = user;
    int c = chunk_number(loan->chunk_indices);

    loan->data = s->chunks[c];
    loan->nbytes = sizeof s->chunks[c];
    return s->is_absent[c] ? NCZCHUNK_EEMPTY : NCZCHUNK_NOERR;
}

static int take_texts_back(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    text_store *s = user;

    if (loan->access == NCZCHUNK_WRITE && status == NCZCHUNK_NOERR) {
        s->is_absent[chunk_number(loan->chunk_indices)] = 0;
        s->changed++;
    }
    return NCZCHUNK_NOERR;
}

typedef struct fixture {
    text_store texts;
    text_copier copier;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
} fixture;

/* "row.column" */
static void make_text(char text[16], const char *prefix, size_t row, size_t column)
{
    snprintf(text, 16, "%s%zu.%zu", prefix, row, column);
}

static void open_fixture(fixture *f)
{
    nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks,
                                            .user = &f->texts,
                                            .lend = lend_texts,
                                            .lend_to_write = lend_texts_to_write,
                                            .release = take_texts_back};

    memset(f, 0, sizeof *f);
    for (size_t row = 0; row < 5; row++)
        for (size_t column = 0; column < 4; column++) {
            char text[16];

            make_text(text, "", row, column);
            f->texts.chunks[row / 2 * 2 + column / 3][row % 2 * 3 + column % 3] = duplicate(text);
        }
    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, sizeof(char *), &f->var, NULL));
    CHECK_OK(nczchunk_var_set_copier(f->var, copy_texts, &f->copier, NULL));
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &f->store, NULL));
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
}

static void remove_chunk(fixture *f, size_t c)
{
    free_texts(f->texts.chunks[c], CHUNK_ELEMENTS);
    f->texts.is_absent[c] = 1;
}

static void close_fixture(fixture *f)
{
    for (size_t c = 0; c < CHUNKS; c++)
        free_texts(f->texts.chunks[c], CHUNK_ELEMENTS);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
}

/* Checks a hyperslab of texts, which are named by their places, and frees them. */
static void check_texts(char **texts, const char *prefix, const size_t *start, const size_t *count,
                        const ptrdiff_t *stride)
{
    for (size_t i = 0; i < count[0]; i++)
        for (size_t j = 0; j < count[1]; j++) {
            char expected[16];

            make_text(expected, prefix, start[0] + i * (size_t)stride[0], start[1] + j * (size_t)stride[1]);
            CHECK_STR(texts[i * count[1] + j], expected);
        }
    free_texts(texts, count[0] * count[1]);
}

static const struct { size_t start[2], count[2]; ptrdiff_t stride[2]; } slabs[] = {
    {{0, 0}, {5, 4}, {1, 1}}, {{1, 1}, {3, 2}, {1, 1}}, {{0, 0}, {3, 2}, {2, 3}}, {{1, 3}, {2, 1}, {3, 1}}};

enum { NUM_SLABS = sizeof slabs / sizeof *slabs };

/* A read gives the reader texts of its own. */
static void texts_are_duplicated_on_reading(void)
{
    for (size_t i = 0; i < NUM_SLABS; i++) {
        char *data[ELEMENTS] = {0};
        fixture f;

        open_fixture(&f);
        CHECK_OK(nczchunk_read_vars(f.var, f.store, slabs[i].start, slabs[i].count, slabs[i].stride, data, NULL));
        CHECK_EQ(f.copier.writing, 0);
        CHECK_EQ(f.copier.elements, slabs[i].count[0] * slabs[i].count[1]);
        for (size_t c = 0; c < CHUNKS; c++)
            for (size_t e = 0; e < CHUNK_ELEMENTS; e++)
                CHECK(data[0] != f.texts.chunks[c][e]);
        check_texts(data, "", slabs[i].start, slabs[i].count, slabs[i].stride);
        close_fixture(&f);
    }
}

/* A write leaves the writer its texts, and frees those that it replaces. */
static void texts_are_replaced_on_writing(void)
{
    for (size_t i = 0; i < NUM_SLABS; i++) {
        const size_t *start = slabs[i].start, *count = slabs[i].count;
        const ptrdiff_t *stride = slabs[i].stride;
        char *data[ELEMENTS] = {0}, *after[ELEMENTS] = {0};
        fixture f;

        open_fixture(&f);
        for (size_t e = 0; e < count[0] * count[1]; e++) {
            char text[16];

            make_text(text, "new ", start[0] + e / count[1] * (size_t)stride[0],
                      start[1] + e % count[1] * (size_t)stride[1]);
            data[e] = duplicate(text);
        }
        CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, stride, data, NULL));
        CHECK_EQ(f.copier.writing, 1);
        CHECK_EQ(f.copier.elements, count[0] * count[1]);
        check_texts(data, "new ", start, count, stride);
        CHECK_OK(nczchunk_read_vars(f.var, f.store, start, count, stride, after, NULL));
        check_texts(after, "new ", start, count, stride);

        /* All others are as they were. */
        if (count[0] * count[1] < ELEMENTS) {
            const size_t corner[2] = {4, 0}, one[2] = {1, 1};
            const ptrdiff_t ones[2] = {1, 1};

            CHECK_OK(nczchunk_read_vars(f.var, f.store, corner, one, NULL, after, NULL));
            check_texts(after, i == 2 ? "new " : "", corner, one, ones);
        }
        close_fixture(&f);
    }
}

/* Elements that are contiguous on both sides are copied in one call; others one by one. */
static void runs_are_copied_in_one_call(void)
{
    const size_t row[2] = {2, 0}, wide[2] = {1, 3}, narrow[2] = {1, 2}, block[2] = {2, 3};
    const ptrdiff_t apart[2] = {1, 2}, transposed[2] = {1, 2};
    char *data[6] = {0};
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, row, wide, NULL, data, NULL));
    CHECK_EQ(f.copier.calls, 1);
    CHECK_EQ(f.copier.longest, 3);
    free_texts(data, 3);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, row, narrow, apart, data, NULL));
    CHECK_EQ(f.copier.calls, 1 + 2);
    free_texts(data, 2);
    /* A whole chunk is one run. */
    CHECK_OK(nczchunk_read_vars(f.var, f.store, row, block, NULL, data, NULL));
    CHECK_EQ(f.copier.calls, 3 + 1);
    CHECK_EQ(f.copier.longest, 6);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, row, block, NULL, data, NULL));
    CHECK_EQ(f.copier.calls, 4 + 1);
    free_texts(data, 6);
    /* In another layout of memory it is not. */
    CHECK_OK(nczchunk_read_varm(f.var, f.store, row, block, NULL, transposed, data, NULL));
    CHECK_EQ(f.copier.calls, 5 + 6);
    CHECK_STR(data[1], "3.0");
    CHECK_STR(data[2], "2.1");
    free_texts(data, 6);
    close_fixture(&f);
}

/*
 * The elements of an absent chunk are duplicates of the fill value. Without one they are NULL, and not copied at all.
 */
static void fill_values_are_duplicated(void)
{
    const char *fill_value = "none";
    const size_t count[2] = {2, 3};
    char *data[6] = {0};
    fixture f;

    open_fixture(&f);
    remove_chunk(&f, 0);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, count, NULL, data, NULL));
    CHECK_EQ(f.copier.calls, 0);
    for (size_t e = 0; e < 6; e++)
        CHECK(data[e] == NULL);

    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, count, NULL, data, NULL));
    CHECK_EQ(f.copier.elements, 6);
    for (size_t e = 0; e < 6; e++) {
        CHECK_STR(data[e], "none");
        CHECK(data[e] != fill_value);
    }
    free_texts(data, 6);
    close_fixture(&f);
}

/* A new chunk's elements are freed like any other's when they are replaced, so it is lent with NULL in all of them.
 * Those that are not replaced stay so if there is no fill value. */
static void a_new_chunk(void)
{
    const size_t start[2] = {0, 1}, count[2] = {1, 2};
    char *texts[2] = {(char[]){"a"}, (char[]){"b"}};
    fixture f;

    open_fixture(&f);
    remove_chunk(&f, 0);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, NULL, texts, NULL));
    CHECK(f.texts.chunks[0][0] == NULL);
    CHECK_STR(f.texts.chunks[0][1], "a");
    CHECK_STR(f.texts.chunks[0][2], "b");
    CHECK(f.texts.chunks[0][3] == NULL);
    CHECK_EQ(f.texts.changed, 1);
    close_fixture(&f);
}

/* With a fill value they become duplicates of it, each its own: what was absent reads as before. */
static void a_new_chunk_of_fill_values(void)
{
    const char *fill_value = "none";
    const size_t start[2] = {0, 1}, count[2] = {1, 2}, all[2] = {2, 3};
    char *texts[2] = {(char[]){"a"}, (char[]){"b"}}, *data[6] = {0};
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    remove_chunk(&f, 0);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, NULL, texts, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, all, NULL, data, NULL));
    CHECK_STR(data[0], "none");
    CHECK_STR(data[1], "a");
    CHECK_STR(data[2], "b");
    CHECK_STR(data[5], "none");
    CHECK(f.texts.chunks[0][0] != fill_value && f.texts.chunks[0][0] != f.texts.chunks[0][3]);
    free_texts(data, 6);
    close_fixture(&f);
}

/* A covered chunk is not filled: here one that reaches beyond the array, where NULL is kept. */
static void a_covered_chunk(void)
{
    const size_t start[2] = {4, 3}, count[2] = {1, 1};
    char *text = (char[]){"z"};
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, NULL, &text, NULL));
    CHECK_STR(f.texts.chunks[5][0], "z");
    CHECK(f.texts.chunks[5][1] == NULL);
    close_fixture(&f);
}

/* What the copier returns, unless it is 0, ends the call and is its status. A chunk that it failed on has not changed,
 * as far as the store is told. It is called for each row of a chunk: twice for the first four chunks, and once for the
 * last two, of which the second row is beyond the array. */
static void a_copier_that_fails(int status)
{
    char text[] = "text";

    for (long failing_call = 1; failing_call <= 10; failing_call++) {
        const ptrdiff_t done = failing_call <= 8 ? (failing_call - 1) / 2 : failing_call - 5;
        char *data[ELEMENTS] = {0}, *texts[ELEMENTS];
        nczchunk_context *context;
        fixture f;

        open_fixture(&f);
        CHECK_OK(nczchunk_context_new(&context));
        f.copier.status = status;
        f.copier.failing_call = failing_call;
        CHECK_EQ(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, context), status);
        CHECK_EQ(f.copier.calls, failing_call);
        CHECK(nczchunk_context_chunk(context, NULL) != NULL);
        CHECK_EQ(nczchunk_context_chunk(context, NULL)[0], done / 2);
        CHECK_EQ(nczchunk_context_chunk(context, NULL)[1], done % 2);
        CHECK_EQ(nczchunk_context_chunks_done(context), done);
        free_texts(data, ELEMENTS);

        for (size_t e = 0; e < ELEMENTS; e++)
            texts[e] = text;
        f.copier.calls = 0;
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, texts, context), status);
        CHECK_EQ(f.texts.changed, done);
        CHECK_EQ(nczchunk_context_chunks_done(context), done);
        f.copier.failing_call = 0;
        CHECK_OK(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, texts, context));
        CHECK_EQ(f.texts.changed, done + CHUNKS);
        memset(data, 0, sizeof data);
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, context));
        for (size_t e = 0; e < ELEMENTS; e++)
            CHECK_STR(data[e], text);
        free_texts(data, ELEMENTS);
        nczchunk_context_free(context);
        close_fixture(&f);
    }
}

/* --- Each fault at each of the ten calls. What the copier has not copied is not there, whatever it returns. */

/* From within the copier: another array is written and read, and this one is read. Every text is old or new. */
static void enter_the_library(void *argument)
{
    const fixture *f = argument;
    const int is_writing = f->copier.writing;
    char *data[ELEMENTS] = {0}, *texts[2] = {(char[]){"a"}, (char[]){"b"}};
    const size_t count[2] = {1, 2};
    fixture other;

    open_fixture(&other);
    CHECK_OK(nczchunk_write_vars(other.var, other.store, zeros, count, NULL, texts, NULL));
    CHECK_OK(nczchunk_read_vars(other.var, other.store, zeros, NULL, NULL, data, NULL));
    CHECK_STR(data[0], "a");
    CHECK_STR(data[2], "0.2");
    free_texts(data, ELEMENTS);
    close_fixture(&other);

    CHECK_OK(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, data, NULL));
    for (size_t e = 0; e < ELEMENTS; e++) {
        char text[16];

        make_text(text, "", e / 4, e % 4);
        CHECK(strcmp(data[e], text) == 0 || (is_writing && strcmp(data[e], "text") == 0));
    }
    free_texts(data, ELEMENTS);
}

/* Reads all. Each text is the expected one, NULL for the old one, but for those that have not been copied. Returns how
 * many those are. */
static size_t read_all(fixture *f, const char *expected, int expected_status, nczchunk_context *context)
{
    char *data[ELEMENTS] = {0};
    size_t others = 0;

    CHECK_EQ(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, data, context), expected_status);
    CHECK_EQ(nczchunk_context_status(context), expected_status);
    for (size_t e = 0; e < ELEMENTS; e++) {
        char old[16];

        make_text(old, "", e / 4, e % 4);
        if (data[e] != NULL && strcmp(data[e], expected == NULL ? old : expected) == 0)
            continue;
        CHECK(data[e] == NULL || strcmp(data[e], old) == 0);
        others++;
    }
    free_texts(data, ELEMENTS);
    return others;
}

static void each_fault_at_every_call(fault fault)
{
    const int fails = fault <= FAILS_HALF_WAY, status = fails ? 55 : NCZCHUNK_NOERR;

    for (long failing_call = 1; failing_call <= 10; failing_call++) {
        const ptrdiff_t done = failing_call <= 8 ? (failing_call - 1) / 2 : failing_call - 5;
        char text[] = "text", *texts[ELEMENTS];
        nczchunk_context *context;
        size_t others;
        fixture f;

        open_fixture(&f);
        CHECK_OK(nczchunk_context_new(&context));
        f.copier.fault = fault;
        f.copier.status = 55;
        f.copier.enter = enter_the_library;
        f.copier.argument = &f;

        /* Of a read that succeeds all is there but what was not copied. */
        f.copier.failing_call = failing_call;
        others = read_all(&f, NULL, status, context);
        CHECK_EQ(nczchunk_context_chunks_done(context), fails ? done : CHUNKS);
        CHECK(fails ? others >= f.copier.not_copied : others == f.copier.not_copied);
        f.copier.failing_call = 0;
        CHECK_EQ(read_all(&f, NULL, NCZCHUNK_NOERR, context), 0);

        /* Of a write as well. */
        for (size_t e = 0; e < ELEMENTS; e++)
            texts[e] = text;
        f.copier.calls = 0;
        f.copier.failing_call = failing_call;
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, texts, context), status);
        CHECK_EQ(nczchunk_context_chunks_done(context), fails ? done : CHUNKS);
        CHECK_EQ(f.texts.changed, fails ? done : CHUNKS);
        f.copier.failing_call = 0;
        others = read_all(&f, text, NCZCHUNK_NOERR, context);
        CHECK(fails ? others >= f.copier.not_copied : others == f.copier.not_copied);

        CHECK_OK(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, texts, context));
        CHECK_EQ(read_all(&f, text, NCZCHUNK_NOERR, context), 0);
        nczchunk_context_free(context);
        close_fixture(&f);
    }
}

/* A chunk that the caller has is copied in the same way, without a store: see nczchunk_plan_copy_chunk. */
static void one_chunk_by_a_plan(void)
{
    const size_t start[2] = {0, 1}, count[2] = {2, 2};
    char *data[4] = {0}, *texts[4] = {(char[]){"a"}, (char[]){"b"}, (char[]){"c"}, (char[]){"d"}};
    nczchunk_plan *plan;
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_plan_new(f.var, start, count, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_copy_chunk(plan, 0, f.texts.chunks[0], sizeof f.texts.chunks[0], data, NULL));
    CHECK_EQ(f.copier.writing, 0);
    CHECK_EQ(f.copier.elements, 4);
    check_texts(data, "", start, count, (const ptrdiff_t[2]){1, 1});
    f.copier.failing_call = f.copier.calls + 1;
    f.copier.status = 55;
    CHECK_EQ(nczchunk_plan_copy_chunk(plan, 0, f.texts.chunks[0], sizeof f.texts.chunks[0], data, NULL), 55);
    nczchunk_plan_free(plan);

    f.copier.failing_call = 0;
    CHECK_OK(nczchunk_plan_new(f.var, start, count, NULL, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_copy_chunk(plan, 0, f.texts.chunks[0], sizeof f.texts.chunks[0], texts, NULL));
    CHECK_EQ(f.copier.writing, 1);
    CHECK_STR(f.texts.chunks[0][0], "0.0");
    CHECK_STR(f.texts.chunks[0][1], "a");
    CHECK_STR(f.texts.chunks[0][2], "b");
    CHECK_STR(f.texts.chunks[0][3], "1.0");
    CHECK_STR(f.texts.chunks[0][4], "c");
    CHECK_STR(f.texts.chunks[0][5], "d");
    CHECK(f.texts.chunks[0][1] != texts[0]);
    nczchunk_plan_free(plan);
    close_fixture(&f);
}

/* Texts in another order of a chunk's axes: the copier is given those that are contiguous there. */
static void texts_in_fortran_order(void)
{
    const size_t count[2] = {2, 3}, fortran[2] = {1, 0};
    const ptrdiff_t imap[2] = {1, 2};
    char *data[6] = {0}, *stored[CHUNK_ELEMENTS];
    fixture f;

    open_fixture(&f);
    memcpy(stored, f.texts.chunks[0], sizeof stored);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            f.texts.chunks[0][2 * j + i] = stored[3 * i + j];
    CHECK_OK(nczchunk_var_set_chunk_order(f.var, fortran, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, count, NULL, data, NULL));
    check_texts(data, "", zeros, count, (const ptrdiff_t[2]){1, 1});
    f.copier.calls = 0;
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, count, NULL, imap, data, NULL));
    CHECK_EQ(f.copier.calls, 1);
    CHECK_STR(data[1], "1.0");
    CHECK_STR(data[2], "0.1");
    free_texts(data, 6);
    close_fixture(&f);
}

/* Bytes that are filled in, or decoded, are nobody's texts: such stores are refused before any callback runs. */
static void stores_that_fill_are_refused(void)
{
    for (int compressed = 0; compressed < 2; compressed++) {
        char *data[ELEMENTS] = {0};
        memory_array array;
        nczchunk_chunk_store *store;
        fixture f;

        open_fixture(&f);
        memory_array_init_absent(&array, 2, dimlens, chunklens, sizeof(char *));
        store = memory_array_store(&array, compressed ? LENDING : FILLING);
        if (compressed)
            store_add_zstd(store);
        CHECK_EQ(nczchunk_read_vars(f.var, store, zeros, NULL, NULL, data, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_write_vars(f.var, store, zeros, NULL, NULL, data, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(array.asked + array.written, 0);
        CHECK_EQ(f.copier.calls, 0);
        nczchunk_chunk_store_free(store);
        memory_array_clear(&array);
        close_fixture(&f);
    }
}

/* Without a copier, elements are their bytes again; and a copier is never asked to swap them. */
static void a_copier_can_be_taken_away(void)
{
    char *data[ELEMENTS];
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_var_set_endian(f.var, foreign_endian(), NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    CHECK_STR(data[5], "1.1");
    free_texts(data, ELEMENTS);

    CHECK_OK(nczchunk_var_set_endian(f.var, NCZCHUNK_ENDIAN_NATIVE, NULL));
    CHECK_OK(nczchunk_var_set_copier(f.var, NULL, NULL, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    CHECK(data[0] == f.texts.chunks[0][0]);
    CHECK_EQ(nczchunk_var_set_copier(NULL, copy_texts, NULL, NULL), NCZCHUNK_EINVAL);
    close_fixture(&f);
}

int main(void)
{
    texts_are_duplicated_on_reading();
    texts_are_replaced_on_writing();
    runs_are_copied_in_one_call();
    fill_values_are_duplicated();
    a_new_chunk();
    a_new_chunk_of_fill_values();
    a_covered_chunk();
    a_copier_that_fails(NCZCHUNK_ENOMEM);
    a_copier_that_fails(NCZCHUNK_EEMPTY);
    a_copier_that_fails(12345);
    for (fault fault = FAILS; fault < NUM_FAULTS; fault++)
        each_fault_at_every_call(fault);
    one_chunk_by_a_plan();
    texts_in_fortran_order();
    stores_that_fill_are_refused();
    a_copier_can_be_taken_away();
    return 0;
}
