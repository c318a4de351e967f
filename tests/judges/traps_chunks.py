"""Chunks as some writer is known to store them, and chunks that do not decode."""

import gzip
import struct
import zlib

import numcodecs
import numpy as np
from numcodecs.checksum32 import CRC32C

from cases import EBADCHUNK, EIO, ENOFILTER, native, values
from handmade import LITTLE, Maker

SHAPE, CHUNKS = (9, 40, 33), (4, 20, 16)
ZLIB, GZIP, LZ4 = {"id": "zlib", "level": 1}, {"id": "gzip", "level": 1}, {"id": "lz4", "acceleration": 1}
ZSTD = {"id": "zstd", "level": 0}


def blosc(cname="lz4", shuffle=1):
    return {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}


def halves(data):
    """A chunk in two parts, neither of which is whole elements."""
    middle = len(data) // 2 + 1
    return data[:middle], data[middle:]


def gzip_member(data, header):
    """A gzip member that has this header, without its checksum, and flags that say so."""
    deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflater.compress(data) + deflater.flush()
    return header + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def gzip_with_all(data):
    """A member with an extra field, a name, a comment and a checksum of the header."""
    header = bytes([0x1F, 0x8B, 8, 0x1E, 1, 2, 3, 4, 0, 3]) + b"\x03\x00xyzname\0comment\0"
    return gzip_member(data, header + struct.pack("<H", zlib.crc32(header) & 0xFFFF))


def streamed(data):
    """A zstd frame without its content size: raw and repeated blocks of at most 128 KiB."""
    frame = struct.pack("<IBB", 0xFD2FB528, 0, (20 - 10) << 3)
    pieces = [data[i : i + 5000] for i in range(0, len(data), 5000)] or [b""]
    for i, piece in enumerate(pieces):
        frame += ((i == len(pieces) - 1) | len(piece) << 3).to_bytes(3, "little") + piece
    return frame


def skippable(size):
    return struct.pack("<II", 0x184D2A53, size) + b"x" * size


def swapped(sum_):
    """The bytes of each half the wrong way round, as HDF5 before 1.6.3 stored them."""
    return bytes([sum_[1], sum_[0], sum_[3], sum_[2]])


def gzips(make, data):
    two = lambda chunk: b"".join(map(gzip.compress, halves(chunk)))
    yield make.v2("gzip, several members", data, CHUNKS, compressor=GZIP, encode=two)
    yield make.v2("gzip, all parts of a header", data, CHUNKS, compressor=GZIP, encode=gzip_with_all)
    yield make.v2("gzip, zeros behind", data, CHUNKS, compressor=GZIP, encode=lambda c: gzip.compress(c) + bytes(20))
    yield make.v2("gzip, an empty member first", data, CHUNKS, compressor=GZIP,
                  encode=lambda c: gzip.compress(b"") + gzip.compress(c))
    yield make.v2("gzip that is zlib", data, CHUNKS, compressor=GZIP, encode=zlib.compress, refused=(EIO, "zlib"))
    yield make.v2("zlib that is gzip", data, CHUNKS, compressor=ZLIB, encode=gzip.compress, refused=(EIO, "gzip"))
    yield make.v2("gzip, junk behind", data, CHUNKS, compressor=GZIP, encode=lambda c: gzip.compress(c) + b"x",
                  refused=(EIO, "gzip"))
    yield make.v2("gzip bomb", data, CHUNKS, compressor=GZIP, encode=lambda c: gzip.compress(c + bytes(1 << 24)),
                  refused=(EBADCHUNK, "more"))
    yield make.v2("gzip that ends early", data, CHUNKS, compressor=GZIP, encode=lambda c: gzip.compress(c)[:-9],
                  refused=(EIO, "truncated"))
    yield make.v2("zlib, stored blocks", data, CHUNKS, compressor=ZLIB, encode=lambda c: zlib.compress(c, 0))
    yield make.v2("zlib, bytes behind", data, CHUNKS, compressor=ZLIB, encode=lambda c: zlib.compress(c) + b"x")
    for level in ("4", "-1"):
        yield make.v2(f'zlib, level "{level}"', data, CHUNKS, compressor={"id": "zlib", "level": level},
                      encode=zlib.compress)


