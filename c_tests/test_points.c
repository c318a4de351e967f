/*
 * Points and lists of indices: elements that no stride describes.
 *
 * The array has 6 rows of 10 numbers, 10 * row + column, in chunks of 2 x 4:
 *
 *               columns 0..3   4..7   8 9
 *     rows 0 1       chunk 0     1     2
 *     rows 2 3             3     4     5
 *     rows 4 5             6     7     8
 */
#include "check.h"
#include "nczchunk.h"

#define NUM_CHUNKS 9
#define ROWS 2
#define COLUMNS 4
#define FILL (-1)

static const size_t dimlens[2] = {6, 10}, chunklens[2] = {ROWS, COLUMNS};

/* The chunks, whether they are there, and how often each was asked for and stored. */
typedef struct grid {
    int chunks[NUM_CHUNKS][ROWS][COLUMNS];
    int is_absent[NUM_CHUNKS], num_asked[NUM_CHUNKS], num_stored[NUM_CHUNKS];
    int fails_at; /* this chunk cannot be fetched; -1: none */
} grid;

static void grid_init(grid *g)
{
    memset(g, 0, sizeof *g);
    g->fails_at = -1;
    for (int c = 0; c < NUM_CHUNKS; c++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                g->chunks[c][i][j] = 10 * (ROWS * (c / 3) + i) + COLUMNS * (c % 3) + j;
}

/* The element, or where it is. */
static int *grid_at(grid *g, size_t row, size_t column)
{
    return &g->chunks[3 * (row / ROWS) + column / COLUMNS][row % ROWS][column % COLUMNS];
}

static int number_of(const nczchunk_request *request)
{
    return (int)(3 * request->chunk_indices[0] + request->chunk_indices[1]);
}

static int fetch(void *user, nczchunk_request *request)
{
    grid *g = user;
    int chunk = number_of(request);
    g->num_asked[chunk]++;
    if (chunk == g->fails_at)
        return 5;
    if (g->is_absent[chunk])
        return NCZCHUNK_EEMPTY;
    memcpy(request->buffer, g->chunks[chunk], request->size);
    request->nbytes = request->size;
    return NCZCHUNK_NOERR;
}

static int keep(void *user, nczchunk_request *request)
{
    grid *g = user;
    int chunk = number_of(request);
    g->num_stored[chunk]++;
    memcpy(g->chunks[chunk], request->buffer, request->size);
    return NCZCHUNK_NOERR;
}

/* That of the chunks just these were asked for, and just those stored, each once; they are forgotten then. */
static void check_calls(grid *g, const char *asked, const char *stored)
{
    for (int c = 0; c < NUM_CHUNKS; c++) {
        CHECK_EQ(g->num_asked[c], strchr(asked, '0' + c) != NULL);
        CHECK_EQ(g->num_stored[c], strchr(stored, '0' + c) != NULL);
        g->num_asked[c] = g->num_stored[c] = 0;
    }
}

static nczchunk_var *new_var(void)
{
    nczchunk_var *var = NULL;
    int fill = FILL;
    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, &fill, NULL));
    return var;
}

static nczchunk_chunk_store *new_store(grid *g)
{
    nczchunk_chunk_store *store = NULL;
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .user = g, .fill = fetch, .store = keep};
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    return store;
}

/* Points come in the order in which they are named, and each chunk is asked for once. */
static void points_are_read_in_their_order(nczchunk_var *var, nczchunk_chunk_store *store, grid *g)
{
    const size_t points[6][2] = {{5, 9}, {0, 0}, {1, 3}, {5, 9}, {2, 4}, {0, 1}};
    const int expected[6] = {59, 0, 13, 59, 24, 1};
    int got[6];
    CHECK_OK(nczchunk_read_points(var, store, 6, &points[0][0], got, NULL));
    CHECK(!memcmp(got, expected, sizeof got));
    check_calls(g, "084", "");

    /* What is absent reads as the fill value. */
    g->is_absent[4] = 1;
    CHECK_OK(nczchunk_read_points(var, store, 6, &points[0][0], got, NULL));
    CHECK(got[0] == 59 && got[4] == FILL && got[5] == 1);
    check_calls(g, "084", "");
    g->is_absent[4] = 0;
}

