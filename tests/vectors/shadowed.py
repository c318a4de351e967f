#!/usr/bin/env python3
"""Writes shadowed.nc: a small netCDF-4 file with dimensions that are called alike in a group and in the one around it.

    pip install netCDF4==1.7.5.1.post1 h5py==3.16.0 numpy==2.5.5
    tests/vectors/shadowed.py tests/vectors/shadowed.nc
"""

import sys

import h5py
import netCDF4
import numpy as np


def main():
    with netCDF4.Dataset(sys.argv[1], "w") as file:
        outer = file.createDimension("t", None)
        file.createVariable("r", "i4", ("t",), chunksizes=(2,))[:] = np.arange(5)
        group = file.createGroup("g")
        group.createDimension("t", None)
        group.createVariable("v", "i4", ("t",), chunksizes=(2,))[:] = np.arange(9)
        group.createVariable("w", "i4", (outer,), chunksizes=(2,))
    # What netCDF4 writes to g/w has the length of the group's own dimension.
    with h5py.File(sys.argv[1], "r+") as file:
        file["g/w"].resize((4,))
        file["g/w"][:] = [6, 7, 8, 9]


if __name__ == "__main__":
    main()
