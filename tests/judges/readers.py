#!/usr/bin/env python3
"""Readers, each in a process of its own, for some of them crash.

    readers.py READER [LIBNCZCHUNK]    reads arrays that are asked for on stdin, a JSON object a line
"""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import threading
import warnings
import zipfile

import numpy as np

READERS = ["nczchunk", "zarr-python", "TensorStore", "netCDF-C"]

# What a reader comes to.
OK, WRONG, REFUSED, CRASHED, HANGS, ACCEPTED = "ok", "wrong data", "refused", "crashes", "hangs", "accepted"
SECONDS = 60


def nczchunk(library):
    from binding import Library
    opened = Library(library)

    def read(path, array, expected):
        with opened.open(path, array) as found:
            return found.read(f"V{found.element_size}" if expected is None else expected.dtype)

    return read, "nczchunk " + opened.version


def zarr_python(_):
    import zarr

    def read(path, array, _):
        if path.is_file():
            with zarr.storage.ZipStore(path, mode="r") as store:
                return zarr.open_array(store, path=array, mode="r")[...]
        return zarr.open_array(path / array, mode="r")[...]

    return read, "zarr-python " + zarr.__version__


def tensorstore(_):
    import tensorstore as ts

    def read(path, array, _):
        kvstore = {"driver": "file", "path": f"{path}/{array}/"}
        if path.is_file():
            kvstore = {"driver": "zip", "base": f"file://{path}", "path": f"{array}/"}
        if path.is_file():
            with zipfile.ZipFile(path) as packed:
                is_v3 = f"{array}/zarr.json" in packed.namelist()
        else:
            is_v3 = (path / array / "zarr.json").exists()
        return ts.open({"driver": "zarr3" if is_v3 else "zarr", "kvstore": kvstore}, open=True).result().read().result()

    return read, "TensorStore " + importlib.metadata.version("tensorstore")


def netcdf_c(_):
    import netCDF4

    def read(path, array, _):
        attributes = path / ".zattrs"
        is_nczarr = attributes.exists() and "_nczarr_" in attributes.read_text()
        mode = f"{'nczarr' if is_nczarr else 'zarr'},{'zip' if path.is_file() else 'file'}"
        with netCDF4.Dataset(f"file://{path}#mode={mode}") as data:
            variable = data[array]
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            return variable[...]

    return read, f"netCDF-C {netCDF4.__netcdf4libversion__} (netCDF4 {netCDF4.__version__})"


MAKERS = dict(zip(READERS, [nczchunk, zarr_python, tensorstore, netcdf_c]))


def alike(found, expected):
    """Whether the bits are the same, whatever the type is called. A scalar may have a dimension of length 1, and texts
    may be bytes along a dimension of their own."""
    found = np.asarray(found)
    if found.dtype.itemsize == 0 < expected.dtype.itemsize:
        raise TypeError("elements of no bytes") # TensorStore's texts, in Python
    shape = found.squeeze().shape
    if shape != expected.squeeze().shape and shape[:-1] != expected.squeeze().shape:
        return False
    if found.dtype == object or found.dtype.kind == "T":
        texts = [str(text).encode() if expected.dtype.kind == "S" else str(text) for text in found.reshape(-1)]
        found = np.array(texts, expected.dtype)
    found = np.ascontiguousarray(found.astype(found.dtype.newbyteorder("="), copy=False)).reshape(found.shape)
    return found.tobytes() == expected.tobytes()


def serve(name, library):
    warnings.filterwarnings("ignore")
    read, version = MAKERS[name](library)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1) # what the reader prints is no answer
    print(json.dumps(version), file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        expected = asked["expected"] and np.load(asked["expected"])
        try:
            found = read(pathlib.Path(asked["path"]), asked["array"], expected if asked["expected"] else None)
            answer = ACCEPTED if not asked["expected"] else OK if alike(found, expected) else WRONG
            why = ""
        except BaseException as error: # some raise panics that are no exceptions
            answer, why = REFUSED, str(error)[:300]
        print(json.dumps([answer, why]), file=out, flush=True)


class Reader:
    """A reader's process, begun anew when it has crashed."""

    def __init__(self, name, library, python=sys.executable):
        self.command = [python, __file__, name, str(library)]
        self.process = None
        self.version = ""
        self.begin()

    def begin(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.version = json.loads(self.process.stdout.readline())

    def read(self, path, array, expected):
        """What comes of reading an array, and why."""
        print(json.dumps({"path": str(path), "array": array, "expected": expected and str(expected)}),
              file=self.process.stdin, flush=True)
        is_late = []
        timer = threading.Timer(SECONDS, lambda: (is_late.append(True), self.process.kill()))
        timer.start()
        answer = self.process.stdout.readline()
        timer.cancel()
        if answer:
            return tuple(json.loads(answer))
        why = f"status {self.process.wait()}"
        self.begin()
        return (HANGS if is_late else CRASHED), why

    def close(self):
        self.process.stdin.close()
        self.process.wait()


if __name__ == "__main__":
    serve(*sys.argv[1:])
