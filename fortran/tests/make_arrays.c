/*
 * Makes the arrays that the test of the module writes: one of each type that it takes, below a directory. fastest is
 * the length of the fastest dimension, which is 3 for strings.
 */
#include <nczchunk_array.h>

int make_array(const char *path, const char *name, const char *type_name, size_t fastest)
{
    const size_t shape[2] = {4, fastest}, chunks[2] = {3, 2};
    nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
    nczchunk_array *array = NULL;
    int status;

    description.type_name = type_name;
    description.rank = 2;
    description.shape = shape;
    description.chunk_shape = chunks;
    status = nczchunk_array_create(path, name, &description, &array, NULL);
    if (!status && description.type_name[0] == 's') {
        /* Strings that the module only reads. */
        const char *texts[4][3] = {{"a", "", "ccc"}, {"d", "e", "f"}, {"g", "h", "i"}, {"j", "k", "last"}};
        const size_t start[2] = {0, 0};

        status = nczchunk_array_write(array, start, NULL, NULL, texts, NULL);
    }
    nczchunk_array_close(array);
    return status;
}
