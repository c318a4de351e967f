/*
 * Projections: which chunks does (start, count, stride) touch along one dimension, and which elements of each?
 *
 * They can be asked for as a list, with room that the caller provides, or one at a time.
 */
#include <stdint.h>

#include "check.h"
#include "nczchunk.h"

static void check_projection(nczchunk_projection p, ptrdiff_t chunk_index, ptrdiff_t offset, size_t first, size_t last,
                             size_t limit, size_t iopos, size_t iocount)
{
    CHECK_EQ(p.chunk_index, chunk_index);
    CHECK_EQ(p.offset, offset);
    CHECK_EQ(p.first, first);
    CHECK_EQ(p.last, last);
    CHECK_EQ(p.limit, limit);
    CHECK_EQ(p.iopos, iopos);
    CHECK_EQ(p.iocount, iocount);
}

/* Ask how many there are, make room, ask again. */
static void listing_takes_two_calls(void)
{
    nczchunk_projection projections[3];
    size_t needed;

    /* 10 elements in chunks of 4: [0 1 2 3] [4 5 6 7] [8 9 . .] */
    CHECK_OK(nczchunk_projections(10, 4, 1, 8, 1, NULL, sizeof(nczchunk_projection), 0, &needed, NULL));
    CHECK_EQ(needed, 3);
    CHECK_OK(nczchunk_projections(10, 4, 1, 8, 1, projections, sizeof *projections, needed, &needed, NULL));

    /*                               chunk, offset, first, last, limit, iopos, iocount */
    check_projection(projections[0], 0, 0, 1, 3, 4, 0, 3);
    check_projection(projections[1], 1, 4, 0, 3, 4, 3, 4);
    check_projection(projections[2], 2, 8, 0, 0, 2, 7, 1);
}

/* With a stride of at most the chunk length no chunk in between is left out. */
static void a_strided_slice(void)
{
    nczchunk_projection projections[3];
    size_t needed;

    /* 0 3 6 9: chunks hold 0 3, 6, 9. */
    CHECK_OK(nczchunk_projections(10, 4, 0, 4, 3, projections, sizeof *projections, 3, &needed, NULL));
    CHECK_EQ(needed, 3);
    check_projection(projections[0], 0, 0, 0, 3, 4, 0, 2);
    check_projection(projections[1], 1, 4, 2, 2, 4, 2, 1);
    check_projection(projections[2], 2, 8, 1, 1, 2, 3, 1);
}

/* With a larger one, chunks without a selected element do not appear. */
static void a_sparse_slice_lists_only_touched_chunks(void)
{
    nczchunk_projection projections[3];
    size_t needed;

    /* 1, 8, 15 of 20 in chunks of 3. */
    CHECK_OK(nczchunk_projections(20, 3, 1, 3, 7, projections, sizeof *projections, 3, &needed, NULL));
    CHECK_EQ(needed, 3);
    check_projection(projections[0], 0, 0, 1, 1, 3, 0, 1);
    check_projection(projections[1], 2, 6, 2, 2, 3, 1, 1);
    check_projection(projections[2], 5, 15, 0, 0, 3, 2, 1);
}

/* A chunk may be longer than its dimension; limit says how much of it there is. */
static void a_chunk_beyond_the_edge(void)
{
    nczchunk_projection projection;

    CHECK_OK(nczchunk_projection_at(5, 100, 0, 5, 1, 0, &projection, sizeof projection, NULL));
    check_projection(projection, 0, 0, 0, 4, 5, 0, 5);
}

static void nothing_selected_touches_nothing(void)
{
    nczchunk_projection projection = {-7, -7, 7, 7, 7, 7, 7};
    size_t needed = 99;

    CHECK_OK(nczchunk_projections(10, 4, 10, 0, 1, &projection, sizeof projection, 1, &needed, NULL));
    CHECK_EQ(needed, 0);
    CHECK_OK(nczchunk_projections(0, 4, 0, 0, 1, &projection, sizeof projection, 1, &needed, NULL));
    CHECK_EQ(needed, 0);
    check_projection(projection, -7, -7, 7, 7, 7, 7, 7);
}

