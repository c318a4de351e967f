/*
 * Memory that is not laid out as the hyperslab is: Fortran order, transposes, parts of larger arrays, flips.
 *
 * nczchunk_read_varm and nczchunk_write_varm take netCDF's imap: how many elements apart in memory neighbours along
 * each dimension are. nczchunk_read_strided and nczchunk_write_strided take steps in bytes and the bounds of the
 * memory, which they do not leave; they also walk through the variable backwards.
 *
 * A layout is checked against a plain read or write and a loop: element k of the hyperslab must be at its place in
 * memory, and whatever else is there as it was.
 */
#include "memory_array.h"

/* 5 x 4 numbers in chunks of 2 x 3, and what most tests take of them: rows 1 and 3, columns 0 to 2. */
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};
static const size_t start[2] = {1, 0}, count[2] = {2, 3};
static const ptrdiff_t stride[2] = {2, 1};

enum { ROWS = 2, COLUMNS = 3, MEMORY = 64, GUARD = -77 };

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int memory[MEMORY];
} fixture;

static void open_array(fixture *f, size_t rank, const size_t *dims, const size_t *chunks, store_kind kind)
{
    memory_array_init(&f->array, rank, dims, chunks, sizeof(int));
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
    for (size_t i = 0; i < MEMORY; i++)
        f->memory[i] = GUARD;
}

static void open_fixture(fixture *f, store_kind kind)
{
    open_array(f, 2, dimlens, chunklens, kind);
}

static void close_fixture(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* Where element (i, j) of the hyperslab is in memory if the first one is at first. */
static size_t place(ptrdiff_t first, const ptrdiff_t *imap, size_t i, size_t j)
{
    return (size_t)(first + (ptrdiff_t)i * imap[0] + (ptrdiff_t)j * imap[1]);
}

/* Checks that memory has the hyperslab at its places, and nothing elsewhere. */
static void check_memory(const fixture *f, ptrdiff_t first, const ptrdiff_t *imap)
{
    int expected[MEMORY];

    for (size_t i = 0; i < MEMORY; i++)
        expected[i] = GUARD;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            expected[place(first, imap, i, j)] = (int)((start[0] + i * 2) * 4 + start[1] + j);
    CHECK(memcmp(f->memory, expected, sizeof expected) == 0);
}

/* Puts new numbers at the hyperslab's places in memory, and what the array must then be into expected. */
static void make_memory(fixture *f, ptrdiff_t first, const ptrdiff_t *imap, memory_array *expected)
{
    int data[ROWS * COLUMNS];

    memory_array_make_data(&f->array, ROWS * COLUMNS, data);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            f->memory[place(first, imap, i, j)] = data[i * COLUMNS + j];
    *expected = memory_array_copy(&f->array);
    /* Where places coincide the last number is at all of them. */
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            data[i * COLUMNS + j] = f->memory[place(first, imap, i, j)];
    memory_array_put(expected, start, count, stride, NULL, data, NULL);
}

/* The layouts, by name: where the first element is, and how far the others are. */
static const struct { ptrdiff_t first, imap[2]; } layouts[] = {
    {3, {3, 1}},     /* row-major without gaps, as without imap */
    {3, {1, 2}},     /* Fortran order */
    {10, {8, 1}},    /* a part of rows of 8 */
    {5, {20, 5}},    /* every fifth */
    {30, {-3, -1}},  /* both ways backwards */
    {30, {-3, 1}},   /* the rows from the bottom up */
    {30, {3, -1}},   /* each row from right to left */
    {30, {-1, -2}},  /* transposed and backwards */
    {62, {-30, -15}} /* from one end of the memory to the other */
};

enum { NUM_LAYOUTS = sizeof layouts / sizeof *layouts };

/* --- imap. */

static void any_layout_can_be_mapped(store_kind kind)
{
    for (size_t i = 0; i < NUM_LAYOUTS; i++) {
        const ptrdiff_t first = layouts[i].first, *imap = layouts[i].imap;
        memory_array expected;
        int before[MEMORY];
        fixture f;

        open_fixture(&f, kind);
        CHECK_OK(nczchunk_read_varm(f.var, f.store, start, count, stride, imap, f.memory + first, NULL));
        check_memory(&f, first, imap);

        make_memory(&f, first, imap, &expected);
        memcpy(before, f.memory, sizeof before);
        CHECK_OK(nczchunk_write_varm(f.var, f.store, start, count, stride, imap, f.memory + first, NULL));
        memory_array_check_same(&f.array, &expected);
        CHECK(memcmp(f.memory, before, sizeof before) == 0);
        memory_array_clear(&expected);
        close_fixture(&f);
    }
}

/* For who reads in the other order, as Fortran does: the whole array, transposed. */
static void a_transpose(void)
{
    const ptrdiff_t imap[2] = {1, 5};
    const int expected[4][5] = {{0, 4, 8, 12, 16}, {1, 5, 9, 13, 17}, {2, 6, 10, 14, 18}, {3, 7, 11, 15, 19}};
    int data[4][5];
    fixture f;

    open_fixture(&f, LENDING);
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, imap, data, NULL));
    CHECK(memcmp(data, expected, sizeof data) == 0);
    close_fixture(&f);
}

