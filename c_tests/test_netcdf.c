/*
 * Variables of netCDF classic files are opened by name and read as any array is. The file is one at a path, or an
 * object of any storage, such as one in memory.
 */
#include "check.h"
#include "coads.h"

#include "nczchunk_array.h"

/* The raw copy of the variable, and the file that it is in. */
static float *raw;
static unsigned char *file_bytes;
static size_t file_nbytes;

static void every_value_is_right(nczchunk_array *array)
{
    const size_t start[3] = {0, 0, 0};
    float *data = malloc(COADS_ELEMENTS * sizeof(float));

    CHECK(data != NULL);
    CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, data, NULL));
    CHECK(memcmp(data, raw, COADS_ELEMENTS * sizeof(float)) == 0);
    free(data);
}

static void a_variable_is_an_array(const char *path)
{
    nczchunk_array *array = NULL;
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;

    CHECK_OK(nczchunk_array_open(path, "SST", NCZCHUNK_READ, &array, NULL));
    const nczchunk_var *var = nczchunk_array_var(array);
    CHECK_EQ(nczchunk_var_rank(var), 3);
    CHECK_EQ(nczchunk_var_dimlen(var, 0), 12);
    CHECK_EQ(nczchunk_array_type(array), NCZCHUNK_FLOAT);
    CHECK_STR(nczchunk_array_dimname(array, 2), "COADSX");
    CHECK_OK(nczchunk_array_attribute(array, "units", &attribute, NULL));
    CHECK_EQ(attribute.type, NCZCHUNK_CHAR);
    CHECK_EQ(attribute.num_values, strlen("Deg C"));
    CHECK_STR(attribute.values, "Deg C");
    CHECK_OK(nczchunk_array_attribute(array, "_FillValue", &attribute, NULL));
    CHECK(memcmp(attribute.values, &coads_fill_value, sizeof coads_fill_value) == 0);
    every_value_is_right(array);

    /* Every second month at every third longitude of one latitude. */
    const size_t start[3] = {1, 45, 2}, count[3] = {6, 1, 59};
    const ptrdiff_t stride[3] = {2, 1, 3};
    float part[6][59];
    CHECK_OK(nczchunk_array_read(array, start, count, stride, part, NULL));
    for (size_t month = 0; month < 6; month++)
        for (size_t i = 0; i < 59; i++)
            CHECK(memcmp(&part[month][i], &raw[((1 + 2 * month) * 90 + 45) * 180 + 2 + 3 * i], sizeof(float)) == 0);
    nczchunk_array_close(array);

    double latitudes[90];
    const size_t first = 0;
    CHECK_OK(nczchunk_array_open(path, "COADSY", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, &first, NULL, NULL, latitudes, NULL));
    CHECK(latitudes[0] == -89 && latitudes[89] == 89);
    nczchunk_array_close(array);
}

static int note(void *user, const nczchunk_node *node)
{
    char *names = user;

    CHECK_EQ(node->status, 0);
    strcat(strcat(names, node->name), node->is_group ? "/ " : " ");
    if (node->is_group) {
        CHECK_STR(node->attributes_json, "{\"title\":\"COADS monthly climatology\"}");
    } else if (strcmp(node->name, "SST") == 0) {
        CHECK_STR(node->type_name, "float32");
        CHECK_EQ(node->rank, 3);
        CHECK_EQ(node->shape[1], 90);
        CHECK_EQ(node->is_unlimited[0], 1);
        CHECK_EQ(node->is_unlimited[1], 0);
        CHECK_STR(node->dimension_names[0], "TIME");
    }
    return 0;
}

/* The file is a group. */
static void variables_are_listed(const char *path)
{
    char names[100] = "";

    CHECK_OK(nczchunk_list(path, NULL, 1, note, names, NULL));
    CHECK_STR(names, "/ TIME COADSY COADSX SST ");
    names[0] = '\0';
    CHECK_OK(nczchunk_list(path, "COADSX", 1, note, names, NULL));
    CHECK_STR(names, "COADSX ");
}

