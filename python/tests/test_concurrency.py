"""One array used by several threads, handlers of signals, and processes at the same time.

Each test takes a second or so. NCZCHUNK_TEST_SECONDS=60 has those that try at random go on for that long.
"""

import asyncio
import gc
import multiprocessing
import os
import pathlib
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import nczchunk
from nczchunk import _c, errors, locks
from nczchunk.handle import Handle, Owner, in_thread

SECONDS = float(os.environ.get("NCZCHUNK_TEST_SECONDS", "1.5"))


class Late(Exception):
    """What a handler of a signal raises."""


def raise_late(*_):
    raise Late


@pytest.fixture
def timer():
    """Sets a handler of SIGALRM, and when that arrives: once, or again and again."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("the system has no SIGALRM")
    before = signal.getsignal(signal.SIGALRM)

    def set_timer(handler, *seconds):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *seconds)

    yield set_timer
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def slow(tmp_path):
    """An array that takes some tenths of a second to be read: 128 MB in 16384 chunks."""
    return nczchunk.create(tmp_path / "slow", shape=(4096, 4096), dtype="f8", chunks=(32, 32), fill_value=1.5)


def in_threads(*functions):
    """Runs functions at the same time, and raises what one of them has raised."""
    raised = []

    def run(function):
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            raised.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


# ----------------------------------------------------------------------------------------------------------------------
# Threads


def test_close_waits_for_reads(slow):
    out, begun = np.zeros(slow.shape), threading.Event()

    def read():
        begun.set()
        slow.read_into(out)

    def close():
        begun.wait()
        while out[0, 0] == 0:
            time.sleep(0.001)
        slow.close()
        assert out[-1, -1] == 1.5

    in_threads(read, close)
    assert (out == 1.5).all()
    for use in [lambda: slow[0], lambda: slow.dims, lambda: slow.fill_value, lambda: slow.netcdf_type, slow.verify,
                lambda: slow.resize((1, 1)), lambda: slow.read_into(out), lambda: slow.__setitem__(0, 1),
                lambda: slow.attrs["a"], lambda: len(slow.attrs), lambda: slow.attrs.as_json(),
                lambda: slow.attrs.__setitem__("a", 1), lambda: slow.attrs.__delitem__("a")]:
        with pytest.raises(ValueError, match="the array is closed"):
            use()
    slow.close()
    assert repr(slow) == "<nczchunk.Array, closed>" and slow.shape == (4096, 4096)


def test_the_end_of_with_waits_for_reads(tmp_path):
    nczchunk.create(tmp_path / "a", shape=(1000, 1000), dtype="i4", chunks=(20, 20))[...] = 7
    for _ in range(10):
        reads = []

        def read(array):
            try:
                while True:
                    reads.append(int(array[...].sum()))
            except ValueError as error:
                assert "closed" in str(error)

        def use():
            with nczchunk.open(tmp_path / "a", cache=None) as array:
                threads = [threading.Thread(target=read, args=(array,)) for _ in range(3)]
                for thread in threads:
                    thread.start()
                time.sleep(0.01)
            for thread in threads:
                thread.join()

        use()
        assert all(found == 7_000_000 for found in reads)


def test_a_resize_waits_for_reads_and_reads_for_it(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(400, 40), dtype="i4", chunks=(10, 10), fill_value=3, cache=None)
    end = time.monotonic() + SECONDS
    counts = dict.fromkeys(["read", "resize", "attribute", "query"], 0)

    def read():
        while time.monotonic() < end:
            try:
                assert (array[...] == 3).all()
            except IndexError:
                pass  # it became shorter after its shape was asked for
            counts["read"] += 1

    def resize():
        while time.monotonic() < end:
            array.resize((random.randrange(1, 400), 40))
            counts["resize"] += 1

    def attribute():
        while time.monotonic() < end:
            array.attrs["a"] = counts["attribute"]
            array.verify(counts["attribute"] % 2)
            counts["attribute"] += 1

    def query():
        while time.monotonic() < end:
            assert array.fill_value == 3 and array.dims == ("", "") and array.netcdf_type == 4
            assert set(array.attrs) <= {"a"} and array.attrs.as_json() and pickle.dumps(array)
            counts["query"] += 1

    in_threads(read, read, resize, attribute, query)
    assert min(counts.values()) > 3, counts


def test_arrays_in_a_zip_file_that_is_finished_meanwhile(tmp_path):
    for i in range(20):
        new = nczchunk.NewZip(tmp_path / f"{i}.zip")
        created = []

        def create(name):
            try:
                for number in range(100):
                    array = nczchunk.create(new, f"{name}{number}", shape=(3,), dtype="i4")
                    array[...] = number
                    created.append(array)
            except (ValueError, PermissionError):
                pass  # it is finished

        in_threads(lambda: create("a"), lambda: create("b"), lambda: (time.sleep(0.005), new.finish()))
        for node in nczchunk.list_nodes(tmp_path / f"{i}.zip"):
            assert node.problem is None
        assert all(array.shape == (3,) for array in created)


def test_many_threads_close_an_array_once(tmp_path):
    nczchunk.create(tmp_path / "a", shape=(64, 64), dtype="i4", chunks=(8, 8))[...] = 1
    for _ in range(50):
        array = nczchunk.open(tmp_path / "a")

        def use():
            try:
                assert int(array[...].sum()) == 4096
            except ValueError:
                pass

        in_threads(use, array.close, use, array.close, use, array.close)


def test_an_object_is_freed_once_and_only_when_nobody_uses_it():
    freed = []

    def free(pointer):
        assert not in_use
        freed.append(pointer.value)

    def owner(number):
        made = Owner(free)
        made.value = number
        return made

    in_use = set()
    end, number = time.monotonic() + SECONDS / 2, 0
    while time.monotonic() < end:
        number += 1
        handle = Handle(owner(number), "it")

        def share():
            def use(pointer):
                me = object()
                in_use.add(me)
                assert pointer.value == number and not freed[number - 1:]
                in_use.discard(me)

            for _ in range(20):
                try:
                    handle.share(use)
                except ValueError:
                    return

        def change():
            def use(pointer):
                assert pointer.value == number and not in_use

            for _ in range(5):
                try:
                    handle.alone(use)
                except ValueError:
                    return

        in_threads(share, change, share, change, handle.close, handle.close)
        assert len(freed) == number
    handle = Handle(owner(0xffff), "it")
    del handle
    assert freed[-1] == 0xffff


def test_arrays_caches_and_contexts_are_freed(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(4,), dtype="i4", cache=nczchunk.Cache(100))
    array[...] = 1
    owners = [weakref.ref(array._handle), weakref.ref(array._cache._handle)]
    del array
    gc.collect()
    assert [owner() for owner in owners] == [None, None]
    before = len(_c._spare)
    with pytest.raises(FileNotFoundError):
        nczchunk.open(tmp_path / "none")
    assert len(_c._spare) <= before


def append_rows(path, number):
    """Appends twenty rows of a number, by three at most, so that parts of chunks are written."""
    array, left = nczchunk.open(path, mode="r+"), 20
    while left:
        count = min(left, 1 + left % 3)
        array.append(np.full((count, 4), number))
        left -= count


def test_handles_that_append_keep_what_others_have_appended(tmp_path):
    first = nczchunk.create(tmp_path / "a", shape=(0, 4), dtype="i4", chunks=(4, 4))
    second = nczchunk.open(tmp_path / "a", mode="r+")
    assert first.append(np.full((3, 4), 1)) == (3, 4)
    assert second.append(np.full((2, 4), 2)) == (5, 4)
    assert first.append(np.full((1, 4), 3)) == (6, 4)
    assert nczchunk.open(tmp_path / "a")[:, 0].tolist() == [1, 1, 1, 2, 2, 3]
    second.refresh()
    second.resize((6, 5))
    with pytest.raises(ValueError, match=r"expected the shape \(6, 5\)"):
        first.append(np.zeros((1, 4)))


@pytest.mark.unix
def test_threads_and_handles_that_append_at_the_same_time_lose_nothing(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(0, 4), dtype="i4", chunks=(4, 4))

    def use(number):
        for _ in range(20):
            array.append(np.full((1, 4), number))

    in_threads(lambda: use(0), lambda: use(1), lambda: append_rows(tmp_path / "a", 2),
               lambda: append_rows(tmp_path / "a", 3))
    found = nczchunk.open(tmp_path / "a")[...]
    assert np.bincount(found[:, 0]).tolist() == [20] * 4 and (found == found[:, :1]).all()


def test_threads_append_to_one_array_where_nothing_can_be_locked():
    fsspec = pytest.importorskip("fsspec")
    fs = fsspec.filesystem("memory", skip_instance_cache=True)
    fs.store, fs.pseudo_dirs = {}, [""]
    array = nczchunk.create(fs, "a", shape=(0,), dtype="i4", chunks=(4,))
    in_threads(*[lambda number=number: [array.append([number]) for _ in range(10)] for number in range(4)])
    assert np.bincount(array[...]).tolist() == [10] * 4


def test_statuses_of_what_is_raised_differ_whatever_the_counter_returns(monkeypatch):
    # That of a free-threaded Python may return a number twice.
    monkeypatch.setattr(errors, "_numbers", iter([7, 7, 7, 8, 9]))
    raised = [KeyError(number) for number in range(3)]
    statuses = [errors.remember("it failed", error) for error in raised]
    assert [errors.error_of(status, "").__cause__ for status in statuses] == raised


# ----------------------------------------------------------------------------------------------------------------------
# Handlers of signals


def test_a_call_is_waited_for_whatever_handlers_raise(timer):
    """What its callers free is used until it ends."""
    raised, ended, is_waiting = [], [], threading.Event()

    def handle(*_):
        if is_waiting.is_set():
            raised.append(Late(len(raised)))
            raise raised[-1]

    def work():
        for number in range(1, 4):
            os.kill(os.getpid(), signal.SIGALRM)
            while len(raised) < number and is_waiting.is_set():
                time.sleep(0.001)
        ended.append(True)

    timer(handle, 0)
    is_waiting.set()
    try:
        with pytest.raises(Late) as caught:
            in_thread(work, lambda *_: None)
        assert ended == [True] and len(raised) == 3 and caught.value is raised[0]
    finally:
        is_waiting.clear()


def test_handlers_that_raise_again_do_not_end_a_write_before_it_has_ended(timer):
    fsspec = pytest.importorskip("fsspec.implementations.memory")
    raised, written, is_writing = [], [], threading.Event()

    def handle(*_):
        if is_writing.is_set():
            raised.append(Late(len(raised)))
            raise raised[-1]

    class Slow(fsspec.MemoryFileSystem):
        cachable = False
        store, pseudo_dirs = {}, [""]

        def pipe_file(self, path, value, **kwargs):
            if "/c/" in path:
                for number in range(1, 4):
                    os.kill(os.getpid(), signal.SIGALRM)
                    while len(raised) < number and is_writing.is_set():
                        time.sleep(0.001)
                time.sleep(0.1)
            super().pipe_file(path, value, **kwargs)
            written.append(path)

    array = nczchunk.create(Slow(), shape=(4,), dtype="i4")
    timer(handle, 0)
    is_writing.set()
    try:
        with pytest.raises(Late) as caught:
            array[...] = 1
        assert caught.value is raised[0] and len(raised) == 3 and written[-1].endswith("/c/0")
    finally:
        is_writing.clear()


def test_what_a_handler_raises_ends_a_read(slow, timer):
    out = np.empty(slow.shape)
    slow.read_into(out)
    begin = time.monotonic()
    slow.read_into(out)
    whole = time.monotonic() - begin
    for _ in range(20):
        out[:] = 0
        timer(raise_late, whole / 20)
        with pytest.raises(Late):
            slow.read_into(out)
            time.sleep(60)
        if out[-1, -1] == 0:
            break
    # A machine that is busy may have come to the end of a read before the signal, but not twenty times.
    assert out[-1, -1] == 0
    assert slow[0, 0] == 1.5
    slow.close()


def test_what_a_handler_raises_ends_a_write_and_a_read_of_texts(tmp_path, slow, timer):
    timer(raise_late, 0.03)
    with pytest.raises(Late):
        for _ in range(1000):
            slow[...] = 2.5
    texts = nczchunk.create(tmp_path / "texts", shape=(1000, 300), dtype=str, chunks=(1, 300), fill_value="x")
    timer(raise_late, 0.03)
    with pytest.raises(Late):
        for _ in range(1000):
            texts[...]
    timer(raise_late, 0.03)
    with pytest.raises(Late):
        for _ in range(1000):
            texts[...] = "y"
    assert texts[0, 0] in ("x", "y")


def test_what_a_handler_raises_ends_a_listing(tmp_path, timer):
    for i in range(100):
        nczchunk.create(tmp_path, f"a{i}", shape=(2,), dtype="i4")
    for _ in range(5):
        timer(raise_late, 0.01)
        with pytest.raises(Late):
            for _ in range(1000):
                nczchunk.list_nodes(tmp_path)
    assert len(nczchunk.list_nodes(tmp_path)) == 101


def test_a_series_of_few_bytes_from_many_chunks_is_ended(slow, timer):
    timer(raise_late, 0.01)
    with pytest.raises(Late):
        for _ in range(1000):
            slow[::32, ::32]


def test_handlers_that_raise_nothing_let_a_read_go_on(slow, timer):
    calls = []
    timer(lambda *_: calls.append(slow[5, 5]), 0.002, 0.002)
    assert (slow[...] == 1.5).all()
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(calls) > 3 and set(calls) == {1.5}


def test_a_handler_that_closes_and_raises(slow, timer):
    def close(*_):
        slow.close()
        raise Late

    for index in [..., np.s_[0, 0]]:
        again = pickle.loads(pickle.dumps(slow))
        timer(close, 0.01)
        with pytest.raises(Late):
            while True:
                slow[index]
        with pytest.raises(ValueError, match="closed"):
            slow[0]
        slow = again


def test_a_handler_cannot_change_what_its_thread_uses(slow, timer):
    refused = []

    def resize(*_):
        if slow._handle._calls:
            try:
                slow.resize((10, 10))
                # The read ended before it was looked for again: nothing is left that the handler would interrupt.
                slow.resize((4096, 4096))
            except RuntimeError as error:
                refused.append(str(error))

    timer(resize, 0.01, 0.01)
    while not refused:
        assert (slow[...] == 1.5).all() and slow.shape == (4096, 4096)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert refused[0].startswith("the array cannot be changed by a signal handler")


def test_handlers_run_while_a_resize_waits(slow, timer):
    waited = []

    def look(*_):
        # The read of the other thread, and the resize that waits for it.
        waited.append(len(slow._handle._calls) == 2)

    for length in range(4000, 4096):
        thread = threading.Thread(target=lambda: slow[:4000])
        thread.start()
        timer(look, 0.01, 0.01)
        slow.resize((length, 4096))
        signal.setitimer(signal.ITIMER_REAL, 0)
        thread.join()
        assert slow.shape == (length, 4096)
        if any(waited):
            break
    assert any(waited)


def test_errors_of_long_reads_have_their_message(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(2000, 1000), dtype="f4", chunks=(100, 1000))
    array[...] = 1
    (tmp_path / "a" / "c" / "5" / "0").write_bytes(b"bad")
    array = nczchunk.open(tmp_path / "a", cache=None)
    for index in [slice(400, 600), ...]:
        with pytest.raises(nczchunk.errors.Corrupt, match=r"chunk \(5, 0\): ") as caught:
            array[index]
        assert caught.value.chunk == (5, 0)


def test_raising_handlers_at_any_time_leave_nothing_behind(tmp_path, timer, monkeypatch):
    array = nczchunk.create(tmp_path, "a", shape=(512, 512), dtype="f8", chunks=(64, 64), fill_value=1.5)
    texts = nczchunk.create(tmp_path, "texts", shape=(4,), dtype=str, fill_value="x")
    new_shapes = [(512, 512), (500, 512)]
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    uses = [lambda: array[0, 0], lambda: array[...], lambda: array[::64, ::64], lambda: array.attrs["a"],
            lambda: texts[...], lambda: array.attrs.__setitem__("a", 1),
            lambda: array.resize(random.choice(new_shapes)), lambda: nczchunk.list_nodes(tmp_path),
            lambda: nczchunk.open(tmp_path / "a").close()]
    array.attrs["a"] = 1
    end, raised, rng = time.monotonic() + 2 * SECONDS, 0, random.Random(1)
    stop = threading.Event()
    # Where the system tells which descriptors are open.
    descriptors = pathlib.Path("/proc/self/fd")
    num_open = len(list(descriptors.iterdir())) if descriptors.exists() else None

    def read():
        while not stop.is_set():
            try:
                assert (array[:10, :10] == 1.5).all()
            except IndexError:
                pass

    def use():
        timer(raise_late, rng.uniform(1e-5, 3e-3))
        while time.monotonic() < end + 1:
            rng.choice(uses)()

    other = threading.Thread(target=read)
    other.start()
    try:
        while time.monotonic() < end:
            try:
                use()
            except Late:
                raised += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        stop.set()
        other.join()
    assert raised > 20 and not lost
    gc.collect()
    assert num_open is None or len(list(descriptors.iterdir())) <= num_open
    array.resize((512, 512))
    assert (array[...] == 1.5).all() and array.attrs["a"] == 1 and texts[...].tolist() == ["x"] * 4
    assert array.shape == nczchunk.open(tmp_path / "a").shape
    array.close()


# ----------------------------------------------------------------------------------------------------------------------
# Processes


def in_child(function, seconds=20):
    """Whether a function returns true in a child that is forked."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(seconds)  # a child that hangs is ended
            status = 0 if function() else 2
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1] == 0


