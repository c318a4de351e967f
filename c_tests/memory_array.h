/*
 * An array in memory, cut into chunks, with callbacks that lend its chunks or fill them in: what the tests read from
 * and write to.
 *
 * Every element is made from its number, its row-major position in the array: elements of 1, 2, 4 and 8 bytes are that
 * number. So what a read delivers is known without reading anything: memory_array_expect checks it. The part of an edge
 * chunk that lies outside the array is junk, which must never be delivered.
 *
 * What a write must make of an array is done, element by element, by memory_array_put to a copy of it.
 *
 *     size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3};
 *     memory_array array;
 *     memory_array_init(&array, 2, dimlens, chunklens, sizeof(int));
 *     nczchunk_var *var = memory_array_var(&array);
 *     nczchunk_chunk_store *store = memory_array_store(&array, FILLING);
 *     ...
 *     nczchunk_chunk_store_free(store);
 *     nczchunk_var_free(var);
 *     memory_array_clear(&array);
 */
#ifndef MEMORY_ARRAY_H
#define MEMORY_ARRAY_H

#include <stdint.h>

#include "check.h"
#include "nczchunk.h"

/* No element is larger. */
enum { MOST_ELEMENT_BYTES = 65536 };

/* A chunk as it is stored. */
typedef struct memory_chunk {
    unsigned char *bytes; /* NULL: none is given, whatever the status */
    size_t nbytes;
    int status;           /* what the callbacks return for it when it is read, or lent to be changed */
    int write_status;     /* what they return for it when it is stored, or given back changed */
    unsigned char *draft; /* what is lent to be changed: kept, so that the next time it need not be allocated */
    size_t draft_nbytes;
} memory_chunk;

typedef struct memory_array {
    size_t rank, element_size;
    const size_t *dimlens, *chunklens;
    size_t num_chunks, chunk_bytes;
    memory_chunk *chunks; /* in row-major order of chunk indices */
    /* The indices of the first of them, one per dimension; NULL: zeros. */
    const ptrdiff_t *first_chunk;

    /* What the callbacks have seen. Counted atomically, for several threads may be at work. A chunk that is lent to be
     * changed counts as asked for unless the write covers it, for then nobody looks at what it holds. */
    long asked, released, destroyed;
    /* Chunks that were stored, or given back changed. */
    long written;
    /*
     * Where the caller's data are, if the test says so: direct counts the calls of fill and store that got a place in
     * it.
     */
    const unsigned char *data;
    size_t data_size;
    long direct;
    /* Where the indices of the chunks asked for, and of those written, are put down one after another, unless NULL. */
    ptrdiff_t *log, *write_log;
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
    const void *word = NULL;

    switch (array->element_size) {
    case 1: word = &one; break;
    case 2: word = &two; break;
    case 4: word = &four; break;
    case 8: word = &eight; break;
    }
    if (word != NULL) {
        memcpy(element, word, array->element_size);
        return;
    }
    /* The bytes are the same again after 256 of them. */
    for (size_t i = 0; i < array->element_size && i < 256; i++)
        element[i] = (unsigned char)(number + 5 * i);
    for (size_t made = 256; made < array->element_size; made *= 2)
        memcpy(element + made, element, made < array->element_size - made ? made : array->element_size - made);
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

    for (size_t d = 0; d < array->rank; d++) {
        ptrdiff_t first = array->first_chunk ? array->first_chunk[d] : 0;
        size_t index = (size_t)(chunk_indices[d] - first);

        CHECK(index < memory_array_grid(array, d));
        number = number * memory_array_grid(array, d) + index;
    }
    return &array->chunks[number];
}

