"""Storages that are objects of other packages, in place of a path."""

import asyncio
import base64
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import nczchunk
from nczchunk import handle, storage

VALUES = np.arange(40 * 30, dtype="i4").reshape(40, 30)
KINDS = ["fsspec memory", "fsspec local", "fsspec mapping", "fsspec async", "obstore memory", "obstore local",
         "zarr memory", "zarr zip", "zarr local", "zarr path", "zarr fsspec", "zarr obstore", "zarr wrapped"]


def storage_of(kind, tmp_path):
    """A storage of this kind that is empty."""
    package, what = kind.split()
    if package == "fsspec":
        fsspec = pytest.importorskip("fsspec")
        if what == "memory":
            fs = fsspec.filesystem("memory", skip_instance_cache=True)
            fs.store, fs.pseudo_dirs = {}, [""]
            return fs
        if what == "async":
            wrapper = pytest.importorskip("fsspec.implementations.asyn_wrapper")
            fs = wrapper.AsyncFileSystemWrapper(fsspec.filesystem("file"), asynchronous=False)
            return fsspec.FSMap(str(tmp_path), fs)
        return fsspec.get_mapper(str(tmp_path)) if what == "mapping" else fsspec.filesystem(
            "dir", path=str(tmp_path), fs=fsspec.filesystem("file"))
    if package == "obstore":
        store = pytest.importorskip("obstore.store")
        return store.MemoryStore() if what == "memory" else store.LocalStore(str(tmp_path))
    zarr = pytest.importorskip("zarr")
    if what == "memory":
        return zarr.storage.MemoryStore()
    if what == "zip":
        return zarr.storage.ZipStore(tmp_path / "a.zip", mode="w")
    if what == "local":
        return zarr.storage.LocalStore(tmp_path)
    if what == "path":
        return zarr.storage.StorePath(zarr.storage.MemoryStore(), "below/here")
    if what == "fsspec":
        pytest.importorskip("fsspec")
        return zarr.storage.FsspecStore.from_url(f"file://{tmp_path}", storage_options={"auto_mkdir": True})
    if what == "obstore":
        return zarr.storage.ObjectStore(pytest.importorskip("obstore.store").MemoryStore())
    return zarr.storage.WrapperStore(zarr.storage.LocalStore(tmp_path))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shards", [None, (20, 10)])
def test_any_storage_is_read_written_and_listed(tmp_path, kind, shards):
    storage = storage_of(kind, tmp_path)
    root = nczchunk.create_group(storage, attrs={"title": "t"})
    array = root.create("g/a", shape=VALUES.shape, dtype="i4", chunks=(10, 5), shards=shards, attrs={"units": "m"})
    array[:30] = VALUES[:30]
    assert array.nchunks_initialized == 18
    if kind != "zarr zip":
        array[30:] = VALUES[30:]
        array[3] = 7
        array.attrs["units"] = "K"
        nczchunk.create(storage, "g/b", shape=(2,), dtype="i4")[...] = 1
        nczchunk.create(storage, "g/b", shape=(3,), dtype="i2", overwrite=True)
        root.attrs["title"] = "new"
        root.consolidate()
    found = nczchunk.open_group(storage)
    assert [node.name for node in nczchunk.list_nodes(storage)][:3] == ["", "g", "g/a"]
    assert sorted(found["g"]) == (["a"] if kind == "zarr zip" else ["a", "b"])
    assert found.attrs["title"] == ("t" if kind == "zarr zip" else "new")
    due = VALUES.copy()
    due[30:], due[3] = (0, due[3]) if kind == "zarr zip" else (due[30:], 7)
    for threads in (1, 3):
        with nczchunk.open(storage, "g/a", threads=threads) as again:
            assert np.array_equal(again[...], due) and np.array_equal(again[::7, ::-2], due[::7, ::-2])
            assert again.locate(np.s_[0, 0])[0].nbytes > 0
    with pytest.raises(FileNotFoundError):
        nczchunk.open(storage, "none")
    with pytest.raises(FileExistsError):
        nczchunk.create(storage, "g/a", shape=(2,), dtype="i4")
    zarr = sys.modules.get("zarr")
    if zarr is not None and isinstance(storage, zarr.abc.store.Store):
        assert np.array_equal(zarr.open_array(storage, path="g/a", mode="r+")[...], due)


@pytest.mark.parametrize("kind", ["zarr local", "fsspec mapping", "zarr fsspec", "obstore local"])
def test_storages_and_directories_are_one(tmp_path, kind):
    array = nczchunk.create(tmp_path, "a", shape=VALUES.shape, dtype="i4", chunks=(7, 7))
    array[...] = VALUES
    there = nczchunk.open(storage_of(kind, tmp_path), "a", "r+")
    assert np.array_equal(there[...], VALUES)
    there[5:9] = 1
    there.resize((20, 30))
    array.refresh()
    assert array.shape == (20, 30) and (array[5:9] == 1).all()


