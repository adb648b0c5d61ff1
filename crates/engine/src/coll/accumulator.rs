//! The running value of a reduction: which memory holds it, and which memory the next operand may go to.
//!
//! An operation writes its result over its second operand, so the value moves between two or three places instead of being
//! copied. Invariant: `input` of a combine step is always the value of lower ranks, so that the order of non-commutative operations
//! is kept, and all members that compute the same value compute the same bits.

use super::prelude::*;

pub(super) struct Accumulator {
    pub value: Region,
    /// False while the value is the user's send buffer.
    writable: bool,
    spare: Option<Region>,
}

impl Accumulator {
    /// Starts with this member's value. `target` is memory of the same shape that may be written: the user's receive buffer. If
    /// both are the same memory (MPI_IN_PLACE), the value may be overwritten.
    pub fn new(value: &Region, target: Option<&Region>) -> Accumulator {
        let in_place = target.is_some_and(|target| target.same_place(value));
        Accumulator { value: value.clone(), writable: in_place, spare: target.filter(|_| !in_place).cloned() }
    }

    /// Receives the value of higher ranks and appends it; `exchange` sends this one the other way.
    pub fn append(&mut self, b: &mut Builder<'_>, from: u32, exchange: bool) -> Result<()> {
        let operand = self.receive(b, from, exchange)?;
        b.combine(&self.value, &operand);
        self.replace(operand);
        Ok(())
    }

    /// Appends a value of higher ranks that is in memory of the same shape, which may be
    /// overwritten.
    pub fn append_held(&mut self, b: &mut Builder<'_>, operand: Region) {
        b.combine(&self.value, &operand);
        self.replace(operand);
    }

    /// Receives the value of lower ranks and puts it in front; `exchange` sends this one the other way.
    pub fn prepend(&mut self, b: &mut Builder<'_>, from: u32, exchange: bool) -> Result<()> {
        let operand = self.receive(b, from, exchange)?;
        self.make_writable(b)?;
        b.combine(&operand, &self.value);
        self.spare = Some(operand);
        Ok(())
    }

    /// As an exchanging [`prepend`](Accumulator::prepend); the value of lower ranks may be used until the next operand comes.
    pub fn prepend_keeping(&mut self, b: &mut Builder<'_>, from: u32) -> Result<Region> {
        self.prepend(b, from, true)?;
        Ok(self.spare.clone().expect("the operand is kept as the spare place"))
    }

    /// Receives a value and combines it in whichever order needs no copy: for commutative operations with one reader.
    pub fn merge(&mut self, b: &mut Builder<'_>, from: u32) -> Result<()> {
        if self.writable { self.prepend(b, from, false) } else { self.append(b, from, false) }
    }

    /// Puts the value where the user wants it.
    pub fn store(self, b: &mut Builder<'_>, target: &Region) {
        b.copy(&self.value, target);
    }

    /// Receives an operand without combining it.
    pub fn receive(&mut self, b: &mut Builder<'_>, from: u32, exchange: bool) -> Result<Region> {
        let operand = match self.spare.take() {
            Some(spare) => spare,
            None => b.scratch_like(&self.value)?,
        };
        b.receive(from, &operand);
        if exchange {
            b.send(from, &self.value);
        }
        Ok(operand)
    }

    fn make_writable(&mut self, b: &mut Builder<'_>) -> Result<()> {
        if !self.writable {
            let copy = b.scratch_like(&self.value)?;
            b.copy(&self.value, &copy);
            self.replace(copy);
        }
        Ok(())
    }

    fn replace(&mut self, value: Region) {
        let old = core::mem::replace(&mut self.value, value);
        if core::mem::replace(&mut self.writable, true) && self.spare.is_none() {
            self.spare = Some(old);
        }
    }
}
