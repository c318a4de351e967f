"""HDF5 files as h5py, netCDF-C and h5netcdf write them, with everything at random. h5py reads what is to be read."""

import ctypes
import pathlib
import random

import h5netcdf
import h5netcdf.legacyapi
import h5py
import hdf5plugin
import netCDF4
import numpy as np

from cases import CHAR, ENCZARR, ENOFILTER, ENOTBUILT, ENOTFOUND, ENOTNC, ENOTVAR, Case

FILES = 40
VERSIONS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
TYPES = ["i1", "u1", "<i2", ">i2", "<u2", "<i4", ">u4", "<i8", ">u8", "<f4", ">f4", "<f8", ">f8"]


def some_values(rng, shape, dtype):
    numbers = np.random.default_rng(rng.randrange(1 << 30)).integers(0, 100, shape)
    return numbers.astype(dtype)


def some_filters(rng, dtype):
    """Arguments of create_dataset."""
    filters = {"shuffle": rng.random() < 0.5, "fletcher32": rng.random() < 0.3}
    how = rng.choice(["none", "gzip", "gzip", "zstd", "blosc", "bzip2", "lzf", "lz4", "bitshuffle", "scaleoffset"])
    if how == "gzip":
        filters |= {"compression": "gzip", "compression_opts": rng.randint(1, 9)}
    elif how == "lzf":
        filters |= {"compression": "lzf"}
    elif how == "scaleoffset":
        # Floating-point numbers with some digits; nothing that changes values may come before a checksum.
        digits = rng.choice([0, 2, 7]) if dtype.kind in "iu" else rng.randint(0, 4)
        filters |= {"scaleoffset": digits, "fletcher32": False}
    elif how != "none":
        filters |= dict({"lz4": hdf5plugin.LZ4(rng.choice([0, 16, 100])),
                         "bitshuffle": hdf5plugin.Bitshuffle(rng.choice([0, 8, 64]),
                                                             rng.choice(["none", "lz4", "zstd"])),
                         "zstd": hdf5plugin.Zstd(rng.randint(1, 9)), "bzip2": hdf5plugin.BZip2(),
                         "blosc": hdf5plugin.Blosc(rng.choice(["lz4", "zstd", "zlib", "blosclz"]), 5,
                                                   rng.randint(0, 2))}[how])
    return filters


def make_array(rng, group, name):
    """An array of any layout, of which some is written."""
    shape = tuple(rng.randint(1, 40) for _ in range(rng.randint(0, 4)))
    while np.prod(shape, dtype=int) > 20_000:
        shape = shape[1:]
    dtype = np.dtype(rng.choice(TYPES))
    how = {"fillvalue": rng.randint(0, 100)} if rng.random() < 0.5 else {}
    if shape and rng.random() < 0.8:
        how["chunks"] = tuple(rng.randint(1, max(1, min(length, 12))) for length in shape)
        how["maxshape"] = tuple(rng.choice([length, length, length + 30, None]) for length in shape)
        how |= some_filters(rng, dtype)
    array = group.create_dataset(name, shape, dtype, **how)
    for _ in range(rng.randint(0, 4)):
        if not shape:
            array[()] = some_values(rng, (), dtype)
            continue
        part = []
        for length in shape:
            begin = rng.randrange(length)
            part.append(slice(begin, rng.randint(begin + 1, length)))
        array[tuple(part)] = some_values(rng, [one.stop - one.start for one in part], dtype)
    if shape and "chunks" in how and rng.random() < 0.3:
        d = rng.randrange(len(shape))
        if how["maxshape"][d] is None:
            array.resize(shape[d] + rng.randint(1, 50), d)
    for i in range(rng.choice([0, 1, 3, 12])):
        array.attrs[f"a{i}"] = np.int32(i)


def at_random(root):
    rng = random.Random(9)
    for i in range(FILES):
        path = root / f"{i}.h5"
        version = rng.choice(VERSIONS)
        block, strategy = rng.choice([(0, None), (0, None), (512, None), (4096, "page")])
        with h5py.File(path, "w", libver=(version, "latest"), userblock_size=block, track_order=rng.random() < 0.3,
                       fs_strategy=strategy) as file:
            groups = [file, file.create_group("g"), file.create_group("g/h")]
            for j in range(rng.choice([3, 6, 25])):
                make_array(rng, rng.choice(groups), f"v{j}")
        yield from cases_of(path, f"{path.name} ({version})")


