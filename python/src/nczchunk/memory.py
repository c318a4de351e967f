"""The memory of arrays that are read."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

# Smaller ones the allocator gives out again, and larger ones take longer to read than their memory to come.
_LEAST, _MOST = 4 << 20, 64 << 20

_PAGE = 4096

# Memory that is not in use, and may be used again.
_free: list[np.ndarray[Any, Any]] = []


class _Lent:
    """Memory that an array and all views of it use. When the last of them is gone, it is there for the next array."""

    def __init__(self, memory):
        self._memory = memory
        self.__array_interface__ = memory.__array_interface__

    def __del__(self, free=_free, most=_MOST):
        free.append(self._memory)
        while sum(memory.nbytes for memory in free.copy()) > most:
            with contextlib.suppress(IndexError):  # another thread has taken it
                free.pop(0)


def room(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array of this shape, whose elements have any values, to be read into.

    New memory comes from the system page by page, each of them zeroed, which takes as long as to read what is in the
    page cache. So the memory of arrays of 4 to 64 MiB is used again, at most 64 MiB of it is kept, and a program that
    reads one chunk after another takes it from the system once.
    """
    num_bytes = math.prod(shape) * dtype.itemsize
    if not _LEAST <= num_bytes <= _MOST:
        try:
            return np.empty(shape, dtype)
        except ValueError:  # numpy does not say of what
            raise MemoryError(f"the selection has the shape {tuple(shape)}, which is larger than numpy can hold: "
                              "select less of the array at a time") from None
    memory = _taken(num_bytes)
    return np.asarray(_Lent(memory))[:num_bytes].view(dtype).reshape(shape)


def _taken(num_bytes):
    """Memory for so many bytes, of which at most a quarter more is in use for them."""
    for _ in range(len(_free)):
        try:
            memory = _free.pop()
        except IndexError:  # another thread has taken it
            break
        if num_bytes <= memory.nbytes <= num_bytes + num_bytes // 4:
            return memory
        _free.insert(0, memory)
    # Processors copy faster to the beginning of a page.
    memory = np.empty(num_bytes + _PAGE, np.uint8)
    begin = -memory.__array_interface__["data"][0] % _PAGE
    return memory[begin:begin + num_bytes]
