/*
 * Large chunks, of which little is needed. A filling store that says that it serves ranges is asked for parts of a
 * chunk: as many bytes as the request's size, from its offset on.
 *
 *     nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = read_range, .ranges = 1};
 *
 * And chunks that are longer than they should be, for stores that accept them.
 */
#include <errno.h>
#include <stdint.h>

#include "zstd_frame.h"

static const size_t zeros[3] = {0, 0, 0};

/* --- A chunk of 100 MB that is nowhere: its numbers are 0, 1, 2, ... and are made when they are asked for. */

enum { SIDE = 5000, MOST_REQUESTS = 100 };

static const size_t side[2] = {SIDE, SIDE};

static const size_t large_bytes = (size_t)SIDE * SIDE * sizeof(int);

typedef struct remote {
    /* What it was asked for. */
    size_t num_requests, num_bytes;
    struct { size_t offset, size; } requests[MOST_REQUESTS];
    /* How many of the requests were for a place in the caller's data. */
    const unsigned char *data;
    size_t data_size, direct;
    int is_foreign;
} remote;

static int fetch_range(void *user, nczchunk_request *request)
{
    remote *r = user;
    const uintptr_t buffer = (uintptr_t)request->buffer, data = (uintptr_t)r->data;

    CHECK_EQ(request->access, NCZCHUNK_READ);
    CHECK_EQ(request->chunk_bytes, large_bytes);
    CHECK(request->offset < large_bytes && request->size > 0 && request->size <= large_bytes - request->offset);
    CHECK(request->offset % sizeof(int) == 0 && request->size % sizeof(int) == 0);
    CHECK(r->num_requests < MOST_REQUESTS);
    r->requests[r->num_requests].offset = request->offset;
    r->requests[r->num_requests].size = request->size;
    r->num_requests++;
    r->num_bytes += request->size;
    r->direct += buffer >= data && buffer - data < r->data_size;
    for (size_t b = 0; b < request->size; b += sizeof(uint32_t)) {
        uint32_t number = (uint32_t)((request->offset + b) / sizeof(uint32_t));

        if (r->is_foreign)
            number = number >> 24 | (number >> 8 & 0xFF00) | (number << 8 & 0xFF0000) | number << 24;
        memcpy((unsigned char *)request->buffer + b, &number, sizeof number);
    }
    request->nbytes = large_bytes - request->offset;
    return NCZCHUNK_NOERR;
}

/* Reads a hyperslab of at most 10000 numbers of that chunk, checks them, and tells in r what was asked for. */
static void read_remote(remote *r, size_t gap, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                        int is_foreign)
{
    static int data[10000];
    nczchunk_reader_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = r, .fill = fetch_range, .ranges = 1, .gap = gap};
    nczchunk_chunk_store *store;
    nczchunk_var *var;

    memset(r, 0, sizeof *r);
    r->data = (const unsigned char *)data;
    r->data_size = sizeof data;
    r->is_foreign = is_foreign;
    memset(data, 0xAB, sizeof data);
    CHECK(count[0] * count[1] <= 10000);
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_var_new(2, side, side, sizeof(int), &var, NULL));
    if (is_foreign)
        CHECK_OK(nczchunk_var_set_endian(var, foreign_endian(), NULL));
    CHECK_OK(nczchunk_read_vars(var, store, start, count, stride, data, NULL));
    for (size_t i = 0; i < count[0]; i++)
        for (size_t j = 0; j < count[1]; j++)
            CHECK_EQ(data[i * count[1] + j], (start[0] + i * (size_t)(stride ? stride[0] : 1)) * SIDE + start[1] +
                                                 j * (size_t)(stride ? stride[1] : 1));
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

/* What is needed, as the test says it: so many requests of so many bytes each, so far apart. */
static void check_requests(const remote *r, size_t requests, size_t first, size_t size, size_t apart)
{
    CHECK_EQ(r->num_requests, requests);
    CHECK_EQ(r->num_bytes, requests * size);
    for (size_t i = 0; i < requests; i++) {
        CHECK_EQ(r->requests[i].offset, first + i * apart);
        CHECK_EQ(r->requests[i].size, size);
    }
}

