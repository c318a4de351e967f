"""Caches of decoded chunks, which several arrays may share."""

from __future__ import annotations

from ctypes import byref
from typing import NamedTuple

from . import _c
from ._c import c
from .handle import Handle, Owner

class CacheStatistics(NamedTuple):
    """The statistics of a cache: its requests and its contents."""

    hits: int
    misses: int
    evictions: int
    chunks: int
    bytes: int
    limit: int


class Cache:
    """A cache that keeps up to a number of bytes of decoded chunks. Any number of threads may use it at the same
    time."""

    def __init__(self, limit: int) -> None:
        owner = Owner(c.cache_free)
        _c.call(c.cache_new, _c.integer("limit", limit), byref(owner))
        self._handle = Handle(owner, "the cache")

    def statistics(self) -> CacheStatistics:
        """The statistics of the cache: its requests and its contents."""
        found = _c.CacheStatistics()
        self._handle.share(lambda pointer: _c.call(c.cache_get_statistics, pointer, byref(found)))
        return CacheStatistics(*(getattr(found, name) for name in CacheStatistics._fields))
