/*
 * How much memory is taken for what is stored, whatever it claims: a storage has limits, what would take more is
 * refused with a message that names the limit, and a program that needs more raises it.
 */
#define _XOPEN_SOURCE 600 /* for ftruncate */
#define _FILE_OFFSET_BITS 64
#include <fcntl.h>
#include <unistd.h>

#include "check.h"
#include "zstd_frame.h"

#include "nczchunk_array.h"

/* An array of so many strings in one chunk, which is stored with zstd. */
static nczchunk_description strings(const size_t *count)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;

    description.type = NCZCHUNK_STRING;
    description.rank = 1;
    description.shape = description.chunk_shape = count;
    return description;
}

static void set_limits(nczchunk_storage *storage, size_t chunk_bytes, size_t string_chunk_bytes, size_t metadata_bytes)
{
    nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;

    limits.chunk_bytes = chunk_bytes;
    limits.string_chunk_bytes = string_chunk_bytes;
    limits.metadata_bytes = metadata_bytes;
    CHECK_OK(nczchunk_storage_set_memory_limits(storage, &limits, NULL));
}

/* The first string of an array in a storage. */
static int read_first(const nczchunk_storage *storage, nczchunk_context *context)
{
    const size_t start = 0, count = 1;
    nczchunk_array *array = NULL;
    char *first = NULL;
    int status;

    CHECK_OK(nczchunk_array_open_in(storage, "names", NCZCHUNK_READ, &array, NULL));
    status = nczchunk_array_read(array, &start, &count, NULL, &first, context);
    CHECK((status == NCZCHUNK_NOERR) == (first != NULL));
    nczchunk_strings_free(1, &first);
    nczchunk_array_close(array);
    return status;
}

/* A frame of zstd that decodes to 1 GiB: a string of that length. It takes 32 KiB. */
static size_t gibibyte_of_text(unsigned char *frame)
{
    unsigned char begin[8];
    size_t n = zstd_frame_begin_unsized(frame);

    zstd_little_endian(begin, 1, 4);                  /* one string */
    zstd_little_endian(begin + 4, (1u << 30) - 8, 4); /* of so many bytes */
    n += zstd_frame_raw_block(frame + n, begin, sizeof begin, 0);
    for (size_t block = 0; block < (1u << 30) / ZSTD_BLOCK_MAX; block++) {
        size_t size = block == 0 ? ZSTD_BLOCK_MAX - sizeof begin : ZSTD_BLOCK_MAX;

        n += zstd_frame_rle_block(frame + n, 'x', size, block == (1u << 30) / ZSTD_BLOCK_MAX - 1);
    }
    return n;
}

static void a_small_chunk_that_decodes_to_a_gibibyte_of_strings(nczchunk_context *context)
{
    static unsigned char frame[40000];
    const size_t count = 1, nbytes = gibibyte_of_text(frame);
    const nczchunk_description description = strings(&count);
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    CHECK(nbytes < 34000);
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_array_create_in(storage, "names", &description, &array, NULL));
    nczchunk_array_close(array);
    CHECK_OK(nczchunk_storage_write(storage, "names/c/0", frame, nbytes, NULL));

    CHECK_EQ(read_first(storage, context), NCZCHUNK_ENOMEM);
    CHECK(strstr(nczchunk_context_message(context), "the limit string_chunk_bytes = 268435456; raise it by "
                                                    "nczchunk_storage_set_memory_limits") != NULL);
    set_limits(storage, 0, 1 << 20, 0);
    CHECK_EQ(read_first(storage, context), NCZCHUNK_ENOMEM);
    CHECK(strstr(nczchunk_context_message(context), "string_chunk_bytes = 1048576") != NULL);
    set_limits(storage, 0, 0, 0); /* 0 is the limit as it is at first */
    CHECK_EQ(read_first(storage, context), NCZCHUNK_ENOMEM);
    CHECK(strstr(nczchunk_context_message(context), "string_chunk_bytes = 268435456") != NULL);
    nczchunk_storage_free(storage);
}

/* A chunk of 1 MiB of text is read under a limit of 2 MiB, and not under one of 1 MiB. */
static void a_limit_is_raised(nczchunk_context *context)
{
    static char text[1 << 20];
    const size_t count = 1;
    const char *const value = text;
    const nczchunk_description description = strings(&count);
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    memset(text, 'x', sizeof text - 1);
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_array_create_in(storage, "names", &description, &array, NULL));
    CHECK_OK(nczchunk_array_write(array, (const size_t[]){0}, NULL, NULL, &value, NULL));
    nczchunk_array_close(array);
    set_limits(storage, 0, 1 << 20, 0);
    CHECK_EQ(read_first(storage, context), NCZCHUNK_ENOMEM);
    set_limits(storage, 0, 2 << 20, 0);
    CHECK_OK(read_first(storage, context));
    nczchunk_storage_free(storage);
}

