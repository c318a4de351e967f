"""Arrays that are open."""

from __future__ import annotations

import ctypes
import json
import math
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np

from . import _c, limits, listing, locks, trace
from ._c import c
from .attributes import Attributes, left_out
from .cache import Cache
from .errors import Error, NotFound, NotPermitted
from .fancy import BlockIndex, OrthogonalIndex, VectorizedIndex, advanced, written
from .handle import Handle, Owner
from .index import Selection, has_ellipsis
from .info import Info, of_array
from .memory import room
from .storage import canceller, identity, identity_of_file, kept, same_as_path, server_of, shown
from .types import dtype_of

if TYPE_CHECKING:
    from types import EllipsisType

    from .limits import MemoryLimits

# Any stands for the storages of other packages, which need not be there.
Path = Union[str, bytes, "os.PathLike[Any]", Any]
MODES = {"r": _c.READ, "r+": _c.WRITE}

# A call that transfers fewer bytes, touches fewer chunks and decodes no more bytes than a cache holds by default ends
# soon.
_LONG_BYTES, _LONG_CHUNKS, _LONG_DECODED = 4 << 20, 256, 64 << 20


class ReadCost(NamedTuple):
    """What it takes to read something from a storage."""

    requests: int
    """The number of requests to the storage; of a file, the number of reads."""
    bytes: int
    """The number of bytes that they return, including gaps between chunks that are read together."""
    index_requests: int
    """How many of the requests read only indices: of shards, or of chunks in a file."""
    index_bytes: int
    """How many of the bytes are those of indices."""


class ChunkLocation(NamedTuple):
    """The location of a stored chunk.

    indices: the chunk's indices.
    object: the name of the object that holds the chunk, or would hold it: a file below the path of a directory, or an
        entry of a zip file. Empty if the opened path is the file itself, such as a netCDF classic file.
    offset, nbytes: the range of bytes of the encoded chunk in the object. None for a missing chunk, which reads as the
        fill value.
    """

    indices: tuple[int, ...]
    object: str
    offset: int | None
    nbytes: int | None


def open(path: Path, name: str = "", mode: str = "r", *, threads: int | None = None,
         cache: Cache | EllipsisType | None = ..., memory_limits: MemoryLimits | None = None) -> Array:
    """Opens an array of Zarr v2 or v3 (with or without shards) or NCZarr in a directory or zip file, or a variable of a
    netCDF, HDF5 or cfdb file.

    path: a directory, a zip file, or a file that holds arrays; or a storage: a file system or mapping of fsspec, a
        store of obstore, or a store of zarr-python.
    name: the array's path below that, such as "ocean/sst", or its name in the file; empty if the path is the array.
    mode: "r" for reading, "r+" for reading and writing.
    threads: how many threads a read or write may use; by default the number of processors that the process may run on.
    cache: a Cache, which several arrays may share; None for no cache. By default, the array has a cache of
        64 MiB, which keeps a chunk from its second use on.
    memory_limits: MemoryLimits to use instead of the default limits.
    """
    access = _c.one_of("mode", MODES, mode)
    check_options(threads, cache, memory_limits)
    owner, encoded = Owner(c.array_close), _c.text("name", name)
    try:
        path = same_as_path(path)
        if limits.is_plain(path, memory_limits):
            _c.call(c.array_open, _c.path_bytes("path", path), encoded, access, byref(owner))
        else:
            limits.within(memory_limits, c.storage_open, path, lambda storage: _c.call(
                c.array_open_in, storage, encoded, access, byref(owner)))
    except NotFound as error:
        raise error.about(f"{error}{_candidates(path, memory_limits)}") from None
    except NotPermitted as error:
        raise error.about(f'{shown(path)}: this is read-only: open it with mode="r"') from None
    return Array(owner, (kept(path), name, mode, memory_limits), threads, cache)


def open_in(storage, where, threads=None, cache=...):
    """Opens an array in a storage, which other arrays share. where: a path, a name, a mode and limits, by which it is
    opened again where it is unpickled."""
    owner, (_, name, mode, _) = Owner(c.array_close), where
    storage.share(lambda found: _c.call(c.array_open_in, found, _c.text("name", name), MODES[mode], byref(owner)))
    return Array(owner, where, threads, cache)


