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
           per_request: float = 0, per_chunk: float = 1e-5, copying: float = 4e9,
           step_bytes: int = 0) -> tuple[tuple[int, ...], float]:
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
    per_request: how long each request keeps the way busy, in seconds, whatever else is in flight.
    per_chunk: how long a chunk takes besides decoding and copying, in seconds.
    copying: how many bytes a second are copied from decoded chunks to where they are wanted.
    step_bytes: in steps of how many bytes a chunk is decoded, up to the last element that is read; 128 KiB for zstd
        without other codecs. 0 if it is decoded as a whole.
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
                           per_request=per_request, per_chunk=per_chunk, copying=copying,
                           step_bytes=_c.integer("step_bytes", step_bytes, 0))
    chunks, seconds = (ctypes.c_size_t * len(shape))(), ctypes.c_double()
    _c.call(c.advise, len(shape), _c.sizes(shape), dtype_of(type_name_of(dtype)).itemsize, len(weights),
            _c.sizes(lengths), (ctypes.c_double * len(weights))(*weights), byref(costs), chunks, byref(seconds))
    return tuple(chunks), seconds.value
