/*
 * Arguments that no one should pass: NULL in every place, structures of the wrong size, shapes that no memory holds.
 * Each gives a status, before any callback runs and with everything untouched.
 */
#include <limits.h>
#include <stdint.h>

#include "memory_array.h"

/* AddressSanitizer, if the program is built with it, must let malloc fail as it does elsewhere. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static const size_t longest = (size_t)PTRDIFF_MAX + 1;

/* The square of it is the first number that overflows. */
static const size_t root = (size_t)1 << sizeof(size_t) * CHAR_BIT / 2;
static const size_t dimlens[2] = {5, 4}, chunklens[2] = {2, 3}, zeros[2] = {0, 0};

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int data[20];
} fixture;

static void open_fixture(fixture *f)
{
    memory_array_init(&f->array, 2, dimlens, chunklens, sizeof(int));
    f->var = memory_array_var(&f->array);
    f->store = memory_array_store(&f->array, FILLING);
    for (size_t i = 0; i < 20; i++)
        f->data[i] = -1;
}

static void close_fixture(fixture *f)
{
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* --- NULL. The odometer's and the projections' are in their own tests. */

static void null_in_place_of_a_variable(void)
{
    nczchunk_var *var = NULL;
    nczchunk_plan *plan = NULL;
    fixture f;

    open_fixture(&f);
    CHECK_EQ(nczchunk_var_new(2, NULL, chunklens, 4, &var, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_new(2, dimlens, NULL, 4, &var, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_new(2, dimlens, chunklens, 4, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK(var == NULL);
    CHECK_EQ(nczchunk_var_set_fill_value(NULL, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_endian(NULL, NCZCHUNK_ENDIAN_BIG, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_word_size(NULL, 4, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_dimlen(NULL, 0, 4, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_vars(NULL, f.store, zeros, NULL, NULL, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_copier(NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_var_set_origin(NULL, 0, 0, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_new(NULL, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL), NCZCHUNK_EINVAL);
    CHECK(plan == NULL);
    CHECK_EQ(f.data[0], -1);
    nczchunk_var_free(NULL);
    close_fixture(&f);
}

static int wait_for_nothing(void *user, nczchunk_request **done)
{
    (void)user, (void)done;
    return NCZCHUNK_EIO;
}

static void null_in_place_of_a_store(void)
{
    nczchunk_chunk_store *store = NULL;
    nczchunk_codec *codec = NULL;
    fixture f;
    nczchunk_zero_copy_callbacks lending;
    nczchunk_reader_callbacks filling;

    open_fixture(&f);
    lending = memory_array_lending(&f.array);
    filling = memory_array_filling(&f.array);
    CHECK_EQ(nczchunk_chunk_store_new_zero_copy(NULL, &store, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_new(NULL, &store, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_new_zero_copy(&lending, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_new(&filling, NULL, NULL), NCZCHUNK_EINVAL);
    lending.lend = NULL;
    filling.fill = NULL;
    CHECK_EQ(nczchunk_chunk_store_new_zero_copy(&lending, &store, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_new(&filling, &store, NULL), NCZCHUNK_EINVAL);
    /* Of start and wait there are both or none. */
    filling = memory_array_filling(&f.array);
    filling.start = memory_array_fill;
    CHECK_EQ(nczchunk_chunk_store_new(&filling, &store, NULL), NCZCHUNK_EINVAL);
    filling.start = NULL;
    filling.wait = wait_for_nothing;
    CHECK_EQ(nczchunk_chunk_store_new(&filling, &store, NULL), NCZCHUNK_EINVAL);
    CHECK(store == NULL);
    /* What could not be made is not destroyed. */
    CHECK_EQ(f.array.destroyed, 0);
    CHECK_EQ(nczchunk_read_vars(f.var, NULL, zeros, NULL, NULL, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(f.data[0], -1);
    /* A codec that no store has taken over is still the caller's. */
    CHECK_EQ(nczchunk_codec_zstd(NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_codec_zstd(NULL, &codec, NULL));
    CHECK_EQ(nczchunk_chunk_store_add_codec(NULL, codec, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_add_codec(f.store, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_chunk_store_set_verify(NULL, 1, NULL), NCZCHUNK_EINVAL);
    nczchunk_codec_free(codec);
    nczchunk_codec_free(NULL);
    nczchunk_chunk_store_free(NULL);
    close_fixture(&f);
}

static void null_in_place_of_data(void)
{
    fixture f;

    open_fixture(&f);
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, zeros, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(f.array.asked, 0);
    close_fixture(&f);
}

/* The functions for writing and for other layouts of memory, with a NULL in each of their places. */
static void null_in_place_of_what_is_written(void)
{
    const ptrdiff_t imap[2] = {4, 1}, strides[2] = {16, 4};
    memory_array before;
    fixture f;

    open_fixture(&f);
    before = memory_array_copy(&f.array);
    CHECK_EQ(nczchunk_write_vars(NULL, f.store, zeros, NULL, NULL, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_vars(f.var, NULL, zeros, NULL, NULL, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, NULL, NULL, NULL, f.data, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, zeros, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);

    CHECK_EQ(nczchunk_read_varm(NULL, f.store, zeros, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_varm(f.var, NULL, zeros, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_varm(f.var, f.store, NULL, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, imap, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_varm(f.var, f.store, zeros, NULL, NULL, NULL, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_varm(NULL, f.store, zeros, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_varm(f.var, NULL, zeros, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_varm(f.var, f.store, NULL, NULL, NULL, imap, f.data, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_write_varm(f.var, f.store, zeros, NULL, NULL, imap, NULL, NULL), NCZCHUNK_EINVAL);

    CHECK_EQ(nczchunk_read_strided(NULL, f.store, zeros, dimlens, NULL, f.data, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_strided(f.var, NULL, zeros, dimlens, NULL, f.data, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, NULL, dimlens, NULL, f.data, 80, 0, strides, NULL),
             NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, zeros, NULL, NULL, f.data, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, zeros, dimlens, NULL, NULL, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_read_strided(f.var, f.store, zeros, dimlens, NULL, f.data, 80, 0, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(NULL, f.store, zeros, dimlens, NULL, f.data, 80, 0, strides, NULL),
             NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(f.var, NULL, zeros, dimlens, NULL, f.data, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(f.var, f.store, NULL, dimlens, NULL, f.data, 80, 0, strides, NULL),
             NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_write_strided(f.var, f.store, zeros, NULL, NULL, f.data, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(f.var, f.store, zeros, dimlens, NULL, NULL, 80, 0, strides, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_write_strided(f.var, f.store, zeros, dimlens, NULL, f.data, 80, 0, NULL, NULL), NCZCHUNK_EINVAL);

    for (size_t i = 0; i < 20; i++)
        CHECK_EQ(f.data[i], -1);
    CHECK_EQ(f.array.asked + f.array.written, 0);
    memory_array_check_same(&f.array, &before);
    CHECK_EQ(nczchunk_context_chunks_done(NULL), 0);
    memory_array_clear(&before);
    close_fixture(&f);
}

static void null_in_place_of_a_plan(void)
{
    nczchunk_totals totals = {.chunks = 7};
    nczchunk_projection box[2] = {{7, 7, 7, 7, 7, 7, 7}};
    nczchunk_plan *plan;
    int covered = 7;
    fixture f;

    open_fixture(&f);
    CHECK_EQ(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    CHECK_EQ(nczchunk_plan_totals(NULL, &totals, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_totals(plan, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_chunk(NULL, 0, box, sizeof *box, &covered, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_chunk(plan, 0, NULL, sizeof(nczchunk_projection), &covered, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_chunk(plan, SIZE_MAX, box, sizeof *box, &covered, NULL), NCZCHUNK_EINVALCOORDS);
    CHECK_EQ(nczchunk_plan_shares_chunks(NULL, plan, &covered, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_shares_chunks(plan, NULL, &covered, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_plan_shares_chunks(plan, plan, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(totals.chunks, 7);
    CHECK_EQ(box[0].iocount, 7);
    CHECK_EQ(covered, 7);
    nczchunk_plan_free(plan);
    nczchunk_plan_free(NULL);
    close_fixture(&f);
}

static void null_in_place_of_a_context(void)
{
    CHECK_EQ(nczchunk_context_new(NULL), NCZCHUNK_EINVAL);
    nczchunk_context_free(NULL);
}

/* --- Structures of callbacks, which may grow: programs and libraries of different ages meet. */

/* The structure as a later version might have it. */
typedef struct newer_callbacks {
    nczchunk_zero_copy_callbacks known;
    void (*added)(void *user);
    size_t option;
} newer_callbacks;

/* Makes a store of callbacks of this size, and reads with it if it is made. */
static int store_of_size(fixture *f, newer_callbacks *callbacks, size_t struct_size)
{
    nczchunk_chunk_store *store = NULL;
    int status;

    callbacks->known.struct_size = struct_size;
    status = nczchunk_chunk_store_new_zero_copy(&callbacks->known, &store, NULL);
    CHECK((store == NULL) == (status != 0));
    if (store != NULL) {
        CHECK_OK(nczchunk_read_vars(f->var, store, zeros, NULL, NULL, f->data, NULL));
        memory_array_expect(&f->array, zeros, NULL, NULL, NULL, f->data);
        nczchunk_chunk_store_free(store);
    }
    return status;
}

static void callbacks_of_a_newer_program(void)
{
    newer_callbacks callbacks;
    fixture f;

    open_fixture(&f);
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.known = memory_array_lending(&f.array);

    /* What this library does not know, it can ignore only if it is not used. */
    CHECK_OK(store_of_size(&f, &callbacks, sizeof callbacks));
    CHECK_EQ(f.array.destroyed, 1);
    callbacks.option = 1;
    CHECK_EQ(store_of_size(&f, &callbacks, sizeof callbacks), NCZCHUNK_EINVAL);
    callbacks.option = 0;
    callbacks.added = memory_array_destroy;
    CHECK_EQ(store_of_size(&f, &callbacks, sizeof callbacks), NCZCHUNK_EINVAL);
    CHECK_EQ(f.array.destroyed, 1);
    close_fixture(&f);
}

/* What an older program did not know is not there, whatever follows its structure in memory. */
static void callbacks_of_an_older_program(void)
{
    newer_callbacks callbacks;
    fixture f;

    open_fixture(&f);
    memset(&callbacks, 0xFF, sizeof callbacks);
    callbacks.known = memory_array_lending(&f.array);
    CHECK_OK(store_of_size(&f, &callbacks, offsetof(nczchunk_zero_copy_callbacks, destroy)));
    CHECK_EQ(f.array.released, 6);
    CHECK_EQ(f.array.destroyed, 0);
    CHECK_OK(store_of_size(&f, &callbacks, offsetof(nczchunk_zero_copy_callbacks, release)));
    CHECK_EQ(f.array.released, 6);
    /* Before there was writing, a store could be read only. */
    {
        const size_t one[2] = {1, 1};
        nczchunk_chunk_store *store;

        callbacks.known.struct_size = offsetof(nczchunk_zero_copy_callbacks, lend_to_write);
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&callbacks.known, &store, NULL));
        CHECK_EQ(nczchunk_write_vars(f.var, store, zeros, one, NULL, f.data, NULL), NCZCHUNK_EPERM);
        CHECK_EQ(f.array.written, 0);
        nczchunk_chunk_store_free(store);
        f.array.destroyed = 0;
    }
    /* Without lend there is no store. */
    CHECK_EQ(store_of_size(&f, &callbacks, offsetof(nczchunk_zero_copy_callbacks, lend)), NCZCHUNK_EINVAL);
    CHECK_EQ(store_of_size(&f, &callbacks, sizeof(size_t)), NCZCHUNK_EINVAL);
    close_fixture(&f);
}

/* The same of callbacks that fill. */
typedef struct newer_filling {
    nczchunk_reader_callbacks known;
    size_t option;
} newer_filling;

static void filling_callbacks_of_other_programs(void)
{
    const size_t one[2] = {1, 1};
    newer_filling callbacks;
    nczchunk_chunk_store *store = NULL;
    fixture f;

    open_fixture(&f);
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.known = memory_array_filling(&f.array);
    callbacks.known.struct_size = sizeof callbacks;
    CHECK_OK(nczchunk_chunk_store_new(&callbacks.known, &store, NULL));
    CHECK_OK(nczchunk_read_vars(f.var, store, zeros, NULL, NULL, f.data, NULL));
    memory_array_expect(&f.array, zeros, NULL, NULL, NULL, f.data);
    nczchunk_chunk_store_free(store);
    store = NULL;
    callbacks.option = 1;
    CHECK_EQ(nczchunk_chunk_store_new(&callbacks.known, &store, NULL), NCZCHUNK_EINVAL);
    CHECK(store == NULL);

    /* What an older program did not know is not there: it accepts no longer chunks, it is asked for no ranges, and the
     * oldest cannot write. What follows its structure in memory would say otherwise. */
    f.array.destroyed = 0;
    memory_chunk_set(&f.array.chunks[0], f.data, sizeof f.data);
    {
        const size_t sizes[] = {offsetof(nczchunk_reader_callbacks, accept_longer),
                                offsetof(nczchunk_reader_callbacks, destroy),
                                offsetof(nczchunk_reader_callbacks, store)};

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            memset(&callbacks, 0xFF, sizeof callbacks);
            callbacks.known.user = &f.array;
            callbacks.known.fill = memory_array_fill;
            callbacks.known.store = memory_array_save;
            callbacks.known.destroy = memory_array_destroy;
            callbacks.known.struct_size = sizes[i];
            CHECK_OK(nczchunk_chunk_store_new(&callbacks.known, &store, NULL));
            CHECK_EQ(nczchunk_read_vars(f.var, store, zeros, one, NULL, f.data, NULL), NCZCHUNK_EBADCHUNK);
            CHECK_EQ(nczchunk_write_vars(f.var, store, (const size_t[2]){4, 3}, one, NULL, f.data, NULL),
                     i < 2 ? NCZCHUNK_NOERR : NCZCHUNK_EPERM);
            nczchunk_chunk_store_free(store);
            CHECK_EQ(f.array.destroyed, 1);
        }
    }
    close_fixture(&f);
}

/* --- Structures that are filled in. */

typedef struct newer_totals {
    nczchunk_totals known;
    size_t added[3];
} newer_totals;

static void check_totals(const nczchunk_totals *totals)
{
    CHECK_EQ(totals->chunks, 6);
    CHECK_EQ(totals->covered_chunks, 6);
    CHECK_EQ(totals->elements, 20);
    CHECK_EQ(totals->selected_bytes, 80);
}

static void totals_of_other_programs(void)
{
    const size_t wrong[] = {0, 1, sizeof(size_t) - 1, sizeof(nczchunk_totals) - 1, 1 << 20, SIZE_MAX};
    newer_totals totals;
    nczchunk_plan *plan;
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    /* What a newer program has besides becomes zero. Its size stays its own. */
    memset(&totals, 0xFF, sizeof totals);
    totals.known.struct_size = sizeof totals;
    CHECK_OK(nczchunk_plan_totals(plan, &totals.known, NULL));
    check_totals(&totals.known);
    CHECK_EQ(totals.known.struct_size, sizeof totals);
    CHECK_EQ(totals.known.chunk_bytes, 6 * 6 * sizeof(int));
    CHECK_EQ(totals.known.grid_chunks, 6);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ(totals.added[i], 0);

    /* What an older one has not is not written. */
    memset(&totals, 0xFF, sizeof totals);
    totals.known.struct_size = offsetof(nczchunk_totals, chunk_bytes);
    CHECK_OK(nczchunk_plan_totals(plan, &totals.known, NULL));
    check_totals(&totals.known);
    CHECK_EQ(totals.known.struct_size, offsetof(nczchunk_totals, chunk_bytes));
    CHECK(totals.known.chunk_bytes == SIZE_MAX && totals.known.grid_chunks == SIZE_MAX);
    CHECK(totals.added[0] == SIZE_MAX);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&totals, 0xFF, sizeof totals);
        totals.known.struct_size = wrong[i];
        CHECK_EQ(nczchunk_plan_totals(plan, &totals.known, NULL), NCZCHUNK_EINVAL);
        CHECK(totals.known.struct_size == wrong[i] && totals.known.chunks == SIZE_MAX);
    }
    nczchunk_plan_free(plan);
    close_fixture(&f);
}

/* The projections of a list do not tell their size: the program says how large they are. */
static void projections_of_other_programs(void)
{
    typedef struct newer_projection {
        nczchunk_projection known;
        size_t added;
    } newer_projection;
    const size_t wrong[] = {0, 1, sizeof(nczchunk_projection) - sizeof(size_t), sizeof(nczchunk_projection) + 1,
                            SIZE_MAX};
    newer_projection list[3];
    nczchunk_plan *plan;
    int covered = -1;
    fixture f;

    open_fixture(&f);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
    memset(list, 0xFF, sizeof list);
    CHECK_OK(nczchunk_plan_chunk(plan, 3, &list[0].known, sizeof *list, &covered, NULL));
    CHECK_EQ(covered, 1);
    CHECK_EQ(list[0].known.chunk_index, 1);
    CHECK_EQ(list[0].known.iopos, 2);
    CHECK_EQ(list[1].known.chunk_index, 1);
    CHECK_EQ(list[1].known.offset, 3);
    CHECK_EQ(list[1].known.iocount, 1);
    CHECK(list[0].added == 0 && list[1].added == 0);
    CHECK(list[2].known.chunk_index == -1 && list[2].added == SIZE_MAX);

    memset(list, 0xFF, sizeof list);
    covered = -1;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQ(nczchunk_plan_chunk(plan, 3, &list[0].known, wrong[i], &covered, NULL), NCZCHUNK_EINVAL);
    CHECK(covered == -1 && list[0].known.chunk_index == -1);
    nczchunk_plan_free(plan);
    close_fixture(&f);
}

/* A size that was never set, is not a size at all, or ends in the middle of a field. */
static void sizes_that_are_none(void)
{
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(nczchunk_zero_copy_callbacks) - 1,
                            offsetof(nczchunk_zero_copy_callbacks, lend) + 3, 1 << 20, SIZE_MAX};
    fixture f;

    open_fixture(&f);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        newer_callbacks callbacks;
        nczchunk_reader_callbacks filling = memory_array_filling(&f.array);
        nczchunk_chunk_store *store = NULL;

        memset(&callbacks, 0, sizeof callbacks);
        callbacks.known = memory_array_lending(&f.array);
        CHECK_EQ(store_of_size(&f, &callbacks, sizes[i]), NCZCHUNK_EINVAL);
        filling.struct_size = sizes[i];
        CHECK_EQ(nczchunk_chunk_store_new(&filling, &store, NULL), NCZCHUNK_EINVAL);
        CHECK(store == NULL);
    }
    close_fixture(&f);
}

/* --- Shapes. */

static void check_no_variable(size_t rank, const size_t *dims, const size_t *chunks, size_t element_size, int status)
{
    nczchunk_var *var = NULL;

    CHECK_EQ(nczchunk_var_new(rank, dims, chunks, element_size, &var, NULL), status);
    CHECK(var == NULL);
}

static void shapes_that_no_variable_has(void)
{
    const size_t one = 1, zero = 0, half = PTRDIFF_MAX / 2 + 1, too_long = longest + 1;
    const size_t large[2] = {root, root};

    check_no_variable(0, NULL, NULL, 0, NCZCHUNK_EINVAL);
    check_no_variable(1, &one, &zero, 4, NCZCHUNK_EINVAL);
    check_no_variable(1, &one, &one, 0, NCZCHUNK_EINVAL);
    check_no_variable(1, &too_long, &one, 4, NCZCHUNK_EDIMSIZE);
    /* Chunks of more than PTRDIFF_MAX bytes, with and without overflow. */
    check_no_variable(0, NULL, NULL, longest, NCZCHUNK_EINVAL);
    check_no_variable(0, NULL, NULL, SIZE_MAX, NCZCHUNK_EINVAL);
    check_no_variable(1, &one, &half, 2, NCZCHUNK_EINVAL);
    check_no_variable(1, &one, &half, 4, NCZCHUNK_EINVAL);
    check_no_variable(2, large, large, 1, NCZCHUNK_EINVAL);
    /* A rank above the maximum is refused without looking at the arrays. */
    check_no_variable(NCZCHUNK_MAX_RANK + 1, &one, &one, 4, NCZCHUNK_EMAXDIMS);
    check_no_variable(SIZE_MAX, &one, &one, 4, NCZCHUNK_EMAXDIMS);
}

/* A store of chunks of one byte, whatever their indices, which remembers the last. */
typedef struct far_store {
    int asked;
    ptrdiff_t last[2];
} far_store;

static int far_save(void *user, nczchunk_request *request)
{
    far_store *s = user;

    CHECK_EQ(request->size, 1);
    CHECK_EQ(*(const unsigned char *)request->buffer, 43);
    s->asked++;
    memcpy(s->last, request->chunk_indices, request->rank * sizeof *request->chunk_indices);
    return 0;
}

static int far_fill(void *user, nczchunk_request *request)
{
    far_store *s = user;

    s->asked++;
    memcpy(s->last, request->chunk_indices, request->rank * sizeof *request->chunk_indices);
    if (request->size >= 1)
        memset(request->buffer, 42, 1);
    request->nbytes = 1;
    return 0;
}

static nczchunk_chunk_store *open_far_store(far_store *s)
{
    nczchunk_reader_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = s, .fill = far_fill, .store = far_save};
    nczchunk_chunk_store *store;

    memset(s, 0, sizeof *s);
    CHECK_OK(nczchunk_chunk_store_new(&callbacks, &store, NULL));
    return store;
}

/* The far corner of the largest array there can be is as near as any other. */
static void the_largest_array(void)
{
    const size_t dims[2] = {longest, longest}, ones[2] = {1, 1}, last[2] = {PTRDIFF_MAX, PTRDIFF_MAX};
    unsigned char data[4] = {0};
    far_store s;
    nczchunk_chunk_store *store = open_far_store(&s);
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, ones, 1, &var, NULL));
    CHECK_OK(nczchunk_read_vars(var, store, last, ones, NULL, data, NULL));
    CHECK_EQ(s.last[0], PTRDIFF_MAX);
    CHECK_EQ(s.last[1], PTRDIFF_MAX);
    CHECK_EQ(data[0], 42);

    /* Four elements, as far apart as can be. */
    CHECK_OK(nczchunk_read_vars(var, store, zeros, (const size_t[2]){2, 2},
                                (const ptrdiff_t[2]){PTRDIFF_MAX, PTRDIFF_MAX}, data, NULL));
    CHECK_EQ(s.asked, 1 + 4);
    CHECK_EQ(data[3], 42);

    /* What lies beyond is refused, also where its number overflows and would be one of an element. */
    CHECK_EQ(nczchunk_read_vars(var, store, last, (const size_t[2]){3, 1}, (const ptrdiff_t[2]){PTRDIFF_MAX, 1}, data,
                                NULL), NCZCHUNK_EEDGE);
    CHECK_EQ(s.asked, 1 + 4);

    /* Written, it is no farther; nor are two elements that lie as far apart as can be, the second below the first. */
    {
        const ptrdiff_t back[2] = {-PTRDIFF_MAX, PTRDIFF_MIN}, strides[2] = {2, 1};
        const size_t near_end[2] = {PTRDIFF_MAX, 5}, two_by_one[2] = {2, 1};

        memset(data, 43, sizeof data);
        CHECK_OK(nczchunk_write_vars(var, store, last, ones, NULL, data, NULL));
        CHECK_EQ(s.last[0], PTRDIFF_MAX);
        CHECK_OK(nczchunk_write_vars(var, store, zeros, (const size_t[2]){2, 2},
                                     (const ptrdiff_t[2]){PTRDIFF_MAX, PTRDIFF_MAX}, data, NULL));
        CHECK_EQ(s.asked, 5 + 1 + 4);
        CHECK_OK(nczchunk_write_strided(var, store, near_end, two_by_one, back, data, sizeof data, 0, strides, NULL));
        CHECK_EQ(s.asked, 10 + 2);
        CHECK_EQ(s.last[0], PTRDIFF_MAX);
        CHECK_EQ(s.last[1], 5);
    }
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

/* A selection of more bytes than memory can have is refused, also where their number overflows. */
static void selections_that_no_memory_holds(void)
{
    const size_t dims[2] = {longest, longest}, ones[2] = {1, 1};
    const struct { size_t count[2]; int status; } selections[] = {
        {{longest, 1}, NCZCHUNK_EINVAL},
        {{longest, 2}, NCZCHUNK_EINVAL},
        {{longest, longest}, NCZCHUNK_EINVAL},
        {{root, root}, NCZCHUNK_EINVAL},
        {{longest, 0}, NCZCHUNK_NOERR},
        {{longest, SIZE_MAX}, NCZCHUNK_EEDGE},
    };
    far_store s;
    nczchunk_chunk_store *store = open_far_store(&s);
    nczchunk_var *var;

    CHECK_OK(nczchunk_var_new(2, dims, ones, 1, &var, NULL));
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        unsigned char data = 7;
        nczchunk_plan *plan = NULL;

        CHECK_EQ(nczchunk_read_vars(var, store, zeros, selections[i].count, NULL, &data, NULL), selections[i].status);
        CHECK_EQ(nczchunk_plan_new(var, zeros, selections[i].count, NULL, NCZCHUNK_READ, &plan, NULL),
                 selections[i].status);
        CHECK((plan == NULL) == (selections[i].status != 0));
        CHECK_EQ(nczchunk_write_vars(var, store, zeros, selections[i].count, NULL, &data, NULL),
                 selections[i].count[1] == 0 ? NCZCHUNK_NOERR : selections[i].status);
        CHECK_EQ(data, 7);
        nczchunk_plan_free(plan);
    }
    CHECK_EQ(s.asked, 0);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
}

/* A chunk may be as large as PTRDIFF_MAX bytes; a buffer for it cannot be had, and then no callback runs. */
static void a_chunk_that_no_memory_holds(void)
{
    const size_t large = PTRDIFF_MAX, zero = 0, one = 1;

    for (int compressed = 0; compressed < 2; compressed++) {
        unsigned char data = 7;
        far_store s;
        nczchunk_chunk_store *store = open_far_store(&s);
        nczchunk_var *var;

        if (compressed)
            store_add_zstd(store);
        CHECK_OK(nczchunk_var_new(1, &large, &large, 1, &var, NULL));
        CHECK_EQ(nczchunk_read_vars(var, store, &zero, &one, NULL, &data, NULL), NCZCHUNK_ENOMEM);
        CHECK_EQ(nczchunk_write_vars(var, store, &zero, &one, NULL, &data, NULL), NCZCHUNK_ENOMEM);
        CHECK_EQ(s.asked, 0);
        CHECK_EQ(data, 7);
        nczchunk_chunk_store_free(store);
        nczchunk_var_free(var);
    }
}

int main(void)
{
    null_in_place_of_a_variable();
    null_in_place_of_a_store();
    null_in_place_of_data();
    null_in_place_of_what_is_written();
    null_in_place_of_a_plan();
    null_in_place_of_a_context();
    callbacks_of_a_newer_program();
    callbacks_of_an_older_program();
    filling_callbacks_of_other_programs();
    totals_of_other_programs();
    projections_of_other_programs();
    sizes_that_are_none();
    shapes_that_no_variable_has();
    the_largest_array();
    selections_that_no_memory_holds();
    a_chunk_that_no_memory_holds();
    return 0;
}
