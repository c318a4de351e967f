/*
 * System calls that fail: each kind of failure, at each of those that a call of the library makes for files.
 *
 * One that a signal interrupts (EINTR) is made again, and one that transfers less than it was asked for is gone on
 * with: the result is as it would be otherwise. One that fails (EIO) is an error of the call, with that number; then
 * what was stored before is there still, no file is left over, and the same call succeeds afterwards. That is so for
 * arrays in directories, in zip files, and in a place with requests in flight, whose callbacks tell of the failure.
 *
 * The functions of the C library that the library calls are replaced here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

/* Where offsets take two registers, system calls have other arguments. */
#if !defined __linux__ || UINTPTR_MAX <= 0xffffffffu
int main(void)
{
    puts("not tested here");
    return 0;
}
#else

/* --- The functions that fail. */

typedef enum failure { NONE, INTERRUPTED, IN_PART, FAILED, NUM_FAILURES } failure;

/* What happens at which call, counted from 1; how many there have been, and whether it has happened. */
static failure how;
static long turn, calls;
static int has_happened;

/* The failure of this call, if it can have it. */
static failure failure_now(int can_be_in_part)
{
    if (how == NONE || ++calls != turn || (how == IN_PART && !can_be_in_part))
        return NONE;
    has_happened = 1;
    errno = how == INTERRUPTED ? EINTR : EIO;
    return how;
}

static ssize_t transferred(long type, int file, void *bytes, size_t nbytes, off_t offset)
{
    switch (failure_now(nbytes > 1)) {
    case INTERRUPTED:
    case FAILED: return -1;
    case IN_PART: nbytes /= 2; break;
    default: break;
    }
    return syscall(type, file, bytes, nbytes, offset);
}

ssize_t pread64(int file, void *bytes, size_t nbytes, off_t offset)
{
    return transferred(SYS_pread64, file, bytes, nbytes, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t nbytes, off_t offset)
{
    return transferred(SYS_pwrite64, file, (void *)(uintptr_t)bytes, nbytes, offset);
}

ssize_t write(int file, const void *bytes, size_t nbytes)
{
    return transferred(SYS_write, file, (void *)(uintptr_t)bytes, nbytes, 0);
}

int openat64(int directory, const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
    return failure_now(0) != NONE ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    int mode;

    va_start(rest, flags);
    mode = va_arg(rest, int);
    va_end(rest);
    return openat64(AT_FDCWD, path, flags, mode);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int ftruncate64(int file, off_t length)
{
    return failure_now(0) != NONE ? -1 : (int)syscall(SYS_ftruncate, file, length);
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return failure_now(0) != NONE ? -1 : (int)syscall(SYS_renameat2, from_directory, from, to_directory, to, 0);
}

/* A descriptor is closed whatever this returns. */
int close(int file)
{
    int result = (int)syscall(SYS_close, file);
    return failure_now(0) != NONE ? -1 : result;
}

/* --- An array of 30 numbers in 6 chunks, in a directory and in a zip file. */

enum { LENGTH = 30, SELECTED = 6 };

static const char path[] = "system_calls.zarr", zip_path[] = "system_calls.zip";
static const size_t length = LENGTH, chunk_length = 5, origin = 0, selected = SELECTED, longer = LENGTH + 10;
static const ptrdiff_t every_fifth = 5;

static nczchunk_array *array;

/* Writes the numbers from `first` on. */
static int write_numbers(nczchunk_array *to, int first)
{
    int values[LENGTH];

    for (int i = 0; i < LENGTH; i++)
        values[i] = first + i;
    return nczchunk_array_write(to, &origin, &length, NULL, values, NULL);
}

/* The numbers are those from 100 on; or, where there are chunks of the two, from 200 on. */
static void check_numbers(nczchunk_array *in, int may_be_new)
{
    int values[LENGTH];

    CHECK_OK(nczchunk_array_read(in, &origin, &length, NULL, values, NULL));
    for (int i = 0; i < LENGTH; i++) {
        int first = values[i] - i;

        CHECK(first == 100 || (may_be_new && first == 200));
        CHECK_EQ(first, values[i / 5 * 5] - i / 5 * 5);
    }
}

/* Files that are being written have names of their own. */
static void check_no_file_is_left(void)
{
    const char *const directories[] = {path, "system_calls.zarr/c", "."};

    for (size_t d = 0; d < 3; d++) {
        DIR *directory = opendir(directories[d]);

        CHECK(directory != NULL);
        for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
            CHECK(strstr(entry->d_name, "partial") == NULL);
        closedir(directory);
    }
}

static nczchunk_description describe(void)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;

    description.type = NCZCHUNK_INT;
    description.rank = 1;
    description.shape = &length;
    description.chunk_shape = &chunk_length;
    description.uncompressed = 1;
    description.overwrite = 1;
    return description;
}

static int create_array(void)
{
    const nczchunk_description description = describe();
    int status = nczchunk_array_create(path, NULL, &description, &array, NULL);

    if (status == NCZCHUNK_NOERR)
        CHECK_OK(nczchunk_array_set_cache(array, NULL, NULL));
    return status;
}

/* Makes a zip file with the numbers from `first` on, in place of the one there was. */
static int make_zip(int first)
{
    const nczchunk_description description = describe();
    nczchunk_place *place = NULL;
    nczchunk_array *in_zip = NULL;
    int status = nczchunk_place_create_zip(zip_path, &place, NULL);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_create_in(place, "numbers", &description, &in_zip, NULL);
    if (status == NCZCHUNK_NOERR)
        status = write_numbers(in_zip, first);
    if (status == NCZCHUNK_NOERR)
        status = nczchunk_place_finish(place, NULL);
    nczchunk_array_close(in_zip);
    nczchunk_place_free(place);
    return status;
}

static void check_zip(int may_be_new)
{
    nczchunk_array *in_zip = NULL;

    CHECK_OK(nczchunk_array_open(zip_path, "numbers", NCZCHUNK_READ, &in_zip, NULL));
    check_numbers(in_zip, may_be_new);
    nczchunk_array_close(in_zip);
}

/* --- A place with requests in flight: files, of which start opens one, and wait reads the last that was opened. */

enum { MOST_UNDER_WAY = 16 };

static struct {
    nczchunk_object_request *request;
    int file;
} under_way[MOST_UNDER_WAY];
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
    under_way[num_under_way].request = request;
    under_way[num_under_way].file = file;
    if (++num_under_way > most_under_way)
        most_under_way = num_under_way;
    return NCZCHUNK_NOERR;
}