@pytest.mark.unix
def test_a_child_that_is_forked_does_not_release_its_parent_s_lock(tmp_path):
    directory = locks.of(tmp_path, "")
    mine = locks.Lock(directory, set())
    mine.take(True, True)
    assert in_child(lambda: mine.release() is None)
    with pytest.raises(BlockingIOError):
        locks.holding(directory, True, lambda: None, waits=False)
    mine.release()
    assert locks.holding(directory, True, lambda: 1, waits=False) == 1


@pytest.mark.unix
def test_a_write_does_not_wait_for_a_coroutine_of_its_own_event_loop(tmp_path, timer):
    array = nczchunk.create(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4")
    other_path = tmp_path / "link"
    other_path.symlink_to("a")
    writes = [lambda: array.__setitem__(0, 1), lambda: array.__setitem__([0, 5], 1), lambda: array.append([1])]

    async def hold(entered, may_end):
        async def work():
            entered.set()
            await may_end.wait()

        await locks.holding_by_coroutine(locks.of(other_path, ""), True, work)

    async def use():
        entered, may_end = asyncio.Event(), asyncio.Event()
        holder = asyncio.ensure_future(hold(entered, may_end))
        await entered.wait()
        for write in writes:
            with pytest.raises(BlockingIOError, match="asyncio.to_thread"):
                write()
        # In another thread it waits.
        later = asyncio.get_running_loop().run_in_executor(None, array.__setitem__, 1, 2)
        await asyncio.sleep(0.05)
        assert not later.done()
        may_end.set()
        await holder
        await later
        for write in writes:
            write()
        # It waits for what goes on meanwhile: other threads and processes, and the event loops of other threads.
        lock = locks.Lock(locks.of(other_path, ""), set())
        lock.take(True, True)
        release = threading.Timer(0.05, lock.release)
        release.start()
        array[2] = 3
        release.join()
        begun = threading.Event()
        other_loop = threading.Thread(target=lambda: asyncio.run(hold_briefly(begun)))
        other_loop.start()
        assert begun.wait(10)
        array[3] = 4
        other_loop.join()

    async def hold_briefly(begun):
        async def work():
            begun.set()
            await asyncio.sleep(0.05)

        await locks.holding_by_coroutine(locks.of(other_path, ""), True, work)

    timer(raise_late, 20)
    asyncio.run(use())
    assert array[...].tolist() == [1, 2, 3, 4, 0, 1, 0, 0, 1] and not locks._of_coroutines


def threads_of_the_system():
    """The threads of the process, as the system numbers them. One that ends is listed for a moment."""
    return set(os.listdir("/proc/self/task"))


def until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    assert condition()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="the system does not list a process's threads")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_threads_stay_for_the_next_read_and_end_before_a_fork(tmp_path, monkeypatch):
    # A call of another test may still use the one that keeps its threads.
    monkeypatch.setattr(_c, "_spare", _c.Spare())
    values = np.random.default_rng(1).integers(0, 9, (1024, 1024)).astype("f8")
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="f8", chunks=(64, 64), threads=1, cache=None)
    array[...] = values
    array.threads = 3
    before = threads_of_the_system()
    assert (array[...] == values).all()
    until(lambda: len(threads_of_the_system() - before) == 2)
    kept = threads_of_the_system() - before
    for threads in (3, 1, 2, 3):
        array.threads = threads
        assert (array[...] == values).all()
    until(lambda: threads_of_the_system() - before == kept)
    assert in_child(lambda: (array[...] == values).all())
    until(lambda: not kept & threads_of_the_system())
    assert (array[...] == values).all()
    until(lambda: len(threads_of_the_system() - before) == 2)