/* The p-th alone is the same as the p-th of the list, for every slice of some small dimensions. */
static void one_at_a_time_is_the_same(void)
{
    enum { D = 7 };
    nczchunk_projection list[D], one;
    size_t needed;

    for (size_t chunklen = 1; chunklen <= D + 1; chunklen++)
        for (size_t start = 0; start < D; start++)
            for (ptrdiff_t stride = 1; stride <= D; stride++)
                for (size_t count = 1; start + (count - 1) * (size_t)stride < D; count++) {
                    CHECK_OK(nczchunk_projections(D, chunklen, start, count, stride, list, sizeof *list, D, &needed,
                                                  NULL));
                    for (size_t p = 0; p < needed; p++) {
                        CHECK_OK(nczchunk_projection_at(D, chunklen, start, count, stride, p, &one, sizeof one, NULL));
                        check_projection(one, list[p].chunk_index, list[p].offset, list[p].first, list[p].last,
                                         list[p].limit, list[p].iopos, list[p].iocount);
                    }
                    CHECK_EQ(nczchunk_projection_at(D, chunklen, start, count, stride, needed, &one, sizeof one, NULL),
                             NCZCHUNK_EINVALCOORDS);
                }
}

/* Chunks that are not touched cost nothing: here there are 2^62 of one element, and the first and last are wanted. */
static void a_grid_of_2_to_the_62_chunks(void)
{
    const size_t dimlen = (size_t)PTRDIFF_MAX / 2 + 1;
    nczchunk_projection projections[2];
    size_t needed;

    CHECK_OK(nczchunk_projections(dimlen, 1, 0, 2, (ptrdiff_t)(dimlen - 1), projections, sizeof *projections, 2,
                                  &needed, NULL));
    CHECK_EQ(needed, 2);
    check_projection(projections[0], 0, 0, 0, 0, 1, 0, 1);
    check_projection(projections[1], (ptrdiff_t)(dimlen - 1), (ptrdiff_t)(dimlen - 1), 0, 0, 1, 1, 1);
}

/* The last of the longest dimension's 2^63 / 3 chunks is found as fast as the first. */
static void the_last_of_very_many(void)
{
    const size_t dimlen = (size_t)PTRDIFF_MAX + 1;
    nczchunk_projection projection;
    size_t needed;

    CHECK_OK(nczchunk_projections(dimlen, 3, 0, dimlen, 1, NULL, sizeof(nczchunk_projection), 0, &needed, NULL));
    CHECK(needed == dimlen / 3 + 1);
    CHECK_OK(nczchunk_projection_at(dimlen, 3, 0, dimlen, 1, needed - 1, &projection, sizeof projection, NULL));
    check_projection(projection, (ptrdiff_t)(needed - 1), (ptrdiff_t)(3 * (needed - 1)), 0, 1, 2, 3 * (needed - 1), 2);
}

/* Too little room is an error that says how much is needed, and writes nothing. No room at all is a question. */
static void too_little_room(void)
{
    nczchunk_projection projections[3] = {{0}};
    size_t needed = 0;

    projections[0].iocount = 77;
    CHECK_EQ(nczchunk_projections(10, 4, 0, 10, 1, projections, sizeof *projections, 2, &needed, NULL),
             NCZCHUNK_EINVAL);
    CHECK_EQ(needed, 3);
    CHECK_EQ(projections[0].iocount, 77);

    needed = 0;
    CHECK_OK(nczchunk_projections(10, 4, 0, 10, 1, projections, sizeof *projections, 0, &needed, NULL));
    CHECK_OK(nczchunk_projections(10, 4, 0, 10, 1, NULL, sizeof(nczchunk_projection), 3, &needed, NULL));
    CHECK_EQ(needed, 3);
    CHECK_EQ(projections[0].iocount, 77);
}

static void check_refused(size_t dimlen, size_t chunklen, size_t start, size_t count, ptrdiff_t stride, int status)
{
    nczchunk_projection projection = {-7, -7, 7, 7, 7, 7, 7};
    size_t needed = 99;

    CHECK_EQ(nczchunk_projections(dimlen, chunklen, start, count, stride, &projection, sizeof projection, 1, &needed,
                                  NULL),
             status);
    CHECK_EQ(nczchunk_projection_at(dimlen, chunklen, start, count, stride, 0, &projection, sizeof projection, NULL),
             status);
    CHECK_EQ(needed, 99);
    check_projection(projection, -7, -7, 7, 7, 7, 7, 7);
}