/* A file of 3 GiB that takes no room on the disk, in the place of a chunk. */
static void a_sparse_file(nczchunk_context *context)
{
    const long long nbytes = 3LL << 30;
    const size_t lens[2] = {1 << 20, (size_t)(nbytes / 2)}, count = 1, first = 0;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    unsigned char byte;
    int file;

    for (int is_large = 0; is_large < 2; is_large++) {
        nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;

        description.type = NCZCHUNK_UBYTE;
        description.rank = 1;
        description.shape = description.chunk_shape = &lens[is_large];
        description.overwrite = 1;
        CHECK_OK(nczchunk_storage_create("memory-limits", &storage, NULL));
        set_limits(storage, 1 << 30, 0, 0);
        CHECK_OK(nczchunk_array_create_in(storage, "", &description, &array, NULL));
        CHECK_OK(nczchunk_storage_write(storage, "c/0", "", 0, NULL));
        file = open("memory-limits/c/0", O_WRONLY);
        CHECK(file >= 0 && ftruncate(file, (off_t)nbytes) == 0 && close(file) == 0);
        /* A chunk of 1 MiB cannot have 3 GiB as it is stored. One of 1.5 GiB could. */
        CHECK_EQ(nczchunk_array_read(array, &first, &count, NULL, &byte, context),
                 is_large ? NCZCHUNK_ENOMEM : NCZCHUNK_EBADCHUNK);
        CHECK(!is_large || strstr(nczchunk_context_message(context), "3221225472 bytes of memory are needed, above the "
                                                                     "limit chunk_bytes = 1073741824") != NULL);
        nczchunk_array_close(array);
        nczchunk_storage_free(storage);
        CHECK(unlink("memory-limits/c/0") == 0);
    }
}

/* An array without dimensions and with attributes of so many bytes, and so many of them. */
static nczchunk_storage *with_attributes(size_t nbytes, size_t count)
{
    static const char begin[] = "{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": [], "
                                "\"data_type\": \"int8\", "
                                "\"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": []}}, "
                                "\"chunk_key_encoding\": {\"name\": \"default\"}, \"fill_value\": 0, "
                                "\"codecs\": [{\"name\": \"bytes\"}], \"attributes\": {";
    char *document = malloc(sizeof begin + nbytes + 32 * count + 64);
    size_t n = sizeof begin - 1;
    nczchunk_storage *storage = NULL;

    CHECK(document != NULL);
    memcpy(document, begin, n);
    for (size_t i = 0; i < count; i++)
        n += (size_t)sprintf(document + n, "\"a%zu\": %zu, ", i, i);
    n += (size_t)sprintf(document + n, "\"text\": \"");
    memset(document + n, 'x', nbytes);
    n += nbytes;
    n += (size_t)sprintf(document + n, "\"}}");
    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_OK(nczchunk_storage_write(storage, "a/zarr.json", document, n, NULL));
    free(document);
    return storage;
}

static void large_metadata(nczchunk_context *context)
{
    const struct {
        size_t nbytes, count, too_little;
    } documents[] = {{17 << 20, 0, 16 << 20}, {0, 20000, 1 << 20}};

    for (size_t i = 0; i < 2; i++) {
        nczchunk_storage *storage = with_attributes(documents[i].nbytes, documents[i].count);
        nczchunk_attribute last = NCZCHUNK_ATTRIBUTE_INIT;
        nczchunk_array *array = NULL;
        char expected[64];

        set_limits(storage, 0, 0, documents[i].too_little);
        CHECK_EQ(nczchunk_array_open_in(storage, "a", NCZCHUNK_READ, &array, context), NCZCHUNK_ENOMEM);
        snprintf(expected, sizeof expected, "limit metadata_bytes = %zu; ", documents[i].too_little);
        CHECK(strstr(nczchunk_context_message(context), expected) != NULL);

        set_limits(storage, 0, 0, 100 << 20);
        CHECK_OK(nczchunk_array_open_in(storage, "a", NCZCHUNK_READ, &array, NULL));
        CHECK_EQ(nczchunk_array_num_attributes(array), documents[i].count + 1);
        CHECK_OK(nczchunk_array_attribute(array, "text", &last, NULL));
        CHECK_EQ(last.num_values, documents[i].nbytes);
        nczchunk_array_close(array);
        nczchunk_storage_free(storage);
    }
}

static void what_is_set_is_checked(void)
{
    nczchunk_memory_limits limits = NCZCHUNK_MEMORY_LIMITS_INIT;
    nczchunk_storage *storage = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    CHECK_EQ(nczchunk_storage_set_memory_limits(NULL, &limits, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_set_memory_limits(storage, NULL, NULL), NCZCHUNK_EINVAL);
    limits.struct_size = 0;
    CHECK_EQ(nczchunk_storage_set_memory_limits(storage, &limits, NULL), NCZCHUNK_EINVAL);
    nczchunk_storage_free(storage);
}

int main(void)
{
    nczchunk_context *context = NULL;

    CHECK_OK(nczchunk_context_new(&context));
    a_small_chunk_that_decodes_to_a_gibibyte_of_strings(context);
    a_limit_is_raised(context);
    if (sizeof(size_t) > 4)
        a_sparse_file(context);
    large_metadata(context);
    what_is_set_is_checked();
    nczchunk_context_free(context);
    return 0;
}
