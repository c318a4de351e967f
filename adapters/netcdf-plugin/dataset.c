/* What is in a dataset: listed once when it is opened. Arrays are opened when they are first asked for. */
#include "dataset.h"

#include "settings.h"
#include "url.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The attribute of a group that says which arrays netCDF cannot have, and why. A dataset's own of this name is not
 * shown. */
static const char left_out[] = "_nczchunk_left_out";

typedef struct Block {
    struct Block *next;
    max_align_t memory[];
} Block;

void *nczc_keep(Dataset *dataset, size_t count, size_t size)
{
    Block *block;

    if (size && count > ((size_t)PTRDIFF_MAX - sizeof *block) / size) return NULL;
    block = calloc(1, sizeof *block + count * size);
    if (!block) return NULL;
    block->next = dataset->blocks;
    dataset->blocks = block;
    return block->memory;
}

static char *keep_text(Dataset *dataset, const char *text, size_t len)
{
    char *kept = nczc_keep(dataset, len + 1, 1);

    if (kept && len) memcpy(kept, text, len);
    return kept;
}

static void *keep_copy(Dataset *dataset, const void *values, size_t count, size_t size)
{
    void *kept = nczc_keep(dataset, count, size);

    if (kept && count) memcpy(kept, values, count * size);
    return kept;
}

/* Makes room for one more in a list, whose length doubles: NULL if there is no memory. */
static void *grown(void *list, size_t count, size_t size)
{
    if (count & (count - 1)) return list;
    if (count > SIZE_MAX / 2 / size) return NULL;
    return realloc(list, (count ? 2 * count : 1) * size);
}

/* --- Attributes */

static int keep_attribute(Dataset *dataset, Attribute *kept, const nczchunk_attribute *told)
{
    kept->name = keep_text(dataset, told->name, strlen(told->name));
    kept->type = (nc_type)told->type;
    kept->len = told->num_values;
    if (kept->type == NC_STRING) {
        const char *const *texts = told->values;
        char **copies = nczc_keep(dataset, kept->len, sizeof *copies);

        for (size_t i = 0; copies && i < kept->len; i++)
            if (!(copies[i] = keep_text(dataset, texts[i], strlen(texts[i])))) return NC_ENOMEM;
        kept->values = copies;
    } else if (kept->type == NC_CHAR) {
        kept->values = keep_text(dataset, told->values, kept->len);
    } else {
        kept->values = keep_copy(dataset, told->values, kept->len, nczc_type_size(kept->type));
    }
    return kept->name && kept->values ? NC_NOERR : NC_ENOMEM;
}

/* Keeps a node's attributes, with room for one more. */
static int keep_attributes(Dataset *dataset, Attributes *kept, const nczchunk_node *node)
{
    kept->count = 0;
    kept->list = nczc_keep(dataset, node->num_attributes + 1, sizeof *kept->list);
    if (!kept->list) return NC_ENOMEM;
    for (size_t i = 0; i < node->num_attributes; i++) {
        nczchunk_attribute told = NCZCHUNK_ATTRIBUTE_INIT;
        int status = nczchunk_node_attribute_at(node, i, &told, NULL);

        if (!status && node->is_group && strcmp(told.name, left_out) == 0) continue;
        if (!status && nczc_type_size((nc_type)told.type)) {
            status = keep_attribute(dataset, &kept->list[kept->count], &told);
            kept->count++;
        }
        if (status) return status;
    }
    return NC_NOERR;
}

Attribute *nczc_att(const Attributes *atts, const char *name)
{
    for (size_t i = 0; i < atts->count; i++)
        if (strcmp(atts->list[i].name, name) == 0) return &atts->list[i];
    return NULL;
}

/* Adds an attribute at the end of a list, which has room for it. */
static Attribute *add_attribute(Attributes *atts, const char *name, nc_type type, size_t len, void *values)
{
    Attribute *added = &atts->list[atts->count++];

    added->name = name;
    added->type = type;
    added->len = len;
    added->values = values;
    return added;
}

