"""Shards that are put together by hand: the order within, gaps, the index's place and form, and corrupt ones."""

import gzip
import itertools
import struct

import google_crc32c
import numpy as np

from cases import EIO, ENCZARR, ENOFILTER, native, values
from handmade import LITTLE, Maker

SHAPE, SHARD, INNER = (10, 30), (8, 16), (2, 4)
COUNTS = tuple(s // i for s, i in zip(SHARD, INNER))
CRC = {"name": "crc32c"}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
ABSENT = (2**64 - 1, 2**64 - 1)


def row_major(counts):
    return list(itertools.product(*map(range, counts)))


def morton(counts):
    """Z-order, as zarr-python writes by default: the bits of the indices take turns, those of the last come first."""
    def code(indices):
        bits = [((index >> b) & 1) << (b * len(counts) + d) for d, index in enumerate(indices) for b in range(8)]
        return sum(bits)
    return sorted(row_major(counts), key=code)


class Sharder:
    """Makes a shard of the bytes of one."""

    def __init__(self, order=row_major, *, gap=0, at_start=False, big=False, checksum=True, absent=(), encode=bytes,
                 spoil=lambda places: None, after=bytes):
        self.order, self.gap, self.at_start, self.big = order, gap, at_start, big
        self.checksum, self.absent, self.encode, self.spoil, self.after = checksum, absent, encode, spoil, after

    def index(self, places):
        numbers = [number for indices in row_major(COUNTS) for number in places[indices]]
        packed = struct.pack(f"{'>' if self.big else '<'}{len(numbers)}Q", *numbers)
        return packed + (google_crc32c.value(packed).to_bytes(4, "little") if self.checksum else b"")

    def __call__(self, shard):
        shard = np.frombuffer(shard, "<i4").reshape(SHARD)
        places = {indices: ABSENT for indices in row_major(COUNTS)}
        body = bytes(len(self.index(places)) if self.at_start else 0)
        for indices in self.order(COUNTS):
            if indices in self.absent:
                continue
            chunk = shard[tuple(slice(i * n, (i + 1) * n) for i, n in zip(indices, INNER))].tobytes()
            chunk = self.encode(chunk)
            body += b"\xee" * self.gap
            places[indices] = (len(body), len(chunk))
            body += chunk
        self.spoil(places)
        index = self.index(places)
        return self.after(index + body[len(index):] if self.at_start else body + index)

    def codec(self, inner=(LITTLE,), **changes):
        index = [BIG if self.big else LITTLE] + ([CRC] if self.checksum else [])
        location = "start" if self.at_start else "end"
        return {"name": "sharding_indexed", "configuration": {
            "chunk_shape": INNER, "codecs": list(inner), "index_codecs": index, "index_location": location, **changes}}


def spoilt(places, indices, place):
    places[indices] = place


def right(make, data):
    backwards = lambda counts: row_major(counts)[::-1]
    for name, sharder in [
        ("row-major", Sharder()), ("Morton order", Sharder(morton)), ("backwards", Sharder(backwards)),
        ("gaps", Sharder(gap=7)), ("index at the start", Sharder(at_start=True)),
        ("index at the start, gaps, backwards", Sharder(backwards, at_start=True, gap=3)),
        ("no checksum", Sharder(checksum=False)), ("big-endian index", Sharder(big=True)),
        ("big-endian index at the start, no checksum", Sharder(big=True, at_start=True, checksum=False)),
    ]:
        yield make.v3(f"shards, {name}", data, SHARD, codecs=[sharder.codec()], encode=sharder)
    coded = Sharder(morton, encode=gzip.compress)
    yield make.v3("shards, gzip within", data, SHARD, codecs=[coded.codec([LITTLE, GZIP])], encode=coded)
    round_ = Sharder(after=gzip.compress)
    yield make.v3("shards, gzip round them", data, SHARD, codecs=[round_.codec(), GZIP], encode=round_)
    absent = Sharder(absent=[(0, 0), (3, 3)])
    expected = data.copy()
    for i, j in itertools.product((0, 8), (0, 16)):
        expected[i : i + 2, j : j + 4] = -5
        expected[i + 6 : i + 8, j + 12 : j + 16] = -5
    yield make.v3("shards, absent chunks", data, SHARD, codecs=[absent.codec()], encode=absent, fill_value=-5,
                  expected=expected)
    yield make.v3("shards, absent shards", data, SHARD, codecs=[Sharder().codec()], encode=Sharder(), fill_value=-5,
                  skipped=[(0, 1)], fill=-5)
    for name, data_ in [("no dimensions", np.array(7, "<i4")), ("no elements", np.zeros((0, 0), "<i4"))]:
        shape = [8] * data_.ndim
        index = struct.pack("<2Q", 0, 4)
        codec = {"name": "sharding_indexed", "configuration": {"chunk_shape": shape, "codecs": [LITTLE],
                                                               "index_codecs": [LITTLE]}}
        yield make.v3(f"shards, {name}", data_, shape, codecs=[codec], encode=lambda chunk: chunk + index)
    shared = Sharder(spoil=lambda places: spoilt(places, (0, 1), places[0, 0]))
    expected = data.copy()
    for i, j in itertools.product((0, 8), (0, 16)):
        expected[i : i + 2, j + 4 : j + 8] = data[i : i + 2, j : j + 4]
    yield make.v3("shards, two chunks in one place", data, SHARD, codecs=[shared.codec()], encode=shared,
                  expected=expected)


def wrong(make, data):
    for name, place in [("offset alone is absent", (2**64 - 1, 32)), ("length alone is absent", (0, 2**64 - 1)),
                        ("chunk beyond the shard", (2**40, 32)), ("chunk within the index", (32 * 16 - 8, 32)),
                        ("sum of 2^64", (2**64 - 32, 32))]:
        sharder = Sharder(spoil=lambda places, place=place: spoilt(places, (0, 0), place))
        yield make.v3(f"shards, {name}", data, SHARD, codecs=[sharder.codec()], encode=sharder,
                      refused=(EIO, "outside of the shard"))
    first = Sharder(at_start=True, spoil=lambda places: spoilt(places, (0, 0), (8, 32)))
    yield make.v3("shards, chunk within the index at the start", data, SHARD, codecs=[first.codec()], encode=first,
                  refused=(EIO, "outside of the shard"))
    for name, change, word in [
        ("index with another byte", lambda s: s[:-9] + bytes([s[-9] ^ 1]) + s[-8:], "checksum"),
        ("shorter than the index", lambda s: s[-10:], "shorter"), ("empty", lambda s: b"", "shorter"),
    ]:
        sharder = Sharder(after=change)
        yield make.v3(f"shards, {name}", data, SHARD, codecs=[sharder.codec()], encode=sharder, refused=(EIO, word))
    short = Sharder(encode=lambda chunk: chunk[:-1])
    yield make.v3("shards, chunks that are too short", data, SHARD, codecs=[short.codec()], encode=short,
                  refused=(-127, "31 bytes"))
    plain = Sharder()
    yield make.v3("shards, chunks that do not divide them", data, SHARD, codecs=[plain.codec(chunk_shape=(3, 4))],
                  refused=(ENCZARR, "divide"))
    yield make.v3("shards, index that is compressed", data, SHARD, refused=(ENOFILTER, "gzip"),
                  codecs=[plain.codec(index_codecs=[LITTLE, "gzip"])])
    yield make.v3("shards, index in the middle", data, SHARD, codecs=[plain.codec(index_location="middle")],
                  refused=(ENCZARR, "index_location"))
    yield make.v3("shards, chunks without codecs", data, SHARD, codecs=[plain.codec([])], refused=(ENCZARR, "codecs"))


def cases(root):
    make, data = Maker(root), native(values(SHAPE, "<i4"))
    yield from right(make, data)
    yield from wrong(make, data)
