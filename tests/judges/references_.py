"""References: what kerchunk and VirtualiZarr write is read here; what is written here is read by fsspec, zarr-python,
xarray and VirtualiZarr, and here again."""

import json

import h5py
import hdf5plugin
import kerchunk.df
import kerchunk.hdf
import netCDF4
import numpy as np
import xarray
import zarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser, KerchunkJSONParser

from cases import ENCZARR, ENOTBUILT, Case

KINDS = ["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]


def write_netcdf(path, kind):
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "references"
        for name, length in [("time", None), ("y", 20), ("x", 31)]:
            file.createDimension(name, length)
        file.createVariable("time", "f8", ("time",))[:] = np.arange(5)
        t = file.createVariable("t", "i2", ("time", "y", "x"), fill_value=-9, zlib=kind == "NETCDF4")
        t[:5], t.units = np.arange(5 * 620).reshape(5, 20, 31) % 100, "K"
        file.createVariable("c", "f4", ("y", "x"))[:] = np.arange(620).reshape(20, 31)
        # One is the fill value, which VirtualiZarr takes for floating-point numbers from where kerchunk has it.
        file.createVariable("m", "f4", ("y", "x"), fill_value=7)[:] = np.arange(620).reshape(20, 31)
        file.createVariable("s", "i4", ())[...] = 7


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        # Pieces of what is contiguous are not of the same length.
        file["large"] = np.arange(3 * 1_000_003, dtype=">i8").reshape(3, 1_000_003)
        file["group/deep/short"] = np.arange(10)
        for name, filters in [("zstd", hdf5plugin.Zstd()), ("blosc", hdf5plugin.Blosc()), ("bz2", hdf5plugin.BZip2())]:
            file.create_dataset(f"group/{name}", data=np.arange(200.0).reshape(10, 20), chunks=(3, 20),
                                shuffle=name == "zstd", fletcher32=name == "bz2", **dict(filters))
        part = file.create_dataset("group/part", (10, 10), "i4", chunks=(4, 4), fillvalue=5, maxshape=(None, None))
        part[:3, :3] = 1
        file["text"] = np.array([b"abc", b"d"])


def arrays_of(path):
    """The names and the values of all arrays of a file, as the library that writes it reads them."""
    if path.suffix == ".h5" or path.stem == "NETCDF4":
        found = {}
        with h5py.File(path) as file:
            file.visititems(lambda name, node: found.update({name: node[()]}) if hasattr(node, "dtype") and
                            b"not a netCDF variable" not in np.bytes_(node.attrs.get("NAME", b"")) else None)
        return {name: np.asarray(values) for name, values in found.items()}
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return {name: np.asarray(variable[...]).astype(variable.dtype.newbyteorder(">"))
                for name, variable in file.variables.items()}


def check_readers(path, references):
    """What fsspec, zarr-python and xarray read is what the file has."""
    group = zarr.open_group("reference://", storage_options={"fo": str(references)}, mode="r")
    for name, values in arrays_of(path).items():
        np.testing.assert_array_equal(np.asarray(group[name][...]), values, err_msg=f"{path.name} {name}")
    if path.suffix == ".nc":
        options = {"consolidated": False, "storage_options": {"fo": str(references)}}
        found = xarray.open_dataset("reference://", engine="zarr", backend_kwargs=options)
        xarray.testing.assert_equal(found.load(), xarray.open_dataset(path, engine="netcdf4").load())


def check_short_variables(path):
    """xarray opens variables that are shorter than their unlimited dimension: references have its length."""
    import nczchunk
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 4)
        for name, chunks, length in [("long", (1, 4), 6), ("short", (2, 4), 4), ("never", (1, 3), 0)]:
            variable = file.createVariable(name, "f4", ("t", "x"), chunksizes=chunks, zlib=True, fill_value=-1)
            if length:
                variable[:length] = np.arange(length * 4).reshape(length, 4)
    nczchunk.write_references(path, path.with_suffix(".json"))
    options = {"consolidated": False, "storage_options": {"fo": str(path.with_suffix(".json"))}}
    found = xarray.open_dataset("reference://", engine="zarr", backend_kwargs=options)
    due = xarray.open_dataset(path, engine="netcdf4")
    assert dict(due.sizes) == {"t": 6, "x": 4}
    xarray.testing.assert_equal(found.load(), due.load())


def cases(root):
    import nczchunk
    root.mkdir(parents=True, exist_ok=True)
    check_short_variables(root / "short.nc")
    paths = [root / f"{kind}.nc" for kind in KINDS]
    for kind, path in zip(KINDS, paths):
        write_netcdf(path, kind)
    paths.append(root / "all.h5")
    write_hdf5(paths[-1])
    for path in paths:
        references = path.with_suffix(".json")
        nczchunk.write_references(path, references)
        check_readers(path, references)
        for name, values in arrays_of(path).items():
            yield Case(f"our references to {path.name}, {name}", references, values, name)
        yield from our_parquet(path)
    for path in [paths[0], paths[-1]]:
        references = path.with_suffix(".kerchunk.json")
        with open(path, "rb") as file:
            found = kerchunk.hdf.SingleHdf5ToZarr(file, str(path), inline_threshold=100).translate()
        references.write_text(json.dumps(found))
        for name, values in arrays_of(path).items():
            # kerchunk leaves out texts of a fixed length, or writes them inline.
            if values.dtype.kind != "S" and f"{name}/.zarray" in found["refs"]:
                yield Case(f"kerchunk's references to {path.name}, {name}", references, values, name)
    yield from in_parquet(root, [paths[0], paths[-1]])
    yield from by_virtualizarr(root, paths[0])
    yield from by_hand(root, paths[0])