def zstds(make, data):
    codec = numcodecs.Zstd(3)
    yield make.v2("zstd, several frames", data, CHUNKS, compressor=ZSTD,
                  encode=lambda c: b"".join(map(codec.encode, halves(c))))
    yield make.v2("zstd, no content size", data, CHUNKS, compressor=ZSTD, encode=streamed)
    yield make.v2("zstd, several frames without a content size", data, CHUNKS, compressor=ZSTD,
                  encode=lambda c: b"".join(map(streamed, halves(c))))
    yield make.v2("zstd, skippable frames", data, CHUNKS, compressor=ZSTD,
                  encode=lambda c: skippable(3) + codec.encode(c) + skippable(1000))
    yield make.v2("zstd, unknown settings", data, CHUNKS, encode=codec.encode,
                  compressor={"id": "zstd", "level": 3, "checksum": False, "threads": 2})
    yield make.v2("zstd that ends early", data, CHUNKS, compressor=ZSTD, encode=lambda c: codec.encode(c)[:-3],
                  refused=(EIO, "zstd"))
    yield make.v2("zstd, junk behind", data, CHUNKS, compressor=ZSTD, encode=lambda c: codec.encode(c) + b"junk!",
                  refused=(EIO, "zstd"))
    yield make.v2("zstd, too many bytes", data, CHUNKS, compressor=ZSTD, encode=lambda c: codec.encode(c + b"x"),
                  refused=(EBADCHUNK, "more"))
    yield make.v2("zstd, too few bytes", data, CHUNKS, compressor=ZSTD, encode=lambda c: codec.encode(c[:-1]),
                  refused=(EBADCHUNK, "decoded chunk"))


def bloscs(make, data):
    def encode(cname="lz4", shuffle=1, typesize=4, blocksize=0):
        return lambda chunk: numcodecs.blosc.compress(chunk, cname.encode(), 5, shuffle, blocksize, typesize)
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in (0, 1, 2):
            for typesize in (1, 3, 4, 8, 20):
                yield make.v2(f"blosc {cname}, shuffle {shuffle}, typesize {typesize}", data, CHUNKS,
                              compressor=blosc(cname, shuffle), encode=encode(cname, shuffle, typesize))
    yield make.v2("blosc, typesize in the metadata", data, CHUNKS, compressor={**blosc(), "typesize": 4},
                  encode=encode(typesize=1))
    yield make.v2("blosc, small blocks", data, CHUNKS, compressor=blosc(), encode=encode(blocksize=256))
    yield make.v2("blosc, 16 bytes of zeros behind", data, CHUNKS, compressor=blosc(),
                  encode=lambda c: encode()(c) + bytes(16))
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 2**32, SHAPE, dtype="u4").astype("<u4")
    for cname in ("blosclz", "lz4", "zlib", "zstd"):
        yield make.v2(f"blosc {cname}, what does not compress", noise, CHUNKS, compressor=blosc(cname),
                      encode=encode(cname))
    yield make.v2("blosc, a copy", data, CHUNKS, compressor=blosc(),
                  encode=lambda c: numcodecs.blosc.compress(c, b"lz4", 0, 1, 0, 4))
    yield make.v2("blosc, the metadata say another codec", data, CHUNKS, compressor=blosc("zstd", 0), encode=encode())
    snappy = lambda c: bytes([2, 1, 0x41, 4]) + encode()(c)[4:]
    yield make.v2("blosc with snappy", data, CHUNKS, compressor=blosc("snappy"), encode=snappy,
                  refused=(EIO, "snappy"))
    yield make.v2("blosc that ends early", data, CHUNKS, compressor=blosc(), encode=lambda c: encode()(c)[:-1],
                  refused=(EIO, "truncated"))
    yield make.v2("blosc, too many bytes", data, CHUNKS, compressor=blosc(), encode=lambda c: encode()(c + bytes(4)),
                  refused=(EBADCHUNK, "more"))
    yield make.v2("blosc 2", data, CHUNKS, compressor=blosc(), encode=lambda c: b"\5" + encode()(c)[1:],
                  refused=(EIO, "version"))


