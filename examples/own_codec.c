/*
 * Writes and reads an array with a codec of its own, "example.delta". Of each integer it stores the difference from
 * the one before. The name is one that no library will have.
 *
 *     cc own_codec.c -lnczchunk && ./a.out new.zarr
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nczchunk_array.h"

enum { HOURS = 24 * 365, DAY = 24 };

/* Adds up the differences. The bytes need not be aligned, so words are copied from and to them. */
static int decode(void *user, nczchunk_coding *coding)
{
    int32_t sum = 0;

    (void)user;
    if (coding->source_size > coding->capacity)
        return NCZCHUNK_EBADCHUNK;
    for (size_t at = 0; at + sizeof sum <= coding->source_size; at += sizeof sum) {
        int32_t difference;

        memcpy(&difference, (const char *)coding->source + at, sizeof difference);
        sum = (int32_t)((uint32_t)sum + (uint32_t)difference);
        memcpy((char *)coding->destination + at, &sum, sizeof sum);
        coding->nbytes = at + sizeof sum;
    }
    return 0;
}

static int encode(void *user, nczchunk_coding *coding)
{
    int32_t last = 0;

    (void)user;
    for (size_t at = 0; at + sizeof last <= coding->source_size; at += sizeof last) {
        int32_t value, difference;

        memcpy(&value, (const char *)coding->source + at, sizeof value);
        difference = (int32_t)((uint32_t)value - (uint32_t)last);
        memcpy((char *)coding->destination + at, &difference, sizeof difference);
        coding->nbytes = at + sizeof difference;
        last = value;
    }
    return 0;
}

/* Makes the codec for an array whose metadata name it. The configuration is JSON, such as {"dtype":"<i4"}. */
static int make_delta(void *user, const nczchunk_codec_use *of, nczchunk_codec **codec)
{
    nczchunk_codec_callbacks callbacks = {
        .struct_size = sizeof callbacks, .decode = decode, .encode = encode, .concurrent = 1};

    (void)user;
    if (strcmp(of->type_name, "int32") != 0 || strstr(of->configuration, "\"<i4\"") == NULL)
        return NCZCHUNK_EBADTYPE;
    return nczchunk_codec_new("example.delta", &callbacks, codec, NULL);
}

int main(int argc, char **argv)
{
    static const size_t shape[1] = {HOURS}, chunks[1] = {DAY * 30}, start[1] = {0};
    static const nczchunk_codec_setting codecs[2] = {{"example.delta", "{\"dtype\": \"<i4\"}"}, {"zstd", NULL}};
    static int32_t levels[HOURS];
    int32_t day[DAY];
    nczchunk_description tide = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL; /* what went wrong, in words */

    for (int hour = 0; hour < HOURS; hour++)
        levels[hour] = 100000 + hour % 12 * 7;
    tide.type = NCZCHUNK_INT;
    tide.rank = 1;
    tide.shape = shape;
    tide.chunk_shape = chunks;
    tide.codecs = codecs;
    tide.num_codecs = 2;
    tide.format = NCZCHUNK_ZARR_V2;
    tide.overwrite = 1;

    /* The arrays of a storage know the codecs that are added to it. */
    int status = nczchunk_context_new(&context);
    if (status == 0) status = nczchunk_storage_create(argc > 1 ? argv[1] : "new.zarr", &storage, context);
    if (status == 0) status = nczchunk_storage_add_codec(storage, "example.delta", make_delta, NULL, NULL, context);
    if (status == 0) status = nczchunk_array_create_in(storage, "tide", &tide, &array, context);
    if (status == 0) status = nczchunk_array_write(array, start, NULL, NULL, levels, context);
    nczchunk_array_close(array);

    const size_t count[1] = {DAY};
    array = NULL;
    if (status == 0) status = nczchunk_array_open_in(storage, "tide", NCZCHUNK_READ, &array, context);
    if (status == 0) status = nczchunk_array_read(array, start, count, NULL, day, context);
    for (int hour = 0; status == 0 && hour < DAY; hour++)
        printf("%d%s", (int)day[hour], hour < DAY - 1 ? " " : "\n");

    if (status != 0) fprintf(stderr, "own_codec: %s\n", nczchunk_context_message(context));
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
    nczchunk_context_free(context);
    return status != 0;
}
