/*
 * A storage whose callbacks misbehave: each kind of fault, at each of them, while an array is created, opened, written,
 * read, made smaller, given an attribute and listed.
 *
 *     for (turn = 1;; turn++)     the fault is in callback number `turn`, until an operation has no so many callbacks
 *
 * A callback fails; says that an object is not there, or gives too much or too little of it; does nothing at all; takes
 * its time; or calls the library itself. If that is an error, the operation ends with what the callback returned, or
 * with a status that the header names. What is stored is the old or the new, chunk by chunk; nothing is in flight; what
 * would have been the result is untouched; and the same operation again, once the callbacks do what they should, does
 * all of it. An operation that succeeds all the same has given the right bytes. Only an object that is said not to be
 * there reads as fill values, and what a callback says it has written, it may not have.
 *
 * A thread that is cancelled in a callback, whichever it is, does all of the operation before it ends; if a read in
 * flight fails meanwhile, it ends the others, is told of the failure, and ends then.
 */
#define _GNU_SOURCE
#include "shelf.h"
#include "victim.h"

enum { ROWS = 6, COLUMNS = 4, ELEMENTS = ROWS * COLUMNS, CHUNKS = 6, FILL = -9 };
enum { MOST_CALLBACKS = 64, FAILED = 77, STOPPED = 88, CANCELLED = 99 };

static const size_t shape[2] = {ROWS, COLUMNS}, smaller[2] = {3, COLUMNS}, chunk_shape[2] = {2, 2};
static const size_t shard_shape[2] = {4, 2}, zeros[2] = {0, 0};

/* What is written in part: rows 1 to 4, columns 1 to 3. */
static const size_t start[2] = {1, 1}, count[2] = {4, 3};

/* The last one reads an array of texts, all others are of an array of numbers. */
typedef enum operation {
    CREATE,
    OPEN,
    WRITE,
    READ,
    RESIZE,
    SET_ATTRIBUTE,
    LIST,
    READ_TEXTS,
    NUM_OPERATIONS
} operation;

/* How a storage is read: by one thread, by several, or by reads in flight. */
typedef enum way { SERIAL, THREADS, IN_FLIGHT, NUM_WAYS } way;

typedef enum fault {
    NONE,
    FAILS,        /* the callback returns FAILED */
    ENDS_BADLY,   /* wait does not, but the read that it gives back has FAILED */
    IS_ABSENT,    /* the object is not there */
    IS_SHORT,     /* a byte fewer is read than the object has */
    IS_LONG,      /* a byte more is said to be read than there is room for */
    IS_CUT,       /* the object lacks its last byte */
    IS_GROWN,     /* the object has a byte too many */
    DOES_NOTHING, /* the callback says that all is well, and has read, listed, written or removed nothing */
    GIVES_NULL,   /* the callback says that all is well, but wait gives no read back, list finds something without a
                     name */
    ENTERS,       /* the callback calls the library itself */
    IS_SLOW,      /* the callback takes its time */
    STOPS,        /* not a callback of the storage's, but the progress callback ends the call */
    NUM_FAULTS
} fault;

typedef struct faulty {
    shelf shelf; /* first, for its own callbacks take a pointer to it */
    pthread_mutex_t lock;
    nczchunk_storage *storage;
    nczchunk_array *array;
    /* Another array in the same place, for a callback that calls the library. */
    nczchunk_array *beside;
    nczchunk_context *context;
    way way;
    int has_shards;
    /* What is to happen, at which callback, counted from 1; 0: none. How many there have been, and whether it has
     * happened. */
    fault fault;
    long turn, callbacks;
    int has_happened;
    shelf_callback happened_in;
    /* The thread that is cancelled instead, what it does, and what came of it. */
    int is_victim, status;
    victim v;
    operation what;
    /* Whether the first object that is read then cannot be, and how many have been read. */
    int first_read_fails, reads;
    signed char data[ELEMENTS];
    /* What was listed, and the worst that was told of it. */
    int listed, listed_status;
} faulty;

/* In how many callbacks of each kind a thread has been cancelled. */
static long cancelled_in[NUM_SHELF_CALLBACKS];

/* How many reads in flight were in vain after a fault. */
static long reads_in_vain;

