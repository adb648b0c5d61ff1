//! Type maps: of which basic elements the data of a datatype consists, in the order in which it travels, and where each lies (MPI
//! section 5.1.1).
//!
//! Kept as the constructors built them, so that ten million equal elements are one entry: counting elements takes as many steps as the type
//! has levels, and a search in each.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Basic, external};

/// A sequence of basic elements at offsets.
#[derive(Debug)]
pub struct TypeMap {
    bytes: u64,
    elements: u64,
    /// Bytes in the external representation.
    external: u64,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    Basic(Basic),
    /// Parts one after the other.
    Parts(Vec<Part>),
}

/// Some copies of a map, `stride` bytes apart.
#[derive(Debug)]
pub(super) struct Part {
    pub of: Arc<TypeMap>,
    pub at: i64,
    pub copies: u64,
    pub stride: i64,
    /// What lies before this part.
    bytes_before: u64,
    elements_before: u64,
}

impl Part {
    pub fn new(of: &Arc<TypeMap>, at: i64, copies: u64, stride: i64) -> Part {
        Part { of: Arc::clone(of), at, copies, stride, bytes_before: 0, elements_before: 0 }
    }

    /// The same with one more part behind it, if both are one regular row of copies.
    fn joined(&self, next: &Part) -> Option<Part> {
        if !Arc::ptr_eq(&self.of, &next.of) {
            return None;
        }
        let step = next.at.checked_sub(self.at)?;
        let stride = if self.copies == 1 { step } else { self.stride };
        let fits = stride.checked_mul(self.copies as i64) == Some(step)
            && (next.copies == 1 || next.stride == stride);
        fits.then(|| Part::new(&self.of, self.at, self.copies + next.copies, stride))
    }
}

impl TypeMap {
    /// Of a predefined type. One for MINLOC and MAXLOC counts as the structure of two that it is (MPI section 6.9.4).
    pub(super) fn basic(basic: Basic) -> Arc<TypeMap> {
        let single = |basic: Basic| {
            let (bytes, external) = (basic.size(), external::size(basic));
            Arc::new(TypeMap { bytes, elements: 1, external, shape: Shape::Basic(basic) })
        };
        match (basic.halves(), basic.index_offset()) {
            (Some([value, index]), Some(at)) => TypeMap::of_parts(alloc::vec![
                Part::new(&single(value), 0, 1, 0),
                Part::new(&single(index), at as i64, 1, 0),
            ]),
            _ => single(basic),
        }
    }

    /// Parts one after the other.
    #[inline(never)]
    pub(super) fn of_parts(parts: Vec<Part>) -> Arc<TypeMap> {
        let (mut bytes, mut elements, mut external, mut kept): (u64, u64, u64, Vec<Part>) =
            (0, 0, 0, Vec::new());
        for part in parts {
            if part.copies == 0 || part.of.elements == 0 {
                continue;
            }
            let (of, copies) = (Arc::clone(&part.of), part.copies);
            match kept.last_mut().and_then(|last| Some((last.joined(&part)?, last))) {
                Some((joined, last)) => {
                    let (bytes_before, elements_before) = (last.bytes_before, last.elements_before);
                    *last = Part { bytes_before, elements_before, ..joined };
                }
                None => kept.push(Part { bytes_before: bytes, elements_before: elements, ..part }),
            }
            bytes = bytes.saturating_add(of.bytes.saturating_mul(copies));
            elements = elements.saturating_add(of.elements.saturating_mul(copies));
            external = external.saturating_add(of.external.saturating_mul(copies));
        }
        match kept.as_slice() {
            // A type that only wraps another is the other.
            [Part { of, at: 0, copies: 1, .. }] => Arc::clone(of),
            _ => Arc::new(TypeMap { bytes, elements, external, shape: Shape::Parts(kept) }),
        }
    }

    /// Basic elements of one value.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Bytes of one value in the external representation.
    pub fn external_bytes(&self) -> u64 {
        self.external
    }

    /// How many basic elements the first bytes of many values are; none if they end within one.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let whole = bytes.checked_div(self.bytes)?.saturating_mul(self.elements);
        let inside = match (bytes % self.bytes, &self.shape) {
            (0, _) => 0,
            (_, Shape::Basic(_)) => return None,
            (rest, Shape::Parts(parts)) => {
                let part = &parts[parts.partition_point(|part| part.bytes_before < rest) - 1];
                part.elements_before + part.of.elements_in(rest - part.bytes_before)?
            }
        };
        Some(whole.saturating_add(inside))
    }

    /// How many bytes the first basic elements of many values have.
    pub fn bytes_of(&self, elements: u64) -> u64 {
        let Some(whole) = elements.checked_div(self.elements) else { return 0 };
        let inside = match (elements % self.elements, &self.shape) {
            (0, _) | (_, Shape::Basic(_)) => 0,
            (rest, Shape::Parts(parts)) => {
                let part = &parts[parts.partition_point(|part| part.elements_before < rest) - 1];
                part.bytes_before + part.of.bytes_of(rest - part.elements_before)
            }
        };
        whole.saturating_mul(self.bytes).saturating_add(inside)
    }

    /// Calls `each` with a row of equal basic elements at a time, in order: the type, where the first lies from `origin` on, how many
    /// there are, and the bytes from one to the next.
    pub fn each_row(&self, origin: i64, each: &mut impl FnMut(Basic, i64, u64, i64)) {
        match &self.shape {
            Shape::Basic(basic) => each(*basic, origin, 1, 0),
            Shape::Parts(parts) => {
                for Part { of, at, copies, stride, .. } in parts {
                    let first = origin.wrapping_add(*at);
                    if let Shape::Basic(basic) = of.shape {
                        each(basic, first, *copies, *stride);
                        continue;
                    }
                    for copy in 0..*copies as i64 {
                        of.each_row(first.wrapping_add(copy.wrapping_mul(*stride)), each);
                    }
                }
            }
        }
    }
}
