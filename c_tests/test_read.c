/*
 * Reading hyperslabs: start here.
 *
 * A read needs a variable, which says how the array is cut into chunks, and a store, which gets the chunks from
 * callbacks. The callbacks are those of memory_array.h, over an array whose elements are 0, 1, 2, ... in row-major
 * order.
 */
#include "memory_array.h"

/* What most tests read: 5 x 4 numbers in chunks of 2 x 3, which reach beyond the array at both ends.
 *
 *      0  1  2 |  3
 *      4  5  6 |  7
 *     ---------+---
 *      8  9 10 | 11
 *     12 13 14 | 15
 *     ---------+---
 *     16 17 18 | 19
 */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};

/* An array, its variable and a store that reads from it. */
typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
} fixture;

static void open_array(fixture *f, size_t rank, const size_t *dims, const size_t *chunks, size_t element_size,
                       store_kind kind)
{
    memory_array_init(&f->array, rank, dims, chunks, element_size);
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
}

static void close_array(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    CHECK_EQ(f->array.destroyed, 1);
    memory_array_clear(&f->array);
}

/* Makes the array one that another kind of machine wrote. */
static void set_foreign(fixture *f, size_t word)
{
    memory_array_swap(&f->array, word);
    CHECK_OK(nczchunk_var_set_endian(f->var, foreign_endian(), NULL));
}

static int read_array(const fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride, void *data)
{
    return nczchunk_read_vars(f->var, f->store, start, count, stride, data, NULL);
}

/* Reads and checks what was read against the array. */
static void check_read(const fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                       const void *fill_value)
{
    unsigned char data[1024];

    memset(data, 0xAB, sizeof data);
    CHECK_OK(read_array(f, start, count, stride, data));
    memory_array_expect(&f->array, start, count, stride, fill_value, data);
}

/* Lending: the callback returns a pointer to a chunk that is in memory already, and gets it back when it is copied. */
static void chunks_can_be_lent(void)
{
    const size_t start[2] = {1, 2}, count[2] = {2, 2};
    const int expected[4] = {6, 7, 10, 11};
    fixture f;
    int data[4];

    open_array(&f, 2, dimlens, chunklens, sizeof(int), LENDING);
    CHECK_OK(read_array(&f, start, count, NULL, data));
    CHECK(memcmp(data, expected, sizeof data) == 0);
    /* Four chunks meet there: each was asked for once, and given back. */
    CHECK_EQ(f.array.asked, 4);
    CHECK_EQ(f.array.released, 4);
    close_array(&f);
}

/* Filling: the callback writes the chunk into a buffer that it is given. */
static void chunks_can_be_filled_in(void)
{
    const size_t start[2] = {1, 2}, count[2] = {2, 2};
    const int expected[4] = {6, 7, 10, 11};
    fixture f;
    int data[4];

    open_array(&f, 2, dimlens, chunklens, sizeof(int), FILLING);
    CHECK_OK(read_array(&f, start, count, NULL, data));
    CHECK(memcmp(data, expected, sizeof data) == 0);
    CHECK_EQ(f.array.asked, 4);
    close_array(&f);
}

/* Says where data is wanted, so that the fixture counts how often it is asked to write there. */
static void read_and_watch(fixture *f, const size_t *start, const size_t *count, const ptrdiff_t *stride, int *data,
                           size_t data_size)
{
    f->array.data = (const unsigned char *)data;
    f->array.data_size = data_size;
    f->array.asked = f->array.direct = 0;
    CHECK_OK(read_array(f, start, count, stride, data));
    memory_array_expect(&f->array, start, count, stride, NULL, data);
}

/* A chunk that lands in one piece is written where the caller wants it: the buffer that fill gets is a part of data. */
static void a_chunk_that_lands_in_one_piece_is_not_copied(void)
{
    const size_t dims[2] = {6, 8}, rows[2] = {2, 8}, start[2] = {2, 0}, count[2] = {4, 8};
    fixture f;
    int data[32];

    open_array(&f, 2, dims, rows, sizeof(int), FILLING);
    read_and_watch(&f, start, count, NULL, data, sizeof data);
    CHECK_EQ(f.array.asked, 2);
    CHECK_EQ(f.array.direct, 2);
    close_array(&f);
}

