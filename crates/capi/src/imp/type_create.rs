//! Chapter 5: constructors of derived datatypes.
//!
//! All of them place copies of existing types at byte displacements; they differ in how the places are given.

use core::ffi::c_int;
use std::rc::Rc;

use engine::Datatype;
use engine::datatype::{Block, Layout};

use crate::call::Call;
use crate::convert::{Numbers, Out};
use crate::errors::{Fault, Outcome};
use crate::r#gen::constants::*;
use crate::r#gen::types::*;
use crate::handles::{Bounds, Origin, Signature, Type};

/// Some copies of a type, one extent after the other, from a displacement on.
struct Part<'a> {
    at: i64,
    copies: i64,
    of: &'a Type,
}

impl Part<'_> {
    /// Where the copies begin and end by the bounds of their type; nothing if that, or the data itself, is beyond 64 bits.
    fn bounds(&self) -> Option<(i64, i64)> {
        let (layout, steps) = (self.of.datatype.layout(), self.copies - 1);
        let reach = |low: i64, high: i64| {
            let last = self.at.checked_add(steps.checked_mul(layout.extent())?)?;
            Some((self.at.min(last).checked_add(low)?, self.at.max(last).checked_add(high)?))
        };
        let (lower, upper) = reach(layout.lower_bound(), layout.lower_bound().checked_add(layout.extent())?)?;
        let (first, end) = reach(layout.true_lower_bound(), layout.true_upper_bound())?;
        // Their distances are numbers, too.
        upper.checked_sub(lower)?;
        end.checked_sub(first)?;
        i64::try_from(layout.size()).ok()?.checked_mul(self.copies)?;
        Some((lower, upper))
    }

    fn blocks(&self) -> impl Iterator<Item = Block> + '_ {
        let layout = self.of.datatype.layout();
        let (copies, blocks) =
            if layout.is_contiguous() { (1, None) } else { (self.copies, Some(layout.blocks())) };
        (0..copies).flat_map(move |copy| {
            let origin = self.at + copy * layout.extent();
            let whole = blocks
                .is_none()
                .then_some(Block { offset: self.at, len: layout.size() * self.copies as u64 });
            let pieces = blocks.unwrap_or_default().iter();
            whole
                .into_iter()
                .chain(pieces.map(move |block| Block { offset: origin + block.offset, len: block.len }))
        })
    }
}

