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
use crate::handles::{Bounds, Origin, Type};

/// Some copies of a type, one extent after the other, from a displacement on.
struct Part<'a> {
    at: i64,
    copies: i64,
    of: &'a Type,
}

impl Part<'_> {
    /// Where the copies begin and end by the bounds of their type.
    fn bounds(&self) -> (i64, i64) {
        let (lower, extent) = (self.of.datatype.layout().lower_bound(), self.of.datatype.extent());
        let last = self.at + (self.copies - 1) * extent;
        (self.at.min(last) + lower, self.at.max(last) + lower + extent)
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
fn compose(parts: &[Part<'_>], padded: bool, origin: Origin) -> Type {
    let filled: Vec<&Part<'_>> = parts.iter().filter(|part| part.copies > 0).collect();
    let explicit = filled.iter().any(|part| part.of.bounds.explicit);
    let alignment = filled.iter().map(|part| part.of.bounds.alignment).max().unwrap_or(1);
    let bounds = filled.iter().filter(|part| part.of.bounds.explicit || !explicit).map(|part| part.bounds());
    let (lower, mut upper) =
        bounds.reduce(|left, right| (left.0.min(right.0), left.1.max(right.1))).unwrap_or((0, 0));
    if padded && !explicit {
        upper = lower + ((upper - lower) as u64).next_multiple_of(alignment) as i64;
    }
    let first = filled.first().and_then(|part| part.of.datatype.element());
    let element = first.filter(|basic| filled.iter().all(|part| part.of.datatype.element() == Some(*basic)));
    let layout = Layout::new(filled.iter().flat_map(|part| part.blocks()), lower, upper - lower);
    Type::derived(Datatype::derived(layout, element), Bounds { alignment, explicit }, origin)
}

/// What the program told the constructor, for MPI_Type_get_contents.
fn origin(combiner: c_int, integers: Vec<i64>, addresses: Vec<i64>, oldtype: &Rc<Type>) -> Origin {
    Origin { combiner, integers, addresses, types: vec![(oldtype.handle(), Rc::clone(oldtype))] }
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
        compose(&parts, false, origin(MPI_COMBINER_CONTIGUOUS, vec![count], vec![], oldtype)),
        newtype,
    )
}

/// `count` blocks, `stride` bytes apart.
fn strided(count: i64, blocklength: i64, stride: i64, oldtype: &Type, origin: Origin) -> Type {
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
    let origin = origin(MPI_COMBINER_VECTOR, vec![count, blocklength, stride], vec![], oldtype);
    let made = strided(count, blocklength, stride * oldtype.datatype.extent(), oldtype, origin);
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
    let origin = origin(MPI_COMBINER_HVECTOR, vec![count, blocklength], vec![stride], oldtype);
    deliver(call, strided(count, blocklength, stride, oldtype, origin), newtype)
}

/// Blocks at displacements that count units of `unit` bytes.
fn indexed(
    lengths: impl Iterator<Item = i64>,
    places: Numbers,
    unit: i64,
    oldtype: &Type,
    origin: Origin,
) -> Type {
    let parts: Vec<_> =
        lengths.zip(places.iter()).map(|(copies, at)| Part { at: at * unit, copies, of: oldtype }).collect();
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
    let origin = origin(MPI_COMBINER_INDEXED, integers.collect(), vec![], oldtype);
    let unit = oldtype.datatype.extent();
    let made = indexed(array_of_blocklengths.iter(), array_of_displacements, unit, oldtype, origin);
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
    let origin = origin(MPI_COMBINER_HINDEXED, integers, array_of_displacements.iter().collect(), oldtype);
    deliver(call, indexed(array_of_blocklengths.iter(), array_of_displacements, 1, oldtype, origin), newtype)
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
    let origin = origin(MPI_COMBINER_INDEXED_BLOCK, integers, vec![], oldtype);
    let unit = oldtype.datatype.extent();
    let lengths = std::iter::repeat(blocklength);
    deliver(call, indexed(lengths, array_of_displacements, unit, oldtype, origin), newtype)
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
    let origin = origin(MPI_COMBINER_HINDEXED_BLOCK, vec![count, blocklength], places, oldtype);
    let lengths = std::iter::repeat(blocklength);
    deliver(call, indexed(lengths, array_of_displacements, 1, oldtype, origin), newtype)
}

pub(crate) fn mpi_type_create_struct(
    call: &Call,
    count: i64,
    array_of_blocklengths: Numbers,
    array_of_displacements: Numbers,
    array_of_types: &[MPI_Datatype],
    newtype: Out<MPI_Datatype>,
) -> Outcome {
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
    };
    deliver(call, compose(&parts, true, origin), newtype)
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
    let origin = origin(MPI_COMBINER_RESIZED, vec![], vec![lb, extent], oldtype);
    deliver(call, Type::derived(Datatype::derived(layout, old.element()), bounds, origin), newtype)
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
        if size < 1 || part < 1 || part > size || start > size - part {
            let text = format_args!(
                "dimension {dimension} has size {size}, subsize {part} and start {start}, expected a part"
            );
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
        if dimension == dimensions[0] {
            // A row is one block.
            places = vec![start * step];
        } else {
            let rows = (start..start + part).map(|row| row * step);
            places = rows.flat_map(|row| places.iter().map(move |place| row + place)).collect();
        }
        step *= size;
    }
    let row = array_of_subsizes.get(dimensions[0]);
    let parts: Vec<_> = places.iter().map(|at| Part { at: *at, copies: row, of: oldtype }).collect();
    let arrays = [array_of_sizes, array_of_subsizes, array_of_starts];
    let mut integers = vec![ndims as i64];
    integers.extend(arrays.iter().flat_map(|array| array.iter()));
    integers.push(i64::from(order));
    let origin = origin(MPI_COMBINER_SUBARRAY, integers, vec![], oldtype);
    let inner = compose(&parts, false, origin.clone());
    // Its extent is that of the whole array.
    let layout = Layout::new(inner.datatype.layout().blocks().iter().copied(), 0, step);
    let bounds = Bounds { explicit: true, ..inner.bounds };
    deliver(call, Type::derived(Datatype::derived(layout, inner.datatype.element()), bounds, origin), newtype)
}
