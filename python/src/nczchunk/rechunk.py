"""Arrays with other chunks, within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import byref
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _c, limits
from ._c import c
from .array import Array
from .create import _ENDIANS, _FORMATS, _chain, _lengths
from .storage import opened, same_as_path

if TYPE_CHECKING:
    from types import EllipsisType

    from .array import Path


class RechunkReport(NamedTuple):
    """How an array is or was rechunked."""

    num_passes: int
    """1, or 2 with a temporary array; 0 for an array without elements."""
    num_boxes: int
    """In how many boxes the elements are read and written, in all passes."""
    boxes_resumed: int
    """How many of these an earlier call had done."""
    chunks_read: int
    """How many chunks are read in all passes, each as often as it is."""
    bytes_read: int
    """The decoded bytes of these chunks."""
    bytes_written: int
    """The bytes that are written in all passes, before they are encoded."""
    memory: int
    """The most bytes of memory that it takes."""
    least_memory: int
    """The least memory that would do."""


def rechunk(source: Array, path: Path, name: str = "", *, chunks: Sequence[int] | None = None,
            shards: Sequence[int] | None = None,
            codecs: Sequence[str | tuple[str, Mapping[str, Any]]] | EllipsisType | None = ...,
            format: str = "zarr3", endian: str | None = None, memory: int = 256 << 20,
            temporary: Path | None = None,
            progress: Callable[[int, int], object] | None = None) -> RechunkReport:
    """Writes the elements of an array to a new array with other chunks, within a limit of memory. The new array has the
    source's shape, type, fill value, dimensions and attributes.

    >>> with nczchunk.open("maps.zarr") as maps:
    ...     report = nczchunk.rechunk(maps, "series.zarr", chunks=(365, 24, 24), memory=256 << 20)

    The new array exists once it is complete. If the call is ended in the middle, by an exception or a kill, the same
    call continues; to give up, remove the directory.

    source: an open array, whose threads are used.
    path, name: as for create().
    chunks, shards: the lengths for each dimension. Without chunks those of a Zarr array stay, and other arrays get
        chunks of about 16 MiB.
    codecs: as for create(); by default those of a Zarr array stay, and other arrays get zstd.
    format, endian: as for create().
    memory: the most bytes of memory that the call takes. If that is too little, errors.OutOfMemory says how much is
        enough.
    temporary: a directory for the temporary array, if two passes are made; by default the new array's.
    progress: is called with the bytes that are read and written, and with their total: before each box and when all is
        done, in a thread of its own while this one waits. What it raises ends the call, which can be continued; but
        what it raises when all is done, the call raises after the new array is complete.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: expected a function, found {progress!r}")
    options, report = _options(source, chunks, shards, codecs, format, endian, memory)
    encoded, path = _c.text("name", name), same_as_path(path)

    def run(*_):
        def with_storage(storage):
            _transfer(source, lambda pointer, call: call(
                c.rechunk_in, pointer, storage, encoded, byref(options), byref(report)), progress)

        def with_path():
            where = _c.path_bytes("path", path)
            _transfer(source, lambda pointer, call: call(
                c.rechunk, pointer, where, encoded, byref(options), byref(report)), progress)

        if limits.is_plain(path, None):
            with_path()
        else:
            _in_storage(path, with_storage)

    if temporary is None:
        run()
    else:
        def with_temporary(storage):
            options.temporary = storage
            run()

        _in_storage(temporary, with_temporary)
    return _report(report)


def rechunk_plan(source: Array, *, chunks: Sequence[int] | None = None, shards: Sequence[int] | None = None,
                 codecs: Sequence[str | tuple[str, Mapping[str, Any]]] | EllipsisType | None = ...,
                 format: str = "zarr3", endian: str | None = None, memory: int = 256 << 20) -> RechunkReport:
    """How rechunk() would rechunk an array. Nothing is read or written."""
    options, report = _options(source, chunks, shards, codecs, format, endian, memory)
    source._handle.share(lambda pointer: _c.call(
        c.rechunk_plan, pointer, byref(options), byref(report), threads=source.threads))
    return _report(report)


def _in_storage(path, function):
    """Calls function(storage) in this thread, for _transfer() sees to handlers of signals itself."""
    opened(path, c.storage_create).share(function, get_ident())


def _transfer(source, function, progress):
    _c.transfer(source._handle, source.threads, True, function, progress)


def _options(source, chunks, shards, codecs, format, endian, memory):
    """The options and the report as the library takes them."""
    if not isinstance(source, Array):
        raise TypeError(f"source: expected an open Array, found {source!r}")
    shape = source.shape
    options = _c.RechunkOptions(
        memory=_c.integer("memory", memory, 1), chunk_shape=_lengths("chunks", chunks, shape),
        shard_shape=_lengths("shards", shards, shape), **_chain(codecs),
        format=_c.one_of("format", _FORMATS, format), endian=_c.one_of("endian", _ENDIANS, endian))
    return options, _c.RechunkReport()


def _report(report):
    return RechunkReport(*(getattr(report, field) for field in RechunkReport._fields))
