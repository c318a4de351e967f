"""Writes and reads a file with Python's netCDF4 and xarray.

preloaded.py DIRECTORY right|wrong: whether strides over an unlimited dimension give the right values (they do not in
stock netCDF-C, B1) tells whether the adapter is at work.
"""

import ctypes
import sys

import netCDF4
import numpy
import xarray

directory, expected = sys.argv[1:]
url = f"file://{directory}/file#mode=nczarr,file"
numbers = numpy.arange(39, dtype="i4").reshape(3, 13)
words = numpy.array(["one", "two", "", "four"] * 3 + ["last"], dtype=object)

with netCDF4.Dataset(url, "w") as file:
    file.createDimension("time", None)
    file.createDimension("station", None)
    file.createDimension("x", 13)
    file.createVariable("numbers", "i4", ("time", "station"), chunksizes=(3, 8))[:] = numbers
    file.createVariable("words", str, ("x",), chunksizes=(5,))[:] = words
    file.createVariable("packed", ">f8", ("x",), chunksizes=(4,), zlib=True, endian="big")[:] = numpy.arange(13) / 3
    file["packed"][::2] = -1

with netCDF4.Dataset(url) as file:
    is_right = numpy.array_equal(file["numbers"][:, ::3], numbers[:, ::3])
    assert is_right == (expected == "right"), f"strides over an unlimited dimension: {file['numbers'][:, ::3]}"
    assert numpy.array_equal(file["numbers"][:], numbers)
    assert list(file["words"][:]) == list(words)
    assert file["packed"][1] == 1 / 3 and file["packed"][2] == -1

# The preloaded library says so too.
adapted = getattr(ctypes.CDLL(None), "nczchunk_netcdf_adapted", None)
if expected == "right":
    adapted.restype = ctypes.c_char_p
    assert b"libnetcdf" in adapted(), adapted()
else:
    assert adapted is None

with xarray.open_dataset(url, engine="netcdf4") as dataset:
    assert numpy.array_equal(dataset["numbers"].values, numbers)
    if expected == "right":
        assert numpy.array_equal(dataset["numbers"][1:, 1::4].values, numbers[1:, 1::4])

print(f"netCDF4 {netCDF4.__version__} with netCDF-C {netCDF4.__netcdf4libversion__}: {expected}, as expected")
