//! Memory of messages that came before their receives and have been received, for those that come next.
//!
//! An allocator gives the end of its memory back to the system when enough of it is free, and so it is whenever a burst of such messages has been received: each page would be made, and emptied, anew
//! for the next.

use alloc::vec::Vec;

/// Memory that bodies may be kept in.
#[derive(Debug)]
pub(crate) struct Spares {
    bodies: Vec<Vec<u8>>,
    /// What may be kept beside these.
    room: usize,
}

impl Spares {
    /// Shorter bodies are not kept: allocators have lists for these.
    const FEWEST_BYTES: usize = 1024;

    /// Bytes that are kept at most: 64 bodies of a page.
    const MOST_BYTES: usize = 256 << 10;

    /// Keeps nothing where memory is limited: it would not be booked.
    pub fn under(limit: usize) -> Spares {
        Spares { bodies: Vec::new(), room: if limit == usize::MAX { Spares::MOST_BYTES } else { 0 } }
    }

    /// An empty body with room for so many bytes: the one that was kept last, if it has. If it has not, it goes, so that those of messages that come no more do.
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        if bytes >= Spares::FEWEST_BYTES
            && let Some(body) = self.bodies.pop()
        {
            self.room += body.capacity();
            if body.capacity() >= bytes {
                return body;
            }
        }
        Vec::with_capacity(bytes)
    }

    /// Keeps the memory of a body that nobody needs any more, if there is room.
    pub fn keep(&mut self, mut body: Vec<u8>) {
        if body.capacity() >= Spares::FEWEST_BYTES && body.capacity() <= self.room {
            self.room -= body.capacity();
            body.clear();
            self.bodies.push(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: usize) -> Vec<u8> {
        alloc::vec![7; bytes]
    }

    #[test]
    fn a_body_that_was_kept_is_the_next_of_as_many_bytes_and_empty() {
        let mut spares = Spares::under(usize::MAX);
        let kept = body(4096);
        let place = kept.as_ptr();
        spares.keep(kept);
        assert!(spares.take(100).capacity() < 4096, "a short one is allocated");
        let next = spares.take(4000);
        assert_eq!((next.as_ptr(), next.len()), (place, 0));
        assert_ne!(spares.take(4000).as_ptr(), place, "it is given once");
    }

    #[test]
    fn no_more_is_kept_than_may_be_and_nothing_where_memory_is_limited() {
        let mut spares = Spares::under(usize::MAX);
        for _ in 0..100 {
            spares.keep(body(8192));
        }
        spares.keep(body(1 << 20));
        assert_eq!((spares.bodies.len(), spares.room), (32, 0));
        let mut limited = Spares::under(1 << 30);
        limited.keep(body(8192));
        assert!(limited.bodies.is_empty());
    }

    #[test]
    fn bodies_that_are_too_short_go_and_leave_their_room() {
        let mut spares = Spares::under(usize::MAX);
        spares.keep(body(2048));
        assert!(spares.take(4096).capacity() >= 4096);
        assert_eq!((spares.bodies.len(), spares.room), (0, Spares::MOST_BYTES));
    }
}
