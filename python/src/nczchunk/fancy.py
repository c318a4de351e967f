"""Lists, masks and coordinates as an index, as zarr-python defines them.

They become lists of indices or points, which the library sorts by chunk, so that each chunk is read and written once.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np

from . import _c, trace
from ._c import c
from .index import without_ellipsis
from .memory import room

# A read of more parts than this is recorded as one slab that encloses them.
_MOST_PARTS = 100


class OrthogonalIndex:
    """``array.oindex[...]``: each dimension has an index of its own, an integer, a slice, a list of integers, or a mask
    with an element for each of the dimension's. A list selects along its dimension alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return _orthogonal(self._array, index).read()

    def __setitem__(self, index: Any, values: Any) -> None:
        _orthogonal(self._array, index).write(values)


class VectorizedIndex:
    """``array.vindex[...]``: coordinates of elements, which are integers or lists of them for each dimension, or a mask
    with the shape of the array."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return _vectorized(self._array, index).read()

    def __setitem__(self, index: Any, values: Any) -> None:
        _vectorized(self._array, index).write(values)


class BlockIndex:
    """``array.blocks[...]``: integers and slices count chunks, or shards if the array has shards."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array[_blocks(self._array, index)]

    def __setitem__(self, index: Any, values: Any) -> None:
        self._array[_blocks(self._array, index)] = values


def written(array: Any) -> Any:
    """The lengths of what is written at once: of a dimension whose chunks differ, all of it."""
    lengths = zip(array.shards or array.chunks, array.shape, array._regular)
    return tuple(chunk if is_regular else max(1, length) for chunk, length, is_regular in lengths)


def advanced(array: Any, index: Any) -> Any:
    """What an index with lists or masks selects, to be read or written; None for an index without these."""
    items = index if isinstance(index, tuple) else (index,)
    lists = [item for item in items if _is_list(item)]
    if not lists:
        return None
    num_given = sum(item is not Ellipsis for item in items)
    if num_given == 1 and _is_mask(lists[0]) and np.ndim(lists[0]) == array.ndim:
        return _vectorized(array, lists[0])
    if len(items) == array.ndim and not any(_is_mask(item) for item in lists) and all(
            _is_list(item) or _is_integer(item) for item in items):
        return _vectorized(array, index)
    if len(lists) > 1:
        raise IndexError("several lists or masks with slices: use oindex, where each selects along its "
                         "own dimension, or vindex, for coordinates")
    return _orthogonal(array, index)


class _Chosen:
    """What is selected.

    shape: of the result. read, write: the functions of C, and arguments: what they take before the elements, from
    arrays that are kept. num_chunks: the most chunks that they touch. slabs: a function that returns the hyperslabs
    that a trace of reads is to have: pairs of counts and strides.
    """

    def __init__(self, array, shape, functions, arguments, num_chunks, kept, slabs):
        self._array, self._shape, self._kept, self._slabs = array, shape, kept, slabs
        self._read, self._write = functions
        self._arguments, self._num_chunks = arguments, num_chunks

    def read(self):
        if trace.FILE is not None and math.prod(self._shape):
            self._array._trace(self._slabs())
        is_text = self._array.dtype == object
        found = room(self._shape, np.dtype(np.uintp) if is_text else self._array.dtype)
        if is_text:
            found[...] = 0
            try:
                self._transfer(self._read, found)
                texts = np.empty(found.shape, object)
                texts.reshape(-1)[...] = _c.texts_at(found)
            finally:
                c.strings_free(found.size, _c.address(found))
            found = texts
        else:
            self._transfer(self._read, found)
        return found if self._shape else found[()]

    def write(self, values):
        array = self._array
        array._check_writable()
        values, kept = array._values(values, self._shape), None
        if array.dtype == object:
            values, kept = _c.pointers_to("values", ["" if one is None else one for one in values.ravel().tolist()])
        array._holding_lock(False, lambda: self._transfer(self._write, np.ascontiguousarray(values)))
        del kept

    def _transfer(self, function, memory):
        if memory.size:
            self._array._call(function, self._arguments, memory, self._num_chunks, self._kept)


