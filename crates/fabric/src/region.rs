//! Memory that others may reach: what is exposed, to whom, and under which name.

use crate::Node;

/// Memory to be exposed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Region {
    /// Where it begins, as this rank addresses it.
    pub base: *mut u8,
    /// Its bytes.
    pub len: usize,
    /// What kind of memory it is.
    pub kind: MemoryKind,
    /// Others only get from it, and it does not change while it is exposed.
    pub read_only: bool,
}

impl Region {
    /// Ordinary memory of this rank.
    pub const fn host(base: *mut u8, len: usize) -> Region {
        Region { base, len, kind: MemoryKind::Host, read_only: false }
    }

    /// Memory that was allocated to be shared.
    pub const fn shared(base: *mut u8, len: usize) -> Region {
        Region { base, len, kind: MemoryKind::Shared, read_only: false }
    }
}

/// Where memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MemoryKind {
    /// What a program gets from its heap, stack or globals.
    #[default]
    Host,
    /// A part of a [shared allocation](crate::Memory::allocate_shared), of this node or of another.
    Shared,
    /// Of the accelerator with this number.
    Device(u16),
    /// A segment of a chip's DDR that belongs to one place.
    Segment(u16),
    /// A chip's memory that all places address.
    Global,
}

/// Who may reach a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// One peer.
    One(Node),
    /// Every node of the job.
    All,
}

/// Names an exposed region: 32 bytes that can travel in a letter, meaningful to the fabric alone. Made by
/// [`Portal::expose`](crate::Portal::expose) on the node that owns the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Key(pub [u64; 4]);

impl Key {
    /// Bytes of a key.
    pub const BYTES: usize = 32;

    /// The key as bytes, for a letter.
    pub fn to_bytes(&self) -> [u8; Key::BYTES] {
        let mut bytes = [0; Key::BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The key whose bytes these are; `None` if there are more or fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Key> {
        let bytes: &[u8; Key::BYTES] = bytes.try_into().ok()?;
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().ok()?);
        }
        Some(Key(words))
    }
}

/// Memory that all nodes of a cluster can map, as its owner has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Where it begins, at a page, as this rank addresses it. All bytes are zero at first.
    pub base: *mut u8,
    /// Its bytes: at least those asked for.
    pub len: usize,
    /// Its name, for [`attach_shared`](crate::Memory::attach_shared) and as the key of a region that is exposed to all.
    pub key: Key,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_a_letter_and_nothing_else_is_taken_for_one() {
        let key = Key([1, u64::MAX, 3 << 40, 4]);
        assert_eq!(Key::from_bytes(&key.to_bytes()), Some(key));
        assert_eq!(Key::from_bytes(&key.to_bytes()[1..]), None);
        assert_eq!(Key::from_bytes(&[0; 33]), None);
    }
}
