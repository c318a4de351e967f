/*
 * What a variable is told, it tells: its shape, its elements, its byte order. And what two of the things that it is
 * told mean: the order of the elements in a chunk, and the coarser grid by which a variable is written.
 */
#include <limits.h>
#include <stdint.h>

#include "memory_array.h"

static const size_t zeros[3] = {0, 0, 0};

/* --- Getters. */

static void a_new_variable_tells_its_shape(void)
{
    const size_t dims[3] = {12, 0, 7}, chunks[3] = {5, 1, 9};
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(3, dims, chunks, 4, &var, NULL));
    CHECK_EQ(nczchunk_var_rank(var), 3);
    for (size_t d = 0; d < 3; d++) {
        CHECK_EQ(nczchunk_var_dimlen(var, d), dims[d]);
        CHECK_EQ(nczchunk_var_chunklen(var, d), chunks[d]);
        CHECK_EQ(nczchunk_var_write_chunklen(var, d), chunks[d]);
        CHECK_EQ(nczchunk_var_origin(var, d), 0);
    }
    CHECK_EQ(nczchunk_var_element_size(var), 4);
    CHECK_EQ(nczchunk_var_word_size(var), 4);
    CHECK_EQ(nczchunk_var_endian(var), NCZCHUNK_ENDIAN_NATIVE);
    CHECK_EQ(nczchunk_var_chunk_bytes(var), 5 * 1 * 9 * 4);
    CHECK(nczchunk_var_fill_value(var) == NULL);
    nczchunk_var_free(var);
}

static void a_scalar_has_a_chunk_of_one_element(void)
{
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(0, NULL, NULL, 24, &var, NULL));
    CHECK_EQ(nczchunk_var_rank(var), 0);
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 0);
    CHECK_EQ(nczchunk_var_chunk_bytes(var), 24);
    nczchunk_var_free(var);
}

/* What is set is told from then on. */
static void what_was_set_is_told(void)
{
    const size_t dims[2] = {10, 9}, chunks[2] = {2, 3}, grid[2] = {4, 9};
    const unsigned char fill_value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, chunks, 8, &var, NULL));
    CHECK_OK(nczchunk_var_set_dimlen(var, 0, 20, NULL));
    CHECK_OK(nczchunk_var_set_origin(var, 1, -5, NULL));
    CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, NULL));
    CHECK_OK(nczchunk_var_set_word_size(var, 2, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, grid, NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, fill_value, NULL));
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 20);
    CHECK_EQ(nczchunk_var_dimlen(var, 1), 9);
    CHECK_EQ(nczchunk_var_origin(var, 0), 0);
    CHECK_EQ(nczchunk_var_origin(var, 1), -5);
    CHECK_EQ(nczchunk_var_endian(var), NCZCHUNK_ENDIAN_BIG);
    CHECK_EQ(nczchunk_var_word_size(var), 2);
    CHECK_EQ(nczchunk_var_element_size(var), 8);
    for (size_t d = 0; d < 2; d++) {
        CHECK_EQ(nczchunk_var_chunklen(var, d), chunks[d]);
        CHECK_EQ(nczchunk_var_write_chunklen(var, d), grid[d]);
    }
    /* The chunk is the one by which the variable is read. */
    CHECK_EQ(nczchunk_var_chunk_bytes(var), 2 * 3 * 8);
    /* The fill value is a copy of what was given. */
    CHECK(nczchunk_var_fill_value(var) != fill_value);
    CHECK(memcmp(nczchunk_var_fill_value(var), fill_value, 8) == 0);

    CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_LITTLE, NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, NULL, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, NULL, NULL));
    CHECK_EQ(nczchunk_var_endian(var), NCZCHUNK_ENDIAN_LITTLE);
    CHECK(nczchunk_var_fill_value(var) == NULL);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 0), 2);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 1), 3);
    nczchunk_var_free(var);
}

