//! A table by node that grows with those who are talked to.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::Node;

/// What is known of peers, by node. Nothing is kept of a peer before it is first asked for, whatever its number and however many nodes the job has or
/// will have; then a page of [`PAGE`] entries, for neighbours are often peers, too.
#[derive(Debug)]
pub struct PeerTable<T> {
    pages: Vec<Option<Box<[Option<T>; PAGE]>>>,
}

/// Entries of a page.
const PAGE: usize = 64;

impl<T> Default for PeerTable<T> {
    fn default() -> PeerTable<T> {
        PeerTable { pages: Vec::new() }
    }
}

impl<T> PeerTable<T> {
    /// What is known of `node`.
    #[inline(always)]
    pub fn get(&self, node: Node) -> Option<&T> {
        let (page, entry) = place(node);
        self.pages.get(page)?.as_ref()?[entry].as_ref()
    }

    /// The same, to change.
    #[inline(always)]
    pub fn get_mut(&mut self, node: Node) -> Option<&mut T> {
        let (page, entry) = place(node);
        self.pages.get_mut(page)?.as_mut()?[entry].as_mut()
    }

    /// What is known of `node`; at first what `first` says. A few instructions, and in the way of every message: always inlined, but for the first time.
    #[inline(always)]
    pub fn at(&mut self, node: Node, first: impl FnOnce() -> T) -> &mut T {
        if self.get(node).is_some() {
            return self.get_mut(node).expect("it was just seen");
        }
        self.insert(node, first)
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, node: Node, first: impl FnOnce() -> T) -> &mut T {
        let (page, entry) = place(node);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let page = self.pages[page].get_or_insert_with(|| Box::new([const { None }; PAGE]));
        page[entry].insert(first())
    }
}

#[inline]
fn place(node: Node) -> (usize, usize) {
    (node.0 as usize / PAGE, node.0 as usize % PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_made_when_they_are_first_asked_for_and_kept() {
        let mut table = PeerTable::default();
        for node in [0, 63, 64, 9999, 1_000_000] {
            assert_eq!(table.get(Node(node)), None);
            *table.at(Node(node), || node) += 1;
            assert_eq!(table.at(Node(node), || unreachable!()), &(node + 1));
            assert_eq!(table.get(Node(node)), Some(&(node + 1)));
            assert_eq!(table.get_mut(Node(node)), Some(&mut (node + 1)));
        }
        assert_eq!(table.get(Node(1)), None, "a neighbour that nobody asked for");
        assert_eq!(table.pages.iter().flatten().count(), 4);
    }
}
