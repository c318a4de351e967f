"""Caches of decoded chunks, which several arrays may share."""

from collections import namedtuple
from ctypes import byref, c_void_p

from . import _c
from ._c import c
from .handle import Handle

CacheStatistics = namedtuple("CacheStatistics", "hits misses evictions chunks bytes limit")


class Cache:
    """Keeps up to so many bytes of decoded chunks. Any number of threads may use it at the same time."""

    def __init__(self, limit):
        pointer = c_void_p()
        _c.call(c.cache_new, _c.integer("limit", limit), byref(pointer))
        self._handle = Handle(pointer, c.cache_free, "the cache")

    def statistics(self):
        """What has become of its requests, and what is in it."""
        found = _c.CacheStatistics()
        self._handle.share(lambda pointer: _c.call(c.cache_get_statistics, pointer, byref(found)))
        return CacheStatistics(*(getattr(found, name) for name in CacheStatistics._fields))
