//! Chapter 5: constructors of derived datatypes.
//!
//! All of them place copies of existing types at byte displacements; they differ in how the places are given.

use core::ffi::c_int;

use engine::datatype::{Dimension, Distribution, Member, Portion};
use engine::{Counted, Datatype};

use crate::abi::constants::*;
use crate::abi::types::*;
use crate::call::Call;
use crate::convert::{Numbers, Out, RankArg};
use crate::errors::{Fault, Outcome};
use crate::handles::{LOWER_MARK, Origin, Type, UPPER_MARK};

/// What a constructor has made, unless it reaches too far.
fn made(datatype: Option<Datatype>, origin: Origin) -> Outcome<Type> {
    Ok(Type::derived(datatype.ok_or_else(too_large)?, origin))
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
    oldtype: &Counted<Type>,
) -> Origin {
    let types = vec![(oldtype.handle(), oldtype.clone())];
    told(call, Origin { combiner, integers, addresses, types, ..Origin::default() })
}

/// The form with large counts has all its numbers there, in its order (MPI section 5.1.13).
fn told(call: &Call, mut origin: Origin) -> Origin {
    if call.has_large_counts() {
        origin.large_counts = std::mem::take(&mut origin.integers);
        origin.large_counts.append(&mut origin.addresses);
    }
    origin
}

fn deliver(call: &Call, made: Type, newtype: Out<MPI_Datatype>) -> Outcome {
    newtype.set(call.state.types.insert(made));
    Ok(())
}

pub(crate) fn mpi_type_contiguous(
    call: &Call,
    count: i64,
    oldtype: &Counted<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = origin(call, MPI_COMBINER_CONTIGUOUS, vec![count], vec![], oldtype);
    deliver(call, made(Datatype::contiguous(count as u64, &oldtype.datatype), origin)?, newtype)
}

/// `count` blocks, `stride` bytes apart.
fn strided(count: i64, blocklength: i64, stride: i64, oldtype: &Type, origin: Origin) -> Outcome<Type> {
    made(Datatype::strided(count as u64, blocklength as u64, stride, &oldtype.datatype), origin)
}

pub(crate) fn mpi_type_vector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Counted<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = origin(call, MPI_COMBINER_VECTOR, vec![count, blocklength, stride], vec![], oldtype);
    let stride = place(stride, oldtype.datatype.extent())?;
    deliver(call, strided(count, blocklength, stride, oldtype, origin)?, newtype)
}

pub(crate) fn mpi_type_create_hvector(
    call: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: &Counted<Type>,
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
    let block = |(copies, at): (i64, i64)| Ok((place(at, unit)?, copies as u64));
    let blocks: Vec<(i64, u64)> = lengths.zip(places.iter()).map(block).collect::<Outcome<_>>()?;
    made(Datatype::indexed(&blocks, &oldtype.datatype), origin)
}

pub(crate) fn mpi_type_indexed(
    call: &Call,
    count: i64,
    array_of_blocklengths: Numbers,
    array_of_displacements: Numbers,
    oldtype: &Counted<Type>,
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
    oldtype: &Counted<Type>,
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
    oldtype: &Counted<Type>,
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
    oldtype: &Counted<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let places = array_of_displacements.iter().collect();
    let origin = origin(call, MPI_COMBINER_HINDEXED_BLOCK, vec![count, blocklength], places, oldtype);
    let lengths = std::iter::repeat(blocklength);
    deliver(call, indexed(lengths, array_of_displacements, 1, oldtype, origin)?, newtype)
}