/* One number costs 4 bytes, and a row what is in it. They are fetched to where the caller wants them. */
static void an_element_and_a_row(void)
{
    const size_t element[2] = {3210, 1234}, one[2] = {1, 1}, row[2] = {4999, 0}, all[2] = {1, SIDE};
    const size_t part[2] = {7, 100}, some[2] = {1, 50}, last[2] = {4999, 4999};

    for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
        remote r;

        read_remote(&r, 0, element, one, NULL, is_foreign);
        check_requests(&r, 1, (3210 * SIDE + 1234) * sizeof(int), sizeof(int), 0);
        CHECK_EQ(r.direct, 1);
        read_remote(&r, 0, last, one, NULL, is_foreign);
        check_requests(&r, 1, large_bytes - sizeof(int), sizeof(int), 0);
        read_remote(&r, 0, row, all, NULL, is_foreign);
        check_requests(&r, 1, (size_t)4999 * SIDE * sizeof(int), SIDE * sizeof(int), 0);
        CHECK_EQ(r.direct, 1);
        read_remote(&r, 0, part, some, NULL, is_foreign);
        check_requests(&r, 1, (7 * SIDE + 100) * sizeof(int), 50 * sizeof(int), 0);
        CHECK_EQ(r.direct, 1);
    }
}

/* In a column the numbers are a row apart, of 20000 bytes. That is far: without a gap of its own, a store is asked
 * twice if at least 16384 bytes lie between two parts. */
static void a_column(void)
{
    const size_t start[2] = {10, 17}, count[2] = {10, 1};
    const size_t first = (10 * SIDE + 17) * sizeof(int), row = SIDE * sizeof(int);
    remote r;

    read_remote(&r, 0, start, count, NULL, 0);
    check_requests(&r, 10, first, sizeof(int), row);
    CHECK_EQ(r.direct, 10);
    read_remote(&r, row - 4, start, count, NULL, 0);
    check_requests(&r, 10, first, sizeof(int), row);
    /* With fewer bytes between two parts than the gap, one request gets both and all between them. */
    read_remote(&r, row - 3, start, count, NULL, 0);
    check_requests(&r, 1, first, 9 * row + sizeof(int), 0);
    CHECK_EQ(r.direct, 0);
    read_remote(&r, SIZE_MAX, start, count, NULL, 1);
    check_requests(&r, 1, first, 9 * row + sizeof(int), 0);
}

/* A box is a piece of each of its rows. */
static void a_box(void)
{
    const size_t start[2] = {100, 200}, count[2] = {30, 100};
    const size_t first = (100 * SIDE + 200) * sizeof(int), row = SIDE * sizeof(int), piece = 100 * sizeof(int);
    remote r;

    read_remote(&r, 0, start, count, NULL, 1);
    check_requests(&r, 30, first, piece, row);
    CHECK_EQ(r.direct, 30);
    read_remote(&r, row - piece, start, count, NULL, 0);
    check_requests(&r, 30, first, piece, row);
    read_remote(&r, row - piece + 1, start, count, NULL, 0);
    check_requests(&r, 1, first, 29 * row + piece, 0);
}

/* Every tenth number of a row: 36 bytes lie between two of them. */
static void every_tenth_number(void)
{
    const size_t start[2] = {0, 5}, count[2] = {2, 20};
    const ptrdiff_t stride[2] = {1000, 10};
    const size_t first = 5 * sizeof(int), rows = 1000 * SIDE * sizeof(int), piece = 19 * 40 + sizeof(int);
    remote r;

    read_remote(&r, 0, start, count, stride, 0);
    check_requests(&r, 2, first, piece, rows);
    CHECK_EQ(r.direct, 0);
    read_remote(&r, 37, start, count, stride, 1);
    check_requests(&r, 2, first, piece, rows);
    read_remote(&r, 36, start, count, stride, 1);
    CHECK_EQ(r.num_requests, 2 * 20);
    CHECK_EQ(r.num_bytes, 2 * 20 * sizeof(int));
    CHECK_EQ(r.direct, 2 * 20);
    read_remote(&r, 1, start, count, stride, 0);
    CHECK_EQ(r.num_requests, 2 * 20);
}

/* --- The same values as from a store without ranges, for every kind of chunk. */

typedef struct counted {
    memory_array array; /* first, for its own callbacks take a pointer to it */
    size_t num_requests, num_bytes, num_parts;
} counted;

