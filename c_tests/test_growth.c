/*
 * Dimensions that grow: at their end, as an unlimited one does, and at their beginning, as cfdb's can.
 */
#include "memory_array.h"

enum { ROWS = 12, COLUMNS = 5 };

/* --- At the end: the variable is told the current length with nczchunk_var_set_dimlen. */

/* Room for 12 x 5 numbers in chunks of 4 x 3, of which a variable sees the first rows only. */
static const size_t room[2] = {ROWS, COLUMNS}, chunklens[2] = {4, 3}, zeros[2] = {0, 0};

/* What is beyond the end is not there: it can be written once the dimension has grown, and not before. */
static void rows_are_appended(void)
{
    const int fill_value = -999;

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        int data[ROWS * COLUMNS], after[ROWS * COLUMNS];
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init_absent(&array, 2, room, chunklens, sizeof(int));
        memory_array_make_data(&array, ROWS * COLUMNS, data);
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_var_new(2, (const size_t[2]){0, COLUMNS}, chunklens, sizeof(int), &var, NULL));
        CHECK_OK(nczchunk_var_set_fill_value(var, &fill_value, NULL));
        for (size_t rows = 0; rows < ROWS; rows++) {
            const size_t start[2] = {rows, 0}, count[2] = {1, COLUMNS}, seen[2] = {rows + 1, COLUMNS};
            long written = array.written;

            CHECK_EQ(nczchunk_write_vars(var, store, start, count, NULL, data + rows * COLUMNS, NULL),
                     NCZCHUNK_EINVALCOORDS);
            CHECK_EQ(array.written, written);
            CHECK_OK(nczchunk_var_set_dimlen(var, 0, rows + 1, NULL));
            /* The row is there now, and nothing in it yet. */
            CHECK_OK(nczchunk_read_vars(var, store, start, count, NULL, after, NULL));
            for (size_t column = 0; column < COLUMNS; column++)
                CHECK_EQ(after[column], fill_value);
            CHECK_OK(nczchunk_write_vars(var, store, start, count, NULL, data + rows * COLUMNS, NULL));
            CHECK_EQ(array.written, written + 2);

            CHECK_OK(nczchunk_read_vars(var, store, zeros, seen, NULL, after, NULL));
            CHECK(memcmp(after, data, (rows + 1) * COLUMNS * sizeof(int)) == 0);
        }
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* The last chunk is covered if all that there is of it is written. When more is, it is one to be changed. */
static void what_covers_a_chunk_grows_with_it(void)
{
    const size_t start[2] = {4, 0}, two[2] = {2, 3};
    const int data[6] = {1, 2, 3, 4, 5, 6};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init(&array, 2, room, chunklens, sizeof(int));
        var = memory_array_var(&array);
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_var_set_dimlen(var, 0, 6, NULL));
        CHECK_OK(nczchunk_write_vars(var, store, start, two, NULL, data, NULL));
        CHECK_EQ(array.asked, 0);
        CHECK_OK(nczchunk_var_set_dimlen(var, 0, 7, NULL));
        CHECK_OK(nczchunk_write_vars(var, store, start, two, NULL, data, NULL));
        CHECK_EQ(array.asked, 1);
        CHECK_EQ(array.written, 2);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* Strides end with the dimension, not with its last chunk, and another dimension's rows stay in step: 13 columns in
 * chunks of 8, every third of them; 365 in chunks of 30; 4 in a chunk of 8. Read and written. */
static void strides_end_at_the_current_length(void)
{
    static const struct { size_t dimlen, chunklen, count; ptrdiff_t stride; } rows[] = {
        {13, 8, 5, 3}, {365, 30, 122, 3}, {4, 8, 2, 3}};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const size_t dims[2] = {3, rows[i].dimlen}, chunks[2] = {1, rows[i].chunklen};
            const size_t count[2] = {3, rows[i].count};
            const size_t too_many[2] = {3, rows[i].count + 1};
            const ptrdiff_t stride[2] = {1, rows[i].stride};
            int data[3 * 123], after[3 * 123];
            memory_array array, expected;
            nczchunk_var *var;
            nczchunk_chunk_store *store;

            memory_array_init(&array, 2, dims, chunks, sizeof(int));
            store = memory_array_store(&array, store_kinds[kind]);
            CHECK_OK(nczchunk_var_new(2, (const size_t[2]){3, 0}, chunks, sizeof(int), &var, NULL));
            CHECK_OK(nczchunk_var_set_dimlen(var, 1, rows[i].dimlen, NULL));
            CHECK_OK(nczchunk_read_vars(var, store, zeros, count, stride, data, NULL));
            memory_array_expect(&array, zeros, count, stride, NULL, data);
            CHECK_EQ(nczchunk_read_vars(var, store, zeros, too_many, stride, data, NULL), NCZCHUNK_EEDGE);

            memory_array_make_data(&array, 3 * count[1], data);
            expected = memory_array_copy(&array);
            memory_array_put(&expected, zeros, count, stride, NULL, data, NULL);
            CHECK_OK(nczchunk_write_vars(var, store, zeros, count, stride, data, NULL));
            memory_array_check_same(&array, &expected);
            CHECK_EQ(nczchunk_write_vars(var, store, zeros, too_many, stride, data, NULL), NCZCHUNK_EEDGE);
            memory_array_check_same(&array, &expected);
            CHECK_OK(nczchunk_read_vars(var, store, zeros, count, stride, after, NULL));
            CHECK(memcmp(data, after, 3 * count[1] * sizeof(int)) == 0);
            memory_array_clear(&expected);
            nczchunk_chunk_store_free(store);
            nczchunk_var_free(var);
            memory_array_clear(&array);
        }
    }
}

