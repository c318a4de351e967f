/*
 * Arrays are described, created, written and read; they get another shape and other attributes. The tests go from the
 * shortest description to the longest.
 */
#include "check.h"

#include "nczchunk_array.h"

enum { ROWS = 4, COLUMNS = 6 };

static const size_t shape[2] = {ROWS, COLUMNS}, origin[2] = {0, 0};

/* A compressed array of floats with three named dimensions. The storage is memory, so that no files are left. */
static void the_shortest_way(nczchunk_storage *storage)
{
    const size_t lengths[3] = {365, 90, 180}, start[3] = {0, 45, 90}, count[3] = {1, 1, 3};
    const char *const names[3] = {"time", "lat", "lon"};
    const float data[3] = {1, 2, 3};
    float back[3];
    nczchunk_description sst = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    sst.type = NCZCHUNK_FLOAT;
    sst.rank = 3;
    sst.shape = lengths;
    sst.dimension_names = names;
    CHECK_OK(nczchunk_array_create_in(storage, "ocean/sst", &sst, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, count, NULL, data, NULL));
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, back, NULL));
    CHECK(memcmp(back, data, sizeof data) == 0);
    CHECK_EQ(nczchunk_array_type(array), NCZCHUNK_FLOAT);
    CHECK_STR(nczchunk_array_dimname(array, 2), "lon");
    nczchunk_array_close(array);

    /* It is not created twice, unless that is meant. */
    array = NULL;
    CHECK_EQ(nczchunk_array_create_in(storage, "ocean/sst", &sst, &array, NULL), NCZCHUNK_EEXIST);
    CHECK(array == NULL);
    sst.overwrite = 1;
    CHECK_OK(nczchunk_array_create_in(storage, "ocean/sst", &sst, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, back, NULL));
    CHECK(back[0] == 0 && back[2] == 0);
    nczchunk_array_close(array);
}

/* All that can be said of an array. */
static void the_longest_way(nczchunk_storage *storage)
{
    static const size_t chunks[2] = {2, 3}, shards[2] = {4, 3};
    static const char *const names[2] = {"y", NULL};
    static const nczchunk_codec_setting codecs[2] = {{"shuffle", NULL}, {"zstd", "{\"level\": 9}"}};
    static const double range[2] = {-1, 1};
    static const char *const authors[2] = {"Ada", "Grace"};
    const int64_t never = INT64_MIN;
    nczchunk_attribute attributes[2] = {NCZCHUNK_ATTRIBUTE_INIT, NCZCHUNK_ATTRIBUTE_INIT};
    nczchunk_attribute told = NCZCHUNK_ATTRIBUTE_INIT;
    nczchunk_description all = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int64_t data[ROWS][COLUMNS];

    attributes[0].name = "valid_range";
    attributes[0].type = NCZCHUNK_DOUBLE;
    attributes[0].num_values = 2;
    attributes[0].values = range;
    attributes[1].name = "authors";
    attributes[1].type = NCZCHUNK_STRING;
    attributes[1].num_values = 2;
    attributes[1].values = authors;

    all.type_name = "datetime64[s]";
    all.rank = 2;
    all.shape = shape;
    all.chunk_shape = chunks;
    all.shard_shape = shards;
    all.dimension_names = names;
    all.fill_value = &never;
    all.codecs = codecs;
    all.num_codecs = 2;
    all.attributes_json = "{\"title\": \"everything\"}";
    all.attributes = attributes;
    all.num_attributes = 2;
    all.format = NCZCHUNK_ZARR_V3;
    all.separator = '.';
    all.endian = NCZCHUNK_ENDIAN_BIG;
    CHECK_OK(nczchunk_array_create_in(storage, "all", &all, &array, NULL));
    CHECK_STR(nczchunk_array_type_name(array), "datetime64[s]");
    CHECK_STR(nczchunk_array_dimname(array, 0), "y");
    CHECK_STR(nczchunk_array_dimname(array, 1), "");
    CHECK_EQ(nczchunk_var_chunklen(nczchunk_array_var(array), 1), 3);
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, data, NULL));
    CHECK(data[0][0] == never && data[ROWS - 1][COLUMNS - 1] == never);

    CHECK_EQ(nczchunk_array_num_attributes(array), 3);
    CHECK_OK(nczchunk_array_attribute(array, "valid_range", &told, NULL));
    CHECK_EQ(told.type, NCZCHUNK_DOUBLE);
    CHECK(((const double *)told.values)[1] == 1);
    CHECK_OK(nczchunk_array_attribute(array, "authors", &told, NULL));
    CHECK_STR(((const char *const *)told.values)[1], "Grace");
    nczchunk_array_close(array);
}

