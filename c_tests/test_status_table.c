/*
 * The table of status_table.h: which hyperslabs fit, and what is said of those that do not. What does not fit is found
 * out before any callback runs, and changes neither memory nor chunks.
 */
#include "memory_array.h"
#include "status_table.h"

static void check_get(size_t number, store_kind kind)
{
    const status_case *c = &status_cases[number];
    const size_t *start = status_start(c), *count = status_count(c);
    const ptrdiff_t *stride = status_stride(c);
    size_t selected = c->status == NCZCHUNK_NOERR ? status_elements(c) : 0;
    int guarded[STATUS_MAX_ELEMENTS + 2], *data = guarded + 1, status;
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;

    for (size_t i = 0; i < STATUS_MAX_ELEMENTS + 2; i++)
        guarded[i] = -1;
    memory_array_init(&array, c->rank, c->dimlens, c->chunklens, sizeof(int));
    var = memory_array_var(&array);
    store = memory_array_store(&array, kind);

    status = nczchunk_read_vars(var, store, start, count, stride, data, NULL);
    if (status != c->status)
        CHECK_FAILED("case %zu: status %d, not %d", number, status, c->status);
    if (selected > 0)
        memory_array_expect(&array, start, count, stride, NULL, data);
    else
        CHECK_EQ(array.asked, 0);
    CHECK_EQ(guarded[0], -1);
    for (size_t i = selected; i < STATUS_MAX_ELEMENTS + 1; i++)
        CHECK_EQ(data[i], -1);

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

static void check_put(size_t number, store_kind kind)
{
    const status_case *c = &status_cases[number];
    const size_t *start = status_start(c), *count = status_count(c);
    const ptrdiff_t *stride = status_stride(c);
    int data[STATUS_MAX_ELEMENTS], status;
    memory_array array, expected;
    size_t written = 0;
    nczchunk_var *var;
    nczchunk_chunk_store *store;

    memory_array_init(&array, c->rank, c->dimlens, c->chunklens, sizeof(int));
    expected = memory_array_copy(&array);
    memory_array_make_data(&array, STATUS_MAX_ELEMENTS, data);
    if (c->status == NCZCHUNK_NOERR)
        memory_array_put(&expected, start, count, stride, NULL, data, &written);
    var = memory_array_var(&array);
    store = memory_array_store(&array, kind);

    status = nczchunk_write_vars(var, store, start, count, stride, data, NULL);
    if (status != c->status)
        CHECK_FAILED("case %zu: the status of a write is %d, not %d", number, status, c->status);
    CHECK_EQ(array.written, written);
    if (written == 0)
        CHECK_EQ(array.asked, 0);
    memory_array_check_same(&array, &expected);

    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&expected);
    memory_array_clear(&array);
}

/* A plan is refused for the same reasons as a read or a write. */
static void check_plan(size_t number, int access)
{
    const status_case *c = &status_cases[number];
    nczchunk_var *var;
    nczchunk_plan *plan = NULL;
    int status;

    CHECK_OK(nczchunk_var_new(c->rank, c->dimlens, c->chunklens, sizeof(int), &var, NULL));
    status = nczchunk_plan_new(var, status_start(c), status_count(c), status_stride(c), access, &plan, NULL);
    if (status != c->status)
        CHECK_FAILED("case %zu: a plan's status is %d, not %d", number, status, c->status);
    CHECK((plan == NULL) == (status != 0));
    nczchunk_plan_free(plan);
    nczchunk_var_free(var);
}

/* One dimension alone says the same. */
static void check_projections(size_t number)
{
    const status_case *c = &status_cases[number];
    size_t needed = 99;

    if (c->rank != 1 || c->left_out || !(c->access & GET))
        return;
    CHECK_EQ(nczchunk_projections(c->dimlens[0], c->chunklens[0], c->start[0], c->count[0], c->stride[0], NULL,
                                  sizeof(nczchunk_projection), 0, &needed, NULL),
             c->status);
}

int main(void)
{
    for (size_t number = 0; number < NUM_STATUS_CASES; number++) {
        int access = status_cases[number].access;

        for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
            if (access & GET)
                check_get(number, store_kinds[kind]);
            if (access & PUT)
                check_put(number, store_kinds[kind]);
        }
        if (access & GET)
            check_plan(number, NCZCHUNK_READ);
        if (access & PUT)
            check_plan(number, NCZCHUNK_WRITE);
        check_projections(number);
    }
    return 0;
}
