"""References to chunks, as kerchunk writes them."""

from __future__ import annotations

import os
from os import PathLike

from . import _c, limits
from ._c import c
from .storage import Concatenation, WithExternalLinks


def write_references(path: str | PathLike[str] | Concatenation | WithExternalLinks, output: str | PathLike[str],
                     name: str = "", *, url: str | None = None) -> None:
    """Writes a JSON file of references to all chunks of an array, or of the arrays in a group and below it; by default
    of all that is at a path. fsspec, Zarr and xarray read the arrays by it from where they are:

    >>> nczchunk.write_references("model.nc", "model.json")
    >>> xarray.open_dataset("model.json", engine="kerchunk")      # doctest: +SKIP

    url: what the path is called in the references; the absolute path without it. What concat() returns names its paths
    itself.

    What Zarr v2 or numcodecs does not have is refused by name, and then nothing is written."""
    named = path.path if isinstance(path, WithExternalLinks) else path
    if isinstance(named, Concatenation):
        url = ""
    elif url is None:
        url = os.fspath(named)
        if "://" not in url:
            url = os.path.realpath(url)
    directory, file = os.path.split(os.path.abspath(output))
    given = _c.text("name", name), _c.text("url", url)

    def write(storage):
        limits.within(None, c.storage_create, directory,
                      lambda to: _c.call(c.storage_write_references, storage, *given, to, _c.text("output", file)))

    limits.within(None, c.storage_open, path, write)