static int fill_counted(void *user, nczchunk_request *request)
{
    counted *c = user;

    CHECK(request->size > 0 && request->offset + request->size <= request->chunk_bytes);
    c->num_requests++;
    c->num_bytes += request->size;
    c->num_parts += request->size < request->chunk_bytes;
    return memory_array_fill(&c->array, request);
}

/* Opens 5 x 4 x 6 numbers in chunks of 2 x 3 x 4, of which the one with number 3 is absent. */
static const size_t dimlens[3] = {5, 4, 6}, chunklens[3] = {2, 3, 4};

enum { CHUNKS = 3 * 2 * 2, CHUNK_BYTES = 2 * 3 * 4 * sizeof(int), ELEMENTS = 5 * 4 * 6 };

static const int fill_value = -999;

typedef struct fixture {
    counted counted;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
} fixture;

static void open_fixture(fixture *f, size_t ranges, size_t gap, size_t accept_longer, int is_foreign)
{
    nczchunk_reader_callbacks callbacks = memory_array_filling(&f->counted.array);

    memset(f, 0, sizeof *f);
    memory_array_init(&f->counted.array, 3, dimlens, chunklens, sizeof(int));
    memory_chunk_remove(&f->counted.array.chunks[3], NCZCHUNK_EEMPTY);
    f->var = memory_array_var(&f->counted.array);
    CHECK_OK(nczchunk_var_set_fill_value(f->var, &fill_value, NULL));
    if (is_foreign) {
        memory_array_swap(&f->counted.array, sizeof(int));
        CHECK_OK(nczchunk_var_set_endian(f->var, foreign_endian(), NULL));
    }
    callbacks.fill = fill_counted;
    callbacks.ranges = ranges;
    callbacks.gap = gap;
    callbacks.accept_longer = accept_longer;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &f->store, NULL));
    CHECK_OK(nczchunk_context_new(&f->context));
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->counted.array);
}

static void every_box_reads_the_same(void)
{
    const size_t gaps[] = {1, 5, 9, 17, 33, 0};

    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
            size_t parts = 0, start[3], count[3];
            fixture ranged, whole;

            open_fixture(&ranged, 1, gaps[g], 0, is_foreign);
            open_fixture(&whole, 0, 0, 0, is_foreign);
            for (start[0] = 0; start[0] < 5; start[0] += 2)
                for (start[1] = 0; start[1] < 4; start[1]++)
                    for (start[2] = 0; start[2] < 6; start[2]++)
                        for (ptrdiff_t by = 1; by < 4; by++) {
                            const ptrdiff_t stride[3] = {by, 1 + by % 2, by};
                            int data[ELEMENTS], reference[ELEMENTS], transposed[ELEMENTS];
                            ptrdiff_t imap[3];
                            size_t elements;

                            for (size_t d = 0; d < 3; d++)
                                count[d] = 1 + (dimlens[d] - 1 - start[d]) / (size_t)stride[d];
                            elements = count[0] * count[1] * count[2];
                            ranged.counted.num_bytes = whole.counted.num_bytes = ranged.counted.num_parts = 0;
                            CHECK_OK(nczchunk_read_vars(ranged.var, ranged.store, start, count, stride, data, NULL));
                            CHECK_OK(nczchunk_read_vars(whole.var, whole.store, start, count, stride, reference, NULL));
                            CHECK(memcmp(data, reference, elements * sizeof(int)) == 0);
                            /* Never more is fetched, and with the smallest gap no more than is needed. */
                            CHECK(ranged.counted.num_bytes <= whole.counted.num_bytes);
                            if (gaps[g] == 1)
                                CHECK(ranged.counted.num_bytes <= elements * sizeof(int) + CHUNK_BYTES);
                            parts += ranged.counted.num_parts;

                            imap[0] = 1;
                            imap[1] = (ptrdiff_t)count[0];
                            imap[2] = (ptrdiff_t)(count[0] * count[1]);
                            CHECK_OK(nczchunk_read_varm(ranged.var, ranged.store, start, count, stride, imap,
                                                        transposed, NULL));
                            for (size_t e = 0; e < elements; e++) {
                                size_t k = e % count[2], j = e / count[2] % count[1], i = e / count[2] / count[1];
                                CHECK_EQ(transposed[i + j * count[0] + k * count[0] * count[1]], data[e]);
                            }
                        }
            CHECK(parts > 0);
            close_fixture(&whole);
            close_fixture(&ranged);
        }
}