static int cancel_in_turn(void *user, shelf_callback callback)
{
    faulty *f = user;

    if (f->is_victim) {
        victim_callback(&f->v);
        cancelled_in[callback] += f->v.callbacks == f->v.turn;
    }
    return NCZCHUNK_NOERR;
}

static int fail_first_read(void *user)
{
    faulty *f = user;
    return f->is_victim && f->reads++ == 0 && f->first_read_fails ? FAILED : NCZCHUNK_NOERR;
}

/* --- Calls of the library from within a callback. */

/* Writes a part of an array, which is read first, and reads all of it. */
static void use(const nczchunk_array *array)
{
    const size_t one[1] = {1}, two[1] = {2};
    const signed char values[2] = {5, 6};
    signed char data[4];

    CHECK_OK(nczchunk_array_write(array, one, two, NULL, values, NULL));
    CHECK_OK(nczchunk_array_read(array, zeros, NULL, NULL, data, NULL));
    CHECK(data[0] == FILL && data[1] == 5 && data[2] == 6 && data[3] == FILL);
}

static void create_small(const nczchunk_storage *storage, const char *name, nczchunk_array **array)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    const size_t four[1] = {4}, two[1] = {2};
    const signed char fill_value = FILL;

    description.type = NCZCHUNK_BYTE;
    description.rank = 1;
    description.shape = four;
    description.chunk_shape = two;
    description.fill_value = &fill_value;
    CHECK_OK(nczchunk_array_create_in(storage, name, &description, array, NULL));
}

static void use_another_storage(void)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *array = NULL;

    CHECK_OK(nczchunk_storage_memory(&storage, NULL));
    create_small(storage, "", &array);
    use(array);
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);
}

static int is_in_part(int e)
{
    const size_t row = (size_t)e / COLUMNS, column = (size_t)e % COLUMNS;

    return row >= start[0] && row < start[0] + count[0] && column >= start[1] && column < start[1] + count[1];
}

/* What the element is once the part has been written. */
static int written(int e)
{
    return is_in_part(e) ? 100 + (e / COLUMNS - 1) * 3 + e % COLUMNS - 1 : e;
}

/* Every element of the array is as it was before the operation, or as it is after it. */
static void read_the_same_array(const faulty *f)
{
    nczchunk_array *array = NULL;
    signed char data[ELEMENTS];
    int elements;
    const int status = nczchunk_array_open_in(f->storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);

    if (f->what == CREATE && status == NCZCHUNK_ENOTFOUND)
        return;
    CHECK_OK(status);
    elements = (int)nczchunk_var_dimlen(nczchunk_array_var(array), 0) * COLUMNS;
    CHECK(elements == ELEMENTS || (f->what == RESIZE && elements == (int)smaller[0] * COLUMNS));
    CHECK_OK(nczchunk_array_read(array, zeros, NULL, NULL, data, NULL));
    for (int e = 0; e < elements; e++)
        if (f->what == CREATE)
            CHECK_EQ(data[e], FILL);
        else
            CHECK(data[e] == e || (f->what == WRITE && data[e] == written(e)) ||
                  (f->what == RESIZE && data[e] == FILL && (size_t)e / COLUMNS >= smaller[0]));
    nczchunk_array_close(array);
}

/* While reads are in flight, nothing is read from the same storage. */
static void enter_the_library(const faulty *f)
{
    use_another_storage();
    if (f->shelf.num_under_way > 0)
        return;
    if (f->what != READ_TEXTS)
        read_the_same_array(f);
    use(f->beside);
}

/* --- The callbacks: those of the shelf, with a fault. */

enum {
    ANY = 1 << FAILS | 1 << ENTERS | 1 << IS_SLOW,
    OF_A_CHANGE = ANY | 1 << DOES_NOTHING,
    OF_A_READ = OF_A_CHANGE | 1 << IS_ABSENT | 1 << IS_SHORT | 1 << IS_LONG | 1 << IS_CUT | 1 << IS_GROWN
};

