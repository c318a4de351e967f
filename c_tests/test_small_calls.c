/*
 * What a small call costs besides its work: no memory from the heap, and little of the stack.
 *
 * Up to rank 8, reading and writing allocate nothing, but for what a store keeps from its first call for all others: a
 * buffer for chunks that do not lie in one piece, a decoder and an encoder. At any rank a call takes less than 16 KiB
 * of stack, so that it can be made from threads with small ones. The program prints how much it is.
 *
 *     test_small_calls [directory of the data]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>

#include "coads.h"
#include "zstd_frame.h"

#include "counted_malloc.h"

enum { INLINE_RANK = 8, STACK_LIMIT = 16 * 1024 };

/* --- The heap. */

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    int data[6561];
} fixture;

static size_t threes[INLINE_RANK] = {3, 3, 3, 3, 3, 3, 3, 3}, twos[INLINE_RANK] = {2, 2, 2, 2, 2, 2, 2, 2};
static size_t four_and_twos[INLINE_RANK] = {4, 2, 2, 2, 2, 2, 2, 2};
static const size_t zeros[INLINE_RANK], ones[INLINE_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};

static void open_fixture(fixture *f, size_t rank, const size_t *dimlens, store_kind kind, int compressed)
{
    memory_array_init(&f->array, rank, dimlens, twos, sizeof(int));
    if (compressed)
        memory_array_compress(&f->array);
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, kind);
    if (compressed)
        store_add_zstd(f->store);
    CHECK_OK(nczchunk_context_new(&f->context));
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* Reads everything and returns how often memory was allocated meanwhile. */
static long allocations_of_a_read(fixture *f)
{
    long before = allocations, after;

    CHECK_OK(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context));
    after = allocations;
    memory_array_expect(&f->array, zeros, NULL, NULL, NULL, f->data);
    return after - before;
}

static fixture f;

/* The arrays of 3 in chunks of 2 are clipped in every dimension; one chunk is absent. */
static void lending_reads_allocate_nothing(size_t rank)
{
    open_fixture(&f, rank, threes, LENDING, 0);
    CHECK_EQ(allocations_of_a_read(&f), 0);
    memory_chunk_remove(&f.array.chunks[f.array.num_chunks - 1], NCZCHUNK_EEMPTY);
    CHECK_EQ(allocations_of_a_read(&f), 0);
    close_fixture(&f);
}

/* The chunks of four_and_twos land in one piece each. */
static void filling_reads_in_one_piece_allocate_nothing(size_t rank)
{
    open_fixture(&f, rank, four_and_twos, FILLING, 0);
    CHECK_EQ(allocations_of_a_read(&f), 0);
    close_fixture(&f);
}

static void other_filling_reads_allocate_once(size_t rank)
{
    open_fixture(&f, rank, threes, FILLING, 0);
    CHECK(allocations_of_a_read(&f) <= 1);
    CHECK_EQ(allocations_of_a_read(&f), 0);
    CHECK_EQ(allocations_of_a_read(&f), 0);
    close_fixture(&f);
}

static void zstd_reads_allocate_in_the_first_call(size_t rank)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        open_fixture(&f, rank, threes, store_kinds[kind], 1);
        allocations_of_a_read(&f);
        CHECK_EQ(allocations_of_a_read(&f), 0);
        CHECK_EQ(allocations_of_a_read(&f), 0);
        close_fixture(&f);
    }
}

/* Nor does it cost memory to tell of an error, be it of an argument or of a chunk. */
static void errors_allocate_nothing(size_t rank)
{
    const size_t beyond[INLINE_RANK] = {9, 9, 9, 9, 9, 9, 9, 9};
    long before;

    open_fixture(&f, rank, threes, LENDING, 0);
    before = allocations;
    if (rank > 0)
        CHECK_EQ(nczchunk_read_vars(f.var, f.store, beyond, NULL, NULL, f.data, f.context), NCZCHUNK_EINVALCOORDS);
    f.array.chunks[f.array.num_chunks - 1].nbytes--;
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, f.data, f.context), NCZCHUNK_EBADCHUNK);
    CHECK_EQ(allocations - before, 0);
    CHECK(nczchunk_context_chunk(f.context, NULL) != NULL);
    close_fixture(&f);
}

/* Writes everything, as reading everything delivered it, and returns how often memory was allocated meanwhile. What the
 * callbacks of the fixture allocate they do in the first write, so that is done by another store. */
