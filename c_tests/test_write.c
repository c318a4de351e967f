/*
 * Writing hyperslabs: start here, after test_read.c.
 *
 * A write takes the same arguments as a read. What is new is on the side of the store: a chunk of which only a part is
 * replaced must be read first, and one that is replaced as a whole need not be. memory_array_put does to a copy of the
 * array what the write must do to the array, and says how many chunks must be read for it.
 */
#include "memory_array.h"

/* What most tests write to: see test_read.c. */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};

enum { MAX_DATA = 20 * 24, MAX_CHUNKS = 16, MAX_RANK = 2 };

/* An array, its variable and a store that writes to it. */
typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    size_t word;            /* the size of the stored words if they are of foreign byte order, else 0 */
    const void *fill_value; /* NULL: zeros */
} fixture;

static void open_array(fixture *f, size_t rank, const size_t *dims, const size_t *chunks, size_t element_size,
                       store_kind kind)
{
    memory_array_init(&f->array, rank, dims, chunks, element_size);
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
    f->word = 0;
    f->fill_value = NULL;
}

static void close_array(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    CHECK_EQ(f->array.destroyed, 1);
    memory_array_clear(&f->array);
}

static void set_fill_value(fixture *f, const void *fill_value)
{
    CHECK_OK(nczchunk_var_set_fill_value(f->var, fill_value, NULL));
    f->fill_value = fill_value;
}

static void set_foreign(fixture *f, size_t word)
{
    memory_array_swap(&f->array, word);
    CHECK_OK(nczchunk_var_set_endian(f->var, foreign_endian(), NULL));
    f->word = word;
}

static int write_array(const fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                       const void *data)
{
    return nczchunk_write_vars(f->var, f->store, start, count, stride, data, NULL);
}

/* The array as it must be after a write, and how many chunks the write must read and store. */
static memory_array expected_array(const fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                                   const void *data, size_t *read, size_t *written)
{
    memory_array expected = memory_array_copy(&f->array);

    if (f->word > 0)
        memory_array_swap(&expected, f->word);
    *read = memory_array_put(&expected, start, count, stride, f->fill_value, data, written);
    if (f->word > 0)
        memory_array_swap(&expected, f->word);
    return expected;
}

/* Checks that every chunk's indices come after those of the one before. */
static void check_row_major(const ptrdiff_t *log, size_t rank, size_t chunks)
{
    for (size_t c = 1; c < chunks; c++, log += rank) {
        size_t d = 0;

        while (d < rank && log[d] == log[rank + d])
            d++;
        CHECK(d < rank && log[d] < log[rank + d]);
    }
}

/* Writes new numbers to a hyperslab and checks everything: which chunks were read and written, how often and in which
 * order; every byte of every chunk; that data are as they were; and that they read back. */
static void check_write(fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride)
{
    unsigned char data[MAX_DATA], before[MAX_DATA], after[MAX_DATA];
    ptrdiff_t log[MAX_CHUNKS * MAX_RANK];
    size_t elements = 1, nbytes, read, written;
    memory_array expected;

    for (size_t d = 0; d < f->array.rank; d++)
        elements *= count ? count[d] : f->array.dimlens[d];
    nbytes = elements * f->array.element_size;
    CHECK(nbytes <= sizeof data);
    memory_array_make_data(&f->array, elements, data);
    memcpy(before, data, nbytes);
    expected = expected_array(f, start, count, stride, data, &read, &written);
    CHECK(written <= MAX_CHUNKS && f->array.rank <= MAX_RANK);

    f->array.asked = f->array.written = 0;
    f->array.write_log = log;
    CHECK_OK(write_array(f, start, count, stride, data));
    f->array.write_log = NULL;
    CHECK_EQ(f->array.asked, read);
    CHECK_EQ(f->array.written, written);
    check_row_major(log, f->array.rank, written);
    memory_array_check_same(&f->array, &expected);
    CHECK(memcmp(data, before, nbytes) == 0);

    CHECK_OK(nczchunk_read_vars(f->var, f->store, start, count, stride, after, NULL));
    CHECK(memcmp(data, after, nbytes) == 0);
    memory_array_clear(&expected);
}

/* The middle of the array: by a store that lends its chunks to be changed, and is told of each when it was, and by one
 * that fetches chunks into a buffer and takes them from one. */
