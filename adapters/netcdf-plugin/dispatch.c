/* The table of functions that netCDF-C calls for a dataset that this library opens. All that writes is refused. */
#include "dataset.h"
#include "nczchunk_netcdf.h"
#include "settings.h"

#include <netcdf_dispatch.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* An ncid has the number of the open file in its upper half, and that of the group in its lower half. */
#define FILES 0x10000
static Dataset *datasets[FILES];

static Dataset *dataset_of(int ncid)
{
    return datasets[(unsigned)ncid >> 16];
}

static int find_group(int ncid, Dataset **dataset, const Group **group)
{
    const size_t number = (unsigned)ncid & 0xffff;

    *dataset = dataset_of(ncid);
    if (!*dataset || number >= (*dataset)->ngroups) return NC_EBADID;
    *group = &(*dataset)->groups[number];
    return NC_NOERR;
}

static int group_id(int ncid, size_t group)
{
    return (int)(((unsigned)ncid & ~0xffffu) | (unsigned)group);
}

static int find_var(int ncid, int varid, Dataset **dataset, Var **var)
{
    const Group *group;
    const int status = find_group(ncid, dataset, &group);

    if (status) return status;
    if (varid < 0 || (size_t)varid >= group->nvars) return NC_ENOTVAR;
    *var = &(*dataset)->vars[group->vars[varid]];
    return NC_NOERR;
}

/* Has a variable have all its attributes: _FillValue may be known only when its array is open. Where the metadata of
 * the array are refused, the variable has its other attributes. */
static int complete_atts(Dataset *dataset, Var *var)
{
    const int status = nczc_array(dataset, var);

    return var->status ? NC_NOERR : status;
}

/* The attributes of a variable, or of a group for NC_GLOBAL. */
static int find_atts(int ncid, int varid, const Attributes **atts)
{
    Dataset *dataset;
    const Group *group;
    Var *var;
    int status;

    if (varid == NC_GLOBAL) {
        status = find_group(ncid, &dataset, &group);
        if (!status) *atts = &group->atts;
        return status;
    }
    status = find_var(ncid, varid, &dataset, &var);
    if (!status) status = complete_atts(dataset, var);
    if (!status) *atts = &var->atts;
    return status;
}

/* Names have at most NC_MAX_NAME bytes, for which netCDF's programs have room. */
static void give_name(char *to, const char *name)
{
    size_t len;

    if (!to) return;
    len = strnlen(name, NC_MAX_NAME);
    memcpy(to, name, len);
    to[len] = '\0';
}

#define GIVE(pointer, value)            \
    do {                                \
        if (pointer) *(pointer) = value; \
    } while (0)

/* --- Files */

static int open_file(const char *path, int mode, int basepe, size_t *chunksizehintp, void *parameters,
                     const NC_Dispatch *table, int ncid)
{
    Dataset *dataset = NULL;
    int status;

    (void)basepe, (void)chunksizehintp, (void)parameters, (void)table;
    if (mode & NC_WRITE) return NC_EPERM;
    if (mode & NC_INMEMORY) return NC_EINMEMORY;
    /* Another libnetcdf in this process has a file of this number. */
    if (dataset_of(ncid)) return NC_ENFILE;
    status = nczc_dataset_open(path, mode, nczc_threads(), &dataset);
    if (!status) datasets[(unsigned)ncid >> 16] = dataset;
    return status;
}

const char *nczc_url_of(int ncid)
{
    const Dataset *dataset = dataset_of(ncid);

    return dataset ? dataset->url : NULL;
}

/* netCDF-C forgets the file after this, whatever the status is, and whichever group it is called with. */
static int abort_file(int ncid)
{
    Dataset *dataset = dataset_of(ncid);

    if (!dataset) return NC_EBADID;
    datasets[(unsigned)ncid >> 16] = NULL;
    nczc_dataset_close(dataset);
    return NC_NOERR;
}

static int close_file(int ncid, void *parameters)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    (void)parameters;
    if (status) return status;
    return group->parent < 0 ? abort_file(ncid) : NC_EBADGRPID;
}

static int sync_file(int ncid)
{
    return dataset_of(ncid) ? NC_NOERR : NC_EBADID;
}

