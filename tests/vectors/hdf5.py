#!/usr/bin/env python3
"""Writes hdf5.bin.gz: small HDF5 files of all layouts, indices, groups and attributes, and what h5py reads of them.

    pip install h5py==3.16.0 netCDF4==1.7.5.1.post1 hdf5plugin==7.1.0 numpy==2.4.6
    tests/vectors/hdf5.py tests/vectors/hdf5.bin.gz

It is a list of files: a line with the name and the number of bytes, and the bytes. For each array that is to be read of
the file before follows a line that begins with a space: its name, its type, its shape, the names of its dimensions, and
the number of bytes of its values, little-endian and row-major; texts of any length end with a zero each. Of an array
that is to be refused the line has `refused` and a word of what is said.
"""

import ctypes
import gzip
import pathlib
import sys
import tempfile

import h5py
import hdf5plugin
import netCDF4
import numpy as np


def values(shape, dtype="<i4", seed=1):
    """Numbers that are compressed well, but are not the same everywhere."""
    count = int(np.prod(shape))
    numbers = (np.arange(count) * seed // 3 + np.arange(count) % 7) % 100
    return numbers.reshape(shape).astype(dtype)


class Made:
    """The files that have been made, each with what is to be read of it."""

    def __init__(self, directory):
        self.directory, self.files = pathlib.Path(directory), []

    def path(self, name):
        return self.directory / name

    def add(self, name, refused=(), dims=None, skip=()):
        """Adds a file with all of its arrays; some are refused with a word."""
        arrays, dims = [], dims or {}

        def visit(path, array):
            if isinstance(array, h5py.Dataset) and path not in dict(refused) and path not in skip:
                arrays.append((path.replace("_nc4_non_coord_", ""), expected(array), dims.get(path, [])))

        # libhdf5 reads texts with a fill value only where it may write.
        data = self.path(name).read_bytes()
        with h5py.File(self.path(name), "r+") as file:
            file.visititems(visit)
        self.files.append((name, data, arrays, list(refused)))


def expected(array):
    """The type of an array as the library calls it, and its values."""
    kind = array.dtype
    if h5py.check_string_dtype(kind) and h5py.check_string_dtype(kind).length is None:
        return "string", array.shape, [text.decode() for text in np.asarray(array[()]).ravel()]
    if kind.subdtype:
        kind = np.dtype(f"V{kind.itemsize}")
        found = np.empty(array.shape, kind)
    else:
        found = np.asarray(array[()])
    base = found.dtype
    name = {"S1": "char"}.get(base.str[1:], base.name if base.kind in "iufc" else base.str[1:])
    if base.kind == "b":
        name, found = "int8", found.view("i1")
    if base.kind == "V":
        # As it is stored.
        name, found = f"V{base.itemsize}", np.empty(array.shape, f"V{base.itemsize}")
        array.id.read(h5py.h5s.ALL, h5py.h5s.ALL, found, array.id.get_type())
    elif base.byteorder == ">":
        found = found.astype(base.newbyteorder("<"))
    return name, array.shape, found.tobytes()


def fill_in(data, chunk=2):
    """Writes some chunks, so that some stay absent."""
    shape = data.shape
    if len(shape) == 1:
        data[: shape[0] // 2] = values((shape[0] // 2,), data.dtype)
        data[-1] = 99
    else:
        data[0, :] = values(shape[1:], data.dtype)
        data[-1, -3:] = 77
    return data


def layouts(file):
    """All layouts and indices that a version of the library chooses."""
    create = file.create_dataset
    create("scalar", data=np.float64(1.5))
    create("contiguous", data=values((3, 5), ">i2"))
    create("large", data=values((40, 30), "<f8"))
    create("unwritten", (4, 3), "<f4", fillvalue=-9.5)
    create("none", (0, 3), "<i4", maxshape=(None, 3), chunks=(2, 3))
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space, kind = h5py.h5s.create_simple((3, 2)), h5py.h5t.STD_U16BE
    h5py.Dataset(h5py.h5d.create(file.id, b"compact", kind, space, compact))[...] = values((3, 2), ">u2")
    create("single", data=values((5, 4)), chunks=(5, 4))
    create("single_filtered", data=values((5, 4)), chunks=(5, 4), compression="gzip")
    fill_in(create("fixed", (7, 9), "<i4", chunks=(2, 4), fillvalue=-1))
    fill_in(create("fixed_filtered", (7, 9), "<i4", chunks=(2, 4), fillvalue=-1, compression="gzip", shuffle=True))
    fill_in(create("fixed_limited", (7, 9), "<i2", chunks=(2, 4), maxshape=(20, 30), fillvalue=-1))
    fill_in(create("extensible", (7, 9), "<f4", chunks=(2, 4), maxshape=(None, 9), fillvalue=np.nan))
    fill_in(create("extensible_last", (5, 40), ">f8", chunks=(2, 3), maxshape=(5, None), fletcher32=True))
    fill_in(create("extensible_long", (300,), "<i2", chunks=(2,), maxshape=(None,), compression="gzip"))
    fill_in(create("tree", (9, 30), "<u2", chunks=(2, 3), maxshape=(None, None), fillvalue=5))
    fill_in(create("tree_filtered", (9, 30), "<u8", chunks=(2, 3), maxshape=(None, None), compression="gzip",
                   shuffle=True, fletcher32=True))
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((2, 4))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple((5, 9))
    h5py.Dataset(h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I32LE, space, early))[1:, :] = values((4, 9))
    # Chunks that some filters were left out of.
    skipped = create("skipped", (6, 4), "<i2", chunks=(2, 4), compression="gzip", shuffle=True)
    skipped[...] = values((6, 4), "<i2")
    skipped.id.write_direct_chunk((2, 0), values((2, 4), "<i2", 5).tobytes(), filter_mask=3)
    shuffled = np.frombuffer(values((2, 4), "<i2", 4).tobytes(), "u1").reshape(-1, 2).T.tobytes()
    skipped.id.write_direct_chunk((4, 0), shuffled, filter_mask=2)


def types(file):
    """Elements of all types, in both byte orders."""
    create = file.create_dataset
    for name in ["i1", "u1"]:
        create(name, data=values((3, 4), name))
    for order in "<>":
        for name in ["i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]:
            create(("little_" if order == "<" else "big_") + name, data=values((3, 4), order + name))
    create("complex", data=values((4,), "<c8") * 1j)
    create("bool", data=np.array([True, False, True]))
    create("enum", data=values((4,), "<i2"), dtype=h5py.enum_dtype({"a": 1, "b": 2}, "<i2"))
    create("char", data=np.array([b"a", b"", b"c"], "S1"))
    create("text", data=np.array([b"abc", b"", b"defgh"], "S5"))
    create("structure", data=np.array([(1, 2.5), (3, 4.5)], [("a", ">i2"), ("b", "<f8")]))
    create("opaque", data=np.array([b"abcd", b"efgh"], "V4"))
    create("strings", data=["one", "", "thr\u00e9e", "x" * 300], dtype=h5py.string_dtype())
    long = create("strings_chunked", (9,), h5py.string_dtype(), chunks=(4,), compression="gzip", fillvalue="none")
    long[:4] = ["a", "bc", "", "d"]
    create("string", data="alone", dtype=h5py.string_dtype())
    create("reference", data=np.array([file.ref], dtype=h5py.ref_dtype))
    ragged = create("ragged", (2,), h5py.vlen_dtype("<i4"))
    ragged[0], ragged[1] = [1, 2, 3], [4]
    h5py.h5d.create(file.id, b"null", h5py.h5t.STD_I32LE, h5py.h5s.create(h5py.h5s.NULL))
    file["kind"] = np.dtype("<i4")
    create("committed", data=values((3,)), dtype=file["kind"])


def integers_of_bits(kind, bits, offset=0):
    kind = kind.copy()
    kind.set_precision(bits)
    kind.set_offset(offset)
    return kind


def with_filters(file, name, kind, data, filters, chunk=None):
    """An array of a type that numpy does not have, with filters by their numbers."""
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if filters is not None:
        how.set_chunk(chunk or data.shape)
    for number in filters or []:
        how.set_filter(number, h5py.h5z.FLAG_OPTIONAL)
    space = h5py.h5s.create_simple(data.shape)
    array = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, how))
    if data.dtype.kind == "V":
        array.id.write(h5py.h5s.ALL, h5py.h5s.ALL, data, kind)
    else:
        array[...] = data


