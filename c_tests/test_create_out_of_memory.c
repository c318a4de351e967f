/*
 * Memory that cannot be had while an array is created, changed and listed: the call says NCZCHUNK_ENOMEM, nothing is
 * leaked, what there was is as it was, and the same call again does what it should. See out_of_memory.h.
 */
#include "nczchunk_array.h"

#include "out_of_memory.h"

static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3}, origin[2] = {0, 0};
static const char *const names[2] = {"y", "x"};
static const short flags[2] = {1, 2};

/* A storage with a group and an array of ones. */
static nczchunk_storage *make_storage(size_t format)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    int ones[4][6];

    for (int i = 0; i < 24; i++)
        ones[i / 6][i % 6] = 1;
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.dimension_names = names;
    description.format = format;
    CHECK_OK(nczchunk_array_create_in(storage, "g/old", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, ones, NULL));
    nczchunk_array_close(array);
    return storage;
}

/* Opens the array of ones to change it. */
static nczchunk_array *open_old(nczchunk_storage *storage)
{
    nczchunk_array *array = NULL;

    TRY_OR(nczchunk_array_open_in(storage, "g/old", NCZCHUNK_WRITE, &array, NULL), array == NULL);
    return array;
}

static void create(nczchunk_storage *storage, size_t format)
{
    nczchunk_codec_setting shuffle = {"shuffle", "{}"};
    nczchunk_attribute attributes[2] = {NCZCHUNK_ATTRIBUTE_INIT, NCZCHUNK_ATTRIBUTE_INIT};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    attributes[0].name = "flags";
    attributes[0].type = NCZCHUNK_SHORT;
    attributes[0].num_values = 2;
    attributes[0].values = flags;
    attributes[1].name = "names";
    attributes[1].type = NCZCHUNK_STRING;
    attributes[1].num_values = 2;
    attributes[1].values = names;
    description.type = NCZCHUNK_DOUBLE;
    description.rank = 2;
    description.shape = shape;
    description.dimension_names = names;
    description.codecs = &shuffle;
    description.num_codecs = 1;
    description.attributes_json = "{\"units\": \"K\"}";
    description.attributes = attributes;
    description.num_attributes = 2;
    description.format = format;
    TRY_OR(nczchunk_array_create_in(storage, "g/h/new", &description, &array, NULL), array == NULL);
    CHECK_EQ(nczchunk_array_num_attributes(array), 3);
    nczchunk_array_close(array);
}

/* An array of many chunks gives way to another. If that fails, the old one may be gone, and the next try succeeds. */
static void overwrite(nczchunk_storage *storage, size_t format)
{
    enum { MANY = 150 };
    const size_t many[1] = {MANY}, one[1] = {1};
    const char *const dimension[1] = {"number"};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    signed char data[MANY];

    memset(data, 1, sizeof data);
    description.type = NCZCHUNK_BYTE;
    description.rank = 1;
    description.shape = many;
    description.chunk_shape = one;
    description.dimension_names = dimension;
    description.uncompressed = 1;
    description.separator = '.';
    description.overwrite = 1;
    description.format = format;
    for (int again = 0; again <= 1; again++) {
        TRY_OR(nczchunk_array_create_in(storage, "g/many", &description, &array, NULL), array == NULL);
        TRY(nczchunk_array_read(array, origin, NULL, NULL, data, NULL));
        CHECK(data[0] == 0 && memcmp(data, data + 1, MANY - 1) == 0);
        memset(data, 1, sizeof data);
        TRY(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
        nczchunk_array_close(array);
        array = NULL;
    }
}

/* The array of ones becomes smaller. Until it has its new shape it has the old one. */
static void resize(nczchunk_storage *storage, size_t format)
{
    const size_t smaller[2] = {3, 3};
    nczchunk_array *array = open_old(storage);
    const nczchunk_var *var;
    int ones[3][3];

    (void)format;
    TRY_OR(nczchunk_array_resize(array, smaller, NULL), nczchunk_var_dimlen(nczchunk_array_var(array), 1) == 6);
    var = nczchunk_array_var(array);
    CHECK(nczchunk_var_dimlen(var, 0) == 3 && nczchunk_var_dimlen(var, 1) == 3);
    TRY(nczchunk_array_read(array, origin, NULL, NULL, ones, NULL));
    for (int i = 0; i < 9; i++)
        CHECK_EQ(ones[i / 3][i % 3], 1);
    nczchunk_array_close(array);
}

/* An attribute is set, replaced and removed. Until then it is as it was. */
static void change_attributes(nczchunk_storage *storage, size_t format)
{
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
    nczchunk_array *array = open_old(storage);

    (void)format;
    TRY_OR(nczchunk_array_set_attribute(array, "units", NCZCHUNK_STRING, 2, names, NULL),
           nczchunk_array_num_attributes(array) == 0);
    TRY_OR(nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "K", NULL),
           nczchunk_array_attribute(array, "units", &attribute, NULL) == 0 && attribute.type == NCZCHUNK_STRING);
    CHECK_OK(nczchunk_array_attribute(array, "units", &attribute, NULL));
    CHECK_STR(attribute.values, "K");
    TRY_OR(nczchunk_array_remove_attribute(array, "units", NULL), nczchunk_array_num_attributes(array) == 1);
    CHECK_EQ(nczchunk_array_num_attributes(array), 0);
    nczchunk_array_close(array);
}

