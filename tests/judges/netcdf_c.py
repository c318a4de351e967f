"""Arrays as netCDF-C writes them, through netCDF4: NCZarr and what it calls pure Zarr."""

import shutil
import subprocess
import zipfile

import netCDF4
import numpy as np

from cases import ENOFILTER, NETCDF, Case, values

MODES = ("nczarr", "zarr")
SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)
DIMENSIONS = ["time", "lat", "lon"]
DTYPES = list(NETCDF)

FILTERS = {
    "default": {},
    "chunked": dict(chunksizes=CHUNKS),
    "zlib": dict(chunksizes=CHUNKS, compression="zlib", complevel=4),
    "zlib-unshuffled": dict(chunksizes=CHUNKS, compression="zlib", complevel=4, shuffle=False),
    "zstd": dict(chunksizes=CHUNKS, compression="zstd", complevel=3),
    "fletcher32": dict(chunksizes=CHUNKS, fletcher32=True),
    "fletcher32-zlib": dict(chunksizes=CHUNKS, fletcher32=True, compression="zlib"),
    "blosc-lz4": dict(chunksizes=CHUNKS, compression="blosc_lz4", blosc_shuffle=1),
    "blosc-zstd": dict(chunksizes=CHUNKS, compression="blosc_zstd", blosc_shuffle=2),
    "blosc-zlib": dict(chunksizes=CHUNKS, compression="blosc_zlib", blosc_shuffle=0),
    "bzip2": dict(chunksizes=CHUNKS, compression="bzip2"),
    "big": dict(chunksizes=CHUNKS, endian="big"),
    "big-zlib": dict(chunksizes=CHUNKS, endian="big", compression="zlib"),
}

# Those that are tried with every type.
ALL_TYPES = ("default", "zlib", "fletcher32-zlib", "big-zlib")


class Created:
    """A data set that is being written, of which the cases are known once it is closed."""

    def __init__(self, root, mode, name, container="file"):
        self.mode, self.name, self.path = mode, name, root / f"{mode}-{name}{'.zip' if container == 'zip' else ''}"
        self.data = netCDF4.Dataset(f"file://{self.path}#mode={mode},{container}", "w")
        for dimension, length in zip(DIMENSIONS, SHAPE):
            self.data.createDimension(dimension, length)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.data.close()

    def case(self, variable, expected, dimensions=DIMENSIONS, **more):
        return Case(f"{self.mode} {self.name}: {variable}", self.path, expected, variable,
                    dimensions=dimensions, **more)


def plain(variable):
    """A variable whose values are taken as they are."""
    variable.set_auto_maskandscale(False)
    variable.set_auto_chartostring(False)
    return variable


def filters(root, mode):
    for name, settings in FILTERS.items():
        with Created(root, mode, name) as made:
            found = {}
            for dtype in DTYPES if name in ALL_TYPES else ("i2", "f4", "f8"):
                data = values(SHAPE, dtype)
                try:
                    plain(made.data.createVariable(dtype, dtype, DIMENSIONS, **settings))[:] = data
                except (RuntimeError, ValueError):
                    continue # netCDF-C was built without it, or fails
                found[dtype] = data
        for dtype, data in found.items():
            yield made.case(dtype, data)


def unlimited(root, mode):
    with Created(root, mode, "unlimited") as made:
        made.data.createDimension("record", None)
        found = {}
        for dtype in DTYPES:
            data = values((5, 30), dtype)
            plain(made.data.createVariable(dtype, dtype, ("record", "lat"), chunksizes=(2, 7)))[0:5] = data
            found[dtype] = data
        short = plain(made.data.createVariable("short", "f8", ("record", "lat")))
        short[0:2] = found["f8"][:2]
    for name, data in found.items():
        yield made.case(name, data, ["record", "lat"])
    filled = np.full((5, 30), netCDF4.default_fillvals["f8"])
    filled[:2] = found["f8"][:2]
    yield made.case("short", filled, ["record", "lat"])


def fill_values(root, mode):
    with Created(root, mode, "fill") as made:
        found = {}
        for dtype in DTYPES:
            expected = np.full(SHAPE, netCDF4.default_fillvals[dtype], dtype)
            expected[:3] = values((3, *SHAPE[1:]), dtype)
            plain(made.data.createVariable(f"{dtype}_default", dtype, DIMENSIONS, chunksizes=CHUNKS))[:3] = expected[:3]
            found[f"{dtype}_default"] = expected
            own = expected.copy()
            own[3:] = 5
            variable = made.data.createVariable(f"{dtype}_own", dtype, DIMENSIONS, chunksizes=CHUNKS, fill_value=5)
            plain(variable)[:3] = own[:3]
            found[f"{dtype}_own"] = own
            none = expected.copy()
            none[3:] = 0
            variable = made.data.createVariable(f"{dtype}_none", dtype, DIMENSIONS, chunksizes=CHUNKS, fill_value=False)
            plain(variable)[:3] = none[:3]
            found[f"{dtype}_none"] = none
        # What it writes has six digits, and so has what it reads.
        for name, dtype, fill in [("digits", "f8", 1.23456789e20), ("third", "f4", 1 / 3), ("nan", "f4", np.nan),
                                  ("largest", "i8", 2**62 + 1)]:
            variable = made.data.createVariable(name, dtype, DIMENSIONS, chunksizes=CHUNKS, fill_value=fill)
            written = values((3, *SHAPE[1:]), dtype)
            plain(variable)[:3] = written
            found[name] = np.full(SHAPE, float(f"{fill:g}") if dtype[0] == "f" else fill, dtype)
            found[name][:3] = written
    for name, expected in found.items():
        yield made.case(name, expected)