def test_an_array_of_a_storage_is_pickled(tmp_path):
    storage = storage_of("zarr local", tmp_path)
    array = nczchunk.create(storage, "a", shape=(4,), dtype="i4")
    array[...] = 5
    assert (pickle.loads(pickle.dumps(array))[...] == 5).all()
    wrapped = nczchunk.open(storage_of("fsspec mapping", tmp_path), "a")
    assert (pickle.loads(pickle.dumps(wrapped))[...] == 5).all() and "FSMap" in repr(wrapped._where[0])


def test_what_may_only_be_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    nczchunk.create(tmp_path, "a", shape=(4,), dtype="i4")[...] = 5
    for store in [zarr.storage.LocalStore(tmp_path, read_only=True),
                  zarr.storage.FsspecStore.from_url(f"file://{tmp_path}", read_only=True)]:
        assert (nczchunk.open(store, "a")[...] == 5).all()
        for write in [lambda store=store: nczchunk.open(store, "a", "r+"),
                      lambda store=store: nczchunk.open_group(store, mode="r+"),
                      lambda store=store: nczchunk.create(store, "b", shape=(1,), dtype="i4"),
                      lambda store=store: nczchunk.create_group(store, "c")]:
            with pytest.raises(PermissionError):
                write()


class Broken(Exception):
    pass


def failing(kind, tmp_path, names, error):
    """A storage that raises an error where one of these objects is used."""
    if kind == "fsspec":
        memory = pytest.importorskip("fsspec.implementations.memory")

        class Failing(memory.MemoryFileSystem):
            cachable = False
            store, pseudo_dirs = {}, [""]

            def cat_file(self, path, start=None, end=None, **kwargs):
                self.fail(path)
                return super().cat_file(path, start, end, **kwargs)

            def pipe_file(self, path, value, **kwargs):
                self.fail(path)
                return super().pipe_file(path, value, **kwargs)

            def fail(self, path):
                if any(path.endswith(name) for name in names):
                    raise error

        return Failing()
    zarr = pytest.importorskip("zarr")

    class Failing(zarr.storage.WrapperStore):
        async def get(self, key, *arguments, **named):
            await asyncio.sleep(0)
            self.fail(key)
            return await self._store.get(key, *arguments, **named)

        async def set(self, key, value):
            self.fail(key)
            await self._store.set(key, value)

        def fail(self, key):
            if any(key.endswith(name) for name in names):
                raise error

    return Failing(zarr.storage.MemoryStore())


@pytest.mark.parametrize("kind", ["fsspec", "zarr"])
def test_what_a_storage_raises_is_the_cause_and_the_object_is_named(tmp_path, kind):
    names, error = [], Broken("out of order")
    storage = failing(kind, tmp_path, names, error)
    array = nczchunk.create(storage, "a", shape=(40,), dtype="i4", chunks=(2,), threads=3, cache=None)
    array[...] = np.arange(40)
    names.append("c/7")
    for use in [lambda: array[...], lambda: array[14], lambda: array.__setitem__(14, 1)]:
        message = "a/c/7: it could not be .*Broken: out of order"
        with pytest.raises(nczchunk.errors.StorageFailure, match=message) as told:
            use()
        assert told.value.__cause__ is error and told.value.chunk == (7,) and isinstance(told.value, OSError)
    assert (array[:14] == np.arange(14)).all()
    names[:] = ["zarr.json"]
    with pytest.raises(nczchunk.errors.StorageFailure, match="a/zarr.json"):
        nczchunk.open(storage, "a")
    with pytest.raises(nczchunk.errors.StorageFailure, match="zarr.json"):
        nczchunk.create(storage, "b", shape=(1,), dtype="i4")
    names.clear()
    assert (array[...] == np.arange(40)).all()


def test_what_is_no_exception_is_raised_itself(tmp_path):
    names = []
    storage = failing("fsspec", tmp_path, names, KeyboardInterrupt())
    array = nczchunk.create(storage, "a", shape=(4,), dtype="i4")
    names.append("zarr.json")
    with pytest.raises(KeyboardInterrupt):
        nczchunk.open(storage, "a")
    # Also where an error of one array does not end a list.
    names[:] = ["a/zarr.json"]
    with pytest.raises(KeyboardInterrupt):
        nczchunk.list_nodes(storage)
    names.clear()
    assert (array[...] == 0).all()


