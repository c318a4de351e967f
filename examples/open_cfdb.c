/*
 * Lists what is in a cfdb file, and reads a map from it: temperatures, which are packed in integers of 2 bytes. The
 * attributes say what they stand for.
 *
 *     cc open_cfdb.c -lnczchunk && ./a.out small.cfdb
 */
#include <stdio.h>

#include "nczchunk_array.h"

static int print_name(void *user, const nczchunk_node *node)
{
    (void)user;
    if (node->is_group) return 0; /* the file itself */
    printf("%-12s %s\n", node->name, node->status == 0 ? node->type_name : node->message);
    return 0;
}

/* An attribute that is one number, or what it stands for if there is none. */
static double number(const nczchunk_array *array, const char *name, double otherwise)
{
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

    if (nczchunk_array_attribute(array, name, &attribute, NULL) != 0 || attribute.num_values != 1) return otherwise;
    switch (attribute.type) {
    case 4: return *(const int *)attribute.values;            /* NC_INT */
    case 6: return *(const double *)attribute.values;         /* NC_DOUBLE */
    case 8: return *(const unsigned short *)attribute.values; /* NC_USHORT */
    default: return otherwise;
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "small.cfdb";
    const size_t start[2] = {0, 0}, count[2] = {3, 5}; /* every second day and place */
    const ptrdiff_t stride[2] = {2, 2};
    unsigned short packed[3][5];
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */

    int status = nczchunk_context_new(&context);
    if (status == 0) status = nczchunk_list(path, NULL, 0, print_name, NULL, context);
    if (status == 0) status = nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, context);
    if (status == 0) status = nczchunk_array_read(array, start, count, stride, packed, context);
    if (status != 0) fprintf(stderr, "open_cfdb: %s\n", nczchunk_context_message(context));

    const double scale = number(array, "scale_factor", 1), offset = number(array, "add_offset", 0);
    const double none = number(array, "_FillValue", -1);
    for (int row = 0; status == 0 && row < 3; row++, printf("\n"))
        for (int column = 0; column < 5; column++) {
            if (packed[row][column] == none) printf("     -");
            else printf("%6.1f", packed[row][column] * scale + offset);
        }

    nczchunk_array_close(array);
    nczchunk_context_free(context);
    return status != 0;
}
