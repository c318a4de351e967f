/*
 * What a callback is given: where it lies, what is in it, and how long it is valid.
 *
 * A buffer of the library's begins at a multiple of 64 bytes, so that it can be used for vector instructions. Where a
 * chunk lies in the caller's memory in one piece, the buffer is that memory, with whatever alignment it has. Indices
 * are aligned as any array of ptrdiff_t. All of it stays as it is until the callback returns, even if the callback
 * uses the library itself, and for a request that was started until it is given back. A callback may use as much stack
 * as the thread that it runs in has.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "zstd_frame.h"

enum { MOST_RANK = 20, ALIGNMENT = 64, MOST_UNDER_WAY = 64, MOST_BYTES = 4096 };

static const size_t dimlens[MOST_RANK] = {5, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3};
static const size_t chunklens[MOST_RANK] = {2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
static const size_t zeros[MOST_RANK];

typedef struct fixture {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    /* Another store of the same chunks, for callbacks that use the library. */
    nczchunk_chunk_store *other;
    /* The caller's memory. Buffers of the library's are not in it. */
    const unsigned char *data;
    size_t nbytes;
    long buffers, direct;
    /* Whether chunks are fetched as they are asked for by the variable. */
    int has_codec;
    nczchunk_request *requests_in_flight[MOST_UNDER_WAY];
    size_t num_under_way;
} fixture;

/* --- What callbacks look at. */

static size_t alignment_of_indices(void)
{
    struct { char first; ptrdiff_t index; } probe;
    return (size_t)((char *)&probe.index - &probe.first);
}

static void check_indices(const fixture *f, size_t rank, const ptrdiff_t *indices)
{
    CHECK_EQ(rank, f->array.rank);
    CHECK(indices != NULL || rank == 0);
    CHECK_EQ((uintptr_t)indices % alignment_of_indices(), 0);
    for (size_t d = 0; d < rank; d++)
        CHECK(indices[d] >= 0 && (size_t)indices[d] < memory_array_grid(&f->array, d));
}

/* A buffer is the library's, and aligned, or it is a part of the caller's memory. */
static void check_buffer(fixture *f, const void *buffer, size_t size)
{
    const uintptr_t at = (uintptr_t)buffer, data = (uintptr_t)f->data;

    CHECK(buffer != NULL && size > 0);
    if (at >= data && at < data + f->nbytes) {
        CHECK(size <= data + f->nbytes - at);
        CHECK(!f->has_codec);
        f->direct++;
    } else {
        CHECK_EQ(at % ALIGNMENT, 0);
        f->buffers++;
    }
}

static void check_request(fixture *f, const nczchunk_request *request)
{
    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK_EQ(request->chunk_bytes, f->array.chunk_bytes);
    CHECK_EQ(request->offset, 0);
    CHECK(request->nbytes == 0 && request->status == 0 && request->handle == NULL);
    CHECK(f->has_codec || request->size == request->chunk_bytes);
    check_indices(f, request->rank, request->chunk_indices);
    check_buffer(f, request->buffer, request->size);
}

/* Uses the library, within a callback of a store: the same variable, another store. */
static void use_the_library(const fixture *f)
{
    unsigned char all[MOST_BYTES];

    CHECK(f->nbytes <= sizeof all);
    CHECK_OK(nczchunk_read_vars(f->var, f->other, zeros, NULL, NULL, all, NULL));
    memory_array_expect(&f->array, zeros, NULL, NULL, NULL, all);
}

/* --- The callbacks. Each looks at what it is given, uses the library, and finds it as it was. */

static int fill(void *user, nczchunk_request *request)
{
    fixture *f = user;
    const nczchunk_request before = *request;
    ptrdiff_t indices[MOST_RANK] = {0};

    check_request(f, request);
    if (request->rank > 0)
        memcpy(indices, request->chunk_indices, request->rank * sizeof *indices);
    memset(request->buffer, 0xA5, request->size);
    if (!f->has_codec)
        use_the_library(f);
    CHECK(memcmp(&before, request, sizeof before) == 0);
    CHECK(request->rank == 0 || memcmp(indices, request->chunk_indices, request->rank * sizeof *indices) == 0);
    for (size_t b = 0; b < request->size; b++)
        CHECK_EQ(((unsigned char *)request->buffer)[b], 0xA5);
    return memory_array_fill(&f->array, request);
}

