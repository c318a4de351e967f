"""Locks of directories of arrays, so that no write to a part of a chunk undoes another write to it, by whichever
thread or process of this machine. Writes of whole chunks share the lock, and writes to parts of chunks have it alone.
"""

import asyncio
import os
import threading
from contextlib import asynccontextmanager, contextmanager

try:
    import fcntl
except ImportError:
    fcntl = None

# The directories that a thread has locked: a handler of a signal that interrupts a write may write to the same array.
_mine = threading.local()
# How many seconds a coroutine waits before it tries again.
_LOOK = 0.002


def of(path, name):
    """The directory of an array at a path, or None if the array is not in a directory."""
    if fcntl is None or not isinstance(path, (str, bytes, os.PathLike)):
        return None
    where = os.path.join(os.fsencode(path), os.fsencode(name.strip("/"))) if name.strip("/") else os.fsencode(path)
    return where if os.path.isdir(where) else None


def is_whole(start, count, stride, lengths, shape):
    """Whether a hyperslab consists of whole chunks of these lengths."""
    return all(step == 1 and first % length == 0 and ((first + num) % length == 0 or first + num >= end)
               for first, num, step, length, end in zip(start, count, stride, lengths, shape))


def may_wait():
    """Whether this thread may wait for a lock: what has it may need the thread of an event loop."""
    return asyncio._get_running_loop() is None


@contextmanager
def locked(directory, is_alone, waits=True):
    """Holds the lock of a directory, alone or with others. None is not locked, and neither is a file system without
    such locks. Raises BlockingIOError if it would have to wait but must not."""
    held = _mine.__dict__.setdefault("held", set())
    if directory is None or directory in held:
        yield
        return
    descriptor, process = _opened(directory), os.getpid()
    try:
        try:
            _take(descriptor, is_alone, waits)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, "another call has locked the array or group, and this one is made in "
                                  "the thread of an event loop, which must not wait: make it in another thread, as "
                                  "by asyncio.to_thread()") from None
        held.add(directory)
        try:
            yield
        finally:
            held.discard(directory)
    finally:
        _release(descriptor, process)


@asynccontextmanager
async def locked_by_coroutine(directory, is_alone):
    """The same for a coroutine, whose thread goes on meanwhile."""
    descriptor, process = None if directory is None else _opened(directory), os.getpid()
    try:
        while True:
            try:
                _take(descriptor, is_alone, False)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOOK)
        yield
    finally:
        _release(descriptor, process)


def _opened(directory):
    try:
        return os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # the write itself will tell
        return None


def _take(descriptor, is_alone, waits):
    if descriptor is None:
        return
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH) | (0 if waits else fcntl.LOCK_NB))
    except BlockingIOError:
        raise
    except OSError:  # a file system without locks
        pass


def _release(descriptor, process):
    if descriptor is None:
        return
    try:
        # A child that was forked meanwhile has the lock, too: this takes it from both. In the child it stays the
        # parent's, which goes on with what it does.
        if os.getpid() == process:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    except OSError:
        pass
    os.close(descriptor)
