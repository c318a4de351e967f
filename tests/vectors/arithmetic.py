"""Codecs that compute with elements, and checksums, as numcodecs has them: writes arithmetic.bin beside this file,
which arrays/src/zarr/vectors.rs reads.

The file is a list of records: a line of JSON with the codec, the type of the elements and three lengths, then so many
bytes each: the elements, what numcodecs encodes them to, and what it decodes that to. Needs numcodecs.
"""

import json
from pathlib import Path

import numcodecs
import numpy as np

COUNT = 45


def elements(dtype):
    """Numbers of all sizes, most of them near one another."""
    dtype, i = np.dtype(dtype), np.arange(COUNT)
    if dtype.kind == "b":
        return i * i % 3 == 0
    if dtype.kind == "f":
        values = 1000 + np.sin(i) * 3.7 + i % 7 * 0.125
        values[::11] = [0, -0.0, -123.456, 1e-3, 60000]
        return values.astype(dtype)
    return (i * i * 37 // 11 % 100 + (dtype.kind == "u") * 7 - (dtype.kind == "i") * 50).astype(dtype)


def cases():
    """Codecs and the types of their elements."""
    for dtype in ["|i1", "|u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", "<u8", ">u8", "<f2", "<f4", ">f4",
                  "<f8", ">f8"]:
        yield numcodecs.Delta(dtype), dtype
    for dtype, astype in [("<i4", "<i2"), ("<i8", ">i2"), ("<i2", "|i1"), ("<u2", "<i4"), ("<f8", "<f4"),
                          ("<f4", "<f8"), ("<f8", "<i4"), ("<i2", "<f4")]:
        yield numcodecs.Delta(dtype, astype), dtype
    for offset, scale, dtype, astype in [
            (995, 10, "<f8", "|u1"), (1000, 10, "<f8", "<i2"), (1000.5, 100, "<f4", "<i4"), (1000, 7.5, ">f4", ">i4"),
            (0, 0.1, "<f2", "<i2"), (3, 2, "<i4", "<i2"), (-5, 3, "<i8", "<i8"), (1000, 1, "<f8", "<f4"),
            (1, 0.5, "<f8", "<f2"), (0, 1, "<u2", "<f8"), (-10, 2, "|i1", "<i2")]:
        yield numcodecs.FixedScaleOffset(offset, scale, dtype, astype), dtype
    for digits in range(-1, 7):
        for dtype, astype in [("<f4", "<f4"), ("<f8", "<f8"), (">f8", "<f4")]:
            yield numcodecs.Quantize(digits, dtype, astype), dtype
    yield numcodecs.Quantize(1, "<f2"), "<f2"
    # It cannot encode big-endian ones.
    for dtype, bits in [("<f2", 10), ("<f4", 23), ("<f8", 52)]:
        for keep in (0, 1, 3, 8, bits - 1, bits):
            yield numcodecs.BitRound(min(keep, bits)), dtype
    yield numcodecs.PackBits(), "|b1"
    for sum in (numcodecs.CRC32, numcodecs.Adler32, numcodecs.checksum32.CRC32C):
        for location in ("start", "end"):
            yield sum(location), "<i4"
    for level in (1, 9):
        yield numcodecs.BZ2(level), "<f8"


def write(path):
    with open(path, "wb") as file:
        for codec, dtype in cases():
            data = elements(dtype)
            encoded = np.asarray(np.frombuffer(codec.encode(data), "u1") if isinstance(codec, numcodecs.BZ2) else
                                 codec.encode(data))
            decoded = np.frombuffer(bytes(codec.decode(encoded)), "u1")
            parts = [data.tobytes(), encoded.tobytes(), decoded.tobytes()]
            line = json.dumps({"codec": codec.get_config(), "dtype": dtype, "lengths": [len(part) for part in parts]})
            file.write(line.encode() + b"\n" + b"".join(parts))


if __name__ == "__main__":
    write(Path(__file__).with_suffix(".bin"))