/* One line more about an array that netCDF cannot have. */
static int leave_out(Dataset *dataset, Group *group, const char *name, const char *reason)
{
    Attribute *said = nczc_att(&group->atts, left_out);
    const size_t old = said ? said->len + 1 : 0, size = old + strlen(name) + strlen(reason) + 3;
    char *text = nczc_keep(dataset, size, 1);

    if (!text) return NC_ENOMEM;
    snprintf(text, size, "%s%s%s: %s", said ? (const char *)said->values : "", said ? "\n" : "", name, reason);
    if (!said) said = add_attribute(&group->atts, left_out, NC_CHAR, 0, NULL);
    said->len = strlen(text);
    said->values = text;
    return NC_NOERR;
}

/* A line about attributes that cannot be read, if there are any, of what is in a group. */
static int leave_out_attributes(Dataset *dataset, Group *group, const char *name, const nczchunk_node *node)
{
    static const char of[] = "the attributes of ";
    char *text;

    if (!node->attributes_status) return NC_NOERR;
    text = nczc_keep(dataset, sizeof of + strlen(name), 1);
    if (!text) return NC_ENOMEM;
    strcat(strcpy(text, of), name);
    return leave_out(dataset, group, text, node->attributes_message);
}

/* --- Groups and variables */

static int find_group(Dataset *dataset, const char *path, size_t len, int *group);

static int add_group(Dataset *dataset, const char *path, size_t len, int *group)
{
    Group *groups = grown(dataset->groups, dataset->ngroups, sizeof *groups), *added;
    size_t name = len;
    int parent = -1, status;

    if (!groups) return NC_ENOMEM;
    dataset->groups = groups;
    while (name && path[name - 1] != '/') name--;
    if (len) {
        status = find_group(dataset, path, name ? name - 1 : 0, &parent);
        if (status) return status;
        /* Groups above may have been added, and the list moved. */
        groups = grown(dataset->groups, dataset->ngroups, sizeof *groups);
        if (!groups) return NC_ENOMEM;
        dataset->groups = groups;
    }
    /* The lower half of an ncid counts groups. */
    if (dataset->ngroups > 0xffff) return NC_EMAXDIMS;
    added = &dataset->groups[dataset->ngroups];
    memset(added, 0, sizeof *added);
    added->path = keep_text(dataset, path, len);
    added->name = added->path ? added->path + name : NULL;
    added->atts.list = nczc_keep(dataset, 1, sizeof *added->atts.list);
    added->parent = parent;
    *group = (int)dataset->ngroups++;
    return added->path && added->atts.list ? NC_NOERR : NC_ENOMEM;
}

/* Finds a group, or adds it. The last ones come first: those of what is listed next. */
static int find_group(Dataset *dataset, const char *path, size_t len, int *group)
{
    for (size_t g = dataset->ngroups; g-- > 0;) {
        const char *known = dataset->groups[g].path;

        if (strncmp(known, path, len) == 0 && known[len] == '\0') {
            *group = (int)g;
            return NC_NOERR;
        }
    }
    return add_group(dataset, path, len, group);
}

/* netCDF's type for an array's; 0 if there is none. */
static nc_type type_of(const nczchunk_node *node, Kind *kind)
{
    *kind = AS_IT_IS;
    if (node->type == NC_STRING) {
        *kind = strcmp(node->type_name, "string") == 0 ? STRINGS : FIXED_STRINGS;
        return NC_STRING;
    }
    if (nczc_type_size((nc_type)node->type)) return (nc_type)node->type;
    if (strcmp(node->type_name, "bool") == 0) return NC_UBYTE;
    if (strcmp(node->type_name, "float16") == 0) {
        *kind = HALF;
        return NC_FLOAT;
    }
    if (strncmp(node->type_name, "datetime64", 10) == 0 || strncmp(node->type_name, "timedelta64", 11) == 0)
        return NC_INT64;
    return 0;
}