/// A structure of members given as (copies, place, type).
fn structure<'a>(
    members: impl Iterator<Item = (i64, i64, &'a Counted<Type>)>,
    origin: Origin,
) -> Outcome<Type> {
    let member = |(copies, at, of): (i64, i64, &'a Counted<Type>)| Member {
        at,
        copies: copies as u64,
        of: &of.datatype,
    };
    let members: Vec<Member<'_>> = members.map(member).collect();
    made(Datatype::structure(&members), origin)
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
    let types: Vec<(MPI_Datatype, Counted<Type>)> = array_of_types
        .iter()
        .map(|handle| Ok((*handle, call.datatype("array_of_types", *handle)?)))
        .collect::<Outcome<_>>()?;
    let origin = Origin {
        combiner: MPI_COMBINER_STRUCT,
        integers: std::iter::once(count).chain(array_of_blocklengths.iter()).collect(),
        addresses: array_of_displacements.iter().collect(),
        types: types.clone(),
        ..Origin::default()
    };
    let places = array_of_blocklengths.iter().zip(array_of_displacements.iter());
    let members = places.zip(&types).map(|((copies, at), (_, of))| (copies, at, of));
    deliver(call, structure(members, told(call, origin))?, newtype)
}

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
    let lengths = kept.iter().map(|(copies, ..)| *copies);
    let origin = Origin {
        combiner: MPI_COMBINER_STRUCT,
        integers: std::iter::once(kept.len() as i64).chain(lengths).collect(),
        addresses: kept.iter().map(|(_, at, ..)| *at).collect(),
        types: kept.iter().map(|(_, _, handle, of)| (*handle, of.clone())).collect(),
        ..Origin::default()
    };
    let inner = structure(kept.iter().map(|(copies, at, _, of)| (*copies, *at, of)), told(call, origin))?;
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
    oldtype: &Counted<Type>,
    lb: i64,
    extent: i64,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let origin = origin(call, MPI_COMBINER_RESIZED, vec![], vec![lb, extent], oldtype);
    deliver(call, made(oldtype.datatype.resized(lb, extent), origin)?, newtype)
}

/// The dimensions of an array from the one that varies fastest to the slowest.
fn fastest_first(ndims: usize, order: c_int) -> Outcome<Vec<usize>> {
    match order {
        _ if ndims == 0 => Err(Fault::new(MPI_ERR_ARG, "ndims is 0, expected one or more")),
        MPI_ORDER_C => Ok((0..ndims).rev().collect()),
        MPI_ORDER_FORTRAN => Ok((0..ndims).collect()),
        _ => {
            let text = format_args!("order is {order}, expected MPI_ORDER_C or MPI_ORDER_FORTRAN");
            Err(Fault::new(MPI_ERR_ARG, text))
        }
    }
}

pub(crate) fn mpi_type_create_subarray(
    call: &Call,
    ndims: usize,
    array_of_sizes: Numbers,
    array_of_subsizes: Numbers,
    array_of_starts: Numbers,
    order: c_int,
    oldtype: &Counted<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let dimension = |index: usize| {
        let (size, part, start) =
            (array_of_sizes.get(index), array_of_subsizes.get(index), array_of_starts.get(index));
        if size < 1 || part < 1 || part > size || start < 0 || start > size - part {
            let text = format_args!(
                "dimension {index} has size {size}, subsize {part} and start {start}, expected a part"
            );
            return Err(Fault::new(MPI_ERR_ARG, text));
        }
        Ok(Dimension { size: size as u64, part: part as u64, start: start as u64 })
    };
    let dimensions: Vec<Dimension> =
        fastest_first(ndims, order)?.into_iter().map(dimension).collect::<Outcome<_>>()?;
    let arrays = [array_of_sizes, array_of_subsizes, array_of_starts];
    let numbers: Vec<i64> = arrays.iter().flat_map(|array| array.iter()).collect();
    let (ndims, order) = (ndims as i64, i64::from(order));
    let types = vec![(oldtype.handle(), oldtype.clone())];
    // Of the large form, the number of dimensions and the order stay integers.
    let (integers, large_counts) = if call.has_large_counts() {
        (vec![ndims, order], numbers)
    } else {
        ([&[ndims], &*numbers, &[order]].concat(), vec![])
    };
    let addresses = vec![];
    let origin = Origin { combiner: MPI_COMBINER_SUBARRAY, integers, addresses, large_counts, types };
    deliver(call, made(Datatype::subarray(&dimensions, &oldtype.datatype), origin)?, newtype)
}

