/* What ncdump and nccopy of netCDF-C 4.9.0 to 4.9.3 expect in libnetcdf, and 4.10.1's has under other names. Built
 * under the name of the older library, with the newer one behind it. */
#include <netcdf.h>
#include <string.h>

extern int NC__testurl(const char *path, char **basename, int *is_file);

/* Weak, because newer C libraries have it. */
__attribute__((weak)) size_t strlcat(char *to, const char *from, size_t size)
{
    const size_t length = strnlen(to, size), more = strlen(from);

    if (length < size) {
        const size_t fits = length + more < size ? more : size - length - 1;

        memcpy(to + length, from, fits);
        to[length + fits] = '\0';
    }
    return length + more;
}

int nc__testurl(const char *path, char **basename)
{
    return NC__testurl(path, basename, NULL);
}

int ncsetlogging(int on)
{
    return on;
}
