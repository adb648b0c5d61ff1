//! Datatypes: the engine's, with what only the C interface has. Predefined ones are made when they are first used.

use core::ffi::c_char;
use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use engine::datatype::Basic;
use engine::{Counted, Datatype, KeptCell};

use crate::abi::constants::*;
use crate::abi::types::MPI_Datatype;
use crate::handles::{Attributes, Kind, Table};

/// A datatype of the program.
pub(crate) struct Type {
    pub(crate) datatype: Datatype,
    handle: AtomicUsize,
    committed: AtomicBool,
    pub(crate) attributes: Attributes,
    pub(crate) name: RefCell<String>,
    pub(crate) origin: Origin,
    /// The same data from an address that is not null, once that was asked for.
    addressed: OnceLock<(usize, Datatype)>,
}

/// How a datatype was made (MPI_Type_get_envelope and MPI_Type_get_contents).
#[derive(Clone, Default)]
pub(crate) struct Origin {
    /// MPI_COMBINER_NAMED, ….
    pub(crate) combiner: i32,
    /// The constructor's counts, in its order; of one with large counts, only those that are `int` there, too.
    pub(crate) integers: Vec<i64>,
    /// Its byte displacements.
    pub(crate) addresses: Vec<i64>,
    /// The counts and displacements of a constructor with large counts (MPI section 5.1.13).
    pub(crate) large_counts: Vec<i64>,
    /// Its datatypes, with the handles of the predefined ones.
    pub(crate) types: Vec<(MPI_Datatype, Counted<Type>)>,
}

impl Type {
    pub(crate) fn derived(datatype: Datatype, origin: Origin) -> Self {
        Self {
            datatype,
            handle: AtomicUsize::new(MPI_DATATYPE_NULL.0),
            committed: AtomicBool::new(false),
            attributes: Attributes::default(),
            name: RefCell::default(),
            origin,
            addressed: OnceLock::new(),
        }
    }

    /// The datatype for MPI_BOTTOM, where its displacements are addresses: the same data from a base that is not null, since nothing may be reached
    /// from a null pointer in Rust, however far.
    #[cold]
    pub(crate) fn at_an_address(&self) -> (*mut u8, &Datatype) {
        let (base, datatype) = self.addressed.get_or_init(|| {
            let base = self.datatype.layout().true_lower_bound();
            let moved = self.datatype.moved(-base).expect("data between addresses that there are");
            (base as usize, moved)
        });
        (std::ptr::with_exposed_provenance_mut(*base), datatype)
    }

    /// The handle under which it was stored last.
    pub(crate) fn handle(&self) -> MPI_Datatype {
        MPI_Datatype(self.handle.load(Ordering::Relaxed))
    }

    /// Whether messages may have this type.
    #[inline]
    pub(crate) fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    pub(crate) fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }
}

/// The datatypes of a process.
pub(crate) struct Types {
    /// By the handle's distance from MPI_DATATYPE_NULL.
    predefined: Box<[KeptCell<Type>]>,
    /// Bytes of an element of those that were used and whose elements lie in one piece, without gaps between them; 0 of others.
    dense: Box<[AtomicU8]>,
    derived: Table<Counted<Type>>,
    /// Predefined types without a name.
    unnamed: RefCell<Vec<Counted<Type>>>,
}

/// MPI_LB of `mpi_legacy.h`: no data, but a bound of the structure that it is in.
pub(crate) const LOWER_MARK: MPI_Datatype = MPI_Datatype(MPI_DATATYPE_NULL.0 + 0xfe);
/// MPI_UB of the same.
pub(crate) const UPPER_MARK: MPI_Datatype = MPI_Datatype(MPI_DATATYPE_NULL.0 + 0xff);

/// All predefined handles lie this close to MPI_DATATYPE_NULL.
const SPAN: usize = 0x100;

