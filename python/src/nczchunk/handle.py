"""Handles: objects of the library, which several threads use, and when each is freed.

Any number of calls may share an object: reads, writes, queries. A call that changes the object, such as resize(), needs
it alone: it waits until the calls in flight have ended, and later calls wait for it. close() waits for the calls in
flight, and later calls are refused.

Python runs the handlers of signals in the main thread, between any two steps of this file, and they may raise. So a
call in flight is a lock that a ``with`` holds, not a number that is counted up and down: ``with`` releases a lock
whatever is raised. And an object belongs to a Python object that each call refers to: whatever happens, no object is
freed while a call uses it.
"""

import atexit
import contextlib
import os
import sys
import threading
import time
from _thread import start_new_thread
from ctypes import c_void_p
from threading import Lock, RLock, get_ident
from weakref import WeakSet

# How many seconds a thread waits before it looks again whether the wait is to end: a signal may arrive in another one.
_LOOK = 0.1


# The calls of which the library calls back to Python, as long as they last, whatever a handler of a signal raises; and
# whether the interpreter ends.
_calling_back = WeakSet()
_is_ending = False
# How many seconds the end of the interpreter waits for those calls.
_PATIENCE = 10.0


class CallingBack:
    """A call of which the library calls back to Python, while a ``with`` holds this. The interpreter would end a thread
    within the library that calls back when it ends itself, and with it the process: so it waits for such calls, which
    fail then, and the threads that made them end."""

    def __enter__(self):
        self.is_mains = is_main_thread() or getattr(_waiting, "is_works", False)
        _calling_back.add(self)
        self._check()

    def __exit__(self, *_):
        _calling_back.discard(self)
        self._check()

    def _check(self):
        if _is_ending and not self.is_mains:
            _calling_back.discard(self)
            raise SystemExit


_NOTHING = contextlib.nullcontext()


def check_running():
    """Raises an error if the interpreter ends, as long as it waits for calls. The main thread may still make some."""
    if _is_ending and not all(call.is_mains for call in list(_calling_back)):
        raise RuntimeError("the interpreter is ending")


@atexit.register
def _end():
    global _is_ending
    _is_ending, patience = True, time.monotonic() + _PATIENCE
    while _calling_back and time.monotonic() < patience:
        time.sleep(0.001)


class Owner(c_void_p):
    """The address of an object of the library, for the call that makes the object to fill in: so no object is made that
    nothing owns. Frees it with the last reference to this, unless it was freed before.

    What the handler of a signal raises in __del__ is lost, as in any; so one that was freed is without it.
    """

    def __init__(self, free):
        super().__init__()
        self._free = free

    def free(self):
        self.__class__ = _Freed
        self._free(self)

    def __del__(self, is_finalizing=sys.is_finalizing):
        # When the interpreter ends, the callbacks of a storage may be gone before this. The system takes the memory.
        if self and not is_finalizing():
            self._free(self)


class _Freed(c_void_p):
    """What an Owner is when its object was freed."""


class Handle:
    """An object of the library: its owner, and what messages call it.

    cancel: for an object whose calls call back to a storage of Python's; cancel(thread) ends what such a call waits for
        in that thread. None for other objects.
    """

    def __init__(self, owner, what, cancel=None):
        self._owners = [owner]
        self._what, self._problem, self.cancel = what, "closed", cancel
        # The calls in flight: the lock that each of them holds, and the thread that made it.
        self._calls = {}
        # Held by the call that has the object alone, or waits for that; _alone is that call's own lock.
        self._turn, self._alone = Lock(), Lock()
        self._steps = RLock()
        self._forks = _forks

    @property
    def is_open(self):
        return bool(self._owners)

    def share(self, function, thread=None):
        """Returns what function(pointer) returns. Other calls may share the object meanwhile.

        thread: the thread that waits for the call. If it is given, the call is made in this thread. Otherwise a call
            that calls back to Python leaves the main thread: what the handler of a signal raises there before the first
            line of a callback is lost.
        """
        if self.cancel is not None and thread is None and is_main_thread():
            main = get_ident()
            return in_thread(lambda: self.share(function, main), self.cancel)
        call, thread = Lock(), get_ident() if thread is None else thread
        if self._forks != _forks:
            self._after_fork()
        while True:
            with call:
                # A call that wants the object alone is announced first and then looks for calls; this is the reverse.
                # So at least one of the two sees the other.
                self._calls[call] = thread
                try:
                    alone = self._alone
                    # A thread that uses the object already must not wait for those that wait for it.
                    if not alone.locked() or self._in_flight(thread, but=call):
                        owner = self._owner()
                        with self._calls_back():
                            return function(owner)
                finally:
                    self._calls.pop(call, None)
            with alone:
                pass

    def alone(self, function, thread=None, is_cancelled=lambda: False):
        """Returns what function(pointer) returns. No other call uses the object meanwhile.

        thread: as for share(). is_cancelled: whether to give up waiting, by raising Cancelled.
        """
        thread = get_ident() if thread is None else thread
        if self._forks != _forks:
            self._after_fork()
        if self._in_flight(thread):
            raise RuntimeError(f"{self._what} cannot be changed by a signal handler or finalizer that interrupted "
                               f"a call that uses it")
        call = Lock()
        _take(self._turn, is_cancelled)
        try:
            with call:
                self._alone = call
                self._calls[call] = get_ident()
                try:
                    self._wait(lambda one, _: one is not call, is_cancelled)
                    owner = self._owner()
                    with self._calls_back():
                        return function(owner)
                finally:
                    self._calls.pop(call, None)
        finally:
            self._turn.release()

    def _calls_back(self):
        return _NOTHING if self.cancel is None else CallingBack()

    def steps(self):
        """A lock for a change that takes several calls, one thread at a time."""
        if self._forks != _forks:
            self._after_fork()
        return self._steps

    def close(self):
        """Refuses calls from now on, waits for those in flight, and frees the object. A signal handler may have
        interrupted a call of its own thread, for which it cannot wait: then the object is freed when that has ended."""
        if self._forks != _forks:
            self._after_fork()
        try:
            owner = self._owners.pop()
        except IndexError:
            owner = None
        me = get_ident()
        self._wait(lambda _, thread: thread != me)
        if owner is not None and not self._in_flight(me):
            owner.free()

    def _owner(self):
        try:
            return self._owners[0]
        except IndexError:
            raise ValueError(f"{self._what} is {self._problem}") from None

    def _in_flight(self, thread, but=None):
        """Whether a call of a thread is in flight, other than this one."""
        return any(one is not but and whose == thread and one.locked() for one, whose in self._calls.copy().items())

    def _wait(self, is_meant, is_cancelled=None):
        """Waits until no call is in flight of those that are meant."""
        while True:
            others = [one for one, thread in self._calls.copy().items() if is_meant(one, thread)]
            if not others:
                return
            for one in others:
                if is_cancelled is None:
                    with one:
                        pass
                else:
                    _take(one, is_cancelled)
                    one.release()
                # If a signal handler raised, the call itself may not have come to it.
                self._calls.pop(one, None)

    def _after_fork(self):
        """In a child that was forked, only the thread that forked goes on: nothing waits for the others."""
        with _fork_lock:
            if self._forks == _forks:
                return
            if self._alone.locked():
                # Another thread was changing the object, which nobody completes. It is neither used nor freed.
                _abandoned.extend(self._owners)
                self._owners.clear()
                self._problem = "unusable: the process was forked while another thread changed it"
            self._turn, self._alone, self._steps = Lock(), Lock(), RLock()
            # Without the interpreter's lock another thread may have locked the dict itself as the process was forked.
            calls = self._calls.copy() if _has_lock() else {}
            self._calls = {one: thread for one, thread in calls.items() if thread == _forked_by}
            self._forks = _forks


