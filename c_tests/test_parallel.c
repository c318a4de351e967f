/*
 * One call, several threads: start here, before test_parallel_failures.c and test_parallel_process.c.
 *
 * nczchunk_context_set_threads says how many may work on a call with that context; a store says with concurrent = 1
 * that its callbacks may run at the same time. Nothing else changes: bytes, status and what the context tells are the
 * same with any number.
 *
 *     nczchunk_context_set_threads(context, 4);
 *     nczchunk_read_vars(var, store, start, count, stride, data, context);
 *
 * It gets no more threads than there is work for, so that the arrays here are large, or take their time.
 * test_thread_floor.c is about small ones. The callbacks are those of watched_array.h, which see to it that the threads
 * really work at the same time.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "counted_threads.h"
#include "watched_array.h"

/* The last one not everywhere, for a thread is dear under a memory checker. */
static const size_t thread_counts[] = {1, 2, 3, 8, 100};
#define NUM_THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

typedef struct hyperslab {
    size_t start[RANK], count[RANK];
    ptrdiff_t stride[RANK];
} hyperslab;

static const hyperslab hyperslabs[] = {
    {{0, 0, 0}, {12, 10, 8}, {1, 1, 1}}, /* everything */
    {{1, 0, 1}, {4, 5, 3}, {3, 2, 2}},   /* every so many-th */
    {{2, 3, 2}, {9, 1, 6}, {1, 1, 1}},   /* a part */
    {{0, 4, 3}, {5, 4, 3}, {1, 1, 1}},   /* one chunk */
};
#define NUM_HYPERSLABS (sizeof hyperslabs / sizeof *hyperslabs)

/*
 * How many of so many threads must be at work at the same time on so many chunks. A timed store has done one chunk by
 * then. For a store that lends, only a hyperslab of everything is work for several.
 */
static size_t threads_at_work(const watched *w, size_t threads, size_t chunks)
{
    size_t together = w->is_timed ? chunks - 1 : chunks == CHUNKS && w->array.element_size == LARGE_ELEMENT ? 8 : 1;
    return together > 1 ? smaller(threads, together) : 1;
}

/* Checks that so many were. There is room for a few more than eight in an estimate of work for eight. */
static void check_threads(const watched *w, size_t working)
{
    if (working == 8 && !w->is_timed)
        CHECK(w->num_threads >= 8);
    else
        CHECK_EQ(w->num_threads, working);
}

/* --- Reads of all kinds give the same bytes. */

/* Where the elements go: dense, transposed, with gaps between them, back to front, and all along the first dimension to
 * the same place. */
typedef enum way { DENSE, TRANSPOSED, GAPS, BACKWARDS, OVERLAPPING, NUM_WAYS } way;

/* As many bytes as all elements have, twice for the gaps. */
static unsigned char memory[2 * LARGE_ELEMENT * ELEMENTS], alone[sizeof memory];

static int read_as(const watched *w, way how, const hyperslab *r, unsigned char *memory, size_t nbytes)
{
    const size_t *n = r->count;
    const ptrdiff_t size = (ptrdiff_t)w->array.element_size, row = (ptrdiff_t)n[2], plane = (ptrdiff_t)n[1] * row;
    const ptrdiff_t transposed[RANK] = {1, (ptrdiff_t)n[0], (ptrdiff_t)(n[0] * n[1])};
    const ptrdiff_t dense[RANK] = {plane * size, row * size, size}, overlapping[RANK] = {0, row * size, size};
    const ptrdiff_t gaps[RANK] = {2 * plane * size, 2 * row * size, 2 * size};
    size_t last[RANK];
    ptrdiff_t back[RANK];

    for (size_t d = 0; d < RANK; d++) {
        last[d] = r->start[d] + (n[d] - 1) * (size_t)r->stride[d];
        back[d] = -r->stride[d];
    }
    memset(memory, 0xA7, nbytes);
    switch (how) {
    case TRANSPOSED:
        return nczchunk_read_varm(w->var, w->store, r->start, n, r->stride, transposed, memory, w->context);
    case GAPS:
        return nczchunk_read_strided(w->var, w->store, r->start, n, r->stride, memory, nbytes, 0, gaps, w->context);
    case BACKWARDS:
        return nczchunk_read_strided(w->var, w->store, last, n, back, memory, nbytes, 0, dense, w->context);
    case OVERLAPPING:
        return nczchunk_read_strided(w->var, w->store, r->start, n, r->stride, memory, nbytes, 0, overlapping,
                                     w->context);
    default: return nczchunk_read_vars(w->var, w->store, r->start, n, r->stride, memory, w->context);
    }
}

