//! What a receiver makes of cells that somebody has overwritten: an error that it can tell, never a panic.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use corelace_ring::exchange::Exchange;
use corelace_ring::{Endpoint, Geometry};
use fabric::{DAMAGED, Header, NO_NODE, Node};

const GEOMETRY: Geometry = Geometry::new(3, 8, 4, 256);

/// Where the first cell of rank 0 begins.
const FIRST_CELL: usize = 512;
/// Where the payload of a cell begins, or the name of its slot: whose it is, and its number.
const PAYLOAD: usize = 32;

/// Posts a letter of `length` bytes and one of 3 from rank 1 to rank 0, lets `spoil` write into the first of them, and polls.
fn polled(length: usize, spoil: impl FnOnce(*mut u8)) -> Vec<(Node, Header, Vec<u8>)> {
    let layout = Layout::from_size_align(GEOMETRY.bytes(), 4096).unwrap();
    // SAFETY: the layout has a size.
    let memory = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap();
    let mut letters = Vec::new();
    {
        // SAFETY: zeroed, aligned and long enough, freed after the endpoints; one endpoint a rank.
        let (receiver, sender) = unsafe {
            let exchange = Exchange::new(memory, GEOMETRY);
            (Endpoint::new(exchange, Node(0)), Endpoint::new(exchange, Node(1)))
        };
        sender.try_post(Node(0), &[1, 2, 3], &vec![7; length]).unwrap();
        sender.try_post(Node(0), &[4, 5, 6], &[8; 3]).unwrap();
        // SAFETY: inside of the memory.
        spoil(unsafe { memory.as_ptr().add(FIRST_CELL) });
        while receiver.poll(8, &mut |from, header, payload| letters.push((from, *header, payload.to_vec())))
            > 0
        {}
    }
    // SAFETY: allocated above with this layout, and not used any more.
    unsafe { dealloc(memory.as_ptr(), layout) };
    letters
}

fn second() -> (Node, Header, Vec<u8>) {
    (Node(1), [4, 5, 6], vec![8; 3])
}

#[test]
fn whole_letters_come_as_they_were_sent() {
    assert_eq!(polled(200, |_| ()), [(Node(1), [1, 2, 3], vec![7; 200]), second()]);
}

#[test]
fn a_sender_that_does_not_exist_is_not_named() {
    for sender in [3u8, 200] {
        // SAFETY: the lowest byte of the cell's control word.
        let letters = polled(16, |cell| unsafe { cell.write(sender) });
        assert_eq!(letters, [(NO_NODE, DAMAGED, vec![]), second()]);
    }
}

#[test]
fn a_slot_that_does_not_exist_is_its_senders_fault() {
    for slot in [[1u32, 4], [1, u32::MAX], [3, 0], [u32::MAX, 0]] {
        // SAFETY: the name of the cell's slot.
        let letters = polled(200, |cell| unsafe { cell.add(PAYLOAD).cast::<[u32; 2]>().write(slot) });
        assert_eq!(letters, [(Node(1), DAMAGED, vec![]), second()]);
    }
}

#[test]
fn a_letter_longer_than_any_is_its_senders_fault() {
    // SAFETY: the bytes of the control word that hold the length.
    let letters = polled(200, |cell| unsafe { cell.add(3).cast::<[u8; 3]>().write([0xff; 3]) });
    assert_eq!(letters, [(Node(1), DAMAGED, vec![]), second()]);
}