static long allocations_of_a_write(fixture *f, const size_t *start, const size_t *count)
{
    long before, after;

    before = allocations;
    CHECK_OK(nczchunk_write_vars(f->var, f->store, start, count, NULL, f->data, f->context));
    after = allocations;
    return after - before;
}

static void open_to_write(fixture *f, size_t rank, const size_t *dimlens, store_kind kind, int compressed)
{
    nczchunk_chunk_store *other;

    open_fixture(f, rank, dimlens, kind, compressed);
    CHECK_OK(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, NULL));
    other = memory_array_store(&f->array, kind);
    if (compressed)
        store_add_zstd(other);
    CHECK_OK(nczchunk_write_vars(f->var, other, zeros, NULL, NULL, f->data, NULL));
    nczchunk_chunk_store_free(other);
    nczchunk_chunk_store_free(f->store);
    f->store = memory_array_store(&f->array, kind);
    if (compressed)
        store_add_zstd(f->store);
}

static void check_written(fixture *f)
{
    CHECK_OK(nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, f->data, f->context));
    memory_array_expect(&f->array, zeros, NULL, NULL, NULL, f->data);
}

/* All of the array, so that every chunk is covered; then one element, so that its chunk is not. */
static void lending_writes_allocate_nothing(size_t rank)
{
    open_to_write(&f, rank, threes, LENDING, 0);
    CHECK_EQ(allocations_of_a_write(&f, zeros, NULL), 0);
    CHECK_EQ(allocations_of_a_write(&f, zeros, ones), 0);
    check_written(&f);
    close_fixture(&f);
}

static void filling_writes_in_one_piece_allocate_nothing(size_t rank)
{
    open_to_write(&f, rank, four_and_twos, FILLING, 0);
    CHECK_EQ(allocations_of_a_write(&f, zeros, NULL), 0);
    check_written(&f);
    close_fixture(&f);
}

static void other_filling_writes_allocate_once(size_t rank)
{
    open_to_write(&f, rank, threes, FILLING, 0);
    CHECK(allocations_of_a_write(&f, zeros, ones) <= 1);
    CHECK_EQ(allocations_of_a_write(&f, zeros, ones), 0);
    CHECK_EQ(allocations_of_a_write(&f, zeros, NULL), 0);
    check_written(&f);
    close_fixture(&f);
}

static void zstd_writes_allocate_in_the_first_call(size_t rank)
{
    open_to_write(&f, rank, threes, FILLING, 1);
    allocations_of_a_write(&f, zeros, ones);
    CHECK_EQ(allocations_of_a_write(&f, zeros, ones), 0);
    CHECK_EQ(allocations_of_a_write(&f, zeros, NULL), 0);
    check_written(&f);
    close_fixture(&f);
}

/* The same goes for other layouts of memory: here everything is read and written back to front. */
static void other_layouts_allocate_nothing(size_t rank)
{
    ptrdiff_t imap[INLINE_RANK], strides[INLINE_RANK], step = -1;
    size_t last = 1;
    long before;

    open_to_write(&f, rank, threes, LENDING, 0);
    for (size_t d = rank; d-- > 0; step *= 3, last *= 3) {
        imap[d] = step;
        strides[d] = step * (ptrdiff_t)sizeof(int);
    }
    last--;
    before = allocations;
    CHECK_OK(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, imap, f.data + last, f.context));
    CHECK_OK(nczchunk_write_varm(f.var, f.store, zeros, NULL, NULL, imap, f.data + last, f.context));
    CHECK_OK(nczchunk_read_strided(f.var, f.store, zeros, threes, NULL, f.data, sizeof f.data, last * sizeof(int),
                                   strides, f.context));
    CHECK_OK(nczchunk_write_strided(f.var, f.store, zeros, threes, NULL, f.data, sizeof f.data, last * sizeof(int),
                                    strides, f.context));
    CHECK_EQ(allocations - before, 0);
    check_written(&f);
    close_fixture(&f);
}

/* A plan is prepared when it is made: to execute it, as a whole or in parts, to ask it and to copy a chunk by it takes
 * no more memory. */
