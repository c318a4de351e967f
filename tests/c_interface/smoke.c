/*
 * A first use of the library, from the first call to the last. tests/c_interface.rs compiles it, links it to the shared
 * and to the static library, and runs it: it ends with 0 if everything is as it says.
 */
#include <stdio.h>
#include <string.h>

#include "nczchunk.h"

/*
 * 5 x 7 temperatures are kept in chunks of 2 x 3: three chunks down, three across. The last ones reach beyond the
 * edges.
 */
enum { ROWS = 5, COLUMNS = 7, CHUNK_ROWS = 2, CHUNK_COLUMNS = 3 };

/* The temperature in a row and a column. Where nothing was measured it is MISSING. */
static double measured(ptrdiff_t row, ptrdiff_t column)
{
    return 10 * (double)row + (double)column;
}

static const double MISSING = -999;

/* How often the library asked for a chunk. It is the callback's user pointer. */
typedef struct {
    int asked;
} archive;

/* The library calls this function for each chunk that it needs. The chunk in the middle, (1, 1), was never stored. */
static int fill(void *user, nczchunk_request *request)
{
    archive *where = user;
    const ptrdiff_t *chunk_indices = request->chunk_indices;
    double chunk[CHUNK_ROWS][CHUNK_COLUMNS];
    ptrdiff_t row, column;

    where->asked++;
    if (request->rank != 2 || request->size != sizeof chunk) return NCZCHUNK_EINTERNAL;
    if (chunk_indices[0] == 1 && chunk_indices[1] == 1) return NCZCHUNK_EEMPTY;
    for (row = 0; row < CHUNK_ROWS; row++)
        for (column = 0; column < CHUNK_COLUMNS; column++)
            chunk[row][column] =
                measured(chunk_indices[0] * CHUNK_ROWS + row, chunk_indices[1] * CHUNK_COLUMNS + column);
    memcpy(request->buffer, chunk, sizeof chunk);
    request->nbytes = sizeof chunk;
    return NCZCHUNK_NOERR;
}

/* Says what is not as expected. */
static int failed(const char *what, int status)
{
    fprintf(stderr, "smoke.c: %s (status %d: %s)\n", what, status, nczchunk_strerror(status));
    return 1;
}

/* Rows 1 and 3, and of these the columns 0, 2, 4 and 6: a start, a count and a stride for each dimension. */
static int read_and_check(const nczchunk_var *var, const nczchunk_chunk_store *store, const archive *where,
                          nczchunk_context *context)
{
    const size_t start[2] = {1, 0}, count[2] = {2, 4};
    const ptrdiff_t stride[2] = {2, 2};
    double data[2][4];
    int i, j, status;

    status = nczchunk_read_vars(var, store, start, count, stride, data, context);
    if (status != NCZCHUNK_NOERR) return failed(nczchunk_context_message(context), status);

    for (i = 0; i < 2; i++) {
        for (j = 0; j < 4; j++) {
            const ptrdiff_t row = 1 + 2 * i, column = 2 * j;
            const int is_missing = row / CHUNK_ROWS == 1 && column / CHUNK_COLUMNS == 1;
            if (data[i][j] != (is_missing ? MISSING : measured(row, column))) return failed("a value is wrong", 0);
        }
    }
    /* The rows lie in two rows of chunks, the columns in all three: each of the six chunks was asked for once. */
    return where->asked == 6 ? 0 : failed("chunks were not asked for once each", 0);
}

/* What lies beyond the array is refused before any chunk is asked for, and the context says where it went wrong. */
static int refuse_and_check(const nczchunk_var *var, const nczchunk_chunk_store *store, const archive *where,
                            nczchunk_context *context)
{
    const size_t start[2] = {0, 0}, count[2] = {1, COLUMNS + 1};
    const int asked = where->asked;
    double data[COLUMNS + 1];
    int status;

    status = nczchunk_read_vars(var, store, start, count, NULL, data, context); /* NULL: a stride of 1 everywhere */
    if (status != NCZCHUNK_EEDGE) return failed("a count beyond the edge was not refused", status);
    if (nczchunk_context_dimension(context) != 1) return failed("the wrong dimension is named", status);
    if (strlen(nczchunk_context_message(context)) == 0) return failed("there are no words", status);
    return where->asked == asked ? 0 : failed("chunks were asked for in vain", status);
}

int main(void)
{
    const size_t dimlens[2] = {ROWS, COLUMNS}, chunklens[2] = {CHUNK_ROWS, CHUNK_COLUMNS};
    archive where = {0};
    nczchunk_reader_callbacks callbacks;
    nczchunk_context *context = NULL;
    nczchunk_var *var = NULL;
    nczchunk_chunk_store *store = NULL;
    int status, result;

    /* The header that this program is compiled with belongs to the library that it runs with. */
    if (strcmp(nczchunk_version(), NCZCHUNK_VERSION) != 0) return failed("another version of the library runs", 0);

    /* What is stored: the lengths of the array and of a chunk, the size of an element, and what absent chunks hold. */
    status = nczchunk_context_new(&context);
    if (!status) status = nczchunk_var_new(2, dimlens, chunklens, sizeof(double), &var, context);
    if (!status) status = nczchunk_var_set_fill_value(var, &MISSING, context);

    /* Where it comes from. What is not set is 0, which means that it is not used. */
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.struct_size = sizeof callbacks;
    callbacks.user = &where;
    callbacks.fill = fill;
    if (!status) status = nczchunk_chunk_store_new(&callbacks, &store, context);
    result = status ? failed("something could not be made", status) : 0;

    if (!result) result = read_and_check(var, store, &where, context);
    if (!result) result = refuse_and_check(var, store, &where, context);

    /* Whatever was made is freed; NULL is nothing to free. */
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    nczchunk_context_free(context);
    return result;
}
