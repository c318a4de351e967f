"""Datasets of xarray: ``xarray.open_dataset(path, engine="nczchunk")``."""

import os

from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from .array import open
from .listing import list_nodes


class _LazyArray(BackendArray):
    """An array that is read when it is indexed. Threads may do that at the same time, and processes: it is opened again
    where it is unpickled."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC,
                                                  self.array.__getitem__)


class _Store(AbstractDataStore):
    """The arrays directly in a group, as xarray's decoders take them."""

    def __init__(self, path, group, threads, cache):
        nodes = list_nodes(path, group, recursive=False)
        self.attributes = nodes[0].attrs if nodes and nodes[0].is_group else {}
        self.variables, self.unlimited = {}, set()
        below = len(group.strip("/").split("/")) if group.strip("/") else 0
        for node in nodes:
            name = node.name.split("/")[-1]
            if node.is_group or node.problem or len(node.name.split("/")) != below + 1:
                continue
            array = open(path, node.name, threads=threads, cache=cache)
            dims = [given or f"{name}_{d}" for d, given in enumerate(node.dims)]
            self.unlimited.update(dim for dim, is_unlimited in zip(dims, node.unlimited) if is_unlimited)
            encoding = {"source": os.fspath(path), "preferred_chunks": dict(zip(dims, node.chunks)),
                        "chunks": node.chunks, "dtype": array.dtype}
            data = indexing.LazilyIndexedArray(_LazyArray(array))
            self.variables[name] = Variable(dims, data, _with_fill_value(array, path, node), encoding)

    def get_variables(self):
        return self.variables

    def get_attrs(self):
        return self.attributes

    def get_dimensions(self):
        return {dim: length for variable in self.variables.values() for dim, length in variable.sizes.items()}

    def get_encoding(self):
        return {"unlimited_dims": self.unlimited} if self.unlimited else {}


def _with_fill_value(array, path, node):
    """An array's attributes. In Zarr v2 the fill value of the metadata is what marks missing values."""
    attrs = dict(node.attrs)
    metadata = os.path.join(os.fspath(path), node.name, ".zarray")
    if "_FillValue" not in attrs and array.fill_value is not None and os.path.exists(metadata):
        attrs["_FillValue"] = array.fill_value
    return attrs


class Backend(BackendEntrypoint):
    """Opens whatever nczchunk opens, lazily."""

    description = "Zarr v2 and v3, NCZarr, netCDF classic and cfdb files, read by nczchunk"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "group", "threads", "cache")

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True,
                     decode_coords=True, drop_variables=None, use_cftime=None, decode_timedelta=None, group="",
                     threads=1, cache=...) -> Dataset:
        """group: where the arrays are below the path. threads, cache: as for nczchunk.open()."""
        store = _Store(filename_or_obj, group, threads, cache)
        return StoreBackendEntrypoint().open_dataset(
            store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
            decode_timedelta=decode_timedelta)

    def guess_can_open(self, filename_or_obj):
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(".cfdb")
