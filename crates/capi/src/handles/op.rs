//! Reduction operations: the predefined ones by their handle, the program's own behind a table.

use std::rc::Rc;

use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::{Kind, Table};

/// A reduction operation.
#[derive(Clone)]
pub(crate) enum Op {
    Predefined(MPI_Op),
    User(Rc<UserOp>),
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
}

/// The operations of a process.
pub(crate) struct Ops(Table<Rc<UserOp>>);

impl Ops {
    pub(crate) const fn new() -> Self {
        Self(Table::new(Kind::Op))
    }

    #[inline]
    pub(crate) fn get(&self, handle: MPI_Op) -> Option<Op> {
        match handle {
            MPI_SUM | MPI_MIN | MPI_MAX | MPI_PROD | MPI_BAND | MPI_BOR | MPI_BXOR | MPI_LAND | MPI_LOR | MPI_LXOR
            | MPI_MINLOC | MPI_MAXLOC | MPI_REPLACE | MPI_NO_OP => Some(Op::Predefined(handle)),
            _ => self.0.get(handle.0).map(Op::User),
        }
    }

    pub(crate) fn insert(&self, op: UserOp) -> MPI_Op {
        MPI_Op(self.0.insert(Rc::new(op)))
    }

    pub(crate) fn remove(&self, handle: MPI_Op) -> Option<Rc<UserOp>> {
        self.0.remove(handle.0)
    }

    pub(crate) fn table(&self) -> &Table<Rc<UserOp>> {
        &self.0
    }
}
