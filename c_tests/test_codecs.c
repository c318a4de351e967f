/*
 * Codecs of the program's own: after test_zstd.c.
 *
 * A codec has a callback that decodes and, unless stores with it are only read, one that encodes. Each gets a source,
 * a destination with room for capacity bytes, and says in nbytes how many it has made.
 *
 *     static int decode(void *user, nczchunk_coding *coding)
 *
 *     nczchunk_codec_callbacks callbacks = {.struct_size = sizeof callbacks, .decode = decode, .encode = encode};
 *     nczchunk_codec_new("mine", &callbacks, &codec, context);
 *     nczchunk_chunk_store_add_codec(store, codec, context);          from here on the codec is the store's
 *
 * There are three here: one that changes every byte, one that changes the length, and one that adds a checksum. Chunks
 * go through one of them, or through several one after another.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "zstd_frame.h"

enum { WORDS = 1000, CHUNK_WORDS = 300, CHUNKS = 4, CHUNK_BYTES = CHUNK_WORDS * 4 };

static const size_t words = WORDS, chunk_words = CHUNK_WORDS, zero = 0;

/* --- The codecs. What they were asked is counted, atomically, for several threads may ask. */

typedef struct codec_log {
    long decoded, encoded, destroyed;
    /* What decode was asked last. */
    size_t needed_offset, needed_size, capacity;
    /* What encode was asked last. */
    size_t encode_capacity;
    /* Whether decode leaves out what is not needed. */
    int stops_early;
    /* How many bytes of the result it did, in all. */
    size_t decoded_bytes;
    /* What the callbacks return instead of 0: at the one that is entered as this number, counted from 1; 0: at all. */
    int decode_status, encode_status, failing_turn;
    /* So many bytes more than there are, or fewer, are told: at all, or at that one. */
    ptrdiff_t error;
    /* What is called at that one, if anything. */
    void (*act)(void *argument);
    void *argument;
    /* How many threads are in a callback, and how many there were at most. */
    int inside, most_inside;
    /* How often a callback was entered; all but the first wait until so many threads are inside at the same time. */
    int entered, meeting;
    int naps;
} codec_log;

/* Tells how many callbacks have been entered, with this one. */
static int enter(codec_log *log)
{
    const struct timespec moment = {0, 20000000}; /* so long that it is worth to begin another thread */
    int number = __atomic_add_fetch(&log->entered, 1, __ATOMIC_SEQ_CST);
    int inside = __atomic_add_fetch(&log->inside, 1, __ATOMIC_SEQ_CST);
    int most = __atomic_load_n(&log->most_inside, __ATOMIC_SEQ_CST);

    while (inside > most && !__atomic_compare_exchange_n(&log->most_inside, &most, inside, 0, __ATOMIC_SEQ_CST,
                                                         __ATOMIC_SEQ_CST))
        ;
    if (log->naps)
        nanosleep(&moment, NULL);
    for (int i = 0; number > 1 && i < 500 && __atomic_load_n(&log->most_inside, __ATOMIC_SEQ_CST) < log->meeting; i++)
        nanosleep(&moment, NULL);
    if (log->act != NULL && number == log->failing_turn)
        log->act(log->argument);
    return number;
}

/* Whether the callback that was entered as this number is one that is to fail. */
static int is_its_turn(const codec_log *log, int number)
{
    return log->failing_turn == 0 || number == log->failing_turn;
}

/* What the callback that was entered as this number returns. */
static int outcome(const codec_log *log, int number, int status)
{
    return is_its_turn(log, number) ? status : NCZCHUNK_NOERR;
}

static void leave(codec_log *log)
{
    __atomic_sub_fetch(&log->inside, 1, __ATOMIC_SEQ_CST);
}

static void check_coding(const nczchunk_coding *coding)
{
    CHECK_EQ(coding->struct_size, sizeof *coding);
    CHECK_EQ(coding->nbytes, 0);
    CHECK(coding->source != NULL && coding->destination != NULL);
}

/* Begins to decode; returns how many of so many bytes are to be made. */
static size_t begin_decoding(codec_log *log, const nczchunk_coding *coding, size_t all)
{
    check_coding(coding);
    CHECK(coding->needed_size > 0 && coding->needed_offset + coding->needed_size <= coding->capacity);
    __atomic_fetch_add(&log->decoded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&log->needed_offset, coding->needed_offset, __ATOMIC_RELAXED);
    __atomic_store_n(&log->needed_size, coding->needed_size, __ATOMIC_RELAXED);
    __atomic_store_n(&log->capacity, coding->capacity, __ATOMIC_RELAXED);
    if (log->stops_early && coding->needed_offset + coding->needed_size < all)
        all = coding->needed_offset + coding->needed_size;
    __atomic_fetch_add(&log->decoded_bytes, all, __ATOMIC_RELAXED);
    return all;
}

/* Every byte is changed. */
static int xor_decode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;
    size_t n = begin_decoding(log, coding, coding->source_size);
    const int number = enter(log);

    for (size_t i = 0; i < n && i < coding->capacity; i++)
        to[i] = from[i] ^ 0x5A;
    coding->nbytes = n + (is_its_turn(log, number) ? (size_t)log->error : 0);
    leave(log);
    return outcome(log, number, log->decode_status);
}

