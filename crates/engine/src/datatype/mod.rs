//! Datatypes: what the elements of a buffer are and where their bytes lie (MPI chapter 5).
//!
//! A [`Datatype`] is a cheap handle on an immutable description. Sizes and displacements are 64 bits everywhere.

mod basic;
mod layout;

use alloc::rc::Rc;

pub use basic::Basic;
pub use layout::{Block, Layout};

/// A datatype: a layout in memory, and the basic type of its elements where they are all of one kind.
#[derive(Clone, Debug)]
pub struct Datatype(Rc<Description>);

#[derive(Debug)]
struct Description {
    layout: Layout,
    element: Option<Basic>,
    predefined: bool,
}

impl Datatype {
    /// The predefined type of one basic element.
    pub fn basic(basic: Basic) -> Datatype {
        Datatype(Rc::new(Description { layout: basic.layout(), element: Some(basic), predefined: true }))
    }

    /// `count` copies one after the other (MPI_Type_contiguous).
    pub fn contiguous(count: u64, of: &Datatype) -> Datatype {
        Datatype::derived(of.layout().repeated(count), of.element())
    }

    /// A type with an arbitrary layout. `element` is the basic type if every element is of that type.
    pub fn derived(layout: Layout, element: Option<Basic>) -> Datatype {
        Datatype(Rc::new(Description { layout, element, predefined: false }))
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
        Rc::ptr_eq(&self.0, &other.0)
    }
}
