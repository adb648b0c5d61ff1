//! Type signatures: of which basic elements the data of a datatype consists, in the order in which it travels (MPI section 5.1.1).
//!
//! Kept as the constructors built it, so that ten million equal elements are one entry: counting elements costs as many steps as the type
//! has levels, and a search in each.

use std::rc::Rc;

use engine::datatype::Basic;

/// A sequence of basic elements.
pub(crate) struct Signature {
    bytes: u64,
    elements: u64,
    shape: Shape,
}

enum Shape {
    /// One basic element, or nothing.
    Single,
    /// Parts one after the other.
    Sequence(Vec<Part>),
}

/// Some copies of a signature.
struct Part {
    of: Rc<Signature>,
    /// What lies before this part.
    bytes_before: u64,
    elements_before: u64,
}

impl Signature {
    /// Of a predefined type. One for MINLOC and MAXLOC counts as the structure of two that it is (MPI section 6.9.4).
    pub(crate) fn basic(basic: Basic) -> Rc<Signature> {
        let size = basic.size();
        let index = match basic {
            Basic::PairF64F64 => 8,
            _ if basic.index_offset().is_some() => 4,
            _ => return Signature::single(size),
        };
        Signature::sequence([(1, &Signature::single(size - index)), (1, &Signature::single(index))])
    }

    /// Copies of signatures, one after the other.
    pub(crate) fn sequence<'a>(parts: impl IntoIterator<Item = (u64, &'a Rc<Signature>)>) -> Rc<Signature> {
        let (mut bytes, mut elements, mut kept): (u64, u64, Vec<Part>) = (0, 0, Vec::new());
        for (copies, of) in parts {
            if copies == 0 || of.elements == 0 {
                continue;
            }
            // Copies of the part before: as many as the bytes say.
            if !kept.last().is_some_and(|last| Rc::ptr_eq(&last.of, of)) {
                kept.push(Part { of: Rc::clone(of), bytes_before: bytes, elements_before: elements });
            }
            bytes = bytes.saturating_add(of.bytes.saturating_mul(copies));
            elements = elements.saturating_add(of.elements.saturating_mul(copies));
        }
        Rc::new(Signature { bytes, elements, shape: Shape::Sequence(kept) })
    }

    fn single(bytes: u64) -> Rc<Signature> {
        Rc::new(Signature { bytes, elements: u64::from(bytes > 0), shape: Shape::Single })
    }

    /// Whether a value of the type has no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// How many basic elements the first bytes of many values are; none if they end within one.
    pub(crate) fn elements_in(&self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            return Some(0);
        }
        let whole = bytes.checked_div(self.bytes)?.saturating_mul(self.elements);
        let inside = match (bytes % self.bytes, &self.shape) {
            (0, _) => 0,
            (_, Shape::Single) => return None,
            (rest, Shape::Sequence(parts)) => {
                let part = &parts[parts.partition_point(|part| part.bytes_before < rest) - 1];
                part.elements_before + part.of.elements_in(rest - part.bytes_before)?
            }
        };
        Some(whole.saturating_add(inside))
    }

    /// How many bytes the first basic elements of many values have.
    pub(crate) fn bytes_of(&self, elements: u64) -> u64 {
        let Some(whole) = elements.checked_div(self.elements) else { return 0 };
        let inside = match (elements % self.elements, &self.shape) {
            (0, _) | (_, Shape::Single) => 0,
            (rest, Shape::Sequence(parts)) => {
                let part = &parts[parts.partition_point(|part| part.elements_before < rest) - 1];
                part.bytes_before + part.of.bytes_of(rest - part.elements_before)
            }
        };
        whole.saturating_mul(self.bytes).saturating_add(inside)
    }
}

#[cfg(test)]
mod tests {
    use super::{Basic, Signature};

    /// The sizes of the elements, one by one.
    fn spelled(parts: &[(u64, &[u64])]) -> Vec<u64> {
        parts.iter().flat_map(|(copies, sizes)| sizes.repeat(*copies as usize)).collect()
    }

    fn agrees(signature: &Signature, model: &[u64]) {
        let (mut bytes, mut whole) = (0, vec![Some(0)]);
        for (index, size) in model.iter().cycle().take(model.len() * 3).enumerate() {
            assert_eq!(signature.bytes_of(index as u64), bytes);
            whole.extend((1..*size).map(|_| None));
            whole.push(Some(index as u64 + 1));
            bytes += size;
        }
        for (bytes, elements) in whole.iter().enumerate() {
            assert_eq!(signature.elements_in(bytes as u64), *elements, "{bytes} bytes");
        }
    }

    #[test]
    fn elements_and_bytes_are_counted_as_in_the_spelled_out_sequence() {
        let (int, double, byte) = (Basic::I32, Basic::F64, Basic::Byte);
        let [int, double, byte] = [int, double, byte].map(Signature::basic);
        let pair = Signature::basic(Basic::PairI16I32);
        agrees(&int, &[4]);
        agrees(&pair, &[2, 4]);
        let record = Signature::sequence([(2, &int), (1, &double), (0, &pair), (3, &byte)]);
        let spelled_record = spelled(&[(2, &[4]), (1, &[8]), (3, &[1])]);
        agrees(&record, &spelled_record);
        let nested = Signature::sequence([(1, &record), (2, &record), (2, &pair), (1, &record)]);
        agrees(&nested, &spelled(&[(3, &spelled_record), (2, &[2, 4]), (1, &spelled_record)]));
    }

    #[test]
    fn ten_million_equal_parts_are_one() {
        let element = Signature::basic(Basic::PairF64I32);
        let many = Signature::sequence(std::iter::repeat_n((3, &element), 1000));
        let more = Signature::sequence([(10_000_000, &many)]);
        assert_eq!(more.elements_in(12 * 3000 * 9_999_999 + 8), Some(2 * 3000 * 9_999_999 + 1));
        assert!(matches!(&more.shape, super::Shape::Sequence(parts) if parts.len() == 1));
    }

    #[test]
    fn a_type_without_data_has_no_elements() {
        let nothing = Signature::sequence([]);
        assert!(nothing.is_empty());
        assert_eq!((nothing.elements_in(0), nothing.elements_in(4), nothing.bytes_of(7)), (Some(0), None, 0));
    }
}
