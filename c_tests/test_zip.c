/*
 * New zip files: arrays are created, written and read in a storage that becomes one. It is there as a whole when it is
 * finished, and not at all if it is not.
 */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64 /* with less, readdir may fail on systems of 32 bits */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#include "nczchunk_array.h"

/* Files of Windows have no mode. */
#ifdef _WIN32
#define mkdir(path, mode) mkdir(path)
#endif

static const size_t shape[2] = {4, 6}, chunks[2] = {2, 3}, origin[2] = {0, 0};

/* How many files there are in the directory whose names contain a word. */
static int files_with(const char *word)
{
    DIR *directory = opendir(".");
    struct dirent *entry;
    int found = 0;

    CHECK(directory != NULL);
    errno = 0;
    while ((entry = readdir(directory)) != NULL)
        found += strstr(entry->d_name, word) != NULL;
    CHECK_EQ(errno, 0);
    closedir(directory);
    return found;
}

static nczchunk_array *create(nczchunk_storage *storage, const char *name)
{
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    description.type = NCZCHUNK_INT;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    CHECK_OK(nczchunk_array_create_in(storage, name, &description, &array, NULL));
    return array;
}

static void fill(int data[4][6], int first)
{
    for (int i = 0; i < 24; i++)
        data[i / 6][i % 6] = first + i;
}

