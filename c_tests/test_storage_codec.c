/*
 * Codecs of the program's own that the metadata of arrays name: they are added to a storage, and made for each array
 * with its configuration.
 */
#include "check.h"

#include "nczchunk_array.h"

/* A codec that adds a number to every byte. It is in the configuration: {"by":3}. */
typedef struct added {
    unsigned char by;
} added;

/* What make was told, and what has been made. */
typedef struct maker {
    char name[32], configuration[64], type_name[16];
    size_t element_size;
    int made, freed, status, makes_none;
    int ended; /* how often the library has given it up */
} maker;

static maker last;

static int add(nczchunk_coding *coding, int by)
{
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;

    for (size_t i = 0; i < coding->source_size; i++)
        to[i] = (unsigned char)(from[i] + by);
    coding->nbytes = coding->source_size;
    return 0;
}

static int decode(void *user, nczchunk_coding *coding)
{
    const added *codec = user;

    if (coding->source_size > coding->capacity)
        return NCZCHUNK_EBADCHUNK;
    return add(coding, -codec->by);
}

static int encode(void *user, nczchunk_coding *coding)
{
    const added *codec = user;

    return add(coding, codec->by);
}

static void destroy(void *user)
{
    last.freed++;
    free(user);
}

static int make(void *user, const nczchunk_codec_use *of, nczchunk_codec **codec)
{
    maker *told = user;
    nczchunk_codec_callbacks callbacks = {.struct_size = sizeof callbacks,
                                          .decode = decode,
                                          .encode = encode,
                                          .destroy = destroy,
                                          .concurrent = 1};
    const char *by = strstr(of->configuration, "\"by\":");
    added *one;

    CHECK_EQ(of->struct_size, sizeof *of);
    snprintf(told->name, sizeof told->name, "%s", of->name);
    snprintf(told->configuration, sizeof told->configuration, "%s", of->configuration);
    snprintf(told->type_name, sizeof told->type_name, "%s", of->type_name);
    told->element_size = of->element_size;
    if (told->status != 0 || told->makes_none)
        return told->status;
    one = malloc(sizeof *one);
    CHECK(one != NULL);
    one->by = by == NULL ? 1 : (unsigned char)atoi(by + 5);
    callbacks.user = one;
    told->made++;
    return nczchunk_codec_new("add", &callbacks, codec, NULL);
}

static void destroy_maker(void *user)
{
    CHECK(user == &last);
    last.ended++;
}

static nczchunk_storage *new_storage(void)
{
    nczchunk_storage *storage = NULL;

    memset(&last, 0, sizeof last);
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_add_codec(storage, "add", make, &last, destroy_maker, NULL));
    return storage;
}

static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3}, shards[2] = {4, 3}, origin[2] = {0, 0};

static void describe(nczchunk_description *description, const nczchunk_codec_setting *codecs, size_t num_codecs)
{
    const nczchunk_description nothing = NCZCHUNK_DESCRIPTION_INIT;

    *description = nothing;
    description->type = NCZCHUNK_SHORT;
    description->rank = 2;
    description->shape = shape;
    description->chunk_shape = chunks;
    description->codecs = codecs;
    description->num_codecs = num_codecs;
}

/* An array with the codec is written and read, and opened again, in every format. */
static void the_codec_encodes_and_decodes(void)
{
    static const nczchunk_codec_setting with_zlib[2] = {{"add", "{\"by\": 3}"}, {"zlib", NULL}}, alone = {"add", NULL};
    static const struct { const nczchunk_codec_setting *codecs; size_t num_codecs, format; int is_sharded; } all[] = {
        {with_zlib, 2, NCZCHUNK_ZARR_V2, 0}, {&alone, 1, NCZCHUNK_ZARR_V2, 0}, {with_zlib, 2, NCZCHUNK_ZARR_V3, 0},
        {&alone, 1, NCZCHUNK_ZARR_V3, 0},    {with_zlib, 2, NCZCHUNK_ZARR_V3, 1}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        nczchunk_storage *storage = new_storage();
        nczchunk_description description;
        nczchunk_array *array = NULL;
        short data[4][6], back[4][6];

        for (int e = 0; e < 24; e++)
            data[e / 6][e % 6] = (short)(e * 300);
        describe(&description, all[i].codecs, all[i].num_codecs);
        description.format = all[i].format;
        description.shard_shape = all[i].is_sharded ? shards : NULL;
        CHECK_OK(nczchunk_array_create_in(storage, "g/x", &description, &array, NULL));
        CHECK_STR(last.name, "add");
        CHECK_STR(last.configuration, all[i].num_codecs == 2 ? "{\"by\":3}" : "{}");
        CHECK_STR(last.type_name, "int16");
        CHECK_EQ(last.element_size, 2);
        CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
        nczchunk_array_close(array);
        CHECK_EQ(last.made, last.freed);

        array = NULL;
        CHECK_OK(nczchunk_array_open_in(storage, "g/x", NCZCHUNK_READ, &array, NULL));
        nczchunk_storage_free(storage);
        CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
        CHECK(memcmp(back, data, sizeof data) == 0);
        /* The array outlives the storage, and so does what makes its codecs. */
        CHECK_EQ(last.ended, 0);
        nczchunk_array_close(array);
        CHECK_EQ(last.made, last.freed);
        CHECK_EQ(last.ended, 1);
    }
}

