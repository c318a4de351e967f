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


def test_leading_dimensions_of_one_element_are_left_out_as_by_numpy(tmp_path):
    values = np.zeros((2, 3), "f4")
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="f4")
    for i, (index, new) in enumerate([(0, np.ones((1, 3))), (..., np.ones((1, 2, 3))), (1, np.ones((1, 1, 1))),
                                      (slice(0, 2), np.ones((1, 1, 3))), ([1, 0], np.ones((1, 2, 3)))]):
        array[index], values[index] = new * i, new * i
        assert np.array_equal(array[...], values)
    for index, new in [(0, np.ones((2, 3))), (0, np.ones((1, 2))), ((0, 0), [1]), (..., np.ones((2, 1, 3)))]:
        with pytest.raises(ValueError):
            values[index] = new
        with pytest.raises(ValueError, match="expected the shape"):
            array[index] = new


def test_in_finds_what_it_finds_in_numpy(pair, tmp_path):
    array, values = pair
    for value in [0, 1000, -1, 5.5, values.max(), values[3], values[2, 1], values + 1, "x", None]:
        assert (value in array) == (value in values), value
    one = nczchunk.create(tmp_path / "a", shape=(), dtype="f8")
    texts = nczchunk.create(tmp_path / "b", shape=(2, 2), dtype=str)
    texts[1, 1] = "x"
    assert 0.0 in one and 1 not in one and "x" in texts and "" in texts and "y" not in texts


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
    for index in [True, np.True_, [[0, 1], [1.5, 2]], [7], [-8], [True] * 6, ([0], slice(None), [1]), {}]:
        with pytest.raises(IndexError):
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
    with pytest.raises(ValueError, match="read-only"):
        array.read_into(fixed)
    with pytest.raises(TypeError, match="list"):
        array.read_into([0])


def test_asarray_len_and_repr(pair):
    array, values = pair
    assert np.array_equal(np.asarray(array), values)
    assert np.asarray(array, "f8").dtype == np.float64
    assert len(array) == 7 and array.ndim == 3 and array.size == values.size and array.nbytes == values.nbytes
    assert "int32" in repr(array) and "(3, 4, 5)" in repr(array)


def a_list(rng, length):
    """A list of positions, with some of them twice and from the end, or a mask."""
    if rng.random() < 0.3:
        mask = np.array([rng.random() < 0.4 for _ in range(length)])
        return rng.choice([mask, mask.tolist()])
    found = [rng.randrange(-length, length) for _ in range(rng.randint(0, length + 3))]
    return rng.choice([found, np.array(found, "i4"), sorted(found)])


def of_numpy(items, shape):
    """The index of numpy's for an index of which each list selects along its dimension, with integers as lists."""
    return np.ix_(*[np.arange(length)[item] if not isinstance(item, int) else [item]
                    for item, length in zip(items, shape)])


@pytest.fixture(params=[None, (6, 8, 10)])
def arrays(request, tmp_path):
    """An array, with shards or without, and its values."""
    values = np.arange(7 * 11 * 13, dtype="i4").reshape(7, 11, 13)
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="i4", chunks=(3, 4, 5), shards=request.param)
    array[...] = values
    return array, values


def test_lists_select_along_their_dimensions(arrays):
    array, values = arrays
    rng = random.Random(4)
    for i in range(150):
        items = tuple(rng.choice([a_list(rng, length), a_list(rng, length), rng.randrange(-length, length),
                                  a_slice(rng, length)]) for length in values.shape)
        where = of_numpy(items, values.shape)
        kept = tuple(0 if isinstance(item, int) else slice(None) for item in items)
        got, due = array.oindex[items], values[where][kept]
        assert np.shape(got) == due.shape and np.array_equal(got, due), items
        if i % 3 == 0 and all(isinstance(item, int) or len(set(np.arange(length)[item].tolist())) == len(
                np.arange(length)[item]) for item, length in zip(items, values.shape)):
            new = np.random.default_rng(i).integers(0, 99, due.shape)
            array.oindex[items] = new
            values[where] = np.reshape(new, values[where].shape)
            assert np.array_equal(array[...], values), items


