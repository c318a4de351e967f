/*
 * A first write: rows 1 and 2 of an array of 4 x 6 ints that is kept as four chunks of 2 x 3. None is there yet.
 *
 *     cc first_write.c -lnczchunk && ./a.out
 */
#include <stdio.h>
#include <string.h>

#include "nczchunk.h"

/* The chunks, by their place in the grid of chunks, and whether they have been stored. */
static int chunks[2][2][2 * 3], is_stored[2][2];

/* The library calls this for each chunk of which it changes a part: it needs the rest, or to know there is none. */
static int fill(void *user, nczchunk_request *request)
{
    const ptrdiff_t *at = request->chunk_indices;
    (void)user;
    if (!is_stored[at[0]][at[1]]) return NCZCHUNK_EEMPTY;
    memcpy(request->buffer, chunks[at[0]][at[1]], request->size);
    request->nbytes = sizeof chunks[0][0];
    return NCZCHUNK_NOERR;
}

/* And this for each chunk that is ready to be stored. It is called once for a chunk. */
static int store_chunk(void *user, nczchunk_request *request)
{
    const ptrdiff_t *at = request->chunk_indices;
    (void)user;
    memcpy(chunks[at[0]][at[1]], request->buffer, request->size);
    is_stored[at[0]][at[1]] = 1;
    return NCZCHUNK_NOERR;
}

int main(void)
{
    const size_t dimlens[2] = {4, 6}, chunklens[2] = {2, 3};
    const int fill_value = -1;
    const nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = fill, .store = store_chunk};
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;

    /* What was never written reads as the fill value. */
    int status = nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_var_set_fill_value(var, &fill_value, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_chunk_store_new(&callbacks, &store, NULL);

    /* Two rows from row 1 on, and of these five columns from column 0 on. They lie in all four chunks. */
    const size_t start[2] = {1, 0}, count[2] = {2, 5};
    const int data[2][5] = {{10, 11, 12, 13, 14}, {20, 21, 22, 23, 24}};
    if (status == NCZCHUNK_NOERR) status = nczchunk_write_vars(var, store, start, count, NULL, data, NULL);

    /* Everything, to see what has become of it. A count of NULL is the length of each dimension. */
    const size_t zeros[2] = {0, 0};
    int all[4][6] = {{0}};
    if (status == NCZCHUNK_NOERR) status = nczchunk_read_vars(var, store, zeros, NULL, NULL, all, NULL);

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);

    if (status != NCZCHUNK_NOERR) {
        fprintf(stderr, "first_write: %s\n", nczchunk_strerror(status));
        return 1;
    }
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 6; column++) printf("%3d%s", all[row][column], column < 5 ? " " : "\n");

    const int expected[4][6] = {
        {-1, -1, -1, -1, -1, -1}, {10, 11, 12, 13, 14, -1}, {20, 21, 22, 23, 24, -1}, {-1, -1, -1, -1, -1, -1}};
    return memcmp(all, expected, sizeof all) != 0;
}
