"""The C interface of nczchunk, as far as the judges need it."""

import ctypes
import json
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_void_p

import numpy as np

READ, WRITE = 0, 1
NCZARR, ZARR_V2, ZARR_V3 = 1, 2, 3
LITTLE, BIG = 1, 2
CHAR, STRING = 2, 12
ATTRIBUTE_TYPES = {1: "i1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}


class Failed(Exception):
    """A call that failed: its status, and the words of its context."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class CodecSetting(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("configuration", c_char_p)]


class Attribute(ctypes.Structure):
    """nczchunk_attribute."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_size_t), ("num_values", c_size_t),
                ("values", c_void_p)]

    def value(self):
        """A text, a list of texts, or an array of numbers."""
        if self.type == CHAR:
            return ctypes.string_at(self.values, self.num_values).decode()
        if self.type == STRING:
            pointers = ctypes.cast(self.values, POINTER(c_char_p))
            return [pointers[i].decode() for i in range(self.num_values)]
        dtype = np.dtype(ATTRIBUTE_TYPES[self.type])
        return np.frombuffer(ctypes.string_at(self.values, self.num_values * dtype.itemsize), dtype)


class Description(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("fill_value", c_void_p), ("codecs", POINTER(CodecSetting)),
                ("num_codecs", c_size_t), ("uncompressed", c_size_t), ("attributes_json", c_char_p),
                ("attributes", POINTER(Attribute)), ("num_attributes", c_size_t), ("format", c_size_t),
                ("separator", c_size_t), ("endian", c_size_t), ("overwrite", c_size_t)]


class Node(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("is_group", c_size_t), ("status", c_ssize_t),
                ("message", c_char_p), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("is_unlimited", POINTER(c_size_t)),
                ("num_attributes", c_size_t), ("attributes_json", c_char_p), ("attributes", c_void_p)]


FOUND = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Node))


class Library:
    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.context = c_void_p()
        pointer, text = c_void_p, c_char_p
        sizes, strides = POINTER(c_size_t), POINTER(c_ssize_t)
        for name, result, arguments in [
            ("version", text, []),
            ("context_new", c_int, [POINTER(pointer)]),
            ("context_message", text, [pointer]),
            ("context_set_threads", c_int, [pointer, c_size_t]),
            ("array_open", c_int, [text, text, c_int, POINTER(pointer), pointer]),
            ("array_create", c_int, [text, text, POINTER(Description), POINTER(pointer), pointer]),
            ("array_create_in", c_int, [pointer, text, POINTER(Description), POINTER(pointer), pointer]),
            ("place_create_zip", c_int, [text, POINTER(pointer), pointer]),
            ("place_finish", c_int, [pointer, pointer]),
            ("place_free", None, [pointer]),
            ("array_resize", c_int, [pointer, sizes, pointer]),
            ("array_set_attribute", c_int, [pointer, text, c_int, c_size_t, pointer, pointer]),
            ("array_remove_attribute", c_int, [pointer, text, pointer]),
            ("list", c_int, [text, text, c_int, FOUND, pointer, pointer]),
            ("array_close", None, [pointer]),
            ("array_read", c_int, [pointer, sizes, sizes, strides, pointer, pointer]),
            ("free_strings", None, [c_size_t, pointer]),
            ("array_write", c_int, [pointer, sizes, sizes, strides, pointer, pointer]),
            ("array_var", pointer, [pointer]),
            ("array_type", c_int, [pointer]),
            ("array_type_name", text, [pointer]),
            ("array_dimname", text, [pointer, c_size_t]),
            ("array_attributes_json", text, [pointer]),
            ("array_num_attributes", c_size_t, [pointer]),
            ("array_attribute_at", c_int, [pointer, c_size_t, POINTER(Attribute), pointer]),
            ("var_rank", c_size_t, [pointer]),
            ("var_dimlen", c_size_t, [pointer, c_size_t]),
            ("var_element_size", c_size_t, [pointer]),
        ]:
            function = getattr(self.c, "nczchunk_" + name)
            function.restype, function.argtypes = result, arguments
        self.c.nczchunk_context_new(byref(self.context))

    def set_threads(self, threads):
        self.check(self.c.nczchunk_context_set_threads(self.context, threads))

    def check(self, status):
        if status != 0:
            raise Failed(status, self.c.nczchunk_context_message(self.context).decode())

    def open(self, path, name="", mode=READ):
        return Array(self, lambda pointer: self.c.nczchunk_array_open(
            str(path).encode(), name.encode(), mode, pointer, self.context))

    def create(self, path, name, type_name, shape, chunks=None, shards=None, dims=None, fill_value=None, codecs=None,
               attributes=None, format=ZARR_V3, separator=None, endian=None, overwrite=False):
        """A new array. codecs are (name, configuration) pairs; none at all have chunks stored as they are."""
        codec_list = [CodecSetting(name.encode(), json.dumps(settings).encode()) for name, settings in codecs or []]
        if isinstance(fill_value, str):
            kept = c_char_p(fill_value.encode())
            fill_value = np.array(ctypes.cast(kept, c_void_p).value, "u8")
        fill = None if fill_value is None else np.ascontiguousarray(fill_value)
        description = Description(
            struct_size=ctypes.sizeof(Description), type_name=type_name.encode(), rank=len(shape),
            shape=_list(shape, c_size_t), chunk_shape=_list(chunks, c_size_t), shard_shape=_list(shards, c_size_t),
            dimension_names=_list([name.encode() for name in dims], c_char_p) if dims else None,
            fill_value=None if fill is None else fill.ctypes.data,
            codecs=_list(codec_list, CodecSetting) if codec_list else None, num_codecs=len(codec_list),
            uncompressed=codecs is not None and not codec_list,
            attributes_json=json.dumps(attributes or {}).encode(), format=format, separator=ord(separator or "\0"),
            endian=endian or 0, overwrite=overwrite)
        if isinstance(path, NewZip):
            return Array(self, lambda pointer: self.c.nczchunk_array_create_in(
                path.place, name.encode(), byref(description), pointer, self.context))
        return Array(self, lambda pointer: self.c.nczchunk_array_create(
            str(path).encode(), name.encode(), byref(description), pointer, self.context))

    def list(self, path, group="", recursive=True):
        """What is in a group: (name, what): what is None for a group, else the type's name, shape and dimensions."""
        found = []

        def one(_, node):
            node = node.contents
            rank = range(node.rank)
            array = (node.type_name.decode(), tuple(node.shape[d] for d in rank),
                     tuple(node.dimension_names[d].decode() for d in rank))
            found.append((node.name.decode(), None if node.is_group else array))
            return 0

        self.check(self.c.nczchunk_list(str(path).encode(), group.encode(), recursive, FOUND(one), None, self.context))
        return found


