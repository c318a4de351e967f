/* Reading as nc_get_varm does: the type in memory may be another, and so may the order. */
#include "dataset.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A hyperslab, and the part of it inside the stored array: along an unlimited dimension a variable may be shorter than
 * the dimension, and reads as the fill value beyond. */
typedef struct Slab {
    const size_t *start, *count;
    const ptrdiff_t *stride;
    size_t rank, selected;
    size_t *inside;       /* the counts inside */
    size_t is_all_inside; /* all of it is */
} Slab;

static int multiply(size_t *product, size_t factor)
{
    if (factor && *product > (size_t)PTRDIFF_MAX / factor) return NC_ENOMEM;
    *product *= factor;
    return NC_NOERR;
}

/* Checks a hyperslab against the dimensions, in netCDF's order, and finds what of it is inside the array. */
static int check_slab(const Dataset *dataset, const Var *var, Slab *slab)
{
    int status = NC_NOERR;

    for (size_t d = 0; slab->stride && d < slab->rank; d++)
        if (slab->stride[d] < 1) return NC_ESTRIDE;
    slab->selected = 1;
    slab->is_all_inside = 1;
    for (size_t d = 0; d < slab->rank; d++) {
        const size_t len = dataset->dims[var->dimids[d]].len, start = slab->start[d], count = slab->count[d];
        const size_t stride = slab->stride ? (size_t)slab->stride[d] : 1, own = var->shape[d];

        if (start > len || (start == len && count)) return NC_EINVALCOORDS;
        if (count && (count - 1) > (len - 1 - start) / stride) return NC_EEDGE;
        slab->inside[d] = start >= own ? 0 : (own - 1 - start) / stride + 1;
        if (slab->inside[d] > count) slab->inside[d] = count;
        if (slab->inside[d] < count) slab->is_all_inside = 0;
    }
    for (size_t d = 0; d < slab->rank; d++)
        if (slab->count[d] == 0) slab->selected = 0;
    for (size_t d = 0; d < slab->rank && slab->selected && !status; d++)
        status = multiply(&slab->selected, slab->count[d]);
    return status;
}

/* Copies elements in row-major order to where a map says, in elements. */
static void scatter(const void *src, void *dest, size_t size, size_t rank, const size_t *count, const ptrdiff_t *imap)
{
    const unsigned char *from = src;

    if (rank == 0) {
        memcpy(dest, src, size);
        return;
    }
    if (rank > 1) {
        size_t row = size;

        for (size_t d = 1; d < rank; d++) row *= count[d];
        for (size_t i = 0; i < *count; i++)
            scatter(from + i * row, (unsigned char *)dest + (ptrdiff_t)i * *imap * (ptrdiff_t)size, size, rank - 1,
                    count + 1, imap + 1);
        return;
    }
    for (size_t i = 0; i < *count; i++)
        memcpy((unsigned char *)dest + (ptrdiff_t)i * *imap * (ptrdiff_t)size, from + i * size, size);
}

/* The map of a box of these counts, row-major. */
static void row_major(size_t rank, const size_t *count, ptrdiff_t *imap)
{
    ptrdiff_t step = 1;

    for (size_t d = rank; d-- > 0;) {
        imap[d] = step;
        step *= (ptrdiff_t)count[d];
    }
}

static int read_inside(const Dataset *dataset, const Var *var, const Slab *slab, void *data)
{
    return nczchunk_array_read(var->array, slab->start, slab->inside, slab->stride, data, dataset->context);
}

/* Reads elements as they are stored, row-major. Beyond the array they are fill values, netCDF's if it has none of its
 * own, and strings are NULL. New strings are the caller's. */
static int read_stored(Dataset *dataset, const Var *var, const Slab *slab, size_t size, void *data)
{
    const void *own = nczchunk_var_fill_value(nczchunk_array_var(var->array));
    const void *fill = own || var->kind != AS_IT_IS ? own : nczc_default_fill(var->type);
    unsigned char *all = data, *inside;
    ptrdiff_t *imap;
    size_t selected = 1;
    int status;

    if (slab->is_all_inside) return read_inside(dataset, var, slab, data);
    for (size_t d = 0; d < slab->rank; d++) selected *= slab->inside[d];
    inside = calloc(selected + 1, size);
    imap = malloc((slab->rank + 1) * sizeof *imap);
    status = inside && imap ? NC_NOERR : NC_ENOMEM;
    if (!status && selected) status = read_inside(dataset, var, slab, inside);
    if (!status) {
        if (var->kind == STRINGS || !fill) memset(all, 0, slab->selected * size);
        else
            for (size_t i = 0; i < slab->selected; i++) memcpy(all + i * size, fill, size);
        row_major(slab->rank, slab->count, imap);
        if (selected) scatter(inside, all, size, slab->rank, slab->inside, imap);
    }
    free(imap);
    free(inside);
    return status;
}

