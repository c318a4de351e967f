/*
 * System calls that fail: each kind of failure, at each of those that a call of the library makes for files.
 *
 * One that a signal interrupts (EINTR) is made again, and one that transfers less than it was asked for is gone on
 * with: the result is as it would be otherwise. One that fails (EIO) is an error of the call, with that number, unless
 * the result is right without it, as where a file that was read is not closed well; that a file that was written is
 * not closed well is always an error. That a call has succeeded is not believed: after NCZCHUNK_NOERR everything has to
 * be as the call should leave it. After an error each chunk, shard or file is wholly the old one or wholly the new one,
 * the shape and the attributes are the old ones, and no file is left over; only an array that was to be overwritten may
 * be gone. Then the same call succeeds.
 *
 * A disk may be full (ENOSPC), or a user's part of it (EDQUOT), for every call that needs room. The status is that
 * number, and the message has the system's words for it. A file may become shorter while it is read, at each read: that
 * is an error that tells of damage, or what is read is right nevertheless.
 *
 * That is so for arrays in directories, with shards and without, in zip files, and in a storage with requests in
 * flight, whose callbacks tell of the failure; and for reading netCDF classic files and cfdb files.
 *
 * The functions of the C library that the library calls for files are replaced here. fsync is not among them, for it is
 * asked for in Rust only: see tests/sync.rs.
 */
#define _GNU_SOURCE
/* The library calls the functions that have 64 in their names, and they are declared as such, also with 32 bits. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

/* --- The functions that fail. */

typedef enum failure {
    NONE,
    INTERRUPTED, /* by a signal */
    IN_PART,     /* half of the bytes are transferred */
    FAILED,
    FULL,        /* no room on the disk, from this call on */
    OVER_QUOTA,  /* no room for this user, in this call */
    HALVED,      /* the file has lost its second half when it is read */
    EMPTIED,     /* the file has lost all */
    NUM_FAILURES
} failure;

/* What happens, and at which of the calls that can have it, from 1; how many of these there were; has it happened? */
static failure how;
static long turn, calls;
static int has_happened;

/* Whether the file system said only when a file was closed that a write had failed. */
static int write_was_lost;

/*
 * What a function can do beside failing. A signal interrupts those that wait for a disk or a server. Those that need
 * room may fail with ENOSPC; close is one of them, for it may tell of what was written before.
 */
enum { ONLY_FAILS = 0, CAN_BE_INTERRUPTED = 1, CAN_BE_IN_PART = 2, NEEDS_ROOM = 4, READS = 8 };

/* What a function has to be able to do for each failure. */
static const int needed[NUM_FAILURES] = {
    [INTERRUPTED] = CAN_BE_INTERRUPTED,
    [IN_PART] = CAN_BE_IN_PART,
    [FULL] = NEEDS_ROOM,
    [OVER_QUOTA] = NEEDS_ROOM,
    [HALVED] = READS,
    [EMPTIED] = READS,
};

static const int error_numbers[NUM_FAILURES] = {
    [INTERRUPTED] = EINTR,
    [FAILED] = EIO,
    [FULL] = ENOSPC,
    [OVER_QUOTA] = EDQUOT,
};

/* The failure of this call, if it can have it. A disk that is full remains so. */
static failure failure_now(int can)
{
    if (how == NONE || (can & needed[how]) != needed[how])
        return NONE;
    calls++;
    if (calls < turn || (calls > turn && how != FULL))
        return NONE;
    has_happened = 1;
    errno = error_numbers[how];
    return how;
}

/* Whether this call fails as a whole. */
static int fails(int can)
{
    return failure_now(can) != NONE;
}

static void cut(int file);

/* How many bytes this call is to transfer; -1 if it fails. */
static ssize_t nbytes_now(int file, size_t nbytes, int can)
{
    switch (failure_now(can | CAN_BE_INTERRUPTED | (nbytes > 1 ? CAN_BE_IN_PART : 0))) {
    case NONE: return (ssize_t)nbytes;
    case IN_PART: return (ssize_t)(nbytes / 2);
    case HALVED:
    case EMPTIED: cut(file); return (ssize_t)nbytes;
    default: return -1;
    }
}

/* Has `next` point to the C library's function of this name, which the one here hides. */
#define FIND(next, name) (next != NULL ? (void)0 : find(&next, name))

static void find(void *next, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    CHECK(found != NULL);
    memcpy(next, &found, sizeof found);
}

ssize_t pread64(int file, void *bytes, size_t nbytes, off64_t offset)
{
    static ssize_t (*next)(int, void *, size_t, off64_t);
    ssize_t now = nbytes_now(file, nbytes, READS);

    FIND(next, "pread64");
    return now < 0 ? -1 : next(file, bytes, (size_t)now, offset);
}

