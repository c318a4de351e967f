"""Storages that are objects of Python: what is given where a path is.

A file system or a mapping of fsspec, a store of obstore, a store of zarr-python, and a StorePath of it are known. The
library calls back for each of their objects, from any of its threads. Those whose reads are coroutines, or take
long, have many reads in flight at the same time; the coroutines run in the event loop that the store belongs to.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sys
import threading
from collections.abc import Iterable
from ctypes import byref, c_char_p, c_void_p, memmove, string_at
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from . import _c, errors
from ._c import ObjectRequest, c
from .handle import Handle, Owner, at_fork, check_running, in_thread, waiting_loop

# How many seconds a thread waits for an event loop before it looks whether there still is one.
_LOOK = 0.1


class _Missing(Exception):
    """There is no object of this name."""


class Concatenation:
    """Several paths as one: what concat() returns, to be given where a path is. It can be pickled."""

    def __init__(self, paths: tuple[str | bytes, ...], dimension: str) -> None:
        self.paths, self.dimension = paths, dimension

    def open(self, pointer: c_void_p) -> None:
        """Has the library open it."""
        paths = [_c.path_bytes("paths", path) for path in self.paths]
        _c.call(c.storage_concat, len(paths), (c_char_p * len(paths))(*paths), _c.text("dimension", self.dimension),
                byref(pointer))

    def __dask_tokenize__(self) -> Any:
        return identity(self), server_of(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Concatenation) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.paths, self.dimension))

    def __repr__(self) -> str:
        return _without_user(f"nczchunk.concat({list(self.paths)!r}, {self.dimension!r})")


def concat(paths: Iterable[str | bytes | os.PathLike[Any]], dimension: str) -> Concatenation:
    """Joins the arrays of several files or directories along a dimension. The result is given where a path is:

    >>> years = nczchunk.concat(sorted(glob.glob("sst-*.nc")), "time")
    >>> nczchunk.open(years, "sst").shape
    (730, 18, 36)
    >>> dict(xarray.open_dataset(years, engine="nczchunk").sizes)
    {'time': 730, 'lat': 18, 'lon': 36}

    An array that has the dimension consists of those at all paths, one after another; what does not have it is that at
    the first path, and so are attributes. Chunks stay as they are stored, whatever the length of a file, and codecs may
    differ. An array that is not like that at the first path is refused by name when it is opened: another type, other
    dimensions, another fill value, or attributes such as units and scale_factor with other values."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths: expected a list of paths, found {paths!r}")
    given = tuple(kept(os.fspath(path)) for path in paths)
    if not given:
        raise ValueError("paths: expected at least one path")
    return Concatenation(given, dimension)


class WithExternalLinks:
    """A path of which links are followed: what with_external_links() returns, to be given where a path is. It can be
    pickled."""

    def __init__(self, path: Any) -> None:
        self.path = path

    def __dask_tokenize__(self) -> Any:
        return "with_external_links", identity(self) or self.path, server_of(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithExternalLinks) and self.path == other.path

    def __hash__(self) -> int:
        return hash((WithExternalLinks, self.path))

    def __repr__(self) -> str:
        return _without_user(f"nczchunk.with_external_links({self.path!r})")


def with_external_links(path: Any) -> WithExternalLinks:
    """Allows links of HDF5 files to other files (external links) to be followed, which are refused otherwise. path: as
    for open(). The result is given where a path is:

    >>> nczchunk.open(nczchunk.with_external_links("master.h5"), "entry/data_000001")       # doctest: +SKIP

    In a file that is opened by its path, a link leads to the path that it says: from the directory of the file on if
    that is relative, and otherwise to any file that this process may read. In a file at a URL a link leads to an object
    of the same server or bucket and nowhere else."""
    return path if isinstance(path, WithExternalLinks) else WithExternalLinks(kept(path))


def is_path(given: Any) -> bool:
    """Whether this is a path, or what is no storage either."""
    return _adapter(given) is None and not isinstance(given, (Concatenation, WithExternalLinks))


def is_known(given: Any) -> bool:
    """Whether this is a storage of Python's."""
    return _adapter(given) is not None