/* Without imap it is nczchunk_read_vars and nczchunk_write_vars. */
static void no_imap_is_row_major(void)
{
    fixture f;
    memory_array expected;
    const ptrdiff_t dense[2] = {3, 1};

    open_fixture(&f, FILLING);
    CHECK_OK(nczchunk_read_varm(f.var, f.store, start, count, stride, NULL, f.memory + 3, NULL));
    check_memory(&f, 3, dense);
    make_memory(&f, 3, dense, &expected);
    CHECK_OK(nczchunk_write_varm(f.var, f.store, start, count, stride, NULL, f.memory + 3, NULL));
    memory_array_check_same(&f.array, &expected);
    memory_array_clear(&expected);
    close_fixture(&f);
}

/*
 * A whole chunk that has its layout in memory is filled in there, and stored from there, whatever lies between chunks.
 */
static void chunks_in_one_piece_are_not_copied(void)
{
    const size_t dims[2] = {6, 4}, rows[2] = {1, 4};
    const ptrdiff_t apart[2] = {10, 1}, transposed[2] = {1, 10};
    int data[60] = {0};
    fixture f;

    open_array(&f, 2, dims, rows, FILLING);
    f.array.data = (const unsigned char *)data;
    f.array.data_size = sizeof data;
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, apart, data, NULL));
    CHECK_EQ(f.array.direct, 6);
    CHECK_OK(nczchunk_write_varm(f.var, f.store, zeros, NULL, NULL, apart, data, NULL));
    CHECK_EQ(f.array.direct, 12);
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, transposed, data, NULL));
    CHECK_EQ(f.array.direct, 12);
    close_fixture(&f);
}

/* Words are swapped, and absent chunks filled in, in any layout. Here columns 1 to 3 of rows 1 and 3 are read
 * backwards; column 3 of row 1 is in the chunk that is absent. */
static void swapped_and_absent_chunks(store_kind kind)
{
    const size_t right[2] = {1, 1};
    const ptrdiff_t backwards[2] = {-3, -1};
    const int fill_value = -999, expected[6] = {15, 14, 13, -999, 6, 5};
    fixture f;

    open_fixture(&f, kind);
    memory_array_swap(&f.array, sizeof(int));
    memory_chunk_remove(&f.array.chunks[1], NCZCHUNK_EEMPTY);
    CHECK_OK(nczchunk_var_set_endian(f.var, foreign_endian(), NULL));
    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    CHECK_OK(nczchunk_read_varm(f.var, f.store, right, count, stride, backwards, f.memory + 30, NULL));
    CHECK(memcmp(f.memory + 25, expected, sizeof expected) == 0);
    CHECK(f.memory[24] == GUARD && f.memory[31] == GUARD);
    close_fixture(&f);
}

