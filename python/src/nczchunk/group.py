"""Groups, as mappings of their members. Groups in directories can be created and changed; those in zip files and
files that hold arrays are read-only."""

from __future__ import annotations

import builtins
import json
import os
import secrets
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from . import _c
from .array import MODES, Array, open
from .attributes import NCZARR_KEYS, as_json, check_name
from .create import create
from .errors import Exists, InvalidArgument, NotFound, NotPermitted
from .listing import list_nodes

if TYPE_CHECKING:
    from .limits import MemoryLimits

_GROUP = {"zarr3": {"zarr_format": 3, "node_type": "group", "attributes": {}}, "zarr2": {"zarr_format": 2}}


def open_group(path: str | bytes | os.PathLike[Any], name: str = "", mode: str = "r", *,
               memory_limits: MemoryLimits | None = None) -> Group:
    """Opens a group of a directory or zip file, or a file that holds arrays.

    path, name, memory_limits: as for open(). mode: "r" for reading, "r+" for reading and writing in a directory.
    """
    _c.one_of("mode", MODES, mode)
    name = name.strip("/")
    if not list_nodes(path, name, recursive=False, memory_limits=memory_limits)[0].is_group:
        raise NotFound(f"{_where(path, name)}: this is an array: pass its name to open()", _c.NO_VARIABLE)
    if mode != "r" and not os.path.isdir(path):
        raise NotPermitted(f'{os.fsdecode(path)}: this is read-only: open it with mode="r"', _c.READ_ONLY)
    return Group(path, name, mode, memory_limits)


def create_group(path: str | bytes | os.PathLike[Any], name: str = "", *, attrs: Mapping[str, Any] | None = None,
                 format: str = "zarr3") -> Group:
    """Creates a group in a directory, with the missing groups above it, and opens it for reading and writing.

    path, name: a directory, and the path of the new group below it. attrs: its attributes. format: "zarr3" or "zarr2".
    """
    name, encoded = name.strip("/"), json.loads(as_json("attrs", {} if attrs is None else dict(attrs)))
    for one in encoded:
        check_name(one)
    plain, root = _c.one_of("format", _GROUP, format), os.fsdecode(_c.path_bytes("path", path))
    parts = name.split("/") if name else []
    for part in parts:
        if part in ("", ".", "..") or part.startswith((".z", "__")) or part == "zarr.json" or "\0" in part:
            raise InvalidArgument(f"name: {name!r} contains {part!r}, which is not a valid name of a group", _c.INVALID)
    wheres = [os.path.join(root, *parts[:i]) for i in range(len(parts) + 1)]
    if _document(wheres[-1]) is not None:
        raise Exists(f"{wheres[-1]}: an array or group exists here", _c.EXISTS)
    for where in wheres[:-1]:
        found = _document(where)
        if found is not None and not _is_group(where, found):
            raise Exists(f"{where}: an array exists here", _c.EXISTS)
    for where in wheres:
        if _document(where) is None:
            os.makedirs(where, exist_ok=True)
            own = encoded if where == wheres[-1] else {}
            if format == "zarr3":
                _write(where, "zarr.json", {**plain, "attributes": own})
            else:
                if own:
                    _write(where, ".zattrs", own)
                _write(where, ".zgroup", plain)
    group = Group(path, name, "r+", None)
    group._forget_consolidated()
    return group