/* zarr-python 3 writes such codecs before "bytes", with a prefix. */
static void a_codec_of_numcodecs(void)
{
    static const char metadata[] =
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [4], \"data_type\": \"uint8\","
        "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [4]}},"
        "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0,"
        "\"codecs\": [{\"name\": \"numcodecs.add\", \"configuration\": {\"by\": 2}}, \"bytes\"]}";
    const size_t start[1] = {0};
    nczchunk_storage *storage = new_storage();
    nczchunk_array *array = NULL;
    unsigned char back[4];

    CHECK_OK(nczchunk_storage_write(storage, "zarr.json", metadata, strlen(metadata), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "c/0", "\2\3\4\5", 4, NULL));
    CHECK_OK(nczchunk_array_open_in(storage, NULL, NCZCHUNK_READ, &array, NULL));
    CHECK_STR(last.name, "numcodecs.add");
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, back, NULL));
    CHECK(memcmp(back, "\0\1\2\3", 4) == 0);
    nczchunk_array_close(array);
    CHECK_EQ(last.ended, 0);
    nczchunk_storage_free(storage);
    CHECK_EQ(last.ended, 1);
}

static int count_unreadable(void *user, const nczchunk_node *node)
{
    *(int *)user += node->status != 0;
    return 0;
}

/* A codec that cannot be made ends the call; one that nobody knows is named. */
static void codecs_that_are_not_there(void)
{
    static const nczchunk_codec_setting add = {"add", NULL}, other = {"subtract", NULL};
    nczchunk_storage *storage = new_storage();
    nczchunk_description description;
    nczchunk_context *context = NULL;
    nczchunk_array *array = NULL;
    int unreadable = 0;

    CHECK_OK(nczchunk_context_new(&context));
    describe(&description, &other, 1);
    CHECK_EQ(nczchunk_array_create_in(storage, "x", &description, &array, context), NCZCHUNK_ENOFILTER);
    CHECK(strstr(nczchunk_context_message(context), "subtract") != NULL);
    describe(&description, &add, 1);
    last.status = 12345;
    CHECK_EQ(nczchunk_array_create_in(storage, "x", &description, &array, context), 12345);
    last.status = 0;
    last.makes_none = 1;
    CHECK_EQ(nczchunk_array_create_in(storage, "x", &description, &array, context), NCZCHUNK_EINVAL);
    last.makes_none = 0;
    CHECK_EQ(nczchunk_list_in(storage, NULL, 1, count_unreadable, &unreadable, context), NCZCHUNK_ENOTNC);
    CHECK_OK(nczchunk_array_create_in(storage, "x", &description, &array, context));
    CHECK_OK(nczchunk_list_in(storage, NULL, 1, count_unreadable, &unreadable, context));
    CHECK_EQ(unreadable, 0);
    nczchunk_array_close(array);

    CHECK_EQ(nczchunk_storage_add_codec(storage, "bytes", make, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_add_codec(storage, "transpose", make, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_add_codec(storage, "", make, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_add_codec(storage, NULL, make, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_add_codec(storage, "x", NULL, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_add_codec(NULL, "x", make, NULL, destroy_maker, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(last.ended, 0); /* nor was it called for those that were refused */
    nczchunk_storage_free(storage);
    CHECK_EQ(last.ended, 1);
    nczchunk_context_free(context);
}

/* A codec of the program's own comes before one of the library's that has the same name. */
static void the_codec_comes_before_the_librarys(void)
{
    static const nczchunk_codec_setting zlib = {"zlib", "{\"by\": 3}"};
    static const int formats[] = {NCZCHUNK_ZARR_V2, NCZCHUNK_ZARR_V3};
    nczchunk_description description;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        nczchunk_storage *storage = new_storage();
        nczchunk_array *array = NULL;
        short written[24], back[24] = {0};

        CHECK_OK(nczchunk_storage_add_codec(storage, "zlib", make, &last, NULL, NULL));
        describe(&description, &zlib, 1);
        description.format = formats[i];
        CHECK_OK(nczchunk_array_create_in(storage, "x", &description, &array, NULL));
        CHECK_STR(last.name, "zlib");
        CHECK_STR(last.configuration, "{\"by\":3}");
        for (size_t j = 0; j < 24; j++)
            written[j] = (short)(j * j);
        CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, written, NULL));
        nczchunk_array_close(array);
        array = NULL;
        CHECK_OK(nczchunk_array_open_in(storage, "x", NCZCHUNK_READ, &array, NULL));
        CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
        CHECK(memcmp(written, back, sizeof back) == 0);
        nczchunk_array_close(array);
        nczchunk_storage_free(storage);
    }
}

int main(void)
{
    the_codec_encodes_and_decodes();
    a_codec_of_numcodecs();
    codecs_that_are_not_there();
    the_codec_comes_before_the_librarys();
    return 0;
}