static int xor_encode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;
    const int number = enter(log);

    check_coding(coding);
    __atomic_fetch_add(&log->encoded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&log->encode_capacity, coding->capacity, __ATOMIC_RELAXED);
    for (size_t i = 0; i < coding->source_size && i < coding->capacity; i++)
        to[i] = from[i] ^ 0x5A;
    coding->nbytes = coding->source_size + (is_its_turn(log, number) ? (size_t)log->error : 0);
    leave(log);
    return outcome(log, number, log->encode_status);
}

/* Bytes that are repeated are counted: pairs of a number and a byte. */
static int runs_decode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;
    size_t all = 0, n;

    if (coding->source_size % 2 != 0)
        return NCZCHUNK_EIO;
    for (size_t i = 0; i < coding->source_size; i += 2)
        all += from[i];
    n = begin_decoding(log, coding, all);
    for (size_t i = 0; i < coding->source_size; i += 2)
        for (size_t repeated = 0; repeated < from[i] && coding->nbytes < n; repeated++) {
            if (coding->nbytes == coding->capacity) {
                coding->nbytes = SIZE_MAX; /* more than there is room for */
                return NCZCHUNK_NOERR;
            }
            to[coding->nbytes++] = from[i + 1];
        }
    return log->decode_status;
}

static int runs_encode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const unsigned char *from = coding->source;
    unsigned char *to = coding->destination;

    check_coding(coding);
    __atomic_fetch_add(&log->encoded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&log->encode_capacity, coding->capacity, __ATOMIC_RELAXED);
    for (size_t i = 0; i < coding->source_size;) {
        unsigned char length = 1;

        while (length < 255 && i + length < coding->source_size && from[i + length] == from[i])
            length++;
        CHECK(coding->nbytes + 2 <= coding->capacity);
        to[coding->nbytes++] = length;
        to[coding->nbytes++] = from[i];
        i += length;
    }
    return log->encode_status;
}

static size_t runs_bound(void *user, size_t decoded_size)
{
    (void)user;
    return decoded_size <= SIZE_MAX / 2 ? 2 * decoded_size : SIZE_MAX;
}

