/*
 * An array of maps becomes one of time series, within a limit of memory: how it will be done, doing it, continuing what
 * was ended, and what is refused.
 */
#include "check.h"

#include "nczchunk_array.h"

enum { TIMES = 240, ROWS = 40, COLUMNS = 40 };

static const size_t shape[3] = {TIMES, ROWS, COLUMNS}, map[3] = {1, ROWS, COLUMNS}, series[3] = {TIMES, 10, 10};
static int32_t values[TIMES][ROWS][COLUMNS], back[TIMES][ROWS][COLUMNS];

/* So little memory that half of the array fits. */
static const size_t little = 9 << 20;

/* An array in chunks of a map each. */
static nczchunk_array *maps(nczchunk_storage *storage)
{
    const size_t start[3] = {0, 0, 0};
    static const char *const names[3] = {"time", "y", "x"};
    nczchunk_description all = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (size_t i = 0; i < TIMES * ROWS * COLUMNS; i++) (&values[0][0][0])[i] = (int32_t)(i * i);
    all.type = NCZCHUNK_INT;
    all.rank = 3;
    all.shape = shape;
    all.chunk_shape = map;
    all.dimension_names = names;
    all.attributes_json = "{\"units\": \"K\"}";
    all.uncompressed = 1;
    CHECK_OK(nczchunk_array_create_in(storage, "maps", &all, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, shape, NULL, values, NULL));
    return array;
}

/* Whether an array has the values of the maps, in chunks of this many times. */
static void check_series(nczchunk_storage *storage, const char *name)
{
    const size_t start[3] = {0, 0, 0};
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_array_open_in(storage, name, NCZCHUNK_READ, &array, NULL));
    memset(back, 0, sizeof back);
    CHECK_OK(nczchunk_array_read(array, start, shape, NULL, back, NULL));
    CHECK(memcmp(back, values, sizeof back) == 0);
    CHECK_STR(nczchunk_array_dimname(array, 0), "time");
    CHECK_STR(nczchunk_array_attributes_json(array), "{\"units\":\"K\"}");
    nczchunk_array_close(array);
}

/* With enough memory it is one pass over all elements. */
static void the_shortest_way(const nczchunk_array *source, nczchunk_storage *storage)
{
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
    nczchunk_context *context = NULL;

    options.chunk_shape = series;
    CHECK_OK(nczchunk_rechunk_in(source, storage, "series", &options, NULL, NULL));
    check_series(storage, "series");

    /* The new array is an array like others, and is not made twice; nor does any other take its place. */
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "series", &options, NULL, context), NCZCHUNK_EEXIST);
    CHECK_STR(nczchunk_context_message(context), "series: something exists here");
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "maps", &options, NULL, context), NCZCHUNK_EEXIST);
    check_series(storage, "maps");
    nczchunk_context_free(context);
}

/* Before anything is done, the library says how it would be, and how little memory would do. */
static void planning(const nczchunk_array *source)
{
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
    nczchunk_rechunk_report report = NCZCHUNK_RECHUNK_REPORT_INIT;
    nczchunk_context *context = NULL;
    size_t least;

    CHECK_OK(nczchunk_context_new(&context));
    options.chunk_shape = series;
    CHECK_OK(nczchunk_rechunk_plan(source, &options, &report, context));
    CHECK(report.num_passes == 1 && report.num_boxes == 1 && report.chunks_read == TIMES);
    CHECK(report.bytes_read == sizeof values && report.bytes_written == sizeof values);
    CHECK(report.memory > sizeof values && report.boxes_resumed == 0);
    least = report.least_memory;
    CHECK(least > 0 && least < little);

    /* With little memory each chunk of the source would be read many times, so that two passes are made. */
    options.memory = little;
    CHECK_OK(nczchunk_rechunk_plan(source, &options, &report, context));
    CHECK(report.num_passes == 2 && report.memory <= little);
    CHECK(report.bytes_read == 2 * sizeof values && report.bytes_written == 2 * sizeof values);

    options.memory = least - 1;
    CHECK_EQ(nczchunk_rechunk_plan(source, &options, &report, context), NCZCHUNK_ENOMEM);
    CHECK(report.least_memory == least && report.num_passes == 0);
    CHECK(strncmp(nczchunk_context_message(context), "rechunking needs at least ", 26) == 0);
    options.memory = least;
    CHECK_OK(nczchunk_rechunk_plan(source, &options, &report, context));
    nczchunk_context_free(context);
}

/* A progress callback that ends the call after some boxes. */
struct watch {
    size_t last, stop_at;
};

static int watch_boxes(void *user, const nczchunk_progress *progress)
{
    struct watch *watch = user;

    CHECK(progress->chunks_done >= watch->last && progress->chunks_done <= progress->num_chunks);
    CHECK(progress->bytes_done <= progress->num_bytes && progress->num_bytes == 4 * sizeof values);
    watch->last = progress->chunks_done;
    return progress->chunks_done >= watch->stop_at && progress->chunks_done < progress->num_chunks ? 77 : 0;
}

/* A call that was ended is continued by the next, which does not do again what is done. */
static void continuing(const nczchunk_array *source, nczchunk_storage *storage)
{
    static const nczchunk_codec_setting codecs[1] = {{"zlib", "1"}};
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
    nczchunk_rechunk_report report = NCZCHUNK_RECHUNK_REPORT_INIT;
    struct watch watch = {0, 1};
    nczchunk_context *context = NULL;
    nczchunk_array *array = NULL;
    int status, ended = 0;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_progress(context, watch_boxes, &watch));
    options.memory = little + (1 << 20);
    options.chunk_shape = series;
    options.codecs = codecs;
    options.num_codecs = 1;
    while ((status = nczchunk_rechunk_in(source, storage, "later/series", &options, &report, context)) == 77) {
        CHECK_EQ(nczchunk_array_open_in(storage, "later/series", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
        watch.stop_at = watch.last + 1;
        ended++;
    }
    CHECK_OK(status);
    CHECK(ended > 1 && report.boxes_resumed >= (size_t)ended && report.boxes_resumed < report.num_boxes);
    CHECK_EQ(nczchunk_context_chunks_done(context), report.num_boxes);
    check_series(storage, "later/series");
    nczchunk_context_free(context);
}

static void refused(const nczchunk_array *source, nczchunk_storage *storage)
{
    static const nczchunk_codec_setting unknown[1] = {{"unheard-of", NULL}};
    static const size_t zero[3] = {0, 1, 1};
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;

    CHECK_EQ(nczchunk_rechunk_in(NULL, storage, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_rechunk_in(source, NULL, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "x", NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_rechunk(source, NULL, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_rechunk_plan(source, &options, NULL, NULL), NCZCHUNK_EINVAL);
    options.chunk_shape = zero;
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
    options.chunk_shape = series;
    options.format = 9;
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
    options.format = NCZCHUNK_ZARR_V2;
    options.codecs = unknown;
    options.num_codecs = 1;
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "x", &options, NULL, NULL), NCZCHUNK_ENOFILTER);
    options.uncompressed = 1;
    CHECK_EQ(nczchunk_rechunk_in(source, storage, "x", &options, NULL, NULL), NCZCHUNK_EINVAL);
}

int main(void)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *source;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    source = maps(storage);
    the_shortest_way(source, storage);
    planning(source);
    continuing(source, storage);
    refused(source, storage);
    nczchunk_array_close(source);
    nczchunk_storage_free(storage);
    return 0;
}