/* What is written is read, before the file is finished and after. */
static void a_zip_file_is_made(void)
{
    const size_t one[2] = {1, 1};
    nczchunk_storage *storage = NULL;
    nczchunk_array *array;
    int data[4][6], back[4][6];

    fill(data, 100);
    CHECK_OK(nczchunk_storage_create_zip("new.zip", &storage, NULL));
    array = create(storage, "a/b");
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
    data[0][0] = -1;
    CHECK_OK(nczchunk_array_write(array, origin, one, NULL, data, NULL));
    CHECK_OK(nczchunk_array_set_attribute(array, "units", NCZCHUNK_CHAR, 1, "K", NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    CHECK(memcmp(back, data, sizeof data) == 0);
    CHECK_EQ(files_with("new.zip"), 1); /* which is the partial one */
    CHECK(access("new.zip", F_OK) != 0);
    CHECK_OK(nczchunk_storage_finish(storage, NULL));
    CHECK_OK(nczchunk_storage_finish(storage, NULL));
    CHECK(access("new.zip", F_OK) == 0);
    CHECK_EQ(files_with("new.zip"), 1);
    /* From then on it is only read. */
    CHECK_EQ(nczchunk_array_write(array, origin, one, NULL, data, NULL), NCZCHUNK_EPERM);
    nczchunk_array_close(array);
    nczchunk_storage_free(storage);

    array = NULL;
    memset(back, 0, sizeof back);
    CHECK_OK(nczchunk_array_open("new.zip", "a/b", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, back, NULL));
    CHECK(memcmp(back, data, sizeof data) == 0);
    nczchunk_array_close(array);
}

/* A storage that is freed leaves the file that there was, and no other. */
static void a_zip_file_that_is_not_finished(void)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *array;
    int data[4][6];

    fill(data, 500);
    CHECK_OK(nczchunk_storage_create_zip("new.zip", &storage, NULL));
    array = create(storage, "a/b");
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
    nczchunk_storage_free(storage);
    nczchunk_array_close(array);
    CHECK_EQ(files_with("new.zip"), 1);
    array = NULL;
    CHECK_OK(nczchunk_array_open("new.zip", "a/b", NCZCHUNK_READ, &array, NULL));
    CHECK_OK(nczchunk_array_read(array, origin, NULL, NULL, data, NULL));
    CHECK_EQ(data[3][5], 123);
    nczchunk_array_close(array);
}

/* If the file cannot get its name nothing is left under it, and all can be tried again. */
static void a_file_that_cannot_be_named(void)
{
    nczchunk_storage *storage = NULL;
    nczchunk_array *array;
    int data[4][6];

    fill(data, 0);
    CHECK_OK(nczchunk_storage_create_zip("taken.zip", &storage, NULL));
    array = create(storage, NULL);
    CHECK_OK(nczchunk_array_write(array, origin, NULL, NULL, data, NULL));
    nczchunk_array_close(array);
    CHECK_OK(mkdir("taken.zip", 0777));
    CHECK(nczchunk_storage_finish(storage, NULL) > 0);
    CHECK_OK(rmdir("taken.zip"));
    CHECK(access("taken.zip", F_OK) != 0);
    CHECK_OK(nczchunk_storage_finish(storage, NULL));
    nczchunk_storage_free(storage);
    array = NULL;
    CHECK_OK(nczchunk_array_open("taken.zip", NULL, NCZCHUNK_READ, &array, NULL));
    nczchunk_array_close(array);
    CHECK_EQ(files_with("taken.zip"), 1);
}

/* The file is where the path led when it was begun, wherever the process goes meanwhile. */
static void a_process_that_goes_to_another_directory(void)
{
    nczchunk_storage *storage = NULL;

    CHECK_OK(mkdir("elsewhere", 0777));
    CHECK_OK(nczchunk_storage_create_zip("here.zip", &storage, NULL));
    nczchunk_array_close(create(storage, NULL));
    CHECK_OK(chdir("elsewhere"));
    CHECK_OK(nczchunk_storage_finish(storage, NULL));
    nczchunk_storage_free(storage);
    CHECK_EQ(files_with(".zip"), 0);
    CHECK_OK(chdir(".."));
    CHECK_EQ(files_with("here.zip"), 1);

    /* One that is given up is found again, too, and removed. */
    CHECK_OK(nczchunk_storage_create_zip("given_up.zip", &storage, NULL));
    CHECK_EQ(files_with("given_up.zip"), 1);
    CHECK_OK(chdir("elsewhere"));
    nczchunk_storage_free(storage);
    CHECK_OK(chdir(".."));
    CHECK_EQ(files_with("given_up.zip"), 0);
    CHECK_OK(rmdir("elsewhere"));
}

static void what_cannot_be(void)
{
    nczchunk_storage *storage = NULL;

    CHECK_EQ(nczchunk_storage_create_zip(NULL, &storage, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_create_zip("x.zip", NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_storage_create_zip("..", &storage, NULL), NCZCHUNK_EINVAL);
    CHECK(nczchunk_storage_create_zip("nowhere/x.zip", &storage, NULL) > 0);
    CHECK_EQ(nczchunk_storage_finish(NULL, NULL), NCZCHUNK_EINVAL);
    CHECK(storage == NULL);
    CHECK_EQ(files_with("x.zip"), 0);
    /* A directory has nothing to finish. */
    CHECK_OK(nczchunk_storage_create("directory.zarr", &storage, NULL));
    nczchunk_array_close(create(storage, "x"));
    CHECK_OK(nczchunk_storage_finish(storage, NULL));
    nczchunk_storage_free(storage);
    CHECK_EQ(nczchunk_storage_create("absent.zip", &storage, NULL), NCZCHUNK_ENOTBUILT);
    CHECK_EQ(nczchunk_storage_create(NULL, &storage, NULL), NCZCHUNK_EINVAL);
}

/* Removes what a run that failed has left. */
static void clean(void)
{
#ifdef _WIN32
    system("del /q *.zip .*.partial 2>nul & rmdir /s /q directory.zarr elsewhere 2>nul");
#else
    CHECK(system("rm -rf new.zip taken.zip here.zip given_up.zip directory.zarr elsewhere .*.partial") == 0);
#endif
}

int main(void)
{
    clean();
    a_zip_file_is_made();
    a_zip_file_that_is_not_finished();
    a_file_that_cannot_be_named();
    a_process_that_goes_to_another_directory();
    what_cannot_be();
    return 0;
}
