//! Datatypes: what the elements of a buffer are and where their bytes lie (MPI chapter 5).
//!
//! A [`Datatype`] is a cheap handle on an immutable description in two forms: a [type map](TypeMap) of basic elements, kept as the
//! constructors built it, and a [layout](Layout) of bytes, in which what was built is as few loops as will do. Sizes and displacements are 64
//! bits everywhere; constructors answer nothing if a type would reach beyond them.
//!
//! `basic` has the types that others are made of, `construct` and `distribute` the constructors, `nest` the loops, `external` the representation that
//! all machines understand.

mod basic;
mod construct;
mod distribute;
pub(crate) mod external;
mod layout;
mod map;
mod nest;
#[cfg(test)]
mod tests;

use alloc::sync::Arc;

use crate::values::shared::Counted;

pub use basic::Basic;
pub use construct::Member;
pub use distribute::{Dimension, Distribution, Portion};
pub use layout::{Block, Layout};
pub use map::TypeMap;
pub(crate) use nest::{Piece, Runs};

/// A datatype: basic elements, and where their bytes lie.
#[derive(Clone, Debug)]
pub struct Datatype(Counted<Description>);

#[derive(Debug)]
struct Description {
    layout: Layout,
    map: Arc<TypeMap>,
    /// The basic type of all elements, if there is one.
    element: Option<Basic>,
    /// The strictest alignment of its basic types, to which structures are padded.
    alignment: u64,
    /// Its bounds were set by [`Datatype::resized`], here or in a part: such bounds win over the natural ones (MPI section 5.1.7).
    explicit: bool,
    predefined: bool,
}

impl Datatype {
    /// The predefined type of one basic element.
    pub fn basic(basic: Basic) -> Datatype {
        Datatype(Counted::new(Description {
            layout: basic.layout(),
            map: TypeMap::basic(basic),
            element: Some(basic),
            alignment: basic.alignment(),
            explicit: false,
            predefined: true,
        }))
    }

    /// It is never freed: for types that the whole process uses, in all lanes at once.
    pub fn kept(self) -> Datatype {
        Datatype(self.0.kept())
    }

    /// True if it is never freed.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_kept()
    }

    /// A type with an arbitrary layout, for data that is moved and never looked at: to its type map it is bytes.
    pub fn derived(layout: Layout, element: Option<Basic>) -> Datatype {
        let bytes = map::Part::new(&TypeMap::basic(Basic::Byte), 0, layout.size(), 1);
        let map = TypeMap::of_parts(alloc::vec![bytes]);
        Datatype(Counted::new(Description {
            layout,
            map,
            element,
            alignment: 1,
            explicit: false,
            predefined: false,
        }))
    }

    /// Bytes of data of one element (MPI_Type_size).
    #[inline]
    pub fn size(&self) -> u64 {
        self.0.layout.size()
    }

    /// Bytes from one element to the next (MPI_Type_get_extent).
    #[inline]
    pub fn extent(&self) -> i64 {
        self.0.layout.extent()
    }

    /// Where the bytes lie.
    #[inline]
    pub fn layout(&self) -> &Layout {
        &self.0.layout
    }

    /// Which basic elements it has.
    pub fn map(&self) -> &TypeMap {
        &self.0.map
    }

    /// The basic type of all elements, if there is one.
    pub fn element(&self) -> Option<Basic> {
        self.0.element
    }

    /// True for the types that exist from the start.
    pub fn is_predefined(&self) -> bool {
        self.0.predefined
    }

    /// True if both are the same type object.
    pub fn same(&self, other: &Datatype) -> bool {
        self.0.is(&other.0)
    }
}
