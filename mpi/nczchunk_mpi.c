/*
 * Each rank makes the plans of all ranks, and so knows without asking which chunks it owns and who needs what of them.
 * It goes through its own chunks in rounds of bounded size. A round of a read:
 *
 *     fetch      whole boxes of chunks that lie side by side, one call of the library each
 *     agree      whether a rank has failed, and whether any has chunks left
 *     exchange   with one rank after another: in step s with those s before and s after, so that one message is on its
 *                way from each and one to each, whatever the number of ranks
 *
 * A round of a write asks for elements, exchanges them, and stores the chunks. Whatever fails on a rank is kept as its
 * status until the next agreement, so that every rank takes part in all that the others wait for.
 */
#include "nczchunk_mpi.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chunk that this rank owns. */
typedef struct owned {
    size_t number; /* in the plan of this rank */
    size_t region; /* of the round that it is in */
    size_t bytes;  /* of its elements that lie inside the dimensions */
} owned;

/* Chunks that lie side by side, and the box of elements that is read or written at once. */
typedef struct region {
    size_t first, num_chunks; /* of the list of owned chunks */
    size_t offset, bytes;     /* of the elements, in the buffer of the round */
} region;

/* A box of elements that goes to another rank or comes from it. */
typedef struct box {
    size_t chunk;  /* of the list of owned chunks */
    size_t number; /* of that chunk in the other's plan */
} box;

/* A list that grows. */
typedef struct list {
    void *entries;
    size_t len, capacity;
} list;

typedef struct call {
    MPI_Comm comm;
    int rank, size;
    int status, failed_rank;
    char message[512];

    const nczchunk_var *var;
    const nczchunk_chunk_store *store;
    nczchunk_context *context, *own_context;
    int access;
    size_t dims, element_size;
    unsigned char *data;
    size_t data_bytes;

    size_t *slabs;                   /* start, count and stride of each rank */
    nczchunk_plan **plans;           /* of all ranks; NULL of those that share no chunk with this one */
    const nczchunk_plan **neighbours; /* those that are not NULL, and their ranks */
    int *neighbour_ranks;
    size_t num_neighbours, self; /* self: the number of this rank among them */

    list owned, regions;
    list region_boxes;  /* of each region the first element and the number of elements along each dimension */
    list *boxes;        /* for each rank, of this round */
    size_t next;        /* the first owned chunk of the next round */
    size_t budget;
    uint64_t *sizes[2]; /* of what goes to each rank, and of what comes from it */
    unsigned char *elements, *out, *in;
    size_t elements_capacity, out_capacity, in_capacity;

    /* One entry per dimension. */
    nczchunk_projection *projections;
    size_t *low, *high, *count;
    ptrdiff_t *memory_strides, *box_strides;
    nczchunk_mpi_report report;
} call;

static void fail(call *c, int status, const char *message)
{
    if (c->status == NCZCHUNK_NOERR && status != NCZCHUNK_NOERR) {
        c->status = status;
        snprintf(c->message, sizeof c->message, "%s", message);
    }
}

/* Keeps the status of a call of the library; tells whether it succeeded. */
static int succeeded(call *c, int status)
{
    const char *message = nczchunk_context_message(c->context);

    fail(c, status, message[0] ? message : nczchunk_strerror(status));
    return status == NCZCHUNK_NOERR;
}

static int out_of_memory(call *c)
{
    fail(c, NCZCHUNK_ENOMEM, nczchunk_strerror(NCZCHUNK_ENOMEM));
    return 0;
}

/* Keeps the error of a call of MPI, of which there is one only if the communicator returns errors. */
static int communicated(call *c, int error)
{
    char message[MPI_MAX_ERROR_STRING] = "";
    int len = 0;

    if (error == MPI_SUCCESS) return 1;
    MPI_Error_string(error, message, &len);
    fail(c, NCZCHUNK_EIO, message);
    c->failed_rank = c->rank;
    return 0;
}

static void *allocate(call *c, size_t num, size_t size)
{
    void *memory = calloc(num ? num : 1, size);

    if (!memory) out_of_memory(c);
    return memory;
}

/* A place for one more entry, or NULL. */
static void *append(call *c, list *list, size_t size)
{
    if (list->len == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        void *entries = capacity > SIZE_MAX / size ? NULL : realloc(list->entries, capacity * size);

        if (!entries) {
            out_of_memory(c);
            return NULL;
        }
        list->entries = entries;
        list->capacity = capacity;
    }
    return (unsigned char *)list->entries + size * list->len++;
}

/* Makes a buffer at least so large. What is in it is lost. */
static int make_room(call *c, unsigned char **buffer, size_t *capacity, size_t bytes)
{
    if (bytes <= *capacity) return 1;
    free(*buffer);
    *capacity = 0;
    *buffer = malloc(bytes);
    if (!*buffer) return out_of_memory(c);
    *capacity = bytes;
    return 1;
}

/*
 * Whether the call goes on: no rank has failed, and *more (NULL: not asked) is whether any has more to do. Otherwise
 * all have the status and the message of the lowest rank that failed. Collective.
 */
