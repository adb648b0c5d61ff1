//! Chapter 19: datatypes of Fortran's parameterised kinds, by decimal precision and exponent range (MPI section 19.1.5).
//!
//! The kinds are those of gfortran on this machine. Two calls with the same arguments give the same type, which is predefined: it cannot be
//! freed, needs no commit, and tells its arguments as its contents.

use core::ffi::c_int;

use engine::datatype::Basic;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::Out;
use crate::errors::{Fault, Outcome};
use crate::handles::Origin;

/// Decimal digits and decimal exponents of the kinds of REAL, and what a REAL and a COMPLEX of that kind are in memory.
const REALS: [(c_int, c_int, Basic, Basic); 4] = [
    (6, 37, Basic::F32, Basic::ComplexF32),
    (15, 307, Basic::F64, Basic::ComplexF64),
    (18, 4931, Basic::LongDouble, Basic::ComplexLongDouble),
    (33, 4931, Basic::Opaque { bytes: 16 }, Basic::Opaque { bytes: 32 }),
];

/// Decimal digits of the kinds of INTEGER.
const INTEGERS: [(c_int, Basic); 5] =
    [(2, Basic::I8), (4, Basic::I16), (9, Basic::I32), (18, Basic::I64), (38, Basic::Opaque { bytes: 16 })];

/// The first kind that has as many digits and exponents; either may be left open.
fn real(p: c_int, r: c_int) -> Outcome<(Basic, Basic)> {
    if p == MPI_UNDEFINED && r == MPI_UNDEFINED {
        return Err(Fault::new(
            MPI_ERR_ARG,
            "p and r are MPI_UNDEFINED, expected a number for one of them at least",
        ));
    }
    let enough = |has: c_int, wanted: c_int| wanted == MPI_UNDEFINED || wanted <= has;
    let kind = REALS.iter().find(|(digits, exponents, ..)| enough(*digits, p) && enough(*exponents, r));
    kind.map(|(.., real, complex)| (*real, *complex)).ok_or_else(|| {
        let text =
            format_args!("p is {p} and r is {r}, expected at most 33 digits and 4931 decimal exponents");
        Fault::new(MPI_ERR_ARG, text)
    })
}

/// The type of these arguments, made at the first call.
fn deliver(
    call: &Call,
    combiner: c_int,
    arguments: &[c_int],
    basic: Basic,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let integers: Vec<i64> = arguments.iter().map(|argument| i64::from(*argument)).collect();
    newtype.set(call.state.types.unnamed(basic, Origin { combiner, integers, ..Origin::default() }));
    Ok(())
}

pub(crate) fn mpi_type_create_f90_real(
    call: &Call,
    p: c_int,
    r: c_int,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    deliver(call, MPI_COMBINER_F90_REAL, &[p, r], real(p, r)?.0, newtype)
}

pub(crate) fn mpi_type_create_f90_complex(
    call: &Call,
    p: c_int,
    r: c_int,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    deliver(call, MPI_COMBINER_F90_COMPLEX, &[p, r], real(p, r)?.1, newtype)
}

pub(crate) fn mpi_type_create_f90_integer(call: &Call, r: c_int, newtype: Out<MPI_Datatype>) -> Outcome {
    let kind = INTEGERS.iter().find(|(digits, _)| r <= *digits);
    let Some((_, basic)) = kind else {
        return Err(Fault::new(MPI_ERR_ARG, format_args!("r is {r}, expected at most 38 digits")));
    };
    deliver(call, MPI_COMBINER_F90_INTEGER, &[r], *basic, newtype)
}
