/*
 * Does one job with nczchunk's C interface, and prints the seconds that it took, those of the processors, a checksum,
 * and the most memory of the process in bytes:
 *
 *     cc -pthread nczchunk.c -lnczchunk -lz && ./a.out ARRAY JOB WORK
 *
 * The jobs are those of peer.py. Those that end with "-at-once" have as many chunks under way as there are processors,
 * each in a thread of this program; the others have one, for which the library may use all processors.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "nczchunk_array.h"

enum { RANK = 3, MOST_CODECS = 4, MOST_THREADS = 256 };

static void fail(const char *what)
{
    fprintf(stderr, "nczchunk, C: %s\n", what);
    exit(1);
}

/* Memory for elements. The system fills memory with what it has of a file faster where that begins at a whole line of
 * the processor's cache, and malloc's does not. */
static uint16_t *memory_for(size_t elements)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 64, elements * sizeof(uint16_t)) != 0) fail("there is not enough memory");
    return memory;
}

static void check(int status, const nczchunk_context *context)
{
    if (status != NCZCHUNK_NOERR) fail(nczchunk_context_message(context));
}

/* A context for calls that may use this number of threads. */
static nczchunk_context *context_for(size_t threads)
{
    nczchunk_context *context = NULL;
    if (nczchunk_context_new(&context) != NCZCHUNK_NOERR) fail("there is not enough memory");
    check(nczchunk_context_set_threads(context, threads), context);
    return context;
}

/* CREATING AN ARRAY LIKE ANOTHER */

/* Keeps a codec, whose strings are the library's. */
static int keep_codec(void *user, const char *name, const char *configuration)
{
    nczchunk_description *description = user;
    nczchunk_codec_setting *codecs = (nczchunk_codec_setting *)description->codecs;
    if (description->num_codecs == MOST_CODECS) return NCZCHUNK_EINVAL;
    codecs[description->num_codecs].name = strdup(name);
    codecs[description->num_codecs++].configuration = strdup(configuration);
    return NCZCHUNK_NOERR;
}

static nczchunk_array *create_like(const nczchunk_array *source, const char *path, nczchunk_context *context)
{
    const nczchunk_var *var = nczchunk_array_var(source);
    size_t shape[RANK], chunk[RANK], shard[RANK];
    nczchunk_codec_setting codecs[MOST_CODECS];
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;

    for (size_t d = 0; d < RANK; d++) {
        shape[d] = nczchunk_var_dimlen(var, d);
        chunk[d] = nczchunk_var_chunklen(var, d);
        shard[d] = nczchunk_var_write_chunklen(var, d);
    }
    description.type_name = nczchunk_array_type_name(source);
    description.rank = RANK;
    description.shape = shape;
    description.chunk_shape = chunk;
    if (memcmp(shard, chunk, sizeof shard) != 0) description.shard_shape = shard;
    description.fill_value = nczchunk_var_fill_value(var);
    description.codecs = codecs;
    check(nczchunk_array_codecs(source, keep_codec, &description, context), context);
    if (description.num_codecs == 0) {
        description.codecs = NULL;
        description.uncompressed = 1;
    }
    check(nczchunk_array_create(path, NULL, &description, &array, context), context);
    for (size_t i = 0; i < description.num_codecs; i++) {
        free((char *)codecs[i].name);
        free((char *)codecs[i].configuration);
    }
    return array;
}

/* THE JOBS */

typedef struct {
    const nczchunk_array *source;
    nczchunk_array *target; /* NULL to read only */
    size_t shape[RANK];
    size_t step[RANK]; /* what is read by one call: a chunk, a shard, or a chunk in a shard */
    size_t num_chunks, threads;
    atomic_size_t next; /* the first chunk that nobody has begun with */
    atomic_ullong sum;
} job;

/* Reads, and may write, chunks until there are no more. */
static void *do_chunks(void *given)
{
    job *job = given;
    uint16_t *data = memory_for(job->step[0] * job->step[1] * job->step[2]);
    nczchunk_context *context = context_for(job->threads);

    for (size_t chunk; (chunk = atomic_fetch_add(&job->next, 1)) < job->num_chunks;) {
        size_t start[RANK], count[RANK], length = 1;
        for (size_t d = RANK; d-- > 0;) {
            size_t chunks = (job->shape[d] + job->step[d] - 1) / job->step[d];
            start[d] = chunk % chunks * job->step[d];
            count[d] = job->step[d] < job->shape[d] - start[d] ? job->step[d] : job->shape[d] - start[d];
            chunk /= chunks;
            length *= count[d];
        }
        check(nczchunk_array_read(job->source, start, count, NULL, data, context), context);
        if (job->target != NULL)
            check(nczchunk_array_write(job->target, start, count, NULL, data, context), context);
        else
            atomic_fetch_add(&job->sum, data[length - 1]); /* something of each, so that all have to be there */
    }
    nczchunk_context_free(context);
    free(data);
    return NULL;
}

