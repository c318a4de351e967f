/*
 * Compressed chunks, written: add the codec zstd to a store, and its callbacks take the chunks as they are to be
 * stored.
 */
#include "coads.h"
#include "zstd_frame.h"

enum { WORDS = 1000, CHUNK_WORDS = 300 };

static const size_t words = WORDS, chunk_words = CHUNK_WORDS, zero = 0;

/* An array of 1000 numbers in compressed chunks, all absent, and what was written to it. */
typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    uint32_t data[WORDS];
} fixture;

static void open_fixture(fixture *f, const nczchunk_zstd_options *options)
{
    memory_array_init_absent(&f->array, 1, &words, &chunk_words, sizeof(uint32_t));
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, FILLING);
    store_add_zstd_as(f->store, options);
    for (uint32_t i = 0; i < WORDS; i++)
        f->data[i] = i / 10;
}

static void close_fixture(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static int write_all(const fixture *f)
{
    return nczchunk_write_vars(f->var, f->store, &zero, &words, NULL, f->data, NULL);
}

static int read_all(const fixture *f, uint32_t after[WORDS])
{
    return nczchunk_read_vars(f->var, f->store, &zero, &words, NULL, after, NULL);
}

static void check_reads_back(const fixture *f)
{
    uint32_t after[WORDS];

    CHECK_OK(read_all(f, after));
    CHECK(memcmp(f->data, after, sizeof after) == 0);
}

/* How many bytes the chunks take. */
static size_t stored_bytes(const fixture *f)
{
    size_t bytes = 0;

    for (size_t c = 0; c < f->array.num_chunks; c++)
        bytes += f->array.chunks[c].nbytes;
    return bytes;
}

/* All of it, then every seventh number: chunks are decoded, changed and encoded again. */
static void what_was_written_reads_back(void)
{
    const size_t start = 3, count = 142;
    const ptrdiff_t stride = 7;
    uint32_t news[142];
    fixture f;

    open_fixture(&f, NULL);
    CHECK_OK(write_all(&f));
    CHECK_EQ(f.array.asked, 0);
    CHECK_EQ(f.array.written, 4);
    CHECK(stored_bytes(&f) < sizeof f.data / 4);
    check_reads_back(&f);

    for (uint32_t i = 0; i < 142; i++)
        f.data[3 + 7 * i] = news[i] = 5000000 + i;
    f.array.asked = f.array.written = 0;
    CHECK_OK(nczchunk_write_vars(f.var, f.store, &start, &count, &stride, news, NULL));
    CHECK_EQ(f.array.asked, 4);
    CHECK_EQ(f.array.written, 4);
    check_reads_back(&f);
    close_fixture(&f);
}

/* Words are swapped before they are encoded, and absent chunks filled. */
static void foreign_words_are_encoded(void)
{
    const size_t start = 300, count = 2;
    const uint32_t fill_value = 77;
    fixture f;

    open_fixture(&f, NULL);
    CHECK_OK(nczchunk_var_set_endian(f.var, foreign_endian(), NULL));
    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    CHECK_OK(nczchunk_write_vars(f.var, f.store, &start, &count, NULL, f.data, NULL));
    for (size_t i = WORDS; i-- > 0;)
        f.data[i] = i >= 300 && i < 302 ? f.data[i - 300] : fill_value;
    check_reads_back(&f);
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    close_fixture(&f);
}

/* Any level will do; those that zstd does not know are taken for the nearest it does. A higher one makes less of it. */
static void levels(void)
{
    const ptrdiff_t known[] = {0, 1, 3, 9, 19, 22, -5, 1000, -1000000, INT32_MAX, INT32_MIN, PTRDIFF_MAX, PTRDIFF_MIN};
    size_t bytes[2];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const nczchunk_zstd_options options = {.struct_size = sizeof options, .level = known[i]};
        fixture f;

        open_fixture(&f, &options);
        CHECK_OK(write_all(&f));
        check_reads_back(&f);
        close_fixture(&f);
    }
    for (size_t i = 0; i < 2; i++) {
        const nczchunk_zstd_options options = {.struct_size = sizeof options, .level = i == 0 ? -1000 : 19};
        fixture f;

        open_fixture(&f, &options);
        CHECK_OK(write_all(&f));
        bytes[i] = stored_bytes(&f);
        close_fixture(&f);
    }
    CHECK(bytes[1] < bytes[0]);
}

/* Spoils each byte of the first chunk in turn. Returns how many of them nobody noticed. */
static size_t unnoticed_faults(const nczchunk_zstd_options *options, int is_random)
{
    uint32_t after[WORDS], seed = 1;
    size_t unnoticed = 0;
    memory_chunk *chunk;
    fixture f;

    open_fixture(&f, options);
    for (size_t i = 0; is_random && i < WORDS; i++)
        f.data[i] = seed = seed * 1664525u + 1013904223u;
    CHECK_OK(write_all(&f));
    chunk = &f.array.chunks[0];
    for (size_t b = 0; b < chunk->nbytes; b++) {
        int status;

        chunk->bytes[b] ^= 0x10;
        status = read_all(&f, after);
        CHECK(status == 0 || status == NCZCHUNK_EIO || status == NCZCHUNK_EBADCHUNK);
        unnoticed += status == 0 && memcmp(f.data, after, sizeof after) != 0;
        chunk->bytes[b] ^= 0x10;
    }
    check_reads_back(&f);
    close_fixture(&f);
    return unnoticed;
}