def cases_of(path, name):
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, node: found.append(name) if isinstance(node, h5py.Dataset) else None)
        for array in found:
            node = file[array]
            if b"not a netCDF variable" in np.bytes_(node.attrs.get("NAME", b"")):
                continue
            is_text = node.dtype.kind == "O"
            values = np.asarray(node.asstr()[()] if is_text else node[()], object if is_text else None)
            attributes = {key: told(node.attrs[key]) for key in node.attrs if key.startswith("a")}
            dimensions = None
            if "DIMENSION_LIST" in node.attrs:
                dimensions = [file[scales[0]].name.rsplit("/", 1)[1] for scales in node.attrs["DIMENSION_LIST"]]
            yield Case(f"{name}, {array}", path, values, array, type_of(values), dimensions=dimensions,
                       attributes=attributes if dimensions is None and "CLASS" not in node.attrs else None)


def told(value):
    """An attribute's value: a text, texts or an integer."""
    return value if isinstance(value, str) else value.tolist()


def type_of(values):
    """The type's number in netCDF, where texts of one byte are not texts."""
    return CHAR if values.dtype == np.dtype("S1") else None


def long_indices(root):
    """Indices of many levels, super blocks and pages, of which chunks here and there are read."""
    for version in ["earliest", "latest"]:
        path = root / f"long-{version}.h5"
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            for name, maxshape in [("fixed", (300, 400)), ("extensible", (None, 400)), ("tree", (None, None))]:
                for filters in [{}, {"compression": "gzip"}]:
                    array = file.create_dataset(name + ("_filtered" if filters else ""), (300, 400), "<i2",
                                                chunks=(2, 3), maxshape=maxshape, fillvalue=-1, **filters)
                    array[10:290, 7:390] = np.arange(280 * 383, dtype="i4").reshape(280, 383) % 1000
        yield from cases_of(path, path.name)


def of_netcdf(root):
    for kind in ["NETCDF4", "NETCDF4_CLASSIC"]:
        path = root / f"{kind}.nc"
        with netCDF4.Dataset(path, "w", format=kind) as file:
            for name, length in [("time", None), ("y", 20), ("x", 30)]:
                file.createDimension(name, length)
            for dtype in ["i1", "i2", "i4", "f4", "f8"]:
                for zlib in (False, True):
                    dimensions = ("time", "y", "x")
                    variable = file.createVariable(f"{dtype}_{zlib}", dtype, dimensions, zlib=zlib, shuffle=zlib)
                    variable[:5] = np.arange(3000).reshape(5, 20, 30) % 100
            file.createVariable("x", "f8", ("x",))[:] = np.arange(30)
            file.createVariable("big", ">i4", ("y", "x"), endian="big")[:] = np.arange(600).reshape(20, 30)
        yield from cases_of(path, path.name)


def of_h5netcdf(root):
    """Both of its interfaces: its own, and the one that is netCDF4's."""
    path = root / "h5netcdf.nc"
    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"time": None, "y": 20, "x": 30}
        file.resize_dimension("time", 5)
        values = np.arange(3000).reshape(5, 20, 30) % 100
        for dtype in TYPES:
            for name, filters in [(dtype, {}), (f"g/{dtype}", {"compression": "gzip", "shuffle": True})]:
                variable = file.create_variable(name, ("time", "y", "x"), dtype, chunks=(2, 20, 11), fillvalue=7,
                                                fletcher32=bool(filters), **filters)
                variable[:] = values
        file.create_variable("x", ("x",), "f8")[:] = np.arange(30)
        file.create_variable("scalar", (), "i4")[...] = 5
    yield from cases_of(path, path.name)
    path = root / "h5netcdf-legacy.nc"
    with h5netcdf.legacyapi.Dataset(path, "w") as file:
        group = file.createGroup("g")
        for name, length in [("time", None), ("y", 20)]:
            group.createDimension(name, length)
        for zlib in (False, True):
            variable = group.createVariable(f"v{zlib}", "f4", ("time", "y"), zlib=zlib, shuffle=zlib)
            group.resize_dimension("time", 6)
            variable[:] = np.arange(120).reshape(6, 20)
    yield from cases_of(path, path.name)


