//! Reductions: how elements of different ranks are combined (MPI section 6.9).

use std::rc::Rc;

use engine::datatype::Basic;
use engine::op::Builtin;

use crate::raw::reduce::{Combine, user_op};
use crate::raw::reduction::Combination;
use crate::raw::{Datatype, Process};

/// How two elements are combined: [`sum`], [`max`], …, or a closure by [`commutative`] or [`ordered`].
///
/// ```
/// use corelace::op;
///
/// corelace::run(4, |world| {
///     let rank = world.rank() as u64;
///     assert_eq!(world.allreduce(&rank, op::sum()).unwrap(), 6);
///     assert_eq!(world.allreduce(&[rank, 10 - rank][..], op::max()).unwrap(), [3, 10]);
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
pub struct Op<T>(Kind<T>);

enum Kind<T> {
    Builtin(Builtin, Basic),
    Closure { combine: Rc<Combine<T>>, commutative: bool },
}

impl<T> Clone for Op<T> {
    fn clone(&self) -> Self {
        Op(match &self.0 {
            Kind::Builtin(builtin, basic) => Kind::Builtin(*builtin, *basic),
            Kind::Closure { combine, commutative } => {
                Kind::Closure { combine: combine.clone(), commutative: *commutative }
            }
        })
    }
}

impl<T: Datatype> Op<T> {
    /// True if a processor's own addition does the same.
    pub(crate) fn is_sum_of_integers(&self) -> bool {
        let is_float = |basic: &Basic| matches!(basic, Basic::F32 | Basic::F64);
        matches!(&self.0, Kind::Builtin(Builtin::Sum, basic) if !is_float(basic))
    }

    /// As the engine knows it, with the type that it works on.
    pub(crate) fn lower(&self, process: &Process) -> Combination {
        match &self.0 {
            Kind::Builtin(builtin, basic) => {
                Combination { op: engine::Op::builtin(*builtin), datatype: engine::Datatype::basic(*basic) }
            }
            Kind::Closure { combine, commutative } => {
                let op = user_op(combine.clone(), *commutative, process);
                Combination { op, datatype: process.element::<T>() }
            }
        }
    }
}

/// Integers and floating-point numbers: what the predefined reductions work on.
pub trait Number: Datatype + sealed::Sealed {}

/// Integers: what the logical and bitwise reductions work on. Zero is false, everything else is true.
pub trait Integer: Number {}

mod sealed {
    pub trait Sealed {
        const BASIC: super::Basic;
    }
}

macro_rules! numbers {
    ($($type:ty => $basic:ident $(, $integer:ident)?;)*) => {
        $(
            impl sealed::Sealed for $type {
                const BASIC: Basic = Basic::$basic;
            }
            impl Number for $type {}
            $(impl $integer for $type {})?
        )*
    };
}

numbers! {
    i8 => I8, Integer;
    i16 => I16, Integer;
    i32 => I32, Integer;
    i64 => I64, Integer;
    u8 => U8, Integer;
    u16 => U16, Integer;
    u32 => U32, Integer;
    u64 => U64, Integer;
    f32 => F32;
    f64 => F64;
}

#[cfg(target_pointer_width = "64")]
numbers! {
    isize => I64, Integer;
    usize => U64, Integer;
}

#[cfg(target_pointer_width = "32")]
numbers! {
    isize => I32, Integer;
    usize => U32, Integer;
}

macro_rules! predefined {
    ($($(#[$doc:meta])* $name:ident: $builtin:ident on $bound:ident;)*) => {
        $(
            $(#[$doc])*
            pub fn $name<T: $bound>() -> Op<T> {
                Op(Kind::Builtin(Builtin::$builtin, <T as sealed::Sealed>::BASIC))
            }
        )*
    };
}

predefined! {
    /// The sum (MPI_SUM). Integers wrap around.
    sum: Sum on Number;
    /// The product (MPI_PROD). Integers wrap around.
    product: Prod on Number;
    /// The largest (MPI_MAX).
    max: Max on Number;
    /// The smallest (MPI_MIN).
    min: Min on Number;
    /// One if all are true, else zero (MPI_LAND).
    logical_and: Land on Integer;
    /// One if any is true, else zero (MPI_LOR).
    logical_or: Lor on Integer;
    /// One if an odd number is true, else zero (MPI_LXOR).
    logical_xor: Lxor on Integer;
    /// And, bit by bit (MPI_BAND).
    bitwise_and: Band on Integer;
    /// Or, bit by bit (MPI_BOR).
    bitwise_or: Bor on Integer;
    /// Exclusive or, bit by bit (MPI_BXOR).
    bitwise_xor: Bxor on Integer;
}

/// A closure for which the order of its two elements does not matter (MPI_Op_create with `commute`). It must be associative,
/// too: ranks are combined in any grouping.
///
/// ```
/// use corelace::{Datatype, op};
///
/// /// The largest value, and where it is.
/// #[repr(C)]
/// #[derive(Clone, Copy, Debug, PartialEq, Datatype)]
/// struct Peak {
///     value: f64,
///     rank: u64,
/// }
///
/// corelace::run(5, |world| {
///     let mine = Peak { value: (world.rank() as f64 - 3.0).abs(), rank: world.rank() as u64 };
///     let higher = op::commutative(|a: Peak, b: Peak| if (b.value, a.rank) > (a.value, b.rank) { b } else { a });
///     assert_eq!(world.allreduce(&mine, higher).unwrap(), Peak { value: 3.0, rank: 0 });
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
///
/// A panic in the closure goes on once the collective is over, so that the other ranks are not left in it.
pub fn commutative<T: Datatype>(combine: impl Fn(T, T) -> T + 'static) -> Op<T> {
    Op(Kind::Closure { combine: Rc::new(combine), commutative: true })
}

/// A closure whose first element is that of the lower ranks, always. It must be associative: neighbours are combined in any
/// grouping.
///
/// ```
/// use corelace::op;
///
/// // Multiplying matrices: associative, not commutative.
/// type Matrix = [[i64; 2]; 2];
/// fn product(a: Matrix, b: Matrix) -> Matrix {
///     std::array::from_fn(|i| std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j]))
/// }
///
/// corelace::run(3, |world| {
///     let mine = [[1, world.rank() as i64], [world.rank() as i64, 2]];
///     let all = world.allreduce(&mine, op::ordered(product)).unwrap();
///     assert_eq!(all, product(product([[1, 0], [0, 2]], [[1, 1], [1, 2]]), [[1, 2], [2, 2]]));
/// })?;
/// # Ok::<(), corelace::RunError>(())
/// ```
pub fn ordered<T: Datatype>(combine: impl Fn(T, T) -> T + 'static) -> Op<T> {
    Op(Kind::Closure { combine: Rc::new(combine), commutative: false })
}