def packed(file):
    """Numbers of a few bits, and all filters that pack them."""
    nbit, shuffle, deflate = 5, 2, 1
    signed = values((7, 9), "<i4") * 17 - 800
    for name, kind, bits, offset in [("i2", h5py.h5t.STD_I16LE, 12, 3), ("big_i4", h5py.h5t.STD_I32BE, 11, 14),
                                     ("u1", h5py.h5t.STD_U8LE, 5, 2), ("i8", h5py.h5t.STD_I64LE, 40, 0),
                                     ("big_u8", h5py.h5t.STD_U64BE, 63, 1), ("u4", h5py.h5t.STD_U32LE, 17, 8)]:
        kind = integers_of_bits(kind, bits, offset)
        data = signed if "i" in name[-2:] else abs(signed) % 31
        with_filters(file, f"bits_{name}", kind, data, None)
        with_filters(file, f"bits_chunked_{name}", kind, data, [shuffle, deflate], (3, 4))
        with_filters(file, f"nbit_{name}", kind, data, [nbit], (3, 4))
        with_filters(file, f"nbit_deflate_{name}", kind, data, [nbit, deflate], (3, 4))
    with_filters(file, "nbit_whole", h5py.h5t.IEEE_F32LE, values((5, 4), "<f4"), [nbit])
    parts = h5py.h5t.create(h5py.h5t.COMPOUND, 24)
    few = integers_of_bits(h5py.h5t.STD_I16BE, 9, 4)
    parts.insert(b"a", 1, few)
    parts.insert(b"b", 4, h5py.h5t.IEEE_F64LE)
    parts.insert(b"c", 13, h5py.h5t.array_create(few, (2, 2)))
    parts.insert(b"d", 21, h5py.h5t.py_create(np.dtype("S3")))
    raw = np.frombuffer(values((10, 24), "u1").tobytes(), "V24")
    with_filters(file, "nbit_structure", parts, raw, [nbit], (4,))
    few = h5py.h5t.array_create(integers_of_bits(h5py.h5t.STD_I32LE, 10, 8), (3,))
    with_filters(file, "nbit_array", few, np.frombuffer(values((5, 12), "u1").tobytes(), "V12"), [nbit], (4,))
    create = file.create_dataset
    for order in "<>":
        for name in ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]:
            full = create(f"offset_{order == '>'}_{name}", (9, 10), order + name, chunks=(4, 5), scaleoffset=0,
                          fillvalue=99, shuffle=name == "u2")
            full[:7] = values((7, 10), order + name) - (50 if name[0] == "i" else 0) + (1 << 40 if "8" in name else 0)
        for name in ["f4", "f8"]:
            full = create(f"offset_{order == '>'}_{name}", (9, 10), order + name, chunks=(4, 5), scaleoffset=3,
                          fillvalue=-9, compression="gzip" if name == "f8" else None)
            full[:7] = values((7, 10), order + name) / 7 - 3
    create("offset_same", data=np.full((4, 4), 7, "<i4"), chunks=(4, 4), scaleoffset=0)
    create("offset_5", data=values((40,), "<i4") % 30 - 9, chunks=(7,), scaleoffset=5)
    create("offset_full", data=np.array([-2**31, 2**31 - 1, 0, 5], "<i4"), chunks=(4,), scaleoffset=0)
    create("offset_full_big", data=np.array([-2**31, 2**31 - 1, 0, 5], ">i4"), chunks=(4,), scaleoffset=0)
    create("offset_32", data=values((9,)), chunks=(4,), scaleoffset=32)
    create("offset_large", data=np.array([1e300, -1e300, 3.25]), chunks=(3,), scaleoffset=2)
    long = values((50, 70), "<i4")
    create("lzf", data=long, chunks=(30, 30), compression="lzf")
    create("lzf_shuffled", data=long.astype("<f8"), chunks=(50, 70), compression="lzf", shuffle=True)
    create("lzf_random", data=np.random.default_rng(1).bytes(500), dtype="V500", shape=(1,), chunks=(1,),
           compression="lzf")
    for size in [0, 64, 1000]:
        create(f"lz4_{size}", data=long, chunks=(30, 30), **dict(hdf5plugin.LZ4(size)))
    create("lz4_random", data=np.frombuffer(np.random.default_rng(1).bytes(500), "<i4"), chunks=(60,),
           **dict(hdf5plugin.LZ4()))
    for inner in ["none", "lz4", "zstd"]:
        for name in ["i1", "<i2", "<f4", ">f8"]:
            create(f"bitshuffle_{inner}_{name[-2:]}", data=long.astype(name), chunks=(30, 43),
                   **dict(hdf5plugin.Bitshuffle(cname=inner, nelems=64 if name == "<i2" else 0)))
    create("bitshuffle_V20", data=np.frombuffer(long.tobytes(), "V20"), chunks=(300,), **dict(hdf5plugin.Bitshuffle()))


