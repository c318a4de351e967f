#!/usr/bin/env python3
"""Writes short_variables.nc: a small netCDF-4 file with variables that are shorter than their unlimited dimensions.

    pip install netCDF4==1.7.5.1.post1 numpy==2.5.5
    tests/vectors/short_variables.py tests/vectors/short_variables.nc
"""

import sys

import netCDF4
import numpy as np


def main():
    with netCDF4.Dataset(sys.argv[1], "w") as file:
        n = file.createGroup("n")
        g = n.createGroup("g")
        own = g.createGroup("own")
        for owner, dim in [(file, "r"), (n, "t"), (own, "t")]:
            owner.createDimension(dim, None)
        n.createDimension("x", 2)
        for owner, name, dtype, dims, shape in [
                (file, "texts", str, ("r",), (2,)), (file, "numbers", "i2", ("r",), (3,)),
                (n, "long", "i4", ("t", "x"), (5, 2)), (n, "short", "i4", ("t", "x"), (3, 2)),
                (n, "t", "f8", ("t",), (4,)), (n, "never", "i4", ("t", "x"), (0, 2)),
                (g, "longest", "i4", ("t", "x"), (7, 2)),
                (own, "v", "i4", ("t",), (3,)), (own, "w", "i4", ("t",), (1,))]:
            variable = owner.createVariable(name, dtype, dims, chunksizes=[2] * len(dims))
            if shape[0]:
                values = np.arange(np.prod(shape)).reshape(shape)
                variable[:shape[0]] = values.astype(str).astype(object) if dtype is str else values


if __name__ == "__main__":
    main()
