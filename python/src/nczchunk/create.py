"""New arrays."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Iterable, Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _c, limits
from ._c import c
from .array import Array, check_options
from .attributes import as_json, as_numbers
from .errors import Exists
from .handle import Handle, Owner
from .storage import kept, same_as_path, shown
from .types import dtype_of, type_name_of

if TYPE_CHECKING:
    from types import EllipsisType

    from .array import Path
    from .cache import Cache
    from .limits import MemoryLimits

_FORMATS = {"zarr3": _c.ZARR_V3, "zarr2": _c.ZARR_V2, "nczarr": _c.NCZARR}
_ENDIANS = {None: 0, "little": 1, "big": 2}
_SEPARATORS = {None: 0, ".": ord("."), "/": ord("/")}


class NewZip:
    """A new zip file, to pass to create() instead of a path. finish() puts it at its path. As a context manager it
    is finished at the end, unless an exception was raised."""

    def __init__(self, path: Path, *, memory_limits: MemoryLimits | None = None) -> None:
        limits.check(memory_limits)
        self.path, self.memory_limits, owner = path, memory_limits, Owner(c.storage_free)
        _c.call(c.storage_create_zip, _c.path_bytes("path", path), byref(owner))
        self._handle = Handle(owner, "the new zip file")
        limits.limit(owner, memory_limits)

    def finish(self) -> None:
        """Completes the file. It waits for calls of other threads that create arrays in it."""
        _c.change(self._handle, lambda pointer: _c.call(c.storage_finish, pointer))
        self._handle.close()

    def __enter__(self) -> NewZip:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.finish()
        else:
            self._handle.close()


def create(path: Path | NewZip, name: str = "", *, shape: Sequence[int], dtype: Any,
           chunks: Sequence[int | Sequence[int]] | None = None, shards: Sequence[int] | None = None,
           dims: Sequence[str | None] | None = None, fill_value: Any = None,
           codecs: Sequence[str | tuple[str, Mapping[str, Any]]] | EllipsisType | None = ...,
           attrs: Mapping[str, Any] | None = None, format: str = "zarr3", separator: str | None = None,
           endian: str | None = None, overwrite: bool = False, threads: int | None = None,
           cache: Cache | EllipsisType | None = ..., memory_limits: MemoryLimits | None = None) -> Array:
    """Creates an array and opens it for reading and writing.

    path, name: a directory, and the path of the new array below it; or a NewZip, or a storage, as for open().
    shape, chunks, shards: the lengths for each dimension. Chunks are about 16 MiB by default. Without shards each chunk
        is a file. Where the chunks along a dimension differ, chunks has a list of all their lengths for it, as in
        chunks=([31, 28, 31], 90): in "zarr3" without shards.
    dtype: a numpy type, str for variable-length strings, or "char" for netCDF's characters.
    codecs: in the order of encoding, each a name or a pair of a name and a dict, such as ("zstd", {"level": 3}); None
        or an empty list to store chunks uncompressed. The default is zstd.
    format: "zarr3", "zarr2", or "nczarr", which netCDF-C reads.
    separator: the chunk key separator, "." or "/".
    endian: the byte order of the stored data, "little" or "big"; by default this machine's.
    overwrite: True to replace an existing array or group.
    threads, cache, memory_limits: as for open(). A NewZip has its own memory_limits.
    """
    check_options(threads, cache, memory_limits)
    shape = _c.lengths("shape", shape)
    type_name = type_name_of(dtype)
    chain = _chain(codecs)
    fill, kept_fill = _fill_value(fill_value, type_name)
    plain, typed, kept_attributes = _attributes({} if attrs is None else attrs)
    chunks, lists, counts = _lists(chunks, shape)
    description = _c.Description(
        type_name=type_name.encode(), rank=len(shape), shape=_c.sizes(shape),
        chunk_shape=_lengths("chunks", chunks, shape), shard_shape=_lengths("shards", shards, shape),
        dimension_names=_names("dims", dims, shape), fill_value=fill,
        **chain, attributes_json=plain, attributes=typed, num_attributes=len(typed),
        format=_c.one_of("format", _FORMATS, format), separator=_c.one_of("separator", _SEPARATORS, separator),
        endian=_c.one_of("endian", _ENDIANS, endian), overwrite=bool(overwrite),
        chunk_lengths=lists, num_chunks=counts)
    owner, encoded = Owner(c.array_close), _c.text("name", name)
    where = path = same_as_path(path)

    def create_in(storage):
        _c.call(c.array_create_in, storage, encoded, byref(description), byref(owner))

    try:
        if isinstance(path, NewZip):
            if memory_limits is not None:
                raise ValueError("memory_limits: expected None, because the NewZip has its own")
            where, memory_limits = path.path, path.memory_limits
            path._handle.share(create_in)
        elif not limits.is_plain(path, memory_limits):
            limits.within(memory_limits, c.storage_create, path, create_in)
        else:
            _c.call(c.array_create, _c.path_bytes("path", path), encoded, byref(description), byref(owner))
    except Exists as error:
        if overwrite:
            raise
        raise error.about(f"{shown(where, name)}: an array or group exists here: "
                          "pass overwrite=True to replace it") from None
    del kept_fill, kept_attributes
    return Array(owner, (kept(where), name, "r+", memory_limits), threads, cache)


def _lists(chunks, shape):
    """The lengths of the largest chunk; and the lists of lengths and how long each is, if there are lists."""
    if not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes)):
        return chunks, None, None
    chunks = tuple(chunks)
    given = [length if isinstance(length, Sequence) else None for length in chunks]
    if all(one is None for one in given):
        return chunks, None, None
    _of_each_dimension("chunks", given, shape)
    lists = [None if one is None else _c.sizes(_c.lengths("chunks", one)) for one in given]
    largest = [length if one is None else max(one, default=1) for length, one in zip(chunks, given)]
    pointers = [POINTER(c_size_t)() if one is None else ctypes.cast(one, POINTER(c_size_t)) for one in lists]
    counts = _c.sizes([0 if one is None else len(one) for one in given])
    return largest, (POINTER(c_size_t) * max(1, len(pointers)))(*pointers), counts


def _of_each_dimension(name, given, shape):
    if len(given) != len(shape):
        raise ValueError(f"{name}: expected {len(shape)} items, as shape has, found {len(given)}")


def _lengths(name, given, shape):
    """Lengths for each dimension as the library takes them, or None."""
    if given is None:
        return None
    checked = _c.lengths(name, given, 1)
    _of_each_dimension(name, checked, shape)
    return _c.sizes(checked)


def _names(name, given, shape):
    """Names of dimensions as the library takes them, or None."""
    if given is None:
        return None
    if not _is_list(given):
        raise TypeError(f"{name}: expected a list with a name or None for each dimension, found {given!r}")
    _of_each_dimension(name, given, shape)
    return _c.texts(name, ["" if one is None else one for one in given])


def _is_list(given):
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def _attributes(attrs):
    """Attributes as JSON, those that are numpy's numbers with their types, and what has to be kept meanwhile."""
    if not isinstance(attrs, Mapping):
        raise TypeError(f"attrs: expected a mapping of names to values, found {attrs!r}")
    plain, typed, kept = {}, [], []
    for name, value in attrs.items():
        encoded, numbers = _c.text("attrs", name), as_numbers(value)
        if numbers is None:
            plain[name] = value
            as_json(f"attrs[{name!r}]", value)
            continue
        number, num_values, values, owner = numbers
        typed.append(_c.Attribute(name=encoded, type=number, num_values=num_values, values=values))
        kept.append(owner)
    return as_json("attrs", plain), (_c.Attribute * len(typed))(*typed), kept


