"""Who reads what: rows of arrays, columns of readers, written to docs/interoperability.md."""

import re
import textwrap

import netCDF4
import numcodecs
import numpy as np
import xarray as xr
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec

import readers
import traps_chunks
import traps_metadata
import traps_storages
import traps_shards
from cases import Case, native, values
from readers import ACCEPTED, CRASHED, HANGS, OK, READERS, REFUSED, WRONG

SHAPE, CHUNKS = (7, 30, 41), (3, 10, 16)
TRAPS = {"metadata": traps_metadata, "chunks": traps_chunks, "shards": traps_shards, "storages": traps_storages}

HEAD = """\
# Who reads what

Written by `scripts/test-judges --update`; do not edit. Small arrays are written and read in earnest, all values are
compared bit for bit. {versions}.
"""
WORDS = {OK: "ok", WRONG: "**wrong data**", REFUSED: "refused", CRASHED: "**crashes**", HANGS: "**hangs**",
         ACCEPTED: "**accepted**"}


def by_zarr(root, name, dtype="<i4", version=2, **settings):
    """An array of zarr-python's, in a group, with what netCDF-C wants to find."""
    path = root / re.sub(r"[^A-Za-z0-9]+", "-", name)
    group = zarr.open_group(path, mode="w", zarr_format=version)
    data = values(SHAPE, object if dtype is str else dtype)
    attributes = {"_ARRAY_DIMENSIONS": ["t", "y", "x"], **settings.pop("attributes", {})}
    array = group.create_array("x", shape=SHAPE, chunks=CHUNKS, dtype=str if dtype is str else np.dtype(dtype),
                               attributes=attributes, **settings)
    array[...] = data
    return Case(name, path, native(data.astype(str) if dtype is str else data), "x")


def by_netcdf(root, name, dtype="i2", mode="nczarr", **settings):
    path = root / re.sub(r"[^A-Za-z0-9]+", "-", name)
    with netCDF4.Dataset(f"file://{path}#mode={mode},file", "w") as made:
        for dimension, length in zip("tyx", SHAPE):
            made.createDimension(dimension, length)
        variable = made.createVariable("x", dtype, tuple("tyx") if dtype != str else ("t",), **settings)
        if dtype == str:
            data = np.array(list("abcdefg"), dtype=object)
            variable[:] = data
            return Case(name, path, data.astype("S128"), "x")
        data = values(SHAPE, dtype)
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        variable[...] = data
    return Case(name, path, native(data), "x")


def v2_rows(root):
    filters, none = "filters", dict(compressors=None)
    yield by_zarr(root, "raw", **none)
    yield by_zarr(root, "blosc (lz4, shuffle)", compressors=numcodecs.Blosc("lz4", 5, 1))
    yield by_zarr(root, "blosc (zstd, bit shuffle)", compressors=numcodecs.Blosc("zstd", 5, 2))
    for name, codec in [("zstd", numcodecs.Zstd(1)), ("zlib", numcodecs.Zlib(1)), ("gzip", numcodecs.GZip(1)),
                        ("lz4", numcodecs.LZ4()), ("bz2", numcodecs.BZ2(1))]:
        yield by_zarr(root, name, compressors=codec)
    yield by_zarr(root, "keys with /", chunk_key_encoding={"name": "v2", "separator": "/"})
    yield by_zarr(root, "order F", order="F")
    for dtype, size in [("<i4", 4), ("<i2", 4)]:
        yield by_zarr(root, f"shuffle({size}) and zlib on {dtype[1:]}", dtype, compressors=numcodecs.Zlib(1),
                      filters=[numcodecs.Shuffle(size)])
    for name, codec in [("delta", numcodecs.Delta("<i4")),
                        ("fixedscaleoffset", numcodecs.FixedScaleOffset(0, 1, "<i4")), ("crc32", numcodecs.CRC32()),
                        ("adler32", numcodecs.Adler32()),
                        ("crc32c", numcodecs.checksum32.CRC32C()),
                        ("fletcher32", numcodecs.Fletcher32())]:
        yield by_zarr(root, name, compressors=None, **{filters: [codec]})
    for name, dtype in [("big-endian", ">f4"), ("bool", "b1"), ("float16", "<f2"), ("complex", "<c8"),
                        ("datetime64", "<M8[s]"), ("text of 5 bytes", "S5"), ("text of 4 characters", "<U4"),
                        ("structure", [("a", "<i2"), ("b", "<f8")])]:
        yield by_zarr(root, name, dtype, fill_value=None, **none)
    yield by_zarr(root, "text of any length (vlen-utf8)", str)


