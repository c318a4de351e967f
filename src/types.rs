//! # Types
//!
//! The types that elements and attributes may have, by netCDF's numbers: NCZCHUNK_FLOAT is NC_FLOAT. Types that netCDF
//! does not have are named as in numpy: "bool", "float16", "complex64", "complex128", "datetime64[ns]",
//! "timedelta64[s]", "S5" (a string of 5 bytes), "U5" (a string of 5 characters of 4 bytes), "V8" (8 bytes). The small
//! numbers of Zarr's extensions also have names, and each takes one or two whole bytes: "bfloat16", "float8_e4m3" and
//! its variants, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int2", "int4", "uint2", "uint4".

// The constants follow from the table of types, `nczchunk_engine::TYPES`: tests/header.rs writes them.
