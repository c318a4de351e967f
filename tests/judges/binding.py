"""nczchunk as the judges use it: the tree's Python package, with the library that is judged. That is named by the
environment variable NCZCHUNK_LIBRARY, or else the first argument of the program."""

import os
import pathlib
import sys

import numpy as np

os.environ.setdefault("NCZCHUNK_LIBRARY", sys.argv[1])
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "src"))

import nczchunk  # noqa: E402
from nczchunk import NewZip  # noqa: E402, F401
from nczchunk import Error as Failed  # noqa: E402, F401

READ, WRITE = "r", "r+"
NCZARR, ZARR_V2, ZARR_V3 = "nczarr", "zarr2", "zarr3"
LITTLE, BIG = "little", "big"
CHAR, STRING = 2, 12
NUMBERS = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}


class Library:
    """Opens and creates arrays, which are read by so many threads as was set last."""

    def __init__(self, path):
        if not os.path.samefile(path, os.environ["NCZCHUNK_LIBRARY"]):
            raise SystemExit(f"{path} is not {os.environ['NCZCHUNK_LIBRARY']}, which is in use")
        self.threads, self.version = 1, nczchunk.__version__

    def set_threads(self, threads):
        self.threads = threads

    def open(self, path, name="", mode=READ):
        return Array(self, nczchunk.open(path, name, mode))

    def create(self, path, name, type_name, shape, chunks=None, shards=None, dims=None, fill_value=None, codecs=...,
               attributes=None, format=ZARR_V3, separator=None, endian=None):
        return Array(self, nczchunk.create(
            path, name, shape=shape, dtype=type_name, chunks=chunks, shards=shards, dims=dims, fill_value=fill_value,
            codecs=codecs, attrs=attributes, format=format, separator=separator, endian=endian))

    def list(self, path, group="", recursive=True):
        """What is in a group: (name, what): what is None for a group, else the type's name, shape and dimensions."""
        nodes = nczchunk.list_nodes(path, group, recursive=recursive)
        return [(node.name, None if node.is_group else (node.dtype or "", node.shape or (), node.dims or ()))
                for node in nodes]


class Array:
    def __init__(self, library, array):
        self.library, self.array = library, array
        self.shape, self.type_name, self.type = array.shape, array.type_name, array.netcdf_type
        self.element_size, self.dimnames = array.dtype.itemsize, list(array.dims)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.array.close()

    def attributes_json(self):
        return self.array.attrs.as_json()

    def attributes(self):
        """All attributes by name, each the number of its type and its value."""
        return {name: (_type_of(value), value) for name, value in self.array.attrs.as_netcdf().items()}

    def read(self, dtype, start=None, count=None, stride=None):
        """A hyperslab as an array of this type, which has elements of the same size."""
        start = [0] * len(self.shape) if start is None else start
        found = np.empty(self.shape if count is None else count, self.array.dtype)
        self.read_into(found, start, stride)
        return found if found.dtype == object else found.view(dtype)

    def read_into(self, out, start, stride=None):
        """A hyperslab of the shape of an array, into it."""
        self.array.threads = self.library.threads
        self.array.read_into(out, _index(start, out.shape, stride))

    def write(self, values, start, stride=None):
        self.array.threads = self.library.threads
        self.array[_index(start, np.shape(values), stride)] = values

    def resize(self, shape):
        self.array.resize(shape)
        self.shape = self.array.shape

    def set_attribute(self, name, values):
        self.array.attrs[name] = values

    def remove_attribute(self, name):
        del self.array.attrs[name]


def _index(start, count, stride):
    stride = [1] * len(start) if stride is None else stride
    return tuple(slice(s, s + (c - 1) * t + 1 if c else s, t) for s, c, t in zip(start, count, stride))


def _type_of(value):
    if isinstance(value, str):
        return CHAR
    return STRING if isinstance(value, list) else NUMBERS[value.dtype.str[1:]]
