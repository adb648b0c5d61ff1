//! Constructors of datatypes (MPI section 5.1.2). All of them place copies of existing types at byte offsets; they differ in how the
//! places are given.
//!
//! Nothing is spelled out: a constructor takes as many steps as it has arguments, not as the type has elements. Invariant: a type's bounds, its
//! true bounds, its size and the distances between them are numbers of 63 bits, which is checked here and nowhere else.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::map::Part;
use super::nest::Nest;
use super::{Basic, Datatype, Description, Layout, TypeMap};
use crate::values::shared::Counted;

/// Some copies of a type, one extent after the other, at an offset.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Bytes.
    pub at: i64,
    /// Elements.
    pub copies: u64,
    /// Their type.
    pub of: &'a Datatype,
}

/// From where to where something reaches, as far as it has been put together.
#[derive(Clone, Copy)]
struct Hull {
    low: i64,
    high: i64,
}

impl Hull {
    /// Of copies of something that reaches from `low` to `high`.
    fn of_copies(at: i64, copies: u64, stride: i64, (low, high): (i64, i64)) -> Option<Hull> {
        let last = at.checked_add(i64::try_from(copies - 1).ok()?.checked_mul(stride)?)?;
        let hull = Hull { low: at.min(last).checked_add(low)?, high: at.max(last).checked_add(high)? };
        // The distance is a number, too.
        hull.high.checked_sub(hull.low)?;
        Some(hull)
    }

    fn join(self, other: Option<Hull>) -> Option<Hull> {
        let Some(other) = other else { return Some(self) };
        let hull = Hull { low: self.low.min(other.low), high: self.high.max(other.high) };
        hull.high.checked_sub(hull.low)?;
        Some(hull)
    }
}

/// Where the bounds of one element lie.
fn bounds(datatype: &Datatype) -> (i64, i64) {
    let layout = datatype.layout();
    (layout.lower_bound(), layout.lower_bound() + layout.extent())
}

/// Where the data of one element lies.
fn true_bounds(datatype: &Datatype) -> (i64, i64) {
    (datatype.layout().true_lower_bound(), datatype.layout().true_upper_bound())
}

impl Datatype {
    /// `count` copies one after the other (MPI_Type_contiguous).
    pub fn contiguous(count: u64, of: &Datatype) -> Option<Datatype> {
        Datatype::strided(1, count, 0, of)
    }

    /// `count` blocks of `length` copies, `stride` bytes apart (MPI_Type_create_hvector).
    #[inline(never)]
    pub fn strided(count: u64, length: u64, stride: i64, of: &Datatype) -> Option<Datatype> {
        if count == 0 || length == 0 {
            return Some(Datatype::nothing());
        }
        let hull = |one| {
            let block = Hull::of_copies(0, length, of.extent(), one)?;
            Hull::of_copies(0, count, stride, (block.low, block.high))
        };
        let (all, _) = (hull(bounds(of))?, hull(true_bounds(of))?);
        i64::try_from(of.size()).ok()?.checked_mul(i64::try_from(count.checked_mul(length)?).ok()?)?;
        let nest = of.layout().nest().clone().repeated(length, of.extent()).repeated(count, stride);
        let block = TypeMap::of_parts(alloc::vec![Part::new(&of.0.map, 0, length, of.extent())]);
        let map = TypeMap::of_parts(alloc::vec![Part::new(&block, 0, count, stride)]);
        Some(of.like(Layout::of(nest, all.low, all.high - all.low), map, of.0.explicit))
    }

    /// Blocks of copies of one type at offsets in bytes, given as (offset, copies) (MPI_Type_create_hindexed).
    pub fn indexed(blocks: &[(i64, u64)], of: &Datatype) -> Option<Datatype> {
        let members: Vec<Member<'_>> = blocks.iter().map(|&(at, copies)| Member { at, copies, of }).collect();
        Datatype::composed(&members, false)
    }