/* Eight bytes in base64, as xarray writes the fill values of Zarr v3. */
static int from_base64(const char *text, size_t len, double *value)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t bits = 0;

    if (len != 12 || text[11] != '=') return 0;
    for (int i = 0; i < 11; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        const uint64_t six = digit ? (uint64_t)(digit - digits) : 64;

        if (six == 64) return 0;
        for (int bit = 0; bit < 6; bit++) {
            const int at = i * 6 + bit; /* from the first bit of the first byte on */
            if (at < 64 && (six >> (5 - bit) & 1)) bits |= (uint64_t)1 << (at / 8 * 8 + 7 - at % 8);
        }
    }
    memcpy(value, &bits, sizeof bits);
    return 1;
}

/* Whether a number is the same in another type. Rounding does not count where the type has fractions. */
static int converts(const Attribute *number, void *value, nc_type type)
{
    double before, after;

    if (number->len != 1 || nczc_convert(number->values, number->type, value, type, 1)) return 0;
    if (type == NC_FLOAT || type == NC_DOUBLE) return 1;
    (void)nczc_convert(number->values, number->type, &before, NC_DOUBLE, 1);
    (void)nczc_convert(value, type, &after, NC_DOUBLE, 1);
    return before == after;
}

/* An attribute _FillValue is of its variable's type, or netCDF's programs do not take it. What that type does not have,
 * such as NaN among integers, stays as it is. */
static int adjust_fill_attribute(Dataset *dataset, Var *var, Attribute *fill)
{
    void *value = nczc_keep(dataset, 1, sizeof(double));
    double number;

    if (!value) return NC_ENOMEM;
    if (fill->type == NC_CHAR && var->type == NC_STRING) {
        ((char **)value)[0] = fill->values;
        fill->type = NC_STRING;
        fill->len = 1;
        fill->values = value;
    } else if (fill->type == NC_CHAR && (var->type == NC_FLOAT || var->type == NC_DOUBLE) &&
               from_base64(fill->values, fill->len, &number)) {
        (void)nczc_convert(&number, NC_DOUBLE, value, var->type, 1);
        fill->type = var->type;
        fill->len = 1;
        fill->values = value;
    } else if (fill->type != var->type && converts(fill, value, var->type)) {
        fill->type = var->type;
        fill->values = value;
    }
    return NC_NOERR;
}

static int add_var(Dataset *dataset, const nczchunk_node *node)
{
    const char *path = node->name, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    Var *vars, *var;
    Group *group;
    const char **dimnames;
    Kind kind;
    const nc_type type = type_of(node, &kind);
    Attribute *fill;
    int *members, number, status = find_group(dataset, path, slash ? (size_t)(slash - path) : 0, &number);

    if (status) return status;
    group = &dataset->groups[number];
    if (*path == '\0') name = dataset->name;
    if (node->status) return leave_out(dataset, group, name, node->message);
    if (!type) return leave_out(dataset, group, name, node->type_name);
    vars = grown(dataset->vars, dataset->nvars, sizeof *vars);
    if (!vars) return NC_ENOMEM;
    dataset->vars = vars;
    members = grown(group->vars, group->nvars, sizeof *members);
    if (!members) return NC_ENOMEM;
    group->vars = members;

    var = &vars[dataset->nvars];
    memset(var, 0, sizeof *var);
    var->group = number;
    var->type = type;
    var->kind = kind;
    var->rank = node->rank;
    var->stored_type = (int)node->type;
    var->type_name = keep_text(dataset, node->type_name, strlen(node->type_name));
    var->path = keep_text(dataset, path, strlen(path));
    var->name = keep_text(dataset, name, strlen(name));
    var->shape = keep_copy(dataset, node->shape, node->rank, sizeof *node->shape);
    var->chunks = keep_copy(dataset, node->chunk_shape, node->rank, sizeof *node->chunk_shape);
    var->unlimited = keep_copy(dataset, node->is_unlimited, node->rank, sizeof *node->is_unlimited);
    var->dimids = nczc_keep(dataset, node->rank, sizeof *var->dimids);
    var->dimnames = dimnames = nczc_keep(dataset, node->rank, sizeof *dimnames);
    if (!var->type_name || !var->path || !var->name || !var->shape || !var->chunks || !var->unlimited ||
        !var->dimids || !dimnames)
        return NC_ENOMEM;
    for (size_t d = 0; d < node->rank; d++) {
        dimnames[d] = keep_text(dataset, node->dimension_names[d], strlen(node->dimension_names[d]));
        if (!dimnames[d]) return NC_ENOMEM;
    }
    var->is_zarr_v2 = strcmp(node->format, "Zarr v2") == 0;
    var->is_hdf5 = strcmp(node->format, "HDF5") == 0;
    var->is_contiguous = node->rank == 0 || strcmp(node->format, "netCDF classic") == 0;
    status = keep_attributes(dataset, &var->atts, node);
    fill = status ? NULL : nczc_att(&var->atts, FILL_VALUE);
    if (fill) status = adjust_fill_attribute(dataset, var, fill);
    if (!status) status = leave_out_attributes(dataset, group, name, node);
    if (status) return status;
    group->vars[group->nvars++] = (int)dataset->nvars++;
    return NC_NOERR;
}

