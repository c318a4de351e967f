"""What an HDF5 file has and a copy of it does not."""

import pathlib

import pytest

import nczchunk
from conftest import DATA

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests/vectors/left_out.h5"
COMPOUND = "not supported: attributes of compound, array and opaque types"
ENUMERATION = "not supported: the names of an enumeration's values"


@pytest.mark.parametrize("name, expected", [
    ("enumeration", {"origin": COMPOUND, "": ENUMERATION}),
    ("structure", {"": "not supported: the names and types of a structure's members"}),
    ("opaque", {"": "not supported: the tag of an opaque type"}),
    ("array", {"": "not supported: the shape and type of an array type's elements"}),
    ("group/plain", {"colour": ENUMERATION, "reference": "not supported: references to objects of an HDF5 file"})])
def test_an_array_tells(name, expected):
    with nczchunk.open(FILE, name) as array:
        assert array.left_out == expected
    [node] = nczchunk.list_nodes(FILE, name)
    assert node.left_out == expected
    with pytest.raises(ValueError):
        array.left_out  # noqa: B018 - it is closed


def test_a_group_tells():
    root = nczchunk.open_group(FILE)
    assert root.left_out == {"origin": COMPOUND} and dict(root.attrs) == {"title": "left out"}
    assert root["group"].left_out == {"key": COMPOUND}
    assert {node.name: node.left_out for node in nczchunk.list_nodes(FILE) if node.is_group} == {
        "": {"origin": COMPOUND}, "group": {"key": COMPOUND}}


def test_other_formats_lose_nothing(tmp_path):
    assert nczchunk.open(DATA / "coads_sst.nc", "SST").left_out == {}
    group = nczchunk.create_group(tmp_path, attrs={"nested": {"a": [None]}})
    array = group.create("a", shape=(2,), dtype="i2", attrs={"nested": [{}]})
    array.attrs["more"] = 1
    assert array.left_out == group.left_out == {}
