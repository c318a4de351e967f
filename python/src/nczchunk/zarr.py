"""nczchunk as a codec pipeline of zarr-python. With one line, zarr-python 3.1 and later, and with it xarray and Dask,
read and write by this library:

>>> zarr.config.set({"codec_pipeline.path": "nczchunk.zarr.CodecPipeline"})    # doctest: +ELLIPSIS
<donfig...

Arrays that the library can open are read and written by it: whole selections at a time, in threads of its own
(``threading.max_workers``), without the interpreter's lock. It reads the files of a LocalStore itself, and asks other
stores for the bytes of their objects as zarr-python does, ``async.concurrency`` at a time. Everything else is done by
zarr-python's own pipeline: codecs and types that the library does not have, lists, masks and coordinates as an index,
and chunks that are not to be stored because they hold nothing but fill values. The logger "nczchunk.zarr" says at the
level DEBUG which arrays are left to zarr-python, and why.
"""

import asyncio
import json
import logging
import math
import os
from concurrent.futures import ThreadPoolExecutor
from ctypes import byref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zarr.abc.codec
import zarr.storage
from zarr.core.buffer import default_buffer_prototype
from zarr.core.codec_pipeline import BatchedCodecPipeline, fill_value_or_default
from zarr.core.config import config
from zarr.storage import LocalStore, StorePath

from . import _c, locks, storage
from .array import MODES, Array
from .errors import Error
from .handle import Owner, at_fork
from .index import Selection

_log = logging.getLogger(__name__)

# From zarr-python 3.2 on, read() returns what became of each chunk.
_Result = getattr(zarr.abc.codec, "GetResult", None)


# A chunk of so many bytes is read sooner than another thread begins to read it.
_SMALL = 256 << 10
_executors = []


def _executor():
    """Threads that wait for the library."""
    try:
        return _executors[0]
    except IndexError:
        _executors.append(ThreadPoolExecutor(32, "nczchunk"))
        return _executors[0]


at_fork(_executors.clear)


class _NotOurs(Exception):
    """The reason why an array is left to zarr-python."""


