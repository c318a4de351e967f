/*
 * Creates an array, writes it map by map, and reads a year at one place from it.
 *
 *     cc create_array.c -lnczchunk && ./a.out new.zarr
 */
#include <stdio.h>

#include "nczchunk_array.h"

enum { MONTHS = 12, ROWS = 90, COLUMNS = 180 };

int main(int argc, char **argv)
{
    const size_t shape[3] = {MONTHS, ROWS, COLUMNS}, map_shape[3] = {1, ROWS, COLUMNS};
    const char *const names[3] = {"time", "lat", "lon"};
    static float map[ROWS][COLUMNS];
    float year[MONTHS];
    nczchunk_description sst = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */

    sst.type = NCZCHUNK_FLOAT;
    sst.rank = 3;
    sst.shape = shape;
    sst.chunk_shape = map_shape;
    sst.dimension_names = names;
    sst.attributes_json = "{\"units\": \"degC\"}";
    sst.overwrite = 1;
    int status = nczchunk_context_new(&context);
    if (status == 0) status = nczchunk_array_create(argc > 1 ? argv[1] : "new.zarr", "sst", &sst, &array, context);

    for (size_t month = 0; status == 0 && month < MONTHS; month++) {
        const size_t start[3] = {month, 0, 0};
        for (size_t row = 0; row < ROWS; row++)
            for (size_t column = 0; column < COLUMNS; column++)
                map[row][column] = (float)month + (float)row / 100;
        status = nczchunk_array_write(array, start, map_shape, NULL, map, context);
    }

    const size_t place[3] = {0, 45, 90}, count[3] = {MONTHS, 1, 1};
    if (status == 0) status = nczchunk_array_read(array, place, count, NULL, year, context);
    for (size_t month = 0; status == 0 && month < MONTHS; month++)
        printf("%.2f%s", year[month], month < MONTHS - 1 ? " " : "\n");

    if (status != 0) fprintf(stderr, "create_array: %s\n", nczchunk_context_message(context));
    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0;
}