static void a_part_of_an_array(store_kind kind)
{
    const size_t start[2] = {1, 2}, count[2] = {2, 2};
    const int data[4] = {-1, -2, -3, -4};
    const int expected[20] = {0, 1, 2, 3, 4, 5, -1, -2, 8, 9, -3, -4, 12, 13, 14, 15, 16, 17, 18, 19};
    int all[20];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    CHECK_OK(write_array(&f, start, count, NULL, data));
    /* Four chunks meet there, and none is replaced as a whole. */
    CHECK_EQ(f.array.asked, 4);
    CHECK_EQ(f.array.written, 4);
    if (kind == LENDING)
        CHECK_EQ(f.array.released, 4);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, all, NULL));
    CHECK(memcmp(all, expected, sizeof all) == 0);
    close_array(&f);
}

/* A chunk that the write covers is not read. Here that is all of them, those too that reach beyond the array. */
static void covered_chunks_are_not_read(store_kind kind)
{
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    check_write(&f, zeros, NULL, NULL);
    CHECK_EQ(f.array.written, 6);
    CHECK_EQ(f.array.asked, 6); /* by reading back */
    close_array(&f);
}

/* It may be one that could not be read. */
static void a_bad_chunk_can_be_replaced(store_kind kind)
{
    const size_t start[2] = {2, 0}, count[2] = {2, 3};
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    memory_chunk_set(&f.array.chunks[2], "short", 5);
    f.array.chunks[2].status = NCZCHUNK_EIO;
    check_write(&f, start, count, NULL);
    close_array(&f);
}

/* A chunk of one element is covered whatever the stride. */
static void chunks_of_one_element_are_covered_under_any_stride(store_kind kind)
{
    const size_t dim = 10, one = 1, start = 1, count = 3;
    const ptrdiff_t stride = 4;
    fixture f;

    open_array(&f, 1, &dim, &one, sizeof(int), kind);
    CHECK_OK(write_array(&f, &start, &count, &stride, (const int[3]){7, 8, 9}));
    CHECK_EQ(f.array.asked, 0);
    CHECK_EQ(f.array.written, 3);
    check_write(&f, &start, &count, &stride);
    close_array(&f);
}

/* Every hyperslab that fits, by either kind of store, into an array of which two chunks are absent. */
static void every_hyperslab_of_a_small_array(store_kind kind)
{
    const int fill_value = -999;
    size_t start[2], count[2];
    ptrdiff_t stride[2];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    set_fill_value(&f, &fill_value);
    for (start[0] = 0; start[0] < 5; start[0]++)
        for (start[1] = 0; start[1] < 4; start[1]++)
            for (stride[0] = 1; stride[0] < 5; stride[0]++)
                for (stride[1] = 1; stride[1] < 4; stride[1]++)
                    for (count[0] = 1; start[0] + (count[0] - 1) * (size_t)stride[0] < 5; count[0]++)
                        for (count[1] = 1; start[1] + (count[1] - 1) * (size_t)stride[1] < 4; count[1]++) {
                            memory_chunk_remove(&f.array.chunks[1], NCZCHUNK_EEMPTY);
                            memory_chunk_remove(&f.array.chunks[4], NCZCHUNK_ENOOBJECT);
                            check_write(&f, start, count, stride);
                        }
    close_array(&f);
}

/* What an existing chunk holds beyond the array stays as it is; a new one holds fill values there. */
static void bytes_beyond_the_array(store_kind kind)
{
    const size_t dim = 6, chunk = 4, start = 4, count = 1;
    const int fill_value = -999, data = 7;
    const unsigned char junk[8] = {0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE};
    const int fresh[4] = {7, -999, -999, -999};
    fixture f;

    open_array(&f, 1, &dim, &chunk, sizeof(int), kind);
    set_fill_value(&f, &fill_value);
    CHECK_OK(write_array(&f, &start, &count, NULL, &data));
    CHECK(memcmp(f.array.chunks[1].bytes + 8, junk, 8) == 0);

    memory_chunk_remove(&f.array.chunks[1], NCZCHUNK_EEMPTY);
    CHECK_OK(write_array(&f, &start, &count, NULL, &data));
    CHECK(memcmp(f.array.chunks[1].bytes, fresh, sizeof fresh) == 0);
    close_array(&f);
}

/* Says where data are, so that the fixture counts the chunks that are stored from there. */
static long stored_from_data(fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride)
{
    int data[48];

    f->array.data = (const unsigned char *)data;
    f->array.data_size = sizeof data;
    f->array.direct = 0;
    memory_array_make_data(&f->array, 48, data);
    CHECK_OK(write_array(f, start, count, stride, data));
    f->array.data = NULL;
    check_write(f, start, count, stride);
    return f->array.direct;
}