/* Puts bytes in the place of a chunk. */
static inline void memory_chunk_set(memory_chunk *chunk, const void *bytes, size_t nbytes)
{
    if (chunk->bytes == NULL || chunk->nbytes != nbytes) {
        /* Exactly as long, so that memory checkers notice who reads beyond it. */
        free(chunk->bytes);
        chunk->bytes = malloc(nbytes > 0 ? nbytes : 1);
        CHECK(chunk->bytes != NULL);
        chunk->nbytes = nbytes;
    }
    if (nbytes > 0)
        memcpy(chunk->bytes, bytes, nbytes);
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
                                            const size_t *chunklens, size_t element_size)
{
    memset(array, 0, sizeof *array);
    array->rank = rank;
    array->element_size = element_size;
    array->dimlens = dimlens;
    array->chunklens = chunklens;
    array->num_chunks = 1;
    array->chunk_bytes = element_size;
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
                                     size_t element_size)
{
    unsigned char *bytes;

    memory_array_init_absent(array, rank, dimlens, chunklens, element_size);
    bytes = malloc(array->chunk_bytes);
    CHECK(bytes != NULL);
    for (size_t c = 0; c < array->num_chunks; c++) {
        for (size_t e = 0; e < array->chunk_bytes / element_size; e++) {
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
                memory_array_element(array, number, bytes + e * element_size);
            else
                memset(bytes + e * element_size, 0xEE, element_size);
        }
        memory_chunk_set(&array->chunks[c], bytes, array->chunk_bytes);
        array->chunks[c].status = NCZCHUNK_NOERR;
    }
    free(bytes);
}

static inline void memory_array_clear(memory_array *array)
{
    for (size_t c = 0; c < array->num_chunks; c++) {
        free(array->chunks[c].bytes);
        free(array->chunks[c].draft);
    }
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

/* Common to the callbacks for reading: counts the call, writes it down, finds the chunk. */
static inline memory_chunk *memory_array_ask(memory_array *array, size_t rank, const ptrdiff_t *chunk_indices)
{
    long call = __atomic_fetch_add(&array->asked, 1, __ATOMIC_RELAXED);

    CHECK_EQ(rank, array->rank);
    if (array->log != NULL && rank > 0)
        memcpy(array->log + (size_t)call * rank, chunk_indices, rank * sizeof *chunk_indices);
    return memory_array_chunk(array, chunk_indices);
}

/* Checks that a loan is as the library hands it out: what the callback sets is not set yet. */
static inline void memory_array_check_loan(const memory_array *array, const nczchunk_borrowed_chunk *loan,
                                           size_t access)
{
    CHECK_EQ(loan->struct_size, sizeof *loan);
    CHECK_EQ(loan->rank, array->rank);
    CHECK_EQ(loan->access, access);
    CHECK(loan->covered == 0 || loan->covered == 1);
    CHECK(loan->data == NULL && loan->nbytes == 0 && loan->handle == NULL);
}

/* Lends the chunk itself. The handle says which one it is, to whoever takes it back. */
static inline int memory_array_lend(void *user, nczchunk_borrowed_chunk *loan)
{
    memory_array *array = user;
    memory_chunk *chunk = memory_array_ask(array, loan->rank, loan->chunk_indices);

    memory_array_check_loan(array, loan, NCZCHUNK_READ);
    loan->data = chunk->bytes;
    loan->nbytes = chunk->nbytes;
    loan->handle = chunk;
    return chunk->status;
}

/* Whether nbytes from place on are a part of the caller's data. */
static inline int memory_array_is_direct(const memory_array *array, const void *place, size_t nbytes)
{
    uintptr_t from = (uintptr_t)place, data = (uintptr_t)array->data;

    if (array->data == NULL || from < data || from - data >= array->data_size)
        return 0;
    CHECK(nbytes <= array->data_size - (from - data));
    return 1;
}

/* Fills in a chunk, or the part of it that is asked for. */
static inline int memory_array_fill(void *user, nczchunk_request *request)
{
    memory_array *array = user;
    const memory_chunk *chunk = memory_array_ask(array, request->rank, request->chunk_indices);

    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK(request->access == NCZCHUNK_READ || request->access == NCZCHUNK_WRITE);
    CHECK(request->nbytes == 0 && request->status == 0 && request->handle == NULL);
    if (memory_array_is_direct(array, request->buffer, request->size))
        __atomic_fetch_add(&array->direct, 1, __ATOMIC_RELAXED);
    if (chunk->bytes != NULL && request->offset < chunk->nbytes) {
        request->nbytes = chunk->nbytes - request->offset;
        memcpy(request->buffer, chunk->bytes + request->offset,
               request->nbytes < request->size ? request->nbytes : request->size);
    }
    return chunk->status;
}

/* Lends a draft of the chunk. A chunk that was absent, or is covered, is poison: what it holds does not matter. */
static inline int memory_array_lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    memory_array *array = user;
    memory_chunk *chunk = loan->covered ? memory_array_chunk(array, loan->chunk_indices)
                                        : memory_array_ask(array, loan->rank, loan->chunk_indices);
    int is_absent = chunk->status == NCZCHUNK_EEMPTY || chunk->status == NCZCHUNK_ENOOBJECT;
    int is_new = loan->covered || is_absent;

    memory_array_check_loan(array, loan, NCZCHUNK_WRITE);
    if (chunk->status != NCZCHUNK_NOERR && !is_new)
        return chunk->status;
    loan->nbytes = is_new ? array->chunk_bytes : chunk->nbytes;
    if (chunk->draft == NULL || chunk->draft_nbytes != loan->nbytes) {
        free(chunk->draft);
        chunk->draft = malloc(loan->nbytes > 0 ? loan->nbytes : 1);
        CHECK(chunk->draft != NULL);
        chunk->draft_nbytes = loan->nbytes;
    }
    if (is_new)
        memset(chunk->draft, 0xDD, loan->nbytes);
    else
        memcpy(chunk->draft, chunk->bytes, loan->nbytes);
    loan->data = chunk->draft;
    loan->handle = chunk;
    return is_absent ? NCZCHUNK_EEMPTY : NCZCHUNK_NOERR;
}

