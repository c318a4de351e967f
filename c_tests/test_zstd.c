/*
 * Compressed chunks: add the codec zstd to a store, and its callbacks give the chunks as they are stored.
 *
 *     nczchunk_codec_zstd(NULL, &codec, context);
 *     nczchunk_chunk_store_add_codec(store, codec, context);       the codec is the store's from here on
 *
 * First real data; then data that no honest compressor would write. Whatever the callbacks give, the result is right or
 * the read fails, and nothing outside the caller's memory is touched. test_zstd_write.c writes, and test_codecs.c has
 * codecs of the program's own.
 *
 *     test_zstd [directory of the data]
 */
#include "coads.h"
#include "zstd_frame.h"

/* --- Real data: a file per chunk. */

static void check_coads(memory_array *array, const float *oracle, store_kind kind, const size_t *start,
                        const size_t *count, const ptrdiff_t *stride)
{
    static float data[COADS_ELEMENTS];
    nczchunk_var *var = coads_var(array);
    nczchunk_chunk_store *store = coads_store(array, kind);
    size_t e = 0;

    CHECK_OK(nczchunk_read_vars(var, store, start, count, stride, data, NULL));
    for (size_t i = 0; i < count[0]; i++)
        for (size_t j = 0; j < count[1]; j++)
            for (size_t k = 0; k < count[2]; k++, e++) {
                size_t month = start[0] + i * (size_t)stride[0], row = start[1] + j * (size_t)stride[1];
                size_t column = start[2] + k * (size_t)stride[2];
                CHECK(data[e] == oracle[(month * 90 + row) * 180 + column]);
            }
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

/* All of it, one month, one place through the year, and every seventh of everything. */
static void real_chunks(const char *directory)
{
    static const struct {
        size_t start[3], count[3];
        ptrdiff_t stride[3];
    } slabs[] = {
        {{0, 0, 0}, {12, 90, 180}, {1, 1, 1}},
        {{6, 0, 0}, {1, 90, 180}, {1, 1, 1}},
        {{0, 60, 160}, {12, 1, 1}, {1, 1, 1}},
        {{1, 2, 3}, {2, 13, 26}, {7, 7, 7}},
    };
    float *oracle = coads_read_raw(directory);
    memory_array array;

    coads_load(&array, directory);
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++)
        for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++)
            check_coads(&array, oracle, store_kinds[kind], slabs[i].start, slabs[i].count, slabs[i].stride);
    CHECK_EQ(array.destroyed, 2 * 4);
    memory_array_clear(&array);
    free(oracle);
}

/* --- One chunk of 64 bytes, given as whatever a test likes. */

enum { CHUNK = 64, GUARD = 16 };

/* The bytes of the chunk. */
static void content(unsigned char bytes[CHUNK])
{
    for (size_t i = 0; i < CHUNK; i++)
        bytes[i] = (unsigned char)(3 * i + 1);
}

/* Reads a variable of one chunk that is stored as these bytes. Returns the status; out is the chunk if it is 0. */
static int read_stored(size_t chunk_bytes, store_kind kind, const void *stored, size_t nbytes, unsigned char *out)
{
    const size_t zero = 0;
    unsigned char *guarded = malloc(chunk_bytes + 2 * GUARD);
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int status;

    CHECK(guarded != NULL);
    memset(guarded, 0xAB, chunk_bytes + 2 * GUARD);
    memory_array_init_absent(&array, 1, &chunk_bytes, &chunk_bytes, 1);
    memory_chunk_set(&array.chunks[0], stored, nbytes);
    array.chunks[0].status = NCZCHUNK_NOERR;
    var = memory_array_var(&array);
    store = coads_store(&array, kind);

    status = nczchunk_read_vars(var, store, &zero, NULL, NULL, guarded + GUARD, NULL);
    for (size_t i = 0; i < GUARD; i++) {
        CHECK_EQ(guarded[i], 0xAB);
        CHECK_EQ(guarded[GUARD + chunk_bytes + i], 0xAB);
    }
    if (status == 0)
        memcpy(out, guarded + GUARD, chunk_bytes);
    /* What was lent is given back, also after an error. */
    if (kind == LENDING)
        CHECK_EQ(array.released, array.asked);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    free(guarded);
    return status;
}

/* Checks what both kinds of store make of a chunk that is stored as these bytes. */
static void check_stored(const void *stored, size_t nbytes, int expected)
{
    unsigned char out[CHUNK], bytes[CHUNK];

    content(bytes);
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memset(out, 0, sizeof out);
        CHECK_EQ(read_stored(CHUNK, store_kinds[kind], stored, nbytes, out), expected);
        if (expected == 0)
            CHECK(memcmp(out, bytes, CHUNK) == 0);
    }
}

