"""Reads the datasets of data.py with netCDF4 and compares all with what zarr-python has read: compare.py DIRECTORY

compare.py DIRECTORY COPIES reads copies by nccopy instead, which have the same names with .nc behind them. Where a
.ncrc file names the plugin (NCRCENV_RC), directories are opened by a metadata file in them.
"""
import json
import os
import pathlib
import sys

import netCDF4
import numpy as np

where = pathlib.Path(sys.argv[1])
copies = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
compared = 0


def same(found, expected, what):
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    if expected.dtype.kind == "U":
        equal = [str(s) for s in found.ravel()] == [str(s) for s in expected.ravel()]
    else:
        assert found.dtype.newbyteorder("=") == expected.dtype.newbyteorder("="), (what, found.dtype, expected.dtype)
        equal = np.array_equal(found, expected, equal_nan=expected.dtype.kind == "f")
    assert equal, (what, found, expected)


def is_same_attribute(found, expected):
    if isinstance(expected, list):
        return list(found) == expected
    return found == expected


for case in json.loads((where / "cases.json").read_text()):
    path = where / case["path"] if copies is None else copies / (case["path"] + ".nc")
    if "NCRCENV_RC" in os.environ and path.is_dir():
        path /= "zarr.json" if (path / "zarr.json").exists() else ".zgroup"
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        assert dataset.data_model == "NETCDF4", dataset.data_model
        for name, expected in case["attributes"].items():
            assert is_same_attribute(dataset.getncattr(name), expected), (path, name)
        said = getattr(dataset, "_nczchunk_left_out", "")
        assert [line.split(":")[0] for line in said.splitlines()] == case["left_out"], (path, said)
        for name, told in case["variables"].items():
            variable = dataset[name]
            variable.set_auto_chartostring(False)
            values = np.load(where / told["file"])
            if told["dims"]:
                # A second length of a name in one group has a name of its own.
                assert [d.split("_")[0] for d in variable.dimensions] == told["dims"], (name, variable.dimensions)
            same(np.asarray(variable[...]), values, (path, name))
            # netCDF4 of Debian 12 takes no strides for strings.
            for step in (1,) if values.dtype.kind == "U" else (2, 3):
                slab = tuple(slice(n % 2, None, step) for n in range(values.ndim))
                same(np.asarray(variable[slab]), values[slab], (path, name, slab))
            for attribute, expected in told["attributes"].items():
                assert is_same_attribute(variable.getncattr(attribute), expected), (path, name, attribute)
            if told["chunks"] and copies is None:
                assert variable.chunking() == told["chunks"], (path, name, variable.chunking())
            compared += 1
        for name, fill in case.get("fill", {}).items():
            found = dataset[name].getncattr("_FillValue")
            assert found == fill and found.dtype == dataset[name].dtype, (path, name, found)
print(f"netCDF4 {netCDF4.__version__} on netCDF-C {netCDF4.__netcdf4libversion__}: {compared} variables are equal")