static int inq_format(int ncid, int *formatp)
{
    (void)ncid;
    GIVE(formatp, NC_FORMAT_NETCDF4);
    return NC_NOERR;
}

static int inq_format_extended(int ncid, int *formatp, int *modep)
{
    const Dataset *dataset = dataset_of(ncid);

    if (!dataset) return NC_EBADID;
    GIVE(formatp, NC_FORMATX_UDF0);
    GIVE(modep, dataset->mode | NC_NETCDF4);
    return NC_NOERR;
}

/* --- Groups */

static int inq_dimids(int ncid, int *ndims, int *dimids, int include_parents)
{
    Dataset *dataset;
    const Group *group;
    int count = 0, status = find_group(ncid, &dataset, &group);

    if (status) return status;
    for (size_t i = 0; i < dataset->ndims; i++) {
        int g = (int)(group - dataset->groups);

        while (include_parents && g >= 0 && dataset->dims[i].group != g) g = dataset->groups[g].parent;
        if (dataset->dims[i].group != g) continue;
        if (dimids) dimids[count] = (int)i;
        count++;
    }
    GIVE(ndims, count);
    return NC_NOERR;
}

static int inq_unlimdims(int ncid, int *nunlimdims, int *dimids)
{
    Dataset *dataset;
    const Group *group;
    int count = 0;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    for (size_t i = 0; i < dataset->ndims; i++) {
        if (dataset->dims[i].group != group - dataset->groups || !dataset->dims[i].unlimited) continue;
        if (dimids) dimids[count] = (int)i;
        count++;
    }
    GIVE(nunlimdims, count);
    return NC_NOERR;
}

/* The first unlimited dimension of a group, or of one that it is in. */
static int inq_unlimdim(int ncid, int *dimid)
{
    Dataset *dataset;
    const Group *group;
    int g, found = -1;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    for (g = (int)(group - dataset->groups); g >= 0 && found < 0; g = dataset->groups[g].parent)
        for (size_t i = dataset->ndims; i-- > 0;)
            if (dataset->dims[i].group == g && dataset->dims[i].unlimited) found = (int)i;
    GIVE(dimid, found);
    return NC_NOERR;
}

static int inq(int ncid, int *ndimsp, int *nvarsp, int *nattsp, int *unlimdimidp)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    GIVE(nvarsp, (int)group->nvars);
    GIVE(nattsp, (int)group->atts.count);
    (void)inq_dimids(ncid, ndimsp, NULL, 0);
    return inq_unlimdim(ncid, unlimdimidp);
}

static int inq_varids(int ncid, int *nvars, int *varids)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    GIVE(nvars, (int)group->nvars);
    for (size_t v = 0; varids && v < group->nvars; v++) varids[v] = (int)v;
    return NC_NOERR;
}

static int inq_grps(int ncid, int *ngrps, int *ncids)
{
    Dataset *dataset;
    const Group *group;
    int count = 0;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    for (size_t g = 0; g < dataset->ngroups; g++) {
        if (dataset->groups[g].parent != group - dataset->groups) continue;
        if (ncids) ncids[count] = group_id(ncid, g);
        count++;
    }
    GIVE(ngrps, count);
    return NC_NOERR;
}

static int inq_grpname(int ncid, char *name)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (!status) give_name(name, group->parent < 0 ? "/" : group->name);
    return status;
}

static int inq_grpname_full(int ncid, size_t *len, char *name)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    GIVE(len, strlen(group->path) + 1);
    if (name) {
        *name = '/';
        strcpy(name + 1, group->path);
    }
    return NC_NOERR;
}

static int inq_grp_parent(int ncid, int *parent)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    if (group->parent < 0) return NC_ENOGRP;
    GIVE(parent, group_id(ncid, (size_t)group->parent));
    return NC_NOERR;
}

/* The group of this name in a group; NULL stands for the root, as netCDF-C's own formats have it. */
static int find_child(int ncid, const char *name, size_t len, int *found)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    for (size_t g = 0; g < dataset->ngroups; g++) {
        const Group *child = &dataset->groups[g];

        if (name && (child->parent != group - dataset->groups || strlen(child->name) != len)) continue;
        if (name && memcmp(child->name, name, len) != 0) continue;
        GIVE(found, group_id(ncid, g));
        return NC_NOERR;
    }
    return NC_ENOGRP;
}

