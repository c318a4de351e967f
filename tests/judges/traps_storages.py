"""Directories and zip files as they should not be, or as only some write them."""

import errno
import os
import shutil
import struct
import zipfile

from cases import EIO, ENCZARR, ENOTFOUND, ENOTNC, ENOTVAR, Case, values
from handmade import Maker, write

SHAPE, CHUNKS = (9, 40), (4, 16)


def directories(make, data):
    def spoilt(name, change, refused, **more):
        case = make.v2(name, data, CHUNKS, refused=refused, **more)
        change(case.path / "x")
        return case

    def directory(x):
        (x / "1.1").unlink()
        (x / "1.1").mkdir()

    def below_a_file(x):
        shutil.rmtree(x / "1")
        (x / "1").write_bytes(b"")

    def forbidden(x):
        os.chmod(x / "1.1", 0)

    def looped(x):
        (x / "1.1").unlink()
        (x / "1.1").symlink_to("1.1")

    yield spoilt("directory in place of a chunk", directory, (errno.EISDIR, "1.1"))
    yield spoilt("file in place of a directory", below_a_file, (errno.ENOTDIR, "1/"), separator="/",
                 dimension_separator="/")
    yield spoilt("link that leads to itself", looped, (errno.ELOOP, "1.1"))
    if os.geteuid() != 0:
        yield spoilt("chunk that may not be read", forbidden, (errno.EACCES, "1.1"))
    case = make.v2("temporary files beside the chunks", data, CHUNKS)
    for name in (".0.0.5f8a.partial", "0.0.tmp", "0.0~", "0.0.1.partial"):
        write(case.path / "x" / name, b"junk")
    yield case
    case = make.v2("chunk that is a link", data, CHUNKS)
    (case.path / "x/0.0").rename(case.path / "elsewhere")
    (case.path / "x/0.0").symlink_to("../elsewhere")
    yield case
    case = make.v2("chunks beyond the shape, left by a resize", data, CHUNKS)
    write(case.path / "x/7.7", b"junk")
    yield case


def not_arrays(make, data):
    group = make.v2("a group of v2", data, CHUNKS)
    yield Case("a group of v2", group.path, refused=(ENOTVAR, "not an array"))
    yield Case("an array that is not there", group.path, array="y", refused=(ENOTFOUND, "no such array"))
    yield Case("a name that leads out", group.path / "x", array="../x", refused=(-36, "name"))
    yield Case("a path that is not there", group.path / "z", refused=(ENOTFOUND, "no such file"))
    yield Case("a path that is an object", group.path / "x/0.0", refused=(ENOTNC, ""))
    group = make.v3("a group of v3", data.astype("i4"), CHUNKS)
    yield Case("a group of v3", group.path, refused=(ENOTVAR, "not an array"))
    empty = make.path("an empty directory")
    empty.mkdir(parents=True)
    yield Case("an empty directory", empty, refused=(ENOTNC, ""))
    text = make.path("a text")
    write(text, b"hello")
    yield Case("a text", text, refused=(ENOTNC, ""))


def entries(path):
    """The files of an array's group, by name."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def pack(path, files, compression=zipfile.ZIP_STORED, prefix="", **options):
    with zipfile.ZipFile(path, "w", compression) as packed:
        for name, data in files.items():
            with packed.open(prefix + name, "w", **options) as entry:
                entry.write(data)


class Unseekable:
    """A file that can be written to only at its end, so that lengths stand behind what they are about."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def zips(make, data):
    source = make.v2("zip, its source", data, CHUNKS)
    files = entries(source.path)

    def case(name, change=lambda path: None, refused=None, array="x", pack_=pack, **options):
        path = make.path(name).with_suffix(".zip")
        pack_(path, files, **options)
        change(path)
        return Case(name, path, array=array, refused=refused, values=None if refused else source.values)

    yield case("zip, stored")
    yield case("zip, deflated", compression=zipfile.ZIP_DEFLATED)
    yield case("zip, all below a directory", prefix="some.zarr/")
    yield case("zip, all below two directories", prefix="a/b.zarr/", array="b.zarr/x")
    yield case("zip, zip64", force_zip64=True)

    def twice(path):
        with zipfile.ZipFile(path, "a") as packed:
            packed.writestr("x/0.0", files["x/0.0"])

    wrong = {**files, "x/0.0": b"\0" * len(files["x/0.0"])}
    yield case("zip, names twice", twice, pack_=lambda path, _: pack(path, wrong))

    def streamed(path, files):
        out = Unseekable(path)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in files.items():
                packed.writestr(name, content)
        out.file.close()

    yield case("zip, data descriptors", pack_=streamed)
    yield case("zip, bytes before it", lambda path: path.write_bytes(b"#!/bin/sh\n" * 50 + path.read_bytes()))

    def comment(path):
        with zipfile.ZipFile(path, "a") as packed:
            packed.comment = b"PK\5\6 is how an end begins"

    yield case("zip, a comment", comment)

    def directory_entries(path):
        with zipfile.ZipFile(path, "a") as packed:
            packed.writestr(zipfile.ZipInfo("x/"), b"")

    yield case("zip, entries of directories", directory_entries)

    def extra(path, files):
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in files.items():
                info = zipfile.ZipInfo(name)
                info.extra = struct.pack("<HH", 0x7875, 200) + bytes(200)
                packed.writestr(info, content)

    yield case("zip, long extra fields", pack_=extra)
    yield case("zip, bzip2", compression=zipfile.ZIP_BZIP2, refused=(-128, "zip"))
    yield case("zip that ends early", lambda path: path.write_bytes(path.read_bytes()[:-30]), refused=(ENOTNC, ""))

    def spoilt(path):
        content = bytearray(path.read_bytes())
        at = content.index(files["x/0.0"]) + 5
        content[at] ^= 1
        path.write_bytes(content)

    yield case("zip, an entry with another byte", spoilt, (EIO, "checksum"))

    def separator(path):
        renamed = {name.replace("x/0.", "x/0/").replace("x/1.", "x/1/").replace("x/2.", "x/2/"): content
                   for name, content in files.items()}
        pack(path, renamed)

    yield case("zip, separator / that is not named", separator, (ENCZARR, "dimension_separator"))
    yield case("zip without an array", array="y", refused=(ENOTFOUND, "no such array"))


def cases(root):
    make, data = Maker(root), values(SHAPE, "<i4")
    for part in (directories, not_arrays, zips):
        yield from part(make, data)
