"""What is raised, by the status that the library returns.

Each error is an :class:`Error`, and what Python's own functions raise in such a case: a path that does not exist is a
``FileNotFoundError``, an index beyond its dimension an ``IndexError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self


class Error(Exception):
    """A call of the library that failed.

    status: netCDF's number for it, or the system's, which is positive.
    dimension: the dimension in which it went wrong, or None.
    chunk: the indices of the chunk at which it went wrong, or None.
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
    """What was asked for does not fit together."""


class OutOfRange(Error, IndexError):
    """An index beyond its dimension."""


class Exists(Error, FileExistsError):
    """An array is to be created where something is already."""


class NotFound(Error, FileNotFoundError):
    """There is no such file, directory or array."""


class NotPermitted(Error, PermissionError):
    """Writing to what may only be read."""


class NotSupported(Error, NotImplementedError):
    """A format, type or codec that the library does not have."""


class Corrupt(Error, ValueError):
    """Metadata or a chunk that break the rules of their format."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class SystemFailure(Error, OSError):
    """The system refused something. errno is its number."""

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


def error_of(status: int, message: str, dimension: int | None = None, chunk: tuple[int, ...] | None = None) -> Error:
    """The error that stands for a status."""
    kind = _BY_STATUS.get(status, SystemFailure if status > 0 else Error)
    return kind(message, status, dimension, chunk)