def szip(root):
    """Every option of the filter, on values of which some are near to each other, some far, and many zero."""
    path, rng = root / "szip.h5", np.random.default_rng(4)
    with h5py.File(path, "w") as file:
        for dtype in TYPES:
            for coding in ["nn", "ec"]:
                for block in [2, 8, 14, 32]:
                    for shape, chunks in [((1000,), (70,)), ((61, 47), (10, 33)), ((5, 40, 130), (2, 40, 130))]:
                        steps = rng.choice([0, 0, 0, 1, 3, 1000], int(np.prod(shape))) * rng.integers(-1, 2)
                        values = (np.cumsum(steps) * (rng.random() < 0.8)).astype("i8")
                        values[rng.integers(0, values.size, 9)] = rng.integers(-1 << 62, 1 << 62, 9)
                        name = f"{dtype}_{coding}_{block}_{len(shape)}"
                        file.create_dataset(name, data=values.astype(dtype).reshape(shape), chunks=chunks,
                                            compression="szip", compression_opts=(coding, block),
                                            shuffle=block == 14 and len(shape) == 2)
    yield from cases_of(path, path.name)


def libhdf5():
    """h5py's own, for what h5py has no functions for."""
    [path] = (pathlib.Path(h5py.__file__).parents[1] / "h5py.libs").glob("libhdf5-*.so*")
    library = ctypes.CDLL(str(path))
    for name, arguments in [("H5Pset_shared_mesg_nindexes", [ctypes.c_int64, ctypes.c_uint]),
                            ("H5Pset_shared_mesg_index", [ctypes.c_int64] + [ctypes.c_uint] * 3),
                            ("H5Pset_shared_mesg_phase_change", [ctypes.c_int64] + [ctypes.c_uint] * 2),
                            ("H5Pset_link_phase_change", [ctypes.c_int64] + [ctypes.c_uint] * 2),
                            ("H5Pset_attr_phase_change", [ctypes.c_int64] + [ctypes.c_uint] * 2),
                            ("H5Pset_istore_k", [ctypes.c_int64, ctypes.c_uint]),
                            ("H5Pset_deflate", [ctypes.c_int64, ctypes.c_uint]),
                            ("H5Pset_fletcher32", [ctypes.c_int64])]:
        getattr(library, name).argtypes = arguments
    return library


def shared_messages(root):
    """Spaces, types, fill values, filters and attributes that objects share, in one index or several, as a list or a
    tree."""
    library, space, kind, fill, filters, attribute = libhdf5(), 1 << 1, 1 << 3, 1 << 5, 1 << 11, 1 << 12
    everything = space | kind | fill | filters | attribute
    for name, indices, phases in [("one", [everything], (50, 40)), ("tree", [everything], (0, 0)),
                                  ("several", [space | kind, fill | filters, attribute], (2, 0)),
                                  ("attributes", [attribute], (50, 40)), ("types", [kind], (50, 40))]:
        plist, path = h5py.h5p.create(h5py.h5p.FILE_CREATE), root / f"shared-{name}.h5"
        assert library.H5Pset_shared_mesg_nindexes(plist.id, len(indices)) == 0
        for number, flags in enumerate(indices):
            assert library.H5Pset_shared_mesg_index(plist.id, number, flags, 8) == 0
        assert library.H5Pset_shared_mesg_phase_change(plist.id, *phases) == 0
        with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, fcpl=plist)) as file:
            for number in range(30):
                made = file.create_dataset(f"v{number}", data=np.arange(60.0).reshape(6, 10) + number // 3,
                                           chunks=(4, 10), compression="gzip", fillvalue=number % 2)
                for i in range(20):
                    made.attrs[f"a{i}"] = np.int32(i)
        yield from cases_of(path, path.name)


