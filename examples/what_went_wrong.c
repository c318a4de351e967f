/*
 * Asks a context what went wrong: with a hyperslab that does not fit, and with a chunk that is too short; and makes the
 * same call again when the chunk has been mended.
 *
 *     cc what_went_wrong.c -lnczchunk && ./a.out
 */
#include <stdio.h>

#include "nczchunk.h"

/* 4 x 6 ints in chunks of 2 x 3; of the chunk (1, 0) only a part is there at first. */
static int chunks[2][2][6] = {{{1}}};
static size_t lengths[2][2] = {{24, 24}, {8, 24}};

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    const ptrdiff_t *at = loan->chunk_indices;

    (void)user;
    loan->data = chunks[at[0]][at[1]];
    loan->nbytes = lengths[at[0]][at[1]];
    return NCZCHUNK_NOERR;
}

static void tell(const nczchunk_context *context)
{
    const int status = nczchunk_context_status(context), dimension = nczchunk_context_dimension(context);
    size_t rank = 0;
    const ptrdiff_t *chunk = nczchunk_context_chunk(context, &rank);

    printf("status %d: %s\n", status, nczchunk_strerror(status));
    if (status == NCZCHUNK_NOERR) return;
    printf("  %s\n", nczchunk_context_message(context));
    if (dimension >= 0) printf("  in dimension %d\n", dimension);
    if (chunk != NULL) {
        printf("  at the chunk (%d, %d)", (int)chunk[0], (int)chunk[rank - 1]);
        printf(", %zu chunks before it are done\n", nczchunk_context_chunks_done(context));
    }
}

int main(void)
{
    const size_t dimlens[2] = {4, 6}, chunklens[2] = {2, 3}, start[2] = {0, 0}, too_many[2] = {4, 7};
    const nczchunk_zero_copy_callbacks callbacks = {.struct_size = sizeof callbacks, .lend = lend};
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;
    nczchunk_context *context = NULL;
    static int data[4 * 7];
    int beyond = 0, broken = 0;

    int status = nczchunk_context_new(&context);
    if (status == 0) status = nczchunk_var_new(2, dimlens, chunklens, sizeof(int), &var, context);
    if (status == 0) status = nczchunk_chunk_store_new_zero_copy(&callbacks, &store, context);

    if (status == 0) {
        beyond = nczchunk_read_vars(var, store, start, too_many, NULL, data, context);
        tell(context);
        broken = nczchunk_read_vars(var, store, start, dimlens, NULL, data, context);
        tell(context);
        lengths[1][0] = 24; /* the fault is gone */
        status = nczchunk_read_vars(var, store, start, dimlens, NULL, data, context);
        tell(context);
    }

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    nczchunk_context_free(context);
    return !(status == 0 && beyond == NCZCHUNK_EEDGE && broken == NCZCHUNK_EBADCHUNK && data[0] == 1);
}
