/*
 * What the C peers share: they read commands from standard input, one a line, and answer each with a line of JSON.
 *
 * README.md in this directory has the commands. A peer is a program that defines the functions of `struct peer` and
 * calls peer_serve with them.
 */
#ifndef PEER_H
#define PEER_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

enum { PEER_MAX_RANK = 8, PEER_LINE = 4096 };

typedef struct peer_array {
    char name[64], type[16], order[16], codec[16];
    size_t every; /* every how many-th chunk is there; 0: none */
    size_t rank, size;
    size_t dimlens[PEER_MAX_RANK], chunklens[PEER_MAX_RANK];
} peer_array;

typedef struct peer_box {
    size_t rank, start[PEER_MAX_RANK], count[PEER_MAX_RANK], stride[PEER_MAX_RANK];
    int transposed; /* in memory the first dimension is contiguous; reads only */
} peer_box;

typedef struct peer {
    /* Prints versions as the members of a JSON object. */
    void (*versions)(void);
    /* Makes the array, without data. Returns NULL, or why it cannot. */
    const char *(*load)(const peer_array *array);
    void (*unload)(void);
    /* Read and write a hyperslab; memory is row-major, unless it is transposed, without gaps. */
    void (*read)(const peer_box *box, void *memory);
    void (*write)(const peer_box *box, const void *memory);
    /* Reads one element. */
    void (*element)(const size_t *position, void *memory);
} peer;

/* Ends the program if a library says that something failed. */
static inline void peer_check(int good, const char *what)
{
    if (!good) {
        printf("{\"error\": \"%s\"}\n", what);
        exit(1);
    }
}

static inline uint32_t peer_hash(size_t number)
{
    return (uint32_t)number * 2654435761u;
}

/* The values of the elements from number first on: the formulas of benches/transfers/data.rs. */
static inline void peer_values(const peer_array *array, size_t first, size_t count, void *memory)
{
    float *floats = memory;
    double *doubles = memory;
    uint16_t *words = memory;

    if (strcmp(array->type, "float32") == 0)
        for (size_t i = 0; i < count; i++)
            floats[i] = (float)(peer_hash(first + i) >> 8);
    else if (strcmp(array->type, "float64") == 0)
        for (size_t i = 0; i < count; i++)
            doubles[i] = peer_hash(first + i);
    else
        for (size_t i = 0; i < count; i++)
            words[i] = (uint16_t)(peer_hash(first + i) >> 16);
}

static inline size_t peer_product(size_t rank, const size_t *lens)
{
    size_t product = 1;
    for (size_t d = 0; d < rank; d++)
        product *= lens[d];
    return product;
}

/* Memory that begins with a cache line, all of it in use already. */
static inline void *peer_memory(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

    peer_check(memory != NULL, "out of memory");
    return memset(memory, 0xA5, bytes);
}

/* Writes the data: rows of chunks at a time or, where chunks are absent, those that are not. */
static inline void peer_fill(const peer *p, const peer_array *array)
{
    peer_box box = {.rank = array->rank};
    size_t row = peer_product(array->rank - 1, array->dimlens + 1), step = array->chunklens[0], elements;
    void *values;

    if (array->every == 0)
        return;
    memcpy(box.count, array->dimlens, sizeof box.count);
    for (size_t d = 0; d < array->rank; d++)
        box.stride[d] = 1;
    box.count[0] = step;
    elements = step * row;
    values = peer_memory(elements * array->size);
    for (size_t begin = 0; begin < array->dimlens[0]; begin += step * array->every) {
        box.start[0] = begin;
        peer_values(array, begin * row, elements, values);
        p->write(&box, values);
    }
    free(values);
}

static inline double peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One thing to be measured. */
typedef struct peer_run {
    const peer *peer;
    const peer_array *array;
    const peer_box *box;
    int writing, copying;
    size_t calls, *positions; /* single elements: how many, and their indices */
    char *memory, *other;     /* the caller's memory, and as much to copy from */
    size_t bytes;
} peer_run;

static inline double peer_timed(const peer_run *run, size_t times)
{
    double begin = peer_now();

    for (size_t t = 0; t < times; t++) {
        if (run->copying)
            memcpy(run->memory, run->other, run->bytes);
        else if (run->writing)
            run->peer->write(run->box, run->other);
        else if (run->calls == 0)
            run->peer->read(run->box, run->memory);
        else
            for (size_t i = 0; i < run->calls; i++)
                run->peer->element(run->positions + i * run->box->rank, run->memory + i * run->array->size);
    }
    return (peer_now() - begin) / (double)times;
}

/* How many runs make up at least 200 microseconds. */
static inline size_t peer_times(double seconds)
{
    double times = 2e-4 / (seconds > 1e-9 ? seconds : 1e-9) + 1;
    return times > 100000 ? 100000 : (size_t)times;
}

static inline void peer_print(const char *name, const double *seconds, size_t count)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf("%s%.9g", i > 0 ? ", " : "", seconds[i]);
    printf("]");
}

