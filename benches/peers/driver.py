"""What the Python peers share: they read commands from standard input, one a line, and answer each with a line of JSON.

README.md in this directory has the commands. A peer is a class with these methods:

    versions()                 a dictionary of what it runs on
    load(array)                makes the array, with its data, in memory
    reader(box, out)           a function that reads a hyperslab into out, a numpy array
    writer(box, values)        a function that writes values to a hyperslab
    element(position)          reads one element
"""

import json
import os
import sys
import time
import zlib

import numpy as np

FILL_VALUE = -999.0
DTYPES = {"float32": np.float32, "float64": np.float64, "int16": np.int16}


class Unsupported(Exception):
    """The peer cannot do this."""


def hashed(numbers):
    return numbers.astype(np.uint32) * np.uint32(2654435761)


def values(kind, first, count):
    """The values of the elements from number first on: the formulas of benches/transfers/data.rs."""
    out = np.empty(count, DTYPES[kind])
    for begin in range(0, count, 1 << 22):
        end = min(begin + (1 << 22), count)
        words = hashed(np.arange(first + begin, first + end, dtype=np.uint64))
        if kind == "float32":
            out[begin:end] = words >> np.uint32(8)
        elif kind == "float64":
            out[begin:end] = words
        else:
            out[begin:end] = (words >> np.uint32(16)).astype(np.uint16).view(np.int16)
    return out


def aligned(count, dtype):
    """Memory that begins with a cache line, all of it in use already."""
    size = count * np.dtype(dtype).itemsize
    memory = np.full(size + 64, 0xA5, np.uint8)
    offset = -memory.ctypes.data % 64
    return memory[offset : offset + size].view(dtype)


class Array:
    """An array as `load` describes it."""

    def __init__(self, words):
        self.name, self.kind, self.order, self.codec, every, dimlens, chunklens, self.frames = words
        self.every = int(every)
        self.dimlens = tuple(map(int, dimlens.split(",")))
        self.chunklens = tuple(map(int, chunklens.split(",")))
        self.dtype = np.dtype(DTYPES[self.kind])

    def pieces(self):
        """The data, as pairs of slices and values; nothing where chunks are absent or come compressed."""
        if self.codec != "none" or self.every == 0:
            return
        if self.every == 1:
            rows = max(1, (64 << 20) // (int(np.prod(self.dimlens[1:])) * self.dtype.itemsize))
            rows = -(-rows // self.chunklens[0]) * self.chunklens[0]
            row = int(np.prod(self.dimlens[1:]))
            for begin in range(0, self.dimlens[0], rows):
                end = min(begin + rows, self.dimlens[0])
                piece = values(self.kind, begin * row, (end - begin) * row)
                yield (slice(begin, end),), piece.reshape((end - begin,) + self.dimlens[1:])
            return
        (length,) = self.chunklens
        for begin in range(0, self.dimlens[0], self.every * length):
            yield (slice(begin, begin + length),), values(self.kind, begin, length)

    def chunk_files(self):
        """The compressed chunks, as pairs of their Zarr v3 keys and their bytes."""
        if self.codec == "none":
            return
        root = os.path.join(self.frames, self.name)
        for directory, _, files in os.walk(root):
            for file in files:
                path = os.path.join(directory, file)
                with open(path, "rb") as chunk:
                    yield os.path.relpath(path, root), chunk.read()


class Box:
    """A hyperslab, as numpy would select it."""

    def __init__(self, start, count, stride, layout="dense"):
        self.layout = layout
        start, self.count, stride = (tuple(map(int, words.split(","))) for words in (start, count, stride))
        self.start = start
        self.slices = tuple(
            slice(first, first + (n - 1) * step + 1, step) for first, n, step in zip(start, self.count, stride)
        )

    def shaped(self, memory):
        """Memory as the box's elements lie in it: transposed, it is a view with the first dimension contiguous."""
        if self.layout == "transposed":
            return memory.reshape(self.count[::-1]).T
        return memory.reshape(self.count)

    def positions(self, calls):
        """Single elements, scattered over the box: the formula of benches/transfers/ideal.rs."""
        total = int(np.prod(self.count))
        number = (hashed(np.arange(calls)).astype(np.uint64) * np.uint64(total)) >> np.uint64(32)
        indices = np.unravel_index(number.astype(np.int64), self.count)
        return [tuple(int(first + i) for first, i in zip(self.start, index)) for index in zip(*indices)]


def times(seconds):
    """How many runs make up at least 200 microseconds."""
    return min(100_000, max(1, int(2e-4 / max(seconds, 1e-9)) + 1))


def timed(count, run):
    begin = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begin) / count


def measure(repetitions, budget, run, copy):
    """Seconds of one run, repeatedly, and beside each those of memcpy of as many bytes."""
    begin = time.perf_counter()
    copies = times(min(timed(1, copy), timed(1, copy)))
    first = timed(1, run)
    runs = times(min(first, timed(1, run)) if first < budget else first)
    seconds, memcpy = [], []
    while len(seconds) < repetitions and (not seconds or time.perf_counter() - begin < budget):
        memcpy.append(timed(copies, copy))
        seconds.append(timed(runs, run))
    return {"seconds": seconds, "memcpy": memcpy}


class Server:
    def __init__(self, peer):
        self.peer = peer
        self.array = self.memory = None

    def obey(self, words):
        if words[0] == "versions":
            return self.peer.versions()
        if words[0] == "load":
            self.array, self.memory = Array(words[1:]), None
            self.peer.load(self.array)
            return {"ok": True}
        if words[0] == "unload":
            self.array = self.memory = None
            self.peer.unload()
            return {"ok": True}
        access, _, _, calls, repetitions, budget, *box = words
        return self.run(access, Box(*box), int(calls), int(repetitions), float(budget))

    def run(self, access, box, calls, repetitions, budget):
        """Measures, or with 0 repetitions checks: what was read, or what the array is after writing, as a CRC-32."""
        count = calls or int(np.prod(box.count))
        dtype = self.array.dtype
        if self.memory is None or len(self.memory[0]) != count:
            self.memory = None
            self.memory = (aligned(count, dtype), aligned(count, dtype))
        memory, other = self.memory
        if access == "write":
            # From 12 345 677 on: what the array does not have there.
            other[:] = values(self.array.kind, 12_345_677, count)
            run = self.peer.writer(box, box.shaped(other))
        elif calls:
            positions = box.positions(calls)

            def run():
                for i, position in enumerate(positions):
                    memory[i] = self.peer.element(position)
        else:
            run = self.peer.reader(box, box.shaped(memory))
        if repetitions:
            return measure(repetitions, budget, run, lambda: np.copyto(memory, other))
        memory.view(np.uint8)[:] = 0xA5
        run()
        if access == "write":
            every = ",".join(["0"] * len(self.array.dimlens)), ",".join(map(str, self.array.dimlens))
            memory = aligned(int(np.prod(self.array.dimlens)), dtype)
            box = Box(*every, ",".join(["1"] * len(self.array.dimlens)))
            self.peer.reader(box, memory.reshape(self.array.dimlens))()
        return {"crc": zlib.crc32(memory)}


def serve(peer):
    server = Server(peer)
    for line in sys.stdin:
        try:
            answer = server.obey(line.split())
        except Unsupported as reason:
            answer = {"skipped": str(reason)}
        except Exception as error:  # told to scripts/bench, which stops
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
