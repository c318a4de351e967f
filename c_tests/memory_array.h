/*
 * An array in memory, cut into chunks, with callbacks that lend its chunks or fill them in: what the tests read from.
 *
 * Every element is made from its number, its row-major position in the array: elements of 1, 2, 4 and 8 bytes are that
 * number. So what a read delivers is known without reading anything: memory_array_expect checks it. The part of an edge
 * chunk that lies outside the array is junk, which must never be delivered.
 *
 *     size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3};
 *     memory_array array;
 *     memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
 *     nczchunk_var *var = memory_array_var(&array);
 *     nczchunk_store *store = memory_array_store(&array, FILLING);
 *     ...
 *     nczchunk_store_free(store);
 *     nczchunk_var_free(var);
 *     memory_array_clear(&array);
 */
#ifndef MEMORY_ARRAY_H
#define MEMORY_ARRAY_H

#include <stdint.h>

#include "check.h"
#include "nczchunk.h"

/* A chunk as it is stored. */
typedef struct memory_chunk {
    unsigned char *bytes; /* NULL: none is given, whatever the status */
    size_t nbytes;
    int status; /* what the callbacks return for it */
} memory_chunk;

typedef struct memory_array {
    size_t rank, typesize;
    const size_t *dimlens, *chunklens;
    size_t num_chunks, chunk_bytes;
    memory_chunk *chunks; /* in row-major order of chunk indices */

    /* What the callbacks have seen. Counted atomically, for several threads may read at once. */
    long asked, released, destroyed;
    /* Where the reader wants its data, if the test says so: direct counts the calls of fill that got a place in it. */
    const unsigned char *data;
    size_t data_size;
    long direct;
    /* Where the indices of the chunks asked for are written down one after another, unless NULL. */
    ptrdiff_t *log;
} memory_array;

/* The two ways of giving chunks. Most of what a store does must not depend on it. */
typedef enum store_kind { LENDING, FILLING } store_kind;

static const store_kind store_kinds[] = {LENDING, FILLING};
#define NUM_STORE_KINDS 2

/* Makes the element with this number. */
static inline void memory_array_element(const memory_array *array, size_t number, unsigned char *element)
{
    uint8_t one = (uint8_t)number;
    uint16_t two = (uint16_t)number;
    uint32_t four = (uint32_t)number;
    uint64_t eight = (uint64_t)number;

    switch (array->typesize) {
    case 1: memcpy(element, &one, 1); break;
    case 2: memcpy(element, &two, 2); break;
    case 4: memcpy(element, &four, 4); break;
    case 8: memcpy(element, &eight, 8); break;
    default:
        for (size_t i = 0; i < array->typesize; i++)
            element[i] = (unsigned char)(number + 5 * i);
    }
}

/* How many chunks there are along a dimension. */
static inline size_t memory_array_grid(const memory_array *array, size_t d)
{
    return (array->dimlens[d] + array->chunklens[d] - 1) / array->chunklens[d];
}

/* The chunk with these indices. */
static inline memory_chunk *memory_array_chunk(const memory_array *array, const ptrdiff_t *chunk_indices)
{
    size_t number = 0;

    for (size_t d = 0; d < array->rank; d++)
        number = number * memory_array_grid(array, d) + (size_t)chunk_indices[d];
    CHECK(number < array->num_chunks);
    return &array->chunks[number];
}

/* Puts bytes in the place of a chunk. */
static inline void memory_chunk_set(memory_chunk *chunk, const void *bytes, size_t nbytes)
{
    /* Exactly as long, so that memory checkers notice who reads beyond it. */
    unsigned char *copy = malloc(nbytes > 0 ? nbytes : 1);

    CHECK(copy != NULL);
    if (nbytes > 0)
        memcpy(copy, bytes, nbytes);
    free(chunk->bytes);
    chunk->bytes = copy;
    chunk->nbytes = nbytes;
}

/* Takes a chunk away: the callbacks answer with this status, NCZCHUNK_EEMPTY for one that is absent. */
static inline void memory_chunk_remove(memory_chunk *chunk, int status)
{
    free(chunk->bytes);
    chunk->bytes = NULL;
    chunk->nbytes = 0;
    chunk->status = status;
}

