//! Formats of floating-point numbers: how many bits the exponent and the fraction have, and what is no number.
//!
//! The sources are IEEE 754, the formats of OpenCompute's MX and of ml_dtypes.
#![allow(dead_code, reason = "codecs and formats use it, and all of them can be left out")]

/// A format of at most 8 bytes: a sign unless there is none, then the exponent, then the fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloatFormat {
    exponent: u32,
    fraction: u32,
    bias: i32,
    special: Special,
    has_sign: bool,
}

/// Which bits stand for no number, or for infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    /// As in IEEE 754: the largest exponent is that of infinity and of NaN.
    Ieee,
    /// `fn`: all bits but the sign set are NaN, and nothing is infinite.
    AllSet,
    /// `fnuz`: what would be minus zero is NaN, and nothing is infinite.
    MinusZero,
    /// All are numbers.
    Nothing,
}

impl FloatFormat {
    pub const HALF: Self = Self::ieee(5, 10);
    pub(crate) const SINGLE: Self = Self::ieee(8, 23);
    pub(crate) const DOUBLE: Self = Self::ieee(11, 52);
    pub const BFLOAT16: Self = Self::ieee(8, 7);
    pub(crate) const E3M4: Self = Self::ieee(3, 4);
    pub(crate) const E4M3: Self = Self::ieee(4, 3);
    pub(crate) const E5M2: Self = Self::ieee(5, 2);
    pub(crate) const E4M3FN: Self = Self { special: Special::AllSet, ..Self::E4M3 };
    pub(crate) const E4M3FNUZ: Self = Self { special: Special::MinusZero, bias: 8, ..Self::E4M3 };
    pub(crate) const E4M3B11FNUZ: Self = Self { special: Special::MinusZero, bias: 11, ..Self::E4M3 };
    pub(crate) const E5M2FNUZ: Self = Self { special: Special::MinusZero, bias: 16, ..Self::E5M2 };
    pub const E8M0FNU: Self = Self { exponent: 8, fraction: 0, bias: 127, special: Special::AllSet, has_sign: false };
    pub(crate) const E2M3FN: Self = Self { special: Special::Nothing, ..Self::ieee(2, 3) };
    pub(crate) const E3M2FN: Self = Self { special: Special::Nothing, ..Self::ieee(3, 2) };
    pub(crate) const E2M1FN: Self = Self { special: Special::Nothing, ..Self::ieee(2, 1) };

    const fn ieee(exponent: u32, fraction: u32) -> Self {
        let bias = (1 << (exponent - 1)) - 1;
        FloatFormat { exponent, fraction, bias, special: Special::Ieee, has_sign: true }
    }

    /// How many bits a number has.
    pub(crate) const fn bits(self) -> u32 {
        self.exponent + self.fraction + self.has_sign as u32
    }

    /// How many bits the fraction has.
    pub(crate) const fn fraction(self) -> u32 {
        self.fraction
    }

    /// All bits but the sign.
    const fn magnitudes(self) -> u64 {
        u64::MAX >> (64 - self.exponent - self.fraction)
    }

    /// The sign alone.
    const fn sign(self) -> u64 {
        if self.has_sign { 1 << (self.exponent + self.fraction) } else { 0 }
    }

    /// The bits of infinity; without one, of the first magnitude that is no number.
    const fn infinity(self) -> u64 {
        match self.special {
            Special::Ieee => self.magnitudes() >> self.fraction << self.fraction,
            Special::AllSet => self.magnitudes(),
            Special::MinusZero | Special::Nothing => self.magnitudes() + 1,
        }
    }

    /// The bits of the usual NaN; `None` if the format has none.
    pub const fn nan(self) -> Option<u64> {
        match self.special {
            Special::Ieee => Some(self.infinity() | 1 << (self.fraction - 1)),
            Special::AllSet => Some(self.magnitudes()),
            Special::MinusZero => Some(self.sign()),
            Special::Nothing => None,
        }
    }