/* What is refused changes nothing. */
static void what_was_refused_is_not_told(void)
{
    const size_t dims[2] = {10, 9}, chunks[2] = {2, 3};
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, chunks, 8, &var, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, (const size_t[2]){4, 9}, NULL));
    CHECK_EQ(nczchunk_var_set_dimlen(var, 0, SIZE_MAX, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_EQ(nczchunk_var_set_origin(var, 1, PTRDIFF_MAX, NULL), NCZCHUNK_EDIMSIZE);
    CHECK_EQ(nczchunk_var_set_endian(var, 3, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_word_size(var, 16, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_write_grid(var, (const size_t[2]){4, 10}, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 10);
    CHECK_EQ(nczchunk_var_origin(var, 1), 0);
    CHECK_EQ(nczchunk_var_endian(var), NCZCHUNK_ENDIAN_NATIVE);
    CHECK_EQ(nczchunk_var_word_size(var), 8);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 0), 4);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 1), 9);
    nczchunk_var_free(var);
}

static void dimensions_that_are_not_there(void)
{
    const size_t dims[2] = {10, 9}, chunks[2] = {2, 3}, beyond[] = {2, 3, 1023, 1024, SIZE_MAX};
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, chunks, 8, &var, NULL));
    for (int has_grid = 0; has_grid < 2; has_grid++) {
        for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
            CHECK_EQ(nczchunk_var_dimlen(var, beyond[i]), 0);
            CHECK_EQ(nczchunk_var_chunklen(var, beyond[i]), 0);
            CHECK_EQ(nczchunk_var_write_chunklen(var, beyond[i]), 0);
            CHECK_EQ(nczchunk_var_origin(var, beyond[i]), 0);
        }
        CHECK_OK(nczchunk_var_set_write_grid(var, (const size_t[2]){4, 9}, NULL));
    }
    nczchunk_var_free(var);
}

static void no_variable_at_all(void)
{
    CHECK_EQ(nczchunk_var_rank(NULL), 0);
    CHECK_EQ(nczchunk_var_dimlen(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_chunklen(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_write_chunklen(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_origin(NULL, 0), 0);
    CHECK_EQ(nczchunk_var_element_size(NULL), 0);
    CHECK_EQ(nczchunk_var_word_size(NULL), 0);
    CHECK_EQ(nczchunk_var_endian(NULL), NCZCHUNK_ENDIAN_NATIVE);
    CHECK_EQ(nczchunk_var_chunk_bytes(NULL), 0);
    CHECK(nczchunk_var_fill_value(NULL) == NULL);
    CHECK_EQ(nczchunk_var_set_chunk_order(NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_write_grid(NULL, NULL, NULL), NCZCHUNK_EINVAL);
}

/* --- Words: elements without them have no byte order, neither this machine's nor the other one. */

static void elements_without_words_have_no_byte_order(void)
{
    for (size_t size = 1; size <= 40; size++) {
        const int is_word = size == 1 || size == 2 || size == 4 || size == 8, has_words = is_word || size == 16;
        const int expected = has_words ? NCZCHUNK_NOERR : NCZCHUNK_EBADTYPE;
        nczchunk_var *var;

        CHECK_OK(nczchunk_var_new(0, NULL, NULL, size, &var, NULL));
        CHECK_EQ(nczchunk_var_word_size(var), is_word ? size : size == 16 ? 8 : 0);
        CHECK_EQ(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_LITTLE, NULL), expected);
        CHECK_EQ(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, NULL), expected);
        CHECK_EQ(nczchunk_var_endian(var), has_words ? NCZCHUNK_ENDIAN_BIG : NCZCHUNK_ENDIAN_NATIVE);
        CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_NATIVE, NULL));
        /* Any element is made of bytes, if that is said. */
        CHECK_OK(nczchunk_var_set_word_size(var, 1, NULL));
        CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_LITTLE, NULL));
        CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_BIG, NULL));
        nczchunk_var_free(var);
    }
}

