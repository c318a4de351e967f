"""Several files as one array: what xarray makes of the same files, value by value."""

import contextlib
import json

import h5py
import hdf5plugin
import netCDF4
import numpy as np
import xarray

from cases import ENOTBUILT, ENOTFOUND, Case

KINDS = ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
# No length is a multiple of the next; one file has no steps.
LENGTHS = [10, 7, 0, 1, 25]


def write_netcdf(path, kind, first, steps, chunk=4, **filters):
    with netCDF4.Dataset(path, "w", format=kind) as file:
        for name, length in [("time", None), ("y", 5), ("x", 31)]:
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time[:], time.units = np.arange(first, first + steps), "days since 2000-01-01"
        if kind == "NETCDF4":
            filters |= {"chunksizes": (chunk, 5, 16)}
        t = file.createVariable("t", "i2", ("time", "y", "x"), fill_value=-9, **filters)
        t[:steps] = np.arange(first * 155, (first + steps) * 155).reshape(steps, 5, 31) % 30011
        t.scale_factor, t.units = 0.5, "K"
        file.createVariable("c", "f4", ("y", "x"))[:] = np.arange(155).reshape(5, 31)
        # netCDF's classic format has the records of all variables in turns.
        file.createVariable("byte", "i1", ("time", "x"))[:steps] = np.arange(first, first + steps)[:, None] % 100


def joined(path, dimension, paths):
    path.write_text(json.dumps({"nczchunk_concat": {"dimension": dimension, "paths": [str(one) for one in paths]}}))
    return path


def expected(paths, dimension):
    """The values of all variables as they are stored."""
    with contextlib.ExitStack() as opened:
        files = [opened.enter_context(xarray.open_dataset(path, decode_cf=False, engine="netcdf4")) for path in paths]
        found = xarray.concat(files, dimension, data_vars="minimal", coords="minimal", compat="override",
                              join="override")
        return {name: variable.values for name, variable in found.variables.items()}



def cases(root):
    root.mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        paths, first = [], 0
        for number, steps in enumerate(LENGTHS):
            paths.append(root / f"{kind}-{number}.nc")
            write_netcdf(paths[-1], kind, first, steps)
            first += steps
        all_of_them = joined(root / f"{kind}.json", "time", paths)
        for name, values in expected(paths, "time").items():
            yield Case(f"{kind}, {name}", all_of_them, values, name)
    yield from codecs(root)
    yield from formats(root)
    yield from columns(root)
    yield from refused(root)
    yield from referred_to(root)


def codecs(root):
    """Each file has chunks of another length and its own filters, or numbers of which chunks have skipped some."""
    paths, values, first = [], [], 0
    filters = [{"compression": "gzip", "shuffle": True}, {"compression": "lzf"}, dict(hdf5plugin.Zstd()),
               {"compression": "szip"}, {"fletcher32": True}]
    for number, (steps, given) in enumerate(zip([9, 4, 12, 7, 1], filters)):
        paths.append(root / f"codecs-{number}.h5")
        values.append(np.arange(first * 12, (first + steps) * 12, dtype="i4").reshape(steps, 12))
        first += steps
        with h5py.File(paths[-1], "w") as file:
            made = file.create_dataset("v", data=values[-1], chunks=(2 + number, 12), maxshape=(None, 12), **given)
            made.dims[0].label = "time"
            file["time"] = np.arange(steps)
            file["time"].make_scale("time")
            made.dims[0].attach_scale(file["time"])
    yield Case("each file has filters of its own", joined(root / "codecs.json", "time", paths),
               np.concatenate(values), "v")


def formats(root):
    """Files of several formats, and what is joined already."""
    paths, values, first = [], [], 0
    for number, kind in enumerate(["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA"]):
        paths.append(root / f"formats-{number}.nc")
        write_netcdf(paths[-1], kind, first, 6)
        first += 6
    values = expected(paths, "time")["t"]
    inner = joined(root / "inner.json", "time", paths)
    yield Case("files of two formats", inner, values, "t")
    yield Case("what is joined, joined", joined(root / "outer.json", "time", [inner, inner]),
               np.concatenate([values, values]), "t")


def columns(root):
    """Along another dimension than the first."""
    paths = []
    for number, width in enumerate([6, 11, 3]):
        paths.append(root / f"columns-{number}.nc")
        with netCDF4.Dataset(paths[-1], "w") as file:
            file.createDimension("y", 9)
            file.createDimension("x", width)
            made = file.createVariable("v", "f8", ("y", "x"), chunksizes=(2, min(4, width)), zlib=True)
            made[:] = number * 1000 + np.arange(9 * width).reshape(9, width)
    yield Case("columns", joined(root / "columns.json", "x", paths), expected(paths, "x")["v"], "v")


def refused(root):
    paths = [root / "NETCDF4-0.nc", root / "refused.nc"]
    all_of_them = joined(root / "refused.json", "time", paths)
    write_netcdf(paths[1], "NETCDF4", 10, 5)
    with netCDF4.Dataset(paths[1], "a") as file:
        file["t"].scale_factor = 0.25
        file["time"].units = "days since 2001-01-01"
    yield Case("another scale", all_of_them, array="t", refused=(ENOTBUILT, "scale_factor"))
    yield Case("times since another day", all_of_them, array="time", refused=(ENOTBUILT, "units"))
    yield Case("what is alike all the same", all_of_them, expected([paths[0], paths[0]], "time")["c"], "c")
    missing = joined(root / "missing.json", "time", [paths[0], root / "none.nc"])
    yield Case("a file that is not there", missing, array="t", refused=(ENOTFOUND, "none.nc"))


def referred_to(root):
    """Files of whole chunks, as references and back."""
    import nczchunk
    import zarr
    paths = []
    for number, steps in enumerate([8, 4, 3]):
        paths.append(root / f"whole-{number}.nc")
        write_netcdf(paths[-1], "NETCDF4", number * 8, steps, zlib=True)
    references = root / "whole.refs.json"
    nczchunk.write_references(nczchunk.concat(paths, "time"), references, "t")
    values = expected(paths, "time")["t"]
    yield Case("references to whole chunks", references, values, "t")
    group = zarr.open_group("reference://", storage_options={"fo": str(references)}, mode="r")
    np.testing.assert_array_equal(group["t"][...], values)
