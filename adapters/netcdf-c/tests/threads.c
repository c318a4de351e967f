/* Several threads, each with a file of its own, opened before they start: nothing is shared but the library itself.
 *
 * One file is written and read before that. The first calls find out what the processor and the C library have, and
 * keep it in atomics; on x86-64 those are ordinary instructions, which helgrind would take for races.
 *
 *   threads DIRECTORY ROUNDS
 */
#include "check.h"

#include <pthread.h>

enum { THREADS = 4, LEN = 30, CHUNK = 7 };

typedef struct job {
    pthread_t thread;
    int ncid, number, rounds;
} job;

static void *work(void *user)
{
    const job *j = user;
    const size_t start[2] = {1, 2}, count[2] = {10, 14};
    const ptrdiff_t stride[2] = {3, 2};

    for (int round = 0; round < j->rounds; round++) {
        int values[10][14];

        for (int y = 0; y < 10; y++)
            for (int x = 0; x < 14; x++)
                values[y][x] = j->number * 1000000 + round * 1000 + y * 14 + x;
        OK(nc_put_vars_int(j->ncid, 0, start, count, stride, &values[0][0]));
        for (int y = 0; y < 10; y++)
            for (int x = 0; x < 14; x++)
                values[y][x] = -1;
        OK(nc_get_vars_int(j->ncid, 0, start, count, stride, &values[0][0]));
        for (int y = 0; y < 10; y++)
            for (int x = 0; x < 14; x++)
                if (values[y][x] != j->number * 1000000 + round * 1000 + y * 14 + x) {
                    fprintf(stderr, "threads: wrong value in thread %d, round %d\n", j->number, round);
                    exit(1);
                }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    job jobs[THREADS];

    if (argc != 3)
        return 2;
    for (int t = 0; t < THREADS; t++) {
        char name[20];

        snprintf(name, sizeof name, "file.%d", t);
        jobs[t].ncid = create_file(url_of(argv[1], name), NC_INT, 2, (size_t[]){LEN, LEN}, (size_t[]){CHUNK, CHUNK});
        OK(nc_enddef(jobs[t].ncid));
        jobs[t].number = t;
        jobs[t].rounds = atoi(argv[2]);
    }
    {
        job first = jobs[0];

        first.rounds = 1;
        work(&first);
    }
    for (int t = 0; t < THREADS; t++)
        if (pthread_create(&jobs[t].thread, NULL, work, &jobs[t]) != 0)
            return 1;
    for (int t = 0; t < THREADS; t++)
        if (pthread_join(jobs[t].thread, NULL) != 0)
            return 1;
    for (int t = 0; t < THREADS; t++)
        OK(nc_close(jobs[t].ncid));
    return 0;
}
