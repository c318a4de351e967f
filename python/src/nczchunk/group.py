"""Groups, as mappings of their members. They are created and changed in directories and storages; those in zip files
and files that hold arrays are read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _c, limits, locks
from ._c import c
from .array import MODES, Array, open, open_in
from .attributes import as_json, check_name, members_as_json
from .create import create
from .errors import Error, InvalidArgument, NotFound, NotPermitted, StorageFailure
from .listing import Node, list_nodes, one_node
from .storage import is_http, is_path, is_writable, kept, same_as_path, shown

if TYPE_CHECKING:
    from .array import Path
    from .limits import MemoryLimits

_FORMATS = {"zarr3": _c.ZARR_V3, "zarr2": _c.ZARR_V2}


def open_group(path: Path, name: str = "", mode: str = "r", *,
               memory_limits: MemoryLimits | None = None) -> Group:
    """Opens a group of a directory, zip file or storage, or a file that holds arrays.

    path, name, memory_limits: as for open(). mode: "r" to read, "r+" to read and write.
    """
    _c.one_of("mode", MODES, mode)
    name = name.strip("/")
    limits.check(memory_limits)
    path = same_as_path(path)
    if not one_node(path, name, memory_limits).is_group:
        raise NotFound(f"{shown(path, name)}: this is an array: pass its name to open()", _c.NO_VARIABLE)
    if mode != "r" and not is_writable(path):
        what = "HTTP servers are" if is_http(path) else "this is"
        raise NotPermitted(f'{shown(path)}: {what} read-only: open it with mode="r"', _c.READ_ONLY)
    return Group(path, name, mode, memory_limits)


def create_group(path: Path, name: str = "", *, attrs: Mapping[str, Any] | None = None, format: str = "zarr3") -> Group:
    """Creates a group in a directory, and those that it is in, and opens it to be read and written.

    path, name: a directory or a storage, as for open(), and where the group is to be below it. attrs: its attributes.
    format: "zarr3" or "zarr2".
    """
    name, path = name.strip("/"), same_as_path(path)
    given = {check_name(one): value for one, value in ({} if attrs is None else attrs).items()}
    arguments = _c.text("name", name), _c.one_of("format", _FORMATS, format), as_json("attrs", given)
    try:
        if is_path(path):
            _c.call(c.group_create, _c.path_bytes("path", path), *arguments)
        else:
            limits.within(None, None, path, lambda storage: _c.call(c.group_create_in, storage, *arguments))
    except Error as error:
        if isinstance(error, StorageFailure):
            raise
        raise error.about(f"{shown(path)}: {error}") from None
    return Group(path, name, "r+", None)


class Dimension(NamedTuple):
    """A dimension that a group defines: its length in elements, and whether it is unlimited."""

    length: int
    unlimited: bool


def _dimension(pointer: Any) -> tuple[str, Dimension]:
    one = pointer.contents
    return one.name.decode(), Dimension(one.len, bool(one.is_unlimited))


class Group(Mapping[str, "Array | Group"]):
    """An open group: a mapping of the names of its members to arrays and groups, which are opened on access. "a/b"
    is the member b of the group a."""

    def __init__(self, path: Path, name: str, mode: str,
                 memory_limits: MemoryLimits | None) -> None:
        self._path, self._mode, self._memory_limits = kept(path), mode, memory_limits
        self.name = name

    def _node(self, name: str = "") -> Node:
        """The group itself, or a member."""
        return one_node(self._path, self._full(name), self._memory_limits)

    def _full(self, name: str) -> str:
        return "/".join(part for part in (self.name, name.strip("/")) if part)

    def _members(self) -> list[Any]:
        first = len(self.name) + 1 if self.name else 0
        nodes = list_nodes(self._path, self.name, recursive=False, memory_limits=self._memory_limits)
        return [node._replace(name=node.name[first:]) for node in nodes[1:]]

    def __getitem__(self, name: str) -> Array | Group:
        if not isinstance(name, str) or not name.strip("/"):
            raise KeyError(name)
        try:
            node = self._node(name)
        except (InvalidArgument, NotFound):
            raise KeyError(name) from None
        full = self._full(name)
        if node.is_group:
            return Group(self._path, full, self._mode, self._memory_limits)
        return open(self._path, full, self._mode, memory_limits=self._memory_limits)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not name.strip("/"):
            return False
        try:
            self._node(name)
            return True
        except (InvalidArgument, NotFound):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter([node.name for node in self._members()])

    def __len__(self) -> int:
        return len(self._members())

    def arrays(self) -> dict[str, Array]:
        """The direct members that are arrays, by name."""
        # They share what is open, so that there may be many.
        storage = limits.opened(self._memory_limits, c.storage_open, self._path)
        return {node.name: open_in(storage, (self._path, self._full(node.name), self._mode, self._memory_limits))
                for node in self._members() if not node.is_group}

    def groups(self) -> dict[str, Group]:
        """The direct members that are groups, by name."""
        return {node.name: Group(self._path, self._full(node.name), self._mode, self._memory_limits)
                for node in self._members() if node.is_group}

    @property
    def dimensions(self) -> dict[str, Dimension]:
        """The dimensions that the group defines, by name, whether an array has them or not. netCDF files and groups of
        NCZarr define dimensions; in other formats the dimensions are those of the arrays, and this is empty."""
        name = _c.text("name", self.name)
        return dict(_c.collect(_c.DIMENSION, _dimension, lambda found, _: limits.within(
            self._memory_limits, c.storage_open, self._path,
            lambda storage: _c.call(c.group_dimensions, storage, name, found, None))))

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """The attributes, as a mapping that can be changed."""
        return _GroupAttributes(self)

    @property
    def left_out(self) -> dict[str, str]:
        """The attributes that a copy of the group does not have, with the reasons: see Array.left_out."""
        return self._node().left_out

    def create_group(self, name: str, *, attrs: Mapping[str, Any] | None = None) -> Group:
        """Creates a group in this one, in the same format."""
        self._check_writable()
        return create_group(self._path, self._full(name), attrs=attrs, format=self._format())

    def create(self, name: str, **description: Any) -> Array:
        """Creates an array in this group, in the same format by default: see create()."""
        self._check_writable()
        return create(self._path, self._full(name), **{"format": self._format(), **description})

    def consolidate(self) -> None:
        """Puts the metadata of all that is in the group into its own, so that readers find all with one request. Any
        change of the group or its members by this package removes them again."""
        self._change(c.group_consolidate)

    def _format(self) -> str:
        return "zarr3" if self._node().format == "Zarr v3" else "zarr2"

    def _check_writable(self) -> None:
        if self._mode == "r":
            raise NotPermitted(f'{shown(self._path, self.name)}: opened read-only: open it with mode="r+" to '
                               "write", _c.READ_ONLY)

    def _change(self, function: Any, *arguments: Any) -> None:
        """Calls a function of the library that changes the group."""
        self._check_writable()
        encoded = _c.text("name", self.name)
        # The attributes are one document.
        locks.holding(locks.of(self._path, self.name), True, lambda: limits.within(
            self._memory_limits, c.storage_open, self._path,
            lambda storage: _c.call(function, storage, encoded, *arguments)), locks.may_wait())

    def __reduce__(self) -> Any:
        return Group, (self._path, self.name, self._mode, self._memory_limits)

    def __repr__(self) -> str:
        return f"<nczchunk.Group {shown(self._path, self.name)!r}>"

    def tree(self) -> str:
        """What is in the group, as a text with a line for each group and array."""
        lines = [self.name or os.path.basename(shown(self._path).rstrip("/"))]
        depth = len(self.name.split("/")) if self.name else 0
        for node in list_nodes(self._path, self.name, memory_limits=self._memory_limits)[1:]:
            parts = node.name.split("/")
            what = "" if node.is_group else f" ({node.problem})" if node.problem else f" {node.shape} {node.dtype}"
            lines.append("    " * (len(parts) - depth) + parts[-1] + what)
        return "\n".join(lines)


class _GroupAttributes(MutableMapping[str, Any]):
    """The attributes of a group. Changes are stored immediately."""

    def __init__(self, group: Group) -> None:
        self._group = group

    def _all(self) -> dict[str, Any]:
        found: dict[str, Any] = self._group._node().attrs
        return found

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        encoded = _c.text("the name of an attribute", name)
        try:
            self._group._change(c.group_remove_attribute, encoded)
        except Error as error:
            if error.status != _c.NO_ATTRIBUTE:
                raise
            raise KeyError(name) from None

    def update(self, *given: Any, **named: Any) -> None:
        """Sets several attributes at once, as dict's update() does."""
        self._group._change(c.group_set_attributes_json, members_as_json(dict(*given, **named)))

    def __repr__(self) -> str:
        return repr(self._all())