static void plans_allocate_nothing(size_t rank)
{
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_projection projections[INLINE_RANK];
    nczchunk_plan *read, *write;
    size_t first, chunks;
    int covered, shared;
    long before;

    open_to_write(&f, rank, threes, LENDING, 0);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &read, f.context));
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_WRITE, &write, f.context));
    before = allocations;
    CHECK_OK(nczchunk_plan_totals(read, &totals, f.context));
    CHECK_OK(nczchunk_plan_chunk(read, totals.chunks - 1, projections, sizeof *projections, &covered, f.context));
    CHECK_OK(nczchunk_plan_shares_chunks(read, write, &shared, f.context));
    CHECK_OK(nczchunk_plan_part(read, 1, 2, &first, &chunks, f.context));
    CHECK_OK(nczchunk_plan_read(read, f.store, 0, NCZCHUNK_ALL, f.data, f.context));
    CHECK_OK(nczchunk_plan_read(read, f.store, first, chunks, f.data, f.context));
    CHECK_OK(nczchunk_plan_write(write, f.store, 0, NCZCHUNK_ALL, f.data, f.context));
    CHECK_OK(nczchunk_plan_copy_chunk(read, 0, f.array.chunks[0].bytes, f.array.chunk_bytes, f.data, f.context));
    CHECK_EQ(allocations - before, 0);
    nczchunk_plan_free(read);
    nczchunk_plan_free(write);
    check_written(&f);
    close_fixture(&f);
}

static void projections_allocate_nothing(void)
{
    const size_t size = sizeof(nczchunk_projection);
    nczchunk_projection projections[3];
    size_t needed;
    long before = allocations;

    CHECK_OK(nczchunk_projections(10, 4, 0, 10, 1, projections, size, 3, &needed, NULL));
    CHECK_OK(nczchunk_projection_at(10, 4, 0, 10, 1, 2, projections, size, NULL));
    CHECK_EQ(nczchunk_projections(10, 4, 0, 11, 1, projections, size, 3, &needed, NULL), NCZCHUNK_EEDGE);
    CHECK_EQ(allocations - before, 0);
}

/* --- The stack: calls are made on a thread whose stack was painted; how much of the paint is gone afterwards? */

enum { STACK_SIZE = 1024 * 1024, PAINT = 0xA5 };

typedef struct painted_call {
    void (*call)(void *argument);
    void *argument;
    const unsigned char *stack;
    size_t used;
} painted_call;

static void *run_painted(void *argument)
{
    painted_call *p = argument;
    unsigned char here = 0;
    const unsigned char *end = p->stack;

    p->call(p->argument);
    while (end < &here && *end == PAINT)
        end++;
    p->used = (size_t)(&here - end);
    return NULL;
}

/* How much of the stack a call uses, in bytes. */
static size_t stack_of(void (*call)(void *argument), void *argument)
{
    void *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    painted_call p = {call, argument, stack, 0};
    pthread_attr_t attributes;
    pthread_t thread;

    CHECK(stack != MAP_FAILED);
    memset(stack, PAINT, STACK_SIZE);
    CHECK_OK(pthread_attr_init(&attributes));
    CHECK_OK(pthread_attr_setstack(&attributes, stack, STACK_SIZE));
    CHECK_OK(pthread_create(&thread, &attributes, run_painted, &p));
    CHECK_OK(pthread_join(thread, NULL));
    CHECK_OK(pthread_attr_destroy(&attributes));
    CHECK_OK(munmap(stack, STACK_SIZE));
    return p.used;
}

/* What is read and written: one compressed chunk of real data, seen as an array of any rank of which only the last
 * dimension is longer than 1. Every other element is wanted, so that the chunk does not land in one piece. */
enum { CHUNK_BYTES = 5 * 40 * 50 * 4 };

static unsigned char selected[CHUNK_BYTES / 2];

typedef struct stack_case {
    size_t lens[NCZCHUNK_MAX_RANK], start[NCZCHUNK_MAX_RANK], count[NCZCHUNK_MAX_RANK], steps[NCZCHUNK_MAX_RANK];
    ptrdiff_t stride[NCZCHUNK_MAX_RANK], imap[NCZCHUNK_MAX_RANK];
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
} stack_case;

/* How the chunks are compressed that are written. */
static nczchunk_zstd_options zstd_options = {.struct_size = sizeof zstd_options};