/* A chunk of which only a part is wanted, or whose rows lie apart in data, goes through a buffer of the library's. */
static void a_chunk_that_does_not_is(void)
{
    const size_t dims[2] = {6, 8}, rows[2] = {2, 8}, halves[2] = {2, 4};
    const size_t start[2] = {1, 0}, count[2] = {4, 8}, narrow[2] = {4, 4};
    const ptrdiff_t every_other[2] = {1, 2};
    fixture f;
    int data[32];

    open_array(&f, 2, dims, rows, sizeof(int), FILLING);
    /* Of the three chunks, the first and the last are cut through. */
    read_and_watch(&f, start, count, NULL, data, sizeof data);
    CHECK_EQ(f.array.asked, 3);
    CHECK_EQ(f.array.direct, 1);
    /* Every other column. */
    read_and_watch(&f, start, narrow, every_other, data, sizeof data);
    CHECK_EQ(f.array.direct, 0);
    close_array(&f);

    /* Two chunks side by side have their rows in turns. */
    open_array(&f, 2, dims, halves, sizeof(int), FILLING);
    read_and_watch(&f, start, count, NULL, data, sizeof data);
    CHECK_EQ(f.array.direct, 0);
    close_array(&f);
}

/* A clipped chunk is stored at full size, so it does not fit where only its inside is wanted. */
static void a_clipped_chunk_is_copied(void)
{
    const size_t dim = 10, chunk = 4;
    fixture f;
    int data[10];

    open_array(&f, 1, &dim, &chunk, sizeof(int), FILLING);
    read_and_watch(&f, (const size_t[1]){0}, (const size_t[1]){10}, NULL, data, sizeof data);
    CHECK_EQ(f.array.asked, 3);
    CHECK_EQ(f.array.direct, 2);
    close_array(&f);
}

/* Every hyperslab that fits, by either kind of store. */
static void every_hyperslab_of_a_small_array(store_kind kind)
{
    size_t start[2], count[2];
    ptrdiff_t stride[2];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    for (start[0] = 0; start[0] < 5; start[0]++)
        for (start[1] = 0; start[1] < 4; start[1]++)
            for (stride[0] = 1; stride[0] < 5; stride[0]++)
                for (stride[1] = 1; stride[1] < 4; stride[1]++)
                    for (count[0] = 1; start[0] + (count[0] - 1) * (size_t)stride[0] < 5; count[0]++)
                        for (count[1] = 1; start[1] + (count[1] - 1) * (size_t)stride[1] < 4; count[1]++)
                            check_read(&f, start, count, stride, NULL);
    close_array(&f);
}

/* Nothing is written outside the place for the result. */
static void only_the_result_is_written(store_kind kind)
{
    const size_t start[2] = {0, 1}, count[2] = {3, 2};
    const ptrdiff_t stride[2] = {2, 2};
    int guarded[8] = {-1, 0, 0, 0, 0, 0, 0, -1};
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    CHECK_OK(read_array(&f, start, count, stride, guarded + 1));
    memory_array_expect(&f.array, start, count, stride, NULL, guarded + 1);
    CHECK_EQ(guarded[0], -1);
    CHECK_EQ(guarded[7], -1);
    close_array(&f);
}

/* data need not be aligned. */
static void the_result_may_lie_anywhere(store_kind kind)
{
    unsigned char data[20 * 8 + 8];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, 8, kind);
    set_foreign(&f, 8);
    for (size_t shift = 0; shift < 8; shift++) {
        CHECK_OK(read_array(&f, zeros, NULL, NULL, data + shift));
        memory_array_expect(&f.array, zeros, NULL, NULL, NULL, data + shift);
    }
    close_array(&f);
}

/* A chunk that is absent is no error: it reads as the fill value, zeros unless one is set. */
static void absent_chunks_read_as_the_fill_value(store_kind kind)
{
    const int fill_value = -999;
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    memory_chunk_remove(&f.array.chunks[1], NCZCHUNK_EEMPTY);
    memory_chunk_remove(&f.array.chunks[4], NCZCHUNK_ENOOBJECT);
    check_read(&f, zeros, NULL, NULL, NULL);

    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    check_read(&f, zeros, NULL, NULL, &fill_value);

    /* Set to NULL, it is zeros again. */
    CHECK_OK(nczchunk_var_set_fill_value(f.var, NULL, NULL));
    check_read(&f, zeros, NULL, NULL, NULL);
    close_array(&f);
}

