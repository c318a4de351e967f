"""The C interface: the library, its structures and functions, and calls whose failures are raised."""

import ctypes
import os
import pathlib
import signal
import threading
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p

import numpy as np

from .errors import error_of

READ, WRITE = 0, 1
CHAR, STRING = 2, 12
NCZARR, ZARR_V2, ZARR_V3 = 1, 2, 3

# What Ctrl-C ends a call with: a number that no callback and no part of the library returns.
INTERRUPTED = -20000


class Attribute(ctypes.Structure):
    """nczchunk_attribute."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_size_t), ("num_values", c_size_t),
                ("values", c_void_p)]


class CodecSetting(ctypes.Structure):
    """nczchunk_codec_setting."""

    _fields_ = [("name", c_char_p), ("configuration", c_char_p)]


class Description(ctypes.Structure):
    """nczchunk_description."""

    _fields_ = [("struct_size", c_size_t), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("fill_value", c_void_p), ("codecs", POINTER(CodecSetting)),
                ("num_codecs", c_size_t), ("uncompressed", c_size_t), ("attributes_json", c_char_p),
                ("attributes", POINTER(Attribute)), ("num_attributes", c_size_t), ("format", c_size_t),
                ("separator", c_size_t), ("endian", c_size_t), ("overwrite", c_size_t)]


class Node(ctypes.Structure):
    """nczchunk_node."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("is_group", c_size_t), ("status", c_ssize_t),
                ("message", c_char_p), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("is_unlimited", POINTER(c_size_t)),
                ("num_attributes", c_size_t), ("attributes_json", c_char_p), ("attributes", c_void_p)]


class CacheStatistics(ctypes.Structure):
    """nczchunk_cache_statistics."""

    _fields_ = [("struct_size", c_size_t), ("chunks", c_size_t), ("bytes", c_size_t), ("limit", c_size_t),
                ("hits", c_uint64), ("misses", c_uint64), ("evictions", c_uint64)]


FOUND = CFUNCTYPE(c_int, c_void_p, POINTER(Node))
PROGRESS = CFUNCTYPE(c_int, c_void_p, c_void_p)

_POINTER, _TEXT, _SIZES, _STRIDES = c_void_p, c_char_p, POINTER(c_size_t), POINTER(c_ssize_t)
_FUNCTIONS = [
    # The name, the result, the arguments.
    ("array_attribute_at", c_int, [_POINTER, c_size_t, POINTER(Attribute), _POINTER]),
    ("array_attributes_json", _TEXT, [_POINTER]),
    ("array_close", None, [_POINTER]),
    ("array_create", c_int, [_TEXT, _TEXT, POINTER(Description), POINTER(_POINTER), _POINTER]),
    ("array_create_in", c_int, [_POINTER, _TEXT, POINTER(Description), POINTER(_POINTER), _POINTER]),
    ("array_dimname", _TEXT, [_POINTER, c_size_t]),
    ("array_num_attributes", c_size_t, [_POINTER]),
    ("array_open", c_int, [_TEXT, _TEXT, c_int, POINTER(_POINTER), _POINTER]),
    ("array_read", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER]),
    ("array_remove_attribute", c_int, [_POINTER, _TEXT, _POINTER]),
    ("array_resize", c_int, [_POINTER, _SIZES, _POINTER]),
    ("array_set_attribute", c_int, [_POINTER, _TEXT, c_int, c_size_t, _POINTER, _POINTER]),
    ("array_set_cache", c_int, [_POINTER, _POINTER, _POINTER]),
    ("array_set_verify", c_int, [_POINTER, c_int, _POINTER]),
    ("array_store", _POINTER, [_POINTER]),
    ("array_type", c_int, [_POINTER]),
    ("array_type_name", _TEXT, [_POINTER]),
    ("array_var", _POINTER, [_POINTER]),
    ("array_write", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER]),
    ("cache_free", None, [_POINTER]),
    ("cache_get_statistics", c_int, [_POINTER, POINTER(CacheStatistics), _POINTER]),
    ("cache_new", c_int, [c_size_t, POINTER(_POINTER), _POINTER]),
    ("context_chunk", POINTER(c_ssize_t), [_POINTER, POINTER(c_size_t)]),
    ("context_dimension", c_int, [_POINTER]),
    ("context_free", None, [_POINTER]),
    ("context_message", _TEXT, [_POINTER]),
    ("context_new", c_int, [POINTER(_POINTER)]),
    ("context_set_progress", c_int, [_POINTER, PROGRESS, _POINTER]),
    ("context_set_threads", c_int, [_POINTER, c_size_t]),
    ("free_strings", None, [c_size_t, _POINTER]),
    ("has_codec", c_int, [_TEXT]),
    ("list", c_int, [_TEXT, _TEXT, c_int, FOUND, _POINTER, _POINTER]),
    ("node_attribute_at", c_int, [POINTER(Node), c_size_t, POINTER(Attribute), _POINTER]),
    ("place_create_zip", c_int, [_TEXT, POINTER(_POINTER), _POINTER]),
    ("place_finish", c_int, [_POINTER, _POINTER]),
    ("place_free", None, [_POINTER]),
    ("read_strided", c_int, [_POINTER, _POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, c_size_t, c_size_t, _STRIDES,
                             _POINTER]),
    ("strerror", _TEXT, [c_int]),
    ("var_chunklen", c_size_t, [_POINTER, c_size_t]),
    ("var_dimlen", c_size_t, [_POINTER, c_size_t]),
    ("var_element_size", c_size_t, [_POINTER]),
    ("var_fill_value", _POINTER, [_POINTER]),
    ("var_rank", c_size_t, [_POINTER]),
    ("var_write_chunklen", c_size_t, [_POINTER, c_size_t]),
    ("version", _TEXT, []),
    ("write_strided", c_int, [_POINTER, _POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, c_size_t, c_size_t, _STRIDES,
                              _POINTER]),
]