/// Makes a datatype of parts. `padded`: its natural extent is rounded up as a C compiler does for a structure.
fn compose(parts: &[Part<'_>], padded: bool, origin: Origin) -> Outcome<Type> {
    let filled: Vec<&Part<'_>> = parts.iter().filter(|part| part.copies > 0).collect();
    let explicit = filled.iter().any(|part| part.of.bounds.explicit);
    let alignment = filled.iter().map(|part| part.of.bounds.alignment).max().unwrap_or(1);
    let mut size = 0_i64;
    let mut hull: Option<(i64, i64)> = None;
    for part in &filled {
        let (low, high) = part.bounds().ok_or_else(too_large)?;
        size = size.checked_add(part.of.datatype.size() as i64 * part.copies).ok_or_else(too_large)?;
        if part.of.bounds.explicit || !explicit {
            hull = Some(hull.map_or((low, high), |(lower, upper)| (lower.min(low), upper.max(high))));
        }
    }
    let (lower, mut upper) = hull.unwrap_or((0, 0));
    let extent = upper.checked_sub(lower).ok_or_else(too_large)?;
    if padded && !explicit {
        let padded = (extent as u64).next_multiple_of(alignment) as i64;
        upper = lower.checked_add(padded).ok_or_else(too_large)?;
    }
    let first = filled.first().and_then(|part| part.of.datatype.element());
    let element = first.filter(|basic| filled.iter().all(|part| part.of.datatype.element() == Some(*basic)));
    let layout = Layout::new(filled.iter().flat_map(|part| part.blocks()), lower, upper - lower);
    let signature = Signature::sequence(filled.iter().map(|part| (part.copies as u64, &part.of.signature)));
    let datatype = Datatype::derived(layout, element);
    Ok(Type::derived(datatype, Bounds { alignment, explicit }, signature, origin))
}

#[cold]
fn too_large() -> Fault {
    let text = "the new datatype would reach beyond 63 bits of bytes, expected smaller counts, lengths or displacements";
    Fault::new(MPI_ERR_ARG, text)
}

/// A displacement of some units.
fn place(units: i64, unit: i64) -> Outcome<i64> {
    units.checked_mul(unit).ok_or_else(too_large)
}

/// What the program told the constructor, for MPI_Type_get_contents.
fn origin(
    call: &Call,
    combiner: c_int,
    integers: Vec<i64>,
    addresses: Vec<i64>,
    oldtype: &Rc<Type>,
) -> Origin {
    let types = vec![(oldtype.handle(), Rc::clone(oldtype))];
    told(call, Origin { combiner, integers, addresses, types, ..Origin::default() })
}

/// The form with large counts has all its numbers there, in its order (MPI section 5.1.13).
fn told(call: &Call, mut origin: Origin) -> Origin {
    if is_large(call) {
        origin.large_counts = std::mem::take(&mut origin.integers);
        origin.large_counts.append(&mut origin.addresses);
    }
    origin
}

fn is_large(call: &Call) -> bool {
    call.name.ends_with("_c")
}

fn deliver(call: &Call, made: Type, newtype: Out<MPI_Datatype>) -> Outcome {
    newtype.set(call.state.types.insert(made));
    Ok(())
}

pub(crate) fn mpi_type_contiguous(
    call: &Call,
    count: i64,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let parts = [Part { at: 0, copies: count, of: oldtype }];
    deliver(
        call,
        compose(&parts, false, origin(call, MPI_COMBINER_CONTIGUOUS, vec![count], vec![], oldtype))?,
        newtype,
    )
}

/// `count` blocks, `stride` bytes apart.
fn strided(count: i64, blocklength: i64, stride: i64, oldtype: &Type, origin: Origin) -> Outcome<Type> {
    place((count - 1).max(0), stride)?;
    let parts: Vec<_> =
        (0..count).map(|index| Part { at: index * stride, copies: blocklength, of: oldtype }).collect();
    compose(&parts, false, origin)
}

pub(crate) fn mpi_type_vector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = origin(call, MPI_COMBINER_VECTOR, vec![count, blocklength, stride], vec![], oldtype);
    let stride = place(stride, oldtype.datatype.extent())?;
    let made = strided(count, blocklength, stride, oldtype, origin)?;
    deliver(call, made, newtype)
}

pub(crate) fn mpi_type_create_hvector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = origin(call, MPI_COMBINER_HVECTOR, vec![count, blocklength], vec![stride], oldtype);
    deliver(call, strided(count, blocklength, stride, oldtype, origin)?, newtype)
}

/// Blocks at displacements that count units of `unit` bytes.
fn indexed(
    lengths: impl Iterator<Item = i64>,
    places: Numbers,
    unit: i64,
    oldtype: &Type,
    origin: Origin,
) -> Outcome<Type> {
    let part = |(copies, at)| Ok(Part { at: place(at, unit)?, copies, of: oldtype });
    let parts: Vec<_> = lengths.zip(places.iter()).map(part).collect::<Outcome<_>>()?;
    compose(&parts, false, origin)
}

pub(crate) fn mpi_type_indexed(
    call: &Call,
    count: i64,
    array_of_blocklengths: Numbers,
    array_of_displacements: Numbers,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let integers =
        std::iter::once(count).chain(array_of_blocklengths.iter()).chain(array_of_displacements.iter());
    let origin = origin(call, MPI_COMBINER_INDEXED, integers.collect(), vec![], oldtype);
    let unit = oldtype.datatype.extent();
    let made = indexed(array_of_blocklengths.iter(), array_of_displacements, unit, oldtype, origin)?;
    deliver(call, made, newtype)
}

pub(crate) fn mpi_type_create_hindexed(
    call: &Call,
    count: i64,
    array_of_blocklengths: Numbers,
    array_of_displacements: Numbers,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let integers = std::iter::once(count).chain(array_of_blocklengths.iter()).collect();
    let origin =
        origin(call, MPI_COMBINER_HINDEXED, integers, array_of_displacements.iter().collect(), oldtype);
    deliver(call, indexed(array_of_blocklengths.iter(), array_of_displacements, 1, oldtype, origin)?, newtype)
}