static int found(void *user, const nczchunk_node *node)
{
    Dataset *dataset = user;
    int group = 0, status;

    if (!node->is_group) return dataset->status = add_var(dataset, node);
    status = find_group(dataset, node->name, strlen(node->name), &group);
    if (!status && node->status) status = leave_out(dataset, &dataset->groups[group], "the group", node->message);
    else if (!status) status = keep_attributes(dataset, &dataset->groups[group].atts, node);
    if (!status) status = leave_out_attributes(dataset, &dataset->groups[group], "the group", node);
    if (!status)
        dataset->groups[group].defines_dims = strcmp(node->format, "netCDF classic") == 0 ||
                                              strcmp(node->format, "HDF5") == 0 || strcmp(node->format, "NCZarr") == 0;
    return dataset->status = status;
}

/* --- Dimensions */

static int add_dim(Dataset *dataset, const char *name, size_t len, int unlimited, int group, int *dimid)
{
    Dim *dims = grown(dataset->dims, dataset->ndims, sizeof *dims);

    if (!dims || !name) return NC_ENOMEM;
    if (dataset->ndims >= INT_MAX) return NC_EMAXDIMS;
    dataset->dims = dims;
    *dimid = (int)dataset->ndims++;
    dims[*dimid] = (Dim){name, len, unlimited, group, 0};
    return NC_NOERR;
}

/* Whether a dimension is that of a variable: an unlimited one is as long as it is anywhere, also where NCZarr's group
 * says less. */
static int is_same(Dim *dim, size_t len, int unlimited)
{
    if (dim->unlimited != unlimited) return 0;
    if (unlimited && len > dim->len) dim->len = len;
    return unlimited || dim->len == len;
}

static Dim *dim_in(Dataset *dataset, int group, const char *name)
{
    for (size_t i = 0; i < dataset->ndims; i++)
        if (dataset->dims[i].group == group && strcmp(dataset->dims[i].name, name) == 0) return &dataset->dims[i];
    return NULL;
}

/*
 * Dimensions with a name are shared in a group and those below it, as far as they have the same length. A name that
 * stands for a second length in one group is followed by the length.
 */
