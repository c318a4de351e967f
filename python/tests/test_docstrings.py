"""The examples in docstrings do what they say."""

import doctest
import glob
import importlib
import pkgutil

import numpy as np
import pytest

import nczchunk

from conftest import DATA

# Beside Python's modules lies the library, which the interpreter takes for one.
MODULES = ["nczchunk", *(f"nczchunk.{module.name}" for module in pkgutil.iter_modules(nczchunk.__path__)
                         if module.name != "libnczchunk")]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A directory with what the examples open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(DATA)
    netcdf = pytest.importorskip("scipy.io").netcdf_file
    for name in ("sst-1.nc", "sst-2.nc", "model.nc"):
        with netcdf(name, "w") as file:
            for dimension, length in (("time", None), ("lat", 18), ("lon", 36)):
                file.createDimension(dimension, length)
            file.createVariable("sst", "f4", ("time", "lat", "lon"))[:365] = np.zeros((365, 18, 36), "f4")
    with nczchunk.create("maps.zarr", shape=(730, 48, 48), dtype="f4", chunks=(1, 48, 48)) as maps:
        maps[...] = 1


@pytest.mark.parametrize("name", MODULES)
def test_examples(tree, name):
    names = {"glob": glob, "np": np, "nczchunk": nczchunk}
    if name == "nczchunk.zarr":
        names["zarr"] = pytest.importorskip("zarr", "3.1")
    if name in ("nczchunk.storage", "nczchunk.references", "nczchunk.xarray_backend"):
        names["xarray"] = pytest.importorskip("xarray")
    with nczchunk.open("data/coads_sst.zarr") as array:
        found = doctest.testmod(importlib.import_module(name), extraglobs={**names, "array": array})
    if "zarr" in names:
        names["zarr"].config.refresh()
    assert found.failed == 0
