//! Parts of arrays: a box out of an array, and what one process holds of an array that is dealt out to many (MPI sections 5.1.3 and 5.1.4).
//!
//! Dimensions are given from the one that varies fastest to the slowest, whatever language the program is written in.

use super::{Datatype, Member};

/// One dimension of a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dimension {
    /// Elements of the whole array.
    pub size: u64,
    /// Elements of the box.
    pub part: u64,
    /// The first of them.
    pub start: u64,
}

/// One dimension of an array that is dealt out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Portion {
    /// Elements of the whole array.
    pub size: u64,
    /// How many processes share them.
    pub processes: u64,
    /// Which of these this one is.
    pub coordinate: u64,
    /// How they are dealt out.
    pub distribution: Distribution,
}

/// How the elements of a dimension are dealt out to processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distribution {
    /// To each one block of so many elements.
    Block(u64),
    /// Blocks of so many elements in turn.
    Cyclic(u64),
}

impl Portion {
    /// The elements of this process, `step` bytes apart, each of them `of`; and at how many bytes the first one lies.
    fn dealt(&self, of: &Datatype, step: i64) -> Option<(Datatype, i64)> {
        let Portion { size, processes, coordinate, distribution } = *self;
        let bytes = |elements: u64| i64::try_from(elements).ok()?.checked_mul(step);
        let row = |elements: u64| Datatype::strided(elements, 1, step, of);
        match distribution {
            Distribution::Block(block) => {
                let start = block.checked_mul(coordinate)?.min(size);
                Some((row(block.min(size - start))?, bytes(start)?))
            }
            Distribution::Cyclic(block) => {
                let start = block.checked_mul(coordinate)?.min(size);
                let round = block.checked_mul(processes)?;
                let (left, stride) = (size - start, bytes(round)?);
                let (whole, rest) = (left / round, left % round);
                // Of the last, incomplete round this process has a whole block or what there is of it.
                let (whole, rest) = if rest >= block { (whole + 1, 0) } else { (whole, rest) };
                let blocks = Datatype::strided(whole, 1, stride, &row(block)?)?;
                let tail = row(rest)?;
                let members = [
                    Member { at: 0, copies: u64::from(whole > 0), of: &blocks },
                    Member {
                        at: stride.checked_mul(i64::try_from(whole).ok()?)?,
                        copies: u64::from(rest > 0),
                        of: &tail,
                    },
                ];
                Some((Datatype::sequence(&members)?, bytes(start)?))
            }
        }
    }
}

impl Datatype {
    /// A box out of an array of elements (MPI_Type_create_subarray). Its extent is that of the array.
    pub fn subarray(dimensions: &[Dimension], of: &Datatype) -> Option<Datatype> {
        of.section(dimensions, |Dimension { size, part, start }, inner, step| {
            let place = i64::try_from(*start).ok()?.checked_mul(step)?;
            Some((*size, Datatype::strided(*part, 1, step, inner)?, place))
        })
    }

    /// What one process holds of an array of elements that is dealt out to many (MPI_Type_create_darray). Its extent is that of the
    /// array.
    pub fn darray(dimensions: &[Portion], of: &Datatype) -> Option<Datatype> {
        of.section(dimensions, |portion, inner, step| {
            let (dealt, place) = portion.dealt(inner, step)?;
            Some((portion.size, dealt, place))
        })
    }

    /// Applies `select` to one dimension after the other: it is given what one index of the dimension is, and the bytes from one
    /// index to the next, and answers how many there are in the array, which are selected, and where the first of these lies.
    fn section<D>(
        &self,
        dimensions: &[D],
        select: impl Fn(&D, &Datatype, i64) -> Option<(u64, Datatype, i64)>,
    ) -> Option<Datatype> {
        let (mut selected, mut step, mut offset) = (self.clone(), self.extent(), 0_i64);
        for dimension in dimensions {
            let (size, chosen, place) = select(dimension, &selected, step)?;
            selected = chosen;
            offset = offset.checked_add(place)?;
            step = step.checked_mul(i64::try_from(size).ok()?)?;
        }
        selected.moved(offset)?.resized(0, step)
    }
}