static int inq_ncid(int ncid, const char *name, int *found)
{
    return find_child(ncid, name, name ? strlen(name) : 0, found);
}

/* Follows names that are divided by "/" from a group on. */
static int inq_grp_full_ncid(int ncid, const char *name, int *found)
{
    int status = dataset_of(ncid) ? NC_NOERR : NC_EBADID, group = ncid;
    size_t len;

    if (!name) return NC_EINVAL;
    for (; *name && !status; name += len) {
        len = strcspn(name, "/");
        if (len) status = find_child(group, name, len, &group);
        else len = 1;
    }
    if (!status) GIVE(found, group);
    return status;
}

static int show_metadata(int ncid)
{
    return dataset_of(ncid) ? NC_NOERR : NC_EBADID;
}

/* --- Dimensions */

/* A dimension of a group or of one that it is in; a name that begins with "/" is that of one dimension in the file. */
static int inq_dimid(int ncid, const char *name, int *dimid)
{
    Dataset *dataset;
    const Group *group;
    const char *last;
    int status = find_group(ncid, &dataset, &group), is_full;

    if (status) return status;
    if (!name) return NC_EINVAL;
    is_full = *name == '/';
    last = strrchr(name, '/');
    if (last && !is_full) return NC_EINVAL;
    for (int g = is_full ? (int)dataset->ngroups - 1 : (int)(group - dataset->groups); g >= 0;
         g = is_full ? g - 1 : dataset->groups[g].parent) {
        const char *path = dataset->groups[g].path;
        const size_t len = strlen(path);

        if (is_full && (last - name != (ptrdiff_t)(len + (len > 0)) || memcmp(name + 1, path, len) != 0)) continue;
        for (size_t i = 0; i < dataset->ndims; i++) {
            if (dataset->dims[i].group != g || strcmp(dataset->dims[i].name, is_full ? last + 1 : name)) continue;
            GIVE(dimid, (int)i);
            return NC_NOERR;
        }
    }
    return NC_EBADDIM;
}

static int inq_dim(int ncid, int dimid, char *name, size_t *len)
{
    const Dataset *dataset = dataset_of(ncid);

    if (!dataset) return NC_EBADID;
    if (dimid < 0 || (size_t)dimid >= dataset->ndims) return NC_EBADDIM;
    give_name(name, dataset->dims[dimid].name);
    GIVE(len, dataset->dims[dimid].len);
    return NC_NOERR;
}

/* --- Types: those that netCDF has built in */

static const struct {
    nc_type type;
    const char *name;
} types[] = {{NC_BYTE, "byte"},   {NC_CHAR, "char"},     {NC_SHORT, "short"}, {NC_INT, "int"},
             {NC_FLOAT, "float"}, {NC_DOUBLE, "double"}, {NC_UBYTE, "ubyte"}, {NC_USHORT, "ushort"},
             {NC_UINT, "uint"},   {NC_INT64, "int64"},   {NC_UINT64, "uint64"}, {NC_STRING, "string"}};

static int inq_type(int ncid, nc_type type, char *name, size_t *size)
{
    (void)ncid;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].type != type) continue;
        give_name(name, types[i].name);
        GIVE(size, nczc_type_size(type));
        return NC_NOERR;
    }
    return NC_EBADTYPE;
}

static int inq_typeid(int ncid, const char *name, nc_type *type)
{
    (void)ncid;
    if (!name) return NC_EINVAL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name)) continue;
        GIVE(type, types[i].type);
        return NC_NOERR;
    }
    return NC_EBADTYPE;
}

static int inq_typeids(int ncid, int *ntypes, int *typeids)
{
    (void)typeids;
    GIVE(ntypes, 0);
    return dataset_of(ncid) ? NC_NOERR : NC_EBADID;
}

static int inq_type_equal(int ncid1, nc_type type1, int ncid2, nc_type type2, int *equal)
{
    (void)ncid1, (void)ncid2;
    if (!nczc_type_size(type1) || !nczc_type_size(type2)) return NC_EBADTYPE;
    GIVE(equal, type1 == type2);
    return NC_NOERR;
}

