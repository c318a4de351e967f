/*
 * Reads an array map by map, once with a cache of decoded chunks and once without, and tells what the cache has saved.
 * Each chunk holds five maps.
 *
 *     cc cache.c -lnczchunk && ./a.out coads_sst.zarr
 */
#include <stdio.h>

#include "nczchunk_array.h"

enum { MONTHS = 12, ROWS = 90, COLUMNS = 180 };

static int read_maps(const nczchunk_array *array, nczchunk_context *context)
{
    static float map[ROWS][COLUMNS];
    const size_t count[3] = {1, ROWS, COLUMNS};
    int status = 0;

    for (size_t month = 0; status == 0 && month < MONTHS; month++) {
        const size_t start[3] = {month, 0, 0};
        status = nczchunk_array_read(array, start, count, NULL, map, context);
    }
    return status;
}

int main(int argc, char **argv)
{
    nczchunk_cache_statistics statistics = NCZCHUNK_CACHE_STATISTICS_INIT;
    nczchunk_cache *cache = NULL;
    nczchunk_array *array = NULL;
    nczchunk_context *context = NULL;

    int status = nczchunk_context_new(&context);
    if (status == 0)
        status = nczchunk_array_open(argc > 1 ? argv[1] : "coads_sst.zarr", NULL, NCZCHUNK_READ, &array, context);

    /* A cache of 2 MiB instead of the array's own of 64 MiB. It could be given to other arrays as well. */
    if (status == 0) status = nczchunk_cache_new(2 << 20, &cache, context);
    if (status == 0) status = nczchunk_array_set_cache(array, cache, context);
    if (status == 0) status = read_maps(array, context);
    if (status == 0) status = nczchunk_cache_get_statistics(cache, &statistics, context);
    if (status == 0)
        printf("%d times found, %d times decoded, %d dropped; %zu chunks in %zu bytes\n", (int)statistics.hits,
               (int)statistics.misses, (int)statistics.evictions, statistics.chunks, statistics.bytes);

    /* Without a cache every map decodes its chunks again. */
    if (status == 0) status = nczchunk_array_set_cache(array, NULL, context);
    if (status == 0) status = read_maps(array, context);

    if (status != 0) fprintf(stderr, "cache: %s\n", nczchunk_context_message(context));
    nczchunk_array_close(array);
    nczchunk_cache_free(cache);
    nczchunk_context_free(context);
    return status != 0 || statistics.hits == 0;
}
