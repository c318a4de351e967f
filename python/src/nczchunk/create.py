"""New arrays."""

import ctypes
import json
import os
from ctypes import byref, c_char_p, c_void_p

import numpy as np

from . import _c
from ._c import c
from .array import Array, open
from .attributes import as_stored
from .types import dtype_of, type_name_of

_FORMATS = {"zarr3": _c.ZARR_V3, "zarr2": _c.ZARR_V2, "nczarr": _c.NCZARR}
_ENDIANS = {None: 0, "little": 1, "big": 2}


class NewZip:
    """A zip file that is made, to be given in place of a path to create(). It is there when it has been finished;
    as a context manager it is finished at the end, unless something was raised."""

    def __init__(self, path):
        self.path, self._pointer = path, c_void_p()
        _c.call(c.place_create_zip, _c.path_bytes(path), byref(self._pointer))

    def finish(self):
        _c.call(c.place_finish, self._pointer)
        self._free()

    def _free(self):
        pointer, self._pointer = self._pointer, None
        if pointer:
            c.place_free(pointer)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.finish()
        else:
            self._free()

    def __del__(self):
        if c is not None and getattr(self, "_pointer", None):
            self._free()


def create(path, name="", *, shape, dtype, chunks=None, shards=None, dims=None, fill_value=None, codecs=...,
           attrs=None, format="zarr3", separator=None, endian=None, overwrite=False, threads=1, cache=...):
    """Creates an array and opens it to be read and written.

    path, name: a directory, and where the array is to be below it; or a NewZip.
    shape, chunks, shards: lengths for each dimension. Without chunks they have about 16 MiB; without shards each chunk
        is a file.
    dtype: a type of numpy's, str for texts of any length, or "char" for characters as netCDF has them.
    codecs: in the order in which they encode, each a name or a pair of a name and a dict, such as ("zstd", {"level":
        3}); None to store chunks as they are. Without it zstd.
    format: "zarr3", "zarr2", or "nczarr", which netCDF-C reads.
    separator: what stands between the numbers of a chunk's name, "." or "/".
    endian: "little" or "big", the byte order of what is stored; without it this machine's.
    overwrite: True to remove what is there.
    """
    type_name = type_name_of(dtype)
    settings = _settings(codecs)
    fill, kept = _fill_value(fill_value, type_name)
    for lengths, what in ((chunks, "chunks"), (shards, "shards"), (dims, "dims")):
        if lengths is not None and len(lengths) != len(shape):
            raise ValueError(f"the shape has {len(shape)} dimensions, {what} has {len(lengths)}")
    plain, typed, kept_attributes = _attributes(attrs or {})
    description = _c.Description(
        struct_size=ctypes.sizeof(_c.Description), type_name=type_name.encode(), rank=len(shape),
        shape=_c.sizes(shape), chunk_shape=_c.sizes(chunks) if chunks is not None else None,
        shard_shape=_c.sizes(shards) if shards is not None else None,
        dimension_names=_c.texts([one or "" for one in dims]) if dims is not None else None, fill_value=fill,
        codecs=(_c.CodecSetting * len(settings))(*settings) if settings else None, num_codecs=len(settings),
        uncompressed=codecs is None, attributes_json=plain, attributes=typed, num_attributes=len(typed),
        format=_one_of(_FORMATS, format, "format"),
        separator=ord(separator) if separator else 0, endian=_one_of(_ENDIANS, endian, "endian"), overwrite=overwrite)
    pointer = c_void_p()
    if isinstance(path, NewZip):
        _c.call(c.array_create_in, path._pointer, _c.text(name), byref(description), byref(pointer))
        where = path.path
    else:
        _c.call(c.array_create, _c.path_bytes(path), _c.text(name), byref(description), byref(pointer))
        where = path
    del kept, kept_attributes
    return Array(pointer, (open, (os.fspath(where), name, "r+", threads)), threads, cache)


def _attributes(attrs):
    """Attributes as JSON, those that are numpy's numbers with their types, and what has to be kept meanwhile."""
    is_typed = {name: isinstance(value, (np.ndarray, np.generic)) for name, value in attrs.items()}
    plain = json.dumps({name: value for name, value in attrs.items() if not is_typed[name]}).encode()
    typed, kept = [], []
    for name in filter(is_typed.get, attrs):
        number, num_values, values, owner = as_stored(attrs[name])
        typed.append(_c.Attribute(ctypes.sizeof(_c.Attribute), _c.text(name), number, num_values, values))
        kept.append(owner)
    return plain, (_c.Attribute * len(typed))(*typed), kept


def _one_of(known, given, what):
    if given not in known:
        raise ValueError(f"{what} is {given!r}, not one of {', '.join(repr(one) for one in known)}")
    return known[given]


def _settings(codecs):
    if codecs is ... or codecs is None:
        return []
    pairs = [(codec, {}) if isinstance(codec, str) else codec for codec in codecs]
    return [_c.CodecSetting(_c.text(name), json.dumps(settings).encode()) for name, settings in pairs]


def _fill_value(value, type_name):
    """The address of a fill value as the library takes it, and what has to be kept meanwhile."""
    if value is None:
        return None, None
    if type_name == "string":
        kept = c_char_p(_c.text(value))
        pointer = c_void_p(ctypes.cast(kept, c_void_p).value)
        return ctypes.addressof(pointer), (kept, pointer)
    kept = np.array(value, dtype_of(type_name))
    return _c.address(kept), kept