TYPES_REFUSED = [("reference", "references"), ("ragged", "variable-length sequences"), ("null", "null")]


def attributes(at):
    """Attributes of all types."""
    at["int"], at["ints"] = np.int32(-5), np.array([1, 2, 3], ">i2")
    at["float"], at["half"] = np.float32(0.5), np.float16(1.5)
    at["text"], at["texts"] = "b\u00e4r", ["a", "bc", ""]
    at["fixed"], at["many_fixed"] = np.bytes_("abc"), np.array([b"ab", b"c"], "S2")
    at["bool"], at["empty"] = np.True_, h5py.Empty("S1")
    at["structure"] = np.array((1, 2), [("a", "<i4"), ("b", "<i4")])


def left_out(file):
    """Attributes of types that netCDF has, though not as numbers of all bits, and of types that it lacks."""
    file.attrs["enum"] = np.array(2, h5py.enum_dtype({"a": 1, "b": 2}, "<i2"))
    few = h5py.h5a.create(file.id, b"bits", integers_of_bits(h5py.h5t.STD_I16LE, 12, 3), h5py.h5s.create_simple((3,)))
    few.write(np.array([5, -7, 2047], "<i2"))
    array = file.create_dataset("x", data=np.int16([1, 2]))
    for name in ["/", "x"]:
        at = file[name].attrs
        at["structure"] = np.array((1, 2.5), [("a", "<i4"), ("b", "<f8")])
        at["opaque"] = np.void(b"abcd")
        at["complex"] = np.complex64(1 + 2j)
        at["reference"], at["region"] = file["x"].ref, array.regionref[:1]
        at.create("ragged", np.array([np.int32([1, 2]), np.int32([3])], object), dtype=h5py.vlen_dtype("<i4"))
        at.create("array", np.zeros((), "(3,)f8"), dtype=np.dtype("(3,)f8"))
        at["units"] = "K"
    x2 = file.create_dataset("x2", data=np.int16([1, 2]))
    x2.dims[0].label = "x"
    array.make_scale("x")
    x2.dims[0].attach_scale(array)


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = Made(directory)
        for libver in ["earliest", "v108", "v110", "latest"]:
            with h5py.File(made.path(f"layouts-{libver}.h5"), "w", libver=(libver, "latest")) as file:
                layouts(file)
            made.add(f"layouts-{libver}.h5")
        for libver in ["earliest", "latest"]:
            with h5py.File(made.path(f"types-{libver}.h5"), "w", libver=(libver, "latest")) as file:
                types(file)
            made.add(f"types-{libver}.h5", TYPES_REFUSED)
            with h5py.File(made.path(f"groups-{libver}.h5"), "w", libver=(libver, "latest"), userblock_size=1024,
                           track_order=libver == "latest") as file:
                attributes(file.attrs)
                few = file.create_group("a/few")
                few["x"] = values((3,))
                attributes(few["x"].attrs)
                many = file.create_group("many")
                for i in range(40):
                    many.create_dataset(f"array {i}", data=np.int32(i))
                    many.attrs[f"attribute {i}"] = i
                few["back"] = file["a"]
                few["soft"] = h5py.SoftLink("/many/array 7")
                few["near"] = h5py.SoftLink("x")
                few["circle"] = h5py.SoftLink("circle")
                few["nowhere"] = h5py.SoftLink("/nowhere")
                few["outside"] = h5py.ExternalLink("other.h5", "/x")
            made.add(f"groups-{libver}.h5", [("a/few/circle", "soft links"), ("a/few/nowhere", "no such"),
                                             ("a/few/outside", "another file")])
        with h5py.File(made.path("filters.h5"), "w", libver="latest") as file:
            for name, filters in [("zstd", hdf5plugin.Zstd()), ("blosc", hdf5plugin.Blosc("lz4", 5, 1)),
                                  ("blosc_zstd", hdf5plugin.Blosc("zstd", 5, 2)), ("bzip2", hdf5plugin.BZip2())]:
                file.create_dataset(name, data=values((40, 30), "<f4"), chunks=(16, 16), **dict(filters))
            szip = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            szip.set_chunk((40,))
            szip.set_szip(h5py.h5z.SZIP_NN_OPTION_MASK, 8)
            space = h5py.h5s.create_simple((40,))
            h5py.Dataset(h5py.h5d.create(file.id, b"szip", h5py.h5t.STD_I32LE, space, szip))[...] = values((40,))
            file.create_dataset("sperr", data=values((40, 40), "<f4"), chunks=(40, 40), **dict(hdf5plugin.Sperr()))
            plain = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            plain.set_chunk((2, 4))
            plain.set_deflate(4)
            if hasattr(plain, "set_chunk_opts"):
                plain.set_chunk_opts(h5py.h5d.CHUNK_DONT_FILTER_PARTIAL_CHUNKS)
            space = h5py.h5s.create_simple((5, 6))
            h5py.Dataset(h5py.h5d.create(file.id, b"edges", h5py.h5t.STD_I32LE, space, plain))[...] = values((5, 6))
            layout = h5py.VirtualLayout((4,), "<i4")
            file.create_virtual_dataset("virtual", layout)
            file.create_dataset("external", (4,), "<i4", external=[("other.bin", 0, 16)])
        made.add("filters.h5", [("sperr", "32028"), ("virtual", "virtual"),
                                ("external", "other files")])
        for libver in ["earliest", "latest"]:
            with h5py.File(made.path(f"packed-{libver}.h5"), "w", libver=(libver, "latest")) as file:
                packed(file)
            made.add(f"packed-{libver}.h5")
        with h5py.File(made.path("pages.h5"), "w", libver="latest") as file:
            paged = file.create_dataset("fixed", (6000,), "i1", chunks=(2,), fillvalue=3)
            paged[4100:4104], paged[5999] = [1, 2, 4, 5], 9
            grown = file.create_dataset("extensible", (40000,), "i1", chunks=(1,), maxshape=(None,), fillvalue=3)
            grown[0], grown[20000:20003], grown[39999] = 1, [5, 6, 7], 9
            million = file.create_dataset("million", (1_000_000,), "i1", chunks=(1,), maxshape=(None,), fillvalue=3)
            million[0], million[500_000:500_003], million[999_999] = 1, [5, 6, 7], 9
            fixed = file.create_dataset("fixed_filtered", (6000,), "i1", chunks=(2,), compression="gzip")
            fixed[3000:3002] = [1, 2]
        made.add("pages.h5")
        for libver in ["earliest", "latest"]:
            for name, make in TINY.items():
                with h5py.File(made.path(f"tiny-{name}-{libver}.h5"), "w", libver=(libver, "latest")) as file:
                    make(file)
                made.add(f"tiny-{name}-{libver}.h5")
        write_shared(made.path("tiny-shared-latest.h5"))
        made.add("tiny-shared-latest.h5")
        with h5py.File(made.path("tiny-heap-latest.h5"), "w", libver="latest") as file:
            filtered_heap(file)
        made.add("tiny-heap-latest.h5")
        for name in ["NETCDF4", "NETCDF4_CLASSIC"]:
            write_netcdf(made.path(f"{name}.nc"), name)
            made.add(f"{name}.nc", dims=NETCDF_DIMS if name == "NETCDF4" else CLASSIC_DIMS, skip=["alone", "station"])
        with h5py.File(made.path("attributes.h5"), "w") as file:
            left_out(file)
        made.add("attributes.h5", dims={"x": ["x"], "x2": ["x"]})
        write(made, sys.argv[1])


