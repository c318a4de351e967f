"""Writes datasets with zarr-python, xarray and cfdb, and the values that they read from them: data.py DIRECTORY

cases.json lists the datasets; a case has the values of each variable in a .npy file, its dimensions and attributes.
"""
import json
import pathlib
import shutil
import sys
import zipfile

import cfdb
import numcodecs
import numpy as np
import xarray as xr
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

where = pathlib.Path(sys.argv[1])
shutil.rmtree(where, ignore_errors=True)
where.mkdir(parents=True)
random = np.random.default_rng(1)
cases = []


def as_netcdf(values):
    """The values as netCDF has them: some types it has not."""
    values = np.asarray(values)
    if values.dtype == bool:
        return values.astype("u1")
    if values.dtype == np.float16:
        return values.astype("f4")
    if values.dtype.kind in "mM":
        return values.astype("i8")
    if values.dtype.kind in "STO":
        return np.array([s.decode() if isinstance(s, bytes) else str(s) for s in values.ravel()],
                        dtype="U").reshape(values.shape)
    return values


def case(path, group, **more):
    """Notes what a group has. Variables that netCDF cannot have are listed by name."""
    variables, left_out = {}, []
    for name, array in sorted(group.members(max_depth=None)):
        if not isinstance(array, zarr.Array):
            continue
        if array.dtype.kind == "c":
            left_out.append(name)
            continue
        file = f"{len(cases)}-{len(variables)}.npy"
        np.save(where / file, as_netcdf(array[...]))
        dims = array.metadata.to_dict().get("dimension_names") or array.attrs.get("_ARRAY_DIMENSIONS")
        attributes = {k: v for k, v in array.attrs.asdict().items() if k not in ("_ARRAY_DIMENSIONS", "_FillValue")}
        variables[name] = {"file": file, "dims": dims, "attributes": attributes,
                           "chunks": list(array.chunks) if array.ndim else None}
    attributes = group.attrs.asdict()
    cases.append({"path": str(path), "variables": variables, "left_out": left_out, "attributes": attributes, **more})


def zipped(directory, name):
    with zipfile.ZipFile(where / name, "w", zipfile.ZIP_STORED) as file:
        for found in sorted(directory.rglob("*")):
            if found.is_file():
                file.write(found, found.relative_to(directory))


def field(dtype, shape):
    return (random.standard_normal(shape) * 100).astype(dtype)


# Zarr v3: shards, checksums, transposed, missing chunks, types that netCDF has and has not, groups.
path = where / "ocean.zarr"
group = zarr.create_group(path, zarr_format=3, attributes={"title": "Ocean", "levels": [1, 2, 3], "scale": 0.5})
sst = group.create_array("sst", shape=(10, 20, 30), chunks=(2, 5, 10), shards=(4, 10, 30), dtype="f4",
                         compressors=[ZstdCodec(level=3), Crc32cCodec()], fill_value=-1e34,
                         dimension_names=["time", "lat", "lon"], attributes={"units": "Deg C", "valid": [1.5, 2.5]})
sst[:8, :10] = field("f4", (8, 10, 30))
for name, n in (("time", 10), ("lat", 20), ("lon", 30)):
    group.create_array(name, shape=(n,), chunks=(7,), dtype="f8", dimension_names=[name])[:] = np.arange(n) * 1.5
for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f8", "f2", "bool", "c8"):
    array = group.create_array(f"v_{dtype}", shape=(20, 30), chunks=(8, 11), dtype=dtype,
                               dimension_names=["lat", "lon"], compressors=GzipCodec(level=1))
    array[:] = field("f8", (20, 30)).astype(dtype)
texts = group.create_array("names", shape=(20,), chunks=(6,), dtype=str, dimension_names=["lat"])
texts[:] = np.array([f"place {i} é" if i % 3 else "" for i in range(20)], dtype=object)
flipped = group.create_array("flipped", shape=(20, 30), chunks=(6, 7), dtype=">i4",
                             filters=[TransposeCodec(order=(1, 0))], serializer=BytesCodec(endian="big"),
                             compressors=BloscCodec(cname="lz4"),
                             dimension_names=["lat", "lon"])
flipped[:] = field("i4", (20, 30))
group.create_array("scalar", shape=(), dtype="f8")[...] = 2.25
group.create_array("anonymous", shape=(3, 3, 20), chunks=(2, 2, 2), dtype="i2")[:] = field("i2", (3, 3, 20))
deep = group.create_group("deep/deeper", attributes={"about": "below"})
deep.create_array("temp", shape=(20, 4), chunks=(5, 4), dtype="f4",
                  dimension_names=["lat", "lon"])[:] = field("f4", (20, 4))
