"""The C interface: the library, its structures and functions, what they take, and calls whose failures are raised.

Whatever crosses into C is checked here. ctypes itself cuts off what does not fit: of 2**64 + 5 it passes 5, and of a
text with a NUL what is before that. So every argument of a function and every field of a structure that is a number or
a text is checked as it crosses, by _checked() and Structure, and numbers in arrays by sizes(). What a user gives is
checked before that by its name: by integer(), lengths(), text(), texts() and path_bytes().
"""

import ctypes
import operator
import os
import pathlib
import struct
from contextlib import nullcontext, suppress
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_ssize_t, c_uint64, c_void_p
from threading import get_ident
from weakref import ref

import numpy as np

from .errors import error_of
from .handle import CallingBack, at_fork, check_running, in_thread, is_main_thread

READ, WRITE = 0, 1
STORED = 1
CHAR, STRING = 2, 12
NCZARR, ZARR_V2, ZARR_V3 = 1, 2, 3
NO_ATTRIBUTE, READ_ONLY, EXISTS, INVALID, NO_VARIABLE, NO_OBJECT = -43, -37, -35, -36, -49, -141
SIZE_MAX = c_size_t(-1).value
INT_MAX = 2 ** (8 * ctypes.sizeof(c_int) - 1) - 1

# What a callback of Python ends a call with: a number that no part of the library returns.
INTERRUPTED = -20000


def integer(name, given, least=0, most=SIZE_MAX):
    """An integer within these bounds."""
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, found {given!r}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: expected an integer from {least} to {most}, found {number}")
    return number


def lengths(name, given, least=0):
    """A tuple of lengths of dimensions."""
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name}: expected a sequence of integers, such as (3,), found {given!r}")
    try:
        items = tuple(given)
    except TypeError:
        raise TypeError(f"{name}: expected a sequence of integers, such as (3,), found {given!r}") from None
    return tuple(integer(f"{name}[{d}]", item, least) for d, item in enumerate(items))


def one_of(name, known, given):
    """What a dict has for a name."""
    for one, value in known.items():
        if type(one) is type(given) and one == given:
            return value
    raise ValueError(f"{name}: expected one of {', '.join(map(repr, known))}, found {given!r}")


def sizes(numbers):
    """Numbers as an array of size_t."""
    return _packed(c_size_t, "N", numbers)


def signed_sizes(numbers):
    """Numbers as an array of ptrdiff_t."""
    return _packed(c_ssize_t, "n", numbers)


def _packed(kind, code, numbers):
    # Unlike ctypes, struct refuses what does not fit.
    try:
        packed = struct.pack(f"{len(numbers)}{code}", *numbers)
    except struct.error:
        raise ValueError(f"expected integers that fit into {kind.__name__}, found {tuple(numbers)}") from None
    return (kind * len(numbers)).from_buffer_copy(packed)


def utf8(name, given):
    """A text in UTF-8."""
    if not isinstance(given, str):
        raise TypeError(f"{name}: expected a str, found {given!r}")
    try:
        return given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {given!r} is not valid Unicode") from None


def text(name, given):
    """A text as the library takes it, which ends at a NUL."""
    encoded = utf8(name, given)
    if b"\0" in encoded:
        raise ValueError(f"{name}: {given!r} contains a NUL character")
    return encoded


def texts(name, given):
    """A list of texts as the library takes them, which it borrows."""
    return (c_char_p * max(1, len(given)))(*[text(name, one) for one in given])


# How much of a path that is none messages show.
_MOST_SHOWN = 300


def path_bytes(name, given):
    """A path as the library takes it, in the encoding of the file system."""
    try:
        encoded = os.fsencode(given)
    except TypeError:
        raise TypeError(f"{name}: expected a str, bytes or os.PathLike object, found {given!r}") from None
    if b"\0" in encoded:
        # It may be what is in a file.
        given = os.fspath(given)
        more = "..." if len(given) > _MOST_SHOWN else ""
        raise ValueError(f"{name}: {given[:_MOST_SHOWN]!r}{more} contains a NUL character")
    return encoded