/* Four bytes follow: the sum of all before. */
static uint32_t sum_of(const unsigned char *bytes, size_t n)
{
    uint32_t sum = 1;

    for (size_t i = 0; i < n; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

static int sum_decode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const unsigned char *from = coding->source;
    uint32_t sum;
    size_t n;

    if (coding->source_size < sizeof sum)
        return NCZCHUNK_EIO;
    n = begin_decoding(log, coding, coding->source_size - sizeof sum);
    if (n > coding->capacity) {
        coding->nbytes = n;
        return NCZCHUNK_NOERR;
    }
    memcpy(coding->destination, from, n);
    coding->nbytes = n;
    if (n < coding->source_size - sizeof sum)
        return NCZCHUNK_NOERR; /* not to its end */
    memcpy(&sum, from + n, sizeof sum);
    return sum == sum_of(from, n) ? log->decode_status : NCZCHUNK_EIO;
}

static int sum_encode(void *user, nczchunk_coding *coding)
{
    codec_log *log = user;
    const uint32_t sum = sum_of(coding->source, coding->source_size);

    check_coding(coding);
    __atomic_fetch_add(&log->encoded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&log->encode_capacity, coding->capacity, __ATOMIC_RELAXED);
    CHECK(coding->capacity >= coding->source_size + sizeof sum);
    memcpy(coding->destination, coding->source, coding->source_size);
    memcpy((unsigned char *)coding->destination + coding->source_size, &sum, sizeof sum);
    coding->nbytes = coding->source_size + sizeof sum;
    return log->encode_status;
}

static size_t sum_bound(void *user, size_t decoded_size)
{
    (void)user;
    return decoded_size <= SIZE_MAX - 4 ? decoded_size + 4 : SIZE_MAX;
}

static void count_destroyed(void *user)
{
    codec_log *log = user;
    log->destroyed++;
}

/* The letters that stand for codecs in the tests. */
static nczchunk_codec_callbacks callbacks_of(char letter, codec_log *log)
{
    nczchunk_codec_callbacks xor = {.struct_size = sizeof xor, .user = log, .decode = xor_decode,
                                    .encode = xor_encode, .destroy = count_destroyed, .concurrent = 1};
    nczchunk_codec_callbacks runs = {.struct_size = sizeof runs, .user = log, .decode = runs_decode,
                                     .encode = runs_encode, .encoded_bound = runs_bound,
                                     .destroy = count_destroyed, .concurrent = 1};
    nczchunk_codec_callbacks sum = {.struct_size = sizeof sum, .user = log, .decode = sum_decode,
                                    .encode = sum_encode, .encoded_bound = sum_bound, .destroy = count_destroyed,
                                    .concurrent = 1};
    return letter == 'x' ? xor : letter == 'r' ? runs : sum;
}

static void add_codec(nczchunk_chunk_store *store, char letter, codec_log *log)
{
    const nczchunk_codec_callbacks callbacks = callbacks_of(letter, log);
    const char name[2] = {letter, 0};
    nczchunk_codec *codec;

    if (letter == 'z') {
        store_add_zstd(store);
        return;
    }
    CHECK_OK(nczchunk_codec_new(name, &callbacks, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(store, codec, NULL));
}

/* --- An array of 1000 numbers in four chunks, all absent, and a store that encodes by a chain. */

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    codec_log logs[4];
    uint32_t data[WORDS];
} fixture;

static void open_fixture(fixture *f, const char *chain)
{
    nczchunk_reader_callbacks filling = memory_array_filling(&f->array);

    memset(f, 0, sizeof *f);
    filling.concurrent = 1;
    memory_array_init_absent(&f->array, 1, &words, &chunk_words, sizeof(uint32_t));
    f->var = memory_array_var(&f->array);
    CHECK_OK(nczchunk_chunk_store_new(&filling, &f->store, NULL));
    for (size_t i = 0; chain[i] != 0; i++)
        add_codec(f->store, chain[i], &f->logs[i]);
    CHECK_OK(nczchunk_context_new(&f->context));
    for (uint32_t i = 0; i < WORDS; i++)
        f->data[i] = i / 10 * 0x01010101u;
}

static void close_fixture(fixture *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static int write_all(const fixture *f)
{
    return nczchunk_write_vars(f->var, f->store, &zero, NULL, NULL, f->data, f->context);
}

static int read_some(const fixture *f, size_t start, size_t count, uint32_t *data)
{
    return nczchunk_read_vars(f->var, f->store, &start, &count, NULL, data, f->context);
}

static void check_reads_back(const fixture *f)
{
    uint32_t after[WORDS];

    CHECK_OK(read_some(f, 0, WORDS, after));
    CHECK(memcmp(f->data, after, sizeof after) == 0);
    /* The whole of a chunk, which lands in one piece; the last of another; some of two. */
    CHECK_OK(read_some(f, 300, 300, after));
    CHECK(memcmp(f->data + 300, after, 300 * sizeof *after) == 0);
    CHECK_OK(read_some(f, 899, 1, after));
    CHECK_EQ(after[0], f->data[899]);
    CHECK_OK(read_some(f, 290, 20, after));
    CHECK(memcmp(f->data + 290, after, 20 * sizeof *after) == 0);
}

/* --- There and back. */

static const char *const chains[] = {"x",  "r",  "s",  "z",   "xr",  "rx",  "sx",  "zs",  "sz",
                                     "rz", "xs", "xrs", "szx", "rsz", "zzs", "xzs", "srzx"};
#define NUM_CHAINS (sizeof chains / sizeof *chains)

/* What a chain has encoded, it decodes; a part of what is there is changed by decoding it first. */
static void what_was_written_reads_back(const char *chain)
{
    const size_t start = 3, count = 142;
    const ptrdiff_t stride = 7;
    uint32_t news[142];
    fixture f;

    open_fixture(&f, chain);
    CHECK_OK(write_all(&f));
    CHECK_EQ(f.array.asked, 0);
    CHECK_EQ(f.array.written, CHUNKS);
    check_reads_back(&f);

    for (uint32_t i = 0; i < 142; i++)
        f.data[3 + 7 * i] = news[i] = 5000000 + i;
    for (size_t i = 0; i < 4; i++)
        f.logs[i].decoded = f.logs[i].encoded = 0;
    CHECK_OK(nczchunk_write_vars(f.var, f.store, &start, &count, &stride, news, f.context));
    for (size_t i = 0; chain[i] != 0; i++)
        if (chain[i] != 'z') {
            CHECK_EQ(f.logs[i].decoded, CHUNKS);
            CHECK_EQ(f.logs[i].encoded, CHUNKS);
        }
    check_reads_back(&f);
    close_fixture(&f);
    for (size_t i = 0; chain[i] != 0; i++)
        CHECK_EQ(f.logs[i].destroyed, chain[i] != 'z');
}

/* What is stored is what the codecs, in their order, make of a chunk: here by hand. */
static void the_chain_is_in_the_order_of_encoding(void)
{
    unsigned char bytes[2 * CHUNK_BYTES + 4], once[2 * CHUNK_BYTES + 4];
    codec_log log = {0};
    nczchunk_coding coding = {.struct_size = sizeof coding, .source_size = CHUNK_BYTES, .destination = once,
                              .capacity = sizeof once};
    fixture f;

    open_fixture(&f, "rxs");
    coding.source = f.data;
    CHECK_OK(write_all(&f));
    CHECK_OK(runs_encode(&log, &coding));
    for (size_t i = 0; i < coding.nbytes; i++)
        bytes[i] = once[i] ^ 0x5A;
    coding.source_size = coding.nbytes;
    coding.nbytes = 0;
    coding.source = bytes;
    CHECK_OK(sum_encode(&log, &coding));
    CHECK_EQ(f.array.chunks[0].nbytes, coding.nbytes);
    CHECK(memcmp(f.array.chunks[0].bytes, once, coding.nbytes) == 0);
    /* Each codec had room for what its bound says of what it was given: for the last chunk, which was the last. */
    CHECK_EQ(f.logs[0].encode_capacity, 2 * CHUNK_BYTES);
    CHECK_EQ(f.logs[1].encode_capacity, f.array.chunks[CHUNKS - 1].nbytes - 4);
    CHECK_EQ(f.logs[2].encode_capacity, f.array.chunks[CHUNKS - 1].nbytes);
    close_fixture(&f);
}

/* A store that lends encoded chunks reads them, whatever the chain, and cannot be written to. */
static void chunks_on_loan(const char *chain)
{
    nczchunk_zero_copy_callbacks lending;
    fixture f;

    open_fixture(&f, chain);
    CHECK_OK(write_all(&f));
    nczchunk_chunk_store_free(f.store);
    lending = memory_array_lending(&f.array);
    CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f.store, NULL));
    for (size_t i = 0; chain[i] != 0; i++)
        add_codec(f.store, chain[i], &f.logs[i]);
    f.array.asked = f.array.released = f.array.written = 0;
    check_reads_back(&f);
    CHECK_EQ(f.array.released, f.array.asked);
    CHECK_EQ(write_all(&f), NCZCHUNK_EPERM);
    CHECK_EQ(f.array.written, 0);
    close_fixture(&f);
}