def superblocks(root):
    """Superblocks of version 1, which have the width of the trees, and of the others; addresses and lengths of 4 and 8
    bytes, also of different sizes. libhdf5 finds no unlimited dimension in files of the latest version whose lengths
    have 4 bytes."""
    library = libhdf5()
    for tree, address, length, version, due in [
            (64, 8, 8, "earliest", 1), (32, 8, 8, "earliest", 0), (32, 4, 4, "earliest", 0), (16, 4, 4, "earliest", 1),
            (32, 4, 8, "earliest", 0), (32, 8, 4, "earliest", 0), (16, 8, 4, "earliest", 1),
            (32, 8, 8, "v108", 2), (32, 8, 8, "latest", 3), (32, 4, 8, "latest", 3)]:
        path = root / f"superblock-{due}-{tree}-{address}-{length}.h5"
        created, opened = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        assert library.H5Pset_istore_k(created.id, tree) == 0
        created.set_sizes(address, length)
        opened.set_libver_bounds(*{"earliest": (h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_LATEST),
                                   "v108": (h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V18),
                                   "latest": (h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)}[version])
        with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, created, opened)) as file:
            made = file.create_dataset("g/v", (300, 20), "<i4", chunks=(1, 7), maxshape=(None, 20), compression="gzip")
            made[7:290] = np.arange(283 * 20).reshape(283, 20)
            made.attrs["a0"], made.attrs["a1"] = "b\u00e4r", ["one", "two22", "three"]
            file.create_dataset("texts", data=["alpha", "be", "", "delta " * 9, "e"], dtype=h5py.string_dtype())
            file["x"] = np.arange(3)
            file["x"].make_scale("x")
            file["of_x"] = np.arange(3.0)
            file["of_x"].dims[0].attach_scale(file["x"])
        assert path.read_bytes()[8] == due, path
        yield from cases_of(path, path.name)


def conventions(root):
    """Names that dimension scales keep for themselves, on other objects."""
    path = root / "conventions.h5"
    with h5py.File(path, "w") as file:
        for name in ["own", "x", "of_x"]:
            file[name] = np.arange(3.0)
        file["own"].attrs["CLASS"], file["own"].attrs["NAME"] = "IMAGE", "name"
        file["x"].make_scale("x")
        file["x"].attrs["a0"] = np.int32(5)
        file["of_x"].dims[0].attach_scale(file["x"])
    numbers = np.arange(3.0)
    yield Case("a user's attributes named CLASS and NAME", path, numbers, "own",
               attributes={"CLASS": "IMAGE", "NAME": "name"})
    yield Case("a scale's attributes", path, numbers, "x", attributes={"a0": 5}, dimensions=["x"])


def filtered_heaps(root):
    """Groups whose links are in a heap that goes through filters."""
    library, path = libhdf5(), root / "heaps.h5"
    with h5py.File(path, "w", libver="latest") as file:
        for name, links in [("few", 3), ("many", 700)]:
            plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
            assert library.H5Pset_link_phase_change(plist.id, 0, 0) == 0 and library.H5Pset_deflate(plist.id, 6) == 0
            assert name == "few" or library.H5Pset_fletcher32(plist.id) == 0
            group = h5py.Group(h5py.h5g.create(file.id, name.encode(), gcpl=plist))
            for number in range(links):
                # Some names are so long that they are stored by themselves.
                long = "x" * (5000 if number % 300 == 2 else 40)
                group[f"{number}_{long}"] = np.int32(number)
    yield from cases_of(path, path.name)


