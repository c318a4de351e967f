/* URLs, and the files that name them. */
#include "url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[] = "NCZCHUNK ";

/* A longer line is no URL. */
#define MOST 8192

int nczc_is_url(const char *path)
{
    static const char *const schemes[] = {"s3://", "gs://", "az://", "http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(path, schemes[i], strlen(schemes[i])) == 0) return 1;
    return 0;
}

/* Takes the word nczchunk out of what a URL says of its mode. */
static void take_word(char *url)
{
    static const char *const forms[] = {",nczchunk", "nczchunk,", "#mode=nczchunk"};
    char *mode = strstr(url, "#mode="), *found = NULL;

    for (size_t i = 0; mode && !found && i < sizeof forms / sizeof *forms; i++) {
        const size_t len = strlen(forms[i]);

        found = strstr(mode, forms[i]);
        if (found) memmove(found, found + len, strlen(found + len) + 1);
    }
}

char *nczc_url_in(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *line = file ? calloc(MOST, 1) : NULL;
    const size_t begin = strlen(magic);

    if (line && (!fgets(line, MOST, file) || strncmp(line, magic, begin) != 0)) {
        free(line);
        line = NULL;
    }
    if (file) fclose(file);
    if (!line) return NULL;
    memmove(line, line + begin, strlen(line + begin) + 1);
    line[strcspn(line, " \r\n")] = '\0';
    if (!nczc_is_url(line)) {
        free(line);
        return NULL;
    }
    take_word(line);
    return line;
}

char *nczc_file_for(const char *url)
{
    const char *directory = getenv("TMPDIR");
    char *path = NULL;
    FILE *file;
    int fd, is_written;

    if (strlen(url) > MOST - 64 || strpbrk(url, " \r\n")) return NULL;
    if (asprintf(&path, "%s/nczchunk-url-XXXXXX", directory && *directory ? directory : "/tmp") < 0) return NULL;
    fd = mkstemp(path);
    file = fd < 0 ? NULL : fdopen(fd, "w");
    is_written = file && fprintf(file, "%s%s\n", magic, url) > 0;
    if (file) is_written &= fclose(file) == 0;
    else if (fd >= 0) close(fd);
    if (is_written) return path;
    if (fd >= 0) unlink(path);
    free(path);
    return NULL;
}
