"""A record of what is read, for `nczchunk advise --trace`: in the file that the environment names, if it does."""

import os

FILE = os.environ.get("NCZCHUNK_TRACE")


def add(path, name, slabs):
    """Adds a line for each hyperslab of an array, which is a pair of counts and strides. All of them are one write, so
    that processes do not mix their lines."""
    where = os.fsdecode(path) if isinstance(path, (str, bytes, os.PathLike)) else str(path)
    where = where if "://" in where else os.path.abspath(where)
    lines = ("\t".join([where, name, *(",".join(map(str, numbers)) for numbers in slab)]) + "\n" for slab in slabs)
    with open(FILE, "a", encoding="utf-8", errors="surrogateescape") as file:
        file.write("".join(lines))