/* An array without chunks, to be put there: all are absent. The lengths are not copied. */
static inline void memory_array_init_absent(memory_array *array, size_t rank, const size_t *dimlens,
                                            const size_t *chunklens, size_t typesize)
{
    memset(array, 0, sizeof *array);
    array->rank = rank;
    array->typesize = typesize;
    array->dimlens = dimlens;
    array->chunklens = chunklens;
    array->num_chunks = 1;
    array->chunk_bytes = typesize;
    for (size_t d = 0; d < rank; d++) {
        array->num_chunks *= memory_array_grid(array, d);
        array->chunk_bytes *= chunklens[d];
    }
    array->chunks = calloc(array->num_chunks + 1, sizeof *array->chunks);
    CHECK(array->chunks != NULL);
    for (size_t c = 0; c < array->num_chunks; c++)
        array->chunks[c].status = NCZCHUNK_EEMPTY;
}

/* An array with all its chunks. */
static inline void memory_array_init(memory_array *array, size_t rank, const size_t *dimlens, const size_t *chunklens,
                                     size_t typesize)
{
    unsigned char *bytes;

    memory_array_init_absent(array, rank, dimlens, chunklens, typesize);
    bytes = malloc(array->chunk_bytes);
    CHECK(bytes != NULL);
    for (size_t c = 0; c < array->num_chunks; c++) {
        for (size_t e = 0; e < array->chunk_bytes / typesize; e++) {
            /* Element e of chunk c, dimension by dimension, fastest first: its index and so its number in the array. */
            size_t number = 0, weight = 1, chunk = c, element = e;
            int inside = 1;

            for (size_t d = rank; d-- > 0;) {
                size_t index = chunk % memory_array_grid(array, d) * chunklens[d] + element % chunklens[d];

                inside &= index < dimlens[d];
                number += index * weight;
                weight *= dimlens[d];
                chunk /= memory_array_grid(array, d);
                element /= chunklens[d];
            }
            if (inside)
                memory_array_element(array, number, bytes + e * typesize);
            else
                memset(bytes + e * typesize, 0xEE, typesize);
        }
        memory_chunk_set(&array->chunks[c], bytes, array->chunk_bytes);
        array->chunks[c].status = NCZCHUNK_NOERR;
    }
    free(bytes);
}

static inline void memory_array_clear(memory_array *array)
{
    for (size_t c = 0; c < array->num_chunks; c++)
        free(array->chunks[c].bytes);
    free(array->chunks);
    array->chunks = NULL;
}

/* Reverses the bytes of every stored word, as if another kind of machine had written the array. */
static inline void memory_array_swap(memory_array *array, size_t word)
{
    for (size_t c = 0; c < array->num_chunks; c++) {
        for (size_t w = 0; w + word <= array->chunks[c].nbytes; w += word) {
            unsigned char *bytes = array->chunks[c].bytes + w;

            for (size_t i = 0; i < word / 2; i++) {
                unsigned char byte = bytes[i];
                bytes[i] = bytes[word - 1 - i];
                bytes[word - 1 - i] = byte;
            }
        }
    }
}

/* The byte order that is not this machine's. */
static inline int foreign_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1 ? NCZCHUNK_ENDIAN_BIG : NCZCHUNK_ENDIAN_LITTLE;
}

/* Common to all callbacks: counts the call, writes it down, finds the chunk. */
static inline const memory_chunk *memory_array_ask(memory_array *array, size_t rank, const ptrdiff_t *chunk_indices)
{
    long call = __atomic_fetch_add(&array->asked, 1, __ATOMIC_RELAXED);

    CHECK(rank == array->rank);
    if (array->log != NULL && rank > 0)
        memcpy(array->log + (size_t)call * rank, chunk_indices, rank * sizeof *chunk_indices);
    return memory_array_chunk(array, chunk_indices);
}

static inline int memory_array_lend(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void **data,
                                    size_t *nbytes)
{
    const memory_chunk *chunk = memory_array_ask(user, rank, chunk_indices);

    *data = chunk->bytes;
    *nbytes = chunk->nbytes;
    return chunk->status;
}