def nczarr_rows(root):
    yield by_netcdf(root, "default: raw, one chunk")
    yield by_netcdf(root, "char (`>S1`)", "S1", chunksizes=CHUNKS)
    yield by_netcdf(root, "string (`|S128`)", str)
    yield by_netcdf(root, "shuffle (elementsize 0) and zlib", chunksizes=CHUNKS, compression="zlib")
    yield by_netcdf(root, "fletcher32 and zlib", chunksizes=CHUNKS, compression="zlib", fletcher32=True, shuffle=False)
    yield by_netcdf(root, "zstd", chunksizes=CHUNKS, compression="zstd", shuffle=False)
    yield by_netcdf(root, "big-endian zstd", "f4", chunksizes=CHUNKS, compression="zstd", endian="big", shuffle=False)
    yield by_netcdf(root, "pure Zarr: shuffle and zlib", mode="zarr", chunksizes=CHUNKS, compression="zlib")


def v3_rows(root):
    def row(name, dtype="<i4", **settings):
        return by_zarr(root, name, dtype, 3, **settings)
    yield row("v3 default: zstd")
    yield row("v3 raw", compressors=None)
    yield row("v3 gzip", compressors=GzipCodec())
    yield row("v3 blosc", compressors=BloscCodec())
    yield row("v3 zstd and crc32c", compressors=[zarr.codecs.ZstdCodec(), Crc32cCodec()])
    yield row("v3 big-endian", serializer=BytesCodec(endian="big"))
    yield row("v3 transposed", filters=[TransposeCodec(order=(2, 0, 1))])
    yield row("v3 a NaN attribute", attributes={"x": float("nan")})
    from zarr.codecs import numcodecs as of_v2
    yield row("v3 numcodecs.shuffle and zlib", compressors=[of_v2.Shuffle(elementsize=4), of_v2.Zlib(level=1)])
    yield row("v3 numcodecs.lz4", compressors=[of_v2.LZ4()])
    yield row("v3 numcodecs.fletcher32", compressors=[of_v2.Fletcher32()])
    yield row("v3 datetime64", "<M8[s]")
    yield row("v3 string", str)
    yield row("v3 string in shards", str, shards=(6, 20, 48))
    for location in ("end", "start"):
        yield row(f"v3 shards, index at the {location}", shards=zarr.core.array.ShardsConfigParam(
            shape=(6, 20, 48), index_location=location))
    yield row("v3 shards, transposed within", shards=(6, 20, 48), filters=[TransposeCodec(order=(2, 0, 1))])
    yield row("v3 shards within shards", compressors=None, serializer=ShardingCodec(
        chunk_shape=(3, 5, 16), codecs=[ShardingCodec(chunk_shape=(3, 5, 8))]))
    yield row("v3 numcodecs.delta", filters=[of_v2.Delta(dtype="<i4")])
    yield row("v3 numcodecs.bitround", "f4", filters=[of_v2.BitRound(keepbits=20)])
    yield row("v3 numcodecs.packbits", "b1", filters=[of_v2.PackBits()])
    yield row("v3 numcodecs.bz2 and crc32", compressors=[of_v2.BZ2(level=1), of_v2.CRC32()])


def dataset_rows(root):
    data = values(SHAPE, "f4")
    whole = xr.Dataset({"x": (("time", "lat", "lon"), data)})
    for version in (2, 3):
        path = root / f"xarray-{version}"
        whole.to_zarr(path, zarr_format=version, consolidated=True)
        yield Case(f"xarray, v{version}, consolidated", path, data, "x")
    for version in (2, 3):
        path = root / f"v{version}.zip"
        with zarr.storage.ZipStore(path, mode="w") as store:
            group = zarr.open_group(store, mode="w", zarr_format=version)
            array = group.create_array("x", shape=SHAPE, chunks=CHUNKS, dtype="f4",
                                       attributes={"_ARRAY_DIMENSIONS": ["t", "y", "x"]})
            array[...] = data
        yield Case(f"v{version} in a zip file", path, data, "x")


