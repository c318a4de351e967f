#!/usr/bin/env python3
"""Writes small.cfdb: a file as cfdb 0.11 makes it, with few buckets so that it is small.

    pip install cfdb==0.11.0 booklet==0.12.10
    tests/vectors/cfdb_file.py tests/vectors/small.cfdb

time has 6 days from 2020-01-01 on, and y -4 to 5, of which -4 to -1 were put before the others. temperature is
`10 * time + y / 2` where both indices count from the first element, but for the last day, which nothing was written to.
"""

import pathlib
import sys

import cfdb
import numpy as np

path = pathlib.Path(sys.argv[1])
with cfdb.open_dataset(path, "n", n_buckets=61, compression="lz4_shuffle") as file:
    file.attrs["title"] = "a small file"
    days = np.arange("2020-01-01", "2020-01-06", dtype="datetime64[D]")
    file.create.coord.generic("time", days, chunk_shape=(4,))
    file.create.coord.generic("y", np.arange(6, dtype="int16"), chunk_shape=(4,))
    packed = cfdb.dtypes.dtype("float32", precision=1, min_value=-10, max_value=100)
    temperature = file.create.data_var.generic("temperature", ("time", "y"), packed, chunk_shape=(2, 4))
    temperature.attrs["long_name"] = "air temperature"
    file["y"].prepend(np.arange(-4, 0, dtype="int16"))
    values = 10 * np.arange(5, dtype="float32")[:, None] + np.arange(10, dtype="float32") / 2
    file["temperature"][0:5, 0:10] = values
    file["time"].append(np.array(["2020-01-06"], "datetime64[D]"))
    file.create.data_var.generic("remark", ("time",), "str", chunk_shape=(4,))
