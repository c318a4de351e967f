"""Attributes come back as they were written: by this package, by zarr-python and by netCDF."""

import json

import numpy as np
import pytest

import nczchunk

VALUES = {
    "text": "m s-1", "empty": "", "umlauts": "Grüße 🌊 \x00\t\"", "true": True, "false": False, "none": None,
    "one": 1, "minus": -(2**63), "large": 2**64 + 1, "huge": 10**40, "real": 0.1, "whole": 3.0, "tiny": 5e-324,
    "list": [1, 2.5, "x", None, True, [], {}], "nothing": [], "single": [5], "texts": ["a", ""], "bools": [True, False],
    "nested": {"a": {"b": [1, {"c": None}], "ü": 2.0}, "": {}},
    "many": list(range(300)),
}
ODD = {"surrogate": "\ud800", "nan": float("nan"), "infinities": [float("inf"), -float("inf")]}
ALL = {**VALUES, **ODD}


def same(found, due):
    """Whether two values are equal and of the same types, as their JSON says."""
    return json.dumps(dict(found), sort_keys=True) == json.dumps(due, sort_keys=True)


@pytest.mark.parametrize("format", ["zarr2", "zarr3", "nczarr"])
def test_they_come_back_as_they_were_written(tmp_path, format):
    made = nczchunk.create(tmp_path / "a", "v", shape=(2,), dtype="i4", dims=["x"], format=format, attrs=ALL)
    later = nczchunk.create(tmp_path / "b", "v", shape=(2,), dtype="i4", dims=["x"], format=format)
    for name, value in ALL.items():
        later.attrs[name] = value
    at_once = nczchunk.create(tmp_path / "c", "v", shape=(2,), dtype="i4", dims=["x"], format=format)
    at_once.attrs.update(ALL)
    for array, where in [(made, "a"), (later, "b"), (at_once, "c")]:
        assert same(array.attrs, ALL)
        with nczchunk.open(tmp_path / where, "v") as again:
            assert same(again.attrs, ALL)
        node = nczchunk.list_nodes(tmp_path / where)[-1]
        assert node.name == "v" and same(node.attrs, ALL)
    later.attrs["true"] = "no more"
    later.attrs.update(none=0, new={})
    del later.attrs["huge"]
    due = {**ALL, "true": "no more", "none": 0, "new": {}}
    del due["huge"]
    assert same(later.attrs, due) and list(later.attrs)[:4] == ["text", "empty", "umlauts", "true"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_python_reads_and_writes_the_same(tmp_path, zarr_format):
    zarr = pytest.importorskip("zarr")
    theirs = zarr.create_group(tmp_path, zarr_format=zarr_format, attributes=VALUES)
    theirs.create_array("theirs", shape=(2,), dtype="i4", attributes=VALUES)
    group, array = nczchunk.list_nodes(tmp_path)
    assert same(group.attrs, VALUES) and same(array.attrs, VALUES)
    with nczchunk.open(tmp_path, "theirs", "r+") as array:
        assert same(array.attrs, VALUES)
        array.attrs["changed"] = VALUES["nested"]
    assert same(zarr.open_array(tmp_path / "theirs").attrs, {**VALUES, "changed": VALUES["nested"]})
    nczchunk.create(tmp_path, "ours", shape=(2,), dtype="i4", format=f"zarr{zarr_format}", attrs=VALUES)
    assert same(zarr.open_array(tmp_path / "ours").attrs, VALUES)


def test_netcdf_has_types_of_numbers(tmp_path):
    array = nczchunk.create(tmp_path / "a", "v", shape=(2,), dtype="f4", dims=["x"], format="nczarr")
    for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]:
        array.attrs[dtype] = np.array([1, 2], dtype)
        array.attrs[f"one {dtype}"] = np.array(7, dtype)
        array.attrs[f"swapped {dtype}"] = np.array([1, 2], dtype).astype(np.dtype(dtype).newbyteorder())
    with nczchunk.open(tmp_path / "a", "v") as again:
        for dtype in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]:
            for name in [dtype, f"swapped {dtype}"]:
                assert again.attrs[name].dtype == dtype and again.attrs[name].tolist() == [1, 2]
            assert again.attrs[f"one {dtype}"].dtype == dtype and again.attrs[f"one {dtype}"] == 7
    # What becomes JSON has a type no more.
    array.attrs["i2"] = [True]
    assert array.attrs["i2"] == [True]