/* --- The order of the elements in a chunk. */

/* Stores the chunks of an array, which are row-major, in another order: its dimensions from the slowest to the fastest.
 * That is the definition. */
static void store_in_order(memory_array *array, const size_t *order)
{
    const size_t elements = array->chunk_bytes / array->element_size;
    unsigned char *ordered = malloc(array->chunk_bytes);

    CHECK(ordered != NULL);
    for (size_t c = 0; c < array->num_chunks; c++) {
        if (array->chunks[c].bytes == NULL)
            continue;
        for (size_t e = 0; e < elements; e++) {
            size_t indices[3], rest = e, place = 0;

            for (size_t d = array->rank; d-- > 0;) {
                indices[d] = rest % array->chunklens[d];
                rest /= array->chunklens[d];
            }
            for (size_t i = 0; i < array->rank; i++)
                place = place * array->chunklens[order[i]] + indices[order[i]];
            memcpy(ordered + place * array->element_size, array->chunks[c].bytes + e * array->element_size,
                   array->element_size);
        }
        memory_chunk_set(&array->chunks[c], ordered, array->chunk_bytes);
    }
    free(ordered);
}

static const size_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

enum { NUM_ORDERS = sizeof orders / sizeof *orders };

/* 5 x 4 x 6 numbers in chunks of 2 x 3 x 4. */
static const size_t box[3] = {5, 4, 6}, box_chunk[3] = {2, 3, 4};

enum { BOX = 5 * 4 * 6 };

static const struct { size_t start[3], count[3]; ptrdiff_t stride[3]; } boxes[] = {
    {{0, 0, 0}, {5, 4, 6}, {1, 1, 1}}, {{1, 1, 1}, {3, 2, 4}, {1, 1, 1}}, {{0, 1, 0}, {3, 2, 2}, {2, 2, 3}},
    {{2, 0, 0}, {2, 3, 4}, {1, 1, 1}}, {{4, 3, 5}, {1, 1, 1}, {1, 1, 1}}};

enum { NUM_BOXES = sizeof boxes / sizeof *boxes };

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
} fixture;

static const int fill_value = -999;

/* Opens the box with its chunks in an order; chunk number 3 is absent. */
static void open_box(fixture *f, size_t order, store_kind kind, int is_foreign)
{
    memory_array_init(&f->array, 3, box, box_chunk, sizeof(int));
    memory_chunk_remove(&f->array.chunks[3], NCZCHUNK_EEMPTY);
    f->var = memory_array_var(&f->array);
    store_in_order(&f->array, orders[order]);
    if (is_foreign) {
        memory_array_swap(&f->array, sizeof(int));
        CHECK_OK(nczchunk_var_set_endian(f->var, foreign_endian(), NULL));
    }
    CHECK_OK(nczchunk_var_set_fill_value(f->var, &fill_value, NULL));
    CHECK_OK(nczchunk_var_set_chunk_order(f->var, orders[order], NULL));
    f->store = memory_array_store(&f->array, kind);
}

static void close_box(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static void chunks_in_any_order_are_read(store_kind kind)
{
    for (size_t order = 0; order < NUM_ORDERS; order++)
        for (size_t b = 0; b < NUM_BOXES; b++)
            for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
                int data[BOX];
                fixture f;

                open_box(&f, order, kind, is_foreign);
                CHECK_OK(nczchunk_read_vars(f.var, f.store, boxes[b].start, boxes[b].count, boxes[b].stride, data,
                                            NULL));
                memory_array_expect(&f.array, boxes[b].start, boxes[b].count, boxes[b].stride, &fill_value, data);
                close_box(&f);
            }
}