/* --- Steps in bytes, within bounds. */

/* Reads into, or writes from, the first size bytes of memory; the first element is at byte offset. */
static int read_strided(fixture *f, const ptrdiff_t *step, size_t size, size_t offset, const ptrdiff_t *strides)
{
    return nczchunk_read_strided(f->var, f->store, start, count, step, f->memory, size, offset, strides, NULL);
}

static int write_strided(fixture *f, const ptrdiff_t *step, size_t size, size_t offset, const ptrdiff_t *strides)
{
    return nczchunk_write_strided(f->var, f->store, start, count, step, f->memory, size, offset, strides, NULL);
}

static void any_layout_can_be_strided(store_kind kind)
{
    for (size_t i = 0; i < NUM_LAYOUTS; i++) {
        const ptrdiff_t first = layouts[i].first, *imap = layouts[i].imap;
        const ptrdiff_t strides[2] = {imap[0] * (ptrdiff_t)sizeof(int), imap[1] * (ptrdiff_t)sizeof(int)};
        const size_t offset = (size_t)first * sizeof(int);
        memory_array expected;
        fixture f;

        open_fixture(&f, kind);
        CHECK_OK(read_strided(&f, stride, sizeof f.memory, offset, strides));
        check_memory(&f, first, imap);
        make_memory(&f, first, imap, &expected);
        CHECK_OK(write_strided(&f, stride, sizeof f.memory, offset, strides));
        memory_array_check_same(&f.array, &expected);
        memory_array_clear(&expected);
        close_fixture(&f);
    }
}

/* Steps need not be whole elements, nor elements be aligned: a field of structures of 7 bytes, say. */
static void a_field_of_packed_structures(store_kind kind)
{
    const ptrdiff_t strides[2] = {21, 7};
    unsigned char records[6 * 7];
    const int news = -5;
    fixture f;

    open_fixture(&f, kind);
    memset(records, 0xAB, sizeof records);
    CHECK_OK(nczchunk_read_strided(f.var, f.store, start, count, stride, records, sizeof records, 2, strides, NULL));
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++) {
            unsigned char *record = records + i * 21 + j * 7;
            int value;

            memcpy(&value, record + 2, sizeof value);
            CHECK_EQ(value, (1 + 2 * i) * 4 + j);
            CHECK(record[0] == 0xAB && record[1] == 0xAB && record[6] == 0xAB);
            memcpy(record + 2, &news, sizeof news);
        }
    CHECK_OK(nczchunk_write_strided(f.var, f.store, start, count, stride, records, sizeof records, 2, strides, NULL));
    CHECK(memcmp(f.array.chunks[0].bytes + 3 * sizeof(int), (const int[3]){-5, -5, -5}, 12) == 0);
    close_fixture(&f);
}

/* Checks 20 numbers that go up from 0, or down to it. */
static void check_up(const int *numbers)
{
    for (int i = 0; i < 20; i++)
        CHECK_EQ(numbers[i], i);
}

static void check_down(const int *numbers)
{
    for (int i = 0; i < 20; i++)
        CHECK_EQ(numbers[i], 19 - i);
}

/* A negative step walks backwards through the variable, from start. Together with a negative stride in memory,
 * everything is back in its order. */