static int agree(call *c, int *more)
{
    int mine[2] = {c->status ? c->size - c->rank : 0, more ? *more : 0}, most[2];

    if (!communicated(c, MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, c->comm))) return 0;
    if (more) *more = most[1];
    if (most[0] == 0) return 1;
    c->failed_rank = c->size - most[0];
    if (!communicated(c, MPI_Bcast(&c->status, 1, MPI_INT, c->failed_rank, c->comm))) return 0;
    communicated(c, MPI_Bcast(c->message, (int)sizeof c->message, MPI_CHAR, c->failed_rank, c->comm));
    return 0;
}

/* Sends bytes to one rank while it receives some from another. Either may be none. */
static int exchange(call *c, int to, const void *out, size_t out_bytes, int from, void *in, size_t in_bytes)
{
    const size_t piece = (size_t)1 << 30; /* MPI counts with an int */

    for (size_t done = 0; done < out_bytes || done < in_bytes; done += piece) {
        const size_t sent = done < out_bytes ? out_bytes - done : 0, got = done < in_bytes ? in_bytes - done : 0;
        const int error = MPI_Sendrecv(
            sent ? (const unsigned char *)out + done : NULL, (int)(sent < piece ? sent : piece), MPI_BYTE,
            sent ? to : MPI_PROC_NULL, 0, got ? (unsigned char *)in + done : NULL, (int)(got < piece ? got : piece),
            MPI_BYTE, got ? from : MPI_PROC_NULL, 0, c->comm, MPI_STATUS_IGNORE);

        if (!communicated(c, error)) return 0;
    }
    c->report.bytes_sent += out_bytes;
    c->report.bytes_received += in_bytes;
    return 1;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29);
}

/* The same of a dimension whose chunks have a list of lengths: where each lies. */
static uint64_t mixed_chunks(uint64_t hash, const nczchunk_var *var, size_t dimension)
{
    const size_t num_chunks = nczchunk_var_num_chunks(var, dimension);

    for (size_t i = 0; i < num_chunks; i++) {
        size_t start, length, encoded_length;

        if (nczchunk_var_chunk_extent(var, dimension, (ptrdiff_t)i, &start, &length, &encoded_length, NULL)) break;
        hash = mixed(mixed(mixed(hash, start), length), encoded_length);
    }
    return hash;
}

/* What must be the same on every rank, in one number. */
static uint64_t description(const call *c)
{
    uint64_t hash = mixed(mixed(mixed(38, c->dims), c->element_size), (uint64_t)c->access);

    for (size_t d = 0; d < c->dims; d++) {
        hash = mixed(hash, nczchunk_var_dimlen(c->var, d));
        hash = mixed(hash, nczchunk_var_chunklen(c->var, d));
        hash = mixed(hash, nczchunk_var_write_chunklen(c->var, d));
        hash = mixed(hash, nczchunk_var_num_chunks(c->var, d));
        hash = mixed(hash, (uint64_t)nczchunk_var_origin(c->var, d));
        if (!nczchunk_var_is_regular(c->var, d)) hash = mixed_chunks(hash, c->var, d);
    }
    return hash;
}

static int fill_nothing(void *user, nczchunk_request *request)
{
    (void)user;
    (void)request;
    return NCZCHUNK_EEMPTY;
}

/*
 * Checks that elements are no more than their bytes, for those are what is sent. The library refuses to read elements
 * with a copier, and variable-length strings, from any store that fills in bytes, even if nothing is read.
 */
static void check_elements(call *c)
{
    nczchunk_reader_callbacks callbacks = NCZCHUNK_READER_CALLBACKS_INIT;
    nczchunk_chunk_store *filling = NULL;
    int status;

    callbacks.fill = fill_nothing;
    status = nczchunk_chunk_store_new(&callbacks, &filling, NULL);
    if (status == NCZCHUNK_NOERR) status = nczchunk_read_points(c->var, filling, 0, NULL, NULL, NULL);
    if (status == NCZCHUNK_EINVAL) fail(c, status, "variable-length strings, and elements with a copier, are not sent");
    else fail(c, status, nczchunk_strerror(status));
    nczchunk_chunk_store_free(filling);
}