static int inq_user_type(int ncid, nc_type type, char *name, size_t *size, nc_type *base, size_t *nfields, int *class)
{
    (void)ncid, (void)type, (void)name, (void)size, (void)base, (void)nfields, (void)class;
    return NC_EBADTYPE;
}

/* --- Attributes */

static int inq_att(int ncid, int varid, const char *name, nc_type *type, size_t *len)
{
    const Attributes *atts;
    const Attribute *att;
    const int status = find_atts(ncid, varid, &atts);

    if (status) return status;
    if (!name) return NC_EBADNAME;
    att = nczc_att(atts, name);
    if (!att) return NC_ENOTATT;
    GIVE(type, att->type);
    GIVE(len, att->len);
    return NC_NOERR;
}

static int inq_attid(int ncid, int varid, const char *name, int *attnum)
{
    const Attributes *atts;
    const Attribute *att;
    const int status = find_atts(ncid, varid, &atts);

    if (status) return status;
    if (!name) return NC_EBADNAME;
    att = nczc_att(atts, name);
    if (!att) return NC_ENOTATT;
    GIVE(attnum, (int)(att - atts->list));
    return NC_NOERR;
}

static int inq_attname(int ncid, int varid, int attnum, char *name)
{
    const Attributes *atts;
    const int status = find_atts(ncid, varid, &atts);

    if (status) return status;
    if (attnum < 0 || (size_t)attnum >= atts->count) return NC_ENOTATT;
    give_name(name, atts->list[attnum].name);
    return NC_NOERR;
}

static int get_att(int ncid, int varid, const char *name, void *values, nc_type type)
{
    const Attributes *atts;
    const Attribute *att;
    const int status = find_atts(ncid, varid, &atts);
    char **strings = values;

    if (status) return status;
    if (!name) return NC_EBADNAME;
    att = nczc_att(atts, name);
    if (!att) return NC_ENOTATT;
    if (type == NC_NAT) type = att->type;
    if (att->len == 0) return NC_NOERR;
    if (!values) return NC_EINVAL;
    if (att->type != NC_STRING || type != NC_STRING)
        return nczc_convert(att->values, att->type, values, type, att->len);
    for (size_t i = 0; i < att->len; i++) {
        strings[i] = strdup(((char **)att->values)[i]);
        if (strings[i]) continue;
        while (i-- > 0) free(strings[i]);
        return NC_ENOMEM;
    }
    return NC_NOERR;
}

/* --- Variables */

static int inq_varid(int ncid, const char *name, int *varid)
{
    Dataset *dataset;
    const Group *group;
    const int status = find_group(ncid, &dataset, &group);

    if (status) return status;
    if (!name) return NC_EINVAL;
    for (size_t v = 0; v < group->nvars; v++) {
        if (strcmp(dataset->vars[group->vars[v]].name, name)) continue;
        GIVE(varid, (int)v);
        return NC_NOERR;
    }
    return NC_ENOTVAR;
}

/* The numbers by which netCDF and HDF5 know codecs, and the settings that are their parameters. */
enum { DEFLATE = 1, SHUFFLE = 2, FLETCHER32 = 3, BLOSC = 32001 };
static const struct {
    const char *name;
    unsigned id;
    const char *setting;
} codecs[] = {{"zlib", DEFLATE, "level"},     {"gzip", DEFLATE, "level"},      {"deflate", DEFLATE, "level"},
              {"shuffle", SHUFFLE, NULL},     {"fletcher32", FLETCHER32, NULL}, {"szip", 4, NULL},
              {"bz2", 307, "level"},          {"lzf", 32000, NULL},             {"blosc", BLOSC, NULL},
              {"lz4", 32004, NULL},           {"zstd", 32015, "level"}};

typedef struct Filter {
    unsigned id;
    size_t nparams;
    unsigned params[7];
} Filter;

typedef struct Filters {
    int has_shuffle, has_fletcher32;
    size_t count, room;
    Filter *list;
} Filters;

