/*
 * Arrays of variable-length strings, which are char * as netCDF's NC_STRING: created, written, read, and refused where
 * their chunks are not what they should be.
 */
#include "check.h"

#include "nczchunk_array.h"

enum { ROWS = 4, COLUMNS = 5, ELEMENTS = ROWS * COLUMNS };

static const size_t shape[2] = {ROWS, COLUMNS}, chunks[2] = {2, 3}, origin[2] = {0, 0};

static nczchunk_array *create(nczchunk_storage *storage, const char *name, size_t format, const char *fill_value)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_STRING;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.format = format;
    description.fill_value = fill_value == NULL ? NULL : &fill_value;
    CHECK_OK(nczchunk_array_create_in(storage, name, &description, &array, NULL));
    return array;
}

/* Each text that is read is a new one, and all are freed by one call. */
static void texts_are_written_and_read(nczchunk_storage *storage, size_t format)
{
    const char *const written[2][2] = {{"a", "\xc3\xa4\xe2\x82\xac"}, {"", "a text that is longer than the others"}};
    const size_t start[2] = {1, 2}, count[2] = {2, 2}, every_second[2] = {2, 2};
    const ptrdiff_t stride[2] = {2, 2};
    nczchunk_array *array = create(storage, "texts", format, "none");
    char *back[ROWS][COLUMNS], *few[2][2];

    CHECK_EQ(nczchunk_array_type(array), NCZCHUNK_STRING);
    CHECK_STR(nczchunk_array_type_name(array), "string");
    CHECK_EQ(nczchunk_var_element_size(nczchunk_array_var(array)), sizeof(char *));
    CHECK_OK(nczchunk_array_write(array, start, count, NULL, written, NULL));
    nczchunk_array_close(array);

    array = NULL;
    CHECK_OK(nczchunk_array_open_in(storage, "texts", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++) {
            int is_written = row >= 1 && row < 3 && column >= 2 && column < 4;

            CHECK_STR(back[row][column], is_written ? written[row - 1][column - 2] : "none");
        }
    nczchunk_strings_free(ELEMENTS, &back[0][0]);
    CHECK(back[0][0] == NULL && back[ROWS - 1][COLUMNS - 1] == NULL);
    nczchunk_strings_free(ELEMENTS, &back[0][0]);
    nczchunk_strings_free(0, NULL);
    nczchunk_strings_free(1, NULL);

    CHECK_OK(nczchunk_array_read(array, start, every_second, stride, few, NULL));
    CHECK_STR(few[0][0], "a");
    CHECK_STR(few[0][1], "none");
    CHECK_STR(few[1][0], "none");
    nczchunk_strings_free(4, &few[0][0]);
    nczchunk_array_close(array);
}

/* The fill value is one that was set, also if it is an empty one. */
static void a_fill_value_is_told_if_there_is_one(nczchunk_storage *storage)
{
    const char *const documents[3] = {"\"none\"", "\"\"", "null"}, *const fill_values[3] = {"none", "", NULL};

    for (size_t i = 0; i < 3; i++) {
        char document[256];
        nczchunk_array *array = NULL;
        char *const *told, *read = NULL;
        const size_t start = 0;
        const int len = snprintf(document, sizeof document,
                                 "{\"zarr_format\": 2, \"shape\": [1], \"chunks\": [1], \"dtype\": \"|O\", "
                                 "\"fill_value\": %s, \"order\": \"C\", \"compressor\": null, "
                                 "\"filters\": [{\"id\": \"vlen-utf8\"}]}",
                                 documents[i]);

        CHECK_OK(nczchunk_storage_write(storage, "filled/.zarray", document, (size_t)len, NULL));
        CHECK_OK(nczchunk_array_open_in(storage, "filled", NCZCHUNK_READ, &array, NULL));
        told = nczchunk_var_fill_value(nczchunk_array_var(array));
        CHECK_EQ(told != NULL, fill_values[i] != NULL);
        if (told != NULL)
            CHECK_STR(*told, fill_values[i]);
        CHECK_OK(nczchunk_array_read(array, &start, NULL, NULL, &read, NULL));
        CHECK_STR(read, fill_values[i] != NULL ? fill_values[i] : "");
        nczchunk_strings_free(1, &read);
        nczchunk_array_close(array);
    }
}

/* A NULL that is written is an empty text; what is not UTF-8 is not written. Nobody's text is taken. */
/* All strings in one block of memory, one behind the other, each with a NUL at its end. */
static void strings_are_read_into_one_block(nczchunk_storage *storage)
{
    const char *const written[2][2] = {{"a", "\xc3\xa4\xe2\x82\xac"}, {"", "the last"}};
    const char expected[] = "a\0\xc3\xa4\xe2\x82\xac\0none\0\0the last\0none"; /* and a NUL */
    const size_t start[2] = {1, 2}, count[2] = {2, 2}, more[2] = {2, 3}, none[2] = {0, 3}, beyond[2] = {4, 3};
    nczchunk_array *array = create(storage, "block", NCZCHUNK_ZARR_V3, "none"), *numbers = NULL;
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    char *block = NULL;
    size_t nbytes = 0;

    CHECK_OK(nczchunk_array_write(array, start, count, NULL, written, NULL));
    CHECK_OK(nczchunk_array_read_strings(array, start, more, NULL, &block, &nbytes, NULL));
    CHECK_EQ(nbytes, sizeof expected);
    CHECK(memcmp(block, expected, sizeof expected) == 0);
    nczchunk_strings_free(1, &block);
    CHECK(block == NULL);

    /* No string is no byte. */
    CHECK_OK(nczchunk_array_read_strings(array, start, none, NULL, &block, &nbytes, NULL));
    CHECK_EQ(nbytes, 0);
    nczchunk_strings_free(1, &block);

    CHECK_EQ(nczchunk_array_read_strings(array, start, beyond, NULL, &block, &nbytes, NULL), NCZCHUNK_EEDGE);
    CHECK_EQ(nczchunk_array_read_strings(array, start, more, NULL, NULL, &nbytes, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_read_strings(array, start, more, NULL, &block, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_array_read_strings(NULL, start, more, NULL, &block, &nbytes, NULL), NCZCHUNK_EINVAL);
    CHECK(block == NULL);
    nczchunk_array_close(array);

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    CHECK_OK(nczchunk_array_create_in(storage, "numbers", &description, &numbers, NULL));
    CHECK_EQ(nczchunk_array_read_strings(numbers, start, more, NULL, &block, &nbytes, NULL), NCZCHUNK_EBADTYPE);
    nczchunk_array_close(numbers);
}

static void what_is_written_is_checked(nczchunk_storage *storage)
{
    const char *texts[2] = {NULL, "\xff"};
    const size_t one[2] = {1, 1};
    nczchunk_array *array = create(storage, "checked", NCZCHUNK_ZARR_V3, NULL);
    char *back = NULL;

    CHECK_EQ(nczchunk_array_write(array, origin, one, NULL, &texts[1], NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_array_read(array, origin, one, NULL, &back, NULL));
    CHECK_STR(back, "");
    nczchunk_strings_free(1, &back);
    CHECK_OK(nczchunk_array_write(array, origin, one, NULL, &texts[0], NULL));
    CHECK_OK(nczchunk_array_read(array, origin, one, NULL, &back, NULL));
    CHECK_STR(back, "");
    nczchunk_strings_free(1, &back);
    nczchunk_array_close(array);
}

/* What is cut off becomes the fill value. */
static void an_array_gets_another_shape(nczchunk_storage *storage)
{
    const char *texts[ELEMENTS];
    const size_t smaller[2] = {3, 2};
    nczchunk_array *array = create(storage, "cut", NCZCHUNK_ZARR_V3, "cut");
    char *back[ELEMENTS];

    for (int i = 0; i < ELEMENTS; i++)
        texts[i] = "kept";
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, texts, NULL));
    CHECK_OK(nczchunk_array_resize(array, smaller, NULL));
    CHECK_OK(nczchunk_array_resize(array, shape, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_STR(back[i], i / COLUMNS < 3 && i % COLUMNS < 2 ? "kept" : "cut");
    nczchunk_strings_free(ELEMENTS, back);
    nczchunk_array_close(array);
}

/* Chunks that are not what they should be end the call, and data is as it was. */
static void hostile_chunks(nczchunk_storage *storage)
{
    static const struct { const char *bytes; size_t len; int status; } hostile[] = {
        {"", 0, NCZCHUNK_EIO},
        {"\2\0\0", 3, NCZCHUNK_EIO},
        {"\2\0\0\0\1\0\0\0a\1\0\0", 12, NCZCHUNK_EIO},
        {"\3\0\0\0\1\0\0\0a\1\0\0\0b", 14, NCZCHUNK_EIO},
        {"\377\377\377\377\1\0\0\0a\1\0\0\0b", 14, NCZCHUNK_EIO},
        {"\2\0\0\0\1\0\0\0a\377\377\377\377b", 14, NCZCHUNK_EIO},
        {"\2\0\0\0\1\0\0\0a\1\0\0\0\377", 14, NCZCHUNK_EIO},
        {"\2\0\0\0\1\0\0\0a\1\0\0\0bc", 15, NCZCHUNK_EIO},
        {"\2\0\0\0\1\0\0\0a\1\0\0\0\0", 14, NCZCHUNK_ENOTBUILT},
        {"\2\0\0\0\1\0\0\0a\1\0\0\0b", 14, NCZCHUNK_NOERR},
    };
    const size_t two[1] = {2}, four[1] = {4}, start[1] = {0};
    const char *texts[2] = {"c", "d"};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_STRING;
    description.rank = 1;
    description.shape = four;
    description.chunk_shape = two;
    description.uncompressed = 1;
    CHECK_OK(nczchunk_array_create_in(storage, "hostile", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, start, two, NULL, texts, NULL));
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char untouched, *back[4] = {&untouched, &untouched, &untouched, &untouched};

        CHECK_OK(nczchunk_storage_write(storage, "hostile/c/1", hostile[i].bytes, hostile[i].len, NULL));
        CHECK_EQ(nczchunk_array_read(array, start, four, NULL, back, NULL), hostile[i].status);
        if (hostile[i].status == NCZCHUNK_NOERR) {
            CHECK_STR(back[3], "b");
            nczchunk_strings_free(4, back);
        } else {
            CHECK(back[0] == &untouched && back[3] == &untouched);
        }
    }
    nczchunk_array_close(array);
}

static void what_cannot_be(nczchunk_storage *storage)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    const char *wrong = "\xff", *null = NULL;

    description.type = NCZCHUNK_STRING;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    description.shard_shape = chunks;
    CHECK_EQ(nczchunk_array_create_in(storage, "not", &description, &array, NULL), NCZCHUNK_ENOTBUILT);
    description.shard_shape = NULL;
    description.fill_value = &wrong;
    CHECK_EQ(nczchunk_array_create_in(storage, "not", &description, &array, NULL), NCZCHUNK_EINVAL);
    description.fill_value = &null;
    CHECK_EQ(nczchunk_array_create_in(storage, "not", &description, &array, NULL), NCZCHUNK_EINVAL);
    description.fill_value = NULL;
    description.format = NCZCHUNK_NCZARR;
    CHECK_EQ(nczchunk_array_create_in(storage, "not", &description, &array, NULL), NCZCHUNK_ENOTBUILT);
    CHECK(array == NULL);
}

/* A plan keeps all that it needs, also what absent elements read as: it is executed with another handle's store once
 * the array that it was made for is closed. */
static void a_plan_outlives_its_array(nczchunk_storage *storage)
{
    nczchunk_array *array = create(storage, "planned", NCZCHUNK_ZARR_V3, "what absent elements read as"), *other = NULL;
    nczchunk_plan *plan = NULL;
    char *back[ELEMENTS] = {NULL};

    CHECK_OK(nczchunk_array_open_in(storage, "planned", NCZCHUNK_READ, &other, NULL));
    CHECK_OK(nczchunk_plan_new(nczchunk_array_var(array), origin, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    nczchunk_array_close(array);
    for (size_t size = 1; size < 100; size++) {
        char *reused = malloc(size);

        CHECK(reused != NULL);
        memset(reused, 'X', size);
        free(reused);
    }
    CHECK_OK(nczchunk_plan_read(plan, nczchunk_array_store(other), 0, NCZCHUNK_ALL, back, NULL));
    for (int i = 0; i < ELEMENTS; i++)
        CHECK_STR(back[i], "what absent elements read as");
    nczchunk_strings_free(ELEMENTS, back);
    nczchunk_plan_free(plan);
    nczchunk_array_close(other);
}

static int lend_bytes(void *user, nczchunk_borrowed_chunk *loan)
{
    loan->data = user;
    loan->nbytes = loan->chunk_bytes;
    return NCZCHUNK_NOERR;
}

/* A variable of texts and a store of texts are for each other: no bytes are taken for pointers to texts. */
static void texts_are_no_bytes(nczchunk_storage *storage)
{
    static char bytes[1000];
    nczchunk_array *array = create(storage, "texts", NCZCHUNK_ZARR_V3, NULL);
    nczchunk_zero_copy_callbacks callbacks = NCZCHUNK_ZERO_COPY_CALLBACKS_INIT;
    nczchunk_chunk_store *store = NULL;
    nczchunk_var *var = NULL;
    char *back[ELEMENTS] = {NULL};

    memset(bytes, 0x41, sizeof bytes);
    callbacks.user = bytes;
    callbacks.lend = callbacks.lend_to_write = lend_bytes;
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL));
    CHECK_EQ(nczchunk_read_vars(nczchunk_array_var(array), store, origin, NULL, NULL, back, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_vars(nczchunk_array_var(array), store, origin, NULL, NULL, back, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_var_new(2, shape, chunks, sizeof(char *), &var, NULL));
    CHECK_EQ(nczchunk_read_vars(var, nczchunk_array_store(array), origin, NULL, NULL, back, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_vars(var, nczchunk_array_store(array), origin, NULL, NULL, bytes, NULL), NCZCHUNK_EINVAL);
    CHECK(back[0] == NULL);
    nczchunk_var_free(var);
    nczchunk_chunk_store_free(store);
    nczchunk_array_close(array);
}

int main(void)
{
    nczchunk_storage *storage = NULL;

    for (size_t format = NCZCHUNK_ZARR_V2; format <= NCZCHUNK_ZARR_V3; format++) {
        CHECK_OK(nczchunk_storage_memory(&storage, NULL));
        texts_are_written_and_read(storage, format);
        nczchunk_storage_free(storage);
    }
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    a_fill_value_is_told_if_there_is_one(storage);
    strings_are_read_into_one_block(storage);
    what_is_written_is_checked(storage);
    an_array_gets_another_shape(storage);
    hostile_chunks(storage);
    what_cannot_be(storage);
    a_plan_outlives_its_array(storage);
    texts_are_no_bytes(storage);
    nczchunk_storage_free(storage);
    return 0;
}