def tiny_chunks(maxshape):
    """A file with one array of a few chunks."""
    def make(file):
        array = file.create_dataset("x", (5, 3), "<i2", chunks=(2, 2), maxshape=maxshape, compression="gzip")
        array[0], array[4, 2] = [1, 2, 3], 4
    return make


def tiny_texts(file):
    """A file with texts, attributes and links."""
    texts = file.create_dataset("a/texts", (2,), h5py.string_dtype())
    texts[...] = ["one", "two"]
    texts.attrs["units"], texts.attrs["n"] = "K", np.array([1, 2], ">i2")
    file["soft"] = h5py.SoftLink("/a/texts")


def tiny_dense(file):
    """A file with links and attributes in heaps."""
    for i in range(9):
        file.create_dataset(f"x{i}", data=np.int16(i))
    for i in range(9):
        file["x1"].attrs[f"a{i}"] = np.int16(i)


def tiny_szip(file):
    """A file with numbers in blocks of every kind."""
    numbers = np.concatenate([np.zeros(16), np.arange(16) % 2, values((16,)), np.arange(16) * 1_000_003])
    file.create_dataset("x", data=numbers.astype("<i4"), chunks=(64,), compression="szip",
                        compression_opts=("nn", 8))


def libhdf5():
    """h5py's own, for what h5py has no functions for."""
    [path] = (pathlib.Path(h5py.__file__).parents[1] / "h5py.libs").glob("libhdf5-*.so*")
    library, id = ctypes.CDLL(str(path)), ctypes.c_int64
    library.H5Pset_shared_mesg_nindexes.argtypes = [id, ctypes.c_uint]
    library.H5Pset_shared_mesg_index.argtypes = [id] + [ctypes.c_uint] * 3
    library.H5Pset_link_phase_change.argtypes = [id, ctypes.c_uint, ctypes.c_uint]
    library.H5Pset_deflate.argtypes = [id, ctypes.c_uint]
    return library


