"""Writes a netCDF-4 file with many chunks, which threads can decode: hdf5.py FILE"""
import sys

import netCDF4
import numpy as np

with netCDF4.Dataset(sys.argv[1], "w") as dataset:
    dataset.createDimension("y", 512)
    dataset.createDimension("x", 512)
    variable = dataset.createVariable("v", "i4", ("y", "x"), zlib=True, shuffle=True, chunksizes=(128, 128))
    variable.units = "m"
    variable[:] = np.arange(512 * 512).reshape(512, 512) // 7