/* A whole chunk that lies in the caller's memory in one piece is stored from there: nothing is copied. */
static void a_chunk_that_lies_in_one_piece_is_not_copied(void)
{
    const size_t dims[2] = {6, 8}, rows[2] = {2, 8}, halves[2] = {2, 4};
    const size_t start[2] = {2, 0}, count[2] = {4, 8}, above[2] = {1, 0}, narrow[2] = {4, 4};
    const ptrdiff_t every_other[2] = {1, 2};
    fixture f;

    open_array(&f, 2, dims, rows, sizeof(int), FILLING);
    CHECK_EQ(stored_from_data(&f, start, count, NULL), 2);
    /* Of these three chunks the first and the last are cut through. */
    CHECK_EQ(stored_from_data(&f, above, count, NULL), 1);
    CHECK_EQ(stored_from_data(&f, above, narrow, every_other), 0);
    /* What must be swapped must be copied, for data are not to be changed. */
    set_foreign(&f, sizeof(int));
    CHECK_EQ(stored_from_data(&f, start, count, NULL), 0);
    close_array(&f);

    /* Two chunks side by side have their rows in turns. */
    open_array(&f, 2, dims, halves, sizeof(int), FILLING);
    CHECK_EQ(stored_from_data(&f, start, count, NULL), 0);
    close_array(&f);
}

/* Words are swapped on the way to chunks of foreign byte order, the fill value's too where a chunk is made anew. The
 * caller's data are not. */
static void chunks_of_foreign_byte_order(store_kind kind)
{
    const size_t start[2] = {1, 1}, count[2] = {2, 2}, element_sizes[4] = {1, 2, 4, 8};
    const ptrdiff_t stride[2] = {2, 2};
    const unsigned char fill_value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < 4; i++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, element_sizes[i], kind);
        set_foreign(&f, element_sizes[i]);
        set_fill_value(&f, fill_value);
        memory_chunk_remove(&f.array.chunks[3], NCZCHUNK_EEMPTY);
        check_write(&f, start, count, stride);
        check_write(&f, zeros, NULL, NULL);
        close_array(&f);
    }
}

/* Elements may have any size. */
static void elements_of_any_size(store_kind kind)
{
    const size_t start[2] = {1, 0}, count[2] = {2, 2};
    const ptrdiff_t stride[2] = {3, 2};
    const unsigned char fill_value[17] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    for (size_t element_size = 1; element_size <= 17; element_size++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, element_size, kind);
        memory_chunk_remove(&f.array.chunks[4], NCZCHUNK_EEMPTY);
        check_write(&f, start, count, stride);
        memory_chunk_remove(&f.array.chunks[4], NCZCHUNK_EEMPTY);
        set_fill_value(&f, fill_value);
        check_write(&f, start, count, stride);
        check_write(&f, zeros, NULL, NULL);
        close_array(&f);
    }
}

/* Elements of several words have each swapped by itself: complex numbers of 16 and of 8 bytes, structures. */
static void elements_of_several_words(store_kind kind)
{
    const size_t start[2] = {3, 1}, count[2] = {2, 2};
    const struct { size_t element_size, word; } elements[] = {{16, 8}, {8, 4}, {12, 4}, {6, 2}, {24, 8}};
    const unsigned char fill_value[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, elements[i].element_size, kind);
        /* Of 16 bytes it is known. */
        if (elements[i].element_size != 16)
            CHECK_OK(nczchunk_var_set_word_size(f.var, elements[i].word, NULL));
        set_foreign(&f, elements[i].word);
        set_fill_value(&f, fill_value);
        memory_chunk_remove(&f.array.chunks[4], NCZCHUNK_EEMPTY);
        check_write(&f, start, count, NULL);
        check_write(&f, zeros, NULL, NULL);
        close_array(&f);
    }
}

/* data need not be aligned. */
static void data_may_lie_anywhere(store_kind kind)
{
    for (size_t shift = 0; shift < 8; shift++) {
        unsigned char data[20 * 8 + 8], after[20 * 8];
        fixture f;

        open_array(&f, 2, dimlens, chunklens, 8, kind);
        set_foreign(&f, 8);
        memory_array_make_data(&f.array, 20, data + shift);
        CHECK_OK(write_array(&f, zeros, NULL, NULL, data + shift));
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, after, NULL));
        CHECK(memcmp(data + shift, after, sizeof after) == 0);
        close_array(&f);
    }
}

