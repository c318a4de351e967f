"""The adapter as a series of patches for a tree of netCDF-C: series.py TREE DIRECTORY.

Nothing of the adapter exists twice: its C files and tests are those of src/ and tests/, here with netCDF-C's notice
and names; series/ has what exists in netCDF-C's tree only. A copy of the tree is changed, commit by commit, and
DIRECTORY gets the patches, for `git am` and `patch -p1`. A tree that has none of the lines beside which something is to
come is refused. Works with 4.9.3 and later, and leaves out the build files that a tree does not have.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
NOTICE = """/*********************************************************************
 *   Copyright 2026, UCAR/Unidata
 *   See netcdf/COPYRIGHT file for copying and redistribution conditions.
 *********************************************************************/

"""
SOURCES = ["ncz_ahead", "ncz_cache", "ncz_decode", "ncz_keep", "ncz_odometer", "ncz_projections", "ncz_shelf",
           "ncz_transfer", "ncz_zxcache"]
TESTS = {"defects": "test_nczchunk_defects", "hard": "test_nczchunk_hard", "differential": "test_nczchunk_random"}
HEADERS = {"adapter.h": "ncz_adapter.h", "host.h": "ncz_host.h", "check.h": "test_nczchunk_check.h",
           "collision.h": "test_nczchunk_collision.h"}


def text_of(path):
    """A file of the adapter as it is in netCDF-C's tree."""
    text = path.read_text()
    for name, other in HEADERS.items():
        text = text.replace(f'#include "{name}"', f'#include "{other}"')
    return NOTICE + text


class Tree:
    def __init__(self, path):
        self.path = path

    def git(self, *arguments):
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                    for what, value in (("NAME", "nczchunk"), ("EMAIL", "nczchunk@example.org"))}
        subprocess.run(["git", "-c", "core.autocrlf=false", *arguments], cwd=self.path, check=True,
                       env=os.environ | identity, stdout=subprocess.DEVNULL)

    def add(self, name, text):
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def edit(self, name, *changes):
        """Makes changes of (pattern, replacement) to a file, of which each has to find its place once."""
        path = self.path / name
        if not path.exists():
            print(f"left out: the tree has no {name}")
            return
        text = path.read_bytes().decode()
        for pattern, replacement in changes:
            text, number = re.subn(pattern, lambda found, to=replacement: to.replace("\0", found[0]), text,
                                   flags=re.MULTILINE)
            if number != 1:
                sys.exit(f"{name} has {number} places of {pattern}: this is not a netCDF-C that the series knows")
        path.write_bytes(text.encode())

    def append(self, name, text):
        if not (self.path / name).exists():
            print(f"left out: the tree has no {name}")
            return
        with open(self.path / name, "a") as file:
            file.write("\n" + text)

    def commit(self, message):
        self.git("add", "--all", "--force", ".")
        self.git("commit", "--quiet", "--message", message)


def files(tree):
    for name in SOURCES:
        tree.add(f"libnczarr/{name}.c", text_of(HERE / f"src/{name}.c"))
    for name in ("adapter.h", "host.h"):
        tree.add(f"libnczarr/{HEADERS[name]}", text_of(HERE / "src" / name))
    tree.commit("NCZarr on nczchunk: what takes the place of zchunking.c, zodom.c and zwalk.c\n\n"
                "Nothing compiles these files yet.")


def build(tree):
    part = {path.name: path.read_text() for path in (HERE / "series").iterdir()}
    tree.edit("CMakeLists.txt",
              (r'^option\(NETCDF_ENABLE_NCZARR "Enable NCZarr Client." ON\)\n', "\0" + part["option.cmake"]),
              (r"^  add_subdirectory\(libnczarr\)\n", part["find.cmake"] + "\0"),
              (r'^set\(NC_LIBS ""\)\n', "\0" + part["libs.cmake"]))
    tree.edit("libnczarr/CMakeLists.txt",
              (r"^add_library\(nczarr OBJECT [^\n]*\n", part["sources.cmake"] + "\0" + part["includes.cmake"]))
    tree.edit("liblib/CMakeLists.txt",
              (r"^if\(NETCDF_ENABLE_NCZARR\)\n", part["link.cmake"] + "\0"))
    tree.edit("netCDFConfig.cmake.in",
              (r'^include\("[^\n]*netCDFTargets.cmake"\)\n', part["config.cmake"] + "\0"))
    tree.edit("configure.ac",
              (r'^AM_CONDITIONAL\(NETCDF_ENABLE_NCZARR, \[test "x[^\n]*\n', "\0" + part["configure.ac"]))
    tree.edit("libnczarr/Makefile.am",
              *[(rf"^{name}\.c *\\\n", "") for name in ("zchunking", "zodom", "zwalk")],
              (r"^if NETCDF_ENABLE_NCZARR_ZIP\n", part["libnczarr.am"] + "\0"))
    tree.commit("The option NETCDF_ENABLE_NCZCHUNK runs NCZarr on nczchunk\n\n"
                "Off by default; --enable-nczchunk with autotools. nczchunk is found by its package of CMake or "
                "by pkg-config.")


def tests(tree):
    for name, to in TESTS.items():
        tree.add(f"nczarr_test/{to}.c", text_of(HERE / f"tests/{name}.c"))
    for name in ("check.h", "collision.h"):
        tree.add(f"nczarr_test/{HEADERS[name]}", text_of(HERE / "tests" / name))
    checks = text_of(HERE / "src/check.c").replace("when netCDF-C is configured", "when the tests are compiled")
    tree.add("nczarr_test/test_nczchunk_internals.c", checks + "\nint main(void)\n{\n    return 0;\n}\n")
    tree.add("nczarr_test/run_nczchunk.sh", (HERE / "series/run_nczchunk.sh").read_text())
    (tree.path / "nczarr_test/run_nczchunk.sh").chmod(0o755)
    tree.append("nczarr_test/CMakeLists.txt", (HERE / "series/tests.cmake").read_text())
    tree.append("nczarr_test/Makefile.am", (HERE / "series/tests.am").read_text())
    tree.commit("Tests of NCZarr on nczchunk\n\nEach of test_nczchunk_defects fails without it.")


def page(tree):
    tree.add("docs/nczchunk.md", (HERE / "nczchunk.md").read_text())
    tree.commit("A page about NCZarr on nczchunk")


def main():
    source, output = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory(dir=output.parent) as directory:
        tree = Tree(pathlib.Path(directory) / "tree")
        shutil.copytree(source, tree.path, ignore=shutil.ignore_patterns(".git"), symlinks=True)
        tree.git("init", "--quiet")
        tree.commit("netCDF-C")
        for step in files, build, tests, page:
            step(tree)
        shutil.rmtree(output, ignore_errors=True)
        tree.git("format-patch", "--quiet", "--no-signature", "--zero-commit", "-o", str(output.resolve()), "HEAD~4")


main()
