/* Reading ahead: what comes next is copied from chunks while they are decoded anyway.
 *
 * A map of each step, or a series at each point of a line, touches the same chunks again and again, and often more of
 * them than may be kept. The part of them that the next reads want is much smaller. So if a read of a file that is only
 * read goes on where the one before it was, along one dimension, and its chunks cannot all be kept, the rows that the
 * reads after it want, as far as they are in its chunks and as many as may be kept, are copied into a box. A read of
 * what lies in the box takes it from there: the box is a chunk of its own.
 *
 * No chunk is read or decoded for the box alone, and only a box into which every byte was copied is used. How large it
 * may be is said in ncz_keep.c. */
#include "adapter.h"

#if NETCDF_CACHE_COUNTS

enum { MOST_ADDRESSES = 24 << 20 };

/* The elements between the first and the last of a read; 0 if they are not all in the variable, which is refused
 * later, or if some chunks between them may not be touched. */
static int enclose(const NC_VAR_INFO_T* var, size_t rank, const size64_t* start, const size64_t* count,
                   const size64_t* stride, Box* box)
{
    box->rank = rank;
    for (size_t d = 0; d < rank; d++) {
        const size64_t len = var->dim[d]->len;

        if (start[d] >= len || stride[d] < 1 || stride[d] > var->chunksizes[d] ||
            count[d] - 1 > (len - 1 - start[d]) / stride[d])
            return 0;
        box->start[d] = start[d];
        box->len[d] = (count[d] - 1) * stride[d] + 1;
    }
    return 1;
}

static int is_within(const Box* box, const Box* outer)
{
    for (size_t d = 0; d < box->rank; d++)
        if (box->start[d] < outer->start[d] ||
            box->start[d] - outer->start[d] + box->len[d] > outer->len[d])
            return 0;
    return 1;
}

/* The dimension along which one box comes behind another that is as large, and by how much; else 0. */
static size64_t step_between(const Box* last, const Box* next, size_t* along)
{
    size64_t step = 0;

    if (last->rank != next->rank)
        return 0;
    for (size_t d = 0; d < next->rank; d++) {
        if (next->len[d] != last->len[d] || next->start[d] < last->start[d])
            return 0;
        if (next->start[d] == last->start[d])
            continue;
        if (step > 0)
            return 0;
        step = next->start[d] - last->start[d];
        *along = d;
    }
    return step;
}

void nczadapter_ahead_drop(Ahead* ahead)
{
    free(ahead->data);
    ahead->data = NULL;
    ahead->size = ahead->room = ahead->used = 0;
}

/* Makes room for a box, and for larger ones if that costs only addresses: a large piece of memory lies by itself, and
 * what was not used of it is not there. */
static int make_room(Ahead* ahead, size_t size, size_t wanted)
{
    const size_t most = wanted < MOST_ADDRESSES ? wanted : MOST_ADDRESSES;

    if (ahead->room < size) {
        nczadapter_ahead_drop(ahead);
        ahead->room = size < most ? most : size;
        if ((ahead->data = malloc(ahead->room)) == NULL && (ahead->data = malloc(ahead->room = size)) == NULL)
            ahead->room = 0;
    }
    if (ahead->used < size && ahead->data != NULL)
        ahead->used = size;
    return ahead->data != NULL;
}

/* Of the reads that come behind this one, step by step along a dimension, all that lie in this one's chunks and have
 * room: a box for them, which is not filled yet. 0 if it has no room for one. */