/* Common to the callbacks for writing: counts the call, writes it down, puts the bytes in the chunk's place. */
static inline int memory_array_write(memory_array *array, size_t rank, const ptrdiff_t *chunk_indices,
                                     const void *bytes, size_t nbytes)
{
    memory_chunk *chunk = memory_array_chunk(array, chunk_indices);
    long call = __atomic_fetch_add(&array->written, 1, __ATOMIC_RELAXED);

    CHECK_EQ(rank, array->rank);
    if (array->write_log != NULL && rank > 0)
        memcpy(array->write_log + (size_t)call * rank, chunk_indices, rank * sizeof *chunk_indices);
    if (chunk->write_status == NCZCHUNK_NOERR) {
        memory_chunk_set(chunk, bytes, nbytes);
        chunk->status = NCZCHUNK_NOERR;
    }
    return chunk->write_status;
}

/* Takes a chunk back. A draft that was changed as a whole takes the place of the chunk; any other is worth nothing. */
static inline int memory_array_release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    memory_array *array = user;
    const memory_chunk *chunk = loan->handle;

    __atomic_fetch_add(&array->released, 1, __ATOMIC_RELAXED);
    CHECK_EQ(loan->struct_size, sizeof *loan);
    CHECK(chunk != NULL && chunk == memory_array_chunk(array, loan->chunk_indices));
    CHECK(loan->data == (loan->access == NCZCHUNK_WRITE ? chunk->draft : chunk->bytes));
    if (loan->access != NCZCHUNK_WRITE || status != NCZCHUNK_NOERR)
        return NCZCHUNK_NOERR;
    return memory_array_write(array, loan->rank, loan->chunk_indices, chunk->draft, chunk->draft_nbytes);
}

/* Stores a chunk. */
static inline int memory_array_save(void *user, nczchunk_request *request)
{
    memory_array *array = user;

    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK_EQ(request->access, NCZCHUNK_WRITE);
    CHECK_EQ(request->offset, 0);
    if (memory_array_is_direct(array, request->buffer, request->size))
        __atomic_fetch_add(&array->direct, 1, __ATOMIC_RELAXED);
    return memory_array_write(array, request->rank, request->chunk_indices, request->buffer, request->size);
}