/* Checks the arguments, also against those of other ranks, and learns the slabs of all. Collective. */
static int know_all_slabs(call *c, const size_t *start, const size_t *count, const ptrdiff_t *stride)
{
    nczchunk_plan *plan = NULL;
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;
    uint64_t mine[3], most[3];
    size_t *slab;

    if (!c->var) fail(c, NCZCHUNK_EINVAL, "var is NULL");
    if (!c->store) fail(c, NCZCHUNK_EINVAL, "store is NULL");
    c->dims = nczchunk_var_rank(c->var);
    c->element_size = nczchunk_var_element_size(c->var);
    if (c->dims > 0 && !count) fail(c, NCZCHUNK_EINVAL, "count is NULL");
    if (c->status == NCZCHUNK_NOERR &&
        succeeded(c, nczchunk_plan_new(c->var, start, count, stride, c->access, &plan, c->context)) &&
        succeeded(c, nczchunk_plan_totals(plan, &totals, c->context))) {
        c->data_bytes = totals.selected_bytes;
        if (c->data_bytes > 0 && !c->data) fail(c, NCZCHUNK_EINVAL, "data is NULL");
    }
    nczchunk_plan_free(plan);
    if (c->status == NCZCHUNK_NOERR) check_elements(c);

    slab = allocate(c, 3 * c->dims, sizeof *slab);
    c->slabs = allocate(c, 3 * c->dims * (size_t)c->size, sizeof *c->slabs);
    c->plans = allocate(c, (size_t)c->size, sizeof *c->plans);
    c->neighbours = allocate(c, (size_t)c->size, sizeof *c->neighbours);
    c->neighbour_ranks = allocate(c, (size_t)c->size, sizeof *c->neighbour_ranks);
    c->boxes = allocate(c, (size_t)c->size, sizeof *c->boxes);
    for (int i = 0; i < 2; i++) c->sizes[i] = allocate(c, (size_t)c->size, sizeof *c->sizes[i]);
    c->projections = allocate(c, c->dims, sizeof *c->projections);
    c->low = allocate(c, c->dims, sizeof *c->low);
    c->high = allocate(c, c->dims, sizeof *c->high);
    c->count = allocate(c, c->dims, sizeof *c->count);
    c->memory_strides = allocate(c, c->dims, sizeof *c->memory_strides);
    c->box_strides = allocate(c, c->dims, sizeof *c->box_strides);
    if (!agree(c, NULL)) {
        free(slab);
        return 0;
    }

    /* The largest description and the largest complement of one tell whether all are the same. */
    mine[0] = description(c);
    mine[1] = ~mine[0];
    mine[2] = ~(uint64_t)c->budget;
    for (size_t d = 0; d < c->dims; d++) {
        slab[d] = start[d];
        slab[c->dims + d] = count[d];
        slab[2 * c->dims + d] = stride ? (size_t)stride[d] : 1;
    }
    if (!communicated(c, MPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, c->comm))) {
        free(slab);
        return 0;
    }
    if (most[0] != ~most[1]) {
        fail(c, NCZCHUNK_EINVAL, "the ranks do not make the same call for the same variable");
        c->failed_rank = 0;
        free(slab);
        return 0;
    }
    c->budget = (size_t)~most[2];
    const int bytes = (int)(3 * c->dims * sizeof *slab);
    const int error = MPI_Allgather(slab, bytes, MPI_BYTE, c->slabs, bytes, MPI_BYTE, c->comm);
    free(slab);
    return communicated(c, error);
}

/* Makes the plans of all ranks, and keeps those that share chunks with this one's. */
static void make_plans(call *c)
{
    const size_t entries = 3 * c->dims;

    for (int rank = 0; rank < c->size && c->status == NCZCHUNK_NOERR; rank++) {
        const size_t *slab = c->slabs + entries * (size_t)rank;

        succeeded(c, nczchunk_plan_new(c->var, slab, slab + c->dims, (const ptrdiff_t *)(slab + 2 * c->dims), c->access,
                                       &c->plans[rank], c->context));
    }
    for (int rank = 0; rank < c->size && c->status == NCZCHUNK_NOERR; rank++) {
        int shared = 1;

        if (rank != c->rank &&
            !succeeded(c, nczchunk_plan_shares_chunks(c->plans[c->rank], c->plans[rank], &shared, c->context)))
            return;
        if (shared) {
            if (rank == c->rank) c->self = c->num_neighbours;
            c->neighbour_ranks[c->num_neighbours] = rank;
            c->neighbours[c->num_neighbours++] = c->plans[rank];
        } else {
            nczchunk_plan_free(c->plans[rank]);
            c->plans[rank] = NULL;
        }
    }
}

/*
 * The box of elements that a chunk holds, in low and high (one beyond the last); projections are those of any plan onto
 * it.
 */
static void chunk_box(call *c)
{
    for (size_t d = 0; d < c->dims; d++) {
        const ptrdiff_t begin = c->projections[d].offset - nczchunk_var_origin(c->var, d);

        c->low[d] = begin > 0 ? (size_t)begin : 0;
        c->high[d] = (size_t)(begin + (ptrdiff_t)c->projections[d].limit);
    }
}

static int project(call *c, const nczchunk_plan *plan, size_t number)
{
    return succeeded(c, nczchunk_plan_chunk(plan, number, c->projections, sizeof *c->projections, NULL, c->context));
}

static size_t box_elements(const call *c)
{
    size_t elements = 1;

    for (size_t d = 0; d < c->dims; d++) elements *= c->projections[d].iocount;
    return elements;
}

/* Lists the chunks that this rank owns, in the order of its plan. */
static void find_owned(call *c)
{
    nczchunk_totals totals = NCZCHUNK_TOTALS_INIT;

    if (c->status || !succeeded(c, nczchunk_plan_totals(c->plans[c->rank], &totals, c->context))) return;
    for (size_t i = 0; i < totals.chunks; i++) {
        size_t owner;
        owned *chunk;

        if (!succeeded(c, nczchunk_plan_owner(c->neighbours, c->num_neighbours, c->self, i, &owner, c->context)))
            return;
        if (owner != c->self) continue;
        if (!project(c, c->plans[c->rank], i)) return;
        chunk = append(c, &c->owned, sizeof *chunk);
        if (!chunk) return;
        chunk_box(c);
        *chunk = (owned){.number = i, .bytes = c->element_size};
        for (size_t d = 0; d < c->dims; d++) chunk->bytes *= c->high[d] - c->low[d];
    }
}