/* A number in a JSON object without blanks; what is not there is 0. */
static unsigned setting(const char *configuration, const char *name)
{
    const size_t len = strlen(name);
    const char *at;

    for (at = strchr(configuration, '"'); at; at = strchr(at + 1, '"'))
        if (strncmp(at + 1, name, len) == 0 && strncmp(at + 1 + len, "\":", 2) == 0)
            return (unsigned)strtol(at + len + 3, NULL, 10);
    return 0;
}

/* The parameters of H5Z_FILTER_BLOSC, of which the first two are versions. */
static void blosc_params(Filter *filter, const char *configuration)
{
    static const char *const names[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};
    char quoted[16];

    filter->nparams = 7;
    filter->params[2] = setting(configuration, "typesize");
    filter->params[3] = setting(configuration, "blocksize");
    filter->params[4] = setting(configuration, "clevel");
    filter->params[5] = strstr(configuration, "\"bitshuffle\"") ? 2
                        : strstr(configuration, "\"shuffle\":\"shuffle\"") ? 1
                                                                          : setting(configuration, "shuffle");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        quoted[0] = '"';
        strcpy(quoted + 1, names[i]);
        strcat(quoted, "\"");
        if (strstr(configuration, quoted)) filter->params[6] = i;
    }
}

static int add_filter(void *user, const char *name, const char *configuration)
{
    Filters *filters = user;
    Filter *filter;

    if (strncmp(name, "numcodecs.", 10) == 0) name += 10;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (strcmp(codecs[i].name, name) || !nczc_tells_filter(codecs[i].id)) continue;
        if (codecs[i].id == SHUFFLE) filters->has_shuffle = 1;
        if (codecs[i].id == FLETCHER32) filters->has_fletcher32 = 1;
        if (filters->count == filters->room) {
            const size_t room = 2 * filters->room + 4;
            Filter *more = realloc(filters->list, room * sizeof *more);

            if (!more) return NC_ENOMEM;
            filters->list = more;
            filters->room = room;
        }
        filter = &filters->list[filters->count++];
        memset(filter, 0, sizeof *filter);
        filter->id = codecs[i].id;
        if (codecs[i].setting) {
            filter->nparams = 1;
            filter->params[0] = setting(configuration, codecs[i].setting);
        } else if (filter->id == BLOSC) {
            blosc_params(filter, configuration);
        }
        return NC_NOERR;
    }
    /* netCDF has no number for it, or no use. */
    return NC_NOERR;
}

/* The filters of a variable. The caller frees the list, also after an error. */
static int find_filters(Dataset *dataset, Var *var, Filters *filters)
{
    int status = nczc_array(dataset, var);

    memset(filters, 0, sizeof *filters);
    if (!status) status = nczchunk_array_codecs(var->array, add_filter, filters, dataset->context);
    return status;
}

static const Filter *find_filter(const Filters *filters, unsigned id)
{
    for (size_t i = 0; i < filters->count; i++)
        if (filters->list[i].id == id) return &filters->list[i];
    return NULL;
}

static int inq_var_all(int ncid, int varid, char *name, nc_type *xtypep, int *ndimsp, int *dimidsp, int *nattsp,
                       int *shufflep, int *deflatep, int *deflate_levelp, int *fletcher32p, int *contiguousp,
                       size_t *chunksizesp, int *no_fill, void *fill_valuep, int *endiannessp, unsigned int *idp,
                       size_t *nparamsp, unsigned int *params)
{
    Dataset *dataset;
    Var *var;
    Filters filters = {0};
    const Filter *deflate, *first;
    int status = find_var(ncid, varid, &dataset, &var), has_no_fill = 0;

    if (status) return status;
    give_name(name, var->name);
    GIVE(xtypep, var->type);
    GIVE(ndimsp, (int)var->rank);
    for (size_t d = 0; dimidsp && d < var->rank; d++) dimidsp[d] = var->dimids[d];
    for (size_t d = 0; chunksizesp && d < var->rank && !var->is_contiguous; d++) chunksizesp[d] = var->chunks[d];
    GIVE(contiguousp, var->is_contiguous ? NC_CONTIGUOUS : NC_CHUNKED);
    if (nattsp) {
        status = complete_atts(dataset, var);
        if (!status) *nattsp = (int)var->atts.count;
    }
    if (!status && (no_fill || fill_valuep)) status = nczc_has_no_fill(dataset, var, &has_no_fill);
    if (!status) GIVE(no_fill, has_no_fill);
    /* As netCDF-C has it, a fill value that there is not leaves the memory as it is. */
    if (!status && fill_valuep && !has_no_fill) status = nczc_fill_value(dataset, var, fill_valuep);
    if (!status && endiannessp) {
        status = nczc_array(dataset, var);
        if (!status) *endiannessp = nczchunk_var_endian(nczchunk_array_var(var->array));
    }
    if (status || !(shufflep || deflatep || deflate_levelp || fletcher32p || idp || nparamsp || params)) return status;

    status = find_filters(dataset, var, &filters);
    if (!status) {
        deflate = find_filter(&filters, DEFLATE);
        GIVE(shufflep, filters.has_shuffle);
        GIVE(fletcher32p, filters.has_fletcher32);
        GIVE(deflatep, deflate != NULL);
        if (deflate) GIVE(deflate_levelp, (int)deflate->params[0]);
        first = filters.count ? filters.list : NULL;
        GIVE(idp, first ? first->id : 0);
        GIVE(nparamsp, first ? first->nparams : 0);
        if (params && first) memcpy(params, first->params, first->nparams * sizeof *params);
    }
    free(filters.list);
    return status;
}

