/*
 * A plan can be executed: as a whole or in parts, as often as you like, and by several threads at once. Whatever way is
 * taken, the result is that of the function that reads or writes the same hyperslab in one call.
 *
 *     nczchunk_plan_new(var, start, count, stride, NCZCHUNK_READ, &plan, NULL);
 *     nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, NULL);
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <pthread.h>

#include "memory_array.h"

enum { RANK = 2, MEMORY = 4096, GUARD = -77, NUM_THREADS = 4 };

static const size_t zeros[RANK] = {0, 0};

/* --- Arrays: one whose plans have few chunks, and one whose plans have many. The library prepares few in advance. */

static const struct { size_t dimlens[RANK], chunklens[RANK], chunks; } shapes[] = {
    {{7, 9}, {2, 4}, 4 * 3}, {{21, 23}, {2, 3}, 11 * 8}};

enum { FEW_CHUNKS, MANY_CHUNKS, NUM_SHAPES };

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
} fixture;

/* The array is one that another kind of machine wrote, and its chunk number 1 is absent. */
static void open_fixture(fixture *f, int shape, store_kind kind)
{
    const int fill_value = -999;

    memory_array_init(&f->array, RANK, shapes[shape].dimlens, shapes[shape].chunklens, sizeof(int));
    CHECK_EQ(f->array.num_chunks, shapes[shape].chunks);
    memory_array_swap(&f->array, sizeof(int));
    memory_chunk_remove(&f->array.chunks[1], NCZCHUNK_EEMPTY);
    f->var = memory_array_var(&f->array);
    CHECK_OK(nczchunk_var_set_fill_value(f->var, &fill_value, NULL));
    CHECK_OK(nczchunk_var_set_endian(f->var, foreign_endian(), NULL));
    f->store = memory_array_store(&f->array, kind);
    CHECK_OK(nczchunk_context_new(&f->context));
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* --- Hyperslabs of it, and the three ways of laying them out in memory, each with functions of its own. */

/* DENSE is row-major without gaps, for nczchunk_read_vars. MAPPED is transposed, with the columns from the last to the
 * first, for nczchunk_read_varm. STRIDED leaves gaps between rows and elements and goes through the rows backwards, in
 * the array and in memory, for nczchunk_read_strided. */
typedef enum layout { DENSE, MAPPED, STRIDED } layout;

enum { NUM_LAYOUTS = 3, NUM_SLABS = 4 };

typedef struct slab {
    layout layout;
    size_t start[RANK], count[RANK];
    ptrdiff_t stride[RANK];
    ptrdiff_t imap[RANK];            /* for MAPPED, in elements */
    ptrdiff_t memory_strides[RANK];  /* for STRIDED, in bytes */
    size_t memory_offset;            /* of the first element, in bytes */
} slab;

/* One of several hyperslabs: everything, a part, every other row, and columns with whole chunks between them. */
static slab make_slab(const memory_array *array, layout layout, size_t number)
{
    const size_t rows = array->dimlens[0], columns = array->dimlens[1];
    const slab slabs[NUM_SLABS] = {
        {.start = {0, 0}, .count = {rows, columns}, .stride = {1, 1}},
        {.start = {1, 2}, .count = {rows - 2, columns - 4}, .stride = {1, 1}},
        {.start = {1, 0}, .count = {rows / 2, (columns + 1) / 2}, .stride = {2, 2}},
        {.start = {0, 1}, .count = {rows, (columns + 6) / 8}, .stride = {1, 8}}};
    slab s = slabs[number];
    const ptrdiff_t height = (ptrdiff_t)s.count[0], width = (ptrdiff_t)s.count[1], size = sizeof(int);

    s.layout = layout;
    if (layout == MAPPED) {
        s.imap[0] = 1;
        s.imap[1] = -height;
        s.memory_offset = (size_t)((width - 1) * height * size);
    } else if (layout == STRIDED) {
        s.start[0] += (s.count[0] - 1) * (size_t)s.stride[0];
        s.stride[0] = -s.stride[0];
        s.memory_strides[0] = -(2 * width + 3) * size;
        s.memory_strides[1] = 2 * size;
        s.memory_offset = (size_t)(-s.memory_strides[0] * (height - 1));
    }
    return s;
}

static nczchunk_plan *make_plan(const nczchunk_var *var, const slab *s, int access)
{
    nczchunk_plan *plan = NULL;

    switch (s->layout) {
    case DENSE:
        CHECK_OK(nczchunk_plan_new(var, s->start, s->count, s->stride, access, &plan, NULL));
        break;
    case MAPPED:
        CHECK_OK(nczchunk_plan_new_varm(var, s->start, s->count, s->stride, s->imap, access, &plan, NULL));
        break;
    case STRIDED:
        CHECK_OK(nczchunk_plan_new_strided(var, s->start, s->count, s->stride, MEMORY * sizeof(int), s->memory_offset,
                                           s->memory_strides, access, &plan, NULL));
        break;
    }
    return plan;
}

/* What a plan takes for data: the first element if there is an imap, else where the memory begins. */
static int *data_of(const slab *s, int *memory)
{
    return s->layout == MAPPED ? memory + s->memory_offset / sizeof(int) : memory;
}

/* The same in one call, without a plan. */
static void read_at_once(const fixture *f, const slab *s, int *memory)
{
    int *data = data_of(s, memory);

    for (size_t i = 0; i < MEMORY; i++)
        memory[i] = GUARD;
    switch (s->layout) {
    case DENSE:
        CHECK_OK(nczchunk_read_vars(f->var, f->store, s->start, s->count, s->stride, data, NULL));
        break;
    case MAPPED:
        CHECK_OK(nczchunk_read_varm(f->var, f->store, s->start, s->count, s->stride, s->imap, data, NULL));
        break;
    case STRIDED:
        CHECK_OK(nczchunk_read_strided(f->var, f->store, s->start, s->count, s->stride, data, MEMORY * sizeof(int),
                                       s->memory_offset, s->memory_strides, NULL));
        break;
    }
}

static void write_at_once(const fixture *f, const slab *s, int *memory)
{
    const int *data = data_of(s, memory);

    switch (s->layout) {
    case DENSE:
        CHECK_OK(nczchunk_write_vars(f->var, f->store, s->start, s->count, s->stride, data, NULL));
        break;
    case MAPPED:
        CHECK_OK(nczchunk_write_varm(f->var, f->store, s->start, s->count, s->stride, s->imap, data, NULL));
        break;
    case STRIDED:
        CHECK_OK(nczchunk_write_strided(f->var, f->store, s->start, s->count, s->stride, data, MEMORY * sizeof(int),
                                        s->memory_offset, s->memory_strides, NULL));
        break;
    }
}

static size_t num_chunks(const nczchunk_plan *plan)
{
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    CHECK_OK(nczchunk_plan_totals(plan, &totals, NULL));
    return totals.chunks;
}

/* --- The ways of executing a plan. Each is given what nczchunk_plan_read or nczchunk_plan_write takes. */

typedef struct execution {
    const nczchunk_plan *plan;
    const nczchunk_chunk_store *store;
    int access;
    int *data;
    size_t num_parts;
} execution;

static void execute(const execution *e, size_t first, size_t number, nczchunk_context *context)
{
    if (e->access == NCZCHUNK_READ)
        CHECK_OK(nczchunk_plan_read(e->plan, e->store, first, number, e->data, context));
    else
        CHECK_OK(nczchunk_plan_write(e->plan, e->store, first, number, e->data, context));
}

static void as_a_whole(const execution *e)
{
    execute(e, 0, NCZCHUNK_ALL, NULL);
}

/* From the last chunk to the first: their order is up to the caller. */
static void chunk_by_chunk(const execution *e)
{
    for (size_t i = num_chunks(e->plan); i-- > 0;)
        execute(e, i, 1, NULL);
}

/* The first half, and then all that follow. */
static void in_two_halves(const execution *e)
{
    size_t half = num_chunks(e->plan) / 2;

    execute(e, 0, half, NULL);
    execute(e, half, NCZCHUNK_ALL, NULL);
}

/* Parts follow on one another, and their lengths differ by at most one chunk. */
static void by_parts(const execution *e)
{
    size_t chunks = num_chunks(e->plan), next = 0;

    for (size_t part = 0; part < e->num_parts; part++) {
        size_t first = 99, number = 99;

        CHECK_OK(nczchunk_plan_part(e->plan, part, e->num_parts, &first, &number, NULL));
        CHECK_EQ(first, next);
        CHECK(number == chunks / e->num_parts || number == chunks / e->num_parts + 1);
        execute(e, first, number, NULL);
        next = first + number;
    }
    CHECK_EQ(next, chunks);
}

/* Each thread has a part of the plan, and a context of its own. The memory is the same for all. */
typedef struct worker {
    const execution *execution;
    size_t part;
    pthread_t thread;
    pthread_barrier_t *all_are_there;
} worker;

static void *work(void *argument)
{
    worker *w = argument;
    const execution *e = w->execution;
    size_t first, number;
    nczchunk_context *context;
    int waited;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_plan_part(e->plan, w->part, NUM_THREADS, &first, &number, context));
    waited = pthread_barrier_wait(w->all_are_there);
    CHECK(waited == 0 || waited == PTHREAD_BARRIER_SERIAL_THREAD);
    execute(e, first, number, context);
    CHECK_EQ(nczchunk_context_chunks_done(context), number);
    nczchunk_context_free(context);
    return NULL;
}

