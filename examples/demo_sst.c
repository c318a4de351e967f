/*
 * Sea surface temperatures out of a Zarr array on disk: maps of January and July, a year at one place, and which chunks
 * had to be read for each. Every value is checked against a raw copy of the array.
 *
 *     demo_sst [DATA_DIR]        "data" if not given: the directory of coads_sst.zarr and coads_sst.f32
 *
 * sst_map.c draws, sst_raw.c checks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nczchunk_array.h"
#include "sst_map.h"
#include "sst_raw.h"

typedef struct {
    nczchunk_array *array;
    nczchunk_context *context; /* what went wrong, in words */
    float *raw;                /* what everything must be equal to */
    float *data;               /* what was read last; room for the whole array */
    int colour;
    size_t checked;
} demo;

static int open_demo(demo *d, const char *data_dir);
static int show_maps(demo *d);
static int show_a_year(demo *d);
static int show_absence(demo *d);
static int read_everything(demo *d);
static void close_demo(demo *d);

int main(int argc, char **argv)
{
    demo d = {0};
    d.colour = sst_map_colour();

    const int ok = open_demo(&d, argc > 1 ? argv[1] : "data")
                   && show_maps(&d)        /* a strided read that fits the terminal */
                   && show_a_year(&d)      /* one point, right across the chunks */
                   && show_absence(&d)     /* a stride that steps over chunks */
                   && read_everything(&d); /* all 194400 values */
    if (ok) printf("checked %zu values in 4 reads against the raw array: all equal\n", d.checked);

    close_demo(&d);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Says what failed and returns 0. The context knows more than the status, unless nczchunk was not what failed. */
static int failed(const demo *d, const char *what, int status)
{
    const char *message = nczchunk_context_message(d->context);
    fprintf(stderr, "demo_sst: %s: %s\n", what, *message ? message : nczchunk_strerror(status));
    return 0;
}

/*
 * Prints the chunks that a plan touches, north at the top as in the maps: those of the first months on the left. A
 * chunk has the name of its file; a dot stands for one that is left alone.
 */
static int print_chunks(const demo *d, const nczchunk_plan *plan, size_t num_chunks)
{
    const nczchunk_var *var = nczchunk_array_var(d->array);
    size_t grid[SST_RANK];
    char touched[8][8][8] = {{{0}}};

    for (size_t i = 0; i < SST_RANK; i++) {
        const size_t length = nczchunk_var_dimlen(var, i), chunklen = nczchunk_var_chunklen(var, i);
        grid[i] = (length + chunklen - 1) / chunklen;
        if (grid[i] > 8) return 1; /* too many to be shown */
    }
    for (size_t i = 0; i < num_chunks; i++) {
        nczchunk_projection p[SST_RANK];
        const int status = nczchunk_plan_chunk(plan, i, p, sizeof p[0], NULL, d->context);
        if (status != NCZCHUNK_NOERR) return failed(d, "cannot tell a chunk", status);
        touched[p[0].chunk_index][p[1].chunk_index][p[2].chunk_index] = 1;
    }
    for (size_t j = grid[1]; j-- > 0;) {
        printf(j == grid[1] - 1 ? "   chunks  " : "           ");
        for (size_t i = 0; i < grid[0]; i++) {
            for (size_t k = 0; k < grid[2]; k++) {
                if (touched[i][j][k]) printf("%zu.%zu.%zu  ", i, j, k);
                else printf("  .    ");
            }
            printf(i < grid[0] - 1 ? " " : "\n");
        }
    }
    return 1;
}

/* Reads a hyperslab into d->data, says what that took, and checks every value. Returns 1 if all went well. */
static int read_slab(demo *d, const char *title, const size_t start[SST_RANK], const size_t count[SST_RANK],
                     const ptrdiff_t stride[SST_RANK])
{
    printf("%s\n", title);
    printf("   slab    start {%zu, %zu, %zu}  count {%zu, %zu, %zu}  stride {%td, %td, %td}\n", start[0], start[1],
           start[2], count[0], count[1], count[2], stride[0], stride[1], stride[2]);

    /* A plan tells what the read will do before any file is opened. */
    nczchunk_plan *plan = NULL;
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    int status =
        nczchunk_plan_new(nczchunk_array_var(d->array), start, count, stride, NCZCHUNK_READ, &plan, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot plan", status);
    status = nczchunk_plan_totals(plan, &totals, d->context);
    if (status == NCZCHUNK_NOERR) {
        printf("   plan    touches %zu of %zu chunks to deliver %zu values\n", totals.chunks, totals.grid_chunks,
               totals.elements);
    }
    const int ok = status == NCZCHUNK_NOERR ? print_chunks(d, plan, totals.chunks) : failed(d, "cannot plan", status);
    nczchunk_plan_free(plan);
    if (!ok) return 0;

    status = nczchunk_array_read(d->array, start, count, stride, d->data, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot read", status);

    const size_t differences = sst_raw_differences(d->raw, start, count, stride, d->data);
    if (differences > 0) {
        fprintf(stderr, "demo_sst: %zu of %zu values differ from the raw array\n", differences, totals.elements);
        return 0;
    }
    printf("   check   %zu values against the raw array: all equal\n\n", totals.elements);
    d->checked += totals.elements;
    return 1;
}

/*
 * A map has fewer rows and columns than the array, so this reads every second column and every second or fourth row. A
 * stride of 6 along the months brings January and July in one read. The chunks of November and December are left alone.
 */
static int show_maps(demo *d)
{
    const size_t rows_per_line = sst_map_rows_per_line(d->colour), rows = SST_MAP_LINES * rows_per_line;
    const size_t start[SST_RANK] = {0, SST_MAP_FIRST_LATITUDE, 0}, count[SST_RANK] = {2, rows, SST_MAP_COLUMNS};
    const ptrdiff_t stride[SST_RANK] = {6, 4 / (ptrdiff_t)rows_per_line, 2};
    if (!read_slab(d, "1. January and July, thinned out to the size of a terminal", start, count, stride)) return 0;

    printf("     January, degrees Celsius\n");
    sst_map_print(d->data, d->colour);
    printf("\n     July, degrees Celsius\n");
    sst_map_print(d->data + rows * SST_MAP_COLUMNS, d->colour);
    printf("\n");
    sst_map_legend(d->colour);
    printf("\n");
    return 1;
}

/* Twelve values, which lie in three chunks. */
static int show_a_year(demo *d)
{
    static const char *const names[SST_MONTHS] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const size_t latitude = (39 + 89) / 2, longitude = (360 - 65 - 21) / 2; /* 2 degrees apart, from 89S and 21E */
    const size_t start[SST_RANK] = {0, latitude, longitude}, count[SST_RANK] = {SST_MONTHS, 1, 1};
    const ptrdiff_t stride[SST_RANK] = {1, 1, 1};
    if (!read_slab(d, "2. A year in the Gulf Stream, at 39N 65W", start, count, stride)) return 0;

    for (size_t month = 0; month < SST_MONTHS; month++) {
        printf("     %s %5.1f  ", names[month], (double)d->data[month]);
        sst_map_bar(d->data[month], d->colour);
        printf("\n");
    }
    printf("\n");
    return 1;
}

/*
 * January and November are 10 months apart and a chunk has 5, so the stride steps over the chunk between theirs. There
 * is no file for either of theirs: nothing was observed.
 */
static int show_absence(demo *d)
{
    const size_t start[SST_RANK] = {0, 80, 50}, count[SST_RANK] = {2, 10, 50};
    const ptrdiff_t stride[SST_RANK] = {10, 1, 1};
    if (!read_slab(d, "3. January and November in the Arctic, from 121E to 141W", start, count, stride)) return 0;

    size_t filled = 0;
    for (size_t n = 0; n < count[0] * count[1] * count[2]; n++) filled += d->data[n] == SST_FILL_VALUE;
    printf("     %zu of them are the fill value, %g\n\n", filled, (double)SST_FILL_VALUE);
    return 1;
}

static int read_everything(demo *d)
{
    const size_t start[SST_RANK] = {0, 0, 0}, count[SST_RANK] = {SST_MONTHS, SST_LATITUDES, SST_LONGITUDES};
    const ptrdiff_t stride[SST_RANK] = {1, 1, 1};
    return read_slab(d, "4. Everything", start, count, stride);
}

static int open_demo(demo *d, const char *data_dir)
{
    char path[1024];
    const int length = snprintf(path, sizeof path, "%s/coads_sst.zarr", data_dir);
    if (length < 0 || (size_t)length >= sizeof path) return failed(d, "the path is too long", NCZCHUNK_EINVAL);

    int status = nczchunk_context_new(&d->context);
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_open(path, NULL, NCZCHUNK_READ, &d->array, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot open the array", status);
    if (nczchunk_var_rank(nczchunk_array_var(d->array)) != SST_RANK) return failed(d, path, NCZCHUNK_EBADDIM);

    d->raw = sst_raw_load(data_dir);
    if (!d->raw) return 0;

    d->data = malloc(SST_SIZE * sizeof *d->data);
    return d->data ? 1 : failed(d, "cannot begin", NCZCHUNK_ENOMEM);
}

/* All of these take NULL, so it does not matter how far open_demo came. */
static void close_demo(demo *d)
{
    free(d->data);
    free(d->raw);
    nczchunk_array_close(d->array);
    nczchunk_context_free(d->context);
}
