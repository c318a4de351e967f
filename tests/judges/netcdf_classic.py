"""netCDF classic files of all formats, as netCDF-C, scipy and PnetCDF write them, and real ones of Debian's
ferret-datasets; what netCDF-C, scipy and ncdump read from them is what we must read."""

import os
import pathlib
import random
import re
import shutil
import subprocess

import netCDF4
import numpy as np
from scipy.io import netcdf_file

from cases import ENCZARR, NETCDF, Case, native, values

FORMATS = {"CDF-1": "NETCDF3_CLASSIC", "CDF-2": "NETCDF3_64BIT_OFFSET", "CDF-5": "NETCDF3_64BIT_DATA"}
OF_ALL = ["i1", "S1", "i2", "i4", "f4", "f8"]
OF_CDF5 = ["u1", "u2", "u4", "i8", "u8"]
CDL = {"i1": ("byte", "b"), "S1": ("char", ""), "i2": ("short", "s"), "i4": ("int", ""), "f4": ("float", "f"),
       "f8": ("double", ""), "u1": ("ubyte", ""), "u2": ("ushort", ""), "u4": ("uint", ""), "i8": ("int64", ""),
       "u8": ("uint64", "")}
LENGTHS = {"time": 11, "lat": 5, "lon": 7}
DIMENSIONS = {"fixed": ["lat", "lon"], "record": ["time", "lat", "lon"], "series": ["time"], "scalar": []}
FERRET = pathlib.Path("/usr/share/ferret-vis/data")

# How many random hyperslabs are read in all, and from how large a file.
HYPERSLABS = 20_000
MANY = (20_000, 9, 5)
HUGE = 5 << 30


def types_of(format):
    return OF_ALL + (OF_CDF5 if format == "CDF-5" else [])


def data(shape, dtype):
    if dtype == "S1":
        return np.frombuffer(bytes(32 + i % 90 for i in range(int(np.prod(shape)))), "S1").reshape(shape)
    made = values(shape, dtype)
    return np.nan_to_num(made, nan=-0.5) if made.dtype.kind == "f" else made


def variables(format):
    """The variables of a file that has some of every kind: name, dimensions, values."""
    for dtype in types_of(format):
        for kind, dimensions in DIMENSIONS.items():
            yield f"{kind}_{dtype}", dimensions, data([LENGTHS[d] for d in dimensions], dtype)


def files(format):
    """All files of a format, each with its variables. One record variable alone is not padded."""
    made = list(variables(format))
    yield "all", made
    yield "without scalars", [one for one in made if one[1]]
    yield "without records", [one for one in made if "time" not in one[1]]
    for dtype in types_of(format):
        made = list(variables(format))
        yield f"one-{dtype}", [one for one in made if one[0] in (f"record_{dtype}", "fixed_i2")]


# ----------------------------------------------------------------------------------------------------------------------
# Who writes


def by_netcdf(path, format, made):
    with netCDF4.Dataset(path, "w", format=FORMATS[format]) as file:
        for name, length in LENGTHS.items():
            file.createDimension(name, None if name == "time" else length)
        for name, dimensions, what in made:
            fill = None if what.dtype.kind == "S" else what.dtype.type(99)
            variable = file.createVariable(name, what.dtype, dimensions, fill_value=fill)
            variable.set_auto_maskandscale(False)
            variable.set_auto_chartostring(False)
            variable.units = "m \u00b2"
            variable.range = np.array([1, 100], "f4" if what.dtype.kind == "S" else what.dtype)
        for name, _, what in made:
            file[name][...] = what
    kind = lambda what: NETCDF["f4"] if what.dtype.kind == "S" else NETCDF[what.dtype.str[1:]]
    return lambda what: {"units": (2, "m \u00b2"),
                         "range": (kind(what), np.array([1, 100], "f4" if what.dtype.kind == "S" else what.dtype))}


def by_scipy(path, format, made):
    with netcdf_file(path, "w", version=1 if format == "CDF-1" else 2) as file:
        for name, length in LENGTHS.items():
            file.createDimension(name, None if name == "time" else length)
        for name, dimensions, what in made:
            dtype = "c" if what.dtype.kind == "S" else what.dtype.newbyteorder(">")
            variable = file.createVariable(name, dtype, tuple(dimensions))
            variable.units = "m"
            if dimensions:
                variable[:] = what
            else: # assignValue does not take these
                variable.data[...] = what
    return lambda what: {"units": (2, "m")}