/* The indices of an owned chunk along a dimension, and of another. */
static int lies_after(call *c, size_t one, size_t other, size_t dimension, size_t distance, ptrdiff_t *indices)
{
    const owned *chunks = c->owned.entries;

    if (!project(c, c->plans[c->rank], chunks[one].number)) return 0;
    for (size_t d = 0; d < c->dims; d++) indices[d] = c->projections[d].chunk_index;
    if (!project(c, c->plans[c->rank], chunks[other].number)) return 0;
    indices[dimension] += (ptrdiff_t)distance;
    for (size_t d = 0; d < c->dims; d++)
        if (indices[d] != c->projections[d].chunk_index) return 0;
    return 1;
}

/* How many of the owned chunks from this one on form a box of chunks without gaps, of at most so many bytes. */
static size_t box_of_chunks(call *c, size_t first, size_t most_bytes)
{
    const owned *chunks = c->owned.entries;
    size_t len = 1, bytes = chunks[first].bytes;

    for (size_t d = c->dims; d-- > 0;) {
        const size_t block = len;

        for (size_t times = 1; c->owned.len - first - len >= block; times++) {
            size_t more = 0, i = 0;

            while (i < block && more <= most_bytes) more += chunks[first + len + i++].bytes;
            if (more > most_bytes || bytes > most_bytes - more) break;
            for (i = 0; i < block; i++)
                if (!lies_after(c, first + i, first + len + i, d, times, c->box_strides)) break;
            if (i < block) break;
            len += block;
            bytes += more;
        }
    }
    return len;
}

/* The box of elements of a region, in low and count. */
static void region_box(call *c, const region *r)
{
    const size_t number = (size_t)(r - (const region *)c->regions.entries);
    const size_t *box = (const size_t *)c->region_boxes.entries + 2 * c->dims * number;

    for (size_t d = 0; d < c->dims; d++) {
        c->low[d] = box[d];
        c->count[d] = box[c->dims + d];
    }
}

/*
 * Finds the box of elements of a region: all that its chunks hold; to read, only from the first that any rank needs to
 * the last.
 */
static int find_region_box(call *c, const region *r)
{
    const owned *chunks = c->owned.entries;
    size_t *low = c->count, *high = (size_t *)c->memory_strides;

    for (size_t d = 0; d < c->dims; d++) low[d] = SIZE_MAX, high[d] = 0;
    for (size_t i = 0; i < r->num_chunks; i++) {
        const size_t number = chunks[r->first + i].number;

        for (size_t n = 0; n < c->num_neighbours; n++) {
            const size_t *slab = c->slabs + 3 * c->dims * (size_t)c->neighbour_ranks[n];
            size_t there;

            if (c->access == NCZCHUNK_WRITE && n != c->self) continue;
            if (!succeeded(c, nczchunk_plan_intersect(c->plans[c->rank], number, c->neighbours[n], &there, c->context)))
                return 0;
            if (there == SIZE_MAX) continue;
            if (!project(c, c->neighbours[n], there)) return 0;
            chunk_box(c);
            for (size_t d = 0; d < c->dims; d++) {
                if (c->access == NCZCHUNK_READ) {
                    const size_t stride = slab[2 * c->dims + d];

                    c->low[d] = slab[d] + c->projections[d].iopos * stride;
                    c->high[d] = c->low[d] + (c->projections[d].iocount - 1) * stride + 1;
                }
                if (c->low[d] < low[d]) low[d] = c->low[d];
                if (c->high[d] > high[d]) high[d] = c->high[d];
            }
        }
    }
    for (size_t d = 0; d < 2 * c->dims; d++) {
        size_t *entry = append(c, &c->region_boxes, sizeof *entry);

        if (!entry) return 0;
        *entry = d < c->dims ? low[d] : high[d - c->dims] - low[d - c->dims];
    }
    region_box(c, r);
    return 1;
}

/* The strides of a box without gaps; returns its bytes. */
static size_t dense(const call *c, const size_t *count, ptrdiff_t *strides)
{
    size_t bytes = c->element_size;

    for (size_t d = c->dims; d-- > 0;) {
        strides[d] = (ptrdiff_t)bytes;
        bytes *= count[d];
    }
    return bytes;
}