SECTIONS = {"Zarr v2, written by zarr-python": v2_rows, "NCZarr, written by netCDF-C": nczarr_rows,
            "Zarr v3, written by zarr-python": v3_rows, "Data sets and zip files": dataset_rows}


def tables(root):
    """Each table's name and its cases."""
    for number, (name, rows) in enumerate(SECTIONS.items()):
        (root / str(number)).mkdir(parents=True)
        yield name, list(rows(root / str(number)))
    for name, traps in TRAPS.items():
        # Array by array of one kind would say the same many times.
        yield f"Traps: {name}", [case for case in traps.cases(root / name) if "typesize " not in case.name]


def read_all(root, readers_):
    """For each table its rows: a case's name, whether it is to be refused, and what each reader comes to."""
    for name, rows in tables(root):
        read = []
        for i, case in enumerate(rows):
            expected = None
            if case.values is not None:
                expected = root / f"{re.sub('[^a-z]+', '-', name.lower())}-{i}.npy"
                np.save(expected, native(case.values))
            found = [reader.read(case.path, case.array, expected)[0] for reader in readers_]
            read.append((case.name, case.refused is not None, found))
        yield name, read


def cell(found):
    return WORDS[found]


def is_right(is_refused, found):
    return found == (REFUSED if is_refused else OK)


def is_notable(name, is_refused, found):
    """Whether somebody is wrong, beside netCDF-C where it reads nothing of the kind."""
    counted = found[:-1] if name.startswith(("v3 ", "shards", "zip")) else found
    return not all(is_right(is_refused, one) for one in counted)


def document(read, versions):
    """The text of the document."""
    parts = [HEAD.format(versions=", ".join(versions))]
    parts[0] = "\n\n".join(textwrap.fill(part, 120, break_on_hyphens=False) for part in parts[0].split("\n\n"))
    for name, rows in read:
        is_trap = name.startswith("Traps")
        shown = [row for row in rows if not is_trap or is_notable(*row)]
        parts.append(f"## {name}")
        if is_trap:
            parts.append(f"{len(rows)} arrays, of which those are shown that somebody does not read right; netCDF-C "
                         "counts where it reads such arrays at all. What is to be refused says so.")
            parts[-1] = textwrap.fill(parts[-1], 120)
        lines = ["| | " + " | ".join(READERS) + " |", "|---|" + "---|" * len(READERS)]
        for row, is_refused, found in shown:
            row = row.replace("|", "\\|") + (" (to be refused)" if is_refused else "")
            lines.append(f"| {row} | " + " | ".join(map(cell, found)) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def own_column(text):
    """What a document says of the first reader, by table and row."""
    found, table = {}, ""
    for line in text.split("\n"):
        if line.startswith("## "):
            table = line[3:]
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == len(READERS) + 1 and cells[0].strip("-"):
            found[table, cells[0]] = cells[1]
    return found


def wrong_in(text, read):
    """Where the document and what has been read differ: the first reader's cells only."""
    said, seen = own_column(text), set()
    for name, rows in read:
        for row, is_refused, found in rows:
            label = row.replace("|", "\\|") + (" (to be refused)" if is_refused else "")
            seen.add((name, label))
            is_trap = name.startswith("Traps")
            default = cell(REFUSED if is_refused else OK) if is_trap else None
            if said.get((name, label), default) != cell(found[0]):
                yield f"{name}: {label}: {cell(found[0])}, but the document says {said.get((name, label), default)}"
    for name, label in said.keys() - seen:
        yield f"{name}: {label}: only the document has it"


def run(root, library, path, update):
    """Reads all, and writes the document or compares its first column; what is wrong."""
    names = READERS if update else READERS[:1]
    running = [readers.Reader(name, library) for name in names]
    try:
        read = list(read_all(root, running))
    finally:
        for reader in running:
            reader.close()
    if update:
        path.write_text(document(read, [reader.version for reader in running]))
        return []
    if not path.exists():
        return [f"{path} is missing"]
    return list(wrong_in(path.read_text(), read))