/* Variable-length strings: all that a call has allocated for them is freed if it fails, and data is as it was. */
static void write_and_read_texts(nczchunk_storage *storage, size_t format)
{
    const char *texts[4][6], *untouched = "untouched";
    char *back[4][6];
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (int i = 0; i < 24; i++) {
        texts[i / 6][i % 6] = "text";
        back[i / 6][i % 6] = (char *)untouched;
    }
    description.type = NCZCHUNK_STRING;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.format = format == NCZCHUNK_NCZARR ? NCZCHUNK_ZARR_V2 : format;
    TRY_OR(nczchunk_array_create_in(storage, "g/texts", &description, &array, NULL), array == NULL);
    TRY(nczchunk_array_write(array, origin, NULL, NULL, texts, NULL));
    TRY_OR(nczchunk_array_read(array, origin, NULL, NULL, back, NULL),
           back[0][0] == untouched && back[3][5] == untouched);
    for (int i = 0; i < 24; i++)
        CHECK_STR(back[i / 6][i % 6], "text");
    nczchunk_strings_free(24, &back[0][0]);
    nczchunk_array_close(array);
}

/* What the chunks of the scenes below are encoded with, and whether they are in shards. */
static nczchunk_codec_setting codecs[2];
static size_t num_codecs;
static int in_shards;