/* A chunk that is needed as a whole is one request. Where it lands in one piece, it is not copied. */
static void whole_chunks(void)
{
    const size_t dims[2] = {6, 8}, rows[2] = {2, 8}, start[2] = {1, 0}, count[2] = {3, 8};
    const ptrdiff_t stride[2] = {2, 1};
    nczchunk_reader_callbacks callbacks;
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    counted c;
    int data[48];

    memset(&c, 0, sizeof c);
    memory_array_init(&c.array, 2, dims, rows, sizeof(int));
    callbacks = memory_array_filling(&c.array);
    callbacks.fill = fill_counted;
    callbacks.ranges = 1;
    callbacks.gap = 1;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    var = memory_array_var(&c.array);
    c.array.data = (const unsigned char *)data;
    c.array.data_size = sizeof data;
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL));
    memory_array_expect(&c.array, zeros, NULL, NULL, NULL, data);
    CHECK_EQ(c.num_requests, 3);
    CHECK_EQ(c.num_parts, 0);
    CHECK_EQ(c.array.direct, 3);
    /* A row of each lands in one piece, too. */
    c.num_requests = 0;
    CHECK_OK(nczchunk_read_vars(var, store, start, count, stride, data, NULL));
    CHECK_EQ(c.num_requests, 3);
    CHECK_EQ(c.num_parts, 3);
    CHECK_EQ(c.array.direct, 6);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&c.array);
}

/* In a chunk in Fortran order it is the columns that lie in one piece. */
static void chunks_in_another_order(void)
{
    const size_t dims[2] = {40, 30}, fortran[2] = {1, 0}, column[2] = {40, 1}, row[2] = {1, 30}, start[2] = {0, 7};
    nczchunk_reader_callbacks callbacks;
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    counted c;
    int data[40];

    memset(&c, 0, sizeof c);
    memory_array_init(&c.array, 2, dims, dims, sizeof(int));
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 30; j++) {
            const int number = 30 * i + j;
            memcpy(c.array.chunks[0].bytes + (size_t)(40 * j + i) * sizeof(int), &number, sizeof number);
        }
    callbacks = memory_array_filling(&c.array);
    callbacks.fill = fill_counted;
    callbacks.ranges = 1;
    callbacks.gap = 8;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    var = memory_array_var(&c.array);
    CHECK_OK(nczchunk_var_set_chunk_order(var, fortran, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, start, column, NULL, data, NULL));
    memory_array_expect(&c.array, start, column, NULL, NULL, data);
    CHECK_EQ(c.num_requests, 1);
    CHECK_EQ(c.num_bytes, 40 * sizeof(int));
    CHECK_OK(nczchunk_read_vars(var, store, zeros, row, NULL, data, NULL));
    memory_array_expect(&c.array, zeros, row, NULL, NULL, data);
    CHECK_EQ(c.num_requests, 1 + 30);
    CHECK_EQ(c.num_bytes, (40 + 30) * sizeof(int));
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&c.array);
}

/* --- Answers that are not what was asked for. */

/* A chunk that is absent is so as a whole, which its first range tells; even if it vanishes while it is read. */
typedef struct vanishing {
    int left; /* so many ranges are there */
    long asked;
} vanishing;

static int fill_until_it_vanishes(void *user, nczchunk_request *request)
{
    vanishing *v = user;

    v->asked++;
    memset(request->buffer, 0x11, request->size);
    request->nbytes = request->size;
    return v->left-- > 0 ? NCZCHUNK_NOERR : NCZCHUNK_EEMPTY;
}

static void absent_chunks(void)
{
    const size_t rows = 8, columns = 4, dims[2] = {rows, columns}, count[2] = {rows, 1};

    for (int left = 0; left <= 8; left++) {
        vanishing v = {left, 0};
        nczchunk_reader_callbacks callbacks = {
            .struct_size = sizeof callbacks, .user = &v, .fill = fill_until_it_vanishes, .ranges = 1, .gap = 1};
        nczchunk_chunk_store *store;
        nczchunk_var *var;
        int data[8];

        CHECK_OK(nczchunk_var_new(2, dims, dims, sizeof(int), &var, NULL));
        CHECK_OK(nczchunk_var_set_fill_value(var, &fill_value, NULL));
        CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
        CHECK_OK(nczchunk_read_vars(var, store, zeros, count, NULL, data, NULL));
        CHECK_EQ(v.asked, left < 8 ? left + 1 : 8);
        for (int i = 0; i < 8; i++)
            CHECK_EQ(data[i], left < 8 ? fill_value : 0x11111111);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
    }
}