/* A scalar is written like any other array: again and again, and in one call of the writer. */
static void scalars(store_kind kind)
{
    const size_t nonsense = 99;
    const ptrdiff_t no_stride = 0;
    const int first = 17, second = 42;
    int value = -1;
    fixture f;

    open_array(&f, 0, NULL, NULL, sizeof(int), kind);
    memory_chunk_remove(&f.array.chunks[0], NCZCHUNK_EEMPTY);
    CHECK_OK(write_array(&f, NULL, NULL, NULL, &first));
    CHECK_EQ(f.array.written, 1);
    CHECK(memcmp(f.array.chunks[0].bytes, &first, sizeof first) == 0);
    CHECK_OK(write_array(&f, &nonsense, &nonsense, &no_stride, &second));
    CHECK_EQ(f.array.written, 2);
    CHECK_EQ(f.array.asked, 0);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, NULL, NULL, NULL, &value, NULL));
    CHECK_EQ(value, 42);
    CHECK_EQ(write_array(&f, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(f.array.written, 2);
    close_array(&f);
}

/* If any count is 0 nothing is written, wherever the 0 stands: no callback runs, and data may be NULL. Then it does not
 * matter either how far the other counts reach. Starts and strides are checked all the same. */
static void a_count_of_0_writes_nothing(store_kind kind)
{
    static const struct {
        size_t start[2], count[2];
        ptrdiff_t stride[2];
        int status;
    } slabs[] = {
        {{0, 1}, {2, 0}, {1, 1}, NCZCHUNK_NOERR},
        {{0, 1}, {0, 2}, {1, 1}, NCZCHUNK_NOERR},
        {{5, 4}, {0, 0}, {1, 1}, NCZCHUNK_NOERR},
        {{0, 0}, {9, 0}, {1, 1}, NCZCHUNK_NOERR},
        {{0, 0}, {0, 9}, {1, 1}, NCZCHUNK_NOERR},
        {{4, 0}, {SIZE_MAX, 0}, {PTRDIFF_MAX, 1}, NCZCHUNK_NOERR},
        {{0, 3}, {0, SIZE_MAX}, {1, PTRDIFF_MAX}, NCZCHUNK_NOERR},
        {{6, 0}, {0, 9}, {1, 1}, NCZCHUNK_EINVALCOORDS},
        {{5, 0}, {1, 0}, {1, 1}, NCZCHUNK_EINVALCOORDS},
        {{0, 0}, {0, 9}, {1, 0}, NCZCHUNK_ESTRIDE},
    };
    const size_t dims[3] = {2, 2, 4}, chunks[3] = {1, 2, 2}, start[3] = {0, 0, 0}, count[3] = {2, 0, 3};
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++)
        CHECK_EQ(write_array(&f, slabs[i].start, slabs[i].count, slabs[i].stride, NULL), slabs[i].status);
    CHECK_EQ(f.array.asked + f.array.written, 0);
    close_array(&f);

    open_array(&f, 3, dims, chunks, sizeof(int), kind);
    CHECK_OK(write_array(&f, start, count, NULL, NULL));
    CHECK_EQ(f.array.asked + f.array.written, 0);
    close_array(&f);
}

/* A store whose callbacks for writing are left out can be read only. That no element is selected is all right. */
static void stores_that_are_read_only(store_kind kind)
{
    const size_t part[2] = {1, 1};
    nczchunk_zero_copy_callbacks lending;
    nczchunk_reader_callbacks filling;
    nczchunk_context *context;
    int data[20] = {0};
    memory_array before;
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    before = memory_array_copy(&f.array);
    nczchunk_chunk_store_free(f.store);
    f.array.destroyed = 0;
    lending = memory_array_lending(&f.array);
    filling = memory_array_filling(&f.array);
    lending.lend_to_write = NULL;
    filling.store = NULL;
    if (kind == LENDING)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f.store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &f.store, NULL));

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, data, context), NCZCHUNK_EPERM);
    CHECK_EQ(nczchunk_context_chunks_done(context), 0);
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, zeros, part, NULL, data, context), NCZCHUNK_EPERM);
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EPERM);
    CHECK_OK(write_array(&f, zeros, (const size_t[2]){0, 1}, NULL, data));
    CHECK_EQ(f.array.written, 0);
    memory_array_check_same(&f.array, &before);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    nczchunk_context_free(context);
    memory_array_clear(&before);
    close_array(&f);
}

/* Lends the chunk itself. */
static int lend_in_place(void *user, nczchunk_borrowed_chunk *loan)
{
    memory_chunk *chunk = memory_array_chunk(user, loan->chunk_indices);

    loan->data = chunk->bytes;
    loan->nbytes = chunk->nbytes;
    return chunk->status;
}