static int save(void *user, nczchunk_request *request)
{
    fixture *f = user;

    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK_EQ(request->access, NCZCHUNK_WRITE);
    check_indices(f, request->rank, request->chunk_indices);
    check_buffer(f, request->buffer, request->size);
    return memory_array_save(&f->array, request);
}

static int start(void *user, nczchunk_request *request)
{
    fixture *f = user;
    const uintptr_t from = (uintptr_t)request->buffer, to = from + request->size;

    check_request(f, request);
    /* The library's own buffer: apart from those of all others in flight. */
    for (size_t i = 0; i < f->num_under_way; i++) {
        const uintptr_t other = (uintptr_t)f->requests_in_flight[i]->buffer;
        CHECK(to <= other || other + f->requests_in_flight[i]->size <= from);
        CHECK(request != f->requests_in_flight[i] && request->chunk_indices != f->requests_in_flight[i]->chunk_indices);
    }
    CHECK(f->num_under_way < MOST_UNDER_WAY);
    f->requests_in_flight[f->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

static int wait_for_one(void *user, nczchunk_request **done)
{
    fixture *f = user;

    *done = f->requests_in_flight[--f->num_under_way];
    check_request(f, *done);
    (*done)->status = memory_array_fill(&f->array, *done);
    return NCZCHUNK_NOERR;
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    fixture *f = user;

    CHECK_EQ(loan->chunk_bytes, f->array.chunk_bytes);
    check_indices(f, loan->rank, loan->chunk_indices);
    if (!f->has_codec)
        use_the_library(f);
    check_indices(f, loan->rank, loan->chunk_indices);
    return memory_array_lend(&f->array, loan);
}

static int lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    fixture *f = user;

    CHECK_EQ(loan->chunk_bytes, f->array.chunk_bytes);
    check_indices(f, loan->rank, loan->chunk_indices);
    return memory_array_lend_to_write(&f->array, loan);
}

static int take_back(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    fixture *f = user;
    const memory_chunk *chunk;

    CHECK_EQ(loan->chunk_bytes, f->array.chunk_bytes);
    chunk = loan->handle;
    CHECK_EQ(loan->nbytes, loan->access == NCZCHUNK_WRITE ? f->array.chunk_bytes : chunk->nbytes);
    check_indices(f, loan->rank, loan->chunk_indices);
    return memory_array_release(&f->array, loan, status);
}

/* --- Arrays of several ranks, with elements of several sizes. */

typedef enum way { LENT, FILLED, STARTED, NUM_WAYS } way;

static void open_fixture(fixture *f, way how, size_t rank, size_t element_size, int has_codec)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&f->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&f->array);

    memset(f, 0, sizeof *f);
    memory_array_init(&f->array, rank, dimlens, chunklens, element_size);
    f->var = memory_array_var(&f->array);
    f->other = memory_array_store(&f->array, LENDING);
    f->has_codec = has_codec;
    if (has_codec)
        memory_array_compress(&f->array);
    lending.user = filling.user = f;
    lending.lend = lend;
    lending.lend_to_write = lend_to_write;
    lending.release = take_back;
    filling.fill = how == FILLED ? fill : NULL;
    filling.store = save;
    if (how == STARTED) {
        filling.start = start;
        filling.wait = wait_for_one;
    }
    if (how == LENT)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f->store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &f->store, NULL));
    if (has_codec)
        store_add_zstd(f->store);
}