static void a_frame_fills_the_chunk(void)
{
    unsigned char bytes[CHUNK], stored[256];
    size_t n;

    content(bytes);
    check_stored(stored, zstd_frame(stored, bytes, CHUNK), 0);

    /* A frame need not say how large its content is. */
    n = zstd_frame_begin_unsized(stored);
    n += zstd_frame_raw_block(stored + n, bytes, 10, 0);
    n += zstd_frame_raw_block(stored + n, bytes + 10, CHUNK - 10, 1);
    check_stored(stored, n, 0);
}

static void a_frame_of_one_repeated_byte(void)
{
    unsigned char stored[64], out[CHUNK];
    size_t n = zstd_frame_begin(stored, CHUNK);

    n += zstd_frame_rle_block(stored + n, 9, CHUNK, 1);
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        CHECK_OK(read_stored(CHUNK, store_kinds[kind], stored, n, out));
        for (size_t i = 0; i < CHUNK; i++)
            CHECK_EQ(out[i], 9);
    }
}

/* Frames follow one another, as when a writer compresses in pieces; some are there only to be skipped. */
static void several_frames_make_a_chunk(void)
{
    unsigned char bytes[CHUNK], stored[512];
    size_t n;

    content(bytes);
    n = zstd_frame(stored, bytes, 20);
    n += zstd_frame(stored + n, bytes + 20, CHUNK - 20);
    check_stored(stored, n, 0);

    n = zstd_skippable_frame(stored, "hello", 5);
    n += zstd_frame(stored + n, bytes, CHUNK);
    check_stored(stored, n, 0);

    n = zstd_frame(stored, bytes, CHUNK);
    n += zstd_skippable_frame(stored + n, "bye", 3);
    check_stored(stored, n, 0);
}

/* A filling callback is first given as much room as one frame can need. Here every byte has a frame of its own: then
 * the callback says how much there is, and is asked once more. */
static void many_small_frames_need_more_room(void)
{
    const size_t zero = 0, chunk = CHUNK;
    unsigned char bytes[CHUNK], stored[CHUNK * (1 + ZSTD_FRAME_OVERHEAD)], out[CHUNK];
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    size_t n = 0;

    content(bytes);
    for (size_t i = 0; i < CHUNK; i++)
        n += zstd_frame(stored + n, bytes + i, 1);
    check_stored(stored, n, 0);

    memory_array_init_absent(&array, 1, &chunk, &chunk, 1);
    memory_chunk_set(&array.chunks[0], stored, n);
    array.chunks[0].status = NCZCHUNK_NOERR;
    var = memory_array_var(&array);
    store = coads_store(&array, FILLING);
    CHECK_OK(nczchunk_read_vars(var, store, &zero, NULL, NULL, out, NULL));
    CHECK(memcmp(out, bytes, CHUNK) == 0);
    CHECK_EQ(array.asked, 2);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* The size in a frame's header is a claim. Nothing is allocated by it, and content that disagrees is corrupt. */
static void a_frame_that_lies_about_its_size(void)
{
    const unsigned long long claims[] = {0, 1, CHUNK - 1, CHUNK + 1, 1000, 1ull << 40, 1ull << 62, ~0ull - 2};
    unsigned char bytes[CHUNK], stored[256];

    content(bytes);
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        size_t n = zstd_frame_begin(stored, claims[i]);
        n += zstd_frame_raw_block(stored + n, bytes, CHUNK, 1);
        check_stored(stored, n, NCZCHUNK_EIO);
    }
}

static void a_frame_that_says_its_size_and_does_not_fit(void)
{
    unsigned char bytes[2 * CHUNK] = {0}, stored[256];

    check_stored(stored, zstd_frame(stored, bytes, CHUNK - 1), NCZCHUNK_EBADCHUNK);
    check_stored(stored, zstd_frame(stored, bytes, CHUNK + 1), NCZCHUNK_EBADCHUNK);
    check_stored(stored, zstd_frame(stored, bytes, 2 * CHUNK), NCZCHUNK_EBADCHUNK);
    check_stored(stored, zstd_frame(stored, bytes, 0), NCZCHUNK_EBADCHUNK);
}

/* A few bytes that decode to very many: a bomb. */
static void a_frame_that_expands_without_end(void)
{
    static unsigned char stored[4096];
    size_t n = zstd_frame_begin_unsized(stored);

    for (int block = 0; block < 1000; block++)
        n += zstd_frame_rle_block(stored + n, 1, ZSTD_BLOCK_MAX, block == 999);
    check_stored(stored, n, NCZCHUNK_EBADCHUNK);
}

static void two_frames_that_are_too_much_together(void)
{
    unsigned char bytes[CHUNK], stored[512];
    size_t n;

    content(bytes);
    n = zstd_frame(stored, bytes, CHUNK);
    n += zstd_frame(stored + n, bytes, CHUNK);
    check_stored(stored, n, NCZCHUNK_EBADCHUNK);
}