@pytest.mark.unix
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_children_that_are_forked_while_threads_use_an_array(tmp_path):
    array = nczchunk.create(tmp_path / "a", shape=(512, 512), dtype="i4", chunks=(32, 32), fill_value=7)
    others = [nczchunk.open(tmp_path / "a", cache=None) for _ in range(2)]
    stop = threading.Event()

    def read(one):
        while not stop.is_set():
            assert (one[...] == 7).all()

    def set_attributes():
        while not stop.is_set():
            array.attrs["a"] = 1

    def child():
        for one in others:
            assert (one[...] == 7).all() and one.fill_value == 7
            one.close()
        try:
            assert array[0, 0] == 7
            array.attrs["b"] = 2
        except ValueError as error:
            assert "forked while another thread changed it" in str(error)
        array.close()
        assert (nczchunk.open(tmp_path / "a")[...] == 7).all()
        return True

    threads = [threading.Thread(target=read, args=(one,)) for one in [array, *others, *others]]
    threads.append(threading.Thread(target=set_attributes))
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert in_child(child)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert (array[...] == 7).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_handler_that_forks_during_a_read(slow, timer):
    ended = []

    def fork(*_):
        ended.append(in_child(lambda: slow[0, 0] == 1.5))
        subprocess.run(["true"], check=True)

    timer(fork, 0.01)
    assert (slow[...] == 1.5).all() and ended == [True]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_the_read_that_a_fork_has_interrupted_ends_in_the_parent(slow, timer):
    parent, children = os.getpid(), []

    def fork(*_):
        children.append(os.fork())
        if children[-1] == 0:
            signal.alarm(20)

    timer(fork, 0.01)
    try:
        assert (slow[...] == 1.5).all() and os.getpid() == parent
    except RuntimeError as error:
        # In the child no thread goes on with the read.
        os._exit(0 if os.getpid() != parent and "forked" in str(error) and slow[0, 0] == 1.5 else 3)
    assert os.waitpid(children[0], 0)[1] == 0