def external_links(root):
    """Links to other files, where the caller allows them: from the file's directory on, and to whole paths. libhdf5 is
    kept from the directory of this program, where it looks, too."""
    from binding import nczchunk
    root = root / "links"
    (root / "sub" / "deeper").mkdir(parents=True, exist_ok=True)
    names = ["main.h5", "sub/one.h5", "sub/deeper/two.h5"]
    for i, name in enumerate(names):
        with h5py.File(root / name, "w", libver=(VERSIONS[i], "latest")) as file:
            for group in ["", "g/", "g/h/"]:
                file.create_dataset(f"{group}v", data=np.arange(60.0).reshape(6, 10) + 100 * i + len(group),
                                    chunks=(4, 3), compression="gzip")
            file["g/soft"], file["g/h/root"] = h5py.SoftLink("h/v"), h5py.SoftLink("/v")
    links = {"main.h5": {"one": ("sub/one.h5", "/v"), "two": ("./sub/deeper/two.h5", "g/h/v"),
                         "group": ("sub/one.h5", "g"), "all": ("sub/deeper/../deeper/two.h5", "/"),
                         "whole": (str(root / names[1]), "/g/v"),
                         "chain": ("sub/one.h5", "/on"), "by_soft": ("sub/one.h5", "/g/soft")},
             "sub/one.h5": {"on": ("deeper/two.h5", "/on"), "g/up": ("../main.h5", "/v")},
             "sub/deeper/two.h5": {"on": ("../../main.h5", "/g/v")}}
    wrong = {"circle": ("main.h5", "/circle"), "ring": ("sub/one.h5", "/ring"), "no_file": ("none.h5", "/v"),
             "no_object": ("sub/one.h5", "/none"), "no_hdf5": ("text", "/v"), "nowhere": ("/no/such/file.h5", "/v")}
    (root / "text").write_text("This is not HDF5.")
    for name, all_links in links.items():
        with h5py.File(root / name, "r+") as file:
            for link, (other, path) in all_links.items():
                file[link] = h5py.ExternalLink(other, path)
    with h5py.File(root / "main.h5", "r+") as file:
        file["soft"] = h5py.SoftLink("/group/up")
        for link, (other, path) in wrong.items():
            file[link] = h5py.ExternalLink(other, path)
    with h5py.File(root / "sub/one.h5", "r+") as file:
        file["ring"] = h5py.ExternalLink("../main.h5", "/ring")
    path = root / "main.h5"
    allowed = nczchunk.with_external_links(path)
    with h5py.File(path) as file:
        for array in ["one", "two", "whole", "chain", "by_soft", "soft", "group/v", "group/h/v", "group/soft",
                      "group/up", "group/h/root", "all/v", "all/g/soft", "all/on"]:
            yield Case(f"an external link, {array}", allowed, np.asarray(file[array][()]), array)
            yield Case(f"an external link that is not allowed, {array}", path, array=array,
                       refused=(ENOTBUILT, "another file"))
        for array, status in {"circle": ENCZARR, "ring": ENCZARR, "no_file": ENOTFOUND, "no_object": ENOTFOUND,
                              "no_hdf5": ENOTNC, "nowhere": ENOTFOUND}.items():
            try:
                file[array]
                raise AssertionError(f"libhdf5 opens {array}")
            except (KeyError, OSError):
                yield Case(f"an external link that leads nowhere, {array}", allowed, array=array,
                           refused=(status, wrong[array][0]))


def refused(root):
    path = root / "refused.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("sperr", data=np.ones((40, 40)), chunks=(40, 40), **dict(hdf5plugin.Sperr()))
        file.create_dataset("reference", data=np.array([file.ref], dtype=h5py.ref_dtype))
        file.create_virtual_dataset("virtual", h5py.VirtualLayout((4,), "<i4"))
        file["outside"] = h5py.ExternalLink("other.h5", "/x")
        file["circle"] = h5py.SoftLink("circle")
        file.create_group("group")
    yield Case("an unknown filter", path, array="sperr", refused=(ENOFILTER, "32028"))
    yield Case("references", path, array="reference", refused=(ENOTBUILT, "references"))
    yield Case("a virtual dataset", path, array="virtual", refused=(ENOTBUILT, "virtual"))
    yield Case("an external link", path, array="outside", refused=(ENOTBUILT, "another file"))
    yield Case("a soft link to itself", path, array="circle", refused=(ENCZARR, "soft links"))
    yield Case("no such array", path, array="no", refused=(ENOTFOUND, "no"))
    yield Case("a group", path, array="group", refused=(ENOTVAR, "not an array"))


def cases(root):
    root.mkdir(parents=True, exist_ok=True)
    yield from at_random(root)
    yield from long_indices(root)
    yield from of_netcdf(root)
    yield from of_h5netcdf(root)
    yield from szip(root)
    yield from shared_messages(root)
    yield from superblocks(root)
    yield from conventions(root)
    yield from filtered_heaps(root)
    yield from external_links(root)
    yield from refused(root)
