"""Attributes of an array or group: texts, lists of texts, and numbers with their types."""

import ctypes
from collections.abc import MutableMapping
from ctypes import POINTER, byref, c_char_p

import numpy as np

from . import _c
from ._c import c
from .errors import Error

_NUMBERS = {1: "i1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
_NUMBER_OF = {dtype: number for number, dtype in _NUMBERS.items()}


def value_of(attribute):
    """A text, a list of texts, one number, or an array of numbers."""
    if attribute.type == _c.CHAR:
        return ctypes.string_at(attribute.values, attribute.num_values).decode(errors="replace")
    if attribute.type == _c.STRING:
        pointers = ctypes.cast(attribute.values, POINTER(c_char_p))
        return [pointers[i].decode(errors="replace") for i in range(attribute.num_values)]
    dtype = np.dtype(_NUMBERS[attribute.type])
    numbers = np.frombuffer(ctypes.string_at(attribute.values, attribute.num_values * dtype.itemsize), dtype)
    return numbers[0] if len(numbers) == 1 else numbers


def collect(num, get):
    """The attributes that a function of an index and a structure tells, by name."""
    found = {}
    for i in range(num):
        one = _c.Attribute()
        get(i, byref(one))
        found[one.name.decode(errors="replace")] = value_of(one)
    return found


def as_stored(name, value):
    """The number of a value's type, how many there are, and where they are, with what has to be kept meanwhile. The
    name is the attribute's."""
    if isinstance(value, str):
        encoded = ctypes.create_string_buffer(_c.utf8(name, value))
        return _c.CHAR, len(encoded) - 1, ctypes.addressof(encoded), encoded
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, str) for one in value):
        pointers = _c.texts(name, value)
        return _c.STRING, len(value), ctypes.addressof(pointers), pointers
    numbers = np.ascontiguousarray(value)
    number = _NUMBER_OF.get(numbers.dtype.str[1:])
    if number is None or not numbers.dtype.isnative:
        raise TypeError(f"{name}: expected a text, a list of texts, or numbers that netCDF has, found {value!r}")
    return number, numbers.size, _c.address(numbers), numbers


class Attributes(MutableMapping):
    """The attributes of an array, which are changed where it is stored as they are changed here."""

    def __init__(self, array):
        self._array = array

    def _all(self):
        def of(pointer):
            _c.call(c.array_check_attributes, pointer)
            return collect(c.array_num_attributes(pointer),
                           lambda i, one: _c.call(c.array_attribute_at, pointer, i, one))

        return self._array._handle.share(of)

    def __getitem__(self, name):
        if not isinstance(name, str) or "\0" in name:
            raise KeyError(name)
        encoded, one = name.encode(errors="surrogatepass"), _c.Attribute()

        def value(pointer):
            _c.call(c.array_attribute, pointer, encoded, byref(one))
            return value_of(one)

        try:
            return self._array._handle.share(value)
        except Error as error:
            if error.status != _c.NO_ATTRIBUTE:
                raise
            raise KeyError(name) from None

    def __iter__(self):
        return iter(self._all())

    def __len__(self):
        return self._array._handle.share(c.array_num_attributes)

    def __setitem__(self, name, value):
        encoded = _c.text("the name of an attribute", name)
        number, num_values, values, _kept = as_stored(name, value)
        _c.change(self._array._handle, lambda pointer: _c.call(
            c.array_set_attribute, pointer, encoded, number, num_values, values))

    def __delitem__(self, name):
        encoded = _c.text("the name of an attribute", name)
        try:
            _c.change(self._array._handle, lambda pointer: _c.call(c.array_remove_attribute, pointer, encoded))
        except Error as error:
            if error.status != _c.NO_ATTRIBUTE:
                raise
            raise KeyError(name) from None

    def __repr__(self):
        return repr(self._all())

    def as_json(self):
        """All of them as the text of a JSON object."""
        return self._array._handle.share(c.array_attributes_json).decode()
