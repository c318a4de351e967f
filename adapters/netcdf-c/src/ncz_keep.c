/* Which chunks stay in memory in caches whose size nobody has set.
 *
 * netCDF-C's default, 64 MiB a variable, is more than a process with many variables can afford, and memory that is new
 * to a process costs time: a chunk that is used once should take the place of the one before it. So
 *
 * - a variable keeps its last chunk, and about 1 MiB of them if they are small, with what they take beside;
 * - chunks of up to 8 KB that are read do not stay in NCZarr's cache, whose entries take as much beside, but on a shelf
 *   of the adapter's (ncz_shelf.c); what is written is in the cache;
 * - it begins to keep all if a chunk comes back that would still be there, had all been kept since (its hash is
 *   remembered, with the time, which is counted in bytes that came into the caches), or when one is written in part
 *   by a transfer that does not go through chunks from end to end, for then the rest is most often to follow;
 * - it stops when it has given up as much as it may keep, one after the other, of which nothing was used again;
 * - where the chunks of a read cannot all be kept, a part of them may be (ncz_ahead.c);
 * - what all such variables of the process keep, beyond a chunk each, has one bound: the number of bytes that netCDF's
 *   rc file has for NCZCHUNK.CACHE_SIZE, or 24 MiB; but for a file that is only read no more than two fifths of the
 *   memory, beyond 5 MiB, that the process has taken without what is kept, which is asked for once in 2 MiB that come.
 *   Where it is reached, variables of the same file that were not used lately give up theirs first. Those of others do
 *   not, because other threads may use them.
 *
 * Three numbers are shared by all files, and changed as atomics: the bytes kept, the most that they have been, and the
 * time. What else must be known of a variable is in a list of its file. The list hangs on the file's map: a copy of the
 * map's table of functions stands in front of it, with another close, which gives back what the file kept. */
#include "adapter.h"

#ifdef _MSC_VER
#include <intrin.h>
#endif
#ifndef _WIN32
#include <sys/resource.h>
#endif

#if NETCDF_CACHE_COUNTS

/* Of a process's memory, LIBRARIES bytes do not count. How much it has taken is asked again after RECENT bytes came. */
enum { FEW = 1 << 20, USUAL_BOUND = 24 << 20, LIBRARIES = 5 << 20, RECENT = 2 << 20 };
enum { SEEN = 256, MOST_THREADS = 256, LISTS = 64 };

static size_t kept_by_all, time_of_all;
#ifndef _WIN32
static size_t most_kept;
#endif

/* Adds to one of the first two, which is all that is ever done to them, and gives the sum. */
static size_t add(size_t* shared, size_t number)
{
#ifdef _MSC_VER
    return (size_t)_InterlockedExchangeAdd64((__int64*)shared, (__int64)number) + number;
#else
    return __atomic_add_fetch(shared, number, __ATOMIC_RELAXED);
#endif
}

/* A chunk that came into the cache, by the hash of its indices, and when. */
typedef struct Seen {
    size64_t hashkey;
    size_t time;
} Seen;

typedef struct Variable {
    struct Variable* next;
    NC_VAR_INFO_T* var;
    size_t kept;   /* what it adds to what all keep */
    size_t time;   /* when a chunk came last */
    size_t unused; /* bytes given up in a row that were not used again */
    int keeps_all;
    size_t read, read_before; /* which reads of the file were its last two */
    Shelf shelf;
    Ahead ahead;
    Seen seen[SEEN];
} Variable;

typedef struct File {
    struct NCZMAP_API api; /* first: the map holds its address */
    struct NCZMAP_API* original;
    size_t bound;
    int follows_process; /* the bound does: it is found anew every now and then */
    size_t found;        /* when it was last */
    size_t threads;      /* that may decode */
    size_t reads;        /* of it so far */
    Variable* variables[LISTS];
} File;

static NCZChunkCache* cache_of(const Variable* variable)
{
    const NCZ_VAR_INFO_T* zvar = variable->var->format_var_info;

    return zvar->cache;
}