def _list(values, kind):
    return None if values is None else (kind * max(1, len(values)))(*values)


class NewZip:
    """A zip file that is being made, to be given in place of a path."""

    def __init__(self, library, path):
        self.library, self.place = library, c_void_p()
        library.check(library.c.nczchunk_place_create_zip(str(path).encode(), byref(self.place), library.context))

    def finish(self):
        self.library.check(self.library.c.nczchunk_place_finish(self.place, self.library.context))
        self.library.c.nczchunk_place_free(self.place)


class Array:
    def __init__(self, library, open_it):
        self.library, self.c, self.pointer = library, library.c, c_void_p()
        library.check(open_it(byref(self.pointer)))
        var = self.c.nczchunk_array_var(self.pointer)
        rank = self.c.nczchunk_var_rank(var)
        self.shape = tuple(self.c.nczchunk_var_dimlen(var, d) for d in range(rank))
        self.element_size = self.c.nczchunk_var_element_size(var)
        self.type = self.c.nczchunk_array_type(self.pointer)
        self.type_name = self.c.nczchunk_array_type_name(self.pointer).decode()
        self.dimnames = [self.c.nczchunk_array_dimname(self.pointer, d).decode() for d in range(rank)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.c.nczchunk_array_close(self.pointer)
        self.pointer = None

    def attributes_json(self):
        return self.c.nczchunk_array_attributes_json(self.pointer).decode()

    def attributes(self):
        """All attributes by name, each the number of its type and its value."""
        found = {}
        for i in range(self.c.nczchunk_array_num_attributes(self.pointer)):
            one = Attribute(ctypes.sizeof(Attribute))
            self.library.check(self.c.nczchunk_array_attribute_at(self.pointer, i, byref(one), self.library.context))
            found[one.name.decode()] = (one.type, one.value())
        return found

    def read(self, dtype, start=None, count=None, stride=None):
        """A hyperslab as an array of this type."""
        start = [0] * len(self.shape) if start is None else start
        count = list(self.shape) if count is None else count
        is_text = self.type_name == "string"
        out = np.zeros(count, "u8" if is_text else dtype)
        self.read_into(out, start, stride)
        if not is_text:
            return out
        texts = [ctypes.string_at(int(pointer)).decode() for pointer in out.reshape(-1)]
        self.c.nczchunk_free_strings(out.size, out.ctypes.data)
        return np.array([*texts, None], object)[:-1].reshape(count)

    def read_into(self, out, start, stride=None):
        """A hyperslab of the shape of an array that is contiguous, into it."""
        assert out.itemsize == self.element_size and out.flags.c_contiguous, (out.dtype, self.element_size)
        self.library.check(self.c.nczchunk_array_read(
            self.pointer, _list(start, c_size_t), _list(out.shape, c_size_t), _list(stride, c_ssize_t),
            out.ctypes.data, self.library.context))

    def write(self, values, start, stride=None):
        """Writes values to a hyperslab."""
        values = np.ascontiguousarray(values)
        shape = values.shape
        if values.dtype == object:
            texts = [text.encode() for text in values.reshape(-1)]
            values = np.array([ctypes.cast(text, c_void_p).value for text in map(c_char_p, texts)], "u8")
        self.library.check(self.c.nczchunk_array_write(
            self.pointer, _list(start, c_size_t), _list(shape, c_size_t), _list(stride, c_ssize_t),
            values.ctypes.data, self.library.context))

    def resize(self, shape):
        self.library.check(self.c.nczchunk_array_resize(self.pointer, _list(shape, c_size_t), self.library.context))
        self.shape = tuple(shape)

    def set_attribute(self, name, values):
        """Sets an attribute: a text, a list of texts, or numbers with the type that numpy has for them."""
        if isinstance(values, str):
            number, values = 2, np.frombuffer(values.encode(), "u1")
        elif isinstance(values, list):
            number, texts = 12, (c_char_p * len(values))(*[text.encode() for text in values])
            self.library.check(self.c.nczchunk_array_set_attribute(
                self.pointer, name.encode(), number, len(values), texts, self.library.context))
            return
        else:
            values = np.ascontiguousarray(values)
            number = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "u1": 7, "u2": 8, "u4": 9, "i8": 10,
                      "u8": 11}[values.dtype.str[1:]]
        self.library.check(self.c.nczchunk_array_set_attribute(
            self.pointer, name.encode(), number, values.size, values.ctypes.data, self.library.context))

    def remove_attribute(self, name):
        self.library.check(self.c.nczchunk_array_remove_attribute(self.pointer, name.encode(), self.library.context))
