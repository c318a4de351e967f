#!/usr/bin/env python3
"""HDF5 files that others have written, such as HDF5's own test files: every dataset is what h5py reads, or is refused
by name. Writes how many there are of each.

    files.py LIBNCZCHUNK FILE-OR-DIRECTORY...
"""

import collections
import pathlib
import re
import sys
import warnings

import hdf5plugin  # noqa: F401
import h5py
import numpy as np

from binding import Failed, Library
from cases import native

ENDS = {".h5", ".hdf5", ".he5", ".nc", ".nc4", ".mat", ".hdf", ".h5ad"}
# Larger datasets are left out, for both are read as a whole.
LARGEST = 64 << 20


def datasets(file):
    """The datasets of a file by name, each once."""
    found = {}
    file.visititems(lambda name, node: found.update({name: node}) if isinstance(node, h5py.Dataset) else None)
    return found


def texts(values):
    """Variable-length strings up to their first NUL, as netCDF has them."""
    flat = [value.split(b"\0")[0].decode(errors="replace") for value in values.reshape(-1)]
    return np.array(flat, object).reshape(values.shape)


def is_same(values, found):
    if values.dtype == object:
        return found.dtype == object and texts(values).tolist() == found.tolist()
    due = native(values)
    # Structures and the like are given as they are stored, and so are h5py's read from the file.
    return found.tobytes() == due.tobytes() or found.tobytes() == np.ascontiguousarray(values).tobytes()


def stored(node):
    """The elements as h5py reads them; structures and strings of a fixed length with the bytes that the file has."""
    is_plain = node.dtype.names is None and node.dtype.subdtype is None and h5py.check_vlen_dtype(node.dtype) is None
    is_text = node.dtype.kind == "O" and h5py.check_string_dtype(node.dtype) is not None
    if node.dtype.kind != "S" and (is_plain or is_text):
        return np.array(node[()], object if is_text else node.dtype)
    kind = node.id.get_type()
    values = np.zeros(node.shape, np.dtype(f"V{kind.get_size()}"))
    node.id.read(h5py.h5s.ALL, h5py.h5s.ALL, values, kind)
    return values


def is_dimension_alone(node):
    try:
        return "NAME" in node.attrs and b"not a netCDF variable" in np.bytes_(node.attrs["NAME"])
    except Exception:  # noqa: BLE001
        return False


def judge(library, path, tally, wrong):
    try:
        file = h5py.File(path, "r")
    except OSError:
        tally["files that h5py does not open"] += 1
        try:
            library.open(path, "x").__exit__(None, None, None)
        except Failed:
            pass
        return
    with file:
        tally["files"] += 1
        try:
            nodes = datasets(file)
        except (RuntimeError, OSError, KeyError):
            tally["files that h5py does not list"] += 1
            return
        for name, node in nodes.items():
            if is_dimension_alone(node):
                continue
            try:
                values = None if node.shape is None or node.nbytes > LARGEST else stored(node)
            except Exception as error:  # noqa: BLE001
                values = error
            try:
                with library.open(path, name) as array:
                    if values is None:
                        tally["too large, or without elements"] += 1
                        continue
                    dtype = values.dtype if isinstance(values, np.ndarray) else None
                    found = None if dtype is None else array.read(native(values).dtype)
                if dtype is None:
                    tally["read here and not by h5py"] += 1
                elif is_same(values, found):
                    tally["the same"] += 1
                else:
                    wrong.append(f"{path} {name}: the values differ")
            except Failed as error:
                reason = re.sub(r"^.*(not supported|codec|HDF5's filter)", r"\1", str(error).replace(name, ""))
                if isinstance(values, Exception):
                    tally["refused by both"] += 1
                else:
                    tally[f"refused: {reason}"] += 1
            except Exception as error:  # noqa: BLE001
                wrong.append(f"{path} {name}: {type(error).__name__}: {error}")


def main():
    warnings.filterwarnings("ignore")
    library, tally, wrong = Library(sys.argv[1]), collections.Counter(), []
    for given in map(pathlib.Path, sys.argv[2:]):
        for path in [given] if given.is_file() else sorted(given.rglob("*")):
            if path.is_file() and path.suffix.lower() in ENDS:
                judge(library, path, tally, wrong)
    for what, count in sorted(tally.items(), key=lambda item: (item[0].startswith("refused:"), -item[1])):
        print(f"{count:6}  {what}")
    print("\n".join(wrong))
    print(f"{len(wrong):6}  wrong")
    sys.exit(len(wrong) > 0)


if __name__ == "__main__":
    main()
