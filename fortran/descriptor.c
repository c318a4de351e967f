/*
 * What the module nczchunk needs C for: the layout in memory of a Fortran array of any type and rank, which a compiler
 * passes as a descriptor. Elements go straight to their places, also in a section such as data(1:9:2, :).
 */
#include <ISO_Fortran_binding.h>
#include <nczchunk_array.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The room for a message of this file's own. The module has the same number. */
#define MESSAGE_LENGTH 256

/* A block of memory, and the hyperslab whose elements are in it, in the order of C: the slowest dimension first. */
typedef struct Layout {
    void *memory;
    size_t size, offset;
    size_t start[NCZCHUNK_MAX_RANK], count[NCZCHUNK_MAX_RANK];
    ptrdiff_t stride[NCZCHUNK_MAX_RANK], memory_strides[NCZCHUNK_MAX_RANK];
} Layout;

/* A plan, and the layout that it was made for. */
typedef struct Planned {
    nczchunk_plan *plan;
    const nczchunk_array *array;
    size_t size, offset, elem_len;
    int rank;
    CFI_type_t type;
    CFI_dim_t dim[CFI_MAX_RANK];
} Planned;

static const char other_type[] = "data is not of the type of the array's elements";

static int fail(char *message, int status, const char *what)
{
    snprintf(message, MESSAGE_LENGTH, "%s", what);
    return status;
}

/*
 * Passes on the status of a call for a hyperslab. That it does not fit into a dimension is told in the caller's own
 * numbers: the library's message counts dimensions and indices in C's way.
 */
static int told(int status, const nczchunk_array *array, const Layout *layout, char *message,
                const nczchunk_context *context)
{
    const nczchunk_var *var = nczchunk_array_var(array);
    const int d = nczchunk_context_dimension(context);

    if ((status == NCZCHUNK_EINVALCOORDS || status == NCZCHUNK_EEDGE) && d >= 0)
        snprintf(message, MESSAGE_LENGTH,
                 "dimension %zu: start %zu, count %zu, stride %td reach beyond the dimension, whose length is %zu",
                 nczchunk_var_rank(var) - (size_t)d, layout->start[d] + 1, layout->count[d], layout->stride[d],
                 nczchunk_var_dimlen(var, (size_t)d));
    return status;
}

/* Whether elements in memory are those of an array. Fortran has no unsigned types: the signed ones have the bits. */
static int has_type(const nczchunk_array *array, const CFI_cdesc_t *data)
{
    const char *name = nczchunk_array_type_name(array);

    if (data->elem_len != nczchunk_var_element_size(nczchunk_array_var(array))) return 0;
    switch (nczchunk_array_type(array)) {
    case NCZCHUNK_BYTE:
    case NCZCHUNK_UBYTE:
        return data->type == CFI_type_int8_t;
    case NCZCHUNK_SHORT:
    case NCZCHUNK_USHORT:
        return data->type == CFI_type_int16_t;
    case NCZCHUNK_INT:
    case NCZCHUNK_UINT:
        return data->type == CFI_type_int32_t;
    case NCZCHUNK_INT64:
    case NCZCHUNK_UINT64:
        return data->type == CFI_type_int64_t;
    case NCZCHUNK_FLOAT:
        return data->type == CFI_type_float;
    case NCZCHUNK_DOUBLE:
        return data->type == CFI_type_double;
    case NCZCHUNK_CHAR:
        return data->type == CFI_type_char;
    case NCZCHUNK_STRING:
        return *name == 'S' && data->type == CFI_type_char;
    }
    if (strcmp(name, "bool") == 0) return data->type == CFI_type_Bool;
    if (strcmp(name, "complex64") == 0) return data->type == CFI_type_float_Complex;
    if (strcmp(name, "complex128") == 0) return data->type == CFI_type_double_Complex;
    return strncmp(name, "datetime64", 10) == 0 && data->type == CFI_type_int64_t;
}

/* Whether a list, if it is given, has an integer for each dimension. */
static int has_integers(const CFI_cdesc_t *list, size_t rank)
{
    return !list || ((list->type == CFI_type_int32_t || list->type == CFI_type_int64_t) &&
                     (size_t)list->dim[0].extent == rank);
}

/* An integer of a list; other if the list is not given. What memory cannot count is as far beyond all dimensions. */
static int64_t integer_of(const CFI_cdesc_t *list, size_t f, int64_t other)
{
    const char *at;
    int64_t given;

    if (!list) return other;
    at = (const char *)list->base_addr + (ptrdiff_t)f * list->dim[0].sm;
    given = list->type == CFI_type_int64_t ? *(const int64_t *)at : *(const int32_t *)at;
    return given < PTRDIFF_MAX ? given : PTRDIFF_MAX;
}

/*
 * Finds the hyperslab. start, count and stride are lists in Fortran's order, the fastest dimension first, or NULL.
 * start counts from 1. Without count the shape of data is what is read; without data, too, that of the array.
 */