static int inq_var_filter_ids(int ncid, int varid, size_t *nfilters, unsigned int *ids)
{
    Dataset *dataset;
    Var *var;
    Filters filters = {0};
    int status = find_var(ncid, varid, &dataset, &var);

    if (!status) status = find_filters(dataset, var, &filters);
    if (!status) {
        GIVE(nfilters, filters.count);
        for (size_t i = 0; ids && i < filters.count; i++) ids[i] = filters.list[i].id;
    }
    free(filters.list);
    return status;
}

static int inq_var_filter_info(int ncid, int varid, unsigned int id, size_t *nparams, unsigned int *params)
{
    Dataset *dataset;
    Var *var;
    Filters filters = {0};
    const Filter *filter = NULL;
    int status = find_var(ncid, varid, &dataset, &var);

    if (!status) status = find_filters(dataset, var, &filters);
    if (!status) {
        filter = find_filter(&filters, id);
        if (!filter) status = NC_ENOFILTER;
    }
    if (!status) {
        GIVE(nparams, filter->nparams);
        if (params) memcpy(params, filter->params, filter->nparams * sizeof *params);
    }
    free(filters.list);
    return status;
}

static int inq_var_quantize(int ncid, int varid, int *mode, int *nsd)
{
    (void)ncid, (void)varid;
    GIVE(mode, 0);
    GIVE(nsd, 0);
    return NC_NOERR;
}

static int inq_filter_avail(int ncid, unsigned id)
{
    (void)ncid;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].id == id && nczchunk_has_codec(codecs[i].name)) return NC_NOERR;
    return NC_ENOFILTER;
}

/* Chunks that are decoded are kept in a cache of this many bytes. */
static int set_var_chunk_cache(int ncid, int varid, size_t size, size_t nelems, float preemption)
{
    Dataset *dataset;
    Var *var;
    nczchunk_cache *cache = NULL;
    int status = find_var(ncid, varid, &dataset, &var);

    (void)nelems, (void)preemption;
    if (!status) status = nczc_array(dataset, var);
    if (!status && size) status = nczchunk_cache_new(size, &cache, dataset->context);
    if (!status) status = nczchunk_array_set_cache(var->array, cache, dataset->context);
    if (!status) {
        var->cache_size = size;
        var->has_cache_size = 1;
    }
    nczchunk_cache_free(cache);
    return status;
}

static int get_var_chunk_cache(int ncid, int varid, size_t *size, size_t *nelems, float *preemption)
{
    Dataset *dataset;
    Var *var;
    const int status = find_var(ncid, varid, &dataset, &var);

    if (status) return status;
    /* An array keeps that much by itself: see nczchunk_array_set_cache. */
    GIVE(size, var->has_cache_size ? var->cache_size : (size_t)64 << 20);
    GIVE(nelems, 0);
    GIVE(preemption, 0);
    return NC_NOERR;
}

static int var_par_access(int ncid, int varid, int access)
{
    (void)ncid, (void)varid, (void)access;
    return NC_ENOPAR;
}

