/*
 * Sea surface temperatures out of a chunked array on disk: maps of January and July, a year at one place, and how many
 * chunks had to be read for each. Every value is checked against a raw copy of the array.
 *
 *     demo_sst [DATA_DIR]        "data" if not given: the directory of coads_sst.zarr and coads_sst.f32
 *
 * sst_store.c has the callback that reads chunks from files, sst_map.c draws, sst_raw.c checks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "nczchunk.h"
#include "sst_map.h"
#include "sst_raw.h"
#include "sst_store.h"

typedef struct {
    nczchunk_var *var;         /* what is stored */
    nczchunk_store *store;     /* where it comes from */
    nczchunk_context *context; /* what went wrong, in words */
    sst_files files;           /* what the store's callback works with */
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

    const int ok = open_demo(&d, argc > 1 ? argv[1] : "data") /* a variable, a store */
                   && show_maps(&d)                           /* a strided read that fits the terminal */
                   && show_a_year(&d)                         /* one point, right across the chunks */
                   && show_absence(&d)                        /* a stride that steps over chunks, and finds none */
                   && read_everything(&d);                    /* all 194400 values */
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

/* Which chunks were read, north at the top as in the maps: the name of the file if so, else what became of it. */
static void print_chunks(const sst_record *record)
{
    for (size_t j = SST_GRID_LATITUDES; j-- > 0;) {
        printf(j == SST_GRID_LATITUDES - 1 ? "   chunks  " : "           ");
        for (size_t i = 0; i < SST_GRID_MONTHS; i++) {
            for (size_t k = 0; k < SST_GRID_LONGITUDES; k++) {
                switch (record->fate[i][j][k]) {
                case SST_FETCHED: printf("%zu.%zu.%zu  ", i, j, k); break;
                case SST_ABSENT: printf("absent "); break;
                case SST_NOT_ASKED_FOR: printf("  .    "); break;
                }
            }
            printf(i < SST_GRID_MONTHS - 1 ? " " : "\n");
        }
    }
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
    int status = nczchunk_plan_new(d->var, start, count, stride, NCZCHUNK_READ, &plan, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot plan", status);
    status = nczchunk_plan_totals(plan, &totals, d->context);
    nczchunk_plan_free(plan);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot tell the plan", status);
    printf("   plan    touches %zu of %zu chunks to deliver %zu values\n", totals.chunks, totals.grid_chunks,
           totals.elements);

    sst_record *record = &d->files.record;
    *record = (sst_record){0};
    status = nczchunk_read_vars(d->var, d->store, start, count, stride, d->data, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot read", status);

    printf("   read    %zu chunks fetched, %zu absent; %zu bytes from files for %zu bytes delivered\n", record->fetched,
           record->absent, record->bytes, totals.selected_bytes);
    print_chunks(record);
    if (record->fetched + record->absent != totals.chunks) {
        fprintf(stderr, "demo_sst: the plan was for %zu chunks\n", totals.chunks);
        return 0;
    }

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
 * January and November are 10 months apart and a chunk has 5, so the stride steps over the chunk between theirs: it is
 * there, but is not asked for. Theirs are asked for, but there is no file for either: nothing was observed.
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
    d->files.data_dir = data_dir;
    int status = nczchunk_context_new(&d->context);
    if (status == NCZCHUNK_NOERR) status = sst_var_new(&d->var, d->context);
    if (status == NCZCHUNK_NOERR) status = sst_store_new(&d->files, &d->store, d->context);
    if (status != NCZCHUNK_NOERR) return failed(d, "cannot begin", status);

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
    nczchunk_store_free(d->store);
    nczchunk_var_free(d->var);
    nczchunk_context_free(d->context);
}
