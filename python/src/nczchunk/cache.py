"""Caches of decoded chunks, which several arrays may share."""

import ctypes
from collections import namedtuple
from ctypes import byref, c_void_p

from . import _c
from ._c import c

CacheStatistics = namedtuple("CacheStatistics", "hits misses evictions chunks bytes limit")


class Cache:
    """Keeps up to so many bytes of decoded chunks. Any number of threads may use it at the same time."""

    def __init__(self, limit):
        self._pointer = c_void_p()
        _c.call(c.cache_new, limit, byref(self._pointer))

    def statistics(self):
        """What has become of its requests, and what is in it."""
        found = _c.CacheStatistics(ctypes.sizeof(_c.CacheStatistics))
        _c.call(c.cache_get_statistics, self._pointer, byref(found))
        return CacheStatistics(*(getattr(found, name) for name in CacheStatistics._fields))

    def __del__(self):
        if c is not None and getattr(self, "_pointer", None):
            c.cache_free(self._pointer)
