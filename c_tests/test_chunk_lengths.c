/*
 * Chunks that differ in length: several files as one array.
 *
 * Two files have 10 steps of 3 numbers each, in chunks of 4 steps. Each file's last chunk is stored at full size
 * although only 2 of its steps are data, so the array of both has chunks that contribute 4, 4, 2, 4, 4 and 2 steps and
 * decode to 4 each:
 *
 *     steps   0..3 | 4..7 | 8 9 (2 more) | 10..13 | 14..17 | 18 19 (2 more)
 *     chunk     0  |   1  |      2       |    3   |    4   |      5
 */
#include "check.h"
#include "nczchunk.h"

#define NUM_CHUNKS 6
#define STEPS 4
#define WIDTH 3
#define JUNK (-77)
#define FILL (-1)

static const size_t dimlens[2] = {20, WIDTH}, chunklens[2] = {STEPS, WIDTH};
static const size_t lengths[NUM_CHUNKS] = {4, 4, 2, 4, 4, 2}, encoded[NUM_CHUNKS] = {4, 4, 4, 4, 4, 4};

/* The chunks as the files have them: step i has the numbers 10 * i, 10 * i + 1 and 10 * i + 2. */
typedef struct files {
    int chunks[NUM_CHUNKS][STEPS][WIDTH];
    size_t chunk_bytes[NUM_CHUNKS];
    int num_read, num_written;
} files;

static void open_files(files *f)
{
    int step = 0;
    memset(f, 0, sizeof *f);
    for (size_t c = 0; c < NUM_CHUNKS; c++) {
        for (size_t i = 0; i < STEPS; i++)
            for (size_t j = 0; j < WIDTH; j++)
                f->chunks[c][i][j] = i < lengths[c] ? 10 * (step + (int)i) + (int)j : JUNK;
        step += (int)lengths[c];
    }
}

static int fetch(void *user, nczchunk_request *request)
{
    files *f = user;
    size_t chunk = (size_t)request->chunk_indices[0];
    f->num_read++;
    f->chunk_bytes[chunk] = request->chunk_bytes;
    memcpy(request->buffer, f->chunks[chunk], request->size);
    request->nbytes = request->size;
    return NCZCHUNK_NOERR;
}

static int keep(void *user, nczchunk_request *request)
{
    files *f = user;
    f->num_written++;
    memcpy(f->chunks[request->chunk_indices[0]], request->buffer, request->size);
    return NCZCHUNK_NOERR;
}

static nczchunk_var *new_var(void)
{
    nczchunk_var *var = NULL;
    int fill = FILL;
    CHECK_OK(nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, &fill, NULL));
    CHECK_OK(nczchunk_var_set_chunk_lengths(var, 0, NUM_CHUNKS, lengths, encoded, NULL));
    return var;
}

static nczchunk_chunk_store *new_store(files *f)
{
    nczchunk_chunk_store *store = NULL;
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .user = f, .fill = fetch, .store = keep};
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    return store;
}

/* Steps 7, 10, 13 and 16 are read across the seam of the files, each from its chunk. */
static void several_files_are_read_as_one_array(void)
{
    files f;
    open_files(&f);
    nczchunk_var *var = new_var();
    nczchunk_chunk_store *store = new_store(&f);
    const size_t start[2] = {7, 1}, count[2] = {4, 2};
    const ptrdiff_t stride[2] = {3, 1};
    int got[4][2];
    CHECK_OK(nczchunk_read_vars(var, store, start, count, stride, got, NULL));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
            CHECK_EQ(got[i][j], 10 * (7 + 3 * i) + 1 + j);
    CHECK_EQ(f.num_read, 3);
    for (int c = 0; c < NUM_CHUNKS; c++)
        CHECK_EQ(f.chunk_bytes[c], c == 1 || c == 3 || c == 4 ? STEPS * WIDTH * sizeof(int) : 0);

    /* A plan tells the same before anything is read. */
    nczchunk_plan *plan = NULL;
    nczchunk_projection projections[2];
    CHECK_OK(nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 1, projections, sizeof *projections, NULL, NULL));
    CHECK_EQ(projections[0].chunk_index, 3);
    CHECK_EQ(projections[0].offset, 10);
    CHECK_EQ(projections[0].first, 0);
    CHECK_EQ(projections[0].last, 3);
    CHECK_EQ(projections[0].iocount, 2);
    nczchunk_plan_free(plan);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

/* A write of all steps that a chunk contributes needs no read of it, and what is behind them becomes fill values. */
static void what_a_chunk_does_not_contribute_is_filled(void)
{
    files f;
    open_files(&f);
    nczchunk_var *var = new_var();
    nczchunk_chunk_store *store = new_store(&f);
    const size_t start[2] = {8, 0}, count[2] = {3, WIDTH};
    int data[3][WIDTH];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < WIDTH; j++)
            data[i][j] = 1000 + 10 * i + j;
    CHECK_OK(nczchunk_write_vars(var, store, start, count, NULL, data, NULL));
    CHECK_EQ(f.num_read, 1);
    CHECK_EQ(f.num_written, 2);
    for (int j = 0; j < WIDTH; j++) {
        CHECK_EQ(f.chunks[2][1][j], 1010 + j);
        CHECK_EQ(f.chunks[2][2][j], FILL);
        CHECK_EQ(f.chunks[3][0][j], 1020 + j);
        CHECK_EQ(f.chunks[3][1][j], 110 + j);
    }
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