static void flips(store_kind kind)
{
    const size_t corner[2] = {4, 3}, all[2] = {5, 4};
    const ptrdiff_t back[2] = {-1, -1}, forth[2] = {1, 1}, strides[2] = {16, 4}, back_strides[2] = {-16, -4};
    int data[22], reversed[20];
    fixture f;

    open_fixture(&f, kind);
    data[0] = data[21] = GUARD;
    CHECK_OK(nczchunk_read_strided(f.var, f.store, corner, all, back, data + 1, 80, 0, strides, NULL));
    check_down(data + 1);
    CHECK_OK(nczchunk_read_strided(f.var, f.store, zeros, all, forth, data + 1, 80, 76, back_strides, NULL));
    check_down(data + 1);
    CHECK_OK(nczchunk_read_strided(f.var, f.store, corner, all, back, data + 1, 80, 76, back_strides, NULL));
    check_up(data + 1);
    CHECK(data[0] == GUARD && data[21] == GUARD);

    /* What was read backwards and is written forwards turns the array round; once more, and it is as it was. */
    for (int turn = 0; turn < 2; turn++) {
        CHECK_OK(nczchunk_read_strided(f.var, f.store, corner, all, back, data + 1, 80, 0, strides, NULL));
        CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, all, NULL, data + 1, 80, 0, strides, NULL));
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, reversed, NULL));
        (turn == 0 ? check_down : check_up)(reversed);
    }
    /* Written backwards, it is turned round as well. */
    CHECK_OK(nczchunk_write_strided(f.var, f.store, corner, all, back, data + 1, 80, 0, strides, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, reversed, NULL));
    for (int i = 0; i < 20; i++)
        CHECK_EQ(reversed[i], data[20 - i]);
    close_fixture(&f);
}

/* Every step of either sign, in one dimension. */
static void every_step(void)
{
    const size_t dim = 10, chunk = 4;
    const ptrdiff_t bytes = sizeof(int);
    fixture f;

    open_array(&f, 1, &dim, &chunk, FILLING);
    for (size_t from = 0; from < dim; from++)
        for (ptrdiff_t step = -11; step <= 11; step++)
            for (size_t n = 1; n <= 11; n++) {
                ptrdiff_t last = (ptrdiff_t)from + step * (ptrdiff_t)(n - 1);
                int fits = last >= 0 && last < (ptrdiff_t)dim, expected = fits ? 0 : NCZCHUNK_EEDGE, data[11];

                CHECK_EQ(nczchunk_read_strided(f.var, f.store, &from, &n, &step, data, sizeof data, 0, &bytes, NULL),
                         step == 0 ? NCZCHUNK_ESTRIDE : expected);
                for (size_t k = 0; step != 0 && fits && k < n; k++)
                    CHECK_EQ(data[k], (ptrdiff_t)from + step * (ptrdiff_t)k);
            }
    close_fixture(&f);
}

/* A stride of 0 in memory repeats an element: here one row is written to two, and one number to a whole array. */
static void one_value_for_many(store_kind kind)
{
    const ptrdiff_t row[2] = {0, sizeof(int)}, same[2] = {0, 0};
    const size_t all[2] = {5, 4};
    const int numbers[3] = {-1, -2, -3}, number = 42;
    int after[20];
    fixture f;

    open_fixture(&f, kind);
    CHECK_OK(nczchunk_write_strided(f.var, f.store, start, count, stride, numbers, sizeof numbers, 0, row, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start, count, stride, after, NULL));
    CHECK(memcmp(after, (const int[6]){-1, -2, -3, -1, -2, -3}, 24) == 0);

    CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, all, NULL, &number, sizeof number, 0, same, NULL));
    CHECK_OK(nczchunk_write_varm(f.var, f.store, zeros, all, NULL, same, &number, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, after, NULL));
    for (int i = 0; i < 20; i++)
        CHECK_EQ(after[i], 42);

    /* Reading so leaves one of the values there. */
    CHECK_OK(nczchunk_read_strided(f.var, f.store, zeros, all, NULL, after + 1, sizeof(int), 0, same, NULL));
    CHECK_EQ(after[1], 42);
    close_fixture(&f);
}

/* --- What does not fit. Then no callback runs and memory is as it was. */

static void check_refused(fixture *f, const ptrdiff_t *step, size_t size, size_t offset, const ptrdiff_t *strides,
                          int status)
{
    memory_array before = memory_array_copy(&f->array);

    f->array.asked = f->array.written = 0;
    CHECK_EQ(read_strided(f, step, size, offset, strides), status);
    CHECK_EQ(write_strided(f, step, size, offset, strides), status);
    CHECK_EQ(f->array.asked + f->array.written, 0);
    memory_array_check_same(&f->array, &before);
    memory_array_clear(&before);
    for (size_t i = 0; i < MEMORY; i++)
        CHECK_EQ(f->memory[i], GUARD);
}