/* --- Values */

static int get_varm(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                    const ptrdiff_t *imap, void *values, nc_type type)
{
    Dataset *dataset;
    Var *var;
    const int status = find_var(ncid, varid, &dataset, &var);

    return status ? status : nczc_read(dataset, var, start, count, stride, imap, values, type);
}

static int get_vars(int ncid, int varid, const size_t *start, const size_t *count, const ptrdiff_t *stride,
                    void *values, nc_type type)
{
    return get_varm(ncid, varid, start, count, stride, NULL, values, type);
}

static int get_vara(int ncid, int varid, const size_t *start, const size_t *count, void *values, nc_type type)
{
    return get_varm(ncid, varid, start, count, NULL, NULL, values, type);
}

/* --- What is refused: everything that writes, and the types that users define */

#define REFUSE(name, status, parameters) \
    static int name parameters           \
    {                                    \
        return status;                   \
    }

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
REFUSE(no_create, NC_EPERM, (const char *a, int b, size_t c, int d, size_t *e, void *f, const NC_Dispatch *g, int h))
REFUSE(no_redef, NC_EPERM, (int a))
REFUSE(no_enddef, NC_EPERM, (int a, size_t b, size_t c, size_t d, size_t e))
REFUSE(no_set_fill, NC_EPERM, (int a, int b, int *c))
REFUSE(no_def_dim, NC_EPERM, (int a, const char *b, size_t c, int *d))
REFUSE(no_rename, NC_EPERM, (int a, int b, const char *c))
REFUSE(no_rename_att, NC_EPERM, (int a, int b, const char *c, const char *d))
REFUSE(no_put_att, NC_EPERM, (int a, int b, const char *c, nc_type d, size_t e, const void *f, nc_type g))
REFUSE(no_def_var, NC_EPERM, (int a, const char *b, nc_type c, int d, const int *e, int *f))
REFUSE(no_put_vara, NC_EPERM, (int a, int b, const size_t *c, const size_t *d, const void *e, nc_type f))
REFUSE(no_put_vars, NC_EPERM,
       (int a, int b, const size_t *c, const size_t *d, const ptrdiff_t *e, const void *f, nc_type g))
REFUSE(no_put_varm, NC_EPERM,
       (int a, int b, const size_t *c, const size_t *d, const ptrdiff_t *e, const ptrdiff_t *f, const void *g,
        nc_type h))
REFUSE(no_def_var_fill, NC_EPERM, (int a, int b, int c, const void *d))
REFUSE(no_def_grp, NC_EPERM, (int a, const char *b, int *c))
REFUSE(no_rename_grp, NC_EPERM, (int a, const char *b))
REFUSE(no_def_compound, NC_EPERM, (int a, size_t b, const char *c, nc_type *d))
REFUSE(no_insert_compound, NC_EPERM, (int a, nc_type b, const char *c, size_t d, nc_type e))
REFUSE(no_insert_array, NC_EPERM, (int a, nc_type b, const char *c, size_t d, nc_type e, int f, const int *g))
REFUSE(no_field, NC_EBADTYPE, (int a, nc_type b, int c, char *d, size_t *e, nc_type *f, int *g, int *h))
REFUSE(no_field_index, NC_EBADTYPE, (int a, nc_type b, const char *c, int *d))
REFUSE(no_def_vlen, NC_EPERM, (int a, const char *b, nc_type c, nc_type *d))
REFUSE(no_put_vlen, NC_EPERM, (int a, int b, void *c, size_t d, const void *e))
REFUSE(no_get_vlen, NC_EBADTYPE, (int a, int b, const void *c, size_t *d, void *e))
REFUSE(no_def_enum, NC_EPERM, (int a, nc_type b, const char *c, nc_type *d))
REFUSE(no_insert_enum, NC_EPERM, (int a, nc_type b, const char *c, const void *d))
REFUSE(no_enum_member, NC_EBADTYPE, (int a, nc_type b, int c, char *d, void *e))
REFUSE(no_enum_ident, NC_EBADTYPE, (int a, nc_type b, long long c, char *d))
REFUSE(no_def_opaque, NC_EPERM, (int a, size_t b, const char *c, nc_type *d))
REFUSE(no_def_var_deflate, NC_EPERM, (int a, int b, int c, int d, int e))
REFUSE(no_def_var_fletcher32, NC_EPERM, (int a, int b, int c))
REFUSE(no_def_var_chunking, NC_EPERM, (int a, int b, int c, const size_t *d))
REFUSE(no_def_var_endian, NC_EPERM, (int a, int b, int c))
REFUSE(no_def_var_filter, NC_EPERM, (int a, int b, unsigned c, size_t d, const unsigned *e))
REFUSE(no_def_var_quantize, NC_EPERM, (int a, int b, int c, int d))
REFUSE(no_del_att, NC_EPERM, (int a, int b, const char *c))