/* The files that were written and not closed since. A file may have several descriptors. */
static ino64_t written[8];

static ino64_t *find_written(ino64_t number)
{
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        if (written[i] == number)
            return &written[i];
    return NULL;
}

static ino64_t number_of(int file)
{
    static int (*next)(int, struct stat64 *);
    struct stat64 status;

    FIND(next, "fstat64");
    CHECK_EQ(next(file, &status), 0);
    return status.st_ino;
}

static void note_write(int file)
{
    ino64_t number;

    if (how == NONE)
        return;
    number = number_of(file);
    if (find_written(number) == NULL) {
        ino64_t *free_one = find_written(0);

        CHECK(free_one != NULL);
        *free_one = number;
    }
}

/* Whether a file was written since it was closed the last time. */
static int was_written(int file)
{
    ino64_t *found = find_written(number_of(file));

    if (found != NULL)
        *found = 0;
    return found != NULL;
}

ssize_t pwrite64(int file, const void *bytes, size_t nbytes, off64_t offset)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    ssize_t now = nbytes_now(file, nbytes, NEEDS_ROOM);

    FIND(next, "pwrite64");
    note_write(file);
    return now < 0 ? -1 : next(file, bytes, (size_t)now, offset);
}

ssize_t write(int file, const void *bytes, size_t nbytes)
{
    static ssize_t (*next)(int, const void *, size_t);
    ssize_t now = nbytes_now(file, nbytes, NEEDS_ROOM);

    FIND(next, "write");
    note_write(file);
    return now < 0 ? -1 : next(file, bytes, (size_t)now);
}

int openat64(int directory, const char *path, int flags, ...)
{
    static int (*next)(int, const char *, int, ...);
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    FIND(next, "openat64");
    return fails(CAN_BE_INTERRUPTED | (flags & O_CREAT ? NEEDS_ROOM : 0)) ? -1 : next(directory, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return openat64(AT_FDCWD, path, flags, mode);
}

/* A descriptor is closed whatever this returns. */
int close(int file)
{
    static int (*next)(int);
    int is_written, result;
    failure now;

    FIND(next, "close");
    is_written = was_written(file);
    result = next(file);
    now = failure_now(CAN_BE_INTERRUPTED | NEEDS_ROOM);
    if (now != NONE && now != INTERRUPTED && is_written)
        write_was_lost = 1;
    return now != NONE ? -1 : result;
}

/* The library copies descriptors by it. Other commands that may be used have no argument. */
int fcntl(int file, int command, ...)
{
    static int (*next)(int, int, ...);
    va_list rest;
    int argument;

    va_start(rest, command);
    argument = command == F_DUPFD_CLOEXEC ? va_arg(rest, int) : 0;
    va_end(rest);
    FIND(next, "fcntl");
    return fails(ONLY_FAILS) ? -1 : next(file, command, argument);
}

int flock(int file, int operation)
{
    static int (*next)(int, int);

    FIND(next, "flock");
    return fails(CAN_BE_INTERRUPTED) ? -1 : next(file, operation);
}

int fstat64(int file, struct stat64 *status)
{
    static int (*next)(int, struct stat64 *);

    FIND(next, "fstat64");
    return fails(CAN_BE_INTERRUPTED) ? -1 : next(file, status);
}

int fstatat64(int directory, const char *restrict path, struct stat64 *restrict status, int flags)
{
    static int (*next)(int, const char *, struct stat64 *, int);

    FIND(next, "fstatat64");
    return fails(CAN_BE_INTERRUPTED) ? -1 : next(directory, path, status, flags);
}

/* Rust's standard library asks so for the status of a file. */
int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict status)
{
    static int (*next)(int, const char *, int, unsigned, struct statx *);

    FIND(next, "statx");
    return fails(CAN_BE_INTERRUPTED) ? -1 : next(directory, path, flags, mask, status);
}

