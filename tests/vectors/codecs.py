"""Codecs as numcodecs has them: writes what the library is to decode, and decodes what the library made.

    python codecs.py write              codecs.bin, beside this file, which engine/src/codec/tests.rs reads
    python codecs.py check FILE         whether numcodecs decodes what the test codec::tests::written wrote to FILE

A file is a list of records: a line "codec parameters... length stored_length", then so many stored bytes. The decoded
bytes are those of chunk(length), which the test makes as well. Needs numcodecs and crc32c.
"""

import sys
from pathlib import Path

import numcodecs
import numpy as np
from numcodecs import LZ4, Blosc, Fletcher32, GZip, Shuffle, Zlib, Zstd
from numcodecs.checksum32 import CRC32C

SHUFFLES = {"none": Blosc.NOSHUFFLE, "byte": Blosc.SHUFFLE, "bit": Blosc.BITSHUFFLE, "auto": Blosc.AUTOSHUFFLE}


def chunk(length):
    """Some noise, and then words that repeat and change slowly."""
    i = np.arange(length, dtype=np.uint64)
    noise = (i * 2654435761 % 2**32) >> 24
    words = np.where(i % 8 < 6, i // 16384 + i % 8 // 2 * 16, i // 32 % 2)
    return np.where(i % 20000 < 40, noise, words).astype(np.uint8).tobytes()


def codec(name, parameters):
    if name == "blosc":
        cname, shuffle, _, blocksize = parameters
        return Blosc(cname, clevel=5, shuffle=SHUFFLES[shuffle], blocksize=int(blocksize))
    if name == "shuffle":
        return Shuffle(int(parameters[0]))
    return {
        "crc32c": CRC32C, "fletcher32": Fletcher32, "gzip": lambda: GZip(5), "lz4": LZ4,
        "zlib": lambda: Zlib(1), "zstd": Zstd,
    }[name]()


def cases():
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in ["none", "byte", "bit"]:
            for size in [1, 2, 3, 4, 8, 16]:
                yield "blosc", [cname, shuffle, size, 0], 1008
        if cname == "lz4hc":  # Its blocks are those of lz4.
            continue
        for shuffle, size, block in [("none", 1, 0), ("byte", 4, 16384), ("bit", 4, 16384), ("bit", 8, 0),
                                     ("byte", 3, 9000), ("byte", 8, 0), ("bit", 1, 8192)]:
            yield "blosc", [cname, shuffle, size, block], 40000 // size * size
    for length in [0, 1, 100, 1000]:
        for shuffle, size in [("byte", 4), ("bit", 2), ("none", 255), ("byte", 255)]:
            yield "blosc", ["lz4", shuffle, size, 0], length
    for length in [1, 2, 3, 100, 40000]:
        for name in ["gzip", "lz4", "zlib", "zstd"]:
            yield name, [], length
    for name in ["crc32c", "fletcher32"]:
        for length in [1, 2, 3, 721]:
            yield name, [], length
    for size in [2, 3, 4, 8, 16]:
        yield "shuffle", [size], 48 * size + size


def write(path):
    with open(path, "wb") as file:
        for name, parameters, length in cases():
            data = chunk(length)
            if name == "blosc":
                # The type size is that of the array's elements. A length that is no multiple of it is one of bytes.
                size = parameters[2]
                data = np.frombuffer(data, dtype=f"V{size}") if length % size == 0 and length else data
            stored = bytes(codec(name, parameters).encode(data))
            line = " ".join(map(str, [name, *parameters, length, len(stored)]))
            file.write(line.encode() + b"\n" + stored)


def check(path):
    data = Path(path).read_bytes()
    count = 0
    while data:
        line, data = data.split(b"\n", 1)
        name, *parameters, length, stored = line.decode().split()
        decoded = bytes(codec(name, parameters).decode(data[: int(stored)]))
        assert decoded == chunk(int(length)), line
        data = data[int(stored):]
        count += 1
    print(f"numcodecs {numcodecs.__version__} decodes all {count}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write"]:
            write(Path(__file__).with_suffix(".bin"))
        case ["check", path]:
            check(path)
        case _:
            sys.exit(__doc__)
