#!/usr/bin/env python3
"""Writes small HDF5 files that have links to each other, and into nowhere.

    pip install h5py==3.16.0 numpy==2.4.6
    tests/vectors/links.py tests/vectors/links
"""

import pathlib
import sys

import h5py
import numpy as np


def main():
    root = pathlib.Path(sys.argv[1])
    (root / "sub").mkdir(parents=True, exist_ok=True)
    made = {name: h5py.File(root / name, "w", libver="latest") for name in ("main.h5", "other.h5", "sub/third.h5")}
    main, other, third = made.values()
    main["own"] = np.arange(3, dtype="<i4")
    for name, file, path in [
        ("array", "other.h5", "/g/x"),
        ("group", "other.h5", "/g"),
        ("whole", "./sub/../other.h5", "/"),
        ("deep/array", "sub/third.h5", "z"),
        ("up", "sub/third.h5", "/up"),
        ("no_file", "none.h5", "/x"),
        ("no_object", "other.h5", "/none"),
        ("no_hdf5", "text", "/x"),
        ("absolute", "/no/such/other.h5", "/y"),
        ("above", "../../../other.h5", "/y"),
        ("circle", "main.h5", "/circle"),
        ("ring", "other.h5", "/ring"),
    ]:
        main[name] = h5py.ExternalLink(file, path)
    main["soft"] = h5py.SoftLink("/group/x")
    x = other.create_dataset("g/x", data=np.arange(12, dtype="<f4").reshape(3, 4), chunks=(2, 3), compression="gzip")
    other["g/t"] = np.arange(10, 13, dtype="<i2")
    other["g/t"].make_scale("t")
    x.dims[0].attach_scale(other["g/t"])
    other["y"] = np.arange(5, dtype=">i8")
    # From here a path begins at the root of this file.
    other["g/same"], other["g/root"] = h5py.SoftLink("x"), h5py.SoftLink("/y")
    other["g/back"] = h5py.ExternalLink("main.h5", "/own")
    other["g/again"] = h5py.ExternalLink("main.h5", "/")
    other["ring"] = h5py.ExternalLink("main.h5", "/ring")
    third["z"] = np.arange(7, dtype="u1")
    third["up"] = h5py.ExternalLink("../other.h5", "/y")
    for file in made.values():
        file.close()
    (root / "text").write_text("This is not HDF5.\n")


if __name__ == "__main__":
    main()
