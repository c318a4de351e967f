/*
 * Calls whose instructions are counted: scripts/instructions runs this under valgrind.
 *
 *     instructions WORKLOAD CALLS    makes that many calls and prints how many chunks each touches
 *
 * The workloads are those of transfers/workloads.rs with the same names. What is counted is the work, not the memory:
 * every chunk is the same one, lent.
 */
#include <nczchunk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 3 };

typedef struct workload {
    const char *name;
    size_t rank;
    size_t dimlens[MAX_RANK], chunklens[MAX_RANK], start[MAX_RANK], count[MAX_RANK];
    ptrdiff_t stride[MAX_RANK];
    int is_kept; /* one plan, executed again and again */
} workload;

static const workload workloads[] = {
    {"W1", 2, {4096, 4096}, {512, 512}, {0, 0}, {4096, 4096}, {1, 1}, 0},
    {"W3", 2, {4096, 4096}, {512, 512}, {0, 0}, {2048, 2048}, {2, 2}, 0},
    {"W7", 2, {4096, 4096}, {512, 512}, {1234, 0}, {1, 4096}, {1, 1}, 0},
    {"W7k", 2, {4096, 4096}, {512, 512}, {1234, 0}, {1, 4096}, {1, 1}, 1},
    {"W8a", 3, {365, 720, 1440}, {73, 90, 180}, {0, 333, 777}, {365, 1, 1}, {1, 1, 1}, 0},
    {"W8ak", 3, {365, 720, 1440}, {73, 90, 180}, {0, 333, 777}, {365, 1, 1}, {1, 1, 1}, 1},
    {"W9", 2, {4096, 4096}, {16, 16}, {0, 0}, {4096, 4096}, {1, 1}, 0},
    {"W9s", 2, {4096, 4096}, {16, 16}, {0, 0}, {2048, 2048}, {2, 2}, 0},
    {"W11", 1, {1000000000}, {1000}, {0}, {100}, {10000000}, 0},
    {"W17", 3, {365, 720, 1440}, {73, 90, 180}, {150, 200, 400}, {1, 1, 1}, {1, 1, 1}, 0},
    {"W17k", 3, {365, 720, 1440}, {73, 90, 180}, {150, 200, 400}, {1, 1, 1}, {1, 1, 1}, 1},
};

typedef struct chunk {
    void *data;
    size_t nbytes;
} chunk;

static void check(int status)
{
    if (status != NCZCHUNK_NOERR) {
        fprintf(stderr, "instructions: %s\n", nczchunk_strerror(status));
        exit(1);
    }
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    const chunk *c = user;

    loan->data = c->data;
    loan->nbytes = c->nbytes;
    return NCZCHUNK_NOERR;
}

static void *zeros(size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    if (memory == NULL)
        check(NCZCHUNK_ENOMEM);
    return memset(memory, 0, bytes);
}

static void run(const workload *w, long calls)
{
    chunk c = {NULL, sizeof(float)};
    nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks, .user = &c, .lend = lend};
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_plan *plan;
    void *data;

    for (size_t d = 0; d < w->rank; d++)
        c.nbytes *= w->chunklens[d];
    check(nczchunk_var_new(w->rank, w->dimlens, w->chunklens, sizeof(float), &var, NULL));
    check(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    check(nczchunk_plan_new(var, w->start, w->count, w->stride, NCZCHUNK_READ, &plan, NULL));
    check(nczchunk_plan_totals(plan, &totals, NULL));
    c.data = zeros(c.nbytes);
    data = zeros(totals.selected_bytes);
    for (long i = 0; i < calls; i++)
        check(w->is_kept ? nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, NULL)
                         : nczchunk_read_vars(var, store, w->start, w->count, w->stride, data, NULL));
    printf("%zu\n", totals.chunks);
    free(data);
    free(c.data);
    nczchunk_plan_free(plan);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(argv[1], workloads[i].name) == 0) {
            run(&workloads[i], strtol(argv[2], NULL, 10));
            return 0;
        }
    fprintf(stderr, "usage: instructions WORKLOAD CALLS\n");
    return 2;
}