/* A filling callback may find out that a chunk is absent when it has written something already: that does not stay. */
static void what_is_written_for_an_absent_chunk_is_ignored(void)
{
    const size_t dim = 8, chunk = 4, zero = 0;
    const int expected[8] = {0, 0, 0, 0, 4, 5, 6, 7};
    int data[8];
    fixture f;

    open_array(&f, 1, &dim, &chunk, sizeof(int), FILLING);
    f.array.chunks[0].status = NCZCHUNK_EEMPTY;
    CHECK_OK(read_array(&f, &zero, NULL, NULL, data));
    CHECK(memcmp(data, expected, sizeof data) == 0);
    close_array(&f);
}

/* Chunks that another machine wrote are swapped on the way. The fill value is in native order and never swapped. */
static void chunks_of_foreign_byte_order(store_kind kind)
{
    const size_t element_sizes[4] = {1, 2, 4, 8};
    const unsigned char fill_value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < 4; i++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, element_sizes[i], kind);
        set_foreign(&f, element_sizes[i]);
        memory_chunk_remove(&f.array.chunks[3], NCZCHUNK_EEMPTY);
        CHECK_OK(nczchunk_var_set_fill_value(f.var, fill_value, NULL));
        check_read(&f, zeros, NULL, NULL, fill_value);
        close_array(&f);
    }
}

/* A foreign chunk that lands in one piece is still not copied: it is swapped where it lies. */
static void foreign_chunks_are_swapped_in_place(void)
{
    const size_t dim = 8, chunk = 4, start = 0, count = 8;
    fixture f;
    int data[8];

    open_array(&f, 1, &dim, &chunk, sizeof(int), FILLING);
    set_foreign(&f, sizeof(int));
    read_and_watch(&f, &start, &count, NULL, data, sizeof data);
    CHECK_EQ(f.array.direct, 2);
    close_array(&f);
}

/* Elements may have any size: structures, text of fixed length. */
static void elements_of_any_size(store_kind kind)
{
    const size_t start[2] = {1, 0}, count[2] = {2, 2};
    const ptrdiff_t stride[2] = {3, 2};
    const unsigned char fill_value[17] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    for (size_t element_size = 1; element_size <= 17; element_size++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, element_size, kind);
        CHECK_OK(nczchunk_var_set_fill_value(f.var, fill_value, NULL));
        memory_chunk_remove(&f.array.chunks[5], NCZCHUNK_EEMPTY);
        check_read(&f, zeros, NULL, NULL, fill_value);
        check_read(&f, start, count, stride, fill_value);
        close_array(&f);
    }
}

/* A complex number of 16 bytes is two words, of 8 bytes each, and each is swapped by itself. */
static void complex_numbers_of_16_bytes(store_kind kind)
{
    fixture f;

    open_array(&f, 2, dimlens, chunklens, 16, kind);
    set_foreign(&f, 8);
    check_read(&f, zeros, NULL, NULL, NULL);
    close_array(&f);
}

/* What other elements are made of must be said: here complex numbers of 8 bytes, and structures of three words. */
static void elements_of_several_words(store_kind kind)
{
    const struct { size_t element_size, word; } elements[] = {{8, 4}, {12, 4}, {6, 2}, {24, 8}, {5, 1}};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        fixture f;

        open_array(&f, 2, dimlens, chunklens, elements[i].element_size, kind);
        CHECK_OK(nczchunk_var_set_word_size(f.var, elements[i].word, NULL));
        set_foreign(&f, elements[i].word);
        check_read(&f, zeros, NULL, NULL, NULL);
        close_array(&f);
    }
}