static void errors_leave_everything_untouched(void)
{
    const size_t longest = (size_t)PTRDIFF_MAX + 1;

    check_refused(10, 0, 0, 1, 1, NCZCHUNK_EINVAL);
    check_refused(longest + 1, 4, 0, 1, 1, NCZCHUNK_EDIMSIZE);
    check_refused(10, 4, 0, 1, 0, NCZCHUNK_ESTRIDE);
    check_refused(10, 4, 0, 1, -1, NCZCHUNK_ESTRIDE);
    check_refused(10, 4, 10, 1, 1, NCZCHUNK_EINVALCOORDS);
    check_refused(10, 4, 11, 0, 1, NCZCHUNK_EINVALCOORDS);
    check_refused(10, 4, 0, 11, 1, NCZCHUNK_EEDGE);
    check_refused(10, 4, 0, 5, PTRDIFF_MAX, NCZCHUNK_EEDGE);
}

/* A program tells how large its projections are. Those that lack a field, or end within one, are refused. */
static void projections_of_another_size(void)
{
    const size_t sizes[] = {0, 1, sizeof(nczchunk_projection) - 1, sizeof(nczchunk_projection) + 1,
                            SIZE_MAX - sizeof(size_t) + 1, SIZE_MAX};
    nczchunk_projection projections[2] = {{-7, -7, 7, 7, 7, 7, 7}};
    size_t needed = 99;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK_EQ(nczchunk_projections(10, 4, 0, 4, 1, projections, sizes[i], 2, &needed, NULL), NCZCHUNK_EINVAL);
        CHECK_EQ(nczchunk_projection_at(10, 4, 0, 4, 1, 0, projections, sizes[i], NULL), NCZCHUNK_EINVAL);
    }
    CHECK_EQ(needed, 99);
    check_projection(projections[0], -7, -7, 7, 7, 7, 7, 7);
}

/* Those of a newer program are longer: what the library does not know of them becomes zero. */
static void projections_of_a_newer_program(void)
{
    typedef struct newer_projection {
        nczchunk_projection known;
        size_t added[2];
    } newer_projection;
    newer_projection list[3], one;
    size_t needed;

    memset(list, 0xFF, sizeof list);
    memset(&one, 0xFF, sizeof one);
    CHECK_OK(nczchunk_projections(10, 4, 1, 8, 1, &list[0].known, sizeof *list, 3, &needed, NULL));
    CHECK_EQ(needed, 3);
    check_projection(list[0].known, 0, 0, 1, 3, 4, 0, 3);
    check_projection(list[1].known, 1, 4, 0, 3, 4, 3, 4);
    check_projection(list[2].known, 2, 8, 0, 0, 2, 7, 1);
    CHECK_OK(nczchunk_projection_at(10, 4, 1, 8, 1, 1, &one.known, sizeof one, NULL));
    check_projection(one.known, 1, 4, 0, 3, 4, 3, 4);
    for (size_t i = 0; i < 2; i++)
        CHECK(list[0].added[i] == 0 && list[1].added[i] == 0 && list[2].added[i] == 0 && one.added[i] == 0);
}

/* What is wrong is said through a context, in words. */
static void a_context_says_what_is_wrong(void)
{
    nczchunk_projection projections[2];
    nczchunk_context *context;
    size_t needed = 0;

    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_projections(10, 4, 0, 10, 1, projections, sizeof *projections, 2, &needed, context),
             NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EINVAL);
    CHECK(strlen(nczchunk_context_message(context)) > 0);
    CHECK_OK(nczchunk_projection_at(10, 4, 0, 10, 1, 1, projections, sizeof *projections, context));
    CHECK_STR(nczchunk_context_message(context), "");
    CHECK_EQ(nczchunk_projection_at(10, 4, 0, 11, 1, 1, projections, sizeof *projections, context), NCZCHUNK_EEDGE);
    CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_EEDGE);
    nczchunk_context_free(context);
}

static void there_must_be_a_place_for_the_answer(void)
{
    nczchunk_projection projection;

    CHECK_EQ(nczchunk_projections(10, 4, 0, 1, 1, &projection, sizeof projection, 1, NULL, NULL), NCZCHUNK_EINVAL);
    CHECK_EQ(nczchunk_projection_at(10, 4, 0, 1, 1, 0, NULL, sizeof(nczchunk_projection), NULL), NCZCHUNK_EINVAL);
}

int main(void)
{
    listing_takes_two_calls();
    a_strided_slice();
    a_sparse_slice_lists_only_touched_chunks();
    a_chunk_beyond_the_edge();
    nothing_selected_touches_nothing();
    one_at_a_time_is_the_same();
    a_grid_of_2_to_the_62_chunks();
    the_last_of_very_many();
    too_little_room();
    errors_leave_everything_untouched();
    projections_of_another_size();
    projections_of_a_newer_program();
    a_context_says_what_is_wrong();
    there_must_be_a_place_for_the_answer();
    return 0;
}