/* The faults that each callback can have. */
static const unsigned possible[NUM_SHELF_CALLBACKS] = {
    [SHELF_READ] = OF_A_READ,
    [SHELF_LIST] = OF_A_CHANGE | 1 << GIVES_NULL,
    [SHELF_WRITE] = OF_A_CHANGE,
    [SHELF_REMOVE] = OF_A_CHANGE,
    [SHELF_START] = ANY | 1 << IS_ABSENT,
    [SHELF_WAIT] = OF_A_READ | 1 << ENDS_BADLY | 1 << GIVES_NULL,
};

static void sleep_a_moment(long nanoseconds)
{
    const struct timespec moment = {0, nanoseconds};
    nanosleep(&moment, NULL);
}

/* The fault of this callback, if it is one of those that it can have; NONE for most callbacks. */
static fault fault_now(faulty *f, shelf_callback callback)
{
    if (f->way == THREADS && f->turn > 0)
        sleep_a_moment(100000); /* long enough for other threads */
    if (f->turn == 0 || f->fault == STOPS || __atomic_add_fetch(&f->callbacks, 1, __ATOMIC_RELAXED) != f->turn ||
        (possible[callback] >> f->fault & 1) == 0)
        return NONE;
    f->has_happened = 1;
    f->happened_in = callback;
    if (f->fault == ENTERS)
        enter_the_library(f);
    if (f->fault == IS_SLOW)
        sleep_a_moment(1000000);
    return f->fault;
}

/* Has the shelf read an object: that of the request or, in flight, of the one that comes back first, which it is. */
static int read_from_shelf(faulty *f, nczchunk_object_request *request)
{
    nczchunk_object_request *done = request;

    if (f->way != IN_FLIGHT)
        return shelf_read(&f->shelf, request);
    CHECK_OK(shelf_wait(&f->shelf, &done));
    CHECK(done == request);
    return (int)done->status;
}

/* The answer to a request, with a fault. Of an object that is not there not all can be wrong. */
static int answer(faulty *f, fault now, nczchunk_object_request *request)
{
    shelf_object *object = shelf_find(&f->shelf, request->name);
    const size_t more = now == IS_GROWN, fewer = now == IS_CUT;
    int status;

    if (object != NULL) {
        if (now == IS_GROWN)
            object->bytes[object->nbytes] = 0;
        object->nbytes += more - fewer;
    }
    status = read_from_shelf(f, request);
    if (object != NULL)
        object->nbytes -= more - fewer;

    switch (now) {
    case ENDS_BADLY: return FAILED;
    case DOES_NOTHING: request->nbytes = 0; request->object_size = 0; return NCZCHUNK_NOERR;
    case IS_ABSENT: f->has_happened = object != NULL; return NCZCHUNK_ENOOBJECT;
    case IS_GROWN:
    case IS_CUT: f->has_happened = object != NULL; return status;
    case IS_SHORT:
        f->has_happened = object != NULL && request->nbytes > 0;
        request->nbytes -= f->has_happened ? 1 : 0;
        return status;
    case IS_LONG:
        f->has_happened = object != NULL;
        request->nbytes = request->size + 1;
        return status;
    default: return status;
    }
}

static int read_object(void *user, nczchunk_object_request *request)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_READ);
    int status;

    if (now == FAILS)
        return FAILED;
    CHECK_OK(pthread_mutex_lock(&f->lock));
    status = answer(f, now, request);
    CHECK_OK(pthread_mutex_unlock(&f->lock));
    return status;
}

static int list_objects(void *user, const char *prefix,
                        int (*found)(void *argument, const char *name, int is_prefix), void *argument)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_LIST);

    if (now == FAILS)
        return FAILED;
    if (now == DOES_NOTHING)
        return NCZCHUNK_NOERR;
    /* What found returns is not passed on, which is a fault, too. */
    if (now == GIVES_NULL)
        CHECK_EQ(found(argument, NULL, 0), NCZCHUNK_EINVAL);
    return now == GIVES_NULL ? NCZCHUNK_NOERR : shelf_list(&f->shelf, prefix, found, argument);
}

static int write_object(void *user, const char *name, const void *bytes, size_t nbytes)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_WRITE);
    int status;

    if (now == FAILS)
        return FAILED;
    if (now == DOES_NOTHING)
        return NCZCHUNK_NOERR;
    CHECK_OK(pthread_mutex_lock(&f->lock));
    status = shelf_write(&f->shelf, name, bytes, nbytes);
    CHECK_OK(pthread_mutex_unlock(&f->lock));
    return status;
}

