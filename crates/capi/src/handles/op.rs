//! Reduction operations: the predefined ones by their handle, the program's own behind a table.

use core::ffi::{c_int, c_void};
use std::rc::Rc;

use engine::{Builtin, Counted, Datatype};
use fabric_local::Whole;

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::handles::{Kind, Table, Type, Types};

/// A reduction operation.
#[derive(Clone)]
pub(crate) enum Op {
    Predefined(MPI_Op),
    User(Counted<UserOp>),
}

/// A function of the program that reduces.
pub(crate) struct UserOp {
    pub(crate) function: UserFunction,
    pub(crate) commutes: bool,
}

/// The function's two forms.
#[derive(Clone, Copy)]
pub(crate) enum UserFunction {
    Small(MPI_User_function),
    Large(MPI_User_function_c),
    /// With a state of its own, and what the program wants to be called in the end.
    WithState(MPIX_User_function_x, MPIX_Destructor_function, *mut c_void),
}

impl UserFunction {
    /// Whether the program has given null for it.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            UserFunction::Small(function) => function.is_none(),
            UserFunction::Large(function) => function.is_none(),
            UserFunction::WithState(function, ..) => function.is_none(),
        }
    }
}

impl Drop for UserOp {
    fn drop(&mut self) {
        if let UserFunction::WithState(_, Some(destructor), state) = self.function {
            let _whole = Whole::turn();
            // SAFETY: the program registered this function for this state.
            unsafe { destructor(state) }
        }
    }
}

impl Op {
    /// The operation as the engine runs it, on elements of a datatype. The program's functions are told the datatype's
    /// handle, which the engine does not know.
    pub(crate) fn bind(&self, types: &'static Types, datatype: &Counted<Type>) -> engine::Op {
        match self {
            Op::Predefined(handle) => engine::Op::builtin(builtin(*handle)),
            Op::User(op) => {
                let bound = Bound { op: op.clone(), datatype: datatype.clone(), types };
                engine::Op::user(Rc::new(bound), op.commutes)
            }
        }
    }
}

impl Op {
    /// Which predefined operation this is, if it is one.
    #[inline]
    pub(crate) fn predefined(&self) -> Option<Builtin> {
        match self {
            Op::Predefined(handle) => Some(builtin(*handle)),
            Op::User(_) => None,
        }
    }
}

fn builtin(handle: MPI_Op) -> Builtin {
    match handle {
        MPI_MAX => Builtin::Max,
        MPI_MIN => Builtin::Min,
        MPI_SUM => Builtin::Sum,
        MPI_PROD => Builtin::Prod,
        MPI_LAND => Builtin::Land,
        MPI_BAND => Builtin::Band,
        MPI_LOR => Builtin::Lor,
        MPI_BOR => Builtin::Bor,
        MPI_LXOR => Builtin::Lxor,
        MPI_BXOR => Builtin::Bxor,
        MPI_MINLOC => Builtin::MinLoc,
        MPI_MAXLOC => Builtin::MaxLoc,
        MPI_REPLACE => Builtin::Replace,
        // The table hands out no other predefined operation.
        _ => Builtin::NoOp,
    }
}

/// An operation of the program in use.
struct Bound {
    op: Counted<UserOp>,
    datatype: Counted<Type>,
    types: &'static Types,
}

impl engine::UserFunction for Bound {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, datatype: &Datatype) {
        let _whole = Whole::turn();
        let types = self.types;
        let known = self.datatype.handle();
        let lives = types.get(known).is_some_and(|present| present.is(&self.datatype));
        // The program may have freed its handle while the operation was under way.
        let mut handle = if lives { known } else { types.refer(self.datatype.clone()) };
        let mut done = 0;
        while done < count {
            let offset = done as isize * datatype.extent() as isize;
            let piece = match self.op.function {
                UserFunction::Small(_) => (count - done).min(c_int::MAX as u64),
                UserFunction::Large(_) | UserFunction::WithState(..) => count - done,
            };
            // SAFETY: the engine's promise covers `count` elements, of which these are some; the program registered the
            // function for exactly these arguments.
            unsafe {
                let (input, inout) = (input.offset(offset).cast_mut().cast(), inout.offset(offset).cast());
                match self.op.function {
                    UserFunction::Small(Some(function)) => {
                        function(input, inout, &mut (piece as c_int), &mut handle);
                    }
                    UserFunction::Large(Some(function)) => {
                        function(input, inout, &mut (piece as MPI_Count), &mut handle);
                    }
                    UserFunction::WithState(Some(function), _, state) => {
                        function(input, inout, piece as MPI_Count, handle, state);
                    }
                    UserFunction::Small(None)
                    | UserFunction::Large(None)
                    | UserFunction::WithState(None, ..) => (),
                }
            }
            done += piece;
        }
        if !lives {
            drop(types.remove(handle));
        }
    }
}

/// The operations of a process.
pub(crate) struct Ops(Table<Counted<UserOp>>);

impl Ops {
    pub(crate) const fn new() -> Self {
        Self(Table::new(Kind::Op))
    }

    #[inline]
    pub(crate) fn get(&self, handle: MPI_Op) -> Option<Op> {
        match handle {
            MPI_SUM | MPI_MIN | MPI_MAX | MPI_PROD | MPI_BAND | MPI_BOR | MPI_BXOR | MPI_LAND | MPI_LOR
            | MPI_LXOR | MPI_MINLOC | MPI_MAXLOC | MPI_REPLACE | MPI_NO_OP => Some(Op::Predefined(handle)),
            _ => self.0.get(handle.0).map(Op::User),
        }
    }

    pub(crate) fn insert(&self, op: UserOp) -> MPI_Op {
        MPI_Op(self.0.insert(Counted::new(op)))
    }

    pub(crate) fn remove(&self, handle: MPI_Op) -> Option<Counted<UserOp>> {
        self.0.remove(handle.0)
    }

    pub(crate) fn table(&self) -> &Table<Counted<UserOp>> {
        &self.0
    }
}
