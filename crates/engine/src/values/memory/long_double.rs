//! Arithmetic on C `long double`, for which Rust has no type.
//!
//! On x86-64 it is the 80-bit format of the x87 unit in 16 bytes, and the x87 instructions do the work. Elsewhere the format
//! differs (IEEE quadruple, or plain double, which the C library maps to [`Basic::F64`](crate::values::datatype::Basic::F64)); there
//! [`SUPPORTED`] is false and reductions on it are refused with an error.

/// One number, as it lies in memory.
pub(crate) type Bytes = [u8; 16];

/// Whether the functions below work on this architecture.
pub(crate) const SUPPORTED: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::Bytes;
    use core::arch::asm;

    macro_rules! binary {
        ($name:ident, $instruction:literal) => {
            /// The padding bytes of the result are those of `b`.
            #[inline]
            pub(crate) fn $name(a: &Bytes, b: &Bytes) -> Bytes {
                let mut result = *b;
                // SAFETY: reads ten bytes of each operand and writes ten of the result; declaring all x87 registers clobbered
                // makes the stack empty on entry, and the instructions leave it empty.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        $instruction,
                        "fstp tbyte ptr [{result}]",
                        a = in(reg) a.as_ptr(),
                        b = in(reg) b.as_ptr(),
                        result = in(reg) result.as_mut_ptr(),
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                result
            }
        };
    }

    // After the two loads st(1) = a and st(0) = b.
    binary!(add, "faddp st(1), st");
    binary!(subtract, "fsubp st(1), st");
    binary!(multiply, "fmulp st(1), st");

    /// (`a > b`, `a == b`); both false if one is a NaN.
    #[inline]
    pub(crate) fn compare(a: &Bytes, b: &Bytes) -> (bool, bool) {
        let (greater, equal, ordered): (u8, u8, u8);
        // SAFETY: reads ten bytes of each operand; see above for the x87 stack.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fucomip st, st(1)",
                "seta {greater}",
                "sete {equal}",
                "setnp {ordered}",
                "fstp st(0)",
                a = in(reg) a.as_ptr(),
                b = in(reg) b.as_ptr(),
                greater = out(reg_byte) greater,
                equal = out(reg_byte) equal,
                ordered = out(reg_byte) ordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly),
            );
        }
        (greater & ordered != 0, equal & ordered != 0)
    }

    #[cfg(test)]
    pub(crate) fn from_f64(value: f64) -> Bytes {
        let mut result = [0; 16];
        // SAFETY: reads eight bytes and writes ten; see above for the x87 stack.
        unsafe {
            asm!(
                "fld qword ptr [{value}]",
                "fstp tbyte ptr [{result}]",
                value = in(reg) &value,
                result = in(reg) result.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }
}

#[cfg(target_arch = "x86_64")]
#[cfg(test)]
pub(crate) use x87::from_f64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x87::{add, compare, multiply, subtract};

#[cfg(not(target_arch = "x86_64"))]
mod unsupported {
    use super::Bytes;

    // Reductions on this type are refused before they begin, so none of these is ever called.
    pub(crate) fn add(_: &Bytes, b: &Bytes) -> Bytes {
        *b
    }
    pub(crate) fn subtract(_: &Bytes, b: &Bytes) -> Bytes {
        *b
    }
    pub(crate) fn multiply(_: &Bytes, b: &Bytes) -> Bytes {
        *b
    }
    pub(crate) fn compare(_: &Bytes, _: &Bytes) -> (bool, bool) {
        (false, false)
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use unsupported::{add, compare, multiply, subtract};