static int lay_out(const Transfer* transfer, Ahead* ahead, const Box* now, size_t along, size64_t step)
{
    const NC_VAR_INFO_T* var = transfer->var;
    const size_t type_size = var->type_info->size;
    const size64_t chunk = var->chunksizes[along], len = now->len[along], first = now->start[along] + step;
    const size64_t block = ((now->start[along] + len - 1) / chunk + 1) * chunk;
    const size64_t end = block < var->dim[along]->len ? block : var->dim[along]->len;
    size_t row = type_size, rows, room, wanted;

    if (first > end || end - first < len)
        return 0;
    for (size_t d = 0; d < now->rank; d++) {
        if (d == along)
            continue;
        if (now->len[d] > PTRDIFF_MAX / row)
            return 0;
        row *= (size_t)now->len[d];
    }
    rows = (size_t)(end - first);
    wanted = rows > PTRDIFF_MAX / row ? PTRDIFF_MAX : rows * row;
    room = nczadapter_room_ahead(transfer, now, wanted) / row;
    rows = room < rows ? room : rows;
    if (rows < len)
        return 0;
    rows = (size_t)((rows - len) / step * step + len);
    if (!make_room(ahead, rows * row, wanted))
        return 0;
    ahead->box = *now;
    ahead->box.start[along] = first;
    ahead->box.len[along] = rows;
    ahead->size = rows * row;
    ahead->filled = 0;
    return 1;
}

int nczadapter_ahead_begin(Transfer* transfer, size_t rank, const size64_t* start, const size64_t* count,
                           const size64_t* stride)
{
    Ahead* ahead = rank > 0 && rank <= AHEAD_RANK ? nczadapter_ahead(transfer->file, transfer->var) : NULL;
    size_t along = 0;
    size64_t step;
    Box now;

    if (ahead == NULL || !enclose(transfer->var, rank, start, count, stride, &now))
        return 0;
    if (ahead->size > 0 && is_within(&now, &ahead->box)) {
        ahead->last = now;
        transfer->ahead = ahead;
        return 1;
    }
    ahead->size = 0;
    step = step_between(&ahead->last, &now, &along);
    ahead->last = now;
    if (step > 0 && lay_out(transfer, ahead, &now, along, step))
        transfer->ahead = ahead;
    else
        nczadapter_ahead_drop(ahead);
    nczadapter_count(transfer);
    return 0;
}

void nczadapter_ahead_take(const Transfer* transfer, const size64_t* indices, const void* chunk)
{
    Ahead* ahead = transfer->ahead;
    const Box* box = &ahead->box;
    const size_t* lens = transfer->var->chunksizes;
    size_t from = 0, to = 0, run = transfer->var->type_info->size, outer = box->rank;
    size64_t len[AHEAD_RANK], at[AHEAD_RANK] = {0};
    size_t from_step[AHEAD_RANK], to_step[AHEAD_RANK], from_size = run, to_size = run;

    for (size_t d = box->rank; d-- > 0;) {
        const size64_t first = indices[d] * lens[d], box_end = box->start[d] + box->len[d];
        const size64_t low = first > box->start[d] ? first : box->start[d];
        const size64_t high = first + lens[d] < box_end ? first + lens[d] : box_end;

        if (low >= high)
            return;
        len[d] = high - low;
        /* The inner dimensions that are whole in both, and one more, are one run of bytes. */
        if (d + 1 == box->rank || (outer == d + 1 && run == from_size && run == to_size)) {
            run *= (size_t)len[d];
            outer = d;
        }
        from += (size_t)(low - first) * from_size;
        to += (size_t)(low - box->start[d]) * to_size;
        from_step[d] = from_size;
        to_step[d] = to_size;
        from_size *= lens[d];
        to_size *= (size_t)box->len[d];
    }
    for (;;) {
        size_t d;

        memcpy(ahead->data + to, (const unsigned char*)chunk + from, run);
        ahead->filled += run;
        for (d = outer; d > 0; d--) {
            from += from_step[d - 1];
            to += to_step[d - 1];
            if (++at[d - 1] < len[d - 1])
                break;
            from -= (size_t)len[d - 1] * from_step[d - 1];
            to -= (size_t)len[d - 1] * to_step[d - 1];
            at[d - 1] = 0;
        }
        if (d == 0)
            return;
    }
}

void nczadapter_ahead_end(const Transfer* transfer, int status)
{
    if (status != NC_NOERR || transfer->ahead->filled != transfer->ahead->size)
        transfer->ahead->size = 0;
}

#endif