/* Without it, such elements have no byte order; and not every size is one of words. */
static void words_must_divide_an_element(void)
{
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(0, NULL, NULL, 12, &var, NULL));
    CHECK_EQ(nczchunk_var_set_endian(var, foreign_endian(), NULL), NCZCHUNK_EBADTYPE);
    CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_NATIVE, NULL));
    CHECK_EQ(nczchunk_var_set_word_size(var, 0, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_word_size(var, 3, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_word_size(var, 8, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_word_size(var, 16, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_var_set_word_size(var, 4, NULL));
    CHECK_OK(nczchunk_var_set_endian(var, foreign_endian(), NULL));
    CHECK_EQ(nczchunk_var_set_endian(var, 3, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_endian(var, -1, NULL), NCZCHUNK_EINVAL);
    nczchunk_var_free(var);
}

/* A scalar is an array of rank 0, with one chunk of one element. start, count and stride are ignored. */
static void scalars(store_kind kind)
{
    const size_t nonsense = 99;
    const ptrdiff_t no_stride = 0;
    const double stored = 2.5;
    double value = -1;
    fixture f;

    open_array(&f, 0, NULL, NULL, sizeof value, kind);
    memory_chunk_set(&f.array.chunks[0], &stored, sizeof stored);
    CHECK_OK(read_array(&f, NULL, NULL, NULL, &value));
    CHECK(value == 2.5);
    value = -1;
    CHECK_OK(read_array(&f, &nonsense, &nonsense, &no_stride, &value));
    CHECK(value == 2.5);

    memory_chunk_remove(&f.array.chunks[0], NCZCHUNK_EEMPTY);
    CHECK_OK(read_array(&f, NULL, NULL, NULL, &value));
    CHECK(value == 0);
    close_array(&f);
}

/* An unlimited dimension is given at its current length. When it grows, say so; reads are checked against it. */
static void an_unlimited_dimension_grows(store_kind kind)
{
    const size_t all[2] = {5, 4}, three[2] = {3, 4};
    int data[20];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    CHECK_OK(nczchunk_var_set_dimlen(f.var, 0, 3, NULL));
    CHECK_EQ(read_array(&f, zeros, all, NULL, data), NCZCHUNK_EEDGE);
    CHECK_EQ(f.array.asked, 0);
    check_read(&f, zeros, three, NULL, NULL);
    CHECK_OK(nczchunk_var_set_dimlen(f.var, 0, 5, NULL));
    check_read(&f, zeros, all, NULL, NULL);

    CHECK_EQ(nczchunk_var_set_dimlen(f.var, 2, 5, NULL), NCZCHUNK_EBADDIM);
    CHECK_EQ(nczchunk_var_set_dimlen(f.var, 0, (size_t)PTRDIFF_MAX + 2, NULL), NCZCHUNK_EDIMSIZE);
    /* Refused, it is as it was. */
    check_read(&f, zeros, all, NULL, NULL);
    close_array(&f);
}

/* Strides over a partly filled last chunk stop at the dimension's end, not the chunk's: 13 elements in chunks of 8. */
static void strides_end_with_the_dimension(store_kind kind)
{
    const size_t dims[2] = {3, 13}, chunks[2] = {1, 8}, start[2] = {0, 0}, count[2] = {3, 5};
    const ptrdiff_t stride[2] = {1, 3};
    fixture f;

    open_array(&f, 2, dims, chunks, sizeof(int), kind);
    check_read(&f, start, count, stride, NULL);
    close_array(&f);
}

/* If any count is 0 nothing is selected: no callback runs, nothing is written, and data may be NULL. */
static void a_count_of_0_reads_nothing(store_kind kind)
{
    const size_t start[2] = {1, 4}, count[2] = {2, 0};
    int data = -1;
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), kind);
    CHECK_OK(read_array(&f, start, count, NULL, &data));
    CHECK_OK(read_array(&f, start, count, NULL, NULL));
    CHECK_EQ(data, -1);
    CHECK_EQ(f.array.asked, 0);
    close_array(&f);
}

/* So does a dimension of length 0, of which there is nothing to select. */
static void an_empty_dimension_has_nothing_to_read(void)
{
    const size_t dims[2] = {3, 0}, chunks[2] = {2, 2};
    fixture f;

    open_array(&f, 2, dims, chunks, sizeof(int), FILLING);
    CHECK_OK(read_array(&f, zeros, NULL, NULL, NULL));
    CHECK_EQ(f.array.asked, 0);
    close_array(&f);
}

/* count NULL is the whole length of every dimension, so it goes with a start of 0; stride NULL is 1 everywhere. */
static void count_and_stride_may_be_left_out(void)
{
    const size_t one_down[2] = {1, 0};
    const ptrdiff_t ones[2] = {1, 1};
    int data[20];
    fixture f;

    open_array(&f, 2, dimlens, chunklens, sizeof(int), LENDING);
    check_read(&f, zeros, NULL, NULL, NULL);
    check_read(&f, zeros, NULL, ones, NULL);
    check_read(&f, one_down, (const size_t[2]){4, 4}, NULL, NULL);
    CHECK_EQ(read_array(&f, one_down, NULL, NULL, data), NCZCHUNK_EEDGE);
    CHECK_EQ(read_array(&f, NULL, NULL, NULL, data), NCZCHUNK_EINVALCOORDS);
    close_array(&f);
}

/* The largest rank: nearly all of the dimensions have length 1, so there are 8 chunks of 2 elements. */
static void an_array_of_1024_dimensions(store_kind kind)
{
    static size_t dims[NCZCHUNK_MAX_RANK], chunks[NCZCHUNK_MAX_RANK], start[NCZCHUNK_MAX_RANK];
    static size_t origin[NCZCHUNK_MAX_RANK], count[NCZCHUNK_MAX_RANK];
    static ptrdiff_t stride[NCZCHUNK_MAX_RANK];
    fixture f;

    for (size_t d = 0; d < NCZCHUNK_MAX_RANK; d++)
        dims[d] = chunks[d] = count[d] = 1, stride[d] = 1;
    dims[0] = dims[9] = dims[600] = dims[1023] = 2;
    chunks[600] = 2;
    count[0] = count[600] = count[1023] = 2;
    start[9] = 1;

    open_array(&f, NCZCHUNK_MAX_RANK, dims, chunks, sizeof(int), kind);
    check_read(&f, origin, NULL, NULL, NULL);
    CHECK_EQ(f.array.asked, 8);
    check_read(&f, start, count, stride, NULL);
    CHECK_EQ(f.array.asked, 8 + 4);
    close_array(&f);
}

/* Fills in chunks of 1 x 4 by reading them from an array that is stored in chunks of 2 x 3. */
static int fill_from_another_array(void *user, nczchunk_request *request)
{
    const fixture *source = user;
    const size_t row[2] = {(size_t)request->chunk_indices[0], 0}, count[2] = {1, 4};

    CHECK_EQ(request->rank, 2);
    CHECK_EQ(request->size, 4 * sizeof(int));
    request->nbytes = 4 * sizeof(int);
    return read_array(source, row, count, NULL, request->buffer);
}

/* A callback may call the library itself: so one array can be seen in the chunks of another. */
static void a_callback_may_read(store_kind kind)
{
    const size_t rows[2] = {1, 4}, start[2] = {0, 1}, count[2] = {5, 2};
    fixture source;
    nczchunk_reader_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = &source, .fill = fill_from_another_array};
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int data[10];

    open_array(&source, 2, dimlens, chunklens, sizeof(int), kind);
    CHECK_OK(nczchunk_var_new(2, dimlens, rows, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, start, count, NULL, data, NULL));
    memory_array_expect(&source.array, start, count, NULL, NULL, data);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    close_array(&source);
}

int main(void)
{
    chunks_can_be_lent();
    chunks_can_be_filled_in();
    a_chunk_that_lands_in_one_piece_is_not_copied();
    a_chunk_that_does_not_is();
    a_clipped_chunk_is_copied();
    what_is_written_for_an_absent_chunk_is_ignored();
    foreign_chunks_are_swapped_in_place();
    words_must_divide_an_element();
    an_empty_dimension_has_nothing_to_read();
    count_and_stride_may_be_left_out();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        every_hyperslab_of_a_small_array(store_kinds[i]);
        only_the_result_is_written(store_kinds[i]);
        the_result_may_lie_anywhere(store_kinds[i]);
        absent_chunks_read_as_the_fill_value(store_kinds[i]);
        chunks_of_foreign_byte_order(store_kinds[i]);
        elements_of_any_size(store_kinds[i]);
        complex_numbers_of_16_bytes(store_kinds[i]);
        elements_of_several_words(store_kinds[i]);
        scalars(store_kinds[i]);
        an_unlimited_dimension_grows(store_kinds[i]);
        strides_end_with_the_dimension(store_kinds[i]);
        a_count_of_0_reads_nothing(store_kinds[i]);
        an_array_of_1024_dimensions(store_kinds[i]);
        a_callback_may_read(store_kinds[i]);
    }
    return 0;
}
