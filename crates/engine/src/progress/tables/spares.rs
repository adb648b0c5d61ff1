//! Memory of messages that came before their receives and have been received, for those that come next.
//!
//! An allocator gives the end of its memory back to the system when enough of it is free, and so it is whenever a burst of such messages has been received: each page would be made, and emptied, anew
//! for the next.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Bodies that are kept, if any may be. Elsewhere, because a rank of thousands has its tables on its stack, of which a few words more can be a page.
#[derive(Debug)]
pub(crate) struct Spares(Option<Box<Kept>>);

#[derive(Debug)]
struct Kept {
    bodies: Vec<Vec<u8>>,
    /// Bytes that may be kept beside these.
    room: usize,
}

impl Spares {
    /// Shorter bodies are not kept: allocators have lists for these.
    const FEWEST_BYTES: usize = 256;

    /// Bytes that a rank keeps at most: 64 bodies of a page.
    const MOST_BYTES: usize = 256 << 10;

    /// Bytes that all ranks of a process keep at most: fibers may be many thousands.
    const MOST_BYTES_OF_ALL: usize = 16 << 20;

    /// Those of one of so many ranks of a process. It keeps nothing where memory is limited: it would not be booked.
    pub fn of_one_of(ranks: u32, limit: usize) -> Spares {
        let share = Spares::MOST_BYTES_OF_ALL / ranks.max(1) as usize;
        let room = Spares::MOST_BYTES.min(share);
        Spares((limit == usize::MAX).then(|| Box::new(Kept { bodies: Vec::new(), room })))
    }

    /// An empty body with room for so many bytes: the one that was kept last, if it has, and not for more than four times as many, which a message that nobody receives for a while would hold.
    /// Otherwise that goes, so that those of messages that come no more do.
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        if bytes >= Spares::FEWEST_BYTES
            && let Some(kept) = &mut self.0
            && let Some(body) = kept.bodies.pop()
        {
            kept.room += body.capacity();
            if (bytes..=bytes.saturating_mul(4)).contains(&body.capacity()) {
                return body;
            }
        }
        Vec::with_capacity(bytes)
    }

    /// Keeps the memory of a body that nobody needs any more, if there is room.
    pub fn keep(&mut self, mut body: Vec<u8>) {
        if let Some(kept) = &mut self.0
            && (Spares::FEWEST_BYTES..=kept.room).contains(&body.capacity())
        {
            kept.room -= body.capacity();
            body.clear();
            kept.bodies.push(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Spares {
        /// How many bodies are kept, and how many bytes there is room for beside them.
        fn kept(&self) -> (usize, usize) {
            self.0.as_ref().map_or((0, 0), |kept| (kept.bodies.len(), kept.room))
        }
    }

    fn body(bytes: usize) -> Vec<u8> {
        alloc::vec![7; bytes]
    }

    #[test]
    fn a_body_that_was_kept_is_the_next_of_as_many_bytes_and_empty() {
        let mut spares = Spares::of_one_of(2, usize::MAX);
        let kept = body(4096);
        let place = kept.as_ptr();
        spares.keep(kept);
        assert!(spares.take(100).capacity() < 4096, "a short one is allocated");
        let next = spares.take(4000);
        assert_eq!((next.as_ptr(), next.len()), (place, 0));
        let another = spares.take(4000);
        assert_ne!(another.as_ptr(), place, "it is given once");
    }

    #[test]
    fn no_more_is_kept_than_may_be_and_nothing_where_memory_is_limited() {
        let mut spares = Spares::of_one_of(2, usize::MAX);
        for _ in 0..100 {
            spares.keep(body(8192));
        }
        spares.keep(body(1 << 20));
        assert_eq!(spares.kept(), (32, 0));
        let mut limited = Spares::of_one_of(2, 1 << 30);
        limited.keep(body(8192));
        assert_eq!(limited.kept(), (0, 0));
    }

    #[test]
    fn thousands_of_ranks_keep_no_more_than_all_may() {
        for ranks in [1, 64, 1000, 10_000, u32::MAX] {
            let mut spares = Spares::of_one_of(ranks, usize::MAX);
            for _ in 0..200 {
                spares.keep(body(1024));
                spares.keep(body(4096));
            }
            let bodies = spares.0.as_ref().map_or(&[][..], |kept| &kept.bodies);
            let kept: usize = bodies.iter().map(Vec::capacity).sum();
            assert!(
                kept <= Spares::MOST_BYTES && kept as u64 * u64::from(ranks) <= 16 << 20,
                "{ranks}: {kept}"
            );
        }
    }

    #[test]
    fn a_short_message_does_not_hold_the_memory_of_a_long_one() {
        let mut spares = Spares::of_one_of(2, usize::MAX);
        spares.keep(body(100_000));
        assert!(spares.take(1024).capacity() <= 4096);
        assert_eq!(spares.kept(), (0, Spares::MOST_BYTES));
    }

    #[test]
    fn bodies_that_are_too_short_go_and_leave_their_room() {
        let mut spares = Spares::of_one_of(2, usize::MAX);
        spares.keep(body(2048));
        assert!(spares.take(4096).capacity() >= 4096);
        assert_eq!(spares.kept(), (0, Spares::MOST_BYTES));
    }
}
