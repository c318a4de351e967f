/*
 * Reads the same map into three layouts of memory: rows after rows, in Fortran order, and north first into the middle
 * of a larger array. No copy is made for it.
 *
 *     cc layouts.c -lnczchunk && ./a.out coads_sst.zarr
 */
#include <stdio.h>
#include <string.h>

#include "nczchunk_array.h"

enum { ROWS = 9, COLUMNS = 18, FRAME = 1 };

int main(int argc, char **argv)
{
    static float map[ROWS][COLUMNS];                               /* map[row][column], south first */
    static float fortran[COLUMNS][ROWS];                           /* MAP(ROW, COLUMN): rows are neighbours */
    static float framed[ROWS + 2 * FRAME][COLUMNS + 2 * FRAME];    /* north first, with a frame of zeros */
    const size_t start[3] = {0, 5, 5}, count[3] = {1, ROWS, COLUMNS};
    const ptrdiff_t stride[3] = {1, 10, 10};
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;
    int wrong = 0;

    int status = nczchunk_context_new(&context);
    if (status == 0)
        status = nczchunk_array_open(argc > 1 ? argv[1] : "coads_sst.zarr", NULL, NCZCHUNK_READ, &array, context);
    const nczchunk_var *var = nczchunk_array_var(array);
    const nczchunk_chunk_store *store = nczchunk_array_store(array);

    /* [rows] Row-major, without gaps. */
    if (status == 0) status = nczchunk_read_vars(var, store, start, count, stride, map, context);

    /* [fortran] Neighbours along each dimension are so many elements apart in memory, as in nc_get_varm. */
    const ptrdiff_t imap[3] = {ROWS * COLUMNS, 1, ROWS};
    if (status == 0) status = nczchunk_read_varm(var, store, start, count, stride, imap, fortran, context);

    /* [framed] A negative stride begins at the last row. Steps in memory are in bytes, and the bounds are checked. */
    const size_t from[3] = {0, 5 + 10 * (ROWS - 1), 5};
    const ptrdiff_t backwards[3] = {1, -10, 10};
    const ptrdiff_t steps[3] = {0, sizeof framed[0], sizeof framed[0][0]};
    const size_t first = (size_t)((char *)&framed[FRAME][FRAME] - (char *)framed);
    if (status == 0)
        status = nczchunk_read_strided(var, store, from, count, backwards, framed, sizeof framed, first, steps,
                                       context);

    /* [end] */
    if (status != 0) fprintf(stderr, "layouts: %s\n", nczchunk_context_message(context));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            wrong += memcmp(&fortran[column][row], &map[row][column], sizeof(float)) != 0;
            wrong += memcmp(&framed[ROWS - 1 - row + FRAME][column + FRAME], &map[row][column], sizeof(float)) != 0;
        }
    for (int column = 0; column < COLUMNS + 2 * FRAME; column++)
        wrong += framed[0][column] != 0 || framed[ROWS + FRAME][column] != 0;
    if (status == 0)
        printf("%.1f %.1f %.1f, %d wrong\n", map[4][10], fortran[10][4], framed[4 + FRAME][10 + FRAME], wrong);

    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0 || wrong != 0;
}
