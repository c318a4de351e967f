"""Attributes of an array or group.

Zarr and cfdb store attributes as JSON. Their values are those of the module ``json``: strings, numbers of any size,
bools, None, lists and dicts. netCDF has types of numbers: attributes of netCDF and HDF5 files, and attributes of NCZarr
arrays whose types are stored, are numpy's numbers.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator, MutableMapping
from copy import deepcopy
from ctypes import POINTER, byref, c_char_p
from typing import Any

import numpy as np

from . import _c, locks
from ._c import c
from .errors import Error

_NUMBERS = {1: "i1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
_NUMBER_OF = {dtype: number for number, dtype in _NUMBERS.items()}
# Names that formats keep for themselves, besides those that begin with _nczarr_.
_INTERNAL = "_ARRAY_DIMENSIONS", "_NCProperties", "_nczarr"
# The attributes in which NCZarr keeps the types of the others.
NCZARR_KEYS = "_nczarr_attr", "_NCZARR_ATTR"
# The formats in which every attribute has a type.
_TYPED = "netCDF classic", "HDF5"


def typed(attribute):
    """The value of an attribute that the library tells: a text, a list of texts, one number, or an array of numbers. A
    text ends before the NULs at its end, as in netCDF4-python, which writes one NUL for an empty text."""
    if attribute.type == _c.CHAR:
        return ctypes.string_at(attribute.values, attribute.num_values).decode(errors="replace").rstrip("\0")
    if attribute.type == _c.STRING:
        pointers = ctypes.cast(attribute.values, POINTER(c_char_p))
        return [pointers[i].decode(errors="replace") for i in range(attribute.num_values)]
    dtype = np.dtype(_NUMBERS[attribute.type])
    numbers = np.frombuffer(ctypes.string_at(attribute.values, attribute.num_values * dtype.itemsize), dtype)
    return numbers[0] if len(numbers) == 1 else numbers


def told(num, get):
    """The attributes that the library tells, by name. num, get: how many there are, and a function of an index and a
    structure that fills it in."""
    found = {}
    for i in range(num):
        one = _c.Attribute()
        get(i, byref(one))
        found[one.name.decode(errors="replace")] = typed(one)
    return found


def collect(text, num, get, format):
    """The attributes of an array or group, by name.

    text: all of them as JSON. num, get: as for told(). format: as Array.format has it.
    """
    stored = json.loads(text)
    types = next((stored[name].get("types", {}) for name in NCZARR_KEYS
                  if isinstance(stored.get(name), dict)), {})
    types = types if isinstance(types, dict) else {}

    def one(name, value):
        if name not in stored:
            return value
        is_json = format not in _TYPED and types.get(name, "|J0") == "|J0"
        # netCDF's type for texts does not tell one text from a list of one; what is stored does.
        is_text = isinstance(value, list) and isinstance(stored[name], str)
        return stored[name] if is_json or is_text else value

    return {name: one(name, value) for name, value in told(num, get).items()}


def left_out(call):
    """The reasons that call(callback, thread) has the library tell, by the name of the attribute."""
    return dict(_c.collect(_c.LEFT_OUT, lambda *told: tuple(one.decode(errors="replace") for one in told), call))


def as_json(what, value):
    """The JSON text of a value. What is numpy's in it becomes Python's."""
    def plain(one):
        # Of what Python has no numbers for, such as longdouble, numpy makes its own.
        if isinstance(one, (np.ndarray, np.generic)) and one.dtype.kind in "biufSU" and one.dtype.char not in "gG":
            return one.tolist()
        raise TypeError(f"a value of the type {type(one).__name__} cannot be stored as JSON")

    try:
        return json.dumps(value, default=plain).encode()
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None


def as_numbers(value):
    """Numbers whose type netCDF has: the number of the type, how many there are, where they are, and what has to be
    kept meanwhile. None if a value is no such numbers of numpy's."""
    if not isinstance(value, (np.ndarray, np.generic)) or value.ndim > 1:
        return None
    number = _NUMBER_OF.get(value.dtype.str[1:])
    if number is None:
        return None
    numbers = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
    return number, numbers.size, _c.address(numbers), numbers