/* Seconds of one run, repeatedly, and beside each those of memcpy of as many bytes. */
static inline void peer_measure(const peer_run *run, size_t repetitions, double budget)
{
    enum { MAX_REPETITIONS = 1000 };
    double begin = peer_now(), seconds[MAX_REPETITIONS], copies[MAX_REPETITIONS], first;
    peer_run copy = *run;
    size_t run_times, copy_times, done = 0;

    copy.copying = 1;
    first = peer_timed(&copy, 1);
    copy_times = peer_times(peer_timed(&copy, 1));
    first = peer_timed(run, 1);
    run_times = first < budget ? peer_times(peer_timed(run, 1)) : 1;
    do {
        copies[done] = peer_timed(&copy, copy_times);
        seconds[done++] = peer_timed(run, run_times);
    } while (done < repetitions && done < MAX_REPETITIONS && peer_now() - begin < budget);
    printf("{");
    peer_print("seconds", seconds, done);
    printf(", ");
    peer_print("memcpy", copies, done);
    printf("}\n");
}

/* Runs once and prints the CRC-32 of what was read or, after writing, of the whole array. */
static inline void peer_verify(const peer_run *run)
{
    peer_box all = {.rank = run->array->rank};
    size_t bytes = run->bytes;
    char *memory = run->memory;

    memset(memory, 0xA5, bytes);
    peer_timed(run, 1);
    if (run->writing) {
        for (size_t d = 0; d < all.rank; d++)
            all.stride[d] = 1;
        memcpy(all.count, run->array->dimlens, sizeof all.count);
        bytes = peer_product(all.rank, all.count) * run->array->size;
        memory = peer_memory(bytes);
        run->peer->read(&all, memory);
    }
    printf("{\"crc\": %lu}\n", crc32_z(0, (const unsigned char *)memory, bytes));
    if (run->writing)
        free(memory);
}

/* Single elements, scattered over the box: the formula of benches/transfers/ideal.rs. */
static inline size_t *peer_positions(const peer_box *box, size_t calls)
{
    size_t *positions = peer_memory((calls * box->rank + 1) * sizeof *positions);
    size_t total = peer_product(box->rank, box->count);

    for (size_t k = 0; k < calls; k++) {
        size_t number = (peer_hash(k) * total) >> 32;
        for (size_t d = box->rank; d-- > 0; number /= box->count[d])
            positions[k * box->rank + d] = box->start[d] + number % box->count[d];
    }
    return positions;
}

static inline size_t peer_list(const char *words, size_t *list)
{
    size_t rank = 0;
    char *end;

    for (;; words = end + 1) {
        list[rank++] = strtoull(words, &end, 10);
        if (*end != ',' || rank == PEER_MAX_RANK)
            return rank;
    }
}

static inline void peer_serve(const peer *p)
{
    static char line[PEER_LINE], a[PEER_LINE], b[PEER_LINE], c[PEER_LINE], access[16], layout[16];
    peer_array array = {.rank = 0};
    peer_run run = {.peer = p, .array = &array};
    peer_box box;
    size_t repetitions, bytes;
    double budget;
    const char *reason = "nothing is loaded";

    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "versions", 8) == 0) {
            printf("{");
            p->versions();
            printf("}\n");
        } else if (sscanf(line, "load %63s %15s %15s %15s %zu %s %s", array.name, array.type, array.order, array.codec,
                          &array.every, a, b) == 7) {
            array.rank = peer_list(a, array.dimlens);
            peer_list(b, array.chunklens);
            array.size = strcmp(array.type, "float64") == 0 ? 8 : strcmp(array.type, "float32") == 0 ? 4 : 2;
            p->unload();
            reason = p->load(&array);
            if (reason == NULL)
                peer_fill(p, &array);
            printf(reason ? "{\"skipped\": \"%s\"}\n" : "{\"ok\": true}\n", reason);
        } else if (strncmp(line, "unload", 6) == 0) {
            p->unload();
            free(run.memory);
            free(run.other);
            run.memory = run.other = NULL;
            run.bytes = 0;
            printf("{\"ok\": true}\n");
        } else if (sscanf(line, "%15s %*s %*s %zu %zu %lf %s %s %s %15s", access, &run.calls, &repetitions, &budget, a,
                          b, c, layout) == 8) {
            if (reason != NULL) {
                printf("{\"skipped\": \"%s\"}\n", reason);
                continue;
            }
            box.rank = peer_list(a, box.start);
            peer_list(b, box.count);
            peer_list(c, box.stride);
            box.transposed = strcmp(layout, "transposed") == 0;
            bytes = (run.calls ? run.calls : peer_product(box.rank, box.count)) * array.size;
            if (bytes != run.bytes) {
                free(run.memory);
                free(run.other);
                run.memory = peer_memory(bytes);
                run.other = peer_memory(bytes);
                run.bytes = bytes;
            }
            run.box = &box;
            run.writing = strcmp(access, "write") == 0;
            run.positions = peer_positions(&box, run.calls);
            if (run.writing) /* from 12 345 677 on: what the array does not have there */
                peer_values(&array, 12345677, bytes / array.size, run.other);
            if (repetitions > 0)
                peer_measure(&run, repetitions, budget);
            else
                peer_verify(&run);
            free(run.positions);
        } else {
            printf("{\"error\": \"not understood\"}\n");
        }
    }
    p->unload();
    free(run.memory);
    free(run.other);
}

#endif