pub(crate) fn mpi_type_create_darray(
    call: &Call,
    size: c_int,
    rank: RankArg,
    ndims: usize,
    array_of_gsizes: Numbers,
    array_of_distribs: &[c_int],
    array_of_dargs: &[c_int],
    array_of_psizes: &[c_int],
    order: c_int,
    oldtype: &Counted<Type>,
    newtype: Out<MPI_Datatype>,
) -> Outcome {
    let rank = rank.value;
    let wrong = |text: std::fmt::Arguments<'_>| Fault::new(MPI_ERR_ARG, text);
    let grid = array_of_psizes.iter().fold(1_i64, |all, processes| all.saturating_mul(i64::from(*processes)));
    if let Some(index) = array_of_psizes.iter().position(|processes| *processes < 1) {
        return Err(wrong(format_args!(
            "array_of_psizes[{index}] is {}, expected one or more",
            array_of_psizes[index]
        )));
    }
    if grid != i64::from(size) {
        return Err(wrong(format_args!(
            "array_of_psizes has a product of {grid}, expected size, which is {size}"
        )));
    }
    if !(0..size).contains(&rank) {
        return Err(wrong(format_args!("rank is {rank}, expected 0 to {}", size - 1)));
    }
    // Processes are numbered in row-major order, whatever the order of the array (MPI section 5.1.4).
    let mut coordinates = vec![0; ndims];
    let mut left = rank;
    for index in (0..ndims).rev() {
        coordinates[index] = left % array_of_psizes[index];
        left /= array_of_psizes[index];
    }
    let portion = |index: usize| {
        let (elements, processes) = (array_of_gsizes.get(index), i64::from(array_of_psizes[index]));
        let (way, given) = (array_of_distribs[index], i64::from(array_of_dargs[index]));
        if elements < 1 {
            return Err(wrong(format_args!("array_of_gsizes[{index}] is {elements}, expected one or more")));
        }
        let (is_default, is_right) = (given == i64::from(MPI_DISTRIBUTE_DFLT_DARG), given >= 1);
        let block = match way {
            MPI_DISTRIBUTE_NONE if processes != 1 => {
                let text = format_args!(
                    "array_of_psizes[{index}] is {processes}, expected 1 where array_of_distribs has MPI_DISTRIBUTE_NONE"
                );
                return Err(wrong(text));
            }
            MPI_DISTRIBUTE_NONE => elements,
            MPI_DISTRIBUTE_BLOCK if is_default => (elements - 1) / processes + 1,
            MPI_DISTRIBUTE_CYCLIC if is_default => 1,
            MPI_DISTRIBUTE_BLOCK | MPI_DISTRIBUTE_CYCLIC if !is_right => {
                let text = format_args!(
                    "array_of_dargs[{index}] is {given}, expected one or more, or MPI_DISTRIBUTE_DFLT_DARG"
                );
                return Err(wrong(text));
            }
            MPI_DISTRIBUTE_BLOCK if given.saturating_mul(processes) < elements => {
                let text = format_args!(
                    "array_of_dargs[{index}] is {given}, expected blocks that hold {elements} elements on {processes} processes"
                );
                return Err(wrong(text));
            }
            MPI_DISTRIBUTE_BLOCK | MPI_DISTRIBUTE_CYCLIC => given,
            _ => {
                let text = format_args!(
                    "array_of_distribs[{index}] is {way}, expected MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE"
                );
                return Err(wrong(text));
            }
        } as u64;
        let is_cyclic = way == MPI_DISTRIBUTE_CYCLIC;
        Ok(Portion {
            size: elements as u64,
            processes: processes as u64,
            coordinate: coordinates[index] as u64,
            distribution: if is_cyclic { Distribution::Cyclic(block) } else { Distribution::Block(block) },
        })
    };
    let dimensions: Vec<Portion> =
        fastest_first(ndims, order)?.into_iter().map(portion).collect::<Outcome<_>>()?;
    let head = [i64::from(size), i64::from(rank), ndims as i64];
    let sizes: Vec<i64> = array_of_gsizes.iter().collect();
    let ways = [array_of_distribs, array_of_dargs, array_of_psizes].concat();
    let ways: Vec<i64> = ways.into_iter().map(i64::from).chain([i64::from(order)]).collect();
    // Of the large form, only the sizes of the array are large.
    let (integers, large_counts) = if call.has_large_counts() {
        ([&head[..], &ways].concat(), sizes)
    } else {
        ([&head[..], &sizes, &ways].concat(), vec![])
    };
    let types = vec![(oldtype.handle(), oldtype.clone())];
    let origin = Origin { combiner: MPI_COMBINER_DARRAY, integers, addresses: vec![], large_counts, types };
    deliver(call, made(Datatype::darray(&dimensions, &oldtype.datatype), origin)?, newtype)
}
