/*
 * A place whose callbacks fail: each of them once, while an array is created, written, read, made smaller, given an
 * attribute and listed.
 *
 *     for (turn = 1;; turn++)         callback number `turn` fails, until an operation has no so many callbacks
 *
 * The operation ends with what the callback returned. What is stored is the old or the new, chunk by chunk; nothing is
 * under way; and the same operation again, once the callbacks do what they should, does all of it.
 *
 * A thread that is cancelled in a callback, whichever it is, does all of the operation before it ends.
 */
#define _GNU_SOURCE
#include "shelf.h"
#include "victim.h"

enum { ROWS = 6, COLUMNS = 4, ELEMENTS = ROWS * COLUMNS, FAILED = 77, FILL = -9 };

static const size_t shape[2] = {ROWS, COLUMNS}, smaller[2] = {3, COLUMNS}, chunk_shape[2] = {2, 2};
static const size_t shard_shape[2] = {4, 2}, zeros[2] = {0, 0};

/* What is written in part: rows 1 to 4, columns 1 to 3. */
static const size_t start[2] = {1, 1}, count[2] = {4, 3};

typedef enum operation { CREATE, WRITE, READ, RESIZE, SET_ATTRIBUTE, LIST, NUM_OPERATIONS } operation;

typedef struct faulty {
    shelf shelf;
    nczchunk_place *place;
    nczchunk_array *array;
    nczchunk_context *context;
    int has_shards;
    /* The callback that fails, counted from 1; 0: none. How many there have been, and whether it has failed. */
    long turn, callbacks;
    int has_failed;
    /* The thread that is cancelled instead, what it does, and what came of it. */
    int is_victim, status;
    victim v;
    operation what;
    signed char data[ELEMENTS];
    /* What was listed, and the worst that was told of it. */
    int listed, listed_status;
} faulty;

/* In how many callbacks of each kind a thread has been cancelled. */
static long cancelled_in[NUM_SHELF_CALLBACKS];

static int fail_in_turn(void *user, shelf_callback callback)
{
    faulty *f = user;

    if (f->is_victim) {
        victim_callback(&f->v);
        cancelled_in[callback] += f->v.callbacks == f->v.turn;
        return NCZCHUNK_NOERR;
    }
    /* A read that is cancelled is still given back, so that there is nothing to fail. */
    if (callback == SHELF_CANCEL || ++f->callbacks != f->turn)
        return NCZCHUNK_NOERR;
    f->has_failed = 1;
    return FAILED;
}

/* --- The operations. */

static int create(faulty *f)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    const signed char fill_value = FILL;

    description.type = NCZCHUNK_BYTE;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunk_shape;
    description.shard_shape = f->has_shards ? shard_shape : NULL;
    description.fill_value = &fill_value;
    description.uncompressed = 1;
    description.overwrite = 1;
    return nczchunk_array_create_in(f->place, "ocean/sst", &description, &f->array, f->context);
}

static int write_part(faulty *f)
{
    signed char values[12];

    for (int e = 0; e < 12; e++)
        values[e] = (signed char)(100 + e);
    return nczchunk_array_write(f->array, start, count, NULL, values, f->context);
}

static int note(void *user, const nczchunk_node *node)
{
    faulty *f = user;

    f->listed++;
    if (node->status != NCZCHUNK_NOERR)
        f->listed_status = node->status;
    return 0;
}

static int operate(faulty *f, operation what)
{
    static const int answer = 42;

    switch (what) {
    case CREATE: return create(f);
    case WRITE: return write_part(f);
    case READ: return nczchunk_array_read(f->array, zeros, NULL, NULL, f->data, f->context);
    case RESIZE: return nczchunk_array_resize(f->array, smaller, f->context);
    case SET_ATTRIBUTE: return nczchunk_array_set_attribute(f->array, "answer", NCZCHUNK_INT, 1, &answer, f->context);
    default: f->listed = f->listed_status = 0; return nczchunk_list_in(f->place, NULL, 1, note, f, f->context);
    }
}

static void operate_in_a_thread(void *argument)
{
    faulty *f = argument;
    f->status = operate(f, f->what);
}

/* --- The array. Before it is written in part, or made smaller, every element is its number. */

static void open_faulty(faulty *f, int in_flight, int has_shards, operation what)
{
    memset(f, 0, sizeof *f);
    f->shelf.hook = fail_in_turn;
    f->shelf.user = f;
    f->has_shards = has_shards;
    f->place = shelf_place(&f->shelf, in_flight);
    CHECK_OK(nczchunk_context_new(&f->context));
    if (what == CREATE)
        return;
    for (int e = 0; e < ELEMENTS; e++)
        f->data[e] = (signed char)e;
    CHECK_OK(create(f));
    CHECK_OK(nczchunk_array_write(f->array, zeros, NULL, NULL, f->data, NULL));
    memset(f->data, 0, sizeof f->data);
    /* Opened once more, it has kept nothing. */
    nczchunk_array_close(f->array);
    CHECK_OK(nczchunk_array_open_in(f->place, "ocean/sst", NCZCHUNK_WRITE, &f->array, NULL));
}