/* Each box is also written, to an array that has all chunks but one. */
static void chunks_in_any_order_are_written(store_kind kind)
{
    for (size_t order = 0; order < NUM_ORDERS; order++)
        for (size_t b = 0; b < NUM_BOXES; b++)
            for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
                int data[BOX];
                memory_array expected;
                size_t asked, written;
                fixture f;

                memory_array_init(&expected, 3, box, box_chunk, sizeof(int));
                memory_chunk_remove(&expected.chunks[3], NCZCHUNK_EEMPTY);
                memory_array_make_data(&expected, BOX, data);
                asked = memory_array_put(&expected, boxes[b].start, boxes[b].count, boxes[b].stride, &fill_value, data,
                                         &written);
                store_in_order(&expected, orders[order]);
                if (is_foreign)
                    memory_array_swap(&expected, sizeof(int));

                open_box(&f, order, kind, is_foreign);
                CHECK_OK(nczchunk_write_vars(f.var, f.store, boxes[b].start, boxes[b].count, boxes[b].stride, data,
                                             NULL));
                memory_array_check_same(&f.array, &expected);
                CHECK_EQ(f.array.asked, asked);
                CHECK_EQ(f.array.written, written);
                close_box(&f);
                memory_array_clear(&expected);
            }
}

/* In memory that has the same order, a chunk lies in one piece: it is filled in there, and stored from there. */
static void fortran_chunks_in_fortran_memory_are_not_copied(void)
{
    const size_t dims[2] = {4, 6}, chunks[2] = {4, 2}, fortran[2] = {1, 0};
    const ptrdiff_t imap[2] = {1, 4};
    memory_array array;
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    int data[24];

    memory_array_init(&array, 2, dims, chunks, sizeof(int));
    store_in_order(&array, fortran);
    array.data = (const unsigned char *)data;
    array.data_size = sizeof data;
    store = memory_array_store(&array, FILLING);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_var_set_chunk_order(var, fortran, NULL));
    CHECK_OK(nczchunk_read_varm(var, store, zeros, NULL, NULL, imap, data, NULL));
    CHECK_EQ(array.direct, 3);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++)
            CHECK_EQ(data[i + 4 * j], 6 * i + j);
    CHECK_OK(nczchunk_write_varm(var, store, zeros, NULL, NULL, imap, data, NULL));
    CHECK_EQ(array.direct, 6);
    /* Row-major memory is another order. */
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    CHECK_EQ(array.direct, 6);
    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* An order names each dimension once. A list that does not is refused, and the order stays what it was. */