/* Without encode a store is read-only. */
static void a_codec_that_only_decodes(void)
{
    for (size_t where = 0; where < 2; where++) {
        codec_log log = {0};
        nczchunk_codec_callbacks callbacks = callbacks_of('x', &log);
        nczchunk_reader_callbacks filling;
        nczchunk_codec *codec;
        fixture f;

        open_fixture(&f, where == 0 ? "xs" : "sx");
        CHECK_OK(write_all(&f));
        nczchunk_chunk_store_free(f.store);
        filling = memory_array_filling(&f.array);
        CHECK_OK(nczchunk_chunk_store_new(&filling, &f.store, NULL));
        callbacks.encode = NULL;
        CHECK_OK(nczchunk_codec_new("x", &callbacks, &codec, NULL));
        if (where == 1)
            add_codec(f.store, 's', &f.logs[1]);
        CHECK_OK(nczchunk_chunk_store_add_codec(f.store, codec, NULL));
        if (where == 0)
            add_codec(f.store, 's', &f.logs[1]);
        f.array.written = 0;
        check_reads_back(&f);
        CHECK_EQ(write_all(&f), NCZCHUNK_EPERM);
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, &zero, (const size_t[1]){1}, NULL, f.data, NULL), NCZCHUNK_EPERM);
        CHECK_EQ(f.array.written, 0);
        close_fixture(&f);
        CHECK_EQ(log.destroyed, 1);
    }
}

/* Absent chunks are not decoded. */
static void absent_chunks(void)
{
    const uint32_t fill_value = 77;
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "xs");
    CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
    CHECK_OK(read_some(&f, 0, WORDS, data));
    for (size_t i = 0; i < WORDS; i++)
        CHECK_EQ(data[i], 77);
    CHECK_EQ(f.logs[0].decoded + f.logs[1].decoded, 0);
    close_fixture(&f);
}

/* --- What is needed. */

/* The first codec of a chain is told which bytes of the chunk are needed; with verify, that is all of them. */
static void what_is_needed_is_told(void)
{
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "xs");
    CHECK_OK(write_all(&f));
    for (int verify = 0; verify <= 1; verify++) {
        CHECK_OK(nczchunk_chunk_store_set_verify(f.store, verify, NULL));
        CHECK_OK(read_some(&f, 310, 5, data));
        CHECK_EQ(f.logs[0].capacity, CHUNK_BYTES);
        CHECK_EQ(f.logs[0].needed_offset, verify ? 0 : 10 * 4);
        CHECK_EQ(f.logs[0].needed_size, verify ? CHUNK_BYTES : 5 * 4);
        /* What the first needs of it is not known to the second. */
        CHECK_EQ(f.logs[1].needed_offset, 0);
        CHECK_EQ(f.logs[1].needed_size, f.logs[1].capacity);
        CHECK_EQ(f.logs[1].capacity, CHUNK_BYTES);
    }
    /* A whole chunk, and one of which a part is changed. */
    CHECK_OK(nczchunk_chunk_store_set_verify(f.store, 0, NULL));
    CHECK_OK(read_some(&f, 300, 300, data));
    CHECK_EQ(f.logs[0].needed_size, CHUNK_BYTES);
    CHECK_OK(nczchunk_write_vars(f.var, f.store, &zero, (const size_t[1]){1}, NULL, f.data, NULL));
    CHECK_EQ(f.logs[0].needed_offset, 0);
    CHECK_EQ(f.logs[0].needed_size, CHUNK_BYTES);
    check_reads_back(&f);
    close_fixture(&f);
}

/* A codec may leave out what follows. Then a checksum behind it is not verified, unless the store says so. */
static void codecs_that_stop_early(void)
{
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "s");
    CHECK_OK(write_all(&f));
    f.logs[0].stops_early = 1;
    check_reads_back(&f);
    f.logs[0].decoded_bytes = 0;
    CHECK_OK(read_some(&f, 310, 5, data));
    CHECK_EQ(f.logs[0].decoded_bytes, 15 * 4);

    f.array.chunks[1].bytes[f.array.chunks[1].nbytes - 1] ^= 1;
    CHECK_OK(read_some(&f, 310, 5, data));
    CHECK(memcmp(data, f.data + 310, 5 * sizeof *data) == 0);
    CHECK_EQ(read_some(&f, 300, 300, data), NCZCHUNK_EIO);
    CHECK_EQ(read_some(&f, 599, 1, data), NCZCHUNK_EIO);
    CHECK_OK(nczchunk_chunk_store_set_verify(f.store, 1, NULL));
    CHECK_EQ(read_some(&f, 310, 5, data), NCZCHUNK_EIO);
    CHECK_OK(nczchunk_chunk_store_set_verify(f.store, 0, NULL));
    CHECK_OK(read_some(&f, 310, 5, data));
    close_fixture(&f);
}

/* --- Results of other lengths, and errors. */