/* Does it in this thread and in as many others as make `threads` together. */
static void do_at_once(job *job, size_t threads)
{
    pthread_t others[MOST_THREADS];
    for (size_t i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, do_chunks, job) != 0) fail("a thread cannot be started");
    do_chunks(job);
    for (size_t i = 1; i < threads; i++) pthread_join(others[i], NULL);
}

/* WHAT IS MEASURED */

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Uses three bytes for each element and gives them back to the system, and has the most memory counted from here. */
static void back_memory(const char *path, nczchunk_context *context)
{
    nczchunk_array *array = NULL;
    size_t nbytes = 3;
    check(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &array, context), context);
    for (size_t d = 0; d < RANK; d++) nbytes *= nczchunk_var_dimlen(nczchunk_array_var(array), d);
    nczchunk_array_close(array);
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("there is not enough memory");
    madvise(memory, nbytes, MADV_HUGEPAGE);
    memset(memory, 1, nbytes);
    munmap(memory, nbytes);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL || fputs("5", file) < 0 || fclose(file) != 0) fail("the most memory cannot be counted anew");
}

static unsigned long long most_memory(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1) break;
    if (file != NULL) fclose(file);
    return kilobytes * 1024;
}

int main(int argc, char **argv)
{
    if (argc != 4) fail("usage: ARRAY JOB WORK");
    const char *path = argv[1], *name = argv[2];
    int is_all = strcmp(name, "all") == 0, is_copy = strncmp(name, "copy", 4) == 0;
    int is_inner = strncmp(name, "inner", 5) == 0, is_at_once = strstr(name, "-at-once") != NULL;
    size_t processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN), total = 1;
    if (processors > MOST_THREADS) processors = MOST_THREADS;
    nczchunk_context *context = context_for(processors);
    if (is_all || is_copy) back_memory(path, context);

    double begin = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    nczchunk_array *source = NULL;
    check(nczchunk_array_open(path, NULL, NCZCHUNK_READ, &source, context), context);
    const nczchunk_var *var = nczchunk_array_var(source);
    if (nczchunk_var_rank(var) != RANK || nczchunk_var_element_size(var) != 2) fail("the array is another one");
    job job = {.source = source, .num_chunks = 1, .threads = is_at_once ? 1 : processors};
    for (size_t d = 0; d < RANK; d++) {
        job.shape[d] = nczchunk_var_dimlen(var, d);
        job.step[d] = is_inner ? nczchunk_var_chunklen(var, d) : nczchunk_var_write_chunklen(var, d);
        job.num_chunks *= (job.shape[d] + job.step[d] - 1) / job.step[d];
        total *= job.shape[d];
    }
    uint16_t *data = NULL;
    if (is_all) {
        size_t start[RANK] = {0};
        data = memory_for(total);
        check(nczchunk_array_read(source, start, NULL, NULL, data, context), context);
    } else {
        char copy[4096];
        snprintf(copy, sizeof copy, "%s/copy.zarr", argv[3]);
        if (is_copy) job.target = create_like(source, copy, context);
        do_at_once(&job, is_at_once ? processors : 1);
    }
    begin = seconds(CLOCK_MONOTONIC) - begin;
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - used;
    unsigned long long most = most_memory(), found = job.sum;

    if (is_all) /* every seventh plane's every fifth row */
        for (size_t z = 0; z < job.shape[0]; z += 7)
            for (size_t y = 0; y < job.shape[1]; y += 5)
                found = crc32(found, (const Bytef *)(data + (z * job.shape[1] + y) * job.shape[2]),
                              (uInt)(job.shape[2] * sizeof *data));
    printf("%f %f %llu %llu\n", begin, used, found, most);
    free(data);
    nczchunk_array_close(job.target);
    nczchunk_array_close(source);
    nczchunk_context_free(context);
    return 0;
}
