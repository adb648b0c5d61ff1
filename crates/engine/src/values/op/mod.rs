//! Reduction operations (MPI section 6.9): what may be combined with what, and how.
//!
//! An [`Op`] computes `inout[i] = input[i] op inout[i]`. Invariant: the engine always passes the value of the lower ranks as
//! `input` and that of the higher ranks as `inout` unless the operation is commutative, and operations are taken as associative,
//! as the standard allows.
//!
//! Integer sums and products wrap. MAX and MIN of floating-point numbers follow C's `>` and `<`: `input` replaces `inout` only
//! if it compares greater (less), so a NaN in `input` is skipped and a NaN in `inout` stays. All ranks of an all-reduction get
//! the same bits nevertheless, because they all evaluate the same expression.

mod kernels;
mod pairs;
#[cfg(test)]
mod tests;

use alloc::rc::Rc;
use core::fmt;

use crate::values::datatype::{Basic, Datatype};
use crate::values::error::{Error, Result};
use crate::values::memory::{Apply, Kernel, Region};

pub use crate::values::memory::UserFunction;

/// A reduction operation. Cheap to clone.
#[derive(Clone)]
pub struct Op(Kind);

#[derive(Clone)]
enum Kind {
    Builtin(Builtin),
    User { function: Rc<dyn UserFunction>, commutative: bool },
}

/// The predefined operations (MPI sections 6.9.2, 6.9.4 and 12.3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are MPI's")]
pub enum Builtin {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    MinLoc,
    MaxLoc,
    Replace,
    NoOp,
}

impl Op {
    /// A predefined operation.
    pub const fn builtin(builtin: Builtin) -> Op {
        Op(Kind::Builtin(builtin))
    }

    /// A user-defined operation.
    pub fn user(function: Rc<dyn UserFunction>, commutative: bool) -> Op {
        Op(Kind::User { function, commutative })
    }

    /// True if operands may be exchanged (MPI_Op_commutative).
    pub fn is_commutative(&self) -> bool {
        match &self.0 {
            Kind::Builtin(builtin) => *builtin != Builtin::Replace && *builtin != Builtin::NoOp,
            Kind::User { commutative, .. } => *commutative,
        }
    }

    /// True if exchanged operands give the same bits: not so where the order decides between zeros of different signs, or what becomes of a NaN.
    pub(crate) fn is_symmetric(&self, datatype: &Datatype) -> bool {
        let (Some(builtin), Some(basic)) = (self.as_builtin(), datatype.element()) else { return false };
        let is_integer = matches!(
            basic,
            Basic::I8
                | Basic::I16
                | Basic::I32
                | Basic::I64
                | Basic::Long
                | Basic::U8
                | Basic::U16
                | Basic::U32
                | Basic::U64
                | Basic::UnsignedLong
        );
        match builtin {
            Builtin::Max | Builtin::Min => is_integer,
            Builtin::MaxLoc | Builtin::MinLoc | Builtin::Replace | Builtin::NoOp => false,
            _ => true,
        }
    }

    /// Which predefined operation this is.
    pub fn as_builtin(&self) -> Option<Builtin> {
        match &self.0 {
            Kind::Builtin(builtin) => Some(*builtin),
            Kind::User { .. } => None,
        }
    }

    /// An error unless the operation is defined on the type (MPI section 6.9.2).
    pub fn check(&self, datatype: &Datatype) -> Result<()> {
        let Kind::Builtin(builtin) = self.0 else { return Ok(()) };
        let basic = predefined(datatype).ok_or(Error::OpOnDerived { op: builtin.name() })?;
        match kernels::find(builtin, basic) {
            Some(_) => Ok(()),
            None => Err(Error::Op { op: builtin.name(), datatype: basic }),
        }
    }

    /// As [`check`](Op::check), for reductions: MPI_REPLACE and MPI_NO_OP are for one-sided operations only (section 12.3.4).
    pub(crate) fn check_reduction(&self, datatype: &Datatype) -> Result<()> {
        match self.0 {
            Kind::Builtin(builtin @ (Builtin::Replace | Builtin::NoOp)) => Err(match predefined(datatype) {
                Some(datatype) => Error::Op { op: builtin.name(), datatype },
                None => Error::OpOnDerived { op: builtin.name() },
            }),
            _ => self.check(datatype),
        }
    }

    /// `inout[i] = input[i] op inout[i]`, for the elements that both hold, of a type that was checked.
    #[inline]
    pub(crate) fn combine(&self, input: &Region, inout: &Region) {
        input.combine_into(inout, self.apply_to(input.datatype()));
    }

    /// How to combine elements of a type that was checked.
    fn apply_to(&self, datatype: &Datatype) -> Apply<'_> {
        match &self.0 {
            Kind::Builtin(builtin) => {
                let kernel = datatype.element().and_then(|basic| kernels::find(*builtin, basic));
                Apply::Kernel(kernel.expect("the operation was checked against the type"))
            }
            Kind::User { function, .. } => Apply::User(&**function),
        }
    }
}

/// A predefined operation on elements of a type on which it is defined, as reductions have it.
#[derive(Clone, Copy)]
pub struct Reduction(Kernel);

impl Reduction {
    /// None if it is not defined.
    #[inline]
    pub fn new(op: Builtin, datatype: &Datatype) -> Option<Reduction> {
        let is_one_sided = matches!(op, Builtin::Replace | Builtin::NoOp);
        op.kernel(predefined(datatype)?).filter(|_| !is_one_sided).map(Reduction)
    }

    pub(crate) fn kernel(self) -> Kernel {
        self.0
    }
}

fn predefined(datatype: &Datatype) -> Option<Basic> {
    datatype.element().filter(|_| datatype.is_predefined())
}

impl Builtin {
    /// How it combines elements of a type, if it is defined on them.
    pub(crate) fn kernel(self, on: Basic) -> Option<Kernel> {
        kernels::find(self, on)
    }

    /// MPI's name.
    pub const fn name(self) -> &'static str {
        match self {
            Builtin::Max => "MPI_MAX",
            Builtin::Min => "MPI_MIN",
            Builtin::Sum => "MPI_SUM",
            Builtin::Prod => "MPI_PROD",
            Builtin::Land => "MPI_LAND",
            Builtin::Band => "MPI_BAND",
            Builtin::Lor => "MPI_LOR",
            Builtin::Bor => "MPI_BOR",
            Builtin::Lxor => "MPI_LXOR",
            Builtin::Bxor => "MPI_BXOR",
            Builtin::MinLoc => "MPI_MINLOC",
            Builtin::MaxLoc => "MPI_MAXLOC",
            Builtin::Replace => "MPI_REPLACE",
            Builtin::NoOp => "MPI_NO_OP",
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Builtin(builtin) => f.write_str(builtin.name()),
            Kind::User { commutative: true, .. } => f.write_str("a user-defined commutative operation"),
            Kind::User { .. } => f.write_str("a user-defined operation"),
        }
    }
}