static int named_dim(Dataset *dataset, int group, const char *name, size_t len, int unlimited, int *dimid)
{
    Dim *dim;
    char *longer;
    const size_t size = strlen(name) + 48;

    for (int g = group; g >= 0; g = dataset->groups[g].parent) {
        dim = dim_in(dataset, g, name);
        if (dim && is_same(dim, len, unlimited)) {
            *dimid = (int)(dim - dataset->dims);
            return NC_NOERR;
        }
    }
    if (!dim_in(dataset, group, name)) return add_dim(dataset, name, len, unlimited, group, dimid);
    longer = nczc_keep(dataset, size, 1);
    if (!longer) return NC_ENOMEM;
    snprintf(longer, size, "%s_%zu%s", name, len, unlimited ? "_unlimited" : "");
    return named_dim(dataset, group, longer, len, unlimited, dimid);
}

/* Dimensions without a name are shared in a group by variables, not by the dimensions of one variable. */
static int phony_dim(Dataset *dataset, const Var *var, size_t d)
{
    char *name;
    int status;

    for (size_t i = 0; i < dataset->ndims; i++) {
        const Dim *dim = &dataset->dims[i];
        int is_taken = 0;

        for (size_t before = 0; before < d; before++) is_taken |= var->dimids[before] == (int)i;
        if (dim->is_phony && dim->group == var->group && dim->len == var->shape[d] &&
            dim->unlimited == (int)var->unlimited[d] && !is_taken) {
            var->dimids[d] = (int)i;
            return NC_NOERR;
        }
    }
    name = nczc_keep(dataset, 48, 1);
    if (!name) return NC_ENOMEM;
    do snprintf(name, 48, "phony_dim_%zu", dataset->nphony++);
    while (dim_in(dataset, var->group, name));
    status = add_dim(dataset, name, var->shape[d], (int)var->unlimited[d], var->group, &var->dimids[d]);
    if (!status) dataset->dims[var->dimids[d]].is_phony = 1;
    return status;
}

typedef struct Defining {
    Dataset *dataset;
    int group;
} Defining;

static int defined(void *user, const nczchunk_dimension *dim)
{
    const Defining *in = user;
    int dimid;

    if (dim_in(in->dataset, in->group, dim->name)) return NC_NOERR;
    return add_dim(in->dataset, keep_text(in->dataset, dim->name, strlen(dim->name)), dim->len,
                   (int)dim->is_unlimited, in->group, &dimid);
}

/* The dimensions that groups define, whether a variable has them or not. */
static int find_defined_dims(Dataset *dataset)
{
    for (size_t g = 0; g < dataset->ngroups; g++) {
        const Group *group = &dataset->groups[g];
        Defining in = {dataset, (int)g};

        if (group->defines_dims) {
            const int status =
                nczchunk_group_dimensions(dataset->storage, group->path, defined, &in, dataset->context);
            if (status == NC_ENOMEM || status == NC_EMAXDIMS) return status;
        }
    }
    return NC_NOERR;
}

/* The dimensions of all variables: those of a group before those of the groups in it. */
static int find_dims(Dataset *dataset, int is_named)
{
    int status = NC_NOERR;

    for (size_t g = 0; g < dataset->ngroups; g++) {
        const Group *group = &dataset->groups[g];

        for (size_t v = 0; v < group->nvars; v++) {
            Var *var = &dataset->vars[group->vars[v]];

            for (size_t d = 0; d < var->rank && !status; d++) {
                if ((*var->dimnames[d] != '\0') != is_named) continue;
                status = !is_named ? phony_dim(dataset, var, d)
                                   : named_dim(dataset, var->group, var->dimnames[d], var->shape[d],
                                               (int)var->unlimited[d], &var->dimids[d]);
            }
        }
    }
    return status;
}

/* --- The array of a variable, and its fill value */