static void orders_that_are_none(void)
{
    const size_t wrong[][3] = {{0, 0, 1}, {0, 1, 3}, {2, 2, 2}, {SIZE_MAX, 1, 2}, {1, 2, 1}};
    int data[BOX];
    fixture f;

    open_box(&f, 5, FILLING, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ(nczchunk_var_set_chunk_order(f.var, wrong[i], NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(&f.array, zeros, NULL, NULL, &fill_value, data);
    /* NULL is row-major: then these chunks are read in the wrong order. */
    CHECK_OK(nczchunk_var_set_chunk_order(f.var, NULL, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    CHECK_EQ(data[0], 0);
    CHECK(data[1] != 1);
    CHECK_OK(nczchunk_var_set_chunk_order(f.var, orders[5], NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(&f.array, zeros, NULL, NULL, &fill_value, data);
    close_box(&f);
}

/* --- The write grid: an array of 10 x 9 in chunks of 2 x 3, which are stored in shards of 4 x 6. A shard is written as
 * a whole, and a chunk of it can be read by itself. */

static const size_t plane[2] = {10, 9}, chunklens[2] = {2, 3}, shardlens[2] = {4, 6};

enum { PLANE = 10 * 9, SHARDS = 3 * 2, PLANE_CHUNKS = 5 * 3, CHUNK_BYTES = 2 * 3 * sizeof(int) };

typedef struct sharded {
    memory_array shards; /* first, for its own callbacks take a pointer to it */
    long chunks_read;
    const size_t *order; /* of the elements in a shard; only for row-major ones can chunks be read */
} sharded;

/* Takes a chunk out of its shard. */
static int copy_chunk_of_shard(sharded *s, const ptrdiff_t *chunk, unsigned char *to)
{
    const ptrdiff_t first[2] = {s->shards.first_chunk ? s->shards.first_chunk[0] : 0, 0};
    /* In a shard there are 2 x 2 chunks. */
    const ptrdiff_t from[2] = {chunk[0] - 2 * first[0], chunk[1]};
    const ptrdiff_t shard_indices[2] = {first[0] + from[0] / 2, from[1] / 2};
    const memory_chunk *shard = memory_array_chunk(&s->shards, shard_indices);

    CHECK(s->order == NULL);
    s->chunks_read++;
    if (shard->bytes == NULL)
        return shard->status;
    for (size_t row = 0; row < 2; row++) {
        size_t e = ((size_t)(from[0] % 2) * 2 + row) * 6 + (size_t)(from[1] % 2) * 3;
        memcpy(to + row * 3 * sizeof(int), shard->bytes + e * sizeof(int), 3 * sizeof(int));
    }
    return NCZCHUNK_NOERR;
}

/* For a write it is shards that are fetched, and for a read chunks. */
static int fill_chunk_or_shard(void *user, nczchunk_request *request)
{
    sharded *s = user;

    if (request->access == NCZCHUNK_WRITE) {
        CHECK_EQ(request->chunk_bytes, s->shards.chunk_bytes);
        CHECK_EQ(request->size, s->shards.chunk_bytes);
        return memory_array_fill(&s->shards, request);
    }
    CHECK_EQ(request->chunk_bytes, CHUNK_BYTES);
    CHECK_EQ(request->size, CHUNK_BYTES);
    request->nbytes = CHUNK_BYTES;
    return copy_chunk_of_shard(s, request->chunk_indices, request->buffer);
}

static int lend_chunk(void *user, nczchunk_borrowed_chunk *loan)
{
    int status;

    CHECK_EQ(loan->access, NCZCHUNK_READ);
    CHECK_EQ(loan->chunk_bytes, CHUNK_BYTES);
    loan->handle = malloc(CHUNK_BYTES);
    CHECK(loan->handle != NULL);
    status = copy_chunk_of_shard(user, loan->chunk_indices, loan->handle);
    if (status != NCZCHUNK_NOERR) {
        free(loan->handle);
        return status;
    }
    loan->data = loan->handle;
    loan->nbytes = CHUNK_BYTES;
    return NCZCHUNK_NOERR;
}

static int release_chunk_or_shard(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    if (loan->access == NCZCHUNK_WRITE) {
        CHECK_EQ(loan->chunk_bytes, ((sharded *)user)->shards.chunk_bytes);
        return memory_array_release(user, loan, status);
    }
    free(loan->handle);
    return NCZCHUNK_NOERR;
}

static nczchunk_chunk_store *sharded_store(sharded *s, store_kind kind)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&s->shards);
    nczchunk_reader_callbacks filling = memory_array_filling(&s->shards);
    nczchunk_chunk_store *store;

    filling.fill = fill_chunk_or_shard;
    lending.lend = lend_chunk;
    lending.release = release_chunk_or_shard;
    if (kind == LENDING)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &store, NULL));
    return store;
}

static nczchunk_var *sharded_var(void)
{
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, plane, chunklens, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, shardlens, NULL));
    CHECK_OK(nczchunk_var_set_fill_value(var, &fill_value, NULL));
    return var;
}

static const struct { size_t start[2], count[2]; ptrdiff_t stride[2]; size_t shards, covered; } writes[] = {
    {{0, 0}, {10, 9}, {1, 1}, 6, 6},
    {{2, 3}, {2, 3}, {1, 1}, 1, 0}, /* a whole chunk is only a part of its shard */
    {{0, 0}, {4, 6}, {1, 1}, 1, 1},
    {{3, 0}, {6, 9}, {1, 1}, 6, 2},
    {{8, 6}, {2, 3}, {1, 1}, 1, 1}, /* the last shard, of which this is all that lies inside the dimensions */
    {{0, 0}, {5, 5}, {2, 2}, 6, 0},
    {{1, 0}, {2, 2}, {8, 8}, 4, 0},
};

enum { NUM_WRITES = sizeof writes / sizeof *writes };

/* A write fetches shards, unless it covers them, and stores shards. A read asks for chunks. */
static void a_write_goes_by_whole_shards(store_kind kind)
{
    for (size_t i = 0; i < NUM_WRITES; i++)
        for (int ordered = 0; ordered < 2; ordered++) {
            const size_t fortran[2] = {1, 0};
            sharded s = {.order = ordered ? fortran : NULL};
            memory_array expected;
            nczchunk_chunk_store *store = sharded_store(&s, kind);
            nczchunk_var *var = sharded_var();
            size_t written;
            int data[PLANE], all[PLANE];

            memory_array_init(&s.shards, 2, plane, shardlens, sizeof(int));
            memory_chunk_remove(&s.shards.chunks[3], NCZCHUNK_EEMPTY);
            CHECK_EQ(s.shards.num_chunks, SHARDS);
            expected = memory_array_copy(&s.shards);
            memory_array_make_data(&s.shards, PLANE, data);
            CHECK_EQ(memory_array_put(&expected, writes[i].start, writes[i].count, writes[i].stride, &fill_value, data,
                                      &written),
                     writes[i].shards - writes[i].covered);
            CHECK_EQ(written, writes[i].shards);
            if (ordered) {
                store_in_order(&s.shards, fortran);
                store_in_order(&expected, fortran);
                CHECK_OK(nczchunk_var_set_chunk_order(var, fortran, NULL));
            }
            CHECK_OK(nczchunk_write_vars(var, store, writes[i].start, writes[i].count, writes[i].stride, data, NULL));
            memory_array_check_same(&s.shards, &expected);
            CHECK_EQ(s.shards.asked, writes[i].shards - writes[i].covered);
            CHECK_EQ(s.shards.written, writes[i].shards);
            CHECK_EQ(s.chunks_read, 0);

            if (!ordered) {
                int before[PLANE];

                CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, all, NULL));
                CHECK_EQ(s.chunks_read, PLANE_CHUNKS);
                CHECK_EQ(s.shards.written, writes[i].shards);
                CHECK_OK(nczchunk_read_vars(var, store, writes[i].start, writes[i].count, writes[i].stride, before,
                                            NULL));
                CHECK(memcmp(before, data, writes[i].count[0] * writes[i].count[1] * sizeof(int)) == 0);
            }
            nczchunk_var_free(var);
            nczchunk_chunk_store_free(store);
            memory_array_clear(&expected);
            memory_array_clear(&s.shards);
        }
}

