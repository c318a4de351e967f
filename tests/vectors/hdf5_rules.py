#!/usr/bin/env python3
"""Writes hdf5_rules.bin.gz: small HDF5 files whose addresses and lengths have other sizes, and files of conventions
that writers differ in. It is a list like hdf5.bin.gz.

    pip install h5py==3.16.0 netCDF4==1.7.5.1.post1 hdf5plugin==7.1.0 numpy==2.4.6
    tests/vectors/hdf5_rules.py tests/vectors/hdf5_rules.bin.gz
"""

import sys
import tempfile

import h5py
import netCDF4
import numpy as np

from hdf5 import Made, values, write


def sized(path, address, length, version):
    """A file with strings, groups, chunks and dimensions, whose addresses and lengths have so many bytes."""
    created, opened = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    created.set_sizes(address, length)
    opened.set_libver_bounds(version, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, created, opened)) as file:
        file.create_dataset("strings", data=["alpha", "be", "", "delta " * 9, "e"], dtype=h5py.string_dtype())
        file.create_dataset("g/chunks", data=values((4, 6)), chunks=(2, 2))
        file["g/soft"] = h5py.SoftLink("/strings")
        file["x"] = np.arange(3.0)
        file["x"].make_scale("x")
        file["v"] = values((3,))
        file["v"].dims[0].attach_scale(file["x"])
        file.attrs["text"], file.attrs["texts"] = "b\u00e4r", ["one", "two22", "three"]


def fixed(at, name, data, padding):
    """An attribute that is a string of a fixed length."""
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(len(data))
    kind.set_strpad(padding)
    made = h5py.h5a.create(at.id, name.encode(), kind, h5py.h5s.create(h5py.h5s.SCALAR))
    made.write(np.frombuffer(data, f"S{len(data)}")[0:1].reshape(()), kind)


def conventions(file):
    """Strings with each padding, names that only dimension scales keep for themselves, and structures of two numbers
    that are no complex number."""
    terminated, zeros, spaces = h5py.h5t.STR_NULLTERM, h5py.h5t.STR_NULLPAD, h5py.h5t.STR_SPACEPAD
    for name, padding in [("terminated", terminated), ("zeros", zeros), ("spaces", spaces)]:
        fixed(file, name, b"a\0b\n \0\0", padding)
        fixed(file, f"{name}_end", b"a \n  ", padding)
        fixed(file, f"{name}_one", b"\0", padding)
    file.attrs["CLASS"], file.attrs["NAME"], file.attrs["REFERENCE_LIST"] = "own", "name", np.int32(5)
    file["x"] = np.arange(3.0)
    file["x"].make_scale("x")
    file["x"].attrs["units"] = "m"
    file["v"] = values((3,))
    file["v"].attrs["CLASS"], file["v"].attrs["NAME"] = "own", "name"
    file["v"].dims[0].attach_scale(file["x"])
    for name, size, second in [("gap", 16, 8), ("complex", 8, 4)]:
        kind = h5py.h5t.create(h5py.h5t.COMPOUND, size)
        kind.insert(b"r", 0, h5py.h5t.IEEE_F32LE)
        kind.insert(b"i", second, h5py.h5t.IEEE_F32LE)
        array = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple((3,)))
        dtype = np.dtype({"names": ["r", "i"], "formats": ["<f4"] * 2, "offsets": [0, second], "itemsize": size})
        numbers = np.zeros(3, dtype)
        numbers["r"], numbers["i"] = [1, 2, 3], [4, 5, 6]
        array.write(h5py.h5s.ALL, h5py.h5s.ALL, numbers, kind)


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = Made(directory)
        for address, length, version in [(4, 4, 0), (8, 4, 0), (4, 8, 0), (2, 2, 0), (4, 4, 1), (8, 4, 1)]:
            name = f"sizes-{address}-{length}-{['earliest', 'v110'][version]}.h5"
            sized(made.path(name), address, length, [h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_V110][version])
            made.add(name, dims={"x": ["x"], "v": ["x"]})
        with h5py.File(made.path("conventions.h5"), "w") as file:
            conventions(file)
        # h5py reads it as complex numbers.
        made.add("conventions.h5", dims={"x": ["x"], "v": ["x"]}, skip=["gap"])
        with netCDF4.Dataset(made.path("char.nc"), "w") as file:
            file.createDimension("x", 3)
            file.createVariable("c", "S1", ("x",), fill_value=b"\0")[:] = [b"a", b"b", b"c"]
        made.add("char.nc", dims={"c": ["x"]}, skip=["x"])
        write(made, sys.argv[1])


if __name__ == "__main__":
    main()