    /// The bits of the largest number; `None` if it is to be negative and the format has no sign.
    pub(crate) fn largest(self, is_negative: bool) -> Option<u64> {
        let sign = if is_negative { self.sign() } else { 0 };
        (self.has_sign || !is_negative).then_some(sign | (self.infinity() - 1))
    }

    /// The bits of the next number with a larger size, or with a smaller one; `None` if there is none.
    pub(crate) fn neighbour(self, bits: u64, grows: bool) -> Option<u64> {
        let (sign, size) = (bits & self.sign(), bits & self.magnitudes());
        let size = if grows { Some(size + 1).filter(|size| *size < self.infinity()) } else { size.checked_sub(1) };
        Some(sign | size?)
    }

    /// The number that these bits stand for; those beyond the format are passed over.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Self::DOUBLE => return f64::from_bits(bits),
            Self::SINGLE => return f32::from_bits(bits as u32).into(),
            _ => {}
        }
        let (size, is_negative) = (bits & self.magnitudes(), bits & self.sign() != 0);
        let is_nan = match self.special {
            Special::Ieee => size > self.infinity(),
            Special::AllSet => size == self.magnitudes(),
            Special::MinusZero => size == 0 && is_negative,
            Special::Nothing => false,
        };
        let (exponent, fraction) = ((size >> self.fraction) as i32, size & !(u64::MAX << self.fraction));
        let fraction_bits = self.fraction as i32;
        let value = if is_nan {
            f64::NAN
        } else if self.special == Special::Ieee && size == self.infinity() {
            f64::INFINITY
        } else if exponent == 0 && self.has_sign {
            fraction as f64 * 2f64.powi(1 - self.bias - fraction_bits)
        } else {
            (fraction | 1 << self.fraction) as f64 * 2f64.powi(exponent - self.bias - fraction_bits)
        };
        if is_negative { -value } else { value }
    }

    /// The bits of the nearest number, ties to even; `None` for what is beyond the largest, for an infinite one where
    /// the format has none, and for NaN likewise.
    pub fn bits_of(self, value: f64) -> Option<u64> {
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_infinite() {
            return (self.special == Special::Ieee).then_some(sign | self.infinity());
        }
        match self {
            Self::DOUBLE => return Some(value.to_bits()),
            Self::SINGLE => {
                let single = value as f32;
                return single.is_finite().then(|| single.to_bits().into());
            }
            // Without a sign there is no zero either.
            _ if !self.has_sign && value == 0.0 => return self.nan(),
            _ if !self.has_sign && value < 0.0 => return None,
            _ => {}
        }
        let (size, least, fraction_bits) = (value.abs(), 1 - self.bias, self.fraction as i32);
        let bits = if !self.has_sign && size < 2f64.powi(-self.bias) {
            0
        } else if self.has_sign && size < 2f64.powi(least) {
            // Multiples of the smallest number; the product is exact, and so is the rounding to an integer.
            (size * 2f64.powi(fraction_bits - least)).round_ties_even() as u64
        } else {
            // A fraction that rounds up to one more than it can have carries into the exponent.
            let exponent = (size.to_bits() >> 52) as i32 - 1023;
            let fraction = (size * 2f64.powi(fraction_bits - exponent)).round_ties_even() as u64;
            (((exponent + self.bias) as u64) << self.fraction) + fraction - (1 << self.fraction)
        };
        // What is beyond the magnitudes' bits was beyond the largest number.
        if bits >= self.infinity() {
            return None;
        }
        // A format whose minus zero is NaN has one zero.
        Some(if bits == 0 && self.special == Special::MinusZero { 0 } else { sign | bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [FloatFormat; 13] = [
        FloatFormat::HALF,
        FloatFormat::BFLOAT16,
        FloatFormat::E3M4,
        FloatFormat::E4M3,
        FloatFormat::E5M2,
        FloatFormat::E4M3FN,
        FloatFormat::E4M3FNUZ,
        FloatFormat::E4M3B11FNUZ,
        FloatFormat::E5M2FNUZ,
        FloatFormat::E8M0FNU,
        FloatFormat::E2M3FN,
        FloatFormat::E3M2FN,
        FloatFormat::E2M1FN,
    ];

    #[test]
    fn every_number_is_itself_again() {
        for format in SMALL {
            for bits in 0..1u64 << format.bits() {
                let value = format.to_f64(bits);
                assert!(value.is_nan() || format.bits_of(value) == Some(bits), "{format:?} {bits:#x} {value}");
            }
        }
        for value in [0.0, -0.0, 1.5, f64::MAX, 5e-324, f64::NEG_INFINITY] {
            assert_eq!(FloatFormat::DOUBLE.bits_of(value), Some(value.to_bits()));
            assert_eq!(FloatFormat::DOUBLE.to_f64(value.to_bits()), value);
        }
        assert_eq!((FloatFormat::SINGLE.bits_of(0.1), FloatFormat::SINGLE.bits_of(1e39)), (Some(0x3dcc_cccd), None));
    }

    #[test]
    fn numbers_between_are_rounded_to_even() {
        let half = |value| FloatFormat::HALF.bits_of(value);
        assert_eq!((half(1.0), half(-2.0), half(0.1)), (Some(0x3c00), Some(0xc000), Some(0x2e66)));
        assert_eq!((half(2049.0), half(2051.0), half(65519.9)), (Some(0x6800), Some(0x6802), Some(0x7bff)));
        assert_eq!((half(65520.0), half(f64::NAN), half(2047.9)), (None, Some(0x7e00), Some(0x6800)));
        assert_eq!((half(2f64.powi(-25)), half(2f64.powi(-25) * 1.5), half(1e300)), (Some(0), Some(1), None));
        for format in SMALL {
            for bits in 0..(1u64 << (format.bits() - 1)) - 1 {
                let (below, above) = (format.to_f64(bits), format.to_f64(bits + 1));
                if below.is_finite() && above.is_finite() && format != FloatFormat::E8M0FNU {
                    let even = if bits % 2 == 0 { bits } else { bits + 1 };
                    assert_eq!(format.bits_of((below + above) / 2.0), Some(even), "{format:?} {bits:#x}");
                }
            }
        }
    }

    /// The bits are those of ml_dtypes.
    #[test]
    fn what_is_infinite_or_no_number_is_known() {
        for (format, nan, infinity, largest) in [
            (FloatFormat::HALF, Some(0x7e00), Some(0x7c00), 65504.0),
            (FloatFormat::BFLOAT16, Some(0x7fc0), Some(0x7f80), 3.3895313892515355e38),
            (FloatFormat::E3M4, Some(0x78), Some(0x70), 15.5),
            (FloatFormat::E4M3, Some(0x7c), Some(0x78), 240.0),
            (FloatFormat::E5M2, Some(0x7e), Some(0x7c), 57344.0),
            (FloatFormat::E4M3FN, Some(0x7f), None, 448.0),
            (FloatFormat::E4M3FNUZ, Some(0x80), None, 240.0),
            (FloatFormat::E4M3B11FNUZ, Some(0x80), None, 30.0),
            (FloatFormat::E5M2FNUZ, Some(0x80), None, 57344.0),
            (FloatFormat::E8M0FNU, Some(0xff), None, 1.7014118346046923e38),
            (FloatFormat::E2M3FN, None, None, 7.5),
            (FloatFormat::E3M2FN, None, None, 28.0),
            (FloatFormat::E2M1FN, None, None, 6.0),
        ] {
            assert_eq!((format.bits_of(f64::NAN), format.bits_of(f64::INFINITY)), (nan, infinity), "{format:?}");
            assert!(nan.is_none_or(|nan| format.to_f64(nan).is_nan()));
            let most = format.bits_of(largest).unwrap();
            assert_eq!((format.to_f64(most), format.bits_of(largest * 1.5)), (largest, None), "{format:?}");
        }
        assert_eq!(FloatFormat::HALF.to_f64(0xfc00), f64::NEG_INFINITY);
        assert_eq!((FloatFormat::E8M0FNU.bits_of(-1.0), FloatFormat::E8M0FNU.bits_of(0.0)), (None, Some(0xff)));
        assert_eq!(FloatFormat::E5M2FNUZ.bits_of(-0.0), Some(0));
    }
}