/* An array is written and read with codecs, in part and as a whole. */
static void write_and_read_encoded(nczchunk_storage *storage, size_t format)
{
    const size_t shards[2] = {4, 3}, part[2] = {3, 1};
    int values[4][6], back[4][6] = {{0}}, column[3] = {0};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (int i = 0; i < 24; i++)
        values[i / 6][i % 6] = i * i;
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = in_shards ? shards : NULL;
    description.codecs = codecs;
    description.num_codecs = num_codecs;
    description.format = format;
    TRY_OR(nczchunk_array_create_in(storage, "g/encoded", &description, &array, NULL), array == NULL);
    TRY(nczchunk_array_write(array, origin, NULL, NULL, values, NULL));
    TRY(nczchunk_array_read(array, origin, part, NULL, column, NULL));
    TRY(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    CHECK(column[0] == 0 && column[1] == 36 && column[2] == 144);
    CHECK(memcmp(back, values, sizeof values) == 0);
    nczchunk_array_close(array);
}

/* A codec that leaves bytes as they are. */
static int copy_bytes(void *user, nczchunk_coding *coding)
{
    (void)user;
    coding->nbytes = coding->source_size;
    if (coding->nbytes <= coding->capacity)
        memcpy(coding->destination, coding->source, coding->nbytes);
    return NCZCHUNK_NOERR;
}

static int make_codec(void *user, const nczchunk_codec_use *use, nczchunk_codec **codec)
{
    nczchunk_codec_callbacks callbacks = NCZCHUNK_CODEC_CALLBACKS_INIT;

    (void)user;
    callbacks.decode = callbacks.encode = copy_bytes;
    return nczchunk_codec_new(use->name, &callbacks, codec, NULL);
}

static void count_destroyed(void *user)
{
    ++*(int *)user;
}

/* The same with a codec of our own. What belongs to it is destroyed with the storage, once. */
static void write_and_read_with_own_codec(nczchunk_storage *storage, size_t format)
{
    static const nczchunk_codec_setting own = {"own", NULL};
    nczchunk_storage *with_codec = NULL;
    int destroyed = 0;

    (void)storage;
    codecs[0] = own;
    num_codecs = 1;
    TRY_OR(nczchunk_storage_memory(&with_codec, NULL), with_codec == NULL);
    TRY_OR(nczchunk_storage_add_codec(with_codec, "own", make_codec, &destroyed, count_destroyed, NULL),
           destroyed == 0);
    write_and_read_encoded(with_codec, format);
    CHECK_EQ(destroyed, 0);
    nczchunk_storage_free(with_codec);
    CHECK_EQ(destroyed, 1);
}

static void write_object(nczchunk_storage *storage, const char *name, const void *bytes, size_t nbytes)
{
    TRY(nczchunk_storage_write(storage, name, bytes, nbytes, NULL));
}

/* An array whose one chunk is a blosc frame made by hand: what blosc calls blosclz is only decoded. */
static void read_blosclz(nczchunk_storage *storage, size_t format)
{
    static const char metadata[] =
        "{\"zarr_format\": 2, \"shape\": [6], \"chunks\": [6], \"dtype\": \"<i4\", \"fill_value\": 0, \"order\": \"C\","
        " \"filters\": null,"
        " \"compressor\": {\"id\": \"blosc\", \"cname\": \"blosclz\", \"clevel\": 5, \"shuffle\": 1}}";
    static const unsigned char chunk[29] = {
        2, 1, 0x11, 4, 24, 0, 0, 0, 24, 0, 0, 0, 29, 0, 0, 0, /* shuffled, of 24 bytes, in one block */
        20, 0, 0, 0,                                          /* which begins here, */
        5, 0, 0, 0,                                           /* takes so many bytes, */
        0, 1,                                                 /* is a byte 1, */
        7 << 5, 14, 0};                                       /* and 23 bytes that are like the one before them */
    const size_t zero = 0;
    nczchunk_array *array = NULL;
    int values[6];

    (void)format;
    write_object(storage, "h/.zarray", metadata, sizeof metadata - 1);
    write_object(storage, "h/0", chunk, sizeof chunk);
    TRY_OR(nczchunk_array_open_in(storage, "h", NCZCHUNK_READ, &array, NULL), array == NULL);
    TRY(nczchunk_array_read(array, &zero, NULL, NULL, values, NULL));
    for (int i = 0; i < 6; i++)
        CHECK_EQ(values[i], 0x01010101);
    nczchunk_array_close(array);
}

/* An array whose chunks are transposed is read and written. */
static void read_and_write_transposed(nczchunk_storage *storage, size_t format)
{
    static const char metadata[] =
        "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [2, 3], \"data_type\": \"uint8\", \"fill_value\": 0,"
        " \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": [2, 3]}},"
        " \"chunk_key_encoding\": {\"name\": \"default\"}, \"codecs\": ["
        "{\"name\": \"transpose\", \"configuration\": {\"order\": [1, 0]}}, {\"name\": \"bytes\"}]}";
    static const unsigned char rows[2][3] = {{1, 2, 3}, {4, 5, 6}}, columns[3][2] = {{1, 4}, {2, 5}, {3, 6}};
    unsigned char back[2][3];
    nczchunk_array *array = NULL;

    (void)format;
    write_object(storage, "h/zarr.json", metadata, sizeof metadata - 1);
    write_object(storage, "h/c/0/0", columns, sizeof columns);
    TRY_OR(nczchunk_array_open_in(storage, "h", NCZCHUNK_WRITE, &array, NULL), array == NULL);
    for (int time = 0; time < 2; time++) {
        TRY(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
        CHECK(memcmp(back, rows, sizeof rows) == 0);
        TRY(nczchunk_array_write(array, origin, NULL, NULL, rows, NULL));
    }
    nczchunk_array_close(array);
}

/* An array's chunks are kept in a cache of ours, and are the same from there. */
static void read_by_a_cache(nczchunk_storage *storage, size_t format)
{
    const size_t one[2] = {1, 1};
    nczchunk_cache *cache = NULL;
    nczchunk_array *array = open_old(storage);

    (void)format;
    TRY_OR(nczchunk_cache_new(1 << 20, &cache, NULL), cache == NULL);
    TRY(nczchunk_array_set_cache(array, cache, NULL));
    for (int time = 0; time < 2; time++) {
        int value = 0;

        TRY(nczchunk_array_read(array, origin, one, NULL, &value, NULL));
        CHECK_EQ(value, 1);
    }
    nczchunk_cache_free(cache);
    nczchunk_array_close(array);
}