def write_shared(path):
    """A file whose arrays share spaces, types, fill values, filters and attributes."""
    library, plist = libhdf5(), h5py.h5p.create(h5py.h5p.FILE_CREATE)
    assert library.H5Pset_shared_mesg_nindexes(plist.id, 1) == 0
    assert library.H5Pset_shared_mesg_index(plist.id, 0, 1 << 1 | 1 << 3 | 1 << 5 | 1 << 11 | 1 << 12, 8) == 0
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, fcpl=plist)) as file:
        for name in ["x", "y"]:
            file.create_dataset(name, data=values((5, 3)), chunks=(2, 2), compression="gzip", fillvalue=7)
            file[name].attrs["a"] = np.array([1, 2, 3], "<i4")


def filtered_heap(file):
    """A group whose links are in a heap that goes through a filter."""
    library, plist = libhdf5(), h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    assert library.H5Pset_link_phase_change(plist.id, 0, 0) == 0 and library.H5Pset_deflate(plist.id, 6) == 0
    group = h5py.Group(h5py.h5g.create(file.id, b"g", gcpl=plist))
    for number in range(9):
        group[f"x{number}"] = np.int16(number)


# Small files, of which every bit is changed once.
TINY = {"fixed": tiny_chunks((5, 3)), "extensible": tiny_chunks((None, 3)), "tree": tiny_chunks((None, None)),
        "texts": tiny_texts, "dense": tiny_dense, "szip": tiny_szip}