/* Cut off anywhere, a frame does not decode; with nothing left at all it decodes to nothing. */
static void a_truncated_frame(void)
{
    unsigned char bytes[CHUNK], stored[256];
    size_t n;

    content(bytes);
    n = zstd_frame(stored, bytes, CHUNK);
    for (size_t length = 1; length < n; length++)
        check_stored(stored, length, NCZCHUNK_EIO);
    check_stored(stored, 0, NCZCHUNK_EBADCHUNK);
}

static void garbage_after_a_frame(void)
{
    unsigned char bytes[CHUNK], stored[256];
    size_t n;

    content(bytes);
    n = zstd_frame(stored, bytes, CHUNK);
    memcpy(stored + n, "garbage", 7);
    for (size_t extra = 1; extra <= 7; extra++)
        check_stored(stored, n + extra, NCZCHUNK_EIO);
}

static void no_frame_at_all(void)
{
    unsigned char bytes[CHUNK];

    content(bytes);
    check_stored(bytes, CHUNK, NCZCHUNK_EIO);
}

/* Each of some hundreds of bytes of a real chunk, spoilt in turn: the read succeeds with other numbers (the chunk has
 * no checksum) or fails, and the guards of read_stored stand. */
static void spoilt_bytes_of_a_real_chunk(const char *directory)
{
    static unsigned char out[5 * 40 * 50 * 4];
    memory_array array;
    memory_chunk *chunk;

    coads_load(&array, directory);
    chunk = &array.chunks[0];
    for (size_t i = 0; i < 600; i++) {
        /* The first 200 bytes, which hold the headers and tables, and others all over the chunk. */
        size_t position = i < 200 ? i : (i - 200) * (chunk->nbytes / 400);
        unsigned char spoilt = chunk->bytes[position] ^ (unsigned char)(1u << i % 8);
        unsigned char kept = chunk->bytes[position];
        int status;

        chunk->bytes[position] = spoilt;
        status = read_stored(sizeof out, store_kinds[i % NUM_STORE_KINDS], chunk->bytes, chunk->nbytes, out);
        CHECK(status == 0 || status == NCZCHUNK_EIO || status == NCZCHUNK_EBADCHUNK);
        chunk->bytes[position] = kept;
    }
    memory_array_clear(&array);
}

/* --- What else a store that decodes must do. */