class Group(Mapping[str, "Array | Group"]):
    """An open group: a mapping of the names of its members to arrays and groups, which are opened on access. "a/b"
    is the member b of the group a."""

    def __init__(self, path: str | bytes | os.PathLike[Any], name: str, mode: str,
                 memory_limits: MemoryLimits | None) -> None:
        self._path, self._mode, self._memory_limits = os.fspath(path), mode, memory_limits
        self.name = name

    def _nodes(self, name: str = "") -> list[Any]:
        """The nodes of a member: the member itself first, then its direct members."""
        return list_nodes(self._path, self._full(name), recursive=False, memory_limits=self._memory_limits)

    def _full(self, name: str) -> str:
        return "/".join(part for part in (self.name, name.strip("/")) if part)

    def _members(self) -> list[Any]:
        first = len(self.name) + 1 if self.name else 0
        return [node._replace(name=node.name[first:]) for node in self._nodes()[1:]]

    def __getitem__(self, name: str) -> Array | Group:
        if not isinstance(name, str) or not name.strip("/"):
            raise KeyError(name)
        try:
            node = self._nodes(name)[0]
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
            return bool(self._nodes(name))
        except (InvalidArgument, NotFound):
            return False

    def __iter__(self) -> Iterator[str]:
        return iter([node.name for node in self._members()])

    def __len__(self) -> int:
        return len(self._members())

    def arrays(self) -> dict[str, Array]:
        """The direct members that are arrays, by name."""
        return {node.name: open(self._path, self._full(node.name), self._mode, memory_limits=self._memory_limits)
                for node in self._members() if not node.is_group}

    def groups(self) -> dict[str, Group]:
        """The direct members that are groups, by name."""
        return {node.name: Group(self._path, self._full(node.name), self._mode, self._memory_limits)
                for node in self._members() if node.is_group}

    @property
    def attrs(self) -> MutableMapping[str, Any]:
        """The attributes, as a mapping that can be changed."""
        return _GroupAttributes(self)

    def create_group(self, name: str, *, attrs: Mapping[str, Any] | None = None) -> Group:
        """Creates a group in this one, in the same format."""
        self._check_writable()
        return create_group(self._path, self._full(name), attrs=attrs, format=self._format())

    def create(self, name: str, **description: Any) -> Array:
        """Creates an array in this group, in the same format by default: see create()."""
        self._check_writable()
        return create(self._path, self._full(name), **{"format": self._format(), **description})

    def consolidate(self) -> None:
        """Writes consolidated metadata: the metadata of all members are stored with those of the group, so that
        readers find them with one request. A change of the group or its members by this package removes them."""
        self._check_writable()
        found, format = {}, self._format()
        for node in list_nodes(self._path, self.name, memory_limits=self._memory_limits):
            where = os.path.join(self._root(), node.name)
            below = node.name[len(self.name):].strip("/")
            for document in ("zarr.json",) if format == "zarr3" else (".zgroup", ".zarray", ".zattrs"):
                try:
                    found[f"{below}/{document}".strip("/")] = _read(where, document)
                except FileNotFoundError:
                    pass
        if format == "zarr2":
            _write(self._where(), ".zmetadata", {"zarr_consolidated_format": 1, "metadata": found})
            return
        metadata = {name[:-len("/zarr.json")]: {key: value for key, value in document.items()
                                                if key != "consolidated_metadata"}
                    for name, document in found.items() if name != "zarr.json"}
        _write(self._where(), "zarr.json", {**found["zarr.json"], "consolidated_metadata": {
            "kind": "inline", "must_understand": False, "metadata": metadata}})

    def _root(self) -> str:
        return os.fsdecode(self._path)

    def _where(self) -> str:
        return os.path.join(self._root(), self.name) if self.name else self._root()

    def _format(self) -> str:
        return "zarr3" if _document(self._where()) == "zarr.json" else "zarr2"

    def _check_writable(self) -> None:
        if self._mode == "r":
            raise NotPermitted(f'{_where(self._path, self.name)}: opened read-only: open it with mode="r+" to '
                               "write", _c.READ_ONLY)

    def _change_attributes(self, change: Any) -> None:
        """Calls a function that changes the stored attributes."""
        self._check_writable()
        where = self._where()
        if self._format() == "zarr3":
            document = _read(where, "zarr.json")
            document["attributes"] = attributes = document.get("attributes") or {}
            change(attributes)
            document.pop("consolidated_metadata", None)
            _write(where, "zarr.json", document)
        else:
            try:
                attributes = _read(where, ".zattrs")
            except FileNotFoundError:
                attributes = {}
            change(attributes)
            _write(where, ".zattrs", attributes)
        self._forget_consolidated()

    def _forget_consolidated(self) -> None:
        """Removes the consolidated metadata of this group and those above it."""
        parts = self.name.split("/") if self.name else []
        for i in range(len(parts), -1, -1):
            where = os.path.join(self._root(), *parts[:i])
            try:
                os.unlink(os.path.join(where, ".zmetadata"))
            except FileNotFoundError:
                pass
            try:
                document = _read(where, "zarr.json")
            except FileNotFoundError:
                continue
            if document.pop("consolidated_metadata", None) is not None:
                _write(where, "zarr.json", document)

    def __reduce__(self) -> Any:
        return Group, (self._path, self.name, self._mode, self._memory_limits)

    def __repr__(self) -> str:
        return f"<nczchunk.Group {_where(self._path, self.name)!r}>"

    def tree(self) -> str:
        """The members of the group, as a string with a line for each group and array."""
        lines = [self.name or os.path.basename(self._root().rstrip("/"))]
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
        found: dict[str, Any] = self._group._nodes()[0].attrs
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
        if name not in self._all():
            raise KeyError(name)
        self._group._change_attributes(lambda attributes: (_forget_type(attributes, name), attributes.pop(name)))

    def update(self, *given: Any, **named: Any) -> None:
        """Sets several attributes at once, as dict.update() does."""
        new = {check_name(name): json.loads(as_json(f"attrs[{name!r}]", value))
               for name, value in dict(*given, **named).items()}

        def change(attributes: dict[str, Any]) -> None:
            for name in new:
                _forget_type(attributes, name)
            attributes.update(new)

        self._group._change_attributes(change)

    def __repr__(self) -> str:
        return repr(self._all())


def _forget_type(attributes: dict[str, Any], name: str) -> None:
    """Removes the type that NCZarr keeps of an attribute: that of a new value follows from it."""
    for keys in NCZARR_KEYS:
        if isinstance(attributes.get(keys), dict) and isinstance(attributes[keys].get("types"), dict):
            attributes[keys]["types"].pop(name, None)


def _where(path: Any, name: str) -> str:
    return os.path.join(os.fsdecode(path), name) if name else os.fsdecode(path)


def _document(where: str) -> str | None:
    """The document that says that a directory is a group or an array."""
    return next((name for name in ("zarr.json", ".zgroup", ".zarray") if os.path.exists(os.path.join(where, name))),
                None)


def _is_group(where: str, document: str) -> bool:
    return document == ".zgroup" or document == "zarr.json" and _read(where, document).get("node_type") == "group"


def _read(where: str, document: str) -> Any:
    with builtins.open(os.path.join(where, document), "rb") as file:
        return json.load(file)


def _write(where: str, document: str, content: Any) -> None:
    """Replaces a document atomically."""
    path = os.path.join(where, document)
    temporary = f"{path}.{secrets.token_hex(8)}.tmp"
    try:
        with builtins.open(temporary, "xb") as file:
            file.write(as_json(document, content))
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