class Cancelled(Exception):
    """A wait was given up."""


def _take(lock, is_cancelled):
    """Acquires a lock, unless the wait is cancelled."""
    while not lock.acquire(timeout=_LOOK):
        if is_cancelled():
            raise Cancelled


# How many forks lie between the first process and this one, and which thread goes on after the last of them.
_forks, _forked_by, _fork_lock = 0, None, RLock()
_abandoned = []


def _has_lock():
    """Whether only one thread at a time runs in the interpreter."""
    return getattr(sys, "_is_gil_enabled", lambda: True)()


def _after_fork():
    global _forks, _forked_by, _fork_lock, _calling_back
    _forks, _forked_by, _fork_lock = _forks + 1, get_ident(), RLock()
    # The threads that made the others' calls are not here.
    _calling_back = WeakSet()


def at_fork(in_child, before=lambda: None):
    """Calls a function in every child that is forked, and another one before the fork. Windows forks none."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=before, after_in_child=in_child)


at_fork(_after_fork)


def is_main_thread():
    """Whether this is the thread in which Python runs the handlers of signals."""
    return get_ident() == threading.main_thread().ident


# The event loop of the thread that waits for this one.
_waiting = threading.local()


def waiting_loop():
    """The event loop in which a call waits that this thread works for, if there is one."""
    return getattr(_waiting, "loop", None)


def in_thread(work, cancel):
    """Returns what work() returns, which runs in a thread of its own, so that the handlers of signals run meanwhile in
    this one, the main thread. If one of them raises, cancel(thread) is called with the number of that thread, and the
    exception is raised when the work has ended. What handlers raise after that is lost: the work uses what the callers
    free."""
    # Who has taken the work, by whoever came first: the number of its thread, or None if it is not to begin any more.
    taken, outcome, ended, process = {}, [], Lock(), os.getpid()
    events = sys.modules.get("asyncio.events")
    loop = None if events is None else events._get_running_loop()
    ended.acquire()

    def run():
        me, _waiting.loop, _waiting.is_works = get_ident(), loop, True
        if taken.setdefault("by", me) == me:
            try:
                outcome.append((work(), None))
            except BaseException as error:  # noqa: BLE001 - it is raised below
                outcome.append((None, error))
            finally:
                ended.release()

    def wait():
        while not outcome:
            ended.acquire(timeout=_LOOK)
            if os.getpid() != process:
                raise RuntimeError("the process was forked by a signal handler during a call, which ends in the parent")

    try:
        try:
            start_new_thread(run, ())
        except RuntimeError as error:
            if error.__traceback__.tb_next is not None:
                raise  # by a handler
            return work()  # the system refuses a thread
        wait()
    except BaseException:
        is_over = False
        while not is_over:
            try:
                # Handlers also run where a loop goes back to its beginning: this one is within the statement.
                while not is_over:
                    thread = taken.setdefault("by", None)
                    # In a child that was forked, the work never ends.
                    is_over = thread is None or bool(outcome) or os.getpid() != process
                    if not is_over:
                        # Again and again: what is to end may not have begun.
                        cancel(thread)
                        ended.acquire(timeout=_LOOK)
            except BaseException:  # noqa: BLE001 - the first one is raised
                pass
        outcome.clear()  # an error in it has a traceback, which refers to it
        raise
    value, error = outcome.pop()
    try:
        if error is not None:
            raise error
        return value
    finally:
        del error  # whose traceback refers to this frame