@pytest.mark.parametrize("format", ["NETCDF3_64BIT_DATA", "NETCDF4"])
def test_attributes_of_netcdf_files(tmp_path, format):
    netCDF4 = pytest.importorskip("netCDF4")
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=format) as file:
        file.createDimension("x", 2)
        for owner in [file, file.createVariable("v", "f4", ("x",))]:
            owner.setncattr("empty", "")
            owner.text, owner.float, owner.ints = "K", np.float32(0.1), np.array([1, 2], "i4")
            owner.byte, owner.large = np.int8(-1), np.uint64(2**64 - 1)
    with nczchunk.open(tmp_path / "a.nc", "v") as array:
        for attrs in [array.attrs, *(node.attrs for node in nczchunk.list_nodes(tmp_path / "a.nc"))]:
            assert attrs["text"] == "K" and attrs["ints"].dtype == "i4" and attrs["ints"].tolist() == [1, 2]
            assert attrs["empty"] == ""
            assert (attrs["float"], attrs["byte"], attrs["large"]) == (np.float32(0.1), -1, 2**64 - 1)
            assert attrs["float"].dtype == "f4" and attrs["byte"].dtype == "i1" and attrs["large"].dtype == "u8"


@pytest.mark.parametrize("where", ["a.nc", "file://{}#mode=nczarr,file"])
def test_a_text_of_netcdf_is_a_string_and_several_are_a_list(tmp_path, where):
    netCDF4 = pytest.importorskip("netCDF4")
    try:
        file = netCDF4.Dataset(where.format(tmp_path / "a") if "{" in where else tmp_path / where, "w")
    except OSError:
        pytest.skip("a netCDF-C without NCZarr")
    with file:
        for owner in [file, file.createVariable("v", "i4", ())]:
            owner.accented, owner.ascii = "é", "e"
            owner.setncattr_string("one", "x")
            owner.setncattr_string("two", ["x", "y"])
    path = next(tmp_path.iterdir())
    with nczchunk.open(path, "v") as array:
        for attrs in [array.attrs, *(node.attrs for node in nczchunk.list_nodes(path))]:
            assert same(attrs, {"accented": "é", "ascii": "e", "one": "x", "two": ["x", "y"]})
        assert array.attrs.as_netcdf()["one"] == ["x"]


def test_a_list_of_one_text_stays_a_list(tmp_path):
    array = nczchunk.create(tmp_path / "a", "v", shape=(2,), dtype="f4", dims=["x"], format="nczarr")
    array.attrs["one"] = ["x"]
    array.attrs.update(another=["x"])
    assert same(array.attrs, {"one": ["x"], "another": ["x"]})


def test_numbers_of_numpy_become_json(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="f4",
                            attrs={"nested": {"a": np.float32(0.5), "b": np.arange(3)}, "flag": np.bool_(True)})
    array.attrs["matrix"] = np.eye(2, dtype="i4")
    array.attrs["flags"] = [np.True_, np.False_]
    assert same(array.attrs, {"nested": {"a": 0.5, "b": [0, 1, 2]}, "flag": True, "matrix": [[1, 0], [0, 1]],
                              "flags": [True, False]})


def test_what_is_refused_changes_nothing(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="f4", dims=["x"], attrs={"a": 1}, format="zarr2")
    for value in [object(), {1j}, {"b": object()}, np.zeros(2, "c8"), 1j, b"bytes"]:
        with pytest.raises((TypeError, ValueError), match="new"):
            array.attrs["new"] = value
    for name in ["", "_ARRAY_DIMENSIONS", "_nczarr_attr", "a\0b", 3]:
        with pytest.raises((TypeError, ValueError)):
            array.attrs[name] = {}
        with pytest.raises((TypeError, ValueError)):
            array.attrs.update({"new": 1, name: {}})
    assert dict(array.attrs) == {"a": 1} and dict(nczchunk.open(tmp_path / "a").attrs) == {"a": 1}
    with pytest.raises(KeyError):
        array.attrs["_ARRAY_DIMENSIONS"]


def test_attributes_as_netcdf_has_them(tmp_path):
    attrs = {"a": 1, "b": [1.5], "c": ["x"], "d": {"e": None}}
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="f4", attrs=attrs)
    found = array.attrs.as_netcdf()
    assert found["a"].dtype == "i4" and found["b"].dtype == "f8" and found["c"] == ["x"] and found["d"] == '{"e":null}'


def test_values_are_copies(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="f4", attrs={"a": [1, {"b": 2}]})
    array.attrs["a"][1]["b"] = 3
    assert array.attrs["a"] == [1, {"b": 2}]


def test_numbers_that_python_does_not_have_are_refused(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2,), dtype="f4")
    for value in [np.longdouble(1), np.ones(2, "g"), [np.longdouble(1)]]:
        if np.dtype("g") == np.dtype("f8"):
            pytest.skip("here they are as Python's")
        with pytest.raises(TypeError, match=r"attrs\['k'\]: a value of the type (longdouble|ndarray) cannot be stored"):
            array.attrs["k"] = value