static int find_slab(const nczchunk_array *array, const CFI_cdesc_t *data, const CFI_cdesc_t *start,
                     const CFI_cdesc_t *count, const CFI_cdesc_t *stride, Layout *layout, char *message)
{
    const nczchunk_var *var = nczchunk_array_var(array);
    const size_t rank = nczchunk_var_rank(var);

    if (!array) return fail(message, NCZCHUNK_EINVAL, "the array is not open");
    if (!has_integers(start, rank) || !has_integers(count, rank) || !has_integers(stride, rank))
        return fail(message, NCZCHUNK_EINVAL,
                    "start, count and stride need an integer for each dimension, as int32 or int64");
    if (data && !count && (size_t)data->rank != rank)
        return fail(message, NCZCHUNK_EINVAL, "the rank of data is not that of the array, and count is not given");
    for (size_t f = 0; f < rank; f++) {
        const size_t d = rank - 1 - f;
        const int64_t length = data && !count ? data->dim[f].extent : (int64_t)nczchunk_var_dimlen(var, d);
        const int64_t first = integer_of(start, f, 1), n = integer_of(count, f, length);
        const int64_t step = integer_of(stride, f, 1);

        if (first < 1) return fail(message, NCZCHUNK_EINVALCOORDS, "start counts from 1");
        if (step < 1) return fail(message, NCZCHUNK_ESTRIDE, "a stride is less than 1");
        if (n < 0) return fail(message, NCZCHUNK_EINVAL, "a count is negative");
        layout->start[d] = (size_t)first - 1;
        layout->count[d] = (size_t)n;
        layout->stride[d] = (ptrdiff_t)step;
    }
    return NCZCHUNK_NOERR;
}

/* Finds the layout. Dimensions of the hyperslab with one element need not be dimensions of data. */
static int lay_out(const nczchunk_array *array, const CFI_cdesc_t *data, const CFI_cdesc_t *start,
                   const CFI_cdesc_t *count, const CFI_cdesc_t *stride, Layout *layout, char *message)
{
    const int status = find_slab(array, data, start, count, stride, layout, message);
    ptrdiff_t lowest = 0, highest = 0;
    int used = 0;

    if (status) return status;
    if (!has_type(array, data)) return fail(message, NCZCHUNK_EBADTYPE, other_type);
    for (size_t d = nczchunk_var_rank(nczchunk_array_var(array)); d-- > 0;) {
        const ptrdiff_t n = (ptrdiff_t)layout->count[d];

        layout->memory_strides[d] = 0;
        if (used < data->rank && data->dim[used].extent == n) {
            const ptrdiff_t sm = data->dim[used++].sm;

            layout->memory_strides[d] = sm;
            if (n > 1 && sm < 0) lowest += (n - 1) * sm;
            if (n > 1 && sm > 0) highest += (n - 1) * sm;
        } else if (n != 1) {
            return fail(message, NCZCHUNK_EINVAL, "the shape of data is not count");
        }
    }
    for (; used < data->rank; used++)
        if (data->dim[used].extent != 1) return fail(message, NCZCHUNK_EINVAL, "the shape of data is not count");
    layout->memory = data->base_addr ? (char *)data->base_addr + lowest : NULL;
    layout->offset = (size_t)-lowest;
    layout->size = (size_t)(highest - lowest) + data->elem_len;
    return NCZCHUNK_NOERR;
}

int nczchunk_fortran_transfer(const nczchunk_array *array, int access, CFI_cdesc_t *data, const CFI_cdesc_t *start,
                              const CFI_cdesc_t *count, const CFI_cdesc_t *stride, char *message,
                              nczchunk_context *context)
{
    Layout *layout = malloc(sizeof *layout);
    const nczchunk_var *var = nczchunk_array_var(array);
    const nczchunk_chunk_store *store = nczchunk_array_store(array);
    int status;

    *message = '\0';
    if (!layout) return NCZCHUNK_ENOMEM;
    status = lay_out(array, data, start, count, stride, layout, message);
    if (!status) {
        if (access == NCZCHUNK_READ)
            status = nczchunk_read_strided(var, store, layout->start, layout->count, layout->stride, layout->memory,
                                           layout->size, layout->offset, layout->memory_strides, context);
        else
            status = nczchunk_write_strided(var, store, layout->start, layout->count, layout->stride, layout->memory,
                                            layout->size, layout->offset, layout->memory_strides, context);
        status = told(status, array, layout, message, context);
    }
    free(layout);
    return status;
}

int nczchunk_fortran_read_strings(const nczchunk_array *array, const CFI_cdesc_t *start, const CFI_cdesc_t *count,
                                  const CFI_cdesc_t *stride, char **block, size_t *nbytes, size_t *num_strings,
                                  char *message, nczchunk_context *context)
{
    Layout *layout = malloc(sizeof *layout);
    size_t n = 1;
    int status;

    *message = '\0';
    if (!layout) return NCZCHUNK_ENOMEM;
    status = find_slab(array, NULL, start, count, stride, layout, message);
    if (!status) {
        status = nczchunk_array_read_strings(array, layout->start, layout->count, layout->stride, block, nbytes,
                                             context);
        status = told(status, array, layout, message, context);
    }
    for (size_t d = 0; !status && d < nczchunk_var_rank(nczchunk_array_var(array)); d++) n *= layout->count[d];
    *num_strings = n;
    free(layout);
    return status;
}