/* Says that there are so many bytes, and gives them as far as there is room. */
typedef struct boaster {
    size_t nbytes;
    int status;
} boaster;

static int fill_and_boast(void *user, nczchunk_request *request)
{
    const boaster *b = user;

    memset(request->buffer, 0x22, b->nbytes < request->size ? b->nbytes : request->size);
    request->nbytes = b->nbytes;
    return b->status;
}

static int read_from_boaster(size_t nbytes, int status, size_t columns, size_t accept_longer, nczchunk_context *context)
{
    const size_t dims[2] = {1, 8}, count[2] = {1, columns};
    boaster b = {nbytes, status};
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks,
                                            .user = &b,
                                            .fill = fill_and_boast,
                                            .accept_longer = accept_longer,
                                            .ranges = 1};
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    int data[8] = {0}, result;

    CHECK_OK(nczchunk_var_new(2, dims, dims, sizeof(int), &var, NULL));
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    result = nczchunk_read_vars(var, store, zeros, count, NULL, data, context);
    for (size_t i = 0; result == 0 && i < 8; i++)
        CHECK_EQ(data[i], i < columns ? 0x22222222 : 0);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    return result;
}

/* A part has at least as many bytes as are asked for; nobody looks at what lies beyond. Of a whole chunk it is known
 * how long it should be. */
static void answers_of_other_lengths(void)
{
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    for (size_t accept_longer = 0; accept_longer < 2; accept_longer++) {
        const int if_longer = accept_longer ? NCZCHUNK_NOERR : NCZCHUNK_EBADCHUNK;

        /* 3 of the 8 numbers are 12 bytes. */
        CHECK_EQ(read_from_boaster(0, 0, 3, accept_longer, context), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(read_from_boaster(11, 0, 3, accept_longer, context), NCZCHUNK_EBADCHUNK);
        CHECK_STR(nczchunk_context_message(context),
                  "chunk (0, 0): the stored chunk has 11 bytes, expected 12");
        CHECK_EQ(read_from_boaster(12, 0, 3, accept_longer, context), NCZCHUNK_NOERR);
        CHECK_EQ(read_from_boaster(13, 0, 3, accept_longer, context), NCZCHUNK_NOERR);
        CHECK_EQ(read_from_boaster(32, 0, 3, accept_longer, context), NCZCHUNK_NOERR);
        CHECK_EQ(read_from_boaster(SIZE_MAX, 0, 3, accept_longer, context), NCZCHUNK_NOERR);
        /* All 8 are 32. */
        CHECK_EQ(read_from_boaster(31, 0, 8, accept_longer, context), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(read_from_boaster(32, 0, 8, accept_longer, context), NCZCHUNK_NOERR);
        CHECK_EQ(read_from_boaster(33, 0, 8, accept_longer, context), if_longer);
        CHECK_EQ(read_from_boaster(SIZE_MAX, 0, 8, accept_longer, context), if_longer);
        CHECK_EQ(read_from_boaster(12, EIO, 3, accept_longer, context), EIO);
        CHECK(nczchunk_context_chunk(context, NULL) != NULL);
    }
    nczchunk_context_free(context);
}

/* --- Whole chunks are fetched for writes, which store them whole, and for codecs, which decode from the beginning. */

static void writes_fetch_whole_chunks(void)
{
    const size_t start[3] = {1, 1, 1}, count[3] = {2, 1, 3};
    int data[6], after[6];
    memory_array expected;
    fixture f;

    open_fixture(&f, 1, 1, 0, 0);
    memory_array_make_data(&f.counted.array, 6, data);
    expected = memory_array_copy(&f.counted.array);
    memory_array_put(&expected, start, count, NULL, &fill_value, data, NULL);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, start, count, NULL, data, NULL));
    CHECK_EQ(f.counted.num_requests, 2);
    CHECK_EQ(f.counted.num_parts, 0);
    memory_array_check_same(&f.counted.array, &expected);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start, count, NULL, after, NULL));
    CHECK(f.counted.num_parts > 0);
    CHECK(memcmp(after, data, sizeof data) == 0);
    memory_array_clear(&expected);
    close_fixture(&f);
}