static int remove_object(void *user, const char *name)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_REMOVE);

    if (now == FAILS)
        return FAILED;
    return now == DOES_NOTHING ? NCZCHUNK_NOERR : shelf_remove(&f->shelf, name);
}

static int start_read(void *user, nczchunk_object_request *request)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_START);

    if (now == FAILS)
        return FAILED;
    return now == IS_ABSENT ? NCZCHUNK_ENOOBJECT : shelf_start(&f->shelf, request);
}

static int wait_for_read(void *user, nczchunk_object_request **done)
{
    faulty *f = user;
    const fault now = fault_now(f, SHELF_WAIT);
    nczchunk_object_request *first = f->shelf.requests_in_flight[0];

    CHECK(f->shelf.num_under_way > 0);
    if (now == FAILS || now == GIVES_NULL) {
        f->shelf.num_under_way = 0; /* all of them have ended */
        return now == FAILS ? FAILED : NCZCHUNK_NOERR;
    }
    first->status = answer(f, now, first);
    /* A read that is not needed any more may end with any status. */
    if (first->handle == &f->shelf)
        first->status = CANCELLED;
    *done = first;
    return NCZCHUNK_NOERR;
}

/* The call is about to end. While it does, the callback uses another storage. */
static void cancel_read(void *user, nczchunk_object_request *request)
{
    faulty *f = user;

    shelf_cancel(&f->shelf, request);
    request->handle = &f->shelf;
    if (f->is_victim)
        return;
    reads_in_vain++;
    use_another_storage();
}

static int progress(void *user, const nczchunk_progress *so_far)
{
    faulty *f = user;

    if (f->turn == 0 || f->fault != STOPS || ++f->callbacks != f->turn)
        return 0;
    /* When all is done nothing can be ended any more. */
    f->has_happened = so_far->chunks_done < so_far->num_chunks;
    return STOPPED;
}

/* --- The operations. */

static int create(faulty *f)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    const signed char fill_value = FILL;
    const char *const fill_text = "none";

    description.type = f->what == READ_TEXTS ? NCZCHUNK_STRING : NCZCHUNK_BYTE;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunk_shape;
    description.shard_shape = f->has_shards ? shard_shape : NULL;
    description.fill_value = f->what == READ_TEXTS ? (const void *)&fill_text : &fill_value;
    description.uncompressed = 1;
    description.overwrite = 1;
    return nczchunk_array_create_in(f->storage, "ocean/sst", &description, &f->array, f->context);
}

static int open_and_close(const faulty *f)
{
    nczchunk_array *array = NULL;
    const int status = nczchunk_array_open_in(f->storage, "ocean/sst", NCZCHUNK_READ, &array, f->context);

    CHECK((array != NULL) == (status == NCZCHUNK_NOERR));
    if (array != NULL)
        CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(array), 0), ROWS);
    nczchunk_array_close(array);
    return status;
}

static int write_part(faulty *f)
{
    signed char values[12];

    for (int e = 0; e < 12; e++)
        values[e] = (signed char)(100 + e);
    return nczchunk_array_write(f->array, start, count, NULL, values, f->context);
}

/* The chunks that are done, of those that are in the array, have been read: all of them if the read has succeeded. One
 * that was said to be absent, or all in one shard, is fill values. */
static int read_numbers(faulty *f)
{
    int status, done, filled = 0;

    memset(f->data, 0x5A, sizeof f->data);
    status = nczchunk_array_read(f->array, zeros, NULL, NULL, f->data, f->context);
    done = (int)nczchunk_context_chunks_done(f->context);
    CHECK(status == NCZCHUNK_NOERR ? done == CHUNKS : done < CHUNKS);
    for (int c = 0; c < done; c++) {
        int is_right = 1, is_filled = f->fault == IS_ABSENT && f->turn > 0;

        for (int i = c / 2 * 2; i < c / 2 * 2 + 2; i++)
            for (int j = c % 2 * 2; j < c % 2 * 2 + 2; j++) {
                is_right &= f->data[i * COLUMNS + j] == i * COLUMNS + j;
                is_filled &= f->data[i * COLUMNS + j] == FILL;
            }
        CHECK(is_right || is_filled);
        filled += is_filled;
    }
    CHECK(filled <= (f->has_shards ? 2 : 1));
    return status;
}

