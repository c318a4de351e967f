"""An array is indexed as numpy's are."""

import random

import numpy as np
import pytest

import nczchunk


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same values as an array of the library's and of numpy's."""
    values = np.arange(7 * 11 * 13, dtype="i4").reshape(7, 11, 13)
    array = nczchunk.create(tmp_path_factory.mktemp("pair") / "a", shape=values.shape, dtype="i4", chunks=(3, 4, 5))
    array[...] = values
    return array, values


def a_slice(rng, length):
    ends = [None, *range(-length - 3, length + 4)]
    return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 2, 3, 20, -1, -2, -3, -20]))


def an_index(rng, shape):
    items = [rng.choice([a_slice(rng, length), rng.randrange(-length, length)]) for length in shape]
    items = items[:rng.randint(0, len(items))]
    if rng.random() < 0.4:
        at = rng.randint(0, len(items))
        # The dimensions behind an ellipsis are the last ones.
        behind = [rng.choice([a_slice(rng, n), rng.randrange(-n, n)]) for n in shape[len(shape) - (len(items) - at):]]
        items[at:] = [..., *(behind if len(items) > at else [])]
    if rng.random() < 0.2:
        items.insert(rng.randint(0, len(items)), None)
    return items[0] if len(items) == 1 and rng.random() < 0.5 else tuple(items)


def test_random_indices_read_what_numpy_reads(pair):
    array, values = pair
    rng = random.Random(1)
    for _ in range(3000):
        index = an_index(rng, values.shape)
        got, due = array[index], values[index]
        assert np.shape(got) == due.shape and np.array_equal(got, due), index


def test_random_indices_write_what_numpy_writes(tmp_path):
    values = np.zeros((7, 11, 13), "f8")
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="f8", chunks=(3, 4, 5))
    rng = random.Random(2)
    for i in range(500):
        index = an_index(rng, values.shape)
        shape = values[index].shape
        new = rng.choice([i, np.full(shape, i) + np.random.default_rng(i).random(shape)])
        array[index], values[index] = new, new
    assert np.array_equal(array[...], values)


def test_random_views_are_read_into(pair):
    array, values = pair
    rng = random.Random(3)
    for _ in range(1000):
        index = an_index(rng, values.shape)
        due = values[index]
        order = rng.sample(range(due.ndim), due.ndim)
        room = np.full([2 * n + 1 for n in np.array(due.shape)[order]], -1, "i4")
        view = room[tuple(rng.choice([slice(0, 2 * n, 2), slice(1, n + 1), slice(2 * n - 1 if n else 0, None, -2)])
                          for n in np.array(due.shape)[order])]
        view = view.transpose(np.argsort(order)) if due.ndim else room.reshape(-1)[:1].reshape(())
        if view.shape != due.shape:
            continue
        untouched = room.size - view.size - int((view != -1).sum())
        array.read_into(view, index)
        assert np.array_equal(view, due), (index, view.strides)
        assert int((room == -1).sum()) == untouched, "something else was written to"


def test_what_numpy_refuses_is_refused(pair):
    array, values = pair
    for index in [7, -8, (0, 0, 13), (0, 0, 0, 0), (..., ...), slice(None, None, 0), 1.5, "x"]:
        with pytest.raises((IndexError, ValueError)):
            values[index]
        with pytest.raises((IndexError, ValueError)):
            array[index]
    for index in [[0, 1], np.array([0, 1]), values > 3, True]:
        with pytest.raises(IndexError, match="not supported"):
            array[index]


def test_an_element_is_a_scalar(pair):
    array, values = pair
    assert array[1, 2, 3] == values[1, 2, 3]
    assert isinstance(array[1, 2, 3], np.int32)
    assert array[-1, -1, -1] == values[-1, -1, -1]


def test_out_must_fit(pair):
    array, values = pair
    with pytest.raises(TypeError, match="float64"):
        array.read_into(np.empty((7, 11, 13)))
    with pytest.raises(ValueError, match="shape"):
        array.read_into(np.empty((7, 11, 12), "i4"))
    with pytest.raises(TypeError, match="elements"):
        array.read_into(np.empty((7, 11, 13), ">i4"))
    shared = np.lib.stride_tricks.as_strided(np.empty(13, "i4"), (7, 11, 13), (0, 0, 4), writeable=True)
    with pytest.raises(ValueError, match="share"):
        array.read_into(shared)
    fixed = np.empty((7, 11, 13), "i4")
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="only be read"):
        array.read_into(fixed)
    with pytest.raises(TypeError, match="list"):
        array.read_into([0])


def test_asarray_len_and_repr(pair):
    array, values = pair
    assert np.array_equal(np.asarray(array), values)
    assert np.asarray(array, "f8").dtype == np.float64
    assert len(array) == 7 and array.ndim == 3 and array.size == values.size and array.nbytes == values.nbytes
    assert "int32" in repr(array) and "(3, 4, 5)" in repr(array)
