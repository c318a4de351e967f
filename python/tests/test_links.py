"""Links of HDF5 files to other files."""

import pathlib
import pickle

import numpy as np
import pytest

import nczchunk

LINKS = pathlib.Path(__file__).resolve().parents[2] / "tests/vectors/links"


def test_links_are_followed_where_that_is_allowed(tmp_path):
    path = LINKS / "main.h5"
    with pytest.raises(nczchunk.Error, match="another file, unless the caller allows"):
        nczchunk.open(path, "array")
    allowed = nczchunk.with_external_links(path)
    with nczchunk.open(allowed, "array") as array:
        assert array.dims[0] == "t"
        np.testing.assert_array_equal(array[...], np.arange(12, dtype="f4").reshape(3, 4))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(array))[1], [4, 5, 6, 7])
        assert {pathlib.Path(chunk.object).name for chunk in array.locate()} == {"other.h5"}
    group = nczchunk.open_group(allowed, "group")
    assert {"x", "t", "same", "root", "back"} <= set(group) and group["root"][...].tolist() == [0, 1, 2, 3, 4]
    problems = {node.name for node in nczchunk.list_nodes(allowed) if node.problem}
    assert {"no_file", "no_object", "no_hdf5", "circle", "ring"} <= problems and "array" not in problems
    assert pickle.loads(pickle.dumps(allowed)) == allowed == nczchunk.with_external_links(allowed)
    assert "with_external_links" in repr(allowed) and hash(allowed) == hash(nczchunk.with_external_links(path))
    with pytest.raises(nczchunk.errors.NotPermitted):
        nczchunk.open(allowed, "array", "r+")


def test_references_name_the_other_file(tmp_path):
    nczchunk.write_references(nczchunk.with_external_links(LINKS / "main.h5"), tmp_path / "refs.json", "array")
    np.testing.assert_array_equal(nczchunk.open(tmp_path / "refs.json", "array")[2], [8, 9, 10, 11])


def test_xarray_reads_behind_links():
    xarray = pytest.importorskip("xarray")
    dataset = xarray.open_dataset(nczchunk.with_external_links(LINKS / "main.h5"), engine="nczchunk", group="group",
                                  drop_variables=["again"])
    assert dataset["x"].dims[0] == "t" and dataset["x"].values[2, 3] == 11
