#!/usr/bin/env python3
"""Writes refs.parq: three references in a Parquet file, as kerchunk writes them: a part of a file, bytes, and none.

    pip install kerchunk==0.2.10 fastparquet==2026.9.0
    tests/vectors/refs.py tests/vectors/refs.parq
"""

import json
import pathlib
import shutil
import sys
import tempfile

import kerchunk.df

ARRAY = {"zarr_format": 2, "shape": [3], "chunks": [1], "dtype": "<i2", "compressor": None, "filters": None,
         "fill_value": 0, "order": "C"}


def main():
    references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(ARRAY), "x/0": ["data/a.nc", 16817, 130],
                  "x/1": "base64:AQI="}
    with tempfile.TemporaryDirectory() as directory:
        kerchunk.df.refs_to_dataframe({"version": 1, "refs": references}, directory, record_size=3)
        shutil.copy(pathlib.Path(directory) / "x/refs.0.parq", sys.argv[1])


if __name__ == "__main__":
    main()
