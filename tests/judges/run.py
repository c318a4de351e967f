#!/usr/bin/env python3
"""Reads what others have written, and compares every value; random hyperslabs, too.

    run.py LIBNCZCHUNK DIRECTORY [--only WORD] [--zarr-2 PYTHON] [--table FILE [--update]]

--only runs the cases whose name contains a word; --zarr-2 is a Python that has zarr-python 2; --table compares the
table of who reads what, or writes it.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import time
import warnings

# Before netCDF4 is: after it, the filters of hdf5plugin find netCDF4's HDF5 and not h5py's.
import hdf5plugin  # noqa: F401
import numpy as np

import cfdb_
import concat_
import created
import elements
import gdal_matlab
import hdf5_
import netcdf_c
import netcdf_classic
import random_arrays
import rectilinear
import references_
import table
import tensorstore_
import traps_chunks
import traps_metadata
import traps_storages
import traps_shards
import xarray_
import zarr_python
from binding import Failed, Library
from cases import Case, native

WRITERS = {"zarr-python": zarr_python, "TensorStore": tensorstore_, "netCDF-C": netcdf_c, "xarray": xarray_,
           "random": random_arrays, "rectilinear": rectilinear, "netCDF classic": netcdf_classic, "cfdb": cfdb_,
           "HDF5": hdf5_, "GDAL, MATLAB": gdal_matlab, "references": references_, "joined files": concat_,
           "elements": elements,
           "traps: metadata": traps_metadata, "traps: chunks": traps_chunks, "traps: shards": traps_shards,
           "traps: storages": traps_storages}

# How many random hyperslabs of each array are read.
HYPERSLABS = 40


def same(got, expected):
    """Whether all bits are the same, or all texts."""
    if got.dtype == object:
        return got.shape == expected.shape and got.tolist() == expected.tolist()
    return got.shape == expected.shape and got.tobytes() == expected.tobytes()


def hyperslab(shape, rng):
    start, count, stride = [], [], []
    for length in shape:
        first = rng.randrange(length)
        step = rng.choice([1, 1, 1, 2, 3, 7])
        most = (length - 1 - first) // step + 1
        start.append(first)
        stride.append(step)
        count.append(rng.randint(1, most))
    return start, count, stride


def read_hyperslabs(library, array, expected, rng):
    """What is wrong with random hyperslabs, read by one thread and by two."""
    for _ in range(HYPERSLABS if expected.size else 0):
        start, count, stride = hyperslab(expected.shape, rng)
        index = tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(start, count, stride))
        for threads in (1, 2):
            library.set_threads(threads)
            due = np.array(expected[index], expected.dtype, order="C")
            if not same(array.read(expected.dtype, start, count, stride), due):
                return f"the values of {start} {count} {stride} differ, by {threads} threads"
    return None


def wrong_refusal(error, refused):
    """What is wrong with an error, where a status and a word of the message are expected, or none."""
    if refused is None:
        return str(error)
    status, word = refused
    return None if error.status == status and word in str(error) else f"{error}; due is {status} with {word!r}"


def wrong_attributes(array, case):
    """What is wrong with the attributes."""
    if case.refused_attributes:
        try:
            return f"the attributes are {array.attributes()}"
        except Failed as error:
            return wrong_refusal(error, case.refused_attributes)
    stored = json.loads(array.attributes_json())
    for name, value in (case.attributes or {}).items():
        if stored.get(name) != value:
            return f"attribute {name} is {stored.get(name)}"
    typed = array.attributes()
    for name, (kind, value) in (case.typed or {}).items():
        if name not in typed:
            return f"attribute {name} is missing"
        found_kind, found = typed[name]
        is_same = found == value if isinstance(value, (str, list)) else same(np.atleast_1d(found), np.atleast_1d(value))
        if found_kind != kind or not is_same:
            return f"attribute {name} is {found!r} of type {found_kind}, not {value!r} of type {kind}"
    return None


def compare(library, array, case, rng):
    """What is wrong with an array that is open."""
    if case.values is None:
        array.read(f"V{array.element_size}")
        return "it is not refused"
    expected = native(case.values)
    if array.shape != expected.shape:
        return f"the shape is {array.shape}, not {expected.shape}"
    if array.element_size != expected.itemsize:
        return f"elements have {array.element_size} bytes, not {expected.itemsize}"
    if array.type != case.type:
        return f"the type is {array.type}, not {case.type}"
    if case.dimensions is not None and array.dimnames != case.dimensions:
        return f"the dimensions are {array.dimnames}"
    if not same(array.read(expected.dtype), expected):
        return "the values differ"
    return wrong_attributes(array, case) or read_hyperslabs(library, array, expected, rng)


def check(library, case, rng):
    """What is wrong with a case; None if nothing is."""
    library.set_threads(1)
    try:
        with library.open(case.path, case.array) as array:
            return compare(library, array, case, rng)
    except Failed as error:
        return wrong_refusal(error, case.refused)
    return None


def of_program(python, name, root):
    """What a program of its own has written."""
    program = pathlib.Path(__file__).parent / name
    written = subprocess.run([python, program, root], check=True, stdout=subprocess.PIPE, text=True).stdout
    for case in json.loads(written):
        values = case["values"] and np.load(case["values"])
        values = values.astype(object) if case.get("texts") else values
        yield Case(case["name"], pathlib.Path(case["path"]), values, case["array"], case.get("type"),
                   case["dimensions"], typed=case.get("typed"), refused=case.get("refused"))


def run(library, name, cases, args):
    """Runs the cases of a writer; how many are wrong."""
    rng, num, failed, begin = random.Random(1), 0, 0, time.monotonic()
    for case in cases:
        if args.only and args.only not in case.name:
            continue
        wrong = check(library, case, rng)
        num += 1
        if wrong:
            failed += 1
            print(f"{name}: {case.name}: {wrong}")
    print(f"{name:20} {num:4} arrays, {failed} wrong, {time.monotonic() - begin:.1f} s", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--zarr-2")
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    shutil.rmtree(args.directory, ignore_errors=True)
    args.directory.mkdir(parents=True)
    library, failed = Library(args.library), 0
    for name, writer in WRITERS.items():
        failed += run(library, name, writer.cases(args.directory / name.replace(": ", "-")), args)
    for name, checks in [("created by us", created), ("netCDF classic", netcdf_classic)]:
        num, wrong = checks.check_all(library, args.directory / f"checks-{name.replace(' ', '-')}")
        print(f"{name:20} {num:4} checks, {wrong} wrong", flush=True)
        failed += wrong
    programs = [("netCDF-C, installed", sys.executable, "netcdf_c_installed.py")]
    if args.zarr_2:
        programs.append(("zarr-python 2", args.zarr_2, "zarr_python_2.py"))
    for name, python, program in programs:
        failed += run(library, name, of_program(python, program, args.directory / name.replace(", ", "-")), args)
    if args.table:
        differing = table.run(args.directory / "table", args.library, args.table, args.update)
        print("\n".join(differing) or f"{args.table} {'is written' if args.update else 'says what we read'}")
        failed += len(differing)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