/* Decides which chunks the next round has, finds who needs or has what of them, and makes room for their elements. */
static void begin_round(call *c)
{
    const owned *chunks = c->owned.entries;
    size_t offset = 0, used = 0;

    c->regions.len = c->region_boxes.len = 0;
    for (int rank = 0; rank < c->size; rank++) c->boxes[rank].len = 0;
    while (c->next < c->owned.len && (used == 0 || chunks[c->next].bytes <= c->budget - used)) {
        region *r = append(c, &c->regions, sizeof *r);

        if (!r) return;
        *r = (region){.first = c->next, .offset = offset};
        r->num_chunks = box_of_chunks(c, c->next, used < c->budget ? c->budget - used : 0);
        if (c->status || !find_region_box(c, r)) return;
        r->bytes = dense(c, c->count, c->memory_strides);
        offset += r->bytes;
        for (size_t i = 0; i < r->num_chunks; i++) {
            const size_t chunk = c->next + i;

            used += chunks[chunk].bytes;
            ((owned *)c->owned.entries)[chunk].region = c->regions.len - 1;
            for (size_t n = 0; n < c->num_neighbours; n++) {
                size_t there;
                box *b;

                if (!succeeded(c, nczchunk_plan_intersect(c->plans[c->rank], chunks[chunk].number, c->neighbours[n],
                                                          &there, c->context)))
                    return;
                if (there == SIZE_MAX) continue;
                b = append(c, &c->boxes[c->neighbour_ranks[n]], sizeof *b);
                if (!b) return;
                *b = (box){.chunk = chunk, .number = there};
            }
        }
        c->next += r->num_chunks;
        if (used >= c->budget) break;
    }
    make_room(c, &c->elements, &c->elements_capacity, offset);
}

/* Fetches and decodes the chunks of a round. */
static void fetch(call *c)
{
    const region *regions = c->regions.entries;

    for (size_t i = 0; i < c->regions.len && c->status == NCZCHUNK_NOERR; i++) {
        region_box(c, &regions[i]);
        if (succeeded(c, nczchunk_read_vars(c->var, c->store, c->low, c->count, NULL, c->elements + regions[i].offset,
                                            c->context)))
            c->report.chunks_read += regions[i].num_chunks;
    }
}

/*
 * Copies the elements of a box between the round's buffer and other memory: packed without gaps, where there is so much
 * room, or, for this rank's own box, its data. Returns its bytes.
 */
static size_t copy_box(call *c, int rank, const box *b, unsigned char *packed, size_t room, int to_buffer)
{
    const region *r = (const region *)c->regions.entries + ((const owned *)c->owned.entries)[b->chunk].region;
    const size_t *slab = c->slabs + 3 * c->dims * (size_t)rank;
    size_t bytes, in_region = 0, in_memory = 0, memory_bytes = room;
    unsigned char *memory = packed, *buffer = c->elements + r->offset;

    if (c->status) return 0;
    region_box(c, r);
    dense(c, c->count, c->memory_strides); /* of the region */
    if (!project(c, c->plans[rank], b->number)) return 0;
    for (size_t d = 0; d < c->dims; d++) {
        const size_t first = slab[d] + c->projections[d].iopos * slab[2 * c->dims + d];

        in_region += (first - c->low[d]) * (size_t)c->memory_strides[d];
        c->count[d] = c->projections[d].iocount;
        /* With one element the stride, which may be any, is not used. */
        c->memory_strides[d] *= c->count[d] > 1 ? (ptrdiff_t)slab[2 * c->dims + d] : 1;
    }
    bytes = dense(c, c->count, c->box_strides);
    if (rank == c->rank) {
        memory = c->data;
        memory_bytes = c->data_bytes;
        dense(c, slab + c->dims, c->box_strides);
        for (size_t d = 0; d < c->dims; d++) in_memory += c->projections[d].iopos * (size_t)c->box_strides[d];
    }
    if (to_buffer)
        succeeded(c, nczchunk_copy_strided(c->dims, c->count, c->element_size, 0, memory, memory_bytes, in_memory,
                                           c->box_strides, buffer, r->bytes, in_region, c->memory_strides, c->context));
    else
        succeeded(c, nczchunk_copy_strided(c->dims, c->count, c->element_size, 0, buffer, r->bytes, in_region,
                                           c->memory_strides, memory, memory_bytes, in_memory, c->box_strides,
                                           c->context));
    return bytes;
}

/*
 * Copies the box of a chunk of this rank's plan between its data and packed memory, where there is so much room.
 * Returns its bytes.
 */
static size_t copy_own(call *c, size_t number, unsigned char *packed, size_t room, int to_data)
{
    const size_t *slab = c->slabs + 3 * c->dims * (size_t)c->rank;
    size_t bytes, in_data = 0;

    if (c->status || !project(c, c->plans[c->rank], number)) return 0;
    dense(c, slab + c->dims, c->memory_strides);
    for (size_t d = 0; d < c->dims; d++) {
        in_data += c->projections[d].iopos * (size_t)c->memory_strides[d];
        c->count[d] = c->projections[d].iocount;
    }
    bytes = dense(c, c->count, c->box_strides);
    if (to_data)
        succeeded(c, nczchunk_copy_strided(c->dims, c->count, c->element_size, 0, packed, room, 0, c->box_strides,
                                           c->data, c->data_bytes, in_data, c->memory_strides, c->context));
    else
        succeeded(c, nczchunk_copy_strided(c->dims, c->count, c->element_size, 0, c->data, c->data_bytes, in_data,
                                           c->memory_strides, packed, room, 0, c->box_strides, c->context));
    return bytes;
}