static int wait_for_one(void *user, nczchunk_object_request **done)
{
    nczchunk_object_request *request;
    off_t size, offset;
    int file;

    CHECK(user == NULL && num_under_way > 0);
    request = under_way[--num_under_way].request;
    file = under_way[num_under_way].file;
    size = lseek(file, 0, SEEK_END);
    offset = (off_t)request->offset < size ? (off_t)request->offset : size;
    if (request->from_end)
        offset = size - offset;
    while (request->nbytes < request->size) {
        ssize_t nbytes = pread64(file, (char *)request->buffer + request->nbytes, request->size - request->nbytes,
                                 offset + (off_t)request->nbytes);

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
    close(file);
    while (status == NCZCHUNK_NOERR && rename(partial, name) != 0)
        status = errno == EINTR ? NCZCHUNK_NOERR : errno;
    if (status != NCZCHUNK_NOERR)
        CHECK_EQ(unlink(partial), 0);
    return status;
}

/* The array of the directory, by the callbacks. */
static int open_in_flight(int mode, nczchunk_array **in_flight)
{
    nczchunk_place_callbacks callbacks = NCZCHUNK_PLACE_CALLBACKS_INIT;
    nczchunk_place *place = NULL;
    int status;

    callbacks.start = start;
    callbacks.wait = wait_for_one;
    callbacks.write = write_object;
    CHECK_OK(nczchunk_place_new(&callbacks, &place, NULL));
    status = nczchunk_array_open_in(place, path, mode, in_flight, NULL);
    nczchunk_place_free(place);
    return status;
}

/* --- What is done. Each gives the status of the call. */

static int creates(void)
{
    nczchunk_array_close(array);
    array = NULL;
    return create_array();
}

static int opens(void)
{
    nczchunk_array *again = NULL;
    int status = nczchunk_array_open(path, NULL, NCZCHUNK_READ, &again, NULL);

    CHECK((again != NULL) == (status == NCZCHUNK_NOERR));
    nczchunk_array_close(again);
    return status;
}

static int reads(void)
{
    int values[LENGTH];
    int status = nczchunk_array_read(array, &origin, &length, NULL, values, NULL);

    for (int i = 0; status == NCZCHUNK_NOERR && i < LENGTH; i++)
        CHECK_EQ(values[i], 100 + i);
    return status;
}

static int reads_parts(void)
{
    int values[SELECTED];
    int status = nczchunk_array_read(array, &origin, &selected, &every_fifth, values, NULL);

    for (int i = 0; status == NCZCHUNK_NOERR && i < SELECTED; i++)
        CHECK_EQ(values[i], 100 + 5 * i);
    return status;
}

static int writes(void)
{
    return write_numbers(array, 200);
}

static int writes_parts(void)
{
    const int values[SELECTED] = {100, 105, 110, 115, 120, 125};
    return nczchunk_array_write(array, &origin, &selected, &every_fifth, values, NULL);
}

static int grows(void)
{
    return nczchunk_array_resize(array, &longer, NULL);
}

static int sets_an_attribute(void)
{
    return nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "K", NULL);
}