/* An array that is made smaller and larger again has fill values where it was cut off. */
static void it_gets_another_shape(nczchunk_storage *storage)
{
    const size_t chunks[2] = {3, 4}, smaller[2] = {2, COLUMNS}, larger[2] = {ROWS + 1, COLUMNS};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    short data[ROWS + 1][COLUMNS];

    description.type = NCZCHUNK_SHORT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.endian = NCZCHUNK_ENDIAN_LITTLE;
    CHECK_OK(nczchunk_array_create_in(storage, "grows", &description, &array, NULL));
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i / COLUMNS][i % COLUMNS] = 7;
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
    CHECK_OK(nczchunk_array_resize(array, smaller, NULL));
    CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(array), 0), 2);
    CHECK_OK(nczchunk_array_resize(array, larger, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, data, NULL));
    for (int row = 0; row <= ROWS; row++)
        CHECK_EQ(data[row][COLUMNS - 1], row < 2 ? 7 : 0);
    CHECK_EQ(nczchunk_array_resize(array, NULL, NULL), NCZCHUNK_EINVAL);
    nczchunk_array_close(array);

    CHECK_OK(nczchunk_array_open_in(storage, "grows", NCZCHUNK_READ, &array, NULL));
    CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(array), 0), ROWS + 1);
    CHECK_EQ(nczchunk_array_resize(array, smaller, NULL), NCZCHUNK_EPERM);
    nczchunk_array_close(array);
}

/* What others have changed meanwhile is known after a change of the shape, as after nczchunk_array_refresh. */
static void a_new_shape_comes_with_the_stored_attributes(nczchunk_storage *storage)
{
    const size_t larger[2] = {ROWS + 2, COLUMNS};
    nczchunk_array *array = NULL, *other = NULL;
    nczchunk_attribute told = NCZCHUNK_ATTRIBUTE_INIT;

    CHECK_OK(nczchunk_array_open_in(storage, "grows", NCZCHUNK_WRITE, &other, NULL));
    CHECK_OK(nczchunk_array_set_attribute(other, "first", NCZCHUNK_CHAR, 1, "1", NULL));
    CHECK_OK(nczchunk_array_set_attribute(other, "second", NCZCHUNK_CHAR, 1, "2", NULL));
    CHECK_OK(nczchunk_array_open_in(storage, "grows", NCZCHUNK_WRITE, &array, NULL));
    CHECK_OK(nczchunk_array_remove_attribute(other, "first", NULL));
    CHECK_OK(nczchunk_array_set_attribute(other, "third", NCZCHUNK_CHAR, 1, "3", NULL));
    nczchunk_array_close(other);

    CHECK_OK(nczchunk_array_resize(array, larger, NULL));
    CHECK_EQ(nczchunk_array_num_attributes(array), 2);
    CHECK_OK(nczchunk_array_attribute(array, "second", &told, NULL));
    CHECK_STR(told.name, "second");
    CHECK_OK(nczchunk_array_attribute(array, "third", &told, NULL));
    CHECK_STR((const char *)told.values, "3");
    CHECK_EQ(nczchunk_array_attribute(array, "first", &told, NULL), NCZCHUNK_ENOTATT);
    nczchunk_array_close(array);
}

