"""Arrays that are put together by hand: metadata as a dictionary, chunks as bytes.

Every array is called "x" and is in a group, for some readers open nothing else.
"""

import itertools
import json
import re

import numpy as np

from cases import Case, native

DATA = (np.arange(24, dtype="<i4") * 1000 + 7).reshape(4, 6)
CHUNKS = (2, 3)
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def blocks(data, chunks, fill=0):
    """The chunks of an array by their indices; what lies beyond the array is filled."""
    grid = [range(-(-length // chunk)) for length, chunk in zip(data.shape, chunks)]
    for indices in itertools.product(*grid):
        block = np.full(chunks, fill, data.dtype)
        part = data[tuple(slice(i * c, (i + 1) * c) for i, c in zip(indices, chunks))]
        block[tuple(slice(0, length) for length in part.shape)] = part
        yield indices, block


def changed(metadata, changes):
    """Metadata with some keys changed; what becomes ... is left out."""
    return {key: value for key, value in {**metadata, **changes}.items() if value is not ...}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def missing(data, chunks, skipped, fill):
    """The values that are read if some chunks are not there."""
    expected = data.copy()
    for indices in skipped:
        expected[tuple(slice(i * c, (i + 1) * c) for i, c in zip(indices, chunks))] = fill
    return expected


class Maker:
    """Makes cases below a directory, whose names follow from what the cases are called."""

    def __init__(self, root):
        self.root = root
        self.made = 0

    def path(self, name):
        self.made += 1
        return self.root / f"{self.made}-{re.sub('[^A-Za-z0-9.]+', '-', name).strip('-')}"

    def v2(self, name, data=DATA, chunks=CHUNKS, *, encode=bytes, order="C", separator=".", skipped=(), fill=0,
           text=lambda text: text, attributes=None, expected=None, refused=None, keys=None, type=None, **changes):
        """An array of Zarr v2. `skipped` chunks are not written and read as `fill`; `text` changes the JSON text."""
        path = self.path(name)
        dtype = data.dtype.str if data.dtype.names is None else [list(field) for field in data.dtype.descr]
        metadata = {"zarr_format": 2, "shape": data.shape, "chunks": chunks, "dtype": dtype, "compressor": None,
                    "fill_value": 0, "order": order, "filters": None}
        write(path / ".zgroup", json.dumps({"zarr_format": 2}))
        write(path / "x/.zarray", text(json.dumps(changed(metadata, changes))))
        if attributes is not None:
            write(path / "x/.zattrs", attributes if isinstance(attributes, str) else json.dumps(attributes))
        for indices, block in blocks(data, chunks):
            if indices not in skipped:
                key = separator.join(map(str, indices)) if indices else "0"
                write(path / "x" / key, encode(block.tobytes(order)))
        return self.case(name, path, missing(data, chunks, skipped, fill) if expected is None else expected, refused,
                         type)

    def v3(self, name, data=DATA, chunks=CHUNKS, *, encode=bytes, key=lambda i: "/".join(["c", *map(str, i)]),
           skipped=(), fill=0, text=lambda text: text, expected=None, refused=None, type=None, **changes):
        """An array of Zarr v3. `encode` is given the bytes of a chunk."""
        path = self.path(name)
        metadata = {"zarr_format": 3, "node_type": "array", "shape": data.shape, "data_type": data.dtype.name,
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                    "fill_value": 0, "codecs": [LITTLE]}
        write(path / "zarr.json", json.dumps({"zarr_format": 3, "node_type": "group"}))
        write(path / "x/zarr.json", text(json.dumps(changed(metadata, changes))))
        for indices, block in blocks(data, chunks):
            if indices not in skipped:
                write(path / "x" / key(indices), encode(block.tobytes()))
        return self.case(name, path, missing(data, chunks, skipped, fill) if expected is None else expected, refused,
                         type)

    @staticmethod
    def case(name, path, expected, refused, type=None):
        if refused:
            return Case(name, path, array="x", refused=refused)
        return Case(name, path, native(expected), "x", type=type)