@pytest.mark.parametrize("kind", ["fsspec memory", "fsspec async", "obstore memory", "zarr memory", "zarr fsspec"])
def test_the_main_thread_runs_no_callbacks(tmp_path, kind):
    """What the handler of a signal raises before the first line of one would be lost, and the library would be told
    anything."""
    from nczchunk import storage

    storages, entered = storage_of(kind, tmp_path), []

    def look(frame, event, _):
        if frame.f_code.co_filename == storage.__file__ and frame.f_code.co_name in (
                "_READ", "_START", "_WAIT", "_CANCEL", "_LIST", "_WRITE", "_REMOVE"):
            entered.append(frame.f_code.co_name)

    before = sys.gettrace()
    sys.settrace(look)
    try:
        limits = nczchunk.MemoryLimits(chunk_bytes=1 << 20)
        group = nczchunk.create_group(storages)
        array = group.create("a", shape=(4, 4), dtype="i4", chunks=(2, 2), shards=(4, 2))
        array[...] = 1
        array[0, 0] = 2
        array.append(np.zeros((1, 4)))
        array.attrs["a"] = 1
        group.attrs["b"] = 2
        nczchunk.create(storages, "texts", shape=(3,), dtype=str)[1:] = "x"
        array = nczchunk.open(storages, "a", memory_limits=limits)
        assert array.attrs["a"] == 1 and array.read_cost().requests and array.locate() and array.nchunks_initialized
        assert array[0, 0] == 2 and array[[0, 1], [1, 1]].tolist() == [1, 1] and array[[1, 0]].shape == (2, 4)
        assert nczchunk.open(storages, "texts")[:2].tolist() == ["", "x"]
        assert len(nczchunk.list_nodes(storages)) == 3 and sorted(group) == ["a", "texts"]
        nczchunk.rechunk(array, storages, "b", chunks=(4, 4))
        nczchunk.create(storages, "texts", shape=(3,), dtype="i2", overwrite=True)
        array.close()
    finally:
        sys.settrace(before)
    assert entered == []


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="without SIGALRM")
@pytest.mark.parametrize("is_late", [False, True])
def test_what_a_handler_raises_ends_a_short_read_that_waits_for_a_store(is_late, monkeypatch):
    zarr = pytest.importorskip("zarr")
    submit = storage._Adapter.submit

    def submit_late(*given):
        # The handler raises before it is known what there is to end.
        future = submit(*given)
        time.sleep(0.2)
        return future

    class Late(Exception):
        pass

    def handle(*_):
        raise Late

    class Stuck(zarr.storage.WrapperStore):
        async def get(self, key, *arguments, **named):
            if is_stuck and is_stuck[0] in key:
                os.kill(os.getpid(), signal.SIGALRM)
                await asyncio.sleep(60)
            return await self._store.get(key, *arguments, **named)

    is_stuck, store = [], Stuck(zarr.storage.MemoryStore())
    array = nczchunk.create(store, "a", shape=(4,), dtype="i4", cache=None)
    array[...] = 3
    if is_late:
        monkeypatch.setattr(storage._Adapter, "submit", submit_late)
    before, begin = signal.signal(signal.SIGALRM, handle), time.monotonic()
    try:
        for is_stuck, use in [(["c/0"], lambda: array[0]), (["zarr.json"], lambda: nczchunk.open(store, "a"))]:
            with pytest.raises(Late):
                use()
        assert time.monotonic() - begin < 50
    finally:
        signal.signal(signal.SIGALRM, before)
    is_stuck = []
    assert array[0] == 3


def slow_store(in_flight):
    """A store of which reads end when as many are in flight, or no other begins."""
    zarr = pytest.importorskip("zarr")

    class Slow(zarr.storage.WrapperStore):
        now = most = 0

        async def get(self, key, *arguments, **named):
            if "c/" not in key:
                return await self._store.get(key, *arguments, **named)
            self.now += 1
            self.most = max(self.most, self.now)
            while self.most < in_flight:
                await asyncio.sleep(0.001)
            try:
                return await self._store.get(key, *arguments, **named)
            finally:
                self.now -= 1

    return Slow(zarr.storage.MemoryStore())


@pytest.mark.parametrize("threads", [1, 4])
def test_reads_of_coroutines_are_in_flight(threads):
    # With fewer in flight the read would never end.
    store = slow_store(20)
    array = nczchunk.create(store, "a", shape=(200,), dtype="i4", chunks=(2,), threads=threads, cache=None)
    store.most = 1000
    array[...] = np.arange(200)
    store.most = 0
    assert np.array_equal(array[...], np.arange(200))
    assert 20 <= store.most <= 64 and store.now == 0