def _chain(codecs):
    """The fields of a description that say which codecs there are: the default ones for ..., none for None and for an
    empty list."""
    if codecs is ...:
        return {"codecs": None, "num_codecs": 0, "uncompressed": 0}
    settings = [] if codecs is None else _settings(codecs)
    return {"codecs": (_c.CodecSetting * len(settings))(*settings) if settings else None, "num_codecs": len(settings),
            "uncompressed": not settings}


def _settings(codecs):
    if not _is_list(codecs):
        raise TypeError(f'codecs: expected a list such as ["zstd"], found {codecs!r}')
    settings = []
    for i, codec in enumerate(codecs):
        pair = (codec, {}) if isinstance(codec, str) else codec
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[1], Mapping)):
            raise TypeError(f"codecs[{i}]: expected a name or a pair of a name and a dict, found {codec!r}")
        settings.append(_c.CodecSetting(name=_c.text(f"codecs[{i}]", pair[0]),
                                        configuration=as_json(f"codecs[{i}]", dict(pair[1]))))
    return settings


def _fill_value(value, type_name):
    """The address of a fill value as the library takes it, and what has to be kept meanwhile."""
    if value is None:
        return None, None
    if type_name == "string":
        kept = c_char_p(_c.text("fill_value", value))
        pointer = c_void_p(ctypes.cast(kept, c_void_p).value)
        return ctypes.addressof(pointer), (kept, pointer)
    kept = _scalar("fill_value", value, dtype_of(type_name))
    return _c.address(kept), kept


def _scalar(name, value, dtype):
    """A value as an array without dimensions of this type, if that has it."""
    given = np.asarray(value)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = np.array(value, dtype)
            fits = given.shape == () and _is_same(given, found)
        except (TypeError, ValueError, OverflowError):
            fits = False
    if not fits:
        raise ValueError(f"{name}: expected a value of the type {dtype}, found {value!r}")
    return found


def _is_same(given, found):
    """Whether a type holds a value, where numpy would silently take another number or cut a string off."""
    if given.dtype.kind == "c" and found.dtype.kind != "c":
        return False  # the imaginary part would be lost
    if found.dtype.isbuiltin == 2:  # of ml_dtypes: small numbers, of which some have no infinity and no NaN
        import ml_dtypes
        is_integer, most = "int" in found.dtype.name, None
        if not is_integer:
            most = float(ml_dtypes.finfo(found.dtype).max)
        given, found = given.astype("f8"), found.astype("f8")
        if given == found or is_integer or not np.isfinite(given):
            return given == found or not is_integer and np.isnan(given) and np.isnan(found)
        return np.isfinite(found) and abs(given) <= most
    if found.dtype.kind in "biu":
        return given.dtype.kind in "biufO" and given == found
    if found.dtype.kind in "fc":
        return np.isfinite(found) or not np.isfinite(given)
    if found.dtype.kind in "mM":
        # numpy compares two times in the finer unit, in which it wraps around what does not fit.
        back = found.astype(given.dtype) if given.dtype.kind == found.dtype.kind else given
        return np.isnat(found) or given == found and given == back
    if found.dtype.kind in "SU" and given.dtype.kind in "SU":
        return np.char.str_len(given) == np.char.str_len(found)
    return True
