#!/usr/bin/env python3
"""Arrays as zarr-python 2.18 writes them: a program of its own, for it needs an environment of its own.

    zarr_python_2.py DIRECTORY    writes arrays and, beside each, what it holds; prints a list of them as JSON
"""

import json
import os
import pathlib
import sys
import warnings

import numcodecs
import numpy as np

from cases import ENOTBUILT, values

os.environ["ZARR_V3_EXPERIMENTAL_API"] = "1"
import zarr

SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)
DTYPES = ["b1", "i1", "u1", "<i2", ">i2", "<u4", "<i8", ">u8", "<f2", ">f4", "<f8", "<c8", ">c16", "S5", "<U4",
          "<M8[ns]", "<m8[ms]", "V8", [("a", "<i2"), ("b", "<f8")]]
FILLS = [("<i4", -7), ("<u8", 2**64 - 1), ("<f4", "NaN"), ("<f8", float("inf")), ("b1", True), ("<c8", 1 - 2j),
         ("S5", b"ab"), ("<U4", "\u00e4b"), ("<M8[s]", np.datetime64("NaT")), ("<f4", None), ("V4", b"\1\2\3\4")]


class Writer:
    def __init__(self, root):
        self.root, self.cases = root, []

    def add(self, name, path, expected, array="", dimensions=None):
        expected_path, texts = f"{path}.npy", expected.dtype == object
        np.save(expected_path, expected.astype(str) if texts else expected)
        self.cases.append(dict(name=f"zarr-python 2: {name}", path=str(path), array=array, values=expected_path,
                               dimensions=dimensions, texts=texts))

    def array(self, name, dtype="<f4", skipped=0, **settings):
        path = self.root / f"{len(self.cases)}"
        data = values(SHAPE, dtype)
        array = zarr.open(str(path), mode="w", shape=SHAPE, chunks=CHUNKS, dtype=dtype, **settings)
        array[skipped:] = data[skipped:]
        if skipped:
            # It reads what is not defined as whatever was in memory.
            data[:skipped] = array[:skipped] if array.fill_value is not None else np.zeros((), data.dtype)
        array.attrs["_ARRAY_DIMENSIONS"] = ["t", "y", "x"]
        self.add(name, path, data, dimensions=["t", "y", "x"])

    def all(self):
        for compressor in [None, zarr.Blosc("lz4", 5, 1), zarr.Blosc("zstd", 3, 2), numcodecs.Zlib(4),
                           numcodecs.GZip(5), numcodecs.LZ4(), numcodecs.Zstd(3)]:
            self.array(f"compressor {compressor}", compressor=compressor)
        self.array("default")
        self.array("shuffle", compressor=numcodecs.Zlib(1), filters=[numcodecs.Shuffle(4)])
        self.array("fletcher32", filters=[numcodecs.Fletcher32()])
        self.array("order F", order="F")
        self.array("order F, big-endian", dtype=">i2", order="F")
        self.array("separator /", dimension_separator="/")
        self.array("no empty chunks", skipped=3, fill_value=0, write_empty_chunks=False)
        for dtype in DTYPES:
            self.array(f"type {dtype}", dtype=dtype, fill_value=None)
        for settings in [{}, dict(order="F"), dict(compressor=None), dict(fill_value="n/a", skipped=3)]:
            self.array(f"texts of any length {settings}", dtype=object, object_codec=numcodecs.VLenUTF8(), **settings)
        for dtype, fill in FILLS:
            self.array(f"{dtype} fill value {fill}", dtype=dtype, skipped=3, fill_value=fill)
        data = values(SHAPE, "<i4")
        path = self.root / "group"
        group = zarr.open_group(str(path), mode="w")
        group.create_dataset("a/b", data=data, chunks=CHUNKS)
        zarr.consolidate_metadata(str(path))
        self.add("in a group, consolidated", path, data, "a/b")
        path = self.root / "nested"
        group = zarr.group(zarr.NestedDirectoryStore(str(path)), overwrite=True)
        group.create_dataset("x", data=data, chunks=CHUNKS)
        self.add("in a NestedDirectoryStore", path, data, "x")
        path = self.root / "file.zip"
        with zarr.ZipStore(str(path), mode="w") as store:
            array = zarr.create(store=store, shape=SHAPE, chunks=CHUNKS, dtype="<i4")
            array[:] = data
            array[0] = data[1]
        data[0] = data[1]
        draft = self.root / "draft"
        zarr.create(store=str(draft), path="a/x", shape=SHAPE, chunks=CHUNKS, zarr_version=3)
        self.cases.append(dict(name="draft of Zarr v3", path=str(draft), array="a/x", values=None, dimensions=None,
                               refused=[ENOTBUILT, "2021"]))
        self.add("in a zip file, with chunks written twice", path, data)


def main():
    warnings.filterwarnings("ignore")
    writer = Writer(pathlib.Path(sys.argv[1]))
    writer.root.mkdir(parents=True, exist_ok=True)
    writer.all()
    print(json.dumps(writer.cases))


if __name__ == "__main__":
    main()