def _orthogonal(array, index):
    start, count, stride, lists, axes, slices = [], [], [], [], [], []
    for d, (item, length) in enumerate(zip(_items(index, array.ndim), array.shape)):
        chosen = None
        if isinstance(item, slice):
            first, stop, step = item.indices(length)
            found = range(first, stop, step)
            if step < 0:
                chosen = np.arange(first, stop, step)
        elif _is_list(item):
            found = chosen = _positions(item, d, length)
        else:
            found = range(int(_positions(item, d, length)), length)[:1]
        if not _is_integer(item):
            axes.append(len(found))
        slices.append(None if _is_list(item) else (len(found), found.step))
        start.append(found.start if chosen is None and len(found) else 0)
        stride.append(found.step if chosen is None and len(found) > 1 else 1)
        count.append(len(found))
        lists.append(None if chosen is None else np.ascontiguousarray(chosen, np.uintp))
    pointers = np.array([0 if one is None else _c.address(one) for one in lists], np.uintp)
    arguments = (_c.sizes(start), _c.sizes(count), _c.signed_sizes(stride), _c.address(pointers))
    num_chunks = math.prod(min(num, -(-length // max(1, chunk)))
                           for num, length, chunk in zip(count, array.shape, array.chunks))
    functions = c.array_read_lists, c.array_write_lists

    def slabs():
        parts = [_runs(chosen) if one is None else [one] for one, chosen in zip(slices, lists)]
        if math.prod(map(len, parts)) > _MOST_PARTS:
            parts = [[_enclosing(chosen)] if one is None else [one] for one, chosen in zip(slices, lists)]
        return [tuple(zip(*part)) for part in itertools.product(*parts)]

    return _Chosen(array, tuple(axes), functions, arguments, num_chunks, (lists, pointers), slabs)


def _runs(positions):
    """The runs of neighbours among positions: of each its count and its stride."""
    positions = np.unique(positions)
    edges = np.flatnonzero(np.diff(positions) != 1) + 1
    return [(count, 1) for count in np.diff([0, *edges, len(positions)])]


def _enclosing(positions):
    """The run from the first of positions to the last."""
    return int(positions.max() - positions.min()) + 1, 1


def _vectorized(array, index):
    if _is_mask(index):
        mask = np.asarray(index)
        if mask.shape != array.shape:
            raise IndexError(f"the mask has the shape {mask.shape}, but the array has {array.shape}")
        index = np.nonzero(mask)
    items = index if isinstance(index, tuple) else (index,)
    if len(items) != array.ndim or not all(_is_list(item) or _is_integer(item) for item in items):
        raise IndexError(f"expected {array.ndim} integers or lists of integers, one for each dimension, or a mask "
                         f"of the array's shape")
    coordinates = [_positions(item, d, length, any_rank=True)
                   for d, (item, length) in enumerate(zip(items, array.shape))]
    try:
        shape = np.broadcast_shapes(*(one.shape for one in coordinates))
    except ValueError:
        raise IndexError(f"the shapes of the coordinates cannot be broadcast together: "
                         f"{', '.join(str(one.shape) for one in coordinates)}") from None
    points = np.empty((*shape, array.ndim), np.uintp)
    for d, one in enumerate(coordinates):
        points[..., d] = one
    num = math.prod(shape)
    functions = c.array_read_points, c.array_write_points

    def slabs():
        if num <= _MOST_PARTS:
            return [((1,) * array.ndim, (1,) * array.ndim)] * num
        return [tuple(zip(*(_enclosing(points[..., d]) for d in range(array.ndim))))]

    return _Chosen(array, shape, functions, (num, _c.address(points)), min(num, array.nchunks), points, slabs)


def _blocks(array, index):
    items = []
    for d, (item, chunk, length) in enumerate(zip(_items(index, array.ndim), array.shards or array.chunks,
                                                  array.shape)):
        # Where chunks differ, where each begins, and where the last ends.
        edges = None if array._regular[d] else [0, *itertools.accumulate(array.read_chunk_sizes[d])]
        num = len(edges) - 1 if edges else -(-length // chunk) if chunk else 0
        if isinstance(item, slice):
            start, stop, step = item.indices(num)
            if step != 1:
                raise IndexError("expected integers and slices without a step")
        elif _is_integer(item):
            start = int(_positions(item, d, num))
            stop = start + 1
        else:
            raise IndexError("expected integers and slices without a step")
        stop = max(start, stop)
        items.append(slice(edges[start], edges[stop]) if edges else slice(start * chunk, stop * chunk))
    return tuple(items)


def _items(index, rank):
    """The items of an index, one for each dimension."""
    items = without_ellipsis(index, rank)
    for item in items:
        if item is None or not (isinstance(item, slice) or _is_integer(item) or _is_list(item)):
            raise IndexError(f"expected integers, slices, lists of integers, masks and ..., found {item!r}")
    return items


def _is_integer(item):
    if isinstance(item, (bool, np.bool_)):
        return False
    try:
        operator.index(item)
    except TypeError:
        return False
    return True


def _is_list(item):
    """Whether an item is a list or an array, and not a scalar."""
    return isinstance(item, (list, range)) or isinstance(item, np.ndarray) and item.ndim > 0


def _is_mask(item):
    return _is_list(item) and np.asarray(item).dtype == bool


def _positions(item, dimension, length, any_rank=False):
    """Where along a dimension an integer, a list of them or a mask selects, counted from its begin."""
    given = np.asarray(item)
    if given.ndim > 1 and not any_rank:
        raise IndexError(f"the index of dimension {dimension} must have one dimension, not {given.ndim}")
    if given.dtype == bool:
        if given.shape != (length,):
            raise IndexError(f"the mask of axis {dimension} has the shape {given.shape}, but the axis has "
                             f"{length} elements")
        return np.flatnonzero(given)
    if not given.size:
        return given.astype(np.intp)
    if given.dtype.kind not in "iu":
        raise IndexError(f"the index of dimension {dimension} must consist of integers, not {given.dtype}")
    least, most = int(given.min()), int(given.max())
    if least < -length or most >= length:
        raise IndexError(f"index {least if least < -length else most} is out of bounds for axis {dimension} with size "
                         f"{length}")
    given = given.astype(np.int64)
    return np.where(given < 0, given + length, given) if least < 0 else given
