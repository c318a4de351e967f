"""Types of elements: numpy's for the library's names, and the other way round."""

import numpy as np

from .errors import NotSupported


def dtype_of(type_name, size=0):
    """The numpy type for the library's name of a type. Variable-length strings are Python's, as objects. A type that
    numpy does not know, such as "bfloat16" before ml_dtypes is imported, is raw bytes of its size."""
    if type_name == "string":
        return np.dtype(object)
    if type_name == "char":
        return np.dtype("S1")
    try:
        return np.dtype(type_name)
    except TypeError:
        if not size:
            raise NotSupported(f"{type_name}: numpy lacks this type; import ml_dtypes first") from None
        return np.dtype(f"V{size}")


def type_name_of(dtype):
    """The library's name for a type of numpy or Python. "string" and "char" are names for types that numpy does not
    have."""
    if dtype is str:
        return "string"
    if isinstance(dtype, str) and dtype in ("string", "char"):
        return dtype
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype: expected a numpy type, str, \"string\" or \"char\", found {dtype!r}") from None
    if dtype.names or dtype.subdtype:
        raise NotSupported(f"dtype: structured types are not supported, found {dtype}")
    if dtype.kind in "OT":
        return "string"
    if dtype.kind in "mM":
        unit, count = np.datetime_data(dtype)
        name = "datetime64" if dtype.kind == "M" else "timedelta64"
        return name if unit == "generic" else f"{name}[{'' if count == 1 else count}{unit}]"
    # Types of other packages, such as ml_dtypes, may be of any kind; the library refuses names that it does not know.
    is_number = dtype.kind in "biufc" or dtype.isbuiltin == 2
    if is_number and dtype.itemsize <= (16 if dtype.kind == "c" else 8):
        return dtype.newbyteorder("=").name
    if dtype.kind in "SUV":
        return f"{dtype.kind}{dtype.itemsize // (4 if dtype.kind == 'U' else 1)}"
    raise NotSupported(f"dtype: elements of type {dtype} are not supported")
