/*
 * Opens an array and reads a map from it: the sea surface temperatures of January, every tenth row and column.
 *
 *     cc open_array.c -lnczchunk && ./a.out coads_sst.zarr
 */
#include <stdio.h>

#include "nczchunk_array.h"

int main(int argc, char **argv)
{
    const size_t start[3] = {0, 5, 5}, count[3] = {1, 9, 18};
    const ptrdiff_t stride[3] = {1, 10, 10};
    float map[9][18];
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */

    int status = nczchunk_context_new(&context);
    if (status == 0)
        status = nczchunk_array_open(argc > 1 ? argv[1] : "coads_sst.zarr", NULL, NCZCHUNK_READ, &array, context);
    if (status == 0) status = nczchunk_array_read(array, start, count, stride, map, context);
    if (status != 0) fprintf(stderr, "open_array: %s\n", nczchunk_context_message(context));

    for (int row = 8; status == 0 && row >= 0; row--, printf("\n")) /* north first */
        for (int column = 0; column < 18; column++) {
            if (map[row][column] < -1e33f) printf("    -"); /* land */
            else printf("%5.1f", (double)map[row][column]);
        }

    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0;
}