CLASSIC_DIMS = {"time": ["time"], "lat": ["lat"], "t": ["time", "lat", "alone"], "_nc4_non_coord_station": ["lat"]}
NETCDF_DIMS = CLASSIC_DIMS | {"inner/u": ["time", "x"], "inner/x": ["x"], "names": ["lat"], "lonlat": ["lonlat", "lat"]}


def write_netcdf(path, kind):
    with netCDF4.Dataset(path, "w", format=kind) as file:
        file.title = "a file of netCDF-C"
        for name, length in [("time", None), ("lat", 3), ("alone", 4), ("station", 2)]:
            file.createDimension(name, length)
        file.createVariable("time", "f8", ("time",))[:] = [0, 1, 2]
        file.createVariable("lat", "f4", ("lat",))[:] = [10, 20, 30]
        t = file.createVariable("t", "i2", ("time", "lat", "alone"), zlib=True, fill_value=-99)
        t.units, t.valid_range = "K", np.array([0, 90], "i2")
        t[:2] = values((2, 3, 4), "i2")
        file.createVariable("station", "S1", ("lat",))[:] = np.array([b"a", b"b", b"c"])
        if kind == "NETCDF4":
            file.createDimension("lonlat", 2)
            file.createVariable("lonlat", "i4", ("lonlat", "lat"))[:] = values((2, 3))
            file.createVariable("names", str, ("lat",))[:] = np.array(["a", "bc", "d\u00e4"], object)
            inner = file.createGroup("inner")
            inner.createDimension("x", 5)
            inner.createVariable("x", "u8", ("x",))[:] = np.arange(5)
            inner.createVariable("u", "f4", ("time", "x"), chunksizes=(2, 5), compression="zstd")[:] = values((3, 5))


def write(made, path):
    with gzip.GzipFile(path, "wb", mtime=0) as out:
        for name, data, arrays, refused in made.files:
            out.write(f"{name}\t{len(data)}\n".encode() + data)
            for array, (kind, shape, found), dims in arrays:
                if kind == "string":
                    found = b"".join(text.encode() + b"\0" for text in found)
                shape = ",".join(map(str, shape))
                out.write(f" {array}\t{kind}\t{shape}\t{','.join(dims)}\t{len(found)}\n".encode() + found)
            for array, word in refused:
                out.write(f" {array}\trefused\t{word}\n".encode())
        names = ", ".join(f"{name} {len(data)}" for name, data, *_ in made.files)
        print(names, "all:", sum(len(data) for _, data, *_ in made.files))


if __name__ == "__main__":
    main()
