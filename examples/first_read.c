/*
 * A first read: rows 1 and 3, columns 1 and 4 of an array of 4 x 6 ints that is kept as four chunks of 2 x 3.
 *
 *     cc first_read.c -lnczchunk && ./a.out
 */
#include <stdio.h>
#include <string.h>

#include "nczchunk.h"

/* The chunks, by their place in the grid of chunks. Each int tells its row and column: 14 is in row 1, column 4. */
static int chunks[2][2][2 * 3] = {
    {{0, 1, 2, 10, 11, 12}, {3, 4, 5, 13, 14, 15}},
    {{20, 21, 22, 30, 31, 32}, {23, 24, 25, 33, 34, 35}},
};

/* The library calls this for each chunk it needs. Ours are in memory, so it is enough to say where and how long. */
static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    (void)user; /* What callbacks.user was set to; not needed here. */
    loan->data = chunks[loan->chunk_indices[0]][loan->chunk_indices[1]];
    loan->nbytes = sizeof chunks[0][0];
    return NCZCHUNK_NOERR;
}

int main(void)
{
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;

    /* What is stored: the lengths of the array and of a chunk, slowest dimension first, and the size of an element. */
    const size_t dimlens[2] = {4, 6}, chunklens[2] = {2, 3};
    int status = nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL);

    /* Where it comes from: the function above. What is not named here is 0, which means not used. */
    const nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks, .lend = lend};
    if (status == NCZCHUNK_NOERR) status = nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL);

    /* What is wanted: 2 rows from row 1 on, 2 apart, and 2 columns from column 1 on, 3 apart: one element per chunk. */
    const size_t start[2] = {1, 1}, count[2] = {2, 2};
    const ptrdiff_t stride[2] = {2, 3};
    int data[2][2] = {{0}};
    if (status == NCZCHUNK_NOERR) status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);

    if (status != NCZCHUNK_NOERR) {
        fprintf(stderr, "first_read: %s\n", nczchunk_strerror(status));
        return 1;
    }
    printf("%d %d\n%d %d\n", data[0][0], data[0][1], data[1][0], data[1][1]);

    const int expected[2][2] = {{11, 14}, {31, 34}};
    return memcmp(data, expected, sizeof data) != 0;
}
