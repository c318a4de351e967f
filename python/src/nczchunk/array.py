"""Arrays that are open."""

import ctypes
import os
from ctypes import byref, c_void_p

import numpy as np

from . import _c
from ._c import c
from .attributes import Attributes
from .index import Selection
from .types import dtype_of

_MODES = {"r": _c.READ, "r+": _c.WRITE}


def open(path, name="", mode="r", *, threads=1, cache=...):
    """Opens an array: of Zarr v2 or v3, sharded or not, or of NCZarr, in a directory or a zip file; or a variable of a
    netCDF classic file or of a cfdb file.

    path: a directory, a zip file, or a file that holds arrays.
    name: where the array is below the path, such as "ocean/sst", or in the file; empty if the path is the array.
    mode: "r" to read, "r+" to read and write.
    threads: how many threads a read or write may use.
    cache: a Cache, which several arrays may share; None to keep no decoded chunks. Without it 64 MiB are kept.
    """
    if mode not in _MODES:
        raise ValueError(f"the mode is {mode!r}, which is neither 'r' nor 'r+'")
    opener = (open, (os.fspath(path), name, mode, threads))
    pointer = c_void_p()
    _c.call(c.array_open, _c.path_bytes(path), _c.text(name), _MODES[mode], byref(pointer))
    return Array(pointer, opener, threads, cache)