def _candidates(path, memory_limits):
    """The names of the arrays that exist, for a message."""
    try:
        names, has_more = listing.array_names(path, memory_limits, 12)
    except Error:
        return ""
    if not names:
        return ""
    return f"; the arrays are: {', '.join(map(repr, names))}{', ...' if has_more else ''}"


def check_options(threads, cache, memory_limits):
    """Refuses invalid options of open() and create()."""
    if threads is not None:
        _c.integer("threads", threads, 1)
    if not (cache is None or cache is ... or isinstance(cache, Cache)):
        raise TypeError(f"cache: expected a Cache, None, or ... for the default, found {cache!r}")
    limits.check(memory_limits)


class Array:
    """An open array. It is indexed as numpy's arrays are, by integers, slices with steps of both signs, ... and None.
    Indexing reads the selected elements from the storage, and assignment writes them there.

    Several threads may use an array at the same time, and reads and writes let other Python threads run. resize() and
    changes of attributes wait for calls in flight in other threads, and later calls wait for them. close() waits for
    calls in flight, too. Threads and processes of one machine may write to parts of the same chunk of an array in a
    directory: such writes wait for each other. An array can be pickled: it is opened again where it is unpickled,
    without its cache.
    """

    def __init__(self, owner, where, threads=None, cache=...):
        self._handle = Handle(owner, "the array", canceller(where[0]))
        self._where, self.threads, self._cache = where, threads, cache
        # What Dask knows them by: which file this is, what the environment says of its server, and a number for
        # what nothing else tells from others.
        self._file, self._server, self._unique = identity_of_file(where[0]), server_of(where[0]), None
        # What Attributes know of them.
        self._attributes: dict[str, Any] | None = None
        if cache is None:
            _c.call(c.array_set_cache, owner, None)
        elif cache is not ...:
            cache._handle.share(lambda shared: _c.call(c.array_set_cache, owner, shared))
        self.shape: tuple[int, ...]
        self.chunks: tuple[int, ...]
        self.shards: tuple[int, ...] | None
        self.type_name: str = c.array_type_name(owner).decode()
        self.format: str = c.array_format(owner).decode()
        self.dtype: np.dtype[Any] = dtype_of(self.type_name, c.var_element_size(c.array_var(owner)))
        self._take_shape(owner)

    def _take_shape(self, pointer):
        var = c.array_var(pointer)
        rank = range(c.var_rank(var))
        self.shape = tuple(c.var_dimlen(var, d) for d in rank)
        self.chunks = tuple(c.var_chunklen(var, d) for d in rank)
        shards = tuple(c.var_write_chunklen(var, d) for d in rank)
        self.shards = None if shards == self.chunks else shards
        # For each dimension whether its chunks have one length.
        self._regular = tuple(bool(c.var_is_regular(var, d)) for d in rank)

    @property
    def threads(self) -> int:
        """How many threads a read or write may use. None sets it to the number of processors that the process may
        run on."""
        return self._threads

    @threads.setter
    def threads(self, number: int | None) -> None:
        self._threads = _c.num_processors() if number is None else _c.integer("threads", number, 1)
        self._given_threads = number

    @property
    def netcdf_type(self) -> int:
        """netCDF's number for the type of the elements; 0 for a type that netCDF does not have."""
        return self._handle.share(c.array_type)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        found = 1
        for length in self.shape:
            found *= length
        return found

    @property
    def nbytes(self) -> int:
        """The size of all elements in memory in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def nchunks(self) -> int:
        """The number of chunks by which the array is read; chunks within shards count one by one."""
        def count(pointer):
            var = c.array_var(pointer)
            return math.prod(c.var_num_chunks(var, d) for d in range(self.ndim))

        return self._handle.share(count)

    @property
    def read_chunk_sizes(self) -> tuple[tuple[int, ...], ...]:
        """For each dimension the lengths of its chunks, one after another, as far as they lie in the dimension. Where
        not all are alike, ``chunks`` has the largest."""
        def all_of(pointer):
            var, length = c.array_var(pointer), c_size_t()

            def one(d, chunk):
                _c.call(c.var_chunk_extent, var, d, chunk, None, byref(length), None)
                return length.value

            first = [c.var_origin(var, d) // c.var_chunklen(var, d) for d in range(self.ndim)]
            return tuple(tuple(one(d, first[d] + i) for i in range(c.var_num_chunks(var, d)))
                         for d in range(self.ndim))

        return self._handle.share(all_of)

    @property
    def nchunks_initialized(self) -> int:
        """The number of stored chunks. Reads the indices of shards, but no chunks."""
        return sum(self._located(..., lambda pointer: pointer.contents.state == _c.STORED))

    @property
    def codecs(self) -> list[tuple[str, dict[str, Any]]]:
        """The codecs of the chunks, in the order of encoding: of each its name and its configuration, which is empty if
        the format does not record it. Codecs for whole shards are left out. create() takes them as ``codecs``.

        >>> array.codecs
        [('zstd', {'level': 3})]
        """
        def call(callback, thread):
            self._handle.share(lambda pointer: _c.call(c.array_codecs, pointer, callback, None), thread)

        return _c.collect(_c.CODEC, lambda name, given: (name.decode(), json.loads(given or b"{}")), call)

    @property
    def info(self) -> Info:
        """A description of the array, as a table."""
        return of_array(self)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions; an empty string for a dimension without a name."""
        return self._handle.share(lambda pointer: tuple(
            c.array_dimname(pointer, d).decode(errors="replace") for d in range(self.ndim)))

    @property
    def fill_value(self) -> Any:
        """The fill value, which reads return where nothing was written: a numpy scalar, or a str for variable-length
        strings. None if none is set, which stands for zeros or empty strings."""
        return self._handle.share(self._fill_value)

    def _fill_value(self, pointer):
        at = c.var_fill_value(c.array_var(pointer))
        if not at:
            return None
        if self.dtype == object:
            return (ctypes.cast(at, ctypes.POINTER(ctypes.c_char_p))[0] or b"").decode()
        return np.frombuffer(ctypes.string_at(at, self.dtype.itemsize), self.dtype)[0]

    @property
    def attrs(self) -> Attributes:
        """The attributes, as a mapping that can be changed."""
        return Attributes(self)

    @property
    def left_out(self) -> dict[str, str]:
        """What is stored with the array and a copy does not have: the names of attributes that are missing, or of which
        a part is missing, with the reasons. "" stands for the type of the elements. Only HDF5 files have such things:
        attributes of types that netCDF lacks, the names of an enumeration's values, the members of structures.

        >>> array.left_out
        {}
        """
        def call(callback, thread):
            self._handle.share(lambda pointer: _c.call(c.array_left_out, pointer, callback, None), thread)

        return left_out(call)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """What the indices of the first dimension select, one after another."""
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: object) -> bool:
        """Whether any element equals the value, as numpy has it. A value of fewer dimensions is compared with as many
        rows at a time as a chunk has."""
        if np.ndim(value) >= self.ndim:
            return value in np.asarray(self)
        length = max(1, (self.shards or self.chunks)[0])
        return any(value in np.asarray(self[start:start + length]) for start in range(0, self.shape[0], length))

    def __getitem__(self, index: Any) -> Any:
        selected = advanced(self, index)
        if selected is not None:
            return selected.read()
        selection = Selection(index, self.shape)
        if self.dtype == object:
            found = self._read_texts(selection)
        else:
            found = room(selection.shape, self.dtype)
            self._transfer(c.read_strided, selection, found)
        # As in numpy, an index with an ellipsis selects an array, even one without dimensions.
        return found if selection.axes or has_ellipsis(index) else found[()]

    def read_into(self, out: np.ndarray[Any, Any], index: Any = ...) -> np.ndarray[Any, Any]:
        """Reads a selection into a numpy array, which may be any view: transposed, reversed, every second element.
        It must have the array's dtype, in native byte order, and the shape of the selection."""
        selection = Selection(index, self.shape)
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a numpy array, not {type(out).__name__}")
        if out.dtype != self.dtype or not out.dtype.isnative:
            raise TypeError(f"out has elements {out.dtype}, but the array has {self.dtype}")
        if out.shape != selection.shape:
            raise ValueError(f"out has the shape {out.shape}, but the selection has {selection.shape}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if out.size and any(stride == 0 and length > 1 for stride, length in zip(out.strides, out.shape)):
            raise ValueError("elements of out must not share memory")
        if self.dtype == object:
            out[...] = self._read_texts(selection)
        else:
            self._transfer(c.read_strided, selection, out)
        return out

    def __setitem__(self, index: Any, values: Any) -> None:
        self._check_writable()
        selected = advanced(self, index)
        if selected is not None:
            selected.write(values)
            return
        selection = Selection(index, self.shape)
        values = self._values(values, selection.shape)
        is_whole = locks.is_whole(selection.start, selection.count, selection.stride, written(self), self.shape)
        self._holding_lock(is_whole, lambda: self._put(selection, values))

    def _holding_lock(self, is_whole, work, waits=True):
        """Returns what work() returns, which has the lock of the array's directory, if there is one: for a write of
        whole chunks with others."""
        path, name, *_ = self._where
        return locks.holding(locks.of(path, name), not is_whole, work, waits)

    def _put(self, selection, values):
        """Writes values of the selection's shape."""
        if self.dtype == object:
            self._write_texts(selection, values)
        else:
            self._transfer(c.write_strided, selection, values)

    def _check_writable(self):
        path, name, mode, _ = self._where
        if mode == "r":
            raise NotPermitted(f'{shown(path, name)}: opened read-only: open it with mode="r+" to write',
                               _c.READ_ONLY)

    def _values(self, values, shape):
        """The values to write, as elements of the array in this shape."""
        try:
            values = np.asarray(values, self.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            kind = ValueError if isinstance(error, UnicodeError) else type(error)
            raise kind(f"values: expected elements of the type {self.dtype}: {error}") from None
        # As numpy does, this leaves out dimensions of one element that come before those of the selection. An element
        # takes no list.
        more = max(0, values.ndim - len(shape)) if shape else 0
        fitting = values.reshape(values.shape[more:]) if values.shape[:more] == (1,) * more else values
        try:
            return np.broadcast_to(fitting, shape)
        except ValueError:
            raise ValueError(f"values: expected the shape {tuple(shape)}, or one that can be broadcast to it, found "
                             f"{values.shape}") from None

    def _transfer(self, function, selection, memory):
        """Reads or writes a selection, from or to an array of the selection's shape, or a view of one."""
        before = sum(-stride * (length - 1) for stride, length in zip(memory.strides, memory.shape)
                     if stride < 0 and length)
        behind = sum(stride * (length - 1) for stride, length in zip(memory.strides, memory.shape)
                     if stride > 0 and length)
        num_bytes = before + behind + memory.itemsize if memory.size else 0
        arguments = (_c.sizes(selection.start), _c.sizes(selection.count), _c.signed_sizes(selection.stride),
                     _c.address(memory) - before, num_bytes, before,
                     _c.signed_sizes(selection.memory_strides(memory.strides)))
        if trace.FILE is not None and function is c.read_strided:
            self._trace([(selection.count, selection.stride)])
        # The memory is there as long as the call runs, even if an exception leaves this function before.
        _c.transfer(self._handle, self._threads, self._is_long(selection, memory.nbytes),
                    lambda pointer, call, _kept=memory: call(
                        function, c.array_var(pointer), c.array_store(pointer), *arguments))

    def _call(self, function, arguments, memory, num_chunks, kept):
        """Has a function of C transfer memory, from or to so many chunks at most. What the arguments point to is kept
        as long as the call runs, as above."""
        arguments = (*arguments, _c.address(memory))
        _c.transfer(self._handle, self._threads, self._takes_long(num_chunks, memory.nbytes),
                    lambda pointer, call, _kept=(memory, kept): call(function, pointer, *arguments))

    def _trace(self, slabs):
        path, name, *_ = self._where
        trace.add(path, name, slabs)

    def _is_long(self, selection, num_bytes):
        return self._takes_long(selection.num_chunks(self.chunks), num_bytes)

    def _takes_long(self, chunks, num_bytes):
        """Whether a transfer of so many chunks may take longer than a user wants to wait. A call can end between
        chunks, so one that touches a single chunk cannot end earlier."""
        if chunks <= 1:
            return False
        decoded = chunks * self.dtype.itemsize
        for length in self.chunks:
            decoded *= length
        return num_bytes >= _LONG_BYTES or chunks >= _LONG_CHUNKS or decoded > _LONG_DECODED

    def _read_texts(self, selection):
        if trace.FILE is not None:
            self._trace([(selection.count, selection.stride)])
        start, stride, flips = _forwards(selection)
        block, num_bytes = c_void_p(), ctypes.c_size_t()
        arguments = (_c.sizes(start), _c.sizes(selection.count), _c.signed_sizes(stride), byref(block),
                     byref(num_bytes))
        try:
            _c.transfer(self._handle, self._threads, self._is_long(selection, 0),
                        lambda pointer, call: call(c.array_read_strings, pointer, *arguments))
            found = _c.texts_in(block.value, num_bytes.value, selection.count)
        finally:
            c.strings_free(1, byref(block))
        return found[flips].reshape(selection.shape)

    def _write_texts(self, selection, values):
        start, stride, flips = _forwards(selection)
        values = values.reshape(selection.count)[flips].ravel().tolist()
        pointers, _kept = _c.pointers_to("values", ["" if value is None else value for value in values])
        arguments = (_c.sizes(start), _c.sizes(selection.count), _c.signed_sizes(stride), _c.address(pointers))
        _c.transfer(self._handle, self._threads, self._is_long(selection, pointers.nbytes),
                    lambda pointer, call: call(c.array_write, pointer, *arguments))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("the array is not in memory, so a copy is needed")
        found = np.asarray(self[...])
        return found if dtype is None else found.astype(dtype)

    def resize(self, shape: Sequence[int]) -> None:
        """Changes the shape of the array: one length for each of its dimensions. Waits for calls in flight in other
        threads. netCDF-C opens a group of NCZarr only if all its arrays have one length for a dimension of the same
        name: resize them all."""
        shape = _c.lengths("shape", shape)
        if len(shape) != self.ndim:
            raise ValueError(f"shape: expected {self.ndim} lengths, one for each dimension, found {len(shape)}")
        self._check_writable()
        self._holding_lock(False, lambda: _c.change(self._handle, lambda pointer: self._resize(pointer, shape)),
                           locks.may_wait())

    def _resize(self, pointer, shape):
        _c.call(c.array_resize, pointer, _c.sizes(shape))
        self._take_shape(pointer)

    @property
    def oindex(self) -> OrthogonalIndex:
        """Orthogonal indexing with lists and masks, each of which selects along its own dimension."""
        return OrthogonalIndex(self)

    @property
    def vindex(self) -> VectorizedIndex:
        """Vectorized indexing with coordinates of elements, or a mask of the array's shape."""
        return VectorizedIndex(self)

    @property
    def blocks(self) -> BlockIndex:
        """Indexing by numbers of chunks, or of shards if the array has shards."""
        return BlockIndex(self)

    def append(self, values: Any, axis: int = 0) -> tuple[int, ...]:
        """Makes the array longer in a dimension, by the length of the values there, and writes them to the new part.
        Returns the new shape. The values come behind what is stored now: the array is refreshed before. Threads that
        use this Array wait for each other, and in a directory all threads and processes of this machine that append.
        Elsewhere, such as in an object store, nothing keeps two of them from taking the same new part: let one Array
        append."""
        if not self.ndim:
            raise ValueError("an array without dimensions has none in which it could become longer")
        axis = _c.integer("axis", axis, -self.ndim, self.ndim - 1) % self.ndim
        self._check_writable()
        given = np.asarray(values)
        values = self._values(given, given.shape)

        def lengthen(pointer):
            """Makes room behind what is stored, and returns the shapes before and after."""
            self._refresh(pointer)
            old = self.shape
            if len(given.shape) != len(old) or old != (*given.shape[:axis], old[axis], *given.shape[axis + 1:]):
                raise ValueError(f"values: expected the shape {old}, with any length in dimension {axis}, found "
                                 f"{given.shape}")
            new = (*old[:axis], old[axis] + given.shape[axis], *old[axis + 1:])
            self._resize(pointer, new)
            return old, new

        def add():
            old, new = _c.change(self._handle, lengthen)
            try:
                self[tuple(slice(old[d] if d == axis else 0, length) for d, length in enumerate(new))] = values
            except BaseException:
                def shorten(pointer):
                    """Takes the room away again, unless another has made more."""
                    self._refresh(pointer)
                    if self.shape == new:
                        self._resize(pointer, old)

                with suppress(Exception):
                    _c.change(self._handle, shorten)
                raise
            return new

        with self._handle.steps():
            return self._holding_lock(False, add)

    def refresh(self) -> None:
        """Reads the metadata again and drops cached chunks, so that the next read returns what is stored now: the
        data, the shape and the attributes that others have written. Waits for calls in flight in other threads.
        Raises ValueError if the array was replaced by one with other chunks or another type: open it again."""
        _c.change(self._handle, self._refresh)

    def _refresh(self, pointer):
        self._attributes = None
        _c.call(c.array_refresh, pointer)
        self._take_shape(pointer)

    def locate(self, index: Any = ...) -> list[ChunkLocation]:
        """Locates the stored chunks that an index selects elements of: returns a ChunkLocation for each, in row-major
        order. The chunks are those by which the array is read; chunks within shards are listed one by one. Their bytes
        are not read.

        >>> [(chunk.object, chunk.nbytes) for chunk in array.locate((0, slice(0, 50), 7))]
        [('0.0.0', 21402), ('0.1.0', 13782)]
        """
        return self._located(index, _location)

    def read_cost(self, index: Any = ...) -> ReadCost:
        """What it takes to read an index with one thread: a ReadCost, with the number of requests and of bytes. No
        chunk is read. The storage is asked for the indices of shards, which the array keeps, and for the length of each
        object that is a chunk. Indices that the array has already are not counted; chunks that its cache has are.

        >>> array.read_cost((0, slice(0, 50), 7)).requests
        2
        """
        selection = Selection(index, self.shape)
        start, stride, _ = _forwards(selection)
        found = _c.ReadCost()
        arguments = _c.sizes(start), _c.sizes(selection.count), _c.signed_sizes(stride), ctypes.byref(found)
        self._handle.share(lambda pointer: _c.call(c.array_read_cost, pointer, *arguments))
        return ReadCost(*(getattr(found, name) for name in ReadCost._fields))

    def _located(self, index, made_of):
        """A list of the results of made_of(pointer), one for each chunk that the library locates."""
        selection = Selection(index, self.shape)
        start, stride, _ = _forwards(selection)
        arguments = _c.sizes(start), _c.sizes(selection.count), _c.signed_sizes(stride)

        def call(callback, thread):
            self._handle.share(lambda pointer: _c.call(c.array_locate, pointer, *arguments, callback, None), thread)

        return _c.collect(_c.LOCATED, made_of, call)

    def verify(self, on: bool = True) -> None:
        """Sets whether every chunk that is read is decoded completely and its checksums are verified. In a zip file,
        the whole entry that holds a chunk is verified by the entry's checksum, too, once while the array is open."""
        _c.change(self._handle, lambda pointer: _c.call(c.array_set_verify, pointer, bool(on)))

    def close(self) -> None:
        """Closes the array. Waits for calls in flight in other threads; later calls raise ValueError. All written
        data are stored before this call."""
        self._handle.close()

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self):
        return _open_again, (self._where, self._given_threads)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """The identity of the array for Dask: its path, its shape and type, and the time of the last change of its
        path; of a URL or a storage also what tells its server from others, such as the endpoint. It does not change
        when chunks are written: after that, give computations another name."""
        path, name, *_ = self._where
        where = self._file or identity(path)
        if where is None:
            # Nothing tells its storage from others, so it is like no other array.
            self._unique = where = self._unique or uuid.uuid4().hex
        return "nczchunk.Array", where, self._server, name, self.format, self.type_name, self.shape

    def _repr_html_(self) -> str:
        return self.info._repr_html_()

    def __repr__(self) -> str:
        try:
            names = [f"{name or d}: {length}" for d, (name, length) in enumerate(zip(self.dims, self.shape))]
        except ValueError:
            return "<nczchunk.Array, closed>"
        return f"<nczchunk.Array ({', '.join(names)}) {self.type_name}, chunks {self.chunks}>"


def _location(pointer):
    chunk = pointer.contents
    indices = tuple(chunk.chunk_indices[d] for d in range(chunk.rank))
    name = chunk.object.decode(errors="replace")
    is_stored = chunk.state == _c.STORED
    return ChunkLocation(indices, name, chunk.offset if is_stored else None, chunk.len if is_stored else None)


def _open_again(where, threads):
    *path, memory_limits = where
    return open(*path, threads=threads, memory_limits=memory_limits)


def _forwards(selection):
    """The start and stride of the same elements in ascending order, and the index that puts them into theirs."""
    start, stride, flips = [], [], []
    for first, count, step in zip(selection.start, selection.count, selection.stride):
        start.append(first + (count - 1) * step if step < 0 else first)
        stride.append(abs(step))
        flips.append(slice(None, None, -1 if step < 0 else 1))
    # The ellipsis has an array result that has no dimensions.
    return start, stride, (*flips, ...)
