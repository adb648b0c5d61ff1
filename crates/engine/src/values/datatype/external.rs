//! The representation of data that every machine understands, "external32" (MPI section 14.5.2): big-endian, IEEE, and with sizes of its
//! own.
//!
//! Three things are not just the bytes in another order: C `long` has four bytes there, so that large values lose their upper half; a
//! wide character has two; and `long double` is IEEE quadruple precision, to which the 80 bits of an x87 number are extended.

use super::Basic;

/// Bytes of an element.
pub(crate) const fn size(basic: Basic) -> u64 {
    match basic {
        Basic::Long | Basic::UnsignedLong => 4,
        Basic::Char { bytes: 4 } => 2,
        other => other.size(),
    }
}

/// Writes one element of this machine.
pub(crate) fn write(basic: Basic, native: &[u8], external: &mut [u8]) {
    match basic {
        Basic::LongDouble | Basic::ComplexLongDouble => {
            for (native, external) in native.chunks_exact(16).zip(external.chunks_exact_mut(16)) {
                external.copy_from_slice(&quadruple(word(native)).to_be_bytes());
            }
        }
        _ => convert(basic, native, external, |from, to| {
            let word = if cfg!(target_endian = "little") { reversed(from) } else { full(from) };
            // The lower bytes, where there are fewer.
            to.copy_from_slice(&word[16 - to.len()..]);
        }),
    }
}

/// Reads one element for this machine.
pub(crate) fn read(basic: Basic, external: &[u8], native: &mut [u8]) {
    match basic {
        Basic::LongDouble | Basic::ComplexLongDouble => {
            for (external, native) in external.chunks_exact(16).zip(native.chunks_exact_mut(16)) {
                let bits = u128::from_be_bytes(external.try_into().expect("sixteen bytes"));
                native.copy_from_slice(&long_double(bits).to_ne_bytes());
            }
        }
        _ => convert(basic, external, native, |from, to| {
            let negative = basic == Basic::Long && from[0] >= 0x80;
            let mut word = [if negative { 0xff } else { 0 }; 16];
            word[16 - from.len()..].copy_from_slice(from);
            if cfg!(target_endian = "little") {
                word.reverse();
                to.copy_from_slice(&word[..to.len()]);
            } else {
                to.copy_from_slice(&word[16 - to.len()..]);
            }
        }),
    }
}

/// Both sides cut into the numbers that an element consists of.
fn convert(basic: Basic, from: &[u8], to: &mut [u8], each: impl Fn(&[u8], &mut [u8])) {
    let numbers = match basic {
        Basic::ComplexF32 | Basic::ComplexF64 | Basic::Opaque { bytes: 4 | 32 } => 2,
        _ => 1,
    };
    let (given, taken) = (from.len() / numbers, to.len() / numbers);
    for (from, to) in from.chunks_exact(given).zip(to.chunks_exact_mut(taken)) {
        each(from, to);
    }
}

fn word(bytes: &[u8]) -> u128 {
    u128::from_ne_bytes(bytes.try_into().expect("sixteen bytes"))
}

/// The bytes of a little-endian number at the end of sixteen, most significant first.
fn reversed(bytes: &[u8]) -> [u8; 16] {
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    word.reverse();
    word
}

/// The bytes of a big-endian number at the end of sixteen.
fn full(bytes: &[u8]) -> [u8; 16] {
    let mut word = [0; 16];
    word[16 - bytes.len()..].copy_from_slice(bytes);
    word
}

/// Bits of a fraction that an x87 number has behind its leading one, and that a quadruple one has.
const SHORT: u32 = 63;
const LONG: u32 = 112;
const EXPONENT: u128 = 0x7fff;

/// A `long double` of this machine in quadruple precision: exact.
fn quadruple(bits: u128) -> u128 {
    if !cfg!(target_arch = "x86_64") {
        return bits;
    }
    let (sign, exponent) = (bits >> 79 & 1, bits >> 64 & EXPONENT);
    let (leading, fraction) = (bits >> SHORT & 1, bits & ((1 << SHORT) - 1));
    // A leading one without an exponent is the smallest exponent that has one.
    let exponent = if exponent == 0 { leading } else { exponent };
    sign << 127 | exponent << LONG | fraction << (LONG - SHORT)
}