class Array:
    """An array that is open. It is indexed as arrays of numpy are: by integers, slices with steps of both signs, ...
    and None; what is selected is read from, or written to, where the array is stored.

    Several threads may read an array at the same time; reads and writes let other threads of Python run. An array can
    be pickled: it is opened again where it arrives, without its cache.
    """

    def __init__(self, pointer, opener, threads=1, cache=...):
        self._pointer, self._opener, self.threads = pointer, opener, threads
        self._cache = cache
        if cache is not ...:
            _c.call(c.array_set_cache, pointer, None if cache is None else cache._pointer)
        self.type_name = c.array_type_name(pointer).decode()
        self.dtype = dtype_of(self.type_name, c.var_element_size(c.array_var(pointer)))
        self._take_shape()

    def _take_shape(self):
        var = c.array_var(self._pointer)
        self._var, self._store = var, c.array_store(self._pointer)
        rank = range(c.var_rank(var))
        self.shape = tuple(c.var_dimlen(var, d) for d in rank)
        self.chunks = tuple(c.var_chunklen(var, d) for d in rank)
        shards = tuple(c.var_write_chunklen(var, d) for d in rank)
        self.shards = None if shards == self.chunks else shards

    @property
    def netcdf_type(self):
        """netCDF's number for the type of its elements; 0 for a type that netCDF does not have."""
        return c.array_type(self._alive())

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        """How many elements it has."""
        found = 1
        for length in self.shape:
            found *= length
        return found

    @property
    def nbytes(self):
        """How many bytes it takes in memory."""
        return self.size * self.dtype.itemsize

    @property
    def dims(self):
        """The names of its dimensions; an empty text for one that has none."""
        return tuple(c.array_dimname(self._alive(), d).decode(errors="replace") for d in range(self.ndim))

    @property
    def fill_value(self):
        """What is read where nothing was written, as a scalar of numpy's, or a str for texts of any length. None if
        none is set; then zeros are read, or empty texts."""
        at = c.var_fill_value(c.array_var(self._alive()))
        if not at:
            return None
        if self.dtype == object:
            return (ctypes.cast(at, ctypes.POINTER(ctypes.c_char_p))[0] or b"").decode()
        return np.frombuffer(ctypes.string_at(at, self.dtype.itemsize), self.dtype)[0]

    @property
    def attrs(self):
        """Its attributes, as a mapping that can be changed."""
        self._alive()
        return Attributes(self)

    def _alive(self):
        if not self._pointer:
            raise ValueError("the array is closed")
        return self._pointer

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __getitem__(self, index):
        self._alive()
        selection = Selection(index, self.shape)
        if self.dtype == object:
            found = self._read_texts(selection)
        else:
            found = np.empty(selection.shape, self.dtype)
            self._transfer(c.read_strided, selection, found)
        return found if selection.axes else found[()]

    def read_into(self, out, index=...):
        """Reads what is selected into an array of numpy's, which may be any view of one: transposed, reversed, every
        second element. It has the array's dtype, in native byte order, and the shape of what is selected."""
        self._alive()
        selection = Selection(index, self.shape)
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out is {type(out).__name__}, not an array of numpy's")
        if out.dtype != self.dtype or not out.dtype.isnative:
            raise TypeError(f"out has elements {out.dtype}, the array {self.dtype}")
        if out.shape != selection.shape:
            raise ValueError(f"out has the shape {out.shape}, what is selected {selection.shape}")
        if not out.flags.writeable:
            raise ValueError("out may only be read")
        if out.size and any(stride == 0 and length > 1 for stride, length in zip(out.strides, out.shape)):
            raise ValueError("elements of out share memory")
        if self.dtype == object:
            out[...] = self._read_texts(selection)
        else:
            self._transfer(c.read_strided, selection, out)
        return out

    def __setitem__(self, index, values):
        self._alive()
        selection = Selection(index, self.shape)
        values = np.asarray(values, None if self.dtype == object else self.dtype)
        values = np.broadcast_to(values, selection.shape)
        if self.dtype == object:
            self._write_texts(selection, values)
        else:
            self._transfer(c.write_strided, selection, values)

    def _transfer(self, function, selection, memory):
        """Reads or writes what is selected, from or to an array of the selection's shape, or a view of one."""
        before = sum(-stride * (length - 1) for stride, length in zip(memory.strides, memory.shape)
                     if stride < 0 and length)
        behind = sum(stride * (length - 1) for stride, length in zip(memory.strides, memory.shape)
                     if stride > 0 and length)
        num_bytes = before + behind + memory.itemsize if memory.size else 0
        _c.transfer(function, self.threads, memory.size * memory.itemsize, self._var, self._store,
                    _c.sizes(selection.start), _c.sizes(selection.count), _c.signed_sizes(selection.stride),
                    _c.address(memory) - before, num_bytes, before,
                    _c.signed_sizes(selection.memory_strides(memory.strides)))

    def _read_texts(self, selection):
        start, stride, flips = _forwards(selection)
        pointers = np.zeros(selection.count, np.uintp)
        _c.transfer(c.array_read, self.threads, pointers.nbytes, self._pointer, _c.sizes(start),
                    _c.sizes(selection.count), _c.signed_sizes(stride), _c.address(pointers))
        return _c.take_strings(pointers)[flips].reshape(selection.shape)

    def _write_texts(self, selection, values):
        start, stride, flips = _forwards(selection)
        values = values.reshape(selection.count)[flips]
        kept = _c.texts(["" if value is None else value for value in values.ravel().tolist()])
        _c.transfer(c.array_write, self.threads, 0, self._pointer, _c.sizes(start), _c.sizes(selection.count),
                    _c.signed_sizes(stride), ctypes.addressof(kept))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the array is not in memory, so it has to be copied")
        found = np.asarray(self[...])
        return found if dtype is None else found.astype(dtype)

    def resize(self, shape):
        """Gives the array another shape: a length for each of its dimensions."""
        self._alive()
        if len(shape) != self.ndim:
            raise ValueError(f"the array has {self.ndim} dimensions, the new shape {len(shape)}")
        _c.call(c.array_resize, self._pointer, _c.sizes(shape))
        self._take_shape()

    def verify(self, on=True):
        """Sets whether every chunk that is read is decoded to its end and its checksums compared."""
        _c.call(c.array_set_verify, self._alive(), bool(on))

    def close(self):
        """Closes the array. What was written is where it belongs already."""
        pointer, self._pointer = self._pointer, None
        if pointer:
            c.array_close(pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # Python may have taken the functions away already when the process ends.
        if c is not None and getattr(self, "_pointer", None):
            self.close()

    def __reduce__(self):
        function, arguments = self._opener
        return _open_again, (function, arguments)

    def __repr__(self):
        if not self._pointer:
            return "<nczchunk.Array, closed>"
        names = [f"{name or d}: {length}" for d, (name, length) in enumerate(zip(self.dims, self.shape))]
        return f"<nczchunk.Array ({', '.join(names)}) {self.type_name}, chunks {self.chunks}>"


def _open_again(function, arguments):
    path, name, mode, threads = arguments
    return function(path, name, mode, threads=threads)


def _forwards(selection):
    """The start and stride of the same elements in ascending order, and the index that puts them into theirs."""
    start, stride, flips = [], [], []
    for first, count, step in zip(selection.start, selection.count, selection.stride):
        start.append(first + (count - 1) * step if step < 0 else first)
        stride.append(abs(step))
        flips.append(slice(None, None, -1 if step < 0 else 1))
    return start, stride, tuple(flips)