int nczchunk_fortran_plan(const nczchunk_array *array, CFI_cdesc_t *data, const CFI_cdesc_t *start,
                          const CFI_cdesc_t *count, const CFI_cdesc_t *stride, Planned **planned, char *message,
                          nczchunk_context *context)
{
    Layout *layout = malloc(sizeof *layout);
    Planned *made = malloc(sizeof *made);
    int status = layout && made ? NCZCHUNK_NOERR : NCZCHUNK_ENOMEM;

    *message = '\0';
    if (!status) status = lay_out(array, data, start, count, stride, layout, message);
    if (!status) {
        status = nczchunk_plan_new_strided(nczchunk_array_var(array), layout->start, layout->count, layout->stride,
                                           layout->size, layout->offset, layout->memory_strides, NCZCHUNK_READ,
                                           &made->plan, context);
        status = told(status, array, layout, message, context);
    }
    if (status) {
        free(made);
    } else {
        made->array = array;
        made->size = layout->size;
        made->offset = layout->offset;
        made->elem_len = data->elem_len;
        made->rank = data->rank;
        made->type = data->type;
        memcpy(made->dim, data->dim, (size_t)data->rank * sizeof *made->dim);
        *planned = made;
    }
    free(layout);
    return status;
}

void nczchunk_fortran_plan_free(Planned *planned)
{
    if (!planned) return;
    nczchunk_plan_free(planned->plan);
    free(planned);
}

int nczchunk_fortran_plan_totals(const Planned *planned, size_t *chunks, size_t *bytes, size_t *chunk_bytes)
{
    nczchunk_totals totals;
    int status;

    totals.struct_size = sizeof totals;
    status = nczchunk_plan_totals(planned ? planned->plan : NULL, &totals, NULL);
    if (status) return status;
    *chunks = totals.chunks;
    *bytes = totals.selected_bytes;
    *chunk_bytes = totals.chunk_bytes;
    return NCZCHUNK_NOERR;
}

/* Part counts from 1. */
int nczchunk_fortran_plan_read(const Planned *planned, CFI_cdesc_t *data, int part, int num_parts, char *message,
                               nczchunk_context *context)
{
    size_t first, chunks;
    int status;

    *message = '\0';
    if (!planned) return fail(message, NCZCHUNK_EINVAL, "the plan is not made");
    if (data->type != planned->type || data->elem_len != planned->elem_len)
        return fail(message, NCZCHUNK_EBADTYPE, other_type);
    if (data->rank != planned->rank)
        return fail(message, NCZCHUNK_EINVAL, "data is not laid out as the data that the plan was made for");
    for (int i = 0; i < data->rank; i++)
        if (data->dim[i].extent != planned->dim[i].extent || data->dim[i].sm != planned->dim[i].sm)
            return fail(message, NCZCHUNK_EINVAL, "data is not laid out as the data that the plan was made for");
    if (part < 1 || part > num_parts) return fail(message, NCZCHUNK_EINVALCOORDS, "there is no such part");
    status = nczchunk_plan_part(planned->plan, (size_t)part - 1, (size_t)num_parts, &first, &chunks, context);
    if (status) return status;
    return nczchunk_plan_read(planned->plan, nczchunk_array_store(planned->array), first, chunks,
                              data->base_addr ? (char *)data->base_addr - planned->offset : NULL, context);
}

/* The numbers of an attribute, as Fortran's programs mostly want them. */
int nczchunk_fortran_numbers(size_t type, size_t num_values, const void *values, double *numbers)
{
#define NUMBERS(number, c_type)                                                               \
    case number:                                                                              \
        for (size_t i = 0; i < num_values; i++) numbers[i] = (double)((const c_type *)values)[i]; \
        return NCZCHUNK_NOERR

    switch (type) {
        NUMBERS(NCZCHUNK_BYTE, int8_t);
        NUMBERS(NCZCHUNK_UBYTE, uint8_t);
        NUMBERS(NCZCHUNK_SHORT, int16_t);
        NUMBERS(NCZCHUNK_USHORT, uint16_t);
        NUMBERS(NCZCHUNK_INT, int32_t);
        NUMBERS(NCZCHUNK_UINT, uint32_t);
        NUMBERS(NCZCHUNK_INT64, int64_t);
        NUMBERS(NCZCHUNK_UINT64, uint64_t);
        NUMBERS(NCZCHUNK_FLOAT, float);
        NUMBERS(NCZCHUNK_DOUBLE, double);
    }
    return NCZCHUNK_ECHAR;
}
