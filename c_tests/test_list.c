/*
 * What is in a group is told, one group or array after another: what ncdump -h shows.
 */
#include "check.h"

#include "nczchunk_array.h"

/* A storage with two groups and three arrays, one of which nobody can read. */
static nczchunk_storage *make_storage(void)
{
    const size_t shape[2] = {90, 180}, chunks[2] = {30, 60};
    const char *const names[2] = {"lat", "lon"};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    static const char broken[] = "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": \"long\"}";

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    description.type = NCZCHUNK_FLOAT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.dimension_names = names;
    description.attributes_json = "{\"units\": \"K\", \"valid_max\": 330.5}";
    CHECK_OK(nczchunk_array_create_in(storage, "ocean/sst", &description, &array, NULL));
    nczchunk_array_close(array);
    description.type = 0;
    description.type_name = "bool";
    description.shard_shape = shape;
    description.attributes_json = NULL;
    CHECK_OK(nczchunk_array_create_in(storage, "mask", &description, &array, NULL));
    nczchunk_array_close(array);
    CHECK_OK(nczchunk_storage_write(storage, "broken/zarr.json", broken, strlen(broken), NULL));
    return storage;
}

/* What the callback has been told: the names, and how often it wants to be called. */
typedef struct {
    char names[200];
    int calls, most, checked;
} listing;

static int note(void *user, const nczchunk_node *node)
{
    listing *list = user;

    CHECK(node->struct_size >= sizeof *node);
    if (list->calls++ == list->most)
        return 77;
    snprintf(list->names + strlen(list->names), sizeof list->names - strlen(list->names), "%s%s ", node->name,
             node->is_group ? "/" : "");
    if (strcmp(node->name, "ocean/sst") == 0) {
        nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

        CHECK_EQ(node->status, 0);
        CHECK_EQ(node->type, NCZCHUNK_FLOAT);
        CHECK_STR(node->type_name, "float32");
        CHECK_EQ(node->rank, 2);
        CHECK_EQ(node->shape[1], 180);
        CHECK_EQ(node->chunk_shape[1], 60);
        CHECK(node->shard_shape == NULL);
        CHECK_STR(node->dimension_names[0], "lat");
        CHECK_EQ(node->is_unlimited[0], 0);
        CHECK_EQ(node->num_attributes, 2);
        CHECK_OK(nczchunk_node_attribute_at(node, 1, &attribute, NULL));
        CHECK_STR(attribute.name, "valid_max");
        CHECK_EQ(attribute.type, NCZCHUNK_DOUBLE);
        CHECK(*(const double *)attribute.values == 330.5);
        CHECK_EQ(nczchunk_node_attribute_at(node, 2, &attribute, NULL), NCZCHUNK_EINVALCOORDS);
        CHECK_STR(node->attributes_json, "{\"units\":\"K\",\"valid_max\":330.5}");
        list->checked++;
    } else if (strcmp(node->name, "mask") == 0) {
        CHECK_EQ(node->type, 0);
        CHECK_STR(node->type_name, "bool");
        CHECK_EQ(node->chunk_shape[0], 30);
        CHECK_EQ(node->shard_shape[0], 90);
        list->checked++;
    } else if (strcmp(node->name, "broken") == 0) {
        CHECK_EQ(node->status, NCZCHUNK_ENCZARR);
        CHECK(strstr(node->message, "$.shape") != NULL);
        CHECK_EQ(node->rank, 0);
        list->checked++;
    }
    return 0;
}

static void told(nczchunk_storage *storage, const char *group, int recursive, const char *names, int checked)
{
    listing list = {"", 0, -1, 0};

    CHECK_OK(nczchunk_list_in(storage, group, recursive, note, &list, NULL));
    CHECK_STR(list.names, names);
    CHECK_EQ(list.checked, checked);
}

static void it_ends_when_the_callback_says_so(nczchunk_storage *storage)
{
    listing list = {"", 0, 2, 0};

    CHECK_EQ(nczchunk_list_in(storage, NULL, 1, note, &list, NULL), 77);
    CHECK_EQ(list.calls, 3);
    CHECK_EQ(nczchunk_list_in(storage, NULL, 1, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_list_in(NULL, NULL, 1, note, &list, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_list_in(storage, "none", 1, note, &list, NULL), NCZCHUNK_ENOTFOUND);
    CHECK_EQ(nczchunk_list("no/such/path", NULL, 1, note, &list, NULL), NCZCHUNK_ENOTFOUND);
}

/* Of an array, too: real data, in a directory. */
static void an_array_is_told_alone(const char *data)
{
    char path[1100];
    listing list = {"", 0, -1, 0};

    snprintf(path, sizeof path, "%s/coads_sst.zarr", data);
    CHECK_OK(nczchunk_list(path, NULL, 1, note, &list, NULL));
    CHECK_EQ(list.calls, 1);
    CHECK_STR(list.names, " ");
}

int main(int argc, char **argv)
{
    nczchunk_storage *storage = make_storage();

    told(storage, NULL, 1, "/ broken mask ocean/ ocean/sst ", 3);
    told(storage, "", 0, "/ broken mask ocean/ ", 2);
    told(storage, "ocean", 1, "ocean/ ocean/sst ", 1);
    told(storage, "/ocean/sst", 1, "ocean/sst ", 1);
    it_ends_when_the_callback_says_so(storage);
    an_array_is_told_alone(argc > 1 ? argv[1] : "data");
    nczchunk_storage_free(storage);
    return 0;
}