def our_parquet(path):
    """Those that we write to Parquet files, as fsspec and xarray read them."""
    import nczchunk
    references = path.with_suffix(".ours.parq")
    try:
        nczchunk.write_references(path, references)
    except nczchunk.Error as error:
        assert error.status == ENOTBUILT and "Parquet" in str(error), error
        return
    options = {"fo": str(references), "remote_protocol": "file", "lazy": True}
    group = zarr.open_group("reference://", storage_options=options, mode="r")
    for name, values in arrays_of(path).items():
        np.testing.assert_array_equal(np.asarray(group[name][...]), values, err_msg=f"{path.name} {name}")
        yield Case(f"our references in Parquet to {path.name}, {name}", references, values, name)


def in_parquet(root, paths):
    """The same by kerchunk in Parquet files, some with few references each."""
    for path in paths:
        with open(path, "rb") as file:
            found = kerchunk.hdf.SingleHdf5ToZarr(file, str(path), inline_threshold=100).translate()
        for size in [3, 10_000]:
            references = root / f"{path.stem}-{size}.parq"
            references.mkdir()
            kerchunk.df.refs_to_dataframe(json.loads(json.dumps(found)), str(references), record_size=size)
            if not is_built(references):
                yield Case("Parquet", references, array="t", refused=(ENOTBUILT, "Parquet"))
                return
            for name, values in arrays_of(path).items():
                if values.dtype.kind != "S" and f"{name}/.zarray" in found["refs"]:
                    yield Case(f"Parquet of {path.name} by {size}, {name}", references, values, name)


def by_virtualizarr(root, path):
    """What VirtualiZarr writes, in both ways; and it writes what we have written, once it has opened that."""
    import nczchunk
    stores = ObjectStoreRegistry({"file://": LocalStore()})
    ours = root / "virtual" / "ours.json"
    ours.parent.mkdir()
    nczchunk.write_references(path, ours)
    for name, source, parser in [("VirtualiZarr's", path, HDFParser()), ("ours by VirtualiZarr", ours,
                                                                        KerchunkJSONParser())]:
        found = open_virtual_dataset(f"file://{source}", registry=stores, parser=parser, loadable_variables=[])
        references = root / "virtual" / f"{name}.json"
        found.vz.to_kerchunk(str(references), format="json")
        for array, values in arrays_of(path).items():
            yield Case(f"{name}, {array}", references, values, array)
        # It cannot write scalars to Parquet files.
        references = references.with_suffix(".parq")
        found.drop_vars("s").vz.to_kerchunk(str(references), format="parquet")
        for array, values in arrays_of(path).items() if is_built(references) else []:
            if array != "s":
                yield Case(f"{name} in Parquet, {array}", references, values, array)


def is_built(references):
    """Whether the library reads Parquet files."""
    import nczchunk
    try:
        nczchunk.list_nodes(references)
    except nczchunk.Error as error:
        return "does not include" not in str(error)
    return True


def by_hand(root, path):
    array = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "compressor": None, "fill_value": 0,
             "order": "C", "filters": None}
    (root / "bytes").write_bytes(np.arange(9, dtype="<i2").tobytes())
    first, due = {"x/.zarray": json.dumps(array)}, np.array([3, 4, 258, 772], "i2")
    inline, part = "base64:AgEEAw==", ["bytes", 6, 4]
    for name, document in [
        ("version 0", first | {"x/0": part, "x/1": inline}),
        ("objects as JSON", {"x/.zarray": array, "x/0": part, "x/1": inline}),
        ("a template", {"version": 1, "templates": {"u": str(root)},
                        "refs": first | {"x/0": ["{{u}}/bytes", 6, 4], "x/1": inline}}),
        ("a path upwards", first | {"x/0": [f"../{root.name}/bytes", 6, 4], "x/1": inline}),
        ("a URL of a file", first | {"x/0": [f"file://{root}/bytes", 6, 4], "x/1": inline}),
    ]:
        references = root / f"{name}.json"
        references.write_text(json.dumps(document))
        yield Case(name, references, due, "x")
    for name, document, refused in [
        ("formulas", {"version": 1, "refs": {}, "gen": [{"key": "x/{{i}}"}]}, (ENOTBUILT, "gen")),
        ("another version", {"version": 2, "refs": {}}, (ENOTBUILT, "version")),
        ("memory", first | {"x/0": ["memory://a", 0, 4]}, (ENOTBUILT, "scheme")),
        ("no base64", first | {"x/0": "base64:?"}, (ENCZARR, "base64")),
        ("no reference", first | {"x/0": 7}, (ENCZARR, "reference")),
    ]:
        references = root / f"{name}.json"
        references.write_text(json.dumps(document))
        yield Case(name, references, array="x", refused=refused)
