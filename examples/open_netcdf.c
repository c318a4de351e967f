/*
 * Shows what is in a netCDF classic file, and reads a part of one variable: the sea surface temperatures of a year at
 * one place.
 *
 *     cc open_netcdf.c -lnczchunk && ./a.out coads_sst.nc
 */
#include <stdio.h>

#include "nczchunk_array.h"

/* Shows a variable as ncdump -h does. The file itself is told first, as a group. */
static int show(void *user, const nczchunk_node *node)
{
    (void)user;
    if (node->is_group) return 0;
    printf("%s %s", node->type_name, node->name);
    for (size_t d = 0; d < node->rank; d++)
        printf("%s%s = %zu%s", d == 0 ? "(" : ", ", node->dimension_names[d], node->shape[d],
               node->is_unlimited[d] ? " (unlimited)" : "");
    puts(node->rank > 0 ? ")" : "");
    return 0; /* anything else would end the list */
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "coads_sst.nc";
    const size_t start[3] = {0, 54, 91}, count[3] = {12, 1, 1}; /* Hawaii */
    float year[12];
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */

    int status = nczchunk_context_new(&context);
    if (status == 0) status = nczchunk_list(path, NULL, 1, show, NULL, context);
    if (status == 0) status = nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, context);
    if (status == 0) status = nczchunk_array_read(array, start, count, NULL, year, context);
    if (status != 0) fprintf(stderr, "open_netcdf: %s\n", nczchunk_context_message(context));

    for (int month = 0; status == 0 && month < 12; month++) printf("%5.1f", (double)year[month]);
    if (status == 0) puts("");

    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0;
}
