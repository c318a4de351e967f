"""nczchunk as a codec pipeline of zarr-python. With one line, zarr-python 3.1 and later, and with it xarray and Dask,
read and write by this library:

>>> zarr.config.set({"codec_pipeline.path": "nczchunk.zarr.CodecPipeline"})    # doctest: +SKIP

The library reads and writes arrays in a LocalStore that it can open: whole selections at a time, in its own threads
(``threading.max_workers``), without the interpreter's lock. zarr-python's own pipeline does everything else: other
stores, codecs and types that the library does not have, lists, masks and coordinates as an index, and chunks that are
not to be stored because they hold only fill values. The logger "nczchunk.zarr" reports at the level DEBUG which arrays
are left to zarr-python, and why.
"""

import asyncio
import builtins
import json
import logging
import math
import os
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zarr.abc.codec
from zarr.core.buffer import default_buffer_prototype
from zarr.core.codec_pipeline import BatchedCodecPipeline, fill_value_or_default
from zarr.core.config import config
from zarr.storage import LocalStore, StorePath

from .array import open
from .errors import Error

_log = logging.getLogger(__name__)

# From zarr-python 3.2 on, read() returns what became of each chunk.
_Result = getattr(zarr.abc.codec, "GetResult", None)


class _NotOurs(Exception):
    """The reason why an array is left to zarr-python."""


class _Opened:
    """The array of a pipeline as the library has opened it, which is opened again when its metadata have changed."""

    def __init__(self, metadata, store):
        self._metadata, self._store = metadata, store
        self._document = "zarr.json" if metadata.zarr_format == 3 else ".zarray"
        # What the library has opened, or None, and which version of the metadata it was.
        self._found = None, None

    def __reduce__(self):
        return _Opened, (self._metadata, self._store)

    def array(self, name):
        """The array of this name in the store."""
        path = os.path.join(self._store.root, name, self._document)
        try:
            status = os.stat(path)
        except OSError as error:
            raise _NotOurs(f"{path}: {error}") from None
        version = path, status.st_mtime_ns, status.st_size, status.st_ino
        found, of_version = self._found
        if of_version != version:
            try:
                found = self._open(path, name)
            except (Error, _NotOurs, KeyError, OSError, TypeError, ValueError) as error:
                _log.debug("%s is left to zarr-python: %s", path, error)
                found = None
            self._found = found, version
        if found is None:
            raise _NotOurs(path)
        return found

    def _open(self, path, name):
        root = os.fspath(self._store.root)
        with builtins.open(path, "rb") as file:
            stored = type(self._metadata).from_dict(json.load(file))
        told = self._told(self._metadata)
        if "#" in root or self._told(stored) != told:
            raise _NotOurs("its metadata differ from the stored metadata")
        if told.get("chunk_grid", {"name": "regular"})["name"] != "regular":
            raise _NotOurs("its chunks do not all have the same shape")
        array = open(root, name, "r" if self._store.read_only else "r+", cache=None)
        dtype = self._metadata.dtype.to_native_dtype()
        if array.format not in ("Zarr v2", "Zarr v3") or dtype.hasobject or array.dtype != dtype.newbyteorder("="):
            raise _NotOurs(f"it is {array.format} with elements {array.dtype}, not {dtype}")
        default = np.zeros((), array.dtype)
        given, ours = self._metadata.fill_value, array.fill_value
        given = self._metadata.dtype.default_scalar() if given is None else given
        if np.asarray(given, array.dtype).tobytes() != (default if ours is None else ours).tobytes():
            raise _NotOurs(f"its fill value is {ours} for nczchunk, but {given} for zarr-python")
        return array

    def _told(self, metadata):
        """What metadata say, without what may change while an array is open."""
        text = metadata.to_buffer_dict(default_buffer_prototype())[self._document].to_bytes()
        return {key: value for key, value in json.loads(text).items()
                if key not in ("shape", "attributes", "consolidated_metadata")}

    def split(self, key):
        """The name of the array in the store, and the indices of the chunk, that the key of a chunk says."""
        rank = len(self._metadata.shape)
        num_parts = self._metadata.encode_chunk_key((0,) * rank).count("/") + 1
        parts = key.split("/")
        name, own = "/".join(parts[:-num_parts]), "/".join(parts[-num_parts:])
        indices = tuple(map(int, re.findall(r"\d+", own)))[:rank]
        if self._metadata.encode_chunk_key(indices) != own:
            raise _NotOurs(f"the key {key} is unknown")
        return name, indices