static void close_faulty(faulty *f)
{
    nczchunk_array_close(f->array);
    nczchunk_place_free(f->place);
    nczchunk_context_free(f->context);
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

/* Every chunk, or shard, is as it was, or as it should be; all of them are, if the write has succeeded. */
static void check_written(const faulty *f, int has_succeeded)
{
    const int rows = f->has_shards ? 4 : 2;

    for (int e = 0; e < ELEMENTS; e++) {
        const int row = e / COLUMNS / rows * rows, column = e % COLUMNS / 2 * 2;
        int is_new = 1, is_old = !has_succeeded;

        for (int i = row; i < row + rows && i < ROWS; i++)
            for (int j = column; j < column + 2; j++) {
                is_new &= f->data[i * COLUMNS + j] == written(i * COLUMNS + j);
                is_old &= f->data[i * COLUMNS + j] == i * COLUMNS + j;
            }
        CHECK(is_new || is_old);
    }
}

/* What is cut off is as it was or fill values. */
static void check_resized(const faulty *f)
{
    for (int e = 0; e < ELEMENTS; e++)
        CHECK(f->data[e] == e || (f->data[e] == FILL && (size_t)e / COLUMNS >= smaller[0]));
}

/* --- What is there after an operation has failed, or succeeded, for one who opens the array now. */

static void check_stored(faulty *f, operation what, int has_succeeded)
{
    nczchunk_array *array = NULL;
    const int status = nczchunk_array_open_in(f->place, "ocean/sst", NCZCHUNK_READ, &array, NULL);
    size_t rows;

    if (status == NCZCHUNK_ENOTFOUND) {
        CHECK(what == CREATE && !has_succeeded);
        return;
    }
    CHECK_OK(status);
    rows = nczchunk_var_dimlen(nczchunk_array_var(array), 0);
    CHECK_EQ(rows, what == RESIZE && has_succeeded ? smaller[0] : ROWS);
    CHECK_OK(nczchunk_array_read(array, zeros, NULL, NULL, f->data, NULL));
    if (what == CREATE) {
        for (int e = 0; e < ELEMENTS; e++)
            CHECK_EQ(f->data[e], FILL);
    } else if (what == WRITE) {
        check_written(f, has_succeeded);
    } else if (what == RESIZE && !has_succeeded) {
        check_resized(f);
    } else {
        for (int e = 0; e < (int)rows * COLUMNS; e++)
            CHECK_EQ(f->data[e], e);
    }
    nczchunk_array_close(array);
}

/* The fault at every callback of an operation. Returns how many there are. */
static long at_every_callback(int in_flight, int has_shards, operation what)
{
    static faulty f;

    for (long turn = 1;; turn++) {
        int status;

        open_faulty(&f, in_flight, has_shards, what);
        f.callbacks = 0;
        f.turn = turn;
        status = operate(&f, what);
        f.turn = 0;
        CHECK_EQ(f.shelf.num_under_way, 0);
        CHECK_EQ(nczchunk_context_status(f.context), status);
        if (!f.has_failed) {
            CHECK_OK(status);
            check_stored(&f, what, 1);
            close_faulty(&f);
            return turn - 1;
        }
        /* What is listed but cannot be read is told with its status. */
        if (what == LIST && status == NCZCHUNK_NOERR)
            status = f.listed_status;
        CHECK_EQ(status, FAILED);
        check_stored(&f, what, 0);
        if (what != CREATE)
            CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(f.array), 0), ROWS);

        CHECK_OK(operate(&f, what));
        check_stored(&f, what, 1);
        if (what == LIST)
            CHECK(f.listed == 3 && f.listed_status == NCZCHUNK_NOERR); /* the place, the group and the array */
        if (what == SET_ATTRIBUTE)
            CHECK_EQ(nczchunk_array_num_attributes(f.array), 1);
        close_faulty(&f);
    }
}

/* A thread is cancelled in every callback of an operation. */
static void cancelled_at_every_callback(int in_flight, int has_shards, operation what)
{
    static faulty f;
    int is_cancelled = 1;

    for (long turn = 1; is_cancelled; turn++) {
        open_faulty(&f, in_flight, has_shards, what);
        victim_open(&f.v, turn);
        f.what = what;
        f.is_victim = 1;
        is_cancelled = victim_run(&f.v, operate_in_a_thread, &f);
        f.is_victim = 0;
        CHECK_OK(f.status);
        CHECK_EQ(f.shelf.num_under_way, 0);
        check_stored(&f, what, 1);
        CHECK_OK(operate(&f, READ));
        victim_close(&f.v);
        close_faulty(&f);
    }
}

int main(void)
{
    static const char *const names[NUM_OPERATIONS] = {"create", "write", "read", "resize", "set an attribute", "list"};

    alarm(300);
    for (int in_flight = 0; in_flight <= 1; in_flight++)
        for (int has_shards = 0; has_shards <= 1; has_shards++)
            for (operation what = CREATE; what < NUM_OPERATIONS; what++) {
                const long callbacks = at_every_callback(in_flight, has_shards, what);

                CHECK(callbacks > 0);
                printf("%s%s%s: %ld callbacks\n", names[what], has_shards ? ", shards" : "",
                       in_flight ? ", in flight" : "", callbacks);
                cancelled_at_every_callback(in_flight, has_shards, what);
            }
    for (shelf_callback callback = SHELF_READ; callback < NUM_SHELF_CALLBACKS; callback++)
        CHECK((cancelled_in[callback] > 0) == (callback != SHELF_CANCEL)); /* no read is in vain */
    return 0;
}