static void by_threads_at_once(const execution *e)
{
    worker workers[NUM_THREADS];
    pthread_barrier_t all_are_there;

    CHECK_OK(pthread_barrier_init(&all_are_there, NULL, NUM_THREADS));
    for (size_t t = 0; t < NUM_THREADS; t++) {
        workers[t] = (worker){.execution = e, .part = t, .all_are_there = &all_are_there};
        CHECK_OK(pthread_create(&workers[t].thread, NULL, work, &workers[t]));
    }
    for (size_t t = 0; t < NUM_THREADS; t++)
        CHECK_OK(pthread_join(workers[t].thread, NULL));
    CHECK_OK(pthread_barrier_destroy(&all_are_there));
}

static void (*const ways[])(const execution *) = {as_a_whole, chunk_by_chunk, in_two_halves, by_threads_at_once};

enum { NUM_WAYS = sizeof ways / sizeof *ways };

/* --- Each of them gives the same, for every layout. */

static void check_reads(fixture *f, const slab *s)
{
    static int expected[MEMORY], memory[MEMORY];
    nczchunk_plan *plan = make_plan(f->var, s, NCZCHUNK_READ);
    execution e = {plan, f->store, NCZCHUNK_READ, data_of(s, memory), 0};
    size_t chunks = num_chunks(plan), at_once;

    f->array.asked = 0;
    read_at_once(f, s, expected);
    at_once = (size_t)f->array.asked;
    CHECK_EQ(at_once, chunks);
    for (size_t way = 0; way < NUM_WAYS; way++) {
        for (size_t i = 0; i < MEMORY; i++)
            memory[i] = GUARD;
        f->array.asked = 0;
        ways[way](&e);
        CHECK_EQ(f->array.asked, chunks);
        CHECK(memcmp(memory, expected, sizeof memory) == 0);
    }
    /* There may be more parts than chunks: then some are empty. */
    for (e.num_parts = 1; e.num_parts <= chunks + 3; e.num_parts += 1 + e.num_parts / 7) {
        for (size_t i = 0; i < MEMORY; i++)
            memory[i] = GUARD;
        by_parts(&e);
        CHECK(memcmp(memory, expected, sizeof memory) == 0);
    }
    nczchunk_plan_free(plan);
}