class Functions:
    """The functions of the library, without ``nczchunk_`` before their names."""


def _load():
    path = os.environ.get("NCZCHUNK_LIBRARY")
    if path is None:
        here = pathlib.Path(__file__).parent
        path = next((str(found) for found in sorted(here.glob("libnczchunk.*"))), None)
    if path is None:
        raise ImportError("the library is not beside the package: install it with pip, or set NCZCHUNK_LIBRARY")
    library, functions = ctypes.CDLL(path), Functions()
    for name, result, arguments in _FUNCTIONS:
        function = getattr(library, "nczchunk_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, function)
    return functions


c = _load()


class _Context(threading.local):
    """A context for each thread, which is freed with it."""

    def __init__(self):
        self.pointer = c_void_p()
        if c.context_new(byref(self.pointer)) != 0:
            raise MemoryError("no memory for a context")

    def __del__(self):
        # Python may have taken the functions away already when the process ends.
        if c is not None and self.pointer:
            c.context_free(self.pointer)


_context = _Context()


# Calls that transfer less than this many bytes are not worth being interrupted.
_INTERRUPTIBLE = 4 << 20
_no_answer = PROGRESS()


def call(function, *arguments):
    """Calls a function whose last argument is a context, and raises what went wrong."""
    context = _context.pointer
    status = function(*arguments, context)
    if status != 0:
        raise _error(status, context)


def transfer(function, threads, num_bytes, *arguments):
    """Calls a function that transfers so many bytes, with so many threads. Ctrl-C ends it between chunks."""
    context = _context.pointer
    c.context_set_threads(context, threads)
    watched = (num_bytes >= _INTERRUPTIBLE and threading.current_thread() is threading.main_thread()
               and signal.getsignal(signal.SIGINT) is signal.default_int_handler)
    if not watched:
        status = function(*arguments, context)
    else:
        # Whatever a handler raises while the library calls back would be lost; so it only leaves a note.
        interrupts = []
        answer = PROGRESS(lambda _, __: INTERRUPTED if interrupts else 0)
        signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))
        try:
            c.context_set_progress(context, answer, None)
            status = function(*arguments, context)
        finally:
            c.context_set_progress(context, _no_answer, None)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if interrupts:
            raise KeyboardInterrupt
    if status != 0:
        raise _error(status, context)


def _error(status, context):
    message = c.context_message(context) or c.strerror(status)
    dimension, rank = c.context_dimension(context), c_size_t()
    indices = c.context_chunk(context, byref(rank))
    chunk = tuple(indices[d] for d in range(rank.value)) if indices else None
    return error_of(status, message.decode(errors="replace"), None if dimension < 0 else dimension, chunk)


def sizes(numbers):
    return (c_size_t * max(1, len(numbers)))(*numbers)


def signed_sizes(numbers):
    return (c_ssize_t * max(1, len(numbers)))(*numbers)


def path_bytes(path):
    return os.fspath(path).encode() if isinstance(os.fspath(path), str) else os.fspath(path)


def text(given):
    """A text as the library takes it."""
    encoded = given.encode()
    if b"\0" in encoded:
        raise ValueError("a text with a NUL in it")
    return encoded


def texts(given):
    """A list of texts as the library takes them, which it borrows."""
    return (c_char_p * max(1, len(given)))(*[text(one) for one in given])


def address(array):
    """Where the first element of a numpy array is."""
    return array.__array_interface__["data"][0]


def take_strings(pointers):
    """The texts that the library has put into an array of pointers, as an array of str; the library's are freed."""
    flat = pointers.reshape(-1)
    try:
        found = np.empty(flat.shape, object)
        for i, pointer in enumerate(flat.tolist()):
            found[i] = ctypes.string_at(pointer).decode() if pointer else ""
        return found.reshape(pointers.shape)
    finally:
        c.free_strings(flat.size, address(flat))