/* The same file as an object of a storage. */
static void a_file_may_be_anywhere(void)
{
    nczchunk_storage *storage = NULL, *file = NULL;
    nczchunk_array *array = NULL;
    char names[100] = "";

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_file(storage, "ocean/sst.nc", &file, NULL));
    CHECK_EQ(nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTFOUND);
    CHECK_OK(nczchunk_storage_write(storage, "ocean/sst.nc", file_bytes, file_nbytes, NULL));
    CHECK_EQ(nczchunk_storage_file(storage, "../sst.nc", &file, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_file(NULL, "sst.nc", &file, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(storage); /* the file goes on using it */
    CHECK_OK(nczchunk_list_in(file, NULL, 0, note, names, NULL));
    CHECK_STR(names, "/ TIME COADSY COADSX SST ");
    CHECK_OK(nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL));
    nczchunk_storage_free(file);
    every_value_is_right(array);
    nczchunk_array_close(array);
}

/* A copy of the file that is not complete: what is there is read. */
static void a_file_that_ends_too_early(void)
{
    const size_t maps[2] = {10, 11}, count[3] = {1, 90, 180};
    static float map[90 * 180];
    nczchunk_storage *storage = NULL, *file = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_write(storage, "f", file_bytes, file_nbytes - 4, NULL));
    CHECK_OK(nczchunk_storage_file(storage, "f", &file, NULL));
    CHECK_OK(nczchunk_array_open_in(file, "SST", NCZCHUNK_READ, &array, NULL));
    for (int i = 0; i < 2; i++) {
        const size_t start[3] = {maps[i], 0, 0};
        CHECK_EQ(nczchunk_array_read(array, start, count, NULL, map, context), i == 0 ? 0 : NCZCHUNK_EIO);
        if (i == 0) CHECK(memcmp(map, raw + maps[i] * 90 * 180, sizeof map) == 0);
    }
    CHECK_STR(nczchunk_context_message(context), "SST: chunk (0, 0, 0): the file ends before the requested bytes");
    nczchunk_array_close(array);
    nczchunk_storage_free(file);
    nczchunk_storage_free(storage);
    nczchunk_context_free(context);
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

static void what_is_refused(const char *path)
{
    refused(path, "SALT", NCZCHUNK_READ, NCZCHUNK_ENOTFOUND, "coads_sst.nc: SALT: no such variable");
    refused(path, NULL, NCZCHUNK_READ, NCZCHUNK_ENOTVAR, "this is not an array");
    refused(path, "SST", NCZCHUNK_WRITE, NCZCHUNK_EPERM, "cannot be written to");
}

/* Links of an HDF5 file to other files are followed where the program allows it. */
static void links_to_other_files(const char *data)
{
    nczchunk_storage *file = NULL;
    nczchunk_array *array = NULL;
    char path[1100], due[12] = {0}, found[7];
    const size_t start[1] = {0};

    snprintf(path, sizeof path, "%s/../tests/vectors/links/main.h5", data);
    CHECK_OK(nczchunk_storage_open(path, &file, NULL));
    CHECK_EQ(nczchunk_array_open_in(file, "deep/array", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTBUILT);
    CHECK_OK(nczchunk_storage_allow_external_links(file, 1, NULL));
    int status = nczchunk_array_open_in(file, "deep/array", NCZCHUNK_READ, &array, NULL);
    if (status != NCZCHUNK_ENOTBUILT) { /* a library with HDF5 files */
        CHECK_OK(status);
        CHECK_OK(nczchunk_array_read(array, start, NULL, NULL, found, NULL));
        for (char i = 0; i < 7; i++) due[(int)i] = i;
        CHECK(memcmp(found, due, sizeof found) == 0);
        nczchunk_array_close(array);
    }
    CHECK_EQ(nczchunk_storage_allow_external_links(NULL, 1, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(file);
}

/* Notes what is left out, with a line for each. */
static int note_left_out(void *user, const char *name, const char *reason)
{
    char *noted = user;

    snprintf(noted + strlen(noted), 600 - strlen(noted), "%s: %s\n", name, reason);
    return 0;
}

static int refuse_left_out(void *user, const char *name, const char *reason)
{
    (void)user, (void)name, (void)reason;
    return 77;
}

static void left_out_of_array(const char *path, const char *name, const char *expected)
{
    nczchunk_array *array = NULL;
    char noted[600] = "";

    CHECK_OK(nczchunk_array_open(path, name, NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_left_out(array, note_left_out, noted, NULL));
    CHECK_STR(noted, expected);
    CHECK_EQ(nczchunk_array_left_out(array, refuse_left_out, NULL, NULL), *expected != '\0' ? 77 : NCZCHUNK_NOERR);
    CHECK_EQ(nczchunk_array_left_out(array, NULL, noted, NULL), NCZCHUNK_EINVAL);
    nczchunk_array_close(array);
}

/* Of each group and array in a listing, too. */
static int note_node(void *user, const nczchunk_node *node)
{
    char *noted = user;

    snprintf(noted + strlen(noted), 600 - strlen(noted), "[%s]\n", node->name);
    CHECK_OK(nczchunk_node_left_out(node, note_left_out, noted, NULL));
    CHECK_EQ(nczchunk_node_left_out(node, NULL, noted, NULL), NCZCHUNK_EINVAL);
    return 0;
}

static int refuse_node(void *user, const nczchunk_node *node)
{
    return nczchunk_node_left_out(node, refuse_left_out, user, NULL);
}

/* An HDF5 file has attributes and types of which the library, and so a copy, has only a part. It tells what is lost. */
static void what_a_copy_does_not_have(const char *data, const char *classic)
{
    nczchunk_storage *file = NULL;
    char path[1100], noted[600] = "";

    left_out_of_array(classic, "SST", "");
    CHECK_EQ(nczchunk_array_left_out(NULL, note_left_out, noted, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_node_left_out(NULL, note_left_out, noted, NULL), NCZCHUNK_EINVAL);

    snprintf(path, sizeof path, "%s/../tests/vectors/left_out.h5", data);
    CHECK_OK(nczchunk_storage_open(path, &file, NULL));
    int status = nczchunk_list_node(file, "group", note_node, noted, NULL);
    if (status != NCZCHUNK_ENOTBUILT) { /* a library with HDF5 files */
        CHECK_OK(status);
        CHECK_STR(noted, "[group]\nkey: not supported: attributes of compound, array and opaque types\n");
        noted[0] = '\0';
        CHECK_OK(nczchunk_list_in(file, "group", 1, note_node, noted, NULL));
        CHECK_STR(noted, "[group]\nkey: not supported: attributes of compound, array and opaque types\n"
                         "[group/plain]\ncolour: not supported: the names of an enumeration's values\n"
                         "reference: not supported: references to objects of an HDF5 file\n");
        CHECK_EQ(nczchunk_list_node(file, "group", refuse_node, NULL, NULL), 77);

        /* Of the type there is no name. */
        left_out_of_array(path, "enumeration", "origin: not supported: attributes of compound, array and opaque types\n"
                                               ": not supported: the names of an enumeration's values\n");
        left_out_of_array(path, "structure", ": not supported: the names and types of a structure's members\n");
        left_out_of_array(path, "opaque", ": not supported: the tag of an opaque type\n");
        left_out_of_array(path, "array", ": not supported: the shape and type of an array type's elements\n");
    }
    nczchunk_storage_free(file);
}

int main(int argc, char **argv)
{
    const char *data = argc > 1 ? argv[1] : "data";
    char path[1100];

    raw = coads_read_raw(data);
    snprintf(path, sizeof path, "%s/coads_sst.nc", data);
    file_bytes = coads_read_file(path, &file_nbytes);

    a_variable_is_an_array(path);
    variables_are_listed(path);
    a_file_may_be_anywhere();
    a_file_that_ends_too_early();
    what_is_refused(path);
    links_to_other_files(data);
    what_a_copy_does_not_have(data, path);
    free(file_bytes);
    free(raw);
    return 0;
}