int nczc_from_stored(const Var *var, const void *stored, void *value)
{
    size_t size = nczchunk_var_element_size(nczchunk_array_var(var->array));
    const char *text = NULL;
    char *copy;

    switch (var->kind) {
    case AS_IT_IS:
        memcpy(value, stored, nczc_type_size(var->type));
        return NC_NOERR;
    case HALF:
        nczc_from_half(stored, value, 1);
        return NC_NOERR;
    case STRINGS:
        if (stored) memcpy(&text, stored, sizeof text);
        size = text ? strlen(text) : 0;
        break;
    default:
        text = stored;
        size = text ? strnlen(text, size) : 0;
    }
    copy = malloc(size + 1);
    if (!copy) return NC_ENOMEM;
    if (size) memcpy(copy, text, size);
    copy[size] = '\0';
    memcpy(value, &copy, sizeof copy);
    return NC_NOERR;
}

int nczc_fill_value(Dataset *dataset, Var *var, void *value)
{
    const void *stored;
    const int status = nczc_array(dataset, var);
    const Attribute *fill = nczc_att(&var->atts, FILL_VALUE);

    if (fill && fill->type == var->type && fill->len == 1) {
        if (var->type != NC_STRING) {
            memcpy(value, fill->values, nczc_type_size(var->type));
            return NC_NOERR;
        }
        *(char **)value = strdup(*(char **)fill->values);
        return *(char **)value ? NC_NOERR : NC_ENOMEM;
    }
    if (status) return status;
    stored = nczchunk_var_fill_value(nczchunk_array_var(var->array));
    if (stored || var->type == NC_STRING) return nczc_from_stored(var, stored, value);
    memset(value, 0, nczc_type_size(var->type));
    return NC_NOERR;
}

int nczc_has_no_fill(Dataset *dataset, Var *var, int *has_no_fill)
{
    const int status = var->is_hdf5 ? nczc_array(dataset, var) : NC_NOERR;

    *has_no_fill = var->is_hdf5 && !status && !nczchunk_var_fill_value(nczchunk_array_var(var->array));
    return status;
}

/* Whether what is opened is what was listed: its metadata may have been replaced since. It may have grown. */
static int is_as_listed(const Var *var)
{
    const nczchunk_var *opened = nczchunk_array_var(var->array);

    if (nczchunk_array_type(var->array) != var->stored_type) return 0;
    if (strcmp(nczchunk_array_type_name(var->array), var->type_name) != 0) return 0;
    if (nczchunk_var_rank(opened) != var->rank) return 0;
    for (size_t d = 0; d < var->rank; d++)
        if (nczchunk_var_dimlen(opened, d) < var->shape[d]) return 0;
    return 1;
}

/* Zarr v2 has the fill value beside the attributes, NCZarr among them as netCDF has it: there it is the first. */
static int add_fill_attribute(Dataset *dataset, Var *var)
{
    void *value = nczc_keep(dataset, 1, sizeof(double));
    Attributes *atts = &var->atts;
    int status = value ? nczc_fill_value(dataset, var, value) : NC_ENOMEM;

    if (!status && var->type == NC_STRING) {
        char *text = *(char **)value;
        *(char **)value = keep_text(dataset, text, strlen(text));
        free(text);
        if (!*(char **)value) status = NC_ENOMEM;
    }
    if (status) return status;
    memmove(atts->list + 1, atts->list, atts->count * sizeof *atts->list);
    atts->list[0] = (Attribute){FILL_VALUE, var->type, 1, value};
    atts->count++;
    return NC_NOERR;
}

/* Whether a failure is one of the file system, the server or the memory: it may be over the next time. */
static int may_pass(int status)
{
    return status > 0 || status == NCZCHUNK_EIO || status == NCZCHUNK_ENOTFOUND || status == NCZCHUNK_ENOMEM;
}

int nczc_array(Dataset *dataset, Var *var)
{
    int status;

    if (var->array || var->status) return var->status;
    status = nczchunk_array_open_in(dataset->storage, var->path, NCZCHUNK_READ, &var->array, dataset->context);
    if (status) {
        if (!may_pass(status)) var->status = status;
        return status;
    }
    if (!is_as_listed(var)) {
        status = var->status = NC_EIO;
    } else if (var->is_zarr_v2 && !nczc_att(&var->atts, FILL_VALUE) &&
               nczchunk_var_fill_value(nczchunk_array_var(var->array))) {
        status = add_fill_attribute(dataset, var);
    }
    if (status) {
        nczchunk_array_close(var->array);
        var->array = NULL;
    }
    return status;
}

