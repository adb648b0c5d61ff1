//! What checks remember of handles, requests and communicators: a map whose keys are two words.
//!
//! There is one index for all of them, whatever they remember: the standard library's map would be compiled anew for each.
//!
//! Invariant: the index says of each entry's key, and of no other, where in the list the entry is.

use std::collections::HashMap;

/// Entries by their keys, in no order.
pub(super) struct Book<K, V> {
    index: Index,
    entries: Vec<(K, V)>,
}

/// What entries are called by.
pub(super) trait Key: Copy {
    /// Two keys have the same words only if they are the same.
    fn words(self) -> Words;
}

pub(super) type Words = (u64, u64);

impl Key for u64 {
    fn words(self) -> Words {
        (self, 0)
    }
}

impl Key for u32 {
    fn words(self) -> Words {
        (self.into(), 0)
    }
}

impl Key for (u32, u32) {
    fn words(self) -> Words {
        (self.0.into(), self.1.into())
    }
}

impl<K, V> Default for Book<K, V> {
    fn default() -> Self {
        Book { index: Index::default(), entries: Vec::new() }
    }
}

impl<K: Key, V> Book<K, V> {
    pub(super) fn get(&self, key: K) -> Option<&V> {
        Some(&self.entries[self.index.find(key.words())?].1)
    }

    pub(super) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        Some(&mut self.entries[self.index.find(key.words())?].1)
    }

    /// The entry of a key, at first what `first` makes.
    pub(super) fn get_or_insert_with(&mut self, key: K, first: impl FnOnce() -> V) -> &mut V {
        let at = self.index.find(key.words()).unwrap_or_else(|| {
            self.index.set(key.words(), self.entries.len());
            self.entries.push((key, first()));
            self.entries.len() - 1
        });
        &mut self.entries[at].1
    }

    /// Takes the place of an entry with the same key.
    pub(super) fn insert(&mut self, key: K, value: V) {
        match self.get_mut(key) {
            Some(known) => *known = value,
            None => {
                self.get_or_insert_with(key, || value);
            }
        }
    }

    pub(super) fn remove(&mut self, key: K) {
        let Some(at) = self.index.take(key.words()) else { return };
        self.entries.swap_remove(at);
        if let Some((moved, _)) = self.entries.get(at) {
            self.index.set(moved.words(), at);
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (K, V)> {
        self.entries.iter_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.entries.iter()
    }
}

#[derive(Default)]
struct Index(HashMap<Words, usize>);

impl Index {
    #[inline(never)]
    fn find(&self, key: Words) -> Option<usize> {
        self.0.get(&key).copied()
    }

    #[inline(never)]
    fn set(&mut self, key: Words, at: usize) {
        self.0.insert(key, at);
    }

    #[inline(never)]
    fn take(&mut self, key: Words) -> Option<usize> {
        self.0.remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_remembers_what_a_map_does() {
        let (mut book, mut model) = (Book::default(), HashMap::new());
        let mut random = 1_u64;
        for _ in 0..5000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (step, key, value) = (random >> 60, (random >> 40) as u32 % 12, random);
            match step % 3 {
                0 => {
                    book.insert(key, value);
                    model.insert(key, value);
                }
                1 => {
                    book.remove(key);
                    model.remove(&key);
                }
                _ => {
                    *book.get_or_insert_with(key, || value) ^= 1;
                    *model.entry(key).or_insert(value) ^= 1;
                }
            }
            for key in 0..12 {
                assert_eq!(book.get(key), model.get(&key));
                assert_eq!(book.get_mut(key), model.get_mut(&key));
            }
            assert_eq!(book.iter().copied().collect::<HashMap<_, _>>(), model);
        }
    }

    #[test]
    fn keys_with_a_part_in_common_are_different() {
        let mut book = Book::default();
        (0_u32..9).map(|number| (number / 3, number % 3)).for_each(|key| book.insert(key, key));
        assert_eq!(book.iter().count(), 9);
        assert!(book.iter().all(|(key, value)| key == value && book.get(*key) == Some(key)));
    }
}
