#!/usr/bin/env python3
"""Writes deflated.zip: an array in a zip file whose entries are deflated, which this library reads and does not write.

    tests/vectors/zip_file.py tests/vectors/deflated.zip

v has 4 rows of 6 ints, which are 0 to 23, in 2 x 2 chunks.
"""

import json
import struct
import sys
import zipfile


def write(file, name, content):
    file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)


with zipfile.ZipFile(sys.argv[1], "w") as file:
    write(file, ".zgroup", json.dumps({"zarr_format": 2}))
    metadata = {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "fill_value": 0, "order": "C",
                "compressor": None, "filters": None}
    write(file, "v/.zarray", json.dumps(metadata))
    for row in range(2):
        for column in range(2):
            first = 12 * row + 3 * column
            values = [first + 6 * i + j for i in range(2) for j in range(3)]
            write(file, f"v/{row}.{column}", struct.pack("<6i", *values))
