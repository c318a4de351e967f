"""The memory of arrays that are read, which is used again when nobody has it any more."""

import gc
import threading

import nczchunk
import numpy as np
import pytest

MIB = 1 << 20


@pytest.fixture
def array(tmp_path):
    array = nczchunk.create(tmp_path / "large.zarr", shape=(9, 8 * MIB), dtype="u1", chunks=(1, 8 * MIB), codecs=[])
    array[:] = np.arange(9, dtype="u1")[:, None]
    return array


def address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_used_again_when_the_last_view_is_gone(array):
    first = array[0]
    view, at = first[5:7].reshape(2, 1), address(first)
    del first
    gc.collect()
    second = array[1]
    assert address(second) != at
    assert view.tolist() == [[0], [0]] and (second == 1).all()
    del view
    gc.collect()
    third = array[2]
    assert address(third) == at
    assert (second == 1).all() and (third == 2).all()


def test_what_is_read_is_an_array_like_any_other(array):
    found = array[3]
    assert type(found) is np.ndarray and found.flags.writeable and found.flags.c_contiguous and found.flags.aligned
    found[:] = 77
    assert (array[3] == 3).all() and (found == 77).all()
    assert (array.oindex[[4, 5]][:, 1] == [4, 5]).all()


def test_at_most_64_mib_are_kept(array):
    from nczchunk import memory

    many = [array[i] for i in range(9)]
    assert len({address(one) for one in many}) == 9
    assert all((one == i).all() for i, one in enumerate(many))
    del many
    gc.collect()
    assert sum(one.nbytes for one in memory._free) == 64 * MIB
    # What is much smaller does not take it, and what is larger cannot.
    kept = {address(one) for one in memory._free}
    assert address(array[0, :5 * MIB]) not in kept and address(array[:2]) not in kept
    assert address(array[0, :7 * MIB]) in kept


def test_threads_have_memory_of_their_own(array):
    wrong = []

    def read(i):
        for _ in range(40):
            found = array[i]
            if not (found == i).all():
                wrong.append(i)

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
