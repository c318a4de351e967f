"""What is the same in all of Python: Ctrl-C, the interpreter lock, forks."""

import os
import signal
import sys
import subprocess
import threading
import time

import numpy as np
import pytest

import nczchunk


@pytest.fixture
def slow(tmp_path):
    """An array that takes a while to be read: 256 MB in many chunks."""
    return nczchunk.create(tmp_path / "a", shape=(4096, 8192), dtype="f8", chunks=(16, 64), fill_value=1.5)


@pytest.mark.unix
def test_ctrl_c_ends_a_read(slow):
    # A shell may have started this in the background, where interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                slow[...]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert slow[0, 0] == 1.5


def test_others_run_while_an_array_is_read(slow):
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    out = np.empty(slow.shape)
    slow.read_into(out)
    thread.start()
    before = counts[0]
    slow.read_into(out)
    during = counts[0] - before
    done.set()
    thread.join()
    assert during >= 3


@pytest.mark.unix
def test_a_child_that_was_forked_reads(slow):
    assert slow[0, 0] == 1.5
    child = os.fork()
    if child == 0:
        os._exit(0 if slow[1, :].sum() == 1.5 * 8192 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_an_open_array_does_not_hinder_the_end(tmp_path):
    program = ("import nczchunk, sys; array = nczchunk.create(sys.argv[1], shape=(4,), dtype='i4'); array[...] = 1; "
               "cache = nczchunk.Cache(10)")
    done = subprocess.run([sys.executable, "-W", "error", "-c", program, tmp_path / "a"], capture_output=True,
                          text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.unix
def test_without_what_only_unix_has(tmp_path):
    program = """
import os, sys

import asyncio, numpy  # which use them here

for name in ("fcntl", "grp", "posix", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "fork", "geteuid", "getuid", "pread", "register_at_fork", "sched_getaffinity", "sysconf"):
    delattr(os, name)
import nczchunk, nczchunk.storage, nczchunk.locks

with nczchunk.create(sys.argv[1], "g/a", shape=(4, 4), dtype="i4", chunks=(2, 2)) as array:
    array[1:3, ::2] = 7
with nczchunk.open(sys.argv[1], "g/a") as array:
    assert array[...].sum() == 28 and array[1, 2] == 7
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program, tmp_path / "a.zarr"], check=True)
