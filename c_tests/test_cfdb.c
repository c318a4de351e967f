/*
 * The variables of a cfdb file are read, and cannot be written to. tests/vectors/small.cfdb was written by cfdb, and
 * tests/vectors/cfdb_file.py says what is in it: 6 days and 10 places, of which 4 were put before the others.
 */
#include "check.h"

#include "nczchunk_array.h"

#define DAYS 6
#define PLACES 10

/* The temperatures are packed in 2 bytes: ten for each degree above -11, and 0 for none. */
static unsigned short packed(size_t day, size_t place)
{
    return day == 5 ? 0 : (unsigned short)(10 * (10 * day + 11) + 5 * place);
}

static void a_variable_is_read_from_its_first_element_on(const char *path)
{
    const size_t start[2] = {1, 2}, count[2] = {3, 4};
    const ptrdiff_t stride[2] = {2, 2};
    unsigned short all[DAYS][PLACES], some[3][4];
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL));
    CHECK_EQ(nczchunk_array_type(array), 8); /* NC_USHORT */
    CHECK_STR(nczchunk_array_dimname(array, 0), "time");
    CHECK_STR(nczchunk_array_dimname(array, 1), "y");

    /* Whatever was put before the others, the first element has the index 0. */
    const nczchunk_var *var = nczchunk_array_var(array);
    CHECK_EQ(nczchunk_var_origin(var, 1), -4);
    CHECK_EQ(nczchunk_var_dimlen(var, 1), PLACES);

    const size_t first[2] = {0, 0};
    CHECK_OK(nczchunk_array_read(array, first, NULL, NULL, all, NULL));
    for (size_t day = 0; day < DAYS; day++)
        for (size_t place = 0; place < PLACES; place++) CHECK_EQ(all[day][place], packed(day, place));

    CHECK_OK(nczchunk_array_read(array, start, count, stride, some, NULL));
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 4; j++) CHECK_EQ(some[i][j], packed(1 + 2 * i, 2 + 2 * j));
    nczchunk_array_close(array);
}

/* What the packed numbers stand for is told by attributes. */
static void attributes_say_what_numbers_stand_for(const char *path)
{
    nczchunk_array *array = NULL;
    nczchunk_attribute attribute = NCZCHUNK_ATTRIBUTE_INIT;
    long long days[DAYS];
    const size_t start = 0;
    const double tenth = 0.1; /* in its own precision, also where computations have more */

    CHECK_OK(nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_attribute(array, "scale_factor", &attribute, NULL));
    CHECK_EQ(attribute.type, 6); /* NC_DOUBLE */
    CHECK(memcmp(attribute.values, &tenth, sizeof tenth) == 0);
    CHECK_OK(nczchunk_array_attribute(array, "add_offset", &attribute, NULL));
    CHECK_EQ(*(const int *)attribute.values, -11);
    CHECK_OK(nczchunk_array_attribute(array, "_FillValue", &attribute, NULL));
    CHECK_EQ(attribute.type, 8); /* NC_USHORT */
    CHECK_EQ(*(const unsigned short *)attribute.values, 0);
    CHECK_OK(nczchunk_array_attribute(array, "dtype_decoded", &attribute, NULL));
    CHECK(memcmp(attribute.values, "float32", attribute.num_values) == 0);
    CHECK_OK(nczchunk_array_attribute(array, "long_name", &attribute, NULL));
    nczchunk_array_close(array);

    CHECK_OK(nczchunk_array_open(path, "time", NCZCHUNK_READ, &array, NULL));
    CHECK_STR(nczchunk_array_type_name(array), "datetime64[D]");
    CHECK_STR(nczchunk_array_format(array), "cfdb");
    CHECK_OK(nczchunk_array_attribute(array, "units", &attribute, NULL));
    CHECK(memcmp(attribute.values, "days since 1970-01-01", attribute.num_values) == 0);
    CHECK_OK(nczchunk_array_read(array, &start, NULL, NULL, days, NULL));
    for (int i = 0; i < DAYS; i++) CHECK_EQ(days[i], 18262 + i);
    nczchunk_array_close(array);
}

static int count_nodes(void *user, const nczchunk_node *node)
{
    int *counts = user;
    counts[0] += (int)node->is_group;
    counts[1] += node->status == 0 && !node->is_group;
    if (node->status != 0) {
        CHECK_STR(node->name, "remark");
        CHECK_EQ(node->status, NCZCHUNK_ENOTBUILT);
        counts[2]++;
    }
    return 0;
}