/* A list selects along its dimension alone: what is read is every combination. */
static void lists_are_read_as_their_product(nczchunk_var *var, nczchunk_chunk_store *store, grid *g)
{
    const size_t rows[3] = {4, 1, 4}, columns[2] = {9, 0};
    const size_t *both[2] = {rows, columns}, *one[2] = {rows, NULL};
    const size_t count[2] = {3, 2}, start[2] = {0, 3}, every_other[2] = {3, 4};
    const ptrdiff_t stride[2] = {1, 2};
    const int expected[3][2] = {{49, 40}, {19, 10}, {49, 40}};
    int got[3][2], of_slice[3][4];
    CHECK_OK(nczchunk_read_lists(var, store, NULL, count, NULL, both, got, NULL));
    CHECK(!memcmp(got, expected, sizeof got));
    check_calls(g, "0268", "");

    /* The other dimension may have a start, a count and a stride. */
    CHECK_OK(nczchunk_read_lists(var, store, start, every_other, stride, one, of_slice, NULL));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            CHECK_EQ(of_slice[i][j], 10 * (int)rows[i] + 3 + 2 * j);
    check_calls(g, "012678", "");

    /* Without lists it is a hyperslab. */
    int hyperslab[3][4], same[3][4];
    CHECK_OK(nczchunk_read_lists(var, store, start, every_other, stride, NULL, hyperslab, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, start, every_other, stride, same, NULL));
    CHECK(!memcmp(hyperslab, same, sizeof same));
}

/* Each chunk is stored once, and fetched before unless all of it is replaced. Of several values the last one stays. */
static void what_is_written_last_stays(nczchunk_var *var, nczchunk_chunk_store *store, grid *g)
{
    grid_init(g);
    const size_t points[4][2] = {{0, 2}, {5, 0}, {0, 2}, {1, 1}};
    const int values[4] = {-10, -11, -12, -13};
    CHECK_OK(nczchunk_write_points(var, store, 4, &points[0][0], values, NULL));
    CHECK_EQ(*grid_at(g, 0, 2), -12);
    CHECK_EQ(*grid_at(g, 5, 0), -11);
    CHECK_EQ(*grid_at(g, 1, 1), -13);
    CHECK_EQ(*grid_at(g, 1, 2), 12);
    check_calls(g, "06", "06");

    /* All that there is of chunk 2, which the array's end clips: columns 8 and 9 of rows 0 and 1. */
    const size_t rows[3] = {1, 0, 1}, columns[2] = {9, 8};
    const size_t *lists[2] = {rows, columns};
    const size_t count[2] = {3, 2};
    const int pairs[3][2] = {{100, 101}, {102, 103}, {104, 105}};
    CHECK_OK(nczchunk_write_lists(var, store, NULL, count, NULL, lists, pairs, NULL));
    CHECK_EQ(*grid_at(g, 0, 9), 102);
    CHECK_EQ(*grid_at(g, 0, 8), 103);
    CHECK_EQ(*grid_at(g, 1, 9), 104);
    CHECK_EQ(*grid_at(g, 1, 8), 105);
    CHECK_EQ(g->chunks[2][0][2], FILL);
    check_calls(g, "", "2");
}