def by_pnetcdf(path, format, made):
    lines = [f"netcdf {path.stem} {{", "dimensions:"]
    lines += [f" {name} = {'UNLIMITED' if name == 'time' else length} ;" for name, length in LENGTHS.items()]
    lines.append("variables:")
    for name, dimensions, what in made:
        listed = f"({', '.join(dimensions)})" if dimensions else ""
        lines += [f" {CDL[what.dtype.str[1:]][0]} {name}{listed} ;", f' {name}:units = "m" ;']
    lines.append("data:")
    for name, _, what in made:
        if what.dtype.kind == "S":
            rows = what.reshape(-1, what.shape[-1] if what.ndim > 1 else max(1, what.size))
            texts = [row.tobytes().decode().replace("\\", "\\\\").replace('"', '\\"') for row in rows]
            shown = [f'"{text}"' for text in texts]
        else:
            shown = [f"{one}{CDL[what.dtype.str[1:]][1]}" for one in what.ravel()]
        lines.append(f" {name} = {', '.join(shown)} ;")
    text = path.with_suffix(".cdl")
    text.write_text("\n".join(lines + ["}"]))
    # Open MPI asks root for these, and looks for nothing else than the one process.
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    version = {"CDF-1": "1", "CDF-2": "2", "CDF-5": "5"}[format]
    subprocess.run(["ncmpigen", "-v", version, "-o", path, text], check=True, env=env)
    return lambda what: {"units": (2, "m")}


def cases(root):
    root.mkdir(parents=True)
    writers = {"netCDF-C": (by_netcdf, FORMATS), "scipy": (by_scipy, ["CDF-1", "CDF-2"])}
    if shutil.which("ncmpigen") and shutil.which("mpirun"):
        writers["PnetCDF"] = (by_pnetcdf, FORMATS)
    else:
        print("PnetCDF is not there: the packages pnetcdf-bin and openmpi-bin")
    for writer, (write, formats) in writers.items():
        for format in formats:
            for name, made in files(format):
                path = root / f"{writer}-{format}-{name}.nc"
                attributes = write(path, format, made)
                # scipy puts scalars where the second record belongs: netCDF-C refuses the file.
                is_broken = writer == "scipy" and name == "all"
                for variable, dimensions, what in made:
                    if is_broken and not variable.startswith("fixed"):
                        yield Case(f"{format} by {writer}, {name}: {variable}", path, None, variable,
                                   refused=(ENCZARR, "overlap"))
                        continue
                    yield Case(f"{format} by {writer}, {name}: {variable}", path, what, variable,
                               2 if what.dtype.kind == "S" else None, dimensions, typed=attributes(what))
    yield from ferret_cases()


# ----------------------------------------------------------------------------------------------------------------------
# Real files


def ferret_files():
    found = sorted(FERRET.glob("*.cdf")) + sorted(FERRET.glob("*.nc"))
    if not found:
        print("there are no real files: the package ferret-datasets")
    return found


def ferret_cases():
    """What netCDF-C reads, which scipy must read as well."""
    for path in ferret_files():
        with netCDF4.Dataset(path) as file, netcdf_file(path, "r", mmap=False) as by_scipy_:
            file.set_auto_maskandscale(False)
            file.set_auto_chartostring(False)
            for name, variable in file.variables.items():
                what = native(np.asarray(variable[...]))
                other = by_scipy_.variables[name][...] if variable.ndim else by_scipy_.variables[name].getValue()
                assert native(np.asarray(other)).tobytes() == what.tobytes(), (path, name)
                yield Case(f"CDF, real: {path.name} {name}", path, what, name, 2 if what.dtype.kind == "S" else None,
                           list(variable.dimensions))


# ----------------------------------------------------------------------------------------------------------------------
# What is not a case: lists, ncdump, files above 4 GiB, many hyperslabs

TYPES = {words[0]: dtype for dtype, words in CDL.items()}