def kept(path: Any) -> Any:
    """A path as an array or a group keeps it: as a str or bytes that stays right when the process changes its working
    directory; a storage as it is."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return path
    path = os.fspath(path)
    scheme, url = (b"file://", b"://") if isinstance(path, bytes) else ("file://", "://")
    begin, given = (scheme, path[len(scheme):]) if path.startswith(scheme) else (path[:0], path)
    if os.path.isabs(given) or url in given or begin and os.name == "nt":
        return path
    try:
        # What is before ".." may be a link, so nothing is left out.
        return begin + os.path.join(os.getcwdb() if isinstance(path, bytes) else os.getcwd(), given)
    except OSError:  # the working directory is gone
        return path


def directory(path: Any) -> bytes | None:
    """The directory that a path or a name of netCDF's, file://PATH#mode=..., leads to; None if it leads to none."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return None
    found = local_path(path)
    return found if os.path.isdir(found) else None


def local_path(path: str | bytes | os.PathLike[Any]) -> bytes:
    """The path of a file or directory, also that in a name of netCDF's."""
    found = os.fsencode(path)
    if found.startswith(b"file://"):
        found = found[len(b"file://"):]
        found = found.rpartition(b"#mode=")[0] or found
    return found


def shown(path: Any, name: str = "") -> str:
    """What messages call a path or a storage, and what is in it."""
    if isinstance(path, (str, bytes, os.PathLike)):
        text = _without_user(os.fsdecode(path)) if is_url(path) else os.fsdecode(path)
        return os.path.join(text, name) if name else text
    text = _without_user(repr(path))
    return f"{text}: {name}" if name else text


def _without_user(text: str) -> str:
    """A text with URLs, without the names and passwords of users in them."""
    return re.sub(r"(://)[^/?#\s\"']*@", r"\1", text)


# How the names of variables begin that choose the server of a URL, or say who asks it.
_OF_SERVERS = ("AWS_", "AZURE_", "AZURITE_", "GOOGLE_", "SERVICE_ACCOUNT")


def server_of(given: Any) -> str | None:
    """A digest of what the environment says of the servers of URLs and storages; None if neither is given."""
    if isinstance(given, WithExternalLinks):
        return server_of(given.path)
    if isinstance(given, Concatenation):
        return next(filter(None, map(server_of, given.paths)), None)
    if not is_url(given) and not is_known(given):
        return None
    said = sorted(item for item in os.environ.items() if item[0].upper().startswith(_OF_SERVERS))
    return hashlib.sha256(repr(said).encode()).hexdigest()


def is_url(given: Any) -> bool:
    """Whether this is a URL of an object store or HTTP server."""
    return isinstance(given, (str, bytes, os.PathLike)) and bool(
        re.match(r"(?i)(https?|s3|gs|az)://", os.fsdecode(given)))


def identity(given: Any) -> Any:
    """What tells a path or a storage from all others, for Dask: a path with the time of its last change, a URL, or a
    storage with all its options. Of options, which may be secrets, there is only a digest. None for what only itself
    can tell from others, such as objects in memory."""
    if isinstance(given, WithExternalLinks):
        found = identity(given.path)
        return found and ("with_external_links", found)
    if isinstance(given, Concatenation):
        return "concat", tuple(map(identity, given.paths)), given.dimension
    if is_url(given):
        return os.fsdecode(given), None
    if not isinstance(given, (str, bytes, os.PathLike)):
        return _identity_of_storage(given)
    local = local_path(given)
    name = os.path.abspath(given) if local == os.fsencode(given) else os.fsdecode(given)
    try:
        status = os.stat(local)
    except OSError:
        return name, None
    return name, (status.st_ino, status.st_mtime_ns, status.st_size)


def identity_of_file(given: Any) -> Any:
    """The identity of files, to be asked for when they are opened: they stay open when others replace them. None for
    what is no file."""
    path = given.path if isinstance(given, WithExternalLinks) else given
    paths = path.paths if isinstance(path, Concatenation) else (path,)
    return identity(given) if all(
        isinstance(one, (str, bytes)) and os.path.isfile(local_path(one)) for one in paths) else None


def identity_of_paths(given: Any) -> Any:
    """What tells what is at paths or a URL now from what is there before and afterwards, and all from what is at other
    servers. A storage tells its options itself when it is pickled."""
    path = given.path if isinstance(given, WithExternalLinks) else given
    return None if is_known(path) else identity(given), server_of(given)