/* "row.column" */
static void make_text(char text[8], int e)
{
    snprintf(text, 8, "%d.%d", e / COLUMNS % 10, e % COLUMNS);
}

/* Texts are read as a whole or not at all. */
static int read_texts(faulty *f)
{
    char *texts[ELEMENTS], *before[ELEMENTS];
    int status, filled = 0;

    memset(texts, 0x5A, sizeof texts);
    memcpy(before, texts, sizeof texts);
    status = nczchunk_array_read(f->array, zeros, NULL, NULL, texts, f->context);
    if (status != NCZCHUNK_NOERR) {
        CHECK(memcmp(texts, before, sizeof texts) == 0);
        return status;
    }
    for (int e = 0; e < ELEMENTS; e++) {
        char text[8];

        make_text(text, e);
        filled += strcmp(texts[e], "none") == 0;
        CHECK(strcmp(texts[e], text) == 0 || strcmp(texts[e], "none") == 0);
    }
    CHECK(filled == 0 || (filled == 4 && f->fault == IS_ABSENT && f->turn > 0));
    nczchunk_strings_free(ELEMENTS, texts);
    return status;
}

static int note(void *user, const nczchunk_node *node)
{
    faulty *f = user;

    f->listed++;
    if (node->status != NCZCHUNK_NOERR)
        f->listed_status = (int)node->status;
    return 0;
}

static int operate(faulty *f, operation what)
{
    static const int answer = 42;

    switch (what) {
    case CREATE: return create(f);
    case OPEN: return open_and_close(f);
    case WRITE: return write_part(f);
    case READ: return read_numbers(f);
    case RESIZE: return nczchunk_array_resize(f->array, smaller, f->context);
    case SET_ATTRIBUTE: return nczchunk_array_set_attribute(f->array, "answer", NCZCHUNK_INT, 1, &answer, f->context);
    case READ_TEXTS: return read_texts(f);
    default: f->listed = f->listed_status = 0; return nczchunk_list_in(f->storage, NULL, 1, note, f, f->context);
    }
}

static void operate_in_a_thread(void *argument)
{
    faulty *f = argument;
    f->status = operate(f, f->what);
}

/* --- The array. Before it is written in part, or made smaller, every element is its number. */

static void write_all(const faulty *f)
{
    signed char numbers[ELEMENTS];
    char texts[ELEMENTS][8], *pointers[ELEMENTS];

    for (int e = 0; e < ELEMENTS; e++) {
        numbers[e] = (signed char)e;
        make_text(texts[e], e);
        pointers[e] = texts[e];
    }
    CHECK_OK(nczchunk_array_write(f->array, zeros, NULL, NULL,
                                  f->what == READ_TEXTS ? (const void *)pointers : numbers, NULL));
}

static nczchunk_storage *faulty_storage(faulty *f)
{
    nczchunk_storage_callbacks callbacks = shelf_callbacks(&f->shelf, f->way == IN_FLIGHT);
    nczchunk_storage *storage = NULL;

    if (f->way == IN_FLIGHT) {
        callbacks.start = start_read;
        callbacks.wait = wait_for_read;
        callbacks.cancel = cancel_read;
    } else {
        callbacks.read = read_object;
    }
    callbacks.list = list_objects;
    callbacks.write = write_object;
    callbacks.remove = remove_object;
    callbacks.concurrent = f->way == THREADS;
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    return storage;
}

