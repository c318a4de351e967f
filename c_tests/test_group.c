/*
 * Groups are created with attributes, their attributes are read and changed, and the metadata of all that is in a group
 * is consolidated: in memory, and in a storage of the caller's.
 */
#include "check.h"
#include "shelf.h"

#include "nczchunk_array.h"

/* What is told of a group, which nobody has to open. */
typedef struct {
    char json[400], format[20];
    int calls, is_group;
} told;

static int note(void *user, const nczchunk_node *node)
{
    told *t = user;

    snprintf(t->json, sizeof t->json, "%s", node->attributes_json);
    snprintf(t->format, sizeof t->format, "%s", node->format);
    t->is_group = (int)node->is_group;
    t->calls++;
    return 0;
}

static void has_attributes(nczchunk_storage *storage, const char *group, const char *json)
{
    told t = {"", "", 0, 0};

    CHECK_OK(nczchunk_list_node(storage, group, note, &t, NULL));
    CHECK_EQ(t.calls, 1); /* whatever is in it */
    CHECK_EQ(t.is_group, 1);
    CHECK_STR(t.json, json);
}

/* Whether an array or a group is there. */
static int is_there(nczchunk_storage *storage, const char *name)
{
    told t = {"", "", 0, 0};
    const int status = nczchunk_list_node(storage, name, note, &t, NULL);

    CHECK(status == NCZCHUNK_NOERR || status == NCZCHUNK_ENOTFOUND);
    return status == NCZCHUNK_NOERR;
}

static void add_array(nczchunk_storage *storage, const char *name, size_t format)
{
    const size_t shape[1] = {4};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_INT;
    description.rank = 1;
    description.shape = shape;
    description.format = format;
    CHECK_OK(nczchunk_array_create_in(storage, name, &description, &array, NULL));
    nczchunk_array_close(array);
}

/* Zarr v2 and v3, from a new group to one that readers find all of with one request. */
static void a_group_is_made_and_changed(nczchunk_storage *storage, size_t format, const char *words)
{
    const short range[2] = {-3, 40};
    told t = {"", "", 0, 0};

    CHECK_OK(nczchunk_group_create_in(storage, "model/ocean", format, "{\"title\": \"Ocean\", \"runs\": [1, null]}",
                                      NULL));
    has_attributes(storage, "model", "{}"); /* it was missing on the way */
    has_attributes(storage, "/model/ocean/", "{\"title\":\"Ocean\",\"runs\":[1,null]}");
    CHECK_OK(nczchunk_list_node(storage, "model/ocean", note, &t, NULL));
    CHECK_STR(t.format, words);

    /* With 0 it is of the version of the group that it is in. */
    CHECK_OK(nczchunk_group_create_in(storage, "model/ocean/deep", 0, NULL, NULL));
    CHECK_OK(nczchunk_list_node(storage, "model/ocean/deep", note, &t, NULL));
    CHECK_STR(t.format, words);
    add_array(storage, "model/ocean/sst", format);

    /* Attributes are set at once: any JSON, or values of netCDF's types. */
    CHECK_OK(
        nczchunk_group_set_attributes_json(storage, "model/ocean", "{\"by\": {\"name\": \"me\"}, \"runs\": 2}", NULL));
    CHECK_OK(nczchunk_group_set_attribute(storage, "model/ocean", "range", NCZCHUNK_SHORT, 2, range, NULL));
    CHECK_OK(nczchunk_group_remove_attribute(storage, "model/ocean", "title", NULL));
    has_attributes(storage, "model/ocean", "{\"runs\":2,\"by\":{\"name\":\"me\"},\"range\":[-3,40]}");
    CHECK_EQ(nczchunk_group_remove_attribute(storage, "model/ocean", "title", NULL), NCZCHUNK_ENOTATT);

    CHECK_OK(nczchunk_group_consolidate(storage, "model", NULL));
}

/* The text of an object, which is long enough for all of these. */
static const char *object(shelf *s, const char *name)
{
    static char text[SHELF_BYTES + 1];
    const shelf_object *found = shelf_find(s, name);

    if (found == NULL)
        return "";
    memcpy(text, found->bytes, found->nbytes);
    text[found->nbytes] = '\0';
    return text;
}

/* What is consolidated is a copy, which goes before what it tells changes. */
static void what_is_consolidated_is_never_wrong(nczchunk_storage *storage, shelf *s, const char *document)
{
    CHECK(strstr(object(s, document), "ocean/sst") != NULL);
    CHECK_OK(nczchunk_group_set_attributes_json(storage, "model/ocean", "{\"new\": 1}", NULL));
    CHECK(strstr(object(s, document), "ocean/sst") == NULL);
    CHECK_OK(nczchunk_group_consolidate(storage, "model", NULL));
    CHECK(strstr(object(s, document), "\"new\": 1") != NULL);
    CHECK_OK(nczchunk_group_create_in(storage, "model/air", 0, NULL, NULL));
    CHECK(strstr(object(s, document), "ocean/sst") == NULL);
}

