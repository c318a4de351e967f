/* An open dataset as netCDF sees it: groups with dimensions, variables and attributes. Internal to the plugin. */
#ifndef NCZCHUNK_NETCDF_DATASET_H
#define NCZCHUNK_NETCDF_DATASET_H

#include <stddef.h>

#include <netcdf.h>
#include <nczchunk.h>
#include <nczchunk_array.h>

/* The attribute, which netcdf.h calls _FillValue before 4.10 and NC_FillValue from then on. */
#define FILL_VALUE "_FillValue"

/* Values are of their type in memory; those of NC_STRING are char *. */
typedef struct Attribute {
    const char *name;
    nc_type type;
    size_t len;
    void *values;
} Attribute;

typedef struct Attributes {
    Attribute *list;
    size_t count;
} Attributes;

typedef struct Dim {
    const char *name;
    size_t len;
    int unlimited, group, is_phony;
} Dim;

/* How elements are stored, where that is not as netCDF has them in memory. */
typedef enum Kind { AS_IT_IS, STRINGS, FIXED_STRINGS, HALF } Kind;

typedef struct Var {
    const char *name, *path; /* its own name, and its path in the storage */
    const char *const *dimnames;
    int group;
    nc_type type;
    Kind kind;
    int stored_type; /* the array's own type: its number, and its name */
    const char *type_name;
    size_t rank;
    size_t *shape, *chunks, *unlimited; /* of the stored array, whose unlimited dimensions may be longer elsewhere */
    int *dimids;
    int is_zarr_v2, is_hdf5, is_contiguous;
    Attributes atts;
    /* What is opened when it is first asked for, or why its metadata are refused. */
    nczchunk_array *array;
    int status;
    size_t cache_size; /* as nc_set_var_chunk_cache has set it */
    int has_cache_size;
} Var;

typedef struct Group {
    const char *name, *path;
    int parent; /* -1 for the root */
    Attributes atts;
    int *vars;
    size_t nvars;
    int defines_dims; /* whether its format has dimensions beside those of variables */
} Group;

typedef struct Dataset {
    nczchunk_storage *storage;
    nczchunk_context *context;
    const char *name; /* of the variable, if the path is an array */
    const char *url;  /* where it is, if it is not at a path */
    Group *groups;
    Var *vars;
    Dim *dims;
    size_t ngroups, nvars, ndims, nphony;
    int mode, status;
    void *blocks; /* all memory that lives as long as the dataset */
} Dataset;

/* Memory that is zeroed and lives as long as the dataset; NULL if there is none. */
void *nczc_keep(Dataset *, size_t count, size_t size);

/* Opens a path, which may be a metadata file in a Zarr directory or a file that names a URL, and reads its metadata. */
int nczc_dataset_open(const char *path, int mode, size_t threads, Dataset **);
void nczc_dataset_close(Dataset *);

/* The URL of an open file; NULL if it is at a path, or not the plugin's. */
const char *nczc_url_of(int ncid);

/* Opens the array of a variable, unless it is open. A failure is kept as the variable's status if it is one of the
 * metadata; what a file system or a server failed in is tried again the next time. */
int nczc_array(Dataset *, Var *);

/* Finds the attribute of this name; NULL if there is none. */
Attribute *nczc_att(const Attributes *, const char *name);

/* The bytes of a value of a netCDF type in memory; 0 for types that netCDF does not have built in. */
size_t nczc_type_size(nc_type);

/* netCDF's fill value for a type of numbers; NULL for others. */
const void *nczc_default_fill(nc_type);

/* Converts numbers as netCDF does: src and dest may be the same memory, or overlap if dest is not behind src. NC_ERANGE
 * if a number does not fit, NC_ECHAR and NC_EBADTYPE for types that are not converted. */
int nczc_convert(const void *src, nc_type src_type, void *dest, nc_type dest_type, size_t len);

/* Reads as nc_get_varm does. stride and imap may be NULL. */
int nczc_read(Dataset *, Var *, const size_t *start, const size_t *count, const ptrdiff_t *stride,
              const ptrdiff_t *imap, void *values, nc_type type);

/* The fill value of a variable: one value of its type, of which strings are new. */
int nczc_fill_value(Dataset *, Var *, void *value);

/* Whether a variable is one of HDF5 without a fill value, as it is with NC_NOFILL. */
int nczc_has_no_fill(Dataset *, Var *, int *has_no_fill);

/* One value as it is stored, as netCDF has it in memory: a string is new. NULL stands for an empty one. */
int nczc_from_stored(const Var *, const void *stored, void *value);

/* Numbers of two bytes (float16) as numbers of four, from one memory to another that does not overlap. */
void nczc_from_half(const void *src, float *dest, size_t len);

#endif /* NCZCHUNK_NETCDF_DATASET_H */