static int count(void *user, const nczchunk_node *node)
{
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

    CHECK_EQ(node->status, 0);
    CHECK_EQ(nczchunk_node_attribute_at(node, 99, &attribute, NULL), NCZCHUNK_EINVALCOORDS);
    ++*(int *)user;
    return 0;
}

static int list_and_count(nczchunk_storage *storage, int *found)
{
    *found = 0;
    return nczchunk_list_in(storage, NULL, 1, count, found, NULL);
}

static void list(nczchunk_storage *storage, size_t format)
{
    int found;

    (void)format;
    TRY_OR(list_and_count(storage, &found), found < 3);
    CHECK_EQ(found, 3);
}

/* The array that there was can be opened and read. */
static void check_old(nczchunk_storage *storage)
{
    const size_t one[2] = {1, 1};
    nczchunk_array *array = NULL;
    int value = 0;

    CHECK_OK(nczchunk_array_open_in(storage, "g/old", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, one, NULL, &value, NULL));
    CHECK_EQ(value, 1);
    nczchunk_array_close(array);
}

typedef struct scene {
    void (*play)(nczchunk_storage *storage, size_t format);
    size_t format;
} scene;

/* Plays a scene in a storage that has been made before, and checks that the array in it is still there. */
static int play_in_a_storage(const void *played, long n)
{
    const scene *s = played;
    nczchunk_storage *storage = make_storage(s->format);
    int failed;

    fail_at(n);
    s->play(storage, s->format);
    failed = has_been_refused();
    check_old(storage);
    nczchunk_storage_free(storage);
    return failed;
}

static void play(const char *name, void (*play)(nczchunk_storage *storage, size_t format), size_t format)
{
    const scene s = {play, format};
    play_until_it_gets_through(name, play_in_a_storage, &s);
}

/* Every codec that is built in, in both versions of Zarr and in shards. */
static void play_codecs(void)
{
    static const nczchunk_codec_setting all[][2] = {
        {{"zstd", NULL}},
        {{"gzip", NULL}},
        {{"zlib", NULL}},
        {{"lz4", NULL}},
        {{"fletcher32", NULL}},
        {{"shuffle", NULL}, {"crc32c", NULL}},
        {{"blosc", "{\"cname\": \"lz4\"}"}},
        {{"blosc", "{\"cname\": \"zlib\", \"shuffle\": 2}"}},
        {{"blosc", "{\"cname\": \"zstd\"}"}, {"crc32c", NULL}},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        num_codecs = all[i][1].name ? 2 : 1;
        codecs[0] = all[i][0];
        codecs[1] = all[i][1];
        if (!nczchunk_has_codec(codecs[0].name) || (num_codecs == 2 && !nczchunk_has_codec(codecs[1].name)))
            continue;
        /* blosc is made of what else is built in. */
        if (codecs[0].configuration && !(nczchunk_has_codec("lz4") && nczchunk_has_codec("zlib") &&
                                         nczchunk_has_codec("zstd")))
            continue;
        in_shards = 0;
        play(codecs[0].name, write_and_read_encoded, NCZCHUNK_ZARR_V2);
        play(codecs[0].name, write_and_read_encoded, NCZCHUNK_ZARR_V3);
        in_shards = 1;
        play(codecs[0].name, write_and_read_encoded, NCZCHUNK_ZARR_V3);
    }
}

int main(void)
{
    for (size_t format = NCZCHUNK_NCZARR; format <= NCZCHUNK_ZARR_V3; format++) {
        play("create", create, format);
        play("resize", resize, format);
        play("change_attributes", change_attributes, format);
        play("list", list, format);
        play("texts", write_and_read_texts, format);
        play("read_by_a_cache", read_by_a_cache, format);
    }
    play("overwrite", overwrite, NCZCHUNK_ZARR_V2);
    play_codecs();
    in_shards = 0;
    play("own codec", write_and_read_with_own_codec, NCZCHUNK_ZARR_V2);
    play("own codec", write_and_read_with_own_codec, NCZCHUNK_ZARR_V3);
    play("transposed", read_and_write_transposed, NCZCHUNK_ZARR_V3);
    if (nczchunk_has_codec("blosc"))
        play("blosclz", read_blosclz, NCZCHUNK_ZARR_V2);
    return 0;
}
