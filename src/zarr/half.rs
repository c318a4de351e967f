//! Floating-point numbers of 2 bytes: IEEE 754 binary16, 1 bit for the sign, 5 for the exponent, 10 for the fraction.

/// The bits of the nearest half, ties to even. What is too large is infinite; a NaN is 0x7e00.
pub(super) fn from_f64(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    if size.is_nan() {
        return 0x7e00;
    }
    // From 65520 on, the middle between the largest half and 2^16, all is infinite.
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    // Below 2^-14 halves are multiples of 2^-24; the product is exact, and so is the rounding to an integer.
    let smallest = 2f64.powi(-14);
    if size < smallest {
        return sign | (size * 2f64.powi(24)).round_ties_even() as u16;
    }
    // The exponent is from -14 to 15, so that the biased one begins at 1. A fraction that rounds up to 1024 carries.
    let exponent = ((size.to_bits() >> 52) as i32) - 1023;
    let fraction = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16 - 1024;
    sign | ((((exponent + 15) as u16) << 10) + fraction)
}

/// The number that these bits stand for.
pub(super) fn to_f64(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff);
    let size = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-24),
        0x1f if bits & 0x3ff == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        exponent => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_itself_again() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            assert!(value.is_nan() || from_f64(value) == bits, "{bits:#x}");
        }
    }

    #[test]
    fn what_is_infinite_or_no_number_is_known() {
        assert_eq!((to_f64(0x7c00), to_f64(0xfc00)), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(to_f64(0x7c01).is_nan() && to_f64(0x7fff).is_nan() && to_f64(0xfe00).is_nan());
    }

    #[test]
    fn numbers_between_are_rounded_to_even() {
        assert_eq!((from_f64(1.0), from_f64(-2.0), from_f64(0.1)), (0x3c00, 0xc000, 0x2e66));
        assert_eq!((from_f64(2049.0), from_f64(2051.0), from_f64(65519.9)), (0x6800, 0x6802, 0x7bff));
        assert_eq!((from_f64(65520.0), from_f64(f64::NAN), from_f64(2047.9)), (0x7c00, 0x7e00, 0x6800));
        assert_eq!((from_f64(2f64.powi(-25)), from_f64(2f64.powi(-25) * 1.5)), (0, 1));
    }
}
