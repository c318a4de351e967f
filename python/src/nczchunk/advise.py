"""Which chunks an array should have."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref
from typing import Any

from . import _c
from ._c import c
from .types import dtype_of, type_name_of


def advise(shape: Sequence[int], dtype: Any, patterns: Sequence[tuple[Sequence[int], float]], *,
           latency: float = 1e-4, bandwidth: float = 1e9, decoding: float = 1e9, in_flight: int = 1,
           stored: float = 0.5, chunk_bytes: tuple[int, int] = (64 << 10, 64 << 20),
           in_part: bool = False) -> tuple[tuple[int, ...], float]:
    """The chunk shape that costs least for the ways in which an array is read, and the mean cost of a read in seconds.

    >>> shape, seconds = nczchunk.advise((8760, 721, 1440), "f4", [((1, 721, 1440), 0.7), ((8760, 1, 1), 0.3)],
    ...                                  latency=0.05, in_flight=32)

    patterns: pairs of the lengths that are read at a time, at any place, and a weight: how often, compared with others.
    latency: how long a request takes until its first byte is there, in seconds. Each chunk that is touched is one.
    bandwidth: how many bytes a second arrive.
    decoding: how many decoded bytes a second the codecs give.
    in_flight: how many requests are on their way at the same time.
    stored: how many bytes are stored for a decoded byte.
    chunk_bytes: the fewest and the most bytes of a chunk.
    in_part: whether a chunk is decoded only up to the last element that is read, as zstd without other codecs is.
    """
    shape = _c.lengths("shape", shape)
    lengths, weights = [], []
    for i, pattern in enumerate(patterns):
        try:
            given, weight = pattern
            weights.append(float(weight))
        except (TypeError, ValueError):
            raise TypeError(f"patterns[{i}]: expected a pair of lengths and a weight, found {pattern!r}") from None
        one = _c.lengths(f"patterns[{i}]", given, 1)
        if len(one) != len(shape):
            raise ValueError(f"patterns[{i}]: expected {len(shape)} lengths, as shape has, found {len(one)}")
        lengths.extend(one)
    least, most = _c.lengths("chunk_bytes", chunk_bytes, 1)
    costs = _c.AdviseCosts(in_flight=_c.integer("in_flight", in_flight, 1), least_bytes=least, most_bytes=most,
                           latency=latency, bandwidth=bandwidth, decoding=decoding, stored=stored,
                           in_part=bool(in_part))
    chunks, seconds = (ctypes.c_size_t * len(shape))(), ctypes.c_double()
    _c.call(c.advise, len(shape), _c.sizes(shape), dtype_of(type_name_of(dtype)).itemsize, len(weights),
            _c.sizes(lengths), (ctypes.c_double * len(weights))(*weights), byref(costs), chunks, byref(seconds))
    return tuple(chunks), seconds.value
