"""Locks of directories of arrays, so that no write to a part of a chunk undoes another write to it, by whichever
thread or process of this machine. Writes of whole chunks share the lock, and writes to parts of chunks have it alone.
"""

import asyncio
import os
import threading
from collections import deque
from contextlib import suppress
from itertools import chain

from . import storage

try:
    import fcntl
except ImportError:
    fcntl = None

# The directories that a thread has locked: a handler of a signal that interrupts a write may write to the same array.
_mine = threading.local()
# The locks that coroutines of this process hold or try to get.
_of_coroutines = set()
# How many seconds a coroutine waits before it tries again.
_LOOK = 0.002


def of(path, name):
    """The directory of an array at a path, or None if the array is not in a directory."""
    where = None if fcntl is None else storage.directory(path)
    if where is None:
        return None
    where = os.path.join(where, os.fsencode(name.strip("/"))) if name.strip("/") else where
    return where if os.path.isdir(where) else None


def is_whole(start, count, stride, lengths, shape):
    """Whether a hyperslab consists of whole chunks of these lengths."""
    return all(step == 1 and first % length == 0 and ((first + num) % length == 0 or first + num >= end)
               for first, num, step, length, end in zip(start, count, stride, lengths, shape))


def may_wait():
    """Whether this thread may wait for a lock: what has it may need the thread of an event loop."""
    return asyncio._get_running_loop() is None


def holding(directory, is_alone, work, waits=True):
    """Returns what work() returns, and holds the lock of a directory meanwhile, alone or with others. None is not
    locked, and neither is a file system without such locks. Raises BlockingIOError if it would have to wait but must
    not: if waits is false, or if a coroutine of the event loop of this thread holds the lock, which goes on only when
    this call has ended."""
    held = _mine.__dict__.setdefault("held", set())
    if directory is None or directory in held:
        return work()
    lock = Lock(directory, held)
    # Not the end of a with statement, which the handler of a signal may keep from being called.
    try:
        try:
            loop = asyncio._get_running_loop()
            try:
                lock.take(is_alone, waits and loop is None)
            except BlockingIOError:
                if not waits or lock.is_held_in(loop):
                    raise
                lock.take(is_alone, True)
        except BlockingIOError as error:
            raise BlockingIOError(error.errno, "another call has locked the array or group, and this one is made in "
                                  "the thread of an event loop, which must not wait: make it in another thread, as "
                                  "by asyncio.to_thread()") from None
        return work()
    finally:
        try:
            lock.release()
        finally:
            lock.release()  # if a handler raised in the first


async def holding_by_coroutine(directory, is_alone, work):
    """The same for a coroutine, whose thread goes on meanwhile."""
    if directory is None:
        return await work()
    lock = Lock(directory, set(), asyncio.get_running_loop())
    _of_coroutines.add(lock)
    try:
        while True:
            try:
                lock.take(is_alone, False)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOOK)
        return await work()
    finally:
        try:
            lock.release()
        finally:
            lock.release()
            _of_coroutines.discard(lock)


class Lock:
    """The lock of a directory. held: a set, which has the directory as long as the lock is held. loop: the event loop
    of the coroutine that holds it.

    The handler of a signal may raise between any two calls, but not within one that is in C: what must happen together
    is one call.
    """

    def __init__(self, directory, held, loop=None):
        self._directory, self._held, self._descriptors, self._process = directory, held, [], os.getpid()
        self._loop = loop

    def take(self, is_alone, waits):
        how = (fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH) | (0 if waits else fcntl.LOCK_NB)
        try:
            if not self._descriptors:
                self._descriptors.extend(map(os.open, [self._directory], [os.O_RDONLY | os.O_CLOEXEC]))
            _all(map(fcntl.flock, self._descriptors, [how]), map(self._held.add, [self._directory]))
        except BlockingIOError:
            raise
        except OSError:  # a file system without locks; of what cannot be opened, the write itself will tell
            pass

    def is_held_in(self, loop):
        """Whether a coroutine of an event loop holds a lock of the same directory, by whatever path."""
        def is_same(other):
            return os.path.samestat(*(os.fstat(one._descriptors[0]) for one in (self, other)))

        return any(other._loop is loop and other._held and is_same(other) for other in _of_coroutines.copy())

    def release(self):
        # A child that was forked meanwhile has the lock, too: this takes it from both. In the child it stays the
        # parent's, which goes on with what it does.
        if os.getpid() == self._process:
            with suppress(OSError):
                _all(map(fcntl.flock, self._descriptors, [fcntl.LOCK_UN]))
        _all(map(os.close, map(list.pop, [self._descriptors] * len(self._descriptors))),
             map(self._held.discard, [self._directory]))


def _all(*calls):
    """Makes all calls of iterators of calls, within one call."""
    deque(chain(*calls), maxlen=0)