static int makes_a_zip_file(void)
{
    return make_zip(200);
}

static int reads_a_zip_file(void)
{
    int values[LENGTH];
    nczchunk_array *in_zip = NULL;
    int status = nczchunk_array_open(zip_path, "numbers", NCZCHUNK_READ, &in_zip, NULL);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_read(in_zip, &origin, &length, NULL, values, NULL);
    nczchunk_array_close(in_zip);
    for (int i = 0; status == NCZCHUNK_NOERR && i < LENGTH; i++)
        CHECK_EQ(values[i], 100 + i);
    return status;
}

static int reads_in_flight(void)
{
    int values[LENGTH];
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_READ, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_read(in_flight, &origin, &length, NULL, values, NULL);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    for (int i = 0; status == NCZCHUNK_NOERR && i < LENGTH; i++)
        CHECK_EQ(values[i], 100 + i);
    return status;
}

/* Chunks that are written in part are read in flight. */
static int writes_parts_in_flight(void)
{
    const int values[SELECTED] = {100, 105, 110, 115, 120, 125};
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_WRITE, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_write(in_flight, &origin, &selected, &every_fifth, values, NULL);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    return status;
}

static int writes_in_flight(void)
{
    nczchunk_array *in_flight = NULL;
    int status = open_in_flight(NCZCHUNK_WRITE, &in_flight);

    if (status == NCZCHUNK_NOERR)
        status = write_numbers(in_flight, 200);
    nczchunk_array_close(in_flight);
    CHECK_EQ(num_under_way, 0);
    return status;
}

/* A file of which the variable is read in ranges. */
static char netcdf_file[1100];

static int reads_netcdf(void)
{
    const size_t at[3] = {0, 40, 0}, count[3] = {1, 3, 60};
    const ptrdiff_t stride[3] = {1, 20, 3};
    static float expected[3 * 60];
    float values[3 * 60];
    nczchunk_array *variable = NULL;
    int status = nczchunk_array_open(netcdf_file, "SST", NCZCHUNK_READ, &variable, NULL);

    if (status == NCZCHUNK_NOERR)
        status = nczchunk_array_read(variable, at, count, stride, values, NULL);
    nczchunk_array_close(variable);
    if (status == NCZCHUNK_NOERR && how == NONE)
        memcpy(expected, values, sizeof values);
    if (status == NCZCHUNK_NOERR)
        CHECK(memcmp(values, expected, sizeof values) == 0);
    return status;
}

/* --- Each of them with each failure, at every system call. */

static long at_every_call(int (*job)(void), failure failure)
{
    long happened = 0;

    for (turn = 1;; turn++) {
        int status;

        CHECK_OK(create_array());
        CHECK_OK(write_numbers(array, 100));
        CHECK_OK(make_zip(100));
        calls = has_happened = 0;
        how = failure;
        status = job();
        how = NONE;
        /* What was done already may fail to be tidied up; then nothing is lost. */
        if (failure != FAILED)
            CHECK_OK(status);
        CHECK(status == NCZCHUNK_NOERR || (has_happened && status == EIO));
        happened += has_happened;
        if (job != creates) {
            check_no_file_is_left();
            check_numbers(array, job == writes || job == writes_in_flight);
            check_zip(job == makes_a_zip_file);
        }
        CHECK_OK(job());
        nczchunk_array_close(array);
        array = NULL;
        if (calls < turn)
            return happened;
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*job)(void);
    } jobs[] = {{"create", creates},
                {"open", opens},
                {"read", reads},
                {"read of parts", reads_parts},
                {"write", writes},
                {"write of parts", writes_parts},
                {"resize", grows},
                {"attribute", sets_an_attribute},
                {"making a zip file", makes_a_zip_file},
                {"read of a zip file", reads_a_zip_file},
                {"read in flight", reads_in_flight},
                {"write of parts in flight", writes_parts_in_flight},
                {"write in flight", writes_in_flight},
                {"netCDF", reads_netcdf}};

    CHECK(argc > 1);
    snprintf(netcdf_file, sizeof netcdf_file, "%s/coads_sst.nc", argv[1]);
    CHECK_OK(reads_netcdf());
    for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
        long happened[NUM_FAILURES] = {0};

        for (failure failure = INTERRUPTED; failure < NUM_FAILURES; failure++)
            happened[failure] = at_every_call(jobs[j].job, failure);
        printf("%s: %ld calls interrupted, %ld in part, %ld failed\n", jobs[j].name, happened[INTERRUPTED],
               happened[IN_PART], happened[FAILED]);
        CHECK(happened[INTERRUPTED] > 1 && happened[IN_PART] > 0 && happened[FAILED] > 1);
    }
    CHECK(most_under_way > 1);
    return 0;
}

#endif
