"""Lists, masks and coordinates as an index, as zarr-python defines them.

The elements that they select of a chunk, or of a row of chunks, lie in a box. Each box is read once, as a hyperslab,
and the selected elements are taken from it. To write, the elements are put into the box, and the box is written again,
unless it is selected as a whole.
"""

from __future__ import annotations

import itertools
import math
import operator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from .index import Selection, without_ellipsis


class OrthogonalIndex:
    """``array.oindex[...]``: each dimension has an index of its own, an integer, a slice, a list of integers, or a mask
    with an element for each of the dimension's. A list selects along its dimension alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return _orthogonal(self._array, index, self._array.chunks).read()

    def __setitem__(self, index: Any, values: Any) -> None:
        _orthogonal(self._array, index, written(self._array)).write(values)


class VectorizedIndex:
    """``array.vindex[...]``: coordinates of elements, which are integers or lists of them for each dimension, or a mask
    with the shape of the array."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return _vectorized(self._array, index, self._array.chunks).read()

    def __setitem__(self, index: Any, values: Any) -> None:
        _vectorized(self._array, index, written(self._array)).write(values)


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


def advanced(array: Any, index: Any, lengths: Any) -> Any:
    """What an index with lists or masks selects, to be read or written; None for an index without these. lengths: of
    the chunks, or of the shards, no two parts of which are transferred apart."""
    items = index if isinstance(index, tuple) else (index,)
    lists = [item for item in items if _is_list(item)]
    if not lists:
        return None
    if len(items) == 1 and _is_mask(lists[0]) and np.ndim(lists[0]) == array.ndim or (
            len(items) == array.ndim and not any(_is_mask(item) for item in lists)
            and all(_is_list(item) or _is_integer(item) for item in items)):
        return _vectorized(array, index, lengths)
    if len(lists) > 1:
        raise IndexError("several lists or masks with slices: use oindex, where each selects along its "
                         "own dimension, or vindex, for coordinates")
    return _orthogonal(array, index, lengths)


class _Boxes:
    """What is selected.

    shape: of the result. num: how many elements that has, if the boxes count these in one dimension; else None.
    boxes: for each box its index in the array, the index in the box of what is selected, the index of that in the
    result, and whether the box is selected whole.
    """

    def __init__(self, array, shape, boxes, num=None):
        self._array, self._shape, self._boxes = array, shape, boxes
        self._counted = shape if num is None else (num,)

    def read(self):
        out = np.empty(self._counted, self._array.dtype)

        def read(box):
            index, selected, position, _ = box
            out[position] = self._array[index][selected]

        self._each(read)
        return out.reshape(self._shape) if self._shape else out.reshape(())[()]

    def write(self, values):
        array = self._array
        array._check_writable()
        values = array._values(values, self._shape).reshape(self._counted)
        with array._locked(False), array._stored() as stored:

            def write(box):
                index, selected, position, is_whole = box
                selection = Selection(index, array.shape)
                memory = np.empty(selection.shape, array.dtype) if is_whole else stored[index]
                memory[selected] = values[position]
                array._put(selection, memory)

            self._each(write)

    def _each(self, function):
        """Calls a function with each box, in several threads if the array may use them. No two have a chunk in
        common, nor a shard if they are written."""
        first = list(itertools.islice(self._boxes, 2))
        boxes = itertools.chain(first, self._boxes)
        if len(first) < 2 or self._array.threads == 1:
            for box in boxes:
                function(box)
            return
        with ThreadPoolExecutor(self._array.threads) as pool:
            try:
                for _ in pool.map(function, boxes):
                    pass
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def _orthogonal(array, index, lengths):
    items = []
    for d, (item, length) in enumerate(zip(_items(index, array.ndim), array.shape)):
        if isinstance(item, slice):
            start, stop, step = item.indices(length)
            count = len(range(start, stop, step))
            items.append(np.arange(start, stop, step) if step < 0 else slice(start, start + count * step, step))
        elif _is_list(item):
            items.append(_positions(item, d, length))
        else:
            items.append(int(_positions(item, d, length)))
    shape = tuple(len(range(item.start, item.stop, item.step)) if isinstance(item, slice) else len(item)
                  for item in items if not isinstance(item, int))
    if 0 in shape:
        return _Boxes(array, shape, iter(()))
    lists = [d for d, item in enumerate(items) if isinstance(item, np.ndarray)]
    groups = [_groups(items[d], items[d] // max(1, lengths[d])) for d in lists]

    def boxes():
        for chosen in itertools.product(*groups):
            where, selected, position = list(items), [], []
            is_whole = True
            for d, (places, least, most, distinct) in zip(lists, chosen):
                where[d] = slice(least, most + 1, 1)
                is_whole &= distinct == most + 1 - least
            for d, item in enumerate(items):
                if isinstance(item, slice):
                    everything = np.arange(len(range(item.start, item.stop, item.step)))
                    selected.append(everything)
                    position.append(everything)
                elif d in lists:
                    places, least, _, _ = chosen[lists.index(d)]
                    selected.append(item[places] - least)
                    position.append(places)
            yield tuple(where), np.ix_(*selected), np.ix_(*position), is_whole

    return _Boxes(array, shape, boxes())


def _vectorized(array, index, lengths):
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
        coordinates = np.broadcast_arrays(*coordinates) if coordinates else [np.zeros((), np.intp)]
    except ValueError:
        raise IndexError(f"the shapes of the coordinates cannot be broadcast together: "
                         f"{', '.join(str(one.shape) for one in coordinates)}") from None
    shape = coordinates[0].shape
    flat = [one.reshape(-1) for one in coordinates[:array.ndim]]
    if not array.ndim or 0 in shape:
        return _Boxes(array, shape, iter(() if array.ndim else [((), (), (), True)]))
    order, ends = _by_chunk([one // max(1, length) for one, length in zip(flat, lengths)])
    own = [one[order] for one in flat]

    def boxes():
        for begin, end in zip([0, *ends], [*ends, len(order)]):
            places = [one[begin:end] for one in own]
            least = [int(one.min()) for one in places]
            where = tuple(slice(low, int(one.max()) + 1, 1) for low, one in zip(least, places))
            yield (where, tuple(one - low for one, low in zip(places, least)), order[begin:end],
                   all(item.stop - item.start == 1 for item in where))

    return _Boxes(array, shape, boxes(), len(order))


def _by_chunk(of_chunk):
    """The order of elements by chunk, of which these are the indices in each dimension, and where in that order a chunk
    begins, but for the first."""
    most = [int(one.max()) + 1 for one in of_chunk]
    num = math.prod(most)
    if num <= 2**63 - 1:
        # One number a chunk, as short as it can be: short ones are sorted faster.
        number = np.ravel_multi_index(of_chunk, most).astype(np.min_scalar_type(num))
        order = np.argsort(number, kind="stable")
        return order, np.flatnonzero(np.diff(number[order])) + 1
    order = np.lexsort(of_chunk[::-1])
    is_other = np.zeros(len(order) - 1, bool)
    for one in of_chunk:
        is_other |= np.diff(one[order]) != 0
    return order, np.flatnonzero(is_other) + 1


def _groups(positions, of_chunk):
    """For each chunk that has some of these positions: which of them it has, the least and the greatest, and how many
    are distinct."""
    order = np.argsort(of_chunk, kind="stable")
    ends = np.flatnonzero(np.diff(of_chunk[order])) + 1
    found = []
    for places in np.split(order, ends):
        own = positions[places]
        found.append((places, int(own.min()), int(own.max()), len(np.unique(own))))
    return found


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
