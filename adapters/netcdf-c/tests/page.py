"""Writes the programs of docs/netcdf-maintainers.md into a directory, and prints their names.

page.py PAGE DIRECTORY
"""

import pathlib
import re
import sys

FRAME = """#include "check.h"
#include <unistd.h>
int main(int argc, char **argv)
{
    const char *url = url_of(argv[argc - 1], "file");
    int ncid;
%s
    return 0;
}
"""

page, directory = map(pathlib.Path, sys.argv[1:])
for name, body in re.findall(r"^### (\w+):[^\n]*\n\n```c\n(.*?)```", page.read_text(), re.DOTALL | re.MULTILINE):
    (directory / f"page-{name}.c").write_text(FRAME % body)
    print(name)
