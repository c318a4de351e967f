"""Builds the wheel: the package with the shared library inside, which cargo builds from the tree around this
directory. NCZCHUNK_LIBRARY names a library that was built before, to be taken instead."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "Cargo.toml"


def library():
    """The path of the shared library."""
    if "NCZCHUNK_LIBRARY" in os.environ:
        return os.environ["NCZCHUNK_LIBRARY"]
    command = ["cargo", "build", "--release", "--package", "nczchunk-library", "--locked", "--manifest-path",
               str(MANIFEST), "--target-dir", str(ROOT / "build" / "python" / "cargo"), "--message-format", "json"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for line in answer.stdout.splitlines():
        told = json.loads(line)
        if told["reason"] == "compiler-artifact" and told["target"]["name"] == "nczchunk":
            for name in told["filenames"]:
                if name.endswith((".so", ".dylib", ".dll")):
                    return name
    raise SystemExit("cargo built no shared library")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        path = library()
        package = pathlib.Path(self.get_package_dir("nczchunk") if self.editable_mode else f"{self.build_lib}/nczchunk")
        shutil.copy(path, package / ("libnczchunk" + pathlib.Path(path).suffix))


class WheelForPlatform(bdist_wheel):
    """A wheel for any Python, but one platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class DistributionOfPlatform(Distribution):
    """The library is found where modules of a platform are, and not among those that are only Python."""

    def has_ext_modules(self):
        return True


def told(key):
    """What the crate says of itself."""
    return re.search(rf'^{key} = "(.*)"$', MANIFEST.read_text(), re.MULTILINE).group(1)


urls = {"Homepage": told("homepage"), "Source": told("repository")}
setup(version=told("version"), project_urls=urls, distclass=DistributionOfPlatform,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForPlatform})