pub(crate) fn mpi_type_create_indexed_block(
    call: &Call,
    count: i64,
    blocklength: i64,
    array_of_displacements: Numbers,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let integers = [count, blocklength].into_iter().chain(array_of_displacements.iter()).collect();
    let origin = origin(call, MPI_COMBINER_INDEXED_BLOCK, integers, vec![], oldtype);
    let unit = oldtype.datatype.extent();
    let lengths = std::iter::repeat(blocklength);
    deliver(call, indexed(lengths, array_of_displacements, unit, oldtype, origin)?, newtype)
}

pub(crate) fn mpi_type_create_hindexed_block(
    call: &Call,
    count: i64,
    blocklength: i64,
    array_of_displacements: Numbers,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let places = array_of_displacements.iter().collect();
    let origin = origin(call, MPI_COMBINER_HINDEXED_BLOCK, vec![count, blocklength], places, oldtype);
    let lengths = std::iter::repeat(blocklength);
    deliver(call, indexed(lengths, array_of_displacements, 1, oldtype, origin)?, newtype)
}

pub(crate) fn mpi_type_create_struct(
    call: &Call,
    count: i64,
    array_of_blocklengths: Numbers,
    array_of_displacements: Numbers,
    array_of_types: &[MPI_Datatype],
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    if array_of_types.iter().any(|handle| [LOWER_MARK, UPPER_MARK].contains(handle)) {
        let places = array_of_displacements;
        return marked(call, array_of_blocklengths, places, array_of_types, newtype);
    }
    let types: Vec<(MPI_Datatype, Rc<Type>)> = array_of_types
        .iter()
        .map(|handle| Ok((*handle, call.datatype("array_of_types", *handle)?)))
        .collect::<Outcome<_>>()?;
    let lengths = array_of_blocklengths.iter().zip(array_of_displacements.iter());
    let parts: Vec<_> = lengths.zip(&types).map(|((copies, at), (_, of))| Part { at, copies, of }).collect();
    let origin = Origin {
        combiner: MPI_COMBINER_STRUCT,
        integers: std::iter::once(count).chain(array_of_blocklengths.iter()).collect(),
        addresses: array_of_displacements.iter().collect(),
        types: types.clone(),
        ..Origin::default()
    };
    let origin = told(call, origin);
    deliver(call, compose(&parts, true, origin)?, newtype)
}

/// MPI_LB and MPI_UB of `mpi_legacy.h`.
const LOWER_MARK: MPI_Datatype = MPI_Datatype(MPI_DATATYPE_NULL.0 + 0xfe);
const UPPER_MARK: MPI_Datatype = MPI_Datatype(MPI_DATATYPE_NULL.0 + 0xff);

/// A structure whose bounds are marked, as MPI-1 did it: the structure without the marks, resized. The bound that has no mark is the
/// natural one.
fn marked(
    call: &Call,
    lengths: Numbers,
    places: Numbers,
    types: &[MPI_Datatype],
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let (mut lower, mut upper) = (None::<i64>, None::<i64>);
    let mut kept = Vec::new();
    for ((copies, at), handle) in lengths.iter().zip(places.iter()).zip(types) {
        match *handle {
            LOWER_MARK => lower = Some(lower.map_or(at, |lower| lower.min(at))),
            UPPER_MARK => upper = Some(upper.map_or(at, |upper| upper.max(at))),
            handle => kept.push((copies, at, handle, call.datatype("array_of_types", handle)?)),
        }
    }
    let parts: Vec<_> =
        kept.iter().map(|(copies, at, _, of)| Part { at: *at, copies: *copies, of }).collect();
    let lengths = kept.iter().map(|(copies, ..)| *copies);
    let origin = Origin {
        combiner: MPI_COMBINER_STRUCT,
        integers: std::iter::once(kept.len() as i64).chain(lengths).collect(),
        addresses: kept.iter().map(|(_, at, ..)| *at).collect(),
        types: kept.iter().map(|(_, _, handle, of)| (*handle, Rc::clone(of))).collect(),
        ..Origin::default()
    };
    let inner = compose(&parts, true, told(call, origin))?;
    let layout = inner.datatype.layout();
    let lower = lower.unwrap_or(layout.lower_bound());
    let upper = upper.unwrap_or(layout.lower_bound() + layout.extent());
    let extent = upper.checked_sub(lower).ok_or_else(too_large)?;
    // The structure itself is known to nobody but the resized type, which takes its parts over when it is freed.
    let handle = call.state.types.insert(inner);
    let made = mpi_type_create_resized(call, &call.datatype("newtype", handle)?, lower, extent, newtype);
    drop(call.state.types.remove(handle));
    made
}