/* All that is needed must be there; and of a chunk that is needed to its end, neither less nor more. */
static void results_of_the_wrong_length(void)
{
    static const ptrdiff_t errors[] = {-CHUNK_BYTES, -1, 1, 1000, PTRDIFF_MAX - CHUNK_BYTES, -CHUNK_BYTES - 1};
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "x");
    CHECK_OK(write_all(&f));
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        f.logs[0].error = errors[i];
        CHECK_EQ(read_some(&f, 300, 300, data), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 0);
        CHECK(nczchunk_context_chunk(f.context, NULL) != NULL);
        CHECK_EQ(read_some(&f, 599, 1, data), NCZCHUNK_EBADCHUNK);
        /* One byte less at its end is nobody's concern who needs the beginning. */
        CHECK_EQ(read_some(&f, 300, 10, data), errors[i] == -1 ? NCZCHUNK_NOERR : NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_write_vars(f.var, f.store, &zero, (const size_t[1]){1}, NULL, f.data, NULL),
                 NCZCHUNK_EBADCHUNK);
    }
    f.logs[0].error = 0;
    check_reads_back(&f);
    /* Longer or shorter as it is stored. */
    for (ptrdiff_t change = -1; change <= 1; change += 2) {
        unsigned char bytes[CHUNK_BYTES + 1] = {0};

        memory_chunk_set(&f.array.chunks[0], bytes, (size_t)(CHUNK_BYTES + change));
        CHECK_EQ(read_some(&f, 0, 300, data), NCZCHUNK_EBADCHUNK);
    }
    close_fixture(&f);
}

/* Between two codecs as well. The sum notices what the codec before it in decoding has made too long or too short. */
static void results_of_the_wrong_length_within_a_chain(void)
{
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "sx");
    CHECK_OK(write_all(&f));
    f.logs[1].error = 1;
    CHECK_EQ(read_some(&f, 0, 300, data), NCZCHUNK_EBADCHUNK);
    f.logs[1].error = -1;
    CHECK_EQ(read_some(&f, 0, 300, data), NCZCHUNK_EIO);
    f.logs[1].error = 0;
    check_reads_back(&f);
    close_fixture(&f);
}

/* What a callback returns is what the call returns, at the chunk at which it did. */
static void errors_of_callbacks(void)
{
    static const int statuses[] = {NCZCHUNK_EIO, NCZCHUNK_EFILTER, NCZCHUNK_ENOFILTER, EACCES, 12345, -1};
    uint32_t data[WORDS];

    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        for (size_t which = 0; which < 2; which++) {
            size_t rank = 0;
            fixture f;

            open_fixture(&f, "xx");
            f.logs[which].encode_status = statuses[i];
            CHECK_EQ(write_all(&f), statuses[i]);
            CHECK_EQ(f.array.written, 0);
            f.logs[which].encode_status = 0;
            CHECK_OK(write_all(&f));
            f.logs[which].decode_status = statuses[i];
            CHECK_EQ(read_some(&f, 0, WORDS, data), statuses[i]);
            CHECK(nczchunk_context_chunk(f.context, &rank) != NULL);
            CHECK_EQ(rank, 1);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), 0);
            CHECK(strncmp(nczchunk_context_message(f.context), "x: chunk (0): the callback failed with", 38) == 0);
            /* To change a part of a chunk, it must be decoded. */
            f.array.written = 0;
            CHECK_EQ(nczchunk_write_vars(f.var, f.store, &zero, (const size_t[1]){1}, NULL, f.data, NULL), statuses[i]);
            CHECK_EQ(f.array.written, 0);
            f.logs[which].decode_status = 0;
            check_reads_back(&f);
            close_fixture(&f);
        }
    }
}

/* Every other word is written: each chunk is decoded, changed and encoded. */
static int write_every_other(fixture *f)
{
    return nczchunk_write_vars(f->var, f->store, &zero, (const size_t[1]){WORDS / 2}, (const ptrdiff_t[1]){2}, f->data,
                               f->context);
}

/* A callback fails once, whichever it is: at that chunk the call ends. The same call again does all of it. */
static void an_error_at_every_callback(void)
{
    uint32_t data[WORDS];

    for (size_t which = 0; which < 2; which++) {
        for (int turn = 1; turn <= 2 * CHUNKS; turn++) {
            const size_t done = (size_t)(turn - 1) / 2;
            fixture f;

            open_fixture(&f, "xx");
            CHECK_OK(write_all(&f));
            f.logs[which].decode_status = f.logs[which].encode_status = EACCES;

            /* A read calls once for each chunk, and so does a write of all. */
            f.logs[which].failing_turn = turn;
            f.logs[which].entered = 0;
            CHECK_EQ(read_some(&f, 0, WORDS, data), turn <= CHUNKS ? EACCES : NCZCHUNK_NOERR);
            if (turn <= CHUNKS)
                CHECK_EQ(nczchunk_context_chunks_done(f.context), turn - 1);
            CHECK(memcmp(data, f.data, (turn <= CHUNKS ? (size_t)(turn - 1) * CHUNK_WORDS : WORDS) * 4) == 0);
            f.logs[which].entered = 0;
            CHECK_EQ(write_all(&f), turn <= CHUNKS ? EACCES : NCZCHUNK_NOERR);

            /* A write of a part calls twice. */
            f.logs[which].entered = 0;
            f.array.written = 0;
            CHECK_EQ(write_every_other(&f), EACCES);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), done);
            CHECK_EQ(f.array.written, done);
            CHECK_EQ(nczchunk_context_chunk(f.context, NULL)[0], done);
            CHECK_OK(write_every_other(&f)); /* the turn is over */
            CHECK_OK(read_some(&f, 0, WORDS, data));
            for (size_t i = 0; i < WORDS; i++)
                CHECK_EQ(data[i], i % 2 == 0 ? f.data[i / 2] : f.data[i]);
            close_fixture(&f);
        }
    }
}