case("ocean.zarr", group, is_sharded=True)
zipped(path, "ocean.zip")
case("ocean.zip", group)

# The same for programs that know no groups and want coordinates.
path = where / "sst.zarr"
group = zarr.create_group(path, zarr_format=3, attributes={"Conventions": "CF-1.8"})
for name, n, first, units in (("time", 3, 0, "days since 2000-01-01"), ("lat", 4, -15, "degrees_north"),
                              ("lon", 6, 0, "degrees_east")):
    attributes = {"units": units, "standard_name": {"lat": "latitude", "lon": "longitude"}.get(name, name)}
    array = group.create_array(name, shape=(n,), chunks=(n,), dtype="f8", dimension_names=[name],
                               attributes=attributes)
    array[:] = first + np.arange(n) * 10.0
sst = group.create_array("sst", shape=(3, 4, 6), chunks=(1, 2, 3), shards=(1, 4, 6), dtype="f4", fill_value=-1,
                         compressors=[ZstdCodec(level=3)], dimension_names=["time", "lat", "lon"],
                         attributes={"units": "Deg C"})
sst[:2] = np.arange(48, dtype="f4").reshape(2, 4, 6) / 4
case("sst.zarr", group, is_sharded=True)

# One chunk for the whole variable, as netCDF-C chooses it for many.
group = zarr.create_group(where / "whole.zarr", zarr_format=3)
whole = group.create_array("v", shape=(100, 100, 100), chunks=(100, 100, 100), dtype="f4",
                           dimension_names=["time", "y", "x"])
whole[:] = np.arange(1e6, dtype="f4").reshape(100, 100, 100)
case("whole.zarr", group)

# Zarr v2: codecs, orders, strings of one length and of any, no fill value.
group = zarr.create_group(where / "land.zarr", zarr_format=2, attributes={"title": "Land"})
compressors = {"blosc": numcodecs.Blosc("lz4", 5, 1), "zlib": numcodecs.Zlib(4), "lz4": numcodecs.LZ4(),
               "bz2": numcodecs.BZ2(2), "zstd": numcodecs.Zstd(1), "none": None}
for order in "CF":
    for name, compressor in compressors.items():
        array = group.create_array(f"{name}_{order}", shape=(13, 17), chunks=(5, 6), dtype="i4", order=order,
                                   compressors=compressor, fill_value=-5,
                                   attributes={"_ARRAY_DIMENSIONS": ["y", "x"], "units": "m"})
        array[:9] = field("i4", (9, 17))
array = group.create_array("filtered", shape=(40,), chunks=(16,), dtype="f4", filters=[numcodecs.Shuffle(4)],
                           compressors=numcodecs.Zlib(1), fill_value=None)
array[:] = field("f4", 40)
group.create_array("fixed", shape=(7,), chunks=(3,), dtype="S5", compressors=None)[:] = np.array(
    [b"a", b"bc", b"", b"12345", b"x", b"y", b"z"])
case("land.zarr", group)

# What xarray writes: the fill value of Zarr v3 is an attribute in base64.
ds = xr.Dataset({"t": (("time", "x"), np.where(field("f8", (6, 5)) > 0, 1.5, np.nan)),
                 "n": (("x",), np.arange(5, dtype="i2"))}, {"time": np.arange(6)})
for version in (2, 3):
    name = f"xarray{version}.zarr"
    ds.to_zarr(where / name, zarr_format=version, consolidated=version == 2,
               encoding={"t": {"_FillValue": -99.0}, "n": {"_FillValue": -1}})
    case(name, zarr.open_group(where / name), fill={"t": -99.0, "n": -1})

# cfdb: one file.
with cfdb.open_dataset(where / "one.cfdb", "n") as ds:
    ds.create.coord.lat(data=np.linspace(0, 5, 9, dtype="f4"), chunk_shape=(4,))
    ds.create.coord.lon(data=np.linspace(0, 5, 12, dtype="f4"), chunk_shape=(5,))
    var = ds.create.data_var.generic("depth", ("latitude", "longitude"), dtype="f8", chunk_shape=(4, 5))
    var[:] = np.round(field("f8", (9, 12)))
    np.save(where / "cfdb.npy", np.asarray(var.data))
cases.append({"path": "one.cfdb", "left_out": [], "attributes": {}, "variables": {
    "depth": {"file": "cfdb.npy", "dims": ["latitude", "longitude"], "attributes": {}, "chunks": [4, 5]}}})

(where / "cases.json").write_text(json.dumps(cases))
