"""Datasets of xarray: ``xarray.open_dataset(path, engine="nczchunk")``."""

import base64
import errno
import math
import os
import struct
import warnings
from bisect import bisect_left
from functools import lru_cache

import numpy as np
from xarray import Dataset, SerializationWarning, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.backends.store import StoreBackendEntrypoint
from xarray.coding import variables
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing

from . import limits
from ._c import NO_VARIABLE, c
from .array import check_options, open_in
from .errors import Error, NotFound
from .group import open_group
from .listing import list_nodes
from .storage import identity_of_paths, kept, shown


# A point takes as much time and memory as about so many elements of a box.
_POINT = 64


class _Source:
    """What is at a path, which all arrays of a dataset share, so that there may be many. Where a dataset is unpickled,
    it is opened again, once."""

    def __init__(self, path, memory_limits, threads=None, _identity=None):
        self.path, self.memory_limits, self.threads = kept(path), memory_limits, threads
        # Dask tells datasets apart by what is pickled.
        self._identity = identity_of_paths(self.path)
        self._storage = limits.opened(memory_limits, c.storage_open, path)

    def __reduce__(self):
        return _Source, (self.path, self.memory_limits, self.threads, self._identity)

    def array(self, name, cache=...):
        """Opens an array."""
        return open_in(self._storage, (self.path, name, "r", self.memory_limits), self.threads, cache)


class _LazyArray(BackendArray):
    """An array that is read when it is indexed. Threads and processes may do that at the same time; the array is
    opened again where it is unpickled. The array may end before the shape; behind its end are fill values."""

    def __init__(self, source, name, shape, dtype, array=None):
        self._source, self._name, self.shape, self.dtype = source, name, shape, dtype
        self.array = source.array(name) if array is None else array

    def __reduce__(self):
        return _LazyArray, (self._source, self._name, self.shape, self.dtype)

    def __getitem__(self, key):
        support, read = ((indexing.IndexingSupport.VECTORIZED, self._points) if self._are_few_points(key) else
                         (indexing.IndexingSupport.OUTER, self._read))
        return indexing.explicit_indexing_adapter(key, self.shape, support, read)

    def _are_few_points(self, key):
        """Whether an index consists of coordinates of points that are read sooner, and in less memory, than all that is
        where their coordinates cross, of which xarray else selects the points."""
        if not isinstance(key, indexing.VectorizedIndexer) or self.shape != self.array.shape or not all(
                isinstance(item, np.ndarray) and item.dtype.kind in "iu" for item in key.tuple):
            return False
        due = _POINT * math.prod(np.broadcast_shapes(*(item.shape for item in key.tuple)))
        # Which coordinates differ takes long to tell of many.
        most = math.prod(min(item.size, length) for item, length in zip(key.tuple, self.shape))
        return due < most and due < math.prod(len(np.unique(item)) for item in key.tuple)

    def _points(self, key):
        return self._typed(self.array.vindex[key])

    def _read(self, key):
        return self._typed(self._selected(key) if self.shape == self.array.shape else self._filled(key))

    def _typed(self, found):
        # An element alone does not tell how long the texts of its type are.
        is_ready = isinstance(found, np.ndarray) and self.dtype.kind != "T"
        return found if is_ready else np.asarray(found, self.dtype)

    def _selected(self, key):
        has_lists = any(isinstance(item, np.ndarray) for item in key)
        return self.array.oindex[key] if has_lists else self.array[key]

    def _filled(self, key):
        """What an index of integers, slices and lists selects, of an array that ends before the shape."""
        counts, inside, stored, axes = [], [], [], []
        for item, length, end in zip(key, self.shape, self.array.shape):
            axes.append(0 if np.ndim(item) == 0 and not isinstance(item, slice) else slice(None))
            if isinstance(item, np.ndarray) and item.ndim:
                item = np.flatnonzero(item) if item.dtype == bool else np.where(item < 0, item + length, item)
                counts.append(len(item))
                inside.append(np.flatnonzero(item < end))
                stored.append(item[inside[-1]])
                continue
            chosen = range(length)[item]
            if not isinstance(item, slice):
                chosen = range(chosen, chosen + 1)
            num_stored = bisect_left(chosen if chosen.step > 0 else chosen[::-1], end)
            first = 0 if chosen.step > 0 else len(chosen) - num_stored
            counts.append(len(chosen))
            inside.append(slice(first, first + num_stored))
            part = chosen[first:first + num_stored]
            stored.append(slice(part.start, part.stop if part.stop >= 0 else None, part.step) if part else slice(0))
        found, fill_value = np.zeros(counts, self.array.dtype), self.array.fill_value
        if found.dtype == object:
            fill_value = fill_value or ""
        if fill_value is not None:
            found[...] = fill_value
        if any(isinstance(item, np.ndarray) for item in inside):
            inside = np.ix_(*(np.r_[item] for item in inside))
        found[tuple(inside)] = self._selected(tuple(stored))
        return found[tuple(axes)]