static void open_faulty(faulty *f, way way, int has_shards, operation what)
{
    memset(f, 0, sizeof *f);
    CHECK_OK(pthread_mutex_init(&f->lock, NULL));
    f->shelf.hook = cancel_in_turn;
    f->shelf.after = fail_first_read;
    f->shelf.user = f;
    f->way = way;
    f->has_shards = has_shards;
    f->what = what;
    f->storage = faulty_storage(f);
    CHECK_OK(nczchunk_context_new(&f->context));
    CHECK_OK(nczchunk_context_set_threads(f->context, way == THREADS ? 4 : 1));
    CHECK_OK(nczchunk_context_set_progress(f->context, progress, f));
    if (what == CREATE)
        return;
    CHECK_OK(create(f));
    write_all(f);
    /* Opened once more, it has kept nothing. */
    nczchunk_array_close(f->array);
    CHECK_OK(nczchunk_array_open_in(f->storage, "ocean/sst", NCZCHUNK_WRITE, &f->array, NULL));
}

static void close_faulty(faulty *f)
{
    nczchunk_array_close(f->array);
    nczchunk_array_close(f->beside);
    nczchunk_storage_free(f->storage);
    nczchunk_context_free(f->context);
    CHECK_OK(pthread_mutex_destroy(&f->lock));
}

/* Every chunk, or shard, is as it was, or as it should be; all of them are, if the write has succeeded and nothing else
 * was said than what is. One that was said to be absent is fill values where it has not been written to. */
static void check_written(const faulty *f, int has_succeeded)
{
    const int rows = f->has_shards ? 4 : 2;
    int num_not_new = 0;

    for (int row = 0; row < ROWS; row += rows)
        for (int column = 0; column < COLUMNS; column += 2) {
            int is_new = 1, is_old = 1, is_filled = 1;

            for (int i = row; i < row + rows && i < ROWS; i++)
                for (int j = column; j < column + 2; j++) {
                    const int e = i * COLUMNS + j;

                    is_new &= f->data[e] == written(e);
                    is_old &= f->data[e] == e;
                    is_filled &= f->data[e] == (is_in_part(e) ? written(e) : FILL);
                }
            CHECK(is_new || (is_old && (!has_succeeded || f->fault == DOES_NOTHING)) ||
                  (is_filled && f->fault == IS_ABSENT));
            num_not_new += !is_new;
        }
    if (has_succeeded)
        CHECK(num_not_new <= (f->fault == DOES_NOTHING || f->fault == IS_ABSENT));
}

/* What is cut off is as it was or fill values. To cut a chunk or shard is to write a part of it: if it was said to be
 * absent, the rest of it is fill values, too. */
static void check_resized(const faulty *f, int rows)
{
    const int unit_rows = f->has_shards ? 4 : 2, kept = (int)smaller[0];
    int is_filled[ROWS][2] = {{0}}, num_filled = 0;

    for (int e = 0; e < rows * COLUMNS; e++) {
        const int row = e / COLUMNS, unit = row / unit_rows, column = e % COLUMNS / 2;

        CHECK(f->data[e] == e || (f->data[e] == FILL && (row >= kept || f->fault == IS_ABSENT)));
        if (row >= kept || f->data[e] != FILL || is_filled[unit][column])
            continue;
        is_filled[unit][column] = 1;
        num_filled++;
    }
    CHECK(num_filled <= 1);
}

/* --- What is there after an operation has failed, or succeeded, for one who opens the array now. */

static void check_stored(faulty *f, operation what, int has_succeeded)
{
    /* Metadata that were not written, though the storage says so. */
    const int may_be_old = !has_succeeded || (f->fault == DOES_NOTHING && f->has_happened);
    nczchunk_array *array = NULL;
    const int status = nczchunk_array_open_in(f->storage, "ocean/sst", NCZCHUNK_READ, &array, NULL);
    size_t rows;

    if (status == NCZCHUNK_ENOTFOUND) {
        CHECK(what == CREATE && may_be_old);
        return;
    }
    CHECK_OK(status);
    rows = nczchunk_var_dimlen(nczchunk_array_var(array), 0);
    if (what != RESIZE || !may_be_old || !has_succeeded)
        CHECK_EQ(rows, what == RESIZE && has_succeeded ? smaller[0] : ROWS);
    CHECK(rows == ROWS || rows == smaller[0]);
    if (what == READ_TEXTS) {
        nczchunk_array_close(array);
        return;
    }
    CHECK_OK(nczchunk_array_read(array, zeros, NULL, NULL, f->data, NULL));
    if (what == CREATE) {
        for (int e = 0; e < ELEMENTS; e++)
            CHECK_EQ(f->data[e], FILL);
    } else if (what == WRITE) {
        check_written(f, has_succeeded);
    } else if (what == RESIZE) {
        check_resized(f, (int)rows);
    } else {
        for (int e = 0; e < (int)rows * COLUMNS; e++)
            CHECK_EQ(f->data[e], e);
    }
    nczchunk_array_close(array);
}

