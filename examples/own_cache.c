/*
 * A store of one's own that lends: a cache with room for three chunks, which it loads when they are asked for and keeps
 * where they are while they are on loan. Nothing is copied but what the hyperslab selects.
 *
 *     cc own_cache.c -lnczchunk && ./a.out
 */
#include <stdio.h>
#include <string.h>

#include "nczchunk.h"

/* 8 x 8 ints in chunks of 4 x 4. */
enum { LENGTH = 8, CHUNK = 4, SLOTS = 3 };

typedef struct slot {
    ptrdiff_t chunk[2];
    int is_used, loans;
    unsigned long last_use;
    int elements[CHUNK][CHUNK];
} slot;

typedef struct own_cache {
    slot slots[SLOTS];
    unsigned long clock;
    int loads;
} own_cache;

/* Where a chunk comes from: a file, a database, a model. Here each int tells its row and column. */
static void load(own_cache *cache, slot *s)
{
    for (int row = 0; row < CHUNK; row++)
        for (int column = 0; column < CHUNK; column++)
            s->elements[row][column] = (int)(s->chunk[0] * CHUNK + row) * 10 + (int)(s->chunk[1] * CHUNK + column);
    cache->loads++;
}

/* The slot that has the chunk, or the one to be given up for it: the least recently used of those not on loan. */
static slot *find_slot(own_cache *cache, const ptrdiff_t *chunk)
{
    slot *oldest = NULL;

    for (slot *s = cache->slots; s < cache->slots + SLOTS; s++) {
        if (s->is_used && memcmp(s->chunk, chunk, sizeof s->chunk) == 0) return s;
        if (s->loans == 0 && (oldest == NULL || s->last_use < oldest->last_use)) oldest = s;
    }
    if (oldest != NULL) oldest->is_used = 0;
    return oldest;
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    own_cache *cache = user;
    slot *s = find_slot(cache, loan->chunk_indices);

    if (s == NULL) return NCZCHUNK_ENOMEM; /* all are on loan */
    if (!s->is_used) {
        memcpy(s->chunk, loan->chunk_indices, sizeof s->chunk);
        load(cache, s);
        s->is_used = 1;
    }
    s->loans++;
    s->last_use = ++cache->clock;
    loan->data = s->elements;
    loan->nbytes = sizeof s->elements;
    loan->handle = s; /* release finds it here */
    return NCZCHUNK_NOERR;
}

static int release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    slot *s = loan->handle;

    (void)user;
    (void)status; /* of a chunk that was to be changed it would say whether it was */
    s->loans--;
    return NCZCHUNK_NOERR;
}

int main(void)
{
    static own_cache cache;
    const size_t dimlens[2] = {LENGTH, LENGTH}, chunklens[2] = {CHUNK, CHUNK}, count[2] = {1, LENGTH};
    const nczchunk_zero_copy_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = &cache, .lend = lend, .release = release};
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;
    int row[LENGTH], wrong = 0;

    int status = nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, NULL);
    if (status == 0) status = nczchunk_chunk_store_new_zero_copy(&callbacks, &store, NULL);
    for (size_t i = 0; status == 0 && i < LENGTH; i++) {
        const size_t start[2] = {i, 0};

        status = nczchunk_read_vars(var, store, start, count, NULL, row, NULL);
        for (size_t j = 0; status == 0 && j < LENGTH; j++) wrong += row[j] != (int)(10 * i + j);
    }
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);

    if (status != 0) fprintf(stderr, "own_cache: %s\n", nczchunk_strerror(status));
    printf("%d rows, %d loads, %d wrong\n", LENGTH, cache.loads, wrong);
    return status != 0 || wrong != 0 || cache.loads != 4;
}