def _identity_of_storage(given: Any) -> Any:
    adapter = _adapter(given)
    # The contents of what is in memory are no options.
    if adapter is None or adapter.is_in_memory:
        return None
    try:
        from dask.base import tokenize  # noqa: PLC0415

        first, second = tokenize(adapter.options()), tokenize(adapter.options())
    except Exception:  # by what the storage does when it is pickled
        return None
    return (f"{type(given).__module__}.{type(given).__qualname__}", first) if first == second else None


def is_writable(path: Any) -> bool:
    """Whether groups and arrays can be written there. What is at a URL is not asked for: HTTP servers, and what a mode
    in the URL says is one file, are read-only."""
    if isinstance(path, (Concatenation, WithExternalLinks)):
        return False
    adapter = _adapter(path)
    if adapter is not None:
        return adapter.is_writable
    if not is_url(path):
        return directory(path) is not None
    return not is_http(path) and _modes(path).isdisjoint(("bytes", "zip"))


def is_http(path: Any) -> bool:
    """Whether this is a URL of an HTTP server, and not one of an object store at that server (#mode=s3)."""
    return is_url(path) and os.fsdecode(path)[:4].lower() == "http" and "s3" not in _modes(path)


def _modes(url: Any) -> set[str]:
    """The words of netCDF's in the fragment of a URL, as the library reads them: "zarr" and "s3" of #mode=zarr,s3."""
    fragment = os.fsdecode(url).partition("#")[2]
    return {word for part in fragment.split("&") for word in part.removeprefix("mode=").split(",") if word}


def same_as_path(given: Any) -> Any:
    """The path that a store is the same as, with nothing in between; or what is given."""
    zarr = sys.modules.get("zarr.storage")
    if zarr is None:
        return given
    store, path = (given.store, given.path) if type(given) is getattr(zarr, "StorePath", None) else (given, "")
    if type(store) is zarr.LocalStore and not store.read_only:
        return os.path.join(store.root, path) if path else os.fspath(store.root)
    return given


def opened(path: Any, find: Any = None, in_flight: int = 0, loop: Any = None) -> Handle:
    """A storage of the library's for a path, found by a function of the library, or for a storage of Python's.

    in_flight: how many reads it has in flight at most; 0 for the library's default. loop: the event loop of a store of
    zarr-python's; by default zarr-python's own.
    """
    path, owner = same_as_path(path), Owner(c.storage_free)
    if isinstance(path, WithExternalLinks):
        found = opened(path.path, find, in_flight, loop)
        found.share(lambda pointer: _c.call(c.storage_allow_external_links, pointer, 1))
        return found
    adapter = _adapter(path)
    if isinstance(path, Concatenation):
        path.open(owner)
    elif adapter is None:
        _c.call(find or c.storage_open, _c.path_bytes("path", path), byref(owner))
    else:
        adapter.begin(loop)
        callbacks = _c.StorageCallbacks(
            user=id(adapter), concurrent=1, destroy=_DESTROY, list=_LIST, in_flight=in_flight,
            versions=int(adapter.tells_versions))
        if adapter.is_writable:
            callbacks.write, callbacks.remove = _WRITE, _REMOVE
        if adapter.is_in_flight:
            callbacks.start, callbacks.wait, callbacks.cancel = _START, _WAIT, _CANCEL
        else:
            callbacks.read = _READ
        _adapters[id(adapter)] = adapter
        try:
            _c.call(c.storage_new, byref(callbacks), byref(owner))
        except BaseException:
            _adapters.pop(callbacks.user, None)
            raise
    return Handle(owner, "the storage", None if adapter is None else _cancel)


class _Thread:
    """The reads that a thread has in flight: their futures by their addresses, and the queue of those that ended."""

    def __init__(self) -> None:
        self.futures: dict[int, Any] = {}
        self.ended: SimpleQueue[Any] = SimpleQueue()