/* A checksum follows the data unless it is left out: then no fault goes unnoticed. */
static void a_checksum_follows_the_data(void)
{
    const nczchunk_zstd_options with = {.struct_size = sizeof with}, without = {.struct_size = sizeof without,
                                                                               .no_checksum = 1};
    size_t bytes[2];

    for (int is_random = 0; is_random < 2; is_random++) {
        CHECK_EQ(unnoticed_faults(NULL, is_random), 0);
        CHECK_EQ(unnoticed_faults(&with, is_random), 0);
        CHECK(unnoticed_faults(&without, is_random) > 0);
    }
    for (size_t i = 0; i < 2; i++) {
        fixture f;

        open_fixture(&f, i == 0 ? &without : &with);
        CHECK_OK(write_all(&f));
        bytes[i] = stored_bytes(&f);
        close_fixture(&f);
    }
    /* Four bytes for each of the four chunks. */
    CHECK_EQ(bytes[1] - bytes[0], 4 * 4);
}

/* One byte of it spoilt, the checksum itself does not fit. */
static void a_spoilt_checksum(void)
{
    const size_t begin = 2 * CHUNK_WORDS, one = 1;
    uint32_t after[WORDS];
    memory_chunk *chunk;
    fixture f;

    open_fixture(&f, NULL);
    CHECK_OK(write_all(&f));
    chunk = &f.array.chunks[2];
    chunk->bytes[chunk->nbytes - 1] ^= 1;
    CHECK_EQ(read_all(&f, after), NCZCHUNK_EIO);
    /* Whether one element is read depends on how far it is decoded; verified, it is not. */
    CHECK_OK(nczchunk_chunk_store_set_verify(f.store, 1, NULL));
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, &begin, &one, NULL, after, NULL), NCZCHUNK_EIO);
    CHECK_OK(nczchunk_chunk_store_set_verify(f.store, 0, NULL));
    /* Nor can a part of that chunk be written; all of it can. */
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, (const size_t[1]){600}, (const size_t[1]){1}, NULL, f.data, NULL),
             NCZCHUNK_EIO);
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    close_fixture(&f);
}

/* What does not compress takes little more room than it has bytes. */
static void incompressible_data(void)
{
    uint32_t seed = 7;
    fixture f;

    open_fixture(&f, NULL);
    for (size_t i = 0; i < WORDS; i++)
        f.data[i] = seed = seed * 1664525u + 1013904223u;
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    CHECK(stored_bytes(&f) >= sizeof f.data);
    CHECK(stored_bytes(&f) <= 4 * (CHUNK_WORDS * 4 + 64));
    close_fixture(&f);
}

/* A codec may be there twice for writing, too. */
static void frames_in_frames_are_written(void)
{
    fixture f;

    open_fixture(&f, NULL);
    store_add_zstd(f.store);
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    close_fixture(&f);
}

/* A compressed chunk has no length that could be lent, so a store that lends cannot be written to once it has
 * a codec; nor can one whose callbacks for writing are left out. */
static void stores_that_cannot_be_written_to(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        nczchunk_zero_copy_callbacks lending;
        nczchunk_reader_callbacks filling;
        fixture f;

        open_fixture(&f, NULL);
        CHECK_OK(write_all(&f));
        f.array.written = 0;
        nczchunk_chunk_store_free(f.store);
        lending = memory_array_lending(&f.array);
        filling = memory_array_filling(&f.array);
        filling.store = NULL;
        if (store_kinds[kind] == LENDING)
            CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f.store, NULL));
        else
            CHECK_OK(nczchunk_chunk_store_new(&filling, &f.store, NULL));
        store_add_zstd(f.store);
        CHECK_EQ(write_all(&f), NCZCHUNK_EPERM);
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, &zero, (const size_t[1]){1}, NULL, f.data, NULL), NCZCHUNK_EPERM);
        CHECK_EQ(f.array.written, 0);
        check_reads_back(&f);
        close_fixture(&f);
    }
}

/* What the callback says when it stores a frame is what the write says. */
static void a_frame_that_cannot_be_stored(void)
{
    fixture f;

    open_fixture(&f, NULL);
    f.array.chunks[1].write_status = NCZCHUNK_EIO;
    CHECK_EQ(write_all(&f), NCZCHUNK_EIO);
    CHECK_EQ(f.array.written, 2);
    f.array.chunks[1].write_status = NCZCHUNK_NOERR;
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    close_fixture(&f);
}

/* The structure of options has its size, and what it does not say is 0. */
static void options_of_other_sizes(void)
{
    struct { nczchunk_zstd_options known; size_t added; } newer = {{.struct_size = sizeof newer, .level = 5}, 0};
    nczchunk_zstd_options options = {.struct_size = 0};
    nczchunk_codec *codec = NULL;
    fixture f;

    open_fixture(&f, NULL);
    CHECK_EQ(nczchunk_codec_zstd(&options, &codec, NULL), NCZCHUNK_EINVAL);
    newer.added = 1;
    CHECK_EQ(nczchunk_codec_zstd(&newer.known, &codec, NULL), NCZCHUNK_EINVAL);
    CHECK(codec == NULL);
    CHECK_EQ(nczchunk_codec_zstd(NULL, NULL, NULL), NCZCHUNK_EINVAL);
    newer.added = 0;
    store_add_zstd_as(f.store, &newer.known);
    options = (nczchunk_zstd_options)NCZCHUNK_ZSTD_OPTIONS_INIT;
    CHECK_EQ(options.struct_size, sizeof options);
    store_add_zstd_as(f.store, &options);
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    close_fixture(&f);
}

int main(void)
{
    what_was_written_reads_back();
    foreign_words_are_encoded();
    levels();
    a_checksum_follows_the_data();
    a_spoilt_checksum();
    incompressible_data();
    frames_in_frames_are_written();
    stores_that_cannot_be_written_to();
    a_frame_that_cannot_be_stored();
    options_of_other_sizes();
    return 0;
}