int ftruncate64(int file, off64_t length)
{
    static int (*next)(int, off64_t);

    FIND(next, "ftruncate64");
    return fails(CAN_BE_INTERRUPTED | NEEDS_ROOM) ? -1 : next(file, length);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    static int (*next)(int, const char *, int, const char *);

    FIND(next, "renameat");
    return fails(CAN_BE_INTERRUPTED | NEEDS_ROOM) ? -1 : next(from_directory, from, to_directory, to);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int directory, const char *path, int flags)
{
    static int (*next)(int, const char *, int);

    FIND(next, "unlinkat");
    return fails(CAN_BE_INTERRUPTED) ? -1 : next(directory, path, flags);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int mkdirat(int directory, const char *path, mode_t mode)
{
    static int (*next)(int, const char *, mode_t);

    FIND(next, "mkdirat");
    return fails(CAN_BE_INTERRUPTED | NEEDS_ROOM) ? -1 : next(directory, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

DIR *fdopendir(int file)
{
    static DIR *(*next)(int);

    FIND(next, "fdopendir");
    return fails(ONLY_FAILS) ? NULL : next(file);
}

/* As in some file systems, no entry says what it is, so that the status of each is asked for. */
struct dirent64 *readdir64(DIR *directory)
{
    static struct dirent64 *(*next)(DIR *);
    struct dirent64 *entry;

    FIND(next, "readdir64");
    if (fails(CAN_BE_INTERRUPTED))
        return NULL;
    entry = next(directory);
    if (entry != NULL)
        entry->d_type = DT_UNKNOWN;
    return entry;
}

/* The descriptor is closed whatever this returns. */
int closedir(DIR *directory)
{
    static int (*next)(DIR *);
    int result;

    FIND(next, "closedir");
    result = next(directory);
    return fails(CAN_BE_INTERRUPTED) ? -1 : result;
}

/* --- Files that become shorter. */

/* The file that was cut, and all that it had; -1 if none was. */
static int cut_file = -1;
static char whole[2 << 20];
static ssize_t whole_size;

/* Cuts a file, which may be open for reading only. */
static void cut(int file)
{
    const failure cause = how;
    char name[64];

    how = NONE;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    cut_file = open64(name, O_RDWR | O_CLOEXEC);
    CHECK(cut_file >= 0);
    whole_size = pread64(cut_file, whole, sizeof whole, 0);
    CHECK(whole_size > 0 && whole_size < (ssize_t)sizeof whole);
    CHECK_EQ(ftruncate64(cut_file, cause == HALVED ? whole_size / 2 : 0), 0);
    how = cause;
}

/* Gives the file back what it has lost. If another file has taken its name, that one is left as it is. */
static void mend(void)
{
    if (cut_file < 0)
        return;
    CHECK_EQ(pwrite64(cut_file, whole, (size_t)whole_size, 0), whole_size);
    CHECK_EQ(close(cut_file), 0);
    cut_file = -1;
}

/* --- What there is: an array of 30 numbers in 6 chunks, in a directory and in a zip file. */

enum { LENGTH = 30, LONGER = 40, SHORTER = 13, CHUNK = 5, SHARD = 10, EVERY = 5, SELECTED = LENGTH / EVERY };

static const char path[] = "system_calls.zarr", zip_path[] = "system_calls.zip";
static const size_t length = LENGTH, longer = LONGER, shorter = SHORTER, chunk_length = CHUNK, shard_length = SHARD;
static const size_t origin = 0, selected = SELECTED;
static const ptrdiff_t every = EVERY;

/* What the calls that fail tell. */
static nczchunk_context *context;

/* The array in the directory, and whether each object of it is a shard, of two chunks. */
static nczchunk_array *array;
static int is_sharded;

/* Arrays have these numbers at first, and later, all or some of them, the new ones; the others are fill values. */
static int old_number(int i)
{
    return i < LENGTH ? 100 + i : 0;
}

static int new_number(int i)
{
    return 200 + i;
}

static int number_in_part(int i)
{
    return i % EVERY == 0 ? new_number(i) : old_number(i);
}

static int number_cut_off(int i)
{
    return i < SHORTER ? old_number(i) : 0;
}

static int no_number(int i)
{
    (void)i;
    return 0;
}

/* All that there is to know of an array: its length, its numbers, and whether it has the attribute. */
typedef struct contents {
    int length;
    int (*number)(int i);
    int has_units;
} contents;

static const contents before = {LENGTH, old_number, 0};

static int are(const int *values, int begin, int end, const contents *these)
{
    for (int i = begin; i < end; i++)
        if (values[i] != these->number(i))
            return 0;
    return 1;
}

/*
 * After a call that succeeded an array is what it should be then. After one that failed its length and its attribute
 * are the old ones, and of the numbers, so many at a time, all are old or all are new.
 */
static void check_array(nczchunk_array *in, int at_a_time, const contents *after, int status)
{
    const contents *now = status == NCZCHUNK_NOERR ? after : &before;
    nczchunk_attribute units = NCZCHUNK_ATTRIBUTE_INIT;
    int values[LONGER];

    CHECK_EQ(nczchunk_var_dimlen(nczchunk_array_var(in), 0), now->length);
    CHECK_EQ(nczchunk_array_num_attributes(in), now->has_units);
    if (now->has_units) {
        CHECK_OK(nczchunk_array_attribute(in, "units", &units, NULL));
        CHECK_STR(units.values, "K");
    }
    CHECK_OK(nczchunk_array_read(in, &origin, NULL, NULL, values, NULL));
    for (int begin = 0; begin < now->length; begin += at_a_time) {
        int end = begin + at_a_time < now->length ? begin + at_a_time : now->length;

        CHECK(are(values, begin, end, after) || (status != NCZCHUNK_NOERR && are(values, begin, end, &before)));
    }
}

/* The array that is open, and the one that others find. */
static void check_both(const contents *after, int status)
{
    int at_a_time = is_sharded ? SHARD : CHUNK;
    nczchunk_array *found = NULL;

    check_array(array, at_a_time, after, status);
    CHECK_OK(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &found, NULL));
    check_array(found, at_a_time, after, status);
    nczchunk_array_close(found);
}

static void nothing_is_changed(int status)
{
    (void)status;
    check_both(&before, NCZCHUNK_NOERR);
}

static nczchunk_description describe(void)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;

    description.type = NCZCHUNK_INT;
    description.rank = 1;
    description.shape = &length;
    description.chunk_shape = &chunk_length;
    description.shard_shape = is_sharded ? &shard_length : NULL;
    description.uncompressed = 1;
    description.overwrite = 1;
    return description;
}

static int create_array(void)
{
    const nczchunk_description description = describe();
    int status = nczchunk_array_create(path, NULL, &description, &array, context);

    if (status == NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    return status;
}

static int write_numbers(nczchunk_array *to, int (*number)(int i))
{
    int values[LENGTH];

    for (int i = 0; i < LENGTH; i++)
        values[i] = number(i);
    return nczchunk_array_write(to, &origin, &length, NULL, values, context);
}

static int write_parts(nczchunk_array *to)
{
    int values[SELECTED];

    for (int i = 0; i < SELECTED; i++)
        values[i] = new_number(EVERY * i);
    return nczchunk_array_write(to, &origin, &selected, &every, values, context);
}

/* Reads all numbers, which are the old ones. */
static int read_numbers(nczchunk_array *from)
{
    int values[LENGTH];
    int status = nczchunk_array_read(from, &origin, &length, NULL, values, context);

    CHECK(status != NCZCHUNK_NOERR || are(values, 0, LENGTH, &before));
    return status;
}

static void array_is_there(void)
{
    nczchunk_array_close(array);
    array = NULL;
    CHECK_OK(create_array());
    CHECK_OK(write_numbers(array, old_number));
}

/* Files that are being written have names of their own. */
static void check_no_file_is_left(const char *name)
{
    DIR *directory = opendir(name);

    CHECK(directory != NULL || errno == ENOENT);
    if (directory == NULL)
        return;
    for (const struct dirent64 *entry; (entry = readdir64(directory)) != NULL;)
        CHECK(strstr(entry->d_name, "partial") == NULL);
    closedir(directory);
}

/* --- A storage with requests in flight: files, of which start opens one, and wait reads the last that was opened. */

enum { MOST_UNDER_WAY = 16 };

static struct {
    nczchunk_object_request *request;
    int file;
} requests_in_flight[MOST_UNDER_WAY];
static size_t num_under_way, most_under_way;

static int open_file(const char *name, int flags)
{
    int file;

    do
        file = openat64(AT_FDCWD, name, flags | O_CLOEXEC, 0666);
    while (file < 0 && errno == EINTR);
    return file;
}

static int start(void *user, nczchunk_object_request *request)
{
    int file = open_file(request->name, O_RDONLY);

    CHECK(user == NULL);
    if (file < 0)
        return errno == ENOENT ? NCZCHUNK_ENOOBJECT : errno;
    CHECK(num_under_way < MOST_UNDER_WAY);
    requests_in_flight[num_under_way].request = request;
    requests_in_flight[num_under_way].file = file;
    if (++num_under_way > most_under_way)
        most_under_way = num_under_way;
    return NCZCHUNK_NOERR;
}

static int wait_for_one(void *user, nczchunk_object_request **done)
{
    nczchunk_object_request *request;
    off64_t size, offset;
    int file;

    CHECK(user == NULL && num_under_way > 0);
    request = requests_in_flight[--num_under_way].request;
    file = requests_in_flight[num_under_way].file;
    size = lseek64(file, 0, SEEK_END);
    offset = (off64_t)request->offset < size ? (off64_t)request->offset : size;
    if (request->from_end)
        offset = size - offset;
    while (request->nbytes < request->size) {
        ssize_t nbytes = pread64(file, (char *)request->buffer + request->nbytes, request->size - request->nbytes,
                                 offset + (off64_t)request->nbytes);

        if (nbytes == 0 || (nbytes < 0 && errno != EINTR)) {
            request->status = nbytes == 0 ? NCZCHUNK_NOERR : errno;
            break;
        }
        if (nbytes > 0)
            request->nbytes += (size_t)nbytes;
    }
    request->object_size = (uint64_t)size;
    close(file);
    *done = request;
    return NCZCHUNK_NOERR;
}

/* Another file takes the name when it is complete. */
static int write_object(void *user, const char *name, const void *bytes, size_t nbytes)
{
    const char *rest = bytes;
    char partial[200];
    int status = NCZCHUNK_NOERR, file;

    CHECK(user == NULL && strlen(name) + sizeof ".partial" <= sizeof partial);
    snprintf(partial, sizeof partial, "%s.partial", name);
    file = open_file(partial, O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0)
        return errno;
    while (nbytes > 0 && status == NCZCHUNK_NOERR) {
        ssize_t written = write(file, rest, nbytes);

        if (written < 0 && errno != EINTR)
            status = errno;
        if (written > 0) {
            rest += written;
            nbytes -= (size_t)written;
        }
    }
    /* Some file systems say only now that a write has failed. */
    if (close(file) != 0 && errno != EINTR && status == NCZCHUNK_NOERR)
        status = errno;
    while (status == NCZCHUNK_NOERR && rename(partial, name) != 0)
        status = errno == EINTR ? NCZCHUNK_NOERR : errno;
    if (status != NCZCHUNK_NOERR)
        CHECK_EQ(unlink(partial), 0);
    return status;
}

/* The array of the directory, by the callbacks. */
static int open_in_flight(int mode, nczchunk_array **in_flight)
{
    nczchunk_storage_callbacks callbacks = NCZCHUNK_STORAGE_CALLBACKS_INIT;
    nczchunk_storage *storage = NULL;
    int status;

    callbacks.start = start;
    callbacks.wait = wait_for_one;
    callbacks.write = write_object;
    CHECK_OK(nczchunk_storage_new(&callbacks, &storage, NULL));
    status = nczchunk_array_open_in(storage, path, mode, in_flight, context);
    nczchunk_storage_free(storage);
    return status;
}

/* --- Reads of the array in the directory. Each of these functions, and those below, gives the status of the call. */

static int opens(void)
{
    nczchunk_array *again = NULL;
    int status = nczchunk_array_open(path, NULL, NCZCHUNK_READ, &again, context);

    CHECK((again != NULL) == (status == NCZCHUNK_NOERR));
    nczchunk_array_close(again);
    return status;
}

static int reads(void)
{
    return read_numbers(array);
}

static int reads_parts(void)
{
    int values[SELECTED];
    int status = nczchunk_array_read(array, &origin, &selected, &every, values, context);

    for (int i = 0; status == NCZCHUNK_NOERR && i < SELECTED; i++)
        CHECK_EQ(values[i], old_number(EVERY * i));
    return status;
}

static int reads_in_flight(void)
{
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_READ, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = read_numbers(in_flight);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    return status;
}

/* --- Writes, and what there is afterwards. */

static int writes(void)
{
    return write_numbers(array, new_number);
}

static int writes_in_flight(void)
{
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_WRITE, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = write_numbers(in_flight, new_number);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    return status;
}

static void all_is_written(int status)
{
    static const contents after = {LENGTH, new_number, 0};
    check_both(&after, status);
}

static int writes_parts(void)
{
    return write_parts(array);
}

/* Chunks that are written in part are read in flight. */
static int writes_parts_in_flight(void)
{
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_WRITE, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = write_parts(in_flight);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    return status;
}

static void parts_are_written(int status)
{
    static const contents after = {LENGTH, number_in_part, 0};
    check_both(&after, status);
}

static int grows(void)
{
    return nczchunk_array_resize(array, &longer, context);
}

static void it_is_longer(int status)
{
    static const contents after = {LONGER, old_number, 0};
    check_both(&after, status);
}

/* One chunk is cut through, and those behind it are removed. */
static int shrinks(void)
{
    return nczchunk_array_resize(array, &shorter, context);
}

/* What was cut off does not come back when the array is made longer again. If the call failed it may be there yet. */
static void it_is_shorter(int status)
{
    static const contents after = {SHORTER, number_cut_off, 0}, again = {LENGTH, number_cut_off, 0};

    if (status == NCZCHUNK_NOERR) {
        check_both(&after, status);
        CHECK_OK(nczchunk_array_resize(array, &length, NULL));
    }
    check_both(&again, status);
}

static int sets_an_attribute(void)
{
    return nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "K", context);
}

static void it_has_the_attribute(int status)
{
    static const contents after = {LENGTH, old_number, 1};
    check_both(&after, status);
}

/* --- New arrays: in place of the one there is, and where there is not even a directory. */

static int creates(void)
{
    nczchunk_array_close(array);
    array = NULL;
    return create_array();
}

/* The new array has no chunks yet. After a failure there is the old one, with all its chunks, or none. */
static void it_is_a_new_array(int status)
{
    static const contents after = {LENGTH, no_number, 0};
    nczchunk_array *found = NULL;
    int opened = nczchunk_array_open(path, NULL, NCZCHUNK_READ, &found, NULL);

    if (status != NCZCHUNK_NOERR && found == NULL) {
        CHECK_EQ(opened, NCZCHUNK_ENOTNC);
        return;
    }
    CHECK_OK(opened);
    check_array(found, LENGTH, &after, status);
    nczchunk_array_close(found);
}

static const char group[] = "system_calls.group/deep";

static void no_group_is_there(void)
{
    static const char *const made[] = {"system_calls.group/deep/ocean/sst/zarr.json",
                                       "system_calls.group/deep/ocean/sst",
                                       "system_calls.group/deep/ocean/zarr.json",
                                       "system_calls.group/deep/ocean",
                                       "system_calls.group/deep/zarr.json",
                                       "system_calls.group/deep",
                                       "system_calls.group"};

    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        CHECK(remove(made[i]) == 0 || errno == ENOENT);
}

static int creates_a_group(void)
{
    const nczchunk_description description = describe();
    nczchunk_array *in_group = NULL;
    int status = nczchunk_array_create(group, "ocean/sst", &description, &in_group, context);

    nczchunk_array_close(in_group);
    return status;
}

static int note(void *user, const nczchunk_node *node)
{
    char *names = user;

    if (node->status != NCZCHUNK_NOERR)
        return (int)node->status;
    strcat(strcat(names, node->name), node->is_group ? "/ " : " ");
    return 0;
}

/* A list is complete, or an error. */
static int lists(void)
{
    char names[100] = "";
    int status = nczchunk_list(group, NULL, 1, note, names, context);

    if (status == NCZCHUNK_NOERR)
        CHECK_STR(names, "/ ocean/ ocean/sst ");
    return status;
}

/* The array comes last: after a failure there is none. */
static void it_is_in_the_group(int status)
{
    static const contents after = {LENGTH, no_number, 0};
    nczchunk_array *found = NULL;
    int opened = nczchunk_array_open(group, "ocean/sst", NCZCHUNK_READ, &found, NULL);

    check_no_file_is_left("system_calls.group/deep");
    check_no_file_is_left("system_calls.group/deep/ocean");
    check_no_file_is_left("system_calls.group/deep/ocean/sst");
    if (status != NCZCHUNK_NOERR) {
        CHECK_EQ(opened, NCZCHUNK_ENOTFOUND);
        return;
    }
    CHECK_OK(opened);
    check_array(found, CHUNK, &after, status);
    nczchunk_array_close(found);
    CHECK_OK(lists());
}

static void a_group_is_there(void)
{
    no_group_is_there();
    CHECK_OK(creates_a_group());
}

static void the_group_is_there_still(int status)
{
    (void)status;
    it_is_in_the_group(NCZCHUNK_NOERR);
}

/* --- Zip files, which are made as a whole. */

static int make_zip(int (*number)(int i))
{
    const nczchunk_description description = describe();
    nczchunk_storage *storage = NULL;
    nczchunk_array *in_zip = NULL;
    int status = nczchunk_storage_create_zip(zip_path, &storage, context);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_create_in(storage, "numbers", &description, &in_zip, context);
    if (status == NCZCHUNK_NOERR)
        status = write_numbers(in_zip, number);
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_storage_finish(storage, context);
    nczchunk_array_close(in_zip);
    nczchunk_storage_free(storage);
    return status;
}

static void zip_file_is_there(void)
{
    CHECK_OK(make_zip(old_number));
}

static int makes_a_zip_file(void)
{
    return make_zip(new_number);
}

/* All numbers of a zip file are old or all are new. */
static void zip_file_is_made(int status)
{
    static const contents after = {LENGTH, new_number, 0};
    nczchunk_array *in_zip = NULL;

    CHECK_OK(nczchunk_array_open(zip_path, "numbers", NCZCHUNK_READ, &in_zip, NULL));
    check_array(in_zip, LENGTH, &after, status);
    nczchunk_array_close(in_zip);
}

static int reads_a_zip_file(void)
{
    nczchunk_array *in_zip = NULL;
    int status = nczchunk_array_open(zip_path, "numbers", NCZCHUNK_READ, &in_zip, context);

    if (status == NCZCHUNK_NOERR)
        status = read_numbers(in_zip);
    nczchunk_array_close(in_zip);
    return status;
}

/* --- Files that hold arrays, which are only read. */

static void nothing_is_needed(void)
{
}

/* A copy of a file, which may be cut. */
static void copy_file(const char *directory, const char *name, const char *copy)
{
    char path_of_original[1100];
    int from, to;

    snprintf(path_of_original, sizeof path_of_original, "%s/%s", directory, name);
    from = open_file(path_of_original, O_RDONLY);
    to = open_file(copy, O_WRONLY | O_CREAT | O_TRUNC);
    CHECK(from >= 0 && to >= 0);
    whole_size = pread64(from, whole, sizeof whole, 0);
    CHECK(whole_size > 0 && whole_size < (ssize_t)sizeof whole);
    CHECK_EQ(write(to, whole, (size_t)whole_size), whole_size);
    CHECK(close(from) == 0 && close(to) == 0);
}

static void nothing_can_change(int status)
{
    (void)status;
}

/* A file of which the variable is read in ranges. */
static const char netcdf_file[] = "system_calls.nc";

static int reads_netcdf(void)
{
    const size_t at[3] = {0, 40, 0}, count[3] = {1, 3, 60};
    const ptrdiff_t stride[3] = {1, 20, 3};
    static float expected[3 * 60];
    float values[3 * 60];
    nczchunk_array *variable = NULL;
    int status = nczchunk_array_open(netcdf_file, "SST", NCZCHUNK_READ, &variable, context);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_read(variable, at, count, stride, values, context);
    nczchunk_array_close(variable);
    if (status == NCZCHUNK_NOERR && how == NONE)
        memcpy(expected, values, sizeof values);
    if (status == NCZCHUNK_NOERR)
        CHECK(memcmp(values, expected, sizeof values) == 0);
    return status;
}

/* A file with temperatures of 6 days at 10 places, of which the last day has none: see test_cfdb.c. */
static const char cfdb_file[] = "system_calls.cfdb";

static int reads_cfdb(void)
{
    const size_t first[2] = {0, 0};
    unsigned short values[6][10];
    nczchunk_array *variable = NULL;
    int status = nczchunk_array_open(cfdb_file, "temperature", NCZCHUNK_READ, &variable, context);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_read(variable, first, NULL, NULL, values, context);
    nczchunk_array_close(variable);
    for (int day = 0; status == NCZCHUNK_NOERR && day < 6; day++)
        for (int place = 0; place < 10; place++)
            CHECK_EQ(values[day][place], day == 5 ? 0 : 10 * (10 * day + 11) + 5 * place);
    return status;
}

/* --- Each of them with each failure, at every system call. */

typedef struct job {
    const char *name;
    void (*is_there)(void);    /* makes what there is before */
    int (*run)(void);          /* the call, of which this is the status */
    void (*check)(int status); /* looks at what there is after a call with this status */
    int only_reads;
} job;

/* Whether a call may have this status after a failure. What was cut is a chunk, metadata or a file that is damaged. */
static int is_status_of(failure failure, int status)
{
    switch (failure) {
    case FAILED:
    case FULL:
    case OVER_QUOTA: return status == error_numbers[failure];
    case HALVED:
    case EMPTIED:
        return status == NCZCHUNK_EIO || status == NCZCHUNK_EBADCHUNK || status == NCZCHUNK_ENCZARR ||
               status == NCZCHUNK_ENOTNC;
    default: return 0;
    }
}

/* The words for an error; those of the system for one of its numbers. */
static void check_message(int status)
{
    const char *message = nczchunk_context_message(context);

    CHECK_EQ(nczchunk_context_status(context), status);
    CHECK(message[0] != '\0');
    if (status > 0) {
        CHECK_STR(nczchunk_strerror(status), strerror(status));
        if (strstr(message, strerror(status)) == NULL)
            CHECK_FAILED("\"%s\" does not say \"%s\"", message, strerror(status));
    }
}

/* Tells how often the failure has happened. */
static long at_every_call(const job *of, failure failure)
{
    long happened = 0;

    for (turn = 1;; turn++) {
        int status;

        /* What is only read is made once. */
        if (turn == 1 || !of->only_reads)
            of->is_there();
        calls = has_happened = write_was_lost = 0;
        how = failure;
        status = of->run();
        how = NONE;
        mend();
        if (status != NCZCHUNK_NOERR) {
            if (!has_happened || !is_status_of(failure, status))
                CHECK_FAILED("%s: status %d at call %ld, after failure %d", of->name, status, turn, (int)failure);
            check_message(status);
        }
        /* What is there looks right, but the file system has told that it will not stay. */
        if (write_was_lost && status != error_numbers[failure])
            CHECK_FAILED("%s: status %d at call %ld, a close that failed with %d", of->name, status, turn,
                         error_numbers[failure]);
        happened += has_happened;
        check_no_file_is_left(".");
        check_no_file_is_left("system_calls.zarr");
        check_no_file_is_left("system_calls.zarr/c");
        of->check(status);
        CHECK_OK(of->run());
        of->check(NCZCHUNK_NOERR);
        if (calls < turn)
            return happened;
    }
}

static void with_each_failure(const job *of)
{
    long happened[NUM_FAILURES] = {0};

    for (failure failure = INTERRUPTED; failure < NUM_FAILURES; failure++) {
        const int needs_room = failure == FULL || failure == OVER_QUOTA;

        if (!needs_room || !of->only_reads)
            happened[failure] = at_every_call(of, failure);
    }
    printf("%s%s: %ld calls interrupted, %ld in part, %ld failed; %ld without room, %ld over quota; %ld files cut\n",
           of->name, is_sharded ? ", in shards" : "", happened[INTERRUPTED], happened[IN_PART], happened[FAILED],
           happened[FULL], happened[OVER_QUOTA], happened[HALVED] + happened[EMPTIED]);
    CHECK(happened[INTERRUPTED] > 1 && happened[IN_PART] > 0 && happened[FAILED] > 1);
    if (of->only_reads)
        CHECK(happened[HALVED] > 0 && happened[EMPTIED] > 0);
    else
        CHECK(happened[FULL] > 1 && happened[OVER_QUOTA] > 1);
}

int main(int argc, char **argv)
{
    static const job of_directories[] = {
        {"open", array_is_there, opens, nothing_is_changed, 1},
        {"create", array_is_there, creates, it_is_a_new_array, 0},
        {"longer", array_is_there, grows, it_is_longer, 0},
        {"attribute", array_is_there, sets_an_attribute, it_has_the_attribute, 0},
        /* From here on there is a difference between chunks and shards. */
        {"read", array_is_there, reads, nothing_is_changed, 1},
        {"read of parts", array_is_there, reads_parts, nothing_is_changed, 1},
        {"write", array_is_there, writes, all_is_written, 0},
        {"write of parts", array_is_there, writes_parts, parts_are_written, 0},
        {"shorter", array_is_there, shrinks, it_is_shorter, 0},
        {"read in flight", array_is_there, reads_in_flight, nothing_is_changed, 1},
        {"write in flight", array_is_there, writes_in_flight, all_is_written, 0},
        {"write of parts in flight", array_is_there, writes_parts_in_flight, parts_are_written, 0},
    };
    static const job others[] = {
        {"create a group", no_group_is_there, creates_a_group, it_is_in_the_group, 0},
        {"list", a_group_is_there, lists, the_group_is_there_still, 1},
        {"make a zip file", zip_file_is_there, makes_a_zip_file, zip_file_is_made, 0},
        {"read a zip file", zip_file_is_there, reads_a_zip_file, nothing_can_change, 1},
        {"read a netCDF file", nothing_is_needed, reads_netcdf, nothing_can_change, 1},
        {"read a cfdb file", nothing_is_needed, reads_cfdb, nothing_can_change, 1},
    };
    size_t num_others = sizeof others / sizeof others[0];

    CHECK(argc > 1);
    CHECK_EQ(system("rm -rf system_calls.* .*.partial"), 0); /* of a run that failed */
    CHECK_OK(nczchunk_context_new(&context));
    copy_file(argv[1], "coads_sst.nc", netcdf_file);
    copy_file(argv[1], "../tests/vectors/small.cfdb", cfdb_file);
    CHECK_OK(reads_netcdf());
    for (is_sharded = 0; is_sharded < 2; is_sharded++)
        for (size_t j = is_sharded ? 4 : 0; j < sizeof of_directories / sizeof of_directories[0]; j++)
            with_each_failure(&of_directories[j]);
    CHECK(most_under_way > 1);
    nczchunk_array_close(array);
    is_sharded = 0;
    /* The last one is of what the library may be built without. */
    if (reads_cfdb() == NCZCHUNK_ENOTBUILT)
        num_others--;
    for (size_t j = 0; j < num_others; j++)
        with_each_failure(&others[j]);
    nczchunk_context_free(context);
    return 0;
}