/* Executes a plan for writing on a fresh array, and checks what becomes of the chunks. */
static void check_write(int shape, store_kind kind, const slab *s, size_t way, size_t num_parts)
{
    static int memory[MEMORY], before[MEMORY];
    fixture at_once, planned;
    nczchunk_plan *plan;
    execution e;

    for (int i = 0; i < MEMORY; i++)
        before[i] = memory[i] = 1000 + i;
    open_fixture(&at_once, shape, kind);
    write_at_once(&at_once, s, memory);

    open_fixture(&planned, shape, kind);
    plan = make_plan(planned.var, s, NCZCHUNK_WRITE);
    e = (execution){plan, planned.store, NCZCHUNK_WRITE, data_of(s, memory), num_parts};
    if (num_parts > 0)
        by_parts(&e);
    else
        ways[way](&e);
    memory_array_check_same(&planned.array, &at_once.array);
    CHECK_EQ(planned.array.written, num_chunks(plan));
    CHECK_EQ(planned.array.written, at_once.array.written);
    CHECK_EQ(planned.array.asked, at_once.array.asked);
    CHECK(memcmp(memory, before, sizeof memory) == 0);
    nczchunk_plan_free(plan);
    close_fixture(&planned);
    close_fixture(&at_once);
}

static void every_way_gives_the_same(store_kind kind)
{
    for (int shape = 0; shape < NUM_SHAPES; shape++)
        for (int layout = 0; layout < NUM_LAYOUTS; layout++)
            for (size_t number = 0; number < NUM_SLABS; number++) {
                fixture f;
                slab s;

                open_fixture(&f, shape, kind);
                s = make_slab(&f.array, (enum layout)layout, number);
                check_reads(&f, &s);
                for (size_t way = 0; way < NUM_WAYS; way++)
                    check_write(shape, kind, &s, way, 0);
                check_write(shape, kind, &s, 0, 1);
                check_write(shape, kind, &s, 0, 5);
                check_write(shape, kind, &s, 0, f.array.num_chunks + 3);
                close_fixture(&f);
            }
}

