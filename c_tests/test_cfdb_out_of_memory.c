/*
 * Memory that cannot be had while a cfdb file is opened, read and listed: the call says NCZCHUNK_ENOMEM, nothing is
 * leaked, and the next one finds the file as it is.
 *
 * Each scene is played with its first allocation failing, then its second, and so on until it gets through.
 */
#include "check.h"

#include "nczchunk_array.h"

#include "counted_malloc.h"

static int read_all(const char *path)
{
    const size_t start[2] = {0, 0};
    unsigned short temperature[6][10];
    nczchunk_array *array = NULL;
    int status = nczchunk_array_open(path, "temperature", NCZCHUNK_READ, &array, NULL);

    CHECK((array == NULL) == (status != NCZCHUNK_NOERR));
    if (status == NCZCHUNK_NOERR) status = nczchunk_array_read(array, start, NULL, NULL, temperature, NULL);
    if (status == NCZCHUNK_NOERR) CHECK(temperature[4][9] == 555 && temperature[5][0] == 0);
    nczchunk_array_close(array);
    return status;
}

static int count(void *user, const nczchunk_node *node)
{
    CHECK((node->status != 0) == (strcmp(node->name, "remark") == 0));
    ++*(int *)user;
    return 0;
}

static int list(const char *path)
{
    int found = 0;
    int status = nczchunk_list(path, NULL, 1, count, &found, NULL);

    CHECK(status == NCZCHUNK_ENOMEM || found == 5);
    return status;
}

static void play(const char *name, int (*scene)(const char *path), const char *path)
{
    int status = NCZCHUNK_ENOMEM;

    for (long n = 1; status != NCZCHUNK_NOERR; n++) {
        const long live = live_allocations;
        int failed;

        CHECK(n < 5000);
        failing_allocation = allocations + n;
        status = scene(path);
        failed = allocations >= failing_allocation;
        failing_allocation = 0;
        if (status != (failed ? NCZCHUNK_ENOMEM : NCZCHUNK_NOERR))
            CHECK_FAILED("%s: status %d when allocation %ld failed", name, status, n);
        if (live_allocations != live)
            CHECK_FAILED("%s: %ld allocations left when number %ld failed", name, live_allocations - live, n);
    }
}

int main(int argc, char **argv)
{
    char path[1100];

    CHECK(argc > 1);
    snprintf(path, sizeof path, "%s/../tests/vectors/small.cfdb", argv[1]);
    play("read_all", read_all, path);
    play("list", list, path);
    return 0;
}