/* A plan for writing is about shards, one for reading about chunks. */
static void plans_go_by_the_grid_of_their_access(void)
{
    nczchunk_var *var = sharded_var();

    for (size_t i = 0; i < NUM_WRITES; i++) {
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;
        size_t covered_chunks = 0;

        CHECK_OK(nczchunk_plan_new(var, writes[i].start, writes[i].count, writes[i].stride, NCZCHUNK_WRITE, &plan,
                                   NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        CHECK_EQ(totals.chunks, writes[i].shards);
        CHECK_EQ(totals.covered_chunks, writes[i].covered);
        CHECK_EQ(totals.elements, writes[i].count[0] * writes[i].count[1]);
        CHECK_EQ(totals.chunk_bytes, writes[i].shards * 4 * 6 * sizeof(int));
        CHECK_EQ(totals.grid_chunks, SHARDS);
        for (size_t c = 0; c < totals.chunks; c++) {
            nczchunk_projection projections[2];
            int covered = -1;

            CHECK_OK(nczchunk_plan_chunk(plan, c, projections, sizeof *projections, &covered, NULL));
            for (size_t d = 0; d < 2; d++)
                CHECK_EQ(projections[d].offset, projections[d].chunk_index * (ptrdiff_t)shardlens[d]);
            covered_chunks += covered == 1;
        }
        CHECK_EQ(covered_chunks, writes[i].covered);
        nczchunk_plan_free(plan);
    }
    {
        nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
        nczchunk_plan *plan;

        CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
        CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
        CHECK_EQ(totals.chunks, PLANE_CHUNKS);
        CHECK_EQ(totals.grid_chunks, PLANE_CHUNKS);
        CHECK_EQ(totals.chunk_bytes, PLANE_CHUNKS * CHUNK_BYTES);
        nczchunk_plan_free(plan);
    }
    nczchunk_var_free(var);
}

/* Two writes to different chunks of one shard disturb each other. So plans share what would be written. */
static void plans_share_shards(void)
{
    static const struct { size_t start[2], other[2]; int shared; } pairs[] = {
        {{0, 0}, {2, 0}, 1}, {{0, 0}, {2, 3}, 1}, {{2, 0}, {4, 0}, 0}, {{0, 3}, {0, 6}, 0}, {{8, 6}, {8, 6}, 1}};
    const size_t count[2] = {2, 3};
    nczchunk_var *var = sharded_var(), *plain = sharded_var();

    CHECK_OK(nczchunk_var_set_write_grid(plain, NULL, NULL));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
            nczchunk_plan *one, *other, *third;
            int shared = -1;

            CHECK_OK(nczchunk_plan_new(var, pairs[i].start, count, NULL, access, &one, NULL));
            CHECK_OK(nczchunk_plan_new(var, pairs[i].other, count, NULL, NCZCHUNK_WRITE, &other, NULL));
            CHECK_OK(nczchunk_plan_shares_chunks(one, other, &shared, NULL));
            CHECK_EQ(shared, pairs[i].shared);
            CHECK_OK(nczchunk_plan_shares_chunks(other, one, &shared, NULL));
            CHECK_EQ(shared, pairs[i].shared);
            /* Plans for another grid cannot be compared. */
            CHECK_OK(nczchunk_plan_new(plain, pairs[i].other, count, NULL, access, &third, NULL));
            CHECK_EQ(nczchunk_plan_shares_chunks(one, third, &shared, NULL), NCZCHUNK_EINVAL);
            nczchunk_plan_free(one);
            nczchunk_plan_free(other);
            nczchunk_plan_free(third);
        }
    nczchunk_var_free(plain);
    nczchunk_var_free(var);
}

/* The parts of a plan for writing have whole shards, each its own. */
static void parts_have_whole_shards(store_kind kind)
{
    const size_t start[2] = {1, 1}, count[2] = {8, 8};

    for (size_t num_parts = 1; num_parts <= SHARDS + 1; num_parts++) {
        sharded s = {.order = NULL};
        memory_array expected;
        nczchunk_chunk_store *store = sharded_store(&s, kind);
        nczchunk_var *var = sharded_var();
        nczchunk_plan *plan;
        int data[64];

        memory_array_init(&s.shards, 2, plane, shardlens, sizeof(int));
        expected = memory_array_copy(&s.shards);
        memory_array_make_data(&s.shards, 64, data);
        memory_array_put(&expected, start, count, NULL, &fill_value, data, NULL);
        CHECK_OK(nczchunk_plan_new(var, start, count, NULL, NCZCHUNK_WRITE, &plan, NULL));
        for (size_t part = num_parts; part-- > 0;) {
            size_t first, number;
            long written = s.shards.written;

            CHECK_OK(nczchunk_plan_part(plan, part, num_parts, &first, &number, NULL));
            CHECK_OK(nczchunk_plan_write(plan, store, first, number, data, NULL));
            CHECK_EQ(s.shards.written - written, number);
        }
        CHECK_EQ(s.shards.written, SHARDS);
        memory_array_check_same(&s.shards, &expected);
        nczchunk_plan_free(plan);
        nczchunk_var_free(var);
        nczchunk_chunk_store_free(store);
        memory_array_clear(&expected);
        memory_array_clear(&s.shards);
    }
}

/* With an origin, both grids begin at multiples of their own lengths: here the first row is row -3, which lies in chunk
 * -2, from row -4 on, and in shard -1, from row -4 on. */
static void both_grids_have_the_origin(store_kind kind)
{
    const size_t all_shards[2] = {12, 12};
    const ptrdiff_t first_shard[2] = {-1, 0};
    nczchunk_projection projections[2];
    sharded s = {.order = NULL};
    nczchunk_chunk_store *store = sharded_store(&s, kind);
    nczchunk_var *var = sharded_var();
    nczchunk_plan *plan;
    int data[PLANE], after[PLANE];

    memory_array_init_absent(&s.shards, 2, all_shards, shardlens, sizeof(int));
    s.shards.first_chunk = first_shard;
    memory_array_make_data(&s.shards, PLANE, data);
    CHECK_OK(nczchunk_var_set_origin(var, 0, -3, NULL));
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 0, projections, sizeof *projections, NULL, NULL));
    CHECK_EQ(projections[0].chunk_index, -2);
    CHECK_EQ(projections[0].first, 1);
    nczchunk_plan_free(plan);
    CHECK_OK(nczchunk_plan_new(var, zeros, NULL, NULL, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_chunk(plan, 0, projections, sizeof *projections, NULL, NULL));
    CHECK_EQ(projections[0].chunk_index, -1);
    CHECK_EQ(projections[0].first, 1);
    nczchunk_plan_free(plan);

    CHECK_OK(nczchunk_write_vars(var, store, zeros, NULL, NULL, data, NULL));
    CHECK_EQ(s.shards.asked, 0);
    CHECK_EQ(s.shards.written, 3 * 2);
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, after, NULL));
    CHECK(memcmp(data, after, sizeof data) == 0);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&s.shards);
}

