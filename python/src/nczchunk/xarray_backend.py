"""Datasets of xarray: ``xarray.open_dataset(path, engine="nczchunk")``."""

import base64
import os
import struct

import numpy as np
from xarray import Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from .array import open
from .errors import Error
from .listing import list_nodes
from .storage import shown


class _LazyArray(BackendArray):
    """An array that is read when it is indexed. Threads and processes may do that at the same time; the array is
    opened again where it is unpickled."""

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key):
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC,
                                                  self.array.__getitem__)


class _Store(AbstractDataStore):
    """The arrays directly in a group, as xarray's decoders need them."""

    def __init__(self, path, group, threads, cache, memory_limits, left_out):
        nodes = list_nodes(path, group, recursive=False, memory_limits=memory_limits)
        self.attributes = nodes[0].attrs if nodes and nodes[0].is_group else {}
        self.variables, self.unlimited = {}, set()
        below = len(group.strip("/").split("/")) if group.strip("/") else 0
        for node in nodes:
            name = node.name.split("/")[-1]
            if node.is_group or name in left_out or len(node.name.split("/")) != below + 1:
                continue
            try:
                array = open(path, node.name, threads=threads, cache=cache, memory_limits=memory_limits)
                attributes = _attributes(array)
            except Error as error:
                # As xarray's own engines do.
                raise error.about(f"variable {name!r} cannot be opened: {error}; to open the others, pass "
                                  f"drop_variables=[{name!r}]") from None
            dims = [given or f"{name}_{d}" for d, given in enumerate(array.dims)]
            self.unlimited.update(dim for dim, is_unlimited in zip(dims, node.unlimited or ()) if is_unlimited)
            encoding = {"source": shown(path), "dtype": array.dtype}
            if all(array._regular):
                encoding |= {"preferred_chunks": dict(zip(dims, array.chunks)), "chunks": array.chunks}
            else:
                encoding["preferred_chunks"] = dict(zip(dims, array.read_chunk_sizes))
            data = indexing.LazilyIndexedArray(_LazyArray(array))
            self.variables[name] = Variable(dims, data, attributes, encoding)

    def get_variables(self):
        return self.variables

    def get_attrs(self):
        return self.attributes

    def get_dimensions(self):
        return {dim: length for variable in self.variables.values() for dim, length in variable.sizes.items()}

    def get_encoding(self):
        return {"unlimited_dims": self.unlimited} if self.unlimited else {}


def _attributes(array):
    """An array's attributes, with the value that marks missing elements as _FillValue. In Zarr v2 that is the fill
    value of the metadata."""
    attrs = dict(array.attrs)
    if "_FillValue" in attrs:
        attrs["_FillValue"] = _decoded(attrs["_FillValue"], array.dtype)
    elif array.format in ("Zarr v2", "NCZarr") and array.fill_value is not None:
        attrs["_FillValue"] = array.fill_value
    return attrs


def _decoded(value, dtype):
    """The _FillValue as an element, if it is one. xarray writes that of floats and complex numbers for Zarr v3 as the
    bytes of a little-endian double in base64, or of two in a list."""
    parts = value if isinstance(value, list) else [value]
    if dtype.kind in "fc" and parts and all(isinstance(part, str) for part in parts):
        numbers = [struct.unpack("<d", base64.standard_b64decode(part))[0] for part in parts]
        return dtype.type(complex(*numbers) if dtype.kind == "c" else numbers[0])
    if dtype.kind not in "biuf" or len(parts) != 1 or not isinstance(parts[0], (int, float)):
        return value
    with np.errstate(all="ignore"):
        try:
            found = dtype.type(parts[0])
        except (ValueError, OverflowError):
            return value
    return found if dtype.kind == "f" or found == parts[0] else value


class Backend(BackendEntrypoint):
    """Opens everything that nczchunk opens, lazily."""

    description = "Zarr v2 and v3, NCZarr, netCDF, HDF5 and cfdb files, read by nczchunk"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "group", "threads", "cache",
                               "memory_limits")
    supports_groups = True

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True,
                     decode_coords=True, drop_variables=None, use_cftime=None, decode_timedelta=None, group="",
                     threads=None, cache=..., memory_limits=None) -> Dataset:
        """group: the path of the group below the path. threads, cache, memory_limits: as for nczchunk.open()."""
        left_out = [drop_variables] if isinstance(drop_variables, str) else drop_variables or ()
        store = _Store(filename_or_obj, group, threads, cache, memory_limits, set(left_out))
        return StoreBackendEntrypoint().open_dataset(
            store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
            decode_timedelta=decode_timedelta)

    def open_groups_as_dict(self, filename_or_obj, *, group="", memory_limits=None, **given) -> dict[str, Dataset]:
        """The datasets of a group and of all groups below it, by their paths from it. The arguments are those of
        open_dataset()."""
        group = (group or "").strip("/")
        nodes = list_nodes(filename_or_obj, group, memory_limits=memory_limits)
        names = [group, *(node.name for node in nodes if node.is_group and node.name != group)]
        return {"/" + name.removeprefix(group).strip("/"): self.open_dataset(
            filename_or_obj, group=name, memory_limits=memory_limits, **given) for name in names}

    def open_datatree(self, filename_or_obj, **given):
        """The tree of a group and of all groups below it. The arguments are those of open_dataset()."""
        from xarray import DataTree  # since 2024.10

        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **given))

    def guess_can_open(self, filename_or_obj):
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(".cfdb")