/* A plan keeps what it was made from. What becomes of the variable afterwards is nothing to it. */
static void a_plan_outlives_its_variable(store_kind kind)
{
    static int expected[MEMORY], memory[MEMORY];

    for (int layout = 0; layout < NUM_LAYOUTS; layout++) {
        const int other_fill_value = 5;
        fixture f, other;
        slab s;
        nczchunk_plan *to_read, *to_write;

        open_fixture(&f, FEW_CHUNKS, kind);
        s = make_slab(&f.array, (enum layout)layout, 0);
        read_at_once(&f, &s, expected);
        to_read = make_plan(f.var, &s, NCZCHUNK_READ);
        to_write = make_plan(f.var, &s, NCZCHUNK_WRITE);

        CHECK_OK(nczchunk_var_set_dimlen(f.var, 0, 1, NULL));
        CHECK_OK(nczchunk_var_set_origin(f.var, 1, -3, NULL));
        CHECK_OK(nczchunk_var_set_endian(f.var, NCZCHUNK_ENDIAN_NATIVE, NULL));
        CHECK_OK(nczchunk_var_set_fill_value(f.var, &other_fill_value, NULL));
        CHECK_OK(nczchunk_var_set_chunk_order(f.var, (const size_t[2]){1, 0}, NULL));
        for (int is_freed = 0; is_freed < 2; is_freed++) {
            for (size_t i = 0; i < MEMORY; i++)
                memory[i] = GUARD;
            CHECK_OK(nczchunk_plan_read(to_read, f.store, 0, NCZCHUNK_ALL, data_of(&s, memory), NULL));
            CHECK(memcmp(memory, expected, sizeof memory) == 0);
            nczchunk_var_free(f.var);
            f.var = NULL;
        }

        for (int i = 0; i < MEMORY; i++)
            memory[i] = 1000 + i;
        open_fixture(&other, FEW_CHUNKS, kind);
        write_at_once(&other, &s, memory);
        CHECK_OK(nczchunk_plan_write(to_write, f.store, 0, NCZCHUNK_ALL, data_of(&s, memory), NULL));
        memory_array_check_same(&f.array, &other.array);
        nczchunk_plan_free(to_read);
        nczchunk_plan_free(to_write);
        close_fixture(&other);
        close_fixture(&f);
    }
}