/* Who lends chunks where they are for good need not be told when they have changed, nor get them back. */
static void chunks_in_place(void)
{
    const size_t start[2] = {1, 2}, count[2] = {4, 2};
    const int data[8] = {-1, -2, -3, -4, -5, -6, -7, -8};
    nczchunk_zero_copy_callbacks callbacks = {
        .struct_size = sizeof callbacks, .lend = memory_array_lend, .lend_to_write = lend_in_place};
    nczchunk_chunk_store *store;
    memory_array expected;
    fixture f;
    size_t read, written;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), LENDING);
    expected = expected_array(&f, start, count, NULL, data, &read, &written);
    callbacks.user = &f.array;
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_write_vars(f.var, store, start, count, NULL, data, NULL));
    memory_array_check_same(&f.array, &expected);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&expected);
    close_array(&f);
}

/* The largest rank: nearly all of the dimensions have length 1. */
static void an_array_of_1024_dimensions(store_kind kind)
{
    static size_t dims[NCZCHUNK_MAX_RANK], chunks[NCZCHUNK_MAX_RANK], start[NCZCHUNK_MAX_RANK];
    const int data[8] = {-1, -2, -3, -4, -5, -6, -7, -8};
    int after[8];
    fixture f;

    for (size_t d = 0; d < NCZCHUNK_MAX_RANK; d++)
        dims[d] = chunks[d] = 1;
    dims[0] = dims[600] = dims[1023] = 2;
    chunks[600] = 2;
    open_array(&f, NCZCHUNK_MAX_RANK, dims, chunks, sizeof(int), kind);
    CHECK_OK(write_array(&f, start, NULL, NULL, data));
    CHECK_EQ(f.array.asked, 0);
    CHECK_EQ(f.array.written, 4);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start, NULL, NULL, after, NULL));
    CHECK(memcmp(data, after, sizeof data) == 0);
    close_array(&f);
}

/* Chunks of 1 x 4 that are parts of another array, which is stored in chunks of 2 x 3. */
static int fill_from_another_array(void *user, nczchunk_request *request)
{
    const fixture *other = user;
    const size_t row[2] = {(size_t)request->chunk_indices[0], 0}, count[2] = {1, 4};

    CHECK_EQ(request->rank, 2);
    CHECK_EQ(request->size, 4 * sizeof(int));
    request->nbytes = request->size;
    return nczchunk_read_vars(other->var, other->store, row, count, NULL, request->buffer, NULL);
}

static int store_to_another_array(void *user, nczchunk_request *request)
{
    const size_t row[2] = {(size_t)request->chunk_indices[0], 0}, count[2] = {1, 4};

    CHECK_EQ(request->rank, 2);
    CHECK_EQ(request->size, 4 * sizeof(int));
    return write_array(user, row, count, NULL, request->buffer);
}

/* A callback may call the library itself: so one array can be written in the chunks of another. */
static void a_callback_may_write(store_kind kind)
{
    const size_t rows[2] = {1, 4}, start[2] = {0, 1}, count[2] = {5, 2};
    const int data[10] = {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10};
    const int expected[20] = {0, -1, -2, 3, 4, -3, -4, 7, 8, -5, -6, 11, 12, -7, -8, 15, 16, -9, -10, 19};
    nczchunk_reader_callbacks callbacks = {
        .struct_size = sizeof callbacks, .fill = fill_from_another_array, .store = store_to_another_array};
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    fixture other;
    int all[20];

    open_array(&other, 2, dimlens, chunklens, sizeof(int), kind);
    callbacks.user = &other;
    CHECK_OK(nczchunk_var_new(2, dimlens, rows, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_write_vars(var, store, start, count, NULL, data, NULL));
    CHECK_OK(nczchunk_read_vars(other.var, other.store, zeros, NULL, NULL, all, NULL));
    CHECK(memcmp(all, expected, sizeof all) == 0);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    close_array(&other);
}

int main(void)
{
    a_chunk_that_lies_in_one_piece_is_not_copied();
    chunks_in_place();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        a_part_of_an_array(store_kinds[i]);
        covered_chunks_are_not_read(store_kinds[i]);
        a_bad_chunk_can_be_replaced(store_kinds[i]);
        chunks_of_one_element_are_covered_under_any_stride(store_kinds[i]);
        every_hyperslab_of_a_small_array(store_kinds[i]);
        bytes_beyond_the_array(store_kinds[i]);
        chunks_of_foreign_byte_order(store_kinds[i]);
        elements_of_any_size(store_kinds[i]);
        elements_of_several_words(store_kinds[i]);
        data_may_lie_anywhere(store_kinds[i]);
        scalars(store_kinds[i]);
        a_count_of_0_writes_nothing(store_kinds[i]);
        stores_that_are_read_only(store_kinds[i]);
        an_array_of_1024_dimensions(store_kinds[i]);
        a_callback_may_write(store_kinds[i]);
    }
    return 0;
}