/* Of each layout the first and the last byte are known: one byte less at either end, and it is refused. */
static void no_element_may_lie_outside(store_kind kind)
{
    for (size_t i = 0; i < NUM_LAYOUTS; i++) {
        ptrdiff_t strides[2], low = 0, high = sizeof(int);
        fixture f;

        open_fixture(&f, kind);
        for (size_t d = 0; d < 2; d++) {
            ptrdiff_t reach;

            strides[d] = layouts[i].imap[d] * (ptrdiff_t)sizeof(int);
            reach = strides[d] * (ptrdiff_t)(count[d] - 1);
            *(reach < 0 ? &low : &high) += reach;
        }
        check_refused(&f, stride, (size_t)(high - low), (size_t)-low - 1, strides, NCZCHUNK_EINVAL);
        check_refused(&f, stride, (size_t)(high - low), (size_t)-low + 1, strides, NCZCHUNK_EINVAL);
        check_refused(&f, stride, (size_t)(high - low) - 1, (size_t)-low, strides, NCZCHUNK_EINVAL);
        CHECK_OK(read_strided(&f, stride, (size_t)(high - low), (size_t)-low, strides));
        close_fixture(&f);
    }
}

/* Nor may the sums wrap around. */
static void layouts_that_no_memory_has(void)
{
    static const struct { ptrdiff_t strides[2]; size_t size, offset; } layouts_of_none[] = {
        {{PTRDIFF_MAX, PTRDIFF_MAX}, SIZE_MAX, 0},
        {{PTRDIFF_MIN, PTRDIFF_MIN}, SIZE_MAX, SIZE_MAX},
        {{PTRDIFF_MAX, 4}, 64, 0},
        {{PTRDIFF_MIN, 4}, 64, 0},
        {{PTRDIFF_MIN, PTRDIFF_MAX}, 64, 32},
        {{12, 4}, 64, SIZE_MAX},
        {{12, 4}, 64, SIZE_MAX - 3},
        {{12, 4}, 0, 0},
        {{12, 4}, SIZE_MAX, 0},
        {{12, 4}, (size_t)PTRDIFF_MAX + 1, 0},
    };

    for (size_t i = 0; i < sizeof layouts_of_none / sizeof *layouts_of_none; i++) {
        fixture f;

        open_fixture(&f, FILLING);
        check_refused(&f, stride, layouts_of_none[i].size, layouts_of_none[i].offset, layouts_of_none[i].strides,
                      NCZCHUNK_EINVAL);
        close_fixture(&f);
    }
}