/* The bytes of a list of boxes of a rank. */
static size_t boxes_bytes(call *c, int rank)
{
    const box *boxes = c->boxes[rank].entries;
    size_t bytes = 0;

    for (size_t i = 0; i < c->boxes[rank].len && project(c, c->plans[rank], boxes[i].number); i++)
        bytes += box_elements(c) * c->element_size;
    return bytes;
}

/* Tells each rank how many bytes it gets, and learns how many come. Collective. */
static int exchange_sizes(call *c)
{
    return communicated(c, MPI_Alltoall(c->sizes[0], 1, MPI_UINT64_T, c->sizes[1], 1, MPI_UINT64_T, c->comm));
}

/* Room for the largest message either way, and an agreement that there is. Collective. */
static int room_for_messages(call *c)
{
    size_t largest[2] = {0, 0};

    for (int rank = 0; rank < c->size; rank++)
        for (int i = 0; i < 2; i++)
            if (rank != c->rank && c->sizes[i][rank] > largest[i]) largest[i] = (size_t)c->sizes[i][rank];
    if (make_room(c, &c->out, &c->out_capacity, largest[0])) make_room(c, &c->in, &c->in_capacity, largest[1]);
    return agree(c, NULL);
}

/* One round of a read, whose chunks are decoded: a message is the numbers of chunks in its receiver's plan, then their
 * boxes. Collective. */
static void send_boxes(call *c)
{
    for (int rank = 0; rank < c->size; rank++) {
        const size_t len = rank == c->rank ? 0 : c->boxes[rank].len;

        c->sizes[0][rank] = len ? (1 + len) * sizeof(size_t) + boxes_bytes(c, rank) : 0;
    }
    if (!exchange_sizes(c) || !room_for_messages(c)) return;
    for (size_t i = 0; i < c->boxes[c->rank].len; i++)
        copy_box(c, c->rank, (const box *)c->boxes[c->rank].entries + i, NULL, 0, 0);
    for (int step = 1; step < c->size; step++) {
        const int to = (c->rank + step) % c->size, from = (c->rank - step + c->size) % c->size;
        const box *boxes = c->boxes[to].entries;
        const size_t len = c->boxes[to].len;
        unsigned char *end = c->out;

        if (len > 0) {
            memcpy(end, &len, sizeof len);
            end += (1 + len) * sizeof(size_t);
        }
        for (size_t i = 0; i < len; i++) {
            memcpy(c->out + (1 + i) * sizeof(size_t), &boxes[i].number, sizeof(size_t));
            end += copy_box(c, to, &boxes[i], end, (size_t)(c->out + c->sizes[0][to] - end), 0);
        }
        if (!exchange(c, to, c->out, (size_t)c->sizes[0][to], from, c->in, (size_t)c->sizes[1][from])) return;
        /* A rank whose copy failed has sent what does not count: the next agreement ends the call. */
        if (c->sizes[1][from] == 0) continue;
        const unsigned char *const in_end = c->in + c->sizes[1][from];
        size_t num;
        memcpy(&num, c->in, sizeof num);
        if (num >= c->sizes[1][from] / sizeof(size_t)) {
            fail(c, NCZCHUNK_EINVAL, "another rank has sent fewer bytes than its boxes have");
            continue;
        }
        unsigned char *at = c->in + (1 + num) * sizeof(size_t);
        for (size_t i = 0; i < num; i++) {
            size_t number;

            memcpy(&number, c->in + (1 + i) * sizeof(size_t), sizeof number);
            at += copy_own(c, number, at, (size_t)(in_end - at), 1);
        }
    }
}

/* Whether two boxes of elements of slabs certainly have no element in common, in a chunk that both touch. */
static int are_disjoint(const call *c, const size_t *one, const size_t *other)
{
    for (size_t d = 0; d < c->dims; d++) {
        const size_t step = one[2 * c->dims + d], other_step = other[2 * c->dims + d];
        const size_t last = one[d] + (one[c->dims + d] - 1) * step;
        const size_t other_last = other[d] + (other[c->dims + d] - 1) * other_step;

        if (last < other[d] || other_last < one[d]) return 1;
        if (step == other_step && step > 0 && one[d] % step != other[d] % step) return 1;
    }
    return 0;
}

/* Whether the slabs of all ranks together have every element of an owned chunk. */
static int is_covered(call *c, size_t chunk)
{
    const owned *chunks = c->owned.entries;
    size_t elements = 0, first_touching = c->num_neighbours;
    int disjoint = 1;

    for (size_t n = 0; n < c->num_neighbours; n++) {
        size_t there;

        if (!succeeded(c, nczchunk_plan_intersect(c->plans[c->rank], chunks[chunk].number, c->neighbours[n], &there,
                                                  c->context)))
            return 0;
        if (there == SIZE_MAX) continue;
        if (!project(c, c->neighbours[n], there)) return 0;
        if (box_elements(c) * c->element_size == chunks[chunk].bytes) return 1;
        elements += box_elements(c);
        for (size_t m = first_touching; m < n && disjoint; m++)
            disjoint = are_disjoint(c, c->slabs + 3 * c->dims * (size_t)c->neighbour_ranks[m],
                                    c->slabs + 3 * c->dims * (size_t)c->neighbour_ranks[n]);
        if (first_touching == c->num_neighbours) first_touching = n;
    }
    return disjoint && elements * c->element_size == chunks[chunk].bytes;
}