/* Attributes are written at once. With netCDF's keys they keep their types. Other formats have places of their own. */
static void attributes_are_set(void)
{
    static const char *const names[2] = {"y", "x"};
    static const short flags[3] = {1, 2, 4};
    static const int8_t byte = INT8_MIN;
    static const int int32 = INT32_MIN;
    static const int64_t int64 = INT64_MIN;
    static const uint8_t ubyte = UINT8_MAX;
    static const uint16_t ushort = UINT16_MAX;
    static const uint32_t uint = UINT32_MAX;
    static const uint64_t uint64 = UINT64_MAX;
    static const float real = 0.5f;
    const struct {
        int type;
        const void *value;
        size_t size;
    } each[] = {
        {NCZCHUNK_BYTE, &byte, 1},     {NCZCHUNK_SHORT, &flags[2], 2}, {NCZCHUNK_INT, &int32, 4},
        {NCZCHUNK_INT64, &int64, 8},   {NCZCHUNK_UBYTE, &ubyte, 1},    {NCZCHUNK_USHORT, &ushort, 2},
        {NCZCHUNK_UINT, &uint, 4},     {NCZCHUNK_UINT64, &uint64, 8},  {NCZCHUNK_FLOAT, &real, 4},
    };
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_attribute told = NCZCHUNK_ATTRIBUTE_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    description.type = NCZCHUNK_SHORT;
    description.rank = 2;
    description.shape = shape;
    description.dimension_names = names;
    description.format = NCZCHUNK_NCZARR;
    CHECK_OK(nczchunk_array_create_in(storage, "netcdf/flags", &description, &array, NULL));
    CHECK_OK(nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "m", NULL));
    CHECK_OK(nczchunk_array_set_attribute(array, "flags", NCZCHUNK_SHORT, 3, flags, NULL));
    CHECK_OK(nczchunk_array_remove_attribute(array, "units", NULL));
    CHECK_EQ(nczchunk_array_remove_attribute(array, "units", NULL), NCZCHUNK_ENOTATT);
    CHECK_EQ(nczchunk_array_num_attributes(array), 1);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        CHECK_OK(nczchunk_array_set_attribute(array, "each", each[i].type, 1, each[i].value, NULL));
        CHECK_OK(nczchunk_array_attribute(array, "each", &told, NULL));
        CHECK_EQ(told.type, each[i].type);
        CHECK(memcmp(told.values, each[i].value, each[i].size) == 0);
    }
    CHECK_OK(nczchunk_array_remove_attribute(array, "each", NULL));
    CHECK_EQ(nczchunk_array_set_attribute(array, "x", NCZCHUNK_STRING + 1, 3, flags, NULL), NCZCHUNK_EBADTYPE);
    CHECK_EQ(nczchunk_array_set_attribute(array, "x", 99, 3, flags, NULL), NCZCHUNK_EBADTYPE);
    CHECK_EQ(nczchunk_array_set_attribute(array, "x", NCZCHUNK_SHORT, 3, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_set_attribute(array, "", NCZCHUNK_SHORT, 3, flags, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_array_set_attributes_json(array, "{\"steps\":[{\"done\":true,\"by\":null}]}", NULL));
    CHECK_EQ(nczchunk_array_num_attributes(array), 2);
    CHECK(strstr(nczchunk_array_attributes_json(array), "\"steps\":[{\"done\":true,\"by\":null}]") != NULL);
    CHECK_EQ(nczchunk_array_set_attributes_json(array, "{\"_nczarr_attr\":1}", NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_set_attributes_json(array, "[1]", NULL), NCZCHUNK_ENCZARR);
    CHECK_EQ(nczchunk_array_set_attributes_json(array, "{", NULL), NCZCHUNK_ENCZARR);
    CHECK_EQ(nczchunk_array_set_attributes_json(array, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_set_attributes_json(NULL, "{}", NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_array_remove_attribute(array, "steps", NULL));
    nczchunk_array_close(array);

    CHECK_OK(nczchunk_array_open_in(storage, "netcdf/flags", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_attribute(array, "flags", &told, NULL));
    CHECK_EQ(told.type, NCZCHUNK_SHORT);
    CHECK(memcmp(told.values, flags, sizeof flags) == 0);
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
}

static void refused_as(nczchunk_storage *storage, const char *name, const nczchunk_description *description, int status,
                       const char *words)
{
    nczchunk_context *context = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_array_create_in(storage, name, description, &array, context), status);
    CHECK(array == NULL);
    if (strstr(nczchunk_context_message(context), words) == NULL)
        CHECK_FAILED("\"%s\" does not say \"%s\"", nczchunk_context_message(context), words);
    nczchunk_context_free(context);
}

static void refused(nczchunk_storage *storage, const nczchunk_description *description, int status, const char *words)
{
    refused_as(storage, "refused", description, status, words);
}

/* Names by which an array would be taken for something else. */
static void refused_name(nczchunk_storage *storage, const char *name, const nczchunk_description *description,
                         const char *words)
{
    refused_as(storage, name, description, NCZCHUNK_EINVAL, words);
}

static void what_cannot_be_created(nczchunk_storage *storage)
{
    const size_t chunks[2] = {2, 3}, shards[2] = {4, 4};
    const nczchunk_codec_setting unknown = {"pcodec", NULL}, wrong = {"zstd", "{\"level\": \"high\"}"};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    refused(storage, NULL, NCZCHUNK_EINVAL, "NULL");
    refused(storage, &description, NCZCHUNK_EINVAL, "type");
    description.type_name = "float33";
    refused(storage, &description, NCZCHUNK_EBADTYPE, "float33");
    description.type = SIZE_MAX;
    refused(storage, &description, NCZCHUNK_EBADTYPE, "type");
    description.type = NCZCHUNK_FLOAT;
    description.rank = 2;
    refused(storage, &description, NCZCHUNK_EINVAL, "shape");
    description.shape = shape;
    description.endian = 99;
    refused(storage, &description, NCZCHUNK_EINVAL, "endian");
    description.endian = 0;
    description.shape = NULL;
    description.rank = 2000;
    refused(storage, &description, NCZCHUNK_EMAXDIMS, "2000");
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = shards;
    refused(storage, &description, NCZCHUNK_EINVAL, "dimension 1");
    description.shard_shape = chunks;
    description.format = NCZCHUNK_ZARR_V2;
    refused(storage, &description, NCZCHUNK_ENOTBUILT, "shards");
    description.shard_shape = NULL;
    description.codecs = &unknown;
    description.num_codecs = 1;
    refused(storage, &description, NCZCHUNK_ENOFILTER, "pcodec");
    description.codecs = &wrong;
    refused(storage, &description, NCZCHUNK_ENCZARR, "$.level");
    description.uncompressed = 1;
    refused(storage, &description, NCZCHUNK_EINVAL, "codecs");
    description.codecs = NULL;
    description.num_codecs = 0;
    description.format = NCZCHUNK_NCZARR;
    refused(storage, &description, NCZCHUNK_EINVAL, "names");
    description.format = 99;
    refused(storage, &description, NCZCHUNK_EINVAL, "format");
    description.format = 0;
    refused_name(storage, ".zgroup", &description, "a metadata document");
    refused_name(storage, "ocean/zarr.json", &description, "ocean/zarr.json");
    refused_name(storage, "ocean/__sst", &description, "reserves");
    CHECK_EQ(nczchunk_array_create_in(storage, "../x", &description, &array, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_create_in(storage, "x", &description, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_create(NULL, "x", &description, &array, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_open_in(storage, "x", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
}

/* The range of a setting, or the settings that there are. Nothing is written. */
static void settings_that_a_codec_does_not_have(nczchunk_storage *storage)
{
    static const struct {
        nczchunk_codec_setting codec;
        const char *words;
    } wrong[] = {
        {{"zstd", "{\"level\": 99}"}, "zstd: $.level: expected an integer from -131072 to 22, found 99"},
        {{"zstd", "{\"levl\": 3}"}, "zstd: $.levl: unknown setting; the codec has: level, checksum"},
        {{"gzip", "{\"level\": 99}"}, "gzip: $.level: expected an integer from 0 to 9, found 99"},
        {{"blosc", "{\"clevel\": 42}"}, "blosc: $.clevel: expected an integer from 0 to 9, found 42"},
    };
    const int formats[2] = {NCZCHUNK_ZARR_V2, NCZCHUNK_ZARR_V3};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_FLOAT;
    description.rank = 2;
    description.shape = shape;
    description.num_codecs = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (!nczchunk_has_codec(wrong[i].codec.name))
            continue;
        description.codecs = &wrong[i].codec;
        for (size_t f = 0; f < 2; f++) {
            description.format = formats[f];
            refused(storage, &description, NCZCHUNK_EINVAL, wrong[i].words);
            CHECK_EQ(nczchunk_array_open_in(storage, "refused", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
        }
    }
}

static int none_is_named(void *user, const char *name, const char *configuration)
{
    (void)user, (void)configuration;
    CHECK_STR(name, "bytes"); /* which says the byte order, in Zarr v3 */
    return NCZCHUNK_NOERR;
}

/* NULL leaves the codecs to the library. None are chosen by `uncompressed`, by a list without entries, or by both. */
static void no_codecs(nczchunk_storage *storage)
{
    static const nczchunk_codec_setting empty[1] = {{NULL, NULL}};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.overwrite = 1;
    for (int i = 0; i < 3; i++) {
        static const char *const names[3] = {"rechunked/a", "rechunked/b", "rechunked/c"};
        nczchunk_array *array = NULL, *again = NULL;
        description.uncompressed = options.uncompressed = i != 0;
        description.codecs = options.codecs = i != 1 ? empty : NULL;
        CHECK_OK(nczchunk_array_create_in(storage, "uncompressed", &description, &array, NULL));
        CHECK_OK(nczchunk_array_codecs(array, none_is_named, NULL, NULL));
        CHECK_OK(nczchunk_rechunk_in(array, storage, names[i], &options, NULL, NULL));
        CHECK_OK(nczchunk_array_open_in(storage, names[i], NCZCHUNK_READ, &again, NULL));
        CHECK_OK(nczchunk_array_codecs(again, none_is_named, NULL, NULL));
        nczchunk_array_close(again);
        nczchunk_array_close(array);
    }
}

/* A report that was not initialized is refused before anything is done, and after another error it is as it was. */
static void reports_of_calls_that_fail(nczchunk_storage *storage)
{
    static const size_t none[2] = {0, 0};
    nczchunk_rechunk_options options = NCZCHUNK_RECHUNK_OPTIONS_INIT;
    nczchunk_rechunk_report report;
    nczchunk_array *array = NULL, *made = NULL;

    CHECK_OK(nczchunk_array_open_in(storage, "uncompressed", NCZCHUNK_READ, &array, NULL));
    memset(&report, 0, sizeof report);
    CHECK_EQ(nczchunk_rechunk_in(array, storage, "rechunked/none", &options, &report, NULL), NCZCHUNK_EINVAL);
    CHECK(nczchunk_array_open_in(storage, "rechunked/none", NCZCHUNK_READ, &made, NULL) != NCZCHUNK_NOERR);
    report.struct_size = sizeof report;
    report.num_passes = 77;
    options.chunk_shape = none;
    CHECK_EQ(nczchunk_rechunk_in(array, storage, "rechunked/none", &options, &report, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(report.num_passes, 77);
    nczchunk_array_close(array);
}

/* A path is whatever the system takes for one: here "grüße.zarr" as old systems in Europe wrote it. */
static void a_path_that_is_not_utf8(void)
{
#ifdef __linux__
    static const char path[] = "gr\xfc\xdf" "e.zarr";
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    nczchunk_storage *storage = NULL;

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.overwrite = 1;
    CHECK_OK(nczchunk_array_create(path, NULL, &description, &array, NULL));
    CHECK_STR(nczchunk_array_format(array), "Zarr v3");
    nczchunk_array_close(array);
    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, NULL));
    nczchunk_array_close(array);
    CHECK_OK(nczchunk_storage_open(path, &storage, NULL));
    nczchunk_storage_free(storage);
    CHECK(system("rm -r gr*.zarr") == 0);
#endif
}

int main(void)
{
    nczchunk_storage *storage = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    the_shortest_way(storage);
    the_longest_way(storage);
    it_gets_another_shape(storage);
    a_new_shape_comes_with_the_stored_attributes(storage);
    attributes_are_set();
    a_path_that_is_not_utf8();
    what_cannot_be_created(storage);
    no_codecs(storage);
    reports_of_calls_that_fail(storage);
    settings_that_a_codec_does_not_have(storage);
    nczchunk_storage_free(storage);
    return 0;
}