def others(make, data):
    lz4 = numcodecs.LZ4()
    yield make.v2("lz4", data, CHUNKS, compressor=LZ4, encode=lz4.encode)
    yield make.v2("lz4 of no bytes", data, CHUNKS, compressor=LZ4, encode=lambda c: bytes(5), refused=(EIO, "lz4"))
    yield make.v2("lz4, too many bytes", data, CHUNKS, compressor=LZ4, encode=lambda c: lz4.encode(c + b"x"),
                  refused=(EBADCHUNK, "more"))
    fletcher = numcodecs.Fletcher32()
    sum_of = lambda c: bytes(fletcher.encode(c))[-4:]
    filters = [{"id": "fletcher32"}]
    yield make.v2("fletcher32", data, CHUNKS, filters=filters, encode=lambda c: c + sum_of(c))
    odd = native(values((9, 5), "u1"))
    yield make.v2("fletcher32, an odd number of bytes", odd, (3, 5), filters=filters, encode=lambda c: c + sum_of(c))
    yield make.v2("fletcher32 of old HDF5", data, CHUNKS, filters=filters, encode=lambda c: c + swapped(sum_of(c)))
    yield make.v2("fletcher32, another sum", data, CHUNKS, filters=filters, encode=lambda c: c + b"\1\2\3\4",
                  refused=(EIO, "checksum"))
    yield make.v2("fletcher32 as the compressor", data, CHUNKS, compressor=filters[0], filters=[ZLIB],
                  encode=lambda c: zlib.compress(c) + sum_of(zlib.compress(c)))
    sum_ = CRC32C(location="end")
    yield make.v2("crc32c at the end", data, CHUNKS, filters=[{"id": "crc32c", "location": "end"}],
                  encode=lambda c: bytes(sum_.encode(c)))
    yield make.v2("crc32c at the start", data, CHUNKS, filters=[{"id": "crc32c", "location": "start"}],
                  encode=lambda c: bytes(CRC32C(location="start").encode(c)))
    for size in (0, None):
        shuffle = {"id": "shuffle", **({} if size is None else {"elementsize": size})}
        encode = lambda c: zlib.compress(bytes(numcodecs.Shuffle(4).encode(c)))
        yield make.v2(f"shuffle, elementsize {size}", data, CHUNKS, filters=[shuffle], compressor=ZLIB, encode=encode)
    yield make.v2("raw, too few bytes", data, CHUNKS, encode=lambda c: c[:-1], refused=(EBADCHUNK, "stored chunk"))
    yield make.v2("raw, too many bytes", data, CHUNKS, encode=lambda c: c + b"x", refused=(EBADCHUNK, "stored chunk"))
    for codec in (None, ZSTD, ZLIB, GZIP, LZ4, blosc()):
        name = f"empty file, {codec['id'] if codec else 'raw'}"
        yield make.v2(name, data, CHUNKS, compressor=codec, encode=lambda c: b"",
                      refused=(EBADCHUNK if codec in (None, ZSTD) else EIO, ""))
    for name in ("lzma", "zfpy", "pcodec", "astype", "jenkins_lookup3"):
        yield make.v2(f"filter {name}", data, CHUNKS, filters=[{"id": name}], refused=(ENOFILTER, name))


def of_v3(make, data):
    shuffle = numcodecs.Shuffle(4)
    for name, codecs, encode in [
        ("shuffle and zlib", [("shuffle", {"elementsize": 4}), ("zlib", {"level": 1})],
         lambda c: zlib.compress(bytes(shuffle.encode(c)))),
        ("shuffle, zlib and fletcher32", [("shuffle", {"elementsize": 4}), ("zlib", {}), ("fletcher32", {})],
         lambda c: bytes(numcodecs.Fletcher32().encode(zlib.compress(bytes(shuffle.encode(c)))))),
        ("lz4", [("lz4", {"acceleration": 1})], numcodecs.LZ4().encode),
        ("zstd", [("zstd", {"level": 1})], numcodecs.Zstd(1).encode),
        ("gzip", [("gzip", {"level": 1})], gzip.compress),
        ("blosc", [("blosc", {"cname": "lz4", "shuffle": 1})],
         lambda c: numcodecs.blosc.compress(c, b"lz4", 5, 1, 0, 1)),
        ("crc32c", [("crc32c", {"location": "end"})], lambda c: bytes(CRC32C(location="end").encode(c))),
    ]:
        named = [{"name": f"numcodecs.{id_}", "configuration": configuration} for id_, configuration in codecs]
        yield make.v3(f"v3 numcodecs.{name}", data, CHUNKS, codecs=[LITTLE, *named], encode=encode)
    crc = lambda c: c + b"\0\0\0\0"
    yield make.v3("v3 crc32c, another sum", data, CHUNKS, codecs=[LITTLE, "crc32c"], encode=crc,
                  refused=(EIO, "checksum"))


def cases(root):
    make, data = Maker(root), native(values(SHAPE, "<f4"))
    for part in (gzips, zstds, bloscs, others, of_v3):
        yield from part(make, data)
