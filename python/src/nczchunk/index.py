"""What stands in the brackets of an array, as a hyperslab: integers, slices with steps of both signs, ... and None."""

import operator

import numpy as np


class Selection:
    """The hyperslab that an index selects of an array.

    start, count, stride: one entry a dimension of the array; stride may be negative, and then start is the last.
    axes: for each axis of the result the dimension that it comes from, or None for one that was inserted.
    """

    __slots__ = ("start", "count", "stride", "axes")

    def __init__(self, index, shape):
        self.start, self.count, self.stride, self.axes = [], [], [], []
        for item in without_ellipsis(index, len(shape)):
            if item is None:
                self.axes.append(None)
                continue
            d = len(self.start)
            if isinstance(item, slice):
                # Python's rules for ends that are left out, negative, or beyond the dimension.
                start, stop, step = item.indices(shape[d])
                # The length of range(start, stop, step), which len() gives up to 2**63 - 1 only.
                count = max(0, (stop - start + step - (1 if step > 0 else -1)) // step)
                self.axes.append(d)
                self._add(start if count else 0, count, step if count > 1 else 1)
            else:
                self._add(_position(item, d, shape[d]), 1, 1)

    def _add(self, start, count, stride):
        self.start.append(start)
        self.count.append(count)
        self.stride.append(stride)

    @property
    def shape(self):
        """The shape of the result."""
        return tuple(1 if d is None else self.count[d] for d in self.axes)

    def num_chunks(self, chunks):
        """How many chunks of these lengths it touches, or a few more."""
        found = 1
        for count, stride, length in zip(self.count, self.stride, chunks):
            found *= min(count, abs((count - 1) * stride) // max(1, length) + 2)
        return found

    def memory_strides(self, strides):
        """For each dimension of the array, how many bytes its elements are apart in memory with these strides."""
        found = [0] * len(self.start)
        for axis, d in enumerate(self.axes):
            if d is not None:
                found[d] = strides[axis]
        return found


def has_ellipsis(index):
    """Whether an index has an ellipsis."""
    return index is Ellipsis or isinstance(index, tuple) and any(item is Ellipsis for item in index)


def without_ellipsis(index, rank):
    """The items of an index, with slices in place of an ellipsis and behind them, one for each dimension."""
    items = list(index) if isinstance(index, tuple) else [index]
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    num_given = sum(item is not None and item is not Ellipsis for item in items)
    if num_given > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {num_given} were indexed")
    at = ellipses[0] if ellipses else len(items)
    return items[:at] + [slice(None)] * (rank - num_given) + items[at + 1:]


def _position(item, dimension, length):
    try:
        position = operator.index(item)
    except TypeError:
        position = None
    if isinstance(item, (list, range, np.ndarray)) and np.ndim(item):
        raise IndexError("expected integers, slices, ... and None, for only array[...], oindex and vindex take lists "
                         f"and masks; found {item!r}")
    if position is None or isinstance(item, (bool, np.bool_)):
        raise IndexError(f"expected integers, slices, ..., None, lists and masks, found {item!r}")
    if not -length <= position < length:
        raise IndexError(f"index {position} is out of bounds for axis {dimension} with size {length}")
    return position + length if position < 0 else position