/* After every other word was written over what write_all had written. */
static void check_every_other(const fixture *f)
{
    uint32_t data[WORDS];

    CHECK_OK(read_some(f, 0, WORDS, data));
    for (size_t i = 0; i < WORDS; i++)
        CHECK_EQ(data[i], i % 2 == 0 ? f->data[i / 2] : f->data[i]);
}

/* The last chunk is needed to the array's end only, so that a byte less at its own end is nobody's concern. */
static int is_noticed(size_t chunk, ptrdiff_t error)
{
    return chunk < CHUNKS - 1 || error != -1;
}

/* A read in which one decoder tells a wrong length once. */
static void a_wrong_length_in_a_read(fixture *f, codec_log *log, ptrdiff_t error, int turn)
{
    const size_t done = (size_t)turn - 1;
    uint32_t data[WORDS];

    log->error = error;
    log->failing_turn = turn;
    log->entered = 0;
    if (is_noticed(done, error)) {
        CHECK_EQ(read_some(f, 0, WORDS, data), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_context_chunks_done(f->context), done);
        CHECK_EQ(nczchunk_context_chunk(f->context, NULL)[0], done);
        CHECK(memcmp(data, f->data, done * CHUNK_BYTES) == 0);
    } else {
        CHECK_OK(read_some(f, 0, WORDS, data));
        CHECK(memcmp(data, f->data, sizeof data) == 0);
    }
    check_reads_back(f); /* the turn is over */
}

/* A write of a part calls twice for each chunk: to decode it and to encode it. */
static void a_wrong_length_in_a_write(fixture *f, codec_log *log, ptrdiff_t error, int turn)
{
    const size_t done = (size_t)(turn - 1) / 2;
    const int is_decoder = turn % 2 == 1;
    uint32_t data[WORDS];

    log->error = error;
    log->failing_turn = turn;
    log->entered = 0;
    f->array.written = 0;
    if (is_decoder || error > 0) {
        CHECK_EQ(write_every_other(f), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_context_chunks_done(f->context), done);
        CHECK_EQ(nczchunk_context_chunk(f->context, NULL)[0], done);
        CHECK_EQ(f->array.written, done);
        CHECK_OK(write_every_other(f));
        check_every_other(f);
        return;
    }
    /* Whether an encoder has left something out, only a decoder can tell. */
    CHECK_OK(write_every_other(f));
    CHECK_EQ(f->array.written, CHUNKS);
    if (is_noticed(done, error)) {
        CHECK_EQ(read_some(f, 0, WORDS, data), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_context_chunks_done(f->context), done);
    } else {
        check_every_other(f);
    }
    CHECK_OK(write_all(f));
    check_reads_back(f);
}

/* A callback tells a wrong length once, whichever it is: nothing at all, less or more than there is, or more than there
 * is room for. */
static void a_wrong_length_at_every_callback(void)
{
    static const ptrdiff_t errors[] = {-CHUNK_BYTES, -1, 1, 1000, PTRDIFF_MAX - CHUNK_BYTES};

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        for (size_t which = 0; which < 2; which++)
            for (int turn = 1; turn <= 2 * CHUNKS; turn++) {
                fixture f;

                open_fixture(&f, "xx");
                CHECK_OK(write_all(&f));
                if (turn <= CHUNKS)
                    a_wrong_length_in_a_read(&f, &f.logs[which], errors[i], turn);
                a_wrong_length_in_a_write(&f, &f.logs[which], errors[i], turn);
                close_fixture(&f);
            }
}

/* --- Callbacks that take their time, or call the library. */

static void sleep_a_moment(void *argument)
{
    const struct timespec moment = {0, 1000000};

    (void)argument;
    nanosleep(&moment, NULL);
}

static void use_another_array(void *argument)
{
    fixture other;

    (void)argument;
    open_fixture(&other, "xs");
    CHECK_OK(write_all(&other));
    check_reads_back(&other);
    close_fixture(&other);
}

/* By the same store, and so by the same codecs: every word is the old or the new one. */
static void use_the_same_array(void *argument)
{
    const fixture *f = argument;
    uint32_t data[WORDS];

    use_another_array(NULL);
    CHECK_OK(nczchunk_read_vars(f->var, f->store, &zero, NULL, NULL, data, NULL));
    for (size_t i = 0; i < WORDS; i++)
        CHECK(data[i] == f->data[i] || (i % 2 == 0 && data[i] == f->data[i / 2]));
}

/* Whichever callback it is: the call is none the worse for it. */
static void acts_at_every_callback(void (*act)(void *argument), size_t threads)
{
    for (size_t which = 0; which < 2; which++)
        for (int turn = 1; turn <= 2 * CHUNKS; turn++) {
            uint32_t data[WORDS];
            fixture f;

            open_fixture(&f, "xx");
            CHECK_OK(nczchunk_context_set_threads(f.context, threads));
            CHECK_OK(write_all(&f));
            f.logs[which].argument = &f;
            f.logs[which].failing_turn = turn;

            f.logs[which].act = act;
            f.logs[which].entered = 0;
            CHECK_OK(read_some(&f, 0, WORDS, data));
            CHECK(memcmp(data, f.data, sizeof data) == 0);

            /* While other threads write to this array, which has no lock, it must not be read. */
            if (threads > 1 && act == use_the_same_array)
                f.logs[which].act = use_another_array;
            f.logs[which].entered = 0;
            CHECK_OK(write_every_other(&f));
            CHECK(f.logs[which].entered >= 2 * CHUNKS);
            f.logs[which].act = NULL;
            check_every_other(&f);
            close_fixture(&f);
        }
}

