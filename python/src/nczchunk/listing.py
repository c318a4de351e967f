"""Listings of directories, zip files and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import _c, errors, limits
from ._c import FOUND, c
from .attributes import collect, left_out
from .storage import same_as_path, shown

if TYPE_CHECKING:
    from .array import Path
    from .limits import MemoryLimits

class Node(NamedTuple):
    """A group or array in a listing.

    name: its path, as open() takes it: its name after the names of its groups.
    dtype: the name of an array's type, such as "float32"; shape, chunks, shards, dims: of an array.
    unlimited: which dimensions the metadata mark as unlimited.
    problem: why it cannot be opened, if that is known; else None.
    format: as Array.format has it; empty if it cannot be opened.
    left_out: as Array.left_out has it; also of a group.
    """

    name: str
    is_group: bool
    dtype: str | None
    shape: tuple[int, ...] | None
    chunks: tuple[int, ...] | None
    shards: tuple[int, ...] | None
    dims: tuple[str, ...] | None
    unlimited: tuple[bool, ...] | None
    attrs: dict[str, Any]
    problem: str | None
    format: str
    left_out: dict[str, str]


def list_nodes(path: Path, group: str = "", *, recursive: bool = True,
               memory_limits: MemoryLimits | None = None) -> list[Node]:
    """Lists a group of a directory or zip file, or a file that holds arrays. The group itself comes first.
    path: also a storage, as for open(). memory_limits: as for open()."""
    limits.check(memory_limits)
    return _each(path, group, recursive, memory_limits, _node)


def one_node(path: Path, name: str, memory_limits: MemoryLimits | None) -> Node:
    """A group or an array, without what is in it."""
    encoded = _c.text("name", name)
    [node] = _named(path, name, lambda: _c.collect(FOUND, _node, lambda found, _: limits.within(
        memory_limits, c.storage_open, path, lambda storage: _c.call(c.list_node, storage, encoded, found, None))))
    return node


def _named(path, name, call):
    """Returns what call() returns. If nothing known is there, the error names the path and what is looked for."""
    try:
        return call()
    except (errors.NotFound, errors.NotSupported) as error:
        message, where = str(error).replace("no such variable", "no such group"), shown(path)
        if message.startswith(where):
            raise
        where += "" if message.startswith(name) else f": {name}"
        raise error.about(f"{where}: {message}") from None


def _each(path, group, recursive, memory_limits, made_of):
    """What made_of(pointer) makes of each node, as a list."""
    path, arguments = same_as_path(path), (_c.text("group", group), bool(recursive))

    def call(found, _):
        if limits.is_plain(path, memory_limits):
            _c.call(c.list, _c.path_bytes("path", path), *arguments, found, None)
        else:
            limits.within(memory_limits, c.storage_open, path,
                          lambda storage: _c.call(c.list_in, storage, *arguments, found, None))

    return _named(path, group, lambda: _c.collect(FOUND, made_of, call))


class _Enough(Exception):
    """Ends a listing."""


def array_names(path, memory_limits, most):
    """The names of up to a number of arrays that can be opened, and whether there are more."""
    names = []

    def one(pointer):
        node = pointer.contents
        if not node.is_group and not node.status:
            if len(names) == most:
                raise _Enough
            names.append(node.name.decode(errors="replace"))

    try:
        _each(path, "", True, memory_limits, one)
    except _Enough:
        return names, True
    return names, False


def _node(pointer):
    node = pointer.contents
    rank = range(node.rank)
    name = node.name.decode(errors="replace")
    format = node.format.decode()
    errors.raise_interruption(node.status)
    attrs = collect(node.attributes_json, node.num_attributes,
                    lambda i, one: _c.call(c.node_attribute_at, pointer, i, one), format)
    problem = node.message.decode(errors="replace") if node.status else None
    lost = left_out(lambda callback, _: _c.call(c.node_left_out, pointer, callback, None))
    if node.is_group or node.status:
        return Node(name, bool(node.is_group), None, None, None, None, None, None, attrs, problem, format, lost)
    shards = tuple(node.shard_shape[d] for d in rank) if node.shard_shape else None
    return Node(name, False, node.type_name.decode(), tuple(node.shape[d] for d in rank),
                tuple(node.chunk_shape[d] for d in rank), shards,
                tuple(node.dimension_names[d].decode(errors="replace") for d in rank),
                tuple(bool(node.is_unlimited[d]) for d in rank), attrs, None, format, lost)
