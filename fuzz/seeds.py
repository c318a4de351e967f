#!/usr/bin/env python3
"""Makes the inputs that fuzzing begins with, from the tree's vectors and by hand: seeds.py DIRECTORY

Each target has a directory below it. The first bytes of an input say how the target uses the rest: see fuzz/targets.
"""

import gzip
import hashlib
import io
import random
import re
import struct
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def codecs():
    """The chunks that numcodecs encoded: tests/vectors/codecs.bin."""
    data = (ROOT / "tests/vectors/codecs.bin").read_bytes()
    names = ["crc32c", "fletcher32", "gzip", "lz4", "shuffle", "zlib", "zstd"]
    cnames, shuffles = ["blosclz", "lz4", "lz4hc", "zlib", "zstd"], ["none", "byte", "bit"]
    sizes = [1, 2, 3, 4, 8, 16, 20, 255]
    while data:
        line, data = data.split(b"\n", 1)
        name, *parameters, length, stored = line.decode().split()
        stored, data = data[: int(stored)], data[int(stored):]
        if not 0 < int(length) <= 4096 or len(stored) > 4096:
            continue
        size = 1
        if name == "blosc":
            number = 7 + cnames.index(parameters[0]) + 5 * shuffles.index(parameters[1])
            size = int(parameters[2])
        else:
            number = names.index(name)
            size = int(parameters[0]) if parameters else 1
        low, high = (int(length) - 1) & 255, (int(length) - 1) >> 8
        head = bytes([number, low, high, sizes.index(size) << 1])
        yield head + stored
        if int(length) == 100:
            yield bytes([number, low, high, sizes.index(size) << 1 | 1]) + bytes(range(100))


def raw_strings(path):
    """The raw strings of a Rust file, which are documents."""
    text = (ROOT / path).read_text()
    return [match[1].encode() for match in re.finditer(r'r#"(.*?)"#', text, re.S)]


def metadata():
    files = ["malformed_tests", "v2", "v3/tests", "group", "nczarr", "attributes", "dtype"]
    for path in ["tests/arrays.rs", *(f"arrays/src/zarr/{file}.rs" for file in files)]:
        for text in raw_strings(path):
            if not text.startswith(b"{"):
                continue
            for kind in [0, 1] if b'"shape"' in text else [2, 4]:
                yield bytes([kind]) + text
    v2 = b'{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":0,"order":"C","filters":null,' \
         b'"compressor":{"id":"zstd","level":1}}'
    yield b"\1" + v2 + b'\0{"units":"K","x":[NaN,1e5],"_ARRAY_DIMENSIONS":["y"]}'
    yield b'\3{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},"x/.zarray":' + v2 + b"}}"
    yield b'\5{"units":"K","n":[1,2.5,true,null]}\0zstd\n{"level":3}'
    yield b'\5{}\0blosc\n{"cname":"lz4","clevel":5,"shuffle":1}'


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return struct.pack("<I", value ^ 0xFFFFFFFF)


def shards():
    """Six chunks of 2 x 4 numbers, of which one is absent."""
    chunks = [struct.pack("<8h", *range(8 * i, 8 * i + 8)) for i in range(6)]
    for has_checksum in [False, True]:
        for inner in [0, 1]:
            for at_start in [False, True]:
                kind = has_checksum | at_start << 1 | inner << 2
                stored = [chunk + crc32c(chunk) if inner else chunk for chunk in chunks]
                begin = 6 * 16 + 4 * has_checksum if at_start else 0
                index = b""
                for i, chunk in enumerate(stored):
                    index += struct.pack("<QQ", begin, len(chunk)) if i != 3 else b"\xff" * 16
                    begin += len(chunk) if i != 3 else 0
                index += crc32c(index) if has_checksum else b""
                body = b"".join(chunk for i, chunk in enumerate(stored) if i != 3)
                yield bytes([kind]) + (index + body if at_start else body + index)