impl Types {
    pub(crate) fn new() -> Self {
        Self {
            predefined: (0..SPAN).map(|_| KeptCell::new()).collect(),
            dense: (0..SPAN).map(|_| AtomicU8::new(0)).collect(),
            derived: Table::new(Kind::Datatype),
            unnamed: RefCell::default(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, handle: MPI_Datatype) -> Option<Counted<Type>> {
        match self.predefined.get(handle.0.wrapping_sub(MPI_DATATYPE_NULL.0)) {
            None => self.derived.get(handle.0),
            Some(cell) => match cell.get() {
                Some(present) => Some(present),
                None => self.first_use(cell, handle),
            },
        }
    }

    #[cold]
    fn first_use(&self, cell: &KeptCell<Type>, handle: MPI_Datatype) -> Option<Counted<Type>> {
        let made = first_use(cell, handle)?;
        let layout = made.datatype.layout();
        if layout.is_contiguous() {
            let bytes = u8::try_from(layout.size()).unwrap_or(0);
            self.dense[handle.0 - MPI_DATATYPE_NULL.0].store(bytes, Ordering::Relaxed);
        }
        Some(made)
    }

    /// A predefined type that was used before; it is committed.
    #[inline(always)]
    pub(crate) fn used(&self, handle: MPI_Datatype) -> Option<&Type> {
        self.predefined.get(handle.0.wrapping_sub(MPI_DATATYPE_NULL.0))?.look()
    }

    /// Bytes of an element of such a type, at least one, if its elements lie in one piece, without gaps between them.
    #[inline(always)]
    pub(crate) fn dense_bytes(&self, handle: MPI_Datatype) -> Option<usize> {
        let bytes = self.dense.get(handle.0.wrapping_sub(MPI_DATATYPE_NULL.0))?.load(Ordering::Relaxed);
        (bytes > 0).then_some(usize::from(bytes))
    }

    pub(crate) fn insert(&self, datatype: Type) -> MPI_Datatype {
        self.refer(Counted::new(datatype))
    }

    /// The predefined type without a name that has this origin; made if it is asked for the first time.
    pub(crate) fn unnamed(&self, basic: Basic, origin: Origin) -> MPI_Datatype {
        let is_it = |known: &&Counted<Type>| {
            known.origin.combiner == origin.combiner && known.origin.integers == origin.integers
        };
        if let Some(known) = self.unnamed.borrow().iter().find(is_it) {
            return known.handle();
        }
        let made = Counted::new(Type::derived(Datatype::basic(basic), origin));
        made.commit();
        self.unnamed.borrow_mut().push(made.clone());
        self.refer(made)
    }

    /// Another handle for a datatype that may have been freed by the program but lives on in others.
    pub(crate) fn refer(&self, datatype: Counted<Type>) -> MPI_Datatype {
        let handle = MPI_Datatype(self.derived.insert(datatype.clone()));
        datatype.handle.store(handle.0, Ordering::Relaxed);
        handle
    }

    /// The predefined ones stay.
    pub(crate) fn remove(&self, handle: MPI_Datatype) -> Option<Counted<Type>> {
        self.derived.remove(handle.0)
    }

    pub(crate) fn table(&self) -> &Table<Counted<Type>> {
        &self.derived
    }
}

#[cold]
fn first_use(cell: &KeptCell<Type>, handle: MPI_Datatype) -> Option<Counted<Type>> {
    let (name, layout) = match handle {
        LOWER_MARK => ("MPI_LB", Datatype::structure(&[])?),
        UPPER_MARK => ("MPI_UB", Datatype::structure(&[])?),
        _ => {
            let (_, name, ..) = PREDEFINED_DATATYPES.iter().find(|(known, ..)| *known == handle)?;
            (*name, Datatype::basic(basic(handle)?))
        }
    };
    let origin = Origin { combiner: MPI_COMBINER_NAMED, ..Origin::default() };
    // As long as the process lives: most messages are of these, and threads would meet at their counts.
    let datatype = Type::derived(layout.kept(), origin);
    datatype.commit();
    datatype.handle.store(handle.0, Ordering::Relaxed);
    *datatype.name.borrow_mut() = name.to_owned();
    Some(cell.get_or_set(datatype))
}

/// What a predefined datatype is in memory. Fortran types are those of a compiler with its default settings on a 64-bit
/// machine.
fn basic(handle: MPI_Datatype) -> Option<Basic> {
    Some(match handle {
        MPI_INT8_T | MPI_SIGNED_CHAR | MPI_INTEGER1 => Basic::I8,
        MPI_SHORT | MPI_INT16_T | MPI_INTEGER2 => Basic::I16,
        MPI_INT | MPI_INT32_T | MPI_INTEGER | MPI_INTEGER4 => Basic::I32,
        MPI_LONG => Basic::Long,
        MPI_UNSIGNED_LONG => Basic::UnsignedLong,
        MPI_LONG_LONG | MPI_INT64_T | MPI_INTEGER8 | MPI_AINT | MPI_COUNT | MPI_OFFSET => Basic::I64,
        MPI_UINT8_T | MPI_UNSIGNED_CHAR => Basic::U8,
        MPI_UNSIGNED_SHORT | MPI_UINT16_T => Basic::U16,
        MPI_UNSIGNED | MPI_UINT32_T => Basic::U32,
        MPI_UNSIGNED_LONG_LONG | MPI_UINT64_T => Basic::U64,
        MPI_FLOAT | MPI_REAL | MPI_REAL4 => Basic::F32,
        MPI_DOUBLE | MPI_DOUBLE_PRECISION | MPI_REAL8 => Basic::F64,
        MPI_LONG_DOUBLE => Basic::LongDouble,
        MPI_C_FLOAT_COMPLEX | MPI_CXX_FLOAT_COMPLEX | MPI_COMPLEX | MPI_COMPLEX8 => Basic::ComplexF32,
        MPI_C_DOUBLE_COMPLEX | MPI_CXX_DOUBLE_COMPLEX | MPI_DOUBLE_COMPLEX | MPI_COMPLEX16 => {
            Basic::ComplexF64
        }
        MPI_C_LONG_DOUBLE_COMPLEX | MPI_CXX_LONG_DOUBLE_COMPLEX => Basic::ComplexLongDouble,
        MPI_C_BOOL | MPI_CXX_BOOL => Basic::Bool,
        MPI_LOGICAL1 => Basic::Logical { bytes: 1 },
        MPI_LOGICAL2 => Basic::Logical { bytes: 2 },
        MPI_LOGICAL | MPI_LOGICAL4 => Basic::Logical { bytes: 4 },
        MPI_LOGICAL8 => Basic::Logical { bytes: 8 },
        MPI_LOGICAL16 => Basic::Logical { bytes: 16 },
        MPI_BYTE => Basic::Byte,
        MPI_PACKED => Basic::Packed,
        // The standard has no reductions of characters; programs that count in `char` work with other libraries.
        MPI_CHAR if c_char::MIN == 0 => Basic::U8,
        MPI_CHAR => Basic::I8,
        MPI_CHARACTER => Basic::Char { bytes: 1 },
        MPI_WCHAR => Basic::Char { bytes: 4 },
        MPI_REAL2 => Basic::Opaque { bytes: 2 },
        MPI_COMPLEX4 => Basic::Opaque { bytes: 4 },
        MPI_INTEGER16 | MPI_REAL16 => Basic::Opaque { bytes: 16 },
        MPI_COMPLEX32 => Basic::Opaque { bytes: 32 },
        MPI_FLOAT_INT => Basic::PairF32I32,
        MPI_DOUBLE_INT => Basic::PairF64I32,
        MPI_LONG_INT => Basic::PairI64I32,
        MPI_2INT | MPI_2INTEGER => Basic::PairI32I32,
        MPI_SHORT_INT => Basic::PairI16I32,
        MPI_LONG_DOUBLE_INT => Basic::PairLongDoubleI32,
        MPI_2REAL => Basic::PairF32F32,
        MPI_2DOUBLE_PRECISION => Basic::PairF64F64,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{PREDEFINED_DATATYPES, Types, basic};
    use crate::abi::constants::*;

    #[test]
    fn every_predefined_datatype_has_the_size_and_extent_of_its_c_type() {
        for (handle, name, size, extent) in PREDEFINED_DATATYPES {
            let basic = basic(*handle).unwrap_or_else(|| panic!("{name} is missing"));
            if *size > 0 {
                assert_eq!((basic.size(), basic.extent()), (u64::from(*size), u64::from(*extent)), "{name}");
            }
        }
    }

    #[test]
    fn null_and_unassigned_values_are_no_datatypes() {
        let types = Types::new();
        assert!(types.get(MPI_DATATYPE_NULL).is_none());
        assert!(types.get(crate::abi::types::MPI_Datatype(0x206)).is_none());
        assert!(types.get(crate::abi::types::MPI_Datatype(0)).is_none());
        assert!(types.get(MPI_INT).is_some_and(|int| *int.name.borrow() == "MPI_INT"));
    }
}