/* What a chunk in the cache takes: its entry has 8 KB of its own. */
static size_t size_of_entry(const NCZChunkCache* cache)
{
    return (size_t)cache->chunksize + sizeof(NCZCacheEntry);
}

/* What the next chunk takes. Where it is only read, and small, it does not stay in the cache. */
static size_t size_of_next(const Transfer* transfer)
{
    return transfer->reading && transfer->lock == NULL && transfer->shelf != NULL
               ? nczadapter_book_size(transfer->shelf)
               : size_of_entry(transfer->cache);
}

static size_t number_of(const Variable* variable)
{
    return nclistlength(cache_of(variable)->mru) + variable->shelf.length;
}

static size_t size_of(const Variable* variable)
{
    const NCZChunkCache* cache = cache_of(variable);
    const Shelf* shelf = &variable->shelf;

    return cache->used + nclistlength(cache->mru) * sizeof(NCZCacheEntry) +
           (shelf->length == 0 ? 0 : shelf->length * nczadapter_book_size(shelf));
}

/* Notes how much was kept at once. */
static void note_most(size_t kept)
{
#ifndef _WIN32
    size_t most = __atomic_load_n(&most_kept, __ATOMIC_RELAXED);

    while (kept > most &&
           !__atomic_compare_exchange_n(&most_kept, &most, kept, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
#else
    (void)kept;
#endif
}

/* Counts anew what a variable keeps. A flush may have changed it, or somebody has set its size. */
static void count(Variable* variable)
{
    const NCZChunkCache* cache = cache_of(variable);
    const size_t size = size_of(variable);
    const size_t one = nclistlength(cache->mru) > 0 ? size_of_entry(cache) : nczadapter_book_size(&variable->shelf);
    size_t kept = 0;

    if (variable->var->chunkcache.size == DEFAULT_CHUNK_CACHE_SIZE && number_of(variable) > 1 && size > one)
        kept = size - one;
    kept += variable->ahead.used;
    if (kept == variable->kept)
        return;
    note_most(add(&kept_by_all, kept - variable->kept));
    variable->kept = kept;
}

static int close_map(NCZMAP* map, int deleteit)
{
    File* file = (File*)map->api;
    Variable *variable, *next;

    map->api = file->original;
    for (size_t i = 0; i < LISTS; i++) {
        for (variable = file->variables[i]; variable != NULL; variable = next) {
            next = variable->next;
            (void)add(&kept_by_all, 0 - variable->kept);
            nczadapter_shelf_empty(&variable->shelf);
            nczadapter_ahead_drop(&variable->ahead);
            free(variable);
        }
    }
    free(file);
    return map->api->close(map, deleteit);
}

/* A number in netCDF's rc file, or the usual one. */
static size_t setting(const char* key, size_t usual)
{
    const char* text = NC_rclookup(key, NULL, NULL);
    unsigned long long number;
    char* end;

    if (text == NULL)
        return usual;
    number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && *end == '\0')
        return (size_t)number;
    ADAPTER_LOG(NCLOGWARN, "%s=%s is not a number; it stays %zu", key, text, usual);
    return usual;
}

#ifdef __linux__
/* The most memory that this program has taken, in bytes, as Linux tells it; 0 if it does not. */
static size_t most_of_program(void)
{
    FILE* status = fopen("/proc/self/status", "r");
    char line[256];
    size_t most = 0;

    while (most == 0 && status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", strlen("VmHWM:")) == 0)
            most = (size_t)strtoull(line + strlen("VmHWM:"), NULL, 10) * 1024;
    if (status != NULL)
        fclose(status);
    return most;
}
#endif

#ifndef _WIN32
/* The most memory that this program has taken, in bytes; 0 if the system does not tell. What getrusage tells on Linux
 * includes the program that was in the process before, or that started it. Until this one has taken more, the system is
 * asked in another way, which takes longer. */
static size_t most_taken(void)
{
    struct rusage usage;
    size_t most;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#ifdef __APPLE__
    most = (size_t)usage.ru_maxrss;
#else
    most = (size_t)usage.ru_maxrss * 1024;
#endif
#ifdef __linux__
    {
        static size_t of_another = SIZE_MAX; /* not known yet */
        const size_t known = __atomic_load_n(&of_another, __ATOMIC_RELAXED);
        size_t own;

        if (most <= known && (own = most_of_program()) != 0) {
            if (known == SIZE_MAX)
                __atomic_store_n(&of_another, own < most - most / 16 ? most : 0, __ATOMIC_RELAXED);
            most = own;
        }
    }
#endif
    return most;
}
#endif

/* Finds anew, if that was a while ago, what may be kept where netCDF's rc file says nothing. What is written stays, or
 * it would be stored at each turn. What is only read stays as far as it does not make a small process a large one. */
static void find_bound(File* file)
{
#ifndef _WIN32
    const size_t now = add(&time_of_all, 0);
    size_t taken, kept = __atomic_load_n(&most_kept, __ATOMIC_RELAXED);

    if (!file->follows_process || (file->found != 0 && now - file->found < RECENT) || (taken = most_taken()) == 0)
        return;
    file->found = now;
    kept += LIBRARIES;
    taken = taken > kept ? (taken - kept) / 5 * 2 : 0;
    file->bound = taken < USUAL_BOUND ? taken : USUAL_BOUND;
#else
    (void)file;
#endif
}

/* What is known of a file; NULL without memory. */
static File* file_of(const NC_FILE_INFO_T* nc_file)
{
    NCZMAP* map = ((const NCZ_FILE_INFO_T*)nc_file->format_file_info)->map;
    File* file;

    if (map->api->close == close_map)
        return (File*)map->api;
    if ((file = calloc(1, sizeof *file)) == NULL)
        return NULL;
    file->api = *map->api;
    file->api.close = close_map;
    file->original = map->api;
    file->bound = setting("NCZCHUNK.CACHE_SIZE", SIZE_MAX);
    if (file->bound == SIZE_MAX) {
        file->bound = USUAL_BOUND;
        file->follows_process = nc_file->no_write;
    }
    if (setting("NCZCHUNK.DECODE", 0) != 0) {
        file->threads = setting("NCZCHUNK.THREADS", 1);
        file->threads = file->threads < 1 ? 1 : file->threads > MOST_THREADS ? MOST_THREADS : file->threads;
    }
    map->api = &file->api;
    return file;
}

size_t nczadapter_threads(const NC_FILE_INFO_T* file)
{
    const File* known = file_of(file);

    return known == NULL ? 0 : known->threads;
}

/* What is known of a variable, which becomes the first of its list; NULL without memory. */
static Variable* variable_of(File* file, NC_VAR_INFO_T* var)
{
    Variable **list = &file->variables[(uintptr_t)var / sizeof *var % LISTS], **link = list, *variable;

    while ((variable = *link) != NULL && variable->var != var)
        link = &variable->next;
    if (variable != NULL)
        *link = variable->next;
    else if ((variable = calloc(1, sizeof *variable)) == NULL)
        return NULL;
    variable->var = var;
    variable->next = *list;
    *list = variable;
    return variable;
}

Shelf* nczadapter_shelf(NC_FILE_INFO_T* file, NC_VAR_INFO_T* var)
{
    const NCZ_VAR_INFO_T* zvar = var->format_var_info;
    const NCZChunkCache* cache = zvar->cache;
    Variable* variable;
    File* known;

    if (cache->chunksize > sizeof(NCZCacheEntry) || var->type_info->hdr.id >= NC_STRING ||
        (known = file_of(file)) == NULL || (variable = variable_of(known, var)) == NULL)
        return NULL;
    /* The size of the cache may have been set since, or other chunks. */
    if (var->chunkcache.size != DEFAULT_CHUNK_CACHE_SIZE || variable->shelf.chunk != cache->chunksize ||
        variable->shelf.ndims != cache->ndims) {
        nczadapter_shelf_empty(&variable->shelf);
        count(variable);
        variable->shelf.chunk = (size_t)cache->chunksize;
        variable->shelf.ndims = (size_t)cache->ndims;
    }
    return var->chunkcache.size == DEFAULT_CHUNK_CACHE_SIZE ? &variable->shelf : NULL;
}

/* Whether a chunk that comes would still be there, had all been kept. If there are more chunks to be remembered than
 * there is room for, only some are. */
static int comes_back(const File* file, Variable* variable, ncexhashkey_t hashkey, size_t now, size_t size)
{
    const size_t step = file->bound / size / SEEN + 1;
    Seen *seen, last;

    if (hashkey % step != 0)
        return 0;
    seen = &variable->seen[hashkey / step % SEEN];
    last = *seen;
    *seen = (Seen){hashkey, now};
    return last.time != 0 && last.hashkey == hashkey && now - last.time <= file->bound;
}

/* Gives up a chunk of a variable, an entry of its cache or a book of its shelf, and notes whether it had been worth its
 * place. */
static int give_up(const File* file, Variable* variable, NCZCacheEntry* entry, Book* book)
{
    NCZChunkCache* cache = cache_of(variable);
    const size64_t* reused = entry == NULL ? NULL : nczadapter_reused(cache, entry);
    const size_t size = entry == NULL ? nczadapter_book_size(&variable->shelf) : size_of_entry(cache);
    int stat = NC_NOERR, was_reused = reused != NULL && *reused;

    if (entry != NULL)
        stat = NCZ_entry_evict(cache, entry);
    else
        was_reused = nczadapter_shelf_drop(&variable->shelf, book);
    variable->unused = was_reused ? 0 : variable->unused + size;
    if (variable->unused > file->bound)
        variable->keeps_all = 0;
    count(variable);
    return stat;
}

/* Gives up what another variable read ahead, or the chunk that it used last. */
static int give_up_last(const File* file, Variable* other)
{
    if (other->ahead.used == 0)
        return give_up(file, other, ncxcachelast(cache_of(other)->xcache), other->shelf.oldest);
    nczadapter_ahead_drop(&other->ahead);
    count(other);
    return NC_NOERR;
}

/* Gives up a chunk of the variable of a transfer: first one of those that are of no use to it, which are on the shelf
 * if it writes, and take more in the cache if it only reads. done tells that there was one. */
static int give_up_own(const File* file, Variable* variable, const Transfer* transfer, int* done)
{
    const Shelf* shelf = &variable->shelf;
    NCZCacheEntry* entry = NULL;
    Book* book = transfer->chunks < shelf->length ? shelf->oldest : shelf->newest;

    if (transfer->reading || book == NULL)
        entry = nczadapter_victim(transfer);
    *done = entry != NULL || book != NULL;
    return *done ? give_up(file, variable, entry, book) : NC_NOERR;
}

/* The variable that was not used for longest, of those that have more than a chunk; NULL if none has. */
static Variable* least_recent(const File* file)
{
    Variable *variable, *found = NULL;

    for (size_t i = 0; i < LISTS; i++) {
        for (variable = file->variables[i]; variable != NULL; variable = variable->next) {
            if (variable->kept > 0)
                count(variable);
            if (variable->kept > 0 && (found == NULL || variable->time < found->time))
                found = variable;
        }
    }
    return found;
}

void nczadapter_count(const Transfer* transfer)
{
    File* file = file_of(transfer->file);
    Variable* variable = file == NULL ? NULL : variable_of(file, transfer->var);

    if (variable != NULL)
        count(variable);
}

Ahead* nczadapter_ahead(NC_FILE_INFO_T* file, NC_VAR_INFO_T* var)
{
    File* known;
    Variable* variable;

    if (var->type_info->hdr.id >= NC_STRING || (known = file_of(file)) == NULL ||
        (variable = variable_of(known, var)) == NULL)
        return NULL;
    if (var->chunkcache.size != DEFAULT_CHUNK_CACHE_SIZE) {
        nczadapter_ahead_drop(&variable->ahead);
        count(variable);
        return NULL;
    }
    variable->read_before = variable->read;
    variable->read = ++known->reads;
    variable->time = add(&time_of_all, 0);
    return &variable->ahead;
}

/* What may be kept for a variable, as long as others keep what they do. */
static size_t room_for(const File* file, const Variable* variable)
{
    const size_t others = add(&kept_by_all, 0) - variable->kept;

    return file->bound > others ? file->bound - others : 0;
}

/* Variables that are read in turn have equal shares. Others give up what they keep. */
size_t nczadapter_room_ahead(const Transfer* transfer, const Box* box, size_t wanted)
{
    File* file = file_of(transfer->file);
    Variable *variable = file == NULL ? NULL : variable_of(file, transfer->var), *other;
    const size_t* lens = transfer->var->chunksizes;
    size_t room, share = 0;
    int touches_several = 0;

    if (variable == NULL)
        return 0;
    find_bound(file);
    room = file->bound / size_of_next(transfer);
    for (size_t d = 0; d < box->rank; d++) {
        const size64_t chunks = (box->start[d] + box->len[d] - 1) / lens[d] - box->start[d] / lens[d] + 1;

        touches_several |= chunks > 1;
        room /= (size_t)chunks;
    }
    if (!touches_several || room > 0)
        return 0;
    for (size_t i = 0; i < LISTS; i++)
        for (other = file->variables[i]; other != NULL; other = other->next)
            share += other->read > variable->read_before;
    share = file->bound / share; /* by itself it is one of them */
    wanted = wanted < share ? wanted : share;
    while ((room = room_for(file, variable)) < wanted) {
        other = least_recent(file);
        if (other == NULL || other->read >= variable->read_before || give_up_last(file, other) != NC_NOERR)
            break;
    }
    return room < wanted ? room : wanted;
}

int nczadapter_keep(const Transfer* transfer, ncexhashkey_t hashkey)
{
    const size_t size = size_of_next(transfer);
    File* file = file_of(transfer->file);
    Variable *variable = file == NULL ? NULL : variable_of(file, transfer->var), *other;
    NCZCacheEntry* entry;
    size_t now;
    int stat, done = 1;

    if (variable == NULL) {
        while ((entry = nczadapter_victim(transfer)) != NULL)
            if ((stat = NCZ_entry_evict(transfer->cache, entry)) != NC_NOERR)
                return stat;
        return NC_NOERR;
    }
    count(variable);
    find_bound(file);
    now = add(&time_of_all, size);
    if (comes_back(file, variable, hashkey, now, size) ||
        (!transfer->reading && !transfer->replaces && !transfer->spans_chunks)) {
        variable->keeps_all = 1;
        variable->unused = 0;
    } else if (transfer->reused > 0) {
        variable->unused = 0;
    }
    variable->time = now;

    while (done && !variable->keeps_all && size_of(variable) + size > FEW)
        if ((stat = give_up_own(file, variable, transfer, &done)) != NC_NOERR)
            return stat;
    /* One chunk of the variable needs no room: with another, what it has already counts. */
    done = 1;
    while (done && number_of(variable) > 0 &&
           size_of(variable) + variable->ahead.used > room_for(file, variable)) {
        other = variable->ahead.used > 0 ? NULL : least_recent(file);
        if (other == NULL || other == variable)
            stat = give_up_own(file, variable, transfer, &done);
        else
            stat = give_up_last(file, other);
        if (stat != NC_NOERR)
            return stat;
    }
    return NC_NOERR;
}

#else

Shelf* nczadapter_shelf(NC_FILE_INFO_T* file, NC_VAR_INFO_T* var)
{
    (void)file;
    (void)var;
    return NULL;
}

#endif
