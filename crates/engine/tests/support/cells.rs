//! Buffers of two-integer elements in different layouts, which know when a byte outside the data was touched.

use std::rc::Rc;

use corelace_engine::datatype::{Basic, Block, Layout};
use corelace_engine::{Datatype, Op, RecvBuffer, RecvParts, SendBuffer, SendParts, UserFunction};

/// How the two integers of an element lie. All have the same signature, so members may mix them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Plain,
    Gapped,
    /// The first integer lies before the element's origin.
    Negative,
}

pub const KINDS: [Kind; 3] = [Kind::Plain, Kind::Gapped, Kind::Negative];

const MARGIN: usize = 64;
const UNTOUCHED: u8 = 0xee;

impl Kind {
    pub fn mixed(seed: usize) -> Kind {
        KINDS[seed % 3]
    }

    fn offsets(self) -> ([i64; 2], i64) {
        match self {
            Kind::Plain => ([0, 4], 8),
            Kind::Gapped => ([0, 8], 16),
            Kind::Negative => ([-4, 4], 12),
        }
    }

    pub fn datatype(self) -> Datatype {
        let ([a, b], extent) = self.offsets();
        let blocks = [Block { offset: a, len: 4 }, Block { offset: b, len: 4 }];
        Datatype::derived(Layout::new(blocks, a.min(0), extent), Some(Basic::U32))
    }
}

/// Elements in memory.
pub struct Cells {
    kind: Kind,
    pub datatype: Datatype,
    // Whole words, so that integers are aligned.
    memory: Vec<u64>,
    elements: usize,
}

impl Cells {
    pub fn new(kind: Kind, elements: usize) -> Cells {
        let bytes = 2 * MARGIN + elements * 16;
        Cells {
            kind,
            datatype: kind.datatype(),
            memory: vec![u64::from_ne_bytes([UNTOUCHED; 8]); bytes.div_ceil(8)],
            elements,
        }
    }

    pub fn of(kind: Kind, values: &[[u32; 2]]) -> Cells {
        let mut cells = Cells::new(kind, values.len());
        for (element, value) in values.iter().enumerate() {
            cells.set(element, *value);
        }
        cells
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: plain words.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.memory.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: plain words.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), self.memory.len() * 8) }
    }

    fn place(&self, element: usize, slot: usize) -> usize {
        let (offsets, extent) = self.kind.offsets();
        (MARGIN as i64 + element as i64 * extent + offsets[slot]) as usize
    }

    pub fn set(&mut self, element: usize, value: [u32; 2]) {
        for (slot, number) in value.iter().enumerate() {
            let at = self.place(element, slot);
            self.bytes_mut()[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
    }

    pub fn values(&self) -> Vec<[u32; 2]> {
        (0..self.elements)
            .map(|element| {
                [0, 1].map(|slot| {
                    let at = self.place(element, slot);
                    u32::from_ne_bytes(self.bytes()[at..at + 4].try_into().unwrap())
                })
            })
            .collect()
    }

    /// Panics if a byte between or around the elements was written.
    pub fn check_gaps(&self) {
        let mut data = vec![false; self.bytes().len()];
        for element in 0..self.elements {
            for slot in 0..2 {
                let at = self.place(element, slot);
                data[at..at + 4].fill(true);
            }
        }
        for (at, (byte, is_data)) in self.bytes().iter().zip(data).enumerate() {
            assert!(is_data || *byte == UNTOUCHED, "byte {at} outside of the elements was written");
        }
    }

    fn base(&self) -> *const u8 {
        self.bytes()[MARGIN..].as_ptr()
    }

    fn base_mut(&mut self) -> *mut u8 {
        self.bytes_mut()[MARGIN..].as_mut_ptr()
    }

    /// To send `count` elements (of each block where there are several).
    pub fn out(&self, count: usize) -> SendBuffer {
        // SAFETY: the tests keep the cells until the operation is complete.
        unsafe { SendBuffer::new(self.base(), count as u64, &self.datatype) }
    }

    /// To receive `count` elements (of each block where there are several).
    pub fn room(&mut self, count: usize) -> RecvBuffer {
        // SAFETY: as above.
        unsafe { RecvBuffer::new(self.base_mut(), count as u64, &self.datatype) }
    }

    pub fn out_parts<'a>(&'a self, counts: &'a [u64], displacements: &'a [i64]) -> SendParts<'a> {
        // SAFETY: as above.
        unsafe { SendParts::new(self.base(), counts, displacements, &self.datatype) }
    }

    pub fn room_parts<'a>(&'a mut self, counts: &'a [u64], displacements: &'a [i64]) -> RecvParts<'a> {
        let base = self.base_mut();
        // SAFETY: as above.
        unsafe { RecvParts::new(base, counts, displacements, &self.datatype) }
    }

    pub fn out_typed<'a>(
        &'a self,
        counts: &'a [u64],
        displacements: &'a [i64],
        types: &'a [Datatype],
    ) -> SendParts<'a> {
        // SAFETY: as above.
        unsafe { SendParts::with_types(self.base(), counts, displacements, types) }
    }

    pub fn room_typed<'a>(
        &mut self,
        counts: &'a [u64],
        displacements: &'a [i64],
        types: &'a [Datatype],
    ) -> RecvParts<'a> {
        // SAFETY: as above.
        unsafe { RecvParts::with_types(self.base_mut(), counts, displacements, types) }
    }
}

/// Composition of maps x -> a x + b on 32-bit numbers: associative, not commutative.
pub fn compose(first: [u32; 2], second: [u32; 2]) -> [u32; 2] {
    let ([a, b], [c, d]) = (first, second);
    [a.wrapping_mul(c), a.wrapping_mul(d).wrapping_add(b)]
}

/// [`compose`] as a user-defined operation on elements of any layout.
pub fn composition() -> Op {
    Op::user(Rc::new(Composition), false)
}

/// Element-wise sum as a user-defined operation.
pub fn user_sum() -> Op {
    Op::user(Rc::new(Sum), true)
}

struct Composition;
struct Sum;

fn for_each(
    input: *const u8,
    inout: *mut u8,
    count: u64,
    datatype: &Datatype,
    combine: fn([u32; 2], [u32; 2]) -> [u32; 2],
) {
    let mut places = Vec::new();
    datatype.layout().walk(0, datatype.size(), |offset, _, len| {
        places.extend((0..len as i64 / 4).map(|word| offset + 4 * word));
    });
    for element in 0..count as i64 {
        let at = |slot: usize| (element * datatype.extent() + places[slot]) as isize;
        // SAFETY: the engine passes valid elements.
        unsafe {
            let a = [0, 1].map(|slot| input.offset(at(slot)).cast::<u32>().read_unaligned());
            let b = [0, 1].map(|slot| inout.offset(at(slot)).cast::<u32>().read_unaligned());
            let result = combine(a, b);
            for (slot, number) in result.iter().enumerate() {
                inout.offset(at(slot)).cast::<u32>().write_unaligned(*number);
            }
        }
    }
}

impl UserFunction for Composition {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, datatype: &Datatype) {
        for_each(input, inout, count, datatype, compose);
    }
}

impl UserFunction for Sum {
    unsafe fn apply(&self, input: *const u8, inout: *mut u8, count: u64, datatype: &Datatype) {
        for_each(input, inout, count, datatype, |a, b| [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]);
    }
}