/* A shard has a whole number of chunks in each dimension, at least one, and fits into memory. */
static void grids_that_are_none(void)
{
    const size_t wrong[][2] = {{3, 6}, {4, 7}, {4, 0}, {0, 6}, {1, 3}, {2, 2}, {SIZE_MAX, 3}};
    const size_t large = (size_t)1 << sizeof(size_t) * CHAR_BIT * 5 / 8, too_large[2] = {large, 3 * large};
    nczchunk_var *var = sharded_var();

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ(nczchunk_var_set_write_grid(var, wrong[i], NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_write_grid(var, too_large, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 0), 4);
    CHECK_EQ(nczchunk_var_write_chunklen(var, 1), 6);
    /* A shard may be larger than the variable. */
    CHECK_OK(nczchunk_var_set_write_grid(var, (const size_t[2]){100, 300}, NULL));
    CHECK_EQ(nczchunk_var_write_chunklen(var, 1), 300);
    nczchunk_var_free(var);
}

int main(void)
{
    a_new_variable_tells_its_shape();
    a_scalar_has_a_chunk_of_one_element();
    what_was_set_is_told();
    what_was_refused_is_not_told();
    dimensions_that_are_not_there();
    no_variable_at_all();
    elements_without_words_have_no_byte_order();
    fortran_chunks_in_fortran_memory_are_not_copied();
    orders_that_are_none();
    plans_go_by_the_grid_of_their_access();
    plans_share_shards();
    grids_that_are_none();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        chunks_in_any_order_are_read(store_kinds[i]);
        chunks_in_any_order_are_written(store_kinds[i]);
        a_write_goes_by_whole_shards(store_kinds[i]);
        parts_have_whole_shards(store_kinds[i]);
        both_grids_have_the_origin(store_kinds[i]);
    }
    return 0;
}