/* Reads those chunks of a round that are not written as a whole. */
static void fetch_uncovered(call *c)
{
    const owned *chunks = c->owned.entries;

    for (size_t i = 0; i < c->regions.len; i++) {
        const region *r = (const region *)c->regions.entries + i;

        for (size_t k = r->first; k < r->first + r->num_chunks; k++) {
            size_t offset = 0;

            if (is_covered(c, k)) continue;
            if (c->status) return;
            region_box(c, r);
            dense(c, c->count, c->memory_strides);
            for (size_t d = 0; d < c->dims; d++) offset -= c->low[d] * (size_t)c->memory_strides[d];
            if (!project(c, c->plans[c->rank], chunks[k].number)) return;
            chunk_box(c);
            for (size_t d = 0; d < c->dims; d++) {
                offset += c->low[d] * (size_t)c->memory_strides[d];
                c->count[d] = c->high[d] - c->low[d];
            }
            if (!succeeded(c, nczchunk_read_strided(c->var, c->store, c->low, c->count, NULL, c->elements + r->offset,
                                                    r->bytes, offset, c->memory_strides, c->context)))
                return;
            c->report.chunks_read++;
        }
    }
}

/* One round of a write: the owners ask for boxes by their numbers in the plans of those who have them. Collective. */
static void receive_boxes(call *c)
{
    list requests = {NULL, 0, 0};
    size_t total = 0, at = 0;

    for (int rank = 0; rank < c->size; rank++)
        c->sizes[0][rank] = rank == c->rank ? 0 : c->boxes[rank].len * sizeof(size_t);
    if (!exchange_sizes(c)) return;
    for (int rank = 0; rank < c->size; rank++) total += (size_t)c->sizes[1][rank];
    requests.entries = malloc(total ? total : 1);
    if (!requests.entries) out_of_memory(c);
    if (!room_for_messages(c)) goto done;
    for (int step = 1; step < c->size; step++) {
        const int to = (c->rank + step) % c->size, from = (c->rank - step + c->size) % c->size;
        const box *boxes = c->boxes[to].entries;

        for (size_t i = 0; i < c->boxes[to].len; i++)
            memcpy(c->out + i * sizeof(size_t), &boxes[i].number, sizeof(size_t));
        if (!exchange(c, to, c->out, (size_t)c->sizes[0][to], from, (unsigned char *)requests.entries + at,
                      (size_t)c->sizes[1][from]))
            goto done;
        at += (size_t)c->sizes[1][from];
    }

    /* What was asked of this rank goes to those who asked: the directions change. Requests lie in order of steps. */
    at = 0;
    for (int step = 1; step < c->size; step++) {
        const int to = (c->rank - step + c->size) % c->size;
        const size_t num = (size_t)c->sizes[1][to] / sizeof(size_t);
        size_t bytes = 0, number;

        for (size_t i = 0; i < num; i++, at += sizeof number) {
            memcpy(&number, (unsigned char *)requests.entries + at, sizeof number);
            if (!project(c, c->plans[c->rank], number)) break;
            bytes += box_elements(c) * c->element_size;
        }
        c->sizes[0][to] = bytes;
    }
    c->sizes[0][c->rank] = 0;
    list counts = {NULL, 0, 0}; /* of the requests, before the sizes are those of elements */
    counts.entries = malloc((size_t)c->size * sizeof(uint64_t));
    if (counts.entries) memcpy(counts.entries, c->sizes[1], (size_t)c->size * sizeof(uint64_t));
    else out_of_memory(c);
    if (exchange_sizes(c) && room_for_messages(c)) {
        for (size_t i = 0; i < c->boxes[c->rank].len; i++)
            copy_box(c, c->rank, (const box *)c->boxes[c->rank].entries + i, NULL, 0, 1);
        at = 0;
        for (int step = 1; step < c->size; step++) {
            const int to = (c->rank - step + c->size) % c->size, from = (c->rank + step) % c->size;
            const size_t num = (size_t)((uint64_t *)counts.entries)[to] / sizeof(size_t);
            const box *boxes = c->boxes[from].entries;
            unsigned char *end = c->out;

            for (size_t i = 0; i < num; i++, at += sizeof(size_t)) {
                size_t number;

                memcpy(&number, (unsigned char *)requests.entries + at, sizeof number);
                end += copy_own(c, number, end, (size_t)(c->out + c->sizes[0][to] - end), 0);
            }
            if (!exchange(c, to, c->out, (size_t)c->sizes[0][to], from, c->in, (size_t)c->sizes[1][from])) break;
            end = c->in;
            for (size_t i = 0; i < c->boxes[from].len; i++)
                end += copy_box(c, from, &boxes[i], end, (size_t)(c->in + c->sizes[1][from] - end), 1);
        }
    }
    free(counts.entries);
done:
    free(requests.entries);
}