def scalars_and_texts(root, mode):
    with Created(root, mode, "scalars") as made:
        for dtype in DTYPES:
            plain(made.data.createVariable(dtype, dtype, ()))[...] = 7
        texts = np.array([b"a", b"b", b"\0", b"~"] * 4, "S1").reshape(4, 4)
        made.data.createDimension("four", 4)
        plain(made.data.createVariable("char", "S1", ("four", "four")))[:] = texts
        plain(made.data.createVariable("char_chunked", "S1", ("four", "four"), chunksizes=(3, 3),
                                       compression="zlib"))[:] = texts
        plain(made.data.createVariable("char_empty", "S1", ("four", "four")))
        strings = made.data.createVariable("string", str, ("four",))
        strings[:] = np.array(["a", "bcd", "", "x" * 100], dtype=object)
    for dtype in DTYPES:
        yield made.case(dtype, np.array(7, dtype), [])
    yield made.case("char", texts, ["four", "four"], type=2)
    yield made.case("char_chunked", texts, ["four", "four"], type=2)
    yield made.case("char_empty", np.zeros((4, 4), "S1"), ["four", "four"], type=2)
    yield made.case("string", np.array(["a", "bcd", "", "x" * 100], "S128"), ["four"])


def attributes(root, mode):
    with Created(root, mode, "attributes") as made:
        variable = made.data.createVariable("x", "f4", ("lat",))
        given = {dtype: np.array([1, 2, 3], dtype) for dtype in DTYPES}
        given |= {f"{dtype}_one": np.array([5], dtype) for dtype in DTYPES}
        for name, value in given.items():
            variable.setncattr(name, value)
        variable.setncattr("text", "Kelvin")
        variable.setncattr("unicode", "Kelvin \u00e4") # netCDF4 makes it a string
        variable.setncattr("empty", "")
        variable.setncattr("half", np.float32(0.5))
        variable.setncattr("small", 1.5e-300)
    typed = {"text": (2, "Kelvin"), "half": (6, np.float64(0.5))}
    if mode == "nczarr": # pure Zarr has no types of attributes
        typed["half"] = (5, np.float32(0.5))
        typed |= {name: (NETCDF[name.split("_")[0]], value) for name, value in given.items()}
        typed["small"] = (6, np.float64(1.5e-300))
        typed["unicode"] = (12, ["Kelvin \u00e4"])
    expected = np.full(30, netCDF4.default_fillvals["f4"], "f4")
    yield made.case("x", expected, ["lat"], typed=typed)


def groups(root, mode):
    with Created(root, mode, "groups") as made:
        inner = made.data.createGroup("a/b")
        inner.createDimension("own", None)
        data = values((4, 30), "i4")
        plain(inner.createVariable("x", "i4", ("own", "lat")))[0:4] = data
        plain(made.data.createVariable("x", "i4", ("lat",)))[:] = data[0]
    yield made.case("a/b/x", data, ["own", "lat"])
    yield made.case("x", data[0], ["lat"])


def zips(root, mode):
    data = values(SHAPE, "f4")
    try:
        with Created(root, mode, "packed", "zip") as made:
            plain(made.data.createVariable("x", "f4", DIMENSIONS, chunksizes=CHUNKS, compression="zlib"))[:] = data
        yield made.case("x", data)
    except OSError:
        pass # built without it
    # What it writes there is what it writes to files, stored, with entries of directories before it.
    with Created(root, mode, "unpacked") as made:
        group = made.data.createGroup("inner")
        for where in (made.data, group):
            plain(where.createVariable("x", "f4", DIMENSIONS, chunksizes=CHUNKS, compression="zlib"))[:] = data
    path = root / f"{mode}-as-packed.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(zipfile.ZipInfo(f"{path.name}/"), b"")
        for file in sorted(made.path.rglob("*")):
            name = f"{path.name}/{file.relative_to(made.path)}"
            packed.writestr(zipfile.ZipInfo(f"{name}/" if file.is_dir() else name),
                            b"" if file.is_dir() else file.read_bytes())
    for name in ("x", "inner/x"):
        yield Case(f"{mode} as in its zip files: {name}", path, data, name, dimensions=DIMENSIONS)


def copied(root, mode):
    """A netCDF-4 file, copied by nccopy where that is installed."""
    if not shutil.which("nccopy"):
        return
    source, target, data = root / "source.nc", root / f"{mode}-copied", values(SHAPE, "f4")
    with netCDF4.Dataset(source, "w") as made:
        for dimension, length in zip(DIMENSIONS, SHAPE):
            made.createDimension(dimension, length)
        plain(made.createVariable("x", "f4", DIMENSIONS, chunksizes=CHUNKS, compression="zlib"))[:] = data
    if subprocess.run(["nccopy", source, f"file://{target}#mode={mode},file"], check=False).returncode == 0:
        yield Case(f"{mode} by nccopy", target, data, "x", dimensions=DIMENSIONS)


def cases(root):
    root.mkdir(parents=True)
    for mode in MODES:
        for part in (filters, unlimited, fill_values, scalars_and_texts, attributes, groups, zips, copied):
            yield from part(root, mode)