def zips():
    v2 = b'{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i2","fill_value":0,"order":"C","filters":null,' \
         b'"compressor":null}'
    entries = {".zgroup": b'{"zarr_format":2}', "x/.zarray": v2, "x/0": b"\1\0\2\0", "x/1": b"\3\0\4\0"}
    for method in [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]:
        for prefix in ["", "a/"]:
            for comment in [b"", b"a comment"]:
                file = io.BytesIO()
                with zipfile.ZipFile(file, "w", method) as writer:
                    for name, data in entries.items():
                        info = zipfile.ZipInfo(prefix + name)
                        info.compress_type = method
                        with writer.open(info, "w", force_zip64=bool(comment)) as entry:
                            entry.write(data)
                    writer.comment = comment
                yield file.getvalue()


def classic_file(version):
    """Dimensions t (records), x; variables v(t, x) and w(x), with attributes."""
    count = ">Q" if version == 5 else ">I"
    offset = ">I" if version == 1 else ">Q"

    def n(number):
        return struct.pack(count, number)

    def name(text):
        return n(len(text)) + text + bytes(-len(text) % 4)

    def attribute(key, kind, number, values):
        return name(key) + struct.pack(">I", kind) + n(number) + values + bytes(-len(values) % 4)

    def header(begins):
        out = b"CDF" + bytes([version]) + n(2)
        out += struct.pack(">I", 10) + n(2) + name(b"t") + n(0) + name(b"x") + n(3)
        out += struct.pack(">I", 12) + n(1) + attribute(b"title", 2, 5, b"a sea")
        out += struct.pack(">I", 11) + n(2)
        out += name(b"v") + n(2) + n(0) + n(1) + struct.pack(">I", 12) + n(1)
        out += attribute(b"_FillValue", 3, 1, b"\xff\xf9") + struct.pack(">I", 3) + n(8)
        out += struct.pack(offset, begins[0])
        out += name(b"w") + n(1) + n(1) + struct.pack(">I", 0) + n(0) + struct.pack(">I", 5) + n(12)
        return out + struct.pack(offset, begins[1])

    length = len(header([0, 0]))
    w = struct.pack(">3f", 1, 2, 3)
    return header([length + len(w), length]) + w + struct.pack(">6h", *range(6))


def classics():
    for version in [1, 2, 5]:
        yield classic_file(version)
        yield classic_file(version).replace(b"CDF" + bytes([version]) + struct.pack(">I", 2),
                                            b"CDF" + bytes([version]) + b"\xff" * 4)


def cfdbs():
    yield (ROOT / "tests/vectors/small.cfdb").read_bytes()


def hdf5s():
    """The small files of tests/vectors/hdf5.bin.gz, and one with links to others."""
    yield (ROOT / "tests/vectors/links/main.h5").read_bytes()
    data = gzip.decompress((ROOT / "tests/vectors/hdf5.bin.gz").read_bytes())
    while data:
        line, data = data.split(b"\n", 1)
        *fields, last = line.split(b"\t")
        if line.startswith(b" ") and fields[1:] and fields[1] == b"refused":
            continue
        length = int(last)
        if line.startswith(b"tiny"):
            yield data[:length]
        data = data[length:]


def noise():
    """What the targets that build their own objects begin with: any bytes."""
    generator = random.Random(7)
    for length in [8, 40, 100, 300]:
        for _ in range(8):
            yield bytes(generator.randrange(256) for _ in range(length))


def main(directory):
    registry = {"requests": noise, "operations": noise, "c_interface": noise, "codecs": codecs, "metadata": metadata,
              "shards": shards, "zip": zips, "classic": classics, "hdf5": hdf5s, "cfdb": cfdbs}
    for target, make in registry.items():
        where = Path(directory) / target
        where.mkdir(parents=True, exist_ok=True)
        for data in make():
            (where / hashlib.sha1(data).hexdigest()[:16]).write_bytes(data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
