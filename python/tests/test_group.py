"""Groups, and what an array library has beside reads and writes."""

import json
import os
import pathlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import nczchunk
from conftest import DATA


@pytest.mark.parametrize("format", ["zarr2", "zarr3"])
def test_groups_are_created_changed_and_read(tmp_path, format):
    attrs = {"title": "grüße", "nested": {"a": [None, True]}}
    group = nczchunk.create_group(tmp_path, "ocean/deep", attrs=attrs, format=format)
    made = group.create("t", shape=(4,), dtype="f4", dims=["x"], attrs={"units": "K"})
    made[...] = [1, 2, 3, 4]
    group.create_group("more", attrs={"a": 1}).create("u", shape=(2,), dtype="i2")
    assert made.format == {"zarr2": "Zarr v2", "zarr3": "Zarr v3"}[format] and dict(group.attrs) == attrs
    root = nczchunk.open_group(tmp_path)
    assert list(root) == ["ocean"] and len(root) == 1 and "ocean" in root and "sea" not in root and 3 not in root
    found = root["ocean/deep"]
    assert sorted(found) == ["more", "t"] and set(found.arrays()) == {"t"} and set(found.groups()) == {"more"}
    assert found["t"][1] == 2 and root["ocean"]["deep"]["more"].attrs["a"] == 1
    assert root["ocean/deep/more/u"].shape == (2,) and dict(pickle.loads(pickle.dumps(found)).attrs) == attrs
    for missing in ["none", "", "ocean/none", "..", "../x"]:
        with pytest.raises(KeyError):
            root[missing]
        assert missing not in root
    assert root.tree().splitlines()[1:] == [
        "    ocean", "        deep", "            more", "                u (2,) int16", "            t (4,) float32"]
    group.attrs.update(title="new", big=2**70)
    del group.attrs["nested"]
    assert dict(nczchunk.open_group(tmp_path, "ocean/deep").attrs) == {"title": "new", "big": 2**70}
    with pytest.raises(KeyError):
        del group.attrs["nested"]
    zarr = pytest.importorskip("zarr")
    theirs = zarr.open_group(tmp_path, mode="r")
    assert dict(theirs["ocean/deep"].attrs) == {"title": "new", "big": 2**70} and theirs["ocean/deep/t"][2] == 3


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_metadata_are_consolidated_for_zarr_python(tmp_path, zarr_format):
    zarr = pytest.importorskip("zarr")
    root = nczchunk.create_group(tmp_path, attrs={"a": 1}, format=f"zarr{zarr_format}")
    root.create("g/x", shape=(4,), dtype="i4", attrs={"units": "m"})[...] = 5
    root.consolidate()
    found = zarr.open_consolidated(tmp_path, zarr_format=zarr_format)
    assert found.metadata.consolidated_metadata is not None and dict(found.attrs) == {"a": 1}
    assert (found["g/x"][...] == 5).all() and found["g/x"].attrs["units"] == "m" and list(found) == ["g"]
    # What is changed afterwards is not hidden.
    for change in [lambda: root.attrs.update(a=2), lambda: root["g"].attrs.update(a=3), lambda: root.create_group("h"),
                   lambda: root["g/x"].attrs.update(units="K")]:
        root.consolidate()
        change()
        with pytest.raises(ValueError):
            zarr.open_consolidated(tmp_path, zarr_format=zarr_format)
    documents = {2: [".zattrs", ".zgroup"], 3: ["zarr.json"]}[zarr_format]
    assert sorted(os.listdir(tmp_path)) == sorted(["g", "h", *documents])


def test_what_groups_refuse(tmp_path):
    group = nczchunk.create_group(tmp_path, "g")
    group.create("a", shape=(2,), dtype="i4")
    for name in ["g", "g/a"]:
        with pytest.raises(FileExistsError, match=f"{re.escape(str(tmp_path))}: {name}: something exists here"):
            nczchunk.create_group(tmp_path, name)
    with pytest.raises(FileExistsError, match="g/a: something exists here"):
        nczchunk.create_group(tmp_path, "g/a/b")
    for name in ["a//b", "..", "a/.", "__x", "zarr.json"]:
        with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}: {name}: "):
            nczchunk.create_group(tmp_path, name)
    for wrong in [{"_ARRAY_DIMENSIONS": 1}, {"": 1}, {"a": object()}]:
        with pytest.raises((TypeError, ValueError)):
            nczchunk.create_group(tmp_path, "h", attrs=wrong)
        with pytest.raises((TypeError, ValueError)):
            group.attrs.update(wrong)
    assert sorted(os.listdir(tmp_path)) == ["g", "zarr.json"] and dict(group.attrs) == {}
    with pytest.raises(FileNotFoundError, match="this is an array"):
        nczchunk.open_group(tmp_path, "g/a")
    with pytest.raises(FileNotFoundError):
        nczchunk.open_group(tmp_path, "none")
    read = nczchunk.open_group(tmp_path)
    for write in [lambda: read.create("x", shape=(1,), dtype="i4"), lambda: read.create_group("x"), read.consolidate,
                  lambda: read.attrs.update(a=1), lambda: read["g"].attrs.update(a=1),
                  lambda: read["g/a"].__setitem__(0, 1)]:
        with pytest.raises(PermissionError, match="opened read-only"):
            write()