def test_coordinates_select_elements(arrays):
    array, values = arrays
    rng = random.Random(5)
    for i in range(40):
        shape = rng.choice([(5,), (2, 3), (40,), (0,), (1,)])
        items = tuple(np.random.default_rng(i).integers(-length, length, shape) for length in values.shape)
        if rng.random() < 0.3:
            items = (items[0], rng.randrange(11), items[2])
        assert np.array_equal(array.vindex[items], values[items]) and np.array_equal(array[items], values[items])
        new = rng.choice([i, np.full(shape, i)])
        array.vindex[items], values[items] = new, new
        mask = np.random.default_rng(i).random(values.shape) < rng.choice([0, 0.01, 0.5, 1])
        assert np.array_equal(array[mask], values[mask]) and np.array_equal(array.vindex[mask], values[mask])
        if i % 5 == 0:
            array[mask], values[mask] = -i, -i
            assert np.array_equal(array[...], values)
    # Of an element that is written twice the last value stays.
    array.vindex[[1, 1, 1], [2, 2, 2], [3, 3, 3]] = [5, 6, 7]
    assert array[1, 2, 3] == 7


def test_coordinates_in_more_chunks_than_fit_into_a_number(tmp_path):
    length = 2**40
    array = nczchunk.create(tmp_path / "a", shape=(length,) * 3, dtype="i1", chunks=(1, 2, 4), fill_value=7)
    array.vindex[[length - 1, 0, 0], [0, length - 1, 0], [length - 1, 0, 0]] = [1, 2, 3]
    assert array.vindex[[0, 0, -1, 5], [-1, 0, 0, 5], [0, 0, -1, 5]].tolist() == [2, 3, 1, 7]


