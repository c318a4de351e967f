"""The site, by Sphinx: scripts/docs builds it, with every warning as an error.

The source directory is the root of the tree, so that pages may be where they belong, and refer to files of the tree.
Names of the C interface that stand in a page as code become links to the reference that Doxygen has made; one that does
not exist is a warning.
"""

import os
import pathlib
import re
import sys
import tomllib
import xml.etree.ElementTree

from docutils import nodes
from sphinx.util import logging

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from pages import PAGES, ROOT  # noqa: E402

project = "nczchunk"
version = release = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
author = "the authors of nczchunk"
extensions = ["myst_parser"]
include_patterns = PAGES
root_doc = "docs/index"
nitpicky = True
myst_heading_anchors = 4
highlight_language = "none"

html_theme = "furo"
html_title = f"nczchunk {version}"
html_copy_source = False
html_show_copyright = False

# Options of CMake and cargo, environment variables, what the compiler is told, functions of the adapter.
NOT_THE_INTERFACE = re.compile(
    r"NCZCHUNK_(?:WITH|BUILD|UPDATE|CARGO|NETCDF|SYSTEM)_\w+|NCZCHUNK_(?:INSTALL|LINK|PRELOAD|REQUIRED|LIBRARY)"
    r"|NCZCHUNK_NETWORK\w*|NCZCHUNK_FORTRAN|NCZCHUNK_MPI|nczchunk_mpi\w*|nczchunk_ebadtype"
    r"|NCZCHUNK_REQUIRE_CHECKERS|NCZCHUNK_API|NCZCHUNK_MUST_USE|NCZCHUNK_DLL|nczchunk_netcdf_adapted"
    r"|nczchunk_cargo|nczchunk_program"
)
logger = logging.getLogger(__name__)


def interface():
    """Where the reference describes each name of the C interface."""
    places = {}
    for compound in xml.etree.ElementTree.parse(os.environ["NCZCHUNK_TAGFILE"]).getroot():
        if compound.get("kind") in ("struct", "class"):
            places[compound.findtext("name")] = compound.findtext("filename")
        for member in compound.iter("member"):
            if member.get("kind") in ("function", "define", "typedef") and compound.get("kind") in ("file", "group"):
                places[member.findtext("name")] = f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
    return places


def link_names(app, doctree):
    up = "../" * app.env.docname.count("/")
    for literal in list(doctree.findall(nodes.literal)):
        found = re.fullmatch(r"((?:nczchunk|NCZCHUNK)_\w*\w)(?:\(\))?", literal.astext())
        if not found or NOT_THE_INTERFACE.fullmatch(found[1]) or isinstance(literal.parent, nodes.reference):
            continue
        if found[1] not in app.places and app.env.docname == "CHANGELOG":
            continue  # names of earlier versions
        if found[1] not in app.places:
            logger.warning("the interface has no %s", found[1], location=literal)
            continue
        link = nodes.reference("", "", internal=False, refuri=f"{up}api/{app.places[found[1]]}")
        literal.replace_self(link)
        link += literal


def add_entrance(app, exception):
    """The root of the site leads to its first page."""
    if exception is None:
        (pathlib.Path(app.outdir) / "index.html").write_text(
            f'<!doctype html><title>nczchunk</title><meta http-equiv="refresh" content="0; url={root_doc}.html">\n')


def setup(app):
    app.places = interface()
    app.connect("doctree-read", link_names)
    app.connect("build-finished", add_entrance)
    return {"parallel_read_safe": True}
