/*
 * Arrays are opened by name, and read as any variable and store are: real data, as zarr-python wrote them. What cannot
 * be opened is refused with the status of what is wrong, and with words.
 */
#include "check.h"
#include "coads.h"

#include "nczchunk_array.h"

/* The raw copy of the array. */
static float *raw;

static void everything_is_what_was_written(const char *path)
{
    const size_t start[3] = {0, 0, 0};
    float *data = malloc(COADS_ELEMENTS * sizeof(float));
    nczchunk_array *array = NULL;

    CHECK(data != NULL);
    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, NULL));
    CHECK(memcmp(data, raw, COADS_ELEMENTS * sizeof(float)) == 0);
    nczchunk_array_close(array);
    free(data);
}

/* Notes a codec, which must be the only one. */
static int note_codec(void *user, const char *name, const char *configuration)
{
    char *noted = user;

    CHECK_STR(noted, "");
    snprintf(noted, 64, "%s %s", name, configuration);
    return 0;
}

static int refuse_codec(void *user, const char *name, const char *configuration)
{
    (void)user, (void)name, (void)configuration;
    return 77;
}

/* The array is a variable and a store, which serve every other function. */
static void it_tells_what_it_is(const char *path)
{
    nczchunk_array *array = NULL;
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

    CHECK_OK(nczchunk_array_open(path, "", NCZCHUNK_READ, &array, NULL));
    const nczchunk_var *var = nczchunk_array_var(array);
    CHECK_EQ(nczchunk_var_rank(var), 3);
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 12);
    CHECK_EQ(nczchunk_var_chunklen(var, 2), 50);
    CHECK_EQ(nczchunk_array_type(array), 5); /* NC_FLOAT */
    CHECK_STR(nczchunk_array_type_name(array), "float32");
    CHECK_STR(nczchunk_array_format(array), "Zarr v2");
    CHECK_STR(nczchunk_array_dimname(array, 0), "TIME");
    CHECK_STR(nczchunk_array_dimname(array, 3), "");

    char codec[64] = "";
    CHECK_OK(nczchunk_array_codecs(array, note_codec, codec, NULL));
    CHECK_STR(codec, "zstd {\"level\":3}");
    CHECK_EQ(nczchunk_array_codecs(array, refuse_codec, NULL, NULL), 77);
    CHECK_EQ(nczchunk_array_codecs(array, NULL, codec, NULL), NCZCHUNK_EINVAL);

    CHECK_OK(nczchunk_array_attribute(array, "units", &attribute, NULL));
    CHECK_EQ(attribute.type, 2); /* NC_CHAR */
    CHECK_EQ(attribute.num_values, strlen("Deg C"));
    CHECK(memcmp(attribute.values, "Deg C", attribute.num_values) == 0);
    CHECK_EQ(nczchunk_array_attribute(array, "none", &attribute, NULL), NCZCHUNK_ENOTATT);
    CHECK(strstr(nczchunk_array_attributes_json(array), "\"units\"") != NULL);

    /* A year at one place, by a plan. */
    const size_t start[3] = {0, 45, 90}, count[3] = {12, 1, 1};
    float year[12];
    nczchunk_plan *plan = NULL;
    CHECK_OK(nczchunk_plan_new(var, start, count, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_OK(nczchunk_plan_read(plan, nczchunk_array_store(array), 0, NCZCHUNK_ALL, year, NULL));
    for (int month = 0; month < 12; month++)
        CHECK(memcmp(&year[month], &raw[(month * 90 + 45) * 180 + 90], sizeof(float)) == 0);
    nczchunk_plan_free(plan);
    nczchunk_array_close(array);
}

/* Maps one by one: each chunk is decoded once, and then found in the cache. */
static void maps_are_read_from_the_cache(const char *path)
{
    nczchunk_array *array = NULL;
    nczchunk_cache *cache = NULL;
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;
    static float map[90 * 180];

    CHECK_OK(nczchunk_cache_new(2 << 20, &cache, NULL));
    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_set_cache(array, cache, NULL));
    for (size_t month = 0; month < 12; month++) {
        const size_t start[3] = {month, 0, 0}, count[3] = {1, 90, 180};
        CHECK_OK(nczchunk_array_read(array, start, count, NULL, map, NULL));
        CHECK(memcmp(map, raw + month * 90 * 180, sizeof map) == 0);
    }
    CHECK_OK(nczchunk_cache_get_statistics(cache, &statistics, NULL));
    CHECK_EQ(statistics.chunks, 34);
    /* Two chunks are absent, and asked for with every map: one of 5 months, one of the 2 that remain of the last. */
    CHECK_EQ(statistics.misses, 34 + 5 + 2);
    CHECK_EQ(statistics.hits, 12 * 12 - statistics.misses);
    nczchunk_cache_free(cache);
    nczchunk_array_close(array);
}