def test_each_chunk_is_read_once(arrays):
    array, values = arrays
    rng, cache, before = np.random.default_rng(6), nczchunk.Cache(1 << 20), 0
    grid = np.arange(values.size).reshape(values.shape)
    with nczchunk.open(array._where[0], cache=cache) as array:
        for kind, index in [("oindex", ([0, 6, 1, 5], [10, 2, 3], slice(None))), ("oindex", ([6, 0], 3, [12, 0, 1])),
                            ("vindex", tuple(rng.integers(0, length, 200) for length in values.shape))]:
            getattr(array, kind)[index]
            selected = grid[of_numpy(index, values.shape) if kind == "oindex" else index].reshape(-1)
            places = np.transpose(np.unravel_index(selected, values.shape))
            found = cache.statistics()
            assert (found.hits, found.misses - before) == (0, len(np.unique(places // array.chunks, axis=0)))
            array.refresh()
            before = cache.statistics().misses


def test_indices_are_those_of_zarr_python(arrays):
    zarr = pytest.importorskip("zarr")
    array, values = arrays
    theirs = zarr.open_array(array._where[0])
    for index in [[0, 3], ([0, 3],), ([0, 3], slice(2, 5)), (slice(1, 6, 2), [3, 1, 7]), (2, [3, 1], slice(None)),
                  ([0, 3], [1, 2], [5, 6]), ([0, 3], 1, [5, 6]), (slice(None), slice(None), [12, 0]), values % 3 == 0]:
        assert np.array_equal(array[index], theirs[index]), index
    for index in [0, (0, 1), slice(1, 3), (slice(None), 1), (1, slice(0, 2), -1), (..., 1)]:
        assert np.array_equal(array.blocks[index], theirs.blocks[index]), index
    array.blocks[1, 0] = -1
    assert (theirs.blocks[1, 0] == -1).all()


def test_indices_that_are_refused(pair):
    array, values = pair
    for index in [([0], slice(None), [1]), ([7],), ([-8],), (slice(None), [True] * 3), ([0.5],),
                  ([[0, 1]], 1, slice(None))]:
        with pytest.raises(IndexError):
            array[index]
    for index in [([0], [1]), ([0], [1], slice(None)), (None, [0], [1]), np.ones((7, 11), bool),
                  ([0, 1], [0, 1, 2], [0]), "x"]:
        with pytest.raises(IndexError):
            array.vindex[index]
    for index in [(None, [0]), ([[0]],), 1.5, (0, 0, 0, 0)]:
        with pytest.raises(IndexError):
            array.oindex[index]
    for index in [[0], slice(None, None, 2), 5, (0, None)]:
        with pytest.raises(IndexError):
            array.blocks[index]


def test_lists_of_texts(tmp_path):
    texts = nczchunk.create(tmp_path / "a", shape=(5, 3), dtype=str, chunks=(2, 2))
    due = np.array([[f"{i}{j}" for j in range(3)] for i in range(5)], object)
    texts[...] = due
    assert texts[[4, 0]].tolist() == due[[4, 0]].tolist() and texts.vindex[[1, 2], [2, 0]].tolist() == ["12", "20"]
    texts.oindex[[0, 3], [2, 0]] = "x"
    due[np.ix_([0, 3], [2, 0])] = "x"
    assert texts[...].tolist() == due.tolist()


@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_that_differ_in_length(tmp_path, threads):
    data = np.arange(90 * 7).reshape(90, 7)
    with nczchunk.create(tmp_path / "a.zarr", shape=data.shape, dtype="i8", chunks=([31, 28, 31], 4),
                         threads=threads) as array:
        assert (array.chunks, array.nchunks) == ((31, 4), 6)
        assert array.read_chunk_sizes == ((31, 28, 31), (4, 3))
        assert "up to 31" in repr(array.info) and "svg" in array.info._repr_html_()
        array[...] = data
        assert (array.blocks[1, 1] == data[31:59, 4:]).all() and (array.blocks[-2:] == data[31:]).all()
        # Rows of one chunk, whose lengths are not those of the others, are written together.
        rows = [0, 30, 31, 32, 58, 59, 61, 62, 89]
        array.oindex[rows] = -data[rows]
        data[rows] *= -1
        assert (array[...] == data).all() and (array.oindex[rows] == data[rows]).all()
        array.resize((40, 7))
        assert array.read_chunk_sizes == ((31, 9), (4, 3))
        with pytest.raises(nczchunk.Error, match="ends before the dimension does"):
            array.resize((91, 7))
    for chunks in [([31, 28], 4), ([31, 28, 31, 0], 4), ([], 4), ([90],)]:
        with pytest.raises((nczchunk.Error, ValueError)):
            nczchunk.create(tmp_path / "b.zarr", shape=data.shape, dtype="i8", chunks=chunks)


@pytest.mark.parametrize("dtype", ["i4", "S5", "U7", "M8[ms]", str])
def test_results_without_dimensions_have_the_types_that_numpy_gives_them(tmp_path, dtype):
    kind = object if dtype is str else dtype
    for shape in [(), (2, 3)]:
        values = np.full(shape, "2" if np.dtype(kind).kind in "SUO" else 2).astype(kind)
        array = nczchunk.create(tmp_path / f"{len(shape)}", shape=shape, dtype=dtype)
        array[...] = values
        ints = (1,) * len(shape)
        for index in [ints, (*ints, ...), (..., *ints), (..., *ints, None), ..., ()]:
            found, due = array[index], values[index]
            assert type(found) is type(due) and np.shape(found) == np.shape(due) and np.all(found == due), index
            assert not isinstance(due, np.ndarray) or found.dtype == due.dtype, index
        assert np.asarray(array).dtype == values.dtype and np.array_equal(array, values)


def test_arrays_are_iterated_as_numpy_s_are(pair, tmp_path):
    array, values = pair
    assert all(np.array_equal(found, due) for found, due in zip(array, values)) and len(list(array)) == 7
    with pytest.raises(TypeError, match="without dimensions"):
        list(nczchunk.create(tmp_path / "a", shape=(), dtype="i4"))


def test_a_mask_of_all_dimensions_may_be_in_a_tuple(tmp_path):
    values = np.arange(12).reshape(3, 4)
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="i8", chunks=(2, 2))
    array[...] = values
    mask = values % 3 == 1
    for index in [(mask,), (mask, ...), (..., mask)]:
        assert array[index].tolist() == values[index].tolist()
        array[index] = values[index] = values[index] + 12
    assert np.array_equal(array, values)


def test_what_takes_no_lists_says_so(pair):
    array, _ = pair
    for take in [array.locate, array.read_cost, lambda index: array.read_into(np.empty((2, 11, 13), "i4"), index)]:
        with pytest.raises(IndexError, match="only array.*oindex and vindex take lists and masks"):
            take([0, 1])