static inline void memory_array_destroy(void *user)
{
    memory_array *array = user;
    __atomic_fetch_add(&array->destroyed, 1, __ATOMIC_RELAXED);
}

/* The callbacks of this array, in the two structures that the library takes. */
static inline nczchunk_zero_copy_callbacks memory_array_lending(memory_array *array)
{
    nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks,
                                            .user = array,
                                            .lend = memory_array_lend,
                                            .lend_to_write = memory_array_lend_to_write,
                                            .release = memory_array_release,
                                            .destroy = memory_array_destroy};
    return callbacks;
}

static inline nczchunk_reader_callbacks memory_array_filling(memory_array *array)
{
    nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks,
                                            .user = array,
                                            .fill = memory_array_fill,
                                            .store = memory_array_save,
                                            .destroy = memory_array_destroy};
    return callbacks;
}

/* A store that reads from the array and writes to it. */
static inline nczchunk_chunk_store *memory_array_store(memory_array *array, store_kind kind)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(array);
    nczchunk_reader_callbacks filling = memory_array_filling(array);
    nczchunk_chunk_store *store;

    if (kind == LENDING)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &store, NULL));
    return store;
}

/* Adds zstd to a store, whose chunks are compressed from then on. */
static inline void store_add_zstd(nczchunk_chunk_store *store)
{
    nczchunk_codec *codec;

    CHECK_OK(nczchunk_codec_zstd(NULL, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(store, codec, NULL));
}

/* The variable that describes the array. */
static inline nczchunk_var *memory_array_var(const memory_array *array)
{
    nczchunk_var *var;
    CHECK_OK(nczchunk_var_new(array->rank, array->dimlens, array->chunklens, array->element_size, &var, NULL));
    return var;
}

/* Checks that data is what this hyperslab of the array must read as. NULL stands for a start of 0, a count of the whole
 * dimension, a stride of 1, a fill value of zeros. */
static inline void memory_array_expect(const memory_array *array, const size_t *start, const size_t *count,
                                       const ptrdiff_t *stride, const void *fill_value, const void *data)
{
    unsigned char expected[MOST_ELEMENT_BYTES];
    size_t elements = 1;

    CHECK(array->element_size <= sizeof expected);
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
            memcpy(expected, fill_value, array->element_size);
        else
            memset(expected, 0, array->element_size);
        if (memcmp((const unsigned char *)data + e * array->element_size, expected, array->element_size) != 0)
            CHECK_FAILED("element %zu of what was read is not element %zu of the array", e, number);
    }
}

/* --- What a write must make of the array. */

/* A copy of an array with all its chunks. */
static inline memory_array memory_array_copy(const memory_array *array)
{
    memory_array copy;

    memory_array_init_absent(&copy, array->rank, array->dimlens, array->chunklens, array->element_size);
    copy.first_chunk = array->first_chunk;
    for (size_t c = 0; c < array->num_chunks; c++) {
        copy.chunks[c].status = array->chunks[c].status;
        if (array->chunks[c].bytes != NULL)
            memory_chunk_set(&copy.chunks[c], array->chunks[c].bytes, array->chunks[c].nbytes);
    }
    return copy;
}

/* Where element number e of a hyperslab is: in which chunk, and which element of it. */
static inline size_t memory_array_find(const memory_array *array, const size_t *start, const size_t *count,
                                       const ptrdiff_t *stride, size_t e, size_t *element)
{
    size_t chunk = 0, chunk_weight = 1, element_weight = 1;

    *element = 0;
    for (size_t d = array->rank; d-- > 0;) {
        size_t n = count ? count[d] : array->dimlens[d];
        size_t index = (start ? start[d] : 0) + e % n * (stride ? (size_t)stride[d] : 1);

        e /= n;
        chunk += index / array->chunklens[d] * chunk_weight;
        *element += index % array->chunklens[d] * element_weight;
        chunk_weight *= memory_array_grid(array, d);
        element_weight *= array->chunklens[d];
    }
    return chunk;
}