static NC_Dispatch table = {
    .model = NC_FORMATX_UDF0,
    .dispatch_version = NC_DISPATCH_VERSION,
    .create = no_create,
    .open = open_file,
    .redef = no_redef,
    ._enddef = no_enddef,
    .sync = sync_file,
    .abort = abort_file,
    .close = close_file,
    .set_fill = no_set_fill,
    .inq_format = inq_format,
    .inq_format_extended = inq_format_extended,
    .inq = inq,
    .inq_type = inq_type,
    .def_dim = no_def_dim,
    .inq_dimid = inq_dimid,
    .inq_dim = inq_dim,
    .inq_unlimdim = inq_unlimdim,
    .rename_dim = no_rename,
    .inq_att = inq_att,
    .inq_attid = inq_attid,
    .inq_attname = inq_attname,
    .rename_att = no_rename_att,
    .del_att = no_del_att,
    .get_att = get_att,
    .put_att = no_put_att,
    .def_var = no_def_var,
    .inq_varid = inq_varid,
    .rename_var = no_rename,
    .get_vara = get_vara,
    .put_vara = no_put_vara,
    .get_vars = get_vars,
    .put_vars = no_put_vars,
    .get_varm = get_varm,
    .put_varm = no_put_varm,
    .inq_var_all = inq_var_all,
    .var_par_access = var_par_access,
    .def_var_fill = no_def_var_fill,
    .show_metadata = show_metadata,
    .inq_unlimdims = inq_unlimdims,
    .inq_ncid = inq_ncid,
    .inq_grps = inq_grps,
    .inq_grpname = inq_grpname,
    .inq_grpname_full = inq_grpname_full,
    .inq_grp_parent = inq_grp_parent,
    .inq_grp_full_ncid = inq_grp_full_ncid,
    .inq_varids = inq_varids,
    .inq_dimids = inq_dimids,
    .inq_typeids = inq_typeids,
    .inq_type_equal = inq_type_equal,
    .def_grp = no_def_grp,
    .rename_grp = no_rename_grp,
    .inq_user_type = inq_user_type,
    .inq_typeid = inq_typeid,
    .def_compound = no_def_compound,
    .insert_compound = no_insert_compound,
    .insert_array_compound = no_insert_array,
    .inq_compound_field = no_field,
    .inq_compound_fieldindex = no_field_index,
    .def_vlen = no_def_vlen,
    .put_vlen_element = no_put_vlen,
    .get_vlen_element = no_get_vlen,
    .def_enum = no_def_enum,
    .insert_enum = no_insert_enum,
    .inq_enum_member = no_enum_member,
    .inq_enum_ident = no_enum_ident,
    .def_opaque = no_def_opaque,
    .def_var_deflate = no_def_var_deflate,
    .def_var_fletcher32 = no_def_var_fletcher32,
    .def_var_chunking = no_def_var_chunking,
    .def_var_endian = no_def_var_endian,
    .def_var_filter = no_def_var_filter,
    .set_var_chunk_cache = set_var_chunk_cache,
    .get_var_chunk_cache = get_var_chunk_cache,
    .inq_var_filter_ids = inq_var_filter_ids,
    .inq_var_filter_info = inq_var_filter_info,
    .def_var_quantize = no_def_var_quantize,
    .inq_var_quantize = inq_var_quantize,
    .inq_filter_avail = inq_filter_avail,
};

NC_Dispatch *nczchunk_netcdf_dispatch(void)
{
    return &table;
}