/* A scalar is a plan of one chunk. A plan that selects nothing has no chunks, needs no memory, and succeeds. */
static void small_plans(store_kind kind)
{
    const size_t none[RANK] = {0, 4};
    memory_array array;
    nczchunk_chunk_store *store;
    nczchunk_plan *plan;
    nczchunk_var *var;
    size_t first = 99, number = 99;
    int value = 17;
    fixture f;

    memory_array_init(&array, 0, NULL, NULL, sizeof(int));
    store = memory_array_store(&array, kind);
    var = memory_array_var(&array);
    CHECK_OK(nczchunk_plan_new(var, NULL, NULL, NULL, NCZCHUNK_WRITE, &plan, NULL));
    CHECK_OK(nczchunk_plan_write(plan, store, 0, 1, &value, NULL));
    nczchunk_plan_free(plan);
    CHECK_OK(nczchunk_plan_new(var, NULL, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    value = 0;
    CHECK_OK(nczchunk_plan_read(plan, store, 0, 1, &value, NULL));
    CHECK_EQ(value, 17);
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    memory_array_clear(&array);

    open_fixture(&f, FEW_CHUNKS, kind);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, none, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_read(plan, f.store, 0, NCZCHUNK_ALL, NULL, NULL));
    CHECK_OK(nczchunk_plan_read(plan, f.store, 0, 0, NULL, NULL));
    CHECK_OK(nczchunk_plan_part(plan, 1, 2, &first, &number, NULL));
    CHECK(first == 0 && number == 0);
    CHECK_EQ(f.array.asked, 0);
    nczchunk_plan_free(plan);
    close_fixture(&f);
}

/* --- What is refused. Then no callback runs, and memory is as it was. */

static void refused(fixture *f, int is_write, const nczchunk_plan *plan, size_t first, size_t number, int status)
{
    int data[64];

    for (size_t i = 0; i < 64; i++)
        data[i] = GUARD;
    if (is_write)
        CHECK_EQ(nczchunk_plan_write(plan, f->store, first, number, data, f->context), status);
    else
        CHECK_EQ(nczchunk_plan_read(plan, f->store, first, number, data, f->context), status);
    CHECK_EQ(nczchunk_context_status(f->context), status);
    CHECK_EQ(nczchunk_context_chunks_done(f->context), 0);
    CHECK_EQ(f->array.asked + f->array.written, 0);
    for (size_t i = 0; i < 64; i++)
        CHECK_EQ(data[i], GUARD);
}

/* A plan for reading does not write, nor the other way round. */
static void a_plan_is_for_one_access(store_kind kind)
{
    fixture f;

    open_fixture(&f, FEW_CHUNKS, kind);
    for (int layout = 0; layout < NUM_LAYOUTS; layout++) {
        slab s = make_slab(&f.array, (enum layout)layout, 0);
        nczchunk_plan *to_read = make_plan(f.var, &s, NCZCHUNK_READ);
        nczchunk_plan *to_write = make_plan(f.var, &s, NCZCHUNK_WRITE);

        refused(&f, 1, to_read, 0, NCZCHUNK_ALL, NCZCHUNK_EINVAL);
        refused(&f, 0, to_write, 0, NCZCHUNK_ALL, NCZCHUNK_EINVAL);
        refused(&f, 1, to_read, 0, 0, NCZCHUNK_EINVAL);
        refused(&f, 0, to_write, 0, 0, NCZCHUNK_EINVAL);
        nczchunk_plan_free(to_read);
        nczchunk_plan_free(to_write);
    }
    close_fixture(&f);
}

/* Chunks that the plan does not have cannot be executed. An empty range at its end can. */
static void ranges_beyond_the_plan(store_kind kind)
{
    fixture f;

    open_fixture(&f, FEW_CHUNKS, kind);
    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
        slab s = make_slab(&f.array, DENSE, 0);
        nczchunk_plan *plan = make_plan(f.var, &s, access);
        size_t chunks = num_chunks(plan);
        static int data[64];

        refused(&f, access, plan, chunks + 1, 0, NCZCHUNK_EINVALCOORDS);
        refused(&f, access, plan, chunks + 1, 1, NCZCHUNK_EINVALCOORDS);
        refused(&f, access, plan, chunks + 1, NCZCHUNK_ALL, NCZCHUNK_EINVALCOORDS);
        refused(&f, access, plan, SIZE_MAX, SIZE_MAX - 1, NCZCHUNK_EINVALCOORDS);
        refused(&f, access, plan, 0, chunks + 1, NCZCHUNK_EEDGE);
        refused(&f, access, plan, chunks, 1, NCZCHUNK_EEDGE);
        refused(&f, access, plan, chunks - 1, 2, NCZCHUNK_EEDGE);
        refused(&f, access, plan, 1, SIZE_MAX - 1, NCZCHUNK_EEDGE);
        refused(&f, access, plan, chunks, 0, NCZCHUNK_NOERR);
        refused(&f, access, plan, chunks, NCZCHUNK_ALL, NCZCHUNK_NOERR);
        if (access == NCZCHUNK_READ)
            CHECK_OK(nczchunk_plan_read(plan, f.store, chunks - 1, NCZCHUNK_ALL, data, f.context));
        else
            CHECK_OK(nczchunk_plan_write(plan, f.store, chunks - 1, NCZCHUNK_ALL, data, f.context));
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 1);
        f.array.asked = f.array.written = 0;
        nczchunk_plan_free(plan);
    }
    close_fixture(&f);
}