class _Store(AbstractDataStore):
    """The arrays directly in a group, as xarray's decoders need them."""

    def __init__(self, tree, group, threads, cache, left_out):
        path, memory_limits, group = tree.path, tree.memory_limits, (group or "").strip("/")
        nodes = list_nodes(path, group, recursive=False, memory_limits=memory_limits)
        if nodes and nodes[0].name == group and nodes[0].shape is not None:
            raise NotFound(f"{shown(path, group)}: this is an array, and not a group", NO_VARIABLE)
        self.attributes = nodes[0].attrs if nodes and nodes[0].is_group else {}
        self.variables, self.unlimited = {}, set()
        source = _Source(path, memory_limits, threads)
        below = len(group.split("/")) if group else 0
        for node in nodes:
            name = node.name.split("/")[-1]
            if node.is_group or name in left_out or len(node.name.split("/")) != below + 1:
                continue
            try:
                array = source.array(node.name, cache)
                attributes = _attributes(array, name)
            except Error as error:
                # As xarray's own engines do.
                hint = "" if error.status in (errno.EMFILE, errno.ENFILE) else (
                    f"; to open the others, pass drop_variables=[{name!r}]")
                raise error.about(f"variable {name!r} cannot be opened: {error}{hint}") from None
            dims = [given or f"{name}_{d}" for d, given in enumerate(array.dims)]
            # Of an array that was unreadable when it was listed, the listing tells nothing.
            unlimited = node.unlimited or (False,) * array.ndim
            self.unlimited.update(dim for dim, is_unlimited in zip(dims, unlimited) if is_unlimited)
            shape = tuple(tree.length(group, dim, length) if is_unlimited else length
                          for dim, length, is_unlimited in zip(dims, array.shape, unlimited))
            encoding = {"source": shown(kept(path)), "dtype": array.dtype}
            dtype = array.dtype
            if dtype == object:
                dtype, encoding["dtype"] = _text_types(array.format)
            is_regular, is_zarr = all(array._regular), "Zarr" in array.format
            # What lies in a file as it is may be read in any parts.
            if is_zarr or array.nchunks > 1 or array.codecs:
                encoding["preferred_chunks"] = dict(zip(dims, array.chunks if is_regular else _pieces(array, shape)))
            # Those that to_zarr() gives the new array, which refuses those of Dask that they do not fit.
            if is_regular and is_zarr:
                encoding["chunks"] = array.chunks
            data = indexing.LazilyIndexedArray(_LazyArray(source, node.name, shape, dtype, array))
            self.variables[name] = Variable(dims, data, attributes, encoding)

    def get_variables(self):
        return self.variables

    def get_attrs(self):
        return self.attributes

    def get_dimensions(self):
        return {dim: length for variable in self.variables.values() for dim, length in variable.sizes.items()}

    def get_encoding(self):
        return {"unlimited_dims": self.unlimited} if self.unlimited else {}