/* Absent chunks are absent: nothing is decoded. */
static void absent_compressed_chunks(void)
{
    const size_t dim = 10, chunk = 4, zero = 0;
    const int fill_value = 5;
    int data[10];

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init(&array, 1, &dim, &chunk, sizeof(int));
        memory_array_compress(&array);
        memory_chunk_remove(&array.chunks[1], NCZCHUNK_EEMPTY);
        var = memory_array_var(&array);
        CHECK_OK(nczchunk_var_set_fill_value(var, &fill_value, NULL));
        store = coads_store(&array, store_kinds[kind]);
        CHECK_OK(nczchunk_read_vars(var, store, &zero, NULL, NULL, data, NULL));
        memory_array_expect(&array, &zero, NULL, NULL, &fill_value, data);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* A codec may be there twice: then chunks are frames in frames. */
static void frames_in_frames(void)
{
    const size_t dim = 10, chunk = 4, zero = 0;
    int data[10];

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init(&array, 1, &dim, &chunk, sizeof(int));
        memory_array_compress(&array);
        memory_array_compress(&array);
        var = memory_array_var(&array);
        store = coads_store(&array, store_kinds[kind]);
        store_add_zstd(store);
        CHECK_OK(nczchunk_read_vars(var, store, &zero, NULL, NULL, data, NULL));
        memory_array_expect(&array, &zero, NULL, NULL, NULL, data);
        nczchunk_chunk_store_free(store);
        CHECK_EQ(array.destroyed, 1);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

/* --- Decoding stops after the last byte that is needed, unless all is to be verified. */

enum { BLOCKS = 8, LONG_CHUNK = BLOCKS * 128 * 1024 };

/* What a long chunk of blocks that are not compressed may have wrong at its end. */
typedef enum fault { NO_FAULT, BAD_BLOCK, CUT_OFF, TOO_SHORT, TOO_LONG, GARBAGE, NUM_FAULTS } fault;

/* Puts a frame into the chunk whose first block is sound. */
static void make_long_chunk(memory_chunk *chunk, const unsigned char *bytes, fault f)
{
    static unsigned char stored[LONG_CHUNK + 1024];
    size_t n = zstd_frame_begin_unsized(stored), last = 0;

    for (size_t block = 0; block < BLOCKS; block++) {
        last = n;
        n += zstd_frame_raw_block(stored + n, bytes + block * ZSTD_BLOCK_MAX, ZSTD_BLOCK_MAX,
                                  block == BLOCKS - 1 && f != TOO_LONG);
    }
    switch (f) {
    case BAD_BLOCK: stored[last] |= 3u << 1; break; /* a kind of block that there is not */
    case CUT_OFF: n--; break;
    case TOO_SHORT: n = last - 3 - ZSTD_BLOCK_MAX, n += zstd_frame_raw_block(stored + n, bytes, 10, 1); break;
    case TOO_LONG: n += zstd_frame_raw_block(stored + n, bytes, 1, 1); break;
    case GARBAGE: memcpy(stored + n, "garbage", 7), n += 7; break;
    default: break;
    }
    memory_chunk_set(chunk, stored, n);
    chunk->status = NCZCHUNK_NOERR;
}

/* Each fault at the end of a chunk is noticed by who reads all of it, or its last element, or has it verified. Who
 * reads the beginning, and does not, gets what is there. */
static void faults_behind_what_is_needed(store_kind kind)
{
    static const int expected[NUM_FAULTS] = {NCZCHUNK_NOERR,     NCZCHUNK_EIO,       NCZCHUNK_EIO,
                                             NCZCHUNK_EBADCHUNK, NCZCHUNK_EBADCHUNK, NCZCHUNK_EIO};
    static unsigned char bytes[LONG_CHUNK], data[LONG_CHUNK];
    const size_t length = LONG_CHUNK, zero = 0, one = 1, part = 1000, begin = 50, end = LONG_CHUNK - 1;

    for (size_t i = 0; i < LONG_CHUNK; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    for (fault f = NO_FAULT; f < NUM_FAULTS; f++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        memory_array_init_absent(&array, 1, &length, &length, 1);
        make_long_chunk(&array.chunks[0], bytes, f);
        var = memory_array_var(&array);
        store = coads_store(&array, kind);
        for (int verify = 0; verify <= 1; verify++) {
            CHECK_OK(nczchunk_chunk_store_set_verify(store, verify, NULL));
            memset(data, 0, sizeof data);
            CHECK_EQ(nczchunk_read_vars(var, store, &begin, &part, NULL, data, NULL), verify ? expected[f] : 0);
            if (!verify || expected[f] == 0)
                CHECK(memcmp(data, bytes + begin, part) == 0);
            CHECK_EQ(nczchunk_read_vars(var, store, &zero, NULL, NULL, data, NULL), expected[f]);
            CHECK_EQ(nczchunk_read_vars(var, store, &end, &one, NULL, data, NULL), expected[f]);
        }
        /* It can be set back. */
        CHECK_OK(nczchunk_chunk_store_set_verify(store, 0, NULL));
        CHECK_OK(nczchunk_read_vars(var, store, &begin, &part, NULL, data, NULL));
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
    CHECK_EQ(nczchunk_chunk_store_set_verify(NULL, 1, NULL), NCZCHUNK_EINVAL);
}

/* A fault before the last byte that is needed is always noticed: elements that are not there are not made up. */
static void a_chunk_that_ends_before_what_is_needed(store_kind kind)
{
    static unsigned char bytes[LONG_CHUNK];
    const size_t length = LONG_CHUNK, start = LONG_CHUNK - ZSTD_BLOCK_MAX - 10, count = 20;
    unsigned char data[20];

    for (fault f = BAD_BLOCK; f <= TOO_SHORT; f++) {
        memory_array array;
        nczchunk_var *var;
        nczchunk_chunk_store *store;

        if (f == CUT_OFF)
            continue; /* only its last byte is missing */
        memory_array_init_absent(&array, 1, &length, &length, 1);
        make_long_chunk(&array.chunks[0], bytes, f);
        var = memory_array_var(&array);
        store = coads_store(&array, kind);
        CHECK_EQ(nczchunk_read_vars(var, store, &start, &count, NULL, data, NULL),
                 f == TOO_SHORT ? NCZCHUNK_EBADCHUNK : NCZCHUNK_EIO);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
        memory_array_clear(&array);
    }
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "data";

    real_chunks(directory);
    a_frame_fills_the_chunk();
    a_frame_of_one_repeated_byte();
    several_frames_make_a_chunk();
    many_small_frames_need_more_room();
    a_frame_that_lies_about_its_size();
    a_frame_that_says_its_size_and_does_not_fit();
    a_frame_that_expands_without_end();
    two_frames_that_are_too_much_together();
    a_truncated_frame();
    garbage_after_a_frame();
    no_frame_at_all();
    spoilt_bytes_of_a_real_chunk(directory);
    absent_compressed_chunks();
    frames_in_frames();
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        faults_behind_what_is_needed(store_kinds[kind]);
        a_chunk_that_ends_before_what_is_needed(store_kinds[kind]);
    }
    return 0;
}