/* --- Opening and closing */

/* The names of Zarr's metadata files, by which a directory is opened. */
static int is_metadata(const char *name, size_t len)
{
    static const char *const names[] = {"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && memcmp(name, names[i], len) == 0) return 1;
    return 0;
}

/* The path that is opened, and what its only variable is called if it is an array: the path's last name without what
 * follows the last dot. */
static int normalise(Dataset *dataset, const char *path, char **opened)
{
    size_t len, name, end;
    char *url = nczc_url_in(path);

    if (url) {
        path = dataset->url = keep_text(dataset, url, strlen(url));
        free(url);
        if (!path) return NC_ENOMEM;
        if (!nczc_takes_urls()) return NC_EACCESS;
    }
    /* netCDF-C gives a file that is opened by its URL as the URL, with what it says of the mode behind it. */
    if (strncmp(path, "file://", 7) == 0) path += 7;
    len = strstr(path, "#mode=") ? (size_t)(strstr(path, "#mode=") - path) : strlen(path);
    for (name = len; name && path[name - 1] != '/';) name--;
    if (is_metadata(path + name, len - name)) len = name;
    if (len == 0) {
        path = ".";
        len = 1;
    }
    while (len > 1 && path[len - 1] == '/') len--;
    for (name = len; name && path[name - 1] != '/';) name--;
    for (end = len; end > name + 1 && path[end - 1] != '.';) end--;
    end = end > name + 1 ? end - 1 : len;
    /* What a URL says of its mode is a part of it. */
    *opened = keep_text(dataset, path, url ? strlen(path) : len);
    dataset->name = keep_text(dataset, path + name, end - name);
    if (!*opened || !dataset->name) return NC_ENOMEM;
    if (*dataset->name == '\0' || strcmp(dataset->name, ".") == 0) dataset->name = "array";
    return NC_NOERR;
}

int nczc_dataset_open(const char *path, int mode, size_t threads, Dataset **opened)
{
    Dataset *dataset = calloc(1, sizeof *dataset);
    char *place;
    int root, status;

    if (!dataset) return NC_ENOMEM;
    dataset->mode = mode;
    status = normalise(dataset, path, &place);
    if (!status) status = nczchunk_context_new(&dataset->context);
    if (!status) status = nczchunk_context_set_threads(dataset->context, threads);
    if (!status) status = nczchunk_storage_open(place, &dataset->storage, dataset->context);
    if (!status && dataset->url) status = nczchunk_storage_keep_metadata(dataset->storage, dataset->context);
    if (!status) status = add_group(dataset, "", 0, &root);
    if (!status) status = nczchunk_list_in(dataset->storage, NULL, 1, found, dataset, dataset->context);
    if (dataset->status) status = dataset->status;
    if (!status) status = find_defined_dims(dataset);
    if (!status) status = find_dims(dataset, 1);
    if (!status) status = find_dims(dataset, 0);
    if (status) {
        nczc_dataset_close(dataset);
        return status;
    }
    *opened = dataset;
    return NC_NOERR;
}

void nczc_dataset_close(Dataset *dataset)
{
    Block *block, *next;

    for (size_t v = 0; v < dataset->nvars; v++) nczchunk_array_close(dataset->vars[v].array);
    for (size_t g = 0; g < dataset->ngroups; g++) free(dataset->groups[g].vars);
    nczchunk_storage_free(dataset->storage);
    nczchunk_context_free(dataset->context);
    for (block = dataset->blocks; block; block = next) {
        next = block->next;
        free(block);
    }
    free(dataset->groups);
    free(dataset->vars);
    free(dataset->dims);
    free(dataset);
}