static inline void memory_array_release(void *user, const void *data)
{
    memory_array *array = user;

    CHECK(data != NULL);
    __atomic_fetch_add(&array->released, 1, __ATOMIC_RELAXED);
}

static inline int memory_array_fill(void *user, size_t rank, const ptrdiff_t *chunk_indices, void *buffer, size_t size,
                                    size_t *nbytes)
{
    memory_array *array = user;
    const memory_chunk *chunk = memory_array_ask(array, rank, chunk_indices);
    uintptr_t place = (uintptr_t)buffer, data = (uintptr_t)array->data;

    if (array->data != NULL && place >= data && place - data < array->data_size) {
        CHECK(size <= array->data_size - (place - data));
        __atomic_fetch_add(&array->direct, 1, __ATOMIC_RELAXED);
    }
    if (chunk->bytes != NULL && chunk->nbytes <= size)
        memcpy(buffer, chunk->bytes, chunk->nbytes);
    *nbytes = chunk->nbytes;
    return chunk->status;
}

static inline void memory_array_destroy(void *user)
{
    memory_array *array = user;
    __atomic_fetch_add(&array->destroyed, 1, __ATOMIC_RELAXED);
}

/* The callbacks of this array, in the two structures that the library takes. */
static inline nczchunk_lending_callbacks memory_array_lending(memory_array *array)
{
    nczchunk_lending_callbacks callbacks = {.struct_size = sizeof callbacks, .user = array, .lend = memory_array_lend, .release = memory_array_release,
                                            memory_array_destroy};
    return callbacks;
}

static inline nczchunk_filling_callbacks memory_array_filling(memory_array *array)
{
    nczchunk_filling_callbacks callbacks = {.struct_size = sizeof callbacks, .user = array, .fill = memory_array_fill,
                                            .destroy = memory_array_destroy};
    return callbacks;
}

/* A store that reads from the array. */
static inline nczchunk_store *memory_array_store(memory_array *array, store_kind kind)
{
    nczchunk_lending_callbacks lending = memory_array_lending(array);
    nczchunk_filling_callbacks filling = memory_array_filling(array);
    nczchunk_store *store;

    if (kind == LENDING)
        CHECK_OK(nczchunk_store_lending(&lending, &store));
    else
        CHECK_OK(nczchunk_store_filling(&filling, &store));
    return store;
}

/* The variable that describes the array. */
static inline nczchunk_var *memory_array_var(const memory_array *array)
{
    nczchunk_var *var;
    CHECK_OK(nczchunk_var_new(array->rank, array->dimlens, array->chunklens, array->typesize, &var, NULL));
    return var;
}

/* Checks that data is what this hyperslab of the array must read as. NULL stands for a start of 0, a count of the whole
 * dimension, a stride of 1, a fill value of zeros. */
static inline void memory_array_expect(const memory_array *array, const size_t *start, const size_t *count,
                                       const ptrdiff_t *stride, const void *fill_value, const void *data)
{
    unsigned char expected[64] = {0};
    size_t elements = 1;

    CHECK(array->typesize <= sizeof expected);
    for (size_t d = 0; d < array->rank; d++)
        elements *= count ? count[d] : array->dimlens[d];
    for (size_t e = 0; e < elements; e++) {
        size_t number = 0, weight = 1, element = e, chunk = 0, chunk_weight = 1;

        for (size_t d = array->rank; d-- > 0;) {
            size_t n = count ? count[d] : array->dimlens[d];
            size_t index = (start ? start[d] : 0) + element % n * (stride ? (size_t)stride[d] : 1);

            element /= n;
            number += index * weight;
            weight *= array->dimlens[d];
            chunk += index / array->chunklens[d] * chunk_weight;
            chunk_weight *= memory_array_grid(array, d);
        }
        if (array->chunks[chunk].bytes != NULL)
            memory_array_element(array, number, expected);
        else if (fill_value != NULL)
            memcpy(expected, fill_value, array->typesize);
        else
            memset(expected, 0, array->typesize);
        if (memcmp((const unsigned char *)data + e * array->typesize, expected, array->typesize) != 0)
            CHECK_FAILED("element %zu of what was read is not element %zu of the array", e, number);
    }
}

#endif