def _pieces(array, shape):
    """The lengths of an array's chunks in each dimension, and behind its end pieces of the largest of them: xarray
    wants lengths that add up to the dimension."""
    pieces = []
    for sizes, most, due in zip(array.read_chunk_sizes, array.chunks, shape):
        more = due - sum(sizes)
        pieces.append((*sizes, *[most] * (more // most), *[more % most] * (more % most > 0)))
    return pieces


class _Tree:
    """A path, and the dimensions that its groups define, each of which is asked for once."""

    def __init__(self, path, memory_limits):
        self.path, self.memory_limits = _expanded(path), memory_limits
        self._dimensions = lru_cache(None)(
            lambda group: open_group(self.path, group, memory_limits=memory_limits).dimensions)

    def length(self, group, dim, length):
        """That of an unlimited dimension of an array in a group, which ends there itself. As netCDF has it, it is that
        of the longest array that has the dimension, be it in another group. The innermost group that defines the
        dimension counts."""
        while dim not in (defined := self._dimensions(group)):
            if not group:
                return length
            group = group.rpartition("/")[0]
        return max(length, defined[dim].length)


def _expanded(path):
    """A path in which "~" stands for the user's home, as xarray has it."""
    return os.path.expanduser(os.fspath(path)) if isinstance(path, (str, os.PathLike)) else path


def _text_types(format):
    """The type of an array of variable-length strings, and that of its encoding, as xarray's own engines have them for
    HDF5 and for Zarr."""
    if format == "HDF5":
        return create_vlen_dtype(str), str
    if hasattr(variables, "Numpy2StringDTypeCoder") and hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
        return (np.dtypes.StringDType(),) * 2
    return create_vlen_dtype(str), np.dtype(object)


def _attributes(array, name):
    """A variable's attributes, with the value that marks missing elements as _FillValue. In Zarr v2 that is the fill
    value of the metadata, if they have one."""
    attrs, fill_value = dict(array.attrs), array.fill_value if array.format == "Zarr v2" else None
    if array.dtype == object:
        # The library tells an empty text for null, too.
        fill_value = fill_value or None
    if fill_value is not None:
        attrs["_FillValue"] = fill_value
    elif "_FillValue" in attrs:
        attrs["_FillValue"] = _decoded(attrs["_FillValue"], array, name)
    return attrs


def _decoded(value, array, name):
    """The _FillValue of a variable as an element, or as it is stored if it is none. xarray writes that of floats and
    complex numbers for Zarr v3 as the bytes of a little-endian double in base64, or of two in a list, and that of bytes
    in base64."""
    dtype = array.dtype
    parts = value if isinstance(value, list) else [value]
    if dtype.kind in "fcS" and parts and all(isinstance(part, str) for part in parts):
        try:
            if dtype.kind == "c":
                with np.errstate(all="ignore"):
                    return dtype.type(complex(*map(_number, parts)))
            [text] = parts
            if dtype.kind == "S":
                return base64.b64decode(text, validate=True) if array.format == "Zarr v3" else text.encode()
            with np.errstate(all="ignore"):
                return dtype.type(_number(text))
        except (TypeError, ValueError, struct.error):
            warnings.warn(f"variable {name!r}: the attribute _FillValue is no value of the type {array.type_name}: "
                          f"{value!r}. No element is marked as missing.", SerializationWarning, stacklevel=2)
            return value
    if dtype.kind not in "biuf" or len(parts) != 1 or not isinstance(parts[0], (int, float)):
        return value
    with np.errstate(all="ignore"):
        try:
            found = dtype.type(parts[0])
        except (ValueError, OverflowError):
            return value
    return found if dtype.kind == "f" or found == parts[0] else value


def _number(text):
    """The number that a text spells, such as "NaN", or the double whose bytes it is in base64."""
    try:
        return float(text)
    except ValueError:
        return struct.unpack("<d", base64.b64decode(text, validate=True))[0]


def _dataset(tree, group, threads=None, chunk_cache=..., drop_variables=None, **given):
    """The dataset of a group of a tree. given: how it is decoded."""
    check_options(threads, chunk_cache, tree.memory_limits)
    left_out = [drop_variables] if isinstance(drop_variables, str) else drop_variables or ()
    store = _Store(tree, group, threads, chunk_cache, set(left_out))
    return StoreBackendEntrypoint().open_dataset(store, drop_variables=drop_variables, **given)


class Backend(BackendEntrypoint):
    """Opens everything that nczchunk opens, lazily."""

    description = "Zarr v2 and v3, NCZarr, netCDF, HDF5 and cfdb files, read by nczchunk"
    # xarray passes on these alone. It finds them itself only for an engine's name, and not for its class.
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables",
        "use_cftime", "decode_timedelta", "group", "threads", "chunk_cache", "memory_limits")
    supports_groups = True

    def open_dataset(self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True,
                     decode_coords=True, drop_variables=None, use_cftime=None, decode_timedelta=None, group="",
                     threads=None, chunk_cache=..., memory_limits=None) -> Dataset:
        """group: the path of the group below the path. threads, memory_limits: as for nczchunk.open(). chunk_cache: its
        cache, for xarray has a ``cache`` of its own."""
        given = dict(mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
                     decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
                     decode_timedelta=decode_timedelta)
        return _dataset(_Tree(filename_or_obj, memory_limits), group, threads, chunk_cache, **given)

    def open_groups_as_dict(self, filename_or_obj, *, group="", memory_limits=None, **given) -> dict[str, Dataset]:
        """The datasets of a group and of all groups below it, by their paths from it. The arguments are those of
        open_dataset()."""
        group, tree = (group or "").strip("/"), _Tree(filename_or_obj, memory_limits)
        nodes = list_nodes(tree.path, group, memory_limits=memory_limits)
        names = [group, *(node.name for node in nodes if node.is_group and node.name != group)]
        return {"/" + name.removeprefix(group).strip("/"): _dataset(tree, name, **given) for name in names}

    def open_datatree(self, filename_or_obj, **given):
        """The tree of a group and of all groups below it. The arguments are those of open_dataset()."""
        from xarray import DataTree  # since 2024.10

        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **given))

    def guess_can_open(self, filename_or_obj):
        return isinstance(filename_or_obj, (str, os.PathLike)) and os.fspath(filename_or_obj).endswith(".cfdb")
