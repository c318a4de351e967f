"""Files as GDAL and MATLAB write them: netCDF in all of its formats and BAG by GDAL in rasterio, files of MATLAB 7.3 by
hdf5storage. libhdf5 and netCDF-C read what is to be read."""

import warnings

import hdf5storage
import h5py
import netCDF4
import numpy as np
import rasterio.shutil
from rasterio.io import MemoryFile
from rasterio.transform import from_origin

from cases import ENOTBUILT, Case
from hdf5_ import cases_of, type_of

# GDAL's names of formats, and what each can hold.
FORMATS = {"NC": ["int16", "int32", "float32", "float64"], "NC2": ["uint8", "float32"],
           "NC4": ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"],
           "NC4C": ["uint8", "int16", "int32", "float32", "float64"]}


def write_raster(path, dtype, driver="netCDF", bands=3, shape=(47, 61), **options):
    """A raster of several bands with a place on Earth, which GDAL copies to a file of this kind."""
    numbers = np.arange(bands * shape[0] * shape[1]).reshape(bands, *shape) * 7 // 3 % 120
    with MemoryFile() as memory:
        with memory.open(driver="GTiff", dtype=dtype, count=bands, height=shape[0], width=shape[1], nodata=99,
                         crs="EPSG:32632", transform=from_origin(4e5, 5e6, 100, 50)) as raster:
            raster.write(numbers.astype(dtype))
        rasterio.shutil.copy(memory.name, path, driver=driver, **options)


def of_classic(path, name):
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        for array, variable in file.variables.items():
            values = np.asarray(variable[...])
            yield Case(f"{name}, {array}", path, values.astype(values.dtype.newbyteorder(">")), array,
                       type_of(values), list(variable.dimensions))


def by_gdal(root):
    for kind, types in FORMATS.items():
        for dtype in types:
            for name, options in [("", {}), (" deflated", {"compress": "DEFLATE", "zlevel": 4})]:
                if name and kind not in ("NC4", "NC4C"):
                    continue
                path = root / f"{kind}-{dtype}{name.replace(' ', '-')}.nc"
                write_raster(path, dtype, format=kind, **options)
                with netCDF4.Dataset(path) as file:
                    is_hdf5 = file.disk_format == "HDF5"
                assert is_hdf5 == kind.startswith("NC4")
                yield from (cases_of if is_hdf5 else of_classic)(path, f"GDAL, {kind}, {dtype}{name}")
    # Chunks that GDAL divides into, and rows from the bottom upwards, as netCDF's convention has them.
    write_raster(root / "chunks.nc", "float32", bands=1, shape=(700, 900), format="NC4", compress="DEFLATE",
                 write_bottomup="NO")
    yield from cases_of(root / "chunks.nc", "GDAL, large")
    write_raster(root / "depths.bag", "float32", driver="BAG", bands=2)
    yield from of_bag(root / "depths.bag")


def of_bag(path):
    """A file of the kind that hydrographic offices use: what is no structure is read with its values."""
    with h5py.File(path) as file:
        for array in file["BAG_root"]:
            node = file["BAG_root"][array]
            if isinstance(node, h5py.Dataset) and node.dtype.names is None:
                values = np.asarray(node[()])
                yield Case(f"GDAL, BAG, {array}", path, values, f"BAG_root/{array}", type_of(values))


def by_matlab(root):
    path = root / "matlab.mat"
    numbers = {np.dtype(kind).name: np.arange(12, dtype=kind).reshape(3, 4) for kind in
               ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]}
    content = {**numbers, "text": "some text", "large": np.arange(200_000.0).reshape(400, 500), "scalar": 4.5,
               "truth": np.array([[True, False], [False, False]]), "empty": np.zeros((0, 3)),
               "complex": np.arange(4) * (1 + 2j), "inner": {"a": np.arange(5), "deep": {"b": np.float32(3)}},
               "cell": np.array([np.arange(3), np.float64(2)], object)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdf5storage.savemat(str(path), content, format="7.3", store_python_metadata=False)
    with h5py.File(path) as file:
        # A cell array refers to its elements, which are below #refs#.
        refers = [name for name in file if isinstance(file[name], h5py.Dataset) and file[name].dtype == h5py.ref_dtype]
        assert file.userblock_size == 512 and refers == ["cell"]

        def arrays(group, prefix=""):
            for name, node in group.items():
                if isinstance(node, h5py.Group):
                    yield from arrays(node, f"{prefix}{name}/")
                elif node.dtype != h5py.ref_dtype:
                    yield prefix + name, np.asarray(node[()])
        for name, values in arrays(file):
            yield Case(f"MATLAB 7.3, {name}", path, values, name)
    yield Case("MATLAB 7.3, a cell array", path, array="cell", refused=(ENOTBUILT, "references"))


def cases(root):
    root.mkdir(parents=True, exist_ok=True)
    yield from by_gdal(root)
    yield from by_matlab(root)