class _Part:
    """What is selected of one chunk: for each dimension of the array where it starts, how many elements it has, how far
    they are apart, where they begin in memory, and whether memory has the dimension."""

    __slots__ = ("start", "count", "step", "begin", "is_kept")

    def __init__(self, indices, shape, chunk_selection, out_selection):
        self.start, self.count, self.step, self.begin, self.is_kept = [], [], [], [], []
        outs = iter(_tuple(out_selection))
        selection = _tuple(chunk_selection)
        if len(selection) != len(shape) or len(indices) != len(shape):
            raise _NotOurs("a selection does not consist of slices")
        for index, length, item in zip(indices, shape, selection):
            if isinstance(item, slice):
                first, stop, step = item.indices(length)
                out = next(outs, None)
                count = len(range(first, stop, step))
                if step < 1 or not (isinstance(out, slice) and out.step in (None, 1) and out.start is not None
                                    and out.stop is not None and out.stop - out.start == count):
                    raise _NotOurs("a selection does not consist of slices")
                self._add(index * length + first, count, step, out.start, True)
            elif isinstance(item, (int, np.integer)) and 0 <= item < length:
                self._add(index * length + int(item), 1, 1, 0, False)
            else:
                raise _NotOurs("a selection does not consist of slices")
        if next(outs, None) is not None:
            raise _NotOurs("a selection does not consist of slices")

    def _add(self, start, count, step, begin, is_kept):
        self.start.append(start)
        self.count.append(count)
        self.step.append(step)
        self.begin.append(begin)
        self.is_kept.append(is_kept)

    def is_within(self, shape):
        return all(start + (count - 1) * step < length
                   for start, count, step, length in zip(self.start, self.count, self.step, shape))

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


def _tuple(selection):
    return selection if isinstance(selection, tuple) else (selection,)


def _whole(parts):
    """The hyperslab that parts make up, if they do: as one part. The first of them has its first element, and the last
    of them its last."""
    first, last = parts[0], parts[-1]
    whole = _Part((), (), (), ())
    for d, (start, step, begin, is_kept) in enumerate(zip(first.start, first.step, first.begin, first.is_kept)):
        count = last.begin[d] + last.count[d] - begin
        whole._add(start, count, step, begin, is_kept)
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
        if type(store) is LocalStore:
            object.__setattr__(pipeline, "opened", _Opened(array_metadata, store))
        return pipeline

    async def read(self, batch_info, out, drop_axes=()):
        batch = list(batch_info)
        if self._is_ours(batch, out, drop_axes) and all(
                getattr(spec.config, "read_missing_chunks", True) for _, spec, *_ in batch):
            try:
                await asyncio.to_thread(self._read, batch, out.as_ndarray_like())
            except (_NotOurs, Error) as error:
                _log.debug("a read is left to zarr-python: %s", error)
            else:
                return None if _Result is None else tuple(_Result(status="present") for _ in batch)
        return await super().read(batch, out, drop_axes)

    async def write(self, batch_info, value, drop_axes=()):
        batch = list(batch_info)
        if self._is_ours(batch, value, drop_axes):
            try:
                batch = await asyncio.to_thread(self._write, batch, value)
            except (_NotOurs, Error) as error:
                _log.debug("a write is left to zarr-python: %s", error)
        if batch:
            await super().write(batch, value, drop_axes)

    def _is_ours(self, batch, memory, drop_axes):
        """Whether to try to transfer these chunks by the library."""
        return (self.opened is not None and batch and not drop_axes and isinstance(batch[0][0], StorePath)
                and batch[0][0].store is self.opened._store and isinstance(memory.as_ndarray_like(), np.ndarray))

    def _parts(self, batch, dtype, is_write):
        """The array, and what is selected of each chunk."""
        name, _ = self.opened.split(batch[0][0].path)
        array = self.opened.array(name)
        if dtype.newbyteorder("=") != array.dtype:
            raise _NotOurs(f"the memory has elements {dtype}, but the array has {array.dtype}")
        array.threads = config.get("threading.max_workers")
        shape, parts = array.shards or array.chunks, []
        for byte_getter, spec, chunk_selection, out_selection, *_ in batch:
            if spec.shape != shape:
                raise _NotOurs("the shape of a chunk does not match")
            if is_write and array.shards and spec.config.write_empty_chunks:
                raise _NotOurs("the library does not store chunks of fill values in shards")
            _, indices = self.opened.split(byte_getter.path)
            part = _Part(indices, shape, chunk_selection, out_selection)
            if not part.is_within(array.shape):
                raise _NotOurs("a selection is not within the stored array")
            parts.append(part)
        return array, parts

    def _read(self, batch, out):
        array, parts = self._parts(batch, out.dtype, False)
        whole = _whole(parts)
        for part in parts if whole is None else [whole]:
            view = out[(*part.out, ...)]
            if out.dtype.isnative:
                array.read_into(view, part.index)
            else:
                view[...] = array[part.index]

    def _write(self, batch, value):
        """Writes what the library can, and returns what zarr-python has to write."""
        memory = value.as_ndarray_like()
        array, parts = self._parts(batch, memory.dtype, True)
        written, left = [], []
        for info, part in zip(batch, parts):
            is_left = not info[1].config.write_empty_chunks and _is_empty(value, part, info[1])
            left.append(info) if is_left else written.append(part)
        whole = None if left or not written else _whole(written)
        for part in written if whole is None else [whole]:
            array[part.index] = memory if memory.ndim == 0 else memory[part.out]
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