static int fill_whole(void *user, nczchunk_request *request)
{
    CHECK_EQ(request->offset, 0);
    CHECK(request->size >= request->chunk_bytes);
    return memory_array_fill(user, request);
}

static void encoded_chunks_are_fetched_as_a_whole(void)
{
    nczchunk_reader_callbacks callbacks;
    memory_array array;
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    const size_t one[3] = {1, 1, 1}, start[3] = {3, 2, 1};
    int number = 0;

    memory_array_init(&array, 3, dimlens, chunklens, sizeof(int));
    memory_array_compress(&array);
    callbacks = memory_array_filling(&array);
    callbacks.fill = fill_whole;
    callbacks.ranges = 1;
    callbacks.gap = 1;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    store_add_zstd(store);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_read_vars(var, store, start, one, NULL, &number, NULL));
    CHECK_EQ(number, (3 * 4 + 2) * 6 + 1);
    CHECK_EQ(array.asked, 1);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&array);
}

/* --- Chunks that are longer than they should be: as netCDF-C does, a store may accept them. Then their first bytes
 * count. A shorter one is never accepted. */

static void stores_that_accept_longer_chunks(store_kind kind)
{
    const size_t lengths[] = {0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES};
    const size_t inner[3] = {1, 1, 1}, three[3] = {1, 1, 3};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t accept_longer = 0; accept_longer < 2; accept_longer++)
            for (size_t ranges = 0; ranges < 2; ranges++) {
                const int fits = lengths[i] == CHUNK_BYTES || (lengths[i] > CHUNK_BYTES && accept_longer);
                const int expected = fits ? NCZCHUNK_NOERR : NCZCHUNK_EBADCHUNK;
                nczchunk_zero_copy_callbacks lending;
                nczchunk_reader_callbacks filling;
                unsigned char bytes[3 * CHUNK_BYTES];
                memory_array array;
                nczchunk_chunk_store *store;
                nczchunk_var *var;
                int data[ELEMENTS] = {0};
                const int news[3] = {-1, -2, -3};

                memory_array_init(&array, 3, dimlens, chunklens, sizeof(int));
                memset(bytes, 0x33, sizeof bytes);
                memcpy(bytes, array.chunks[0].bytes, CHUNK_BYTES);
                memory_chunk_set(&array.chunks[0], bytes, lengths[i]);
                lending = memory_array_lending(&array);
                filling = memory_array_filling(&array);
                lending.accept_longer = filling.accept_longer = accept_longer;
                filling.ranges = ranges;
                if (kind == LENDING)
                    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &store, NULL));
                else
                    CHECK_OK(nczchunk_chunk_store_new(&filling, &store, NULL));
                var = memory_array_var(&array);
                CHECK_EQ(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, NULL), expected);
                if (fits)
                    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);

                /* To change such a chunk is the same. One that is lent keeps its length, and what is beyond. */
                CHECK_EQ(nczchunk_write_vars(var, store, inner, three, NULL, news, NULL), expected);
                CHECK_EQ(array.written, fits ? 1 : 0);
                if (fits) {
                    CHECK_EQ(array.chunks[0].nbytes, kind == LENDING ? lengths[i] : CHUNK_BYTES);
                    CHECK(memcmp(array.chunks[0].bytes + (12 + 4 + 1) * sizeof(int), news, sizeof news) == 0);
                    CHECK(memcmp(array.chunks[0].bytes, bytes, (12 + 4 + 1) * sizeof(int)) == 0);
                    if (array.chunks[0].nbytes > CHUNK_BYTES)
                        CHECK(memcmp(array.chunks[0].bytes + CHUNK_BYTES, bytes + CHUNK_BYTES,
                                     lengths[i] - CHUNK_BYTES) == 0);
                }
                nczchunk_var_free(var);
                nczchunk_chunk_store_free(store);
                memory_array_clear(&array);
            }
}

int main(void)
{
    an_element_and_a_row();
    a_column();
    a_box();
    every_tenth_number();
    every_box_reads_the_same();
    whole_chunks();
    chunks_in_another_order();
    absent_chunks();
    answers_of_other_lengths();
    writes_fetch_whole_chunks();
    encoded_chunks_are_fetched_as_a_whole();
    for (size_t i = 0; i < NUM_STORE_KINDS; i++)
        stores_that_accept_longer_chunks(store_kinds[i]);
    return 0;
}