    /// Blocks of several types, padded at the end as a C compiler does (MPI_Type_create_struct).
    pub fn structure(members: &[Member<'_>]) -> Option<Datatype> {
        Datatype::composed(members, true)
    }

    /// Blocks of several types, without padding.
    pub(super) fn sequence(members: &[Member<'_>]) -> Option<Datatype> {
        Datatype::composed(members, false)
    }

    /// The same data with other bounds (MPI_Type_create_resized).
    pub fn resized(&self, lower_bound: i64, extent: i64) -> Option<Datatype> {
        lower_bound.checked_add(extent)?;
        let layout = Layout::of(self.layout().nest().clone(), lower_bound, extent);
        Some(self.like(layout, Arc::clone(&self.0.map), true))
    }

    /// Another type that is the same in everything but that the program made it (MPI_Type_dup).
    pub fn duplicate(&self) -> Datatype {
        self.like(self.layout().clone(), Arc::clone(&self.0.map), self.0.explicit)
    }

    /// The same data, seen from `by` bytes further back.
    pub fn moved(&self, by: i64) -> Option<Datatype> {
        let (low, high) = true_bounds(self);
        let layout = self.layout();
        let lower = layout.lower_bound().checked_add(by)?;
        low.checked_add(by)?;
        high.checked_add(by)?;
        lower.checked_add(layout.extent())?;
        let nest = layout.nest().clone().moved(by);
        let map = TypeMap::of_parts(alloc::vec![Part::new(&self.0.map, by, 1, 0)]);
        Some(self.like(Layout::of(nest, lower, layout.extent()), map, self.0.explicit))
    }

    /// A type without data.
    fn nothing() -> Datatype {
        let layout = Layout::of(Nest::empty(), 0, 0);
        Datatype(Counted::new(Description {
            layout,
            map: TypeMap::of_parts(Vec::new()),
            element: None,
            alignment: 1,
            explicit: false,
            predefined: false,
        }))
    }

    fn like(&self, layout: Layout, map: Arc<TypeMap>, explicit: bool) -> Datatype {
        let Description { element, alignment, .. } = *self.0;
        Datatype(Counted::new(Description { layout, map, element, alignment, explicit, predefined: false }))
    }

    /// Members one after the other. `padded`: the natural extent is rounded up to the strictest alignment.
    #[inline(never)]
    fn composed(members: &[Member<'_>], padded: bool) -> Option<Datatype> {
        let members: Vec<Member<'_>> = members.iter().filter(|member| member.copies > 0).copied().collect();
        let Some(first) = members.first() else { return Some(Datatype::nothing()) };
        let explicit = members.iter().any(|member| member.of.0.explicit);
        let alignment = members.iter().map(|member| member.of.0.alignment).max().unwrap_or(1);
        let (mut hull, mut data, mut size): (Option<Hull>, Option<Hull>, i64) = (None, None, 0);
        for &Member { at, copies, of } in &members {
            let reach = |one| Hull::of_copies(at, copies, of.extent(), one);
            data = Some(reach(true_bounds(of))?.join(data)?);
            let bytes = i64::try_from(of.size()).ok()?.checked_mul(i64::try_from(copies).ok()?)?;
            size = size.checked_add(bytes)?;
            let outer = reach(bounds(of))?;
            if of.0.explicit || !explicit {
                hull = Some(outer.join(hull)?);
            }
        }
        let Hull { low, high } = hull?;
        let mut extent = high - low;
        if padded && !explicit {
            extent = i64::try_from((extent as u64).checked_next_multiple_of(alignment)?).ok()?;
            low.checked_add(extent)?;
        }
        let place = |&Member { at, copies, of }: &Member<'_>| {
            of.layout().nest().clone().repeated(copies, of.extent()).moved(at)
        };
        let nest = Nest::sequence(members.iter().map(place).collect());
        let parts =
            members.iter().map(|&Member { at, copies, of }| Part::new(&of.0.map, at, copies, of.extent()));
        let element: Option<Basic> = first.of.element();
        let element =
            element.filter(|basic| members.iter().all(|member| member.of.element() == Some(*basic)));
        Some(Datatype(Counted::new(Description {
            layout: Layout::of(nest, low, extent),
            map: TypeMap::of_parts(parts.collect()),
            element,
            alignment,
            explicit,
            predefined: false,
        })))
    }
}
