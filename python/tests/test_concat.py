"""Several paths as one."""

import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import nczchunk

LENGTHS = [5, 0, 9, 1]


@pytest.fixture
def years(tmp_path):
    """Paths whose arrays follow one another, and the values of all."""
    paths, values = [], np.arange(sum(LENGTHS) * 3, dtype="i2").reshape(-1, 3)
    begin = 0
    for number, steps in enumerate(LENGTHS):
        paths.append(tmp_path / str(number))
        made = nczchunk.create(paths[-1], "v", shape=(steps, 3), dtype="i2", chunks=(4, 2), dims=("time", "x"),
                               attrs={"units": "K"})
        made[...] = values[begin:begin + steps]
        begin += steps
        nczchunk.create(paths[-1], "x", shape=(3,), dtype="i4", dims=("x",))[...] = [number] * 3
    return nczchunk.concat(paths, "time"), values


def test_what_is_joined_is_given_where_a_path_is(years):
    joined, values = years
    with nczchunk.open(joined, "v") as array:
        assert array.shape == values.shape and array.dims == ("time", "x")
        np.testing.assert_array_equal(array[...], values)
        np.testing.assert_array_equal(array[3:14:2, ::-1], values[3:14:2, ::-1])
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[4:6], values[4:6])
        assert {re.split(r"[/\\]", chunk.object)[-5] for chunk in array.locate()} >= {"0", "2", "3"}
    group = nczchunk.open_group(joined)
    assert sorted(group) == ["v", "x"] and group["v"].shape == values.shape
    assert group["x"][...].tolist() == [0, 0, 0]
    assert [node.shape for node in nczchunk.list_nodes(joined)] == [None, values.shape, (3,)]
    assert pickle.loads(pickle.dumps(joined)) == joined and "concat" in repr(joined)


def test_passwords_in_urls_are_not_shown():
    joined = nczchunk.concat(["https://me:hunter2@h/a.nc", "/b.nc"], "time")
    for given in (joined, nczchunk.with_external_links("https://me:hunter2@h/a.h5"),
                  nczchunk.with_external_links(joined)):
        assert "hunter2" not in repr(given) and "//h/a" in repr(given)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_there_may_be_more_directories_than_open_files(tmp_path):
    paths = [tmp_path / f"{number:02}" / "sst.nc" for number in range(80)]
    for path in paths:
        path.parent.mkdir()
        shutil.copy(pathlib.Path(__file__).parents[2] / "data" / "coads_sst.nc", path)
    program = """if True:
        import resource, sys, nczchunk
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        joined = nczchunk.open(nczchunk.concat(sys.argv[1:], "TIME"), "SST")
        print(*joined.shape, float(joined[-1, 45, 90]) == float(joined[11, 45, 90]))"""
    ran = subprocess.run([sys.executable, "-c", program, *map(str, paths)], text=True, capture_output=True)
    assert (ran.stdout, ran.stderr) == ("960 90 180 True\n", "")


def test_what_is_joined_is_read_only(years):
    joined, _ = years
    with pytest.raises(nczchunk.errors.NotPermitted):
        nczchunk.open(joined, "v", "r+")
    with pytest.raises(nczchunk.errors.NotPermitted):
        nczchunk.open_group(joined, mode="r+")


def test_wrong_paths_are_refused(years, tmp_path):
    with pytest.raises(TypeError, match="list of paths"):
        nczchunk.concat("one", "time")
    with pytest.raises(ValueError, match="^paths: expected at least one path$"):
        nczchunk.concat([], "time")
    with pytest.raises(nczchunk.errors.NotFound, match="nowhere"):
        nczchunk.open(nczchunk.concat([tmp_path / "0", tmp_path / "nowhere"], "time"), "v")


def test_xarray_opens_what_is_joined(years):
    xarray = pytest.importorskip("xarray")
    from nczchunk.xarray_backend import Backend
    joined, values = years
    with xarray.open_dataset(joined, engine=Backend) as dataset:
        np.testing.assert_array_equal(dataset["v"].values, values)
