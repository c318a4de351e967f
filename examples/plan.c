/*
 * Looks at what a read will take, then executes the same plan for as long as there is something to read: here twice.
 *
 *     cc plan.c -lnczchunk && ./a.out coads_sst.zarr
 */
#include <stdio.h>

#include "nczchunk_array.h"

enum { ROWS = 60, COLUMNS = 60 };

int main(int argc, char **argv)
{
    static float data[ROWS][COLUMNS], again[ROWS][COLUMNS];
    const size_t start[3] = {0, 10, 0}, count[3] = {1, ROWS, COLUMNS};
    const ptrdiff_t stride[3] = {1, 1, 3};
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    nczchunk_array *array = NULL;
    nczchunk_plan *plan = NULL;
    nczchunk_context *context = NULL;
    size_t elements = 0;

    int status = nczchunk_context_new(&context);
    if (status == 0)
        status = nczchunk_array_open(argc > 1 ? argv[1] : "coads_sst.zarr", NULL, NCZCHUNK_READ, &array, context);
    const nczchunk_chunk_store *store = nczchunk_array_store(array);

    /* [look] Nothing is read for this. */
    if (status == 0)
        status = nczchunk_plan_new(nczchunk_array_var(array), start, count, stride, NCZCHUNK_READ, &plan, context);
    if (status == 0) status = nczchunk_plan_totals(plan, &totals, context);
    if (status == 0)
        printf("%zu of %zu chunks, %zu bytes of %zu\n", totals.chunks, totals.grid_chunks, totals.selected_bytes,
               totals.chunk_bytes);
    for (size_t i = 0; status == 0 && i < totals.chunks; i++) {
        nczchunk_projection p[3]; /* one for each dimension */

        status = nczchunk_plan_chunk(plan, i, p, sizeof p[0], NULL, context);
        if (status != 0) break;
        printf("chunk (%d, %d, %d): rows %zu to %zu, columns %zu to %zu; to row %zu, column %zu of data\n",
               (int)p[0].chunk_index, (int)p[1].chunk_index, (int)p[2].chunk_index, p[1].first, p[1].last, p[2].first,
               p[2].last, p[1].iopos, p[2].iopos);
        elements += p[0].iocount * p[1].iocount * p[2].iocount;
    }

    /* [execute] As a whole; and once more in two parts, which two threads could do at the same time. */
    if (status == 0) status = nczchunk_plan_read(plan, store, 0, NCZCHUNK_ALL, data, context);
    for (size_t part = 0; status == 0 && part < 2; part++) {
        size_t first, chunks;

        status = nczchunk_plan_part(plan, part, 2, &first, &chunks, context);
        if (status == 0) status = nczchunk_plan_read(plan, store, first, chunks, again, context);
    }

    /* [end] */
    if (status != 0) fprintf(stderr, "plan: %s\n", nczchunk_context_message(context));
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++)
            if (!(data[row][column] == again[row][column])) status = NCZCHUNK_EINTERNAL;
    nczchunk_plan_free(plan);
    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0 || elements != totals.elements;
}
