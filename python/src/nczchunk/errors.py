"""The exceptions, by the status that the library returns.

Each exception is an :class:`Error`, and also the exception that Python's own functions raise in such a case: a path
that does not exist is a ``FileNotFoundError``, an index beyond its dimension an ``IndexError``.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class Error(Exception):
    """A call of the library failed.

    status: netCDF's number for the error, or the system's, which is positive.
    dimension: the dimension in which the error occurred, or None.
    chunk: the indices of the chunk at which the error occurred, or None.
    """

    def __init__(self, message: str, status: int | None = None, dimension: int | None = None,
                 chunk: tuple[int, ...] | None = None) -> None:
        super().__init__(message)
        self.status, self.dimension, self.chunk = status, dimension, chunk

    def __reduce__(self) -> Any:
        return type(self), (self.args[0], self.status, self.dimension, self.chunk)

    def __str__(self) -> str:
        return self.args[0]

    def about(self, message: str) -> Self:
        """The same error with another message."""
        return type(self)(message, self.status, self.dimension, self.chunk)


class InvalidArgument(Error, ValueError):
    """An invalid argument."""


class OutOfRange(Error, IndexError):
    """An index is beyond its dimension."""


class Exists(Error, FileExistsError):
    """An array or group exists where one is to be created."""


class NotFound(Error, FileNotFoundError):
    """The file, directory or array does not exist."""


class NotPermitted(Error, PermissionError):
    """A write to something that is read-only."""


class NotSupported(Error, NotImplementedError):
    """A format, type or codec is not supported."""


class Corrupt(Error, ValueError):
    """Metadata or a chunk violate the rules of their format."""


class StorageFailure(Error, OSError):
    """A storage that is an object of Python, such as a store of zarr-python, has raised an exception: this error's
    cause. The message names the object that was read or written."""


class OutOfMemory(Error, MemoryError):
    """Out of memory, or above a memory limit."""


class SystemFailure(Error, OSError):
    """The system reported an error, whose number is errno; or a server did, or did not respond: then errno is EIO, or
    EACCES if it refuses access."""

    def __init__(self, message: str, status: int | None = None, dimension: int | None = None,
                 chunk: tuple[int, ...] | None = None) -> None:
        super().__init__(message, status, dimension, chunk)
        self.errno = status


_BY_STATUS = {
    # Statuses: written by tests/header.rs.
    0: Error,  # NOERR
    -35: Exists,  # EEXIST
    -36: InvalidArgument,  # EINVAL
    -37: NotPermitted,  # EPERM
    -40: OutOfRange,  # EINVALCOORDS
    -43: Error,  # ENOTATT
    -41: InvalidArgument,  # EMAXDIMS
    -45: NotSupported,  # EBADTYPE
    -46: Error,  # EBADDIM
    -49: NotFound,  # ENOTVAR
    -51: NotSupported,  # ENOTNC
    -56: InvalidArgument,  # ECHAR
    -57: OutOfRange,  # EEDGE
    -58: InvalidArgument,  # ESTRIDE
    -60: InvalidArgument,  # ERANGE
    -61: OutOfMemory,  # ENOMEM
    -62: InvalidArgument,  # EVARSIZE
    -63: InvalidArgument,  # EDIMSIZE
    -68: Corrupt,  # EIO
    -90: NotFound,  # ENOTFOUND
    -92: Error,  # EINTERNAL
    -127: Corrupt,  # EBADCHUNK
    -128: NotSupported,  # ENOTBUILT
    -130: Error,  # ECANTEXTEND
    -132: Corrupt,  # EFILTER
    -136: NotSupported,  # ENOFILTER
    -137: Corrupt,  # ENCZARR
    -139: Error,  # EEMPTY
    -140: Error,  # EOBJECT
    -141: Error,  # ENOOBJECT
    # End of statuses.
}


# What was raised in callbacks, by the statuses that these have returned. A call fails with one of them at most; those
# of its other threads are forgotten after some time.
_raised: dict[int, tuple[str, BaseException]] = {}
_FIRST, _KEPT, _numbers = -(1 << 30), 64, count()


def remember(message: str, error: BaseException) -> int:
    """The status with which a callback ends in which this was raised."""
    given = message, error
    status = _FIRST - next(_numbers) % (1 << 30)
    # Without the interpreter's lock, two threads may get the same number.
    while _raised.setdefault(status, given) is not given:
        status = _FIRST - next(_numbers) % (1 << 30)
    while len(_raised) > _KEPT:
        try:
            _raised.pop(next(iter(_raised)), None)
        except (RuntimeError, StopIteration):  # another thread has changed it
            break
    return status


def raise_interruption(status: int) -> None:
    """Raises what a callback has ended with, if it is no Exception, such as KeyboardInterrupt."""
    found = _raised.get(status)
    if found is not None and not isinstance(found[1], Exception):
        _raised.pop(status, None)
        raise found[1]


def error_of(status: int, message: str, dimension: int | None = None, chunk: tuple[int, ...] | None = None) -> Error:
    """The error that stands for a status."""
    raise_interruption(status)
    found = _raised.pop(status, None)
    if found is not None:
        message, cause = found
        failure = StorageFailure(message, status, dimension, chunk)
        failure.__cause__ = cause
        return failure
    kind = _BY_STATUS.get(status, SystemFailure if status > 0 else Error)
    return kind(message, status, dimension, chunk)
