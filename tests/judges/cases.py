"""What all writers have in common: a case is an array that somebody has written, and what is to be read from it."""

import dataclasses
import pathlib

import numpy as np

RANDOM = np.random.default_rng(1)

# netCDF's number for each of numpy's types that netCDF has.
NETCDF = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10, "u8": 11}
CHAR = 2

# Statuses that the cases name.
EBADTYPE, ENOTVAR, ENOTNC, EIO, ENOTFOUND = -45, -49, -51, -68, -90
EBADCHUNK, ENOTBUILT, ENOFILTER, ENCZARR = -127, -128, -136, -137


@dataclasses.dataclass
class Case:
    """An array below a path, and what it holds; or the status with which it is refused, and a word of the message. The
    attributes alone may be refused, too.

    What is None is not looked at. Attributes are given as they are stored; typed ones as the type's number and value.
    """

    name: str
    path: pathlib.Path
    values: np.ndarray | None = None
    array: str = ""
    type: int | None = None
    dimensions: list | None = None
    attributes: dict | None = None
    typed: dict | None = None
    refused: tuple[int, str] | None = None
    refused_attributes: tuple[int, str] | None = None

    def __post_init__(self):
        if self.type is None and self.values is not None:
            self.type = netcdf_type(self.values.dtype)


def netcdf_type(dtype):
    """netCDF's number for a type; 12 for texts, 0 for what it does not have."""
    if dtype.kind in "SO":
        return 12
    return NETCDF.get(dtype.newbyteorder("=").str.lstrip("<>|="), 0) if dtype.names is None else 0


def native(array):
    """An array in native byte order, row-major."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="), copy=False)).reshape(array.shape)


def values(shape, dtype):
    """Values that compress, with some of every kind."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=int))
    if dtype.names is not None:
        parts = np.zeros(n, dtype)
        for field in dtype.names:
            parts[field] = values((n,), dtype[field])
        return parts.reshape(shape)
    if dtype.kind == "O":
        words = ["a", "\u00e4\u20ac", "", "a longer text", "\U0001f30d" * 50]
        return np.array([f"{words[i % 5]}{i % 7}" if i % 11 else "" for i in range(n)], object).reshape(shape)
    if dtype.kind == "U":
        return np.array(["a", "\u00e4\u20ac", "", "xyz"] * (n // 4 + 1))[:n].astype(dtype).reshape(shape)
    if dtype.kind == "S":
        return np.array([b"a", b"bc", b"", b"xyz"] * (n // 4 + 1))[:n].astype(dtype).reshape(shape)
    if dtype.kind in "mM":
        times = (np.arange(n) * 86400).astype("i8")
        times[::11] = np.iinfo("i8").min
        return times.view(dtype.newbyteorder("=")).astype(dtype).reshape(shape)
    if dtype.kind == "b":
        return (RANDOM.integers(0, 2, n) == 1).reshape(shape)
    if dtype.kind == "V":
        return RANDOM.integers(0, 256, n * dtype.itemsize).astype("u1").view(dtype).reshape(shape)
    base = np.cumsum(RANDOM.integers(0, 3, n))
    if dtype.kind == "c":
        return (base + 1j * base[::-1]).astype(dtype).reshape(shape)
    if dtype.kind == "f":
        base = base * 0.5
        base[::17] = np.nan
    return base.astype(dtype).reshape(shape)
