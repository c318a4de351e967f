/*
 * One read by several threads: first by threads of the program, which execute parts of one plan, then by those that the
 * library begins itself.
 *
 *     cc parts.c -lnczchunk -pthread && ./a.out
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "nczchunk.h"

/* 1000 x 1000 doubles in 100 chunks of 100 x 100, which are computed when they are asked for. */
enum { LENGTH = 1000, CHUNK = 100, THREADS = 4 };

static double data[LENGTH][LENGTH];

/* Several threads call this at the same time. It changes nothing but its own chunk, so that they may. */
static int fill(void *user, nczchunk_request *request)
{
    const ptrdiff_t row = request->chunk_indices[0] * CHUNK, column = request->chunk_indices[1] * CHUNK;
    double *chunk = request->buffer; /* It is aligned: the buffer is the library's. */
    (void)user;
    for (ptrdiff_t i = 0; i < CHUNK; i++)
        for (ptrdiff_t j = 0; j < CHUNK; j++) chunk[i * CHUNK + j] = (double)((row + i) * LENGTH + column + j);
    request->nbytes = request->size;
    return NCZCHUNK_NOERR;
}

/* What a thread is told: which part it does. It tells what came of it. */
typedef struct {
    pthread_t thread;
    const nczchunk_plan *plan;
    const nczchunk_chunk_store *store;
    size_t number;
    int status;
} part;

static void *read_part(void *argument)
{
    part *p = argument;
    size_t first, chunks;

    p->status = nczchunk_plan_part(p->plan, p->number, THREADS, &first, &chunks, NULL);
    if (p->status == NCZCHUNK_NOERR) p->status = nczchunk_plan_read(p->plan, p->store, first, chunks, data, NULL);
    return NULL;
}

/* Has each part of the plan read by a thread. All of them write to the same array, each to places of its own. */
static int read_in_parts(const nczchunk_plan *plan, const nczchunk_chunk_store *store)
{
    part parts[THREADS];
    int status = NCZCHUNK_NOERR;

    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (part){.plan = plan, .store = store, .number = i};
        if (pthread_create(&parts[i].thread, NULL, read_part, &parts[i]) != 0) {
            read_part(&parts[i]); /* There is no thread to be had, so this one does it. */
            parts[i].thread = pthread_self();
        }
    }
    for (size_t i = 0; i < THREADS; i++) {
        if (!pthread_equal(parts[i].thread, pthread_self())) pthread_join(parts[i].thread, NULL);
        if (status == NCZCHUNK_NOERR) status = parts[i].status;
    }
    return status;
}

static int is_right(void)
{
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j < LENGTH; j++)
            if (data[i][j] != (double)(i * LENGTH + j)) return 0;
    memset(data, 0, sizeof data);
    return 1;
}

int main(void)
{
    const size_t dimlens[2] = {LENGTH, LENGTH}, chunklens[2] = {CHUNK, CHUNK}, start[2] = {0, 0};
    /* With concurrent the store says that its callbacks may run at the same time. */
    const nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = fill, .concurrent = 1};
    nczchunk_context *context = NULL;
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;
    nczchunk_plan *plan = NULL;
    int first_is_right = 0, second_is_right = 0;

    int status = nczchunk_context_new(&context);
    if (status == NCZCHUNK_NOERR) status = nczchunk_var_new(2, dimlens, chunklens, sizeof(double), &var, context);
    if (status == NCZCHUNK_NOERR) status = nczchunk_chunk_store_new(&callbacks, &store, context);
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_plan_new(var, start, NULL, NULL, NCZCHUNK_READ, &plan, context);

    /* Threads of the program's own: the plan is divided. */
    if (status == NCZCHUNK_NOERR) status = read_in_parts(plan, store);
    if (status == NCZCHUNK_NOERR) first_is_right = is_right();

    /* Or the library's, as many as there is work for, but no more than so many. They are gone when the call returns. */
    if (status == NCZCHUNK_NOERR) status = nczchunk_context_set_threads(context, THREADS);
    if (status == NCZCHUNK_NOERR) status = nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, context);
    if (status == NCZCHUNK_NOERR) second_is_right = is_right();

    nczchunk_plan_free(plan);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    nczchunk_context_free(context);

    if (status != NCZCHUNK_NOERR) fprintf(stderr, "parts: %s\n", nczchunk_strerror(status));
    printf("by parts of a plan: %s\n", first_is_right ? "right" : "wrong");
    printf("by threads of the library: %s\n", second_is_right ? "right" : "wrong");
    return !(first_is_right && second_is_right);
}