/* Reads with one thread, then with more, and compares all that can be seen. */
static void check_reads(watched *w, store_kind kind, way how, const hyperslab *r)
{
    const size_t nbytes = 2 * w->array.element_size * ELEMENTS;
    int asked_alone[MOST_CHUNKS];
    size_t chunks;

    watched_expect_threads(w, 1, 1);
    CHECK_OK(read_as(w, how, r, alone, nbytes));
    if (how == DENSE)
        memory_array_expect(&w->array, r->start, r->count, r->stride, NULL, alone);
    chunks = (size_t)w->array.asked;
    memcpy(asked_alone, w->asked, sizeof asked_alone);

    for (size_t t = 0; t < NUM_THREAD_COUNTS - (how != DENSE); t++) {
        /* Where elements overlap, the last one would be a matter of luck: one thread reads them in order. */
        size_t working = how == OVERLAPPING ? 1 : threads_at_work(w, thread_counts[t], chunks);

        watched_expect_threads(w, thread_counts[t], working);
        CHECK_OK(read_as(w, how, r, memory, nbytes));
        check_threads(w, working);
        CHECK(memcmp(memory, alone, nbytes) == 0);
        CHECK_EQ(nczchunk_context_chunks_done(w->context), chunks);
        CHECK_EQ(w->array.asked, chunks);
        CHECK(memcmp(w->asked, asked_alone, sizeof asked_alone) == 0);
        /* The chunk that is absent was not lent. */
        if (kind == LENDING)
            CHECK_EQ(w->array.released, chunks - (size_t)w->asked[ABSENT]);
    }
}

static void any_number_of_threads_reads_the_same(store_kind kind)
{
    for (int compressed = 0; compressed <= 1; compressed++) {
        size_t element_size = 8;
        watched w;

        if (compressed)
            watched_open_as(&w, kind, element_size, 1);
        else
            watched_open_large(&w, kind);
        if (compressed) {
            /* And swapped. */
            memory_array_swap(&w.array, element_size);
            CHECK_OK(nczchunk_var_set_endian(w.var, foreign_endian(), NULL));
            watched_compress(&w);
        }
        for (size_t i = 0; i < NUM_HYPERSLABS; i++)
            for (way how = DENSE; how < NUM_WAYS; how++)
                check_reads(&w, kind, how, &hyperslabs[i]);
        watched_close(&w);
    }
}

/* --- So do writes. */

/* Writes from memory, dense or with the elements of the first dimension at the same place, which a write may share. */
static int write_as(const watched *w, way how, const hyperslab *r, const void *data)
{
    const ptrdiff_t imap[RANK] = {0, (ptrdiff_t)r->count[2], 1};

    return how == OVERLAPPING
               ? nczchunk_write_varm(w->var, w->store, r->start, r->count, r->stride, imap, data, w->context)
               : nczchunk_write_vars(w->var, w->store, r->start, r->count, r->stride, data, w->context);
}

/* Compressed chunks are to be compared, so they are the library's own. */
static void open_for_writing(watched *w, store_kind kind, int compressed)
{
    int data[ELEMENTS];

    if (!compressed) {
        watched_open_large(w, kind);
    } else {
        watched_open(w, kind);
        CHECK_OK(watched_read(w, data));
        store_add_zstd(w->store);
        CHECK_OK(watched_write(w, data));
        memory_chunk_remove(&w->array.chunks[ABSENT], NCZCHUNK_EEMPTY);
    }
}

static void check_writes(store_kind kind, int compressed, way how, const hyperslab *r)
{
    static unsigned char data[LARGE_ELEMENT * ELEMENTS];
    size_t *elements, chunks = 0;
    watched alone, w;

    open_for_writing(&alone, kind, compressed);
    memory_array_make_data(&alone.array, ELEMENTS, data);
    elements = memory_array_elements(&alone.array, r->start, r->count, r->stride);
    for (size_t c = 0; c < CHUNKS; c++)
        chunks += elements[c] > 0;
    if (!compressed && how == DENSE) {
        memory_array expected = memory_array_copy(&alone.array);

        memory_array_put(&expected, r->start, r->count, r->stride, NULL, data, NULL);
        CHECK_OK(write_as(&alone, how, r, data));
        memory_array_check_same(&alone.array, &expected);
        memory_array_clear(&expected);
    } else {
        CHECK_OK(write_as(&alone, how, r, data));
    }
    for (size_t t = 0; t < NUM_THREAD_COUNTS; t++) {
        size_t working;

        open_for_writing(&w, kind, compressed);
        working = threads_at_work(&w, thread_counts[t], chunks);
        watched_expect_threads(&w, thread_counts[t], working);
        CHECK_OK(write_as(&w, how, r, data));
        check_threads(&w, working);
        CHECK_EQ(nczchunk_context_chunks_done(w.context), chunks);
        memory_array_check_same(&w.array, &alone.array);
        /* Each chunk was stored once, and no other. */
        CHECK_EQ(w.array.written, chunks);
        for (size_t c = 0; c < CHUNKS; c++)
            CHECK_EQ(w.written[c], elements[c] > 0);
        watched_close(&w);
    }
    free(elements);
    watched_close(&alone);
}