/// A number in quadruple precision as a `long double` of this machine: the nearest one.
fn long_double(bits: u128) -> u128 {
    if !cfg!(target_arch = "x86_64") {
        return bits;
    }
    let (sign, exponent) = (bits >> 127, bits >> LONG & EXPONENT);
    let fraction = bits & ((1 << LONG) - 1);
    let dropped = LONG - SHORT;
    let (kept, rest, half) = (fraction >> dropped, fraction & ((1 << dropped) - 1), 1 << (dropped - 1));
    if exponent == EXPONENT {
        // An infinity; or no number, which must not become one.
        let kept = if fraction != 0 && kept == 0 { 1 } else { kept };
        return sign << 79 | exponent << 64 | 1 << SHORT | kept;
    }
    let up = rest > half || (rest == half && kept & 1 == 1);
    let leading = u128::from(exponent != 0);
    // Exponent and fraction as one number, so that a carry goes where it belongs.
    let rounded = (exponent << SHORT | kept) + u128::from(up);
    let exponent = rounded >> SHORT;
    let leading = if exponent > 0 { 1 } else { leading };
    sign << 79 | exponent << 64 | leading << SHORT | rounded & ((1 << SHORT) - 1)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn there(basic: Basic, native: &[u8]) -> Vec<u8> {
        let mut external = vec![0; size(basic) as usize];
        write(basic, native, &mut external);
        external
    }

    fn and_back(basic: Basic, external: &[u8]) -> Vec<u8> {
        let mut native = vec![0; basic.size() as usize];
        read(basic, external, &mut native);
        native
    }

    #[test]
    fn numbers_are_big_endian_and_come_back() {
        assert_eq!(there(Basic::I32, &(-2_i32).to_ne_bytes()), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(there(Basic::F64, &1.0_f64.to_ne_bytes()), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
        let complex = [1.0_f32.to_ne_bytes(), 2.0_f32.to_ne_bytes()].concat();
        assert_eq!(there(Basic::ComplexF32, &complex), [0x3f, 0x80, 0, 0, 0x40, 0, 0, 0]);
        assert_eq!(and_back(Basic::ComplexF32, &there(Basic::ComplexF32, &complex)), complex);
        let long = Basic::Opaque { bytes: 16 };
        let number: Vec<u8> = (0..16).collect();
        assert_eq!(and_back(long, &there(long, &number)), number);
    }

    #[test]
    fn a_long_has_four_bytes_and_keeps_its_sign() {
        assert_eq!(there(Basic::Long, &(-3_i64).to_ne_bytes()), [0xff, 0xff, 0xff, 0xfd]);
        assert_eq!(and_back(Basic::Long, &[0xff, 0xff, 0xff, 0xfd]), (-3_i64).to_ne_bytes());
        assert_eq!(and_back(Basic::UnsignedLong, &[0xff, 0xff, 0xff, 0xfd]), 0xffff_fffd_u64.to_ne_bytes());
        assert_eq!(and_back(Basic::Char { bytes: 4 }, &[0x20, 0xac]), 0x20ac_u32.to_ne_bytes());
    }

    /// Bits of x87 numbers and of the same numbers in quadruple precision.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_long_double_is_extended_exactly_and_rounded_to_the_nearest() {
        let one = 0x3fff_u128 << 64 | 1 << 63;
        let known = [
            (0, 0),
            (one, 0x3fff << 112),
            (one | 1 << 79, 0xbfff << 112),
            // 1.5, the infinity, the smallest number of all.
            (one | 1 << 62, 0x3fff << 112 | 1 << 111),
            (0x7fff << 64 | 1 << 63, 0x7fff << 112),
            (1, 1 << 49),
        ];
        for (extended, wide) in known {
            assert_eq!(quadruple(extended), wide, "{extended:x}");
            assert_eq!(long_double(wide), extended, "{wide:x}");
        }
        // A half below is rounded to the even neighbour, more than a half up, up to the next power of two.
        assert_eq!(long_double(0x3fff << 112 | 1 << 48), one);
        assert_eq!(long_double(0x3fff << 112 | 1 << 48 | 1), one + 1);
        assert_eq!(long_double(0x3fff << 112 | ((1 << 112) - 1)), 0x4000 << 64 | 1 << 63);
        // No number stays none.
        assert_ne!(long_double(0x7fff << 112 | 1) & ((1 << 63) - 1), 0);
    }
}