/* Encodes and stores the chunks of a round, whose elements have come from all ranks. */
static void store_chunks(call *c)
{
    const region *regions = c->regions.entries;

    for (size_t i = 0; i < c->regions.len && c->status == NCZCHUNK_NOERR; i++) {
        region_box(c, &regions[i]);
        if (succeeded(c, nczchunk_write_vars(c->var, c->store, c->low, c->count, NULL, c->elements + regions[i].offset,
                                             c->context)))
            c->report.chunks_written += regions[i].num_chunks;
    }
}

/* Round after round, until no rank has chunks left or one has failed. */
static void transfer(call *c)
{
    for (;;) {
        int more;

        if (c->status == NCZCHUNK_NOERR) begin_round(c);
        if (c->status == NCZCHUNK_NOERR) {
            /* Other ranks may have written since this one has read. */
            const int before = nczchunk_context_set_uses_cache(c->context, 0);

            if (succeeded(c, before < 0 ? before : NCZCHUNK_NOERR)) {
                c->access == NCZCHUNK_READ ? fetch(c) : fetch_uncovered(c);
                if (nczchunk_context_set_uses_cache(c->context, before) < 0) out_of_memory(c);
            }
        }
        more = c->regions.len > 0;
        if (!agree(c, &more) || !more) return;
        c->report.rounds++;
        if (c->access == NCZCHUNK_READ) {
            send_boxes(c);
        } else {
            receive_boxes(c);
            /* Nothing is stored that another rank could not send. */
            if (c->failed_rank < 0 && !agree(c, NULL)) return;
            if (c->failed_rank < 0) store_chunks(c);
        }
        if (c->failed_rank >= 0) return;
    }
}

static void clean_up(call *c)
{
    for (int rank = 0; c->plans && rank < c->size; rank++) nczchunk_plan_free(c->plans[rank]);
    for (int rank = 0; c->boxes && rank < c->size; rank++) free(c->boxes[rank].entries);
    free(c->slabs);
    free(c->plans);
    free(c->neighbours);
    free(c->neighbour_ranks);
    free(c->boxes);
    free(c->sizes[0]);
    free(c->sizes[1]);
    free(c->owned.entries);
    free(c->regions.entries);
    free(c->region_boxes.entries);
    free(c->elements);
    free(c->out);
    free(c->in);
    free(c->projections);
    free(c->low);
    free(c->high);
    free(c->count);
    free(c->memory_strides);
    free(c->box_strides);
    nczchunk_context_free(c->own_context);
}

static int run(call *c, MPI_Comm comm, const size_t *start, const size_t *count, const ptrdiff_t *stride,
               const nczchunk_mpi_options *options, nczchunk_mpi_report *report)
{
    const size_t memory = options && options->memory ? options->memory : (size_t)48 << 20;

    c->failed_rank = -1;
    if (comm == MPI_COMM_NULL) {
        fail(c, NCZCHUNK_EINVAL, "comm is MPI_COMM_NULL");
        c->failed_rank = 0;
    } else if (communicated(c, MPI_Comm_dup(comm, &c->comm))) {
        MPI_Comm_rank(c->comm, &c->rank);
        MPI_Comm_size(c->comm, &c->size);
        c->budget = memory / 3;
        if (options && options->struct_size < sizeof *options)
            fail(c, NCZCHUNK_EINVAL, "the struct_size of options is not set");
        if (report && report->struct_size < sizeof *report) {
            fail(c, NCZCHUNK_EINVAL, "the struct_size of report is not set");
            report = NULL;
        }
        if (!c->context && nczchunk_context_new(&c->own_context) == NCZCHUNK_NOERR) c->context = c->own_context;
        if (!c->context) out_of_memory(c);
        if (know_all_slabs(c, start, count, stride)) {
            make_plans(c);
            find_owned(c);
            transfer(c);
        }
        MPI_Comm_free(&c->comm);
    }
    if (report) {
        c->report.struct_size = report->struct_size;
        c->report.failed_rank = c->failed_rank;
        if (c->failed_rank >= 0)
            snprintf(c->report.message, sizeof c->report.message, "rank %d: %.480s", c->failed_rank, c->message);
        *report = c->report;
    }
    clean_up(c);
    return c->status;
}

int nczchunk_mpi_read(MPI_Comm comm, const nczchunk_var *var, const nczchunk_chunk_store *store, const size_t *start,
                      const size_t *count, const ptrdiff_t *stride, void *data, const nczchunk_mpi_options *options,
                      nczchunk_mpi_report *report, nczchunk_context *context)
{
    call c = {.var = var, .store = store, .context = context, .access = NCZCHUNK_READ, .data = data};

    return run(&c, comm, start, count, stride, options, report);
}

int nczchunk_mpi_write(MPI_Comm comm, const nczchunk_var *var, const nczchunk_chunk_store *store, const size_t *start,
                       const size_t *count, const ptrdiff_t *stride, const void *data,
                       const nczchunk_mpi_options *options, nczchunk_mpi_report *report, nczchunk_context *context)
{
    /* The data of a write are only read. */
    call c = {.var = var, .store = store, .context = context, .access = NCZCHUNK_WRITE, .data = (void *)data};

    return run(&c, comm, start, count, stride, options, report);
}