class _Opened:
    """The array of a pipeline as the library has opened it: by the metadata that zarr-python has of it."""

    def __init__(self, metadata, store):
        self._metadata, self._store = metadata, store
        encoding = getattr(metadata, "chunk_key_encoding", None)
        # The array and the loop for which it was opened, and of what name it is.
        self._found = None, None, None
        self._separator = metadata.dimension_separator if encoding is None else encoding.separator
        self._is_v2 = encoding is None or encoding.name == "v2"
        self._is_known = encoding is None or encoding.name in ("default", "v2")
        self.is_at_hand = type(store) in (LocalStore, zarr.storage.MemoryStore, zarr.storage.ZipStore)

    def __reduce__(self):
        return _Opened, (self._metadata, self._store)

    def array(self, name, ends, loop):
        """The array of this name in the store, so long that these numbers of chunks are in it. Its last chunks are
        whole: what is behind the end of the array stays as it is, and the array may have become longer meanwhile."""
        found, of_name, of_loop = self._found
        if of_name != name or of_loop is not loop or found is not None and not all(map(int.__le__, ends, found[1])):
            try:
                found = self._open(name, ends, loop)
            except (Error, _NotOurs, KeyError, OSError, TypeError, ValueError) as error:
                _log.debug("%s is left to zarr-python: %s", name or self._store, error)
                found = None
            self._found = found, name, loop
        if found is None:
            raise _NotOurs(name or str(self._store))
        return found[0]

    def _open(self, name, ends, loop):
        document = "zarr.json" if self._metadata.zarr_format == 3 else ".zarray"
        text = self._metadata.to_buffer_dict(default_buffer_prototype())[document].to_bytes()
        told = {key: value for key, value in json.loads(text).items()
                if key not in ("attributes", "consolidated_metadata", "dimension_names")}
        grid = told.get("chunk_grid", {"name": "regular"})
        if grid["name"] != "regular":
            raise _NotOurs("its chunks do not all have the same shape")
        chunks = told["chunks"] if document == ".zarray" else grid["configuration"]["chunk_shape"]
        counts = [max(1, -(-length // chunk), 2 * end if end * chunk > length + chunk - 1 else 0)
                  for length, chunk, end in zip(told["shape"], chunks, ends)]
        told["shape"] = [count * chunk for count, chunk in zip(counts, chunks)]
        mode = "r" if self._store.read_only else "r+"
        path = os.fspath(self._store.root) if type(self._store) is LocalStore else self._store
        opened = storage.opened(path, in_flight=config.get("async.concurrency") or 0, loop=loop)
        owner = Owner(_c.c.array_close)
        arguments = _c.text("name", name), json.dumps(told).encode(), MODES[mode], byref(owner)
        opened.share(lambda where: _c.call(_c.c.array_open_document, where, *arguments))
        array = Array(owner, (path, name, mode, None), cache=None)
        dtype = self._metadata.dtype.to_native_dtype()
        if dtype.hasobject or array.dtype != dtype.newbyteorder("="):
            raise _NotOurs(f"its elements are {array.dtype}, not {dtype}")
        default = np.zeros((), array.dtype)
        given, ours = self._metadata.fill_value, array.fill_value
        given = self._metadata.dtype.default_scalar() if given is None else given
        if np.asarray(given, array.dtype).tobytes() != (default if ours is None else ours).tobytes():
            raise _NotOurs(f"its fill value is {ours} for nczchunk, but {given} for zarr-python")
        return array, counts

    def prefix(self, key):
        """The name of the array in the store, and what the keys of its chunks begin with, by one of them."""
        if not self._is_known:
            raise _NotOurs("its chunks have names that are not known")
        rank = len(self._metadata.shape)
        num_parts = max(1, rank if self._separator == "/" else 1) if self._is_v2 else (
            1 + rank if self._separator == "/" else 1)
        name = "/".join(key.split("/")[:-num_parts])
        letter = "" if self._is_v2 else "c" + self._separator * (rank > 0)
        return name, f"{name}/{letter}" if name else letter

    def indices(self, key, prefix):
        """The indices of the chunk of a key."""
        rank, own = len(self._metadata.shape), key[len(prefix):]
        if not rank:
            return ()
        indices = tuple(map(int, own.split(self._separator)))
        if len(indices) != rank or not key.startswith(prefix):
            raise _NotOurs(f"the key {key} is unknown")
        return indices


class _Part:
    """What is selected of one chunk: for each dimension of the array where it starts, how many elements it has, how far
    they are apart, where they begin in memory, and whether memory has the dimension."""

    __slots__ = ("start", "count", "step", "begin", "is_kept")

    def __init__(self, dimensions):
        self.start, self.count, self.step, self.begin, self.is_kept = zip(*dimensions) if dimensions else ((),) * 5

    @classmethod
    def of(cls, indices, shape, chunk_selection, out_selection, known):
        """The part of a chunk. known: what has been found for a dimension, which many chunks share, by the objects that
        zarr-python gives each of them."""
        outs = iter(_tuple(out_selection))
        selection = _tuple(chunk_selection)
        if len(selection) != len(shape):
            raise _NotOurs("a selection does not consist of slices")
        dimensions = []
        for index, length, item in zip(indices, shape, selection):
            out = next(outs, None) if isinstance(item, slice) else None
            key = len(dimensions), index, id(item), id(out)
            one = known.get(key)
            if one is None:
                one = known[key] = _dimension(index, length, item, out)
            dimensions.append(one)
        if next(outs, None) is not None:
            raise _NotOurs("a selection does not consist of slices")
        return cls(dimensions)

    @property
    def index(self):
        """The index of the array."""
        return tuple(slice(start, start + (count - 1) * step + 1, step) if is_kept else start for start, count, step,
                     is_kept in zip(self.start, self.count, self.step, self.is_kept))

    @property
    def out(self):
        """The index of the memory."""
        return tuple(slice(begin, begin + count)
                     for begin, count, is_kept in zip(self.begin, self.count, self.is_kept) if is_kept)


def _dimension(index, length, item, out):
    """What is selected of a chunk in one dimension."""
    if isinstance(item, slice):
        first, stop, step = item.indices(length)
        count = len(range(first, stop, step))
        if step >= 1 and isinstance(out, slice) and out.step in (None, 1) and out.start is not None and (
                out.stop is not None) and out.stop - out.start == count:
            return index * length + first, count, step, out.start, True
    elif isinstance(item, (int, np.integer)) and 0 <= item < length:
        return index * length + int(item), 1, 1, 0, False
    raise _NotOurs("a selection is not made of slices")


def _tuple(selection):
    return selection if isinstance(selection, tuple) else (selection,)


def _whole(parts):
    """The hyperslab that parts make up, if they do: as one part. The first of them has its first element, and the last
    of them its last."""
    first, last = parts[0], parts[-1]
    whole = _Part([(start, last.begin[d] + last.count[d] - begin, step, begin, is_kept) for d, (
        start, step, begin, is_kept) in enumerate(zip(first.start, first.step, first.begin, first.is_kept))])
    num = 0
    for part in parts:
        for d, (start, step, begin) in enumerate(zip(part.start, part.step, part.begin)):
            if start != whole.start[d] + whole.step[d] * (begin - whole.begin[d]) or step != whole.step[d]:
                return None
        num += math.prod(part.count)
    return whole if num == math.prod(whole.count) else None


@dataclass(frozen=True)
class CodecPipeline(BatchedCodecPipeline):
    """Reads and writes by nczchunk if possible, and otherwise by zarr-python's own pipeline."""

    opened: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata, store):
        from zarr.core.array import V2Codec  # noqa: PLC0415

        codecs = (array_metadata.codecs if array_metadata.zarr_format == 3 else
                  [V2Codec(filters=array_metadata.filters, compressor=array_metadata.compressor)])
        pipeline = cls.from_codecs(codecs)
        if type(store) is LocalStore or storage.is_known(store):
            object.__setattr__(pipeline, "opened", _Opened(array_metadata, store))
        return pipeline

    async def read(self, batch_info, out, drop_axes=()):
        batch = list(batch_info)
        if self._is_ours(batch, out, drop_axes) and all(
                getattr(spec.config, "read_missing_chunks", True) for _, spec, *_ in batch):
            try:
                await self._run(self._read, batch, out.as_ndarray_like())
            except (_NotOurs, Error) as error:
                _log.debug("a read is left to zarr-python: %s", error)
            else:
                return None if _Result is None else tuple(_Result(status="present") for _ in batch)
        return await super().read(batch, out, drop_axes)

    async def write(self, batch_info, value, drop_axes=()):
        batch = list(batch_info)
        if self._is_ours(batch, value, drop_axes):
            try:
                batch = await self._run(self._write, batch, value)
            except (_NotOurs, Error) as error:
                _log.debug("a write is left to zarr-python: %s", error)
        if batch:
            is_alone = drop_axes != () or not all(info[4] for info in batch)
            write = super().write
            await locks.holding_by_coroutine(self._directory(batch), is_alone,
                                             lambda: write(batch, value, drop_axes))

    def _directory(self, batch):
        """The directory of the array, if it has one."""
        if self.opened is None or type(self.opened._store) is not LocalStore:
            return None
        try:
            name, _ = self.opened.prefix(batch[0][0].path)
        except _NotOurs:
            name = ""
        return locks.of(self.opened._store.root, name)

    async def _run(self, function, batch, memory):
        """Calls a function in another thread, unless it ends sooner than that would begin."""
        loop = asyncio.get_running_loop()
        if len(batch) == 1 and self.opened.is_at_hand and math.prod(
                batch[0][1].shape) * batch[0][1].dtype.to_native_dtype().itemsize <= _SMALL:
            try:
                return function(batch, memory, loop)
            except BlockingIOError:
                pass  # another write has the lock
        # Not a thread of the loop's own, which the store may need meanwhile.
        return await loop.run_in_executor(_executor(), function, batch, memory, loop)

    def _is_ours(self, batch, memory, drop_axes):
        """Whether to try to transfer these chunks by the library."""
        return (self.opened is not None and batch and not drop_axes and isinstance(batch[0][0], StorePath)
                and batch[0][0].store is self.opened._store and isinstance(memory.as_ndarray_like(), np.ndarray))

    def _parts(self, batch, dtype, is_write, loop):
        """The array, and what is selected of each chunk."""
        name, prefix = self.opened.prefix(batch[0][0].path)
        chunks = [self.opened.indices(byte_getter.path, prefix) for byte_getter, *_ in batch]
        array = self.opened.array(name, [1 + max(along) for along in zip(*chunks)], loop)
        if dtype.newbyteorder("=") != array.dtype:
            raise _NotOurs(f"the memory has elements {dtype}, but the array has {array.dtype}")
        array.threads = config.get("threading.max_workers")
        shape, parts, known = array.shards or array.chunks, [], {}
        for (_, spec, chunk_selection, out_selection, *_), indices in zip(batch, chunks):
            if spec.shape != shape:
                raise _NotOurs("the shape of a chunk does not match")
            if is_write and array.shards and spec.config.write_empty_chunks:
                raise _NotOurs("the library does not store chunks of fill values in shards")
            parts.append(_Part.of(indices, shape, chunk_selection, out_selection, known))
        return array, parts

    def _read(self, batch, out, loop):
        array, parts = self._parts(batch, out.dtype, False, loop)
        whole = _whole(parts)
        for part in parts if whole is None else [whole]:
            view = out[(*part.out, ...)]
            if out.dtype.isnative:
                array.read_into(view, part.index)
            else:
                view[...] = array[part.index]

    def _write(self, batch, value, loop):
        """Writes what the library can, and returns what zarr-python has to write."""
        memory = value.as_ndarray_like()
        array, parts = self._parts(batch, memory.dtype, True, loop)
        written, left = [], []
        for info, part in zip(batch, parts):
            is_left = not info[1].config.write_empty_chunks and _is_empty(value, part, info[1])
            left.append(info) if is_left else written.append(part)
        whole = None if left or not written else _whole(written)
        lengths = array.shards or array.chunks
        is_whole = all(locks.is_whole(part.start, part.count, part.step, lengths, array.shape) for part in written)

        def put():
            for part in written if whole is None else [whole]:
                selection = Selection(part.index, array.shape)
                values = memory if memory.ndim == 0 else memory[part.out]
                array._put(selection, array._values(values, selection.shape))

        array._holding_lock(is_whole, put, locks.may_wait())
        return left


def _is_empty(value, part, spec):
    """Whether all that is to be written to a chunk is its fill value: then the chunk may become one that is not
    stored."""
    fill, chunk = fill_value_or_default(spec), value if value.shape == () else value[part.out]
    data = chunk.as_ndarray_like()
    if data.dtype.kind in "biuf":
        first = data[(0,) * data.ndim]
        if first == first and first != fill:
            return False
    return chunk.all_equal(fill)