/* How many elements a hyperslab has in each chunk, in memory to be freed. */
static inline size_t *memory_array_elements(const memory_array *array, const size_t *start, const size_t *count,
                                            const ptrdiff_t *stride)
{
    size_t *elements = calloc(array->num_chunks + 1, sizeof *elements), total = 1, element;

    CHECK(elements != NULL);
    for (size_t d = 0; d < array->rank; d++)
        total *= count ? count[d] : array->dimlens[d];
    for (size_t e = 0; e < total; e++)
        elements[memory_array_find(array, start, count, stride, e, &element)]++;
    return elements;
}

/* Writes data to a hyperslab of the array, as the library must. A chunk that was absent, or of which every element
 * inside the array is written, is made anew: the fill value is all it has besides. Returns how many were not, and so
 * must be read; in written, unless it is NULL, how many chunks are written. */
static inline size_t memory_array_put(memory_array *array, const size_t *start, const size_t *count,
                                      const ptrdiff_t *stride, const void *fill_value, const void *data,
                                      size_t *written)
{
    static const unsigned char zeros[MOST_ELEMENT_BYTES];
    size_t *selected = memory_array_elements(array, start, count, stride);
    size_t *inside = memory_array_elements(array, NULL, NULL, NULL);
    size_t total = 0, read = 0, chunks = 0, size = array->element_size;
    unsigned char *fresh = malloc(array->chunk_bytes);

    CHECK(fresh != NULL && size <= sizeof zeros);
    for (size_t b = 0; b < array->chunk_bytes; b += size)
        memcpy(fresh + b, fill_value ? fill_value : zeros, size);
    for (size_t c = 0; c < array->num_chunks; c++) {
        memory_chunk *chunk = &array->chunks[c];

        total += selected[c];
        if (selected[c] == 0)
            continue;
        chunks++;
        read += selected[c] < inside[c];
        if (selected[c] == inside[c] || chunk->bytes == NULL)
            memory_chunk_set(chunk, fresh, array->chunk_bytes);
        chunk->status = NCZCHUNK_NOERR;
    }
    for (size_t e = 0; e < total; e++) {
        size_t element, c = memory_array_find(array, start, count, stride, e, &element);
        memcpy(array->chunks[c].bytes + element * size, (const unsigned char *)data + e * size, size);
    }
    if (written != NULL)
        *written = chunks;
    free(fresh);
    free(inside);
    free(selected);
    return read;
}

/* Checks that two arrays have the same chunks, to the last byte. */
static inline void memory_array_check_same(const memory_array *array, const memory_array *expected)
{
    CHECK_EQ(array->num_chunks, expected->num_chunks);
    for (size_t c = 0; c < array->num_chunks; c++) {
        const memory_chunk *chunk = &array->chunks[c], *other = &expected->chunks[c];

        if (chunk->status != other->status || (chunk->bytes == NULL) != (other->bytes == NULL))
            CHECK_FAILED("chunk %zu has the status %d, not %d", c, chunk->status, other->status);
        CHECK_EQ(chunk->nbytes, other->nbytes);
        if (chunk->bytes == NULL || memcmp(chunk->bytes, other->bytes, chunk->nbytes) == 0)
            continue;
        for (size_t b = 0; b < chunk->nbytes; b++)
            if (chunk->bytes[b] != other->bytes[b])
                CHECK_FAILED("byte %zu of chunk %zu is %d, not %d", b, c, chunk->bytes[b], other->bytes[b]);
    }
}

/* Makes data to write: elements with numbers from 1000 on, which no test array has. */
static inline void memory_array_make_data(const memory_array *array, size_t elements, void *data)
{
    for (size_t e = 0; e < elements; e++)
        memory_array_element(array, 1000 + e, (unsigned char *)data + e * array->element_size);
}

#endif