static void free_strings(char **strings, size_t count)
{
    for (size_t i = 0; i < count; i++) free(strings[i]);
}

/* Strings of one length as strings that end with a NUL; and NULL, beyond the array, as the fill value. */
static int make_strings(const Var *var, size_t size, const unsigned char *stored, char **strings, size_t count)
{
    const void *fill = nczchunk_var_fill_value(nczchunk_array_var(var->array));

    for (size_t i = 0; i < count; i++) {
        if (var->kind == STRINGS && strings[i]) continue;
        if (nczc_from_stored(var, var->kind == STRINGS ? fill : stored + i * size, &strings[i])) {
            free_strings(strings, var->kind == STRINGS ? count : i);
            return NC_ENOMEM;
        }
    }
    return NC_NOERR;
}

/*
 * Reads a hyperslab row-major into memory of a type. Where elements in memory are no shorter than those that are
 * stored, these are read to the end of the memory and converted from there on; else there is memory for them.
 */
static int read_slab(Dataset *dataset, Var *var, const Slab *slab, void *values, nc_type type)
{
    const size_t stored = nczchunk_var_element_size(nczchunk_array_var(var->array)), size = nczc_type_size(type);
    const int in_place = stored <= size && (var->kind == AS_IT_IS || var->kind == STRINGS);
    unsigned char *read = values, *floats = NULL;
    int status = NC_NOERR;

    if (in_place) {
        read += slab->selected * (size - stored);
    } else {
        size_t bytes = slab->selected;
        status = multiply(&bytes, stored);
        read = status ? NULL : malloc(bytes);
        if (!read) return NC_ENOMEM;
    }
    status = read_stored(dataset, var, slab, stored, read);
    if (status) {
        /* Nothing is read. */
    } else if (var->type == NC_STRING) {
        status = make_strings(var, stored, read, values, slab->selected);
    } else if (var->kind == HALF) {
        floats = type == NC_FLOAT ? values : malloc(slab->selected * sizeof(float));
        if (!floats) status = NC_ENOMEM;
        else nczc_from_half(read, (float *)(void *)floats, slab->selected);
        if (!status && type != NC_FLOAT) status = nczc_convert(floats, NC_FLOAT, values, type, slab->selected);
        if (type != NC_FLOAT) free(floats);
    } else if (type != var->type) {
        status = nczc_convert(read, var->type, values, type, slab->selected);
    }
    if (!in_place) free(read);
    return status;
}

int nczc_read(Dataset *dataset, Var *var, const size_t *start, const size_t *count, const ptrdiff_t *stride,
              const ptrdiff_t *imap, void *values, nc_type type)
{
    Slab slab = {start, count, stride, var->rank, 1, NULL, 1};
    size_t size;
    void *contiguous;
    int status;

    if (type == NC_NAT) type = var->type;
    size = nczc_type_size(type);
    if (!size) return NC_EBADTYPE;
    if (type != var->type && (type == NC_CHAR || var->type == NC_CHAR)) return NC_ECHAR;
    if (type != var->type && (type == NC_STRING || var->type == NC_STRING)) return NC_EBADTYPE;
    if (var->rank && (!start || !count)) return NC_EINVALCOORDS;
    status = nczc_array(dataset, var);
    if (status) return status;

    slab.inside = malloc((var->rank + 1) * sizeof *slab.inside);
    if (!slab.inside) return NC_ENOMEM;
    status = check_slab(dataset, var, &slab);
    if (status || !slab.selected) {
        /* There is nothing to read. */
    } else if (!values) {
        status = NC_EINVAL;
    } else if (!imap || var->rank == 0) {
        status = read_slab(dataset, var, &slab, values, type);
    } else if (type == var->type && var->kind == AS_IT_IS && slab.is_all_inside) {
        status = nczchunk_read_varm(nczchunk_array_var(var->array), nczchunk_array_store(var->array), start, count,
                                    stride, imap, values, dataset->context);
    } else {
        size_t bytes = slab.selected;
        status = multiply(&bytes, size);
        contiguous = status ? NULL : malloc(bytes);
        status = contiguous ? read_slab(dataset, var, &slab, contiguous, type) : NC_ENOMEM;
        if (!status || status == NC_ERANGE) scatter(contiguous, values, size, var->rank, count, imap);
        free(contiguous);
    }
    free(slab.inside);
    return status;
}