class _Adapter:
    """A storage of Python's, by the names of its objects."""

    # Whether its reads are coroutines, of fetch(); else read() reads.
    is_in_flight = False
    is_writable = True
    tells_versions = False
    # Whether its objects are in the memory of the store, and pickled with it.
    is_in_memory = False

    def __init__(self, store: Any) -> None:
        self.store = store
        # What each thread has in flight, by the numbers of the process and the thread. (A thread of the library's is a
        # new one to Python at each callback, so that nothing local to it stays; its number does. A child that is forked
        # may have a thread with the number of one of its parent, for whose reads it must not wait.)
        self.threads: dict[tuple[int, int], _Thread] = {}

    def begin(self, loop: Any) -> None:
        """Makes it ready to be used. Its coroutines run in this loop, if there is one."""

    def loop(self) -> Any:
        raise NotImplementedError

    def options(self) -> Any:
        """What the store was made of."""
        return self.store

    def run(self, coroutine: Any) -> Any:
        """The result of a coroutine, which runs in the store's loop."""
        future, ended = self.submit(coroutine), SimpleQueue()
        future.add_done_callback(ended.put)
        return self.next_of(ended).result()

    def next_of(self, ended: SimpleQueue[Any]) -> Any:
        """What comes next into a queue from the store's loop. What a loop that has ended was asked never comes."""
        while True:
            try:
                return ended.get(timeout=_LOOK)
            except Empty:
                check_running()
                if self.loop().is_closed() and ended.empty():
                    raise RuntimeError("the event loop of the storage has ended") from None

    def submit(self, coroutine: Any) -> Any:
        loop = self.loop()
        try:
            if loop in (asyncio._get_running_loop(), waiting_loop()):
                raise RuntimeError("a call of nczchunk waits for the event loop that it is made in: make it in another "
                                   "thread, as by asyncio.to_thread()")
            return asyncio.run_coroutine_threadsafe(coroutine, loop)
        except BaseException:
            coroutine.close()
            raise

    # A read returns the bytes of a range, the length of the object, and its version or 0. A size of 0 asks for the
    # length alone. _Missing and FileNotFoundError stand for a missing object.

    def read(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        raise NotImplementedError

    async def fetch(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        raise NotImplementedError

    def list(self, prefix: str) -> Any:
        """What is directly below a prefix: pairs of the last part of a name, and whether it is a prefix."""
        raise NotImplementedError

    def write(self, name: str, value: bytes) -> None:
        raise NotImplementedError

    def remove(self, name: str) -> None:
        raise NotImplementedError


def _in_order(ranged: Any, sized: Any, offset: int, from_end: bool, size: int) -> Any:
    """The steps of a read of which neither the range nor the length tells the other, as a generator: it is sent what
    the coroutine or call that it yields has returned. What is shorter than was asked for tells the length."""
    if not size:
        return b"", (yield sized), 0
    if from_end:
        length = yield sized
        first = max(0, length - offset)
        return (yield lambda: ranged(first, min(length, first + size))), length, 0
    if offset:
        length = yield sized
        last = min(length, offset + size)
        return (yield lambda: ranged(offset, last)) if offset < last else b"", length, 0
    found = yield lambda: ranged(0, size)
    return found, len(found) if len(found) < size else (yield sized), 0


def _steps(generator: Any) -> Any:
    """What a generator of calls returns, which are made at once."""
    value = None
    while True:
        try:
            step = generator.send(value)
        except StopIteration as end:
            return end.value
        value = step()


async def _async_steps(generator: Any) -> Any:
    """What a generator of coroutines returns."""
    value = None
    while True:
        try:
            step = generator.send(value)
        except StopIteration as end:
            return end.value
        value = await step()


class _Fsspec(_Adapter):
    """A file system of fsspec's, below a root."""

    def __init__(self, store: Any, fs: Any, root: str) -> None:
        super().__init__(store)
        self.fs, self.root = fs, root.rstrip("/")
        # One within another is as that is. Those that are asynchronous have no loop of their own.
        self.is_in_flight = fs.async_impl and getattr(fs, "fs", fs).async_impl and not fs.asynchronous

    def loop(self) -> Any:
        return self.fs.loop

    def options(self) -> Any:
        # What it tells Dask itself depends on the process and the thread. Memory is that of the process.
        process = os.getpid() if "memory" in self.fs.protocol else None
        return type(self.fs), self.fs.storage_args, self.fs.storage_options, self.root, process

    def _path(self, name: str) -> str:
        if not self.root:
            return f"{self.fs.root_marker}{name}" or "/"
        return f"{self.root}/{name}" if name else self.root

    def _size(self, info: Any, path: str) -> int:
        if info["type"] == "directory":
            raise _Missing
        if info["size"] is None:
            raise OSError(f"{path}: the file system does not tell how many bytes it has")
        return int(info["size"])

    def read(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        path = self._path(name)
        return _steps(_in_order(lambda first, last: self.fs.cat_file(path, first, last),
                                lambda: self._size(self.fs.info(path), path), offset, from_end, size))

    async def fetch(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        path = self._path(name)

        async def sized() -> int:
            return self._size(await self.fs._info(path), path)

        return await _async_steps(_in_order(lambda first, last: self.fs._cat_file(path, first, last), sized, offset,
                                            from_end, size))

    def list(self, prefix: str) -> Any:
        path = self._path(prefix)
        # What is listed may be kept, for later lists and for lengths. Others write there, too.
        self.fs.invalidate_cache(path)
        try:
            found = self.fs.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return
        finally:
            self.fs.invalidate_cache(path)
        above = self.fs._strip_protocol(path).rstrip("/")
        for one in found:
            given = one["name"].rstrip("/")
            if given != above:
                yield given.rsplit("/", 1)[-1], one["type"] == "directory"

    def write(self, name: str, value: bytes) -> None:
        path = self._path(name)
        try:
            self.fs.pipe_file(path, value)
        except FileNotFoundError:
            self.fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            self.fs.pipe_file(path, value)

    def remove(self, name: str) -> None:
        path = self._path(name)
        try:
            self.fs.rm_file(path)
        except FileNotFoundError:
            pass


class _Obstore(_Adapter):
    """A store of obstore's, of which each answer tells the object's length and its version."""

    tells_versions = True
    # The process that uses threads of obstore's. They are not in its children that are forked, where what waits for
    # them never ends.
    _with_threads: int | None = None

    def __init__(self, store: Any, obstore: Any, given: Any = None, read_only: bool = False) -> None:
        super().__init__(given or store)
        self.at, self._obstore, self.is_writable = store, obstore, not read_only
        self.is_in_flight = type(store).__name__ not in ("MemoryStore", "LocalStore")
        self.is_in_memory = type(store).__name__ == "MemoryStore"

    @property
    def obstore(self) -> Any:
        """The module, to be used."""
        if type(self.at).__name__ != "MemoryStore":
            process = os.getpid()
            if _Obstore._with_threads is None:
                _Obstore._with_threads = process
            if _Obstore._with_threads != process:
                raise RuntimeError("obstore cannot be used in a process that was forked by one that has used it: start "
                                   "processes by spawn")
        return self._obstore

    def loop(self) -> Any:
        return _own_loop()

    def options(self) -> Any:
        return _options_of_obstore(self.at)

    @staticmethod
    def _options(offset: int, from_end: bool, size: int) -> Any:
        if from_end:
            return {"range": {"suffix": offset}}
        return {"range": (offset, offset + size)}

    @staticmethod
    def _version(meta: Any) -> int:
        etag, version = meta["e_tag"], meta["version"]
        # Other bytes may have the same weak ETag, and an empty one tells nothing.
        if version is None and (not etag or etag.startswith("W/") or not etag.strip('"')):
            return 0
        return hash((etag, version, meta["size"])) % (1 << 64) or 1

    @staticmethod
    def _instead(meta: Any, offset: int, from_end: bool, size: int) -> Any:
        """The range of an object of which this is known, counted from its beginning; None if there is nothing in it."""
        length = meta["size"]
        first = max(0, length - offset) if from_end else offset
        return (first, min(length, first + size)) if first < length else None

    @staticmethod
    def _same(meta: Any, found: Any) -> Any:
        """What was found by a range that was counted from the end of an object, which has to be the same."""
        if (meta["size"], meta["e_tag"]) != (found.meta["size"], found.meta["e_tag"]):
            raise OSError("the object has changed while it was read")
        return found

    def read(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        if not size or from_end and not offset:
            meta = self.obstore.head(self.at, name)
            return b"", meta["size"], self._version(meta)
        try:
            found = self.obstore.get(self.at, name, options=self._options(offset, from_end, size))
        except FileNotFoundError:
            raise
        except Exception:
            # A range behind the end is an error of the store's, and none here; Azure has no ranges from the end.
            meta = self.obstore.head(self.at, name)
            part = self._instead(meta, offset, from_end, size)
            if part is None:
                return b"", meta["size"], self._version(meta)
            if not from_end:
                raise
            found = self._same(meta, self.obstore.get(self.at, name, options={"range": part}))
        return found.bytes(), found.meta["size"], self._version(found.meta)

    async def fetch(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        if not size or from_end and not offset:
            meta = await self.obstore.head_async(self.at, name)
            return b"", meta["size"], self._version(meta)
        try:
            found = await self.obstore.get_async(self.at, name, options=self._options(offset, from_end, size))
        except FileNotFoundError:
            raise
        except Exception:
            # A range behind the end is an error of the store's, and none here; Azure has no ranges from the end.
            meta = await self.obstore.head_async(self.at, name)
            part = self._instead(meta, offset, from_end, size)
            if part is None:
                return b"", meta["size"], self._version(meta)
            if not from_end:
                raise
            found = self._same(meta, await self.obstore.get_async(self.at, name, options={"range": part}))
        return await found.bytes_async(), found.meta["size"], self._version(found.meta)

    def list(self, prefix: str) -> Any:
        found = self.obstore.list_with_delimiter(self.at, prefix or None)
        for names, is_prefix in ((found["common_prefixes"], True), ([one["path"] for one in found["objects"]], False)):
            for name in names:
                yield name.rstrip("/").rsplit("/", 1)[-1], is_prefix

    def write(self, name: str, value: bytes) -> None:
        self.obstore.put(self.at, name, value)

    def remove(self, name: str) -> None:
        try:
            self.obstore.delete(self.at, name)
        except FileNotFoundError:
            pass


class _Zarr(_Adapter):
    """A store of zarr-python's, below a path."""

    def __init__(self, given: Any, store: Any, path: str, zarr: Any) -> None:
        super().__init__(given)
        self.at, self.path, self.zarr, self._loop = store, path.strip("/"), zarr, None
        self.is_writable = not store.read_only
        # Coroutines that never wait need no loop.
        self.is_in_flight = type(store) not in (zarr.MemoryStore, zarr.ZipStore)
        self.is_in_memory = _innermost(store, zarr.MemoryStore)
        from zarr.abc import store as requests  # noqa: PLC0415
        from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415

        self.range, self.prototype = requests.RangeByteRequest, default_buffer_prototype()

    def begin(self, loop: Any) -> None:
        self._loop = loop
        if not self.at._is_open:
            self.run(self.at._open())

    def options(self) -> Any:
        wrapped = getattr(self.at, "store", None)
        if type(self.at) is getattr(self.zarr, "ObjectStore", None) and _is_of_obstore(wrapped):
            return _options_of_obstore(wrapped), self.path
        return self.at, self.path

    def loop(self) -> Any:
        if self._loop is not None:
            return self._loop
        from zarr.core.sync import _get_loop  # noqa: PLC0415

        return _get_loop()

    def run(self, coroutine: Any) -> Any:
        if self.is_in_flight:
            return super().run(coroutine)
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        coroutine.close()
        raise RuntimeError(f"{self.store!r} has waited for something")

    def _key(self, name: str) -> str:
        return "/".join(part for part in (self.path, name) if part)

    def read(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        return self.run(self.fetch(name, offset, from_end, size))

    async def fetch(self, name: str, offset: int, from_end: bool, size: int) -> tuple[Any, int, int]:
        key = self._key(name)

        async def ranged(first: int, last: int) -> Any:
            found = await self.at.get(key, self.prototype, self.range(first, last))
            if found is None:
                raise _Missing
            return found.as_numpy_array()

        async def sized() -> int:
            return int(await self.at.getsize(key))

        return await _async_steps(_in_order(ranged, sized, offset, from_end, size))

    def list(self, prefix: str) -> Any:
        return self.run(self._list(self._key(prefix)))

    async def _list(self, prefix: str) -> list[tuple[str, bool]]:
        if not self.is_in_flight:
            below, found = f"{prefix}/" if prefix else "", {}
            async for key in self.at.list_prefix(below):
                last, slash, _ = key[len(below):].partition("/")
                found[last] = found.get(last, False) or bool(slash)
            return list(found.items())
        if isinstance(self.at, self.zarr.FsspecStore):
            path = f"{self.at.path.rstrip('/')}/{prefix}".rstrip("/")
            self.at.fs.invalidate_cache(path)  # as above
            try:
                entries = await self.at.fs._ls(path, detail=True)
            except (FileNotFoundError, NotADirectoryError):
                return []
            finally:
                self.at.fs.invalidate_cache(path)
            return [(one["name"].rstrip("/").rsplit("/", 1)[-1], one["type"] == "directory") for one in entries
                    if len(one["name"].rstrip("/")) > len(path)]
        names = [name.rstrip("/") async for name in self.at.list_dir(prefix)]
        limit = asyncio.Semaphore(64)

        async def is_prefix(name: str) -> bool:
            # What exists need not be an object. What something is below is a prefix.
            async with limit:
                async for _ in self.at.list_prefix(f"{prefix}/{name}/" if prefix else f"{name}/"):
                    return True
            return False

        unsure = [name for name in names if name not in _DOCUMENTS]
        are_prefixes = dict(zip(unsure, await asyncio.gather(*map(is_prefix, unsure))))
        return [(name, are_prefixes.get(name, False)) for name in names]

    def write(self, name: str, value: bytes) -> None:
        self.run(self.at.set(self._key(name), self.prototype.buffer.from_bytes(value)))

    def remove(self, name: str) -> None:
        self.run(self._remove(self._key(name)))

    async def _remove(self, key: str) -> None:
        if await self.at.exists(key):
            await self.at.delete(key)


def _innermost(store: Any, kind: Any) -> bool:
    """Whether this is a store of a kind, or wraps one."""
    while not isinstance(store, kind):
        store = vars(store).get("_store") if hasattr(store, "__dict__") else None
        if store is None:
            return False
    return True


_DOCUMENTS = frozenset(["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"])


def _adapter(given: Any) -> _Adapter | None:
    """What the library can use a storage of Python's by; None for a path and all else."""
    if isinstance(given, (str, bytes, os.PathLike)):
        return None
    # What is not imported cannot be given.
    zarr, fsspec = sys.modules.get("zarr.storage"), sys.modules.get("fsspec")
    obstore = sys.modules.get("obstore")
    if zarr is not None:
        store, path = (given.store, given.path) if isinstance(given, zarr.StorePath) else (given, "")
        wrapped = getattr(store, "store", None) if type(store) is getattr(zarr, "ObjectStore", None) else None
        if wrapped is not None and not path and obstore is not None and _is_of_obstore(wrapped):
            return _Obstore(wrapped, obstore, given, store.read_only)
        if isinstance(store, sys.modules["zarr.abc.store"].Store) and not isinstance(store, zarr.GpuMemoryStore):
            return _Zarr(given, store, path, zarr)
    if fsspec is not None:
        if isinstance(given, fsspec.mapping.FSMap):
            return _Fsspec(given, given.fs, given.root)
        if isinstance(given, fsspec.AbstractFileSystem):
            return _Fsspec(given, given, given.root_marker)
    if obstore is not None and _is_of_obstore(given):
        return _Obstore(given, obstore)
    return None


def _is_of_obstore(given: Any) -> bool:
    return any(kind.__module__ in ("obstore.store", "obstore._store") for kind in type(given).__mro__)


def _options_of_obstore(store: Any) -> Any:
    """What a store of obstore's was made of. In what is pickled of it the options have any order."""
    made_of = getattr(store, "__getnewargs_ex__", None)
    return store if made_of is None else (type(store).__name__, made_of())


_loop: list[Any] = []
_loop_lock = threading.Lock()


def _own_loop() -> Any:
    """An event loop in a thread of its own, for stores that have none."""
    with _loop_lock:
        if not _loop:
            _loop.append(asyncio.new_event_loop())
            threading.Thread(target=_loop[0].run_forever, name="nczchunk-io", daemon=True).start()
        return _loop[0]


def _after_fork() -> None:
    global _loop_lock
    _loop.clear()  # its thread is the parent's
    _loop_lock = threading.Lock()


at_fork(_after_fork)

# The adapters that storages of the library use, by their id(), which callbacks get.
_adapters: dict[int, _Adapter] = {}


def canceller(path: Any) -> Any:
    """What ends the reads of a thread, if the library calls back to Python for what is at a path; else None."""
    return _cancel if is_known(path.path if isinstance(path, WithExternalLinks) else path) else None


def _cancel(thread: int) -> None:
    """Ends the reads that a thread has in flight."""
    def cancel() -> None:
        for adapter in list(_adapters.values()):
            of = adapter.threads.get((os.getpid(), thread))
            for future in list(of.futures.values()) if of else ():
                future.cancel()

    # Not in the main thread, where the handler of a signal could keep a future from telling that it has ended.
    in_thread(cancel, lambda _: None)


def _failed(error: BaseException, doing: str, adapter: _Adapter, name: str) -> int:
    """The status for what was raised in a callback."""
    kind = type(error).__name__
    about = f"{shown(adapter.store, name)}: it could not be {doing}: {kind}: {error}"
    return errors.remember(_without_user(about), error)


def _filled(request: Any, result: tuple[Any, int, int]) -> None:
    """Puts what was read into a request."""
    found, length, version = result
    begin = max(0, length - request.offset) if request.from_end else min(length, request.offset)
    due = min(length - begin, request.size)
    found = np.frombuffer(found, np.uint8) if len(found) else np.empty(0, np.uint8)
    if request.from_end and len(found) > due:
        found = found[:due]
    if len(found) != due:
        raise OSError(f"read {len(found)} bytes, expected {due}; the object may have changed during the read")
    if due:
        memmove(request.buffer, _c.address(found), due)
    request.nbytes, request.object_size, request.version = due, length, version


def _asked(request: Any) -> tuple[str, int, bool, int]:
    return request.name.decode(), request.offset, bool(request.from_end), request.size


@_c.READ_CALLBACK
def _READ(user, pointer):
    adapter, request = _adapters[user], ObjectRequest.from_address(pointer)
    try:
        check_running()
        _filled(request, adapter.read(*_asked(request)))
        return 0
    except (_Missing, FileNotFoundError):
        return _c.NO_OBJECT
    except BaseException as error:  # noqa: BLE001 - it is raised again by the call
        return _failed(error, "read", adapter, request.name.decode())


def _of_thread(adapter: _Adapter) -> _Thread:
    """What this thread has in flight."""
    return adapter.threads.setdefault((os.getpid(), threading.get_ident()), _Thread())


@_c.READ_CALLBACK
def _START(user, pointer):
    adapter, request = _adapters[user], ObjectRequest.from_address(pointer)
    try:
        check_running()
        of = _of_thread(adapter)
        future = adapter.submit(adapter.fetch(*_asked(request)))
        of.futures[pointer], ended = future, of.ended
        future.add_done_callback(lambda one: ended.put((pointer, one)))
        return 0
    except BaseException as error:  # noqa: BLE001
        return _failed(error, "read", adapter, request.name.decode())


@_c.WAIT_CALLBACK
def _WAIT(user, done):
    adapter = _adapters[user]
    of = _of_thread(adapter)
    try:
        pointer, future = adapter.next_of(of.ended)
        del of.futures[pointer]
    except BaseException as error:  # noqa: BLE001 - by a handler of a signal
        # Nobody takes what these bring.
        futures, of.futures, of.ended = of.futures, {}, SimpleQueue()
        for one in futures.values():
            one.cancel()
        return _failed(error, "read", adapter, "")
    request = ObjectRequest.from_address(pointer)
    try:
        _filled(request, future.result())
    except (_Missing, FileNotFoundError):
        request.status = _c.NO_OBJECT
    except BaseException as error:  # noqa: BLE001
        request.status = _failed(error, "read", adapter, request.name.decode())
    c_void_p.from_address(done).value = pointer
    return 0


@_c.CANCEL_CALLBACK
def _CANCEL(user, pointer):
    future = _of_thread(_adapters[user]).futures.get(pointer)
    if future is not None:
        future.cancel()


@_c.LIST_CALLBACK
def _LIST(user, prefix, found, argument):
    adapter = _adapters[user]
    try:
        check_running()
        for name, is_prefix in adapter.list(prefix.decode()):
            status = found(argument, name.encode(), int(is_prefix))
            if status:
                return status
        return 0
    except (_Missing, FileNotFoundError):
        return 0
    except BaseException as error:  # noqa: BLE001
        return _failed(error, "listed", adapter, prefix.decode())


@_c.WRITE_CALLBACK
def _WRITE(user, name, values, num_bytes):
    adapter = _adapters[user]
    try:
        check_running()
        adapter.write(name.decode(), string_at(values, num_bytes) if num_bytes else b"")
        return 0
    except BaseException as error:  # noqa: BLE001
        return _failed(error, "written", adapter, name.decode())


@_c.REMOVE_CALLBACK
def _REMOVE(user, name):
    adapter = _adapters[user]
    try:
        check_running()
        adapter.remove(name.decode())
        return 0
    except BaseException as error:  # noqa: BLE001
        return _failed(error, "removed", adapter, name.decode())


# No function of Python's: storages are freed in the main thread, too, where a handler of a signal could keep it from
# its first line.
_DESTROY = _c.DESTROY_CALLBACK(_adapters.pop)
