/*
 * Several files as one array: nczchunk_storage_concat joins what is in them along a dimension. The files may be of any
 * format and length; here they are directories of Zarr that a program writes month by month.
 */
#include "check.h"

#include "nczchunk_array.h"

/* The days of a month at three places, in chunks of ten days: a temperature, and the places, which are always those. */
static void write_month(const char *path, short first_day, size_t days, const char *units)
{
    const char *const names[2] = {"time", "place"};
    const size_t shape[2] = {days, 3}, chunks[2] = {10, 3}, three[1] = {3}, start[2] = {0, 0};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    short values[31 * 3];
    char attributes[40];

    for (size_t i = 0; i < days * 3; i++)
        values[i] = (short)(first_day * 3 + (short)i);
    snprintf(attributes, sizeof attributes, "{\"units\": \"%s\"}", units);
    description.type = NCZCHUNK_SHORT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.dimension_names = names;
    description.attributes_json = attributes;
    description.uncompressed = 1;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(path, "temperature", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, description.shape, NULL, values, NULL));
    nczchunk_array_close(array);

    description.rank = 1;
    description.shape = three;
    description.chunk_shape = three;
    description.dimension_names = names + 1;
    CHECK_OK(nczchunk_array_create(path, "place", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, description.shape, NULL, values, NULL));
    nczchunk_array_close(array);
}

static const char *const paths[3] = {"concat-1.zarr", "concat-2.zarr", "concat-3.zarr"};

static void months_are_one_array(void)
{
    nczchunk_storage *months = NULL;
    nczchunk_array *array = NULL;
    const nczchunk_var *var = NULL;
    const size_t start[2] = {29, 1}, count[2] = {4, 1};
    const size_t begin_of_all[2] = {0, 0}, count_of_all[2] = {90, 3};
    size_t begin = 0, len = 0, encoded_len = 0;
    short days[4], all[90 * 3];

    write_month(paths[0], 0, 31, "K");
    write_month(paths[1], 31, 28, "K");
    write_month(paths[2], 59, 31, "K");
    CHECK_OK(nczchunk_storage_concat(3, paths, "time", &months, NULL));
    CHECK_OK(nczchunk_array_open_in(months, "temperature", NCZCHUNK_READ, &array, NULL));
    nczchunk_storage_free(months);

    /* 31 + 28 + 31 days. The last two days of January and the first two of February are read from two files. */
    var = nczchunk_array_var(array);
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 90);
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, days, NULL));
    for (short i = 0; i < 4; i++)
        CHECK_EQ(days[i], (29 + i) * 3 + 1);
    CHECK_OK(nczchunk_array_read(array, begin_of_all, count_of_all, NULL, all, NULL));
    for (short i = 0; i < 270; i++)
        CHECK_EQ(all[i], i);

    /* A month has a last chunk of its own. That of January has one day, and is stored with room for ten. */
    CHECK_EQ(nczchunk_var_num_chunks(var, 0), 4 + 3 + 4);
    CHECK(!nczchunk_var_is_regular(var, 0));
    CHECK_OK(nczchunk_var_chunk_extent(var, 0, 3, &begin, &len, &encoded_len, NULL));
    CHECK_EQ(begin, 30);
    CHECK_EQ(len, 1);
    CHECK_EQ(encoded_len, 10);
    nczchunk_array_close(array);
}

static int names_february(void *user, const nczchunk_located *chunk)
{
    (void)user;
    CHECK(strstr(chunk->object, "/concat-2.zarr/temperature/c/0/0") != NULL);
    CHECK_EQ(chunk->state, NCZCHUNK_STORED);
    CHECK_EQ(chunk->chunk_indices[0], 4);
    return 0;
}

static void what_has_no_time_is_that_of_the_first(void)
{
    nczchunk_storage *months = NULL;
    nczchunk_array *array = NULL;
    const size_t start[2] = {31, 0}, count[2] = {1, 3};
    short place[3];

    CHECK_OK(nczchunk_storage_concat(3, paths, "time", &months, NULL));
    CHECK_OK(nczchunk_array_open_in(months, "place", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, start + 1, count + 1, NULL, place, NULL));
    CHECK(place[0] == 0 && place[1] == 1 && place[2] == 2);
    nczchunk_array_close(array);

    /* Where a chunk is says its path, too. */
    CHECK_OK(nczchunk_array_open_in(months, "temperature", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_locate(array, start, count, NULL, names_february, NULL, NULL));
    nczchunk_array_close(array);

    /* What is joined is only read. */
    CHECK_EQ(nczchunk_array_open_in(months, "place", NCZCHUNK_WRITE, &array, NULL), NCZCHUNK_EPERM);
    nczchunk_storage_free(months);
}

static void what_is_not_alike_is_refused(void)
{
    nczchunk_storage *months = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;
    const char *const missing[2] = {paths[0], "concat-none.zarr"};

    write_month(paths[2], 59, 31, "degC");
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_storage_concat(3, paths, "time", &months, NULL));
    CHECK_EQ(nczchunk_array_open_in(months, "temperature", NCZCHUNK_READ, &array, context), NCZCHUNK_ENOTBUILT);
    CHECK(strstr(nczchunk_context_message(context), "concat-3.zarr: temperature: units") != NULL);
    nczchunk_storage_free(months);

    CHECK_EQ(nczchunk_storage_concat(2, missing, "time", &months, context), NCZCHUNK_ENOTFOUND);
    CHECK(strstr(nczchunk_context_message(context), "concat-none.zarr") != NULL);
    CHECK_EQ(nczchunk_storage_concat(0, paths, "time", &months, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_concat(1, NULL, "time", &months, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_concat(3, paths, NULL, &months, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_concat(3, paths, "time", NULL, context), NCZCHUNK_EINVAL);
    nczchunk_context_free(context);
}

int main(void)
{
    months_are_one_array();
    what_has_no_time_is_that_of_the_first();
    what_is_not_alike_is_refused();
    return 0;
}