static void open_stack_case(stack_case *c, size_t rank, store_kind kind, int compressed, const memory_chunk *chunk)
{
    for (size_t d = 0; d < rank; d++) {
        c->lens[d] = c->count[d] = c->steps[d] = 1;
        c->stride[d] = 1;
        c->start[d] = 0;
    }
    c->lens[rank - 1] = CHUNK_BYTES;
    c->count[rank - 1] = CHUNK_BYTES / 2;
    c->stride[rank - 1] = 2;
    c->imap[rank - 1] = -1;
    memory_array_init_absent(&c->array, rank, c->lens, c->lens, 1);
    memory_chunk_set(&c->array.chunks[0], chunk->bytes, chunk->nbytes);
    c->array.chunks[0].status = NCZCHUNK_NOERR;
    c->var = memory_array_var(&c->array);
    c->store = memory_array_store(&c->array, kind);
    if (compressed)
        store_add_zstd_as(c->store, &zstd_options);
    CHECK_OK(nczchunk_context_new(&c->context));
}

static void close_stack_case(stack_case *c)
{
    nczchunk_context_free(c->context);
    nczchunk_chunk_store_free(c->store);
    nczchunk_var_free(c->var);
    memory_array_clear(&c->array);
}

static void call_nothing(void *argument)
{
    (void)argument;
}

static void call_read(void *argument)
{
    stack_case *c = argument;
    CHECK_OK(nczchunk_read_vars(c->var, c->store, c->start, c->count, c->stride, selected, c->context));
}

static void call_write(void *argument)
{
    stack_case *c = argument;
    CHECK_OK(nczchunk_write_vars(c->var, c->store, c->start, c->count, c->stride, selected, c->context));
}

/* Backwards, by all functions for other layouts of memory. With a step of bytes, imap and strides are the same. */
static void call_other_layouts(void *argument)
{
    stack_case *c = argument;
    const size_t size = sizeof selected, last = size - 1;

    CHECK_OK(nczchunk_read_varm(c->var, c->store, c->start, c->count, c->stride, c->imap, selected + last, c->context));
    CHECK_OK(
        nczchunk_write_varm(c->var, c->store, c->start, c->count, c->stride, c->imap, selected + last, c->context));
    CHECK_OK(nczchunk_read_strided(c->var, c->store, c->start, c->count, c->stride, selected, size, last, c->imap,
                                   c->context));
    CHECK_OK(nczchunk_write_strided(c->var, c->store, c->start, c->count, c->stride, selected, size, last, c->imap,
                                    c->context));
}

/* All dimensions but the last have a list, then every other one. */
static void call_lists(void *argument)
{
    static const size_t *lists[NCZCHUNK_MAX_RANK], first[1];
    stack_case *c = argument;
    const size_t rank = nczchunk_var_rank(c->var);

    for (size_t step = 1; step <= 2; step++) {
        for (size_t d = 0; d + 1 < rank; d++)
            lists[d] = d % step == 0 ? first : NULL;
        lists[rank - 1] = NULL;
        CHECK_OK(nczchunk_read_lists(c->var, c->store, c->start, c->count, c->stride, lists, selected, c->context));
        CHECK_OK(nczchunk_write_lists(c->var, c->store, c->start, c->count, c->stride, lists, selected, c->context));
    }
}

static void call_write_that_fails(void *argument)
{
    stack_case *c = argument;

    c->array.chunks[0].write_status = NCZCHUNK_EIO;
    CHECK(nczchunk_write_vars(c->var, c->store, c->start, c->count, c->stride, selected, c->context) != 0);
    c->array.chunks[0].write_status = NCZCHUNK_NOERR;
}

/* The chunk's length is wrong, so there is something to tell. */
static void call_read_that_fails(void *argument)
{
    stack_case *c = argument;

    c->array.chunks[0].nbytes--;
    CHECK(nczchunk_read_vars(c->var, c->store, c->start, c->count, c->stride, selected, c->context) != 0);
    c->array.chunks[0].nbytes++;
}

