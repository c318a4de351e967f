/*
 * Memory that cannot be had while an array is created, changed and listed: the call says NCZCHUNK_ENOMEM, nothing is
 * leaked, and what there was is as it was.
 *
 * Each scene is played with its first allocation failing, then its second, and so on until it gets through.
 */
#include "check.h"

#include "nczchunk_array.h"

#include "counted_malloc.h"

static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3}, origin[2] = {0, 0};
static const char *const names[2] = {"y", "x"};
static const short flags[2] = {1, 2};

/* A place with a group and an array of ones. */
static nczchunk_place *make_place(size_t format)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_place *place = NULL;
    nczchunk_array *array = NULL;
    int ones[4][6];

    for (int i = 0; i < 24; i++)
        ones[i / 6][i % 6] = 1;
    CHECK_OK(nczchunk_place_memory(&place, NULL));
    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.dimension_names = names;
    description.format = format;
    CHECK_OK(nczchunk_array_create_in(place, "g/old", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, ones, NULL));
    nczchunk_array_close(array);
    return place;
}

static int create(nczchunk_place *place, size_t format)
{
    nczchunk_codec_setting shuffle = {"shuffle", "{}"};
    nczchunk_attribute attributes[2] = {NCZCHUNK_ATTRIBUTE_INIT, NCZCHUNK_ATTRIBUTE_INIT};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int status;

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
    status = nczchunk_array_create_in(place, "g/h/new", &description, &array, NULL);
    CHECK((array == NULL) == (status != NCZCHUNK_NOERR));
    nczchunk_array_close(array);
    return status;
}

static int resize(nczchunk_place *place, size_t format)
{
    const size_t smaller[2] = {3, 3};
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open_in(place, "g/old", NCZCHUNK_WRITE, &array, NULL);

    (void)format;
    if (status == NCZCHUNK_NOERR) {
        status = nczchunk_array_resize(array, smaller, NULL);
        CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(array), 1), status == NCZCHUNK_NOERR ? 3 : 6);
    }
    nczchunk_array_close(array);
    return status;
}

static int set_attribute(nczchunk_place *place, size_t format)
{
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open_in(place, "g/old", NCZCHUNK_WRITE, &array, NULL);

    (void)format;
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_set_attribute(array, "names", NCZCHUNK_STRING, 2, names, NULL);
    nczchunk_array_close(array);
    return status;
}

/* Texts of any length: all that a call has allocated for them is freed if it fails, and data is as it was. */
static int write_and_read_texts(nczchunk_place *place, size_t format)
{
    const char *texts[4][6], *untouched = "untouched";
    char *back[4][6];
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int status;

    description.type = NCZCHUNK_STRING;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.format = format == NCZCHUNK_NCZARR ? NCZCHUNK_ZARR_V2 : format;
    status = nczchunk_array_create_in(place, "g/texts", &description, &array, NULL);
    for (int i = 0; i < 24; i++) {
        texts[i / 6][i % 6] = "text";
        back[i / 6][i % 6] = (char *)untouched;
    }
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_write(array, origin, NULL, NULL, texts, NULL);
    if (status == NCZCHUNK_NOERR) {
        status = nczchunk_array_read(array, origin, NULL, NULL, back, NULL);
        if (status == NCZCHUNK_NOERR)
            nczchunk_free_strings(24, &back[0][0]);
        else
            CHECK(back[0][0] == untouched && back[3][5] == untouched);
    }
    nczchunk_array_close(array);
    return status;
}

/* What the chunks of the scene below are encoded with, and whether they are in shards. */
static nczchunk_codec_setting codecs[2];
static size_t num_codecs;
static int in_shards;

/* An array is written and read with codecs. A call that fails can be made again with the same array, and is right. */
static int write_and_read_encoded(nczchunk_place *place, size_t format)
{
    const size_t shards[2] = {4, 3}, part[2] = {3, 1};
    int values[4][6], back[4][6] = {{0}}, column[3] = {0}, status, first;
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
    first = nczchunk_array_create_in(place, "g/encoded", &description, &array, NULL);
    if (first != NCZCHUNK_NOERR)
        return first;
    first = nczchunk_array_write(array, origin, NULL, NULL, values, NULL);
    if (first != NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, values, NULL));
    status = nczchunk_array_read(array, origin, part, NULL, column, NULL);
    if (status != NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_array_read(array, origin, part, NULL, column, NULL));
    first = first == NCZCHUNK_NOERR ? status : first;
    status = nczchunk_array_read(array, origin, NULL, NULL, back, NULL);
    if (status != NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    first = first == NCZCHUNK_NOERR ? status : first;
    for (int i = 0; i < 24; i++)
        CHECK_EQ(back[i / 6][i % 6], i * i);
    CHECK(column[0] == 0 && column[1] == 36 && column[2] == 144);
    nczchunk_array_close(array);
    return first;
}

static int count(void *user, const nczchunk_node *node)
{
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

    CHECK_EQ(node->status, 0);
    CHECK_EQ(nczchunk_node_attribute_at(node, 99, &attribute, NULL), NCZCHUNK_EINVALCOORDS);
    ++*(int *)user;
    return 0;
}

static int list(nczchunk_place *place, size_t format)
{
    int found = 0;
    int status = nczchunk_list_in(place, NULL, 1, count, &found, NULL);

    (void)format;
    CHECK(status == NCZCHUNK_ENOMEM || found == 3);
    return status;
}

/* The array that there was can be opened and read. */
static void check_old(nczchunk_place *place)
{
    const size_t one[2] = {1, 1};
    nczchunk_array *array = NULL;
    int value = 0;

    CHECK_OK(nczchunk_array_open_in(place, "g/old", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, one, NULL, &value, NULL));
    CHECK_EQ(value, 1);
    nczchunk_array_close(array);
}

static void play(const char *name, int (*scene)(nczchunk_place *place, size_t format), size_t format)
{
    int status = NCZCHUNK_ENOMEM;

    for (long n = 1; status != NCZCHUNK_NOERR; n++) {
        const long live = live_allocations;
        nczchunk_place *place = make_place(format);
        int failed;

        CHECK(n < 5000);
        failing_allocation = allocations + n;
        status = scene(place, format);
        failed = allocations >= failing_allocation;
        failing_allocation = 0;
        if (status != (failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR))
            CHECK_FAILED("%s: status %d when allocation %ld failed", name, status, n);
        check_old(place);
        nczchunk_place_free(place);
        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", name, live_allocations - live, n);
    }
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
        play("set_attribute", set_attribute, format);
        play("list", list, format);
        play("texts", write_and_read_texts, format);
    }
    play_codecs();
    return 0;
}