static void refused(int status, int found, const nczchunk_context *context, const char *words)
{
    CHECK_EQ(found, status);
    if (strstr(nczchunk_context_message(context), words) == NULL)
        CHECK_FAILED("\"%s\" does not say \"%s\"", nczchunk_context_message(context), words);
}

static void what_cannot_be_opened_is_told(const char *path)
{
    int counts[3] = {0, 0, 0};
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_list(path, NULL, 1, count_nodes, counts, context));
    CHECK(counts[0] == 1 && counts[1] == 3 && counts[2] == 1);

    refused(NCZCHUNK_ENOTBUILT, nczchunk_array_open(path, "remark", NCZCHUNK_READ, &array, context), context, "str");
    refused(NCZCHUNK_ENOTFOUND, nczchunk_array_open(path, "wind", NCZCHUNK_READ, &array, context), context, "wind");
    refused(NCZCHUNK_EPERM, nczchunk_array_open(path, "y", NCZCHUNK_WRITE, &array, context), context, "read-only");
    refused(NCZCHUNK_ENOTVAR, nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, context), context, "small.cfdb");
    CHECK(array == NULL);
    nczchunk_context_free(context);
}

/* All of a file in memory, with room for a byte more. */
static char *contents(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    char *bytes = malloc(1 << 20);
    CHECK(bytes != NULL);
    *nbytes = fread(bytes, 1, (1 << 20) - 1, file);
    fclose(file);
    return bytes;
}

/* A file that says that it is a copy of a remote one is opened only where that is allowed. */
static void a_partial_copy_has_to_be_allowed(const char *path)
{
    size_t nbytes;
    char *bytes = contents(path, &nbytes);
    const char *no = "\"remote\":false", *yes = "\"remote\":true ";
    nczchunk_storage *memory = NULL, *file = NULL;
    nczchunk_array *array = NULL;
    int replaced = 0;

    for (size_t i = 0; i + strlen(no) <= nbytes; i++)
        if (memcmp(bytes + i, no, strlen(no)) == 0) {
            memcpy(bytes + i, yes, strlen(yes));
            replaced = 1;
        }
    CHECK(replaced);
    CHECK_OK(nczchunk_storage_memory(&memory, NULL));
    CHECK_OK(nczchunk_storage_write(memory, "partial.cfdb", bytes, nbytes, NULL));
    CHECK_OK(nczchunk_storage_file(memory, "partial.cfdb", &file, NULL));
    CHECK_EQ(nczchunk_array_open_in(file, "y", NCZCHUNK_READ, &array, NULL), NCZCHUNK_ENOTBUILT);
    CHECK_OK(nczchunk_storage_allow_partial(file, 1, NULL));
    CHECK_OK(nczchunk_array_open_in(file, "y", NCZCHUNK_READ, &array, NULL));
    nczchunk_array_close(array);
    CHECK_EQ(nczchunk_storage_allow_partial(NULL, 1, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(file);
    nczchunk_storage_free(memory);
    free(bytes);
}

/* What another program writes to the file while it is open is found out. */
static void a_file_that_changes_is_an_error(const char *path)
{
    size_t nbytes;
    char *bytes = contents(path, &nbytes);
    const size_t start = 0;
    short y[PLACES];
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;

    FILE *file = fopen("changing.cfdb", "wb");
    CHECK(file != NULL && fwrite(bytes, 1, nbytes, file) == nbytes && fclose(file) == 0);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_array_open("changing.cfdb", "y", NCZCHUNK_READ, &array, context));
    CHECK_OK(nczchunk_array_set_cache(array, NULL, context));
    CHECK_OK(nczchunk_array_read(array, &start, NULL, NULL, y, context));
    CHECK(y[0] == -4 && y[9] == 5);
    file = fopen("changing.cfdb", "ab");
    CHECK(file != NULL && fputc('x', file) == 'x' && fclose(file) == 0);
    refused(NCZCHUNK_EIO, nczchunk_array_read(array, &start, NULL, NULL, y, context), context, "changed");
    nczchunk_array_close(array);
    nczchunk_context_free(context);
    free(bytes);
    CHECK(remove("changing.cfdb") == 0);
}

int main(int argc, char **argv)
{
    char path[1100];

    CHECK(argc > 1);
    snprintf(path, sizeof path, "%s/../tests/vectors/small.cfdb", argv[1]);
    a_variable_is_read_from_its_first_element_on(path);
    attributes_say_what_numbers_stand_for(path);
    what_cannot_be_opened_is_told(path);
    a_partial_copy_has_to_be_allowed(path);
    a_file_that_changes_is_an_error(path);
    return 0;
}