static void null_is_refused(void)
{
    size_t first = 99, number = 99;
    nczchunk_plan *to_read, *to_write;
    unsigned char chunk[32] = {0};
    int data[63];
    fixture f;
    slab s;

    open_fixture(&f, FEW_CHUNKS, FILLING);
    s = make_slab(&f.array, DENSE, 0);
    to_read = make_plan(f.var, &s, NCZCHUNK_READ);
    to_write = make_plan(f.var, &s, NCZCHUNK_WRITE);
    CHECK_EQ(nczchunk_plan_read(NULL, f.store, 0, NCZCHUNK_ALL, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_read(to_read, NULL, 0, NCZCHUNK_ALL, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_read(to_read, f.store, 0, NCZCHUNK_ALL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_write(NULL, f.store, 0, NCZCHUNK_ALL, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_write(to_write, NULL, 0, NCZCHUNK_ALL, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_write(to_write, f.store, 0, NCZCHUNK_ALL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_copy_chunk(NULL, 0, chunk, 32, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_copy_chunk(to_read, 0, NULL, 32, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_copy_chunk(to_read, 0, chunk, 32, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_copy_chunk(to_write, 0, NULL, 32, data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_copy_chunk(to_write, 0, chunk, 32, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_part(NULL, 0, 1, &first, &number, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_part(to_read, 0, 1, NULL, &number, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_part(to_read, 0, 1, &first, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_part(to_read, 0, 0, &first, &number, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_part(to_read, 1, 1, &first, &number, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_plan_part(to_read, SIZE_MAX, SIZE_MAX, &first, &number, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK(first == 99 && number == 99);
    CHECK_EQ(f.array.asked + f.array.written, 0);
    nczchunk_plan_free(to_read);
    nczchunk_plan_free(to_write);
    close_fixture(&f);
}

/* What nczchunk_plan_new_varm and nczchunk_plan_new_strided refuse is what the functions refuse that read and write. */
static void layouts_that_do_not_fit_have_no_plan(void)
{
    const ptrdiff_t imap[RANK] = {PTRDIFF_MAX, 1}, none[RANK] = {0, 1}, back[RANK] = {-1, 1}, strides[RANK] = {36, 4};
    nczchunk_plan *plan = NULL;
    fixture f;
    const size_t *all = shapes[FEW_CHUNKS].dimlens;

    open_fixture(&f, FEW_CHUNKS, FILLING);
    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
        CHECK_EQ(nczchunk_plan_new_varm(f.var, zeros, all, NULL, imap, access, &plan, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_new_varm(f.var, zeros, all, back, NULL, access, &plan, NULL), NCZCHUNK_ESTRIDE);
        CHECK_EQ(nczchunk_plan_new_varm(f.var, NULL, all, NULL, NULL, access, &plan, NULL), NCZCHUNK_EINVALCOORDS);
        CHECK_EQ(nczchunk_plan_new_varm(f.var, zeros, all, NULL, NULL, access, NULL, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, all, NULL, 252, 0, NULL, access, &plan, NULL),
                 NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, NULL, NULL, 252, 0, strides, access, &plan, NULL),
                 NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, all, none, 252, 0, strides, access, &plan, NULL),
                 NCZCHUNK_ESTRIDE);
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, all, back, 252, 0, strides, access, &plan, NULL),
                 NCZCHUNK_EEDGE);
        /* The last element ends at byte 252. */
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, all, NULL, 251, 0, strides, access, &plan, NULL),
                 NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_plan_new_strided(f.var, zeros, all, NULL, 252, 1, strides, access, &plan, NULL),
                 NCZCHUNK_EINVAL);
        CHECK(plan == NULL);
        CHECK_OK(nczchunk_plan_new_strided(f.var, zeros, all, NULL, 252, 0, strides, access, &plan, NULL));
        nczchunk_plan_free(plan);
        plan = NULL;
    }
    close_fixture(&f);
}

/* --- One chunk, without a store: the caller has the chunk, and nczchunk_plan_copy_chunk moves its elements. */

/* The place of the plan's i-th chunk in the array. */
static memory_chunk *chunk_of(const fixture *f, const nczchunk_plan *plan, size_t i, size_t *elements)
{
    nczchunk_projection box[RANK];
    ptrdiff_t indices[RANK];

    CHECK_OK(nczchunk_plan_chunk(plan, i, box, sizeof *box, NULL, NULL));
    *elements = 1;
    for (size_t d = 0; d < RANK; d++) {
        indices[d] = box[d].chunk_index;
        *elements *= box[d].iocount;
    }
    return memory_array_chunk(&f->array, indices);
}

static void chunks_are_copied_one_by_one(void)
{
    static int expected[MEMORY], memory[MEMORY];

    for (int shape = 0; shape < NUM_SHAPES; shape++)
        for (int layout = 0; layout < NUM_LAYOUTS; layout++)
            for (size_t number = 0; number < NUM_SLABS; number++) {
                fixture f, other;
                slab s;
                nczchunk_plan *plan;
                const size_t all = shapes[shape].dimlens[0] * shapes[shape].dimlens[1];
                size_t elements;

                open_fixture(&f, shape, LENDING);
                /* Every chunk is there. */
                memory_chunk_set(&f.array.chunks[1], f.array.chunks[0].bytes, f.array.chunk_bytes);
                f.array.chunks[1].status = NCZCHUNK_NOERR;
                s = make_slab(&f.array, (enum layout)layout, number);
                read_at_once(&f, &s, expected);
                f.array.asked = 0;

                plan = make_plan(f.var, &s, NCZCHUNK_READ);
                for (size_t i = 0; i < MEMORY; i++)
                    memory[i] = GUARD;
                for (size_t i = 0; i < num_chunks(plan); i++) {
                    memory_chunk *chunk = chunk_of(&f, plan, i, &elements);
                    CHECK_OK(nczchunk_plan_copy_chunk(plan, i, chunk->bytes, chunk->nbytes, data_of(&s, memory), NULL));
                }
                CHECK(memcmp(memory, expected, sizeof memory) == 0);
                nczchunk_plan_free(plan);

                /* To write goes the other way. Of a chunk, only the selected elements change. */
                other = f;
                other.array = memory_array_copy(&f.array);
                other.store = memory_array_store(&other.array, LENDING);
                for (int i = 0; i < MEMORY; i++)
                    memory[i] = 1000 + i;
                write_at_once(&other, &s, memory);
                plan = make_plan(f.var, &s, NCZCHUNK_WRITE);
                for (size_t i = 0; i < num_chunks(plan); i++) {
                    memory_chunk *chunk = chunk_of(&f, plan, i, &elements);
                    int before[12];
                    size_t changed = 0;

                    CHECK(chunk->nbytes <= sizeof before);
                    memcpy(before, chunk->bytes, chunk->nbytes);
                    CHECK_OK(nczchunk_plan_copy_chunk(plan, i, chunk->bytes, chunk->nbytes, data_of(&s, memory), NULL));
                    for (size_t e = 0; e < chunk->nbytes / sizeof(int); e++)
                        changed += memcmp(&before[e], chunk->bytes + e * sizeof(int), sizeof(int)) != 0;
                    CHECK_EQ(changed, elements);
                }
                CHECK_EQ(f.array.asked + f.array.written, 0);
                CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, memory, NULL));
                CHECK_OK(nczchunk_read_vars(f.var, other.store, zeros, NULL, NULL, expected, NULL));
                CHECK(memcmp(memory, expected, all * sizeof(int)) == 0);
                nczchunk_plan_free(plan);
                nczchunk_chunk_store_free(other.store);
                memory_array_clear(&other.array);
                close_fixture(&f);
            }
}

/* A chunk has one length. No other is accepted, and then nothing is copied. */
static void a_chunk_to_copy_has_its_full_length(void)
{
    unsigned char chunk[64], before[64];
    int data[63], status;
    fixture f;

    memset(chunk, 0xAB, sizeof chunk);
    memcpy(before, chunk, sizeof chunk);
    open_fixture(&f, FEW_CHUNKS, LENDING);
    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++) {
        const size_t lengths[] = {0, 1, 31, 33, SIZE_MAX};
        slab s = make_slab(&f.array, DENSE, 0);
        nczchunk_plan *plan = make_plan(f.var, &s, access);

        for (size_t i = 0; i < 63; i++)
            data[i] = GUARD;
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            status = nczchunk_plan_copy_chunk(plan, 0, chunk, lengths[i], data, f.context);
            CHECK_EQ(status, NCZCHUNK_EBADCHUNK);
            CHECK_EQ(nczchunk_context_status(f.context), NCZCHUNK_EBADCHUNK);
        }
        CHECK_EQ(nczchunk_plan_copy_chunk(plan, num_chunks(plan), chunk, 32, data, NULL), NCZCHUNK_EINVALCOORDS);
        CHECK_EQ(nczchunk_plan_copy_chunk(plan, SIZE_MAX, chunk, 32, data, NULL), NCZCHUNK_EINVALCOORDS);
        CHECK(memcmp(chunk, before, sizeof chunk) == 0);
        for (size_t i = 0; i < 63; i++)
            CHECK_EQ(data[i], GUARD);
        nczchunk_plan_free(plan);
    }
    close_fixture(&f);
}

/* --- A chunk that fails. */

/* The context counts the chunks that were done before it, from the beginning of the range. */
static void chunks_are_counted_from_the_beginning_of_the_range(int shape, store_kind kind)
{
    static int memory[MEMORY];
    const size_t chunks = shapes[shape].chunks;

    for (int access = NCZCHUNK_READ; access <= NCZCHUNK_WRITE; access++)
        for (size_t first = 0; first < chunks; first += 3)
            for (size_t failed = first; failed <= chunks; failed += 2) {
                fixture f;
                slab s;
                nczchunk_plan *plan;
                size_t rank = 0;
                int status, is_failing = failed < chunks;

                open_fixture(&f, shape, kind);
                s = make_slab(&f.array, MAPPED, 0);
                plan = make_plan(f.var, &s, access);
                if (is_failing) {
                    f.array.chunks[failed].status = access == NCZCHUNK_READ ? EIO : f.array.chunks[failed].status;
                    f.array.chunks[failed].write_status = EIO;
                }
                if (access == NCZCHUNK_READ)
                    status = nczchunk_plan_read(plan, f.store, first, NCZCHUNK_ALL, data_of(&s, memory), f.context);
                else
                    status = nczchunk_plan_write(plan, f.store, first, NCZCHUNK_ALL, data_of(&s, memory), f.context);
                CHECK_EQ(status, is_failing ? EIO : 0);
                CHECK_EQ(nczchunk_context_chunks_done(f.context), failed < chunks ? failed - first : chunks - first);
                if (is_failing) {
                    const ptrdiff_t *indices = nczchunk_context_chunk(f.context, &rank);

                    CHECK(indices != NULL);
                    CHECK_EQ(rank, RANK);
                    CHECK_EQ(memory_array_chunk(&f.array, indices) - f.array.chunks, failed);
                }
                nczchunk_plan_free(plan);
                close_fixture(&f);
            }
}

int main(void)
{
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        every_way_gives_the_same(store_kinds[i]);
        a_plan_outlives_its_variable(store_kinds[i]);
        small_plans(store_kinds[i]);
        a_plan_is_for_one_access(store_kinds[i]);
        ranges_beyond_the_plan(store_kinds[i]);
        chunks_are_counted_from_the_beginning_of_the_range(FEW_CHUNKS, store_kinds[i]);
        chunks_are_counted_from_the_beginning_of_the_range(MANY_CHUNKS, store_kinds[i]);
    }
    null_is_refused();
    layouts_that_do_not_fit_have_no_plan();
    chunks_are_copied_one_by_one();
    a_chunk_to_copy_has_its_full_length();
    return 0;
}
