"""Limits on the memory for stored data."""

from __future__ import annotations

from ctypes import byref
from typing import NamedTuple

from . import _c, storage
from ._c import c


class _Limits(NamedTuple):
    chunk_bytes: int | None
    string_chunk_bytes: int | None
    metadata_bytes: int | None


class MemoryLimits(_Limits):
    """Limits on the memory for stored data, in addition to the memory of arrays that are read and written. They keep
    small files from claiming all memory. A call that would need more raises a MemoryError that names the limit.

    chunk_bytes: the most bytes of a chunk: as it is stored, between two of its codecs, and decoded; 4 GiB by default.
    string_chunk_bytes: the most bytes of a chunk of variable-length strings, stored or decoded; each string takes 8
        more bytes; 256 MiB by default.
    metadata_bytes: the most bytes that the metadata in one document take while they are read: about twice the size of
        their text, plus 100 for each JSON value; the headers and trees of an HDF5 file and each Parquet file of
        references count as documents; 1 GiB by default.

    None stands for the default.
    """

    __slots__ = ()

    def __new__(cls, chunk_bytes: int | None = None, string_chunk_bytes: int | None = None,
                metadata_bytes: int | None = None) -> MemoryLimits:
        given = chunk_bytes, string_chunk_bytes, metadata_bytes
        return super().__new__(cls, *(None if limit is None else _c.integer(name, limit, 1)
                                      for name, limit in zip(cls._fields, given)))


def check(given):
    """Refuses a value that is not memory_limits."""
    if not (given is None or isinstance(given, MemoryLimits)):
        raise TypeError(f"memory_limits: expected MemoryLimits or None, found {given!r}")


def limit(pointer, limits):
    """Sets the limits of one of the library's storages, unless they are None."""
    if limits is not None:
        given = _c.MemoryLimits(**{name: value for name, value in limits._asdict().items() if value is not None})
        _c.call(c.storage_set_memory_limits, pointer, byref(given))


def within(limits, find, path, function):
    """Returns what function(storage) returns for the storage that find, a function of the library, finds at a path, or
    for a storage of Python's."""
    return opened(limits, find, path).share(function)


def opened(limits, find, path):
    """That storage."""
    found = storage.opened(path, find)
    found.share(lambda pointer: limit(pointer, limits))
    return found


def is_plain(path, limits):
    """Whether the functions of the library that take a path will do."""
    return limits is None and storage.is_path(path)