class Structure(ctypes.Structure):
    """A structure of the library's, whose fields are checked as they are set. Its size is set already."""

    def __init__(self, **fields):
        super().__init__()
        if self._fields_[0][0] == "struct_size":
            self.struct_size = ctypes.sizeof(self)
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        kind = dict(self._fields_)[name]
        if kind is c_size_t:
            integer(name, value)
        elif kind is c_char_p:
            _check_text(value)
        super().__setattr__(name, value)


class Attribute(Structure):
    """nczchunk_attribute."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("type", c_size_t), ("num_values", c_size_t),
                ("values", c_void_p)]


class CodecSetting(Structure):
    """nczchunk_codec_setting."""

    _fields_ = [("name", c_char_p), ("configuration", c_char_p)]


class Description(Structure):
    """nczchunk_description."""

    _fields_ = [("struct_size", c_size_t), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("fill_value", c_void_p), ("codecs", POINTER(CodecSetting)),
                ("num_codecs", c_size_t), ("uncompressed", c_size_t), ("attributes_json", c_char_p),
                ("attributes", POINTER(Attribute)), ("num_attributes", c_size_t), ("format", c_size_t),
                ("separator", c_size_t), ("endian", c_size_t), ("overwrite", c_size_t),
                ("chunk_lengths", POINTER(POINTER(c_size_t))), ("num_chunks", POINTER(c_size_t))]


class Node(Structure):
    """nczchunk_node."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("is_group", c_size_t), ("status", c_ssize_t),
                ("message", c_char_p), ("type", c_size_t), ("type_name", c_char_p), ("rank", c_size_t),
                ("shape", POINTER(c_size_t)), ("chunk_shape", POINTER(c_size_t)), ("shard_shape", POINTER(c_size_t)),
                ("dimension_names", POINTER(c_char_p)), ("is_unlimited", POINTER(c_size_t)),
                ("num_attributes", c_size_t), ("attributes_json", c_char_p), ("attributes", c_void_p),
                ("attributes_status", c_ssize_t), ("attributes_message", c_char_p), ("format", c_char_p)]


class Located(Structure):
    """nczchunk_located."""

    _fields_ = [("struct_size", c_size_t), ("rank", c_size_t), ("chunk_indices", POINTER(c_ssize_t)),
                ("object", c_char_p), ("state", c_size_t), ("offset", c_uint64), ("len", c_uint64)]


