#!/usr/bin/env python3
"""Writes left_out.h5: a small HDF5 file whose types and attributes say more than the library shows.

    pip install h5py==3.16.0 numpy==2.4.6
    tests/vectors/left_out.py tests/vectors/left_out.h5
"""

import sys

import h5py
import numpy as np


def main():
    colours = h5py.enum_dtype({"red": 0, "green": 1}, "i1")
    pair = np.dtype([("x", "<i4"), ("y", "<f4")])
    opaque = h5py.h5t.create(h5py.h5t.OPAQUE, 4)
    opaque.set_tag(b"a key")
    with h5py.File(sys.argv[1], "w", libver="latest") as file:
        file.attrs["title"], file.attrs["origin"] = "left out", np.array((1, 2.5), pair)
        file.create_dataset("enumeration", data=np.array([1, 0, 1], "i1"), dtype=colours)
        file.create_dataset("structure", data=np.zeros(2, pair))
        for name, of in [("opaque", opaque), ("array", h5py.h5t.array_create(h5py.h5t.STD_I16LE, (3,)))]:
            h5py.h5d.create(file.id, name.encode(), of, h5py.h5s.create_simple((2,)))
        plain = file.create_dataset("group/plain", data=np.arange(3, dtype="<i4"))
        plain.attrs["units"], plain.attrs["colour"] = "K", np.array(1, colours)
        plain.attrs["reference"] = file["enumeration"].ref
        file["group"].attrs["key"] = np.void(b"abcd")
        file["enumeration"].attrs["origin"] = np.array((1, 2.5), pair)


if __name__ == "__main__":
    main()