/* A plan for reading, one for writing, and what can be done with them. */
static void call_plans(void *argument)
{
    static nczchunk_projection projections[NCZCHUNK_MAX_RANK];
    stack_case *c = argument;
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_plan *read, *write, *backwards;
    size_t first, chunks;
    int covered;

    CHECK_OK(nczchunk_plan_new(c->var, c->start, c->count, c->stride, NCZCHUNK_READ, &read, c->context));
    CHECK_OK(nczchunk_plan_new(c->var, c->start, c->count, c->stride, NCZCHUNK_WRITE, &write, c->context));
    CHECK_OK(nczchunk_plan_new_varm(c->var, c->start, c->count, c->stride, c->imap, NCZCHUNK_READ, &backwards,
                                    c->context));
    nczchunk_plan_free(backwards);
    CHECK_OK(nczchunk_plan_new_strided(c->var, c->start, c->count, c->stride, sizeof selected, sizeof selected - 1,
                                       c->imap, NCZCHUNK_READ, &backwards, c->context));
    nczchunk_plan_free(backwards);
    CHECK_OK(nczchunk_plan_totals(read, &totals, c->context));
    CHECK_OK(nczchunk_plan_chunk(read, 0, projections, sizeof *projections, &covered, c->context));
    CHECK_OK(nczchunk_plan_part(read, 0, 1, &first, &chunks, c->context));
    CHECK_OK(nczchunk_plan_read(read, c->store, first, chunks, selected, c->context));
    CHECK_OK(nczchunk_plan_write(write, c->store, 0, NCZCHUNK_ALL, selected, c->context));
    nczchunk_plan_free(write);
    nczchunk_plan_free(read);
}

static int decode_nothing(void *user, nczchunk_coding *coding)
{
    (void)user, (void)coding;
    return NCZCHUNK_EIO;
}

static void call_everything_else(void *argument)
{
    stack_case *c = argument;
    nczchunk_var *var;
    nczchunk_plan *plan;
    nczchunk_odometer *odometer;
    nczchunk_context *context;
    nczchunk_chunk_store *store = memory_array_store(&c->array, LENDING);
    const nczchunk_codec_callbacks callbacks = {.struct_size = sizeof callbacks, .decode = decode_nothing};
    nczchunk_codec *codec;
    int shared;

    store_add_zstd(store);
    nczchunk_chunk_store_free(store);
    CHECK_OK(nczchunk_context_new(&context));
    nczchunk_context_free(context);
    CHECK_OK(nczchunk_var_new(c->array.rank, c->lens, c->lens, 1, &var, c->context));
    CHECK_OK(nczchunk_plan_new(var, c->start, c->count, c->stride, NCZCHUNK_READ, &plan, c->context));
    CHECK_OK(nczchunk_plan_shares_chunks(plan, plan, &shared, NULL));
    nczchunk_plan_free(plan);
    CHECK_OK(nczchunk_var_set_origin(var, 0, -1, NULL));
    CHECK_OK(nczchunk_var_set_write_grid(var, c->lens, NULL));
    CHECK_OK(nczchunk_var_set_chunk_order(var, NULL, NULL));
    CHECK_OK(nczchunk_codec_new("nothing", &callbacks, &codec, c->context));
    nczchunk_codec_free(codec);
    CHECK_OK(nczchunk_copy_strided(c->array.rank, c->count, 1, 0, c->array.chunks[0].bytes, CHUNK_BYTES, 0, c->stride,
                                   selected, sizeof selected, sizeof selected - 1, c->imap, c->context));
    nczchunk_var_free(var);
    CHECK_OK(nczchunk_odometer_new(c->array.rank, c->start, c->count, c->steps, c->lens, &odometer, NULL));
    nczchunk_odometer_next(odometer);
    nczchunk_odometer_free(odometer);
}

/* Makes a call once where its stack does not count, for the linker may take some to find functions used for the first
 * time; then with objects that have not been used, on a painted stack. */
static void check_stack(const char *name, size_t rank, void (*call)(void *argument), store_kind kind, int compressed,
                        const memory_chunk *chunk)
{
    static stack_case c;
    size_t used;

    open_stack_case(&c, rank, kind, compressed, chunk);
    call(&c);
    close_stack_case(&c);
    open_stack_case(&c, rank, kind, compressed, chunk);
    used = stack_of(call, &c);
    close_stack_case(&c);
    printf("%-20s rank %4zu: %5zu bytes of stack\n", name, rank, used);
    fflush(stdout);
    CHECK(used < STACK_LIMIT);
}