/* The same of an imap. */
static void maps_that_no_memory_has(void)
{
    static const ptrdiff_t maps[][2] = {
        {PTRDIFF_MAX, 1}, {1, PTRDIFF_MIN}, {PTRDIFF_MAX / 4, PTRDIFF_MAX / 4}, {PTRDIFF_MIN / 4, PTRDIFF_MIN / 4}};

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        fixture f;

        open_fixture(&f, LENDING);
        CHECK_EQ(nczchunk_read_varm(f.var, f.store, start, count, stride, maps[i], f.memory, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_write_varm(f.var, f.store, start, count, stride, maps[i], f.memory, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(f.array.asked + f.array.written, 0);
        close_fixture(&f);
    }
}

/* Where there is one element along a dimension, or none at all, how far the next would be does not matter. */
static void maps_that_are_not_used(void)
{
    const size_t one_row[2] = {1, 3}, none[2] = {2, 0};
    const ptrdiff_t far_rows[2] = {PTRDIFF_MIN, -1}, far_rows_in_bytes[2] = {PTRDIFF_MAX, -4};
    fixture f;

    open_fixture(&f, LENDING);
    CHECK_OK(nczchunk_read_varm(f.var, f.store, start, one_row, stride, far_rows, f.memory + 2, NULL));
    CHECK(memcmp(f.memory, (const int[4]){6, 5, 4, GUARD}, 16) == 0);
    CHECK_OK(nczchunk_write_varm(f.var, f.store, start, one_row, stride, far_rows, f.memory + 2, NULL));
    CHECK_OK(nczchunk_read_strided(f.var, f.store, start, one_row, stride, f.memory, 12, 8, far_rows_in_bytes, NULL));
    CHECK(memcmp(f.memory, (const int[4]){6, 5, 4, GUARD}, 16) == 0);
    CHECK_OK(nczchunk_read_varm(f.var, f.store, start, none, stride, far_rows, f.memory, NULL));
    CHECK_OK(nczchunk_write_varm(f.var, f.store, start, none, stride, far_rows, f.memory, NULL));
    close_fixture(&f);
}

/*
 * A step of 0 is none. A step of either sign may not lead out of the variable: below element 0 is beyond the edge, too.
 */
static void steps_that_lead_nowhere(void)
{
    const ptrdiff_t strides[2] = {12, 4};
    const struct { ptrdiff_t step[2]; int status; } steps[] = {
        {{0, 1}, NCZCHUNK_ESTRIDE},
        {{1, 0}, NCZCHUNK_ESTRIDE},
        {{-2, 1}, NCZCHUNK_EEDGE},               /* from row 1 to row -1 */
        {{1, -1}, NCZCHUNK_EEDGE},               /* from column 0 to column -2 */
        {{4, 1}, NCZCHUNK_EEDGE},                /* from row 1 to row 5 */
        {{PTRDIFF_MAX, 1}, NCZCHUNK_EEDGE},
        {{1, -PTRDIFF_MAX}, NCZCHUNK_EEDGE},
        {{PTRDIFF_MIN, 1}, NCZCHUNK_EEDGE},
        {{-2, 0}, NCZCHUNK_ESTRIDE},             /* a step that is none comes first */
    };
    const ptrdiff_t down[2] = {-1, 1}, negative[2] = {-1, 1};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        fixture f;

        open_fixture(&f, LENDING);
        check_refused(&f, steps[i].step, sizeof f.memory, 0, strides, steps[i].status);
        /* What fits: row 1, then row 0. */
        CHECK_OK(read_strided(&f, down, sizeof f.memory, 0, strides));
        CHECK_EQ(f.memory[0], 4);
        CHECK_EQ(f.memory[3], 0);
        /* The calls that are netCDF's have no negative strides. */
        CHECK_EQ(nczchunk_read_vars(f.var, f.store, start, count, negative, f.memory, NULL), NCZCHUNK_ESTRIDE);
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, start, count, negative, f.memory, NULL), NCZCHUNK_ESTRIDE);
        CHECK_EQ(nczchunk_read_varm(f.var, f.store, start, count, negative, NULL, f.memory, NULL), NCZCHUNK_ESTRIDE);
        CHECK_EQ(nczchunk_write_varm(f.var, f.store, start, count, negative, NULL, f.memory, NULL), NCZCHUNK_ESTRIDE);
        close_fixture(&f);
    }
}

/* Where there is one element the step does not matter. */
static void any_step_to_one_element(void)
{
    const ptrdiff_t steps[] = {1, -1, PTRDIFF_MAX, -PTRDIFF_MAX, PTRDIFF_MIN}, bytes[2] = {4, 4};
    const size_t one[2] = {1, 1}, corner[2] = {4, 3};

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const ptrdiff_t step[2] = {steps[i], steps[i]};
        fixture f;

        open_fixture(&f, LENDING);
        CHECK_OK(nczchunk_read_strided(f.var, f.store, corner, one, step, f.memory, 4, 0, bytes, NULL));
        CHECK_EQ(f.memory[0], 19);
        CHECK_OK(nczchunk_write_strided(f.var, f.store, corner, one, step, f.memory, 4, 0, bytes, NULL));
        CHECK_EQ(f.array.written, 1);
        close_fixture(&f);
    }
}