static void refused(const char *path, const char *name, int mode, int status, const char *words)
{
    nczchunk_context *context = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_array_open(path, name, mode, &array, context), status);
    CHECK(array == NULL);
    if (strstr(nczchunk_context_message(context), words) == NULL)
        CHECK_FAILED("\"%s\" does not say \"%s\"", nczchunk_context_message(context), words);
    nczchunk_context_free(context);
}

static void what_cannot_be_opened(const char *data, const char *path)
{
    char file[1100];

    snprintf(file, sizeof file, "%s/coads_sst.f32", data);
    refused("no/such/directory", NULL, NCZCHUNK_READ, NCZCHUNK_ENOTFOUND, "no/such/directory");
    refused(file, NULL, NCZCHUNK_READ, NCZCHUNK_ENOTNC, "coads_sst.f32");
    refused(path, "salinity", NCZCHUNK_READ, NCZCHUNK_ENOTFOUND, "coads_sst.zarr: salinity: ");
    refused(data, NULL, NCZCHUNK_READ, NCZCHUNK_ENOTNC, data);
    refused(path, "../coads_sst.zarr", NCZCHUNK_READ, NCZCHUNK_EINVAL, "name");
    refused(path, NULL, 7, NCZCHUNK_EINVAL, "mode");
    refused(NULL, NULL, NCZCHUNK_READ, NCZCHUNK_EINVAL, "path");
    CHECK_EQ(nczchunk_array_open(path, NULL, NCZCHUNK_READ, NULL, NULL), NCZCHUNK_EINVAL);

    /* NULL is no array, and needs no closing. */
    nczchunk_array_close(NULL);
    CHECK(nczchunk_array_var(NULL) == NULL);
    CHECK(nczchunk_array_store(NULL) == NULL);
    CHECK_EQ(nczchunk_array_type(NULL), 0);
    CHECK_STR(nczchunk_array_type_name(NULL), "");
    CHECK_STR(nczchunk_array_format(NULL), "");
    CHECK_EQ(nczchunk_array_codecs(NULL, refuse_codec, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_read(NULL, NULL, NULL, NULL, file, NULL), NCZCHUNK_EINVAL);
}

/* An array that was opened to be read is not written to, wherever it is. */
static void what_is_open_to_read_is_not_written_to(const char *path)
{
    const size_t start[3] = {0, 0, 0}, count[3] = {1, 1, 1};
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL));
    CHECK_EQ(nczchunk_array_write(array, start, count, NULL, raw, NULL), NCZCHUNK_EPERM);
    CHECK_EQ(nczchunk_write_vars(nczchunk_array_var(array), nczchunk_array_store(array), start, count, NULL, raw, NULL),
             NCZCHUNK_EPERM);
    nczchunk_array_close(array);
}

int main(int argc, char **argv)
{
    const char *data = argc > 1 ? argv[1] : "data";
    char path[1100];

    raw = coads_read_raw(data);
    snprintf(path, sizeof path, "%s/coads_sst.zarr", data);
    everything_is_what_was_written(path);
    it_tells_what_it_is(path);
    maps_are_read_from_the_cache(path);
    what_cannot_be_opened(data, path);
    what_is_open_to_read_is_not_written_to(path);
    free(raw);
    return 0;
}