pub(crate) fn mpi_type_create_resized(
    call: &Call,
    oldtype: &Rc<Type>,
    lb: i64,
    extent: i64,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let old = &oldtype.datatype;
    let layout = Layout::new(old.layout().blocks().iter().copied(), lb, extent);
    let bounds = Bounds { explicit: true, ..oldtype.bounds };
    let origin = origin(call, MPI_COMBINER_RESIZED, vec![], vec![lb, extent], oldtype);
    let signature = Rc::clone(&oldtype.signature);
    deliver(call, Type::derived(Datatype::derived(layout, old.element()), bounds, signature, origin), newtype)
}

pub(crate) fn mpi_type_create_subarray(
    call: &Call,
    ndims: usize,
    array_of_sizes: Numbers,
    array_of_subsizes: Numbers,
    array_of_starts: Numbers,
    order: c_int,
    oldtype: &Rc<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    if ndims == 0 {
        return Err(Fault::new(MPI_ERR_ARG, "ndims is 0, expected one or more"));
    }
    // From the dimension that varies fastest to the slowest.
    let dimensions: Vec<usize> = match order {
        MPI_ORDER_C => (0..ndims).rev().collect(),
        MPI_ORDER_FORTRAN => (0..ndims).collect(),
        _ => {
            let text = format_args!("order is {order}, expected MPI_ORDER_C or MPI_ORDER_FORTRAN");
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
    };
    let unit = oldtype.datatype.extent();
    let (mut places, mut step) = (vec![0], unit);
    for &dimension in &dimensions {
        let (size, part, start) =
            (array_of_sizes.get(dimension), array_of_subsizes.get(dimension), array_of_starts.get(dimension));
        if size < 1 || part < 1 || part > size || start < 0 || start > size - part {
            let text = format_args!(
                "dimension {dimension} has size {size}, subsize {part} and start {start}, expected a part"
            );
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
        let next = place(size, step)?;
        if dimension == dimensions[0] {
            // A row is one block.
            places = vec![start * step];
        } else {
            let rows = (start..start + part).map(|row| row * step);
            places = rows.flat_map(|row| places.iter().map(move |place| row + place)).collect();
        }
        step = next;
    }
    let row = array_of_subsizes.get(dimensions[0]);
    let parts: Vec<_> = places.iter().map(|at| Part { at: *at, copies: row, of: oldtype }).collect();
    let arrays = [array_of_sizes, array_of_subsizes, array_of_starts];
    let numbers: Vec<i64> = arrays.iter().flat_map(|array| array.iter()).collect();
    let (ndims, order) = (ndims as i64, i64::from(order));
    let types = vec![(oldtype.handle(), Rc::clone(oldtype))];
    // Of the large form, the number of dimensions and the order stay integers.
    let (integers, large_counts) = if is_large(call) {
        (vec![ndims, order], numbers)
    } else {
        ([&[ndims], &*numbers, &[order]].concat(), vec![])
    };
    let addresses = vec![];
    let origin = Origin { combiner: MPI_COMBINER_SUBARRAY, integers, addresses, large_counts, types };
    let inner = compose(&parts, false, origin.clone())?;
    // Its extent is that of the whole array.
    let layout = Layout::new(inner.datatype.layout().blocks().iter().copied(), 0, step);
    let bounds = Bounds { explicit: true, ..inner.bounds };
    let datatype = Datatype::derived(layout, inner.datatype.element());
    deliver(call, Type::derived(datatype, bounds, inner.signature, origin), newtype)
}