def _as_texts(value):
    """As as_numbers(), for a text and a list of texts. (NCZarr arrays have types of these, too.)"""
    texts = [value] if isinstance(value, str) else value
    if not (isinstance(texts, (list, tuple)) and texts and all(isinstance(one, str) for one in texts)):
        return None
    if any("\0" in one or not one.isascii() and one != one.encode(errors="replace").decode() for one in texts):
        return None  # which only JSON can have
    if isinstance(value, str):
        encoded = ctypes.create_string_buffer(value.encode())
        return _c.CHAR, len(encoded) - 1, ctypes.addressof(encoded), encoded
    pointers = _c.texts("an attribute", value)
    return _c.STRING, len(value), ctypes.addressof(pointers), pointers


class Attributes(MutableMapping[str, Any]):
    """The attributes of an array. Changes are stored immediately."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def _all(self) -> dict[str, Any]:
        """All attributes, which are read once and then kept until they change. Do not hand the values out."""
        def of(pointer):
            # Nobody changes them meanwhile.
            if self._array._attributes is None:
                _c.call(c.array_check_attributes, pointer)
                self._array._attributes = collect(
                    c.array_attributes_json(pointer), c.array_num_attributes(pointer),
                    lambda i, one: _c.call(c.array_attribute_at, pointer, i, one),
                    self._array.format)
            return self._array._attributes

        found: dict[str, Any] = self._array._handle.share(of)
        return found

    def _change(self, function, *arguments):
        """Calls a function of the library that changes them."""
        self._array._check_writable()

        def change(pointer):
            self._array._attributes = None
            _c.call(function, pointer, *arguments)

        # The metadata are one document, of which append() changes another part.
        self._array._holding_lock(False, lambda: _c.change(self._array._handle, change), locks.may_wait())

    def __getitem__(self, name: str) -> Any:
        return deepcopy(self._all()[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return self._array._handle.share(c.array_num_attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        encoded = _c.text("the name of an attribute", name)
        given = as_numbers(value) or _as_texts(value)
        if given is None:
            self.update({name: value})
            return
        number, num_values, values, _kept = given
        self._change(c.array_set_attribute, encoded, number, num_values, values)

    def __delitem__(self, name: str) -> None:
        encoded = _c.text("the name of an attribute", name)
        try:
            self._change(c.array_remove_attribute, encoded)
        except Error as error:
            if error.status != _c.NO_ATTRIBUTE:
                raise
            raise KeyError(name) from None

    def update(self, *given: Any, **named: Any) -> None:
        """Sets several attributes at once, as dict's update() does. Numbers of numpy's become Python's."""
        self._change(c.array_set_attributes_json, members_as_json(dict(*given, **named)))

    def __repr__(self) -> str:
        return repr(self._all())

    def as_netcdf(self) -> dict[str, Any]:
        """All attributes as netCDF-C reads them: strings, lists of strings, and numpy's numbers with the types that
        are stored or follow from the values. A value that netCDF does not support is its JSON text."""
        def of(pointer):
            _c.call(c.array_check_attributes, pointer)
            return told(c.array_num_attributes(pointer), lambda i, one: _c.call(c.array_attribute_at, pointer, i, one))

        return self._array._handle.share(of)

    def as_json(self) -> str:
        """All attributes as a JSON object in a string."""
        return self._array._handle.share(c.array_attributes_json).decode()


def members_as_json(new):
    """Attributes as the text of a JSON object."""
    return b"{%s}" % b", ".join(
        as_json(name, check_name(name)) + b": " + as_json(f"attrs[{name!r}]", value) for name, value in new.items())


def check_name(name):
    """A name that an attribute can have."""
    _c.text("the name of an attribute", name)
    if not name or name.startswith(("_nczarr_", "_NCZARR_")) or name in _INTERNAL:
        raise ValueError(f"an attribute cannot have the name {name!r}, which the formats reserve")
    return name
