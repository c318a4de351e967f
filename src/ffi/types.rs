//! # Types
//!
//! The types that elements and attributes may have, by netCDF's numbers: NCZCHUNK_FLOAT is NC_FLOAT. Types that netCDF
//! does not have go by their names, which are numpy's: "bool", "float16", "complex64", "complex128", "datetime64[ns]",
//! "timedelta64[s]", "S5" (text of 5 bytes), "U5" (text of 5 characters of 4 bytes), "V8" (8 bytes).

use std::ffi::c_int;

/// A signed integer of 1 byte: "int8".
pub const NCZCHUNK_BYTE: c_int = 1;
/// A byte that is a character: "char".
pub const NCZCHUNK_CHAR: c_int = 2;
/// A signed integer of 2 bytes: "int16".
pub const NCZCHUNK_SHORT: c_int = 3;
/// A signed integer of 4 bytes: "int32".
pub const NCZCHUNK_INT: c_int = 4;
/// A floating-point number of 4 bytes: "float32".
pub const NCZCHUNK_FLOAT: c_int = 5;
/// A floating-point number of 8 bytes: "float64".
pub const NCZCHUNK_DOUBLE: c_int = 6;
/// An unsigned integer of 1 byte: "uint8".
pub const NCZCHUNK_UBYTE: c_int = 7;
/// An unsigned integer of 2 bytes: "uint16".
pub const NCZCHUNK_USHORT: c_int = 8;
/// An unsigned integer of 4 bytes: "uint32".
pub const NCZCHUNK_UINT: c_int = 9;
/// A signed integer of 8 bytes: "int64".
pub const NCZCHUNK_INT64: c_int = 10;
/// An unsigned integer of 8 bytes: "uint64".
pub const NCZCHUNK_UINT64: c_int = 11;
/// A text of any length: "string".
pub const NCZCHUNK_STRING: c_int = 12;