class Dimension(Structure):
    """nczchunk_dimension."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("len", c_size_t), ("is_unlimited", c_size_t)]


class MemoryLimits(Structure):
    """nczchunk_memory_limits."""

    _fields_ = [("struct_size", c_size_t), ("chunk_bytes", c_size_t), ("string_chunk_bytes", c_size_t),
                ("metadata_bytes", c_size_t)]


class AdviseCosts(Structure):
    """nczchunk_advise_costs."""

    _fields_ = [("struct_size", c_size_t), ("in_flight", c_size_t), ("least_bytes", c_size_t), ("most_bytes", c_size_t),
                ("step_bytes", c_size_t), ("latency", c_double), ("bandwidth", c_double), ("decoding", c_double),
                ("stored", c_double), ("per_request", c_double), ("per_chunk", c_double), ("copying", c_double)]


class Progress(Structure):
    """nczchunk_progress."""

    _fields_ = [("struct_size", c_size_t), ("chunks_done", c_size_t), ("num_chunks", c_size_t),
                ("bytes_done", c_size_t), ("num_bytes", c_size_t)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(Progress))


class RechunkOptions(Structure):
    """nczchunk_rechunk_options."""

    _fields_ = [("struct_size", c_size_t), ("memory", c_size_t), ("chunk_shape", POINTER(c_size_t)),
                ("shard_shape", POINTER(c_size_t)), ("codecs", POINTER(CodecSetting)), ("num_codecs", c_size_t),
                ("uncompressed", c_size_t), ("format", c_size_t), ("endian", c_size_t), ("temporary", c_void_p)]


class RechunkReport(Structure):
    """nczchunk_rechunk_report."""

    _fields_ = [("struct_size", c_size_t), ("num_passes", c_size_t), ("num_boxes", c_size_t),
                ("boxes_resumed", c_size_t), ("chunks_read", c_size_t), ("bytes_read", c_size_t),
                ("bytes_written", c_size_t), ("memory", c_size_t), ("least_memory", c_size_t)]


class ReadCost(Structure):
    """nczchunk_read_cost."""

    _fields_ = [("struct_size", c_size_t), ("requests", c_uint64), ("bytes", c_uint64), ("index_requests", c_uint64),
                ("index_bytes", c_uint64)]


class CacheStatistics(Structure):
    """nczchunk_cache_statistics."""

    _fields_ = [("struct_size", c_size_t), ("chunks", c_size_t), ("bytes", c_size_t), ("limit", c_size_t),
                ("hits", c_uint64), ("misses", c_uint64), ("evictions", c_uint64)]


def _check_size(given):
    integer("size_t", given)


def _check_int(given):
    integer("int", given, -INT_MAX - 1, INT_MAX)


def _check_text(given):
    if given is not None and (not isinstance(given, bytes) or b"\0" in given):
        raise ValueError(f"expected bytes without a NUL, found {given!r}")


_CHECKS = {c_size_t: _check_size, c_int: _check_int, c_char_p: _check_text}


def _checked(function):
    """A function of the library whose arguments are checked. (Not by ctypes, with from_param: what a handler of a
    signal raises there becomes another exception.)"""
    checks = [(i, _CHECKS[kind]) for i, kind in enumerate(function.argtypes) if kind in _CHECKS]
    if not checks:
        return function

    def call(*arguments):
        for i, check in checks:
            check(arguments[i])
        return function(*arguments)

    return call


class ObjectRequest(ctypes.Structure):
    """nczchunk_object_request, of which a callback sets fields."""

    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("offset", c_uint64), ("from_end", c_size_t),
                ("buffer", c_void_p), ("size", c_size_t), ("nbytes", c_size_t), ("object_size", c_uint64),
                ("status", c_ssize_t), ("handle", c_void_p), ("version", c_uint64)]


READ_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_void_p)
FOUND_NAME = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)
LIST_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_char_p, FOUND_NAME, c_void_p)
WRITE_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_size_t)
REMOVE_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_char_p)
WAIT_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_void_p)
CANCEL_CALLBACK = CFUNCTYPE(None, c_void_p, c_void_p)
DESTROY_CALLBACK = CFUNCTYPE(None, c_void_p)


class StorageCallbacks(Structure):
    """nczchunk_storage_callbacks."""

    _fields_ = [("struct_size", c_size_t), ("user", c_void_p), ("read", READ_CALLBACK), ("list", LIST_CALLBACK),
                ("write", WRITE_CALLBACK), ("remove", REMOVE_CALLBACK), ("destroy", DESTROY_CALLBACK),
                ("concurrent", c_size_t), ("gap", c_size_t), ("start", READ_CALLBACK), ("wait", WAIT_CALLBACK),
                ("cancel", CANCEL_CALLBACK), ("in_flight", c_size_t), ("bytes_in_flight", c_size_t),
                ("largest", c_size_t), ("versions", c_size_t)]


FOUND = CFUNCTYPE(c_int, c_void_p, POINTER(Node))
LOCATED = CFUNCTYPE(c_int, c_void_p, POINTER(Located))
DIMENSION = CFUNCTYPE(c_int, c_void_p, POINTER(Dimension))
CODEC = CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)
LEFT_OUT = CFUNCTYPE(c_int, c_void_p, c_char_p, c_char_p)

_POINTER, _SIZES, _STRIDES = c_void_p, POINTER(c_size_t), POINTER(c_ssize_t)
_FUNCTIONS = [
    # The name, the result, the arguments.
    ("advise", c_int, [c_size_t, _SIZES, c_size_t, c_size_t, _SIZES, POINTER(c_double), POINTER(AdviseCosts), _SIZES,
                       POINTER(c_double), _POINTER]),
    ("array_attribute", c_int, [_POINTER, c_char_p, POINTER(Attribute), _POINTER]),
    ("array_attribute_at", c_int, [_POINTER, c_size_t, POINTER(Attribute), _POINTER]),
    ("array_attributes_json", c_char_p, [_POINTER]),
    ("array_check_attributes", c_int, [_POINTER, _POINTER]),
    ("array_close", None, [_POINTER]),
    ("array_codecs", c_int, [_POINTER, CODEC, _POINTER, _POINTER]),
    ("array_create", c_int, [c_char_p, c_char_p, POINTER(Description), POINTER(_POINTER), _POINTER]),
    ("array_create_in", c_int, [_POINTER, c_char_p, POINTER(Description), POINTER(_POINTER), _POINTER]),
    ("array_dimname", c_char_p, [_POINTER, c_size_t]),
    ("array_format", c_char_p, [_POINTER]),
    ("array_left_out", c_int, [_POINTER, LEFT_OUT, _POINTER, _POINTER]),
    ("array_locate", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, LOCATED, _POINTER, _POINTER]),
    ("array_read_cost", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, POINTER(ReadCost), _POINTER]),
    ("array_num_attributes", c_size_t, [_POINTER]),
    ("array_open", c_int, [c_char_p, c_char_p, c_int, POINTER(_POINTER), _POINTER]),
    ("array_open_document", c_int, [_POINTER, c_char_p, c_char_p, c_int, POINTER(_POINTER), _POINTER]),
    ("array_open_in", c_int, [_POINTER, c_char_p, c_int, POINTER(_POINTER), _POINTER]),
    ("array_read", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER]),
    ("array_read_lists", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER, _POINTER]),
    ("array_read_points", c_int, [_POINTER, c_size_t, _POINTER, _POINTER, _POINTER]),
    ("array_read_strings", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, POINTER(_POINTER), POINTER(c_size_t), _POINTER]),
    ("array_refresh", c_int, [_POINTER, _POINTER]),
    ("array_remove_attribute", c_int, [_POINTER, c_char_p, _POINTER]),
    ("array_resize", c_int, [_POINTER, _SIZES, _POINTER]),
    ("array_set_attribute", c_int, [_POINTER, c_char_p, c_int, c_size_t, _POINTER, _POINTER]),
    ("array_set_attributes_json", c_int, [_POINTER, c_char_p, _POINTER]),
    ("array_set_cache", c_int, [_POINTER, _POINTER, _POINTER]),
    ("array_set_verify", c_int, [_POINTER, c_int, _POINTER]),
    ("array_store", _POINTER, [_POINTER]),
    ("array_type", c_int, [_POINTER]),
    ("array_type_name", c_char_p, [_POINTER]),
    ("array_var", _POINTER, [_POINTER]),
    ("array_write", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER]),
    ("array_write_lists", c_int, [_POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, _POINTER, _POINTER]),
    ("array_write_points", c_int, [_POINTER, c_size_t, _POINTER, _POINTER, _POINTER]),
    ("cache_free", None, [_POINTER]),
    ("cache_get_statistics", c_int, [_POINTER, POINTER(CacheStatistics), _POINTER]),
    ("cache_new", c_int, [c_size_t, POINTER(_POINTER), _POINTER]),
    ("context_chunk", POINTER(c_ssize_t), [_POINTER, POINTER(c_size_t)]),
    ("context_dimension", c_int, [_POINTER]),
    ("context_free", None, [_POINTER]),
    ("context_message", c_char_p, [_POINTER]),
    ("context_new", c_int, [POINTER(_POINTER)]),
    ("context_set_keeps_threads", c_int, [_POINTER, c_int]),
    ("context_set_progress", c_int, [_POINTER, _POINTER, _POINTER]),
    ("context_set_threads", c_int, [_POINTER, c_size_t]),
    ("strings_free", None, [c_size_t, _POINTER]),
    ("group_consolidate", c_int, [_POINTER, c_char_p, _POINTER]),
    ("group_create", c_int, [c_char_p, c_char_p, c_size_t, c_char_p, _POINTER]),
    ("group_create_in", c_int, [_POINTER, c_char_p, c_size_t, c_char_p, _POINTER]),
    ("group_dimensions", c_int, [_POINTER, c_char_p, DIMENSION, _POINTER, _POINTER]),
    ("group_remove_attribute", c_int, [_POINTER, c_char_p, c_char_p, _POINTER]),
    ("group_set_attributes_json", c_int, [_POINTER, c_char_p, c_char_p, _POINTER]),
    ("has_codec", c_int, [c_char_p]),
    ("list", c_int, [c_char_p, c_char_p, c_int, FOUND, _POINTER, _POINTER]),
    ("list_in", c_int, [_POINTER, c_char_p, c_int, FOUND, _POINTER, _POINTER]),
    ("list_node", c_int, [_POINTER, c_char_p, FOUND, _POINTER, _POINTER]),
    ("node_attribute_at", c_int, [POINTER(Node), c_size_t, POINTER(Attribute), _POINTER]),
    ("node_left_out", c_int, [POINTER(Node), LEFT_OUT, _POINTER, _POINTER]),
    ("rechunk", c_int, [_POINTER, c_char_p, c_char_p, POINTER(RechunkOptions), POINTER(RechunkReport), _POINTER]),
    ("rechunk_in", c_int, [_POINTER, _POINTER, c_char_p, POINTER(RechunkOptions), POINTER(RechunkReport), _POINTER]),
    ("rechunk_plan", c_int, [_POINTER, POINTER(RechunkOptions), POINTER(RechunkReport), _POINTER]),
    ("storage_new", c_int, [POINTER(StorageCallbacks), POINTER(_POINTER), _POINTER]),
    ("storage_open", c_int, [c_char_p, POINTER(_POINTER), _POINTER]),
    ("storage_allow_external_links", c_int, [_POINTER, c_int, _POINTER]),
    ("storage_concat", c_int, [c_size_t, POINTER(c_char_p), c_char_p, POINTER(_POINTER), _POINTER]),
    ("storage_create", c_int, [c_char_p, POINTER(_POINTER), _POINTER]),
    ("storage_create_zip", c_int, [c_char_p, POINTER(_POINTER), _POINTER]),
    ("storage_finish", c_int, [_POINTER, _POINTER]),
    ("storage_free", None, [_POINTER]),
    ("storage_write_references", c_int, [_POINTER, c_char_p, c_char_p, _POINTER, c_char_p, _POINTER]),
    ("storage_set_memory_limits", c_int, [_POINTER, POINTER(MemoryLimits), _POINTER]),
    ("read_strided", c_int, [_POINTER, _POINTER, _SIZES, _SIZES, _STRIDES, _POINTER, c_size_t, c_size_t, _STRIDES,
                             _POINTER]),
    ("strerror", c_char_p, [c_int]),
    ("var_chunk_extent", c_int, [_POINTER, c_size_t, c_ssize_t, POINTER(c_size_t), POINTER(c_size_t),
                                 POINTER(c_size_t), _POINTER]),
    ("var_chunklen", c_size_t, [_POINTER, c_size_t]),
    ("var_dimlen", c_size_t, [_POINTER, c_size_t]),
    ("var_element_size", c_size_t, [_POINTER]),
    ("var_fill_value", _POINTER, [_POINTER]),
    ("var_is_regular", c_int, [_POINTER, c_size_t]),
    ("var_num_chunks", c_size_t, [_POINTER, c_size_t]),
    ("var_origin", c_ssize_t, [_POINTER, c_size_t]),
    ("var_rank", c_size_t, [_POINTER]),
    ("var_write_chunklen", c_size_t, [_POINTER, c_size_t]),
    ("version", c_char_p, []),
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
        raise ImportError("the package has no library: install it with pip, or set NCZCHUNK_LIBRARY")
    library, functions = ctypes.CDLL(path), Functions()
    for name, result, arguments in _FUNCTIONS:
        function = getattr(library, "nczchunk_" + name)
        function.restype, function.argtypes = result, arguments
        setattr(functions, name, _checked(function))
    return functions


c = _load()


def num_processors():
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Context:
    """A context: what a call may use, and what went wrong in it. One call at a time uses it."""

    threads, keeps, _free, pointer = 1, False, c.context_free, c_void_p()

    def __init__(self):
        self.pointer = c_void_p()
        if c.context_new(byref(self.pointer)) != 0:
            raise MemoryError("out of memory for a context")

    def __del__(self):
        self._free(self.pointer)  # NULL is allowed

    def check(self, status):
        """Raises what a call with this context has returned, unless that is success."""
        if status == 0:
            return
        message = c.context_message(self.pointer) or c.strerror(status)
        dimension, rank = c.context_dimension(self.pointer), c_size_t()
        indices = c.context_chunk(self.pointer, byref(rank))
        chunk = tuple(indices[d] for d in range(rank.value)) if indices else None
        raise error_of(status, message.decode(errors="replace"), None if dimension < 0 else dimension, chunk)


class Spare:
    """Contexts that no call uses. To make one takes longer than to take one from here. One of them keeps the threads of
    its calls for the next call with several: one, so that the process never has more of them than a call may use."""

    def __init__(self):
        self._ordinary, self._keeping, self._keeper = [], [], lambda: None

    def __len__(self):
        return len(self._ordinary) + len(self._keeping)

    def take(self, threads):
        spare = self._ordinary
        if threads > 1:
            if self._keeper() is None:  # there is none yet, or what a handler of a signal raised has lost it
                context = Context()
                if self._keeper() is None:  # nor has another thread made one meanwhile
                    self._keeper, context.keeps = ref(context), True
                    c.context_set_keeps_threads(context.pointer, 1)
                return context
            spare = self._keeping or spare
        try:
            return spare.pop()
        except IndexError:
            return Context()

    def add(self, context):
        (self._keeping if context.keeps else self._ordinary).append(context)

    def end_threads(self):
        """Has the threads end that wait for a call. Others begin when there is use for them."""
        ended = []
        with suppress(IndexError):  # once there is none that no call uses
            while True:
                ended.append(self._keeping.pop())
        for context in ended:
            for keeps in (0, 1):
                c.context_set_keeps_threads(context.pointer, keeps)
            self.add(context)


_spare = Spare()


def _after_fork():
    global _spare
    _spare = Spare()  # another thread may have been changing the lists


# A process that forks had better have one thread, of which Python warns, too.
at_fork(_after_fork, before=lambda: _spare.end_threads())


def _context(threads):
    """A context that no other call uses."""
    context = _spare.take(threads)
    if context.threads != threads:
        context.check(c.context_set_threads(context.pointer, threads))
        context.threads = threads
    return context


def call(function, *arguments, threads=1):
    """Calls a function whose last argument is a context, and raises what went wrong."""
    context = _context(threads)
    try:
        context.check(function(*arguments, context.pointer))
    finally:
        _spare.add(context)


def collect(kind, made_of, function):
    """What made_of makes of what function(callback, thread) has the library call back with, as a list. kind: the type
    of the callback. thread: the one that waits for the call."""
    found, raised, cancelled = [], [], []

    def one(_, *given):
        if cancelled:
            return INTERRUPTED
        try:
            check_running()
            found.append(made_of(*given))
            return 0
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            raised.append(error)
            return INTERRUPTED

    callback, thread = kind(one), get_ident()

    def call():
        try:
            with CallingBack():
                function(callback, thread)
        finally:
            if raised:
                raise raised[0]

    # What a handler of a signal raises in a callback would be lost.
    in_thread(call, cancelled.append) if is_main_thread() else call()
    return found


# A function of C's that serves as a progress function: it returns 0 for an empty text, and so lets the call go on. It
# runs without the interpreter, for which a callback of Python's would wait before every chunk.
_is_text = ctypes.cast(ctypes.CDLL("msvcrt" if os.name == "nt" else None).strlen, c_void_p)


def transfer(handle, threads, is_long, function, progress=None):
    """Has function(pointer, call) call a function that transfers elements. If that may take long or calls back to
    Python, the handlers of signals run meanwhile, and if one raises, that ends the call before its next chunk.
    progress(bytes_done, num_bytes) is called before each chunk and when all are done; what it raises ends the call."""
    if progress is None and (not (is_long or handle.cancel) or not is_main_thread()):
        handle.share(lambda pointer: function(pointer, lambda *given: call(*given, threads=threads)))
        return
    context, told, main, raised = _context(threads), ctypes.create_string_buffer(2), get_ident(), []

    def tell(_, far):
        try:
            check_running()
            if told[0] != b"x":
                progress(far.contents.bytes_done, far.contents.num_bytes)
                return 0
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            raised.append(error)
        return INTERRUPTED

    teller = _is_text if progress is None else PROGRESS(tell)
    context.check(c.context_set_progress(context.pointer, ctypes.cast(teller, c_void_p), told))

    def cancel(thread):
        told[0] = b"x"
        if handle.cancel is not None:
            handle.cancel(thread)

    def long_call(function, *arguments):
        try:
            status = function(*arguments, context.pointer)
            if raised:
                raise raised[0]
            context.check(status)
        finally:
            # What went wrong has been read, for this has the context forget it.
            c.context_set_progress(context.pointer, None, None)
            _spare.add(context)

    def share():
        with nullcontext() if progress is None else CallingBack():
            handle.share(lambda pointer: function(pointer, long_call), main)

    in_thread(share, cancel) if is_main_thread() else share()


def change(handle, function):
    """Returns what function(pointer) returns, which changes the object and what is known of it. No other call uses the
    object meanwhile, and no handler of a signal comes between two steps of the function."""
    if not is_main_thread():
        return handle.alone(function)
    cancelled, main = [], get_ident()
    return in_thread(lambda: handle.alone(function, main, lambda: bool(cancelled)), cancelled.append)


def address(array):
    """Where the first element of a numpy array is."""
    # Not __array_interface__: in a free-threaded Python, a child that is forked while another thread makes one may wait
    # for ever for a lock of that thread's.
    return array.ctypes.data


def texts_in(block, num_bytes, shape):
    """The texts that the library has put into a block of memory, each with a NUL behind it, as an array of str."""
    found = np.empty(shape, object)
    if num_bytes:
        texts = str((ctypes.c_char * (num_bytes - 1)).from_address(block), "utf-8").split("\0")
        found.reshape(-1)[...] = texts
    return found


def texts_at(pointers):
    """The texts that an array of the library's points to."""
    return [ctypes.string_at(pointer).decode() for pointer in pointers.ravel().tolist()]


def pointers_to(name, given):
    """Where the texts of a list are, as the library takes them, and what has to be kept meanwhile."""
    try:
        packed = "\0".join(given).encode() + b"\0"
        ends = np.flatnonzero(np.frombuffer(packed, np.uint8) == 0)
    except (TypeError, UnicodeEncodeError):
        ends = ()
    if len(ends) != max(1, len(given)):
        # This says what is wrong with them.
        kept = texts(name, given)
        return np.frombuffer(kept, np.uintp), kept
    pointers = np.empty(len(ends), np.uintp)
    pointers[0], pointers[1:] = 0, ends[:-1] + 1
    pointers += np.uintp(address(np.frombuffer(packed, np.uint8)))
    return pointers, packed