def ncdump_header(path):
    """The variables of a file as ncdump tells them: name, type, shape, dimensions."""
    text = subprocess.run(["ncdump", "-h", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    lengths = {}
    for name, length, now in re.findall(r"^\t(\S+) = (\d+|UNLIMITED) ;(?: // \((\d+) currently\))?$", text, re.M):
        lengths[name] = int(now if length == "UNLIMITED" else length)
    for kind, name, dims in re.findall(r"^\t(\w+) (\w+)(?:\(([^)]*)\))? ;$", text, re.M):
        dims = dims.split(", ") if dims else []
        yield name, kind, tuple(lengths[d] for d in dims), tuple(dims)


def wrong_list(library, path):
    """What is wrong with the list of a file's variables."""
    if not shutil.which("ncdump"):
        return None
    names = {"byte": "int8", "char": "char", "short": "int16", "int": "int32", "float": "float32", "double": "float64",
             "ubyte": "uint8", "ushort": "uint16", "uint": "uint32", "int64": "int64", "uint64": "uint64"}
    due = [("", None)] + [(name, (names[kind], shape, dims)) for name, kind, shape, dims in ncdump_header(path)]
    found = library.list(path)
    return None if found == due else f"listed are {found}, not {due}"


def wrong_dump(library, path):
    """What is wrong with the values of the smaller variables, as ncdump shows them."""
    if not shutil.which("ncdump"):
        return None
    for name, kind, shape, _ in ncdump_header(path):
        if kind == "char" or not 0 < np.prod(shape) <= 20_000:
            continue
        text = subprocess.run(["ncdump", "-p", "9,17", "-v", name, path], check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        shown = re.search(rf"^ {name} =(.*?) ;$", text[text.index("\ndata:"):], re.M | re.S)[1]
        with library.open(path, name) as array:
            got = array.read(TYPES[kind]).ravel()
        texts = [one.strip() for one in shown.split(",")]
        # `_` stands for the fill value, of which ncdump does not show the digits.
        due = np.array([got[i] if one == "_" else one for i, one in enumerate(texts)], "f8").astype(TYPES[kind])
        if due.tobytes() != got.tobytes():
            return f"{name}: ncdump shows other values"
    return None


def random_hyperslab(shape, rng):
    start, count, stride = [], [], []
    for length in shape:
        first, step = rng.randrange(length), rng.choice([1, 1, 1, 2, 3, 7, 100, 1000])
        start.append(first)
        stride.append(step)
        count.append(rng.randint(1, min(60, (length - 1 - first) // step + 1)))
    return start, count, stride


def wrong_hyperslabs(library, path, name, number, rng):
    """What is wrong with random hyperslabs of a variable that netCDF-C reads as well."""
    with netCDF4.Dataset(path) as file, library.open(path, name) as array:
        variable = file[name]
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        for i in range(number):
            start, count, stride = random_hyperslab(variable.shape, rng)
            index = tuple(slice(s, s + (c - 1) * t + 1, t) for s, c, t in zip(start, count, stride))
            due = native(np.asarray(variable[index])).reshape(count)
            library.set_threads(1 + i % 2)
            if array.read(due.dtype, start, count, stride).tobytes() != due.tobytes():
                return f"{name}: the values of {start} {count} {stride} differ"
    return None


def make_many(path, format):
    """A file with many short records, and fixed variables of which one is cut into chunks."""
    with netCDF4.Dataset(path, "w", format=FORMATS[format]) as file:
        for name, length in zip(("time", "y", "x"), (None, *MANY[1:])):
            file.createDimension(name, length)
        file.createDimension("long", 5_000_000)
        for name, dtype, dimensions in [("a", "i2", ("time", "y", "x")), ("b", "f8", ("time", "x")),
                                        ("c", "i1", ("time",)), ("d", "f4", ("long",))]:
            variable = file.createVariable(name, dtype, dimensions)
            shape = [5_000_000 if d == "long" else dict(zip(("time", "y", "x"), MANY))[d] for d in dimensions]
            variable[...] = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    return ["a", "b", "c", "d"]


def make_huge(path, format):
    """A file above 4 GiB with holes: fixed variables, and records behind the first 4 GiB."""
    large = 1 << 20
    with netCDF4.Dataset(path, "w", format=FORMATS[format]) as file:
        file.set_fill_off()
        file.createDimension("time", None)
        file.createDimension("x", large)
        names = ["records", "others"]
        if format == "CDF-5":
            file.createDimension("rows", HUGE // (8 * large))
            names.append("fixed")
            fixed = file.createVariable("fixed", "f8", ("rows", "x"))
            fixed[-1, -1000:] = np.arange(1000)
            fixed[100, 5:500:3] = 2.5
        for name in names[:2]:
            file.createVariable(name, "f4", ("time", "x"))
        last = HUGE // (8 * large)
        for record in (0, 3, last - 1, last):
            for name in names[:2]:
                file[name][record, ::100] = np.arange(len(range(0, large, 100))) + record
    assert path.stat().st_size > 1 << 32
    return names


def check_all(library, root):
    """How many things were looked at, and how many of them are wrong."""
    root.mkdir(parents=True)
    if not shutil.which("ncdump"):
        print("ncdump is not there: the package netcdf-bin")
    rng, num, failed = random.Random(3), 0, 0

    def note(what, wrong):
        nonlocal num, failed
        num, failed = num + 1, failed + bool(wrong)
        if wrong:
            print(f"netCDF classic: {what}: {wrong}")

    for path in ferret_files():
        note(f"{path.name}, its list", wrong_list(library, path))
        note(f"{path.name}, by ncdump", wrong_dump(library, path))
    made = [(root / f"{maker.__name__}-{format}.nc", format, maker) for maker, formats in [
        (make_many, FORMATS), (make_huge, ["CDF-2", "CDF-5"])] for format in formats]
    places = [(path, name) for path, format, maker in made for name in maker(path, format)]
    for path, name in places:
        note(f"{path.name}, its list", wrong_list(library, path))
        note(path.name, wrong_hyperslabs(library, path, name, -(-HYPERSLABS // len(places)), rng))
    for path, *_ in made:
        path.unlink()
    return num, failed