/* Nothing is asked for and nothing changes if an argument is wrong, and the context says what is. */
static void wrong_arguments_change_nothing(nczchunk_var *var, nczchunk_chunk_store *store, grid *g)
{
    nczchunk_context *context = NULL;
    CHECK_OK(nczchunk_context_new(&context));
    const size_t points[2][2] = {{0, 0}, {5, 10}};
    int data[2] = {7, 7};
    CHECK_EQ(nczchunk_read_points(var, store, 2, &points[0][0], data, context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_context_dimension(context), 1);
    CHECK_STR(nczchunk_context_message(context), "dimension 1: index 10 is outside the dimension, whose length is 10");
    CHECK_EQ(nczchunk_write_points(var, store, 2, &points[0][0], data, context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_read_points(var, store, 1, NULL, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_points(var, store, 1, &points[0][0], NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_points(NULL, store, 1, &points[0][0], data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_points(var, NULL, 1, &points[0][0], data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_points(var, store, SIZE_MAX / 2, &points[0][0], data, NULL), NCZCHUNK_EINVAL);

    const size_t rows[1] = {6}, huge[2] = {SIZE_MAX / 4, 1}, count[2] = {1, 1}, start[2] = {0, 0};
    const size_t *lists[2] = {rows, NULL};
    CHECK_EQ(nczchunk_read_lists(var, store, start, count, NULL, lists, data, context), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_context_dimension(context), 0);
    CHECK_EQ(nczchunk_read_lists(var, store, NULL, count, NULL, lists, data, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_read_lists(var, store, start, NULL, NULL, lists, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_lists(var, store, start, huge, NULL, lists, data, NULL), NCZCHUNK_EINVAL);
    CHECK(data[0] == 7 && data[1] == 7);

    /* Of nothing, there is nothing to do. */
    const size_t none[2] = {0, 1};
    CHECK_OK(nczchunk_read_points(var, store, 0, NULL, NULL, NULL));
    CHECK_OK(nczchunk_write_points(var, store, 0, NULL, NULL, NULL));
    CHECK_OK(nczchunk_read_lists(var, store, start, none, NULL, lists, NULL, NULL));
    CHECK_OK(nczchunk_write_lists(var, store, start, none, NULL, lists, NULL, NULL));
    check_calls(g, "", "");
    nczchunk_context_free(context);
}

/* If a chunk fails, those before it have been written and those after it have not, as in any other write. */
static void a_chunk_that_fails_ends_the_call(nczchunk_var *var, nczchunk_chunk_store *store, grid *g)
{
    nczchunk_context *context = NULL;
    size_t rank = 0;
    CHECK_OK(nczchunk_context_new(&context));
    grid_init(g);
    g->fails_at = 4;
    const size_t points[3][2] = {{5, 9}, {2, 4}, {0, 0}};
    const int values[3] = {-1, -2, -3};
    CHECK_EQ(nczchunk_write_points(var, store, 3, &points[0][0], values, context), 5);
    CHECK_EQ(nczchunk_context_chunks_done(context), 1);
    const ptrdiff_t *chunk = nczchunk_context_chunk(context, &rank);
    CHECK(rank == 2 && chunk[0] == 1 && chunk[1] == 1);
    CHECK_EQ(*grid_at(g, 0, 0), -3);
    CHECK_EQ(*grid_at(g, 5, 9), 59);
    check_calls(g, "04", "0");
    nczchunk_context_free(context);
}

static int fetch_scalar(void *user, nczchunk_request *request)
{
    memcpy(request->buffer, user, request->size);
    request->nbytes = request->size;
    return NCZCHUNK_NOERR;
}

/* A scalar has one element, which may be named any number of times. */
static void a_scalar_has_points_without_indices(void)
{
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;
    int value = 42, got[3] = {0};
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &value, .fill = fetch_scalar};
    CHECK_OK(nczchunk_var_new(0, NULL, NULL, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_read_points(var, store, 3, NULL, got, NULL));
    CHECK(got[0] == 42 && got[1] == 42 && got[2] == 42);
    CHECK_EQ(nczchunk_read_points(var, store, SIZE_MAX, NULL, got, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_read_lists(var, store, NULL, NULL, NULL, NULL, got, NULL));
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

int main(void)
{
    grid g;
    grid_init(&g);
    nczchunk_var *var = new_var();
    nczchunk_chunk_store *store = new_store(&g);
    points_are_read_in_their_order(var, store, &g);
    lists_are_read_as_their_product(var, store, &g);
    memset(g.num_asked, 0, sizeof g.num_asked);
    what_is_written_last_stays(var, store, &g);
    wrong_arguments_change_nothing(var, store, &g);
    a_chunk_that_fails_ends_the_call(var, store, &g);
    a_scalar_has_points_without_indices();
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    return 0;
}