static void close_fixture(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_chunk_store_free(f->other);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* Reads and writes everything, and a part, with the caller's memory at any place. */
static void read_and_write(way how, size_t rank, size_t element_size, int has_codec)
{
    static unsigned char memory[MOST_BYTES + ALIGNMENT];
    size_t elements = 1, count[MOST_RANK];
    fixture f;

    open_fixture(&f, how, rank, element_size, has_codec);
    for (size_t d = 0; d < rank; d++) {
        elements *= dimlens[d];
        count[d] = d == 0 ? dimlens[d] - 1 : dimlens[d];
    }
    f.nbytes = elements * element_size;
    CHECK(f.nbytes <= MOST_BYTES);
    for (size_t shift = 0; shift < ALIGNMENT; shift += 7) {
        f.data = memory + shift;
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, memory + shift, NULL));
        memory_array_expect(&f.array, zeros, NULL, NULL, NULL, f.data);
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, count, NULL, memory + shift, NULL));
        memory_array_expect(&f.array, zeros, count, NULL, NULL, f.data);
        if (how == LENT && has_codec)
            continue; /* read-only */
        /* What is written is what is there, so that it can be read again. */
        CHECK_OK(nczchunk_write_vars(f.var, f.store, zeros, count, NULL, memory + shift, NULL));
        CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, memory + shift, NULL));
        memory_array_expect(&f.array, zeros, NULL, NULL, NULL, f.data);
    }
    if (how != LENT)
        CHECK(f.buffers + f.direct > 0);
    if (how == STARTED && rank > 0)
        CHECK(f.buffers > 0);
    CHECK_EQ(f.num_under_way, 0);
    close_fixture(&f);
}

/* --- The stack: half a megabyte of it, in the caller's thread and in others. */

enum { CHUNKS = 16, CHUNK_ELEMENTS = 100, STACK = 512 * 1024 };

static pthread_t callers[CHUNKS];
static size_t num_callbacks;

/* Chunks 1 and 2 wait for each other, so two threads have them. Chunk 0 is filled before there is a second one. */
static void meet(ptrdiff_t chunk)
{
    static int is_here[2];
    const struct timespec moment = {0, 1000000}; /* less is nothing on Windows */

    nanosleep(&moment, NULL);
    if (chunk != 1 && chunk != 2)
        return;
    __atomic_store_n(&is_here[chunk - 1], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 20000 && !__atomic_load_n(&is_here[2 - chunk], __ATOMIC_RELAXED); i++)
        nanosleep(&moment, NULL);
}

static int fill_with_much_stack(void *user, nczchunk_request *request)
{
    volatile unsigned char stack[STACK];
    size_t sum = 0;

    callers[__atomic_fetch_add(&num_callbacks, 1, __ATOMIC_RELAXED)] = pthread_self();
    for (size_t i = 0; i < STACK; i += 512)
        stack[i] = (unsigned char)(i / 512);
    meet(request->chunk_indices[0]);
    for (size_t i = 0; i < STACK; i += 512)
        sum += stack[i];
    CHECK_EQ(sum, STACK / 512 / 256 * (255 * 256 / 2));
    CHECK_EQ((uintptr_t)request->chunk_indices % alignment_of_indices(), 0);
    return memory_array_fill(user, request);
}

static void callbacks_may_use_the_stack(void)
{
    static const size_t length = CHUNKS * CHUNK_ELEMENTS, chunk = CHUNK_ELEMENTS;
    int data[CHUNKS * CHUNK_ELEMENTS], others = 0;
    nczchunk_reader_callbacks callbacks;
    nczchunk_context *context;
    nczchunk_chunk_store *store;
    nczchunk_var *var;
    memory_array array;

    memory_array_init(&array, 1, &length, &chunk, sizeof(int));
    var = memory_array_var(&array);
    callbacks = memory_array_filling(&array);
    callbacks.fill = fill_with_much_stack;
    callbacks.concurrent = 1;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 4));
    CHECK_OK(nczchunk_read_vars(var, store, zeros, NULL, NULL, data, context));
    memory_array_expect(&array, zeros, NULL, NULL, NULL, data);
    CHECK_EQ(num_callbacks, CHUNKS);
    for (size_t i = 0; i < CHUNKS; i++)
        others += !pthread_equal(callers[i], pthread_self());
    CHECK(others > 0);
    nczchunk_context_free(context);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

int main(void)
{
    const size_t ranks[] = {0, 1, 2, 8, 9, MOST_RANK}, element_sizes[] = {1, 3, 4, 8, 17};

    alarm(300);
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t e = 0; e < sizeof element_sizes / sizeof *element_sizes; e++)
            for (way how = LENT; how < NUM_WAYS; how++)
                for (int has_codec = 0; has_codec <= 1; has_codec++)
                    read_and_write(how, ranks[r], element_sizes[e], has_codec);
    callbacks_may_use_the_stack();
    return 0;
}