/* What an operation may end with when an object, or a part of it, is not what it should be. Metadata end with a line
 * feed that nobody misses; the index of a shard is read once more if it does not fit. */
static int is_of_a_bad_object(const faulty *f, int status)
{
    if (!f->has_shards && (f->what == READ || f->what == WRITE))
        return status == NCZCHUNK_EBADCHUNK;
    return status == NCZCHUNK_NOERR || status == NCZCHUNK_EBADCHUNK || status == NCZCHUNK_EIO ||
           status == NCZCHUNK_ENCZARR;
}

/* What an operation may end with if a callback has done nothing. Where an array is to be created, empty metadata are in
 * the way, and there is nothing that can be listed and removed with them. */
static int is_of_nothing(const faulty *f, int status)
{
    switch (f->happened_in) {
    case SHELF_WRITE:
    case SHELF_REMOVE: return status == NCZCHUNK_NOERR;
    case SHELF_LIST: return status == NCZCHUNK_NOERR || status == NCZCHUNK_ENOTBUILT;
    default:
        return is_of_a_bad_object(f, status) ||
               (f->what == CREATE &&
                (status == NCZCHUNK_EEXIST || status == NCZCHUNK_EINVAL || status == NCZCHUNK_ENOTBUILT));
    }
}

/* What an operation may end with if an object is said not to be there: chunks need not be. */
static int is_of_absence(const faulty *f, int status)
{
    switch (f->what) {
    case OPEN: return status == NCZCHUNK_ENOTFOUND;
    case RESIZE:
    case SET_ATTRIBUTE: return status == NCZCHUNK_NOERR || status == NCZCHUNK_ENOTFOUND;
    case LIST: return status == NCZCHUNK_NOERR || status == NCZCHUNK_ENOTNC;
    default: return status == NCZCHUNK_NOERR;
    }
}

/* Whether an operation may end with this status. */
static int is_expected(const faulty *f, int status)
{
    if (!f->has_happened)
        return status == NCZCHUNK_NOERR;
    switch (f->fault) {
    case FAILS:
    case ENDS_BADLY: return status == FAILED;
    case STOPS: return status == STOPPED;
    case GIVES_NULL: return status == NCZCHUNK_EINVAL;
    case IS_SHORT:
    case IS_LONG: return status == NCZCHUNK_EBADCHUNK;
    case IS_CUT:
    case IS_GROWN: return is_of_a_bad_object(f, status);
    case DOES_NOTHING: return is_of_nothing(f, status);
    case IS_ABSENT: return is_of_absence(f, status);
    default: return status == NCZCHUNK_NOERR;
    }
}

/* The fault at every callback of an operation. Returns at how many it happened. FAILS, which any callback can do, comes
 * first, and tells which callbacks there are: the other faults are tried where they are possible. With threads it is a
 * matter of luck. */