def test_a_group_that_is_missing_is_named_with_the_path(tmp_path):
    nczchunk.create_group(tmp_path / "a")
    os.mkdir(tmp_path / "empty")
    for path in [tmp_path / "a", DATA / "coads_sst.nc"]:
        for look in [nczchunk.list_nodes, nczchunk.open_group]:
            with pytest.raises(nczchunk.errors.NotFound, match=f"^{re.escape(str(path))}: q: no such group$"):
                look(path, "q")
    for look in [nczchunk.list_nodes, nczchunk.open_group]:
        with pytest.raises(nczchunk.errors.NotSupported, match=f"^{re.escape(str(tmp_path / 'empty'))}: the format is"):
            look(tmp_path / "empty")


def test_groups_of_netcdf_and_zip_files(tmp_path):
    with nczchunk.NewZip(tmp_path / "a.zip") as new:
        nczchunk.create(new, "g/a", shape=(4,), dtype="i4")[...] = [1, 2, 3, 4]
    assert nczchunk.open_group(tmp_path / "a.zip")["g/a"][3] == 4
    with pytest.raises(PermissionError, match="read-only"):
        nczchunk.open_group(tmp_path / "a.zip", mode="r+")
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        file.createVariable("v", "i4", ("x",))[:] = 7
        file.title, file.number = "t", np.float32(0.1)
    with_types = nczchunk.open_group(tmp_path / "a.nc")
    assert list(with_types) == ["v"] and with_types["v"][2] == 7 and with_types.attrs["number"] == np.float32(0.1)


def test_dimensions_are_those_that_a_group_defines(tmp_path):
    group = nczchunk.open_group(DATA / "coads_sst.nc")
    assert group.dimensions == {"COADSX": (180, False), "COADSY": (90, False), "TIME": (12, True)}
    assert group.dimensions["TIME"].unlimited and group.dimensions["COADSX"].length == 180
    # Zarr has none beside those of the arrays.
    assert nczchunk.create_group(tmp_path / "g").dimensions == {}


def test_append(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2, 3), dtype="i4", chunks=(2, 2))
    array[...] = 1
    due = np.ones((2, 3), "i4")
    for values, axis in [(np.full((3, 3), 2), 0), (np.full((5, 1), 3), 1), (np.zeros((0, 4)), 0), ([[4]] * 5, -1)]:
        due = np.append(due, values, axis).astype("i4")
        assert array.append(values, axis) == due.shape == array.shape
    assert np.array_equal(array[...], due)
    for wrong, axis in [(np.zeros((2, 2)), 0), (np.zeros(3), 0), (np.zeros((5, 1)), 2), (5, 0), ([["x"] * 5], 0)]:
        with pytest.raises(ValueError, match="values|axis"):
            array.append(wrong, axis)
    assert array.shape == due.shape


def test_an_array_without_dimensions_does_not_become_longer(tmp_path):
    with pytest.raises(ValueError, match="array without dimensions"):
        nczchunk.create(tmp_path / "a", shape=(), dtype="i4").append(1)


def test_how_many_chunks_there_are(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(10, 7), dtype="i4", chunks=(2, 2), shards=(4, 4))
    assert (array.nchunks, array.nchunks_initialized) == (20, 0)
    array[:3, 0] = 1
    assert (array.nchunks, array.nchunks_initialized) == (20, 2)
    scalar = nczchunk.create(tmp_path / "b", shape=(), dtype="i4")
    scalar[()] = 1
    assert (scalar.nchunks, scalar.nchunks_initialized) == (1, 1)
    assert nczchunk.create(tmp_path / "c", shape=(0, 4), dtype="i4").nchunks == 0


def test_what_notebooks_show(tmp_path):
    for shape, chunks in [((), ()), ((5,), (2,)), ((0, 3), (1, 3)), ((10**9, 10, 7), (3, 5, 7))]:
        array = nczchunk.create(tmp_path / "a", shape=shape, chunks=chunks, dtype="f4", overwrite=True,
                                dims=[f"<{d}>" for d in range(len(shape))])
        text, html = repr(array.info), array._repr_html_()
        assert "float32" in text and str(shape) in text and html.count("<line") < 200
        assert ("&lt;0&gt;" in html and "<0>" not in html) or not shape
        assert ("<svg" in html) == (bool(shape) and all(shape))


def test_dask_tells_arrays_apart(tmp_path):
    dask = pytest.importorskip("dask.base")
    first, second = (nczchunk.create(tmp_path / name, shape=(4,), dtype="i4") for name in "ab")
    assert dask.tokenize(first) == dask.tokenize(pickle.loads(pickle.dumps(first)))
    assert dask.tokenize(first) != dask.tokenize(second)
    before = dask.tokenize(first)
    first.resize((5,))
    assert dask.tokenize(first) != before


def test_types_are_complete(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    example = pathlib.Path(__file__).with_name("typed_example.py")
    subprocess.run([sys.executable, example, tmp_path], check=True, stdout=subprocess.DEVNULL)
    told, _, status = mypy.run(["--strict", "--cache-dir", str(tmp_path / "cache"), str(example)])
    assert status == 0, told
    assert json.loads((tmp_path / "new.zarr" / "zarr.json").read_text())["attributes"] == {"title": "t"}
