//! One block of elements for each rank, of different lengths.

use std::ops::Index;

/// One block of elements for each rank, of different lengths, one after the other in memory: what the collectives with a `v`
/// take and give.
///
/// ```
/// use corelace::Blocks;
///
/// let blocks = Blocks::from_iter([vec![1, 2, 3], vec![], vec![4]]);
/// assert_eq!(blocks.len(), 3);
/// assert_eq!(blocks[0], [1, 2, 3]);
/// assert_eq!(blocks.counts(), [3, 0, 1]);
/// assert_eq!(blocks.into_flat(), [1, 2, 3, 4]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks<T> {
    items: Vec<T>,
    counts: Vec<usize>,
    starts: Vec<usize>,
}

impl<T> Blocks<T> {
    /// Blocks of these many elements each, whose sum is the number of `items`.
    pub(crate) fn new(items: Vec<T>, counts: Vec<usize>) -> Blocks<T> {
        debug_assert_eq!(items.len(), counts.iter().sum::<usize>());
        let starts = counts.iter().scan(0, |start, count| Some(std::mem::replace(start, *start + count)));
        Blocks { items, starts: starts.collect(), counts }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// True if there is no block at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The lengths of the blocks.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// All elements, block after block.
    pub fn flat(&self) -> &[T] {
        &self.items
    }

    /// All elements, block after block, as a vector.
    pub fn into_flat(self) -> Vec<T> {
        self.items
    }

    /// The block of a rank, if there is one.
    pub fn get(&self, rank: usize) -> Option<&[T]> {
        let start = *self.starts.get(rank)?;
        self.items.get(start..start + self.counts[rank])
    }

    /// The blocks in the order of ranks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> + '_ {
        (0..self.len()).map(|rank| &self[rank])
    }
}

impl<T> Index<usize> for Blocks<T> {
    type Output = [T];

    fn index(&self, rank: usize) -> &[T] {
        let blocks = self.len();
        self.get(rank).unwrap_or_else(|| panic!("block {rank} of {blocks} blocks"))
    }
}

impl<T, B: IntoIterator<Item = T>> FromIterator<B> for Blocks<T> {
    fn from_iter<I: IntoIterator<Item = B>>(blocks: I) -> Blocks<T> {
        let mut items = Vec::new();
        let counts = blocks
            .into_iter()
            .map(|block| {
                let before = items.len();
                items.extend(block);
                items.len() - before
            })
            .collect();
        Blocks::new(items, counts)
    }
}