static long at_every_callback(way way, int has_shards, operation what, fault fault)
{
    static faulty f;
    static shelf_callback met[MOST_CALLBACKS];
    static long num_met;
    long happened = 0;

    if (fault == FAILS)
        num_met = 0;
    for (long turn = 1;; turn++) {
        int status, has_come;

        if (fault != FAILS && fault != STOPS && turn <= num_met && (possible[met[turn - 1]] >> fault & 1) == 0)
            continue;
        open_faulty(&f, way, has_shards, what);
        if (fault == ENTERS)
            create_small(f.storage, "beside", &f.beside);
        f.fault = fault;
        f.callbacks = 0;
        f.turn = turn;
        status = operate(&f, what);
        has_come = f.callbacks >= turn;
        f.turn = 0;
        CHECK_EQ(f.shelf.num_under_way, 0);
        CHECK_EQ(nczchunk_context_status(f.context), status);
        if (what == CREATE)
            CHECK((f.array != NULL) == (status == NCZCHUNK_NOERR));
        /* What is listed but cannot be read is told with its status. */
        if (what == LIST && status == NCZCHUNK_NOERR)
            status = f.listed_status;
        if (!is_expected(&f, status))
            CHECK_FAILED("%d, shards %d, operation %d, fault %d at callback %ld (%d): status %d", way, has_shards, what,
                         fault, turn, f.happened_in, status);
        check_stored(&f, what, status == NCZCHUNK_NOERR);
        if (what != CREATE)
            CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(f.array), 0),
                     what == RESIZE && status == NCZCHUNK_NOERR ? smaller[0] : ROWS);

        if (what == CREATE && status == NCZCHUNK_NOERR) {
            nczchunk_array_close(f.array);
            f.array = NULL;
        }
        happened += f.has_happened;
        if (fault == FAILS && f.has_happened && way != THREADS) {
            CHECK(num_met < MOST_CALLBACKS);
            met[num_met++] = f.happened_in;
        }
        CHECK_OK(operate(&f, what));
        check_stored(&f, what, 1);
        if (what == LIST) /* the storage, the group and the array, and another array */
            CHECK(f.listed == (fault == ENTERS ? 4 : 3) && f.listed_status == NCZCHUNK_NOERR);
        if (what == SET_ATTRIBUTE)
            CHECK_EQ(nczchunk_array_num_attributes(f.array), 1);
        close_faulty(&f);
        if (!has_come)
            return happened;
    }
}

/* A thread is cancelled in every callback of an operation. */
static void cancelled_at_every_callback(way way, int has_shards, operation what, int first_read_fails)
{
    static faulty f;
    int is_cancelled = 1;

    for (long turn = 1; is_cancelled; turn++) {
        open_faulty(&f, way, has_shards, what);
        victim_open(&f.v, turn);
        f.first_read_fails = first_read_fails;
        f.is_victim = 1;
        is_cancelled = victim_run(&f.v, operate_in_a_thread, &f);
        f.is_victim = 0;
        CHECK_EQ(f.status, first_read_fails ? FAILED : NCZCHUNK_NOERR);
        CHECK_EQ(f.shelf.num_under_way, 0);
        check_stored(&f, what, 1);
        CHECK_OK(what == READ_TEXTS ? read_texts(&f) : nczchunk_array_read(f.array, zeros, NULL, NULL, f.data, NULL));
        victim_close(&f.v);
        close_faulty(&f);
    }
}

int main(void)
{
    static const char *const names[NUM_OPERATIONS] = {"create", "open",             "write", "read",
                                                      "resize", "set an attribute", "list",  "read texts"};
    static const char *const ways[NUM_WAYS] = {"", ", threads", ", in flight"};

    alarm(1200);
    for (way way = SERIAL; way < NUM_WAYS; way++)
        for (int has_shards = 0; has_shards <= 1; has_shards++)
            for (operation what = CREATE; what < NUM_OPERATIONS; what++) {
                long happened = 0;

                /* Shards of texts are not written; and what is no read or write of numbers is done by one thread. */
                if ((what == READ_TEXTS && has_shards) || (way == THREADS && what != READ && what != WRITE))
                    continue;
                for (fault fault = FAILS; fault < NUM_FAULTS; fault++) {
                    const long times = at_every_callback(way, has_shards, what, fault);

                    if (fault == FAILS)
                        CHECK(times > 0);
                    happened += times;
                }
                printf("%s%s%s: %ld faults\n", names[what], has_shards ? ", shards" : "", ways[way], happened);
                if (way != THREADS)
                    cancelled_at_every_callback(way, has_shards, what, 0);
            }
    CHECK(reads_in_vain > 0);
    /* Other reads are in flight when the first one fails, and are in vain. */
    CHECK_EQ(cancelled_in[SHELF_CANCEL], 0);
    for (int has_shards = 0; has_shards <= 1; has_shards++)
        cancelled_at_every_callback(IN_FLIGHT, has_shards, READ, 1);
    for (shelf_callback callback = SHELF_READ; callback < NUM_SHELF_CALLBACKS; callback++)
        CHECK(cancelled_in[callback] > 0);
    return 0;
}