/* --- At the beginning: the variable is told where in the grid of chunks its first element lies, its origin. */

/* A variable of 12 x 5 numbers that was prepended to: its first row is row -5 of the grid, so the chunks begin at rows
 * -8, -4, 0 and 4. (tests/facts/chunk_keys.json has these keys as cfdb writes them.) */
static nczchunk_var *prepended_var(void)
{
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, room, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_var_set_origin(var, 0, -5, NULL));
    return var;
}

static void check_key(const nczchunk_projection *box, const char *expected)
{
    const ptrdiff_t indices[2] = {box[0].chunk_index, box[1].chunk_index};
    char key[32];

    CHECK_OK(nczchunk_key_cfdb("v", 2, chunklens, indices, key, sizeof key, NULL, NULL));
    CHECK_STR(key, expected);
}

/* The first row is in the chunk that begins at row -8, of which three rows lie before it. */
static void the_first_row_s_chunk(void)
{
    nczchunk_var *var = prepended_var();
    nczchunk_plan *plan;
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_projection box[2];
    int covered = -1;

    CHECK_OK(nczchunk_plan_new(var, zeros, (const size_t[2]){1, 3}, NULL, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 0, box, sizeof *box, &covered, NULL));
    check_key(box, "v!-8.0");
    CHECK_EQ(box[0].chunk_index, -2);
    CHECK_EQ(box[0].offset, -8);
    CHECK_EQ(box[0].first, 3);
    CHECK_EQ(box[0].last, 3);
    CHECK_EQ(box[0].limit, 4);
    /* It is all of the chunk that lies inside the variable. */
    CHECK_EQ(covered, 1);
    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    CHECK_EQ(totals.covered_chunks, 1);
    CHECK_EQ(totals.grid_chunks, 4 * 2);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

/* Rows 2 to 8 and columns 1 to 4: which chunks, what of each, and where it goes. */
static void a_slab_over_the_origin(void)
{
    static const struct {
        const char *key;
        size_t from[2], to[2], out_from[2], out_to[2]; /* half-open, as in Python */
    } chunks[] = {
        {"v!-4.0", {1, 1}, {4, 3}, {0, 0}, {3, 2}},
        {"v!-4.3", {1, 0}, {4, 2}, {0, 2}, {3, 4}},
        {"v!0.0", {0, 1}, {4, 3}, {3, 0}, {7, 2}},
        {"v!0.3", {0, 0}, {4, 2}, {3, 2}, {7, 4}},
    };
    const size_t start[2] = {2, 1}, count[2] = {7, 4};
    nczchunk_var *var = prepended_var();
    nczchunk_plan *plan;
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    CHECK_OK(nczchunk_plan_new(var, start, count, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    CHECK_EQ(totals.chunks, 4);
    CHECK_EQ(totals.covered_chunks, 1);
    for (size_t i = 0; i < 4; i++) {
        nczchunk_projection box[2];

        CHECK_OK(nczchunk_plan_chunk(plan, i, box, sizeof *box, NULL, NULL));
        check_key(box, chunks[i].key);
        for (size_t d = 0; d < 2; d++) {
            CHECK_EQ(box[d].first, chunks[i].from[d]);
            CHECK_EQ(box[d].last + 1, chunks[i].to[d]);
            CHECK_EQ(box[d].iopos, chunks[i].out_from[d]);
            CHECK_EQ(box[d].iopos + box[d].iocount, chunks[i].out_to[d]);
        }
    }
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

/* The rows that can be there in the end: 20 of them, from row -11 of the grid to row 8. */
enum { ALL_ROWS = 20, FIRST_ROW = -11 };

/* Rows are put in front of others, two or three at a time, in a grid with chunks from -3 on. Each time all of the rows
 * are read back: those that were there have new numbers, and are otherwise as they were. */
static void rows_are_prepended(void)
{
    const size_t grid[2] = {24, 6};
    const ptrdiff_t first_chunk[2] = {-3, 0};
    const size_t steps[] = {2, 3, 1, 4, 1};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        int data[ALL_ROWS * COLUMNS], after[ALL_ROWS * COLUMNS];
        size_t rows = 9, row = ALL_ROWS - rows; /* of data, where the variable begins */
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init_absent(&array, 2, grid, chunklens, sizeof(int));
        array.first_chunk = first_chunk;
        memory_array_make_data(&array, ALL_ROWS * COLUMNS, data);
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_var_new(2, (const size_t[2]){rows, COLUMNS}, chunklens, sizeof(int), &var, NULL));
        CHECK_OK(nczchunk_write_vars(var, store, zeros, NULL, NULL, data + row * COLUMNS, NULL));
        CHECK_EQ(array.asked, 0);

        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            const size_t count[2] = {steps[i], COLUMNS};

            rows += steps[i];
            row -= steps[i];
            CHECK_OK(nczchunk_var_set_origin(var, 0, FIRST_ROW + (ptrdiff_t)row, NULL));
            CHECK_OK(nczchunk_var_set_dimlen(var, 0, rows, NULL));
            CHECK_OK(nczchunk_write_vars(var, store, zeros, count, NULL, data + row * COLUMNS, NULL));
            CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, after, NULL));
            CHECK(memcmp(after, data + row * COLUMNS, rows * COLUMNS * sizeof(int)) == 0);
        }
        CHECK_EQ(row, 0);

        /* Every third row from the second on, and backwards, across all chunks. */
        {
            const size_t second[2] = {1, 0}, last[2] = {19, 0}, seven[2] = {7, COLUMNS};
            const ptrdiff_t thirds[2] = {3, 1}, back[2] = {-3, 1}, strides[2] = {COLUMNS * sizeof(int), sizeof(int)};

            CHECK_OK(nczchunk_read_vars(var, store, second, seven, thirds, after, NULL));
            for (size_t i = 0; i < 7; i++)
                CHECK(memcmp(after + i * COLUMNS, data + (1 + 3 * i) * COLUMNS, COLUMNS * sizeof(int)) == 0);
            CHECK_OK(nczchunk_read_strided(var, store, last, seven, back, after, sizeof after, 0, strides, NULL));
            for (size_t i = 0; i < 7; i++)
                CHECK(memcmp(after + i * COLUMNS, data + (19 - 3 * i) * COLUMNS, COLUMNS * sizeof(int)) == 0);
        }
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* A chunk made anew has fill values where the variable does not reach: here before its first row. */
static void what_lies_before_the_first_row(void)
{
    const size_t grid[2] = {24, 6}, count[2] = {1, 3};
    const ptrdiff_t first_chunk[2] = {-2, 0};
    const int fill_value = -999, data[3] = {1, 2, 3};
    const int expected[12] = {-999, -999, -999, -999, -999, -999, -999, -999, -999, 1, 2, 3};

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        nczchunk_var *var = prepended_var();
        memory_array array;
        nczchunk_chunk_store *store;

        memory_array_init_absent(&array, 2, grid, chunklens, sizeof(int));
        array.first_chunk = first_chunk;
        store = memory_array_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_var_set_fill_value(var, &fill_value, NULL));
        CHECK_OK(nczchunk_write_vars(var, store, zeros, count, NULL, data, NULL));
        CHECK_EQ(array.asked, 0);
        CHECK(memcmp(array.chunks[0].bytes, expected, sizeof expected) == 0);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* An origin must leave room for the dimension among the indices there are. Refused, it is as it was. */
static void origins_that_leave_no_room(void)
{
    const size_t long_dim = (size_t)PTRDIFF_MAX + 1, one = 1;
    nczchunk_projection box[2];
    nczchunk_plan *plan;
    nczchunk_var *var = prepended_var();

    CHECK_EQ(nczchunk_var_set_origin(var, 2, 0, NULL), NCZCHUNK_EBADDIM);
    CHECK_EQ(nczchunk_var_set_origin(var, 0, PTRDIFF_MAX, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_OK(nczchunk_var_set_origin(var, 1, PTRDIFF_MAX - 4, NULL));
    CHECK_EQ(nczchunk_var_set_dimlen(var, 1, 6, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_EQ(nczchunk_var_set_origin(var, 1, PTRDIFF_MIN, NULL), NCZCHUNK_EDIMSIZE); /* no multiple of 3 */
    CHECK_OK(nczchunk_var_set_origin(var, 1, 0, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 0, box, sizeof *box, NULL, NULL));
    CHECK_EQ(box[0].chunk_index, -2);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);

    /* The longest dimension has room below 0 only. */
    CHECK_OK(nczchunk_var_new(1, &long_dim, &one, 1, &var, NULL));
    CHECK_EQ(nczchunk_var_set_origin(var, 0, 1, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_OK(nczchunk_var_set_origin(var, 0, PTRDIFF_MIN, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, &one, NULL, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 0, box, sizeof *box, NULL, NULL));
    CHECK_EQ(box[0].chunk_index, PTRDIFF_MIN);
    CHECK_EQ(nczchunk_var_set_origin(NULL, 0, 0, NULL), NCZCHUNK_EINVAL);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

int main(void)
{
    rows_are_appended();
    what_covers_a_chunk_grows_with_it();
    strides_end_at_the_current_length();
    the_first_row_s_chunk();
    a_slab_over_the_origin();
    rows_are_prepended();
    what_lies_before_the_first_row();
    origins_that_leave_no_room();
    return 0;
}
