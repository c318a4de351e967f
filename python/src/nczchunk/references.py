"""References to chunks, as kerchunk writes them."""

from __future__ import annotations

import os
from os import PathLike

from . import _c, limits
from ._c import c
from .storage import Concatenation, WithExternalLinks, is_url, local_path, shown


def write_references(path: str | PathLike[str] | Concatenation | WithExternalLinks, output: str | PathLike[str],
                     name: str = "", *, url: str | None = None) -> None:
    """Writes a JSON file of references to all chunks of an array, or of the arrays in a group and below it; by default
    of all that is at a path. fsspec, Zarr and xarray read the arrays by it from where they are:

    >>> nczchunk.write_references("model.nc", "model.json")
    >>> xarray.open_dataset("model.json", engine="kerchunk")      # doctest: +SKIP

    url: what the path is called in the references; the absolute path without it. What concat() returns names its paths
    itself.

    output: a file in a directory that exists, or the URL of an object in an object store.

    What Zarr v2 or numcodecs does not have is refused by name, and then nothing is written."""
    named = path.path if isinstance(path, WithExternalLinks) else path
    if isinstance(named, Concatenation):
        url = ""
    elif url is None:
        url = os.fspath(named)
        if "://" not in url:
            url = os.path.realpath(url)
    directory, file = _split(os.fspath(output))
    given = _c.text("name", name), _c.text("url", url)

    def write(storage):
        limits.within(None, c.storage_create, directory,
                      lambda to: _c.call(c.storage_write_references, storage, *given, to, _c.text("output", file)))

    limits.within(None, c.storage_open, path, write)


def _split(output: str) -> tuple[str, str]:
    """The directory that a file is to be in, or the URL of one, and the name of the file."""
    if is_url(output):
        url, mark, fragment = output.partition("#")
        directory, _, file = url.rpartition("/")
        if not file or directory.endswith(":/"):
            raise ValueError(f"output: the URL names no object in a bucket: {shown(output)}")
        return f"{directory}{mark}{fragment}", file
    directory, file = output.rsplit("/", 1) if "://" in output else os.path.split(os.path.abspath(output))
    # The library would create it.
    os.stat(os.fsdecode(local_path(directory)) or "/")
    return directory, file
