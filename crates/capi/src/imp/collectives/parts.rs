//! Arrays of counts, displacements and datatypes, as the collectives with varying counts take them.

use engine::{Counted, Datatype, RecvParts, SendParts};

use crate::abi::constants::*;
use crate::abi::types::MPI_Datatype;
use crate::call::Call;
use crate::convert::{Buf, Numbers};
use crate::errors::{Fault, Outcome};
use crate::handles::Type;

/// What the parts of a buffer are, held for the call.
pub(super) struct Shape {
    counts: Vec<u64>,
    displacements: Vec<i64>,
    types: Kinds,
}

enum Kinds {
    /// One for all parts; displacements count its extents.
    One(Datatype),
    /// One a part; displacements count bytes.
    Each(Vec<Datatype>),
}

impl Shape {
    /// Parts of one datatype.
    pub(super) fn new(counts: Numbers, displacements: Numbers, datatype: &Counted<Type>) -> Outcome<Self> {
        committed(datatype)?;
        Ok(Self {
            counts: unsigned(counts),
            displacements: displacements.iter().collect(),
            types: Kinds::One(datatype.datatype.clone()),
        })
    }

    /// Parts with a datatype each. Those of empty parts are not looked at.
    pub(super) fn with_types(
        call: &Call,
        name: &'static str,
        counts: Numbers,
        displacements: Numbers,
        types: &[MPI_Datatype],
    ) -> Outcome<Self> {
        let mut each = Vec::with_capacity(types.len());
        for (handle, count) in types.iter().zip(counts.iter()) {
            let significant = if count == 0 { MPI_BYTE } else { *handle };
            let datatype = call.datatype(name, significant)?;
            committed(&datatype)?;
            each.push(datatype.datatype.clone());
        }
        Ok(Self {
            counts: unsigned(counts),
            displacements: displacements.iter().collect(),
            types: Kinds::Each(each),
        })
    }

    /// The address of the first byte of a part, as [`super::Held::first`].
    pub(super) fn first(&self, buf: Buf, part: u32) -> Option<usize> {
        let part = part as usize;
        let (count, displacement) = (*self.counts.get(part)?, *self.displacements.get(part)?);
        let (datatype, unit) = match &self.types {
            Kinds::One(datatype) => (datatype, datatype.extent()),
            Kinds::Each(types) => (types.get(part)?, 1),
        };
        if count == 0 || datatype.size() == 0 || buf.address().is_null() {
            return None;
        }
        let offset = displacement.wrapping_mul(unit).wrapping_add(datatype.layout().true_lower_bound());
        Some(buf.address().addr().wrapping_add_signed(offset as isize))
    }

    /// The parts of a buffer to send from.
    pub(super) fn send(&self, buf: Buf) -> SendParts<'_> {
        let base = buf.address().cast_const().cast();
        // SAFETY: the promise that came with the address: it holds for all parts.
        unsafe {
            match &self.types {
                Kinds::One(datatype) => SendParts::new(base, &self.counts, &self.displacements, datatype),
                Kinds::Each(types) => SendParts::with_types(base, &self.counts, &self.displacements, types),
            }
        }
    }

    /// The parts of a buffer to receive into.
    pub(super) fn receive(&self, buf: Buf) -> RecvParts<'_> {
        let base = buf.address().cast();
        // SAFETY: the promise that came with the address: it holds for all parts.
        unsafe {
            match &self.types {
                Kinds::One(datatype) => RecvParts::new(base, &self.counts, &self.displacements, datatype),
                Kinds::Each(types) => RecvParts::with_types(base, &self.counts, &self.displacements, types),
            }
        }
    }
}

/// Counts that were checked not to be negative.
pub(super) fn unsigned(counts: Numbers) -> Vec<u64> {
    counts.iter().map(|count| count as u64).collect()
}

fn committed(datatype: &Type) -> Outcome {
    if datatype.is_committed() {
        return Ok(());
    }
    Err(Fault::new(
        MPI_ERR_TYPE,
        "the datatype is not committed, expected MPI_Type_commit before communication",
    ))
}