/* An encoder that says it has made more than there is room for has not. */
static void an_encoder_that_makes_too_much(void)
{
    fixture f;

    open_fixture(&f, "x");
    f.logs[0].error = 1;
    CHECK_EQ(write_all(&f), NCZCHUNK_EBADCHUNK);
    CHECK_EQ(f.array.written, 0);
    close_fixture(&f);
}

static size_t bound_of_everything(void *user, size_t decoded_size)
{
    (void)user, (void)decoded_size;
    return SIZE_MAX;
}

static size_t bound_of_nothing(void *user, size_t decoded_size)
{
    (void)user, (void)decoded_size;
    return 1;
}

/* A bound that no memory is large enough for; and one that is too small, after which a chunk is asked for once more. */
static void odd_bounds(void)
{
    codec_log log = {0};
    nczchunk_codec_callbacks callbacks = callbacks_of('x', &log);
    nczchunk_codec *codec;
    uint32_t data[WORDS];
    fixture f;

    open_fixture(&f, "");
    callbacks.encoded_bound = bound_of_everything;
    CHECK_OK(nczchunk_codec_new("x", &callbacks, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(f.store, codec, NULL));
    CHECK_EQ(write_all(&f), NCZCHUNK_ENOMEM);
    CHECK_EQ(read_some(&f, 0, WORDS, data), NCZCHUNK_ENOMEM);
    close_fixture(&f);

    open_fixture(&f, "x");
    CHECK_OK(write_all(&f));
    nczchunk_chunk_store_free(f.store);
    f.store = memory_array_store(&f.array, FILLING);
    callbacks.encoded_bound = bound_of_nothing;
    CHECK_OK(nczchunk_codec_new("x", &callbacks, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(f.store, codec, NULL));
    f.array.asked = 0;
    CHECK_OK(read_some(&f, 0, WORDS, data));
    CHECK(memcmp(data, f.data, sizeof data) == 0);
    CHECK_EQ(f.array.asked, 2 * CHUNKS);
    close_fixture(&f);
    CHECK_EQ(log.destroyed, 2);
}

/* --- Whose a codec is. */

static void whose_a_codec_is(void)
{
    struct { nczchunk_codec_callbacks known; size_t added; } newer;
    codec_log log = {0};
    nczchunk_codec_callbacks callbacks = callbacks_of('x', &log);
    nczchunk_codec *codec = NULL;
    nczchunk_context *context;
    fixture f;

    CHECK_OK(nczchunk_context_new(&context));
    open_fixture(&f, "");
    nczchunk_codec_free(NULL);

    /* One that could not be made was never there. */
    CHECK_EQ(nczchunk_codec_new(NULL, &callbacks, &codec, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_codec_new("x", NULL, &codec, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_codec_new("x", &callbacks, NULL, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EINVAL);
    callbacks.decode = NULL;
    CHECK_EQ(nczchunk_codec_new("x", &callbacks, &codec, context), NCZCHUNK_EINVAL);
    callbacks = callbacks_of('x', &log);
    callbacks.struct_size = 0;
    CHECK_EQ(nczchunk_codec_new("x", &callbacks, &codec, context), NCZCHUNK_EINVAL);
    callbacks = callbacks_of('x', &log);
    memset(&newer, 0, sizeof newer);
    newer.known = callbacks;
    newer.known.struct_size = sizeof newer;
    newer.added = 1;
    CHECK_EQ(nczchunk_codec_new("x", &newer.known, &codec, context), NCZCHUNK_EINVAL);
    CHECK(codec == NULL);
    CHECK_EQ(log.destroyed, 0);

    /* One that no store has taken over is the caller's to free. */
    newer.added = 0;
    CHECK_OK(nczchunk_codec_new("x", &newer.known, &codec, context));
    CHECK_EQ(nczchunk_chunk_store_add_codec(NULL, codec, context), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_add_codec(f.store, NULL, context), NCZCHUNK_EINVAL);
    CHECK_EQ(log.destroyed, 0);
    nczchunk_codec_free(codec);
    CHECK_EQ(log.destroyed, 1);

    /* The others are freed by the store, each once, in whatever order. */
    for (int i = 0; i < 20; i++)
        add_codec(f.store, "xs"[i % 2], &log);
    CHECK_OK(write_all(&f));
    check_reads_back(&f);
    CHECK_EQ(log.destroyed, 1);
    close_fixture(&f);
    CHECK_EQ(log.destroyed, 21);
    nczchunk_context_free(context);
}

/* A codec without destroy, with a long name. */
static void names(void)
{
    codec_log log = {0};
    nczchunk_codec_callbacks callbacks = NCZCHUNK_CODEC_CALLBACKS_INIT;
    nczchunk_codec *codec;
    char name[300];

    callbacks.user = &log;
    callbacks.decode = xor_decode;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    CHECK_OK(nczchunk_codec_new(name, &callbacks, &codec, NULL));
    nczchunk_codec_free(codec);
    CHECK_OK(nczchunk_codec_new("", &callbacks, &codec, NULL));
    nczchunk_codec_free(codec);
    CHECK_OK(nczchunk_codec_new("\xff\xfe", &callbacks, &codec, NULL));
    nczchunk_codec_free(codec);
}

/* --- Several threads. */

/* A codec that does not say that it may be called so keeps the call to its own thread, though the store may. */
static void threads(void)
{
    for (int concurrent = 0; concurrent <= 1; concurrent++) {
        codec_log log = {.meeting = 1 + concurrent, .naps = 1};
        nczchunk_codec_callbacks callbacks = callbacks_of('x', &log);
        nczchunk_codec *codec;
        fixture f;

        open_fixture(&f, "s");
        callbacks.concurrent = concurrent;
        CHECK_OK(nczchunk_codec_new("x", &callbacks, &codec, NULL));
        CHECK_OK(nczchunk_chunk_store_add_codec(f.store, codec, NULL));
        CHECK_OK(nczchunk_context_set_threads(f.context, 2));
        CHECK_OK(write_all(&f));
        check_reads_back(&f);
        CHECK_EQ(log.most_inside, 1 + concurrent);
        close_fixture(&f);
    }
}

typedef struct caller {
    const fixture *f;
    pthread_t thread;
} caller;

static void *call(void *argument)
{
    const caller *c = argument;
    uint32_t data[WORDS];

    for (int i = 0; i < 50; i++) {
        CHECK_OK(nczchunk_read_vars(c->f->var, c->f->store, &zero, NULL, NULL, data, NULL));
        CHECK(memcmp(data, c->f->data, sizeof data) == 0);
    }
    return NULL;
}

static int plain_decode(void *user, nczchunk_coding *coding)
{
    (void)user;
    coding->nbytes = coding->source_size;
    memcpy(coding->destination, coding->source,
           coding->source_size < coding->capacity ? coding->source_size : coding->capacity);
    return NCZCHUNK_NOERR;
}

/* Two threads of the program use one store with a chain. */
static void calls_beside_each_other(void)
{
    const nczchunk_codec_callbacks callbacks = {.struct_size = sizeof callbacks, .decode = plain_decode,
                                                .encode = plain_decode, .concurrent = 1};
    caller callers[2];
    fixture f;

    open_fixture(&f, "z");
    for (int i = 0; i < 2; i++) {
        nczchunk_codec *codec;

        CHECK_OK(nczchunk_codec_new("plain", &callbacks, &codec, NULL));
        CHECK_OK(nczchunk_chunk_store_add_codec(f.store, codec, NULL));
    }
    CHECK_OK(write_all(&f));
    for (size_t i = 0; i < 2; i++) {
        callers[i].f = &f;
        CHECK_OK(pthread_create(&callers[i].thread, NULL, call, &callers[i]));
    }
    for (size_t i = 0; i < 2; i++)
        CHECK_OK(pthread_join(callers[i].thread, NULL));
    close_fixture(&f);
}

/* --- HDF5's filters, by their numbers: what a chain of them has stored comes back. */

static int add_filter(nczchunk_chunk_store *store, unsigned filter, size_t number, const unsigned *parameters)
{
    nczchunk_codec *codec = NULL;
    int status = nczchunk_codec_filter(filter, number, parameters, &codec, NULL);

    CHECK((status == NCZCHUNK_NOERR) == (codec != NULL));
    if (status == NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_chunk_store_add_codec(store, codec, NULL));
    return status;
}

static void filters(void)
{
    const unsigned level[1] = {6}, size[1] = {4}, blosc[7] = {2, 2, 4, 0, 5, 1, 1};
    const struct {
        const char *codec;
        unsigned filter;
        size_t number;
        const unsigned *parameters;
    } chain[] = {{"fletcher32", 3, 0, NULL}, {"shuffle", 2, 1, size}, {"zlib", 1, 1, level},
                 {"blosc", 32001, 7, blosc}, {"zstd", 32015, 1, level}};
    fixture f;
    unsigned data[WORDS], found[WORDS];

    open_fixture(&f, "");
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
        int status = add_filter(f.store, chain[i].filter, chain[i].number, chain[i].parameters);

        CHECK_EQ(status, nczchunk_has_codec(chain[i].codec) ? NCZCHUNK_NOERR : NCZCHUNK_ENOFILTER);
    }
    for (unsigned i = 0; i < WORDS; i++)
        data[i] = i / 3;
    CHECK_OK(nczchunk_write_vars(f.var, f.store, &zero, NULL, NULL, data, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, f.store, &zero, NULL, NULL, found, NULL));
    CHECK(memcmp(data, found, sizeof data) == 0);

    CHECK_EQ(add_filter(f.store, 305, 0, NULL), NCZCHUNK_ENOFILTER);
    CHECK_EQ(add_filter(f.store, 1, 0, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(add_filter(f.store, 1, 1, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(add_filter(f.store, 2, 1, (unsigned[]){0}), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_codec_filter(3, 0, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    close_fixture(&f);
}

int main(void)
{
    alarm(300);
    filters();
    for (size_t i = 0; i < NUM_CHAINS; i++) {
        what_was_written_reads_back(chains[i]);
        chunks_on_loan(chains[i]);
    }
    the_chain_is_in_the_order_of_encoding();
    a_codec_that_only_decodes();
    absent_chunks();
    what_is_needed_is_told();
    codecs_that_stop_early();
    results_of_the_wrong_length();
    results_of_the_wrong_length_within_a_chain();
    errors_of_callbacks();
    an_error_at_every_callback();
    a_wrong_length_at_every_callback();
    for (size_t num_threads = 1; num_threads <= 2; num_threads++) {
        acts_at_every_callback(sleep_a_moment, num_threads);
        acts_at_every_callback(use_the_same_array, num_threads);
    }
    an_encoder_that_makes_too_much();
    odd_bounds();
    whose_a_codec_is();
    names();
    threads();
    calls_beside_each_other();
    return 0;
}