static void calls_take_little_stack(const char *directory)
{
    const size_t ranks[] = {1, 8, NCZCHUNK_MAX_RANK};
    const int levels[] = {-5, 1, 2, 3, 5, 6, 8, 13, 16, 18, 19, 22};
    static const unsigned char decoded[CHUNK_BYTES];
    memory_chunk plain = {0};
    memory_array coads;
    const memory_chunk *compressed;

    memory_chunk_set(&plain, decoded, CHUNK_BYTES);
    coads_load(&coads, directory);
    compressed = &coads.chunks[0];
    printf("%-20s %11zu bytes of stack\n", "nothing", stack_of(call_nothing, NULL));
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        check_stack("lending", ranks[i], call_read, LENDING, 0, &plain);
        check_stack("filling", ranks[i], call_read, FILLING, 0, &plain);
        check_stack("zstd, lending", ranks[i], call_read, LENDING, 1, compressed);
        check_stack("zstd, filling", ranks[i], call_read, FILLING, 1, compressed);
        check_stack("failing", ranks[i], call_read_that_fails, LENDING, 0, &plain);
        check_stack("zstd, failing", ranks[i], call_read_that_fails, LENDING, 1, compressed);
        check_stack("write, lending", ranks[i], call_write, LENDING, 0, &plain);
        check_stack("write, filling", ranks[i], call_write, FILLING, 0, &plain);
        check_stack("write, failing", ranks[i], call_write_that_fails, LENDING, 0, &plain);
        /* Every one of zstd's strategies. */
        for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
            char name[32];

            zstd_options.level = levels[l];
            snprintf(name, sizeof name, "write, zstd %td", zstd_options.level);
            check_stack(name, ranks[i], call_write, FILLING, 1, compressed);
        }
        zstd_options.level = 0;
        check_stack("lists", ranks[i], call_lists, LENDING, 0, &plain);
        check_stack("lists, zstd", ranks[i], call_lists, FILLING, 1, compressed);
        check_stack("other layouts", ranks[i], call_other_layouts, LENDING, 0, &plain);
        check_stack("other layouts, zstd", ranks[i], call_other_layouts, FILLING, 1, compressed);
        check_stack("plans", ranks[i], call_plans, FILLING, 0, &plain);
        check_stack("plans, zstd", ranks[i], call_plans, FILLING, 1, compressed);
        check_stack("everything else", ranks[i], call_everything_else, LENDING, 0, &plain);
    }
    memory_array_clear(&coads);
    free(plain.bytes);
}

static void call_large_transpose(void *argument)
{
    static double out[1024 * 2048];
    stack_case *c = argument;

    CHECK_OK(nczchunk_read_varm(c->var, c->store, c->start, c->count, NULL, c->imap, out, c->context));
}

/* So much that it does not pass through the cache, transposed on the way: blocks of it are collected on the stack. */
static void large_transposes_take_little_stack(void)
{
    static double chunk[1024 * 2048];
    static stack_case c = {.lens = {1024, 2048}, .count = {1024, 2048}, .imap = {1, 1024}};
    size_t used;

    memory_array_init_absent(&c.array, 2, c.lens, c.lens, sizeof *chunk);
    memory_chunk_set(&c.array.chunks[0], (const unsigned char *)chunk, sizeof chunk);
    c.array.chunks[0].status = NCZCHUNK_NOERR;
    c.var = memory_array_var(&c.array);
    c.store = memory_array_store(&c.array, LENDING);
    CHECK_OK(nczchunk_context_new(&c.context));
    call_large_transpose(&c);
    used = stack_of(call_large_transpose, &c);
    close_stack_case(&c);
    printf("%-20s rank    2: %5zu bytes of stack\n", "large transpose", used);
    CHECK(used < STACK_LIMIT);
}

int main(int argc, char **argv)
{
    for (size_t rank = 0; rank <= INLINE_RANK; rank++) {
        lending_reads_allocate_nothing(rank);
        filling_reads_in_one_piece_allocate_nothing(rank);
        other_filling_reads_allocate_once(rank);
        zstd_reads_allocate_in_the_first_call(rank);
        errors_allocate_nothing(rank);
        lending_writes_allocate_nothing(rank);
        filling_writes_in_one_piece_allocate_nothing(rank);
        other_filling_writes_allocate_once(rank);
        zstd_writes_allocate_in_the_first_call(rank);
        other_layouts_allocate_nothing(rank);
        plans_allocate_nothing(rank);
    }
    projections_allocate_nothing();
    calls_take_little_stack(argc > 1 ? argv[1] : "data");
    large_transposes_take_little_stack();
    return 0;
}
