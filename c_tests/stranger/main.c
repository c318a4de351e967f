/* A program of somebody who installed the library. Argument: the version that was installed. */
#include <nczchunk.h>
#include <stdio.h>
#include <string.h>

/* Eight ints in chunks of four; each chunk holds its elements' positions. */
static int fill(void *user, nczchunk_request *request)
{
    const int first = 4 * (int)request->chunk_indices[0];
    const int chunk[4] = {first, first + 1, first + 2, first + 3};
    (void)user;
    memcpy(request->buffer, chunk, request->size);
    request->nbytes = sizeof chunk;
    return NCZCHUNK_NOERR;
}

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(nczchunk_version(), argv[1]) != 0 || strcmp(NCZCHUNK_VERSION, argv[1]) != 0) {
        fprintf(stderr, "the library is version %s\n", nczchunk_version());
        return 1;
    }
    const size_t dimlens[1] = {8}, chunklens[1] = {4}, start[1] = {1}, count[1] = {3};
    const ptrdiff_t stride[1] = {3};
    const nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .fill = fill};
    int data[3] = {0};
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;

    int status = nczchunk_var_new(1, dimlens, chunklens, sizeof(int), &var, NULL);
    if (!status) status = nczchunk_chunk_store_new(&callbacks, &store, NULL);
    if (!status) status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);

    printf("%d %d %d: %s\n", data[0], data[1], data[2], nczchunk_strerror(status));
    return status;
}