/* --- Little to do. */

/* If a count is 0 there is nothing to read or write: memory may be NULL, and its bounds do not matter. What leads
 * beyond the far end is told of a read, and not of a write. */
static void a_count_of_0_moves_nothing(void)
{
    const size_t none[2] = {2, 0}, far[2] = {9, 0};
    const ptrdiff_t strides[2] = {PTRDIFF_MAX, PTRDIFF_MIN}, imap[2] = {3, 1}, up[2] = {-1, 1};
    fixture f;

    open_fixture(&f, FILLING);
    CHECK_OK(nczchunk_read_strided(f.var, f.store, zeros, none, NULL, NULL, 0, 0, strides, NULL));
    CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, none, NULL, NULL, 0, 0, strides, NULL));
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, none, NULL, imap, NULL, NULL));
    CHECK_OK(nczchunk_write_varm(f.var, f.store, zeros, none, NULL, imap, NULL, NULL));

    CHECK_EQ(nczchunk_read_varm(f.var, f.store, zeros, far, NULL, imap, NULL, NULL), NCZCHUNK_EEDGE);
    CHECK_OK(nczchunk_write_varm(f.var, f.store, zeros, far, NULL, imap, NULL, NULL));
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, zeros, far, NULL, NULL, 0, 0, strides, NULL), NCZCHUNK_EEDGE);
    CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, far, NULL, NULL, 0, 0, strides, NULL));
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, zeros, none, up, NULL, 0, 0, strides, NULL), NCZCHUNK_EEDGE);
    CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, none, up, NULL, 0, 0, strides, NULL));
    CHECK_EQ(f.array.asked + f.array.written, 0);
    close_fixture(&f);
}

/* A scalar has one place, and no use for lists. Memory is checked all the same. */
static void scalars(store_kind kind)
{
    const ptrdiff_t nonsense = 0;
    int data[3] = {GUARD, 0, GUARD};
    fixture f;

    open_array(&f, 0, NULL, NULL, kind);
    CHECK_OK(nczchunk_write_varm(f.var, f.store, NULL, NULL, NULL, NULL, (const int[1]){17}, NULL));
    CHECK_OK(nczchunk_read_varm(f.var, f.store, NULL, NULL, &nonsense, &nonsense, data + 1, NULL));
    CHECK_EQ(data[1], 17);
    CHECK_OK(nczchunk_write_strided(f.var, f.store, NULL, NULL, NULL, (const int[2]){0, 42}, 8, 4, NULL, NULL));
    CHECK_OK(nczchunk_read_strided(f.var, f.store, NULL, NULL, &nonsense, data, sizeof data, 4, NULL, NULL));
    CHECK_EQ(data[1], 42);
    CHECK_EQ(f.array.written, 2);
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, NULL, NULL, NULL, data, 3, 0, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(f.var, f.store, NULL, NULL, NULL, data, 4, 1, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK(data[0] == GUARD && data[2] == GUARD);
    CHECK_EQ(f.array.written, 2);
    close_fixture(&f);
}

int main(void)
{
    a_transpose();
    no_imap_is_row_major();
    chunks_in_one_piece_are_not_copied();
    every_step();
    layouts_that_no_memory_has();
    maps_that_no_memory_has();
    maps_that_are_not_used();
    steps_that_lead_nowhere();
    any_step_to_one_element();
    a_count_of_0_moves_nothing();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        any_layout_can_be_mapped(store_kinds[i]);
        swapped_and_absent_chunks(store_kinds[i]);
        any_layout_can_be_strided(store_kinds[i]);
        a_field_of_packed_structures(store_kinds[i]);
        flips(store_kinds[i]);
        one_value_for_many(store_kinds[i]);
        no_element_may_lie_outside(store_kinds[i]);
        scalars(store_kinds[i]);
    }
    return 0;
}