static void any_number_of_threads_writes_the_same(store_kind kind, int compressed)
{
    for (size_t i = 0; i < NUM_HYPERSLABS; i++) {
        check_writes(kind, compressed, DENSE, &hyperslabs[i]);
        check_writes(kind, compressed, OVERLAPPING, &hyperslabs[i]);
    }
}

/* --- And it is done in the same way. */

/*
 * A chunk that lies in the caller's memory in one piece is filled in there, by whichever thread, and stored from there.
 */
static void chunks_in_one_piece_are_not_copied(void)
{
    const size_t lens[RANK] = {40, 8, 3}, chunks[RANK] = {2, 8, 3};
    static int data[40 * 8 * 3];
    watched w;

    watched_open(&w, FILLING);
    watched_replace(&w, RANK, lens, chunks);
    w.array.data = (const unsigned char *)data;
    w.array.data_size = sizeof data;

    watched_expect_threads(&w, 4, 4);
    CHECK_OK(watched_read(&w, data));
    watched_check(&w, data);
    CHECK_EQ(w.array.asked, 20);
    CHECK_EQ(w.array.direct, 20);

    watched_expect_threads(&w, 4, 4);
    CHECK_OK(watched_write(&w, data));
    CHECK_EQ(w.array.written, 20);
    CHECK_EQ(w.array.direct, 40);
    watched_close(&w);
}

/* Above rank 8 a list of one index per dimension is not held in place but allocated, by each thread for itself. */
static void ranks_above_eight(store_kind kind)
{
    const size_t lens[10] = {3, 1, 4, 1, 1, 1, 1, 1, 2, 3}, chunks[10] = {1, 1, 3, 1, 1, 1, 1, 1, 1, 2};
    static unsigned char data[72 * MOST_ELEMENT_BYTES];
    watched w;

    watched_open_as(&w, kind, kind == LENDING ? MOST_ELEMENT_BYTES : sizeof(int), 1);
    watched_replace(&w, 10, lens, chunks);
    watched_expect_threads(&w, 5, 5);
    CHECK_OK(watched_read(&w, data));
    watched_check(&w, data);

    w.array.chunks[11].status = 77;
    watched_expect_threads(&w, 5, 5);
    CHECK_EQ(watched_read(&w, data), 77);
    watched_check_failed(&w, 11, 77);
    watched_close(&w);
}

/* --- Where one thread has to do, it is the caller's. */

/* There is work for more: elements are large, or chunks take their time. */
static void check_one_thread(watched *w)
{
    static unsigned char data[LARGE_ELEMENT * ELEMENTS];

    w->also = watched_take_a_while;
    for (int writing = 0; writing <= 1; writing++) {
        threads_begun = 0;
        watched_expect_threads(w, 8, 1);
        CHECK_OK(writing ? watched_write(w, data) : watched_read(w, data));
        CHECK_EQ(threads_begun, 0);
        CHECK_EQ(w->num_threads, 1);
        CHECK(pthread_equal(w->threads[0], pthread_self()));
        CHECK_EQ(nczchunk_context_chunks_done(w->context), CHUNKS);
    }
}

/* A store that does not say that its callbacks may run at the same time. */
static void one_thread_calls_callbacks_that_are_not_concurrent(store_kind kind)
{
    watched w;

    watched_open_as(&w, kind, LARGE_ELEMENT, 0);
    check_one_thread(&w);
    watched_close(&w);
}

static int copy_elements(void *user, int writing, size_t count, const void *source, void *destination)
{
    (void)user;
    (void)writing;
    memcpy(destination, source, count * LARGE_ELEMENT);
    return 0;
}

/* Elements with a copier, which never says so. */
static void one_thread_calls_a_copier(void)
{
    watched w;

    watched_open_large(&w, LENDING);
    CHECK_OK(nczchunk_var_set_copier(w.var, copy_elements, NULL, NULL));
    check_one_thread(&w);
    watched_close(&w);
}

int main(void)
{
    alarm(600);
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        any_number_of_threads_reads_the_same(store_kinds[i]);
        any_number_of_threads_writes_the_same(store_kinds[i], 0);
        ranks_above_eight(store_kinds[i]);
        one_thread_calls_callbacks_that_are_not_concurrent(store_kinds[i]);
    }
    any_number_of_threads_writes_the_same(FILLING, 1);
    chunks_in_one_piece_are_not_copied();
    one_thread_calls_a_copier();
    return 0;
}