static void what_cannot_be_is_refused(nczchunk_storage *storage, size_t format)
{
    nczchunk_context *context = NULL;
    const size_t other = format == NCZCHUNK_ZARR_V3 ? NCZCHUNK_ZARR_V2 : NCZCHUNK_ZARR_V3;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_group_create_in(storage, "model/ocean", 0, NULL, context), NCZCHUNK_EEXIST);
    CHECK_STR(nczchunk_context_message(context), "model/ocean: something exists here");
    CHECK_EQ(nczchunk_group_create_in(storage, "model/ocean/sst/x", 0, NULL, NULL), NCZCHUNK_EEXIST);
    CHECK_EQ(nczchunk_group_create_in(storage, "model/x", other, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_create_in(storage, "model/x", 77, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_create_in(storage, "model/zarr.json", 0, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_create_in(storage, "model/x", 0, "[1]", NULL), NCZCHUNK_ENCZARR);
    CHECK_EQ(nczchunk_group_create_in(NULL, "model/x", 0, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK(!is_there(storage, "model/x"));
    CHECK_EQ(nczchunk_group_set_attributes_json(storage, "model/x", "{}", NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_group_set_attributes_json(storage, "model/ocean/sst", "{}", NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_group_set_attributes_json(storage, "model", "{", NULL), NCZCHUNK_ENCZARR);
    CHECK_EQ(nczchunk_group_set_attributes_json(storage, "model", NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_set_attribute(storage, "model", "_ARRAY_DIMENSIONS", NCZCHUNK_CHAR, 1, "x", NULL),
             NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_set_attribute(storage, "model", "a", 99, 1, "x", NULL), NCZCHUNK_EBADTYPE);
    CHECK_EQ(nczchunk_group_consolidate(storage, "model/x", NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_group_consolidate(NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_list_node(storage, "model", NULL, NULL, NULL), NCZCHUNK_EINVAL);
    nczchunk_context_free(context);
}

static int fails_to_write(void *user, shelf_callback callback)
{
    (void)user;
    return callback == SHELF_WRITE ? 77 : 0;
}

/* What the caller's storage returns is what the call returns, and its metadata are as they were. */
static void a_failing_storage_is_told_of(void)
{
    static shelf s;
    nczchunk_storage *storage = shelf_storage(&s, 0);

    CHECK_OK(nczchunk_group_create_in(storage, NULL, 0, "{\"a\": 1}", NULL));
    s.hook = fails_to_write;
    CHECK_EQ(nczchunk_group_set_attributes_json(storage, NULL, "{\"a\": 2}", NULL), 77);
    CHECK_EQ(nczchunk_group_consolidate(storage, NULL, NULL), 77);
    CHECK_EQ(nczchunk_group_create_in(storage, "b", 0, NULL, NULL), 77);
    has_attributes(storage, NULL, "{\"a\":1}");
    nczchunk_storage_free(storage);
}

/* "x = 4, t = 2 (unlimited), " for a group. */
static int add_dimension(void *user, const nczchunk_dimension *dimension)
{
    char *text = user;

    sprintf(text + strlen(text), "%s = %zu%s, ", dimension->name, dimension->len,
            dimension->is_unlimited ? " (unlimited)" : "");
    return strcmp(dimension->name, "refused") == 0 ? 77 : 0;
}

static void has_dimensions(nczchunk_storage *storage, const char *group, const char *expected)
{
    char text[100] = "";

    CHECK_OK(nczchunk_group_dimensions(storage, group, add_dimension, text, NULL));
    CHECK_STR(text, expected);
}

/* Groups of netCDF's define dimensions, which arrays may have or not. */
static void dimensions_are_those_that_a_group_defines(void)
{
    static const char group[] = "{\"zarr_format\": 2}",
                      attributes[] = "{\"_nczarr_group\": {\"dimensions\": {\"x\": 4, \"t\": {\"size\": 2, "
                                     "\"unlimited\": 1}}, \"arrays\": [], \"groups\": []}}",
                      refused[] = "{\"_nczarr_group\": {\"dimensions\": {\"refused\": 1, \"x\": 4}}}",
                      classic[] = "CDF\1" /* no records, one dimension x of 5, no attributes, no variables */
                                  "\0\0\0\0\0\0\0\12\0\0\0\1\0\0\0\1x\0\0\0\0\0\0\5\0\0\0\0\0\0\0\0"
                                  "\0\0\0\0\0\0\0\0";
    char text[100] = "";
    nczchunk_storage *storage = NULL, *file = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_write(storage, "n/.zgroup", group, strlen(group), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "n/.zattrs", attributes, strlen(attributes), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "r/.zgroup", group, strlen(group), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "r/.zattrs", refused, strlen(refused), NULL));
    CHECK_OK(nczchunk_storage_write(storage, "plain/.zgroup", group, strlen(group), NULL));
    has_dimensions(storage, "n", "x = 4, t = 2 (unlimited), ");
    has_dimensions(storage, "/plain/", "");
    CHECK_EQ(nczchunk_group_dimensions(storage, "r", add_dimension, text, NULL), 77);
    CHECK_STR(text, "refused = 1, "); /* and no other */
    CHECK_EQ(nczchunk_group_dimensions(storage, "none", add_dimension, text, NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_group_dimensions(storage, "n", NULL, text, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_group_dimensions(NULL, "n", add_dimension, text, NULL), NCZCHUNK_EINVAL);

    /* A classic file that has a dimension and no variable. */
    CHECK_OK(nczchunk_storage_write(storage, "f.nc", classic, sizeof classic - 1, NULL));
    CHECK_OK(nczchunk_storage_file(storage, "f.nc", &file, NULL));
    has_dimensions(file, NULL, "x = 5, ");
    CHECK_EQ(nczchunk_group_dimensions(file, "g", add_dimension, text, NULL), NCZCHUNK_ENOTFOUND);
    nczchunk_storage_free(file);
    nczchunk_storage_free(storage);
}

/* Metadata that come from elsewhere: the storage is asked for chunks only. */
static void an_array_is_opened_by_its_document(void)
{
    static const char document[] = "{\"zarr_format\": 2, \"shape\": [4], \"chunks\": [2], \"dtype\": \"|u1\", "
                                   "\"fill_value\": 9, \"order\": \"C\", \"compressor\": null, \"filters\": null}";
    const size_t start[1] = {0}, count[1] = {4};
    unsigned char values[4];
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_write(storage, "a/1", "\5\6", 2, NULL));
    CHECK_EQ(nczchunk_array_open_in(storage, "a", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
    CHECK_OK(nczchunk_array_open_document(storage, "a", document, NCZCHUNK_WRITE, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, values, NULL));
    CHECK(memcmp(values, "\11\11\5\6", 4) == 0);
    CHECK_OK(nczchunk_array_write(array, start, count, NULL, "abcd", NULL));
    CHECK_OK(nczchunk_array_read(array, start, count, NULL, values, NULL));
    CHECK(memcmp(values, "abcd", 4) == 0);
    CHECK_EQ(nczchunk_array_refresh(array, NULL), NCZCHUNK_ENOTFOUND);
    nczchunk_array_close(array);
    CHECK_EQ(nczchunk_array_open_document(storage, "a", "{\"zarr_format\":3,\"node_type\":\"group\"}", NCZCHUNK_READ,
                                          &array, NULL),
             NCZCHUNK_ENOTVAR);
    CHECK_EQ(nczchunk_array_open_document(storage, "a", "{", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENCZARR);
    CHECK_EQ(nczchunk_array_open_document(storage, "../a", document, NCZCHUNK_READ, &array, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_open_document(storage, "a", NULL, NCZCHUNK_READ, &array, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_open_document(NULL, "a", document, NCZCHUNK_READ, &array, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(storage);
}

int main(void)
{
    static const struct {
        size_t format;
        const char *words, *document;
    } formats[2] = {{NCZCHUNK_ZARR_V2, "Zarr v2", "model/.zmetadata"},
                    {NCZCHUNK_ZARR_V3, "Zarr v3", "model/zarr.json"}};

    for (size_t i = 0; i < 2; i++)
        for (int in_flight = 0; in_flight <= 1; in_flight++) {
            static shelf s;
            nczchunk_storage *storage;

            memset(&s, 0, sizeof s);
            storage = shelf_storage(&s, in_flight);
            a_group_is_made_and_changed(storage, formats[i].format, formats[i].words);
            what_is_consolidated_is_never_wrong(storage, &s, formats[i].document);
            what_cannot_be_is_refused(storage, formats[i].format);
            nczchunk_storage_free(storage);

            CHECK_OK(nczchunk_storage_memory(&storage, NULL));
            a_group_is_made_and_changed(storage, formats[i].format, formats[i].words);
            what_cannot_be_is_refused(storage, formats[i].format);
            nczchunk_storage_free(storage);
        }
    a_failing_storage_is_told_of();
    dimensions_are_those_that_a_group_defines();
    an_array_is_opened_by_its_document();
    CHECK_EQ(nczchunk_group_create(NULL, NULL, 0, NULL, NULL), NCZCHUNK_EINVAL);
    return 0;
}