def work(array, number, path):
    """In a process of its own: reads an array that was sent to it, and writes a row of another."""
    total = 0
    for i in range(20):
        row = (number * 20 + i) % 64
        total += int(array[row].sum())
    with nczchunk.open(path, mode="r+") as out:
        out[number] = number
    return total


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_processes_share_an_array(tmp_path, method):
    values = np.arange(64 * 64, dtype="i8").reshape(64, 64)
    array = nczchunk.create(tmp_path / "a", shape=values.shape, dtype="i8", chunks=(8, 64))
    array[...] = values
    out = nczchunk.create(tmp_path / "out", shape=(6, 1000), dtype="i4", chunks=(1, 1000))
    with multiprocessing.get_context(method).Pool(2) as pool:
        totals = pool.starmap(work, [(array, number, tmp_path / "out") for number in range(6)])
        in_threads(lambda: array[...], lambda: array[::-1])
    assert totals == [sum(int(values[(number * 20 + i) % 64].sum()) for i in range(20)) for number in range(6)]
    assert (nczchunk.open(tmp_path / "out")[...] == np.arange(6)[:, None]).all()
    out.close()


@pytest.mark.unix
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_processes_that_append_lose_nothing(tmp_path):
    nczchunk.create(tmp_path / "a", shape=(0, 4), dtype="i4", chunks=(4, 4)).close()
    workers = [multiprocessing.Process(target=append_rows, args=(tmp_path / "a", number)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    found = nczchunk.open(tmp_path / "a")[...]
    assert np.bincount(found[:, 0]).tolist() == [20] * 3 and (found == found[:, :1]).all()


def test_a_process_ends_while_threads_read(tmp_path):
    program = ("import nczchunk, sys, threading, time\n"
               "array = nczchunk.create(sys.argv[1], shape=(4096, 4096), dtype='f8', chunks=(32, 32), fill_value=1.5)\n"
               "threading.Thread(target=lambda: [array[...] for _ in range(100)], daemon=True).start()\n"
               "time.sleep(0.1)\n")
    done = subprocess.run([sys.executable, "-W", "error", "-c", program, tmp_path / "a"], capture_output=True,
                          text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_changes_of_attributes_and_appends_lose_nothing(tmp_path):
    handles = [nczchunk.create(tmp_path, "x", shape=(0,), dtype="i4", chunks=(8,))]
    handles += [nczchunk.open(tmp_path, "x", "r+") for _ in range(3)]

    def append():
        for i in range(40):
            handles[0].append([i])

    def set_attributes(number):
        for i in range(20):
            handles[number].attrs[f"{number}-{i}"] = i

    threads = [threading.Thread(target=append)]
    threads += [threading.Thread(target=set_attributes, args=(number,)) for number in (1, 2, 3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = nczchunk.open(tmp_path, "x")
    np.testing.assert_array_equal(found[...], np.arange(40))
    assert len(found.attrs) == 60


def test_changes_of_a_group_s_attributes_lose_nothing(tmp_path):
    group = nczchunk.create_group(tmp_path, "g")

    def change(number):
        for i in range(20):
            nczchunk.open_group(tmp_path, "g", "r+").attrs[f"{number}-{i}"] = i

    threads = [threading.Thread(target=change, args=(number,)) for number in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(group.attrs) == 60


@pytest.mark.unix
@pytest.mark.parametrize("path", ["a", "file://{}/a#mode=zarr,file", "{}/a"])
def test_a_write_to_a_part_of_a_chunk_waits_whatever_the_path_is_called(tmp_path, monkeypatch, path):
    import fcntl

    monkeypatch.chdir(tmp_path)
    nczchunk.create("a", "v", shape=(4,), dtype="i4")[...] = 1
    array = nczchunk.open(path.format(tmp_path), "v", "r+")
    group = nczchunk.open_group(path.format(tmp_path), "", "r+")
    monkeypatch.chdir("/")
    for directory, write in [("a/v", lambda: array.__setitem__(0, 2)), ("a/v", lambda: array.attrs.update(a=1)),
                             ("a", lambda: group.attrs.update(a=1))]:
        descriptor = os.open(tmp_path / directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            writer = threading.Thread(target=write)
            writer.start()
            writer.join(0.2)
            assert writer.is_alive()
        finally:
            os.close(descriptor)
        writer.join()
    assert array[...].tolist() == [2, 1, 1, 1] and array.attrs["a"] == group.attrs["a"] == 1
