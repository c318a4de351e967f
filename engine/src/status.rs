//! netCDF's status numbers and their messages.
//!
//! The numbers are those of `netcdf.h`, so that a caller inside netCDF returns them unchanged; the messages are those
//! of `nc_strerror`. The table is the only source of both: the headers for C and C++ and Python's table are generated
//! from it (tests/header.rs).

use std::ffi::{CStr, c_char, c_int};

/// One row of the table: the constant's name in the header, its value, its message.
pub struct Status {
    /// The name without its prefix, as netCDF spells it: `EINVAL` for `NC_EINVAL`.
    pub name: &'static str,
    /// netCDF's number.
    pub value: c_int,
    /// netCDF's message.
    pub message: &'static CStr,
    /// When this library returns it.
    pub meaning: &'static str,
    /// Its name in C++.
    pub cpp: &'static str,
    /// The equivalent condition of the C++ standard, if there is one: `invalid_argument`.
    pub errc: Option<&'static str>,
    /// The class that Python raises.
    pub python: &'static str,
}

macro_rules! statuses {
    ($($name:ident = $value:literal, $cpp:ident $(($errc:ident))?, $python:ident, $message:literal,
        $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: c_int = $value;)*
        /// Every status this library may return of its own, or that its callers commonly return through it.
        pub static TABLE: &[Status] = &[$(Status {
            name: stringify!($name),
            value: $value,
            message: $message,
            meaning: $meaning,
            cpp: stringify!($cpp),
            errc: [$(Some(stringify!($errc)),)? None][0],
            python: stringify!($python),
        }),*];
    };
}

statuses! {
    // netCDF's name and number; the name in C++, and the standard's condition that says the same; what Python raises;
    // netCDF's message; when this library returns it.
    NOERR = 0, ok, Error, c"No error",
        "Success.";
    EEXIST = -35, exists (file_exists), Exists, c"NetCDF: File exists && NC_NOCLOBBER",
        "An array or group exists where one is to be created.";
    EINVAL = -36, invalid (invalid_argument), InvalidArgument, c"NetCDF: Invalid argument",
        "An invalid argument, such as a NULL pointer or a buffer that is too small.";
    EPERM = -37, read_only (operation_not_permitted), NotPermitted, c"NetCDF: Write to read only",
        "A write to something that is read-only.";
    EINVALCOORDS = -40, coordinates (invalid_argument), OutOfRange, c"NetCDF: Index exceeds dimension bound",
        "A start beyond its dimension, or an index out of range.";
    ENOTATT = -43, no_attribute, Error, c"NetCDF: Attribute not found",
        "The array has no attribute of this name.";
    EMAXDIMS = -41, max_rank, InvalidArgument, c"NetCDF: NC_MAX_DIMS exceeded",
        "The rank is above 1024.";
    EBADTYPE = -45, bad_type, NotSupported, c"NetCDF: Not a valid data type or _FillValue type mismatch",
        "An unsupported type, or a byte order for elements without one.";
    EBADDIM = -46, bad_dimension (invalid_argument), Error, c"NetCDF: Invalid dimension ID or name",
        "The variable has no such dimension.";
    ENOTVAR = -49, not_an_array, NotFound, c"NetCDF: Variable not found",
        "The object of this name is not an array.";
    ENOTNC = -51, unknown_format, NotSupported, c"NetCDF: Unknown file format",
        "The format is unknown.";
    ECHAR = -56, text, InvalidArgument, c"NetCDF: Attempt to convert between text & numbers",
        "A string where numbers are expected.";
    EEDGE = -57, edge (invalid_argument), OutOfRange, c"NetCDF: Start+count exceeds dimension bound",
        "The last selected element is beyond its dimension.";
    ESTRIDE = -58, stride (invalid_argument), InvalidArgument, c"NetCDF: Illegal stride",
        "A stride is below 1.";
    ERANGE = -60, range (result_out_of_range), InvalidArgument, c"NetCDF: Numeric conversion not representable",
        "A number is out of the range of its type.";
    ENOMEM = -61, no_memory (not_enough_memory), OutOfMemory, c"NetCDF: Memory allocation (malloc) failure",
        "Out of memory, or above a memory limit.";
    EVARSIZE = -62, variable_size, InvalidArgument, c"NetCDF: One or more variable sizes violate format constraints",
        "A variable is larger than its format allows.";
    EDIMSIZE = -63, dimension_size, InvalidArgument, c"NetCDF: Invalid dimension size",
        "The length of a dimension is out of range.";
    EIO = -68, io (io_error), Corrupt, c"NetCDF: I/O failure",
        "A read or write failed, or a chunk does not decode.";
    ENOTFOUND = -90, not_found (no_such_file_or_directory), NotFound, c"NetCDF: file not found",
        "The file, directory or array does not exist.";
    EINTERNAL = -92, internal, Error, c"NetCDF: internal library error; Please contact Unidata support",
        "A bug in this library.";
    EBADCHUNK = -127, bad_chunk, Corrupt, c"NetCDF: Bad chunk sizes.",
        "A stored or decoded chunk has a wrong length.";
    ENOTBUILT = -128, not_built (not_supported), NotSupported,
        c"NetCDF: Attempt to use feature that was not turned on when netCDF was built.",
        "A feature that the library does not support or was built without.";
    ECANTEXTEND = -130, cannot_extend, Error, c"NetCDF: Attempt to extend dataset during NC_INDEPENDENT I/O operation. \
          Use nc_var_par_access to set mode NC_COLLECTIVE before extending variable.",
        "A dimension that cannot be extended.";
    EFILTER = -132, filter, Corrupt, c"NetCDF: Filter error: bad id or parameters or duplicate filter",
        "A codec cannot encode a chunk.";
    ENOFILTER = -136, no_filter, NotSupported, c"NetCDF: Filter error: undefined filter encountered",
        "A codec is unknown or cannot be used in this way.";
    ENCZARR = -137, bad_metadata, Corrupt, c"NetCDF: NCZarr error",
        "The metadata violate the rules of their format.";
    EEMPTY = -139, empty, Error, c"NetCDF: Attempt to read empty NCZarr map key",
        "Returned by a callback: the chunk is missing.";
    EOBJECT = -140, object, Error, c"NetCDF: Some object exists when it should not",
        "Returned by a callback: an object exists that should not.";
    ENOOBJECT = -141, no_object, Error, c"NetCDF: Some object not found",
        "Returned by a callback: the chunk is missing.";
}

/// The message for a number that is not in the table.
static UNKNOWN: &CStr = c"Unknown Error";

/// The message for a status: netCDF's for netCDF's numbers, the system's for positive ones (errno).
///
/// The text is static for numbers of the table; for an errno it is the C library's own, valid as `strerror` says.
#[allow(unsafe_code)]
pub fn strerror(status: c_int) -> *const c_char {
    if status > 0 {
        // SAFETY: strerror takes any number and returns a NUL-terminated text that the caller does not own.
        return unsafe { libc::strerror(status) };
    }
    TABLE.iter().find(|row| row.value == status).map_or(UNKNOWN, |row| row.message).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_found_by_its_own_number() {
        for row in TABLE {
            assert_eq!(strerror(row.value), row.message.as_ptr(), "{}", row.name);
        }
        assert_eq!(strerror(-1), UNKNOWN.as_ptr());
    }
}