def test_threads_share_a_storage():
    zarr = pytest.importorskip("zarr")
    store = zarr.storage.WrapperStore(zarr.storage.MemoryStore())
    array = nczchunk.create(store, shape=(64, 8), dtype="i4", chunks=(1, 8), cache=None)
    failures = []

    def use(number):
        try:
            for row in range(number, 64, 8):
                array[row] = row
                assert (array[row] == row).all()
                assert (nczchunk.open(store)[row] == row).all()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and np.array_equal(array[:, 0], np.arange(64))


def test_a_call_in_the_event_loop_that_it_waits_for_is_refused():
    zarr = pytest.importorskip("zarr")
    store = zarr.storage.WrapperStore(zarr.storage.MemoryStore())
    nczchunk.create(store, shape=(4,), dtype="i4")

    async def use():
        nczchunk.open(store)

    with pytest.raises(nczchunk.Error, match="waits for the event loop that it is made in"):
        zarr.core.sync.sync(use())


def test_storages_are_given_back():
    zarr = pytest.importorskip("zarr")
    from nczchunk import storage

    before = len(storage._adapters)
    array = nczchunk.create(zarr.storage.MemoryStore(), shape=(4,), dtype="i4")
    assert len(storage._adapters) == before + 1
    array.close()
    assert len(storage._adapters) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="without fork")
def test_an_interpreter_ends_while_a_storage_is_open():
    pytest.importorskip("zarr")
    program = ("import zarr, nczchunk; s = zarr.storage.WrapperStore(zarr.storage.MemoryStore()); "
               "a = nczchunk.create(s, shape=(4,), dtype='i4'); a[...] = 3; print(a[1])")

    def told(program):
        done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        return done.stdout, done.stderr

    # Older releases of zarr-python warn of what they import.
    assert told(program) == ("3\n", told("import zarr")[1])


def test_nothing_is_freed_when_the_interpreter_ends():
    """The callbacks that the library would call may be gone then."""
    freed = []
    owner = handle.Owner(lambda pointer: freed.append(pointer.value))
    owner.value = 7
    owner.__del__(is_finalizing=lambda: True)
    assert freed == []
    owner.__del__(is_finalizing=lambda: False)
    assert freed == [7]
    owner.value = None


def test_a_store_path_of_a_directory_is_the_directory(tmp_path):
    zarr = pytest.importorskip("zarr.storage")
    store = zarr.LocalStore(tmp_path)
    assert storage.same_as_path(zarr.StorePath(store, "a/b")) == os.fspath(tmp_path / "a/b")
    assert storage.same_as_path(zarr.StorePath(store)) == storage.same_as_path(store) == os.fspath(tmp_path)
    array = nczchunk.create(zarr.StorePath(store, "a"), "x", shape=(2,), dtype="i4")
    assert array._where[0] == os.fspath(tmp_path / "a")