static void the_variable_tells_where_chunks_lie(void)
{
    nczchunk_var *var = new_var();
    size_t first = 0;
    CHECK_EQ(nczchunk_var_num_chunks(var, 0), NUM_CHUNKS);
    CHECK_EQ(nczchunk_var_num_chunks(var, 1), 1);
    CHECK_EQ(nczchunk_var_num_chunks(var, 2), 0);
    CHECK_EQ(nczchunk_var_num_chunks(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_is_regular(var, 0), 0);
    CHECK_EQ(nczchunk_var_is_regular(var, 1), 1);
    CHECK_EQ(nczchunk_var_is_regular(var, 2), 0);
    CHECK_EQ(nczchunk_var_is_regular(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_chunklen(var, 0), STEPS);
    CHECK_EQ(nczchunk_var_chunk_bytes(var), STEPS * WIDTH * sizeof(int));
    for (ptrdiff_t c = 0; c < NUM_CHUNKS; c++) {
        size_t start = 99, length = 99, encoded_length = 99;
        CHECK_OK(nczchunk_var_chunk_extent(var, 0, c, &start, &length, &encoded_length, NULL));
        CHECK_EQ(start, first);
        CHECK_EQ(length, lengths[c]);
        CHECK_EQ(encoded_length, encoded[c]);
        CHECK_OK(nczchunk_var_chunk_extent(var, 0, c, NULL, NULL, NULL, NULL));
        first += length;
    }
    CHECK_EQ(nczchunk_var_chunk_extent(var, 0, NUM_CHUNKS, NULL, NULL, NULL, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_var_chunk_extent(var, 0, -1, NULL, NULL, NULL, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_var_chunk_extent(var, 2, 0, NULL, NULL, NULL, NULL), NCZCHUNK_EBADDIM);
    CHECK_EQ(nczchunk_var_chunk_extent(NULL, 0, 0, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);

    /* The dimension may end within a chunk, and not behind the last. */
    CHECK_OK(nczchunk_var_set_dimlen(var, 0, 9, NULL));
    size_t length = 0;
    CHECK_OK(nczchunk_var_chunk_extent(var, 0, 2, NULL, &length, NULL, NULL));
    CHECK_EQ(length, 1);
    CHECK_EQ(nczchunk_var_num_chunks(var, 0), 3);
    CHECK_EQ(nczchunk_var_set_dimlen(var, 0, 21, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_origin(var, 0, -1, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_OK(nczchunk_var_set_dimlen(var, 0, 20, NULL));

    /* Chunks of one length again: those of 4. */
    CHECK_OK(nczchunk_var_set_chunk_lengths(var, 0, 0, NULL, NULL, NULL));
    CHECK_EQ(nczchunk_var_is_regular(var, 0), 1);
    CHECK_EQ(nczchunk_var_num_chunks(var, 0), 5);
    CHECK_OK(nczchunk_var_set_dimlen(var, 0, 21, NULL));
    nczchunk_var_free(var);
}

/* What is refused leaves the chunks as they were. */
static void check_refused(nczchunk_var *var, size_t num, const size_t *lens, const size_t *full, const char *why)
{
    nczchunk_context *context = NULL;
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_var_set_chunk_lengths(var, 0, num, lens, full, context), NCZCHUNK_EINVAL);
    CHECK(strstr(nczchunk_context_message(context), why) != NULL);
    CHECK_EQ(nczchunk_var_num_chunks(var, 0), NUM_CHUNKS);
    nczchunk_context_free(context);
}

static void lists_that_make_no_sense_are_refused(void)
{
    nczchunk_var *var = new_var();
    const size_t zero[2] = {20, 0}, half = (size_t)-1 / 2, huge[3] = {half, half, half}, write_grid[2] = {8, WIDTH};
    const ptrdiff_t behind = 1;
    check_refused(var, 5, lengths, NULL, "ends before the dimension does");
    check_refused(var, 0, lengths, NULL, "is empty");
    check_refused(var, 2, zero, NULL, "the chunk length is 0");
    check_refused(var, NUM_CHUNKS, encoded, lengths, "encoded length is less");
    check_refused(var, 3, huge, NULL, "more than can be counted");
    check_refused(var, 1, huge, NULL, "larger than memory can hold");
    CHECK_EQ(nczchunk_var_set_chunk_lengths(var, 2, NUM_CHUNKS, lengths, encoded, NULL), NCZCHUNK_EBADDIM);
    CHECK_EQ(nczchunk_var_set_chunk_lengths(NULL, 0, NUM_CHUNKS, lengths, encoded, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_write_grid(var, write_grid, NULL), NCZCHUNK_EINVAL);

    CHECK_OK(nczchunk_var_set_chunk_lengths(var, 0, 0, NULL, NULL, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, write_grid, NULL));
    CHECK_EQ(nczchunk_var_set_chunk_lengths(var, 0, NUM_CHUNKS, lengths, encoded, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_var_set_write_grid(var, NULL, NULL));
    CHECK_OK(nczchunk_var_set_origin(var, 0, behind, NULL));
    CHECK_EQ(nczchunk_var_set_chunk_lengths(var, 0, NUM_CHUNKS, lengths, encoded, NULL), NCZCHUNK_EDIMSIZE);
    nczchunk_var_free(var);
}

int main(void)
{
    several_files_are_read_as_one_array();
    what_a_chunk_does_not_contribute_is_filled();
    the_variable_tells_where_chunks_lie();
    lists_that_make_no_sense_are_refused();
    return 0;
}
