"""How much memory may be taken for what is stored."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import NamedTuple

from . import _c
from ._c import c
from .handle import Handle


class _Limits(NamedTuple):
    chunk_bytes: int | None
    string_chunk_bytes: int | None
    metadata_bytes: int | None


class MemoryLimits(_Limits):
    """How many bytes of memory may be taken for what is stored, beside the arrays that are read and written. It keeps
    small files from claiming all memory. What would take more raises a MemoryError that names the limit.

    chunk_bytes: of a chunk: as it is stored, between two of its codecs, and of what is decoded of it; 4 GiB.
    string_chunk_bytes: of a chunk of texts of any length, stored or decoded; each text takes 8 bytes more; 256 MiB.
    metadata_bytes: of the metadata in one document while they are read: about twice those of its text and 100 for each
        JSON value; 1 GiB.

    None leaves a limit as it is by default.
    """

    __slots__ = ()

    def __new__(cls, chunk_bytes: int | None = None, string_chunk_bytes: int | None = None,
                metadata_bytes: int | None = None) -> MemoryLimits:
        given = chunk_bytes, string_chunk_bytes, metadata_bytes
        return super().__new__(cls, *(None if limit is None else _c.integer(name, limit, 1)
                                      for name, limit in zip(cls._fields, given)))


def check(given):
    """Refuses what is not memory_limits."""
    if not (given is None or isinstance(given, MemoryLimits)):
        raise TypeError(f"memory_limits: expected MemoryLimits or None, found {given!r}")


def limit(storage, limits):
    """Sets the limits of a storage of the library's, unless they are None."""
    if limits is not None:
        given = _c.MemoryLimits(**{name: value for name, value in limits._asdict().items() if value is not None})
        _c.call(c.storage_set_memory_limits, storage, byref(given))


def within(limits, find, path, function):
    """Returns what function(storage) returns for the storage that find, a function of the library, finds at a path."""
    pointer = c_void_p()
    _c.call(find, _c.path_bytes("path", path), byref(pointer))
    storage = Handle(pointer, c.storage_free, "the storage")
    limit(pointer, limits)
    return storage.share(function)
