/* Conversion of numbers, as netCDF-C converts between the types of the file and of memory. */
#include "dataset.h"

#include <float.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#define TYPES(X)                                      \
    X(NC_BYTE, signed char, NC_FILL_BYTE)             \
    X(NC_UBYTE, unsigned char, NC_FILL_UBYTE)         \
    X(NC_SHORT, short, NC_FILL_SHORT)                 \
    X(NC_USHORT, unsigned short, NC_FILL_USHORT)      \
    X(NC_INT, int, NC_FILL_INT)                       \
    X(NC_UINT, unsigned int, NC_FILL_UINT)            \
    X(NC_INT64, long long, NC_FILL_INT64)             \
    X(NC_UINT64, unsigned long long, NC_FILL_UINT64)  \
    X(NC_FLOAT, float, NC_FILL_FLOAT)                 \
    X(NC_DOUBLE, double, NC_FILL_DOUBLE)

size_t nczc_type_size(nc_type type)
{
    switch (type) {
#define SIZE(number, c_type, fill) \
    case number:                   \
        return sizeof(c_type);
        TYPES(SIZE)
    case NC_CHAR:
        return 1;
    case NC_STRING:
        return sizeof(char *);
    default:
        return 0;
    }
}

const void *nczc_default_fill(nc_type type)
{
    switch (type) {
#define DEFAULT_FILL(number, c_type, fill)  \
    case number: {                          \
        static const c_type value = fill;   \
        return &value;                      \
    }
        TYPES(DEFAULT_FILL)
    default:
        return NULL;
    }
}

static int is_larger(unsigned long long value, unsigned long long largest)
{
    return value > largest;
}

static int is_signed_out(long long value, long long lowest, unsigned long long largest)
{
    return value < lowest || (value > 0 && is_larger((unsigned long long)value, largest));
}

/*
 * One element at a time goes through a variable, so that memory may overlap. Integers that do not fit are cut, as C
 * does; numbers with a fraction that do not fit become the nearest number that there is. netCDF counts no NaN as out
 * of range.
 */
#define LOOP(src_type, dest_type, is_out, stored)              \
    do {                                                       \
        const unsigned char *from = src;                       \
        unsigned char *to = dest;                              \
        for (size_t i = 0; i < len; i++) {                     \
            src_type value;                                    \
            dest_type result;                                  \
            memcpy(&value, from + i * sizeof value, sizeof value);   \
            out |= (is_out);                                   \
            result = (dest_type)(stored);                      \
            memcpy(to + i * sizeof result, &result, sizeof result);  \
        }                                                      \
        return out ? NC_ERANGE : NC_NOERR;                     \
    } while (0)

#define SIGNED_TO(dest_type, lowest, largest, src_type) \
    LOOP(src_type, dest_type, is_signed_out(value, lowest, largest), value)
#define UNSIGNED_TO(dest_type, lowest, largest, src_type) LOOP(src_type, dest_type, is_larger(value, largest), value)
/* The largest integer may be rounded to the power of two behind it, which is out of range, too. */
#define BEHIND(largest, src_type) (2 * (src_type)((largest) / 2 + 1))
#define FRACTION_TO(dest_type, lowest, largest, src_type)                                                 \
    LOOP(src_type, dest_type,                                                                             \
         value > (src_type)(largest) || value >= BEHIND(largest, src_type) || value < (src_type)(lowest), \
         value >= (src_type)(largest) ? (largest)                                                         \
                                      : value > (src_type)(lowest) ? (dest_type)value : (dest_type)(lowest))

/* A function for each type of the file, with a case for each in memory. */
#define TO_INTEGERS(to, src_type)                                               \
    case NC_BYTE: to(signed char, SCHAR_MIN, SCHAR_MAX, src_type);              \
    case NC_UBYTE: to(unsigned char, 0, UCHAR_MAX, src_type);                   \
    case NC_SHORT: to(short, SHRT_MIN, SHRT_MAX, src_type);                     \
    case NC_USHORT: to(unsigned short, 0, USHRT_MAX, src_type);                 \
    case NC_INT: to(int, INT_MIN, INT_MAX, src_type);                           \
    case NC_UINT: to(unsigned int, 0, UINT_MAX, src_type);                      \
    case NC_INT64: to(long long, LLONG_MIN, LLONG_MAX, src_type);               \
    case NC_UINT64: to(unsigned long long, 0, ULLONG_MAX, src_type)

#define FROM(name, src_type, to, is_out_of_float)                                                      \
    static int from_##name(const void *src, void *dest, nc_type dest_type, size_t len)                 \
    {                                                                                                  \
        int out = 0;                                                                                   \
        switch (dest_type) {                                                                           \
            TO_INTEGERS(to, src_type);                                                                 \
        case NC_FLOAT: LOOP(src_type, float, is_out_of_float, value);                                  \
        case NC_DOUBLE: LOOP(src_type, double, 0, value);                                              \
        default: return NC_EBADTYPE;                                                                   \
        }                                                                                              \
    }

FROM(NC_BYTE, signed char, SIGNED_TO, 0)
FROM(NC_UBYTE, unsigned char, UNSIGNED_TO, 0)
FROM(NC_SHORT, short, SIGNED_TO, 0)
FROM(NC_USHORT, unsigned short, UNSIGNED_TO, 0)
FROM(NC_INT, int, SIGNED_TO, 0)
FROM(NC_UINT, unsigned int, UNSIGNED_TO, 0)
FROM(NC_INT64, long long, SIGNED_TO, 0)
FROM(NC_UINT64, unsigned long long, UNSIGNED_TO, 0)
FROM(NC_FLOAT, float, FRACTION_TO, 0)
FROM(NC_DOUBLE, double, FRACTION_TO, value > FLT_MAX || value < -FLT_MAX)

int nczc_convert(const void *src, nc_type src_type, void *dest, nc_type dest_type, size_t len)
{
    if (src_type == dest_type) {
        if (len) memmove(dest, src, len * nczc_type_size(src_type));
        return NC_NOERR;
    }
    if (src_type == NC_CHAR || dest_type == NC_CHAR) return NC_ECHAR;
    switch (src_type) {
#define CONVERT(number, c_type, fill) \
    case number:                      \
        return from_##number(src, dest, dest_type, len);
        TYPES(CONVERT)
    default:
        return NC_EBADTYPE;
    }
}

void nczc_from_half(const void *src, float *dest, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint16_t half;
        uint32_t sign, exponent, fraction, bits;

        memcpy(&half, (const unsigned char *)src + i * sizeof half, sizeof half);
        sign = (uint32_t)(half >> 15) << 31;
        exponent = half >> 10 & 31;
        fraction = half & 1023;
        if (exponent == 31) {
            bits = sign | 0x7f800000u | fraction << 13;
        } else if (exponent) {
            bits = sign | (exponent + 112) << 23 | fraction << 13;
        } else {
            /* Below the smallest normal number: fractions of 2^-24, which float has all. */
            const float small = (float)fraction / 16777216.0f;
            memcpy(&bits, &small, sizeof bits);
            bits |= sign;
        }
        memcpy(dest + i, &bits, sizeof bits);
    }
}