def test_a_mapping_without_a_root_is_read(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    array = nczchunk.create(tmp_path / "a", "x", shape=(4,), dtype="i4", format="zarr2")
    array[...] = range(4)
    texts = {name: "base64:" + base64.b64encode((tmp_path / "a" / name).read_bytes()).decode()
             for name in (".zgroup", "x/.zarray", "x/.zattrs", "x/0")}
    given = fsspec.get_mapper("reference://", fo={"version": 1, "refs": texts}, remote_protocol="file")
    np.testing.assert_array_equal(nczchunk.open(given, "x")[...], range(4))
    assert [node.name for node in nczchunk.list_nodes(given)] == ["", "x"]


def test_a_failed_append_leaves_the_array_as_long_as_it_was():
    zarr = pytest.importorskip("zarr.storage")
    fails = [False]

    class Failing(zarr.WrapperStore):
        async def set(self, key, value, *_):
            if "/c/" in key and fails[0]:
                fails[0] = False
                raise ConnectionError("503")
            await self._store.set(key, value)

    array = nczchunk.create(Failing(zarr.MemoryStore()), "x", shape=(0,), dtype="i4", chunks=(2,), fill_value=-1)
    array.append([1, 2, 3, 4])
    fails[0] = True
    with pytest.raises(OSError, match="503"):
        array.append([5, 6])
    assert array.shape == (4,)
    array.append([5, 6])
    np.testing.assert_array_equal(array[...], range(1, 7))


def test_the_interpreter_ends_while_daemon_threads_read_a_storage():
    pytest.importorskip("fsspec")
    program = """
import threading, time, fsspec, nczchunk
given = fsspec.filesystem("memory").get_mapper("/a")
nczchunk.create(given, "x", shape=(500,), dtype="i4", chunks=(1,))[...] = 3
def read():
    array = nczchunk.open(given, "x", threads=1, cache=None)
    while True:
        array[...]
for _ in range(3):
    threading.Thread(target=read, daemon=True).start()
time.sleep(0.3)
print("end")
"""
    # What the main thread saves at the end is saved, also after the package's own end.
    program = f"""
import atexit
def save():
    kept = nczchunk.open(given, "x", "r+", cache=None)
    kept[0] = 4
    print(kept[0])
atexit.register(save)
{program}"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n4\n", "")


def test_a_read_ends_with_the_event_loop_that_it_waits_for():
    pytest.importorskip("zarr.storage")
    program = """
import asyncio, numpy as np, zarr, nczchunk
from zarr.storage import MemoryStore, WrapperStore
zarr.config.set({"codec_pipeline.path": "nczchunk.zarr.CodecPipeline"})
class Slow(WrapperStore):
    async def get(self, *given, **more):
        await asyncio.sleep(0.001)
        return await self._store.get(*given, **more)
store = Slow(MemoryStore())
async def make():
    array = await zarr.api.asynchronous.open_array(store=store, path="x", shape=(100,), chunks=(1,), dtype="i4",
                                                   mode="w")
    await array.setitem(slice(None), np.arange(100, dtype="i4"))
    return array
array = asyncio.run(make())
async def leave():
    asyncio.create_task(array.getitem(slice(None)))
    await asyncio.sleep(0.003)
for _ in range(5):
    asyncio.run(leave())
async def again():
    return (await array.getitem(slice(None))).sum()
print(asyncio.run(again()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "4950\n"), done.stderr


def test_lists_of_fsspec_are_not_kept(tmp_path):
    local = pytest.importorskip("fsspec.implementations.local").LocalFileSystem

    class Cached(local):
        """Keeps lists, and tells lengths by them, as file systems of object stores do."""

        kept = {}

        def ls(self, path, detail=False, **options):
            return self.kept.setdefault(self._strip_protocol(path), super().ls(path, detail=True))

        def info(self, path, **options):
            above = self._strip_protocol(path).rpartition("/")[0]
            return next((one for one in self.kept.get(above, ()) if one["name"] == path), None) or super().info(path)

        def invalidate_cache(self, path=None):
            self.kept.clear()

    fs = pytest.importorskip("fsspec").FSMap(str(tmp_path / "group"), Cached())
    for group, name, length in (("group", "a", 8), ("group", "b", 8), ("new", "a", 64)):
        nczchunk.create(tmp_path / group, name, shape=(64,), dtype="i4", chunks=(8,), shards=(64,), codecs=None)[
            :length] = np.arange(length) + 1
    assert nczchunk.open(fs, "a", cache=None)[:8].tolist() == list(range(1, 9))
    with nczchunk.open(fs, "a", cache=None) as array:
        assert array.nchunks_initialized == 1
        os.replace(tmp_path / "new" / "a" / "c" / "0", tmp_path / "group" / "a" / "c" / "0")
        assert array[...].tolist() == list(range(1, 65))
        assert sorted(one.name for one in nczchunk.list_nodes(fs)) == ["", "a", "b"]
        os.rename(tmp_path / "group" / "b", tmp_path / "group" / "c")
        assert sorted(one.name for one in nczchunk.list_nodes(fs)) == ["", "a", "c"]


def in_child(use):
    """Whether use() returns True in a child that is forked."""
    pid = os.fork()
    if not pid:
        try:
            signal.alarm(20)
            os._exit(0 if use() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.unix
def test_a_child_that_is_forked_waits_for_none_of_its_parent_s_reads():
    adapter = nczchunk.storage._Adapter(None)
    parents = nczchunk.storage._of_thread(adapter)
    parents.ended.put((1, None))
    assert in_child(lambda: nczchunk.storage._of_thread(adapter) is not parents)
    assert nczchunk.storage._of_thread(adapter) is parents


@pytest.mark.unix
def test_a_child_that_is_forked_does_not_wait_for_threads_of_obstore_s(tmp_path):
    store = pytest.importorskip("obstore.store").LocalStore(tmp_path)
    array = nczchunk.create(store, "v", shape=(4,), dtype="i4", chunks=(2,))
    array[...] = 5

    def is_refused(use):
        with pytest.raises(nczchunk.errors.StorageFailure, match="forked"):
            use()
        return True

    for use in [lambda: array[...], lambda: array.__setitem__(0, 1), lambda: nczchunk.open(store, "v")]:
        assert in_child(lambda: is_refused(use))
    assert array[...].tolist() == [5] * 4
